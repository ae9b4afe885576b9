//! A range of the outermost axis in memory: rows of CSR, columns of CSC, batches. Of every array the entries of the
//! range alone are read, which the pointers tell level by level.

use std::ops::Range;

use super::arrays::{Arrays, FoundArray, read_index};
use super::descriptor::Descriptor;
use super::map::Lengths;
use crate::io::fault::{Res, bad};
use crate::io::progress::Tell;
use crate::levels::names::ArrayLen;
use crate::tensor::fill::Fill;
use crate::tensor::index_array::IndexArray;
use crate::{DType, LevelKind, Part};

/// What part of a tensor is read.
#[derive(Clone, Debug)]
pub(crate) enum Cut {
    /// A range of the outermost axis in memory.
    Rows(Range<usize>),
    /// A range of the positions of a list of coordinates.
    Entries(Range<u64>),
}

impl Cut {
    /// The parts that a tensor is read in, each of about so many elements; `None` where it can be read only as a whole,
    /// or is no larger.
    pub(in crate::io) fn parts(d: &Descriptor, most: u64) -> Option<Box<dyn Iterator<Item = Cut>>> {
        let stored = d.number_of_stored_values.unwrap_or(0);
        if stored <= most || d.symmetry.is_some() {
            return None;
        }
        match *d.levels.levels.first().unwrap_or(&LevelKind::Dense) {
            LevelKind::Dense => {
                let &(axis, part) = d.levels.dims.first()?;
                let size = d.shape.get(axis).and_then(|&size| usize::try_from(size).ok()).unwrap_or(0);
                let block = match part {
                    Part::Whole => 1,
                    Part::Div(block) => block,
                    Part::Mod(_) => return None,
                };
                let step = (u128::from(most) * size as u128 / u128::from(stored)) as usize;
                let step = (step / block).max(1).saturating_mul(block);
                Some(Box::new(
                    (0..size).step_by(step).map(move |start| Cut::Rows(start..start.saturating_add(step).min(size))),
                ))
            }
            LevelKind::Sparse { rank } if rank > 0 && d.levels.levels.len() == 1 => {
                let dims = d.levels.dims.get(rank..).unwrap_or_default().iter();
                let size = |axis: usize| d.shape.get(axis).copied().unwrap_or(0);
                let block = dims.fold(1, |n: u64, &(axis, _)| n.saturating_mul(size(axis)));
                let (count, step) = (stored.checked_div(block).unwrap_or(0), (most / block.max(1)).max(1));
                let starts = (0..count.div_ceil(step)).map(move |i| i * step);
                Some(Box::new(starts.map(move |start| Cut::Entries(start..start.saturating_add(step).min(count)))))
            }
            _ => None,
        }
    }
}

/// Narrows what is to be read to a range of the positions of a list of coordinates. Whether coordinates rise from one
/// range to the next is not seen.
pub(super) fn entries(
    d: &Descriptor,
    range: Range<u64>,
    lengths: &mut Lengths,
    indices: &mut [Vec<FoundArray>],
    (values, dtype, iso): &mut (FoundArray, DType, bool),
) -> Res<()> {
    let listed = matches!(d.levels.levels[..], [LevelKind::Sparse { rank: 1.. }]) && d.symmetry.is_none();
    if !listed || range.start > range.end || range.end > lengths.positions {
        return bad(format_args!("{} is no list of coordinates with the entries {range:?}", d.format));
    }
    indices.iter_mut().flatten().for_each(|array| part(array, &range));
    let block = lengths.elements.checked_div(lengths.positions).unwrap_or(0);
    if !*iso {
        let scale = if dtype.is_complex() && !values.info.dtype.is_complex() { 2 * block } else { block };
        part(values, &(range.start * scale..range.end * scale));
    }
    lengths.positions = range.end - range.start;
    lengths.elements = lengths.positions * block;
    Ok(())
}

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
            return bad(format_args!(
                "the first level of {} is sparse: no range of it can be found without reading the rest; read the whole \
                 tensor and narrow it",
                d.format
            ));
        }
        if d.symmetry.is_some() {
            return bad("one triangle stands for both (`structure`): a range of it is not one of the matrix");
        }
        let Some(&(axis, part)) = d.levels.dims.first() else { return bad("a tensor without axes has no ranges") };
        let (Range { start, end }, size) = (range, shape[axis]);
        if start > end || end > size {
            return bad(format_args!("the range {start}..{end} does not lie in axis {axis}, which has size {size}"));
        }
        let outer = match part {
            Part::Whole => start..end,
            Part::Div(block) if start.is_multiple_of(block) && (end.is_multiple_of(block) || end == size) => {
                start / block..end.div_ceil(block)
            }
            Part::Div(block) => return bad(format_args!("the range {start}..{end} splits blocks of {block}")),
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
        indices: &mut [Vec<FoundArray>],
        (values, dtype, iso): &mut (FoundArray, DType, bool),
    ) -> Res<Vec<Option<IndexArray>>> {
        let all = lengths.elements;
        lengths.sizes[0] = self.outer.len();
        let mut at = self.outer.start as u64..self.outer.end as u64;
        let mut out = Vec::new();
        let mut dim = 0;
        for (l, (level, found)) in d.levels.levels.iter().zip(indices).enumerate() {
            let mut read = None;
            // Entries of the level's index arrays, where it has any.
            let counted = if level.rank() > 0 { found.last().map(|f| f.info.len) } else { None };
            match *level {
                LevelKind::Dense if l == 0 => {}
                LevelKind::Dense => {
                    let size = lengths.sizes[dim] as u64;
                    at = at.start * size..at.end * size; // the whole product was checked
                }
                kind => {
                    let mut inside = at.clone();
                    for (rule, own) in kind.array_rules(dim, l == 0).iter().zip(found) {
                        match rule.len {
                            ArrayLen::Parents => part(own, &at),
                            ArrayLen::Positions => part(own, &inside),
                            ArrayLen::ParentsAndOne => {
                                part(own, &(at.start..at.end + 1));
                                let available = counted.unwrap_or(all);
                                let pointers;
                                (pointers, inside) =
                                    rebased(&read_index(arrays, own, &Tell::nobody())?, own, available)?;
                                read = Some(pointers);
                            }
                        }
                    }
                    at = inside;
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
        Ok(Fill::array(values.narrow(self.range.clone(), axis)?))
    }

    pub(super) fn apply(&self, shape: &mut [usize]) {
        shape[self.axis] = self.range.len();
    }
}

fn part(found: &mut FoundArray, at: &Range<u64>) {
    found.start = at.start;
    found.info.len = at.end - at.start;
}

/// Pointers counted from their first, and the range that they were.
fn rebased(pointers: &IndexArray, found: &FoundArray, available: u64) -> Res<(IndexArray, Range<u64>)> {
    let name = &found.name;
    let wide: Vec<u64> = match (pointers.as_u32(), pointers.as_u64()) {
        (Some(p), _) => p.iter().map(|&p| u64::from(p)).collect(),
        (_, Some(p)) => p.to_vec(),
        _ => return bad(format_args!("`{name}` has an entry that is out of range")),
    };
    let (Some(&first), Some(&last)) = (wide.first(), wide.last()) else {
        return bad(format_args!("`{name}` has no entries"));
    };
    if wide.iter().any(|p| !(first..=last).contains(p)) || last > available {
        return bad(format_args!("`{name}` falls, or goes beyond the {available} entries that there are"));
    }
    if found.start == 0 && first != 0 {
        return bad(format_args!("`{name}` starts with {first}, not 0"));
    }
    if pointers.as_u32().is_some() {
        return Ok((wide.iter().map(|p| (p - first) as u32).collect::<Vec<u32>>().into(), first..last));
    }
    Ok((wide.iter().map(|p| p - first).collect::<Vec<u64>>().into(), first..last))
}

#[cfg(test)]
#[path = "tests/rows.rs"]
mod tests;
