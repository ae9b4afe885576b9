//! How an iterative method runs.

use std::ops::ControlFlow;

use openwork_ops::DType;

use super::operator::Operator;
use crate::base::error::{self, Result};
use crate::tensor::Tensor;

type Callback<'a> = Box<dyn FnMut(&Progress<'_>) -> ControlFlow<()> + 'a>;

/// How an iterative method runs: how exact, how long, from where, with what preconditioner. What a method has no use for
/// is an error, and does not pass silently.
///
/// ```
/// use std::ops::ControlFlow;
/// use openwork::linalg::{self, Options, Stop};
/// use openwork::{Layout, tensor};
///
/// let a = tensor![[4.0, 1.0], [1.0, 3.0]; Layout::Csr, 0.0]?;
/// let mut seen = Vec::new();
/// let options = Options::default().tolerance(1e-12).max_iterations(50).callback(|step| {
///     seen.push(step.residuals[0]);
///     ControlFlow::Continue(())
/// });
/// let solution = linalg::cg(&a, &tensor![1.0, 2.0], options)?;
/// assert_eq!((solution.report.stop, solution.report.iterations), (Stop::Converged, 2));
/// assert_eq!(seen.len(), 2);
/// # Ok::<(), openwork::Error>(())
/// ```
#[derive(Default)]
#[must_use]
pub struct Options<'a> {
    tolerance: Option<f64>,
    absolute: f64,
    max_iterations: Option<usize>,
    restart: Option<usize>,
    pub(super) preconditioner: Option<&'a dyn Operator>,
    pub(super) start: Option<&'a Tensor>,
    pub(super) callback: Option<Callback<'a>>,
}

impl<'a> Options<'a> {
    /// How small the residual must be beside the right side: `‖b - a x‖ <= tolerance · ‖b‖` in each column (for eigenvalues
    /// and singular values, what their function says). 1e-10 if nothing is said, 1e-5 where results are `float32`.
    ///
    /// ```
    /// use openwork::linalg::{self, Options};
    /// use openwork::{Layout, tensor};
    /// let (a, b) = (tensor![[4.0, 1.0], [1.0, 3.0]; Layout::Csr, 0.0]?, tensor![1.0, 2.0]);
    /// let rough = linalg::cg(&a, &b, Options::default().tolerance(0.5))?;
    /// assert!(rough.report.residuals[0] <= 0.5 && rough.report.iterations == 1);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn tolerance(self, tolerance: f64) -> Options<'a> {
        Options { tolerance: Some(tolerance), ..self }
    }

    /// A residual that is small enough whatever the right side is; 0 if nothing is said.
    ///
    /// ```
    /// use openwork::linalg::{self, Options};
    /// use openwork::{Layout, tensor};
    /// let (a, b) = (tensor![[4.0, 1.0], [1.0, 3.0]; Layout::Csr, 0.0]?, tensor![1e-9, 2e-9]);
    /// let solution = linalg::cg(&a, &b, Options::default().absolute_tolerance(1e-6))?;
    /// assert_eq!((solution.report.is_converged(), solution.report.iterations), (true, 0)); // zero is near enough
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn absolute_tolerance(self, absolute: f64) -> Options<'a> {
        Options { absolute, ..self }
    }

    /// After how many iterations to give up; ten times the number of rows if nothing is said.
    ///
    /// ```
    /// use openwork::linalg::{self, Options, Stop};
    /// use openwork::{Layout, tensor};
    /// let (a, b) = (tensor![[4.0, 1.0], [1.0, 3.0]; Layout::Csr, 0.0]?, tensor![1.0, 2.0]);
    /// let solution = linalg::cg(&a, &b, Options::default().max_iterations(1))?;
    /// assert_eq!(solution.report.stop, Stop::MaxIterations); // `x` is what was found until then
    /// assert!(solution.converged().is_err());
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn max_iterations(self, max_iterations: usize) -> Options<'a> {
        Options { max_iterations: Some(max_iterations), ..self }
    }

    /// How many vectors are kept before the method starts anew from what it has: the memory that it takes.
    ///
    /// ```
    /// use openwork::linalg::{self, Options};
    /// use openwork::{Layout, tensor};
    /// let (a, b) = (tensor![[4.0, 1.0], [-1.0, 3.0]; Layout::Csr, 0.0]?, tensor![5.0, 2.0]);
    /// let x = linalg::gmres(&a, &b, Options::default().restart(1))?.converged()?; // from one vector to the next
    /// assert!(x.allclose(&tensor![1.0, 1.0], 1e-8, 0.0)?);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn restart(self, restart: usize) -> Options<'a> {
        Options { restart: Some(restart), ..self }
    }

    /// An operator that is near to the inverse of `a` and cheap, such as [`jacobi`](super::jacobi).
    ///
    /// ```
    /// use openwork::linalg::{self, Options};
    /// use openwork::{DType, Layout, tensor};
    /// let (a, b) = (tensor![[4000.0, 1.0], [1.0, 3.0]; Layout::Csr, 0.0]?, tensor![1.0, 2.0]);
    /// let jacobi = linalg::jacobi(&a)?;
    /// let with_matrix = linalg::cg(&a, &b, Options::default().preconditioner(&jacobi))?.converged()?;
    /// // Or a function.
    /// let diagonal = tensor![4000.0, 3.0];
    /// let divided = linalg::from_fn([2, 2], DType::F64, |r| r.div(&diagonal));
    /// let with_function = linalg::cg(&a, &b, Options::default().preconditioner(&divided))?.converged()?;
    /// assert!(with_function.allclose(&with_matrix, 1e-8, 0.0)?);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn preconditioner(self, preconditioner: &'a dyn Operator) -> Options<'a> {
        Options { preconditioner: Some(preconditioner), ..self }
    }

    /// Where to start; from zero (for eigenvectors, from random vectors of a fixed seed) if nothing is said.
    ///
    /// ```
    /// use openwork::linalg::{self, Options};
    /// use openwork::{Layout, tensor};
    /// let (a, b) = (tensor![[4.0, 1.0], [1.0, 3.0]; Layout::Csr, 0.0]?, tensor![5.0, 4.0]);
    /// let near = tensor![1.0, 1.0];
    /// assert_eq!(linalg::cg(&a, &b, Options::default().start(&near))?.report.iterations, 0); // it is the solution
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn start(self, start: &'a Tensor) -> Options<'a> {
        Options { start: Some(start), ..self }
    }

    /// What is called after every iteration; `ControlFlow::Break(())` ends the method.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use openwork::linalg::{self, Options, Stop};
    /// use openwork::{Layout, tensor};
    /// let (a, b) = (tensor![[4.0, 1.0], [1.0, 3.0]; Layout::Csr, 0.0]?, tensor![1.0, 2.0]);
    /// let options = Options::default().callback(|step| {
    ///     println!("{}: {:.1e}", step.iteration, step.residuals[0]);
    ///     if step.iteration < 1 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    /// });
    /// assert_eq!(linalg::cg(&a, &b, options)?.report.stop, Stop::Callback);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn callback(self, callback: impl FnMut(&Progress<'_>) -> ControlFlow<()> + 'a) -> Options<'a> {
        Options { callback: Some(Box::new(callback)), ..self }
    }

    /// The tolerances, relative and absolute, for results of this dtype.
    pub(super) fn tolerances(&self, dtype: DType) -> Result<(f64, f64)> {
        let default = if dtype.real() == DType::F32 { 1e-5 } else { 1e-10 };
        let relative = self.tolerance.unwrap_or(default);
        for (name, value) in [("tolerance", relative), ("absolute_tolerance", self.absolute)] {
            if !value.is_finite() || value < 0.0 {
                return Err(error::invalid(name, format_args!("is {value}; it must be a finite number, 0 or more")));
            }
        }
        Ok((relative, self.absolute))
    }

    pub(super) fn iterations(&self, default: usize) -> usize {
        self.max_iterations.unwrap_or(default)
    }

    /// The restart length, at least one.
    pub(super) fn basis(&self, default: usize) -> Result<usize> {
        match self.restart {
            Some(0) => Err(error::invalid("restart", "is 0; at least one vector must be kept")),
            other => Ok(other.unwrap_or(default)),
        }
    }

    /// The error that a method has no use for an option that was given.
    pub(super) fn has_no_use_for(&self, names: &[&'static str]) -> Result<()> {
        for &name in names {
            let is_given = match name {
                "restart" => self.restart.is_some(),
                "preconditioner" => self.preconditioner.is_some(),
                "start" => self.start.is_some(),
                _ => self.absolute != 0.0,
            };
            if is_given {
                return Err(error::invalid(name, "this method has no use for it; leave it out"));
            }
        }
        Ok(())
    }
}

/// Where an iterative method is.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// Iterations done.
    pub iteration: usize,
    /// The residual of each column (or eigenvector) beside its scale, as the method reckons it by the way.
    pub residuals: &'a [f64],
}
