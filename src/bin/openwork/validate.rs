//! `openwork validate`.

use std::io::Write;
use std::path::Path;

use openwork::io::{self, Progress};

use crate::arguments::Validate as Arguments;
use crate::convert::{is_stream, shown};
use crate::failure::{Failure, plain};
use crate::progress::{Bar, Unit};

/// The exit status: that of the worst file.
pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut status = 0;
    for file in &arguments.files {
        let judged = match judge(file, arguments, &mut out) {
            // The others are still judged.
            Err(failure) if arguments.files.len() > 1 && !failure.is_of_output() => {
                eprintln!("openwork: {failure}");
                failure.status()
            }
            judged => judged?,
        };
        status = status.max(judged);
    }
    out.flush()?;
    Ok(status)
}

fn judge(file: &Path, arguments: &Arguments, out: &mut impl Write) -> Result<u8, Failure> {
    let name = shown(file);
    let bar = Bar::new("reading", Unit::Bytes);
    let tell_progress = |done, total| bar.tell(done, total);
    let options = io::ReadOptions { progress: Some(Progress(&tell_progress)), ..arguments.reading.options() };
    let (mut found, mut printed) = (0_u64, Ok(()));
    let mut tell = |violation: io::Violation| {
        found += 1;
        if printed.is_ok() && arguments.limit.is_none_or(|limit| found <= limit) {
            printed = writeln!(out, "{name}: {}", plain(&violation.to_string()));
        }
    };
    let checked = match is_stream(file) {
        true => io::validate_from(std::io::stdin().lock(), &options, &mut tell),
        false => io::validate(file, &options, &mut tell),
    };
    checked.map_err(|error| Failure::of_reading(error, &arguments.reading))?;
    printed?;
    drop(bar);
    match found {
        0 => writeln!(out, "{name}: valid")?,
        1 => writeln!(out, "{name}: invalid, 1 violation")?,
        n => writeln!(out, "{name}: invalid, {n} violations")?,
    }
    Ok(u8::from(found > 0))
}
