//! What terms are folded into.

use openwork_ops::Scalar;
use openwork_ops::structure::{IndexVec, choose};

use crate::base::buffer::zeroed_vec;
use crate::base::error::Result;
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::engine::slices::cut::Split;
use crate::engine::slices::groups::{Groups, sizes};
use crate::levels::indices::needs_64_bits;
use crate::levels::level::Level;
use crate::levels::pattern::{Dim, Pattern};

/// An accumulator for every index of the kept dimensions.
pub(crate) struct Table {
    /// In C order of the kept dimensions as the levels have them.
    pub(crate) acc: Strided,
    /// Axes of these dimensions.
    pub(crate) axes: Vec<usize>,
    /// How many elements each has, if anybody needs that.
    pub(crate) counts: Vec<u32>,
    /// What one is with nothing folded into it.
    pub(super) identity: Scalar,
}

impl Table {
    /// Puts a value where nothing was folded that leaves a trace.
    pub(crate) fn put_empty(&mut self, empty: Scalar) {
        let ((from, width), (to, _)) = (self.identity.to_bytes(), empty.to_bytes());
        if from[..width] == to[..width] {
            return;
        }
        fn replace<const W: usize>(acc: &mut [u8], from: &[u8], to: &[u8]) {
            let (acc, from, to) = (acc.as_chunks_mut::<W>().0, from.as_chunks::<W>().0, to.as_chunks::<W>().0);
            if let (Some(from), Some(to)) = (from.first(), to.first()) {
                acc.iter_mut().for_each(|a| *a = if a == from { *to } else { *a });
            }
        }
        let Some(bytes) = self.acc.buffer.unique_mut() else { return };
        parallel::for_chunks_mut(bytes, width, parallel::GRAIN, &|_, acc| match width {
            1 => replace::<1>(acc, &from, &to),
            2 => replace::<2>(acc, &from, &to),
            4 => replace::<4>(acc, &from, &to),
            8 => replace::<8>(acc, &from, &to),
            _ => replace::<16>(acc, &from, &to),
        });
    }

    /// The accumulators into which anything was folded, or into which it left a trace.
    pub(in crate::engine::slices) fn groups(self, split: &Split<'_>, kept: &[usize]) -> Result<Groups> {
        let size = self.acc.len();
        let room = zeroed_vec(size);
        let touched = if self.counts.is_empty() {
            let (identity, width) = self.identity.to_bytes();
            choose::unlike(self.acc.buffer.bytes(), &identity[..width], room)
        } else {
            choose::which(&self.counts, room, |&n| n > 0)
        };
        let counts = touched.iter().take(self.counts.len()).map(|&i| self.counts[i as usize].into()).collect();
        let pattern = match split.dims[..] {
            [dim] => line(kept, dim, &touched),
            _ => {
                let places: Vec<u64> = touched.iter().map(|&i| i.into()).collect();
                let (layout, words) = convert::unravel(&places, &sizes(&split.dims));
                split.result_pattern(kept, &layout, &words)?
            }
        };
        let acc = self.acc.reshape(&[size])?;
        let acc = if touched.len() == size { acc } else { convert::gather_values(&acc, &IndexVec::U32(touched))? };
        Ok(Groups { pattern, acc, counts })
    }
}

/// The pattern of a result over one axis with these coordinates.
fn line(kept: &[usize], dim: Dim, coordinates: &[u32]) -> Pattern {
    let axis = kept.iter().position(|&a| a == dim.axis).unwrap_or(dim.axis);
    let indices = if needs_64_bits(coordinates.len(), [dim.size]) {
        IndexVec::U64(coordinates.iter().map(|&i| i.into()).collect())
    } else {
        IndexVec::U32(coordinates.to_vec())
    };
    let level = Level::Sparse { pointers: None, indices: vec![indices.into()], ordered: true, unique: true };
    Pattern { levels: vec![level], dims: vec![Dim { axis, ..dim }], level_dims: 1, positions: coordinates.len() }
}
