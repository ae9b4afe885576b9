//! The one place that names the thread pool.
//!
//! Work is cut into chunks by its size alone, never by the number of threads (but where no result can depend on the
//! cut), and results are put together in chunk order: every result is the same bit for bit on any number of threads.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

/// Elements per chunk of a cheap loop: long enough to pay for the hand-over, short enough to balance.
pub(crate) const GRAIN: usize = 1 << 15;

/// Whether splitting `n` pieces of work of this grain is worth it at all.
fn serial(n: usize, grain: usize) -> bool {
    n <= grain || rayon::current_num_threads() == 1
}

fn chunk(i: usize, n: usize, grain: usize) -> Range<usize> {
    i * grain..((i + 1) * grain).min(n)
}

/// Runs `f(i)` for every `i` below `n`, in parallel. The only call of the pool's iterators: what is generic above it
/// would otherwise compile them again for every type.
fn run(n: usize, f: &(dyn Fn(usize) + Sync)) {
    (0..n).into_par_iter().for_each(f);
}

/// Runs `f` on consecutive ranges of at most `grain` that cover `0..n`, and gives the results in order.
pub(crate) fn map_chunks<R: Send>(n: usize, grain: usize, f: &(dyn Fn(Range<usize>) -> R + Sync)) -> Vec<R> {
    let chunks = n.div_ceil(grain);
    if serial(n, grain) {
        return (0..chunks).map(|i| f(chunk(i, n, grain))).collect();
    }
    let results: Vec<Mutex<Option<R>>> = (0..chunks).map(|_| Mutex::new(None)).collect();
    run(chunks, &|i| {
        let result = f(chunk(i, n, grain));
        *lock(&results[i]) = Some(result);
    });
    results.into_iter().filter_map(|r| r.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

/// Runs `f(i, piece)` on the pieces of a buffer cut at multiples of `grain` elements of `width` bytes;
/// `f` gets the first element's number.
pub(crate) fn for_chunks_mut<T: Send>(out: &mut [T], width: usize, grain: usize, f: &(dyn Fn(usize, &mut [T]) + Sync)) {
    if width == 0 || out.is_empty() {
        return;
    }
    let piece = grain.max(1) * width;
    if serial(out.len() / width, grain) {
        out.chunks_mut(piece).enumerate().for_each(|(i, part)| f(i * grain, part));
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
    if items.len() <= 1 || rayon::current_num_threads() == 1 {
        items.into_iter().enumerate().for_each(|(i, item)| f(i, item));
        return;
    }
    let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    run(items.len(), &|i| {
        let item = lock(&items[i]).take();
        if let Some(item) = item {
            f(i, item);
        }
    });
}

/// A lock that nobody else holds: each index is one task's.
pub(crate) fn lock<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
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
pub fn with_threads<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> crate::Result<R> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool
        .map_err(|e| crate::error::invalid("with_threads", "threads", format!("no pool of {threads} threads: {e}")))?;
    let settings = crate::context::Settings::of_this_thread();
    let (result, steps) = pool.install(|| settings.apply(f));
    crate::context::extend(steps);
    Ok(result)
}
