//! What the tests of the registries share: special values of each dtype, and kernels run on them.

use crate::c128;
use crate::dtype::{DType, DTypeKind, Element};
use crate::registry::{BinaryKernel, UnaryKernel};
use crate::scalar::Scalar;

/// Bytes aligned for every dtype.
pub(crate) struct Block {
    words: Vec<u64>,
    len: usize,
}

impl Block {
    pub(crate) fn zeroed(len: usize) -> Block {
        Block { words: vec![0; len.div_ceil(8)], len }
    }
    pub(crate) fn of(values: &[Scalar], dtype: DType) -> Block {
        let mut block = Block::zeroed(values.len() * dtype.size());
        for (slot, value) in block.bytes_mut().chunks_mut(dtype.size()).zip(values) {
            slot.copy_from_slice(&value.cast(dtype).to_bytes().0[..dtype.size()]);
        }
        block
    }
    pub(crate) fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.len]
    }
    pub(crate) fn scalars(&self, dtype: DType) -> Vec<Scalar> {
        self.bytes().chunks(dtype.size()).map(|b| Scalar::from_bytes(dtype, b)).collect()
    }
}

/// Values of a dtype that tell apart wrong code from right code: ends, signs, halves, NaN.
pub(crate) fn special(dtype: DType) -> Vec<Scalar> {
    const INTS: [i64; 16] = [0, 1, -1, 2, 3, -3, 7, -7, 31, 64, 127, -128, 32767, i32::MIN as i64, i64::MIN, i64::MAX];
    const FLOATS: [f64; 20] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        3.0,
        -7.0,
        100.0,
        -1000.0,
        1e30,
        -1e-30,
        5e-324,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let values: Vec<Scalar> = match dtype.kind() {
        DTypeKind::Bool => vec![false.into(), true.into()],
        DTypeKind::Int => INTS.iter().map(|&v| v.into()).collect(),
        DTypeKind::Float => FLOATS.iter().map(|&v| v.into()).collect(),
        DTypeKind::Complex => FLOATS
            .iter()
            .flat_map(|&re| [0.0, -1.5, f64::NAN, f64::INFINITY].map(|im| c128::new(re, im).into()))
            .collect(),
    };
    values.into_iter().map(|v| v.cast(dtype)).collect()
}

/// A unary kernel on scalars of its compute dtype.
pub(crate) fn unary(kernel: UnaryKernel, x: &[Scalar], compute: DType, out: DType) -> Vec<Scalar> {
    let mut result = Block::zeroed(x.len() * out.size());
    kernel(Block::of(x, compute).bytes(), result.bytes_mut());
    result.scalars(out)
}

/// A binary kernel on scalars of its compute dtype: as many of both, or one beside any number.
pub(crate) fn binary(kernel: BinaryKernel, a: &[Scalar], b: &[Scalar], compute: DType, out: DType) -> Vec<Scalar> {
    let n = if a.len() == 1 { b.len() } else { a.len() };
    let mut result = Block::zeroed(n * out.size());
    kernel(Block::of(a, compute).bytes(), Block::of(b, compute).bytes(), result.bytes_mut());
    result.scalars(out)
}

/// Elements as scalars.
pub(crate) fn scalars<T: Element>(values: &[T]) -> Vec<Scalar> {
    values.iter().map(|v| v.to_scalar()).collect()
}

/// Equal in the law's sense, and in every bit of numbers.
pub(crate) fn all_same(a: &[Scalar], b: &[Scalar]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(*b))
}
