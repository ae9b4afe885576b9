//! Sizes that follow from a descriptor, without overflow.

use super::descriptor::Descriptor;
use crate::base::mapped::Mapped;
use crate::base::shape::fitting;
use crate::io::fault::{Res, bad};
use crate::tensor::index_array::IndexArray;
use crate::{DType, Part};

/// Checks of the map of dimensions take quadratic time.
const MAX_AXES: usize = 1024;

/// The shape, and that the map of dimensions is one.
pub(crate) fn shape(d: &Descriptor) -> Res<Vec<usize>> {
    if d.shape.len() > MAX_AXES || d.levels.dims.len() > 2 * MAX_AXES || d.levels.levels.len() > 2 * MAX_AXES {
        return bad(format_args!("{} axes, {MAX_AXES} are allowed", d.shape.len()));
    }
    let Some(shape) = fitting(&d.shape) else {
        return bad(format_args!("the shape {:?} does not fit this machine", d.shape));
    };
    if d.levels.levels.is_empty() {
        let mut axes: Vec<usize> = d.levels.dims.mapped(|d| d.0);
        axes.sort_unstable();
        if !axes.into_iter().eq(0..shape.len()) || d.levels.dims.iter().any(|d| d.1 != Part::Whole) {
            return bad("`dims` does not hold every axis once");
        }
    }
    Ok(shape)
}

/// How elements are stored: complex numbers as pairs, truth values and bfloat16 as integers.
pub(crate) fn raw(dtype: DType) -> DType {
    match dtype {
        DType::Bool => DType::U8,
        DType::BF16 => DType::U16,
        other => other.real(),
    }
}

pub(crate) fn product64(a: u128, b: u128) -> Res<u128> {
    match a.checked_mul(b) {
        Some(n) if n <= u128::from(u64::MAX >> 1) => Ok(n),
        _ => bad("the number of elements exceeds 2^63"),
    }
}

/// The number of elements of a shape. An empty shape, too, must have strides that do not overflow.
pub(crate) fn product(sizes: &[usize]) -> Res<u128> {
    let strides = sizes.iter().try_fold(1, |n, &s| product64(n, s.max(1) as u128))?;
    Ok(if sizes.contains(&0) { 0 } else { strides })
}

pub(crate) fn repeats(pointers: &IndexArray) -> bool {
    match (pointers.as_u32(), pointers.as_u64()) {
        (Some(p), _) => p.windows(2).any(|w| w[0] == w[1]),
        (_, Some(p)) => p.windows(2).any(|w| w[0] == w[1]),
        _ => false,
    }
}
