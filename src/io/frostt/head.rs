//! What stands above the entries.

use crate::base::mapped::Mapped;
use std::str::FromStr;

use openwork_ops::{DType, DTypeKind};

use super::{Base, Dialect, MAX_ORDER, ReadOptions};
use crate::io::matrix_market::{
    Banner, Field, Listing, Symmetry, banner, comments, end_line, error, hinted, number, stored_field,
};
use crate::io::text::cursor::Cursor;
use crate::io::text::error::{LONE_RETURN, ParseError, quoted};
use crate::io::text::source::Short;

/// What is known before the entries are read.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Which of the two formats the file has.
    pub dialect: Dialect,
    /// The number of axes.
    pub order: usize,
    /// The size of each axis, where it does not follow from the entries.
    pub shape: Option<Vec<u64>>,
    /// The kind of value, which `.tns` files do not declare: real, unless a comment names a dtype.
    pub field: Field,
    /// The dtype that a comment names.
    pub dtype: Option<DType>,
    /// What the first index of an axis is written as.
    pub base: u64,
    /// How many entries there have to be; `None` if the file does not say.
    pub listed: Option<u64>,
}

impl Header {
    /// The dtype that [`read`](super::read()) gives the tensor, unless a value turns out not to fit a hinted one.
    pub fn value_dtype(&self) -> DType {
        let of_field = match self.field {
            Field::Real => DType::F64,
            Field::Integer => DType::I64,
            Field::UnsignedInteger => DType::U64,
            Field::Complex => DType::Complex128,
            Field::Pattern => DType::Bool,
        };
        self.dtype.filter(|dtype| dtype.is_complex() || !of_field.is_complex()).unwrap_or(of_field)
    }
}

const SIZE: &str = "`d1 … dN ENTRIES`";

/// Reads it; the cursor is left at the line of the first entry, or before it. `last` says that no more lines follow.
pub(super) fn read(cursor: &mut Cursor<'_>, last: bool, options: &ReadOptions<'_>) -> Result<Header, Short> {
    let mut ahead = *cursor;
    let any = ahead.seek_token().map_err(|_| error(ahead, LONE_RETURN))?;
    if any && ahead.word().starts_with(b"%") { market(cursor) } else { plain(cursor, last, options) }
}

/// Banner, comments and size line of a `.ttx` file.
fn market(cursor: &mut Cursor<'_>) -> Result<Header, Short> {
    let mut ahead = *cursor;
    ahead.word();
    ahead.blanks();
    let vector = ahead.word().eq_ignore_ascii_case(b"vector");
    let Banner { format, field, symmetry, .. } = banner(cursor, &[if vector { "vector" } else { "tensor" }], false)?;
    if (format, symmetry) != (Listing::Coordinate, Symmetry::General) {
        let message = "a tensor has to be `coordinate` and `general`; no other format or symmetry is defined for it";
        return Err(ParseError::at(cursor.bytes(), cursor.position().saturating_sub(1), message).into());
    }
    let type_hint = comments(cursor, SIZE)?;
    let mut sizes = Vec::new();
    while sizes.is_empty() || !rest_is_blank(*cursor) {
        sizes.push(number(cursor, "a number", SIZE)?);
        check_order(*cursor, sizes.len().saturating_sub(1).max(1))?;
    }
    let Some(listed) = sizes.pop().filter(|_| !sizes.is_empty()) else {
        return Err(error(*cursor, format!("one number is not a size line, {SIZE}")).into());
    };
    if vector && sizes.len() != 1 {
        return Err(error(*cursor, format!("a vector has one size, not {}: `SIZE ENTRIES`", sizes.len())).into());
    }
    end_line(cursor, &format!("the size line, {SIZE}"))?;
    Ok(Header {
        dialect: Dialect::Ttx,
        order: sizes.len(),
        shape: Some(sizes),
        field: stored_field(field, type_hint.as_deref(), symmetry),
        dtype: type_hint.as_deref().and_then(hinted),
        base: 1,
        listed: Some(listed),
    })
}

/// Comments and header lines of a `.tns` file, and the order of its first entry.
fn plain(cursor: &mut Cursor<'_>, last: bool, options: &ReadOptions<'_>) -> Result<Header, Short> {
    let given: Option<Vec<u64>> = options.shape.map(|shape| shape.mapped(|&size| size as u64));
    let (mut told, mut dtype) = (None, None);
    let mut header = options.header;
    let head = |order: usize, shape: Option<Vec<u64>>, dtype: Option<DType>| Header {
        dialect: Dialect::Tns,
        order,
        shape,
        field: field_of(dtype),
        dtype,
        base: u64::from(options.base == Base::One),
        listed: None,
    };
    loop {
        if !cursor.seek_token().map_err(|_| error(*cursor, LONE_RETURN))? {
            let shape = given.or(told).filter(|_| last && !header);
            let Some(shape) = shape else {
                let message = "the file lists no entry, so nothing tells its order; give the shape in the options";
                return Err(Short::More(message.to_owned()));
            };
            check_order(*cursor, shape.len())?;
            return Ok(head(shape.len(), Some(shape), dtype));
        }
        let mut ahead = *cursor;
        let word = ahead.word();
        if word.starts_with(b"#") {
            if word == b"#openwork" {
                directive(&mut ahead, &mut told, &mut dtype)?;
            }
            cursor.line();
        } else if header {
            header = false;
            told = Some(order_and_shape(cursor)?);
        } else {
            let order = order_of_entry(*cursor)?;
            let shape = given.or(told);
            if let Some(shape) = shape.as_ref().filter(|shape| shape.len() != order) {
                let message = format!("the entry has {order} indices, but the shape {shape:?} has {}", shape.len());
                return Err(ParseError::at(cursor.bytes(), cursor.position(), message).into());
            }
            return Ok(head(order, shape, dtype));
        }
    }
}

fn field_of(dtype: Option<DType>) -> Field {
    match dtype {
        Some(dtype) if dtype.is_unsigned() || dtype == DType::Bool => Field::UnsignedInteger,
        Some(dtype) if dtype.is_int() => Field::Integer,
        _ => Field::Real,
    }
}

/// A comment `#openwork shape …` or `#openwork dtype …`; the cursor is behind its first word.
fn directive(
    cursor: &mut Cursor<'_>,
    shape: &mut Option<Vec<u64>>,
    dtype: &mut Option<DType>,
) -> Result<(), ParseError> {
    cursor.blanks();
    match cursor.word() {
        b"shape" => {
            let mut sizes = Vec::new();
            while sizes.is_empty() || !rest_is_blank(*cursor) {
                sizes.push(number(cursor, "a size", "`#openwork shape d1 … dN`")?);
                check_order(*cursor, sizes.len())?;
            }
            *shape = Some(sizes);
        }
        b"dtype" => {
            cursor.blanks();
            let name = String::from_utf8_lossy(cursor.word());
            let known = DType::from_str(&name).ok().filter(|dtype| dtype.kind() != DTypeKind::Complex);
            let unknown = || {
                let found = quoted(cursor.token());
                error(*cursor, format!("{found} is not a real dtype such as float32, on `#openwork dtype T`"))
            };
            *dtype = Some(known.ok_or_else(unknown)?);
        }
        _ => {}
    }
    Ok(())
}

/// The two lines that HiParTI writes above the entries.
fn order_and_shape(cursor: &mut Cursor<'_>) -> Result<Vec<u64>, Short> {
    const ORDER: &str = "the line above the shape, `N`";
    const SHAPE: &str = "the line above the entries, `d1 … dN`";
    let order = number(cursor, "the order", ORDER)?;
    let order = usize::try_from(order).unwrap_or(usize::MAX);
    check_order(*cursor, order)?;
    end_line(cursor, ORDER)?;
    if !cursor.seek_token().map_err(|_| error(*cursor, LONE_RETURN))? {
        return Err(Short::More(format!("the file ends before {SHAPE}")));
    }
    let sizes = (0..order).try_mapped(|_| number(cursor, "a size", SHAPE))?;
    end_line(cursor, SHAPE)?;
    Ok(sizes)
}

fn order_of_entry(cursor: Cursor<'_>) -> Result<usize, ParseError> {
    let mut ahead = cursor;
    let mut parts = 0_usize;
    while parts <= MAX_ORDER + 1 && !rest_is_blank(ahead) {
        ahead.blanks();
        ahead.word();
        parts += 1;
    }
    let order = parts.saturating_sub(1);
    check_order(cursor, order)?;
    Ok(order)
}

/// Refuses orders that no file may have; the error is about the line that the cursor is on.
fn check_order(cursor: Cursor<'_>, order: usize) -> Result<(), ParseError> {
    if (1..=MAX_ORDER).contains(&order) {
        return Ok(());
    }
    let message =
        format!("a tensor of {order} axes; 1 to {MAX_ORDER} are allowed, each with an index before the value");
    Err(ParseError::at(cursor.bytes(), cursor.position(), message))
}

/// Whether the line has no more words.
fn rest_is_blank(mut cursor: Cursor<'_>) -> bool {
    cursor.blanks();
    cursor.at_space()
}
