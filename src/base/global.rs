//! What all threads of a process share, in a forked child too.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

use crate::base::parallel;

/// A value behind a lock that nobody waits for in vain.
///
/// A child is forked with memory as it is at that moment, and with one thread: a lock that another thread of the parent
/// holds just then stays locked in the child for ever.
pub(crate) struct Global<T> {
    value: Mutex<T>,
    /// The process that used the value first: in a child that was forked after that, the parent. 0 before.
    process: AtomicU32,
}

impl<T> Global<T> {
    pub(crate) const fn new(value: T) -> Global<T> {
        Global { value: Mutex::new(value), process: AtomicU32::new(0) }
    }

    /// The value, once no other thread has it. `None` in a forked child where another thread has it, which may be one of the
    /// parent's: then do without it.
    pub(crate) fn lock(&self) -> Option<MutexGuard<'_, T>> {
        if self.process.load(Ordering::Relaxed) == 0 {
            self.process.store(process::id(), Ordering::Relaxed);
        }
        match self.value.try_lock() {
            Ok(value) => Some(value),
            Err(TryLockError::WouldBlock) if self.process.load(Ordering::Relaxed) != process::id() => None,
            // Free meanwhile, or soon; whoever panicked with it left it whole.
            Err(_) => Some(parallel::lock(&self.value)),
        }
    }
}

#[cfg(test)]
#[path = "tests/global.rs"]
mod tests;
