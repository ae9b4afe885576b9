//! Arrays in sparse layouts: a bit marks each element that differs from the fill, and what is marked is taken out with its coordinates.

use std::iter;
use std::ops::Range;
use std::sync::Arc;

use openwork_ops::identity;
use openwork_ops::registry::BinaryKernel;
use openwork_ops::structure::marked::{Marked, Taken, each_marked, pack};
use openwork_ops::structure::{Index, IndexVec};

use crate::base::buffer::{Buffer, zeroed_vec};
use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::base::pages::Scratch;
use crate::base::strided::{Strided, count};
use crate::base::trace::{Work, raise};
use crate::base::turns::cut;
use crate::base::{memory, parallel, shape};
use crate::engine::convert::{gather_values, unravel};
use crate::engine::recompress::{is_compressed, listed, regrouped};
use crate::engine::transpose::{COMPRESSED, swap_compressed};
use crate::levels::build::{self, SortedKeys};
use crate::levels::fibres;
use crate::levels::indices::needs_64_bits;
use crate::levels::layout::LevelSpec;
use crate::levels::level::{Level, LevelKind};
use crate::levels::pattern::{Dim, Pattern};
use crate::tensor::Sparse;
use crate::tensor::fill::Fill;

/// Elements that a thread marks, and takes, at a time.
const STRETCH: usize = 1 << 16;

/// Elements that are compared at a time: what comes of it stays in the first cache.
const AT_ONCE: usize = 1 << 12;

/// Of so many elements one is stored at most, where a matrix is compressed along its rows first, and what is stored then turned.
const FEW: usize = 4;

/// Stores what differs from the fill (bit for bit, NaN like NaN); with an undefined fill, everything.
///
/// Cost: O(elements), read twice, and a bit of each; of few rows also a pointer for each.
pub(crate) fn from_strided(x: &Strided, spec: &LevelSpec, fill: Fill) -> Result<Sparse> {
    raise(Work::Engine);
    let (kinds, dims, level_dims) = (&spec.levels[..], spec.resolve(&x.shape)?, spec.level_dims());
    if let Some(done) = turned(x, kinds, &dims, &fill)? {
        return Ok(done);
    }
    let array = Array::new(x, dims, level_dims)?;
    let marks = array.marks(&fill)?;
    // Where there are no elements, pointers may be as many as a shape says.
    let suits = is_compressed(kinds) || (array.has_few_rows(&marks) && fibres::ranks(kinds.iter().copied()).is_some());
    if suits && array.rows > 0 && level_dims > 0 && memory::has_room(array.pointer_bytes(&marks), 1) {
        let rows = array.compressed(&marks, fill.clone())?;
        if is_compressed(kinds) {
            return Ok(rows);
        }
        let all = || listed(&rows, &[LevelKind::Sparse { rank: level_dims }], &array.dims);
        if let Some(done) = listed(&rows, kinds, &array.dims).or_else(|| regrouped(&all()?, kinds, &array.dims)) {
            return Ok(done);
        }
    }
    array.built(&marks, kinds, fill)
}

/// A matrix that lies across the rows that are to be compressed, of which little is stored: its columns are, and turned.
fn turned(x: &Strided, kinds: &[LevelKind], dims: &[Dim], fill: &Fill) -> Result<Option<Sparse>> {
    let [first, last] = dims[..] else { return Ok(None) };
    let across = [last, first];
    let is_across = || !view_along(x, dims).is_contiguous() && view_along(x, &across).is_contiguous();
    if kinds != COMPRESSED || fill.is_undefined() || x.len() == 0 || !is_across() {
        return Ok(None);
    }
    let array = Array::new(x, across.to_vec(), 2)?;
    let marks = array.marks(fill)?;
    if marks.len() > array.rows / FEW || !array.has_few_rows(&marks) {
        return Ok(None);
    }
    Ok(swap_compressed(&array.compressed(&marks, fill.clone())?, kinds, dims))
}

/// An array seen along the dimensions of a level structure: whole axes, quotients and remainders.
fn view_along(x: &Strided, dims: &[Dim]) -> Strided {
    let shape = dims.iter().map(|d| d.size).collect();
    let strides = dims.iter().map(|d| x.strides[d.axis] * d.step() as isize).collect();
    Strided { shape, strides, ..x.clone() }
}

/// An array in C order along the dimensions of levels, and of values below them.
struct Array<'a> {
    x: &'a Strided,
    dims: Vec<Dim>,
    level_dims: usize,
    view: Strided,
    /// Elements of a row: they are kept together.
    block: usize,
    rows: usize,
}

impl Array<'_> {
    fn new(x: &Strided, dims: Vec<Dim>, level_dims: usize) -> Result<Array<'_>> {
        let view = view_along(x, &dims).to_contiguous()?.into_owned();
        let block = shape::product(view.shape[level_dims..].iter().copied());
        // Without elements there is nothing to store, however many rows.
        let rows = if view.len() == 0 { 0 } else { count(&view.shape[..level_dims]) };
        Ok(Array { x, dims, level_dims, view, block, rows })
    }

    fn bytes(&self) -> &[u8] {
        self.view.contiguous_bytes().unwrap_or_default()
    }

    /// The rows that are not all as the fill is.
    fn marks(&self, fill: &Fill) -> Result<Marks> {
        let Some(values) = fill.spread(&self.x.shape) else {
            let instead = "give a fill, or choose a layout with value axes";
            let width = 8 * (self.level_dims + 2);
            memory::room(&self.x.shape, "an index of every element", &[self.rows], width, instead)?;
            return Ok(Marks::of_all(self.rows));
        };
        let (block, beside) = (self.block, &view_along(&values, &self.dims));
        let differs = identity::differs(self.x.dtype);
        Ok(Compared { bytes: self.bytes(), block, differs, beside }.marks(self.rows))
    }

    /// Sizes along the dimensions of levels.
    fn sizes(&self) -> &[usize] {
        &self.view.shape[..self.level_dims]
    }

    /// Bytes of an index into what is marked.
    fn index_width(&self, marks: &Marks) -> usize {
        if needs_64_bits(marks.len(), self.sizes().iter().copied()) { size_of::<u64>() } else { size_of::<u32>() }
    }

    /// What pointers of compressed rows take. There are no more rows than elements in memory.
    fn pointer_bytes(&self, marks: &Marks) -> usize {
        (self.rows / self.sizes().last().map_or(1, |&size| size.max(1)) + 1) * self.index_width(marks)
    }

    /// Whether pointers that no result keeps take no more than the array, or little.
    fn has_few_rows(&self, marks: &Marks) -> bool {
        self.pointer_bytes(marks) <= self.bytes().len().max(STRETCH)
    }

    /// What is marked in compressed rows, for whose pointers there is memory.
    fn compressed(&self, marks: &Marks, fill: Fill) -> Result<Sparse> {
        let (sizes, size, index) = (self.sizes(), self.x.dtype.size(), self.index_width(marks));
        let instead = "take a part of the array first";
        memory::room(&self.x.shape, "an index of every element that is stored", &[marks.len()], index, instead)?;
        let compress = if index == size_of::<u64>() { Marks::compress::<u64> } else { Marks::compress::<u32> };
        let width = self.block * size;
        let mut level = None;
        let buffer = Buffer::filled(marks.len() * width, size, |out| {
            level = Some(compress(marks, sizes, self.bytes(), width, out));
        })?;
        let levels = iter::repeat_n(Level::Dense, self.level_dims - 1).chain(level).collect();
        let (dims, level_dims, positions) = (self.dims.clone(), self.level_dims, marks.len());
        let mut shape = self.view.shape[self.level_dims..].to_vec();
        shape.insert(0, positions);
        Ok(self.sparse(
            Pattern { levels, dims, level_dims, positions },
            Strided::new(buffer, self.x.dtype, shape),
            fill,
        ))
    }

    /// What is marked in levels of any kinds, by the keys of its coordinates.
    fn built(&self, marks: &Marks, kinds: &[LevelKind], fill: Fill) -> Result<Sparse> {
        let kept = marks.places();
        let (layout, words) = unravel(&kept, self.sizes());
        let pattern = build::build(kinds, self.dims.clone(), &SortedKeys::new(&layout, &words))?;
        let mut shape = self.view.shape[self.level_dims..].to_vec();
        shape.insert(0, self.rows);
        let values = gather_values(&self.view.reshape(&shape)?, &IndexVec::U64(kept))?;
        Ok(self.sparse(pattern, values, fill))
    }

    fn sparse(&self, pattern: Pattern, values: Strided, fill: Fill) -> Sparse {
        Sparse { shape: self.x.shape.clone(), pattern: Arc::new(pattern), values, fill }
    }
}

/// An array in C order beside its fill.
struct Compared<'a> {
    bytes: &'a [u8],
    /// Elements that are kept together if one of them differs.
    block: usize,
    differs: BinaryKernel,
    /// Of the shape of the array.
    beside: &'a Strided,
}

impl Compared<'_> {
    fn marks(&self, rows: usize) -> Marks {
        let core = self.beside.unbroadcast();
        let one = (core.len() == 1).then(|| core.at_offset(core.offset).to_bytes().0);
        Marks::new(rows, STRETCH / self.block.max(1), &|rows, words| {
            let size = self.beside.dtype.size();
            // Room that any element may lie in.
            let mut room = [one.map_or(0, u128::from_ne_bytes)].repeat(if one.is_some() { 1 } else { AT_ONCE });
            let room = bytemuck::cast_slice_mut::<u128, u8>(&mut room);
            let mut compare = |start: usize, mask: &mut [u8]| {
                let room = &mut room[..size * if one.is_some() { 1 } else { mask.len() }];
                if one.is_none() {
                    self.beside.read(start, room);
                }
                (self.differs)(&self.bytes[start * size..(start + mask.len()) * size], room, mask);
            };
            self.mark(rows, words, &mut compare);
        })
    }

    /// The bits of some rows, by what a mask says from an element on.
    fn mark(&self, rows: Range<usize>, words: &mut [u64], compare: &mut dyn FnMut(usize, &mut [u8])) {
        let (block, mut mask) = (self.block, [0; AT_ONCE]);
        if block == 1 {
            for (start, words) in rows.clone().step_by(AT_ONCE).zip(words.chunks_mut(AT_ONCE / 64)) {
                let mask = &mut mask[..AT_ONCE.min(rows.end - start)];
                compare(start, mask);
                pack(mask, words);
            }
            return;
        }
        let mut differ = vec![0; rows.len()];
        // As many rows at a time as fit, or parts of one.
        let together = (AT_ONCE / block).max(1);
        for (start, differ) in rows.step_by(together).zip(differ.chunks_mut(together)) {
            let all = start * block..(start + differ.len()) * block;
            for start in all.clone().step_by(AT_ONCE) {
                let mask = &mut mask[..AT_ONCE.min(all.end - start)];
                compare(start, mask);
                let of_rows = mask.chunks(block).zip(&mut *differ);
                of_rows.for_each(|(mask, differ)| *differ |= u8::from(mask.contains(&1)));
            }
        }
        pack(&differ, words);
    }
}

/// A bit for each of some rows: whether it is kept.
pub(crate) struct Marks {
    rows: usize,
    /// Rows of a chunk, whose bits begin with a word; the next chunk's begin with another.
    chunk: usize,
    words: Vec<u64>,
    /// How many are kept up to the end of each chunk.
    ends: Vec<usize>,
}

impl Marks {
    /// Of so many rows, about `chunk` at a time: `mark` sets the bits of some, and no others.
    fn new(rows: usize, chunk: usize, mark: &(dyn Fn(Range<usize>, &mut [u64]) + Sync)) -> Marks {
        // Whole words, but of few long rows.
        let chunk = if chunk < 64 { chunk.max(1) } else { chunk / 64 * 64 };
        let chunks = rows.div_ceil(chunk);
        let of_chunk = chunk.div_ceil(64);
        let mut words = zeroed_vec::<u64>(if chunk < 64 { chunks } else { rows.div_ceil(64) });
        let mut ends = vec![0; chunks];
        parallel::for_each(words.chunks_mut(of_chunk).zip(&mut ends).collect(), &|i, (words, kept)| {
            mark(i * chunk..rows.min((i + 1) * chunk), words);
            if faults::is(Fault::FirstUnmarked) {
                words[0] &= !1;
            }
            *kept = words.iter().map(|word| word.count_ones() as usize).sum();
        });
        let mut all = 0;
        for end in &mut ends {
            all += *end;
            *end = all;
        }
        Marks { rows, chunk, words, ends }
    }

    fn of_all(rows: usize) -> Marks {
        Marks::new(rows, STRETCH, &|rows, words| {
            for (word, start) in words.iter_mut().zip(rows.clone().step_by(64)) {
                *word = u64::MAX >> (64 - (rows.end - start).min(64));
            }
        })
    }

    /// Of bytes, each 0 or 1.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Marks {
        Marks::new(bytes.len(), STRETCH, &|rows, words| pack(&bytes[rows], words))
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn of_chunk(&self, chunk: usize) -> (Range<usize>, &[u64]) {
        let of_chunk = self.chunk.div_ceil(64);
        let words = chunk * of_chunk..self.words.len().min((chunk + 1) * of_chunk);
        (chunk * self.chunk..self.rows.min((chunk + 1) * self.chunk), &self.words[words])
    }

    /// The numbers of the rows that are kept.
    pub(crate) fn places(&self) -> Vec<u64> {
        let mut out = zeroed_vec::<u64>(self.len());
        parallel::for_pieces_mut(&mut out, &self.ends, &|chunk, out| {
            let ((rows, words), mut out) = (self.of_chunk(chunk), out.iter_mut());
            each_marked(words, |i| {
                if let Some(place) = out.next() {
                    *place = (rows.start + i) as u64;
                }
            });
        });
        out
    }

    /// A level of what is kept, under dense ones of all sizes but the last; `out` gets the rows, which have so many bytes.
    fn compress<I: Index>(&self, sizes: &[usize], source: &[u8], width: usize, out: &mut [u8]) -> Level {
        let columns = sizes.last().map_or(1, |&size| size.max(1));
        let mut coords = Scratch::<I>::any(self.len());
        let mut pointers = Scratch::<I>::any(self.rows / columns + 1);
        pointers[0] = I::new(0);
        let (mut parts, mut before) = (Vec::with_capacity(self.ends.len()), 0);
        let mut room = (&mut coords[..], out, &mut pointers[1..]);
        for (chunk, &end) in self.ends.iter().enumerate() {
            let rows = self.of_chunk(chunk).0;
            let ends = rows.end / columns - rows.start / columns;
            let (coords, ends) = (cut(&mut room.0, end - before), cut(&mut room.2, ends));
            parts.push((before, Taken { coords, elements: cut(&mut room.1, (end - before) * width), ends }));
            before = end;
        }
        parallel::for_each(parts, &|chunk, (before, out)| {
            let (rows, marks) = self.of_chunk(chunk);
            let elements = &source[rows.start * width..rows.end * width];
            Marked { marks, elements, width, first: rows.start, columns, before }.take(out);
        });
        let pointers = (sizes.len() > 1).then(|| pointers.into());
        Level::Sparse { pointers, indices: vec![coords.into()], ordered: true, unique: true }
    }
}
