"""The ops of the library as functions. Written by tools/generate.py from the library's catalogue."""

# fmt: off
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._adapt import (
    Axes, DTypeLike, Fill, TopK, UniqueAll, UniqueCounts, UniqueInverse, _axes, _border, _in_layout, _integers, _joined, _on,
    _pair, _rounded, _running, _shifts, _side, _sizes, _widths, as_tensor,
)
from ._core import Tensor, op

_abs = op("abs")
_acos = op("acos")
_acosh = op("acosh")
_add = op("add")
_addcdiv = op("addcdiv")
_addcmul = op("addcmul")
_addmm = op("addmm")
_all = op("all")
_allclose = op("allclose")
_allclose_nan = op("allclose_nan")
_aminmax = op("aminmax")
_angle = op("angle")
_any = op("any")
_argmax = op("argmax")
_argmin = op("argmin")
_argsort = op("argsort")
_argsort_descending = op("argsort_descending")
_argwhere = op("argwhere")
_asin = op("asin")
_asinh = op("asinh")
_atan = op("atan")
_atan2 = op("atan2")
_atanh = op("atanh")
_atleast_nd = op("atleast_nd")
_binary = op("binary")
_bincount = op("bincount")
_bitwise_and = op("bitwise_and")
_bitwise_left_shift = op("bitwise_left_shift")
_bitwise_not = op("bitwise_not")
_bitwise_or = op("bitwise_or")
_bitwise_right_shift = op("bitwise_right_shift")
_bitwise_xor = op("bitwise_xor")
_block = op("block")
_block_diag = op("block_diag")
_bmm = op("bmm")
_broadcast_to = op("broadcast_to")
_cast = op("cast")
_ceil = op("ceil")
_clamp = op("clamp")
_clip = op("clip")
_coalesce_with = op("coalesce_with")
_concat = op("concat")
_conj = op("conj")
_copysign = op("copysign")
_cos = op("cos")
_cosh = op("cosh")
_count_nonzero = op("count_nonzero")
_cummax = op("cummax")
_cummin = op("cummin")
_cumulative_prod = op("cumulative_prod")
_cumulative_prod_as = op("cumulative_prod_as")
_cumulative_prod_with_initial = op("cumulative_prod_with_initial")
_cumulative_sum = op("cumulative_sum")
_cumulative_sum_as = op("cumulative_sum_as")
_cumulative_sum_with_initial = op("cumulative_sum_with_initial")
_deg2rad = op("deg2rad")
_delete = op("delete")
_diag = op("diag")
_diagonal = op("diagonal")
_diff = op("diff")
_digamma = op("digamma")
_div = op("div")
_dot = op("dot")
_einsum = op("einsum")
_einsum_with = op("einsum_with")
_elu = op("elu")
_eq = op("eq")
_equal = op("equal")
_equal_nan = op("equal_nan")
_erf = op("erf")
_erfc = op("erfc")
_erfinv = op("erfinv")
_exp = op("exp")
_exp2 = op("exp2")
_expand_dims = op("expand_dims")
_expm1 = op("expm1")
_flatten = op("flatten")
_flip = op("flip")
_floor = op("floor")
_floor_divide = op("floor_divide")
_fmax = op("fmax")
_fmin = op("fmin")
_fmod = op("fmod")
_gather = op("gather")
_gcd = op("gcd")
_ge = op("ge")
_gelu = op("gelu")
_get = op("get")
_gt = op("gt")
_hardsigmoid = op("hardsigmoid")
_heaviside = op("heaviside")
_histogram = op("histogram")
_hypot = op("hypot")
_imag = op("imag")
_index_add = op("index_add")
_index_put = op("index_put")
_index_select = op("index_select")
_indices = op("indices")
_interp = op("interp")
_is_lower_triangular = op("is_lower_triangular")
_is_stored = op("is_stored")
_is_structure_symmetric = op("is_structure_symmetric")
_is_symmetric = op("is_symmetric")
_is_upper_triangular = op("is_upper_triangular")
_isclose = op("isclose")
_isclose_nan = op("isclose_nan")
_isfinite = op("isfinite")
_isinf = op("isinf")
_isnan = op("isnan")
_isneginf = op("isneginf")
_isposinf = op("isposinf")
_khatri_rao = op("khatri_rao")
_kron = op("kron")
_lcm = op("lcm")
_le = op("le")
_leaky_relu = op("leaky_relu")
_lerp = op("lerp")
_lgamma = op("lgamma")
_log = op("log")
_log10 = op("log10")
_log1p = op("log1p")
_log2 = op("log2")
_log_softmax = op("log_softmax")
_logaddexp = op("logaddexp")
_logical_and = op("logical_and")
_logical_not = op("logical_not")
_logical_or = op("logical_or")
_logical_xor = op("logical_xor")
_logit = op("logit")
_logsumexp = op("logsumexp")
_lt = op("lt")
_mask = op("mask")
_mask_complement = op("mask_complement")
_matmul = op("matmul")
_matmul_reduce = op("matmul_reduce")
_matmul_with = op("matmul_with")
_matrix_power = op("matrix_power")
_matrix_transpose = op("matrix_transpose")
_max = op("max")
_maximum = op("maximum")
_mean = op("mean")
_mean_as = op("mean_as")
_median = op("median")
_min = op("min")
_minimum = op("minimum")
_mm = op("mm")
_mode = op("mode")
_moveaxis = op("moveaxis")
_mul = op("mul")
_multi_dot = op("multi_dot")
_mv = op("mv")
_mvlgamma = op("mvlgamma")
_nan_to_num = op("nan_to_num")
_nanmax = op("nanmax")
_nanmean = op("nanmean")
_nanmedian = op("nanmedian")
_nanmin = op("nanmin")
_nanprod = op("nanprod")
_nanquantile_with = op("nanquantile_with")
_nanstd = op("nanstd")
_nansum = op("nansum")
_nanvar = op("nanvar")
_narrow = op("narrow")
_ndiag = op("ndiag")
_ne = op("ne")
_neg = op("neg")
_nextafter = op("nextafter")
_nonzero = op("nonzero")
_normalize_with = op("normalize_with")
_one_hot = op("one_hot")
_outer = op("outer")
_pad = op("pad")
_permute_dims = op("permute_dims")
_polygamma = op("polygamma")
_positive = op("positive")
_pow = op("pow")
_prod = op("prod")
_prod_as = op("prod_as")
_prune = op("prune")
_quantile_with = op("quantile_with")
_rad2deg = op("rad2deg")
_real = op("real")
_reciprocal = op("reciprocal")
_reduce = op("reduce")
_relu = op("relu")
_remainder = op("remainder")
_repeat = op("repeat")
_replace_fill = op("replace_fill")
_reshape = op("reshape")
_roll = op("roll")
_rsqrt = op("rsqrt")
_same_meaning = op("same_meaning")
_sampled_addmm = op("sampled_addmm")
_scatter = op("scatter")
_scatter_reduce = op("scatter_reduce")
_searchsorted = op("searchsorted")
_searchsorted_right = op("searchsorted_right")
_sigmoid = op("sigmoid")
_sign = op("sign")
_signbit = op("signbit")
_silu = op("silu")
_sin = op("sin")
_sinh = op("sinh")
_softmax = op("softmax")
_softplus = op("softplus")
_softsign = op("softsign")
_sort = op("sort")
_sort_descending = op("sort_descending")
_split = op("split")
_sqrt = op("sqrt")
_square = op("square")
_squeeze = op("squeeze")
_stack = op("stack")
_standardize = op("standardize")
_std = op("std")
_sub = op("sub")
_sum = op("sum")
_sum_as = op("sum_as")
_swapaxes = op("swapaxes")
_take = op("take")
_take_along_axis = op("take_along_axis")
_tan = op("tan")
_tanh = op("tanh")
_tensor_split = op("tensor_split")
_tensordot = op("tensordot")
_tile = op("tile")
_to_bitmap = op("to_bitmap")
_to_dense = op("to_dense")
_to_dense_with = op("to_dense_with")
_to_diagonals = op("to_diagonals")
_to_layout = op("to_layout")
_to_sparse_where = op("to_sparse_where")
_topk = op("topk")
_topk_smallest = op("topk_smallest")
_tril = op("tril")
_triu = op("triu")
_trunc = op("trunc")
_unary = op("unary")
_union = op("union")
_unique_all = op("unique_all")
_unique_counts = op("unique_counts")
_unique_inverse = op("unique_inverse")
_unique_values = op("unique_values")
_unset = op("unset")
_unstack = op("unstack")
_var = op("var")
_vdot = op("vdot")
_vecdot = op("vecdot")
_vector_norm = op("vector_norm")
_view_as_complex = op("view_as_complex")
_view_as_real = op("view_as_real")
_where_ = op("where_")
_with_fill = op("with_fill")
_with_stored_values = op("with_stored_values")
_xlogy = op("xlogy")


def allclose(x1: Any, x2: Any, /, rtol: float = 1e-5, atol: float = 1e-8, *, equal_nan: bool = False) -> bool:
    """Whether all elements are close: `|a - b| <= atol + rtol * |b|`, as in `isclose`."""
    return (_allclose_nan if equal_nan else _allclose)(x1, x2, rtol, atol)


def isclose(x1: Any, x2: Any, /, rtol: float = 1e-5, atol: float = 1e-8, *, equal_nan: bool = False) -> Tensor:
    """Whether elements are close: `|a - b| <= atol + rtol * |b|`; infinities are close to themselves alone, NaN to nothing."""
    return (_isclose_nan if equal_nan else _isclose)(x1, x2, rtol, atol)


def array_equal(x1: Any, x2: Any, /, *, equal_nan: bool = False) -> bool:
    """Whether both have the same shape and all their elements are equal (NumPy's `array_equal`, PyTorch's `equal`)."""
    return (_equal_nan if equal_nan else _equal)(x1, x2)


def same_meaning(x1: Any, x2: Any, /) -> bool:
    """Whether both mean the same: shape, dtype, where an element is absent, and every element bit for bit (NaN like NaN; −0 is not 0)."""
    return _same_meaning(x1, x2)


def is_lower_triangular(x: Any, /) -> bool:
    """Whether every element above the diagonal is 0."""
    return _is_lower_triangular(x)


def is_structure_symmetric(x: Any, /) -> bool:
    """Whether the structure is symmetric."""
    return _is_structure_symmetric(x)


def is_symmetric(x: Any, /) -> bool:
    """Whether each element is the same as its mirror image."""
    return _is_symmetric(x)


def is_upper_triangular(x: Any, /) -> bool:
    """Whether every element below the diagonal is 0."""
    return _is_upper_triangular(x)


def ndiag(x: Any, /) -> int:
    """How many elements on the diagonal are other than 0."""
    return _ndiag(x)


def argwhere(x: Any, /) -> Tensor:
    """The indices of the elements that are not zero, in C order."""
    return _argwhere(x)


def delete(x: Any, indices: Any, /, axis: int) -> Tensor:
    """Removes the listed elements along one axis."""
    return _delete(x, indices, axis)


def gather(x: Any, index: Any, /, axis: int) -> Tensor:
    """Gathers one element per index: `out[…, i, …] = x[…, index[…, i, …], …]`."""
    return _gather(x, index, axis)


def index_add(x: Any, items: Any, values: Any, /) -> Tensor:
    """A copy with values added to what an index names; where a place is named several times, all are added."""
    return _index_add(x, items, values)


def index_put(x: Any, items: Any, values: Any, /) -> Tensor:
    """A copy with other elements at what an index names, lists and masks included; where a place is named several times, the last value counts."""
    return _index_put(x, items, values)


def index_select(x: Any, indices: Any, /, axis: int) -> Tensor:
    """The listed elements of one axis."""
    return _index_select(x, indices, axis)


def nonzero(x: Any, /) -> tuple[Tensor, ...]:
    """The indices of the elements that are not zero, in C order."""
    return _nonzero(x)


def scatter(x: Any, index: Any, src: Any, /, axis: int) -> Tensor:
    """A copy with `x[…, index[…, i, …], …] = src[…, i, …]`."""
    return _scatter(x, index, src, axis)


def scatter_reduce(x: Any, index: Any, src: Any, reduce: str, /, axis: int) -> Tensor:
    """As `scatter`, but all values that name a place meet there by a reduction (sum, prod, max or min), and meet what was there, unless that is absent."""
    return _scatter_reduce(x, index, src, reduce, axis)


def take(x: Any, indices: Any, /, axis: Axes = None) -> Tensor:
    """The listed elements of one axis, or (`..`) of the flattened tensor."""
    return _take(x, indices, axis)


def take_along_axis(x: Any, indices: Any, /, axis: int = -1) -> Tensor:
    """Gathers one element per index: `out[…, i, …] = x[…, indices[…, i, …], …]`."""
    return _take_along_axis(x, indices, axis)


def unset(x: Any, items: Any, /) -> Tensor:
    """A copy in which the named elements are what unstored ones are."""
    return _unset(x, items)


def one_hot(x: Any, /, classes: int) -> Tensor:
    """Replaces each integer by a row of `classes` elements that is 1 at that index and 0 elsewhere."""
    return _one_hot(x, classes)


def to_bitmap(x: Any, /) -> tuple[Tensor, Tensor]:
    """Dense values, and a bool mask of what is stored."""
    return _to_bitmap(x)


def to_diagonals(x: Any, /) -> tuple[Tensor, list[int]]:
    """The diagonals of a sparse matrix that store something, in the form of `from_diagonals`."""
    return _to_diagonals(x)


def to_sparse_where(x: Any, mask: Any, /, layout: str = "coo", *, fill_value: Fill) -> Tensor:
    """The elements of a strided tensor that a mask chooses, stored in a layout; all else is the fill."""
    return _to_sparse_where(x, mask, layout, fill_value)


def addmm(x: Any, a: Any, b: Any, /, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * x + alpha * (a @ b)`, of matrices."""
    return _addmm(x, a, b, beta, alpha)


def sampled_addmm(x: Any, a: Any, b: Any, /, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * x + alpha * (a @ b)` where `x`, which is sparse, stores something; elsewhere its fill."""
    return _sampled_addmm(x, a, b, beta, alpha)


def bmm(x1: Any, x2: Any, /) -> Tensor:
    """The products of two batches of matrices, one by one."""
    return _bmm(x1, x2)


def dot(x1: Any, x2: Any, /) -> complex:
    """The sum of the products of two vectors' elements."""
    return _dot(x1, x2)


def khatri_rao(x1: Any, x2: Any, /) -> Tensor:
    """The Kronecker products of columns of one number (Khatri and Rao)."""
    return _khatri_rao(x1, x2)


def matmul(x1: Any, x2: Any, /) -> Tensor:
    """The matrix product over the last two axes, leading axes broadcast."""
    return _matmul(x1, x2)


def matmul_reduce(x1: Any, x2: Any, /, op: str) -> Tensor:
    """The products of elements of rows and columns, `x1[i, k] * x2[k, j]`, folded over `k` by another op than the sum."""
    return _matmul_reduce(x1, x2, op)


def matmul_with(x1: Any, x2: Any, /, semiring: str | None = "plus_times", *, mask: Any = None, accumulate: Any = None, accumulate_op: str = "add", replace: bool = False, layout: str | None = None) -> Tensor:
    """The matrix product over a semiring."""
    return _matmul_with(x1, x2, semiring, mask, accumulate, accumulate_op, replace, layout)


def matrix_power(x: Any, n: int, /) -> Tensor:
    """A square matrix times itself, `n` times; the identity for 0."""
    return _matrix_power(x, n)


def mm(x1: Any, x2: Any, /) -> Tensor:
    """The product of two matrices: `matmul` of nothing else."""
    return _mm(x1, x2)


def mv(x: Any, vector: Any, /) -> Tensor:
    """The product of a matrix and a vector."""
    return _mv(x, vector)


def tensordot(x1: Any, x2: Any, /, axes: Any = 2) -> Tensor:
    """The sums of the products of elements over some axes of both."""
    return _tensordot(x1, x2, _pair(axes))


def vdot(x1: Any, x2: Any, /) -> complex:
    """The sum of the products of the elements of two tensors of one shape, those of `x1` conjugated."""
    return _vdot(x1, x2)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """The inner products of vectors along an axis, those of `x1` conjugated (the array API's `vecdot`)."""
    return _vecdot(x1, x2, axis)


def sort(x: Any, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements along an axis in rising order."""
    return (_sort_descending if descending else _sort)(x, axis)


def argsort(x: Any, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Tensor:
    """The places along an axis from which `sort` takes its elements, as `int64`."""
    return (_argsort_descending if descending else _argsort)(x, axis)


def topk(x: Any, k: int, /, axis: int = -1, *, largest: bool = True) -> TopK:
    """The `k` greatest elements along an axis, in order, and where they are."""
    return TopK(*(_topk if largest else _topk_smallest)(x, k, axis))


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each integer from 0 occurs."""
    return _bincount(x, weights, minlength)


def histogram(x: Any, /, bins: int = 10, range: Any = None) -> tuple[Tensor, Tensor]:
    """How many elements fall into each of `bins` equal parts of a range."""
    return _histogram(x, bins, range)


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left") -> Tensor:
    """For each element of `values`, the index at which inserting it keeps this vector sorted."""
    return _side(side, _searchsorted, _searchsorted_right)(x1, x2)


def unique_all(x: Any, /) -> UniqueAll:
    """All that the other three give, and where each distinct element comes first in C order, stored or not."""
    return UniqueAll(*_unique_all(x))


def unique_counts(x: Any, /) -> UniqueCounts:
    """The distinct elements, as `unique_values` gives them, and how often each occurs, exactly, as `int64`."""
    return UniqueCounts(*_unique_counts(x))


def unique_inverse(x: Any, /) -> UniqueInverse:
    """The distinct elements, as `unique_values` gives them, and which of them each element is."""
    return UniqueInverse(*_unique_inverse(x))


def unique_values(x: Any, /) -> Tensor:
    """The distinct elements in rising order, as a strided vector; complex numbers by real, then imaginary parts."""
    return _unique_values(x)


def addcdiv(x: Any, a: Any, b: Any, /, *, value: Any = 1) -> Tensor:
    """`x + value * (a / b)`."""
    return _addcdiv(x, a, b, value)


def addcmul(x: Any, a: Any, b: Any, /, *, value: Any = 1) -> Tensor:
    """`x + value * (a * b)`."""
    return _addcmul(x, a, b, value)


def binary(x1: Any, op: str, x2: Any, /) -> Tensor:
    """Applies a registered binary op with full broadcasting and dtype promotion."""
    return _binary(x1, op, x2)


def unary(x: Any, op: str, /) -> Tensor:
    """Applies a registered unary op."""
    return _unary(x, op)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Tensor:
    """The array API's name of `clamp`."""
    return _clip(x, min, max) if min is not None or max is not None else as_tensor(x)


def clamp(x: Any, /, min: Any = None, max: Any = None) -> Tensor:
    """`min(max(x, min), max)`: PyTorch's `clamp`, the array API's `clip`."""
    return _clamp(x, min, max)


def lerp(x: Any, end: Any, weight: Any, /) -> Tensor:
    """`x + weight * (end - x)`, and the same from the other end, `end - (end - x) * (1 - weight)`, for weights of at least a half."""
    return _lerp(x, end, weight)


def mask(x: Any, mask: Any, /) -> Tensor:
    """The elements where a bool mask is true; all others are absent, so that the result's fill is undefined."""
    return _mask(x, mask)


def mask_complement(x: Any, mask: Any, /) -> Tensor:
    """The elements where a bool mask is false."""
    return _mask_complement(x, mask)


def mvlgamma(x: Any, p: float, /) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`; NaN where `x` is at most `(p - 1) / 2`."""
    return _mvlgamma(x, p)


def polygamma(x: Any, order: Any, /) -> Tensor:
    """The derivative of order `order` of `digamma`, which order 0 is."""
    return _polygamma(x, order)


def interp(x: Any, xp: Any, fp: Any, /) -> Tensor:
    """The piecewise linear function through the points `(xp[i], fp[i])` at every element."""
    return _interp(x, xp, fp)


def positive(x: Any, /) -> Tensor:
    """The tensor itself, of a numeric dtype."""
    return _positive(x)


def union(x1: Any, op: str, x2: Any, /, left_default: Any, right_default: Any) -> Tensor:
    """A binary op where at least one operand has an element."""
    return _union(x1, op, x2, left_default, right_default)


def where(condition: Any, x1: Any, x2: Any, /) -> Tensor:
    """Each element from `x1` where this bool tensor is true, from `x2` where it is false."""
    return _where_(condition, x1, x2)


def sum(x: Any, /, axis: Axes = None, *, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:
    """The sum. Integers wrap, as `int64` or `uint64`; floats are added in `float64`."""
    return _sum(x, axis, keepdims) if dtype is None else _sum_as(x, dtype, axis, keepdims)


def prod(x: Any, /, axis: Axes = None, *, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:
    """The product. Integers wrap, as `int64` or `uint64`; floats are multiplied in `float64`."""
    return _prod(x, axis, keepdims) if dtype is None else _prod_as(x, dtype, axis, keepdims)


def mean(x: Any, /, axis: Axes = None, *, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:
    """The arithmetic mean: `float64` for integers of 32 bits and more, `float32` for others; NaN for no elements."""
    return _mean(x, axis, keepdims) if dtype is None else _mean_as(x, dtype, axis, keepdims)


def var(x: Any, /, axis: Axes = None, *, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The variance over some axes: the sum of `|x − mean|²` divided by `n − correction`."""
    return _var(x, correction, axis, keepdims)


def std(x: Any, /, axis: Axes = None, *, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The square root of the variance."""
    return _std(x, correction, axis, keepdims)


def nanvar(x: Any, /, axis: Axes = None, *, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The variance of the elements that are not NaN."""
    return _nanvar(x, correction, axis, keepdims)


def nanstd(x: Any, /, axis: Axes = None, *, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The standard deviation of the elements that are not NaN."""
    return _nanstd(x, correction, axis, keepdims)


def quantile(x: Any, q: float, /, axis: Axes = None, *, method: str = "linear", keepdims: bool = False) -> Tensor:
    """The element below which lies a share `q` of the others over some axes."""
    return _quantile_with(x, q, method, axis, keepdims)


def nanquantile(x: Any, q: float, /, axis: Axes = None, *, method: str = "linear", keepdims: bool = False) -> Tensor:
    """The quantile of the elements that are not NaN; NaN where there are no others."""
    return _nanquantile_with(x, q, method, axis, keepdims)


def reduce(x: Any, op: str, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Folds over some axes, which are dropped, or kept with size 1."""
    return _reduce(x, op, axis, keepdims)


def vector_norm(x: Any, /, *, axis: Axes = None, ord: float = 2.0, keepdims: bool = False) -> Tensor:
    """The vector norm of order `ord` over some axes."""
    return _vector_norm(x, ord, axis, keepdims)


def cummax(x: Any, /, axis: int = -1) -> Tensor:
    """The greatest element so far along an axis; NaN from the first NaN on."""
    return _cummax(x, axis)


def cummin(x: Any, /, axis: int = -1) -> Tensor:
    """The least element so far along an axis; NaN from the first NaN on."""
    return _cummin(x, axis)


def cumulative_sum(x: Any, /, axis: int | None = None, *, dtype: DTypeLike | None = None, include_initial: bool = False) -> Tensor:
    """Running sums along an axis."""
    return _running(x, axis, dtype, include_initial, _cumulative_sum, _cumulative_sum_as, _cumulative_sum_with_initial)


def cumulative_prod(x: Any, /, axis: int | None = None, *, dtype: DTypeLike | None = None, include_initial: bool = False) -> Tensor:
    """Running products along an axis: as `cumulative_sum`."""
    return _running(x, axis, dtype, include_initial, _cumulative_prod, _cumulative_prod_as, _cumulative_prod_with_initial)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Tensor:
    """The differences of neighbouring elements along an axis, taken `n` times."""
    return _diff(_joined(prepend, x, append, axis), n, axis)


def atleast_nd(x: Any, ndim: int, /) -> Tensor:
    """Adds axes of size 1 in front until there are `ndim`."""
    return _atleast_nd(x, ndim)


def broadcast_to(x: Any, /, shape: int | Sequence[int]) -> Tensor:
    """Broadcasts to a shape: axes of size 1 repeat, new axes come in front."""
    return _broadcast_to(x, shape)


def diag(x: Any, /, offset: int = 0) -> Tensor:
    """A matrix with this vector on a diagonal (`offset` above the main one), zero elsewhere, absent with an undefined fill; or of a matrix, its diagonal."""
    return _diag(x, offset)


def diagonal(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The elements at equal indices of two axes (`offset` added to the first is the second), as the last axis of the result; the two axes are removed."""
    return _diagonal(x, offset, axis1, axis2)


def expand_dims(x: Any, /, axis: Axes = 0) -> Tensor:
    """Inserts axes of size 1, which are the named axes of the result."""
    return _expand_dims(x, axis)


def flatten(x: Any, /) -> Tensor:
    """All elements along one axis, in C order."""
    return _flatten(x)


def flip(x: Any, /, axis: Axes = None) -> Tensor:
    """The elements in reverse order along some axes."""
    return _flip(x, axis)


def kron(x1: Any, x2: Any, /) -> Tensor:
    """The Kronecker product: a block for each element of `x1`, which is `x2` times that element."""
    return _kron(x1, x2)


def matrix_transpose(x: Any, /) -> Tensor:
    """Swaps the last two axes."""
    return _matrix_transpose(x)


def moveaxis(x: Any, source: Any, destination: Any, /) -> Tensor:
    """Moves axes to other places; the others keep their order."""
    return _moveaxis(x, source, destination)


def narrow(x: Any, start: int, stop: int, /, axis: int) -> Tensor:
    """A window of one axis: the elements `range` of it."""
    return _narrow(x, (start, stop), axis)


def outer(x1: Any, x2: Any, /) -> Tensor:
    """Every element times every element of another tensor."""
    return _outer(x1, x2)


def pad(x: Any, pad_width: Any, /, mode: str = "constant", *, value: Any = None) -> Tensor:
    """This tensor with a border around it."""
    return _pad(x, _widths(x, pad_width), _border(mode, value))


def permute_dims(x: Any, /, axes: Any, *more: Any) -> Tensor:
    """Reorders the axes: axis `i` of the result is axis `axes[i]`."""
    return _permute_dims(x, _axes(axes, *more))


def repeat(x: Any, repeats: Any, /, *, axis: Axes = None) -> Tensor:
    """Repeats each element along an axis, or (`..`) of the flattened tensor."""
    return _repeat(x, _integers(repeats), axis)


def reshape(x: Any, /, shape: int | Sequence[int], *more: Any, copy: bool | None = None) -> Tensor:
    """The same elements, in C order, in another shape."""
    return _reshape(x, _sizes(x, shape, *more))


def roll(x: Any, /, shift: Any, axis: Axes = None) -> Tensor:
    """Shifts the elements along some axes; those that leave at one end come back at the other."""
    return _roll(x, _shifts(shift, axis), axis)


def split(x: Any, sizes: Any, /, axis: int = 0) -> tuple[Tensor, ...]:
    """Cuts an axis into parts of the given sizes; each as `narrow` gives it, all in one pass over what is stored where that has to be copied."""
    return _split(x, sizes, axis)


def squeeze(x: Any, /, axis: Axes = None) -> Tensor:
    """Drops axes of size 1; `..` drops all that there are."""
    return _squeeze(x, axis)


def swapaxes(x: Any, a: Any, b: Any, /) -> Tensor:
    """Swaps two axes."""
    return _swapaxes(x, a, b)


def tensor_split(x: Any, indices: Any, /, axis: int = 0) -> tuple[Tensor, ...]:
    """Cuts an axis before each of the given indices, which must not decrease."""
    return _tensor_split(x, indices, axis)


def tile(x: Any, repetitions: Any, /) -> Tensor:
    """Lays copies of the tensor side by side."""
    return _tile(x, repetitions)


def tril(x: Any, /, k: int = 0) -> Tensor:
    """The elements on and below a diagonal of the last two axes (`k` above the main one); zero elsewhere, absent with an undefined fill."""
    return _tril(x, k)


def triu(x: Any, /, k: int = 0) -> Tensor:
    """The elements on and above a diagonal; else as `tril`."""
    return _triu(x, k)


def unstack(x: Any, /, axis: int = 0) -> tuple[Tensor, ...]:
    """A tensor for each index of an axis, without that axis."""
    return _unstack(x, axis)


def view_as_complex(x: Any, /) -> Tensor:
    """Pairs along the last axis as complex numbers, the last axis dropped."""
    return _view_as_complex(x)


def view_as_real(x: Any, /) -> Tensor:
    """Real and imaginary parts along a new last axis of size 2."""
    return _view_as_real(x)


def softmax(x: Any, /, axis: Axes = -1) -> Tensor:
    """`exp(x) / sum(exp(x))` over each slice along some axes, computed as `exp(x - m) / sum(exp(x - m))` with the slice's maximum `m`, so that nothing overflows."""
    return _softmax(x, axis)


def log_softmax(x: Any, /, axis: Axes = -1) -> Tensor:
    """`x - logsumexp(x)` over each slice along some axes."""
    return _log_softmax(x, axis)


def logsumexp(x: Any, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """`log(sum(exp(x)))` of each slice along some axes, which are dropped or kept with size 1."""
    return _logsumexp(x, axis, keepdims)


def normalize(x: Any, /, p: float = 2.0, axis: Axes = -1, *, eps: float = 1e-12) -> Tensor:
    """Divides each slice along some axes by its `p`-norm `sum(|x|^p)^(1/p)`, or by 1e-12 where the norm is less."""
    return _normalize_with(x, p, eps, axis)


def standardize(x: Any, /, axis: Axes = None, *, correction: float = 0.0) -> Tensor:
    """`(x - mean) / std` over each slice along some axes, with `std = sqrt(sum(|x - mean|²) / (n - correction))`."""
    return _standardize(x, correction, axis)


def astype(x: Any, dtype: DTypeLike | None, /, *, copy: bool | None = True, device: str | None = None) -> Tensor:
    """Casts every element; the fill is cast like any other."""
    return _cast(_on(device, x), dtype)


def coalesce(x: Any, /, op: str = "sum") -> Tensor:
    """Sorts the stored elements and sums duplicates."""
    return _coalesce_with(x, op)


def get(x: Any, index: Any, /) -> complex | None:
    """The element at an index; `None` if it is absent (undefined fill, nothing stored)."""
    return _get(x, index)


def indices(x: Any, /) -> Tensor:
    """The coordinates of what is stored, `int64`."""
    return _indices(x)


def is_stored(x: Any, /) -> Tensor:
    """Whether each element is stored, as a bool tensor with fill false."""
    return _is_stored(x)


def prune(x: Any, /) -> Tensor:
    """Drops stored elements that are the same as the fill (bit for bit, NaN like NaN; −0 is not 0)."""
    return _prune(x)


def replace_fill(x: Any, fill_value: Fill, /) -> Tensor:
    """Another fill, which changes what unstored elements are."""
    return _replace_fill(x, fill_value)


def with_fill(x: Any, fill_value: Fill, /) -> Tensor:
    """The same elements with another fill."""
    return _with_fill(x, fill_value)


def to_dense(x: Any, /, absent: Any = None) -> Tensor:
    """The tensor with every element stored, strided."""
    return _to_dense(x) if absent is None else _to_dense_with(x, absent)


def to_layout(x: Any, layout: str, /) -> Tensor:
    """The same tensor in another layout, sorted and without duplicates."""
    return _to_layout(x, layout)


def round(x: Any, /, decimals: int = 0) -> Tensor:
    """The nearest integer; the even one of two."""
    return _rounded(x, decimals)


def to_sparse(x: Any, /, layout: str = "coo", *, fill_value: Fill = ...) -> Tensor:
    """The same elements stored sparsely."""
    return _in_layout(x, layout, fill_value)


def with_stored_values(x: Any, values: Any, /, *, fill_value: Fill) -> Tensor:
    """Other values at the same positions."""
    return _with_stored_values(x, values, fill_value)


def einsum(equation: str, /, *operands: Any, semiring: str | None = None) -> Tensor:
    """The sums of products that an equation names, of any number of operands in any layouts."""
    return _einsum(equation, operands) if semiring is None else _einsum_with(equation, operands, semiring)


def multi_dot(arrays: Sequence[Any], /) -> Tensor:
    """The product of several matrices, in the order of products that is cheapest."""
    return _multi_dot(arrays)


def block(rows: Sequence[Sequence[Any]], /) -> Tensor:
    """A tensor of blocks, given row by row."""
    return _block(rows)


def block_diag(arrays: Sequence[Any], /) -> Tensor:
    """Matrices along the diagonal of a larger one; vectors are rows."""
    return _block_diag(arrays)


def concat(arrays: Sequence[Any], /, axis: int = 0) -> Tensor:
    """Joins tensors along an axis they have."""
    return _concat(arrays, axis) if axis is not None else _concat([_flatten(x) for x in arrays], 0)


def stack(arrays: Sequence[Any], /, axis: int = 0) -> Tensor:
    """Joins tensors of one shape along a new axis."""
    return _stack(arrays, axis)


def neg(x: Any, /) -> Tensor:
    """`-x`. Integers wrap."""
    return _neg(x)


def abs(x: Any, /) -> Tensor:
    """The absolute value; real for complex `x`. Integers wrap."""
    return _abs(x)


def sign(x: Any, /) -> Tensor:
    """The sign: −1, 0 or 1, NaN for NaN; `x / |x|` for complex `x`."""
    return _sign(x)


def square(x: Any, /) -> Tensor:
    """`x * x`. Integers wrap."""
    return _square(x)


def sqrt(x: Any, /) -> Tensor:
    """The square root; for complex `x` the one with a real part of at least 0."""
    return _sqrt(x)


def rsqrt(x: Any, /) -> Tensor:
    """`1 / sqrt(x)`."""
    return _rsqrt(x)


def reciprocal(x: Any, /) -> Tensor:
    """`1 / x`."""
    return _reciprocal(x)


def exp(x: Any, /) -> Tensor:
    """`e` to the power of `x`."""
    return _exp(x)


def exp2(x: Any, /) -> Tensor:
    """`2` to the power of `x`."""
    return _exp2(x)


def expm1(x: Any, /) -> Tensor:
    """`exp(x) - 1`, accurate near 0."""
    return _expm1(x)


def log(x: Any, /) -> Tensor:
    """The natural logarithm."""
    return _log(x)


def log2(x: Any, /) -> Tensor:
    """The logarithm to base 2."""
    return _log2(x)


def log10(x: Any, /) -> Tensor:
    """The logarithm to base 10."""
    return _log10(x)


def log1p(x: Any, /) -> Tensor:
    """`log(1 + x)`, accurate near 0."""
    return _log1p(x)


def sin(x: Any, /) -> Tensor:
    """The sine."""
    return _sin(x)


def cos(x: Any, /) -> Tensor:
    """The cosine."""
    return _cos(x)


def tan(x: Any, /) -> Tensor:
    """The tangent."""
    return _tan(x)


def sinh(x: Any, /) -> Tensor:
    """The hyperbolic sine."""
    return _sinh(x)


def cosh(x: Any, /) -> Tensor:
    """The hyperbolic cosine."""
    return _cosh(x)


def tanh(x: Any, /) -> Tensor:
    """The hyperbolic tangent."""
    return _tanh(x)


def asin(x: Any, /) -> Tensor:
    """The inverse of the sine: between −π/2 and π/2, NaN outside ±1; for complex `x` cut along the real axis outside ±1."""
    return _asin(x)


def acos(x: Any, /) -> Tensor:
    """The inverse of the cosine: between 0 and π, NaN outside ±1; for complex `x` cut as `asin`."""
    return _acos(x)


def atan(x: Any, /) -> Tensor:
    """The inverse of the tangent: between −π/2 and π/2; for complex `x` cut along the imaginary axis outside ±i."""
    return _atan(x)


def asinh(x: Any, /) -> Tensor:
    """The inverse of the hyperbolic sine; for complex `x` cut along the imaginary axis outside ±i."""
    return _asinh(x)


def acosh(x: Any, /) -> Tensor:
    """The inverse of the hyperbolic cosine, NaN below 1; for complex `x` cut along the real axis below 1."""
    return _acosh(x)


def atanh(x: Any, /) -> Tensor:
    """The inverse of the hyperbolic tangent, NaN outside ±1; for complex `x` cut along the real axis outside ±1."""
    return _atanh(x)


def deg2rad(x: Any, /) -> Tensor:
    """`x` in degrees, in radians: `x * (π / 180)`."""
    return _deg2rad(x)


def rad2deg(x: Any, /) -> Tensor:
    """`x` in radians, in degrees: `x * (180 / π)`."""
    return _rad2deg(x)


def sigmoid(x: Any, /) -> Tensor:
    """`1 / (1 + exp(-x))`."""
    return _sigmoid(x)


def hardsigmoid(x: Any, /) -> Tensor:
    """A line for `sigmoid`: `x / 6 + 1 / 2`, at least 0 and at most 1."""
    return _hardsigmoid(x)


def softsign(x: Any, /) -> Tensor:
    """`x / (1 + |x|)`; its limits ±1 for ±∞."""
    return _softsign(x)


def logit(x: Any, /) -> Tensor:
    """`log(x / (1 - x))`, the inverse of `sigmoid`; NaN outside 0 to 1."""
    return _logit(x)


def softplus(x: Any, /) -> Tensor:
    """`log(1 + exp(x))`."""
    return _softplus(x)


def silu(x: Any, /) -> Tensor:
    """`x * sigmoid(x)`; 0, its limit, for −∞."""
    return _silu(x)


def gelu(x: Any, /) -> Tensor:
    """`x * (1 + erf(x / sqrt(2))) / 2`; 0, its limit, for −∞."""
    return _gelu(x)


def relu(x: Any, /) -> Tensor:
    """`max(x, 0)`; NaN stays."""
    return _relu(x)


def leaky_relu(x: Any, /) -> Tensor:
    """`x`, or `0.01 * x` below 0."""
    return _leaky_relu(x)


def elu(x: Any, /) -> Tensor:
    """`x`, or `exp(x) - 1` below 0."""
    return _elu(x)


def erf(x: Any, /) -> Tensor:
    """The error function: `2 / sqrt(π)` times the integral of `exp(-t * t)` from 0 to `x`."""
    return _erf(x)


def erfc(x: Any, /) -> Tensor:
    """`1 - erf(x)`, accurate where `erf(x)` is almost 1."""
    return _erfc(x)


def erfinv(x: Any, /) -> Tensor:
    """The inverse of `erf`; ±∞ for ±1, NaN outside."""
    return _erfinv(x)


def lgamma(x: Any, /) -> Tensor:
    """The logarithm of the absolute value of the gamma function; ∞ at 0 and negative integers."""
    return _lgamma(x)


def digamma(x: Any, /) -> Tensor:
    """The derivative of `lgamma`; ∓∞ at ±0 and NaN at negative integers."""
    return _digamma(x)


def floor(x: Any, /) -> Tensor:
    """The greatest integer that is at most `x`."""
    return _floor(x)


def ceil(x: Any, /) -> Tensor:
    """The least integer that is at least `x`."""
    return _ceil(x)


def trunc(x: Any, /) -> Tensor:
    """The integer part of `x`."""
    return _trunc(x)


def isnan(x: Any, /) -> Tensor:
    """Whether `x`, or a part of it, is NaN."""
    return _isnan(x)


def isinf(x: Any, /) -> Tensor:
    """Whether `x`, or a part of it, is infinite."""
    return _isinf(x)


def isfinite(x: Any, /) -> Tensor:
    """Whether `x` is neither NaN nor infinite."""
    return _isfinite(x)


def isposinf(x: Any, /) -> Tensor:
    """Whether `x` is ∞."""
    return _isposinf(x)


def isneginf(x: Any, /) -> Tensor:
    """Whether `x` is −∞."""
    return _isneginf(x)


def signbit(x: Any, /) -> Tensor:
    """Whether the sign of `x` is minus: for floats the sign bit, that of −0 and NaN too."""
    return _signbit(x)


def nan_to_num(x: Any, /) -> Tensor:
    """`x` with 0 for NaN, and the greatest and the least finite number for ±∞; in each part of complex `x`."""
    return _nan_to_num(x)


def logical_not(x: Any, /) -> Tensor:
    """Whether `x` is zero (false). NaN is not."""
    return _logical_not(x)


def bitwise_not(x: Any, /) -> Tensor:
    """Every bit flipped; not, for bool."""
    return _bitwise_not(x)


def angle(x: Any, /) -> Tensor:
    """The angle of complex `x`, between −π and π; for real `x` π below 0, else 0."""
    return _angle(x)


def conj(x: Any, /) -> Tensor:
    """The complex conjugate."""
    return _conj(x)


def real(x: Any, /) -> Tensor:
    """The real part."""
    return _real(x)


def imag(x: Any, /) -> Tensor:
    """The imaginary part: 0 for real `x`."""
    return _imag(x)


def add(x1: Any, x2: Any, /) -> Tensor:
    """`a + b`. Integers wrap; or, for bool."""
    return _add(x1, x2)


def sub(x1: Any, x2: Any, /) -> Tensor:
    """`a - b`. Integers wrap."""
    return _sub(x1, x2)


def mul(x1: Any, x2: Any, /) -> Tensor:
    """`a * b`. Integers wrap; and, for bool."""
    return _mul(x1, x2)


def div(x1: Any, x2: Any, /) -> Tensor:
    """`a / b`, the true quotient: a float for integers."""
    return _div(x1, x2)


def floor_divide(x1: Any, x2: Any, /) -> Tensor:
    """The quotient rounded down; 0 for integers divided by 0."""
    return _floor_divide(x1, x2)


def remainder(x1: Any, x2: Any, /) -> Tensor:
    """`a - floor(a / b) * b`, which has the sign of `b`; 0 for integers divided by 0."""
    return _remainder(x1, x2)


def fmod(x1: Any, x2: Any, /) -> Tensor:
    """The remainder of the quotient cut to an integer, which has the sign of `a`; 0 for integers divided by 0."""
    return _fmod(x1, x2)


def gcd(x1: Any, x2: Any, /) -> Tensor:
    """The greatest common divisor; `|a|` for `b = 0`. Integers wrap."""
    return _gcd(x1, x2)


def lcm(x1: Any, x2: Any, /) -> Tensor:
    """The least common multiple; 0 for `b = 0`. Integers wrap."""
    return _lcm(x1, x2)


def pow(x1: Any, x2: Any, /) -> Tensor:
    """`a` to the power of `b`, 1 for `b = 0`. Integers wrap and truncate. Complex `0^b`: 0 for `Re b > 0`, ∞ below, NaN else."""
    return _pow(x1, x2)


def maximum(x1: Any, x2: Any, /) -> Tensor:
    """The greater of `a` and `b`; NaN if one is."""
    return _maximum(x1, x2)


def minimum(x1: Any, x2: Any, /) -> Tensor:
    """The lesser of `a` and `b`; NaN if one is."""
    return _minimum(x1, x2)


def fmax(x1: Any, x2: Any, /) -> Tensor:
    """The greater of `a` and `b`; of NaN and a number the number."""
    return _fmax(x1, x2)


def fmin(x1: Any, x2: Any, /) -> Tensor:
    """The lesser of `a` and `b`; of NaN and a number the number."""
    return _fmin(x1, x2)


def atan2(x1: Any, x2: Any, /) -> Tensor:
    """The angle of the point `(b, a)`, between −π and π."""
    return _atan2(x1, x2)


def hypot(x1: Any, x2: Any, /) -> Tensor:
    """`sqrt(a * a + b * b)` without needless overflow."""
    return _hypot(x1, x2)


def copysign(x1: Any, x2: Any, /) -> Tensor:
    """The magnitude of `a` with the sign of `b`."""
    return _copysign(x1, x2)


def nextafter(x1: Any, x2: Any, /) -> Tensor:
    """The float next to `a` in the direction of `b`."""
    return _nextafter(x1, x2)


def logaddexp(x1: Any, x2: Any, /) -> Tensor:
    """`log(exp(a) + exp(b))`, without overflow."""
    return _logaddexp(x1, x2)


def xlogy(x1: Any, x2: Any, /) -> Tensor:
    """`a * log(b)`, and 0 for `a = 0`, but NaN for NaN."""
    return _xlogy(x1, x2)


def heaviside(x1: Any, x2: Any, /) -> Tensor:
    """The step function: 0 for `a` below 0 or NaN, `b` for 0, 1 above."""
    return _heaviside(x1, x2)


def eq(x1: Any, x2: Any, /) -> Tensor:
    """Whether `a == b`."""
    return _eq(x1, x2)


def ne(x1: Any, x2: Any, /) -> Tensor:
    """Whether `a != b`."""
    return _ne(x1, x2)


def lt(x1: Any, x2: Any, /) -> Tensor:
    """Whether `a < b`."""
    return _lt(x1, x2)


def le(x1: Any, x2: Any, /) -> Tensor:
    """Whether `a <= b`."""
    return _le(x1, x2)


def gt(x1: Any, x2: Any, /) -> Tensor:
    """Whether `a > b`."""
    return _gt(x1, x2)


def ge(x1: Any, x2: Any, /) -> Tensor:
    """Whether `a >= b`."""
    return _ge(x1, x2)


def logical_and(x1: Any, x2: Any, /) -> Tensor:
    """Whether both are not zero. NaN is not zero."""
    return _logical_and(x1, x2)


def logical_or(x1: Any, x2: Any, /) -> Tensor:
    """Whether one is not zero. NaN is not zero."""
    return _logical_or(x1, x2)


def logical_xor(x1: Any, x2: Any, /) -> Tensor:
    """Whether one is zero and the other is not. NaN is not zero."""
    return _logical_xor(x1, x2)


def bitwise_and(x1: Any, x2: Any, /) -> Tensor:
    """Bit by bit, and."""
    return _bitwise_and(x1, x2)


def bitwise_or(x1: Any, x2: Any, /) -> Tensor:
    """Bit by bit, or."""
    return _bitwise_or(x1, x2)


def bitwise_xor(x1: Any, x2: Any, /) -> Tensor:
    """Bit by bit, exclusive or."""
    return _bitwise_xor(x1, x2)


def bitwise_left_shift(x1: Any, x2: Any, /) -> Tensor:
    """`a * 2^b`: bits shifted up; 0 for `b` negative or past the width."""
    return _bitwise_left_shift(x1, x2)


def bitwise_right_shift(x1: Any, x2: Any, /) -> Tensor:
    """`a / 2^b` rounded down: bits shifted down; 0 (−1 for negative `a`) for `b` negative or past the width."""
    return _bitwise_right_shift(x1, x2)


def min(x: Any, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The least element; NaN if there is one."""
    return _min(x, axis, keepdims)


def max(x: Any, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The greatest element; NaN if there is one."""
    return _max(x, axis, keepdims)


def any(x: Any, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Whether an element is not zero. NaN is not zero."""
    return _any(x, axis, keepdims)


def all(x: Any, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Whether no element is zero. NaN is not zero."""
    return _all(x, axis, keepdims)


def count_nonzero(x: Any, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The number of elements that are not zero, as `int64`. NaN is not zero."""
    return _count_nonzero(x, axis, keepdims)


def aminmax(x: Any, /, axis: Axes = None, *, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The least and the greatest element."""
    return _aminmax(x, axis, keepdims)


def argmax(x: Any, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Where the greatest element is along one axis, or (`..`) in C order among all."""
    return _argmax(x, axis, keepdims)


def argmin(x: Any, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Where the least element is along one axis, or (`..`) in C order among all."""
    return _argmin(x, axis, keepdims)


def median(x: Any, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The middle element over some axes, or the lower of the two middle ones, as in PyTorch (`quantile` of 0.5 is the mean of both); NaN if there is one."""
    return _median(x, axis, keepdims)


def mode(x: Any, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The most frequent element over some axes; the least of several equally frequent ones."""
    return _mode(x, axis, keepdims)


def nanmax(x: Any, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The greatest of the elements that are not NaN; NaN where there are no others."""
    return _nanmax(x, axis, keepdims)


def nanmean(x: Any, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The mean of the elements that are not NaN; NaN where there are no others."""
    return _nanmean(x, axis, keepdims)


def nanmedian(x: Any, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The median of the elements that are not NaN; NaN where there are no others."""
    return _nanmedian(x, axis, keepdims)


def nanmin(x: Any, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The least of the elements that are not NaN; NaN where there are no others."""
    return _nanmin(x, axis, keepdims)


def nanprod(x: Any, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The product of the elements that are not NaN; 1 where there are no others."""
    return _nanprod(x, axis, keepdims)


def nansum(x: Any, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The sum of the elements that are not NaN; 0 where there are no others."""
    return _nansum(x, axis, keepdims)


negative = neg
subtract = sub
multiply = mul
divide = div
equal = eq
not_equal = ne
less = lt
less_equal = le
greater = gt
greater_equal = ge
bitwise_invert = bitwise_not
__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "addcdiv",
    "addcmul",
    "addmm",
    "all",
    "allclose",
    "aminmax",
    "angle",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "array_equal",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "atleast_nd",
    "binary",
    "bincount",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "block",
    "block_diag",
    "bmm",
    "broadcast_to",
    "ceil",
    "clamp",
    "clip",
    "coalesce",
    "concat",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cummax",
    "cummin",
    "cumulative_prod",
    "cumulative_sum",
    "deg2rad",
    "delete",
    "diag",
    "diagonal",
    "diff",
    "digamma",
    "div",
    "divide",
    "dot",
    "einsum",
    "elu",
    "eq",
    "equal",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "flatten",
    "flip",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "gather",
    "gcd",
    "ge",
    "gelu",
    "get",
    "greater",
    "greater_equal",
    "gt",
    "hardsigmoid",
    "heaviside",
    "histogram",
    "hypot",
    "imag",
    "index_add",
    "index_put",
    "index_select",
    "indices",
    "interp",
    "is_lower_triangular",
    "is_stored",
    "is_structure_symmetric",
    "is_symmetric",
    "is_upper_triangular",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "khatri_rao",
    "kron",
    "lcm",
    "le",
    "leaky_relu",
    "lerp",
    "less",
    "less_equal",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_softmax",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "logsumexp",
    "lt",
    "mask",
    "mask_complement",
    "matmul",
    "matmul_reduce",
    "matmul_with",
    "matrix_power",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "median",
    "min",
    "minimum",
    "mm",
    "mode",
    "moveaxis",
    "mul",
    "multi_dot",
    "multiply",
    "mv",
    "mvlgamma",
    "nan_to_num",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "narrow",
    "ndiag",
    "ne",
    "neg",
    "negative",
    "nextafter",
    "nonzero",
    "normalize",
    "not_equal",
    "one_hot",
    "outer",
    "pad",
    "permute_dims",
    "polygamma",
    "positive",
    "pow",
    "prod",
    "prune",
    "quantile",
    "rad2deg",
    "real",
    "reciprocal",
    "reduce",
    "relu",
    "remainder",
    "repeat",
    "replace_fill",
    "reshape",
    "roll",
    "round",
    "rsqrt",
    "same_meaning",
    "sampled_addmm",
    "scatter",
    "scatter_reduce",
    "searchsorted",
    "sigmoid",
    "sign",
    "signbit",
    "silu",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "softsign",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "standardize",
    "std",
    "sub",
    "subtract",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensor_split",
    "tensordot",
    "tile",
    "to_bitmap",
    "to_dense",
    "to_diagonals",
    "to_layout",
    "to_sparse",
    "to_sparse_where",
    "topk",
    "tril",
    "triu",
    "trunc",
    "unary",
    "union",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unset",
    "unstack",
    "var",
    "vdot",
    "vecdot",
    "vector_norm",
    "view_as_complex",
    "view_as_real",
    "where",
    "with_fill",
    "with_stored_values",
    "xlogy",
]

METHODS = [
    "abs",
    "acos",
    "acosh",
    "add",
    "addcdiv",
    "addcmul",
    "addmm",
    "all",
    "allclose",
    "aminmax",
    "angle",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "array_equal",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "atleast_nd",
    "binary",
    "bincount",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bmm",
    "broadcast_to",
    "ceil",
    "clamp",
    "clip",
    "coalesce",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cummax",
    "cummin",
    "cumulative_prod",
    "cumulative_sum",
    "deg2rad",
    "delete",
    "diag",
    "diagonal",
    "diff",
    "digamma",
    "div",
    "divide",
    "dot",
    "elu",
    "eq",
    "equal",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "flatten",
    "flip",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "gather",
    "gcd",
    "ge",
    "gelu",
    "get",
    "greater",
    "greater_equal",
    "gt",
    "hardsigmoid",
    "heaviside",
    "histogram",
    "hypot",
    "imag",
    "index_add",
    "index_put",
    "index_select",
    "indices",
    "interp",
    "is_lower_triangular",
    "is_stored",
    "is_structure_symmetric",
    "is_symmetric",
    "is_upper_triangular",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "khatri_rao",
    "kron",
    "lcm",
    "le",
    "leaky_relu",
    "lerp",
    "less",
    "less_equal",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_softmax",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "logsumexp",
    "lt",
    "mask",
    "mask_complement",
    "matmul",
    "matmul_reduce",
    "matmul_with",
    "matrix_power",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "median",
    "min",
    "minimum",
    "mm",
    "mode",
    "moveaxis",
    "mul",
    "multiply",
    "mv",
    "mvlgamma",
    "nan_to_num",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "narrow",
    "ndiag",
    "ne",
    "neg",
    "negative",
    "nextafter",
    "nonzero",
    "normalize",
    "not_equal",
    "one_hot",
    "outer",
    "pad",
    "permute_dims",
    "polygamma",
    "positive",
    "pow",
    "prod",
    "prune",
    "quantile",
    "rad2deg",
    "real",
    "reciprocal",
    "reduce",
    "relu",
    "remainder",
    "repeat",
    "replace_fill",
    "reshape",
    "roll",
    "round",
    "rsqrt",
    "same_meaning",
    "sampled_addmm",
    "scatter",
    "scatter_reduce",
    "searchsorted",
    "sigmoid",
    "sign",
    "signbit",
    "silu",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "softsign",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "standardize",
    "std",
    "sub",
    "subtract",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensor_split",
    "tensordot",
    "tile",
    "to_bitmap",
    "to_dense",
    "to_diagonals",
    "to_layout",
    "to_sparse",
    "to_sparse_where",
    "topk",
    "tril",
    "triu",
    "trunc",
    "unary",
    "union",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unset",
    "unstack",
    "var",
    "vdot",
    "vecdot",
    "vector_norm",
    "view_as_complex",
    "view_as_real",
    "where",
    "with_fill",
    "with_stored_values",
    "xlogy",
]
