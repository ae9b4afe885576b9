//! The safetensors format: the length of a header as `u64`, the header as JSON, then the bytes of the arrays, little
//! endian, without gaps. What it means to a model is said in [`state_dict`](super::state_dict).

mod header;
mod source;
mod write;

pub(crate) use header::{ArrayEntry, Directory};
pub(crate) use source::DataPart;
pub(crate) use write::{OutEntry, Planned, SafetensorsWriter, layout};

use openwork_ops::DType;

/// Element type of an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum EntryType {
    Known(DType),
    /// One that tensors here do not have, of so many bits.
    Other(&'static str, u64),
}

impl EntryType {
    const ALL: [(&'static str, EntryType); 22] = [
        ("BOOL", EntryType::Known(DType::Bool)),
        ("U8", EntryType::Known(DType::U8)),
        ("I8", EntryType::Known(DType::I8)),
        ("U16", EntryType::Known(DType::U16)),
        ("I16", EntryType::Known(DType::I16)),
        ("F16", EntryType::Known(DType::F16)),
        ("BF16", EntryType::Known(DType::BF16)),
        ("U32", EntryType::Known(DType::U32)),
        ("I32", EntryType::Known(DType::I32)),
        ("F32", EntryType::Known(DType::F32)),
        ("U64", EntryType::Known(DType::U64)),
        ("I64", EntryType::Known(DType::I64)),
        ("F64", EntryType::Known(DType::F64)),
        ("C64", EntryType::Known(DType::Complex64)),
        ("F4", EntryType::Other("F4", 4)),
        ("F6_E2M3", EntryType::Other("F6_E2M3", 6)),
        ("F6_E3M2", EntryType::Other("F6_E3M2", 6)),
        ("F8_E5M2", EntryType::Other("F8_E5M2", 8)),
        ("F8_E4M3", EntryType::Other("F8_E4M3", 8)),
        ("F8_E8M0", EntryType::Other("F8_E8M0", 8)),
        ("F8_E4M3FNUZ", EntryType::Other("F8_E4M3FNUZ", 8)),
        ("F8_E5M2FNUZ", EntryType::Other("F8_E5M2FNUZ", 8)),
    ];

    pub(crate) fn parse(name: &str) -> Option<EntryType> {
        EntryType::ALL.into_iter().find(|(n, _)| *n == name).map(|(_, kind)| kind)
    }

    /// The name of a dtype. Complex numbers have none that every reader knows: they are written as pairs.
    pub(crate) fn name(dtype: DType) -> Option<&'static str> {
        let found =
            EntryType::ALL.into_iter().find(|(_, kind)| *kind == EntryType::Known(dtype) && !dtype.is_complex());
        found.map(|(name, _)| name)
    }

    pub(crate) fn bits(self) -> u64 {
        match self {
            EntryType::Known(dtype) => dtype.size() as u64 * 8,
            EntryType::Other(_, bits) => bits,
        }
    }
}

/// Turns elements round where this machine's byte order is not the file's, which is little endian.
pub(crate) fn swap(dtype: DType, bytes: &mut [u8]) {
    let number = dtype.real().size();
    if cfg!(target_endian = "big") && number > 1 {
        bytes.chunks_exact_mut(number).for_each(<[u8]>::reverse);
    }
}
