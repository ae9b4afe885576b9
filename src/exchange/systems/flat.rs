//! One level per dimension: the common form of TACO, MLIR and Finch.

use super::{LevelProperties, LevelStructure};
use crate::levels::layout::LevelSpec;
use crate::levels::level::LevelKind;
use crate::levels::pattern::Part;

/// Coordinates with segments of their own.
const COMPRESSED: LevelKind = LevelKind::Sparse { rank: 1 };

/// The level of one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flat {
    /// Of one dimension.
    kind: LevelKind,
    pub(super) ordered: bool,
    pub(super) unique: bool,
}

const DENSE: Flat = Flat { kind: LevelKind::Dense, ordered: true, unique: true };

impl Flat {
    /// The level that TACO and MLIR call so, in small letters: ordered and unique.
    pub(super) fn of_word(word: &str) -> Option<Flat> {
        let kinds = [LevelKind::Dense, COMPRESSED, LevelKind::Singleton];
        let kind = kinds.into_iter().find(|&kind| Flat { kind, ..DENSE }.word() == word)?;
        Some(Flat { kind, ..DENSE })
    }

    /// What TACO and MLIR call it, in small letters.
    pub(super) fn word(self) -> &'static str {
        if self.kind == COMPRESSED { "compressed" } else { self.kind.word().0 }
    }

    pub(super) fn is_dense(self) -> bool {
        self.kind == LevelKind::Dense
    }

    /// Whether it is one coordinate more of the tuple above.
    pub(super) fn is_singleton(self) -> bool {
        self.kind == LevelKind::Singleton
    }
}

impl LevelStructure {
    /// One level per dimension, value axes dense; a tuple is a compressed level and singletons, of which all but the
    /// last may repeat. Fails with what has no such form.
    pub(super) fn flat(&self) -> Result<Vec<Flat>, &'static str> {
        let mut out = Vec::with_capacity(self.spec.dims.len());
        for (&level, own) in self.spec.levels.iter().zip(&self.properties) {
            match level {
                LevelKind::Sparse { rank: 0 } => {
                    return Err("several values per coordinate, a sparse level without axes");
                }
                LevelKind::Sparse { rank } => out.extend((0..rank).map(|i| Flat {
                    kind: if i == 0 { COMPRESSED } else { LevelKind::Singleton },
                    ordered: own.ordered,
                    unique: own.unique && i + 1 == rank,
                })),
                kind => out.push(Flat { kind, ..DENSE }),
            }
        }
        out.resize(self.spec.dims.len(), DENSE);
        Ok(out)
    }
}

/// The structure of one level per dimension; dense ones at the end are value axes.
pub(super) fn structure(flat: &[Flat], dims: Vec<(usize, Part)>) -> LevelStructure {
    let values = flat.iter().rev().take_while(|f| f.is_dense()).count();
    let (mut levels, mut properties): (Vec<LevelKind>, Vec<LevelProperties>) = (Vec::new(), Vec::new());
    for f in &flat[..flat.len() - values] {
        let (level, own) = match (f.kind, levels.last(), properties.last()) {
            // A singleton below coordinates is one more of their tuple, and the last says whether tuples repeat.
            (LevelKind::Singleton, Some(&LevelKind::Sparse { rank }), Some(&LevelProperties { ordered, .. })) => {
                levels.pop();
                properties.pop();
                (
                    LevelKind::Sparse { rank: rank + 1 },
                    LevelProperties { ordered: ordered && f.ordered, unique: f.unique },
                )
            }
            (COMPRESSED, ..) => (COMPRESSED, LevelProperties { ordered: f.ordered, unique: f.unique }),
            (kind, ..) => (kind, LevelProperties { ordered: true, unique: true }),
        };
        levels.push(level);
        properties.push(own);
    }
    LevelStructure { spec: LevelSpec { levels, dims }, properties }
}

/// That dimensions hold every axis once: whole, or as quotient and remainder of one block size.
pub(super) fn held_once(dims: &[(usize, Part)]) -> Result<(), String> {
    let n = dims.iter().map(|d| d.0 + 1).max().unwrap_or(0);
    if n > dims.len() {
        return Err(format!("axis {} of {} dimensions", n - 1, dims.len()));
    }
    for axis in 0..n {
        let parts: Vec<Part> = dims.iter().filter(|d| d.0 == axis).map(|d| d.1).collect();
        let once = match parts[..] {
            [Part::Whole] => true,
            [Part::Div(a), Part::Mod(b)] | [Part::Mod(b), Part::Div(a)] => a == b && a > 0,
            _ => false,
        };
        if !once {
            return Err(format!(
                "axis {axis} must appear once whole, or once as quotient and once as remainder of one block size"
            ));
        }
    }
    Ok(())
}
