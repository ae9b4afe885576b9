//! Where elements are true: nonzero, argwhere, and masks as lists of indices.

use crate::base::mapped::{Chosen, Mapped};
use openwork_ops::{DType, ReduceOp};

use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::strided::{Strided, dense_len};
use crate::engine::convert;
use crate::engine::convert::cast_sparse;
use crate::levels::layout::{Layout, LevelSpec};
use crate::tensor::trace;
use crate::tensor::{Storage, Tensor};

/// # Indexing: where elements are true
impl Tensor {
    /// The indices of the elements that are not zero, in C order: an `int64` vector for each axis. NaN is not zero;
    /// absent elements are left out.
    ///
    /// Cost: O(nse), and a sort for other orders than C's. Where the fill is not zero nearly all indices are wanted: that
    /// is dense, within the densify budget.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]; Layout::Csr, 0.0]?;
    /// let at = x.nonzero()?;
    /// assert_eq!((at[0].to_vec::<i64>()?, at[1].to_vec::<i64>()?), (vec![0, 0, 1], vec![0, 2, 2]));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no axis, or the densify budget is exceeded.
    pub fn nonzero(&self) -> Result<Vec<Tensor>> {
        let call = trace::call("nonzero", &[self]);
        if self.ndim() == 0 {
            return Err(error::shape(&[self.shape()], "at least one axis is needed"));
        }
        let columns = places(self)?;
        let n = columns.first().map_or(0, Vec::len);
        Ok(call
            .done(columns.into_iter().map(|c| Tensor::from_strided(Strided::from_vec(signed(c), vec![n]))).collect()))
    }

    /// The indices of the elements that are not zero, in C order: an `int64` matrix with a row for each. As
    /// [`Tensor::nonzero`].
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]; Layout::Csr, 0.0]?;
    /// assert_eq!(x.gt(1.0)?.argwhere()?.to_vec::<i64>()?, [0, 2, 1, 2]); // (0, 2) and (1, 2)
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the densify budget is exceeded.
    #[doc(alias("nonzero"))]
    pub fn argwhere(&self) -> Result<Tensor> {
        let call = trace::call("argwhere", &[self]);
        let columns = places(self)?;
        let rows = if self.ndim() == 0 {
            let one = self.get([])?.is_some_and(|v| !v.is_zero());
            usize::from(one)
        } else {
            columns[0].len()
        };
        let data: Vec<i64> = (0..rows).flat_map(|r| columns.iter().map(move |c| c[r] as i64)).collect();
        let out = Tensor::from_strided(Strided::from_vec(data, vec![rows, self.ndim()]));
        Ok(call.done(out))
    }
}

pub(super) fn signed(column: Vec<u64>) -> Vec<i64> {
    column.into_iter().map(|v| v as i64).collect()
}

/// The indices of the elements that are not zero, in C order: a column for each axis.
pub(super) fn places(x: &Tensor) -> Result<Vec<Vec<u64>>> {
    let s = match &x.storage {
        Storage::Strided(s) => return of_strided(s),
        Storage::Sparse(s) => &**s,
    };
    if let Some(fill) = s.fill_values()
        && of_strided_any(&fill)
        && !s.shape.contains(&0)
    {
        context::may_densify(&s.shape, s.dtype().size() + 8 * s.ndim(), || {
            format!("where nothing is stored the fill {} is not zero, so that its indices are wanted", s.fill)
        })?;
        return of_strided(&convert::to_strided(s, &fill)?);
    }
    let coo = LevelSpec::of_layout(Layout::Coo, &s.shape)?;
    let s = convert::coalesce(&convert::convert(s, &coo)?, ReduceOp::Sum)?;
    let truth = cast_sparse(&s, DType::Bool);
    let mask = truth.values.dense_bytes()?;
    let keep: Vec<u64> = (0..mask.len() as u64).chosen(|&p| mask[p as usize] != 0);
    let chosen = |column: Vec<u64>| keep.iter().map(|&p| column[p as usize]).collect();
    Ok((0..s.ndim()).mapped(|a| chosen(s.pattern.axis_coordinates(a, s.ndim()))))
}

fn of_strided_any(fill: &Strided) -> bool {
    fill.cast(DType::Bool).core().contiguous_bytes().is_some_and(|bytes| bytes.contains(&1))
}

fn of_strided(x: &Strided) -> Result<Vec<Vec<u64>>> {
    let truth = x.cast(DType::Bool);
    let mask = truth.dense_bytes()?;
    let kept: Vec<u64> = (0..mask.len() as u64).chosen(|&i| mask[i as usize] != 0);
    dense_len(&[kept.len(), x.ndim()], DType::U64)?;
    let mut columns = vec![vec![0u64; kept.len()]; x.ndim()];
    for (i, &position) in kept.iter().enumerate() {
        let mut rest = position;
        for (column, &n) in columns.iter_mut().zip(&x.shape).rev() {
            column[i] = rest % n as u64;
            rest /= n as u64;
        }
    }
    Ok(columns)
}
