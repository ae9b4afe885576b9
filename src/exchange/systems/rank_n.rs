//! Names of the rank-N proposal, extended so that every level structure has one.

use super::words::Scan;
use super::{LevelProperties, LevelStructure};
use crate::base::error::Result;
use crate::base::mapped::Mapped;
use crate::levels::layout::LevelSpec;
use crate::levels::level::LevelKind;
use crate::levels::pattern::Part;

const ALLOWED: &str =
    "`S`, `C`, `DC`, `P`, `V` or `0`, or the order of the axes at the end: `R`, `C` or `X(…)` with every axis";

/// Marks behind the last token of a level.
const UNORDERED: &str = "~";
const REPEATS: &str = "*";

/// The name of a structure; with properties, marks where something is not promised.
pub(super) fn name(spec: &LevelSpec, properties: Option<&[LevelProperties]>) -> String {
    let mut tokens: Vec<String> = Vec::new();
    for (l, &level) in spec.levels.iter().enumerate() {
        let next = spec.levels.get(l + 1);
        match level {
            LevelKind::Dense => tokens.push("C".into()),
            LevelKind::Singleton => tokens.push("P".into()),
            LevelKind::Sparse { rank: 0 } => {
                if l == 0 || spec.levels[l - 1] == LevelKind::Singleton {
                    tokens.push("0".into()); // else the token before says it
                }
                continue;
            }
            LevelKind::Sparse { rank } => {
                tokens.extend(vec!["S".into(); rank - 1]);
                let last = if matches!(next, None | Some(LevelKind::Singleton)) { "S" } else { "DC" };
                tokens.push(last.into());
            }
        }
        let own = properties.and_then(|p| p.get(l)).filter(|_| matches!(level, LevelKind::Sparse { .. }));
        if let (Some(own), Some(token)) = (own, tokens.last_mut()) {
            token.push_str(if own.ordered { "" } else { UNORDERED });
            token.push_str(if own.unique { "" } else { REPEATS });
        }
    }
    let values = spec.dims.len().saturating_sub(spec.level_dims());
    tokens.extend(vec!["V".into(); values]);
    tokens.push(order(&spec.dims));
    tokens.join("-")
}

fn order(dims: &[(usize, Part)]) -> String {
    let n = dims.len();
    let whole = dims.iter().all(|d| d.1 == Part::Whole);
    if whole && dims.iter().map(|d| d.0).eq(0..n) {
        return "R".into();
    }
    if whole && dims.iter().map(|d| d.0).eq((0..n).rev()) {
        return "C".into();
    }
    let part = |&(axis, part): &(usize, Part)| match part {
        Part::Whole => format!("{axis}"),
        Part::Div(b) => format!("{axis}/{b}"),
        Part::Mod(b) => format!("{axis}%{b}"),
    };
    format!("X({})", dims.mapped(part).join(","))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Letter {
    S,
    C,
    Dc,
    P,
    Zero,
    V,
}

struct Token {
    kind: Letter,
    marks: LevelProperties,
}

/// What a name says.
pub(super) struct Parsed {
    pub(super) structure: LevelStructure,
    /// Of each level, whether `S` stands before `C`: then each index is stored once per coordinate of the `C`, and
    /// the pointers to it count those. With `DC` before `C` they are not.
    pub(super) expanded: Vec<bool>,
}

pub(super) fn parse(text: &str) -> Result<Parsed> {
    let mut scan = Scan::new(text);
    let mut tokens: Vec<Token> = Vec::new();
    let mut given = None;
    while !scan.is_end() {
        // A `C` that ends the name is the order.
        if !tokens.is_empty() && scan.ends_with("C") {
            given = Some(Order::Contrary);
            break;
        }
        if scan.take("R") {
            given = Some(Order::Regular);
        } else if scan.take("X") {
            if !scan.take("(") {
                return scan.fail("`(` and the axes of the dimensions in order, such as `X(2,0,1)`");
            }
            given = Some(Order::Other(scan.list(")", part)?));
        }
        if given.is_some() {
            if scan.is_end() {
                break;
            }
            return scan.fail("the end after the order of the axes");
        }
        let kind = kind(&mut scan)?;
        let marks = LevelProperties { ordered: !scan.take(UNORDERED), unique: !scan.take(REPEATS) };
        tokens.push(Token { kind, marks });
        if scan.take("-") && scan.is_end() {
            return scan.fail(ALLOWED);
        }
    }
    let Levels { levels, properties, expanded, dims } = levels(&scan, &tokens)?;
    let dims = axes(&scan, given.unwrap_or(Order::Regular), dims)?;
    Ok(Parsed { structure: LevelStructure { spec: LevelSpec { levels, dims }, properties }, expanded })
}

/// A structure without marks.
pub(super) fn parse_spec(text: &str) -> Result<LevelSpec> {
    let structure = parse(text)?.structure;
    if LevelStructure::from(structure.spec.clone()) != structure {
        let why = "the marks `~` and `*` say what arrays hold, not which levels there are: LevelStructure::parse";
        return Scan::new(text).refuse(why);
    }
    Ok(structure.spec)
}

enum Order {
    Regular,
    Contrary,
    Other(Vec<(usize, Part)>),
}

fn kind(scan: &mut Scan<'_>) -> Result<Letter> {
    for (token, kind) in [
        ("DC", Letter::Dc),
        ("S", Letter::S),
        ("C", Letter::C),
        ("P", Letter::P),
        ("V", Letter::V),
        ("0", Letter::Zero),
    ] {
        if scan.take(token) {
            return Ok(kind);
        }
    }
    scan.fail(ALLOWED)
}

fn part(scan: &mut Scan<'_>) -> Result<(usize, Part)> {
    let axis = scan.number()?;
    let part: fn(usize) -> Part = if scan.take("/") {
        Part::Div
    } else if scan.take("%") {
        Part::Mod
    } else {
        return Ok((axis, Part::Whole));
    };
    match scan.number()? {
        0 => scan.refuse(format!("axis {axis} is in blocks of 0")),
        block => Ok((axis, part(block))),
    }
}

#[derive(Default)]
struct Levels {
    levels: Vec<LevelKind>,
    properties: Vec<LevelProperties>,
    expanded: Vec<bool>,
    /// Number of dimensions, value axes included.
    dims: usize,
}

impl Levels {
    fn push(&mut self, level: LevelKind, properties: LevelProperties, expanded: bool) {
        self.levels.push(level);
        self.properties.push(properties);
        self.expanded.push(expanded);
        self.dims += level.rank();
    }
}

/// The levels that tokens stand for.
fn levels(scan: &Scan<'_>, tokens: &[Token]) -> Result<Levels> {
    const PLAIN: LevelProperties = LevelProperties { ordered: true, unique: true };
    const SEVERAL: LevelProperties = LevelProperties { ordered: true, unique: false };
    const VALUES_ONLY: LevelKind = LevelKind::Sparse { rank: 0 };
    let values = tokens.iter().rev().take_while(|t| t.kind == Letter::V).count();
    let (tokens, trailing) = tokens.split_at(tokens.len() - values);
    if trailing.iter().any(|t| t.marks != PLAIN) {
        return scan.refuse("`V` has no coordinates to mark");
    }
    let mut out = Levels::default();
    let mut run = 0;
    for (i, token) in tokens.iter().enumerate() {
        let next = tokens.get(i + 1).map(|t| t.kind);
        match token.kind {
            Letter::S | Letter::Dc if next == Some(Letter::P) => {
                return scan.refuse("`P` after `S` or `DC`: one coordinate more per tuple is one more `S`");
            }
            Letter::S if matches!(next, Some(Letter::S | Letter::Dc)) => {
                if token.marks != PLAIN {
                    return scan.refuse("the marks `~` and `*` stand on the last dimension of a tuple");
                }
                run += 1;
            }
            Letter::S | Letter::Dc => {
                let expanded = token.kind == Letter::S && next == Some(Letter::C);
                out.push(LevelKind::Sparse { rank: run + 1 }, token.marks, expanded);
                run = 0;
            }
            Letter::C | Letter::P | Letter::Zero if token.marks != PLAIN => {
                return scan.refuse("the marks `~` and `*` belong to `S` and `DC`");
            }
            Letter::C => out.push(LevelKind::Dense, PLAIN, false),
            Letter::P => out.push(LevelKind::Singleton, PLAIN, false),
            Letter::Zero if next.is_none() && (i == 0 || tokens[i - 1].kind == Letter::P) => {
                out.push(VALUES_ONLY, SEVERAL, false);
            }
            Letter::Zero => return scan.refuse("`0` stands alone or last after `P`; else a final `C` or `DC` says it"),
            Letter::V => return scan.refuse("`V`, a value axis, comes after all levels"),
        }
    }
    if matches!(tokens.last().map(|t| t.kind), Some(Letter::C | Letter::Dc)) {
        out.push(VALUES_ONLY, SEVERAL, false);
    }
    out.dims += values;
    Ok(out)
}

fn axes(scan: &Scan<'_>, order: Order, n: usize) -> Result<Vec<(usize, Part)>> {
    let whole = |a| (a, Part::Whole);
    let dims: Vec<(usize, Part)> = match order {
        Order::Regular => (0..n).mapped(whole),
        Order::Contrary => (0..n).rev().map(whole).collect(),
        Order::Other(dims) if dims.len() != n => {
            return scan.refuse(format!("`X` lists {} dimensions, the structure has {n}", dims.len()));
        }
        Order::Other(dims) => dims,
    };
    match super::flat::held_once(&dims) {
        Ok(()) => Ok(dims),
        Err(why) => scan.refuse(why),
    }
}
