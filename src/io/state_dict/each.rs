//! Models written tensor by tensor, and what a safetensors file says beside its arrays.

use std::collections::HashMap;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{DESCRIPTOR, ModelFormat, OWN_KEY, StateDict, entries};
use crate::base::error::{self, Result};
use crate::io::progress::Tell;
use crate::io::safetensors::{OutEntry, Planned, layout};
use crate::io::{Format, WriteOptions, atomic, binsparse};
use crate::tensor::{Tensor, trace};

/// The metadata of a file: the caller's, the descriptors, and what safetensors has no words for.
pub(super) fn metadata(
    given: &Map<String, Value>,
    names: &[&str],
    complex: &[&str],
    descriptors: Vec<(String, String)>,
) -> Result<Map<String, Value>> {
    let mut metadata = Map::new();
    let mut parsed = Vec::new();
    for (key, value) in given {
        let text = match value {
            Value::String(text) => text.clone(),
            other => {
                parsed.push(key);
                other.to_string()
            }
        };
        metadata.insert(key.clone(), Value::String(text));
    }
    if let Some(key) = given.keys().find(|key| key.ends_with(DESCRIPTOR)) {
        let why = format!("the key {key:?} would be read as a tensor's descriptor; choose one that does not end so");
        return Err(error::invalid("metadata", why));
    }
    let own = json!({ "version": "1", "order": names, "json": parsed, "complex": complex }).to_string();
    for (key, text) in descriptors.into_iter().chain([(OWN_KEY.to_owned(), own)]) {
        if metadata.insert(key.clone(), Value::String(text)).is_some() {
            let why = format!("the key {key:?} is one that the file needs; choose another");
            return Err(error::invalid("metadata", why));
        }
    }
    Ok(metadata)
}

impl StateDict {
    /// Saves a model whose tensors are asked for by name, one after the other: no two are in memory, so the model may be larger
    /// than that. HDF5 asks for each once; safetensors, whose header stands before all arrays and tells their sizes, twice.
    /// [`WriteOptions::metadata`] is what is said about all; the progress counts tensors.
    ///
    /// ```
    /// use openwork::io::state_dict::{Archive, StateDict};
    /// use openwork::{DType, Layout, Tensor};
    ///
    /// let path = std::env::temp_dir().join(format!("openwork-each-{}.safetensors", std::process::id()));
    /// StateDict::save_each(&path, &["a", "b"], &Default::default(), &mut |name| {
    ///     Tensor::eye(if name == "a" { 3 } else { 5 }, DType::F32, Layout::Csr) // or read it from another file
    /// })?;
    /// assert_eq!(Archive::open(&path)?.tensor("b")?.nse(), 5);
    /// # std::fs::remove_file(path).ok();
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`StateDict::save`], and whatever the function gives; if it gives a tensor of other arrays the second time. There is
    /// no new file then.
    pub fn save_each(
        path: impl AsRef<Path>,
        names: &[&str],
        options: &WriteOptions<'_>,
        give: &mut dyn FnMut(&str) -> Result<Tensor>,
    ) -> Result<()> {
        let _call = trace::call("StateDict::save_each", &[]);
        let path = path.as_ref();
        match ModelFormat::of(path)? {
            ModelFormat::Safetensors => safetensors(path, names, options, give),
            ModelFormat::Hdf5 => {
                let options = WriteOptions { extensions: true, ..*options };
                binsparse::write_each(path, names, &options, &mut |name| Ok((give(name)?, Map::new())))
            }
            ModelFormat::Checkpoint => StateDict::new().save(path), // says that it is not written
        }
    }
}

fn safetensors(
    path: &Path,
    names: &[&str],
    options: &WriteOptions<'_>,
    give: &mut dyn FnMut(&str) -> Result<Tensor>,
) -> Result<()> {
    options.check(Format::Safetensors)?;
    let (mut planned, mut descriptors, mut complex) = (Vec::new(), Vec::new(), Vec::new());
    // Names are those that a model may have.
    let mut checked = StateDict::new();
    for &name in names {
        if checked.insert(name, Tensor::scalar(0_u8))?.is_some() {
            return Err(error::invalid("names", format_args!("{name:?} is given twice")));
        }
        let tensor = give(name)?;
        if tensor.is_strided() && tensor.dtype().is_complex() {
            complex.push(name);
        }
        let mut items = Vec::new();
        if let Some(text) = entries::items(name, &tensor, &mut items)? {
            descriptors.push((format!("{name}{DESCRIPTOR}"), text));
        }
        planned.extend(items.iter().map(Planned::of));
    }
    let said = metadata(&options.said(), names, &complex, descriptors.clone())?;
    let tell = Tell::new(options.progress, names.len() as u64);
    let (header, places) = layout(planned, said)?;
    let places: HashMap<String, (Planned, u64)> =
        places.into_iter().map(|(item, start)| (item.name.clone(), (item, start))).collect();
    let descriptors: HashMap<String, String> = descriptors.into_iter().collect();
    let mut failed = None;
    let mut write = |file: &mut std::fs::File| -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        out.write_all(&header)?;
        for &name in names {
            let mut items: Vec<OutEntry> = Vec::new();
            let text = give(name).and_then(|tensor| entries::items(name, &tensor, &mut items));
            let text = text.map_err(|error| {
                failed = Some(error);
                io::Error::other("a tensor was not to be had")
            })?;
            let same = descriptors.get(&format!("{name}{DESCRIPTOR}")) == text.as_ref();
            for item in items {
                let place = places.get(&item.name).filter(|(planned, _)| same && *planned == Planned::of(&item));
                let Some((_, start)) = place else { return Err(changed(name)) };
                out.seek(SeekFrom::Start(*start))?;
                item.write(&mut out, &Tell::nobody())?;
            }
            tell.more(1);
        }
        out.flush()
    };
    let written = atomic::write(path, &mut write);
    match failed {
        Some(error) => Err(error),
        None => written.map(|()| tell.end()),
    }
}

#[cold]
fn changed(name: &str) -> io::Error {
    io::Error::other(format!("the tensor {name:?} is another one than it was when the header was made"))
}
