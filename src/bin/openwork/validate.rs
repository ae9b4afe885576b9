//! `openwork validate`.

use std::io::Write;
use std::path::Path;

use openwork::io::{self, Progress};
use serde_json::json;

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
    if arguments.json {
        write!(out, "{{\"file\": {}, \"violations\": [", json!(file.display().to_string()))?;
    }
    let (mut found, mut printed) = (0_u64, Ok(()));
    let mut tell = |violation: io::Violation| {
        found += 1;
        if printed.is_err() || arguments.limit.is_some_and(|limit| found > limit) {
            return;
        }
        printed = if arguments.json {
            let comma = if found > 1 { ", " } else { "" };
            write!(out, "{comma}{}", json!({ "place": violation.place, "what": violation.what }))
        } else {
            writeln!(out, "{name}: {}", plain(&violation.to_string()))
        };
    };
    let checked = match is_stream(file) {
        true => io::validate_from(std::io::stdin().lock(), &options, &mut tell),
        false => io::validate(file, &options, &mut tell),
    };
    let checked = checked.map_err(|error| Failure::of_reading(error, &arguments.reading));
    drop(bar);
    printed?;
    if arguments.json {
        let error = checked.as_ref().err().map(|failure| json!(failure.to_string()));
        let valid = checked.is_ok() && found == 0;
        write!(out, "], \"count\": {found}, \"valid\": {valid}")?;
        writeln!(out, "{}}}", error.map(|error| format!(", \"error\": {error}")).unwrap_or_default())?;
    }
    checked?;
    match found {
        _ if arguments.json => {}
        0 => writeln!(out, "{name}: valid")?,
        1 => writeln!(out, "{name}: invalid, 1 violation")?,
        n => writeln!(out, "{name}: invalid, {n} violations")?,
    }
    Ok(u8::from(found > 0))
}
