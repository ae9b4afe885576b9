//! State dicts in safetensors files.

use std::fs;

use openwork::io::state_dict::{Archive, StateDict};
use openwork::{DType, Layout, Tensor, bf16, c64};

use super::{all_tensors, path, same};

#[test]
fn every_storage_fill_and_dtype() {
    let mut model = StateDict::new();
    let tensors: Vec<(String, Tensor)> = all_tensors(1).collect();
    for (i, (_, x)) in tensors.iter().enumerate() {
        // Orders of names and of insertion differ.
        model.insert(format!("{}.t{i}", i % 7), x.clone()).unwrap();
    }
    let file = path("all.safetensors");
    model.save(&file).unwrap();
    // SAFETY: nobody writes to the file while it is mapped.
    #[allow(unsafe_code)]
    let mapped = unsafe { Archive::map(&file).unwrap() };
    let bytes = fs::read(&file).unwrap();
    assert_eq!(bytes, model.to_safetensors().unwrap());
    for archive in [Archive::open(&file).unwrap(), mapped, Archive::from_safetensors(&bytes).unwrap()] {
        assert!(archive.names().eq(model.names()));
        for ((cell, x), name) in tensors.iter().zip(model.names()) {
            let d = archive.descriptor(name).unwrap();
            let shape: Vec<u64> = x.shape().iter().map(|&s| s as u64).collect();
            assert_eq!(
                (&d.shape, d.dtype(), d.number_of_stored_values),
                (&shape, Some(x.dtype()), Some(x.nse() as u64))
            );
            same(x, &archive.tensor(name).unwrap()).unwrap_or_else(|e| panic!("{cell} {name}: {e}"));
        }
        assert_eq!(archive.load().unwrap().nbytes(), archive.load().unwrap().nbytes());
    }
    fs::remove_file(file).unwrap();
}

#[test]
fn a_map_shares_and_outlives_the_archive() {
    let file = path("map.safetensors");
    let mut model = StateDict::new();
    let x = Tensor::random([300, 200], 0.1, 0.0, Layout::Csr, 5).unwrap();
    model.insert("flag", Tensor::from_vec([3], vec![true, false, true]).unwrap()).unwrap();
    model.insert("x", x.clone()).unwrap();
    model.save(&file).unwrap();
    // SAFETY: nobody writes to the file while it is mapped.
    #[allow(unsafe_code)]
    let (a, b) = {
        let archive = unsafe { Archive::map(&file).unwrap() };
        (archive.tensor("x").unwrap(), archive.tensor("x").unwrap())
    };
    // Two tensors of one map are the same memory, so they have the same pattern.
    assert_eq!(a.values::<f64>().unwrap().as_ptr(), b.values::<f64>().unwrap().as_ptr());
    // Saving over it puts a new file there, and the old one lives on in the map.
    StateDict::new().save(&file).unwrap();
    same(&a, &x).unwrap();
    let sum = a.add(&b).unwrap();
    same(&sum, &x.add(&x).unwrap()).unwrap();
    assert_eq!(Archive::open(&file).unwrap().len(), 0);
    fs::remove_file(file).unwrap();
}

#[test]
fn dense_tensors_are_plain_arrays() {
    let mut model = StateDict::new();
    let mut add = |name: &str, x: Tensor| assert!(model.insert(name, x).unwrap().is_none());
    add("w", Tensor::from_vec([2, 2], vec![1.0f32, 2.0, 3.0, 4.0]).unwrap());
    add("half", Tensor::from_vec([1], vec![bf16::from_f32(1.5)]).unwrap());
    add("z", Tensor::from_vec([1], vec![c64::new(1.0, -2.0)]).unwrap());
    add("s", Tensor::eye(2, DType::I16, Layout::Coo).unwrap());
    model.metadata_mut().insert("format".into(), "pt".into());
    model.metadata_mut().insert("steps".into(), serde_json::json!([1, 2.5, null]));
    let bytes = model.to_safetensors().unwrap();
    let n = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    assert_eq!((8 + n) % 64, 0, "data are aligned");
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + n]).unwrap();
    let entry = |name: &str| (header[name]["dtype"].as_str().unwrap(), header[name]["shape"].to_string());
    assert_eq!(entry("w"), ("F32", "[2,2]".into()));
    assert_eq!(entry("half"), ("BF16", "[1]".into()));
    assert_eq!(entry("z"), ("F32", "[1,2]".into()));
    assert_eq!(entry("s.indices_0"), ("U32", "[2]".into()));
    assert_eq!(entry("s.values"), ("I16", "[1]".into()), "iso values are written once");
    let meta = &header["__metadata__"];
    assert_eq!((meta["format"].as_str(), meta["steps"].as_str()), (Some("pt"), Some("[1,2.5,null]")));
    let descriptor: serde_json::Value = serde_json::from_str(meta["s.binsparse"].as_str().unwrap()).unwrap();
    assert_eq!(descriptor["binsparse"]["format"], "COOR");
    assert_eq!(header.as_object().unwrap().len(), 7);
    let at = header["w"]["data_offsets"][0].as_u64().unwrap() as usize + 8 + n;
    assert_eq!(bytes[at..at + 4], 1.0f32.to_le_bytes());
    let back = StateDict::from_safetensors(&bytes).unwrap();
    assert_eq!(back.metadata(), model.metadata());
    assert!(back.names().eq(["w", "half", "z", "s"]));
    assert_eq!(back.tensor("z").unwrap().item().unwrap(), c64::new(1.0, -2.0).into());
}

#[test]
fn files_of_other_writers() {
    let header = r#"{"b":{"dtype":"I64","shape":[],"data_offsets":[4,12]},"a":{"dtype":"BOOL","shape":[2,2],"data_offsets":[0,4]},"f8":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[12,15]},"c":{"dtype":"C64","shape":[1],"data_offsets":[15,23]}} "#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend([1, 0, 0, 1]);
    bytes.extend((-5i64).to_le_bytes());
    bytes.extend([0, 1, 2]);
    bytes.extend([2.0f32, 3.0].map(f32::to_le_bytes).concat());
    let archive = Archive::from_safetensors(&bytes).unwrap();
    assert!(archive.names().eq(["b", "a", "f8", "c"]), "the order of the header");
    assert_eq!(archive.tensor("b").unwrap().item().unwrap(), (-5i64).into());
    assert_eq!(archive.tensor("a").unwrap().values::<bool>().unwrap(), [true, false, false, true]);
    assert_eq!(archive.tensor("c").unwrap().values::<c64>().unwrap(), [c64::new(2.0, 3.0)]);
    assert_eq!(archive.descriptor("a").unwrap().format, "DMATR");
    for error in [archive.tensor("f8").unwrap_err(), archive.descriptor("f8").unwrap_err()] {
        assert!(error.to_string().contains("\"f8\": its element type is F8_E4M3"), "{error}");
    }
    assert!(archive.load().is_err());
}

#[test]
fn a_dict_keeps_its_order() {
    let number = |v: i32| Tensor::scalar(v);
    let mut d = StateDict::new();
    for (i, name) in ["z", "a", "m"].into_iter().enumerate() {
        d.insert(name, number(i as i32)).unwrap();
    }
    assert_eq!(d.insert("a", number(9)).unwrap().unwrap().item().unwrap(), 1i32.into());
    assert!(d.remove("z").is_some() && d.remove("z").is_none());
    d.insert("z", number(7)).unwrap();
    assert!(d.names().eq(["a", "m", "z"]));
    assert_eq!(d.get("m").unwrap().item().unwrap(), 2i32.into());
    assert_eq!(d.get("z").unwrap().item().unwrap(), 7i32.into());
    assert_eq!((d.len(), d.is_empty(), d.nbytes()), (3, false, 12));
    assert!(d.iter().all(|(name, x)| d.tensor(name).unwrap().item().unwrap() == x.item().unwrap()));
    let error = d.tensor("q").unwrap_err().to_string();
    assert_eq!(error, "StateDict::tensor: argument `name`: \"q\" is not there; known are \"a\", \"m\", \"z\"");
    for name in ["", "__metadata__"] {
        assert!(d.insert(name, number(0)).unwrap_err().to_string().contains("cannot name a tensor"));
    }
}

#[test]
fn what_cannot_be_saved_is_refused_before_a_file_exists() {
    let file = path("refused.safetensors");
    let sparse = Tensor::eye(3, DType::F32, Layout::Csr).unwrap();
    let mut d = StateDict::new();
    d.insert("w", sparse).unwrap();
    d.insert("w.values", Tensor::scalar(1.0)).unwrap();
    let error = d.save(&file).unwrap_err().to_string();
    assert!(error.contains("two arrays of the file would be named \"w.values\""), "{error}");
    d.remove("w.values");
    for key in ["openwork", "w.binsparse"] {
        d.metadata_mut().insert(key.into(), "x".into());
        let error = d.save(&file).unwrap_err().to_string();
        assert!(error.contains(key) && error.contains("metadata"), "{error}");
        d.metadata_mut().clear();
    }
    assert!(!file.exists());
    let error = d.save(file.with_extension("pkl")).unwrap_err().to_string();
    assert!(error.contains("StateDict::save: argument `path`: the extension \"pkl\""), "{error}");
    assert!(Archive::open(file.with_extension("pkl")).unwrap_err().to_string().contains(".pkl"));
    let error = d.save(file.with_extension("pt")).unwrap_err().to_string();
    assert!(error.contains("StateDict::save: argument `path`: files of PyTorch's are read, not written"), "{error}");
    assert!(Archive::open(&file).unwrap_err().to_string().contains("refused.safetensors: "));
    d.save(&file).unwrap();
    assert!(d.save(file.join("below")).is_err() && file.exists());
    fs::remove_file(file).unwrap();
}

#[test]
fn every_storage_fill_and_dtype_in_hdf5() {
    let mut model = StateDict::new();
    // Some of them: groups are slow.
    let tensors: Vec<(String, Tensor)> = all_tensors(2).step_by(29).collect();
    for (i, (_, x)) in tensors.iter().enumerate() {
        model.insert(format!("g{}/t{i}", i % 7), x.clone()).unwrap();
    }
    model.metadata_mut().insert("steps".into(), serde_json::json!([1, 2.5, null]));
    let file = path("all.h5");
    model.save(&file).unwrap();
    let archive = Archive::open(&file).unwrap();
    assert!(archive.names().eq(model.names()), "in the order of insertion");
    assert_eq!(archive.metadata(), model.metadata());
    for ((cell, x), name) in tensors.iter().zip(model.names()) {
        assert_eq!(archive.descriptor(name).unwrap().dtype(), Some(x.dtype()));
        same(x, &archive.tensor(name).unwrap()).unwrap_or_else(|e| panic!("{cell} {name}: {e}"));
    }
    assert!(archive.tensor("g0").unwrap_err().to_string().contains("\"g0\" is not there; known are"));
    fs::remove_file(&file).unwrap();
    for name in ["a//b", "../a", "/a"] {
        let mut d = StateDict::new();
        d.insert(name, Tensor::scalar(1.0)).unwrap();
        assert!(d.save(&file).unwrap_err().to_string().contains(name) && !file.exists());
    }
}

#[test]
fn ranges_of_rows() {
    let mut model = StateDict::new();
    let csr = Tensor::random([300, 20], 0.2, 0.0, Layout::Csr, 5).unwrap();
    let layouts = [Layout::Csr, Layout::Bsr { block: [10, 4] }, Layout::Strided, Layout::Csc];
    for layout in layouts {
        model.insert(layout.to_string(), csr.to_layout(layout).unwrap()).unwrap();
    }
    let complex = csr.to_dense().unwrap().cast(DType::Complex64).unwrap();
    let truth = csr.to_dense().unwrap().cast(DType::Bool).unwrap();
    model.insert("complex", complex).unwrap();
    model.insert("truth", truth).unwrap();
    model.insert("coo", csr.to_layout(Layout::Coo).unwrap()).unwrap();
    model.insert("one", Tensor::scalar(1.0)).unwrap();
    for ending in ["safetensors", "h5"] {
        let file = path(&format!("rows.{ending}"));
        model.save(&file).unwrap();
        let mut archives = vec![Archive::open(&file).unwrap()];
        if ending == "safetensors" {
            archives.push(Archive::from_safetensors(&fs::read(&file).unwrap()).unwrap());
        }
        for archive in archives {
            for name in archive.names().filter(|n| !["coo", "one"].contains(n)) {
                let x = archive.tensor(name).unwrap();
                let axis = usize::from(name == Layout::Csc.to_string());
                for range in [0..0, 0..10, 10..20, 0..x.shape()[axis], x.shape()[axis]..x.shape()[axis]] {
                    let rows = archive.rows(name, range.clone()).unwrap_or_else(|e| panic!("{name}: {e}"));
                    let narrowed = x.narrow(range.clone(), axis).unwrap();
                    // A window on blocks is of another layout.
                    same(
                        &narrowed.to_dense().unwrap().to_contiguous().unwrap(),
                        &rows.to_dense().unwrap().to_contiguous().unwrap(),
                    )
                    .unwrap_or_else(|e| panic!("{ending} {name} {range:?}: {e}"));
                    assert_eq!((rows.layout(), rows.dtype()), (x.layout(), x.dtype()), "{ending} {name}");
                }
                let error = archive.rows(name, 290..301).unwrap_err().to_string();
                assert!(error.contains("290..301") && error.contains("does not lie in axis"), "{error}");
            }
            for (name, why) in [("coo", "is sparse"), ("one", "without axes"), ("none", "Archive::rows")] {
                let error = archive.rows(name, 0..1).unwrap_err().to_string();
                assert!(error.contains(why), "{error}");
            }
        }
        fs::remove_file(file).unwrap();
    }
}

/// Whatever the container, an archive has names, metadata, descriptors, tensors and rows.
#[test]
fn archives_of_every_container() {
    use openwork::io::{anndata, binsparse, numpy, sscdf};
    let folder = crate::common::temporary("archives");
    let (x, y) = (
        Tensor::random([9, 7], 0.4, 0.0, Layout::Csr, 1).unwrap(),
        Tensor::random([9, 7], 0.3, 0.0, Layout::Csr, 2).unwrap(),
    );
    let entries = [binsparse::Entry::new("X", &x), binsparse::Entry::new("layers/y", &y)];
    let dense = x.to_dense().unwrap();
    let all: [(&str, &[(&str, &Tensor)]); 8] = [
        ("a.h5", &[("X", &x), ("layers/y", &y)]),
        ("b.zarr", &[("X", &x), ("layers/y", &y)]),
        ("c.zarr.zip", &[("X", &x), ("layers/y", &y)]),
        ("d.h5ad", &[("X", &x), ("layers/y", &y)]),
        ("e.sscdf", &[("", &x), ("other", &y)]),
        ("f.npz", &[("one", &dense), ("two", &dense)]),
        ("g.npz", &[("", &x)]),
        ("h.bspnpy", &[("", &x)]),
    ];
    for (file, tensors) in all {
        let path = folder.join(file);
        match file.split_once('.').unwrap() {
            (_, "h5" | "zarr" | "zarr.zip") => binsparse::write_all(&path, &entries, &Default::default()).unwrap(),
            (_, "h5ad") => anndata::write_all(&path, tensors, &Default::default()).unwrap(),
            (_, "sscdf") => {
                let objects: Vec<_> = tensors.iter().map(|(name, x)| sscdf::Object::new(name, x)).collect();
                sscdf::write_all(&path, &objects, &Default::default()).unwrap();
            }
            ("f", _) => numpy::write_all(&path, tensors, &Default::default()).unwrap(),
            _ => openwork::io::write(&path, tensors[0].1).unwrap(),
        }
        let archive = Archive::open(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(
            archive.names().collect::<Vec<_>>(),
            tensors.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            "{file}"
        );
        for (name, tensor) in tensors {
            assert!(archive.tensor(name).unwrap().equal(tensor).unwrap(), "{file} {name}");
            assert_eq!(archive.descriptor(name).unwrap().shape, [9, 7], "{file} {name}");
            assert!(
                archive.rows(name, 2..5).unwrap().equal(&tensor.narrow(2..5, 0).unwrap()).unwrap(),
                "{file} {name}"
            );
        }
        assert!(archive.tensor("none").unwrap_err().to_string().contains("\"none\" is not there; known are"));
        assert!(archive.metadata().is_empty());
    }
    let text = folder.join("x.mtx");
    openwork::io::write(&text, &x).unwrap();
    assert!(Archive::open(&text).unwrap_err().to_string().contains("Matrix Market holds one tensor without a name"));
    assert!(Archive::open(folder.join("none.h5")).is_err());
    fs::write(folder.join("x.bin"), "what is this").unwrap();
    assert!(Archive::open(folder.join("x.bin")).unwrap_err().to_string().contains("names no format for models"));
    fs::remove_dir_all(&folder).unwrap();
}
