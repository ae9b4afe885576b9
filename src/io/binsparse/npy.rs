//! Headers of `.npy` arrays, versions 1 to 3.

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
    pub(crate) shape: Vec<u64>,
    /// Bytes before the data.
    pub(crate) data_at: usize,
}

impl NpyHeader {
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
}

/// How many bytes the header takes, from its first twelve.
pub(crate) fn header_len(start: &[u8]) -> Res<usize> {
    let Some(rest) = start.strip_prefix(MAGIC) else { return bad("not an .npy array") };
    let len = match *rest {
        [1, 0, a, b, ..] => 10 + usize::from(u16::from_le_bytes([a, b])),
        [2 | 3, 0, a, b, c, d, ..] => 12usize.saturating_add(u32::from_le_bytes([a, b, c, d]) as usize),
        _ => return bad("an .npy array of unknown version"),
    };
    if len > MAX_HEADER { bad(format!("an .npy header of {len} bytes")) } else { Ok(len) }
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
            _ => return bad(format!("an .npy header with the key {key:?}")),
        };
        if !fresh {
            return bad(format!("an .npy header with the key {key:?} twice"));
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
    if fortran && shape.len() > 1 {
        return bad("an .npy array in Fortran order");
    }
    let mut chars = descr.chars();
    let (big_endian, kind) = match (chars.next(), chars.next()) {
        (Some('<' | '|' | '='), Some(kind)) => (false, kind),
        (Some('>'), Some(kind)) => (true, kind),
        _ => return bad(format!("an .npy array of type {descr:?}")),
    };
    if kind == 'O' {
        return bad("an .npy array of Python objects, which are not read");
    }
    let item = chars.as_str();
    match item.parse::<u64>() {
        Ok(item) if chars.as_str().bytes().all(|c| c.is_ascii_digit()) => {
            let item = item.saturating_mul(if kind == 'U' { 4 } else { 1 });
            Ok(NpyHeader { kind, item, big_endian, shape, data_at })
        }
        _ => bad(format!("an .npy array of type {descr:?}")),
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
        None => bad(format!("an .npy array of shape ({inside})")),
    }
}

/// The header of an array in C order; its length is a multiple of 64.
pub(crate) fn write(descr: &str, shape: &[u64]) -> Vec<u8> {
    let shape = match shape {
        [] => "()".to_owned(),
        [n] => format!("({n},)"),
        many => format!("({})", many.mapped(u64::to_string).join(", ")),
    };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
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
mod tests {
    use super::*;

    fn of(text: &str) -> Res<NpyHeader> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        parse(&bytes)
    }

    #[test]
    fn headers_are_read_and_written() {
        for shape in [&[][..], &[0], &[7], &[2, 3]] {
            let bytes = write("<f8", shape);
            let header = parse(&bytes).unwrap();
            assert_eq!((header.dtype(), header.shape.as_slice()), (Some(DType::F64), shape));
            assert_eq!((header.data_at, bytes.len() % 64), (bytes.len(), 0));
        }
        let header = of("{\"shape\": (3), 'fortran_order': True, 'descr': '>u2'}").unwrap();
        assert_eq!((header.dtype(), header.big_endian, header.shape), (Some(DType::U16), true, vec![3]));
    }

    #[test]
    fn other_headers_are_refused() {
        for text in [
            "",
            "{}",
            "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
            "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }",
            "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 2), }",
            "{'descr': '<f8', 'fortran_order': 0, 'shape': (2,), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (-2,), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }",
            "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (2,), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'x': 1}",
            "{'descr': 'f8', 'fortran_order': False, 'shape': (2,)}",
            "{'descr': '<f8' 'fortran_order': False, 'shape': (2,)}",
        ] {
            assert!(of(text).is_err(), "{text}");
        }
        assert!(parse(b"\x93NUMPY\x09\x00\x00\x00").is_err());
        assert!(parse(b"PK").is_err());
    }
}
