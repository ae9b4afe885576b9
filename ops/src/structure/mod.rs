//! Index-only code: generic over the width of indices, ignorant of element types.
//!
//! Kernels that move elements know the width of an element in bytes and nothing else.

pub mod agree;
pub mod arms;
pub mod bins;
pub mod buckets;
pub mod choose;
pub mod columns;
pub mod common;
pub mod gather;
pub mod index;
pub mod keys;
pub mod marked;
pub mod merge;
pub mod sort;
pub mod tally;
pub mod transpose;
pub mod window;

pub use index::{Index, IndexSlice, IndexVec};
