//! What is stored beside a fill, in two parts: differences that may be rounded to one float, for the kernels of
//! products without fills, and those that may not, exactly.
//!
//! A stored element `v` over a fill `f` is *easy* if `|f| <= limit * |v|`. Rounding `v - f`, its products and their
//! sum loses about `(1 + limit) * eps * |v|` for each that meets it, which the law allows (RFC 2). An element that
//! is not easy is *hard*: its difference is kept as one float or two, to be multiplied exactly.

use std::borrow::Cow;
use std::sync::Mutex;

use openwork_ops::DType;
use openwork_ops::matmul::{Carrier, Told};
use openwork_ops::structure::gather;

use super::operand::Stored;
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::base::parallel::{self, lock};
use crate::base::strided::Strided;
use crate::engine::blocks::{BLOCK, Source};
use crate::tensor::Sparse;

/// The greatest factor between a fill and an easy element above it, for products of `k` terms; `both` says whether
/// both operands have fills, where two factors meet in one product.
///
/// The law allows an error of `2 log2(k + 1)` units in the last place of the sum of the terms' magnitudes, or
/// twice that in roundings of `f64`; a difference, its product and their sum take about four.
pub(super) fn limit(dtype: DType, k: usize, both: bool) -> f64 {
    let room = (k as f64 + 1.0).log2() - 1.0;
    let spare = dtype.epsilon() / f64::EPSILON / 64.0;
    let limit = room.max(spare);
    if both { (1.0 + limit).sqrt() - 1.0 } else { limit }
}

/// The stored elements of an operand.
pub(super) struct Split {
    /// The easy ones, and zero for those that are not; `None` if few are easy.
    pub(super) easy: Option<Stored>,
    /// The hard ones, exactly, or all if few are easy.
    pub(super) hard: Option<Stored>,
    /// Where a fill is taken off floats.
    beneath: Option<Box<Beneath>>,
}

/// Elements of compressed rows, and the fill beneath them.
struct Beneath {
    carrier: Carrier,
    limit: f64,
    sparse: Sparse,
    fill: Strided,
    rows: Stored,
}

/// Exact differences of some entries: which, rising, and their terms.
#[derive(Default)]
struct Entries {
    which: Vec<usize>,
    terms: Vec<u8>,
}

impl Split {
    /// `fills` says whether the fill is other than zero. All rows are there where `all_rows`.
    pub(super) fn new(s: &Sparse, carrier: Carrier, fills: bool, all_rows: bool, limit: f64) -> Result<Split> {
        let fill = if fills && carrier.doubled() != carrier { s.fill_values() } else { None };
        let Some(fill) = fill else {
            let easy = Some(Stored::new(s, carrier, fills, all_rows)?);
            return Ok(Split { easy, hard: None, beneath: None });
        };
        let (sparse, rows) = Stored::without_terms(s, all_rows)?;
        let input = carrier.input(s.dtype());
        let values = sparse.values.cast(input).to_contiguous()?.into_owned();
        let limit = if faults::is(Fault::HardAsEasy) { f64::INFINITY } else { limit };
        let beneath = Beneath { carrier, limit, sparse: Sparse { values, ..sparse }, fill: fill.cast(input), rows };
        let (terms, hard) = beneath.differences(Told::Hard)?;
        let (easy, hard) = if hard.which.len() > beneath.rows.nse() / 2 {
            // An entry is told once or twice: a quarter or half are hard, and one pass over all takes no longer.
            (None, Some(beneath.exact(Told::All)?))
        } else {
            let easy = Stored { terms, ..beneath.rows.clone() };
            let hard = (!hard.which.is_empty()).then(|| beneath.rows.of_entries(&hard.which, &hard.terms));
            (Some(easy), hard)
        };
        Ok(Split { easy, hard, beneath: Some(Box::new(beneath)) })
    }

    /// Every element, exactly.
    pub(super) fn all(&self) -> Result<Option<Cow<'_, Stored>>> {
        match (&self.easy, &self.beneath) {
            (Some(_), Some(beneath)) => beneath.exact(Told::All).map(Cow::Owned).map(Some),
            (None, _) => Ok(self.hard.as_ref().map(Cow::Borrowed)),
            (easy, None) => Ok(easy.as_ref().map(Cow::Borrowed)),
        }
    }

    /// The easy elements, exactly.
    pub(super) fn all_easy(&self) -> Result<Option<Cow<'_, Stored>>> {
        match (&self.easy, &self.beneath) {
            (Some(_), Some(beneath)) => beneath.exact(Told::Easy).map(Cow::Owned).map(Some),
            (easy, _) => Ok(easy.as_ref().map(Cow::Borrowed)),
        }
    }
}

impl Beneath {
    fn exact(&self, told: Told) -> Result<Stored> {
        let (_, entries) = self.differences(told)?;
        Ok(self.rows.of_entries(&entries.which, &entries.terms))
    }

    /// The terms of easy elements, zero for the others, and those of some exactly.
    fn differences(&self, told: Told) -> Result<(Buffer, Entries)> {
        let (carrier, size, nse) = (self.carrier, self.carrier.term_size(), self.rows.nse());
        let values = self.sparse.values.contiguous_bytes().unwrap_or_default();
        let fill = Fills::new(self);
        let pieces: Mutex<Vec<Entries>> = Mutex::new(Vec::new());
        let terms = Buffer::filled(nse * size, size, |out| {
            parallel::for_chunks_mut(out, size, parallel::GRAIN, &|first, out| {
                let mut entries = Entries::default();
                let mut fills = [0u128; BLOCK];
                let fills: &mut [u8] = bytemuck::cast_slice_mut(&mut fills);
                for (i, out) in out.chunks_mut(BLOCK * size).enumerate() {
                    let start = first + i * BLOCK;
                    let fills = &mut fills[..out.len()];
                    fill.read(start, fills);
                    let values = &values[start * size..start * size + out.len()];
                    carrier.differences(values, fills, self.limit, told, out, &mut |e, term| {
                        entries.which.push(start + e);
                        entries.terms.extend_from_slice(term);
                    });
                }
                if !entries.which.is_empty() {
                    lock(&pieces).push(entries);
                }
            });
        })?;
        let pieces = std::mem::take(&mut *lock(&pieces));
        Ok((terms, joined(pieces)))
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
    fn new(beneath: &'a Beneath) -> Fills<'a> {
        let (fill, rows) = (&beneath.fill, &beneath.rows);
        let n = fill.ndim();
        let varies = |d: usize| fill.shape[d] > 1 && fill.strides[d] != 0;
        match (varies(n - 2), varies(n - 1)) {
            (false, true) if !(0..n - 2).any(varies) => Fills::PerColumn(fill.core(), rows),
            (true, false) if n == 2 && rows.ids.is_none() => Fills::PerRow(fill.core(), rows),
            _ => Fills::Other(Source::at(fill, &beneath.sparse.pattern)),
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
