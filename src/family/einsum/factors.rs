//! A sparse tensor of three axes or more times strided factors, of which each has one of its axes and perhaps one axis that
//! they share: one pass over what the tensor stores.

use openwork_ops::DType;
use openwork_ops::einsum::{Factored, MOST_AXES, Paths, WIDTHS};
use openwork_ops::structure::{IndexSlice, IndexVec};

use super::run::Operand;
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::base::mapped::{Chosen, Mapped};
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::base::trace::{Work, raise};
use crate::engine::convert;
use crate::levels::layout::LevelSpec;
use crate::levels::level::{Indices, Level, LevelKind};
use crate::levels::pattern::{Part, Pattern};
use crate::tensor::fill::Fill;
use crate::tensor::{Sparse, Tensor};

/// Which operand is the sparse one, and what the others are to it.
struct Roles<'a> {
    sparse: &'a Sparse,
    /// Indices of the sparse operand's axes.
    own: &'a [usize],
    /// The factor of each axis.
    factors: Vec<Option<&'a Operand>>,
    /// The index that factors share.
    shared: Option<usize>,
    /// The axis that the result keeps.
    axis: Option<usize>,
}

fn roles<'a>(operands: &'a [Operand], result: &[usize]) -> Option<Roles<'a>> {
    let at = operands.iter().position(|x| !x.tensor.is_strided())?;
    let (own, sparse) = (&operands[at].indices[..], operands[at].tensor.sparse()?);
    let is_zero = matches!(sparse.fill, Fill::Scalar(fill) if fill.is_zero());
    if !(3..=MOST_AXES).contains(&own.len()) || !is_zero || !matches!(sparse.dtype(), DType::F32 | DType::F64) {
        return None;
    }
    let (mut factors, mut shared) = (vec![None; own.len()], None);
    for (_, factor) in operands.iter().enumerate().filter(|(i, _)| *i != at) {
        if !factor.tensor.is_strided() {
            return None;
        }
        let mut axis = None;
        for &index in &factor.indices {
            match own.iter().position(|&o| o == index) {
                Some(place) if axis.replace(place).is_none() => {}
                None if shared.is_none_or(|s| s == index) => shared = Some(index),
                _ => return None,
            }
        }
        let slot: &mut Option<&Operand> = &mut factors[axis?];
        if slot.replace(factor).is_some() {
            return None;
        }
    }
    let kept = (0..own.len()).chosen(|&axis| result.contains(&own[axis]));
    if kept.len() > 1 || factors.iter().all(Option::is_none) {
        return None;
    }
    Some(Roles { sparse, own, factors, shared, axis: kept.first().copied() })
}

/// Products of elements, if this way is open.
pub(super) fn terms(operands: &[Operand], result: &[usize], sizes: &[usize]) -> Option<f64> {
    let roles = roles(operands, result)?;
    Some(roles.sparse.nse() as f64 * roles.shared.map_or(1.0, |index| sizes[index] as f64))
}

/// The product over the axis that the result keeps, if it does, and the shared index; `None` where operands are others.
pub(super) fn product(operands: &[Operand], result: &[usize], sizes: &[usize]) -> Result<Option<Operand>> {
    let Some(roles) = roles(operands, result) else { return Ok(None) };
    let dtype = roles.sparse.dtype();
    let Some(stored) = Stored::new(roles.sparse)? else { return Ok(None) };
    let order = &stored.order;
    raise(Work::Specialised);
    let columns = roles.shared.map_or(1, |index| sizes[index]);
    let rows = roles.axis.map_or(1, |axis| roles.sparse.shape[axis]);
    convert::dense_len(&[rows, columns], DType::F64)?;
    let factors = order.try_mapped(|&axis| match roles.factors[axis] {
        None => Ok(None),
        Some(factor) => rows_of(factor, roles.own[axis], roles.shared, columns).map(Some),
    })?;
    let (nodes, ends) = (stored.nodes.mapped(|i| i.typed::<u32>()), stored.ends.mapped(|i| i.typed::<u32>()));
    let paths = if ends.is_empty() { Paths::Lists(&nodes) } else { Paths::Tree { nodes: &nodes, ends: &ends } };
    let work = Passes {
        paths,
        axis: roles.axis.and_then(|axis| order.iter().position(|&own| own == axis)),
        values: stored.values,
        rows,
        columns,
    };
    let out = Buffer::filled(rows * columns * 8, 8, |out| {
        let out: &mut [f64] = bytemuck::cast_slice_mut(out);
        let mut first = 0;
        while first < columns {
            let width = WIDTHS.into_iter().find(|&width| width >= columns - first).unwrap_or(16);
            work.panel(&factors, first, width, out);
            first += width;
        }
    })?;
    let values = Strided::new(out, DType::F64, vec![rows, columns]).cast(dtype);
    let (mut shape, mut indices) = (Vec::new(), Vec::new());
    if let Some(axis) = roles.axis {
        shape.push(rows);
        indices.push(roles.own[axis]);
    }
    if let Some(index) = roles.shared {
        shape.push(columns);
        indices.push(index);
    }
    let tensor = Tensor::from_strided(values.reshape(&shape)?);
    Ok(Some(Operand { tensor, indices }))
}

/// What is stored, in the order in which it is.
struct Stored {
    /// The axes, in that order.
    order: Vec<usize>,
    /// Coordinates along each: of every element, or of nodes of a tree.
    nodes: Vec<Indices>,
    /// Of a tree, the end of the elements under each node, for all axes but the last.
    ends: Vec<Indices>,
    /// As `f64`.
    values: Strided,
}

impl Stored {
    fn new(s: &Sparse) -> Result<Option<Stored>> {
        let is_plain = s.pattern.value_dims().is_empty() && s.pattern.dims.iter().all(|d| d.part == Part::Whole);
        let order = if is_plain { s.pattern.dims.mapped(|d| d.axis) } else { (0..s.ndim()).collect() };
        let of = |s: &Sparse, nodes: Vec<Indices>, ends: Vec<Indices>| -> Result<Option<Stored>> {
            let values = s.values.cast(DType::F64).to_contiguous()?.into_owned();
            Ok(Some(Stored { order: order.clone(), nodes, ends, values }))
        };
        if is_plain && let Some((nodes, ends)) = tree(&s.pattern) {
            return of(s, nodes, ends);
        }
        let dims = order.mapped(|&axis| (axis, Part::Whole));
        let spec = LevelSpec { levels: vec![LevelKind::Sparse { rank: s.ndim() }], dims };
        // Values that are stored twice are added as any others.
        let lists = if is_plain && s.pattern.has_spec(&spec) { s.clone() } else { convert::convert(s, &spec)? };
        match &lists.pattern.levels[..] {
            [Level::Sparse { indices, .. }] => match indices.try_mapped(|own| narrow(own).ok_or(())) {
                Ok(nodes) => of(&lists, nodes, Vec::new()),
                Err(()) => Ok(None),
            },
            _ => Ok(None),
        }
    }
}

/// An array in 32 bits, if its entries fit.
fn narrow(array: &Indices) -> Option<Indices> {
    match array.as_slice() {
        IndexSlice::U32(_) => Some(array.clone()),
        IndexSlice::U64(entries) => {
            let fits = entries.iter().all(|&entry| entry <= u64::from(u32::MAX));
            fits.then(|| IndexVec::U32(entries.mapped(|&entry| entry as u32)).into())
        }
    }
}

/// The nodes of a pattern of compressed fibres, and their ends; `None` for other patterns.
fn tree(pattern: &Pattern) -> Option<(Vec<Indices>, Vec<Indices>)> {
    let (mut nodes, mut ends): (Vec<Indices>, Vec<Indices>) = (Vec::new(), Vec::new());
    for (depth, level) in pattern.levels.iter().enumerate() {
        let Level::Sparse { pointers, indices, .. } = level else { return None };
        let [own] = &indices[..] else { return None };
        nodes.push(narrow(own)?);
        if depth == 0 {
            continue;
        }
        let pointers = narrow(pointers.as_ref()?)?;
        if pointers.get(0) != 0 {
            return None;
        }
        // Ends of the nodes above, so far counted in nodes of this level's parents.
        for above in &mut ends {
            let of_elements = above.typed::<u32>().mapped(|&end| pointers.get(end as usize) as u32);
            *above = IndexVec::U32(of_elements).into();
        }
        ends.push(pointers.slice(1..pointers.len()));
    }
    // No node is without elements.
    let rises = |ends: &Indices| {
        let ends = ends.typed::<u32>();
        ends.first().is_none_or(|&end| end > 0) && ends.is_sorted_by(|a, b| a < b)
    };
    ends.iter().all(rises).then_some((nodes, ends))
}

/// A factor as rows of `f64`, one for each coordinate along an axis.
fn rows_of(factor: &Operand, own: usize, shared: Option<usize>, columns: usize) -> Result<Strided> {
    let Some(values) = factor.tensor.strided() else {
        return Err(crate::base::error::layout("a factor must be strided"));
    };
    let axis = factor.indices.iter().position(|&index| index == own).unwrap_or_default();
    let n = values.shape[axis];
    let other = factor.indices.iter().position(|&index| Some(index) == shared && index != own);
    let ordered = match other {
        Some(other) => values.permute(&[axis, other]),
        None => values.reshape(&[n, 1])?.broadcast(&[n, columns]),
    };
    Ok(ordered.cast(DType::F64).to_contiguous()?.into_owned())
}

/// All panels of columns of one product.
struct Passes<'a> {
    paths: Paths<'a>,
    /// The axis, of those in the order of storage, whose coordinates are rows of the result.
    axis: Option<usize>,
    values: Strided,
    rows: usize,
    columns: usize,
}

/// Elements that a piece of work has about.
const PIECE: usize = 1 << 15;

/// Sums of slices of the elements, where these add to any row.
const SLICES: usize = 16;

impl Passes<'_> {
    /// Columns from `first` on, `width` of them or as many as there are, which are zero in `out`.
    fn panel(&self, factors: &[Option<Strided>], first: usize, width: usize, out: &mut [f64]) {
        let taken = width.min(self.columns - first);
        let panels = factors.mapped(|factor| {
            let factor = factor.as_ref()?;
            let all: &[f64] = bytemuck::try_cast_slice(factor.contiguous_bytes()?).ok()?;
            let mut panel = vec![0.0; factor.shape[0] * width];
            for (to, from) in panel.chunks_exact_mut(width).zip(all.chunks_exact(self.columns)) {
                to[..taken].copy_from_slice(&from[first..first + taken]);
            }
            Some(panel)
        });
        let rows = panels.mapped(|panel| panel.as_deref());
        let of = Factored { paths: self.paths, factors: &rows, axis: self.axis };
        let n = self.paths.len();
        let add = |range: std::ops::Range<usize>, first: usize, out: &mut [f64]| {
            let bytes = self.values.contiguous_bytes().unwrap_or_default();
            of.add(bytemuck::cast_slice(bytes), range, width, first, out);
        };
        let mut sums = vec![0.0; self.rows * width];
        match self.row_pieces(n) {
            Some((ends, firsts)) => {
                let of_rows = firsts[1..].iter().map(|row| row * width).collect::<Vec<_>>();
                parallel::for_pieces_mut(&mut sums, &of_rows, &|piece, sums| {
                    let start = if piece == 0 { 0 } else { ends[piece - 1] };
                    let end =
                        if faults::is(Fault::FactorRowLost) { ends[piece].max(start + 1) - 1 } else { ends[piece] };
                    add(start..end.max(start), firsts[piece], sums);
                });
            }
            None => {
                let slices = (n / (4 * self.rows).max(PIECE)).clamp(1, SLICES);
                let grain = n.div_ceil(slices).max(1);
                let parts = parallel::map_chunks(n, grain, &|range| {
                    let mut part = vec![0.0; self.rows * width];
                    add(range, 0, &mut part);
                    part
                });
                for part in parts {
                    sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
                }
            }
        }
        for (to, from) in out.chunks_exact_mut(self.columns).zip(sums.chunks_exact(width)) {
            to[first..first + taken].copy_from_slice(&from[..taken]);
        }
    }

    /// Where elements are in the order of rows of the result: ends of pieces of like work, and the first row of each, with the
    /// number of rows last.
    fn row_pieces(&self, n: usize) -> Option<(Vec<usize>, Vec<usize>)> {
        if self.axis != Some(0) {
            return None;
        }
        let (mut ends, mut firsts) = (Vec::new(), vec![0]);
        match self.paths {
            Paths::Lists(lists) => {
                let list = lists[0];
                if !list.is_sorted() {
                    return None;
                }
                let mut end = 0;
                while end < n {
                    end = (end + PIECE).min(n);
                    // A row is not cut.
                    let row = list[end - 1];
                    end += list[end..].partition_point(|&other| other == row);
                    ends.push(end);
                    firsts.push(row as usize + 1);
                }
            }
            Paths::Tree { nodes, ends: of_nodes } => {
                if !nodes[0].is_sorted() {
                    return None;
                }
                let mut start = 0;
                for (node, &end) in of_nodes[0].iter().enumerate() {
                    if end as usize >= start + PIECE || end as usize == n {
                        start = end as usize;
                        ends.push(start);
                        firsts.push(nodes[0][node] as usize + 1);
                    }
                }
            }
        }
        if let Some(last) = firsts.last_mut() {
            *last = self.rows;
        }
        if ends.is_empty() {
            return None;
        }
        Some((ends, firsts))
    }
}
