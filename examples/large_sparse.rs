//! Centring, standardising and softmax of a matrix that would take 160 GB if it were dense, and the memory they need.
//!
//! ```text
//! cargo run --release --example large_sparse -- [ROWS] [COLUMNS] [PER_ROW]
//! ```
//!
//! By default 1,000,000 × 20,000 with 20 elements in each row. Prints, for each op, the time, the result's fill and the
//! peak of resident memory beside what input and output take; fails if a peak is above three times the input plus the
//! output. Linux tells the peak (`VmHWM`); elsewhere it is left out.

use std::error::Error;
use std::fs;
use std::time::Instant;

use openwork::{Result, Tensor, keep};

/// What may be held at most, in inputs, beside one output.
const INPUTS: f64 = 3.0;

type Op = (&'static str, fn(&Tensor) -> Result<Tensor>);

const OPS: [Op; 7] = [
    ("x - x.mean(0)", |x| x - &x.mean(keep(0))?),
    ("x.standardize(0)", |x| x.standardize(0.0, 0)),
    ("x.softmax(1)", |x| x.softmax(1)),
    ("x.softmax(0)", |x| x.softmax(0)),
    ("x.stored().softmax(1)", |x| x.stored().softmax(1)),
    ("x.log_softmax(1)", |x| x.log_softmax(1)),
    ("x.normalize(2, 1)", |x| x.normalize(2.0, 1)),
];

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let sizes = std::env::args().skip(1).map(|a| a.parse()).collect::<std::result::Result<Vec<usize>, _>>()?;
    let size = |i: usize, default| sizes.get(i).copied().unwrap_or(default);
    let (rows, columns, per_row) = (size(0, 1_000_000), size(1, 20_000), size(2, 20));
    if per_row == 0 || columns < per_row {
        return Err(format!("{per_row} elements per row do not fit {columns} columns").into());
    }
    let x = matrix(rows, columns, per_row)?;
    let input = megabytes(x.nbytes());
    println!("{rows} x {columns}, {} stored elements, {input:.0} MB", x.nse());
    println!("{:24} {:>8} {:>10} {:>10} {:>10}  fill", "", "s", "output MB", "peak MB", "limit MB");
    let mut within = true;
    for (name, op) in OPS {
        reset_peak();
        let start = Instant::now();
        let y = op(&x)?;
        let seconds = start.elapsed().as_secs_f64();
        // Indices are the input's own.
        let output =
            megabytes(y.buffers().iter().filter(|b| matches!(&*b.name, "values" | "fill")).map(|b| b.bytes).sum());
        let limit = INPUTS * input + output;
        let peak = peak();
        within &= peak.is_none_or(|peak| peak <= limit);
        let shown = peak.map_or("unknown".to_owned(), |peak| format!("{peak:.0}"));
        let fill = y.fill().map_or("none".to_owned(), |fill| fill.to_string());
        println!("{name:24} {seconds:8.2} {output:10.0} {shown:>10} {limit:10.0}  {fill}");
    }
    if within { Ok(()) } else { Err("a peak is above three times the input plus the output".into()) }
}

/// One element in each of `per_row` equal stretches of every row.
fn matrix(rows: usize, columns: usize, per_row: usize) -> Result<Tensor> {
    let stretch = (columns / per_row) as u64;
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut indices = Vec::with_capacity(rows * per_row);
    let mut values = Vec::with_capacity(rows * per_row);
    for _ in 0..rows {
        for i in 0..per_row as u64 {
            let random = next();
            indices.push((i * stretch + random % stretch) as u32);
            values.push((random >> 40) as f64 / (1u64 << 23) as f64 - 1.0);
        }
    }
    let pointers: Vec<u32> = (0..=rows).map(|r| (r * per_row) as u32).collect();
    Tensor::csr([rows, columns], pointers, indices, &Tensor::from_vec([rows * per_row], values)?, 0.0)
}

fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

/// Lets the kernel count the peak of resident memory anew. Where it cannot, there is no peak to read either.
fn reset_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The peak of resident memory in MB.
fn peak() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok().map(|kb| kb * 1024.0 / 1e6)
}
