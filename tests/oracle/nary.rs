//! Ops that choose between operands, or run a function of their values.

use super::shape::indices;
use super::{OType, OValue, Oracle, Refused, broadcast_shapes, promote};

/// Every operand broadcast to the shape of all.
fn together(operands: &[&Oracle]) -> Result<Vec<Oracle>, Refused> {
    let shape = operands.iter().try_fold(Vec::new(), |s, x| broadcast_shapes(&s, &x.shape))?;
    operands.iter().map(|x| x.broadcast_to(&shape)).collect()
}

fn of(shape: &[usize], dtype: OType, data: Vec<Option<OValue>>, undefined: bool) -> Oracle {
    Oracle { shape: shape.to_vec(), dtype, data, undefined }
}

/// Absent where the condition is, or the chosen one.
pub fn where_(condition: &Oracle, x: &Oracle, y: &Oracle) -> Result<Oracle, Refused> {
    if !condition.dtype.is_bool() {
        return Err(Refused::Dtype);
    }
    let dtype = promote(x.dtype, y.dtype).ok_or(Refused::Promotion)?;
    let all = together(&[condition, x, y])?;
    let undefined = all.iter().any(|o| o.undefined);
    let data = (0..all[0].data.len())
        .map(|i| {
            let chosen = if all[0].data[i]?.truth() { all[1].data[i] } else { all[2].data[i] };
            chosen.map(|v| v.cast(dtype))
        })
        .collect();
    Ok(of(&all[0].shape, dtype, data, undefined))
}

/// The elements beside a mask that is as `keep`.
pub fn mask(x: &Oracle, mask: &Oracle, keep: bool) -> Result<Oracle, Refused> {
    if !mask.dtype.is_bool() {
        return Err(Refused::Dtype);
    }
    let all = together(&[x, mask])?;
    let kept = |(v, m): (&Option<OValue>, &Option<OValue>)| v.filter(|_| m.is_some_and(|m| m.truth() == keep));
    let data = all[0].data.iter().zip(&all[1].data).map(kept).collect();
    Ok(of(&all[0].shape, x.dtype, data, true))
}

/// Operands of a union: the gaps of each where the other has something, filled.
pub fn united(a: &Oracle, b: &Oracle, defaults: [OValue; 2]) -> Result<[Oracle; 2], Refused> {
    let all = together(&[a, b])?;
    let undefined = a.undefined && b.undefined;
    let filled = |x: &Oracle, y: &Oracle, default: OValue| {
        let gap = |(v, w): (&Option<OValue>, &Option<OValue>)| v.or(w.map(|_| default));
        let data = x.data.iter().zip(&y.data).map(gap).collect();
        of(&x.shape, x.dtype, data, undefined)
    };
    Ok([filled(&all[0], &all[1], defaults[0]), filled(&all[1], &all[0], defaults[1])])
}

/// A function of the values, which exists where all are.
pub fn mapped(operands: &[&Oracle], dtype: OType, f: impl Fn(&[OValue]) -> OValue) -> Result<Oracle, Refused> {
    let all = together(operands)?;
    let undefined = all.iter().any(|o| o.undefined);
    let data = (0..all[0].data.len())
        .map(|i| {
            let values: Option<Vec<OValue>> = all.iter().map(|o| o.data[i]).collect();
            values.map(|v| f(&v))
        })
        .collect();
    Ok(of(&all[0].shape, dtype, data, undefined))
}

/// A function of index and value.
pub fn index_mapped(x: &Oracle, dtype: OType, f: impl Fn(&[usize], OValue) -> OValue) -> Oracle {
    let data = indices(&x.shape).iter().zip(&x.data).map(|(index, v)| v.map(|v| f(index, v))).collect();
    of(&x.shape, dtype, data, x.undefined)
}

/// Whether all elements agree, and the same are absent.
pub fn agree(a: &Oracle, b: &Oracle, f: impl Fn(OValue, OValue) -> bool) -> bool {
    a.shape == b.shape
        && a.data.iter().zip(&b.data).all(|pair| match pair {
            (Some(x), Some(y)) => f(*x, *y),
            (x, y) => x.is_none() && y.is_none(),
        })
}
