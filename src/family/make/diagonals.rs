//! Matrices by their diagonals.

use openwork_ops::structure::IndexVec;
use openwork_ops::{DType, Scalar};

use crate::base::error::{self, Result};
use crate::base::memory;
use crate::engine::convert;
use crate::levels::layout::Layout;
use crate::tensor::Tensor;
use crate::tensor::fill::Fill;
use crate::tensor::index_array::IndexArray;
use crate::tensor::trace;

/// # Making tensors: diagonals
impl Tensor {
    /// The identity matrix of size `n`: `n` stored ones (an iso tensor), fill 0.
    ///
    /// ```
    /// use openwork::{DType, Layout, Tensor, tensor};
    /// let twice = (Tensor::eye(3, DType::F64, Layout::Csr)? * 2.0)?;
    /// assert_eq!(twice.nse(), 3);
    /// assert_eq!(twice.matmul(&tensor![1.0, 2.0, 3.0])?.to_vec::<f64>()?, [2.0, 4.0, 6.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the layout does not suit a square matrix of this size, or memory does not hold the indices.
    #[doc(alias("identity", "speye"))]
    pub fn eye(n: usize, dtype: DType, layout: Layout) -> Result<Tensor> {
        let call = trace::call("eye", &[]);
        memory::room(
            &[n, n],
            "a diagonal of stored ones",
            &[n],
            32,
            "a number does the same where all of it is meant",
        )?;
        // Compressed rows are written as such, of 32 bits where these suffice.
        let counted = |n: usize| match u32::try_from(n) {
            Ok(n) if n < 1 << 31 => IndexArray::from((0..n).collect::<Vec<u32>>()),
            _ => IndexArray::from((0..n as u64).collect::<Vec<u64>>()),
        };
        let diagonal = || IndexArray::from((0..n as u64).collect::<Vec<u64>>());
        let ones = Tensor::ones([n], dtype, Layout::Strided)?;
        let (shape, zero) = ([n, n], Scalar::zero(dtype));
        call.gives(match layout {
            Layout::Csr => Tensor::csr(shape, counted(n + 1), counted(n), &ones, zero),
            Layout::Csc => Tensor::csc(shape, counted(n + 1), counted(n), &ones, zero),
            _ => Tensor::coo(shape, vec![diagonal(), diagonal()], &ones, zero)?.to_layout(layout),
        })
    }

    /// A matrix with the given diagonals, as COO: `diagonals` is strided with shape (number of diagonals, columns), and
    /// `diagonals[d, j]` goes to column `j` of diagonal `offsets[d]`, that is to row `j - offsets[d]`, as in
    /// `torch.sparse.spdiags` and SciPy's `dia_array`; elements that fall outside are left out. All else is the fill.
    ///
    /// ```
    /// use openwork::Tensor;
    /// let ones = Tensor::from_vec([2, 3], vec![1, 2, 3, 7, 8, 9])?;
    /// let x = Tensor::from_diagonals([3, 3], &ones, &[0, 1], 0)?;
    /// assert_eq!(x.to_dense()?.values::<i32>()?, [1, 8, 0, 0, 2, 9, 0, 0, 3]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the diagonals are not strided with one row per offset and one column per column of the matrix, an offset
    /// comes twice, or the fill does not fit.
    #[doc(alias("spdiags", "diags", "dia_matrix"))]
    pub fn from_diagonals(
        shape: [usize; 2],
        diagonals: &Tensor,
        offsets: &[isize],
        fill: impl Into<Fill>,
    ) -> Result<Tensor> {
        let call = trace::call("from_diagonals", &[diagonals]);
        let wanted = [offsets.len(), shape[1]];
        let Some(values) = diagonals.strided().filter(|s| s.shape == wanted) else {
            let why = format!("{} given, a strided tensor of shape {wanted:?} is needed", diagonals.summary());
            return Err(error::invalid("diagonals", why));
        };
        let mut sorted = offsets.to_vec();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(error::invalid("offsets", format_args!("{} comes twice", twice[0])));
        }
        let (mut rows, mut columns, mut at) = (Vec::new(), Vec::new(), Vec::new());
        for (d, &offset) in offsets.iter().enumerate() {
            for j in columns_of(shape, offset) {
                rows.push((j as isize - offset) as u64);
                columns.push(j as u64);
                at.push((d * shape[1] + j) as u64);
            }
        }
        let flat = values.reshape(&[values.len()])?;
        let values = Tensor::from_strided(convert::gather_values(&flat, &IndexVec::U64(at))?);
        call.end(Tensor::coo(shape, vec![rows, columns], &values, fill)?.coalesce())
    }

    /// The diagonals of a sparse matrix that store something, in the form of [`Tensor::from_diagonals`]: (strided
    /// values, rising offsets). Where nothing is stored the values are the fill. Of a strided matrix, all diagonals.
    ///
    /// Cost: O(nse + diagonals · columns). Densifying is explicit here, so the densify budget does not apply; a matrix without diagonal
    /// structure has many.
    ///
    /// # Errors
    /// If the tensor is not a matrix, the fill is undefined or an array, or the result does not fit in memory.
    pub fn to_diagonals(&self) -> Result<(Tensor, Vec<isize>)> {
        let call = trace::call("to_diagonals", &[self]);
        let &[m, n] = self.shape() else {
            return Err(error::shape(&[self.shape()], "only a matrix has diagonals"));
        };
        let (x, fill) = match self.fill() {
            None => (self.to_sparse(Layout::Coo, Fill::Undefined)?, Scalar::zero(self.dtype())),
            Some(Fill::Scalar(fill)) => (self.to_layout(Layout::Coo)?, *fill),
            Some(_) => return Err(error::absent("one value must stand for what is not stored: see replace_fill")),
        };
        let coordinates = x.coordinates();
        let [(_, rows), (_, columns)] = &coordinates[..] else {
            return Err(error::layout("the matrix has no coordinates"));
        };
        debug_assert!(rows.len() == columns.len() && rows.iter().all(|&r| r < m as u64));
        let offset = |r: &u64, c: &u64| *c as isize - *r as isize;
        let mut offsets: Vec<isize> = rows.iter().zip(columns).map(|(r, c)| offset(r, c)).collect();
        offsets.sort_unstable();
        offsets.dedup();
        let row_of = |o: isize| offsets.partition_point(|&x| x < o) as u64;
        let of: Vec<u64> = rows.iter().zip(columns).map(|(r, c)| row_of(offset(r, c))).collect();
        let values = Tensor::coo([offsets.len(), n], vec![of, columns.clone()], &x.stored_values(), fill)?;
        Ok(call.done((values.to_dense()?, offsets)))
    }
}

/// The columns in which a diagonal has an element.
fn columns_of(shape: [usize; 2], offset: isize) -> std::ops::Range<usize> {
    let start = offset.max(0);
    let end = (shape[0] as isize).saturating_add(offset).clamp(start, (shape[1] as isize).max(start));
    start as usize..(end as usize).min(shape[1]).max(start as usize)
}

#[cfg(test)]
#[path = "tests/diagonals.rs"]
mod tests;
