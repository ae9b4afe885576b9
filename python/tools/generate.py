"""Writes `_ops.py` and `_core.pyi` of the package from the library's catalogue and `signatures.py`.

`python tools/generate.py` writes them, `--check` fails if they are stale. The compiled module is that of the installed
package.
"""

import argparse
import importlib.machinery
import importlib.util
import re
import sys
from pathlib import Path

from signatures import ALIASES, DOCUMENTED_AS, FOLDED, RESULTS, RUST_ONLY, SIGNATURES, TYPES

PACKAGE = Path(__file__).parent.parent / "package" / "openwork"


def compiled():
    """The compiled module of the installed package, without the package's own code."""
    for folder in map(Path, sys.path):
        for path in (folder / "openwork").glob("_core*.so"):
            spec = importlib.util.spec_from_file_location("_core", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise SystemExit("the package is not installed: pip install ./python")


class Entry:
    def __init__(self, told):
        self.name, self.family, self.takes_self, self.parameters, self.result, self.doc, self.callable = told


def plain(doc):
    """A line of documentation without Markdown links and with a full stop."""
    doc = re.sub(r"\[`?([^\]`]*)`?\]\([^)]*\)", r"\1", doc)
    doc = re.sub(r"\[`(?:Tensor::)?([^\]`]*)`\]", r"`\1`", doc).strip().replace("\\", "")
    if doc.count("(") > doc.count(")"):
        doc = doc[: doc.rindex("(")].rstrip()
    return doc if doc.endswith(".") else doc + "."


def told(entry, parameters):
    """The documentation of a function, with the names that its parameters have here."""
    theirs, own = ["self"] * entry.takes_self + [name for name, _ in entry.parameters], names(parameters)
    ours = {a: b for a, b in zip(theirs, own) if a not in own} if len(theirs) == len(own) else {}
    code = lambda found: re.sub(r"\b[a-z]\w*\b", lambda word: ours.get(word.group(), word.group()), found.group())
    return re.sub(r"`[^`]*`", code, plain(entry.doc))


def signatures(entries):
    """Every function: its name, parameters, expression, entry."""
    by_name = {e.name: e for e in entries}
    lines = re.findall(r"^(\w+)\((.*?)\)(?: = (.*))?$", SIGNATURES, re.M)
    spoken = {name for name, _, _ in lines}
    for name, parameters, expression in lines:
        entry = by_name.get(DOCUMENTED_AS.get(name, name))
        if entry is None:
            raise SystemExit(f"{name} of signatures.py is not in the catalogue")
        yield name, parameters, expression, entry
    for e in entries:
        if e.name in spoken or e.name in RUST_ONLY or e.name in FOLDED:
            continue
        if not e.callable:
            raise SystemExit(f"{e.name} of the catalogue is neither in table.rs nor in RUST_ONLY of signatures.py")
        kinds = [kind for _, kind in e.parameters]
        if not kinds:
            yield e.name, "x, /", "", e
        elif kinds == ["impl Into<Operand>"]:
            yield e.name, "x1, x2, /", "", e
        elif kinds == ["impl Into<Axes>"] and e.family == "reduce":
            yield e.name, "x, /, axis=None, *, keepdims=False", "", e
        else:
            raise SystemExit(f"{e.name} has no line in signatures.py, and its kinds {kinds} do not say how it is called")


def names(parameters):
    return [p.split("=")[0].lstrip("*") for p in re.split(r",\s*", parameters) if p not in ("/", "*")]


def typed(parameters, entry):
    takes_one = ("axis", "impl Into<Axis>") in entry.parameters
    out = []
    for p in re.split(r",\s*", parameters):
        if p in ("/", "*"):
            out.append(p)
            continue
        name, _, default = p.partition("=")
        kind = TYPES.get(name, "Any")
        if name == "axis" and takes_one:
            kind = "int | None" if default == "None" else "int"
        elif name == "layout" and default == "None":
            kind = "str | None"
        out.append(f"{name}: {kind} = {default}" if default else f"{name}: {kind}")
    return ", ".join(out)


def result(name, entry):
    if name == "topk":
        return "TopK"
    return RESULTS.get(entry.result, "Any")


OPS_HEAD = '''"""The ops of the library as functions. Written by tools/generate.py from the library's catalogue."""

# fmt: off
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._adapt import (
    Axes, DTypeLike, Fill, TopK, UniqueAll, UniqueCounts, UniqueInverse, _axes, _border, _in_layout, _integers, _joined, _on,
    _pair, _rounded, _running, _shifts, _side, _sizes, _widths, as_tensor,
)
from ._core import Tensor, op

'''


def ops_module(entries):
    functions = list(signatures(entries))
    used = {name for _, _, expression, _ in functions for name in re.findall(r"\b_(\w+)", expression)}
    used |= {name for name, _, expression, _ in functions if not expression}
    known = {e.name for e in entries if e.callable}
    out = [OPS_HEAD]
    out += [f'_{name} = op("{name}")\n' for name in sorted(used & known)]
    out.append("\n")
    for name, parameters, expression, entry in functions:
        expression = expression or f"_{name}({', '.join(names(parameters))})"
        out.append(f"\ndef {name}({typed(parameters, entry)}) -> {result(name, entry)}:\n")
        out.append(f'    """{told(entry, parameters)}"""\n    return {expression}\n\n')
    out += [f"\n{long} = {short}" for short, long in ALIASES.items()]
    listed = sorted([f[0] for f in functions] + list(ALIASES.values()))
    methods = sorted({f[0] for f in functions if f[3].takes_self} | set(ALIASES.values()))
    for title, all_names in (("__all__", listed), ("METHODS", methods)):
        out.append(f"\n{title} = [\n" + "".join(f'    "{n}",\n' for n in all_names) + "]\n")
    return "".join(out)


def stubs(entries):
    template = (Path(__file__).parent / "core.pyi.in").read_text()
    out = []
    for name, parameters, _, entry in signatures(entries):
        if not entry.takes_self:
            continue
        first, _, rest = typed(parameters, entry).partition(", ")
        if rest.startswith("/, "):
            rest = rest[3:]
        elif rest == "/":
            rest = ""
        rest = f", {rest}" if rest else ""
        of_method = re.sub(r"^\w+", "self", parameters)
        out.append(f"    def {name}(self{rest}) -> {result(name, entry)}:\n        \"\"\"{told(entry, of_method)}\"\"\"\n")
    out += [f"    {long} = {short}\n" for short, long in ALIASES.items()]
    return template.replace("    # METHODS\n", "".join(out))


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true", help="fail if the files are stale")
    check = arguments.parse_args().check
    entries = [Entry(told) for told in compiled().catalogue()]
    stale = []
    for name, text in (("_ops.py", ops_module(entries)), ("_core.pyi", stubs(entries))):
        path = PACKAGE / name
        if not path.exists() or path.read_text() != text:
            stale.append(name)
            if not check:
                path.write_text(text)
    if check and stale:
        raise SystemExit(f"{', '.join(stale)} are stale: run python tools/generate.py")
    print("written: " + ", ".join(stale) if stale else "up to date")


if __name__ == "__main__":
    main()
