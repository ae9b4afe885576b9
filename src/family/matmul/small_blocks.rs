//! Matrices in small dense blocks times strided ones, as they are stored: rows of blocks, and columns of blocks, on either side.

use openwork_ops::DType;
use openwork_ops::matmul::{Grid, SmallBlocks};

use super::columns;
use super::rows::WORK;
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::levels::block_rows::BlockRows;
use crate::levels::indices::Indices;
use crate::tensor::{Sparse, Tensor};

/// A matrix of real numbers in compressed rows, or columns, of blocks.
#[derive(Clone)]
pub(super) struct Blocks {
    pointers: Indices,
    indices: Indices,
    /// Of blocks, and of their elements along both axes.
    values: Strided,
    /// The axis along which the rows of blocks follow each other.
    outer: usize,
    /// Elements of a block along both axes, and from a block to the next and to the next element along these.
    shape: [usize; 2],
    strides: [usize; 3],
}

impl Blocks {
    /// `None` of any other tensor, and where indices have 64 bits.
    fn of(s: &Sparse) -> Option<Blocks> {
        let BlockRows { pointers, indices, axes, shape, dims } = s.pattern.block_rows()?;
        if !matches!(s.dtype(), DType::F64 | DType::F32) || indices.is_wide() {
            return None;
        }
        let stride = |d: usize| usize::try_from(s.values.strides[d]).ok();
        let block = if faults::is(Fault::BlocksRepeated) { 0 } else { stride(0)? };
        let strides = [block, stride(dims[0])?, stride(dims[1])?];
        let (pointers, indices) = (pointers.clone(), indices.clone());
        let blocks = Blocks { pointers, indices, outer: 0, shape, strides, values: s.values.clone() };
        Some(if axes[0] == 0 { blocks } else { blocks.turned() })
    }

    /// Of the transpose.
    fn turned(self) -> Blocks {
        let ([rows, columns], [block, row, column]) = (self.shape, self.strides);
        Blocks { outer: 1 - self.outer, shape: [columns, rows], strides: [block, column, row], ..self }
    }

    fn view(&self) -> SmallBlocks<'_> {
        let size = self.values.dtype.size();
        SmallBlocks {
            pointers: self.pointers.as_slice(),
            base: self.pointers.get(0),
            indices: self.indices.typed(),
            values: self.values.buffer.bytes().get(self.values.offset * size..).unwrap_or_default(),
            dtype: self.values.dtype,
            shape: self.shape,
            strides: self.strides,
        }
    }

    /// Rows of blocks.
    pub(super) fn len(&self) -> usize {
        self.pointers.len() - 1
    }

    /// Rows of the dense matrix that a row of blocks meets, where they go along these.
    pub(super) fn depth(&self) -> usize {
        self.shape[1]
    }

    /// Elements before a row of blocks.
    pub(super) fn start(&self, row: usize) -> usize {
        (self.pointers.get(row) - self.pointers.get(0)) * self.shape[0] * self.shape[1]
    }

    /// See [`SmallBlocks::add_columns`].
    pub(super) fn add_columns(
        &self,
        rows: std::ops::Range<usize>,
        panel: openwork_ops::matmul::Columns<'_>,
        acc: &mut [f64],
    ) {
        self.view().add_columns(rows, panel, acc);
    }

    /// The product with a dense matrix of this dtype, of rows of blocks.
    fn by_rows(&self, dense: &Strided, m: usize) -> Result<Strided> {
        let (n, dtype) = (dense.shape[1], self.values.dtype);
        let is_as_it_is = dense.strides[0] >= 0 && if n == 1 { dense.strides[0] == 1 } else { dense.strides[1] == 1 };
        let dense = if is_as_it_is { dense.clone() } else { dense.to_contiguous()?.into_owned() };
        let size = dtype.size();
        let right = Grid {
            values: dense.buffer.bytes().get(dense.offset * size..).unwrap_or_default(),
            row: dense.strides[0] as usize,
            col: 1,
        };
        // Pieces of rows of about as many multiplications.
        let (mut ends, mut rows, mut work) = (Vec::new(), vec![0], 0);
        for row in 0..self.len() {
            work += (self.start(row + 1) - self.start(row) + self.shape[0]) * n;
            if work >= WORK || row + 1 == self.len() {
                rows.push(row + 1);
                ends.push((row + 1) * self.shape[0] * n * size);
                work = 0;
            }
        }
        let out = Buffer::overwritten(m * n * size, size, |out| {
            parallel::for_pieces_mut(out, &ends, &|piece, out| {
                self.view().multiply(rows[piece]..rows[piece + 1], right, n, out);
            });
        })?;
        Ok(Strided::new(out, dtype, vec![m, n]))
    }
}

/// The product of two matrices of one dtype, `float32` or `float64`, one of them in blocks over zeros, the other strided; `None` for any
/// other operands.
pub(super) fn product(a: &Tensor, b: &Tensor, dtype: DType) -> Result<Option<Tensor>> {
    if a.ndim() != 2 || b.ndim() != 2 {
        return Ok(None);
    }
    // Operands are exchanged where the blocks are on the right.
    let (sparse, dense, is_mirrored) = match (a.strided(), b.strided()) {
        (None, Some(dense)) => (a, dense.clone(), false),
        (Some(dense), None) => (b, dense.permute(&[1, 0]), true),
        _ => return Ok(None),
    };
    let Some((s, blocks)) = sparse.sparse().and_then(|s| Some((s, Blocks::of(s)?))) else { return Ok(None) };
    if s.dtype() != dtype || dense.dtype != dtype || !super::is_over_zeros(s) {
        return Ok(None);
    }
    let blocks = if is_mirrored { blocks.turned() } else { blocks };
    let (m, n) = (s.shape[usize::from(is_mirrored)], dense.shape[1]);
    // A view that repeats its elements is written out, unless it is longer than what the blocks store: it may be than memory.
    let is_repeated = dense.core_len() < dense.len();
    if m == 0 || n == 0 || dense.shape[0] == 0 || is_repeated && dense.len() > s.nse() {
        return Ok(None);
    }
    convert::dense_len(&[m, n], dtype)?;
    if blocks.outer == 1 {
        return columns::of_blocks(blocks, &dense, m, is_mirrored);
    }
    let out = blocks.by_rows(&dense, m)?;
    let out = if is_mirrored { out.permute(&[1, 0]).to_contiguous()?.into_owned() } else { out };
    Ok(Some(Tensor::from_strided(out)))
}
