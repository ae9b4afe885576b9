//! Bundles in files: every part a tensor of its own, and a word beside them that their sum is meant.

use crate::base::mapped::Mapped;
use std::path::Path;

use serde_json::Value;

use super::{Entry, File};
use crate::Bundle;
use crate::base::error::{self, Result};
use crate::io::{ReadOptions, WriteOptions};
use crate::tensor::trace;

/// The key in what is said about all tensors of the file: how many parts there are.
const KEY: &str = "openwork_sum_of_parts";

/// Writes a bundle into one new HDF5 file, its parts in the groups `0`, `1`, …: each is a tensor that any reader reads.
///
/// The file appears whole or not at all.
///
/// # Errors
/// As [`super::write_all`].
pub fn write_bundle(path: impl AsRef<Path>, bundle: &Bundle, options: &WriteOptions<'_>) -> Result<()> {
    let _call = trace::call("binsparse::write_bundle", &[]);
    let names: Vec<String> = (0..bundle.parts().len()).mapped(|i| i.to_string());
    let entries: Vec<Entry> = names.iter().zip(bundle.parts()).map(|(n, part)| Entry::new(n, part)).collect();
    let mut metadata = options.said();
    if metadata.insert(KEY.into(), names.len().into()).is_some() {
        let why = format!("the key {KEY:?} is that of the bundle");
        return Err(error::invalid("options.metadata", why));
    }
    super::write_all(path, &entries, &WriteOptions { metadata: Some(&metadata), ..*options })
}

/// Reads a bundle, and checks that its parts are disjoint.
///
/// # Errors
/// If the file does not say that its tensors are parts of one, or how many; as [`super::read_with`] and
/// [`Bundle::new`].
pub fn read_bundle(path: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<Bundle> {
    let _call = trace::call(OP, &[]);
    const OP: &str = "binsparse::read_bundle";
    let path = path.as_ref();
    let mut file = File::open(path)?;
    let said = file.metadata()?.get(KEY).and_then(Value::as_u64);
    let names = file.names()?;
    if said != Some(names.len() as u64) {
        let what = said.map_or("nothing of".to_string(), |n| n.to_string());
        let why = format!("{} says {what} parts of a sum and holds {} tensors", path.display(), names.len());
        return Err(error::invalid("path", why));
    }
    Bundle::new((0..names.len()).try_mapped(|i| file.tensor_with(&i.to_string(), options).map(|read| read.tensor))?)
}
