//! A global allocator that remembers the largest block a thread asked for, and with it the largest that the library maps past it:
//! what a test may say of memory is observed, not estimated.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, watched.
pub struct Watched;

fn note(bytes: usize) {
    // A thread that ends has no such value any more, and nobody asks.
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(bytes)));
}

// SAFETY: every call is passed on to the system's allocator unchanged; noting a number allocates nothing.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Runs `f` and gives the bytes of the largest block that this thread asked for meanwhile.
pub fn largest_block<R>(f: impl FnOnce() -> R) -> (R, usize) {
    openwork::memory::watch(note);
    let before = LARGEST.replace(0);
    let result = f();
    let largest = LARGEST.get();
    LARGEST.set(before.max(largest));
    (result, largest)
}
