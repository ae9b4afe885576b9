//! The kernels of floats: vector code where there is some, the loops of all terms elsewhere.

use std::ops::Range;

use super::diagonals::{self, Block, Diagonals};
use super::dots::Dots;
use super::kernels::Loops;
use super::vector;
use super::{ColumnsPanel, Finish, Grid, Kernels, Listed, Operand, OuterSums, Product, Rows, Run, SparseRows, Wanted};
use super::{columns, outer, sampled};
use crate::structure::IndexSlice;

/// As [`Loops`], with vector code for most of what has 32-bit indices.
#[derive(Debug)]
pub(super) struct Floats<T>(pub(super) Loops<T>);

impl<T: Block + Dots> Kernels for Floats<T> {
    fn sparse_dense_rounded(
        &self,
        left: Rows<'_>,
        rows: Range<usize>,
        right: Grid<'_>,
        n: usize,
        out: &mut [u8],
        stream: bool,
    ) -> bool {
        let is_fit = matches!(left.indices, IndexSlice::U32(_)) && (right.col == 1 || n == 1);
        if is_fit {
            vector::sparse_dense::<T>(left, rows, right, n, (out, stream));
        }
        is_fit
    }

    fn columns_panel(&self) -> Option<ColumnsPanel> {
        Some(columns::add::<T>)
    }

    fn diagonals(&self) -> Option<Diagonals> {
        Some(diagonals::multiply::<T>)
    }

    fn sparse_rows(&self) -> Option<SparseRows> {
        self.0.sparse_rows()
    }

    fn outer_sums(&self) -> Option<OuterSums> {
        Some(OuterSums { add: outer::add::<T>, write: outer::write::<T> })
    }

    fn sparse_dense(&self, left: Rows<'_>, rows: Range<usize>, right: Grid<'_>, n: usize, acc: &mut [u8]) {
        self.0.sparse_dense(left, rows, right, n, acc);
    }

    fn sparse_sparse(
        &self,
        left: Rows<'_>,
        rows: Range<usize>,
        right: Rows<'_>,
        first: usize,
        n: usize,
        acc: &mut [u8],
    ) {
        self.0.sparse_sparse(left, rows, right, first, n, acc);
    }

    fn dense_sparse(&self, left: Grid<'_>, rows: Range<usize>, right: Listed<'_>, n: usize, acc: &mut [u8]) {
        self.0.dense_sparse(left, rows, right, n, acc);
    }

    fn dense_dense(&self, left: Grid<'_>, rows: Range<usize>, right: Grid<'_>, k: usize, n: usize, acc: &mut [u8]) {
        self.0.dense_dense(left, rows, right, k, n, acc);
    }

    fn add(&self, values: Grid<'_>, n: usize, acc: &mut [u8]) {
        self.0.add(values, n, acc);
    }

    fn outer(&self, left: Grid<'_>, right: Grid<'_>, n: usize, acc: &mut [u8]) {
        self.0.outer(left, right, n, acc);
    }

    fn sampled(&self, left: Operand<'_>, right: Operand<'_>, wanted: Wanted<'_>, k: usize, acc: &mut [u8]) {
        match (left, right, wanted.columns) {
            (Operand::Dense(a), Operand::Dense(b), IndexSlice::U32(columns)) => {
                sampled::add::<T>([a, b], columns, wanted.rows, k, acc);
            }
            _ => self.0.sampled(left, right, wanted, k, acc),
        }
    }

    fn gustavson(
        &self,
        left: Rows<'_>,
        runs: &[Run<'_>],
        right: Rows<'_>,
        n: usize,
        finish: Finish<'_>,
        width: usize,
    ) -> Product {
        self.0.gustavson(left, runs, right, n, finish, width)
    }
}
