"""Files: one tensor, or many by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from typing import Any, Union

from . import _core
from ._adapt import as_tensor
from ._core import Tensor

Path = Union[str, "PathLike[str]"]


def load(
    path: Path,
    *,
    name: str | None = None,
    lenient: bool = False,
    shape: tuple[int, ...] | None = None,
    max_bytes: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Tensor:
    """Reads a tensor from a file: Matrix Market, FROSTT, TensorMarket, binsparse in NPZ, HDF5 or Zarr,
    safetensors. What the file begins with says which, else its name.

    `progress` is a function of what is done and what there is in all, or a bar of tqdm. Of texts it is told bytes of the file
    as they are read, of other files bytes of arrays. What it raises ends the reading, as Ctrl-C does.
    """
    return _core.read(
        path, name=name, lenient=lenient, shape=shape, max_bytes=max_bytes, progress=_relative(progress)
    )


read = load


def save(
    path: Path,
    tensor: Any,
    *,
    compress: bool = False,
    extensions: bool = True,
    progress: Callable[[int, int], Any] | None = None,
) -> None:
    """Writes a tensor to a file whose name gives the format, whole or not at all. What binsparse 0.1 has no words for is
    written in the name space `openwork`, unless `extensions=False`. `progress` as for `load`, of stored elements where texts are
    written; if it raises before the last call, no file is written, and one that was there stays."""
    _core.write(path, as_tensor(tensor), compress=compress, extensions=extensions, progress=_relative(progress))


def _relative(progress: Any) -> Any:
    """A function to call with done and total; of a bar of tqdm, one that moves it on."""
    if progress is None or not (hasattr(progress, "update") and hasattr(progress, "n")):
        return progress

    def show(done: int, total: int) -> None:
        progress.total = total
        progress.update(done - progress.n)

    return show


def info(path: Path) -> list[dict[str, Any]]:
    """What a file says about each tensor in it: shape, dtype, layout, fill, number stored; no array is read."""
    return [json.loads(text) for text in _core.file_info(path)]


class Archive(Mapping[str, Tensor]):
    """An open file of named tensors (safetensors or HDF5), as a mapping: each is read when it is asked for."""

    def __init__(self, path: Path) -> None:
        self._open = _core.Archive(path)
        self.metadata: dict[str, Any] = json.loads(self._open.metadata())

    def __getitem__(self, name: str) -> Tensor:
        return self._open.tensor(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._open.names())

    def __len__(self) -> int:
        return len(self._open.names())

    def rows(self, name: str, start: int, stop: int) -> Tensor:
        """A range of a tensor's outermost axis, read alone."""
        return self._open.rows(name, start, stop)


def open_state_dict(path: Path) -> Archive:
    """Opens a file of named tensors; each is read when it is asked for."""
    return Archive(path)


def load_state_dict(path: Path, *, progress: Callable[[int, int], Any] | None = None) -> dict[str, Tensor]:
    """Reads all tensors of a file by name. `progress` is a function of how many are read and how many there are, or a bar of
    tqdm; what it raises ends the reading."""
    archive, all_ = Archive(path), {}
    show = _relative(progress)
    for name in archive:
        all_[name] = archive[name]
        if show is not None:
            show(len(all_), len(archive))
    return all_


def save_state_dict(path: Path, tensors: Mapping[str, Any], metadata: Mapping[str, Any] | None = None) -> None:
    """Writes named tensors to a safetensors or HDF5 file, as its name says: whole or not at all."""
    named = [(name, as_tensor(x)) for name, x in tensors.items()]
    _core.save_state_dict(path, named, json.dumps(dict(metadata or {})))


def torch_state_dict(path: Path, *, dense: bool = True) -> dict[str, Any]:
    """A file's tensors as PyTorch's, for `module.load_state_dict(openwork.torch_state_dict(path))`; dense unless
    `dense=False`, for the parameters of most modules are."""
    return {name: (x.to_dense() if dense else x).to_torch() for name, x in Archive(path).items()}
