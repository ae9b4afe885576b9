"""How ops of the catalogue are called from Python, where that does not follow from the kinds of their parameters.

A line of `SIGNATURES` is `name(parameters)`, perhaps `= expression`; without one the op of that name is called with the
parameters in their order. In an expression `_name` is the op `name` of the library. What Rust says with two methods
(`sort` and `sort_descending`) is one function with a flag here, as NumPy and the array API have it.
"""

# The array API's name for an op that Rust calls otherwise; both are there.
ALIASES = {
    "neg": "negative", "sub": "subtract", "mul": "multiply", "div": "divide", "eq": "equal", "ne": "not_equal",
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "bitwise_not": "bitwise_invert",
}

# What has no function in Python, and why.
RUST_ONLY = {
    **{name: "takes a function of single elements: use map() or apply_stored(), whose functions take whole arrays"
       for name in ("apply_stored", "index_map", "map", "reduce_with", "select", "select_values", "zip_many", "zip_with",
                    "zip_with3")},
    **{name: "writes over its tensor: tensors of Python never change"
       for name in ("add_assign", "binary_assign", "binary_into", "div_assign", "matmul_into", "mul_assign", "sub_assign",
                    "unary_assign", "unary_into")},
    **{name: "has a form of its own in Python" for name in ("from_entries", "item_as", "to_vec", "arange", "eye",
       "from_diagonals", "isin", "linspace", "rand", "randn", "random", "to_levels")},
}

SIGNATURES = """
allclose(x1, x2, /, rtol=1e-5, atol=1e-8, *, equal_nan=False) = (_allclose_nan if equal_nan else _allclose)(x1, x2, rtol, atol)
isclose(x1, x2, /, rtol=1e-5, atol=1e-8, *, equal_nan=False) = (_isclose_nan if equal_nan else _isclose)(x1, x2, rtol, atol)
array_equal(x1, x2, /, *, equal_nan=False) = (_equal_nan if equal_nan else _equal)(x1, x2)
same_meaning(x1, x2, /)
is_lower_triangular(x, /)
is_structure_symmetric(x, /)
is_symmetric(x, /)
is_upper_triangular(x, /)
ndiag(x, /)
argwhere(x, /)
delete(x, indices, /, axis)
gather(x, index, /, axis)
index_add(x, items, values, /)
index_put(x, items, values, /)
index_select(x, indices, /, axis)
nonzero(x, /)
scatter(x, index, src, /, axis)
scatter_reduce(x, index, src, reduce, /, axis)
take(x, indices, /, axis=None)
take_along_axis(x, indices, /, axis=-1)
unset(x, items, /)
one_hot(x, /, classes)
to_bitmap(x, /)
to_diagonals(x, /)
to_sparse_where(x, mask, /, layout="coo", *, fill_value)
addmm(x, a, b, /, *, beta=1, alpha=1) = _addmm(x, a, b, beta, alpha)
sampled_addmm(x, a, b, /, *, beta=1, alpha=1) = _sampled_addmm(x, a, b, beta, alpha)
bmm(x1, x2, /)
dot(x1, x2, /)
khatri_rao(x1, x2, /)
matmul(x1, x2, /)
matmul_reduce(x1, x2, /, op)
matmul_with(x1, x2, /, semiring="plus_times", *, mask=None, accumulate=None, accumulate_op="add", replace=False, layout=None)
matrix_power(x, n, /)
mm(x1, x2, /)
mv(x, vector, /)
tensordot(x1, x2, /, axes=2) = _tensordot(x1, x2, _pair(axes))
vdot(x1, x2, /)
vecdot(x1, x2, /, *, axis=-1)
sort(x, /, axis=-1, *, descending=False, stable=True) = (_sort_descending if descending else _sort)(x, axis)
argsort(x, /, axis=-1, *, descending=False, stable=True) = (_argsort_descending if descending else _argsort)(x, axis)
topk(x, k, /, axis=-1, *, largest=True) = TopK(*(_topk if largest else _topk_smallest)(x, k, axis))
bincount(x, /, weights=None, minlength=0)
histogram(x, /, bins=10, range=None)
searchsorted(x1, x2, /, *, side="left") = _side(side, _searchsorted, _searchsorted_right)(x1, x2)
unique_all(x, /) = UniqueAll(*_unique_all(x))
unique_counts(x, /) = UniqueCounts(*_unique_counts(x))
unique_inverse(x, /) = UniqueInverse(*_unique_inverse(x))
unique_values(x, /)
addcdiv(x, a, b, /, *, value=1)
addcmul(x, a, b, /, *, value=1)
binary(x1, op, x2, /)
unary(x, op, /)
clip(x, /, min=None, max=None) = _clip(x, min, max) if min is not None or max is not None else as_tensor(x)
clamp(x, /, min=None, max=None)
lerp(x, end, weight, /)
mask(x, mask, /)
mask_complement(x, mask, /)
mvlgamma(x, p, /)
polygamma(x, order, /)
interp(x, xp, fp, /)
positive(x, /)
union(x1, op, x2, /, left_default, right_default)
where(condition, x1, x2, /) = _where_(condition, x1, x2)
sum(x, /, axis=None, *, dtype=None, keepdims=False) = _sum(x, axis, keepdims) if dtype is None else _sum_as(x, dtype, axis, keepdims)
prod(x, /, axis=None, *, dtype=None, keepdims=False) = _prod(x, axis, keepdims) if dtype is None else _prod_as(x, dtype, axis, keepdims)
mean(x, /, axis=None, *, dtype=None, keepdims=False) = _mean(x, axis, keepdims) if dtype is None else _mean_as(x, dtype, axis, keepdims)
var(x, /, axis=None, *, correction=0.0, keepdims=False) = _var(x, correction, axis, keepdims)
std(x, /, axis=None, *, correction=0.0, keepdims=False) = _std(x, correction, axis, keepdims)
nanvar(x, /, axis=None, *, correction=0.0, keepdims=False) = _nanvar(x, correction, axis, keepdims)
nanstd(x, /, axis=None, *, correction=0.0, keepdims=False) = _nanstd(x, correction, axis, keepdims)
quantile(x, q, /, axis=None, *, method="linear", keepdims=False) = _quantile_with(x, q, method, axis, keepdims)
nanquantile(x, q, /, axis=None, *, method="linear", keepdims=False) = _nanquantile_with(x, q, method, axis, keepdims)
reduce(x, op, /, axis=None, *, keepdims=False)
vector_norm(x, /, *, axis=None, ord=2.0, keepdims=False) = _vector_norm(x, ord, axis, keepdims)
cummax(x, /, axis=-1)
cummin(x, /, axis=-1)
cumulative_sum(x, /, axis=None, *, dtype=None, include_initial=False) = _running(x, axis, dtype, include_initial, _cumulative_sum, _cumulative_sum_as, _cumulative_sum_with_initial)
cumulative_prod(x, /, axis=None, *, dtype=None, include_initial=False) = _running(x, axis, dtype, include_initial, _cumulative_prod, _cumulative_prod_as, _cumulative_prod_with_initial)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None) = _diff(_joined(prepend, x, append, axis), n, axis)
atleast_nd(x, ndim, /)
broadcast_to(x, /, shape)
diag(x, /, offset=0)
diagonal(x, /, offset=0, axis1=0, axis2=1)
expand_dims(x, /, axis=0)
flatten(x, /)
flip(x, /, axis=None)
kron(x1, x2, /)
matrix_transpose(x, /)
moveaxis(x, source, destination, /)
narrow(x, start, stop, /, axis) = _narrow(x, (start, stop), axis)
outer(x1, x2, /)
pad(x, pad_width, /, mode="constant", *, value=None) = _pad(x, _widths(x, pad_width), _border(mode, value))
permute_dims(x, /, axes, *more) = _permute_dims(x, _axes(axes, *more))
repeat(x, repeats, /, *, axis=None) = _repeat(x, _integers(repeats), axis)
reshape(x, /, shape, *more, copy=None) = _reshape(x, _sizes(x, shape, *more))
roll(x, /, shift, axis=None) = _roll(x, _shifts(shift, axis), axis)
split(x, sizes, /, axis=0)
squeeze(x, /, axis=None)
swapaxes(x, a, b, /)
tensor_split(x, indices, /, axis=0)
tile(x, repetitions, /)
tril(x, /, k=0)
triu(x, /, k=0)
unstack(x, /, axis=0)
view_as_complex(x, /)
view_as_real(x, /)
softmax(x, /, axis=-1)
log_softmax(x, /, axis=-1)
logsumexp(x, /, axis=None, *, keepdims=False)
normalize(x, /, p=2.0, axis=-1, *, eps=1e-12) = _normalize_with(x, p, eps, axis)
standardize(x, /, axis=None, *, correction=0.0) = _standardize(x, correction, axis)
astype(x, dtype, /, *, copy=True, device=None) = _cast(_on(device, x), dtype)
coalesce(x, /, op="sum") = _coalesce_with(x, op)
get(x, index, /)
indices(x, /)
is_stored(x, /)
prune(x, /)
replace_fill(x, fill_value, /)
with_fill(x, fill_value, /)
to_dense(x, /, absent=None) = _to_dense(x) if absent is None else _to_dense_with(x, absent)
to_layout(x, layout, /)
round(x, /, decimals=0) = _rounded(x, decimals)
to_sparse(x, /, layout="coo", *, fill_value=...) = _in_layout(x, layout, fill_value)
with_stored_values(x, values, /, *, fill_value)
einsum(equation, /, *operands, semiring=None) = _einsum(equation, operands) if semiring is None else _einsum_with(equation, operands, semiring)
multi_dot(arrays, /)
block(rows, /)
block_diag(arrays, /)
concat(arrays, /, axis=0) = _concat(arrays, axis) if axis is not None else _concat([_flatten(x) for x in arrays], 0)
stack(arrays, /, axis=0)
"""

# Ops of the catalogue that a function of another name calls, or that have a shorter word in Python.
FOLDED = {
    "allclose_nan", "isclose_nan", "equal", "equal_nan", "sort_descending", "argsort_descending", "topk_smallest",
    "searchsorted_right", "sum_as", "prod_as", "mean_as", "quantile_with", "nanquantile_with", "cumulative_sum_as",
    "cumulative_sum_with_initial", "cumulative_prod_as", "cumulative_prod_with_initial", "normalize_with", "cast",
    "coalesce_with", "to_dense_with", "einsum_with", "where_", "binary_from", "index", "slice", "slice_assign", "t", "mt",
}

# The documentation of functions whose op has another name.
DOCUMENTED_AS = {"array_equal": "equal", "astype": "cast", "where": "where_"}

# The types of parameters by name.
TYPES = {
    "axis": "Axes", "axes": "Any", "keepdims": "bool", "dtype": "DTypeLike | None", "shape": "int | Sequence[int]",
    "layout": "str", "fill_value": "Fill", "op": "str", "reduce": "str", "semiring": "str | None", "equal_nan": "bool",
    "rtol": "float", "atol": "float", "descending": "bool", "stable": "bool", "largest": "bool", "k": "int", "n": "int",
    "side": "str", "correction": "float", "method": "str", "q": "float", "ord": "float", "copy": "bool | None",
    "device": "str | None", "classes": "int", "bins": "int", "minlength": "int", "offset": "int", "equation": "str",
    "include_initial": "bool", "ndim": "int", "decimals": "int", "p": "float", "eps": "float", "replace": "bool", "accumulate_op": "str",
    "arrays": "Sequence[Any]", "rows": "Sequence[Sequence[Any]]", "start": "int", "stop": "int", "mode": "str",
    "axis1": "int", "axis2": "int", "a": "Any", "b": "Any",
}

# Results by the Rust type of the catalogue.
RESULTS = {
    "Tensor": "Tensor", "bool": "bool", "u128": "int", "Scalar": "complex", "Option<Scalar": "complex | None",
    "Vec<Tensor": "tuple[Tensor, ...]", "(Tensor, Tensor)": "tuple[Tensor, Tensor]",
    "(Tensor, Vec<isize>)": "tuple[Tensor, list[int]]", "Unique": "UniqueAll", "UniqueCounts": "UniqueCounts",
    "UniqueInverse": "UniqueInverse",
}
