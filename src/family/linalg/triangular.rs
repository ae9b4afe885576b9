//! Triangular systems.

use std::ops::Range;

use openwork_ops::structure::Index;
use openwork_ops::{UnaryOp, c128, with_index};

use super::block::Block;
use super::system::{singular, working_dtype};
use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::base::{context, parallel};
use crate::levels::layout::Layout;
use crate::levels::level::{Indices, Level};
use crate::tensor::{Tensor, trace};

/// Which triangle of a matrix is meant, what stands on its diagonal, and whether it is transposed: what
/// [`solve_triangular`] is told.
///
/// ```
/// use openwork::linalg::Triangular;
/// let options = Triangular::upper().unit_diagonal().adjoint();
/// assert_ne!(options, Triangular::upper());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Triangular {
    is_upper: bool,
    is_unit: bool,
    turned: Turned,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turned {
    No,
    Transpose,
    Adjoint,
}

impl Triangular {
    /// The lower triangle, the diagonal included.
    pub fn lower() -> Triangular {
        Triangular { is_upper: false, is_unit: false, turned: Turned::No }
    }

    /// The upper triangle, the diagonal included.
    pub fn upper() -> Triangular {
        Triangular { is_upper: true, ..Triangular::lower() }
    }

    /// Ones on the diagonal, whatever stands there.
    pub fn unit_diagonal(self) -> Triangular {
        Triangular { is_unit: true, ..self }
    }

    /// The transpose of the triangle: of a lower one, `Lᵀ x = b`.
    pub fn transpose(self) -> Triangular {
        Triangular { turned: Turned::Transpose, ..self }
    }

    /// The conjugate transpose of the triangle.
    pub fn adjoint(self) -> Triangular {
        Triangular { turned: Turned::Adjoint, ..self }
    }
}

/// Right sides that are solved for together.
const PANEL: usize = 8;

/// Solves `a x = b` where `a` is a triangle of a square matrix, by substitution. The rest of the matrix is not looked at, so
/// that one matrix may hold two triangles.
///
/// `b` has shape `(n)`, or `(n, k)` for `k` right sides; the solution is strided and of that shape, in the promotion of both
/// dtypes (integers as floats, half precision as `float32`), computed in `float64`.
///
/// Layouts: any. Fill: of a sparse matrix, zero; a matrix with another fill is made dense within the densify budget. A zero
/// that is not stored, or is an element of a strided matrix, makes no term, whatever it meets.
///
/// Cost: O(nse · k); a matrix that is not stored by rows (its transpose, where the transpose is asked for) is converted
/// first. From nine right sides on they are shared among threads.
///
/// ```
/// use openwork::linalg::{self, Triangular};
/// use openwork::{Layout, tensor};
///
/// let l = tensor![[2.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 3.0, 4.0]; Layout::Csr, 0.0]?;
/// let x = linalg::solve_triangular(&l, &tensor![2.0, 3.0, 18.0], Triangular::lower())?;
/// assert_eq!(x.to_vec::<f64>()?, [1.0, 2.0, 3.0]);
/// let x = linalg::solve_triangular(&l, &tensor![4.0, 11.0, 12.0], Triangular::lower().transpose())?;
/// assert_eq!(x.to_vec::<f64>()?, [1.0, 2.0, 3.0]);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If `a` is not a square matrix, `b` does not fit it, a fill is undefined, dtypes do not promote, or an element of the
/// diagonal is zero ([`ErrorKind::Singular`](crate::ErrorKind::Singular) names the row).
#[doc(alias("spsolve_triangular", "triangular_solve", "trsm"))]
pub fn solve_triangular(a: &Tensor, b: &Tensor, triangle: Triangular) -> Result<Tensor> {
    let call = trace::call("solve_triangular", &[a, b]);
    let &[m, n] = a.shape() else { return Err(error::shape(&[a.shape(), b.shape()], "a matrix is needed")) };
    if m != n || !matches!(b.ndim(), 1 | 2) || b.shape()[0] != n {
        let why = "a square matrix is needed, and a right side of shape (n) or (n, k)";
        return Err(error::shape(&[a.shape(), b.shape()], why));
    }
    let dtype = working_dtype(&[a.dtype(), b.dtype()])?;
    for (x, name) in [(a, "a"), (b, "b")] {
        if x.fill().is_some_and(|f| f.is_undefined()) {
            let why =
                format!("`{name}` lacks elements: its fill is undefined; choose what stands there with replace_fill");
            return Err(error::absent(why));
        }
    }
    let (k, is_complex) = (if b.ndim() == 1 { 1 } else { b.shape()[1] }, dtype.is_complex());
    let rows = Rows::new(a, triangle, is_complex)?;
    let right = Block::of(b, n, k, is_complex)?;
    let is_upper = triangle.is_upper != (triangle.turned != Turned::No);
    let order = Order { is_upper, is_unit: triangle.is_unit, is_complex };
    let solved = with_index!(rows.indices.as_slice(), indices => {
        of_panels(&right, &|x, width| substitute(&rows, indices, order, x, width))
    });
    let solved = solved?.map_err(|(row, is_stored)| {
        let why = if is_stored { "is 0" } else { "is not stored, and 0" };
        singular(row, format!("the diagonal element of row {row} {why}"))
    })?;
    Ok(call.done(solved.tensor(dtype, b.ndim() == 1)))
}

/// Compressed rows, whose values are `float64` or pairs of it.
struct Rows {
    pointers: Vec<usize>,
    indices: Indices,
    values: Strided,
}

impl Rows {
    fn new(a: &Tensor, triangle: Triangular, is_complex: bool) -> Result<Rows> {
        let is_zero = a.fill().is_none_or(|f| f.as_scalar().is_some_and(|f| f.is_zero()));
        let a = if is_zero {
            a.clone()
        } else {
            context::may_densify(a.shape(), a.dtype().size(), || "the fill of `a` is not zero".into())?;
            a.to_dense()?
        };
        let a = match triangle.turned {
            Turned::No => a,
            Turned::Transpose => a.matrix_transpose()?,
            Turned::Adjoint if a.dtype().is_complex() => a.matrix_transpose()?.unary(UnaryOp::Conj)?,
            Turned::Adjoint => a.matrix_transpose()?,
        };
        let a = if a.is_strided() { a.to_sparse(Layout::Csr, 0.0)? } else { a.to_layout(Layout::Csr)? };
        let broken = || error::layout("a conversion to compressed rows did not give compressed rows");
        let s = a.sparse().ok_or_else(broken)?;
        let Some(Level::Sparse { pointers: Some(pointers), indices, .. }) = s.pattern.levels.last() else {
            return Err(broken());
        };
        let [indices] = &indices[..] else { return Err(broken()) };
        let base = pointers.get(0);
        let pointers = (0..pointers.len()).map(|i| pointers.get(i) - base).collect();
        let dtype = if is_complex { openwork_ops::DType::Complex128 } else { openwork_ops::DType::F64 };
        let values = s.values.cast(dtype).to_contiguous()?.into_owned();
        Ok(Rows { pointers, indices: indices.clone(), values })
    }

    fn values(&self) -> &[f64] {
        use openwork_ops::Element;
        self.values.contiguous_bytes().map_or(&[], f64::from_bytes)
    }
}

#[derive(Clone, Copy)]
struct Order {
    is_upper: bool,
    is_unit: bool,
    is_complex: bool,
}

/// A row whose diagonal is zero, and whether that is stored.
type ZeroAt = (usize, bool);

/// Solves for panels of right sides, each in memory of its own, on several threads.
fn of_panels(
    right: &Block,
    solve: &(dyn Fn(&mut [f64], usize) -> std::result::Result<(), ZeroAt> + Sync),
) -> Result<std::result::Result<Block, ZeroAt>> {
    let (n, k, per) = (right.n, right.k, 1 + usize::from(right.is_complex));
    if k <= PANEL {
        let mut out = right.clone();
        return Ok(solve(out.write(), k * per).map(|()| out));
    }
    let source = right.read();
    let panels = parallel::map_chunks(k, PANEL, &|columns: Range<usize>| {
        let width = columns.len() * per;
        let mut panel = Vec::with_capacity(n * width);
        for row in source.chunks_exact(k * per) {
            panel.extend_from_slice(&row[columns.start * per..columns.end * per]);
        }
        solve(&mut panel, width).map(|()| panel)
    });
    let mut out = Block::zeros(n, k, right.is_complex)?;
    let place = out.write();
    for (at, panel) in panels.into_iter().enumerate() {
        let panel = match panel {
            Ok(panel) => panel,
            Err(zero) => return Ok(Err(zero)),
        };
        let first = at * PANEL * per;
        let width = panel.len() / n.max(1);
        for (row, out) in panel.chunks_exact(width.max(1)).zip(place.chunks_exact_mut(k * per)) {
            out[first..first + width].copy_from_slice(row);
        }
    }
    Ok(Ok(out))
}

/// Solves for the rows of `x`, `width` numbers each, one after the other.
fn substitute<I: Index>(
    rows: &Rows,
    indices: &[I],
    order: Order,
    x: &mut [f64],
    width: usize,
) -> std::result::Result<(), ZeroAt> {
    let (n, values) = (rows.pointers.len() - 1, rows.values());
    let mut sum = vec![0.0; width];
    for step in 0..n {
        let i = if order.is_upper { n - 1 - step } else { step };
        let entries = rows.pointers[i]..rows.pointers[i + 1];
        let columns = &indices[entries.clone()];
        // What is solved lies before the row, or behind it.
        let (before, rest) = x.split_at_mut(i * width);
        let (own, behind) = rest.split_at_mut(width);
        let (solved, first) = if order.is_upper { (&*behind, i + 1) } else { (&*before, 0) };
        let is_solved = |j: usize| if order.is_upper { j > i } else { j < i };
        let (mut diagonal, mut is_stored) = (c128::new(0.0, 0.0), false);
        if order.is_complex {
            sum.fill(0.0);
            for (j, a) in columns.iter().map(|j| j.get()).zip(values[2 * entries.start..].chunks_exact(2)) {
                if is_solved(j) {
                    let x = &solved[(j - first) * width..][..width];
                    for (s, x) in sum.chunks_exact_mut(2).zip(x.chunks_exact(2)) {
                        s[0] += a[0] * x[0] - a[1] * x[1];
                        s[1] += a[0] * x[1] + a[1] * x[0];
                    }
                } else if j == i {
                    (diagonal, is_stored) = (diagonal + c128::new(a[0], a[1]), true);
                }
            }
        } else if width == 1 {
            let mut total = 0.0;
            for (j, &a) in columns.iter().map(|j| j.get()).zip(&values[entries]) {
                if is_solved(j) {
                    total += a * solved[j - first];
                } else if j == i {
                    (diagonal.re, is_stored) = (diagonal.re + a, true);
                }
            }
            sum[0] = total;
        } else {
            sum.fill(0.0);
            for (j, &a) in columns.iter().map(|j| j.get()).zip(&values[entries]) {
                if is_solved(j) {
                    let x = &solved[(j - first) * width..][..width];
                    sum.iter_mut().zip(x).for_each(|(s, x)| *s += a * x);
                } else if j == i {
                    (diagonal.re, is_stored) = (diagonal.re + a, true);
                }
            }
        }
        own.iter_mut().zip(&sum).for_each(|(o, s)| *o -= s);
        if order.is_unit {
            continue;
        }
        if diagonal == c128::new(0.0, 0.0) {
            return Err((i, is_stored));
        }
        if order.is_complex {
            for o in own.chunks_exact_mut(2) {
                let v = c128::new(o[0], o[1]) / diagonal;
                (o[0], o[1]) = (v.re, v.im);
            }
        } else {
            own.iter_mut().for_each(|o| *o /= diagonal.re);
        }
    }
    Ok(())
}
