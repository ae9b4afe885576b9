//! Tensors handed to and taken from other libraries in memory: `ndarray` views, DLPack, the binsparse protocol, serde,
//! and the level structures of other systems.

mod ndarray;
pub mod dlpack;
pub mod binsparse;
pub mod systems;
mod serde;
