//! The entries below the size line.
//!
//! One loop for coordinate files and one for arrays, each compiled per index width and kind of value, over pieces of
//! whole lines.

use super::explain::{Expected, at_line, explain, no_memory, too_few, too_many};
use super::header::{self, Header};
use super::parsed::{Field, Format, Indices, Item, Parsed, Symmetry, Values};
use crate::io::text::column::{Column, room};
use crate::io::text::cursor::{Cursor, Part, Problem};
use crate::io::text::error::ParseError;
use crate::io::text::kind::{Complex, Integer, Kind, Pattern, Real, Unsigned, Width};
use crate::io::text::source::{Fault, Source};

/// Parses a whole file.
pub(super) fn matrix(source: &mut Source<'_>) -> Result<Parsed, Fault> {
    let header = source.header(|cursor, _| header::read(cursor))?;
    let parsed = match stored_field(header.field, header.type_hint.as_deref(), header.symmetry) {
        Field::Real => entries::<Real>(source, header),
        Field::Integer => entries::<Integer>(source, header),
        Field::UnsignedInteger => entries::<Unsigned>(source, header),
        Field::Complex => entries::<Complex>(source, header),
        Field::Pattern => entries::<Pattern>(source, header),
    }?;
    source.finish();
    Ok(parsed)
}

/// Tells every line at fault.
pub(super) fn violations(source: &mut Source<'_>, tell: &mut dyn FnMut(ParseError)) -> Result<(), Fault> {
    let header = source.header(|cursor, _| header::read(cursor))?;
    let field = stored_field(header.field, header.type_hint.as_deref(), header.symmetry);
    let found = source.violations(
        &|text| match field {
            Field::Real => count::<Real>(text, &header),
            Field::Integer => count::<Integer>(text, &header),
            Field::UnsignedInteger => count::<Unsigned>(text, &header),
            Field::Complex => count::<Complex>(text, &header),
            Field::Pattern => count::<Pattern>(text, &header),
        },
        tell,
    )?;
    if found != header.listed {
        let few = found < header.listed;
        let more = || format!("there are {found} entries where the size line promises {}", header.listed);
        let message = if few { too_few(&header, found) } else { more() };
        return Err(source.at_end(message));
    }
    source.finish();
    Ok(())
}

/// How many entries some lines hold, if they are right.
fn count<K: Kind>(text: &[u8], header: &Header) -> Result<u64, ParseError> {
    let cursor = Cursor::new(text);
    Ok(match (header.format, is_narrow(header)) {
        (Format::Coordinate, true) => lines::<K, u32>(cursor, header, u64::MAX)?.values.len(),
        (Format::Coordinate, false) => lines::<K, u64>(cursor, header, u64::MAX)?.values.len(),
        (Format::Array, _) => array_lines::<K>(cursor, header, u64::MAX)?.len(),
    } as u64)
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

fn expected<K: Kind>() -> Expected {
    Expected { numbers: K::NUMBERS, allowed: K::ALLOWED }
}

fn entries<K: Kind>(source: &mut Source<'_>, header: Header) -> Result<Parsed, Fault> {
    let narrow = is_narrow(&header);
    let (row_indices, col_indices, values) = match (header.format, narrow) {
        (Format::Coordinate, true) => coordinates::<K, u32>(source, &header)?,
        (Format::Coordinate, false) => coordinates::<K, u64>(source, &header)?,
        (Format::Array, true) => (u32::indices(Vec::new()), u32::indices(Vec::new()), array::<K>(source, &header)?),
        (Format::Array, false) => (u64::indices(Vec::new()), u64::indices(Vec::new()), array::<K>(source, &header)?),
    };
    let Header { rows, cols, format, field, symmetry, type_hint, .. } = header;
    Ok(Parsed { rows, cols, format, field, symmetry, type_hint, row_indices, col_indices, values })
}

/// The entries of a few lines.
struct Lines<W, T> {
    rows: Vec<W>,
    cols: Vec<W>,
    values: Vec<T>,
}

fn coordinates<K: Kind, W: Width>(
    source: &mut Source<'_>,
    header: &Header,
) -> Result<(Indices, Indices, Values), Fault> {
    let room = room(source.remaining(), header.listed, (2 + K::NUMBERS) * 2);
    let columns = (|| Some((Column::<W>::new(room)?, Column::<W>::new(room)?, Column::<K::Item>::new(room)?)))();
    let (mut rows, mut cols, mut values) = columns.ok_or_else(|| source.at_end(no_memory(header)))?;
    let mut take = |parts: Vec<Lines<W, K::Item>>| {
        let lengths: Vec<usize> = parts.iter().map(|part| part.values.len()).collect();
        let part = |i: usize| parts.get(i);
        let copied = rows
            .append(&lengths, &|i, out| copy(part(i).map(|part| &part.rows), out))
            .and_then(|()| cols.append(&lengths, &|i, out| copy(part(i).map(|part| &part.cols), out)))
            .and_then(|()| values.append(&lengths, &|i, out| copy(part(i).map(|part| &part.values), out)));
        copied.ok_or_else(|| no_memory(header))
    };
    let parse = |text: &[u8], limit: u64| lines::<K, W>(Cursor::new(text), header, limit);
    let found = source.entries(header.listed, &parse, &|part| part.values.len(), &mut take)?;
    if found != header.listed {
        return Err(source.at_end(too_few(header, found)));
    }
    Ok((W::indices(rows.into_vec()), W::indices(cols.into_vec()), K::values(values.into_vec())))
}

fn copy<T: Copy>(from: Option<&Vec<T>>, to: &mut [T]) {
    for (to, &from) in to.iter_mut().zip(from.into_iter().flatten()) {
        *to = from;
    }
}

fn lines<K: Kind, W: Width>(
    mut cursor: Cursor<'_>,
    header: &Header,
    limit: u64,
) -> Result<Lines<W, K::Item>, ParseError> {
    let shortest = (2 + K::NUMBERS) * 2;
    let mut rows: Vec<W> = reserved(cursor, header, shortest)?;
    let mut cols: Vec<W> = reserved(cursor, header, shortest)?;
    let mut values: Vec<K::Item> = reserved(cursor, header, shortest)?;
    let symmetry = header.symmetry;
    // The cursor is handed to the error path by value, which keeps it in registers here.
    while cursor.seek_entry::<b'%'>().map_err(|problem| explain(cursor, header, expected::<K>(), problem))? {
        if rows.len() as u64 == limit {
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
    Ok(Lines { rows, cols, values })
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

fn array<K: Kind>(source: &mut Source<'_>, header: &Header) -> Result<Values, Fault> {
    let room = room(source.remaining(), header.listed, K::NUMBERS * 2);
    let mut items = Column::<K::Item>::new(room).ok_or_else(|| source.at_end(no_memory(header)))?;
    let mut take = |parts: Vec<Vec<K::Item>>| {
        let lengths: Vec<usize> = parts.iter().map(Vec::len).collect();
        items.append(&lengths, &|i, out| copy(parts.get(i), out)).ok_or_else(|| no_memory(header))
    };
    let parse = |text: &[u8], limit: u64| array_lines::<K>(Cursor::new(text), header, limit);
    let found = source.entries(header.listed, &parse, &Vec::len, &mut take)?;
    if found != header.listed {
        return Err(source.at_end(too_few(header, found)));
    }
    let mut items = items.into_vec();
    if header.symmetry != Symmetry::General {
        items = square(&items, header).ok_or_else(|| source.at_end(no_memory(header)))?;
    }
    Ok(K::values(items))
}

fn array_lines<K: Kind>(mut cursor: Cursor<'_>, header: &Header, limit: u64) -> Result<Vec<K::Item>, ParseError> {
    let mut items: Vec<K::Item> = reserved(cursor, header, K::NUMBERS * 2)?;
    while cursor.seek_entry::<b'%'>().map_err(|problem| explain(cursor, header, expected::<K>(), problem))? {
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
        items.push(item);
    }
    Ok(items)
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
