"""Runs the test suite of pydata/sparse on openwork: its tests from PyPI, its names from `shim/`.

    target/python-package/bin/python python/tests/pydata/run.py            # compares with reasons.toml
    target/python-package/bin/python python/tests/pydata/run.py --write    # writes the figures and README.md anew
    target/python-package/bin/python python/tests/pydata/run.py -k einsum  # further arguments are pytest's; nothing is compared

Fails if a test fails that no reason names, if fewer pass than recorded, or if a reason names no test that fails.
"""

from __future__ import annotations

import fnmatch
import os
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11
    from pip._vendor import tomli as tomllib

HERE = Path(__file__).resolve().parent
TARGET = HERE.parents[2] / "target" / "pydata"
SAID = HERE / "reasons.toml"


def main() -> int:
    known = tomllib.loads(SAID.read_text())
    tests = unpacked(known["version"], known["left_out"])
    arguments = [a for a in sys.argv[1:] if a != "--write"]
    results = run(tests, arguments)
    if arguments:
        return 0
    return write(known, results) if "--write" in sys.argv else compare(known, results)


def unpacked(version: str, left_out: dict[str, str]) -> Path:
    """The folder of the tests of that version, which pip loads as it loads any source."""
    folder = TARGET / version
    tests = folder / "tests"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "--no-binary", "sparse"]
        subprocess.run([*pip, "--dest", str(folder), f"sparse=={version}"], check=True)
        tests.mkdir(exist_ok=True)
        with tarfile.open(folder / f"sparse-{version}.tar.gz") as source:
            for member in source.getmembers():
                path = Path(member.name)
                wanted = path.parts[1:] and "/".join(path.parts[1:-1]) in ("sparse/tests", "sparse/numba_backend/tests")
                if wanted and member.isfile() and path.name.startswith("test_"):
                    (tests / path.name).write_bytes(source.extractfile(member).read())
        (folder / "complete").touch()
    for name in left_out:
        (tests / f"{name}.py").unlink(missing_ok=True)
    (tests / "conftest.py").write_text((HERE / "conftest_of_tests.py").read_text())
    return tests


def run(tests: Path, arguments: list[str]) -> dict[str, str]:
    """What became of each test: passed, failed or skipped."""
    told = tests.parent / "results.xml"
    told.unlink(missing_ok=True)
    path = os.pathsep.join(filter(None, [str(HERE / "shim"), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tests), f"--junitxml={told}"]
    shown = ["--tb=short"] if arguments else ["--tb=no", "--no-summary"]
    subprocess.run([*command, *shown, *(arguments or []), "."], cwd=tests, env={**os.environ, "PYTHONPATH": path})
    results = {}
    for case in ElementTree.parse(told).iter("testcase"):
        failed = case.find("failure") is not None or case.find("error") is not None
        became = "failed" if failed else "skipped" if case.find("skipped") is not None else "passed"
        results[f"{case.get('classname')}::{case.get('name')}"] = became
    return results


def file_of(test: str) -> str:
    return test.partition("::")[0].partition(".")[0]


def counted(results: dict[str, str]) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for test, became in results.items():
        counts.setdefault(file_of(test), Counter())[became] += 1
    return dict(sorted(counts.items()))


def explained(known: dict, results: dict[str, str]) -> tuple[list[int], list[str], list[str]]:
    """How many failures each reason explains, failures without one, and patterns without a failure."""
    failed = [test for test, became in results.items() if became == "failed"]
    numbers, idle = [], []
    left = set(failed)
    for reason in known["reason"]:
        number = 0
        for pattern in reason["tests"]:
            meant = {test for test in left if fnmatch.fnmatchcase(test, pattern)}
            number += len(meant)
            left -= meant
            if not meant:
                idle.append(pattern)
        numbers.append(number)
    return numbers, sorted(left), idle


def compare(known: dict, results: dict[str, str]) -> int:
    _, unexplained, idle = explained(known, results)
    counts = counted(results)
    complaints = [f"fails, and no reason says why: {test}" for test in unexplained]
    complaints += [f"a reason that explains no failure: {pattern}" for pattern in idle]
    for file, number in known["passed"].items():
        passed = counts.get(file, Counter())["passed"]
        if passed < number:
            complaints.append(f"{file}: {passed} pass, {number} did")
    print("\n".join(complaints) or f"as recorded: {sum(c['passed'] for c in counts.values())} of {len(results)} pass")
    return 1 if complaints else 0


def write(known: dict, results: dict[str, str]) -> int:
    numbers, unexplained, idle = explained(known, results)
    counts = counted(results)
    text = SAID.read_text()
    before, after = text.split("[passed]\n")
    after = after[after.index("# Files that are not run") :]
    figures = "".join(f"{file} = {c['passed']}\n" for file, c in counts.items())
    SAID.write_text(f"{before}[passed]\n{figures}\n{after}")
    (HERE / "README.md").write_text(report(known, counts, numbers))
    print("\n".join([*(f"no reason: {t}" for t in unexplained), *(f"no failure: {p}" for p in idle)]) or "written")
    return 1 if unexplained or idle else 0


def report(known: dict, counts: dict[str, Counter[str]], numbers: list[int]) -> str:
    total = sum(counts.values(), Counter())
    lines = [
        f"# The tests of pydata/sparse {known['version']} on openwork", "",
        "`run.py` loads its tests from PyPI, lays `shim/` in the place of its package, which has its names and calls ours, and",
        "compares what comes out with `reasons.toml`. Zeros that are not stored are multiplied as there, with",
        '`openwork.config(nan="exact")`. This page is written by `run.py --write`.', "",
        "| file | passed | failed | skipped by itself |", "|---|--:|--:|--:|",
        *(f"| `{f}` | {c['passed']} | {c['failed']} | {c['skipped']} |" for f, c in counts.items()),
        f"| all {total.total()} | **{total['passed']}** | {total['failed']} | {total['skipped']} |", "",
        "Not run:", "",
        *(f"- `{file}`: {why}" for file, why in known["left_out"].items()), "",
        "Why tests fail: *decided* otherwise here, *absent* here, or of its *internal* matters.", "",
        "| failed | kind | why |", "|--:|---|---|",
        *(f"| {n} | {r['kind']} | {r['text']} |" for n, r in sorted(zip(numbers, known["reason"]), key=lambda p: -p[0])), "",
    ]  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
