//! The safetensors format: the length of a header as `u64`, the header as JSON, then the bytes of the arrays, little
//! endian, without gaps. What it means to a model is said in [`state_dict`](super::state_dict).

mod header;
mod source;
mod write;

pub(crate) use header::{Entry, Header};
pub(crate) use source::Source;
pub(crate) use write::{Item, Writer};

use crate::DType;

/// Element type of an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Known(DType),
    /// One that tensors here do not have, of so many bits.
    Other(&'static str, u64),
}

impl Kind {
    const ALL: [(&'static str, Kind); 22] = [
        ("BOOL", Kind::Known(DType::Bool)),
        ("U8", Kind::Known(DType::U8)),
        ("I8", Kind::Known(DType::I8)),
        ("U16", Kind::Known(DType::U16)),
        ("I16", Kind::Known(DType::I16)),
        ("F16", Kind::Known(DType::F16)),
        ("BF16", Kind::Known(DType::BF16)),
        ("U32", Kind::Known(DType::U32)),
        ("I32", Kind::Known(DType::I32)),
        ("F32", Kind::Known(DType::F32)),
        ("U64", Kind::Known(DType::U64)),
        ("I64", Kind::Known(DType::I64)),
        ("F64", Kind::Known(DType::F64)),
        ("C64", Kind::Known(DType::Complex64)),
        ("F4", Kind::Other("F4", 4)),
        ("F6_E2M3", Kind::Other("F6_E2M3", 6)),
        ("F6_E3M2", Kind::Other("F6_E3M2", 6)),
        ("F8_E5M2", Kind::Other("F8_E5M2", 8)),
        ("F8_E4M3", Kind::Other("F8_E4M3", 8)),
        ("F8_E8M0", Kind::Other("F8_E8M0", 8)),
        ("F8_E4M3FNUZ", Kind::Other("F8_E4M3FNUZ", 8)),
        ("F8_E5M2FNUZ", Kind::Other("F8_E5M2FNUZ", 8)),
    ];

    pub(crate) fn parse(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|(n, _)| *n == name).map(|(_, kind)| kind)
    }

    /// The name of a dtype. Complex numbers have none that every reader knows: they are written as pairs.
    pub(crate) fn name(dtype: DType) -> Option<&'static str> {
        let found = Kind::ALL.into_iter().find(|(_, kind)| *kind == Kind::Known(dtype) && !dtype.is_complex());
        found.map(|(name, _)| name)
    }

    pub(crate) fn bits(self) -> u64 {
        match self {
            Kind::Known(dtype) => dtype.size() as u64 * 8,
            Kind::Other(_, bits) => bits,
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
