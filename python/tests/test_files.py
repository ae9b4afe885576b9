"""Files of one tensor and of many."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from conftest import dense, same, tensor

import openwork as ow


@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz", "a.npz", "a.tns", "a.safetensors", "a.h5"])
def test_round_trips(tmp_path, name):
    a = dense()
    x = tensor(a, "csr")
    path = tmp_path / name
    ow.save(path, x)
    y = ow.load(path, shape=(4, 6)) if name.endswith("tns") else ow.load(str(path))
    same(y, a)
    if name in ("a.npz", "a.safetensors", "a.h5"):
        assert y.same_meaning(x) and y.layout == "csr"
        (info,) = ow.info(path)
        assert info["shape"] == [4, 6]


def test_files_of_scipy(tmp_path):
    s = sp.random_array((20, 30), density=0.2, rng=np.random.default_rng(0))
    scipy.io.mmwrite(tmp_path / "a.mtx", s)
    same(ow.read(tmp_path / "a.mtx"), s.toarray())
    ow.save(tmp_path / "b.mtx", ow.asarray(s))
    np.testing.assert_allclose(scipy.io.mmread(tmp_path / "b.mtx").toarray(), s.toarray())


def test_fills_are_kept(tmp_path):
    x = tensor(dense(), "csr")
    for fill in (None, 2.0, np.arange(6.0)):
        y = x.replace_fill(fill)
        ow.save(tmp_path / "a.npz", y)
        z = ow.load(tmp_path / "a.npz")
        assert z.same_meaning(y) and z.fill_kind == y.fill_kind
    with pytest.raises(ValueError):
        ow.save(tmp_path / "b.npz", x.replace_fill(None), extensions=False)
    assert not (tmp_path / "b.npz").exists()


def test_state_dicts(tmp_path):
    weights = {"w": tensor(dense(), "csr"), "b": ow.asarray([1.0, 2.0]), "n": np.arange(3)}
    for name in ("m.safetensors", "m.h5"):
        path = tmp_path / name
        ow.save_state_dict(path, weights, {"made by": "a test"})
        archive = ow.open_state_dict(path)
        assert list(archive) == ["w", "b", "n"] and len(archive) == 3 and "w" in archive and "v" not in archive
        assert archive.metadata["made by"] == "a test"
        assert archive["w"].same_meaning(weights["w"])
        same(archive.rows("w", 1, 3), dense()[1:3])
        with pytest.raises(KeyError):
            archive["v"]
        assert set(ow.load_state_dict(path)) == set(weights)


def test_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        ow.load(tmp_path / "none.npz")
    with pytest.raises(ValueError):
        ow.save(tmp_path / "a.unknown", ow.zeros(3))
    (tmp_path / "bad.npz").write_bytes(b"no zip")
    with pytest.raises(ValueError):
        ow.load(tmp_path / "bad.npz")
    (tmp_path / "bad.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.0\n")
    with pytest.raises(ValueError, match="3"):
        ow.load(tmp_path / "bad.mtx")
    with pytest.raises((IsADirectoryError, ValueError)):
        ow.load(tmp_path)
    with pytest.raises(OSError):
        ow.save(tmp_path / "no" / "folder" / "a.npz", ow.zeros(3))


def test_progress(tmp_path):
    ow.save(tmp_path / "a.mtx", ow.random((300, 300), 0.5, seed=1))
    seen = []
    ow.load(tmp_path / "a.mtx", progress=lambda done, total: seen.append((done, total)))
    assert seen and seen[-1][0] == seen[-1][1]

    class Bar:
        n, total = 0, None

        def update(self, more):
            self.n += more

    bar = Bar()
    ow.load(tmp_path / "a.mtx", progress=bar)
    assert bar.n == bar.total > 0
