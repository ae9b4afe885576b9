//! Arrays as other libraries save them, under a descriptor made for them: NumPy's, SciPy's `save_npz`, pydata/sparse's
//! `save_npz`, the sparse groups of AnnData (`.h5ad`) and of 10x Genomics (`.h5`).
//!
//! Their arrays are those of binsparse under other names. None promises that coordinates rise or are given once, so the
//! descriptor promises neither; what is so is found out when the arrays are checked.

use serde_json::{Value, json};

use super::arrays::ArrayInfo;
use super::extension::NAMESPACE;
use super::made::Made;
use crate::DType;
use crate::base::named::Named;
use crate::io::fault::{Res, bad};

/// A descriptor, and where its arrays are.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    pub(crate) text: String,
    /// What the format calls itself.
    pub(crate) kind: String,
    pub(crate) arrays: Named<Place>,
    /// Arrays that follow from others.
    pub(crate) made: Option<Made>,
}

/// Where the entries of an array are.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The array of the file.
    pub(crate) stored: String,
    /// Which part of it: the first entry and how many, where it holds several arrays one after another.
    pub(crate) part: Option<(u64, u64)>,
}

/// What is known of the arrays of a compressed matrix.
pub(crate) struct Compressed<'a> {
    /// Which axis the pointers are over.
    pub(crate) axis: usize,
    pub(crate) shape: &'a [u64],
    /// The sizes of blocks, of which the values are made.
    pub(crate) block: Option<[u64; 2]>,
    pub(crate) pointers: DType,
    pub(crate) indices: DType,
    pub(crate) values: DType,
    /// The number of values; blocks have all of theirs.
    pub(crate) nse: u64,
    /// Whether the file has an array with a fill.
    pub(crate) fill: Option<DType>,
}

fn array(stored: &str) -> Place {
    Place { stored: stored.to_owned(), part: None }
}

fn descriptor(shape: &[u64], levels: Value, dims: Value, nse: u64, mut types: Value, fill: Option<DType>) -> String {
    if let Some(fill) = fill {
        types["fill_value"] = json!(spelled(fill));
    }
    let mut inner = json!({
        "version": "1",
        "shape": shape,
        "levels": levels,
        "dims": dims,
        "number_of_stored_values": nse,
        "data_types": types,
        "unordered": true,
    });
    if fill.is_some() {
        inner["fill"] = json!([]);
    }
    json!({ NAMESPACE: inner }).to_string()
}

fn spelled(dtype: DType) -> String {
    super::types::DataType::from(dtype).to_string()
}

/// What a plain array calls itself.
pub(crate) const PLAIN: &str = "NumPy array";

/// A plain array, its elements in C or in Fortran order.
pub(crate) fn plain(stored: &str, shape: &[u64], fortran: bool, dtype: DType) -> Res<Foreign> {
    let Some(nse) = shape.iter().try_fold(1_u64, |n, &size| n.checked_mul(size)) else {
        return bad(format_args!("an array of the shape {shape:?}"));
    };
    let mut dims: Vec<[usize; 1]> = (0..shape.len()).map(|axis| [axis]).collect();
    if fortran {
        dims.reverse();
    }
    let text = json!({ NAMESPACE: {
        "version": "1",
        "shape": shape,
        "levels": [],
        "dims": dims,
        "number_of_stored_values": nse,
        "data_types": { "values": spelled(dtype) },
    }});
    let mut arrays = Named::new();
    arrays.insert("values", array(stored));
    Ok(Foreign { text: text.to_string(), kind: PLAIN.to_owned(), arrays, made: None })
}

/// An array as binsparse would have it: complex numbers as pairs, and truth values as integers.
pub(crate) fn info(dtype: DType, len: u64) -> ArrayInfo {
    match dtype {
        DType::Bool => ArrayInfo { dtype: DType::U8, len },
        dtype if dtype.is_complex() => ArrayInfo { dtype: dtype.real(), len: len.saturating_mul(2) },
        dtype => ArrayInfo { dtype, len },
    }
}

/// A matrix in CSR, CSC or BSR form: `indptr`, `indices`, `data`.
pub(crate) fn compressed(kind: &str, m: &Compressed<'_>) -> Res<Foreign> {
    let &[_, _] = m.shape else { return bad(format_args!("{kind} of the shape {:?}, not of two axes", m.shape)) };
    let other = 1 - m.axis;
    let dims = match m.block {
        None => json!([[m.axis], [other]]),
        Some([rows, cols]) => json!([[0, "div", rows], [1, "div", cols], [0, "mod", rows], [1, "mod", cols]]),
    };
    let types = json!({
        "pointers_to_1": spelled(m.pointers),
        "indices_1": spelled(m.indices),
        "values": spelled(m.values),
    });
    let text = descriptor(m.shape, json!(["dense", { "sparse": 1 }]), dims, m.nse, types, m.fill);
    let mut arrays = Named::new();
    arrays.insert("pointers_to_1", array("indptr"));
    arrays.insert("indices_1", array("indices"));
    arrays.insert("values", array("data"));
    Ok(Foreign { text, kind: kind.to_owned(), arrays, made: None })
}

/// Coordinates: an array per axis, or one with a row per axis.
pub(crate) fn coordinates(
    kind: &str,
    shape: &[u64],
    places: Vec<Place>,
    (indices, values): (DType, DType),
    nse: u64,
    fill: Option<DType>,
) -> Res<Foreign> {
    if places.len() != shape.len() {
        return bad(format_args!("{kind}: coordinates along {} axes for the shape {shape:?}", places.len()));
    }
    let mut types = json!({ "values": spelled(values) });
    let mut arrays = Named::new();
    for (axis, place) in places.into_iter().enumerate() {
        let name = format!("indices_{axis}");
        types[name.as_str()] = json!(spelled(indices));
        arrays.insert(name, place);
    }
    arrays.insert("values", array("data"));
    let dims: Vec<[usize; 1]> = (0..shape.len()).map(|axis| [axis]).collect();
    let text = descriptor(shape, json!([{ "sparse": shape.len() }]), json!(dims), nse, types, fill);
    Ok(Foreign { text, kind: kind.to_owned(), arrays, made: None })
}
