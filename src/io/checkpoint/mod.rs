//! PyTorch's own files, `.pt` and `.pth`: a ZIP of a pickle, which says what tensors there are, and a member per storage.
//!
//! A pickle is a program. This one is not run: [`rebuild`] lists the few functions that tensors are made by, [`pickle`]
//! carries them out on names and numbers, and anything else is an error. Elements are read when a tensor is asked for.

mod pickle;
mod rebuild;
mod tree;

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use crate::base::buffer::Buffer;
use crate::base::mapped::Mapped;
use crate::base::shape::fitting;
use crate::base::strided::Strided;
use crate::io::binsparse::zip::ZipReader;
use crate::io::fault::{Fault, Res, bad};
use crate::io::progress::Tell;
use crate::io::steps;
use crate::tensor::compressed::{self, Compressed};
use crate::{DType, IndexArray, Tensor};
use pickle::{Described, Pickle, View};
use tree::Contents;

/// The largest pickle that is read: of ten thousand tensors it has two million bytes.
const MAX_PICKLE: u64 = 32 << 20;

/// Where the bytes are.
trait Source: Read + Seek + Send {}
impl<T: Read + Seek + Send> Source for T {}

/// How the tensors of a file are stored, by name, and what else it says.
pub(super) struct Opened {
    pub(super) checkpoint: Checkpoint,
    pub(super) tensors: Vec<(String, Item)>,
    pub(super) metadata: Map<String, Value>,
}

/// A tensor of a checkpoint.
#[derive(Clone, Debug)]
pub(super) struct Item(Described);

/// An open file.
pub(super) struct Checkpoint {
    zip: Mutex<ZipReader<Box<dyn Source>>>,
    /// The folder that all members are in.
    folder: String,
    big_endian: bool,
}

impl fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoint").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Opens a file.
pub(super) fn open(path: &Path) -> Res<Opened> {
    opened(Box::new(BufReader::new(File::open(path)?)))
}

/// An open file.
pub(super) fn open_file(file: File) -> Res<Opened> {
    opened(Box::new(BufReader::new(file)))
}

/// Opens a file in memory.
pub(super) fn open_bytes(bytes: Vec<u8>) -> Res<Opened> {
    opened(Box::new(Cursor::new(bytes)))
}

fn opened(mut source: Box<dyn Source>) -> Res<Opened> {
    let mut start = [0; 4];
    source.rewind()?;
    let read = source.read(&mut start)?;
    if !start[..read].starts_with(b"PK") {
        return bad("not a ZIP file. PyTorch before 1.6 wrote another format: load it there, and save it with \
             `_use_new_zipfile_serialization=True`");
    }
    let mut zip = ZipReader::open(source)?;
    let folders: Vec<String> =
        zip.names().filter_map(|name| name.strip_suffix("data.pkl")).map(str::to_owned).collect();
    let [folder] = &folders[..] else {
        return bad(format_args!("{} members `data.pkl`; a file of PyTorch's has one", folders.len()));
    };
    if !folder.is_empty() && (!folder.ends_with('/') || folder[..folder.len() - 1].contains('/')) {
        return bad(format_args!("`data.pkl` is in {folder:?}, not in the one folder of a file of PyTorch's"));
    }
    let folder = folder.clone();
    let pickle = whole(&mut zip, &format!("{folder}data.pkl"), MAX_PICKLE)?;
    let big_endian = match zip.member(&format!("{folder}byteorder")) {
        None => false,
        Some(_) => match &whole(&mut zip, &format!("{folder}byteorder"), 16)?[..] {
            b"little" => false,
            b"big" => true,
            other => return bad(format_args!("the byte order {:?}", String::from_utf8_lossy(other))),
        },
    };
    let contents = Contents::of(&Pickle::read(&pickle)?)?;
    let tensors = contents.tensors.into_iter().map(|(name, tensor)| (name, Item(tensor))).collect();
    Ok(Opened {
        checkpoint: Checkpoint { zip: Mutex::new(zip), folder, big_endian },
        tensors,
        metadata: contents.metadata,
    })
}

fn whole(zip: &mut ZipReader<Box<dyn Source>>, name: &str, most: u64) -> Res<Vec<u8>> {
    let Some(member) = zip.member(name) else { return bad(format_args!("the member {name:?} is missing")) };
    if member.size > most {
        return bad(format_args!("the member {name:?} has {} bytes, more than the {most} that are read", member.size));
    }
    let mut out = vec![0; member.size as usize];
    let mut reader = zip.reader(member)?;
    reader.read_exact(&mut out)?;
    reader.finish()?;
    Ok(out)
}

/// The element type of a storage or of a tensor, by name.
fn dtype(view: &View) -> Res<DType> {
    Ok(match view.dtype.as_deref().unwrap_or(&view.storage.kind) {
        "BoolStorage" | "bool" => DType::Bool,
        "CharStorage" | "int8" => DType::I8,
        "ShortStorage" | "int16" => DType::I16,
        "IntStorage" | "int32" => DType::I32,
        "LongStorage" | "int64" => DType::I64,
        "ByteStorage" | "uint8" => DType::U8,
        "uint16" => DType::U16,
        "uint32" => DType::U32,
        "uint64" => DType::U64,
        "HalfStorage" | "float16" => DType::F16,
        "BFloat16Storage" | "bfloat16" => DType::BF16,
        "FloatStorage" | "float32" => DType::F32,
        "DoubleStorage" | "float64" => DType::F64,
        "ComplexFloatStorage" | "complex64" => DType::Complex64,
        "ComplexDoubleStorage" | "complex128" => DType::Complex128,
        other => return bad(format_args!("its element type is {other}, which tensors here do not have")),
    })
}

impl Item {
    /// Bytes of its elements and indices.
    pub(super) fn bytes(&self) -> u64 {
        let of = |view: &View| {
            let size = dtype(view).map_or(0, |dtype| dtype.size() as u64);
            view.shape.iter().fold(size, |bytes: u64, &size| bytes.saturating_mul(size))
        };
        match &self.0 {
            Described::Strided(view) => of(view),
            Described::Coordinates { indices, values, .. } => of(indices).saturating_add(of(values)),
            Described::Compressed { arrays, .. } => {
                arrays.iter().fold(0, |sum: u64, view| sum.saturating_add(of(view)))
            }
            Described::Unreadable(_) => 0,
        }
    }

    /// Shape and element type of a strided tensor, which are known before elements are read; `None` for a sparse one.
    pub(super) fn strided(&self) -> Res<Option<(Vec<u64>, DType)>> {
        match &self.0 {
            Described::Strided(view) => Ok(Some((view.shape.clone(), dtype(view)?))),
            Described::Unreadable(why) => bad(why.clone()),
            _ => Ok(None),
        }
    }
}

impl Checkpoint {
    fn zip(&self) -> MutexGuard<'_, ZipReader<Box<dyn Source>>> {
        // A thread that panicked while it held the lock left a file position behind, nothing worse.
        self.zip.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a tensor, or a range of its first axis: of a strided one the bytes that the range spans alone.
    pub(super) fn read(&self, item: &Item, range: Option<Range<usize>>, tell: &Tell<'_>) -> Res<Tensor> {
        let tensor = match &item.0 {
            Described::Strided(view) => return self.strided(view, range, tell).map(Tensor::from_strided),
            Described::Unreadable(why) => return bad(why.clone()),
            Described::Coordinates { indices, values, shape } => self.coordinates(indices, values, shape, tell)?,
            Described::Compressed { by_rows, arrays, shape } => self.compressed(*by_rows, arrays, shape, tell)?,
        };
        match range {
            None => Ok(tensor),
            Some(range) => Ok(tensor.narrow(range, 0)?),
        }
    }

    fn strided(&self, view: &View, range: Option<Range<usize>>, tell: &Tell<'_>) -> Res<Strided> {
        let dtype = dtype(view)?;
        let size = dtype.size();
        let (Some(mut shape), Some(strides)) = (fitting(&view.shape), fitting(&view.strides)) else {
            return bad(format_args!("the shape {:?} does not fit this machine", view.shape));
        };
        let mut offset = view.offset;
        if let Some(range) = range {
            let Some(rows) = shape.first_mut() else { return bad("a tensor without axes has no ranges") };
            if range.start > range.end || range.end > *rows {
                let Range { start, end } = range;
                return bad(format_args!("the range {start}..{end} does not lie in axis 0, which has size {rows}"));
            }
            *rows = range.len();
            offset = match (range.start as u64).checked_mul(strides[0] as u64).and_then(|o| o.checked_add(offset)) {
                Some(offset) => offset,
                None => return bad("strides reach outside the storage"),
            };
        }
        if shape.contains(&0) {
            return Ok(Strided::new(Buffer::empty(), dtype, shape));
        }
        crate::engine::convert::dense_len(&shape, dtype)?; // as many as could be copied
        let mut last = 0u64;
        for (&n, &stride) in shape.iter().zip(&strides) {
            let reach = (n as u64 - 1).checked_mul(stride as u64).and_then(|r| r.checked_add(last));
            last = match reach {
                Some(reach) => reach,
                None => return bad("strides reach outside the storage"),
            };
        }
        let span = last.checked_add(1).and_then(|n| n.checked_mul(size as u64));
        let start = offset.checked_mul(size as u64);
        let end = start.zip(span).and_then(|(start, span)| start.checked_add(span));
        let name = format!("{}data/{}", self.folder, view.storage.key);
        let mut zip = self.zip();
        let Some(member) = zip.member(&name) else {
            return bad(format_args!("its storage, the member {name:?}, is missing"));
        };
        let unit = if view.storage.kind == "UntypedStorage" { 1 } else { size as u64 };
        if view.storage.len.checked_mul(unit) != Some(member.size) {
            let (len, bytes) = (view.storage.len, member.size);
            return bad(format_args!("its storage says {len} elements of {unit} bytes, and has {bytes} bytes"));
        }
        let (Some(start), Some(span), Some(_)) = (start, span, end.filter(|&end| end <= member.size)) else {
            return bad(format_args!(
                "shape {shape:?}, strides {strides:?} and offset {offset} reach outside its storage of {} bytes",
                member.size
            ));
        };
        let span = usize::try_from(span).or_else(|_| bad("more bytes than this machine counts"))?;
        let mut result = Ok(());
        let buffer = Buffer::build(span, |out| {
            result = if span as u64 == member.size {
                zip.reader(member).and_then(|mut reader| {
                    steps::read_exact(&mut reader, out, tell)?;
                    reader.finish() // the checksum
                })
            } else {
                zip.read_part(&name, member, start, out, tell)
            };
            let number = dtype.real().size();
            if self.big_endian != cfg!(target_endian = "big") && number > 1 {
                out.chunks_exact_mut(number).for_each(<[u8]>::reverse);
            }
            if dtype == DType::Bool
                && let Some(odd) = out.iter().find(|&&b| b > 1)
            {
                result = bad(format_args!("{odd} among its truth values, which are 0 and 1"));
                out.fill(0);
            }
        })?;
        result?;
        let strides: Vec<isize> = strides.mapped(|&s| s as isize);
        Ok(Strided { buffer, dtype, shape: shape.into(), strides: strides.into(), offset: 0 })
    }

    /// An array of integers, flat, and its shape.
    fn indices(&self, view: &View, tell: &Tell<'_>) -> Res<(IndexArray, Vec<usize>)> {
        let values = self.strided(view, None, tell)?;
        if !values.dtype.is_int() {
            return bad(format_args!("its indices are {}", values.dtype));
        }
        let shape = values.shape.to_vec();
        let len = values.len();
        Ok((IndexArray::from(&Tensor::from_strided(values.reshape(&[len])?)), shape))
    }

    fn coordinates(&self, indices: &View, values: &View, shape: &[u64], tell: &Tell<'_>) -> Res<Tensor> {
        let Some(shape) = fitting(shape) else { return bad("its shape does not fit this machine") };
        let matrix = self.strided(indices, None, tell)?;
        let &[rank, stored] = &matrix.shape[..] else { return bad("its indices are no matrix") };
        let values = self.strided(values, None, tell)?;
        if rank > shape.len() || values.shape.first() != Some(&stored) || !matrix.dtype.is_int() {
            return bad(format_args!(
                "its indices are {rank} by {stored} of {}, its values {:?}",
                matrix.dtype,
                &values.shape[..]
            ));
        }
        let mut rows = Vec::with_capacity(rank);
        for axis in 0..rank {
            let row = matrix.narrow(0, axis..axis + 1).reshape(&[stored])?;
            rows.push(IndexArray::from(&Tensor::from_strided(row)));
        }
        let zero = crate::Scalar::zero(values.dtype);
        Ok(Tensor::coo(shape, rows, &Tensor::from_strided(values), zero)?)
    }

    fn compressed(&self, by_rows: bool, arrays: &[View; 3], shape: &[u64], tell: &Tell<'_>) -> Res<Tensor> {
        let [pointers, plain, values] = arrays;
        let Some(shape) = fitting(shape) else { return bad("its shape does not fit this machine") };
        let (pointers, of_pointers) = self.indices(pointers, tell)?;
        let (plain, of_plain) = self.indices(plain, tell)?;
        let values = self.strided(values, None, tell)?;
        let zero = crate::Scalar::zero(values.dtype);
        let given = Compressed { by_rows, shape, of_pointers, of_plain, pointers, plain, values };
        let [pointers, plain] = compressed::names(by_rows);
        let within = |e| Fault::Bad(format!("its {pointers}, {plain} and values make no tensor: {e}"));
        given.tensor(zero.into()).map_err(within)
    }
}
