//! Memory of large arrays that were freed, kept for the next ones.
//!
//! What is kept stays below a limit and below what is free beside it, the oldest goes first, and all of it goes before
//! anything is refused for want of memory. Beside the mappings of large arrays a little of the allocator's memory is kept, for
//! arrays of middling size.

use std::ops::RangeInclusive;

use crate::base::global::Global;
use crate::base::memory;
use crate::base::pages::{MAPPED, Mapping, Piece};

/// Mappings that are kept at most: a system counts them.
const MOST: usize = 1024;

/// Bytes that come back before the system is asked again what is free.
const LOOK: usize = 64 << 20;

/// What is kept for the next large arrays.
static KEPT: Global<List> = Global::new(List::new());

/// Mappings that were freed, the oldest first.
struct List {
    kept: Vec<Mapping>,
    /// Bytes of all of them.
    held: usize,
    /// `None` until it is asked for: then what the machine suggests.
    limit: Option<usize>,
    hits: u64,
    misses: u64,
    /// Bytes that came back since the system was last asked what is free.
    unseen: usize,
}

impl List {
    const fn new() -> List {
        List { kept: Vec::new(), held: 0, limit: None, hits: 0, misses: 0, unseen: 0 }
    }

    fn limit(&mut self) -> usize {
        *self.limit.get_or_insert_with(memory::to_keep)
    }

    /// The smallest mapping of `size` bytes or up to twice as many, of several the one that was freed last: a cache may still hold
    /// it. Of one that is much too large, the rest stays.
    fn take(&mut self, size: usize) -> Option<Mapping> {
        let fits = |m: &Mapping| m.size() >= size && m.size() / 2 <= size;
        let fitting = self.kept.iter().enumerate().rev().filter(|(_, m)| fits(m));
        let best = fitting.min_by_key(|(_, m)| m.size()).map(|(i, _)| i);
        let Some(i) = best else {
            self.misses += 1;
            return None;
        };
        self.hits += 1;
        let mut found = self.kept.remove(i);
        self.held -= found.size();
        // An eighth is room for arrays that grow a little from one to the next.
        if found.size() - size >= MAPPED.max(size / 8)
            && let Some(rest) = found.split_off(size)
        {
            self.held += rest.size();
            self.kept.insert(i, rest);
        }
        Some(found)
    }

    /// Whether so much was given since the last time that it is to be seen how much is free beside it.
    fn is_time(&mut self) -> bool {
        let is_time = self.unseen >= LOOK;
        if is_time {
            self.unseen = 0;
        }
        is_time
    }

    /// Keeps a mapping, and gives what is to be freed for that.
    fn give(&mut self, mut mapping: Mapping) -> Vec<Mapping> {
        let limit = self.limit();
        if mapping.size() > limit {
            return vec![mapping];
        }
        self.held += mapping.size();
        self.unseen = self.unseen.saturating_add(mapping.size());
        // What was cut is whole again when both parts are free.
        if let Some(i) = self.kept.iter().position(|m| m.is_before(&mapping)) {
            mapping = self.kept.remove(i).joined(mapping);
        }
        if let Some(i) = self.kept.iter().position(|m| mapping.is_before(m)) {
            mapping = mapping.joined(self.kept.remove(i));
        }
        self.kept.push(mapping);
        self.over(limit)
    }

    /// The oldest, without which the rest has at most so many bytes.
    fn over(&mut self, bytes: usize) -> Vec<Mapping> {
        let (mut n, mut left) = (0, self.held);
        while left > bytes || self.kept.len() - n > MOST {
            let Some(oldest) = self.kept.get(n) else { break };
            left -= oldest.size();
            n += 1;
        }
        self.held = left;
        if n == 0 { Vec::new() } else { self.kept.drain(..n).collect() }
    }
}

/// Sizes of arrays whose memory is kept although it is an allocator's: it gives so much back to the system at once, which zeroes it
/// again, or writes zeros itself. A `where_` of 40 000 elements took three times as long.
pub(crate) const PIECES: RangeInclusive<usize> = 8 << 10..=MAPPED;

/// Bytes of pieces that are kept at most: as much as a cache holds.
const MOST_IN_PIECES: usize = 32 << 20;

/// Memory of the allocator's that was freed, kept for the next arrays of middling size.
static KEPT_PIECES: Global<Pieces> = Global::new(Pieces { kept: Vec::new(), held: 0, limit: MOST_IN_PIECES });

struct Pieces {
    /// Those of each size, of which there are few.
    kept: Vec<(usize, Vec<Piece>)>,
    held: usize,
    limit: usize,
}

impl Pieces {
    fn of(&mut self, size: usize) -> Option<&mut Vec<Piece>> {
        self.kept.iter_mut().find(|(of, _)| *of == size).map(|(_, pieces)| pieces)
    }

    fn take(&mut self, size: usize) -> Option<Piece> {
        let piece = self.of(size)?.pop()?;
        self.held -= size;
        Some(piece)
    }

    /// Keeps a piece, and gives what is to be freed: where there is no room for it, all that was kept, so that sizes that are
    /// no longer asked for do not stay for ever.
    fn give(&mut self, piece: Piece) -> Vec<(usize, Vec<Piece>)> {
        let size = piece.size();
        if size > self.limit {
            return vec![(size, vec![piece])];
        }
        let gone = if self.held + size > self.limit { self.all() } else { Vec::new() };
        self.held += size;
        match self.of(size) {
            Some(pieces) => pieces.push(piece),
            None => self.kept.push((size, vec![piece])),
        }
        gone
    }

    fn all(&mut self) -> Vec<(usize, Vec<Piece>)> {
        self.held = 0;
        std::mem::take(&mut self.kept)
    }
}

/// A piece of that size which an earlier array had.
pub(crate) fn take_piece(size: usize) -> Option<Piece> {
    if PIECES.contains(&size) { KEPT_PIECES.lock()?.take(size) } else { None }
}

/// Keeps a piece that an array no longer needs, if it is worth it.
pub(crate) fn keep_piece(piece: Piece) {
    if PIECES.contains(&piece.size()) {
        let gone = KEPT_PIECES.lock().map(|mut kept| kept.give(piece));
        drop(gone); // no longer under the lock
    }
}

/// Pages that an earlier array had, `size` bytes or more.
pub(crate) fn take(size: usize) -> Option<Mapping> {
    KEPT.lock()?.take(size)
}

/// Keeps what an array no longer needs, as far as the limit and the machine allow.
pub(crate) fn keep(mapping: Mapping) {
    let Some(mut list) = KEPT.lock() else { return };
    let mut unfit = list.give(mapping);
    let is_time = list.is_time();
    drop(list);
    // Others may need the memory more: what is kept stays below what is free beside it, which takes as long to find out as some
    // arrays take to be made.
    if is_time
        && let Some(free) = memory::free()
        && let Some(mut list) = KEPT.lock()
    {
        unfit.extend(list.over(usize::try_from(free).unwrap_or(usize::MAX)));
    }
    drop(unfit); // no longer under the lock: to unmap takes time
}

/// Bytes that are kept.
pub(crate) fn held() -> usize {
    KEPT.lock().map_or(0, |list| list.held)
}

/// What the process keeps of the memory of large arrays that were freed: see [`stats`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Bytes that are kept for the next large arrays, of 1 MiB and more. They count as used by this process.
    pub held: usize,
    /// Bytes that are kept beside these for the next arrays of 8 KiB and more: at most 32 MiB, or the limit if that is less.
    pub held_small: usize,
    /// The greatest number of bytes to keep: a quarter of the machine's memory, unless [`set_limit`] set another.
    pub limit: usize,
    /// In how many pieces they are.
    pub mappings: usize,
    /// Large arrays that took memory that was kept, since the process began.
    pub hits: u64,
    /// Large arrays that took fresh memory from the system.
    pub misses: u64,
}

/// What is kept at the moment of the memory of large arrays, and how often it was of use. All zero in a process that was
/// forked while another thread of its parent took or gave such memory: such a child keeps none.
///
/// # Examples
/// ```
/// use openwork::memory;
///
/// let kept = memory::stats();
/// assert!(kept.held <= kept.limit);
/// println!("{} of {} large arrays took memory that was kept", kept.hits, kept.hits + kept.misses);
/// ```
pub fn stats() -> Stats {
    let held_small = KEPT_PIECES.lock().map_or(0, |small| small.held);
    let Some(mut list) = KEPT.lock() else {
        return Stats { held: 0, held_small, limit: 0, mappings: 0, hits: 0, misses: 0 };
    };
    let limit = list.limit();
    Stats { held: list.held, held_small, limit, mappings: list.kept.len(), hits: list.hits, misses: list.misses }
}

/// Gives all that is kept back to the system, and says how many bytes that was. Tensors that are alive keep their memory,
/// and what is freed later is kept again.
///
/// The library does so by itself before it says that memory does not suffice.
///
/// # Examples
/// ```
/// use openwork::{Tensor, memory};
///
/// drop(Tensor::arange(0.0, 1e6, 1.0)?.add(1.0)?); // 8 MB
/// let freed = memory::trim();
/// println!("{freed} bytes were kept for the next large array");
/// # Ok::<(), openwork::Error>(())
/// ```
pub fn trim() -> usize {
    let all = KEPT.lock().map_or_else(Vec::new, |mut list| list.over(0));
    let (held_small, gone) = KEPT_PIECES.lock().map_or((0, Vec::new()), |mut small| (small.held, small.all()));
    drop(gone);
    all.iter().map(|m| m.size()).sum::<usize>() + held_small
}

/// Sets how many bytes may be kept for the next large arrays, and gives what is beyond that back to the system. With 0
/// nothing is kept: every array takes fresh memory and gives it back. The limit holds for the whole process.
///
/// # Examples
/// ```
/// use openwork::memory;
///
/// memory::set_limit(256 << 20);
/// assert_eq!(memory::stats().limit, 256 << 20);
/// memory::set_limit(0);
/// assert_eq!(memory::stats().held, 0);
/// ```
pub fn set_limit(bytes: usize) {
    let unfit = KEPT.lock().map(|mut list| {
        list.limit = Some(bytes);
        list.over(bytes)
    });
    drop(unfit);
    let gone = KEPT_PIECES.lock().map(|mut small| {
        small.limit = bytes.min(MOST_IN_PIECES);
        if small.held > small.limit { small.all() } else { Vec::new() }
    });
    drop(gone);
}

#[cfg(test)]
#[path = "tests/kept.rs"]
mod tests;
