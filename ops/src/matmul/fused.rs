//! The kernels of sums of two floats at each level of vector instructions. An exact product is a fused multiply-add, which
//! is one instruction at all levels but the baseline: there it is a call of a library function and takes some ten times
//! as long. The bits are the same. The baseline, and 64-bit indices, are left to [`Loops`].

use std::marker::PhantomData;
use std::ops::Range;

use super::kernels::{self, Loops};
use super::term::Term;
use super::{Finish, Grid, Kernels, Listed, Operand, Product, Rows, Run, Wanted};
use crate::simd::{Loop, narrowly_vectorised_above};
use crate::structure::IndexSlice;

/// As [`Loops`], over 32-bit indices for the level in use.
#[derive(Debug)]
pub(super) struct Fused<T>(pub(super) Loops<T>);

impl<T: Term> Kernels for Fused<T> {
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
        let work = SparseSparse::<T>(left, rows, right, first, n, acc, PhantomData);
        if let Err(SparseSparse(left, rows, right, first, n, acc, _)) = narrow(left, work, narrowly_vectorised_above) {
            self.0.sparse_sparse(left, rows, right, first, n, acc);
        }
    }

    fn dense_sparse(&self, left: Grid<'_>, rows: Range<usize>, right: Listed<'_>, n: usize, acc: &mut [u8]) {
        let all = right.all;
        let work = DenseSparse::<T>(left, rows, right, n, acc, PhantomData);
        if let Err(DenseSparse(left, rows, right, n, acc, _)) = narrow(all, work, narrowly_vectorised_above) {
            self.0.dense_sparse(left, rows, right, n, acc);
        }
    }

    fn dense_dense(&self, left: Grid<'_>, rows: Range<usize>, right: Grid<'_>, k: usize, n: usize, acc: &mut [u8]) {
        self.0.dense_dense(left, rows, right, k, n, acc);
    }

    fn add(&self, values: Grid<'_>, n: usize, acc: &mut [u8]) {
        if let Err(Add(values, n, acc, _)) = narrowly_vectorised_above(Add::<T>(values, n, acc, PhantomData)) {
            self.0.add(values, n, acc);
        }
    }

    fn outer(&self, left: Grid<'_>, right: Grid<'_>, n: usize, acc: &mut [u8]) {
        let work = Outer::<T>(left, right, n, acc, PhantomData);
        if let Err(Outer(left, right, n, acc, _)) = narrowly_vectorised_above(work) {
            self.0.outer(left, right, n, acc);
        }
    }

    fn sampled(&self, left: Operand<'_>, right: Operand<'_>, wanted: Wanted<'_>, k: usize, acc: &mut [u8]) {
        self.0.sampled(left, right, wanted, k, acc);
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

/// Runs a loop over rows of 32-bit indices; gives it back over those of 64 bits, and where `run` does.
#[inline(always)]
fn narrow<L: Loop>(rows: Rows<'_>, work: L, run: impl FnOnce(L) -> Result<L::Output, L>) -> Result<L::Output, L> {
    match rows.pointers {
        IndexSlice::U32(_) => run(work),
        IndexSlice::U64(_) => Err(work),
    }
}

struct SparseSparse<'a, T>(Rows<'a>, Range<usize>, Rows<'a>, usize, usize, &'a mut [u8], PhantomData<T>);

impl<T: Term> Loop for SparseSparse<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        kernels::sparse_sparse::<T, u32>(self.0, self.1, self.2, self.3, self.4, self.5);
    }
}

struct DenseSparse<'a, T>(Grid<'a>, Range<usize>, Listed<'a>, usize, &'a mut [u8], PhantomData<T>);

impl<T: Term> Loop for DenseSparse<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        kernels::dense_sparse::<T, u32>(self.0, self.1, self.2, self.3, self.4);
    }
}

struct Add<'a, T>(Grid<'a>, usize, &'a mut [u8], PhantomData<T>);

impl<T: Term> Loop for Add<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        kernels::add::<T>(self.0, self.1, self.2);
    }
}

struct Outer<'a, T>(Grid<'a>, Grid<'a>, usize, &'a mut [u8], PhantomData<T>);

impl<T: Term> Loop for Outer<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        kernels::outer::<T>(self.0, self.1, self.2, self.3);
    }
}
