"""NumPy's functions whose parameters or meaning are not those of our function of that name: the same on arrays and tensors."""

import numpy as np
import pytest
import scipy.special
from conftest import dense, same, tensor

import openwork as ow

A, B = dense(), np.abs(dense(seed=1)) + 1

# Each is called with NumPy's arrays and with tensors of some layouts.
CALLS = {
    "dot": lambda a, b: np.dot(a, b.T),
    "dot of vectors": lambda a, b: np.dot(a[0], b[0]),
    "dot of a matrix and a vector": lambda a, b: np.dot(a, b[0]),
    "dot of many axes": lambda a, b: np.dot(a.reshape((2, 2, 6)), b.reshape((2, 6, 2))),
    "dot with a number": lambda a, b: np.dot(a, 2.0),
    "inner": lambda a, b: np.inner(a, b),
    "outer flattens": lambda a, b: np.outer(a, b),
    "trace": lambda a, b: np.trace(a, offset=1),
    "einsum": lambda a, b: np.einsum("ij,ij->i", a, b),
    "einsum by numbers": lambda a, b: np.einsum(a, [0, 1], b, [2, 1], [2, 0]),
    "einsum by numbers, without a result": lambda a, b: np.einsum(a, [3, 1], b, [0, 1]),
    "einsum of all axes": lambda a, b: np.einsum(a, [Ellipsis, 0], b, [Ellipsis, 0]),
    "einsum in a dtype": lambda a, b: np.einsum("ij,ij->i", a, b, dtype="complex128"),
    "transpose by None": lambda a, b: np.transpose(a, None),
    "transpose by name": lambda a, b: np.transpose(a, axes=(1, 0)),
    "pad by name": lambda a, b: np.pad(a, pad_width=((1, 0), (2, 1)), constant_values=3),
    "pad of one axis": lambda a, b: np.pad(a, {0: 2, -1: (1, 0)}),
    "pad by reflection": lambda a, b: np.pad(a, 1, mode="reflect"),
    "repeat": lambda a, b: np.repeat(a, repeats=2, axis=1),
    "repeat of all": lambda a, b: np.repeat(a, 2),
    "tile": lambda a, b: np.tile(a, reps=(2, 1)),
    "roll of two axes": lambda a, b: np.roll(a, 2, axis=(0, 1)),
    "roll by two": lambda a, b: np.roll(a, shift=(1, -1), axis=(0, 1)),
    "fliplr": lambda a, b: np.fliplr(a),
    "flipud": lambda a, b: np.flipud(a),
    "ravel": lambda a, b: np.ravel(a),
    "ravel by columns": lambda a, b: np.ravel(a, order="F"),
    "reshape by columns": lambda a, b: np.reshape(a, (3, -1), order="F"),
    "round to decimals": lambda a, b: np.round(a / 3, 2),
    "around by name": lambda a, b: np.around(a * 100 / 3, decimals=-1),
    "clip by name": lambda a, b: np.clip(a, a_min=None, a_max=1),
    "clip by an array": lambda a, b: np.clip(a, 0, b),
    "clip without limits": lambda a, b: np.clip(a, None, None),
    "interp": lambda a, b: np.interp(a, [-2.0, 0.0, 2.0], [1.0, 5.0, 2.0]),
    "interp of complex values": lambda a, b: np.interp(a, [-2.0, 0.0, 2.0], [1j, 5.0, 2.0]),
    "median": lambda a, b: np.median(a, axis=0),
    "nanmedian": lambda a, b: np.nanmedian(a, axis=1, keepdims=True),
    "quantile": lambda a, b: np.quantile(a, 0.3, axis=1),
    "quantiles": lambda a, b: np.quantile(a, [0.1, 0.9], axis=0),
    "percentile": lambda a, b: np.percentile(a, 30, axis=0, method="lower"),
    "nanpercentile": lambda a, b: np.nanpercentile(a, [30, 60]),
    "nansum in a dtype": lambda a, b: np.nansum(a, axis=0, dtype="float32"),
    "nanprod": lambda a, b: np.nanprod(b, axis=0),
    "ptp": lambda a, b: np.ptp(a, axis=1),
    "cumsum of all": lambda a, b: np.cumsum(a),
    "cumsum": lambda a, b: np.cumsum(a, axis=1, dtype="float32"),
    "cumprod": lambda a, b: np.cumprod(b, 1),
    "sort of all": lambda a, b: np.sort(a, axis=None),
    "sort of a kind": lambda a, b: np.sort(a, axis=0, kind="stable"),
    "argsort": lambda a, b: np.argsort(a, axis=1, kind="stable"),
    "unique": lambda a, b: np.unique(a),
    "std": lambda a, b: np.std(a, axis=0, ddof=1),
    "vstack": lambda a, b: np.vstack([a, b[0]]),
    "hstack": lambda a, b: np.hstack([a, b]),
    "hstack of vectors": lambda a, b: np.hstack([a[0], b[0]]),
    "column_stack": lambda a, b: np.column_stack([a[:, 0], b]),
    "zeros_like of a shape": lambda a, b: np.zeros_like(a, shape=(2, 2), order="C"),
    "ones_like in a dtype": lambda a, b: np.ones_like(a, "int32", subok=True),
    "full_like": lambda a, b: np.full_like(a, 7.0, shape=3),
    "cbrt": lambda a, b: np.cbrt(a),
    "norm": lambda a, b: np.linalg.norm(a),
    "norm along an axis": lambda a, b: np.linalg.norm(a, 1, axis=-1, keepdims=True),
    "norm of a vector": lambda a, b: np.linalg.norm(a[0], np.inf),
    "norm by columns": lambda a, b: np.linalg.norm(a, 1),
    "norm by rows": lambda a, b: np.linalg.norm(a, ord=-np.inf, axis=(0, 1), keepdims=True),
    "norm by rows of a turned matrix": lambda a, b: np.linalg.norm(a, np.inf, axis=(1, 0)),
    "norm of Frobenius": lambda a, b: np.linalg.norm(a, "fro"),
    "spectral norm": lambda a, b: np.linalg.norm(a, 2),
    "nuclear norm": lambda a, b: np.linalg.norm(a, "nuc"),
    "least singular value": lambda a, b: np.linalg.norm(a, -2, keepdims=True),
    "average": lambda a, b: np.average(a, axis=0),
    "average with weights": lambda a, b: np.average(a, axis=1, weights=b),
    "average with weights of an axis": lambda a, b: np.average(a, axis=1, weights=np.asarray(b)[0]),
    "append": lambda a, b: np.append(a, b, axis=0),
    "append of all": lambda a, b: np.append(a, b),
    "atleast_2d": lambda a, b: np.atleast_2d(a[0]),
    "diff with a number before": lambda a, b: np.diff(a, prepend=0, append=b, axis=1),
    "fix": lambda a, b: np.fix(a),
    "flatnonzero": lambda a, b: np.flatnonzero(a),
    "isin a list": lambda a, b: np.isin(a, [1.0, 0.0]),
    "iscomplex": lambda a, b: np.iscomplex(a * 1j),
    "isreal": lambda a, b: np.isreal(a),
    "nan_to_num": lambda a, b: np.nan_to_num(np.sqrt(a / (a - 1)), nan=5.0, posinf=7.0),
    "searchsorted": lambda a, b: np.searchsorted(np.sort(a[0]), [0.0, 1.0], "right"),
    "take_along_axis": lambda a, b: np.take_along_axis(a, np.argsort(np.asarray(a), axis=1), 1),
    "tensordot by lists": lambda a, b: np.tensordot(a, b, [[0], [0]]),
    "vecdot": lambda a, b: np.vecdot(a, b),
    "matvec": lambda a, b: np.matvec(a, b[0]),
    "spacing": lambda a, b: np.spacing(b),
    "a function of SciPy": lambda a, b: scipy.special.gammaln(b),
    "a product of ufuncs": lambda a, b: np.multiply.outer(a[0], b[1]),
}
PARTS = {
    "split": lambda a: np.split(a, 3, axis=1),
    "hsplit": lambda a: np.hsplit(a, 2),
    "vsplit": lambda a: np.vsplit(a, 2),
    "atleast_1d": lambda a: np.atleast_1d(a, a[0, 0]),
    "split at": lambda a: np.split(a, [1, 2]),
    "array_split": lambda a: np.array_split(a, 4, axis=1),
    "unique with all": lambda a: np.unique(a, return_index=True, return_inverse=True, return_counts=True),
    "unique with counts": lambda a: np.unique(a, return_counts=True),
    "where is it true": lambda a: np.where(a > 0),
    "modf": lambda a: np.modf(a),
    "frexp": lambda a: np.frexp(a),
    "divmod": lambda a: divmod(a, 2.0),
    "divmod of a number": lambda a: divmod(7.0, abs(a) + 1),
}


@pytest.mark.filterwarnings("ignore:.* encountered in")
@pytest.mark.parametrize("layout", ["strided", "coo", "csr"])
@pytest.mark.parametrize("name", CALLS)
def test_as_numpy_does(name, layout):
    expected = CALLS[name](A, B)
    same(CALLS[name](tensor(A, layout), tensor(B, layout)), expected)


@pytest.mark.parametrize("layout", ["strided", "coo", "csr"])
@pytest.mark.parametrize("name", PARTS)
def test_parts_as_numpy_makes_them(name, layout):
    got, expected = PARTS[name](tensor(A, layout)), PARTS[name](A)
    assert len(got) == len(expected)
    for x, a in zip(got, expected):
        np.testing.assert_array_equal(np.asarray(x), a)


def test_unary_functions_of_others_keep_fill_and_layout():
    x = tensor(dense(fill=2.0), "csr", fill=2.0)
    y = scipy.special.expit(x)
    assert y.layout == "csr" and y.nse == x.nse and y.fill_value == scipy.special.expit(2.0)
    by_column = x - x.mean(axis=0, keepdims=True)
    same(np.cbrt(by_column), np.cbrt(by_column.to_numpy()))
    assert np.cbrt(by_column).fill_kind == "array"
    absent = x.replace_fill(None)
    assert np.cbrt(absent).fill_kind == "undefined" and np.cbrt(absent).nse == x.nse
    assert np.frexp(x)[1].dtype == "int32"


def test_what_numpy_asks_that_is_not_there():
    x = tensor(A, "csr")
    with pytest.raises(ValueError, match="one value"):
        np.pad(x, 1, constant_values=(1, 2))
    with pytest.raises(ValueError, match="do not divide"):
        np.split(x, 4, axis=1)
    with pytest.raises(ValueError, match="equal_nan"):
        np.unique(x, equal_nan=False)
    with pytest.raises(ValueError, match="order"):
        np.reshape(x, (6, 4), order="Z")
    with pytest.raises(ValueError, match="parts"):
        np.array_split(x, 0)
    with pytest.raises(ValueError, match="q is"):
        np.quantile(x, [[0.5]])
    with pytest.raises(TypeError, match="openwork.linalg.lstsq"):
        np.linalg.lstsq(x, x)
    with pytest.raises(ValueError, match="norm of matrices"):
        np.linalg.norm(x[0], "fro")
    with pytest.raises(ValueError, match="one or two"):
        np.linalg.norm(x.reshape((2, 2, 6)), 1)
    with pytest.raises(ValueError, match="weights"):
        np.average(x, weights=[1.0, 2.0])
    with pytest.raises(TypeError):
        np.einsum(x, x)
    with pytest.raises(TypeError):
        np.interp(x, [0.0, 1.0], [0.0, 1.0], left=5.0)
    with pytest.raises(TypeError):
        scipy.special.beta(x, 1.0)
    with pytest.raises(TypeError):
        divmod(x, "a")


def test_facts():
    x = tensor(A, "csr")
    assert np.shape(x) == (4, 6) and np.ndim(x) == 2 and np.size(x) == 24 and np.size(x, 1) == 6
    assert not np.iscomplexobj(x) and np.isrealobj(x) and np.iscomplexobj(x * 1j)
    assert np.result_type(x, np.float32) == "float64" and np.result_type(x.astype("int8"), 1.5) == (x.astype("int8") * 1.5).dtype
    assert np.vdot(x, x) == np.vdot(A, A)
    assert x.__sizeof__() > x.nbytes


def test_diagonals_far_outside():
    for k in (-(2**63), 2**63, -(2**70), 5, -5):
        assert ow.eye(4, 4, k=k, layout="coo").nse == 0


def test_limits_that_are_not_given():
    x = tensor(A, "csr")
    assert ow.clip(x) is x


def test_one_shift_for_several_axes(layout):
    x = tensor(A, layout)
    same(ow.roll(x, 1, axis=(0, 1)), np.roll(A, 1, axis=(0, 1)))
    same(ow.roll(x, ow.asarray(1), axis=[0, 1]), np.roll(A, 1, axis=(0, 1)))


def test_dictionaries_that_are_matrices():
    import scipy.sparse as sp

    x, keyed = tensor(A, "csr"), sp.dok_array(A)
    for made in (x + keyed, keyed + x):
        same(made, A + A)
    with pytest.raises(TypeError):
        x + {"a": 1}
