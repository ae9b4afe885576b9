//! Products of rows and columns of arrays, each with its own: sums of products along one axis, as `vecdot` and `einsum("ij,ij->j")` take
//! them.

use openwork_ops::matmul::array_dots::{Term, of_columns, of_part, of_rows};
use openwork_ops::matmul::array_vector::Rows;
use openwork_ops::{DType, c64, c128};

use super::array_vector::{MANY, SHARE, SHARES};
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::parallel;
use crate::base::strided::Strided;

/// Terms of a single product of `float64` below which the call takes longer than all of them.
const SHORT: usize = 1 << 9;

/// The product in shape `(batch…, 1, 1)` of rows, conjugated if `conjugates`, and columns of one dtype other than bool, broadcast to as many
/// of each. `None` of other products, and of those without terms; of a single one of floats that is done sooner by what multiplies matrices,
/// if threads do not share it; and where an operand is repeated and lies in no order that can be followed.
pub(super) fn product(a: &Strided, b: &Strided, shape: &[usize], conjugates: bool) -> Result<Option<Strided>> {
    let Some((batch, [1, 1])) = shape.split_last_chunk() else { return Ok(None) };
    let (dtype, k) = (a.dtype, a.shape[a.ndim() - 1]);
    let is_short = match dtype {
        DType::F32 | DType::Complex64 => k < 2 * SHARE,
        DType::F64 => k < SHORT,
        _ => false,
    };
    if k == 0 || shape.contains(&0) || is_short && batch.iter().all(|&n| n == 1) {
        return Ok(None);
    }
    macro_rules! of {
        ($($name:ident: $ty:ty),+) => {
            match dtype {
                $(DType::$name => dots::<$ty>(a, b, batch, conjugates)?,)+
                _ => None,
            }
        };
    }
    let out = of! {
        I8: i8, I16: i16, I32: i32, I64: i64, U8: u8, U16: u16, U32: u32, U64: u64, F32: f32, F64: f64, Complex64: c64,
        Complex128: c128
    };
    Ok(out.map(|out| Strided::new(out, dtype, shape)))
}

/// An axis of both operands: its size, and their strides.
type Axis = (usize, [isize; 2]);

/// Where the rows of both lie.
struct Pairs<'a, T> {
    elements: [&'a [T]; 2],
    offsets: [usize; 2],
    /// The axes that stay, merged where they can be.
    outer: Vec<Axis>,
    last: Axis,
    /// The axis that is summed over.
    summed: Axis,
    /// Whether elements of the first are conjugated.
    conjugates: bool,
}

fn dots<T: Term>(a: &Strided, b: &Strided, batch: &[usize], conjugates: bool) -> Result<Option<Buffer>> {
    let lead = batch.len();
    let (a, b) = (without(a, lead), without(b, lead + 1));
    let is = |stride: fn(&Strided) -> isize| [&a, &b].into_iter().all(|x| stride(x) == 1);
    let is_along = is(|x| if x.shape[x.ndim() - 1] == 1 { 1 } else { x.strides[x.ndim() - 1] });
    // The last axis of more than one element is the one that stays and is gone along.
    let last = (0..lead).rev().find(|&axis| batch[axis] > 1).unwrap_or_default();
    let is_down = batch.iter().any(|&n| n > 1) && [&a, &b].into_iter().all(|x| x.strides[last] == 1);
    if is_along || is_down {
        return pairs::<T>(&a, &b, batch, conjugates).sums(is_along).map(Some);
    }
    // Copies are as large as the operands, unless these repeat themselves.
    let is_repeated = |x: &Strided| x.shape.iter().zip(&x.strides).any(|(&n, &stride)| n > 1 && stride == 0);
    if is_repeated(&a) || is_repeated(&b) {
        return Ok(None);
    }
    let (a, b) = (a.to_contiguous()?, b.to_contiguous()?);
    pairs::<T>(&a, &b, batch, conjugates).sums(true).map(Some)
}

/// Without an axis of size 1.
fn without(x: &Strided, axis: usize) -> Strided {
    let kept = |i: &usize| *i != axis;
    Strided {
        shape: (0..x.ndim()).filter(kept).map(|i| x.shape[i]).collect(),
        strides: (0..x.ndim()).filter(kept).map(|i| x.strides[i]).collect(),
        ..x.clone()
    }
}

fn pairs<'a, T: Term>(a: &'a Strided, b: &'a Strided, batch: &[usize], conjugates: bool) -> Pairs<'a, T> {
    let strides = |axis: usize| [a.strides[axis], b.strides[axis]];
    let mut axes: Vec<Axis> = Vec::with_capacity(batch.len());
    for (axis, &size) in batch.iter().enumerate().filter(|&(_, &size)| size > 1) {
        let own = strides(axis);
        match axes.last_mut() {
            Some((all, before)) if *before == own.map(|stride| stride * size as isize) => {
                (*all, *before) = (*all * size, own);
            }
            _ => axes.push((size, own)),
        }
    }
    let last = axes.pop().unwrap_or((1, [0; 2]));
    Pairs {
        elements: [T::from_bytes(a.buffer.bytes()), T::from_bytes(b.buffer.bytes())],
        offsets: [a.offset, b.offset],
        outer: axes,
        last,
        summed: (a.shape[batch.len()], strides(batch.len())),
        conjugates,
    }
}

impl<T: Term> Pairs<'_, T> {
    /// The sums of all; along rows, or down columns.
    fn sums(&self, is_along: bool) -> Result<Buffer> {
        let (k, n) = (self.summed.0, self.outer.iter().map(|axis| axis.0).product::<usize>() * self.last.0);
        let shares = (n * k / SHARE).min(k).clamp(1, SHARES);
        Buffer::build(n * T::DTYPE.size(), |out| {
            let out = T::from_bytes_mut(out);
            if is_along && n == 1 {
                out[0] = T::rounded(self.single(shares), self.conjugates);
                return;
            }
            if !is_along && self.outer.is_empty() && n < MANY && shares > 1 {
                return self.in_shares(shares, out);
            }
            let grain = (parallel::GRAIN / k).max(if is_along { 1 } else { MANY / 4 });
            parallel::for_chunks_mut(out, 1, grain, &|first, out| {
                let (mut at, mut rest) = (first, out);
                while !rest.is_empty() {
                    let start = at % self.last.0;
                    let (part, tail) = rest.split_at_mut((self.last.0 - start).min(rest.len()));
                    let matrix = at / self.last.0;
                    at += part.len();
                    if is_along {
                        let [a, b] = self.rows(matrix, self.last.1);
                        of_rows(a, b, start..start + part.len(), k, self.conjugates, part);
                    } else {
                        let [a, b] = self.rows(matrix, self.summed.1);
                        let mut sums = vec![T::Sum::default(); part.len()];
                        of_columns(a, b, 0..k, start..start + part.len(), &mut sums);
                        part.iter_mut().zip(sums).for_each(|(out, sum)| *out = T::rounded(sum, self.conjugates));
                    }
                    rest = tail;
                }
            });
        })
    }

    /// Of one row: threads share the terms.
    fn single(&self, shares: usize) -> T::Sum {
        let k = self.summed.0;
        let [a, b] = [0, 1].map(|side| &self.elements[side][self.offsets[side]..][..k]);
        if shares == 1 {
            return of_part(a, b);
        }
        let parts = parallel::map_chunks(k, k.div_ceil(shares), &|terms| of_part(&a[terms.clone()], &b[terms]));
        parts.into_iter().reduce(T::both).unwrap_or_default()
    }

    /// Down few columns: threads share the terms.
    fn in_shares(&self, shares: usize, out: &mut [T]) {
        let (k, n) = (self.summed.0, out.len());
        let [a, b] = self.rows(0, self.summed.1);
        let parts = parallel::map_chunks(k, k.div_ceil(shares), &|terms| {
            let mut sums = vec![T::Sum::default(); n];
            of_columns(a, b, terms, 0..n, &mut sums);
            sums
        });
        let mut sums = vec![T::Sum::default(); n];
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(sum, other)| *sum = T::both(*sum, other));
        }
        out.iter_mut().zip(sums).for_each(|(out, sum)| *out = T::rounded(sum, self.conjugates));
    }

    /// Rows of both that lie so far apart, of one of the matrices that the outer axes count.
    fn rows(&self, matrix: usize, steps: [isize; 2]) -> [Rows<'_, T>; 2] {
        let (mut at, mut rest) = (self.offsets, matrix);
        for &(size, strides) in self.outer.iter().rev() {
            let i = (rest % size) as isize;
            at = [0, 1].map(|side| at[side].wrapping_add_signed(i * strides[side]));
            rest /= size;
        }
        [0, 1].map(|side| Rows { elements: self.elements[side], at: at[side], step: steps[side] })
    }
}
