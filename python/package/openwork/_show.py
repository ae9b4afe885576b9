"""Tensors for people: a picture of what is stored."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from ._core import Tensor, op
from ._interop import numpy_of

_CELLS = 64


def pattern(x: Tensor, cells: int = _CELLS) -> np.ndarray[Any, Any]:
    """How many elements are stored in each cell of a grid over the last two axes."""
    rows, columns = (*(1,) * (2 - x.ndim), *x.shape)[-2:]
    height, width = min(cells, max(rows, 1)), min(cells, max(columns, 1))
    grid = np.zeros((height, width), dtype=np.int64)
    flat = op("to_layout")(x, "coo") if not x.is_strided else op("to_sparse")(x, "coo", 0)
    places = numpy_of(op("indices")(flat)) if x.ndim else np.zeros((flat.nse, 0), dtype=np.int64)
    if places.shape[0]:
        at_row = places[:, -2] * height // rows if x.ndim > 1 else np.zeros(len(places), dtype=np.int64)
        at_column = places[:, -1] * width // columns if x.ndim else np.zeros(len(places), dtype=np.int64)
        np.add.at(grid, (at_row, at_column), 1)
    return grid


def repr_html(self: Tensor) -> str:
    """For notebooks: what the tensor is, and where it stores something."""
    kind = self.fill_kind
    fill = {"none": "–", "undefined": "undefined", "array": "array"}.get(kind) or repr(self.fill_value)
    facts = {
        "shape": " × ".join(map(str, self.shape)) or "()",
        "dtype": str(getattr(self.dtype, "name", self.dtype)),
        "layout": self.layout,
        "fill": fill,
        "stored": f"{self.nse} of {self.size}" + (f" ({self.density:.2%})" if self.size else ""),
        "bytes": f"{self.nbytes:,}",
    }
    rows = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in facts.items())
    picture = ""
    if not self.is_strided and self.nse <= 1_000_000:
        grid = pattern(self, 32)
        most = max(int(grid.max()), 1)
        height, width = grid.shape
        dots = "".join(
            f'<rect x="{c}" y="{r}" width="1" height="1" fill-opacity="{0.3 + 0.7 * int(grid[r, c]) / most:.2f}"/>'
            for r, c in zip(*np.nonzero(grid))
        )
        picture = f'<td><svg width="96" height="96" viewBox="0 0 {width} {height}" preserveAspectRatio="none">'
        picture += f'<rect width="{width}" height="{height}" fill="none" stroke="gray" stroke-width="0.1"/>{dots}</svg></td>'
    return f"<table><tr><td><table>{rows}</table></td>{picture}</tr></table>"


def spy(x: Tensor, ax: Any = None, **kwargs: Any) -> Any:
    """A matplotlib axis that shows where a matrix (the last two axes of a tensor) stores something."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots()
    rows, columns = (*(1,) * (2 - x.ndim), *x.shape)[-2:]
    ax.imshow(pattern(x, 512) > 0, cmap="Greys", aspect="auto", extent=(0, columns, rows, 0), **kwargs)
    ax.set_title(f"{x.layout}, {x.nse} of {x.size}")
    return ax
