//! Files read in pieces, with a bar.

use std::ops::{ControlFlow, Range};
use std::path::Path;

use openwork::io::{self, Piece, Progress};

use crate::arguments::Reading;
use crate::convert::{is_stream, warned};
use crate::failure::Failure;
use crate::progress::{Bar, Unit};

/// Calls `visit` for each piece of a tensor, until it breaks, and says what lenient reading let pass.
pub(crate) fn pieces(
    file: &Path,
    reading: &Reading,
    rows: Option<Range<usize>>,
    visit: &mut dyn FnMut(Piece) -> ControlFlow<()>,
) -> Result<(), Failure> {
    let bar = Bar::new("reading", Unit::Share);
    let tell = |done, total| bar.tell(done, total);
    let options = io::ReadOptions { progress: Some(Progress(&tell)), ..reading.options() };
    let read = match is_stream(file) {
        true => io::read_pieces_from(std::io::stdin().lock(), &options, rows, visit),
        false => io::read_pieces(file, &options, rows, visit),
    };
    drop(bar);
    warned(file, &read.map_err(|error| Failure::of_reading(error, reading))?);
    Ok(())
}
