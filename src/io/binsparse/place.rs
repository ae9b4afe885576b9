//! Where the elements of a chunk are in the array, whatever the container.

/// The next place of a grid in C order.
pub(crate) fn next(at: &mut [u64], grid: &[u64]) {
    for (place, &size) in at.iter_mut().zip(grid).rev() {
        *place += 1;
        if *place < size {
            return;
        }
        *place = 0;
    }
}

/// A chunk in an array.
pub(crate) struct Window<'a> {
    /// The shape of the array.
    pub(crate) shape: &'a [u64],
    /// The chunk's first element.
    pub(crate) first: &'a [u64],
    /// The shape of the chunk, which may go beyond the array.
    pub(crate) chunk: &'a [u64],
    /// The axes in the order in which the chunk has them.
    pub(crate) order: &'a [usize],
}

/// How many bytes the axes of some sizes are apart, the last one `item`.
fn strides(sizes: impl DoubleEndedIterator<Item = u64> + ExactSizeIterator, item: u64) -> Vec<u64> {
    let mut out = vec![0; sizes.len()];
    let mut stride = item;
    for (slot, size) in out.iter_mut().rev().zip(sizes.rev()) {
        *slot = stride;
        stride = stride.saturating_mul(size);
    }
    out
}

/// Copies what a chunk has of a part of the array. The array's elements have `item` bytes and are in C order; `out` is the
/// part from byte `from` on.
pub(crate) fn copy(window: &Window<'_>, elements: &[u8], item: u64, from: u64, out: &mut [u8]) {
    let Window { shape, first, chunk, order } = *window;
    let to = strides(shape.iter().copied(), item);
    let ordered = order.iter().map(|&axis| chunk.get(axis).copied().unwrap_or(1)).collect::<Vec<u64>>();
    let mut of = vec![0; order.len()];
    for (&axis, stride) in order.iter().zip(strides(ordered.into_iter(), item)) {
        if let Some(slot) = of.get_mut(axis) {
            *slot = stride;
        }
    }
    // What of the chunk is inside of the array.
    let inside = |axis: usize| {
        let part = |list: &[u64]| list.get(axis).copied().unwrap_or(0);
        part(chunk).min(part(shape).saturating_sub(part(first)))
    };
    let sizes: Vec<u64> = (0..shape.len()).map(inside).collect();
    if sizes.contains(&0) {
        return;
    }
    // Elements of the last axis are copied at once where they are beside each other.
    let last = shape.len().checked_sub(1);
    let is_run = last.is_some_and(|last| of.get(last) == Some(&item));
    let (rows, run) = match last {
        Some(last) if is_run => (sizes.get(..last).unwrap_or_default(), sizes.get(last).map_or(item, |n| n * item)),
        _ => (&sizes[..], item),
    };
    let dot = |at: &[u64], strides: &[u64]| at.iter().zip(strides).map(|(at, stride)| at * stride).sum::<u64>();
    let origin = dot(first, &to);
    let count: u64 = rows.iter().product();
    let mut at = vec![0; rows.len()];
    let end = from + out.len() as u64;
    for _ in 0..count {
        let (source, target) = (dot(&at, &of), origin + dot(&at, &to));
        // The part of the run that is asked for.
        let (begin, stop) = (target.max(from), (target + run).min(end));
        if begin < stop {
            let skipped = begin - target;
            let bytes = stop - begin;
            let source = (source + skipped) as usize..(source + skipped + bytes) as usize;
            let target = (begin - from) as usize..(stop - from) as usize;
            if let (Some(source), Some(target)) = (elements.get(source), out.get_mut(target)) {
                target.copy_from_slice(source);
            }
        }
        next(&mut at, rows);
    }
}

#[cfg(test)]
#[path = "tests/place.rs"]
mod tests;
