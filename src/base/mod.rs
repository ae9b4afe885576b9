//! What everything else stands on: bytes, dense arrays over them, errors, threads, and what the caller allows.
//! Knows no sparse storage and no fill.

pub(crate) mod axes;
pub(crate) mod buffer;
pub mod context;
pub(crate) mod error;
#[cfg(not(feature = "planted-faults"))]
pub(crate) mod faults;
#[cfg(feature = "planted-faults")]
pub mod faults;
pub(crate) mod few;
pub(crate) mod global;
pub(crate) mod integers;
pub mod interrupt;
pub(crate) mod kept;
pub(crate) mod mapped;
pub mod memory;
pub(crate) mod named;
pub(crate) mod pages;
pub mod parallel;
pub(crate) mod shape;
pub(crate) mod strided;
pub mod trace;
pub(crate) mod turns;
