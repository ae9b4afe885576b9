//! How far a reader or writer has come.

use std::cell::Cell;
use std::fmt;

/// A callback for progress: called with what is done so far, and what there is to do.
///
/// Readers of text count bytes of the input as it is stored (compressed or not), writers of text stored elements. Readers and
/// writers of arrays count bytes of these as they are in memory; of several tensors that are written one by one, tensors.
/// Calls come from the calling thread, with `done` rising; the last one has both numbers equal. What a pipe will bring is not known:
/// there is 0 to do until the last call. Nothing is called once an error is found.
///
/// ```
/// use openwork::io::{Progress, ReadOptions, matrix_market};
/// let text = b"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 7\n";
/// let show = |done: u64, total: u64| eprintln!("{done} of {total} bytes");
/// let options = ReadOptions { progress: Some(Progress(&show)), ..Default::default() };
/// assert_eq!(matrix_market::read_bytes(text, &options)?.nse(), 1);
/// # Ok::<(), openwork::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Progress<'a>(pub &'a (dyn Fn(u64, u64) + Sync));

impl fmt::Debug for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress(..)")
    }
}

/// Counts what is done, and tells it.
pub(crate) struct Tell<'a> {
    progress: Option<Progress<'a>>,
    all: u64,
    done: Cell<u64>,
}

impl<'a> Tell<'a> {
    /// Of so much to do.
    pub(crate) fn new(progress: Option<Progress<'a>>, all: u64) -> Tell<'a> {
        Tell { progress, all, done: Cell::new(0) }
    }

    /// Nobody is told.
    pub(crate) fn nobody() -> Tell<'a> {
        Tell::new(None, 0)
    }

    /// So much more is done. That all is done is said at the end.
    pub(crate) fn more(&self, count: usize) {
        let Some(Progress(tell)) = self.progress else { return };
        let (done, all) = (self.done.get().saturating_add(count as u64), self.all);
        self.done.set(done);
        if done < all {
            tell(done, all);
        }
    }

    /// All is done.
    pub(crate) fn end(&self) {
        if let Some(Progress(tell)) = self.progress {
            tell(self.all, self.all);
        }
    }
}
