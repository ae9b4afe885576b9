//! Rows and columns of small dense blocks times dense matrices, for floats: sums are taken in `f64`, each in the order of the blocks.

use std::ops::Range;

use super::columns::{Columns, Panelled};
use super::eights::Lanes;
use super::typed::{slice, slice_mut};
use super::{Grid, vector};
use crate::dtype::DType;
use crate::simd::{Level, Loop, level, prefetch, vectorised};
use crate::structure::IndexSlice;

/// Compressed rows of blocks: row `i` of them holds blocks `pointers[i] - base..pointers[i + 1] - base`.
#[derive(Clone, Copy, Debug)]
pub struct SmallBlocks<'a> {
    /// One more than there are rows of blocks.
    pub pointers: IndexSlice<'a>,
    /// What is taken off every pointer.
    pub base: usize,
    /// Which of its row each block is.
    pub indices: &'a [u32],
    /// The elements.
    pub values: &'a [u8],
    /// Of `float32` or `float64`.
    pub dtype: DType,
    /// Elements of a block along the rows of the product and along what is summed over.
    pub shape: [usize; 2],
    /// From a block to the next, and from one of its elements to the next along each of these.
    pub strides: [usize; 3],
}

/// Blocks whose rows of the dense matrix are asked for ahead.
const AHEAD: usize = 4;

/// Columns of the product in registers, and where these hold eight.
const WIDE: usize = 8;
const WIDEST: usize = 16;

/// Lanes of a sum of which each block has some elements side by side.
const LANES: usize = 4;

impl SmallBlocks<'_> {
    /// How many rows of blocks there are.
    pub fn len(&self) -> usize {
        self.pointers.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Blocks before row `row` of them, which may be the one after the last.
    pub fn start(&self, row: usize) -> usize {
        self.pointers.get(row) - self.base
    }

    /// Writes rows of the product with a dense matrix of the same dtype, whose columns lie side by side: those of some rows of blocks, which
    /// go along the rows of the product.
    pub fn multiply(&self, rows: Range<usize>, right: Grid<'_>, n: usize, out: &mut [u8]) {
        match self.dtype {
            DType::F64 => vectorised(Gather::<f64>::new(self, rows, right, n, out)),
            _ => vectorised(Gather::<f32>::new(self, rows, right, n, out)),
        }
    }

    /// Adds some rows of blocks, which go along what is summed over, times a panel of a dense matrix, each block to rows of `acc` that are
    /// as long as the panel is wide.
    pub fn add_columns(&self, rows: Range<usize>, panel: Columns<'_>, acc: &mut [f64]) {
        match self.dtype {
            DType::F64 => add_columns::<f64>(self, rows, panel, acc),
            _ => add_columns::<f32>(self, rows, panel, acc),
        }
    }
}

/// `R` rows of a block from an element on, so many elements of each.
#[inline(always)]
fn rows_of<T, const R: usize>(values: &[T], first: usize, row: usize, length: usize) -> [&[T]; R] {
    let mut rows = [&values[..0]; R];
    for (i, of_row) in rows.iter_mut().enumerate() {
        *of_row = &values[first + i * row..][..length];
    }
    rows
}

/// Adds `R` rows of a block times rows of a dense matrix, `y(j)` for column `j` of the block.
#[inline(always)]
fn add_block<T: Lanes, const R: usize, const N: usize>(
    sums: &mut [[f64; N]; R],
    rows: [&[T]; R],
    (c, column): (usize, usize),
    y: impl Fn(usize) -> [f64; N],
) {
    // Apart, so that they are in registers meanwhile.
    let mut own = *sums;
    for j in 0..c {
        let y = y(j);
        for i in 0..R {
            let x = rows[i][j * column].wide();
            for l in 0..N {
                own[i][l] += x * y[l];
            }
        }
    }
    *sums = own;
}

/// The first `N` elements.
#[inline(always)]
fn widened<T: Lanes, const N: usize>(y: &[T]) -> [f64; N] {
    let mut wide = [0.0; N];
    wide.iter_mut().zip(&y[..N]).for_each(|(wide, y)| *wide = y.wide());
    wide
}

struct Gather<'a, T> {
    blocks: &'a SmallBlocks<'a>,
    rows: Range<usize>,
    values: &'a [T],
    b: &'a [T],
    stride: usize,
    n: usize,
    out: &'a mut [T],
}

impl<'a, T: Lanes> Gather<'a, T> {
    fn new(
        blocks: &'a SmallBlocks<'a>,
        rows: Range<usize>,
        right: Grid<'a>,
        n: usize,
        out: &'a mut [u8],
    ) -> Gather<'a, T> {
        let (values, b) = (slice(blocks.values), slice(right.values));
        Gather { blocks, rows, values, b, stride: right.row, n, out: slice_mut(out) }
    }
}

impl<T: Lanes> Loop for Gather<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Gather { blocks, rows, values, b, stride, n, out } = self;
        let [r, _] = blocks.shape;
        if n == 0 {
            return;
        }
        let all =
            Operands { blocks, values, b, stride, is_far: !vector::is_near(b), is_wide: level() == Level::Avx512 };
        for (row, out) in rows.zip(out.chunks_exact_mut(r * n)) {
            let own = blocks.start(row)..blocks.start(row + 1);
            let mut first = 0;
            while first < r {
                first += match r - first {
                    4.. => all.some::<4>(own.clone(), first, n, out),
                    2 | 3 => all.some::<2>(own.clone(), first, n, out),
                    _ => all.some::<1>(own.clone(), first, n, out),
                };
            }
        }
    }
}

struct Operands<'a, T> {
    blocks: &'a SmallBlocks<'a>,
    values: &'a [T],
    b: &'a [T],
    stride: usize,
    is_far: bool,
    is_wide: bool,
}

impl<T: Lanes> Operands<'_, T> {
    /// `R` rows of the product from row `first` of the blocks on. Gives `R`.
    #[inline(always)]
    fn some<const R: usize>(&self, own: Range<usize>, first: usize, n: usize, out: &mut [T]) -> usize {
        if n == 1 && self.stride == 1 {
            let sums = match self.blocks.strides {
                [_, _, 1] => self.along_rows::<R>(own, first),
                _ => self.along_columns::<R>(own, first),
            };
            out[first..first + R].iter_mut().zip(sums).for_each(|(out, sum)| *out = T::round(sum));
            return R;
        }
        let mut at = 0;
        while at < n {
            at += match n - at {
                WIDEST.. if self.is_wide => self.tile::<R, WIDEST>(own.clone(), first, at, &mut out[first * n..], n),
                WIDE.. => self.tile::<R, WIDE>(own.clone(), first, at, &mut out[first * n..], n),
                4.. => self.tile::<R, 4>(own.clone(), first, at, &mut out[first * n..], n),
                _ => self.tile::<R, 1>(own.clone(), first, at, &mut out[first * n..], n),
            };
        }
        R
    }

    /// `N` columns of `R` rows. Gives `N`.
    #[inline(always)]
    fn tile<const R: usize, const N: usize>(
        &self,
        own: Range<usize>,
        first: usize,
        at: usize,
        out: &mut [T],
        n: usize,
    ) -> usize {
        let ([_, c], [block, row, column]) = (self.blocks.shape, self.blocks.strides);
        let indices = self.blocks.indices;
        let mut sums = [[0.0; N]; R];
        for e in own {
            let y = &self.b[indices[e] as usize * c * self.stride + at..];
            if self.is_far
                && let Some(&next) = indices.get(e + AHEAD)
            {
                let next = next as usize * c * self.stride + at;
                (0..c).for_each(|j| prefetch::<T, N>(self.b, next + j * self.stride));
            }
            let rows = rows_of::<T, R>(self.values, e * block + first * row, row, (c - 1) * column + 1);
            add_block(&mut sums, rows, (c, column), |j| widened(&y[j * self.stride..]));
        }
        for (sums, out) in sums.iter().zip(out.chunks_mut(n)) {
            out[at..at + N].iter_mut().zip(sums).for_each(|(out, &sum)| *out = T::round(sum));
        }
        N
    }

    /// The dot products of `R` rows with a vector, the elements of a row side by side in each block.
    #[inline(always)]
    fn along_rows<const R: usize>(&self, own: Range<usize>, first: usize) -> [f64; R] {
        match self.blocks.shape[1] {
            2 => self.lanes::<R, 2>(own, first),
            3 => self.lanes::<R, 3>(own, first),
            4 => self.lanes::<R, 4>(own, first),
            8 => self.lanes::<R, 8>(own, first),
            _ => self.lanes::<R, 0>(own, first),
        }
    }

    /// The same of blocks of `C` columns, or of any number where that is 0.
    #[inline(always)]
    fn lanes<const R: usize, const C: usize>(&self, own: Range<usize>, first: usize) -> [f64; R] {
        let [block, row, _] = self.blocks.strides;
        let c = if C == 0 { self.blocks.shape[1] } else { C };
        let mut lanes = [[0.0; LANES]; R];
        for e in own {
            let y = &self.b[self.blocks.indices[e] as usize * c..][..c];
            let x = &self.values[e * block + first * row..];
            for (i, lanes) in lanes.iter_mut().enumerate() {
                let x = &x[i * row..][..c];
                let ((xs, x_rest), (ys, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
                for (x, y) in xs.iter().zip(ys) {
                    for l in 0..LANES {
                        lanes[l] += x[l].wide() * y[l].wide();
                    }
                }
                for ((lane, x), y) in lanes.iter_mut().zip(x_rest).zip(y_rest) {
                    *lane += x.wide() * y.wide();
                }
            }
        }
        lanes.map(|[a, b, c, d]| (a + c) + (b + d))
    }

    /// The dot products of `R` rows with a vector, a column of a block after the other.
    #[inline(always)]
    fn along_columns<const R: usize>(&self, own: Range<usize>, first: usize) -> [f64; R] {
        let ([_, c], [block, row, column]) = (self.blocks.shape, self.blocks.strides);
        let mut sums = [0.0; R];
        for e in own {
            let y = &self.b[self.blocks.indices[e] as usize * c..][..c];
            let x = &self.values[e * block + first * row..];
            for (j, y) in y.iter().enumerate() {
                let x = &x[j * column..];
                match x.first_chunk::<R>() {
                    Some(x) if row == 1 => {
                        for i in 0..R {
                            sums[i] += x[i].wide() * y.wide();
                        }
                    }
                    _ => {
                        for (i, sum) in sums.iter_mut().enumerate() {
                            *sum += x[i * row].wide() * y.wide();
                        }
                    }
                }
            }
        }
        sums
    }
}

fn add_columns<T: Lanes>(blocks: &SmallBlocks<'_>, rows: Range<usize>, panel: Columns<'_>, acc: &mut [f64]) {
    Work::<T> { blocks, values: slice(blocks.values), rows, panel, acc }.of_width(panel.width);
}

struct Work<'a, T> {
    blocks: &'a SmallBlocks<'a>,
    values: &'a [T],
    rows: Range<usize>,
    panel: Columns<'a>,
    acc: &'a mut [f64],
}

impl<T: Lanes> Panelled for Work<'_, T> {
    #[inline(always)]
    fn run<const N: usize>(self) {
        let work = self;
        let [r, c] = work.blocks.shape;
        if N == 1 {
            return work.alone();
        }
        let Work { blocks, rows, panel, acc, .. } = work;
        let (end, (acc, _)) = (blocks.start(rows.end), acc.as_chunks_mut::<N>());
        for own in rows {
            for e in blocks.start(own)..blocks.start(own + 1) {
                if e + AHEAD < end {
                    let next = blocks.indices[e + AHEAD] as usize * r;
                    (0..r).for_each(|i| prefetch::<[f64; N], 1>(acc, next + i));
                }
                let out = &mut acc[blocks.indices[e] as usize * r..][..r];
                let mut first = 0;
                while first < r {
                    let (x, y) = ((work.values, e, first), (&panel, own * c));
                    first += match r - first {
                        4.. => some::<T, 4, N>(blocks, x, y, &mut out[first..]),
                        2 | 3 => some::<T, 2, N>(blocks, x, y, &mut out[first..]),
                        _ => some::<T, 1, N>(blocks, x, y, &mut out[first..]),
                    };
                }
            }
        }
    }
}

/// Adds `R` rows of a block, from row `first` of it on, times rows of the panel from row `from` on. Gives `R`.
#[inline(always)]
fn some<T: Lanes, const R: usize, const N: usize>(
    blocks: &SmallBlocks<'_>,
    (values, e, first): (&[T], usize, usize),
    (panel, from): (&Columns<'_>, usize),
    out: &mut [[f64; N]],
) -> usize {
    let ([_, c], [block, row, column]) = (blocks.shape, blocks.strides);
    let rows = rows_of::<T, R>(values, e * block + first * row, row, (c - 1) * column + 1);
    if let Some(out) = out.first_chunk_mut::<R>() {
        add_block(out, rows, (c, column), |j| panel.row::<N>(from + j));
    }
    R
}

impl<T: Lanes> Work<'_, T> {
    /// One column: in the order in which several are summed, so that bits do not depend on how wide panels are.
    #[inline(always)]
    fn alone(self) {
        let Work { blocks, values, rows, panel, acc } = self;
        let ([r, c], [block, row, column]) = (blocks.shape, blocks.strides);
        let mut y = vec![0.0; c];
        for own in rows {
            for (j, y) in y.iter_mut().enumerate() {
                [*y] = panel.row::<1>(own * c + j);
            }
            for e in blocks.start(own)..blocks.start(own + 1) {
                let out = &mut acc[blocks.indices[e] as usize * r..][..r];
                let x = &values[e * block..];
                if row == 1 {
                    // Side by side along the result.
                    for (j, &y) in y.iter().enumerate() {
                        let x = &x[j * column..][..r];
                        out.iter_mut().zip(x).for_each(|(out, x)| *out += x.wide() * y);
                    }
                } else if column == 1 {
                    for (i, out) in out.iter_mut().enumerate() {
                        let x = &x[i * row..][..c];
                        *out = x.iter().zip(&y).fold(*out, |sum, (x, y)| sum + x.wide() * y);
                    }
                } else {
                    for (i, out) in out.iter_mut().enumerate() {
                        let x = &x[i * row..];
                        *out = y.iter().enumerate().fold(*out, |sum, (j, y)| sum + x[j * column].wide() * y);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::WIDTHS;
    use super::super::tests::at_each_level;
    use super::*;

    /// Rows of blocks of whole numbers, some empty, and the same as `(row of blocks, block, i, j, element)`.
    struct Matrix {
        pointers: Vec<u32>,
        indices: Vec<u32>,
        values: Vec<f64>,
        shape: [usize; 2],
        strides: [usize; 3],
    }

    const ROWS: usize = 7;
    const COLUMNS: usize = 9;

    impl Matrix {
        fn new(shape: [usize; 2], is_turned: bool) -> Matrix {
            let (mut pointers, mut indices) = (vec![0], Vec::new());
            for row in 0..ROWS {
                indices.extend((row % 3..COLUMNS).step_by([1, 2, 30][row % 3]).map(|k| k as u32));
                pointers.push(indices.len() as u32);
            }
            let [r, c] = shape;
            let values = (0..indices.len() * r * c).map(|i| (i * 37 % 11) as f64 - 5.0).collect();
            let strides = if is_turned { [r * c, 1, r] } else { [r * c, c, 1] };
            Matrix { pointers, indices, values, shape, strides }
        }

        fn view<'a>(&'a self, dtype: DType, values: &'a [u8]) -> SmallBlocks<'a> {
            let (pointers, indices) = (IndexSlice::U32(&self.pointers), &self.indices[..]);
            SmallBlocks { pointers, base: 0, indices, values, dtype, shape: self.shape, strides: self.strides }
        }

        /// Calls `each` with the row of blocks and the number in it of every block, the place in the block and the element.
        fn elements(&self, mut each: impl FnMut([usize; 2], [usize; 2], f64)) {
            let ([r, c], [block, row, column]) = (self.shape, self.strides);
            for own in 0..ROWS {
                for e in self.pointers[own] as usize..self.pointers[own + 1] as usize {
                    for (i, j) in (0..r).flat_map(|i| (0..c).map(move |j| (i, j))) {
                        let of_row = self.indices[e] as usize;
                        each([own, of_row], [i, j], self.values[e * block + i * row + j * column]);
                    }
                }
            }
        }
    }

    fn bytes(dtype: DType, values: &[f64]) -> Vec<u8> {
        match dtype {
            DType::F64 => bytemuck::cast_slice(values).to_vec(),
            _ => values.iter().flat_map(|&v| (v as f32).to_ne_bytes()).collect(),
        }
    }

    fn dense(n: usize) -> Vec<f64> {
        (0..n).map(|i| (i * 29 % 13) as f64 - 6.0).collect()
    }

    fn matrices() -> impl Iterator<Item = (Matrix, DType)> {
        let shapes = [[4, 4], [2, 3], [3, 2], [1, 5], [8, 8], [5, 1], [7, 4]].into_iter();
        let all = shapes.flat_map(|shape| [false, true].map(|is_turned| (shape, is_turned)));
        all.flat_map(|(shape, is_turned)| [DType::F64, DType::F32].map(|dtype| (Matrix::new(shape, is_turned), dtype)))
    }

    #[test]
    fn rows_of_blocks_give_the_sums_of_their_elements() {
        for (x, dtype) in matrices() {
            let ([r, c], values) = (x.shape, bytes(dtype, &x.values));
            for n in [1, 2, 4, 7, 8, 21] {
                for stride in [n, n + 2] {
                    let b = dense(COLUMNS * c * stride);
                    let mut want = vec![0.0; ROWS * r * n];
                    x.elements(|[own, of_row], [i, j], v| {
                        for l in 0..n {
                            want[(own * r + i) * n + l] += v * b[(of_row * c + j) * stride + l];
                        }
                    });
                    let b = bytes(dtype, &b);
                    let out = at_each_level(&|| {
                        let mut out = bytes(dtype, &vec![7.0; ROWS * r * n]);
                        let (first, rest) = out.split_at_mut(3 * r * n * dtype.size());
                        let right = Grid { values: &b, row: stride, col: 1 };
                        x.view(dtype, &values).multiply(0..3, right, n, first);
                        x.view(dtype, &values).multiply(3..ROWS, right, n, rest);
                        out
                    });
                    assert_eq!(out, bytes(dtype, &want), "{:?} {:?} {dtype} {n} {stride}", x.shape, x.strides);
                }
            }
        }
    }

    #[test]
    fn columns_of_blocks_are_added_to_rows() {
        for (x, dtype) in matrices() {
            let ([r, c], values) = (x.shape, bytes(dtype, &x.values));
            for width in WIDTHS {
                let stride = width + width % 3;
                let y = dense(ROWS * c * stride);
                let mut want = vec![1.0; COLUMNS * r * width];
                x.elements(|[own, of_row], [i, j], v| {
                    for l in 0..width {
                        want[(of_row * r + i) * width + l] += v * y[(own * c + j) * stride + l];
                    }
                });
                let out = at_each_level(&|| {
                    let mut acc = vec![1.0; COLUMNS * r * width];
                    let panel = Columns { values: &y, stride, width };
                    x.view(dtype, &values).add_columns(0..4, panel, &mut acc);
                    x.view(dtype, &values).add_columns(4..ROWS, panel, &mut acc);
                    bytemuck::cast_slice(&acc).to_vec()
                });
                assert_eq!(
                    bytemuck::cast_slice::<u8, f64>(&out),
                    want,
                    "{:?} {:?} {dtype} {width}",
                    x.shape,
                    x.strides
                );
            }
        }
    }

    /// An index beyond the matrices is seen before anything is read or written there.
    #[test]
    fn blocks_stay_inside() {
        let (pointers, indices, values) = ([0u32, 1], [3u32], vec![0; 4 * 8]);
        let pointers = IndexSlice::U32(&pointers);
        let blocks = SmallBlocks {
            pointers,
            base: 0,
            indices: &indices,
            values: &values,
            dtype: DType::F64,
            shape: [2, 2],
            strides: [4, 2, 1],
        };
        let b = [1.0; 6];
        let caught = std::panic::catch_unwind(|| {
            let right = Grid { values: bytemuck::cast_slice(&b), row: 1, col: 1 };
            blocks.multiply(0..1, right, 1, bytemuck::cast_slice_mut(&mut [0.0; 2]));
        });
        assert!(caught.is_err());
        let caught = std::panic::catch_unwind(|| {
            blocks.add_columns(0..1, Columns { values: &b, stride: 1, width: 1 }, &mut [0.0; 6]);
        });
        assert!(caught.is_err());
    }
}
