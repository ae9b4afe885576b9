//! [`columns`](super::columns) for dtypes that are no floats: sparse operands stored by columns times a strided matrix, or its transpose,
//! without forming rows.
//!
//! Panels of columns, and slices of stored elements, as many as the data says, are shared among threads; the sums of slices are added in
//! order.

use std::ops::Range;

use openwork_ops::matmul::{AddColumns, Grid, PANELS};
use openwork_ops::structure::IndexSlice;

use super::operand::{Field, Stored};
use super::{Way, columns};
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::strided::Strided;
use crate::base::{memory, parallel};
use crate::engine::convert;
use crate::tensor::Tensor;

/// Bytes of sums in a row of a panel, at most: so many stay in registers.
const WIDEST: usize = 128;

/// Columns that are worth another pass over stored elements.
const NARROW: usize = 4;

/// Bytes of sums that a second-level cache holds, and from which on rows are better formed where they are many beside columns.
const NEAR: usize = 1 << 20;
const FAR: usize = 16 << 20;

/// The product of two matrices, one of them sparse over zeros and walked against its rows, the other strided; `None` for any other
/// operands, and for floats.
pub(super) fn product(a: &Tensor, b: &Tensor, way: Way) -> Result<Option<Tensor>> {
    let (dtype, carrier) = (way.dtype, way.carrier);
    let Some(kernel) = carrier.kernels().add_columns() else { return Ok(None) };
    let Some((sparse, dense, is_mirrored)) = columns::walked(a, b)? else { return Ok(None) };
    let Some(s) = sparse.sparse().filter(|s| super::is_over_zeros(s)) else { return Ok(None) };
    let ([k, m], n) = ([s.shape[0], s.shape[1]], dense.shape[1]);
    let sums = m.saturating_mul(n).saturating_mul(carrier.acc_size());
    let is_better_by_rows = n > NARROW && m / 4 > k && sums > FAR;
    if m == 0 || n == 0 || k == 0 || is_better_by_rows || dense.core_len() < dense.len() {
        return Ok(None);
    }
    convert::dense_len(&[m, n], dtype)?;
    let rows = Stored::new(s, carrier, false, true)?;
    let slices = columns::cut(rows.len(), columns::slices(rows.nse(), m, n), &|row| rows.start(row));
    // Panels are padded to less than twice their width.
    let needed =
        sums.checked_mul(2 * slices.len() + 1).and_then(|all| all.checked_add(k.checked_mul(n)?.checked_mul(16)?));
    if !matches!(rows.view().indices, IndexSlice::U32(_)) || !needed.is_some_and(memory::is_free) {
        return Ok(None);
    }
    let dense = Field::new(&dense, carrier, dtype);
    let out = Sums { kernel, way, rows, dense, m, n }.all(&slices)?;
    Ok(Some(Tensor::from_strided(if is_mirrored { out.permute(&[1, 0]) } else { out })))
}

struct Sums {
    kernel: AddColumns,
    way: Way,
    /// Row `k` holds column `k` of the sparse operand.
    rows: Stored,
    dense: Field,
    /// Rows and columns of the result.
    m: usize,
    n: usize,
}

impl Sums {
    /// Columns of a panel: as many as a second-level cache holds sums of, and so few that each thread has some.
    fn width(&self, slices: usize) -> usize {
        let size = self.way.carrier.acc_size();
        let widest = PANELS.into_iter().rev().find(|width| width * size <= WIDEST).unwrap_or(NARROW);
        let is_near = |width: &usize| (NARROW..=widest).contains(width) && self.m * width * size <= NEAR;
        let near = PANELS.into_iter().rev().find(is_near).unwrap_or(widest);
        let own = self.n.div_ceil(parallel::threads().div_ceil(slices)).max(NARROW).min(self.n);
        PANELS.into_iter().find(|&width| width >= own.min(near)).unwrap_or(widest)
    }

    fn all(&self, slices: &[Range<usize>]) -> Result<Strided> {
        let (Way { dtype, carrier, .. }, m, n) = (self.way, self.m, self.n);
        let width = self.width(slices.len());
        let (size, row, panels) = (dtype.size(), width * carrier.acc_size(), n.div_ceil(width));
        // Of each panel those of one slice after those of another.
        let part = m * row;
        let sums = Buffer::filled(panels * slices.len() * part, carrier.acc_size(), |out| {
            parallel::for_chunks_mut(out, part, 1, &|task, acc| {
                acc.fill(0);
                let (panel, slice) = (task / slices.len(), slices[task % slices.len()].clone());
                (self.kernel)(self.rows.view(), slice, self.dense.grid(panel * width), width, acc);
            });
        })?;
        if panels * slices.len() == 1 && width == n && row == n * size {
            return Ok(Strided::new(sums, dtype, vec![m, n]));
        }
        let sums = sums.bytes();
        let grain = ((1 << 14) / n).max(1);
        let out = Buffer::overwritten(m * n * size, size, |out| {
            parallel::for_chunks_mut(out, n * size, grain, &|first, out| {
                let count = out.len() / (n * size);
                let mut of_slices = vec![0u128; (count * row).div_ceil(16)];
                let of_slices = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut of_slices)[..count * row];
                let mut finished = vec![0u8; count * width * size];
                for panel in 0..panels {
                    let own =
                        |slice: usize| &sums[(panel * slices.len() + slice) * part + first * row..][..count * row];
                    of_slices.copy_from_slice(own(0));
                    for slice in 1..slices.len() {
                        carrier.kernels().add(Grid { values: own(slice), row: width, col: 1 }, width, of_slices);
                    }
                    carrier.finish(of_slices, dtype, &mut finished);
                    let columns = panel * width * size..n.min((panel + 1) * width) * size;
                    for (out, row) in out.chunks_exact_mut(n * size).zip(finished.chunks_exact(width * size)) {
                        out[columns.clone()].copy_from_slice(&row[..columns.len()]);
                    }
                }
            });
        })?;
        Ok(Strided::new(out, dtype, vec![m, n]))
    }
}
