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

/// Elements for each column of a table, of which several are filled, each by a share of the elements; and shares at most.
const SHARE: usize = 8;
const SHARES: usize = 16;

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

/// How many elements of a column are stored, and their sum.
type Stored = (u64, Corrected);

/// The sums of what they are more than the mean, and of the squares of that.
type Away = [Corrected; 2];

/// What `each` finds of every column in `share` elements at a time, merged in their order: it is given a table, the columns of the
/// elements and these.
fn table<T: Copy + Default + Send + Sync, I: Index>(
    columns: usize,
    share: usize,
    (numbers, values): (&[I], &[f64]),
    each: &(dyn Fn(&mut [T], &[I], &[f64]) + Sync),
    merge: impl Fn(&mut T, T),
) -> Vec<T> {
    let parts = parallel::map_chunks(values.len(), share, &|range| {
        let mut found = vec![T::default(); columns];
        each(&mut found, &numbers[range.clone()], &values[range]);
        found
    });
    let mut parts = parts.into_iter();
    let mut all = parts.next().unwrap_or_default();
    for part in parts {
        all.iter_mut().zip(part).for_each(|(all, part)| merge(all, part));
    }
    all
}

/// What is stored of each column.
fn stored<I: Index>(columns: usize, share: usize, elements: (&[I], &[f64])) -> Vec<Stored> {
    let add = |found: &mut [Stored], numbers: &[I], values: &[f64]| {
        for (column, &x) in numbers.iter().zip(values) {
            let (count, sum) = &mut found[column.get()];
            *count += 1;
            sum.add(x);
        }
    };
    table(columns, share, elements, &add, |all, part| {
        all.0 += part.0;
        all.1.merge(part.1);
    })
}

/// How far elements are away from the means of their columns.
fn away<I: Index>(means: &[f64], share: usize, elements: (&[I], &[f64])) -> Vec<Away> {
    let add = |found: &mut [Away], numbers: &[I], values: &[f64]| {
        for (column, &x) in numbers.iter().zip(values) {
            let ([sum, squares], x) = (&mut found[column.get()], x - means[column.get()]);
            sum.add(x);
            squares.add(x * x);
        }
    };
    table(means.len(), share, elements, &add, |all, part| {
        all.iter_mut().zip(part).for_each(|(all, part)| all.merge(part));
    })
}

/// Σ (x − mean)² / (n − correction) of each column of a matrix in rows, or of each row of one in columns, as a strided vector of
/// `float64`; `None` where another way is to be taken: of other tensors, where columns have few elements, and where the result is not
/// to be strided.
///
/// As the other way in two passes, of which the second is corrected by the sum of the differences; sums are corrected. Rows
/// are cut into shares, by how much is stored: the same on any number of threads.
pub(super) fn variances(x: &Tensor, correction: f64, axes: &[usize]) -> Result<Option<Tensor>> {
    let (Some(s), &[axis], 2) = (x.sparse(), axes, x.ndim()) else { return Ok(None) };
    let Fill::Scalar(fill) = &s.fill else { return Ok(None) };
    let (fill, n): (f64, usize) = (fill.to(), s.pattern.positions);
    let Some(Level::Sparse { indices, .. }) = s.pattern.levels.last() else { return Ok(None) };
    // Rows are along the axis, whichever that is; they need not be known, but elements go by in their order.
    let [rows, columns] = [axis, 1 - axis].map(|axis| x.shape()[axis]);
    let levels = [Dim::whole(axis, rows), Dim::whole(1 - axis, columns)];
    let in_rows = s.pattern.is_canonical() && s.pattern.level_dims() == levels;
    let enough = columns > 0 && n / SHARE >= columns && is_few(&[columns], n) && fill.is_finite();
    let (true, Some(indices)) = (in_rows && enough, indices.last()) else { return Ok(None) };
    raise(Work::Specialised);
    let values = s.values.cast(DType::F64).to_contiguous()?.into_owned();
    let Some(values) = values.typed::<f64>() else { return Ok(None) };
    let share = n.div_ceil((n / columns / SHARE).clamp(2, SHARES));
    let rows = rows as f64;
    let of_fill = |found: &Stored| rows - found.0 as f64;
    let found = with_index!(indices.as_slice(), numbers => {
        let found = stored(columns, share, (numbers, values));
        let means: Vec<f64> = found.iter().map(|c| (c.1.value() + of_fill(c) * fill) / rows).collect();
        let variance = |((c, mean), [sum, squares]): ((&Stored, &f64), Away)| {
            let (away, unstored) = (fill - mean, of_fill(c));
            let (rest, squares) = (sum.value() + unstored * away, squares.value() + unstored * away * away);
            let left = (squares - rest * rest / rows) / (rows - correction);
            // NaN stays.
            if rows > correction { if left < 0.0 { 0.0 } else { left } } else { f64::NAN }
        };
        found.iter().zip(&means).zip(away(&means, share, (numbers, values))).map(variance).collect::<Vec<f64>>()
    });
    Ok(Some(Tensor::from_strided(Strided::from_vec(found, vec![columns]))))
}
