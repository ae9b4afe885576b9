//! Kernels of any semiring, over the block kernels of its two ops: pairs of elements that meet are laid out one after the
//! other, multiplied a block at a time, and folded into accumulators. Nothing here is compiled per dtype.

use std::ops::Range;

use super::allowed::Allowed;
use super::kernels::{Columns, FLUSH, flush};
use super::semiring::{Pairs, Semiring};
use super::{Finish, Grid, Kernels, Listed, Operand, Plus, Product, Rows, Run, Wanted};
use crate::cast::cast_block;
use crate::dtype::DType;
use crate::reduce::ReduceKernels;
use crate::scalar::Scalar;
use crate::structure::{Index, IndexSlice, gather};

/// Pairs in a block: what a block needs stays in the first-level cache.
const BLOCK: usize = 512;

/// The carrier of a semiring.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    semiring: Semiring,
    /// Of terms.
    input: DType,
    /// Of products.
    product: DType,
    output: DType,
    pairs: Pairs,
    fold: ReduceKernels,
    /// Whether terms of the left operand are the right ones of ⊗.
    is_swapped: bool,
}

impl PartialEq for Blocks {
    fn eq(&self, other: &Blocks) -> bool {
        (self.semiring, self.input, self.is_swapped) == (other.semiring, other.input, other.is_swapped)
    }
}

impl Eq for Blocks {}

impl Blocks {
    /// For operands of `dtype`; `None` if an op is not defined for it.
    pub(super) fn new(semiring: Semiring, dtype: DType) -> Option<Blocks> {
        let (input, product, pairs) = semiring.times.of(dtype)?;
        let (fold, output) = semiring.plus.fold(product)?;
        Some(Blocks { semiring, input, product, output, pairs, fold, is_swapped: false })
    }

    pub(super) const fn input(self) -> DType {
        self.input
    }

    pub(super) const fn accumulator(self) -> DType {
        self.fold.identity.dtype()
    }

    pub(super) const fn output(self) -> DType {
        self.output
    }

    pub(super) const fn swapped(self) -> Blocks {
        let pairs = match self.pairs {
            Pairs::Left => Pairs::Right,
            Pairs::Right => Pairs::Left,
            other => other,
        };
        Blocks { is_swapped: !self.is_swapped, pairs, ..self }
    }

    pub(super) fn zero(self) -> Scalar {
        let ((acc, size), mut out) = (self.fold.identity.to_bytes(), [0; 16]);
        self.finish(&acc[..size], self.output, &mut out[..self.output.size()]);
        Scalar::from_bytes(self.output, &out[..self.output.size()])
    }

    pub(super) fn clear(self, acc: &mut [u8]) {
        let (zero, size) = self.fold.identity.to_bytes();
        splat(&zero[..size], acc);
    }

    pub(super) fn finish(self, acc: &[u8], dtype: DType, out: &mut [u8]) {
        if self.semiring.plus != Plus::Xor {
            return cast_block(self.accumulator(), acc, dtype, out);
        }
        // Whether the number of true elements is odd, which its lowest byte says.
        let size = self.accumulator().size();
        let lowest = if cfg!(target_endian = "little") { 0 } else { size - 1 };
        for (out, count) in out.iter_mut().zip(acc.chunks_exact(size)) {
            *out = count[lowest] & 1;
        }
    }

    /// Whether ⊗ looks at the terms of the left operand, and at those of the right one.
    pub(super) const fn reads(self) -> (bool, bool) {
        match self.pairs {
            Pairs::Kernel(_) => (true, true),
            Pairs::Left => (true, false),
            Pairs::Right => (false, true),
            Pairs::One => (false, false),
        }
    }

    pub(super) const fn is_associative(self) -> bool {
        match self.semiring.plus {
            Plus::Sum | Plus::Prod => !self.accumulator().is_inexact(),
            Plus::Min | Plus::Max | Plus::Or | Plus::And | Plus::Xor => true,
        }
    }

    /// What every sum of one product or more is, as the accumulator that holds it, if no operand has a say in it: products
    /// are then one constant, of which it makes no difference how many are summed.
    fn once(&self) -> Option<[u128; 1]> {
        let is_idempotent = matches!(self.semiring.plus, Plus::Min | Plus::Max | Plus::Or | Plus::And);
        (is_idempotent && matches!(self.pairs, Pairs::One)).then(|| {
            let mut sum = [0];
            let acc = some_mut(&mut sum, 0..1, self.accumulator().size());
            self.clear(acc);
            self.work().each(1, acc);
            sum
        })
    }

    fn work(&self) -> Work {
        let block = |dtype: DType| vec![0u128; (BLOCK * dtype.size()).div_ceil(16)];
        let mut products = block(self.product);
        if matches!(self.pairs, Pairs::One) {
            let (one, size) = Scalar::one(self.product).to_bytes();
            splat(&one[..size], bytemuck::cast_slice_mut(&mut products));
        }
        Work {
            of: *self,
            xs: block(self.input),
            ys: block(self.input),
            products,
            keys: Vec::with_capacity(BLOCK),
            len: 0,
        }
    }
}

/// Blocks of pairs on their way.
struct Work {
    of: Blocks,
    xs: Vec<u128>,
    ys: Vec<u128>,
    products: Vec<u128>,
    /// Where the products of pairs go, if not into one accumulator each.
    keys: Vec<u32>,
    /// Pairs in the block.
    len: usize,
}

/// The first `n` elements of a block.
fn some(block: &[u128], n: usize, size: usize) -> &[u8] {
    &bytemuck::cast_slice(block)[..n * size]
}

fn some_mut(block: &mut [u128], range: Range<usize>, size: usize) -> &mut [u8] {
    &mut bytemuck::cast_slice_mut(block)[range.start * size..range.end * size]
}

/// The same element everywhere.
fn splat(element: &[u8], out: &mut [u8]) {
    fn wide<const W: usize>(element: &[u8], out: &mut [u8]) {
        if let (Some(element), (out, _)) = (element.first_chunk::<W>(), out.as_chunks_mut::<W>()) {
            out.fill(*element);
        }
    }
    match element.len() {
        1 => wide::<1>(element, out),
        2 => wide::<2>(element, out),
        4 => wide::<4>(element, out),
        8 => wide::<8>(element, out),
        _ => wide::<16>(element, out),
    }
}

/// Elements `from`, `from + step`, … as many as `out` holds, which lie side by side there.
fn strided(values: &[u8], from: usize, step: usize, size: usize, out: &mut [u8]) {
    let n = out.len() / size;
    match step {
        1 => out.copy_from_slice(&values[from * size..(from + n) * size]),
        0 => splat(&values[from * size..(from + 1) * size], out),
        _ => {
            for (i, out) in out.chunks_exact_mut(size).enumerate() {
                out.copy_from_slice(&values[(from + i * step) * size..][..size]);
            }
        }
    }
}

impl Work {
    /// Multiplies the first `n` pairs.
    fn multiply(&mut self, n: usize) {
        let (input, product) = (self.of.input.size(), self.of.product.size());
        if let Pairs::Kernel(kernel) = self.of.pairs {
            let (xs, ys) = (some(&self.xs, n, input), some(&self.ys, n, input));
            let out = some_mut(&mut self.products, 0..n, product);
            if self.of.is_swapped { kernel(ys, xs, out) } else { kernel(xs, ys, out) }
        }
    }

    /// The first `n` products, after [`Work::multiply`].
    fn products(&self, n: usize) -> &[u8] {
        let all = match self.of.pairs {
            Pairs::Left => &self.xs,
            Pairs::Right => &self.ys,
            Pairs::Kernel(_) | Pairs::One => &self.products,
        };
        some(all, n, self.of.product.size())
    }

    /// Adds the products of `n` pairs to one accumulator.
    fn total(&mut self, n: usize, acc: &mut [u8]) {
        self.multiply(n);
        self.of.fold.segments(self.products(n), &[0, n], acc);
    }

    /// Adds the products of `n` pairs to an accumulator each.
    fn each(&mut self, n: usize, acc: &mut [u8]) {
        self.multiply(n);
        self.of.fold.accumulate(&[self.products(n)], acc);
    }

    /// Adds the products of the pairs in the block to the accumulators that their keys name.
    fn scatter(&mut self, acc: &mut [u8]) {
        self.multiply(self.len);
        self.of.fold.scatter(self.products(self.len), &self.keys, acc);
        self.keys.clear();
        self.len = 0;
    }

    /// Adds `x` times a sparse row to a dense one. Pairs may stay in the block, for [`Work::scatter`].
    fn row<I: Index>(&mut self, x: &[u8], columns: &[I], ys: &[u8], acc: &mut [u8]) {
        let (size, wide) = (self.of.input.size(), self.of.accumulator().size());
        let (left, right) = self.of.reads();
        let mut at = 0;
        while at < columns.len() {
            let n = (BLOCK - self.len).min(columns.len() - at);
            let place = self.len..self.len + n;
            if left {
                splat(x, some_mut(&mut self.xs, place.clone(), size));
            }
            if right {
                some_mut(&mut self.ys, place, size).copy_from_slice(&ys[at * size..(at + n) * size]);
            }
            if acc.len() / wide <= u32::MAX as usize {
                self.keys.extend(columns[at..at + n].iter().map(|j| j.get() as u32));
                self.len += n;
                if self.len == BLOCK {
                    self.scatter(acc);
                }
            } else {
                // Columns beyond what keys can name.
                self.multiply(n);
                let size = self.of.product.size();
                for (j, product) in columns[at..at + n].iter().zip(self.products(n).chunks_exact(size)) {
                    self.of.fold.accumulate(&[product], &mut acc[j.get() * wide..(j.get() + 1) * wide]);
                }
            }
            at += n;
        }
    }

    /// The sum over sparse entries, one after the other, of terms with a column of a dense matrix.
    fn dot<I: Index>(&mut self, columns: &[I], xs: &[u8], right: Grid<'_>, acc: &mut [u8]) {
        for (columns, xs) in columns.chunks(BLOCK).zip(xs.chunks(BLOCK * self.of.input.size())) {
            self.pair(columns, xs, right);
            self.total(columns.len(), acc);
        }
    }

    /// Lays out sparse entries, at most a block of them, with the elements of a column that they meet.
    fn pair<I: Index>(&mut self, columns: &[I], xs: &[u8], right: Grid<'_>) {
        let (n, size) = (columns.len(), self.of.input.size());
        let (left, right_too) = self.of.reads();
        if left {
            some_mut(&mut self.xs, 0..n, size).copy_from_slice(xs);
        }
        if !right_too {
            return;
        }
        let ys = some_mut(&mut self.ys, 0..n, size);
        if right.row == 1 {
            gather::gather_rows(right.values, size, I::slice(columns), ys);
        } else {
            for (y, k) in ys.chunks_exact_mut(size).zip(columns) {
                y.copy_from_slice(&right.values[k.get() * right.row * size..][..size]);
            }
        }
    }

    /// Sparse rows times one column: as many rows at a time as a block holds.
    fn sparse_column<I: Index>(&mut self, left: Entries<'_, I>, rows: Range<usize>, right: Grid<'_>, acc: &mut [u8]) {
        let wide = self.of.accumulator().size();
        let mut ends = Vec::with_capacity(BLOCK + 1);
        let mut first = rows.start;
        while first < rows.end {
            let start = left.range(first).start;
            ends.clear();
            ends.push(0);
            ends.extend(
                (first..rows.end).map(|r| left.range(r).end - start).take(BLOCK).take_while(|&end| end <= BLOCK),
            );
            let own = first..first + (ends.len() - 1).max(1);
            let acc = &mut acc[(own.start - rows.start) * wide..(own.end - rows.start) * wide];
            if let [_, .., n] = ends[..] {
                let (columns, xs) = left.between(start..start + n);
                self.pair(columns, xs, right);
                self.multiply(n);
                self.of.fold.segments(self.products(n), &ends, acc);
            } else {
                let (columns, xs) = left.row(first);
                self.dot(columns, xs, right, acc);
            }
            first = own.end;
        }
    }

    /// Adds `x` times a dense row, with a stride that may be 0.
    fn axpy(&mut self, x: &[u8], right: &[u8], step: usize, acc: &mut [u8]) {
        let (size, wide) = (self.of.input.size(), self.of.accumulator().size());
        splat(x, some_mut(&mut self.xs, 0..(acc.len() / wide).min(BLOCK), size));
        for (i, acc) in acc.chunks_mut(BLOCK * wide).enumerate() {
            let n = acc.len() / wide;
            strided(right, i * BLOCK * step, step, size, some_mut(&mut self.ys, 0..n, size));
            self.each(n, acc);
        }
    }

    /// One more sum for every accumulator of a row.
    fn spread(&self, sum: &[u8], row: &mut [u8]) {
        row.chunks_exact_mut(sum.len()).for_each(|acc| (self.of.fold.merge)(acc, sum));
    }

    fn sparse_dense<I: Index>(&mut self, left: Entries<'_, I>, rows: Range<usize>, right: Grid<'_>, acc: &mut [u8]) {
        let (size, wide) = (self.of.input.size(), self.of.accumulator().size());
        let n = acc.len() / wide / rows.len().max(1);
        if n == 1 {
            return self.sparse_column(left, rows, right, acc);
        }
        let mut sum = [0u128; 1];
        for (acc, r) in acc.chunks_exact_mut((n * wide).max(1)).zip(rows) {
            let (columns, xs) = left.row(r);
            if right.col == 0 {
                let sum = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut sum)[..wide];
                self.of.clear(sum);
                self.dot(columns, xs, right, sum);
                self.spread(sum, acc);
            } else {
                for (k, x) in columns.iter().zip(xs.chunks_exact(size)) {
                    self.axpy(x, &right.values[k.get() * right.row * size..], 1, acc);
                }
            }
        }
    }

    fn sparse_sparse<I: Index>(
        &mut self,
        left: Entries<'_, I>,
        rows: Range<usize>,
        right: Entries<'_, I>,
        first: usize,
        acc: &mut [u8],
    ) {
        let size = self.of.input.size();
        let row = acc.len() / rows.len().max(1);
        for (acc, r) in acc.chunks_exact_mut(row.max(1)).zip(rows) {
            let (ks, xs) = left.row(r);
            for (k, x) in ks.iter().zip(xs.chunks_exact(size)) {
                let (columns, ys) = right.row(first + k.get());
                self.row(x, columns, ys, acc);
            }
            self.scatter(acc);
        }
    }

    fn dense_sparse<I: Index>(&mut self, left: Grid<'_>, rows: Range<usize>, right: &Listed<'_>, acc: &mut [u8]) {
        let size = self.of.input.size();
        let of = Entries::<I>::new(right.all, size);
        let row = acc.len() / rows.len().max(1);
        for (acc, r) in acc.chunks_exact_mut(row.max(1)).zip(rows) {
            for (i, of_row) in right.rows.clone().enumerate() {
                let (columns, ys) = of.row(of_row);
                if !columns.is_empty() {
                    let x = &left.values[(r * left.row + right.column(i) * left.col) * size..][..size];
                    self.row(x, columns, ys, acc);
                }
            }
            self.scatter(acc);
        }
    }

    fn dense_dense(&mut self, left: Grid<'_>, r: usize, right: Grid<'_>, k: usize, acc: &mut [u8]) {
        let (size, wide) = (self.of.input.size(), self.of.accumulator().size());
        let n = acc.len() / wide;
        let first = r * left.row;
        if left.col == 0 && right.row == 0 {
            // The same term, over and over.
            for (j, acc) in acc.chunks_exact_mut(wide).enumerate() {
                let y = j * right.col;
                some_mut(&mut self.xs, 0..1, size).copy_from_slice(&left.values[first * size..][..size]);
                some_mut(&mut self.ys, 0..1, size).copy_from_slice(&right.values[y * size..][..size]);
                self.multiply(1);
                let one = Scalar::from_bytes(self.of.product, self.products(1));
                let (sum, len) = (self.of.fold.nfold)(one, k as u128).to_bytes();
                (self.of.fold.merge)(acc, &sum[..len]);
            }
        } else if n == 1 || right.col == 0 {
            let mut sum = [0u128; 1];
            let sum = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut sum)[..wide];
            self.of.clear(sum);
            for from in (0..k).step_by(BLOCK) {
                let n = BLOCK.min(k - from);
                strided(left.values, first + from * left.col, left.col, size, some_mut(&mut self.xs, 0..n, size));
                strided(right.values, from * right.row, right.row, size, some_mut(&mut self.ys, 0..n, size));
                self.total(n, sum);
            }
            self.spread(sum, acc);
        } else {
            for k in 0..k {
                let x = &left.values[(first + k * left.col) * size..][..size];
                self.axpy(x, &right.values[k * right.row * size..], right.col, acc);
            }
        }
    }

    fn gustavson<I: Index>(
        &mut self,
        left: Entries<'_, I>,
        runs: &[Run<'_>],
        right: Entries<'_, I>,
        n: usize,
        (finish, width): (Finish<'_>, usize),
    ) -> Product {
        let (size, wide) = (self.of.input.size(), self.of.accumulator().size());
        let mut acc = vec![0u128; (n * wide).div_ceil(16)];
        let acc = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut acc)[..n * wide];
        let (mut touched, mut allowed) = (Columns::new(n), Allowed::default());
        let (mut columns, mut counts, mut values): (Vec<I>, Vec<usize>, Vec<u8>) = (Vec::new(), Vec::new(), Vec::new());
        // Of words, so that accumulators are aligned.
        let mut pending: Vec<u128> = Vec::new();
        let mut waiting = 0;
        let (zero, _) = self.of.fold.identity.to_bytes();
        let once = self.of.once();
        let (mut picked, mut picked_columns, mut picked_values) = (Vec::<u32>::new(), Vec::<I>::new(), Vec::new());
        for run in runs {
            for (i, r) in run.left.clone().enumerate() {
                allowed.enter(run.mask, i, n);
                for &j in allowed.total() {
                    touched.insert(j);
                    acc[j * wide..(j + 1) * wide].copy_from_slice(&zero[..wide]);
                }
                let (mut ks, xs) = left.row(r);
                let is_probed =
                    allowed.is_probed(ks.len(), || ks.iter().map(|k| right.row(run.right + k.get()).0.len()).sum());
                let mut is_once = false;
                if let (Some(once), [], false) = (&once, allowed.total(), is_probed) {
                    // Columns that are there already are passed by, so that no product is made but for the first.
                    let once = some(once, 1, wide);
                    is_once = run.mask.is_some();
                    for k in ks {
                        let js = right.row(run.right + k.get()).0;
                        if is_once {
                            allowed.once(js, |j| {
                                touched.insert(j);
                                acc[j * wide..(j + 1) * wide].copy_from_slice(once);
                            });
                        } else {
                            for j in js.iter().map(|j| j.get()) {
                                if touched.insert(j) {
                                    acc[j * wide..(j + 1) * wide].copy_from_slice(once);
                                }
                            }
                        }
                    }
                    ks = &[];
                }
                for (k, x) in ks.iter().zip(xs.chunks_exact(size)) {
                    let (mut js, mut ys) = right.row(run.right + k.get());
                    if run.mask.is_some() {
                        picked_columns.clear();
                        if self.of.reads().1 {
                            picked.clear();
                            if is_probed {
                                let found = allowed.columns().iter().filter_map(|&j| js.binary_search(&I::new(j)).ok());
                                picked.extend(found.map(|at| at as u32));
                            } else {
                                picked.extend((0..).zip(js).filter(|(_, j)| allowed.has(j.get())).map(|(i, _)| i));
                            }
                            picked_columns.extend(picked.iter().map(|&i| js[i as usize]));
                            picked_values.resize(picked.len() * size, 0);
                            gather::gather_rows(ys, size, IndexSlice::U32(&picked), &mut picked_values);
                        } else {
                            if is_probed {
                                let wanted = allowed.columns().iter().map(|&j| I::new(j));
                                picked_columns.extend(wanted.filter(|j| js.binary_search(j).is_ok()));
                            } else {
                                picked_columns.extend(js.iter().copied().filter(|j| allowed.has(j.get())));
                            }
                        }
                        (js, ys) = (&picked_columns, &picked_values);
                    }
                    for j in js {
                        if touched.insert(j.get()) {
                            acc[j.get() * wide..(j.get() + 1) * wide].copy_from_slice(&zero[..wide]);
                        }
                    }
                    self.row(x, js, ys, acc);
                }
                self.scatter(acc);
                let before = columns.len();
                touched.drain(|j| {
                    let needed = ((waiting + 1) * wide).div_ceil(16);
                    if pending.len() < needed {
                        pending.resize(2 * needed, 0);
                    }
                    let slot = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut pending)[waiting * wide..][..wide];
                    slot.copy_from_slice(&acc[j * wide..(j + 1) * wide]);
                    columns.push(I::new(j));
                    waiting += 1;
                    if is_once {
                        allowed.forget(j);
                    }
                });
                counts.push(columns.len() - before);
                allowed.leave();
                if waiting >= FLUSH {
                    flush(some(&pending, waiting, wide), waiting * width, finish, &mut values);
                    waiting = 0;
                }
            }
        }
        flush(some(&pending, waiting, wide), waiting * width, finish, &mut values);
        Product { counts, columns: I::vec(columns), values }
    }
}

/// [`Rows`] with the type of their indices and the size of their terms.
#[derive(Clone, Copy)]
struct Entries<'a, I> {
    pointers: &'a [I],
    base: usize,
    indices: &'a [I],
    values: &'a [u8],
    size: usize,
}

impl<'a, I: Index> Entries<'a, I> {
    fn new(rows: Rows<'a>, size: usize) -> Entries<'a, I> {
        let of = |s| I::of(s).unwrap_or(&[]);
        Entries { pointers: of(rows.pointers), base: rows.base, indices: of(rows.indices), values: rows.values, size }
    }

    fn range(&self, r: usize) -> Range<usize> {
        self.pointers[r].get() - self.base..self.pointers[r + 1].get() - self.base
    }

    fn between(&self, range: Range<usize>) -> (&'a [I], &'a [u8]) {
        (&self.indices[range.clone()], &self.values[range.start * self.size..range.end * self.size])
    }

    fn row(&self, r: usize) -> (&'a [I], &'a [u8]) {
        self.between(self.range(r))
    }
}

/// Calls a method with rows as entries of their width.
macro_rules! typed {
    ($rows:expr, $I:ident => $call:expr) => {
        match $rows.pointers {
            IndexSlice::U32(_) => {
                type $I = u32;
                $call
            }
            IndexSlice::U64(_) => {
                type $I = u64;
                $call
            }
        }
    };
}

impl Kernels for Blocks {
    fn sparse_dense(&self, left: Rows<'_>, rows: Range<usize>, right: Grid<'_>, _n: usize, acc: &mut [u8]) {
        let mut work = self.work();
        let size = self.input.size();
        typed!(left, I => work.sparse_dense(Entries::<I>::new(left, size), rows, right, acc));
    }

    fn sparse_sparse(
        &self,
        left: Rows<'_>,
        rows: Range<usize>,
        right: Rows<'_>,
        first: usize,
        _n: usize,
        acc: &mut [u8],
    ) {
        let mut work = self.work();
        let size = self.input.size();
        typed!(left, I => {
            let (left, right) = (Entries::<I>::new(left, size), Entries::new(right, size));
            work.sparse_sparse(left, rows, right, first, acc);
        });
    }

    fn dense_sparse(&self, left: Grid<'_>, rows: Range<usize>, right: Listed<'_>, _n: usize, acc: &mut [u8]) {
        let mut work = self.work();
        typed!(right.all, I => work.dense_sparse::<I>(left, rows, &right, acc));
    }

    fn dense_dense(&self, left: Grid<'_>, rows: Range<usize>, right: Grid<'_>, k: usize, _n: usize, acc: &mut [u8]) {
        let mut work = self.work();
        let row = acc.len() / rows.len().max(1);
        for (acc, r) in acc.chunks_exact_mut(row.max(1)).zip(rows) {
            work.dense_dense(left, r, right, k, acc);
        }
    }

    fn add(&self, values: Grid<'_>, n: usize, acc: &mut [u8]) {
        let wide = self.accumulator().size();
        for (i, acc) in acc.chunks_exact_mut((n * wide).max(1)).enumerate() {
            for (j, acc) in acc.chunks_exact_mut(wide).enumerate() {
                let at = (i * values.row + j * values.col) * wide;
                (self.fold.merge)(acc, &values.values[at..at + wide]);
            }
        }
    }

    /// Fills take part in sums of products only.
    fn outer(&self, _left: Grid<'_>, _right: Grid<'_>, _n: usize, _acc: &mut [u8]) {
        debug_assert!(false, "a semiring without differences has no fills to take apart");
    }

    fn sampled(&self, left: Operand<'_>, right: Operand<'_>, wanted: Wanted<'_>, k: usize, acc: &mut [u8]) {
        let (size, wide) = (self.input.size(), self.accumulator().size());
        let (mut work, mut swapped) = (self.work(), self.swapped().work());
        let row = |grid: Grid<'_>, r: usize| (r * grid.row * size).min(grid.values.len());
        let mut rest = acc;
        for of in wanted.rows {
            let (acc, tail) = rest.split_at_mut(of.columns.len() * wide);
            rest = tail;
            for (e, acc) in of.columns.clone().zip(acc.chunks_exact_mut(wide)) {
                let j = of.first + wanted.columns.get(e);
                match (left, right) {
                    (Operand::Dense(a), Operand::Dense(b)) => {
                        let column = Grid { values: &b.values[row(b, j)..], row: 1, col: 0 };
                        work.dense_dense(Grid { col: 1, ..a }, of.left, column, k, acc);
                    }
                    (Operand::Sparse(a), Operand::Dense(b)) => typed!(a, I => {
                        let (columns, xs) = Entries::<I>::new(a, size).row(of.left);
                        work.dot(columns, xs, Grid { values: &b.values[row(b, j)..], row: 1, col: 0 }, acc);
                    }),
                    (Operand::Dense(a), Operand::Sparse(b)) => typed!(b, I => {
                        let (columns, ys) = Entries::<I>::new(b, size).row(j);
                        swapped.dot(columns, ys, Grid { values: &a.values[row(a, of.left)..], row: 1, col: 0 }, acc);
                    }),
                    (Operand::Sparse(_), Operand::Sparse(_)) => debug_assert!(false, "that is a sparse product"),
                }
            }
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
        let size = self.input.size();
        typed!(left, I => {
            let (left, right) = (Entries::<I>::new(left, size), Entries::new(right, size));
            self.work().gustavson(left, runs, right, n, (finish, width))
        })
    }
}
