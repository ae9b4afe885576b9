//! The filter scaleoffset: of each chunk the least number, and how far above it each element is, in as few bits as the
//! chunk needs. Floats are first multiplied by a power of ten and rounded.
//!
//! The format: "HDF5 File Format Specification Version 3.0", IV.A.2.l, and libhdf5, `H5Zscaleoffset.c`, for what the
//! specification does not tell.

use super::super::store::ElementKind;
use super::types::Type;
use openwork_ops::DType;

/// Bytes in front of the elements: bits per element, the size of the least number, that number with room to spare.
pub(super) const HEAD: usize = 21;
/// A chunk has one byte more than its bits need, which no element is in.
pub(super) const MORE: usize = HEAD + 1;
/// Room for the least number.
const ROOM: usize = 16;

/// What the filter was told when the dataset was made.
struct Told {
    dtype: DType,
    /// Whether the most significant byte of an element comes first.
    is_big: bool,
    /// The power of ten that floats were multiplied by; of integers the bits to pack them in, 0 or less to find them.
    factor: i32,
    /// The bytes of the fill, if there is one.
    fill: Option<u64>,
}

impl Told {
    /// Checks that it fits chunks of `n` elements of a type.
    fn of(values: &[u32], ty: &Type, n: u64) -> Result<Told, String> {
        let told = |i: usize| match values.get(i) {
            Some(&value) => Ok(value),
            None => Err(format!("scaleoffset is told {} numbers, and needs number {i}", values.len())),
        };
        let ElementKind::Number(dtype) = ty.kind else { return Err("scaleoffset packs nothing but numbers".into()) };
        let (is_float, is_signed) = match dtype {
            DType::F32 | DType::F64 => (true, false),
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => (false, true),
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => (false, false),
            other => return Err(format!("scaleoffset does not pack {other}")),
        };
        let is_big = dtype.size() > 1 && (ty.swapped > 1) == cfg!(target_endian = "little");
        let (kind, factor, elements) = (told(0)?, told(1)?.cast_signed(), told(2)?);
        let (class, size, sign, order) = (told(3)?, told(4)?, told(5)?, told(6)?);
        // A float has no sign to tell, a byte no order.
        let is_other = (class, u64::from(size)) != (u32::from(is_float), ty.size)
            || !is_float && sign != u32::from(is_signed)
            || size > 1 && order != u32::from(is_big);
        if is_other {
            return Err(format!(
                "scaleoffset is told elements of class {class}, {size} bytes, sign {sign} and order {order}, not {dtype}"
            ));
        }
        if u64::from(elements) != n {
            return Err(format!("scaleoffset is told a chunk of {elements} elements, it has {n}"));
        }
        let is_known = if is_float { kind == 0 } else { kind == 2 && i64::from(factor) <= 8 * i64::from(size) };
        if !is_known {
            return Err(format!("scaleoffset has no way {kind} with factor {factor} to pack {dtype}"));
        }
        let fill = match told(7)? {
            0 => None,
            1 => Some(u64::from(if size > 4 { told(9)? } else { 0 }) << 32 | u64::from(told(8)?)),
            other => return Err(format!("scaleoffset is told {other}, which does not say whether there is a fill")),
        };
        Ok(Told { dtype, is_big, factor, fill })
    }

    /// Whether elements are as they were, for they may take all of their bits.
    fn is_idle(&self) -> bool {
        !self.dtype.is_float() && i64::from(self.factor) == 8 * self.dtype.size() as i64
    }
}

/// How the elements of a chunk are packed.
struct Packing {
    /// Bits that an element takes.
    bits: u32,
    /// Which number means the fill, and the bytes of that.
    fill: Option<(u64, u64)>,
    is_big: bool,
}

/// Undoes the filter for a chunk of elements of a type that has `whole` bytes, by what the filter was told.
pub(super) fn undo(values: &[u32], ty: &Type, packed: Vec<u8>, whole: u64) -> Result<Vec<u8>, String> {
    let n = whole / ty.size;
    let told = Told::of(values, ty, n)?;
    if told.is_idle() {
        return Ok(packed);
    }
    let Told { dtype, is_big, factor, fill } = told;
    let Some((head, body)) = packed.split_at_checked(HEAD) else {
        return Err(format!("the packed bytes (scaleoffset) are cut short: {} of a head of {HEAD}", packed.len()));
    };
    let (bits, size, most) = (number(head, 4), usize::from(head[4]), 8 * dtype.size() as u64);
    if bits > most || size > ROOM {
        return Err(format!("scaleoffset packed {dtype} in {bits} bits, the least of them in {size} bytes"));
    }
    // There are less than 2^32 elements, of 64 bits at most.
    let needed = (n * bits).div_ceil(8);
    if (body.len() as u64) < needed {
        return Err(format!("the packed bytes (scaleoffset) are cut short: {} of {needed}", body.len()));
    }
    if bits == most {
        // As they were, the least significant byte first: whoever packed them does not say, and most have that order.
        let mut out = body.get(..whole as usize).unwrap_or_default().to_vec();
        if is_big {
            out.chunks_exact_mut(dtype.size()).for_each(<[u8]>::reverse);
        }
        return Ok(out);
    }
    let least = number(head.get(5..).unwrap_or_default(), size.min(8));
    let packing = Packing { bits: bits as u32, fill: fill.map(|fill| ((1 << bits) - 1, fill)), is_big };
    let (n, added) = (n as usize, |packed: u64| packed.wrapping_add(least));
    Ok(match dtype {
        DType::F32 => {
            let (by, least) = (power::<f32>(factor)?, f32::from_bits(least as u32));
            unpacked::<4>(packed, n, &packing, |packed| (packed as f32 / by + least).to_bits().into())
        }
        DType::F64 => {
            let (by, least) = (power::<f64>(factor)?, f64::from_bits(least));
            unpacked::<8>(packed, n, &packing, |packed| (packed as f64 / by + least).to_bits())
        }
        DType::I8 | DType::U8 => unpacked::<1>(packed, n, &packing, added),
        DType::I16 | DType::U16 => unpacked::<2>(packed, n, &packing, added),
        DType::I32 | DType::U32 => unpacked::<4>(packed, n, &packing, added),
        _ => unpacked::<8>(packed, n, &packing, added),
    })
}

/// The first bytes, up to eight, as a number whose least significant byte comes first.
fn number(bytes: &[u8], size: usize) -> u64 {
    bytes.iter().take(size).rev().fold(0, |n, &byte| n << 8 | u64::from(byte))
}

/// The power of ten of an exponent, rounded once; infinite or zero where it is far too large or small.
fn power<T: std::str::FromStr>(exponent: i32) -> Result<T, String> {
    format!("1e{exponent}").parse().map_err(|_| format!("scaleoffset is told the power of ten {exponent}"))
}

/// Elements of `SIZE` bytes, the number that is packed of each made into its bits by `element`. Whoever calls knows that
/// all are there.
fn unpacked<const SIZE: usize>(
    mut packed: Vec<u8>,
    n: usize,
    packing: &Packing,
    element: impl Fn(u64) -> u64,
) -> Vec<u8> {
    let bits = u64::from(packing.bits);
    // So that nine bytes can be looked at from wherever an element begins.
    packed.resize(packed.len() + 9, 0);
    let body = packed.get(HEAD..).unwrap_or_default();
    let mut out = Vec::with_capacity(n * SIZE);
    for i in 0..n as u64 {
        let (at, skip) = ((i * bits / 8) as usize, i * bits % 8);
        let mut eight = [0; 8];
        let mut number = 0;
        if let Some((&ninth, first)) = body.get(at..at + 9).and_then(<[u8]>::split_last) {
            eight.copy_from_slice(first);
            number = u64::from_be_bytes(eight) << skip | (u64::from(ninth) << skip) >> 8;
        }
        // No bits at all are the number 0.
        number = number.checked_shr(64 - packing.bits).unwrap_or(0);
        let value = match packing.fill {
            Some((sign, fill)) if sign == number => fill,
            _ => element(number),
        };
        let bytes = value.to_le_bytes();
        if packing.is_big {
            out.extend(bytes.iter().take(SIZE).rev());
        } else {
            out.extend_from_slice(bytes.get(..SIZE).unwrap_or_default());
        }
    }
    out
}
