//! Files that are larger than what a command takes of memory.
#![cfg(target_os = "linux")]

use openwork::{Layout, Tensor, io};

use super::streams::peak;
use super::{good, text};
use crate::common::temporary;

/// Rows of 50 elements, 100 MB of them.
fn large() -> Tensor {
    let (rows, each) = (160_000_u64, 50_u64);
    let pointers: Vec<u64> = (0..=rows).map(|row| row * each).collect();
    let indices: Vec<u64> = (0..rows * each).map(|at| at % each * 100 + at / each % 100).collect();
    let values = (0..rows * each).map(|at| at as f64).collect();
    let values = Tensor::from_vec([(rows * each) as usize], values).unwrap();
    Tensor::csr([rows as usize, 5000], pointers, indices, &values, 0.0).unwrap()
}

#[test]
fn large_files_are_converted_in_little_memory() {
    let folder = temporary("command-large");
    let x = large();
    let mut said = serde_json::Map::new();
    said.insert("title".into(), "large".into());
    for (from, to) in [("h5", "npz"), ("npz", "h5")] {
        let (source, target) = (folder.join(format!("from.{from}")), folder.join(format!("to.{to}")));
        for (layout, most) in [(Layout::Csr, 60_000), (Layout::Coo, 60_000)] {
            let x = x.to_layout(layout).unwrap();
            io::write_with(&source, &x, &io::WriteOptions { metadata: Some(&said), ..Default::default() }).unwrap();
            let (kilobytes, output) = peak(&["convert", text(&source), text(&target)]);
            let told = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.success() && told.is_empty(), "{told}");
            assert!(kilobytes < most, "{from} to {to}, {layout}: {kilobytes} kB");
            let back = io::read_with(&target, &Default::default()).unwrap();
            assert!(back.tensor.layout() == layout && back.metadata == said);
            assert!(back.tensor.equal(&x).unwrap());
            assert_eq!(good(&["validate", text(&target)]), format!("{}: valid\n", target.display()));
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
