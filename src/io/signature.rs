//! What a file begins with, looked at once for each file.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

use super::text::packing::Packing;

/// How many bytes are looked at: as many as may stand before a container's own.
const START: u64 = 512;

const HDF5: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// What tells containers and compressed text apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::io) enum Signature {
    /// Compressed text.
    Packed(Packing),
    Zip,
    /// One array of NumPy.
    Npy,
    /// The place of the signature: 0, or 512 or twice as many and so on after a block of the user's.
    Hdf5(u64),
}

/// The signature of a file, if it has one, and its first bytes. The place in the file is any after that.
pub(in crate::io) fn find(source: &mut (impl Read + Seek)) -> io::Result<(Option<Signature>, Vec<u8>)> {
    let mut start = Vec::with_capacity(START as usize);
    source.seek(SeekFrom::Start(0))?;
    source.by_ref().take(START).read_to_end(&mut start)?;
    let known = if let Some(packing) = Packing::of(&start) {
        Some(Signature::Packed(packing))
    } else if start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06") {
        Some(Signature::Zip)
    } else if start.starts_with(b"\x93NUMPY") {
        Some(Signature::Npy)
    } else if start.starts_with(&HDF5) {
        Some(Signature::Hdf5(0))
    } else {
        later(source)?.map(Signature::Hdf5)
    };
    Ok((known, start))
}

/// What a file is that is none of those read here, if that can be told by what it begins with; and what makes one of it that is.
pub(in crate::io) fn foreign(start: &[u8]) -> Option<&'static str> {
    const KINDS: [(&[u8], &str); 20] = [
        (b"PAR1", "a Parquet file; triplets are read as text (.tns), or as .npy arrays"),
        (b"ARROW1", "an Arrow file; triplets are read as text (.tns), or as .npy arrays"),
        (b"FEA1", "a Feather file; triplets are read as text (.tns), or as .npy arrays"),
        (
            b"MATLAB 5.0",
            "a MATLAB file; `scipy.io.loadmat` reads it, `scipy.sparse.save_npz` saves its matrices as .npz",
        ),
        (b"CDF\x01", "a netCDF-3 file; `nccopy -k nc4` makes HDF5 of it"),
        (b"CDF\x02", "a netCDF-3 file; `nccopy -k nc4` makes HDF5 of it"),
        (b"CDF\x05", "a netCDF-3 file; `nccopy -k nc4` makes HDF5 of it"),
        (b"\x0e\x03\x13\x01", "an HDF4 file; `h4toh5` makes HDF5 of it"),
        (b"GGUF", "a GGUF model; safetensors ones are read"),
        (
            b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19",
            "a checkpoint of PyTorch before 1.6; load it there and save it again",
        ),
        (b"\x80\x02", "a pickle, which could run anything; save arrays as .npz"),
        (b"\x80\x03", "a pickle, which could run anything; save arrays as .npz"),
        (b"\x80\x04", "a pickle, which could run anything; save arrays as .npz"),
        (b"\x80\x05", "a pickle, which could run anything; save arrays as .npz"),
        (b"RDX", "a file of R; `Matrix::writeMM` writes .mtx"),
        (b"SQLite format 3", "an SQLite database"),
        (b"\xfd7zXZ", "an xz archive; unpack it first"),
        (b"7z\xbc\xaf", "a 7z archive; unpack it first"),
        (b"\x89PNG", "a picture"),
        (b"%PDF", "a PDF document"),
    ];
    if start.get(257..262) == Some(b"ustar") {
        return Some("a tar archive; unpack it first");
    }
    KINDS.iter().find(|(begin, _)| start.starts_with(begin)).map(|(_, kind)| *kind)
}

/// The place of the signature of HDF5 behind other bytes.
fn later(source: &mut (impl Read + Seek)) -> io::Result<Option<u64>> {
    let mut at = START;
    loop {
        let mut found = [0; HDF5.len()];
        source.seek(SeekFrom::Start(at))?;
        match source.read_exact(&mut found) {
            Ok(()) if found == HDF5 => return Ok(Some(at)),
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        at = match at.checked_mul(2) {
            Some(next) => next,
            None => return Ok(None),
        };
    }
}

#[cfg(test)]
#[path = "tests/signature.rs"]
mod tests;
