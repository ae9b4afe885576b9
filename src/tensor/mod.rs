//! The tensor and its storage.

mod about;
mod parts;
pub(crate) mod compressed;
pub(crate) mod construct;
pub(crate) mod index_array;
pub(crate) mod literal;
pub(crate) mod fill;
mod display;
pub(crate) mod trace;

pub use self::about::BufferInfo;

use std::sync::Arc;

use openwork_ops::DType;

use crate::base::faults::{self, Fault};
use crate::base::mapped::Mapped;
use crate::base::strided::{Shape, Strided};
use crate::levels::pattern::{Dim, Pattern};
use crate::tensor::fill::{Fill, fill_of};

/// An N-dimensional tensor whose layout, element type and fill value are data.
///
/// It *means* a total function from index to value-or-absent; how it is stored changes what an operation costs, never what
/// it gives. The same code runs on dense and on sparse tensors:
///
/// ```
/// use openwork::{Layout, Tensor, keep, tensor};
///
/// let x = tensor![[3.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 4.0, 0.0]; Layout::Csr, 0.0]?;
/// let centred = (&x - x.mean(keep(0))?)?; // sparse still: its fill is one value per column
/// assert_eq!((centred.nse(), centred.layout()), (3, Layout::Csr));
/// assert!(centred.equal(&(&x.to_dense()? - x.to_dense()?.mean(keep(0))?)?)?);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # What to look for where
///
/// The methods below stand in this order.
///
/// | to | see |
/// |---|---|
/// | **make** a dense one | [`tensor!`](crate::tensor!), [`from_vec`](Tensor::from_vec), [`from_slice`](Tensor::from_slice), `Tensor::from` an array, [`zeros`](Tensor::zeros), [`full`](Tensor::full), [`arange`](Tensor::arange), [`rand`](Tensor::rand), [`randn`](Tensor::randn) |
/// | make a sparse one | [`coo`](Tensor::coo), [`csr`](Tensor::csr), [`csc`](Tensor::csc), [`bsr`](Tensor::bsr), [`from_entries`](Tensor::from_entries), [`from_triplets`](Tensor::from_triplets), [`from_diagonals`](Tensor::from_diagonals), [`eye`](Tensor::eye), [`one_hot`](Tensor::one_hot), [`random`](Tensor::random) |
/// | **look into** it | [`shape`](Tensor::shape), [`dtype`](Tensor::dtype), [`layout`](Tensor::layout), [`fill`](Tensor::fill), [`nse`](Tensor::nse), [`get`](Tensor::get), [`item`](Tensor::item), [`to_vec`](Tensor::to_vec), [`indices`](Tensor::indices), [`stored_values`](Tensor::stored_values) |
/// | **convert** it | [`to_layout`](Tensor::to_layout), [`to_dense`](Tensor::to_dense), [`to_sparse`](Tensor::to_sparse), [`cast`](Tensor::cast), [`with_fill`](Tensor::with_fill), [`replace_fill`](Tensor::replace_fill), [`coalesce`](Tensor::coalesce), [`prune`](Tensor::prune), [`stored`](Tensor::stored) |
/// | **compute** elementwise | the operators, [`exp`](Tensor::exp), [`relu`](Tensor::relu), [`add`](Tensor::add), [`maximum`](Tensor::maximum), [`eq`](Tensor::eq) and their kin, [`clamp`](Tensor::clamp), [`where_`](Tensor::where_), [`mask`](Tensor::mask), [`union`](Tensor::union); by a function of your own [`map`](Tensor::map), [`zip_with`](Tensor::zip_with); in place [`add_assign`](Tensor::add_assign) |
/// | compute products | [`matmul`](Tensor::matmul), [`dot`](Tensor::dot), [`vdot`](Tensor::vdot), [`outer`](Tensor::outer), [`kron`](Tensor::kron); many with one matrix: [`prepare`](crate::prepare) |
/// | **reduce** it | [`sum`](Tensor::sum), [`mean`](Tensor::mean), [`max`](Tensor::max), [`any`](Tensor::any), [`var`](Tensor::var), [`vector_norm`](Tensor::vector_norm), [`argmax`](Tensor::argmax), [`quantile`](Tensor::quantile), [`reduce_with`](Tensor::reduce_with) |
/// | run along an axis | [`cumulative_sum`](Tensor::cumulative_sum), [`diff`](Tensor::diff), [`softmax`](Tensor::softmax), [`normalize`](Tensor::normalize), [`standardize`](Tensor::standardize) |
/// | order, count, compare | [`sort`](Tensor::sort), [`argsort`](Tensor::argsort), [`topk`](Tensor::topk), [`unique_values`](Tensor::unique_values), [`bincount`](Tensor::bincount), [`histogram`](Tensor::histogram), [`equal`](Tensor::equal), [`allclose`](Tensor::allclose) |
/// | **choose** elements | [`slice`](Tensor::slice) with [`s!`](crate::s!), [`index`](Tensor::index), [`index_select`](Tensor::index_select), [`take_along_axis`](Tensor::take_along_axis), [`argwhere`](Tensor::argwhere), [`narrow`](Tensor::narrow), [`diagonal`](Tensor::diagonal) |
/// | assign elements | [`slice_assign`](Tensor::slice_assign), [`index_put`](Tensor::index_put), [`index_add`](Tensor::index_add), [`scatter`](Tensor::scatter), [`unset`](Tensor::unset) |
/// | change its **shape** | [`t`](Tensor::t), [`permute_dims`](Tensor::permute_dims), [`reshape`](Tensor::reshape), [`expand_dims`](Tensor::expand_dims), [`squeeze`](Tensor::squeeze), [`broadcast_to`](Tensor::broadcast_to), [`flip`](Tensor::flip), [`pad`](Tensor::pad) |
/// | **join** several | [`concat`](Tensor::concat), [`stack`](Tensor::stack), [`block`](Tensor::block), [`block_diag`](Tensor::block_diag) |
/// | **exchange** it | [`view`](Tensor::view) for `ndarray`, [`exchange::dlpack`](crate::exchange::dlpack), [`exchange::binsparse`](crate::exchange::binsparse), serde |
/// | **save** it | [`io::write`](crate::io::write()), [`io::read`](crate::io::read()), [`io::state_dict`](crate::io::state_dict) |
///
/// [`catalogue`](crate::catalogue) lists every op for programs, [`guide::support`](crate::guide::support) how each is
/// carried out on each layout and fill. The [guide](crate::guide) has a page per subject, with
/// [recipes](crate::guide::cookbook) and a [glossary](crate::guide::glossary).
///
/// # Elements that are not stored
///
/// A sparse tensor stores some elements; its [`Fill`](crate::Fill) says what the others are: a value, a value per row or column,
/// or nothing at all (*undefined*: the others are absent). The fill takes part in every op, so results are those of the dense
/// tensor. [`stored`](Tensor::stored) is the same tensor with an undefined fill, for ops on what is stored alone.
///
/// ```
/// use openwork::{Fill, Layout, tensor};
///
/// let x = tensor![[2.0, 0.0], [0.0, 4.0]; Layout::Csr, 0.0]?;
/// let y = (x.cos()? + 1.0)?;
/// assert_eq!((y.nse(), y.fill()), (2, Some(&Fill::from(2.0)))); // cos(0) + 1
/// assert_eq!((x.mean(..)?.item()?, x.stored().mean(..)?.item()?), (1.5.into(), 3.0.into()));
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Operators, numbers, errors
///
/// Methods that can fail return a [`Result`](crate::Result), and so do the operators. Between a `Result` and a tensor they
/// work as well, so that `&a * &b + &c` needs one `?` at its end; between a `Result` and a number Rust does not allow
/// them, so it takes a `?` first. A number on the left needs its type where a method follows: `(1.0f64 - &x)?.abs()`.
///
/// Shapes broadcast as in NumPy, dtypes promote as in the array API, and a number takes the tensor's dtype where that holds it
/// ([dtypes](crate::guide::dtypes)).
///
/// ```
/// use openwork::tensor;
///
/// let (a, b, c) = (tensor![1.0, 2.0], tensor![3.0, 4.0], tensor![10.0, 20.0]);
/// let y = (&a * &b + &c)?;
/// let z = ((&y - 1.0)? / 2.0)?;
/// assert_eq!(z.to_vec::<f64>()?, [6.0, 13.5]);
/// assert!((&a + tensor![1.0, 2.0, 3.0]).is_err()); // shapes [2] and [3]
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Axes
///
/// An argument `axis` is an integer, negative from the end; `axes` is one, several, a range, or `..` for all, and
/// [`keep`](crate::keep) leaves them in the result with size 1 ([`Axes`](crate::Axes)): `x.sum(0)`, `x.sum([0, -1])`,
/// `x.sum(..)`, `x.sum(keep(0))`.
///
/// # Cost
///
/// Nothing becomes dense unasked. An op whose result is not sparse succeeds while that fits the densify budget
/// ([`with_densify_budget`](crate::with_densify_budget)); else it is an error that says what to do.
/// [`explain`](crate::explain()) shows how each op was carried out. Cloning is cheap and shares memory; values never change
/// behind a clone: assigning gives a new tensor, and [`add_assign`](Tensor::add_assign) writes in place where no other
/// tensor shares the values. Results are the same bit for bit on any number of threads.
#[derive(Clone)]
pub struct Tensor {
    pub(crate) storage: Storage,
}

#[derive(Clone)]
pub(crate) enum Storage {
    Strided(Strided),
    Sparse(Arc<Sparse>),
}

/// Sparse storage: a pattern, the values at its positions, and what all else is.
#[derive(Clone)]
pub(crate) struct Sparse {
    pub(crate) shape: Shape,
    pub(crate) pattern: Arc<Pattern>,
    /// Shape (positions, value axes…). A stride of 0 over positions is an iso tensor.
    pub(crate) values: Strided,
    pub(crate) fill: Fill,
}

impl Sparse {
    /// What unstored elements are, as an array of the tensor's shape: see [`Fill::spread`].
    pub(crate) fn fill_values(&self) -> Option<Strided> {
        self.fill.spread(&self.shape)
    }

    pub(crate) fn dtype(&self) -> DType {
        self.values.dtype
    }

    pub(crate) fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Stored elements: positions times value axes.
    pub(crate) fn nse(&self) -> usize {
        self.values.len()
    }

    /// With its axes in another order: axis `order[i]` becomes axis `i`. Nothing that is stored moves.
    pub(crate) fn permuted(&self, order: &[usize]) -> Sparse {
        let axes = if faults::is(Fault::TransposeWithoutAxes) { &[] } else { order };
        let to = |axis: usize| axes.iter().position(|&a| a == axis).unwrap_or(axis);
        let dims = self.pattern.dims.mapped(|d| Dim { axis: to(d.axis), ..*d });
        let pattern = Pattern { dims, levels: self.pattern.levels.clone(), ..*self.pattern };
        let fill = match &self.fill {
            Fill::Array(values) => values.strided().map_or(Fill::Undefined, |values| fill_of(&values.permute(order))),
            other => other.clone(),
        };
        let shape = order.iter().map(|&a| self.shape[a]).collect();
        Sparse { shape, pattern: Arc::new(pattern), values: self.values.clone(), fill }
    }

    /// The same pattern and fill with other values.
    pub(crate) fn with_values(&self, values: Strided) -> Sparse {
        debug_assert_eq!(values.shape, self.values.shape);
        Sparse { values, ..self.clone() }
    }
}

impl From<Sparse> for Tensor {
    fn from(sparse: Sparse) -> Tensor {
        debug_assert_eq!(sparse.values.shape[0], sparse.pattern.positions);
        debug_assert_eq!(sparse.values.shape[1..], sparse.pattern.value_shape()[..]);
        debug_assert!(!matches!(sparse.fill, Fill::Scalar(s) if s.dtype() != sparse.values.dtype));
        Tensor { storage: Storage::Sparse(Arc::new(sparse)) }
    }
}

impl Tensor {
    pub(crate) fn from_strided(values: Strided) -> Tensor {
        Tensor { storage: Storage::Strided(values) }
    }

    pub(crate) fn strided(&self) -> Option<&Strided> {
        if let Storage::Strided(s) = &self.storage { Some(s) } else { None }
    }

    pub(crate) fn sparse(&self) -> Option<&Sparse> {
        if let Storage::Sparse(s) = &self.storage { Some(s) } else { None }
    }
}
