//! Products where a mask is true: what it drops is not computed.

use std::ops::Range;
use std::sync::Arc;

use openwork_ops::matmul::{Operand, WantedRow, piece};
use openwork_ops::structure::IndexVec;
use openwork_ops::{DType, Scalar, Side};

use super::operand::{Field, Stored, batch_strides, is_hyper_sparse, offset};
use super::plan;
use super::{Way, in_layout, is_zero, semiring};
use crate::base::buffer::Buffer;
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::mapped::Mapped;
use crate::base::strided::{Strided, count};
use crate::base::trace::{Work, raise};
use crate::base::{memory, parallel};
use crate::engine::convert;
use crate::levels::indices::needs_64_bits;
use crate::levels::layout::{Layout, LevelSpec};
use crate::levels::level::Level;
use crate::levels::pattern::{Dim, Pattern};
use crate::tensor::fill::Fill;
use crate::tensor::{Sparse, Storage, Tensor};

/// Elements of a product that are wanted: those at these places, or all others.
pub(super) struct Wanted {
    /// Rows of the whole product, without terms.
    pub(super) rows: Stored,
    pub(super) is_complement: bool,
    /// Whether an element is there wherever it is wanted.
    pub(super) is_total: bool,
}

impl Wanted {
    /// Where the columns of row `number` of all matrices together are.
    pub(super) fn row(&self, number: usize) -> Range<usize> {
        let at = match &self.rows.ids {
            None => Some(number),
            Some(ids) => ids.binary_search(&(number as u64)).ok(),
        };
        at.map_or(0..0, |r| self.rows.start(r)..self.rows.start(r + 1))
    }

    /// The same for a product that has only these columns, which rise.
    pub(super) fn renumbered(&self, columns: &[u64]) -> Wanted {
        let (mut pointers, mut places) = (vec![0u64], Vec::new());
        for r in 0..self.rows.len() {
            for e in self.rows.start(r)..self.rows.start(r + 1) {
                if let Ok(place) = columns.binary_search(&(self.rows.indices.get(e) as u64)) {
                    places.push(place as u64);
                }
            }
            pointers.push(places.len() as u64);
        }
        let rows = Stored {
            pointers: IndexVec::U64(pointers).into(),
            indices: IndexVec::U64(places).into(),
            ..self.rows.clone()
        };
        Wanted { rows, ..*self }
    }
}

/// How an operand takes part in a masked product.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    /// Every element is there.
    Strided,
    /// Sparse, and what is not stored adds nothing.
    Nothing,
    /// Sparse, and what is not stored is absent.
    Absent,
    /// Sparse, and what is not stored has to be computed with.
    Fill,
}

fn part(x: &Tensor, other: &Tensor, way: Way, side: Side) -> Part {
    match &x.storage {
        Storage::Strided(_) => Part::Strided,
        Storage::Sparse(s) if s.fill.is_undefined() => Part::Absent,
        Storage::Sparse(_) if semiring::adds_nothing(x, other, way, side) => Part::Nothing,
        Storage::Sparse(_) => Part::Fill,
    }
}

/// Whether a mask is one sparse matrix for all matrices of a product of this shape, which is cheaper to repeat by rows.
pub(super) fn is_for_each(mask: &Tensor, shape: &[usize]) -> bool {
    let (batch, matrix) = shape.split_at(shape.len() - 2);
    let is_plain = |s: &Sparse| !is_hyper_sparse(s) && !matches!(s.fill, Fill::Array(_));
    !batch.is_empty() && count(batch) > 0 && mask.shape() == matrix && mask.sparse().is_some_and(is_plain)
}

/// Places of one matrix, repeated in each matrix of a shape. Those that have the shape are as they were.
fn in_each(places: Sparse, shape: &[usize]) -> Result<Sparse> {
    if places.shape == *shape {
        return Ok(places);
    }
    let (_, rows) = Stored::without_terms(&places, true)?;
    let (copies, each) = (count(&shape[..shape.len() - 2]), rows.nse());
    let instead = "give fewer matrices at a time, or a mask with fewer true elements";
    memory::room(shape, "a mask that is repeated in each matrix", &[copies, each + rows.len() + 1], 8, instead)?;
    let positions = copies * each;
    let wide = needs_64_bits(positions, shape.iter().copied());
    let starts = (0..copies * rows.len()).map(|r| r / rows.len() * each + rows.start(r % rows.len()));
    let starts = starts.chain([positions]);
    let (pointers, columns) = match rows.indices.as_slice().to_vec(wide) {
        IndexVec::U32(columns) => {
            (IndexVec::U32(starts.map(|at| at as u32).collect()), IndexVec::U32(columns.repeat(copies)))
        }
        IndexVec::U64(columns) => {
            (IndexVec::U64(starts.map(|at| at as u64).collect()), IndexVec::U64(columns.repeat(copies)))
        }
    };
    let last =
        Level::Sparse { pointers: Some(pointers.into()), indices: vec![columns.into()], ordered: true, unique: true };
    let mut levels = vec![Level::Dense; shape.len() - 1];
    levels.push(last);
    let dims = shape.iter().enumerate().map(|(axis, &size)| Dim::whole(axis, size)).collect();
    let pattern = Pattern { levels, dims, level_dims: shape.len(), positions };
    let values = Strided::constant(Scalar::Bool(true), &[positions]);
    Ok(Sparse { shape: shape.into(), pattern: Arc::new(pattern), values, fill: Scalar::Bool(false).into() })
}

/// The product of tensors of one dtype with at least two axes, where a mask of its shape, or [for each](is_for_each) of its
/// matrices, is true; absent elsewhere.
pub(super) fn product(a: &Tensor, b: &Tensor, way: Way, batch: &[usize], mask: &Tensor) -> Result<Tensor> {
    if mask.dtype() != DType::Bool {
        let why = "the mask of a product must be bool; compare, or take is_stored() of it";
        return Err(error::dtype(&[mask.dtype()], why));
    }
    // The rest of what the mask chooses, of all that there is.
    let whole = || super::product(a, b, way, batch)?.mask(mask);
    let parts = [part(a, b, way, Side::Left), part(b, a, way, Side::Right)];
    let whole_shape: Vec<usize> =
        batch.iter().copied().chain([a.shape()[a.ndim() - 2], b.shape()[b.ndim() - 1]]).collect();
    let is_complement = mask.fill().and_then(|f| f.as_scalar()).is_some_and(|f| !f.is_zero());
    let wanted = match &mask.storage {
        // Everything but few elements, of what is there everywhere.
        _ if is_complement && parts != [Part::Absent; 2] => None,
        _ if parts.contains(&Part::Fill) => None,
        Storage::Sparse(s) if matches!(s.fill, Fill::Array(_)) => None,
        Storage::Sparse(s) => Some(in_each(places(s, is_complement)?, &whole_shape)?),
        Storage::Strided(s) => {
            let spec = LevelSpec::of_layout(Layout::Csr, &s.shape)?;
            Some(convert::from_strided(s, &spec, Scalar::Bool(false).into())?)
        }
    };
    let hyper = |x: &Tensor| x.sparse().is_some_and(is_hyper_sparse);
    let Some(wanted) = wanted else { return whole() };
    raise(Work::Specialised);
    if !parts.contains(&Part::Strided) {
        let is_total = parts == [Part::Nothing; 2];
        if parts[0] != parts[1] || (is_total && (hyper(a) || hyper(b))) {
            return whole();
        }
        if is_total && (a.sparse().is_some_and(|s| s.nse() == 0) || b.sparse().is_some_and(|s| s.nse() == 0)) {
            let values = Strided::constant(way.zero(), &[wanted.nse()]);
            return Ok(Sparse { values, fill: Fill::Undefined, ..wanted }.into());
        }
        let (_, rows) = Stored::without_terms(&wanted, false)?;
        let wanted = Wanted { rows, is_complement, is_total };
        return in_layout(a.layout(), plan::product(a, b, way, batch, Some(&wanted))?);
    }
    if wanted.nse() == 0 {
        let values = Strided::constant(way.zero(), &[0]);
        return in_layout(a.layout(), Sparse { values, fill: Fill::Undefined, ..wanted }.into());
    }
    if a.shape()[a.ndim() - 1] == 0 || hyper(a) || hyper(b) {
        return whole();
    }
    sampled(a, b, way, batch, &wanted)
}

/// The places of a mask that are true, or false beneath a fill that is true: compressed rows of nothing else.
fn places(s: &Sparse, is_complement: bool) -> Result<Sparse> {
    let fill = Fill::Scalar(Scalar::Bool(is_complement));
    let s = Sparse { fill, ..s.clone() };
    let listed = is_hyper_sparse(&s);
    let spec = LevelSpec::of_layout(if listed { Layout::Coo } else { Layout::Csr }, &s.shape)?;
    let is_plain = s.values.core().len() == 1 && is_zero(&s.values) == is_complement;
    if (is_plain && s.pattern.is_unique()) || faults::is(Fault::MaskByPattern) {
        return convert::convert(&s, &spec); // of what is_stored() gives
    }
    convert::prune(&convert::convert(&convert::coalesce(&s, openwork_ops::ReduceOp::Sum)?, &spec)?)
}

/// Rows of an operand, all of them.
enum Rows {
    Dense(Field),
    Sparse(Stored),
}

impl Rows {
    /// The rows of a tensor; of a strided one with the elements of a row side by side.
    fn new(x: &Tensor, way: Way) -> Result<Rows> {
        match &x.storage {
            Storage::Sparse(s) => Ok(Rows::Sparse(Stored::new(s, way.carrier, false, true)?)),
            Storage::Strided(s) => {
                let core = s.core();
                let mut shape = core.shape.to_vec();
                if let (Some(own), Some(&whole)) = (shape.last_mut(), s.shape.last()) {
                    *own = whole;
                }
                convert::dense_len(&shape, core.dtype)?;
                let rows = core.broadcast(&shape).cast(way.carrier.input(way.dtype));
                let rows = Strided { shape: shape[..].into(), ..rows.to_contiguous()?.into_owned() };
                Ok(Rows::Dense(Field::rows_of(&rows, way.carrier)))
            }
        }
    }

    /// Matrix `b` of a batch, and where its rows begin.
    fn matrix(&self, batch: &[usize], b: usize) -> (Operand<'_>, usize) {
        match self {
            Rows::Dense(field) => {
                let at = offset(batch, &field.strides[..field.strides.len() - 2], b);
                (Operand::Dense(field.grid(at)), 0)
            }
            Rows::Sparse(s) => (Operand::Sparse(s.view()), offset(batch, &batch_strides(&s.batch), b) * s.rows),
        }
    }

    /// Whether row `r` has an element.
    fn has(&self, r: usize) -> bool {
        match self {
            Rows::Dense(_) => true,
            Rows::Sparse(s) => s.start(r) < s.start(r + 1),
        }
    }
}

/// Indices of one width in all that is sparse.
fn of_one_width(left: Rows, right: Rows, wanted: Stored) -> (Rows, Rows, Stored) {
    let is_wide = |rows: &Rows| matches!(rows, Rows::Sparse(s) if s.is_wide());
    let wide = wanted.is_wide() || is_wide(&left) || is_wide(&right);
    let of = |rows| match rows {
        Rows::Sparse(s) => Rows::Sparse(s.widened(wide)),
        dense => dense,
    };
    (of(left), of(right), wanted.widened(wide))
}

/// One sum for each wanted element, where at least one operand is strided.
fn sampled(a: &Tensor, b: &Tensor, way: Way, batch: &[usize], wanted: &Sparse) -> Result<Tensor> {
    let turned = b.matrix_transpose()?;
    let (m, k) = (a.shape()[a.ndim() - 2], a.shape()[a.ndim() - 1]);
    let absent = |x: &Tensor| x.fill().is_some_and(Fill::is_undefined);
    let (pattern, rows) = Stored::without_terms(wanted, false)?;
    let (left, right, rows) = of_one_width(Rows::new(a, way)?, Rows::new(&turned, way)?, rows);
    let (out, acc) = (way.output(), way.carrier.acc_size());
    let share = wanted.nse() / (batch.iter().product::<usize>().max(1) * 4 * parallel::threads());
    let most = piece(share, wanted.nse() / rows.len().max(1), b.shape()[b.ndim() - 1], k, b.dtype().size());
    let number = |r: usize| rows.ids.as_ref().map_or(r, |ids| ids[r] as usize);
    let (mut pieces, mut ends) = (Vec::new(), Vec::new());
    let mut start = 0;
    while start < rows.len() {
        let matrix = number(start) / m;
        let mut end = start;
        while end < rows.len() && number(end) / m == matrix && rows.start(end) - rows.start(start) < most {
            end += 1;
        }
        let end = end.max(start + 1);
        pieces.push((matrix, start..end));
        ends.push(rows.start(end) * out.size());
        start = end;
    }
    let values = Buffer::build(rows.nse() * out.size(), |values| {
        parallel::for_pieces_mut(values, &ends, &|piece, values| {
            let (matrix, of) = &pieces[piece];
            let ((x, first_left), (y, first)) = (left.matrix(batch, *matrix), right.matrix(batch, *matrix));
            let listed = of.clone().mapped(|r| WantedRow {
                left: first_left + number(r) % m,
                first,
                columns: rows.start(r)..rows.start(r + 1),
            });
            let n = values.len() / out.size();
            let mut scratch = vec![0u128; (n * acc).div_ceil(16)];
            let sums = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut scratch)[..n * acc];
            way.carrier.clear(sums);
            let wanted = openwork_ops::matmul::Wanted { columns: rows.indices.as_slice(), rows: &listed };
            way.carrier.kernels().sampled(x, y, wanted, k, sums);
            way.carrier.finish(sums, out, values);
        });
    })?;
    let values = Strided::new(values, out, vec![rows.nse()]);
    let made = Sparse { shape: pattern.shape.clone(), pattern: pattern.pattern.clone(), values, fill: Fill::Undefined };
    if !(absent(a) || absent(b)) {
        return in_layout(a.layout(), made.into());
    }
    // Rows and columns in which nothing is there are absent.
    let mut keep = Vec::with_capacity(rows.nse());
    for r in 0..rows.len() {
        let (matrix, i) = (number(r) / m, number(r) % m);
        let of_left = left.matrix(batch, matrix).1 + i;
        let of_right = right.matrix(batch, matrix).1;
        let is_there = left.has(of_left);
        for e in rows.start(r)..rows.start(r + 1) {
            keep.push(is_there && right.has(of_right + rows.indices.get(e)));
        }
    }
    in_layout(a.layout(), convert::retain_rows(&made, &keep)?.into())
}
