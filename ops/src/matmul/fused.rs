//! The kernels of sums of two floats at each level of vector instructions. An exact product is a fused multiply-add, which
//! is one instruction at all levels but the baseline: there it is a call of a library function and takes some ten times
//! as long. The bits are the same.

use std::marker::PhantomData;
use std::ops::Range;

use super::kernels;
use super::ring::Term;
use super::{Grid, Kernels, Rows};
use crate::simd::{Loop, vectorised};
use crate::structure::IndexSlice;

/// As [`kernels::of`], over 32-bit indices for the level in use.
pub(super) fn of<T: Term>() -> Kernels {
    Kernels {
        sparse_dense: |left, rows, right, n, acc| match left.pointers {
            IndexSlice::U32(_) => vectorised(SparseDense::<T>(left, rows, right, n, acc, PhantomData)),
            IndexSlice::U64(_) => kernels::sparse_dense::<T, u64>(left, rows, right, n, acc),
        },
        sparse_sparse: |left, rows, right, first, n, acc| match left.pointers {
            IndexSlice::U32(_) => vectorised(SparseSparse::<T>(left, rows, right, first, n, acc, PhantomData)),
            IndexSlice::U64(_) => kernels::sparse_sparse::<T, u64>(left, rows, right, first, n, acc),
        },
        dense_sparse: |left, rows, right, of, ids, n, acc| match right.pointers {
            IndexSlice::U32(_) => vectorised(DenseSparse::<T>(left, rows, right, (of, ids), n, acc, PhantomData)),
            IndexSlice::U64(_) => kernels::dense_sparse::<T, u64>(left, rows, right, of, ids, n, acc),
        },
        dense_dense: |left, rows, right, k, n, acc| {
            vectorised(DenseDense::<T>(left, rows, right, k, n, acc, PhantomData));
        },
        outer: |left, right, n, acc| vectorised(Outer::<T>(left, right, n, acc, PhantomData)),
        ..kernels::of::<T>()
    }
}

struct SparseDense<'a, T>(Rows<'a>, Range<usize>, Grid<'a>, usize, &'a mut [u8], PhantomData<T>);

impl<T: Term> Loop for SparseDense<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        kernels::sparse_dense::<T, u32>(self.0, self.1, self.2, self.3, self.4);
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

/// Rows on the right, and the numbers they stand for.
type Listed<'a> = (Range<usize>, Option<(u64, &'a [u64])>);

struct DenseSparse<'a, T>(Grid<'a>, Range<usize>, Rows<'a>, Listed<'a>, usize, &'a mut [u8], PhantomData<T>);

impl<T: Term> Loop for DenseSparse<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (of, ids) = self.3;
        kernels::dense_sparse::<T, u32>(self.0, self.1, self.2, of, ids, self.4, self.5);
    }
}

struct DenseDense<'a, T>(Grid<'a>, Range<usize>, Grid<'a>, usize, usize, &'a mut [u8], PhantomData<T>);

impl<T: Term> Loop for DenseDense<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        kernels::dense_dense::<T>(self.0, self.1, self.2, self.3, self.4, self.5);
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
