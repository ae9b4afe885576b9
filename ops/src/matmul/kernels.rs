//! The loops.

use std::marker::PhantomData;
use std::ops::Range;

use super::allowed::Allowed;
use super::any_columns::{self, AddColumns};
use super::sparse;

use super::term::Term;
use super::typed::{Typed, slice, slice_mut};
use super::{Finish, Grid, Kernels, Listed, Operand, Product, Rows, Run, SparseRows, Wanted, WantedRow};
use crate::simd::{Loop, prefetch_far, rows_all_over, vectorised};
use crate::structure::{Index, IndexSlice};

/// The loops over terms `T`.
#[derive(Debug)]
pub(super) struct Loops<T>(pub(super) PhantomData<T>);

impl<T: Term> Kernels for Loops<T> {
    fn sparse_dense(&self, left: Rows<'_>, rows: Range<usize>, right: Grid<'_>, n: usize, acc: &mut [u8]) {
        match left.pointers {
            IndexSlice::U32(_) => vectorised(SparseDense::<T>(left, rows, right, n, acc, PhantomData)),
            IndexSlice::U64(_) => sparse_dense::<T, u64>(left, rows, right, n, acc),
        }
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
        match left.pointers {
            IndexSlice::U32(_) => sparse_sparse::<T, u32>(left, rows, right, first, n, acc),
            IndexSlice::U64(_) => sparse_sparse::<T, u64>(left, rows, right, first, n, acc),
        }
    }

    fn dense_sparse(&self, left: Grid<'_>, rows: Range<usize>, right: Listed<'_>, n: usize, acc: &mut [u8]) {
        match right.all.pointers {
            IndexSlice::U32(_) => dense_sparse::<T, u32>(left, rows, right, n, acc),
            IndexSlice::U64(_) => dense_sparse::<T, u64>(left, rows, right, n, acc),
        }
    }

    fn dense_dense(&self, left: Grid<'_>, rows: Range<usize>, right: Grid<'_>, k: usize, n: usize, acc: &mut [u8]) {
        vectorised(DenseDense::<T>(left, rows, right, k, n, acc, PhantomData));
    }

    fn add(&self, values: Grid<'_>, n: usize, acc: &mut [u8]) {
        add::<T>(values, n, acc);
    }

    fn add_columns(&self) -> Option<AddColumns> {
        Some(any_columns::add::<T>)
    }

    fn sparse_rows(&self) -> Option<SparseRows> {
        Some(sparse::rows::<T>)
    }

    fn outer(&self, left: Grid<'_>, right: Grid<'_>, n: usize, acc: &mut [u8]) {
        outer::<T>(left, right, n, acc);
    }

    fn sampled(&self, left: Operand<'_>, right: Operand<'_>, wanted: Wanted<'_>, k: usize, acc: &mut [u8]) {
        match wanted.columns {
            IndexSlice::U32(columns) => wanted_sums::<T, u32>(left, right, (columns, wanted.rows), k, acc),
            IndexSlice::U64(columns) => wanted_sums::<T, u64>(left, right, (columns, wanted.rows), k, acc),
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
        match left.pointers {
            IndexSlice::U32(_) => gustavson::<T, u32>(left, runs, right, n, finish, width),
            IndexSlice::U64(_) => gustavson::<T, u64>(left, runs, right, n, finish, width),
        }
    }
}

struct SparseDense<'a, T>(Rows<'a>, Range<usize>, Grid<'a>, usize, &'a mut [u8], PhantomData<T>);

impl<T: Term> Loop for SparseDense<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        sparse_dense::<T, u32>(self.0, self.1, self.2, self.3, self.4);
    }
}

/// Columns that are accumulated in registers at a time.
const WIDE: usize = 16;

/// Rows of a dense matrix that are multiplied together.
const TOGETHER: usize = 4;

/// Elements whose rows of the dense matrix are asked for ahead.
const ROWS_AHEAD: usize = 32;

#[inline(always)]
fn sparse_dense<T: Term, I: Index>(left: Rows<'_>, rows: Range<usize>, right: Grid<'_>, n: usize, acc: &mut [u8]) {
    let (left, b, acc) = (Typed::<T, I>::new(left), slice::<T>(right.values), slice_mut::<T::Acc>(acc));
    if n == 1 && right.row == 1 {
        // A vector: each row ends where the next begins.
        let first = left.start(rows.start);
        let (mut start, mut later) = (first, left.later(&rows, b));
        for (out, end) in acc.iter_mut().zip(&left.pointers[rows.start + 1..=rows.end]) {
            let end = end.get() - left.base;
            later.reach_row(start - first, end - start, b);
            *out = T::add(*out, dot(&left.indices[start..end], &left.values[start..end], b));
            start = end;
        }
        return;
    }
    if right.col == 0 || n == 1 {
        // One value per row on the right: a dot product, for every column.
        for (out, r) in acc.chunks_exact_mut(n).zip(rows) {
            let (indices, values) = left.row(r);
            let sum = if right.row == 1 { dot(indices, values, b) } else { dot_strided(indices, values, b, right.row) };
            out.iter_mut().for_each(|o| *o = T::add(*o, sum));
        }
        return;
    }
    let last = left.start(rows.end);
    let all_over = rows_all_over(&left.indices[left.start(rows.start)..last], b, right.row);
    for (out, r) in acc.chunks_exact_mut(n).zip(rows) {
        let (indices, values) = left.row(r);
        let ahead = if all_over { &left.indices[(left.start(r) + ROWS_AHEAD).min(last)..last] } else { &[] };
        let entries = (indices, values, ahead);
        let mut j = 0;
        let (wide, rest) = out.as_chunks_mut::<WIDE>();
        for out in wide {
            block(entries, &b[j..], right.row, out);
            j += WIDE;
        }
        let (half, rest) = rest.as_chunks_mut::<{ WIDE / 2 }>();
        for out in half {
            block(entries, &b[j..], right.row, out);
            j += WIDE / 2;
        }
        let (few, rest) = rest.as_chunks_mut::<{ WIDE / 4 }>();
        for out in few {
            block(entries, &b[j..], right.row, out);
            j += WIDE / 4;
        }
        let (two, rest) = rest.as_chunks_mut::<2>();
        for out in two {
            block(entries, &b[j..], right.row, out);
            j += 2;
        }
        for out in rest {
            *out = T::add(*out, dot_strided(indices, values, &b[j..], right.row));
            j += 1;
        }
    }
}

/// `N` columns of one row, in registers; what is met [`ROWS_AHEAD`] entries later is asked for, of as many as are known.
#[inline(always)]
fn block<T: Term, I: Index, const N: usize>(
    (indices, values, ahead): (&[I], &[T], &[I]),
    b: &[T],
    stride: usize,
    out: &mut [T::Acc; N],
) {
    let entries = indices.iter().zip(values).enumerate().map(|(e, (k, &x))| {
        if let Some(next) = ahead.get(e) {
            prefetch_far::<T, N>(b, next.get() * stride);
        }
        (x, &b[k.get() * stride..][..N])
    });
    T::add_rows(entries, out);
}

/// [`dot`], compiled once for all that take a product of rows for each element of the result.
#[inline(never)]
fn dot_apart<T: Term, I: Index>(indices: &[I], values: &[T], b: &[T]) -> T::Acc {
    dot(indices, values, b)
}

#[inline(always)]
fn dot<T: Term, I: Index>(indices: &[I], values: &[T], b: &[T]) -> T::Acc {
    const LANES: usize = 4;
    let mut lanes = [T::ZERO; LANES];
    let ((ks, k_rest), (xs, x_rest)) = (indices.as_chunks::<LANES>(), values.as_chunks::<LANES>());
    for (k, x) in ks.iter().zip(xs) {
        for i in 0..LANES {
            lanes[i] = T::mul_add(lanes[i], x[i], b[k[i].get()]);
        }
    }
    for ((lane, &k), &x) in lanes.iter_mut().zip(k_rest).zip(x_rest) {
        *lane = T::mul_add(*lane, x, b[k.get()]);
    }
    T::add(T::add(lanes[0], lanes[1]), T::add(lanes[2], lanes[3]))
}

#[inline(always)]
fn dot_strided<T: Term, I: Index>(indices: &[I], values: &[T], b: &[T], stride: usize) -> T::Acc {
    // A plain loop: what `fold` calls would be compiled for any CPU.
    let mut acc = T::ZERO;
    for (&k, &x) in indices.iter().zip(values) {
        acc = T::mul_add(acc, x, b[k.get() * stride]);
    }
    acc
}

/// Adds `x` times one sparse row.
#[inline(always)]
fn scatter<T: Term, I: Index>(x: T, (columns, values): (&[I], &[T]), out: &mut [T::Acc]) {
    for (&j, &y) in columns.iter().zip(values) {
        let slot = &mut out[j.get()];
        *slot = T::mul_add(*slot, x, y);
    }
}

#[inline(always)] // into the loops of `fused` too
pub(super) fn sparse_sparse<T: Term, I: Index>(
    left: Rows<'_>,
    rows: Range<usize>,
    right: Rows<'_>,
    first: usize,
    n: usize,
    acc: &mut [u8],
) {
    let (left, right, acc) = (Typed::<T, I>::new(left), Typed::<T, I>::new(right), slice_mut::<T::Acc>(acc));
    for (out, r) in acc.chunks_exact_mut(n).zip(rows) {
        let (indices, values) = left.row(r);
        for (&k, &x) in indices.iter().zip(values) {
            scatter(x, right.row(first + k.get()), out);
        }
    }
}

#[inline(always)] // into the loops of `fused` too
pub(super) fn dense_sparse<T: Term, I: Index>(
    left: Grid<'_>,
    rows: Range<usize>,
    listed: Listed<'_>,
    n: usize,
    acc: &mut [u8],
) {
    let (a, right, acc) = (slice::<T>(left.values), Typed::<T, I>::new(listed.all), slice_mut::<T::Acc>(acc));
    // Each sparse row is read once for all dense rows.
    for (i, r) in listed.rows.clone().enumerate() {
        let row = right.row(r);
        if row.0.is_empty() {
            continue;
        }
        let k = listed.column(i);
        for (out, r) in acc.chunks_exact_mut(n).zip(rows.clone()) {
            scatter(a[r * left.row + k * left.col], row, out);
        }
    }
}

struct DenseDense<'a, T>(Grid<'a>, Range<usize>, Grid<'a>, usize, usize, &'a mut [u8], PhantomData<T>);

impl<T: Term> Loop for DenseDense<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        dense_dense::<T>(self.0, self.1, self.2, self.3, self.4, self.5);
    }
}

#[inline(always)]
fn dense_dense<T: Term>(left: Grid<'_>, rows: Range<usize>, right: Grid<'_>, k: usize, n: usize, acc: &mut [u8]) {
    let (a, b, mut acc) = (slice::<T>(left.values), slice::<T>(right.values), slice_mut::<T::Acc>(acc));
    if k == 0 {
        return;
    }
    let mut rows = rows;
    let is_wide = right.col == 1 && n >= WIDE && (left.col, right.row) != (0, 0);
    while const { size_of::<T::Acc>() <= 8 } && is_wide && rows.len() >= TOGETHER {
        let (some, rest) = acc.split_at_mut(TOGETHER * n);
        let first = rows.start;
        rows_together::<T>(
            std::array::from_fn(|i| &a[(first + i) * left.row..]),
            left.col,
            (b, right.row),
            [k, n],
            some,
        );
        (acc, rows.start) = (rest, first + TOGETHER);
    }
    for (out, r) in acc.chunks_exact_mut(n).zip(rows) {
        let a = &a[r * left.row..];
        if left.col == 0 && right.row == 0 {
            for (j, o) in out.iter_mut().enumerate() {
                *o = T::add(*o, T::times(a[0], b[j * right.col], k));
            }
        } else if right.col == 0 || n == 1 {
            let mut sum = T::ZERO;
            if (left.col, right.row) == (1, 1) {
                // Of integers the compiler makes vectors.
                for (&x, &y) in a[..k].iter().zip(&b[..k]) {
                    sum = T::mul_add(sum, x, y);
                }
            } else {
                for k in 0..k {
                    sum = T::mul_add(sum, a[k * left.col], b[k * right.row]);
                }
            }
            out.iter_mut().for_each(|o| *o = T::add(*o, sum));
        } else {
            let factors = |j: usize, n: usize| (0..k).map(move |k| (a[k * left.col], &b[k * right.row + j..][..n]));
            let mut j = 0;
            let (wide, rest) = out.as_chunks_mut::<WIDE>();
            for out in wide {
                T::add_rows(factors(j, WIDE), out);
                j += WIDE;
            }
            let (half, rest) = rest.as_chunks_mut::<{ WIDE / 2 }>();
            for out in half {
                T::add_rows(factors(j, WIDE / 2), out);
                j += WIDE / 2;
            }
            let (few, rest) = rest.as_chunks_mut::<{ WIDE / 4 }>();
            for out in few {
                T::add_rows(factors(j, WIDE / 4), out);
                j += WIDE / 4;
            }
            for out in rest.as_chunks_mut::<1>().0 {
                T::add_rows(factors(j, 1), out);
                j += 1;
            }
        }
    }
}

/// Some rows times a dense matrix, [`WIDE`] of whose columns are read once for all of them; the last columns of it, fewer than these,
/// together with columns that are done.
#[inline(always)]
fn rows_together<T: Term>(
    a: [&[T]; TOGETHER],
    step: usize,
    (b, row): (&[T], usize),
    [k, n]: [usize; 2],
    out: &mut [T::Acc],
) {
    let mut j = 0;
    while j < n {
        // Those that are done are left as they are.
        let (first, done) = if j + WIDE <= n { (j, 0) } else { (n - WIDE, j + WIDE - n) };
        let mut sums = [[T::ZERO; WIDE]; TOGETHER];
        for r in 0..TOGETHER {
            sums[r].copy_from_slice(&out[r * n + first..][..WIDE]);
        }
        for k in 0..k {
            let b = &b[k * row + first..][..WIDE];
            for r in 0..TOGETHER {
                let x = a[r][k * step];
                for i in 0..WIDE {
                    sums[r][i] = T::mul_add(sums[r][i], x, b[i]);
                }
            }
        }
        for r in 0..TOGETHER {
            out[r * n + first + done..][..WIDE - done].copy_from_slice(&sums[r][done..]);
        }
        j += WIDE;
    }
}

#[inline(always)]
pub(super) fn add<T: Term>(values: Grid<'_>, n: usize, acc: &mut [u8]) {
    let (added, acc) = (slice::<T::Acc>(values.values), slice_mut::<T::Acc>(acc));
    for (i, out) in acc.chunks_exact_mut(n).enumerate() {
        for (j, o) in out.iter_mut().enumerate() {
            *o = T::add(*o, added[i * values.row + j * values.col]);
        }
    }
}

#[inline(always)]
pub(super) fn outer<T: Term>(left: Grid<'_>, right: Grid<'_>, n: usize, acc: &mut [u8]) {
    let (xs, ys, acc) = (slice::<T::Acc>(left.values), slice::<T::Acc>(right.values), slice_mut::<T::Acc>(acc));
    for (i, out) in acc.chunks_exact_mut(n).enumerate() {
        let x = xs[i * left.row];
        for (j, o) in out.iter_mut().enumerate() {
            *o = T::add(*o, T::product(x, ys[j * right.col]));
        }
    }
}

fn wanted_sums<T: Term, I: Index>(
    left: Operand<'_>,
    right: Operand<'_>,
    (columns, rows): (&[I], &[WantedRow]),
    k: usize,
    acc: &mut [u8],
) {
    let mut rest = slice_mut::<T::Acc>(acc);
    for row in rows {
        let own = &columns[row.columns.clone()];
        let (acc, tail) = std::mem::take(&mut rest).split_at_mut(own.len());
        rest = tail;
        match (left, right) {
            (Operand::Dense(a), Operand::Dense(b)) => {
                let x = dense_row::<T>(a, row.left, k);
                for (acc, j) in acc.iter_mut().zip(own) {
                    *acc = T::add(*acc, dense_dot(x, dense_row(b, row.first + j.get(), k)));
                }
            }
            (Operand::Sparse(a), Operand::Dense(b)) => {
                let (indices, xs) = Typed::<T, I>::new(a).row(row.left);
                for (acc, j) in acc.iter_mut().zip(own) {
                    *acc = T::add(*acc, dot_apart(indices, xs, dense_row(b, row.first + j.get(), k)));
                }
            }
            (Operand::Dense(a), Operand::Sparse(b)) => {
                let (x, b) = (dense_row::<T>(a, row.left, k), Typed::<T, I>::new(b));
                for (acc, j) in acc.iter_mut().zip(own) {
                    let (indices, ys) = b.row(row.first + j.get());
                    *acc = T::add(*acc, dot_apart(indices, ys, x));
                }
            }
            (Operand::Sparse(_), Operand::Sparse(_)) => debug_assert!(false, "that is a sparse product"),
        }
    }
}

/// Row `r` of a dense matrix of `k` columns side by side.
#[inline(always)]
fn dense_row<'a, T: Term>(grid: Grid<'a>, r: usize, k: usize) -> &'a [T] {
    &slice::<T>(grid.values)[r * grid.row..][..k]
}

/// The sum of products of elements in the same places, in eight lanes.
#[inline(never)] // once for both widths of indices
fn dense_dot<T: Term>(x: &[T], y: &[T]) -> T::Acc {
    const LANES: usize = 8;
    let mut lanes = [T::ZERO; LANES];
    let ((xs, x_rest), (ys, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in xs.iter().zip(ys) {
        for i in 0..LANES {
            lanes[i] = T::mul_add(lanes[i], x[i], y[i]);
        }
    }
    for ((lane, &x), &y) in lanes.iter_mut().zip(x_rest).zip(y_rest) {
        *lane = T::mul_add(*lane, x, y);
    }
    let mut half = LANES;
    while half > 1 {
        half /= 2;
        for i in 0..half {
            lanes[i] = T::add(lanes[i], lanes[i + half]);
        }
    }
    lanes[0]
}

/// A set of column numbers that gives them back in order: a bit each, and two levels above of a bit for each
/// word that has any.
pub(super) struct Columns {
    levels: [Vec<u64>; 3],
}

impl Columns {
    pub(super) fn new(n: usize) -> Columns {
        let words = |n: usize| vec![0u64; n.div_ceil(64)];
        Columns { levels: [words(n), words(n.div_ceil(1 << 6)), words(n.div_ceil(1 << 12))] }
    }

    /// Whether the column is new.
    #[inline(always)]
    pub(super) fn insert(&mut self, mut j: usize) -> bool {
        let bit = 1 << (j % 64);
        if self.levels[0][j / 64] & bit != 0 {
            return false;
        }
        for level in &mut self.levels {
            let (word, bit) = (&mut level[j / 64], 1 << (j % 64));
            let was = *word;
            *word |= bit;
            if was != 0 {
                break; // the levels above know
            }
            j /= 64;
        }
        true
    }

    /// Takes all columns out, rising.
    #[inline(always)]
    pub(super) fn drain(&mut self, mut f: impl FnMut(usize)) {
        let [low, middle, high] = &mut self.levels;
        for (i, top) in high.iter_mut().enumerate() {
            each_bit(std::mem::take(top), |b| {
                let i = i * 64 + b;
                each_bit(std::mem::take(&mut middle[i]), |b| {
                    let i = i * 64 + b;
                    each_bit(std::mem::take(&mut low[i]), |b| f(i * 64 + b));
                });
            });
        }
    }
}

#[inline(always)]
fn each_bit(mut word: u64, mut f: impl FnMut(usize)) {
    while word != 0 {
        f(word.trailing_zeros() as usize);
        word &= word - 1;
    }
}

/// Finished values are written in blocks of about this many.
pub(super) const FLUSH: usize = 2048;

/// Rows on the right that are looked up at a time.
const AHEAD: usize = 16;

fn gustavson<T: Term, I: Index>(
    left: Rows<'_>,
    runs: &[Run<'_>],
    right: Rows<'_>,
    n: usize,
    finish: Finish<'_>,
    width: usize,
) -> Product {
    let (left, right) = (Typed::<T, I>::new(left), Typed::<T, I>::new(right));
    let mut acc = vec![T::ZERO; n];
    let mut touched = Columns::new(n);
    let mut allowed = Allowed::default();
    let (mut columns, mut counts, mut values): (Vec<I>, Vec<usize>, Vec<u8>) = (Vec::new(), Vec::new(), Vec::new());
    let mut pending: Vec<T::Acc> = Vec::with_capacity(2 * FLUSH);
    counts.reserve_exact(runs.iter().map(|r| r.left.len()).sum());
    for run in runs {
        let init = run.init.map(|g| (slice::<T::Acc>(g.values), g.row, g.col));
        for (i, r) in run.left.clone().enumerate() {
            allowed.enter(run.mask, i, n);
            for &j in allowed.total() {
                touched.insert(j);
                acc[j] = T::ZERO;
            }
            let mut add = |x: T, j: I, y: T| {
                let j = j.get();
                if !allowed.has(j) {
                    return;
                }
                let slot = &mut acc[j];
                if touched.insert(j) {
                    *slot = init.map_or(T::ZERO, |(values, row, col)| values[i * row + j * col]);
                }
                *slot = T::mul_add(*slot, x, y);
            };
            let (mut ks, mut xs) = left.row(r);
            let met = || ks.iter().map(|k| right.length(run.right + k.get())).sum();
            if allowed.is_probed(ks.len(), met) {
                for (&k, &x) in ks.iter().zip(xs) {
                    let (js, ys) = right.row(run.right + k.get());
                    for &j in allowed.columns() {
                        if let Ok(at) = js.binary_search(&I::new(j)) {
                            add(x, js[at], ys[at]);
                        }
                    }
                }
                (ks, xs) = (&[], &[]);
            }
            for (ks, xs) in ks.chunks(AHEAD).zip(xs.chunks(AHEAD)) {
                // Rows lie anywhere: their pointers and first entries are asked for before any is used, so
                // that memory answers all at once.
                let mut ranges = [(0, 0); AHEAD];
                for (range, &k) in ranges.iter_mut().zip(ks) {
                    *range = right.range(run.right + k.get());
                }
                let mut firsts = [None; AHEAD];
                for (first, &(start, end)) in firsts.iter_mut().zip(&ranges) {
                    if start < end {
                        *first = Some((right.indices[start], right.values[start]));
                    }
                }
                for ((&x, &(start, end)), first) in xs.iter().zip(&ranges).zip(firsts) {
                    let Some((mut j, mut y)) = first else { continue };
                    let mut rest = right.indices[start + 1..end].iter().zip(&right.values[start + 1..end]);
                    // One loop for the first entry and the others, so that the body is compiled once.
                    loop {
                        add(x, j, y);
                        let Some((&next_j, &next_y)) = rest.next() else { break };
                        (j, y) = (next_j, next_y);
                    }
                }
            }
            let before = columns.len();
            touched.drain(|j| {
                columns.push(I::new(j));
                pending.push(acc[j]);
            });
            counts.push(columns.len() - before);
            allowed.leave();
            if pending.len() >= FLUSH {
                flush(bytemuck::cast_slice(&pending), pending.len() * width, finish, &mut values);
                pending.clear();
            }
        }
    }
    flush(bytemuck::cast_slice(&pending), pending.len() * width, finish, &mut values);
    Product { counts, columns: I::vec(columns), values }
}

/// Appends finished values of so many bytes.
pub(super) fn flush(acc: &[u8], size: usize, finish: Finish<'_>, values: &mut Vec<u8>) {
    let start = values.len();
    values.resize(start + size, 0);
    finish(acc, &mut values[start..]);
}
