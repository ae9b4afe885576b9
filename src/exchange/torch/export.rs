//! To libtorch.

use tch::{Device, Kind};

use super::memory::{Crossing, array, kind, of_torch, sizes};
use super::{FillAs, ToTorch};
use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::base::strided::Strided;
use crate::tensor::Sparse;
use crate::{Fill, IndexArray, Layout, LevelKind, LevelSpec, Part, Scalar, Tensor};

/// A layout of libtorch's that a level structure is.
enum Form {
    /// The axis of each index array, and where the value axes are in their own order.
    Coo { axes: Vec<usize>, values: Vec<usize> },
    /// Leading batches, then rows or columns compressed; blocks where there are any are the first value axes.
    Compressed { batches: usize, by_rows: bool, blocked: bool, values: Vec<usize> },
}

/// The layout of libtorch's that a level structure is, if it is one.
fn form(spec: &LevelSpec, ndim: usize) -> Option<Form> {
    let level_dims: usize = spec.levels.iter().map(|l| l.rank()).sum();
    let (of_levels, of_values) = spec.dims.split_at(level_dims);
    // Value axes may lie in any order: where the wanted ones are, behind the axis of positions.
    let places = |wanted: &mut dyn Iterator<Item = (usize, Part)>| {
        let mut places = vec![0];
        for dim in wanted {
            places.push(1 + of_values.iter().position(|d| *d == dim)?);
        }
        (places.len() == 1 + of_values.len()).then_some(places)
    };
    if let [LevelKind::Sparse { rank }] = spec.levels[..] {
        if of_levels.iter().any(|&(axis, part)| part != Part::Whole || axis >= rank) {
            return None;
        }
        let values = places(&mut (rank..ndim).map(|axis| (axis, Part::Whole)))?;
        return Some(Form::Coo { axes: of_levels.mapped(|&(axis, _)| axis), values });
    }
    let (last, above) = spec.levels.split_last()?;
    if *last != (LevelKind::Sparse { rank: 1 }) || above.iter().any(|l| *l != LevelKind::Dense) || above.is_empty() {
        return None;
    }
    let batches = above.len() - 1;
    if of_levels[..batches].iter().enumerate().any(|(axis, dim)| *dim != (axis, Part::Whole)) {
        return None;
    }
    let by_rows = of_levels[batches].0 == batches;
    let pair = if by_rows {
        [of_levels[batches], of_levels[batches + 1]]
    } else {
        [of_levels[batches + 1], of_levels[batches]]
    };
    let [(row, of_row), (col, of_col)] = pair;
    if (row, col) != (batches, batches + 1) {
        return None;
    }
    let dense = (col + 1..ndim).map(|axis| (axis, Part::Whole));
    let (blocked, values) = match (of_row, of_col) {
        (Part::Whole, Part::Whole) => (false, places(&mut dense.into_iter())?),
        (Part::Div(r), Part::Div(c)) => {
            let block = [(row, Part::Mod(r)), (col, Part::Mod(c))];
            (true, places(&mut block.into_iter().chain(dense))?)
        }
        _ => return None,
    };
    Some(Form::Compressed { batches, by_rows, blocked, values })
}

/// The tensor with the fill zero, or strided; as the caller says.
fn with_zero_fill(x: &Tensor, how: FillAs) -> Result<Tensor> {
    let zero = Scalar::zero(x.dtype());
    let Some(fill) = x.fill() else { return Ok(x.clone()) };
    if matches!(fill, Fill::Scalar(value) if value.same(zero)) {
        return Ok(x.clone());
    }
    match how {
        FillAs::Unchanged => {
            let why = format!(
                "unstored elements are {fill}, and zero to libtorch: FillAs::Zero makes them zero, FillAs::Dense stores \
                 every element, to_torch_masked() gives values and a mask"
            );
            Err(error::invalid("fill", why))
        }
        FillAs::Zero => x.replace_fill(zero),
        FillAs::Dense => {
            context::may_densify(x.shape(), x.dtype().size(), || "libtorch has no fill but zero".into())?;
            x.to_dense()
        }
    }
}

/// The tensor in the layout of libtorch's that is nearest to its own.
fn nearest(x: &Tensor) -> Result<Tensor> {
    match x.layout() {
        Layout::Dcsr => x.to_layout(Layout::Csr),
        Layout::Dcsc => x.to_layout(Layout::Csc),
        _ => x.to_layout(Layout::Coo),
    }
}

/// A tensor for libtorch.
pub(super) fn tensor(x: &Tensor, options: &ToTorch, crossing: &Crossing) -> Result<tch::Tensor> {
    kind(x.dtype())?; // before anything is done
    let x = with_zero_fill(x, options.fill)?;
    if let Some(values) = x.strided() {
        return array(values, crossing, false);
    }
    match sparse(&x, options, crossing)? {
        Some(t) => Ok(t),
        None if options.nearest => {
            let x = nearest(&x)?;
            sparse(&x, options, crossing)?.ok_or_else(|| lacks(&x))
        }
        None => Err(lacks(&x)),
    }
}

#[cold]
fn lacks(x: &Tensor) -> error::Error {
    let batched = matches!(x.layout(), Layout::Csr | Layout::Csc | Layout::Bsr { .. } | Layout::Bsc { .. });
    let what = if batched { "batches that store unequal numbers of elements".into() } else { x.layout().to_string() };
    let why = format!("libtorch has no layout for {what}: `nearest` takes the one next to it, to_layout() any");
    error::layout(why)
}

/// A sparse tensor in its own layout; `None` if libtorch has none such.
fn sparse(x: &Tensor, options: &ToTorch, crossing: &Crossing) -> Result<Option<tch::Tensor>> {
    let Some(s) = x.sparse() else { return Ok(None) };
    match form(&s.pattern.spec(), s.ndim()) {
        None => Ok(None),
        Some(Form::Coo { axes, values }) => coordinates(x, s, &axes, &values, crossing).map(Some),
        // Only COO may have duplicates, or coordinates in any order.
        Some(Form::Compressed { .. }) if !x.is_coalesced() => sparse(&x.coalesce()?, options, crossing),
        Some(form) => compressed(x, s, &form, options, crossing),
    }
}

fn coordinates(x: &Tensor, s: &Sparse, axes: &[usize], order: &[usize], crossing: &Crossing) -> Result<tch::Tensor> {
    let kind = kind(s.dtype())?;
    let (rank, stored) = (axes.len(), s.pattern.positions);
    let arrays: Vec<IndexArray> = levels(x).into_iter().flat_map(|level| level.into_parts().1).collect();
    let lent = if matches!(crossing, Crossing::Lent(_)) && rank == 1 { wide_row(&arrays[0], crossing)? } else { None };
    let indices = match lent {
        Some(row) => row,
        None => {
            let mut matrix: Vec<i64> = Vec::with_capacity(rank * stored);
            for axis in 0..rank {
                let at = axes.iter().position(|a| *a == axis).unwrap_or(axis);
                push_signed(&arrays[at], &mut matrix);
            }
            let bytes: &[u8] = bytemuck::cast_slice(&matrix);
            tch::Tensor::f_from_data_size(bytes, &sizes(&[rank, stored])?, Kind::Int64).map_err(of_torch)?
        }
    };
    let values = array(&s.values.permute(order), crossing, true)?;
    let in_order = axes.iter().enumerate().all(|(i, axis)| i == *axis);
    let coalesced = in_order && x.is_coalesced();
    let (size, options) = (sizes(&s.shape)?, (kind, Device::Cpu));
    // What it does not check was checked when `x` was made.
    tch::Tensor::f_internal_sparse_coo_tensor_unsafe(&indices, &values, &size[..], options, coalesced).map_err(of_torch)
}

/// A row of 64-bit coordinates as a matrix that is lent.
fn wide_row(row: &IndexArray, crossing: &Crossing) -> Result<Option<tch::Tensor>> {
    if row.as_u64().is_none() {
        return Ok(None);
    }
    let row = row.to_signed_tensor()?;
    let Some(values) = row.strided() else { return Ok(None) };
    array(&values.reshape(&[1, values.len()])?, crossing, true).map(Some)
}

/// The levels of a sparse tensor, whose pointers start at 0.
fn levels(x: &Tensor) -> Vec<crate::LevelData> {
    x.levels().unwrap_or_default()
}

/// Adds entries, which are below 2^63.
fn push_signed(entries: &IndexArray, out: &mut Vec<i64>) {
    match (entries.as_u32(), entries.as_u64()) {
        (Some(narrow), _) => out.extend(narrow.iter().map(|&e| i64::from(e))),
        (_, Some(wide)) => out.extend(wide.iter().map(|&e| e as i64)),
        _ => {}
    }
}

fn compressed(
    x: &Tensor,
    s: &Sparse,
    form: &Form,
    options: &ToTorch,
    crossing: &Crossing,
) -> Result<Option<tch::Tensor>> {
    let Form::Compressed { batches, by_rows, blocked, values: order } = form else { return Ok(None) };
    let Some((Some(pointers), plain)) = levels(x).pop().map(crate::LevelData::into_parts) else { return Ok(None) };
    let [plain] = &plain[..] else { return Ok(None) };
    let kind = kind(s.dtype())?;
    let shape = &s.shape[..*batches];
    let count: usize = shape.iter().product();
    let segments = (pointers.len() - 1).checked_div(count).unwrap_or(0);
    let own = |more: &[usize]| sizes(&[shape, more].concat());
    let narrow = pointers.as_u32().is_some() && (matches!(crossing, Crossing::Lent(_)) || options.narrow_indices);
    let (crow, col, per_batch) = if *batches == 0 {
        (index_row(&pointers, narrow, crossing)?, index_row(plain, narrow, crossing)?, s.pattern.positions)
    } else {
        let mut all = Vec::with_capacity(pointers.len());
        push_signed(&pointers, &mut all);
        let Some((own_pointers, per_batch)) = per_batch(&all, count, segments) else { return Ok(None) };
        let width = if narrow { Kind::Int } else { Kind::Int64 };
        let crow = tch::Tensor::f_from_data_size(
            bytemuck::cast_slice(&own_pointers),
            &own(&[own_pointers.len() / count.max(1)])?,
            Kind::Int64,
        );
        let crow = crow.and_then(|t| t.f_to_kind(width)).map_err(of_torch)?;
        let col = index_row(plain, narrow, crossing)?.f_reshape(own(&[per_batch])?.as_slice()).map_err(of_torch)?;
        (crow, col, per_batch)
    };
    let values = s.values.permute(order);
    let split: Vec<usize> = shape.iter().copied().chain([per_batch]).chain(values.shape[1..].iter().copied()).collect();
    let values: Strided = values.reshape(&split)?;
    let values = array(&values, crossing, true)?;
    let (size, of) = (sizes(&s.shape)?, (kind, Device::Cpu));
    // What these do not check was checked when `x` was made.
    let made = match (by_rows, blocked) {
        (true, false) => tch::Tensor::f_internal_sparse_csr_tensor_unsafe(&crow, &col, &values, &size[..], of),
        (false, false) => tch::Tensor::f_internal_sparse_csc_tensor_unsafe(&crow, &col, &values, &size[..], of),
        (true, true) => tch::Tensor::f_internal_sparse_bsr_tensor_unsafe(&crow, &col, &values, &size[..], of),
        (false, true) => tch::Tensor::f_internal_sparse_bsc_tensor_unsafe(&crow, &col, &values, &size[..], of),
    };
    made.map(Some).map_err(of_torch)
}

/// An index array as a tensor of libtorch's.
fn index_row(entries: &IndexArray, narrow: bool, crossing: &Crossing) -> Result<tch::Tensor> {
    if narrow || entries.as_u64().is_some() {
        let signed = entries.to_signed_tensor()?;
        let Some(values) = signed.strided() else { return Err(error::layout("index arrays are strided")) };
        return array(values, crossing, true);
    }
    let mut wide = Vec::with_capacity(entries.len());
    push_signed(entries, &mut wide);
    tch::Tensor::f_from_slice(&wide).map_err(of_torch)
}

/// Pointers that start at 0 in each batch, and how many positions each batch has; `None` if that differs.
fn per_batch(pointers: &[i64], count: usize, segments: usize) -> Option<(Vec<i64>, usize)> {
    let stored = pointers.last().copied().unwrap_or_default();
    let each = stored.checked_div(count as i64).unwrap_or(0);
    let mut own = Vec::with_capacity(pointers.len() + count);
    for batch in 0..count {
        let part = pointers.get(batch * segments..=(batch + 1) * segments)?;
        let first = batch as i64 * each;
        if part.first() != Some(&first) || part.last() != Some(&(first + each)) {
            return None;
        }
        own.extend(part.iter().map(|p| p - first));
    }
    Some((own, each as usize))
}
