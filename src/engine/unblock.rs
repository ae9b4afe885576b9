//! Small dense blocks to single elements: rows of blocks become compressed rows, columns of blocks compressed columns.

use std::sync::Arc;

use openwork_ops::structure::Index;

use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::base::memory;
use crate::base::pages::Scratch;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::Strided;
use crate::levels::block_rows::BlockRows;
use crate::levels::indices::{Indices, needs_64_bits};
use crate::levels::level::Level;
use crate::levels::pattern::{Dim, Pattern};
use crate::tensor::Sparse;

/// A canonical matrix in compressed rows of blocks in compressed rows; or one in columns, in columns. `None` of anything else, where
/// rows are many beside what is stored, and where there is no room for it.
///
/// Cost: O(elements of blocks + rows).
pub(crate) fn unblocked(s: &Sparse) -> Option<Sparse> {
    let BlockRows { pointers, indices, axes, shape, dims } =
        s.pattern.block_rows().filter(|_| s.pattern.is_canonical())?;
    let strides = [0, dims[0], dims[1]].map(|d| s.values.strides[d]);
    let dims = axes.map(|axis| Dim::whole(axis, s.shape[axis]));
    let (elements, width) = (s.values.len(), s.dtype().size());
    // Of one element over and over there may be more than memory holds.
    if dims[0].size / 4 > elements || !memory::has_room(elements, width + size_of::<u64>()) {
        return None;
    }
    let blocks = Blocks { pointers, columns: indices, values: &s.values, shape, strides, width };
    let (level, values) = if needs_64_bits(elements, dims.iter().map(|d| d.size)) {
        blocks.single::<u64>(elements)
    } else {
        blocks.single::<u32>(elements)
    };
    let pattern =
        Pattern { levels: vec![Level::Dense, level], dims: dims.to_vec(), level_dims: 2, positions: elements };
    let values = Strided::new(values, s.dtype(), vec![elements]);
    Some(Sparse { shape: s.shape.clone(), pattern: Arc::new(pattern), values, fill: s.fill.clone() })
}

/// What [`unblocked`] gives of a matrix with this pattern, with other values, in its blocks again.
///
/// Cost: O(elements).
pub(crate) fn in_blocks(single: &Sparse, pattern: &Arc<Pattern>) -> Result<Option<Sparse>> {
    let Some(BlockRows { pointers, shape: [r, c], dims, .. }) = pattern.block_rows() else { return Ok(None) };
    let (values, width) = (single.values.dense_bytes()?, single.dtype().size());
    let start = |row: usize| (pointers.get(row) - pointers.get(0)) * r * c;
    let rows = pointers.len() - 1;
    // Elements of a block from one of its rows to the next, and from one to the next of a row.
    let steps = if (dims == [1, 2]) != faults::is(Fault::BlocksTurned) { [c, 1] } else { [1, r] };
    let mut groups = vec![0];
    (1..=rows).for_each(|row| {
        if row == rows || start(row) - start(groups[groups.len() - 1]) >= GRAIN {
            groups.push(row);
        }
    });
    let ends: Vec<usize> = groups[1..].iter().map(|&row| start(row) * width).collect();
    let buffer = Buffer::overwritten(start(rows) * width, width, |out| {
        parallel::for_pieces_mut(out, &ends, &|group, mut out| {
            for row in groups[group]..groups[group + 1] {
                let bytes = start(row) * width..start(row + 1) * width;
                let (own, rest) = std::mem::take(&mut out).split_at_mut(bytes.len());
                let from = &values[bytes];
                match width {
                    4 => gathered::<4>(from, [r, c], steps, own),
                    8 => gathered::<8>(from, [r, c], steps, own),
                    1 => gathered::<1>(from, [r, c], steps, own),
                    2 => gathered::<2>(from, [r, c], steps, own),
                    _ => gathered::<16>(from, [r, c], steps, own),
                }
                out = rest;
            }
        });
    })?;
    let mut shape = vec![pattern.positions];
    shape.extend(pattern.value_dims().iter().map(|d| d.size));
    let values = Strided::new(buffer, single.dtype(), shape);
    Ok(Some(Sparse { shape: single.shape.clone(), pattern: pattern.clone(), values, fill: single.fill.clone() }))
}

/// A row of blocks of `r` by `c` elements of `W` bytes, of which `from` has the rows.
fn gathered<const W: usize>(from: &[u8], [r, c]: [usize; 2], [down, along]: [usize; 2], out: &mut [u8]) {
    let (from, out) = (from.as_chunks::<W>().0, out.as_chunks_mut::<W>().0);
    let n = from.len() / r;
    for (b, block) in out.chunks_exact_mut(r * c).enumerate() {
        for i in 0..r {
            for j in 0..c {
                block[i * down + j * along] = from[i * n + b * c + j];
            }
        }
    }
}

struct Blocks<'a> {
    pointers: &'a Indices,
    columns: &'a Indices,
    values: &'a Strided,
    /// Elements of a block along both axes of the result, and from a block to the next and to the next element along these.
    shape: [usize; 2],
    strides: [isize; 3],
    /// Bytes of an element.
    width: usize,
}

impl Blocks<'_> {
    /// Blocks before a row of them.
    fn start(&self, row: usize) -> usize {
        self.pointers.get(row) - self.pointers.get(0)
    }

    /// The last level of single elements, and these.
    fn single<I: Index>(&self, elements: usize) -> (Level, Buffer) {
        let ([r, c], rows) = (self.shape, self.pointers.len() - 1);
        let mut pointers = Vec::with_capacity(rows * r + 1);
        pointers.push(I::new(0));
        for row in 0..rows {
            let (start, n) = (self.start(row) * r * c, (self.start(row + 1) - self.start(row)) * c);
            pointers.extend((1..=r).map(|i| I::new(start + i * n)));
        }
        let mut indices = Scratch::<I>::any(elements);
        let width = self.width;
        let values = Buffer::filled_of_held(elements * width, width, |out| {
            let (mut work, mut first, mut rest) = (Vec::new(), 0, (&mut indices[..], out));
            for row in 1..=rows {
                let n = (self.start(row) - self.start(first)) * r * c;
                if n >= GRAIN || row == rows {
                    let (own, later) = rest.0.split_at_mut(n);
                    let (bytes, more) = rest.1.split_at_mut(n * width);
                    work.push((first..row, own, bytes));
                    (first, rest) = (row, (later, more));
                }
            }
            parallel::for_each(work, &|_, (rows, indices, bytes)| match width {
                4 => self.rows::<I, 4>(rows, indices, bytes),
                8 => self.rows::<I, 8>(rows, indices, bytes),
                1 => self.rows::<I, 1>(rows, indices, bytes),
                2 => self.rows::<I, 2>(rows, indices, bytes),
                _ => self.rows::<I, 16>(rows, indices, bytes),
            });
        });
        let indices = vec![indices.into()];
        let pointers = Some(Indices::from(I::vec(pointers)));
        (Level::Sparse { pointers, indices, ordered: true, unique: true }, values)
    }

    /// Some rows of blocks, of elements of `W` bytes.
    fn rows<I: Index, const W: usize>(&self, rows: std::ops::Range<usize>, indices: &mut [I], bytes: &mut [u8]) {
        let ([r, c], [block, row, column]) = (self.shape, self.strides);
        let from = self.values.buffer.bytes().as_chunks::<W>().0;
        let (mut places, mut elements) =
            (indices.chunks_exact_mut(c), bytes.as_chunks_mut::<W>().0.chunks_exact_mut(c));
        for own in rows {
            for i in 0..r {
                for e in self.start(own)..self.start(own + 1) {
                    let (Some(places), Some(elements)) = (places.next(), elements.next()) else { return };
                    let first = self.columns.get(e) * if faults::is(Fault::BlocksUnspread) { 1 } else { c };
                    places.iter_mut().zip(first..).for_each(|(place, at)| *place = I::new(at));
                    let at = self.values.offset as isize + e as isize * block + i as isize * row;
                    if column == 1 {
                        elements.copy_from_slice(&from[at as usize..][..c]);
                    } else {
                        let at = (0..c as isize).map(|j| at + j * column);
                        elements.iter_mut().zip(at).for_each(|(element, at)| *element = from[at as usize]);
                    }
                }
            }
        }
    }
}
