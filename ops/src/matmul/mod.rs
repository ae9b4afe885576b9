//! Inner kernels of matrix products: rows of one operand against rows of the other, into accumulators.
//!
//! A [`Semiring`] says how terms are multiplied and added, a [`Carrier`] in what: for sums of products integers wrap in
//! their own width, bool is or-and, every float accumulates in `f64` or better, and there are loops for each; any other
//! semiring goes through the block kernels of its two ops ([`Blocks`]). Where a fill other than zero takes part,
//! stored elements enter as their difference from the fill, and what that cancels must not cost accuracy:
//! backgrounds, and elements far smaller than the fill beneath them, are added in sums of two `f64`
//! ([`Carrier::Double`]).

#[cfg(target_arch = "x86_64")]
mod alike;
mod allowed;
mod any_columns;
pub mod array_dots;
pub mod array_vector;
mod beneath;
mod blocks;
mod carrier;
mod columns;
mod diagonals;
mod dots;
mod double;
mod eights;
mod extent;
mod few_columns;
mod floats;
mod fused;
mod kernels;
mod lanes;
#[cfg(target_arch = "x86_64")]
mod loads;
mod outer;
mod over_fill;
#[cfg(test)]
mod over_fill_tests;
mod over_fill_vector;
mod sampled;
mod semiring;
mod stencils;
mod small_blocks;
mod source;
mod sparse;
mod term;
#[cfg(target_arch = "x86_64")]
mod tiles;
#[cfg(test)]
mod tests;
mod typed;
mod vector;

use std::ops::Range;

use crate::structure::{IndexSlice, IndexVec};

pub use any_columns::{AddColumns, PANELS};
pub use beneath::Met;
pub use blocks::Blocks;
pub use carrier::{Carrier, Told};
pub use columns::{Columns, WIDTHS};
pub use diagonals::{BLOCK, Diagonals};
pub use extent::Extent;
pub use over_fill::{Along, OverFill};
pub use sampled::piece;
pub use semiring::{Plus, Semiring, Times};
pub use small_blocks::SmallBlocks;
pub use sparse::{Accumulator, Out};
pub use stencils::Stencil;
pub use vector::has_panels;

/// Compressed rows: row `r` holds entries `pointers[r] - base..pointers[r + 1] - base`. Pointers and indices
/// have one width.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// One more than there are rows.
    pub pointers: IndexSlice<'a>,
    /// What is taken off every pointer.
    pub base: usize,
    /// The column of each entry.
    pub indices: IndexSlice<'a>,
    /// The term of each entry.
    pub values: &'a [u8],
    /// Stretches of rows whose columns need not be read, in order; where they are known.
    pub stencils: &'a [Stencil],
}

/// A matrix of terms (or accumulators) with strides in elements; a stride is 0 where nothing varies. The
/// stride of columns is 0 or 1.
#[derive(Clone, Copy, Debug)]
pub struct Grid<'a> {
    /// The elements, from the first of the matrix on.
    pub values: &'a [u8],
    /// From a row to the next.
    pub row: usize,
    /// From a column to the next.
    pub col: usize,
}

/// Rows of the left operand that meet one matrix of the right operand.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// Rows of the left operand.
    pub left: Range<usize>,
    /// Column `k` on the left meets row `right + k` on the right.
    pub right: usize,
    /// What accumulators start from, row by row: `None` is zero.
    pub init: Option<Grid<'a>>,
    /// Which elements are wanted: `None` is all that meet.
    pub mask: Option<Mask<'a>>,
}

/// Rows of a sparse product, in order.
#[derive(Debug)]
pub struct Product {
    /// Entries in each row.
    pub counts: Vec<usize>,
    /// Columns, rising in each row.
    pub columns: IndexVec,
    /// Finished values.
    pub values: Vec<u8>,
}

/// Turns accumulators into elements.
pub type Finish<'a> = &'a (dyn Fn(&[u8], &mut [u8]) + Sync);

/// The kernels of a carrier. `acc` holds one row of `n` accumulators for each row on the left; everything is
/// added to what is there.
pub trait Kernels: Sync + std::fmt::Debug {
    /// Sparse rows times a dense matrix, as elements of the terms' dtype that are written over what `out` holds. Says
    /// whether there is such a kernel for these operands; if not, nothing was done. `stream`: what is written need not be
    /// near afterwards, and whole lines of the cache may go to memory past it.
    fn sparse_dense_rounded(
        &self,
        _left: Rows<'_>,
        _rows: Range<usize>,
        _right: Grid<'_>,
        _n: usize,
        _out: &mut [u8],
        _stream: bool,
    ) -> bool {
        false
    }

    /// For floats: adds compressed columns times a panel of a dense matrix, of one of the widths [`WIDTHS`]. Row `r` of
    /// `left` meets row `r` of the panel, and its entry `i` goes to row `i` of the accumulators.
    fn columns_panel(&self) -> Option<ColumnsPanel> {
        None
    }

    /// For integers, bool and complex numbers: adds compressed columns of 32-bit indices times some columns of a dense matrix.
    fn add_columns(&self) -> Option<AddColumns> {
        None
    }

    /// For floats: a matrix by diagonals times a vector.
    fn diagonals(&self) -> Option<Diagonals> {
        None
    }

    /// Sparse rows times sparse rows of 32-bit indices, as elements of the terms' dtype.
    fn sparse_rows(&self) -> Option<SparseRows> {
        None
    }

    /// For floats: columns of a sparse matrix times rows of another, of 32-bit indices, as elements of the terms' dtype.
    fn outer_sums(&self) -> Option<OuterSums> {
        None
    }

    /// Sparse rows times a dense matrix.
    fn sparse_dense(&self, left: Rows<'_>, rows: Range<usize>, right: Grid<'_>, n: usize, acc: &mut [u8]);

    /// Sparse rows times sparse rows: column `k` on the left meets row `first + k` on the right.
    fn sparse_sparse(
        &self,
        left: Rows<'_>,
        rows: Range<usize>,
        right: Rows<'_>,
        first: usize,
        n: usize,
        acc: &mut [u8],
    );

    /// Dense rows times listed sparse rows.
    fn dense_sparse(&self, left: Grid<'_>, rows: Range<usize>, right: Listed<'_>, n: usize, acc: &mut [u8]);

    /// Dense rows times a dense matrix of `k` rows.
    fn dense_dense(&self, left: Grid<'_>, rows: Range<usize>, right: Grid<'_>, k: usize, n: usize, acc: &mut [u8]);

    /// Adds accumulators to those of some rows: from the first of these on, with strides that may be 0.
    fn add(&self, values: Grid<'_>, n: usize, acc: &mut [u8]);

    /// Adds the products of accumulators, one for each row on the left (stride `row`) and one for each column on
    /// the right (stride `col`): for fills other than zero, which only sums of products take apart.
    fn outer(&self, left: Grid<'_>, right: Grid<'_>, n: usize, acc: &mut [u8]);

    /// Adds to one accumulator for each wanted element the sum over `k` terms of a row of `left` with a row of `right`, the
    /// transpose of the right operand. Not both are sparse, and the elements of a dense row lie side by side.
    fn sampled(&self, left: Operand<'_>, right: Operand<'_>, wanted: Wanted<'_>, k: usize, acc: &mut [u8]);

    /// Sparse rows times sparse rows of `n` columns, only what meets, and of that what masks let through (Gustavson,
    /// "Two fast algorithms for sparse matrices", 1978). `width` is the size of a finished element.
    fn gustavson(
        &self,
        left: Rows<'_>,
        runs: &[Run<'_>],
        right: Rows<'_>,
        n: usize,
        finish: Finish<'_>,
        width: usize,
    ) -> Product;
}

/// The sparse rows `rows`, which stand for the columns `ids` of what they meet (counted from the first number) or,
/// without these, for `0..`.
#[derive(Clone, Debug)]
pub struct Listed<'a> {
    /// All rows.
    pub all: Rows<'a>,
    /// Those that are meant.
    pub rows: Range<usize>,
    /// The number that counts as 0, and the number of each of `rows`.
    pub ids: Option<(u64, &'a [u64])>,
}

impl Listed<'_> {
    /// The column that row `i` of `rows` stands for.
    fn column(&self, i: usize) -> usize {
        self.ids.map_or(i, |(first, ids)| (ids[i] - first) as usize)
    }
}

/// Rows of an operand of [`Kernels::sampled`].
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// Of a dense matrix; the stride of columns is 1, or 0 where there is one column.
    Dense(Grid<'a>),
    /// Compressed.
    Sparse(Rows<'a>),
}

/// Elements of a product that are wanted, row by row.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Columns of all rows.
    pub columns: IndexSlice<'a>,
    /// Rows that want some.
    pub rows: &'a [WantedRow],
}

/// A row of [`Wanted`].
#[derive(Clone, Debug)]
pub struct WantedRow {
    /// The row of the left operand.
    pub left: usize,
    /// The row of the right operand's transpose that is column 0 of the product.
    pub first: usize,
    /// Which of the columns.
    pub columns: Range<usize>,
}

/// Columns that elements of a product may be in, or may not.
#[derive(Clone, Copy, Debug)]
pub struct Mask<'a> {
    /// Columns of all rows.
    pub columns: IndexSlice<'a>,
    /// Where those of each row of a run are.
    pub rows: &'a [Range<usize>],
    /// Whether elements are wanted everywhere else.
    pub is_complement: bool,
    /// Whether an element is there wherever it is wanted, be it a sum of nothing. Not for a complement.
    pub is_total: bool,
}

/// The type of [`Kernels::columns_panel`].
pub type ColumnsPanel =
    fn(left: Rows<'_>, rows: Range<usize>, band: Option<Range<usize>>, panel: Columns<'_>, acc: &mut [f64]);

/// The type of [`Kernels::sparse_rows`]: rows of `left`, whose column `k` meets row `first + k` of `right`. Gives the number
/// of entries written.
pub type SparseRows =
    fn(left: Rows<'_>, rows: Range<usize>, right: Rows<'_>, first: usize, acc: &mut Accumulator, out: Out<'_>) -> usize;

/// The loops of [`Kernels::outer_sums`].
#[derive(Clone, Copy, Debug)]
pub struct OuterSums {
    /// Adds the outer products of rows of `left`, each of which holds a column of the matrix on the left, and of the same rows of `right`
    /// to sums of `n` columns, and marks the places that have one with 1.
    #[allow(clippy::type_complexity)] // its parameters are named here
    pub add: fn(left: Rows<'_>, right: Rows<'_>, rows: Range<usize>, n: usize, sums: &mut [f64], is_stored: &mut [u8]),
    /// Writes the sums of marked places row by row, and how many each row has. Gives the number of all.
    #[allow(clippy::type_complexity)] // its parameters are named here
    pub write: fn(
        sums: &[f64],
        is_stored: &[u8],
        n: usize,
        counts: &mut [u32],
        columns: &mut [u32],
        values: &mut [u8],
    ) -> usize,
}
