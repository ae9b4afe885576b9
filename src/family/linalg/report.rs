//! What an iterative method has done.

use std::fmt;

use crate::base::error::{ErrorKind, Result};
use crate::tensor::Tensor;
use crate::tensor::trace::Outcome;

/// Why an iterative method stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// All residuals are within the tolerance: those of the result, computed anew.
    Converged,
    /// The limit of iterations was reached.
    MaxIterations,
    /// The method divided by what had become zero, or met what it is not made for: conjugate gradients of a matrix that is
    /// not positive definite.
    Breakdown,
    /// Rounding keeps the residual above the tolerance: starting anew did not make it smaller.
    Stagnation,
    /// A residual is NaN or infinite.
    NanResidual,
    /// The callback asked for it.
    Callback,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stop::Converged => "converged",
            Stop::MaxIterations => "reached the limit of iterations",
            Stop::Breakdown => "broke down",
            Stop::Stagnation => "stagnated above the tolerance",
            Stop::NanResidual => "met a residual that is not finite",
            Stop::Callback => "was stopped by the callback",
        })
    }
}

/// What an iterative method has done.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The method.
    pub method: &'static str,
    /// Why it stopped.
    pub stop: Stop,
    /// Iterations done.
    pub iterations: usize,
    /// How often the operator was applied, to one vector or to several at once.
    pub products: usize,
    /// Of each column of the result (or eigenvector, or pair of singular vectors), the residual beside its scale, computed
    /// from the result: `‖b - a x‖ / ‖b‖`.
    pub residuals: Vec<f64>,
    /// After each iteration, the greatest residual as the method reckons it by the way.
    pub history: Vec<f64>,
}

impl Report {
    /// Whether all residuals are within the tolerance.
    ///
    /// ```
    /// use openwork::linalg::{self, Options};
    /// use openwork::tensor;
    /// let report = linalg::cg(&tensor![[1.0, 0.0], [0.0, -1.0]], &tensor![1.0, 1.0], Options::default())?.report;
    /// assert!(!report.is_converged()); // the matrix is not positive definite
    /// assert!(report.to_string().starts_with("broke down"));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn is_converged(&self) -> bool {
        self.stop == Stop::Converged
    }

    /// The error that the method did not converge, if it did not.
    ///
    /// # Errors
    /// That one.
    pub(super) fn check(&self) -> Result<()> {
        if self.is_converged() {
            return Ok(());
        }
        let instead = match self.stop {
            Stop::MaxIterations => "allow more iterations, or give a (better) preconditioner",
            Stop::Breakdown => "choose another method: gmres takes any matrix that is not singular",
            Stop::Stagnation => "ask for a larger tolerance, compute in float64, or give a preconditioner",
            Stop::NanResidual => "look for NaN, infinities and overflow in the operands",
            _ => "go on with the result as the start",
        };
        Err(ErrorKind::NotConverged { op: self.method, why: format!("{self}: {instead}") }.into())
    }
}

impl fmt::Display for Report {
    /// One line: why the method stopped, after how many iterations, with which residual.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let worst = self.residuals.iter().fold(0f64, |m, &r| if r > m || r.is_nan() { r } else { m });
        write!(f, "{} after {} iterations with residual {worst:.2e}", self.stop, self.iterations)
    }
}

/// What [`cg`](super::cg) and its kin give: a solution as good as they found it, and how good that is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Solution {
    /// The solution, strided, of the shape of the right sides.
    pub x: Tensor,
    /// What happened.
    pub report: Report,
}

impl Solution {
    /// The solution, if the method converged.
    ///
    /// ```
    /// use openwork::linalg::{self, Options};
    /// use openwork::tensor;
    /// let x = linalg::cg(&tensor![[2.0, 0.0], [0.0, 4.0]], &tensor![2.0, 4.0], Options::default())?.converged()?;
    /// assert!(x.allclose(&tensor![1.0, 1.0], 1e-9, 0.0)?);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it did not; the error says why it stopped.
    pub fn converged(self) -> Result<Tensor> {
        self.report.check()?;
        Ok(self.x)
    }
}

impl Outcome for Solution {
    fn is_dense(&self) -> bool {
        true
    }

    fn in_words(&self) -> String {
        self.report.to_string()
    }
}
