//! The same elements in another shape: coordinates of sparse tensors are digits of one C-order number, group of axes by group of axes.

use std::ops::Range;
use std::sync::Arc;

use openwork_ops::structure::Index;
use openwork_ops::{ReduceOp, Scalar};

use super::{coo_dims, product, to_coo};
use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::mapped::Mapped;
use crate::base::pages::Scratch;
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::base::trace::{Work, raise};
use crate::engine::convert;
use crate::levels::indices::{Indices, needs_64_bits};
use crate::levels::level::Level;
use crate::levels::pattern::{Dim, Pattern};
use crate::tensor::Sparse;
use crate::tensor::fill::{Fill, fill_of};

/// Positions whose numbers lie in the first-level cache together.
const PIECE: usize = 1 << 11;

pub(super) fn reshape_sparse(s: &Sparse, shape: &[usize]) -> Result<Sparse> {
    if let Some(leading) = cut(s, shape) {
        return in_parts(s, shape, leading);
    }
    let s = to_coo(s)?;
    let fill = fill_in(&s, shape)?;
    raise(Work::Engine);
    let groups = axis_groups(&s.shape, shape);
    for (from, _) in &groups {
        let overflow = || error::shape(&[&s.shape, shape], "axes that merge exceed 2^128 elements together");
        product(&s.shape[from.clone()]).ok_or_else(overflow)?;
    }
    let positions = s.pattern.positions;
    let level = if needs_64_bits(positions, shape.iter().copied()) {
        level::<u64>(&s, &groups, shape)
    } else {
        level::<u32>(&s, &groups, shape)
    };
    let pattern = Pattern { levels: vec![level?], dims: coo_dims(shape), level_dims: shape.len(), positions };
    Ok(Sparse { shape: shape.into(), pattern: Arc::new(pattern), values: s.values, fill })
}

fn fill_in(s: &Sparse, shape: &[usize]) -> Result<Fill> {
    match (&s.fill, s.fill_values()) {
        (Fill::Array(_), Some(values)) => reshape_fill(&values, shape),
        (fill, _) => Ok(fill.clone()),
    }
}

/// How many axes of the new shape the levels hold, where rows of values, of which there are some, hold all others.
fn cut(s: &Sparse, shape: &[usize]) -> Option<usize> {
    let levels = s.pattern.level_dims;
    let in_order = s.pattern.dims.iter().enumerate().all(|(axis, dim)| *dim == Dim::whole(axis, s.shape[axis]));
    if !in_order || levels == 0 || levels == s.ndim() || product(&s.shape) == Some(0) {
        return None;
    }
    let wanted = [product(&s.shape[..levels])?, product(&s.shape[levels..])?];
    let fits = |&at: &usize| product(&shape[..at]) == Some(wanted[0]) && product(&shape[at..]) == Some(wanted[1]);
    (1..shape.len()).find(fits)
}

/// Levels and rows of values each in a part of the shape.
fn in_parts(s: &Sparse, shape: &[usize], leading: usize) -> Result<Sparse> {
    let s = if s.pattern.is_canonical() { s.clone() } else { convert::coalesce(s, ReduceOp::Sum)? };
    let (levels, positions) = (s.pattern.level_dims, s.pattern.positions);
    let pattern = Pattern { dims: s.pattern.dims[..levels].to_vec(), ..(*s.pattern).clone() };
    let stored = Strided::constant(Scalar::Bool(true), &[positions]);
    let fill = Fill::Scalar(Scalar::Bool(false));
    let listed = Sparse { shape: s.shape[..levels].into(), pattern: Arc::new(pattern), values: stored, fill };
    let mut pattern = (*reshape_sparse(&listed, &shape[..leading])?.pattern).clone();
    pattern.dims.extend((leading..shape.len()).map(|axis| Dim::whole(axis, shape[axis])));
    let rows: Vec<usize> = std::iter::once(positions).chain(shape[leading..].iter().copied()).collect();
    let values = s.values.reshape(&rows)?;
    Ok(Sparse { shape: shape.into(), pattern: Arc::new(pattern), values, fill: fill_in(&s, shape)? })
}

/// The coordinates in the new shape.
fn level<I: Index>(s: &Sparse, groups: &[(Range<usize>, Range<usize>)], shape: &[usize]) -> Result<Level> {
    let [Level::Sparse { indices: old, .. }] = &s.pattern.levels[..] else {
        return Err(error::layout("coordinates are one level"));
    };
    let n = s.pattern.positions;
    let is_long = |&size: &usize| size != 1;
    // Of axes of size 1, and of all where nothing is stored.
    let zeros = || Indices::from(zeros::<I>(n));
    let mut indices = Vec::with_capacity(shape.len());
    // Where nothing is stored there is nothing to number, however long axes are.
    for (from, to) in groups.iter().filter(|_| n > 0) {
        let axes = from.clone().filter(|&axis| is_long(&s.shape[axis])).collect::<Vec<_>>();
        let sizes = shape[to.clone()].iter().copied().filter(is_long).collect::<Vec<_>>();
        let found = match (&axes[..], sizes.len()) {
            (&[axis], 1) => vec![of_width::<I>(&old[axis])],
            _ => digits::<I>(s, &axes, &sizes),
        };
        let mut found = found.into_iter();
        for size in &shape[to.clone()] {
            indices.push(if is_long(size) { found.next() } else { None }.unwrap_or_else(zeros));
        }
    }
    indices.resize_with(shape.len(), zeros);
    // Without coordinates, pointers say how many elements there are.
    let pointers = shape.is_empty().then(|| Indices::of_few(&[I::new(0), I::new(n)]));
    Ok(Level::Sparse { pointers, indices, ordered: true, unique: true })
}

fn zeros<I: Index>(n: usize) -> Scratch<I> {
    let mut out = Scratch::any(n);
    parallel::for_chunks_mut(&mut out, 1, parallel::GRAIN, &|_, out| out.fill(I::new(0)));
    out
}

/// The same coordinates, which are known to fit; shared where they have this width.
fn of_width<I: Index>(column: &Indices) -> Indices {
    match size_of::<I>() == size_of::<u64>() {
        true => column.widened(true),
        false => column.narrowed().unwrap_or_else(|| column.clone()),
    }
}

/// The number that the coordinates along some axes are the digits of, in digits of other sizes.
///
/// Cost: O(positions · digits).
fn digits<I: Index>(s: &Sparse, axes: &[usize], sizes: &[usize]) -> Vec<Indices> {
    let n = s.pattern.positions;
    let mut columns: Vec<Scratch<I>> = sizes.iter().map(|_| Scratch::any(n)).collect();
    let mut tasks: Vec<Vec<&mut [I]>> = Vec::new();
    for column in &mut columns {
        for (task, piece) in column.chunks_mut(parallel::GRAIN).enumerate() {
            if task == tasks.len() {
                tasks.push(Vec::with_capacity(sizes.len()));
            }
            tasks[task].push(piece);
        }
    }
    let old = axes.mapped(|&axis| s.shape[axis]);
    // A coordinate along an axis, times all that is after it.
    let weights = |scale: &dyn Fn(usize) -> u64| {
        let mut weights = vec![0; s.ndim()];
        axes.iter().enumerate().for_each(|(i, &axis)| weights[axis] = scale(i));
        s.pattern.level_weights(&weights)
    };
    match product(&old).and_then(|n| u64::try_from(n).ok()) {
        Some(count) => {
            let carried = !faults::is(Fault::DigitsUncarried);
            let weights = weights(&|i| old[i + 1..].iter().filter(|_| carried).map(|&size| size as u64).product());
            let divisors: Vec<Divisor> = sizes.iter().map(|&size| Divisor::new(size as u64, count)).collect();
            parallel::for_each(tasks, &|task, mut out| {
                let mut room = [0u64; PIECE];
                let len = out.first().map_or(0, |out| out.len());
                for start in (0..len).step_by(PIECE) {
                    let piece = start..len.min(start + PIECE);
                    let numbers = &mut room[..piece.len()];
                    let first = task * parallel::GRAIN;
                    s.pattern.linearize(&weights, first + piece.start..first + piece.end, numbers);
                    split(numbers, &divisors, &mut out, piece);
                }
            });
        }
        // Rare: axes of 2^64 elements and more.
        None => {
            let weights = axes.mapped(|&axis| weights(&|i| u64::from(axes[i] == axis)));
            parallel::for_each(tasks, &|task, mut out| {
                let len = out.first().map_or(0, |out| out.len());
                let first = task * parallel::GRAIN;
                let mut numbers = vec![0u128; len];
                let mut coordinates = vec![0u64; len];
                for (weights, &size) in weights.iter().zip(&old) {
                    s.pattern.linearize(weights, first..first + len, &mut coordinates);
                    for (number, &c) in numbers.iter_mut().zip(&coordinates) {
                        *number = *number * size as u128 + u128::from(c);
                    }
                }
                for (&size, out) in sizes.iter().zip(&mut out).rev() {
                    for (number, out) in numbers.iter_mut().zip(&mut **out) {
                        *out = I::new((*number % size as u128) as usize);
                        *number /= size as u128;
                    }
                }
            });
        }
    }
    columns.into_iter().map(Indices::from).collect()
}

/// Numbers in digits, the last one first; the numbers are used up.
fn split<I: Index>(numbers: &mut [u64], divisors: &[Divisor], out: &mut [&mut [I]], piece: Range<usize>) {
    for (d, (divisor, out)) in divisors.iter().zip(out).enumerate().rev() {
        let out = &mut out[piece.clone()];
        if d == 0 {
            // What is left in the end is the first digit.
            out.iter_mut().zip(&*numbers).for_each(|(out, &number)| *out = I::new(number as usize));
            return;
        }
        let by = divisor.by;
        match divisor.reciprocal {
            Some(upper) => {
                last_digits(numbers, by, out, |number| ((u128::from(number) * u128::from(upper)) >> 64) as u64)
            }
            None => last_digits(numbers, by, out, |number| number / by),
        }
    }
}

#[inline(always)]
fn last_digits<I: Index>(numbers: &mut [u64], by: u64, out: &mut [I], quotient: impl Fn(u64) -> u64) {
    for (number, out) in numbers.iter_mut().zip(out) {
        let rest = quotient(*number);
        *out = I::new((*number - rest * by) as usize);
        *number = rest;
    }
}

/// What numbers below a limit are divided by.
struct Divisor {
    by: u64,
    /// `⌈2⁶⁴ / by⌉`, where that times a number has the quotient in its upper half: the quotient is too large by less than `number / 2⁶⁴`
    /// then, which does not reach the next integer while `number · by` is at most 2⁶⁴ (Granlund and Montgomery, 1994).
    reciprocal: Option<u64>,
}

impl Divisor {
    /// For numbers below `limit`.
    fn new(by: u64, limit: u64) -> Divisor {
        let is_exact = by > 1 && u128::from(by) * u128::from(limit) <= 1 << 64;
        Divisor { by, reciprocal: is_exact.then(|| u64::MAX / by + 1) }
    }
}

/// The finest groups of consecutive axes with equal numbers of elements on both sides.
fn axis_groups(from: &[usize], to: &[usize]) -> Vec<(Range<usize>, Range<usize>)> {
    if product(from) == Some(0) {
        return vec![(0..from.len(), 0..0)]; // nothing is stored
    }
    let (mut out, mut i, mut j) = (Vec::new(), 0, 0);
    while i < from.len() || j < to.len() {
        let (i0, j0) = (i, j);
        let (mut x, mut y) = (1u128, 1u128);
        loop {
            if x == y && (i > i0 || j > j0) && x != 1 {
                break;
            }
            if x <= y && i < from.len() {
                x = x.saturating_mul(from[i] as u128);
                i += 1;
            } else if j < to.len() {
                y = y.saturating_mul(to[j] as u128);
                j += 1;
            } else if i < from.len() {
                x = x.saturating_mul(from[i] as u128);
                i += 1;
            } else {
                break;
            }
        }
        out.push((i0..i, j0..j));
    }
    out
}

/// An array fill in another shape: each group of axes must be constant or full as a whole.
fn reshape_fill(values: &Strided, shape: &[usize]) -> Result<Fill> {
    let core = values.unbroadcast();
    let mut small = Vec::with_capacity(shape.len());
    let mut fits = true;
    for (from, to) in axis_groups(&values.shape, shape) {
        let varies = from.clone().any(|a| core.shape[a] > 1);
        let full = from.clone().all(|a| core.shape[a] == values.shape[a]);
        fits &= !varies || full;
        small.extend(to.map(|a| if varies { shape[a] } else { 1 }));
    }
    if fits {
        return Ok(fill_of(&core.reshape(&small)?.broadcast(shape)));
    }
    context::may_densify(shape, values.dtype.size(), || {
        format!(
            "the array fill of shape {:?} is full along some of the axes that merge or split, and constant along others",
            core.shape
        )
    })?;
    Ok(fill_of(&values.reshape(shape)?))
}

#[cfg(test)]
#[path = "tests/reshape.rs"]
mod tests;
