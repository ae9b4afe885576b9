//! From a parsed file to a tensor.

use std::ops::ControlFlow;
use std::path::Path;

use openwork_ops::{DType, Scalar, c128};

use super::header::Passed;
use super::{FORMAT, Indices, Listing, ParsedMatrix, Symmetry, Values, parse, parse_file, parse_with};
use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::io::ReadOptions;
use crate::io::text::source::Opened;
use crate::io::warning::Warning;
use crate::tensor::Tensor;
use crate::tensor::index_array::IndexArray;
use crate::tensor::trace;

/// Reads a Matrix Market file, plain or gzip, into a tensor with two axes; a vector into one with one.
///
/// Coordinate files give COO with fill 0, in file order with mirrored entries behind (so not coalesced in
/// general; duplicates mean their sum); array files give a strided tensor. Real, integer, unsigned and
/// complex fields become `float64`, `int64`, `uint64` and `complex128`; a pattern becomes an iso tensor of
/// `true`. A comment `%%GraphBLAS type T` names another dtype, which the values must fit.
///
/// # Errors
/// If the file cannot be read ([`ErrorKind::Io`](crate::ErrorKind::Io)) or is not one that the [module](super) accepts
/// ([`ErrorKind::Format`](crate::ErrorKind::Format), with the line).
///
/// # Cost
/// As [`parse`](super::parse).
pub fn read(path: impl AsRef<Path>) -> Result<Tensor> {
    read_with(path, &ReadOptions::default())
}

/// As [`read`], within the bounds that `options` sets.
///
/// # Errors
/// As [`read`]; also if the file is larger than the bound.
pub fn read_with(path: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<Tensor> {
    tensor(parse_file(path, options)?)
}

/// Reads the bytes of a Matrix Market file; see [`read`].
///
/// # Errors
/// As [`read`].
pub fn read_bytes(bytes: &[u8], options: &ReadOptions<'_>) -> Result<Tensor> {
    tensor(parse_with(bytes, options)?)
}

/// As [`read`], of any source, and what lenient reading let pass.
pub(in crate::io) fn tensor_of(
    source: Opened<'_>,
    lenient: bool,
    path: Option<&Path>,
) -> Result<(Tensor, Vec<Warning>)> {
    let parsed = super::parsed(source, lenient, path)?;
    let mut warnings: Vec<Warning> = parsed.passed.warnings().collect();
    let upper = if parsed.symmetry == Symmetry::General { 0 } else { above_diagonal(&parsed) };
    if upper > 0 {
        warnings.push(Warning::UpperEntries(upper));
    }
    if has_skew_diagonal(&parsed) {
        warnings.push(Warning::SkewDiagonal);
    }
    let named = parsed.type_hint.clone().filter(|name| hinted(name).is_some());
    let tensor = tensor(parsed)?;
    if let Some(name) = named.filter(|name| hinted(name).is_some_and(|dtype| dtype != tensor.dtype())) {
        warnings.push(Warning::TypeComment(name));
    }
    Ok((tensor, warnings))
}

/// The entries of each block of text as a tensor of the whole shape, until `give` has seen enough; how many entries above
/// the diagonal lenient reading let pass.
pub(in crate::io) fn pieces_of(
    source: Opened<'_>,
    lenient: bool,
    path: Option<&Path>,
    give: &mut dyn FnMut(Tensor) -> ControlFlow<()>,
) -> Result<Vec<Warning>> {
    let (mut upper, mut diagonal, mut passed, mut failed, mut hint) = (0, false, Default::default(), None, None);
    let read = source.and_then(|mut source| {
        parse::blocks(&mut source, lenient, &mut |block| {
            if block.symmetry != Symmetry::General {
                upper += above_diagonal(&block);
                diagonal |= has_skew_diagonal(&block);
            }
            passed = block.passed;
            let named = block.type_hint.clone();
            match tensor(block) {
                Ok(tensor) => {
                    let dtype = named.as_deref().and_then(hinted);
                    hint = named.filter(|_| dtype.is_some_and(|dtype| dtype != tensor.dtype()));
                    give(tensor)
                }
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        })
    });
    read.map_err(|failure| failure.of(FORMAT, path))?;
    match failed {
        Some(error) => Err(error),
        None => {
            let upper = Some(Warning::UpperEntries(upper)).filter(|_| upper > 0);
            let diagonal = Some(Warning::SkewDiagonal).filter(|_| diagonal);
            let passed: Passed = passed;
            Ok(passed.warnings().chain(upper).chain(diagonal).chain(hint.map(Warning::TypeComment)).collect())
        }
    }
}

/// Whether a skew-symmetric matrix lists something on its diagonal that is not 0.
fn has_skew_diagonal(parsed: &ParsedMatrix) -> bool {
    let (rows, cols) = (&parsed.row_indices, &parsed.col_indices);
    let is_zero = |entry: usize| match &parsed.values {
        Values::Real(v) => v.get(entry) == Some(&0.0),
        Values::Integer(v) => v.get(entry) == Some(&0),
        Values::Unsigned(v) => v.get(entry) == Some(&0),
        Values::Complex(v) => v.get(entry) == Some(&[0.0; 2]),
        Values::Pattern(_) => false,
    };
    parsed.symmetry == Symmetry::SkewSymmetric
        && (0..rows.len()).any(|entry| rows.get(entry) == cols.get(entry) && !is_zero(entry))
}

/// How many entries stand above the diagonal.
fn above_diagonal(parsed: &ParsedMatrix) -> u64 {
    let (rows, cols) = (&parsed.row_indices, &parsed.col_indices);
    (0..rows.len()).filter(|&entry| rows.get(entry) < cols.get(entry)).count() as u64
}

fn tensor(parsed: ParsedMatrix) -> Result<Tensor> {
    let _call = trace::call("matrix_market", &[]);
    let size = |n: u64, axis: usize| {
        usize::try_from(n)
            .ok()
            .filter(|&n| n <= 1 << 63)
            .ok_or_else(|| error::invalid("size", format_args!("axis {axis} of size {n} is beyond 2^63")))
    };
    let shape = [size(parsed.rows, 0)?, size(parsed.cols, 1)?];
    let vector = parsed.vector;
    let full = parsed.expand_symmetry();
    let values = values_of(full.values, full.type_hint.as_deref().and_then(hinted));
    if vector && full.format == Listing::Array {
        return Ok(Tensor::from_strided(values));
    }
    if full.format == Listing::Array {
        let columns = values.reshape(&[shape[1], shape[0]])?;
        return Ok(Tensor::from_strided(columns.permute(&[1, 0])));
    }
    let mut indices = vec![index_array(full.row_indices), index_array(full.col_indices)];
    let fill = Scalar::zero(values.dtype);
    let axes = if vector { 1 } else { 2 };
    indices.truncate(axes);
    Tensor::coo(&shape[..axes], indices, &Tensor::from_strided(values), fill)
}

/// Values as an array, in the dtype that was named if that keeps them.
pub(in crate::io) fn values_of(values: Values, dtype: Option<DType>) -> Strided {
    let n = values.len();
    let values = match values {
        Values::Real(v) => Strided::from_vec(v, vec![n]),
        Values::Integer(v) => Strided::from_vec(v, vec![n]),
        Values::Unsigned(v) => Strided::from_vec(v, vec![n]),
        Values::Complex(v) => Strided::from_vec::<c128>(bytemuck::allocation::cast_vec(v), vec![n]),
        Values::Pattern(n) => Strided::constant(Scalar::Bool(true), &[n]),
    };
    // A hint that would change a value (1.5 as int8) is not followed by lenient reading: the numbers in the file stand.
    match dtype {
        Some(dtype) if keeps_values(&values, dtype) => values.cast(dtype),
        _ => values,
    }
}

pub(in crate::io) fn index_array(indices: Indices) -> IndexArray {
    match indices {
        Indices::U32(v) => IndexArray::from(v),
        Indices::U64(v) => IndexArray::from(v),
    }
}

/// Whether a cast keeps the numbers: any narrowing of floats counts as rounding, not as loss.
fn keeps_values(values: &Strided, dtype: DType) -> bool {
    if dtype.is_inexact() || values.dtype == DType::Bool {
        return !values.dtype.is_complex() || dtype.is_complex();
    }
    let back = values.cast(dtype).cast(values.dtype).core();
    back.contiguous_bytes() == values.core().contiguous_bytes()
}

/// The dtype of the name that a type hint gives.
pub(in crate::io) fn hinted(name: &str) -> Option<DType> {
    Some(match name {
        "bool" => DType::Bool,
        "int8_t" => DType::I8,
        "int16_t" => DType::I16,
        "int32_t" => DType::I32,
        "int64_t" => DType::I64,
        "uint8_t" => DType::U8,
        "uint16_t" => DType::U16,
        "uint32_t" => DType::U32,
        "uint64_t" => DType::U64,
        "float" => DType::F32,
        "double" => DType::F64,
        "float complex" => DType::Complex64,
        "double complex" => DType::Complex128,
        "float16" => DType::F16,
        "bfloat16" => DType::BF16,
        _ => return None,
    })
}
