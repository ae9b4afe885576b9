//! Where the bytes of a file are: on the disk, read when asked for, or in memory, shared.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::header::MAX_HEADER;
use super::{Directory, swap};
use crate::base::buffer::Buffer;
use crate::base::strided::Strided;
use crate::io::fault::{Res, bad};
use crate::io::progress::Tell;
use crate::io::steps;
use crate::{DType, Tensor};

#[derive(Debug)]
enum Place {
    File(Mutex<File>),
    Memory(Buffer),
}

/// A file of which the header has been read.
#[derive(Debug)]
pub(crate) struct DataPart {
    place: Place,
    /// Where the data start.
    data_at: u64,
}

impl DataPart {
    /// Opens a file; arrays are read when asked for.
    pub(crate) fn open(path: &Path) -> Res<(DataPart, Directory)> {
        DataPart::file(File::open(path)?)
    }

    /// An open file.
    pub(crate) fn file(file: File) -> Res<(DataPart, Directory)> {
        let len = file.metadata()?.len();
        DataPart::new(Place::File(Mutex::new(file)), len)
    }

    /// The whole of a file in memory; arrays share it.
    pub(crate) fn memory(bytes: Buffer) -> Res<(DataPart, Directory)> {
        let len = bytes.len() as u64;
        DataPart::new(Place::Memory(bytes), len)
    }

    fn new(place: Place, len: u64) -> Res<(DataPart, Directory)> {
        let mut source = DataPart { place, data_at: 8 };
        if len < 8 {
            return bad(format_args!("{len} bytes are no safetensors file, which has a header"));
        }
        let mut size = [0; 8];
        source.read(0, &mut size, &Tell::nobody())?;
        let size = u64::from_le_bytes(size);
        if size > MAX_HEADER || size > len - 8 {
            return bad(format_args!(
                "the header claims {size} bytes: the file has {} for it and {MAX_HEADER} are allowed",
                len - 8
            ));
        }
        let mut text = vec![0; size as usize];
        source.read(8, &mut text, &Tell::nobody())?;
        source.data_at = 8 + size;
        let header = Directory::parse(&text, len - source.data_at)?;
        Ok((source, header))
    }

    /// Reads bytes from a place in the file.
    fn read(&self, at: u64, out: &mut [u8], tell: &Tell<'_>) -> Res<()> {
        match &self.place {
            Place::File(file) => {
                // A thread that panicked while it held the lock left a file position behind, nothing worse.
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(at))?;
                steps::read_exact(&mut *file, out, tell)?;
            }
            Place::Memory(bytes) => {
                let part = usize::try_from(at).ok().and_then(|at| bytes.bytes().get(at..)?.get(..out.len()));
                let Some(part) = part else { return bad("an array reaches beyond the end of the file") };
                out.copy_from_slice(part);
            }
        }
        Ok(())
    }

    /// Reads elements that start at a byte of the data.
    pub(crate) fn read_elements(&self, start: u64, dtype: DType, out: &mut [u8], tell: &Tell<'_>) -> Res<()> {
        self.read(self.data_at + start, out, tell)?;
        swap(dtype, out);
        Ok(())
    }

    /// Elements that lie in memory as they are needed: aligned, and in this machine's byte order.
    pub(crate) fn share(&self, start: u64, len: usize, dtype: DType) -> Option<Strided> {
        let Place::Memory(bytes) = &self.place else { return None };
        let start = usize::try_from(self.data_at + start).ok()?;
        let size = len.checked_mul(dtype.size())?;
        let end = start.checked_add(size).filter(|&end| end <= bytes.len())?;
        let part = bytes.slice(start..end);
        let aligned = part.bytes().as_ptr().align_offset(dtype.real().size()) == 0;
        let order = cfg!(target_endian = "little") || dtype.size() == 1;
        (aligned && order).then(|| Strided::new(part, dtype, vec![len]))
    }

    /// Elements of an array, shared where they can be, else read.
    pub(crate) fn elements(&self, start: u64, len: u64, dtype: DType, tell: &Tell<'_>) -> Res<Tensor> {
        let bytes = len.checked_mul(dtype.size() as u64).and_then(|b| usize::try_from(b).ok());
        let Some(bytes) = bytes.filter(|&b| Buffer::is_possible(b)) else {
            return bad(format_args!("{len} elements of {dtype} do not fit in memory"));
        };
        let len = bytes / dtype.size();
        let raw = if dtype == DType::Bool { DType::U8 } else { dtype };
        let values = match self.share(start, len, raw) {
            Some(shared) => shared,
            None => {
                let mut result = Ok(());
                let buffer = Buffer::build(bytes, |out| result = self.read_elements(start, dtype, out, tell))?;
                result?;
                Strided::new(buffer, raw, vec![len])
            }
        };
        if dtype == DType::Bool
            && let Some(at) = values.buffer.bytes().iter().position(|&b| b > 1)
        {
            return bad(format_args!("truth value {at} is {}, not 0 or 1", values.buffer.bytes()[at]));
        }
        Ok(Tensor::from_strided(Strided { dtype, ..values }))
    }
}
