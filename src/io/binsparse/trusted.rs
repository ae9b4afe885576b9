//! Reading without looking at what index arrays hold.
#![allow(unsafe_code)] // declares a contract, and calls the constructor that has the same one

use std::path::Path;

use super::{File, Loaded};
use crate::base::error::Result;
use crate::io::ReadOptions;
use crate::tensor::fill::Fill;
use crate::tensor::index_array::LevelData;
use crate::{LevelSpec, Tensor};

/// As [`super::read_with`], trusting the index arrays: for files that this process, or one as trustworthy, has written
/// and nobody else could change since.
///
/// Saves one pass over pointers and indices: of a matrix in CSR about a third of the time of a read from memory
/// (`benches/files.rs`). What the descriptor says, the lengths and types of arrays, and the fill are checked as ever.
///
/// # Errors
/// As [`super::read_with`], but for what indices and pointers hold.
///
/// # Safety
/// The index arrays must be what [`Tensor::from_parts`] would accept for the levels that the descriptor gives: indices
/// in range, pointers that start at 0, do not fall and end where the indices do, coordinates in order and without
/// repetition (but in files of our extension that say otherwise). Other contents give wrong results, and kernels that
/// rely on them may read out of bounds.
pub unsafe fn read_trusted(path: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<Loaded> {
    File::open(path)?.load(options.name, options, None, unchecked)
}

impl File {
    /// As [`File::tensor_with`], trusting the index arrays as [`read_trusted`] does.
    ///
    /// # Errors
    /// As [`read_trusted`].
    ///
    /// # Safety
    /// As [`read_trusted`].
    pub unsafe fn read_trusted(&mut self, name: &str, options: &ReadOptions<'_>) -> Result<Loaded> {
        self.load(Some(name), options, None, unchecked)
    }
}

/// Named by the two functions above alone, whose callers answer for the arrays.
fn unchecked(shape: &[usize], levels: Vec<LevelData>, spec: &LevelSpec, values: &Tensor, fill: Fill) -> Result<Tensor> {
    // SAFETY: the callers of `read_trusted` promise what is asked for here.
    unsafe { Tensor::from_parts_unchecked(shape, levels, spec, values, fill) }
}
