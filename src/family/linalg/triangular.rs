//! Triangular systems.

use std::ops::Range;

use openwork_ops::structure::Index;
use openwork_ops::{DType, Element, c128, with_index};

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
    ///
    /// ```
    /// use openwork::linalg::{Triangular, solve_triangular};
    /// use openwork::tensor;
    /// let a = tensor![[2.0, 6.0], [4.0, 5.0]];
    /// let x = solve_triangular(&a, &tensor![2.0, 9.0], Triangular::lower())?; // of [[2, 0], [4, 5]]
    /// assert_eq!(x.to_vec::<f64>()?, [1.0, 1.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn lower() -> Triangular {
        Triangular { is_upper: false, is_unit: false, turned: Turned::No }
    }

    /// The upper triangle, the diagonal included.
    ///
    /// ```
    /// use openwork::linalg::{Triangular, solve_triangular};
    /// use openwork::tensor;
    /// let a = tensor![[2.0, 6.0], [4.0, 5.0]];
    /// let x = solve_triangular(&a, &tensor![8.0, 5.0], Triangular::upper())?; // of [[2, 6], [0, 5]]
    /// assert_eq!(x.to_vec::<f64>()?, [1.0, 1.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn upper() -> Triangular {
        Triangular { is_upper: true, ..Triangular::lower() }
    }

    /// Ones on the diagonal, whatever stands there.
    ///
    /// ```
    /// use openwork::linalg::{Triangular, solve_triangular};
    /// use openwork::tensor;
    /// let a = tensor![[2.0, 6.0], [4.0, 5.0]];
    /// let x = solve_triangular(&a, &tensor![1.0, 5.0], Triangular::lower().unit_diagonal())?; // of [[1, 0], [4, 1]]
    /// assert_eq!(x.to_vec::<f64>()?, [1.0, 1.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn unit_diagonal(self) -> Triangular {
        Triangular { is_unit: true, ..self }
    }

    /// The transpose of the triangle: of a lower one, `Lᵀ x = b`.
    ///
    /// ```
    /// use openwork::linalg::{Triangular, solve_triangular};
    /// use openwork::tensor;
    /// let a = tensor![[2.0, 6.0], [4.0, 5.0]];
    /// let x = solve_triangular(&a, &tensor![6.0, 5.0], Triangular::lower().transpose())?; // of [[2, 4], [0, 5]]
    /// assert_eq!(x.to_vec::<f64>()?, [1.0, 1.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn transpose(self) -> Triangular {
        Triangular { turned: Turned::Transpose, ..self }
    }

    /// The conjugate transpose of the triangle.
    ///
    /// ```
    /// use openwork::linalg::{Triangular, solve_triangular};
    /// use openwork::tensor;
    /// let a = tensor![[2.0, 6.0], [4.0, 5.0]];
    /// let x = solve_triangular(&a, &tensor![6.0, 5.0], Triangular::lower().adjoint())?; // of [[2, 4], [0, 5]], which is real
    /// assert_eq!(x.to_vec::<f64>()?, [1.0, 1.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn adjoint(self) -> Triangular {
        Triangular { turned: Turned::Adjoint, ..self }
    }
}

/// Solves `a x = b` where `a` is a triangle of a square matrix, by substitution. The rest of the matrix is not looked at, so
/// that one matrix may hold two triangles.
///
/// `b` has shape `(n)`, or `(n, k)` for `k` right sides; the solution is strided and of that shape, in the promotion of both
/// dtypes (integers as floats, half precision as `float32`), computed in `float64`.
///
/// Layouts: any. Fill: of a sparse matrix, zero; a matrix with another fill is made dense within the densify budget. A zero
/// that is not stored, or is an element of a strided matrix, makes no term, whatever it meets.
///
/// Cost: O(nse · k). By rows or by columns, as they are stored, also of a transpose; a matrix in another layout is converted
/// to CSR first. Several right sides are shared among threads where a row stores 8 elements or more; for one there is one
/// thread, since rows wait for each other.
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
    let lines = Lines::new(a, triangle, is_complex)?;
    let right = Block::of(b, n, k, is_complex)?;
    let solved = with_index!(lines.indices.as_slice(), indices => {
        let entries = indices.len();
        of_panels(&right, entries, &|x, stride, columns| substitute(&lines, indices, x, stride, columns))
    });
    let solved = solved?.map_err(|(row, is_stored)| {
        let why = if is_stored { "is 0" } else { "is not stored, and 0" };
        singular(row, format!("the diagonal element of row {row} {why}"))
    })?;
    Ok(call.done(solved.tensor(dtype, b.ndim() == 1)))
}

/// The lines of a matrix, rows or columns, whose values are `float64` or pairs of it, and how to go through them.
struct Lines {
    pointers: Indices,
    indices: Indices,
    values: Strided,
    /// The lines are columns: what is solved is taken from what comes after it. Else each takes from what came before.
    by_column: bool,
    /// What is solved last comes first.
    is_upper: bool,
    is_unit: bool,
    is_complex: bool,
    is_conjugated: bool,
}

impl Lines {
    fn new(a: &Tensor, triangle: Triangular, is_complex: bool) -> Result<Lines> {
        let is_zero = a.fill().is_none_or(|f| f.as_scalar().is_some_and(|f| f.is_zero()));
        let a = if is_zero {
            a.clone()
        } else {
            context::may_densify(a.shape(), a.dtype().size(), || "the fill of `a` is not zero".into())?;
            a.to_dense()?
        };
        let is_turned = triangle.turned != Turned::No;
        let a = if is_turned { a.matrix_transpose()? } else { a };
        let (a, by_column) = match a.layout() {
            Layout::Csc => (a.matrix_transpose()?, true),
            Layout::Strided => (a.to_sparse(Layout::Csr, 0.0)?, false),
            _ => (a.to_layout(Layout::Csr)?, false),
        };
        let broken = || error::layout("a conversion to compressed rows did not give compressed rows");
        let s = a.sparse().ok_or_else(broken)?;
        let Some(Level::Sparse { pointers: Some(pointers), indices, .. }) = s.pattern.levels.last() else {
            return Err(broken());
        };
        let [indices] = &indices[..] else { return Err(broken()) };
        let wide = pointers.is_wide() || indices.is_wide();
        let dtype = if is_complex { DType::Complex128 } else { DType::F64 };
        Ok(Lines {
            pointers: pointers.widened(wide),
            indices: indices.widened(wide),
            values: s.values.cast(dtype).to_contiguous()?.into_owned(),
            by_column,
            is_upper: triangle.is_upper != is_turned,
            is_unit: triangle.is_unit,
            is_complex,
            is_conjugated: triangle.turned == Turned::Adjoint,
        })
    }

    fn values(&self) -> &[f64] {
        self.values.contiguous_bytes().map_or(&[], f64::from_bytes)
    }
}

/// A row whose diagonal is zero, and whether that is stored.
type ZeroAt = (usize, bool);

/// Solves for the columns in a range, in place, in rows that lie so far apart.
type Solve<'a> = dyn Fn(&mut [f64], usize, Range<usize>) -> std::result::Result<(), ZeroAt> + Sync + 'a;

/// Lines of a panel are copied there and back, which takes about as long as so many entries of a line do.
const COPIED: usize = 8;

/// Solves for panels of right sides: by several threads, each in memory of its own, where that is worth the copies, else in
/// place.
fn of_panels(right: &Block, entries: usize, solve: &Solve<'_>) -> Result<std::result::Result<Block, ZeroAt>> {
    let (n, k, per) = (right.n, right.k, 1 + usize::from(right.is_complex));
    let is_worth = entries / COPIED >= n && entries.saturating_mul(k) >= parallel::GRAIN;
    let threads = if is_worth { parallel::threads() } else { 1 };
    let panels = panels(k, threads);
    let mut out = right.clone();
    if panels.len() <= 1 || threads == 1 || n == 0 {
        let place = out.write();
        return Ok(panels.into_iter().try_for_each(|columns| solve(place, k, columns)).map(|()| out));
    }
    let source = right.read();
    let solved = parallel::map_chunks(panels.len(), 1, &|which| {
        let columns = panels[which.start].clone();
        let mut panel = Vec::with_capacity(n * columns.len() * per);
        for row in source.chunks_exact(k * per) {
            panel.extend_from_slice(&row[columns.start * per..columns.end * per]);
        }
        solve(&mut panel, columns.len(), 0..columns.len()).map(|()| panel)
    });
    let mut all = Vec::with_capacity(solved.len());
    for panel in solved {
        match panel {
            Ok(panel) => all.push(panel),
            Err(zero) => return Ok(Err(zero)),
        }
    }
    let grain = (parallel::GRAIN / (k * per)).max(1);
    parallel::for_chunks_mut(out.write(), k * per, grain, &|first, out| {
        for (columns, panel) in panels.iter().zip(&all) {
            let width = columns.len() * per;
            let rows = panel[first * width..].chunks_exact(width);
            for (out, row) in out.chunks_exact_mut(k * per).zip(rows) {
                out[columns.start * per..columns.end * per].copy_from_slice(row);
            }
        }
    });
    Ok(Ok(out))
}

/// Cuts so many columns into ranges of 8, 4, 2 or 1: of no more than 4 if that gives each thread one. Each column is
/// computed alike whatever stands beside it.
fn panels(k: usize, threads: usize) -> Vec<Range<usize>> {
    let (mut all, mut at) = (Vec::new(), 0);
    let most = if k >= 8 * threads || k < 4 * threads.min(2) { 8 } else { 4 };
    while at < k {
        let width = [8, 4, 2, 1].into_iter().find(|&w| w <= most && w <= k - at).unwrap_or(1);
        all.push(at..at + width);
        at += width;
    }
    all
}

/// Solves for columns of `x`, whose rows are `stride` columns apart.
fn substitute<I: Index>(
    lines: &Lines,
    indices: &[I],
    x: &mut [f64],
    stride: usize,
    columns: Range<usize>,
) -> std::result::Result<(), ZeroAt> {
    let pointers = lines.pointers.typed::<I>();
    if lines.is_complex {
        return complex(lines, pointers, indices, x, stride, columns);
    }
    let at = columns.start;
    match columns.len() {
        8 => real::<I, 8>(lines, pointers, indices, x, stride, at),
        4 => real::<I, 4>(lines, pointers, indices, x, stride, at),
        2 => real::<I, 2>(lines, pointers, indices, x, stride, at),
        _ => columns.into_iter().try_for_each(|at| real::<I, 1>(lines, pointers, indices, x, stride, at)),
    }
}

/// `W` numbers of row `i` of `x`.
#[inline(always)]
fn row<const W: usize>(x: &mut [f64], i: usize, stride: usize, at: usize) -> &mut [f64] {
    &mut x[i * stride + at..][..W]
}

fn real<I: Index, const W: usize>(
    lines: &Lines,
    pointers: &[I],
    indices: &[I],
    x: &mut [f64],
    stride: usize,
    at: usize,
) -> std::result::Result<(), ZeroAt> {
    let (n, values, is_upper) = (pointers.len() - 1, lines.values(), lines.is_upper);
    let base = pointers[0].get();
    for step in 0..n {
        let i = if is_upper { n - 1 - step } else { step };
        let entries = pointers[i].get() - base..pointers[i + 1].get() - base;
        let (indices, values) = (&indices[entries.clone()], &values[entries]);
        let (mut diagonal, mut is_stored) = (0.0, false);
        let mut sum = [0.0; W];
        if lines.by_column {
            if !lines.is_unit {
                for (j, a) in indices.iter().zip(values) {
                    if j.get() == i {
                        (diagonal, is_stored) = (diagonal + a, true);
                    }
                }
            }
        } else {
            for (j, a) in indices.iter().zip(values) {
                let j = j.get();
                if j == i {
                    (diagonal, is_stored) = (diagonal + a, true);
                } else if (j > i) == is_upper {
                    let known = row::<W>(x, j, stride, at);
                    sum.iter_mut().zip(&*known).for_each(|(s, x)| *s += a * *x);
                }
            }
        }
        if !lines.is_unit && diagonal == 0.0 {
            return Err((i, is_stored));
        }
        let own = row::<W>(x, i, stride, at);
        if !lines.by_column {
            own.iter_mut().zip(&sum).for_each(|(o, s)| *o -= s);
        }
        if !lines.is_unit {
            own.iter_mut().for_each(|o| *o /= diagonal);
        }
        if lines.by_column {
            let mut solved = [0.0; W];
            solved.copy_from_slice(own);
            for (j, a) in indices.iter().zip(values) {
                let j = j.get();
                if j != i && (j < i) == is_upper {
                    row::<W>(x, j, stride, at).iter_mut().zip(&solved).for_each(|(x, o)| *x -= a * o);
                }
            }
        }
    }
    Ok(())
}

/// As [`real`], of pairs of numbers.
fn complex<I: Index>(
    lines: &Lines,
    pointers: &[I],
    indices: &[I],
    x: &mut [f64],
    stride: usize,
    columns: Range<usize>,
) -> std::result::Result<(), ZeroAt> {
    let (n, values, is_upper) = (pointers.len() - 1, lines.values(), lines.is_upper);
    let (base, sign) = (pointers[0].get(), if lines.is_conjugated { -1.0 } else { 1.0 });
    let row = |i: usize| 2 * (i * stride + columns.start)..2 * (i * stride + columns.end);
    // `to -= a from`, both rows of `x`.
    let subtract = |to: &mut [f64], a: c128, from: &[f64]| {
        for (to, from) in to.chunks_exact_mut(2).zip(from.chunks_exact(2)) {
            to[0] -= a.re * from[0] - a.im * from[1];
            to[1] -= a.re * from[1] + a.im * from[0];
        }
    };
    let mut own = vec![0.0; 2 * columns.len()];
    for step in 0..n {
        let i = if is_upper { n - 1 - step } else { step };
        let entries = pointers[i].get() - base..pointers[i + 1].get() - base;
        let line = || {
            let values = values[2 * entries.start..2 * entries.end].chunks_exact(2);
            indices[entries.clone()].iter().zip(values).map(|(j, a)| (j.get(), c128::new(a[0], sign * a[1])))
        };
        own.copy_from_slice(&x[row(i)]);
        let (mut diagonal, mut is_stored) = (c128::new(0.0, 0.0), false);
        for (j, a) in line() {
            if j == i {
                (diagonal, is_stored) = (diagonal + a, true);
            } else if !lines.by_column && (j > i) == is_upper {
                subtract(&mut own, a, &x[row(j)]);
            }
        }
        if !lines.is_unit {
            if diagonal == c128::new(0.0, 0.0) {
                return Err((i, is_stored));
            }
            for o in own.chunks_exact_mut(2) {
                let v = c128::new(o[0], o[1]) / diagonal;
                (o[0], o[1]) = (v.re, v.im);
            }
        }
        x[row(i)].copy_from_slice(&own);
        if lines.by_column {
            for (j, a) in line().filter(|&(j, _)| j != i && (j < i) == is_upper) {
                subtract(&mut x[row(j)], a, &own);
            }
        }
    }
    Ok(())
}
