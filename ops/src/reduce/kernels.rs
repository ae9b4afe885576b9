//! The loops of the folds.

use std::marker::PhantomData;

use super::monoid::{Fold, Monoid};
#[cfg(target_arch = "x86_64")]
use super::rows;
use super::{ROWS_AT_ONCE, ReduceKernels};
use crate::cast::cast_block;
use crate::dtype::{DType, Element};
use crate::groups::Store;
use crate::scalar::Scalar;
use crate::simd::{self, Loop};
use crate::unary::UnaryOp;

/// Elements folded in lanes before blocks are combined pairwise: 32 steps of 32 lanes.
const BLOCK: usize = 1024;

/// Pairwise levels: enough for every slice.
const LEVELS: usize = 64;

/// Segments up to this length are folded in lanes of their own.
pub(super) const SHORT: usize = 64;

/// Lanes of a short segment.
const LANES: usize = 8;

/// Accumulators that are read into a place of their own before they are written, where some stay as they are. Compilers store only those
/// that change if they see where these come from, which AVX2 does so slowly on some CPUs that it took five times as long.
const APART: usize = 128;

/// Accumulators so few that a place of their own does not pay.
const FEW: usize = 8;

/// The kernels of the fold `M` of elements `E`.
pub(super) fn of<M: Fold<E>, E: Element>() -> ReduceKernels {
    ReduceKernels {
        identity: M::IDENTITY.to_scalar(),
        taken_as: None,
        fold: |values, acc| store::<M>(acc, fold::<M, E>(E::from_bytes(values))),
        scatter: |values, keys, acc| scatter::<M, E>(E::from_bytes(values), keys, acc),
        segments: |values, offsets, acc| segments::<M, E>(E::from_bytes(values), offsets, acc),
        accumulate: accumulate::<M, E>,
        merge: merge::<M>,
        nfold: nfold::<M, E>,
    }
}

/// The same for elements `E` that are taken as `V` first: one more pass, fewer loops to compile.
pub(super) fn through<M: Fold<V>, V: Element, E: Element>() -> ReduceKernels {
    ReduceKernels { taken_as: Some((E::DTYPE, V::DTYPE)), ..of::<M, V>() }
}

/// Elements of another dtype, as words that are aligned for it.
pub(super) struct Words {
    words: Vec<u64>,
    len: usize,
}

impl Words {
    /// The elements of one dtype cast to another; to bool, whether each is not zero.
    pub(super) fn of(values: &[u8], from: DType, to: DType) -> Words {
        let len = values.len() / from.size() * to.size();
        let mut words = Words { words: vec![0; len.div_ceil(size_of::<u64>())], len };
        match UnaryOp::LogicalNot.kernel(from) {
            Some(is_zero) if to == DType::Bool => {
                is_zero(values, words.bytes_mut());
                words.bytes_mut().iter_mut().for_each(|value| *value ^= 1);
            }
            _ => cast_block(from, values, to, words.bytes_mut()),
        }
        words
    }
    pub(super) fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.len]
    }
}

fn store<M: Monoid>(acc: &mut [u8], value: M::Acc) {
    if let [acc] = bytemuck::cast_slice_mut(acc) {
        *acc = value.store();
    } else {
        debug_assert!(false, "a fold has one result");
    }
}

fn fold<M: Fold<E>, E: Element>(values: &[E]) -> M::Acc {
    // In blocks for the sake of rounding, which an order and whole numbers do not know.
    if M::PICKS || M::EXACT || values.len() <= BLOCK {
        return fold_block::<M, E>(values);
    }
    // A binary counter: `partial[k]` holds the fold of 2^j blocks, j falling with k.
    let mut partial = [M::IDENTITY; LEVELS];
    let mut depth = 0;
    for (i, block) in values.chunks(BLOCK).enumerate() {
        let mut acc = fold_block::<M, E>(block);
        for _ in 0..i.trailing_ones() {
            depth -= 1;
            acc = M::combine(partial[depth], acc);
        }
        partial[depth] = acc;
        depth += 1;
    }
    let mut acc = M::IDENTITY;
    while depth > 0 {
        depth -= 1;
        acc = M::combine(partial[depth], acc);
    }
    acc
}

#[inline(never)] // once per fold: it is by far the largest of the loops
fn fold_block<M: Fold<E>, E: Element>(values: &[E]) -> M::Acc {
    struct Block<'a, M, E>(&'a [E], PhantomData<M>);
    impl<M: Fold<E>, E: Element> Loop for Block<'_, M, E> {
        type Output = M::Acc;
        #[inline(always)]
        fn run(self) -> M::Acc {
            block::<M, E>(self.0)
        }
    }
    at_level::<M, _>(Block(values, PhantomData::<M>))
}

#[inline(always)]
fn block<M: Fold<E>, E: Element>(values: &[E]) -> M::Acc {
    if let Some(done) = M::shortly(values) {
        return done;
    }
    // `const`, so that only one of them is compiled.
    if const { M::EXACT } {
        in_turn::<M, E>(values)
    } else if const { size_of::<M::Acc>() <= 8 } {
        // Four vectors at best: a step waits for the one before it in the same lane.
        fold_lanes::<M, E, 32, 8>(values)
    } else {
        fold_lanes::<M, E, 8, 2>(values)
    }
}

/// Runs a loop at the level in use, or at the baseline where it gains nothing.
#[inline(always)]
fn at_level<M: Monoid, L: Loop>(work: L) -> L::Output {
    if const { M::WIDE } { simd::vectorised(work) } else { work.run() }
}

/// Elements that are folded before it is seen whether any others can change the result.
const FURTHER: usize = 1 << 10;

/// One after the other.
#[inline(always)]
fn in_turn<M: Fold<E>, E: Element>(values: &[E]) -> M::Acc {
    let fold = |values: &[E], acc| values.iter().fold(acc, |acc, &value| M::combine(acc, M::lift(value)));
    let Some(last) = M::ABSORBING else { return fold(values, M::IDENTITY) };
    let mut acc = M::IDENTITY;
    for values in values.chunks(FURTHER) {
        acc = fold(values, acc);
        if acc == last {
            break;
        }
    }
    acc
}

/// Independent accumulators, for the vector unit, combined as a tree. What is left goes by in the first `FEW` of them, known when this
/// is compiled, and the last of it apart: lanes that are chosen by a number would have to lie in memory.
#[inline(always)]
fn fold_lanes<M: Fold<E>, E: Element, const N: usize, const FEW: usize>(values: &[E]) -> M::Acc {
    let mut lanes = [M::IDENTITY; N];
    let (chunks, rest) = values.as_chunks::<N>();
    for chunk in chunks {
        for i in 0..N {
            lanes[i] = M::combine(lanes[i], M::lift(chunk[i]));
        }
    }
    let (chunks, rest) = rest.as_chunks::<FEW>();
    for chunk in chunks {
        for i in 0..FEW {
            lanes[i] = M::combine(lanes[i], M::lift(chunk[i]));
        }
    }
    simd::lie_together(&mut lanes);
    let mut last = M::IDENTITY;
    for &value in rest {
        last = M::combine(last, M::lift(value));
    }
    M::combine(tree::<M, N>(lanes), last)
}

#[inline(always)]
fn tree<M: Monoid, const N: usize>(mut lanes: [M::Acc; N]) -> M::Acc {
    let mut width = N;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            lanes[i] = M::combine(lanes[i], lanes[i + width]);
        }
    }
    lanes[0]
}

/// The fold of the elements from `start` to `end`, few, in lanes. Lanes beyond the end read what follows there
/// and put padding in its place.
#[inline(always)]
fn fold_short<M: Fold<E>, E: Element>(values: &[E], start: usize, end: usize) -> M::Acc {
    let mut lanes = [M::PADDING; LANES];
    let mut at = start;
    // At least once: how many are none is a guess that is often wrong.
    loop {
        let rest = end - at;
        if let Some(block) = values.get(at..).and_then(|rest| rest.first_chunk::<LANES>()) {
            for i in 0..LANES {
                let value = if i < rest { M::lift(block[i]) } else { M::PADDING };
                lanes[i] = M::combine(lanes[i], value);
            }
        } else {
            for (lane, &value) in lanes.iter_mut().zip(&values[at..end]) {
                *lane = M::combine(*lane, M::lift(value));
            }
        }
        at += LANES;
        if at >= end {
            return tree::<M, LANES>(lanes);
        }
    }
}

/// Whether segments all have the same few elements, as rows of points and colours have: their number.
fn evenly(offsets: &[usize]) -> Option<usize> {
    let [start, second, ..] = *offsets else { return None };
    let n = second.wrapping_sub(start);
    let is_few = (2..=4).contains(&n) && offsets.len() > LANES;
    (is_few && offsets.windows(2).fold(true, |even, w| even & (w[1] - w[0] == n))).then_some(n)
}

/// Combines with the folds of rows of `n` elements, 2 to 4 floats: in the lanes that [`fold_short`] has them in, with no branch.
struct Even<'a, M: Monoid, E>(&'a [E], usize, &'a mut [M::Acc]);

impl<M: Fold<E>, E: Element> Loop for Even<'_, M, E> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        #[inline(always)]
        fn of<M: Fold<E>, E: Element, const N: usize>(values: &[E], acc: &mut [M::Acc]) {
            for (slot, row) in acc.iter_mut().zip(values.as_chunks::<N>().0) {
                let mut lanes = [M::PADDING; LANES];
                for i in 0..N {
                    lanes[i] = M::combine(M::PADDING, M::lift(row[i]));
                }
                *slot = M::combine(*slot, tree::<M, LANES>(lanes));
            }
        }
        match self.1 {
            2 => of::<M, E, 2>(self.0, self.2),
            3 => of::<M, E, 3>(self.0, self.2),
            _ => of::<M, E, 4>(self.0, self.2),
        }
    }
}

fn scatter<M: Fold<E>, E: Element>(values: &[E], keys: &[u32], acc: &mut [u8]) {
    debug_assert_eq!(values.len(), keys.len());
    let acc = M::Acc::from_bytes_mut(acc);
    let all_over = simd::all_over(keys, acc);
    simd::in_stream(values, keys, 0..keys.len(), (acc, all_over), |acc, &value| {
        *acc = M::combine(*acc, M::lift(value))
    });
}

fn segments<M: Fold<E>, E: Element>(values: &[E], offsets: &[usize], acc: &mut [u8]) {
    struct Segments<'a, M: Monoid, E>(&'a [E], &'a [usize], &'a mut [M::Acc]);
    impl<M: Fold<E>, E: Element> Loop for Segments<'_, M, E> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            let Segments(values, offsets, acc) = self;
            for (slot, ends) in acc.iter_mut().zip(offsets.windows(2)) {
                let (start, end) = (ends[0], ends[1]);
                let fold = if const { M::EXACT } {
                    M::shortly(&values[start..end]).unwrap_or_else(|| in_turn::<M, E>(&values[start..end]))
                } else if end - start <= SHORT {
                    fold_short::<M, E>(values, start, end)
                } else {
                    fold::<M, E>(&values[start..end])
                };
                *slot = M::combine(*slot, fold);
            }
        }
    }
    if const { !M::EXACT && !E::DTYPE.is_int() && !matches!(E::DTYPE, DType::Bool) }
        && let Some(n) = evenly(offsets)
    {
        let values = &values[offsets[0]..offsets[offsets.len() - 1]];
        return at_level::<M, _>(Even::<M, E>(values, n, M::Acc::from_bytes_mut(acc)));
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(lanes) = M::LANES
        && !(const { M::WIDE } && offsets.windows(2).all(|ends| ends[1] - ends[0] > SHORT))
    {
        fn long<M: Fold<E>, E: Element, A: Element + Default>(values: &[E]) -> A {
            A::from_bytes(bytemuck::bytes_of(&fold::<M, E>(values).store())).first().copied().unwrap_or_default()
        }
        let bytes = E::as_bytes(values);
        let done = match (E::DTYPE, size_of::<M::Acc>()) {
            (DType::F64, _) => {
                let long = |start: usize, end: usize| long::<M, E, f64>(&values[start..end]);
                rows::fold(lanes, f64::from_bytes(bytes), offsets, f64::from_bytes_mut(acc), &long)
            }
            (DType::F32, 8) => {
                let long = |start: usize, end: usize| long::<M, E, f64>(&values[start..end]);
                rows::fold(lanes, f32::from_bytes(bytes), offsets, f64::from_bytes_mut(acc), &long)
            }
            (DType::F32, _) => {
                let long = |start: usize, end: usize| long::<M, E, f32>(&values[start..end]);
                rows::fold(lanes, f32::from_bytes(bytes), offsets, f32::from_bytes_mut(acc), &long)
            }
            _ => false,
        };
        if done {
            return;
        }
    }
    let acc = M::Acc::from_bytes_mut(acc);
    debug_assert_eq!(offsets.len(), acc.len() + 1);
    // Truth values of a matrix that stores no zeros: segments are told by their lengths.
    if let Some(&first) = values.first()
        && M::are_alike(values)
    {
        for (slot, ends) in acc.iter_mut().zip(offsets.windows(2)).filter(|(_, ends)| ends[0] < ends[1]) {
            *slot = M::combine(*slot, M::power(M::lift(first), (ends[1] - ends[0]) as u128));
        }
        return;
    }
    at_level::<M, _>(Segments::<M, E>(values, offsets, acc));
}

fn accumulate<M: Fold<E>, E: Element>(rows: &[&[u8]], acc: &mut [u8]) {
    struct Accumulate<'a, M: Monoid, E, const N: usize>([&'a [E]; N], &'a mut [M::Acc]);
    impl<M: Fold<E>, E: Element, const N: usize> Loop for Accumulate<'_, M, E, N> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            let Accumulate(rows, acc) = self;
            let n = rows.iter().map(|row| row.len()).min().unwrap_or(0).min(acc.len());
            let (rows, acc) = (rows.map(|row| &row[..n]), &mut acc[..n]);
            if const { !M::STAYS } || n <= FEW {
                for i in 0..n {
                    acc[i] = rows.iter().fold(acc[i], |acc, row| M::combine(acc, M::lift(row[i])));
                }
                return;
            }
            let mut own = [M::IDENTITY; APART];
            for start in (0..n).step_by(APART) {
                let end = n.min(start + APART);
                let (rows, acc) = (rows.map(|row| &row[start..end]), &mut acc[start..end]);
                let own = &mut own[..acc.len()];
                own.copy_from_slice(acc);
                for i in 0..acc.len() {
                    acc[i] = rows.iter().fold(own[i], |acc, row| M::combine(acc, M::lift(row[i])));
                }
            }
        }
    }
    let acc = M::Acc::from_bytes_mut(acc);
    debug_assert!(rows.iter().all(|row| row.len() == acc.len() * size_of::<E>()));
    let (several, rest) = rows.as_chunks::<ROWS_AT_ONCE>();
    several.iter().for_each(|rows| at_level::<M, _>(Accumulate::<M, E, _>(rows.map(E::from_bytes), acc)));
    match *rest {
        [a, b, c] => at_level::<M, _>(Accumulate::<M, E, _>([a, b, c].map(E::from_bytes), acc)),
        [a, b] => at_level::<M, _>(Accumulate::<M, E, _>([a, b].map(E::from_bytes), acc)),
        _ => rest.iter().for_each(|row| at_level::<M, _>(Accumulate::<M, E, _>([E::from_bytes(row)], acc))),
    }
}

fn merge<M: Monoid>(acc: &mut [u8], other: &[u8]) {
    let (acc, other) = (M::Acc::from_bytes_mut(acc), M::Acc::from_bytes(other));
    debug_assert_eq!(acc.len(), other.len());
    for (slot, &value) in acc.iter_mut().zip(other) {
        *slot = M::combine(*slot, value);
    }
}

fn nfold<M: Fold<E>, E: Element>(value: Scalar, n: u128) -> Scalar {
    let acc = if n == 0 { M::IDENTITY } else { M::power(M::lift_scalar(value), n) };
    acc.to_scalar()
}
