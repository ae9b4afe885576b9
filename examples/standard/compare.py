"""The table of compare.sh: this library's standard cases beside those of other libraries.

Every round measures a case here and then by each peer, so that what else the machine does meets all of them. A figure is
the median over rounds of the medians that the programs report, in milliseconds.
"""

import argparse
import fnmatch
import json
import math
import os
import shlex
import statistics
import subprocess
import tempfile

PROGRAM = os.path.join("target", "release", "examples", "standard")
LIMIT_S = 300


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--threads", default="1 2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default="")
    parser.add_argument("patterns", nargs="*")
    return parser.parse_args()


def cases(patterns):
    known = subprocess.run([PROGRAM, "--list"], check=True, capture_output=True, text=True).stdout.split()
    if not patterns:
        return known
    chosen = [case for case in known if any(fnmatch.fnmatch(case, p) or case.startswith(p + ":") for p in patterns)]
    if not chosen:
        raise SystemExit(f"no case is {' or '.join(patterns)}; standard --list names them")
    return chosen


def hold(cores):
    """Leaves this process so many cores: some libraries take all that they see, whatever number of threads they are told."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])


def milliseconds(command, case, threads):
    """What the last line of JSON for the case says that the command writes, or None; it has as many cores as threads."""
    op, workload, dtype = case.split(":")
    with tempfile.NamedTemporaryFile("r", suffix=".jsonl") as out:
        filled = [part.replace("{out}", out.name) for part in command]
        try:
            run = subprocess.run(
                filled, capture_output=True, text=True, timeout=LIMIT_S, preexec_fn=lambda: hold(int(threads))
            )
        except subprocess.TimeoutExpired:
            return None
        found = None
        for line in run.stdout.splitlines() + out.read().splitlines():
            if not line.startswith("{"):
                continue
            record = json.loads(line)
            if [record.get(key) for key in ("op", "wl", "dtype")] == [op, workload, dtype]:
                found = record.get("ms", found)
        return found


def commands(peers, data, case, threads):
    op, workload, dtype = case.split(":")
    own = [PROGRAM, "--case", case, "--threads", threads, "--data", data]
    yield "openwork", own
    for name, command in peers:
        for key, value in {"op": op, "workload": workload, "dtype": dtype, "threads": threads}.items():
            command = command.replace("{" + key + "}", value)
        yield name, shlex.split(command)


def main():
    given = arguments()
    peers = [tuple(part.strip() for part in line.split(":", 1)) for line in given.peers.splitlines() if line.strip()]
    names = ["openwork"] + [name for name, _ in peers]
    threads = given.threads.split()
    print("| case | threads | " + " | ".join(names) + " | ours ÷ best |")
    print("|---|--:|" + "--:|" * (len(names) + 1))
    ratios = {t: [] for t in threads}
    for case in cases(given.patterns):
        for count in threads:
            times = {name: [] for name in names}
            for _ in range(given.rounds):
                for name, command in commands(peers, given.data, case, count):
                    ms = milliseconds(command, case, count)
                    if ms is not None:
                        times[name].append(ms)
            medians = {name: statistics.median(found) for name, found in times.items() if found}
            others = [ms for name, ms in medians.items() if name != "openwork"]
            ratio = medians["openwork"] / min(others) if others and "openwork" in medians else None
            if ratio is not None:
                ratios[count].append(ratio)
            cells = [f"{medians[name]:.1f}" if name in medians else "–" for name in names]
            print(f"| {case} | {count} | " + " | ".join(cells) + f" | {ratio:.2f} |" if ratio is not None
                  else f"| {case} | {count} | " + " | ".join(cells) + " | |", flush=True)
    for count, found in ratios.items():
        if found:
            mean = math.exp(statistics.fmean(map(math.log, found)))
            ahead = sum(ratio <= 1 for ratio in found)
            print(f"\n{count} threads: geometric mean {mean:.2f}, ahead in {ahead} of {len(found)}", flush=True)


if __name__ == "__main__":
    main()
