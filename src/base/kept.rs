//! Memory of large arrays that were freed, kept for the next ones.
//!
//! What is kept stays below a limit and below what is free beside it, the oldest goes first, and all of it goes before
//! anything is refused for want of memory. Beside the mappings of large arrays a little of the allocator's memory is kept, for
//! arrays of middling size.

use std::ops::RangeInclusive;
use std::sync::Mutex;

use crate::base::pages::{MAPPED, Mapping, Piece};
use crate::base::{memory, parallel};

/// Mappings that are kept at most: a system counts them.
const MOST: usize = 1024;

/// Bytes that come back before the system is asked again what is free.
const LOOK: usize = 64 << 20;

/// What is kept for the next large arrays.
static KEPT: Mutex<List> = Mutex::new(List::new());

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
static KEPT_PIECES: Mutex<Pieces> = Mutex::new(Pieces { kept: Vec::new(), held: 0, limit: MOST_IN_PIECES });

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
    if PIECES.contains(&size) { parallel::lock(&KEPT_PIECES).take(size) } else { None }
}

/// Keeps a piece that an array no longer needs, if it is worth it.
pub(crate) fn keep_piece(piece: Piece) {
    if PIECES.contains(&piece.size()) {
        let gone = parallel::lock(&KEPT_PIECES).give(piece);
        drop(gone); // no longer under the lock
    }
}

/// Pages that an earlier array had, `size` bytes or more.
pub(crate) fn take(size: usize) -> Option<Mapping> {
    parallel::lock(&KEPT).take(size)
}

/// Keeps what an array no longer needs, as far as the limit and the machine allow.
pub(crate) fn keep(mapping: Mapping) {
    let mut list = parallel::lock(&KEPT);
    let mut unfit = list.give(mapping);
    let is_time = list.is_time();
    drop(list);
    // Others may need the memory more: what is kept stays below what is free beside it, which takes as long to find out as some
    // arrays take to be made.
    if is_time && let Some(free) = memory::free() {
        unfit.extend(parallel::lock(&KEPT).over(usize::try_from(free).unwrap_or(usize::MAX)));
    }
    drop(unfit); // no longer under the lock: to unmap takes time
}

/// Bytes that are kept.
pub(crate) fn held() -> usize {
    parallel::lock(&KEPT).held
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

/// What is kept at the moment of the memory of large arrays, and how often it was of use.
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
    let held_small = parallel::lock(&KEPT_PIECES).held;
    let mut list = parallel::lock(&KEPT);
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
    let all = parallel::lock(&KEPT).over(0);
    let mut small = parallel::lock(&KEPT_PIECES);
    let held_small = small.held;
    let gone = small.all();
    drop((small, gone));
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
    let mut list = parallel::lock(&KEPT);
    list.limit = Some(bytes);
    let unfit = list.over(bytes);
    drop(list);
    drop(unfit);
    let mut small = parallel::lock(&KEPT_PIECES);
    small.limit = bytes.min(MOST_IN_PIECES);
    let gone = if small.held > small.limit { small.all() } else { Vec::new() };
    drop((small, gone));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::pages::{GRAIN, PAGE};

    fn list(limit: usize) -> List {
        List { limit: Some(limit), ..List::new() }
    }

    fn mapping(pages: usize) -> Mapping {
        Mapping::new(pages * PAGE).unwrap()
    }

    /// Pages of each of those kept.
    fn pages(list: &List) -> Vec<usize> {
        assert_eq!(list.held, list.kept.iter().map(Mapping::size).sum::<usize>());
        list.kept.iter().map(|m| m.size() / PAGE).collect()
    }

    #[test]
    fn the_best_fit_of_twice_the_size_at_most_is_taken() {
        let mut kept = list(usize::MAX);
        assert!(kept.take(2 * PAGE).is_none());
        for size in [30, 9, 8, 10, 2] {
            assert!(kept.give(mapping(size)).is_empty());
        }
        assert_eq!(kept.take(9 * PAGE).unwrap().size(), 9 * PAGE);
        assert_eq!(pages(&kept), [30, 8, 10, 2]);
        assert_eq!(kept.take(9 * PAGE).unwrap().size(), 10 * PAGE);
        assert_eq!(pages(&kept), [30, 8, 2]);
        // 30 are more than twice 9, and 2 are too few.
        assert!(kept.take(9 * PAGE).is_none() && kept.take(3 * PAGE).is_none());
        assert_eq!((kept.hits, kept.misses), (2, 3));
    }

    #[test]
    fn of_several_that_fit_the_one_that_was_freed_last_is_taken() {
        let mut kept = list(usize::MAX);
        let mut first = mapping(60);
        let mut second = first.split_off(20 * PAGE).unwrap();
        let third = second.split_off(20 * PAGE).unwrap();
        kept.give(third);
        kept.give(first);
        let found = kept.take(20 * PAGE).unwrap();
        assert!(found.is_before(&second));
        kept.give(found);
        assert!(kept.take(20 * PAGE).unwrap().is_before(&second));
    }

    #[test]
    fn what_is_much_too_large_is_cut() {
        let mut kept = list(usize::MAX);
        for size in [40, 18] {
            kept.give(mapping(size));
        }
        // The rest of 18 is less than an eighth: it stays with what is taken.
        assert_eq!(kept.take(17 * PAGE).unwrap().size(), 18 * PAGE);
        // An eighth more is left.
        let found = kept.take(37 * PAGE).unwrap();
        assert_eq!(found.size(), 40 * PAGE);
        kept.give(found);
        let found = kept.take(30 * PAGE).unwrap();
        assert_eq!((found.size(), pages(&kept)), (30 * PAGE, vec![10]));
        let rest = kept.take(10 * PAGE).unwrap();
        assert_eq!((rest.size(), pages(&kept)), (10 * PAGE, vec![]));
        // Whole again, whichever comes back first.
        kept.give(rest);
        kept.give(found);
        assert_eq!(pages(&kept), [40]);
        let (first, second) = (kept.take(22 * PAGE).unwrap(), kept.take(18 * PAGE).unwrap());
        kept.give(first);
        kept.give(second);
        assert_eq!(pages(&kept), [40]);
        // Or each is freed alone.
        let first = kept.take(22 * PAGE).unwrap();
        assert_eq!(pages(&kept), [18]);
        drop(kept.over(0));
        drop(first);
        // Mappings that only happen to lie side by side stay apart.
        for _ in 0..8 {
            kept.give(mapping(2));
        }
        assert_eq!(pages(&kept), [2; 8]);
    }

    #[test]
    fn what_is_less_than_an_array_is_not_cut_off() {
        let mut kept = list(usize::MAX);
        for grains in [7, 9] {
            kept.give(Mapping::new(grains * GRAIN).unwrap());
        }
        assert_eq!(kept.take(5 * GRAIN).unwrap().size(), 7 * GRAIN);
        // Within a huge page as well.
        let (found, rest) = (kept.take(5 * GRAIN).unwrap(), kept.kept.pop().unwrap());
        assert_eq!((found.size(), rest.size()), (5 * GRAIN, MAPPED));
        kept.held -= rest.size();
        kept.give(rest);
        kept.give(found);
        assert_eq!((kept.held, kept.kept.len()), (9 * GRAIN, 1));
    }

    #[test]
    fn what_is_free_is_asked_for_once_in_so_many_bytes() {
        let mut kept = list(usize::MAX);
        let pages = LOOK / PAGE;
        let asked = (0..10 * pages).filter(|_| {
            kept.give(mapping(1));
            kept.take(PAGE);
            kept.is_time()
        });
        assert_eq!(asked.count(), 10);
    }

    #[test]
    fn beyond_the_limit_the_oldest_goes() {
        let mut kept = list(10 * PAGE);
        assert!(kept.give(mapping(3)).is_empty() && kept.give(mapping(5)).is_empty());
        assert_eq!(kept.give(mapping(4)).iter().map(|m| m.size() / PAGE).collect::<Vec<_>>(), [3]);
        assert_eq!(pages(&kept), [5, 4]);
        // One that would take it all alone leaves the others.
        assert_eq!(kept.give(mapping(11)).len(), 1);
        assert_eq!(pages(&kept), [5, 4]);
        assert_eq!(kept.over(4 * PAGE).len(), 1);
        assert_eq!(pages(&kept), [4]);
        assert_eq!(kept.over(0).len(), 1);
        assert_eq!((kept.held, kept.kept.len()), (0, 0));

        let mut none = list(0);
        assert_eq!(none.give(mapping(2)).len(), 1);
        assert!(none.take(2 * PAGE).is_none());
    }

    #[test]
    fn no_more_mappings_than_a_system_likes() {
        let mut kept = list(usize::MAX);
        let gone: usize = (0..MOST + 3).map(|_| kept.give(mapping(2)).len()).sum();
        assert_eq!((kept.kept.len(), gone), (MOST, 3));
    }

    #[test]
    fn pieces_serve_arrays_of_like_size_until_there_are_too_many() {
        let mut small = Pieces { kept: Vec::new(), held: 0, limit: 100_000 };
        let piece = |bytes: usize| Piece::fresh(Piece::size_of(bytes).unwrap()).unwrap();
        let sizes = [8 << 10, 9000, 9001, 9216, 9217, 500_000].map(|bytes| Piece::size_of(bytes).unwrap());
        assert_eq!(sizes, [8 << 10, 9216, 9216, 9216, 10_240, 524_288]);
        // The largest that is not mapped is kept as well.
        assert!(PIECES.contains(&Piece::size_of(MAPPED - 1).unwrap()));
        assert_eq!([1, 16, 17, 8000].map(|bytes| Piece::size_of(bytes).unwrap()), [16, 16, 32, 8000]);
        for bytes in [9000, 9100, 20_000, 40_000] {
            assert!(small.give(piece(bytes)).is_empty());
        }
        assert_eq!((small.held, small.kept.len()), (2 * 9216 + 20_480 + 40_960, 3));
        assert_eq!(small.take(9216).unwrap().size(), 9216);
        assert!(small.take(9232).is_none() && small.take(9216).is_some() && small.take(9216).is_none());
        // Without room for it, all others go; one that would take more than all leaves them.
        assert_eq!(small.give(piece(200_000)).len(), 1);
        assert_eq!(small.held, 20_480 + 40_960);
        assert_eq!(small.give(piece(60_000)).iter().map(|(_, pieces)| pieces.len()).sum::<usize>(), 2);
        assert_eq!(small.held, 61_440);
    }

    #[test]
    fn a_machine_without_a_limit_set_keeps_a_part_of_its_memory() {
        let mut kept = List::new();
        let limit = kept.limit();
        assert_eq!(limit > 0, cfg!(target_os = "linux"));
        assert!(kept.give(mapping(2)).is_empty() || limit < 2 * PAGE);
    }
}
