//! Products of strided operands: the `gemm` crate for floats, our own rows for everything else.
#![allow(unsafe_code)] // the crate's entry points take raw pointers; the call says why they are in bounds

use openwork_ops::matmul::array_vector::Number;
use openwork_ops::{DType, DTypeKind, Element, c64, c128};

use super::operand::Field;
use super::rows::{Parts, Pass};
use super::{Way, array_dots, array_vector};
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::parallel;
use crate::base::strided::{Shape, Strided};
use crate::engine::convert;

/// Rows of the result that one call computes: fixed, so that results do not depend on threads.
const PANEL: usize = 256;

/// Products of numbers that one call takes at least, where rows are short.
const LITTLE: usize = 1 << 14;

/// Columns of a result with few rows that one call computes.
const COLUMNS: usize = 1024;

/// The product in shape `(batch…, m, n)` of arrays of one dtype whose leading axes broadcast.
pub(super) fn product(a: &Strided, b: &Strided, way: Way, shape: &[usize]) -> Result<Strided> {
    let dtype = way.dtype;
    convert::dense_len(shape, way.output())?;
    let (batch, [m, n]) = (&shape[..shape.len() - 2], [shape[shape.len() - 2], shape[shape.len() - 1]]);
    let k = a.shape[a.ndim() - 1];
    if k == 0 {
        return Ok(Strided::constant(way.zero(), shape));
    }
    let full = |x: &Strided| {
        let own: Shape = batch.iter().chain(&x.shape[x.ndim() - 2..]).copied().collect();
        x.broadcast(&own)
    };
    let (a, b) = (full(a), full(b));
    let via = match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        other => other,
    };
    let is_inexact = matches!(dtype.kind(), DTypeKind::Float | DTypeKind::Complex);
    let (a, b) = if way.is_sum() && is_inexact { (a.cast(via), b.cast(via)) } else { (a, b) };
    if way.is_sum()
        && let Some(out) = array_dots::product(&a, &b, shape, false)?
    {
        return Ok(out.cast(dtype));
    }
    if !way.is_sum() || !is_inexact {
        return rows(&a, &b, way, shape, k);
    }
    let out = match via {
        DType::F32 => floats::<f32>(&a, &b, [m, k, n], batch, shape)?,
        DType::F64 => floats::<f64>(&a, &b, [m, k, n], batch, shape)?,
        DType::Complex64 => floats::<c64>(&a, &b, [m, k, n], batch, shape)?,
        _ => floats::<c128>(&a, &b, [m, k, n], batch, shape)?,
    };
    Ok(out.cast(dtype))
}

/// By rows of our own.
fn rows(a: &Strided, b: &Strided, Way { dtype, carrier, .. }: Way, shape: &[usize], k: usize) -> Result<Strided> {
    let (left, right) = (Field::new(a, carrier, dtype), Field::new(b, carrier, dtype));
    let pass = Pass {
        carrier,
        parts: Parts { backgrounds: true, ..Parts::default() },
        batch: shape[..shape.len() - 2].to_vec(),
        m: shape[shape.len() - 2],
        k,
        n: shape[shape.len() - 1],
        left: None,
        left_against: None,
        left_terms: None,
        right: None,
        left_field: Some(&left),
        right_field: Some(&right),
        init: None,
        mask: None,
    };
    let out = carrier.output(dtype);
    let finish = |acc: &[u8], to: &mut [u8]| carrier.finish(acc, out, to);
    Ok(Strided::new(pass.all_rows(&finish, out.size())?, out, shape.to_vec()))
}

/// One matrix of a batch: where it begins and its strides, in elements.
#[derive(Clone, Copy)]
struct Matrix<T> {
    at: *const T,
    row: isize,
    col: isize,
}

fn floats<T: Float>(
    a: &Strided,
    b: &Strided,
    [m, k, n]: [usize; 3],
    batch: &[usize],
    shape: &[usize],
) -> Result<Strided> {
    if let Some(out) = array_vector::product::<T>(a, b, shape)? {
        return Ok(out);
    }
    let size = T::DTYPE.size();
    let buffer = Buffer::overwritten(crate::base::strided::count(shape) * size, size, |out| {
        if out.is_empty() {
            return;
        }
        let (of_a, of_b) = (T::from_bytes(a.buffer.bytes()), T::from_bytes(b.buffer.bytes()));
        if m <= PANEL && n > 2 * COLUMNS && batch.iter().product::<usize>() == 1 {
            return by_columns::<T>([m, k, n], T::from_bytes_mut(out), &|j| {
                (corner(of_a, a, batch, 0, 0), corner(of_b, &b.narrow(batch.len() + 1, j..n), batch, 0, 0))
            });
        }
        // Small matrices of a batch share a piece; a large one is cut into panels.
        let grain = if m > PANEL { PANEL.max(LITTLE / (k * n)) } else { m * ((1 << 20) / (m * k * n).max(1)).max(1) };
        parallel::for_chunks_mut(T::from_bytes_mut(out), n, grain, &|first, out| {
            let (mut at, end) = (first, first + out.len() / n);
            let mut rest = out;
            while at < end {
                let (matrix, i) = (at / m, at % m);
                let rows = (m - i).min(end - at);
                let (part, tail) = rest.split_at_mut(rows * n);
                let left = corner(of_a, a, batch, matrix, i);
                let right = corner(of_b, b, batch, matrix, 0);
                // SAFETY: `left` and `right` reach only elements of their arrays: every index below
                // (rows, k) and (k, n) from the corner is an index of the array, and a `Strided` holds
                // offsets of all its indices inside its buffer. `part` has rows · n elements in C order.
                unsafe { T::gemm([rows, k, n], part, left, right) };
                (rest, at) = (tail, at + rows);
            }
        });
    })?;
    Ok(Strided::new(buffer, T::DTYPE, shape))
}

/// A matrix of few rows, in panels of columns. `corners` gives the left operand, and the right one from a column
/// on.
fn by_columns<T: Float>(
    [m, k, n]: [usize; 3],
    out: &mut [T],
    corners: &(dyn Fn(usize) -> (Matrix<T>, Matrix<T>) + Sync),
) {
    let panels = parallel::map_chunks(n, COLUMNS, &|range| {
        let mut panel = vec![T::default(); m * range.len()];
        let (left, right) = corners(range.start);
        // SAFETY: `left` reaches (m, k) elements of its array and `right`, from a column of its array on,
        // those of the columns of this panel; `panel` has a row of these for each of m.
        unsafe { T::gemm([m, k, range.len()], &mut panel, left, right) };
        panel
    });
    for (p, panel) in panels.iter().enumerate() {
        let width = panel.len() / m;
        for (row, part) in out.chunks_exact_mut(n).zip(panel.chunks_exact(width)) {
            row[p * COLUMNS..p * COLUMNS + width].copy_from_slice(part);
        }
    }
}

/// Matrix `b` of an array from row `i` on.
fn corner<T>(elements: &[T], x: &Strided, batch: &[usize], b: usize, i: usize) -> Matrix<T> {
    let lead = batch.len();
    let mut at = x.offset as isize + i as isize * x.strides[lead];
    let mut rest = b;
    for (&size, &stride) in batch.iter().zip(&x.strides).rev() {
        at += (rest % size) as isize * stride;
        rest /= size;
    }
    Matrix { at: elements[at as usize..].as_ptr(), row: x.strides[lead], col: x.strides[lead + 1] }
}

trait Float: Number + Element {
    /// `out = left · right`, `out` in C order.
    ///
    /// # Safety
    /// `left` must reach (rows, k) elements and `right` (k, n) elements of live memory; `out` must have
    /// rows · n elements.
    unsafe fn gemm(sizes: [usize; 3], out: &mut [Self], left: Matrix<Self>, right: Matrix<Self>);
}

macro_rules! float {
    ($($ty:ty: $zero:expr, $one:expr;)+) => {$(
        impl Float for $ty {
            unsafe fn gemm([m, k, n]: [usize; 3], out: &mut [$ty], left: Matrix<$ty>, right: Matrix<$ty>) {
                debug_assert_eq!(out.len(), m * n);
                // SAFETY: the caller's promise; `out` is not read (`read_dst` is false) and borrowed alone.
                unsafe {
                    gemm::gemm(
                        m, n, k,
                        out.as_mut_ptr(), 1, n as isize, false,
                        left.at, left.col, left.row,
                        right.at, right.col, right.row,
                        $zero, $one, false, false, false,
                        gemm::Parallelism::None,
                    );
                }
            }
        }
    )+};
}
float! {
    f32: 0.0, 1.0;
    f64: 0.0, 1.0;
    c64: c64::new(0.0, 0.0), c64::new(1.0, 0.0);
    c128: c128::new(0.0, 0.0), c128::new(1.0, 0.0);
}
