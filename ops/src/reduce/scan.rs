//! Running folds along rows.

use super::monoid::{All, Any, Max, Min, Monoid, Prod, Sum};
use super::{ReduceOp, ReduceTyping};
use crate::dtype::{DType, Element, c128};
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

/// Replaces each element of a row, of the accumulator's dtype, by the fold of all up to it.
pub type ScanKernel = fn(row: &mut [u8]);

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

    /// The kernel over rows of a dtype that [`ScanOp::typing`] accumulates in.
    #[inline(never)] // its kernels are compiled here, not in each crate that asks
    pub fn kernel(self, acc: DType) -> Option<ScanKernel> {
        Some(match (self, acc) {
            (ScanOp::Sum, DType::I64) => scan::<Sum<i64>>,
            (ScanOp::Sum, DType::U64) => scan::<Sum<u64>>,
            (ScanOp::Sum, DType::F64) => sums::<1>,
            (ScanOp::Sum, DType::Complex128) => sums::<2>,
            (ScanOp::Prod, DType::I64) => scan::<Prod<i64>>,
            (ScanOp::Prod, DType::U64) => scan::<Prod<u64>>,
            (ScanOp::Prod, DType::F64) => scan::<Prod<f64>>,
            (ScanOp::Prod, DType::Complex128) => scan::<Prod<c128>>,
            (ScanOp::Max, DType::Bool) => scan::<Any>,
            (ScanOp::Min, DType::Bool) => scan::<All>,
            (ScanOp::Max, _) => extreme!(Max, acc),
            (ScanOp::Min, _) => extreme!(Min, acc),
            _ => return None,
        })
    }
}

macro_rules! extreme {
    ($monoid:ident, $dtype:expr) => {
        match $dtype {
            DType::I8 => scan::<$monoid<i8>>,
            DType::I16 => scan::<$monoid<i16>>,
            DType::I32 => scan::<$monoid<i32>>,
            DType::I64 => scan::<$monoid<i64>>,
            DType::U8 => scan::<$monoid<u8>>,
            DType::U16 => scan::<$monoid<u16>>,
            DType::U32 => scan::<$monoid<u32>>,
            DType::U64 => scan::<$monoid<u64>>,
            DType::F16 => scan::<$monoid<f16>>,
            DType::BF16 => scan::<$monoid<bf16>>,
            DType::F32 => scan::<$monoid<f32>>,
            DType::F64 => scan::<$monoid<f64>>,
            DType::Bool | DType::Complex64 | DType::Complex128 => return None,
        }
    };
}
use extreme;

fn scan<M: Monoid>(row: &mut [u8]) {
    let mut acc = M::IDENTITY;
    for (i, slot) in M::Acc::from_bytes_mut(row).iter_mut().enumerate() {
        // The first element as it is: not even −0 changes.
        acc = if i == 0 { *slot } else { M::combine(acc, *slot) };
        *slot = acc;
    }
}

/// Sums of elements of `P` floats each. What each addition rounds away is collected (Knuth's two-sum, Kahan's and
/// Babuška's scheme), so that the error does not grow with the place.
fn sums<const P: usize>(row: &mut [u8]) {
    let (mut acc, mut low) = ([-0.0; P], [0.0; P]);
    for element in f64::from_bytes_mut(row).chunks_exact_mut(P) {
        for (part, value) in element.iter_mut().enumerate() {
            let sum = acc[part] + *value;
            let of_value = sum - acc[part];
            low[part] += (acc[part] - (sum - of_value)) + (*value - of_value);
            acc[part] = sum;
            // A sum that is not finite has no correction, and one of 0 would make 0 of −0.
            *value = if sum.is_finite() && low[part] != 0.0 { sum + low[part] } else { sum };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<T: Element>(op: ScanOp, values: &[T]) -> Vec<T> {
        let mut row = vec![0u128; size_of_val(values).div_ceil(16)];
        let row = &mut bytemuck::cast_slice_mut(&mut row)[..size_of_val(values)];
        row.copy_from_slice(T::as_bytes(values));
        op.kernel(T::DTYPE).unwrap()(row);
        T::from_bytes(row).to_vec()
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
        assert!(ScanOp::Max.kernel(DType::Complex64).is_none());
    }

    #[test]
    fn small_terms_survive_a_large_one() {
        let mut values = vec![1.0; 1003];
        (values[0], values[1002]) = (1e16, -1e16);
        assert_eq!(run(ScanOp::Sum, &values)[1002], 1001.0);
        assert_eq!(run(ScanOp::Sum, &[f64::INFINITY, 1.0]), [f64::INFINITY; 2]);
    }
}
