//! From libtorch.
#![allow(unsafe_code)] // calls of `shared_indices`, for the `unsafe` twin alone

use tch::{Device, Kind};

use super::memory::{dtype_of, of_torch, shared, shared_indices};
use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::levels::validate::Given;
use crate::tensor::compressed;
use crate::tensor::construct;
use crate::{Fill, IndexArray, LevelData, LevelKind, LevelSpec, Part, Tensor};

/// How index arrays are taken over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Indices {
    Copied,
    /// Only under the promise that nobody writes them.
    Shared,
}

/// A tensor of libtorch's; its unstored elements are `fill`.
pub(super) fn tensor(t: &tch::Tensor, fill: Fill, indices: Indices) -> Result<Tensor> {
    check(t)?;
    dtype_of(t)?;
    if t.is_mkldnn() {
        let plain = t.f_to_dense(None::<Kind>, false).map_err(of_torch)?;
        return shared(&plain).map(Tensor::from_strided);
    }
    if t.is_sparse() {
        return coordinates(t, fill, indices);
    }
    if is_strided(t) {
        return shared(t).map(Tensor::from_strided);
    }
    if let Ok(pointers) = t.f_crow_indices() {
        return compressed(t, true, &pointers, &t.f_col_indices().map_err(of_torch)?, fill, indices);
    }
    if let Ok(pointers) = t.f_ccol_indices() {
        return compressed(t, false, &pointers, &t.f_row_indices().map_err(of_torch)?, fill, indices);
    }
    Err(error::invalid("torch", "a layout that is neither strided nor sparse; to_dense() gives a strided tensor"))
}

/// Whether there are strides: the crate `tch` does not tell the layout, and `stride()` of a sparse tensor panics.
fn is_strided(t: &tch::Tensor) -> bool {
    t.f_as_strided([0], [1], 0).is_ok()
}

fn check(t: &tch::Tensor) -> Result<()> {
    if !t.defined() {
        return Err(error::invalid("torch", "an undefined tensor"));
    }
    on_cpu(t.device())?;
    if t.requires_grad() {
        let why = "requires_grad is set, and gradients end here; detach() says that they may";
        return Err(error::invalid("torch", why));
    }
    // Nested tensors have no shape, and `size()` would panic.
    let shape = t.f_internal_shape_as_tensor();
    shape.map(drop).map_err(|_| error::invalid("torch", "a nested tensor, which has no shape; use to_padded_tensor()"))
}

pub(super) fn on_cpu(device: Device) -> Result<()> {
    match device {
        Device::Cpu => Ok(()),
        other => {
            let why = format!("the tensor is on {other:?}, only main memory is read; to_device(Device::Cpu) copies it");
            Err(error::invalid("torch", why))
        }
    }
}

/// Entries of an integer tensor, none of them negative.
fn entries(t: &tch::Tensor, name: &str) -> Result<Vec<u64>> {
    let flat = t.f_to_kind(Kind::Int64).and_then(|t| t.f_reshape([-1])).map_err(of_torch)?;
    let entries = Vec::<i64>::try_from(&flat).map_err(of_torch)?;
    match entries.iter().position(|&e| e < 0) {
        Some(at) => Err(error::invalid(name, format_args!("entry {at} is {}", entries[at]))),
        None => Ok(entries.into_iter().map(|e| e as u64).collect()),
    }
}

/// An index array of a row of integers: shared if that is promised to be safe, else copied, in 32 bits where they fit.
fn array(row: &tch::Tensor, name: &str, indices: Indices) -> Result<IndexArray> {
    if indices == Indices::Shared && matches!(row.f_kind(), Ok(Kind::Int | Kind::Int64)) {
        let row = shared(row)?;
        // SAFETY: the caller of `from_torch_shared` promises that nobody writes them.
        return Ok(unsafe { shared_indices(row) });
    }
    entries(row, name).map(IndexArray::from)
}

fn shape_of(t: &tch::Tensor) -> Result<Vec<usize>> {
    let shape = t.size().try_mapped(|&n| usize::try_from(n));
    shape.map_err(|_| error::invalid("torch", "a negative size"))
}

const COO: Given = Given { name: |name| format!("indices[{}]", name.dim()), unordered: "" };

fn coordinates(t: &tch::Tensor, fill: Fill, indices: Indices) -> Result<Tensor> {
    let shape = shape_of(t)?;
    let matrix = t.f_internal_indices().map_err(of_torch)?;
    let values = shared(&t.f_internal_values().map_err(of_torch)?)?;
    let [rank, stored] = shape_of(&matrix)?[..] else {
        return Err(error::invalid("indices", "are no matrix"));
    };
    if rank > shape.len() || values.shape.first() != Some(&stored) {
        let why = format!("are {rank} by {stored}, values are {:?} and the shape is {shape:?}", &values.shape[..]);
        return Err(error::invalid("indices", why));
    }
    let rows = (0..rank).try_mapped(|axis| {
        let row = matrix.f_select(0, axis as i64).map_err(of_torch)?;
        array(&row, &format!("indices[{axis}]"), indices)
    })?;
    let dims = (0..shape.len()).mapped(|axis| (axis, Part::Whole));
    let spec = LevelSpec { levels: vec![LevelKind::Sparse { rank }], dims };
    let pointers = (rank == 0).then(|| vec![0, stored as u64].into());
    let level = LevelData::Sparse { pointers, indices: rows, ordered: false, unique: false };
    construct::parts(COO, &shape, vec![level], &spec, &Tensor::from_strided(values), fill)
}

/// CSR, CSC, BSR, BSC, with batches and dense axes.
fn compressed(
    t: &tch::Tensor,
    by_rows: bool,
    pointers: &tch::Tensor,
    plain: &tch::Tensor,
    fill: Fill,
    indices: Indices,
) -> Result<Tensor> {
    let [pointers_name, plain_name] = compressed::names(by_rows);
    let flat = |t: &tch::Tensor, name: &str| t.f_reshape([-1]).map_err(of_torch).and_then(|t| array(&t, name, indices));
    let given = compressed::Compressed {
        by_rows,
        shape: shape_of(t)?,
        of_pointers: shape_of(pointers)?,
        of_plain: shape_of(plain)?,
        pointers: flat(pointers, pointers_name)?,
        plain: flat(plain, plain_name)?,
        values: shared(&t.f_values().map_err(of_torch)?)?,
    };
    given.tensor(fill)
}
