#!/usr/bin/env bash
# A Python environment in target/python-package with the package and what its tests need. The library is compiled into the
# target folder of the main workspace, whose release build of it is shared. Does nothing that is done already.
#
# With --torch also PyTorch for CPUs, without which its tests are skipped: 540 MB are loaded.
set -euo pipefail
cd "$(dirname "$0")/../.."
home=target/python-package
[ -x "$home/bin/python" ] || python3 -m venv "$home"
if ! cmp -s python/tests/requirements.txt "$home/packages.txt"; then
    "$home/bin/python" -m pip install -q --disable-pip-version-check -r python/tests/requirements.txt
    cp python/tests/requirements.txt "$home/packages.txt"
fi
if [ "${1-}" = --torch ]; then "$home/bin/python" python/tests/torch_for_cpu.py; fi
CARGO_TARGET_DIR=$PWD/target "$home/bin/python" -m pip install -q --disable-pip-version-check ./python
"$home/bin/python" -c 'import openwork; print("ready: openwork", openwork.__version__)'
