//! Operands as the kernels take them: compressed rows of terms, and strided fields of terms.

use std::borrow::Cow;
use std::ops::Range;

use openwork_ops::matmul::{Carrier, Grid, Rows};
use openwork_ops::structure::{Index, IndexVec};
use openwork_ops::{BinaryOp, DType, Scalar, with_index};

use crate::base::buffer::Buffer;
use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::base::parallel;
use crate::base::strided::{Shape, Strided, c_order};
use crate::engine::blocks::{self, Kernel, Source};
use crate::engine::convert;
use crate::levels::layout::{Layout, LevelSpec};
use crate::levels::level::{Indices, Level, LevelKind};
use crate::levels::pattern::Part;
use crate::tensor::Sparse;

/// What an operand stores, less the fill beneath it: compressed rows of all matrices one after the other.
#[derive(Clone)]
pub(super) struct Stored {
    pub(super) pointers: Indices,
    pub(super) indices: Indices,
    pub(super) terms: Buffer,
    /// The number `batch * rows + row` of each row that is there, rising; `None` if all are.
    pub(super) ids: Option<Vec<u64>>,
    /// Shape of the leading axes.
    pub(super) batch: Vec<usize>,
    /// Rows of one matrix.
    pub(super) rows: usize,
}

/// Whether rows are so many beside what is stored that only those that store something are listed.
pub(super) fn is_hyper_sparse(s: &Sparse) -> bool {
    are_many(s, s.ndim() - 1, Layout::Csr)
}

/// Whether columns of matrices are so many beside what is stored that a pointer for each would be most of it.
pub(super) fn has_many_columns(s: &Sparse) -> bool {
    s.ndim() >= 2 && are_many(s, s.ndim() - 2, Layout::Csc)
}

/// Whether slices along an axis are many beside what is stored, of a tensor that does not have pointers for all of them, as one of
/// the layout `whole` has.
fn are_many(s: &Sparse, axis: usize, whole: Layout) -> bool {
    let others = s.shape.iter().enumerate().filter(|&(other, _)| other != axis);
    let slices = others.map(|(_, &size)| size).try_fold(1usize, |n, size| n.checked_mul(size));
    let has_all = s.pattern.layout(&s.shape) == whole;
    !has_all && slices.is_none_or(|slices| slices > 4 * s.pattern.positions + (1 << 16))
}

/// A tensor as it is stored by rows: all of them, or, where they are many and need not be there, those that store something.
fn by_rows(s: &Sparse, all_rows: bool) -> Result<(Cow<'_, Sparse>, bool)> {
    if all_rows || !is_hyper_sparse(s) {
        return Ok((convert::to_named(s, Layout::Csr)?, false));
    }
    let levels = vec![LevelKind::Sparse { rank: s.ndim() - 1 }, LevelKind::Sparse { rank: 1 }];
    let dims = (0..s.ndim()).mapped(|axis| (axis, Part::Whole));
    convert::convert(s, &LevelSpec { levels, dims }).map(|rows| (Cow::Owned(rows), true))
}

impl Stored {
    /// Rows of a tensor. `fills` says whether the fill is other than zero and has to be taken off, which may round
    /// (see [`super::split::Split`]); `all_rows` asks for every row, stored or not.
    pub(super) fn new(s: &Sparse, carrier: Carrier, fills: bool, all_rows: bool) -> Result<Stored> {
        let (s, listed) = by_rows(s, all_rows)?;
        let terms = terms(&s, carrier, fills)?;
        Stored::of_rows(&s, listed, terms)
    }

    /// The rows of a tensor, as it is stored by rows, without terms.
    pub(super) fn without_terms(s: &Sparse, all_rows: bool) -> Result<(Sparse, Stored)> {
        let (s, listed) = by_rows(s, all_rows)?;
        let rows = Stored::of_rows(&s, listed, Buffer::empty())?;
        Ok((s.into_owned(), rows))
    }

    fn of_rows(s: &Sparse, listed: bool, terms: Buffer) -> Result<Stored> {
        let n = s.ndim();
        let broken = || error::layout("a conversion to compressed rows did not give compressed rows");
        let Some(Level::Sparse { pointers: Some(pointers), indices, .. }) = s.pattern.levels.last() else {
            return Err(broken());
        };
        let [indices] = &indices[..] else { return Err(broken()) };
        let ids = match &s.pattern.levels[0] {
            Level::Sparse { indices, .. } if listed => Some(flat(indices, &s.shape[..n - 1])?),
            _ => None,
        };
        Ok(Stored {
            pointers: pointers.clone(),
            indices: indices.clone(),
            terms,
            ids,
            batch: s.shape[..n - 2].to_vec(),
            rows: s.shape[n - 2],
        })
    }

    pub(super) fn view(&self) -> Rows<'_> {
        Rows {
            pointers: self.pointers.as_slice(),
            base: self.pointers.get(0),
            indices: self.indices.as_slice(),
            values: self.terms.bytes(),
            stencils: &[],
        }
    }

    pub(super) fn nse(&self) -> usize {
        self.indices.len()
    }

    /// Rows that are there.
    pub(super) fn len(&self) -> usize {
        self.pointers.len() - 1
    }

    /// Entries before row `r`.
    pub(super) fn start(&self, r: usize) -> usize {
        self.pointers.get(r) - self.pointers.get(0)
    }

    /// The rows of matrix `b`.
    pub(super) fn matrix(&self, b: usize) -> Range<usize> {
        let (first, end) = ((b * self.rows) as u64, ((b + 1) * self.rows) as u64);
        match &self.ids {
            None => first as usize..end as usize,
            Some(ids) => ids.partition_point(|&id| id < first)..ids.partition_point(|&id| id < end),
        }
    }

    /// The same with indices of 64 bits where `wide`.
    pub(super) fn widened(self, wide: bool) -> Stored {
        Stored { pointers: self.pointers.widened(wide), indices: self.indices.widened(wide), ..self }
    }

    /// Some of the entries, `(which, term)`, rising, an entry perhaps more than once.
    pub(super) fn of_entries(&self, entries: &[usize], terms: &[u8]) -> Stored {
        let wide = self.is_wide() || entries.len() > u32::MAX as usize;
        let indices =
            with_index!(self.indices.as_slice(), all => entries.iter().map(|&e| all[e].get() as u64).collect());
        let (mut next, first) = (0, self.pointers.get(0));
        let mut until = |end: usize| {
            next += entries[next..].iter().take_while(|&&e| e < end - first).count();
            next as u64
        };
        let pointers = with_index!(self.pointers.as_slice(), all => all.iter().map(|end| until(end.get())).collect());
        let terms = Buffer::of_held(terms.len(), |out| out.copy_from_slice(terms));
        Stored {
            pointers: index_vec(pointers, wide).into(),
            indices: index_vec(indices, wide).into(),
            terms,
            ids: self.ids.clone(),
            batch: self.batch.clone(),
            rows: self.rows,
        }
    }

    /// The rows of the transpose of one matrix, which has so many: entries in the order of the rows here.
    pub(super) fn transposed(&self, rows: usize, term: usize) -> Stored {
        let nse = self.nse();
        let columns: Vec<usize> =
            with_index!(self.indices.as_slice(), all => all.iter().map(|column| column.get()).collect());
        let mut pointers = vec![0u64; rows + 1];
        for &column in &columns {
            pointers[column + 1] += 1;
        }
        for r in 0..rows {
            pointers[r + 1] += pointers[r];
        }
        let (mut next, mut indices, mut from) = (pointers.clone(), vec![0u64; nse], vec![0usize; nse]);
        for r in 0..self.len() {
            for e in self.start(r)..self.start(r + 1) {
                let slot = &mut next[columns[e]];
                (indices[*slot as usize], from[*slot as usize]) = (r as u64, e);
                *slot += 1;
            }
        }
        let source = self.terms.bytes();
        let terms = Buffer::of_held(nse * term, |out| {
            for (out, &e) in out.chunks_exact_mut(term).zip(&from) {
                out.copy_from_slice(&source[e * term..(e + 1) * term]);
            }
        });
        let of = |v: Vec<u64>| index_vec(v, self.is_wide()).into();
        Stored { pointers: of(pointers), indices: of(indices), terms, ids: None, batch: Vec::new(), rows }
    }

    pub(super) fn is_wide(&self) -> bool {
        self.pointers.is_wide() || self.indices.is_wide()
    }

    /// Columns as places in the rows that `right` lists; entries that meet no row are dropped. Matrix `b` here
    /// meets matrix `matrices(b)` there.
    pub(super) fn against(
        &self,
        right: &Stored,
        ids: &[u64],
        term: usize,
        matrices: &dyn Fn(usize) -> usize,
    ) -> Stored {
        let (pointers, places, from) = match Listed::of(self, right, ids) {
            Some(listed) => self.met(&|k| listed.place(k)),
            None => self.met_by_search(right, ids, matrices),
        };
        self.of_met((pointers, places, from), term)
    }

    /// Without the entries that meet an empty row of one matrix, where most rows are empty; `None` elsewhere.
    pub(super) fn meeting_some(&self, right: &Stored, term: usize) -> Option<Stored> {
        const MOST: usize = 8;
        let is_one = self.batch.is_empty() && right.batch.is_empty() && right.ids.is_none();
        if !is_one || right.nse() > right.len() / MOST || right.len() / 64 > self.nse() {
            return None;
        }
        let mut bits = vec![0u64; right.len().div_ceil(64)];
        with_index!(right.pointers.as_slice(), pointers => {
            for (k, ends) in pointers.windows(2).enumerate() {
                bits[k / 64] |= u64::from(ends[0] < ends[1]) << (k % 64);
            }
        });
        Some(self.of_met(self.met(&|k| (bits[k / 64] & 1 << (k % 64) != 0).then_some(k as u64)), term))
    }

    fn of_met(&self, (pointers, places, from): Met, term: usize) -> Stored {
        let source = self.terms.bytes();
        let terms = Buffer::of_held(from.len() * term, |out| {
            for (o, e) in out.chunks_exact_mut(term).zip(from) {
                o.copy_from_slice(&source[e * term..(e + 1) * term]);
            }
        });
        let of = |v: Vec<u64>| index_vec(v, self.is_wide()).into();
        Stored {
            pointers: of(pointers),
            indices: of(places),
            terms,
            ids: self.ids.clone(),
            batch: self.batch.clone(),
            rows: self.rows,
        }
    }

    /// The entries that meet a row which is listed: where those of each row end, the places of the rows they meet, and which they
    /// are.
    fn met(&self, place_of: &(impl Fn(usize) -> Option<u64> + Sync)) -> Met {
        let first = self.pointers.get(0);
        let of_rows = |rows: Range<usize>| {
            let (mut ends, mut places, mut from) = (Vec::with_capacity(rows.len()), Vec::new(), Vec::new());
            with_index!(self.indices.as_slice(), columns => with_index!(self.pointers.as_slice(), pointers => {
                for ends_of in pointers[rows.start..=rows.end].windows(2) {
                    let row = ends_of[0].get() - first..ends_of[1].get() - first;
                    for (e, k) in (row.start..).zip(&columns[row]) {
                        if let Some(place) = place_of(k.get()) {
                            places.push(place);
                            from.push(e);
                        }
                    }
                    ends.push(places.len() as u64);
                }
            }));
            (ends, places, from)
        };
        let (mut pointers, mut places, mut from) = (vec![0u64], Vec::new(), Vec::new());
        for (ends, more, entries) in parallel::map_chunks(self.len(), 1 << 12, &of_rows) {
            let before = places.len() as u64;
            pointers.extend(ends.into_iter().map(|end| before + end));
            places.extend(more);
            from.extend(entries);
        }
        (pointers, places, from)
    }

    /// The same by bisection.
    fn met_by_search(&self, right: &Stored, ids: &[u64], matrices: &dyn Fn(usize) -> usize) -> Met {
        let (mut pointers, mut places, mut from) = (vec![0u64], Vec::new(), Vec::new());
        let mut window = (usize::MAX, 0..0);
        for r in 0..self.len() {
            let b = self.ids.as_ref().map_or(r, |ids| ids[r] as usize) / self.rows;
            if window.0 != b {
                window = (b, right.matrix(matrices(b)));
            }
            let first = (matrices(b) * right.rows) as u64;
            let mut range = window.1.clone();
            for e in self.start(r)..self.start(r + 1) {
                let id = first + self.indices.get(e) as u64;
                range.start += ids[range.clone()].partition_point(|&x| x < id);
                if range.start < range.end && ids[range.start] == id {
                    places.push(range.start as u64);
                    from.push(e);
                }
            }
            pointers.push(places.len() as u64);
        }
        (pointers, places, from)
    }

    /// Columns numbered among those that occur, and what they were.
    pub(super) fn with_dense_columns(&self) -> (Stored, Vec<u64>) {
        let all: Vec<u64> = with_index!(self.indices.as_slice(), s => s.iter().map(|j| j.get() as u64).collect());
        let mut columns = all.clone();
        columns.sort_unstable();
        columns.dedup();
        let renumbered = all.iter().map(|j| columns.partition_point(|c| c < j));
        let indices: IndexVec = if self.is_wide() {
            IndexVec::U64(renumbered.map(|j| j as u64).collect())
        } else {
            IndexVec::U32(renumbered.map(|j| j as u32).collect())
        };
        let out = Stored {
            pointers: self.pointers.clone(),
            indices: indices.into(),
            terms: self.terms.clone(),
            ids: self.ids.clone(),
            batch: self.batch.clone(),
            rows: self.rows,
        };
        (out, columns)
    }
}

/// Where entries of each row end, the places of the rows that they meet, and which they are.
type Met = (Vec<u64>, Vec<u64>, Vec<usize>);

/// The rows of a matrix that are listed, by a bit each.
struct Listed {
    bits: Vec<u64>,
    /// How many are before those of a word.
    before: Vec<u64>,
}

impl Listed {
    /// Of one matrix, if its rows are not too many beside what looks for them.
    fn of(left: &Stored, right: &Stored, ids: &[u64]) -> Option<Listed> {
        let is_one = left.batch.is_empty() && right.batch.is_empty();
        if !is_one || right.rows / 64 > left.nse() {
            return None;
        }
        let mut bits = vec![0u64; right.rows.div_ceil(64)];
        for &id in ids {
            bits[id as usize / 64] |= 1 << (id % 64);
        }
        let mut before = Vec::with_capacity(bits.len());
        let mut count = 0;
        for word in &bits {
            before.push(count);
            count += u64::from(word.count_ones());
        }
        Some(Listed { bits, before })
    }

    fn place(&self, row: usize) -> Option<u64> {
        let (word, bit) = (self.bits[row / 64], 1 << (row % 64));
        (word & bit != 0).then(|| self.before[row / 64] + u64::from((word & (bit - 1)).count_ones()))
    }
}

fn index_vec(v: Vec<u64>, wide: bool) -> IndexVec {
    if wide { IndexVec::U64(v) } else { IndexVec::U32(v.iter().map(|&i| i as u32).collect()) }
}

/// C-order numbers of coordinate tuples.
fn flat(indices: &[Indices], shape: &[usize]) -> Result<Vec<u64>> {
    shape.iter().try_fold(1u64, |n, &size| n.checked_mul(size as u64)).ok_or_else(|| {
        error::shape(
            &[shape],
            "rows of all matrices together are 2^64 or more; merge or split the batch axes differently",
        )
    })?;
    let mut out = vec![0u64; indices.first().map_or(0, Indices::len)];
    for (array, &size) in indices.iter().zip(shape) {
        with_index!(array.as_slice(), s => {
            for (o, &i) in out.iter_mut().zip(s) {
                *o = *o * size as u64 + i.get() as u64;
            }
        });
    }
    Ok(out)
}

/// The stored values of compressed rows, as terms.
fn terms(s: &Sparse, carrier: Carrier, fills: bool) -> Result<Buffer> {
    let input = carrier.input(s.dtype());
    let values = s.values.cast(input);
    let n = s.pattern.positions;
    let own = if fills { s.fill_values() } else { None };
    match (own.as_ref().map(|fill| Source::at(fill, &s.pattern)), BinaryOp::Sub.kernel(input)) {
        (Some(fill), Some(sub)) => blocks::run(n, &[Source::values(&values), fill], input, input, Kernel::Binary(sub)),
        _ => Ok(bytes_of(values.to_contiguous()?.as_ref())),
    }
}

/// The elements of an array that lies in C order, shared.
fn bytes_of(dense: &Strided) -> Buffer {
    let size = dense.dtype.size();
    if dense.len() == 0 {
        return Buffer::empty();
    }
    dense.buffer.slice(dense.offset * size..(dense.offset + dense.len()) * size)
}

/// Terms (or accumulators) at every element of a shape, strides 0 where they do not vary.
pub(super) struct Field {
    pub(super) values: Buffer,
    /// Over leading axes, rows, columns.
    pub(super) strides: Shape,
    /// Bytes of one.
    pub(super) size: usize,
}

impl Field {
    /// The elements of an array that has been broadcast to the leading axes of the product.
    pub(super) fn new(x: &Strided, carrier: Carrier, dtype: DType) -> Field {
        let core = x.core().cast(carrier.input(dtype));
        let values = bytes_of(&core);
        Field::of(values, &core.shape, carrier.term_size())
    }

    /// Elements of this shape in C order, broadcast along axes of size 1.
    pub(super) fn of(values: Buffer, shape: &[usize], size: usize) -> Field {
        Field { values, strides: batch_strides(shape), size }
    }

    /// Terms of this shape that lie in C order.
    pub(super) fn rows_of(x: &Strided, carrier: Carrier) -> Field {
        Field::of(bytes_of(x), &x.shape, carrier.term_size())
    }

    /// One element, over and over.
    pub(super) fn constant(value: Scalar, ndim: usize) -> Field {
        let (bytes, size) = value.to_bytes();
        Field { values: Buffer::of_few(&bytes[..size]), strides: Shape::repeat(0, ndim), size }
    }

    pub(super) fn varies(&self, axis_from_last: usize) -> bool {
        self.strides[self.strides.len() - axis_from_last] != 0
    }

    /// The matrix from an offset (see [`offset`]) on.
    pub(super) fn grid(&self, offset: usize) -> Grid<'_> {
        let n = self.strides.len();
        Grid { values: &self.values.bytes()[offset * self.size..], row: self.strides[n - 2], col: self.strides[n - 1] }
    }

    /// The matrix from an offset on, from row `i` on.
    pub(super) fn rows(&self, offset: usize, i: usize) -> Grid<'_> {
        self.grid(offset + i * self.strides[self.strides.len() - 2])
    }
}

/// Where matrix `b` of a batch of this shape begins, with these strides over the batch's last axes.
pub(super) fn offset(batch: &[usize], strides: &[usize], mut b: usize) -> usize {
    let mut at = 0;
    let lead = batch.len() - strides.len();
    for (d, &n) in batch.iter().enumerate().rev() {
        if d < lead {
            break;
        }
        at += (b % n) * strides[d - lead];
        b /= n;
    }
    at
}

/// Strides of a batch shape, in matrices, as it is broadcast.
pub(super) fn batch_strides(own: &[usize]) -> Shape {
    c_order(own).iter().zip(own).map(|(&s, &n)| if n == 1 { 0 } else { s as usize }).collect()
}
