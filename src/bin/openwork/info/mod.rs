//! `openwork info`.

mod tree;

use std::fmt::Write as _;
use std::io::Write as _;

use openwork::io;

use crate::arguments::Info as Arguments;
use crate::convert::{is_stream, shown};
use crate::failure::{Failure, plain};

/// The exit status.
pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let mut out = std::io::stdout().lock();
    let mut status = 0;
    for file in &arguments.files {
        let options = arguments.reading.options();
        let told = match is_stream(file) {
            true => io::info_from(std::io::stdin().lock(), &options),
            false => io::info_with(file, &options),
        };
        let all = match told.map_err(|error| Failure::of_reading(error, &arguments.reading)) {
            Ok(all) => all,
            // The others are still told of.
            Err(failure) if arguments.files.len() > 1 => {
                status = status.max(failure.status());
                eprintln!("openwork: {failure}");
                continue;
            }
            Err(failure) => return Err(failure),
        };
        let name = shown(file);
        if !arguments.json && !arguments.long && all.len() > 1 {
            write!(out, "{name}: {}", tree::drawn(&all))?;
            continue;
        }
        for info in &all {
            if arguments.json {
                writeln!(out, "{}", info.to_json())?;
            } else {
                write!(out, "{name}: {}", described(info))?;
            }
        }
        if all.is_empty() {
            eprintln!("openwork: {name}: holds no tensor that openwork knows");
            status = status.max(1);
        }
    }
    out.flush()?;
    Ok(status)
}

/// The facts, a line each.
fn described(info: &io::Info) -> String {
    let unknown = || "not said in the file".to_owned();
    let sizes = |shape: &Vec<u64>| format!("{shape:?}");
    let bytes = info.file_bytes.map(|bytes| format!(", {bytes} bytes")).unwrap_or_default();
    let mut text = format!("{}{bytes}\n", info.format);
    let mut line = |name: &str, fact: String| {
        // A string takes all that it is given.
        let _ = writeln!(text, "  {name:<10} {fact}");
    };
    if !info.name.is_empty() {
        line("name", plain(&info.name));
    }
    let shape = info.shape.as_ref().map(sizes);
    line("shape", shape.unwrap_or_else(|| format!("{} axes, their sizes {}", info.ndim, unknown())));
    line("dtype", info.dtype.map_or_else(unknown, |dtype| dtype.to_string()));
    line("layout", format!("{} (stored as {})", info.layout, plain(&info.stored_as)));
    if !info.levels.levels.is_empty() {
        let counts = info.level_counts();
        let word = if counts.len() == 1 && counts == [Some(1)] { "position" } else { "positions" };
        let counts: Vec<String> = counts.iter().map(|n| n.map_or_else(|| "?".to_owned(), |n| n.to_string())).collect();
        line("levels", format!("{}: {} {word}", info.levels, counts.join(", ")));
    }
    line("fill", info.fill.as_ref().map_or_else(|| "none: every element is stored".to_owned(), ToString::to_string));
    line("nse", info.nse.map_or_else(unknown, |nse| nse.to_string()));
    line("density", info.density().map_or_else(unknown, |density| format!("{density:.6}")));
    line("structure", info.structure.clone().unwrap_or_else(|| "general".to_owned()));
    let said = |(name, value): (&str, Option<String>)| value.map(|value| format!("{name} = {value}"));
    let is = |fact: Option<bool>| fact.map(|fact| fact.to_string());
    let facts = [
        ("is_symmetric", is(info.facts.is_symmetric)),
        ("is_structure_symmetric", is(info.facts.is_structure_symmetric)),
        ("is_upper_triangular", is(info.facts.is_upper_triangular)),
        ("is_lower_triangular", is(info.facts.is_lower_triangular)),
        ("ndiag", info.facts.ndiag.map(|n| n.to_string())),
    ];
    let facts: Vec<String> = facts.into_iter().filter_map(said).collect();
    if !facts.is_empty() {
        line("facts", facts.join(", "));
    }
    if let Some(version) = &info.version {
        line("version", plain(version));
    }
    text.push_str(&arrays(&info.arrays));
    text
}

/// The arrays, a line each.
fn arrays(arrays: &[io::StoredArray]) -> String {
    let rows: Vec<[String; 4]> = arrays
        .iter()
        .map(|array| {
            let packed = array.packed.map(|packed| format!(", {packed} packed")).unwrap_or_default();
            let count = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
            let entries = array.entries.to_string();
            [plain(&array.name), array.dtype.clone(), entries, format!("{}{packed}", count(array.bytes, "byte"))]
        })
        .collect();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0);
    let widths = [0, 1, 2].map(width);
    let mut text = String::new();
    for (at, [name, dtype, entries, bytes]) in rows.iter().enumerate() {
        let label = if at == 0 { "arrays" } else { "" };
        let [a, b, c] = widths;
        // A string takes all that it is given.
        let _ = writeln!(text, "  {label:<10} {name:<a$}  {dtype:<b$}  {entries:>c$}  {bytes}");
    }
    text
}
