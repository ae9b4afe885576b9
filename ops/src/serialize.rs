//! Element types and single elements in serde's formats.
//!
//! For people ([`Serializer::is_human_readable`]) an element is a truth value, a number, or for complex numbers a pair
//! of numbers; NaN and infinities, which JSON has no numbers for, are the strings `"NaN"`, `"inf"` and `"-inf"`, and a
//! NaN of other bits than the usual ones has them, as in `"NaN(0x7fc00001)"`. In binary formats elements are their
//! bytes, little endian. Either way every element comes back bit for bit.

use std::fmt;

use half::{bf16, f16};
use num_complex::Complex;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::dtype::DType;
use crate::scalar::Scalar;

impl Serialize for DType {
    /// The name.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for DType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DType, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = DType;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a dtype")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<DType, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Name)
    }
}

impl Serialize for Scalar {
    /// `{"float64": 1.5}`; in binary formats the dtype's name, then the element's bytes.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            let mut map = serializer.serialize_map(Some(1))?;
            map.serialize_entry(self.dtype().name(), &Plain(*self))?;
            return map.end();
        }
        (self.dtype(), Bytes(little_endian(self.dtype(), &one(*self)))).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Scalar, D::Error> {
        struct Tagged;
        impl<'de> Visitor<'de> for Tagged {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an element by its dtype, as in {\"float64\": 1.5}")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar, A::Error> {
                let Some((dtype, value)) = map.next_entry::<DType, Loose>()? else {
                    return Err(de::Error::invalid_length(0, &self));
                };
                if map.next_key::<DType>()?.is_some() {
                    return Err(de::Error::invalid_length(2, &self));
                }
                value.element(dtype).map_err(de::Error::custom)
            }
        }
        if deserializer.is_human_readable() {
            return deserializer.deserialize_map(Tagged);
        }
        let (dtype, Bytes(bytes)) = <(DType, Bytes)>::deserialize(deserializer)?;
        if bytes.len() != dtype.size() {
            return Err(de::Error::invalid_length(bytes.len(), &"the bytes of one element"));
        }
        from_little_endian(dtype, bytes).map(|b| Scalar::from_bytes(dtype, &b)).map_err(de::Error::custom)
    }
}

fn one(value: Scalar) -> Vec<u8> {
    let (bytes, n) = value.to_bytes();
    bytes[..n].to_vec()
}

/// Elements' bytes in this machine's order as little-endian ones.
pub fn little_endian(dtype: DType, bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    if cfg!(target_endian = "big") {
        out.chunks_exact_mut(dtype.real().size()).for_each(<[u8]>::reverse);
    }
    out
}

/// The way back.
///
/// # Errors
/// If these are no whole number of elements, or truth values other than 0 and 1 are among them.
pub fn from_little_endian(dtype: DType, mut bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    if !bytes.len().is_multiple_of(dtype.size()) {
        return Err(format!("{} bytes are no whole number of elements of {dtype}", bytes.len()));
    }
    if let Some(at) = bytes.iter().position(|&b| dtype == DType::Bool && b > 1) {
        return Err(format!("truth value {at} is {}, not 0 or 1", bytes[at]));
    }
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(dtype.real().size()).for_each(<[u8]>::reverse);
    }
    Ok(bytes)
}

/// Bytes, as binary formats have them.
#[derive(Debug, Default)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Bytes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
            fn visit_byte_buf<E: de::Error>(self, bytes: Vec<u8>) -> Result<Bytes, E> {
                Ok(Bytes(bytes))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Bytes, A::Error> {
                let mut out = Vec::new(); // grows with what is there, whatever length is declared
                while let Some(byte) = seq.next_element()? {
                    out.push(byte);
                }
                Ok(Bytes(out))
            }
        }
        deserializer.deserialize_byte_buf(Visit)
    }
}

/// One element without its dtype, for people.
#[derive(Clone, Copy, Debug)]
pub struct Plain(pub Scalar);

impl Serialize for Plain {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Scalar::Bool(v) => s.serialize_bool(v),
            Scalar::I8(v) => s.serialize_i8(v),
            Scalar::I16(v) => s.serialize_i16(v),
            Scalar::I32(v) => s.serialize_i32(v),
            Scalar::I64(v) => s.serialize_i64(v),
            Scalar::U8(v) => s.serialize_u8(v),
            Scalar::U16(v) => s.serialize_u16(v),
            Scalar::U32(v) => s.serialize_u32(v),
            Scalar::U64(v) => s.serialize_u64(v),
            Scalar::F16(_) | Scalar::BF16(_) | Scalar::F32(_) | Scalar::F64(_) => float(self.0, s),
            Scalar::Complex64(v) => pair([Scalar::F32(v.re), Scalar::F32(v.im)], s),
            Scalar::Complex128(v) => pair([Scalar::F64(v.re), Scalar::F64(v.im)], s),
        }
    }
}

fn pair<S: Serializer>(parts: [Scalar; 2], s: S) -> Result<S::Ok, S::Error> {
    parts.map(Plain).serialize(s)
}

/// Value and bits of a float, and the bits of the usual NaN of its type.
fn parts(v: Scalar) -> Option<(f64, u64, u64)> {
    Some(match v {
        Scalar::F16(v) => (v.to_f64(), v.to_bits().into(), f16::NAN.to_bits().into()),
        Scalar::BF16(v) => (v.to_f64(), v.to_bits().into(), bf16::NAN.to_bits().into()),
        Scalar::F32(v) => (v.into(), v.to_bits().into(), f32::NAN.to_bits().into()),
        Scalar::F64(v) => (v, v.to_bits(), f64::NAN.to_bits()),
        _ => return None,
    })
}

fn float<S: Serializer>(v: Scalar, s: S) -> Result<S::Ok, S::Error> {
    let Some((value, bits, usual)) = parts(v) else { return s.serialize_unit() };
    if value.is_nan() {
        return if bits == usual { s.serialize_str("NaN") } else { s.collect_str(&format_args!("NaN({bits:#x})")) };
    }
    if value.is_infinite() {
        return s.serialize_str(if value > 0.0 { "inf" } else { "-inf" });
    }
    // The shortest digits of the shorter type, where they are read back as the same number through a double.
    let short = value as f32;
    let back = short.to_string().parse::<f64>().unwrap_or(f64::NAN) as f32;
    match v {
        Scalar::F64(_) => s.serialize_f64(value),
        _ if back.to_bits() == short.to_bits() => s.serialize_f32(short),
        _ => s.serialize_f64(value),
    }
}

/// Elements of a run of bytes, for people.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'a> {
    /// Their dtype.
    pub dtype: DType,
    /// In this machine's byte order, of any alignment.
    pub bytes: &'a [u8],
}

impl Serialize for Elements<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let size = self.dtype.size();
        let mut seq = serializer.serialize_seq(Some(self.bytes.len() / size))?;
        for element in self.bytes.chunks_exact(size) {
            seq.serialize_element(&Plain(Scalar::from_bytes(self.dtype, element)))?;
        }
        seq.end()
    }
}

/// An element as it was read, before its dtype is known.
#[derive(Clone, Debug, PartialEq)]
pub enum Loose {
    /// A truth value.
    Bool(bool),
    /// An integer of 0 or more.
    Unsigned(u64),
    /// An integer below 0.
    Signed(i64),
    /// Any other number.
    Float(f64),
    /// What is no number: NaN, an infinity.
    Text(Box<str>),
    /// Real and imaginary part.
    Pair(Box<[Loose; 2]>),
}

impl Loose {
    /// The element of this dtype.
    ///
    /// # Errors
    /// If the dtype does not hold it: exactly for bool and integers, without overflow for floats.
    pub fn element(&self, dtype: DType) -> Result<Scalar, String> {
        let fits = |v: Scalar| v.fit(dtype).map_err(|e| e.to_string());
        match self {
            Loose::Bool(v) if dtype == DType::Bool => Ok(Scalar::Bool(*v)),
            Loose::Pair(parts) if dtype.is_complex() => {
                let [re, im] = [parts[0].element(dtype.real())?, parts[1].element(dtype.real())?];
                match (re, im) {
                    (Scalar::F32(re), Scalar::F32(im)) => Ok(Scalar::Complex64(Complex::new(re, im))),
                    (Scalar::F64(re), Scalar::F64(im)) => Ok(Scalar::Complex128(Complex::new(re, im))),
                    _ => Err(format!("{self:?} is no element of {dtype}")),
                }
            }
            Loose::Text(text) if dtype.is_float() => special(text, dtype),
            _ if dtype.is_complex() => Err(format!("an element of {dtype} is a pair [re, im], not {self:?}")),
            Loose::Unsigned(v) => fits(Scalar::U64(*v)),
            Loose::Signed(v) => fits(Scalar::I64(*v)),
            Loose::Float(v) => fits(Scalar::F64(*v)),
            _ => Err(format!("{self:?} is no element of {dtype}")),
        }
    }
}

fn special(text: &str, dtype: DType) -> Result<Scalar, String> {
    let value = match text {
        "NaN" => f64::NAN,
        "inf" => f64::INFINITY,
        "-inf" => f64::NEG_INFINITY,
        _ => {
            let bits = text.strip_prefix("NaN(0x").and_then(|t| t.strip_suffix(')'));
            let bits = bits.and_then(|b| u64::from_str_radix(b, 16).ok());
            let size = dtype.size();
            let fits = bits.filter(|&b| size == 8 || b >> (8 * size) == 0);
            let found = fits.map(|b| if cfg!(target_endian = "big") { b << (64 - 8 * size) } else { b }.to_ne_bytes());
            let found = found.map(|bytes| Scalar::from_bytes(dtype, &bytes)).filter(|v| v.is_nan());
            return found.ok_or_else(|| format!("{text:?} is no {dtype}: strings are NaN, inf, -inf and NaN(0x…)"));
        }
    };
    Ok(match dtype {
        DType::F16 => Scalar::F16(if value.is_nan() { f16::NAN } else { f16::from_f64(value) }),
        DType::BF16 => Scalar::BF16(if value.is_nan() { bf16::NAN } else { bf16::from_f64(value) }),
        DType::F32 => Scalar::F32(if value.is_nan() { f32::NAN } else { value as f32 }),
        _ => Scalar::F64(value),
    })
}

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Loose, D::Error> {
        deserializer.deserialize_any(LooseVisitor { nested: false })
    }
}

struct LooseVisitor {
    nested: bool,
}

impl<'de> de::DeserializeSeed<'de> for LooseVisitor {
    type Value = Loose;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Loose, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for LooseVisitor {
    type Value = Loose;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an element: a truth value, a number, \"NaN\", \"inf\", \"-inf\", or a pair [re, im]")
    }
    fn visit_bool<E>(self, v: bool) -> Result<Loose, E> {
        Ok(Loose::Bool(v))
    }
    fn visit_u64<E>(self, v: u64) -> Result<Loose, E> {
        Ok(Loose::Unsigned(v))
    }
    fn visit_i64<E>(self, v: i64) -> Result<Loose, E> {
        Ok(u64::try_from(v).map_or(Loose::Signed(v), Loose::Unsigned))
    }
    fn visit_f64<E>(self, v: f64) -> Result<Loose, E> {
        Ok(Loose::Float(v))
    }
    fn visit_str<E: de::Error>(self, v: &str) -> Result<Loose, E> {
        if v.len() > 32 {
            Err(E::invalid_value(Unexpected::Str("a long string"), &self))
        } else {
            Ok(Loose::Text(v.into()))
        }
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Loose, A::Error> {
        if self.nested {
            return Err(de::Error::invalid_type(Unexpected::Seq, &self));
        }
        let mut part = || seq.next_element_seed(LooseVisitor { nested: true });
        match (part()?, part()?, part()?) {
            (Some(re), Some(im), None) => Ok(Loose::Pair(Box::new([re, im]))),
            _ => Err(de::Error::custom("a complex number is a pair [re, im]")),
        }
    }
}

/// Elements as they were read: of a dtype once it is known.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Bytes in this machine's order, and the number of elements.
    Known(DType, Vec<u8>),
    /// Of a dtype still to be said.
    Loose(Vec<Loose>),
}

impl Column {
    /// The elements' bytes.
    ///
    /// # Errors
    /// If the dtype does not hold one of them.
    pub fn bytes(self, dtype: DType) -> Result<Vec<u8>, String> {
        match self {
            Column::Known(known, bytes) if known == dtype => Ok(bytes),
            Column::Known(known, _) => Err(format!("elements of {known}, not of {dtype}")),
            Column::Loose(elements) => {
                let mut out = Vec::with_capacity(elements.len().saturating_mul(dtype.size()));
                for (i, e) in elements.iter().enumerate() {
                    let (bytes, n) = e.element(dtype).map_err(|why| format!("element {i}: {why}"))?.to_bytes();
                    out.extend_from_slice(&bytes[..n]);
                }
                Ok(out)
            }
        }
    }
}

/// Reads a list of elements, of a dtype if it is known yet.
#[derive(Clone, Copy, Debug)]
pub struct ColumnSeed(pub Option<DType>);

impl<'de> de::DeserializeSeed<'de> for ColumnSeed {
    type Value = Column;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Column, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for ColumnSeed {
    type Value = Column;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of elements")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Column, A::Error> {
        let Some(dtype) = self.0 else {
            let mut out = Vec::new();
            while let Some(element) = seq.next_element()? {
                out.push(element);
            }
            return Ok(Column::Loose(out));
        };
        let mut out = Vec::new();
        while let Some(element) = seq.next_element::<Loose>()? {
            let at = out.len() / dtype.size();
            let value = element.element(dtype);
            let (bytes, n) = value.map_err(|why| de::Error::custom(format_args!("element {at}: {why}")))?.to_bytes();
            out.extend_from_slice(&bytes[..n]);
        }
        Ok(Column::Known(dtype, out))
    }
}
