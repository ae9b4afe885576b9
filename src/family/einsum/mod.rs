//! Sums of products over named indices.
//!
//! An equation is read once ([`parse`]), its operands are brought to one dtype and one axis for each index, and products of two
//! or three of them are put in the order that is estimated to cost least ([`plan`]). Each is an elementwise product or a matrix
//! product over merged axes ([`run`]), whose rules for fills, layouts and semirings are those of [`Tensor::binary`] and
//! [`Tensor::matmul_with`]: there are no others here. One loop is of its own, over what a sparse tensor of three axes or more
//! stores and rows of strided factors ([`factors`]).

mod factors;
mod parse;
mod plan;
mod run;

use openwork_ops::matmul::Semiring;

pub use self::plan::{EinsumKernel, EinsumPath, EinsumStep};
use crate::base::error::Result;
use crate::tensor::{Tensor, trace};

/// [`Tensor::einsum`] by a short name.
///
/// ```
/// use openwork::{einsum, tensor};
/// let (a, b) = (tensor![[1, 2], [3, 4]], tensor![[0, 1], [1, 0]]);
/// assert_eq!(einsum("ij,jk->ik", &[&a, &b])?.to_vec::<i32>()?, [2, 1, 4, 3]);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`Tensor::einsum`].
pub fn einsum(equation: &str, operands: &[&Tensor]) -> Result<Tensor> {
    Tensor::einsum(equation, operands)
}

/// # Sums of products over named indices
impl Tensor {
    /// The sums of products that an equation names, of any number of operands in any layouts: Einstein's convention, as in NumPy.
    ///
    /// A letter names an index, which is one axis of each operand that has it. Operands are parted by commas; the result comes
    /// after `->`, and indices that it does not have are summed over. Without `->` it has those that occur once, in the order of
    /// their letters. A letter that an operand has twice is its diagonal. `...` stands for any number of axes, which broadcast
    /// from the last one; they come first in a result that is not written, and are summed over if a written one leaves them
    /// out. Spaces do not count. A named index has one size: axes of size 1 do not broadcast.
    ///
    /// | equation | |
    /// |---|---|
    /// | `ij,jk->ik`, `bij,bjk->bik` | products of matrices, and of batches of them |
    /// | `ii`, `ii->i`, `ij->ji`, `ij->i` | trace, diagonal, transpose, sums of rows |
    /// | `ij,ij->i`, `i,j->ij` | inner products of rows, outer product |
    /// | `ij,ik,jk->ij` | products of rows where a sparse matrix stores something: no others are computed |
    /// | `ijk,k->ij`, `ijk,kr->ijr` | a sparse tensor times a vector, times a matrix: sparse, with its fibres |
    /// | `ijk,jr,kr->ir` | a sparse tensor times the factors of all axes but one (MTTKRP): one pass over what it stores |
    /// | `ij,jk,ki->` | triangles of a graph, six times |
    ///
    /// **dtype:** the promotion of all operands, from the left. Integers wrap in it, bool is or-and, floats of half precision are
    /// computed in `float32`.
    ///
    /// **Fill:** what products and sums of dense tensors give, whatever is stored: fills of any kind take part as in
    /// [`Tensor::mul`], [`Tensor::sum`] and [`Tensor::matmul`], of which an equation is made, and a step that is not sparse has to
    /// fit the densify budget. A term with an absent factor is skipped, and an element without terms is absent.
    ///
    /// **Order:** the cheapest for what operands store; [`einsum_path`] tells it. Sums are taken as early as they can,
    /// but where a fill is NaN or infinite (or, under [`NanPolicy::Exact`](crate::NanPolicy::Exact), any element): there
    /// products are made from left to right, summed at the end, and of three operands or more no unstored zero makes NaN zero.
    ///
    /// ```
    /// use openwork::{Layout, Tensor, tensor};
    /// let a = tensor![[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]; Layout::Csr, 0.0]?;
    /// let x = tensor![1.0, 10.0, 100.0];
    /// assert_eq!(Tensor::einsum("ij,j->i", &[&a, &x])?.to_vec::<f64>()?, [201.0, 30.0]);
    /// assert_eq!(Tensor::einsum("ij->j", &[&a])?.to_vec::<f64>()?, [1.0, 3.0, 2.0]);
    /// assert_eq!(Tensor::einsum("ij,ij->", &[&a, &a])?.item_as::<f64>()?, 14.0);
    /// let batch = Tensor::rand([5, 3, 2], 1)?;
    /// assert_eq!(Tensor::einsum("ij,...jk", &[&a, &batch])?.shape(), [5, 2, 2]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the equation has a mistake, which the error points at, or does not fit the operands; if dtypes do not promote; if
    /// axes that a product merges have more elements than an axis can; if a step is not sparse and exceeds the densify budget.
    #[doc(alias("einstein", "mttkrp", "ttm", "ttv", "opt_einsum"))]
    pub fn einsum(equation: &str, operands: &[&Tensor]) -> Result<Tensor> {
        let call = trace::call("einsum", operands);
        call.end(run::einsum(equation, operands, Semiring::PLUS_TIMES))
    }

    /// [`Tensor::einsum`] over other ops than `+` and `*`: ⊕ folds over the indices that the result does not have what ⊗ makes of
    /// the operands, from left to right.
    ///
    /// dtype, fills and absent elements: as [`Tensor::matmul_with`]. One operand is folded as it is. With three operands or more ⊗
    /// must be associative. Sums are taken early where ⊗ distributes over ⊕ (`min_plus` of floats, `or_and`, `min_max`, …);
    /// elsewhere all products are made first, which takes more.
    ///
    /// ```
    /// use openwork::{Fill, Semiring, Tensor, tensor};
    /// // The shortest of all ways over one place and another.
    /// let ways = Tensor::coo([3, 3], vec![vec![0, 0, 1], vec![1, 2, 2]], &tensor![1.0, 5.0, 2.0], Fill::Undefined)?;
    /// let least = Tensor::einsum_with("ij,jk->", &[&ways, &ways], Semiring::MIN_PLUS)?;
    /// assert_eq!(least.item_as::<f64>()?, 3.0);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::einsum`]; if an op of the semiring is not defined for the dtype, or ⊗ is not associative and there are more
    /// than two operands.
    pub fn einsum_with(equation: &str, operands: &[&Tensor], semiring: Semiring) -> Result<Tensor> {
        let call = trace::call("einsum_with", operands);
        call.end(run::einsum(equation, operands, semiring))
    }
}

/// How [`Tensor::einsum`] would carry out an equation on these operands, without doing it: which products in which order, by
/// which kernels, and what each is estimated to compute and to store.
///
/// ```
/// use openwork::{EinsumKernel, Layout, Tensor, einsum_path};
/// let x = Tensor::random([40, 50, 60], 0.01, 0.0, Layout::Csf, 1)?;
/// let (b, c) = (Tensor::rand([50, 8], 2)?, Tensor::rand([60, 8], 3)?);
/// let path = einsum_path("ijk,jr,kr->ir", &[&x, &b, &c])?;
/// assert_eq!(path.steps[0].kernel, EinsumKernel::Factors);
/// let path = einsum_path("ijk,jr,kr->ijr", &[&x, &b, &c])?;
/// assert_eq!(path.steps.len(), 2);
/// println!("{path}");
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`Tensor::einsum`], but for what only computing shows.
pub fn einsum_path(equation: &str, operands: &[&Tensor]) -> Result<EinsumPath> {
    let call = trace::call("einsum_path", operands);
    call.gives(run::path(equation, operands))
}
