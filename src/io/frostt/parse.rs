//! The entries, in pieces of whole lines.

use std::ops::ControlFlow;

use openwork_ops::{DType, Scalar};

use super::explain::{explain, out_of_type, too_many};
use super::head::{self, Header};
use super::{Dialect, ReadOptions};
use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::io::matrix_market::{Field, Values, values_of, whole_range};
use crate::io::text::column::{Array, Column, copy, room};
use crate::io::text::cursor::{Cursor, EntryPart, Problem};
use crate::io::text::error::{Expected, ParseError};
use crate::io::text::kind::{Complex, Integer, Pattern, Real, Unsigned, ValueKind};
use crate::io::text::source::{Failure, TextSource};
use crate::tensor::Tensor;
use crate::tensor::index_array::IndexArray;
use crate::tensor::trace;

/// Indices from here on are not read: no axis is longer.
const LARGEST: u64 = 1 << 63;
/// Indices below this are kept in 32 bits.
const NARROW: u64 = 1 << 31;

/// What a file holds.
pub(super) struct ParsedTensor {
    head: Header,
    shape: Vec<u64>,
    columns: Vec<IndexArray>,
    values: Values,
}

impl ParsedTensor {
    /// The dtype that a comment names, if values of this kind can have it.
    pub(super) fn named(&self) -> Option<DType> {
        self.head.dtype.map(|_| self.head.value_dtype())
    }

    pub(super) fn into_tensor(self) -> Result<Tensor> {
        let _call = trace::call("frostt", &[]);
        let shape = (0..self.shape.len()).try_mapped(|axis| {
            let n = self.shape[axis];
            let why = || error::invalid("size", format_args!("axis {axis} of size {n} is beyond 2^63"));
            usize::try_from(n).ok().filter(|_| n <= LARGEST).ok_or_else(why)
        })?;
        let values = values_of(self.values, self.head.dtype);
        let fill = Scalar::zero(values.dtype);
        Tensor::coo(&shape, self.columns, &Tensor::from_strided(values), fill)
    }
}

/// Parses a whole file.
pub(super) fn tensor(
    source: &mut TextSource<'_>,
    options: &ReadOptions<'_>,
) -> std::result::Result<ParsedTensor, Failure> {
    let head = source.header(|cursor, last| head::read(cursor, last, options))?;
    let range = range_of(&head, options);
    let parsed = entries(source, head, range)?;
    source.finish();
    Ok(parsed)
}

/// Reports every line at fault.
pub(super) fn violations(
    source: &mut TextSource<'_>,
    options: &ReadOptions<'_>,
    report: &mut dyn FnMut(ParseError),
) -> std::result::Result<(), Failure> {
    let head = source.header(|cursor, last| head::read(cursor, last, options))?;
    if let Some(size) = head.shape.iter().flatten().find(|&&size| size > LARGEST) {
        return Err(source.at_end(format!("an axis of size {size} is longer than 2^63")));
    }
    let range = range_of(&head, options);
    let count = |text: &[u8]| part(text, &head, range, u64::MAX).map(|part| part.values.len() as u64);
    let found = source.violations(&count, report)?;
    if let Some(listed) = head.listed.filter(|&listed| listed != found) {
        return Err(source.at_end(format!("there are {found} entries where the size line promises {listed}")));
    }
    source.finish();
    Ok(())
}

/// The least and the largest value, where a comment names a dtype that has them and the reader is not lenient.
fn range_of(head: &Header, options: &ReadOptions<'_>) -> Range {
    head.dtype.filter(|_| !options.lenient).and_then(whole_range)
}

type Range = Option<(i128, i128)>;

/// The entries of some lines.
struct Lines {
    /// Index tuples one after the other, in 32 bits where these hold them all.
    tuples: Array,
    values: Array,
    /// Per axis, one more than the largest index.
    reach: Vec<u64>,
}

fn part(text: &[u8], head: &Header, range: Range, limit: u64) -> std::result::Result<Lines, ParseError> {
    match head.field {
        Field::Real => part_of::<Real>(text, head, range, limit),
        Field::Integer => part_of::<Integer>(text, head, range, limit),
        Field::UnsignedInteger => part_of::<Unsigned>(text, head, range, limit),
        Field::Complex => part_of::<Complex>(text, head, range, limit),
        Field::Pattern => part_of::<Pattern>(text, head, range, limit),
    }
}

fn part_of<K: ValueKind>(
    text: &[u8],
    head: &Header,
    range: Range,
    limit: u64,
) -> std::result::Result<Lines, ParseError> {
    match lines::<K>(Cursor::new(text), head, range, limit, false) {
        Err(Stop::Wide) => lines::<K>(Cursor::new(text), head, range, limit, true).map_err(Stop::into_error),
        other => other.map_err(Stop::into_error),
    }
}

/// Why lines could not be parsed.
enum Stop {
    Wrong(ParseError),
    /// An index needs more than 32 bits.
    Wide,
}

/// Writes one index out of every tuple; `out` has as many, in 32 bits or 64.
fn pick(tuples: &Array, order: usize, axis: usize, out: &mut [u8]) {
    fn each<F: Copy, const N: usize>(
        tuples: &[F],
        order: usize,
        axis: usize,
        out: &mut [u8],
        to: impl Fn(F) -> [u8; N],
    ) {
        let (out, _) = out.as_chunks_mut::<N>();
        for (out, tuple) in out.iter_mut().zip(tuples.chunks_exact(order)) {
            if let Some(&index) = tuple.get(axis) {
                *out = to(index);
            }
        }
    }
    let entries = tuples.len() / order.max(1);
    match tuples {
        Array::U32(tuples) if out.len() == entries * 4 => each(tuples, order, axis, out, u32::to_ne_bytes),
        Array::U32(tuples) => each(tuples, order, axis, out, |index| u64::from(index).to_ne_bytes()),
        Array::U64(tuples) => each(tuples, order, axis, out, u64::to_ne_bytes),
        _ => debug_assert!(false, "values are no indices"),
    }
}

/// Entries that are collected.
struct Columns {
    order: usize,
    indices: Vec<Column>,
    values: Column,
    reach: Vec<u64>,
}

impl Columns {
    /// No entries yet, with room for so many; `None` if memory does not suffice.
    fn new(like: &Lines, order: usize, room: usize) -> Option<Columns> {
        let indices = (0..order).map(|_| Column::new(&like.tuples, room)).collect::<Option<Vec<Column>>>()?;
        Some(Columns { order, indices, values: Column::new(&like.values, room)?, reach: vec![0; order] })
    }

    /// Adds the entries of some lines; `None` if memory does not suffice.
    fn append(&mut self, parts: &[Lines]) -> Option<()> {
        let lengths: Vec<usize> = parts.mapped(|part| part.values.len());
        for part in parts {
            self.reach.iter_mut().zip(&part.reach).for_each(|(all, &here)| *all = here.max(*all));
        }
        let (order, wide) = (self.order, parts.iter().any(|part| matches!(part.tuples, Array::U64(_))));
        self.indices.iter_mut().enumerate().try_for_each(|(axis, column)| {
            if wide {
                column.widen()?;
            }
            column.append(&lengths, &|i, out| {
                if let Some(part) = parts.get(i) {
                    pick(&part.tuples, order, axis, out);
                }
            })
        })?;
        self.values.append(&lengths, &|i, out| {
            if let Some(part) = parts.get(i) {
                copy(part.values.bytes(), out);
            }
        })
    }

    /// The tensor, whose axes reach as far as the indices do where nothing says how far.
    fn tensor(self, head: Header) -> ParsedTensor {
        let shape = head.shape.clone().unwrap_or(self.reach);
        let columns = self.indices.into_iter().map(|column| column.into_array().into_index_array()).collect();
        ParsedTensor { shape, columns, values: self.values.into_array().into_values(), head }
    }
}

fn no_memory() -> String {
    "not enough memory for the entries".to_owned()
}

fn entries(source: &mut TextSource<'_>, head: Header, range: Range) -> std::result::Result<ParsedTensor, Failure> {
    let empty = part(b"", &head, range, 0)?;
    let numbers = match empty.values {
        Array::Units(_) => 0,
        Array::Pairs(_) => 2,
        _ => 1,
    };
    // Entries are rarely as short as they could be.
    let listed = head.listed.unwrap_or(u64::MAX);
    let shortest = (head.order + numbers) * if head.listed.is_some() { 2 } else { 4 };
    let room = room(source.remaining(), listed, shortest);
    let made = Columns::new(&empty, head.order, room);
    let mut columns = made.ok_or_else(|| source.at_end(no_memory()))?;
    let mut take = |parts: Vec<Lines>| columns.append(&parts).ok_or_else(no_memory);
    each_block(source, &head, range, &mut take)?;
    Ok(columns.tensor(head))
}

/// Parses all entries, block by block of the text.
fn each_block(
    source: &mut TextSource<'_>,
    head: &Header,
    range: Range,
    take: &mut dyn FnMut(Vec<Lines>) -> std::result::Result<(), String>,
) -> std::result::Result<(), Failure> {
    let listed = head.listed.unwrap_or(u64::MAX);
    let parse = |text: &[u8], limit: u64| part(text, head, range, limit);
    let found = source.entries(listed, &parse, &|part| part.values.len(), take)?;
    if let Some(listed) = head.listed.filter(|&listed| listed != found) {
        let message = format!("the file ends after {found} of the {listed} entries that the size line promises");
        return Err(source.at_end(message));
    }
    Ok(())
}

/// The size of each axis: what the file says, else as far as its indices reach.
pub(super) fn shape(source: &mut TextSource<'_>, options: &ReadOptions<'_>) -> std::result::Result<Vec<u64>, Failure> {
    let head = source.header(|cursor, last| head::read(cursor, last, options))?;
    if let Some(shape) = head.shape {
        return Ok(shape);
    }
    let mut reach = vec![0_u64; head.order];
    let range = range_of(&head, options);
    each_block(source, &head, range, &mut |parts| {
        for part in &parts {
            reach.iter_mut().zip(&part.reach).for_each(|(all, &here)| *all = here.max(*all));
        }
        Ok(())
    })?;
    Ok(reach)
}

/// Parses a file and hands on the entries of each block of its text, until `give` has seen enough; all of them at once
/// where nothing says how far the axes reach, or where a type that values may not fit stands above them.
pub(super) fn blocks(
    source: &mut TextSource<'_>,
    options: &ReadOptions<'_>,
    give: &mut dyn FnMut(ParsedTensor) -> ControlFlow<()>,
) -> std::result::Result<(), Failure> {
    let head = source.header(|cursor, last| head::read(cursor, last, options))?;
    let range = range_of(&head, options);
    if head.shape.is_none() || (options.lenient && head.dtype.is_some()) {
        let _ = give(entries(source, head, range)?);
        source.finish();
        return Ok(());
    }
    let empty = part(b"", &head, range, 0)?;
    let mut stopped = false;
    let mut take = |parts: Vec<Lines>| {
        let room = parts.iter().map(|part| part.values.len()).sum();
        let mut columns = Columns::new(&empty, head.order, room).ok_or_else(no_memory)?;
        columns.append(&parts).ok_or_else(no_memory)?;
        stopped = give(columns.tensor(head.clone())).is_break();
        if stopped { Err(String::new()) } else { Ok(()) }
    };
    let done = each_block(source, &head, range, &mut take);
    if !stopped {
        done?;
        source.finish();
    }
    Ok(())
}

impl Stop {
    fn into_error(self) -> ParseError {
        match self {
            Stop::Wrong(error) => error,
            Stop::Wide => ParseError { line: 1, message: "an index does not fit".to_owned() },
        }
    }
}

/// Parses into indices of 64 bits (`wide`) or 32.
fn lines<K: ValueKind>(
    mut cursor: Cursor<'_>,
    head: &Header,
    range: Range,
    limit: u64,
    wide: bool,
) -> std::result::Result<Lines, Stop> {
    let shortest = (head.order + K::NUMBERS) * 2;
    let room = room(Some(cursor.remaining() as u64), limit, shortest);
    let no_memory = || Stop::Wrong(ParseError::at(&[], 0, "not enough memory for the entries"));
    let mut tuples = Array::indices(wide, room * head.order).ok_or_else(no_memory)?;
    let mut values: Vec<K::Item> = Vec::new();
    values.try_reserve_exact(room).map_err(|_| no_memory())?;
    let end = if wide { u64::MAX } else { NARROW };
    let comment = match head.dialect {
        Dialect::Tns => b'#',
        Dialect::Ttx => b'%',
    };
    let sizes = head.shape.clone().unwrap_or_else(|| vec![LARGEST; head.order]);
    let mut reach = vec![0_u64; head.order];
    let expected = Expected { numbers: K::NUMBERS, allowed: K::ALLOWED };
    let wrong = |cursor: Cursor<'_>, problem: Problem| Stop::Wrong(explain(cursor, head, expected, problem));
    while cursor.seek_entry(comment).map_err(|problem| wrong(cursor, problem))? {
        if values.len() as u64 == limit {
            return Err(Stop::Wrong(too_many(cursor, limit_of(head, limit))));
        }
        for (mode, (&size, reach)) in sizes.iter().zip(&mut reach).enumerate() {
            if mode > 0 {
                cursor.gap(EntryPart::Mode(mode)).map_err(|problem| wrong(cursor, problem))?;
            }
            let index = cursor.mode(mode, head.base, size).map_err(|problem| wrong(cursor, problem))?;
            if index >= end {
                return Err(Stop::Wide);
            }
            *reach = (index + 1).max(*reach);
            tuples.push_index(index);
        }
        let start = cursor;
        let value = value::<K>(&mut cursor).map_err(|problem| wrong(cursor, problem))?;
        if range.is_some_and(|range| !K::is_within(value, range)) {
            return Err(Stop::Wrong(out_of_type(start, head)));
        }
        values.push(value);
    }
    Ok(Lines { tuples, values: K::array(values), reach })
}

fn limit_of(head: &Header, limit: u64) -> u64 {
    head.listed.unwrap_or(limit)
}

#[inline(always)]
fn value<K: ValueKind>(cursor: &mut Cursor<'_>) -> std::result::Result<K::Item, Problem> {
    if K::NUMBERS > 0 {
        cursor.gap(EntryPart::Value)?;
    }
    let value = K::scan(cursor)?;
    cursor.end_line()?;
    Ok(value)
}
