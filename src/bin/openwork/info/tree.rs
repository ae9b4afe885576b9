//! The tensors of a file as a tree of the parts of their names.

use std::fmt::Write as _;

use openwork::io::Info;

use crate::failure::plain;

/// A part of names, and what is below it.
#[derive(Default)]
struct Node<'a> {
    tensor: Option<&'a Info>,
    below: Vec<(&'a str, Node<'a>)>,
}

impl<'a> Node<'a> {
    fn insert(&mut self, name: &'a str, info: &'a Info) {
        let Some((part, rest)) = split(name) else {
            self.tensor = Some(info);
            return;
        };
        // Tensors of one part mostly come one after another.
        let at = self.below.iter().rposition(|(known, _)| *known == part).unwrap_or_else(|| {
            self.below.push((part, Node::default()));
            self.below.len() - 1
        });
        if let Some((_, node)) = self.below.get_mut(at) {
            node.insert(rest, info);
        }
    }

    /// A line for each tensor and each part, with what the lines of tensors say.
    fn lines(&self, indent: &str, out: &mut Vec<(String, Option<&'a Info>)>) {
        for (at, (part, node)) in self.below.iter().enumerate() {
            let last = at + 1 == self.below.len();
            let mut label = plain(part);
            let mut node = node;
            // What has one thing below it alone stands on one line with that.
            while let (None, [(only, below)]) = (node.tensor, &node.below[..]) {
                label = format!("{label}.{}", plain(only));
                node = below;
            }
            out.push((format!("{indent}{} {label}", if last { "└─" } else { "├─" }), node.tensor));
            node.lines(&format!("{indent}{}  ", if last { " " } else { "│" }), out);
        }
    }
}

/// The first part of a name and the rest; nothing of none.
fn split(name: &str) -> Option<(&str, &str)> {
    if name.is_empty() {
        return None;
    }
    Some(name.split_once(['.', '/']).filter(|(part, rest)| !part.is_empty() && !rest.is_empty()).unwrap_or((name, "")))
}

/// What is said of a tensor beside its name.
fn columns(info: &Info) -> [String; 5] {
    let shape = info.shape.as_ref().map_or_else(|| format!("{} axes", info.ndim), |shape| format!("{shape:?}"));
    let dtype = match (info.dtype, info.arrays.last()) {
        (Some(dtype), _) => dtype.to_string(),
        // An element type that tensors do not have.
        (None, Some(array)) => array.dtype.clone(),
        (None, None) => "?".to_owned(),
    };
    let stored = match (info.nse, info.density()) {
        (Some(nse), Some(density)) if !info.levels.levels.is_empty() => {
            format!("{nse} stored ({:.2} %)", density * 100.0)
        }
        _ => String::new(),
    };
    let readable = info.dtype.is_some();
    let bytes: u64 = info.arrays.iter().map(|array| array.bytes).sum();
    [
        shape,
        dtype,
        if readable { info.layout.to_string() } else { "unreadable".to_owned() },
        format!("{bytes} bytes"),
        stored,
    ]
}

/// A tree with a line for each tensor, and what they are together.
pub(super) fn drawn(all: &[Info]) -> String {
    let mut root = Node::default();
    for info in all {
        root.insert(&info.name, info);
    }
    let mut lines = Vec::new();
    if let Some(info) = root.tensor {
        lines.push(("(without a name)".to_owned(), Some(info)));
    }
    root.lines("", &mut lines);
    let facts: Vec<Option<[String; 5]>> = lines.iter().map(|(_, info)| info.map(columns)).collect();
    let names = lines.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    let width =
        |column: usize| facts.iter().flatten().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let format = all.first().map(|info| info.format.to_string()).unwrap_or_default();
    let file = all.first().and_then(|info| info.file_bytes).map(|bytes| format!(", {bytes} bytes")).unwrap_or_default();
    let mut out = format!("{format}{file}, {} tensors\n", all.len());
    for ((label, _), facts) in lines.iter().zip(&facts) {
        let line = match facts {
            None => label.clone(),
            Some([shape, dtype, layout, bytes, stored]) => {
                let [a, b, c, d] = widths;
                let label = format!("{label}{}", " ".repeat(names - label.chars().count()));
                format!("{label}  {shape:<a$}  {dtype:<b$}  {layout:<c$}  {bytes:>d$}  {stored}")
            }
        };
        // A string takes all that it is given.
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}
