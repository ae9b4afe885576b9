//! What ops cost as tensors grow, and the memory they take.
//!
//! ```text
//! cargo run --release --example scale -- time [--threads N] [--sizes 60000,1000000,...] [OP...]
//! cargo run --release --example scale -- memory [--threads N] [--size 4000000] [OP...]
//! ```
//!
//! `time` prints the nanoseconds per stored element of the operands at each size, from one whose operands lie in the
//! second-level cache, and what the dearest size costs over the first. What memory allows stand in two rows of plain loops: `copy`
//! takes elements from one array to another, and `gather` adds up a vector's elements in the order of a matrix's columns. An
//! op that only streams may grow 1.5 times as much as `copy`, one that goes where indices say twice as much as the greater of both.
//!
//! `memory` prints the most that a process of its own held while the op ran, in multiples of its operands and of what its result
//! does not share with them, all memory fresh. Linux only: `/proc` tells the memory.

use std::cell::RefCell;
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::ops::RangeInclusive;
use std::process::Command;
use std::time::{Duration, Instant};

use openwork::parallel::with_threads;
use openwork::{DType, Layout, Tensor, memory};

mod ops;

use ops::{Access, OPS, Op, Operands};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const USAGE: &str = "usage: scale time|memory [--threads N] [--sizes N,N,...] [--size N] [OP...]";

/// From 0.7 MB of operands, which the second-level cache holds, to 1.3 GB.
const SIZES: [usize; 5] = [60_000, 1_000_000, 10_000_000, 30_000_000, 100_000_000];
const SIZE: usize = 4_000_000;

/// Stored elements that a matrix can have here: below, it has too few rows to be one of its kind.
const ELEMENTS: RangeInclusive<usize> = 1000..=1_000_000_000;
const THREADS: RangeInclusive<usize> = 1..=1024;

/// What a streaming op may cost over its least at any size, and memory over operands and result.
const FLAT: f64 = 1.5;
const GATHERING: f64 = 2.0;
const MOST: f64 = 3.0;

fn main() -> Outcome<()> {
    let mut given = std::env::args().skip(1);
    let what = given.next().ok_or(USAGE)?;
    let (mut threads, mut sizes, mut size, mut names) = (1, SIZES.to_vec(), SIZE, Vec::new());
    while let Some(argument) = given.next() {
        let mut value = || given.next().ok_or(USAGE);
        match &*argument {
            "--threads" => threads = number("--threads", &value()?, THREADS)?,
            "--sizes" => {
                sizes = value()?.split(',').map(|n| number("--sizes", n, ELEMENTS)).collect::<Result<_, _>>()?;
            }
            "--size" => size = number("--size", &value()?, ELEMENTS)?,
            name if name.starts_with("--") => return Err(USAGE.into()),
            name => names.push(name.to_string()),
        }
    }
    if let Some(odd) = names.iter().find(|name| OPS.iter().all(|op| op.name != **name)) {
        let known: Vec<&str> = OPS.iter().map(|op| op.name).collect();
        return Err(format!("no op is called `{odd}`; there are: {}", known.join(", ")).into());
    }
    let chosen = || OPS.iter().filter(|op| names.is_empty() || names.iter().any(|name| name == op.name));
    match &*what {
        "time" => with_threads(threads, || times(&chosen().collect::<Vec<_>>(), &sizes))?,
        "memory" => memories(chosen(), size, threads),
        // One op, in the process that `memory` starts.
        "peak" => with_threads(threads, || chosen().try_for_each(|op| peak(op, size)))?,
        _ => Err(USAGE.into()),
    }
}

/// What an option says, if it is a number that is allowed.
fn number(option: &str, given: &str, allowed: RangeInclusive<usize>) -> Outcome<usize> {
    let parsed = given.trim().parse().ok().filter(|n| allowed.contains(n));
    parsed.ok_or_else(|| {
        let (least, most, several) = (allowed.start(), allowed.end(), option == "--sizes");
        let form = if several { "numbers with commas between them, each" } else { "a number" };
        format!("{option} takes {form} from {least} to {most}; `{given}` is none").into()
    })
}

/// That memory holds operands and result of about so many elements, as the library sees it.
fn room(size: usize) -> Outcome<()> {
    let words = size * 6;
    Tensor::zeros([words], DType::F64, Layout::Strided).map_err(|e| format!("no memory for {size} elements: {e}"))?;
    Ok(())
}

/// A row for each op, a column for each size.
fn times(ops: &[&Op], sizes: &[usize]) -> Outcome<()> {
    let ops: Vec<&&Op> = ops.iter().filter(|op| op.access != Access::Other).collect();
    let mut rows = vec![Vec::new(); ops.len() + LOOPS.len()];
    for &size in sizes {
        room(size)?;
        // Operands of one op after the other: not all of them fit beside each other.
        rows[0].push(copy(size)?);
        rows[1].push(gather(size)?);
        for (op, row) in ops.iter().zip(&mut rows[LOOPS.len()..]) {
            let operands = (op.operands)(size)?;
            row.push(nanoseconds(size, || (op.run)(&operands))?);
        }
    }
    let names = LOOPS.into_iter().chain(ops.iter().map(|op| op.name));
    let head: Vec<String> = sizes.iter().map(|n| format!("{:.0e}", *n as f64)).collect();
    println!("| op | {} | most ÷ first | most allowed |", head.join(" | "));
    println!("|---|{}--:|--:|", "--:|".repeat(sizes.len()));
    let growth = |row: &[f64]| row.iter().fold(0.0f64, |most, ns| most.max(*ns)) / row[0];
    let (copy, gather) = (growth(&rows[0]), growth(&rows[1]));
    for (i, (name, row)) in names.zip(&rows).enumerate() {
        let cells: Vec<String> = row.iter().map(|ns| format!("{ns:.2}")).collect();
        let allowed = match i.checked_sub(LOOPS.len()).map(|i| ops[i].access) {
            None => String::new(),
            Some(Access::Streams) => format!("{:.2}", FLAT * copy),
            Some(_) => format!("{:.2}", GATHERING * copy.max(gather)),
        };
        println!("| {name} | {} | {:.2} | {allowed} |", cells.join(" | "), growth(row));
    }
    Ok(())
}

/// Nanoseconds per element of the fastest of several runs.
fn nanoseconds<T>(size: usize, run: impl Fn() -> openwork::Result<T>) -> Outcome<f64> {
    const BUDGET: Duration = Duration::from_millis(100);
    drop(run()?); // memory that results take again
    let (mut best, mut runs, begin) = (Duration::MAX, 0, Instant::now());
    while runs < 3 || begin.elapsed() < BUDGET {
        let start = Instant::now();
        let out = black_box(run()?);
        best = best.min(start.elapsed());
        drop(out);
        runs += 1;
    }
    Ok(best.as_nanos() as f64 / size as f64)
}

/// Plain loops beside which the ops stand.
const LOOPS: [&str; 2] = ["copy", "gather"];

/// What it costs to take an element from one array to another, half of the elements being in each; on one thread.
fn copy(size: usize) -> Outcome<f64> {
    let (from, to) = (vec![1.0f64; size / 2], RefCell::new(vec![0.0f64; size / 2]));
    nanoseconds(size, || {
        black_box(&mut to.borrow_mut()).copy_from_slice(&from);
        Ok(())
    })
}

/// What it costs to go where the columns of a matrix say, likewise.
fn gather(size: usize) -> Outcome<f64> {
    let (columns, vector) = (ops::columns(size, 1), vec![1.0f64; ops::rows(size)]);
    nanoseconds(size, || Ok(columns.iter().map(|&j| vector[j as usize]).sum::<f64>()))
}

/// A row for each op, each measured by a process of its own.
fn memories<'a>(ops: impl Iterator<Item = &'a Op>, size: usize, threads: usize) -> Outcome<()> {
    println!("| op | operands, MB | result, MB | beside the operands, MB | all ÷ (operands + result) |");
    println!("|---|--:|--:|--:|--:|");
    let mut over = Vec::new();
    for op in ops {
        let mut child = Command::new(std::env::current_exe()?);
        child.args(["peak", "--size", &size.to_string(), "--threads", &threads.to_string(), op.name]);
        // Freed vectors go back to the system, which else would count as what the op finds.
        let out = child.env("MALLOC_MMAP_THRESHOLD_", "65536").env("MALLOC_TRIM_THRESHOLD_", "65536").output()?;
        if !out.status.success() {
            return Err(format!("{}: {}", op.name, String::from_utf8_lossy(&out.stderr)).into());
        }
        let text = String::from_utf8(out.stdout)?;
        let numbers = text.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>()?;
        let [operands, result, beside] = numbers[..] else { return Err(format!("{}: {text}", op.name).into()) };
        // Arrays that the result shares with an operand are no memory of its own.
        let ratio = (operands + beside) / (operands + result.min(beside));
        println!("| {} | {operands:.0} | {result:.0} | {beside:.0} | {ratio:.2} |", op.name);
        if ratio > MOST {
            over.push(op.name);
        }
    }
    if over.is_empty() { Ok(()) } else { Err(format!("over {MOST}: {}", over.join(", ")).into()) }
}

/// Prints the megabytes of the operands and of the result, and the most that was held beside the operands.
fn peak(op: &Op, size: usize) -> Outcome<()> {
    memory::set_limit(0);
    room(size)?;
    let operands: Operands = (op.operands)(size)?;
    let before = kilobytes("VmRSS:")?;
    fs::write("/proc/self/clear_refs", "5")?;
    let out = (op.run)(&operands)?;
    let beside = kilobytes("VmHWM:")?.saturating_sub(before);
    let all = |tensors: &[Tensor]| tensors.iter().map(Tensor::nbytes).sum::<usize>() as f64 / 1e6;
    println!("{} {} {}", all(&operands), all(&out), beside as f64 * 1024.0 / 1e6);
    Ok(())
}

fn kilobytes(what: &str) -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(what)).ok_or("/proc/self/status has no such line")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}
