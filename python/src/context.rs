//! How ops are run from Python: without the interpreter's lock, under the settings of `openwork.config`, told to
//! `openwork.explain`.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicUsize, Ordering};

use openwork::interrupt::Watch;
use openwork::trace::Step;
use openwork::{NanPolicy, parallel};
use pyo3::prelude::*;

use crate::errors::{checked, raised};

/// The settings of a thread; `None` is the library's default.
#[derive(Clone, Copy, Default)]
struct Settings {
    budget: Option<u64>,
    threads: Option<usize>,
    exact_nan: bool,
    explained: bool,
}

impl Settings {
    fn is_default(self) -> bool {
        self.budget.is_none() && self.threads.is_none() && !self.exact_nan && !self.explained
    }
}

thread_local! {
    static SETTINGS: Cell<Settings> = const {
        Cell::new(Settings { budget: None, threads: None, exact_nan: false, explained: false })
    };
    static STEPS: RefCell<Vec<Step>> = const { RefCell::new(Vec::new()) };
    /// Asks the interpreter, which runs its handlers of signals then (in the main thread alone), whether to go on.
    static WATCH: Watch = Watch::new(|| Python::attach(|py| py.check_signals().map_err(raised).is_err()));
}

/// Threads of pools that ops make for themselves in a forked child, where the threads of the parent are not; else 0.
static FORKED: AtomicUsize = AtomicUsize::new(0);

/// Runs an op of the library with the interpreter's lock released, under the thread's settings. What a handler of signals
/// raises meanwhile, `KeyboardInterrupt` for one, ends it.
pub fn run<R: Send>(py: Python<'_>, f: impl FnOnce() -> openwork::Result<R> + Send) -> PyResult<R> {
    let settings = SETTINGS.get();
    let forked = FORKED.load(Ordering::Relaxed);
    if settings.is_default() && forked == 0 {
        return checked(py, py.detach(|| watched(f)));
    }
    let threads = settings.threads.or((forked > 0).then_some(forked));
    let (result, steps) = py.detach(|| under(settings, threads, f));
    if !steps.is_empty() {
        STEPS.with_borrow_mut(|all| all.extend(steps));
    }
    checked(py, result)
}

fn watched<R>(f: impl FnOnce() -> openwork::Result<R>) -> openwork::Result<R> {
    WATCH.with(|watch| watch.run(f))
}

fn under<R: Send>(
    settings: Settings,
    threads: Option<usize>,
    f: impl FnOnce() -> openwork::Result<R> + Send,
) -> (openwork::Result<R>, Vec<Step>) {
    let policy = if settings.exact_nan { NanPolicy::Exact } else { openwork::context::nan_policy() };
    let budget = settings.budget.unwrap_or_else(openwork::context::densify_budget);
    let pooled = || match threads {
        Some(threads) => watched(|| parallel::with_threads(threads, f).and_then(|result| result)),
        None => watched(f),
    };
    let scoped = || openwork::with_densify_budget(budget, || openwork::with_nan_policy(policy, pooled));
    if settings.explained { openwork::explain(scoped) } else { (scoped(), Vec::new()) }
}

/// Replaces settings of this thread and gives what they were, as (budget, threads, exact).
#[pyfunction]
pub fn set_config(budget: Option<u64>, threads: Option<usize>, exact_nan: bool) -> (Option<u64>, Option<usize>, bool) {
    let old = SETTINGS.get();
    SETTINGS.set(Settings { budget, threads, exact_nan, ..old });
    (old.budget, old.threads, old.exact_nan)
}

/// The settings of this thread, as (budget, threads, exact).
#[pyfunction]
pub fn config() -> (Option<u64>, Option<usize>, bool) {
    let now = SETTINGS.get();
    (now.budget, now.threads, now.exact_nan)
}

/// The densify budget of this thread in bytes.
#[pyfunction]
pub fn densify_budget() -> u64 {
    SETTINGS.get().budget.unwrap_or_else(openwork::context::densify_budget)
}

/// Starts to note what ops do; gives whether that was so before.
#[pyfunction]
pub fn explain_start() -> bool {
    let old = SETTINGS.get();
    SETTINGS.set(Settings { explained: true, ..old });
    old.explained
}

/// A step as Python sees it: op, path, operands, result, and the whole as text.
type Told = (String, String, Vec<String>, String, String);

/// Stops (unless `goes_on`), and gives the steps taken since the number `since`, which is how many were taken before.
#[pyfunction]
pub fn explain_stop(goes_on: bool) -> Vec<Told> {
    let old = SETTINGS.get();
    SETTINGS.set(Settings { explained: goes_on, ..old });
    let steps = STEPS.take();
    steps
        .iter()
        .map(|s| {
            (
                s.op.to_string(),
                format!("{:?}", s.path).to_lowercase(),
                s.operands.clone(),
                s.result.clone(),
                s.to_string(),
            )
        })
        .collect()
}

/// Called in a forked child, which has none of its parent's threads: ops start their own from then on.
#[pyfunction]
pub fn after_fork() {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    FORKED.store(threads, Ordering::Relaxed);
}

/// How many threads an op starts for itself in this process; 0 unless it is a forked child.
#[pyfunction]
pub fn forked_threads() -> usize {
    FORKED.load(Ordering::Relaxed)
}
