//! The three converters that the compliance suite of binsparse drives.
//!
//! Arrays of NumPy stand for a tensor there: its elements, which of them are stored, and what the others are.

use std::ffi::OsString;
use std::path::Path;

use openwork::io::{self, Format, WriteOptions, binsparse};
use openwork::{DType, LevelKind, LevelSpec, Part, Scalar, Tensor};
use serde_json::Value;

use crate::arguments::{BinsparseToBinsparse, BinsparseToNpy, NpyToBinsparse, Reading};
use crate::failure::Failure;

/// The arguments, with the name of a converter in front if the command was called by that: the suite asks for programs of these
/// names, which may be links to `openwork`.
pub(crate) fn called(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let name = arguments.first().and_then(|program| Path::new(program).file_stem()).map(OsString::from);
    match name {
        Some(name) if NAMES.iter().any(|known| name == *known) => arguments.insert(1, name),
        _ => {}
    }
    arguments
}

const NAMES: [&str; 3] = ["npy_to_binsparse", "binsparse_to_npy", "binsparse_to_binsparse"];

fn read(path: &Path) -> Result<Tensor, Failure> {
    // The reference writes lists of no indices as floats.
    let options = io::ReadOptions { lenient: true, ..Default::default() };
    let read = io::read_with(path, &options).map_err(|error| Failure::of_reading(error, &Reading::default()));
    read.map(|loaded| loaded.tensor)
}

fn refused(path: &Path, why: &str) -> Failure {
    Failure::Refused(format!("{}: {why}", crate::convert::shown(path)))
}

/// The one element of an array.
fn single(path: &Path) -> Result<Scalar, Failure> {
    let array = read(path)?;
    if array.size() != 1 {
        return Err(refused(path, "the fill is an array of one element"));
    }
    array.reshape([0_usize; 0]).and_then(|array| array.item()).map_err(Failure::of_writing)
}

pub(crate) fn npy_to_binsparse(arguments: &NpyToBinsparse) -> Result<(), Failure> {
    let NpyToBinsparse { tensor, pattern, fill, header, output } = arguments;
    let (elements, stored) = (read(tensor)?, read(pattern)?);
    if elements.shape() != stored.shape() || stored.dtype() != DType::Bool {
        return Err(refused(pattern, "the pattern is an array of bool in the shape of the tensor"));
    }
    let fill = single(fill)?.cast(elements.dtype());
    let spec = structure(header, elements.ndim())?;
    let made = match spec.levels.is_empty() {
        true => in_order(&elements, &spec),
        false => stored_elements(&elements, &stored, fill).and_then(|x| x.to_levels(&spec)),
    };
    written(output, &made.map_err(Failure::of_writing)?, Some(fill))
}

/// Writes a tensor and its fill, 0 as well: without, the suite takes it for one of another dtype.
fn written(output: &Path, x: &Tensor, fill: Option<Scalar>) -> Result<(), Failure> {
    let options = WriteOptions { fill, ..Default::default() };
    binsparse::write_with(output, x, &options).map_err(Failure::of_writing)
}

/// A strided tensor whose elements lie in the order of the format.
fn in_order(x: &Tensor, spec: &LevelSpec) -> openwork::Result<Tensor> {
    let order: Vec<usize> = spec.dims.iter().map(|&(axis, _)| axis).collect();
    let mut back = vec![0_usize; order.len()];
    for (at, &axis) in order.iter().enumerate() {
        if let Some(place) = back.get_mut(axis) {
            *place = at;
        }
    }
    x.permute_dims(order)?.to_contiguous()?.permute_dims(back)
}

/// The elements that a pattern chooses, as a list of coordinates.
fn stored_elements(elements: &Tensor, pattern: &Tensor, fill: Scalar) -> openwork::Result<Tensor> {
    let shape = elements.shape().to_vec();
    let mut places: Vec<Vec<u64>> = vec![Vec::new(); shape.len()];
    let mut chosen = Vec::new();
    for (at, _) in pattern.to_contiguous()?.values::<bool>()?.iter().enumerate().filter(|(_, stored)| **stored) {
        chosen.push(at as i64);
        let mut rest = at;
        for (axis, size) in shape.iter().enumerate().rev() {
            if let Some(places) = places.get_mut(axis) {
                places.push((rest % size) as u64);
            }
            rest /= size;
        }
    }
    let all = usize::try_from(elements.size()).unwrap_or(0);
    let values = elements.reshape([all])?.index_select(&Tensor::from_vec([chosen.len()], chosen)?, 0)?;
    Tensor::coo(shape, places, &values, fill)
}

/// The levels that a header asks for; none if all of it is dense.
fn structure(path: &Path, axes: usize) -> Result<LevelSpec, Failure> {
    let bad = |why: &str| refused(path, why);
    let text = std::fs::read(path).map_err(|source| Failure::of_file_read(path, source))?;
    let header: Value = serde_json::from_slice(&text).map_err(|error| bad(&format!("this is not JSON: {error}")))?;
    let sparse = |rank| LevelKind::Sparse { rank };
    let (dense, turned) = (LevelKind::Dense, vec![1, 0]);
    let straight: Vec<usize> = (0..axes).collect();
    let (mut levels, order) = match header["format"].as_str() {
        Some("DVEC") => (vec![dense], straight),
        Some("DMAT" | "DMATR") => (vec![dense; 2], straight),
        Some("DMATC") => (vec![dense; 2], turned),
        Some("CVEC") => (vec![sparse(1)], straight),
        Some("CSR") => (vec![dense, sparse(1)], straight),
        Some("CSC") => (vec![dense, sparse(1)], turned),
        Some("DCSR") => (vec![sparse(1); 2], straight),
        Some("DCSC") => (vec![sparse(1); 2], turned),
        Some("COO" | "COOR") => (vec![sparse(2)], straight),
        Some("COOC") => (vec![sparse(2)], turned),
        Some("custom") => {
            let custom = &header["custom"];
            let axis = |value: &Value| value.as_u64().and_then(|axis| usize::try_from(axis).ok());
            let order = match custom["transpose"].as_array() {
                Some(transpose) => transpose.iter().filter_map(axis).collect(),
                None => straight,
            };
            (custom_levels(&custom["level"]).ok_or_else(|| bad("`custom.level` is no tree of levels"))?, order)
        }
        _ => return Err(bad("`format` is none of binsparse's")),
    };
    let rank: usize = levels.iter().map(|level| level.rank()).sum();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if rank != axes || sorted.iter().copied().ne(0..axes) {
        return Err(bad(&format!("the format is of {rank} axes in the order {order:?}, and the tensor has {axes}")));
    }
    // Dense levels below all others are axes of the values.
    while levels.last() == Some(&LevelKind::Dense) {
        levels.pop();
    }
    Ok(LevelSpec { levels, dims: order.into_iter().map(|axis| (axis, Part::Whole)).collect() })
}

fn custom_levels(tree: &Value) -> Option<Vec<LevelKind>> {
    let (mut level, mut out) = (tree, Vec::new());
    // serde_json refuses deeper trees than 128.
    while level["level_desc"] != "element" {
        let rank = level["rank"]
            .as_u64()
            .and_then(|rank| usize::try_from(rank).ok())
            .filter(|rank| (1..=64).contains(rank))?;
        match level["level_desc"].as_str()? {
            "dense" => out.extend(vec![LevelKind::Dense; rank]),
            "sparse" => out.push(LevelKind::Sparse { rank }),
            _ => return None,
        }
        level = &level["level"];
    }
    Some(out)
}

pub(crate) fn binsparse_to_npy(arguments: &BinsparseToNpy) -> Result<(), Failure> {
    let BinsparseToNpy { input, tensor, pattern, fill } = arguments;
    let x = read(input)?;
    let value = fill_of(input)?.unwrap_or_else(|| Scalar::zero(x.dtype()));
    let npy = WriteOptions { format: Some(Format::Npy), ..Default::default() };
    let arrays = x.to_dense().and_then(|all| Ok([(tensor, all), (pattern, x.is_stored()?.to_dense()?)]));
    for (path, array) in arrays.map_err(Failure::of_writing)? {
        io::write_with(path, &array, &npy).map_err(Failure::of_writing)?;
    }
    io::write_with(fill, &Tensor::scalar(value), &npy).map_err(Failure::of_writing)
}

pub(crate) fn binsparse_to_binsparse(arguments: &BinsparseToBinsparse) -> Result<(), Failure> {
    let BinsparseToBinsparse { input, output } = arguments;
    written(output, &read(input)?, fill_of(input)?)
}

/// What a file says that unstored elements are, even of a format that stores all.
fn fill_of(path: &Path) -> Result<Option<Scalar>, Failure> {
    let of = |mut file: binsparse::File| {
        let names = file.names()?;
        file.fill(names.first().map_or("", String::as_str))
    };
    binsparse::File::open(path).and_then(of).map_err(|error| Failure::of_reading(error, &Reading::default()))
}
