//! Sparse structure: kinds of level, lists of them with the axis map, their names, their one check, and how they are
//! built, sorted and walked together. Indices only: nothing here knows a value.

pub(crate) mod block_rows;
pub(crate) mod build;
pub(crate) mod coiterate;
pub(crate) mod counted;
mod dense;
pub(crate) mod fibres;
pub(crate) mod folded;
pub(crate) mod indices;
pub(crate) mod layout;
pub(crate) mod level;
pub(crate) mod names;
pub(crate) mod pattern;
pub(crate) mod retain;
mod segments;
mod singleton;
pub(crate) mod sort;
mod sparse;
pub(crate) mod validate;
