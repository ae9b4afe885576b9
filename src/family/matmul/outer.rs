//! A sparse matrix stored by columns times one stored by rows, where a cache holds the result: the Gram matrix of many rows of a few
//! hundred features, `xᵀ · x`, above all. Both are read once, and nothing is transposed.
//!
//! What is summed over is cut into slices, as many as the data says, whose results are added in order: the bits do not depend on the
//! number of threads.

use openwork_ops::matmul::{Carrier, OuterSums};
use openwork_ops::structure::IndexSlice;
use openwork_ops::{DType, Scalar};

use super::operand::Stored;
use super::{assemble, is_over_zeros, sparse};
use crate::base::buffer::{Buffer, zeroed_vec};
use crate::base::error::Result;
use crate::base::pages::Scratch;
use crate::base::parallel;
use crate::levels::layout::Layout;
use crate::tensor::Tensor;
use crate::tensor::fill::Fill;

/// Places of a result that a second-level cache holds, or the third without much ado.
const PLACES: usize = 1 << 18;

/// Terms for each place from which on this pays, and of a slice; and slices at most.
const TERMS: usize = 16;
const SLICES: usize = 8;

/// The product of matrices of floats over zeros; `None` for any other operands.
pub(super) fn product(a: &Tensor, b: &Tensor, dtype: DType) -> Result<Option<Tensor>> {
    let carrier = Carrier::new(dtype, false);
    let (Some(s), Some(t), Some(kernel)) = (a.sparse(), b.sparse(), carrier.kernels().outer_sums()) else {
        return Ok(None);
    };
    let is_fit = a.layout() == Layout::Csc && b.layout() == Layout::Csr && is_over_zeros(s) && is_over_zeros(t);
    if !is_fit || !sparse::is_own(carrier, dtype) {
        return Ok(None);
    }
    let (m, n) = (a.shape()[0], b.shape()[1]);
    let places = m.saturating_mul(n);
    // A stored element meets a row of the other matrix at most.
    if places == 0 || places > PLACES || a.nse() / TERMS < m || b.nse() / TERMS < n {
        return Ok(None);
    }
    // Row `k` of the left one holds column `k` of `a`.
    let stored = |x: &Tensor| x.sparse().map(|s| Stored::new(s, carrier, false, true)).transpose();
    let (Some(left), Some(right)) = (stored(&a.matrix_transpose()?)?, stored(b)?) else { return Ok(None) };
    let (IndexSlice::U32(of_left), IndexSlice::U32(of_right)) = (left.pointers.as_slice(), right.pointers.as_slice())
    else {
        return Ok(None);
    };
    let terms: usize = parallel::map_chunks(left.len(), parallel::GRAIN, &|rows| {
        let length = |pointers: &[u32], r: usize| (pointers[r + 1] - pointers[r]) as usize;
        rows.map(|r| length(of_left, r) * length(of_right, r)).sum::<usize>()
    })
    .into_iter()
    .sum();
    if terms / TERMS < places {
        return Ok(None);
    }
    let rows = Outer { left, right, kernel, terms, m, n }.rows(dtype);
    let out = assemble::matrix(&[m, n], dtype, Fill::Scalar(Scalar::zero(dtype)), rows);
    super::in_layout(a.layout(), out.into()).map(Some)
}

struct Outer {
    left: Stored,
    right: Stored,
    kernel: OuterSums,
    terms: usize,
    m: usize,
    n: usize,
}

impl Outer {
    fn rows(&self, dtype: DType) -> sparse::Product {
        let Outer { left, right, m, n, .. } = self;
        let places = m * n;
        let slices = (self.terms / (TERMS * places)).clamp(1, SLICES);
        let ends = self.ends(slices);
        let (mut sums, mut is_stored) = (Scratch::<f64>::any(slices * places), zeroed_vec::<u8>(slices * places));
        let mut work = Vec::with_capacity(slices);
        let of_slices = sums.chunks_exact_mut(places).zip(is_stored.chunks_exact_mut(places));
        for (slice, (sums, is_stored)) in of_slices.enumerate() {
            work.push((ends[slice]..ends[slice + 1], sums, is_stored));
        }
        parallel::for_each(work, &|_, (rows, sums, is_stored)| {
            sums.fill(0.0);
            (self.kernel.add)(left.view(), right.view(), rows, *n, sums, is_stored);
        });
        let (sums, of_others) = sums.split_at_mut(places);
        let (is_stored, stored_elsewhere) = is_stored.split_at_mut(places);
        for (others, elsewhere) in of_others.chunks_exact(places).zip(stored_elsewhere.chunks_exact(places)) {
            sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
            is_stored.iter_mut().zip(elsewhere).for_each(|(is, also)| *is |= also);
        }
        let stored: usize = is_stored.iter().map(|&is| usize::from(is)).sum();
        let (mut pointers, mut columns) = (Scratch::<u32>::any(m + 1), Scratch::<u32>::any(stored));
        let mut values = Scratch::<u8>::any(stored * dtype.size());
        pointers[0] = 0;
        (self.kernel.write)(sums, is_stored, *n, &mut pointers[1..], &mut columns, &mut values);
        let mut end = 0;
        for count in pointers.iter_mut() {
            end += *count;
            *count = end;
        }
        sparse::Product {
            pointers: pointers.into(),
            columns: columns.into(),
            values: Buffer::from_block(values.into_block()),
        }
    }

    /// Where slices of as much that is stored on the left end, after the first begins.
    fn ends(&self, slices: usize) -> Vec<usize> {
        let rows = self.left.len();
        let nse = self.left.start(rows);
        let mut ends = vec![0];
        for i in 1..slices {
            let goal = (nse as u128 * i as u128 / slices as u128) as usize;
            ends.push(crate::base::mapped::partition_point(rows, |r| self.left.start(r) < goal));
        }
        ends.push(rows);
        ends
    }
}
