//! Factorisations to solve with: Cholesky, LU and QR, dense and sparse, by faer.

use std::fmt;
use std::sync::Arc;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::LltError as NotPositive;
use faer::linalg::solvers::{self as dense, Solve, SolveLstsq};
use faer::sparse::linalg::LuError;
use faer::sparse::linalg::cholesky::{LltRef, SymbolicCholesky, SymbolicCholeskyRaw, factorize_symbolic_cholesky};
use faer::sparse::linalg::solvers as sparse;
use faer::sparse::{FaerError, SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, Mat, Par, Side};
use openwork_ops::{DType, Element, promote};

use super::block::Block;
use super::number::{Matrices, Number, block_of, columns_of, is_there, with_number};
use super::operator::Operator;
use super::system::{singular, working_dtype};
use crate::base::error::{self, Error, Result};
use crate::base::{memory, parallel, shape};
use crate::levels::layout::Layout;
use crate::levels::level::Level;
use crate::tensor::Tensor;
use crate::tensor::trace::{self, Outcome};

/// A matrix in factors, to solve with: what [`cholesky`], [`lu`] and [`least_squares`] give.
///
/// As an [`Operator`] it multiplies by the inverse: a preconditioner, or what [`eigsh`](super::eigsh) takes to find the
/// eigenvalues near zero. Cheap to clone.
#[derive(Clone)]
pub struct Factored {
    kind: &'static str,
    shape: [usize; 2],
    dtype: DType,
    inverse: Arc<dyn Inverse>,
}

impl fmt::Debug for Factored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Factored({} of {:?} {})", self.kind, self.shape, self.dtype)
    }
}

impl Outcome for Factored {
    fn is_dense(&self) -> bool {
        false
    }

    fn in_words(&self) -> String {
        format!("{self:?}")
    }
}

impl Factored {
    /// The solution of `a x = b`, or of least squares; `b` has shape `(m)`, or `(m, k)` for `k` right sides. Strided, in the
    /// promotion of both dtypes.
    ///
    /// ```
    /// use openwork::{Layout, linalg, tensor};
    /// let factored = linalg::lu(&tensor![[2.0, 1.0], [0.0, 4.0]; Layout::Csr, 0.0]?)?; // once
    /// assert!(factored.solve(&tensor![3.0, 4.0])?.allclose(&tensor![1.0, 1.0], 1e-12, 0.0)?);
    /// assert_eq!(factored.solve(&tensor![[3.0, 2.0], [4.0, 0.0]])?.shape(), [2, 2]); // two right sides
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `b` does not fit the matrix, or lacks elements; if its dtype is complex and that of the matrix is not: cast the
    /// matrix first.
    pub fn solve(&self, b: &Tensor) -> Result<Tensor> {
        let call = trace::call("solve", &[b]);
        call.end(self.solve_with(b, Turned::No))
    }

    /// The solution of `aᴴ x = b`, with the conjugate transpose.
    ///
    /// ```
    /// use openwork::{Layout, linalg, tensor};
    /// let factored = linalg::lu(&tensor![[2.0, 1.0], [0.0, 4.0]; Layout::Csr, 0.0]?)?;
    /// assert!(factored.solve_adjoint(&tensor![2.0, 5.0])?.allclose(&tensor![1.0, 1.0], 1e-12, 0.0)?);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Factored::solve`], and of a QR factorisation, which does not solve so.
    pub fn solve_adjoint(&self, b: &Tensor) -> Result<Tensor> {
        let call = trace::call("solve_adjoint", &[b]);
        call.end(self.solve_with(b, Turned::Adjoint))
    }

    fn solve_with(&self, b: &Tensor, turned: Turned) -> Result<Tensor> {
        let [m, n] = self.shape;
        if !matches!(b.ndim(), 1 | 2) || b.shape()[0] != m {
            let why = format!("the right side must have shape ({m}), or ({m}, k) for k of them");
            return Err(error::shape(&[&self.shape, b.shape()], why));
        }
        is_there(b, "b")?;
        let dtype = working_dtype(&[self.dtype, b.dtype()])?;
        if dtype.is_complex() && !self.dtype.is_complex() {
            let why = "the matrix in factors is real, the right side is not: cast the matrix before it is factored";
            return Err(error::dtype(&[self.dtype, b.dtype()], why));
        }
        let (k, is_vector) = if b.ndim() == 1 { (1, true) } else { (b.shape()[1], false) };
        let x = Block::of(b, m, k, self.dtype.is_complex())?;
        if m == 0 || n == 0 || k == 0 {
            return Ok(Block::zeros(n, k, x.is_complex)?.tensor(dtype, is_vector));
        }
        Ok(self.inverse.solve(&x, turned)?.tensor(dtype, is_vector))
    }
}

impl Operator for Factored {
    fn shape(&self) -> [usize; 2] {
        [self.shape[1], self.shape[0]]
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn apply(&self, x: &Tensor) -> Result<Tensor> {
        self.solve(x)
    }

    fn apply_adjoint(&self, x: &Tensor) -> Result<Tensor> {
        self.solve_adjoint(x)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Turned {
    No,
    Adjoint,
}

/// Factors of one kind and number.
trait Inverse: Send + Sync {
    fn solve(&self, b: &Block, turned: Turned) -> Result<Block>;
}

/// Factors that solve in place, by faer's own trait.
struct Own<T, F>(F, std::marker::PhantomData<fn() -> T>);

impl<T: Number, F: Solve<T> + Send + Sync> Inverse for Own<T, F> {
    fn solve(&self, b: &Block, turned: Turned) -> Result<Block> {
        let mut x: Mat<T> = columns_of(b);
        match turned {
            Turned::No => self.0.solve_in_place(x.as_mut()),
            Turned::Adjoint => self.0.solve_adjoint_in_place(x.as_mut()),
        }
        block_of(x.as_ref())
    }
}

/// Factors for least squares.
struct Squares<T, F>(F, usize, std::marker::PhantomData<fn() -> T>);

impl<T: Number, F: SolveLstsq<T> + Send + Sync> Inverse for Squares<T, F> {
    fn solve(&self, b: &Block, turned: Turned) -> Result<Block> {
        if turned == Turned::Adjoint {
            return Err(error::invalid("a", "a QR factorisation does not solve with the conjugate transpose; use lu"));
        }
        let mut x: Mat<T> = columns_of(b);
        self.0.solve_lstsq_in_place(x.as_mut());
        block_of(x.as_ref().subrows(0, self.1))
    }
}

struct SparseCholesky<T> {
    symbolic: SymbolicCholesky<usize>,
    values: Vec<T>,
}

impl<T: Number> Inverse for SparseCholesky<T> {
    fn solve(&self, b: &Block, _: Turned) -> Result<Block> {
        let mut x: Mat<T> = columns_of(b);
        let mut memory = MemBuffer::try_new(self.symbolic.solve_in_place_scratch::<T>(b.k, Par::Seq));
        let memory = memory.as_mut().map_err(|_| no_memory())?;
        let factors = LltRef::new(&self.symbolic, &self.values);
        factors.solve_in_place_with_conj(Conj::No, x.as_mut(), Par::Seq, MemStack::new(memory));
        block_of(x.as_ref())
    }
}

fn no_memory() -> Error {
    let (bytes, free) = (u128::from(u64::MAX), memory::free().unwrap_or(0));
    error::memory(&[], "the factors", bytes, free, "use an iterative method")
}

impl From<FaerError> for Failed {
    fn from(_: FaerError) -> Failed {
        Failed::Memory
    }
}

/// Why there are no factors.
enum Failed {
    Memory,
    /// No pivot was found.
    Singular,
}

/// A sparse matrix by columns, of one number.
struct Columns {
    n: [usize; 2],
    pointers: Vec<usize>,
    indices: Vec<usize>,
    values: crate::base::strided::Strided,
    dtype: DType,
}

impl Columns {
    /// `None` of a matrix that is strided, or is to be: its fill is not zero.
    fn of(a: &Tensor, beside: &[DType]) -> Result<Option<Columns>> {
        let &[m, n] = a.shape() else { return Ok(None) };
        if a.is_strided() || !a.fill().is_some_and(|f| f.as_scalar().is_some_and(|f| f.is_zero())) {
            return Ok(None);
        }
        let mut dtypes = beside.to_vec();
        dtypes.push(a.dtype());
        let dtype = working_dtype(&dtypes)?;
        let a = a.to_layout(Layout::Csc)?.coalesce()?;
        let broken = || error::layout("a conversion to compressed columns did not give compressed columns");
        let s = a.sparse().ok_or_else(broken)?;
        let Some(Level::Sparse { pointers: Some(pointers), indices, .. }) = s.pattern.levels.last() else {
            return Err(broken());
        };
        let [indices] = &indices[..] else { return Err(broken()) };
        let base = pointers.get(0);
        let own = if dtype.is_complex() { DType::Complex128 } else { DType::F64 };
        let values = s.values.cast(own).to_contiguous()?.into_owned();
        let finite = f64::from_bytes(values.contiguous_bytes().unwrap_or_default()).iter().all(|v| v.is_finite());
        if !finite {
            return Err(error::invalid("a", "has an element that is NaN or infinite"));
        }
        Ok(Some(Columns {
            n: [m, n],
            pointers: (0..pointers.len()).map(|i| pointers.get(i) - base).collect(),
            indices: (0..indices.len()).map(|i| indices.get(i)).collect(),
            values,
            dtype,
        }))
    }

    fn symbolic(&self) -> SymbolicSparseColMatRef<'_, usize> {
        SymbolicSparseColMatRef::new_checked(self.n[0], self.n[1], &self.pointers, None, &self.indices)
    }

    fn values<T: Number>(&self) -> &[T] {
        self.values.contiguous_bytes().map_or(&[], T::from_bytes)
    }

    fn matrix<T: Number>(&self) -> SparseColMatRef<'_, usize, T> {
        SparseColMatRef::new(self.symbolic(), self.values())
    }

    /// The first row or column in which all is zero: a matrix with one is singular.
    fn empty_line<T: Number>(&self) -> Result<()> {
        let mut rows = vec![false; self.n[0]];
        for j in 0..self.n[1] {
            let mut is_empty = true;
            for e in self.pointers[j]..self.pointers[j + 1] {
                if self.values::<T>()[e].magnitude() > 0.0 {
                    (is_empty, rows[self.indices[e]]) = (false, true);
                }
            }
            if is_empty {
                return Err(singular(j, format!("column {j} is zero")));
            }
        }
        match rows.iter().position(|has| !has) {
            Some(i) => Err(singular(i, format!("row {i} is zero"))),
            None => Ok(()),
        }
    }
}

fn must_be_square(a: &Tensor) -> Result<()> {
    match a.shape() {
        [.., m, n] if m == n => Ok(()),
        _ => Err(error::shape(&[a.shape()], "a square matrix is needed")),
    }
}

fn must_be_one(a: &Tensor) -> Result<()> {
    let why = "one matrix is needed, with two axes; `solve` takes many";
    if a.ndim() == 2 { Ok(()) } else { Err(error::shape(&[a.shape()], why)) }
}

/// The Cholesky factors of a Hermitian positive definite matrix, of which only the lower triangle is looked at.
///
/// A sparse matrix with fill zero has sparse factors, with rows and columns in an order that keeps them so; one with
/// another fill is made dense within the densify budget. Factors are `float64` (or complex), whatever the matrix is.
/// Computed by faer, on the calling thread.
///
/// ```
/// use openwork::{Layout, linalg, tensor};
/// let a = tensor![[4.0, 1.0], [1.0, 3.0]; Layout::Csr, 0.0]?;
/// let factors = linalg::cholesky(&a)?;
/// assert!(factors.solve(&tensor![6.0, 7.0])?.allclose(&tensor![1.0, 2.0], 1e-14, 0.0)?);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If the matrix is not square, has an element that is absent, NaN or infinite, or is not positive definite
/// ([`ErrorKind::Singular`](crate::ErrorKind::Singular) names the row where that shows).
pub fn cholesky(a: &Tensor) -> Result<Factored> {
    let call = trace::call("cholesky", &[a]);
    must_be_one(a)?;
    must_be_square(a)?;
    is_there(a, "a")?;
    call.end(match Columns::of(a, &[])? {
        Some(columns) => with_number!(columns.dtype.is_complex(), T => sparse_cholesky::<T>(&columns)),
        None => {
            let a = Matrices::new(a, &[])?;
            let [m, n] = [a.rows, a.columns];
            with_number!(a.dtype.is_complex(), T => {
                let llt = dense_cholesky::<T>(&a, 0)?;
                Ok(Factored::new("cholesky", [m, n], a.dtype, Own::<T, _>(llt, Default::default())))
            })
        }
    })
}

fn not_positive(row: usize) -> Error {
    singular(row, format!("it is not positive definite, which shows in row {row}; use lu"))
}

fn dense_cholesky<T: Number>(a: &Matrices, i: usize) -> Result<dense::Llt<T>> {
    a.get::<T>(i).llt(Side::Lower).map_err(|NotPositive::NonPositivePivot { index }| not_positive(index))
}

fn sparse_cholesky<T: Number>(a: &Columns) -> Result<Factored> {
    let symbolic = factorize_symbolic_cholesky(a.symbolic(), Side::Lower, Default::default(), Default::default());
    let symbolic = symbolic.map_err(|_| no_memory())?;
    let len = symbolic.len_val();
    memory::room(&a.n, "the factors", &[len], size_of::<T>(), "use an iterative method")?;
    let mut values = vec![T::ZERO; len];
    let scratch = symbolic.factorize_numeric_llt_scratch::<T>(Par::Seq, Default::default());
    let mut memory = MemBuffer::try_new(scratch).map_err(|_| no_memory())?;
    let done = symbolic.factorize_numeric_llt(
        &mut values,
        a.matrix::<T>(),
        Side::Lower,
        Default::default(),
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    );
    if let Err(NotPositive::NonPositivePivot { index }) = done {
        // Where rows are eliminated one by one, faer counts them from one.
        let index = index - usize::from(index > 0 && matches!(symbolic.raw(), SymbolicCholeskyRaw::Simplicial(_)));
        let row = symbolic.perm().and_then(|p| p.arrays().0.get(index).copied()).unwrap_or(index);
        return Err(not_positive(row));
    }
    Ok(Factored::new("cholesky", a.n, a.dtype, SparseCholesky { symbolic, values }))
}

impl Factored {
    fn new(kind: &'static str, shape: [usize; 2], dtype: DType, inverse: impl Inverse + 'static) -> Factored {
        Factored { kind, shape, dtype, inverse: Arc::new(inverse) }
    }
}

/// The LU factors of a square matrix, with rows exchanged for the largest pivots.
///
/// Layouts, fill, dtype: as [`cholesky`].
///
/// ```
/// use openwork::{Layout, linalg, tensor};
/// let a = tensor![[0.0, 2.0], [1.0, 1.0]; Layout::Csr, 0.0]?;
/// let factors = linalg::lu(&a)?;
/// assert!(factors.solve(&tensor![4.0, 3.0])?.allclose(&tensor![1.0, 2.0], 1e-14, 0.0)?);
/// let e = linalg::lu(&tensor![[1.0, 2.0], [2.0, 4.0]]).unwrap_err();
/// assert_eq!(e.to_string(), "lu: the matrix is singular: column 1 is a combination of those before it");
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If the matrix is not square, has an element that is absent, NaN or infinite, or is singular: a pivot is exactly zero
/// ([`ErrorKind::Singular`](crate::ErrorKind::Singular) names a row or column). One that is singular but for rounding is
/// solved with, and solutions are large.
pub fn lu(a: &Tensor) -> Result<Factored> {
    let call = trace::call("lu", &[a]);
    call.end(lu_beside(a, &[]))
}

fn lu_beside(a: &Tensor, beside: &[DType]) -> Result<Factored> {
    must_be_one(a)?;
    must_be_square(a)?;
    is_there(a, "a")?;
    match Columns::of(a, beside)? {
        Some(columns) => with_number!(columns.dtype.is_complex(), T => sparse_lu::<T>(a, &columns)),
        None => {
            let a = Matrices::new(a, beside)?;
            let n = a.rows;
            with_number!(a.dtype.is_complex(), T => {
                let factors = dense_lu::<T>(&a, 0)?;
                Ok(Factored::new("lu", [n, n], a.dtype, Own::<T, _>(factors, Default::default())))
            })
        }
    }
}

fn dense_lu<T: Number>(a: &Matrices, i: usize) -> Result<dense::PartialPivLu<T>> {
    let factors = a.get::<T>(i).partial_piv_lu();
    let u = factors.U();
    match (0..a.rows).find(|&j| u[(j, j)].is_zero_or_bad()) {
        Some(j) => Err(singular(j, format!("column {j} is a combination of those before it"))),
        None => Ok(factors),
    }
}

fn sparse_lu<T: Number>(a: &Tensor, columns: &Columns) -> Result<Factored> {
    columns.empty_line::<T>()?;
    let factors = match factor_lu::<T>(columns) {
        Ok(factors) => factors,
        Err(Failed::Memory) => return Err(no_memory()),
        Err(Failed::Singular) => return Err(dependent::<T>(a, columns)?),
    };
    let factored = Factored::new("lu", columns.n, columns.dtype, Own::<T, _>(factors, Default::default()));
    // A pivot that is zero makes every solution infinite or NaN.
    let n = columns.n[0];
    let probe = Block::random(n, 1, T::DTYPE.is_complex(), 1)?;
    if n > 0 && !factored.inverse.solve(&probe, Turned::No)?.read().iter().all(|v| v.is_finite()) {
        return Err(dependent::<T>(a, columns)?);
    }
    Ok(factored)
}

fn factor_lu<T: Number>(a: &Columns) -> std::result::Result<sparse::Lu<usize, T>, Failed> {
    let symbolic = sparse::SymbolicLu::try_new(a.symbolic())?;
    sparse::Lu::try_new_with_symbolic(symbolic, a.matrix::<T>()).map_err(|e| match e {
        LuError::SymbolicSingular { .. } => Failed::Singular,
        LuError::Generic(_) => Failed::Memory,
    })
}

/// The error of a singular sparse matrix: with a little added to its diagonal it has factors, and what it is then solved
/// with comes close to a combination of its columns that is zero; the largest part of that names a column.
fn dependent<T: Number>(a: &Tensor, columns: &Columns) -> Result<Error> {
    let n = columns.n[0];
    let largest = columns.values::<T>().iter().fold(0f64, |m, v| m.max(v.magnitude()));
    let little = Tensor::eye(n, columns.dtype, Layout::Csc)?.mul(largest * 1e-10)?;
    let nearby = Columns::of(&(a.to_layout(Layout::Csc)? + little)?, &[])?;
    let mut named = None;
    if let Some(nearby) = nearby
        && let Ok(factors) = factor_lu::<T>(&nearby)
    {
        let mut x: Mat<T> = columns_of(&Block::random(n, 1, T::DTYPE.is_complex(), 1)?);
        factors.solve_in_place(x.as_mut());
        let size = |j: usize| x[(j, 0)].magnitude();
        named = (0..n).filter(|&j| size(j).is_finite()).max_by(|&i, &j| size(i).total_cmp(&size(j)));
    }
    Ok(match named {
        Some(j) => singular(j, format!("column {j} is a combination of others")),
        None => singular(0, "some columns are a combination of others".into()),
    })
}

/// The QR factors of a matrix with at least as many rows as columns, to solve `a x = b` for the `x` with the least
/// `‖a x - b‖`.
///
/// Layouts, fill, dtype: as [`cholesky`].
///
/// ```
/// use openwork::{Layout, linalg, tensor};
/// let a = tensor![[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]; Layout::Csr, 0.0]?; // a line through three points
/// let x = linalg::least_squares(&a)?.solve(&tensor![1.0, 3.0, 5.0])?;
/// assert!(x.allclose(&tensor![1.0, 2.0], 1e-13, 0.0)?);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If the matrix has fewer rows than columns, or an element that is absent, NaN or infinite; if a dense matrix has a
/// column that is exactly a combination of others, or a sparse one a column of zeros
/// ([`ErrorKind::Singular`](crate::ErrorKind::Singular) names it).
#[doc(alias("lstsq", "sparse_qr"))]
pub fn least_squares(a: &Tensor) -> Result<Factored> {
    let call = trace::call("least_squares", &[a]);
    must_be_one(a)?;
    is_there(a, "a")?;
    let [m, n] = [a.shape()[0], a.shape()[1]];
    if m < n {
        return Err(error::shape(&[a.shape()], "at least as many rows as columns are needed"));
    }
    call.end(match Columns::of(a, &[])? {
        Some(columns) => with_number!(columns.dtype.is_complex(), T => {
            let empty = (0..n).find(|&j| {
                let own = columns.pointers[j]..columns.pointers[j + 1];
                columns.values::<T>()[own].iter().all(|v| v.magnitude() == 0.0)
            });
            if let Some(j) = empty {
                return Err(singular(j, format!("column {j} is zero")));
            }
            let symbolic = sparse::SymbolicQr::try_new(columns.symbolic()).map_err(|_| no_memory())?;
            let factors = sparse::Qr::try_new_with_symbolic(symbolic, columns.matrix::<T>()).map_err(|_| no_memory())?;
            Ok(Factored::new("qr", [m, n], columns.dtype, Squares::<T, _>(factors, n, Default::default())))
        }),
        None => {
            let a = Matrices::new(a, &[])?;
            with_number!(a.dtype.is_complex(), T => {
                let factors = a.get::<T>(0).qr();
                let r = factors.R();
                if let Some(j) = (0..n).find(|&j| r[(j, j)].is_zero_or_bad()) {
                    return Err(singular(j, format!("column {j} is a combination of those before it")));
                }
                Ok(Factored::new("qr", [m, n], a.dtype, Squares::<T, _>(factors, n, Default::default())))
            })
        }
    })
}

/// Solves `a x = b` by LU factors, for one matrix, dense or sparse, or for each strided matrix of a stack, over the last two
/// axes.
///
/// `b` has shape `(n)`, or `(…, n, k)`, whose leading axes broadcast with those of `a`. The solution is strided, in the
/// promotion of both dtypes (integers as floats, half precision as `float32`), computed in `float64` by faer. To solve
/// again with the same matrix, keep its factors: [`lu`].
///
/// Cost: O(n³) for each strided matrix, many of them shared among threads; that of [`lu`] for a sparse one.
///
/// ```
/// use openwork::{linalg, tensor};
/// let a = tensor![[[2.0, 0.0], [0.0, 4.0]], [[1.0, 1.0], [0.0, 1.0]]]; // two matrices
/// let x = linalg::solve(&a, &tensor![2.0, 4.0])?;
/// assert_eq!(x.to_vec::<f64>()?, [1.0, 1.0, -2.0, 4.0]);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`lu`]; if `b` does not fit.
#[doc(alias("spsolve"))]
pub fn solve(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let call = trace::call("solve", &[a, b]);
    if a.ndim() == 2 && b.ndim() <= 2 {
        fits(a, b)?;
        return call.end(lu_beside(a, &[b.dtype()])?.solve_with(b, Turned::No));
    }
    call.end(stacked(a, b, "lu"))
}

/// As [`solve`], for Hermitian positive definite matrices, by Cholesky factors: half the cost. Only the lower triangles are
/// looked at.
///
/// ```
/// use openwork::{linalg, tensor};
/// let x = linalg::cholesky_solve(&tensor![[4.0, 2.0], [2.0, 3.0]], &tensor![8.0, 8.0])?;
/// assert!(x.allclose(&tensor![1.0, 2.0], 1e-14, 0.0)?);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`cholesky`]; if `b` does not fit.
pub fn cholesky_solve(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let call = trace::call("cholesky_solve", &[a, b]);
    if a.ndim() == 2 && b.ndim() <= 2 {
        fits(a, b)?;
        let why = "no dtype holds the values of both; cast one of them";
        let dtypes = [a.dtype(), b.dtype()];
        let both = promote(dtypes[0], dtypes[1]).ok_or_else(|| error::dtype(&dtypes, why))?;
        let a = if both.is_complex() { a.cast(both)? } else { a.clone() };
        return call.end(cholesky(&a)?.solve_with(b, Turned::No));
    }
    call.end(stacked(a, b, "cholesky"))
}

fn fits(a: &Tensor, b: &Tensor) -> Result<()> {
    must_be_square(a)?;
    if matches!(b.ndim(), 1 | 2) && b.shape()[0] == a.shape()[1] {
        return Ok(());
    }
    let why = "the right side must have shape (n), or (…, n, k), for matrices of n rows";
    Err(error::shape(&[a.shape(), b.shape()], why))
}

/// Solves with each matrix of a stack.
fn stacked(a: &Tensor, b: &Tensor, kind: &'static str) -> Result<Tensor> {
    must_be_square(a)?;
    let n = a.shape()[a.ndim() - 1];
    let is_vector = b.ndim() == 1;
    let right = if is_vector { b.expand_dims(1)? } else { b.clone() };
    let why =
        "the right side must have shape (n), or (…, n, k), for matrices of n rows, with leading axes that broadcast";
    let mismatch = || error::shape(&[a.shape(), b.shape()], why);
    let [own @ .., rows, k] = right.shape() else { return Err(mismatch()) };
    if *rows != n {
        return Err(mismatch());
    }
    let k = *k;
    let batch = shape::broadcast_shapes(&a.shape()[..a.ndim() - 2], own).map_err(|_| mismatch())?;
    is_there(b, "b")?;
    let a = Matrices::new(&a.broadcast_to([&batch[..], &[n, n]].concat())?, &[b.dtype()])?;
    let shape = [&batch[..], &[n, k]].concat();
    let count = a.count();
    memory::dense_len(&shape, a.dtype)?;
    let b = Block::of(
        &right.broadcast_to(&shape)?.to_dense()?.reshape([count * n, k])?,
        count * n,
        k,
        a.dtype.is_complex(),
    )?;
    let out = with_number!(a.dtype.is_complex(), T => {
        let source: &[T] = b.typed();
        let grain = (1usize << 12).div_ceil((n * n).max(1));
        let is_empty = n == 0 || k == 0;
        let parts = parallel::map_chunks(if is_empty { 0 } else { count }, grain, &|which| {
            let mut out: Vec<T> = Vec::with_capacity(which.len() * n * k);
            for i in which {
                let at = |e| if count == 1 { e } else { in_matrix(e, i) };
                let mut x = Mat::from_fn(n, k, |r, c| source[(i * n + r) * k + c]);
                if kind == "lu" {
                    dense_lu::<T>(&a, i).map_err(at)?.solve_in_place(x.as_mut());
                } else {
                    dense_cholesky::<T>(&a, i).map_err(at)?.solve_in_place(x.as_mut());
                }
                super::number::rows_of(x.as_ref(), &mut out);
            }
            Ok::<_, Error>(out)
        });
        let mut all: Vec<T> = Vec::with_capacity(count * n * k);
        for part in parts {
            all.extend::<Vec<T>>(part?);
        }
        crate::base::strided::Strided::from_vec(all, shape.clone())
    });
    let x = Tensor::from_strided(out.cast(a.dtype));
    if is_vector { x.squeeze(-1) } else { Ok(x) }
}

/// The same error, with the matrix of a stack that it is about.
fn in_matrix(e: Error, i: usize) -> Error {
    match e.kind() {
        error::ErrorKind::Singular { at, why, .. } => singular(*at, format!("{why} (matrix {i} of the stack)")),
        _ => e,
    }
}
