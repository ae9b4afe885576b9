//! Constructors: everything given is checked here, and trusted from here on.

use crate::base::mapped::Mapped;
use std::sync::Arc;

use openwork_ops::{DType, Element, Scalar};

use crate::base::buffer::Buffer;
use crate::base::error::{self, Result};
use crate::base::strided::{Strided, count};
use crate::base::{memory, parallel};
use crate::levels::layout::{Layout, LevelSpec};
use crate::levels::level::{Level, LevelKind};
use crate::levels::names::ArrayName;
use crate::levels::pattern::{Dim, Part, Pattern};
use crate::levels::validate::{self, Given};
use crate::tensor::fill::{self, Fill};
use crate::tensor::index_array::{IndexArray, LevelData};
use crate::tensor::trace;
use crate::tensor::{Sparse, Tensor};

/// # Making tensors: from elements, coordinates, compressed arrays
impl Tensor {
    /// A strided tensor from elements in C order, without copying.
    ///
    /// ```
    /// use openwork::{DType, Tensor};
    /// let x = Tensor::from_vec([2, 3], vec![1, 2, 3, 4, 5, 6])?;
    /// assert_eq!((x.shape(), x.dtype()), (&[2, 3][..], DType::I32));
    /// assert_eq!(x.get([1, 0])?, Some(4.into()));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the number of elements is not the shape's.
    #[doc(alias("array", "asarray"))]
    pub fn from_vec<T: Element>(shape: impl AsRef<[usize]>, data: Vec<T>) -> Result<Tensor> {
        let (call, shape) = (trace::call("from_vec", &[]), shape.as_ref());
        let n = memory::dense_len(shape, T::DTYPE)?;
        if data.len() != n {
            return Err(error::invalid(
                "data",
                format_args!("{} elements for shape {shape:?}, which has {n}", data.len()),
            ));
        }
        Ok(call.given(Tensor::from_strided(Strided::from_vec(data, shape.to_vec()))))
    }

    /// A strided tensor of elements in C order, copied. A large copy lies in huge pages, which products read faster than what
    /// a vector has that was filled elsewhere ([`Tensor::from_vec`], which copies nothing).
    ///
    /// ```
    /// use openwork::Tensor;
    /// let measured = [0.5, 1.5, 2.5, 3.5];
    /// let x = Tensor::from_slice([2, 2], &measured)?;
    /// assert_eq!(x.sum(0)?.to_vec::<f64>()?, [3.0, 5.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the number of elements is not the shape's, or memory does not hold them.
    pub fn from_slice<T: Element>(shape: impl AsRef<[usize]>, data: &[T]) -> Result<Tensor> {
        let (call, shape) = (trace::call("from_slice", &[]), shape.as_ref());
        let n = memory::dense_len(shape, T::DTYPE)?;
        if data.len() != n {
            return Err(error::invalid(
                "data",
                format_args!("{} elements for shape {shape:?}, which has {n}", data.len()),
            ));
        }
        let bytes = T::as_bytes(data);
        let buffer = Buffer::overwritten(bytes.len(), T::DTYPE.size(), |out| {
            parallel::for_chunks_mut(out, 1, 1 << 20, &|at, out| out.copy_from_slice(&bytes[at..at + out.len()]));
        })?;
        Ok(call.given(Tensor::from_strided(Strided::new(buffer, T::DTYPE, shape.to_vec()))))
    }

    /// A strided tensor from nested rows of equal length.
    ///
    /// # Errors
    /// If a row has another length than the first.
    pub fn from_rows<T: Element>(rows: &[Vec<T>]) -> Result<Tensor> {
        let call = trace::call("from_rows", &[]);
        let width = rows.first().map_or(0, Vec::len);
        if let Some(i) = rows.iter().position(|r| r.len() != width) {
            let why = format!("row {i} has {} elements, row 0 has {width}: rows must be of one length", rows[i].len());
            return Err(error::invalid("rows", why));
        }
        call.gives(Tensor::from_vec([rows.len(), width], rows.concat()))
    }

    /// A strided tensor over an array's memory, without copying; any memory order.
    pub fn from_ndarray<T: Element, D: ndarray::Dimension>(array: ndarray::Array<T, D>) -> Tensor {
        let (shape, strides) = (array.shape().to_vec(), array.strides().to_vec());
        let (data, offset) = array.into_raw_vec_and_offset();
        let buffer = Buffer::from_vec(data);
        let strides = if shape.contains(&0) { crate::base::strided::c_strides(&shape) } else { strides };
        let (shape, strides) = (shape.into(), strides.into());
        Tensor::from_strided(Strided { buffer, dtype: T::DTYPE, shape, strides, offset: offset.unwrap_or(0) })
    }

    /// A 0-d strided tensor.
    ///
    /// ```
    /// use openwork::{Tensor, tensor};
    /// let half = Tensor::scalar(0.5);
    /// assert_eq!((half.ndim(), half.item()?), (0, 0.5.into()));
    /// assert_eq!((&half * tensor![2.0, 4.0])?.to_vec::<f64>()?, [1.0, 2.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn scalar(value: impl Into<Scalar>) -> Tensor {
        Tensor::from_strided(Strided::constant(value.into(), &[]))
    }

    /// A tensor of one value. Takes one element of memory in any layout: strided, a broadcast view; sparse,
    /// a fill with nothing stored.
    ///
    /// ```
    /// use openwork::{Layout, Tensor};
    /// let x = Tensor::full([1_000_000, 1_000_000], 0.5, Layout::Csr)?; // a fill: nothing is stored
    /// assert_eq!((x.nse(), x.get([7, 99])?), (0, Some(0.5.into())));
    /// assert_eq!(x.sum(..)?.item()?, 5e11.into());
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the layout does not suit the shape.
    pub fn full(shape: impl AsRef<[usize]>, value: impl Into<Scalar>, layout: Layout) -> Result<Tensor> {
        let call = trace::call("full", &[]);
        call.gives(constant(shape.as_ref(), value.into(), layout))
    }

    /// Zeros (false); see [`Tensor::full`].
    ///
    /// ```
    /// use openwork::{DType, Layout, Tensor};
    /// let x = Tensor::zeros([2, 3], DType::F32, Layout::Csr)?;
    /// assert_eq!((&x - 1.5)?.to_vec::<f32>()?, [-1.5; 6]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::full`].
    pub fn zeros(shape: impl AsRef<[usize]>, dtype: DType, layout: Layout) -> Result<Tensor> {
        let call = trace::call("zeros", &[]);
        call.gives(constant(shape.as_ref(), Scalar::zero(dtype), layout))
    }

    /// Ones (true); see [`Tensor::full`].
    ///
    /// ```
    /// use openwork::{DType, Layout, Tensor};
    /// let x = Tensor::ones([2, 3], DType::I64, Layout::Strided)?;
    /// assert_eq!(x.sum(0)?.to_vec::<i64>()?, [2, 2, 2]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::full`].
    pub fn ones(shape: impl AsRef<[usize]>, dtype: DType, layout: Layout) -> Result<Tensor> {
        let call = trace::call("ones", &[]);
        call.gives(constant(shape.as_ref(), Scalar::one(dtype), layout))
    }

    /// A sparse tensor that stores nothing.
    ///
    /// ```
    /// use openwork::{DType, Fill, Layout, Tensor, s};
    /// let ratings = Tensor::empty([2, 3], DType::F64, Layout::Csr, Fill::Undefined)?;
    /// let ratings = ratings.index_put(s![1, 2], 4.5)?;
    /// assert_eq!((ratings.get([1, 2])?, ratings.get([0, 0])?), (Some(4.5.into()), None));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the layout does not suit the shape, or the fill does not fit.
    pub fn empty(shape: impl AsRef<[usize]>, dtype: DType, layout: Layout, fill: impl Into<Fill>) -> Result<Tensor> {
        let (call, shape) = (trace::call("empty", &[]), shape.as_ref());
        let fill = fill::check(fill.into(), shape, dtype)?;
        call.gives(Tensor::empty_sparse(shape, dtype, layout, fill))
    }

    fn empty_sparse(shape: &[usize], dtype: DType, layout: Layout, fill: Fill) -> Result<Tensor> {
        let spec = LevelSpec::of_layout(layout, shape)?;
        let dims = spec.resolve(shape)?;
        let sizes: Vec<usize> = dims[..spec.level_dims()].mapped(|d| d.size);
        let layout = openwork_ops::structure::keys::KeyLayout::new(&sizes);
        let words = vec![Vec::new(); layout.word_bits.len()];
        let keys = crate::levels::build::SortedKeys::new(&layout, &words);
        let pattern = crate::levels::build::build(&spec.levels, dims, &keys)?;
        let value_shape: Vec<usize> = [pattern.positions].into_iter().chain(pattern.value_shape()).collect();
        let values = Strided::constant(Scalar::zero(dtype), &value_shape);
        Ok(Sparse { shape: shape.into(), pattern: Arc::new(pattern), values, fill }.into())
    }

    /// A COO tensor from one index array per sparse axis and values of shape (nse, dense axes…).
    ///
    /// Index tuples may come in any order and repeat: duplicates mean their sum. Value axes beyond the first
    /// make a hybrid tensor: they are its trailing axes. Indices of 32 bits are taken without a copy, those of 64
    /// copied into 32 where they fit ([`IndexArray`]); values share memory.
    ///
    /// ```
    /// use openwork::Tensor;
    /// let values = Tensor::from_vec([3], vec![1.0, 2.0, 4.0])?;
    /// let x = Tensor::coo([2, 3], vec![vec![0i64, 1, 1], vec![2, 0, 0]], &values, 0.0)?;
    /// assert_eq!(x.get([1, 0])?, Some(6.0.into())); // 2 + 4
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If arrays differ in length, an index is negative or out of range, shapes of values and tensor do not
    /// agree, or the fill does not fit.
    #[doc(alias("sparse_coo_tensor", "coo_matrix", "coo_array"))]
    pub fn coo<I: Into<IndexArray>>(
        shape: impl AsRef<[usize]>,
        indices: Vec<I>,
        values: &Tensor,
        fill: impl Into<Fill>,
    ) -> Result<Tensor> {
        let shape = shape.as_ref();
        let call = trace::call("coo", &[values]);
        let indices = indices.into_iter().map(Into::into).collect();
        call.gives(coordinates(COO, shape, indices, values, fill.into()))
    }

    /// A matrix from triplets, as COO; duplicates mean their sum. See [`Tensor::coo`].
    ///
    /// ```
    /// use openwork::Tensor;
    /// let x = Tensor::from_triplets([2, 3], vec![0, 1, 1], vec![2, 0, 0], vec![1.0, 2.0, 4.0], 0.0)?;
    /// assert_eq!(x.to_vec::<f64>()?, [0.0, 0.0, 1.0, 6.0, 0.0, 0.0]); // 2 + 4
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::coo`].
    pub fn from_triplets<I: Into<IndexArray>, T: Element>(
        shape: [usize; 2],
        rows: I,
        cols: I,
        values: Vec<T>,
        fill: impl Into<Fill>,
    ) -> Result<Tensor> {
        let call = trace::call("from_triplets", &[]);
        let values = Tensor::from_vec([values.len()], values)?;
        call.gives(coordinates(TRIPLETS, &shape, vec![rows.into(), cols.into()], &values, fill.into()))
    }

    /// A COO tensor from an integer matrix of shape (nse, rank), one index tuple per row.
    ///
    /// # Errors
    /// As [`Tensor::coo`], or if `indices` is not a strided integer matrix.
    pub fn from_index_matrix(
        shape: impl AsRef<[usize]>,
        indices: &Tensor,
        values: &Tensor,
        fill: impl Into<Fill>,
    ) -> Result<Tensor> {
        let shape = shape.as_ref();
        let call = trace::call("from_index_matrix", &[indices, values]);
        let Some(s) = indices.strided().filter(|s| s.ndim() == 2 && s.dtype.is_int()) else {
            let why = format!("a strided integer matrix is needed, this is {}", indices.summary());
            return Err(error::invalid("indices", why));
        };
        let column = |c: usize| s.narrow(1, c..c + 1).permute(&[1, 0]).reshape(&[s.shape[0]]).map(Tensor::from_strided);
        let columns = (0..s.shape[1]).try_mapped(|c| column(c).map(|x| IndexArray::from(&x)))?;
        call.gives(coordinates(MATRIX, shape, columns, values, fill.into()))
    }

    /// A CSR tensor: `pointers` has one more entry than there are rows, `indices` are column numbers, rising
    /// within each row. With more than two axes, rows are those of all batches one after the other.
    ///
    /// ```
    /// use openwork::{Tensor, tensor};
    /// let values = tensor![1.0, 2.0, 3.0];
    /// let x = Tensor::csr([2, 3], vec![0, 1, 3], vec![2, 0, 1], &values, 0.0)?;
    /// assert_eq!(x.to_vec::<f64>()?, [0.0, 0.0, 1.0, 2.0, 3.0, 0.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If pointers fall or have the wrong length, an index is out of range or out of order, `values` has
    /// another length, or the fill does not fit.
    #[doc(alias("sparse_csr_tensor", "csr_matrix", "csr_array"))]
    pub fn csr(
        shape: impl AsRef<[usize]>,
        pointers: impl Into<IndexArray>,
        indices: impl Into<IndexArray>,
        values: &Tensor,
        fill: impl Into<Fill>,
    ) -> Result<Tensor> {
        let shape = shape.as_ref();
        let call = trace::call("csr", &[values]);
        let (pointers, indices, fill) = (pointers.into(), indices.into(), fill.into());
        let given = Compressed { layout: Layout::Csr, pointers, indices, ordered: true, fill };
        call.gives(given.tensor(shape, values))
    }

    /// As [`Tensor::csr`] with the indices of each row in any order; repeated ones mean the sum of their values.
    ///
    /// Nothing is sorted here: ops that need order sort, and [`Tensor::coalesce`] does so once for all of them.
    ///
    /// ```
    /// use openwork::Tensor;
    /// let values = Tensor::from_vec([3], vec![1.0, 2.0, 4.0])?;
    /// let x = Tensor::csr_unordered([1, 3], vec![0u32, 3], vec![2u32, 0, 2], &values, 0.0)?;
    /// let x = x.coalesce()?;
    /// assert_eq!(x.values::<f64>()?, [2.0, 5.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::csr`], apart from the order.
    pub fn csr_unordered(
        shape: impl AsRef<[usize]>,
        pointers: impl Into<IndexArray>,
        indices: impl Into<IndexArray>,
        values: &Tensor,
        fill: impl Into<Fill>,
    ) -> Result<Tensor> {
        let shape = shape.as_ref();
        let call = trace::call("csr_unordered", &[values]);
        let (pointers, indices, fill) = (pointers.into(), indices.into(), fill.into());
        let given = Compressed { layout: Layout::Csr, pointers, indices, ordered: false, fill };
        call.gives(given.tensor(shape, values))
    }

    /// A CSC tensor: as [`Tensor::csr`] with rows and columns swapped.
    ///
    /// ```
    /// use openwork::{Tensor, tensor};
    /// let values = tensor![1.0, 2.0, 3.0];
    /// let x = Tensor::csc([2, 3], vec![0, 1, 1, 3], vec![1, 0, 1], &values, 0.0)?;
    /// assert_eq!(x.to_vec::<f64>()?, [0.0, 0.0, 2.0, 1.0, 0.0, 3.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::csr`].
    #[doc(alias("sparse_csc_tensor", "csc_matrix", "csc_array"))]
    pub fn csc(
        shape: impl AsRef<[usize]>,
        pointers: impl Into<IndexArray>,
        indices: impl Into<IndexArray>,
        values: &Tensor,
        fill: impl Into<Fill>,
    ) -> Result<Tensor> {
        let shape = shape.as_ref();
        let call = trace::call("csc", &[values]);
        let (pointers, indices, fill) = (pointers.into(), indices.into(), fill.into());
        let given = Compressed { layout: Layout::Csc, pointers, indices, ordered: true, fill };
        call.gives(given.tensor(shape, values))
    }

    /// As [`Tensor::csc`] with the indices of each column in any order: see [`Tensor::csr_unordered`].
    ///
    /// # Errors
    /// As [`Tensor::csc`], apart from the order.
    pub fn csc_unordered(
        shape: impl AsRef<[usize]>,
        pointers: impl Into<IndexArray>,
        indices: impl Into<IndexArray>,
        values: &Tensor,
        fill: impl Into<Fill>,
    ) -> Result<Tensor> {
        let shape = shape.as_ref();
        let call = trace::call("csc_unordered", &[values]);
        let (pointers, indices, fill) = (pointers.into(), indices.into(), fill.into());
        let given = Compressed { layout: Layout::Csc, pointers, indices, ordered: false, fill };
        call.gives(given.tensor(shape, values))
    }

    /// A BSR tensor: pointers and indices over blocks, values of shape (blocks, rows, columns of a block).
    ///
    /// ```
    /// use openwork::{Tensor, tensor};
    /// let blocks = tensor![[[1.0, 2.0], [3.0, 4.0]]]; // one block, in block column 1
    /// let x = Tensor::bsr([2, 4], vec![0, 1], vec![1], &blocks, 0.0)?;
    /// assert_eq!(x.to_vec::<f64>()?, [0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 3.0, 4.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::csr`], or if the blocks do not divide the shape.
    #[doc(alias("sparse_bsr_tensor", "bsr_matrix"))]
    pub fn bsr(
        shape: impl AsRef<[usize]>,
        pointers: impl Into<IndexArray>,
        indices: impl Into<IndexArray>,
        values: &Tensor,
        fill: impl Into<Fill>,
    ) -> Result<Tensor> {
        let shape = shape.as_ref();
        let call = trace::call("bsr", &[values]);
        let &[_, rows, cols] = values.shape() else {
            return Err(error::shape(&[values.shape()], "values must have shape (blocks, rows, columns)"));
        };
        let (pointers, indices, fill) = (pointers.into(), indices.into(), fill.into());
        let layout = Layout::Bsr { block: [rows, cols] };
        call.gives(Compressed { layout, pointers, indices, ordered: true, fill }.tensor(shape, values))
    }

    /// A BSC tensor: as [`Tensor::bsr`], blocks compressed by block columns; values have the same shape.
    ///
    /// # Errors
    /// As [`Tensor::bsr`].
    #[doc(alias("sparse_bsc_tensor"))]
    pub fn bsc(
        shape: impl AsRef<[usize]>,
        pointers: impl Into<IndexArray>,
        indices: impl Into<IndexArray>,
        values: &Tensor,
        fill: impl Into<Fill>,
    ) -> Result<Tensor> {
        let shape = shape.as_ref();
        let call = trace::call("bsc", &[values]);
        let &[_, rows, cols] = values.shape() else {
            return Err(error::shape(&[values.shape()], "values must have shape (blocks, rows, columns)"));
        };
        let (pointers, indices, fill) = (pointers.into(), indices.into(), fill.into());
        let layout = Layout::Bsc { block: [rows, cols] };
        call.gives(Compressed { layout, pointers, indices, ordered: true, fill }.tensor(shape, values))
    }

    /// A tensor from its levels, the map of their dimensions to axes, and values of shape (positions, value
    /// axes…): the constructor of every sparse layout. `spec` names the levels again, so that a mistake in
    /// either shows.
    ///
    /// Everything is checked, in O(bytes). Order and uniqueness are found out where they are not claimed.
    ///
    /// # Errors
    /// If anything does not fit together: lengths, ranges, pointers, claimed order, shapes, dtypes, fill.
    pub fn from_parts(
        shape: &[usize],
        levels: Vec<LevelData>,
        spec: &LevelSpec,
        values: &Tensor,
        fill: impl Into<Fill>,
    ) -> Result<Tensor> {
        let call = trace::call("from_parts", &[values]);
        call.gives(parts(validate::LEVELS, shape, levels, spec, values, fill.into()))
    }

    /// As [`Tensor::from_parts`], trusting the arrays.
    ///
    /// # Errors
    /// If shapes, number of arrays or fill do not fit; the contents of the arrays are not looked at.
    ///
    /// # Safety
    /// The arrays must be what [`Tensor::from_parts`] would accept: indices in range, pointers that do not
    /// fall and end where the indices do, order and uniqueness as claimed. Other contents give wrong results;
    /// kernels that rely on them may read out of bounds.
    #[allow(unsafe_code)] // declares a contract, performs nothing unsafe itself
    pub unsafe fn from_parts_unchecked(
        shape: &[usize],
        levels: Vec<LevelData>,
        spec: &LevelSpec,
        values: &Tensor,
        fill: impl Into<Fill>,
    ) -> Result<Tensor> {
        let mut pattern = assemble(validate::LEVELS, shape, levels, spec)?;
        pattern.positions = values.shape().first().copied().unwrap_or(0);
        finish(shape, pattern, values, fill.into())
    }
}

/// A tensor of one value: see [`Tensor::full`].
fn constant(shape: &[usize], value: Scalar, layout: Layout) -> Result<Tensor> {
    if layout == Layout::Strided {
        memory::dense_len(shape, value.dtype())?;
        return Ok(Tensor::from_strided(Strided::constant(value, shape)));
    }
    Tensor::empty_sparse(shape, value.dtype(), layout, Fill::Scalar(value))
}

/// Coordinates as [`Tensor::coo`] has them.
const COO: Given = Given { name: |name| format!("indices[{}]", name.dim()), unordered: "" };
/// As [`Tensor::from_triplets`] has them.
const TRIPLETS: Given = Given { name: |name| if name.dim() == 0 { "rows" } else { "cols" }.into(), unordered: "" };
/// As [`Tensor::from_index_matrix`] has them.
const MATRIX: Given = Given { name: |name| format!("indices[.., {}]", name.dim()), unordered: "" };

/// Arrays of compressed layouts, which have one level with arrays.
fn compressed_as(unordered: &'static str) -> Given {
    let name = |name| match name {
        ArrayName::Pointers(_) => "pointers".into(),
        ArrayName::Indices(_) => "indices".into(),
    };
    Given { name, unordered }
}

/// What [`Tensor::csr`] and its kin are given.
struct Compressed {
    layout: Layout,
    pointers: IndexArray,
    indices: IndexArray,
    /// Whether indices have to rise within each segment, and may not repeat.
    ordered: bool,
    fill: Fill,
}

impl Compressed {
    fn tensor(self, shape: &[usize], values: &Tensor) -> Result<Tensor> {
        let Compressed { layout, pointers, indices, ordered, fill } = self;
        let spec = LevelSpec::of_layout(layout, shape)?;
        let mut levels = vec![LevelData::Dense; spec.levels.len() - 1];
        levels.push(LevelData::Sparse { pointers: Some(pointers), indices: vec![indices], ordered, unique: ordered });
        let given = compressed_as(match layout {
            Layout::Csr => "csr_unordered takes them in any order, repeated ones as their sum",
            Layout::Csc => "csc_unordered takes them in any order, repeated ones as their sum",
            _ => "from_parts takes them in any order with `ordered: false` and `unique: false`",
        });
        parts(given, shape, levels, &spec, values, fill)
    }
}

fn coordinates(given: Given, shape: &[usize], indices: Vec<IndexArray>, values: &Tensor, fill: Fill) -> Result<Tensor> {
    let rank = indices.len();
    if rank > shape.len() {
        return Err(error::invalid("indices", format_args!("{rank} index arrays for {} axes", shape.len())));
    }
    let spec =
        LevelSpec { levels: vec![LevelKind::Sparse { rank }], dims: (0..shape.len()).mapped(|a| (a, Part::Whole)) };
    let pointers = (rank == 0).then(|| vec![0u64, values.shape().first().copied().unwrap_or(0) as u64].into());
    let level = LevelData::Sparse { pointers, indices, ordered: false, unique: false };
    parts(given, shape, vec![level], &spec, values, fill)
}

/// As [`Tensor::from_parts`], of arrays that have other names where they come from.
pub(crate) fn parts(
    given: Given,
    shape: &[usize],
    levels: Vec<LevelData>,
    spec: &LevelSpec,
    values: &Tensor,
    fill: Fill,
) -> Result<Tensor> {
    let pattern = validate::pattern(given, assemble(given, shape, levels, spec)?)?;
    finish(shape, pattern, values, fill)
}

/// As [`Tensor::from_parts`]; `values` is told the shape that the levels need.
pub(crate) fn parts_with(
    shape: &[usize],
    levels: Vec<LevelData>,
    spec: &LevelSpec,
    fill: Fill,
    values: &mut dyn FnMut(&[usize]) -> Result<Tensor>,
) -> Result<Tensor> {
    let given = validate::LEVELS;
    let pattern = validate::pattern(given, assemble(given, shape, levels, spec)?)?;
    let wanted: Vec<usize> = [pattern.positions].into_iter().chain(pattern.value_shape()).collect();
    let values = values(&wanted)?;
    finish(shape, pattern, &values, fill)
}

fn assemble(given: Given, shape: &[usize], levels: Vec<LevelData>, spec: &LevelSpec) -> Result<Pattern> {
    let dims: Vec<Dim> = spec.resolve(shape)?;
    let level_dims = spec.level_dims();
    let mut dim = 0;
    let mut out: Vec<Level> = Vec::with_capacity(levels.len());
    for data in levels {
        let level = data.try_map(dim, &mut |name, array| array.clone().take((given.name)(name)))?;
        dim += level.kind().rank();
        out.push(level);
    }
    let kinds: Vec<LevelKind> = out.mapped(Level::kind);
    if kinds != spec.levels {
        let list = |kinds: &[LevelKind]| kinds.mapped(LevelKind::to_string).join(", ");
        let why = format!("are {}, the specification says {}", list(&kinds), list(&spec.levels));
        return Err(error::invalid("levels", why));
    }
    Ok(Pattern { levels: out, dims, level_dims, positions: 0 }.of_common_width())
}

fn finish(shape: &[usize], pattern: Pattern, values: &Tensor, fill: Fill) -> Result<Tensor> {
    let Some(values) = values.strided() else {
        return Err(error::invalid("values", format_args!("must be strided, are {}", values.layout())));
    };
    let wanted: Vec<usize> = [pattern.positions].into_iter().chain(pattern.value_shape()).collect();
    if values.shape != wanted {
        let why = format!("have shape {:?}, the indices and the shape {shape:?} need {wanted:?}", values.shape);
        return Err(error::invalid("values", why));
    }
    debug_assert_eq!(count(&wanted), values.len());
    let fill = fill::check(fill, shape, values.dtype)?;
    Ok(Sparse { shape: shape.into(), pattern: Arc::new(pattern), values: values.clone(), fill }.into())
}
