//! Which vector instructions loops are compiled for, chosen when they run.
#![allow(unsafe_code)] // functions compiled for CPU features are called once these were detected

use std::sync::atomic::{AtomicU8, Ordering};

/// Vector instructions that a loop is compiled for. Each level includes those before it.
///
/// Sums and products have the same bits at every level: loops do the same IEEE operations in the same order, some of them
/// at once. Functions such as `exp` use fused multiply-adds and differ by the last bit on a CPU that has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// What every CPU of the architecture has: SSE2 on x86-64, NEON on 64-bit ARM.
    Baseline,
    /// AVX2, FMA and F16C.
    Avx2,
    /// AVX-512 (F, VL, DQ, BW).
    Avx512,
}

impl Level {
    /// All levels, rising.
    pub const ALL: [Level; 3] = [Level::Baseline, Level::Avx2, Level::Avx512];

    /// The name that the environment variable `OPENWORK_SIMD` takes.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Baseline => "baseline",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }

    /// The highest level of this CPU.
    pub fn of_cpu() -> Level {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c") {
                let has_all = is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512bw");
                return if has_all { Level::Avx512 } else { Level::Avx2 };
            }
        }
        Level::Baseline
    }
}

/// What is chosen, as numbers, or [`UNKNOWN`] before the first question.
struct Chosen {
    level: AtomicU8,
    slow_gathers: AtomicU8,
}

const UNKNOWN: u8 = u8::MAX;

impl Chosen {
    const fn nothing() -> Chosen {
        Chosen { level: AtomicU8::new(UNKNOWN), slow_gathers: AtomicU8::new(UNKNOWN) }
    }
}

#[cfg(not(test))]
fn chosen<T>(f: impl FnOnce(&Chosen) -> T) -> T {
    static CHOSEN: Chosen = Chosen::nothing();
    f(&CHOSEN)
}

/// A choice for each thread: tests run beside each other, and what one tries must not reach the others.
#[cfg(test)]
fn chosen<T>(f: impl FnOnce(&Chosen) -> T) -> T {
    thread_local! {
        static CHOSEN: Chosen = const { Chosen::nothing() };
    }
    CHOSEN.with(f)
}

/// The level that loops run at: the CPU's, or the one that the environment variable `OPENWORK_SIMD` (`baseline`, `avx2`,
/// `avx512`) or [`set_level`] asks for, if that is lower.
pub fn level() -> Level {
    match chosen(|of| of.level.load(Ordering::Relaxed)) {
        0 => Level::Baseline,
        1 => Level::Avx2,
        2 => Level::Avx512,
        _ => set_level(std::env::var("OPENWORK_SIMD").ok().and_then(|name| named(&name))),
    }
}

fn named(name: &str) -> Option<Level> {
    Level::ALL.into_iter().find(|level| level.name() == name)
}

/// Sets the level for the whole process, at most the CPU's (`None`: the CPU's), and gives the one that is now in use: to
/// test and to measure each level on one machine.
pub fn set_level(wanted: Option<Level>) -> Level {
    let own = Level::of_cpu();
    let level = wanted.map_or(own, |wanted| wanted.min(own));
    chosen(|of| of.level.store(level as u8, Ordering::Relaxed));
    level
}

/// Whether instructions that gather and scatter are slower here than loads and stores of the same elements: those of AMD are made of
/// dozens of steps. Unless the environment variable `OPENWORK_GATHERS` (`slow`, `fast`) or [`set_slow_gathers`] says so.
pub fn gathers_are_slow() -> bool {
    match chosen(|of| of.slow_gathers.load(Ordering::Relaxed)) {
        0 => false,
        1 => true,
        _ => set_slow_gathers(match std::env::var("OPENWORK_GATHERS").as_deref() {
            Ok("slow") => Some(true),
            Ok("fast") => Some(false),
            _ => None,
        }),
    }
}

/// Says for the whole process whether gathers are slow (`None`: as they are on this CPU), and gives what now holds: to test and to
/// measure both ways on one machine. Results are the same.
pub fn set_slow_gathers(slow: Option<bool>) -> bool {
    let slow = slow.unwrap_or_else(is_amd);
    chosen(|of| of.slow_gathers.store(u8::from(slow), Ordering::Relaxed));
    slow
}

fn is_amd() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let vendor = std::arch::x86_64::__cpuid(0);
        let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
        name.as_flattened() == b"AuthenticAMD"
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// A loop that is compiled once for each level. [`Loop::run`] and all that it calls must be `#[inline(always)]`: what is
/// not becomes code of the baseline. So may what iterators and arrays do with a closure (`fold`, `for_each`, `map`, `from_fn`), which the
/// compiler leaves as calls where they are many or large: where elements go by, write a plain `for`.
pub(crate) trait Loop {
    type Output;
    fn run(self) -> Self::Output;
}

/// Runs a loop at the level in use.
#[inline]
pub(crate) fn run<L: Loop>(work: L) -> L::Output {
    match run_above(work) {
        Ok(out) => out,
        Err(work) => work.run(),
    }
}

/// As [`run`], or at AVX2 where the level in use is AVX-512: for loops that wider registers do not help, which are compiled once
/// less.
#[inline]
pub(crate) fn run_narrow<L: Loop>(work: L) -> L::Output {
    match run_narrow_above(work) {
        Ok(out) => out,
        Err(work) => work.run(),
    }
}

/// As [`run`], but at the baseline it gives the loop back: for loops that have been compiled for that elsewhere.
#[inline(always)]
pub(crate) fn run_above<L: Loop>(work: L) -> Result<L::Output, L> {
    #[cfg(target_arch = "x86_64")]
    match level() {
        // SAFETY: the level in use is at most that of the CPU, which has these features.
        Level::Avx512 => return Ok(unsafe { avx512(work) }),
        // SAFETY: as above.
        Level::Avx2 => return Ok(unsafe { avx2(work) }),
        Level::Baseline => {}
    }
    Err(work)
}

/// As [`run_above`], at AVX2 where the level in use is AVX-512.
#[inline(always)]
pub(crate) fn run_narrow_above<L: Loop>(work: L) -> Result<L::Output, L> {
    #[cfg(target_arch = "x86_64")]
    if level() >= Level::Avx2 {
        // SAFETY: the level in use is at most that of the CPU, which has these features.
        return Ok(unsafe { avx2(work) });
    }
    Err(work)
}

/// Runs a loop at a level, or at the highest one of the CPU below it.
#[cfg(test)]
pub(crate) fn run_at<L: Loop>(level: Level, work: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    match level.min(Level::of_cpu()) {
        // SAFETY: the level is at most that of the CPU, which has these features.
        Level::Avx512 => return unsafe { avx512(work) },
        // SAFETY: as above.
        Level::Avx2 => return unsafe { avx2(work) },
        Level::Baseline => {}
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
fn avx512<L: Loop>(work: L) -> L::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<L: Loop>(work: L) -> L::Output {
    work.run()
}

/// Has the lanes of a sum lie in memory before they are added to each other. Else compilers see how they are, two by two in the end, and make
/// vectors of two of them in the loop before.
#[inline(always)]
pub(crate) fn lie_together<T>(lanes: &mut T) {
    std::hint::black_box(lanes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for level in Level::ALL {
            assert_eq!(named(level.name()), Some(level));
        }
        assert_eq!(named("sse9"), None);
    }

    #[test]
    fn gathers_are_as_slow_as_is_said() {
        for slow in [true, false] {
            assert_eq!((set_slow_gathers(Some(slow)), gathers_are_slow()), (slow, slow));
        }
        assert_eq!((set_slow_gathers(None), gathers_are_slow()), (is_amd(), is_amd()));
    }

    #[test]
    fn never_above_the_cpu() {
        for level in Level::ALL {
            assert!(level.min(Level::of_cpu()) <= Level::of_cpu());
        }
        assert!(level() <= Level::of_cpu());
    }

    #[test]
    fn what_a_test_tries_reaches_no_other() {
        set_level(Some(Level::Baseline));
        let elsewhere = std::thread::spawn(|| (set_level(None), level())).join().unwrap();
        assert_eq!((level(), elsewhere), (Level::Baseline, (Level::of_cpu(), Level::of_cpu())));
        set_level(None);
    }
}
