//! A few singular values of what is large.

use std::cell::Cell;

use openwork_ops::c128;

use super::basis::{Basis, Small, side_by_side, singular, turn};
use super::block::Block;
use super::lanczos::{Problem, Which};
use super::operator::Operator;
use super::options::Options;
use super::report::Report;
use super::system::{Applied, working_dtype};
use crate::base::error::Result;
use crate::tensor::Tensor;
use crate::tensor::trace::{self, Outcome};

/// What [`svds`] gives: as good as it found it, and how good that is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SingularTriplets {
    /// Left singular vectors in columns, orthonormal, `(m, k)`.
    pub u: Tensor,
    /// Singular values, falling, `(k)`; real.
    pub s: Tensor,
    /// Right singular vectors in rows, conjugated, `(k, n)`.
    pub vh: Tensor,
    /// What happened; residuals are `‖aᴴ u - s v‖` beside the greatest singular value (`a v = s u` holds to rounding).
    pub report: Report,
}

impl SingularTriplets {
    /// `u`, `s` and `vh`, if the method converged.
    ///
    /// ```
    /// use openwork::linalg::{self, Options};
    /// use openwork::{Layout, tensor};
    /// let a = tensor![[2.0, 0.0], [0.0, 5.0], [0.0, 0.0]; Layout::Csr, 0.0]?;
    /// let (u, s, vh) = linalg::svds(&a, 1, Options::default())?.converged()?;
    /// assert!(s.allclose(&tensor![5.0], 1e-9, 0.0)?);
    /// assert_eq!((u.shape(), vh.shape()), (&[3, 1][..], &[1, 2][..]));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it did not; the error says why it stopped.
    pub fn converged(self) -> Result<(Tensor, Tensor, Tensor)> {
        self.report.check()?;
        Ok((self.u, self.s, self.vh))
    }
}

impl Outcome for SingularTriplets {
    fn is_dense(&self) -> bool {
        true
    }

    fn in_words(&self) -> String {
        self.report.to_string()
    }
}

/// The `k` greatest singular values of an operator, with their vectors: `a ≈ u · diag(s) · vh`, the nearest of rank `k`.
///
/// Principal components are those of `a - a.mean(keep(0))`, which is sparse for a sparse `a`: its fill varies by column.
///
/// Algorithm: Lanczos's method ([`eigsh`](super::eigsh)) for `aᴴ a`, or `a aᴴ` where that is smaller, then the singular
/// values of `a` on the space found, so that they are not the roots of what was rounded. Vectors of singular values far
/// below the greatest (10⁻⁵ of it, in `float64`) stay above a tolerance of 10⁻¹⁰, which the report then says.
/// [`Options::restart`] and the others as there. Cost: two products in each iteration, one with `a` and one with its
/// conjugate transpose; `k` vectors of the longer side, at the end, and `restart` of the shorter one.
///
/// ```
/// use openwork::linalg::{self, Options};
/// use openwork::{Layout, keep, tensor};
///
/// let counts = tensor![[5, 0, 0], [4, 1, 0], [0, 0, 3], [0, 1, 4]; Layout::Csr, 0]?;
/// let x = counts.cast(openwork::DType::F64)?;
/// let centred = (&x - x.mean(keep(0))?)?; // sparse still
/// let (u, s, vh) = linalg::svds(&centred, 2, Options::default())?.converged()?;
/// assert!((s.get([0])?.map_or(0.0, |v| v.to::<f64>()) - 5.746).abs() < 1e-3);
/// assert_eq!((u.shape(), vh.shape()), (&[4, 2][..], &[2, 3][..]));
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If `k` is 0 or more than the shorter side, or `restart` is not above `k`; if the operator does not multiply by its
/// conjugate transpose, memory does not hold the vectors, or a product fails. That it does not converge is no error: see
/// [`SingularTriplets::converged`].
#[doc(alias("pca", "truncated_svd"))]
pub fn svds(a: &dyn Operator, k: usize, options: Options<'_>) -> Result<SingularTriplets> {
    let call = trace::call("svds", &[]);
    options.has_no_use_for(&["preconditioner", "absolute_tolerance"])?;
    let [m, n] = a.shape();
    let dtype = working_dtype(&[a.dtype()])?;
    let is_complex = dtype.is_complex();
    let ready = a.ready()?;
    let a = ready.as_deref().unwrap_or(a);
    let applied = Applied { operator: a, name: "a", dtype, is_vector: true, count: Cell::new(0) };
    let is_tall = m >= n;
    let forth = |x: &Block| if is_tall { applied.apply(x) } else { applied.apply_adjoint(x) };
    let back = |x: &Block| if is_tall { applied.apply_adjoint(x) } else { applied.apply(x) };
    let (short, long) = if is_tall { (n, m) } else { (m, n) };
    let gram = Problem {
        n: short,
        k,
        which: Which::Largest,
        is_complex,
        dtype,
        apply: &|x| back(&forth(x)?),
        // Of a singular value, from that of its square; what is rounding there is not told as anything.
        told: &|residual, square| {
            if residual <= 8.0 * f64::EPSILON { 0.0 } else { residual / square.max(f64::EPSILON).sqrt() }
        },
    };
    let mut found = gram.run(options)?;
    // The greatest first, so that what is taken off vectors is never larger than they are.
    found.basis.vectors.reverse();
    let mut left = Basis::new(long, is_complex);
    let mut triangle: Small = Vec::new();
    for (j, v) in found.basis.vectors.iter().enumerate() {
        let (mut column, size) = left.push(forth(v)?)?;
        column.truncate(j);
        column.push(c128::new(size, 0.0));
        triangle.push(column);
    }
    let is_known = triangle.iter().flatten().all(|v| v.re.is_finite() && v.im.is_finite());
    let values = if is_known {
        let (values, p, q) = singular(&triangle, is_complex)?;
        turn(&mut left.vectors, &p);
        turn(&mut found.basis.vectors, &q);
        values
    } else {
        vec![f64::NAN; k]
    };
    let greatest = values.first().copied().filter(|&s| s > 0.0).unwrap_or(1.0);
    let mut residuals = Vec::with_capacity(k);
    for ((u, v), &s) in left.vectors.iter().zip(&found.basis.vectors).zip(&values) {
        let mut r = back(u)?;
        r.add_scaled(&[c128::new(-s, 0.0)], v);
        residuals.push(r.norms()[0] / greatest);
    }
    let report = found.report("svds", residuals, applied.count.get());
    let (u, v) = if is_tall { (&left.vectors, &found.basis.vectors) } else { (&found.basis.vectors, &left.vectors) };
    let u = side_by_side(u)?.tensor(dtype, false);
    let vh = side_by_side(v)?.tensor(dtype, false).matrix_transpose()?;
    let vh = if is_complex { vh.conj()? } else { vh };
    let s = Tensor::from_vec([k], values)?.cast(dtype.real())?;
    Ok(call.done(SingularTriplets { u, s, vh, report }))
}
