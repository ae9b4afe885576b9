#!/usr/bin/env bash
# Times standard cases beside other libraries, in turn, and prints a Markdown table of medians and ratios.
#
#   examples/standard/compare.sh DATA [PATTERN...]
#
# DATA is the folder of workloads (see main.rs); a PATTERN picks cases, `spmm*` or `spmv:lap100:f64`; without one all run.
# PEERS holds one line per other library, `name: command`. The command measures one case, given as {op}, {workload},
# {dtype} and {threads}, and writes lines of JSON with "op", "wl", "dtype" and "ms" to its standard output or to the file
# {out}. A peer without that case writes nothing. THREADS (`1 2`) and ROUNDS (3) may be set as well.
set -euo pipefail
cd "$(dirname "$0")/../.."
data=${1:?the folder of the workloads}
shift
cargo build --release --example standard
exec python3 examples/standard/compare.py --data "$data" --threads "${THREADS:-1 2}" --rounds "${ROUNDS:-3}" \
    --peers "${PEERS:-}" -- "$@"
