//! The entries below the size line.
//!
//! One loop for coordinate files and one for arrays, each compiled per kind of value, over pieces of whole lines. What collects the pieces is compiled once.

use std::ops::ControlFlow;

use openwork_ops::DType;

use super::explain::{at_line, explain, no_memory, out_of_type, too_few, too_many};
use super::header::{self, Header};
use super::parsed::{Field, Listing, ParsedMatrix};
use super::tensor::hinted;
use crate::base::mapped::Mapped;
use crate::io::text::column::{Array, Column, copy, room};
use crate::io::text::cursor::{Cursor, EntryPart, Problem};
use crate::io::text::entries::{Item, Symmetry};
use crate::io::text::error::{Expected, ParseError};
use crate::io::text::kind::{Complex, Integer, Pattern, Real, Unsigned, ValueKind};
use crate::io::text::source::{Failure, TextSource};

/// What entries have to keep to beside what their header says.
struct Rules {
    /// Whether a file with a symmetry may list entries above its diagonal, and a skew-symmetric one what is on it.
    loose: bool,
    /// The least and the largest value of the dtype that a comment names.
    range: Option<(i128, i128)>,
}

impl Rules {
    fn new(header: &Header, lenient: bool) -> Rules {
        let named = header.type_hint.as_deref().and_then(hinted).filter(|_| !lenient);
        Rules { loose: lenient, range: named.and_then(whole_range) }
    }
}

/// The least and the largest element of a dtype of whole numbers or truth values.
pub(in crate::io) fn whole_range(dtype: DType) -> Option<(i128, i128)> {
    let bits = 8 * dtype.size();
    match dtype {
        DType::Bool => Some((0, 1)),
        _ if dtype.is_unsigned() => Some((0, (1 << bits) - 1)),
        _ if dtype.is_int() => Some((-1 << (bits - 1), (1 << (bits - 1)) - 1)),
        _ => None,
    }
}

/// Why no tensor has this size, if none has.
pub(super) fn too_long(header: &Header) -> Option<String> {
    let axis = [header.rows, header.cols].iter().position(|&size| size > 1 << 63)?;
    let (size, what) = if axis == 0 { (header.rows, "rows") } else { (header.cols, "columns") };
    Some(format!("the size line promises {size} {what}, more than 2^63"))
}

/// Parses a whole file.
pub(super) fn matrix(source: &mut TextSource<'_>, lenient: bool) -> Result<ParsedMatrix, Failure> {
    let header = source.header(|cursor, _| header::read(cursor, lenient))?;
    rest(source, header, lenient)
}

/// Parses all that stands below the header.
fn rest(source: &mut TextSource<'_>, header: Header, lenient: bool) -> Result<ParsedMatrix, Failure> {
    let field = stored_field(header.field, header.type_hint.as_deref(), header.symmetry);
    let rules = Rules::new(&header, lenient);
    let parse = |text: &[u8], limit: u64| part(field, text, &header, &rules, limit);
    let columns = entries(source, &header, &parse)?;
    source.finish();
    Ok(columns.matrix(header))
}

/// Parses a file and hands on the entries of each block of its text, until `give` has seen enough; an array as a whole,
/// and what a type that values may not fit stands above.
pub(super) fn blocks(
    source: &mut TextSource<'_>,
    lenient: bool,
    give: &mut dyn FnMut(ParsedMatrix) -> ControlFlow<()>,
) -> Result<(), Failure> {
    let header = source.header(|cursor, _| header::read(cursor, lenient))?;
    if header.format == Listing::Array || (lenient && header.type_hint.is_some()) {
        let _ = give(rest(source, header, lenient)?);
        return Ok(());
    }
    if let Some(message) = too_long(&header) {
        return Err(source.at_end(message));
    }
    let field = stored_field(header.field, header.type_hint.as_deref(), header.symmetry);
    let rules = Rules::new(&header, lenient);
    let parse = |text: &[u8], limit: u64| part(field, text, &header, &rules, limit);
    let empty = parse(b"", 0)?;
    let mut stopped = false;
    let mut take = |parts: Vec<Lines>| {
        let room = parts.iter().map(|part| part.values.len()).sum();
        let mut columns = Columns::new(&empty, room, room).ok_or_else(|| no_memory(&header))?;
        columns.append(&parts).ok_or_else(|| no_memory(&header))?;
        stopped = give(columns.matrix(header.clone())).is_break();
        if stopped { Err(String::new()) } else { Ok(()) }
    };
    let found = source.entries(header.listed, &parse, &|part| part.values.len(), &mut take);
    if stopped {
        return Ok(());
    }
    let found = found?;
    if found != header.listed {
        return Err(source.at_end(too_few(&header, found)));
    }
    source.finish();
    Ok(())
}

/// Reports every line at fault.
pub(super) fn violations(
    source: &mut TextSource<'_>,
    lenient: bool,
    report: &mut dyn FnMut(ParseError),
) -> Result<(), Failure> {
    let header = source.header(|cursor, _| header::read(cursor, lenient))?;
    let field = stored_field(header.field, header.type_hint.as_deref(), header.symmetry);
    let rules = Rules::new(&header, lenient);
    let count = |text: &[u8]| part(field, text, &header, &rules, u64::MAX).map(|part| part.values.len() as u64);
    if let Some(message) = too_long(&header) {
        return Err(source.at_end(message));
    }
    let found = source.violations(&count, report)?;
    if found != header.listed {
        let few = found < header.listed;
        let more = || format!("there are {found} entries where the size line promises {}", header.listed);
        let message = if few { too_few(&header, found) } else { more() };
        return Err(source.at_end(message));
    }
    source.finish();
    Ok(())
}

/// The entries of a few lines; an array has no rows and columns.
struct Lines {
    rows: Array,
    cols: Array,
    values: Array,
}

fn part(field: Field, text: &[u8], header: &Header, rules: &Rules, limit: u64) -> Result<Lines, ParseError> {
    match field {
        Field::Real => part_of::<Real>(text, header, rules, limit),
        Field::Integer => part_of::<Integer>(text, header, rules, limit),
        Field::UnsignedInteger => part_of::<Unsigned>(text, header, rules, limit),
        Field::Complex => part_of::<Complex>(text, header, rules, limit),
        Field::Pattern => part_of::<Pattern>(text, header, rules, limit),
    }
}

fn part_of<K: ValueKind>(text: &[u8], header: &Header, rules: &Rules, limit: u64) -> Result<Lines, ParseError> {
    let cursor = Cursor::new(text);
    match header.format {
        Listing::Coordinate => lines::<K>(cursor, header, rules, limit),
        Listing::Array => array_lines::<K>(cursor, header, rules, limit),
    }
}

/// Whether indices fit 32 bits with the first one spare.
fn is_narrow(header: &Header) -> bool {
    header.rows.max(header.cols) < 1 << 31
}

/// The field that the values are read as: the declared one, unless a type hint says that integers are not all.
pub(in crate::io) fn stored_field(field: Field, type_hint: Option<&str>, symmetry: Symmetry) -> Field {
    match (field, type_hint) {
        (Field::Integer, Some("uint64_t")) if symmetry != Symmetry::SkewSymmetric => Field::UnsignedInteger,
        (Field::Integer, Some("float" | "double")) => Field::Real,
        (field, _) => field,
    }
}

fn expected<K: ValueKind>() -> Expected {
    Expected { numbers: K::NUMBERS, allowed: K::ALLOWED }
}

/// Entries that are collected.
struct Columns {
    rows: Column,
    cols: Column,
    values: Column,
}

impl Columns {
    /// No entries yet, with room for so many; `None` if memory does not suffice.
    fn new(like: &Lines, indices: usize, room: usize) -> Option<Columns> {
        let rows = Column::new(&like.rows, indices)?;
        Some(Columns { rows, cols: Column::new(&like.cols, indices)?, values: Column::new(&like.values, room)? })
    }

    /// Adds the entries of some lines; `None` if memory does not suffice.
    fn append(&mut self, parts: &[Lines]) -> Option<()> {
        let lengths: Vec<usize> = parts.mapped(|part| part.values.len());
        let listed: Vec<usize> = parts.mapped(|part| part.rows.len());
        let from = |i: usize, of: &dyn Fn(&Lines) -> &Array, out: &mut [u8]| {
            if let Some(part) = parts.get(i) {
                copy(of(part).bytes(), out);
            }
        };
        self.rows.append(&listed, &|i, out| from(i, &|part| &part.rows, out))?;
        self.cols.append(&listed, &|i, out| from(i, &|part| &part.cols, out))?;
        self.values.append(&lengths, &|i, out| from(i, &|part| &part.values, out))
    }

    fn matrix(self, header: Header) -> ParsedMatrix {
        let (row_indices, col_indices) = (self.rows.into_array().into_indices(), self.cols.into_array().into_indices());
        let values = self.values.into_array().into_values();
        let Header { vector, rows, cols, format, field, symmetry, type_hint, passed, .. } = header;
        ParsedMatrix {
            vector,
            rows,
            cols,
            format,
            field,
            symmetry,
            type_hint,
            row_indices,
            col_indices,
            values,
            passed,
        }
    }
}

/// Parses all entries; whatever their types are, `parse` knows.
fn entries(
    source: &mut TextSource<'_>,
    header: &Header,
    parse: &(dyn Fn(&[u8], u64) -> Result<Lines, ParseError> + Sync),
) -> Result<Columns, Failure> {
    let empty = parse(b"", 0)?;
    let numbers = match empty.values {
        Array::Units(_) => 0,
        Array::Pairs(_) => 2,
        _ => 1,
    };
    let indices = if header.format == Listing::Array { 0 } else { 2 };
    let room =
        room(source.remaining(), header.listed, (indices - usize::from(header.vector && indices > 0) + numbers) * 2);
    let made = Columns::new(&empty, if indices == 0 { 0 } else { room }, room);
    let mut columns = made.ok_or_else(|| source.at_end(no_memory(header)))?;
    let mut take = |parts: Vec<Lines>| columns.append(&parts).ok_or_else(|| no_memory(header));
    let found = source.entries(header.listed, parse, &|part| part.values.len(), &mut take)?;
    if found != header.listed {
        return Err(source.at_end(too_few(header, found)));
    }
    if header.format == Listing::Array && header.symmetry != Symmetry::General {
        let Columns { rows, cols, values } = columns;
        let values = squared(values.into_array(), header).map(Column::of);
        let values = values.ok_or_else(|| source.at_end(no_memory(header)))?;
        return Ok(Columns { rows, cols, values });
    }
    Ok(columns)
}

fn lines<K: ValueKind>(
    mut cursor: Cursor<'_>,
    header: &Header,
    rules: &Rules,
    limit: u64,
) -> Result<Lines, ParseError> {
    let shortest = (2 - usize::from(header.vector) + K::NUMBERS) * 2;
    let indices = || {
        let room = room(Some(cursor.remaining() as u64), header.listed, shortest);
        Array::indices(!is_narrow(header), room).ok_or_else(|| at_line(cursor, no_memory(header)))
    };
    let (mut rows, mut cols) = (indices()?, indices()?);
    let mut values: Vec<K::Item> = reserved(cursor, header, shortest)?;
    let symmetry = header.symmetry;
    // The cursor is handed to the error path by value, which keeps it in registers here.
    while cursor.seek_entry(b'%').map_err(|problem| explain(cursor, header, expected::<K>(), problem))? {
        if values.len() as u64 == limit {
            return Err(too_many(cursor, header));
        }
        let start = cursor;
        let (row, col, value) = coordinate::<K>(&mut cursor, header)
            .map_err(|problem| explain(cursor, header, expected::<K>(), problem))?;
        if symmetry != Symmetry::General
            && let Some(message) = asymmetric::<K>(symmetry, rules, row, col, value)
        {
            return Err(at_line(start, message));
        }
        if rules.range.is_some_and(|range| !K::is_within(value, range)) {
            return Err(at_line(start, out_of_type(header)));
        }
        rows.push_index(row);
        cols.push_index(col);
        values.push(value);
    }
    Ok(Lines { rows, cols, values: K::array(values) })
}

#[inline(always)]
fn coordinate<K: ValueKind>(cursor: &mut Cursor<'_>, header: &Header) -> Result<(u64, u64, K::Item), Problem> {
    let row = cursor.index(EntryPart::Row, header.rows)?;
    let mut col = 0;
    if !header.vector {
        cursor.gap(EntryPart::Column)?;
        col = cursor.index(EntryPart::Column, header.cols)?;
    }
    if K::NUMBERS > 0 {
        cursor.gap(EntryPart::Value)?;
    }
    let value = K::scan(cursor)?;
    cursor.end_line()?;
    Ok((row, col, value))
}

/// Why an entry contradicts the symmetry of its file, if it does.
#[inline]
fn asymmetric<K: ValueKind>(
    symmetry: Symmetry,
    rules: &Rules,
    row: u64,
    col: u64,
    value: K::Item,
) -> Option<&'static str> {
    let skew = symmetry == Symmetry::SkewSymmetric;
    if row < col && !rules.loose {
        return Some(if skew {
            "the entry is above the diagonal; a skew-symmetric file lists the ones below it only"
        } else {
            "the entry is above the diagonal; a file with a symmetry lists the ones on it and below it only"
        });
    }
    if skew && row == col && value != K::Item::ZERO && !rules.loose {
        return Some("the entry is on the diagonal and not zero; that of a skew-symmetric matrix is zero");
    }
    if !K::has_mirror(value, symmetry) {
        return Some("the negated entry does not fit: -2^63 has no place in a skew-symmetric integer file");
    }
    None
}

fn array_lines<K: ValueKind>(
    mut cursor: Cursor<'_>,
    header: &Header,
    rules: &Rules,
    limit: u64,
) -> Result<Lines, ParseError> {
    let mut items: Vec<K::Item> = reserved(cursor, header, K::NUMBERS * 2)?;
    while cursor.seek_entry(b'%').map_err(|problem| explain(cursor, header, expected::<K>(), problem))? {
        if items.len() as u64 == limit {
            return Err(too_many(cursor, header));
        }
        let start = cursor;
        let item = K::scan(&mut cursor)
            .and_then(|item| cursor.end_line().map(|()| item))
            .map_err(|problem| explain(cursor, header, expected::<K>(), problem))?;
        if !K::has_mirror(item, header.symmetry) {
            return Err(at_line(start, "-2^63 has no place in a skew-symmetric integer file, as 2^63 does not fit"));
        }
        if rules.range.is_some_and(|range| !K::is_within(item, range)) {
            return Err(at_line(start, out_of_type(header)));
        }
        items.push(item);
    }
    let none = || Array::U32(Vec::new());
    Ok(Lines { rows: none(), cols: none(), values: K::array(items) })
}

/// All positions of a square array, from those listed; `None` if memory runs out.
fn squared(values: Array, header: &Header) -> Option<Array> {
    Some(match values {
        Array::F64(listed) => Array::F64(square(&listed, header)?),
        Array::I64(listed) => Array::I64(square(&listed, header)?),
        Array::U64(listed) => Array::U64(square(&listed, header)?),
        Array::Pairs(listed) => Array::Pairs(square(&listed, header)?),
        other => other,
    })
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

/// An empty vector with room for as many entries as the text can hold.
fn reserved<T>(cursor: Cursor<'_>, header: &Header, shortest: usize) -> Result<Vec<T>, ParseError> {
    let mut vec = Vec::new();
    let room = room(Some(cursor.remaining() as u64), header.listed, shortest);
    vec.try_reserve_exact(room).map_err(|_| at_line(cursor, no_memory(header)))?;
    Ok(vec)
}
