//! What an index names, element by element.

use super::reduce::sum_of;
use super::shape::{broadcast_shapes, indices, ravel};
use super::{Expected, OValue, Oracle, Refused};

/// One item of an index.
#[derive(Clone, Debug)]
pub enum OIndex {
    At(isize),
    /// Start, end and step; a negative step walks the range from its end.
    Range(isize, Option<isize>, isize),
    New,
    Ellipsis,
    /// Shape and elements.
    List(Vec<usize>, Vec<isize>),
    Mask(Vec<usize>, Vec<bool>),
}

/// The shape of the result, and for each of its elements in C order the index it stands for.
pub struct Named {
    pub shape: Vec<usize>,
    pub sources: Vec<Vec<usize>>,
}

fn front(i: isize, n: usize) -> Result<usize, Refused> {
    let i = if i < 0 { i + n as isize } else { i };
    if (0..n as isize).contains(&i) { Ok(i as usize) } else { Err(Refused::Shape) }
}

fn range(start: isize, end: Option<isize>, step: isize, n: usize) -> Result<Vec<usize>, Refused> {
    let place = |i: isize| if i < 0 { i + n as isize } else { i };
    let (start, end) = (place(start), end.map_or(n as isize, place));
    if step == 0 || start < 0 || end < start || end > n as isize {
        return Err(Refused::Shape);
    }
    let all: Vec<usize> = (start as usize..end as usize).collect();
    let every = step.unsigned_abs();
    Ok(if step > 0 { all.into_iter().step_by(every).collect() } else { all.into_iter().rev().step_by(every).collect() })
}

/// One axis of the operand.
enum Axis {
    /// The axis of the result that walks it, and where to.
    Walked(usize, Vec<usize>),
    /// An array over the broadcast axes: its shape and elements.
    Array(Vec<usize>, Vec<usize>),
}

/// NumPy's rules, but for ranges, which must lie inside.
pub fn named(shape: &[usize], items: &[OIndex]) -> Result<Named, Refused> {
    let takes = |i: &OIndex| match i {
        OIndex::New | OIndex::Ellipsis => 0,
        OIndex::Mask(own, _) => own.len(),
        _ => 1,
    };
    let taken: usize = items.iter().map(takes).sum();
    let rest = shape.len().checked_sub(taken).ok_or(Refused::Shape)?;
    let mut all = Vec::new();
    let whole = OIndex::Range(0, None, 1);
    let mut ellipses = 0;
    for item in items {
        match item {
            OIndex::Ellipsis => {
                all.extend(vec![whole.clone(); rest]);
                all.push(OIndex::Ellipsis);
                ellipses += 1;
            }
            other => all.push(other.clone()),
        }
    }
    match ellipses {
        0 => all.extend(vec![whole; rest]),
        1 => {}
        _ => return Err(Refused::Shape),
    }
    let advanced = |i: &OIndex| matches!(i, OIndex::List(..) | OIndex::Mask(..));
    let any = all.iter().any(advanced);
    // Whatever else stands between two arrays separates them, an ellipsis for no axis too.
    let (mut axes, mut out, mut arrays_at, mut others) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for item in &all {
        let n = shape.get(axes.len()).copied().unwrap_or(0);
        if advanced(item) || (any && matches!(item, OIndex::At(_))) {
            arrays_at.push((out.len(), others));
        } else {
            others += 1;
        }
        match item {
            OIndex::New => out.push(1),
            OIndex::At(i) => axes.push(Axis::Array(vec![], vec![front(*i, n)?])),
            OIndex::Range(start, end, step) => {
                let list = range(*start, *end, *step, n)?;
                axes.push(Axis::Walked(out.len(), list.clone()));
                out.push(list.len());
            }
            OIndex::List(own, list) => {
                let list = list.iter().map(|&i| front(i, n)).collect::<Result<Vec<_>, _>>()?;
                axes.push(Axis::Array(own.clone(), list));
            }
            OIndex::Mask(own, mask) => {
                if own.is_empty() || shape[axes.len()..axes.len() + own.len()] != own[..] {
                    return Err(Refused::Shape);
                }
                let places: Vec<Vec<usize>> =
                    indices(own).into_iter().zip(mask).filter(|(_, m)| **m).map(|(i, _)| i).collect();
                for d in 0..own.len() {
                    axes.push(Axis::Array(vec![places.len()], places.iter().map(|p| p[d]).collect()));
                }
            }
            OIndex::Ellipsis => {}
        }
    }
    let mut common = Vec::new();
    for axis in &axes {
        if let Axis::Array(own, _) = axis {
            common = broadcast_shapes(&common, own)?;
        }
    }
    // Arrays with nothing between them leave their axes in place.
    let together = arrays_at.windows(2).all(|w| w[0].1 == w[1].1);
    let at = if any && together { arrays_at[0].0 } else { 0 };
    let mut result = out.clone();
    result.splice(at..at, if any { common.clone() } else { vec![] });
    let sources = indices(&result)
        .into_iter()
        .map(|index| {
            let (mut walked, mut array) = (index.clone(), vec![]);
            if any {
                array = walked.splice(at..at + common.len(), []).collect();
            }
            axes.iter()
                .map(|axis| match axis {
                    Axis::Walked(d, list) => list[walked[*d]],
                    Axis::Array(own, list) => {
                        let lead = array.len().saturating_sub(own.len());
                        let place: Vec<usize> = own
                            .iter()
                            .zip(&array[lead.min(array.len())..])
                            .map(|(&n, &i)| if n == 1 { 0 } else { i })
                            .collect();
                        list[ravel(&place, own)]
                    }
                })
                .collect()
        })
        .collect();
    Ok(Named { shape: result, sources })
}

impl Oracle {
    pub fn index(&self, items: &[OIndex]) -> Result<Oracle, Refused> {
        let named = named(&self.shape, items)?;
        let data = named.sources.iter().map(|source| self.at(source)).collect();
        Ok(Oracle { shape: named.shape, dtype: self.dtype, data, undefined: self.undefined })
    }

    /// Elements put at what an index names; the last of several at one place counts. With `meet` it is asked what they and
    /// the element there before become, one after the other: what is absent is nothing.
    pub fn put(
        &self,
        items: &[OIndex],
        values: &Oracle,
        meet: Option<&dyn Fn(OValue, OValue) -> OValue>,
    ) -> Result<Oracle, Refused> {
        let named = named(&self.shape, items)?;
        let values = values.broadcast_to(&named.shape)?;
        let mut out = self.clone();
        for (source, value) in named.sources.iter().zip(values.data) {
            let place = &mut out.data[ravel(source, &self.shape)];
            *place = match (meet, *place, value) {
                (Some(_), old, None) => old,
                (Some(meet), Some(old), Some(value)) => Some(meet(old, value)),
                (_, _, value) => value,
            };
        }
        // Only the last value at a place is looked at.
        if out.data.contains(&None) && !self.undefined { Err(Refused::Shape) } else { Ok(out) }
    }

    /// Elements added to what an index names, as a sum adds: of truth values whether one is true.
    pub fn put_sum(&self, items: &[OIndex], values: &Oracle) -> Result<Expected, Refused> {
        let named = named(&self.shape, items)?;
        let values = values.broadcast_to(&named.shape)?;
        let mut terms: Vec<Vec<OValue>> = self.data.iter().map(|old| old.iter().copied().collect()).collect();
        for (source, value) in named.sources.iter().zip(values.data) {
            terms[ravel(source, &self.shape)].extend(value);
        }
        let mut out = Expected::from(self.clone());
        for (at, terms) in terms.iter().enumerate() {
            // What nothing is added to stays as it is, whatever it is.
            if terms.len() > 1 || self.data[at].is_none() {
                let sum = (!terms.is_empty()).then(|| sum_of(self.dtype, terms));
                (out.value.data[at], out.slack[at]) = sum.map_or((None, 0.0), |(value, slack)| (Some(value), slack));
            }
        }
        if out.value.data.contains(&None) && !self.undefined { Err(Refused::Shape) } else { Ok(out) }
    }

    /// Without some indices of an axis.
    pub fn delete(&self, gone: &[usize], axis: usize) -> Result<Oracle, Refused> {
        if axis >= self.ndim() || gone.iter().any(|&g| g >= self.shape[axis]) {
            return Err(Refused::Axis);
        }
        let kept: Vec<usize> = (0..self.shape[axis]).filter(|i| !gone.contains(i)).collect();
        self.listed(axis, &kept)
    }

    /// `out[…, i, …] = self[…, list[…, i, …], …]`, where the list has as many axes; sizes of 1 beside the axis repeat
    /// if `broadcasts`, and the list may be smaller if not.
    pub fn along_axis(
        &self,
        axis: usize,
        shape: &[usize],
        list: &[isize],
        broadcasts: bool,
    ) -> Result<Oracle, Refused> {
        if axis >= self.ndim() || shape.len() != self.ndim() {
            return Err(Refused::Axis);
        }
        let (mut own, mut wanted) = (self.shape.clone(), shape.to_vec());
        if broadcasts {
            let without =
                |s: &[usize]| s.iter().enumerate().filter(|(d, _)| *d != axis).map(|(_, n)| *n).collect::<Vec<_>>();
            let mut common = broadcast_shapes(&without(&own), &without(&wanted))?;
            common.insert(axis, 0);
            (own, wanted) = (common.clone(), common);
            (own[axis], wanted[axis]) = (self.shape[axis], shape[axis]);
        } else if (0..own.len()).any(|d| d != axis && wanted[d] > own[d]) {
            return Err(Refused::Shape);
        }
        let x = self.broadcast_to(&own)?;
        let place = |index: &[usize]| -> usize {
            let clipped: Vec<usize> = index.iter().zip(shape).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect();
            ravel(&clipped, shape)
        };
        for &i in list {
            front(i, self.shape[axis])?;
        }
        Ok(x.chosen(&wanted, |index| {
            let mut source = index.to_vec();
            source[axis] = front(list[place(index)], self.shape[axis]).ok()?;
            Some(source)
        }))
    }
}
