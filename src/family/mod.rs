//! The ops of [`Tensor`](crate::Tensor), a room per family, named as their twins in the crate `openwork-ops`.

pub mod catalogue;
pub(crate) mod compare;
pub(crate) mod facts;
pub(crate) mod index;
pub(crate) mod into;
pub(crate) mod make;
pub(crate) mod matmul;
pub(crate) mod methods;
pub(crate) mod order;
pub(crate) mod pointwise;
pub(crate) mod reduce;
pub(crate) mod scan;
pub(crate) mod shape;
pub(crate) mod softmax;
pub(crate) mod storage;
