//! The tensor and its storage.

mod about;
mod parts;
pub(crate) mod construct;
pub(crate) mod literal;
pub(crate) mod fill;
mod display;
pub(crate) mod trace;

pub use self::about::BufferInfo;

use std::sync::Arc;

use openwork_ops::DType;

use crate::base::strided::Strided;
use crate::levels::pattern::Pattern;
use crate::tensor::fill::Fill;

/// An N-dimensional tensor whose layout, element type and fill value are data.
///
/// It *means* a total function from index to value-or-absent; how it is stored changes what an operation costs, never what
/// it gives. Cloning is cheap and shares memory; values never change behind a clone. Methods that can fail return a
/// [`Result`](crate::Result), and so do the operators; an argument `axes` is one axis, several, or `..` for all
/// ([`Axes`](crate::Axes)).
///
/// ```
/// use openwork::{Layout, Tensor, keep, tensor};
///
/// let x = tensor![[3.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 4.0, 0.0]; Layout::Csr, 0.0]?;
/// let centred = (&x - x.mean(keep(0))?)?; // sparse still: its fill is one value per column
/// assert_eq!((centred.nse(), centred.layout()), (3, Layout::Csr));
/// assert_eq!(centred.matmul(&x.t()?)?.shape(), [3, 3]);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # What to look for where
///
/// | to | see |
/// |---|---|
/// | **make** a dense one | [`tensor!`](crate::tensor!), [`from_vec`](Tensor::from_vec), `Tensor::from` an array, [`arange`](Tensor::arange), [`rand`](Tensor::rand), [`one_hot`](Tensor::one_hot) |
/// | make a sparse one | [`coo`](Tensor::coo), [`csr`](Tensor::csr), [`csc`](Tensor::csc), [`bsr`](Tensor::bsr), [`from_entries`](Tensor::from_entries), [`from_triplets`](Tensor::from_triplets), [`from_diagonals`](Tensor::from_diagonals), [`eye`](Tensor::eye), [`random`](Tensor::random) |
/// | **look into** it | [`shape`](Tensor::shape), [`dtype`](Tensor::dtype), [`layout`](Tensor::layout), [`fill`](Tensor::fill), [`nse`](Tensor::nse), [`get`](Tensor::get), [`item`](Tensor::item), [`to_vec`](Tensor::to_vec), [`indices`](Tensor::indices), [`stored_values`](Tensor::stored_values) |
/// | **convert** it | [`to_layout`](Tensor::to_layout), [`to_dense`](Tensor::to_dense), [`to_sparse`](Tensor::to_sparse), [`cast`](Tensor::cast), [`with_fill`](Tensor::with_fill), [`replace_fill`](Tensor::replace_fill), [`coalesce`](Tensor::coalesce), [`prune`](Tensor::prune), [`stored`](Tensor::stored) |
/// | **compute** elementwise | the operators, [`add`](Tensor::add), [`exp`](Tensor::exp), [`relu`](Tensor::relu) and their kin, [`where_`](Tensor::where_), [`clamp`](Tensor::clamp), [`map`](Tensor::map), [`zip_with`](Tensor::zip_with), [`union`](Tensor::union) |
/// | compute products | [`matmul`](Tensor::matmul), [`dot`](Tensor::dot), [`vdot`](Tensor::vdot), [`outer`](Tensor::outer), [`kron`](Tensor::kron) |
/// | **reduce** it | [`sum`](Tensor::sum), [`mean`](Tensor::mean), [`var`](Tensor::var), [`max`](Tensor::max), [`argmax`](Tensor::argmax), [`quantile`](Tensor::quantile), [`vector_norm`](Tensor::vector_norm), [`reduce_with`](Tensor::reduce_with); per slice [`softmax`](Tensor::softmax), [`normalize`](Tensor::normalize), [`standardize`](Tensor::standardize) |
/// | order and count | [`sort`](Tensor::sort), [`topk`](Tensor::topk), [`unique_values`](Tensor::unique_values), [`bincount`](Tensor::bincount), [`histogram`](Tensor::histogram), [`cumulative_sum`](Tensor::cumulative_sum) |
/// | **choose** elements | [`slice`](Tensor::slice) with [`s!`](crate::s!), [`index`](Tensor::index), [`index_select`](Tensor::index_select), [`take_along_axis`](Tensor::take_along_axis), [`mask`](Tensor::mask), [`narrow`](Tensor::narrow), [`diagonal`](Tensor::diagonal) |
/// | assign elements | [`slice_assign`](Tensor::slice_assign), [`index_put`](Tensor::index_put), [`index_add`](Tensor::index_add), [`scatter`](Tensor::scatter), [`unset`](Tensor::unset) |
/// | change its **shape** | [`reshape`](Tensor::reshape), [`permute_dims`](Tensor::permute_dims), [`t`](Tensor::t), [`expand_dims`](Tensor::expand_dims), [`squeeze`](Tensor::squeeze), [`broadcast_to`](Tensor::broadcast_to), [`flip`](Tensor::flip), [`pad`](Tensor::pad) |
/// | **join** several | [`concat`](Tensor::concat), [`stack`](Tensor::stack), [`block`](Tensor::block), [`block_diag`](Tensor::block_diag) |
/// | **exchange** it | [`view`](Tensor::view) for `ndarray`, [`exchange::dlpack`](crate::exchange::dlpack), [`exchange::binsparse`](crate::exchange::binsparse), serde |
/// | **save** it | [`io::write`](crate::io::write()), [`io::read`](crate::io::read()), [`io::state_dict`](crate::io::state_dict) |
///
/// [`catalogue`](crate::catalogue) lists every op for programs, and [`guide::support`](crate::guide::support) how each is
/// carried out on each layout and fill.
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
    pub(crate) shape: Vec<usize>,
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
