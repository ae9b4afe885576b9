//! Orthonormal vectors, and the small problems that an operator becomes between them.

use faer::{Mat, Side};
use openwork_ops::c128;

use super::block::Block;
use super::number::{Number, with_number};
use crate::base::error::{self, Result};

pub(super) const ZERO: c128 = c128::new(0.0, 0.0);

/// Rows that are turned at a time.
const ROWS: usize = 1 << 11;

/// Orthonormal vectors of one length, one column each.
pub(super) struct Basis {
    pub(super) vectors: Vec<Block>,
    pub(super) n: usize,
    pub(super) is_complex: bool,
    /// Numbers for vectors that are random.
    seed: u64,
}

impl Basis {
    pub(super) fn new(n: usize, is_complex: bool) -> Basis {
        Basis { vectors: Vec::new(), n, is_complex, seed: 0 }
    }

    /// Takes off a vector what lies along the others, and gives how much that was along each. Twice, which is enough for
    /// what is left to be orthogonal to rounding (Giraud and others, 2005).
    pub(super) fn take_off(&self, w: &mut Block) -> Vec<c128> {
        let mut all = vec![ZERO; self.vectors.len()];
        for _ in 0..2 {
            let along: Vec<c128> = self.vectors.iter().map(|v| v.dots(w)[0]).collect();
            for ((v, &h), all) in self.vectors.iter().zip(&along).zip(&mut all) {
                w.add_scaled(&[-h], v);
                *all += h;
            }
        }
        all
    }

    /// Takes a vector in, less what lies along the others: how much that was, and what was left. A vector that is left with
    /// nothing is replaced by a random one, and counts as nothing; there is none where the basis is complete.
    pub(super) fn push(&mut self, mut w: Block) -> Result<(Vec<c128>, f64)> {
        let before = w.norms()[0];
        let along = self.take_off(&mut w);
        let left = w.norms()[0];
        if left > 10.0 * f64::EPSILON * before && left > 0.0 {
            w.scale(&[c128::new(1.0 / left, 0.0)]);
            self.vectors.push(w);
            return Ok((along, left));
        }
        self.push_random()?;
        Ok((along, 0.0))
    }

    /// Takes in a random vector; the same ones in every run. Whether there is room for one.
    pub(super) fn push_random(&mut self) -> Result<bool> {
        for _ in 0..4 {
            if self.vectors.len() >= self.n {
                return Ok(false);
            }
            self.seed += 1;
            let mut w = Block::random(self.n, 1, self.is_complex, self.seed)?;
            let before = w.norms()[0];
            self.take_off(&mut w);
            let left = w.norms()[0];
            if left > 1e-8 * before {
                w.scale(&[c128::new(1.0 / left, 0.0)]);
                self.vectors.push(w);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Replaces the vectors by combinations of them: the columns of `by`, which has a row per vector.
    pub(super) fn turn(&mut self, by: &[Vec<c128>]) {
        turn(&mut self.vectors, by);
    }
}

/// Replaces vectors by combinations of them, one for each list of factors.
pub(super) fn turn(vectors: &mut Vec<Block>, by: &[Vec<c128>]) {
    let Some(first) = vectors.first() else { return };
    let (per, total) = (1 + usize::from(first.is_complex), first.read().len());
    let count = by.len().min(vectors.len());
    let mut rows = vec![0.0; ROWS * per * by.len()];
    let mut start = 0;
    while start < total {
        let len = (ROWS * per).min(total - start);
        for (factors, out) in by.iter().zip(rows.chunks_exact_mut(ROWS * per)) {
            let out = &mut out[..len];
            out.fill(0.0);
            for (v, f) in vectors.iter().zip(factors) {
                let v = &v.read()[start..start + len];
                if per == 1 {
                    out.iter_mut().zip(v).for_each(|(o, x)| *o += f.re * x);
                } else {
                    for (o, x) in out.chunks_exact_mut(2).zip(v.chunks_exact(2)) {
                        o[0] += f.re * x[0] - f.im * x[1];
                        o[1] += f.re * x[1] + f.im * x[0];
                    }
                }
            }
        }
        for (v, rows) in vectors[..count].iter_mut().zip(rows.chunks_exact(ROWS * per)) {
            v.write()[start..start + len].copy_from_slice(&rows[..len]);
        }
        start += len;
    }
    vectors.truncate(count);
}

/// Vectors side by side in one block.
pub(super) fn side_by_side(vectors: &[Block]) -> Result<Block> {
    let Some(first) = vectors.first() else { return Block::zeros(0, 0, false) };
    let (n, k, per) = (first.n, vectors.len(), 1 + usize::from(first.is_complex));
    let mut out = Block::zeros(n, k, first.is_complex)?;
    let place = out.write();
    for (j, v) in vectors.iter().enumerate() {
        for (from, to) in v.read().chunks_exact(per).zip(place.chunks_exact_mut(k * per)) {
            to[j * per..(j + 1) * per].copy_from_slice(from);
        }
    }
    Ok(out)
}

/// The columns of a block.
pub(super) fn apart(block: &Block) -> Result<Vec<Block>> {
    let (k, per) = (block.k, 1 + usize::from(block.is_complex));
    let mut out = Vec::with_capacity(k);
    for j in 0..k {
        let mut column = Block::zeros(block.n, 1, block.is_complex)?;
        for (from, to) in block.read().chunks_exact(k * per).zip(column.write().chunks_exact_mut(per)) {
            to.copy_from_slice(&from[j * per..(j + 1) * per]);
        }
        out.push(column);
    }
    Ok(out)
}

/// A matrix by columns.
pub(super) type Small = Vec<Vec<c128>>;

/// Eigenvalues, rising, and eigenvectors of a Hermitian matrix, of whose columns only the part down to the diagonal is
/// looked at.
pub(super) fn eigen(h: &[Vec<c128>], is_complex: bool) -> Result<(Vec<f64>, Small)> {
    let n = h.len();
    with_number!(is_complex, T => {
        let m: Mat<T> = Mat::from_fn(n, n, |i, j| if i <= j { T::of(h[j][i]) } else { T::of(h[i][j].conj()) });
        let e = m.self_adjoint_eigen(Side::Lower).map_err(|_| failed())?;
        let values = (0..n).map(|i| e.S()[i].number().re).collect();
        let vectors = (0..n).map(|j| (0..n).map(|i| e.U()[(i, j)].number()).collect()).collect();
        Ok((values, vectors))
    })
}

/// Singular values, falling, and vectors of an upper triangle: `r = p · diag(s) · qᴴ`.
pub(super) fn singular(r: &[Vec<c128>], is_complex: bool) -> Result<(Vec<f64>, Small, Small)> {
    let n = r.len();
    with_number!(is_complex, T => {
        let m: Mat<T> = Mat::from_fn(n, n, |i, j| if i <= j { T::of(r[j][i]) } else { T::ZERO });
        let f = m.thin_svd().map_err(|_| failed())?;
        let values = (0..n).map(|i| f.S()[i].number().re).collect();
        let left = (0..n).map(|j| (0..n).map(|i| f.U()[(i, j)].number()).collect()).collect();
        let right = (0..n).map(|j| (0..n).map(|i| f.V()[(i, j)].number()).collect()).collect();
        Ok((values, left, right))
    })
}

fn failed() -> error::Error {
    error::invalid("a", "the small problem that it becomes has no solution: an element is NaN or infinite")
}
