//! Stabilised biconjugate gradients.

use openwork_ops::c128;

use super::block::Block;
use super::operator::Operator;
use super::options::Options;
use super::report::{Solution, Stop};
use super::system::{self, Ended, Tools, Watch, is_nothing};
use crate::base::error::Result;
use crate::tensor::Tensor;

/// Solves `a x = b` by stabilised biconjugate gradients, for any square operator; the preconditioner stands on the right,
/// so residuals are those of the system itself.
///
/// `b` has shape `(n)`, or `(n, k)` for `k` right sides, which are solved for side by side. A breakdown that a new start
/// mends is mended.
///
/// Algorithm: van der Vorst (1992), as in Saad, *Iterative Methods for Sparse Linear Systems* (2003), algorithm 7.7. Cost
/// per iteration: two products with `a` and two with the preconditioner, O(n k) beside. Memory: eight vectors per right
/// side.
///
/// ```
/// use openwork::linalg::{self, Options};
/// use openwork::{Layout, tensor};
///
/// let a = tensor![[4.0, 1.0, 0.0], [-1.0, 3.0, 0.5], [0.0, 0.0, 2.0]; Layout::Csr, 0.0]?;
/// let b = tensor![6.0, 6.5, 6.0];
/// let x = linalg::bicgstab(&a, &b, Options::default())?.converged()?;
/// assert!(x.allclose(&tensor![1.0, 2.0, 3.0], 1e-8, 0.0)?);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`cg`](super::cg).
pub fn bicgstab(a: &dyn Operator, b: &Tensor, options: Options<'_>) -> Result<Solution> {
    let call = crate::tensor::trace::call("bicgstab", &[b]);
    options.has_no_use_for(&["restart"])?;
    call.end(system::run("bicgstab", a, b, options, 1, iterate))
}

const ZERO: c128 = c128::new(0.0, 0.0);

fn iterate(tools: &Tools<'_, '_>, watch: &mut Watch<'_>, x: &mut Block, mut r: Block, _: usize) -> Result<Ended> {
    let k = r.k;
    let shadow = r.clone();
    let first = r.norms();
    let mut norms = first.clone();
    let mut p = r.clone();
    let mut rho = shadow.dots(&r);
    let mut is_running: Vec<bool> = (0..k).map(|j| !watch.is_small(j, norms[j])).collect();
    let of = |values: &dyn Fn(usize) -> c128, is_running: &mut [bool]| -> Vec<c128> {
        let mut out = vec![ZERO; k];
        for j in 0..k {
            if is_running[j] {
                let v = values(j);
                is_running[j] = !is_nothing(v);
                out[j] = if is_running[j] { v } else { ZERO };
            }
        }
        out
    };
    let minus = |v: &[c128]| -> Vec<c128> { v.iter().map(|v| -*v).collect() };
    loop {
        let p_hat = tools.precondition(&p)?;
        let v = tools.a.apply(&p_hat)?;
        let across = shadow.dots(&v);
        let alpha = of(&|j| rho[j] / across[j], &mut is_running);
        r.add_scaled(&minus(&alpha), &v);
        x.add_scaled(&alpha, &p_hat);
        let s_hat = tools.precondition(&r)?;
        let t = tools.a.apply(&s_hat)?;
        let (ts, tt) = (t.dots(&r), t.dots(&t));
        let half = r.norms();
        // What is solved after half a step must not be divided by.
        let mut goes_on: Vec<bool> = (0..k).map(|j| is_running[j] && !watch.is_small(j, half[j])).collect();
        let omega = of(&|j| ts[j] / tt[j], &mut goes_on);
        x.add_scaled(&omega, &s_hat);
        r.add_scaled(&minus(&omega), &t);
        norms = r.norms();
        if let Some(stop) = watch.step(&norms) {
            return Ok(Ended::At(stop));
        }
        let next = shadow.dots(&r);
        let beta = of(&|j| next[j] / rho[j] * (alpha[j] / omega[j]), &mut goes_on);
        is_running = (0..k).map(|j| goes_on[j] && !watch.is_small(j, norms[j])).collect();
        if !is_running.contains(&true) {
            if across.iter().chain(&ts).chain(&tt).any(|v| !v.re.is_finite() || !v.im.is_finite()) {
                return Ok(Ended::At(Stop::NanResidual));
            }
            let is_better = (0..k).any(|j| norms[j] < 0.9 * first[j] && !watch.is_small(j, norms[j]));
            return Ok(if is_better { Ended::Anew } else { Ended::At(Stop::Breakdown) });
        }
        // p = r + beta (p - omega v)
        p.add_scaled(&minus(&omega), &v);
        p.scale_and_add(&beta, &r);
        rho = next;
    }
}
