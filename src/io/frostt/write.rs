//! From a tensor to a file.

use crate::base::mapped::Mapped;
use std::path::Path;

use openwork_ops::{DType, Scalar};

use super::{Base, Dialect, MAX_ORDER};
use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::io::matrix_market::{Declared, Field, Listing, Symmetry, Written, banner_of, comment_lines, written};
use crate::io::text::sink::{Lines, is_gzip, push_comment};
use crate::io::{Format, WriteOptions};
use crate::levels::layout::Layout;
use crate::levels::level::Indices;
use crate::tensor::Tensor;
use crate::tensor::trace;

const OP: &str = "frostt::write";

/// Writes a tensor as a FROSTT or TensorMarket file, compressed by gzip if the name ends in `.gz`.
///
/// What is listed are the stored elements in C order, duplicates summed; of a strided tensor, all that are not 0. A
/// `.tns` file that would read back with another shape or dtype gets a comment on top that [`read`](super::read())
/// understands and other programs that know comments skip. A `.ttx` file tells shape and dtype as
/// [`matrix_market::write`](crate::io::matrix_market::write()) does.
///
/// The file takes the place of an old one only when it is complete.
///
/// # Errors
/// Before a byte is written: if the fill is not 0, which the formats cannot hold; if the tensor has no axis, or more
/// than 64; if it is complex and the format `.tns`; if base 0 is asked for in `.ttx`. Then
/// [`ErrorKind::Io`](crate::ErrorKind::Io) if the file cannot be written; the old file is then as it was.
///
/// # Cost
/// O(nse), and a sort where the stored elements are not in order; formatted on all threads of the pool, compressed by
/// one. The bytes do not depend on the number of threads.
pub fn write(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    write_with(path, tensor, &WriteOptions::default())
}

/// As [`write()`], with options.
///
/// # Errors
/// As [`write()`].
pub fn write_with(path: impl AsRef<Path>, tensor: &Tensor, options: &WriteOptions<'_>) -> Result<()> {
    let path = path.as_ref();
    lines(tensor, options, wanted(options)?.unwrap_or_else(|| named(path)))?.to_file(path, options.progress)
}

/// The text of the file that [`write_with`] makes, not compressed; FROSTT unless the options say otherwise.
///
/// ```
/// use openwork::{Tensor, io::frostt};
/// let values = Tensor::from_vec([2], vec![0.5, -4.0])?;
/// let x = Tensor::coo([2, 3, 1], vec![vec![0, 1], vec![0, 2], vec![0, 0]], &values, 0.0)?;
/// assert_eq!(frostt::to_bytes(&x, &Default::default())?, b"1 1 1 0.5\n2 3 1 -4.0\n");
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`write()`], but for those of files.
pub fn to_bytes(tensor: &Tensor, options: &WriteOptions<'_>) -> Result<Vec<u8>> {
    Ok(lines(tensor, options, wanted(options)?.unwrap_or_default())?.to_vec(options.progress))
}

/// The format that is asked for.
fn wanted(options: &WriteOptions<'_>) -> Result<Option<Dialect>> {
    let _call = trace::call(OP, &[]);
    match options.format {
        None => Ok(None),
        Some(Format::Frostt) => Ok(Some(Dialect::Tns)),
        Some(Format::TensorMarket) => Ok(Some(Dialect::Ttx)),
        Some(other) => Err(error::invalid("options.format", format_args!("is {other}; io::write writes any format"))),
    }
}

/// The format that a name stands for.
fn named(path: &Path) -> Dialect {
    let ends_in_ttx = |path: &Path| path.extension().is_some_and(|end| end.eq_ignore_ascii_case("ttx"));
    let ttx = if is_gzip(path) { ends_in_ttx(&path.with_extension("")) } else { ends_in_ttx(path) };
    if ttx { Dialect::Ttx } else { Dialect::Tns }
}

fn lines(tensor: &Tensor, options: &WriteOptions<'_>, dialect: Dialect) -> Result<Lines> {
    let _call = trace::call(OP, &[]);
    options.check(if dialect == Dialect::Tns { Format::Frostt } else { Format::TensorMarket })?;
    let shape = tensor.shape();
    if !(1..=MAX_ORDER).contains(&shape.len()) {
        let why = format!("a file holds 1 to {MAX_ORDER} axes; reshape makes them fewer");
        return Err(error::shape(&[shape], why));
    }
    let (columns, values) = entries(tensor)?;
    let declared = Declared::of(&values, Listing::Coordinate);
    let (head, base, has_values) = match dialect {
        Dialect::Tns => {
            if values.dtype.is_complex() {
                let why = "a .tns file has one number per entry; TensorMarket (.ttx) holds complex ones";
                return Err(error::dtype(&[values.dtype], why));
            }
            (plain_head(shape, &columns, values.dtype, options.comment), u64::from(options.base == Base::One), true)
        }
        Dialect::Ttx => {
            let mut head = banner_of("tensor", Listing::Coordinate, declared.field, Symmetry::General);
            comment_lines(&mut head, &declared, options.comment);
            head.extend_from_slice(format!("{} {}\n", list(shape), values.len()).as_bytes());
            (head, 1, declared.field != Field::Pattern)
        }
    };
    let entries = values.len();
    Ok(Lines { head, columns, base, values: has_values.then_some(values), keep: None, entries })
}

fn entries(tensor: &Tensor) -> Result<(Vec<Indices>, Strided)> {
    let _call = trace::call(OP, &[]);
    const FORMAT: &str = "a coordinate file";
    match written(FORMAT, tensor)? {
        Written::Entries(columns, values) => Ok((columns, values)),
        Written::Dense(_) => {
            let sparse = tensor.to_sparse(Layout::Coo, Scalar::zero(tensor.dtype()))?;
            match written(FORMAT, &sparse)? {
                Written::Entries(columns, values) => Ok((columns, values)),
                Written::Dense(_) => Err(error::layout("the tensor has no coordinates")),
            }
        }
    }
}

/// The comments of a `.tns` file: the caller's, and what the entries do not tell.
fn plain_head(shape: &[usize], columns: &[Indices], dtype: DType, comment: &str) -> Vec<u8> {
    let mut head = Vec::new();
    push_comment(&mut head, b'#', comment);
    let reach = |column: &Indices| (0..column.len()).map(|i| column.get(i) + 1).max();
    if !columns.iter().zip(shape).all(|(column, &size)| reach(column) == Some(size)) {
        head.extend_from_slice(format!("#openwork shape {}\n", list(shape)).as_bytes());
    }
    if dtype != DType::F64 {
        head.extend_from_slice(format!("#openwork dtype {dtype}\n").as_bytes());
    }
    head
}

fn list(shape: &[usize]) -> String {
    shape.mapped(usize::to_string).join(" ")
}
