//! Means of the columns of rows of numbers, and the squares of how far these are from them: of blocks that stay in the first
//! caches, so that numbers come from memory once, merged by the formula of Chan, Golub and LeVeque ("Updating formulae and a pairwise
//! algorithm for computing sample variances", 1979).

use crate::simd::{self, Loop};

/// Columns of one block.
pub const COLUMNS: usize = 64;
/// Rows of one block.
pub const ROWS: usize = 64;

/// For each of some columns: the mean of its numbers, in two parts, and `Σ (x − mean)²`. All columns have as many numbers.
#[derive(Clone, Debug, Default)]
pub struct Moments {
    count: f64,
    mean: Vec<f64>,
    /// What the mean is more than its rounded value: numbers that are large beside their differences need it.
    low: Vec<f64>,
    squares: Vec<f64>,
}

impl Moments {
    /// Of no numbers, of this many columns.
    pub fn new(columns: usize) -> Moments {
        Moments { count: 0.0, mean: vec![0.0; columns], low: vec![0.0; columns], squares: vec![0.0; columns] }
    }

    /// How many columns these are of.
    pub fn columns(&self) -> usize {
        self.mean.len()
    }

    /// Numbers of each column.
    pub fn count(&self) -> f64 {
        self.count
    }

    /// `Σ (x − mean)²` of each column.
    pub fn squares(&self) -> &[f64] {
        &self.squares
    }

    /// Adds all rows, of which there are `step` numbers from the start of one to that of the next, and as many as there are columns
    /// in the last.
    pub fn add<T: Copy + Into<f64>>(&mut self, numbers: &[T], step: usize) {
        simd::vectorised(Rows::<T, true> { moments: self, numbers, step });
    }

    /// Adds rows as [`Moments::add`] does, about 0 in place of their means: the squares are `Σ x²`, and the means stay 0.
    pub fn add_about_zero<T: Copy + Into<f64>>(&mut self, numbers: &[T], step: usize) {
        simd::vectorised(Rows::<T, false> { moments: self, numbers, step });
    }

    /// Adds other numbers of the same columns.
    pub fn merge(&mut self, other: &Moments) {
        if other.count > 0.0 {
            let all = 0..self.columns();
            simd::vectorised(Merge { into: self, other, columns: all });
            self.count += other.count;
        }
    }

    /// Those of some columns, and of others beside them.
    pub fn beside(parts: Vec<Moments>) -> Moments {
        let mut parts = parts.into_iter();
        let mut all = parts.next().unwrap_or_default();
        for part in parts {
            all.mean.extend(part.mean);
            all.low.extend(part.low);
            all.squares.extend(part.squares);
        }
        all
    }

    /// The same numbers as of fewer columns: `columns`, `2 · columns`, … apart they are one.
    pub fn folded(&self, columns: usize) -> Moments {
        let part = |range: std::ops::Range<usize>| Moments {
            count: self.count,
            mean: self.mean[range.clone()].to_vec(),
            low: self.low[range.clone()].to_vec(),
            squares: self.squares[range].to_vec(),
        };
        let mut all = Moments::new(columns);
        (0..self.columns()).step_by(columns.max(1)).for_each(|first| all.merge(&part(first..first + columns)));
        all
    }
}

struct Rows<'a, T, const CENTRED: bool> {
    moments: &'a mut Moments,
    numbers: &'a [T],
    step: usize,
}

impl<T: Copy + Into<f64>, const CENTRED: bool> Loop for Rows<'_, T, CENTRED> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Rows { moments, numbers, step } = self;
        let columns = moments.columns();
        if numbers.len() < columns || columns == 0 {
            return;
        }
        let rows = (numbers.len() - columns) / step.max(1) + 1;
        for first in (0..rows).step_by(ROWS) {
            let count = ROWS.min(rows - first);
            let numbers = &numbers[first * step..(first + count - 1) * step + columns];
            for start in (0..columns).step_by(COLUMNS) {
                let range = start..columns.min(start + COLUMNS);
                let numbers = &numbers[start..(count - 1) * step + range.end];
                let [mean, low, squares] = block::<T, CENTRED>(numbers, step, count, range.len());
                merge(moments, range, count as f64, [&mean, &low, &squares]);
            }
            moments.count += count as f64;
        }
    }
}

/// The means of at most [`COLUMNS`] columns of a block, or 0 in their place, what they lack, and the squares.
#[inline(always)]
fn block<T: Copy + Into<f64>, const CENTRED: bool>(
    numbers: &[T],
    step: usize,
    rows: usize,
    columns: usize,
) -> [[f64; COLUMNS]; 3] {
    let (mut mean, mut low, mut squares) = ([0.0; COLUMNS], [0.0; COLUMNS], [0.0; COLUMNS]);
    let row = |r: usize| numbers[r * step..r * step + columns].iter().map(|&x| -> f64 { x.into() });
    if !CENTRED {
        for r in 0..rows {
            squares.iter_mut().zip(row(r)).for_each(|(square, x)| *square += x * x);
        }
        return [mean, low, squares];
    }
    // Differences from the first, to which their rounding errors are relative.
    for r in 1..rows {
        for ((away, x), first) in mean.iter_mut().zip(row(r)).zip(row(0)) {
            *away += x - first;
        }
    }
    for (mean, first) in mean.iter_mut().zip(row(0)) {
        *mean = first + *mean / rows as f64;
    }
    for r in 0..rows {
        for (((rest, square), x), mean) in low.iter_mut().zip(&mut squares).zip(row(r)).zip(&mean) {
            let away = x - mean;
            *rest += away;
            *square += away * away;
        }
    }
    for (rest, square) in low.iter_mut().zip(&mut squares) {
        *square -= *rest * *rest / rows as f64;
        *rest /= rows as f64;
    }
    [mean, low, squares]
}

struct Merge<'a> {
    into: &'a mut Moments,
    other: &'a Moments,
    columns: std::ops::Range<usize>,
}

impl Loop for Merge<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Moments { count, mean, low, squares } = self.other;
        merge(self.into, self.columns, *count, [mean, low, squares]);
    }
}

/// Merges `count` numbers of each of a range of columns, whose own count is added afterwards.
#[inline(always)]
fn merge(into: &mut Moments, range: std::ops::Range<usize>, count: f64, [mean, low, squares]: [&[f64]; 3]) {
    let Moments { mean: to_mean, low: to_low, squares: to_squares, .. } = into;
    let (own, n) = (into.count, range.len());
    let to = [&mut to_mean[range.clone()], &mut to_low[range.clone()], &mut to_squares[range]];
    let from = [&mean[..n], &low[..n], &squares[..n]];
    if own == 0.0 {
        to.into_iter().zip(from).for_each(|(to, from)| to.copy_from_slice(from));
        return;
    }
    let (share, weight) = (count / (own + count), own * count / (own + count));
    let ([to_mean, to_low, to_squares], [mean, low, squares]) = (to, from);
    for c in 0..n {
        let away = (mean[c] - to_mean[c]) + (low[c] - to_low[c]);
        let moved = away * share;
        let sum = to_mean[c] + moved;
        // Exact where the mean is greater than what it moves by; what matters where it is not is small.
        to_low[c] += moved - (sum - to_mean[c]);
        to_mean[c] = sum;
        to_squares[c] += squares[c] + away * away * weight;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize, offset: f64) -> Vec<f64> {
        (0..n).map(|i| offset + ((i * 7919 + 13) % 1009) as f64 / 64.0).collect()
    }

    /// `Σ (x − mean)²` of one column in whole numbers: elements are 64ths.
    fn exactly(numbers: impl Iterator<Item = f64> + Clone, offset: f64) -> f64 {
        let whole = numbers.map(|x| ((x - offset) * 64.0) as i128);
        let (n, sum) = whole.clone().fold((0, 0), |(n, sum), x| (n + 1, sum + x));
        let squares: i128 = whole.map(|x| (n * x - sum).pow(2)).sum();
        squares as f64 / (n as f64).powi(2) / 4096.0
    }

    #[test]
    fn blocks_and_what_is_merged_are_as_exact_as_all_at_once() {
        for (rows, columns) in [(1, 3), (2, 64), (65, 5), (300, 130), (1000, 1)] {
            for offset in [0.0, 1e9, -1e11] {
                let x = numbers(rows * columns, offset);
                for level in simd::Level::ALL {
                    simd::set_level(Some(level));
                    let mut all = Moments::new(columns);
                    let (a, b) = x.split_at(rows / 3 * columns);
                    all.add(a, columns);
                    let mut rest = Moments::new(columns);
                    rest.add(b, columns);
                    all.merge(&rest);
                    assert_eq!(all.count(), rows as f64);
                    for (c, found) in all.squares().iter().enumerate() {
                        let wanted = exactly(x.iter().skip(c).step_by(columns).copied(), offset);
                        let near = wanted * 1e-12 + (offset * f64::EPSILON).powi(2) * rows as f64;
                        assert!((found - wanted).abs() <= near, "{found} for {wanted}, {rows} × {columns}, {offset}");
                    }
                }
                simd::set_level(None);
            }
        }
    }

    #[test]
    fn about_zero_squares_are_those_of_the_numbers_themselves() {
        for (rows, columns) in [(1, 3), (65, 5), (130, 70)] {
            let x: Vec<f32> = numbers(rows * columns, -3.0).iter().map(|&x| x as f32).collect();
            for level in simd::Level::ALL {
                simd::set_level(Some(level));
                let (mut all, mut rest) = (Moments::new(columns), Moments::new(columns));
                let (a, b) = x.split_at(rows / 3 * columns);
                all.add_about_zero(a, columns);
                rest.add_about_zero(b, columns);
                all.merge(&rest);
                // Squares of 64ths, and their sums, are exact.
                let of = |c: usize| x.iter().skip(c).step_by(columns).map(|&x| f64::from(x).powi(2)).sum::<f64>();
                assert_eq!(all.squares(), (0..columns).map(of).collect::<Vec<f64>>());
                assert!(all.mean.iter().all(|&mean| mean == 0.0));
            }
            simd::set_level(None);
        }
    }

    #[test]
    fn columns_that_are_one_are_folded() {
        let x = numbers(5 * 12, 3.0);
        let (mut wide, mut narrow) = (Moments::new(12), Moments::new(4));
        wide.add(&x, 12);
        narrow.add(&x, 4);
        let folded = wide.folded(4);
        assert_eq!(folded.count(), narrow.count());
        assert!(folded.squares().iter().zip(narrow.squares()).all(|(a, b)| (a - b).abs() < 1e-10));
    }
}
