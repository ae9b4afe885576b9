//! Times one closure: a warm-up, then the median of a few samples, with the processor time, the load
//! that other programs put on the machine, the peak memory of the first call, and whether memory was fresh. Linux only: the
//! facts come from `/proc`.

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use openwork::{Tensor, memory};

use crate::Outcome;

/// Samples stop once they took this long together.
const BUDGET: Duration = Duration::from_millis(1500);
/// A call shorter than this is repeated within one sample ...
const SHORT: Duration = Duration::from_millis(4);
/// ... until the sample takes about this long, ...
const SAMPLE: f64 = 0.02;
/// ... but not more often than this.
const MOST_REPEATS: usize = 200;
/// Samples at least of a run that is affordable.
const FEWEST: usize = 4;
/// A call longer than this is not sampled for the sake of their number.
const AFFORDABLE: Duration = Duration::from_secs(4);
/// The kernel's `USER_HZ`, in which `/proc` counts processor time.
const TICKS_PER_SECOND: f64 = 100.0;

/// An operation under test: the same work at every call.
pub type Run = Box<dyn FnMut() -> openwork::Result<Tensor> + Send>;

/// What was measured.
pub struct Measurement {
    /// Median over the samples, milliseconds per call.
    pub ms: f64,
    /// Processor time, milliseconds per call, over all samples (`/proc` counts in 10 ms steps).
    pub cpu_ms: f64,
    /// The fastest sample, milliseconds per call.
    pub min_ms: f64,
    /// The first call, which also touches fresh memory.
    pub first_ms: f64,
    /// The number of samples.
    pub n: usize,
    /// Cores that other programs used meanwhile.
    pub foreign: f64,
    /// Memory of the process during the first call, above what it held before.
    pub peak_mb: f64,
    /// Of the large arrays that the samples made, the part that took memory of earlier ones: 0 where all was fresh.
    pub recycled: f64,
    /// Pages that the system had to provide, ordinary or huge, per call.
    pub faults: f64,
    /// What `check` says of the first call's result, which is gone before the samples begin: they take its memory.
    pub checked: f64,
}

/// Measures `run` with at most `samples` samples.
pub fn measure(
    run: &mut Run,
    threads: usize,
    samples: usize,
    check: fn(&Tensor) -> Outcome<f64>,
) -> Outcome<Measurement> {
    wait_for_quiet(threads)?;
    let before = memory_kb("VmRSS")?;
    fs::write("/proc/self/clear_refs", "5")?;
    let start = Instant::now();
    let result = run()?;
    let first = start.elapsed();
    let peak = memory_kb("VmHWM")?.saturating_sub(before);
    let checked = check(&result)?;
    drop(result);

    let repeats =
        if first < SHORT { ((SAMPLE / first.as_secs_f64().max(1e-7)) as usize).clamp(1, MOST_REPEATS) } else { 1 };
    let (mut times, mut total, mut cpu, mut foreign) = (Vec::new(), Duration::ZERO, 0.0, 0.0);
    let (kept, own_faults) = (memory::stats(), faults()?);
    while times.len() < samples && (total < BUDGET || (times.len() < FEWEST && first < AFFORDABLE)) {
        let (machine, own, start) = (machine_seconds()?, own_seconds()?, Instant::now());
        let mut last = None;
        for _ in 0..repeats {
            last = Some(black_box(run()?));
        }
        let elapsed = start.elapsed();
        let own = own_seconds()? - own;
        foreign += machine_seconds()? - machine - own;
        drop(last);
        times.push(elapsed.as_secs_f64() * 1e3 / repeats as f64);
        total += elapsed;
        cpu += own;
    }
    let calls = (times.len() * repeats) as f64;
    let (faults, now) = (faults()? - own_faults, memory::stats());
    let (hits, misses) = (now.hits - kept.hits, now.misses - kept.misses);
    times.sort_by(f64::total_cmp);
    let fastest = *times.first().ok_or("no sample was asked for")?;
    Ok(Measurement {
        ms: (times[(times.len() - 1) / 2] + times[times.len() / 2]) / 2.0,
        cpu_ms: cpu * 1e3 / calls,
        min_ms: fastest,
        first_ms: first.as_secs_f64() * 1e3,
        n: times.len(),
        foreign: foreign.max(0.0) / total.as_secs_f64(),
        peak_mb: peak as f64 / 1024.0,
        recycled: hits as f64 / (hits + misses).max(1) as f64,
        faults: faults / calls,
        checked,
    })
}

/// Waits a moment for other programs to calm down; measures anyway when they do not.
fn wait_for_quiet(threads: usize) -> Outcome<()> {
    let (limit, enough) = if threads > 1 { (3.0, 0.35) } else { (0.6, 1.15) };
    let begin = Instant::now();
    loop {
        let (machine, own, start) = (machine_seconds()?, own_seconds()?, Instant::now());
        std::thread::sleep(Duration::from_millis(60));
        let foreign = (machine_seconds()? - machine) - (own_seconds()? - own);
        if foreign / start.elapsed().as_secs_f64() < enough || begin.elapsed().as_secs_f64() > limit {
            return Ok(());
        }
    }
}

/// Seconds of processor time that the whole machine has been busy, stolen time included.
fn machine_seconds() -> Outcome<f64> {
    let text = fs::read_to_string("/proc/stat")?;
    let line = text.lines().next().ok_or("/proc/stat is empty")?;
    let ticks = line.split_whitespace().skip(1).map(str::parse).collect::<Result<Vec<u64>, _>>()?;
    let (idle, waiting) = (ticks.get(3), ticks.get(4));
    let resting = idle.ok_or("/proc/stat has no idle time")? + waiting.ok_or("/proc/stat has no wait time")?;
    Ok((ticks.iter().sum::<u64>() - resting) as f64 / TICKS_PER_SECOND)
}

/// Seconds of processor time of this process, all threads.
fn own_seconds() -> Outcome<f64> {
    let [user, system] = own_numbers([11, 12])?;
    Ok((user + system) as f64 / TICKS_PER_SECOND)
}

/// Pages that the system gave this process so far.
fn faults() -> Outcome<f64> {
    let [minor, major] = own_numbers([7, 9])?;
    Ok((minor + major) as f64)
}

/// Numbers of `/proc/self/stat`, by their place after the name.
fn own_numbers<const N: usize>(places: [usize; N]) -> Outcome<[u64; N]> {
    let text = fs::read_to_string("/proc/self/stat")?;
    // The second field is the program's name in parentheses, which may hold spaces.
    let (_, fields) = text.rsplit_once(')').ok_or("/proc/self/stat has no name")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let mut out = [0; N];
    for (number, place) in out.iter_mut().zip(places) {
        *number = fields.get(place).ok_or("/proc/self/stat is cut off")?.parse()?;
    }
    Ok(out)
}

fn memory_kb(key: &str) -> Outcome<u64> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line =
        text.lines().find(|line| line.starts_with(key)).ok_or_else(|| format!("/proc/self/status has no {key}"))?;
    let number = line.split_whitespace().nth(1).ok_or_else(|| format!("/proc/self/status has no number for {key}"))?;
    Ok(number.parse()?)
}
