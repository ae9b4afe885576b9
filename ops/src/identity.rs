//! Which elements are *the same* as others: bit for bit, or both NaN. What is pruned and what equals a
//! fill is decided here, so that −0 is not lost beside a fill of 0.

use std::marker::PhantomData;

use half::{bf16, f16};

use crate::dtype::{DType, Element, c64, c128};
use crate::groups::zip;
use crate::registry::BinaryKernel;
use crate::simd::{Loop, vectorised};
use crate::with_dtype;

trait Identity: Element {
    fn differs(self, other: Self) -> bool;
}

macro_rules! exact {
    ($($ty:ty),*) => {$(
        impl Identity for $ty {
            #[inline(always)]
            fn differs(self, other: $ty) -> bool {
                self != other
            }
        }
    )*};
}
exact!(bool, i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! float {
    ($($ty:ty),*) => {$(
        impl Identity for $ty {
            #[inline(always)]
            fn differs(self, other: $ty) -> bool {
                (self.to_bits() != other.to_bits()) & !(self.is_nan() & other.is_nan())
            }
        }
    )*};
}
float!(f16, bf16, f32, f64);

macro_rules! complex {
    ($($ty:ty),*) => {$(
        impl Identity for $ty {
            #[inline(always)]
            fn differs(self, other: $ty) -> bool {
                self.re.differs(other.re) | self.im.differs(other.im)
            }
        }
    )*};
}
complex!(c64, c128);

/// The kernel that says of each pair whether its elements differ (output: bool).
#[inline(never)] // its kernels are compiled here, not in each crate that asks
pub fn differs(dtype: DType) -> BinaryKernel {
    struct Differ<'a, T>(&'a [u8], &'a [u8], &'a mut [u8], PhantomData<T>);
    impl<T: Identity> Loop for Differ<'_, T> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            zip::<T, bool>(self.0, self.1, self.2, T::differs);
        }
    }
    with_dtype!(dtype, T => |a, b, out| vectorised(Differ::<T>(a, b, out, PhantomData)))
}

/// Whether every element of a block is neither NaN nor infinite.
pub fn all_finite(dtype: DType, values: &[u8]) -> bool {
    match dtype {
        DType::F16 => f16::from_bytes(values).iter().all(|v| v.is_finite()),
        DType::BF16 => bf16::from_bytes(values).iter().all(|v| v.is_finite()),
        DType::F32 | DType::Complex64 => f32::from_bytes(values).iter().all(|v| v.is_finite()),
        DType::F64 | DType::Complex128 => f64::from_bytes(values).iter().all(|v| v.is_finite()),
        _ => true,
    }
}
