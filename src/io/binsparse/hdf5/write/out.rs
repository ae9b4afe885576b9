//! The file as it grows: places in it, and records of little-endian numbers.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use crate::io::progress::Tell;
use crate::io::steps;

/// What an address is that leads nowhere.
pub(super) const NOWHERE: u64 = u64::MAX;

/// A new file, written from its start to its end.
pub(super) struct Out<'a> {
    sink: BufWriter<&'a mut File>,
    at: u64,
    /// Who is told of the elements that are written.
    pub(super) tell: &'a Tell<'a>,
}

impl<'a> Out<'a> {
    /// Leaves room for the superblock, which is known last.
    pub(super) fn new(file: &'a mut File, superblock: usize, tell: &'a Tell<'a>) -> io::Result<Out<'a>> {
        let mut out = Out { sink: BufWriter::new(file), at: 0, tell };
        out.put(&vec![0; superblock])?;
        Ok(out)
    }

    /// The next address, which is a multiple of eight.
    pub(super) fn align(&mut self) -> io::Result<u64> {
        let padding = self.at.next_multiple_of(8) - self.at;
        self.go_on(&[0; 8][..padding as usize])?;
        Ok(self.at)
    }

    /// Writes bytes at the next address, and gives it.
    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let at = self.align()?;
        self.go_on(bytes)?;
        Ok(at)
    }

    /// Writes elements at the next address, and gives it.
    pub(super) fn elements(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let at = self.align()?;
        steps::write_all(&mut self.sink, bytes, self.tell)?;
        self.at += bytes.len() as u64;
        Ok(at)
    }

    /// Writes bytes right behind the last.
    pub(super) fn go_on(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sink.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Leaves room for so many bytes at the next address, and gives it.
    pub(super) fn reserve(&mut self, bytes: u64) -> io::Result<u64> {
        let at = self.align()?;
        self.at += bytes;
        self.sink.seek(SeekFrom::Start(self.at))?;
        Ok(at)
    }

    /// Puts the superblock in its place.
    pub(super) fn finish(mut self, superblock: &[u8]) -> io::Result<()> {
        self.sink.seek(SeekFrom::Start(0))?;
        self.sink.write_all(superblock)?;
        self.sink.flush()
    }
}

/// Little-endian numbers and bytes, one behind the other.
#[derive(Default)]
pub(super) struct Record(Vec<u8>);

impl Record {
    pub(super) fn bytes(mut self, bytes: &[u8]) -> Record {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn u8(self, number: u8) -> Record {
        self.bytes(&[number])
    }

    pub(super) fn u16(self, number: u16) -> Record {
        self.bytes(&number.to_le_bytes())
    }

    pub(super) fn u32(self, number: u32) -> Record {
        self.bytes(&number.to_le_bytes())
    }

    pub(super) fn u64(self, number: u64) -> Record {
        self.bytes(&number.to_le_bytes())
    }

    /// Zeros up to a length.
    pub(super) fn up_to(mut self, len: usize) -> Record {
        self.0.resize(len.max(self.0.len()), 0);
        self
    }

    /// Zeros up to a multiple of eight.
    pub(super) fn pad(self) -> Record {
        let len = self.0.len().next_multiple_of(8);
        self.up_to(len)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
