#!/usr/bin/env bash
# Sets up libtorch for CPU, of the version that the crate tch wants, from the Python packages that hold it, and prints the
# two variables that the feature `torch` needs. Wants python3 with pip and a C compiler; 540 MB are loaded, 490 MB stay.
# Does nothing that is done already.
#
#     eval "$(tests/torch/setup.sh)"            # into target/libtorch
#     eval "$(tests/torch/setup.sh FOLDER)"
#     cargo test --features torch --test files torch
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:-$here/target/libtorch}
version=2.13.0
python=${PYTHON:-python3}

case $(uname -sm) in
    "Linux x86_64" | "Linux aarch64") ;;
    *) echo "made for Linux on x86_64 and aarch64: elsewhere let LIBTORCH name a folder of libtorch $version" >&2; exit 1 ;;
esac
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

if [ "$(cat "$folder/torch/complete" 2>/dev/null)" != "$version" ]; then
    rm -rf "$folder/torch" "$folder/nvidia" "$folder/wheels"
    # The wheel is made for CUDA. Its part for CPUs wants two small libraries of CUDA's, and none of the large ones.
    "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$folder/wheels" \
        "torch==$version" nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85 >&2
    "$python" - "$folder" <<'END' >&2
import glob
import sys
import zipfile

folder = sys.argv[1]
for wheel in sorted(glob.glob(folder + "/wheels/*.whl")):
    with zipfile.ZipFile(wheel) as parts:
        for name in parts.namelist():
            of_torch = name.startswith(
                ("torch/include/", "torch/lib/libtorch_cpu.so", "torch/lib/libc10.so", "torch/lib/libgomp",
                 "torch/lib/libarm_compute", "torch/lib/libopenblas", "torch/lib/libgfortran")
            )
            of_cuda = name.startswith("nvidia/") and name.endswith(("libcudart.so.13", "libcupti.so.13"))
            if of_torch or of_cuda:
                parts.extract(name, folder)
END
    # The wheel's own libtorch.so only names other libraries, the one for CUDA among them.
    echo | "${CC:-cc}" -shared -x c - -o "$folder/torch/lib/libtorch.so"
    printf %s "$version" >"$folder/torch/build-version"
    rm -rf "$folder/wheels"
    if LD_LIBRARY_PATH="$folder/torch/lib" ldd "$folder/torch/lib/libtorch_cpu.so" | grep 'not found' >&2; then
        echo "libtorch_cpu.so lacks the libraries above" >&2
        exit 1
    fi
    printf %s "$version" >"$folder/torch/complete"
fi
printf 'export LIBTORCH=%q LD_LIBRARY_PATH=%q${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\n' "$folder/torch" "$folder/torch/lib"
