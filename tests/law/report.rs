//! What a run of the law counts, and what it says of failures.

use std::cell::{Cell as Slot, RefCell};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use super::cells::{Cell, FillKind, Store};
use super::oracle::OType;

/// Failures of one sort that are kept; the rest are only counted.
const OF_ONE_SORT: usize = 2;

/// Counts and failures of a run.
#[derive(Default)]
pub struct Report {
    pub ops: BTreeSet<String>,
    pub cells: BTreeSet<(Store, FillKind, OType)>,
    pub cases: u64,
    pub failed: u64,
    pub failures: Vec<(String, String)>,
    /// Failures after which a run stops; 0 for no end.
    pub enough: u64,
}

impl Report {
    pub fn new() -> Report {
        quiet_panics();
        Report { enough: 2000, ..Report::default() }
    }

    /// Stops at the first failure.
    #[cfg(feature = "planted-faults")]
    pub fn first() -> Report {
        Report { enough: 1, ..Report::new() }
    }

    pub fn is_full(&self) -> bool {
        self.enough > 0 && self.failed >= self.enough
    }

    /// One case: a panic in it is a failure too. `what` names the cells and the seed.
    pub fn case(
        &mut self,
        op: &str,
        cells: &[&Cell],
        what: impl FnOnce() -> String,
        check: impl FnOnce() -> Result<(), String>,
    ) {
        self.cases += 1;
        self.cells.extend(cells.iter().map(|c| (c.store, c.fill, c.dtype)));
        if !self.ops.contains(op) {
            self.ops.insert(op.to_string());
        }
        if let Err(why) = caught(check) {
            self.failed += 1;
            // One op may fail in several ways; each begins its message in its own.
            let sort = format!("{op} {}", why.chars().take(24).collect::<String>());
            if self.failures.iter().filter(|(s, _)| *s == sort).count() < OF_ONE_SORT {
                self.failures.push((sort, format!("{op} | {} | {why}", what())));
            }
        }
    }

    pub fn merge(&mut self, other: Report) {
        self.ops.extend(other.ops);
        self.cells.extend(other.cells);
        self.cases += other.cases;
        self.failed += other.failed;
        self.failures.extend(other.failures);
    }

    /// Panics with up to twenty reproducers if anything failed, and prints the counts.
    pub fn finish(self, name: &str) {
        println!("{name}: {} ops, {} cells, {} cases", self.ops.len(), self.cells.len(), self.cases);
        let shown: Vec<&str> = self.failures.iter().take(20).map(|(_, text)| text.as_str()).collect();
        assert!(self.failed == 0, "{name}: {} of {} cases failed\n{}", self.failed, self.cases, shown.join("\n"));
    }
}

thread_local! {
    static INSIDE: Slot<bool> = const { Slot::new(false) };
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Panics inside a case are kept for its failure instead of printed.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if INSIDE.get() {
                PANIC.with_borrow_mut(|p| *p = info.to_string().replace('\n', " "));
            } else {
                print(info);
            }
        }));
    });
}

fn caught(check: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    INSIDE.set(true);
    let result = catch_unwind(AssertUnwindSafe(check));
    INSIDE.set(false);
    result.unwrap_or_else(|_| Err(PANIC.with_borrow(|p| format!("panic: {p}"))))
}
