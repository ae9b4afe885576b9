//! Evenly spaced elements of an axis that levels hold: what is stored there is marked, and every array copied once.

use openwork_ops::structure::Index;
use openwork_ops::with_index;

use super::window::{narrowed_dims, same_type};
use crate::base::error::Result;
use crate::base::pages::Scratch;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::levels::indices::Indices;
use crate::levels::level::Level;
use crate::levels::pattern::{Dim, Part, Pattern};
use crate::tensor::Sparse;

/// Elements `start`, `start + step`, … of an axis, so many of them.
#[derive(Clone, Copy)]
pub(super) struct Stepped {
    pub(super) start: usize,
    pub(super) step: usize,
    pub(super) len: usize,
}

impl Stepped {
    /// Which of them a coordinate is.
    fn place(self, coordinate: usize) -> Option<usize> {
        let from = coordinate.wrapping_sub(self.start);
        if self.step == 1 {
            return (from < self.len).then_some(from);
        }
        let is_one = coordinate >= self.start && from.is_multiple_of(self.step) && from / self.step < self.len;
        is_one.then(|| from / self.step)
    }
}

/// Which level holds an axis of which some elements are copied array by array.
pub(super) enum Held {
    /// This column of a level of coordinates.
    Column { level: usize, column: usize },
    /// Dense levels from the root on, one of which it is: above it there are so many nodes, and so many under each of its own. Below them
    /// is a level with pointers.
    Dense { above: usize, below: usize, pointers: usize },
}

impl Held {
    pub(super) fn of(p: &Pattern, axis: usize) -> Option<Held> {
        let dims = p.level_dims();
        let at = dims.iter().position(|d| (d.axis, d.part) == (axis, Part::Whole))?;
        let (level, first) = p.first_dims().into_iter().enumerate().take_while(|&(_, first)| first <= at).last()?;
        if let Level::Sparse { .. } = p.levels[level] {
            return Some(Held::Column { level, column: at - first });
        }
        let dense = p.levels.iter().take_while(|level| matches!(level, Level::Dense)).count();
        let nodes = |dims: &[Dim]| dims.iter().map(|d| d.size).product();
        let has_pointers = matches!(p.levels.get(dense)?, Level::Sparse { pointers: Some(_), .. });
        (at < dense && has_pointers).then(|| Held::Dense {
            above: nodes(&dims[..at]),
            below: nodes(&dims[at + 1..dense]),
            pointers: dense,
        })
    }

    /// What a canonical tensor stores there. Cost: O(nse), and the pointers.
    pub(super) fn chosen(&self, s: &Sparse, axis: usize, steps: Stepped) -> Result<(Pattern, Strided)> {
        let p = &*s.pattern;
        let mut keep = vec![false; p.positions];
        let last = p.levels.last().map(|level| (p.levels.len() - 1, level));
        match (self, last) {
            (&Held::Column { level, column }, Some((l, Level::Sparse { indices, .. }))) if l == level => {
                with_index!(indices[column].as_slice(), column => mark(column, steps, &mut keep));
            }
            _ => mark(&p.axis_coordinates(axis, s.ndim()), steps, &mut keep),
        }
        let kept = convert::retain_rows(s, &keep)?;
        let mut levels = kept.pattern.levels.clone();
        match *self {
            Held::Column { level, column } => {
                if let Some(Level::Sparse { indices, .. }) = levels.get_mut(level) {
                    indices[column] = with_index!(indices[column].as_slice(), all => moved(all, steps));
                }
            }
            Held::Dense { above, below, pointers } => {
                let size = s.shape[axis];
                if let Some(Level::Sparse { pointers: Some(pointers), .. }) = levels.get_mut(pointers) {
                    // Nothing is left under the other nodes, so that one segment ends where the next one of these begins.
                    let nodes =
                        (0..above).flat_map(|n| (0..steps.len).map(move |i| n * size + steps.start + i * steps.step));
                    *pointers = with_index!(pointers.as_slice(), p => {
                        let mut own = Vec::with_capacity(above * steps.len * below + 1);
                        nodes.for_each(|node| own.extend_from_slice(&p[node * below..(node + 1) * below]));
                        own.extend(p.last());
                        same_type(p, own)
                    })
                    .into();
                }
            }
        }
        let dims = narrowed_dims(p, axis, steps.len);
        Ok((Pattern { levels, dims, ..(*kept.pattern).clone() }, kept.values))
    }
}

/// Which coordinates are among those of the steps.
fn mark<I: Index>(coordinates: &[I], steps: Stepped, keep: &mut [bool]) {
    parallel::for_chunks_mut(keep, 1, GRAIN, &|start, keep| {
        let own = keep.iter_mut().zip(&coordinates[start..]);
        own.for_each(|(keep, c)| *keep = steps.place(c.get()).is_some());
    });
}

/// Which of the steps each coordinate is, all of which are one.
fn moved<I: Index>(coordinates: &[I], steps: Stepped) -> Indices {
    let mut out = Scratch::<I>::any(coordinates.len());
    parallel::for_chunks_mut(&mut out, 1, GRAIN, &|first, out| {
        let own = out.iter_mut().zip(&coordinates[first..]);
        own.for_each(|(to, c)| *to = I::new((c.get() - steps.start) / steps.step));
    });
    out.into()
}
