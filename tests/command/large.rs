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

/// A CSR of 4 GB and an array of as many, whose elements the disk need not hold: to say what they are, none is read.
#[test]
fn info_of_four_gigabytes_takes_little_memory() {
    let folder = temporary("large-info");
    let (rows, stored) = (6_000_000_u64, 330_000_000_u64);
    let said = serde_json::json!({ "binsparse": {
        "version": "0.1", "format": "CSR", "shape": [rows, 50_000], "number_of_stored_values": stored,
        "data_types": { "pointers_to_1": "uint64", "indices_1": "uint32", "values": "float64" },
    }});
    let ends = [stored * 8, stored * 8 + (rows + 1) * 8, stored * 12 + (rows + 1) * 8];
    let header = serde_json::json!({
        "__metadata__": { "w.binsparse": said.to_string() },
        "w.values": { "dtype": "F64", "shape": [stored], "data_offsets": [0, ends[0]] },
        "w.pointers_to_1": { "dtype": "U64", "shape": [rows + 1], "data_offsets": [ends[0], ends[1]] },
        "w.indices_1": { "dtype": "U32", "shape": [stored], "data_offsets": [ends[1], ends[2]] },
    });
    let text_of_header = header.to_string();
    let head = [&(text_of_header.len() as u64).to_le_bytes()[..], text_of_header.as_bytes()].concat();
    let mut array = io::numpy::to_bytes(&Tensor::from_vec([1], vec![0.0]).unwrap(), &Default::default()).unwrap();
    array.truncate(128);
    let words = String::from_utf8_lossy(&array[10..]).replace("(1,), }          ", "(500000000,), }  ");
    array.splice(10.., words.into_bytes());
    for (name, head, bytes, shown) in [
        ("x.safetensors", head.clone(), head.len() as u64 + ends[2], "nse        330000000"),
        ("x.npy", array, 128 + 4_000_000_000, "[500000000]"),
    ] {
        let path = folder.join(name);
        std::fs::write(&path, &head).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(bytes).unwrap();
        let (kilobytes, output) = peak(&["info", text(&path)]);
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && told.contains(shown), "{told}{}", String::from_utf8_lossy(&output.stderr));
        println!("{name}: {kilobytes} kB at most");
        assert!(kilobytes < 50_000, "{kilobytes} kB for {name}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
