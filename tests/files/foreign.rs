//! Sparse arrays as SciPy, pydata/sparse, AnnData and 10x Genomics save them: read, told of, judged.

use std::path::Path;

use crate::common::{folder, python, temporary};
use openwork::io::{self, ReadOptions};
use openwork::{DType, IndexArray, Layout, LevelData, Tensor};

/// The elements that a `.npy` file of complex128 holds, with the shape and dtype beside it.
pub fn dense(folder: &Path, name: &str) -> (Tensor, Vec<usize>, DType) {
    let bytes = std::fs::read(folder.join(format!("{name}.npy"))).unwrap();
    let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let values: Vec<openwork::c128> = bytes[header..]
        .chunks_exact(16)
        .map(|pair| {
            let part = |at: usize| f64::from_le_bytes(pair[at..at + 8].try_into().unwrap());
            openwork::c128::new(part(0), part(8))
        })
        .collect();
    let said = std::fs::read_to_string(folder.join(format!("{name}.shape"))).unwrap();
    let mut words: Vec<&str> = said.split_whitespace().collect();
    let dtype = words.pop().unwrap().parse().unwrap();
    let shape: Vec<usize> = words.iter().map(|word| word.parse().unwrap()).collect();
    (Tensor::from_vec(&shape, values).unwrap(), shape, dtype)
}

#[track_caller]
fn same(x: &Tensor, folder: &Path, name: &str) {
    let (wanted, shape, dtype) = dense(folder, name);
    assert_eq!((x.shape(), x.dtype()), (&shape[..], dtype), "{name}");
    let all = x.cast(DType::Complex128).unwrap().to_dense().unwrap();
    assert!(all.equal(&wanted).unwrap(), "{name}: {all}");
}

#[test]
fn files_of_other_libraries_are_read() {
    let folder = temporary("foreign");
    if python("files_of_other_libraries_are_read", "foreign.py", &[folder.to_str().unwrap()]).is_none() {
        return;
    }
    let mut read = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.extension().is_none_or(|end| end != "npz") || name == "other" {
            continue;
        }
        let x = io::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        same(&x, &folder, &name);
        let info = &io::info(&path).unwrap()[0];
        assert_eq!((info.layout, info.dtype), (x.layout(), Some(x.dtype())), "{name}");
        assert_eq!(info.version, None, "{name}: no version of binsparse");
        let library = if name.starts_with("scipy") { "SciPy" } else { "pydata/sparse" };
        assert!(info.stored_as.starts_with(library), "{name}: {}", info.stored_as);
        let layout = match name.split('-').nth(1).unwrap() {
            "csr" | "unordered" => Layout::Csr,
            "csc" => Layout::Csc,
            "bsr" => Layout::Bsr { block: [2, 4] },
            "coo" | "dia" | "many" => Layout::Coo,
            _ if name.contains("gcxs-0") => Layout::Csr,
            _ => Layout::Csc,
        };
        assert_eq!(x.layout(), layout, "{name}");
        let mut wrong = Vec::new();
        io::validate(&path, &ReadOptions::default(), &mut |violation| wrong.push(violation)).unwrap();
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
        read += 1;
    }
    assert_eq!(read, 5 * 8 * 2 + 1 + 3 + 4 * 2 * 3 + 5);
    // The fill is what pydata/sparse says.
    let x = io::read(folder.join("pydata-coo-float64-inf-True.npz")).unwrap();
    assert_eq!(x.fill().unwrap().to_string(), "inf");
    // What cannot be read says what it is.
    let told = io::read(folder.join("other.npz")).unwrap_err().to_string();
    assert!(told.contains("2 arrays, of which one must be named"), "{told}");
    // Groups by name, those of AnnData among what is none.
    for (file, names) in [("cells.h5ad", &["X", "layers/counts", "layers/seen"][..]), ("filtered.h5", &["matrix"])] {
        let path = folder.join(file);
        let told: Vec<String> = io::info(&path).unwrap().into_iter().map(|info| info.name).collect();
        assert_eq!(told, names);
        for name in names {
            let x = io::read_with(&path, &ReadOptions { name: Some(name), ..Default::default() }).unwrap().tensor;
            let stem = file.split('.').next().unwrap();
            same(&x, &folder, &format!("{stem}.{}", name.replace('/', ".")));
            let rows = io::binsparse::File::open(&path).unwrap().rows(name, 2..5, &Default::default()).unwrap();
            let axis = usize::from(x.layout() == Layout::Csc);
            assert!(rows.tensor.equal(&x.narrow(2..5, axis).unwrap()).unwrap(), "{file}, {name}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn dense_arrays_of_anndata_are_read() {
    let folder = temporary("foreign-cells");
    if python("dense_arrays_of_anndata_are_read", "cells.py", &[folder.to_str().unwrap()]).is_none() {
        return;
    }
    let named = |path: &Path, name: &str| io::read_with(path, &ReadOptions { name: Some(name), ..Default::default() });
    for file in ["plain", "packed", "lzf"] {
        let path = folder.join(format!("{file}.h5ad"));
        let told = io::info(&path).unwrap();
        let names: Vec<&str> = told.iter().map(|info| &*info.name).collect();
        let wanted = [
            "X",
            "layers/by_columns",
            "layers/counts",
            "layers/sparse",
            "obsm/pca",
            "obsm/spatial",
            "obsp/near",
            "raw/X",
            "raw/varm/load",
            "uns/cube",
            "varm/load",
        ];
        assert_eq!(names, wanted, "{file}");
        for info in &told {
            let x = named(&path, &info.name).unwrap_or_else(|error| panic!("{file} {}: {error}", info.name)).tensor;
            same(&x, &folder, &format!("{file}.{}", info.name.replace('/', ".")));
            let kind = if info.name == "layers/sparse" { "AnnData csr_matrix" } else { "AnnData array" };
            assert_eq!((&*info.stored_as, info.format), (kind, io::Format::AnnData), "{}", info.name);
            // From the middle of a chunk, where there are any.
            let rows = io::binsparse::File::open(&path).unwrap().rows(&info.name, 1..3, &Default::default());
            assert!(rows.unwrap().tensor.equal(&x.narrow(1..3, 0).unwrap()).unwrap(), "{file}, {}", info.name);
        }
        let mut wrong = Vec::new();
        io::validate(&path, &ReadOptions::default(), &mut |violation| wrong.push(violation)).unwrap();
        assert!(wrong.is_empty(), "{file}: {wrong:?}");
        // Tables and texts are no tensors; a dataset in them is read by its name.
        assert_eq!(named(&path, "obs/age").unwrap().tensor.shape(), [40]);
        let told = named(&path, "obs/_index").unwrap_err().to_string();
        assert!(told.contains("holds text, not numbers"), "{told}");
    }
    // Datasets of several axes in every form that h5py has.
    let mut read = 0;
    for file in ["grids", "grids-old"] {
        let path = folder.join(format!("{file}.h5"));
        for name in std::fs::read_to_string(folder.join(format!("{file}.txt"))).unwrap().lines() {
            let x = named(&path, name).unwrap_or_else(|error| panic!("{name}: {error}")).tensor;
            same(&x, &folder, &format!("grids.{name}"));
            let info = &io::info_with(&path, &ReadOptions { name: Some(name), ..Default::default() }).unwrap()[0];
            assert_eq!(info.stored_as, "HDF5 array");
            let part = io::binsparse::File::open(&path).unwrap().rows(name, 1..4, &Default::default());
            assert!(part.unwrap().tensor.equal(&x.narrow(1..4, 0).unwrap()).unwrap(), "{name}");
            read += 1;
        }
        assert!(io::binsparse::File::open(&path).unwrap().names().unwrap().is_empty());
    }
    println!("{read} datasets");
    assert_eq!(read, 2 * (5 * (6 * 3 + 1) + 4));
    let path = folder.join("grids.h5");
    let told = io::read(&path).unwrap_err().to_string();
    assert!(told.contains("any other dataset of numbers is read by its name"), "{told}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_annotated_matrix_that_anndata_wrote() {
    let Some(root) = folder("an_annotated_matrix_that_anndata_wrote", "tried") else { return };
    let info = io::info(root.join("real.h5ad")).unwrap();
    assert!(info.iter().any(|info| info.name == "X" && info.stored_as.starts_with("AnnData")), "{info:?}");
    let x = io::read_with(root.join("real.h5ad"), &ReadOptions { name: Some("X"), ..Default::default() }).unwrap();
    assert!(x.tensor.nse() > 0);
    let x = io::read(root.join("scipy.npz")).unwrap();
    assert!(x.nse() > 0 && x.is_coalesced());
}

/// The pointers and indices of a compressed matrix.
fn arrays(x: &Tensor) -> Vec<IndexArray> {
    match x.levels().unwrap().pop() {
        Some(LevelData::Sparse { pointers, indices, .. }) => pointers.into_iter().chain(indices).collect(),
        other => panic!("{other:?}"),
    }
}

/// Pointers of 64 bits beside indices of 32 do not make these twice as large.
#[test]
fn wide_pointers_leave_indices_as_they_are() {
    let pointers: Vec<u64> = vec![0, 2, 3];
    let indices: Vec<u32> = vec![0, 3, 1];
    let values = Tensor::from_vec([3], vec![1.0, 2.0, 3.0]).unwrap();
    let x = Tensor::csr([2, 4], pointers, indices.clone(), &values, 0.0).unwrap();
    assert_eq!(arrays(&x)[1].as_u32(), Some(&indices[..]));
    // What needs 64 bits has them, and all others with it.
    let far = Tensor::csr([2, 1 << 40], vec![0_u32, 1, 3], vec![1_u64 << 39, 0, 5], &values, 0.0).unwrap();
    assert!(arrays(&far).iter().all(|array| array.as_u64().is_some()));
    if let Some(root) = folder("wide_pointers_leave_indices_as_they_are", "tried") {
        let folder = temporary("foreign-widths");
        let out = folder.join("out.h5");
        io::write(&out, &io::read(root.join("mixed_widths.h5")).unwrap()).unwrap();
        let bytes = |path: &Path| std::fs::metadata(path).unwrap().len();
        assert!(bytes(&out) < bytes(&root.join("mixed_widths.h5")));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
