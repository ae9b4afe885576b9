//! Reads `.npy` files (format versions 1 and 2) through a memory map.
//!
//! Strict on purpose: little-endian `i4`, `i8`, `f4`, `f8` in C order and nothing else, and the file
//! holds exactly the bytes its header announces.
#![allow(unsafe_code)] // mapping a file trusts that nobody changes it meanwhile

use std::fs::File;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use crate::Outcome;

/// A Rust type that an array's elements can be read as.
pub trait NpyElement: bytemuck::AnyBitPattern {
    /// The header's `descr` for this type.
    const DESCR: &'static str;
}

macro_rules! npy_element {
    ($($rust:ty => $descr:literal),*) => {
        $(impl NpyElement for $rust { const DESCR: &'static str = $descr; })*
    };
}
npy_element!(i32 => "<i4", i64 => "<i8", f32 => "<f4", f64 => "<f8");

/// One mapped array.
pub struct Npy {
    path: PathBuf,
    map: Mmap,
    header: Header,
}

impl Npy {
    /// Maps `path` and checks its header against its length.
    pub fn open(path: &Path) -> Outcome<Npy> {
        let named = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let file = File::open(path).map_err(|e| named(&e))?;
        // SAFETY: the map is read-only. The workload files are written once, before this program
        // starts, and nothing rewrites or truncates them while it runs.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| named(&e))?;
        let header = Header::parse(&map).map_err(|e| named(&e))?;
        let announced = header.bytes().ok_or_else(|| named(&"the shape's product overflows"))?;
        let present = map.len() - header.data_start;
        if announced != present {
            let shape = &header.shape;
            return Err(
                named(&format!("shape {shape:?} needs {announced} bytes of data, the file has {present}")).into()
            );
        }
        Ok(Npy { path: path.to_owned(), map, header })
    }

    /// The `descr` of the elements, such as `<f8`.
    pub fn descr(&self) -> &'static str {
        self.header.descr
    }

    /// The array's shape.
    pub fn shape(&self) -> &[usize] {
        &self.header.shape
    }

    /// All elements in C order.
    pub fn elements<T: NpyElement>(&self) -> Outcome<&[T]> {
        let path = self.path.display();
        if cfg!(target_endian = "big") {
            return Err(format!("{path}: little-endian data on a big-endian machine").into());
        }
        if T::DESCR != self.header.descr {
            return Err(format!("{path}: holds {}, expected {}", self.header.descr, T::DESCR).into());
        }
        bytemuck::try_cast_slice(&self.map[self.header.data_start..]).map_err(|e| format!("{path}: {e}").into())
    }
}

/// What the header of an array says.
#[derive(Debug, PartialEq)]
struct Header {
    descr: &'static str,
    shape: Vec<usize>,
    data_start: usize,
}

impl Header {
    fn parse(file: &[u8]) -> Outcome<Header> {
        let rest = file.strip_prefix(b"\x93NUMPY").ok_or("not an npy file")?;
        let (&[major, minor], rest) = rest.split_first_chunk().ok_or("cut off in the version")?;
        let (length, rest) = match (major, minor) {
            (1, 0) => {
                let (length, rest) = rest.split_first_chunk().ok_or("cut off in the header's length")?;
                (usize::from(u16::from_le_bytes(*length)), rest)
            }
            (2, 0) => {
                let (length, rest) = rest.split_first_chunk().ok_or("cut off in the header's length")?;
                (usize::try_from(u32::from_le_bytes(*length))?, rest)
            }
            _ => {
                return Err(format!("format version {major}.{minor} is not supported, only 1.0 and 2.0 are").into());
            }
        };
        let text = rest.get(..length).ok_or("cut off in the header")?;
        let data_start = file.len() - rest.len() + length;
        let (descr, shape) = Literal::new(std::str::from_utf8(text)?).dictionary()?;
        Ok(Header { descr, shape, data_start })
    }

    fn bytes(&self) -> Option<usize> {
        let width = if self.descr.ends_with('4') { 4 } else { 8 };
        self.shape.iter().try_fold(width, |bytes: usize, &n| bytes.checked_mul(n))
    }
}

/// A cursor over the Python dictionary that a header is.
struct Literal<'a> {
    rest: &'a str,
}

impl<'a> Literal<'a> {
    fn new(text: &'a str) -> Self {
        Literal { rest: text }
    }

    fn dictionary(mut self) -> Outcome<(&'static str, Vec<usize>)> {
        let (mut descr, mut order, mut shape) = (None, None, None);
        self.expect("{")?;
        while !self.accept("}") {
            let key = self.string()?;
            self.expect(":")?;
            let repeated = match key {
                "descr" => descr.replace(self.descr()?).is_some(),
                "fortran_order" => order.replace(self.boolean()?).is_some(),
                "shape" => shape.replace(self.shape()?).is_some(),
                _ => return Err(format!("unknown header key '{key}'").into()),
            };
            if repeated {
                return Err(format!("header key '{key}' appears twice").into());
            }
            if !self.accept(",") {
                self.expect("}")?;
                break;
            }
        }
        if !self.rest.trim().is_empty() {
            return Err("text after the header's dictionary".into());
        }
        if order.ok_or("the header lacks 'fortran_order'")? {
            return Err("Fortran order is not supported, only C order is".into());
        }
        Ok((descr.ok_or("the header lacks 'descr'")?, shape.ok_or("the header lacks 'shape'")?))
    }

    fn accept(&mut self, token: &str) -> bool {
        match self.rest.trim_start().strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Outcome<()> {
        if self.accept(token) {
            Ok(())
        } else {
            Err(format!("'{token}' expected in the header before '{}'", self.rest).into())
        }
    }

    fn string(&mut self) -> Outcome<&'a str> {
        self.expect("'")?;
        let (text, rest) = self.rest.split_once('\'').ok_or("unterminated string in the header")?;
        self.rest = rest;
        Ok(text)
    }

    fn descr(&mut self) -> Outcome<&'static str> {
        let text = self.string()?;
        let known = [i32::DESCR, i64::DESCR, f32::DESCR, f64::DESCR];
        let found = known.into_iter().find(|descr| *descr == text);
        found.ok_or_else(|| format!("elements '{text}' are not supported, only {known:?} are").into())
    }

    fn boolean(&mut self) -> Outcome<bool> {
        if self.accept("False") {
            return Ok(false);
        }
        self.expect("True").map(|()| true)
    }

    fn shape(&mut self) -> Outcome<Vec<usize>> {
        let mut shape = Vec::new();
        self.expect("(")?;
        while !self.accept(")") {
            self.rest = self.rest.trim_start();
            let digits = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let (number, rest) = self.rest.split_at(digits);
            shape.push(number.parse().map_err(|e| format!("axis length '{number}' in the header: {e}"))?);
            self.rest = rest;
            if !self.accept(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(shape)
    }
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;

    fn file(version: [u8; 2], dictionary: &str) -> Vec<u8> {
        let mut file = b"\x93NUMPY".to_vec();
        file.extend(version);
        match version[0] {
            1 => file.extend((dictionary.len() as u16).to_le_bytes()),
            _ => file.extend((dictionary.len() as u32).to_le_bytes()),
        }
        file.extend(dictionary.as_bytes());
        file
    }

    #[test]
    fn reads_both_versions() -> Outcome<()> {
        let dictionary = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }   \n";
        for (version, data_start) in [([1, 0], 10), ([2, 0], 12)] {
            let header = Header::parse(&file(version, dictionary))?;
            assert_eq!(header, Header { descr: "<f8", shape: vec![3, 4], data_start: data_start + dictionary.len() });
            assert_eq!(header.bytes(), Some(96));
        }
        Ok(())
    }

    #[test]
    fn reads_every_shape() -> Outcome<()> {
        for (text, shape) in [("()", vec![]), ("(7,)", vec![7]), ("(2, 0, 5)", vec![2, 0, 5])] {
            let dictionary = format!("{{'shape': {text}, 'descr': '<i4', 'fortran_order': False}}");
            assert_eq!(Header::parse(&file([1, 0], &dictionary))?.shape, shape);
        }
        Ok(())
    }

    #[test]
    fn says_what_is_wrong() {
        let cases = [
            (file([3, 0], "{}"), "version 3.0"),
            (file([1, 0], "{'descr': '<f8', 'fortran_order': False}"), "lacks 'shape'"),
            (file([1, 0], "{'descr': '>f8', 'fortran_order': False, 'shape': (1,)}"), "'>f8'"),
            (file([1, 0], "{'descr': '<f8', 'fortran_order': True, 'shape': (1,)}"), "Fortran order"),
            (file([1, 0], "{'descr': '<f8', 'descr': '<f8'}"), "twice"),
            (file([1, 0], "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}"), "axis length"),
            (file([1, 0], "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} x"), "text after"),
            (file([1, 0], "{'descr': '<f8', 'size': 3}"), "unknown header key"),
            (file([1, 0], "{'descr': '<f8'")[..20].to_vec(), "cut off"),
            (b"PK\x03\x04".to_vec(), "not an npy file"),
        ];
        for (file, expected) in cases {
            match Header::parse(&file) {
                Ok(header) => panic!("{header:?} instead of an error with '{expected}'"),
                Err(error) => assert!(error.to_string().contains(expected), "{error} lacks '{expected}'"),
            }
        }
    }

    #[test]
    fn an_overflowing_shape_has_no_size() -> Outcome<()> {
        let dictionary = "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 2)}";
        assert_eq!(Header::parse(&file([1, 0], dictionary))?.bytes(), None);
        Ok(())
    }
}
