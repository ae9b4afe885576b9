//! Sums for wanted elements of a product of dense matrices, for floats: a dot product of two rows for each.

use super::dots::{Dots, dots};
use super::typed::{slice, slice_mut};
use super::{Grid, WantedRow};
use crate::simd::{Level, Loop, all_over, level, prefetch, prefetch_far, vectorised};

/// Elements whose rows of the right operand are asked for ahead.
const AHEAD: usize = 32;

/// Elements of a row that are computed at once.
const FOUR: usize = 4;

/// Bytes of rows of the right operand that are gone through at a time, where these are used often enough: a second-level cache holds
/// them. Of a matrix of 4096 columns that stores a tenth, 256 terms for each take 0.6 of the time.
const TILE: usize = 1 << 20;

/// How often each row of the right operand is used, at least, where they are gone through in tiles.
const REUSE: usize = 16;

/// Terms of the elements of a row that are in one tile, at least, on average.
const IN_TILE: usize = 2048;

/// Terms of the products that are computed in one call, where no more are needed for tiles.
const WORK: usize = 1 << 16;

/// How many wanted elements one call should compute: of `share` that are one thread's in turn, `each` in a row, of `k` terms of `size`
/// bytes, whose right operand has so many rows.
pub fn piece(share: usize, each: usize, rows: usize, k: usize, size: usize) -> usize {
    let few = (WORK / (k + 1)).max(1);
    tile(share, each, rows, k, size).map_or(few, |_| few.max(share.min(4 * REUSE * rows)))
}

/// How many rows of the right operand a tile has, if there are tiles.
fn tile(share: usize, each: usize, rows: usize, k: usize, size: usize) -> Option<usize> {
    let tile = (TILE / (k.max(1) * size)).max(1);
    let in_tile = each.saturating_mul(k) / rows.div_ceil(tile).max(1);
    (rows > tile + tile / 2 && share / REUSE >= rows && in_tile >= IN_TILE).then_some(tile)
}

/// Adds to one accumulator for each wanted element the dot product of a row of the left operand with one of the right
/// operand's transpose.
pub(super) fn add<T: Dots>([a, b]: [Grid<'_>; 2], columns: &[u32], rows: &[WantedRow], k: usize, acc: &mut [u8]) {
    let (x, y) = (slice::<T>(a.values), slice::<T>(b.values));
    let is_scattered = all_over(columns, y);
    let sampled = Sampled { x, x_stride: a.row, y, y_stride: b.row, columns, k, level: level(), is_scattered };
    add_to(sampled, rows, slice_mut(acc));
}

fn add_to<T: Dots>(sampled: Sampled<'_, T>, rows: &[WantedRow], acc: &mut [f64]) {
    let Sampled { columns, k, .. } = sampled;
    let last = |row: &WantedRow| columns[row.columns.clone()].last().copied();
    let used = rows.iter().filter_map(last).max().map_or(0, |last| last as usize + 1);
    let each = acc.len() / rows.len().max(1);
    if let Some(tile) = tile(acc.len(), each, used, k, size_of::<T>()) {
        return in_tiles(&sampled, rows, acc, (tile, used));
    }
    vectorised(All { sampled, rows, acc });
}

/// In tiles of so many columns of all that are used. Columns that do not rise are in no tile but the last.
fn in_tiles<T: Dots>(sampled: &Sampled<'_, T>, rows: &[WantedRow], acc: &mut [f64], (tile, used): (usize, usize)) {
    let mut starts: Vec<usize> = rows.iter().map(|row| row.columns.start).collect();
    for tile in (tile..used + tile).step_by(tile) {
        let (mut acc, is_last) = (&mut *acc, tile >= used);
        for (row, start) in rows.iter().zip(&mut starts) {
            let (own, rest) = std::mem::take(&mut acc).split_at_mut(row.columns.len());
            acc = rest;
            let left = &sampled.columns[*start..row.columns.end];
            let n = if is_last { left.len() } else { left.partition_point(|&column| (column as usize) < tile) };
            let acc = &mut own[*start - row.columns.start..][..n];
            vectorised(One { sampled, row, columns: &left[..n], ahead: &left[..n], acc });
            *start += n;
        }
    }
}

struct Sampled<'a, T> {
    x: &'a [T],
    x_stride: usize,
    y: &'a [T],
    y_stride: usize,
    columns: &'a [u32],
    k: usize,
    level: Level,
    /// Whether the right operand is far, and its rows are met in no order.
    is_scattered: bool,
}

/// All wanted elements of some rows.
struct All<'a, T> {
    sampled: Sampled<'a, T>,
    rows: &'a [WantedRow],
    acc: &'a mut [f64],
}

impl<T: Dots> Loop for All<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let All { sampled, rows, mut acc } = self;
        for row in rows {
            let (own, rest) = acc.split_at_mut(row.columns.len());
            acc = rest;
            let columns = &sampled.columns[row.columns.clone()];
            One { sampled: &sampled, row, columns, ahead: &sampled.columns[row.columns.start..], acc: own }.run();
        }
    }
}

/// Elements of one row, and those that come after.
struct One<'a, T> {
    sampled: &'a Sampled<'a, T>,
    row: &'a WantedRow,
    columns: &'a [u32],
    ahead: &'a [u32],
    acc: &'a mut [f64],
}

impl<T: Dots> Loop for One<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let One { sampled, row, columns, ahead, acc } = self;
        let &Sampled { x, x_stride, y, y_stride, k, level, .. } = sampled;
        let x = &x[row.left * x_stride..][..k];
        let of = |column: u32| &y[(row.first + column as usize) * y_stride..][..k];
        let look = |e: usize| {
            if let Some(&next) = ahead.get(e + AHEAD) {
                let at = (row.first + next as usize) * y_stride;
                match (sampled.is_scattered, k > 16) {
                    (true, true) => prefetch_far::<T, 32>(y, at),
                    (true, false) => prefetch_far::<T, 16>(y, at),
                    (false, true) => prefetch::<T, 32>(y, at),
                    (false, false) => prefetch::<T, 16>(y, at),
                }
            }
        };
        let ((fours, last), (of_fours, of_last)) = (acc.as_chunks_mut::<FOUR>(), columns.as_chunks::<FOUR>());
        let done = FOUR * fours.len();
        for (i, (acc, columns)) in fours.iter_mut().zip(of_fours).enumerate() {
            for e in 0..FOUR {
                look(FOUR * i + e);
            }
            let [a, b, c, d] = *columns;
            let sums = dots(level, x, [of(a), of(b), of(c), of(d)]);
            for e in 0..FOUR {
                acc[e] += sums[e];
            }
        }
        for (e, (acc, &column)) in last.iter_mut().zip(of_last).enumerate() {
            look(done + e);
            let [sum] = dots(level, x, [of(column)]);
            *acc += sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matmul::Carrier;
    use crate::matmul::dots::plainly;

    fn numbers(n: usize, seed: u64) -> Vec<f32> {
        let mut state = seed | 1;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as f32 / (1 << 20) as f32 - 8.0
        };
        (0..n).map(|_| next()).collect()
    }

    fn grid<T: bytemuck::Pod>(values: &[T], k: usize) -> Grid<'_> {
        Grid { values: bytemuck::cast_slice(values), row: k, col: 1 }
    }

    /// Every element alone, by the loops that have no vector code.
    fn compare<T: Dots>(x: &[T], y: &[T], columns: &[u32], rows: &[WantedRow], k: usize) {
        let of = |left: &[T], l: usize, right: &[T], r: usize| plainly(&left[l * k..][..k], &right[r * k..][..k]);
        let mut wanted = vec![0.0; columns.len()];
        for row in rows {
            for e in row.columns.clone() {
                wanted[e] = 1.0 + of(x, row.left, y, row.first + columns[e] as usize);
            }
        }
        for level in Level::ALL {
            let level = level.min(Level::of_cpu());
            let mut acc = vec![1.0f64; columns.len()];
            add_to(
                Sampled { x, x_stride: k, y, y_stride: k, columns, k, level, is_scattered: level == Level::Avx2 },
                rows,
                &mut acc,
            );
            for (e, (sum, wanted)) in acc.iter().zip(&wanted).enumerate() {
                assert_eq!(sum.to_bits(), wanted.to_bits(), "element {e}, {k} terms, {level:?}: {sum} and {wanted}");
            }
        }
    }

    #[test]
    fn sums_are_those_of_plain_loops_at_every_level_and_length() {
        for k in (0..70).chain([127, 191, 192, 193, 209, 400]) {
            let (x, y) = (numbers(3 * k, 7), numbers(9 * k, 8));
            let (wide_x, wide_y): (Vec<f64>, Vec<f64>) =
                (x.iter().map(|&v| v.into()).collect(), y.iter().map(|&v| v.into()).collect());
            // Rows of none, one, four and six elements, which do not rise.
            let columns = [3, 0, 1, 6, 7, 5, 4, 2, 2, 0, 1];
            let row = |left, columns| WantedRow { left, first: 1, columns };
            let rows = [row(2, 0..1), row(0, 1..1), row(1, 1..5), row(2, 5..11)];
            compare(&x, &y, &columns, &rows, k);
            compare(&wide_x, &wide_y, &columns, &rows, k);
        }
    }

    #[test]
    fn sums_beyond_the_range_of_single_precision_are_taken_in_double() {
        let (x, y) = (vec![2e38f32; 40], [vec![2.0f32; 40], vec![-3.0; 40], vec![1.0; 40], vec![0.0; 40]].concat());
        let rows = [WantedRow { left: 0, first: 0, columns: 0..4 }];
        compare(&x, &y, &[0, 1, 2, 3], &rows, 40);
        let mut acc = vec![0.0f64; 4];
        add::<f32>([grid(&x, 40), grid(&y, 40)], &[0, 1, 2, 3], &rows, 40, bytemuck::cast_slice_mut(&mut acc));
        let each = f64::from(2e38f32) * 40.0;
        assert_eq!(acc, [2.0 * each, -3.0 * each, each, 0.0]);
    }

    #[test]
    fn tiles_give_every_element_whether_columns_rise_or_not() {
        let (k, n, m) = (2000, 300, 40);
        let tile = TILE / (4 * k);
        assert!(n > 2 * tile, "three tiles");
        let (x, y) = (numbers(m * k, 1), numbers(n * k, 2));
        let mut columns = Vec::new();
        let mut rows = Vec::new();
        for left in 0..m {
            let start = columns.len();
            let own = (0..n as u32).filter(|c| !(c + left as u32).is_multiple_of(7));
            match left % 3 {
                0 => columns.extend(own.rev()),
                1 if left > 30 => {}
                _ => columns.extend(own),
            }
            rows.push(WantedRow { left, first: 0, columns: start..columns.len() });
        }
        assert!(columns.len() / REUSE >= n, "each row is used often");
        compare(&x, &y, &columns, &rows, k);
    }

    #[test]
    fn calls_are_long_where_tiles_need_it() {
        assert_eq!(piece(usize::MAX, 1 << 20, 10, 64, 8), WORK / 65);
        assert_eq!(piece(1000, 1 << 10, 1 << 20, 64, 8), WORK / 65);
        assert_eq!(piece(1 << 20, 1 << 10, 1 << 13, 64, 8), (4 * REUSE) << 13);
        // Few elements of a row are in a tile.
        assert_eq!(piece(1 << 20, 100, 1 << 13, 64, 8), WORK / 65);
        assert_eq!(piece(0, 0, 0, 0, 8), WORK);
        assert_eq!(Carrier::Single.acc_size(), 8, "accumulators are f64");
    }
}
