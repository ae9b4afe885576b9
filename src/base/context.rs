//! What the caller allows: the densify budget and the NaN policy, scoped to the calling thread.

use std::cell::Cell;

use crate::base::error::{ErrorKind, Result};
use crate::base::shape;
use crate::base::trace::{self, Step, explain};

/// The default densify budget: 16 MiB.
pub const DEFAULT_DENSIFY_BUDGET: u64 = 16 << 20;

/// What an unstored zero does to a stored NaN or infinity in elementwise `*` and in contractions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
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

/// Whether a tensor of this shape and element size may become dense, else the error that says why not. What passes is
/// noted as [`Path::Densified`](crate::trace::Path::Densified).
pub(crate) fn may_densify(shape: &[usize], size: usize, why: impl FnOnce() -> String) -> Result<()> {
    match over_budget(shape, size) {
        None => {
            trace::asked(shape::elements(shape));
            Ok(())
        }
        Some((bytes, budget)) => Err(ErrorKind::Densify { op: trace::op(), bytes, budget, why: why() }.into()),
    }
}

/// The bytes of a dense array and the budget, if it exceeds that.
fn over_budget(shape: &[usize], size: usize) -> Option<(u128, u64)> {
    let elements = shape.iter().try_fold(1u128, |n, &s| n.checked_mul(s as u128)).unwrap_or(u128::MAX);
    let bytes = elements.saturating_mul(size as u128);
    let budget = densify_budget();
    (bytes > u128::from(budget)).then_some((bytes, budget))
}

/// The settings of a thread, to take to another.
pub(crate) struct Settings {
    budget: u64,
    policy: NanPolicy,
    explained: bool,
}

impl Settings {
    pub(crate) fn of_this_thread() -> Settings {
        Settings { budget: densify_budget(), policy: nan_policy(), explained: trace::is_explained() }
    }

    /// Runs `f` under these settings, and gives the steps it took if they are wanted.
    pub(crate) fn apply<R>(&self, f: impl FnOnce() -> R) -> (R, Vec<Step>) {
        let run = || with_densify_budget(self.budget, || with_nan_policy(self.policy, f));
        if self.explained { explain(run) } else { (run(), Vec::new()) }
    }
}
