//! A range of the outermost axis in memory: rows of CSR, columns of CSC, batches. Of every array the entries of the
//! range alone are read, which the pointers tell level by level.

use std::ops::Range;

use super::arrays::{Arrays, Found, read_index};
use super::descriptor::Descriptor;
use super::fault::{Res, bad};
use super::map::Lengths;
use crate::construct::IndexArray;
use crate::fill::Fill;
use crate::{DType, LevelKind, Part};

/// What part of a tensor is wanted.
pub(super) struct Window {
    axis: usize,
    /// Of the axis.
    range: Range<usize>,
    /// Of the first dimension, which counts blocks where the axis is split.
    outer: Range<usize>,
}

impl Window {
    /// Checks that the format can be read in parts, and that the range is one.
    pub(super) fn new(d: &Descriptor, shape: &[usize], range: Range<usize>) -> Res<Window> {
        if !matches!(d.levels.levels.first(), None | Some(LevelKind::Dense)) {
            return bad(format!(
                "the first level of {} is sparse: no range of it can be found without reading the rest; read the whole \
                 tensor and narrow it",
                d.format
            ));
        }
        if d.structure.is_some() {
            return bad("one triangle stands for both (`structure`): a range of it is not one of the matrix");
        }
        let Some(&(axis, part)) = d.levels.dims.first() else { return bad("a tensor without axes has no ranges") };
        let (Range { start, end }, size) = (range, shape[axis]);
        if start > end || end > size {
            return bad(format!("the range {start}..{end} does not lie in axis {axis}, which has size {size}"));
        }
        let outer = match part {
            Part::Whole => start..end,
            Part::Div(block) if start.is_multiple_of(block) && (end.is_multiple_of(block) || end == size) => {
                start / block..end.div_ceil(block)
            }
            Part::Div(block) => return bad(format!("the range {start}..{end} splits blocks of {block}")),
            Part::Mod(_) => return bad("the outermost dimension lies inside blocks: read the whole tensor"),
        };
        Ok(Window { axis, range: start..end, outer })
    }

    /// Narrows what is to be read to the range. Gives the pointers of each level, which had to be read for it, counted
    /// from the range's first entry.
    pub(super) fn narrow(
        &self,
        arrays: &mut dyn Arrays,
        d: &Descriptor,
        lengths: &mut Lengths,
        indices: &mut [Vec<Found>],
        (values, dtype, iso): &mut (Found, DType, bool),
    ) -> Res<Vec<Option<IndexArray>>> {
        let all = lengths.elements;
        lengths.sizes[0] = self.outer.len();
        let mut at = self.outer.start as u64..self.outer.end as u64;
        let mut out = Vec::new();
        let mut dim = 0;
        for (l, (level, found)) in d.levels.levels.iter().zip(indices).enumerate() {
            let mut read = None;
            match *level {
                LevelKind::Dense if l == 0 => {}
                LevelKind::Dense => {
                    let size = lengths.sizes[dim] as u64;
                    at = at.start * size..at.end * size; // the whole product was checked
                }
                LevelKind::Singleton => part(&mut found[0], &at),
                LevelKind::Sparse { rank } => {
                    let own = found.len() - rank; // the pointers, if there are any
                    let (own, rest) = found.split_at_mut(own);
                    if let Some(own) = own.first_mut() {
                        part(own, &(at.start..at.end + 1));
                        let available = rest.first().map_or(all, |f| f.info.len);
                        let (pointers, inside) = rebased(&read_index(arrays, own)?, own, available)?;
                        at = inside;
                        read = Some(pointers);
                    }
                    rest.iter_mut().for_each(|f| part(f, &at));
                }
            }
            dim += level.rank();
            out.push(read);
        }
        // The range itself is the first value axis of a tensor without levels.
        let first = if d.levels.levels.is_empty() { 1 } else { lengths.level_dims };
        let block: u64 = lengths.sizes[first..].iter().map(|&s| s as u64).product();
        if !*iso {
            let pair = dtype.is_complex() && !values.info.dtype.is_complex();
            let scale = if pair { 2 * block } else { block };
            part(values, &(at.start * scale..at.end * scale));
        }
        lengths.positions = at.end - at.start;
        lengths.elements = lengths.positions * block;
        Ok(out)
    }

    /// The fill of the range.
    pub(super) fn fill(&self, fill: Fill, shape: &[usize]) -> Res<Fill> {
        let Fill::Array(values) = &fill else { return Ok(fill) };
        // Axes of a fill are the last ones of the tensor.
        let Some(axis) = (self.axis + values.ndim()).checked_sub(shape.len()) else { return Ok(fill) };
        if shape[self.axis] == 1 || values.shape()[axis] != shape[self.axis] {
            return Ok(fill);
        }
        Ok(Fill::array(values.narrow(axis as isize, self.range.clone())?))
    }

    pub(super) fn apply(&self, shape: &mut [usize]) {
        shape[self.axis] = self.range.len();
    }
}

fn part(found: &mut Found, at: &Range<u64>) {
    found.start = at.start;
    found.info.len = at.end - at.start;
}

/// Pointers counted from their first, and the range that they were.
fn rebased(pointers: &IndexArray, found: &Found, available: u64) -> Res<(IndexArray, Range<u64>)> {
    let name = &found.name;
    let wide: Vec<u64> = match (pointers.as_u32(), pointers.as_u64()) {
        (Some(p), _) => p.iter().map(|&p| u64::from(p)).collect(),
        (_, Some(p)) => p.to_vec(),
        _ => return bad(format!("`{name}` has an entry that is out of range")),
    };
    let (Some(&first), Some(&last)) = (wide.first(), wide.last()) else {
        return bad(format!("`{name}` has no entries"));
    };
    if wide.iter().any(|p| !(first..=last).contains(p)) || last > available {
        return bad(format!("`{name}` falls, or goes beyond the {available} entries that there are"));
    }
    if found.start == 0 && first != 0 {
        return bad(format!("`{name}` starts with {first}, not 0"));
    }
    if pointers.as_u32().is_some() {
        return Ok((wide.iter().map(|p| (p - first) as u32).collect::<Vec<u32>>().into(), first..last));
    }
    Ok((wide.iter().map(|p| p - first).collect::<Vec<u64>>().into(), first..last))
}
