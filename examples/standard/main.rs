//! Measures one standard case and prints one line of JSON.
//!
//! ```text
//! cargo run --release --example standard -- --case spmv:rmat20:f64 --threads 1 --data DIR
//! cargo run --release --example standard -- --list
//! ```
//!
//! A case is `operation:workload:dtype`. The data folder (`--data`, else the environment's `SPB_DATA`)
//! holds one folder of `.npy` arrays per workload; `vectors.py` beside this file adds the random
//! vectors and matrices that the products need. Loading and building the operands is not timed.
//!
//! Results take memory of earlier ones, as they do in any program that makes many. With `--fresh` all large arrays take
//! fresh memory, as the first of a program do; on many machines that takes longer than to compute them.

use std::path::PathBuf;
use std::process::ExitCode;

use openwork::parallel::with_threads;
use openwork::{DType, Tensor, memory};

mod cases;
mod measure;
mod npy;
mod workload;

use measure::Measurement;
use workload::{Precision, Workload};

/// The result of anything that can fail here.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const USAGE: &str =
    "usage: standard --case OPERATION:WORKLOAD:DTYPE [--threads N] [--data DIR] [--samples N] [--tag TEXT] [--fresh]
       standard --list";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("standard: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome<()> {
    let Some(request) = Request::parse(std::env::args().skip(1))? else {
        for op in cases::OPS {
            for case in op.cases {
                println!("{}:{case}", op.name);
            }
        }
        return Ok(());
    };
    if request.fresh {
        memory::set_limit(0);
    }
    let op = cases::find(&request.op)?;
    let workload = Workload::open(&request.data, &request.workload, request.precision)?;
    let measured = with_threads(request.threads, || {
        let mut work = (op.prepare)(&workload)?;
        measure::measure(&mut work, request.threads, request.samples, checksum)
    })??;
    println!("{}", request.line(&measured));
    Ok(())
}

/// What the command line asks for.
struct Request {
    op: String,
    workload: String,
    precision: Precision,
    threads: usize,
    data: PathBuf,
    samples: usize,
    tag: String,
    fresh: bool,
}

impl Request {
    /// `None` asks for the list of cases.
    fn parse(mut args: impl Iterator<Item = String>) -> Outcome<Option<Request>> {
        let (mut case, mut threads, mut samples, mut tag, mut fresh) = (None, 1, 7, String::new(), false);
        let mut data = std::env::var_os("SPB_DATA").map(PathBuf::from);
        while let Some(flag) = args.next() {
            if flag == "--list" {
                return Ok(None);
            }
            if flag == "--fresh" {
                fresh = true;
                continue;
            }
            let mut value = || args.next().ok_or_else(|| format!("{flag} needs a value\n{USAGE}"));
            match flag.as_str() {
                "--case" => case = Some(value()?),
                "--threads" => threads = value()?.parse()?,
                "--samples" => samples = value()?.parse()?,
                "--data" => data = Some(value()?.into()),
                "--tag" => tag = value()?,
                _ => return Err(format!("unknown argument '{flag}'\n{USAGE}").into()),
            }
        }
        let case = case.ok_or(USAGE)?;
        let [op, workload, dtype] = case.split(':').collect::<Vec<_>>()[..] else {
            return Err(format!("case '{case}' is not OPERATION:WORKLOAD:DTYPE").into());
        };
        if threads == 0 || samples == 0 {
            return Err("--threads and --samples must be at least 1".into());
        }
        Ok(Some(Request {
            op: op.to_owned(),
            workload: workload.to_owned(),
            precision: Precision::parse(dtype)?,
            threads,
            data: data.ok_or("name the data folder with --data or SPB_DATA")?,
            samples,
            tag,
            fresh,
        }))
    }

    /// The line of JSON.
    fn line(&self, m: &Measurement) -> String {
        format!(
            "{{\"peer\": \"openwork\", \"op\": {:?}, \"wl\": {:?}, \"dtype\": \"{}\", \"threads\": {}, \"tag\": {:?}, \
             \"ms\": {:.6}, \"cpu_ms\": {:.6}, \"min_ms\": {:.6}, \"first_ms\": {:.6}, \"n\": {}, \"foreign\": {:.2}, \
             \"peak_mb\": {:.1}, \"recycled\": {:.2}, \"faults\": {:.0}, \"chk\": {}}}",
            self.op,
            self.workload,
            self.precision,
            self.threads,
            self.tag,
            m.ms,
            m.cpu_ms,
            m.min_ms,
            m.first_ms,
            m.n,
            m.foreign,
            m.peak_mb,
            m.recycled,
            m.faults,
            number(m.checked),
        )
    }
}

/// The sum of the stored values, in f64.
fn checksum(result: &Tensor) -> Outcome<f64> {
    let result = result.to_contiguous()?;
    Ok(match result.dtype() {
        DType::F64 => result.values::<f64>()?.iter().sum(),
        DType::F32 => result.values::<f32>()?.iter().map(|&x| f64::from(x)).sum(),
        other => return Err(format!("no checksum for a result of dtype {other:?}").into()),
    })
}

/// A number as JSON can hold it.
fn number(x: f64) -> String {
    if x.is_finite() { format!("{x:?}") } else { "null".to_owned() }
}
