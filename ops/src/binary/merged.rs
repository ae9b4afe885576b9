//! Ops on two sparse operands, done while their segments are merged: no position is written down. Sums, differences and products are
//! computed as each coordinate is found; the operands of other ops are brought side by side, a few thousand at a time.

use std::hint::select_unpredictable;
use std::ops::Range;

use bytemuck::Pod;

use super::{BinaryKernel, BinaryOp};
use crate::dtype::{DType, Element};
use crate::structure::merge::{Keep, Segmented};

/// What an operand of a [`MergeKernel`] stores.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    /// Its coordinates, which rise in each segment.
    pub segments: Segmented<'a, u32>,
    /// The element at each of them.
    pub values: &'a [u8],
    /// What stands where it stores none.
    pub beside: Beside<'a>,
}

/// What an operand is where it stores nothing.
#[derive(Clone, Copy, Debug)]
pub enum Beside<'a> {
    /// One element.
    One(&'a [u8]),
    /// An element for each number that some bits of a coordinate say: those of `mask`, after as many as `shift` are dropped.
    OfCoords {
        /// The elements.
        elements: &'a [u8],
        /// Bits that are dropped.
        shift: u32,
        /// Bits that are kept.
        mask: u32,
    },
    /// An element for each segment.
    OfSegments(&'a [u8]),
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

/// What is done with two sparse operands at each coordinate that is kept.
#[derive(Clone, Copy, Debug)]
pub struct MergeKernel(Way);

#[derive(Clone, Copy, Debug)]
enum Way {
    /// Computed at once.
    Fused(fn(Stored<'_>, Stored<'_>, Merged<'_>) -> usize),
    /// By a kernel over blocks, which reads elements of one width and writes those of another.
    SideBySide(fn(Stored<'_>, Stored<'_>, Merged<'_>, BinaryKernel, usize) -> usize, BinaryKernel, usize),
}

impl MergeKernel {
    /// By a kernel over blocks that reads elements of one dtype and writes those of another; `None` for coordinates of one operand.
    pub fn side_by_side(kernel: BinaryKernel, compute: DType, out: DType, keep: Keep) -> Option<MergeKernel> {
        macro_rules! of_width {
            ($union:literal) => {
                match compute.size() {
                    // These lie where their parts may.
                    8 if compute == DType::Complex64 => side_by_side::<[u32; 2], $union>,
                    1 => side_by_side::<u8, $union>,
                    2 => side_by_side::<u16, $union>,
                    4 => side_by_side::<u32, $union>,
                    8 => side_by_side::<u64, $union>,
                    16 => side_by_side::<[u64; 2], $union>,
                    _ => return None,
                }
            };
        }
        let merge = match keep {
            Keep::UNION => of_width!(true),
            Keep::INTERSECTION => of_width!(false),
            _ => return None,
        };
        Some(MergeKernel(Way::SideBySide(merge, kernel, out.size())))
    }

    /// Merges as many pairs of segments as there are ends to write; gives how many coordinates were kept.
    pub fn run(self, left: Stored<'_>, right: Stored<'_>, out: Merged<'_>) -> usize {
        match self.0 {
            Way::Fused(merge) => merge(left, right, out),
            Way::SideBySide(merge, kernel, width) => merge(left, right, out, kernel, width),
        }
    }
}

impl BinaryOp {
    /// The kernel on two sparse operands that computes at once what these coordinates have; `None` for most ops. It reads and writes
    /// elements of the compute dtype.
    pub fn merge_kernel(self, compute: DType, keep: Keep) -> Option<MergeKernel> {
        let fused = |f| Some(MergeKernel(Way::Fused(f)));
        macro_rules! kernel {
            ($union:literal, $bits:expr, $float:expr) => {
                match compute {
                    DType::I32 | DType::U32 => fused(|a, b, out| merged::<u32, $union>(a, b, out, $bits)),
                    DType::I64 | DType::U64 => fused(|a, b, out| merged::<u64, $union>(a, b, out, $bits)),
                    DType::F32 => fused(|a, b, out| merged::<f32, $union>(a, b, out, $float)),
                    DType::F64 => fused(|a, b, out| merged::<f64, $union>(a, b, out, $float)),
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

/// What stands where an operand stores nothing: an element for each coordinate or segment, or one for all.
///
/// Where sides are chosen, it is the place of this that is, also of one for all: the element itself would be chosen by a branch, or in more
/// steps.
#[derive(Clone, Copy)]
struct Elsewhere<'a, T> {
    elements: &'a [T],
    shift: u32,
    mask: u32,
    /// All bits, where it is segments that count.
    segments: usize,
}

impl<'a, T: Pod> Elsewhere<'a, T> {
    fn new(beside: Beside<'a>) -> Elsewhere<'a, T> {
        let (elements, shift, mask, segments) = match beside {
            Beside::One(element) => (element, 0, 0, 0),
            Beside::OfCoords { elements, shift, mask } => (elements, shift, mask, 0),
            Beside::OfSegments(elements) => (elements, 0, 0, usize::MAX),
        };
        Elsewhere { elements: bytemuck::cast_slice(elements), shift, mask, segments }
    }

    fn is_one(&self) -> bool {
        (self.mask, self.segments) == (0, 0)
    }

    /// Of other segments, the first of which is this one.
    fn from(self, segment: usize) -> Self {
        Elsewhere { elements: &self.elements[segment & self.segments..], ..self }
    }

    #[inline(always)]
    fn at(&self, coord: u32, segment: usize) -> &'a T {
        &self.elements[((coord >> self.shift) & self.mask) as usize + (segment & self.segments)]
    }
}

/// An operand, typed.
#[derive(Clone, Copy)]
struct Side<'a, T> {
    segments: Segmented<'a, u32>,
    values: &'a [T],
    beside: Elsewhere<'a, T>,
}

impl<'a, T: Pod> Side<'a, T> {
    fn new(stored: Stored<'a>) -> Side<'a, T> {
        // No values may lie anywhere.
        let values = if stored.values.is_empty() { &[] } else { bytemuck::cast_slice(stored.values) };
        Side { segments: stored.segments, values, beside: Elsewhere::new(stored.beside) }
    }

    /// Of other segments, whose pointers count from `base`: the first of them is this one.
    fn within<'b>(self, first: usize, pointers: &'b [u32], base: usize) -> Side<'b, T>
    where
        'a: 'b,
    {
        let segments = Segmented { pointers, base, ..self.segments };
        Side { segments, beside: self.beside.from(first), ..self }
    }

    /// Where a segment begins, or the one before it ends.
    #[inline(always)]
    fn start(&self, segment: usize) -> usize {
        self.segments.pointers[segment] as usize - self.segments.base
    }

    /// The elements of a stretch and one coordinate more: the one after the stretch, where there is one, else the last element is left out.
    #[inline(always)]
    fn stretch(&self, start: usize, end: usize) -> (&'a [u32], &'a [T]) {
        let coords = &self.segments.coords[start..];
        let n = (end - start).min(coords.len().saturating_sub(1));
        (coords, &self.values[start..start + n])
    }

    fn len(&self) -> usize {
        self.start(self.segments.pointers.len() - 1) - self.start(0)
    }
}

/// Where what comes of each coordinate's elements goes: two arrays as long as the coordinates', of which one may hold nothing.
type To<'a, T, U> = (&'a mut [T], &'a mut [U]);

/// Entries that are merged by one of two ways: of those to come, some are looked at first.
const GROUP: usize = 1 << 13;
/// How many are looked at.
const STEPS: usize = 128;
/// Entries of a segment, on average, below which the way costs less than what is done for each segment.
const SHORT: usize = 5;

/// Several segments that have no more than so many entries on either side, or a part of one: `each` gets both sides, and which segments end
/// there, or go on.
fn in_groups<T: Pod>(
    x: Side<'_, T>,
    y: Side<'_, T>,
    segments: usize,
    mut each: impl FnMut(Side<'_, T>, Side<'_, T>, Range<usize>),
) {
    let before = |segment: usize| x.start(segment) + y.start(segment);
    let mut first = 0;
    while first < segments {
        let goal = before(first) + GROUP;
        let (mut last, mut beyond) = (first, segments);
        while last < beyond {
            let middle = last.midpoint(beyond) + 1;
            if before(middle) <= goal { last = middle } else { beyond = middle - 1 }
        }
        if last > first {
            let (p, q) = (&x.segments.pointers[first..=last], &y.segments.pointers[first..=last]);
            each(x.within(first, p, x.segments.base), y.within(first, q, y.segments.base), first..last);
            first = last;
            continue;
        }
        // One that is longer, up to the coordinate at which either side has enough.
        let (mut i, mut j) = (x.start(first), y.start(first));
        let (end_i, end_j) = (x.start(first + 1), y.start(first + 1));
        while i < end_i || j < end_j {
            let coord = |s: &Side<'_, T>, at: usize, end: usize| (at < end).then(|| s.segments.coords[at]);
            let next = [coord(&x, i + GROUP / 2, end_i), coord(&y, j + GROUP / 2, end_j)].into_iter().flatten().min();
            let until = |s: &Side<'_, T>, at: usize, end: usize| match next {
                Some(next) => at + s.segments.coords[at..end].partition_point(|&c| c < next),
                None => end,
            };
            let (to_i, to_j) = (until(&x, i, end_i), until(&y, j, end_j));
            let (p, q) = ([i as u32, to_i as u32], [j as u32, to_j as u32]);
            each(x.within(first, &p, 0), y.within(first, &q, 0), first..first + 1);
            (i, j) = (to_i, to_j);
        }
        first += 1;
    }
}

/// `f` of both sides at each coordinate of either (`UNION`), or of both.
#[inline(always)]
fn merged<T: Element + Pod, const UNION: bool>(
    left: Stored<'_>,
    right: Stored<'_>,
    out: Merged<'_>,
    f: impl Fn(T, T) -> T + Copy,
) -> usize {
    let Merged { coords, values, ends } = out;
    let values = T::from_bytes_mut(values);
    let (mut none, mut kept) = (vec![(); coords.len()], 0);
    in_groups(Side::new(left), Side::new(right), ends.len(), |x, y, own| {
        let to = (&mut values[kept..], &mut none[kept..]);
        let put = |k: usize, (left, right): (T, T), values: &mut [T], _: &mut [()]| values[k] = f(left, right);
        kept += group::<T, (), UNION>(x, y, kept, (&mut coords[kept..], &mut ends[own]), to, put);
    });
    kept
}

/// Both sides at each coordinate of either (`UNION`), or of both, and of them what `kernel` gives, in elements of so many bytes.
fn side_by_side<T: Pod, const UNION: bool>(
    left: Stored<'_>,
    right: Stored<'_>,
    out: Merged<'_>,
    kernel: BinaryKernel,
    width: usize,
) -> usize {
    let Merged { coords, values, ends } = out;
    let (mut lefts, mut rights, mut kept) = (Vec::new(), Vec::new(), 0);
    in_groups(Side::<T>::new(left), Side::new(right), ends.len(), |x, y, own| {
        let most = if UNION { x.len() + y.len() } else { x.len().min(y.len()) };
        if lefts.len() < most {
            lefts.resize(most, T::zeroed());
            rights.resize(most, T::zeroed());
        }
        let to = (&mut lefts[..most], &mut rights[..most]);
        let put = |k: usize, both: (T, T), lefts: &mut [T], rights: &mut [T]| (lefts[k], rights[k]) = both;
        let n = group::<T, T, UNION>(x, y, kept, (&mut coords[kept..kept + most], &mut ends[own]), to, put);
        if n > 0 {
            let out = &mut values[kept * width..(kept + n) * width];
            kernel(bytemuck::cast_slice(&lefts[..n]), bytemuck::cast_slice(&rights[..n]), out);
        }
        kept += n;
    });
    kept
}

/// Merges segments, before which so much was kept, in the way that suits them.
#[inline(always)]
fn group<T: Pod, U, const UNION: bool>(
    x: Side<'_, T>,
    y: Side<'_, T>,
    before: usize,
    (coords, ends): (&mut [u32], &mut [u32]),
    (to, other): To<'_, T, U>,
    put: impl Fn(usize, (T, T), &mut [T], &mut [U]),
) -> usize {
    match (is_foreseeable(&x, &y, 0..ends.len()), x.beside.is_one() && y.beside.is_one()) {
        (true, true) => each_segment::<T, U, UNION, false, true>([x, y], before, coords, ends, to, other, put),
        (true, false) => each_segment::<T, U, UNION, false, false>([x, y], before, coords, ends, to, other, put),
        (false, true) => each_segment::<T, U, UNION, true, true>([x, y], before, coords, ends, to, other, put),
        (false, false) => each_segment::<T, U, UNION, true, false>([x, y], before, coords, ends, to, other, put),
    }
}

/// Whether a CPU will mostly foresee which side comes next: of some steps few go another way than the one before.
#[inline(never)]
fn is_foreseeable<T: Pod>(x: &Side<'_, T>, y: &Side<'_, T>, segments: Range<usize>) -> bool {
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
fn rest<T: Pod, U>(
    (x, left): (Side<'_, T>, Range<usize>),
    (y, right): (Side<'_, T>, Range<usize>),
    (beside_x, beside_y): (impl Fn(u32) -> T, impl Fn(u32) -> T),
    mut k: usize,
    coords: &mut [u32],
    (to, other): To<'_, T, U>,
    put: impl Fn(usize, (T, T), &mut [T], &mut [U]),
) -> usize {
    for i in left {
        coords[k] = x.segments.coords[i];
        put(k, (x.values[i], beside_y(coords[k])), to, other);
        k += 1;
    }
    for j in right {
        coords[k] = y.segments.coords[j];
        put(k, (beside_x(coords[k]), y.values[j]), to, other);
        k += 1;
    }
    k
}

/// Merges two segments up to the end of one of them: both sides are read, and one or both are chosen. Gives how much of each was
/// merged, and how much is kept. There is a coordinate more than elements on each side, which is not of the segment.
///
/// A function of its own, since so few things fit into registers as it takes: within the loop over segments it took 1.4 times as long.
#[inline(never)]
fn chosen<T: Pod, U, const UNION: bool, const ONE: bool>(
    [(xs, of_xs), (ys, of_ys)]: [(&[u32], &[T]); 2],
    [beside_x, beside_y]: [Elsewhere<'_, T>; 2],
    segment: usize,
    (coords, to, other): (&mut [u32], &mut [T], &mut [U]),
    put: impl Fn(usize, (T, T), &mut [T], &mut [U]),
) -> [usize; 3] {
    let (n, m) = (of_xs.len(), of_ys.len());
    if n == 0 || m == 0 {
        return [0; 3];
    }
    let (xs, ys) = (&xs[..n + 1], &ys[..m + 1]);
    let (to, other) = (&mut to[..coords.len()], &mut other[..coords.len()]);
    let (one_x, one_y) = (&beside_x.elements[0], &beside_y.elements[0]);
    let (mut a, mut b) = (xs[0], ys[0]);
    let (mut p, mut q, mut k) = (0, 0, 0);
    // Where all that may be kept is, the rest is kept nowhere.
    while k < coords.len() {
        if p >= n {
            break;
        }
        if q >= m {
            break;
        }
        // What may come next on either side is read before it is known which does: the next choice does not wait for it.
        let (next_a, next_b) = (xs[p + 1], ys[q + 1]);
        let (of_x, of_y) = (a <= b, b <= a);
        let coord = a.min(b);
        coords[k] = coord;
        if UNION {
            // Of places, not of elements: floats would be chosen by a branch.
            let rest_x = if ONE { one_x } else { beside_x.at(coord, segment) };
            let rest_y = if ONE { one_y } else { beside_y.at(coord, segment) };
            put(
                k,
                (*select_unpredictable(of_x, &of_xs[p], rest_x), *select_unpredictable(of_y, &of_ys[q], rest_y)),
                to,
                other,
            );
            k += 1;
        } else {
            put(k, (of_xs[p], of_ys[q]), to, other);
            k += usize::from(of_x & of_y);
        }
        p += usize::from(of_x);
        q += usize::from(of_y);
        a = select_unpredictable(of_x, next_a, a);
        b = select_unpredictable(of_y, next_b, b);
    }
    [p, q, k]
}

/// Merges segments, before which so much was kept. With branches on what comes next, which cost nothing where they are
/// foreseen; or by `CHOICE`: both sides are read, and one or both are chosen. Beside each side is `ONE` element, which is at hand, or it is looked up.
#[inline(never)]
fn each_segment<T: Pod, U, const UNION: bool, const CHOICE: bool, const ONE: bool>(
    [x, y]: [Side<'_, T>; 2],
    before: usize,
    coords: &mut [u32],
    ends: &mut [u32],
    to: &mut [T],
    other: &mut [U],
    put: impl Fn(usize, (T, T), &mut [T], &mut [U]),
) -> usize {
    let (to, other) = (&mut to[..coords.len()], &mut other[..coords.len()]);
    let [one_x, one_y] = [x, y].map(|side| side.beside.elements.first().copied().unwrap_or(T::zeroed()));
    let (mut i, mut j, mut k) = (x.start(0), y.start(0), 0);
    for (segment, end) in ends.iter_mut().enumerate() {
        let (end_i, end_j) = (x.start(segment + 1), y.start(segment + 1));
        let beside_x = |coord| if ONE { one_x } else { *x.beside.at(coord, segment) };
        let beside_y = |coord| if ONE { one_y } else { *y.beside.at(coord, segment) };
        if CHOICE {
            let room = (&mut coords[k..], &mut to[k..], &mut other[k..]);
            let [p, q, kept] = chosen::<T, U, UNION, ONE>(
                [x.stretch(i, end_i), y.stretch(j, end_j)],
                [x.beside, y.beside],
                segment,
                room,
                &put,
            );
            (i, j, k) = (i + p, j + q, k + kept);
        }
        while i < end_i && j < end_j {
            let (a, b) = (x.segments.coords[i], y.segments.coords[j]);
            if a == b {
                coords[k] = a;
                put(k, (x.values[i], y.values[j]), to, other);
                (i, j, k) = (i + 1, j + 1, k + 1);
            } else if a < b {
                if UNION {
                    coords[k] = a;
                    put(k, (x.values[i], beside_y(a)), to, other);
                    k += 1;
                }
                i += 1;
            } else {
                if UNION {
                    coords[k] = b;
                    put(k, (beside_x(b), y.values[j]), to, other);
                    k += 1;
                }
                j += 1;
            }
        }
        if UNION {
            k = rest((x, i..end_i), (y, j..end_j), (beside_x, beside_y), k, coords, (to, other), &put);
        }
        (i, j) = (end_i, end_j);
        *end = (before + k) as u32;
    }
    k
}

#[cfg(test)]
mod tests {
    use num_complex::Complex;

    use super::*;
    use crate::scalar::{Cast, Scalar};
    use crate::structure::merge::{Selection, merge_segments};

    fn mixed(i: u64, seed: u64) -> u64 {
        (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ seed).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 33
    }

    /// Pointers, coordinates and values of segments, of which `density` of 100 places of each are taken, in runs.
    fn side<T: Element + Cast>(segments: usize, density: u64, run: u64, seed: u64) -> (Vec<u32>, Vec<u32>, Vec<T>) {
        let (mut pointers, mut coords) = (vec![3], Vec::new());
        let mix = |i: u64| mixed(i, seed);
        for s in 0..segments as u64 {
            // One is longer than what is merged in one way.
            let width = if s == 200 { 30_000 } else { [0, 7, 300][(mix(s) % 3) as usize] };
            coords.extend((0..width).filter(|c| mix((s << 20) | (c / run)) % 100 < density).map(|c| c as u32));
            pointers.push(3 + coords.len() as u32);
        }
        let values = (0..coords.len() as u64).map(|i| Scalar::F64((mix(i) % 17) as f64 - 8.0).to::<T>()).collect();
        (pointers, coords, values)
    }

    fn agree<T: Element + Cast>(op: BinaryOp, keep: Keep, runs: [u64; 2], density: [u64; 2]) {
        let typing = op.typing(T::DTYPE).unwrap();
        assert_eq!(typing.compute, T::DTYPE);
        let (kernel, out) = (op.kernel(T::DTYPE).unwrap(), typing.out.size());
        let (p, c, v) = side::<T>(400, density[0], runs[0], 1);
        let (q, d, w) = side::<T>(400, density[1], runs[1], 2);
        let x = Segmented { pointers: &p, base: 3, coords: &c };
        let y = Segmented { pointers: &q, base: 3, coords: &d };
        let most = c.len() + d.len();
        let (mut l, mut r, mut wanted, mut ends) = (vec![0; most], vec![0; most], vec![0; most], vec![0; 400]);
        let mut selection = Selection { left: &mut l, right: &mut r, coords: &mut wanted };
        let n = merge_segments(x, y, keep, &mut selection, &mut ends);
        // One element on either side; one for each coordinate, of some of its bits, or for each segment.
        let listed = |n: u64, side: u64| -> Vec<T> {
            (0..n).map(|i| Scalar::F64((mixed(i, side) % 9) as f64).to::<T>()).collect()
        };
        let (ones, coords, segments) =
            ([listed(1, 3), listed(1, 4)], [listed(1 << 15, 5), listed(64, 6)], [listed(400, 7), listed(400, 8)]);
        let bytes = T::as_bytes;
        let lists =
            |i: usize| Beside::OfCoords { elements: bytes(&coords[i]), shift: [0, 2][i], mask: [u32::MAX, 63][i] };
        let all = [
            [Beside::One(bytes(&ones[0])), Beside::One(bytes(&ones[1]))],
            [lists(0), lists(1)],
            [lists(1), Beside::OfSegments(bytes(&segments[1]))],
            [Beside::OfSegments(bytes(&segments[0])), Beside::One(bytes(&ones[1]))],
        ];
        let segment_of = |k: usize| ends.partition_point(|&end| end as usize <= k);
        for beside in all.into_iter().take(if keep == Keep::UNION { 4 } else { 1 }) {
            let elsewhere = |i: usize, k: usize| match beside[i] {
                Beside::One(elements) => T::from_bytes(elements)[0],
                Beside::OfCoords { elements, shift, mask } => {
                    T::from_bytes(elements)[((wanted[k] >> shift) & mask) as usize]
                }
                Beside::OfSegments(elements) => T::from_bytes(elements)[segment_of(k)],
            };
            let of = |values: &[T], at: u32, i: usize, k: usize| match at {
                u32::MAX => elsewhere(i, k),
                at => values[at as usize],
            };
            let (lefts, rights): (Vec<T>, Vec<T>) = (0..n).map(|k| (of(&v, l[k], 0, k), of(&w, r[k], 1, k))).unzip();
            let room = |n: usize| vec![0u64; (n * out).div_ceil(8)];
            let mut results = room(n);
            let results = &mut bytemuck::cast_slice_mut(&mut results)[..n * out];
            kernel(T::as_bytes(&lefts), T::as_bytes(&rights), results);
            let stored =
                |segments, values, i: usize| Stored { segments, values: T::as_bytes(values), beside: beside[i] };
            let fused = if typing.out == T::DTYPE { op.merge_kernel(T::DTYPE, keep) } else { None };
            let side_by_side = MergeKernel::side_by_side(kernel, T::DTYPE, typing.out, keep);
            for merge in fused.into_iter().chain(side_by_side) {
                // With no more room than there must be.
                let most = if keep == Keep::UNION { most } else { c.len().min(d.len()) };
                let (mut coords, mut values, mut own_ends) = (vec![9; most], room(most), vec![9; 400]);
                let values = &mut bytemuck::cast_slice_mut(&mut values)[..most * out];
                let out = Merged { coords: &mut coords, values: &mut *values, ends: &mut own_ends };
                let kept = merge.run(stored(x, &v, 0), stored(y, &w, 1), out);
                assert_eq!((kept, &coords[..kept], &own_ends), (n, &wanted[..n], &ends), "{op:?} {runs:?} {density:?}");
                assert_eq!(&values[..results.len()], results, "{op:?} {runs:?} {density:?}");
            }
        }
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
            for keep in [Keep::UNION, Keep::INTERSECTION] {
                agree::<f64>(BinaryOp::Gt, keep, runs, density);
                agree::<bool>(BinaryOp::LogicalXor, keep, runs, density);
                agree::<i16>(BinaryOp::Maximum, keep, runs, density);
                agree::<f32>(BinaryOp::Atan2, keep, runs, density);
                agree::<Complex<f64>>(BinaryOp::Add, keep, runs, density);
                agree::<Complex<f32>>(BinaryOp::Sub, keep, runs, density);
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
                beside: Elsewhere::new(Beside::One(f64::as_bytes(&[0.0]))),
            };
            is_foreseeable(&side(&p, &c, &v), &side(&q, &d, &w), 0..400)
        };
        assert!(look([100, 100], [50, 50]) && look([1, 1], [1, 90]) && look([1, 1], [1, 1]));
        assert!(!look([1, 1], [50, 50]) && !look([1, 1], [20, 60]));
    }
}
