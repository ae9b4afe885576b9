//! From a tensor to a file.

use std::path::Path;

use openwork_ops::DType;

use super::header::illegal;
use super::symmetry;
use super::{Field, Listing, Symmetry};
use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::io::text::sink::{Lines, push_comment};
use crate::io::{Format, WriteOptions};
use crate::levels::layout::Layout;
use crate::levels::level::{Indices, Level};
use crate::tensor::fill::Fill;
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

const OP: &str = "matrix_market::write";

/// Writes a tensor with two axes, or one with one as a vector, as a Matrix Market file, compressed by gzip if the name ends in `.gz`.
///
/// A sparse tensor becomes a `coordinate` file, its stored elements row by row with duplicates summed, stored zeros
/// among them; a strided one becomes an `array` file. Floats are written with the fewest digits that read back as the
/// same value, NaN without its payload. The field follows from the dtype; where [`read`](super::read()) would take it for
/// another dtype, a comment `%%GraphBLAS type T` (`%%openwork type T` for `float16` and `bfloat16`) names it:
///
/// | dtype | field |
/// |---|---|
/// | bool | `pattern` if sparse and all stored values are true, else `integer` |
/// | integers | `integer`; `unsigned-integer` for `uint64` with a value from 2^63 on |
/// | floats | `real` |
/// | complex | `complex` |
///
/// The file takes the place of an old one only when it is complete.
///
/// ```
/// use openwork::{Tensor, io::matrix_market};
/// let values = Tensor::from_vec([2], vec![0.5_f32, -1.0])?;
/// let x = Tensor::coo([2, 3], vec![vec![1, 0], vec![2, 0]], &values, 0.0)?;
/// let text = matrix_market::to_bytes(&x, &Default::default())?;
/// assert_eq!(text, b"%%MatrixMarket matrix coordinate real general\n\
///                    %%GraphBLAS type float\n\
///                    2 3 2\n1 1 -1.0\n2 3 0.5\n");
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// Before a byte is written: if the tensor has not one or two axes; if its fill is not 0, which the format cannot hold; if it
/// has not the symmetry asked for, stored elements included, or the symmetry does not go with its dtype. Then
/// [`ErrorKind::Io`](crate::ErrorKind::Io) if the file cannot be written; the old file is then as it was.
///
/// # Cost
/// O(nse), and a sort where the stored elements are not in order; formatted on all threads of the pool, compressed by
/// one. The bytes do not depend on the number of threads. A symmetry costs the transposed tensor.
pub fn write(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    write_with(path, tensor, &WriteOptions::default())
}

/// As [`write()`], with options.
///
/// # Errors
/// As [`write()`].
pub fn write_with(path: impl AsRef<Path>, tensor: &Tensor, options: &WriteOptions<'_>) -> Result<()> {
    lines(tensor, options)?.to_file(path.as_ref(), options.progress)
}

/// The text of the file that [`write_with`] makes, not compressed.
///
/// # Errors
/// As [`write()`], but for those of files.
pub fn to_bytes(tensor: &Tensor, options: &WriteOptions<'_>) -> Result<Vec<u8>> {
    Ok(lines(tensor, options)?.to_vec(options.progress))
}

fn lines(tensor: &Tensor, options: &WriteOptions<'_>) -> Result<Lines> {
    let _call = trace::call(OP, &[]);
    options.check(Format::MatrixMarket)?;
    let (rows, cols, object) = match *tensor.shape() {
        [rows, cols] => (rows, cols, "matrix"),
        [size] => (size, 1, "vector"),
        _ => {
            let why =
                "a Matrix Market file holds one or two axes; frostt::write takes any number, reshape makes them two";
            return Err(error::shape(&[tensor.shape()], why));
        }
    };
    let vector = object == "vector";
    if vector && options.symmetry != Symmetry::General {
        return Err(error::shape(&[tensor.shape()], "a vector has no symmetry"));
    }
    let symmetry = options.symmetry;
    let (columns, values, format) = match written("a Matrix Market file", tensor)? {
        Written::Dense(dense) if vector => (Vec::new(), dense.to_contiguous()?.into_owned(), Listing::Array),
        Written::Dense(dense) => {
            let by_columns = dense.permute(&[1, 0]).reshape(&[rows * cols])?;
            (Vec::new(), by_columns.to_contiguous()?.into_owned(), Listing::Array)
        }
        Written::Entries(columns, values) => (columns, values, Listing::Coordinate),
    };
    let declared = Declared::of(&values, format);
    if let Some(why) = illegal(format, declared.field, symmetry) {
        return Err(error::dtype(&[tensor.dtype()], why));
    }
    if symmetry != Symmetry::General && rows != cols {
        return Err(error::shape(&[tensor.shape()], "with a symmetry other than general it has to be square"));
    }
    let keep = symmetry::listed(tensor, &columns, &values, symmetry)?;
    let entries = values.len();
    let mut head = banner_of(object, format, declared.field, symmetry);
    comment_lines(&mut head, &declared, options.comment);
    let size = match format {
        Listing::Array if vector => format!("{rows}\n"),
        Listing::Coordinate if vector => format!("{rows} {entries}\n"),
        Listing::Array => format!("{rows} {cols}\n"),
        Listing::Coordinate => format!("{rows} {cols} {}\n", keep.as_ref().map_or(entries, Vec::len)),
    };
    head.extend_from_slice(size.as_bytes());
    let values = (declared.field != Field::Pattern).then_some(values);
    Ok(Lines { head, columns, base: 1, values, keep, entries })
}

/// What of a tensor goes into a text.
pub(in crate::io) enum Written {
    /// All elements.
    Dense(Strided),
    /// Coordinates per axis, in C order and none twice, and the values in one row without gaps.
    Entries(Vec<Indices>, Strided),
}

/// The elements that a text lists, if it can say what all else is.
pub(in crate::io) fn written(format: &str, tensor: &Tensor) -> Result<Written> {
    let s = match &tensor.storage {
        Storage::Strided(s) => return Ok(Written::Dense(s.clone())),
        Storage::Sparse(s) => s,
    };
    match &s.fill {
        Fill::Scalar(fill) if fill.is_zero() => {}
        Fill::Undefined => {
            let why = format!(
                "{format} means 0 by every element that it does not list, so the undefined fill would be lost: \
                 replace_fill(0) makes the absent elements zeros, to_dense_with(value) gives them a value"
            );
            return Err(error::absent(why));
        }
        fill => {
            let why = format!(
                "{format} means 0 by every element that it does not list, so the fill {fill} would be lost: \
                 with_fill(0) stores the elements that have it, to_dense() stores all"
            );
            return Err(error::layout(why));
        }
    }
    let coo = tensor.to_layout(Layout::Coo)?;
    let Some(coo) = coo.sparse() else { return Err(error::layout("the tensor has no stored elements")) };
    let values = coo.values.to_contiguous()?.into_owned();
    Ok(Written::Entries(coordinates(coo), values))
}

fn coordinates(coo: &Sparse) -> Vec<Indices> {
    match coo.pattern.levels.as_slice() {
        [Level::Sparse { indices, .. }] => indices.clone(),
        _ => Vec::new(), // a tensor without axes
    }
}

/// The field of a dtype, and the comment that tells the dtype where the field does not.
pub(in crate::io) struct Declared {
    pub field: Field,
    type_line: Option<&'static str>,
}

impl Declared {
    pub(in crate::io) fn of(values: &Strided, format: Listing) -> Declared {
        let (field, type_line) = match values.dtype {
            DType::Bool if format == Listing::Coordinate && all_true(values) => (Field::Pattern, None),
            DType::Bool => (Field::Integer, Some("%%GraphBLAS type bool\n")),
            DType::I8 => (Field::Integer, Some("%%GraphBLAS type int8_t\n")),
            DType::I16 => (Field::Integer, Some("%%GraphBLAS type int16_t\n")),
            DType::I32 => (Field::Integer, Some("%%GraphBLAS type int32_t\n")),
            DType::I64 => (Field::Integer, None),
            DType::U8 => (Field::Integer, Some("%%GraphBLAS type uint8_t\n")),
            DType::U16 => (Field::Integer, Some("%%GraphBLAS type uint16_t\n")),
            DType::U32 => (Field::Integer, Some("%%GraphBLAS type uint32_t\n")),
            DType::U64 if fits_signed(values) => (Field::Integer, Some("%%GraphBLAS type uint64_t\n")),
            DType::U64 => (Field::UnsignedInteger, None),
            DType::F16 => (Field::Real, Some("%%openwork type float16\n")),
            DType::BF16 => (Field::Real, Some("%%openwork type bfloat16\n")),
            DType::F32 => (Field::Real, Some("%%GraphBLAS type float\n")),
            DType::F64 => (Field::Real, None),
            DType::Complex64 => (Field::Complex, Some("%%GraphBLAS type float complex\n")),
            _ => (Field::Complex, None), // complex128
        };
        Declared { field, type_line }
    }
}

fn all_true(values: &Strided) -> bool {
    values.core().contiguous_bytes().unwrap_or_default().iter().all(|&byte| byte != 0)
}

fn fits_signed(values: &Strided) -> bool {
    values.typed::<u64>().is_some_and(|values| values.iter().all(|&value| i64::try_from(value).is_ok()))
}

/// The first line of a file.
pub(in crate::io) fn banner_of(object: &str, format: Listing, field: Field, symmetry: Symmetry) -> Vec<u8> {
    format!("%%MatrixMarket {object} {} {} {}\n", format.word(), field.word(), symmetry.word()).into_bytes()
}

/// The lines between banner and size.
pub(in crate::io) fn comment_lines(head: &mut Vec<u8>, declared: &Declared, comment: &str) {
    head.extend_from_slice(declared.type_line.unwrap_or_default().as_bytes());
    push_comment(head, b'%', comment);
}
