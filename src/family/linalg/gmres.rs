//! Generalised minimal residuals.

use openwork_ops::{DType, c128};

use super::block::Block;
use super::operator::Operator;
use super::options::Options;
use super::report::{Solution, Stop};
use super::system::{self, Ended, Tools, Watch};
use crate::base::error::Result;
use crate::base::memory;
use crate::tensor::Tensor;

/// Solves `a x = b` by generalised minimal residuals, for any square operator that is not singular; the preconditioner
/// stands on the right, so residuals are those of the system itself.
///
/// `b` has shape `(n)`, or `(n, k)` for `k` right sides, which are solved for side by side. After
/// [`restart`](Options::restart) iterations (30, if nothing is said) the method starts anew from what it has.
///
/// Algorithm: Saad and Schultz (1986), with modified Gram–Schmidt and Givens rotations. Cost per iteration: one product
/// with `a` and one with the preconditioner, O(n k) for each vector that is kept. Memory: as many vectors per right side as
/// `restart` says, and four.
///
/// ```
/// use openwork::linalg::{self, Options};
/// use openwork::{Layout, tensor};
///
/// let a = tensor![[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [4.0, 0.0, 0.0]; Layout::Csr, 0.0]?;
/// let x = linalg::gmres(&a, &tensor![2.0, 6.0, 4.0], Options::default())?.converged()?;
/// assert!(x.allclose(&tensor![1.0, 2.0, 3.0], 1e-9, 0.0)?);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`cg`](super::cg), but that it takes `restart`; if memory does not hold as many vectors.
pub fn gmres(a: &dyn Operator, b: &Tensor, options: Options<'_>) -> Result<Solution> {
    system::run("gmres", a, b, options, 30, cycle)
}

const ZERO: c128 = c128::new(0.0, 0.0);

/// The small problem of one right side: the triangle that rotations make of the projected operator.
struct Column {
    /// Columns of the triangle, each as long as its number and one.
    triangle: Vec<Vec<c128>>,
    rotations: Vec<(f64, c128)>,
    /// The rotated right side.
    right: Vec<c128>,
    is_over: bool,
}

impl Column {
    /// Takes the next column of the projected operator, and gives the norm of the residual.
    fn push(&mut self, mut h: Vec<c128>, below: f64) -> f64 {
        for (i, &(c, s)) in self.rotations.iter().enumerate() {
            (h[i], h[i + 1]) = (c * h[i] + s * h[i + 1], -s.conj() * h[i] + c * h[i + 1]);
        }
        let j = h.len() - 1;
        let (c, s, r) = rotation(h[j], below);
        h[j] = r;
        self.rotations.push((c, s));
        let g = self.right[j];
        self.right[j] = c * g;
        self.right.push(-s.conj() * g);
        self.triangle.push(h);
        self.right[j + 1].norm()
    }

    /// The coefficients of the vectors, as far as the triangle can be solved.
    fn solve(&self, count: usize) -> Vec<c128> {
        let mut y = vec![ZERO; count];
        let own = self.triangle.len();
        for i in (0..own).rev() {
            let sum = (i + 1..own).fold(self.right[i], |sum, j| sum - self.triangle[j][i] * y[j]);
            let pivot = self.triangle[i][i];
            y[i] = if pivot == ZERO { ZERO } else { sum / pivot };
        }
        y
    }
}

/// A rotation that makes `(a, b)` into `(r, 0)`, for a real `b` that is not negative: `c a + s b = r`.
fn rotation(a: c128, b: f64) -> (f64, c128, c128) {
    let size = a.norm();
    if size == 0.0 {
        return if b == 0.0 { (1.0, ZERO, ZERO) } else { (0.0, c128::new(1.0, 0.0), c128::new(b, 0.0)) };
    }
    let (length, phase) = (size.hypot(b), a / size);
    (size / length, phase * (b / length), phase * length)
}

fn cycle(tools: &Tools<'_, '_>, watch: &mut Watch<'_>, x: &mut Block, r: Block, restart: usize) -> Result<Ended> {
    let (n, k) = (r.n, r.k);
    let count = restart.min(n);
    let width = if r.is_complex { DType::Complex128.size() } else { DType::F64.size() };
    memory::room(&[n, k], "the vectors that are kept", &[n, k, count + 1], width, "ask for a shorter `restart`")?;
    let mut norms = r.norms();
    let mut columns = Vec::with_capacity(k);
    for (j, &norm) in norms.iter().enumerate() {
        let right = vec![c128::new(norm, 0.0)];
        columns.push(Column { triangle: vec![], rotations: vec![], right, is_over: watch.is_small(j, norm) });
    }
    let inverse = |norms: &[f64], columns: &[Column]| -> Vec<c128> {
        let each = norms.iter().zip(columns);
        each.map(|(&norm, c)| c128::new(if c.is_over || norm == 0.0 { 0.0 } else { 1.0 / norm }, 0.0)).collect()
    };
    let mut v = r;
    v.scale(&inverse(&norms, &columns));
    let mut basis = vec![v];
    let mut ended = Ended::Anew;
    for step in 0..count {
        let mut w = tools.a.apply(&tools.precondition(&basis[step])?)?;
        let before = w.norms();
        let mut h = vec![Vec::with_capacity(step + 1); k];
        for v in &basis {
            let mut along = v.dots(&w);
            for (h, along) in h.iter_mut().zip(&mut along) {
                h.push(*along);
                *along = -*along;
            }
            w.add_scaled(&along, v);
        }
        let below = w.norms();
        let mut rest = below.clone();
        for (j, (column, h)) in columns.iter_mut().zip(h).enumerate() {
            if column.is_over {
                continue;
            }
            // What rounding leaves of a product that lies among the vectors is nothing.
            let is_last = below[j] <= f64::EPSILON * before[j];
            if is_last {
                rest[j] = 0.0;
            }
            norms[j] = column.push(h, rest[j]);
            column.is_over = is_last || watch.is_small(j, norms[j]);
        }
        if let Some(stop) = watch.step(&norms) {
            ended = Ended::At(stop);
            break;
        }
        if columns.iter().all(|c| c.is_over) {
            // Nothing more can be reached: a singular operator.
            ended = Ended::At(Stop::Breakdown);
            break;
        }
        if step + 1 < count {
            w.scale(&inverse(&rest, &columns));
            basis.push(w);
        }
    }
    let y: Vec<Vec<c128>> = columns.iter().map(|c| c.solve(basis.len())).collect();
    let mut change = Block::zeros(n, k, x.is_complex)?;
    for (i, v) in basis.iter().enumerate() {
        let along: Vec<c128> = y.iter().map(|y| y[i]).collect();
        change.add_scaled(&along, v);
    }
    let change = tools.precondition(&change)?;
    x.add_scaled(&vec![c128::new(1.0, 0.0); k], &change);
    Ok(ended)
}
