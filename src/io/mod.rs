//! Files.
//!
//! Every writer puts its output beside the file it replaces and swaps the two once all of it is on the disk: a write
//! that fails leaves the old file as it was.
//!
//! [`read`] and [`write()`] take any known format, [`info`] reports what a file holds, [`validate`] all that is wrong with
//! it; each format's module has what is its own.

use std::fmt;

pub mod anndata;
mod any;
mod atomic;
pub mod binsparse;
mod checkpoint;
mod copy;
pub(crate) mod fault;
pub mod frostt;
mod info;
mod input;
mod losses;
pub mod matrix_market;
pub mod numpy;
mod pieces;
pub mod pydata;
mod safetensors;
pub mod scipy;
mod signature;
pub mod sscdf;
pub mod state_dict;
pub(crate) mod steps;
mod text;
mod violations;
mod warning;

pub use any::{Format, Loaded, ReadOptions, WriteOptions, read, read_from, read_with, write, write_to, write_with};
pub use atomic::abandon_writes;
pub use copy::copy;
pub use info::{FillInfo, Info, StoredArray, info, info_from, info_with};
pub use pieces::{Piece, read_pieces, read_pieces_from};
pub use violations::{Violation, validate, validate_from};
pub use warning::Warning;

/// A callback for progress: called with what is done so far, and what there is to do.
///
/// Readers count bytes of the input as it is stored (compressed or not), writers stored elements. Calls come from the
/// calling thread, with `done` rising; the last one has both numbers equal. What a pipe will bring is not known: there is 0
/// to do until the last call. Nothing is called once an error is found.
///
/// ```
/// use openwork::io::{Progress, matrix_market};
/// let text = b"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 7\n";
/// let show = |done: u64, total: u64| eprintln!("{done} of {total} bytes");
/// let options = matrix_market::ReadOptions { progress: Some(Progress(&show)), ..Default::default() };
/// assert_eq!(matrix_market::read_bytes(text, &options)?.nse(), 1);
/// # Ok::<(), openwork::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Progress<'a>(pub &'a (dyn Fn(u64, u64) + Sync));

impl fmt::Debug for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress(..)")
    }
}
