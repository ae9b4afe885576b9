//! Two patterns merged with what they store: a result's elements are computed as its coordinates are found.

use std::ops::Range;

use openwork_ops::Scalar;
use openwork_ops::binary::{Beside, MergeKernel, Merged, Stored};
use openwork_ops::structure::keys::Field;
use openwork_ops::structure::merge::{Keep, Segmented};

use super::is_narrow;
use super::tasks::{Both, Task, tasks};
use crate::base::buffer::{Buffer, zeroed_vec};
use crate::base::faults::{self, Fault};
use crate::base::mapped::Mapped;
use crate::base::pages::Scratch;
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::base::trace::{Work, raise};
use crate::base::turns::{cut, in_turns, put};
use crate::levels::folded::Folded;
use crate::levels::level::Level;
use crate::levels::pattern::{Dim, Part, Pattern};
use crate::levels::segments::{Bounds, Segments};

/// One of two operands.
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a> {
    /// In order, with the levels of the other.
    pub(crate) pattern: &'a Pattern,
    /// An element for each position.
    pub(crate) values: &'a [u8],
    /// What it is where it stores none.
    pub(crate) beside: Elsewhere<'a>,
}

/// What an operand is where it stores nothing.
#[derive(Clone, Copy)]
pub(crate) enum Elsewhere<'a> {
    One(Scalar),
    /// An array of the shape, with strides 0 along the axes on which it does not vary.
    Array(&'a Strided),
}

/// The same as the merge reads it.
enum Given {
    /// One element, in a word of its own.
    One([u64; 2]),
    OfCoords {
        elements: Buffer,
        field: Field,
    },
    OfSegments(Buffer),
}

/// Which dimensions are those of segments, and where the others are in a coordinate.
struct Split<'a> {
    dims: &'a [Dim],
    leading: usize,
    fields: &'a [Field],
}

impl Split<'_> {
    /// `None` where an array varies along more than one dimension of coordinates, or along these and those of segments.
    fn given(&self, beside: Elsewhere<'_>) -> Option<Given> {
        let array = match beside {
            Elsewhere::One(element) => return Some(Given::One(bytemuck::cast(element.to_bytes().0))),
            Elsewhere::Array(array) => array,
        };
        let is_whole = self.dims.len() == array.ndim() && self.dims.iter().all(|d| d.part == Part::Whole);
        if !is_whole || array.len() == 0 {
            return None;
        }
        let array = array.permute(&self.dims.mapped(|d| d.axis));
        let varying: Vec<usize> = (0..array.ndim()).filter(|&d| array.strides[d] != 0 && array.shape[d] > 1).collect();
        let along = |array: &Strided, dims: Range<usize>| {
            let one = (0..array.ndim()).filter(|d| !dims.contains(d));
            let array = one.fold(array.clone(), |array, d| array.narrow(d, 0..1));
            Buffer::filled(array.len() * array.dtype.size(), array.dtype.size(), |out| array.read(0, out)).ok()
        };
        match varying[..] {
            [d] if d >= self.leading => {
                Some(Given::OfCoords { elements: along(&array, d..d + 1)?, field: self.fields[d - self.leading] })
            }
            _ if varying.iter().all(|&d| d < self.leading) => Some(Given::OfSegments(along(&array, 0..self.leading)?)),
            _ => None,
        }
    }
}

impl Given {
    /// Of segments from the first one of a task on.
    fn from(&self, first: usize, size: usize) -> Beside<'_> {
        match self {
            Given::One(words) => Beside::One(&bytemuck::cast_slice(words)[..size]),
            Given::OfSegments(elements) => Beside::OfSegments(&elements.bytes()[first * size..]),
            Given::OfCoords { elements, field } => Beside::OfCoords {
                elements: elements.bytes(),
                shift: field.shift,
                mask: (u64::MAX >> (64 - field.bits.max(1))) as u32,
            },
        }
    }
}

/// The merged pattern, and a result of `width` bytes for each of its positions. `None` unless no array is wide, and these are compressed
/// rows, coordinates of pairs of which the first have no more values than there are pairs, or what is [`Folded`] to rows.
pub(crate) fn merge_values(
    operands: [Operand<'_>; 2],
    keep: Keep,
    width: usize,
    kernel: MergeKernel,
) -> Option<(Pattern, Buffer)> {
    let [a, b] = &operands;
    let Some((folded, [p, q])) = Folded::both(a.pattern, b.pattern) else {
        let dims = &a.pattern.dims;
        let leading = dims.len().checked_sub(1)?;
        let whole = Field { word: 0, shift: 0, bits: u32::BITS };
        let split = Split { dims, leading, fields: &[whole] };
        return merge_rows(operands, &split, keep, width, kernel);
    };
    let split = Split { dims: &a.pattern.dims, leading: folded.leading(), fields: folded.fields() };
    let operands = [Operand { pattern: &p, ..*a }, Operand { pattern: &q, ..*b }];
    let (pattern, values) = merge_rows(operands, &split, keep, width, kernel)?;
    Some((folded.unfold(&pattern)?, values))
}

/// The same of rows and pairs.
fn merge_rows(
    [a, b]: [Operand<'_>; 2],
    split: &Split<'_>,
    keep: Keep,
    width: usize,
    kernel: MergeKernel,
) -> Option<(Pattern, Buffer)> {
    let (last, above) = a.pattern.levels.split_last()?;
    if !is_narrow(a.pattern, b.pattern) || !above.iter().all(|level| matches!(level, Level::Dense)) {
        return None;
    }
    let dims = &a.pattern.dims;
    let (given_left, given_right) = (last.segments::<u32>()?, b.pattern.levels.last()?.segments::<u32>()?);
    let is_of_pairs = given_left.columns.len() == 2;
    let sized = if is_of_pairs { &dims[..1] } else { &dims[..above.len()] };
    let count = sized.iter().map(|d| d.size).product();
    if is_of_pairs && (!above.is_empty() || count > given_left.len() + given_right.len()) {
        return None;
    }
    let (mut of_left, mut of_right) = (Vec::new(), Vec::new());
    let left = under_parents(&given_left, count, &mut of_left)?;
    let right = under_parents(&given_right, count, &mut of_right)?;
    // Only now is it known that segments are as few as pointers: before, their number is that of a shape.
    let beside = [split.given(a.beside)?, split.given(b.beside)?];
    raise(Work::Engine);
    let size = match a.beside {
        Elsewhere::One(element) => element.dtype().size(),
        Elsewhere::Array(array) => array.dtype.size(),
    };
    let [mut of_a, mut of_b] = beside.each_ref();
    if faults::is(Fault::FillsExchanged) {
        std::mem::swap(&mut of_a, &mut of_b);
    }
    // The first segment is that of so many.
    let of = |first: usize, segments: [Segmented<'_, u32>; 2], out: Merged<'_>| {
        let [x, y] = segments;
        let first = if faults::is(Fault::FillsOfFirstRows) { 0 } else { first };
        let (x, y) = (
            Stored { segments: x, values: a.values, beside: of_a.from(first, size) },
            Stored { segments: y, values: b.values, beside: of_b.from(first, size) },
        );
        kernel.run(x, y, out)
    };
    let both = Both { left: &left, right: &right, keep };
    let segments = both.in_order()?;
    let segment = |i: usize| (left.of(i), right.of(i));
    let most = both.most(left.len(), right.len());
    let (mut coords, mut values) = (Scratch::<u32>::any(most), Scratch::<u8>::any(most * width));
    let mut ends = Scratch::<u32>::any(count + 1);
    ends[0] = 0;
    let past_caches = [coords.is_streamed(), values.is_streamed()];
    let room = Room { coords: &mut coords, values: &mut values, ends: &mut ends[1..], start: 0, width, past_caches };
    let kept = match tasks(&both, Some(segments), count, &segment) {
        None => of(0, segments, Merged { coords: room.coords, values: room.values, ends: room.ends }),
        Some(tasks) => {
            let make = |t: usize, piece: &mut Piece| match &tasks[t] {
                Task::Parents(parents) => {
                    let segments =
                        segments.map(|s| Segmented { pointers: &s.pointers[parents.start..=parents.end], ..s });
                    piece.make(segments, &both, width, &|segments, out| of(parents.start, segments, out));
                }
                Task::Part(l, r) => {
                    let ends = |range: &Range<usize>| [range.start as u32, range.end as u32];
                    let [x, y] = segments;
                    let (p, q) = (ends(l), ends(r));
                    let part = |s, pointers| Segmented { pointers, base: 0, ..s };
                    piece.make([part(x, &p), part(y, &q)], &both, width, &|segments, out| of(0, segments, out));
                    piece.ends.clear(); // the segment goes on
                }
            };
            let done =
                in_turns(tasks.len(), room, &make, &|room, piece| room.cut(piece), &|piece, to| piece.copy(to)).start;
            if let [Task::Part(..), ..] = tasks[..] {
                ends[1] = done as u32;
            }
            done
        }
    };
    coords.truncate(kept);
    values.truncate(kept * width);
    let mut indices = vec![coords.into()];
    if is_of_pairs {
        indices.insert(0, firsts(&ends, kept).into());
    }
    let pointers = (given_left.has_parents() || given_right.has_parents()).then(|| ends.into());
    let last = Level::Sparse { pointers, indices, ordered: true, unique: true };
    let levels = above.iter().cloned().chain(std::iter::once(last)).collect();
    let (dims, level_dims) = (a.pattern.dims.clone(), a.pattern.level_dims);
    Some((Pattern { levels, dims, level_dims, positions: kept }, Buffer::from_block(values.into_block())))
}

/// As segments of single coordinates that pointers bound, which are written where there are none: of one segment, or of pairs with the
/// same first coordinate.
fn under_parents<'a>(s: &Segments<'a, u32>, count: usize, room: &'a mut Vec<u32>) -> Option<Segments<'a, u32>> {
    let (bounds, coords) = match (s.bounds, &s.columns[..]) {
        (bounds @ Bounds::Pointers(_), &[coords]) => (bounds, coords),
        (Bounds::Whole(n), &[coords]) => {
            *room = vec![0, n as u32];
            (Bounds::Pointers(room), coords)
        }
        (Bounds::Whole(_), &[firsts, coords]) => {
            *room = pointers_of(firsts, count);
            (Bounds::Pointers(room), coords)
        }
        _ => return None,
    };
    Some(Segments { bounds, columns: [coords].into_iter().collect() })
}

/// Where each of `count` numbers ends among numbers that rise, after a 0.
fn pointers_of(firsts: &[u32], count: usize) -> Vec<u32> {
    /// Places that are looked at one after the other, before it is asked how far away the end is.
    const NEAR: usize = 8;
    let mut pointers = zeroed_vec::<u32>(count + 1);
    parallel::for_chunks_mut(&mut pointers[1..], 1, parallel::GRAIN, &|start, ends| {
        let mut at = firsts.partition_point(|&f| (f as usize) < start);
        for (number, end) in (start as u32..).zip(ends) {
            let near = firsts[at..].iter().take(NEAR).take_while(|&&f| f == number).count();
            at += near;
            let mut step = NEAR;
            while near == NEAR && firsts.get(at + step - 1) == Some(&number) {
                (at, step) = (at + step, 2 * step);
            }
            if near == NEAR {
                at += firsts[at..firsts.len().min(at + step)].partition_point(|&f| f == number);
            }
            *end = at as u32;
        }
    });
    pointers
}

/// The first coordinate of each of `n` pairs, from where the pairs of each end.
fn firsts(pointers: &[u32], n: usize) -> Scratch<u32> {
    let mut out = Scratch::any(n);
    parallel::for_chunks_mut(&mut out, 1, parallel::GRAIN, &|start, part| {
        let mut first = pointers.partition_point(|&p| p as usize <= start) - 1;
        let mut at = start;
        let end = start + part.len();
        while at < end {
            let until = (pointers[first + 1] as usize).min(end);
            part[at - start..until - start].fill(first as u32);
            (at, first) = (until, first + 1);
        }
    });
    out
}

/// What one task makes, in memory of its own.
#[derive(Default)]
struct Piece {
    coords: Vec<u32>,
    values: Vec<u64>,
    /// Where each parent's part ends.
    ends: Vec<u32>,
    /// How much is kept.
    len: usize,
}

impl Piece {
    fn make(
        &mut self,
        segments: [Segmented<'_, u32>; 2],
        both: &Both<'_, u32>,
        width: usize,
        of: &dyn Fn([Segmented<'_, u32>; 2], Merged<'_>) -> usize,
    ) {
        let [l, r] = segments.map(|s| (s.pointers[s.pointers.len() - 1] - s.pointers[0]) as usize);
        let room = both.most(l, r);
        let words = (room * width).div_ceil(8);
        self.coords.resize(room.max(self.coords.len()), 0);
        self.values.resize(words.max(self.values.len()), 0);
        self.ends.clear();
        self.ends.resize(segments[0].pointers.len() - 1, 0);
        let values = &mut bytemuck::cast_slice_mut(&mut self.values)[..room * width];
        self.len = of(segments, Merged { coords: &mut self.coords[..room], values, ends: &mut self.ends });
    }

    fn copy(&self, to: Room<'_>) {
        let [past_coords, past_values] = to.past_caches;
        put(&self.coords[..self.len], to.coords, past_coords);
        put(&bytemuck::cast_slice(&self.values)[..self.len * to.width], to.values, past_values);
        let start = if faults::is(Fault::EndsUnmoved) { 0 } else { to.start as u32 };
        to.ends.iter_mut().zip(&self.ends).for_each(|(to, &end)| *to = start + end);
    }
}

/// The part of the result that is not made yet.
struct Room<'a> {
    coords: &'a mut [u32],
    values: &'a mut [u8],
    ends: &'a mut [u32],
    /// How much stands before it.
    start: usize,
    width: usize,
    /// Whether coordinates, and values, are copied past the caches.
    past_caches: [bool; 2],
}

impl<'a> Room<'a> {
    fn cut(&mut self, piece: &Piece) -> Room<'a> {
        let Room { coords, values, ends, width, past_caches, .. } = self;
        let (width, past_caches, start) = (*width, *past_caches, self.start);
        let (coords, values, ends) =
            (cut(coords, piece.len), cut(values, piece.len * width), cut(ends, piece.ends.len()));
        self.start += piece.len;
        Room { coords, values, ends, start, width, past_caches }
    }
}
