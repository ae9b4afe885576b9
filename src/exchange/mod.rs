//! Tensors handed to and taken from other libraries in memory: `ndarray` views, DLPack, the binsparse protocol, libtorch
//! (feature `torch`), serde, and the level structures of other systems.

mod ndarray;
pub mod dlpack;
pub mod binsparse;
#[cfg(feature = "torch")]
pub mod torch;
pub mod systems;
mod serde;
