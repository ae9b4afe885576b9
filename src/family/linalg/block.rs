//! Vectors of the iterative methods: a matrix of `n` rows and one column per right side, in `float64` or pairs of it.
//!
//! One kind of vector serves all dtypes: the recurrences run in `float64` (complex numbers are two of them), whatever the
//! operator computes in. So nothing here is compiled more than once, and `float32` loses nothing between its products.

use openwork_ops::{DType, Element, c128};

use crate::base::buffer::Buffer;
use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::base::{memory, parallel};
use crate::tensor::Tensor;

/// Sums that run beside each other, so that a loop of them becomes vector code.
const LANES: usize = 8;

/// `n` rows of `k` columns, in C order.
#[derive(Clone)]
pub(super) struct Block {
    data: Buffer,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) is_complex: bool,
}

/// The dtype of the numbers of a block.
fn own_dtype(is_complex: bool) -> DType {
    if is_complex { DType::Complex128 } else { DType::F64 }
}

impl Block {
    /// Numbers per row.
    fn width(&self) -> usize {
        self.k << usize::from(self.is_complex)
    }

    /// Rows per chunk of work.
    fn grain(&self) -> usize {
        (parallel::GRAIN / self.width().max(1)).max(1)
    }

    /// Zeros.
    ///
    /// # Errors
    /// If memory does not hold them.
    pub(super) fn zeros(n: usize, k: usize, is_complex: bool) -> Result<Block> {
        let dtype = own_dtype(is_complex);
        let count = memory::dense_len(&[n, k], dtype)?;
        Ok(Block { data: Buffer::build(count * dtype.size(), |_| ())?, n, k, is_complex })
    }

    /// The elements of a tensor with `n` rows, a vector or a matrix of `k` columns.
    pub(super) fn of(x: &Tensor, n: usize, k: usize, is_complex: bool) -> Result<Block> {
        let dtype = own_dtype(is_complex);
        let dense = x.to_dense()?;
        let Some(values) = dense.strided() else { return Err(error::layout("a dense tensor is not strided")) };
        debug_assert_eq!(values.len(), n * k);
        let values = values.cast(dtype).to_contiguous()?.into_owned();
        let size = dtype.size();
        let data = values.buffer.slice(values.offset * size..(values.offset + n * k) * size);
        Ok(Block { data, n, k, is_complex })
    }

    /// Random numbers between -1 and 1, the same for the same seed.
    #[cfg(feature = "faer")]
    pub(super) fn random(n: usize, k: usize, is_complex: bool, seed: u64) -> Result<Block> {
        let mut out = Block::zeros(n, k, is_complex)?;
        for (i, v) in out.write().iter_mut().enumerate() {
            // SplitMix64 (Steele, Lea and Flood, 2014) of the place and the seed.
            let mut z = (i as u64 + 1)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .wrapping_add(seed.wrapping_mul(0xd1b5_4a32_d192_ed03));
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            *v = ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        }
        Ok(out)
    }

    /// The same elements as a strided tensor: of shape `(n)` where `is_vector`, else `(n, k)`. Shares memory if the dtype
    /// is that of the block.
    pub(super) fn tensor(&self, dtype: DType, is_vector: bool) -> Tensor {
        let shape = if is_vector { vec![self.n] } else { vec![self.n, self.k] };
        Tensor::from_strided(Strided::new(self.data.clone(), own_dtype(self.is_complex), shape).cast(dtype))
    }

    #[cfg(feature = "faer")]
    pub(super) fn typed<T: Element>(&self) -> &[T] {
        T::from_bytes(self.data.bytes())
    }

    #[cfg(feature = "faer")]
    pub(super) fn typed_mut<T: Element>(&mut self) -> &mut [T] {
        T::from_bytes_mut(self.write_bytes())
    }

    pub(super) fn read(&self) -> &[f64] {
        f64::from_bytes(self.data.bytes())
    }

    /// The numbers to be written; copied first if a tensor still shares them.
    pub(super) fn write(&mut self) -> &mut [f64] {
        f64::from_bytes_mut(self.write_bytes())
    }

    fn write_bytes(&mut self) -> &mut [u8] {
        if self.data.unique_mut().is_none() {
            let bytes = self.data.bytes();
            self.data = Buffer::filled_of_held(bytes.len(), 8, |out| out.copy_from_slice(bytes));
        }
        self.data.unique_mut().unwrap_or_default()
    }

    /// Per column, the sum of the products of the elements of both, those of `self` conjugated.
    pub(super) fn dots(&self, other: &Block) -> Vec<c128> {
        let (width, k, is_complex) = (self.width(), self.k, self.is_complex);
        let (x, y) = (self.read(), other.read());
        let parts = parallel::map_chunks(self.n, self.grain(), &|rows| {
            let range = rows.start * width..rows.end * width;
            let (x, y) = (&x[range.clone()], &y[range]);
            let mut sums = vec![0.0; 2 * k];
            if width == 1 {
                sums[0] = dot(x, y);
                return sums;
            }
            for (x, y) in x.chunks_exact(width.max(1)).zip(y.chunks_exact(width.max(1))) {
                add_products(x, y, is_complex, &mut sums);
            }
            sums
        });
        let mut sums = vec![0.0; 2 * k];
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(s, p)| *s += p);
        }
        sums.chunks_exact(2).map(|s| c128::new(s[0], s[1])).collect()
    }

    /// Per column, the square root of the sum of squares; without overflow.
    pub(super) fn norms(&self) -> Vec<f64> {
        let mut norms: Vec<f64> = self.dots(self).iter().map(|d| d.re.sqrt()).collect();
        let is_safe = |x: f64| x.is_nan() || (x > 1e-140 && x < 1e150);
        if norms.iter().all(|&x| is_safe(x)) {
            return norms;
        }
        let (width, per) = (self.width(), 1 + usize::from(self.is_complex));
        for (j, norm) in norms.iter_mut().enumerate().filter(|(_, x)| !is_safe(**x)) {
            let column = || self.read().chunks_exact(width).flat_map(|row| &row[j * per..(j + 1) * per]);
            let largest = column().fold(0f64, |m, x| m.max(x.abs()));
            if largest > 0.0 && largest.is_finite() {
                *norm = largest * column().map(|x| (x / largest).powi(2)).sum::<f64>().sqrt();
            }
        }
        norms
    }

    /// `self += alpha * x`, a factor per column.
    pub(super) fn add_scaled(&mut self, alpha: &[c128], x: &Block) {
        if alpha.iter().any(|a| *a != c128::new(0.0, 0.0)) {
            self.combine(x, Some(alpha), None);
        }
    }

    /// `self = x + beta * self`, a factor per column.
    pub(super) fn scale_and_add(&mut self, beta: &[c128], x: &Block) {
        self.combine(x, None, Some(beta));
    }

    /// `self *= alpha`, a factor per column.
    pub(super) fn scale(&mut self, alpha: &[c128]) {
        let (width, grain, is_complex) = (self.width(), self.grain(), self.is_complex);
        parallel::for_chunks_mut(self.write(), width, grain, &|_, out| {
            out.chunks_exact_mut(width).for_each(|row| scale_row(row, alpha, is_complex));
        });
    }

    /// `self = alpha x + beta self`; what is not given is one.
    fn combine(&mut self, x: &Block, alpha: Option<&[c128]>, beta: Option<&[c128]>) {
        let (width, grain, is_complex) = (self.width(), self.grain(), self.is_complex);
        let x = x.read();
        parallel::for_chunks_mut(self.write(), width, grain, &|first, out| {
            let x = &x[first * width..first * width + out.len()];
            if width == 1 {
                let (a, b) = (alpha.map_or(1.0, |a| a[0].re), beta.map_or(1.0, |b| b[0].re));
                match beta {
                    None => out.iter_mut().zip(x).for_each(|(o, x)| *o += a * x),
                    Some(_) => out.iter_mut().zip(x).for_each(|(o, x)| *o = a * x + b * *o),
                }
                return;
            }
            for (out, x) in out.chunks_exact_mut(width).zip(x.chunks_exact(width)) {
                if let Some(beta) = beta {
                    scale_row(out, beta, is_complex);
                }
                match alpha {
                    None => out.iter_mut().zip(x).for_each(|(o, x)| *o += x),
                    Some(alpha) if is_complex => {
                        for ((o, x), a) in out.chunks_exact_mut(2).zip(x.chunks_exact(2)).zip(alpha) {
                            o[0] += a.re * x[0] - a.im * x[1];
                            o[1] += a.re * x[1] + a.im * x[0];
                        }
                    }
                    Some(alpha) => out.iter_mut().zip(x).zip(alpha).for_each(|((o, x), a)| *o += a.re * x),
                }
            }
        });
    }
}

fn scale_row(row: &mut [f64], by: &[c128], is_complex: bool) {
    if is_complex {
        for (o, b) in row.chunks_exact_mut(2).zip(by) {
            (o[0], o[1]) = (b.re * o[0] - b.im * o[1], b.re * o[1] + b.im * o[0]);
        }
    } else {
        row.iter_mut().zip(by).for_each(|(o, b)| *o *= b.re);
    }
}

/// The sum of products, in lanes.
fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in x.iter().zip(y) {
        for i in 0..LANES {
            sums[i] += x[i] * y[i];
        }
    }
    let rest: f64 = x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f64>() + rest
}

/// Adds the products of a row of either to sums of pairs, real and imaginary parts.
fn add_products(x: &[f64], y: &[f64], is_complex: bool, sums: &mut [f64]) {
    if is_complex {
        for ((x, y), s) in x.chunks_exact(2).zip(y.chunks_exact(2)).zip(sums.chunks_exact_mut(2)) {
            s[0] += x[0] * y[0] + x[1] * y[1];
            s[1] += x[0] * y[1] - x[1] * y[0];
        }
    } else {
        for ((x, y), s) in x.iter().zip(y).zip(sums.chunks_exact_mut(2)) {
            s[0] += x * y;
        }
    }
}

#[cfg(test)]
#[path = "tests/block.rs"]
mod tests;
