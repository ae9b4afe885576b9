//! Running folds along rows.

use super::monoid::{All, Any, Max, Min, Monoid, Prod, Sum};
use super::{ReduceOp, ReduceTyping};
use crate::dtype::{DType, Element, c128};
use crate::groups::Store;
use crate::simd::{Loop, narrowly_vectorised, vectorised};
use crate::{bf16, f16};

/// A fold whose every partial result is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScanOp {
    /// Running sums: integers wrap, as `int64` or `uint64`; floats are added in `float64`.
    Sum,
    /// Running products, likewise.
    Prod,
    /// The greatest element so far; NaN from the first on.
    Max,
    /// The least element so far; NaN from the first on.
    Min,
}

/// The loops of a scan, over elements of the accumulator's dtype; `out` may hold anything before.
#[derive(Clone, Copy, Debug)]
pub struct ScanKernels {
    /// Goes on with the folds of columns: for each of `rows`, one after the other, what its columns come to with all rows before it is
    /// written to `out`. `state` holds these folds, and as many corrections, which only sums of floats have: of the first row all its
    /// elements, and zeros.
    pub columns: fn(rows: &[u8], state: &mut [u8], out: &mut [u8]),
    /// Scans rows of `n` elements, each by itself.
    pub rows: fn(values: &[u8], n: usize, out: &mut [u8]),
}

impl ScanOp {
    /// The fold of a whole row.
    pub const fn fold(self) -> ReduceOp {
        match self {
            ScanOp::Sum => ReduceOp::Sum,
            ScanOp::Prod => ReduceOp::Prod,
            ScanOp::Max => ReduceOp::Max,
            ScanOp::Min => ReduceOp::Min,
        }
    }

    /// The dtypes of a scan of elements of `dtype`, those of the fold; `None` if the op is not defined for it.
    pub fn typing(self, dtype: DType) -> Option<ReduceTyping> {
        self.fold().typing(dtype)
    }

    /// The kernels of a typing that [`ScanOp::typing`] gives, over elements of what it accumulates in.
    #[inline(never)] // its kernels are compiled here, not in each crate that asks
    pub fn kernels(self, typing: ReduceTyping) -> Option<ScanKernels> {
        Some(match (self, typing.acc) {
            (ScanOp::Sum, DType::I64) => of::<Sum<i64>>(),
            (ScanOp::Sum, DType::U64) => of::<Sum<u64>>(),
            // Sums of narrower floats have bits to spare.
            (ScanOp::Sum, DType::F64) if typing.input.size() < size_of::<f64>() => {
                ScanKernels { columns: plain_sums, rows: rows_of_plain_sums }
            }
            (ScanOp::Sum, DType::F64) => ScanKernels { columns: sums, rows: rows_of_sums::<1> },
            (ScanOp::Sum, DType::Complex128) if typing.input.size() < size_of::<c128>() => of::<Sum<c128>>(),
            (ScanOp::Sum, DType::Complex128) => ScanKernels { columns: sums, rows: rows_of_sums::<2> },
            (ScanOp::Prod, DType::I64) => of::<Prod<i64>>(),
            (ScanOp::Prod, DType::U64) => of::<Prod<u64>>(),
            (ScanOp::Prod, DType::F64) => ScanKernels { columns: scan::<Prod<f64>>, rows: rows_of_products },
            (ScanOp::Prod, DType::Complex128) => of::<Prod<c128>>(),
            (ScanOp::Max, DType::Bool) => of::<Any>(),
            (ScanOp::Min, DType::Bool) => of::<All>(),
            (ScanOp::Max, acc) => extreme!(Max, acc),
            (ScanOp::Min, acc) => extreme!(Min, acc),
            _ => return None,
        })
    }
}

macro_rules! extreme {
    ($monoid:ident, $dtype:expr) => {
        match $dtype {
            DType::I8 => of::<$monoid<i8>>(),
            DType::I16 => of::<$monoid<i16>>(),
            DType::I32 => of::<$monoid<i32>>(),
            DType::I64 => of::<$monoid<i64>>(),
            DType::U8 => of::<$monoid<u8>>(),
            DType::U16 => of::<$monoid<u16>>(),
            DType::U32 => of::<$monoid<u32>>(),
            DType::U64 => of::<$monoid<u64>>(),
            DType::F16 => of::<$monoid<f16>>(),
            DType::BF16 => of::<$monoid<bf16>>(),
            DType::F32 => of::<$monoid<f32>>(),
            DType::F64 => of::<$monoid<f64>>(),
            DType::Bool | DType::Complex64 | DType::Complex128 => return None,
        }
    };
}
use extreme;

fn of<M: Monoid>() -> ScanKernels
where
    M::Acc: Store,
{
    ScanKernels { columns: scan::<M>, rows: rows::<M> }
}

fn rows<M: Monoid>(values: &[u8], n: usize, out: &mut [u8])
where
    M::Acc: Store,
{
    let (values, out) = (M::Acc::from_bytes(values), bytemuck::cast_slice_mut::<u8, <M::Acc as Store>::Raw>(out));
    for (row, out) in values.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
        let mut fold = row[0];
        out[0] = fold.store();
        for (&value, out) in row[1..].iter().zip(&mut out[1..]) {
            fold = M::combine(fold, value);
            *out = fold.store();
        }
    }
}

fn rows_of_sums<const P: usize>(values: &[u8], n: usize, out: &mut [u8]) {
    let (values, out) = (f64::from_bytes(values), f64::from_bytes_mut(out));
    let done = if const { P == 1 } { rows_beside::<true>(values, n, out) } else { 0 };
    let (values, out) = (values[done..].as_chunks::<P>().0, out[done..].as_chunks_mut::<P>().0);
    for (row, out) in values.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
        let (mut sums, mut low) = (row[0], [0.0; P]);
        out[0] = sums;
        for (value, out) in row[1..].iter().zip(&mut out[1..]) {
            for part in 0..P {
                out[part] = add(&mut sums[part], &mut low[part], value[part]);
            }
        }
    }
}

fn rows_of_products(values: &[u8], n: usize, out: &mut [u8]) {
    let done = size_of::<f64>() * rows_beside::<false>(f64::from_bytes(values), n, f64::from_bytes_mut(out));
    rows::<Prod<f64>>(&values[done..], n, &mut out[done..]);
}

/// Rows of floats that are scanned beside each other, as columns are: in one row each step waits for the one before.
pub const ROWS_BESIDE: usize = 8;

/// How long such rows are at least, for products: of shorter rows several are on their way alone. Not for sums, whose steps are longer.
const LONG: usize = 16;

/// Scans as many rows as there are groups of [`ROWS_BESIDE`], if they are not too short, for sums or else for products: the elements of these.
fn rows_beside<const SUMS: bool>(values: &[f64], n: usize, out: &mut [f64]) -> usize {
    struct Rows<'a, const SUMS: bool>(&'a [f64], usize, &'a mut [f64]);
    impl<const SUMS: bool> Loop for Rows<'_, SUMS> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            let Rows(values, n, out) = self;
            let rows: [&[f64]; ROWS_BESIDE] = std::array::from_fn(|row| &values[row * n..][..n]);
            let mut own = out.chunks_exact_mut(n);
            let out: [&mut [f64]; ROWS_BESIDE] = std::array::from_fn(|_| own.next().unwrap_or_default());
            if out.iter().any(|row| row.len() != n) {
                return debug_assert!(false, "a row for each");
            }
            let mut folds: [f64; ROWS_BESIDE] = std::array::from_fn(|row| rows[row][0]);
            let mut low = [0.0; ROWS_BESIDE];
            for row in 0..ROWS_BESIDE {
                out[row][0] = folds[row];
            }
            for at in 1..n {
                let values: [f64; ROWS_BESIDE] = std::array::from_fn(|row| rows[row][at]);
                let found: [f64; ROWS_BESIDE] = std::array::from_fn(|row| {
                    if SUMS {
                        return add(&mut folds[row], &mut low[row], values[row]);
                    }
                    folds[row] = Prod::<f64>::combine(folds[row], values[row]);
                    folds[row]
                });
                for row in 0..ROWS_BESIDE {
                    out[row][at] = found[row];
                }
            }
        }
    }
    if n < if SUMS { 2 } else { LONG } {
        return 0;
    }
    let groups = values.chunks_exact(ROWS_BESIDE * n).zip(out.chunks_exact_mut(ROWS_BESIDE * n));
    groups.map(|(values, out)| narrowly_vectorised(Rows::<SUMS>(values, n, out))).count() * ROWS_BESIDE * n
}

/// Elements of a row whose sums are found beside each other.
const TOGETHER: usize = 8;

/// Plain sums along one row, after `sum`, and what they come to: those within a few elements by steps that double (Hillis and Steele,
/// "Data parallel algorithms", 1986), so that only one in [`TOGETHER`] waits for the sum before it. −0 changes no element.
struct Along<'a>(&'a [f64], f64, &'a mut [f64]);

impl Loop for Along<'_> {
    type Output = f64;
    #[inline(always)]
    fn run(self) -> f64 {
        let Along(values, mut sum, out) = self;
        let (blocks, rest) = values.as_chunks::<TOGETHER>();
        let (out_blocks, out_rest) = out.as_chunks_mut::<TOGETHER>();
        for (block, out) in blocks.iter().zip(out_blocks) {
            let mut sums = *block;
            let mut step = 1;
            while step < TOGETHER {
                let mut before = [-0.0; TOGETHER];
                before[step..].copy_from_slice(&sums[..TOGETHER - step]);
                for i in 0..TOGETHER {
                    sums[i] += before[i];
                }
                step *= 2;
            }
            for i in 0..TOGETHER {
                out[i] = sum + sums[i];
            }
            sum = out[TOGETHER - 1];
        }
        for (&value, out) in rest.iter().zip(out_rest) {
            sum += value;
            *out = sum;
        }
        sum
    }
}

fn rows_of_plain_sums(values: &[u8], n: usize, out: &mut [u8]) {
    struct Rows<'a>(&'a [f64], usize, &'a mut [f64]);
    impl Loop for Rows<'_> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            for (row, out) in self.0.chunks_exact(self.1).zip(self.2.chunks_exact_mut(self.1)) {
                Along(row, -0.0, out).run();
            }
        }
    }
    if n < TOGETHER {
        return rows::<Sum<f64>>(values, n, out);
    }
    vectorised(Rows(f64::from_bytes(values), n, f64::from_bytes_mut(out)));
}

fn plain_sums(rows: &[u8], state: &mut [u8], out: &mut [u8]) {
    match f64::from_bytes_mut(state) {
        [sum, _] => *sum = vectorised(Along(f64::from_bytes(rows), *sum, f64::from_bytes_mut(out))),
        _ => scan::<Sum<f64>>(rows, state, out),
    }
}

/// Columns that stay in registers.
const NARROW: usize = 4;

fn scan<M: Monoid>(rows: &[u8], state: &mut [u8], out: &mut [u8])
where
    M::Acc: Store,
{
    struct Columns<'a, M: Monoid>(&'a [M::Acc], &'a mut [M::Acc], &'a mut [<M::Acc as Store>::Raw])
    where
        M::Acc: Store;
    impl<M: Monoid> Loop for Columns<'_, M>
    where
        M::Acc: Store,
    {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            let Columns(rows, state, out) = self;
            let width = state.len();
            for (row, out) in rows.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
                for ((acc, &value), out) in state.iter_mut().zip(row).zip(out) {
                    *acc = M::combine(*acc, value);
                    *out = acc.store();
                }
            }
        }
    }
    let (rows, state) = (M::Acc::from_bytes(rows), M::Acc::from_bytes_mut(state));
    let out = bytemuck::cast_slice_mut::<u8, <M::Acc as Store>::Raw>(out);
    match state {
        [] => (),
        [acc, _] => {
            let mut fold = *acc;
            for (&value, out) in rows.iter().zip(out) {
                fold = M::combine(fold, value);
                *out = fold.store();
            }
            *acc = fold;
        }
        _ => {
            let width = state.len() / 2;
            let columns = Columns::<M>(rows, &mut state[..width], out);
            if const { size_of::<M::Acc>() >= 4 } && width > NARROW { vectorised(columns) } else { columns.run() }
        }
    }
}

/// Sums of floats, of which a complex number is two. What each addition rounds away is collected (Knuth's two-sum, Kahan's and
/// Babuška's scheme), so that the error does not grow with the place.
fn sums(rows: &[u8], state: &mut [u8], out: &mut [u8]) {
    let (rows, state, out) = (f64::from_bytes(rows), f64::from_bytes_mut(state), f64::from_bytes_mut(out));
    let (sums, low) = state.split_at_mut(state.len() / 2);
    match sums.len() {
        0 => (),
        1 => few_sums::<1>(rows, sums, low, out),
        2 => few_sums::<2>(rows, sums, low, out),
        3 => few_sums::<3>(rows, sums, low, out),
        NARROW => few_sums::<NARROW>(rows, sums, low, out),
        _ => vectorised(Sums { rows, sums, low, out }),
    }
}

fn few_sums<const N: usize>(rows: &[f64], sums: &mut [f64], low: &mut [f64], out: &mut [f64]) {
    let (mut own_sums, mut own_low) = ([0.0; N], [0.0; N]);
    own_sums.copy_from_slice(sums);
    own_low.copy_from_slice(low);
    for (row, out) in rows.as_chunks::<N>().0.iter().zip(out.as_chunks_mut::<N>().0) {
        for column in 0..N {
            let (sum, low) = (&mut own_sums[column], &mut own_low[column]);
            out[column] = if N == 1 { add_in_turn(sum, low, row[column]) } else { add(sum, low, row[column]) };
        }
    }
    sums.copy_from_slice(&own_sums);
    low.copy_from_slice(&own_low);
}

struct Sums<'a> {
    rows: &'a [f64],
    sums: &'a mut [f64],
    low: &'a mut [f64],
    out: &'a mut [f64],
}

impl Loop for Sums<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let width = self.sums.len();
        for (row, out) in self.rows.chunks_exact(width).zip(self.out.chunks_exact_mut(width)) {
            let before = self.sums.iter_mut().zip(self.low.iter_mut());
            for ((&value, out), (sum, low)) in row.iter().zip(out).zip(before) {
                *out = add(sum, low, value);
            }
        }
    }
}

/// The sum with one more element.
#[inline(always)]
fn add(sum: &mut f64, low: &mut f64, value: f64) -> f64 {
    let next = step(sum, low, value);
    // Without a branch, which would be foreseen wrongly as often as not: it is not a number from where the sum is not finite on, and
    // there any finite one does; and 0 is taken away, as added it would make 0 of −0.
    let correction = if *low > f64::MIN { *low } else { f64::MIN };
    next - (0.0 - correction)
}

/// The same where sums wait for each other anyhow, and most are corrected: a branch is foreseen then.
#[inline(always)]
fn add_in_turn(sum: &mut f64, low: &mut f64, value: f64) -> f64 {
    let next = step(sum, low, value);
    next + if (*low < 0.0) | (*low > 0.0) { *low } else { -0.0 }
}

/// The plain sum with one more element, whose rounding is collected.
#[inline(always)]
fn step(sum: &mut f64, low: &mut f64, value: f64) -> f64 {
    let next = *sum + value;
    let of_value = next - *sum;
    *low += (*sum - (next - of_value)) + (value - of_value);
    *sum = next;
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, set_level};

    fn of(op: ScanOp, dtype: DType) -> ScanKernels {
        op.kernels(ReduceTyping { input: dtype, acc: dtype, out: dtype }).unwrap()
    }

    /// The scans of columns that lie beside each other, `width` of them.
    fn columns<T: Element>(op: ScanOp, width: usize, values: &[T]) -> Vec<T> {
        let kernel = of(op, T::DTYPE).columns;
        let words = |bytes: usize| vec![0u128; bytes.div_ceil(16)];
        let (first, rest) = values.split_at(width);
        let (mut state, mut out) = (words(2 * size_of_val(first)), words(size_of_val(rest)));
        let state = &mut bytemuck::cast_slice_mut(&mut state)[..2 * size_of_val(first)];
        let out = &mut bytemuck::cast_slice_mut(&mut out)[..size_of_val(rest)];
        state[..size_of_val(first)].copy_from_slice(T::as_bytes(first));
        // In two calls: the second goes on.
        let half = rest.len() / width / 2 * width * size_of::<T>();
        let (first_out, rest_out) = out.split_at_mut(half);
        kernel(&T::as_bytes(rest)[..half], state, first_out);
        kernel(&T::as_bytes(rest)[half..], state, rest_out);
        [first, T::from_bytes(out)].concat()
    }

    /// The scan of one column, and of one row, which must be the same.
    fn run<T: Element>(op: ScanOp, values: &[T]) -> Vec<T> {
        let found = columns(op, 1, values);
        let mut out = vec![0u128; size_of_val(values).div_ceil(16)];
        let out = &mut bytemuck::cast_slice_mut(&mut out)[..size_of_val(values)];
        (of(op, T::DTYPE).rows)(T::as_bytes(values), values.len(), out);
        assert_eq!(out, T::as_bytes(&found));
        found
    }

    #[test]
    fn rows_are_scanned_by_themselves() {
        let mut out = [0i64; 6];
        let kernels = of(ScanOp::Sum, DType::I64);
        (kernels.rows)(i64::as_bytes(&[1, 2, 3, 10, 20, 30]), 3, bytemuck::cast_slice_mut(&mut out));
        assert_eq!(out, [1, 3, 6, 10, 30, 60]);
    }

    #[test]
    fn columns_are_as_each_alone() {
        let value = |i: usize| [1e16, 1.0, -0.0, 0.1, -1e16, f64::MIN_POSITIVE, -3.5][(i * i + i / 5) % 7];
        for width in [2, 3, 4, 5, 9, 33] {
            let floats: Vec<f64> = (0..width * 17).map(value).collect();
            let of = |column: usize| floats.iter().skip(column).step_by(width).copied().collect::<Vec<f64>>();
            for op in [ScanOp::Sum, ScanOp::Prod, ScanOp::Max, ScanOp::Min] {
                let all = columns(op, width, &floats);
                for column in 0..width {
                    let own = run(op, &of(column));
                    let same =
                        all.iter().skip(column).step_by(width).zip(&own).all(|(a, b)| a.to_bits() == b.to_bits());
                    assert!(same, "{op:?}, column {column} of {width}");
                }
            }
            let whole: Vec<i32> = floats.iter().map(|&x| x as i32).collect();
            let greatest = columns(ScanOp::Max, width, &whole);
            let own = run(ScanOp::Max, &whole.iter().step_by(width).copied().collect::<Vec<i32>>());
            assert_eq!(greatest.iter().step_by(width).copied().collect::<Vec<i32>>(), own);
        }
    }

    #[test]
    fn rows_beside_each_other_are_as_each_alone() {
        let value = |i: usize| match (i * i + i / 7) % 97 {
            0 => f64::INFINITY,
            1 => f64::NAN,
            2 | 3 => f64::MAX,
            k => [1e16, 1.0, -0.0, 0.1, -1e16, f64::MIN_POSITIVE, -3.5][k % 7],
        };
        for level in Level::ALL {
            set_level(Some(level));
            for n in [1, 2, 15, 16, 17, 40, 101] {
                for count in [1, 7, 8, 9, 16, 19] {
                    let all: Vec<f64> = (0..n * count).map(value).collect();
                    for op in [ScanOp::Sum, ScanOp::Prod] {
                        let mut out = vec![0.0; all.len()];
                        let kernels = of(op, DType::F64);
                        (kernels.rows)(f64::as_bytes(&all), n, bytemuck::cast_slice_mut(&mut out));
                        for (row, found) in all.chunks(n).zip(out.chunks(n)) {
                            let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
                            assert!(found.iter().zip(&run(op, row)).all(same), "{op:?}, {count} of {n} at {level:?}");
                        }
                    }
                }
            }
        }
        set_level(None);
    }

    #[test]
    fn sums_that_are_not_finite_have_no_correction() {
        let (inf, max) = (f64::INFINITY, f64::MAX);
        assert_eq!(run(ScanOp::Sum, &[1e16, 1.0, max, max, -1.0, -max]), [1e16, 1e16 + 1.0, max, inf, inf, inf]);
        let found = run(ScanOp::Sum, &[0.1, inf, 1.0, -inf, 1.0]);
        assert!(found[..3] == [0.1, inf, inf] && found[3..].iter().all(|x| x.is_nan()));
        assert!(run(ScanOp::Sum, &[-0.0f64; 3]).iter().all(|x| x.to_bits() == (-0.0f64).to_bits()));
    }

    #[test]
    fn values_by_hand() {
        assert_eq!(run(ScanOp::Sum, &[1i64, 2, i64::MAX]), [1, 3, i64::MIN + 2]);
        assert_eq!(run(ScanOp::Prod, &[2u64, 3, 0, 7]), [2, 6, 0, 0]);
        assert_eq!(run(ScanOp::Max, &[1.0f32, 3.0, 2.0]), [1.0, 3.0, 3.0]);
        assert_eq!(run(ScanOp::Min, &[true, false, true]), [true, false, false]);
        let nan = run(ScanOp::Min, &[1.0, f64::NAN, 0.0]);
        assert!(nan[0] == 1.0 && nan[1].is_nan() && nan[2].is_nan());
        assert!(run(ScanOp::Sum, &[-0.0f64])[0].is_sign_negative());
        let z = |re, im| c128::new(re, im);
        assert_eq!(run(ScanOp::Sum, &[z(1.0, 2.0), z(3.0, -5.0)]), [z(1.0, 2.0), z(4.0, -3.0)]);
        let complex = ReduceTyping { input: DType::Complex64, acc: DType::Complex64, out: DType::Complex64 };
        assert!(ScanOp::Max.kernels(complex).is_none());
    }

    /// Sums of what was narrower: beside those one by one, from the first of a row on and after others, at each level.
    #[test]
    fn narrow_floats_are_added_plainly() {
        let typing = ReduceTyping { input: DType::F32, acc: DType::F64, out: DType::F32 };
        let kernels = ScanOp::Sum.kernels(typing).unwrap();
        let mut of_levels = Vec::new();
        for level in Level::ALL {
            set_level(Some(level));
            let mut bits = Vec::new();
            for n in [1, 2, 7, 8, 9, 16, 23, 1000] {
                let values: Vec<f64> = (0..3 * n).map(|i| ((i * 7919 % 1013) as f32 / 7.0 - 70.0).into()).collect();
                let mut out = vec![0.0; 3 * n];
                (kernels.rows)(f64::as_bytes(&values), n, bytemuck::cast_slice_mut(&mut out));
                for (row, found) in values.chunks(n).zip(out.chunks(n)) {
                    let (mut sum, mut size) = (0.0, 0.0);
                    for (value, found) in row.iter().zip(found) {
                        (sum, size) = (sum + value, size + value.abs());
                        assert!((found - sum).abs() <= 1e-14 * size, "{found} is not {sum}");
                    }
                }
                bits.extend(out.iter().map(|x| x.to_bits()));
                let mut state = [100.0, 0.0];
                (kernels.columns)(
                    f64::as_bytes(&values),
                    bytemuck::cast_slice_mut(&mut state),
                    bytemuck::cast_slice_mut(&mut out),
                );
                let sum = 100.0 + values.iter().sum::<f64>();
                assert!(out.last().is_some_and(|&last| last == state[0] && (last - sum).abs() <= 1e-9), "{n}");
                bits.extend(out.iter().map(|x| x.to_bits()));
            }
            for at in 0..20 {
                let mut values = [1f64; 20];
                values[at] = f64::INFINITY;
                values[19 - at] = -values[19 - at];
                let mut out = [0.0; 20];
                (kernels.rows)(f64::as_bytes(&values), 20, bytemuck::cast_slice_mut(&mut out));
                let mut sum = 0.0;
                assert!(values.iter().zip(&out).all(|(value, &found)| {
                    sum += value;
                    found == sum
                }));
                values[0] = f64::NEG_INFINITY;
                (kernels.rows)(f64::as_bytes(&values), 20, bytemuck::cast_slice_mut(&mut out));
                assert!(
                    at == 0
                        || out[..at].iter().all(|&x| x == f64::NEG_INFINITY) && out[at..].iter().all(|x| x.is_nan())
                );
            }
            let mut out = [0f64; 20];
            (kernels.rows)(f64::as_bytes(&[-0.0; 20]), 20, bytemuck::cast_slice_mut(&mut out));
            assert!(out.iter().all(|x| x.to_bits() == (-0.0f64).to_bits()));
            of_levels.push(bits);
        }
        set_level(None);
        assert!(of_levels.iter().all(|bits| *bits == of_levels[0]));
    }

    #[test]
    fn small_terms_survive_a_large_one() {
        let mut values = vec![1.0; 1003];
        (values[0], values[1002]) = (1e16, -1e16);
        assert_eq!(run(ScanOp::Sum, &values)[1002], 1001.0);
        assert_eq!(run(ScanOp::Sum, &[f64::INFINITY, 1.0]), [f64::INFINITY; 2]);
    }
}
