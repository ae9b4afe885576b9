//! An N-dimensional tensor whose storage layout, element type and fill value are data.
#![doc = include_str!("../README.md")]

mod base;
mod levels;
mod tensor;
mod engine;
mod family;
pub mod exchange;
pub mod io;
pub mod guide;

// The Rust in the book is compiled and run with the other documentation.
#[cfg(doctest)]
#[doc = include_str!("../book/src/models/rust.md")]
mod book {}

pub use base::axes::{Axes, Axis, keep};
pub use base::context::{self, NanPolicy, with_densify_budget, with_nan_policy};
pub use base::error::{Error, ErrorKind, Result};
#[cfg(feature = "planted-faults")]
#[doc(hidden)]
pub use base::faults;
pub use base::integers::Integers;
pub use base::interrupt;
pub use base::memory;
pub use base::parallel;
pub use base::trace::{self, explain};
pub use family::bundle::Bundle;
pub use family::catalogue;
pub use family::einsum::{EinsumKernel, EinsumPath, EinsumStep, einsum, einsum_path};
pub use family::facts::MatrixFacts;
pub use family::index::Index::{self, Ellipsis, NewAxis};
pub use family::index::Span;
pub use family::linalg;
pub use family::matmul::forms::Contracted;
pub use family::matmul::prepare::{Gain, Prepared, PreparedForm, prepare};
pub use family::matmul::semiring::Product;
pub use family::methods::IntoOperand;
pub use family::order::{Unique, UniqueCounts, UniqueInverse};
pub use family::pointwise::{Limit, Operand};
pub use family::reduce::Interpolation;
pub use family::shape::Pad;
pub use family::vjp;
pub use levels::layout::{Layout, LevelSpec};
pub use levels::level::LevelKind;
pub use levels::pattern::Part;
pub use openwork_ops::matmul::{Plus, Semiring, Times};
pub use openwork_ops::{
    BinaryOp, Cast, DType, DTypeKind, Element, Number, ReduceOp, Scalar, UnaryOp, bf16, c64, c128, f16, promote,
};
pub use tensor::fill::Fill;
pub use tensor::index_array::{IndexArray, LevelData};
pub use tensor::literal::Nested;
pub use tensor::{BufferInfo, Tensor};
