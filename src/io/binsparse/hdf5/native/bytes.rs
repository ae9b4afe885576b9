//! Bytes of a file, and numbers in them. Nothing is read or allocated beyond the end of the file.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::sync::Mutex;

use super::checksum::is_whole;
use super::shares::Shares;
use crate::base::parallel;
use crate::io::fault::{Res, bad};

/// How many bytes a thread reads at a time.
const PIECE: usize = 4 << 20;

/// Where bytes are.
pub(in crate::io::binsparse::hdf5) enum Bytes<'a> {
    File(File),
    Memory(&'a [u8]),
}

impl Bytes<'_> {
    pub(super) fn len(&self) -> io::Result<u64> {
        match self {
            Bytes::File(file) => Ok(file.metadata()?.len()),
            Bytes::Memory(bytes) => Ok(bytes.len() as u64),
        }
    }

    /// Bytes from `at` on, until `out` is full. Many are read by all threads: what takes time is less the file, which the
    /// kernel has at hand more often than not, than the copy into memory that is new.
    fn read(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        match self {
            Bytes::Memory(bytes) => {
                let part = usize::try_from(at).ok().and_then(|at| bytes.get(at..)?.get(..out.len()));
                out.copy_from_slice(part.ok_or(ErrorKind::UnexpectedEof)?);
                Ok(())
            }
            Bytes::File(file) if cfg!(unix) && out.len() > PIECE => {
                let fault = Mutex::new(None);
                parallel::for_chunks_mut(out, 1, PIECE, &|first, part| {
                    if let Err(e) = read_at(file, at + first as u64, part) {
                        *parallel::lock(&fault) = Some(e);
                    }
                });
                let fault = parallel::lock(&fault).take();
                fault.map_or(Ok(()), Err)
            }
            Bytes::File(file) => read_at(file, at, out),
        }
    }
}

#[cfg(unix)]
fn read_at(file: &File, at: u64, out: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, at)
}

#[cfg(not(unix))]
fn read_at(mut file: &File, at: u64, out: &mut [u8]) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(out)
}

/// How wide addresses and lengths are in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Widths {
    pub(super) address: usize,
    pub(super) length: usize,
}

/// The file. Addresses count from its superblock.
pub(super) struct Disk<'a> {
    pub(super) source: Bytes<'a>,
    /// Where the superblock is.
    pub(super) base: u64,
    /// The first address that the file does not have.
    pub(super) end: u64,
    pub(super) widths: Widths,
    /// The heaps of messages that objects share, if there are any.
    pub(super) shares: Vec<Shares>,
}

impl Disk<'_> {
    /// Fails if the file does not have these bytes.
    pub(super) fn check(&self, at: u64, len: u64, what: &str) -> Res<()> {
        match at.checked_add(len) {
            Some(end) if end <= self.end => Ok(()),
            _ => {
                bad(format_args!("{what} (byte {at}, {len} bytes) lies beyond the end of the file (byte {})", self.end))
            }
        }
    }

    pub(super) fn read(&mut self, at: u64, len: u64, what: &'static str) -> Res<Vec<u8>> {
        self.check(at, len, what)?;
        let mut out = vec![0; len as usize];
        self.read_into(at, &mut out, what)?;
        Ok(out)
    }

    pub(super) fn read_into(&mut self, at: u64, out: &mut [u8], what: &str) -> Res<()> {
        self.check(at, out.len() as u64, what)?;
        Ok(self.source.read(self.base + at, out)?)
    }

    /// A block of which the first bytes are known.
    pub(super) fn signed(&mut self, at: u64, len: u64, signature: &[u8; 4], what: &'static str) -> Res<Vec<u8>> {
        let out = self.read(at, len, what)?;
        if out.get(..4) != Some(signature) {
            return bad(format_args!("{what} at byte {at} does not begin with {}", String::from_utf8_lossy(signature)));
        }
        Ok(out)
    }

    /// A block with a signature and, as its last four bytes, a checksum; both are taken away.
    pub(super) fn summed(&mut self, at: u64, len: u64, signature: &[u8; 4], what: &'static str) -> Res<Vec<u8>> {
        let bytes = self.signed(at, len, signature, what)?;
        let mut bytes = without_sum(bytes, at, what)?;
        bytes.drain(..4.min(bytes.len()));
        Ok(bytes)
    }

    /// A block whose last four bytes are a checksum, which is taken away.
    pub(super) fn page(&mut self, at: u64, len: u64, what: &'static str) -> Res<Vec<u8>> {
        let bytes = self.read(at, len, what)?;
        without_sum(bytes, at, what)
    }

    pub(super) fn block<'b>(&self, bytes: &'b [u8], what: &'static str) -> Block<'b> {
        Block { bytes, at: 0, what, widths: self.widths }
    }
}

fn without_sum(mut bytes: Vec<u8>, at: u64, what: &str) -> Res<Vec<u8>> {
    let sum = bytes.split_off(bytes.len().saturating_sub(4));
    if !is_whole(&bytes, &sum) {
        return bad(format_args!("{what} at byte {at} does not have its checksum"));
    }
    Ok(bytes)
}

/// How many bytes a walk may look at: what does not overlap is no larger than the file, and what runs in circles is.
pub(super) struct Budget(u64);

impl Budget {
    pub(super) fn of(disk: &Disk<'_>) -> Budget {
        Budget(disk.end)
    }

    pub(super) fn spend(&mut self, bytes: u64, what: &str) -> Res<()> {
        match self.0.checked_sub(bytes) {
            Some(left) => self.0 = left,
            None => return bad(format_args!("{what} runs in circles, or is larger than the file")),
        }
        Ok(())
    }
}

/// Little-endian numbers one after the other.
#[derive(Clone)]
pub(super) struct Block<'a> {
    bytes: &'a [u8],
    at: usize,
    what: &'static str,
    pub(super) widths: Widths,
}

impl<'a> Block<'a> {
    pub(super) fn take(&mut self, n: usize) -> Res<&'a [u8]> {
        let Some(out) = self.at.checked_add(n).and_then(|end| self.bytes.get(self.at..end)) else {
            return bad(format_args!("{} is cut short: {n} bytes at {} of {}", self.what, self.at, self.bytes.len()));
        };
        self.at += n;
        Ok(out)
    }

    /// The part of a size given in the file, alone.
    pub(super) fn part(&mut self, n: usize, what: &'static str) -> Res<Block<'a>> {
        Ok(Block { bytes: self.take(n)?, at: 0, what, widths: self.widths })
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        let out = self.bytes.get(self.at..).unwrap_or_default();
        self.at = self.bytes.len();
        out
    }

    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(super) fn number(&mut self, n: usize) -> Res<u64> {
        Ok(self.take(n)?.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    pub(super) fn u8(&mut self) -> Res<u8> {
        Ok(self.number(1)? as u8)
    }

    pub(super) fn u16(&mut self) -> Res<u16> {
        Ok(self.number(2)? as u16)
    }

    pub(super) fn u24(&mut self) -> Res<u32> {
        Ok(self.number(3)? as u32)
    }

    pub(super) fn u32(&mut self) -> Res<u32> {
        Ok(self.number(4)? as u32)
    }

    pub(super) fn u64(&mut self) -> Res<u64> {
        self.number(8)
    }

    /// A number of `1 << exponent` bytes.
    pub(super) fn sized(&mut self, exponent: u8) -> Res<u64> {
        self.number(1 << (exponent & 3))
    }

    pub(super) fn length(&mut self) -> Res<u64> {
        self.number(self.widths.length)
    }

    /// An address, `None` where all its bits are set.
    pub(super) fn address(&mut self) -> Res<Option<u64>> {
        let n = self.widths.address;
        let found = self.number(n)?;
        Ok(Some(found).filter(|&a| a != u64::MAX >> (64 - 8 * n)))
    }

    /// Goes to a multiple of eight from the start. Writers leave the padding out behind the last field.
    pub(super) fn align(&mut self) {
        self.at = self.at.next_multiple_of(8).min(self.bytes.len());
    }

    /// Bytes up to a zero, which is passed.
    pub(super) fn name(&mut self) -> Res<&'a [u8]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        match rest.iter().position(|&b| b == 0) {
            Some(n) => {
                self.at += n + 1;
                Ok(&rest[..n])
            }
            None => bad(format_args!("{} has a name without an end", self.what)),
        }
    }
}
