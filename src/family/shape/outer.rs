//! Products of every element with every other: outer and kron.

use crate::base::mapped::{Mapped, sums};
use std::ops::Range;
use std::sync::Arc;

use openwork_ops::structure::Index;
use openwork_ops::structure::keys::KeyLayout;
use openwork_ops::{DTypeKind, identity, promote};

use super::along;
use crate::base::buffer::Buffer;
use crate::base::context::{self, NanPolicy};
use crate::base::error::Result;
use crate::base::pages::Scratch;
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::base::trace::{Work, raise};
use crate::levels::build::{self, SortedKeys};
use crate::levels::indices::{Indices, needs_64_bits};
use crate::levels::level::{Level, LevelKind};
use crate::levels::pattern::Pattern;
use crate::tensor::fill::Fill;
use crate::tensor::trace;
use crate::tensor::{Sparse, Tensor};

/// # Outer and Kronecker products
impl Tensor {
    /// Every element times every element of another tensor: axes of the first, then of the second.
    ///
    /// Two sparse tensors with fill 0 (or both with undefined fill) give COO, a product for each pair of stored elements;
    /// others go by the rules of elementwise products of `self`, with axes of size 1 behind its own, and `other`. Under
    /// [`NanPolicy::Exact`] an unstored zero beside a stored NaN or infinity counts.
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![1, 2].outer(&tensor![10, 20, 30])?;
    /// assert_eq!((x.shape(), x.to_vec::<i32>()?), (&[2, 3][..], vec![10, 20, 30, 20, 40, 60]));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the dtypes do not promote or have no product, or the result is too large or not sparse and exceeds the
    /// densify budget.
    #[doc(alias("ger"))]
    pub fn outer(&self, other: &Tensor) -> Result<Tensor> {
        let call = trace::call("outer", &[self, other]);
        let out = match Pairs::of(self, other)? {
            Some(pairs) => {
                raise(Work::Specialised);
                pairs.outer()?
            }
            None => {
                let shape: Vec<usize> = self.shape().iter().copied().chain(vec![1; other.ndim()]).collect();
                self.reshape(&shape)?.mul(other)?
            }
        };
        Ok(call.done(out))
    }

    /// The Kronecker product: a block for each element of `self`, which is `other` times that element. The tensor with fewer axes
    /// gets new ones in front.
    ///
    /// Fill and cost as [`Tensor::outer`]; the result of sparse tensors is COO.
    ///
    /// ```
    /// use openwork::{DType, Layout, Tensor, tensor};
    /// let x = Tensor::eye(2, DType::I32, Layout::Csr)?.kron(&tensor![[1, 2]; Layout::Csr, 0]?)?;
    /// assert_eq!((x.shape(), x.to_vec::<i32>()?), (&[2, 4][..], vec![1, 2, 0, 0, 0, 0, 1, 2]));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::outer`], or if an axis becomes too long.
    #[doc(alias("kronecker"))]
    pub fn kron(&self, other: &Tensor) -> Result<Tensor> {
        let call = trace::call("kron", &[self, other]);
        let n = self.ndim().max(other.ndim());
        let (a, b) = (self.atleast_nd(n)?, other.atleast_nd(n)?);
        let mut shape = Vec::with_capacity(n);
        for (&x, &y) in a.shape().iter().zip(b.shape()) {
            let why = format!("sizes {x} and {y} multiplied exceed the largest size");
            shape.push(x.checked_mul(y).ok_or_else(|| crate::base::error::shape(&[self.shape(), other.shape()], why))?);
        }
        let out = match if n == 2 { Pairs::of(&a, &b)? } else { None } {
            Some(pairs) => {
                raise(Work::Specialised);
                pairs.kron(&shape)?
            }
            None => {
                let order = (0..2 * n).mapped(|d| (d / 2 + d % 2 * n) as isize);
                a.outer(&b)?.permute_dims(&order)?.reshape(&shape)?
            }
        };
        Ok(call.done(out))
    }
}

/// Two sparse tensors as coordinates, and the products of all pairs of their stored elements.
struct Pairs {
    x: Sparse,
    y: Sparse,
    /// An axis for each tensor's elements.
    values: Strided,
    fill: Fill,
}

impl Pairs {
    /// Where all other products are what the fill of the product is, or absent; `None` elsewhere.
    fn of(a: &Tensor, b: &Tensor) -> Result<Option<Pairs>> {
        let (Some(x), Some(y)) = (a.sparse(), b.sparse()) else { return Ok(None) };
        let zero = |s: &Sparse| matches!(s.fill, Fill::Scalar(f) if f.is_zero());
        let undefined = x.fill.is_undefined() && y.fill.is_undefined();
        let blank = undefined || (zero(x) && zero(y));
        if !blank {
            return Ok(None);
        }
        // An integer can be infinite in the common dtype: beyond the largest float16.
        let common = promote(a.dtype(), b.dtype());
        let finite = |v: &Strided| {
            let v = v.unbroadcast().cast(common.unwrap_or(v.dtype));
            matches!(v.dtype.kind(), DTypeKind::Bool | DTypeKind::Int)
                || identity::all_finite(v.dtype, v.core().contiguous_bytes().unwrap_or_default())
        };
        let exact = context::nan_policy() == NanPolicy::Exact;
        if exact && !undefined && !(finite(&x.values) && finite(&y.values)) {
            return Ok(None);
        }
        let (x, y) = (super::to_coo(x)?, super::to_coo(y)?);
        let shape: Vec<usize> = x.shape.iter().chain(&y.shape).copied().collect();
        let (n, m) = (x.pattern.positions, y.pattern.positions);
        along::fits(&shape, n.checked_mul(m))?;
        let column = |s: &Sparse, size: [usize; 2]| s.values.reshape(&size).map(Tensor::from_strided);
        let values = column(&x, [n, 1])?.mul(column(&y, [1, m])?)?;
        let Some(values) = values.strided().cloned() else { return Ok(None) };
        let fill = match (&x.fill, &y.fill) {
            (Fill::Scalar(f), Fill::Scalar(g)) => {
                let product = Tensor::scalar(*f).mul(Tensor::scalar(*g))?;
                Fill::Scalar(product.item()?)
            }
            _ => Fill::Undefined,
        };
        Ok(Some(Pairs { x, y, values, fill }))
    }

    /// Axes of the first, then of the second: products come in order.
    fn outer(self) -> Result<Tensor> {
        let Pairs { x, y, values, fill } = self;
        let shape: Vec<usize> = x.shape.iter().chain(&y.shape).copied().collect();
        let layout = KeyLayout::new(&shape);
        let part = |s: &Sparse, first: usize, w: usize| {
            let fields = &layout.fields[first..first + s.ndim()];
            let weights: Vec<u64> = fields.mapped(|f| if f.word == w { f.weight() } else { 0 });
            s.pattern.linearize_all(&weights)
        };
        let words: Vec<Vec<u64>> =
            (0..layout.word_bits.len()).map(|w| sums(&part(&x, 0, w), &part(&y, x.ndim(), w))).collect();
        of_coordinates(&shape, &layout, &words, values.reshape(&[values.len()])?, fill)
    }

    /// Blocks of the second for elements of the first, of two axes: each row of the first with each row of the second is a
    /// row of the result, element by element of the first a run of the second's.
    fn kron(self, shape: &[usize]) -> Result<Tensor> {
        let Pairs { x, y, values, fill } = self;
        let m = y.pattern.positions;
        let dense = values.to_contiguous()?;
        let (bytes, width) = (dense.contiguous_bytes().unwrap_or_default(), dense.dtype.size());
        let wide = needs_64_bits(values.len(), shape.iter().copied());
        let indices = if wide { crossed::<u64>(&x, &y) } else { crossed::<u32>(&x, &y) };
        let (left, right) = (Runs::of(&x.pattern), Runs::of(&y.pattern));
        let ends: Vec<usize> = left.ends.mapped(|end| end * m * width);
        let buffer = Buffer::filled(bytes.len(), width, |out| {
            parallel::for_pieces_mut(out, &ends, &|row, out| {
                let mut at = 0;
                for run in right.each() {
                    for p in left.run(row) {
                        let own = &bytes[(p * m + run.start) * width..(p * m + run.end) * width];
                        out[at..at + own.len()].copy_from_slice(own);
                        at += own.len();
                    }
                }
            });
        })?;
        let values = Strided::new(buffer, dense.dtype, vec![values.len()]);
        let level = Level::Sparse { pointers: None, indices, ordered: true, unique: true };
        let pattern =
            Pattern { levels: vec![level], dims: super::coo_dims(shape), level_dims: 2, positions: values.len() };
        Ok(Sparse { shape: shape.into(), pattern: Arc::new(pattern), values, fill }.into())
    }
}

/// The rows and columns of a Kronecker product, in its order.
fn crossed<I: Index>(x: &Sparse, y: &Sparse) -> Vec<Indices> {
    let columns = |s: &Sparse| [[1, 0], [0, 1]].map(|weights| s.pattern.linearize_all(&weights));
    let ([x_rows, x_columns], [y_rows, y_columns]) = (columns(x), columns(y));
    let (left, right) = (Runs::of(&x.pattern), Runs::of(&y.pattern));
    let (n, m) = (x.pattern.positions, y.pattern.positions);
    let [mut rows, mut columns] = [(); 2].map(|()| Scratch::<I>::any(n * m));
    let mut parts = Vec::with_capacity(left.ends.len());
    let (mut rest, mut rest_of_columns) = (&mut rows[..], &mut columns[..]);
    for row in 0..left.ends.len() {
        let (own, own_columns);
        (own, rest) = std::mem::take(&mut rest).split_at_mut(left.run(row).len() * m);
        (own_columns, rest_of_columns) = std::mem::take(&mut rest_of_columns).split_at_mut(own.len());
        parts.push((own, own_columns));
    }
    parallel::for_each(parts, &|row, (mut rows, mut columns)| {
        for run in right.each() {
            // Elements of one row of each lie in one row.
            let (number, of_y) = (x_rows[left.run(row).start] * y.shape[0] as u64 + y_rows[run.start], &y_columns[run]);
            let own;
            (own, rows) = std::mem::take(&mut rows).split_at_mut(left.run(row).len() * of_y.len());
            own.fill(I::new(number as usize));
            for &of_x in &x_columns[left.run(row)] {
                let (own, first) = (columns.split_off_mut(..of_y.len()), of_x * y.shape[1] as u64);
                own.into_iter().flatten().zip(of_y).for_each(|(o, of_y)| *o = I::new((first + of_y) as usize));
            }
        }
    });
    [rows, columns].map(Indices::from).into()
}

/// The rows of coordinates that store something.
struct Runs {
    ends: Vec<usize>,
}

impl Runs {
    fn of(pattern: &Pattern) -> Runs {
        let rows = pattern.linearize_all(&[1, 0]);
        let last = |&i: &usize| i + 1 == rows.len() || rows[i] != rows[i + 1];
        Runs { ends: (0..rows.len()).filter(last).map(|i| i + 1).collect() }
    }

    fn run(&self, row: usize) -> Range<usize> {
        (if row == 0 { 0 } else { self.ends[row - 1] })..self.ends[row]
    }

    fn each(&self) -> impl Iterator<Item = Range<usize>> {
        (0..self.ends.len()).map(|row| self.run(row))
    }
}

/// A tensor of sorted coordinates.
fn of_coordinates(
    shape: &[usize],
    layout: &KeyLayout,
    words: &[Vec<u64>],
    values: Strided,
    fill: Fill,
) -> Result<Tensor> {
    let keys = SortedKeys::new(layout, words);
    let pattern = build::build(&[LevelKind::Sparse { rank: shape.len() }], super::coo_dims(shape), &keys)?;
    Ok(Sparse { shape: shape.into(), pattern: Arc::new(pattern), values, fill }.into())
}
