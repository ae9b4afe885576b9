//! Headers of `.npy` arrays, versions 1 to 3.

use std::io::Read;

use crate::base::mapped::Mapped;
use crate::io::fault::{Res, bad};
use openwork_ops::DType;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Headers of one-dimensional arrays take about 120 bytes.
pub(crate) const MAX_HEADER: usize = 1 << 16;

/// Element type, byte order and shape of an array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NpyHeader {
    /// Type character, as the `f` of `f8`.
    pub(crate) kind: char,
    /// Bytes of an item.
    pub(crate) item: u64,
    pub(crate) big_endian: bool,
    /// Whether the first axis varies fastest.
    pub(crate) fortran: bool,
    pub(crate) shape: Vec<u64>,
    /// Bytes before the data.
    pub(crate) data_at: usize,
}

impl NpyHeader {
    /// What is wrong with elements that tensors do not have.
    pub(crate) fn unfit(&self) -> String {
        let kind = match self.kind {
            'U' | 'S' => "text",
            'f' => "floats",
            'c' => "complex numbers",
            'i' | 'u' => "integers",
            _ => "elements",
        };
        format!("{kind} of {} bytes, which tensors do not have", self.item)
    }

    /// The element type, if it is a number or a truth value.
    pub(crate) fn dtype(&self) -> Option<DType> {
        Some(match (self.kind, self.item) {
            ('b', 1) => DType::Bool,
            ('i', 1) => DType::I8,
            ('i', 2) => DType::I16,
            ('i', 4) => DType::I32,
            ('i', 8) => DType::I64,
            ('u', 1) => DType::U8,
            ('u', 2) => DType::U16,
            ('u', 4) => DType::U32,
            ('u', 8) => DType::U64,
            ('f', 2) => DType::F16,
            ('f', 4) => DType::F32,
            ('f', 8) => DType::F64,
            ('c', 8) => DType::Complex64,
            ('c', 16) => DType::Complex128,
            _ => return None,
        })
    }

    /// Bytes of a number: of a complex one, those of a part.
    pub(crate) fn number(&self) -> u64 {
        if self.kind == 'c' { self.item / 2 } else { self.item }
    }

    /// Puts the bytes of numbers into this machine's order.
    pub(crate) fn ordered(&self, numbers: &mut [u8]) {
        let number = self.number() as usize;
        if self.big_endian != cfg!(target_endian = "big") && number > 1 {
            numbers.chunks_exact_mut(number).for_each(<[u8]>::reverse);
        }
    }
}

/// How many bytes the header takes, from its first twelve.
pub(crate) fn header_len(start: &[u8]) -> Res<usize> {
    let Some(rest) = start.strip_prefix(MAGIC) else { return bad("not an .npy array") };
    let len = match *rest {
        [1, 0, a, b, ..] => 10 + usize::from(u16::from_le_bytes([a, b])),
        [2 | 3, 0, a, b, c, d, ..] => 12usize.saturating_add(u32::from_le_bytes([a, b, c, d]) as usize),
        _ => return bad("an .npy array of unknown version"),
    };
    if len > MAX_HEADER { bad(format_args!("an .npy header of {len} bytes")) } else { Ok(len) }
}

/// What errors call an array; a file of one has no name.
fn called(name: &str) -> String {
    if name.is_empty() { "the array".to_owned() } else { format!("`{name}`") }
}

/// Reads the header of an array that takes so many bytes with it, no more and no fewer.
pub(crate) fn read(source: &mut impl Read, size: u64, name: &str) -> Res<NpyHeader> {
    let mut header = vec![0; 12];
    if size < 12 {
        return bad(format_args!("{} is not an .npy array: it has {size} bytes", called(name)));
    }
    source.read_exact(&mut header)?;
    let len = header_len(&header)?;
    if (len as u64) > size || len < 12 {
        return bad(format_args!("{} is not an .npy array: its header is cut off", called(name)));
    }
    header.resize(len, 0);
    source.read_exact(&mut header[12..])?;
    let header = parse(&header)?;
    let items = header.shape.iter().try_fold(1u64, |n, &s| n.checked_mul(s));
    let bytes = items.and_then(|n| n.checked_mul(header.item)).and_then(|n| n.checked_add(len as u64));
    if bytes != Some(size) {
        let wanted =
            bytes.map_or_else(|| "more bytes than can be counted".to_owned(), |bytes| format!("{bytes} bytes"));
        let NpyHeader { shape, item, .. } = &header;
        return bad(format_args!(
            "{} takes {wanted} for the shape {shape:?} of elements of {item} bytes, and has {size}",
            called(name)
        ));
    }
    Ok(header)
}

/// Parses a whole header.
pub(crate) fn parse(header: &[u8]) -> Res<NpyHeader> {
    let data_at = header_len(header)?;
    let start = if header.get(6) == Some(&1) { 10 } else { 12 };
    let text = header.get(start..data_at).and_then(|t| std::str::from_utf8(t).ok());
    let Some(text) = text else { return bad("an .npy header that is cut off or not text") };
    let Some(fields) = text.trim_end().strip_prefix('{').and_then(|t| t.strip_suffix('}')) else {
        return bad("an .npy header that is no dictionary");
    };
    let (mut descr, mut order, mut shape) = (None, None, None);
    let mut rest = fields.trim_start();
    while !rest.is_empty() {
        let Some((key, after)) = quoted(rest) else { return bad("an .npy header with a key that is no string") };
        let Some(value) = after.trim_start().strip_prefix(':').map(str::trim_start) else {
            return bad("an .npy header with a key without value");
        };
        let (fresh, after) = match key {
            "descr" => {
                let Some((text, after)) = quoted(value) else { return bad("an .npy array of records") };
                (descr.replace(text).is_none(), after)
            }
            "fortran_order" => {
                let found = [("True", true), ("False", false)].into_iter();
                let mut found = found.filter_map(|(word, is)| value.strip_prefix(word).map(|after| (is, after)));
                let Some((is, after)) = found.next() else { return bad("an .npy header with an unknown order") };
                (order.replace(is).is_none(), after)
            }
            "shape" => {
                let parts = value.strip_prefix('(').and_then(|t| t.split_once(')'));
                let Some((inside, after)) = parts else { return bad("an .npy header with an unknown shape") };
                (shape.replace(tuple(inside)?).is_none(), after)
            }
            _ => return bad(format_args!("an .npy header with the key {key:?}")),
        };
        if !fresh {
            return bad(format_args!("an .npy header with the key {key:?} twice"));
        }
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(more) => more.trim_start(),
            None if after.is_empty() => after,
            None => return bad("an .npy header with something between its fields"),
        };
    }
    let (Some(descr), Some(fortran), Some(shape)) = (descr, order, shape) else {
        return bad("an .npy header without descr, fortran_order or shape");
    };
    let mut chars = descr.chars();
    let (big_endian, kind) = match (chars.next(), chars.next()) {
        (Some('<' | '|' | '='), Some(kind)) => (false, kind),
        (Some('>'), Some(kind)) => (true, kind),
        _ => return bad(format_args!("an .npy array of type {descr:?}, which tensors do not have")),
    };
    if kind == 'O' {
        return bad("an .npy array of Python objects, which are not read");
    }
    let item = chars.as_str();
    match item.parse::<u64>() {
        Ok(item) if chars.as_str().bytes().all(|c| c.is_ascii_digit()) => {
            let item = item.saturating_mul(if kind == 'U' { 4 } else { 1 });
            Ok(NpyHeader { kind, item, big_endian, fortran, shape, data_at })
        }
        _ => bad(format_args!("an .npy array of type {descr:?}, which tensors do not have")),
    }
}

/// A string in quotes without escapes, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| ['\'', '"'].contains(c))?;
    let (inside, after) = text[1..].split_once(quote)?;
    (!inside.contains('\\')).then_some((inside, after))
}

fn tuple(inside: &str) -> Res<Vec<u64>> {
    let inside = inside.trim();
    let inside = inside.strip_suffix(',').unwrap_or(inside);
    if inside.trim().is_empty() {
        return Ok(Vec::new());
    }
    let number = |t: &str| t.trim().parse::<u64>().ok().filter(|_| t.trim().bytes().all(|c| c.is_ascii_digit()));
    match inside.split(',').map(number).collect::<Option<Vec<u64>>>() {
        Some(shape) => Ok(shape),
        None => bad(format_args!("an .npy array of shape ({inside})")),
    }
}

/// How this machine orders the bytes of a number.
pub(crate) const ORDER: char = if cfg!(target_endian = "big") { '>' } else { '<' };

/// The type of elements of this dtype; `bfloat16` has none.
pub(crate) fn descr(dtype: DType) -> Option<String> {
    let kind = match dtype {
        DType::BF16 => return None,
        DType::Bool => 'b',
        d if d.is_unsigned() => 'u',
        d if d.is_int() => 'i',
        d if d.is_complex() => 'c',
        _ => 'f',
    };
    let order = if dtype.size() == 1 { '|' } else { ORDER };
    Some(format!("{order}{kind}{}", dtype.size()))
}

/// The header of an array in C or Fortran order; its length is a multiple of 64.
pub(crate) fn write(descr: &str, fortran: bool, shape: &[u64]) -> Vec<u8> {
    let shape = match shape {
        [] => "()".to_owned(),
        [n] => format!("({n},)"),
        many => format!("({})", many.mapped(u64::to_string).join(", ")),
    };
    let fortran = if fortran { "True" } else { "False" };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    let pad = 64 - (10 + text.len() + 1) % 64;
    text.push_str(&" ".repeat(pad % 64));
    text.push('\n');
    let mut out = MAGIC.to_vec();
    out.extend([1, 0]);
    out.extend((text.len() as u16).to_le_bytes());
    out.extend(text.as_bytes());
    out
}

#[cfg(test)]
#[path = "tests/npy.rs"]
mod tests;
