//! Pieces that are made beside each other and stand one behind the other, where nobody knows how long one is before it is made.

use std::sync::Mutex;

use bytemuck::Pod;
use openwork_ops::simd::copy_past_caches;

use crate::base::parallel;

struct Turns<P, R> {
    /// The piece whose turn it is.
    next: usize,
    /// Pieces that came before their turn, each at its number.
    early: Vec<Option<P>>,
    room: R,
    /// Pieces that were copied: the next ones are made in their memory, which is in the cache.
    spare: Vec<P>,
}

/// Makes `n` pieces (`make` with the number and a used piece), takes the place of each off the room in their order (`cut`), and
/// copies it there (`copy`). Gives what is left of the room.
///
/// Nobody waits for a turn: whoever makes a piece that others wait for copies these too. Pieces are best no larger than half
/// of a second-level cache.
pub(crate) fn in_turns<P: Default + Send, R: Send, Q>(
    n: usize,
    room: R,
    make: &(dyn Fn(usize, &mut P) + Sync),
    cut: &(dyn Fn(&mut R, &P) -> Q + Sync),
    copy: &(dyn Fn(&P, Q) + Sync),
) -> R {
    let mut early = Vec::new();
    early.resize_with(n, || None);
    let turns = Mutex::new(Turns { next: 0, early, room, spare: Vec::new() });
    parallel::for_each((0..n).collect(), &|_, i| {
        let spare = parallel::lock(&turns).spare.pop();
        let mut piece: P = spare.unwrap_or_default();
        make(i, &mut piece);
        let mut ready = Vec::new();
        {
            let mut turns = parallel::lock(&turns);
            turns.early[i] = Some(piece);
            loop {
                let next = turns.next;
                let Some(piece) = turns.early.get_mut(next).and_then(Option::take) else { break };
                turns.next += 1;
                let place = cut(&mut turns.room, &piece);
                ready.push((piece, place));
            }
        }
        for (piece, place) in ready {
            copy(&piece, place);
            parallel::lock(&turns).spare.push(piece);
        }
    });
    turns.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).room
}

/// The first `n` elements, and from now on only the rest.
pub(crate) fn cut<'a, T>(from: &mut &'a mut [T], n: usize) -> &'a mut [T] {
    let (first, rest) = std::mem::take(from).split_at_mut(n);
    *from = rest;
    first
}

/// Copies a piece to its place, `past` the caches if they shall keep what they have: in many pages that were used before, two threads
/// then take half the time.
pub(crate) fn put<T: Pod>(piece: &[T], to: &mut [T], past: bool) {
    if past {
        copy_past_caches(bytemuck::cast_slice(piece), bytemuck::cast_slice_mut(to));
    } else {
        to.copy_from_slice(piece);
    }
}

#[cfg(test)]
#[path = "tests/turns.rs"]
mod tests;
