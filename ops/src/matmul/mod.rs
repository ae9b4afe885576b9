//! Inner kernels of matrix products: rows of one operand against rows of the other, into accumulators.
//!
//! A [`Ring`] says in what terms are multiplied and added for a dtype: integers wrap in their own width,
//! bool is or-and, every float accumulates in `f64` or better. Where a fill other than zero takes part,
//! stored elements enter as their difference from the fill, and what that cancels must not cost accuracy:
//! backgrounds, and elements far smaller than the fill beneath them, are added in sums of two `f64`
//! ([`Ring::Double`]).

mod columns;
mod double;
mod fused;
mod kernels;
mod lanes;
mod ring;
mod sparse;
#[cfg(test)]
mod tests;
mod vector;

use std::ops::Range;

use crate::structure::{IndexSlice, IndexVec};

pub use columns::WIDTHS;
pub use ring::{Ring, Told};
pub use sparse::{Accumulator, Out};

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

/// The kernels of a ring. `acc` holds one row of `n` accumulators for each row on the left; everything is
/// added to what is there.
#[derive(Clone, Copy, Debug)]
pub struct Kernels {
    /// Sparse rows times a dense matrix, as elements of the terms' dtype that are written over what `out` holds. Says
    /// whether there is such a kernel for these operands; if not, nothing was done.
    pub sparse_dense_rounded: fn(left: Rows<'_>, rows: Range<usize>, right: Grid<'_>, n: usize, out: &mut [u8]) -> bool,
    /// For floats: adds compressed columns times a panel of a dense matrix, of one of the widths [`WIDTHS`]. Row `r` of
    /// `left` meets row `r` of the panel, and its entry `i` goes to row `i` of the accumulators.
    pub columns_panel: Option<ColumnsPanel>,
    /// For floats: sparse rows times sparse rows of 32-bit indices, as elements of the terms' dtype.
    pub sparse_rows: Option<SparseRows>,
    /// Sparse rows times a dense matrix.
    pub sparse_dense: fn(left: Rows<'_>, rows: Range<usize>, right: Grid<'_>, n: usize, acc: &mut [u8]),
    /// Sparse rows times sparse rows: column `k` on the left meets row `first + k` on the right.
    pub sparse_sparse: fn(left: Rows<'_>, rows: Range<usize>, right: Rows<'_>, first: usize, n: usize, acc: &mut [u8]),
    /// Dense rows times the sparse rows `right_rows`, which stand for the columns `ids` (counted from the
    /// first number) or, without these, for `0..`.
    pub dense_sparse: DenseSparse,
    /// Dense rows times a dense matrix of `k` rows.
    pub dense_dense: fn(left: Grid<'_>, rows: Range<usize>, right: Grid<'_>, k: usize, n: usize, acc: &mut [u8]),
    /// Adds accumulators to those of some rows: from the first of these on, with strides that may be 0.
    pub add: fn(values: Grid<'_>, n: usize, acc: &mut [u8]),
    /// Adds the products of accumulators, one for each row on the left (stride `row`) and one for each column on
    /// the right (stride `col`).
    pub outer: fn(left: Grid<'_>, right: Grid<'_>, n: usize, acc: &mut [u8]),
    /// Sparse rows times sparse rows of `n` columns, only what meets (Gustavson, "Two fast algorithms for
    /// sparse matrices", 1978). `width` is the size of a finished element.
    pub gustavson:
        fn(left: Rows<'_>, runs: &[Run<'_>], right: Rows<'_>, n: usize, finish: Finish<'_>, width: usize) -> Product,
}

/// The type of [`Kernels::dense_sparse`].
pub type DenseSparse = fn(
    left: Grid<'_>,
    rows: Range<usize>,
    right: Rows<'_>,
    right_rows: Range<usize>,
    ids: Option<(u64, &[u64])>,
    n: usize,
    acc: &mut [u8],
);

/// The type of [`Kernels::columns_panel`].
pub type ColumnsPanel = fn(left: Rows<'_>, rows: Range<usize>, panel: &[f64], width: usize, acc: &mut [f64]);

/// The type of [`Kernels::sparse_rows`]: rows of `left`, whose column `k` meets row `first + k` of `right`. Gives the number
/// of entries written.
pub type SparseRows =
    fn(left: Rows<'_>, rows: Range<usize>, right: Rows<'_>, first: usize, acc: &mut Accumulator, out: Out<'_>) -> usize;
