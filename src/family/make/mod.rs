//! Other forms of a tensor, taken and given: entries with their indices, a mask beside dense values, diagonals, ranges of
//! numbers.

mod entries;
pub(crate) mod ranges;
mod one_hot;
mod rand;
mod diagonals;
mod masked;
