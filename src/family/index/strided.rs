//! Assigning to strided tensors: where what an index names lies, and values put there.

use std::borrow::Cow;

use openwork_ops::ReduceOp;
use openwork_ops::structure::gather::{repeat, scatter_rows};
use openwork_ops::structure::keys::KeyLayout;

use super::listed::Listed;
use super::points::{Unique, meeting, met};
use super::put::{Given, spread};
use super::{Made, Resolved, Taken};
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::strided::{Strided, c_strides, count};
use crate::base::{memory, parallel};
use crate::tensor::Tensor;
use crate::tensor::fill::single;

/// Elements that are brought together at a time, where they do not lie in order.
const PIECE: usize = 1 << 14;

/// Bytes that one task copies.
const COPIED: usize = 1 << 20;

/// A copy with values, which broadcast, at what the index names.
pub(super) fn put(x: &Strided, resolved: &Resolved, values: &Tensor, fold: Option<ReduceOp>) -> Result<Tensor> {
    let shape = resolved.shape();
    let values = spread(values, &shape)?;
    if shape.contains(&0) {
        return Ok(Tensor::from_strided(x.clone()));
    }
    let undefined = super::put::undefined(&values);
    let run = if fold.is_some() || undefined { 1 } else { resolved.run(&x.shape) };
    let (width, instead) = (size_of::<u64>().div_ceil(run), "assign a part at a time");
    let n = memory::room(&shape, "a list of the places that the index names", &shape, width, instead)?;
    let offsets = resolved.offsets(&x.shape, run);
    if fold.is_some() || undefined {
        return at(x, offsets.into_owned(), Given::of(&values, n, fold)?);
    }
    let dense = values.to_dense()?;
    let Some(values) = dense.strided() else { return Ok(Tensor::from_strided(x.clone())) };
    let (size, row) = (x.dtype.size(), run * x.dtype.size());
    written(x, |out| {
        if let Some(one) = single(values) {
            let mut same = vec![0; row];
            repeat(&one.to_bytes().0[..size], &mut same);
            offsets.iter().for_each(|&o| out[o as usize * row..(o as usize + 1) * row].copy_from_slice(&same));
            return;
        }
        if let Some(bytes) = values.contiguous_bytes() {
            scatter_rows(bytes, row, &offsets, out);
            return;
        }
        let rows = PIECE.div_ceil(run);
        let mut piece = vec![0; rows.min(offsets.len()) * row];
        for (i, offsets) in offsets.chunks(rows).enumerate() {
            let piece = &mut piece[..offsets.len() * row];
            values.read(i * rows * run, piece);
            scatter_rows(piece, row, offsets, out);
        }
    })
}

/// A copy with rows at the places of a list. `None` where values do not lie in order, and where a place is out of bounds.
pub(super) fn put_listed(x: &Strided, listed: &Listed<'_>, values: &Tensor) -> Result<Option<Tensor>> {
    let Some(values) = values.strided().filter(|v| v.shape == listed.shape()) else { return Ok(None) };
    let Some(rows) = values.contiguous_bytes() else { return Ok(None) };
    let mut inside = false;
    let out = written(x, |out| inside = listed.write(rows, out))?;
    Ok(inside.then_some(out))
}

/// A copy with what is given at offsets in C order.
pub(super) fn at(x: &Strided, offsets: Vec<u64>, given: Given) -> Result<Tensor> {
    let size = x.dtype.size();
    if let (None, Some(values), true) = (given.fold, &given.values, given.absent.is_empty()) {
        let bytes = values.dense_bytes()?;
        return written(x, |out| scatter_rows(&bytes, size, &offsets, out));
    }
    let meeting = given.fold.map(meeting).transpose()?;
    let layout = KeyLayout::new(&[count(&x.shape)]);
    let unique = Unique::new(x.dtype, layout, vec![offsets], &given)?;
    unique.none_absent()?;
    let offsets = unique.linear(0, &[1]);
    let source = x.to_contiguous()?;
    let values = met(meeting, source.contiguous_bytes().unwrap_or_default(), &offsets, &unique.values, &[])?;
    let values = values.dense_bytes()?;
    written(&source, |out| scatter_rows(&values, size, &offsets, out))
}

/// A copy in C order that `write` has written to.
fn written(x: &Strided, write: impl FnOnce(&mut [u8])) -> Result<Tensor> {
    let buffer = match x.contiguous_bytes() {
        Some(bytes) => Buffer::filled(bytes.len(), x.dtype.size(), |out| {
            parallel::for_chunks_mut(out, 1, COPIED, &|start, out| {
                out.copy_from_slice(&bytes[start..start + out.len()])
            });
            write(out);
        })?,
        None => {
            let mut buffer = x.to_contiguous()?.into_owned().buffer;
            if let Some(out) = buffer.unique_mut() {
                write(out);
            }
            buffer
        }
    };
    Ok(Tensor::from_strided(Strided::new(buffer, x.dtype, x.shape.clone())))
}

impl Resolved {
    /// How many elements follow each other in C order of both the tensor and the index: those of the last axes, as far
    /// as they are taken whole.
    fn run(&self, shape: &[usize]) -> usize {
        let mut run = 1;
        let mut last = shape.len();
        for made in self.made.iter().rev() {
            let &Made::Axis(axis) = made else {
                if *made == Made::New {
                    continue;
                }
                break;
            };
            let whole = matches!(self.taken[axis], Taken::Step { start: 0, step: 1, len } if len == shape[axis]);
            if axis + 1 != last || !whole {
                break;
            }
            run *= shape[axis];
            last = axis;
        }
        run
    }

    /// Offsets in a C-order array of this shape of what the index names, in runs of so many elements, counted in runs.
    fn offsets<'a>(&'a self, shape: &[usize], run: usize) -> Cow<'a, [u64]> {
        let strides = c_strides(shape);
        let stride = |axis: usize| strides[axis] as u64 / run as u64;
        let fixed =
            |(axis, taken): (usize, &Taken)| if let Taken::At(at) = taken { *at as u64 * stride(axis) } else { 0 };
        let mut all: Cow<'a, [u64]> = Cow::Owned(vec![self.taken.iter().enumerate().map(fixed).sum::<u64>()]);
        let mut join = |part: Cow<'a, [u64]>| {
            if let [0] = all[..] {
                all = part;
                return;
            }
            let mut next = Vec::with_capacity(all.len() * part.len());
            all.iter().for_each(|a| next.extend(part.iter().map(|p| a + p)));
            all = Cow::Owned(next);
        };
        for made in &self.made {
            match *made {
                // Its elements are in one run.
                Made::Axis(axis) if stride(axis) == 0 => {}
                Made::Axis(axis) => {
                    if let Taken::Step { start, step, len } = self.taken[axis] {
                        let at = |i: usize| start.wrapping_add_signed(step * i as isize) as u64;
                        join((0..len).map(|i| at(i) * stride(axis)).collect());
                    }
                }
                Made::New => {}
                Made::Lists => {
                    let (axes, lists) = self.lists();
                    let mut part: Option<Cow<'a, [u64]>> = None;
                    for (&axis, list) in axes.iter().zip(lists) {
                        let stride = stride(axis);
                        match &mut part {
                            Some(part) => part.to_mut().iter_mut().zip(list).for_each(|(p, i)| *p += i * stride),
                            None if stride == 1 => part = Some(Cow::Borrowed(list)),
                            None => part = Some(list.iter().map(|i| i * stride).collect()),
                        }
                    }
                    join(part.unwrap_or_default());
                }
            }
        }
        all
    }
}
