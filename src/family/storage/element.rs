//! Single elements: look-up and iteration.

use openwork_ops::{Scalar, with_index};

use crate::base::error::{self, Result};
use crate::engine::fold;
use crate::levels::level::Level;
use crate::levels::pattern::{Part, Pattern};
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

impl Tensor {
    /// The element at an index; `None` if it is absent (undefined fill, nothing stored). Duplicates mean
    /// their sum.
    ///
    /// Cost: O(1) strided; a binary search per level sparse; O(nse) if coordinates are not in order.
    ///
    /// # Errors
    /// If the index has the wrong length or is out of range.
    pub fn get(&self, index: &[usize]) -> Result<Option<Scalar>> {
        let call = trace::call("get", &[self]);
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
    pub fn iter_stored(&self) -> impl Iterator<Item = (Vec<usize>, Scalar)> + '_ {
        let (values, columns) = match &self.storage {
            Storage::Strided(s) => (s, None),
            Storage::Sparse(s) => {
                let columns: Vec<Vec<u64>> = (0..s.ndim()).map(|a| s.pattern.axis_coordinates(a, s.ndim())).collect();
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
            let mut index: Vec<usize> = columns.iter().map(|c| c[place[0]] as usize).collect();
            for (d, &within) in s.pattern.value_dims().iter().zip(&place[1..]) {
                index[d.axis] += within * d.step();
            }
            (index, value)
        })
    }
}

fn get_sparse(s: &Sparse, index: &[usize]) -> Result<Option<Scalar>> {
    let coordinate = |d: &crate::levels::pattern::Dim| match d.part {
        Part::Whole => index[d.axis],
        Part::Div(b) => index[d.axis] / b,
        Part::Mod(b) => index[d.axis] % b,
    };
    let tuple: Vec<usize> = s.pattern.level_dims().iter().map(coordinate).collect();
    let mut place: Vec<usize> = std::iter::once(0).chain(s.pattern.value_dims().iter().map(coordinate)).collect();
    let positions = find(&s.pattern, &tuple);
    let stored: Vec<Scalar> = positions
        .into_iter()
        .map(|p| {
            place[0] = p;
            s.values.get(&place)
        })
        .collect();
    match stored[..] {
        [] => Ok(s.fill_values().map(|fill| fill.get(index))),
        [one] => Ok(Some(one)),
        _ => fold::sum_scalars(s.dtype(), &stored).map(Some),
    }
}

/// The positions that hold a coordinate tuple: at most one unless the pattern has duplicates.
fn find(pattern: &Pattern, tuple: &[usize]) -> Vec<usize> {
    let mut parents = vec![0usize];
    let mut dim = 0;
    for level in &pattern.levels {
        let rank = level.kind().rank();
        let wanted = &tuple[dim..dim + rank];
        parents = match level {
            Level::Dense => parents.iter().map(|p| p * pattern.dims[dim].size + wanted[0]).collect(),
            Level::Singleton { indices } => parents.into_iter().filter(|&p| indices.get(p) == wanted[0]).collect(),
            Level::Sparse { pointers, indices, ordered, .. } => {
                let segment = |p: usize| match pointers {
                    Some(ptr) => ptr.get(p) - ptr.get(0)..ptr.get(p + 1) - ptr.get(0),
                    None => 0..indices.first().map_or(0, crate::levels::level::Indices::len),
                };
                let mut found = Vec::new();
                for range in parents.into_iter().map(segment) {
                    if !ordered {
                        found.extend(range.filter(|&p| indices.iter().zip(wanted).all(|(a, &w)| a.get(p) == w)));
                        continue;
                    }
                    // Tuples rise: narrow the range by one coordinate after the other.
                    let mut range = range;
                    for (array, &w) in indices.iter().zip(wanted) {
                        let part = array.slice(range.clone());
                        let (low, high) = with_index!(part.as_slice(), s => (
                            s.partition_point(|&v| (v as usize) < w),
                            s.partition_point(|&v| v as usize <= w),
                        ));
                        range = range.start + low..range.start + high;
                    }
                    found.extend(range);
                }
                found
            }
        };
        dim += rank;
    }
    parents
}
