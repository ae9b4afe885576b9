//! Sparse operands stored by columns times a strided matrix, without forming their rows; and a strided matrix times sparse
//! rows, which is the transpose of that.
//!
//! The dense matrix is taken in panels of columns, a row of which is what one stored element needs; many are packed. A
//! panel's result stays where it is while all stored elements pass. Where there are too few columns to share among
//! threads, stored elements are cut into slices, as many as the data says, whose results are added in order; a result that is too
//! large for that is cut into bands of rows. The bits depend neither on panels, nor on bands, nor on the number of threads.

use std::ops::Range;
use std::sync::Mutex;

use openwork_ops::matmul::{self, Carrier, ColumnsPanel, Met, WIDTHS};
use openwork_ops::structure::transpose::{self, STRETCH};
use openwork_ops::{DType, Element, with_index};

use super::operand::Stored;
use super::over_fill::{InKernel, Terms};
use super::small_blocks::Blocks;
use crate::base::buffer::{Buffer, zeroed_vec};
use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::base::mapped::Mapped;
use crate::base::memory;
use crate::base::parallel::{self, lock};
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::engine::transpose::column_ends;
use crate::levels::layout::Layout;
use crate::tensor::Tensor;

/// Columns from which on panels alone are shared among threads: as many as the widest has.
const MANY: usize = 32;

/// Elements of a row from which on it is quick to find those that go to a band of the result.
const LONG: usize = 64;

/// Columns, of which a row of a large result takes one line of the cache: to read another takes as long as all that is done with it.
const LINE: usize = 8;

/// Bytes of a result that no second-level cache holds.
const FAR: usize = 2 << 20;

/// Slices of stored elements, at most, and how many elements one has for each place of the result, about.
const SLICES: usize = 16;
const PER_PLACE: usize = 8;

/// Elements that are turned at a time.
const BLOCK: usize = 128;

/// The product of two matrices of floats, one of them sparse over zeros and walked against its rows, the other strided;
/// `None` for any other operands.
pub(super) fn product(a: &Tensor, b: &Tensor, dtype: DType) -> Result<Option<Tensor>> {
    if !dtype.is_inexact() || dtype.is_complex() {
        return Ok(None);
    }
    let Some((sparse, dense, is_mirrored)) = walked(a, b)? else { return Ok(None) };
    let (Some(s), Some(kernel)) = (sparse.sparse(), Carrier::new(dtype, false).kernels().columns_panel()) else {
        return Ok(None);
    };
    if !super::is_over_zeros(s) {
        return Ok(None);
    }
    let (m, n) = (s.shape[1], dense.shape[1]);
    if m == 0 || n == 0 || s.shape[0] == 0 || is_better_by_rows([m, s.shape[0], n], dtype) {
        return Ok(None);
    }
    let shape = if is_mirrored { [n, m] } else { [m, n] };
    convert::dense_len(&shape, dtype)?;
    // Packed, a view that repeats its elements would be written out.
    if dense.core_len() < dense.len() || !has_room(s.shape[0], m, n) {
        return Ok(None);
    }
    let left = Left::Rows(kernel, Stored::new(s, Carrier::new(dtype, false), false, true)?);
    let panels = Panels { left, dense: dense.cast(DType::F64), m, n };
    Ok(Some(Tensor::from_strided(panels.run(dtype, is_mirrored)?.0)))
}

/// The transpose of a sparse matrix that is walked against its rows, and the strided one that it meets; whether operands are exchanged,
/// and the result is to be transposed. `None` for any other operands.
pub(super) fn walked(a: &Tensor, b: &Tensor) -> Result<Option<(Tensor, Strided, bool)>> {
    if a.ndim() != 2 || b.ndim() != 2 {
        return Ok(None);
    }
    Ok(match (a.strided(), b.strided()) {
        (None, Some(dense)) if a.layout() == Layout::Csc || super::is_along(a, 1) => {
            Some((a.matrix_transpose()?, dense.clone(), false))
        }
        (Some(dense), None) if b.layout() == Layout::Csr || super::is_along(b, 0) => {
            Some((b.clone(), dense.permute(&[1, 0]), true))
        }
        _ => None,
    })
}

/// Whether the rows of the sparse operand are better formed first. Rows of the result are gone through once then, and at random those
/// of the dense operand, which are fewer; and terms of single precision are summed as such. Of 2000 × 1,000,000, 32 columns take 0.4 of
/// the time; of a matrix of 4096 in `float32` that stores a tenth, 128 take 0.55.
fn is_better_by_rows([m, k, n]: [usize; 3], dtype: DType) -> bool {
    n > 16 && m / 4 > k || dtype != DType::F64 && n >= 48 && m >= k / 2
}

/// The sums of a product as [`product`] makes it, of easy terms of compressed rows of the transpose, in `float64`; `None` where
/// terms are not floats.
///
/// And what is to be added to them because elements are hard, where the kernel makes the terms.
pub(super) fn sums(
    carrier: Carrier,
    terms: Terms<'_>,
    dense: &Strided,
    m: usize,
) -> Result<Option<(Buffer, Option<Hard>)>> {
    let (Some(kernel), n) = (carrier.kernels().columns_panel(), dense.shape[1]) else { return Ok(None) };
    // What is hard takes as much as three times the sums.
    let has_room = m.checked_mul(4).is_some_and(|all| has_room(terms.rows().len(), all, n));
    if dense.core_len() < dense.len() || !has_room {
        return Ok(None);
    }
    let panels = Panels { left: Left::Terms(kernel, terms), dense: dense.cast(DType::F64), m, n };
    let (sums, hard) = panels.run(DType::F64, false)?;
    Ok(Some((sums.buffer, hard)))
}

/// The product of columns of blocks with a strided matrix of the same dtype, or its transpose where operands `are_mirrored`. `None` where
/// there is no room for panels.
pub(super) fn of_blocks(blocks: Blocks, dense: &Strided, m: usize, are_mirrored: bool) -> Result<Option<Tensor>> {
    let (dtype, [k, n]) = (dense.dtype, [dense.shape[0], dense.shape[1]]);
    if !has_room(k, m, n) {
        return Ok(None);
    }
    let panels = Panels { left: Left::Blocks(blocks), dense: dense.cast(DType::F64), m, n };
    Ok(Some(Tensor::from_strided(panels.run(dtype, are_mirrored)?.0)))
}

/// Slices of so many stored elements, whose work is that of adding the sums in so many places.
fn by_work(nse: usize, places: usize) -> usize {
    let places = (PER_PLACE * places).max(1);
    (nse + places / 2) / places
}

/// Slices of stored elements for a result of `m` rows and `n` columns, where panels of columns cost no more than their columns.
pub(super) fn slices(nse: usize, m: usize, n: usize) -> usize {
    // Work, as well as what there is to add, is as much for each column.
    if n >= MANY { 1 } else { by_work(nse, m).clamp(1, SLICES) }
}

/// Rows cut in so many slices of as many elements; `start` says how many are before a row.
pub(super) fn cut(rows: usize, wanted: usize, start: &dyn Fn(usize) -> usize) -> Vec<Range<usize>> {
    let mut ends = vec![0];
    for i in 1..wanted {
        let goal = start(rows) / wanted * i;
        let (mut low, mut high) = (0, rows);
        while low < high {
            let middle = low.midpoint(high);
            if start(middle) < goal { low = middle + 1 } else { high = middle }
        }
        ends.push(low);
    }
    ends.push(rows);
    ends.windows(2).map(|w| w[0]..w[1]).collect()
}

/// Whether panels of the dense operand and of the sums, a last one padded to twice its width at most, fit into memory.
fn has_room(k: usize, m: usize, n: usize) -> bool {
    let elements = k.checked_add(m).and_then(|rows| rows.checked_mul(n));
    elements.and_then(|e| e.checked_mul(2 * 8)).is_some_and(memory::is_free)
}

/// What is to be added to some rows of a product because elements are hard: accumulators of [`Carrier::Double`].
pub(super) struct Hard {
    /// Of each row of the product, one more than the number of its accumulators; 0 where it has none.
    numbers: Vec<u32>,
    /// `n` of each row that has any.
    sums: Vec<u128>,
    n: usize,
}

impl Hard {
    /// Of hard elements that were met in a product of `m` rows of `n`; `None` if there are none. `panels` are those of the dense matrix,
    /// with the first column of each.
    fn of(
        terms: &InKernel<'_>,
        met: &[Met],
        m: usize,
        n: usize,
        panels: &[(usize, matmul::Columns<'_>)],
    ) -> Option<Hard> {
        if met.is_empty() || faults::is(Fault::BeneathForgotten) {
            return None;
        }
        // Those of a row side by side, in the order in which they were met.
        let mut numbers = zeroed_vec::<u32>(m);
        let mut ends = vec![0];
        for met in met {
            let number = &mut numbers[met.row as usize];
            if *number == 0 {
                ends.push(0);
                *number = ends.len() as u32 - 1;
            }
            ends[*number as usize] += 1;
        }
        for i in 1..ends.len() {
            ends[i] += ends[i - 1];
        }
        let (mut next, mut sorted) = (ends.clone(), met.to_vec());
        for &met in met {
            let next = &mut next[numbers[met.row as usize] as usize - 1];
            sorted[*next] = met;
            *next += 1;
        }
        let mut sums = zeroed_vec::<u128>((ends.len() - 1) * n);
        parallel::for_chunks_mut(&mut sums, n, (1 << 12) / n, &|first, sums| {
            let ends = &ends[first..=first + sums.len() / n];
            for &(column, panel) in panels {
                terms.beneath(&sorted, ends, panel, (n, column), bytemuck::cast_slice_mut(sums));
            }
        });
        Some(Hard { numbers, sums, n })
    }

    /// What is to be added to a row.
    pub(super) fn row(&self, row: usize) -> Option<&[u8]> {
        let number = self.numbers[row].checked_sub(1)? as usize;
        Some(bytemuck::cast_slice(&self.sums[number * self.n..][..self.n]))
    }
}

/// The sparse operand, along what is summed over.
enum Left<'a> {
    /// Row `k` holds column `k` of it.
    Rows(ColumnsPanel, Stored),
    /// The same, and what makes its terms.
    Terms(ColumnsPanel, Terms<'a>),
    Blocks(Blocks),
}

impl Left<'_> {
    fn rows(&self) -> Option<&Stored> {
        match self {
            Left::Rows(_, rows) => Some(rows),
            Left::Terms(_, terms) => Some(terms.rows()),
            Left::Blocks(_) => None,
        }
    }

    /// Rows, of elements or of blocks.
    fn len(&self) -> usize {
        match self {
            Left::Blocks(blocks) => blocks.len(),
            _ => self.rows().map_or(0, Stored::len),
        }
    }

    /// Elements before a row.
    fn start(&self, row: usize) -> usize {
        match self {
            Left::Blocks(blocks) => blocks.start(row),
            _ => self.rows().map_or(0, |rows| rows.start(row)),
        }
    }

    /// Rows of the dense operand.
    fn depth(&self) -> usize {
        match self {
            Left::Blocks(blocks) => blocks.len() * blocks.depth(),
            _ => self.len(),
        }
    }
}

struct Panels<'a> {
    left: Left<'a>,
    /// The other operand, as `float64`.
    dense: Strided,
    /// Rows and columns of the result (of its transpose, where operands were exchanged).
    m: usize,
    n: usize,
}

impl Panels<'_> {
    /// The width of panels, beside so many slices: with which the thread that has most is done first, if a panel takes the time of its
    /// columns and of eight more to go through stored elements.
    fn width(&self, slices: usize) -> usize {
        let is_far = self.n <= LINE && self.m.saturating_mul(self.n * 8) > FAR;
        let threads = if is_far { 1 } else { parallel::threads().div_ceil(slices) };
        let time = |width: usize| self.n.div_ceil(width).div_ceil(threads) * (width + 8);
        WIDTHS.into_iter().rev().min_by_key(|&width| time(width)).unwrap_or(1)
    }

    /// The rows of the result in bands, one for each thread.
    fn bands(&self, slices: usize) -> Vec<Band> {
        let bytes = self.m.saturating_mul(self.n * 8);
        let whole = || vec![Band { rows: 0..self.m, from: all(0..self.left.len()) }];
        let is_few = slices == 1 && self.n < MANY && bytes > FAR && parallel::threads() > 1;
        let (Left::Rows(_, rows), true) = (&self.left, is_few) else { return whole() };
        let ends = with_index!(rows.view().indices, i => column_ends(i, parallel::threads(), self.m));
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let bands: Vec<Range<usize>> = starts.zip(ends.iter().copied()).map(|(start, end)| start..end).collect();
        let is_long = rows.nse() / LONG >= rows.len();
        let from = if is_long { Some(bands.mapped(|_| all(0..rows.len()))) } else { reaching(rows, &bands) };
        match from {
            Some(from) => bands.into_iter().zip(from).map(|(rows, from)| Band { rows, from }).collect(),
            None => whole(),
        }
    }

    /// Rows of the left operand in slices of like work.
    fn slices(&self) -> Vec<Range<usize>> {
        let rows = self.left.len();
        let nse = self.left.start(rows);
        let by_work = |columns: usize| by_work(nse, self.m * columns);
        let wanted = match self.left {
            // Terms would be made anew for each panel. Where the kernel makes them this takes less than to add many slices.
            Left::Terms(_, Terms::InKernel(_)) => by_work(self.n).div_ceil(2).next_power_of_two().min(SLICES / 4),
            Left::Terms(_, Terms::AtHand(_)) => by_work(self.n).clamp(1, SLICES),
            _ => slices(nse, self.m, self.n),
        };
        cut(rows, wanted, &|row| self.left.start(row))
    }

    fn run(&self, dtype: DType, is_mirrored: bool) -> Result<(Strided, Option<Hard>)> {
        let (m, n, k) = (self.m, self.n, self.left.depth());
        let slices = self.slices();
        let bands = self.bands(slices.len());
        let width = match bands.len() {
            1 => self.width(slices.len()),
            _ => WIDTHS.into_iter().find(|&width| width >= n).unwrap_or(MANY),
        };
        let panels = n.div_ceil(width);
        let size = dtype.size();
        let packed = match self.as_it_lies(panels) {
            Some(_) => Buffer::empty(),
            None => Buffer::build(k * panels * width * 8, |out| self.pack(width, f64::from_bytes_mut(out)))?,
        };
        let columns = |panel: usize| match self.as_it_lies(panels) {
            Some((values, stride)) => matmul::Columns { values: &values[panel * width..], stride, width },
            None => {
                let values = &packed.typed::<f64>()[panel * k * width..(panel + 1) * k * width];
                matmul::Columns { values, stride: width, width }
            }
        };
        let part = m * width;
        // Every panel meets the same hard elements; of the first they are listed, for each slice.
        let met: Vec<Mutex<Vec<Met>>> = slices.mapped(|_| Mutex::default());
        let sums = Buffer::filled(panels * slices.len() * part * 8, 8, |out| {
            let ends: Vec<usize> = (0..panels * slices.len())
                .flat_map(|before| bands.iter().map(move |band| before * part + band.rows.end * width))
                .collect();
            parallel::for_pieces_mut(f64::from_bytes_mut(out), &ends, &|task, acc| {
                // By the thread that adds to them.
                acc.fill(0.0);
                let (task, band) = (task / bands.len(), (bands.len() > 1).then(|| &bands[task % bands.len()]));
                let (number, slice) = (task / slices.len(), &slices[task % slices.len()]);
                let panel = columns(number);
                match &self.left {
                    Left::Rows(kernel, rows) => match band {
                        None => kernel(rows.view(), slice.clone(), None, panel, acc),
                        Some(band) => {
                            band.from.iter().for_each(|from| {
                                kernel(rows.view(), from.clone(), Some(band.rows.clone()), panel, acc);
                            });
                        }
                    },
                    Left::Blocks(blocks) => blocks.add_columns(slice.clone(), panel, acc),
                    // Every panel makes them again.
                    Left::Terms(_, Terms::InKernel(terms)) => {
                        let is_spare = (number + 1) * width > n;
                        let mut met = (number == 0).then(|| lock(&met[task]));
                        terms.add_columns(slice.clone(), (panel, is_spare), acc, met.as_deref_mut());
                    }
                    Left::Terms(kernel, Terms::AtHand(terms)) => {
                        terms.each(slice.clone(), number == 0, &mut |left, rows| kernel(left, rows, None, panel, acc));
                    }
                }
            });
        })?;
        let sums = if slices.len() == 1 { sums } else { added(&sums, slices.len(), part, panels)? };
        let hard = match self.left {
            Left::Terms(_, Terms::InKernel(terms)) => {
                let met = met.iter().flat_map(|met| lock(met).clone()).collect::<Vec<_>>();
                let all: Vec<_> = (0..panels).map(|panel| (panel * width, columns(panel))).collect();
                Hard::of(terms, &met, m, n, &all)
            }
            _ => None,
        };
        let shape = if is_mirrored { vec![n, m] } else { vec![m, n] };
        if n == width && (n == 1 || !is_mirrored) {
            let out = Strided::new(sums, DType::F64, shape);
            return Ok((if dtype == DType::F64 { out } else { out.cast(dtype) }, hard));
        }
        let sums = sums.typed::<f64>();
        let row = shape[1];
        // Of the mirrored result, rows that lie in one panel.
        let grain = if is_mirrored { width } else { (1usize << 14).div_ceil(row) };
        let out = Buffer::overwritten(m * n * size, size, |out| {
            parallel::for_chunks_mut(out, row * size, grain, &|first, out| {
                let rows = out.len() / (row * size);
                if is_mirrored {
                    let panel = &sums[first / width * part..][..part];
                    let mut block = [0.0; BLOCK];
                    // A block of the panel stays in the first cache while its columns are read one after the other.
                    for (i, from) in panel.chunks(BLOCK * width).enumerate() {
                        let block = &mut block[..from.len() / width];
                        for (j, out) in out.chunks_exact_mut(row * size).enumerate() {
                            block.iter_mut().zip(from[j..].iter().step_by(width)).for_each(|(o, &x)| *o = x);
                            let out = &mut out[i * BLOCK * size..][..block.len() * size];
                            Carrier::Float.finish(f64::as_bytes(block), dtype, out);
                        }
                    }
                } else {
                    for (i, out) in (first..first + rows).zip(out.chunks_exact_mut(row * size)) {
                        for (panel, out) in out.chunks_mut(width * size).enumerate() {
                            let from = &sums[panel * part + i * width..][..out.len() / size];
                            Carrier::Float.finish(f64::as_bytes(from), dtype, out);
                        }
                    }
                }
            });
        })?;
        Ok((Strided::new(out, dtype, shape), hard))
    }

    /// The dense operand from its first element on, and how far apart its rows are, if panels are best taken as they lie in it:
    /// columns are side by side, and a row is gone through but a few times.
    fn as_it_lies(&self, panels: usize) -> Option<(&[f64], usize)> {
        const FEW: usize = 2;
        let x = &self.dense;
        let stride = usize::try_from(x.strides[0]).ok()?;
        (panels <= FEW && (self.n == 1 || x.strides[1] == 1)).then(|| (&x.buffer.typed::<f64>()[x.offset..], stride))
    }

    /// The panels of the dense operand one after the other, each row by row; columns beyond the last are zero.
    fn pack(&self, width: usize, out: &mut [f64]) {
        let x = &self.dense;
        let values = x.buffer.typed::<f64>();
        let (rows, k) = (x.strides[0], self.left.depth());
        for (panel, out) in out.chunks_exact_mut(k * width).enumerate() {
            let first = panel * width;
            let count = width.min(self.n - first);
            let from = x.offset as isize + first as isize * x.strides[1];
            parallel::for_chunks_mut(out, width, (1 << 14) / width, &|r, out| {
                for (r, out) in (r..).zip(out.chunks_exact_mut(width)) {
                    let at = from + r as isize * rows;
                    for (j, o) in out[..count].iter_mut().enumerate() {
                        *o = values[(at + j as isize * x.strides[1]) as usize];
                    }
                }
            });
        }
    }
}

/// Rows of the result, and those of the left operand that may have elements for them.
struct Band {
    rows: Range<usize>,
    from: Vec<Range<usize>>,
}

fn all(rows: Range<usize>) -> Vec<Range<usize>> {
    std::iter::once(rows).collect()
}

/// The rows that reach each band, where few reach several, as those of grids do; `None` elsewhere, most often after a look at some.
fn reaching(rows: &Stored, bands: &[Range<usize>]) -> Option<Vec<Vec<Range<usize>>>> {
    const LOOKS: usize = 16;
    let n = rows.len();
    with_index!(rows.pointers.as_slice(), pointers => {
        let base = rows.pointers.get(0);
        let rows = transpose::Rows { pointers, base, indices: rows.indices.typed(), values: &[], width: 0, first: 0 };
        let count = n.div_ceil(STRETCH);
        let is_in_several = |stretch: usize| {
            let mut extent = [(0, 0)];
            rows.extents(stretch, &mut extent);
            let [(start, end)] = extent;
            bands.iter().filter(|band| start < band.end && end > band.start).count() > 1
        };
        if (0..LOOKS).filter(|look| is_in_several(look * count / LOOKS)).count() > LOOKS / 4 {
            return None;
        }
        let mut extents = vec![(0, 0); count];
        parallel::for_chunks_mut(&mut extents, 1, parallel::GRAIN / STRETCH, &|first, part| rows.extents(first, part));
        let from = bands.mapped(|band| transpose::stretches(&extents, n, band.clone()).mapped(|(rows, _)| rows.clone()));
        let reaching: usize = from.iter().flatten().map(|rows| rows.len()).sum();
        (reaching <= n + n / 4).then_some(from)
    })
}

/// The sums of the slices of every panel, in order.
fn added(sums: &Buffer, slices: usize, part: usize, panels: usize) -> Result<Buffer> {
    let sums = sums.typed::<f64>();
    Buffer::overwritten(panels * part * 8, 8, |out| {
        for (panel, out) in f64::from_bytes_mut(out).chunks_exact_mut(part).enumerate() {
            let of_panel = &sums[panel * slices * part..(panel + 1) * slices * part];
            parallel::for_chunks_mut(out, 1, 1 << 15, &|first, out| {
                out.copy_from_slice(&of_panel[first..][..out.len()]);
                for slice in 1..slices {
                    let from = &of_panel[slice * part + first..][..out.len()];
                    out.iter_mut().zip(from).for_each(|(o, x)| *o += x);
                }
            });
        }
    })
}
