//! A bar on the terminal while work is long.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_millis(400);

/// Whether nothing is to be shown.
static SILENT: AtomicBool = AtomicBool::new(false);

/// Shows no bars from now on.
pub(crate) fn silence() {
    SILENT.store(true, Ordering::Relaxed);
}

/// A bar that appears once the work has taken a while; never where standard error is no terminal.
pub(crate) struct Bar {
    label: &'static str,
    unit: Unit,
    start: Instant,
    bar: OnceLock<ProgressBar>,
}

/// What is counted.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Bytes,
    Elements,
    /// Bytes of text, else elements: the share that is done is told.
    Share,
    Tensors,
}

impl Bar {
    pub(crate) fn new(label: &'static str, unit: Unit) -> Bar {
        Bar { label, unit, start: Instant::now(), bar: OnceLock::new() }
    }

    pub(crate) fn tell(&self, done: u64, total: u64) {
        if done == total || SILENT.load(Ordering::Relaxed) || self.start.elapsed() < PATIENCE {
            return;
        }
        // What a pipe will bring is not known.
        let bar = || match total {
            0 => ProgressBar::new_spinner().with_message(self.label),
            _ => styled(ProgressBar::new(total), self.label, self.unit),
        };
        self.bar.get_or_init(bar).set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

/// The bar goes to standard error, and is hidden where that is no terminal.
fn styled(bar: ProgressBar, label: &'static str, unit: Unit) -> ProgressBar {
    let counts = match unit {
        Unit::Bytes => "{bytes}/{total_bytes} {bytes_per_sec}",
        Unit::Elements => "{human_pos}/{human_len} elements",
        Unit::Share => "{percent} %",
        Unit::Tensors => "{pos}/{len} tensors",
    };
    if let Ok(style) = ProgressStyle::with_template(&format!("{{msg}} {{wide_bar}} {counts} {{eta}}")) {
        bar.set_style(style);
    }
    bar.with_message(label)
}

/// Shows that something is going on while `work` runs that tells no progress of its own.
pub(crate) fn spinning<T>(label: &'static str, work: impl FnOnce() -> T) -> T {
    let shown = !SILENT.load(Ordering::Relaxed);
    let spinner = if shown { ProgressBar::new_spinner() } else { ProgressBar::hidden() }.with_message(label);
    spinner.enable_steady_tick(PATIENCE);
    let done = work();
    spinner.finish_and_clear();
    done
}
