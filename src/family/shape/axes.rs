//! Axes permuted, added and dropped; reshaping and broadcasting.

use crate::base::mapped::{Chosen, Mapped};
use std::sync::Arc;

use super::reshape::reshape_sparse;
use super::{broadcast_sparse, map_fill, product, squeeze_free, squeeze_levels};
use crate::base::axes::Axes;
use crate::base::error::{self, Result};
use crate::base::shape::broadcast_shapes;
use crate::base::strided::Strided;
use crate::levels::pattern::{Dim, Pattern};
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

/// # Shape: axes permuted, added, dropped; reshaping, broadcasting
impl Tensor {
    /// Reorders the axes: axis `i` of the result is axis `axes[i]`. No index and no value moves: a permuted
    /// CSR is a CSC.
    ///
    /// ```
    /// use openwork::{Layout, Tensor};
    /// let x = Tensor::random([2, 3, 4], 0.5, 0.0, Layout::Coo, 1)?;
    /// let y = x.permute_dims([2, 0, 1])?;
    /// assert_eq!(y.shape(), [4, 2, 3]);
    /// assert_eq!(y.get([3, 1, 2])?, x.get([1, 2, 3])?);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `axes` is not a permutation.
    #[doc(alias("permute", "transpose"))]
    pub fn permute_dims(&self, axes: impl Into<Axes>) -> Result<Tensor> {
        self.permuted(&axes.into())
    }

    fn permuted(&self, axes: &Axes) -> Result<Tensor> {
        let call = trace::call("permute_dims", &[self]);
        let n = self.ndim();
        let order = axes.unkept()?.ordered(n)?;
        if order.len() != n {
            return Err(error::invalid("axes", format_args!("{} axes for a tensor with {n}", order.len())));
        }
        let out = match &self.storage {
            Storage::Strided(s) => Tensor::from_strided(s.permute(&order)),
            Storage::Sparse(s) => s.permuted(&order).into(),
        };
        Ok(call.done(out))
    }

    /// Swaps the last two axes.
    ///
    /// # Errors
    /// If there are fewer than two.
    pub fn matrix_transpose(&self) -> Result<Tensor> {
        let call = trace::call("matrix_transpose", &[self]);
        let n = self.ndim();
        if n < 2 {
            return Err(error::shape(&[self.shape()], "at least two axes are needed"));
        }
        let mut axes: Vec<usize> = (0..n).collect();
        axes.swap(n - 1, n - 2);
        call.end(self.permute_dims(&axes))
    }

    /// A matrix with its axes swapped: rows become columns. A vector, or a tensor of no axes, is itself.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let a = tensor![[1.0, 2.0, 0.0]; Layout::Csr, 0.0]?;
    /// assert_eq!((a.t()?.shape(), a.t()?.layout()), (&[3, 1][..], Layout::Csc));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are more than two axes: [`Tensor::mt`] swaps the last two, [`Tensor::permute_dims`] any.
    #[doc(alias = "transpose")]
    #[doc(alias = "T")]
    pub fn t(&self) -> Result<Tensor> {
        let call = trace::call("t", &[self]);
        if self.ndim() > 2 {
            let why = "at most two axes are allowed; mt swaps the last two, permute_dims any";
            return Err(error::shape(&[self.shape()], why));
        }
        let order: Vec<usize> = (0..self.ndim()).rev().collect();
        call.end(self.permute_dims(order))
    }

    /// Swaps the last two axes: [`Tensor::matrix_transpose`] by its short name.
    ///
    /// # Errors
    /// If there are fewer than two.
    #[doc(alias = "mT")]
    pub fn mt(&self) -> Result<Tensor> {
        let call = trace::call("mt", &[self]);
        call.end(self.matrix_transpose())
    }

    /// Inserts axes of size 1, which are the named axes of the result: `expand_dims(0)` puts one in front, `expand_dims(-1)`
    /// one at the end. Free.
    ///
    /// ```
    /// use openwork::tensor;
    /// let (rows, cols) = (tensor![1, 2], tensor![10, 20, 30]);
    /// let table = (rows.expand_dims(1)? + cols)?;
    /// assert_eq!((table.shape(), table.to_vec::<i32>()?), (&[2, 3][..], vec![11, 21, 31, 12, 22, 32]));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an axis of the result is out of range or given twice, or a range is given, which needs axes to be there.
    #[doc(alias("unsqueeze", "newaxis"))]
    pub fn expand_dims(&self, axes: impl Into<Axes>) -> Result<Tensor> {
        self.expanded(&axes.into())
    }

    fn expanded(&self, axes: &Axes) -> Result<Tensor> {
        let call = trace::call("expand_dims", &[self]);
        let places = axes.unkept()?.placed(self.ndim())?;
        Ok(call.done(places.into_iter().fold(self.clone(), |t, at| t.expanded_at(at))))
    }

    /// With an axis of size 1 before the axis `at`.
    pub(crate) fn expanded_at(&self, at: usize) -> Tensor {
        let insert = |s: &Strided| {
            let mut out = s.clone();
            out.shape.insert(at, 1);
            out.strides.insert(at, 0);
            out
        };
        match &self.storage {
            Storage::Strided(s) => Tensor::from_strided(insert(s)),
            Storage::Sparse(s) => {
                let mut shape = s.shape.clone();
                shape.insert(at, 1);
                // A new value axis of size 1: no index changes.
                let mut dims: Vec<Dim> =
                    s.pattern.dims.mapped(|d| Dim { axis: d.axis + usize::from(d.axis >= at), ..*d });
                dims.push(Dim::whole(at, 1));
                let pattern = Arc::new(Pattern { dims, ..(*s.pattern).clone() });
                let mut values = s.values.clone();
                values.shape.push(1);
                values.strides.push(1);
                Sparse { shape, pattern, values, fill: map_fill(&s.fill, insert) }.into()
            }
        }
    }

    /// Drops axes of size 1; `..` drops all that there are. Free where they are value axes or dense levels; elsewhere the
    /// coordinates that are left make COO, value axes kept.
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![[[1], [2]]];
    /// assert_eq!(x.shape(), [1, 2, 1]);
    /// assert_eq!(x.squeeze(-1)?.shape(), [1, 2]);
    /// assert_eq!(x.squeeze([0, 2])?.to_vec::<i32>()?, [1, 2]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a named axis is out of range or not of size 1.
    pub fn squeeze(&self, axes: impl Into<Axes>) -> Result<Tensor> {
        self.squeezed(&axes.into())
    }

    fn squeezed(&self, axes: &Axes) -> Result<Tensor> {
        let call = trace::call("squeeze", &[self]);
        let mut drop = axes.unkept()?.of(self.ndim())?;
        if axes.is_all() {
            drop.retain(|&a| self.shape()[a] == 1);
        } else if let Some(&a) = drop.iter().find(|&&a| self.shape()[a] != 1) {
            let why = format!("axis {a} has size {}, only axes of size 1 can be dropped", self.shape()[a]);
            return Err(error::shape(&[self.shape()], why));
        }
        let kept: Vec<usize> = (0..self.ndim()).chosen(|a| !drop.contains(a));
        let out = match &self.storage {
            Storage::Strided(s) => Tensor::from_strided(s.permute(&kept)),
            Storage::Sparse(s) => match squeeze_free(s, &kept) {
                Some(out) => out.into(),
                None => squeeze_levels(s, &kept)?.into(),
            },
        };
        Ok(call.done(out))
    }

    /// The same elements, in C order, in another shape.
    ///
    /// Strided: a view where strides allow. Sparse: the result is COO, with value axes where the new shape keeps these apart from
    /// the others (else they go into the coordinates); an array fill is kept if merged or split axes are all full or all
    /// constant. Cost: O(nse) for an ordered tensor, plus a sort otherwise.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1, 0, 2], [0, 0, 3]; Layout::Csr, 0]?;
    /// let y = x.reshape([3, 2])?;
    /// assert_eq!((y.nse(), y.to_vec::<i32>()?), (3, vec![1, 0, 2, 0, 0, 3]));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the shape has another number of elements, or the reshaped fill would be dense and exceed the budget.
    #[doc(alias("view"))]
    pub fn reshape(&self, shape: impl AsRef<[usize]>) -> Result<Tensor> {
        let (call, shape) = (trace::call("reshape", &[self]), shape.as_ref());
        let size = |s: &[usize]| product(s);
        if size(self.shape()) != size(shape) {
            return Err(error::shape(&[self.shape(), shape], "the numbers of elements differ"));
        }
        let out = match &self.storage {
            Storage::Strided(s) => Tensor::from_strided(s.reshape(shape)?),
            Storage::Sparse(s) if s.shape == shape => return Ok(self.clone()),
            Storage::Sparse(s) => reshape_sparse(s, shape)?.into(),
        };
        Ok(call.done(out))
    }

    /// Broadcasts to a shape: axes of size 1 repeat, new axes come in front. Strided tensors and fills are
    /// views; stored elements of a sparse tensor are repeated (the result is COO).
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![[1], [2]].broadcast_to([2, 3])?;
    /// assert_eq!(x.to_vec::<i32>()?, [1, 1, 1, 2, 2, 2]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the shape is not one this tensor broadcasts to.
    #[doc(alias("expand", "expand_as"))]
    pub fn broadcast_to(&self, shape: impl AsRef<[usize]>) -> Result<Tensor> {
        let (call, shape) = (trace::call("broadcast_to", &[self]), shape.as_ref());
        if broadcast_shapes(self.shape(), shape)? != shape {
            return Err(error::shape(&[self.shape(), shape], "the tensor is larger than the shape"));
        }
        let out = match &self.storage {
            Storage::Strided(s) => Tensor::from_strided(s.broadcast(shape)),
            Storage::Sparse(s) if s.shape == shape => return Ok(self.clone()),
            Storage::Sparse(s) => broadcast_sparse(s, shape)?.into(),
        };
        Ok(call.done(out))
    }
}
