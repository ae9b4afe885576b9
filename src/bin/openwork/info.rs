//! `openwork info`.

use std::fmt::Write as _;
use std::io::Write as _;

use openwork::io;

use crate::arguments::Info as Arguments;
use crate::failure::Failure;

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let all = io::info_with(&arguments.file, &arguments.reading.options()).map_err(Failure::of_reading)?;
    let mut out = std::io::stdout().lock();
    for info in &all {
        if arguments.json {
            writeln!(out, "{}", info.to_json())?;
        } else {
            write!(out, "{}: {}", arguments.file.display(), described(info))?;
        }
    }
    if all.is_empty() && !arguments.json {
        writeln!(out, "{}: holds no tensor", arguments.file.display())?;
    }
    Ok(out.flush()?)
}

/// The facts, a line each.
fn described(info: &io::Info) -> String {
    let unknown = || "not said in the file".to_owned();
    let sizes = |shape: &Vec<u64>| format!("{shape:?}");
    let mut text = format!("{}, {} bytes\n", info.format, info.file_bytes);
    let mut line = |name: &str, fact: String| {
        // A string takes all that it is given.
        let _ = writeln!(text, "  {name:<10} {fact}");
    };
    if !info.name.is_empty() {
        line("name", info.name.clone());
    }
    let shape = info.shape.as_ref().map(sizes);
    line("shape", shape.unwrap_or_else(|| format!("{} axes, their sizes {}", info.ndim, unknown())));
    line("dtype", info.dtype.map_or_else(unknown, |dtype| dtype.to_string()));
    line("layout", format!("{} (stored as {})", info.layout, info.stored_as));
    if !info.levels.levels.is_empty() {
        line("levels", info.levels.to_string());
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
    text
}
