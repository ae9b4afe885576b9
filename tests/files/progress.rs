//! How far readers and writers say that they are.

use std::path::Path;
use std::sync::Mutex;

use openwork::io::state_dict::{Archive, StateDict};
use openwork::io::{self, Format, Progress, ReadOptions, WriteOptions, binsparse};
use openwork::{Layout, Tensor};

use crate::common::temporary;

/// What is told while `work` runs: both numbers, again and again.
fn told<T>(work: impl FnOnce(Progress<'_>) -> openwork::Result<T>) -> (Vec<(u64, u64)>, T) {
    let told = Mutex::new(Vec::new());
    let tell = |done, all| told.lock().unwrap().push((done, all));
    let made = work(Progress(&tell)).unwrap();
    (told.into_inner().unwrap(), made)
}

/// `done` rises, never beyond what there is, and ends with it; the end is told once.
fn is_right(told: &[(u64, u64)], least: usize, what: &str) {
    assert!(told.len() >= least, "{what}: {told:?}");
    let Some(&(last, all)) = told.last() else { panic!("{what}: nothing is told") };
    assert!(last == all && all > 0, "{what}: {told:?}");
    assert!(told.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 == all), "{what}: {told:?}");
}

/// Every format, both ways: of some megabytes, several times.
#[test]
fn every_format_tells_how_far_it_is() {
    let folder = temporary("progress");
    let csr = Tensor::random([6000, 3000], 0.05, 0.0, Layout::Csr, 3).unwrap(); // 900 000 elements
    let dense = Tensor::random([1000, 1000], 0.5, 0.0, Layout::Coo, 3).unwrap().to_dense().unwrap();
    // What is packed is counted in batches of many megabytes.
    let write = |path: &Path, x: &Tensor, options: &WriteOptions<'_>| {
        let what = path.display().to_string();
        let (said, ()) =
            told(|progress| io::write_with(path, x, &WriteOptions { progress: Some(progress), ..*options }));
        is_right(&said, if options.compress { 1 } else { 3 }, &format!("writing {what}"));
    };
    let read = |path: &Path, least: usize| {
        let what = path.display().to_string();
        let (said, loaded) =
            told(|progress| io::read_with(path, &ReadOptions { progress: Some(progress), ..Default::default() }));
        is_right(&said, least, &format!("reading {what}"));
        loaded.tensor
    };
    let plain = WriteOptions::default();
    for packed in [false, true] {
        let options = WriteOptions { compress: packed, level: packed.then_some(1), ..plain };
        for ending in ["npz", "h5", "zarr", "zarr.zip", "sscdf", "h5ad"] {
            let path = folder.join(format!("x{packed}.{ending}"));
            write(&path, &csr, &options);
            assert!(read(&path, if packed { 1 } else { 3 }).equal(&csr).unwrap(), "{}", path.display());
        }
        for format in [Format::ScipyNpz, Format::PydataNpz] {
            let path = folder.join("others.npz");
            write(&path, &csr, &WriteOptions { format: Some(format), ..options });
            assert!(read(&path, 3).equal(&csr).unwrap(), "{format}");
        }
        let path = folder.join("arrays.npz");
        write(&path, &dense, &WriteOptions { format: Some(Format::NumpyNpz), ..options });
        assert!(read(&path, 3).equal(&dense).unwrap());
    }
    for ending in ["bspnpy", "safetensors", "mtx", "mtx.gz", "ttx", "tns"] {
        let path = folder.join(format!("x.{ending}"));
        write(&path, &csr, &plain);
        let back = read(&path, if ending == "mtx.gz" { 2 } else { 3 });
        assert!(
            back.to_layout(Layout::Csr).unwrap().values::<f64>().unwrap() == csr.values::<f64>().unwrap(),
            "{ending}"
        );
    }
    for (x, ending) in [(&dense, "npy"), (&dense, "safetensors")] {
        let path = folder.join(format!("dense.{ending}"));
        write(&path, x, &plain);
        assert!(read(&path, 3).equal(x).unwrap(), "{ending}");
    }
    // From one file to another, in pieces; a stream; and what is checked.
    let (from, to) = (folder.join("xfalse.h5"), folder.join("copy.npz"));
    let (said, ()) = told(|progress| {
        io::copy(&from, &to, &ReadOptions::default(), &WriteOptions { progress: Some(progress), ..plain })
    });
    is_right(&said, 3, "copying");
    let (said, ()) = told(|progress| {
        let options = WriteOptions { progress: Some(progress), ..plain };
        io::write_to(&mut std::io::sink(), Format::Npz, &csr, &options)
    });
    is_right(&said, 3, "to a stream");
    let (said, ()) = told(|progress| {
        let options = ReadOptions { progress: Some(progress), ..Default::default() };
        io::validate(&from, &options, &mut |wrong| panic!("{wrong}"))
    });
    is_right(&said, 3, "checking");
    let (said, warnings) = told(|progress| {
        let options = ReadOptions { progress: Some(progress), ..Default::default() };
        io::read_pieces(&from, &options, None, &mut |_| std::ops::ControlFlow::Continue(()))
    });
    assert!(warnings.is_empty());
    is_right(&said, 1, "in pieces");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Of models, tensors are counted, or bytes where all are written at once.
#[test]
fn models_tell_how_many_tensors_are_done() {
    let folder = temporary("progress-models");
    let x = Tensor::random([600, 400], 0.5, 0.0, Layout::Csr, 3).unwrap();
    let mut model = StateDict::new();
    let names = ["a", "b/c", "d", "e"];
    for name in names {
        model.insert(name, x.clone()).unwrap();
    }
    for ending in ["safetensors", "h5"] {
        let path = folder.join(format!("model.{ending}"));
        let (said, ()) =
            told(|progress| model.save_with(&path, &WriteOptions { progress: Some(progress), ..Default::default() }));
        is_right(&said, 4, ending);
        let (said, ()) = told(|progress| {
            let options = WriteOptions { progress: Some(progress), ..Default::default() };
            StateDict::save_each(&path, &names, &options, &mut |name| Ok(model.tensor(name)?.clone()))
        });
        assert_eq!(said, [(1, 4), (2, 4), (3, 4), (4, 4)], "{ending}");
        let (said, back) = told(|progress| {
            StateDict::load_with(&path, &ReadOptions { progress: Some(progress), ..Default::default() })
        });
        assert_eq!(said, [(1, 4), (2, 4), (3, 4), (4, 4)], "{ending}");
        assert!(back.names().eq(names) && back.tensor("d").unwrap().equal(&x).unwrap());
        let (said, one) = told(|progress| {
            let options = ReadOptions { progress: Some(progress), ..Default::default() };
            Archive::open(&path)?.tensor_with("b/c", &options)
        });
        is_right(&said, 2, ending);
        assert!(one.equal(&x).unwrap(), "{ending}");
        let (said, ()) = told(|progress| {
            let options = ReadOptions { progress: Some(progress), ..Default::default() };
            io::validate(&path, &options, &mut |wrong| panic!("{wrong}"))
        });
        assert_eq!(said, [(1, 4), (2, 4), (3, 4), (4, 4)], "checking {ending}");
    }
    let each = folder.join("each.zarr");
    let (said, ()) = told(|progress| {
        let options = WriteOptions { progress: Some(progress), ..Default::default() };
        binsparse::write_each(&each, &names, &options, &mut |_| Ok((x.clone(), Default::default())))
    });
    assert_eq!(said, [(1, 4), (2, 4), (3, 4), (4, 4)]);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// An option that a format does not have is an error, by name, and nothing is written.
#[test]
fn options_of_other_formats_are_refused() {
    let folder = temporary("options");
    let x = Tensor::random([6, 6], 0.5, 0.0, Layout::Csr, 3).unwrap();
    let plain = WriteOptions::default();
    let names = ["a".to_owned()];
    let cases: [(&str, WriteOptions<'_>, &[&str]); 11] = [
        ("name", WriteOptions { name: Some("a"), ..plain }, &["npz", "mtx", "sscdf", "tns", "bspnpy"]),
        ("compress", WriteOptions { compress: true, ..plain }, &["mtx", "safetensors", "bspnpy"]),
        ("shuffle", WriteOptions { shuffle: true, ..plain }, &["npz", "zarr", "mtx", "h5ad"]),
        ("chunk", WriteOptions { chunk: Some(9), ..plain }, &["npz", "sscdf", "ttx", "safetensors"]),
        ("version", WriteOptions { version: Some(binsparse::Version::V0_1), ..plain }, &["mtx", "sscdf", "h5ad"]),
        ("facts", WriteOptions { facts: true, ..plain }, &["mtx", "safetensors"]),
        ("fill", WriteOptions { fill: Some(openwork::Scalar::F64(0.0)), ..plain }, &["tns", "sscdf"]),
        ("bitmap", WriteOptions { bitmap: true, ..plain }, &["npz", "h5", "h5ad"]),
        ("base", WriteOptions { base: io::frostt::Base::Zero, ..plain }, &["ttx", "mtx", "h5"]),
        ("comment", WriteOptions { comment: "a", ..plain }, &["h5", "safetensors"]),
        ("names", WriteOptions { var_names: Some(&names), ..plain }, &["h5", "mtx"]),
    ];
    for (option, options, endings) in cases {
        for ending in endings {
            let path = folder.join(format!("x.{ending}"));
            let told = io::write_with(&path, &x, &options).unwrap_err().to_string();
            assert!(told.contains(option), "{ending}: {told}");
            assert!(!path.exists(), "{ending}: {told}");
        }
    }
    // What has a name takes one.
    for (ending, name) in [("h5", "a/b"), ("zarr", "a/b"), ("safetensors", "a"), ("h5ad", "layers/a")] {
        let path = folder.join(format!("named.{ending}"));
        io::write_with(&path, &x, &WriteOptions { name: Some(name), ..plain }).unwrap();
        let held: Vec<String> = io::info(&path).unwrap().into_iter().map(|info| info.name).collect();
        assert_eq!(held, [name], "{ending}");
        let options = ReadOptions { name: Some(name), ..Default::default() };
        assert!(io::read_with(&path, &options).unwrap().tensor.equal(&x).unwrap(), "{ending}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
