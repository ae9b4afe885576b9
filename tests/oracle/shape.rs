//! Indices, broadcasting and ops that only move elements.

use super::{OType, Oracle, Refused};

/// The index at a position in C order.
pub fn unravel(mut position: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for axis in (0..shape.len()).rev() {
        index[axis] = position % shape[axis];
        position /= shape[axis];
    }
    index
}

/// The position of an index in C order.
pub fn ravel(index: &[usize], shape: &[usize]) -> usize {
    assert_eq!(index.len(), shape.len(), "index {index:?} into shape {shape:?}");
    index.iter().zip(shape).fold(0, |position, (&i, &n)| {
        assert!(i < n, "index {index:?} outside shape {shape:?}");
        position * n + i
    })
}

/// Every index of a shape in C order.
pub fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    (0..shape.iter().product()).map(|position| unravel(position, shape)).collect()
}

/// Shapes are aligned at their last axis; missing axes count as 1; lengths are equal or one is 1.
pub fn broadcast_shapes(a: &[usize], b: &[usize]) -> Result<Vec<usize>, Refused> {
    let ndim = a.len().max(b.len());
    let length = |shape: &[usize], axis: usize| match (axis + shape.len()).checked_sub(ndim) {
        Some(own) => shape[own],
        None => 1,
    };
    (0..ndim)
        .map(|axis| match (length(a, axis), length(b, axis)) {
            (m, n) if m == n || n == 1 => Ok(m),
            (1, n) => Ok(n),
            _ => Err(Refused::Shape),
        })
        .collect()
}

/// No axis out of range, none named twice.
pub(super) fn check_axes(axes: &[usize], ndim: usize) -> Result<(), Refused> {
    let bad = (0..axes.len()).any(|i| axes[i] >= ndim || axes[..i].contains(&axes[i]));
    if bad { Err(Refused::Axis) } else { Ok(()) }
}

impl Oracle {
    /// A result of that shape whose element at each index is this one's at `from(index)`.
    fn moved(&self, shape: &[usize], from: impl Fn(&[usize]) -> Vec<usize>) -> Oracle {
        let data = indices(shape).iter().map(|index| self.at(&from(index))).collect();
        Oracle { shape: shape.to_vec(), dtype: self.dtype, data, undefined: self.undefined }
    }

    /// Axis k of the result is axis `axes[k]` of the operand.
    pub fn permute(&self, axes: &[usize]) -> Result<Oracle, Refused> {
        check_axes(axes, self.ndim())?;
        if axes.len() != self.ndim() {
            return Err(Refused::Axis);
        }
        let shape: Vec<usize> = axes.iter().map(|&axis| self.shape[axis]).collect();
        Ok(self.moved(&shape, |index| {
            let mut source = vec![0; index.len()];
            axes.iter().zip(index).for_each(|(&axis, &i)| source[axis] = i);
            source
        }))
    }

    /// The same elements in C order.
    pub fn reshape(&self, shape: &[usize]) -> Result<Oracle, Refused> {
        if shape.iter().product::<usize>() != self.data.len() {
            return Err(Refused::Shape);
        }
        Ok(Oracle { shape: shape.to_vec(), ..self.clone() })
    }

    /// A new axis of length 1, which will be axis `axis`.
    pub fn expand_dims(&self, axis: usize) -> Result<Oracle, Refused> {
        if axis > self.ndim() {
            return Err(Refused::Axis);
        }
        let mut shape = self.shape.clone();
        shape.insert(axis, 1);
        self.reshape(&shape)
    }

    /// Without the named axes, each of which must have length 1.
    pub fn squeeze(&self, axes: &[usize]) -> Result<Oracle, Refused> {
        check_axes(axes, self.ndim())?;
        if axes.iter().any(|&axis| self.shape[axis] != 1) {
            return Err(Refused::Shape);
        }
        let kept = (0..self.ndim()).filter(|axis| !axes.contains(axis));
        self.reshape(&kept.map(|axis| self.shape[axis]).collect::<Vec<_>>())
    }

    /// Repeated along axes of length 1 and along new leading axes.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Oracle, Refused> {
        if broadcast_shapes(&self.shape, shape)? != shape {
            return Err(Refused::Shape);
        }
        let new = shape.len() - self.ndim();
        Ok(self.moved(shape, |index| {
            index[new..].iter().zip(&self.shape).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect()
        }))
    }

    /// The indices of `range` along one axis.
    pub fn narrow(&self, axis: usize, range: std::ops::Range<usize>) -> Result<Oracle, Refused> {
        check_axes(&[axis], self.ndim())?;
        if range.start > range.end || range.end > self.shape[axis] {
            return Err(Refused::Shape);
        }
        let mut shape = self.shape.clone();
        shape[axis] = range.len();
        Ok(self.moved(&shape, |index| {
            let mut source = index.to_vec();
            source[axis] += range.start;
            source
        }))
    }

    /// Every element cast; the absent stay absent.
    pub fn cast(&self, dtype: OType) -> Oracle {
        let data = self.data.iter().map(|v| v.map(|v| v.cast(dtype))).collect();
        Oracle { dtype, data, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(shape: &[usize]) -> Oracle {
        let data: Vec<f64> = (0..shape.iter().product::<usize>()).map(|i| i as f64).collect();
        Oracle::from_f64(shape, OType::I32, &data)
    }

    #[test]
    fn broadcasting_shapes() {
        assert_eq!(broadcast_shapes(&[2, 1, 3], &[4, 1]), Ok(vec![2, 4, 3]));
        assert_eq!(broadcast_shapes(&[], &[5]), Ok(vec![5]));
        assert_eq!(broadcast_shapes(&[1, 3], &[0, 3]), Ok(vec![0, 3]));
        assert_eq!(broadcast_shapes(&[2], &[3]), Err(Refused::Shape));
        assert_eq!(broadcast_shapes(&[0], &[3]), Err(Refused::Shape));
    }

    #[test]
    fn moving_elements() {
        let x = count(&[2, 3, 4]);
        let y = x.permute(&[2, 0, 1]).unwrap();
        assert_eq!(y.shape, [4, 2, 3]);
        for index in indices(&x.shape) {
            assert_eq!(y.at(&[index[2], index[0], index[1]]), x.at(&index));
        }
        assert_eq!(x.permute(&[0, 0, 1]), Err(Refused::Axis));
        assert_eq!(x.permute(&[0, 1]), Err(Refused::Axis));
        assert_eq!(x.reshape(&[6, 4]).unwrap().at(&[5, 0]), x.at(&[1, 2, 0]));
        assert_eq!(x.reshape(&[5]), Err(Refused::Shape));
        assert_eq!(x.expand_dims(3).unwrap().shape, [2, 3, 4, 1]);
        assert_eq!(x.expand_dims(0).unwrap().squeeze(&[0]).unwrap(), x);
        assert_eq!(x.squeeze(&[0]), Err(Refused::Shape));
        let column = count(&[3, 1]).broadcast_to(&[2, 3, 2]).unwrap();
        assert_eq!(column.at(&[1, 2, 1]), count(&[3]).at(&[2]));
        assert_eq!(x.broadcast_to(&[3, 4]), Err(Refused::Shape));
        assert_eq!(count(&[]).broadcast_to(&[0, 2]).unwrap().data.len(), 0);
    }
}
