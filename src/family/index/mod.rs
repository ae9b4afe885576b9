//! Indexing: which elements are meant, chosen, or assigned to.
//!
//! An index is a list of [`Index`] items, one for each axis and a few that stand for others. It is resolved against a
//! shape once ([`Resolved`]); reading and assigning follow what comes of it.

mod choose;
mod along_axis;
mod truth;
mod assign;
mod put;
mod boxes;
mod erase;
mod listed;
mod pick;
mod points;
mod prefix;
mod strided;

use crate::base::mapped::{Chosen, Mapped};
use std::ops::{Deref, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use openwork_ops::{DType, Element};

use crate::base::buffer::Buffer;
use crate::base::error::{self, Error, Result};
use crate::base::parallel;
use crate::base::shape::broadcast_shapes;
use crate::base::strided::Strided;
use crate::tensor::Tensor;

/// One item of an index: what it takes from an axis. Made by [`s!`](crate::s!), or from integers, ranges, lists and
/// tensors.
///
/// Negative indices count from the end. Ranges are never clamped: what is out of bounds is an error.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Index {
    /// Selects one element and removes the axis.
    At(isize),
    /// The elements of a range, every `step`th of them. With a negative step they come from the range's end
    /// backwards: `..;-1` is the axis reversed, `1..5;-2` the elements 4 and 2.
    Range(Span, isize),
    /// A new axis of size 1.
    NewAxis,
    /// As many whole axes as are not named. At most once.
    Ellipsis,
    /// The elements that a strided integer tensor lists. Several broadcast against each other, as in NumPy.
    List(Tensor),
    /// The elements at which a bool tensor is true; absent is not. It stands for as many axes as it has, whose sizes it
    /// has.
    Mask(Tensor),
}

/// A range of one axis; either end may be negative and counts from the axis' end then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first element.
    pub start: isize,
    /// One past the last element; the axis' end if there is none.
    pub end: Option<isize>,
}

impl Index {
    /// Every `step`th element of a range; a negative step goes backwards from its end.
    pub fn stepped(range: impl Into<Span>, step: isize) -> Index {
        Index::Range(range.into(), step)
    }
}

impl From<RangeFull> for Span {
    fn from(_: RangeFull) -> Span {
        Span { start: 0, end: None }
    }
}

impl From<Span> for Index {
    fn from(span: Span) -> Index {
        Index::Range(span, 1)
    }
}

impl From<RangeFull> for Index {
    fn from(range: RangeFull) -> Index {
        Span::from(range).into()
    }
}

/// A machine index as it counts from the front: what does not fit is out of any bounds.
fn signed(index: impl TryInto<isize>) -> isize {
    index.try_into().unwrap_or(isize::MAX)
}

// Every conversion stands for itself, so that the compiler lists them all where one is missing.
macro_rules! from_ranges {
    ($ty:ty: $($range:ident $r:ident => ($start:expr, $end:expr)),*) => {$(
        impl From<$range<$ty>> for Span {
            fn from($r: $range<$ty>) -> Span {
                Span { start: $start, end: $end }
            }
        }
        impl From<$range<$ty>> for Index {
            fn from(range: $range<$ty>) -> Index {
                Span::from(range).into()
            }
        }
    )*};
}

macro_rules! from_integers {
    ($($ty:ty),*) => {$(
        from_ranges!($ty: Range r => (signed(r.start), Some(signed(r.end))),
            RangeFrom r => (signed(r.start), None),
            RangeTo r => (0, Some(signed(r.end))),
            RangeInclusive r => (signed(*r.start()), past(signed(*r.end()))),
            RangeToInclusive r => (0, past(signed(r.end))));
        impl From<$ty> for Index {
            fn from(at: $ty) -> Index {
                Index::At(signed(at))
            }
        }
        impl From<Vec<$ty>> for Index {
            fn from(list: Vec<$ty>) -> Index {
                listed(list.into_iter().map(|i| signed(i) as i64).collect())
            }
        }
        impl From<&Vec<$ty>> for Index {
            fn from(list: &Vec<$ty>) -> Index {
                list.as_slice().into()
            }
        }
        impl From<&[$ty]> for Index {
            fn from(list: &[$ty]) -> Index {
                listed(list.iter().map(|&i| signed(i) as i64).collect())
            }
        }
        impl<const N: usize> From<[$ty; N]> for Index {
            fn from(list: [$ty; N]) -> Index {
                listed(list.into_iter().map(|i| signed(i) as i64).collect())
            }
        }
        impl<const N: usize> From<&[$ty; N]> for Index {
            fn from(list: &[$ty; N]) -> Index {
                list.as_slice().into()
            }
        }
    )*};
}
from_integers!(i32, i64, isize, u32, u64, usize);

/// The end of an inclusive range: `..=-1` ends where the axis does.
fn past(end: isize) -> Option<isize> {
    if end == -1 { None } else { Some(end.saturating_add(1)) }
}

fn listed(list: Vec<i64>) -> Index {
    let n = list.len();
    Index::List(Tensor::from_strided(Strided::from_vec(list, vec![n])))
}

impl From<Tensor> for Index {
    fn from(tensor: Tensor) -> Index {
        if tensor.dtype() == DType::Bool { Index::Mask(tensor) } else { Index::List(tensor) }
    }
}

impl From<&Tensor> for Index {
    fn from(tensor: &Tensor) -> Index {
        tensor.clone().into()
    }
}

/// Index items, one for each axis: integers, ranges, `range;step`, [`NewAxis`](crate::Index::NewAxis),
/// [`Ellipsis`](crate::Index::Ellipsis), lists, masks.
///
/// ```
/// use openwork::{Ellipsis, Layout, NewAxis, Tensor, s};
///
/// let x = Tensor::random([8, 6, 5], 0.2, 0.0, Layout::Csf, 1)?;
/// assert_eq!(x.slice(s![3, 1..4, ..])?.shape(), [3, 5]);
/// assert_eq!(x.slice(s![..;-1, Ellipsis, -1])?.shape(), [8, 6]);
/// assert_eq!(x.slice(s![NewAxis, ..;2, ..=2, 0..0])?.shape(), [1, 4, 3, 0]);
/// assert_eq!(x.index(s![[0, 7, 0], .., vec![1, 2, 2]])?.shape(), [3, 6]);
/// # Ok::<(), openwork::Error>(())
/// ```
#[macro_export]
macro_rules! s {
    (@ [$($done:expr,)*]) => { [$($done),*] };
    (@ [$($done:expr,)*] $range:expr ; $step:expr, $($rest:tt)*) => {
        $crate::s!(@ [$($done,)* $crate::s!(# $crate::Index::stepped($range, $step)),] $($rest)*)
    };
    (@ [$($done:expr,)*] $range:expr ; $step:expr) => {
        [$($done,)* $crate::s!(# $crate::Index::stepped($range, $step))]
    };
    (@ [$($done:expr,)*] $item:expr, $($rest:tt)*) => {
        $crate::s!(@ [$($done,)* $crate::s!(# $crate::Index::from($item)),] $($rest)*)
    };
    (@ [$($done:expr,)*] $item:expr) => { [$($done,)* $crate::s!(# $crate::Index::from($item))] };
    // `3..-1` is not empty here.
    (# $item:expr) => {{
        #[allow(clippy::reversed_empty_ranges)]
        let item = $item;
        item
    }};
    () => { [] as [$crate::Index; 0] };
    ($($items:tt)+) => { $crate::s!(@ [] $($items)+) };
}

/// Places along an axis, counted from the front.
#[derive(Clone, Debug)]
pub(crate) struct List(Buffer);

impl Deref for List {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        self.0.typed()
    }
}

impl From<Vec<u64>> for List {
    fn from(places: Vec<u64>) -> List {
        List(Buffer::from_vec(places))
    }
}

/// What an index takes from one axis of the tensor.
#[derive(Clone, Debug)]
pub(crate) enum Taken {
    At(usize),
    Step {
        start: usize,
        step: isize,
        len: usize,
    },
    /// An element for each place of the lists, which have been broadcast.
    List(List),
}

/// What an axis of the result is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    /// An axis of the tensor, stepped through.
    Axis(usize),
    New,
    /// The axes of the broadcast lists.
    Lists,
}

/// An index resolved against a shape.
pub(crate) struct Resolved {
    /// For each axis of the tensor. With lists there is no `At`: it is a list then.
    taken: Vec<Taken>,
    made: Vec<Made>,
    /// The shape of the broadcast lists, if there are any.
    lists: Option<Vec<usize>>,
}

impl Resolved {
    pub(crate) fn new(shape: &[usize], items: &[Index]) -> Result<Resolved> {
        let axes_of = |item: &Index| match item {
            Index::NewAxis | Index::Ellipsis => 0,
            Index::Mask(mask) => mask.ndim(),
            _ => 1,
        };
        let named: usize = items.iter().map(axes_of).sum();
        if named > shape.len() {
            let why = format!("{named} axes are indexed, the tensor has {}", shape.len());
            return Err(error::invalid("indices", why));
        }
        if items.iter().filter(|i| matches!(i, Index::Ellipsis)).count() > 1 {
            return Err(error::invalid("indices", "more than one ellipsis: one is allowed"));
        }
        let mut resolved = Resolved { taken: Vec::with_capacity(shape.len()), made: Vec::new(), lists: None };
        // Lists with their shapes, and where they stand among the items.
        let (mut lists, mut places) = (Vec::<(usize, Strided)>::new(), Vec::new());
        let whole = [Index::Ellipsis];
        let implied = if items.iter().any(|i| matches!(i, Index::Ellipsis)) { &[][..] } else { &whole };
        for (place, item) in items.iter().chain(implied).enumerate() {
            let axis = resolved.taken.len();
            match item {
                Index::NewAxis => resolved.made.push(Made::New),
                Index::Ellipsis => {
                    for &len in &shape[axis..axis + shape.len() - named] {
                        resolved.made.push(Made::Axis(resolved.taken.len()));
                        resolved.taken.push(Taken::Step { start: 0, step: 1, len });
                    }
                }
                Index::At(at) => resolved.taken.push(Taken::At(bounded(*at as i64, axis, shape[axis])? as usize)),
                Index::Range(span, step) => {
                    resolved.made.push(Made::Axis(axis));
                    resolved.taken.push(stepped(*span, *step, axis, shape[axis])?);
                }
                Index::List(list) => {
                    lists.push((axis, integers(list)?));
                    places.push(place);
                    resolved.taken.push(Taken::At(0)); // filled in below
                }
                Index::Mask(mask) => {
                    let end = axis + mask.ndim();
                    if mask.ndim() == 0 || mask.shape() != &shape[axis..end] {
                        let why = "a mask needs the sizes of the axes it stands for";
                        return Err(error::shape(&[mask.shape(), &shape[axis..end]], why));
                    }
                    for column in truth::places(mask)? {
                        lists.push((resolved.taken.len(), column));
                        resolved.taken.push(Taken::At(0));
                    }
                    places.push(place);
                }
            }
            if matches!(item, Index::At(_)) {
                places.push(place);
            }
        }
        if !lists.is_empty() {
            resolved.broadcast(shape, items, lists, &places)?;
        }
        Ok(resolved)
    }

    /// Puts lists and integers together: NumPy's rules for several arrays.
    fn broadcast(
        &mut self,
        shape: &[usize],
        items: &[Index],
        lists: Vec<(usize, Strided)>,
        places: &[usize],
    ) -> Result<()> {
        let mut common = Vec::new();
        for (_, list) in &lists {
            let own = &list.shape;
            common = match broadcast_shapes(&common, own) {
                Ok(shape) => shape.to_vec(),
                Err(_) => {
                    let why = "lists and masks name elements together, and these do not broadcast; a block of rows and \
                               columns is chosen by two calls of index, with s![rows] and then s![.., columns]";
                    return Err(error::shape(&[&common, own], why));
                }
            };
        }
        let n = crate::engine::convert::dense_len(&common, DType::U64)?;
        for (axis, list) in lists {
            let mut own = all_bounded(&list, axis, shape[axis])?;
            if list.shape[..] != common[..] {
                let array = Strided::from_vec(own.to_vec(), list.shape.to_vec()).broadcast(&common);
                own = array.to_contiguous()?.typed::<u64>().unwrap_or_default().to_vec().into();
            }
            self.taken[axis] = Taken::List(own);
        }
        for taken in &mut self.taken {
            if let Taken::At(at) = taken {
                *taken = Taken::List(vec![*at as u64; n].into());
            }
        }
        // Side by side, they leave their axes where they stand; else their axes come first.
        let together = places.windows(2).all(|w| w[1] == w[0] + 1);
        let first = places.first().copied().unwrap_or(0);
        let before = if together {
            let axes = |item: &Index| match item {
                Index::NewAxis | Index::Range(..) => 1,
                Index::Ellipsis => self.made.len() - items.iter().filter(|i| counts(i)).count(),
                _ => 0,
            };
            items[..first].iter().map(axes).sum()
        } else {
            0
        };
        self.made.insert(before, Made::Lists);
        self.lists = Some(common);
        Ok(())
    }

    /// Sizes of the tensor's axes as the index takes them, axes that go having size 1.
    fn window(&self) -> Vec<usize> {
        self.taken.mapped(|t| match t {
            Taken::At(_) => 1,
            Taken::Step { len, .. } => *len,
            Taken::List(list) => list.len(),
        })
    }

    /// The shape of the result.
    pub(crate) fn shape(&self) -> Vec<usize> {
        let window = self.window();
        let mut out = Vec::new();
        for made in &self.made {
            match *made {
                Made::Axis(a) => out.push(window[a]),
                Made::New => out.push(1),
                Made::Lists => out.extend(self.lists.iter().flatten()),
            }
        }
        out
    }

    /// The axes that lists are for.
    fn listed(&self) -> Vec<usize> {
        (0..self.taken.len()).chosen(|&a| matches!(self.taken[a], Taken::List(_)))
    }

    /// The axes that lists are for, each with its list.
    fn lists(&self) -> (Vec<usize>, Vec<&[u64]>) {
        let axes = self.listed();
        let list = |&axis: &usize| if let Taken::List(list) = &self.taken[axis] { &list[..] } else { &[] };
        let lists = axes.mapped(list);
        (axes, lists)
    }
}

/// Whether an item makes exactly one axis.
fn counts(item: &Index) -> bool {
    matches!(item, Index::NewAxis | Index::Range(..))
}

/// An index counted from the front.
fn bounded(at: i64, axis: usize, size: usize) -> Result<u64> {
    let front = if at < 0 { i128::from(at) + size as i128 } else { i128::from(at) };
    if (0..size as i128).contains(&front) { Ok(front as u64) } else { Err(out_of_bounds(at, axis, size)) }
}

/// The same of all elements of an `int64` array in C order: where none is negative, the array itself.
fn all_bounded(list: &Strided, axis: usize, size: usize) -> Result<List> {
    let numbers = list.typed::<i64>().unwrap_or_default();
    // Counted from the front, what is before the first wraps around and is beyond the last.
    let front = |at: i64| (at as u64).wrapping_add(if at < 0 { size as u64 } else { 0 });
    let looks = parallel::map_chunks(numbers.len(), parallel::GRAIN, &|chunk| {
        numbers[chunk]
            .iter()
            .fold((false, true), |(negative, inside), &at| (negative | (at < 0), inside & (front(at) < size as u64)))
    });
    if looks.iter().any(|look| !look.1) {
        let outside = numbers.iter().find(|&&at| front(at) >= size as u64);
        return Err(out_of_bounds(outside.copied().unwrap_or_default(), axis, size));
    }
    if !looks.iter().any(|look| look.0) && !list.buffer.may_change() {
        let bytes = list.offset * size_of::<i64>()..(list.offset + numbers.len()) * size_of::<i64>();
        return Ok(List(list.buffer.slice(bytes)));
    }
    let bytes = size_of::<u64>();
    Ok(List(Buffer::filled_of_held(numbers.len() * bytes, bytes, |out| {
        parallel::for_chunks_mut(u64::from_bytes_mut(out), 1, parallel::GRAIN, &|first, out| {
            out.iter_mut().zip(&numbers[first..]).for_each(|(out, &at)| *out = front(at));
        });
    })))
}

#[cold]
fn out_of_bounds(at: i64, axis: usize, size: usize) -> Error {
    let why = if size == 0 {
        format!("{at} on axis {axis}, which has size 0: no index is allowed")
    } else {
        format!("{at} is out of bounds for axis {axis} of size {size}: allowed are -{size}..={}", size - 1)
    };
    error::invalid("indices", why)
}

fn stepped(span: Span, step: isize, axis: usize, size: usize) -> Result<Taken> {
    if step == 0 {
        return Err(error::invalid("indices", format_args!("a step of 0 on axis {axis}: any other is allowed")));
    }
    let front = |end: isize| if end < 0 { end as i128 + size as i128 } else { end as i128 };
    let (start, end) = (front(span.start), span.end.map_or(size as i128, front));
    if start < 0 || start > end || end > size as i128 {
        let given = match span.end {
            Some(end) => format!("{}..{end}", span.start),
            None => format!("{}..", span.start),
        };
        let why = format!(
            "{given} is not inside axis {axis} of size {size}: allowed are ends from 0 to {size} that do not fall, or negative ones that count from the end"
        );
        return Err(error::invalid("indices", why));
    }
    let (start, n) = (start as usize, (end - start) as usize);
    let len = n.div_ceil(step.unsigned_abs());
    let start = if step < 0 && n > 0 { start + n - 1 } else { start };
    Ok(Taken::Step { start, step, len })
}

/// The elements of an integer tensor as `int64`, in C order.
fn integers(list: &Tensor) -> Result<Strided> {
    if !list.dtype().is_int() {
        let why = "a list of indices has integers, a mask bools; cast it";
        return Err(error::dtype(&[list.dtype()], why));
    }
    let dense = list.to_dense()?;
    let Some(values) = dense.strided() else { return Err(error::layout("a list of indices is strided")) };
    // An index that i64 does not hold is out of any bounds.
    let of_u64 = if values.dtype == DType::U64 { Some(values.to_contiguous()?) } else { None };
    if let Some(large) = of_u64.as_ref().and_then(|v| v.typed::<u64>()?.iter().find(|&&v| i64::try_from(v).is_err())) {
        return Err(error::invalid("indices", format_args!("{large} is out of bounds for any axis")));
    }
    Ok(values.cast(DType::I64).to_contiguous()?.into_owned())
}
