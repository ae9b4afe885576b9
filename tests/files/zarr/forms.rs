//! Stores that Python packages wrote.

use std::path::Path;

use openwork::io::binsparse;
use openwork::io::{self, Format, ReadOptions};
use openwork::{DType, Layout, Tensor, c128};

use crate::binsparse::golden::read_all;
use crate::common::{folder, python, temporary};
use crate::foreign::dense;

#[test]
fn stores_of_the_python_reference_decode_as_published() {
    let Some(root) = folder("stores_of_the_python_reference_decode_as_published", "formats") else { return };
    assert_eq!(read_all(&root, "zarr"), (25, 23));
}

#[test]
fn arrays_in_every_form_are_read() {
    let folder = temporary("zarr-forms");
    if python("arrays_in_every_form_are_read", "zarr_forms.py", &[folder.to_str().unwrap()]).is_none() {
        return;
    }
    let mut read = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.extension().is_none_or(|end| end != "zarr") || name.starts_with("other") {
            continue;
        }
        let x = io::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        same(&x, &folder, &name);
        assert_eq!(io::info(&path).unwrap()[0].stored_as, "Zarr array", "{name}");
        // Any rows, which begin and end inside of chunks.
        if let Some(&rows) = x.shape().first().filter(|&&rows| rows > 5) {
            let part = 1..rows - 2;
            let cut = binsparse::read_rows(&path, part.clone(), &Default::default()).unwrap().tensor;
            assert!(allied(&cut, &x.narrow(part, 0).unwrap()), "{name}");
        }
        read += 1;
    }
    assert_eq!(read, 26 + 15 + 30 + 24 + 1 + 8 + 1 + 8);
    let error = io::read(folder.join("other-lzma.zarr")).unwrap_err().to_string();
    assert!(error.contains("the codec \"lzma\", which is not known; known are bytes, transpose"), "{error}");
    // Groups of AnnData by name, sparse and dense; tables and texts are no tensors.
    for version in [2, 3] {
        for end in ["store", "zarr.zip"] {
            let path = folder.join(format!("cells{version}.{end}"));
            let told: Vec<String> = io::info(&path).unwrap().into_iter().map(|info| info.name).collect();
            assert_eq!(told, ["X", "layers/counts", "layers/dense", "obsm/pca"]);
            for (name, layout) in [
                ("X", Layout::Csr),
                ("layers/counts", Layout::Csc),
                ("layers/dense", Layout::Strided),
                ("obsm/pca", Layout::Strided),
            ] {
                let x = io::read_with(&path, &ReadOptions { name: Some(name), ..Default::default() }).unwrap();
                assert_eq!((x.tensor.layout(), x.format), (layout, Format::Zarr), "{name}");
                same(&x.tensor, &folder, &format!("cells{version}.{}", name.replace('/', ".")));
            }
            let error = io::read(&path).unwrap_err().to_string();
            assert!(error.contains("4 tensors, one must be named: X, layers/counts"), "{error}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The tensor is its dense twin; NaN is like NaN.
#[track_caller]
fn same(x: &Tensor, folder: &Path, name: &str) {
    let (wanted, shape, dtype) = dense(folder, name);
    assert_eq!((x.shape(), x.dtype()), (&shape[..], dtype), "{name}");
    let all = x.cast(DType::Complex128).unwrap().to_dense().unwrap();
    let (ours, theirs) = (all.values::<c128>().unwrap(), wanted.values::<c128>().unwrap());
    let alike = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
    let at = ours.iter().zip(theirs).position(|(a, b)| !alike(a.re, b.re) || !alike(a.im, b.im));
    assert!(at.is_none() && ours.len() == theirs.len(), "{name}: {at:?}");
}

/// Equal, and NaN like NaN.
fn allied(a: &Tensor, b: &Tensor) -> bool {
    a.shape() == b.shape() && a.to_string() == b.to_string()
}
