//! Folders of `.npy` files (`.bspnpy`).

use std::fs;
use std::path::Path;

use openwork::io::binsparse::{self, Version};
use openwork::io::{self, Format, ReadOptions, WriteOptions};
use openwork::{DType, Layout, Tensor};

use super::golden::read_all;
use crate::common::rng::Rng;
use crate::common::{folder, python, temporary};
use crate::mutate::mutate;

#[test]
fn folders_of_numpy_arrays_decode_as_published() {
    const NAME: &str = "folders_of_numpy_arrays_decode_as_published";
    let Some(root) = folder(NAME, "formats") else { return };
    let here = temporary("npy-folder-published");
    let made = here.join("generated/py-binsparse-0.1.4");
    fs::create_dir_all(&made).unwrap();
    fs::copy(root.join("GOLDEN.jsonl"), here.join("GOLDEN.jsonl")).unwrap();
    let source = root.join("generated/py-binsparse-0.1.4");
    let arguments = ["make", source.to_str().unwrap(), made.to_str().unwrap()];
    if python(NAME, "npy_folder.py", &arguments).is_some() {
        assert_eq!(read_all(&here, "bspnpy"), (25, 23));
    }
    fs::remove_dir_all(&here).unwrap();
}

#[test]
fn what_is_written_is_read_and_numpy_reads_it() {
    let folder = temporary("npy-folder");
    let path = folder.join("x.bspnpy");
    let extended = WriteOptions { extensions: true, ..Default::default() };
    for layout in [Layout::Csr, Layout::Csc, Layout::Dcsr, Layout::Coo, Layout::Bsr { block: [2, 2] }, Layout::Strided]
    {
        for dtype in [DType::Bool, DType::I8, DType::U64, DType::F16, DType::F32, DType::Complex128] {
            let x = Tensor::random([6, 8], 0.4, 0.0, Layout::Coo, 1).unwrap();
            let x = (x * 9.0).unwrap().cast(dtype).unwrap().to_layout(layout).unwrap();
            binsparse::write_with(&path, &x, &extended).unwrap();
            let back = io::read_with(&path, &Default::default()).unwrap();
            assert_eq!((back.format, back.tensor.layout(), back.tensor.dtype()), (Format::NpyFolder, layout, dtype));
            assert!(back.tensor.equal(&x).unwrap(), "{layout} {dtype}");
            let info = &io::info(&path).unwrap()[0];
            assert_eq!((info.format, info.layout, info.name.as_str()), (Format::NpyFolder, layout, ""));
            let sum: u64 = fs::read_dir(&path).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
            assert_eq!(info.file_bytes, Some(sum));
        }
    }
    // The version that Finch asks for, unless another is asked for; keys beside the descriptor.
    let x = Tensor::random([20, 30], 0.2, 0.0, Layout::Csr, 1).unwrap();
    io::write(&path, &x).unwrap();
    assert_eq!(binsparse::info(&path).unwrap().version, "0.1");
    let rows = binsparse::read_rows(&path, 3..9, &Default::default()).unwrap().tensor;
    assert!(rows.equal(&x.narrow(3..9, 0).unwrap()).unwrap());
    if let Some(told) = python("what_is_written_is_read", "npy_folder.py", &["read", folder.to_str().unwrap()]) {
        let mut lines = told.lines();
        for (index, value) in x.iter_stored() {
            let line = format!("{} {} {value}", index[0], index[1]);
            let said: Vec<f64> = lines.next().unwrap().split(' ').map(|word| word.parse().unwrap()).collect();
            assert_eq!(said, line.split(' ').map(|word| word.parse().unwrap()).collect::<Vec<f64>>());
        }
        assert_eq!(lines.next(), None);
    }
    let newer = WriteOptions { version: Some(Version::V0_1_0), ..Default::default() };
    binsparse::write_with(&path, &x, &newer).unwrap();
    assert_eq!(binsparse::info(&path).unwrap().version, "0.1.0");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn folders_that_are_broken() {
    let folder = temporary("npy-folder-broken");
    let path = folder.join("x.bspnpy");
    let x = Tensor::random([6, 8], 0.4, 0.0, Layout::Csr, 1).unwrap();
    let told = || {
        let lenient = ReadOptions { lenient: true, ..Default::default() };
        let (strict, lenient) =
            (binsparse::read(&path).unwrap_err(), binsparse::read_with(&path, &lenient).unwrap_err());
        assert_eq!(strict.to_string(), lenient.to_string());
        strict.to_string()
    };
    let values = path.join("values.npy");
    let break_with = |change: &dyn Fn(), why: &str| {
        let _ = fs::remove_dir_all(&path);
        io::write(&path, &x).unwrap();
        change();
        assert!(told().contains(why), "{why}: {}", told());
    };
    let cut = |file: &Path| fs::write(file, &fs::read(file).unwrap()[..200]).unwrap();
    break_with(&|| fs::remove_file(&values).unwrap(), "`values` is missing");
    break_with(&|| cut(&values), "values");
    break_with(&|| fs::write(path.join("binsparse.json"), "{\"binsparse\": 1").unwrap(), "JSON");
    break_with(
        &|| fs::File::create(path.join("binsparse.json")).unwrap().set_len(1 << 40).unwrap(),
        "are the most it may have",
    );
    #[cfg(unix)]
    break_with(
        &|| {
            let elsewhere = folder.join("elsewhere.npy");
            fs::rename(&values, &elsewhere).unwrap();
            std::os::unix::fs::symlink(elsewhere, &values).unwrap();
        },
        "links might lead out of the folder",
    );
    // Only such a folder is replaced, options that it has not are refused, and a stream is none.
    let photos = folder.join("photos.bspnpy");
    fs::create_dir(&photos).unwrap();
    fs::write(photos.join("one.png"), "of many").unwrap();
    assert!(io::write(&photos, &x).unwrap_err().to_string().contains("not a folder that can be replaced"));
    assert!(io::read(&photos).unwrap_err().to_string().contains("nor has it a binsparse.json"));
    for options in [
        WriteOptions { compress: true, ..Default::default() },
        WriteOptions { name: Some("a"), ..Default::default() },
        WriteOptions { chunk: Some(3), ..Default::default() },
    ] {
        assert!(binsparse::write_with(&path, &x, &options).is_err());
    }
    let error = io::write_to(Vec::new(), Format::NpyFolder, &x, &Default::default()).unwrap_err().to_string();
    assert!(error.contains("is a folder, which no stream holds"), "{error}");
    let error = binsparse::write_all(&path, &[], &Default::default()).unwrap_err().to_string();
    assert!(error.contains("a folder of .npy files holds one tensor"), "{error}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn mutants_end_in_an_error_or_a_tensor() {
    let folder = temporary("npy-folder-mutants");
    let path = folder.join("x.bspnpy");
    io::write(&path, &Tensor::random([4, 6, 2], 0.4, 1.5, Layout::Csf, 5).unwrap()).unwrap();
    let names: Vec<_> = fs::read_dir(&path).unwrap().map(|file| file.unwrap().path()).collect();
    let good: Vec<Vec<u8>> = names.iter().map(|name| fs::read(name).unwrap()).collect();
    let mut random = Rng::new(31);
    let mut accepted = 0;
    for _ in 0..3000 {
        let which = random.below(names.len());
        let mut bytes = good[which].clone();
        mutate(&mut bytes, b"\x00\x01\x7f\x80\xff09-[]{}\",:'", &mut random);
        fs::write(&names[which], bytes).unwrap();
        let options = ReadOptions { max_bytes: Some(1 << 20), lenient: true, ..Default::default() };
        if let Ok(read) = binsparse::read_with(&path, &options) {
            assert_eq!(read.tensor.iter_stored().count(), read.tensor.nse());
            assert!(read.tensor.nbytes() <= 2 << 20);
            accepted += 1;
        }
        fs::write(&names[which], &good[which]).unwrap();
    }
    assert!(accepted > 300, "{accepted}: the mutants are too damaged to test anything");
    fs::remove_dir_all(&folder).unwrap();
}
