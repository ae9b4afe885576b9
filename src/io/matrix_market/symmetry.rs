//! Symmetries that a writer is asked for: checked, then half of the elements are left out.

use openwork_ops::{Scalar, Wide};

use super::Symmetry;
use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::levels::level::Indices;
use crate::tensor::Tensor;

/// Which entries of a square matrix a file with this symmetry lists; `None`: all.
///
/// `columns` are the coordinates of sorted entries, or empty for a dense matrix, whose values lie column by column.
///
/// # Errors
/// If the matrix does not have the symmetry.
pub(super) fn listed(
    tensor: &Tensor,
    columns: &[Indices],
    values: &Strided,
    symmetry: Symmetry,
) -> Result<Option<Vec<usize>>> {
    if symmetry == Symmetry::General {
        return Ok(None);
    }
    let size = tensor.shape()[0];
    let transposed = tensor.permute_dims([1, 0])?;
    let other = match super::written("a Matrix Market file", &transposed)? {
        super::Written::Dense(dense) => dense.permute(&[1, 0]).reshape(&[size * size])?.to_contiguous()?.into_owned(),
        super::Written::Entries(mirrors, other) => {
            let same = mirrors.len() == columns.len() && mirrors.iter().zip(columns).all(|(a, b)| same_indices(a, b));
            if !same {
                let why = "an element is stored and the one across the diagonal is not, so the pattern lacks the symmetry \
                           asked for: prune() drops stored zeros";
                return Err(error::invalid("symmetry", why));
            }
            other
        }
    };
    let place = |entry: usize| match columns {
        [rows, cols] => (rows.get(entry), cols.get(entry)),
        _ => (entry % size, entry / size),
    };
    let mut keep = Vec::new();
    for entry in 0..values.len() {
        let (row, col) = place(entry);
        let (here, there) = (values.get(&[entry]), other.get(&[entry]));
        if !mirrors(here, there, symmetry, row == col) {
            let why = format!(
                "[{row}, {col}] is {here} and [{col}, {row}] is {there}, which is not the symmetry asked for: \
                 write the file as general"
            );
            return Err(error::invalid("symmetry", why));
        }
        if row > col || (row == col && symmetry != Symmetry::SkewSymmetric) {
            keep.push(entry);
        }
    }
    Ok(Some(keep))
}

fn same_indices(a: &Indices, b: &Indices) -> bool {
    a.len() == b.len() && (0..a.len()).all(|i| a.get(i) == b.get(i))
}

/// Whether two values across the diagonal, or one on it, are as a symmetry wants them: NaN like NaN, −0 like 0.
fn mirrors(a: Scalar, b: Scalar, symmetry: Symmetry, diagonal: bool) -> bool {
    let eq = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
    match (symmetry, a.widen(), b.widen()) {
        (Symmetry::General, ..) => true,
        (Symmetry::SkewSymmetric, ..) if diagonal => a.is_zero(),
        (Symmetry::Hermitian, Wide::Complex(_, im), _) if diagonal => im == 0.0,
        (Symmetry::SkewSymmetric, Wide::Signed(a), Wide::Signed(b)) => a.checked_neg() == Some(b),
        (Symmetry::SkewSymmetric, Wide::Unsigned(a), Wide::Unsigned(b)) => a == 0 && b == 0,
        (Symmetry::SkewSymmetric, Wide::Float(a), Wide::Float(b)) => eq(a, -b),
        (Symmetry::SkewSymmetric, Wide::Complex(a, i), Wide::Complex(b, j)) => eq(a, -b) && eq(i, -j),
        (Symmetry::Hermitian, Wide::Complex(a, i), Wide::Complex(b, j)) => eq(a, b) && eq(i, -j),
        (_, Wide::Float(a), Wide::Float(b)) => eq(a, b),
        (_, Wide::Complex(a, i), Wide::Complex(b, j)) => eq(a, b) && eq(i, j),
        (_, a, b) => a == b,
    }
}
