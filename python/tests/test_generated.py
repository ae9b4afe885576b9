"""That the package says what the library's catalogue says."""

import subprocess
import sys
from pathlib import Path

import pytest

import openwork as ow
from openwork import _core

HERE = Path(__file__).parent.parent
sys.path.insert(0, str(HERE / "tools"))


def test_files_are_those_of_the_catalogue():
    run = subprocess.run([sys.executable, HERE / "tools" / "generate.py", "--check"], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_op_has_a_function_or_a_reason():
    from signatures import FOLDED, RUST_ONLY

    names = {told[0] for told in _core.catalogue()}
    assert set(RUST_ONLY) <= names and FOLDED <= names
    for name, *_, callable_ in _core.catalogue():
        assert callable_ or name in RUST_ONLY, name
        assert hasattr(ow, name) or name in FOLDED or name in RUST_ONLY, name


def test_the_table_has_the_parameters_of_the_catalogue():
    for name, _, _, parameters, *_, callable_ in _core.catalogue():
        if callable_:
            assert _core.op(name).parameters == [p for p, _ in parameters], name


def test_documentation_and_signatures():
    import inspect

    assert ow.sort.__doc__.startswith("The elements along an axis in rising order")
    assert str(inspect.signature(ow.sum).parameters["keepdims"]) == "keepdims: 'bool' = False"
    for name in ow._ops.__all__:
        assert getattr(ow, name).__doc__, name
        assert hasattr(ow.Tensor, name) == (name in ow._ops.METHODS), name


def test_types():
    pytest.importorskip("mypy")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", HERE / "pyproject.toml", "-p", "openwork"],
        capture_output=True,
        text=True,
        cwd=HERE / "tests",
    )
    assert run.returncode == 0, run.stdout
