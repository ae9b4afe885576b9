//! NPZ files made by hand: a second writer, which shares nothing with the library's.

use flate2::Crc;
use openwork::Result;
use openwork::io::ReadOptions;
use openwork::io::binsparse::{self, Loaded};
use serde_json::{Value, json};

/// A file to be: descriptor and arrays.
#[derive(Clone)]
pub struct Draft {
    pub json: String,
    pub arrays: Vec<(String, Vec<u8>)>,
}

/// The bytes of an `.npy` array.
pub fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((text.len() as u16).to_le_bytes());
    out.extend(text.as_bytes());
    out.extend(data);
    out
}

pub fn u64s(values: &[u64]) -> Vec<u8> {
    npy("<u8", &format!("({},)", values.len()), bytemuck::cast_slice(values))
}

pub fn i64s(values: &[i64]) -> Vec<u8> {
    npy("<i8", &format!("({},)", values.len()), bytemuck::cast_slice(values))
}

pub fn u8s(values: &[u8]) -> Vec<u8> {
    npy("|u1", &format!("({},)", values.len()), values)
}

pub fn f64s(values: &[f64]) -> Vec<u8> {
    npy("<f8", &format!("({},)", values.len()), bytemuck::cast_slice(values))
}

pub fn f32s(values: &[f32]) -> Vec<u8> {
    npy("<f4", &format!("({},)", values.len()), bytemuck::cast_slice(values))
}

/// Members stored one after the other.
pub fn zip(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in members {
        let mut crc = Crc::new();
        crc.update(data);
        let mut common = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        common.extend(crc.sum().to_le_bytes());
        common.extend((data.len() as u32).to_le_bytes());
        common.extend((data.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        let at = out.len() as u32;
        out.extend(b"PK\x03\x04");
        out.extend(&common);
        out.extend(name.as_bytes());
        out.extend(data);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (at, size, n) = (out.len() as u32, directory.len() as u32, members.len() as u16);
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend(n.to_le_bytes());
    out.extend(n.to_le_bytes());
    out.extend(size.to_le_bytes());
    out.extend(at.to_le_bytes());
    out.extend([0, 0]);
    out
}

impl Draft {
    pub fn new(json: Value, arrays: &[(&str, Vec<u8>)]) -> Draft {
        Draft { json: json.to_string(), arrays: arrays.iter().map(|(n, b)| ((*n).to_owned(), b.clone())).collect() }
    }

    /// A 3 × 4 CSR matrix: [0, 1] = 1, [0, 3] = 2, [1, 0] = 3, [2, 2] = 4.
    pub fn csr() -> Draft {
        let json = json!({"binsparse": {
            "version": "0.1.0", "format": "CSR", "shape": [3, 4], "number_of_stored_values": 4,
            "data_types": {"pointers_to_1": "uint64", "indices_1": "uint64", "values": "float64"},
        }, "note": {"by": "hand"}});
        let arrays = [
            ("pointers_to_1", u64s(&[0, 2, 3, 4])),
            ("indices_1", u64s(&[1, 3, 0, 2])),
            ("values", f64s(&[1.0, 2.0, 3.0, 4.0])),
        ];
        Draft::new(json, &arrays)
    }

    /// A square COO matrix of one triangle: values at [0, 0], [1, 0], [2, 1].
    pub fn lower(structure: &str) -> Draft {
        let json = json!({"binsparse": {
            "version": "0.1.0", "format": "COOR", "shape": [3, 3], "number_of_stored_values": 3, "structure": structure,
            "data_types": {"indices_0": "uint64", "indices_1": "uint64", "values": "float64"},
        }});
        let arrays =
            [("indices_0", u64s(&[0, 1, 2])), ("indices_1", u64s(&[0, 0, 1])), ("values", f64s(&[0.0, 2.0, 3.0]))];
        Draft::new(json, &arrays)
    }

    /// With a key of the `binsparse` object set, or removed where the value is null.
    pub fn key(mut self, key: &str, value: Value) -> Draft {
        let mut root: Value = serde_json::from_str(&self.json).unwrap();
        let map = root["binsparse"].as_object_mut().unwrap();
        if value.is_null() {
            map.remove(key);
        } else {
            map.insert(key.into(), value);
        }
        self.json = root.to_string();
        self
    }

    /// With a declared type.
    pub fn typed(self, array: &str, name: Value) -> Draft {
        let root: Value = serde_json::from_str(&self.json).unwrap();
        let mut types = root["binsparse"]["data_types"].clone();
        types[array] = name;
        self.key("data_types", types)
    }

    pub fn array(mut self, name: &str, bytes: Vec<u8>) -> Draft {
        self.arrays.retain(|(n, _)| n != name);
        self.arrays.push((name.into(), bytes));
        self
    }

    pub fn without(mut self, name: &str) -> Draft {
        self.arrays.retain(|(n, _)| n != name);
        self
    }

    pub fn text(mut self, json: &str) -> Draft {
        self.json = json.into();
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let codes: Vec<u8> = self.json.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        let text = npy(&format!("<U{}", codes.len() / 4), "()", &codes);
        let arrays = self.arrays.iter().map(|(name, bytes)| (format!("{name}.npy"), bytes.clone()));
        let members: Vec<_> = [("binsparse.npy".to_owned(), text)].into_iter().chain(arrays).collect();
        zip(&members)
    }

    pub fn strict(&self) -> Result<Loaded> {
        binsparse::read_bytes(&self.bytes(), &ReadOptions::default())
    }

    pub fn lenient(&self) -> Result<Loaded> {
        binsparse::read_bytes(&self.bytes(), &ReadOptions { lenient: true, ..ReadOptions::default() })
    }
}
