//! Tensors handed to and taken from other libraries in memory: `ndarray` views, DLPack, the binsparse protocol, serde,
//! and the level structures of other systems.

pub mod binsparse;
pub mod dlpack;
mod ndarray;
mod serde;
pub mod systems;
