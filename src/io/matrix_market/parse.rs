//! The entries below the size line.
//!
//! One loop for coordinate files and one for arrays, each compiled per index width and kind of value.

use super::cursor::{Cursor, Part, Problem};
use super::error::ParseError;
use super::explain::{Expected, at_line, explain, no_memory, too_few, too_many};
use super::header::{self, Header};
use super::parsed::{Field, Format, Indices, Item, Parsed, Symmetry, Values};

/// Parses a whole file.
pub(super) fn matrix(text: &[u8]) -> Result<Parsed, ParseError> {
    let mut cursor = Cursor::new(text);
    let header = header::read(&mut cursor)?;
    match stored_field(&header) {
        Field::Real => entries::<Real>(cursor, header),
        Field::Integer => entries::<Integer>(cursor, header),
        Field::UnsignedInteger => entries::<Unsigned>(cursor, header),
        Field::Complex => entries::<Complex>(cursor, header),
        Field::Pattern => entries::<Pattern>(cursor, header),
    }
}

/// The field that the values are read as: the declared one, unless a type hint says that integers are not all.
fn stored_field(header: &Header) -> Field {
    match (header.field, header.type_hint.as_deref()) {
        (Field::Integer, Some("uint64_t")) if header.symmetry != Symmetry::SkewSymmetric => Field::UnsignedInteger,
        (Field::Integer, Some("float" | "double")) => Field::Real,
        (field, _) => field,
    }
}

/// A kind of value: how it is scanned and where it goes.
trait Kind {
    type Item: Item;

    /// How many numbers it takes.
    const NUMBERS: usize;

    /// What is allowed in the place of a number.
    const ALLOWED: &'static str;

    fn scan(cursor: &mut Cursor<'_>) -> Result<Self::Item, Problem>;

    fn values(items: Vec<Self::Item>) -> Values;

    /// Whether the mirrored value can be told.
    fn has_mirror(_: Self::Item, _: Symmetry) -> bool {
        true
    }
}

struct Real;
struct Integer;
struct Unsigned;
struct Complex;
struct Pattern;

const REAL_ALLOWED: &str = "a decimal number such as -1.5e-3, or `inf` or `nan`";

impl Kind for Real {
    type Item = f64;
    const NUMBERS: usize = 1;
    const ALLOWED: &'static str = REAL_ALLOWED;

    #[inline(always)]
    fn scan(cursor: &mut Cursor<'_>) -> Result<f64, Problem> {
        cursor.real()
    }

    fn values(items: Vec<f64>) -> Values {
        Values::Real(items)
    }
}

impl Kind for Integer {
    type Item = i64;
    const NUMBERS: usize = 1;
    const ALLOWED: &'static str = "a whole number from -2^63 to 2^63-1";

    #[inline(always)]
    fn scan(cursor: &mut Cursor<'_>) -> Result<i64, Problem> {
        cursor.signed()
    }

    fn values(items: Vec<i64>) -> Values {
        Values::Integer(items)
    }

    fn has_mirror(item: i64, symmetry: Symmetry) -> bool {
        symmetry != Symmetry::SkewSymmetric || item != i64::MIN
    }
}

impl Kind for Unsigned {
    type Item = u64;
    const NUMBERS: usize = 1;
    const ALLOWED: &'static str = "a whole number from 0 to 2^64-1";

    #[inline(always)]
    fn scan(cursor: &mut Cursor<'_>) -> Result<u64, Problem> {
        cursor.unsigned()
    }

    fn values(items: Vec<u64>) -> Values {
        Values::Unsigned(items)
    }
}

impl Kind for Complex {
    type Item = [f64; 2];
    const NUMBERS: usize = 2;
    const ALLOWED: &'static str = REAL_ALLOWED;

    #[inline(always)]
    fn scan(cursor: &mut Cursor<'_>) -> Result<[f64; 2], Problem> {
        let re = cursor.real()?;
        cursor.gap(Part::Imaginary)?;
        Ok([re, cursor.real()?])
    }

    fn values(items: Vec<[f64; 2]>) -> Values {
        Values::Complex(items)
    }
}

impl Kind for Pattern {
    type Item = ();
    const NUMBERS: usize = 0;
    const ALLOWED: &'static str = "nothing";

    #[inline(always)]
    fn scan(_: &mut Cursor<'_>) -> Result<(), Problem> {
        Ok(())
    }

    fn values(items: Vec<()>) -> Values {
        Values::Pattern(items.len())
    }
}

/// An index width.
trait Width: Copy {
    /// Keeps the low bits; indices are checked against a size that fits before.
    fn narrow(index: u64) -> Self;
    fn indices(all: Vec<Self>) -> Indices;
}

impl Width for u32 {
    #[inline(always)]
    fn narrow(index: u64) -> u32 {
        index as u32
    }

    fn indices(all: Vec<u32>) -> Indices {
        Indices::U32(all)
    }
}

impl Width for u64 {
    #[inline(always)]
    fn narrow(index: u64) -> u64 {
        index
    }

    fn indices(all: Vec<u64>) -> Indices {
        Indices::U64(all)
    }
}

fn expected<K: Kind>() -> Expected {
    Expected { numbers: K::NUMBERS, allowed: K::ALLOWED }
}

fn entries<K: Kind>(cursor: Cursor<'_>, header: Header) -> Result<Parsed, ParseError> {
    let narrow = header.rows.max(header.cols) < 1 << 31;
    let (row_indices, col_indices, values) = match (header.format, narrow) {
        (Format::Coordinate, true) => coordinates::<K, u32>(cursor, &header)?,
        (Format::Coordinate, false) => coordinates::<K, u64>(cursor, &header)?,
        (Format::Array, true) => (u32::indices(Vec::new()), u32::indices(Vec::new()), array::<K>(cursor, &header)?),
        (Format::Array, false) => (u64::indices(Vec::new()), u64::indices(Vec::new()), array::<K>(cursor, &header)?),
    };
    let Header { rows, cols, format, field, symmetry, type_hint, .. } = header;
    Ok(Parsed { rows, cols, format, field, symmetry, type_hint, row_indices, col_indices, values })
}

fn coordinates<K: Kind, W: Width>(
    mut cursor: Cursor<'_>,
    header: &Header,
) -> Result<(Indices, Indices, Values), ParseError> {
    let shortest = (2 + K::NUMBERS) * 2;
    let mut rows: Vec<W> = reserved(cursor, header, shortest)?;
    let mut cols: Vec<W> = reserved(cursor, header, shortest)?;
    let mut values: Vec<K::Item> = reserved(cursor, header, shortest)?;
    let symmetry = header.symmetry;
    // The cursor is handed to the error path by value, which keeps it in registers here.
    while cursor.seek_entry().map_err(|problem| explain(cursor, header, expected::<K>(), problem))? {
        if rows.len() as u64 == header.listed {
            return Err(too_many(cursor, header));
        }
        let start = cursor;
        let (row, col, value) = coordinate::<K>(&mut cursor, header)
            .map_err(|problem| explain(cursor, header, expected::<K>(), problem))?;
        if symmetry != Symmetry::General
            && let Some(message) = asymmetric::<K>(symmetry, row, col, value)
        {
            return Err(at_line(start, message));
        }
        rows.push(W::narrow(row));
        cols.push(W::narrow(col));
        values.push(value);
    }
    if rows.len() as u64 != header.listed {
        return Err(too_few(cursor, header, rows.len()));
    }
    Ok((W::indices(rows), W::indices(cols), K::values(values)))
}

#[inline(always)]
fn coordinate<K: Kind>(cursor: &mut Cursor<'_>, header: &Header) -> Result<(u64, u64, K::Item), Problem> {
    let row = cursor.index(Part::Row, header.rows)?;
    cursor.gap(Part::Column)?;
    let col = cursor.index(Part::Column, header.cols)?;
    if K::NUMBERS > 0 {
        cursor.gap(Part::Value)?;
    }
    let value = K::scan(cursor)?;
    cursor.end_line()?;
    Ok((row, col, value))
}

/// Why an entry contradicts the symmetry of its file, if it does.
#[inline]
fn asymmetric<K: Kind>(symmetry: Symmetry, row: u64, col: u64, value: K::Item) -> Option<&'static str> {
    let skew = symmetry == Symmetry::SkewSymmetric;
    if row < col {
        return Some(if skew {
            "the entry is above the diagonal; a skew-symmetric file lists the ones below it only"
        } else {
            "the entry is above the diagonal; a file with a symmetry lists the ones on it and below it only"
        });
    }
    if skew && row == col && value != K::Item::ZERO {
        return Some("the entry is on the diagonal and not zero; that of a skew-symmetric matrix is zero");
    }
    if !K::has_mirror(value, symmetry) {
        return Some("the negated entry does not fit: -2^63 has no place in a skew-symmetric integer file");
    }
    None
}

fn array<K: Kind>(mut cursor: Cursor<'_>, header: &Header) -> Result<Values, ParseError> {
    let mut items: Vec<K::Item> = reserved(cursor, header, K::NUMBERS * 2)?;
    while cursor.seek_entry().map_err(|problem| explain(cursor, header, expected::<K>(), problem))? {
        if items.len() as u64 == header.listed {
            return Err(too_many(cursor, header));
        }
        let start = cursor;
        let item = K::scan(&mut cursor)
            .and_then(|item| cursor.end_line().map(|()| item))
            .map_err(|problem| explain(cursor, header, expected::<K>(), problem))?;
        if !K::has_mirror(item, header.symmetry) {
            return Err(at_line(start, "-2^63 has no place in a skew-symmetric integer file, as 2^63 does not fit"));
        }
        items.push(item);
    }
    if items.len() as u64 != header.listed {
        return Err(too_few(cursor, header, items.len()));
    }
    if header.symmetry != Symmetry::General {
        items = square(&items, header).ok_or_else(|| no_memory(cursor, header))?;
    }
    Ok(K::values(items))
}

/// All positions of a square array, from those on (unless skew-symmetric) and below the diagonal, both down the
/// columns; `None` if memory runs out.
fn square<T: Item>(listed: &[T], header: &Header) -> Option<Vec<T>> {
    let symmetry = header.symmetry;
    let size = usize::try_from(header.rows).ok()?;
    let positions = size.checked_mul(size)?;
    let mut all = Vec::new();
    all.try_reserve_exact(positions).ok()?;
    all.resize(positions, T::ZERO);
    let mut listed = listed.iter();
    let first = usize::from(symmetry == Symmetry::SkewSymmetric);
    for col in 0..size {
        for row in col + first..size {
            let &item = listed.next()?;
            *all.get_mut(col * size + row)? = item;
            if row != col {
                *all.get_mut(row * size + col)? = item.mirrored(symmetry);
            }
        }
    }
    Some(all)
}

/// An empty vector with room for every entry: as many as declared, or as the text can hold if that is less.
fn reserved<T>(cursor: Cursor<'_>, header: &Header, shortest: usize) -> Result<Vec<T>, ParseError> {
    // The last line may lack its end.
    let possible = (cursor.remaining() + 1) / shortest.max(1);
    let count = usize::try_from(header.listed).map_or(possible, |listed| listed.min(possible));
    let mut vec = Vec::new();
    vec.try_reserve_exact(count).map_err(|_| no_memory(cursor, header))?;
    Ok(vec)
}
