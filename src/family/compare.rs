//! Whole tensors compared, without making either dense.

use crate::base::mapped::Mapped;
use openwork_ops::closeness::{Tolerance, close};
use openwork_ops::{BinaryOp, DType, identity, promote};

use crate::base::error::{self, Result};
use crate::base::shape::{broadcast_shapes, elements};
use crate::base::strided::{Strided, c_strides};
use crate::engine::blocks::{self, Kernel, ManyKernel, Source};
use crate::engine::join::join;
use crate::engine::sides::Side;
use crate::levels::pattern::Pattern;
use crate::tensor::Tensor;
use crate::tensor::trace;

/// Elements of the fills that are compared at once.
const CHUNK: usize = 1 << 16;

/// # Comparing whole tensors
impl Tensor {
    /// Whether both have the same shape and all their elements are equal (NumPy's `array_equal`, PyTorch's `equal`).
    /// Elements are compared after promotion, so that 1 equals 1.0, and −0 equals 0; NaN equals nothing.
    /// What is absent in one must be absent in the other. Layouts, and fills of which nothing is left, do not matter.
    ///
    /// Cost: O(nse of both); where fills vary, also the product of the axes along which they do.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 0.0], [0.0, 2.0]];
    /// assert!(x.equal(&x.to_sparse(Layout::Csr, 0.0)?)?); // storage does not matter
    /// assert!(!x.equal(&(&x + 1e-9)?)?);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the shapes are the same and the dtypes do not promote (`uint64` with a signed integer).
    #[doc(alias("array_equal"))]
    pub fn equal(&self, other: &Tensor) -> Result<bool> {
        let call = trace::call("equal", &[self, other]);
        call.end(self.is_equal(other, false))
    }

    /// As [`Tensor::equal`], but NaN equals NaN.
    ///
    /// # Errors
    /// As [`Tensor::equal`].
    pub fn equal_nan(&self, other: &Tensor) -> Result<bool> {
        let call = trace::call("equal_nan", &[self, other]);
        call.end(self.is_equal(other, true))
    }

    fn is_equal(&self, other: &Tensor, equal_nan: bool) -> Result<bool> {
        if self.shape() != other.shape() {
            return Ok(false);
        }
        let tolerance = Tolerance { rtol: 0.0, atol: 0.0, equal_nan };
        let common = common(self, other)?;
        let unequal = BinaryOp::Ne.kernel(common);
        agree(self, other, common, &|x, out| match unequal {
            Some(unequal) if !equal_nan => unequal(x[0], x[1], out),
            _ => far(common, x, out, tolerance),
        })
    }

    /// Whether all elements are close: `|a - b| <= atol + rtol * |b|`, as in [`Tensor::isclose`]. Shapes broadcast. What
    /// is absent in one must be absent in the other.
    ///
    /// Cost: as [`Tensor::equal`].
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![1.0, 2.0];
    /// assert!(x.allclose(&(&x * (1.0 + 1e-9))?, 1e-6, 0.0)?);
    /// assert!(!x.allclose(&(&x * 1.01)?, 1e-6, 0.0)?);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If shapes do not broadcast, dtypes do not promote, or a tolerance is negative or NaN.
    pub fn allclose(&self, other: &Tensor, rtol: f64, atol: f64) -> Result<bool> {
        let call = trace::call("allclose", &[self, other]);
        call.end(self.is_all_close(other, rtol, atol, false))
    }

    /// As [`Tensor::allclose`], but NaN is close to NaN.
    ///
    /// # Errors
    /// As [`Tensor::allclose`].
    pub fn allclose_nan(&self, other: &Tensor, rtol: f64, atol: f64) -> Result<bool> {
        let call = trace::call("allclose_nan", &[self, other]);
        call.end(self.is_all_close(other, rtol, atol, true))
    }

    fn is_all_close(&self, other: &Tensor, rtol: f64, atol: f64, equal_nan: bool) -> Result<bool> {
        let tolerance = tolerance(rtol, atol, equal_nan)?;
        let common = common(self, other)?;
        agree(self, other, common, &|x, out| far(common, x, out, tolerance))
    }

    /// Whether both mean the same: shape, dtype, where an element is absent, and every element bit for bit (NaN like
    /// NaN; −0 is not 0). Layouts, fills, order and duplicates do not matter, as far as they mean the same: this is the
    /// equality that conversions keep.
    ///
    /// Cost: as [`Tensor::equal`].
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 0.0]; Layout::Csr, 0.0]?;
    /// assert!(x.same_meaning(&x.to_layout(Layout::Coo)?)?);
    /// assert!(!x.same_meaning(&x.stored())?); // an element is absent
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If one tensor's fill has to be compared with another's along more elements than can be counted.
    pub fn same_meaning(&self, other: &Tensor) -> Result<bool> {
        let call = trace::call("same_meaning", &[self, other]);
        let dtype = self.dtype();
        if self.shape() != other.shape() || dtype != other.dtype() {
            return Ok(call.done(false));
        }
        let differs = identity::differs(dtype);
        call.end(agree(self, other, dtype, &|x, out| differs(x[0], x[1], out)))
    }
}

/// Checked tolerances.
pub(crate) fn tolerance(rtol: f64, atol: f64, equal_nan: bool) -> Result<Tolerance> {
    match [("rtol", rtol), ("atol", atol)].into_iter().find(|(_, t)| t.is_nan() || *t < 0.0) {
        None => Ok(Tolerance { rtol, atol, equal_nan }),
        Some((name, t)) => Err(error::invalid(name, format_args!("{t} given; a tolerance is at least 0"))),
    }
}

/// The dtype in which two tensors are compared.
pub(crate) fn common(a: &Tensor, b: &Tensor) -> Result<DType> {
    let dtypes = [a.dtype(), b.dtype()];
    let why = "no dtype holds the values of both; cast one side";
    promote(dtypes[0], dtypes[1]).ok_or_else(|| error::dtype(&dtypes, why))
}

fn far(dtype: DType, x: &[&[u8]], out: &mut [u8], tolerance: Tolerance) {
    close(dtype, x[0], x[1], out, tolerance);
    out.iter_mut().for_each(|o| *o ^= 1);
}

/// Whether the kernel, which says what differs, finds nothing in tensors that broadcast.
fn agree(a: &Tensor, b: &Tensor, compute: DType, differs: ManyKernel<'_>) -> Result<bool> {
    let shape = broadcast_shapes(a.shape(), b.shape())?;
    if shape.contains(&0) {
        return Ok(true);
    }
    let mut sides = [Side::spread_over(a, &shape)?, Side::spread_over(b, &shape)?];
    let absent = [sides[0].is_undefined(), sides[1].is_undefined()];
    let size = elements(&shape);
    let pattern = join(&shape, &mut sides, false)?;
    if let Some(pattern) = &pattern {
        let stored = pattern.positions * pattern.block();
        // Two that are absent where nothing is stored must store the same; one, everything.
        let everywhere = |side: &Side<'_>| side.presence().is_none_or(|there| there.iter().all(|&t| t));
        if (absent[0] || absent[1]) && !sides.iter().all(everywhere) {
            return Ok(false);
        }
        if absent[0] != absent[1] && (stored as u64) < size {
            return Ok(false);
        }
        let sources = [sides[0].source(pattern, None)?, sides[1].source(pattern, None)?];
        if any(stored, &sources, compute, differs)? {
            return Ok(false);
        }
        if stored as u64 == size {
            return Ok(true); // nothing is left of the fills
        }
    }
    match (sides[0].rest.spread(&shape), sides[1].rest.spread(&shape)) {
        (Some(x), Some(y)) => fills_agree([&x, &y], pattern.as_deref(), compute, differs),
        _ => Ok(true),
    }
}

fn any(n: usize, sources: &[Source<'_>], compute: DType, differs: ManyKernel<'_>) -> Result<bool> {
    let mask = blocks::run(n, sources, compute, DType::Bool, Kernel::Many(differs))?;
    Ok(mask.bytes().iter().any(|&m| m != 0))
}

/// Whether two backgrounds agree wherever not all elements are stored.
fn fills_agree(
    fills: [&Strided; 2],
    pattern: Option<&Pattern>,
    compute: DType,
    differs: ManyKernel<'_>,
) -> Result<bool> {
    let shape = &fills[0].shape;
    let varies = |d: usize| shape[d] > 1 && fills.iter().any(|f| f.strides[d] != 0);
    let core: Vec<usize> = (0..shape.len()).mapped(|d| if varies(d) { shape[d] } else { 1 });
    let Some(cells) = core.iter().try_fold(1usize, |n, &s| n.checked_mul(s)) else {
        return Err(error::shape(&[&core], "the fills vary along more elements than can be compared"));
    };
    let of_cell = (0..shape.len()).filter(|&d| !varies(d)).fold(1u128, |n, d| n.saturating_mul(shape[d] as u128));
    let stored = pattern.map_or(0, |p| p.positions * p.block());
    let bound = (stored as u128 / of_cell) as usize;
    let arrays = fills.map(|f| Strided { shape: core[..].into(), ..f.clone() });
    let mut differing: Vec<u64> = Vec::new();
    for start in (0..cells).step_by(CHUNK) {
        let n = CHUNK.min(cells - start);
        let sources = arrays.each_ref().map(|a| window(a, start, n));
        let mask = blocks::run(n, &sources, compute, DType::Bool, Kernel::Many(differs))?;
        differing.extend(mask.bytes().iter().enumerate().filter(|(_, m)| **m != 0).map(|(i, _)| (start + i) as u64));
        if differing.len() > bound {
            return Ok(false); // no pattern covers that many
        }
    }
    match pattern {
        Some(pattern) => Ok(covers(pattern, &core, &differing, of_cell)),
        None => Ok(differing.is_empty()),
    }
}

/// Elements `start..start + n` of an array in C order.
fn window(x: &Strided, start: usize, n: usize) -> Source<'_> {
    if x.strides.iter().zip(&x.shape).all(|(&s, &n)| s == 0 || n == 1) {
        return Source::Constant(x.at_offset(x.offset));
    }
    let buffer = crate::base::buffer::Buffer::of_held(n * x.dtype.size(), |out| x.read(start, out));
    Source::Strided(Strided::new(buffer, x.dtype, vec![n]).into())
}

/// Whether a pattern holds all of the `of_cell` elements for which each of these cells of `core` stands.
fn covers(pattern: &Pattern, core: &[usize], cells: &[u64], of_cell: u128) -> bool {
    if cells.is_empty() {
        return true;
    }
    let weight = |(&n, s): (&usize, isize)| if n == 1 { 0 } else { s as u64 };
    let weights: Vec<u64> = core.iter().zip(c_strides(core)).map(weight).collect();
    let rows = pattern.linearize_all(&pattern.level_weights(&weights));
    let within = pattern.row_form(&weights);
    let mut counts = vec![0u128; cells.len()];
    for row in rows {
        for i in 0..within.len() {
            if let Ok(cell) = cells.binary_search(&row.wrapping_add(within.at(i))) {
                counts[cell] += 1;
            }
        }
    }
    counts.iter().all(|&n| n == of_cell)
}
