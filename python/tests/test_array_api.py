"""The namespace beside NumPy's and array-api-strict's: every function of the standard with the same arguments."""

import math

import array_api_strict as strict
import numpy as np
import pytest
from conftest import dense

import openwork as ow

FLOATS = ["float32", "float64"]
REALS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", *FLOATS]
NUMERIC = [*REALS, "complex64", "complex128"]
STANDARD = [d for d in ow._dtypes.DTYPES if d not in ("float16", "bfloat16")]


def functions_of_the_standard():
    """The names that array-api-strict has."""
    return sorted(n for n in strict.__all__ if not n.startswith("_"))


# Of the extension `linalg`: no factor `L` is given, the library has no determinants and no `cross`.
NOT_IN_LINALG = {"cholesky", "cross", "det", "eig", "eigvals", "slogdet"}
# Names of array-api-strict alone, or of the extension that is not there.
NOT_OURS = {"ArrayAPIStrictFlags", "Device", "fft", "get_array_api_strict_flags", "reset_array_api_strict_flags",
            "set_array_api_strict_flags", "ones_like_", "get_default_dtypes"}  # fmt: skip


def test_every_name_is_there():
    missing = [n for n in functions_of_the_standard() if not hasattr(ow, n) and n not in NOT_OURS]
    assert missing == []
    missing = {n for n in strict.linalg.__all__ if not hasattr(ow.linalg, n)}
    assert missing == NOT_IN_LINALG & set(strict.linalg.__all__)


def both(array, layout):
    x = ow.asarray(array)
    return x if layout == "strided" or array.ndim == 0 else x.to_sparse("coo", fill_value=np.zeros((), array.dtype))


def agree(got, expected):
    """The same shape, dtype and elements as a result of array-api-strict."""
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for g, e in zip(got, expected):
            agree(g, e)
        return
    if not isinstance(expected, strict._array_object.Array):
        assert got == expected
        return
    assert isinstance(got, ow.Tensor)
    expected = np.asarray(expected._array)
    assert got.shape == expected.shape and got.dtype == expected.dtype, (got.dtype, expected.dtype)
    # Sums may end in another last bit; imaginary zeros of either sign are zero.
    np.testing.assert_allclose(got.to_numpy(), expected, rtol=2e-6 if expected.dtype.itemsize in (4, 8) else 1e-9, atol=1e-6)


def run(name, arrays, *args, home="", **kwargs):
    """A function on strided and on COO tensors beside array-api-strict."""
    theirs, ours = (getattr(m, home) if home else m for m in (strict, ow))
    with np.errstate(all="ignore"):
        expected = getattr(theirs, name)(*(strict.asarray(a) for a in arrays), *args, **kwargs)
    for layout in ("strided", "coo"):
        given = [both(a, layout) for a in arrays]
        agree(getattr(ours, name)(*given, *args, **kwargs), expected)


UNARY = {
    "abs": NUMERIC, "acos": FLOATS, "acosh": FLOATS, "asin": FLOATS, "asinh": FLOATS, "atan": FLOATS, "atanh": FLOATS,
    "bitwise_invert": ["bool", *REALS[:8]], "ceil": REALS, "conj": NUMERIC, "cos": FLOATS, "cosh": FLOATS, "exp": FLOATS,
    "expm1": FLOATS, "floor": REALS, "imag": ["complex64", "complex128"], "isfinite": NUMERIC, "isinf": NUMERIC,
    "isnan": NUMERIC, "log": FLOATS, "log10": FLOATS, "log1p": FLOATS, "log2": FLOATS, "logical_not": ["bool"],
    # `round` of complex numbers is not there.
    "negative": NUMERIC, "positive": NUMERIC, "real": ["complex64", "complex128"], "reciprocal": FLOATS, "round": REALS,
    "sign": NUMERIC, "signbit": FLOATS, "sin": FLOATS, "sinh": FLOATS, "sqrt": FLOATS, "square": NUMERIC, "tan": FLOATS,
    "tanh": FLOATS, "trunc": REALS,
}  # fmt: skip
BINARY = {
    "add": NUMERIC, "atan2": FLOATS, "bitwise_and": ["bool", *REALS[:8]], "bitwise_or": ["bool", *REALS[:8]],
    "bitwise_xor": ["bool", *REALS[:8]], "copysign": FLOATS, "divide": [*FLOATS, "complex128"], "equal": STANDARD,
    "greater": REALS, "greater_equal": REALS, "hypot": FLOATS, "less": REALS, "less_equal": REALS, "logaddexp": FLOATS,
    "logical_and": ["bool"], "logical_or": ["bool"], "logical_xor": ["bool"], "maximum": REALS, "minimum": REALS,
    "multiply": NUMERIC, "nextafter": FLOATS, "not_equal": STANDARD, "subtract": NUMERIC,
}  # fmt: skip


@pytest.mark.parametrize("name, dtype", [(n, d) for n, all_ in UNARY.items() for d in all_])
def test_unary(name, dtype):
    a = dense(dtype)
    if name in ("acos", "asin", "atanh"):
        a = a / np.array(9, dtype)
    run(name, [a])
    if np.dtype(dtype).kind == "f" and name not in ("round",):
        run(name, [np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0], dtype)])


@pytest.mark.parametrize("name, dtype", [(n, d) for n, all_ in BINARY.items() for d in all_])
def test_binary(name, dtype):
    a, b = dense(dtype), dense(dtype, seed=1)
    run(name, [a, b])
    run(name, [a, b[:1]])
    run(name, [a, b[0, 0]])
    if np.dtype(dtype).kind == "f":
        special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.5], dtype)
        for layout in ("strided",):
            x, y = special[:, None], special[None, :]
            with np.errstate(all="ignore"):
                expected = getattr(strict, name)(strict.asarray(x), strict.asarray(y))
            agree(getattr(ow, name)(both(x, layout), both(y, layout)), expected)


@pytest.mark.parametrize("dtype", REALS)
def test_division_of_integers_and_powers(dtype):
    a, b = dense(dtype), np.abs(dense(dtype, seed=1)) + np.array(1, dtype)
    for name in ("floor_divide", "remainder"):
        run(name, [a, b])
        if np.dtype(dtype).kind != "u":
            run(name, [a, -b])
    run("pow", [b, np.abs(dense(dtype, seed=2)) % np.array(3, dtype)])
    if np.dtype(dtype).kind in "iu":
        run("bitwise_left_shift", [a, b % np.array(5, dtype)])
        run("bitwise_right_shift", [a, b % np.array(5, dtype)])


@pytest.mark.parametrize("one", STANDARD)
@pytest.mark.parametrize("other", STANDARD)
def test_promotion(one, other):
    def theirs():
        return strict.result_type(getattr(strict, one), getattr(strict, other))

    try:
        expected = theirs()._np_dtype
    except TypeError:
        return  # The standard does not say.
    assert ow.result_type(getattr(ow, one), getattr(ow, other)) == expected
    assert (ow.ones(2, dtype=one) == ow.ones(2, dtype=other)).dtype == ow.bool
    assert ow.can_cast(getattr(ow, one), getattr(ow, other)) == strict.can_cast(getattr(strict, one), getattr(strict, other))


@pytest.mark.parametrize("dtype", NUMERIC)
def test_python_numbers_beside_tensors(dtype):
    x = ow.ones(2, dtype=dtype)
    kind = np.dtype(dtype).kind
    numbers = {"i": [2], "u": [2], "f": [2, 0.5], "c": [2, 0.5, 1j]}[kind]
    for number in numbers:
        assert (x + number).dtype == (number + x).dtype == dtype
        assert ow.result_type(x, number) == dtype


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "std", "var", "any", "all", "count_nonzero"])
@pytest.mark.parametrize("dtype", STANDARD)
def test_reductions(name, dtype):
    kind = np.dtype(dtype).kind
    if name in ("mean", "std", "var") and kind not in "f" or name in ("max", "min") and kind in "bc":
        return
    if kind == "b" and name in ("sum", "prod"):
        return
    a = dense(dtype, shape=(3, 4))
    for axis in (None, 0, -1, (0, 1)):
        for keepdims in (False, True):
            run(name, [a], axis=axis, keepdims=keepdims)
    if name in ("sum", "prod") and kind == "f":
        run(name, [a], dtype=None, axis=0)
    if name in ("std", "var"):
        run(name, [a], axis=0, correction=1.0)


@pytest.mark.parametrize("dtype", REALS)
def test_search_and_order(dtype):
    a = dense(dtype, shape=(3, 4))
    for name in ("argmax", "argmin"):
        for axis in (None, 0, 1):
            run(name, [a], axis=axis)
            run(name, [a], axis=axis, keepdims=True)
    run("sort", [a], axis=0)
    run("sort", [a], descending=True)
    run("argsort", [a], stable=True)
    run("argsort", [a], axis=0)
    run("nonzero", [a])
    run("unique_values", [a])
    run("unique_counts", [a])
    run("unique_inverse", [a])
    run("cumulative_sum", [a], axis=1)
    run("cumulative_prod", [a], axis=0)
    run("cumulative_sum", [a], axis=1, include_initial=True)
    run("clip", [a], 1, 3)
    run("clip", [a], min=1)
    run("where", [a > 0, a, a[:1]])
    run("diff", [a], axis=1)
    run("diff", [a], axis=0, n=2)
    run("searchsorted", [np.unique(a), a[0]])
    run("searchsorted", [np.unique(a), a[0]], side="right")
    run("take", [a, np.array([2, 0, 2])], axis=1)
    run("take_along_axis", [a, np.argsort(a, axis=1)], axis=1)
    run("count_nonzero", [a], axis=1)
    if np.dtype(dtype).kind in "iu":
        run("isin", [a, a[0]])
    # Inverted beside NumPy: array-api-strict 2.6.1 leaves `invert` unheard.
    for x in (ow.asarray(a), both(a, "coo")):
        np.testing.assert_array_equal(ow.isin(x, a[:0], invert=True).to_numpy(), True)
        np.testing.assert_array_equal(ow.isin(x, 3, invert=True).to_numpy(), np.isin(a, 3, invert=True))


@pytest.mark.parametrize("dtype", STANDARD)
def test_manipulation(dtype):
    a = dense(dtype, shape=(3, 4))
    run("permute_dims", [a], (1, 0))
    run("reshape", [a], (2, 6))
    run("reshape", [a], (4, -1))
    run("expand_dims", [a], axis=1)
    run("squeeze", [a[None]], axis=0)
    run("flip", [a])
    run("flip", [a], axis=1)
    run("roll", [a], 1)
    run("roll", [a], (1, -1), axis=(0, 1))
    run("tile", [a], (2, 1))
    run("repeat", [a], 2)
    run("repeat", [a], 2, axis=1)
    run("moveaxis", [a], 0, 1)
    run("unstack", [a], axis=1)
    run("broadcast_to", [a], (2, 3, 4))
    run("tril", [a], k=-1)
    run("triu", [a], k=1)
    run("matrix_transpose", [a])
    expected = strict.concat([strict.asarray(a), strict.asarray(a)], axis=1)
    agree(ow.concat([ow.asarray(a), ow.asarray(a)], axis=1), expected)
    agree(ow.stack([ow.asarray(a), ow.asarray(a)], axis=1), strict.stack([strict.asarray(a)] * 2, axis=1))
    for indexing in ("xy", "ij"):
        vectors = [a[0], a[:, 0]]
        agree(
            ow.meshgrid(*map(ow.asarray, vectors), indexing=indexing),
            strict.meshgrid(*map(strict.asarray, vectors), indexing=indexing),
        )
    agree(ow.broadcast_arrays(ow.asarray(a), ow.asarray(a[:1])), strict.broadcast_arrays(strict.asarray(a), strict.asarray(a[:1])))


@pytest.mark.parametrize("dtype", NUMERIC)
def test_products(dtype):
    a, b = dense(dtype, shape=(3, 4)), dense(dtype, shape=(4, 2), seed=1)
    run("matmul", [a, b])
    run("matmul", [a, b[:, 0]])
    run("tensordot", [a, b], axes=1)
    run("tensordot", [a, b], axes=((1,), (0,)))
    run("vecdot", [a, a], axis=-2)
    run("outer", [a[0], b[:, 0]], home="linalg")
    run("trace", [a], home="linalg")
    run("diagonal", [a], home="linalg", offset=1)
    if np.dtype(dtype).kind == "f":
        run("vector_norm", [a], home="linalg", axis=1)
        run("vector_norm", [a], home="linalg", ord=math.inf)
        run("matrix_norm", [a], home="linalg")
        run("matrix_norm", [a], home="linalg", ord=1, keepdims=True)
        run("matrix_power", [a[:3, :3]], 3, home="linalg")
        square = a[:3, :3] + 5 * np.eye(3, dtype=dtype)
        run("solve", [square, a], home="linalg")
        run("inv", [square], home="linalg")
        run("pinv", [square], home="linalg")
        run("svdvals", [a], home="linalg")
        run("matrix_rank", [square], home="linalg")
        run("eigvalsh", [square + square.T], home="linalg")


def test_creation():
    for name, args, kwargs in [
        ("zeros", ((2, 3),), {}), ("ones", (3,), {}), ("full", ((2,), 7), {}), ("full", ((2,), 7.5), {}), ("full", ((), True), {}),
        ("full", ((2,), 1j), {}), ("arange", (5,), {}), ("arange", (1, 9, 2), {}), ("arange", (5, 0, -2), {}),
        ("arange", (0.0, 1.0, 0.25), {}), ("arange", (3, 1), {}), ("linspace", (0.0, 1.0, 5), {}),
        ("linspace", (0.0, 1.0, 5), {"endpoint": False}), ("linspace", (2, 3, 1), {}), ("linspace", (0j, 1 + 1j, 3), {}),
        ("eye", (3,), {}), ("eye", (2, 3), {"k": 1}), ("eye", (3, 2), {"k": -1}), ("eye", (2, 2), {"k": 5}),
        ("asarray", ([[1, 2], [3, 4]],), {}), ("asarray", (1.5,), {}), ("asarray", (True,), {}), ("asarray", ([1, 2.5],), {}),
        ("asarray", ([],), {}),
    ]:  # fmt: skip
        agree(getattr(ow, name)(*args, **kwargs), getattr(strict, name)(*args, **kwargs))
        for dtype in ("float32", "complex128"):
            if not (kwargs or args[-1] == 1j or name == "linspace" and isinstance(args[0], complex)):
                agree(
                    getattr(ow, name)(*args, dtype=getattr(ow, dtype)),
                    getattr(strict, name)(*args, dtype=getattr(strict, dtype)),
                )
    x = ow.ones((2, 3), dtype="int8")
    for name in ("zeros_like", "ones_like"):
        agree(getattr(ow, name)(x), getattr(strict, name)(strict.ones((2, 3), dtype=strict.int8)))
    agree(ow.full_like(x, 3), strict.full((2, 3), 3, dtype=strict.int8))
    assert ow.empty((2, 3)).shape == (2, 3) and ow.empty_like(x).dtype == "int8"


def test_namespace_and_its_facts():
    x = ow.ones(3)
    assert x.__array_namespace__() is ow and x.__array_namespace__(api_version="2024.12") is ow
    with pytest.raises(ValueError):
        x.__array_namespace__(api_version="1999.12")
    info, theirs = ow.__array_namespace_info__(), strict.__array_namespace_info__()
    assert info.default_device() == "cpu" and info.devices() == ["cpu"]
    assert info.capabilities()["boolean indexing"]
    for kind in (None, "bool", "integral", "numeric", "real floating", ("bool", "complex floating")):
        assert set(info.dtypes(kind=kind)) == set(theirs.dtypes(kind=kind))
    assert info.default_dtypes()["indexing"] == ow.int64
    for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"):
        for dtype in STANDARD:
            assert ow.isdtype(getattr(ow, dtype), kind) == strict.isdtype(getattr(strict, dtype), kind)
    with pytest.raises(ValueError):
        ow.isdtype(ow.int8, "no kind")
    assert (ow.e, ow.pi, ow.inf, ow.newaxis) == (math.e, math.pi, math.inf, None) and math.isnan(ow.nan)
    for dtype in FLOATS:
        assert ow.finfo(dtype).eps == strict.finfo(getattr(strict, dtype)).eps and isinstance(ow.finfo(dtype).max, float)
    assert ow.iinfo("int8").max == 127 and ow.finfo(ow.complex64).bits == 32
    assert x.to_device("cpu") is x and x.device == "cpu"
    with pytest.raises(ValueError):
        x.to_device("cuda")


def test_array_api_compat_and_extra():
    import array_api_compat
    import array_api_extra as xpx

    x = ow.asarray([[1.0, 2.0], [3.0, 5.0]])
    assert array_api_compat.array_namespace(x) is ow
    assert array_api_compat.is_array_api_obj(x) and array_api_compat.size(x) == 4
    assert array_api_compat.device(x) == "cpu"
    assert xpx.atleast_nd(x, ndim=3, xp=ow).shape == (1, 2, 2)
    np.testing.assert_allclose(xpx.cov(x.T, xp=ow).to_numpy(), np.cov(x.to_numpy().T))
    np.testing.assert_allclose(xpx.kron(x, x, xp=ow).to_numpy(), np.kron(x.to_numpy(), x.to_numpy()))
    np.testing.assert_allclose(xpx.sinc(x, xp=ow).to_numpy(), np.sinc(x.to_numpy()), atol=1e-12)
    assert xpx.nunique(x, xp=ow).item() == 4
