//! `openwork validate`.

use std::io::Write as _;

use openwork::io::{self, Progress};

use crate::arguments::Validate as Arguments;
use crate::failure::Failure;
use crate::progress::{Bar, Unit};

/// The exit status.
pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let name = arguments.file.display();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let bar = Bar::new("reading", Unit::Bytes);
    let tell_progress = |done, total| bar.tell(done, total);
    let options = io::ReadOptions { progress: Some(Progress(&tell_progress)), ..arguments.reading.options() };
    let (mut found, mut printed) = (0_u64, Ok(()));
    let mut tell = |violation: io::Violation| {
        found += 1;
        if printed.is_ok() && arguments.limit.is_none_or(|limit| found <= limit) {
            printed = writeln!(out, "{name}: {violation}");
        }
    };
    io::validate(&arguments.file, &options, &mut tell).map_err(Failure::of_reading)?;
    printed?;
    drop(bar);
    match found {
        0 => writeln!(out, "{name}: valid")?,
        1 => writeln!(out, "{name}: invalid, 1 violation")?,
        n => writeln!(out, "{name}: invalid, {n} violations")?,
    }
    out.flush()?;
    Ok(u8::from(found > 0))
}
