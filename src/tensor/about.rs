//! What can be asked of a tensor at no cost, and its values as they lie in memory.

use openwork_ops::{DType, Element, Scalar};

use crate::base::error::{self, Result};
use crate::levels::layout::Layout;
use crate::tensor::fill::Fill;
use crate::tensor::trace;
use crate::tensor::{Storage, Tensor};

/// One constituent array of a tensor: what [`Tensor::buffers`] lists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BufferInfo {
    /// `values`, `pointers_to_k`, `indices_k` (k counts the level dimensions) or `fill`.
    pub name: String,
    /// Element type: the tensor's dtype, or `uint32`/`uint64` for indices and pointers.
    pub dtype: DType,
    /// Number of elements.
    pub len: usize,
    /// Bytes they take.
    pub bytes: usize,
}

/// # What a tensor is: shape, dtype, layout, fill, values
impl Tensor {
    /// Size of each axis.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]; Layout::Csr, 0.0]?;
    /// assert_eq!((x.shape(), x.sum(0)?.shape(), x.t()?.shape()), (&[2, 3][..], &[3][..], &[3, 2][..]));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    #[doc(alias("size"))]
    pub fn shape(&self) -> &[usize] {
        match &self.storage {
            Storage::Strided(s) => &s.shape,
            Storage::Sparse(s) => &s.shape,
        }
    }

    /// Number of axes.
    #[doc(alias("rank", "dim"))]
    pub fn ndim(&self) -> usize {
        self.shape().len()
    }

    /// Element type.
    ///
    /// ```
    /// use openwork::{DType, tensor};
    /// let x = tensor![1i16, 2, 4];
    /// assert_eq!((x.dtype(), (&x * 0.5)?.dtype(), x.sum(..)?.dtype()), (DType::I16, DType::F32, DType::I64));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn dtype(&self) -> DType {
        match &self.storage {
            Storage::Strided(s) => s.dtype,
            Storage::Sparse(s) => s.values.dtype,
        }
    }

    /// How the tensor is stored, by name.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]; Layout::Csr, 0.0]?;
    /// assert_eq!((x.layout(), x.t()?.layout(), x.to_dense()?.layout()), (Layout::Csr, Layout::Csc, Layout::Strided));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn layout(&self) -> Layout {
        match &self.storage {
            Storage::Strided(_) => Layout::Strided,
            Storage::Sparse(s) => s.pattern.layout(&s.shape),
        }
    }

    /// The specified fill: a scalar, an array with axes of size 1 where it is constant, or undefined.
    /// `None` for a strided tensor, which has no unstored element.
    ///
    /// ```
    /// use openwork::{Fill, Layout, tensor};
    /// let x = tensor![[1.0, 0.0, 2.0]; Layout::Csr, 0.0]?;
    /// assert_eq!(x.fill(), Some(&Fill::from(0.0)));
    /// assert_eq!(x.exp()?.fill(), Some(&Fill::from(1.0)));
    /// assert_eq!(x.to_dense()?.fill(), None);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    #[doc(alias("fill_value"))]
    pub fn fill(&self) -> Option<&Fill> {
        self.sparse().map(|s| &s.fill)
    }

    /// The fill as a strided tensor of the full shape (a broadcast view: it takes no more memory than the
    /// specified fill).
    ///
    /// # Errors
    /// If the fill is undefined, or the tensor is strided and has none.
    pub fn fill_value(&self) -> Result<Tensor> {
        let call = trace::call("fill_value", &[self]);
        let Some(sparse) = self.sparse() else {
            return Err(error::layout("a strided tensor has no unstored element and so no fill"));
        };
        let out = match sparse.fill_values() {
            Some(values) => Ok(Tensor::from_strided(values)),
            None => Err(error::absent("the fill is undefined: unstored elements have no value")),
        };
        call.gives(out)
    }

    /// Number of specified elements: all of a strided tensor's, the stored ones of a sparse tensor
    /// (duplicates counted each).
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]; Layout::Csr, 0.0]?;
    /// assert_eq!((x.nse(), x.cos()?.nse(), x.to_dense()?.nse()), (3, 3, 6));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    #[doc(alias("nnz", "_nnz", "getnnz"))]
    pub fn nse(&self) -> usize {
        match &self.storage {
            Storage::Strided(s) => s.len(),
            Storage::Sparse(s) => s.nse(),
        }
    }

    /// Number of value rows: [`Tensor::nse`] without the value axes of a hybrid or blocked layout.
    pub fn positions(&self) -> usize {
        match &self.storage {
            Storage::Strided(s) => s.len(),
            Storage::Sparse(s) => s.pattern.positions,
        }
    }

    /// Number of elements of the shape, saturating.
    pub fn size(&self) -> u128 {
        self.shape().iter().fold(1u128, |n, &s| n.saturating_mul(s as u128))
    }

    /// Share of elements that are stored; 1 for an empty shape.
    pub fn density(&self) -> f64 {
        if self.size() == 0 { 1.0 } else { self.nse() as f64 / self.size() as f64 }
    }

    /// Whether the tensor is stored with strides.
    pub fn is_strided(&self) -> bool {
        self.sparse().is_none()
    }

    /// Whether stored coordinates rise in storage order and none repeats. Strided tensors are.
    #[doc(alias("has_canonical_format"))]
    pub fn is_coalesced(&self) -> bool {
        self.sparse().is_none_or(|s| s.pattern.is_canonical())
    }

    /// Every constituent array: pointers, indices, values, and the fill if it is an array.
    pub fn buffers(&self) -> Vec<BufferInfo> {
        let info = |name: String, dtype: DType, len: usize| BufferInfo { name, dtype, len, bytes: len * dtype.size() };
        let (sparse, dtype) = match &self.storage {
            Storage::Strided(s) => return vec![info("values".into(), s.dtype, s.unbroadcast().len())],
            Storage::Sparse(s) => (s, s.dtype()),
        };
        let mut out = Vec::new();
        for (level, first) in sparse.pattern.levels.iter().zip(sparse.pattern.first_dims()) {
            for (name, array) in level.named_arrays(first) {
                out.push(info(name.to_string(), if array.is_wide() { DType::U64 } else { DType::U32 }, array.len()));
            }
        }
        out.push(info("values".into(), dtype, sparse.values.unbroadcast().len()));
        if let Fill::Array(fill) = &sparse.fill {
            out.push(info("fill".into(), dtype, fill.nse()));
        }
        out
    }

    /// Bytes of all constituent arrays.
    pub fn nbytes(&self) -> usize {
        self.buffers().iter().map(|b| b.bytes).sum()
    }

    /// The stored values as a strided tensor of shape (positions, value axes…), without copying; a strided
    /// tensor gives itself.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]; Layout::Csc, 0.0]?;
    /// assert_eq!(x.stored_values().to_vec::<f64>()?, [1.0, 2.0, 3.0]);
    /// assert_eq!(x.indices()?.to_vec::<i64>()?, [0, 0, 0, 2, 1, 2]); // a row of indices for each
    /// # Ok::<(), openwork::Error>(())
    /// ```
    #[doc(alias("data"))]
    pub fn stored_values(&self) -> Tensor {
        match &self.storage {
            Storage::Strided(_) => self.clone(),
            Storage::Sparse(s) => Tensor::from_strided(s.values.clone()),
        }
    }

    /// The stored values as a slice, in storage order (C order for a strided tensor).
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[0.0, 1.0], [2.0, 3.0]; Layout::Csc, 0.0]?;
    /// assert_eq!(x.values::<f64>()?, [2.0, 1.0, 3.0]); // column by column, stored ones only
    /// assert_eq!(x.to_vec::<f64>()?, [0.0, 1.0, 2.0, 3.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `T` is not the element type, or the values do not lie in order without gaps (a view, an iso
    /// tensor): [`Tensor::to_contiguous`] makes them.
    pub fn values<T: Element>(&self) -> Result<&[T]> {
        let call = trace::call("values", &[self]);
        let values = match &self.storage {
            Storage::Strided(s) => s,
            Storage::Sparse(s) => &s.values,
        };
        if values.dtype != T::DTYPE {
            return Err(error::dtype(
                &[values.dtype, T::DTYPE],
                "the slice asked for has another element type; cast first",
            ));
        }
        let out = values
            .typed()
            .ok_or_else(|| error::layout("the values do not lie in order without gaps; use to_contiguous() first"));
        call.gives(out)
    }

    /// The same tensor with its values (not its indices) in order without gaps.
    ///
    /// # Errors
    /// If memory cannot hold them: a strided view may repeat its elements any number of times.
    pub fn to_contiguous(&self) -> Result<Tensor> {
        let call = trace::call("to_contiguous", &[self]);
        Ok(call.done(match &self.storage {
            Storage::Strided(s) => Tensor::from_strided(s.to_contiguous()?.into_owned()),
            Storage::Sparse(s) => s.with_values(s.values.to_contiguous()?.into_owned()).into(),
        }))
    }

    /// The coordinates of the stored positions along each axis that the levels hold whole, in storage
    /// order: `(axis, coordinates)`.
    pub fn coordinates(&self) -> Vec<(usize, Vec<u64>)> {
        let Some(s) = self.sparse() else { return Vec::new() };
        let axes =
            s.pattern.level_dims().iter().filter(|d| d.part == crate::levels::pattern::Part::Whole).map(|d| d.axis);
        axes.map(|a| (a, s.pattern.axis_coordinates(a, s.ndim()))).collect()
    }

    /// The only element of a tensor with one element.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 0.0, 2.0]; Layout::Csr, 0.0]?;
    /// assert_eq!(x.sum(..)?.item()?, 3.0.into());
    /// assert_eq!(x.sum(..)?.item_as::<f64>()?, 3.0);
    /// assert!(x.item().is_err()); // three elements
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is not exactly one element, or it is absent.
    pub fn item(&self) -> Result<Scalar> {
        let call = trace::call("item", &[self]);
        if self.size() != 1 {
            return Err(error::shape(&[self.shape()], "only a tensor with exactly one element is an item"));
        }
        let value = self.get(vec![0; self.ndim()])?;
        call.gives(
            value.ok_or_else(|| error::absent("the element is absent: the fill is undefined and nothing is stored")),
        )
    }
}
