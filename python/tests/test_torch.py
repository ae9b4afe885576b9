"""PyTorch: to and fro, what is shared and what is copied, what is refused. `setup.sh --torch` installs it."""

import numpy as np
import pytest
from conftest import DTYPES, LAYOUTS, dense, same, tensor

import openwork as ow

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:Sparse .* tensor support is in beta", "ignore:Sparse invariant checks")

SPARSE = {
    "coo": lambda t: t.to_sparse(),
    "csr": lambda t: t.to_sparse_csr(),
    "csc": lambda t: t.to_sparse_csc(),
    "bsr2x3": lambda t: t.to_sparse_bsr((2, 3)),
    "bsc2x3": lambda t: t.to_sparse_bsc((2, 3)),
}


def address(x):
    return np.from_dlpack(x).__array_interface__["data"][0]


def test_strided(dtype):
    t = torch.from_numpy(dense(dtype))
    x = ow.asarray(t)
    same(x, dense(dtype))
    back = x.to_torch()
    assert back.dtype == t.dtype and torch.equal(back, t)


# PyTorch makes no sparse tensors of wide unsigned integers.
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in ("uint16", "uint32", "uint64")])
@pytest.mark.parametrize("layout", SPARSE)
def test_sparse(layout, dtype):
    t = torch.from_numpy(dense(dtype))
    made = SPARSE[layout](t)
    x = ow.asarray(made)
    assert x.layout == layout and x.fill_value == 0
    same(x, dense(dtype))
    back = x.to_torch()
    assert back.layout == made.layout and back.dtype == t.dtype and torch.equal(back.to_dense(), t)
    check = torch._validate_sparse_coo_tensor_args if layout == "coo" else torch._validate_sparse_compressed_tensor_args
    if layout == "coo":
        check(back.indices(), back.values(), back.shape)
    else:
        by_row = layout[2] == "r"
        pointers, indices = (back.crow_indices(), back.col_indices()) if by_row else (back.ccol_indices(), back.row_indices())
        check(pointers, indices, back.values(), back.shape, back.layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_goes_there(layout):
    made = tensor(dense(), layout).to_torch()
    named = layout if layout in SPARSE else "strided" if layout == "strided" else "coo"
    assert str(made.layout) == ("torch.strided" if named == "strided" else f"torch.sparse_{named[:3]}")
    np.testing.assert_array_equal(made.to_dense().numpy(), dense())


def test_bfloat16():
    t = torch.tensor([[1.5, 0.0], [0.0, -2.0]], dtype=torch.bfloat16)
    for made in (t, t.to_sparse(), t.to_sparse_csr()):
        x = ow.asarray(made)
        assert x.dtype == "bfloat16"
        back = x.to_torch()
        assert back.dtype == torch.bfloat16 and back.layout == made.layout and torch.equal(back.to_dense(), t)


def test_other_ranks():
    assert ow.asarray(torch.tensor(3.0)).shape == () == tuple(ow.asarray(3.0).to_torch().shape)
    assert ow.asarray(torch.tensor(3.0).to_sparse()).item() == 3.0
    t = torch.from_numpy(dense(shape=(3, 4, 5)))
    same(ow.asarray(t.to_sparse()), t.numpy())
    assert torch.equal(tensor(t.numpy(), "coo").to_torch().to_dense(), t)
    assert ow.asarray(torch.empty(0, 3)).shape == (0, 3)
    same(ow.asarray(torch.ones(1, 3).expand(2, 3)), np.ones((2, 3), "f4"))


def test_uncoalesced():
    t = torch.sparse_coo_tensor([[0, 1, 0], [1, 2, 1]], [1.0, 3.0, 2.0], (2, 3))
    assert not t.is_coalesced()
    x = ow.asarray(t)
    same(x, t.to_dense().numpy())
    assert x.to_torch().is_coalesced() and x.to_torch()._nnz() == 2 and not t.is_coalesced()


def test_elements_that_are_arrays():
    t = torch.sparse_coo_tensor([[0, 2]], [[1.0, 2.0], [3.0, 4.0]], (3, 2))
    x = ow.asarray(t)
    assert x.layout == "coo+1dense"
    same(x, t.to_dense().numpy())
    t = torch.sparse_csr_tensor([0, 1, 3], [2, 0, 1], torch.arange(12.0).reshape(3, 4), (2, 3, 4))
    x = ow.asarray(t)
    assert x.layout == "coo+1dense"
    same(x, t.to_dense().numpy())


@pytest.mark.parametrize("batches", [(1,), (2,), (2, 3)])
@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_batches(kind, batches):
    one = torch.from_numpy(dense("float32"))
    t = SPARSE[kind](one.expand(*batches, 4, 6).contiguous() * torch.rand(*batches, 1, 1))
    same(ow.asarray(t), t.to_dense().numpy())
    with pytest.raises(NotImplementedError, match="to_dense"):
        ow.asarray(SPARSE["bsr2x3"](torch.ones(2, 4, 6)))


def test_conjugates_that_are_not_computed():
    t = torch.tensor([1 + 2j, 0])
    same(ow.asarray(t.conj()), t.numpy().conj())
    same(ow.asarray(t.conj().imag), -t.numpy().imag)
    same(ow.asarray(t.to_sparse().conj()), t.numpy().conj())


def test_memory_is_shared_by_dlpack():
    t = torch.from_numpy(dense())
    x = ow.asarray(t)
    assert address(x) == t.data_ptr() == address(ow.from_dlpack(t))
    assert torch.from_dlpack(x).data_ptr() == t.data_ptr()
    t[0, 0] = 7.0
    assert x[0, 0].item() == 7.0
    turned = t.T[1:]
    assert address(ow.asarray(turned)) == turned.data_ptr()
    same(ow.asarray(turned), turned.numpy())
    del t, turned  # The memory lives on in the tensor.
    same(x, torch.from_dlpack(x).numpy())


@pytest.mark.parametrize("layout", SPARSE)
def test_sparse_values_are_shared_and_indices_are_not(layout):
    t = SPARSE[layout](torch.from_numpy(dense()))
    t = t.coalesce() if layout == "coo" else t
    x, apart = ow.asarray(t), ow.asarray(t, copy=True)
    assert address(x.stored_values()) == t.values().data_ptr() != address(apart.stored_values())
    inside = t.indices() if layout == "coo" else t.crow_indices() if layout[2] == "r" else t.ccol_indices()
    inside.fill_(10**9)
    same(x, dense())
    assert x.to_torch().values().data_ptr() != t.values().data_ptr()


def test_copies():
    t = torch.from_numpy(dense())
    assert address(ow.asarray(t, copy=False)) == t.data_ptr() != address(ow.asarray(t, copy=True))
    assert ow.asarray(t).to_torch().data_ptr() != t.data_ptr()
    for refused in (t.to_sparse(), t.to_sparse_csr(), t > 0, torch.tensor([1j]).conj()):
        with pytest.raises(ValueError, match="copy=False"):
            ow.asarray(refused, copy=False)


def test_gradients_end_here():
    t = torch.ones(3, requires_grad=True)
    for refused in (t, t * 2, torch.nn.Parameter(torch.ones(3)), t.to_sparse()):
        with pytest.raises(BufferError, match=r"requires_grad .*detach\(\)"):
            ow.asarray(refused)
        with pytest.raises(BufferError, match=r"requires_grad .*detach\(\)"):
            ow.sum(refused)
        assert ow.asarray(refused.detach()).shape == (3,)


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: torch.zeros(3, device="meta"), "meta"),
        (lambda: torch.ones(2, 2).to_mkldnn(), "mkldnn"),
        (lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), "nested"),
        (lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8), "quantised"),
        (lambda: torch.zeros(3, dtype=torch.float8_e4m3fn), "no element type"),
        (lambda: torch.zeros(3, dtype=torch.complex32), "no element type"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_refused(make, error):
    with pytest.raises((BufferError, TypeError), match=error):
        ow.asarray(make())


@pytest.mark.parametrize("fill", [2.0, None, np.arange(6.0)])
def test_pytorch_has_only_zero(fill):
    with pytest.raises(ValueError, match="fill of 0"):
        tensor(dense(), "csr").replace_fill(fill).to_torch()


def test_operators_beside_tensors_of_pytorch():
    a = dense()
    x, t = tensor(a, "csr"), torch.from_numpy(a)
    for made in (x + t, t + x, x + t.to_sparse(), x + t.to_sparse_csr()):
        same(made, a + a)
    same(x @ t.T, a @ a.T)
    same(t @ x.T, a @ a.T)


@pytest.mark.parametrize("name", ["m.safetensors", "m.h5"])
def test_a_module_from_a_file_of_sparse_tensors(tmp_path, name):
    weights = {"0.weight": tensor(dense("float32"), "csr"), "0.bias": ow.asarray(np.ones(4, "f4")),
               "2.weight": tensor(dense("float32", (2, 4)), "coo"), "2.bias": ow.zeros(2, dtype="float32", layout="coo")}
    ow.save_state_dict(tmp_path / name, weights)
    module = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    matched = module.load_state_dict(ow.torch_state_dict(tmp_path / name))
    assert not matched.missing_keys and not matched.unexpected_keys
    for key, parameter in module.named_parameters():
        np.testing.assert_array_equal(parameter.detach().numpy(), weights[key].to_numpy())
    inputs = np.random.default_rng(0).standard_normal((5, 6)).astype("f4")
    hidden = ow.relu(ow.asarray(inputs) @ weights["0.weight"].T + weights["0.bias"])
    expected = hidden @ weights["2.weight"].T + weights["2.bias"]
    np.testing.assert_allclose(module(torch.from_numpy(inputs)).detach().numpy(), expected.to_numpy(), rtol=1e-5, atol=1e-6)
    kept = ow.torch_state_dict(tmp_path / name, dense=False)
    assert kept["0.weight"].layout == torch.sparse_csr and kept["0.bias"].layout == torch.strided


def test_a_module_to_a_file(tmp_path):
    from torch.nn.utils import prune

    module = torch.nn.Linear(6, 4)
    prune.l1_unstructured(module, "weight", 0.5)
    prune.remove(module, "weight")
    sparse = {"weight": module.weight.detach().to_sparse_csr(), "bias": module.bias.detach()}
    ow.save_state_dict(tmp_path / "m.safetensors", sparse)
    other = torch.nn.Linear(6, 4)
    other.load_state_dict(ow.torch_state_dict(tmp_path / "m.safetensors"))
    assert torch.equal(other.weight, module.weight) and torch.equal(other.bias, module.bias)
    assert ow.load_state_dict(tmp_path / "m.safetensors")["weight"].nse == 12
