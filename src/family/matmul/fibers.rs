//! What a sparse tensor stores, cut into rows by the coordinates along some axes: the rows of products over the others.

use std::borrow::Cow;
use std::sync::Arc;

use crate::base::error::Result;
use crate::base::mapped::Mapped;
use crate::base::pages::Scratch;
use crate::base::parallel::{self, GRAIN};
use crate::base::shape;
use crate::engine::convert;
use crate::levels::build::{self, SortedKeys};
use crate::levels::layout::LevelSpec;
use crate::levels::level::{Level, LevelKind};
use crate::levels::pattern::{Dim, Part, Pattern};
use crate::tensor::fill::Fill;
use crate::tensor::{Sparse, Tensor};

/// Rows that store something.
pub(super) struct Fibers {
    /// A matrix of them, by rows or by columns.
    pub(super) rows: Tensor,
    /// How often the inner axes stand beside each other in its columns.
    pub(super) times: usize,
    /// The coordinates of the rows, along the free axes in this order.
    pub(super) levels: Vec<Level>,
    pub(super) dims: Vec<Dim>,
}

/// Cells for each stored element that are gone through sooner than elements are sorted.
const PER_ELEMENT: usize = 4;

impl Fibers {
    /// By columns, in storage order, where the inner axes do not come last in it: nothing is sorted. Columns are made of the axes that
    /// come before the inner ones and of these; the rows of the other operand, which has so many columns, repeat along the former.
    /// `None` where the inner axes come last, or cells are many beside what is stored.
    pub(super) fn across(s: &Sparse, free: &[usize], inner: &[usize], columns: usize) -> Result<Option<Fibers>> {
        let p = &s.pattern;
        let is_plain = p.level_dims == p.dims.len() && p.dims.iter().all(|d| d.part == Part::Whole) && p.is_canonical();
        let stored = p.dims.mapped(|d| d.axis);
        let Some(before) = stored.iter().position(|axis| inner.contains(axis)).filter(|_| is_plain) else {
            return Ok(None);
        };
        let end = before + inner.len();
        let is_in_order =
            stored.get(before..end) == Some(inner) && [&stored[..before], &stored[end..]].concat() == free;
        if !is_in_order || end == stored.len() {
            return Ok(None);
        }
        let most = p.positions.saturating_mul(PER_ELEMENT);
        let cells = |axes: &[usize]| shape::elements(&axes.mapped(|&axis| s.shape[axis]));
        let (times, own) = (cells(&stored[..before]), cells(inner));
        let repeated = if before == 0 { 0 } else { own.saturating_mul(times).saturating_mul(columns as u64) };
        let few = |n: u64| usize::try_from(n).ok().filter(|&n| n <= most && u32::try_from(n).is_ok());
        let (Some(width), Some(rows), Some(_)) = (few(own.saturating_mul(times)), few(cells(free)), few(repeated))
        else {
            return Ok(None);
        };
        let linear = |axes: &[usize]| {
            let (mut weights, mut step) = (vec![0; s.ndim()], 1);
            for &axis in axes.iter().rev() {
                weights[axis] = step;
                step *= s.shape[axis] as u64;
            }
            p.linearized(&p.level_weights(&weights))
        };
        let column = linear(&stored[..end]);
        let Some(pointers) = build::pointers(p.positions, |i| column[i], width, false) else { return Ok(None) };
        drop(column);
        let row = linear(free);
        // Which rows store something, and how many do before each.
        let mut number = vec![0u32; rows];
        row.iter().for_each(|&row| number[row as usize] = 1);
        let listed: Vec<u64> = (0..).zip(&number).filter(|own| *own.1 != 0).map(|(row, _)| row).collect();
        (0..).zip(&listed).for_each(|(n, &row)| number[row as usize] = n);
        let mut numbers = Scratch::<u32>::any(p.positions);
        parallel::for_chunks_mut(&mut numbers, 1, GRAIN, &|first, out| {
            out.iter_mut().zip(&row[first..]).for_each(|(out, &row)| *out = number[row as usize]);
        });
        let (layout, words) = convert::unravel(&listed, &free.mapped(|&axis| s.shape[axis]));
        let dims: Vec<Dim> = (0..free.len()).mapped(|i| Dim::whole(i, s.shape[free[i]]));
        let keys = SortedKeys::new(&layout, &words);
        let of_rows = build::build(&[LevelKind::Sparse { rank: free.len() }], dims, &keys)?;
        let last =
            Level::Sparse { pointers: Some(pointers), indices: vec![numbers.into()], ordered: true, unique: true };
        let pattern = Pattern {
            levels: vec![Level::Dense, last],
            dims: vec![Dim::whole(1, width), Dim::whole(0, listed.len())],
            level_dims: 2,
            positions: p.positions,
        };
        let shape = [listed.len(), width];
        Ok(Some(Fibers {
            rows: matrix(s, shape, pattern),
            times: if before == 0 { 1 } else { times as usize },
            levels: of_rows.levels,
            dims: of_rows.dims,
        }))
    }

    /// By rows.
    pub(super) fn along(x: &Tensor, free: &[usize], inner: &[usize]) -> Result<Option<Fibers>> {
        let order = [free, inner].concat();
        let x = x.permute_dims(order)?;
        let x = if inner.len() == 1 {
            x
        } else {
            let Some(merged) = x.shape()[free.len()..].iter().try_fold(1usize, |n, &size| n.checked_mul(size)) else {
                return Ok(None);
            };
            let shape: Vec<usize> = x.shape()[..free.len()].iter().copied().chain([merged]).collect();
            x.reshape(&shape)?
        };
        let Some(s) = x.sparse() else { return Ok(None) };
        let levels = vec![LevelKind::Sparse { rank: free.len() }, LevelKind::Sparse { rank: 1 }];
        let spec = LevelSpec { levels, dims: (0..s.ndim()).mapped(|axis| (axis, Part::Whole)) };
        let s = if ends_in_fibers(&s.pattern, free.len()) {
            Cow::Borrowed(s)
        } else {
            Cow::Owned(convert::convert(s, &spec)?)
        };
        let Some((columns, rows)) = s.pattern.levels.split_last() else { return Ok(None) };
        let count = match columns {
            Level::Sparse { pointers: Some(pointers), .. } => pointers.len() - 1,
            _ => return Ok(None),
        };
        let width = s.shape[free.len()];
        let pattern = Pattern {
            levels: vec![Level::Dense, columns.clone()],
            dims: vec![Dim::whole(0, count), Dim::whole(1, width)],
            level_dims: 2,
            positions: s.pattern.positions,
        };
        Ok(Some(Fibers {
            rows: matrix(&s, [count, width], pattern),
            times: 1,
            levels: rows.to_vec(),
            dims: s.pattern.dims[..free.len()].to_vec(),
        }))
    }
}

/// The same elements as a matrix.
fn matrix(s: &Sparse, shape: [usize; 2], pattern: Pattern) -> Tensor {
    // An array fill is 0 everywhere or would not have been left out.
    let fill = match &s.fill {
        Fill::Array(_) => Fill::Scalar(openwork_ops::Scalar::zero(s.dtype())),
        other => other.clone(),
    };
    Sparse { shape: shape[..].into(), pattern: Arc::new(pattern), values: s.values.clone(), fill }.into()
}

/// Whether the last level of a pattern is a compressed one of one axis, so that the others are the coordinates of its rows.
fn ends_in_fibers(pattern: &Pattern, axis: usize) -> bool {
    let [.., above, Level::Sparse { pointers: Some(_), indices, .. }] = &pattern.levels[..] else { return false };
    let is_last = pattern.dims.last().is_some_and(|d| d.axis == axis);
    is_last
        && indices.len() == 1
        && matches!(above, Level::Sparse { .. })
        && pattern.value_dims().is_empty()
        && pattern.dims.iter().all(|d| d.part == Part::Whole)
        && pattern.is_canonical()
}
