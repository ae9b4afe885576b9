//! Principal components of a matrix that would take 160 GB dense and is never centred in memory, with the time and the memory they take:
//! `cargo run --release --features faer --example pca_scale -- [ROWS COLUMNS STORED K]`.
//!
//! The matrix is random, from a seed: its singular values lie close together, which no real matrix does to a method that finds
//! the greatest of them.

use std::time::Instant;

use openwork::linalg::{self, Options};
use openwork::{Layout, Result, Tensor, keep};

/// The most memory that this process ever had, in MB; 0 where the system does not say.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()).map_or(0, |kilobytes| kilobytes / 1000)
}

fn main() -> Result<()> {
    let mut given = std::env::args().skip(1).map(|word| word.parse::<usize>().unwrap_or(0));
    let mut next = |default: usize| given.next().filter(|&n| n > 0).unwrap_or(default);
    let (rows, columns, stored, k) = (next(1_000_000), next(20_000), next(20_000_000), next(20));
    let start = Instant::now();
    let tell = |what: &str| println!("{what:44} {:8.1} s {:6} MB at most", start.elapsed().as_secs_f64(), peak());

    let density = stored as f64 / (rows as f64 * columns as f64);
    let x = Tensor::random([rows, columns], density, 0.0, Layout::Csr, 7)?;
    tell(&format!("{rows} × {columns}, {} stored", x.nse()));

    let centred = (&x - x.mean(keep(0))?)?;
    tell("centred: a fill of one value per column");

    let found = linalg::svds(&centred, k, Options::default().tolerance(1e-8))?;
    tell("components");
    println!("{}", found.report);
    let (u, s, vh) = found.converged()?;
    let s = s.to_vec::<f64>()?;
    println!("singular values {:.3} to {:.3}", s[0], s[k - 1]);

    // Scores from the components, and what of the variance they explain.
    let scores = centred.matmul(&vh.t()?)?;
    let off = (&scores - (&u * &Tensor::from(s.clone()))?)?.abs()?.max(..)?.item_as::<f64>()?;
    tell(&format!("scores, {off:.1e} from u · s"));
    let whole = centred.square()?.sum(..)?.item_as::<f64>()?;
    let part: f64 = s.iter().map(|s| s * s).sum();
    tell(&format!("{:.3} % of the variance explained", 100.0 * part / whole));
    Ok(())
}
