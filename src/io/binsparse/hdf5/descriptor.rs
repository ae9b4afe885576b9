//! Where HDF5 files keep descriptors.

use super::sscdf::{self, Bitmap, Given};
use super::store::{Attribute, ElementKind, Facts};
use super::{Hdf5, dataset};
use crate::base::named::Named;
use crate::io::binsparse::Mode;
use crate::io::binsparse::json::MAX_BYTES;
use crate::io::fault::{Res, bad};
use crate::io::warning::Warning;
use openwork_ops::DType;

/// The name of the attribute, and in files of 2023 of a dataset.
pub(super) const NAME: &str = "binsparse";
/// A dataset of bytes in files of 2022, and an attribute of sscdf files.
const METADATA: &str = "metadata";
/// An attribute of older sscdf files.
const FORMAT: &str = "format";

/// A descriptor, and how to find what it speaks of.
#[derive(Default)]
pub(super) struct Located {
    pub(super) text: String,
    /// Names of arrays in the file, by binsparse's.
    pub(super) aliases: Named<String>,
    /// Whether arrays of one element may have no axis.
    pub(super) scalars: bool,
    /// Arrays that the file implies.
    pub(super) given: Named<Given>,
    /// What tells index arrays and values, once they are asked for.
    pub(super) bitmap: Option<Bitmap>,
}

/// Whether the group has something that looks like a descriptor.
pub(super) fn is_there(file: &mut Hdf5<'_>) -> Res<bool> {
    let attributes = file.ask(|store| store.attributes())?;
    let has = |name: &str| attributes.iter().any(|n| n == name);
    if has(NAME) || has(METADATA) || (has(FORMAT) && has("datatype")) {
        return Ok(true);
    }
    Ok(file.ask(|store| store.link(NAME))?.is_some() || file.ask(|store| store.link(METADATA))?.is_some())
}

/// The text of the descriptor of the group.
pub(super) fn find(file: &mut Hdf5<'_>, mode: Mode, warnings: &mut Vec<Warning>) -> Res<Located> {
    let plain = |text| Ok(Located { text, ..Located::default() });
    let mut form = None;
    if let Some(text) = attribute(file, NAME, &mut form)? {
        allow(form, mode, warnings)?;
        return plain(text);
    }
    for name in [NAME, METADATA] {
        if mode == Mode::Lenient
            && let Some(facts) = dataset::open(file, name)?
        {
            let text = in_dataset(file, &facts, name)?;
            let form = if name == NAME { "a dataset" } else { "a dataset of bytes" };
            allow(Some(form), mode, warnings)?;
            return plain(text);
        }
    }
    if mode == Mode::Lenient
        && let Some(text) = attribute(file, METADATA, &mut form)?
    {
        allow(Some("an attribute `metadata` (sscdf)"), mode, warnings)?;
        return sscdf::newer(&text);
    }
    let attributes = file.ask(|store| store.attributes())?;
    if mode == Mode::Lenient && [FORMAT, "datatype"].iter().all(|&name| attributes.iter().any(|n| n == name)) {
        allow(Some("attributes and variables (sscdf)"), mode, warnings)?;
        return sscdf::older(file);
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
pub(super) fn attribute(file: &mut Hdf5<'_>, name: &str, form: &mut Option<&'static str>) -> Res<Option<String>> {
    let bytes = match file.ask(|store| store.attribute(name, MAX_BYTES as usize))? {
        None => return Ok(None),
        Some(Attribute::Null) => return bad(format!("the attribute `{name}` is empty")),
        Some(Attribute::Text { list: false, text }) => text,
        Some(Attribute::Text { list: true, text }) => {
            *form = Some("a list of one text");
            text
        }
        Some(Attribute::Bytes(bytes)) => {
            *form = Some("bytes");
            bytes
        }
        Some(Attribute::Other) => return bad(format!("the attribute `{name}` is not one text")),
    };
    utf8(bytes, name).map(Some)
}

fn in_dataset(file: &mut Hdf5<'_>, facts: &Facts, name: &str) -> Res<String> {
    let bytes = match (facts.kind, facts.shape.as_deref()) {
        (ElementKind::Text, Some([] | [1])) => {
            dataset::is_stored(facts, name, u128::from(facts.item), file.bytes)?;
            file.ask(|store| store.text(name, MAX_BYTES as usize))?
        }
        (ElementKind::Number(DType::U8 | DType::I8), _) => {
            let info = dataset::info(facts, name, file.bytes, false)?;
            let mut out = vec![0; info.len.min(MAX_BYTES + 1) as usize];
            file.ask(|store| store.read(name, 0, &mut out))?;
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
