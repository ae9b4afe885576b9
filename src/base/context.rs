//! What the caller allows and may ask: the densify budget, the NaN policy, and the path an op took.
//!
//! All three are scoped to the calling thread.

use std::cell::{Cell, RefCell};
use std::fmt;

use crate::base::error::{Error, ErrorKind, Result};

/// The default densify budget: 16 MiB.
pub const DEFAULT_DENSIFY_BUDGET: u64 = 16 << 20;

/// What an unstored zero does to a stored NaN or infinity in elementwise `*` and in contractions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum NanPolicy {
    /// An unstored zero times any stored or strided element is zero, as in every sparse library.
    #[default]
    ZeroAnnihilates,
    /// IEEE 754 everywhere: `0 * NaN` is NaN. Products may become dense.
    Exact,
}

thread_local! {
    static BUDGET: Cell<u64> = const { Cell::new(DEFAULT_DENSIFY_BUDGET) };
    static POLICY: Cell<NanPolicy> = const { Cell::new(NanPolicy::ZeroAnnihilates) };
    static TRACE: RefCell<Option<Vec<Step>>> = const { RefCell::new(None) };
}

/// Puts a thread-local setting back when the scope ends, also by a panic.
struct Restore<T: Copy + 'static>(&'static std::thread::LocalKey<Cell<T>>, T);

impl<T: Copy + 'static> Drop for Restore<T> {
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

/// Runs `f` with another densify budget: the bytes that a result which is not sparse may take. With 0,
/// nothing ever becomes dense.
pub fn with_densify_budget<R>(bytes: u64, f: impl FnOnce() -> R) -> R {
    let _restore = Restore(&BUDGET, BUDGET.replace(bytes));
    f()
}

/// Runs `f` under another NaN policy.
pub fn with_nan_policy<R>(policy: NanPolicy, f: impl FnOnce() -> R) -> R {
    let _restore = Restore(&POLICY, POLICY.replace(policy));
    f()
}

/// The densify budget in force, in bytes.
pub fn densify_budget() -> u64 {
    BUDGET.get()
}

/// The NaN policy in force.
pub fn nan_policy() -> NanPolicy {
    POLICY.get()
}

/// Whether `elements` of `size` bytes may become dense, else the error that says why not.
pub(crate) fn may_densify(op: &'static str, shape: &[usize], size: usize, why: impl FnOnce() -> String) -> Result<()> {
    match over_budget(shape, size) {
        None => Ok(()),
        Some((bytes, budget)) => Err(densify_error(op, bytes, budget, why())),
    }
}

fn densify_error(op: &'static str, bytes: u128, budget: u64, why: String) -> Error {
    ErrorKind::Densify { op, bytes, budget, why }.into()
}

/// The bytes of a dense array and the budget, if it exceeds that.
fn over_budget(shape: &[usize], size: usize) -> Option<(u128, u64)> {
    let elements = shape.iter().try_fold(1u128, |n, &s| n.checked_mul(s as u128)).unwrap_or(u128::MAX);
    let bytes = elements.saturating_mul(size as u128);
    let budget = densify_budget();
    (bytes > u128::from(budget)).then_some((bytes, budget))
}

/// How an op was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Path {
    /// All operands strided: dense loops, or the dense library's kernels.
    Strided,
    /// Operands share their pattern: values only, no index was read.
    Values,
    /// A kernel written for this op and these layouts.
    Specialised,
    /// The level engine: co-iteration of patterns, then values in blocks.
    Engine,
    /// The result is not sparse and was computed densely, within the budget.
    Densified,
}

/// One step of an [`explain`]ed computation.
#[derive(Clone, Debug)]
pub struct Step {
    /// The op's name.
    pub op: &'static str,
    /// The path taken.
    pub path: Path,
    /// Operands, as `shape dtype layout fill`.
    pub operands: Vec<String>,
    /// The result, likewise.
    pub result: String,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{:?}] ({}) -> {}", self.op, self.path, self.operands.join("; "), self.result)
    }
}

/// Runs `f` and says how each op in it was carried out: the path, and layouts and fills in and out.
pub fn explain<R>(f: impl FnOnce() -> R) -> (R, Vec<Step>) {
    struct Outer(Option<Vec<Step>>);
    impl Drop for Outer {
        fn drop(&mut self) {
            TRACE.replace(self.0.take());
        }
    }
    let mut outer = Outer(TRACE.replace(Some(Vec::new())));
    let result = f();
    let steps = TRACE.take().unwrap_or_default();
    if let Some(enclosing) = &mut outer.0 {
        enclosing.extend(steps.iter().cloned());
    }
    (result, steps)
}

/// The settings of a thread, to take to another.
pub(crate) struct Settings {
    budget: u64,
    policy: NanPolicy,
    explained: bool,
}

impl Settings {
    pub(crate) fn of_this_thread() -> Settings {
        Settings { budget: densify_budget(), policy: nan_policy(), explained: TRACE.with_borrow(Option::is_some) }
    }

    /// Runs `f` under these settings, and gives the steps it took if they are wanted.
    pub(crate) fn apply<R>(&self, f: impl FnOnce() -> R) -> (R, Vec<Step>) {
        let run = || with_densify_budget(self.budget, || with_nan_policy(self.policy, f));
        if self.explained { explain(run) } else { (run(), Vec::new()) }
    }
}

/// Adds steps taken elsewhere.
pub(crate) fn extend(steps: Vec<Step>) {
    TRACE.with_borrow_mut(|t| {
        if let Some(t) = t {
            t.extend(steps);
        }
    });
}

/// Records a step if somebody asked; the closure runs only then.
pub(crate) fn record(step: impl FnOnce() -> Step) {
    if TRACE.with_borrow(Option::is_some) {
        let step = step();
        TRACE.with_borrow_mut(|t| {
            if let Some(t) = t {
                t.push(step)
            }
        });
    }
}
