//! Tensors from the rows of a product.

use std::sync::Arc;

use openwork_ops::DType;
use openwork_ops::matmul::Product;
use openwork_ops::structure::{Index, IndexVec};
use openwork_ops::with_index;

use super::sparse;
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::levels::indices::needs_64_bits;
use crate::levels::level::Level;
use crate::levels::pattern::{Dim, Pattern};
use crate::tensor::Sparse;
use crate::tensor::fill::Fill;

/// Sparse rows to compressed rows: all of them, or those with these numbers, of which the empty ones are
/// dropped. `columns` translates column numbers.
pub(super) fn compressed(
    shape: &[usize],
    dtype: DType,
    fill: Fill,
    mut parts: Vec<Product>,
    ids: Option<&[u64]>,
    columns: Option<&[u64]>,
) -> Result<Sparse> {
    let n = shape.len();
    let total: usize = parts.iter().map(|p| p.columns.len()).sum();
    let wide = needs_64_bits(total, shape.iter().copied());
    let size = dtype.size();
    // Parts go as they are copied, so that there is little of the product twice.
    let indices: IndexVec = match columns {
        None if !wide => IndexVec::U32(joined(&mut parts, |j| j as u32)),
        None => IndexVec::U64(joined(&mut parts, |j| j as u64)),
        Some(columns) if !wide => IndexVec::U32(joined(&mut parts, |j| columns[j] as u32)),
        Some(columns) => IndexVec::U64(joined(&mut parts, |j| columns[j])),
    };
    let values = Buffer::filled(total * size, size, |mut out| {
        let mut pieces = Vec::with_capacity(parts.len());
        for part in &mut parts {
            let values = std::mem::take(&mut part.values);
            let (own, rest) = out.split_at_mut(values.len());
            pieces.push((own, values));
            out = rest;
        }
        parallel::for_each(pieces, &|_, (own, values)| own.copy_from_slice(&values));
    })?;
    let counts = || parts.iter().flat_map(|p| p.counts.iter().copied());
    let (pointers, rows) = match ids {
        None => (pointers(counts(), wide), None),
        Some(ids) => {
            let kept: Vec<u64> = ids.iter().zip(counts()).filter(|(_, c)| *c > 0).map(|(&id, _)| id).collect();
            (pointers(counts().filter(|&c| c > 0), wide), Some(kept))
        }
    };
    let last =
        Level::Sparse { pointers: Some(pointers.into()), indices: vec![indices.into()], ordered: true, unique: true };
    let mut levels = match rows {
        None => vec![Level::Dense; n - 1],
        Some(rows) => vec![tuples(&rows, &shape[..n - 1], wide)],
    };
    levels.push(last);
    let dims = shape.iter().enumerate().map(|(a, &size)| Dim::whole(a, size)).collect();
    let pattern = Pattern { levels, dims, level_dims: n, positions: total };
    let values = Strided::new(values, dtype, vec![total]);
    Ok(Sparse { shape: shape.into(), pattern: Arc::new(pattern), values, fill })
}

/// A matrix, or a batch of some, of rows that are all there.
pub(super) fn matrix(shape: &[usize], dtype: DType, fill: Fill, rows: sparse::Product) -> Sparse {
    let sparse::Product { pointers, columns, values } = rows;
    let positions = columns.len();
    let last = Level::Sparse { pointers: Some(pointers), indices: vec![columns], ordered: true, unique: true };
    let dims = shape.iter().enumerate().map(|(a, &size)| Dim::whole(a, size)).collect();
    let mut levels = vec![Level::Dense; shape.len() - 1];
    levels.push(last);
    let pattern = Pattern { levels, dims, level_dims: shape.len(), positions };
    let values = Strided::new(values, dtype, &[positions][..]);
    Sparse { shape: shape.into(), pattern: Arc::new(pattern), values, fill }
}

/// The columns of all parts, which are taken from them.
fn joined<I>(parts: &mut [Product], f: impl Fn(usize) -> I) -> Vec<I> {
    let mut out = Vec::with_capacity(parts.iter().map(|p| p.columns.len()).sum());
    for part in parts {
        let columns = std::mem::replace(&mut part.columns, IndexVec::U32(Vec::new()));
        with_index!(columns.as_slice(), s => out.extend(s.iter().map(|j| f(j.get()))));
    }
    out
}

fn pointers(counts: impl Iterator<Item = usize>, wide: bool) -> IndexVec {
    fn typed<I: Index>(counts: impl Iterator<Item = usize>) -> Vec<I> {
        let mut end = 0;
        let mut out = vec![I::default()];
        out.extend(counts.map(|c| {
            end += c;
            I::new(end)
        }));
        out
    }
    if wide { IndexVec::U64(typed(counts)) } else { IndexVec::U32(typed(counts)) }
}

/// A level at the root over C-order numbers of a shape, which rise.
fn tuples(ids: &[u64], shape: &[usize], wide: bool) -> Level {
    let mut step = 1u64;
    let mut indices = Vec::new();
    for &size in shape.iter().rev() {
        let of = |id: u64| (id / step) % size as u64;
        let array = if wide {
            IndexVec::U64(ids.iter().map(|&id| of(id)).collect())
        } else {
            IndexVec::U32(ids.iter().map(|&id| of(id) as u32).collect())
        };
        indices.push(array.into());
        step = step.saturating_mul(size as u64);
    }
    indices.reverse();
    Level::Sparse { pointers: None, indices, ordered: true, unique: true }
}

/// Whole rows with these numbers: the last axis is a value axis.
pub(super) fn whole_rows(shape: &[usize], dtype: DType, fill: Fill, values: Buffer, ids: &[u64]) -> Sparse {
    let n = shape.len();
    let wide = needs_64_bits(ids.len(), shape[..n - 1].iter().copied());
    let level = tuples(ids, &shape[..n - 1], wide);
    let dims = shape.iter().enumerate().map(|(a, &size)| Dim::whole(a, size)).collect();
    let pattern = Pattern { levels: vec![level], dims, level_dims: n - 1, positions: ids.len() };
    let values = Strided::new(values, dtype, vec![ids.len(), shape[n - 1]]);
    Sparse { shape: shape.into(), pattern: Arc::new(pattern), values, fill }
}
