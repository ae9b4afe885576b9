//! The other triangle of a matrix of which a file holds one.

use openwork_ops::with_dtype;

use super::types::{Symmetry, Triangle};
use super::warning::Warning;
use crate::base::strided::Strided;
use crate::io::fault::{Res, bad};
use crate::tensor::fill::Fill;
use crate::{DType, Scalar, Tensor, UnaryOp};

/// Adds the mirrored elements.
pub(crate) fn expand(x: &Tensor, symmetry: Symmetry, lenient: bool, warnings: &mut Vec<Warning>) -> Res<Tensor> {
    let dtype = x.dtype();
    let mirror = match symmetry {
        Symmetry::Symmetric(_) => None,
        Symmetry::Hermitian(_) if dtype.is_complex() => Some(UnaryOp::Conj),
        Symmetry::Hermitian(_) => return bad(format!("`structure` is hermitian, the values are {dtype}")),
        Symmetry::SkewSymmetric(_) if dtype == DType::Bool || dtype.is_unsigned() => {
            return bad(format!("`structure` is skew-symmetric, the values are {dtype}"));
        }
        Symmetry::SkewSymmetric(_) => Some(UnaryOp::Neg),
    };
    check_fill(x, mirror)?;
    let (Some(spec), [rows, cols]) = (x.level_spec(), triangle(x)?) else {
        return bad("a `structure` on a dense format, which holds both triangles");
    };
    let inside = |i: usize| match symmetry.triangle() {
        Triangle::Lower => rows[i] >= cols[i],
        Triangle::Upper => rows[i] <= cols[i],
    };
    if let Some(at) = (0..rows.len()).find(|&i| !inside(i)) {
        return bad(format!(
            "entry {at} at [{}, {}] lies outside the triangle that `structure` names",
            rows[at], cols[at]
        ));
    }
    let (off, on): (Vec<usize>, Vec<usize>) = (0..rows.len()).partition(|&i| rows[i] != cols[i]);
    let values = x.stored_values().to_contiguous()?;
    let diagonal = gather(&values, &on)?;
    if matches!(symmetry, Symmetry::SkewSymmetric(_)) && !all_zero(&diagonal) {
        if !lenient {
            return bad("the diagonal of a skew-symmetric matrix is not zero");
        }
        warnings.push(Warning::SkewDiagonal);
    }
    if matches!(symmetry, Symmetry::Hermitian(_)) && !all_zero(&diagonal.unary(UnaryOp::Imag)?) {
        return bad("the diagonal of a hermitian matrix is not real");
    }
    let mirrored = gather(&values, &off)?;
    let mirrored = match mirror {
        None => mirrored,
        Some(op) => negated(&mirrored, op)?,
    };
    let n = rows.len() + off.len();
    let all = joined(&values, &mirrored, n)?;
    let with =
        |own: &[u64], other: &[u64]| -> Vec<u64> { own.iter().copied().chain(off.iter().map(|&i| other[i])).collect() };
    let indices = vec![with(&rows, &cols), with(&cols, &rows)];
    let fill = x.fill().cloned().unwrap_or(Fill::Undefined);
    Ok(Tensor::coo(x.shape(), indices, &all, fill)?.to_levels(&spec)?)
}

fn triangle(x: &Tensor) -> Res<[Vec<u64>; 2]> {
    let mut coordinates = x.coordinates();
    coordinates.sort_by_key(|c| c.0);
    let mut columns = coordinates.into_iter().map(|c| c.1);
    match (columns.next(), columns.next()) {
        (Some(rows), Some(cols)) => Ok([rows, cols]),
        _ => bad("a `structure` on a format with dense rows, which hold both triangles"),
    }
}

/// The fill must mirror to itself.
fn check_fill(x: &Tensor, mirror: Option<UnaryOp>) -> Res<()> {
    let Some(Fill::Scalar(fill)) = x.fill() else { return Ok(()) };
    let fits = match mirror {
        None => true,
        Some(UnaryOp::Conj) => Tensor::scalar(*fill).unary(UnaryOp::Imag)?.item()?.is_zero(),
        Some(_) => fill.is_zero(),
    };
    if fits { Ok(()) } else { bad(format!("the fill {fill} does not have the symmetry of the matrix")) }
}

fn gather(values: &Tensor, at: &[usize]) -> Res<Tensor> {
    with_dtype!(values.dtype(), T => {
        let all = values.values::<T>()?;
        Ok(Tensor::from_strided(Strided::from_vec::<T>(at.iter().map(|&i| all[i]).collect(), vec![at.len()])))
    })
}

fn joined(a: &Tensor, b: &Tensor, n: usize) -> Res<Tensor> {
    with_dtype!(a.dtype(), T => {
        let all: Vec<T> = [a.values::<T>()?, b.values::<T>()?].concat();
        Ok(Tensor::from_strided(Strided::from_vec::<T>(all, vec![n])))
    })
}

fn all_zero(values: &Tensor) -> bool {
    with_dtype!(values.dtype(), T => {
        values.values::<T>().is_ok_and(|v| v.iter().all(|&v| Scalar::from(v).is_zero()))
    })
}

/// The mirrored values; the negative of the least integer does not exist.
fn negated(values: &Tensor, op: UnaryOp) -> Res<Tensor> {
    let out = values.unary(op)?.to_contiguous()?;
    if out.dtype().is_int() {
        let same = with_dtype!(out.dtype(), T => {
            values.values::<T>()?.iter().zip(out.values::<T>()?).any(|(&a, &b)| a == b && !Scalar::from(a).is_zero())
        });
        if same {
            return bad(format!("a value of a skew-symmetric matrix has no negative in {}", out.dtype()));
        }
    }
    Ok(out)
}
