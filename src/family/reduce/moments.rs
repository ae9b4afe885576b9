//! Variances and norms of strided tensors: elements go by once, in the order of memory, and nothing is transposed.

use std::cmp::Reverse;
use std::ops::Range;

use openwork_ops::reduce::moments::{COLUMNS, ROWS};
use openwork_ops::reduce::{Moments, pairwise};
use openwork_ops::{DType, Element, ReduceOp, UnaryOp, cast};

use crate::base::buffer::{Buffer, zeroed_vec};
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::mapped::{Chosen, Mapped};
use crate::base::pages::Scratch;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, count};
use crate::engine::fold::Fold;
use crate::tensor::Tensor;

/// Columns of a task at most.
const WIDE: usize = 1 << 10;

/// Elements of a slice, of which there are several, that are worth being taken so.
const LONG: usize = 1 << 12;

/// Elements of a slice that are so few that all are squared first: the means of as many slices take longer.
const SHORT: usize = 64;

/// The shortest rows whose squares are added in lanes.
const LEAST: usize = 16;

/// Elements of all tasks that are not worth another thread.
const ALONE: usize = 4 * GRAIN;

/// Σ |x − mean|² / (n − correction) over some axes, as `float64`; `None` where [`each`] finds nothing.
pub(super) fn variances(x: &Strided, correction: f64, axes: &[usize]) -> Option<Strided> {
    // What is not finite is no distance from itself.
    let of_one = |x: f64| if correction < 1.0 && x.is_finite() { 0.0 } else { f64::NAN };
    if !x.dtype.is_complex()
        && let Some(found) = ones(x, axes, &of_one)
    {
        return Some(found);
    }
    each(x, axes, About::Mean, &|found| {
        let n = found.count();
        // NaN stays, and where nothing is left to divide by there is none.
        let variance = |&squares: &f64| match n > correction {
            true if squares < 0.0 => 0.0,
            true => squares / (n - correction),
            false => f64::NAN,
        };
        found.squares().iter().map(variance).collect()
    })
}

/// √(Σ |x|²) over some axes; `None` where neither [`squares_of_rows`] nor [`each`] finds something, and where a square may overflow or
/// vanish.
pub(crate) fn norms(x: &Strided, axes: &[usize]) -> Result<Option<Strided>> {
    let is_complex = x.dtype.is_complex();
    if !is_complex && let Some(found) = ones(x, axes, &f64::abs) {
        return Ok(Some(found));
    }
    let length = axes.iter().map(|&axis| x.shape[axis]).product::<usize>();
    let are_all_squared = !is_complex && (1..=SHORT).contains(&length) && !axes.contains(&(x.ndim() - 1));
    let of_rows = squares_of_rows(x, axes);
    let found = match of_rows {
        Some(squares) => Some(squares),
        None if are_all_squared => Some(sums_of_squares(x, axes)?),
        None => each(x, axes, About::Zero, &|found| found.squares().to_vec()),
    };
    let Some(squares) = found.map(|found| found.core()) else { return Ok(None) };
    let numbers = squares.typed::<f64>().unwrap_or_default();
    // Of narrower numbers no square overflows or vanishes.
    let is_exact = x.dtype.real() != DType::F64;
    let is_sure = |squares: &f64| match is_exact {
        // An infinite part beside one that is NaN is infinitely far from 0.
        true => !is_complex || !squares.is_nan(),
        false => (1e-250..1e250).contains(squares),
    };
    if !numbers.iter().all(is_sure) {
        return Ok(None);
    }
    let mut roots = zeroed_vec(numbers.len());
    parallel::for_chunks_mut(&mut roots, 1, GRAIN, &|first, roots| {
        roots.iter_mut().zip(&numbers[first..]).for_each(|(root, squares)| *root = squares.sqrt());
    });
    Ok(Some(Strided::from_vec(roots, squares.shape.clone())))
}

/// Σ x² over some axes, as `float64`.
fn sums_of_squares(x: &Strided, axes: &[usize]) -> Result<Strided> {
    let squares = Tensor::from_strided(x.cast(DType::F64)).unary(UnaryOp::Square)?;
    let kept: Vec<usize> = (0..x.ndim()).chosen(|axis| !axes.contains(axis));
    let Some(squares) = squares.strided() else { return Err(error::layout("squares of an array are one")) };
    Fold::new(ReduceOp::Sum, DType::F64)?.strided(squares, &kept, axes)
}

/// Σ |x|² over the innermost axes of an array in C order, as `float64`: added in pairs, in the same parts on any number of threads.
/// `None` elsewhere, and of rows of a few elements.
fn squares_of_rows(x: &Strided, axes: &[usize]) -> Option<Strided> {
    let first = x.ndim() - axes.len();
    // The real and the imaginary parts of complex numbers, one beside the other.
    let part = x.dtype.real();
    let n = count(&x.shape[first..]) * (x.dtype.size() / part.size());
    if !(first..x.ndim()).all(|axis| axes.contains(&axis)) || n < LEAST {
        return None;
    }
    let (bytes, size) = (x.contiguous_bytes()?, part.size());
    let room = || vec![0.0; if matches!(part, DType::F64 | DType::F32) { 0 } else { pairwise::AT_ONCE.min(n) }];
    let of_part = |bytes: &[u8], room: &mut [f64]| {
        let sums = bytes.chunks(pairwise::AT_ONCE * size).map(|piece| {
            let sums = match part {
                DType::F64 => pairwise::sums(f64::from_bytes(piece), &|x| [x * x]),
                DType::F32 => pairwise::sums(f32::from_bytes(piece), &|x| [f64::from(x) * f64::from(x)]),
                _ => {
                    let numbers = &mut room[..piece.len() / size];
                    cast::cast_block(part, piece, DType::F64, bytemuck::cast_slice_mut(numbers));
                    pairwise::sums(numbers, &|x| [x * x])
                }
            };
            sums[0]
        });
        sums.sum::<f64>()
    };
    let mut found = Scratch::<f64>::any(count(&x.shape[..first]));
    if n > GRAIN {
        for (found, row) in found.iter_mut().zip(bytes.chunks_exact(n * size)) {
            let of = |part: Range<usize>| of_part(&row[part.start * size..part.end * size], &mut room());
            *found = pairwise::sums(&parallel::map_chunks(n, GRAIN, &of), &|x| [x])[0];
        }
    } else {
        parallel::for_chunks_mut(&mut found, 1, GRAIN / n, &|first, found| {
            let (rows, mut room) = (bytes[first * n * size..].chunks_exact(n * size), room());
            found.iter_mut().zip(rows).for_each(|(found, row)| *found = of_part(row, &mut room));
        });
    }
    Some(Strided::new(Buffer::from_block(found.into_block()), DType::F64, &x.shape[..first]))
}

/// What `of` makes of each element, where each is a slice; `None` where slices have more.
fn ones(x: &Strided, axes: &[usize], of: &(dyn Fn(f64) -> f64 + Sync)) -> Option<Strided> {
    if !axes.iter().all(|&axis| x.shape[axis] == 1) {
        return None;
    }
    let kept: Vec<usize> = (0..x.ndim()).filter(|axis| !axes.contains(axis)).map(|axis| x.shape[axis]).collect();
    let numbers = x.cast(DType::F64);
    let numbers = numbers.typed::<f64>()?;
    let mut found = zeroed_vec(numbers.len());
    parallel::for_chunks_mut(&mut found, 1, GRAIN, &|first, found| {
        found.iter_mut().zip(&numbers[first..]).for_each(|(found, &x)| *found = of(x));
    });
    Some(Strided::from_vec(found, kept))
}

/// What `of` makes of the columns of each slice, in the shape of what is kept: of complex numbers the sum of what it makes of their two
/// parts, which are columns of their own. `None` where the axes are not next to each other in memory, where there are many short slices,
/// and, about zero, of the innermost axis, for which [`squares_of_rows`] is.
///
/// Blocks are merged in pairs: the same on any number of threads.
fn each(x: &Strided, axes: &[usize], about: About, of: &(dyn Fn(&Moments) -> Vec<f64> + Sync)) -> Option<Strided> {
    let mut order: Vec<usize> = (0..x.ndim()).collect();
    order.sort_by_key(|&axis| Reverse(x.strides[axis].unsigned_abs()));
    let in_order = x.permute(&order);
    let bytes = in_order.contiguous_bytes()?;
    let first = order.iter().position(|axis| axes.contains(axis))?;
    let last = first + axes.len();
    if !order.get(first..last)?.iter().all(|axis| axes.contains(axis)) {
        return None;
    }
    let size = |axes: &[usize]| axes.iter().map(|&axis| x.shape[axis]).product::<usize>();
    let [outer, rows, columns] = [&order[..first], &order[first..last], &order[last..]].map(size);
    let parts = x.dtype.size() / x.dtype.real().size();
    let (columns, slice) = (parts * columns, parts * rows * columns);
    let of = |found: &Moments| {
        let all = of(found);
        if parts == 1 { all } else { all.chunks_exact(parts).map(|parts| parts.iter().sum()).collect() }
    };
    if slice == 0 || (outer > 1 && slice < LONG) || (last == order.len() && about == About::Zero) {
        return None;
    }
    let elements = Elements { bytes, dtype: x.dtype.real(), about };
    // The axes that are left, as they lie, and where each of these goes.
    let kept: Vec<usize> = order[..first].iter().chain(&order[last..]).copied().collect();
    let mut places: Vec<usize> = (0..kept.len()).collect();
    places.sort_by_key(|&i| kept[i]);
    let shape = kept.mapped(|&axis| x.shape[axis]);
    if outer == 1 && columns >= 2 * WIDE {
        // A task's columns have all their rows in it: nothing is kept of it but what is wanted.
        let mut found = Scratch::<f64>::any(columns / parts);
        parallel::for_chunks_mut(&mut found, 1, WIDE / parts, &|first, found| {
            let own = parts * first..parts * (first + found.len());
            found.copy_from_slice(&of(&elements.of_columns((0, columns), rows, own)));
        });
        let found = Buffer::from_block(found.into_block());
        return Some(Strided::new(found, DType::F64, shape).permute(&places));
    }
    let of_slice = |o: usize| of(&elements.moments(o * slice, rows, columns));
    let found = parallel::map_chunks(outer, (GRAIN / slice).max(1), &|range| range.map(of_slice).collect::<Vec<_>>());
    Some(Strided::from_vec(found.concat().concat(), shape).permute(&places))
}

/// What squares of distances are taken from.
#[derive(Clone, Copy, PartialEq)]
enum About {
    Mean,
    Zero,
}

/// Elements in the order of memory.
struct Elements<'a> {
    bytes: &'a [u8],
    dtype: DType,
    about: About,
}

impl Elements<'_> {
    /// Of a matrix whose elements begin at `start`: columns that are narrower than a block lie beside each other in one.
    fn moments(&self, start: usize, rows: usize, columns: usize) -> Moments {
        let beside = (COLUMNS / columns).max(1);
        let (tall, wide) = (rows / beside, beside * columns);
        if beside == 1 {
            return self.in_tasks(start, rows, columns);
        }
        let mut all = self.in_tasks(start, tall, wide).folded(columns);
        if !faults::is(Fault::RowsBesideLost) {
            all.merge(&self.in_tasks(start + tall * wide, rows - tall * beside, columns));
        }
        all
    }

    fn in_tasks(&self, start: usize, rows: usize, columns: usize) -> Moments {
        let width = columns.min(WIDE);
        let height = height(width);
        let (pieces, shares) = (columns.div_ceil(width), rows.div_ceil(height));
        let one = |task: usize| {
            let (left, top) = (task / shares * width, task % shares * height);
            let (right, bottom) = (columns.min(left + width), rows.min(top + height));
            self.of_task((start + top * columns, columns), bottom - top, left..right)
        };
        let tasks = pieces * shares;
        let grain = if rows * columns <= ALONE { tasks.max(1) } else { 1 };
        let found = parallel::map_chunks(tasks, grain, &|range| range.map(one).collect::<Vec<_>>()).into_iter();
        let mut found = found.flatten().collect::<Vec<Moments>>();
        match pieces {
            1 => in_pairs(&mut found, columns),
            _ => Moments::beside(found.chunks_mut(shares).map(|of_piece| in_pairs(of_piece, 0)).collect()),
        }
    }

    /// Of some columns of all rows, in the pieces that [`Elements::in_tasks`] makes of them.
    fn of_columns(&self, (start, step): (usize, usize), rows: usize, columns: Range<usize>) -> Moments {
        let height = height(columns.len());
        let piece = |top| self.of_task((start + top * step, step), rows.min(top + height) - top, columns.clone());
        in_pairs(&mut (0..rows).step_by(height).map(piece).collect::<Vec<_>>(), 0)
    }

    /// Of some columns of rows that begin `step` elements apart.
    fn of_task(&self, (start, step): (usize, usize), rows: usize, columns: Range<usize>) -> Moments {
        let mut found = Moments::new(columns.len());
        let size = self.dtype.size();
        let row = |r: usize| {
            let first = start + r * step;
            first + columns.start..first + columns.end
        };
        let all = row(0).start * size..row(rows - 1).end * size;
        match self.dtype {
            DType::F64 => self.add(&mut found, f64::from_bytes(&self.bytes[all]), step),
            DType::F32 => self.add(&mut found, f32::from_bytes(&self.bytes[all]), step),
            _ => self.add_widened(&mut found, rows, &row),
        }
        found
    }

    fn add<T: Copy + Into<f64>>(&self, found: &mut Moments, numbers: &[T], step: usize) {
        match self.about {
            About::Mean => found.add(numbers, step),
            About::Zero => found.add_about_zero(numbers, step),
        }
    }

    /// Adds rows, of each of which `row` says where its elements are.
    fn add_widened(&self, found: &mut Moments, rows: usize, row: &dyn Fn(usize) -> Range<usize>) {
        let (columns, size) = (found.columns(), self.dtype.size());
        let mut numbers = vec![0.0f64; ROWS.min(rows) * columns];
        for first in (0..rows).step_by(ROWS) {
            let numbers = &mut numbers[..ROWS.min(rows - first) * columns];
            for (r, numbers) in numbers.chunks_exact_mut(columns).enumerate() {
                let row = row(first + r);
                let elements = &self.bytes[row.start * size..row.end * size];
                cast::cast_block(self.dtype, elements, DType::F64, bytemuck::cast_slice_mut(numbers));
            }
            self.add(found, numbers, columns);
        }
    }
}

/// Rows of a task of so many columns.
fn height(columns: usize) -> usize {
    (GRAIN / columns).next_multiple_of(ROWS)
}

/// Merges the first with the second of two halves.
fn in_pairs(parts: &mut [Moments], columns: usize) -> Moments {
    match parts {
        [] => Moments::new(columns),
        [one] => std::mem::take(one),
        _ => {
            let (a, b) = parts.split_at_mut(parts.len() / 2);
            let mut all = in_pairs(a, columns);
            all.merge(&in_pairs(b, columns));
            all
        }
    }
}
