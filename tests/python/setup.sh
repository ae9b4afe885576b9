#!/usr/bin/env bash
# Sets up what the tests of files need on a Debian machine: libhdf5 and ncdump (apt, as root or with sudo) and a Python
# environment in target/python (pip). Does nothing that is done already. tests/files/python.rs uses that environment, or the
# interpreter that OPENWORK_PYTHON names.
set -euo pipefail
cd "$(dirname "$0")/../.."

missing=()
pkg-config --exists hdf5 2>/dev/null || missing+=(libhdf5-dev pkg-config)
command -v ncdump >/dev/null || missing+=(netcdf-bin)
command -v cc >/dev/null || missing+=(gcc libc6-dev)
python3 -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3-venv)
if [ ${#missing[@]} -gt 0 ]; then
    as_root=()
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    "${as_root[@]}" apt-get update -q
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
fi

packages=target/python/packages.txt
if ! cmp -s tests/python/requirements.txt "$packages"; then
    [ -x target/python/bin/python ] || python3 -m venv target/python
    target/python/bin/python -m pip install -q --disable-pip-version-check -r tests/python/requirements.txt
    # Where there is no build of GraphBLAS for this machine, the test that reads files with it says so.
    target/python/bin/python -m pip install -q --disable-pip-version-check --only-binary suitesparse-graphblas \
        python-graphblas==2025.2.0 suitesparse-graphblas==9.4.5.0 || echo "python-graphblas does not install here"
    cp tests/python/requirements.txt "$packages"
fi
target/python/bin/python -c 'import anndata, binsparse, fast_matrix_market, h5py, netCDF4, numpy, safetensors, scipy, sparse, zarr'
echo "ready: $(target/python/bin/python --version), $(pkg-config --modversion hdf5 | sed 's/^/HDF5 /')"
