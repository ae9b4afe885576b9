//! Matrices made ready for many products with vectors.
//!
//! A form is chosen by looking at where elements are, never by timing: the same matrix gets the same form everywhere, and
//! so the same bits.

use std::fmt;
use std::ops::Range;
use std::time::{Duration, Instant};

use openwork_ops::matmul::{BLOCK, Carrier, Diagonals as Kernel, Grid};
use openwork_ops::simd::gathers_are_slow;
use openwork_ops::structure::{IndexSlice, IndexVec, gather};
use openwork_ops::{DType, Scalar};

use super::is_over_zeros;
use super::operand::{Field, Stored, is_hyper_sparse};
use super::rows::{Parts, Pass};
use crate::base::buffer::Buffer;
use crate::base::context::{self, NanPolicy};
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::base::trace::{Work, raise};
use crate::levels::layout::Layout;
use crate::levels::level::Indices;
use crate::tensor::{Tensor, trace};

/// A matrix made ready for many products: what [`prepare`] gives.
///
/// It holds the tensor and what was made beside it, and lets go of both together. It is an [`Operator`](crate::linalg::Operator), so iterative methods
/// take it as they take a tensor; they prepare a tensor themselves.
#[derive(Debug)]
pub struct Prepared {
    tensor: Tensor,
    /// The same by rows, if that had to be made.
    rows: Option<Tensor>,
    special: Option<Special>,
    took: Duration,
}

/// How a [`Prepared`] matrix is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PreparedForm {
    /// As the tensor is stored: nothing was found that is quicker.
    AsStored,
    /// By compressed rows, into which the tensor was converted.
    Rows,
    /// By compressed rows whose columns are renumbered so that those met most often lie side by side: what is read of a
    /// vector that no cache holds is in the cache more often. Results have the same bits as without. Not on CPUs of AMD, where it does not pay.
    PackedColumns,
    /// By diagonals, without indices. Sums are made in another order, so that last bits may differ from those of the tensor.
    Diagonals,
}

impl fmt::Display for PreparedForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            PreparedForm::AsStored => "as stored",
            PreparedForm::Rows => "rows",
            PreparedForm::PackedColumns => "packed columns",
            PreparedForm::Diagonals => "diagonals",
        })
    }
}

/// What preparing cost and what it saves: see [`Prepared::gain`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Gain {
    /// Time that [`prepare`] took.
    pub preparing: Duration,
    /// Time of a product of the tensor as it was with a vector.
    pub before: Duration,
    /// Time of the same product of the prepared matrix.
    pub after: Duration,
}

impl Gain {
    /// After how many products with a vector preparing has paid; `None` if it never does.
    ///
    /// ```
    /// use openwork::{Layout, prepare, tensor};
    /// let ready = prepare(&tensor![[1.0, 0.0], [2.0, 3.0]; Layout::Csr, 0.0]?)?;
    /// match ready.gain()?.break_even() {
    ///     Some(products) => println!("pays after {products:.0} products"),
    ///     None => println!("never pays"),
    /// }
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn break_even(&self) -> Option<f64> {
        let saved = self.before.checked_sub(self.after).filter(|saved| !saved.is_zero())?;
        Some(self.preparing.as_secs_f64() / saved.as_secs_f64())
    }
}

/// Makes a matrix ready for many products with strided vectors, in the form that suits what it stores ([`PreparedForm`]).
///
/// A matrix of `float32` or `float64` over zeros gets a form of its own where at most 32 diagonals hold what is stored and
/// are at least four fifths full, or where half of what is stored meets few of many columns. Sparse matrices that are not
/// stored by rows are converted once, but for those by columns with far fewer rows (their sums fit into a cache, the vector does
/// not). Everything else stays as it is, and is multiplied as always.
///
/// Cost: one to three passes over what is stored; memory for a copy of it at most, see [`Prepared::nbytes`].
/// [`Prepared::gain`] measures after how many products that has paid.
///
/// ```
/// use openwork::{Layout, PreparedForm, Tensor, prepare, tensor};
///
/// let n = 1000;
/// let steps = Tensor::from_diagonals([n, n], &tensor![[-1.0], [1.0]].broadcast_to([2, n])?, &[0, 1], 0.0)?;
/// let ready = prepare(&steps.to_layout(Layout::Csr)?)?;
/// assert_eq!(ready.form(), PreparedForm::Diagonals);
/// let x = Tensor::arange(0.0, 1000.0, 1.0)?.square()?;
/// assert_eq!(ready.matmul(&x)?.to_vec::<f64>()?[..4], [1.0, 3.0, 5.0, 7.0]);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If the tensor has not two axes, or memory does not suffice.
pub fn prepare(a: &Tensor) -> Result<Prepared> {
    let call = trace::call("prepare", &[a]);
    if a.ndim() != 2 {
        return Err(error::shape(&[a.shape()], "a matrix is needed, with two axes"));
    }
    let started = Instant::now();
    let rows = match a.sparse() {
        Some(s) if a.layout() != Layout::Csr && !is_hyper_sparse(s) && !is_best_by_columns(a) => {
            Some(a.to_layout(Layout::Csr)?)
        }
        _ => None,
    };
    let special = Special::of(rows.as_ref().unwrap_or(a))?;
    let rows = rows.filter(|_| special.is_none());
    Ok(call.given(Prepared { tensor: a.clone(), rows, special, took: started.elapsed() }))
}

/// Whether columns are added to sums that stay in the cache, where rows would gather from a vector that no cache holds.
fn is_best_by_columns(a: &Tensor) -> bool {
    let [m, k] = [a.shape()[0], a.shape()[1]].map(|n| n.saturating_mul(a.dtype().size()));
    a.layout() == Layout::Csc && m <= 2 * PACKED && k > 2 * PACKED
}

impl Prepared {
    /// The tensor that was prepared.
    ///
    /// ```
    /// use openwork::{Layout, prepare, tensor};
    /// let ready = prepare(&tensor![[1.0, 0.0], [2.0, 3.0]; Layout::Csr, 0.0]?)?;
    /// assert_eq!(ready.tensor().layout(), Layout::Csr);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn tensor(&self) -> &Tensor {
        &self.tensor
    }

    /// How it is multiplied with a vector.
    ///
    /// ```
    /// use openwork::{Layout, PreparedForm, prepare, tensor};
    /// let by_columns = prepare(&tensor![[1.0, 0.0], [2.0, 3.0]; Layout::Csc, 0.0]?)?;
    /// println!("multiplied as {}", by_columns.form());
    /// assert_eq!(prepare(&tensor![[1, 0], [2, 3]])?.form(), PreparedForm::AsStored);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn form(&self) -> PreparedForm {
        match (&self.special, &self.rows) {
            (Some(Special::Diagonals(_)), _) => PreparedForm::Diagonals,
            (Some(Special::Packed(_)), _) => PreparedForm::PackedColumns,
            (None, Some(_)) => PreparedForm::Rows,
            (None, None) => PreparedForm::AsStored,
        }
    }

    /// Bytes that are held beside those of the tensor.
    ///
    /// ```
    /// use openwork::{Layout, prepare, tensor};
    /// let ready = prepare(&tensor![[1.0, 0.0], [2.0, 3.0]; Layout::Csr, 0.0]?)?;
    /// println!("{} bytes beside {}", ready.nbytes(), ready.tensor().nbytes());
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn nbytes(&self) -> usize {
        let arrays = |s: &Stored| s.pointers.buffer().len() + s.indices.buffer().len();
        match (&self.special, &self.rows) {
            // The rows are the tensor's own, if it was stored by them.
            (Some(special), _) => {
                let stored = special.stored();
                let is_own = self.tensor.layout() == Layout::Csr;
                let rows = if is_own { 0 } else { arrays(stored) + stored.terms.len() };
                rows + match special {
                    Special::Diagonals(d) => d.elements.len(),
                    Special::Packed(p) => p.columns.buffer().len() + p.order.buffer().len(),
                }
            }
            (None, Some(rows)) => rows.nbytes(),
            (None, None) => 0,
        }
    }

    /// The matrix product, as [`Tensor::matmul`]: of a strided vector of the same dtype by the form that was made, of anything
    /// else by compressed rows or as the tensor is stored.
    ///
    /// ```
    /// use openwork::{Layout, prepare, tensor};
    /// let ready = prepare(&tensor![[1.0, 0.0], [2.0, 3.0]; Layout::Csr, 0.0]?)?;
    /// assert_eq!(ready.matmul(&tensor![1.0, 10.0])?.to_vec::<f64>()?, [1.0, 32.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::matmul`].
    pub fn matmul(&self, x: &Tensor) -> Result<Tensor> {
        let call = trace::call("matmul", &[&self.tensor, x]);
        call.end(self.multiply(x))
    }

    fn multiply(&self, x: &Tensor) -> Result<Tensor> {
        let [m, k] = [self.tensor.shape()[0], self.tensor.shape()[1]];
        let is_vector = x.shape() == [k] || x.shape() == [k, 1];
        // Under that policy an unstored zero meets what is not finite.
        let is_fit = is_vector && x.dtype() == self.tensor.dtype() && context::nan_policy() != NanPolicy::Exact;
        if let (Some(special), Some(vector), true) = (&self.special, x.strided(), is_fit) {
            raise(Work::Specialised);
            let vector = vector.to_contiguous()?;
            let out = special.times(&vector, m)?;
            let shape = if x.ndim() == 1 { vec![m] } else { vec![m, 1] };
            return Ok(Tensor::from_strided(Strided::new(out, x.dtype(), shape)));
        }
        // A sparse result has the layout that the tensor's asks for.
        let by_rows = self.rows.as_ref().filter(|_| x.is_strided());
        by_rows.unwrap_or(&self.tensor).matmul(x)
    }

    /// Measures what preparing has gained: the least of three times of a product with a vector of ones, as the tensor is and
    /// prepared.
    ///
    /// ```
    /// use openwork::{Layout, prepare, tensor};
    /// let ready = prepare(&tensor![[1.0, 0.0], [2.0, 3.0]; Layout::Csr, 0.0]?)?;
    /// let gain = ready.gain()?;
    /// println!("{:?} took {:?}, now {:?}", ready.form(), gain.before, gain.after);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::matmul`].
    pub fn gain(&self) -> Result<Gain> {
        let dtype = self.tensor.dtype();
        let x = Tensor::full([self.tensor.shape()[1]], Scalar::one(dtype), Layout::Strided)?;
        let least = |product: &dyn Fn() -> Result<Tensor>| -> Result<Duration> {
            let mut least = Duration::MAX;
            for _ in 0..3 {
                let started = Instant::now();
                product()?;
                least = least.min(started.elapsed());
            }
            Ok(least)
        };
        let (before, after) = (least(&|| self.tensor.matmul(&x))?, least(&|| self.matmul(&x))?);
        Ok(Gain { preparing: self.took, before, after })
    }
}

/// A form of floats over zeros for products with one vector.
#[derive(Debug)]
enum Special {
    Diagonals(Diagonals),
    Packed(Packed),
}

impl Special {
    /// Of compressed rows; `None` where no form suits them.
    fn of(a: &Tensor) -> Result<Option<Special>> {
        let (Some(s), Layout::Csr, DType::F32 | DType::F64) = (a.sparse(), a.layout(), a.dtype()) else {
            return Ok(None);
        };
        if !is_over_zeros(s) || !s.pattern.is_canonical() || s.nse() == 0 {
            return Ok(None);
        }
        let stored = Stored::new(s, Carrier::new(a.dtype(), false), false, true)?;
        if stored.is_wide() {
            return Ok(None);
        }
        let (dtype, n) = (a.dtype(), s.shape[1]);
        if let Some(diagonals) = Diagonals::of(&stored, dtype, n)? {
            return Ok(Some(Special::Diagonals(diagonals)));
        }
        Ok(Packed::of(&stored, dtype, n)?.map(Special::Packed))
    }

    fn stored(&self) -> &Stored {
        match self {
            Special::Diagonals(d) => &d.stored,
            Special::Packed(p) => &p.stored,
        }
    }

    /// The product with a vector that lies in one piece, `m` elements.
    fn times(&self, x: &Strided, m: usize) -> Result<Buffer> {
        match self {
            Special::Diagonals(d) => d.times(x, m),
            Special::Packed(p) => p.times(x, m),
        }
    }
}

/// Where rows begin and what columns their entries have.
struct Places<'a> {
    starts: &'a [u32],
    columns: &'a [u32],
    base: usize,
}

impl Places<'_> {
    /// Of 32-bit indices.
    fn of(s: &Stored) -> Option<Places<'_>> {
        match (s.pointers.as_slice(), s.indices.as_slice()) {
            (IndexSlice::U32(starts), IndexSlice::U32(columns)) => {
                Some(Places { starts, columns, base: s.pointers.get(0) })
            }
            _ => None,
        }
    }

    /// The first entry of a row, and the columns of all of them.
    fn row(&self, r: usize) -> (usize, &[u32]) {
        let [start, end] = [r, r + 1].map(|r| self.starts[r] as usize - self.base);
        (start, &self.columns[start..end])
    }
}

/// Diagonals, at most, and of how many places on them (4 of 5) there must be elements.
const MOST: usize = 32;
const FULL: [usize; 2] = [4, 5];

/// Rows that one task takes: a multiple of those of a block.
const ROWS: usize = 1 << 14;

/// Elements by diagonals, in the order of the kernel, and the rows beside them for what does not fit: the first and the last
/// rows, where diagonals leave the matrix, and those that meet what is not finite.
struct Diagonals {
    stored: Stored,
    dtype: DType,
    kernel: Kernel,
    /// Column less row.
    offsets: Vec<isize>,
    /// The rows in blocks.
    inner: Range<usize>,
    elements: Buffer,
}

impl fmt::Debug for Diagonals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Diagonals").field("offsets", &self.offsets).field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl Diagonals {
    fn of(stored: &Stored, dtype: DType, n: usize) -> Result<Option<Diagonals>> {
        let m = stored.len();
        let Some(kernel) = Carrier::new(dtype, false).kernels().diagonals() else { return Ok(None) };
        let Some(places) = Places::of(stored) else { return Ok(None) };
        let Some(offsets) = offsets(&places, m) else { return Ok(None) };
        let [Some(&least), Some(&greatest)] = [offsets.first(), offsets.last()] else { return Ok(None) };
        let first = least.min(0).unsigned_abs().next_multiple_of(BLOCK);
        let end = n.saturating_sub(greatest.max(0).unsigned_abs()).min(m) / BLOCK * BLOCK;
        if end <= first || 2 * (end - first) < m || stored.nse() * FULL[1] < offsets.len() * m * FULL[0] {
            return Ok(None);
        }
        let inner = first..end;
        let (size, count) = (dtype.size(), offsets.len());
        let terms = stored.terms.bytes();
        let elements = Buffer::build((end - first) * count * size, |out| {
            parallel::for_chunks_mut(out, BLOCK * count * size, ROWS / BLOCK, &|block, out| {
                for (i, out) in out.chunks_exact_mut(BLOCK * count * size).enumerate() {
                    for lane in 0..BLOCK {
                        let r = first + (block + i) * BLOCK + lane;
                        let (start, columns) = places.row(r);
                        let mut d = 0;
                        for (e, &k) in (start..).zip(columns) {
                            // Both rise.
                            while offsets[d] < k as isize - r as isize {
                                d += 1;
                            }
                            let at = (d * BLOCK + lane) * size;
                            out[at..at + size].copy_from_slice(&terms[e * size..(e + 1) * size]);
                        }
                    }
                }
            });
        })?;
        Ok(Some(Diagonals { stored: stored.clone(), dtype, kernel, offsets, inner, elements }))
    }

    fn times(&self, x: &Strided, m: usize) -> Result<Buffer> {
        let size = self.dtype.size();
        let x = x.contiguous_bytes().unwrap_or_default();
        Buffer::overwritten(m * size, size, |out| {
            parallel::for_chunks_mut(out, size, ROWS, &|first, out| {
                let end = first + out.len() / size;
                let from = self.inner.start.clamp(first, end);
                let to = self.inner.end.clamp(from, end);
                let (head, rest) = out.split_at_mut((from - first) * size);
                let (blocks, tail) = rest.split_at_mut((to - from) * size);
                self.rows(first..from, x, head);
                self.rows(to..end, x, tail);
                if from == to {
                    return;
                }
                let of_row = self.offsets.len() * size;
                let start = (from - self.inner.start) * of_row;
                let elements = &self.elements.bytes()[start..start + (to - from) * of_row];
                let is_finite = (self.kernel)(elements, &self.offsets, from, x, blocks);
                if !is_finite && !faults::is(Fault::GapsMultiplied) {
                    self.rows(from..to, x, blocks);
                }
            });
        })
    }

    /// Some rows as they are stored.
    fn rows(&self, rows: Range<usize>, x: &[u8], out: &mut [u8]) {
        if rows.is_empty() {
            return;
        }
        let carrier = Carrier::new(self.dtype, false);
        let x = Grid { values: x, row: 1, col: 1 };
        let is_done = carrier.kernels().sparse_dense_rounded(self.stored.view(), rows, x, 1, out, false);
        debug_assert!(is_done, "floats with 32-bit indices have this kernel");
    }
}

/// The different distances of columns from rows, rising; `None` if there are more than [`MOST`].
fn offsets(places: &Places<'_>, m: usize) -> Option<Vec<isize>> {
    let of_rows = |rows: Range<usize>| {
        let mut found: Vec<isize> = Vec::new();
        for r in rows {
            let mut d = 0;
            for &k in places.row(r).1 {
                let offset = k as isize - r as isize;
                while found.get(d).is_some_and(|&o| o < offset) {
                    d += 1;
                }
                if found.get(d) != Some(&offset) {
                    if found.len() == MOST {
                        return None;
                    }
                    found.insert(d, offset);
                }
            }
        }
        Some(found)
    };
    let parts = parallel::map_chunks(m, ROWS, &of_rows);
    let mut all = Vec::new();
    for part in parts {
        all.extend(part?);
    }
    all.sort_unstable();
    all.dedup();
    (all.len() <= MOST).then_some(all)
}

/// Bytes of the columns that are packed: what a second-level cache holds beside the rest.
const PACKED: usize = 1 << 20;

/// Compressed rows with columns renumbered: the most frequent first, the rest in their order after them.
struct Packed {
    stored: Stored,
    dtype: DType,
    n: usize,
    columns: Indices,
    /// The column at each new place.
    order: Indices,
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packed").field("columns", &self.n).finish_non_exhaustive()
    }
}

impl Packed {
    fn of(stored: &Stored, dtype: DType, n: usize) -> Result<Option<Packed>> {
        let room = PACKED / dtype.size();
        let Some(Places { columns, .. }) = Places::of(stored) else { return Ok(None) };
        // Where gathers are slow they take as long from the next cache, and the vector is packed at each product for nothing.
        if n < 2 * room || columns.len() < 4 * n || gathers_are_slow() {
            return Ok(None);
        }
        let mut counts = vec![0u32; n];
        for &k in columns {
            counts[k as usize] += 1;
        }
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.select_nth_unstable_by_key(room, |&k| (std::cmp::Reverse(counts[k as usize]), k));
        let (often, seldom) = order.split_at_mut(room);
        let met: u64 = often.iter().map(|&k| u64::from(counts[k as usize])).sum();
        if met < columns.len() as u64 / 2 {
            return Ok(None);
        }
        // Those met most often share the smallest cache.
        often.sort_unstable_by_key(|&k| (std::cmp::Reverse(counts[k as usize]), k));
        seldom.sort_unstable();
        let mut places = counts;
        for (place, &k) in order.iter().enumerate() {
            places[k as usize] = place as u32;
        }
        let mut renumbered = vec![0u32; columns.len()];
        parallel::for_chunks_mut(&mut renumbered, 1, parallel::GRAIN, &|first, out| {
            for (o, &k) in out.iter_mut().zip(&columns[first..]) {
                *o = places[k as usize];
            }
        });
        let [columns, order] = [renumbered, order].map(|v| IndexVec::U32(v).into());
        Ok(Some(Packed { stored: stored.clone(), dtype, n, columns, order }))
    }

    fn times(&self, x: &Strided, m: usize) -> Result<Buffer> {
        let size = self.dtype.size();
        let bytes = x.contiguous_bytes().unwrap_or_default();
        let packed = Buffer::filled(self.n * size, size, |out| {
            parallel::for_chunks_mut(out, size, parallel::GRAIN, &|first, out| {
                let order = self.order.as_slice().range(first..first + out.len() / size);
                gather::gather_rows(bytes, size, order, out);
            });
        })?;
        let carrier = Carrier::new(self.dtype, false);
        let field = Field::of(packed, &[self.n, 1], size);
        let rows = Stored { indices: self.columns.clone(), ..self.stored.clone() };
        let pass = Pass {
            carrier,
            parts: Parts { rows: true, ..Parts::default() },
            batch: Vec::new(),
            m,
            k: self.n,
            n: 1,
            left: Some(&rows),
            left_against: None,
            left_terms: None,
            right: None,
            left_field: None,
            right_field: Some(&field),
            init: None,
            mask: None,
        };
        pass.all_rows(&|acc, out| carrier.finish(acc, self.dtype, out), size)
    }
}
