//! Variances of the columns of a matrix whose elements are stored row by row: columns get their sums as the rows go by, and nothing
//! is transposed.

use openwork_ops::structure::Index;
use openwork_ops::{DType, with_index};

use crate::base::error::Result;
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::base::trace::{Work, raise};
use crate::engine::slices::is_few;
use crate::levels::level::Level;
use crate::levels::pattern::Dim;
use crate::tensor::Tensor;
use crate::tensor::fill::Fill;

/// A sum of floats, and what its roundings lost.
#[derive(Clone, Copy, Default)]
struct Corrected {
    sum: f64,
    lost: f64,
}

impl Corrected {
    #[inline(always)]
    fn add(&mut self, x: f64) {
        let sum = self.sum + x;
        let of_x = sum - self.sum;
        self.lost += (self.sum - (sum - of_x)) + (x - of_x);
        self.sum = sum;
    }

    fn merge(&mut self, other: Corrected) {
        self.add(other.sum);
        self.lost += other.lost;
    }

    fn value(self) -> f64 {
        self.sum + self.lost
    }
}

/// What a pass has found of a column: how many elements are stored, and two sums.
type Column = (u64, Corrected, Corrected);

/// Adds elements less the means of their columns, and the squares of that, to what their columns have; without means, the
/// elements alone.
fn add<I: Index>(found: &mut [Column], columns: &[I], values: &[f64], means: Option<&[f64]>) {
    match means {
        None => {
            for (column, &x) in columns.iter().zip(values) {
                let (count, sum, _) = &mut found[column.get()];
                *count += 1;
                sum.add(x);
            }
        }
        Some(means) => {
            for (column, &x) in columns.iter().zip(values) {
                let (count, sum, squares) = &mut found[column.get()];
                let x = x - means[column.get()];
                *count += 1;
                sum.add(x);
                squares.add(x * x);
            }
        }
    }
}

/// What shares have found, in their order.
fn merged(parts: Vec<Vec<Column>>) -> Vec<Column> {
    let mut parts = parts.into_iter();
    let mut all = parts.next().unwrap_or_default();
    for part in parts {
        for (all, part) in all.iter_mut().zip(part) {
            all.0 += part.0;
            all.1.merge(part.1);
            all.2.merge(part.2);
        }
    }
    all
}

/// Σ (x − mean)² / (n − correction) of each column of a matrix in rows, as a strided vector of `float64`; `None` where
/// another way is to be taken: of other tensors, where columns have few elements, and where the result is not to be strided.
///
/// As the other way in two passes, of which the second is corrected by the sum of the differences; sums are corrected. Rows
/// are cut into shares, by how much is stored: the same on any number of threads.
pub(super) fn variances(x: &Tensor, correction: f64, axes: &[usize]) -> Result<Option<Tensor>> {
    let (Some(s), &[rows, columns]) = (x.sparse(), x.shape()) else { return Ok(None) };
    let Fill::Scalar(fill) = &s.fill else { return Ok(None) };
    let (fill, n): (f64, usize) = (fill.to(), s.pattern.positions);
    let Some(Level::Sparse { indices, .. }) = s.pattern.levels.last() else { return Ok(None) };
    // Rows need not be known, but elements go by in their order.
    let [row, column] = [0, 1].map(|axis| Dim::whole(axis, x.shape()[axis]));
    let in_rows = axes == [0] && s.pattern.is_canonical() && s.pattern.level_dims() == [row, column];
    let enough = columns > 0 && n / 8 >= columns && is_few(&[columns], n) && fill.is_finite();
    let (true, Some(indices)) = (in_rows && enough, indices.last()) else { return Ok(None) };
    raise(Work::Specialised);
    let values = s.values.cast(DType::F64).to_contiguous()?.into_owned();
    let Some(values) = values.typed::<f64>() else { return Ok(None) };
    let share = n.div_ceil((n / columns / 8).clamp(1, 16));
    let rows = rows as f64;
    let table = |mean: Option<&[f64]>| -> Vec<Column> {
        let parts = parallel::map_chunks(n, share, &|range| {
            let mut found = vec![Column::default(); columns];
            with_index!(indices.as_slice(), c => add(&mut found, &c[range.clone()], &values[range], mean));
            found
        });
        merged(parts)
    };
    let of_fill = |found: &Column| rows - found.0 as f64;
    let first = table(None);
    let means: Vec<f64> = first.iter().map(|c| (c.1.value() + of_fill(c) * fill) / rows).collect();
    let variance = |(c, mean): (&Column, &f64)| {
        let (away, unstored) = (fill - mean, of_fill(c));
        let (rest, squares) = (c.1.value() + unstored * away, c.2.value() + unstored * away * away);
        let left = (squares - rest * rest / rows) / (rows - correction);
        // NaN stays.
        if rows > correction { if left < 0.0 { 0.0 } else { left } } else { f64::NAN }
    };
    let found: Vec<f64> = table(Some(&means)).iter().zip(&means).map(variance).collect();
    Ok(Some(Tensor::from_strided(Strided::from_vec(found, vec![columns]))))
}
