//! Ops that choose, join and move elements, index by index.

use super::shape::{check_axes, indices};
use super::{Expected, OValue, Oracle, Refused, binary, promote};

/// What pads a tensor.
#[derive(Clone, Copy, Debug)]
pub enum OPad {
    Blank,
    Value(OValue),
    Edge,
    Reflect,
    Wrap,
}

impl Oracle {
    /// What an op puts where the operand has no element: zero, or nothing where that is possible.
    pub fn blank(&self) -> Option<OValue> {
        if self.undefined { None } else { Some(OValue::Int(0).cast(self.dtype)) }
    }

    /// A result of that shape whose element at each index is this one's at `from(index)`, or blank.
    pub fn chosen(&self, shape: &[usize], from: impl Fn(&[usize]) -> Option<Vec<usize>>) -> Oracle {
        let element = |index: &Vec<usize>| from(index).map_or(self.blank(), |source| self.at(&source));
        let data = indices(shape).iter().map(element).collect();
        Oracle { shape: shape.to_vec(), dtype: self.dtype, data, undefined: self.undefined }
    }

    /// Element `i` along an axis is element `list[i]`.
    pub fn listed(&self, axis: usize, list: &[usize]) -> Result<Oracle, Refused> {
        check_axes(&[axis], self.ndim())?;
        if list.iter().any(|&i| i >= self.shape[axis]) {
            return Err(Refused::Shape);
        }
        let mut shape = self.shape.clone();
        shape[axis] = list.len();
        Ok(self.chosen(&shape, |index| {
            let mut source = index.to_vec();
            source[axis] = list[index[axis]];
            Some(source)
        }))
    }

    pub fn flip(&self, axes: &[usize]) -> Result<Oracle, Refused> {
        check_axes(axes, self.ndim())?;
        Ok(self.chosen(&self.shape, |index| {
            let place = |a: usize| if axes.contains(&a) { self.shape[a] - 1 - index[a] } else { index[a] };
            Some((0..index.len()).map(place).collect())
        }))
    }

    pub fn roll(&self, shift: isize, axis: usize) -> Result<Oracle, Refused> {
        check_axes(&[axis], self.ndim())?;
        Ok(self.chosen(&self.shape, |index| {
            let mut source = index.to_vec();
            source[axis] = (index[axis] as isize - shift).rem_euclid(self.shape[axis] as isize) as usize;
            Some(source)
        }))
    }

    pub fn tile(&self, repeats: &[usize]) -> Oracle {
        let ndim = self.ndim().max(repeats.len());
        let lead = |list: &[usize]| [vec![1; ndim - list.len()], list.to_vec()].concat();
        let (own, times) = (lead(&self.shape), lead(repeats));
        let shape: Vec<usize> = own.iter().zip(&times).map(|(n, t)| n * t).collect();
        self.reshape(&own)
            .expect("ones in front")
            .chosen(&shape, |index| Some(index.iter().zip(&own).map(|(i, n)| i % n).collect()))
    }

    pub fn pad(&self, widths: &[(usize, usize)], pad: OPad) -> Result<Oracle, Refused> {
        if widths.len() != self.ndim() {
            return Err(Refused::Shape);
        }
        for (&n, &(a, b)) in self.shape.iter().zip(widths).filter(|(_, w)| **w != (0, 0)) {
            let needed = match pad {
                OPad::Edge => 1,
                OPad::Reflect => a.max(b) + 1,
                OPad::Wrap => a.max(b),
                _ => 0,
            };
            if n < needed {
                return Err(Refused::Shape);
            }
        }
        let shape: Vec<usize> = self.shape.iter().zip(widths).map(|(n, w)| n + w.0 + w.1).collect();
        let place = |i: usize, axis: usize| {
            let (n, i) = (self.shape[axis] as isize, i as isize - widths[axis].0 as isize);
            let inside = match pad {
                OPad::Edge => i.clamp(0, n - 1),
                OPad::Wrap => i.rem_euclid(n),
                OPad::Reflect if i < 0 => -i,
                OPad::Reflect if i >= n => 2 * (n - 1) - i,
                _ => i,
            };
            (0..n).contains(&inside).then_some(inside as usize)
        };
        let from = |index: &[usize]| index.iter().enumerate().map(|(axis, &i)| place(i, axis)).collect();
        let mut out = self.chosen(&shape, from);
        if let OPad::Value(value) = pad {
            for (element, index) in out.data.iter_mut().zip(indices(&shape)) {
                if from(&index).is_none() {
                    *element = Some(value.cast(self.dtype));
                }
            }
        }
        Ok(out)
    }

    pub fn triangle(&self, offset: isize, lower: bool) -> Result<Oracle, Refused> {
        if self.ndim() < 2 {
            return Err(Refused::Shape);
        }
        Ok(self.chosen(&self.shape, |index| {
            let [.., row, column] = index[..] else { return None };
            let away = column as isize - row as isize - offset;
            (if lower { away <= 0 } else { away >= 0 }).then(|| index.to_vec())
        }))
    }

    pub fn diagonal(&self, offset: isize, a: usize, b: usize) -> Result<Oracle, Refused> {
        check_axes(&[a, b], self.ndim())?;
        let (row, column) = ((-offset).max(0) as usize, offset.max(0) as usize);
        let rest: Vec<usize> = (0..self.ndim()).filter(|&d| d != a && d != b).collect();
        let mut shape: Vec<usize> = rest.iter().map(|&d| self.shape[d]).collect();
        shape.push(self.shape[a].saturating_sub(row).min(self.shape[b].saturating_sub(column)));
        Ok(self.chosen(&shape, |index| {
            let mut source = vec![0; self.ndim()];
            rest.iter().zip(index).for_each(|(&d, &i)| source[d] = i);
            (source[a], source[b]) = (row + index[rest.len()], column + index[rest.len()]);
            Some(source)
        }))
    }

    pub fn diag(&self, offset: isize) -> Result<Oracle, Refused> {
        match self.ndim() {
            2 => self.diagonal(offset, 0, 1),
            1 => {
                let n = self.shape[0] + offset.unsigned_abs();
                let (row, column) = ((-offset).max(0) as usize, offset.max(0) as usize);
                Ok(self.chosen(&[n, n], |index| {
                    let on = index[0] >= row && index[1] >= column && index[0] - row == index[1] - column;
                    on.then(|| vec![index[0] - row])
                }))
            }
            _ => Err(Refused::Shape),
        }
    }
}

/// Parts in the dtype they promote to.
fn promoted(parts: &[&Oracle]) -> Result<Vec<Oracle>, Refused> {
    let first = parts.first().ok_or(Refused::Shape)?.dtype;
    let dtype = parts.iter().try_fold(first, |d, p| promote(d, p.dtype)).ok_or(Refused::Promotion)?;
    Ok(parts.iter().map(|p| p.cast(dtype)).collect())
}

pub fn concat(parts: &[&Oracle], axis: usize) -> Result<Oracle, Refused> {
    let parts = promoted(parts)?;
    let first = &parts[0];
    check_axes(&[axis], first.ndim())?;
    let fits =
        |p: &Oracle| p.ndim() == first.ndim() && (0..p.ndim()).all(|a| a == axis || p.shape[a] == first.shape[a]);
    if !parts.iter().all(fits) {
        return Err(Refused::Shape);
    }
    let mut shape = first.shape.clone();
    shape[axis] = parts.iter().map(|p| p.shape[axis]).sum();
    let element = |mut index: Vec<usize>| {
        for part in &parts {
            if index[axis] < part.shape[axis] {
                return part.at(&index);
            }
            index[axis] -= part.shape[axis];
        }
        unreachable!("an index beyond all parts")
    };
    let data = indices(&shape).into_iter().map(element).collect();
    Ok(Oracle { shape, dtype: first.dtype, data, undefined: parts.iter().any(|p| p.undefined) })
}

pub fn stack(parts: &[&Oracle], axis: usize) -> Result<Oracle, Refused> {
    let expanded = parts.iter().map(|p| p.expand_dims(axis)).collect::<Result<Vec<_>, _>>()?;
    if parts.iter().any(|p| p.shape != parts[0].shape) {
        return Err(Refused::Shape);
    }
    concat(&expanded.iter().collect::<Vec<_>>(), axis)
}

pub fn block_diag(parts: &[&Oracle]) -> Result<Oracle, Refused> {
    let parts = promoted(parts)?;
    let matrix = |p: &Oracle| match p.shape[..] {
        [] => p.reshape(&[1, 1]),
        [n] => p.reshape(&[1, n]),
        [_, _] => Ok(p.clone()),
        _ => Err(Refused::Shape),
    };
    let parts = parts.iter().map(matrix).collect::<Result<Vec<_>, _>>()?;
    let shape: Vec<usize> = (0..2).map(|d| parts.iter().map(|p| p.shape[d]).sum()).collect();
    let undefined = parts.iter().any(|p| p.undefined);
    let blank = Oracle { undefined, ..parts[0].clone() }.blank();
    let element = |index: Vec<usize>| {
        let (mut row, mut column) = (index[0], index[1]);
        for part in &parts {
            let inside = (row < part.shape[0], column < part.shape[1]);
            match inside {
                (true, true) => return part.at(&[row, column]),
                (false, false) => (row, column) = (row - part.shape[0], column - part.shape[1]),
                _ => return blank,
            }
        }
        blank
    };
    let data = indices(&shape).into_iter().map(element).collect();
    Ok(Oracle { shape, dtype: parts[0].dtype, data, undefined })
}

pub fn outer(a: &Oracle, b: &Oracle) -> Result<Expected, Refused> {
    let wide: Vec<usize> = [&a.shape[..], &vec![1; b.ndim()]].concat();
    binary("mul", &a.reshape(&wide)?, b)
}

pub fn kron(a: &Oracle, b: &Oracle) -> Result<Expected, Refused> {
    let n = a.ndim().max(b.ndim());
    let lead = |x: &Oracle| x.reshape(&[vec![1; n - x.ndim()], x.shape.clone()].concat());
    let (a, b) = (lead(a)?, lead(b)?);
    let shape: Vec<usize> = a.shape.iter().zip(&b.shape).map(|(x, y)| x * y).collect();
    // Both spread over the result: blocks of b, each times an element of a.
    let of = |x: &Oracle, place: &dyn Fn(usize, usize) -> usize| {
        x.chosen(&shape, |index| Some(index.iter().enumerate().map(|(d, &i)| place(i, d)).collect()))
    };
    binary("mul", &of(&a, &|i, d| i / b.shape[d]), &of(&b, &|i, d| i % b.shape[d]))
}
