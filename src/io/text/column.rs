//! Arrays that grow by the parts that threads made.

use bytemuck::Zeroable;

use crate::buffer::zeroed_vec;
use crate::parallel;

/// A vector that is allocated once where its length is known beforehand.
pub(in crate::io) struct Column<T> {
    data: Vec<T>,
    len: usize,
}

impl<T: Zeroable + Copy + Send> Column<T> {
    /// An empty column with room for `expected` elements; `None` if memory does not suffice.
    pub(in crate::io) fn new(expected: usize) -> Option<Column<T>> {
        let mut probe: Vec<T> = Vec::new();
        probe.try_reserve_exact(expected).ok()?;
        drop(probe);
        Some(Column { data: zeroed_vec(expected), len: 0 })
    }

    /// A column of these elements.
    pub(in crate::io) fn from_vec(data: Vec<T>) -> Column<T> {
        Column { len: data.len(), data }
    }

    /// Adds parts of these lengths, which `fill` writes; `None` if memory does not suffice.
    pub(in crate::io) fn append(&mut self, lengths: &[usize], fill: &(dyn Fn(usize, &mut [T]) + Sync)) -> Option<()> {
        let mut end = 0_usize;
        let mut ends = Vec::with_capacity(lengths.len());
        for &length in lengths {
            end = end.checked_add(length)?;
            ends.push(end);
        }
        let wanted = self.len.checked_add(end)?;
        if wanted > self.data.len() {
            let room = wanted.max(self.data.len().saturating_mul(2));
            self.data.try_reserve_exact(room - self.data.len()).ok()?;
            self.data.resize(room, T::zeroed());
        }
        let fresh = self.data.get_mut(self.len..wanted)?;
        parallel::for_pieces_mut(fresh, &ends, fill);
        self.len = wanted;
        Some(())
    }

    pub(in crate::io) fn into_vec(mut self) -> Vec<T> {
        self.data.truncate(self.len);
        if self.data.capacity() - self.len > self.len / 4 {
            self.data.shrink_to_fit();
        }
        self.data
    }
}

/// How many entries to make room for: as many as declared, or as the text can hold if that is less; none where its
/// length is not known.
pub(in crate::io) fn room(remaining: Option<u64>, listed: u64, shortest: usize) -> usize {
    // The last line may lack its end.
    let possible = remaining.map_or(0, |bytes| bytes.saturating_add(1) / shortest.max(1) as u64);
    usize::try_from(listed.min(possible)).unwrap_or(0)
}
