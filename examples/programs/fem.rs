//! Poisson's equation on a square, `-Δu = 1` inside and `u = x` on the border, assembled from elements and solved by
//! conjugate gradients. Duplicate coordinates mean their sum: assembling is listing.

use openwork::{Layout, Result, Tensor};

use super::Report;

/// Stiffness of linear triangles: each square of the grid is cut in two.
fn stiffness(n: usize) -> Result<Tensor> {
    let node = |i: usize, j: usize| (i * n + j) as u64;
    let (mut rows, mut columns, mut entries) = (Vec::new(), Vec::new(), Vec::new());
    for (i, j) in (0..n - 1).flat_map(|i| (0..n - 1).map(move |j| (i, j))) {
        // The corner with the right angle comes first.
        for t in [[node(i, j), node(i + 1, j), node(i, j + 1)], [node(i + 1, j + 1), node(i, j + 1), node(i + 1, j)]] {
            for (a, row) in [[1.0, -0.5, -0.5], [-0.5, 0.5, 0.0], [-0.5, 0.0, 0.5]].iter().enumerate() {
                for (b, &entry) in row.iter().enumerate() {
                    rows.push(t[a]);
                    columns.push(t[b]);
                    entries.push(entry);
                }
            }
        }
    }
    let entries: Tensor = entries.into_iter().collect();
    Tensor::coo([n * n, n * n], vec![rows, columns], &entries, 0.0)?.to_layout(Layout::Csr)
}

/// Conjugate gradients for a symmetric positive definite matrix; the number of steps beside the solution.
fn solve(a: &Tensor, b: &Tensor, tolerance: f64) -> Result<(Tensor, usize)> {
    let (mut x, mut r) = (b.mul(0.0)?, b.clone());
    let (mut p, mut rr) = (r.clone(), r.dot(&r)?.to::<f64>());
    let mut steps = 0;
    while rr.sqrt() > tolerance {
        let ap = a.matmul(&p)?;
        let alpha = rr / p.dot(&ap)?.to::<f64>();
        x = (x + (&p * alpha))?;
        r = (r - (ap * alpha)?)?;
        let next = r.dot(&r)?.to::<f64>();
        p = (&r + (p * (next / rr))?)?;
        rr = next;
        steps += 1;
    }
    Ok((x, steps))
}

pub fn run() -> Result<Report> {
    let n = 17;
    let k = stiffness(n)?;
    let on_border = |i: usize| i / n == 0 || i / n == n - 1 || i.is_multiple_of(n) || i % n == n - 1;
    let inner: Tensor = (0..n * n).map(|i| f64::from(u8::from(!on_border(i)))).collect();
    let fixed: Tensor = (0..n * n).map(|i| if on_border(i) { (i / n) as f64 / 16.0 } else { 0.0 }).collect();

    // Rows and columns of fixed nodes become those of the identity; what they gave moves to the right side.
    let load = (&inner * (1.0 / 256.0))?;
    let right = ((&load - k.matmul(&fixed))? * &inner)?;
    let free = (&(&k * &inner)? * inner.expand_dims(1)?)?;
    let border = (1.0f64 - &inner)?;
    let matrix = (free + border.to_sparse(Layout::Coo, 0.0)?.diag(0)?.to_layout(Layout::Csr)?)?.prune()?;
    let (u, steps) = solve(&matrix, &(right + &fixed)?, 1e-12)?;
    Ok(vec![
        ("stored", matrix.nse() as f64),
        ("sum of u", u.sum(..)?.item_as::<f64>()?),
        ("greatest u", u.max(..)?.item_as::<f64>()?),
        ("u in the middle", u.get([n * n / 2])?.map_or(f64::NAN, |v| v.to::<f64>())),
        ("converged within 100 steps", f64::from(u8::from(steps <= 100))),
    ])
}
