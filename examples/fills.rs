//! What a fill costs in products with dense matrices: `x @ w` and `xᵀ @ q` of a sparse matrix beside those of `x` less the means of
//! its columns, of that over their deviations, and of a matrix whose rows have a fill each:
//! `cargo run --release --example fills -- [ROWS COLUMNS STORED WIDTH [THREADS]]`.
//!
//! A fill that is the same along the axis that is summed over adds one term to each column of the result; one that is not is a
//! vector times the dense matrix. Neither touches more than rows, columns and what is stored. Every product with a fill is compared with
//! what the same numbers give by hand: the sparse product and an outer one.

use std::time::Instant;

use openwork::parallel::with_threads;
use openwork::{Layout, Result, Tensor, keep, memory};

/// The fastest of several runs in milliseconds, and the result.
fn timed(run: impl Fn() -> Result<Tensor>) -> Result<(f64, Tensor)> {
    let (mut best, begin) = (f64::INFINITY, Instant::now());
    let mut out = run()?;
    let mut runs = 0;
    while runs < 5 || begin.elapsed().as_secs_f64() < 0.5 {
        drop(out);
        let start = Instant::now();
        out = run()?;
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
        runs += 1;
    }
    Ok((best, out))
}

/// The most memory that this process ever had, in MB; 0 where the system does not say.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()).map_or(0, |kilobytes| kilobytes / 1000)
}

/// The greatest difference over the greatest element.
fn off(a: &Tensor, b: &Tensor) -> Result<f64> {
    let most = |t: Tensor| t.abs()?.max(..)?.item_as::<f64>();
    Ok(most((a - b)?)? / most(b.clone())?)
}

fn report(name: &str, (plain, fill): (f64, f64), off: f64) {
    println!("| {name} | {plain:.1} | {fill:.1} | {:.2} | {off:.0e} |", fill / plain);
}

fn run(rows: usize, columns: usize, stored: usize, width: usize) -> Result<()> {
    let density = stored as f64 / (rows as f64 * columns as f64);
    let x = Tensor::random([rows, columns], density, 0.0, Layout::Csr, 7)?;
    let (w, q) = (Tensor::rand([columns, width], 1)?, Tensor::rand([rows, width], 2)?);
    println!("{rows} × {columns}, {} stored, {width} columns; {} MB", x.nse(), peak());
    println!("| | as stored, ms | with the fill, ms | ratio | off |\n|---|--:|--:|--:|--:|");
    let (ours, xw) = timed(|| x.matmul(&w))?;
    let (xt, qt) = (x.t()?, q.t()?);
    let (theirs, xq) = timed(|| xt.matmul(&q))?;

    let (means, deviations) = (x.mean(keep(0))?, x.std(0.0, keep(0))?);
    let z = (&x - &means)?;
    let (time, zw) = timed(|| z.matmul(&w))?;
    report("centred, `z @ w`", (ours, time), off(&zw, &(&xw - &means.matmul(&w)?)?)?);
    let zt = z.t()?;
    let (time, zq) = timed(|| zt.matmul(&q))?;
    let outer = means.t()?.matmul(&q.sum(keep(0))?)?;
    report("centred, `zᵀ @ q`", (theirs, time), off(&zq, &(&xq - &outer)?)?);
    let (plain, _) = timed(|| qt.matmul(&x))?;
    let (time, qz) = timed(|| qt.matmul(&z))?;
    report("centred, `qᵀ @ z`", (plain, time), off(&qz, &zq.t()?)?);

    let s = (&z / &deviations)?;
    let by_hand = z.matmul(&(&w / &deviations.t()?)?)?;
    drop((z, zt, zw, qz));
    let (time, sw) = timed(|| s.matmul(&w))?;
    report("standardised, `s @ w`", (ours, time), off(&sw, &by_hand)?);
    drop((sw, by_hand));
    let st = s.t()?;
    let (time, sq) = timed(|| st.matmul(&q))?;
    report("standardised, `sᵀ @ q`", (theirs, time), off(&sq, &(&zq / &deviations.t()?)?)?);
    drop((s, st));
    println!("{} MB at most until here, of which {} are kept for results", peak(), memory::stats().held / 1_000_000);

    // Rows with a fill each: what is not stored of a row meets every row of the other matrix.
    let each = q.sum(keep(1))?;
    let e = (&x + &each)?;
    let (time, ew) = timed(|| e.matmul(&w))?;
    let by_hand = (&xw + &each.matmul(&w.sum(keep(0))?)?)?;
    report("a fill for each row, `e @ w`", (ours, time), off(&ew, &by_hand)?);
    drop((ew, by_hand));
    let et = e.t()?;
    let (time, eq) = timed(|| et.matmul(&q))?;
    report("a fill for each row, `eᵀ @ q`", (theirs, time), off(&eq, &(&xq + &each.t()?.matmul(&q)?)?)?);
    drop((e, et));

    let ones = (&x + 1.0)?;
    let (time, ow) = timed(|| ones.matmul(&w))?;
    report("a fill of 1, `o @ w`", (ours, time), off(&ow, &(&xw + &w.sum(keep(0))?)?)?);
    Ok(())
}

const USAGE: &str = "usage: fills [ROWS COLUMNS STORED WIDTH [THREADS]]";

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut sizes = [20_000, 2_000, 4_000_000, 30, 1];
    for (size, word) in sizes.iter_mut().zip(std::env::args().skip(1)) {
        *size = word
            .parse()
            .ok()
            .filter(|&n| n > 0)
            .ok_or_else(|| format!("`{word}` is not a number from 1 on; {USAGE}"))?;
    }
    let [rows, columns, stored, width, threads] = sizes;
    with_threads(threads, || run(rows, columns, stored, width))??;
    Ok(())
}
