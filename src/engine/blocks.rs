//! Where structure meets values: kernels run on blocks of about a thousand elements, and a [`Source`]
//! brings the elements of a block together, wherever they are stored.

use crate::base::mapped::{Mapped, sort_short};
use std::borrow::Cow;

use openwork_ops::structure::Index;
use openwork_ops::structure::gather::{self, gather_rows_or};
use openwork_ops::{DType, Scalar, cast, with_index};

use crate::base::buffer::{BYTES, Buffer, zeroed_vec};
use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::base::parallel;
use crate::base::strided::{Shape, Strided, dense_len};
use crate::levels::level::Indices;
use crate::levels::pattern::{Part, Pattern, RowForm};

/// Elements of one block: a few of them fit the first-level cache together.
pub(crate) const BLOCK: usize = 1024;

/// A sequence of elements that can be read block by block.
pub(crate) enum Source<'a> {
    /// One element, over and over.
    Constant(Scalar),
    /// A strided array in C order.
    Strided(Cow<'a, Strided>),
    /// Row `select[p]` of a contiguous array of rows, or what `beneath` has there where it selects nothing.
    Select { values: Cow<'a, Strided>, row: usize, select: &'a Indices, beneath: Beneath<'a> },
    /// A strided array of the tensor's full shape, at the coordinates of a pattern's elements.
    At { array: Cow<'a, Strided>, pattern: &'a Pattern, weights: Vec<u64>, within: RowForm },
}

/// What a selection of rows has where it selects nothing.
pub(crate) enum Beneath<'a> {
    One(Scalar),
    Each(Box<Source<'a>>),
}

impl<'a> Source<'a> {
    /// Values as they lie.
    pub(crate) fn values(values: &'a Strided) -> Source<'a> {
        match values.constant_value() {
            Some(_) if faults::is(Fault::IsoAsZero) => Source::Constant(Scalar::zero(values.dtype)),
            Some(value) => Source::Constant(value),
            None => Source::Strided(Cow::Borrowed(values)),
        }
    }

    /// What an array of the tensor's shape (strides 0 where it does not vary) has at each element of a
    /// pattern.
    pub(crate) fn at(array: impl Into<Cow<'a, Strided>>, pattern: &'a Pattern) -> Source<'a> {
        Source::at_elements(array.into(), pattern)
    }

    fn at_elements(array: Cow<'a, Strided>, pattern: &'a Pattern) -> Source<'a> {
        if let Some(value) = array.constant_value() {
            return Source::Constant(value);
        }
        let axis_weights: Vec<u64> = array.strides.mapped(|&s| s as u64);
        let (weights, within) = (pattern.level_weights(&axis_weights), pattern.row_form(&axis_weights));
        let are_whole = || pattern.value_dims().iter().all(|d| d.part == Part::Whole);
        if pattern.level_dims < pattern.dims.len() && weights.iter().all(|&w| w == 0) && are_whole() {
            // The same beside each row of values.
            let of_rows = pattern.value_dims().iter().map(|d| (d.size, array.strides[d.axis]));
            let dims = || std::iter::once((pattern.positions, 0)).chain(of_rows.clone());
            let (shape, strides) = (dims().map(|d| d.0).collect(), dims().map(|d| d.1).collect());
            return Source::Strided(Cow::Owned(Strided { shape, strides, ..array.into_owned() }));
        }
        Source::At { weights, within, array, pattern }
    }

    /// Rows of values that `select` places in a pattern, and what `beneath` has at the others.
    ///
    /// # Errors
    /// If memory cannot hold the values in order.
    pub(crate) fn select(
        values: &'a Strided,
        row: usize,
        select: &'a Indices,
        beneath: Source<'a>,
    ) -> Result<Source<'a>> {
        let beneath = match beneath {
            Source::Constant(value) => Beneath::One(value),
            other => Beneath::Each(Box::new(other)),
        };
        Ok(Source::Select { values: values.to_contiguous()?, row, select, beneath })
    }

    fn dtype(&self) -> DType {
        match self {
            Source::Constant(value) => value.dtype(),
            Source::Strided(values) | Source::Select { values, .. } => values.dtype,
            Source::At { array, .. } => array.dtype,
        }
    }

    /// Reads elements `start..` into `out`, as many as fit.
    pub(crate) fn read(&self, start: usize, out: &mut [u8]) {
        let size = self.dtype().size();
        match self {
            Source::Constant(value) => gather::repeat(&value.to_bytes().0[..size], out),
            Source::Strided(values) => values.read(start, out),
            Source::Select { values, row, select, beneath } => {
                let source = values.contiguous_bytes().unwrap_or_default();
                match beneath {
                    Beneath::One(value) if *row == 1 => {
                        let part = select.as_slice().range(start..start + out.len() / size);
                        return gather_rows_or(source, size, part, &value.to_bytes().0[..size], out);
                    }
                    Beneath::One(value) => gather::repeat(&value.to_bytes().0[..size], out),
                    Beneath::Each(other) => other.read(start, out),
                }
                with_index!(select.as_slice(), s => overlay(source, size, *row, s, start, out));
            }
            Source::At { array, pattern, weights, within } => {
                let base = array.offset as u64;
                if within.is_one() && within.len() > 1 {
                    // One for each row, as often as the row is long.
                    let (n, length) = (out.len() / size, within.len());
                    let rows = start / length..(start + n).div_ceil(length);
                    let mut places = vec![0; rows.len()];
                    pattern.linearize(weights, rows.clone(), &mut places);
                    places.iter_mut().for_each(|place| *place = base.wrapping_add(*place));
                    let mut found = scratch(rows.len() * size);
                    let found = &mut bytemuck::cast_slice_mut(&mut found)[..rows.len() * size];
                    gather::gather_offsets(array.buffer.bytes(), size, &places, found);
                    return gather::repeat_rows(found, size, length, start % length, out);
                }
                let mut elements = vec![0; out.len() / size];
                pattern.linearize_elements(weights, within, start, &mut elements);
                elements.iter_mut().for_each(|e| *e = base.wrapping_add(*e));
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
    zeroed_vec(bytes.div_ceil(16))
}

/// Elements of the shortest rows of which blocks are borrowed, and of the shortest such block.
const LONG: usize = 256;
const SHORT: usize = 64;

/// Rows of a strided array that are long, but not one after the other.
struct Lines<'a> {
    array: &'a Strided,
    /// Elements of a row.
    length: usize,
    /// How many axes come before those of a row.
    outer: usize,
    /// Whether a row is one element, over and over.
    is_one: bool,
    /// Where the last block begins, if it is borrowed or if it was made.
    at: Option<usize>,
}

impl<'a> Lines<'a> {
    fn of(array: &'a Strided) -> Option<Lines<'a>> {
        let is_one = *array.strides.last()? == 0;
        let (mut outer, mut length) = (array.ndim(), 1usize);
        while let Some(axis) = outer.checked_sub(1) {
            let step = if is_one { 0 } else { length as isize };
            if array.shape[axis] != 1 && array.strides[axis] != step {
                break;
            }
            (outer, length) = (axis, length * array.shape[axis]);
        }
        (length >= LONG).then_some(Lines { array, length, outer, is_one, at: None })
    }

    /// Where element `start` is, and how many elements of its row there are from it on.
    fn place(&self, start: usize) -> (usize, usize) {
        let (mut rest, within) = (start / self.length, start % self.length);
        rest *= usize::from(!faults::is(Fault::LinesOfFirst));
        let mut at = self.array.offset as isize + if self.is_one { 0 } else { within as isize };
        for axis in (0..self.outer).rev() {
            let n = self.array.shape[axis];
            at += (rest % n) as isize * self.array.strides[axis];
            rest /= n;
        }
        (at as usize, self.length - within)
    }
}

/// A block of elements in the compute dtype: borrowed where they lie so, else read and cast.
struct Reader<'a> {
    source: &'a Source<'a>,
    direct: Option<&'a [u8]>,
    lines: Option<Lines<'a>>,
    compute: DType,
    /// Elements of the longest block.
    most: usize,
    /// Whether the kernel takes one element for a block that is that over and over, and whether all blocks are.
    one_does: bool,
    is_one: bool,
    raw: Vec<u128>,
    cast: Vec<u128>,
    ready: bool,
}

impl<'a> Reader<'a> {
    /// A reader of blocks of at most `most` elements; of a constant of one element, if that does.
    fn new(source: &'a Source<'a>, compute: DType, most: usize, one_does: bool) -> Reader<'a> {
        let from = source.dtype();
        let is_one = one_does && matches!(source, Source::Constant(_));
        let most = if is_one { 1 } else { most };
        let direct = match source {
            Source::Strided(values) if from == compute => values.contiguous_bytes(),
            _ => None,
        };
        let (raw, cast) = match direct {
            Some(_) => (0, 0),
            None => (most * from.size(), if from == compute { 0 } else { most * compute.size() }),
        };
        let lines = match source {
            Source::Strided(values) if from == compute && direct.is_none() => Lines::of(values),
            _ => None,
        };
        let (raw, cast) = (scratch(raw), scratch(cast));
        Reader { source, direct, lines, compute, most, one_does, is_one, raw, cast, ready: false }
    }

    /// Whether nothing is moved to make a block, however long.
    fn is_as_it_lies(&self) -> bool {
        self.direct.is_some() || self.is_one
    }

    /// Whether some blocks may be one element.
    fn may_be_one(&self) -> bool {
        self.one_does && (self.is_one || self.lines.as_ref().is_some_and(|lines| lines.is_one))
    }

    /// How many elements from `start` on make a block that costs least.
    fn at_hand(&self, start: usize) -> usize {
        self.lines.as_ref().map_or(usize::MAX, |lines| lines.length - start % lines.length)
    }

    /// Elements `start..start + n`.
    fn load(&mut self, start: usize, n: usize) {
        // A constant is read once, as a full block.
        let constant = matches!(self.source, Source::Constant(_));
        if self.direct.is_some() || (constant && self.ready) {
            return;
        }
        self.ready = true;
        let n = if constant { self.most } else { n };
        if let Some(lines) = &mut self.lines {
            let (at, left) = lines.place(start);
            let is_within = n <= left;
            let is_there = is_within && lines.is_one && lines.at == Some(at);
            lines.at = is_within.then_some(at);
            if is_there || (is_within && (!lines.is_one || self.one_does)) {
                return;
            }
            if is_within {
                let raw = &mut bytemuck::cast_slice_mut(&mut self.raw)[..self.most * self.compute.size()];
                let size = self.compute.size();
                return gather::repeat(&lines.array.buffer.bytes()[at * size..(at + 1) * size], raw);
            }
        }
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
        let n = if self.is_one { 1 } else { n };
        if let Some(Lines { array, is_one, at: Some(at), .. }) = &self.lines
            && (!is_one || self.one_does)
        {
            let n = if *is_one { 1 } else { n };
            return &array.buffer.bytes()[at * size..(at + n) * size];
        }
        match self.direct {
            Some(bytes) => &bytes[start * size..(start + n) * size],
            None if self.cast.is_empty() => &bytemuck::cast_slice(&self.raw)[..n * size],
            None => &bytemuck::cast_slice(&self.cast)[..n * size],
        }
    }
}

/// Runs `f` with a reader for each source, of blocks of at most `most` elements.
fn with_readers(sources: &[Source<'_>], pass: &Pass<'_>, most: usize, f: &mut dyn FnMut(&mut [Reader<'_>])) {
    match (sources, pass.computes) {
        ([a], &[x]) => f(&mut [Reader::new(a, x, most, false)]),
        ([a, b], &[x, y]) => {
            let one_does = matches!(pass.kernel, Kernel::Binary(_));
            let first = Reader::new(a, x, most, one_does && !matches!(b, Source::Constant(_)));
            let second = Reader::new(b, y, most, one_does && !first.may_be_one());
            f(&mut [first, second]);
        }
        _ => {
            let mut readers = Vec::with_capacity(sources.len());
            for (source, &compute) in sources.iter().zip(pass.computes) {
                readers.push(Reader::new(source, compute, most, false));
            }
            f(&mut readers);
        }
    }
}

/// A kernel over blocks.
#[derive(Clone, Copy)]
pub(crate) enum Kernel<'a> {
    Unary(fn(&[u8], &mut [u8])),
    /// A block of one of both may be one element.
    Binary(fn(&[u8], &[u8], &mut [u8])),
    /// Of any number of operands, in order; it may capture what it needs.
    Many(ManyKernel<'a>),
}

/// A kernel over blocks of any number of operands.
pub(crate) type ManyKernel<'a> = &'a (dyn Fn(&[&[u8]], &mut [u8]) + Sync);

impl Kernel<'_> {
    /// The kernel on one block of each operand.
    pub(crate) fn on_blocks(self, operands: &[&[u8]], out: &mut [u8]) {
        match (self, operands) {
            (Kernel::Unary(f), [x]) => f(x, out),
            (Kernel::Binary(f), [a, b]) => f(a, b, out),
            (Kernel::Many(f), all) => f(all, out),
            _ => debug_assert!(false, "a kernel for {} operands", operands.len()),
        }
    }

    /// The kernel on elements `start..start + n` of what is read.
    fn on_readers(self, readers: &mut [Reader<'_>], start: usize, out: &mut [u8], n: usize) {
        readers.iter_mut().for_each(|r| r.load(start, n));
        match readers {
            [x] => self.on_blocks(&[x.block(start, n)], out),
            [a, b] => self.on_blocks(&[a.block(start, n), b.block(start, n)], out),
            all => {
                let views: Vec<&[u8]> = all.mapped(|r| r.block(start, n));
                self.on_blocks(&views, out);
            }
        }
        if faults::is(Fault::ChunkEndLost) && n >= BLOCK {
            let width = out.len() / n;
            out[(n - 1) * width..].fill(0);
        }
    }
}

/// An element where one of any dtype may lie.
fn aligned(value: &Scalar, dtype: DType) -> [u128; 1] {
    [u128::from_ne_bytes(value.cast(dtype).to_bytes().0)]
}

fn bytes_of(element: &[u128; 1], dtype: DType) -> &[u8] {
    &bytemuck::cast_slice(element)[..dtype.size()]
}

/// A pass of a kernel over elements: what each operand is read as, and what comes out.
#[derive(Clone, Copy)]
pub(crate) struct Pass<'a> {
    pub(crate) computes: &'a [DType],
    pub(crate) out: DType,
    pub(crate) kernel: Kernel<'a>,
}

impl Pass<'_> {
    /// Over `n` elements of the sources, in parallel; the results in order.
    ///
    /// # Errors
    /// If memory cannot hold the results.
    pub(crate) fn run(&self, n: usize, sources: &[Source<'_>]) -> Result<Buffer> {
        let width = self.out.size();
        // Kernels of the registry write truth values as bytes, others as such.
        let is_of_registry = !matches!(self.kernel, Kernel::Many(_));
        let unwritten = if is_of_registry || self.out != DType::Bool { width.max(BYTES) } else { width };
        Buffer::overwritten(n * width, unwritten, |bytes| {
            if n < BLOCK && self.at_once(n, sources, bytes) {
                return;
            }
            parallel::for_chunks_mut(bytes, width, parallel::GRAIN, &|first, bytes| {
                let most = BLOCK.min(bytes.len() / width);
                with_readers(sources, self, most, &mut |readers| {
                    let is_as_it_lies = is_of_registry && readers.iter().all(Reader::is_as_it_lies);
                    let most = if is_as_it_lies { bytes.len() / width } else { most };
                    let (mut rest, mut start) = (&mut *bytes, first);
                    while !rest.is_empty() {
                        // Up to where a row of an operand ends, which is then read as it lies.
                        let at_hand = readers.iter().map(|r| r.at_hand(start)).filter(|&n| n >= SHORT).min();
                        let n = most.min(rest.len() / width).min(at_hand.unwrap_or(most));
                        let block;
                        (block, rest) = std::mem::take(&mut rest).split_at_mut(n * width);
                        self.kernel.on_readers(readers, start, block, n);
                        start += n;
                    }
                });
            });
        })
    }

    /// Over the elements of one or two sources that lie in order in the dtype that is computed in; whether they do.
    fn at_once(&self, n: usize, sources: &[Source<'_>], out: &mut [u8]) -> bool {
        fn direct<'s>(source: &'s Source<'_>, compute: DType, n: usize) -> Option<&'s [u8]> {
            match source {
                Source::Strided(values) if values.dtype == compute => {
                    values.contiguous_bytes()?.get(..n * compute.size())
                }
                _ => None,
            }
        }
        let takes_one = matches!(self.kernel, Kernel::Binary(_));
        match (sources, self.computes) {
            ([a], &[of_a]) => match direct(a, of_a, n) {
                Some(a) => self.kernel.on_blocks(&[a], out),
                None => return false,
            },
            ([a, b], &[of_a, of_b]) => match (direct(a, of_a, n), direct(b, of_b, n), a, b) {
                (Some(a), Some(b), ..) => self.kernel.on_blocks(&[a, b], out),
                (Some(a), None, _, Source::Constant(b)) if takes_one => {
                    self.kernel.on_blocks(&[a, bytes_of(&aligned(b, of_b), of_b)], out);
                }
                (None, Some(b), Source::Constant(a), _) if takes_one => {
                    self.kernel.on_blocks(&[bytes_of(&aligned(a, of_a), of_a), b], out);
                }
                _ => return false,
            },
            _ => return false,
        }
        true
    }

    /// On one element of each operand: no memory is allocated for one or two.
    pub(crate) fn on_scalars(&self, operands: &[Scalar]) -> Scalar {
        let mut result = [0u128];
        let out = &mut bytemuck::cast_slice_mut(&mut result)[..self.out.size()];
        match (operands, self.computes) {
            ([x], &[of_x]) => self.kernel.on_blocks(&[bytes_of(&aligned(x, of_x), of_x)], out),
            ([a, b], &[of_a, of_b]) => {
                self.kernel.on_blocks(&[bytes_of(&aligned(a, of_a), of_a), bytes_of(&aligned(b, of_b), of_b)], out);
            }
            (all, dtypes) => {
                let elements: Vec<[u128; 1]> = all.iter().zip(dtypes).map(|(v, &d)| aligned(v, d)).collect();
                let blocks: Vec<&[u8]> = elements.iter().zip(dtypes).map(|(e, &d)| bytes_of(e, d)).collect();
                self.kernel.on_blocks(&blocks, out);
            }
        }
        Scalar::from_bytes(self.out, out)
    }

    /// The values of a pattern's elements from those of the sources, shaped like them. Where every source is an array of
    /// that shape, repetition stays repetition.
    pub(crate) fn values(&self, pattern: &Pattern, sources: &[Source<'_>]) -> Result<Strided> {
        let shape = pattern.stored_shape();
        let of_shape = |s: &Source<'_>| match s {
            Source::Constant(_) => true,
            Source::Strided(values) => values.shape == shape,
            _ => false,
        };
        let plain = |s: &Source<'_>| matches!(s, Source::Strided(values) if values.is_contiguous());
        if sources.iter().any(plain) || !sources.iter().all(of_shape) {
            let n = dense_len(&shape, self.out)?;
            return Ok(Strided::new(self.run(n, sources)?, self.out, shape));
        }
        let arrays: Vec<Cow<'_, Strided>> = sources.mapped(|s| match s {
            Source::Constant(value) => Cow::Owned(Strided::constant(*value, &shape)),
            Source::Strided(values) => Cow::Borrowed(&**values),
            // Of another shape: not among these.
            Source::Select { values, .. } | Source::At { array: values, .. } => Cow::Borrowed(&**values),
        });
        self.on_arrays(&arrays.mapped(|a| &**a))
    }

    /// Over arrays of one shape. Axes on which none of them varies are computed once and stay broadcast; memory order
    /// follows the first operand.
    ///
    /// # Errors
    /// If memory cannot hold the results, of which broadcasting may make any number.
    pub(crate) fn on_arrays(&self, operands: &[&Strided]) -> Result<Strided> {
        let shape = &operands[0].shape;
        let in_order = |n: usize| {
            let result = match operands {
                [x] => self.run(n, &[Source::values(x)]),
                [a, b] => self.run(n, &[Source::values(a), Source::values(b)]),
                [a, b, c] => self.run(n, &[Source::values(a), Source::values(b), Source::values(c)]),
                all => self.run(n, &all.mapped(|x| Source::values(x))),
            };
            Ok(Strided::new(result?, self.out, shape.clone()))
        };
        // As they lie: one element repeated has no order of its own.
        let lies_so = |x: &&Strided| x.is_contiguous();
        if operands.iter().any(lies_so) && operands.iter().all(|x| lies_so(x) || x.constant_value().is_some()) {
            return in_order(operands[0].len());
        }
        let ndim = shape.len();
        let constant = |d: usize| shape[d] > 1 && operands.iter().all(|x| x.strides[d] == 0);
        let core: Shape = (0..ndim).map(|d| if constant(d) { 1 } else { shape[d] }).collect();
        let mut order: Shape = (0..ndim).collect();
        sort_short(&mut order, |&d| std::cmp::Reverse(operands[0].strides[d].unsigned_abs()));
        if operands[0].strides.contains(&0) {
            order.sort_unstable(); // no order to follow: C
        }
        let n = dense_len(&core, self.out)?;
        if core == shape[..] && order.is_sorted() {
            return in_order(n);
        }
        let arrays: Vec<Strided> = operands.mapped(|x| Strided { shape: core.clone(), ..(*x).clone() }.permute(&order));
        let sources: Vec<Source<'_>> = arrays.mapped(Source::values);
        let permuted: Vec<usize> = order.mapped(|&d| core[d]);
        let result = Strided::new(self.run(n, &sources)?, self.out, permuted);
        let mut back = vec![0; ndim];
        order.iter().enumerate().for_each(|(i, &d)| back[d] = i);
        let mut result = result.permute(&back);
        for d in (0..ndim).filter(|&d| constant(d)) {
            result.strides[d] = 0;
        }
        result.shape = shape.clone();
        Ok(result)
    }
}

/// Runs a kernel over `n` elements of its sources, all of one compute dtype.
pub(crate) fn run(n: usize, sources: &[Source<'_>], compute: DType, out: DType, kernel: Kernel<'_>) -> Result<Buffer> {
    Pass { computes: &vec![compute; sources.len()], out, kernel }.run(n, sources)
}

/// Copies the elements of a source, in order, as `dtype`.
pub(crate) fn collect(n: usize, source: Source<'_>, dtype: DType) -> Result<Strided> {
    let width = dtype.size();
    let n = dense_len(&[n], dtype)?;
    let buffer = Buffer::filled(n * width, width.max(BYTES), |bytes| {
        parallel::for_chunks_mut(bytes, width, parallel::GRAIN, &|first, bytes| {
            let mut reader = Reader::new(&source, dtype, BLOCK.min(bytes.len() / width), false);
            for (i, block) in bytes.chunks_mut(BLOCK * width).enumerate() {
                let (start, n) = (first + i * BLOCK, block.len() / width);
                reader.load(start, n);
                block.copy_from_slice(reader.block(start, n));
            }
        });
    })?;
    Ok(Strided::new(buffer, dtype, vec![n]))
}

/// Applies a kernel elementwise to arrays of one shape, in one compute dtype: see [`Pass::on_arrays`].
pub(crate) fn map_strided(operands: &[&Strided], compute: DType, out: DType, kernel: Kernel<'_>) -> Result<Strided> {
    Pass { computes: &vec![compute; operands.len()], out, kernel }.on_arrays(operands)
}
