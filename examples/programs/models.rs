//! A model with sparse weights: saved, looked into without reading it, one tensor loaded, all run.

use openwork::io::state_dict::{Archive, StateDict};
use openwork::{DType, Layout, Result, Tensor};

use super::Report;
use super::data::{counts, weights};

fn forward(model: &StateDict, x: &Tensor) -> Result<Tensor> {
    let hidden = (x.matmul(model.tensor("hidden.weight")?)? + model.tensor("hidden.bias")?)?.relu()?;
    hidden.matmul(model.tensor("out.weight")?)
}

pub fn run() -> Result<Report> {
    let mut model = StateDict::new();
    model.insert("hidden.weight", counts(12, 9)?.to_layout(Layout::Csc)?)?;
    model.insert("hidden.bias", weights(1, 9, 4)?.flatten()?)?;
    model.insert("out.weight", weights(9, 2, 5)?.cast(DType::BF16)?.cast(DType::F64)?)?;
    let x = weights(6, 12, 6)?;
    let before = forward(&model, &x)?;

    let folder = std::env::temp_dir().join(format!("openwork-programs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|source| openwork::ErrorKind::Io { path: folder.clone(), source })?;
    let path = folder.join("model.safetensors");
    model.save(&path)?;
    let archive = Archive::open(&path)?; // reads the header alone
    let weight = archive.tensor("hidden.weight")?; // and now this tensor
    let after = forward(&StateDict::load(&path)?, &x)?;
    let _ = std::fs::remove_dir_all(&folder);
    Ok(vec![
        ("tensors", archive.names().len() as f64),
        ("stored weights", weight.nse() as f64),
        ("still CSC", f64::from(u8::from(weight.layout() == Layout::Csc))),
        ("sum of results", before.sum(..)?.item_as::<f64>()?),
        ("the same after loading", f64::from(u8::from(after.equal(&before)?))),
    ])
}
