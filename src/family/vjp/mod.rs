//! Gradients: for each op a function that takes the gradient of a number by the op's result back to its operands, a
//! vector-Jacobian product.
//!
//! | op | function |
//! |---|---|
//! | any registered op of one or two operands, `where_` | [`unary`], [`binary`], [`where_`]; by name [`relu`], [`mul`], … |
//! | reductions | [`reduce`], [`sum`], [`mean`], [`prod`], [`max`], [`min`], [`var`], [`std()`], [`vector_norm`] |
//! | softmax and its kin | [`softmax`], [`log_softmax`], [`logsumexp`] |
//! | products | [`matmul`], [`sampled_addmm`] |
//! | shape, choosing, joining, casts | [`permute_dims`], [`reshape`], [`broadcast_to`], [`index`], [`index_select`], [`concat()`], [`cast`] |
//!
//! Each takes the op's operands as the op does and last the *cotangent*: the gradient by the op's result, of its shape and
//! dtype, in any layout and with any fill. An absent element of a cotangent counts as 0.
//!
//! **What a gradient is.** The parameters of a sparse tensor are what it stores and its fill. So a [`Gradient`] has the same
//! pattern and layout, with the gradient by each stored element; and beside it the gradient by the fill: that by all unstored
//! elements together, their sum. For an array fill it is summed along the axes on which the fill is constant. An undefined
//! fill has none. The gradient by a strided operand is strided. Nothing becomes dense: costs are O(nse of the operands and of the
//! cotangent), where a strided one stores everything. What an op itself makes dense within the densify budget, so does this.
//!
//! ```
//! use openwork::{Layout, tensor, vjp};
//! let w = tensor![[1.0, 0.0], [0.0, 2.0]; Layout::Csr, 0.0]?;
//! let x = tensor![[1.0, 2.0], [3.0, 4.0]];
//! // The gradient of the sum of x @ w.
//! let ones = tensor![[1.0, 1.0], [1.0, 1.0]];
//! let by = vjp::matmul(&x, &w, &ones)?;
//! let dw = by.right()?;
//! assert_eq!((dw.stored.layout(), dw.stored.values::<f64>()?), (Layout::Csr, &[4.0, 6.0][..]));
//! assert_eq!(dw.fill, Some(10.0.into())); // by the two zeros that are not stored
//! let stepped = (&w - &(0.1 * &dw.stored)?)?; // the pattern and the fill stay
//! assert_eq!((stepped.nse(), stepped.fill()), (2, w.fill()));
//! # Ok::<(), openwork::Error>(())
//! ```
//!
//! **Conventions** are PyTorch's. Equal greatest (least) elements share the gradient evenly, and so do equal operands of
//! `maximum`; ops that are constant between jumps, as `floor`, give 0. For complex operands a gradient is that by the real part plus `i`
//! times that by the imaginary part. Gradients have the operand's dtype; half precision is computed in `float32`. By integers and
//! bools there is none: that is an error, as for ops whose result is no float.
//!
//! The guide's page [`gradients`](crate::guide::gradients) trains a network with these.

mod gradient;
mod wrt;
mod pointwise;
mod named;
mod reduce;
mod statistics;
mod softmax;
mod matmul;
mod shape;

pub use gradient::{Gradient, Gradients};
pub use matmul::{matmul, sampled_addmm};
pub use named::*;
pub use pointwise::{binary, unary, where_};
pub use reduce::reduce;
pub use shape::{broadcast_to, cast, concat, index, index_select, permute_dims, reshape};
pub use softmax::{log_softmax, logsumexp, softmax};
pub use statistics::{std, var, vector_norm};
