//! Where structure meets values: kernels run on blocks of about a thousand elements, and a [`Source`]
//! brings the elements of a block together, wherever they are stored.

use std::sync::Arc;

use openwork_ops::structure::Index;
use openwork_ops::structure::gather::{self, gather_rows_or};
use openwork_ops::{DType, Scalar, cast, with_index};

use crate::base::buffer::Buffer;
use crate::base::faults::{self, Fault};
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::levels::pattern::Pattern;

/// Elements of one block: a few of them fit the first-level cache together.
pub(crate) const BLOCK: usize = 1024;

/// A sequence of elements that can be read block by block.
pub(crate) enum Source {
    /// One element, over and over.
    Constant(Scalar),
    /// A strided array in C order.
    Strided(Strided),
    /// Row `select[p]` of a contiguous array of rows, or what `fallback` has there.
    Select { values: Strided, row: usize, select: Selected, fallback: Box<Source> },
    /// A strided array of the tensor's full shape, at the coordinates of a pattern's elements.
    At { array: Strided, pattern: Arc<Pattern>, weights: Vec<u64>, within: Vec<u64> },
}

/// A selection of rows, owned, of either width; `NONE` selects nothing.
#[derive(Clone, Debug)]
pub(crate) struct Selected(pub(crate) crate::levels::level::Indices);

impl Source {
    /// Values as they lie.
    pub(crate) fn values(values: &Strided) -> Source {
        let core = values.unbroadcast();
        if core.len() == 1 && values.len() > 0 && faults::is(Fault::IsoAsZero) {
            return Source::Constant(Scalar::zero(values.dtype));
        }
        if core.len() == 1 && values.len() > 0 {
            return Source::Constant(core.at_offset(core.offset));
        }
        Source::Strided(values.clone())
    }

    /// What an array of the tensor's shape (strides 0 where it does not vary) has at each element of a
    /// pattern.
    pub(crate) fn at(array: &Strided, pattern: &Arc<Pattern>) -> Source {
        let core = array.unbroadcast();
        if core.len() == 1 {
            return Source::Constant(core.at_offset(core.offset));
        }
        let axis_weights: Vec<u64> = array.strides.iter().map(|&s| s as u64).collect();
        Source::At {
            weights: pattern.level_weights(&axis_weights),
            within: pattern.value_offsets(&axis_weights),
            array: array.clone(),
            pattern: pattern.clone(),
        }
    }

    fn dtype(&self) -> DType {
        match self {
            Source::Constant(value) => value.dtype(),
            Source::Strided(values) | Source::Select { values, .. } => values.dtype,
            Source::At { array, .. } => array.dtype,
        }
    }

    /// Reads elements `start..` into `out`, as many as fit.
    fn read(&self, start: usize, out: &mut [u8]) {
        let size = self.dtype().size();
        match self {
            Source::Constant(value) => gather::repeat(&value.to_bytes().0[..size], out),
            Source::Strided(values) => values.read(start, out),
            Source::Select { values, row, select, fallback } => {
                let source = values.contiguous_bytes().unwrap_or_default();
                match (&**fallback, row) {
                    (Source::Constant(value), 1) => {
                        let n = out.len() / size;
                        let part = select.0.slice(start..start + n);
                        gather_rows_or(source, size, part.as_slice(), &value.to_bytes().0[..size], out);
                    }
                    (other, _) => {
                        other.read(start, out);
                        with_index!(select.0.as_slice(), s => overlay(source, size, *row, s, start, out));
                    }
                }
            }
            Source::At { array, pattern, weights, within } => {
                let (n, block) = (out.len() / size, within.len());
                let rows = start / block..(start + n).div_ceil(block);
                let mut offsets = vec![0; rows.len()];
                pattern.linearize(weights, rows.clone(), &mut offsets);
                let base = array.offset as u64;
                let elements: Vec<u64> = if block == 1 {
                    offsets.iter().map(|o| base.wrapping_add(*o)).collect()
                } else {
                    (start..start + n)
                        .map(|e| base.wrapping_add(offsets[e / block - rows.start]).wrapping_add(within[e % block]))
                        .collect()
                };
                gather::gather_offsets(array.buffer.bytes(), size, &elements, out);
            }
        }
    }
}

/// Copies the selected rows over a block that holds elements `start..`.
fn overlay<I: Index>(source: &[u8], size: usize, row: usize, select: &[I], start: usize, out: &mut [u8]) {
    let n = out.len() / size;
    let (mut e, end) = (start, start + n);
    while e < end {
        let (p, within) = (e / row, e % row);
        let run = (row - within).min(end - e);
        if select[p] != I::NONE {
            let from = (select[p].get() * row + within) * size;
            out[(e - start) * size..(e - start + run) * size].copy_from_slice(&source[from..from + run * size]);
        }
        e += run;
    }
}

/// Memory for one block, aligned for any element.
fn scratch(bytes: usize) -> Vec<u128> {
    vec![0; bytes.div_ceil(16)]
}

/// A block of elements in the compute dtype: borrowed where they lie so, else read and cast.
struct Reader<'a> {
    source: &'a Source,
    direct: Option<&'a [u8]>,
    compute: DType,
    raw: Vec<u128>,
    cast: Vec<u128>,
    ready: bool,
}

impl<'a> Reader<'a> {
    fn new(source: &'a Source, compute: DType) -> Reader<'a> {
        let from = source.dtype();
        let direct = match source {
            Source::Strided(values) if from == compute => values.contiguous_bytes(),
            _ => None,
        };
        let (raw, cast) = if direct.is_some() {
            (0, 0)
        } else {
            (BLOCK * from.size(), if from == compute { 0 } else { BLOCK * compute.size() })
        };
        Reader { source, direct, compute, raw: scratch(raw), cast: scratch(cast), ready: false }
    }

    /// Elements `start..start + n`, `n` at most [`BLOCK`].
    fn load(&mut self, start: usize, n: usize) {
        // A constant is read once, as a full block.
        let constant = matches!(self.source, Source::Constant(_));
        if self.direct.is_some() || (constant && self.ready) {
            return;
        }
        self.ready = true;
        let n = if constant { BLOCK } else { n };
        let from = self.source.dtype();
        let raw = &mut bytemuck::cast_slice_mut(&mut self.raw)[..n * from.size()];
        self.source.read(start, raw);
        if from != self.compute {
            let to = self.compute.size();
            cast::cast_block(from, raw, self.compute, &mut bytemuck::cast_slice_mut(&mut self.cast)[..n * to]);
        }
    }

    fn block(&self, start: usize, n: usize) -> &[u8] {
        let size = self.compute.size();
        match self.direct {
            Some(bytes) => &bytes[start * size..(start + n) * size],
            None if self.cast.is_empty() => &bytemuck::cast_slice(&self.raw)[..n * size],
            None => &bytemuck::cast_slice(&self.cast)[..n * size],
        }
    }
}

/// A kernel over blocks.
#[derive(Clone, Copy)]
pub(crate) enum Kernel<'a> {
    Unary(fn(&[u8], &mut [u8])),
    Binary(fn(&[u8], &[u8], &mut [u8])),
    /// Of any number of operands, in order; it may capture what it needs.
    Many(ManyKernel<'a>),
}

/// A kernel over blocks of any number of operands.
pub(crate) type ManyKernel<'a> = &'a (dyn Fn(&[&[u8]], &mut [u8]) + Sync);

/// Runs a kernel over `n` elements of its sources, all of one compute dtype.
pub(crate) fn run(n: usize, sources: &[Source], compute: DType, out: DType, kernel: Kernel<'_>) -> Buffer {
    run_each(n, sources, &vec![compute; sources.len()], out, kernel)
}

/// Runs a kernel over `n` elements of its sources, each in its compute dtype, in parallel, and gives the results in
/// order.
pub(crate) fn run_each(n: usize, sources: &[Source], computes: &[DType], out: DType, kernel: Kernel<'_>) -> Buffer {
    let width = out.size();
    Buffer::overwritten(n * width, width, |bytes| {
        parallel::for_chunks_mut(bytes, width, parallel::GRAIN, &|first, bytes| {
            let mut readers: Vec<Reader<'_>> = sources.iter().zip(computes).map(|(s, &c)| Reader::new(s, c)).collect();
            for (i, block) in bytes.chunks_mut(BLOCK * width).enumerate() {
                let (start, n) = (first + i * BLOCK, block.len() / width);
                readers.iter_mut().for_each(|r| r.load(start, n));
                match (kernel, &readers[..]) {
                    (Kernel::Unary(f), [x]) => f(x.block(start, n), block),
                    (Kernel::Binary(f), [a, b]) => f(a.block(start, n), b.block(start, n), block),
                    (Kernel::Many(f), all) => {
                        let views: Vec<&[u8]> = all.iter().map(|r| r.block(start, n)).collect();
                        f(&views, block);
                    }
                    _ => debug_assert!(false, "a kernel for {} operands", readers.len()),
                }
                if faults::is(Fault::ChunkEndLost) && n == BLOCK {
                    block[(n - 1) * width..].fill(0);
                }
            }
        });
    })
}

/// The values of a pattern's elements from those of its sources, shaped like them. Where every source is an array of
/// that shape, repetition stays repetition.
pub(crate) fn values(
    pattern: &Pattern,
    sources: &[Source],
    computes: &[DType],
    out: DType,
    kernel: Kernel<'_>,
) -> Strided {
    let mut shape = vec![pattern.positions];
    shape.extend(pattern.value_shape());
    let full = |s: &Source| match s {
        Source::Constant(value) => Some(Strided::constant(*value, &shape)),
        Source::Strided(values) if values.shape == shape => Some(values.clone()),
        _ => None,
    };
    if let Some(arrays) = sources.iter().map(full).collect::<Option<Vec<Strided>>>() {
        return map_each(&arrays.iter().collect::<Vec<_>>(), computes, out, kernel);
    }
    let n = crate::base::strided::count(&shape);
    Strided::new(run_each(n, sources, computes, out, kernel), out, shape)
}

/// Copies the elements of a source, in order, as `dtype`.
pub(crate) fn collect(n: usize, source: Source, dtype: DType) -> Strided {
    let width = dtype.size();
    let buffer = Buffer::build(n * width, |bytes| {
        parallel::for_chunks_mut(bytes, width, parallel::GRAIN, &|first, bytes| {
            let mut reader = Reader::new(&source, dtype);
            for (i, block) in bytes.chunks_mut(BLOCK * width).enumerate() {
                let (start, n) = (first + i * BLOCK, block.len() / width);
                reader.load(start, n);
                block.copy_from_slice(reader.block(start, n));
            }
        });
    });
    Strided::new(buffer, dtype, vec![n])
}

/// Applies a kernel elementwise to arrays of one shape, in one compute dtype.
pub(crate) fn map_strided(operands: &[&Strided], compute: DType, out: DType, kernel: Kernel<'_>) -> Strided {
    map_each(operands, &vec![compute; operands.len()], out, kernel)
}

/// Applies a kernel elementwise to arrays of one shape, each in its compute dtype. Axes on which none of them varies
/// are computed once and stay broadcast; memory order follows the first operand.
pub(crate) fn map_each(operands: &[&Strided], computes: &[DType], out: DType, kernel: Kernel<'_>) -> Strided {
    let shape = operands[0].shape.clone();
    let ndim = shape.len();
    let constant = |d: usize| shape[d] > 1 && operands.iter().all(|x| x.strides[d] == 0);
    let core: Vec<usize> = (0..ndim).map(|d| if constant(d) { 1 } else { shape[d] }).collect();
    let mut order: Vec<usize> = (0..ndim).collect();
    order.sort_by_key(|&d| std::cmp::Reverse(operands[0].strides[d].unsigned_abs()));
    if operands[0].strides.contains(&0) {
        order.sort_unstable(); // no order to follow: C
    }
    let sources: Vec<Source> = operands
        .iter()
        .map(|x| Source::values(&Strided { shape: core.clone(), ..(*x).clone() }.permute(&order)))
        .collect();
    let n = crate::base::strided::count(&core);
    let permuted = order.iter().map(|&d| core[d]).collect();
    let result = Strided::new(run_each(n, &sources, computes, out, kernel), out, permuted);
    let mut back = vec![0; ndim];
    order.iter().enumerate().for_each(|(i, &d)| back[d] = i);
    let mut result = result.permute(&back);
    for d in (0..ndim).filter(|&d| constant(d)) {
        result.strides[d] = 0;
    }
    result.shape = shape;
    result
}
