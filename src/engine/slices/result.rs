//! The layout of what a reduction gives: one rule, whatever the layout of the operand and whichever axes are kept.

use crate::base::error::Result;
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::levels::pattern::Part;
use crate::tensor::{Sparse, Tensor};

/// So many results are few for any tensor.
const FEW: usize = 1 << 16;

/// So many times as many results as stored elements are few.
const PER_STORED: usize = 4;

/// Whether these are few results for a tensor with so many stored elements. Then they are strided, unless absent ones may
/// be among them: a table of them costs no more than the elements do, or next to nothing.
pub(crate) fn is_few(shape: &[usize], stored: usize) -> bool {
    let n = if shape.contains(&0) { Some(0) } else { shape.iter().try_fold(1usize, |n, &s| n.checked_mul(s)) };
    n.is_some_and(|n| n <= stored.saturating_mul(PER_STORED).max(FEW))
}

/// The result of a reduction of a tensor with so many stored elements: strided where its elements are few and its fill is
/// defined, else sparse.
pub(crate) fn reduced(out: Sparse, stored: usize) -> Result<Tensor> {
    match out.fill_values() {
        Some(fill) if is_few(&out.shape, stored) => {
            let values = match complete(&out)? {
                Some(values) => values,
                None => convert::to_strided(&out, &fill)?,
            };
            Ok(Tensor::from_strided(values))
        }
        _ => Ok(out.into()),
    }
}

/// The elements in C order, if all are stored in it.
fn complete(s: &Sparse) -> Result<Option<Strided>> {
    let in_order = s.pattern.dims.iter().enumerate().all(|(i, d)| d.axis == i && d.part == Part::Whole);
    let all = s.shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size)) == Some(s.nse());
    (all && in_order && s.pattern.is_canonical()).then(|| s.values.reshape(&s.shape)).transpose()
}
