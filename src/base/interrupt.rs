//! Long operations that are given up when their caller says so.
//!
//! The thread that started an operation asks from time to time whether it is still wanted: between chunks of work
//! ([`parallel`](crate::parallel)) and where operations begin. If not, what runs unwinds to the [`Watch`], as from a panic that
//! nobody is told of. Whoever leaves memory or a file half written drops it on that way, and what is written in place is
//! held (`hold`) until it is done.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::base::error::{ErrorKind, Result};
use crate::base::trace;

/// How long an operation runs until the first question, and from one to the next.
const EVERY: Duration = Duration::from_millis(50);

/// Chunks and operations that begin before the clock is looked at: short ones never do.
const FREE: u32 = 3;

/// Whether an operation that many threads work at is to end.
pub(crate) type Token = Arc<AtomicBool>;

thread_local! {
    /// The watch over what this thread runs.
    static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) };
    /// The same in short: whether there is any.
    static IS_WATCHED: Cell<bool> = const { Cell::new(false) };
}

/// A watch over what this thread runs.
#[derive(Clone)]
struct Running {
    token: Token,
    /// Who asks, on the thread whose operation it is.
    asks: Option<Rc<Asks>>,
}

struct Asks {
    is_over: Box<dyn Fn() -> bool>,
    last: Cell<Option<Instant>>,
    since: Cell<u32>,
    /// The op that ran when it was over.
    op: Cell<&'static str>,
}

impl Asks {
    /// Asks, if it is time and this is not among the first few questions.
    fn is_over_by_now(&self) -> bool {
        let since = self.since.get().saturating_add(1);
        self.since.set(since);
        since > FREE && self.is_over()
    }

    /// Asks, if it is time.
    fn is_over(&self) -> bool {
        match self.last.get() {
            None => {
                self.last.set(Some(Instant::now()));
                false
            }
            Some(last) if last.elapsed() < EVERY => false,
            Some(_) => {
                self.op.set(trace::op());
                let is_over = (self.is_over)();
                self.last.set(Some(Instant::now()));
                is_over
            }
        }
    }
}

/// What unwinds from an operation that is given up.
struct GivenUp;

/// Lets operations be given up while they run: asks a function, again and again, whether they are still wanted.
///
/// An operation that is given up is an error ([`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted)), soon after the function
/// first says so. Operands are as they were; results that are written in place (`add_assign`,
/// `matmul_into` and their kin) are done first. The function is asked on the calling thread alone, and not before an operation
/// has run for 50 ms, so that short ones cost as much as without.
///
/// What is one piece of work runs to its end: a sort on one thread, factorisations (feature `faer`), a product
/// with a single block, a callback. So do operations in a program that aborts on panics: there nothing is given up.
///
/// ```
/// use std::time::{Duration, Instant};
/// use openwork::interrupt::Watch;
/// use openwork::{ErrorKind, Tensor};
///
/// let deadline = Instant::now() + Duration::from_millis(100);
/// let watch = Watch::new(move || Instant::now() > deadline);
/// let x = Tensor::rand([200, 200], 1)?;
/// let endless = watch.run(|| {
///     let mut y = x.clone();
///     loop {
///         y = x.matmul(&y)?.tanh()?;
///     }
/// });
/// let error: openwork::Result<Tensor> = endless;
/// assert!(matches!(error.unwrap_err().kind(), ErrorKind::Interrupted { .. }));
/// # Ok::<(), openwork::Error>(())
/// ```
pub struct Watch {
    running: Running,
}

impl Watch {
    /// A watch that asks this function, which says `true` once what runs is no longer wanted.
    pub fn new(is_over: impl Fn() -> bool + 'static) -> Watch {
        let (last, since, op) = (Cell::new(None), Cell::new(0), Cell::new("openwork"));
        let asks = Asks { is_over: Box::new(is_over), last, since, op };
        Watch { running: Running { token: Token::default(), asks: Some(Rc::new(asks)) } }
    }

    /// Runs `f`, and gives it up once the function says so.
    ///
    /// # Errors
    /// Those of `f`; [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted) if it was given up.
    pub fn run<R>(&self, f: impl FnOnce() -> Result<R>) -> Result<R> {
        if cfg!(panic = "abort") {
            return f();
        }
        let op = match &self.running.asks {
            Some(asks) => {
                asks.last.set(None);
                asks.since.set(0);
                &asks.op
            }
            None => return f(),
        };
        let outcome = within(Some(&self.running), || catch_unwind(AssertUnwindSafe(f)));
        match outcome {
            Ok(result) => result,
            Err(why) if why.is::<GivenUp>() => {
                self.running.token.store(false, Ordering::Relaxed);
                Err(ErrorKind::Interrupted { op: op.get() }.into())
            }
            Err(panic) => resume_unwind(panic),
        }
    }
}

/// Runs `f` under another watch, or none.
fn within<R>(running: Option<&Running>, f: impl FnOnce() -> R) -> R {
    /// Puts back what was there, also by a panic.
    struct Outer(Option<Running>);
    impl Drop for Outer {
        fn drop(&mut self) {
            IS_WATCHED.set(self.0.is_some());
            RUNNING.replace(self.0.take());
        }
    }
    let _outer = Outer(RUNNING.replace(running.cloned()));
    IS_WATCHED.set(running.is_some());
    f()
}

/// Runs `f` to its end, whatever the watch says meanwhile: it writes what others can see.
pub(crate) fn hold<R>(f: impl FnOnce() -> R) -> R {
    if IS_WATCHED.get() { within(None, f) } else { f() }
}

/// On any thread that works at what is watched: runs `f`, which ends where that is given up.
pub(crate) fn help<R>(token: &Token, f: impl FnOnce() -> R) -> R {
    // The thread that asks goes on asking.
    let is_own = IS_WATCHED.get() && RUNNING.with_borrow(|r| r.as_ref().is_some_and(|r| Arc::ptr_eq(&r.token, token)));
    if is_own {
        return f();
    }
    within(Some(&Running { token: token.clone(), asks: None }), f)
}

/// Between two pieces of work: goes no further if the operation is to be given up.
#[inline]
pub(crate) fn check() {
    if IS_WATCHED.get() {
        look();
    }
}

#[cold]
fn look() {
    let Some(Running { token, asks }) = RUNNING.with_borrow(Clone::clone) else { return };
    if asks.is_some_and(|asks| asks.is_over_by_now()) {
        token.store(true, Ordering::Relaxed);
    }
    end(&token);
}

/// Before a piece of work of many threads: the thread that asks does so, if this is it.
pub(crate) fn ask(token: &Token) {
    let asks = if IS_WATCHED.get() { RUNNING.with_borrow(|r| r.as_ref().and_then(|r| r.asks.clone())) } else { None };
    if asks.is_some_and(|asks| asks.is_over_by_now()) {
        token.store(true, Ordering::Relaxed);
    }
}

/// After work of many threads, of which some may have left theirs undone: goes no further then.
pub(crate) fn end(token: &Token) {
    if token.load(Ordering::Relaxed) {
        give_up();
    }
}

fn give_up() -> ! {
    resume_unwind(Box::new(GivenUp))
}

/// Whether what this thread runs is watched, and by whom it is ended.
pub(crate) fn token() -> Option<Token> {
    if IS_WATCHED.get() { RUNNING.with_borrow(|running| running.as_ref().map(|r| r.token.clone())) } else { None }
}

/// A sign that work on other threads is done.
#[derive(Default)]
pub(crate) struct Done {
    is_done: Mutex<bool>,
    changed: Condvar,
}

impl Done {
    /// Gives the sign when dropped, also by a panic.
    pub(crate) fn when_dropped(&self) -> impl Drop + '_ {
        struct Sign<'a>(&'a Done);
        impl Drop for Sign<'_> {
            fn drop(&mut self) {
                *self.0.is_done.lock().unwrap_or_else(PoisonError::into_inner) = true;
                self.0.changed.notify_all();
            }
        }
        Sign(self)
    }

    /// Waits so long for the sign at most, and says whether it was given.
    pub(crate) fn within(&self, time: Duration) -> bool {
        let is_done = self.is_done.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = |is_done: &mut bool| !*is_done;
        *self.changed.wait_timeout_while(is_done, time, waiting).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits for the sign, and asks meanwhile whether the work is still wanted: if not, those who work are told.
    pub(crate) fn wait(&self) {
        let running = RUNNING.with_borrow(Clone::clone);
        let mut is_done = self.is_done.lock().unwrap_or_else(PoisonError::into_inner);
        while !*is_done {
            (is_done, _) = self.changed.wait_timeout(is_done, EVERY).unwrap_or_else(PoisonError::into_inner);
            if !*is_done && let Some(Running { token, asks: Some(asks) }) = &running {
                drop(is_done); // who asks may wait for somebody else
                if asks.is_over() {
                    token.store(true, Ordering::Relaxed);
                }
                is_done = self.is_done.lock().unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

#[cfg(test)]
#[path = "tests/interrupt.rs"]
mod tests;
