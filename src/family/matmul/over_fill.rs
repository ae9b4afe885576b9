//! Elements of compressed rows beside the fill beneath them, and the differences: all at once, or those of some rows at a time
//! when a kernel is about to take them, which costs no memory and no way there and back.

use std::ops::Range;
use std::sync::Mutex;

use openwork_ops::matmul::{self, Along, Carrier, Columns, Grid, Met, Rows, Told};
use openwork_ops::structure::{Index, IndexSlice, gather};
use openwork_ops::{Element, with_index};

use super::operand::Stored;
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::base::parallel::{self, lock};
use crate::base::strided::Strided;
use crate::engine::blocks::Source;
use crate::tensor::Sparse;

/// Elements of compressed rows, and the fill beneath them.
pub(super) struct OverFill {
    carrier: Carrier,
    limit: f64,
    sparse: Sparse,
    fill: Strided,
    /// Where elements are, without terms.
    pub(super) rows: Stored,
}

/// What makes the terms of rows.
#[derive(Clone, Copy)]
pub(super) enum Terms<'a> {
    /// Of a few rows at a time.
    AtHand(&'a AtHand<'a>),
    /// The kernel itself.
    InKernel(&'a InKernel<'a>),
}

impl Terms<'_> {
    pub(super) fn rows(&self) -> &Stored {
        match self {
            Terms::AtHand(terms) => &terms.over.rows,
            Terms::InKernel(terms) => &terms.over.rows,
        }
    }
}

/// Exact differences of some entries: which, rising, and their terms.
#[derive(Default)]
pub(super) struct Entries {
    pub(super) which: Vec<usize>,
    pub(super) terms: Vec<u8>,
}

impl OverFill {
    /// `fill` is that of `s`, over its shape. All rows are there where `all_rows`; `limit` says what is easy (see
    /// [`super::split`]).
    pub(super) fn new(s: &Sparse, fill: Strided, carrier: Carrier, all_rows: bool, limit: f64) -> Result<OverFill> {
        let (sparse, rows) = Stored::without_terms(s, all_rows)?;
        let input = carrier.input(s.dtype());
        let values = sparse.values.cast(input).to_contiguous()?.into_owned();
        let limit = if faults::is(Fault::HardAsEasy) { f64::INFINITY } else { limit };
        Ok(OverFill { carrier, limit, sparse: Sparse { values, ..sparse }, fill: fill.cast(input), rows })
    }

    pub(super) fn exact(&self, told: Told) -> Result<Stored> {
        let (_, entries) = self.differences(told)?;
        Ok(self.rows.of_entries(&entries.which, &entries.terms))
    }

    /// Terms of all elements, and what is told of them.
    pub(super) fn differences(&self, told: Told) -> Result<(Buffer, Entries)> {
        let (size, nse) = (self.carrier.term_size(), self.rows.nse());
        let fill = Fills::new(self);
        let pieces: Mutex<Vec<Entries>> = Mutex::new(Vec::new());
        let terms = Buffer::filled(nse * size, size, |out| {
            parallel::for_chunks_mut(out, size, parallel::GRAIN, &|first, out| {
                let mut entries = Entries::default();
                self.some(&fill, first, told, out, &mut entries);
                if !entries.which.is_empty() {
                    lock(&pieces).push(entries);
                }
            });
        })?;
        let pieces = std::mem::take(&mut *lock(&pieces));
        Ok((terms, joined(pieces)))
    }

    /// Terms of the elements from `first` on, and what is told of them.
    fn some(&self, fill: &Fills<'_>, first: usize, told: Told, out: &mut [u8], entries: &mut Entries) {
        /// Elements at a time.
        const FEW: usize = 256;
        let (carrier, size) = (self.carrier, self.carrier.term_size());
        let values = self.sparse.values.contiguous_bytes().unwrap_or_default();
        let mut fills = [0u128; FEW];
        let fills: &mut [u8] = bytemuck::cast_slice_mut(&mut fills);
        for (i, out) in out.chunks_mut(FEW * size).enumerate() {
            let start = first + i * FEW;
            let fills = &mut fills[..out.len()];
            fill.read(start, fills);
            let values = &values[start * size..start * size + out.len()];
            carrier.differences(values, fills, self.limit, told, out, &mut |e, term| {
                entries.which.push(start + e);
                entries.terms.extend_from_slice(term);
            });
        }
    }
}

/// Rows of `float64` over a fill that varies along one axis at most, of which the kernel of a product makes the terms.
pub(super) struct InKernel<'a> {
    over: &'a OverFill,
    kernel: matmul::OverFill,
}

impl<'a> InKernel<'a> {
    /// `background`: a row of accumulators of [`Carrier::Double`] that joins each row of the product, times the row's own fill if
    /// fills vary `by_rows`. `None` where the kernel does not take such rows.
    pub(super) fn with_background(over: &'a OverFill, background: &[u8], by_rows: bool) -> Option<InKernel<'a>> {
        InKernel::new(over, background).filter(|terms| by_rows == (terms.kernel.along() == Along::Rows))
    }

    /// The same, for products that no background joins.
    pub(super) fn new(over: &'a OverFill, background: &[u8]) -> Option<InKernel<'a>> {
        let rows = &over.rows;
        let is_narrow = matches!(rows.indices.as_slice(), IndexSlice::U32(_)) && rows.ids.is_none();
        let is_narrow = is_narrow && u32::try_from(rows.len()).is_ok();
        if over.carrier != Carrier::Float || !is_narrow || has_long_row(rows) {
            return None;
        }
        let (along, fills) = match Fills::new(over) {
            Fills::PerColumn(fill, _) => (Along::Columns, fill),
            Fills::PerRow(fill, _) => (Along::Rows, fill),
            Fills::Other(_) if over.fill.core_len() == 1 => (Along::Nothing, over.fill.core()),
            Fills::Other(_) => return None,
        };
        let fills = f64::from_bytes(fills.contiguous_bytes()?);
        let kernel = matmul::OverFill::new(fills, along, over.limit, background);
        Some(InKernel { over, kernel })
    }

    fn view(&self) -> Rows<'_> {
        let values = self.over.sparse.values.contiguous_bytes().unwrap_or_default();
        Rows { values, ..self.over.rows.view() }
    }

    /// Writes rows of the product with a dense matrix, which the background has joined.
    pub(super) fn multiply(&self, rows: Range<usize>, right: Grid<'_>, out: &mut [u8]) {
        self.kernel.multiply(self.view(), rows, right, out);
    }

    /// Adds these rows, as columns, times a panel of a dense matrix, and lists the hard elements in `met` if it is given. The last
    /// column of the panel may be one to spare.
    pub(super) fn add_columns(
        &self,
        rows: Range<usize>,
        panel: (Columns<'_>, bool),
        acc: &mut [f64],
        met: Option<&mut Vec<Met>>,
    ) {
        self.kernel.add_columns(self.view(), rows, panel, acc, met);
    }

    /// See [`matmul::OverFill::beneath`].
    pub(super) fn beneath(&self, met: &[Met], ends: &[usize], panel: Columns<'_>, at: (usize, usize), out: &mut [u8]) {
        self.kernel.beneath(met, ends, panel, at, out);
    }
}

/// Whether what a row needs beside it is better made as an array, for whose memory there is a check.
fn has_long_row(rows: &Stored) -> bool {
    const LONGEST: usize = 1 << 20;
    let is_long = |pointers: IndexSlice<'_>| with_index!(pointers, p => p.windows(2).any(|pair| pair[1].get() - pair[0].get() > LONGEST));
    rows.nse() > LONGEST && is_long(rows.pointers.as_slice())
}

/// Terms that are made when they are needed, and hard elements that were met on the way.
pub(super) struct AtHand<'a> {
    over: &'a OverFill,
    fill: Fills<'a>,
    hard: Mutex<Vec<Entries>>,
}

impl<'a> AtHand<'a> {
    /// `None` where a row is so long that its terms are better made as an array.
    pub(super) fn new(over: &'a OverFill) -> Option<AtHand<'a>> {
        if has_long_row(&over.rows) {
            return None;
        }
        Some(AtHand { over, fill: Fills::new(over), hard: Mutex::new(Vec::new()) })
    }

    /// The hard elements that were met, exactly, if there are any; `None` of the whole if most elements are hard, so that all
    /// are better multiplied exactly.
    pub(super) fn hard(&self) -> Option<Option<Stored>> {
        let (hard, rows) = (joined(std::mem::take(&mut *lock(&self.hard))), &self.over.rows);
        if is_most(&hard, rows) {
            return None;
        }
        Some((!hard.which.is_empty()).then(|| rows.of_entries(&hard.which, &hard.terms)))
    }

    /// Hands over terms of a few of these rows at a time. What is to be added to hard ones is remembered where `remember`.
    pub(super) fn each(&self, rows: Range<usize>, remember: bool, take: &mut dyn FnMut(Rows<'_>, Range<usize>)) {
        /// Elements whose terms stay in the first cache beside what a kernel needs.
        const FEW: usize = 512;
        let (stored, size) = (&self.over.rows, self.over.carrier.term_size());
        let mut terms: Vec<u128> = Vec::new();
        let mut entries = Entries::default();
        let mut first = rows.start;
        while first < rows.end {
            let start = stored.start(first);
            let mut last = first + 1;
            while last < rows.end && stored.start(last + 1) - start <= FEW {
                last += 1;
            }
            let n = stored.start(last) - start;
            terms.resize((n * size).div_ceil(16), 0);
            let terms = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut terms)[..n * size];
            self.over.some(&self.fill, start, Told::Hard, terms, &mut entries);
            let all = stored.view();
            take(
                Rows {
                    values: terms,
                    indices: all.indices.range(start..start + n),
                    base: all.base + start,
                    stencils: &[],
                    ..all
                },
                first..last,
            );
            first = last;
        }
        if remember && !entries.which.is_empty() {
            lock(&self.hard).push(entries);
        }
    }
}

/// The fill beneath each entry.
enum Fills<'a> {
    /// One for each column.
    PerColumn(Strided, &'a Stored),
    /// One for each row of the one matrix.
    PerRow(Strided, &'a Stored),
    Other(Source<'a>),
}

impl<'a> Fills<'a> {
    fn new(over: &'a OverFill) -> Fills<'a> {
        let (fill, rows) = (&over.fill, &over.rows);
        let n = fill.ndim();
        let varies = |d: usize| fill.shape[d] > 1 && fill.strides[d] != 0;
        match (varies(n - 2), varies(n - 1)) {
            (false, true) if !(0..n - 2).any(varies) => Fills::PerColumn(fill.core(), rows),
            (true, false) if n == 2 && rows.ids.is_none() => Fills::PerRow(fill.core(), rows),
            _ => Fills::Other(Source::at(fill, &over.sparse.pattern)),
        }
    }

    /// Reads those beneath the entries from `start` on, as many as fit `out`.
    fn read(&self, start: usize, out: &mut [u8]) {
        match self {
            Fills::PerColumn(fill, rows) => {
                let size = fill.dtype.size();
                let columns = rows.indices.as_slice().range(start..start + out.len() / size);
                gather::gather_rows(fill.contiguous_bytes().unwrap_or_default(), size, columns, out);
            }
            Fills::PerRow(fill, rows) => {
                let size = fill.dtype.size();
                let values = fill.contiguous_bytes().unwrap_or_default();
                let mut r = rows.pointers.as_slice().upper_bound(rows.pointers.get(0) + start) - 1;
                let (mut at, end) = (start, start + out.len() / size);
                while at < end {
                    let next = rows.start(r + 1).min(end);
                    let part = &mut out[(at - start) * size..(next - start) * size];
                    gather::repeat(&values[r * size..(r + 1) * size], part);
                    (at, r) = (next, r + 1);
                }
            }
            Fills::Other(source) => source.read(start, out),
        }
    }
}

/// Entries of pieces, in order.
fn joined(mut pieces: Vec<Entries>) -> Entries {
    pieces.sort_by_key(|p: &Entries| p.which.first().copied());
    let mut rest = pieces.into_iter();
    let mut out = rest.next().unwrap_or_default();
    for piece in rest {
        out.which.extend(piece.which);
        out.terms.extend(piece.terms);
    }
    out
}

/// Whether so many elements are hard that one pass over all takes no longer: a quarter or half, since one is told once or twice.
pub(super) fn is_most(hard: &Entries, rows: &Stored) -> bool {
    hard.which.len() > rows.nse() / 2
}
