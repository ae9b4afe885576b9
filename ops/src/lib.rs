//! What `f(x, y)` is, what is known about `f`, and the loops that run it.
//!
//! This crate knows slices, dtypes and index widths. It knows no tensor, layout, fill storage, thread
//! pool or file: the `openwork` crate puts those around it. Kernels take and give contiguous blocks as
//! bytes; the caller has proven lengths and alignment.

pub mod among;
pub mod binary;
pub mod cast;
pub mod closeness;
pub mod derivative;
pub mod dtype;
pub mod einsum;
mod groups;
pub mod identity;
pub mod matmul;
pub mod narrow;
pub mod order;
pub mod outermost;
pub mod ranking;
pub mod reduce;
pub mod registry;
pub mod scalar;
pub mod serialize;
pub mod short_rows;
pub mod simd;
pub mod softmax;
pub mod structure;
#[cfg(test)]
mod testing;
mod truth;
pub mod unary;
pub mod words;

pub use binary::BinaryOp;
pub use dtype::{DType, DTypeKind, Element, UnknownDType, c64, c128, promote};
pub use half::{bf16, f16};
pub use reduce::ReduceOp;
pub use registry::{Annihilator, Domain, Side, Typing};
pub use scalar::{Cast, DoesNotFit, Number, Scalar, Wide};
pub use unary::UnaryOp;
