//! Models: named tensors of any layout in one file.
//!
//! A [`StateDict`] holds tensors by name, in order, and metadata. It is saved to **safetensors** (`.safetensors`).
//! A strided tensor is one array under its own name, which every reader of the format sees. A sparse tensor is its
//! constituent arrays: tensor `w` in CSR becomes the arrays `w.pointers_to_1`, `w.indices_1` and `w.values`, and the
//! metadata key `w.binsparse` holds its binsparse descriptor. What binsparse 0.1 cannot say is said in this library's
//! name space, as [`super::binsparse`] describes it, so every layout, fill and dtype comes back as it was.
//!
//! It is saved to **HDF5** (`.h5`, `.hdf5`) as well: each tensor is a group that readers of binsparse know.
//!
//! PyTorch's own files (`.pt`, `.pth`: those of `torch.save` since version 1.6) are read, not written. Their pickle is not run:
//! what it may ask for is a list of functions that make tensors, and anything else is an error. Strided and sparse tensors (COO,
//! CSR, CSC, BSR, BSC) are found wherever they are in dictionaries and lists, under the keys on the way to them joined by
//! dots (`optimizer.state.0.exp_avg`); numbers and texts are metadata under such names.
//!
//! Of safetensors files by others, weights that the package compressed-tensors stored as values and bitmasks (`X.compressed`,
//! `X.bitmask`, `X.shape`, and `X.row_offsets` where not two of four are stored) are read as one tensor `X.weight`: CSR, or COO
//! where it is no matrix.
//!
//! [`Archive`] opens a file without reading its tensors: names and descriptors come first, a tensor when it is asked
//! for.
//!
//! ```
//! use openwork::io::state_dict::{Archive, StateDict};
//! use openwork::{Layout, Tensor};
//!
//! let mut model = StateDict::new();
//! model.insert("layer.weight", Tensor::random([64, 32], 0.1, 0.0, Layout::Csr, 1)?)?;
//! model.insert("layer.bias", Tensor::from_vec([32], vec![0.5f32; 32])?)?;
//! model.metadata_mut().insert("epoch".into(), 3.into());
//! let path = std::env::temp_dir().join(format!("openwork-doc-{}.safetensors", std::process::id()));
//! model.save(&path)?;
//!
//! let archive = Archive::open(&path)?;
//! assert_eq!(archive.names().collect::<Vec<_>>(), ["layer.weight", "layer.bias"]);
//! assert_eq!(archive.descriptor("layer.weight")?.format, "CSR");
//! let weight = archive.tensor("layer.weight")?; // this one alone is read
//! assert_eq!((weight.layout(), weight.nse()), (Layout::Csr, model.tensor("layer.weight")?.nse()));
//! # std::fs::remove_file(path).ok();
//! # Ok::<(), openwork::Error>(())
//! ```

mod archive;
mod bitmask;
mod each;
mod entries;

use std::collections::HashMap;
use std::io::BufWriter;
use std::path::Path;

use serde_json::{Map, Value};

use crate::base::error::{self, Result};
use crate::io::binsparse::{self, Entry};
use crate::io::progress::Tell;
use crate::io::safetensors::{OutEntry, SafetensorsWriter};
use crate::io::{Format, ReadOptions, WriteOptions, atomic};
use crate::tensor::Tensor;
use crate::tensor::trace;
pub use archive::Archive;

/// The metadata key of what safetensors has no words for: the order of tensors, and which metadata are JSON.
const OWN_KEY: &str = "openwork";
/// The metadata key of a tensor's descriptor ends so.
const DESCRIPTOR: &str = ".binsparse";

/// Tensors of any layout by name, in the order in which they were added, and metadata.
#[derive(Clone, Debug, Default)]
pub struct StateDict {
    tensors: Vec<(String, Tensor)>,
    places: HashMap<String, usize>,
    metadata: Map<String, Value>,
}

impl StateDict {
    /// Without tensors.
    pub fn new() -> StateDict {
        StateDict::default()
    }

    /// Adds a tensor, or replaces the one of this name in its place, and gives that one back.
    ///
    /// # Errors
    /// If the name is empty or `__metadata__`, which files keep for themselves.
    pub fn insert(&mut self, name: impl Into<String>, tensor: Tensor) -> Result<Option<Tensor>> {
        let _call = trace::call("StateDict::insert", &[]);
        let name = name.into();
        if name.is_empty() || name == "__metadata__" {
            let why = format!("{name:?} cannot name a tensor: give a name that is not empty nor \"__metadata__\"");
            return Err(error::invalid("name", why));
        }
        if let Some(&at) = self.places.get(&name) {
            return Ok(Some(std::mem::replace(&mut self.tensors[at].1, tensor)));
        }
        self.places.insert(name.clone(), self.tensors.len());
        self.tensors.push((name, tensor));
        Ok(None)
    }

    /// The tensor of a name.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.places.get(name).map(|&at| &self.tensors[at].1)
    }

    /// The tensor of a name that must be there.
    ///
    /// # Errors
    /// If it is not.
    pub fn tensor(&self, name: &str) -> Result<&Tensor> {
        let _call = trace::call("StateDict::tensor", &[]);
        self.get(name).ok_or_else(|| archive::missing(name, self.names()))
    }

    /// Takes a tensor out; those after it keep their order. O(number of tensors).
    pub fn remove(&mut self, name: &str) -> Option<Tensor> {
        let at = self.places.remove(name)?;
        self.places.values_mut().filter(|place| **place > at).for_each(|place| *place -= 1);
        Some(self.tensors.remove(at).1)
    }

    /// Number of tensors.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there are no tensors.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// The names, in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tensors.iter().map(|(name, _)| name.as_str())
    }

    /// Names and tensors, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Tensor)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// Bytes of all constituent arrays.
    pub fn nbytes(&self) -> usize {
        self.tensors.iter().map(|(_, tensor)| tensor.nbytes()).sum()
    }

    /// What is said about the whole: strings, or any JSON.
    pub fn metadata(&self) -> &Map<String, Value> {
        &self.metadata
    }

    /// The metadata, to change.
    pub fn metadata_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.metadata
    }

    /// Saves to a file; the extension names the format: `.safetensors`, `.h5` or `.hdf5`. The file appears whole or not
    /// at all.
    ///
    /// Iso and broadcast values of sparse tensors are written once; a strided tensor is written whole.
    ///
    /// # Errors
    /// If the extension names no format; for safetensors, if two arrays would have one name (a tensor `w.values` beside a sparse tensor `w`), or a metadata key is one that
    /// the format needs (`openwork`, or one that ends in `.binsparse`); for HDF5, if a name is no path of groups (`a/b`)
    /// or is an array of another tensor (`w/values`); or if writing fails. No file is made or changed then.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.save_with(path, &WriteOptions::default())
    }

    /// As [`StateDict::save`], with options. [`WriteOptions::metadata`], where they are given, stand for those of the model, and
    /// [`WriteOptions::name`] is not looked at, for each tensor has its own.
    ///
    /// # Errors
    /// As [`StateDict::save`]; if an option is not one of the format.
    pub fn save_with(&self, path: impl AsRef<Path>, options: &WriteOptions<'_>) -> Result<()> {
        let _call = trace::call("StateDict::save", &[]);
        let path = path.as_ref();
        let metadata = options.metadata.or(Some(&self.metadata));
        let options = &WriteOptions { name: None, metadata, ..*options };
        match ModelFormat::of(path)? {
            ModelFormat::Safetensors => {
                options.check(Format::Safetensors)?;
                let writer = self.safetensors(options)?;
                let tell = Tell::new(options.progress, writer.len());
                atomic::write_about(path, writer.len(), |file| {
                    writer.write(&mut BufWriter::with_capacity(1 << 20, file), &tell)
                })?;
                tell.end();
                Ok(())
            }
            ModelFormat::Hdf5 => {
                let entries: Vec<Entry> = self.iter().map(|(name, tensor)| Entry::new(name, tensor)).collect();
                binsparse::write_all(path, &entries, &WriteOptions { extensions: true, ..*options })
            }
            ModelFormat::Checkpoint => {
                let why = "files of PyTorch's are read, not written; .safetensors and .h5 are written, and PyTorch reads the first";
                Err(error::invalid("path", why))
            }
        }
    }

    /// Reads a whole file. [`Archive`] reads single tensors.
    ///
    /// # Errors
    /// As [`Archive::open`] and [`Archive::tensor`].
    pub fn load(path: impl AsRef<Path>) -> Result<StateDict> {
        StateDict::load_with(path, &ReadOptions::default())
    }

    /// As [`StateDict::load`], with options, of which the progress counts tensors.
    ///
    /// # Errors
    /// As [`StateDict::load`].
    pub fn load_with(path: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<StateDict> {
        Archive::open_with(path, options)?.load_with(options)
    }

    /// The bytes of a safetensors file.
    ///
    /// # Errors
    /// As [`StateDict::save`].
    pub fn to_safetensors(&self) -> Result<Vec<u8>> {
        self.to_safetensors_with(&WriteOptions::default())
    }

    /// As [`StateDict::to_safetensors`], with options, as [`StateDict::save_with`] takes them.
    ///
    /// # Errors
    /// As [`StateDict::save_with`].
    pub fn to_safetensors_with(&self, options: &WriteOptions<'_>) -> Result<Vec<u8>> {
        let _call = trace::call("StateDict::to_safetensors", &[]);
        let metadata = options.metadata.or(Some(&self.metadata));
        let options = &WriteOptions { name: None, metadata, ..*options };
        options.check(Format::Safetensors)?;
        let writer = self.safetensors(options)?;
        let tell = Tell::new(options.progress, writer.len());
        let mut out = Vec::with_capacity(usize::try_from(writer.len()).unwrap_or(0));
        writer.write(&mut out, &tell).map_err(|e| super::fault::Fault::from(e).of("safetensors", None))?;
        tell.end();
        Ok(out)
    }

    /// Reads the bytes of a safetensors file.
    ///
    /// # Errors
    /// As [`Archive::open`] and [`Archive::tensor`].
    pub fn from_safetensors(bytes: &[u8]) -> Result<StateDict> {
        Archive::from_safetensors(bytes)?.load()
    }

    fn safetensors(&self, options: &WriteOptions<'_>) -> Result<SafetensorsWriter> {
        let mut items: Vec<OutEntry> = Vec::new();
        let mut descriptors = Vec::new();
        for (name, tensor) in &self.tensors {
            if let Some(text) = entries::items(name, tensor, &mut items)? {
                descriptors.push((format!("{name}{DESCRIPTOR}"), text));
            }
        }
        let complex = self.iter().filter(|(_, x)| x.is_strided() && x.dtype().is_complex()).map(|(name, _)| name);
        let metadata = each::metadata(
            options.metadata.unwrap_or(&self.metadata),
            &self.names().collect::<Vec<_>>(),
            &complex.collect::<Vec<_>>(),
            descriptors,
        )?;
        SafetensorsWriter::new(items, metadata)
    }
}

/// A format that the extension of a path names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ModelFormat {
    Safetensors,
    Hdf5,
    Checkpoint,
}

impl ModelFormat {
    pub(crate) fn of(path: &Path) -> Result<ModelFormat> {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
        match extension.as_str() {
            "safetensors" => Ok(ModelFormat::Safetensors),
            "h5" | "hdf5" => Ok(ModelFormat::Hdf5),
            "pt" | "pth" => Ok(ModelFormat::Checkpoint),
            _ => {
                let why = format!(
                    "the extension {extension:?} names no format for models; known are .safetensors, .h5 and .hdf5, and .pt and .pth to read"
                );
                Err(error::invalid("path", why))
            }
        }
    }
}
