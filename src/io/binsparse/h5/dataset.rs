//! One dataset: what it says it holds, and whether the file can hold that. Nothing is asked of libhdf5 that would
//! follow a name out of the file, load a filter from elsewhere, or make memory for elements that are not stored.

use ::hdf5::dataset::Layout;
use ::hdf5::filters::Filter;
use ::hdf5::{Dataset, Group, LinkType, LocationType};

use super::raw::{self, Kind};
use super::{Links, of};
use crate::DType;
use crate::io::binsparse::arrays::Info;
use crate::io::binsparse::fault::{Res, bad};

/// Deflate packs at most this many bytes into one.
const MAX_RATIO: u128 = 1032;

/// Opens a dataset of a group, if the group has something of that name. Only a hard link leads to it: what others
/// lead to is not known to be in this file, nor to end.
pub(super) fn open(group: &Group, links: &Links, name: &str) -> Res<Option<Dataset>> {
    match links.get(name) {
        None => return Ok(None),
        Some(LinkType::Hard) => {}
        Some(LinkType::Soft) => return bad(format!("`{name}` is a soft link, which is not followed")),
        Some(LinkType::External) => return bad(format!("`{name}` is a link to another file, which is not followed")),
    }
    if of(group.loc_type_by_name(name))? != LocationType::Dataset {
        return bad(format!("`{name}` is not a dataset"));
    }
    Ok(Some(of(group.dataset(name))?))
}

/// Element type and length of an array, once it is proven that the file has its bytes. One element without an axis
/// is an array of one only where `scalars` says so.
pub(super) fn info(data: &Dataset, name: &str, file_bytes: u64, scalars: bool) -> Res<(Kind, Info)> {
    let kind = of(raw::kind(data))?;
    let dtype = match kind {
        Kind::Number(dtype) => dtype,
        Kind::Truth => DType::Bool,
        Kind::Text => return bad(format!("`{name}` holds text, not numbers")),
        Kind::Other(what) => return bad(format!("`{name}` holds {what}, not numbers")),
    };
    let space = of(data.space())?;
    if space.is_null() {
        return bad(format!("`{name}` has no elements at all, not even a length (a null dataspace)"));
    }
    let len = match space.shape()[..] {
        [len] => len as u64,
        [] if scalars => 1,
        ref shape => return bad(format!("`{name}` has shape {shape:?}, not one axis")),
    };
    let info = Info { dtype, len };
    is_stored(data, name, info.bytes(), file_bytes)?;
    Ok((kind, info))
}

/// Whether a file of that many bytes can hold what a dataset claims to hold, and libhdf5 can give it alone.
pub(super) fn is_stored(data: &Dataset, name: &str, bytes: u128, file_bytes: u64) -> Res<()> {
    let made = of(data.create_plist())?;
    if !of(made.get_external())?.is_empty() {
        return bad(format!("`{name}` is stored in another file, which is not opened"));
    }
    let mut ratio = 1;
    for filter in of(made.get_filters())? {
        match filter {
            Filter::Deflate(_) if ratio == 1 => ratio = MAX_RATIO,
            Filter::Shuffle | Filter::Fletcher32 => {}
            other => {
                let id = other.id();
                return bad(format!("`{name}` went through filter {id}; known are one deflate, shuffle, fletcher32"));
            }
        }
    }
    let stored = u128::from(data.storage_size());
    if stored > u128::from(file_bytes) {
        return bad(format!("`{name}` claims {stored} bytes of a file of {file_bytes}"));
    }
    let needed = match of(made.get_layout())? {
        Layout::Compact => bytes,
        Layout::Contiguous => {
            let end = data.offset().map_or(0, |at| u128::from(at) + bytes);
            if bytes > 0 && end > u128::from(file_bytes) {
                return bad(format!("`{name}` lies beyond the end of the file"));
            }
            bytes
        }
        Layout::Chunked => {
            let chunk = of(made.get_chunk())?.unwrap_or_default();
            let size = of(data.dtype())?.size() as u128;
            let chunk = chunk.iter().fold(size, |n, &c| n.saturating_mul(c as u128));
            // A chunk is stored, and unpacked, whole.
            if bytes == 0 { 0 } else { bytes.max(chunk) }
        }
        _ => return bad(format!("`{name}` is put together from other datasets, which are not opened")),
    };
    if needed > stored.saturating_mul(ratio) {
        return bad(format!("`{name}` claims to hold {needed} bytes and has {stored} in the file"));
    }
    Ok(())
}
