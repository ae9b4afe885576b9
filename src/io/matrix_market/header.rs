//! The banner, the comments below it, and the size line.

use crate::base::mapped::Mapped;
use openwork_ops::DType;

use super::parse::stored_field;
use super::parsed::{Field, Listing};
use super::tensor::hinted;
use crate::io::text::cursor::{Cursor, Problem};
use crate::io::text::entries::Symmetry;
use crate::io::text::error::{LONE_RETURN, ParseError, quoted};
use crate::io::text::source::Short;
use crate::io::warning::Warning;

/// What the lines above the entries say.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Whether it is a vector, which is read as a tensor of one axis: its entries have a row alone, and there is one column.
    pub vector: bool,
    /// Whether the file lists entries or all positions.
    pub format: Listing,
    /// The field that the file declares.
    pub field: Field,
    /// The symmetry that the file declares.
    pub symmetry: Symmetry,
    /// `T` of the first comment `%%GraphBLAS type T` (or `%%openwork type T`) before the size line.
    pub type_hint: Option<String>,
    /// The number of rows.
    pub rows: u64,
    /// The number of columns.
    pub cols: u64,
    /// How many entries (or, in an array, values) the file has to list.
    pub listed: u64,
    /// What a lenient reader let pass in the banner.
    pub(super) passed: Passed,
}

/// What a lenient reader lets pass in a banner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::io) struct Passed {
    /// One percent sign instead of two.
    short: bool,
    /// `hermitian` without complex values, which is symmetric.
    hermitian: bool,
}

impl Passed {
    pub(super) fn warnings(self) -> impl Iterator<Item = Warning> {
        let short = self.short.then_some(Warning::ShortBanner);
        short.into_iter().chain(self.hermitian.then_some(Warning::RealHermitian))
    }
}

impl Header {
    /// Format, field and symmetry, as the banner has them.
    pub(in crate::io) fn words(&self) -> String {
        let object = if self.vector { "vector " } else { "" };
        format!("{object}{} {} {}", self.format.word(), self.field.word(), self.symmetry.word())
    }

    /// The dtype that [`read`](super::read()) gives the tensor, unless a value turns out not to fit a hinted one.
    pub fn dtype(&self) -> DType {
        let of_field = match stored_field(self.field, self.type_hint.as_deref(), self.symmetry) {
            Field::Real => DType::F64,
            Field::Integer => DType::I64,
            Field::UnsignedInteger => DType::U64,
            Field::Complex => DType::Complex128,
            Field::Pattern => DType::Bool,
        };
        let hint = self.type_hint.as_deref().and_then(hinted);
        hint.filter(|dtype| dtype.is_complex() || !of_field.is_complex()).unwrap_or(of_field)
    }
}

/// Reads the header; the cursor is left at the start of the line below it.
pub(super) fn read(cursor: &mut Cursor<'_>, lenient: bool) -> Result<Header, Short> {
    let Banner { object, format, field, symmetry, passed } = banner(cursor, &["matrix", "vector"], lenient)?;
    let vector = object == 1;
    if vector && symmetry != Symmetry::General {
        return Err(error(*cursor, "a vector has the symmetry `general`: no other is defined for it").into());
    }
    let layout = size_layout(format, vector);
    let type_hint = comments(cursor, layout)?;
    let (rows, cols, listed) = size(cursor, format, symmetry, vector)?;
    Ok(Header { vector, format, field, symmetry, type_hint, rows, cols, listed, passed })
}

/// Moves to the size line and returns the first type hint above it.
pub(in crate::io) fn comments(cursor: &mut Cursor<'_>, size_layout: &str) -> Result<Option<String>, Short> {
    let mut type_hint = None;
    loop {
        if !cursor.seek_token().map_err(|_| error(*cursor, LONE_RETURN))? {
            return Err(Short::More(format!("the file ends before the size line, {size_layout}")));
        }
        let mut ahead = *cursor;
        if !ahead.word().starts_with(b"%") {
            return Ok(type_hint);
        }
        let comment = cursor.line();
        if type_hint.is_none() {
            type_hint = named_type(comment);
        }
    }
}

/// What the first line says.
pub(in crate::io) struct Banner {
    /// Which one of the objects that were expected.
    pub(in crate::io) object: usize,
    pub(in crate::io) format: Listing,
    pub(in crate::io) field: Field,
    pub(in crate::io) symmetry: Symmetry,
    pub(in crate::io) passed: Passed,
}

/// Reads the banner of a file about one of some objects. A lenient reader takes one percent sign for two, and `hermitian` for
/// `symmetric` where values are not complex.
pub(in crate::io) fn banner(cursor: &mut Cursor<'_>, objects: &[&str], lenient: bool) -> Result<Banner, Short> {
    let layout = format!("`%%MatrixMarket {} FORMAT FIELD SYMMETRY`", objects.first().copied().unwrap_or_default());
    if !cursor.seek_token().map_err(|_| error(*cursor, LONE_RETURN))? {
        return Err(Short::More(format!("the file is empty; it has to start with {layout}")));
    }
    let mut first = *cursor;
    let short = lenient && first.word().eq_ignore_ascii_case(b"%MatrixMarket");
    if short {
        *cursor = first;
    } else {
        keyword(cursor, "the file has to start with", &[("%%MatrixMarket", ())])?;
    }
    let known: Vec<(&str, usize)> = objects.iter().copied().zip(0..).collect();
    let object = keyword(cursor, "the object of the banner has to be", &known)?;
    let format = keyword(
        cursor,
        "the format of the banner has to be",
        &[("coordinate", Listing::Coordinate), ("array", Listing::Array)],
    )?;
    let field = keyword(
        cursor,
        "the field of the banner has to be",
        &[
            ("real", Field::Real),
            ("double", Field::Real),
            ("integer", Field::Integer),
            ("unsigned-integer", Field::UnsignedInteger),
            ("complex", Field::Complex),
            ("pattern", Field::Pattern),
        ],
    )?;
    let symmetry = keyword(
        cursor,
        "the symmetry of the banner has to be",
        &[
            ("general", Symmetry::General),
            ("symmetric", Symmetry::Symmetric),
            ("skew-symmetric", Symmetry::SkewSymmetric),
            ("hermitian", Symmetry::Hermitian),
        ],
    )?;
    let hermitian = lenient && symmetry == Symmetry::Hermitian && field != Field::Complex;
    let symmetry = if hermitian { Symmetry::Symmetric } else { symmetry };
    if let Some(message) = illegal(format, field, symmetry) {
        return Err(error(*cursor, message).into());
    }
    end_line(cursor, &format!("the banner, which is {layout}"))?;
    Ok(Banner { object, format, field, symmetry, passed: Passed { short, hermitian } })
}

/// Reads one of several words; case does not matter.
fn keyword<T: Copy>(cursor: &mut Cursor<'_>, what: &str, allowed: &[(&str, T)]) -> Result<T, ParseError> {
    cursor.blanks();
    let word = cursor.word();
    if let Some(&(_, value)) = allowed.iter().find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(word)) {
        return Ok(value);
    }
    let names: Vec<String> = allowed.mapped(|(name, _)| format!("`{name}`"));
    let found = if word.is_empty() { "the line ends there".to_owned() } else { format!("found {}", quoted(word)) };
    Err(error(*cursor, format!("{what} {}; {found}", names.join(" or "))))
}

/// Why a format, a field and a symmetry do not go together, if they do not.
pub(super) fn illegal(format: Listing, field: Field, symmetry: Symmetry) -> Option<&'static str> {
    match (format, field, symmetry) {
        (Listing::Array, Field::Pattern, _) => {
            Some("field `pattern` goes with format `coordinate` only: an array without values says nothing")
        }
        (_, Field::Pattern, Symmetry::SkewSymmetric | Symmetry::Hermitian) => {
            Some("field `pattern` goes with symmetry `general` or `symmetric` only")
        }
        (_, Field::UnsignedInteger, Symmetry::SkewSymmetric) => {
            Some("field `unsigned-integer` does not go with symmetry `skew-symmetric`, which needs negative values")
        }
        (_, Field::Real | Field::Integer | Field::UnsignedInteger, Symmetry::Hermitian) => {
            Some("symmetry `hermitian` goes with field `complex` only; use `symmetric`")
        }
        _ => None,
    }
}

/// The type named by a comment `%%GraphBLAS type T`, or `%%openwork type T` for types that GraphBLAS has not.
fn named_type(comment: &[u8]) -> Option<String> {
    let comment = String::from_utf8_lossy(comment);
    let mut words = comment.split_ascii_whitespace();
    let family = words.next()?;
    let known = family.eq_ignore_ascii_case("%%GraphBLAS") || family.eq_ignore_ascii_case("%%openwork");
    if !known || !words.next()?.eq_ignore_ascii_case("type") {
        return None;
    }
    let name: Vec<&str> = words.collect();
    (!name.is_empty()).then(|| name.join(" "))
}

fn size(
    cursor: &mut Cursor<'_>,
    format: Listing,
    symmetry: Symmetry,
    vector: bool,
) -> Result<(u64, u64, u64), ParseError> {
    let layout = size_layout(format, vector);
    let rows = number(cursor, if vector { "the size" } else { "the number of rows" }, layout)?;
    let cols = if vector { 1 } else { number(cursor, "the number of columns", layout)? };
    if symmetry != Symmetry::General && rows != cols {
        return Err(error(
            *cursor,
            format!("the size is {rows} × {cols}, but with a symmetry other than `general` it has to be square"),
        ));
    }
    let listed = match format {
        Listing::Coordinate => number(cursor, "the number of entries", layout)?,
        Listing::Array => array_values(rows, cols, symmetry)
            .ok_or_else(|| error(*cursor, format!("an array of {rows} × {cols} values is beyond 2^64-1 values")))?,
    };
    end_line(cursor, &format!("the size line, {layout}"))?;
    Ok((rows, cols, listed))
}

/// How many values an array file lists; `None` beyond 2^64-1 positions.
fn array_values(rows: u64, cols: u64, symmetry: Symmetry) -> Option<u64> {
    let positions = rows.checked_mul(cols)?;
    Some(match symmetry {
        Symmetry::General => positions,
        // The positions are a square, so the off-diagonal ones come in pairs.
        Symmetry::SkewSymmetric => (positions - rows) / 2,
        Symmetry::Symmetric | Symmetry::Hermitian => (positions - rows) / 2 + rows,
    })
}

/// A number of the size line.
pub(in crate::io) fn number(cursor: &mut Cursor<'_>, what: &str, size_layout: &str) -> Result<u64, ParseError> {
    cursor.blanks();
    let mut word = Cursor::new(cursor.word());
    if word.remaining() == 0 {
        return Err(error(*cursor, format!("the line ends where {what} should be on {size_layout}")));
    }
    match word.digits() {
        Ok(Some(number)) if word.remaining() == 0 => Ok(number),
        _ => {
            let found = quoted(cursor.token());
            let message = format!("{what} is {found} on {size_layout}; a whole number from 0 to 2^64-1 is expected");
            Err(error(*cursor, message))
        }
    }
}

fn size_layout(format: Listing, vector: bool) -> &'static str {
    match (format, vector) {
        (Listing::Coordinate, false) => "`ROWS COLUMNS ENTRIES`",
        (Listing::Array, false) => "`ROWS COLUMNS`",
        (Listing::Coordinate, true) => "`SIZE ENTRIES`",
        (Listing::Array, true) => "`SIZE`",
    }
}

pub(in crate::io) fn end_line(cursor: &mut Cursor<'_>, line: &str) -> Result<(), ParseError> {
    cursor.end_line().map_err(|problem| match problem {
        Problem::LoneReturn => error(*cursor, LONE_RETURN),
        _ => error(*cursor, format!("{} is too much on {line}", quoted(cursor.token()))),
    })
}

pub(in crate::io) fn error(cursor: Cursor<'_>, message: impl Into<String>) -> ParseError {
    ParseError::at(cursor.bytes(), cursor.mark(), message)
}
