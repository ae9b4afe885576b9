//! A few eigenvalues of what is large: Lanczos's method with thick restarts.
//!
//! The basis is kept orthonormal to rounding, and the operator between its vectors is taken from the products themselves,
//! so that a restart needs no bookkeeping but the Ritz values (Wu and Simon, 2000). Eigenvectors of one eigenvalue beyond
//! the first are not in the space that one vector spans: once all has converged, a random vector goes in, and what was
//! found counts only once what comes of that has settled, and is none of the wanted.

use std::cell::Cell;
use std::ops::ControlFlow;

use openwork_ops::{DType, c128};

use super::basis::{Basis, Small, ZERO, eigen, side_by_side};
use super::block::Block;
use super::operator::Operator;
use super::options::{Options, Progress};
use super::report::{Report, Stop};
use super::system::{Applied, working_dtype};
use crate::base::error::{self, Result};
use crate::base::memory;
use crate::tensor::Tensor;
use crate::tensor::trace::{self, Outcome};

/// Which eigenvalues are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Which {
    /// The greatest.
    Largest,
    /// The least.
    Smallest,
    /// Those farthest from zero.
    LargestMagnitude,
}

/// What [`eigsh`] and [`lobpcg`](super::lobpcg) give: as good as they found it, and how good that is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Eigenpairs {
    /// Eigenvalues, rising, `(k)`; real.
    pub values: Tensor,
    /// Eigenvectors in columns, orthonormal, `(n, k)`.
    pub vectors: Tensor,
    /// What happened; residuals are `‖a v - λ v‖`, beside the greatest magnitude of an eigenvalue that was seen.
    pub report: Report,
}

impl Eigenpairs {
    /// Eigenvalues and eigenvectors, if the method converged.
    ///
    /// ```
    /// use openwork::linalg::{self, Options, Which};
    /// use openwork::{Layout, tensor};
    /// let a = tensor![[2.0, 0.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 3.0]; Layout::Csr, 0.0]?;
    /// let (values, vectors) = linalg::eigsh(&a, 1, Which::Largest, Options::default())?.converged()?;
    /// assert!(values.allclose(&tensor![5.0], 1e-9, 0.0)?);
    /// assert_eq!(vectors.shape(), [3, 1]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it did not; the error says why it stopped.
    pub fn converged(self) -> Result<(Tensor, Tensor)> {
        self.report.check()?;
        Ok((self.values, self.vectors))
    }
}

impl Outcome for Eigenpairs {
    fn is_dense(&self) -> bool {
        true
    }

    fn in_words(&self) -> String {
        self.report.to_string()
    }
}

/// `k` eigenvalues of a Hermitian operator with their eigenvectors: the greatest, the least, or those farthest from zero.
///
/// Eigenvalues in the middle of the rest, or close together at the lower end, are found through the inverse: those of
/// `(a - σ)⁻¹`, which [`lu`](super::lu) gives, farthest from zero are `1 / (λ - σ)` for the `λ` nearest to `σ`.
///
/// Algorithm: Lanczos with thick restarts (Wu and Simon, 2000) and full orthogonalisation; eigenvalues that are there
/// several times are found as often. [`Options::restart`] says how many vectors are kept (`max(2 k + 1, 20)`, if nothing
/// is said), [`Options::max_iterations`] how many products with `a` there may be, [`Options::tolerance`] how large
/// residuals may be beside the greatest magnitude of an eigenvalue; the callback is called at restarts. Cost: the products,
/// and O(n) for each vector kept in each of them.
///
/// ```
/// use openwork::linalg::{self, Options, Which};
/// use openwork::{Layout, Tensor, tensor};
///
/// // The path of five nodes: its graph Laplacian has the eigenvalues 4 sin²(π i / 10).
/// let diagonals = tensor![[-1.0, -1.0, -1.0, -1.0, -1.0], [1.0, 2.0, 2.0, 2.0, 1.0], [-1.0, -1.0, -1.0, -1.0, -1.0]];
/// let l = Tensor::from_diagonals([5, 5], &diagonals, &[-1, 0, 1], 0.0)?.to_layout(Layout::Csr)?;
/// let (values, vectors) = linalg::eigsh(&l, 2, Which::Smallest, Options::default())?.converged()?;
/// assert!(values.allclose(&tensor![0.0, 0.3819660112501051], 0.0, 1e-9)?);
/// assert_eq!(vectors.shape(), [5, 2]);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If the operator is not square, or is seen not to be Hermitian; if `k` is 0 or above the number of rows, or `restart` is
/// not above `k`; if memory does not hold the vectors, or a product fails. That it does not converge is no error: see
/// [`Eigenpairs::converged`].
pub fn eigsh(a: &dyn Operator, k: usize, which: Which, options: Options<'_>) -> Result<Eigenpairs> {
    let call = trace::call("eigsh", &[]);
    options.has_no_use_for(&["preconditioner", "absolute_tolerance"])?;
    let [m, n] = a.shape();
    if m != n {
        return Err(error::shape(&[&[m, n]], "the operator must be square"));
    }
    let dtype = working_dtype(&[a.dtype()])?;
    let ready = a.ready()?;
    let a = ready.as_deref().unwrap_or(a);
    let applied = Applied { operator: a, name: "a", dtype, is_vector: true, count: Cell::new(0) };
    let problem = Problem {
        n,
        k,
        which,
        is_complex: dtype.is_complex(),
        dtype,
        apply: &|x| applied.apply(x),
        told: &|residual, _| residual,
    };
    let found = problem.run(options)?;
    let mut residuals = Vec::new();
    for (v, &value) in found.basis.vectors.iter().zip(&found.values) {
        let mut r = applied.apply(v)?;
        r.add_scaled(&[c128::new(-value, 0.0)], v);
        residuals.push(r.norms()[0] / found.scale);
    }
    let report = found.report("eigsh", residuals, applied.count.get());
    let values = Tensor::from_vec([k], found.values)?.cast(dtype.real())?;
    let vectors = side_by_side(&found.basis.vectors)?.tensor(dtype, false);
    Ok(call.done(Eigenpairs { values, vectors, report }))
}

/// A Hermitian problem, whatever it comes from.
pub(super) struct Problem<'p> {
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) which: Which,
    pub(super) is_complex: bool,
    pub(super) dtype: DType,
    pub(super) apply: &'p dyn Fn(&Block) -> Result<Block>,
    /// A residual as it is reported, in the terms of what was asked for: of one beside the greatest eigenvalue, and of its
    /// eigenvalue beside that.
    pub(super) told: &'p dyn Fn(f64, f64) -> f64,
}

/// What was found, and how it went.
pub(super) struct Found {
    /// Eigenvalues, rising.
    pub(super) values: Vec<f64>,
    /// Their vectors.
    pub(super) basis: Basis,
    /// The greatest magnitude of an eigenvalue that was seen.
    pub(super) scale: f64,
    stop: Stop,
    iterations: usize,
    tolerance: f64,
    history: Vec<f64>,
}

impl Found {
    /// The report, with residuals that were computed anew.
    pub(super) fn report(&self, method: &'static str, residuals: Vec<f64>, products: usize) -> Report {
        let is_small = residuals.iter().all(|&r| r <= 2.0 * self.tolerance);
        let stop = match self.stop {
            _ if residuals.iter().any(|r| !r.is_finite()) => Stop::NanResidual,
            Stop::Converged if !is_small => Stop::Stagnation,
            other => other,
        };
        let (iterations, history) = (self.iterations, self.history.clone());
        Report { method, stop, iterations, products, residuals, history }
    }
}

/// The places of the wanted ones among eigenvalues that rise, the best first.
fn wanted(values: &[f64], which: Which) -> Vec<usize> {
    let mut places: Vec<usize> = (0..values.len()).collect();
    places.sort_by(|&i, &j| match which {
        Which::Largest => values[j].total_cmp(&values[i]),
        Which::Smallest => values[i].total_cmp(&values[j]),
        Which::LargestMagnitude => values[j].abs().total_cmp(&values[i].abs()),
    });
    places
}

impl Problem<'_> {
    /// Vectors to keep, with what is asked for checked.
    fn length(&self, options: &Options<'_>) -> Result<usize> {
        let (n, k) = (self.n, self.k);
        if k == 0 || k > n {
            return Err(error::invalid("k", format_args!("is {k}; there are from 1 to {n} to be found")));
        }
        let count = options.basis(k.saturating_mul(2).saturating_add(1).max(20))?.min(n);
        if count <= k && count < n {
            let why = format!("is {count}; more vectors must be kept than the {k} that are wanted");
            return Err(error::invalid("restart", why));
        }
        let width = if self.is_complex { 16 } else { 8 };
        memory::room(&[n, k], "the vectors that are kept", &[n, count + 1], width, "ask for a shorter `restart`")?;
        Ok(count)
    }

    pub(super) fn run(&self, mut options: Options<'_>) -> Result<Found> {
        let (n, k) = (self.n, self.k);
        let count = self.length(&options)?;
        let (tolerance, _) = options.tolerances(self.dtype)?;
        let limit = options.iterations(n.saturating_mul(10).max(1000));
        let mut basis = Basis::new(n, self.is_complex);
        match options.start {
            Some(x) if x.shape() != [n] => {
                return Err(error::shape(&[&[n], x.shape()], "the start must be a vector of this length"));
            }
            Some(x) if x.dtype().is_complex() && !self.is_complex => {
                return Err(error::dtype(&[x.dtype(), self.dtype], "the start must not be complex where `a` is not"));
            }
            Some(x) => drop(basis.push(Block::of(x, n, 1, self.is_complex)?)?),
            None => drop(basis.push_random()?),
        }
        // Columns of the projected operator, down to the diagonal.
        let mut h: Small = Vec::new();
        let (mut history, mut iterations, mut scale, mut largest) = (Vec::new(), 0, 0f64, 0f64);
        // Whether a random vector has gone in since the wanted ones converged, and they still are.
        let mut is_checked = false;
        loop {
            // What is left of the last product: the residuals of all Ritz vectors are multiples of it.
            let mut left = 0.0;
            while h.len() < count {
                let j = h.len();
                let w = (self.apply)(&basis.vectors[j])?;
                iterations += 1;
                let size = w.norms()[0];
                largest = largest.max(size);
                if !size.is_finite() {
                    return self.ended(basis, h, j, Stop::NanResidual, iterations, tolerance, history, scale);
                }
                if j + 1 < count || j + 1 < n {
                    let (column, below) = basis.push(w)?;
                    // What stands above the diagonal is what was left below it.
                    let is_mine = |above: &c128| (above - c128::new(left, 0.0)).norm() <= 0.1 * left;
                    if left > 1e-2 * largest && j > 0 && !column.get(j - 1).is_none_or(is_mine) {
                        let why = "is not Hermitian, as its products show; only Hermitian operators are dealt with";
                        return Err(error::invalid("a", why));
                    }
                    h.push(column);
                    left = below;
                } else {
                    h.push(basis.take_off(&mut { w }));
                    left = 0.0;
                }
            }
            let (values, vectors) = eigen(&h, self.is_complex)?;
            scale = values.iter().fold(scale, |m, v| m.max(v.abs()));
            let places = wanted(&values, self.which);
            let unit = if scale > 0.0 { scale } else { 1.0 };
            let last = count - 1;
            let told = |&i: &usize| (self.told)(left * vectors[i][last].norm() / unit, values[i] / unit);
            let residuals: Vec<f64> = places[..k].iter().map(told).collect();
            let worst = residuals.iter().fold(0f64, |m, &r| if r > m || r.is_nan() { r } else { m });
            history.push(worst);
            let is_converged = residuals.iter().all(|&r| r <= tolerance);
            // What came of the random vector has risen to its own end, below what is wanted.
            let is_apart = places.get(k).is_none_or(|&i| {
                let last_wanted = values[places[k - 1]];
                let gap = match self.which {
                    Which::LargestMagnitude => last_wanted.abs() - values[i].abs(),
                    _ => (last_wanted - values[i]).abs(),
                };
                left * vectors[i][last].norm() <= (0.05 * gap).max(tolerance * unit)
            });
            let progress = Progress { iteration: iterations, residuals: &residuals };
            let is_over = options.callback.as_mut().is_some_and(|call| call(&progress) == ControlFlow::Break(()));
            let stop = if worst.is_nan() {
                Some(Stop::NanResidual)
            } else if is_converged && ((is_checked && is_apart) || count == n) {
                Some(Stop::Converged)
            } else if is_over {
                Some(Stop::Callback)
            } else if iterations >= limit {
                Some(if is_converged { Stop::Converged } else { Stop::MaxIterations })
            } else {
                None
            };
            if let Some(stop) = stop {
                return self.ended(basis, h, count, stop, iterations, tolerance, history, scale);
            }
            // The wanted ones and some beside them, then the vector to go on from; once all have converged, those alone, and
            // all other room for what comes from a random one.
            let is_random = is_converged && !is_checked;
            let beside = if is_random { 0 } else { (count - k) / 2 };
            let kept = (k + beside).min(count - 1);
            let next = basis.vectors.pop().filter(|_| left > 0.0);
            let mut by: Small = places[..kept].iter().map(|&i| vectors[i].clone()).collect();
            basis.vectors.truncate(count);
            basis.turn(&std::mem::take(&mut by));
            h = (0..kept)
                .map(|j| {
                    let mut column = vec![ZERO; j + 1];
                    column[j] = c128::new(values[places[j]], 0.0);
                    column
                })
                .collect();
            match next {
                Some(next) if !is_random => drop(basis.push(next)?),
                _ => drop(basis.push_random()?),
            }
            is_checked = is_converged;
        }
    }

    /// What is known after so many products: the best of it.
    #[allow(clippy::too_many_arguments)]
    fn ended(
        &self,
        mut basis: Basis,
        mut h: Small,
        known: usize,
        stop: Stop,
        iterations: usize,
        tolerance: f64,
        history: Vec<f64>,
        scale: f64,
    ) -> Result<Found> {
        h.truncate(known);
        basis.vectors.truncate(known);
        while h.len() < self.k {
            // Not even as many as are wanted: what is there has no meaning but its shape.
            h.push(vec![c128::new(f64::NAN, 0.0); h.len() + 1]);
            basis.push_random()?;
        }
        if stop == Stop::NanResidual {
            basis.vectors.truncate(self.k);
            let scale = if scale > 0.0 { scale } else { 1.0 };
            let values = vec![f64::NAN; self.k];
            return Ok(Found { values, basis, scale, stop, iterations, tolerance, history });
        }
        let (values, vectors) = eigen(&h, self.is_complex)?;
        let mut places = wanted(&values, self.which);
        places.truncate(self.k);
        places.sort_unstable();
        let by: Small = places.iter().map(|&i| vectors[i].clone()).collect();
        basis.turn(&by);
        let values = places.iter().map(|&i| values[i]).collect();
        let scale = if scale > 0.0 { scale } else { 1.0 };
        Ok(Found { values, basis, scale, stop, iterations, tolerance, history })
    }
}
