//! Several value arrays over one pattern.

use std::sync::Arc;

use crate::base::error::{self, Result};
use crate::tensor::fill::{self, Fill};
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

/// # Several value arrays over one pattern
impl Tensor {
    /// Other values at the same positions: a tensor that shares the pattern, so that the two combine without an index
    /// being read. `values` is strided, of any dtype and of the shape of [`Tensor::stored_values`].
    ///
    /// # Errors
    /// If the tensor is strided, or values or fill do not fit.
    pub fn with_stored_values(&self, values: &Tensor, fill: impl Into<Fill>) -> Result<Tensor> {
        let _call = trace::call("with_stored_values", &[]);
        let Some(s) = self.sparse() else {
            return Err(error::layout("a strided tensor has no pattern to share"));
        };
        let Some(values) = values.strided() else {
            return Err(error::invalid("values", format_args!("must be strided, are {}", values.layout())));
        };
        if values.shape != s.values.shape {
            let why = format!("have shape {:?}, the pattern needs {:?}", values.shape, s.values.shape);
            return Err(error::invalid("values", why));
        }
        let fill = fill::check(fill.into(), &s.shape, values.dtype)?;
        Ok(Sparse { values: values.clone(), fill, ..s.clone() }.into())
    }

    /// Whether both have one pattern in the same memory.
    pub fn shares_pattern(&self, other: &Tensor) -> bool {
        match (self.sparse(), other.sparse()) {
            (Some(a), Some(b)) => Arc::ptr_eq(&a.pattern, &b.pattern) || a.pattern.is_same(&b.pattern),
            _ => false,
        }
    }

    /// The same tensor, with the pattern of `other` where the two are equal: after reading tensors that were written
    /// with one pattern. Gives itself where they are not. Cost: O(bytes of the indices).
    pub fn share_pattern(&self, other: &Tensor) -> Tensor {
        match (self.sparse(), other.sparse()) {
            (Some(a), Some(b)) if a.shape == b.shape && a.pattern.has_equal_arrays(&b.pattern) => {
                Tensor { storage: Storage::Sparse(Arc::new(Sparse { pattern: b.pattern.clone(), ..a.clone() })) }
            }
            _ => self.clone(),
        }
    }
}
