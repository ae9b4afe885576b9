"""The blocks of Python in the book that use this package are programs that run."""

import re
from pathlib import Path

import openwork as ow
import pytest

BOOK = Path(__file__).parents[2] / "book" / "src"
BLOCKS = [
    (path.relative_to(BOOK), block)
    for path in sorted(BOOK.rglob("*.md"))
    for block in re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    if "import openwork" in block
]


def test_there_are_some():
    assert BLOCKS


@pytest.mark.parametrize(("path", "block"), BLOCKS, ids=[str(path) for path, _ in BLOCKS])
def test_block(path, block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = ow.asarray([[0.0, 2.0], [1.0, 0.0]])
    ow.save("graph.npz", graph)
    exec(compile(block, str(path), "exec"), {"__name__": "__main__"})
    assert ow.array_equal(ow.load("graph.h5"), graph) if hasattr(ow, "array_equal") else True
