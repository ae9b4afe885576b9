//! Element types and shapes.

use super::super::store::{ElementKind, Padding};
use super::bytes::Block;
use crate::base::mapped::Mapped;
use crate::io::fault::{Res, bad};
use openwork_ops::DType;

/// An element type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Type {
    pub(super) kind: ElementKind,
    /// Bytes of an element.
    pub(super) size: u64,
    /// Bytes to turn around at a time; 1 where none are.
    pub(super) swapped: usize,
    pub(super) text: Text,
}

/// How text is stored. Says nothing of other types.
#[derive(Clone, Copy, Debug)]
pub(super) enum Text {
    Variable,
    Padded(Padding),
}

/// Reads an element type. What no number, text or truth value is made of is not looked into.
pub(super) fn of(block: &mut Block<'_>) -> Res<Type> {
    let (class, bits, size) = (block.u8()?, block.u24()?, u64::from(block.u32()?));
    let version = class >> 4;
    if version == 0 || size == 0 {
        return bad(format_args!("an element type has version {version} and {size} bytes"));
    }
    let mut out = Type { kind: ElementKind::Text, size, swapped: 1, text: Text::Variable };
    out.kind = match class & 15 {
        _ if version > 5 => ElementKind::Other("elements of an unknown version"),
        0 => integer(block, bits, size)?.map_or(ElementKind::Other("integers of an unusual form"), ElementKind::Number),
        1 => float(block, bits, size)?.map_or(ElementKind::Other("floats of an unusual form"), ElementKind::Number),
        2 => ElementKind::Other("times"),
        3 => {
            out.text = Text::Padded(match bits & 15 {
                0 => Padding::Terminated,
                1 => Padding::Zeros,
                2 => Padding::Spaces,
                other => return bad(format_args!("a text is padded in the unknown way {other}")),
            });
            ElementKind::Text
        }
        4 if size == 1 => ElementKind::Truth,
        4 => ElementKind::Other("bit fields"),
        5 => ElementKind::Other("opaque bytes"),
        6 => return record(block, bits, version, out),
        7 => ElementKind::Other("references"),
        8 if size == 1 && is_truth(block, bits, version)? => ElementKind::Truth,
        8 => ElementKind::Other("an enumeration"),
        9 if bits & 15 == 1 => match size == 8 + block.widths.address as u64 {
            true => ElementKind::Text,
            false => return bad(format_args!("a text of variable length takes {size} bytes")),
        },
        9 => ElementKind::Other("lists"),
        10 => ElementKind::Other("arrays"),
        11 => return complex(block, bits, out),
        _ => ElementKind::Other("elements of an unknown class"),
    };
    if let ElementKind::Number(dtype) = out.kind {
        out.swapped = swapped(bits, dtype.size());
    }
    Ok(out)
}

/// How many bytes to turn around, for the byte order of a number is its first bit.
fn swapped(bits: u32, size: usize) -> usize {
    if (bits & 1 == 1) == cfg!(target_endian = "big") { 1 } else { size }
}

fn integer(block: &mut Block<'_>, bits: u32, size: u64) -> Res<Option<DType>> {
    let (offset, precision) = (block.u16()?, block.u16()?);
    if offset != 0 || u64::from(precision) != 8 * size {
        return Ok(None);
    }
    Ok(match (size, bits & 8 != 0) {
        (1, true) => Some(DType::I8),
        (2, true) => Some(DType::I16),
        (4, true) => Some(DType::I32),
        (8, true) => Some(DType::I64),
        (1, false) => Some(DType::U8),
        (2, false) => Some(DType::U16),
        (4, false) => Some(DType::U32),
        (8, false) => Some(DType::U64),
        _ => None,
    })
}

/// IEEE 754 binary16, 32 and 64 alone.
fn float(block: &mut Block<'_>, bits: u32, size: u64) -> Res<Option<DType>> {
    let (offset, precision) = (block.u16()?, block.u16()?);
    let fields = (block.u8()?, block.u8()?, block.u8()?, block.u8()?, block.u32()?);
    // Not of the VAX, the first digit of the mantissa implied.
    if offset != 0 || u64::from(precision) != 8 * size || bits & 0x40 != 0 || (bits >> 4) & 3 != 2 {
        return Ok(None);
    }
    Ok(match (size, (bits >> 8) & 0xff, fields) {
        (2, 15, (10, 5, 0, 10, 15)) => Some(DType::F16),
        (4, 31, (23, 8, 0, 23, 127)) => Some(DType::F32),
        (8, 63, (52, 11, 0, 52, 1023)) => Some(DType::F64),
        _ => None,
    })
}

/// The name of a member.
fn name<'a>(block: &mut Block<'a>, version: u8) -> Res<&'a [u8]> {
    let before = block.left();
    let name = block.name()?;
    if version < 3 {
        let used = before - block.left();
        block.take(used.next_multiple_of(8) - used)?;
    }
    Ok(name)
}

/// A record is a complex number if it is two floats named `r` and `i`.
fn record(block: &mut Block<'_>, bits: u32, version: u8, mut out: Type) -> Res<Type> {
    let (dtype, half) = match out.size {
        8 => (DType::Complex64, DType::F32),
        16 => (DType::Complex128, DType::F64),
        _ => (DType::Complex128, DType::Bool), // is none
    };
    out.kind = ElementKind::Other("records");
    if bits & 0xffff != 2 {
        return Ok(out);
    }
    let mut members = [1; 2];
    for (i, turned) in members.iter_mut().enumerate() {
        let name = name(block, version)?;
        // The offset takes as many bytes as the size of the record needs.
        let offset = if version < 3 { u64::from(block.u32()?) } else { u64::from(block.u8()?) };
        block.take(if version == 1 { 28 } else { 0 })?; // axes, of which there are none
        let (class, bits, size) = (block.u8()?, block.u24()?, u64::from(block.u32()?));
        let wanted = [(&b"r"[..], 0), (&b"i"[..], half.size() as u64)][i];
        if (name, offset) != wanted || class & 15 != 1 || float(block, bits, size)? != Some(half) {
            return Ok(out);
        }
        *turned = swapped(bits, half.size());
    }
    if members[0] == members[1] {
        out.kind = ElementKind::Number(dtype);
        out.swapped = members[0];
    }
    Ok(out)
}

/// A complex number as libhdf5 has them since 2.0: of two like parts (bit 0), real and imaginary (the next two bits 0).
fn complex(block: &mut Block<'_>, bits: u32, mut out: Type) -> Res<Type> {
    let (class, half_bits, size) = (block.u8()?, block.u24()?, u64::from(block.u32()?));
    let half = if class & 15 == 1 { float(block, half_bits, size)? } else { None };
    out.kind = match (bits & 7, half) {
        (1, Some(DType::F32)) if out.size == 8 => ElementKind::Number(DType::Complex64),
        (1, Some(DType::F64)) if out.size == 16 => ElementKind::Number(DType::Complex128),
        _ => ElementKind::Other("complex numbers of an unusual form"),
    };
    out.swapped = swapped(half_bits, size as usize);
    Ok(out)
}

/// Whether an enumeration is `FALSE` and `TRUE`.
fn is_truth(block: &mut Block<'_>, bits: u32, version: u8) -> Res<bool> {
    let (class, base, size) = (block.u8()?, block.u24()?, u64::from(block.u32()?));
    if bits & 0xffff != 2 || class & 15 != 0 || integer(block, base, size)?.is_none() {
        return Ok(false);
    }
    let names = (name(block, version)?, name(block, version)?);
    Ok(names == (b"FALSE", b"TRUE") && block.take(2)? == [0, 1])
}

/// The shape of a dataset.
pub(super) struct Space {
    pub(super) shape: Vec<u64>,
    /// How far it can grow; without an end that is the largest number.
    pub(super) most: Vec<u64>,
}

/// Reads a shape; `None` where there are no elements at all, not even a length.
pub(super) fn shape(block: &mut Block<'_>) -> Res<Option<Vec<u64>>> {
    Ok(space(block)?.map(|space| space.shape))
}

/// Reads a shape and how far it can grow.
pub(super) fn space(block: &mut Block<'_>) -> Res<Option<Space>> {
    let (version, axes, flags, kind) = (block.u8()?, block.u8()?, block.u8()?, block.u8()?);
    match version {
        1 => drop(block.take(4)?),
        2 if kind == 2 => return Ok(None),
        2 if kind < 2 && (kind == 1 || axes == 0) => {}
        _ => return bad(format_args!("a shape has version {version}, kind {kind} and {axes} axes")),
    }
    if axes > 32 {
        return bad(format_args!("a shape has {axes} axes"));
    }
    let axes = usize::from(axes);
    let endless = u64::MAX >> (64 - 8 * block.widths.length);
    let shape = (0..axes).try_mapped(|_| block.length())?;
    let mut most = shape.clone();
    if flags & 1 != 0 {
        most = (0..axes).try_mapped(|_| block.length().map(|n| if n == endless { u64::MAX } else { n }))?;
    }
    if shape.iter().zip(&most).any(|(size, most)| size > most) {
        return bad(format_args!("a shape of {shape:?} where {most:?} is the most"));
    }
    Ok(Some(Space { shape, most }))
}
