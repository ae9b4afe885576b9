//! Products over other ops than `+` and `*`, and with a mask.

use openwork_ops::matmul::Semiring;
use openwork_ops::{BinaryOp, Scalar, Side};

use super::extent::Looked;
use super::{Way, is_zero, multiply};
use crate::base::context::{self, NanPolicy};
use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::engine::convert;
use crate::levels::layout::Layout;
use crate::tensor::fill::Fill;
use crate::tensor::{Tensor, trace};

/// Whether what a sparse operand with a defined fill does not store adds nothing to the product.
pub(super) fn adds_nothing(x: &Tensor, other: &Tensor, way: Way, side: Side) -> bool {
    let Some(fill) = x.sparse().and_then(|s| s.fill_values()) else { return true };
    let core = fill.unbroadcast();
    let exact = match (way.is_sum(), x.fill().and_then(Fill::as_scalar)) {
        _ if x.size() == 0 => true,
        (true, _) if is_zero(&core) => false,
        (true, _) | (_, None) => return false,
        (false, Some(fill)) => match way.semiring.skips(fill, side) {
            None => return faults::is(Fault::AnyFillSkipped),
            Some(exact) => exact,
        },
    };
    if exact || !x.dtype().is_inexact() {
        return true;
    }
    let same = |own: Scalar| other.fill().and_then(Fill::as_scalar).is_some_and(|fill| fill.same(own));
    let meets_itself = x.fill().and_then(Fill::as_scalar).is_some_and(same);
    let other = Looked::new(other);
    (meets_itself || other.fill().is_finite) && (context::nan_policy() != NanPolicy::Exact || other.stored().is_finite)
}

/// A sparse operand as a strided one, where what it does not store has to be computed with.
pub(super) fn densified(x: &Tensor, other: &Tensor, way: Way, side: Side) -> Result<Option<Tensor>> {
    let Some((s, fill)) = x.sparse().and_then(|s| Some((s, s.fill_values()?))) else { return Ok(None) };
    if adds_nothing(x, other, way, side) {
        return Ok(None);
    }
    context::may_densify(&s.shape, s.dtype().size(), || {
        let of = way.semiring.name();
        format!(
            "unstored elements take part in {of}, as they are not such that it leaves them out; store() an undefined fill, or one that adds nothing"
        )
    })?;
    Ok(Some(Tensor::from_strided(convert::to_strided(s, &fill)?)))
}

/// What [`Tensor::matmul_with`] is asked for beside its operands: a semiring, a mask, what the product is added to.
///
/// ```
/// use openwork::{BinaryOp, Product, Semiring};
/// let plain = Product::default();                      // a.matmul(&b)
/// let shortest = Product::from(Semiring::MIN_PLUS);    // the least sum over k
/// assert_ne!(format!("{plain:?}"), format!("{shortest:?}"));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Product<'a> {
    semiring: Semiring,
    mask: Option<&'a Tensor>,
    accumulate: Option<(&'a Tensor, BinaryOp)>,
    is_replaced: bool,
    layout: Option<Layout>,
}

impl Default for Product<'_> {
    fn default() -> Self {
        Product::from(Semiring::PLUS_TIMES)
    }
}

impl From<Semiring> for Product<'_> {
    fn from(semiring: Semiring) -> Self {
        Product { semiring, mask: None, accumulate: None, is_replaced: false, layout: None }
    }
}

impl<'a> Product<'a> {
    /// Only the elements where this bool tensor, which broadcasts to the product, is true: all others are absent.
    ///
    /// A mask counts by value, as in [`Tensor::mask`]. What a tensor stores is `m.is_stored()?`, and the complement of a
    /// mask is `m.logical_not()?`; both cost little, whatever is stored.
    ///
    /// ```
    /// use openwork::{Layout, Product, tensor};
    /// let (a, b) = (tensor![[1, 2], [3, 4]], tensor![[1, 0], [1, 1]]);
    /// let m = tensor![[true, false], [false, true]; Layout::Csr, false]?;
    /// let only = a.matmul_with(&b, Product::default().mask(&m))?;
    /// assert_eq!((only.nse(), only.stored_values().to_vec::<i32>()?), (2, vec![3, 4]));
    /// let others = m.logical_not()?;
    /// assert_eq!(a.matmul_with(&b, Product::default().mask(&others))?.replace_fill(0)?.to_vec::<i32>()?, [0, 2, 7, 0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn mask(self, mask: &'a Tensor) -> Product<'a> {
        Product { mask: Some(mask), ..self }
    }

    /// Adds the product to `to`: an element that both have is `op(to, product)`, one that one has stays. With a mask,
    /// elements of `to` outside it stay as they are.
    ///
    /// ```
    /// use openwork::{BinaryOp, Product, tensor};
    /// let (a, c) = (tensor![[1, 2], [3, 4]], tensor![[100, 0], [0, 100]]);
    /// let sum = a.matmul_with(&a, Product::default().accumulate(&c, BinaryOp::Add))?;
    /// assert_eq!(sum.to_vec::<i32>()?, [107, 10, 15, 122]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn accumulate(self, to: &'a Tensor, op: BinaryOp) -> Product<'a> {
        Product { accumulate: Some((to, op)), ..self }
    }

    /// Drops what lies outside the mask, instead of keeping what is accumulated to there.
    ///
    /// ```
    /// use openwork::{BinaryOp, Product, tensor};
    /// let (a, c, m) = (tensor![[1, 2], [3, 4]], tensor![[100, 0], [0, 100]], tensor![[true, false], [false, false]]);
    /// let add = Product::default().mask(&m).accumulate(&c, BinaryOp::Add);
    /// assert_eq!(a.matmul_with(&a, add.clone())?.nse(), 4); // all of `c` is there still
    /// assert_eq!(a.matmul_with(&a, add.replace())?.stored_values().to_vec::<i32>()?, [107]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn replace(self) -> Product<'a> {
        Product { is_replaced: true, ..self }
    }

    /// The layout of the result, instead of the one that the operands' layouts give. A strided product of sparse operands is summed in
    /// place, without a sparse one before it: for products most of whose elements something is added to.
    ///
    /// ```
    /// use openwork::{Layout, Product, tensor};
    /// let a = tensor![[1, 2], [0, 4]; Layout::Csr, 0]?;
    /// assert_eq!(a.matmul_with(&a, Product::default().layout(Layout::Strided))?.layout(), Layout::Strided);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn layout(self, layout: Layout) -> Product<'a> {
        Product { layout: Some(layout), ..self }
    }
}

/// # Matrix products over other ops, and masked
impl Tensor {
    /// The matrix product over a semiring: `c[i, j] = ⊕ over k of (a[i, k] ⊗ b[k, j])`, perhaps only where a mask is true,
    /// perhaps added to another tensor. GraphBLAS's `mxm`, `mxv` and `vxm`, in any number of dimensions: shapes are those
    /// of [`Tensor::matmul`].
    ///
    /// dtype: what ⊕ gives of ⊗ of the promoted dtype: that dtype for most, bool for `or` and `and`, `int64` for counts of
    /// pairs of bools. Sums and products accumulate as those of [`Tensor::sum`] do, and are cast to it at the end.
    ///
    /// **Fill**, without a mask: a defined fill that adds nothing to ⊕ whatever ⊗ makes of it (0 for sums of products, +∞
    /// for least sums) costs nothing, and two of them give the sum of nothing as the result's fill. An operand with any
    /// other defined fill takes part as a strided one, within the densify budget ([`Semiring::PLUS_TIMES`] takes fills apart,
    /// as [`Tensor::matmul`] does). Absent elements are skipped, and an element in which nothing meets is absent: graphs are
    /// best stored with an undefined fill ([`Tensor::stored`]), over which no semiring is dense. Unstored elements that add
    /// nothing do so beside NaN and infinity too (see [`NanPolicy`]).
    ///
    /// **With a mask** elements outside it are absent, so that the fill is undefined; `matmul_with(b, product.mask(m))` is
    /// `matmul_with(b, product)?.mask(m)`, but what the mask drops is never computed: of strided operands one sum for each
    /// true element, of sparse ones those rows and columns that the mask lets through.
    ///
    /// **Cost:** as [`Tensor::matmul`], times the cost of the two ops, which run in blocks; with a mask O(k) for each of its
    /// true elements where an operand is strided, O(pairs that meet) where both are sparse. A strided mask that is
    /// repeated along an axis is applied to a sparse product afterwards; a sparse one is repeated.
    ///
    /// ```
    /// use openwork::{BinaryOp, Fill, Layout, Product, Semiring, Tensor};
    /// // Ways between four places and their lengths; there is none where nothing is stored.
    /// let ways = Tensor::coo([4, 4], vec![vec![0, 0, 1, 2], vec![1, 2, 3, 3]], &Tensor::from(vec![1.0, 4.0, 6.0, 2.0]), Fill::Undefined)?;
    /// let two = ways.matmul_with(&ways, Semiring::MIN_PLUS)?;
    /// assert_eq!(two.get([0, 3])?.map(|v| v.to::<f64>()), Some(6.0)); // over 2: 4 + 2, over 1: 1 + 6
    /// // Triangles: pairs of edges that meet, counted at edges only.
    /// let edges = Tensor::coo([3, 3], vec![vec![1, 2, 2], vec![0, 0, 1]], &Tensor::from(vec![true; 3]), false)?;
    /// let at = edges.stored().matmul_with(&edges.stored(), Product::from(Semiring::PLUS_PAIR).mask(&edges))?;
    /// assert_eq!(at.sum(..)?.item_as::<i64>()?, 1);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::matmul`]; if an op of the semiring is not defined for the dtype, the mask is not bool or does not
    /// broadcast to the product, what is accumulated to does not have its shape, or the layout asked for cannot hold the result
    /// (a strided one that memory cannot hold, or in which an element is absent).
    #[doc(alias("mxm", "mxv", "vxm", "semiring", "masked_matmul"))]
    pub fn matmul_with<'a>(&self, other: &Tensor, product: impl Into<Product<'a>>) -> Result<Tensor> {
        let product = product.into();
        let mut operands = vec![self, other];
        operands.extend(product.mask);
        operands.extend(product.accumulate.map(|(to, _)| to));
        let call = trace::call("matmul_with", &operands);
        let is_dense = product.layout == Some(Layout::Strided);
        let out = multiply(self, other, product.semiring, product.mask, is_dense)?;
        let finished = |out: Tensor| match product.layout {
            Some(layout) => out.to_layout(layout),
            None => Ok(out),
        };
        let Some((to, op)) = product.accumulate else { return call.end(finished(out)) };
        let to = &to.broadcast_to(out.shape())?;
        let filled = |x: &Tensor| if x.is_strided() { Ok(x.clone()) } else { x.replace_fill(0) };
        let is_absent = |x: &Tensor| x.fill().is_some_and(Fill::is_undefined);
        // With a mask the product is absent outside: there `to` stays, unless all that is to be dropped.
        let both = to.binary(op, &out)?;
        let sum = match (is_absent(to), is_absent(&out)) {
            (false, false) => both,
            (true, false) => both.is_stored()?.where_(&filled(&both)?, &out)?,
            (false, true) => both.is_stored()?.where_(&filled(&both)?, to)?,
            (true, true) => {
                let either = out.is_stored()?.where_(&out, to)?;
                both.is_stored()?.where_(&both, &either)?
            }
        };
        match product.mask {
            Some(mask) if product.is_replaced => call.end(sum.mask(mask).and_then(finished)),
            _ => call.end(finished(sum)),
        }
    }
}
