//! Where HDF5 files keep descriptors.

use std::collections::BTreeMap;

use ::hdf5::{Attribute, Dataset, Group};

use super::raw::{self, Kind};
use super::sscdf::{self, Bitmap, Given};
use super::{Links, dataset, of};
use crate::DType;
use crate::io::binsparse::Mode;
use crate::io::binsparse::fault::{Res, bad};
use crate::io::binsparse::json::MAX_BYTES;
use crate::io::binsparse::warning::Warning;

/// The name of the attribute, and in files of 2023 of a dataset.
pub(super) const NAME: &str = "binsparse";
/// A dataset of bytes in files of 2022, and an attribute of sscdf files.
const METADATA: &str = "metadata";
/// An attribute of older sscdf files.
const FORMAT: &str = "format";

/// A descriptor, and how to find what it speaks of.
#[derive(Default)]
pub(super) struct Found {
    pub(super) text: String,
    /// Names of arrays in the file, by binsparse's.
    pub(super) aliases: BTreeMap<String, String>,
    /// Whether arrays of one element may have no axis.
    pub(super) scalars: bool,
    /// Arrays that the file implies.
    pub(super) given: BTreeMap<String, Given>,
    /// What tells index arrays and values, once they are asked for.
    pub(super) bitmap: Option<Bitmap>,
}

/// Whether a group has something that looks like a descriptor.
pub(super) fn is_there(group: &Group, links: &Links) -> Res<bool> {
    let attributes = of(group.attr_names())?;
    let has = |name: &str| attributes.iter().any(|n| n == name);
    let old = links.contains_key(NAME) || links.contains_key(METADATA) || has(METADATA);
    Ok(has(NAME) || old || (has(FORMAT) && has("datatype")))
}

fn has_attribute(group: &Group, name: &str) -> Res<bool> {
    Ok(of(group.attr_names())?.iter().any(|n| n == name))
}

/// The text of the descriptor of a group.
pub(super) fn find(
    group: &Group,
    links: &Links,
    file_bytes: u64,
    mode: Mode,
    warnings: &mut Vec<Warning>,
) -> Res<Found> {
    let plain = |text| Ok(Found { text, ..Found::default() });
    let mut form = None;
    if let Some(text) = attribute(group, NAME, &mut form)? {
        allow(form, mode, warnings)?;
        return plain(text);
    }
    for name in [NAME, METADATA] {
        if mode == Mode::Lenient
            && let Some(data) = dataset::open(group, links, name)?
        {
            let text = in_dataset(&data, name, file_bytes)?;
            let form = if name == NAME { "a dataset" } else { "a dataset of bytes" };
            allow(Some(form), mode, warnings)?;
            return plain(text);
        }
    }
    if mode == Mode::Lenient
        && let Some(text) = attribute(group, METADATA, &mut form)?
    {
        allow(Some("an attribute `metadata` (sscdf)"), mode, warnings)?;
        return sscdf::newer(&text);
    }
    if mode == Mode::Lenient && has_attribute(group, FORMAT)? && has_attribute(group, "datatype")? {
        allow(Some("attributes and variables (sscdf)"), mode, warnings)?;
        return sscdf::older(group, links, file_bytes);
    }
    bad("the group has no attribute `binsparse` with a descriptor")
}

fn allow(form: Option<&'static str>, mode: Mode, warnings: &mut Vec<Warning>) -> Res<()> {
    if let Some(form) = form {
        if mode != Mode::Lenient {
            return bad(format!("the descriptor is stored as {form}"));
        }
        warnings.push(Warning::DescriptorForm(form));
    }
    Ok(())
}

/// The text of an attribute; `form` says in which unusual form it is.
pub(super) fn attribute(group: &Group, name: &str, form: &mut Option<&'static str>) -> Res<Option<String>> {
    if !has_attribute(group, name)? {
        return Ok(None);
    }
    let attribute: Attribute = of(group.attr(name))?;
    let shape = of(of(attribute.space())?.extents())?;
    if shape.is_null() {
        return bad(format!("the attribute `{name}` is empty"));
    }
    let kind = of(raw::kind(&attribute))?;
    let bytes = match (kind, attribute.shape().as_slice()) {
        (Kind::Text, []) => of(raw::text(&attribute, MAX_BYTES as usize))?,
        (Kind::Text, [1]) => {
            *form = Some("a list of one text");
            of(raw::text(&attribute, MAX_BYTES as usize))?
        }
        (Kind::Number(DType::U8 | DType::I8), [n]) => {
            *form = Some("bytes");
            if *n as u64 > MAX_BYTES { None } else { Some(of(attribute.read_raw::<u8>())?) }
        }
        _ => return bad(format!("the attribute `{name}` is not one text")),
    };
    utf8(bytes, name).map(Some)
}

fn in_dataset(data: &Dataset, name: &str, file_bytes: u64) -> Res<String> {
    let bytes = match of(raw::kind(data))? {
        Kind::Text if data.size() == 1 => {
            dataset::is_stored(data, name, of(data.dtype())?.size() as u128, file_bytes)?;
            of(raw::text(data, MAX_BYTES as usize))?
        }
        Kind::Number(DType::U8 | DType::I8) => {
            let (_, info) = dataset::info(data, name, file_bytes, false)?;
            let mut out = vec![0; info.len.min(MAX_BYTES + 1) as usize];
            let kind = of(raw::kind(data))?;
            of(raw::read(data, kind, 0, &mut out))?;
            (info.len <= MAX_BYTES).then_some(out)
        }
        _ => return bad(format!("the dataset `{name}` is not one text")),
    };
    utf8(bytes, name)
}

fn utf8(bytes: Option<Vec<u8>>, name: &str) -> Res<String> {
    let Some(bytes) = bytes else {
        return bad(format!("`{name}` has more than {MAX_BYTES} bytes, the most a descriptor may have"));
    };
    String::from_utf8(bytes).or_else(|_| bad(format!("`{name}` is not UTF-8")))
}
