//! The arrays of a container, and how they become indices and values.

use super::Mode;
use super::fault::{Res, bad};
use super::warning::Warning;
use crate::DType;
use crate::buffer::{self, Buffer};
use crate::construct::IndexArray;
use crate::strided::Strided;

/// What a container knows about an array before it reads it. All arrays are one-dimensional.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Info {
    /// Element type as stored; truth values of the container's own kind are `Bool`.
    pub(crate) dtype: DType,
    pub(crate) len: u64,
}

impl Info {
    pub(crate) fn bytes(self) -> u128 {
        u128::from(self.len) * self.dtype.size() as u128
    }
}

/// Named arrays. `info` must prove that the container holds as many bytes as it says, or that reading them fails
/// before more than the bytes it holds are asked for.
pub(crate) trait Arrays {
    /// `None` if there is no such array.
    fn info(&mut self, name: &str) -> Res<Option<Info>>;

    /// Reads entries from `start` on into `out`, which has the size of some, in this machine's byte order. Truth values
    /// come as bytes. What is not read is not checked either.
    fn read(&mut self, name: &str, start: u64, out: &mut [u8]) -> Res<()>;
}

/// Arrays and what describes them.
pub(crate) trait Container: Arrays {
    /// The text of the descriptor.
    fn descriptor(&mut self, mode: Mode, warnings: &mut Vec<Warning>) -> Res<String>;
}

/// Entries of an array that was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// As the file calls it.
    pub(crate) name: String,
    /// The first entry.
    pub(crate) start: u64,
    /// Element type, and how many entries.
    pub(crate) info: Info,
}

/// Reads an integer array.
pub(crate) fn read_index(arrays: &mut dyn Arrays, found: &Found) -> Res<IndexArray> {
    fn vec<T: bytemuck::Pod>(arrays: &mut dyn Arrays, found: &Found, len: usize) -> Res<Vec<T>> {
        let mut out: Vec<T> = buffer::zeroed_vec(len);
        arrays.read(&found.name, found.start, bytemuck::cast_slice_mut(&mut out))?;
        Ok(out)
    }
    fn narrow<T: bytemuck::Pod + Into<i64>>(arrays: &mut dyn Arrays, found: &Found, len: usize) -> Res<IndexArray> {
        let values: Vec<T> = vec(arrays, found, len)?;
        let name = &found.name;
        match values.iter().map(|&v| u32::try_from(v.into())).collect::<Result<Vec<u32>, _>>() {
            Ok(values) => Ok(values.into()),
            Err(_) => bad(format!("`{name}` has a negative entry")),
        }
    }
    let len = possible(found)?;
    match found.info.dtype {
        DType::I8 => narrow::<i8>(arrays, found, len),
        DType::U8 => narrow::<u8>(arrays, found, len),
        DType::I16 => narrow::<i16>(arrays, found, len),
        DType::U16 => narrow::<u16>(arrays, found, len),
        DType::I32 => Ok(vec::<i32>(arrays, found, len)?.into()),
        DType::U32 => Ok(vec::<u32>(arrays, found, len)?.into()),
        DType::I64 => Ok(vec::<i64>(arrays, found, len)?.into()),
        DType::U64 => Ok(vec::<u64>(arrays, found, len)?.into()),
        other => bad(format!("`{}` holds {other}, not integers", found.name)),
    }
}

/// Reads values of the stored type; truth values must be 0 or 1 unless `lenient`. Gives how many were not.
pub(crate) fn read_values(
    arrays: &mut dyn Arrays,
    found: &Found,
    as_bool: bool,
    lenient: bool,
) -> Res<(Strided, usize)> {
    let Found { name, start, info } = found;
    let len = possible(found)?;
    let mut result = Ok(());
    let mut odd = 0;
    let as_bool = as_bool || info.dtype == DType::Bool;
    let buffer = Buffer::build(len * info.dtype.size(), |out| {
        result = arrays.read(name, *start, out);
        if as_bool {
            for byte in out {
                odd += usize::from(*byte > 1);
                *byte = u8::from(*byte != 0);
            }
        }
    });
    result?;
    if odd > 0 && !lenient {
        return bad(format!("`{name}` has {odd} truth values other than 0 and 1"));
    }
    let dtype = if as_bool { DType::Bool } else { info.dtype };
    Ok((Strided::new(buffer, dtype, vec![len]), odd))
}

fn possible(found: &Found) -> Res<usize> {
    let Found { name, info, .. } = found;
    match usize::try_from(info.bytes()) {
        Ok(bytes) if bytes <= isize::MAX as usize && Buffer::is_possible(bytes) => Ok(info.len as usize),
        _ => bad(format!("`{name}` has {} entries: more than fit in memory", info.len)),
    }
}
