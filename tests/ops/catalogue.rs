//! The catalogue of ops is written from the sources, and held to them: what a binding reads is what there is.
//!
//! `OPENWORK_BLESS=1 cargo test --test ops catalogue` writes `src/family/catalogue/table.rs` anew.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use openwork::catalogue;

const FAMILIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/family");
const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/family/catalogue/table.rs");

/// A method as its source says it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Method {
    family: String,
    name: String,
    takes_self: bool,
    parameters: Vec<(String, String)>,
    result: String,
    doc: String,
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else {
            out.push(path);
        }
    }
}

/// The text up to the bracket that closes the one just before `from`.
fn bracketed(text: &str, from: usize) -> &str {
    let mut depth = 1;
    for (i, c) in text[from..].char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[from..from + i];
        }
    }
    panic!("a bracket is not closed")
}

/// Cuts at commas that no bracket encloses.
fn split(list: &str) -> Vec<String> {
    let (mut depth, mut parts) = (0, vec![String::new()]);
    let mut before = ' ';
    for c in list.chars() {
        match c {
            '(' | '[' | '<' => depth += 1,
            ')' | ']' => depth -= 1,
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        if c == ',' && depth == 0 {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(c);
        }
        before = c;
    }
    parts.iter().map(|p| p.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|p| !p.is_empty()).collect()
}

/// The first sentence of a doc comment, on one line.
fn sentence(doc: &str) -> String {
    let paragraph = doc.split("\n\n").next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let end = paragraph.find(". ").map_or(paragraph.len(), |i| i + 1);
    let end = paragraph.find(": ").filter(|&i| i < end && i > 30).map_or(end, |i| i + 1);
    paragraph[..end].trim_end_matches(':').to_string()
}

/// The public methods in the `impl Tensor` blocks of a file that can fail, as ops can.
fn methods(path: &Path) -> Vec<Method> {
    let family = path.strip_prefix(FAMILIES).unwrap().components().next().unwrap().as_os_str().to_str().unwrap();
    let family = family.trim_end_matches(".rs").to_string();
    let text = std::fs::read_to_string(path).unwrap();
    let mut out = Vec::new();
    for (start, _) in text.match_indices("\nimpl Tensor {\n") {
        let body = bracketed(&text, start + "\nimpl Tensor {".len());
        for (at, _) in body.match_indices("\n    pub fn ") {
            let rest = &body[at + "\n    pub fn ".len()..];
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let generics = if rest[name.len()..].starts_with('<') { rest.find('>').unwrap() + 1 } else { name.len() };
            let open = generics + rest[generics..].find('(').unwrap() + 1;
            let list = bracketed(rest, open);
            let tail = &rest[open + list.len() + 1..rest[open..].find('{').unwrap() + open];
            let Some(result) = tail.trim().strip_prefix("-> Result<") else { continue };
            let result = result.split(" where").next().unwrap_or(result).trim().trim_end_matches('>');
            let above: Vec<&str> =
                body[..at].lines().rev().take_while(|l| l.trim_start().starts_with(['/', '#'])).collect();
            let doc: Vec<&str> =
                above.iter().rev().filter_map(|l| l.trim_start().strip_prefix("///")).map(str::trim).collect();
            let parameters = split(list);
            let is_self = |p: &String| matches!(p.as_str(), "self" | "&self" | "&mut self" | "mut self");
            let pairs = parameters.iter().filter(|p| !is_self(p)).map(|p| {
                let (name, kind) = p.split_once(':').unwrap();
                (name.trim().to_string(), kind.trim().replace("<'a>", "").replace("<'_>", ""))
            });
            out.push(Method {
                family: family.clone(),
                takes_self: parameters.iter().any(is_self),
                parameters: pairs.collect(),
                result: result.to_string(),
                doc: sentence(&doc.join("\n")),
                name,
            });
        }
    }
    out
}

fn found() -> Vec<Method> {
    let mut paths = Vec::new();
    files(Path::new(FAMILIES), &mut paths);
    // Those of files named `methods.rs` are made from the registry.
    let own = |p: &PathBuf| !p.ends_with("methods.rs") && !p.starts_with(Path::new(FAMILIES).join("catalogue"));
    let mut methods: Vec<Method> = paths.iter().filter(|p| own(p)).flat_map(|p| methods(p)).collect();
    methods.sort();
    methods
}

fn table(methods: &[Method]) -> String {
    let mut out = String::from(
        "//! Methods that are no entries of the registry. Written by `OPENWORK_BLESS=1 cargo test --test ops catalogue`.\n\n\
         use super::{Entry, parameter};\n\n#[rustfmt::skip]\npub(super) const METHODS: &[Entry] = &[\n",
    );
    for m in methods {
        let parameters: Vec<String> = m.parameters.iter().map(|(n, k)| format!("parameter({n:?}, {k:?})")).collect();
        writeln!(
            out,
            "    Entry {{ name: {:?}, family: {:?}, takes_self: {}, parameters: &[{}], result: {:?}, doc: {:?} }},",
            m.name,
            m.family,
            m.takes_self,
            parameters.join(", "),
            m.result,
            m.doc,
        )
        .unwrap();
    }
    out + "];\n"
}

#[test]
fn the_catalogue_is_what_the_sources_say() {
    let made = table(&found());
    if std::env::var_os("OPENWORK_BLESS").is_some() {
        std::fs::write(TABLE, &made).unwrap();
    }
    let written = std::fs::read_to_string(TABLE).unwrap_or_default();
    let differs = written.lines().zip(made.lines()).find(|(a, b)| a != b);
    assert!(
        written == made,
        "{TABLE} is not what the sources say (first difference: {differs:?}): \
         OPENWORK_BLESS=1 cargo test --test ops catalogue"
    );
}

#[test]
fn every_op_is_there_once_with_its_words() {
    let mut names = BTreeSet::new();
    for op in catalogue::all() {
        assert!(names.insert(op.name), "{} is there twice", op.name);
        assert!(op.doc.len() > 4 && !op.doc.contains('\n'), "{}: {:?}", op.name, op.doc);
        assert!(!op.family.is_empty() && !op.result.is_empty(), "{op:?}");
    }
    assert!(names.len() > 250, "{} ops", names.len());
    for name in ["add", "relu", "sum", "matmul", "softmax", "sort", "concat", "slice", "index_put", "to_dense"] {
        assert!(names.contains(name), "{name}");
    }
    assert!(catalogue::find("no_such_op").is_none());
}
