//! Sums, differences and products of two sparse operands, made while their segments are merged: no position is written down, and no
//! value but the result's.

use std::hint::select_unpredictable;
use std::ops::Range;

use super::BinaryOp;
use crate::dtype::{DType, Element};
use crate::structure::merge::{Keep, Segmented};

/// What an operand of a [`MergeKernel`] stores.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    /// Its coordinates, which rise in each segment.
    pub segments: Segmented<'a, u32>,
    /// The element at each of them.
    pub values: &'a [u8],
    /// The element that stands where it stores none.
    pub beside: &'a [u8],
}

/// Where a [`MergeKernel`] writes, from the front: there is room for all that may be kept.
#[derive(Debug)]
pub struct Merged<'a> {
    /// The coordinates that are kept.
    pub coords: &'a mut [u32],
    /// The result at each of them.
    pub values: &'a mut [u8],
    /// Where each segment ends.
    pub ends: &'a mut [u32],
}

/// Merges as many pairs of segments as there are ends to write; gives how many coordinates were kept.
pub type MergeKernel = fn(Stored<'_>, Stored<'_>, Merged<'_>) -> usize;

impl BinaryOp {
    /// The kernel on two sparse operands of a compute dtype that keeps these coordinates; `None` for most ops.
    pub fn merge_kernel(self, compute: DType, keep: Keep) -> Option<MergeKernel> {
        macro_rules! kernel {
            ($union:literal, $bits:expr, $float:expr) => {
                match compute {
                    DType::I32 | DType::U32 => Some(|a, b, out| merged::<u32, $union>(a, b, out, $bits)),
                    DType::I64 | DType::U64 => Some(|a, b, out| merged::<u64, $union>(a, b, out, $bits)),
                    DType::F32 => Some(|a, b, out| merged::<f32, $union>(a, b, out, $float)),
                    DType::F64 => Some(|a, b, out| merged::<f64, $union>(a, b, out, $float)),
                    _ => None,
                }
            };
        }
        match (self, keep) {
            (BinaryOp::Add, Keep::UNION) => kernel!(true, |x, y| x.wrapping_add(y), |x, y| x + y),
            (BinaryOp::Sub, Keep::UNION) => kernel!(true, |x, y| x.wrapping_sub(y), |x, y| x - y),
            (BinaryOp::Mul, Keep::INTERSECTION) => kernel!(false, |x, y| x.wrapping_mul(y), |x, y| x * y),
            _ => None,
        }
    }
}

/// An operand, typed.
#[derive(Clone, Copy)]
struct Side<'a, T> {
    segments: Segmented<'a, u32>,
    values: &'a [T],
    beside: T,
}

impl<'a, T: Element> Side<'a, T> {
    fn new(stored: Stored<'a>) -> Side<'a, T> {
        let beside = T::from_bytes(stored.beside).first().copied().unwrap_or_default();
        Side { segments: stored.segments, values: T::from_bytes(stored.values), beside }
    }
}

impl<T> Side<'_, T> {
    /// Where a segment begins, or the one before it ends.
    #[inline(always)]
    fn start(&self, segment: usize) -> usize {
        self.segments.pointers[segment] as usize - self.segments.base
    }
}

/// [`Merged`], typed.
struct Out<'a, T> {
    coords: &'a mut [u32],
    values: &'a mut [T],
    ends: &'a mut [u32],
}

/// Entries that are merged by one of two ways: of those to come, some are looked at first.
const GROUP: usize = 1 << 13;
/// How many are looked at.
const STEPS: usize = 128;
/// Entries of a segment, on average, below which the way costs less than what is done for each segment.
const SHORT: usize = 5;

/// `f` of both sides at each coordinate of either (`UNION`), or of both.
#[inline(always)]
fn merged<T: Element, const UNION: bool>(
    left: Stored<'_>,
    right: Stored<'_>,
    out: Merged<'_>,
    f: impl Fn(T, T) -> T + Copy,
) -> usize {
    let (x, y) = (Side::<T>::new(left), Side::<T>::new(right));
    let Merged { coords, values, ends } = out;
    let values = T::from_bytes_mut(values);
    let before = |segment: usize| x.start(segment) + y.start(segment);
    let (mut first, mut kept) = (0, 0);
    while first < ends.len() {
        let goal = before(first) + GROUP;
        let (mut last, mut beyond) = (first + 1, ends.len());
        while last < beyond {
            let middle = last.midpoint(beyond);
            if before(middle) < goal { last = middle + 1 } else { beyond = middle }
        }
        let out = Out { coords: &mut coords[kept..], values: &mut values[kept..], ends: &mut ends[first..last] };
        let added = if is_foreseeable(&x, &y, first..last) {
            each_segment::<T, UNION, false>(x, y, (first, kept), out, f)
        } else {
            each_segment::<T, UNION, true>(x, y, (first, kept), out, f)
        };
        (first, kept) = (last, kept + added);
    }
    kept
}

/// Whether a CPU will mostly foresee which side comes next: of some steps few go another way than the one before.
#[inline(never)]
fn is_foreseeable<T>(x: &Side<'_, T>, y: &Side<'_, T>, segments: Range<usize>) -> bool {
    let entries = |s: &Side<'_, T>| s.start(segments.end) - s.start(segments.start);
    if entries(x) + entries(y) < SHORT * segments.len() {
        return true;
    }
    let (mut steps, mut turns, mut way) = (0, 0, (true, true));
    for segment in segments {
        let (mut i, mut j) = (x.start(segment), y.start(segment));
        let (end_i, end_j) = (x.start(segment + 1), y.start(segment + 1));
        while i < end_i && j < end_j && steps < STEPS {
            let (a, b) = (x.segments.coords[i], y.segments.coords[j]);
            let now = (a <= b, b <= a);
            turns += usize::from(now != way);
            way = now;
            (i, j, steps) = (i + usize::from(now.0), j + usize::from(now.1), steps + 1);
        }
        if steps == STEPS {
            break;
        }
    }
    // Where a tenth of what is stored is on one side, a fifth of the steps.
    10 * turns <= 3 * steps
}

/// What is left of a segment on one side, at `k` of the result; gives where that ends.
#[inline(always)]
fn rest<T: Copy>(
    (x, left): (Side<'_, T>, Range<usize>),
    (y, right): (Side<'_, T>, Range<usize>),
    mut k: usize,
    (coords, values): (&mut [u32], &mut [T]),
    f: &impl Fn(T, T) -> T,
) -> usize {
    for i in left {
        (coords[k], values[k]) = (x.segments.coords[i], f(x.values[i], y.beside));
        k += 1;
    }
    for j in right {
        (coords[k], values[k]) = (y.segments.coords[j], f(x.beside, y.values[j]));
        k += 1;
    }
    k
}

/// Merges segments from the first on, before which so much was kept. With branches on what comes next, which cost nothing where they are
/// foreseen; or by `CHOICE`: both sides are read, and one or both are chosen.
#[inline(never)]
fn each_segment<T: Copy, const UNION: bool, const CHOICE: bool>(
    x: Side<'_, T>,
    y: Side<'_, T>,
    (first, before): (usize, usize),
    out: Out<'_, T>,
    f: impl Fn(T, T) -> T,
) -> usize {
    let Out { coords, values, ends } = out;
    let (mut i, mut j, mut k) = (x.start(first), y.start(first), 0);
    for (segment, end) in (first + 1..).zip(ends) {
        let (end_i, end_j) = (x.start(segment), y.start(segment));
        if CHOICE && i < end_i && j < end_j {
            let (last_i, last_j) = (end_i - 1, end_j - 1);
            let (mut a, mut b) = (x.segments.coords[i], y.segments.coords[j]);
            // Where all that may be kept is, the rest is kept nowhere.
            while k < coords.len() {
                // What may come next on either side is read before it is known which does: the next choice does not wait for it.
                let (next_a, next_b) = (x.segments.coords[(i + 1).min(last_i)], y.segments.coords[(j + 1).min(last_j)]);
                let (of_x, of_y) = (a <= b, b <= a);
                coords[k] = a.min(b);
                if UNION {
                    // Of places, not of elements: floats would be chosen by a branch.
                    let left = *select_unpredictable(of_x, &x.values[i], &x.beside);
                    let right = *select_unpredictable(of_y, &y.values[j], &y.beside);
                    values[k] = f(left, right);
                    k += 1;
                } else {
                    values[k] = f(x.values[i], y.values[j]);
                    k += usize::from(of_x & of_y);
                }
                i += usize::from(of_x);
                j += usize::from(of_y);
                if (i > last_i) | (j > last_j) {
                    break;
                }
                a = select_unpredictable(of_x, next_a, a);
                b = select_unpredictable(of_y, next_b, b);
            }
        }
        while !CHOICE && i < end_i && j < end_j {
            let (a, b) = (x.segments.coords[i], y.segments.coords[j]);
            if a == b {
                (coords[k], values[k]) = (a, f(x.values[i], y.values[j]));
                (i, j, k) = (i + 1, j + 1, k + 1);
            } else if a < b {
                if UNION {
                    (coords[k], values[k]) = (a, f(x.values[i], y.beside));
                    k += 1;
                }
                i += 1;
            } else {
                if UNION {
                    (coords[k], values[k]) = (b, f(x.beside, y.values[j]));
                    k += 1;
                }
                j += 1;
            }
        }
        if UNION {
            k = rest((x, i..end_i), (y, j..end_j), k, (coords, values), &f);
        }
        (i, j) = (end_i, end_j);
        *end = (before + k) as u32;
    }
    k
}

#[cfg(test)]
mod tests {
    use bytemuck::Pod;

    use super::*;
    use crate::scalar::{Cast, Scalar};
    use crate::structure::merge::{Selection, merge_segments};

    /// Pointers, coordinates and values of segments, of which `density` of 100 places of each are taken, in runs.
    fn side<T: Element + Cast>(segments: usize, density: u64, run: u64, seed: u64) -> (Vec<u32>, Vec<u32>, Vec<T>) {
        let (mut pointers, mut coords) = (vec![3], Vec::new());
        let mix = |i: u64| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ seed).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 33;
        for s in 0..segments as u64 {
            let width = [0, 7, 300][(mix(s) % 3) as usize];
            coords.extend((0..width).filter(|c| mix((s << 20) | (c / run)) % 100 < density).map(|c| c as u32));
            pointers.push(3 + coords.len() as u32);
        }
        let values = (0..coords.len() as u64).map(|i| Scalar::F64((mix(i) % 17) as f64 - 8.0).to::<T>()).collect();
        (pointers, coords, values)
    }

    fn agree<T: Element + Cast + Pod>(op: BinaryOp, keep: Keep, runs: [u64; 2], density: [u64; 2]) {
        let kernel = op.merge_kernel(T::DTYPE, keep).unwrap();
        let (p, c, v) = side::<T>(400, density[0], runs[0], 1);
        let (q, d, w) = side::<T>(400, density[1], runs[1], 2);
        let x = Segmented { pointers: &p, base: 3, coords: &c };
        let y = Segmented { pointers: &q, base: 3, coords: &d };
        let most = c.len() + d.len();
        let (mut l, mut r, mut wanted, mut ends) = (vec![0; most], vec![0; most], vec![0; most], vec![0; 400]);
        let mut selection = Selection { left: &mut l, right: &mut r, coords: &mut wanted };
        let n = merge_segments(x, y, keep, &mut selection, &mut ends);
        let beside = [1.0, 0.0].map(|x| Scalar::F64(x).to::<T>());
        let of = |values: &[T], at: u32, beside: T| if at == u32::MAX { beside } else { values[at as usize] };
        let (lefts, rights): (Vec<T>, Vec<T>) =
            l[..n].iter().zip(&r[..n]).map(|(&l, &r)| (of(&v, l, beside[0]), of(&w, r, beside[1]))).unzip();
        let mut results = vec![beside[1]; n];
        op.kernel(T::DTYPE).unwrap()(T::as_bytes(&lefts), T::as_bytes(&rights), bytemuck::cast_slice_mut(&mut results));
        // With no more room than there must be.
        let room = if keep == Keep::UNION { most } else { c.len().min(d.len()) };
        let (mut coords, mut values, mut own_ends) = (vec![9; room], vec![beside[0]; room], vec![9; 400]);
        let stored = |segments, values, i: usize| Stored {
            segments,
            values: T::as_bytes(values),
            beside: T::as_bytes(&beside[i..=i]),
        };
        let out = Merged { coords: &mut coords, values: bytemuck::cast_slice_mut(&mut values), ends: &mut own_ends };
        let kept = kernel(stored(x, &v, 0), stored(y, &w, 1), out);
        assert_eq!((kept, &coords[..kept], &own_ends), (n, &wanted[..n], &ends), "{op:?} {runs:?} {density:?}");
        assert_eq!(&values[..kept], &results[..], "{op:?} {runs:?} {density:?}");
    }

    #[test]
    fn results_are_those_of_merging_first() {
        for (runs, density) in [
            ([1, 1], [50, 50]),
            ([1, 1], [3, 90]),
            ([40, 1], [50, 2]),
            ([100, 100], [50, 50]),
            ([1, 1], [0, 40]),
            ([1, 1], [100, 100]),
        ] {
            for op in [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul] {
                let keep = if op == BinaryOp::Mul { Keep::INTERSECTION } else { Keep::UNION };
                agree::<f64>(op, keep, runs, density);
                agree::<f32>(op, keep, runs, density);
                agree::<i32>(op, keep, runs, density);
                agree::<u64>(op, keep, runs, density);
            }
        }
    }

    #[test]
    fn runs_are_foreseen_and_what_is_anywhere_is_not() {
        let look = |runs: [u64; 2], density: [u64; 2]| {
            let (p, c, v) = side::<f64>(400, density[0], runs[0], 1);
            let (q, d, w) = side::<f64>(400, density[1], runs[1], 2);
            let side = |pointers, coords, values| Side {
                segments: Segmented { pointers, base: 3, coords },
                values,
                beside: 0.0,
            };
            is_foreseeable(&side(&p, &c, &v), &side(&q, &d, &w), 0..400)
        };
        assert!(look([100, 100], [50, 50]) && look([1, 1], [1, 90]) && look([1, 1], [1, 1]));
        assert!(!look([1, 1], [50, 50]) && !look([1, 1], [20, 60]));
    }
}
