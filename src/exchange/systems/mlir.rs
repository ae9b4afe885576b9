//! Encodings of MLIR's `sparse_tensor` dialect.

use super::flat::{self, Flat};
use super::words::Scan;
use super::{LevelStructure, System};
use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::levels::pattern::Part;
use crate::tensor::trace;

const FORMATS: &str = "a level format: `dense`, `compressed` or `singleton` (`batch`, `loose_compressed` and \
                       `structured[n,m]` have no level here)";
const PROPERTIES: &str = "a level property: `nonunique`, `nonordered` or `soa`";

/// What an encoding says.
pub(super) struct Encoding {
    pub(super) structure: LevelStructure,
    /// Of each dimension, whether it is a singleton whose coordinates lie in an array of their own. Without, the
    /// coordinates of a tuple lie side by side in one array.
    pub(super) own_array: Vec<bool>,
}

/// The encoding; with a width in bits for positions and coordinates.
pub(super) fn name(structure: &LevelStructure, width: Option<usize>) -> Result<String> {
    let _call = trace::call("LevelStructure::name", &[]);
    let no_words = |what: &str| error::layout(format_args!("{} has no words for {what}", System::Mlir.title()));
    let flat = structure.flat().map_err(no_words)?;
    let n = structure.spec.dims.iter().map(|d| d.0 + 1).max().unwrap_or(0);
    let dims: Vec<String> = (0..n).mapped(|d| format!("d{d}"));
    let levels = structure.spec.dims.iter().zip(&flat).map(|(&(axis, part), level)| match part {
        Part::Whole => format!("d{axis} : {}", format(level)),
        Part::Div(b) => format!("d{axis} floordiv {b} : {}", format(level)),
        Part::Mod(b) => format!("d{axis} mod {b} : {}", format(level)),
    });
    let levels: Vec<String> = levels.collect();
    let width = width.map_or(String::new(), |w| format!(", posWidth = {w}, crdWidth = {w}"));
    Ok(format!("#sparse_tensor.encoding<{{ map = ({}) -> ({}){width} }}>", dims.join(", "), levels.join(", ")))
}

fn format(level: &Flat) -> String {
    let properties = [(!level.unique, "nonunique"), (!level.ordered, "nonordered"), (level.is_singleton(), "soa")];
    let properties: Vec<&str> = properties.into_iter().filter(|p| p.0).map(|p| p.1).collect();
    let name = level.word();
    if properties.is_empty() { name.into() } else { format!("{name}({})", properties.join(", ")) }
}

/// Reads an encoding, with or without `#sparse_tensor.encoding<{ … }>` around it. Widths are left to the arrays.
pub(super) fn parse(text: &str) -> Result<Encoding> {
    let mut scan = Scan::new(text);
    let wrapped = scan.take("#sparse_tensor.encoding<{");
    scan.expect("map")?;
    scan.expect("=")?;
    scan.expect("(")?;
    let names = scan.list(")", |scan| match scan.word() {
        "" => scan.fail("the name of a dimension"),
        name => Ok(name),
    })?;
    if let Some(twice) = (1..names.len()).find(|&i| names[..i].contains(&names[i])) {
        return scan.refuse(format!("the dimension {} is named twice", names[twice]));
    }
    scan.expect("->")?;
    scan.expect("(")?;
    let mut levels = Vec::new();
    let mut dims = Vec::new();
    let mut own_array = Vec::new();
    scan.list(")", |scan| {
        dims.push(expression(scan, &names)?);
        scan.expect(":")?;
        let (level, soa) = level(scan)?;
        levels.push(level);
        own_array.push(soa && level.is_singleton());
        Ok(())
    })?;
    while scan.take(",") {
        option(&mut scan)?;
    }
    if wrapped {
        scan.expect("}>")?;
    }
    if !scan.is_end() {
        return scan.fail("the end");
    }
    if let Err(why) = flat::held_once(&dims) {
        return scan.refuse(why);
    }
    if dims.iter().map(|d| d.0 + 1).max().unwrap_or(0) != names.len() {
        return scan.refuse(format!("{} dimensions are named, not all are stored", names.len()));
    }
    Ok(Encoding { structure: flat::structure(&levels, dims), own_array })
}

fn expression(scan: &mut Scan<'_>, names: &[&str]) -> Result<(usize, Part)> {
    let at = scan.mark();
    let name = scan.word();
    let Some(axis) = names.iter().position(|n| *n == name) else {
        scan.back_to(at);
        return scan.fail(&format!("a dimension of {}", names.join(", ")));
    };
    let part: fn(usize) -> Part = if scan.take("floordiv") {
        Part::Div
    } else if scan.take("mod") {
        Part::Mod
    } else {
        return Ok((axis, Part::Whole));
    };
    match scan.number()? {
        0 => scan.refuse(format!("dimension {name} is in blocks of 0")),
        block => Ok((axis, part(block))),
    }
}

fn level(scan: &mut Scan<'_>) -> Result<(Flat, bool)> {
    let at = scan.mark();
    let Some(mut out) = Flat::of_word(scan.word()) else {
        scan.back_to(at);
        return scan.fail(FORMATS);
    };
    let mut soa = false;
    if scan.take("(") {
        scan.list(")", |scan| {
            let at = scan.mark();
            match scan.word() {
                "nonunique" => out.unique = false,
                "nonordered" => out.ordered = false,
                "soa" => soa = true,
                _ => {
                    scan.back_to(at);
                    return scan.fail(PROPERTIES);
                }
            }
            Ok(())
        })?;
    }
    if out.is_dense() && !(out.ordered && out.unique) {
        return scan.refuse("a dense level is ordered and unique");
    }
    Ok((out, soa))
}

/// `posWidth = n` or `crdWidth = n`.
fn option(scan: &mut Scan<'_>) -> Result<()> {
    let at = scan.mark();
    match scan.word() {
        "posWidth" | "crdWidth" => {
            scan.expect("=")?;
            match scan.number()? {
                0 | 8 | 16 | 32 | 64 => Ok(()),
                other => scan.refuse(format!("a width of {other} bits; allowed are 0, 8, 16, 32 and 64")),
            }
        }
        _ => {
            scan.back_to(at);
            scan.fail("`posWidth` or `crdWidth` (values of unstored elements are the fill, not part of the structure)")
        }
    }
}
