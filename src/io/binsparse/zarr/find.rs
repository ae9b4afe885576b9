//! The tensors of a store, and those that other libraries saved.

use serde_json::Value;

use super::node::{self, Node};
use super::store::{Store, join, sizes};
use super::{NAME, Zarr};
use crate::io::binsparse::foreign::{self, Foreign};
use crate::io::binsparse::hdf5::MAX_DEPTH;
use crate::io::fault::{Res, bad};
use openwork_ops::DType;

/// The attribute by which AnnData says how a group or an array is to be read.
const ENCODING: &str = "encoding-type";

/// What a node is.
enum Content {
    /// A group with a descriptor: its arrays are parts of it.
    Described,
    /// A matrix of AnnData: what it calls itself, and the axis that its pointers are over.
    Compressed(&'static str, usize),
    /// An array of numbers.
    Array,
    /// A group of others.
    Folder,
    /// Nothing that tensors are made of: text, tables.
    Other,
}

fn kind(node: &Node) -> Content {
    let encoding = node.attributes.get(ENCODING).and_then(Value::as_str);
    match &node.array {
        // A scalar of AnnData is no array.
        Some(said) => match encoding {
            None | Some("array") if said.is_numeric() => Content::Array,
            _ => Content::Other,
        },
        None if node.attributes.contains_key(NAME) => Content::Described,
        None => match encoding {
            Some("csr_matrix") => Content::Compressed("AnnData csr_matrix", 0),
            Some("csc_matrix") => Content::Compressed("AnnData csc_matrix", 1),
            None | Some("anndata" | "dict" | "raw") => Content::Folder,
            Some(_) => Content::Other,
        },
    }
}

/// Whether the node of that name is a tensor.
pub(super) fn is_tensor(store: &mut Store<'_>, path: &str) -> Res<bool> {
    let node = node::read(store, path)?;
    Ok(node.is_some_and(|node| matches!(kind(&node), Content::Described | Content::Compressed(..) | Content::Array)))
}

/// All tensors by name.
pub(super) fn tensors(store: &mut Store<'_>) -> Res<Vec<String>> {
    let mut out = Vec::new();
    look_into(store, "", 0, false, &mut out)?;
    Ok(out)
}

fn look_into(store: &mut Store<'_>, path: &str, depth: usize, is_part: bool, out: &mut Vec<String>) -> Res<()> {
    let Some(node) = node::read(store, path)? else { return Ok(()) };
    let kind = kind(&node);
    match kind {
        Content::Array if is_part => return Ok(()),
        Content::Array | Content::Compressed(..) => {
            out.push(path.to_owned());
            return Ok(());
        }
        Content::Other => return Ok(()),
        Content::Described => out.push(path.to_owned()),
        Content::Folder => {}
    }
    if depth == MAX_DEPTH {
        return bad(format_args!("groups lie deeper than {MAX_DEPTH} in one another"));
    }
    for name in store.folders(path)? {
        look_into(store, &join(path, &name), depth + 1, matches!(kind, Content::Described), out)?;
    }
    Ok(())
}

/// The arrays of another library, under a descriptor made for them.
pub(super) fn foreign(zarr: &mut Zarr<'_>, node: &Node) -> Res<Foreign> {
    match kind(node) {
        Content::Array => {
            let Some(found) = zarr.array("")? else { return bad("the array is gone") };
            let array = &found.array;
            let mut plain = foreign::plain("", &array.shape, false, array.dtype)?;
            let is_of_anndata = node.attributes.contains_key(ENCODING);
            plain.kind = if is_of_anndata { "AnnData array" } else { "Zarr array" }.to_owned();
            Ok(plain)
        }
        Content::Compressed(kind, axis) => {
            let mut typed = |name: &str| -> Res<(DType, u64)> {
                let Some(found) = zarr.array(name)? else { return bad(format_args!("the array `{name}` is missing")) };
                Ok((found.array.dtype, found.array.len()?))
            };
            let ((pointers, _), (indices, _), (values, nse)) = (typed("indptr")?, typed("indices")?, typed("data")?);
            let Some(shape) = node.attributes.get("shape").and_then(sizes) else {
                return bad("the attribute `shape` is not a list of sizes");
            };
            let shape = &shape[..];
            let matrix = foreign::Compressed { axis, shape, block: None, pointers, indices, values, nse, fill: None };
            foreign::compressed(kind, &matrix)
        }
        Content::Described | Content::Folder | Content::Other => {
            bad("the group has no attribute `binsparse` with a descriptor, and is no sparse matrix of AnnData")
        }
    }
}
