//! Files between this library and the Python packages that own their formats: binsparse, h5py, NumPy, SciPy,
//! fast_matrix_market, safetensors.
//!
//! `tests/python/setup.sh` makes the environment in `target/python`; `OPENWORK_PYTHON` names another interpreter.
//! Without either these tests say `SKIPPED` on standard error, which the harness does not capture.

use std::path::Path;

use crate::common::{python, temporary};
use crate::spelled;
use openwork::io::{self, ReadOptions, WriteOptions};
use openwork::{DType, Fill, Layout, Scalar, Tensor};
use serde_json::{Value, json};

/// What arrays of NumPy and SciPy may hold.
pub const DTYPES: [DType; 13] = [
    DType::Bool,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F32,
    DType::F64,
    DType::Complex64,
    DType::Complex128,
];

/// A tensor with `n` elements other than 0, the extremes of the dtype among them.
fn sample(shape: &[usize], dtype: DType, layout: Layout) -> Tensor {
    let x = Tensor::random(shape, 0.3, 0.0, Layout::Coo, 5).unwrap();
    let x = (x * 200.0).unwrap().cast(if dtype == DType::Bool { DType::Bool } else { dtype }).unwrap();
    let mut extremes = match dtype {
        DType::I64 => Tensor::scalar(i64::MIN),
        DType::U64 => Tensor::scalar(u64::MAX),
        DType::F32 => Tensor::scalar(f32::NEG_INFINITY),
        DType::F64 => Tensor::scalar(f64::NAN),
        _ => Tensor::scalar(Scalar::zero(dtype)),
    };
    extremes = extremes.broadcast_to(shape).unwrap();
    let one_place = Tensor::coo(shape, vec![vec![1]; shape.len()], &Tensor::from_vec([1], vec![true]).unwrap(), false);
    let all = one_place.unwrap().where_(&extremes, x.to_dense().unwrap()).unwrap().to_dense();
    all.unwrap().to_sparse(Layout::Coo, Scalar::zero(dtype)).unwrap().to_layout(layout).unwrap()
}

fn save(folder: &Path, name: &str, tensor: &Tensor, options: &WriteOptions<'_>) {
    let path = folder.join(name);
    io::write_with(&path, tensor, options).unwrap_or_else(|error| panic!("{name}: {error}"));
    let entries: Vec<Value> = tensor.iter_stored().map(|(index, value)| json!([index, spelled(value)])).collect();
    let fill = match tensor.fill() {
        Some(Fill::Scalar(fill)) => spelled(*fill),
        _ => Value::Null,
    };
    let dtype = tensor.dtype().name();
    let facts = json!({"shape": tensor.shape(), "dtype": dtype, "fill": fill, "entries": entries});
    std::fs::write(folder.join(format!("{name}.json")), facts.to_string()).unwrap();
}

#[test]
fn python_reads_what_we_write() {
    let folder = temporary("python-read");
    let plain = WriteOptions::default();
    let packed = WriteOptions { compress: true, ..Default::default() };
    let matrices = [Layout::Strided, Layout::Coo, Layout::Csr, Layout::Csc, Layout::Dcsr, Layout::Dcsc];
    for dtype in DTYPES {
        for container in ["npz", "h5", "zarr", "safetensors"] {
            // Models in safetensors are not packed.
            let packed = if container == "safetensors" { plain } else { packed };
            for layout in matrices {
                // A dense array of complex numbers is one of pairs there, which NumPy does not know.
                if container == "safetensors" && layout == Layout::Strided && dtype.is_complex() {
                    continue;
                }
                let x = sample(&[6, 5], dtype, layout);
                save(&folder, &format!("{dtype}-{layout}.{container}"), &x, &plain);
            }
            let (vector, cube) = (sample(&[9], dtype, Layout::Coo), sample(&[3, 4, 5], dtype, Layout::Csf));
            save(&folder, &format!("{dtype}-vector.{container}"), &vector, &packed);
            save(&folder, &format!("{dtype}-csf.{container}"), &cube, &plain);
            save(&folder, &format!("{dtype}-batched.{container}"), &cube.to_layout(Layout::Csr).unwrap(), &packed);
            let hybrid = cube.to_layout(Layout::HybridCoo { dense_dims: 1 }).unwrap();
            save(&folder, &format!("{dtype}-hybrid.{container}"), &hybrid, &plain);
            let columns = sample(&[6, 5], dtype, Layout::Strided).permute_dims([1, 0]).unwrap();
            if !(container == "safetensors" && dtype.is_complex()) {
                save(&folder, &format!("{dtype}-columns.{container}"), &columns, &plain);
            }
            let iso = Tensor::eye(7, dtype, Layout::Csr).unwrap();
            save(&folder, &format!("{dtype}-iso.{container}"), &iso, &plain);
            let filled = iso.replace_fill(Scalar::one(dtype)).unwrap();
            save(&folder, &format!("{dtype}-fill.{container}"), &filled, &packed);
            let empty = Tensor::zeros([0, 4], dtype, Layout::Csc).unwrap();
            save(&folder, &format!("{dtype}-empty.{container}"), &empty, &plain);
        }
        for layout in [Layout::Strided, Layout::Coo] {
            // The comment that tells a dtype apart is no matter to readers that skip comments.
            save(&folder, &format!("{dtype}-{layout}.mtx"), &sample(&[6, 5], dtype, layout), &plain);
            save(&folder, &format!("{dtype}-{layout}.mtx.gz"), &sample(&[6, 5], dtype, layout), &plain);
        }
    }
    // Arrays large enough to be packed, in a folder and in an archive.
    let large = sample(&[300, 200], DType::F64, Layout::Csr);
    for name in ["large.zarr", "large.zarr.zip"] {
        save(&folder, name, &large, &packed);
    }
    if python("python_reads_what_we_write", "exchange.py", &["read", folder.to_str().unwrap()]).is_some() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn we_read_what_python_writes() {
    let folder = temporary("python-write");
    if python("we_read_what_python_writes", "exchange.py", &["write", folder.to_str().unwrap()]).is_none() {
        return;
    }
    let mut read = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let ending = path.extension().unwrap().to_str().unwrap();
        // Zarr is packed by zstd.
        if ending == "json" || (ending == "zarr" && !cfg!(feature = "codecs")) {
            continue;
        }
        let facts: Value = serde_json::from_slice(&std::fs::read(format!("{}.json", path.display())).unwrap()).unwrap();
        // Strictly: these packages write what the text says.
        let tensor = io::read_with(&path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}")).tensor;
        assert_eq!(json!(tensor.shape()), facts["shape"], "{}", path.display());
        assert_eq!(json!(tensor.dtype().name()), facts["dtype"], "{}", path.display());
        let sorted = |mut entries: Vec<Value>| {
            entries.sort_by_key(|entry| entry[0].to_string());
            entries
        };
        let ours = sorted(tensor.iter_stored().map(|(index, value)| json!([index, spelled(value)])).collect());
        let theirs = sorted(facts["entries"].as_array().unwrap().clone());
        assert_eq!(ours.len(), theirs.len(), "{}", path.display());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours, theirs, "{}", path.display());
        }
        read += 1;
    }
    assert!(read >= if cfg!(feature = "codecs") { 212 } else { 160 }, "{read}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Files of h5py, which our own reader of HDF5 reads: large ones of old and new form, and filters.
#[test]
fn forms_of_hdf5_that_h5py_writes() {
    use openwork::io::binsparse;

    let folder = temporary("python-h5py");
    if python("forms_of_hdf5_that_h5py_writes", "h5py_forms.py", &[folder.to_str().unwrap()]).is_none() {
        return;
    }
    for (form, rows) in [
        ("earliest", 200_000),
        ("v108", 200_000),
        ("latest", 200_000),
        ("packed", 200_000),
        ("latest_packed", 200_000),
        ("latest_grows", 200_000),
        ("v110_grows", 50_000),
    ] {
        let x = binsparse::read(folder.join(format!("{form}.h5"))).unwrap_or_else(|error| panic!("{form}: {error}"));
        assert_eq!((x.shape(), x.nse()), (&[rows, 1000][..], 5 * rows), "{form}");
        // Row i holds i + k in column 7 k + i % 100.
        assert_eq!(x.get([rows - 1, 28 + (rows - 1) % 100]).unwrap(), Some((rows as f64 + 3.0).into()), "{form}");
        let n = rows as f64;
        assert_eq!(x.sum(..).unwrap().item().unwrap(), (5.0 * n * (n - 1.0) / 2.0 + 10.0 * n).into(), "{form}");
    }
    // Packed by LZF, whole and with bytes in order of significance, and by scaleoffset; partly or never written, which
    // means the fill.
    for (form, rows) in [("lzf", 100), ("lzf_shuffled", 200_000), ("scaled", 100)] {
        let x = binsparse::read(folder.join(format!("{form}.h5"))).unwrap_or_else(|error| panic!("{form}: {error}"));
        let n = rows as f64;
        assert_eq!(x.sum(..).unwrap().item().unwrap(), (5.0 * n * (n - 1.0) / 2.0 + 10.0 * n).into(), "{form}");
    }
    for (form, sum) in [("partly", 500.0 * 7.0 - 10.0 * 7.0 + 45.0), ("never", 500.0 * 7.0), ("flat", 0.0)] {
        let x = binsparse::read(folder.join(format!("{form}.h5"))).unwrap_or_else(|error| panic!("{form}: {error}"));
        assert_eq!((x.nse(), x.sum(..).unwrap().item().unwrap()), (500, sum.into()), "{form}");
    }
    let error = binsparse::read(folder.join("twice.h5")).unwrap_err().to_string();
    let why = "`values` went through filter 1; known are one deflate or lzf, one scaleoffset, shuffle, fletcher32";
    assert!(error.contains(why) && error.contains("twice"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}
