//! A tensor from entries, each an index and a value: what a dictionary of keys or a list of rows is read into.

use openwork_ops::Element;

use crate::base::error::{self, Result};
use crate::tensor::Tensor;
use crate::tensor::fill::Fill;
use crate::tensor::trace;

/// # Making tensors: from entries
impl Tensor {
    /// A COO tensor from entries in any order: what a map from index to value, or lists of rows, give. An index that
    /// comes several times means the sum of its values; a map gives each once. [`Tensor::iter_stored`] is the way back.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use openwork::Tensor;
    /// let entries = HashMap::from([([0, 2], 1.5), ([1, 0], 2.5)]);
    /// let x = Tensor::from_entries([2, 3], entries, 0.0)?;
    /// assert_eq!(x.get([1, 0])?, Some(2.5.into()));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an index has another length than the shape or is out of range, or the fill does not fit.
    pub fn from_entries<K: AsRef<[usize]>, T: Element>(
        shape: impl AsRef<[usize]>,
        entries: impl IntoIterator<Item = (K, T)>,
        fill: impl Into<Fill>,
    ) -> Result<Tensor> {
        let shape = shape.as_ref();
        let call = trace::call("from_entries", &[]);
        let mut columns = vec![Vec::new(); shape.len()];
        let mut values = Vec::new();
        for (index, value) in entries {
            add_index(index.as_ref(), values.len(), &mut columns)?;
            values.push(value);
        }
        call.gives(Tensor::coo(shape, columns, &Tensor::from_vec([values.len()], values)?, fill))
    }
}

fn add_index(index: &[usize], entry: usize, columns: &mut [Vec<u64>]) -> Result<()> {
    if index.len() != columns.len() {
        let why = format!("entry {entry} has {} indices for {} axes", index.len(), columns.len());
        return Err(error::invalid("entries", why));
    }
    columns.iter_mut().zip(index).for_each(|(column, &i)| column.push(i as u64));
    Ok(())
}
