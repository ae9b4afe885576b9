"""SciPy, pydata/sparse and pandas: to and fro."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sparse
from conftest import dense, same, tensor

import openwork as ow

FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("is_matrix", [False, True])
def test_scipy(format, is_matrix, dtype):
    if dtype == "float16":
        return  # SciPy has none.
    a = dense(dtype)
    s = (sp.coo_matrix if is_matrix else sp.coo_array)(a).asformat(format)
    x = ow.asarray(s)
    same(x, a)
    assert x.layout[:3] == {"csr": "csr", "csc": "csc", "bsr": "bsr"}.get(format, "coo") and x.fill_value == 0
    back = x.to_scipy(format)
    assert back.format == format and back.dtype == dtype
    np.testing.assert_array_equal(back.toarray(), a)


def test_scipy_of_other_ranks():
    v = sp.coo_array(dense(shape=(7,)))
    same(ow.asarray(v), dense(shape=(7,)))
    same(ow.asarray(v.tocsr()), dense(shape=(7,)))
    t = dense(shape=(3, 4, 5))
    same(ow.asarray(sp.coo_array(t)), t)
    np.testing.assert_array_equal(tensor(t, "coo").to_scipy().toarray(), t)
    np.testing.assert_array_equal(tensor(dense(shape=(7,)), "coo").to_scipy().toarray(), dense(shape=(7,)))


def test_scipy_with_duplicates_and_out_of_order():
    rows, columns, values = [0, 0, 1, 0], [2, 0, 1, 2], [1.0, 2.0, 3.0, 4.0]
    s = sp.coo_array((values, (rows, columns)), shape=(2, 3))
    same(ow.asarray(s), s.toarray())
    c = sp.csr_array(([1.0, 2.0, 4.0, 3.0], [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))
    same(ow.asarray(c), c.toarray())
    np.testing.assert_array_equal(ow.asarray(c).to_scipy().toarray(), c.toarray())
    product = sp.random_array((50, 50), density=0.2, format="csr", rng=1)
    product = product @ product
    for given in (s, c, product, product.tocoo()):
        x = ow.asarray(given)
        assert x.is_coalesced and x.layout == given.format, given.format
        same(x, given.toarray())


def test_to_scipy_shares_memory():
    x = ow.random((100, 80), 0.1, layout="csr", seed=1)
    a, b = x.to_scipy(), x.to_scipy()
    for name in ("data", "indices", "indptr"):
        assert np.shares_memory(getattr(a, name), getattr(b, name)), name
    assert np.shares_memory(a.data, x.stored_values().to_numpy())


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "dcsr", "csf", "bsr2x3", "strided"])
def test_to_scipy(layout):
    a = dense()
    np.testing.assert_array_equal(tensor(a, layout).to_scipy().toarray(), a)
    for format in FORMATS:
        made = tensor(a, layout).to_scipy(format)
        assert made.format == format
        np.testing.assert_array_equal(made.toarray(), a)


@pytest.mark.parametrize("fill", [2.0, None, np.arange(6.0)])
def test_scipy_has_only_zero(fill):
    x = tensor(dense(), "csr").replace_fill(fill)
    with pytest.raises(ValueError, match="fill of 0"):
        x.to_scipy()


@pytest.mark.parametrize("fill", [0, 3])
@pytest.mark.parametrize("kind", ["coo", "gcxs", "dok"])
@pytest.mark.parametrize("shape", [(4, 6), (7,), (2, 3, 4)])
def test_pydata(fill, kind, shape):
    a = dense("int64", shape=shape, fill=fill)
    p = sparse.COO.from_numpy(a, fill_value=np.int64(fill)).asformat(kind)
    x = ow.asarray(p)
    same(x, a)
    assert x.fill_value == fill
    back = x.to_pydata()
    assert back.fill_value == fill and isinstance(back, sparse.COO)
    np.testing.assert_array_equal(back.todense(), a)
    assert isinstance(x.to_pydata("gcxs"), sparse.GCXS)


def test_pydata_has_only_values():
    x = tensor(dense(), "csr")
    for fill in (None, np.arange(6.0)):
        with pytest.raises(ValueError, match="one value"):
            x.replace_fill(fill).to_pydata()


def test_pandas():
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([0, 1, 0]), "b": pd.arrays.SparseArray([2, 0, 0])})
    same(ow.asarray(frame), np.array([[0, 2], [1, 0], [0, 0]]))
    series = pd.Series(pd.arrays.SparseArray([7.0, 1.0, 7.0], fill_value=7.0))
    x = ow.asarray(series)
    assert x.fill_value == 7.0 and x.nse == 1
    same(x, np.array([7.0, 1.0, 7.0]))
    same(ow.asarray(pd.DataFrame({"a": [1.0, 2.0]})), np.array([[1.0], [2.0]]))


def test_copy_is_false():
    s = sp.csr_array(dense())
    with pytest.raises(ValueError, match="copy=False"):
        ow.asarray(s, copy=False)
    x = ow.asarray(s)
    assert ow.asarray(x, copy=False) is x
    with pytest.raises(ValueError, match="copy=False"):
        ow.asarray([1, 2], copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        np.array(x, copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        ow.asarray(np.zeros(3), dtype="float32", copy=False)


def test_values_of_scipy_are_shared_and_copies_are_not():
    s = sp.csr_array(dense())
    x, y = ow.asarray(s), ow.asarray(s, copy=True)
    before = s.toarray()
    s.data *= 2
    same(x, s.toarray())
    same(y, before)
    s.indices[:] = 0
    same(y, before)


def test_operators_beside_other_libraries():
    a = dense()
    x, s = tensor(a, "csr"), sp.csr_array(a)
    same(x + s, a + a)
    same(x @ s.T, a @ a.T)
    same(x + sparse.COO.from_numpy(a), a + a)
    same(ow.matmul(s, x.T), a @ a.T)
    assert (x == s).all().item()
