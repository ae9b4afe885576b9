//! The one place that names the thread pool.
//!
//! Work is cut into chunks by its size alone, never by the number of threads (but where no result can depend on the
//! cut), and results are put together in chunk order: every result is the same bit for bit on any number of threads.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use openwork_ops::ranking;
use openwork_ops::words::{self, Word};
use rayon::prelude::*;

use crate::base::interrupt;

/// Elements per chunk of a cheap loop: long enough to pay for the hand-over, short enough to balance.
pub(crate) const GRAIN: usize = 1 << 15;

/// Cheap loops, those with [`GRAIN`], that are no longer than this are run by the thread that asks: to wake another took 80 µs
/// and more where it was measured, in which one thread adds 200 000 numbers. Chunks are the same, so results are too.
const ALONE: usize = 4 * GRAIN;

/// Whether splitting `n` pieces of work of this grain is not worth it at all.
fn serial(n: usize, grain: usize) -> bool {
    n <= if grain == GRAIN { ALONE } else { grain } || rayon::current_num_threads() == 1
}

fn chunk(i: usize, n: usize, grain: usize) -> Range<usize> {
    i * grain..((i + 1) * grain).min(n)
}

/// Runs `f(i)` for every `i` below `n`, in parallel. The only call of the pool's iterators: what is generic above it
/// would otherwise compile them again for every type.
fn run(n: usize, f: &(dyn Fn(usize) + Sync)) {
    // Loops that are over before a waiting thread would ask may be many.
    interrupt::check();
    let Some(token) = interrupt::token() else { return shared(n, f) };
    let f = |i| {
        interrupt::ask(&token);
        if !token.load(Ordering::Relaxed) {
            interrupt::help(&token, || f(i));
        }
    };
    shared(n, &f);
    interrupt::end(&token);
}

/// How long a thread looks whether others have ended before it sleeps: about as long as it takes to wake one.
const PATIENCE: Duration = Duration::from_micros(100);

/// Runs `f(i)` for every `i` below `n`. A thread that is not of the pool works beside it: to hand everything over and sleep
/// would wait for two threads to wake, one after the other, before anything is done, and then to be woken.
fn shared(n: usize, f: &(dyn Fn(usize) + Sync)) {
    if rayon::current_thread_index().is_some() {
        return (0..n).into_par_iter().for_each(f);
    }
    let helpers = threads().min(n).saturating_sub(1);
    let (next, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= n {
                return;
            }
            f(i);
        }
    };
    rayon::in_place_scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(|_| {
                work();
                ended.fetch_add(1, Ordering::Relaxed);
            });
        }
        work();
        let start = Instant::now();
        while ended.load(Ordering::Relaxed) < helpers && start.elapsed() < PATIENCE {
            std::hint::spin_loop();
        }
    });
}

/// Runs `f` on the pool. A thread outside it would only wait: it asks meanwhile whether the work is still wanted.
fn watched(f: &(dyn Fn() + Sync)) {
    if rayon::current_thread_index().is_some() {
        return f();
    }
    let done = interrupt::Done::default();
    rayon::in_place_scope(|scope| {
        scope.spawn(|_| {
            let _sign = done.when_dropped();
            f();
        });
        done.wait();
    });
}

/// Runs `f` on consecutive ranges of at most `grain` that cover `0..n`, and gives the results in order.
pub(crate) fn map_chunks<R: Send>(n: usize, grain: usize, f: &(dyn Fn(Range<usize>) -> R + Sync)) -> Vec<R> {
    let grain = grain.max(1);
    let chunks = n.div_ceil(grain);
    let mut results = Vec::with_capacity(chunks);
    if serial(n, grain) {
        for i in 0..chunks {
            interrupt::check();
            results.push(f(chunk(i, n, grain)));
        }
        return results;
    }
    let mut slots = Vec::with_capacity(chunks);
    for _ in 0..chunks {
        slots.push(None);
    }
    let slots = Mutex::new(slots);
    run(chunks, &|i| {
        let result = f(chunk(i, n, grain));
        if let Some(slot) = lock(&slots).get_mut(i) {
            *slot = Some(result);
        }
    });
    for slot in lock(&slots).iter_mut() {
        match slot.take() {
            Some(result) => results.push(result),
            None => debug_assert!(false, "every chunk has its result"),
        }
    }
    results
}

/// Runs `f(i, piece)` on the pieces of a buffer cut at multiples of `grain` elements of `width` bytes;
/// `f` gets the first element's number.
pub(crate) fn for_chunks_mut<T: Send>(out: &mut [T], width: usize, grain: usize, f: &(dyn Fn(usize, &mut [T]) + Sync)) {
    if width == 0 || out.is_empty() {
        return;
    }
    // Of rows longer than a grain, one.
    let grain = grain.max(1);
    let piece = grain * width;
    if serial(out.len() / width, grain) {
        for (i, part) in out.chunks_mut(piece).enumerate() {
            interrupt::check();
            f(i * grain, part);
        }
    } else {
        for_each(out.chunks_mut(piece).collect(), &|i, part| f(i * grain, part));
    }
}

/// Cuts `out` at the given ends (rising, the last one `out.len()`) and runs `f(i, piece)` on each piece.
pub(crate) fn for_pieces_mut<T: Send>(out: &mut [T], ends: &[usize], f: &(dyn Fn(usize, &mut [T]) + Sync)) {
    let mut pieces = Vec::with_capacity(ends.len());
    let (mut rest, mut start) = (out, 0);
    for &end in ends {
        let (piece, tail) = rest.split_at_mut(end - start);
        pieces.push(piece);
        (rest, start) = (tail, end);
    }
    for_each(pieces, f);
}

/// Runs `f(i, item)` on every item.
pub(crate) fn for_each<T: Send>(items: Vec<T>, f: &(dyn Fn(usize, T) + Sync)) {
    let n = items.len();
    if n <= 1 || rayon::current_num_threads() == 1 {
        for (i, item) in items.into_iter().enumerate() {
            interrupt::check();
            f(i, item);
        }
        return;
    }
    // Whoever is free takes the next one.
    let items = Mutex::new(items.into_iter().enumerate());
    run(n, &|_| {
        let next = lock(&items).next();
        if let Some((i, item)) = next {
            f(i, item);
        }
    });
}

/// Sorts words, which are nothing but their value: in any order of work the result is the same.
pub(crate) fn sort(words: &mut [u64]) {
    sort_numbered(words, &mut []);
}

/// What is done with keys of which no other changes its place.
type Finish<'a> = &'a (dyn Fn(&mut [u64]) + Sync);

/// Sorts keys, and hands each part that is in order to `finish`, once, while it is in the cache.
pub(crate) fn sort_then(keys: &mut [u64], finish: Finish<'_>) {
    sort_parts(keys, &mut [], Some(finish));
}

/// Sorts keys and, if there are any, as many numbers with them, those of equal keys rising: no two pairs are alike, so that
/// in any order of work the result is the same.
pub(crate) fn sort_numbered(keys: &mut [u64], numbers: &mut [u64]) {
    sort_parts(keys, numbers, None);
}

fn sort_parts(keys: &mut [u64], numbers: &mut [u64], finish: Option<Finish<'_>>) {
    let is_alone = serial(keys.len(), GRAIN);
    if is_alone && (finish.is_none() || keys.len() <= GRAIN) {
        ranking::sort_numbered(keys, numbers);
        return finish.into_iter().for_each(|finish| finish(keys));
    }
    let depth = 2 * keys.len().ilog2();
    interrupt::check();
    let token = interrupt::token();
    let work = Dividing { finish, is_alone, token: token.as_ref() };
    let Some(token) = &token else { return work.divide(keys, numbers, depth) };
    if is_alone {
        work.divide(keys, numbers, depth);
    } else {
        let given = Mutex::new(Some((keys, numbers)));
        watched(&|| {
            let taken = lock(&given).take();
            if let Some((keys, numbers)) = taken {
                work.divide(keys, numbers, depth);
            }
        });
    }
    interrupt::end(token);
}

/// A sort by steps that leave parts for other threads.
struct Dividing<'a> {
    finish: Option<Finish<'a>>,
    /// Whether no other thread takes part.
    is_alone: bool,
    token: Option<&'a interrupt::Token>,
}

impl Dividing<'_> {
    /// Sorts by at most so many steps within each other. Parts are left as they are once the sort is to be given up.
    fn divide(&self, keys: &mut [u64], numbers: &mut [u64], depth: u32) {
        if let Some(token) = self.token {
            interrupt::ask(token);
            if token.load(Ordering::Relaxed) {
                return;
            }
        }
        let finish = |keys: &mut [u64]| self.finish.into_iter().for_each(|finish| finish(keys));
        let Some(depth) = depth.checked_sub(1).filter(|_| keys.len() > GRAIN) else {
            ranking::sort_numbered(keys, numbers);
            return finish(keys);
        };
        let Some((below, above)) = ranking::divide(keys, numbers) else {
            match numbers.is_empty() && !self.is_alone {
                true => keys.par_sort_unstable(),
                false => ranking::sort_numbered(keys, numbers),
            }
            return finish(keys);
        };
        // Without numbers these are places in an empty list.
        let (of_below, of_above) = (below.min(numbers.len()), above.min(numbers.len()));
        let ((first, rest), (own, of_rest)) = (keys.split_at_mut(above), numbers.split_at_mut(of_above));
        let (of_first, equal) = own.split_at_mut(of_below);
        let (first, same) = first.split_at_mut(below);
        let mut sides = (|| self.divide(first, of_first, depth), || self.divide(rest, of_rest, depth));
        if self.is_alone {
            (sides.0)();
            (sides.1)();
        } else {
            rayon::join(sides.0, sides.1);
        }
        finish(same);
        sort(equal);
    }
}

/// Sorts words that differ in some of their bits, or rise in those below, by steps that leave parts for other threads where vectors do
/// it, else in parts that are merged; `room` has as many.
pub(crate) fn sort_words<T: Word>(words: &mut [T], room: &mut [T], bits: Range<u32>) {
    interrupt::check();
    if serial(words.len(), GRAIN) || words.is_sorted() {
        return words::sort(words, room, bits, false);
    }
    let token = interrupt::token();
    let work = Parts { bits, part: words.len().div_ceil(threads()).max(GRAIN), token: token.as_ref() };
    let Some(token) = &token else { return work.sort(words, room) };
    let given = Mutex::new(Some((words, room)));
    watched(&|| {
        let taken = lock(&given).take();
        if let Some((words, room)) = taken {
            work.sort(words, room);
        }
    });
    interrupt::end(token);
}

/// A sort of words by several threads.
struct Parts<'a> {
    bits: Range<u32>,
    /// Words that one thread sorts.
    part: usize,
    token: Option<&'a interrupt::Token>,
}

impl Parts<'_> {
    fn sort<T: Word>(&self, words: &mut [T], room: &mut [T]) {
        match words::is_by_vectors(&self.bits) {
            true => self.divided(words, room, 2 * words.len().ilog2()),
            false => self.merged(words, room, false),
        }
    }

    /// Whether the sort is to be given up: then parts are left as they are.
    fn is_given_up(&self) -> bool {
        self.token.is_some_and(|token| {
            interrupt::ask(token);
            token.load(Ordering::Relaxed)
        })
    }

    /// Sorts by at most so many steps within each other.
    fn divided<T: Word>(&self, words: &mut [T], room: &mut [T], depth: u32) {
        if self.is_given_up() {
            return;
        }
        let step = if words.len() > GRAIN && depth > 0 { T::divide(words) } else { None };
        let Some((below, above)) = step else { return words::sort(words, room, self.bits.clone(), false) };
        let ((first, rest), (of_first, of_rest)) = (words.split_at_mut(above), room.split_at_mut(above));
        rayon::join(
            || self.divided(&mut first[..below], &mut of_first[..below], depth - 1),
            || self.divided(rest, of_rest, depth - 1),
        );
    }

    /// Sorts words in place, or into as much room.
    fn merged<T: Word>(&self, words: &mut [T], room: &mut [T], to_room: bool) {
        if self.is_given_up() {
            return;
        }
        if words.len() <= self.part {
            return words::sort(words, room, self.bits.clone(), to_room);
        }
        let half = words.len().div_ceil(2);
        let ((first, second), (of_first, of_second)) = (words.split_at_mut(half), room.split_at_mut(half));
        rayon::join(|| self.merged(first, of_first, !to_room), || self.merged(second, of_second, !to_room));
        let (from, to) = if to_room { (words, room) } else { (room, words) };
        let (first, second) = from.split_at(half);
        merge(first, second, to);
    }
}

/// What two rising lists have in all, in order.
fn merge<T: Word>(a: &[T], b: &[T], out: &mut [T]) {
    if out.len() <= GRAIN {
        return words::merge(a, b, out);
    }
    let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let middle = long.len() / 2;
    let at = short.partition_point(|word| *word < long[middle]);
    let ((long, rest), (short, of_rest)) = (long.split_at(middle), short.split_at(at));
    let (first, second) = out.split_at_mut(middle + at);
    rayon::join(|| merge(long, short, first), || merge(rest, of_rest, second));
}

/// One lock serves all slots: it is held for a move, against a task of thousands of elements, and a lock per slot would
/// be compiled for every type.
pub(crate) fn lock<T>(slots: &Mutex<T>) -> MutexGuard<'_, T> {
    slots.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many threads there are: for choices that change no result.
pub(crate) fn threads() -> usize {
    rayon::current_num_threads()
}

/// Runs `f` on a pool of `threads` threads: results do not depend on the number, only time does. Budget, NaN policy and
/// [`crate::explain`] apply inside as outside.
///
/// # Errors
/// If the pool cannot be started.
pub fn with_threads<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> crate::base::error::Result<R> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool =
        pool.map_err(|e| crate::base::error::invalid("threads", format_args!("no pool of {threads} threads: {e}")))?;
    let settings = crate::base::context::Settings::of_this_thread();
    let apply = || settings.apply(f);
    let (result, steps) = match interrupt::token() {
        None => pool.install(apply),
        Some(token) => {
            let (mut out, done) = (None, interrupt::Done::default());
            pool.in_place_scope(|scope| {
                scope.spawn(|_| {
                    let _sign = done.when_dropped();
                    out = Some(interrupt::help(&token, apply));
                });
                done.wait();
            });
            let gone = || crate::base::error::invalid("threads", "the pool ended before its work was done");
            out.ok_or_else(gone)?
        }
    };
    crate::base::trace::extend(steps);
    Ok(result)
}

#[cfg(test)]
#[path = "tests/parallel.rs"]
mod tests;
