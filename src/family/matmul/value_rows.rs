//! Listed rows of values times a strided matrix: one product of arrays, of as many rows as are stored.

use openwork_ops::DType;
use openwork_ops::matmul::Carrier;

use super::{Way, dense, is_over_zeros};
use crate::base::error::Result;
use crate::engine::convert;
use crate::engine::value_rows::with_rows;
use crate::levels::pattern::Dim;
use crate::tensor::Tensor;
use crate::tensor::fill::Fill;

/// `None` of other operands. The product is strided where memory can hold it.
///
/// Cost: O(stored elements · columns).
pub(super) fn product(a: &Tensor, b: &Tensor, way: Way) -> Result<Option<Tensor>> {
    let (Some(s), Some(y)) = (a.sparse(), b.strided()) else { return Ok(None) };
    let is_rows = s.pattern.level_dims == 1
        && s.pattern.dims.iter().enumerate().all(|(axis, dim)| *dim == Dim::whole(axis, s.shape[axis]))
        && s.pattern.is_canonical();
    if !is_rows || s.shape.len() != 2 || s.values.len() == 0 || s.fill.is_undefined() || !is_over_zeros(s) {
        return Ok(None);
    }
    // As floats of other sparse operands.
    let dtype = match way.dtype {
        DType::F16 | DType::BF16 | DType::F32 => DType::F64,
        DType::Complex64 => DType::Complex128,
        dtype => dtype,
    };
    let Some(carrier) = Carrier::of_semiring(way.semiring, dtype) else { return Ok(None) };
    let (wide, n) = (Way { dtype, carrier, ..way }, y.shape[1]);
    let rows = dense::product(&s.values.cast(dtype), &y.cast(dtype), wide, &[s.pattern.positions, n])?;
    let out = with_rows(s, rows.cast(way.output()), Fill::Scalar(way.zero()));
    match out.fill_values() {
        Some(fill) if convert::dense_len(&out.shape, out.dtype()).is_ok() => {
            convert::to_strided(&out, &fill).map(|out| Some(Tensor::from_strided(out)))
        }
        _ => Ok(Some(out.into())),
    }
}
