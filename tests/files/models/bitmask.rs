//! Weights as compressed-tensors stores them: values and a bit per element. What is expected is packed here anew, from the
//! dense weights.

use openwork::io::state_dict::{Archive, StateDict};
use openwork::io::{self, ReadOptions};
use openwork::{DType, Layout, Tensor};
use serde_json::{Map, Value, json};

use crate::common::temporary;
use crate::memory::largest_block;

/// The arrays of a file: name, element type, shape, bytes.
#[derive(Clone, Default)]
struct Draft(Vec<(String, &'static str, Vec<usize>, Vec<u8>)>);

impl Draft {
    fn add(&mut self, name: &str, kind: &'static str, shape: &[usize], bytes: &[u8]) {
        self.0.push((name.to_owned(), kind, shape.to_vec(), bytes.to_vec()));
    }

    fn bytes(&self) -> Vec<u8> {
        let (mut header, mut data) = (Map::new(), Vec::new());
        for (name, kind, shape, bytes) in &self.0 {
            let place = [data.len(), data.len() + bytes.len()];
            data.extend(bytes);
            header.insert(name.clone(), json!({"dtype": kind, "shape": shape, "data_offsets": place}));
        }
        let text = Value::Object(header).to_string();
        [&(text.len() as u64).to_le_bytes(), text.as_bytes(), &data].concat()
    }

    /// The arrays of a weight of `float32`, of which the elements other than 0, or two of four, are stored.
    fn weight(&mut self, prefix: &str, shape: &[usize], dense: &[f32], two_of_four: bool) {
        let cols = *shape.last().unwrap();
        let (mut values, mut mask, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
        for row in dense.chunks(cols) {
            offsets.push(values.len() as i64);
            let mut bits = vec![0_u8; cols.div_ceil(8)];
            for (column, &value) in row.iter().enumerate() {
                // Of four zeros the first two are stored.
                let four = &row[column / 4 * 4..row.len().min(column / 4 * 4 + 4)];
                let first = four.iter().all(|&v| v == 0.0) && column % 4 < 2;
                if value != 0.0 || (two_of_four && first) {
                    values.push(value);
                    bits[column / 8] |= 1 << (column % 8);
                }
            }
            mask.extend(bits);
        }
        let sizes: Vec<i64> = shape.iter().map(|&size| size as i64).collect();
        let mut of_mask = shape.to_vec();
        *of_mask.last_mut().unwrap() = cols.div_ceil(8);
        let name = |part: &str| format!("{prefix}.{part}");
        self.add(&name("bitmask"), "U8", &of_mask, &mask);
        if two_of_four {
            self.add(&name("compressed"), "F32", &[shape[0], cols / 2], bytemuck::cast_slice(&values));
            self.add(&name("shape"), "I64", &[shape.len(), 1], bytemuck::cast_slice(&sizes));
        } else {
            self.add(&name("compressed"), "F32", &[values.len()], bytemuck::cast_slice(&values));
            let of_rows = &shape[..shape.len() - 1];
            self.add(&name("row_offsets"), "I64", of_rows, bytemuck::cast_slice(&offsets));
            self.add(&name("shape"), "I64", &[shape.len()], bytemuck::cast_slice(&sizes));
        }
    }

    fn with(&self, name: &str, change: impl FnOnce(&mut (String, &'static str, Vec<usize>, Vec<u8>))) -> Draft {
        let mut draft = self.clone();
        change(draft.0.iter_mut().find(|array| array.0 == name).unwrap());
        draft
    }
}

/// Weights of which most are 0.
fn pruned(count: usize) -> Vec<f32> {
    (0..count).map(|i| if i % 11 < 4 && i % 5 != 1 { i as f32 + 0.5 } else { 0.0 }).collect()
}

/// Weights of which at most two of four are other than 0.
fn two_of_four(count: usize) -> Vec<f32> {
    (0..count)
        .map(|i| if i / 4 % 3 != 0 && (i % 4 == 1 || i % 4 == i / 4 % 2 * 2) { i as f32 + 1.0 } else { 0.0 })
        .collect()
}

fn model() -> Draft {
    let mut draft = Draft::default();
    draft.weight("layers.0.up", &[9, 21], &pruned(9 * 21), false);
    draft.weight("layers.0.down", &[6, 16], &two_of_four(96), true);
    draft.weight("norm", &[13], &pruned(13), false);
    draft.weight("conv", &[3, 2, 5], &pruned(30), false);
    draft.add("layers.0.up.weight_scale", "F32", &[1], &1.5_f32.to_le_bytes());
    draft
}

#[test]
fn weights_with_bitmasks_are_read() {
    let folder = temporary("bitmask");
    let path = folder.join("model.safetensors");
    std::fs::write(&path, model().bytes()).unwrap();
    let archive = Archive::open(&path).unwrap();
    let mut names: Vec<&str> = archive.names().collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["conv.weight", "layers.0.down.weight", "layers.0.up.weight", "layers.0.up.weight_scale", "norm.weight"]
    );
    for (name, shape, dense, layout) in [
        ("layers.0.up.weight", &[9, 21][..], pruned(189), Layout::Csr),
        ("layers.0.down.weight", &[6, 16], two_of_four(96), Layout::Csr),
        ("norm.weight", &[13], pruned(13), Layout::Coo),
        ("conv.weight", &[3, 2, 5], pruned(30), Layout::Coo),
    ] {
        let wanted = Tensor::from_vec(shape, dense).unwrap();
        let x = archive.tensor(name).unwrap();
        assert_eq!((x.layout(), x.dtype(), x.is_coalesced()), (layout, DType::F32, true), "{name}");
        assert!(x.to_dense().unwrap().equal(&wanted).unwrap(), "{name}");
        assert_eq!(archive.descriptor(name).unwrap().number_of_stored_values, Some(x.nse() as u64));
        // By the front door, told of, judged, in pieces, and by rows.
        let options = ReadOptions { name: Some(name), ..Default::default() };
        assert!(io::read_with(&path, &options).unwrap().tensor.equal(&x).unwrap());
        let info = &io::info_with(&path, &options).unwrap()[0];
        let form = if name.contains("down") { "sparse_24_bitmask" } else { "sparse_bitmask" };
        assert_eq!(
            (&*info.stored_as, info.layout, info.nse),
            (&*format!("compressed-tensors {form}"), layout, Some(x.nse() as u64))
        );
        assert_eq!((info.version.as_deref(), info.arrays[0].entries), (None, x.nse() as u64));
        let mut seen = 0;
        io::read_pieces(&path, &options, None, &mut |piece| {
            seen += piece.tensor.nse();
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(seen, x.nse());
        if layout == Layout::Csr {
            let rows = archive.rows(name, 2..5).unwrap();
            assert!(rows.equal(&x.narrow(2..5, 0).unwrap()).unwrap(), "{name}");
            assert!(archive.rows(name, 2..50).unwrap_err().to_string().contains("does not lie in axis 0"));
        }
    }
    assert_eq!(archive.tensor("layers.0.up.weight_scale").unwrap().shape(), [1]);
    let mut wrong = Vec::new();
    io::validate(&path, &Default::default(), &mut |violation| wrong.push(violation)).unwrap();
    assert!(wrong.is_empty(), "{wrong:?}");
    // What we write of them is ours.
    let copy = folder.join("copy.safetensors");
    archive.load().unwrap().save(&copy).unwrap();
    let up = Archive::open(&copy).unwrap().tensor("layers.0.up.weight").unwrap();
    assert!(up.equal(&archive.tensor("layers.0.up.weight").unwrap()).unwrap());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn bitmasks_that_do_not_fit() {
    let told = |draft: Draft| match Archive::from_safetensors(&draft.bytes()) {
        Err(error) => error.to_string(),
        Ok(archive) => archive.load().err().map(|error| error.to_string()).unwrap_or_default(),
    };
    let good = model();
    let words = |values: &[i64]| bytemuck::cast_slice::<i64, u8>(values).to_vec();
    let up = "layers.0.up";
    let cases = [
        (good.with(&format!("{up}.shape"), |a| a.3 = words(&[9, 1 << 40])), "a bitmask of the shape [9, 3]"),
        (good.with(&format!("{up}.shape"), |a| a.3 = words(&[9, -21])), "not a short list of sizes"),
        (good.with(&format!("{up}.shape"), |a| a.3 = words(&[9, 17])), " of 17"),
        (good.with(&format!("{up}.bitmask"), |a| a.3[0] ^= 1), "bits for"),
        (good.with(&format!("{up}.bitmask"), |a| a.3.swap(0, 3)), "row 1 begins elsewhere than the bits"),
        (good.with(&format!("{up}.bitmask"), |a| a.3[24] ^= 2), "bits for"),
        (
            good.with(&format!("{up}.bitmask"), |a| (a.3[2], a.3[0]) = (a.3[2] | 0x80, a.3[0] & (a.3[0] - 1))),
            "a bit for column 23 of 21",
        ),
        (good.with(&format!("{up}.row_offsets"), |a| a.3[..8].copy_from_slice(&words(&[-1]))), "negative offset"),
        (good.with(&format!("{up}.row_offsets"), |a| a.3[64..].copy_from_slice(&words(&[i64::MAX]))), "row 8 begins"),
        (good.with(&format!("{up}.row_offsets"), |a| a.1 = "U64"), "they are I64"),
        (good.with("layers.0.down.bitmask", |a| a.3[0] ^= 1), "bits for"),
        (
            good.with("layers.0.down.bitmask", |a| (a.3[0], a.3[2]) = (a.3[0] & (a.3[0] - 1), a.3[2] | (a.3[2] + 1))),
            "row 1 begins elsewhere",
        ),
        (good.with("layers.0.down.compressed", |a| a.2 = vec![48]), "two of four need [6, 8]"),
        (good.with("norm.bitmask", |a| a.3[0] ^= 1), "bits for"),
        (
            good.with("conv.compressed", |a| a.1 = "F8_E4M3").with("conv.compressed", |a| a.3.truncate(a.2[0])),
            "F8_E4M3",
        ),
        (good.with("layers.0.up.weight_scale", |a| a.0 = "layers.0.up.weight".into()), "is both an array and a weight"),
    ];
    for (draft, why) in cases {
        let told = told(draft);
        assert!(told.contains(why), "{why}: {told}");
    }
    // Without a shape they are arrays like any others.
    let mut bare = good.clone();
    bare.0.retain(|array| array.0 != "norm.shape");
    let archive = Archive::from_safetensors(&bare.bytes()).unwrap();
    assert_eq!(archive.tensor("norm.bitmask").unwrap().dtype(), DType::U8);
    // So are those that our own files list.
    let mut model = StateDict::new();
    for part in ["bitmask", "compressed", "shape"] {
        model.insert(format!("x.{part}"), Tensor::from_vec([1], vec![1_u8]).unwrap()).unwrap();
    }
    let read = Archive::from_safetensors(&model.to_safetensors().unwrap()).unwrap();
    assert_eq!(read.names().collect::<Vec<_>>(), ["x.bitmask", "x.compressed", "x.shape"]);
    // Rows for which the file has no byte are not made.
    let mut rows = Draft::default();
    rows.add("x.bitmask", "U8", &[1 << 50, 0], &[]);
    rows.add("x.compressed", "F32", &[0], &[]);
    rows.add("x.shape", "I64", &[2], &words(&[1 << 50, 0]));
    assert!(told(rows).contains("which has no elements"));
}

#[test]
fn bits_without_values_cost_nothing() {
    for (mask, shape) in
        [(&[1 << 10, 1 << 10][..], [1 << 10, 1 << 13, 0]), (&[1 << 5, 1 << 5, 1 << 10], [1 << 5, 1 << 5, 1 << 13])]
    {
        let mut draft = Draft::default();
        let axes = mask.len();
        draft.add("x.bitmask", "U8", mask, &vec![0xff; 1 << 20]);
        draft.add("x.compressed", "F32", &[1], &1.0_f32.to_le_bytes());
        draft.add("x.shape", "I64", &[axes], bytemuck::cast_slice::<i64, u8>(&shape[..axes]));
        let rows: usize = mask[..axes - 1].iter().product();
        draft.add("x.row_offsets", "I64", &mask[..axes - 1], &vec![0; 8 * rows]);
        let archive = Archive::from_safetensors(&draft.bytes()).unwrap();
        let (read, block) = largest_block(|| archive.tensor("x.weight"));
        let told = read.unwrap_err().to_string();
        assert!(told.contains("the bitmask has 8388608 bits for 1 values"), "{told}");
        assert!(block <= 2 << 20, "{block} bytes in one block");
    }
}
