//! Solving linear systems, eigenvalues and singular values.
//!
//! | to | see |
//! |---|---|
//! | solve `a x = b` by products with `a` alone | [`cg`] (Hermitian positive definite), [`bicgstab`], [`gmres`] (any) |
//! | solve a triangular system, sparse or strided | [`solve_triangular`] |
//! | factor a matrix, sparse or strided, to solve with it often | `cholesky`, `lu`, `least_squares` (feature `faer`) |
//! | solve with, or factor, many small strided matrices | `solve`, `cholesky_solve`, `qr`, `eigh`, `svd` (feature `faer`) |
//! | find a few eigenvalues or singular values of what is large | `eigsh`, `lobpcg`, `svds` (feature `faer`) |
//! | multiply by something that is no tensor | [`Operator`], [`from_fn`], [`product`], [`sum`], [`adjoint`], [`shifted`], [`jacobi`] |
//!
//! The iterative methods take an [`Operator`]: a tensor of any layout and any defined fill, a function, a product of
//! these. They never make it dense. [`Options`] says how exactly, how long, from where and with which preconditioner; the
//! result comes with a [`Report`] of what happened, and no method runs for ever.
//!
//! Recurrences run in `float64` (complex numbers in pairs of it); the operator is applied to vectors of the dtype that
//! results have: the promotion of operator and right sides, integers as floats, half precision as `float32`. Results are
//! the same bit for bit on any number of threads.
//!
//! ```
//! use openwork::linalg::{self, Options};
//! use openwork::{Layout, Tensor, tensor};
//!
//! // -u'' = 1 on a line of 99 inner points, by conjugate gradients.
//! let stencil = tensor![[-1.0; 99], [2.0; 99], [-1.0; 99]];
//! let a = Tensor::from_diagonals([99, 99], &stencil, &[-1, 0, 1], 0.0)?.to_layout(Layout::Csr)?;
//! let b = Tensor::full([99], 1e-4, Layout::Strided)?;
//! let solution = linalg::cg(&a, &b, Options::default().tolerance(1e-12))?;
//! println!("{}", solution.report);
//! let u = solution.converged()?;
//! assert!((u.get([49])?.map_or(0.0, |v| v.to::<f64>()) - 0.125).abs() < 1e-9);
//! # Ok::<(), openwork::Error>(())
//! ```

mod operator;
mod split;
mod options;
mod report;
mod block;
mod system;
mod cg;
mod bicgstab;
mod gmres;
mod triangular;
#[cfg(feature = "faer")]
mod number;
#[cfg(feature = "faer")]
mod decompose;
#[cfg(feature = "faer")]
mod factor;
#[cfg(feature = "faer")]
mod basis;
#[cfg(feature = "faer")]
mod lanczos;
#[cfg(feature = "faer")]
mod svds;
#[cfg(feature = "faer")]
mod lobpcg;

pub use bicgstab::bicgstab;
pub use cg::cg;
#[cfg(feature = "faer")]
pub use decompose::{Eigh, Qr, Svd, eigh, qr, svd};
#[cfg(feature = "faer")]
pub use factor::{Factored, cholesky, cholesky_solve, least_squares, lu, solve};
pub use gmres::gmres;
#[cfg(feature = "faer")]
pub use lanczos::{Eigenpairs, Which, eigsh};
#[cfg(feature = "faer")]
pub use lobpcg::lobpcg;
pub use operator::{FromFn, Operator, adjoint, from_fn, jacobi, product, shifted, sum};
pub use options::{Options, Progress};
pub use report::{Report, Solution, Stop};
#[cfg(feature = "faer")]
pub use svds::{SingularTriplets, svds};
pub use triangular::{Triangular, solve_triangular};
