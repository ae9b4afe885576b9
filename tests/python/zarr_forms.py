"""Writes arrays in many forms of Zarr, and AnnData in Zarr, each with its dense twin: zarr_forms.py FOLDER."""

import shutil
import sys
import warnings
from pathlib import Path

import anndata
import numcodecs
import numpy as np
import scipy.sparse as sp
import zarr
from zarr import codecs

warnings.simplefilter("ignore")
folder = Path(sys.argv[1])
rng = np.random.default_rng(11)


def keep(name, a):
    a = np.asarray(a)
    np.save(folder / f"{name}.npy", np.ascontiguousarray(a).ravel().astype(np.complex128))
    (folder / f"{name}.shape").write_text(" ".join(map(str, a.shape)) + " " + a.dtype.name)


def sample(shape, dtype):
    a = rng.random(shape) * 200
    return (a > 100) if dtype == "bool" else a.astype(dtype)


def make(name, a, chunks, **options):
    z = zarr.create_array(store=folder / f"{name}.zarr", shape=a.shape, dtype=a.dtype, chunks=chunks, **options)
    z[...] = a
    keep(name, z[...])


kinds = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()
for kind in kinds:
    for version in (2, 3):
        make(f"v{version}-{kind}", sample((7, 5, 3), kind), (3, 2, 3), zarr_format=version)
make("none", sample((7, 5), "float64"), (3, 2), compressors=None)
make("large", sample(300_000, "float32"), 65_536)
make("gzip", sample((40, 30), "float64"), (16, 30), compressors=codecs.GzipCodec(level=5))
make("crc", sample((40, 30), "int32"), (16, 7), compressors=[codecs.ZstdCodec(level=3), codecs.Crc32cCodec()])
make("checked", sample(1000, "float64"), 100, compressors=codecs.ZstdCodec(level=3, checksum=True))
make("big", sample((9, 4), "complex64"), (4, 4), serializer=codecs.BytesCodec(endian="big"))
make("turned", sample((6, 5, 4), "int16"), (4, 2, 3), filters=codecs.TransposeCodec(order=(2, 0, 1)))
make("keys", sample((6, 5), "int16"), (4, 2), chunk_key_encoding={"name": "default", "separator": "."})
make("keys2", sample((6, 5), "int16"), (4, 2), chunk_key_encoding={"name": "v2", "separator": "/"})
make("scalar", np.array(2.5), ())
make("nothing", np.zeros((0, 4)), (1, 4))
make("shards", sample((20, 12), "float64"), (5, 3), shards=(10, 6))
make("shards-bare", sample((21, 13), "uint8"), (3, 2), shards=(9, 4), compressors=None)
inner = codecs.ShardingCodec(chunk_shape=(2, 3), codecs=[codecs.BytesCodec(), codecs.GzipCodec(level=3)])
make("nested", sample((21, 13), "float64"), (4, 12), serializer=codecs.ShardingCodec(chunk_shape=(4, 6), codecs=[inner]), compressors=None)
deep = codecs.ShardingCodec(chunk_shape=(8,), codecs=[codecs.ShardingCodec(chunk_shape=(4,), codecs=[
    codecs.ShardingCodec(chunk_shape=(2,), codecs=[codecs.BytesCodec()], index_location="start")])])
make("nested-deep", sample(100, "int32"), (16,), serializer=deep, compressors=None)
for shuffle in ("noshuffle", "shuffle"):
    for cname in ("blosclz", "lz4", "lz4hc", "zstd", "zlib"):
        for kind, count in (("float64", 40_000), ("uint8", 70_000), ("int32", 33)):
            ramp = (np.arange(count) % 97).astype(kind)
            codec = codecs.BloscCodec(cname=cname, clevel=5, shuffle=shuffle)
            make(f"blosc-{cname}-{shuffle}-{kind}", ramp, 30_000, compressors=codec)
for cname in ("blosclz", "lz4", "zstd", "zlib"):
    # Counts that are multiples of eight and none, blocks that are split and not.
    for kind, count in (("float64", 40_000), ("float64", 40_001), ("uint8", 70_000), ("int32", 33), ("int16", 12_345),
                        ("complex128", 3000)):
        ramp = (np.arange(count) % 97).astype(kind)
        codec = codecs.BloscCodec(cname=cname, clevel=5, shuffle="bitshuffle")
        make(f"blosc-{cname}-bits-{kind}-{count}", ramp, 30_000, compressors=codec)
make("blosc-stored", sample(64, "float64"), 64, compressors=codecs.BloscCodec(cname="lz4", clevel=0))
for order in "CF":
    for name, codec in (("zlib", numcodecs.Zlib(1)), ("gzip", numcodecs.GZip(1)), ("none", None), ("blosc", numcodecs.Blosc())):
        make(f"v2-{order}-{name}", sample((9, 7), ">f8"), (4, 3), zarr_format=2, compressors=codec, order=order)
make("v2-nested", sample((9, 7), "int64"), (4, 3), zarr_format=2, chunk_key_encoding={"name": "v2", "separator": "/"})

# Chunks that were never written: the fill value, in whole chunks and in shards.
for name, kind, fill, options in [
    ("partly-nan", "float32", np.nan, {}),
    ("partly-inf", "float64", -np.inf, {}),
    ("partly-complex", "complex128", 1.5 - 2j, {}),
    ("partly-int", "int64", -(2**63), {}),
    ("partly-uint", "uint64", 2**64 - 1, {}),
    ("partly-bool", "bool", True, {}),
    ("partly-shards", "int16", -7, {"shards": (8, 8)}),
    ("partly-v2", "float64", np.nan, {"zarr_format": 2}),
]:
    z = zarr.create_array(store=folder / f"{name}.zarr", shape=(20, 20), dtype=kind, chunks=(4, 8), fill_value=fill, **options)
    z[5:7, 3:12] = 1
    keep(name, z[...])

# What is not read, and says so.
z = zarr.create_array(store=folder / "other-lzma.zarr", shape=1000, dtype="int32", chunks=1000, zarr_format=2,
                      compressors=numcodecs.LZMA())
z[...] = np.arange(1000) % 7

# AnnData in both versions.
x, counts = sp.random(50, 40, 0.2, format="csr", random_state=1, dtype="float32"), sp.random(50, 40, 0.1, random_state=2)
for version in (2, 3):
    a = anndata.AnnData(x, layers={"counts": counts.tocsc(), "dense": counts.toarray()},
                        obsm={"pca": np.arange(100.0).reshape(50, 2)}, uns={"n": 3, "text": "told"})
    a.obs["q"] = np.arange(50.0)
    a.obs["kind"] = ["one", "two"] * 25
    anndata.settings.zarr_write_format = version
    a.write_zarr(folder / f"cells{version}.store")
    shutil.make_archive(folder / f"cells{version}.zarr", "zip", folder / f"cells{version}.store")
    keep(f"cells{version}.X", x.toarray())
    keep(f"cells{version}.layers.counts", counts.toarray())
    keep(f"cells{version}.layers.dense", counts.toarray())
    keep(f"cells{version}.obsm.pca", a.obsm["pca"])
print("written")
