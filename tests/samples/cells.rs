//! What is varied: storage, fill, dtype and shape. A cell is one choice of each.

use openwork::{LevelKind, LevelSpec, Part};

use super::oracle::OType;

/// How a tensor is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Store {
    Strided,
    /// A permuted view.
    StridedTransposed,
    /// A view with negative strides.
    StridedReversed,
    /// A view with strides of 0.
    StridedBroadcast,
    Coo,
    /// In random order and with duplicates.
    CooDuplicates,
    /// The last axis sorted first.
    CooPermuted,
    /// One value for all positions: a stride of 0.
    CooIso,
    /// The last axis dense.
    Hybrid,
    /// In random order and with duplicates, the last axis dense.
    HybridDuplicates,
    /// The last axis dense, and a window of a longer one.
    HybridNarrowed,
    /// The first axis dense.
    HybridFirst,
    /// With three axes: batched, with unequal counts.
    Csr,
    /// Pointers that start above 0.
    CsrWindow,
    CsrIso,
    /// Rows of a larger CSR tensor.
    CsrNarrowed,
    Csc,
    Dcsr,
    Dcsc,
    Csf,
    Bsr,
    Bsc,
    /// Rows compressed, the last axis dense.
    CsrHybrid,
    /// Compressed blocks with coordinates in each.
    Blocked,
    /// One stored element in each row.
    RowSingleton,
    /// Several values per coordinate under a last level of rank 0.
    Multigraph,
}

use Store::*;

impl Store {
    pub const ALL: [Store; 26] = [
        Strided,
        StridedTransposed,
        StridedReversed,
        StridedBroadcast,
        Coo,
        CooDuplicates,
        CooPermuted,
        CooIso,
        Hybrid,
        HybridDuplicates,
        HybridNarrowed,
        HybridFirst,
        Csr,
        CsrWindow,
        CsrIso,
        CsrNarrowed,
        Csc,
        Dcsr,
        Dcsc,
        Csf,
        Bsr,
        Bsc,
        CsrHybrid,
        Blocked,
        RowSingleton,
        Multigraph,
    ];

    pub fn is_strided(self) -> bool {
        matches!(self, Strided | StridedTransposed | StridedReversed | StridedBroadcast)
    }

    /// Positions in random order, some coordinates several times.
    pub fn has_duplicates(self) -> bool {
        matches!(self, CooDuplicates | HybridDuplicates | Multigraph)
    }

    pub fn is_iso(self) -> bool {
        matches!(self, CooIso | CsrIso)
    }

    /// The level structure for a shape, if the storage suits it; strided storage has none.
    pub fn spec(self, shape: &[usize]) -> Option<LevelSpec> {
        const D: LevelKind = LevelKind::Dense;
        const S: fn(usize) -> LevelKind = |rank| LevelKind::Sparse { rank };
        let n = shape.len();
        let in_order = |levels: Vec<LevelKind>| (levels, (0..n).collect::<Vec<_>>());
        let with_last = |last: LevelKind| [vec![D; n - 1], vec![last]].concat();
        let swapped = || (0..n - 2).chain([n - 1, n - 2]).collect::<Vec<_>>();
        let blocks = |axis: usize| shape[axis].is_multiple_of(2);
        let (levels, axes) = match self {
            Coo | CooDuplicates | CooIso => in_order(vec![S(n)]),
            CooPermuted if n >= 2 => (vec![S(n)], (0..n).rev().collect()),
            Hybrid | HybridDuplicates | HybridNarrowed if n >= 1 => in_order(vec![S(n - 1)]),
            HybridFirst if n >= 2 => (vec![S(n - 1)], (1..n).chain([0]).collect()),
            Csr | CsrWindow | CsrIso | CsrNarrowed if n >= 2 => in_order(with_last(S(1))),
            Csc if n >= 2 => (with_last(S(1)), swapped()),
            Dcsr if n == 2 => in_order(vec![S(1), S(1)]),
            Dcsc if n == 2 => (vec![S(1), S(1)], vec![1, 0]),
            Csf if n >= 1 => in_order(vec![S(1); n]),
            CsrHybrid if n == 3 => in_order(vec![D, S(1)]),
            RowSingleton if n == 2 && (shape[0] == 0 || shape[1] > 0) => in_order(vec![D, LevelKind::Singleton]),
            Multigraph if n == 2 => in_order(vec![D, S(1), S(0)]),
            Bsr | Bsc if n >= 2 && blocks(n - 2) && blocks(n - 1) => {
                let mut dims: Vec<_> = (0..n - 2).map(|a| (a, Part::Whole)).collect();
                let (row, column) = ((n - 2, Part::Div(2)), (n - 1, Part::Div(2)));
                dims.extend(if self == Bsr { [row, column] } else { [column, row] });
                dims.extend([(n - 2, Part::Mod(2)), (n - 1, Part::Mod(2))]);
                return Some(LevelSpec { levels: with_last(S(1)), dims });
            }
            Blocked if n == 2 && blocks(0) && blocks(1) => {
                let dims = vec![(0, Part::Div(2)), (1, Part::Div(2)), (0, Part::Mod(2)), (1, Part::Mod(2))];
                return Some(LevelSpec { levels: vec![S(2), S(2)], dims });
            }
            _ => return None,
        };
        Some(LevelSpec { levels, dims: axes.into_iter().map(|a| (a, Part::Whole)).collect() })
    }

    /// The storage of which this one is a window along an axis.
    pub fn window_of(self, ndim: usize) -> Option<(Store, usize)> {
        match self {
            CsrNarrowed => Some((Csr, 0)),
            HybridNarrowed => Some((Hybrid, ndim - 1)),
            _ => None,
        }
    }

    /// Whether the storage suits a shape.
    pub fn suits(self, shape: &[usize]) -> bool {
        match self {
            Strided => true,
            StridedTransposed => shape.len() >= 2,
            StridedReversed | StridedBroadcast => !shape.is_empty(),
            _ => self.spec(shape).is_some(),
        }
    }
}

/// What an unstored element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FillKind {
    Zero,
    /// A finite value other than zero.
    Value,
    /// Any value of the supply, special ones included.
    Special,
    NegativeZero,
    Nan,
    Infinity,
    /// One value per index of the first axis.
    Rows,
    /// One value per index of the last axis.
    Columns,
    /// One value per index of the middle axis of three.
    Middle,
    /// One value per index of the axes that the storage keeps dense.
    Dense,
    Undefined,
}

use FillKind::*;

impl FillKind {
    pub const ALL: [FillKind; 11] =
        [Zero, Value, Special, NegativeZero, Nan, Infinity, Rows, Columns, Middle, Dense, Undefined];

    pub fn suits(self, store: Store, shape: &[usize], dtype: OType) -> bool {
        let inexact = dtype.is_float() || dtype.is_complex();
        match self {
            Zero => true,
            _ if store.is_strided() => false,
            NegativeZero | Nan | Infinity => inexact,
            Rows | Columns => !shape.is_empty(),
            Middle => shape.len() == 3,
            Dense => matches!(store, Hybrid | HybridDuplicates | HybridNarrowed | HybridFirst | CsrHybrid),
            Value | Special | Undefined => true,
        }
    }
}

/// One choice of everything.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    pub store: Store,
    pub fill: FillKind,
    pub dtype: OType,
    pub shape: Vec<usize>,
}

impl Cell {
    pub fn suits(&self) -> bool {
        self.store.suits(&self.shape) && self.fill.suits(self.store, &self.shape, self.dtype)
    }
}

/// Shapes of every rank to 4, with sizes 0 and 1 among them.
pub const SHAPES: [&[usize]; 19] = [
    &[3, 4],
    &[4, 6],
    &[2, 3, 4],
    &[5],
    &[6, 2],
    &[2, 4, 2],
    &[1, 4],
    &[4, 1],
    &[3, 1, 2],
    &[1, 1],
    &[1],
    &[],
    &[0],
    &[0, 3],
    &[3, 0],
    &[2, 0, 2],
    &[0, 0],
    &[1, 2, 2],
    &[2, 3, 2, 2],
];
