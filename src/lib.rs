//! An N-dimensional tensor whose storage layout, element type and fill value are data.
#![doc = include_str!("../README.md")]

mod blocks;
mod buffer;
mod build;
mod bundle;
mod coiterate;
mod compare;
mod construct;
pub mod context;
mod convert;
mod display;
pub mod dlpack;
mod error;
mod export;
#[cfg(not(feature = "planted-faults"))]
mod faults;
#[cfg(feature = "planted-faults")]
#[doc(hidden)]
pub mod faults;
mod fill;
mod forms;
mod get;
pub mod guide;
mod index;
pub mod interchange;
mod into;
pub mod io;
mod layout;
mod level;
mod matmul;
mod methods;
mod narrow;
mod order;
pub mod parallel;
mod pattern;
mod pointwise;
mod reduce;
mod scan;
mod serialize;
mod shape;
mod slices;
mod softmax;
mod sort;
mod storage;
mod strided;
mod structure_facts;
pub mod structures;
mod tensor;
mod validate;
mod views;

pub use bundle::Bundle;
pub use construct::{IndexArray, LevelData};
pub use context::{NanPolicy, explain, with_densify_budget, with_nan_policy};
pub use error::{Error, ErrorKind, Result};
pub use fill::Fill;
pub use index::Index::{self, Ellipsis, NewAxis};
pub use index::Span;
pub use layout::{Layout, LevelSpec};
pub use level::LevelKind;
pub use methods::IntoOperand;
pub use openwork_ops::{BinaryOp, DType, Element, Number, ReduceOp, Scalar, UnaryOp, bf16, c64, c128, f16, promote};
pub use order::{Unique, UniqueCounts, UniqueInverse};
pub use pattern::Part;
pub use pointwise::{Limit, Operand};
pub use reduce::Interpolation;
pub use shape::Pad;
pub use structure_facts::StructureFacts;
pub use tensor::{BufferInfo, Tensor};
