//! Swapping the two levels of a compressed matrix: a counting sort by the minor coordinate, stable, so
//! that the major coordinates come out sorted.

use super::index::Index;

/// Pointers of the transpose; its indices and values go to `out_indices` and `out_values`. From a compressed matrix whose pointers
/// start at `base`. Values are elements of `W` bytes. The result's pointers start at 0.
pub fn transpose<const W: usize, I: Index>(
    pointers: &[I],
    base: usize,
    indices: &[I],
    values: &[u8],
    minor: usize,
    out_indices: &mut [I],
    out_values: &mut [u8],
) -> Vec<I> {
    let (values, _) = values.as_chunks::<W>();
    let (out_values, _) = out_values.as_chunks_mut::<W>();
    let mut next = vec![I::default(); minor + 1];
    for &j in indices {
        let slot = &mut next[j.get() + 1];
        *slot = I::new(slot.get() + 1);
    }
    for j in 0..minor {
        next[j + 1] = I::new(next[j + 1].get() + next[j].get());
    }
    let out_pointers = next.clone();
    for (i, ends) in pointers.windows(2).enumerate() {
        let major = I::new(i);
        let range = ends[0].get() - base..ends[1].get() - base;
        for (&j, v) in indices[range.clone()].iter().zip(&values[range]) {
            let slot = &mut next[j.get()];
            let at = slot.get();
            out_indices[at] = major;
            out_values[at] = *v;
            *slot = I::new(at + 1);
        }
    }
    out_pointers
}
