//! Conjugate gradients.

use openwork_ops::c128;

use super::block::Block;
use super::operator::Operator;
use super::options::Options;
use super::report::{Solution, Stop};
use super::system::{self, Ended, Tools, Watch};
use crate::base::error::Result;
use crate::tensor::Tensor;

/// Solves `a x = b` by conjugate gradients, for an operator that is Hermitian and positive definite, with a preconditioner
/// of the same kind. Neither is checked beforehand: what is found not to be positive definite ends with
/// [`Stop::Breakdown`].
///
/// `b` has shape `(n)`, or `(n, k)` for `k` right sides, which are solved for side by side, each with its own step lengths.
/// It may be sparse; the solution is strided.
///
/// Algorithm: Hestenes and Stiefel (1952), preconditioned as in Saad, *Iterative Methods for Sparse Linear Systems* (2003),
/// algorithm 9.1. Cost per iteration: one product with `a` and one with the preconditioner, O(n k) beside. Memory: five
/// vectors per right side.
///
/// ```
/// use openwork::linalg::{self, Options};
/// use openwork::{Layout, tensor};
///
/// let a = tensor![[4.0, 1.0], [1.0, 3.0]; Layout::Csr, 0.0]?;
/// let b = tensor![[1.0, 5.0], [2.0, 4.0]]; // two right sides
/// let solution = linalg::cg(&a, &b, Options::default())?;
/// assert_eq!(solution.report.residuals.len(), 2);
/// assert!(a.matmul(&solution.converged()?)?.allclose(&b, 1e-9, 0.0)?);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If the operator is not square, shapes do not go together, dtypes do not promote, `b` lacks elements (its fill is
/// undefined), `restart` is given, or a product fails. That it does not converge is no error: see [`Solution::converged`].
#[doc(alias("pcg", "conjugate_gradient"))]
pub fn cg(a: &dyn Operator, b: &Tensor, options: Options<'_>) -> Result<Solution> {
    let call = crate::tensor::trace::call("cg", &[b]);
    options.has_no_use_for(&["restart"])?;
    call.end(system::run("cg", a, b, options, 1, iterate))
}

fn iterate(tools: &Tools<'_, '_>, watch: &mut Watch<'_>, x: &mut Block, mut r: Block, _: usize) -> Result<Ended> {
    let mut z = tools.precondition(&r)?;
    let mut p = z.clone();
    let mut rz = r.dots(&z);
    let mut norms = r.norms();
    let mut is_broken = vec![false; r.k];
    loop {
        let is_running = |j: usize, norms: &[f64], is_broken: &[bool]| !is_broken[j] && !watch.is_small(j, norms[j]);
        let q = tools.a.apply(&p)?;
        let pq = p.dots(&q);
        let mut alpha = vec![c128::new(0.0, 0.0); r.k];
        for j in 0..r.k {
            if is_running(j, &norms, &is_broken) {
                if rz[j].re > 0.0 && pq[j].re > 0.0 {
                    alpha[j] = c128::new(rz[j].re / pq[j].re, 0.0);
                } else {
                    is_broken[j] = true;
                }
            }
        }
        if (0..r.k).all(|j| !is_running(j, &norms, &is_broken)) {
            // NaN makes no product positive either.
            let is_nan = rz.iter().chain(&pq).any(|v| !v.re.is_finite());
            return Ok(Ended::At(if is_nan { Stop::NanResidual } else { Stop::Breakdown }));
        }
        x.add_scaled(&alpha, &p);
        alpha.iter_mut().for_each(|a| *a = -*a);
        r.add_scaled(&alpha, &q);
        drop(q);
        norms = r.norms();
        if let Some(stop) = watch.step(&norms) {
            return Ok(Ended::At(stop));
        }
        z = tools.precondition(&r)?;
        let next = r.dots(&z);
        let beta: Vec<c128> = (0..r.k)
            .map(|j| if alpha[j].re == 0.0 { c128::new(0.0, 0.0) } else { c128::new(next[j].re / rz[j].re, 0.0) })
            .collect();
        p.scale_and_add(&beta, &z);
        rz = next;
    }
}
