//! Dtype groups: the words in which the op tables say which closure serves which dtypes, and the loops
//! that make a block kernel of a closure over elements.

use std::marker::PhantomData;

use bytemuck::Pod;
use half::{bf16, f16};

use crate::dtype::{Element, c64, c128};
use crate::registry::{BinaryKernel, UnaryKernel};
use crate::simd::{Half, Loop, vectorised};

/// An element as it is written: `bool` as its byte, so that a result block may hold anything before.
pub(crate) trait Store: Element {
    type Raw: Pod;
    fn store(self) -> Self::Raw;
}

impl Store for bool {
    type Raw = u8;
    #[inline(always)]
    fn store(self) -> u8 {
        u8::from(self)
    }
}

macro_rules! store {
    ($($ty:ty),*) => {$(
        impl Store for $ty {
            type Raw = $ty;
            #[inline(always)]
            fn store(self) -> $ty {
                self
            }
        }
    )*};
}
store!(i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128);

/// `out[i] = f(x[i])`.
#[inline(always)]
pub(crate) fn map<A: Element, B: Store>(x: &[u8], out: &mut [u8], f: impl Fn(A) -> B) {
    let (x, out) = (A::from_bytes(x), bytemuck::cast_slice_mut::<u8, B::Raw>(out));
    debug_assert_eq!(x.len(), out.len());
    for (o, &x) in out.iter_mut().zip(x) {
        *o = f(x).store();
    }
}

/// [`map`] at the level of vector instructions in use: for loops that take several instructions of the baseline for each element.
pub(crate) fn map_at_level<A: Element, B: Store>(x: &[u8], out: &mut [u8], f: impl Fn(A) -> B) {
    struct Map<'a, F, A, B>(&'a [u8], &'a mut [u8], F, PhantomData<fn(A) -> B>);
    impl<A: Element, B: Store, F: Fn(A) -> B> Loop for Map<'_, F, A, B> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            map::<A, B>(self.0, self.1, self.2);
        }
    }
    vectorised(Map(x, out, f, PhantomData));
}

/// `out[i] = f(a[i], b[i])`, as a [`BinaryKernel`].
#[inline(always)]
pub(crate) fn zip<A: Element, B: Store>(a: &[u8], b: &[u8], out: &mut [u8], f: impl Fn(A, A) -> B) {
    each(A::from_bytes(a), A::from_bytes(b), bytemuck::cast_slice_mut::<u8, B::Raw>(out), |a, b| f(a, b).store());
}

/// [`zip`] of elements.
#[inline(always)]
pub(crate) fn each<A: Copy, B>(a: &[A], b: &[A], out: &mut [B], mut f: impl FnMut(A, A) -> B) {
    match (a, b) {
        (a, &[b]) => {
            debug_assert_eq!(a.len(), out.len());
            out.iter_mut().zip(a).for_each(|(o, &a)| *o = f(a, b));
        }
        (&[a], b) => {
            debug_assert_eq!(b.len(), out.len());
            out.iter_mut().zip(b).for_each(|(o, &b)| *o = f(a, b));
        }
        (a, b) => {
            debug_assert!(a.len() == b.len() && a.len() == out.len());
            out.iter_mut().zip(a).zip(b).for_each(|((o, &a), &b)| *o = f(a, b));
        }
    }
}

/// Elements `start..start + n` of an operand of a [`BinaryKernel`], or the one that it is.
#[inline(always)]
pub(crate) fn part<T>(operand: &[T], start: usize, n: usize) -> &[T] {
    if operand.len() == 1 { operand } else { &operand[start..start + n] }
}

/// An operand of a [`BinaryKernel`] for loops that read as many elements of each, at most `N`.
pub(crate) struct Parts<'a, T, const N: usize> {
    operand: &'a [T],
    /// Where the operand is one element, over and over.
    alike: [T; N],
}

impl<'a, T: Copy + Default, const N: usize> Parts<'a, T, N> {
    #[inline(always)]
    pub(crate) fn of(operand: &'a [T]) -> Self {
        Parts { operand, alike: [operand.first().copied().unwrap_or_default(); N] }
    }

    /// Elements `start..start + n`.
    #[inline(always)]
    pub(crate) fn part(&self, start: usize, n: usize) -> &[T] {
        if self.operand.len() == 1 { &self.alike[..n] } else { &self.operand[start..start + n] }
    }
}

/// Elements widened at a time; the buffers stay in the first-level cache.
const CHUNK: usize = 512;

/// Runs the `f32` kernel of a unary op on half-precision elements. The op's results are of the same
/// dtype or bool, which the lengths tell.
pub(crate) fn unary_through_f32<H: Half>(x: &[u8], out: &mut [u8], kernel: UnaryKernel) {
    let (mut wide, mut wide_out) = ([0f32; CHUNK], [0f32; CHUNK]);
    let to_bool = out.len() < x.len();
    let out_bytes = if to_bool { CHUNK } else { 2 * CHUNK };
    for (x, out) in x.chunks(2 * CHUNK).zip(out.chunks_mut(out_bytes)) {
        let n = x.len() / 2;
        H::widen_all(H::from_bytes(x), &mut wide[..n]);
        let x = bytemuck::cast_slice(&wide[..n]);
        if to_bool {
            kernel(x, out);
        } else {
            kernel(x, bytemuck::cast_slice_mut(&mut wide_out[..n]));
            H::round_all(&wide_out[..n], bytemuck::cast_slice_mut(out));
        }
    }
}

/// Runs the `f32` kernel of a binary op on half-precision elements, as [`unary_through_f32`] does.
pub(crate) fn binary_through_f32<H: Half>(a: &[u8], b: &[u8], out: &mut [u8], kernel: BinaryKernel) {
    let (mut wide_a, mut wide_b, mut wide_out) = ([0f32; CHUNK], [0f32; CHUNK], [0f32; CHUNK]);
    let (a, b) = (H::from_bytes(a), H::from_bytes(b));
    let size = out.len() / a.len().max(b.len()).max(1);
    for (i, out) in out.chunks_mut((CHUNK * size).max(1)).enumerate() {
        let (start, n) = (i * CHUNK, out.len() / size);
        let (a, b) = (part(a, start, n), part(b, start, n));
        let (wide_a, wide_b) = (&mut wide_a[..a.len()], &mut wide_b[..b.len()]);
        H::widen_all(a, wide_a);
        H::widen_all(b, wide_b);
        let (a, b) = (bytemuck::cast_slice(wide_a), bytemuck::cast_slice(wide_b));
        if size == 1 {
            kernel(a, b, out);
        } else {
            kernel(a, b, bytemuck::cast_slice_mut(&mut wide_out[..n]));
            H::round_all(&wide_out[..n], bytemuck::cast_slice_mut(out));
        }
    }
}

/// The pattern of the dtypes in a group.
macro_rules! group {
    (bool) => {
        $crate::DType::Bool
    };
    (signed) => {
        $crate::DType::I8 | $crate::DType::I16 | $crate::DType::I32 | $crate::DType::I64
    };
    (unsigned) => {
        $crate::DType::U8 | $crate::DType::U16 | $crate::DType::U32 | $crate::DType::U64
    };
    (int) => {
        group!(signed) | group!(unsigned)
    };
    (exact) => {
        group!(bool) | group!(int)
    };
    (float) => {
        $crate::DType::F16 | $crate::DType::BF16 | $crate::DType::F32 | $crate::DType::F64
    };
    (real) => {
        group!(exact) | group!(float)
    };
}

/// Returns `Some($kernel)` if `$dtype` is in the group, with `T` the type of the elements. `bits` are
/// the integers of both signs as unsigned ones: for ops that do not look at the sign. `each_float` are the floats
/// without a detour through `f32`: for ops whose result depends on the dtype. `half` are the two that a detour takes.
macro_rules! pick {
    (bool, $dtype:expr, $kernel:expr) => { pick!(@ $dtype, $kernel, Bool => bool) };
    (bits, $dtype:expr, $kernel:expr) => {
        pick!(@ $dtype, $kernel, I8 U8 => u8, I16 U16 => u16, I32 U32 => u32, I64 U64 => u64)
    };
    (signed, $dtype:expr, $kernel:expr) => {
        pick!(@ $dtype, $kernel, I8 => i8, I16 => i16, I32 => i32, I64 => i64)
    };
    (unsigned, $dtype:expr, $kernel:expr) => {
        pick!(@ $dtype, $kernel, U8 => u8, U16 => u16, U32 => u32, U64 => u64)
    };
    (int, $dtype:expr, $kernel:expr) => {
        pick!(@ $dtype, $kernel, I8 => i8, I16 => i16, I32 => i32, I64 => i64);
        pick!(@ $dtype, $kernel, U8 => u8, U16 => u16, U32 => u32, U64 => u64)
    };
    (each_float, $dtype:expr, $kernel:expr) => {
        pick!(@ $dtype, $kernel, F16 => half::f16, BF16 => half::bf16, F32 => f32, F64 => f64)
    };
    (half, $dtype:expr, $kernel:expr) => {
        pick!(@ $dtype, $kernel, F16 => half::f16, BF16 => half::bf16)
    };
    (complex, $dtype:expr, $kernel:expr) => {
        pick!(@ $dtype, $kernel, Complex64 => $crate::c64, Complex128 => $crate::c128)
    };
    (@ $dtype:expr, $kernel:expr, $($($variant:ident)+ => $ty:ty),+) => {
        match $dtype {
            $($($crate::DType::$variant)|+ => {
                type T = $ty;
                return Some($kernel);
            })+
            _ => {}
        }
    };
}

/// One line `group => closure` (over elements) or `group: kernel` (over blocks) of a unary op's entry.
/// The half-precision dtypes follow `f32`.
macro_rules! unary_line {
    (=> float, $dtype:expr, $f:expr) => {
        fn single(x: &[u8], out: &mut [u8]) {
            type T = f32;
            $crate::groups::map::<T, _>(x, out, $f);
        }
        unary_line!(: f32, $dtype, single);
        pick!(@ $dtype, |x, out| $crate::groups::map::<T, _>(x, out, $f), F64 => f64);
    };
    (=> $group:ident, $dtype:expr, $f:expr) => {
        pick!($group, $dtype, |x, out| $crate::groups::map::<T, _>(x, out, $f));
    };
    (by float, $dtype:expr, $kernel:expr) => {
        {
            type T = f32;
            unary_line!(: f32, $dtype, $kernel);
        }
        pick!(@ $dtype, $kernel, F64 => f64);
    };
    (by $group:ident, $dtype:expr, $kernel:expr) => {
        pick!($group, $dtype, $kernel);
    };
    (: f32, $dtype:expr, $kernel:expr) => {
        match $dtype {
            $crate::DType::F32 => return Some($kernel),
            $crate::DType::F16 => {
                return Some(|x, out| $crate::groups::unary_through_f32::<half::f16>(x, out, $kernel));
            }
            $crate::DType::BF16 => {
                return Some(|x, out| $crate::groups::unary_through_f32::<half::bf16>(x, out, $kernel));
            }
            _ => {}
        }
    };
    (: f64, $dtype:expr, $kernel:expr) => {
        if $dtype == $crate::DType::F64 {
            return Some($kernel);
        }
    };
    (: $group:ident, $dtype:expr, $kernel:expr) => {
        if matches!($dtype, group!($group)) {
            return Some($kernel);
        }
    };
}

/// One line of a binary op's entry, as [`unary_line`]; or `group as op`, whose kernels these are too, or `group by kernel::<T>`, one
/// for each type `T` of elements.
macro_rules! binary_line {
    (as $group:ident, $dtype:expr, $op:expr) => {
        if matches!($dtype, group!($group)) {
            return $op.kernel($dtype);
        }
    };
    (by float, $dtype:expr, $kernel:expr) => {
        {
            type T = f32;
            binary_line!(: f32, $dtype, $kernel);
        }
        pick!(@ $dtype, $kernel, F64 => f64);
    };
    (by $group:ident, $dtype:expr, $kernel:expr) => {
        pick!($group, $dtype, $kernel);
    };
    (: bool, $dtype:expr, $kernel:expr) => {
        if $dtype == $crate::DType::Bool {
            return Some($kernel);
        }
    };
    (=> float, $dtype:expr, $f:expr) => {
        fn single(a: &[u8], b: &[u8], out: &mut [u8]) {
            type T = f32;
            $crate::groups::zip::<T, _>(a, b, out, $f);
        }
        binary_line!(: f32, $dtype, single);
        pick!(@ $dtype, |a, b, out| $crate::groups::zip::<T, _>(a, b, out, $f), F64 => f64);
    };
    (: f32, $dtype:expr, $kernel:expr) => {
        match $dtype {
            $crate::DType::F32 => return Some($kernel),
            $crate::DType::F16 => {
                return Some(|a, b, out| $crate::groups::binary_through_f32::<half::f16>(a, b, out, $kernel));
            }
            $crate::DType::BF16 => {
                return Some(|a, b, out| $crate::groups::binary_through_f32::<half::bf16>(a, b, out, $kernel));
            }
            _ => {}
        }
    };
    (: f64, $dtype:expr, $kernel:expr) => {
        if $dtype == $crate::DType::F64 {
            return Some($kernel);
        }
    };
    (=> $group:ident, $dtype:expr, $f:expr) => {
        pick!($group, $dtype, |a, b, out| $crate::groups::zip::<T, _>(a, b, out, $f));
    };
}

pub(crate) use {binary_line, group, pick, unary_line};
