//! The arrays of a container, and how they become indices and values.

use super::Mode;
use crate::base::buffer::{self, Buffer};
use crate::base::mapped::Mapped;
use crate::base::strided::Strided;
use crate::io::fault::{Res, bad};
use crate::io::progress::Tell;
use crate::io::warning::Warning;
use crate::tensor::index_array::IndexArray;
use crate::{DType, Tensor};

/// What a container knows about an array before it reads it. All arrays are one-dimensional.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrayInfo {
    /// Element type as stored; truth values of the container's own kind are `Bool`.
    pub(crate) dtype: DType,
    pub(crate) len: u64,
}

impl ArrayInfo {
    pub(crate) fn bytes(self) -> u128 {
        u128::from(self.len) * self.dtype.size() as u128
    }
}

/// Named arrays. `info` must prove that the container holds as many bytes as it says, or that reading them fails
/// before more than the bytes it holds are asked for.
pub(crate) trait Arrays {
    /// `None` if there is no such array.
    fn info(&mut self, name: &str) -> Res<Option<ArrayInfo>>;

    /// Reads entries from `start` on into `out`, which has the size of some, in this machine's byte order, and writes every byte
    /// unless it fails: what was there may be another array's. Truth values come as bytes. What is not read is not checked either.
    fn read(&mut self, name: &str, start: u64, out: &mut [u8], tell: &Tell<'_>) -> Res<()>;

    /// Bytes that an array takes in the file, if it is packed and the container knows.
    fn packed(&mut self, _name: &str) -> Option<u64> {
        None
    }

    /// The array as it lies in memory: exactly its bytes, as `info` describes them. `None` where it must be read.
    fn share(&mut self, _name: &str) -> Option<Strided> {
        None
    }

    /// Whether indices stay as they lie in memory, 64 bits wide too: who lends them was asked for that.
    fn lends_indices(&self) -> bool {
        false
    }
}

/// Arrays and what describes them.
pub(crate) trait Container: Arrays {
    /// The text of the descriptor.
    fn descriptor(&mut self, mode: Mode, warnings: &mut Vec<Warning>) -> Res<String>;

    /// What the arrays call themselves if another library saved them in a way of its own.
    fn foreign(&self) -> Option<String> {
        None
    }
}

/// Entries of an array that was found.
#[derive(Clone, Debug)]
pub(crate) struct FoundArray {
    /// As the file calls it.
    pub(crate) name: String,
    /// The first entry.
    pub(crate) start: u64,
    /// Element type, and how many entries.
    pub(crate) info: ArrayInfo,
}

/// The entries that were found, as they lie in memory.
fn shared(arrays: &mut dyn Arrays, found: &FoundArray) -> Option<Strided> {
    let whole = arrays.share(&found.name)?;
    let (start, len) = (usize::try_from(found.start).ok()?, usize::try_from(found.info.len).ok()?);
    let part = whole.narrow(0, start..start + len);
    let bytes = part.offset * part.dtype.size();
    let buffer = part.buffer.slice(bytes..bytes + part.len() * part.dtype.size());
    Some(Strided::new(buffer, part.dtype, vec![len]))
}

/// Reads an integer array.
pub(crate) fn read_index(arrays: &mut dyn Arrays, found: &FoundArray, tell: &Tell<'_>) -> Res<IndexArray> {
    fn narrow<T: bytemuck::Pod + Into<i64>>(
        arrays: &mut dyn Arrays,
        found: &FoundArray,
        len: usize,
        tell: &Tell<'_>,
    ) -> Res<IndexArray> {
        let mut values: Vec<T> = buffer::zeroed_vec(len);
        arrays.read(&found.name, found.start, bytemuck::cast_slice_mut(&mut values), tell)?;
        let name = &found.name;
        match values.try_mapped(|&v| u32::try_from(v.into())) {
            Ok(values) => Ok(values.into()),
            Err(_) => bad(format_args!("`{name}` has a negative entry")),
        }
    }
    if let Some(shared) = shared(arrays, found).filter(|s| s.dtype.is_int()) {
        let shared = Tensor::from_strided(shared);
        return Ok(if arrays.lends_indices() { IndexArray::as_it_lies(&shared) } else { IndexArray::from(&shared) });
    }
    let len = possible(found)?;
    match found.info.dtype {
        DType::I8 => narrow::<i8>(arrays, found, len, tell),
        DType::U8 => narrow::<u8>(arrays, found, len, tell),
        DType::I16 => narrow::<i16>(arrays, found, len, tell),
        DType::U16 => narrow::<u16>(arrays, found, len, tell),
        DType::I32 | DType::U32 | DType::I64 | DType::U64 => {
            let entries = Strided::new(read_bytes(arrays, found, len, tell)?, found.info.dtype, vec![len]);
            Ok(IndexArray::from(&Tensor::from_strided(entries)))
        }
        other => bad(format_args!("`{}` holds {other}, not integers", found.name)),
    }
}

/// Reads values of the stored type; truth values must be 0 or 1 unless `lenient`. Gives how many were not.
pub(crate) fn read_values(
    arrays: &mut dyn Arrays,
    found: &FoundArray,
    as_bool: bool,
    lenient: bool,
    tell: &Tell<'_>,
) -> Res<(Strided, usize)> {
    let FoundArray { name, start, info } = found;
    let as_bool = as_bool || info.dtype == DType::Bool;
    let fits = |s: &Strided| !as_bool || s.buffer.bytes().iter().all(|&byte| byte <= 1);
    if let Some(shared) = shared(arrays, found).filter(fits) {
        let dtype = if as_bool { DType::Bool } else { shared.dtype };
        return Ok((Strided { dtype, ..shared }, 0));
    }
    let len = possible(found)?;
    if !as_bool && info.dtype.size() > 1 {
        return Ok((Strided::new(read_bytes(arrays, found, len, tell)?, info.dtype, vec![len]), 0));
    }
    let mut result = Ok(());
    let mut odd = 0;
    let buffer = Buffer::build(len * info.dtype.size(), |out| {
        result = arrays.read(name, *start, out, tell);
        if as_bool {
            for byte in out {
                odd += usize::from(*byte > 1);
                *byte = u8::from(*byte != 0);
            }
        }
    })?;
    result?;
    if odd > 0 && !lenient {
        return bad(format_args!("`{name}` has {odd} truth values other than 0 and 1"));
    }
    let dtype = if as_bool { DType::Bool } else { info.dtype };
    Ok((Strided::new(buffer, dtype, vec![len]), odd))
}

/// So many elements of more than a byte each, in memory that is not zeroed before.
fn read_bytes(arrays: &mut dyn Arrays, found: &FoundArray, len: usize, tell: &Tell<'_>) -> Res<Buffer> {
    let (size, mut result) = (found.info.dtype.size(), Ok(()));
    let buffer = Buffer::filled(len * size, size, |out| result = arrays.read(&found.name, found.start, out, tell))?;
    result.map(|()| buffer)
}

fn possible(found: &FoundArray) -> Res<usize> {
    let FoundArray { name, info, .. } = found;
    match usize::try_from(info.bytes()) {
        Ok(bytes) if bytes <= isize::MAX as usize && Buffer::is_possible(bytes) => Ok(info.len as usize),
        _ => bad(format_args!("`{name}` has {} entries: more than fit in memory", info.len)),
    }
}
