//! Level structures by the names that other systems give them, and tensors as their arrays.
//!
//! Five systems describe sparse storage level by level, each in its own words. A [`LevelStructure`] is read from the
//! words of any ([`LevelStructure::parse`]) and says itself in the words of any other ([`LevelStructure::name`]).
//! [`Tensor::arrays_for`](crate::Tensor::arrays_for) gives a tensor as the arrays that a system expects, and
//! [`SystemArrays::to_tensor`] takes such arrays back, checked.
//!
//! ```
//! use openwork::exchange::systems::{LevelStructure, System};
//! use openwork::{Layout, LevelSpec, Tensor};
//!
//! let csc: LevelSpec = "C-S-C".parse()?; // columns dense, rows compressed; contrary order
//! let x = Tensor::eye(3, openwork::DType::F64, Layout::Csr)?;
//! assert_eq!(x.to_levels(&csc)?.layout(), Layout::Csc);
//!
//! let name = LevelStructure::from(csc).name(System::Mlir)?;
//! assert_eq!(name, "#sparse_tensor.encoding<{ map = (d0, d1) -> (d1 : dense, d0 : compressed) }>");
//! # Ok::<(), openwork::Error>(())
//! ```
//!
//! The guide's page [levels](crate::guide::levels) has the table of what is expressed how.

mod arrays;
mod balance;
mod finch;
mod flat;
mod mlir;
mod rank_n;
mod taco;
mod words;

use crate::base::error::Result;
use crate::base::mapped::Mapped;
use crate::levels::layout::LevelSpec;
use crate::levels::level::LevelKind;
use crate::tensor::Tensor;
use crate::tensor::trace;
pub use arrays::SystemArrays;

/// A system that describes sparse storage level by level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum System {
    /// The proposal of structures of any rank for GraphBLAS and binsparse: `C-DC-S-R`.
    RankN,
    /// The tensor algebra compiler: `Format({Dense, Compressed}, {1,0})`.
    Taco,
    /// The `sparse_tensor` dialect of MLIR: `#sparse_tensor.encoding<{ map = … }>`.
    Mlir,
    /// Finch: `swizzle(Dense(SparseList(Element)), 2, 1)`.
    Finch,
}

impl System {
    /// Every system.
    pub const ALL: [System; 4] = [System::RankN, System::Taco, System::Mlir, System::Finch];

    /// Its name in prose.
    pub const fn title(self) -> &'static str {
        match self {
            System::RankN => "the rank-N proposal",
            System::Taco => "TACO",
            System::Mlir => "MLIR",
            System::Finch => "Finch",
        }
    }
}

/// What the coordinates of a level promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LevelProperties {
    /// Tuples rise within each segment.
    pub ordered: bool,
    /// No tuple repeats within a segment. In a tensor only the last level may repeat; other systems let upper levels
    /// repeat too, to split long segments.
    pub unique: bool,
}

/// A level structure with what its coordinates promise.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LevelStructure {
    /// Levels and the map of their dimensions. Without levels: strided, the dimensions in the order of memory.
    pub spec: LevelSpec,
    /// Of each level; dense and singleton levels are ordered and unique. A level of rank 0 repeats, which is its
    /// purpose.
    pub properties: Vec<LevelProperties>,
}

impl From<LevelSpec> for LevelStructure {
    /// Ordered and unique, as conversions make it.
    fn from(spec: LevelSpec) -> LevelStructure {
        let unique = |k: &LevelKind| *k != LevelKind::Sparse { rank: 0 };
        let properties = spec.levels.mapped(|k| LevelProperties { ordered: true, unique: unique(k) });
        LevelStructure { spec, properties }
    }
}

impl LevelStructure {
    /// Reads a structure in the words of a system.
    ///
    /// # Errors
    /// If the text is not in those words, or says something that levels cannot be: which, where, and what is allowed.
    pub fn parse(system: System, name: &str) -> Result<LevelStructure> {
        let _call = trace::call("LevelStructure::parse", &[]);
        match system {
            System::RankN => rank_n::parse(name).map(|p| p.structure),
            System::Taco => taco::parse(name),
            System::Mlir => mlir::parse(name).map(|e| e.structure),
            System::Finch => finch::parse(name).map(|p| p.structure),
        }
    }

    /// The structure in the words of a system; [`LevelStructure::parse`] reads it back the same.
    ///
    /// # Errors
    /// If the system has no words for it.
    pub fn name(&self, system: System) -> Result<String> {
        match system {
            System::RankN => Ok(rank_n::name(&self.spec, Some(&self.properties))),
            System::Taco => taco::name(self),
            System::Mlir => mlir::name(self, None),
            System::Finch => finch::name(self),
        }
    }
}

impl LevelSpec {
    /// A structure by its name in the rank-N proposal, such as `C-DC-S-S-R`.
    ///
    /// One token per level dimension, outermost first: `C` every coordinate, `DC` coordinates with segments below,
    /// `S` coordinates that go with the next (or the last) dimension. A `C` or `DC` at the very end means several
    /// values per coordinate. Then the order of the axes: `R` regular, `C` contrary, `X(2,0,1)` any other; `R` may
    /// be left out, and so may the dashes (`CSR`).
    ///
    /// Beyond the proposal: `V` is a value axis, `P` exactly one coordinate per parent, `0` (alone, or after `P`)
    /// values without coordinates, and `X(0/2,1/2,0%2,1%2)` splits axes into blocks.
    ///
    /// ```
    /// use openwork::{LevelKind, LevelSpec};
    /// let spec = LevelSpec::parse("C-DC-S-S-R")?;
    /// assert_eq!(spec.levels, [LevelKind::Dense, LevelKind::Sparse { rank: 1 }, LevelKind::Sparse { rank: 2 }]);
    /// assert_eq!(spec.to_string(), "C-DC-S-S-R");
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the name is none: where, and what is allowed there.
    pub fn parse(name: &str) -> Result<LevelSpec> {
        let _call = trace::call("LevelSpec::parse", &[]);
        rank_n::parse_spec(name)
    }

    /// HiCOO: coordinates of blocks that store something, and below each the coordinates within it. One block size
    /// per axis, which must divide it.
    ///
    /// Li, Sun and Vuduc, "HiCOO: hierarchical storage of sparse tensors", 2018.
    pub fn hicoo(blocks: &[usize]) -> LevelSpec {
        use crate::levels::pattern::Part;
        let rank = blocks.len();
        let part = |part: fn(usize) -> Part| blocks.iter().enumerate().map(move |(a, &b)| (a, part(b)));
        let level = LevelKind::Sparse { rank };
        LevelSpec { levels: vec![level, level], dims: part(Part::Div).chain(part(Part::Mod)).collect() }
    }
}

impl std::fmt::Display for LevelSpec {
    /// The name in the rank-N proposal, as [`LevelSpec::parse`] reads it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&rank_n::name(self, None))
    }
}

impl std::str::FromStr for LevelSpec {
    type Err = crate::base::error::Error;

    fn from_str(name: &str) -> Result<LevelSpec> {
        LevelSpec::parse(name)
    }
}

/// # Exchanging: names of the level structure
impl Tensor {
    /// The level structure of a sparse tensor with what its coordinates promise; `None` for a strided tensor.
    pub fn level_structure(&self) -> Option<LevelStructure> {
        let s = self.sparse()?;
        let mut out = LevelStructure::from(s.pattern.spec());
        for (own, level) in out.properties.iter_mut().zip(&s.pattern.levels) {
            if level.kind() != (LevelKind::Sparse { rank: 0 }) {
                *own = LevelProperties { ordered: level.is_ordered(), unique: level.is_unique() };
            }
        }
        Some(out)
    }
}
