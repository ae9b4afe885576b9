//! The HDF5 container: groups, names, options, and where descriptors may stand.

use std::path::{Path, PathBuf};

use openwork::io::binsparse::{self, Entry, File};
use openwork::io::{ReadOptions, WriteOptions};
use openwork::{DType, Fill, Layout, Tensor};

use super::round_trip::assert_same;

/// A path that no other test uses.
pub fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("openwork-h5-{}-{name}.h5", std::process::id()))
}

pub struct Gone(pub PathBuf);

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl AsRef<Path> for Gone {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

#[test]
fn one_tensor_at_the_root_and_in_a_group() {
    let path = Gone(path("one"));
    let x = Tensor::random([50, 40], 0.1, 0.0, Layout::Csr, 1).unwrap();
    for group in [None, Some("a"), Some("a/b ß")] {
        let options = WriteOptions { name: group, ..WriteOptions::default() };
        binsparse::write_with(&path, &x, &options).unwrap();
        let named = ReadOptions { name: group, ..ReadOptions::default() };
        assert_same(&x, &binsparse::read_with(&path, &named).unwrap().tensor);
        // The only tensor is found without its name.
        assert_same(&x, &binsparse::read(&path).unwrap());
        assert_eq!(binsparse::info(&path).unwrap().format, "CSR");
        assert_eq!(File::open(&path).unwrap().names().unwrap(), [group.unwrap_or_default()]);
        let bytes = std::fs::read(&path).unwrap();
        assert_same(&x, &binsparse::read_bytes(&bytes, &ReadOptions::default()).unwrap().tensor);
        let error = File::open(&path).unwrap().tensor("b").unwrap_err().to_string();
        assert!(error.contains("there is no group \"b\"") && error.contains("one.h5"), "{error}");
    }
}

#[test]
fn many_tensors_keep_their_order_and_metadata() {
    let path = Gone(path("many"));
    let names = ["z/weight", "z/bias", "a", "z", "m/n/o"];
    let layouts = [Layout::Csr, Layout::Strided, Layout::Csf, Layout::Bsr { block: [2, 5] }, Layout::Coo];
    let tensors: Vec<Tensor> =
        layouts.map(|l| Tensor::random([20, 10], 0.3, 0.0, Layout::Coo, 2).unwrap().to_layout(l).unwrap()).into();
    let mut entries: Vec<Entry> = names.iter().zip(&tensors).map(|(n, t)| Entry::new(n, t)).collect();
    entries[1].metadata.insert("title".into(), "the bias".into());
    let said = serde_json::json!({ "kind": "model" });
    let options = WriteOptions { extensions: true, metadata: said.as_object(), ..WriteOptions::default() };
    binsparse::write_all(&path, &entries, &options).unwrap();
    let mut file = File::open(&path).unwrap();
    assert_eq!(file.names().unwrap(), names);
    assert_eq!(Some(&file.metadata().unwrap()), options.metadata);
    for (name, x) in names.iter().zip(&tensors) {
        assert_same(x, &file.tensor(name).unwrap());
        assert_eq!(file.descriptor(name).unwrap().metadata.len(), usize::from(*name == "z/bias"));
    }
    assert_eq!(file.descriptor("z/bias").unwrap().metadata["title"], "the bias");
    let error = binsparse::read(&path).unwrap_err().to_string();
    assert!(error.contains("5 tensors, one must be named: z/weight, z/bias"), "{error}");
}

#[test]
fn names_that_cannot_be() {
    let path = path("names");
    let x = Tensor::eye(3, DType::F32, Layout::Csr).unwrap();
    let refused = |names: &[&str], why: &str| {
        let entries: Vec<Entry> = names.iter().map(|n| Entry::new(n, &x)).collect();
        let error = binsparse::write_all(&path, &entries, &WriteOptions::default()).unwrap_err().to_string();
        assert!(error.contains("binsparse::write") && error.contains("`name`") && error.contains(why), "{error}");
        assert!(!path.exists());
    };
    for name in ["/a", "a/", "a//b", ".", "a/../b", "a\0b", "/"] {
        refused(&[name], "not names between slashes");
    }
    refused(&["a", "b", "a"], "\"a\" is given twice");
    refused(&[&["a"; 65].join("/")], "65 names lie in one another; at most 64 are allowed");
    refused(&["a", "a/values"], "\"a/values\" is an array of \"a\"");
    refused(&["", "indices_1/x"], "\"indices_1\" is an array of \"\"");
    let grouped = WriteOptions { name: Some("g"), ..WriteOptions::default() };
    let error = binsparse::write_all(&path, &[Entry::new("a", &x)], &grouped).unwrap_err().to_string();
    assert!(error.contains("options.name"), "{error}");
    let error =
        binsparse::write_all("x.npz", &[Entry::new("a", &x)], &WriteOptions::default()).unwrap_err().to_string();
    assert!(error.contains("NPZ holds one tensor"), "{error}");
}

#[test]
fn a_refused_tensor_leaves_the_old_file() {
    let path = Gone(path("refused"));
    let x = Tensor::eye(3, DType::F32, Layout::Csr).unwrap();
    binsparse::write(&path, &x).unwrap();
    let before = std::fs::read(&path).unwrap();
    let graph = x.replace_fill(Fill::Undefined).unwrap();
    let entries = [Entry::new("a", &x), Entry::new("b", &graph)];
    let error = binsparse::write_all(&path, &entries, &WriteOptions::default()).unwrap_err().to_string();
    assert!(error.contains("undefined fill"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn chunks_and_compression() {
    let path = Gone(path("packings"));
    let x = Tensor::eye(30_000, DType::I64, Layout::Coo).unwrap();
    let size = |options: &WriteOptions<'_>| {
        binsparse::write_with(&path, &x, options).unwrap();
        assert_same(&x, &binsparse::read(&path).unwrap());
        std::fs::metadata(&path).unwrap().len()
    };
    let plain = size(&WriteOptions::default());
    assert!(plain > 2 * 4 * 30_000);
    let packed = WriteOptions { compress: true, ..WriteOptions::default() };
    let shuffled = WriteOptions { shuffle: true, ..packed };
    let chunked = WriteOptions { chunk: Some(1000), ..WriteOptions::default() };
    let both = WriteOptions { chunk: Some(1000), level: Some(9), ..shuffled };
    let stored = WriteOptions { level: Some(0), ..packed };
    let (chunked, stored) = (size(&chunked), size(&stored));
    assert!(chunked > plain && stored > plain);
    let (packed, shuffled, both) = (size(&packed), size(&shuffled), size(&both));
    assert!(packed < plain / 2 && shuffled < packed / 2 && both < plain / 4, "{plain} {packed} {shuffled} {both}");
    // Arrays of less than 64 KiB are left as they are.
    let small = Tensor::eye(1000, DType::I64, Layout::Coo).unwrap();
    binsparse::write_with(&path, &small, &WriteOptions { compress: true, ..WriteOptions::default() }).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() > 8000);
    for (options, why) in [
        (WriteOptions { level: Some(10), ..WriteOptions::default() }, "options.level"),
        (WriteOptions { chunk: Some(0), ..WriteOptions::default() }, "options.chunk"),
    ] {
        let error = binsparse::write_with(&path, &small, &options).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains('0'), "{error}");
    }
    let npz = WriteOptions { chunk: Some(10), ..WriteOptions::default() };
    let error = binsparse::to_bytes(&small, &npz).unwrap_err().to_string();
    assert!(error.contains("options.chunk") && error.contains("NPZ"), "{error}");
}

#[test]
fn empty_tensors_and_long_axes() {
    let path = Gone(path("empty"));
    let cases = [
        Tensor::empty([0, 5], DType::F64, Layout::Csr, 0.0).unwrap(),
        Tensor::empty([1 << 40, 1 << 40, 1 << 40], DType::F32, Layout::Coo, 1.5).unwrap(),
        Tensor::zeros([0], DType::Bool, Layout::Strided).unwrap(),
        Tensor::scalar(2.5),
    ];
    for x in cases {
        binsparse::write(&path, &x).unwrap();
        let back = binsparse::read(&path).unwrap();
        assert_same(&x, &back);
    }
}

/// Trees of more than one level, of links and of chunks; names and texts of any length; every way to pack. All of it is
/// read back, and by libhdf5 too where it is linked.
#[test]
fn large_groups_and_many_chunks() {
    let path = Gone(path("large"));
    let x = Tensor::from_vec([20_001], (0..20_001).map(f64::from).collect()).unwrap();
    let deep = ["a"; 64].join("/");
    let long = "n".repeat(5000);
    let mut names: Vec<String> = (0..600).map(|i| format!("many/layer {i} ß")).collect();
    names.extend([deep, long]);
    let small = Tensor::from_vec([3], vec![1u16, 2, u16::MAX]).unwrap();
    let mut entries: Vec<Entry> = names.iter().map(|name| Entry::new(name, &small)).collect();
    entries[0].metadata.insert("note".into(), "x".repeat(200_000).into());
    entries.push(Entry::new("x", &x));
    for (compress, chunk, shuffle) in [(false, Some(3), false), (true, Some(300), true), (true, None, false)] {
        let options = WriteOptions { compress, chunk, shuffle, ..WriteOptions::default() };
        binsparse::write_all(&path, &entries, &options).unwrap();
        let mut file = File::open(&path).unwrap();
        assert_eq!(file.names().unwrap().len(), 603);
        assert_same(&x, &file.tensor("x").unwrap());
        for name in &names {
            assert_same(&small, &file.tensor(name).unwrap());
        }
        let rows = file.rows("x", 10_000..10_007, &ReadOptions::default()).unwrap().tensor;
        assert_eq!(rows.values::<f64>().unwrap(), (10_000..10_007).map(f64::from).collect::<Vec<_>>());
        assert_eq!(file.descriptor("many/layer 0 ß").unwrap().metadata["note"].as_str().unwrap().len(), 200_000);
        #[cfg(feature = "hdf5")]
        {
            let file = ::hdf5::File::open(&path).unwrap();
            assert_eq!(file.group("many").unwrap().member_names().unwrap().len(), 600);
            let data = file.dataset("x/values").unwrap();
            assert_eq!(data.read_raw::<f64>().unwrap(), x.values::<f64>().unwrap());
            assert_eq!(data.chunk().is_some(), chunk.is_some() || compress);
            for name in &names {
                let data = file.dataset(&format!("{name}/values")).unwrap();
                assert_eq!(data.read_raw::<u16>().unwrap(), [1, 2, u16::MAX], "{name}");
            }
            let text = file.group("many/layer 0 ß").unwrap().attr("binsparse").unwrap();
            let text = text.read_scalar::<::hdf5::types::VarLenUnicode>().unwrap();
            assert!(text.len() > 200_000 && serde_json::from_str::<serde_json::Value>(&text).is_ok());
        }
    }
}
