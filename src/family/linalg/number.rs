//! The numbers that faer computes with: `float64`, and pairs of it.

use faer::traits::ComplexField;
use faer::{Mat, MatRef};
use openwork_ops::{DType, Element, c128};

use super::block::Block;
use super::system::working_dtype;
use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::base::{context, memory};
use crate::tensor::Tensor;

/// One of the two.
pub(super) trait Number: Element + ComplexField<Real = f64> {
    fn is_zero_or_bad(self) -> bool;
    fn magnitude(self) -> f64;
    /// The real part of a number that has no other, or all of it.
    fn of(x: c128) -> Self;
    fn number(self) -> c128;
    const ZERO: Self;
}

impl Number for f64 {
    fn is_zero_or_bad(self) -> bool {
        self == 0.0 || !self.is_finite()
    }

    fn magnitude(self) -> f64 {
        self.abs()
    }

    fn of(x: c128) -> f64 {
        x.re
    }

    fn number(self) -> c128 {
        c128::new(self, 0.0)
    }

    const ZERO: f64 = 0.0;
}

impl Number for c128 {
    fn is_zero_or_bad(self) -> bool {
        self == c128::new(0.0, 0.0) || !self.re.is_finite() || !self.im.is_finite()
    }

    fn magnitude(self) -> f64 {
        self.norm()
    }

    fn of(x: c128) -> c128 {
        x
    }

    fn number(self) -> c128 {
        self
    }

    const ZERO: c128 = c128::new(0.0, 0.0);
}

/// Runs code with `T` one of the two.
macro_rules! with_number {
    ($is_complex:expr, $T:ident => $body:expr) => {
        if $is_complex {
            type $T = openwork_ops::c128;
            $body
        } else {
            type $T = f64;
            $body
        }
    };
}
pub(super) use with_number;

/// A matrix or a stack of them, in memory as faer takes it.
pub(super) struct Matrices {
    values: Strided,
    /// What results are given in.
    pub(super) dtype: DType,
    pub(super) batch: Vec<usize>,
    pub(super) rows: usize,
    pub(super) columns: usize,
}

impl Matrices {
    /// Matrices over the last two axes, made dense within the densify budget where they are not.
    ///
    /// # Errors
    /// If there are not two axes, an element is absent, NaN or infinite, or the budget is too small.
    pub(super) fn new(a: &Tensor, beside: &[DType]) -> Result<Matrices> {
        let [batch @ .., rows, columns] = a.shape() else {
            return Err(error::shape(&[a.shape()], "matrices are needed, over the last two axes"));
        };
        let mut dtypes = beside.to_vec();
        dtypes.push(a.dtype());
        let dtype = working_dtype(&dtypes)?;
        if !a.is_strided() {
            let why = "this factorisation has dense factors".to_string();
            context::may_densify(a.shape(), dtype.size(), || why)?;
        }
        is_there(a, "a")?;
        let own = if dtype.is_complex() { DType::Complex128 } else { DType::F64 };
        memory::dense_len(a.shape(), own)?;
        let dense = a.to_dense()?;
        let Some(values) = dense.strided() else { return Err(error::layout("a dense tensor is not strided")) };
        let values = values.cast(own).to_contiguous()?.into_owned();
        let out = Matrices { values, dtype, batch: batch.to_vec(), rows: *rows, columns: *columns };
        if !f64::from_bytes(out.bytes()).iter().all(|v| v.is_finite()) {
            return Err(error::invalid("a", "has an element that is NaN or infinite"));
        }
        Ok(out)
    }

    fn bytes(&self) -> &[u8] {
        self.values.contiguous_bytes().unwrap_or_default()
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.batch.iter().product()
    }

    pub(super) fn get<T: Number>(&self, i: usize) -> MatRef<'_, T> {
        let n = self.rows * self.columns;
        MatRef::from_row_major_slice(&T::from_bytes(self.bytes())[i * n..(i + 1) * n], self.rows, self.columns)
    }
}

/// The error that an operand lacks elements, if it may.
pub(super) fn is_there(x: &Tensor, name: &str) -> Result<()> {
    if x.fill().is_some_and(|f| f.is_undefined()) {
        let why = format!("`{name}` lacks elements: its fill is undefined; choose what stands there with replace_fill");
        return Err(error::absent(why));
    }
    Ok(())
}

/// A block in columns, as faer works on it.
pub(super) fn columns_of<T: Number>(x: &Block) -> Mat<T> {
    let values: &[T] = x.typed();
    Mat::from_fn(x.n, x.k, |i, j| values[i * x.k + j])
}

/// The elements of a matrix in C order.
pub(super) fn rows_of<T: Number>(x: MatRef<'_, T>, out: &mut Vec<T>) {
    for i in 0..x.nrows() {
        for j in 0..x.ncols() {
            out.push(x[(i, j)]);
        }
    }
}

/// A block of a matrix.
pub(super) fn block_of<T: Number>(x: MatRef<'_, T>) -> Result<Block> {
    let mut out = Block::zeros(x.nrows(), x.ncols(), T::DTYPE.is_complex())?;
    let k = x.ncols();
    for (i, row) in out.typed_mut::<T>().chunks_exact_mut(k.max(1)).enumerate() {
        row.iter_mut().enumerate().for_each(|(j, o)| *o = x[(i, j)]);
    }
    Ok(out)
}
