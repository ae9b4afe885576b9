//! Attributes of a group that stand in its header.

use super::super::store::{Attribute, ElementKind};
use super::bytes::{Block, Budget, Disk};
use super::dense;
use super::header::{self, ObjectHeader};
use super::types::{self, Text, Type};
use crate::base::mapped::Mapped;
use crate::io::fault::{Res, bad};
use openwork_ops::{DType, Scalar};

/// The parts of an attribute.
struct AttributeParts<'a> {
    name: String,
    ty: Block<'a>,
    shape: Block<'a>,
    /// Whether type and shape are those of another object.
    shared: (bool, bool),
    data: &'a [u8],
}

fn parts<'a>(disk: &Disk<'_>, body: &'a [u8]) -> Res<AttributeParts<'a>> {
    let mut block = disk.block(body, "an attribute");
    let (version, flags) = (block.u8()?, block.u8()?);
    if !(1..=3).contains(&version) {
        return bad(format_args!("an attribute has version {version}"));
    }
    let sizes = (block.u16()?, block.u16()?, block.u16()?);
    block.take(if version == 3 { 1 } else { 0 })?; // the character set of the name
    let mut next = |size: u16, what| -> Res<Block<'a>> {
        let part = block.part(usize::from(size), what)?;
        if version == 1 {
            block.align();
        }
        Ok(part)
    };
    let name = next(sizes.0, "the name of an attribute")?.name()?;
    let ty = next(sizes.1, "the type of an attribute")?;
    let shape = next(sizes.2, "the shape of an attribute")?;
    let shared = if version == 1 { (false, false) } else { (flags & 1 != 0, flags & 2 != 0) };
    Ok(AttributeParts { name: String::from_utf8_lossy(name).into_owned(), ty, shape, shared, data: block.rest() })
}

/// The bodies of all attributes.
fn bodies(disk: &mut Disk<'_>, header: &ObjectHeader) -> Res<Vec<Vec<u8>>> {
    let mut out: Vec<Vec<u8>> = Vec::new();
    // Those that objects share are larger than what leads to them.
    let mut budget = Budget::of(disk);
    for message in header.messages.iter().filter(|m| m.kind == header::ATTRIBUTE) {
        let body = header::resolved(disk, message)?;
        budget.spend(body.len() as u64, "the list of attributes")?;
        out.push(body.into_owned());
    }
    if let Some(body) = header.find(header::ATTRIBUTE_INFO)? {
        let mut block = disk.block(body, "what is said about attributes");
        let (version, flags) = (block.u8()?, block.u8()?);
        if version != 0 {
            return bad(format_args!("what is said about attributes has version {version}"));
        }
        block.take(if flags & 1 == 0 { 0 } else { 2 })?;
        if let (Some(heap), tree) = (block.address()?, block.address()?) {
            out.append(&mut dense::attributes(disk, heap, tree)?);
        }
    }
    Ok(out)
}

pub(super) fn names(disk: &mut Disk<'_>, header: &ObjectHeader) -> Res<Vec<String>> {
    bodies(disk, header)?.try_mapped(|body| Ok(parts(disk, body)?.name))
}

/// The attribute of a name, read.
pub(super) fn find(disk: &mut Disk<'_>, header: &ObjectHeader, name: &str, most: usize) -> Res<Option<Attribute>> {
    for body in bodies(disk, header)? {
        let parts = parts(disk, &body)?;
        if parts.name == name {
            return read(disk, parts, most).map(Some);
        }
    }
    Ok(None)
}

fn read(disk: &mut Disk<'_>, mut parts: AttributeParts<'_>, most: usize) -> Res<Attribute> {
    let ty: Type = if parts.shared.0 {
        let body = header::shared(disk, &mut parts.ty, header::TYPE)?;
        types::of(&mut disk.block(&body, "an element type"))?
    } else {
        types::of(&mut parts.ty)?
    };
    let shape = if parts.shared.1 {
        let body = header::shared(disk, &mut parts.shape, header::SPACE)?;
        types::shape(&mut disk.block(&body, "a shape"))?
    } else {
        types::shape(&mut parts.shape)?
    };
    let Some(shape) = shape else { return Ok(Attribute::Null) };
    let is_one = matches!(shape[..], [] | [1]);
    match (ty.kind, &shape[..]) {
        (ElementKind::Text, _) if is_one => {
            let Some(element) = usize::try_from(ty.size).ok().and_then(|n| parts.data.get(..n)) else {
                return bad(format_args!("the attribute `{}` is cut short", parts.name));
            };
            let is_long = element.len() > most && matches!(ty.text, Text::Padded(_));
            let text = if is_long { None } else { super::text(disk, ty.text, element.to_vec(), most)? };
            Ok(Attribute::Text { list: !shape.is_empty(), text })
        }
        (ElementKind::Number(DType::U8 | DType::I8), &[n]) => {
            let Some(bytes) = usize::try_from(n).ok().and_then(|n| parts.data.get(..n)) else {
                return bad(format_args!("the attribute `{}` is cut short", parts.name));
            };
            Ok(Attribute::Bytes((bytes.len() <= most).then(|| bytes.to_vec())))
        }
        (ElementKind::Number(dtype), &[n @ 0..=64]) if dtype.is_int() => {
            let (size, n) = (dtype.size(), n as usize);
            let Some(bytes) = parts.data.get(..n * size) else {
                return bad(format_args!("the attribute `{}` is cut short", parts.name));
            };
            let mut bytes = bytes.to_vec();
            if ty.swapped > 1 {
                bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
            }
            let element = |at: usize| Scalar::from_bytes(dtype, bytes.get(at * size..(at + 1) * size)?).as_integer();
            let all: Option<Vec<u64>> = (0..n).map(|at| element(at).and_then(|i| u64::try_from(i).ok())).collect();
            Ok(all.map_or(Attribute::Other, Attribute::Integers))
        }
        _ => Ok(Attribute::Other),
    }
}
