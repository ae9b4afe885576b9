//! A matrix by diagonals times a vector, for floats.
//!
//! Rows are taken in blocks of [`BLOCK`]. A block holds the elements of its first diagonal, one for each row, then those of
//! the next: what is read of the matrix lies in one line, and of the vector there are [`BLOCK`] elements side by side for
//! each diagonal, which neither gathers nor indices need.

use super::typed::{slice, slice_mut};
use super::vector::{Paired, RUN};
use crate::simd::{Loop, vectorised};

/// Rows of a block.
pub const BLOCK: usize = 16;

/// Rows of a block whose sums are made at once: those of `f64` stay in four registers.
pub(super) trait Block: Paired {
    /// Sums of the block's elements times those of `x`: diagonal `d` meets `x[first + offsets[d]..]`.
    fn sums(elements: &[[Self; BLOCK]], offsets: &[isize], first: usize, x: &[Self]) -> [Self; BLOCK];

    fn is_finite(self) -> bool;
}

/// The elements that a block meets on one diagonal.
#[inline(always)]
fn beside<T>(x: &[T], first: usize, offset: isize) -> &[T] {
    &x[first.wrapping_add_signed(offset)..][..BLOCK]
}

impl Block for f64 {
    #[inline(always)]
    fn sums(elements: &[[f64; BLOCK]], offsets: &[isize], first: usize, x: &[f64]) -> [f64; BLOCK] {
        let mut sums = [0.0; BLOCK];
        for (elements, &offset) in elements.iter().zip(offsets) {
            let x = beside(x, first, offset);
            for i in 0..BLOCK {
                sums[i] += elements[i] * x[i];
            }
        }
        sums
    }

    #[inline(always)]
    fn is_finite(self) -> bool {
        self.is_finite()
    }
}

impl Block for f32 {
    #[inline(always)]
    fn sums(elements: &[[f32; BLOCK]], offsets: &[isize], first: usize, x: &[f32]) -> [f32; BLOCK] {
        let mut sums = [0.0f64; BLOCK];
        for (elements, offsets) in elements.chunks(RUN).zip(offsets.chunks(RUN)) {
            let mut run = [0.0f32; BLOCK];
            for (elements, &offset) in elements.iter().zip(offsets) {
                let x = beside(x, first, offset);
                for i in 0..BLOCK {
                    run[i] += elements[i] * x[i];
                }
            }
            for i in 0..BLOCK {
                sums[i] += f64::from(run[i]);
            }
        }
        sums.map(|s| s as f32)
    }

    #[inline(always)]
    fn is_finite(self) -> bool {
        self.is_finite()
    }
}

/// The type of [`Kernels::diagonals`](super::Kernels::diagonals): `elements` are blocks of rows, of which `offsets.len()`
/// diagonals each; the first block begins with row `first`, whose element on diagonal `d` meets `x[first + offsets[d]]`.
/// Writes one sum for each row of whole blocks, and says whether all of them are finite: what is not stored on a diagonal
/// is zero here, and zero times infinity is NaN.
pub type Diagonals = fn(elements: &[u8], offsets: &[isize], first: usize, x: &[u8], out: &mut [u8]) -> bool;

pub(super) fn multiply<T: Block>(elements: &[u8], offsets: &[isize], first: usize, x: &[u8], out: &mut [u8]) -> bool {
    vectorised(Multiply::<T> { elements: slice(elements), offsets, first, x: slice(x), out: slice_mut(out) })
}

struct Multiply<'a, T> {
    elements: &'a [T],
    offsets: &'a [isize],
    first: usize,
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: Block> Loop for Multiply<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Multiply { elements, offsets, first, x, out } = self;
        let (elements, _) = elements.as_chunks::<BLOCK>();
        let (out, _) = out.as_chunks_mut::<BLOCK>();
        let mut is_finite = true;
        for (i, (out, elements)) in out.iter_mut().zip(elements.chunks_exact(offsets.len().max(1))).enumerate() {
            *out = T::sums(elements, offsets, first + i * BLOCK, x);
            is_finite &= out.iter().fold(true, |all, o| all & o.is_finite());
        }
        is_finite
    }
}
