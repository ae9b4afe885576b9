//! Functions that see where an element is: `index_map` and `select`.

use crate::base::mapped::{Chosen, Mapped};
use openwork_ops::{DType, Element};

use super::coalesced;
use super::map::typed;
use crate::base::buffer::Buffer;
use crate::base::context;
use crate::base::error::Result;
use crate::base::parallel;
use crate::base::strided::{Strided, count};
use crate::base::trace::{Work, raise};
use crate::engine::convert;
use crate::levels::layout::{Layout, LevelSpec};
use crate::levels::pattern::RowForm;
use crate::tensor::fill::Fill;
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

/// A kernel over a block of elements and their coordinates along each axis.
type IndexKernel<'a> = &'a (dyn Fn(&[Vec<u64>], &[u8], &mut [u8]) + Sync);

/// Elements per call of the kernel.
const BLOCK: usize = 1024;

/// # Computing: functions that see where an element is
impl Tensor {
    /// `f(index, x)` on every element. The function should depend on its arguments alone: it runs in no fixed order,
    /// on several threads.
    ///
    /// **Fill:** one value cannot stand for elements that see where they are. A tensor with a defined fill becomes
    /// strided, within the densify budget; with an undefined fill the pattern stays and the function runs on what is there. So
    /// `x.stored().index_map(f)` is the function on stored elements.
    ///
    /// **Cost:** O(nse · axes) with an undefined fill, else O(size · axes).
    ///
    /// ```
    /// use openwork::{DType, Layout, Tensor};
    /// let x = Tensor::eye(4, DType::I64, Layout::Csr)?;
    /// let y = x.stored().index_map(|at: &[usize], v: i64| v * 10 + at[1] as i64)?;
    /// assert_eq!(y.values::<i64>()?, [10, 11, 12, 13]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the dtype is not that of `A`, or the fill is defined and the dense result exceeds the densify budget.
    pub fn index_map<A: Element, B: Element>(&self, f: impl Fn(&[usize], A) -> B + Sync) -> Result<Tensor> {
        let call = trace::call("index_map", &[self]);
        typed(&[(self, A::DTYPE)])?;
        let kernel = indexed(self.ndim(), f);
        let x = coalesced(self)?;
        let out = match &x.storage {
            Storage::Strided(s) => Tensor::from_strided(on_strided(s, B::DTYPE, true, &kernel)?),
            Storage::Sparse(s) if s.fill.is_undefined() => {
                raise(Work::Engine); // the function is told coordinates
                let values = on_stored(s, B::DTYPE, true, &kernel)?;
                Sparse { values, ..(**s).clone() }.into()
            }
            Storage::Sparse(s) => {
                context::may_densify(&s.shape, B::DTYPE.size(), || {
                    format!(
                        "the function sees where elements are, so that the fill {} stands for different ones; stored() looks at \
                         stored elements alone",
                        s.fill
                    )
                })?;
                let dense = x.to_dense()?;
                match dense.strided() {
                    Some(s) => Tensor::from_strided(on_strided(s, B::DTYPE, true, &kernel)?),
                    None => dense,
                }
            }
        };
        Ok(call.done(out))
    }

    /// The stored elements for which `f(index, x)` holds (GraphBLAS's `select`); the others are no longer stored, and so
    /// become the fill. It is `self.stored()`, less what the predicate drops, with this fill again: it looks at storage.
    /// A strided tensor, all of which is stored, becomes COO with undefined fill.
    ///
    /// The layout stays, but for layouts with value axes, whose rows cannot lose single elements: they become COO.
    ///
    /// Cost: O(nse · axes).
    ///
    /// ```
    /// use openwork::{Layout, Tensor};
    /// let x = Tensor::random([100, 100], 0.1, 0.0, Layout::Csr, 1)?;
    /// let below = x.select(|at: &[usize], v: f64| at[0] > at[1] && v > 0.5)?;
    /// assert!(below.nse() < x.nse());
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the dtype is not that of `A`.
    pub fn select<A: Element>(&self, f: impl Fn(&[usize], A) -> bool + Sync) -> Result<Tensor> {
        let call = trace::call("select", &[self]);
        typed(&[(self, A::DTYPE)])?;
        call.end(selected(self, true, &indexed(self.ndim(), f)))
    }

    /// [`Tensor::select`] by a predicate on the value alone. Cost: O(nse).
    ///
    /// # Errors
    /// If the dtype is not that of `A`.
    #[doc(alias("select"))]
    pub fn select_values<A: Element>(&self, f: impl Fn(A) -> bool + Sync) -> Result<Tensor> {
        let call = trace::call("select_values", &[self]);
        typed(&[(self, A::DTYPE)])?;
        let kernel = |_: &[Vec<u64>], x: &[u8], out: &mut [u8]| {
            for (o, &v) in out.iter_mut().zip(A::from_bytes(x)) {
                *o = u8::from(f(v));
            }
        };
        call.end(selected(self, false, &kernel))
    }
}

/// The kernel of a function of index and element.
fn indexed<A: Element, B: Element>(
    ndim: usize,
    f: impl Fn(&[usize], A) -> B + Sync,
) -> impl Fn(&[Vec<u64>], &[u8], &mut [u8]) + Sync {
    move |columns: &[Vec<u64>], x: &[u8], out: &mut [u8]| {
        let mut index = vec![0usize; ndim];
        for (i, (o, &v)) in B::from_bytes_mut(out).iter_mut().zip(A::from_bytes(x)).enumerate() {
            index.iter_mut().zip(columns).for_each(|(at, column)| *at = column[i] as usize);
            *o = f(&index, v);
        }
    }
}

fn selected(x: &Tensor, wants_index: bool, kernel: IndexKernel<'_>) -> Result<Tensor> {
    let x = coalesced(x)?;
    let spec = || LevelSpec::of_layout(Layout::Coo, x.shape());
    let stored = match &x.storage {
        Storage::Strided(s) => convert::from_strided(s, &spec()?, Fill::Undefined)?,
        Storage::Sparse(s) if s.pattern.block() != 1 || !s.pattern.is_canonical() => convert::convert(s, &spec()?)?,
        Storage::Sparse(s) => (**s).clone(),
    };
    let mask = on_stored(&stored, DType::Bool, wants_index, kernel)?;
    let mask = mask.dense_bytes()?;
    let keep: Vec<usize> = (0..stored.pattern.positions).chosen(|&p| mask[p] != 0);
    let out: Tensor = convert::select_rows(&stored, &keep)?.into();
    Ok(out)
}

/// Runs the kernel over the elements of a strided array.
fn on_strided(x: &Strided, out: DType, wants_index: bool, kernel: IndexKernel<'_>) -> Result<Strided> {
    let columns = |start: usize, n: usize| unraveled(&x.shape, start, n);
    run(x, out, wants_index.then_some(&columns), kernel)
}

/// Runs the kernel over what a tensor stores.
fn on_stored(s: &Sparse, out: DType, wants_index: bool, kernel: IndexKernel<'_>) -> Result<Strided> {
    let axes: Vec<_> = (0..s.ndim())
        .map(|axis| {
            let mut unit = vec![0u64; s.ndim()];
            unit[axis] = 1;
            (s.pattern.level_weights(&unit), s.pattern.row_form(&unit))
        })
        .collect();
    let columns = |start: usize, n: usize| -> Vec<Vec<u64>> {
        let column = |(weights, within): &(Vec<u64>, RowForm)| {
            let mut out = vec![0; n];
            s.pattern.linearize_elements(weights, within, start, &mut out);
            out
        };
        axes.mapped(column)
    };
    run(&s.values, out, wants_index.then_some(&columns), kernel)
}

type Columns<'a> = &'a (dyn Fn(usize, usize) -> Vec<Vec<u64>> + Sync);

fn run(x: &Strided, out: DType, columns: Option<Columns<'_>>, kernel: IndexKernel<'_>) -> Result<Strided> {
    let x = x.to_contiguous()?;
    let bytes = x.contiguous_bytes().unwrap_or_default();
    let (from, to) = (x.dtype.size(), out.size());
    let buffer = Buffer::build(count(&x.shape) * to, |all| {
        parallel::for_chunks_mut(all, to, parallel::GRAIN, &|first, part| {
            for (i, block) in part.chunks_mut(BLOCK * to).enumerate() {
                let (start, n) = (first + i * BLOCK, block.len() / to);
                let columns = columns.map_or(Vec::new(), |f| f(start, n));
                kernel(&columns, &bytes[start * from..(start + n) * from], block);
            }
        });
    })?;
    Ok(Strided::new(buffer, out, x.shape.clone()))
}

/// The coordinates of elements `start..start + n` in C order, per axis.
fn unraveled(shape: &[usize], start: usize, n: usize) -> Vec<Vec<u64>> {
    let mut columns = vec![vec![0u64; n]; shape.len()];
    let mut inner = 1usize;
    for (column, &size) in columns.iter_mut().zip(shape).rev() {
        for (i, c) in column.iter_mut().enumerate() {
            *c = ((start + i) / inner % size) as u64;
        }
        inner *= size;
    }
    columns
}
