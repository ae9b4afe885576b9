//! Factors of strided matrices, one or many: QR, eigenvalues of Hermitian matrices, singular values.

use faer::{MatRef, Side};

use super::number::{Matrices, Number, rows_of, with_number};
use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::base::{memory, parallel};
use crate::tensor::Tensor;
use crate::tensor::trace::{self, Outcome};

/// What [`qr`] gives.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Qr {
    /// Orthonormal columns, `(…, m, min(m, n))`.
    pub q: Tensor,
    /// An upper triangle, `(…, min(m, n), n)`.
    pub r: Tensor,
}

/// What [`eigh`] gives.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Eigh {
    /// Eigenvalues, rising, `(…, n)`; real.
    pub values: Tensor,
    /// Eigenvectors in columns, orthonormal, `(…, n, n)`.
    pub vectors: Tensor,
}

/// What [`svd`] gives.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Svd {
    /// Left singular vectors in columns, `(…, m, min(m, n))`.
    pub u: Tensor,
    /// Singular values, falling, `(…, min(m, n))`; real.
    pub s: Tensor,
    /// Right singular vectors in rows, conjugated, `(…, min(m, n), n)`.
    pub vh: Tensor,
}

macro_rules! outcomes {
    ($($ty:ident: $($field:ident),*;)*) => {$(
        impl Outcome for $ty {
            fn is_dense(&self) -> bool {
                true
            }

            fn in_words(&self) -> String {
                [$(self.$field.summary()),*].join("; ")
            }
        }
    )*};
}
outcomes! { Qr: q, r; Eigh: values, vectors; Svd: u, s, vh; }

/// The factors `q r = a` of each matrix of a tensor, over its last two axes: orthonormal columns and an upper triangle,
/// both as narrow as the matrix lets them be.
///
/// The factors are strided, of the tensor's dtype as a float (half precision as `float32`), computed in `float64` by faer.
/// A sparse matrix is made dense within the densify budget; for least squares with one, see
/// [`least_squares`](super::least_squares). Cost: O(m n min(m, n)) each; many matrices are shared among threads.
///
/// ```
/// use openwork::{linalg, tensor};
/// let a = tensor![[3.0, 1.0], [4.0, 2.0]];
/// let f = linalg::qr(&a)?;
/// assert!(f.q.matmul(&f.r)?.allclose(&a, 1e-14, 0.0)?);
/// assert!((f.r.get([0, 0])?.map_or(0.0, |v| v.to::<f64>()).abs() - 5.0).abs() < 1e-14);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If there are not two axes, an element is absent, NaN or infinite, or the densify budget is too small.
pub fn qr(a: &Tensor) -> Result<Qr> {
    let call = trace::call("qr", &[a]);
    let a = Matrices::new(a, &[])?;
    let (m, n) = (a.rows, a.columns);
    let size = m.min(n);
    let shapes = [vec![m, size], vec![size, n]];
    let [q, r] = with_number!(a.dtype.is_complex(), T => each::<T, 2>(&a, &shapes, &|a, [q, r]| {
        let factors = a.qr();
        rows_of(factors.compute_thin_Q().as_ref(), q);
        rows_of(factors.thin_R(), r);
        Ok(())
    }))?;
    Ok(call.done(Qr { q, r }))
}

/// Eigenvalues and eigenvectors of each Hermitian matrix of a tensor, over its last two axes. Only the lower triangle is
/// looked at.
///
/// dtype, layouts, cost: as [`qr`]. A few eigenvalues of a large sparse matrix are [`eigsh`](super::eigsh)'s.
///
/// ```
/// use openwork::{linalg, tensor};
/// let e = linalg::eigh(&tensor![[2.0, 1.0], [1.0, 2.0]])?;
/// assert!(e.values.allclose(&tensor![1.0, 3.0], 1e-14, 0.0)?);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If the matrices are not square; else as [`qr`]. If faer's iteration does not converge.
pub fn eigh(a: &Tensor) -> Result<Eigh> {
    let call = trace::call("eigh", &[a]);
    let a = Matrices::new(a, &[])?;
    let n = a.rows;
    if n != a.columns {
        return Err(error::shape(&[&[n, a.columns]], "square matrices are needed"));
    }
    let shapes = [vec![n], vec![n, n]];
    let [values, vectors] = with_number!(a.dtype.is_complex(), T => each::<T, 2>(&a, &shapes, &|a, [s, u]| {
        let e = a.self_adjoint_eigen(Side::Lower).map_err(|_| unfinished())?;
        s.extend(e.S().column_vector().iter().copied());
        rows_of(e.U(), u);
        Ok(())
    }))?;
    Ok(call.done(Eigh { values: real(&values)?, vectors }))
}

/// Singular values and vectors of each matrix of a tensor, over its last two axes: `u · diag(s) · vh = a`, with as many
/// values as the shorter side is long.
///
/// dtype, layouts, cost: as [`qr`]. A few singular values of a large sparse matrix are [`svds`](super::svds)'s.
///
/// ```
/// use openwork::{linalg, tensor};
/// let f = linalg::svd(&tensor![[3.0, 0.0], [0.0, -4.0], [0.0, 0.0]])?;
/// assert!(f.s.allclose(&tensor![4.0, 3.0], 1e-14, 0.0)?);
/// assert_eq!((f.u.shape(), f.vh.shape()), (&[3, 2][..], &[2, 2][..]));
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`qr`]. If faer's iteration does not converge.
pub fn svd(a: &Tensor) -> Result<Svd> {
    let call = trace::call("svd", &[a]);
    let a = Matrices::new(a, &[])?;
    let (m, n) = (a.rows, a.columns);
    let size = m.min(n);
    let shapes = [vec![m, size], vec![size], vec![size, n]];
    let [u, s, vh] = with_number!(a.dtype.is_complex(), T => each::<T, 3>(&a, &shapes, &|a, [u, s, vh]| {
        let f = a.thin_svd().map_err(|_| unfinished())?;
        rows_of(f.U(), u);
        s.extend(f.S().column_vector().iter().copied());
        rows_of(f.V().adjoint().to_owned().as_ref(), vh);
        Ok(())
    }))?;
    Ok(call.done(Svd { u, s: real(&s)?, vh }))
}

fn unfinished() -> error::Error {
    error::invalid("a", "the iteration for its eigenvalues or singular values did not converge")
}

/// The real parts.
fn real(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() { x.real() } else { Ok(x.clone()) }
}

/// What a factorisation writes: its factors in C order, one after the other.
type Factor<'f, T, const N: usize> = &'f (dyn Fn(MatRef<'_, T>, &mut [Vec<T>; N]) -> Result<()> + Sync);

/// Factors of every matrix, in tensors of the shapes given behind the leading axes.
fn each<T: Number, const N: usize>(
    a: &Matrices,
    shapes: &[Vec<usize>; N],
    factor: Factor<'_, T, N>,
) -> Result<[Tensor; N]> {
    let count = a.count();
    let full = |shape: &Vec<usize>| [&a.batch[..], shape].concat();
    for shape in shapes {
        memory::dense_len(&full(shape), T::DTYPE)?;
    }
    // Small matrices in one task each would be nothing but hand-overs.
    let grain = (1usize << 12).div_ceil(a.rows.saturating_mul(a.columns).max(1));
    let is_empty = a.rows == 0 || a.columns == 0;
    let parts = parallel::map_chunks(if is_empty { 0 } else { count }, grain, &|which| {
        let mut out: [Vec<T>; N] = std::array::from_fn(|_| Vec::new());
        for i in which {
            factor(a.get(i), &mut out)?;
        }
        Ok::<_, error::Error>(out)
    });
    let mut all: [Vec<T>; N] = std::array::from_fn(|_| Vec::new());
    for part in parts {
        let part: [Vec<T>; N] = part?;
        all.iter_mut().zip(part).for_each(|(all, part)| all.extend(part));
    }
    let mut made = all.into_iter().zip(shapes).map(|(mut values, shape)| {
        let shape = full(shape);
        // Of empty matrices: no vectors, or those of nothing.
        values.resize(shape.iter().product(), T::ZERO);
        Tensor::from_strided(Strided::from_vec(values, shape).cast(a.dtype))
    });
    Ok(std::array::from_fn(|_| made.next().unwrap_or_else(|| Tensor::scalar(0.0))))
}
