//! The other triangle of a matrix of which a file holds one.

use openwork_ops::structure::IndexVec;

use super::types::{Symmetry, Triangle};
use crate::base::mapped::{Chosen, sort_short};
use crate::engine::convert::gather_values;
use crate::io::fault::{Res, bad};
use crate::io::warning::Warning;
use crate::tensor::fill::Fill;
use crate::{DType, Tensor, UnaryOp};

/// Adds the mirrored elements.
pub(crate) fn expand(x: &Tensor, symmetry: Symmetry, lenient: bool, warnings: &mut Vec<Warning>) -> Res<Tensor> {
    let dtype = x.dtype();
    let mirror = match symmetry {
        Symmetry::Symmetric(_) => None,
        Symmetry::Hermitian(_) if dtype.is_complex() => Some(UnaryOp::Conj),
        Symmetry::Hermitian(_) => return bad(format_args!("`structure` is hermitian, the values are {dtype}")),
        Symmetry::SkewSymmetric(_) if dtype == DType::Bool || dtype.is_unsigned() => {
            return bad(format_args!("`structure` is skew-symmetric, the values are {dtype}"));
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
        return bad(format_args!(
            "entry {at} at [{}, {}] lies outside the triangle that `structure` names",
            rows[at], cols[at]
        ));
    }
    let n = rows.len() as u64;
    let on = IndexVec::U64((0..n).chosen(|&i| rows[i as usize] == cols[i as usize]));
    let off = (0..n).chosen(|&i| rows[i as usize] != cols[i as usize]);
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
    let with = |own: &[u64], other: &[u64]| {
        let mut all = own.to_vec();
        all.extend(off.iter().map(|&i| other[i as usize]));
        all
    };
    let indices = vec![with(&rows, &cols), with(&cols, &rows)];
    let mirrored = gather(&values, &IndexVec::U64(off))?;
    let mirrored = match mirror {
        None => mirrored,
        Some(op) => negated(&mirrored, op)?,
    };
    let all = Tensor::concat(&[values, mirrored], 0)?;
    let fill = x.fill().cloned().unwrap_or(Fill::Undefined);
    Ok(Tensor::coo(x.shape(), indices, &all, fill)?.to_levels(&spec)?)
}

fn triangle(x: &Tensor) -> Res<[Vec<u64>; 2]> {
    let mut coordinates = x.coordinates();
    sort_short(&mut coordinates, |c| c.0);
    match <[_; 2]>::try_from(coordinates) {
        Ok([(_, rows), (_, cols)]) => Ok([rows, cols]),
        Err(_) => bad("a `structure` on a format with dense rows, which hold both triangles"),
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
    if fits { Ok(()) } else { bad(format_args!("the fill {fill} does not have the symmetry of the matrix")) }
}

fn gather(values: &Tensor, at: &IndexVec) -> Res<Tensor> {
    let Some(values) = values.strided() else { return bad("values that are not strided") };
    Ok(Tensor::from_strided(gather_values(values, at)?))
}

fn all_zero(values: &Tensor) -> bool {
    values.strided().is_some_and(|v| (0..v.len()).all(|i| v.get(&[i]).is_zero()))
}

/// The mirrored values; the negative of the least integer does not exist.
fn negated(values: &Tensor, op: UnaryOp) -> Res<Tensor> {
    let out = values.unary(op)?;
    if let (true, Some(own), Some(negative)) = (out.dtype().is_int(), values.strided(), out.strided())
        && (0..own.len()).any(|i| own.get(&[i]) == negative.get(&[i]) && !own.get(&[i]).is_zero())
    {
        return bad(format_args!("a value of a skew-symmetric matrix has no negative in {}", out.dtype()));
    }
    Ok(out)
}
