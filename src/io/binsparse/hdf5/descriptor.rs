//! Where HDF5 files keep descriptors.

use super::dataset::Axes;
use super::sscdf::{self, Bitmap, Given};
use super::store::{Attribute, ElementKind, Facts};
use super::{Hdf5, dataset};
use crate::base::mapped::Mapped;
use crate::base::named::Named;
use crate::io::binsparse::arrays::ArrayInfo;
use crate::io::binsparse::json::MAX_BYTES;
use crate::io::binsparse::{Mode, foreign};
use crate::io::fault::{Res, bad};
use crate::io::progress::Tell;
use crate::io::warning::Warning;
use openwork_ops::{DType, Scalar};

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
    /// How many axes arrays may have.
    pub(super) axes: Axes,
    /// Arrays that the file implies.
    pub(super) given: Named<Given>,
    /// Whether values that are stored as signed bytes are truth values.
    pub(super) truths: bool,
    /// What tells index arrays and values, once they are asked for.
    pub(super) bitmap: Option<Bitmap>,
    /// What the arrays call themselves if another library saved them in a way of its own.
    pub(super) foreign: Option<String>,
}

/// The attribute by which AnnData says how a group is to be read.
const ENCODING: &str = "encoding-type";

/// Whether the group has something that looks like a descriptor.
pub(super) fn is_there(file: &mut Hdf5<'_>) -> Res<bool> {
    let attributes = file.ask(|store| store.attributes())?;
    let has = |name: &str| attributes.iter().any(|n| n == name);
    if has(NAME) || has(METADATA) || (has(FORMAT) && has("datatype")) {
        return Ok(true);
    }
    if file.ask(|store| store.link(NAME))?.is_some() || file.ask(|store| store.link(METADATA))?.is_some() {
        return Ok(true);
    }
    Ok(compressed_axis(file)?.is_some())
}

/// A matrix of AnnData or of 10x Genomics: what it calls itself, and the axis that its pointers are over.
fn compressed_axis(file: &mut Hdf5<'_>) -> Res<Option<(&'static str, usize)>> {
    let attributes = file.ask(|store| store.attributes())?;
    if attributes.iter().any(|name| name == ENCODING) {
        return Ok(match attribute(file, ENCODING, &mut None)?.as_deref() {
            Some("csr_matrix") => Some(("AnnData csr_matrix", 0)),
            Some("csc_matrix") => Some(("AnnData csc_matrix", 1)),
            _ => None,
        });
    }
    for name in ["data", "indices", "indptr", "shape", "barcodes"] {
        if file.ask(|store| store.link(name))?.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(("10x Genomics", 1)))
}

/// Whether datasets of the group are arrays by themselves: it is not one of AnnData's tables or matrices.
pub(super) fn is_folder(file: &mut Hdf5<'_>) -> Res<bool> {
    let attributes = file.ask(|store| store.attributes())?;
    if !attributes.iter().any(|name| name == ENCODING) {
        return Ok(true);
    }
    Ok(matches!(attribute(file, ENCODING, &mut None)?.as_deref(), Some("anndata" | "dict" | "raw")))
}

/// Whether a dataset of the group is an array of numbers of AnnData.
pub(super) fn is_array(file: &mut Hdf5<'_>, name: &str) -> bool {
    let said = file.ask(|store| store.attribute_of(name, ENCODING, MAX_BYTES as usize));
    if !matches!(said, Ok(Some(Attribute::Text { text: Some(text), .. })) if text == b"array") {
        return false;
    }
    let facts = file.ask(|store| store.facts(name));
    facts.is_ok_and(|facts| matches!(facts.kind, ElementKind::Number(_) | ElementKind::Truth) && facts.shape.is_some())
}

/// A dataset as a tensor by itself.
fn plain(file: &mut Hdf5<'_>, name: &str) -> Res<Located> {
    let Some(facts) = dataset::open(file, name)? else { return bad(format_args!("the dataset `{name}` is missing")) };
    let info = dataset::info(&facts, name, file.bytes, Axes::Any)?;
    let found = foreign::plain(name, facts.shape.as_deref().unwrap_or_default(), false, info.dtype)?;
    let kind = if is_array(file, name) { "AnnData array" } else { "HDF5 array" };
    let mut aliases = Named::new();
    aliases.insert("values", name.to_owned());
    Ok(Located { text: found.text, aliases, axes: Axes::Any, foreign: Some(kind.to_owned()), ..Located::default() })
}

/// The arrays of such a matrix, under a descriptor made for them.
fn compressed(file: &mut Hdf5<'_>) -> Res<Option<Located>> {
    let Some((kind, axis)) = compressed_axis(file)? else { return Ok(None) };
    let mut typed = |name: &str| -> Res<ArrayInfo> {
        let Some(facts) = dataset::open(file, name)? else { return bad(format_args!("the array `{name}` is missing")) };
        dataset::info(&facts, name, file.bytes, Axes::One)
    };
    let (pointers, indices, values) = (typed("indptr")?, typed("indices")?, typed("data")?);
    let shape = match file.ask(|store| store.attribute("shape", MAX_BYTES as usize))? {
        Some(Attribute::Integers(shape)) => shape,
        Some(_) => return bad("the attribute `shape` is not a list of sizes"),
        None => sizes(file)?,
    };
    let found = foreign::compressed(
        kind,
        &foreign::Compressed {
            axis,
            shape: &shape,
            block: None,
            pointers: pointers.dtype,
            indices: indices.dtype,
            values: values.dtype,
            nse: values.len,
            fill: None,
        },
    )?;
    let mut aliases = Named::new();
    for (name, place) in found.arrays.into_iter() {
        aliases.insert(name, place.stored);
    }
    Ok(Some(Located { text: found.text, aliases, foreign: Some(found.kind), ..Located::default() }))
}

/// The sizes of a dataset `shape`.
fn sizes(file: &mut Hdf5<'_>) -> Res<Vec<u64>> {
    let Some(facts) = dataset::open(file, "shape")? else { return bad("nothing tells the shape") };
    let info = dataset::info(&facts, "shape", file.bytes, Axes::One)?;
    let size = info.dtype.size();
    if !info.dtype.is_int() || info.len > 64 {
        return bad("the array `shape` is not a list of sizes");
    }
    let mut bytes = vec![0; info.len as usize * size];
    file.ask(|store| store.read("shape", 0, &mut bytes, &Tell::nobody()))?;
    (0..info.len as usize).try_mapped(|at| {
        let element = bytes.get(at * size..(at + 1) * size);
        let element = element.and_then(|bytes| Scalar::from_bytes(info.dtype, bytes).as_integer());
        let element = element.and_then(|size| u64::try_from(size).ok());
        element.map_or_else(|| bad("the array `shape` holds a negative number"), Ok)
    })
}

/// The text of the descriptor of the group.
pub(super) fn find(file: &mut Hdf5<'_>, mode: Mode, warnings: &mut Vec<Warning>) -> Res<Located> {
    if let Some(name) = file.plain.clone() {
        return plain(file, &name);
    }
    let alone = |text| Ok(Located { text, ..Located::default() });
    let mut form = None;
    if let Some(text) = attribute(file, NAME, &mut form)? {
        allow(form, mode, warnings)?;
        return alone(text);
    }
    for name in [NAME, METADATA] {
        if mode == Mode::Lenient
            && let Some(facts) = dataset::open(file, name)?
        {
            let text = in_dataset(file, &facts, name)?;
            let form = if name == NAME { "a dataset" } else { "a dataset of bytes" };
            allow(Some(form), mode, warnings)?;
            return alone(text);
        }
    }
    if mode == Mode::Lenient
        && let Some(text) = attribute(file, METADATA, &mut form)?
    {
        allow(Some("an attribute `metadata` (sscdf)"), mode, warnings)?;
        return sscdf::newer(&text);
    }
    let attributes = file.ask(|store| store.attributes())?;
    if [FORMAT, "datatype"].iter().all(|&name| attributes.iter().any(|n| n == name)) {
        return sscdf::older(file);
    }
    if let Some(found) = compressed(file)? {
        return Ok(found);
    }
    bad("the group has no attribute `binsparse` with a descriptor")
}

fn allow(form: Option<&'static str>, mode: Mode, warnings: &mut Vec<Warning>) -> Res<()> {
    if let Some(form) = form {
        if mode != Mode::Lenient {
            return bad(format_args!("the descriptor is stored as {form}"));
        }
        warnings.push(Warning::DescriptorForm(form));
    }
    Ok(())
}

/// The text of an attribute; `form` says in which unusual form it is.
pub(super) fn attribute(file: &mut Hdf5<'_>, name: &str, form: &mut Option<&'static str>) -> Res<Option<String>> {
    let bytes = match file.ask(|store| store.attribute(name, MAX_BYTES as usize))? {
        None => return Ok(None),
        Some(Attribute::Null) => return bad(format_args!("the attribute `{name}` is empty")),
        Some(Attribute::Text { list: false, text }) => text,
        Some(Attribute::Text { list: true, text }) => {
            *form = Some("a list of one text");
            text
        }
        Some(Attribute::Bytes(bytes)) => {
            *form = Some("bytes");
            bytes
        }
        Some(Attribute::Other | Attribute::Integers(_)) => {
            return bad(format_args!("the attribute `{name}` is not one text"));
        }
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
            let info = dataset::info(facts, name, file.bytes, Axes::One)?;
            let mut out = vec![0; info.len.min(MAX_BYTES + 1) as usize];
            file.ask(|store| store.read(name, 0, &mut out, &Tell::nobody()))?;
            (info.len <= MAX_BYTES).then_some(out)
        }
        _ => return bad(format_args!("the dataset `{name}` is not one text")),
    };
    utf8(bytes, name)
}

fn utf8(bytes: Option<Vec<u8>>, name: &str) -> Res<String> {
    let Some(bytes) = bytes else {
        return bad(format_args!("`{name}` has more than {MAX_BYTES} bytes, the most a descriptor may have"));
    };
    String::from_utf8(bytes).or_else(|_| bad(format_args!("`{name}` is not UTF-8")))
}
