//! Reductions: what the stored elements fold to, and what the unstored ones add.

mod methods;
mod statistics;
mod columns;
mod moments;
mod order;
mod foremost;
mod outermost;
mod nan;
mod custom;
mod rows;
mod short;
mod sparse;
mod unstored;
mod varying;
mod repeated;

pub(crate) use self::moments::norms;
pub use self::order::Interpolation;

use openwork_ops::ReduceOp;

use crate::base::axes::Axes;
use crate::base::error::{self, Result};
use crate::base::mapped::Chosen;
use crate::engine::fold::Fold;
use crate::tensor::trace;
use crate::tensor::{Storage, Tensor};

/// # Reducing: registered folds
impl Tensor {
    /// Folds over some axes, which are dropped, or [kept](crate::keep) with size 1.
    ///
    /// Unstored elements count as what the fill says: a fill that is constant along the reduced axes is
    /// folded as often as it occurs; a sum-like op takes the total of a fill that varies, less what is
    /// stored over; `min`, `max`, `any` and `all` sort such a fill once; products densify within budget. Absent elements are
    /// skipped, and a slice with nothing in it is absent in the result (`count_nonzero` gives 0).
    ///
    /// Layout: strided if the fill is defined and the result has at most 65 536 elements, or 4 for each that is stored; so
    /// sums over any axis of a matrix in any layout hold every element. Else sparse: COO, with the fold of the fill as its
    /// fill, or with an undefined one.
    ///
    /// Cost: O(nse), plus sorting the kept coordinates where they are not a prefix of the storage order and
    /// the result is large.
    ///
    /// # Errors
    /// If an axis is out of range or given twice, the dtype does not have the op, a minimum or maximum of no
    /// elements is asked for, or the densify budget is exceeded.
    pub fn reduce(&self, op: ReduceOp, axes: impl Into<Axes>) -> Result<Tensor> {
        self.reduced(op, &axes.into())
    }

    fn reduced(&self, op: ReduceOp, given: &Axes) -> Result<Tensor> {
        let call = trace::call(op.name(), &[self]);
        let fold = Fold::new(op, self.dtype())?;
        let axes = given.of(self.ndim())?;
        let kept: Vec<usize> = (0..self.ndim()).chosen(|a| !axes.contains(a));
        let sizes = || axes.iter().map(|&a| self.shape()[a] as u128);
        let reduced = if sizes().any(|n| n == 0) { Some(0) } else { sizes().try_fold(1u128, u128::checked_mul) };
        let reduced = reduced.ok_or_else(|| {
            error::shape(&[self.shape()], "more than 2^128 elements fold into one; reduce over fewer axes")
        })?;
        let results = kept.iter().any(|&a| self.shape()[a] == 0);
        if reduced == 0 && !op.has_identity() && !results && self.fill().is_none_or(|f| !f.is_undefined()) {
            let why = "of no elements is undefined: an axis has size 0";
            return Err(error::shape(&[self.shape()], why));
        }
        let out = match &self.storage {
            Storage::Strided(s) => Tensor::from_strided(match repeated::repeated(&fold, s, &kept, &axes, reduced)? {
                Some(out) => out,
                None => fold.strided(s, &kept, &axes)?,
            }),
            Storage::Sparse(s) => sparse::reduce(&fold, s, &kept, &axes, reduced)?,
        };
        let out = if given.keeps() { out.expand_dims(&axes)? } else { out };
        Ok(call.done(out))
    }
}
