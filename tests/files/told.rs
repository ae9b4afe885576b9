//! What files say of themselves without being read.

use openwork::io::{self, WriteOptions, binsparse};
use openwork::{Layout, LevelData, Tensor};

use crate::common::temporary;

/// Positions of each level, as the arrays of the tensor have them. Before a dense level stands one of whole axes.
fn counted(x: &Tensor) -> Vec<Option<u64>> {
    let blocks = if let Layout::Bsr { block } = x.layout() { block[0] } else { 1 };
    let rows = if x.layout() == Layout::Csc { x.shape()[1] } else { x.shape()[0] / blocks };
    let mut positions = rows as u64;
    let mut out = Vec::new();
    for level in x.levels().unwrap() {
        positions = match level {
            LevelData::Sparse { indices, .. } => indices[0].len() as u64,
            LevelData::Singleton { .. } => positions,
            LevelData::Dense if out.is_empty() => positions,
            LevelData::Dense => positions * x.shape()[out.len()] as u64,
            other => panic!("{other:?}"),
        };
        out.push(Some(positions));
    }
    out
}

#[test]
fn positions_are_counted_level_by_level() {
    let folder = temporary("told-levels");
    let cube = Tensor::random([6, 8, 10], 0.1, 0.0, Layout::Coo, 3).unwrap();
    let x = Tensor::random([12, 8], 0.2, 0.0, Layout::Coo, 4).unwrap();
    let options = WriteOptions { extensions: true, ..Default::default() };
    for ending in ["npz", "h5", "zarr"] {
        let path = folder.join(format!("x.{ending}"));
        let all = [
            cube.clone(),
            cube.to_layout(Layout::Csf).unwrap(),
            cube.to_layout(Layout::Csr).unwrap(),
            x.to_layout(Layout::Csr).unwrap(),
            x.to_layout(Layout::Csc).unwrap(),
            x.to_layout(Layout::Dcsr).unwrap(),
            x.to_layout(Layout::Bsr { block: [3, 2] }).unwrap(),
            x.clone(),
        ];
        for x in &all {
            binsparse::write_with(&path, x, &options).unwrap();
            let info = &io::info(&path).unwrap()[0];
            assert_eq!(info.level_counts(), counted(x), "{ending}, {}", x.layout());
            assert_eq!(info.to_json()["level_counts"], serde_json::json!(counted(x)));
        }
        let text = folder.join("x.mtx");
        io::write(&text, &x).unwrap();
        assert_eq!(io::info(&text).unwrap()[0].level_counts(), [Some(x.nse() as u64)]);
        binsparse::write(&path, &x.to_dense().unwrap()).unwrap();
        assert_eq!(io::info(&path).unwrap()[0].level_counts(), []);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What arrays are packed to is less than their bytes, and all of them together less than the file.
#[test]
fn packed_arrays_tell_both_sizes() {
    let folder = temporary("told-packed");
    let x = Tensor::random([12, 8], 0.2, 0.0, Layout::Csr, 4).unwrap();
    let x = Tensor::concat(&vec![x; 3000], 0).unwrap().to_layout(Layout::Csr).unwrap();
    for ending in ["npz", "h5", "zarr"] {
        for compress in [false, true] {
            let path = folder.join(format!("packed-{compress}.{ending}"));
            let options = WriteOptions { compress, ..Default::default() };
            binsparse::write_with(&path, &x, &options).unwrap();
            let info = &io::info(&path).unwrap()[0];
            assert_eq!(info.arrays.len(), 3);
            let mut sum = 0;
            for array in &info.arrays {
                assert_eq!(array.packed.is_some(), compress, "{ending}, {array:?}");
                assert!(array.packed.is_none_or(|packed| packed < array.bytes / 2), "{ending}, {array:?}");
                sum += array.packed.unwrap_or(array.bytes);
            }
            let file = info.file_bytes.unwrap();
            assert!(sum < file && file < sum + 16_000, "{ending}: {sum} of {file}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
