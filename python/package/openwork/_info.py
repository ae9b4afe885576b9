"""What the namespace says about itself, as the array API asks."""

from __future__ import annotations

from typing import Any

from . import _dtypes

API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


class Info:
    """Devices, dtypes and what is not there."""

    def capabilities(self) -> dict[str, Any]:
        """Boolean indexing and shapes that depend on data are there; axes may be as many as memory holds."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """The one device."""
        return "cpu"

    def devices(self) -> list[str]:
        """The one device."""
        return ["cpu"]

    def default_dtypes(self, *, device: str | None = None) -> dict[str, Any]:
        """The dtypes of Python's numbers."""
        _known(device)
        return {
            "real floating": _dtypes.float64,
            "complex floating": _dtypes.complex128,
            "integral": _dtypes.int64,
            "indexing": _dtypes.int64,
        }

    def dtypes(self, *, device: str | None = None, kind: Any = None) -> dict[str, Any]:
        """The dtypes of a kind by name, without those that the array API does not have."""
        _known(device)
        own = {name: d for name, d in _dtypes.DTYPES.items() if name not in ("float16", "bfloat16")}
        return {name: d for name, d in own.items() if kind is None or _dtypes.isdtype(d, kind)}


def _known(device: str | None) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f"device: {device!r} is unknown; tensors are on 'cpu'")


def array_namespace_info() -> Info:
    """What the namespace says about itself."""
    return Info()


def array_namespace(self: Any, /, *, api_version: str | None = None) -> Any:
    """The namespace of the array API: this package."""
    del self
    import openwork

    if api_version is not None and api_version not in API_VERSIONS:
        raise ValueError(f"api_version: {api_version!r} is unknown; known are {', '.join(API_VERSIONS)}")
    return openwork
