//! The ops of [`Tensor`](crate::Tensor), a room per family, named as their twins in the crate `openwork-ops`.
//!
//! The order of the modules, here and in the rooms, is the order of the methods on the documentation page of `Tensor`.

#[macro_use]
mod examples;

pub(crate) mod make;
pub(crate) mod storage;
pub(crate) mod facts;
mod mirrored;
pub(crate) mod methods;
pub(crate) mod pointwise;
pub(crate) mod into;
pub(crate) mod matmul;
pub(crate) mod einsum;
pub mod linalg;
pub(crate) mod reduce;
pub(crate) mod scan;
pub(crate) mod softmax;
pub(crate) mod order;
pub(crate) mod compare;
pub(crate) mod index;
pub(crate) mod shape;
pub(crate) mod bundle;
pub mod vjp;
pub mod catalogue;
