//! Assigning: a new tensor with other elements at what an index names, at the cost of the change and one copy. What is
//! given, and the ways to a strided and to a sparse tensor, which have files of their own.

use openwork_ops::{ReduceOp, Scalar};

use super::listed::Listed;
use super::{Index, Resolved};
use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::family::pointwise::Operand;
use crate::tensor::fill::Fill;
use crate::tensor::trace;
use crate::tensor::{Storage, Tensor};

/// # Assigning: lists, masks, unstoring
impl Tensor {
    /// A copy with other elements at what an index names, lists and masks included; where a place is named several times,
    /// the last value counts.
    ///
    /// Values broadcast to the shape that [`Tensor::index`] gives, and take this tensor's dtype, which has to hold them.
    /// An absent value makes its element absent. The layout stays. Elements that are assigned the fill are not stored;
    /// others are, and where broadcasting repeats them to more elements than the lists have, within the densify budget.
    ///
    /// Cost: one copy, O(nse + length of the lists), and a sort of what is stored of the values: rows and columns are not
    /// walked element by element, so that `x.index_put(s![rows, ..], 0.0)` costs what the rows store. Strided: one
    /// copy and the elements named.
    ///
    /// ```
    /// use openwork::{DType, Layout, Tensor, s};
    /// let x = Tensor::random([1000, 1000], 0.01, 0.0, Layout::Csr, 1)?;
    /// let cleared = x.index_put(s![[3, 500, 7], ..], 0.0)?;   // three rows store nothing now
    /// assert_eq!(cleared.index(s![[3, 500, 7], ..])?.nse(), 0);
    /// assert_eq!(cleared.layout(), Layout::Csr);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::index`], or if the values do not broadcast or fit, the densify budget is exceeded, or an absent value
    /// is assigned where the fill is defined or all is stored.
    #[doc(alias("setitem", "put"))]
    pub fn index_put<'a>(&self, items: impl AsRef<[Index]>, values: impl Into<Operand<'a>>) -> Result<Tensor> {
        let call = trace::call("index_put", &[self]);
        call.end(index_put(self, items.as_ref(), values.into(), false))
    }

    /// A copy with values added to what an index names; where a place is named several times, all are added (bool: or).
    /// What is absent counts as nothing. Else as [`Tensor::index_put`].
    ///
    /// ```
    /// use openwork::{s, tensor};
    /// let x = tensor![10, 20, 30];
    /// let y = x.index_add(s![[2, 0, 2]], &tensor![1, 2, 3])?;
    /// assert_eq!(y.to_vec::<i32>()?, [12, 20, 34]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::index_put`].
    #[doc(alias = "accumulate")]
    #[doc(alias = "add.at")]
    pub fn index_add<'a>(&self, items: impl AsRef<[Index]>, values: impl Into<Operand<'a>>) -> Result<Tensor> {
        let call = trace::call("index_add", &[self]);
        call.end(index_put(self, items.as_ref(), values.into(), true))
    }

    /// A copy in which the named elements are what unstored ones are: the fill, or absent. Nothing is stored for them
    /// (blocks and value axes that are cut are taken apart). Cost: O(nse + length of the lists), however many elements
    /// are named.
    ///
    /// ```
    /// use openwork::{Layout, s, tensor};
    /// let x = tensor![[1.0, 0.0, 2.0], [0.0, 4.0, 3.0]; Layout::Csr, 0.0]?.stored();
    /// let y = x.unset(s![.., 2])?;
    /// assert_eq!((y.nse(), y.get([0, 2])?), (2, None));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::index`], or if the tensor is strided and so has no unstored element.
    pub fn unset(&self, items: impl AsRef<[Index]>) -> Result<Tensor> {
        let call = trace::call("unset", &[self]);
        call.end(unset(self, items.as_ref()))
    }
}

/// What is assigned, in the dtype of the tensor it is assigned to.
pub(super) fn value_of(x: &Tensor, value: Operand<'_>) -> Result<Tensor> {
    match value {
        Operand::Number(number) => Ok(Tensor::scalar(number.scalar().fit(x.dtype()).map_err(error::does_not_fit)?)),
        Operand::Tensor(t) if openwork_ops::promote(x.dtype(), t.dtype()) == Some(x.dtype()) => t.cast(x.dtype()),
        Operand::Tensor(t) => {
            let why = "the tensor's dtype does not hold the values assigned; cast one of them";
            Err(error::dtype(&[x.dtype(), t.dtype()], why))
        }
    }
}

/// Broadcasts values to what an index names.
pub(super) fn spread(value: &Tensor, shape: &[usize]) -> Result<Tensor> {
    if crate::base::shape::broadcast_shapes(value.shape(), shape)? != shape {
        return Err(error::shape(&[value.shape(), shape], "the values are more than what the index names"));
    }
    value.broadcast_to(shape)
}

fn index_put(x: &Tensor, items: &[Index], values: Operand<'_>, accumulate: bool) -> Result<Tensor> {
    if let (Storage::Strided(s), [Index::List(list)], false) = (&x.storage, items, accumulate)
        && let Some(listed) = Listed::new(s, list)
        && let Ok(values) = value_of(x, values.clone())
        && let Some(out) = super::strided::put_listed(s, &listed, &values)?
    {
        return Ok(out);
    }
    let resolved = Resolved::new(x.shape(), items)?;
    let values = value_of(x, values)?;
    let fold = accumulate.then_some(ReduceOp::Sum);
    let out = match &x.storage {
        _ if resolved.lists.is_none() && !accumulate => super::assign::assign(x, &resolved, &values)?,
        Storage::Strided(s) => super::strided::put(s, &resolved, &values, fold)?,
        Storage::Sparse(s) => super::boxes::put(s, &resolved, &values, fold)?.into(),
    };
    Ok(out)
}

fn unset(x: &Tensor, items: &[Index]) -> Result<Tensor> {
    let resolved = Resolved::new(x.shape(), items)?;
    let Some(s) = x.sparse() else {
        let why = "a strided tensor has no unstored element: assign a value, or convert with to_sparse first";
        return Err(error::layout(why));
    };
    let out = super::erase::without(s, &resolved)?.into();
    Ok(out)
}

/// What is put at places: values, some of which may be absent.
pub(super) struct Given {
    /// A vector; `None`: all are absent.
    pub(super) values: Option<Strided>,
    /// Empty if none is.
    pub(super) absent: Vec<bool>,
    /// How values meet each other and what is there; `None`: the last one counts.
    pub(super) fold: Option<ReduceOp>,
}

impl Given {
    /// The `n` elements of a tensor in C order.
    pub(super) fn of(values: &Tensor, n: usize, fold: Option<ReduceOp>) -> Result<Given> {
        let (dense, absent) = match values.sparse() {
            Some(s) if s.fill.is_undefined() => {
                let stored = values.is_stored()?.to_dense()?;
                let absent = match stored.strided() {
                    Some(stored) => stored.dense_bytes()?.iter().map(|&b| b == 0).collect(),
                    None => Vec::new(),
                };
                let zero = Strided::constant(Scalar::zero(s.dtype()), &s.shape);
                (Tensor::from_strided(convert::to_strided(s, &zero)?), absent)
            }
            _ => (values.to_dense()?, Vec::new()),
        };
        let flat = dense.strided().map(|s| s.reshape(&[n])).transpose()?;
        Ok(Given { values: flat, absent, fold })
    }

    pub(super) fn is_absent(&self, i: usize) -> bool {
        self.absent.get(i).copied().unwrap_or(false)
    }
}

/// Whether a fill has no value for unstored elements.
pub(super) fn undefined(t: &Tensor) -> bool {
    t.fill().is_some_and(Fill::is_undefined)
}
