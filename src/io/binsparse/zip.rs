//! The part of ZIP that `.npz` files use: members that are stored or deflated, with 64-bit sizes.
//!
//! A member is found through the central directory alone, its size is bounded by the bytes it has in the file before
//! anything is allocated, and its checksum must agree. Two members of one name are an error: readers differ in which
//! they take.

use std::io::{self, Read, Seek, SeekFrom, Write};

use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use crate::base::interrupt;
use crate::base::named::Named;
use crate::io::fault::{Res, bad};
use crate::io::progress::Tell;
use crate::io::steps;

/// Deflate packs at most this many bytes into one.
const MAX_RATIO: u64 = 1032;
const MAX_DIRECTORY: u64 = 64 << 20;
const MAX_U32: u64 = u32::MAX as u64;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) deflated: bool,
    crc: u32,
    /// Bytes in the file.
    pub(crate) packed: u64,
    /// Bytes after unpacking.
    pub(crate) size: u64,
    header_at: u64,
    /// Checksum of its name, which stands before its bytes too.
    name: u32,
}

fn crc_of(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

pub(crate) struct ZipReader<R> {
    source: R,
    len: u64,
    members: Named<Member>,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?).into())
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?).into())
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

impl<R: Read + Seek> ZipReader<R> {
    /// Reads the directory.
    pub(crate) fn open(mut source: R) -> Res<ZipReader<R>> {
        let len = source.seek(SeekFrom::End(0))?;
        let mut archive = ZipReader { source, len, members: Named::new() };
        let (at, size, count) = archive.end()?;
        if size > MAX_DIRECTORY || at.checked_add(size).is_none_or(|end| end > len) {
            return bad("the ZIP directory lies outside the file");
        }
        let directory = archive.bytes(at, size)?;
        let mut rest = directory.as_slice();
        for _ in 0..count {
            let Some((name, member, used)) = entry(rest) else { return bad("the ZIP directory is damaged") };
            let (name, member) = (name?, member?);
            if archive.members.insert(name.clone(), member).is_some() {
                return bad(format_args!("the ZIP file has two members {name:?}"));
            }
            rest = &rest[used..];
        }
        Ok(archive)
    }

    /// The names of all members, in the order in which they lie in the file.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let mut members: Vec<(&str, u64)> =
            self.members.iter().map(|(name, member)| (name, member.header_at)).collect();
        members.sort_by_key(|(_, at)| *at);
        members.into_iter().map(|(name, _)| name)
    }

    pub(crate) fn member(&self, name: &str) -> Option<Member> {
        self.members.get(name).copied()
    }

    fn bytes(&mut self, at: u64, len: u64) -> Res<Vec<u8>> {
        let mut out = vec![0; len as usize];
        self.source.seek(SeekFrom::Start(at))?;
        self.source.read_exact(&mut out)?;
        Ok(out)
    }

    /// Place, size and number of entries of the directory.
    fn end(&mut self) -> Res<(u64, u64, u64)> {
        let tail_len = self.len.min(22 + MAX_U32.min(0xffff));
        let tail = self.bytes(self.len - tail_len, tail_len)?;
        let found = (0..tail.len().saturating_sub(21)).rev().find(|&i| {
            tail[i..].starts_with(b"PK\x05\x06") && u16_at(&tail, i + 20) == Some((tail.len() - i - 22) as u64)
        });
        let Some(i) = found else { return bad("not a ZIP file, or cut off") };
        let field = |at| u32_at(&tail, i + at).unwrap_or_default();
        let (disks, count) = (field(4), u16_at(&tail, i + 10).unwrap_or_default());
        let (size, at) = (field(12), field(16));
        if count < 0xffff && size < MAX_U32 && at < MAX_U32 {
            return if disks == 0 { Ok((at, size, count)) } else { bad("a ZIP file in several parts") };
        }
        // The 64-bit record lies where the locator before this one says.
        let locator = i.checked_sub(20).filter(|&l| tail[l..].starts_with(b"PK\x06\x07"));
        let record_at = locator.and_then(|l| u64_at(&tail, l + 8));
        let Some(record_at) = record_at.filter(|at| at.checked_add(56).is_some_and(|end| end <= self.len)) else {
            return bad("the 64-bit ZIP directory is missing");
        };
        let record = self.bytes(record_at, 56)?;
        match (record.starts_with(b"PK\x06\x06"), u64_at(&record, 48), u64_at(&record, 40), u64_at(&record, 32)) {
            (true, Some(at), Some(size), Some(count)) => Ok((at, size, count)),
            _ => bad("the 64-bit ZIP directory is damaged"),
        }
    }

    /// Reads bytes from the middle of a member that is stored as it is.
    pub(crate) fn read_part(
        &mut self,
        name: &str,
        member: Member,
        at: u64,
        out: &mut [u8],
        tell: &Tell<'_>,
    ) -> Res<()> {
        if member.deflated {
            return bad(format_args!("the member {name:?} is compressed: no part can be read without the rest"));
        }
        if at.checked_add(out.len() as u64).is_none_or(|end| end > member.size) {
            return bad(format_args!("a part of the member {name:?} lies outside it"));
        }
        let data_at = self.data_at(member)?;
        self.source.seek(SeekFrom::Start(data_at + at))?;
        Ok(steps::read_exact(&mut self.source, out, tell)?)
    }

    /// Reads to its end every member of which parts can be read, where its checksum is compared. Packed ones are read whole by
    /// whoever wants them.
    pub(crate) fn verify(&mut self) -> Res<()> {
        let names: Vec<String> = self.names().map(str::to_owned).collect();
        for name in names {
            let Some(member) = self.member(&name).filter(|member| !member.deflated) else { continue };
            let mut reader = self.reader(member)?;
            io::copy(&mut reader.by_ref().take(member.size), &mut io::sink())?;
            reader.finish()?;
        }
        Ok(())
    }

    /// A reader of a member's unpacked bytes, and a check for when they are read.
    pub(crate) fn reader(&mut self, member: Member) -> Res<MemberReader<'_, R>> {
        let data_at = self.data_at(member)?;
        self.source.seek(SeekFrom::Start(data_at))?;
        let packed = (&mut self.source).take(member.packed);
        let inner =
            if member.deflated { Packed::Deflated(DeflateDecoder::new(packed)) } else { Packed::Stored(packed) };
        Ok(MemberReader { inner, crc: Crc::new(), member })
    }

    /// Where the bytes of a member lie, all of them in the file.
    fn data_at(&mut self, member: Member) -> Res<u64> {
        let outside = || bad("a ZIP member lies outside the file");
        if member.header_at.checked_add(30).is_none_or(|end| end > self.len) {
            return outside();
        }
        let header = self.bytes(member.header_at, 30)?;
        let (Some(name), Some(extra)) = (u16_at(&header, 26), u16_at(&header, 28)) else { return outside() };
        if !header.starts_with(b"PK\x03\x04") {
            return bad("a ZIP member has no header");
        }
        let data_at = member.header_at + 30 + name + extra;
        if data_at.checked_add(member.packed).is_none_or(|end| end > self.len) {
            return outside();
        }
        if crc_of(&self.bytes(member.header_at + 30, name)?) != member.name {
            return bad("a ZIP member has another name than the directory says");
        }
        Ok(data_at)
    }
}

enum Packed<R: Read> {
    Stored(R),
    Deflated(DeflateDecoder<R>),
}

/// Reads one member.
pub(crate) struct MemberReader<'a, R: Read> {
    inner: Packed<io::Take<&'a mut R>>,
    crc: Crc,
    member: Member,
}

impl<R: Read> Read for MemberReader<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        interrupt::check();
        let step = out.len().min(steps::STEP);
        let out = &mut out[..step];
        let n = match &mut self.inner {
            Packed::Stored(r) => r.read(out)?,
            Packed::Deflated(r) => r.read(out)?,
        };
        self.crc.update(&out[..n]);
        Ok(n)
    }
}

impl<R: Read> MemberReader<'_, R> {
    /// Checks length and checksum, once all bytes are read.
    pub(crate) fn finish(mut self) -> Res<()> {
        let more = self.read(&mut [0])? > 0;
        if more || u64::from(self.crc.amount()) != self.member.size & MAX_U32 {
            return bad("a ZIP member has another size than the directory says");
        }
        if self.crc.sum() != self.member.crc { bad("a ZIP member is damaged: its checksum differs") } else { Ok(()) }
    }
}

/// One entry of the directory: name, member, bytes taken.
fn entry(bytes: &[u8]) -> Option<(Res<String>, Res<Member>, usize)> {
    if !bytes.starts_with(b"PK\x01\x02") {
        return None;
    }
    let (flags, method, crc) = (u16_at(bytes, 8)?, u16_at(bytes, 10)?, u32_at(bytes, 16)? as u32);
    let (mut packed, mut size, mut header_at) = (u32_at(bytes, 20)?, u32_at(bytes, 24)?, u32_at(bytes, 42)?);
    let name_len = u16_at(bytes, 28)? as usize;
    let (extra_len, comment_len) = (u16_at(bytes, 30)? as usize, u16_at(bytes, 32)? as usize);
    let name = bytes.get(46..46 + name_len)?;
    let mut extra = bytes.get(46 + name_len..46 + name_len + extra_len)?;
    let used = 46 + name_len + extra_len + comment_len;
    bytes.get(..used)?;
    while let (Some(id), Some(len)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        let field = extra.get(4..4 + len as usize)?;
        if id == 1 {
            let mut at = 0;
            for value in [&mut size, &mut packed, &mut header_at] {
                if *value == MAX_U32 {
                    *value = u64_at(field, at)?;
                    at += 8;
                }
            }
        }
        extra = &extra[4 + len as usize..];
    }
    let mark = crc_of(name);
    let name = match std::str::from_utf8(name) {
        Ok(name) => Ok(name.to_owned()),
        Err(_) => Ok(String::from_utf8_lossy(name).into_owned()), // no name that is looked for
    };
    let possible = if method == 8 { packed.saturating_mul(MAX_RATIO) } else { packed };
    let member = if flags & 1 != 0 {
        bad("a ZIP member is encrypted")
    } else if method != 0 && method != 8 {
        bad(format_args!("a ZIP member is packed by method {method}; known are 0 (stored) and 8 (deflate)"))
    } else if size > possible || (method == 0 && size != packed) {
        bad(format_args!("a ZIP member of {packed} bytes claims to hold {size}"))
    } else {
        Ok(Member { deflated: method == 8, crc, packed, size, header_at, name: mark })
    };
    Some((name, member, used))
}

/// Writes an archive front to back.
pub(crate) struct ZipWriter<W> {
    sink: W,
    at: u64,
    directory: Vec<u8>,
    count: u64,
}

/// A member as the directory and its own head have it.
struct Written<'a> {
    name: &'a str,
    size: u64,
    /// Bytes that it takes deflated, if it is.
    packed: Option<u64>,
    /// Where its head is.
    at: u64,
}

impl Written<'_> {
    /// The head in front of the member, and its entry in the directory. Their lengths do not depend on the checksum.
    fn heads(&self, checksum: u32) -> (Vec<u8>, Vec<u8>) {
        let Written { name, size, packed, at } = *self;
        let method = if packed.is_some() { 8 } else { 0 };
        let packed = packed.unwrap_or(size);
        let wide = size >= MAX_U32 || packed >= MAX_U32 || at >= MAX_U32;
        let short = |v: u64| if wide { u32::MAX } else { v as u32 }.to_le_bytes();
        // Version needed, flags (names are UTF-8), method, time and date (1980-01-01), checksum, sizes.
        let mut common = vec![if wide { 45 } else { 20 }, 0, 0, 8, method, 0, 0, 0, 0x21, 0];
        common.extend(checksum.to_le_bytes());
        common.extend(short(packed));
        common.extend(short(size));
        common.extend((name.len() as u16).to_le_bytes());
        let extra = |offset: bool| {
            let mut out = Vec::new();
            if wide {
                out.extend([1, 0, if offset { 24 } else { 16 }, 0]);
                out.extend(size.to_le_bytes());
                out.extend(packed.to_le_bytes());
                if offset {
                    out.extend(at.to_le_bytes());
                }
            }
            out
        };
        let (inner, outer) = (extra(false), extra(true));
        let local = [b"PK\x03\x04", &common[..], &(inner.len() as u16).to_le_bytes(), name.as_bytes(), &inner].concat();
        let mut central = b"PK\x01\x02\x2d\x00".to_vec();
        central.extend(&common);
        central.extend((outer.len() as u16).to_le_bytes());
        central.extend([0; 10]); // comment, disk, attributes
        central.extend(short(at));
        central.extend(name.as_bytes());
        central.extend(&outer);
        (local, central)
    }
}

/// A member whose bytes are written later, by somebody else.
pub(crate) struct Reserved {
    name: String,
    /// What the member begins with.
    head: Vec<u8>,
    size: u64,
    at: u64,
}

impl<W: Write + Seek> ZipWriter<W> {
    /// Leaves room for a member that begins with `head` and has `len` more bytes. Also gives where these belong.
    pub(crate) fn reserve(&mut self, name: String, head: Vec<u8>, len: u64) -> io::Result<(Reserved, u64)> {
        let (size, at) = (head.len() as u64 + len, self.at);
        let before = Written { name: &name, size, packed: None, at }.heads(0).0.len() as u64 + head.len() as u64;
        self.at = at + before + len;
        self.sink.seek(SeekFrom::Start(self.at))?;
        Ok((Reserved { name, head, size, at }, at + before))
    }

    /// Writes what stands in front of such bytes, when their checksum is known.
    pub(crate) fn settle(&mut self, reserved: &Reserved, bytes: &Crc) -> io::Result<()> {
        let Reserved { name, head, size, at } = reserved;
        let mut checksum = Crc::new();
        checksum.update(head);
        checksum.combine(bytes);
        let (local, central) = Written { name, size: *size, packed: None, at: *at }.heads(checksum.sum());
        self.sink.seek(SeekFrom::Start(*at))?;
        self.sink.write_all(&local)?;
        self.sink.write_all(head)?;
        self.sink.seek(SeekFrom::Start(self.at))?;
        self.directory.extend(&central);
        self.count += 1;
        Ok(())
    }
}

impl<W: Write> ZipWriter<W> {
    pub(crate) fn new(sink: W) -> ZipWriter<W> {
        ZipWriter { sink, at: 0, directory: Vec::new(), count: 0 }
    }

    fn put(&mut self, bytes: &[u8], tell: &Tell<'_>) -> io::Result<()> {
        steps::write_all(&mut self.sink, bytes, tell)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Adds a member made of parts, deflated at a level if there is one.
    pub(crate) fn add(&mut self, name: &str, parts: &[&[u8]], level: Option<u8>, tell: &Tell<'_>) -> io::Result<()> {
        let compress = level.is_some();
        let mut crc = Crc::new();
        parts.iter().for_each(|p| crc.update(p));
        let size: u64 = parts.iter().map(|p| p.len() as u64).sum();
        let mut deflated = Vec::new();
        if let Some(level) = level {
            let mut encoder = DeflateEncoder::new(&mut deflated, Compression::new(level.into()));
            for part in parts {
                steps::write_all(&mut encoder, part, tell)?;
            }
            encoder.finish()?;
        }
        let packed = if compress { deflated.len() as u64 } else { size };
        let member = Written { name, size, packed: compress.then_some(packed), at: self.at };
        let (local, central) = member.heads(crc.sum());
        self.put(&local, &Tell::nobody())?;
        if compress {
            self.put(&deflated, &Tell::nobody())?;
        } else {
            for part in parts {
                self.put(part, tell)?;
            }
        }
        self.directory.extend(&central);
        self.count += 1;
        Ok(())
    }
    /// Writes the directory.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        let (at, size, count) = (self.at, self.directory.len() as u64, self.count);
        let directory = std::mem::take(&mut self.directory);
        self.put(&directory, &Tell::nobody())?;
        let wide = at >= MAX_U32 || size >= MAX_U32 || count >= 0xffff;
        if wide {
            let record_at = self.at;
            let mut record = b"PK\x06\x06\x2c\0\0\0\0\0\0\0\x2d\0\x2d\0\0\0\0\0\0\0\0\0".to_vec();
            for value in [count, count, size, at] {
                record.extend(value.to_le_bytes());
            }
            record.extend(b"PK\x06\x07\0\0\0\0");
            record.extend(record_at.to_le_bytes());
            record.extend(1u32.to_le_bytes());
            self.put(&record, &Tell::nobody())?;
        }
        let count = if wide { u16::MAX } else { count as u16 }.to_le_bytes();
        let short = |v: u64| if wide { u32::MAX } else { v as u32 }.to_le_bytes();
        self.put(
            &[b"PK\x05\x06\0\0\0\0", &count[..], &count, &short(size), &short(at), &[0, 0]].concat(),
            &Tell::nobody(),
        )?;
        Ok(self.sink)
    }
}
