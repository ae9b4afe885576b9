//! From one storage to another, and what looks at storage.

pub(crate) mod element;
mod extract;
mod shared;

use std::borrow::Cow;

use openwork_ops::{DType, ReduceOp, Scalar};

use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::engine::convert::cast_sparse;
use crate::levels::layout::{Layout, LevelSpec};
use crate::tensor::fill::{self, Fill};
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

/// # Converting: layouts, dtypes, fills, what is stored
impl Tensor {
    /// The same elements stored sparsely: those that are not the same as `fill` (bit for bit, NaN like NaN).
    /// With an undefined fill every element of a strided tensor is stored.
    ///
    /// A sparse tensor is converted to the layout and its fill changed, the meaning kept. Cost: O(size)
    /// from strided.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 1.0, 5.0], [1.0, 0.0, 1.0]];
    /// let sparse = x.to_sparse(Layout::Csr, 1.0)?;
    /// assert_eq!(sparse.values::<f64>()?, [5.0, 0.0]); // what differs from 1
    /// assert!(sparse.equal(&x)?);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the layout does not suit the shape, or the fill does not fit shape and dtype.
    #[doc(alias("from_dense"))]
    pub fn to_sparse(&self, layout: Layout, fill: impl Into<Fill>) -> Result<Tensor> {
        let call = trace::call("to_sparse", &[self]);
        let spec = LevelSpec::of_layout(layout, self.shape())?;
        call.end(self.to_sparse_levels(&spec, fill.into()))
    }

    pub(crate) fn to_sparse_levels(&self, spec: &LevelSpec, fill: Fill) -> Result<Tensor> {
        let out = match &self.storage {
            Storage::Strided(s) => {
                let fill = fill::check(fill, &s.shape, s.dtype)?;
                convert::from_strided(s, spec, fill)?.into()
            }
            Storage::Sparse(_) => self.to_levels(spec)?.with_fill(fill)?,
        };
        Ok(out)
    }

    /// The tensor with every element stored, strided. Densifying is explicit here, so the densify budget does not apply. An undefined fill is no
    /// obstacle if every element is stored.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[0.0, 2.0]; Layout::Csr, 0.0]?;
    /// let y = x.exp2()?.to_dense()?; // the fill of 2^x is 1
    /// assert_eq!((y.layout(), y.values::<f64>()?), (Layout::Strided, &[1.0, 4.0][..]));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If elements are absent ([`Tensor::to_dense_with`] takes a value for them) or the dense form does not fit in memory.
    #[doc(alias("todense", "toarray"))]
    pub fn to_dense(&self) -> Result<Tensor> {
        let call = trace::call("to_dense", &[self]);
        let Some(s) = self.sparse() else { return Ok(call.done(self.clone())) };
        let out = match s.fill_values() {
            Some(values) => convert::to_strided(s, &values)?,
            None => {
                let s = convert::coalesce(s, ReduceOp::Sum)?;
                let absent = self.size() - s.nse() as u128;
                if absent > 0 {
                    let why = "the fill is undefined: give absent elements a value with to_dense_with(value)";
                    return Err(error::absent(format_args!("{why}; {absent} of {} are absent", self.size())));
                }
                convert::to_strided(&s, &Strided::constant(Scalar::zero(s.dtype()), &s.shape))?
            }
        };
        Ok(call.done(Tensor::from_strided(out)))
    }

    /// The tensor with every element stored, strided, and a value for absent elements. The value is used only if the fill is undefined.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[0.0, 2.0]; Layout::Csr, 0.0]?.stored(); // unstored elements are absent now
    /// assert!(x.to_dense().is_err());
    /// assert_eq!(x.to_dense_with(f64::INFINITY)?.values::<f64>()?, [f64::INFINITY, 2.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the value does not fit the dtype or the dense form does not fit in memory.
    #[doc(alias("filled"))]
    pub fn to_dense_with(&self, absent: impl Into<Scalar>) -> Result<Tensor> {
        let call = trace::call("to_dense_with", &[self]);
        let Some(s) = self.sparse() else { return Ok(call.done(self.clone())) };
        if !s.fill.is_undefined() {
            return call.end(self.to_dense());
        }
        let value = absent.into().fit(s.dtype()).map_err(error::does_not_fit)?;
        let out = convert::to_strided(s, &Strided::constant(value, &s.shape))?;
        Ok(call.done(Tensor::from_strided(out)))
    }

    /// The same tensor in another layout, sorted and without duplicates. Converting a strided tensor takes
    /// zero for the fill; [`Tensor::to_sparse`] takes another.
    ///
    /// Cost: O(nse) if the order is kept or only two levels swap, else a sort.
    ///
    /// ```
    /// use openwork::{Layout, Tensor};
    /// let x = Tensor::from_entries([2, 3], [([1, 0], 2.0), ([0, 2], 1.0)], 0.0)?;
    /// let csc = x.to_layout(Layout::Csc)?;
    /// assert_eq!((x.layout(), csc.layout(), csc.values::<f64>()?), (Layout::Coo, Layout::Csc, &[2.0, 1.0][..]));
    /// assert!(csc.same_meaning(&x)?);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the layout does not suit the shape, or cannot hold the tensor (rows of value axes with absent
    /// elements).
    #[doc(alias("tocsr", "tocsc", "tocoo", "to_sparse_csr", "asformat"))]
    pub fn to_layout(&self, layout: Layout) -> Result<Tensor> {
        let call = trace::call("to_layout", &[self]);
        if layout == Layout::Strided {
            return call.end(self.to_dense());
        }
        let spec = LevelSpec::of_layout(layout, self.shape())?;
        call.end(self.to_levels(&spec))
    }

    /// The same tensor with another level structure; see [`LevelSpec`].
    ///
    /// # Errors
    /// As [`Tensor::to_layout`], or if the specification does not hold every axis exactly once.
    pub fn to_levels(&self, spec: &LevelSpec) -> Result<Tensor> {
        let call = trace::call("to_levels", &[self]);
        let out = match &self.storage {
            Storage::Strided(s) => {
                return call.end(self.to_sparse_levels(spec, Fill::Scalar(Scalar::zero(s.dtype))));
            }
            Storage::Sparse(s) => convert::convert(s, spec)?.into(),
        };
        Ok(call.done(out))
    }

    /// The level structure of a sparse tensor.
    pub fn level_spec(&self) -> Option<LevelSpec> {
        self.sparse().map(|s| s.pattern.spec())
    }

    /// Sorts the stored elements and sums duplicates (bool: or).
    ///
    /// ```
    /// use openwork::{Tensor, tensor};
    /// let x = Tensor::coo([4], vec![vec![3, 1, 3]], &tensor![1.0, 2.0, 5.0], 0.0)?;
    /// let y = x.coalesce()?;
    /// assert_eq!((x.nse(), y.nse(), y.values::<f64>()?), (3, 2, &[2.0, 6.0][..]));
    /// assert!(y.same_meaning(&x)?);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// No argument makes it fail; it returns `Result` as every op does.
    #[doc(alias("sum_duplicates"))]
    pub fn coalesce(&self) -> Result<Tensor> {
        let call = trace::call("coalesce", &[self]);
        call.end(self.coalesce_with(ReduceOp::Sum))
    }

    /// Sorts the stored elements and folds duplicates with another op. Duplicates mean their sum
    /// everywhere else, so this may change the meaning.
    ///
    /// # Errors
    /// If the op does not fold values of a dtype into one of it (`mean`, `count_nonzero`).
    pub fn coalesce_with(&self, fold: ReduceOp) -> Result<Tensor> {
        let call = trace::call("coalesce_with", &[self]);
        let out = match &self.storage {
            Storage::Strided(_) => Ok(self.clone()),
            Storage::Sparse(s) if s.pattern.is_canonical() => Ok(self.clone()),
            Storage::Sparse(s) => Ok(convert::coalesce(s, fold)?.into()),
        };
        call.end(out)
    }

    /// Drops stored elements that are the same as the fill (bit for bit, NaN like NaN; −0 is not 0). In
    /// layouts with value axes, rows of which every element is. The meaning does not change.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[-1.0, 0.0, 2.0]; Layout::Csr, 0.0]?;
    /// let y = x.relu()?;
    /// assert_eq!((y.nse(), y.prune()?.nse()), (2, 1)); // a stored 0 goes
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// No argument makes it fail; it returns `Result` as every op does.
    #[doc(alias("eliminate_zeros"))]
    pub fn prune(&self) -> Result<Tensor> {
        let call = trace::call("prune", &[self]);
        let out = match &self.storage {
            Storage::Strided(_) => Ok(self.clone()),
            Storage::Sparse(s) => {
                let out = convert::prune(s)?.into();
                Ok(out)
            }
        };
        call.end(out)
    }

    /// The stored elements alone: the same pattern with undefined fill. O(1). A strided tensor is all
    /// stored and gives itself.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 0.0, 5.0], [0.0, 0.0, 0.0]; Layout::Csr, 0.0]?;
    /// assert_eq!(x.mean(..)?.item()?, 1.0.into());
    /// assert_eq!(x.stored().mean(..)?.item()?, 3.0.into()); // of what is stored
    /// assert_eq!(x.stored().mean(1)?.get([1])?, None); // row 1 stores nothing
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn stored(&self) -> Tensor {
        match &self.storage {
            Storage::Strided(_) => self.clone(),
            Storage::Sparse(s) => Sparse { fill: Fill::Undefined, ..(**s).clone() }.into(),
        }
    }

    /// Whether each element is stored, as a bool tensor with fill false.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 0.0, 5.0]; Layout::Csr, 0.0]?;
    /// assert_eq!(x.is_stored()?.to_vec::<bool>()?, [true, false, true]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// No argument makes it fail; it returns `Result` as every op does.
    #[doc(alias("spones"))]
    pub fn is_stored(&self) -> Result<Tensor> {
        let call = trace::call("is_stored", &[self]);
        let out = match &self.storage {
            Storage::Strided(s) => Ok(Tensor::from_strided(Strided::constant(Scalar::Bool(true), &s.shape))),
            Storage::Sparse(s) => {
                let s = if s.pattern.is_unique() {
                    Cow::Borrowed(&**s)
                } else {
                    Cow::Owned(convert::coalesce(s, ReduceOp::Sum)?)
                };
                let values = Strided::constant(Scalar::Bool(true), &s.values.shape);
                Ok(Sparse {
                    shape: s.shape.clone(),
                    pattern: s.pattern.clone(),
                    values,
                    fill: Scalar::Bool(false).into(),
                }
                .into())
            }
        };
        call.end(out)
    }

    /// The same elements with another fill: what was not stored is stored where it differs from the new fill.
    ///
    /// ```
    /// use openwork::{Fill, Layout, tensor};
    /// let x = tensor![[1.0, 0.0, 5.0]; Layout::Csr, 0.0]?;
    /// let y = x.with_fill(1.0)?;
    /// assert_eq!(y.fill(), Some(&Fill::from(1.0)));
    /// assert!(y.equal(&x)?); // the same elements, stored in another way
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the fill is or becomes undefined (that changes the meaning: [`Tensor::replace_fill`]), does not fit,
    /// or the tensor would have to store all its elements and that exceeds the densify budget.
    pub fn with_fill(&self, fill: impl Into<Fill>) -> Result<Tensor> {
        let call = trace::call("with_fill", &[self]);
        call.end(self.with_fill_as(fill.into()))
    }

    /// As [`Tensor::with_fill`], on behalf of another op.
    pub(crate) fn with_fill_as(&self, fill: Fill) -> Result<Tensor> {
        let Some(s) = self.sparse() else { return Ok(self.clone()) };
        let new = fill::check(fill, &s.shape, s.dtype())?;
        let (old, new_background) = (s.fill_values(), new.spread(&s.shape));
        let (Some(old), Some(wanted)) = (old, new_background) else {
            if s.fill.is_undefined() && new.is_undefined() {
                return Ok(self.clone());
            }
            return Err(error::absent("an undefined fill has no value to keep; replace_fill(v) changes the meaning"));
        };
        if same(&old, &wanted) {
            return Ok(Sparse { fill: new, ..s.clone() }.into());
        }
        crate::base::context::may_densify(&s.shape, s.dtype().size(), || {
            format!("with fill {new} every element that the fill {} stood for has to be stored", s.fill)
        })?;
        let dense = convert::to_strided(s, &old)?;
        let spec = s.pattern.spec();
        Ok(convert::from_strided(&dense, &spec.freed(), new)?.into())
    }

    /// Another fill, which changes what unstored elements are. O(size of the fill); indices and values are
    /// shared.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 0.0, 5.0]; Layout::Csr, 0.0]?;
    /// let y = x.replace_fill(-1.0)?;
    /// assert_eq!((y.nse(), y.to_vec::<f64>()?), (2, vec![1.0, -1.0, 5.0]));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the fill does not fit shape and dtype, or the tensor is strided and has no unstored element.
    #[doc(alias("fill_value"))]
    pub fn replace_fill(&self, fill: impl Into<Fill>) -> Result<Tensor> {
        let call = trace::call("replace_fill", &[self]);
        let Some(s) = self.sparse() else {
            return Err(error::layout("a strided tensor has no unstored element; convert with to_sparse first"));
        };
        let s = if s.pattern.is_unique() { Cow::Borrowed(s) } else { Cow::Owned(convert::coalesce(s, ReduceOp::Sum)?) };
        let fill = fill::check(fill.into(), &s.shape, s.dtype())?;
        Ok(call.done(Sparse { fill, ..s.into_owned() }.into()))
    }

    /// Casts every element; the fill is cast like any other. Floats to integers truncate and saturate, NaN to 0;
    /// integers wrap; complex to real drops the imaginary part; anything to bool is `!= 0`.
    ///
    /// ```
    /// use openwork::{DType, tensor};
    /// let x = tensor![1.7, -2.3, 300.0];
    /// assert_eq!(x.cast(DType::I32)?.to_vec::<i32>()?, [1, -2, 300]);
    /// assert_eq!(x.cast(DType::U8)?.to_vec::<u8>()?, [1, 0, 255]); // out of range: the nearest
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// No argument makes it fail; it returns `Result` as every op does.
    #[doc(alias("astype", "to_dtype"))]
    pub fn cast(&self, dtype: DType) -> Result<Tensor> {
        let call = trace::call("cast", &[self]);
        if dtype == self.dtype() {
            return Ok(call.done(self.clone()));
        }
        let out = match &self.storage {
            Storage::Strided(s) => Ok(Tensor::from_strided(s.cast(dtype))),
            Storage::Sparse(s) => {
                let s = if s.pattern.is_unique() {
                    Cow::Borrowed(&**s)
                } else {
                    Cow::Owned(convert::coalesce(s, ReduceOp::Sum)?)
                };
                Ok(cast_sparse(&s, dtype).into())
            }
        };
        call.end(out)
    }
}

/// Whether two fills are the same everywhere.
fn same(a: &Strided, b: &Strided) -> bool {
    let (x, y) = (a.core(), b.core());
    x.shape == y.shape && x.contiguous_bytes() == y.contiguous_bytes()
}
