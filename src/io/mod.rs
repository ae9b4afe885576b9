//! Files.
//!
//! Every writer puts its output beside the file it replaces and swaps the two once all of it is on the disk: a write
//! that fails leaves the old file as it was.
//!
//! [`read`] and [`write()`] take any known format, [`info`] reports what a file holds, [`validate`] all that is wrong with
//! it; each format's module has what is its own. All readers take [`ReadOptions`], all writers [`WriteOptions`], and all errors are
//! [`Error`](crate::Error)s.

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
mod options;
mod pieces;
pub(crate) mod progress;
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

pub use any::{Format, Loaded, read, read_from, read_with, write, write_to, write_with};
pub use atomic::abandon_writes;
pub use copy::copy;
pub use info::{FillInfo, Info, StoredArray, info, info_from, info_with};
pub use options::{ReadOptions, WriteOptions};
pub use pieces::{Piece, read_pieces, read_pieces_from};
pub use progress::Progress;
pub use violations::{Violation, validate, validate_from};
pub use warning::Warning;
