//! Slices of arrays over their norms, where slices lie in rows or in columns: each element is read twice and written once.

use openwork_ops::{BinaryOp, DType, Element, cast};

use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, count};
use crate::family::reduce;

/// Elements that are on their way in `float64` at a time.
const AT_ONCE: usize = 512;

/// Rows that are shorter have their factors written out, so that many go by at once.
const SHORT: usize = 64;

/// How the norms of slices lie beside an array in C order.
enum Beside {
    /// One for as many elements as follow each other.
    Rows(usize),
    /// As many as repeat.
    Columns(usize),
}

/// Writes the factors of the elements from `at` on, of rows of `n`.
fn spread(factors: &[f64], at: usize, n: usize, mut to: &mut [f64]) {
    let (mut row, mut left) = (at / n, n - at % n);
    while !to.is_empty() {
        let (own, rest) = to.split_at_mut(left.min(to.len()));
        own.fill(factors[row]);
        (to, row, left) = (rest, row + 1, n);
    }
}

/// Slices along some axes divided by their Euclidean norms, or by `eps` where that is more, computed in `float64`. `None` of an array in
/// another order, of axes between others, and where a square may overflow or vanish.
///
/// # Errors
/// If memory cannot hold the result.
pub(super) fn vectors(x: &Strided, eps: f64, axes: &[usize]) -> Result<Option<Strided>> {
    let (out, n) = (x.dtype.to_inexact(), axes.len());
    let beside = match x.ndim() - n {
        first if (first..x.ndim()).all(|axis| axes.contains(&axis)) => Beside::Rows(count(&x.shape[first..])),
        _ if (0..n).all(|axis| axes.contains(&axis)) => Beside::Columns(count(&x.shape[n..])),
        _ => return Ok(None),
    };
    if x.dtype.is_complex() {
        return Ok(None);
    }
    // Of narrower numbers a product with the inverse is rounded to the same; none of their norms has an infinite inverse, though `eps` may.
    let is_divided = out == DType::F64 || eps < f64::MIN_POSITIVE;
    let op = if is_divided { BinaryOp::Div } else { BinaryOp::Mul };
    let (Some(bytes), Some(combine)) = (x.contiguous_bytes(), op.kernel(DType::F64)) else { return Ok(None) };
    let Some(norms) = reduce::norms(x, axes)? else { return Ok(None) };
    let divisor = |norm: &f64| if *norm < eps { eps } else { *norm };
    let factor = |norm: &f64| if is_divided { divisor(norm) } else { 1.0 / divisor(norm) };
    let mut factors: Vec<f64> = norms.core().typed::<f64>().unwrap_or_default().iter().map(factor).collect();
    let beside = match beside {
        // Of few columns as many rows as are worth a step.
        Beside::Columns(n) if n < AT_ONCE => {
            factors = factors.repeat(AT_ONCE / n);
            Beside::Columns(factors.len())
        }
        other => other,
    };
    let (size, width, is_single) = (x.dtype.size(), out.size(), x.dtype == DType::F32 && !is_divided);
    let done = Buffer::filled(x.len() * width, width, |all| {
        parallel::for_chunks_mut(all, width, GRAIN, &|first, all| {
            let [mut wide, mut found, mut own] = [[0f64; AT_ONCE]; 3];
            let (mut at, mut rest) = (first, all);
            while !rest.is_empty() {
                // Up to where a row, or the columns, end.
                let left = AT_ONCE.min(rest.len() / width);
                let (factors, most) = match beside {
                    Beside::Rows(n) if n < SHORT => {
                        spread(&factors, at, n, &mut own[..left]);
                        (&own[..], left)
                    }
                    Beside::Rows(n) => (&factors[at / n..][..1], n - at % n),
                    Beside::Columns(n) => (&factors[at % n..], n - at % n),
                };
                let n = most.min(left);
                let (piece, others) = rest.split_at_mut(n * width);
                let (values, factors) = (&bytes[at * size..(at + n) * size], &factors[..n.min(factors.len())]);
                if is_single {
                    cast::scale_singles(f32::from_bytes(values), factors, f32::from_bytes_mut(piece));
                } else {
                    let (wide, found) = (&mut wide[..n], &mut found[..n]);
                    cast::cast_block(x.dtype, values, DType::F64, bytemuck::cast_slice_mut(wide));
                    combine(bytemuck::cast_slice(wide), bytemuck::cast_slice(factors), bytemuck::cast_slice_mut(found));
                    cast::cast_block(DType::F64, bytemuck::cast_slice(found), out, piece);
                }
                (at, rest) = (at + n, others);
            }
        });
    })?;
    Ok(Some(Strided::new(done, out, x.shape.clone())))
}
