//! Softmax and its logarithm over rows: one pass for each row's maximum, one of vector exponentials over a block of
//! rows, one that divides. A block stays in the first-level cache. Few rows that are long are gone through in parts, step by step.

use crate::dtype::{DType, Element};
use crate::reduce::{ReduceKernels, ReduceOp};
use crate::simd::{Loop, vectorised};
use crate::unary::UnaryOp;

/// Elements that are handled at a time; longer rows take several turns.
const BLOCK: usize = 1024;

/// Rows of `values`, and what is beside them.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Elements of the dtype.
    pub values: &'a [u8],
    /// Where each row begins in `values`, and the end of the last.
    pub ends: &'a [usize],
    /// An element for each row that takes part in it, as often as `times` says; both empty if there is none.
    pub fills: &'a [u8],
    /// How often: a number of any size, exact below 2^53.
    pub times: &'a [f64],
    /// Whether the logarithm is wanted.
    pub log: bool,
}

/// Writes what becomes of every element, and of every row's fill (0 where it occurs never).
pub type RowsKernel = fn(rows: Rows<'_>, out: &mut [u8], fills: &mut [u8]);

/// The kernel for `float32` and `float64`.
#[inline(never)] // its kernels are compiled here, not in each crate that asks
pub fn rows(dtype: DType) -> Option<RowsKernel> {
    match dtype {
        DType::F32 => Some(run::<f32>),
        DType::F64 => Some(run::<f64>),
        _ => None,
    }
}

/// The steps of a softmax over few rows that are so long that parts of them are gone through beside each other: the greatest of each
/// part, then the sums of exponentials less that of the row, last what becomes of each element. Numbers are exact as `float64`.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// The greatest element; −∞ of none, NaN if one is.
    pub greatest: fn(values: &[u8]) -> f64,
    /// Writes the exponentials of elements less the greatest of their row, and gives their sum.
    pub exponentials: fn(values: &[u8], greatest: f64, out: &mut [u8]) -> f64,
    /// Makes softmax of exponentials, by the sum of those of the row.
    pub quotients: fn(sum: f64, out: &mut [u8]),
    /// Writes the logarithms of softmax, by the greatest element of the row and the sum of its exponentials.
    pub logarithms: fn(values: &[u8], greatest: f64, sum: f64, out: &mut [u8]),
}

/// The steps for `float32` and `float64`.
#[inline(never)] // its loops are compiled here, not in each crate that asks
pub fn steps(dtype: DType) -> Option<Steps> {
    match dtype {
        DType::F32 => Some(steps_of::<f32>()),
        DType::F64 => Some(steps_of::<f64>()),
        _ => None,
    }
}

fn steps_of<T: Real>() -> Steps {
    Steps {
        greatest: |values| {
            let Some(kernels) = Kernels::of(T::DTYPE) else { return f64::NAN };
            let mut greatest = [T::LEAST];
            kernels.max.fold(values, as_bytes_mut(&mut greatest));
            greatest[0].wide()
        },
        exponentials: |values, greatest, out| {
            let Some(kernels) = Kernels::of(T::DTYPE) else { return f64::NAN };
            let (values, out) = (T::from_bytes(values), T::from_bytes_mut(out));
            kernels.exponentials(values, T::of(greatest), &mut [T::LEAST; BLOCK], out)
        },
        quotients: |sum, out| {
            let out = T::from_bytes_mut(out);
            vectorised(Quotients { ends: &[0, out.len()], sums: &[sum], out });
        },
        logarithms: |values, greatest, sum, out| {
            let (values, out) = (T::from_bytes(values), T::from_bytes_mut(out));
            let (ends, greatest, logs) = (&[0, values.len()], &[T::of(greatest)], &[sum.ln()]);
            vectorised(Logarithms { values, ends, greatest, logs, out });
        },
    }
}

/// What the loops need of a float.
trait Real: Element + bytemuck::Pod + PartialOrd + std::ops::Sub<Output = Self> + std::ops::Mul<Output = Self> {
    const LEAST: Self;
    fn wide(self) -> f64;
    fn of(wide: f64) -> Self;
}

macro_rules! real {
    ($($ty:ty),+) => {$(
        impl Real for $ty {
            const LEAST: $ty = <$ty>::NEG_INFINITY;
            #[inline(always)]
            fn wide(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn of(wide: f64) -> $ty {
                wide as $ty
            }
        }
    )+};
}
real!(f32, f64);

/// The exponentials and sums of one dtype.
struct Kernels {
    exp: fn(&[u8], &mut [u8]),
    /// Sums of rows, in `float64`.
    sum: ReduceKernels,
    /// Their greatest elements.
    max: ReduceKernels,
}

impl Kernels {
    fn of(dtype: DType) -> Option<Kernels> {
        let of = |op: ReduceOp| op.kernels(op.typing(dtype)?);
        Some(Kernels { exp: UnaryOp::Exp.kernel(dtype)?, sum: of(ReduceOp::Sum)?, max: of(ReduceOp::Max)? })
    }

    /// Writes the exponentials of a row less its greatest element, and gives their sum: a block of both at a time.
    fn exponentials<T: Real>(&self, row: &[T], greatest: T, shifted: &mut [T], out: &mut [T]) -> f64 {
        let (mut sum, mut low) = (0f64, 0f64);
        for (row, out) in row.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
            let ends = &[0, row.len()];
            vectorised(Shift { values: row, ends, greatest: &[greatest], shifted });
            (self.exp)(T::as_bytes(&shifted[..row.len()]), as_bytes_mut(out));
            let mut of_block = [0.0];
            self.sum.fold(T::as_bytes(out), bytemuck::cast_slice_mut(&mut of_block));
            // What the sum of blocks rounds away is collected (Knuth's two-sum): there may be many of them.
            let before = sum;
            sum += of_block[0];
            let moved = sum - before;
            low += (before - (sum - moved)) + (of_block[0] - moved);
        }
        // Infinite and NaN sums have no remainder.
        if sum.is_finite() { sum + low } else { sum }
    }
}

fn run<T: Real>(rows: Rows<'_>, out: &mut [u8], fills: &mut [u8]) {
    let Some(kernels) = Kernels::of(T::DTYPE) else { return };
    let (out, fills) = (T::from_bytes_mut(out), T::from_bytes_mut(fills));
    let n = rows.ends.len() - 1;
    let mut scratch =
        Scratch { shifted: vec![T::LEAST; BLOCK], sums: Vec::new(), greatest: Vec::new(), ends: Vec::new() };
    let mut first = 0;
    while first < n {
        // As many rows as fit a block, or a long one alone.
        let start = rows.ends[first];
        let fit = rows.ends[first..].partition_point(|&end| end - start <= BLOCK).clamp(2, BLOCK) - 1;
        let last = (first + fit).min(n);
        let part = start..rows.ends[last];
        let range = first..last;
        let fills = if fills.is_empty() { &mut [][..] } else { &mut fills[range.clone()] };
        block::<T>(&kernels, rows, range, &mut out[part], fills, &mut scratch);
        first = last;
    }
}

struct Scratch<T> {
    shifted: Vec<T>,
    sums: Vec<f64>,
    greatest: Vec<T>,
    ends: Vec<usize>,
}

fn block<T: Real>(
    kernels: &Kernels,
    rows: Rows<'_>,
    range: std::ops::Range<usize>,
    out: &mut [T],
    out_fills: &mut [T],
    scratch: &mut Scratch<T>,
) {
    let Scratch { shifted, sums, greatest, ends } = scratch;
    let start = rows.ends[range.start];
    ends.clear();
    ends.extend(rows.ends[range.start..=range.end].iter().map(|e| e - start));
    let values = &T::from_bytes(rows.values)[start..start + out.len()];
    let (fills, times): (&[T], &[f64]) = if rows.times.is_empty() {
        (&[], &[])
    } else {
        (&T::from_bytes(rows.fills)[range.clone()], &rows.times[range])
    };

    greatest.clear();
    greatest.resize(ends.len() - 1, T::LEAST);
    vectorised(Greatest { values, ends, kernels, greatest });
    for ((m, &fill), &n) in greatest.iter_mut().zip(fills).zip(times) {
        if n > 0.0 && fill > *m {
            *m = fill;
        }
    }
    // Exponentials of what is left without the greatest, and their sums. NaN and infinite maxima make NaN of their rows: these are not
    // numbers less themselves.
    sums.clear();
    sums.resize(greatest.len(), 0.0);
    if values.len() <= BLOCK {
        vectorised(Shift { values, ends, greatest, shifted });
        (kernels.exp)(T::as_bytes(&shifted[..values.len()]), as_bytes_mut(out));
        kernels.sum.segments(T::as_bytes(out), ends, bytemuck::cast_slice_mut(sums));
    } else {
        sums[0] = kernels.exponentials(values, greatest[0], shifted, out);
    }
    if !times.is_empty() {
        fill_in(kernels, (fills, times), greatest, sums, out_fills, rows.log);
    }
    if rows.log {
        sums.iter_mut().for_each(|sum| *sum = sum.ln());
        vectorised(Logarithms { values, ends, greatest, logs: sums, out });
    } else {
        vectorised(Quotients { ends, sums, out });
    }
}

/// The greatest elements of rows. A row with NaN has one or NaN: it becomes NaN by either.
struct Greatest<'a, T> {
    values: &'a [T],
    ends: &'a [usize],
    kernels: &'a Kernels,
    greatest: &'a mut [T],
}

/// Elements of a row from which on the fold of any array finds its greatest.
const LONG: usize = 128;
/// Elements of other rows that are compared at a time.
const LANES: usize = 8;

impl<T: Real> Loop for Greatest<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (e, m) in self.ends.windows(2).zip(self.greatest) {
            let row = &self.values[e[0]..e[1]];
            if row.len() >= LONG {
                self.kernels.max.fold(T::as_bytes(row), as_bytes_mut(std::slice::from_mut(m)));
                continue;
            }
            let (blocks, rest) = row.as_chunks::<LANES>();
            let mut most = T::LEAST;
            if let Some((first, blocks)) = blocks.split_first() {
                let mut lanes = *first;
                for block in blocks {
                    for i in 0..LANES {
                        lanes[i] = greater(lanes[i], block[i]);
                    }
                }
                let mut half = LANES / 2;
                while half > 0 {
                    for i in 0..half {
                        lanes[i] = greater(lanes[i], lanes[i + half]);
                    }
                    half /= 2;
                }
                most = lanes[0];
            }
            for &v in rest {
                most = greater(most, v);
            }
            *m = most;
        }
    }
}

#[inline(always)]
fn greater<T: Real>(m: T, v: T) -> T {
    if v > m { v } else { m }
}

/// Rows without their greatest elements.
struct Shift<'a, T> {
    values: &'a [T],
    ends: &'a [usize],
    greatest: &'a [T],
    shifted: &'a mut [T],
}

impl<T: Real> Loop for Shift<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (e, &m) in self.ends.windows(2).zip(self.greatest) {
            let row = self.shifted[e[0]..e[1]].iter_mut().zip(&self.values[e[0]..e[1]]);
            row.for_each(|(o, &v)| *o = v - m);
        }
    }
}

/// Logarithms of softmax.
struct Logarithms<'a, T> {
    values: &'a [T],
    ends: &'a [usize],
    greatest: &'a [T],
    /// Of the sums of rows.
    logs: &'a [f64],
    out: &'a mut [T],
}

impl<T: Real> Loop for Logarithms<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for ((e, &m), &log) in self.ends.windows(2).zip(self.greatest).zip(self.logs) {
            let row = self.out[e[0]..e[1]].iter_mut().zip(&self.values[e[0]..e[1]]);
            row.for_each(|(o, &v)| *o = T::of((v - m).wide() - log));
        }
    }
}

/// Softmax itself, of exponentials.
struct Quotients<'a, T> {
    ends: &'a [usize],
    sums: &'a [f64],
    out: &'a mut [T],
}

impl<T: Real> Loop for Quotients<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (e, &sum) in self.ends.windows(2).zip(self.sums) {
            let scale = T::of(1.0 / sum);
            self.out[e[0]..e[1]].iter_mut().for_each(|o| *o = *o * scale);
        }
    }
}

/// Adds the fills to the sums, and gives what becomes of them.
fn fill_in<T: Real>(
    kernels: &Kernels,
    (fills, times): (&[T], &[f64]),
    greatest: &[T],
    sums: &mut [f64],
    out: &mut [T],
    log: bool,
) {
    let shifted: Vec<T> = fills.iter().zip(greatest).map(|(&f, &m)| f - m).collect();
    (kernels.exp)(T::as_bytes(&shifted), as_bytes_mut(out));
    for (i, (o, sum)) in out.iter_mut().zip(sums).enumerate() {
        if times[i] > 0.0 {
            *sum += times[i] * o.wide();
            *o = T::of(if log { shifted[i].wide() - sum.ln() } else { o.wide() / *sum });
        } else {
            *o = T::of(0.0);
        }
    }
}

fn as_bytes_mut<T: Real>(values: &mut [T]) -> &mut [u8] {
    bytemuck::cast_slice_mut(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn softmax(values: &[f64], ends: &[usize], fill: Option<(&[f64], &[f64])>, log: bool) -> (Vec<f64>, Vec<f64>) {
        let (fills, times) = fill.unwrap_or((&[], &[]));
        let (mut out, mut of_fills) = (vec![0.0; values.len()], vec![0.0; fills.len()]);
        let rows_of = Rows { values: f64::as_bytes(values), ends, fills: f64::as_bytes(fills), times, log };
        rows(DType::F64).unwrap()(rows_of, as_bytes_mut(&mut out), as_bytes_mut(&mut of_fills));
        (out, of_fills)
    }

    #[test]
    fn rows_of_every_length_add_up_to_one() {
        let lengths = [0, 1, 5, 16, 17, 1000, 1024, 1025, 5000, 3, 0];
        let ends: Vec<usize> =
            std::iter::once(0).chain(lengths.iter().scan(0, |at, n| (*at += n, Some(*at)).1)).collect();
        let values: Vec<f64> = (0..*ends.last().unwrap()).map(|i| (i * 7919 % 1013) as f64 / 100.0).collect();
        let (out, _) = softmax(&values, &ends, None, false);
        let (log, _) = softmax(&values, &ends, None, true);
        for e in ends.windows(2).filter(|e| e[0] < e[1]) {
            let sum: f64 = out[e[0]..e[1]].iter().sum();
            assert!((sum - 1.0).abs() < 1e-13, "{sum}");
            let z: f64 = values[e[0]..e[1]].iter().map(|v| v.exp()).sum();
            for i in e[0]..e[1] {
                assert!((out[i] - values[i].exp() / z).abs() <= 1e-13 * out[i]);
                assert!((log[i] - (values[i] - z.ln())).abs() <= 1e-13 * log[i].abs().max(1.0));
            }
        }
    }

    #[test]
    fn steps_are_those_of_whole_rows() {
        fn same<T: Real>(value: impl Fn(usize) -> T) {
            let steps = steps(T::DTYPE).unwrap();
            for n in [0, 1, 1023, 1024, 1025, 5000] {
                let values: Vec<T> = (0..n).map(&value).collect();
                let bytes = T::as_bytes(&values);
                let greatest = (steps.greatest)(bytes);
                for log in [false, true] {
                    let (mut whole, mut out) = (vec![T::LEAST; n], vec![T::LEAST; n]);
                    let rows_of = Rows { values: bytes, ends: &[0, n], fills: &[], times: &[], log };
                    rows(T::DTYPE).unwrap()(rows_of, as_bytes_mut(&mut whole), &mut []);
                    let sum = (steps.exponentials)(bytes, greatest, as_bytes_mut(&mut out));
                    if log {
                        (steps.logarithms)(bytes, greatest, sum, as_bytes_mut(&mut out));
                    } else {
                        (steps.quotients)(sum, as_bytes_mut(&mut out));
                    }
                    // Rows of a block at most are added in other lanes.
                    let near = |(a, b): (&T, &T)| (a.wide() - b.wide()).abs() <= 1e-15 * b.wide().abs();
                    assert!(out.iter().zip(&whole).all(near), "{} {n} {log}", T::DTYPE);
                    assert!(n <= BLOCK || T::as_bytes(&out) == T::as_bytes(&whole), "{} {n} {log}", T::DTYPE);
                }
            }
        }
        same(|i| (i * 7919 % 1013) as f64 / 100.0);
        same(|i| (i * 7919 % 1013) as f32 / 100.0);
    }

    #[test]
    fn fills_take_part_as_often_as_they_occur() {
        let (out, fills) = softmax(&[1.0, 2.0], &[0, 2, 2], Some((&[3.0, f64::INFINITY], &[2.0, 0.0])), false);
        let z = 1f64.exp() + 2f64.exp() + 2.0 * 3f64.exp();
        assert!((out[0] - 1f64.exp() / z).abs() < 1e-16 && (fills[0] - 3f64.exp() / z).abs() < 1e-15);
        assert_eq!(fills[1], 0.0);
        let (_, fills) = softmax(&[1.0], &[0, 1, 1], Some((&[f64::NEG_INFINITY; 2], &[2.0, 3.0])), false);
        assert!(fills[0] == 0.0 && fills[1].is_nan());
    }

    #[test]
    fn what_is_not_finite_makes_its_row_nan() {
        let (out, _) =
            softmax(&[1.0, f64::NAN, f64::INFINITY, 2.0, f64::NEG_INFINITY, 0.0], &[0, 2, 4, 6], None, false);
        assert!(out[..4].iter().all(|v| v.is_nan()));
        assert_eq!(out[4..], [0.0, 1.0]);
        // Anywhere in rows of any length.
        for n in [1, 7, 8, 9, 16, 21, 127, 128, 129, 1000, 2000] {
            for at in [0, 1, 7, 8, n / 2, n - 1] {
                for odd in [f64::NAN, f64::INFINITY] {
                    let mut values = vec![0.5; 2 * n];
                    values[at.min(n - 1)] = odd;
                    let (out, _) = softmax(&values, &[0, n, 2 * n], None, n % 2 == 0);
                    assert!(out[..n].iter().all(|v| v.is_nan()), "{odd} of {n} at {at}");
                    assert!(out[n..].iter().all(|v| v.is_finite()), "{odd} of {n} at {at}");
                }
            }
        }
    }
}
