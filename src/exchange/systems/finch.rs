//! Tensors of Finch: levels in one another, the outermost for the last index, and a swizzle for another order.

use super::flat::held_once;
use super::words::Scan;
use super::{LevelProperties, LevelStructure, System};
use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::levels::layout::LevelSpec;
use crate::levels::level::LevelKind;
use crate::levels::pattern::Part;
use crate::tensor::trace;

/// More than any tensor has, and little memory.
const MOST_AXES: usize = 1024;
const LEVELS: &str = "a level: `Dense(…)`, `SparseList(…)`, `SparseCOO{n}(…)`, `SparsePoint(…)` or, innermost, \
                      `Element`";

pub(super) fn name(structure: &LevelStructure) -> Result<String> {
    let _call = trace::call("LevelStructure::name", &[]);
    let no_words = |what: &str| error::layout(format_args!("{} has no words for {what}", System::Finch.title()));
    let spec = &structure.spec;
    if spec.dims.iter().any(|d| d.1 != Part::Whole) {
        return Err(no_words("blocks; reshape to axes of blocks and axes within them"));
    }
    let mut out = String::new();
    for (&level, own) in spec.levels.iter().zip(&structure.properties) {
        match level {
            LevelKind::Sparse { rank: 0 } => {
                return Err(no_words("several values per coordinate, a sparse level without axes"));
            }
            LevelKind::Sparse { .. } if !(own.ordered && own.unique) => {
                return Err(no_words("unordered or repeated coordinates; coalesce first"));
            }
            LevelKind::Dense => out.push_str("Dense("),
            LevelKind::Singleton => out.push_str("SparsePoint("),
            LevelKind::Sparse { rank: 1 } => out.push_str("SparseList("),
            LevelKind::Sparse { rank } => out.push_str(&format!("SparseCOO{{{rank}}}(")),
        }
    }
    let values = spec.dims.len() - spec.level_dims();
    out.push_str(&"Dense(".repeat(values));
    out.push_str("Element");
    out.push_str(&")".repeat(spec.levels.len() + values));
    let swizzle = swizzle(&spec.dims);
    if swizzle.iter().copied().eq(1..=spec.dims.len()) {
        return Ok(out);
    }
    let swizzle: Vec<String> = swizzle.mapped(usize::to_string);
    Ok(format!("swizzle({out}, {})", swizzle.join(", ")))
}

/// Index k of the tensor is index `swizzle[k]` of the levels, of which the innermost has the first; from 1.
fn swizzle(dims: &[(usize, Part)]) -> Vec<usize> {
    let n = dims.len();
    let mut out = vec![0; n];
    for (level, &(axis, _)) in dims.iter().enumerate() {
        if let Some(o) = out.get_mut(axis) {
            *o = n - level;
        }
    }
    out
}

/// What a text says.
pub(super) struct Parsed {
    pub(super) structure: LevelStructure,
    /// The levels as they are written.
    pub(super) native: Vec<LevelKind>,
}

pub(super) fn parse(text: &str) -> Result<Parsed> {
    let mut scan = Scan::new(text);
    let swizzled = scan.take("swizzle");
    if swizzled {
        scan.expect("(")?;
    }
    let wrapped = scan.take("Tensor");
    if wrapped {
        scan.expect("(")?;
    }
    let levels = nest(&mut scan)?;
    if wrapped {
        scan.expect(")")?;
    }
    let n: usize = levels.iter().map(|l| l.rank()).sum();
    if n > MOST_AXES {
        return scan.refuse(format!("{n} axes; at most {MOST_AXES}"));
    }
    let order = if swizzled {
        scan.expect(",")?;
        scan.list(")", Scan::number)?
    } else {
        (1..=n).collect()
    };
    if !scan.is_end() {
        return scan.fail("the end");
    }
    if order.len() != n || !(1..=n).all(|i| order.contains(&i)) {
        return scan.refuse(format!("a swizzle by {order:?} does not permute 1 to {n}"));
    }
    let mut dims = vec![(0, Part::Whole); n];
    for (axis, &index) in order.iter().enumerate() {
        dims[n - index].0 = axis;
    }
    if let Err(why) = held_once(&dims) {
        return scan.refuse(why);
    }
    // Dense levels at the end are value axes, a point below coordinates is one more of their tuple.
    let mut kinds: Vec<LevelKind> = Vec::new();
    for &level in &levels {
        let joined = kinds.last().and_then(|&above| level.joined(above));
        match (joined, kinds.last_mut()) {
            (Some(joined), Some(above)) => *above = joined,
            _ => kinds.push(level),
        }
    }
    while kinds.last() == Some(&LevelKind::Dense) {
        kinds.pop();
    }
    let properties = vec![LevelProperties { ordered: true, unique: true }; kinds.len()];
    Ok(Parsed { structure: LevelStructure { spec: LevelSpec { levels: kinds, dims }, properties }, native: levels })
}

/// Levels from the outermost to `Element`, whose fill is not part of the structure.
fn nest(scan: &mut Scan<'_>) -> Result<Vec<LevelKind>> {
    let mut levels = Vec::new();
    loop {
        let at = scan.mark();
        let word = scan.word();
        if word == "Element" {
            if scan.take("(") {
                while !scan.take(")") {
                    let number = |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c);
                    if !scan.take_while(number) {
                        return scan.fail("the fill of the element, a number");
                    }
                }
            }
            for _ in &levels {
                scan.expect(")")?;
            }
            return Ok(levels);
        }
        levels.push(match word {
            "Dense" => LevelKind::Dense,
            "SparseList" => LevelKind::Sparse { rank: 1 },
            "SparsePoint" => LevelKind::Singleton,
            "SparseCOO" => {
                scan.expect("{")?;
                let rank = scan.number()?;
                scan.expect("}")?;
                if !(1..=MOST_AXES).contains(&rank) {
                    return scan.refuse(format!("a SparseCOO of {rank} dimensions"));
                }
                LevelKind::Sparse { rank }
            }
            _ => {
                scan.back_to(at);
                return scan.fail(LEVELS);
            }
        });
        scan.expect("(")?;
    }
}
