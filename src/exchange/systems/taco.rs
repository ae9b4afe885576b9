//! Formats of TACO: a list of mode formats in storage order, and the mode that each stores.

use super::flat::{self, Flat};
use super::words::Scan;
use super::{LevelStructure, System};
use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::levels::pattern::Part;
use crate::tensor::trace;

const MODES: &str = "a mode format: `Dense`, `Compressed` (or `Sparse`) or `Singleton`";
const PROPERTIES: &str = "a property: `UNIQUE`, `NOT_UNIQUE`, `ORDERED` or `NOT_ORDERED`";

pub(super) fn name(structure: &LevelStructure) -> Result<String> {
    let _call = trace::call("LevelStructure::name", &[]);
    let no_words = |what: &str| {
        let why = format!("{} has no words for {what}", System::Taco.title());
        error::layout(why)
    };
    let flat = structure.flat().map_err(no_words)?;
    if structure.spec.dims.iter().any(|d| d.1 != Part::Whole) {
        return Err(no_words("blocks; reshape to axes of blocks and axes within them"));
    }
    let modes: Vec<String> = flat.iter().map(mode).collect();
    let order: Vec<String> = structure.spec.dims.mapped(|d| d.0.to_string());
    Ok(format!("Format({{{}}}, {{{}}})", modes.join(", "), order.join(",")))
}

fn mode(level: &Flat) -> String {
    let (first, rest) = level.word().split_at(1);
    let name = first.to_ascii_uppercase() + rest;
    let not = [(level.ordered, "ModeFormat::NOT_ORDERED"), (level.unique, "ModeFormat::NOT_UNIQUE")];
    let not: Vec<&str> = not.into_iter().filter(|(holds, _)| !holds).map(|(_, name)| name).collect();
    match not[..] {
        [] => name,
        [one] => format!("{name}({one})"),
        _ => format!("{name}({{{}}})", not.join(", ")),
    }
}

/// Reads the constructor in C++ (`Format({Dense, Compressed}, {1,0})`) and what TACO prints (`(dense,compressed;
/// 1,0)`), with properties in parentheses or as `-nonunique`.
pub(super) fn parse(text: &str) -> Result<LevelStructure> {
    let mut scan = Scan::new(text);
    let constructor = scan.take("Format");
    scan.expect("(")?;
    let braced = scan.take("{");
    let mut levels: Vec<Flat> = Vec::new();
    let end = if braced { "}" } else { ";" };
    while !scan.take(end) {
        if !braced && scan.take(")") {
            return finish(scan, &levels, None);
        }
        if !levels.is_empty() {
            scan.expect(",")?;
        }
        levels.push(level(&mut scan)?);
    }
    let order = if !braced {
        Some(scan.list(")", Scan::number)?)
    } else if scan.take(",") || scan.take(";") {
        scan.expect("{")?;
        let order = scan.list("}", Scan::number)?;
        scan.expect(")")?;
        Some(order)
    } else {
        scan.expect(")")?;
        None
    };
    if constructor && !braced {
        return scan.refuse("`Format(` takes mode formats in braces");
    }
    finish(scan, &levels, order)
}

fn finish(mut scan: Scan<'_>, levels: &[Flat], order: Option<Vec<usize>>) -> Result<LevelStructure> {
    if !scan.is_end() {
        return scan.fail("the end");
    }
    let order = order.unwrap_or_else(|| (0..levels.len()).collect());
    if order.len() != levels.len() {
        return scan.refuse(format!("{} mode formats and a mode ordering of {}", levels.len(), order.len()));
    }
    let dims: Vec<(usize, Part)> = order.into_iter().map(|a| (a, Part::Whole)).collect();
    match flat::held_once(&dims) {
        Ok(()) => Ok(flat::structure(levels, dims)),
        Err(why) => scan.refuse(why),
    }
}

fn level(scan: &mut Scan<'_>) -> Result<Flat> {
    let start = scan.mark();
    if scan.take("ModeFormat::") {
        // as in C++
    }
    let word = scan.word().to_ascii_lowercase();
    let Some(mut out) = Flat::of_word(if word == "sparse" { "compressed" } else { &word }) else {
        scan.back_to(start);
        return scan.fail(MODES);
    };
    while scan.take("-") {
        let at = scan.mark();
        match scan.word() {
            "nonunique" => out.unique = false,
            "nonordered" => out.ordered = false,
            _ => {
                scan.back_to(at);
                return scan.fail("`nonunique` or `nonordered`");
            }
        }
    }
    if scan.take("(") {
        let braced = scan.take("{");
        scan.list(if braced { "}" } else { ")" }, |scan| {
            let at = scan.mark();
            if scan.take("ModeFormat::") {
                // as in C++
            }
            match scan.word().to_ascii_uppercase().as_str() {
                "UNIQUE" => out.unique = true,
                "NOT_UNIQUE" => out.unique = false,
                "ORDERED" => out.ordered = true,
                "NOT_ORDERED" => out.ordered = false,
                _ => {
                    scan.back_to(at);
                    return scan.fail(PROPERTIES);
                }
            }
            Ok(())
        })?;
        if braced {
            scan.expect(")")?;
        }
    }
    if out.is_dense() && !(out.ordered && out.unique) {
        return scan.refuse("a dense level is ordered and unique");
    }
    Ok(out)
}
