//! The entries, in pieces of whole lines.

use openwork_ops::Scalar;

use super::explain::{explain, too_many};
use super::head::{self, Head};
use super::{Dialect, Options};
use crate::construct::IndexArray;
use crate::error::{self, Result};
use crate::io::matrix_market::{Field, Values, index_array, values_of};
use crate::io::text::column::{Column, room};
use crate::io::text::cursor::{Cursor, Part, Problem};
use crate::io::text::error::ParseError;
use crate::io::text::kind::{Complex, Integer, Kind, Pattern, Real, Unsigned, Width};
use crate::io::text::source::{Fault, Source};
use crate::tensor::Tensor;

/// Indices from here on are not read: no axis is longer.
const LARGEST: u64 = 1 << 63;
/// Indices below this are kept in 32 bits.
const NARROW: u64 = 1 << 31;

/// What a file holds.
pub(super) struct Parsed {
    head: Head,
    shape: Vec<u64>,
    columns: Vec<IndexArray>,
    values: Values,
}

impl Parsed {
    pub(super) fn into_tensor(self) -> Result<Tensor> {
        let size = |(axis, &n): (usize, &u64)| {
            let why = || error::invalid("frostt", "size", format!("axis {axis} of size {n} is beyond 2^63"));
            usize::try_from(n).ok().filter(|_| n <= LARGEST).ok_or_else(why)
        };
        let shape: Vec<usize> = self.shape.iter().enumerate().map(size).collect::<Result<_>>()?;
        let values = values_of(self.values, self.head.dtype);
        let fill = Scalar::zero(values.dtype);
        Tensor::coo(&shape, self.columns, &Tensor::from_strided(values), fill)
    }
}

/// Parses a whole file.
pub(super) fn tensor(source: &mut Source<'_>, options: &Options<'_>) -> std::result::Result<Parsed, Fault> {
    let head = source.header(|cursor, last| head::read(cursor, last, options))?;
    let parsed = match head.field {
        Field::Real => entries::<Real>(source, head),
        Field::Integer => entries::<Integer>(source, head),
        Field::UnsignedInteger => entries::<Unsigned>(source, head),
        Field::Complex => entries::<Complex>(source, head),
        Field::Pattern => entries::<Pattern>(source, head),
    }?;
    source.finish();
    Ok(parsed)
}

/// Tells every line at fault.
pub(super) fn violations(
    source: &mut Source<'_>,
    options: &Options<'_>,
    tell: &mut dyn FnMut(ParseError),
) -> std::result::Result<(), Fault> {
    let head = source.header(|cursor, last| head::read(cursor, last, options))?;
    let found = source.violations(
        &|text| match head.field {
            Field::Real => count::<Real>(text, &head),
            Field::Integer => count::<Integer>(text, &head),
            Field::UnsignedInteger => count::<Unsigned>(text, &head),
            Field::Complex => count::<Complex>(text, &head),
            Field::Pattern => count::<Pattern>(text, &head),
        },
        tell,
    )?;
    if let Some(listed) = head.listed.filter(|&listed| listed != found) {
        return Err(source.at_end(format!("there are {found} entries where the size line promises {listed}")));
    }
    source.finish();
    Ok(())
}

/// How many entries some lines hold, if they are right.
fn count<K: Kind>(text: &[u8], head: &Head) -> std::result::Result<u64, ParseError> {
    parsed::<K>(text, head, u64::MAX).map(|lines| lines.values.len() as u64)
}

/// The entries of some lines, in the narrower tuples if these hold them.
fn parsed<K: Kind>(text: &[u8], head: &Head, limit: u64) -> std::result::Result<Lines<K::Item>, ParseError> {
    match lines::<K, u32>(Cursor::new(text), head, limit) {
        Err(Stop::Wide) => lines::<K, u64>(Cursor::new(text), head, limit).map_err(Stop::into_error),
        other => other.map_err(Stop::into_error),
    }
}

/// Index tuples one after the other.
enum Tuples {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

/// The entries of a few lines.
struct Lines<T> {
    tuples: Tuples,
    values: Vec<T>,
    /// One more than the largest index of each axis.
    reach: Vec<u64>,
}

/// Why a few lines were not parsed.
enum Stop {
    /// An index needs 64 bits.
    Wide,
    Wrong(ParseError),
}

/// One column per axis, in 32 bits as long as they suffice.
enum Columns {
    Narrow(Vec<Column<u32>>),
    Wide(Vec<Column<u64>>),
}

impl Columns {
    fn new(order: usize, room: usize) -> Option<Columns> {
        (0..order).map(|_| Column::new(room)).collect::<Option<_>>().map(Columns::Narrow)
    }

    fn widen(&mut self) {
        if let Columns::Narrow(columns) = self {
            let wide = |column: Column<u32>| Column::from_vec(column.into_vec().into_iter().map(u64::from).collect());
            *self = Columns::Wide(std::mem::take(columns).into_iter().map(wide).collect());
        }
    }

    fn append<T>(&mut self, parts: &[Lines<T>], lengths: &[usize]) -> Option<()>
    where
        T: Sync,
    {
        if parts.iter().any(|part| matches!(part.tuples, Tuples::Wide(_))) {
            self.widen();
        }
        match self {
            Columns::Narrow(columns) => {
                let order = columns.len();
                columns.iter_mut().enumerate().try_for_each(|(axis, column)| {
                    column.append(lengths, &|i, out| match parts.get(i).map(|part| &part.tuples) {
                        Some(Tuples::Narrow(tuples)) => pick(tuples, order, axis, out, |index| index),
                        _ => debug_assert!(false, "wide tuples made the columns wide"),
                    })
                })
            }
            Columns::Wide(columns) => {
                let order = columns.len();
                columns.iter_mut().enumerate().try_for_each(|(axis, column)| {
                    column.append(lengths, &|i, out| match parts.get(i).map(|part| &part.tuples) {
                        Some(Tuples::Narrow(tuples)) => pick(tuples, order, axis, out, u64::from),
                        Some(Tuples::Wide(tuples)) => pick(tuples, order, axis, out, |index| index),
                        None => {}
                    })
                })
            }
        }
    }

    fn into_arrays(self) -> Vec<IndexArray> {
        match self {
            Columns::Narrow(all) => {
                all.into_iter().map(|column| index_array(u32::indices(column.into_vec()))).collect()
            }
            Columns::Wide(all) => all.into_iter().map(|column| index_array(u64::indices(column.into_vec()))).collect(),
        }
    }
}

/// One index out of every tuple.
fn pick<F: Copy, T>(tuples: &[F], order: usize, axis: usize, out: &mut [T], to: impl Fn(F) -> T) {
    for (out, tuple) in out.iter_mut().zip(tuples.chunks_exact(order.max(1))) {
        if let Some(&index) = tuple.get(axis) {
            *out = to(index);
        }
    }
}

fn entries<K: Kind>(source: &mut Source<'_>, head: Head) -> std::result::Result<Parsed, Fault> {
    let listed = head.listed.unwrap_or(u64::MAX);
    let no_memory = || "not enough memory for the entries".to_owned();
    // Entries are rarely as short as they could be.
    let room = room(source.remaining(), listed, (head.order + K::NUMBERS) * if head.listed.is_some() { 2 } else { 4 });
    let made = Columns::new(head.order, room).zip(Column::<K::Item>::new(room));
    let (mut columns, mut values) = made.ok_or_else(|| source.at_end(no_memory()))?;
    let mut reach = vec![0_u64; head.order];
    let mut take = |parts: Vec<Lines<K::Item>>| {
        let lengths: Vec<usize> = parts.iter().map(|part| part.values.len()).collect();
        for part in &parts {
            reach.iter_mut().zip(&part.reach).for_each(|(all, &here)| *all = here.max(*all));
        }
        let done = columns.append(&parts, &lengths).and_then(|()| {
            values.append(&lengths, &|i, out| {
                let part = parts.get(i).map(|part| part.values.as_slice()).unwrap_or_default();
                out.iter_mut().zip(part).for_each(|(out, &value)| *out = value);
            })
        });
        done.ok_or_else(no_memory)
    };
    let parse = |text: &[u8], limit: u64| parsed::<K>(text, &head, limit);
    let found = source.entries(listed, &parse, &|part| part.values.len(), &mut take)?;
    if let Some(listed) = head.listed.filter(|&listed| listed != found) {
        let message = format!("the file ends after {found} of the {listed} entries that the size line promises");
        return Err(source.at_end(message));
    }
    let shape = head.shape.clone().unwrap_or(reach);
    Ok(Parsed { shape, columns: columns.into_arrays(), values: K::values(values.into_vec()), head })
}

impl Stop {
    fn into_error(self) -> ParseError {
        match self {
            Stop::Wrong(error) => error,
            Stop::Wide => ParseError { line: 1, message: "an index does not fit".to_owned() },
        }
    }
}

/// A width of tuples.
trait Tuple: Width {
    const END: u64;
    fn tuples(all: Vec<Self>) -> Tuples;
}

impl Tuple for u32 {
    const END: u64 = NARROW;
    fn tuples(all: Vec<u32>) -> Tuples {
        Tuples::Narrow(all)
    }
}

impl Tuple for u64 {
    const END: u64 = u64::MAX;
    fn tuples(all: Vec<u64>) -> Tuples {
        Tuples::Wide(all)
    }
}

fn lines<K: Kind, W: Tuple>(
    mut cursor: Cursor<'_>,
    head: &Head,
    limit: u64,
) -> std::result::Result<Lines<K::Item>, Stop> {
    let shortest = (head.order + K::NUMBERS) * 2;
    let room = room(Some(cursor.remaining() as u64), limit, shortest);
    let mut tuples: Vec<W> = Vec::new();
    let mut values: Vec<K::Item> = Vec::new();
    let reserved = tuples.try_reserve_exact(room * head.order).and_then(|()| values.try_reserve_exact(room));
    let no_memory = |_| Stop::Wrong(ParseError::at(&[], 0, "not enough memory for the entries"));
    reserved.map_err(no_memory)?;
    let sizes = head.shape.clone().unwrap_or_else(|| vec![LARGEST; head.order]);
    let mut reach = vec![0_u64; head.order];
    let wrong = |cursor: Cursor<'_>, problem: Problem| Stop::Wrong(explain::<K>(cursor, head, problem));
    while seek(&mut cursor, head.dialect).map_err(|problem| wrong(cursor, problem))? {
        if values.len() as u64 == limit {
            return Err(Stop::Wrong(too_many(cursor, limit_of(head, limit))));
        }
        for (mode, (&size, reach)) in sizes.iter().zip(&mut reach).enumerate() {
            if mode > 0 {
                cursor.gap(Part::Mode(mode)).map_err(|problem| wrong(cursor, problem))?;
            }
            let index = cursor.mode(mode, head.base, size).map_err(|problem| wrong(cursor, problem))?;
            if index >= W::END {
                return Err(Stop::Wide);
            }
            *reach = (index + 1).max(*reach);
            tuples.push(W::narrow(index));
        }
        values.push(value::<K>(&mut cursor).map_err(|problem| wrong(cursor, problem))?);
    }
    Ok(Lines { tuples: W::tuples(tuples), values, reach })
}

fn limit_of(head: &Head, limit: u64) -> u64 {
    head.listed.unwrap_or(limit)
}

#[inline(always)]
fn seek(cursor: &mut Cursor<'_>, dialect: Dialect) -> std::result::Result<bool, Problem> {
    match dialect {
        Dialect::Tns => cursor.seek_entry::<b'#'>(),
        Dialect::Ttx => cursor.seek_entry::<b'%'>(),
    }
}

#[inline(always)]
fn value<K: Kind>(cursor: &mut Cursor<'_>) -> std::result::Result<K::Item, Problem> {
    if K::NUMBERS > 0 {
        cursor.gap(Part::Value)?;
    }
    let value = K::scan(cursor)?;
    cursor.end_line()?;
    Ok(value)
}
