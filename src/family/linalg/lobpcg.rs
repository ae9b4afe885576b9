//! A few eigenvalues at an end of the spectrum, with a preconditioner: locally optimal block conjugate gradients.

use std::cell::Cell;
use std::ops::ControlFlow;

use openwork_ops::{DType, c128};

use super::basis::{Basis, Small, ZERO, apart, eigen, side_by_side, turn};
use super::block::Block;
use super::lanczos::{Eigenpairs, Which};
use super::operator::Operator;
use super::options::{Options, Progress};
use super::report::{Report, Stop};
use super::system::{Applied, working_dtype};
use crate::base::error::{self, Result};
use crate::base::memory;
use crate::tensor::Tensor;
use crate::tensor::trace;

/// `k` eigenvalues at the upper or lower end of the spectrum of a Hermitian operator, with their eigenvectors, by a method
/// that takes a preconditioner: an operator near to the inverse of `a`, Hermitian and positive definite.
///
/// The operator is applied to `k` vectors at once, of shape `(n, k)`. [`Options::start`] gives the first ones, of that
/// shape; [`Options::max_iterations`] is 1000 if nothing is said; [`Options::tolerance`] says how large residuals may be
/// beside the greatest magnitude of an eigenvalue that was seen.
///
/// Algorithm: Knyazev (2001), in the basis of Hetmaniuk and Lehoucq (2006), which stays orthonormal. Cost per iteration:
/// one product with `a` and one with the preconditioner, for `k` vectors each, and O(n k²). Memory: `6 k` vectors.
///
/// ```
/// use openwork::linalg::{self, Options, Which};
/// use openwork::{Layout, Tensor, tensor};
///
/// let stencil = tensor![[-1.0; 60], [2.0; 60], [-1.0; 60]];
/// let a = Tensor::from_diagonals([60, 60], &stencil, &[-1, 0, 1], 0.0)?.to_layout(Layout::Csr)?;
/// let inverse = linalg::cholesky(&a)?; // the best preconditioner there is
/// let options = Options::default().preconditioner(&inverse);
/// let found = linalg::lobpcg(&a, 2, Which::Smallest, options)?;
/// assert!(found.report.iterations < 30);
/// let (values, _) = found.converged()?;
/// let exact = (std::f64::consts::PI / 122.0).sin().powi(2) * 4.0;
/// assert!((values.get([0])?.map_or(0.0, |v| v.to::<f64>()) - exact).abs() < 1e-12);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If the operator is not square, `3 k` is more than the number of rows, `which` is not an end of the spectrum, a start or
/// preconditioner has another shape; if memory does not hold the vectors, or a product fails. That it does not converge is
/// no error: see [`Eigenpairs::converged`].
pub fn lobpcg(a: &dyn Operator, k: usize, which: Which, mut options: Options<'_>) -> Result<Eigenpairs> {
    let call = trace::call("lobpcg", &[]);
    options.has_no_use_for(&["restart", "absolute_tolerance"])?;
    let [m, n] = a.shape();
    if m != n {
        return Err(error::shape(&[&[m, n]], "the operator must be square"));
    }
    if k == 0 || k.saturating_mul(3) > n {
        let why = format!("is {k}; from 1 to {} can be found, a third of the rows; eigsh and eigh find more", n / 3);
        return Err(error::invalid("k", why));
    }
    let sign = match which {
        Which::Largest => -1.0,
        Which::Smallest => 1.0,
        Which::LargestMagnitude => {
            return Err(error::invalid(
                "which",
                "must be an end of the spectrum, Largest or Smallest; eigsh finds others",
            ));
        }
    };
    let mut dtypes = vec![a.dtype()];
    if let Some(p) = options.preconditioner {
        if p.shape() != [n, n] {
            return Err(error::shape(&[&[n, n], &p.shape()], "the preconditioner must have the shape of the operator"));
        }
        dtypes.push(p.dtype());
    }
    if let Some(x) = options.start {
        if x.shape() != [n, k] {
            return Err(error::shape(&[&[n, k], x.shape()], "the start must have a column for each vector"));
        }
        dtypes.push(x.dtype());
    }
    let dtype = working_dtype(&dtypes)?;
    let is_complex = dtype.is_complex();
    let width = if is_complex { DType::Complex128.size() } else { DType::F64.size() };
    memory::room(&[n, k], "the vectors that are kept", &[n, k, 8], width, "ask for fewer")?;
    let (tolerance, _) = options.tolerances(dtype)?;
    let limit = options.iterations(1000);
    let ready = a.ready()?;
    let a = ready.as_deref().unwrap_or(a);
    let applied = |operator, name| Applied { operator, name, dtype, is_vector: false, count: Cell::new(0) };
    let operator = applied(a, "a");
    let preconditioner = options.preconditioner.map(|p| applied(p, "preconditioner"));
    let apply = |x: &[Block]| -> Result<Vec<Block>> { apart(&operator.apply(&side_by_side(x)?)?) };

    // Vectors, in this order: the eigenvectors so far, the directions of the last step, the preconditioned residuals.
    let mut basis = Basis::new(n, is_complex);
    match options.start {
        Some(x) => {
            for column in apart(&Block::of(x, n, k, is_complex)?)? {
                basis.push(column)?;
            }
        }
        None => while basis.vectors.len() < k && basis.push_random()? {},
    }
    let mut images = apply(&basis.vectors)?;
    let (mut scale, mut history, mut iterations) = (0f64, Vec::new(), 0);
    let (values, residuals, stop) = loop {
        // The operator between the vectors, and the best that they hold.
        let h: Small = images
            .iter()
            .enumerate()
            .map(|(j, image)| basis.vectors[..=j].iter().map(|v| v.dots(image)[0] * sign).collect())
            .collect();
        if h.iter().flatten().any(|v| !v.re.is_finite() || !v.im.is_finite()) {
            basis.vectors.truncate(k);
            break (vec![f64::NAN; k], vec![f64::NAN; k], Stop::NanResidual);
        }
        let (all, vectors) = eigen(&h, is_complex)?;
        scale = all.iter().fold(scale, |m, v| m.max(v.abs()));
        let unit = if scale > 0.0 { scale } else { 1.0 };
        let mut by: Small = vectors[..k].to_vec();
        by.extend(directions(&by, k));
        turn(&mut basis.vectors, &by);
        turn(&mut images, &by);
        let mut rest = Vec::with_capacity(k);
        for j in 0..k {
            let mut r = images[j].clone();
            r.add_scaled(&[c128::new(-sign * all[j], 0.0)], &basis.vectors[j]);
            rest.push(r);
        }
        let residuals: Vec<f64> = rest.iter().map(|r| r.norms()[0] / unit).collect();
        let worst = residuals.iter().fold(0f64, |m, &r| if r > m || r.is_nan() { r } else { m });
        let is_over = iterations > 0 && {
            history.push(worst);
            let progress = Progress { iteration: iterations, residuals: &residuals };
            options.callback.as_mut().is_some_and(|call| call(&progress) == ControlFlow::Break(()))
        };
        let stop = if worst.is_nan() {
            Some(Stop::NanResidual)
        } else if worst <= tolerance {
            Some(Stop::Converged)
        } else if is_over {
            Some(Stop::Callback)
        } else if iterations >= limit {
            Some(Stop::MaxIterations)
        } else {
            None
        };
        if let Some(stop) = stop {
            basis.vectors.truncate(k);
            break (all[..k].iter().map(|v| v * sign).collect(), residuals, stop);
        }
        iterations += 1;
        // Residuals that are small enough give no direction but rounding.
        let open: Vec<Block> =
            rest.into_iter().zip(&residuals).filter(|(_, r)| **r > 0.1 * tolerance).map(|(r, _)| r).collect();
        let open = match &preconditioner {
            Some(p) => apart(&p.apply(&side_by_side(&open)?)?)?,
            None => open,
        };
        let known = basis.vectors.len();
        for w in open {
            if basis.vectors.len() < n {
                basis.push(w)?;
            }
        }
        images.extend(apply(&basis.vectors[known..])?);
    };
    // Images are carried along from step to step; residuals are told from new ones.
    let (mut residuals, mut stop) = (residuals, stop);
    if stop != Stop::NanResidual {
        let unit = if scale > 0.0 { scale } else { 1.0 };
        for (((image, v), value), residual) in
            apply(&basis.vectors)?.iter_mut().zip(&basis.vectors).zip(&values).zip(&mut residuals)
        {
            image.add_scaled(&[c128::new(-value, 0.0)], v);
            *residual = image.norms()[0] / unit;
        }
        if stop == Stop::Converged && residuals.iter().any(|&r| r > 2.0 * tolerance) {
            stop = Stop::Stagnation;
        }
    }
    let report = Report { method: "lobpcg", stop, iterations, products: operator.count.get(), residuals, history };
    // Rising.
    let mut places: Vec<usize> = (0..k).collect();
    places.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let ordered: Vec<f64> = places.iter().map(|&i| values[i]).collect();
    let vectors: Vec<Block> = places.iter().map(|&i| basis.vectors[i].clone()).collect();
    let report = Report { residuals: places.iter().map(|&i| report.residuals[i]).collect(), ..report };
    let values = Tensor::from_vec([k], ordered)?.cast(dtype.real())?;
    let vectors = side_by_side(&vectors)?.tensor(dtype, false);
    Ok(call.done(Eigenpairs { values, vectors, report }))
}

/// Combinations of the vectors for the directions of this step: what the new eigenvectors have beyond the old ones, made
/// orthonormal to the new ones and to each other.
fn directions(by: &[Vec<c128>], k: usize) -> Small {
    let length = by.first().map_or(0, Vec::len);
    if length <= k {
        return Vec::new();
    }
    let mut all: Small = by.to_vec();
    let mut out = Vec::new();
    for column in by {
        let mut p = column.clone();
        p[..k].fill(ZERO);
        let before = norm(&p);
        for _ in 0..2 {
            for v in &all {
                let along: c128 = v.iter().zip(&p).map(|(v, p)| v.conj() * p).sum();
                p.iter_mut().zip(v).for_each(|(p, v)| *p -= along * v);
            }
        }
        let left = norm(&p);
        if left > 1e-8 * before && left > 1e-300 {
            p.iter_mut().for_each(|p| *p /= left);
            all.push(p.clone());
            out.push(p);
        }
    }
    out
}

fn norm(x: &[c128]) -> f64 {
    x.iter().map(|v| v.norm_sqr()).sum::<f64>().sqrt()
}
