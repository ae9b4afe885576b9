//! What carries tensors out of the program and back: state dicts, serde, in-memory interchange.

mod bitmask;
mod checkpoints;
mod dlpack;
mod hostile;
mod interchange;
mod serde;
mod state_dict;

use crate::common::rng::Rng;
use crate::samples::bridge::dtype_of;
use crate::samples::cells::{Cell, FillKind, SHAPES, Store};
use crate::samples::gen_::generate;
use crate::samples::oracle::OType;
use crate::samples::values::Data;
use openwork::{Fill, IndexArray, LevelData, Tensor};

/// A tensor of every storage, fill and dtype that go together, special values included.
fn all_tensors(seed: u64) -> impl Iterator<Item = (String, Tensor)> {
    let rng = &mut Rng::new(seed);
    let mut out = Vec::new();
    for store in Store::ALL {
        for fill in FillKind::ALL {
            for dtype in OType::ALL {
                let suits = |shape: &&&[usize]| Cell { store, fill, dtype, shape: shape.to_vec() }.suits();
                let shapes: Vec<&&[usize]> = SHAPES.iter().filter(suits).collect();
                if shapes.is_empty() {
                    continue;
                }
                let shape = rng.pick(&shapes).to_vec();
                let cell = Cell { store, fill, dtype, shape };
                let x = generate(&cell, rng.next(), Data::Special).tensor;
                assert_eq!(x.dtype(), dtype_of(dtype));
                out.push((format!("{cell:?}"), x));
            }
        }
    }
    assert!(out.len() > 2500, "{}", out.len());
    out.into_iter()
}

/// Whether two tensors are stored alike: levels, indices and fill, and values bit for bit.
fn same(a: &Tensor, b: &Tensor) -> Result<(), String> {
    let facts = |x: &Tensor| (x.shape().to_vec(), x.dtype(), x.layout(), x.level_spec(), x.nse(), x.is_coalesced());
    if facts(a) != facts(b) {
        return Err(format!("{:?}, {:?}", facts(a), facts(b)));
    }
    match (a.levels(), b.levels()) {
        (None, None) => {}
        (Some(x), Some(y)) => {
            for (x, y) in x.iter().zip(&y) {
                let (x, y) = (arrays(x), arrays(y));
                if x != y {
                    return Err(format!("indices {x:?}, {y:?}"));
                }
            }
        }
        _ => return Err("one is strided".into()),
    }
    if bits(&a.stored_values()) != bits(&b.stored_values()) {
        return Err(format!("values {:?}, {:?}", a.stored_values(), b.stored_values()));
    }
    same_fill(a.fill(), b.fill())
}

fn same_fill(a: Option<&Fill>, b: Option<&Fill>) -> Result<(), String> {
    match (a, b) {
        (None, None) | (Some(Fill::Undefined), Some(Fill::Undefined)) => Ok(()),
        (Some(Fill::Scalar(x)), Some(Fill::Scalar(y))) if x.to_bytes() == y.to_bytes() => Ok(()),
        (Some(Fill::Array(x)), Some(Fill::Array(y))) if x.shape() == y.shape() && bits(x) == bits(y) => Ok(()),
        (x, y) => Err(format!("fills {x:?}, {y:?}")),
    }
}

fn arrays(level: &LevelData) -> Vec<Vec<u64>> {
    let numbers = |a: &IndexArray| match (a.as_u32(), a.as_u64()) {
        (Some(v), _) => v.iter().map(|&v| u64::from(v)).collect(),
        (_, Some(v)) => v.to_vec(),
        _ => panic!("not an index array"),
    };
    match level {
        LevelData::Dense => Vec::new(),
        LevelData::Singleton { indices } => vec![numbers(indices)],
        // Pointers at the root say nothing more than the indices.
        LevelData::Sparse { indices, pointers, .. } if indices.is_empty() => pointers.iter().map(numbers).collect(),
        LevelData::Sparse { pointers, indices, .. } => {
            let pointers = pointers.iter().map(numbers).filter(|p| p.len() != 2);
            pointers.chain(indices.iter().map(numbers)).collect()
        }
        other => panic!("no arrays are known of {}", other.kind()),
    }
}

/// The elements' bits in C order.
fn bits(x: &Tensor) -> Vec<Vec<u8>> {
    let x = x.to_contiguous().unwrap();
    openwork_ops::with_dtype!(x.dtype(), T => {
        x.values::<T>().unwrap().iter().map(|&v| {
            let (bytes, n) = openwork::Scalar::from(v).to_bytes();
            bytes[..n].to_vec()
        }).collect()
    })
}

/// A path that no other test uses.
fn path(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("openwork-models-{}-{name}", std::process::id()))
}
