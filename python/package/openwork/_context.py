"""Settings in a scope, and how ops were carried out."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple, TextIO

from . import _core


class DensifyError(MemoryError):
    """A result is not sparse, and its dense form exceeds the budget."""


class config:
    """Settings of this thread while a `with` block lasts.

    `budget`: the bytes that a result may take which is not sparse (0: nothing ever becomes dense). `threads`: how many ops
    work on, which costs a tenth of a millisecond for each op. `nan`: `"annihilate"`, where an unstored zero times anything is zero, or `"exact"`, as IEEE 754 has it.
    What is not named stays as it is.
    """

    def __init__(self, *, budget: int | None = None, threads: int | None = None, nan: str | None = None) -> None:
        if nan not in (None, "annihilate", "exact"):
            raise ValueError(f"nan is 'annihilate' or 'exact', not {nan!r}")
        if threads is not None and threads < 1:
            raise ValueError(f"threads is 1 or more, not {threads}")
        self._wanted = (budget, threads, None if nan is None else nan == "exact")
        self._old: list[tuple[int | None, int | None, bool]] = []

    def __enter__(self) -> config:
        now = _core.config()
        budget, threads, exact = (old if new is None else new for new, old in zip(self._wanted, now))
        self._old.append(_core.set_config(budget, threads, bool(exact)))
        return self

    def __exit__(self, *error: object) -> None:
        _core.set_config(*self._old.pop())


class Step(NamedTuple):
    """An op as it was carried out."""

    op: str
    path: str
    operands: list[str]
    result: str
    text: str

    def __str__(self) -> str:
        return self.text


class explain:
    """Notes how the ops of a `with` block are carried out: their paths, layouts and fills. At its end they are printed,
    unless `file=None`; they stay in `steps`."""

    _open: list[explain] = []

    def __init__(self, file: TextIO | None | str = "stdout") -> None:
        self._file = sys.stdout if file == "stdout" else file
        self.steps: list[Step] = []

    def __enter__(self) -> explain:
        self._hand_on(True)
        _core.explain_start()
        self._open.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._hand_on(len(self._open) > 1)
        self._open.remove(self)
        if self._file is not None and not isinstance(self._file, str):
            for step in self.steps:
                print(step, file=self._file)

    def _hand_on(self, goes_on: bool) -> None:
        """Gives the steps taken until now to whoever waits for them."""
        if self._open:
            told = [Step(*step) for step in _core.explain_stop(goes_on)]
            for waiting in self._open:
                waiting.steps.extend(told)


def densify_budget() -> int:
    """The bytes that a result may take which is not sparse."""
    return _core.densify_budget()


def steps_of(f: Any, *args: Any, **kwargs: Any) -> tuple[Any, list[Step]]:
    """What a function gives, and the steps of the ops in it."""
    with explain(None) as told:
        made = f(*args, **kwargs)
    return made, told.steps
