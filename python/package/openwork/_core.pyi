# Written by tools/generate.py from tools/core.pyi.in and the library's catalogue.
# fmt: off
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import Any, Literal

from ._adapt import Axes, DTypeLike, Fill, TopK, UniqueAll, UniqueCounts, UniqueInverse

Path = str | PathLike[str]

class Op:
    __name__: str
    parameters: list[str]
    def __call__(self, *args: Any) -> Any: ...

class Factored:
    def solve(self, b: Any) -> Tensor: ...
    def solve_adjoint(self, b: Any) -> Tensor: ...

class Gradient:
    """The gradient of a number by one operand of an op: by each stored element, and by the fill."""

    @property
    def stored(self) -> Tensor: ...
    @property
    def fill(self) -> Any: ...
    def with_fill(self) -> Tensor: ...
    def cotangent(self) -> Tensor: ...
    def __add__(self, other: Gradient) -> Gradient: ...

class Archive:
    def __init__(self, path: Path) -> None: ...
    def names(self) -> list[str]: ...
    def metadata(self) -> str: ...
    def tensor(self, name: str) -> Tensor: ...
    def rows(self, name: str, start: int, stop: int) -> Tensor: ...

class Tensor:
    """An N-dimensional tensor whose storage layout, element type and fill value are data."""

    def __new__(cls, obj: Any, /) -> Tensor: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def layout(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def fill_value(self) -> Any: ...
    @property
    def fill_kind(self) -> Literal["none", "scalar", "array", "undefined"]: ...
    @property
    def nse(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def density(self) -> float: ...
    @property
    def is_strided(self) -> bool: ...
    @property
    def is_coalesced(self) -> bool: ...
    @property
    def T(self) -> Tensor: ...
    @property
    def mT(self) -> Tensor: ...
    def stored(self) -> Tensor: ...
    def stored_values(self) -> Tensor: ...
    def shares_pattern(self, other: Tensor) -> bool: ...
    def item(self) -> Any: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> int: ...
    def __getitem__(self, key: Any) -> Tensor: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __add__(self, other: Any) -> Tensor: ...
    def __radd__(self, other: Any) -> Tensor: ...
    def __sub__(self, other: Any) -> Tensor: ...
    def __rsub__(self, other: Any) -> Tensor: ...
    def __mul__(self, other: Any) -> Tensor: ...
    def __rmul__(self, other: Any) -> Tensor: ...
    def __truediv__(self, other: Any) -> Tensor: ...
    def __rtruediv__(self, other: Any) -> Tensor: ...
    def __floordiv__(self, other: Any) -> Tensor: ...
    def __rfloordiv__(self, other: Any) -> Tensor: ...
    def __mod__(self, other: Any) -> Tensor: ...
    def __rmod__(self, other: Any) -> Tensor: ...
    def __pow__(self, other: Any) -> Tensor: ...
    def __rpow__(self, other: Any) -> Tensor: ...
    def __and__(self, other: Any) -> Tensor: ...
    def __rand__(self, other: Any) -> Tensor: ...
    def __or__(self, other: Any) -> Tensor: ...
    def __ror__(self, other: Any) -> Tensor: ...
    def __xor__(self, other: Any) -> Tensor: ...
    def __rxor__(self, other: Any) -> Tensor: ...
    def __lshift__(self, other: Any) -> Tensor: ...
    def __rlshift__(self, other: Any) -> Tensor: ...
    def __rshift__(self, other: Any) -> Tensor: ...
    def __rrshift__(self, other: Any) -> Tensor: ...
    def __matmul__(self, other: Any) -> Tensor: ...
    def __rmatmul__(self, other: Any) -> Tensor: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __lt__(self, other: Any) -> Tensor: ...
    def __le__(self, other: Any) -> Tensor: ...
    def __gt__(self, other: Any) -> Tensor: ...
    def __ge__(self, other: Any) -> Tensor: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any: ...
    def _constituents(self, extended: bool = False) -> tuple[str, dict[str, Tensor]]: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any: ...
    def __binsparse_descriptor__(self) -> dict[str, Any]: ...
    def __binsparse__(self, *, descriptor: Any = None) -> dict[str, Any]: ...
    def to_device(self, device: str, /, *, stream: Any = None) -> Tensor: ...
    def to_numpy(self, *, absent: Any = None, copy: bool | None = None) -> Any: ...
    def todense(self, *, absent: Any = None) -> Any: ...
    def to_scipy(self, format: str | None = None) -> Any: ...
    def to_pydata(self, format: str | None = None) -> Any: ...
    def to_torch(self) -> Any: ...
    def tolist(self) -> Any: ...
    def arrays(self) -> dict[str, Any]: ...
    def copy(self) -> Tensor: ...
    def map(self, f: Callable[[Any], Any]) -> Tensor: ...
    def apply_stored(self, f: Callable[[Any], Any]) -> Tensor: ...
    def allclose(self, x2: Any, /, rtol: float = 1e-5, atol: float = 1e-8, *, equal_nan: bool = False) -> bool:
        """Whether all elements are close: `|a - b| <= atol + rtol * |b|`, as in `isclose`."""
    def isclose(self, x2: Any, /, rtol: float = 1e-5, atol: float = 1e-8, *, equal_nan: bool = False) -> Tensor:
        """Whether elements are close: `|a - b| <= atol + rtol * |b|`; infinities are close to themselves alone, NaN to nothing."""
    def array_equal(self, x2: Any, /, *, equal_nan: bool = False) -> bool:
        """Whether both have the same shape and all their elements are equal (NumPy's `array_equal`, PyTorch's `equal`)."""
    def same_meaning(self, x2: Any, /) -> bool:
        """Whether both mean the same: shape, dtype, where an element is absent, and every element bit for bit (NaN like NaN; −0 is not 0)."""
    def is_lower_triangular(self) -> bool:
        """Whether every element above the diagonal is 0."""
    def is_structure_symmetric(self) -> bool:
        """Whether the structure is symmetric."""
    def is_symmetric(self) -> bool:
        """Whether each element is the same as its mirror image."""
    def is_upper_triangular(self) -> bool:
        """Whether every element below the diagonal is 0."""
    def ndiag(self) -> int:
        """How many elements on the diagonal are other than 0."""
    def argwhere(self) -> Tensor:
        """The indices of the elements that are not zero, in C order."""
    def delete(self, indices: Any, /, axis: int) -> Tensor:
        """Removes the listed elements along one axis."""
    def gather(self, index: Any, /, axis: int) -> Tensor:
        """Gathers one element per index: `out[…, i, …] = self[…, index[…, i, …], …]`."""
    def index_add(self, items: Any, values: Any, /) -> Tensor:
        """A copy with values added to what an index names; where a place is named several times, all are added."""
    def index_put(self, items: Any, values: Any, /) -> Tensor:
        """A copy with other elements at what an index names, lists and masks included; where a place is named several times, the last value counts."""
    def index_select(self, indices: Any, /, axis: int) -> Tensor:
        """The listed elements of one axis."""
    def nonzero(self) -> tuple[Tensor, ...]:
        """The indices of the elements that are not zero, in C order."""
    def scatter(self, index: Any, src: Any, /, axis: int) -> Tensor:
        """A copy with `self[…, index[…, i, …], …] = src[…, i, …]`."""
    def scatter_reduce(self, index: Any, src: Any, reduce: str, /, axis: int) -> Tensor:
        """As `scatter`, but all values that name a place meet there by a reduction (sum, prod, max or min), and meet what was there, unless that is absent."""
    def take(self, indices: Any, /, axis: Axes = None) -> Tensor:
        """The listed elements of one axis, or (`..`) of the flattened tensor."""
    def take_along_axis(self, indices: Any, /, axis: int = -1) -> Tensor:
        """Gathers one element per index: `out[…, i, …] = self[…, indices[…, i, …], …]`."""
    def unset(self, items: Any, /) -> Tensor:
        """A copy in which the named elements are what unstored ones are."""
    def one_hot(self, classes: int) -> Tensor:
        """Replaces each integer by a row of `classes` elements that is 1 at that index and 0 elsewhere."""
    def to_bitmap(self) -> tuple[Tensor, Tensor]:
        """Dense values, and a bool mask of what is stored."""
    def to_diagonals(self) -> tuple[Tensor, list[int]]:
        """The diagonals of a sparse matrix that store something, in the form of `from_diagonals`."""
    def to_sparse_where(self, mask: Any, /, layout: str = "coo", *, fill_value: Fill) -> Tensor:
        """The elements of a strided tensor that a mask chooses, stored in a layout; all else is the fill."""
    def addmm(self, a: Any, b: Any, /, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """`beta * self + alpha * (a @ b)`, of matrices."""
    def sampled_addmm(self, a: Any, b: Any, /, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """`beta * self + alpha * (a @ b)` where `self`, which is sparse, stores something; elsewhere its fill."""
    def bmm(self, x2: Any, /) -> Tensor:
        """The products of two batches of matrices, one by one."""
    def dot(self, x2: Any, /) -> complex:
        """The sum of the products of two vectors' elements."""
    def khatri_rao(self, x2: Any, /) -> Tensor:
        """The Kronecker products of columns of one number (Khatri and Rao)."""
    def matmul(self, x2: Any, /) -> Tensor:
        """The matrix product over the last two axes, leading axes broadcast."""
    def matmul_reduce(self, x2: Any, /, op: str) -> Tensor:
        """The products of elements of rows and columns, `self[i, k] * x2[k, j]`, folded over `k` by another op than the sum."""
    def matmul_with(self, x2: Any, /, semiring: str | None = "plus_times", *, mask: Any = None, accumulate: Any = None, accumulate_op: str = "add", replace: bool = False, layout: str | None = None) -> Tensor:
        """The matrix product over a semiring."""
    def matrix_power(self, n: int, /) -> Tensor:
        """A square matrix times itself, `n` times; the identity for 0."""
    def mm(self, x2: Any, /) -> Tensor:
        """The product of two matrices: `matmul` of nothing else."""
    def mv(self, vector: Any, /) -> Tensor:
        """The product of a matrix and a vector."""
    def tensordot(self, x2: Any, /, axes: Any = 2) -> Tensor:
        """The sums of the products of elements over some axes of both."""
    def vdot(self, x2: Any, /) -> complex:
        """The sum of the products of the elements of two tensors of one shape, those of `self` conjugated."""
    def vecdot(self, x2: Any, /, *, axis: int = -1) -> Tensor:
        """The inner products of vectors along an axis, those of `self` conjugated (the array API's `vecdot`)."""
    def sort(self, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Tensor:
        """The elements along an axis in rising order."""
    def argsort(self, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Tensor:
        """The places along an axis from which `sort` takes its elements, as `int64`."""
    def topk(self, k: int, /, axis: int = -1, *, largest: bool = True) -> TopK:
        """The `k` greatest elements along an axis, in order, and where they are."""
    def bincount(self, weights: Any = None, minlength: int = 0) -> Tensor:
        """How often each integer from 0 occurs."""
    def histogram(self, bins: int = 10, range: Any = None) -> tuple[Tensor, Tensor]:
        """How many elements fall into each of `bins` equal parts of a range."""
    def searchsorted(self, x2: Any, /, *, side: str = "left") -> Tensor:
        """For each element of `values`, the index at which inserting it keeps this vector sorted."""
    def unique_all(self) -> UniqueAll:
        """All that the other three give, and where each distinct element comes first in C order, stored or not."""
    def unique_counts(self) -> UniqueCounts:
        """The distinct elements, as `unique_values` gives them, and how often each occurs, exactly, as `int64`."""
    def unique_inverse(self) -> UniqueInverse:
        """The distinct elements, as `unique_values` gives them, and which of them each element is."""
    def unique_values(self) -> Tensor:
        """The distinct elements in rising order, as a strided vector; complex numbers by real, then imaginary parts."""
    def addcdiv(self, a: Any, b: Any, /, *, value: Any = 1) -> Tensor:
        """`x + value * (a / b)`."""
    def addcmul(self, a: Any, b: Any, /, *, value: Any = 1) -> Tensor:
        """`x + value * (a * b)`."""
    def binary(self, op: str, x2: Any, /) -> Tensor:
        """Applies a registered binary op with full broadcasting and dtype promotion."""
    def unary(self, op: str, /) -> Tensor:
        """Applies a registered unary op."""
    def clip(self, min: Any = None, max: Any = None) -> Tensor:
        """The array API's name of `clamp`."""
    def clamp(self, min: Any = None, max: Any = None) -> Tensor:
        """`min(max(x, min), max)`: PyTorch's `clamp`, the array API's `clip`."""
    def lerp(self, end: Any, weight: Any, /) -> Tensor:
        """`x + weight * (end - x)`, and the same from the other end, `end - (end - x) * (1 - weight)`, for weights of at least a half."""
    def mask(self, mask: Any, /) -> Tensor:
        """The elements where a bool mask is true; all others are absent, so that the result's fill is undefined."""
    def mask_complement(self, mask: Any, /) -> Tensor:
        """The elements where a bool mask is false."""
    def mvlgamma(self, p: float, /) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension `p`; NaN where `x` is at most `(p - 1) / 2`."""
    def polygamma(self, order: Any, /) -> Tensor:
        """The derivative of order `order` of `digamma`, which order 0 is."""
    def interp(self, xp: Any, fp: Any, /) -> Tensor:
        """The piecewise linear function through the points `(xp[i], fp[i])` at every element."""
    def positive(self) -> Tensor:
        """The tensor itself, of a numeric dtype."""
    def union(self, op: str, x2: Any, /, left_default: Any, right_default: Any) -> Tensor:
        """A binary op where at least one operand has an element."""
    def where(self, x1: Any, x2: Any, /) -> Tensor:
        """Each element from `x1` where this bool tensor is true, from `x2` where it is false."""
    def sum(self, axis: Axes = None, *, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:
        """The sum. Integers wrap, as `int64` or `uint64`; floats are added in `float64`."""
    def prod(self, axis: Axes = None, *, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:
        """The product. Integers wrap, as `int64` or `uint64`; floats are multiplied in `float64`."""
    def mean(self, axis: Axes = None, *, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:
        """The arithmetic mean: `float64` for integers of 32 bits and more, `float32` for others; NaN for no elements."""
    def var(self, axis: Axes = None, *, correction: float = 0.0, keepdims: bool = False) -> Tensor:
        """The variance over some axes: the sum of `|x − mean|²` divided by `n − correction`."""
    def std(self, axis: Axes = None, *, correction: float = 0.0, keepdims: bool = False) -> Tensor:
        """The square root of the variance."""
    def nanvar(self, axis: Axes = None, *, correction: float = 0.0, keepdims: bool = False) -> Tensor:
        """The variance of the elements that are not NaN."""
    def nanstd(self, axis: Axes = None, *, correction: float = 0.0, keepdims: bool = False) -> Tensor:
        """The standard deviation of the elements that are not NaN."""
    def quantile(self, q: float, /, axis: Axes = None, *, method: str = "linear", keepdims: bool = False) -> Tensor:
        """The element below which lies a share `q` of the others over some axes."""
    def nanquantile(self, q: float, /, axis: Axes = None, *, method: str = "linear", keepdims: bool = False) -> Tensor:
        """The quantile of the elements that are not NaN; NaN where there are no others."""
    def reduce(self, op: str, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
        """Folds over some axes, which are dropped, or kept with size 1."""
    def vector_norm(self, *, axis: Axes = None, ord: float = 2.0, keepdims: bool = False) -> Tensor:
        """The vector norm of order `ord` over some axes."""
    def cummax(self, axis: int = -1) -> Tensor:
        """The greatest element so far along an axis; NaN from the first NaN on."""
    def cummin(self, axis: int = -1) -> Tensor:
        """The least element so far along an axis; NaN from the first NaN on."""
    def cumulative_sum(self, axis: int | None = None, *, dtype: DTypeLike | None = None, include_initial: bool = False) -> Tensor:
        """Running sums along an axis."""
    def cumulative_prod(self, axis: int | None = None, *, dtype: DTypeLike | None = None, include_initial: bool = False) -> Tensor:
        """Running products along an axis: as `cumulative_sum`."""
    def diff(self, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Tensor:
        """The differences of neighbouring elements along an axis, taken `n` times."""
    def atleast_nd(self, ndim: int, /) -> Tensor:
        """Adds axes of size 1 in front until there are `ndim`."""
    def broadcast_to(self, shape: int | Sequence[int]) -> Tensor:
        """Broadcasts to a shape: axes of size 1 repeat, new axes come in front."""
    def diag(self, offset: int = 0) -> Tensor:
        """A matrix with this vector on a diagonal (`offset` above the main one), zero elsewhere, absent with an undefined fill; or of a matrix, its diagonal."""
    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
        """The elements at equal indices of two axes (`offset` added to the first is the second), as the last axis of the result; the two axes are removed."""
    def expand_dims(self, axis: Axes = 0) -> Tensor:
        """Inserts axes of size 1, which are the named axes of the result."""
    def flatten(self) -> Tensor:
        """All elements along one axis, in C order."""
    def flip(self, axis: Axes = None) -> Tensor:
        """The elements in reverse order along some axes."""
    def kron(self, x2: Any, /) -> Tensor:
        """The Kronecker product: a block for each element of `self`, which is `x2` times that element."""
    def matrix_transpose(self) -> Tensor:
        """Swaps the last two axes."""
    def moveaxis(self, source: Any, destination: Any, /) -> Tensor:
        """Moves axes to other places; the others keep their order."""
    def narrow(self, start: int, stop: int, /, axis: int) -> Tensor:
        """A window of one axis: the elements `range` of it."""
    def outer(self, x2: Any, /) -> Tensor:
        """Every element times every element of another tensor."""
    def pad(self, pad_width: Any, /, mode: str = "constant", *, value: Any = None) -> Tensor:
        """This tensor with a border around it."""
    def permute_dims(self, axes: Any, *more: Any) -> Tensor:
        """Reorders the axes: axis `i` of the result is axis `axes[i]`."""
    def repeat(self, repeats: Any, /, *, axis: Axes = None) -> Tensor:
        """Repeats each element along an axis, or (`..`) of the flattened tensor."""
    def reshape(self, shape: int | Sequence[int], *more: Any, copy: bool | None = None) -> Tensor:
        """The same elements, in C order, in another shape."""
    def roll(self, shift: Any, axis: Axes = None) -> Tensor:
        """Shifts the elements along some axes; those that leave at one end come back at the other."""
    def split(self, sizes: Any, /, axis: int = 0) -> tuple[Tensor, ...]:
        """Cuts an axis into parts of the given sizes; each as `narrow` gives it, all in one pass over what is stored where that has to be copied."""
    def squeeze(self, axis: Axes = None) -> Tensor:
        """Drops axes of size 1; `..` drops all that there are."""
    def swapaxes(self, a: Any, b: Any, /) -> Tensor:
        """Swaps two axes."""
    def tensor_split(self, indices: Any, /, axis: int = 0) -> tuple[Tensor, ...]:
        """Cuts an axis before each of the given indices, which must not decrease."""
    def tile(self, repetitions: Any, /) -> Tensor:
        """Lays copies of the tensor side by side."""
    def tril(self, k: int = 0) -> Tensor:
        """The elements on and below a diagonal of the last two axes (`k` above the main one); zero elsewhere, absent with an undefined fill."""
    def triu(self, k: int = 0) -> Tensor:
        """The elements on and above a diagonal; else as `tril`."""
    def unstack(self, axis: int = 0) -> tuple[Tensor, ...]:
        """A tensor for each index of an axis, without that axis."""
    def view_as_complex(self) -> Tensor:
        """Pairs along the last axis as complex numbers, the last axis dropped."""
    def view_as_real(self) -> Tensor:
        """Real and imaginary parts along a new last axis of size 2."""
    def softmax(self, axis: Axes = -1) -> Tensor:
        """`exp(x) / sum(exp(x))` over each slice along some axes, computed as `exp(x - m) / sum(exp(x - m))` with the slice's maximum `m`, so that nothing overflows."""
    def log_softmax(self, axis: Axes = -1) -> Tensor:
        """`x - logsumexp(x)` over each slice along some axes."""
    def logsumexp(self, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
        """`log(sum(exp(x)))` of each slice along some axes, which are dropped or kept with size 1."""
    def normalize(self, p: float = 2.0, axis: Axes = -1, *, eps: float = 1e-12) -> Tensor:
        """Divides each slice along some axes by its `p`-norm `sum(|x|^p)^(1/p)`, or by 1e-12 where the norm is less."""
    def standardize(self, axis: Axes = None, *, correction: float = 0.0) -> Tensor:
        """`(x - mean) / std` over each slice along some axes, with `std = sqrt(sum(|x - mean|²) / (n - correction))`."""
    def astype(self, dtype: DTypeLike | None, /, *, copy: bool | None = True, device: str | None = None) -> Tensor:
        """Casts every element; the fill is cast like any other."""
    def coalesce(self, op: str = "sum") -> Tensor:
        """Sorts the stored elements and sums duplicates."""
    def get(self, index: Any, /) -> complex | None:
        """The element at an index; `None` if it is absent (undefined fill, nothing stored)."""
    def indices(self) -> Tensor:
        """The coordinates of what is stored, `int64`."""
    def is_stored(self) -> Tensor:
        """Whether each element is stored, as a bool tensor with fill false."""
    def prune(self) -> Tensor:
        """Drops stored elements that are the same as the fill (bit for bit, NaN like NaN; −0 is not 0)."""
    def replace_fill(self, fill_value: Fill, /) -> Tensor:
        """Another fill, which changes what unstored elements are."""
    def with_fill(self, fill_value: Fill, /) -> Tensor:
        """The same elements with another fill."""
    def to_dense(self, absent: Any = None) -> Tensor:
        """The tensor with every element stored, strided."""
    def to_layout(self, layout: str, /) -> Tensor:
        """The same tensor in another layout, sorted and without duplicates."""
    def round(self, decimals: int = 0) -> Tensor:
        """The nearest integer; the even one of two."""
    def to_sparse(self, layout: str = "coo", *, fill_value: Fill = ...) -> Tensor:
        """The same elements stored sparsely."""
    def with_stored_values(self, values: Any, /, *, fill_value: Fill) -> Tensor:
        """Other values at the same positions."""
    def neg(self) -> Tensor:
        """`-x`. Integers wrap."""
    def abs(self) -> Tensor:
        """The absolute value; real for complex `x`. Integers wrap."""
    def sign(self) -> Tensor:
        """The sign: −1, 0 or 1, NaN for NaN; `x / |x|` for complex `x`."""
    def square(self) -> Tensor:
        """`x * x`. Integers wrap."""
    def sqrt(self) -> Tensor:
        """The square root; for complex `x` the one with a real part of at least 0."""
    def rsqrt(self) -> Tensor:
        """`1 / sqrt(x)`."""
    def reciprocal(self) -> Tensor:
        """`1 / x`."""
    def exp(self) -> Tensor:
        """`e` to the power of `x`."""
    def exp2(self) -> Tensor:
        """`2` to the power of `x`."""
    def expm1(self) -> Tensor:
        """`exp(x) - 1`, accurate near 0."""
    def log(self) -> Tensor:
        """The natural logarithm."""
    def log2(self) -> Tensor:
        """The logarithm to base 2."""
    def log10(self) -> Tensor:
        """The logarithm to base 10."""
    def log1p(self) -> Tensor:
        """`log(1 + x)`, accurate near 0."""
    def sin(self) -> Tensor:
        """The sine."""
    def cos(self) -> Tensor:
        """The cosine."""
    def tan(self) -> Tensor:
        """The tangent."""
    def sinh(self) -> Tensor:
        """The hyperbolic sine."""
    def cosh(self) -> Tensor:
        """The hyperbolic cosine."""
    def tanh(self) -> Tensor:
        """The hyperbolic tangent."""
    def asin(self) -> Tensor:
        """The inverse of the sine: between −π/2 and π/2, NaN outside ±1; for complex `x` cut along the real axis outside ±1."""
    def acos(self) -> Tensor:
        """The inverse of the cosine: between 0 and π, NaN outside ±1; for complex `x` cut as `asin`."""
    def atan(self) -> Tensor:
        """The inverse of the tangent: between −π/2 and π/2; for complex `x` cut along the imaginary axis outside ±i."""
    def asinh(self) -> Tensor:
        """The inverse of the hyperbolic sine; for complex `x` cut along the imaginary axis outside ±i."""
    def acosh(self) -> Tensor:
        """The inverse of the hyperbolic cosine, NaN below 1; for complex `x` cut along the real axis below 1."""
    def atanh(self) -> Tensor:
        """The inverse of the hyperbolic tangent, NaN outside ±1; for complex `x` cut along the real axis outside ±1."""
    def deg2rad(self) -> Tensor:
        """`x` in degrees, in radians: `x * (π / 180)`."""
    def rad2deg(self) -> Tensor:
        """`x` in radians, in degrees: `x * (180 / π)`."""
    def sigmoid(self) -> Tensor:
        """`1 / (1 + exp(-x))`."""
    def hardsigmoid(self) -> Tensor:
        """A line for `sigmoid`: `x / 6 + 1 / 2`, at least 0 and at most 1."""
    def softsign(self) -> Tensor:
        """`x / (1 + |x|)`; its limits ±1 for ±∞."""
    def logit(self) -> Tensor:
        """`log(x / (1 - x))`, the inverse of `sigmoid`; NaN outside 0 to 1."""
    def softplus(self) -> Tensor:
        """`log(1 + exp(x))`."""
    def silu(self) -> Tensor:
        """`x * sigmoid(x)`; 0, its limit, for −∞."""
    def gelu(self) -> Tensor:
        """`x * (1 + erf(x / sqrt(2))) / 2`; 0, its limit, for −∞."""
    def relu(self) -> Tensor:
        """`max(x, 0)`; NaN stays."""
    def leaky_relu(self) -> Tensor:
        """`x`, or `0.01 * x` below 0."""
    def elu(self) -> Tensor:
        """`x`, or `exp(x) - 1` below 0."""
    def erf(self) -> Tensor:
        """The error function: `2 / sqrt(π)` times the integral of `exp(-t * t)` from 0 to `x`."""
    def erfc(self) -> Tensor:
        """`1 - erf(x)`, accurate where `erf(x)` is almost 1."""
    def erfinv(self) -> Tensor:
        """The inverse of `erf`; ±∞ for ±1, NaN outside."""
    def lgamma(self) -> Tensor:
        """The logarithm of the absolute value of the gamma function; ∞ at 0 and negative integers."""
    def digamma(self) -> Tensor:
        """The derivative of `lgamma`; ∓∞ at ±0 and NaN at negative integers."""
    def floor(self) -> Tensor:
        """The greatest integer that is at most `x`."""
    def ceil(self) -> Tensor:
        """The least integer that is at least `x`."""
    def trunc(self) -> Tensor:
        """The integer part of `x`."""
    def isnan(self) -> Tensor:
        """Whether `x`, or a part of it, is NaN."""
    def isinf(self) -> Tensor:
        """Whether `x`, or a part of it, is infinite."""
    def isfinite(self) -> Tensor:
        """Whether `x` is neither NaN nor infinite."""
    def isposinf(self) -> Tensor:
        """Whether `x` is ∞."""
    def isneginf(self) -> Tensor:
        """Whether `x` is −∞."""
    def signbit(self) -> Tensor:
        """Whether the sign of `x` is minus: for floats the sign bit, that of −0 and NaN too."""
    def nan_to_num(self) -> Tensor:
        """`x` with 0 for NaN, and the greatest and the least finite number for ±∞; in each part of complex `x`."""
    def logical_not(self) -> Tensor:
        """Whether `x` is zero (false). NaN is not."""
    def bitwise_not(self) -> Tensor:
        """Every bit flipped; not, for bool."""
    def angle(self) -> Tensor:
        """The angle of complex `x`, between −π and π; for real `x` π below 0, else 0."""
    def conj(self) -> Tensor:
        """The complex conjugate."""
    def real(self) -> Tensor:
        """The real part."""
    def imag(self) -> Tensor:
        """The imaginary part: 0 for real `x`."""
    def add(self, x2: Any, /) -> Tensor:
        """`a + b`. Integers wrap; or, for bool."""
    def sub(self, x2: Any, /) -> Tensor:
        """`a - b`. Integers wrap."""
    def mul(self, x2: Any, /) -> Tensor:
        """`a * b`. Integers wrap; and, for bool."""
    def div(self, x2: Any, /) -> Tensor:
        """`a / b`, the true quotient: a float for integers."""
    def floor_divide(self, x2: Any, /) -> Tensor:
        """The quotient rounded down; 0 for integers divided by 0."""
    def remainder(self, x2: Any, /) -> Tensor:
        """`a - floor(a / b) * b`, which has the sign of `b`; 0 for integers divided by 0."""
    def fmod(self, x2: Any, /) -> Tensor:
        """The remainder of the quotient cut to an integer, which has the sign of `a`; 0 for integers divided by 0."""
    def gcd(self, x2: Any, /) -> Tensor:
        """The greatest common divisor; `|a|` for `b = 0`. Integers wrap."""
    def lcm(self, x2: Any, /) -> Tensor:
        """The least common multiple; 0 for `b = 0`. Integers wrap."""
    def pow(self, x2: Any, /) -> Tensor:
        """`a` to the power of `b`, 1 for `b = 0`. Integers wrap and truncate. Complex `0^b`: 0 for `Re b > 0`, ∞ below, NaN else."""
    def maximum(self, x2: Any, /) -> Tensor:
        """The greater of `a` and `b`; NaN if one is."""
    def minimum(self, x2: Any, /) -> Tensor:
        """The lesser of `a` and `b`; NaN if one is."""
    def fmax(self, x2: Any, /) -> Tensor:
        """The greater of `a` and `b`; of NaN and a number the number."""
    def fmin(self, x2: Any, /) -> Tensor:
        """The lesser of `a` and `b`; of NaN and a number the number."""
    def atan2(self, x2: Any, /) -> Tensor:
        """The angle of the point `(b, a)`, between −π and π."""
    def hypot(self, x2: Any, /) -> Tensor:
        """`sqrt(a * a + b * b)` without needless overflow."""
    def copysign(self, x2: Any, /) -> Tensor:
        """The magnitude of `a` with the sign of `b`."""
    def nextafter(self, x2: Any, /) -> Tensor:
        """The float next to `a` in the direction of `b`."""
    def logaddexp(self, x2: Any, /) -> Tensor:
        """`log(exp(a) + exp(b))`, without overflow."""
    def xlogy(self, x2: Any, /) -> Tensor:
        """`a * log(b)`, and 0 for `a = 0`, but NaN for NaN."""
    def heaviside(self, x2: Any, /) -> Tensor:
        """The step function: 0 for `a` below 0 or NaN, `b` for 0, 1 above."""
    def eq(self, x2: Any, /) -> Tensor:
        """Whether `a == b`."""
    def ne(self, x2: Any, /) -> Tensor:
        """Whether `a != b`."""
    def lt(self, x2: Any, /) -> Tensor:
        """Whether `a < b`."""
    def le(self, x2: Any, /) -> Tensor:
        """Whether `a <= b`."""
    def gt(self, x2: Any, /) -> Tensor:
        """Whether `a > b`."""
    def ge(self, x2: Any, /) -> Tensor:
        """Whether `a >= b`."""
    def logical_and(self, x2: Any, /) -> Tensor:
        """Whether both are not zero. NaN is not zero."""
    def logical_or(self, x2: Any, /) -> Tensor:
        """Whether one is not zero. NaN is not zero."""
    def logical_xor(self, x2: Any, /) -> Tensor:
        """Whether one is zero and the other is not. NaN is not zero."""
    def bitwise_and(self, x2: Any, /) -> Tensor:
        """Bit by bit, and."""
    def bitwise_or(self, x2: Any, /) -> Tensor:
        """Bit by bit, or."""
    def bitwise_xor(self, x2: Any, /) -> Tensor:
        """Bit by bit, exclusive or."""
    def bitwise_left_shift(self, x2: Any, /) -> Tensor:
        """`a * 2^b`: bits shifted up; 0 for `b` negative or past the width."""
    def bitwise_right_shift(self, x2: Any, /) -> Tensor:
        """`a / 2^b` rounded down: bits shifted down; 0 (−1 for negative `a`) for `b` negative or past the width."""
    def min(self, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
        """The least element; NaN if there is one."""
    def max(self, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
        """The greatest element; NaN if there is one."""
    def any(self, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
        """Whether an element is not zero. NaN is not zero."""
    def all(self, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
        """Whether no element is zero. NaN is not zero."""
    def count_nonzero(self, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
        """The number of elements that are not zero, as `int64`. NaN is not zero."""
    def aminmax(self, axis: Axes = None, *, keepdims: bool = False) -> tuple[Tensor, Tensor]:
        """The least and the greatest element."""
    def argmax(self, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
        """Where the greatest element is along one axis, or (`..`) in C order among all."""
    def argmin(self, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
        """Where the least element is along one axis, or (`..`) in C order among all."""
    def median(self, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
        """The middle element over some axes, or the lower of the two middle ones, as in PyTorch (`quantile` of 0.5 is the mean of both); NaN if there is one."""
    def mode(self, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
        """The most frequent element over some axes; the least of several equally frequent ones."""
    def nanmax(self, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
        """The greatest of the elements that are not NaN; NaN where there are no others."""
    def nanmean(self, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
        """The mean of the elements that are not NaN; NaN where there are no others."""
    def nanmedian(self, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
        """The median of the elements that are not NaN; NaN where there are no others."""
    def nanmin(self, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
        """The least of the elements that are not NaN; NaN where there are no others."""
    def nanprod(self, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
        """The product of the elements that are not NaN; 1 where there are no others."""
    def nansum(self, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
        """The sum of the elements that are not NaN; 0 where there are no others."""
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

def set_config(budget: int | None, threads: int | None, exact_nan: bool) -> tuple[int | None, int | None, bool]: ...
def config() -> tuple[int | None, int | None, bool]: ...
def densify_budget() -> int: ...
def explain_start() -> bool: ...
def explain_stop(goes_on: bool) -> list[tuple[str, str, list[str], str, str]]: ...
def after_fork() -> None: ...
def forked_threads() -> int: ...
def promote(a: Any, b: Any) -> Any: ...
def set_dtypes(objects: dict[str, Any], parse: Callable[[Any], str]) -> None: ...
def set_exceptions(axis: type, linalg: type, densify: type) -> None: ...
def set_converters(convert: Callable[[Any], Tensor], operand: Callable[[Any], Tensor | None]) -> None: ...
def file_info(path: Path) -> list[str]: ...
def read(path: Path, *, name: str | None = None, lenient: bool = False, shape: Sequence[int] | None = None,
         max_bytes: int | None = None, progress: Callable[[int, int], Any] | None = None) -> Tensor: ...
def write(path: Path, tensor: Tensor, *, compress: bool = False, extensions: bool = True,
          progress: Callable[[int, int], Any] | None = None) -> None: ...
def save_state_dict(path: Path, tensors: list[tuple[str, Tensor]], metadata: str) -> None: ...
def dump_state_dict(tensors: list[tuple[str, Tensor]], metadata: str) -> bytes: ...
def load_state_dict(bytes: bytes) -> list[tuple[str, Tensor]]: ...
def op(name: str) -> Op: ...
def catalogue() -> list[tuple[str, str, bool, list[tuple[str, str]], str, str, bool]]: ...
def full(shape: Any, value: Any, dtype: Any, layout: Any) -> Tensor: ...
def empty(shape: Any, dtype: Any, layout: Any, fill: Any) -> Tensor: ...
def scalar(value: Any, dtype: Any) -> Tensor: ...
def coo(shape: Any, indices: Sequence[Any], values: Any, fill_value: Any) -> Tensor: ...
def compressed(kind: str, shape: Any, pointers: Any, indices: Any, values: Any, fill_value: Any,
               is_unordered: bool) -> Tensor: ...
def eye(n: int, dtype: Any, layout: Any) -> Tensor: ...
def from_diagonals(shape: Any, diagonals: Any, offsets: Sequence[int], fill_value: Any) -> Tensor: ...
def arange(start: Any, stop: Any, step: Any) -> Tensor: ...
def linspace(start: float, stop: float, n: int) -> Tensor: ...
def rand(shape: Any, seed: int) -> Tensor: ...
def randn(shape: Any, seed: int) -> Tensor: ...
def random(shape: Any, density: float, fill_value: Any, layout_name: Any, seed: int) -> Tensor: ...
def from_dlpack(object: Any) -> Tensor: ...
def from_constituents(descriptor: str, arrays: list[tuple[str, Any]]) -> Tensor: ...
def einsum_path(equation: str, operands: Any) -> str: ...
def solve_triangular(a: Any, b: Any, upper: bool, unit_diagonal: bool, transpose: str) -> Tensor: ...
def solve_iteratively(method: str, a: Any, b: Any, tolerance: float | None, max_iterations: int | None,
                      start: Any, preconditioner: Any, callback: Any) -> tuple[Tensor, bool, int, list[float], str]: ...
def factorize(a: Any, method: str) -> Factored: ...
def vjp_of(name: str, wrt: int | None, /, *args: Any) -> Any: ...
def solve(a: Any, b: Any) -> Tensor: ...
def qr(a: Any) -> tuple[Tensor, Tensor]: ...
def eigh(a: Any) -> tuple[Tensor, Tensor]: ...
def svd(a: Any) -> tuple[Tensor, Tensor, Tensor]: ...
def eigsh(a: Any, k: int, which: str, tolerance: float | None, max_iterations: int | None) -> tuple[Tensor, Tensor]: ...
def svds(a: Any, k: int, tolerance: float | None, max_iterations: int | None) -> tuple[Tensor, Tensor, Tensor]: ...
