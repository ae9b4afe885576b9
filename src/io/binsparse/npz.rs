//! NPZ: one `.npy` member per array, the descriptor as a 0-dimensional string array `binsparse`.

use std::io::{self, Read, Seek, Write};

use super::arrays::{ArrayInfo, Arrays, Container};
use super::export::Export;
use super::npy::{self, NpyHeader};
use super::zip::{ZipReader, ZipWriter};
use super::{Mode, json};
use crate::io::fault::{Res, bad};
use crate::io::warning::Warning;
use openwork_ops::DType;

pub(crate) struct Npz<R> {
    archive: ZipReader<R>,
}

impl<R: Read + Seek> Npz<R> {
    pub(crate) fn open(source: R) -> Res<Npz<R>> {
        Ok(Npz { archive: ZipReader::open(source)? })
    }

    /// A member's header and, of descriptors, the data; arrays are read later.
    fn header(&mut self, name: &str, file: &str) -> Res<Option<NpyHeader>> {
        let Some(member) = self.archive.member(file) else { return Ok(None) };
        let mut reader = self.archive.reader(member)?;
        let mut header = vec![0; 12];
        if member.size < 12 {
            return bad(format!("`{name}` is not an .npy array"));
        }
        reader.read_exact(&mut header)?;
        let len = npy::header_len(&header)?;
        if (len as u64) > member.size || len < 12 {
            return bad(format!("`{name}` is not an .npy array: its header is cut off"));
        }
        header.resize(len, 0);
        reader.read_exact(&mut header[12..])?;
        let header = npy::parse(&header)?;
        let items = header.shape.iter().try_fold(1u64, |n, &s| n.checked_mul(s));
        let bytes = items.and_then(|n| n.checked_mul(header.item)).and_then(|n| n.checked_add(len as u64));
        if bytes != Some(member.size) {
            return bad(format!("`{name}` has shape {:?} and other bytes than that takes", header.shape));
        }
        Ok(Some(header))
    }

    /// Reads bytes of the data from `start` on. All of them must agree with the checksum; a part has none.
    fn data(&mut self, file: &str, header: &NpyHeader, start: u64, out: &mut [u8]) -> Res<()> {
        let Some(member) = self.archive.member(file) else { return bad(format!("no member {file:?}")) };
        let data_at = header.data_at as u64;
        if start == 0 && data_at + out.len() as u64 == member.size {
            let mut reader = self.archive.reader(member)?;
            reader.read_exact(&mut vec![0; header.data_at])?;
            reader.read_exact(out)?;
            return reader.finish();
        }
        self.archive.read_part(file, member, data_at + start, out)
    }
}

impl<R: Read + Seek> Container for Npz<R> {
    fn descriptor(&mut self, mode: Mode, warnings: &mut Vec<Warning>) -> Res<String> {
        let file = "binsparse.npy";
        let Some(header) = self.header("binsparse", file)? else {
            return bad("there is no array `binsparse` with a descriptor");
        };
        let form = match (header.kind, header.shape.as_slice()) {
            ('U', []) => None,
            ('S', []) => Some("bytes"),
            ('U' | 'S', [1]) => Some("a list of one text"),
            _ => return bad("the array `binsparse` is not one text"),
        };
        if let Some(form) = form {
            if mode != Mode::Lenient {
                return bad(format!("the descriptor is stored as {form}"));
            }
            warnings.push(Warning::DescriptorForm(form));
        }
        let bytes = header.item; // one item
        if bytes > 4 * json::MAX_BYTES {
            return bad(format!("the descriptor has {bytes} bytes"));
        }
        let mut data = vec![0; bytes as usize];
        self.data(file, &header, 0, &mut data)?;
        if header.kind == 'S' {
            let text = data.split(|&b| b == 0).next().unwrap_or_default();
            return String::from_utf8(text.to_vec()).or_else(|_| bad("the descriptor is not UTF-8"));
        }
        let code = |c: &[u8]| {
            let bytes = [c[0], c[1], c[2], c[3]];
            if header.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        let mut codes: Vec<u32> = data.chunks_exact(4).map(code).collect();
        while codes.last() == Some(&0) {
            codes.pop(); // padding
        }
        let text: Option<String> = codes.into_iter().map(char::from_u32).collect();
        text.map_or_else(|| bad("the descriptor is not Unicode"), Ok)
    }
}

impl<R: Read + Seek> Arrays for Npz<R> {
    fn info(&mut self, name: &str) -> Res<Option<ArrayInfo>> {
        let Some(header) = self.header(name, &format!("{name}.npy"))? else { return Ok(None) };
        let Some(dtype) = header.dtype() else {
            return bad(format!("`{name}` holds elements of kind {:?} and {} bytes", header.kind, header.item));
        };
        match header.shape[..] {
            [len] => Ok(Some(ArrayInfo { dtype, len })),
            _ => bad(format!("`{name}` has shape {:?}, not one axis", header.shape)),
        }
    }

    fn read(&mut self, name: &str, start: u64, out: &mut [u8]) -> Res<()> {
        let file = format!("{name}.npy");
        let Some(header) = self.header(name, &file)? else { return bad(format!("the array `{name}` is missing")) };
        self.data(&file, &header, start * header.item, out)?;
        let number = if header.kind == 'c' { header.item / 2 } else { header.item };
        if header.big_endian != cfg!(target_endian = "big") && number > 1 {
            out.chunks_exact_mut(number as usize).for_each(<[u8]>::reverse);
        }
        Ok(())
    }
}

/// Writes a whole file, packed at a level if there is one.
pub(crate) fn write(sink: impl Write, export: &Export, level: Option<u8>) -> io::Result<()> {
    let mut zip = ZipWriter::new(sink);
    for array in &export.arrays {
        let header = npy::write(&descr(array.dtype), &[array.len() as u64]);
        zip.add(&format!("{}.npy", array.name), &[&header, array.bytes()], level)?;
    }
    let text: Vec<u8> = export.json.chars().flat_map(|c| u32::from(c).to_ne_bytes()).collect();
    let header = npy::write(&format!("{}U{}", ORDER, text.len() / 4), &[]);
    zip.add("binsparse.npy", &[&header, &text], level)?;
    zip.finish()?.flush()
}

const ORDER: char = if cfg!(target_endian = "big") { '>' } else { '<' };

fn descr(dtype: DType) -> String {
    let kind = match dtype {
        DType::Bool => 'b',
        d if d.is_unsigned() || d == DType::BF16 => 'u',
        d if d.is_int() => 'i',
        d if d.is_complex() => 'c',
        _ => 'f',
    };
    let order = if dtype.size() == 1 { '|' } else { ORDER };
    format!("{order}{kind}{}", dtype.size())
}
