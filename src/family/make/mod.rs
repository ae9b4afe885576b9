//! Other forms of a tensor, taken and given: entries with their indices, a mask beside dense values, diagonals, ranges of
//! numbers.

mod diagonals;
mod entries;
mod masked;
mod one_hot;
mod rand;
pub(crate) mod ranges;
