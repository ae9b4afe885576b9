//! One dataset: what it says it holds, and whether the file can hold that.

use super::Hdf5;
use super::store::{DataLayout, ElementKind, Facts, Link, Object};
use crate::io::binsparse::arrays::ArrayInfo;
use crate::io::fault::{Res, bad};
use openwork_ops::DType;

/// Deflate packs at most this many bytes into one.
const MAX_RATIO: u128 = 1032;

const DEFLATE: i64 = 1;
const SHUFFLE: i64 = 2;
const FLETCHER32: i64 = 3;
const SCALEOFFSET: i64 = 6;
/// An element of 64 bits is packed in one. Where it is packed in none, for all of a chunk are the same and no fill is
/// told from them, nothing bounds how many there are: such a chunk is taken for as much as one that was never written.
const MAX_SCALE_RATIO: u128 = 64;
/// Of h5py: <https://docs.h5py.org/en/stable/high/dataset.html>, "LZF filter".
const LZF: i64 = 32000;
/// Three bytes of LZF stand for 264 at most.
const MAX_LZF_RATIO: u128 = 88;
/// Elements that were never written are the dataset's fill. So many bytes of them, or as many as the file has, are
/// taken for real.
const UNWRITTEN: u64 = 1 << 20;

/// What a dataset of a group says of itself, if the group has something of that name. Only a link that stays in this file,
/// and is known to end, leads to it.
pub(super) fn open(file: &mut Hdf5<'_>, name: &str) -> Res<Option<Facts>> {
    match file.ask(|store| store.link(name))? {
        None => return Ok(None),
        Some(Link::Hard) => {}
        Some(Link::Soft) => {
            return bad(format_args!("`{name}` is a soft link, which libhdf5 might follow out of the file"));
        }
        Some(Link::External) => return bad(format_args!("`{name}` is a link to another file, which is not followed")),
    }
    if file.ask(|store| store.object(name))? != Object::Dataset {
        return bad(format_args!("`{name}` is not a dataset"));
    }
    file.ask(|store| store.facts(name)).map(Some)
}

/// How many axes a dataset may have to be an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Axes {
    #[default]
    One,
    /// One element without an axis is an array of one.
    OneOrNone,
    /// The array is the elements in C order.
    Any,
}

/// Element type and length of an array, once it is proven that the file has its bytes.
pub(super) fn info(facts: &Facts, name: &str, file_bytes: u64, axes: Axes) -> Res<ArrayInfo> {
    let dtype = match facts.kind {
        ElementKind::Number(dtype) => dtype,
        ElementKind::Truth => DType::Bool,
        ElementKind::Text => return bad(format_args!("`{name}` holds text, not numbers")),
        ElementKind::Other(what) => return bad(format_args!("`{name}` holds {what}, not numbers")),
    };
    let len = match facts.shape.as_deref() {
        None => return bad(format_args!("`{name}` has no elements at all, not even a length (a null dataspace)")),
        Some(&[len]) => len,
        Some([]) if axes == Axes::OneOrNone => 1,
        Some(shape) if axes == Axes::Any => match shape.iter().try_fold(1_u64, |n, &size| n.checked_mul(size)) {
            Some(len) => len,
            None => return bad(format_args!("`{name}` has the shape {shape:?}")),
        },
        Some(shape) => return bad(format_args!("`{name}` has shape {shape:?}, not one axis")),
    };
    let info = ArrayInfo { dtype, len };
    is_stored(facts, name, info.bytes(), file_bytes)?;
    Ok(info)
}

/// Whether a file of that many bytes can hold what a dataset claims to hold.
pub(super) fn is_stored(facts: &Facts, name: &str, bytes: u128, file_bytes: u64) -> Res<()> {
    if facts.external {
        return bad(format_args!("`{name}` is stored in another file, which is not opened"));
    }
    let (mut ratio, mut scale_ratio) = (1, 1);
    for filter in &facts.filters {
        match *filter {
            DEFLATE if ratio == 1 => ratio = MAX_RATIO,
            LZF if ratio == 1 => ratio = MAX_LZF_RATIO,
            SCALEOFFSET if scale_ratio == 1 => scale_ratio = MAX_SCALE_RATIO,
            SHUFFLE | FLETCHER32 => {}
            id => {
                return bad(format_args!(
                    "`{name}` went through filter {id}; known are one deflate or lzf, one scaleoffset, shuffle, fletcher32"
                ));
            }
        }
    }
    let stored = u128::from(facts.stored);
    if stored > u128::from(file_bytes) {
        return bad(format_args!("`{name}` claims {stored} bytes of a file of {file_bytes}"));
    }
    let needed = match facts.layout {
        DataLayout::Compact => bytes,
        DataLayout::Contiguous(at) => {
            let end = at.map_or(0, |at| u128::from(at) + bytes);
            if bytes > 0 && end > u128::from(file_bytes) {
                return bad(format_args!("`{name}` lies beyond the end of the file"));
            }
            bytes
        }
        // A chunk is stored, and unpacked, whole.
        DataLayout::Chunked(chunk) => {
            if bytes == 0 {
                0
            } else {
                bytes.max(u128::from(chunk))
            }
        }
        DataLayout::Virtual => {
            return bad(format_args!("`{name}` is put together from other datasets, which are not opened"));
        }
    };
    let unwritten = match facts.layout {
        DataLayout::Chunked(_) | DataLayout::Contiguous(None) => u128::from(UNWRITTEN.max(file_bytes)),
        _ => 0,
    };
    if needed > stored.saturating_mul(ratio * scale_ratio).max(unwritten) {
        return bad(format_args!("`{name}` claims to hold {needed} bytes and has {stored} in the file"));
    }
    Ok(())
}
