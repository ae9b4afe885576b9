//! What is written to a store reads back the same, in a folder and in an archive.

use std::fs;

use openwork::io::binsparse::{self, Entry, File};
use openwork::io::{self, Format, ReadOptions, WriteOptions};
use openwork::{DType, Layout, Tensor};
use serde_json::json;

use crate::common::temporary;
use crate::python::DTYPES;

#[track_caller]
fn alike(a: &Tensor, b: &Tensor) {
    assert_eq!((a.layout(), a.shape(), a.dtype(), a.nse()), (b.layout(), b.shape(), b.dtype(), b.nse()));
    assert_eq!(a.to_string(), b.to_string());
    assert!(a.equal(b).unwrap());
}

#[test]
fn tensors_come_back_as_they_were() {
    let folder = temporary("zarr-round");
    let mut count = 0;
    for dtype in DTYPES {
        let x = (Tensor::random([6, 5], 0.4, 0.0, Layout::Coo, 3).unwrap() * 100.0).unwrap().cast(dtype).unwrap();
        for layout in [Layout::Strided, Layout::Coo, Layout::Csr, Layout::Csc, Layout::Dcsr, Layout::Dcsc] {
            for end in ["zarr", "zarr.zip"] {
                let path = folder.join(format!("x.{end}"));
                let x = x.to_layout(layout).unwrap();
                io::write(&path, &x).unwrap();
                alike(&io::read(&path).unwrap(), &x);
                assert_eq!(Format::of_file(&path).unwrap(), Format::Zarr);
                let mut wrong = Vec::new();
                io::validate(&path, &Default::default(), &mut |violation| wrong.push(violation)).unwrap();
                assert!(wrong.is_empty(), "{wrong:?}");
                count += 1;
            }
        }
    }
    assert_eq!(count, 13 * 6 * 2);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "nothing else is left behind");
    // Blocks and half precision, in the name space of their own.
    let half = Tensor::random([8, 8], 0.3, 0.0, Layout::Bsr { block: [2, 4] }, 1).unwrap().cast(DType::BF16).unwrap();
    let path = folder.join("half.zarr");
    assert!(binsparse::write(&path, &half).unwrap_err().to_string().contains("bfloat16"));
    assert!(!path.exists());
    let options = WriteOptions { extensions: true, ..Default::default() };
    binsparse::write_with(&path, &half, &options).unwrap();
    alike(&binsparse::read(&path).unwrap(), &half);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn chunks_packed_and_not() {
    let folder = temporary("zarr-chunks");
    let x = Tensor::random([2000, 300], 0.05, 0.0, Layout::Csr, 3).unwrap();
    for (compress, chunk, files) in [(false, None, 1), (false, Some(7000), 5), (true, None, 1), (true, Some(1000), 30)]
    {
        for end in ["zarr", "zarr.zip"] {
            let path = folder.join(format!("x.{end}"));
            let metadata = json!({ "by": "hand" }).as_object().cloned().unwrap();
            let options = WriteOptions { compress, chunk, metadata: Some(&metadata), ..Default::default() };
            binsparse::write_with(&path, &x, &options).unwrap();
            let read = binsparse::read_with(&path, &ReadOptions::default()).unwrap();
            alike(&read.tensor, &x);
            assert_eq!(read.descriptor.metadata["by"], "hand");
            let rows = binsparse::read_rows(&path, 901..1702, &Default::default()).unwrap().tensor;
            assert!(rows.equal(&x.narrow(901..1702, 0).unwrap()).unwrap());
            if end == "zarr" {
                assert_eq!(fs::read_dir(path.join("values/c")).unwrap().count(), files);
            }
            let packed = io::info(&path).unwrap()[0].arrays.iter().any(|array| array.packed.is_some());
            assert_eq!(packed, compress);
        }
    }
    let refused =
        |options: WriteOptions| binsparse::write_with(folder.join("y.zarr"), &x, &options).unwrap_err().to_string();
    assert!(refused(WriteOptions { shuffle: true, ..Default::default() }).contains("Zarr does not have"));
    assert!(refused(WriteOptions { chunk: Some(0), ..Default::default() }).contains("at least one entry"));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn several_tensors_by_name() {
    let folder = temporary("zarr-names");
    let (weight, bias) =
        (Tensor::eye(4, DType::F32, Layout::Csr).unwrap(), Tensor::from_vec([2], vec![1.0, 2.0]).unwrap());
    let entries = [Entry::new("layer/weight", &weight), Entry::new("a", &bias), Entry::new("", &weight)];
    let metadata = json!({ "epoch": 3 }).as_object().cloned().unwrap();
    for end in ["zarr", "zarr.zip"] {
        let path = folder.join(format!("model.{end}"));
        let options = WriteOptions { metadata: Some(&metadata), ..Default::default() };
        binsparse::write_all(&path, &entries, &options).unwrap();
        let mut file = File::open(&path).unwrap();
        assert_eq!(file.names().unwrap(), ["layer/weight", "a", ""]);
        assert_eq!(file.metadata().unwrap(), metadata);
        alike(&file.tensor("layer/weight").unwrap(), &weight);
        alike(&file.tensor("a").unwrap(), &bias);
        assert!(file.tensor("layer").unwrap_err().to_string().contains("no attribute `binsparse`"));
        assert!(file.tensor("none").unwrap_err().to_string().contains("there is no group and no array \"none\""));
    }
    for name in ["zarr.json", "a/zarr.json", "__x", "a:b", "..\\up", "../up"] {
        let error = binsparse::write_all(folder.join("no.zarr"), &[Entry::new(name, &bias)], &Default::default());
        assert!(error.unwrap_err().to_string().contains("name"), "{name}");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn only_stores_are_replaced() {
    let folder = temporary("zarr-replaced");
    let (x, y) = (Tensor::eye(4, DType::F32, Layout::Csr).unwrap(), Tensor::eye(3, DType::F64, Layout::Csc).unwrap());
    let path = folder.join("x.zarr");
    io::write(&path, &x).unwrap();
    io::write(&path, &y).unwrap();
    alike(&io::read(&path).unwrap(), &y);
    let photos = folder.join("photos.zarr");
    fs::create_dir(&photos).unwrap();
    fs::write(photos.join("one.png"), "of many").unwrap();
    let error = io::write(&photos, &x).unwrap_err().to_string();
    assert!(error.contains("not a folder that can be replaced"), "{error}");
    assert_eq!(fs::read_to_string(photos.join("one.png")).unwrap(), "of many");
    let error = io::read(&photos).unwrap_err().to_string();
    assert!(error.contains("a directory, and no Zarr store"), "{error}");
    // By a stream an archive goes, whole.
    let mut bytes = Vec::new();
    io::write_to(&mut bytes, Format::Zarr, &x, &Default::default()).unwrap();
    let read = io::read_from(&bytes[..], &Default::default()).unwrap();
    assert_eq!(read.format, Format::Zarr);
    alike(&read.tensor, &x);
    fs::remove_dir_all(&folder).unwrap();
}
