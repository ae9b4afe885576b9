//! Single elements: look-up and iteration.

use crate::base::mapped::Mapped;
use openwork_ops::Scalar;

use crate::base::error::{self, Result};
use crate::engine::fold;
use crate::levels::pattern::Dim;
use crate::tensor::fill::Fill;
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

/// # Looking into: single elements
impl Tensor {
    /// The element at an index; `None` if it is absent (undefined fill, nothing stored). Duplicates mean
    /// their sum.
    ///
    /// Cost: O(1) strided; a binary search per level sparse; O(nse) if coordinates are not in order.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 0.0, 5.0]; Layout::Csr, 0.0]?;
    /// assert_eq!((x.get([0, 2])?, x.get([0, 1])?), (Some(5.0.into()), Some(0.0.into())));
    /// assert_eq!(x.stored().get([0, 1])?, None); // absent
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the index has the wrong length or is out of range.
    #[doc(alias("at"))]
    pub fn get(&self, index: impl AsRef<[usize]>) -> Result<Option<Scalar>> {
        let (call, index) = (trace::call("get", &[self]), index.as_ref());
        let shape = self.shape();
        if index.len() != shape.len() {
            let why = format!("{} indices for {} axes", index.len(), shape.len());
            return Err(error::invalid("index", why));
        }
        if let Some(axis) = (0..index.len()).find(|&a| index[a] >= shape[a]) {
            let why = format!("{} is out of range on axis {axis} of size {}", index[axis], shape[axis]);
            return Err(error::invalid("index", why));
        }
        let out = match &self.storage {
            Storage::Strided(s) => Ok(Some(s.get(index))),
            Storage::Sparse(s) => get_sparse(s, index),
        };
        call.gives(out)
    }

    /// Every stored element with its index, in storage order (duplicates one by one).
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1, 0, 5]; Layout::Csr, 0]?;
    /// let stored: Vec<_> = x.iter_stored().collect();
    /// assert_eq!(stored, [(vec![0, 0], 1.into()), (vec![0, 2], 5.into())]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn iter_stored(&self) -> impl Iterator<Item = (Vec<usize>, Scalar)> + '_ {
        let (values, columns) = match &self.storage {
            Storage::Strided(s) => (s, None),
            Storage::Sparse(s) => {
                let columns: Vec<Vec<u64>> = (0..s.ndim()).mapped(|a| s.pattern.axis_coordinates(a, s.ndim()));
                (&s.values, Some((s, columns)))
            }
        };
        let unravel = |mut i: usize, shape: &[usize]| {
            let mut index = vec![0; shape.len()];
            for (x, &n) in index.iter_mut().zip(shape).rev() {
                *x = i % n;
                i /= n;
            }
            index
        };
        (0..values.len()).map(move |i| {
            let place = unravel(i, &values.shape);
            let value = values.get(&place);
            let Some((s, columns)) = &columns else { return (place, value) };
            let mut index: Vec<usize> = columns.mapped(|c| c[place[0]] as usize);
            for (d, &within) in s.pattern.value_dims().iter().zip(&place[1..]) {
                index[d.axis] += within * d.step();
            }
            (index, value)
        })
    }
}

fn get_sparse(s: &Sparse, index: &[usize]) -> Result<Option<Scalar>> {
    let coordinate = |d: &Dim| d.coordinate(index);
    let tuple: Vec<usize> = s.pattern.level_dims().mapped(coordinate);
    let mut place: Vec<usize> = std::iter::once(0).chain(s.pattern.value_dims().iter().map(coordinate)).collect();
    let positions = s.pattern.locate(&tuple);
    let stored: Vec<Scalar> = positions
        .into_iter()
        .map(|p| {
            place[0] = p;
            s.values.get(&place)
        })
        .collect();
    match stored[..] {
        [] => Ok(match &s.fill {
            Fill::Scalar(value) => Some(*value),
            _ => s.fill_values().map(|fill| fill.get(index)),
        }),
        [one] => Ok(Some(one)),
        _ => fold::sum_scalars(s.dtype(), &stored).map(Some),
    }
}
