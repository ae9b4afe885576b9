//! Folds: the table, and what it says about each op.

mod compensated;
mod exact;
mod kernels;
pub mod moments;
mod monoid;
pub mod pairwise;
#[cfg(target_arch = "x86_64")]
mod rows;
mod scan;
#[cfg(test)]
mod tests;

pub use self::compensated::{Compensated, ROWS_AT_ONCE, Table, Turns};
pub use self::exact::{Compact, Exact, Quick};
use self::kernels::Words;
pub use self::moments::Moments;
use self::monoid::{All, Any, Count, Max, Min, Prod, Sum};
pub use self::scan::{ROWS_BESIDE, ScanKernels, ScanOp};
use crate::BinaryOp;
use crate::dtype::DType;
use crate::scalar::Scalar;
use crate::{bf16, c64, c128, f16};

/// The dtypes of a fold: elements are cast to `input`, folded in `acc`, and the result is cast to `out`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReduceTyping {
    /// What the kernels read.
    pub input: DType,
    /// What they accumulate in.
    pub acc: DType,
    /// The dtype of the op's result.
    pub out: DType,
}

/// The kernels of a fold for one input dtype. Blocks are contiguous elements, as bytes; `acc` and
/// `other` hold elements of the accumulator's dtype, everything else elements of the input's.
#[derive(Clone, Copy, Debug)]
pub struct ReduceKernels {
    /// The fold of nothing, of the accumulator's dtype; for `min` and `max` an element that every value
    /// replaces, or equals.
    pub identity: Scalar,
    /// `acc[i] = combine(acc[i], other[i])`.
    pub merge: fn(acc: &mut [u8], other: &[u8]),
    /// The fold of `n` copies of one value of the input's dtype, as the accumulator's dtype: the identity
    /// for `n = 0`.
    pub nfold: fn(value: Scalar, n: u128) -> Scalar,
    /// The dtype of the input and the one that the loops below read instead.
    taken_as: Option<(DType, DType)>,
    fold: fn(values: &[u8], acc: &mut [u8]),
    scatter: fn(values: &[u8], keys: &[u32], acc: &mut [u8]),
    segments: fn(values: &[u8], offsets: &[usize], acc: &mut [u8]),
    accumulate: fn(rows: &[&[u8]], acc: &mut [u8]),
}

impl ReduceKernels {
    /// `acc[0]` becomes the fold of all values. The order depends on their number alone, and the error of
    /// float sums grows with the logarithm of that.
    pub fn fold(&self, values: &[u8], acc: &mut [u8]) {
        self.taken(values, |values| (self.fold)(values, acc));
    }

    /// `acc[keys[i]] = combine(acc[keys[i]], values[i])`, for each `i` in turn.
    pub fn scatter(&self, values: &[u8], keys: &[u32], acc: &mut [u8]) {
        self.taken(values, |values| (self.scatter)(values, keys, acc));
    }

    /// `acc[s]` is combined with the fold of `values[offsets[s]..offsets[s + 1]]`.
    pub fn segments(&self, values: &[u8], offsets: &[usize], acc: &mut [u8]) {
        self.taken(values, |values| (self.segments)(values, offsets, acc));
    }

    /// `acc[i] = combine(acc[i], row[i])`, for each row in turn; [`ROWS_AT_ONCE`] of them go by in one pass over `acc`.
    pub fn accumulate(&self, rows: &[&[u8]], acc: &mut [u8]) {
        match self.taken_as {
            None => (self.accumulate)(rows, acc),
            Some(_) => rows.iter().for_each(|row| self.taken(row, |row| (self.accumulate)(&[row], acc))),
        }
    }

    fn taken(&self, values: &[u8], run: impl FnOnce(&[u8])) {
        match self.taken_as {
            None => run(values),
            Some((from, to)) => run(Words::of(values, from, to).bytes()),
        }
    }
}

/// What a fold gives of what it has accumulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// That itself: a fold of such results is the fold of all their elements.
    Total,
    /// That divided by the number of elements.
    Mean,
    /// That as a count: exact or an error, and 0 where nothing is there to be counted.
    Count,
}

/// Which element of an order is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    /// The least.
    Least,
    /// The greatest.
    Greatest,
}

/// The dtype rules of the table.
mod typing {
    use super::{DType, ReduceTyping};

    /// In the widest dtype of the kind; exact results keep it, inexact ones return to their dtype.
    pub(super) const fn widest(dtype: DType) -> Option<ReduceTyping> {
        let acc = match dtype {
            d if d.is_unsigned() => DType::U64,
            d if d.is_float() => DType::F64,
            d if d.is_complex() => DType::Complex128,
            _ => DType::I64,
        };
        Some(ReduceTyping { input: dtype, acc, out: if dtype.is_inexact() { dtype } else { acc } })
    }
    pub(super) const fn mean(dtype: DType) -> Option<ReduceTyping> {
        if dtype.is_inexact() {
            return widest(dtype);
        }
        Some(ReduceTyping { input: DType::F64, acc: DType::F64, out: dtype.to_inexact() })
    }
    pub(super) const fn order(dtype: DType) -> Option<ReduceTyping> {
        if dtype.is_complex() { None } else { Some(ReduceTyping { input: dtype, acc: dtype, out: dtype }) }
    }
    pub(super) const fn truth(dtype: DType) -> Option<ReduceTyping> {
        Some(ReduceTyping { input: dtype, acc: DType::Bool, out: DType::Bool })
    }
    pub(super) const fn count(dtype: DType) -> Option<ReduceTyping> {
        Some(ReduceTyping { input: dtype, acc: DType::U64, out: DType::I64 })
    }
}

/// Makes the registry of the table: `$d` is a dollar sign, for the macro that this writes.
macro_rules! reduce_table {
    ($d:tt $(
        #[doc = $doc:literal]
        $op:ident {
            name: $name:ident, typing: $typing:ident, identity: $identity:literal, sum_like: $sum_like:literal,
            gives: $gives:ident, extreme: $extreme:expr, twin: $twin:expr, kernels: $kernels:path
        }
    )+) => {
        /// An op that folds many elements into one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ReduceOp { $(#[doc = $doc] $op),+ }

        impl ReduceOp {
            /// Every op, in the order of the table.
            pub const ALL: &'static [ReduceOp] = &[$(ReduceOp::$op),+];

            /// The name: that of the tensor's method.
            pub const fn name(self) -> &'static str {
                match self { $(ReduceOp::$op => stringify!($name)),+ }
            }

            /// One line of documentation.
            pub const fn doc(self) -> &'static str {
                match self { $(ReduceOp::$op => $doc.trim_ascii()),+ }
            }

            /// Whether the op means something on no elements; `min` and `max` do not.
            pub const fn has_identity(self) -> bool {
                match self { $(ReduceOp::$op => $identity),+ }
            }

            /// Whether the op is a sum of something of each element, so that elements can be taken away
            /// again.
            pub const fn is_sum_like(self) -> bool {
                match self { $(ReduceOp::$op => $sum_like),+ }
            }

            /// What becomes of the folded elements.
            pub const fn gives(self) -> Gives {
                match self { $(ReduceOp::$op => Gives::$gives),+ }
            }

            /// The element that the op picks, of elements as the dtype it accumulates in; `None` if it picks none.
            pub const fn extreme(self) -> Option<Extreme> {
                match self { $(ReduceOp::$op => $extreme),+ }
            }

            /// The elementwise op that does to two elements, in their own dtype, what the fold does to many.
            pub const fn twin(self) -> Option<BinaryOp> {
                match self { $(ReduceOp::$op => $twin),+ }
            }

            /// The dtypes of a fold of elements of `dtype`; `None` if the op is not defined for it.
            pub fn typing(self, dtype: DType) -> Option<ReduceTyping> {
                match self { $(ReduceOp::$op => typing::$typing(dtype)),+ }
            }

            /// The kernels for dtypes that [`ReduceOp::typing`] gives; `None` for others. Those of the mean
            /// sum; the caller divides.
            pub fn kernels(self, typing: ReduceTyping) -> Option<ReduceKernels> {
                let kernels = match self { $(ReduceOp::$op => $kernels(typing.input)),+ }?;
                (kernels.identity.dtype() == typing.acc).then_some(kernels)
            }
        }

        /// Calls a macro with `(Variant, method_name, "doc"),` for every reduction, to declare something
        /// per op without naming the ops again.
        #[macro_export]
        macro_rules! for_each_reduce {
            ($d($d callback:tt)+) => { $d($d callback)+! { $(($op, $name, $doc),)+ } };
        }
    };
}

reduce_table! { $
    /// The sum. Integers wrap, as `int64` or `uint64`; floats are added in `float64`.
    Sum {
        name: sum, typing: widest, identity: true, sum_like: true,
        gives: Total, extreme: None, twin: Some(BinaryOp::Add), kernels: sum
    }
    /// The product. Integers wrap, as `int64` or `uint64`; floats are multiplied in `float64`.
    Prod {
        name: prod, typing: widest, identity: true, sum_like: false,
        gives: Total, extreme: None, twin: Some(BinaryOp::Mul), kernels: prod
    }
    /// The least element; NaN if there is one.
    Min {
        name: min, typing: order, identity: false, sum_like: false,
        gives: Total, extreme: Some(Extreme::Least), twin: Some(BinaryOp::Minimum), kernels: min
    }
    /// The greatest element; NaN if there is one.
    Max {
        name: max, typing: order, identity: false, sum_like: false,
        gives: Total, extreme: Some(Extreme::Greatest), twin: Some(BinaryOp::Maximum), kernels: max
    }
    /// Whether an element is not zero. NaN is not zero.
    Any {
        name: any, typing: truth, identity: true, sum_like: false,
        gives: Total, extreme: Some(Extreme::Greatest), twin: None, kernels: any
    }
    /// Whether no element is zero. NaN is not zero.
    All {
        name: all, typing: truth, identity: true, sum_like: false,
        gives: Total, extreme: Some(Extreme::Least), twin: None, kernels: all
    }
    /// The number of elements that are not zero, as `int64`. NaN is not zero.
    CountNonzero {
        name: count_nonzero, typing: count, identity: true, sum_like: true,
        gives: Count, extreme: None, twin: None, kernels: count
    }
    /// The arithmetic mean: `float64` for integers of 32 bits and more, `float32` for others; NaN for no elements.
    Mean {
        name: mean, typing: mean, identity: true, sum_like: true,
        gives: Mean, extreme: None, twin: None, kernels: sum
    }
}

/// The kernels of each fold by input dtype: `DType => loops(monoid, element as it enters, …)`.
macro_rules! kernels_by_dtype {
    ($($name:ident { $($($variant:ident)|+ => $loops:ident($($ty:ty),+);)+ })+) => {$(
        fn $name(input: DType) -> Option<ReduceKernels> {
            match input {
                $($(DType::$variant)|+ => Some(kernels::$loops::<$($ty),+>()),)+
                #[allow(unreachable_patterns)] // where every dtype has a line
                _ => None,
            }
        }
    )+};
}

kernels_by_dtype! {
    sum {
        Bool => of(Sum<i64>, bool); I8 => of(Sum<i64>, i8);
        I16 => of(Sum<i64>, i16); I32 => of(Sum<i64>, i32); I64 => of(Sum<i64>, i64);
        U8 => of(Sum<u64>, u8); U16 => of(Sum<u64>, u16); U32 => of(Sum<u64>, u32);
        U64 => of(Sum<u64>, u64);
        F16 => through(Sum<f64>, f32, f16); BF16 => through(Sum<f64>, f32, bf16); F32 => of(Sum<f64>, f32);
        F64 => of(Sum<f64>, f64);
        Complex64 => of(Sum<c128>, c64); Complex128 => of(Sum<c128>, c128);
    }
    prod {
        Bool => through(Prod<i64>, i64, bool); I8 => through(Prod<i64>, i64, i8);
        I16 => through(Prod<i64>, i64, i16); I32 => through(Prod<i64>, i64, i32); I64 => of(Prod<i64>, i64);
        U8 => through(Prod<u64>, u64, u8); U16 => through(Prod<u64>, u64, u16);
        U32 => through(Prod<u64>, u64, u32); U64 => of(Prod<u64>, u64);
        F16 => through(Prod<f64>, f32, f16); BF16 => through(Prod<f64>, f32, bf16); F32 => of(Prod<f64>, f32);
        F64 => of(Prod<f64>, f64);
        Complex64 => of(Prod<c128>, c64); Complex128 => of(Prod<c128>, c128);
    }
    min {
        Bool => of(All, bool);
        I8 => of(Min<i8>, i8); I16 => of(Min<i16>, i16); I32 => of(Min<i32>, i32); I64 => of(Min<i64>, i64);
        U8 => of(Min<u8>, u8); U16 => of(Min<u16>, u16); U32 => of(Min<u32>, u32); U64 => of(Min<u64>, u64);
        F16 => of(Min<f16>, f16); BF16 => of(Min<bf16>, bf16); F32 => of(Min<f32>, f32);
        F64 => of(Min<f64>, f64);
    }
    max {
        Bool => of(Any, bool);
        I8 => of(Max<i8>, i8); I16 => of(Max<i16>, i16); I32 => of(Max<i32>, i32); I64 => of(Max<i64>, i64);
        U8 => of(Max<u8>, u8); U16 => of(Max<u16>, u16); U32 => of(Max<u32>, u32); U64 => of(Max<u64>, u64);
        F16 => of(Max<f16>, f16); BF16 => of(Max<bf16>, bf16); F32 => of(Max<f32>, f32);
        F64 => of(Max<f64>, f64);
    }
    any {
        Bool => of(Any, bool); I8 | U8 => through(Any, bool, u8); I16 | U16 => through(Any, bool, u16);
        I32 | U32 => through(Any, bool, u32); I64 | U64 => through(Any, bool, u64);
        F16 => through(Any, bool, f16); BF16 => through(Any, bool, bf16); F32 => through(Any, bool, f32);
        F64 => through(Any, bool, f64); Complex64 => through(Any, bool, c64);
        Complex128 => through(Any, bool, c128);
    }
    all {
        Bool => of(All, bool); I8 | U8 => through(All, bool, u8); I16 | U16 => through(All, bool, u16);
        I32 | U32 => through(All, bool, u32); I64 | U64 => through(All, bool, u64);
        F16 => through(All, bool, f16); BF16 => through(All, bool, bf16); F32 => through(All, bool, f32);
        F64 => through(All, bool, f64); Complex64 => through(All, bool, c64);
        Complex128 => through(All, bool, c128);
    }
    count {
        Bool => of(Count, bool); I8 | U8 => of(Count, u8); I16 | U16 => of(Count, u16);
        I32 | U32 => of(Count, u32); I64 | U64 => through(Count, bool, u64);
        F16 => through(Count, bool, f16); BF16 => through(Count, bool, bf16); F32 => through(Count, bool, f32);
        F64 => through(Count, bool, f64); Complex64 => through(Count, bool, c64);
        Complex128 => through(Count, bool, c128);
    }
}
