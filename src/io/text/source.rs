//! Text in: from memory or a file, unpacked, as blocks of whole lines that are parsed in parallel.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::cursor::Cursor;
use super::error::ParseError;
use super::packing::Packing;
use crate::base::error::{Error, ErrorKind};
use crate::base::parallel;
use crate::io::Progress;

/// Bytes of a block: what is in memory at a time.
const BLOCK: usize = 8 << 20;
/// The same where one thread alone reads and parses: what it has read is still in its cache, and no other waits for it to have more.
const BLOCK_OF_ONE: usize = 2 << 20;
/// Bytes that one thread reads from a file at a time.
const READ: usize = 512 << 10;
/// Bytes of a piece of a block, which one thread parses.
const PIECE: usize = 128 << 10;
/// The most bytes that one line may have, and those above the entries together: what a small compressed file unpacks to
/// is not held in memory to find out that it is no line.
const LONGEST: usize = 16 << 20;

/// Why a reader stopped.
pub(in crate::io) enum Failure {
    Io(io::Error),
    Parse(ParseError),
}

impl From<ParseError> for Failure {
    fn from(error: ParseError) -> Failure {
        Failure::Parse(error)
    }
}

impl Failure {
    /// The error for a caller, naming the file of a format.
    pub(in crate::io) fn of(self, format: &'static str, path: Option<&Path>) -> Error {
        let path = path.map(Path::to_owned);
        match (self, path) {
            (Failure::Io(source), Some(path)) => ErrorKind::Io { path, source }.into(),
            (failure, path) => ErrorKind::Format { path, format, source: Box::new(failure.in_text()) }.into(),
        }
    }

    /// What is wrong with a text whose bytes are at hand.
    pub(in crate::io) fn in_text(self) -> ParseError {
        match self {
            Failure::Io(error) => ParseError { line: 1, message: error.to_string() },
            Failure::Parse(error) => error,
        }
    }
}

/// A text, if it could be opened.
pub(in crate::io) type Opened<'a> = Result<TextSource<'a>, Failure>;

/// Why a header could not be read from the lines at hand.
pub(in crate::io) enum Short {
    /// The lines are all right but end too early: if none follow, this is the error.
    More(String),
    Wrong(ParseError),
}

impl From<ParseError> for Short {
    fn from(error: ParseError) -> Short {
        Short::Wrong(error)
    }
}

enum Input<'a> {
    Slice(&'a [u8]),
    Reader { feed: Feed<'a>, packing: Option<Packing>, buffer: Vec<u8>, filled: usize },
}

/// Where bytes come from.
enum Feed<'a> {
    Stream(Box<dyn Read + 'a>),
    /// A plain file, read by several threads at a time.
    File(File),
}

impl Feed<'_> {
    /// Fills `out` from the byte number `at` on, where streams are anyway; fewer bytes only at the end of a file.
    fn read(&mut self, out: &mut [u8], at: u64) -> io::Result<usize> {
        match self {
            Feed::Stream(reader) => reader.read(out),
            Feed::File(file) => read_at(file, out, at),
        }
    }
}

/// Reads up to the end of the file or of `out`, in pieces of [`READ`] bytes.
#[cfg(unix)]
fn read_at(file: &File, out: &mut [u8], at: u64) -> io::Result<usize> {
    use std::os::unix::fs::FileExt;

    let end = AtomicUsize::new(out.len());
    let failed = Mutex::new(None);
    parallel::for_chunks_mut(out, 1, READ, &|first, out| {
        let mut done = 0;
        while let Some(room) = out.get_mut(done..).filter(|room| !room.is_empty()) {
            match file.read_at(room, at + (first + done) as u64) {
                Ok(0) => {
                    end.fetch_min(first + done, Ordering::Relaxed);
                    break;
                }
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    break;
                }
            }
        }
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        None => Ok(end.into_inner()),
        Some(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn read_at(mut file: &File, out: &mut [u8], at: u64) -> io::Result<usize> {
    io::Seek::seek(&mut file, io::SeekFrom::Start(at))?;
    file.read(out)
}

/// A text, block by block.
pub(in crate::io) struct TextSource<'a> {
    input: Input<'a>,
    block: Range<usize>,
    /// Nothing follows the block.
    ended: bool,
    /// Line feeds before the block.
    lines: u64,
    /// Whether text before the block ends inside a line.
    open_line: bool,
    /// Bytes of text so far, those read ahead among them.
    text: u64,
    raw: Rc<Cell<u64>>,
    /// Bytes of the input as it is stored; 0 if that is not known.
    total: u64,
    max_bytes: Option<u64>,
    progress: Option<Progress<'a>>,
}

/// Counts the bytes of a reader.
struct Counted<R>(R, Rc<Cell<u64>>);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read(buffer)?;
        self.1.set(self.1.get() + n as u64);
        Ok(n)
    }
}

fn block_size() -> usize {
    if parallel::threads() == 1 { BLOCK_OF_ONE } else { BLOCK }
}

impl<'a> TextSource<'a> {
    /// The text of these bytes, or of what they are when decompressed.
    pub(in crate::io) fn bytes(
        bytes: &'a [u8],
        max_bytes: Option<u64>,
        progress: Option<Progress<'a>>,
    ) -> Result<TextSource<'a>, Failure> {
        let end = max_bytes.and_then(|limit| usize::try_from(limit).ok()).filter(|&end| end < bytes.len());
        if let (Some(end), Some(limit)) = (end, max_bytes) {
            return Err(ParseError::at(bytes, end, too_large(limit)).into());
        }
        let raw = Rc::new(Cell::new(0));
        let input = match Packing::of(bytes) {
            Some(packing) => {
                let reader = packing.unpacked(Counted(bytes, raw.clone()));
                Input::Reader { feed: Feed::Stream(reader), packing: Some(packing), buffer: Vec::new(), filled: 0 }
            }
            None => Input::Slice(bytes),
        };
        Ok(TextSource::new(input, raw, bytes.len() as u64, max_bytes, progress))
    }

    /// The text of a file, decompressed if it starts like a compressed stream.
    pub(in crate::io) fn open(
        path: &Path,
        max_bytes: Option<u64>,
        progress: Option<Progress<'a>>,
    ) -> Result<TextSource<'a>, Failure> {
        TextSource::file(File::open(path).map_err(Failure::Io)?, max_bytes, progress)
    }

    /// The text of an open file, from where it is.
    pub(in crate::io) fn file(
        mut file: File,
        max_bytes: Option<u64>,
        progress: Option<Progress<'a>>,
    ) -> Result<TextSource<'a>, Failure> {
        let metadata = file.metadata().map_err(Failure::Io)?;
        let mut first = Vec::with_capacity(Packing::START);
        (&mut file).take(Packing::START as u64).read_to_end(&mut first).map_err(Failure::Io)?;
        if Packing::of(&first).is_none() && metadata.is_file() {
            let input = Input::Reader { feed: Feed::File(file), packing: None, buffer: Vec::new(), filled: 0 };
            return Ok(TextSource::new(input, Rc::new(Cell::new(0)), metadata.len(), max_bytes, progress));
        }
        let all = Box::new(io::Cursor::new(first).chain(file));
        let mut source = TextSource::stream(all, max_bytes, progress)?;
        source.total = metadata.len();
        Ok(source)
    }

    /// The text that comes from a pipe or any other reader, decompressed if it starts like a gzip stream. Nothing is
    /// read twice.
    pub(in crate::io) fn stream(
        mut reader: Box<dyn Read + 'a>,
        max_bytes: Option<u64>,
        progress: Option<Progress<'a>>,
    ) -> Result<TextSource<'a>, Failure> {
        let mut first = Vec::with_capacity(Packing::START);
        reader.by_ref().take(Packing::START as u64).read_to_end(&mut first).map_err(Failure::Io)?;
        let packing = Packing::of(&first);
        let raw = Rc::new(Cell::new(0));
        let all = io::Cursor::new(first).chain(reader);
        let stream: Box<dyn Read + 'a> = match packing {
            Some(packing) => packing.unpacked(Counted(all, raw.clone())),
            None => Box::new(all),
        };
        let input = Input::Reader { feed: Feed::Stream(stream), packing, buffer: Vec::new(), filled: 0 };
        Ok(TextSource::new(input, raw, 0, max_bytes, progress))
    }

    fn new(
        input: Input<'a>,
        raw: Rc<Cell<u64>>,
        total: u64,
        max_bytes: Option<u64>,
        progress: Option<Progress<'a>>,
    ) -> TextSource<'a> {
        let (block, ended, lines, open_line, text) = (0..0, false, 0, false, 0);
        TextSource { input, block, ended, lines, open_line, text, raw, total, max_bytes, progress }
    }

    fn block(&self) -> &[u8] {
        let all = match &self.input {
            Input::Slice(bytes) => bytes,
            Input::Reader { buffer, .. } => &**buffer,
        };
        all.get(self.block.clone()).unwrap_or_default()
    }

    /// The number of bytes of text that are still to come, if it is known.
    pub(in crate::io) fn remaining(&self) -> Option<u64> {
        match &self.input {
            Input::Slice(bytes) => Some((bytes.len() - self.block.start) as u64),
            Input::Reader { feed: Feed::Stream(_), .. } => None,
            Input::Reader { filled, .. } => {
                Some(self.total.saturating_sub(self.raw.get()) + (filled - self.block.start) as u64)
            }
        }
    }

    /// Moves past the first `count` bytes of the block.
    fn consume(&mut self, count: usize) {
        let lines = newlines(self.block().get(..count).unwrap_or_default());
        self.consume_lines(count, lines);
    }

    /// Moves past the first `count` bytes of the block, which have so many line feeds.
    fn consume_lines(&mut self, count: usize, lines: u64) {
        if let Some(&last) = self.block().get(..count).unwrap_or_default().last() {
            self.open_line = last != b'\n';
        }
        self.lines += lines;
        self.block.start += count;
    }

    /// Moves to the next block; false at the end of the text.
    fn next(&mut self) -> Result<bool, Failure> {
        self.consume(self.block.len());
        Ok(!self.ended && self.grow(block_size())? && !self.block.is_empty())
    }

    /// Makes the block longer by whole lines; false if there are none.
    fn grow(&mut self, more: usize) -> Result<bool, Failure> {
        if self.ended {
            return Ok(false);
        }
        let mut wanted = self.block.len() + more;
        loop {
            self.fill(wanted)?;
            if self.ended {
                return Ok(true);
            }
            let (all, filled) = match &self.input {
                Input::Slice(bytes) => (*bytes, (self.block.start + wanted).min(bytes.len())),
                Input::Reader { buffer, filled, .. } => (&**buffer, *filled),
            };
            let fresh = all.get(self.block.end..filled).unwrap_or_default();
            if let Some(last) = fresh.iter().rposition(|&byte| byte == b'\n') {
                self.block.end += last + 1;
                return Ok(true);
            }
            if fresh.len() > LONGEST {
                let line = self.lines + newlines(self.block()) + 1;
                let message = format!("the line is longer than {LONGEST} bytes, which no line needs to be");
                return Err(ParseError { line, message }.into());
            }
            wanted = wanted.saturating_mul(2);
        }
    }

    /// Has at least `wanted` bytes from the start of the block in memory, or all there are: then the block is these.
    fn fill(&mut self, wanted: usize) -> Result<(), Failure> {
        let (feed, packing, buffer, filled) = match &mut self.input {
            Input::Slice(bytes) => {
                if bytes.len() - self.block.start <= wanted {
                    (self.block.end, self.ended) = (bytes.len(), true);
                }
                return Ok(());
            }
            Input::Reader { feed, packing, buffer, filled } => (feed, *packing, buffer, filled),
        };
        let start = self.block.start;
        buffer.copy_within(start..*filled, 0);
        (self.block, *filled) = (0..self.block.end - start, *filled - start);
        // Memory follows what has come: the size that a file tells is believed once, a gzip stream's is not known.
        let known = matches!(feed, Feed::File(_));
        let first = if known { usize::try_from(self.total).unwrap_or(wanted).max(1 << 16) } else { 1 << 18 };
        let wanted = wanted.min(first.saturating_add(1).max(buffer.len().saturating_mul(2)));
        if buffer.len() < wanted.max(*filled + 1) {
            let missing = wanted.max(*filled + 4096) - buffer.len();
            let reserved = buffer.try_reserve_exact(missing);
            reserved.map_err(|_| Failure::Io(io::Error::from(io::ErrorKind::OutOfMemory)))?;
            buffer.resize(buffer.len() + missing, 0);
        }
        while let Some(room) = buffer.get_mut(*filled..).filter(|room| !room.is_empty()) {
            match feed.read(room, self.text) {
                Ok(0) => {
                    (self.block.end, self.ended) = (*filled, true);
                    break;
                }
                Ok(n) => {
                    *filled += n;
                    self.text += n as u64;
                    if packing.is_none() {
                        self.raw.set(self.text);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let Some(packing) = packing.filter(|_| error.kind() != io::ErrorKind::Unsupported) else {
                        return Err(Failure::Io(error));
                    };
                    let name = packing.name();
                    let message = format!(
                        "the {name} stream is cut off or damaged after {} bytes of text ({error}); \
                         a whole {name} stream or plain text is expected",
                        self.text
                    );
                    let read = buffer.get(..*filled).unwrap_or_default();
                    return Err(ParseError::at(read, read.len(), message).below(self.lines).into());
                }
            }
            let Some(limit) = self.max_bytes else { continue };
            if self.text.max(self.raw.get()) > limit {
                let excess = usize::try_from(self.text.saturating_sub(limit)).unwrap_or(usize::MAX);
                let read = buffer.get(..*filled).unwrap_or_default();
                let at = read.len().saturating_sub(excess);
                return Err(ParseError::at(read, at, too_large(limit)).below(self.lines).into());
            }
        }
        Ok(())
    }

    /// An error at the last line of the text so far.
    pub(in crate::io) fn at_end(&self, message: String) -> Failure {
        let block = self.block();
        let open = block.last().map_or(self.open_line, |&last| last != b'\n');
        let line = (self.lines + newlines(block) + u64::from(open)).max(1);
        Failure::Parse(ParseError { line, message })
    }

    /// Reads the first lines with `read`, with as many of them at hand as it needs, and moves past them. It is also told
    /// whether these are all the lines there are.
    pub(in crate::io) fn header<H>(
        &mut self,
        read: impl Fn(&mut Cursor<'_>, bool) -> Result<H, Short>,
    ) -> Result<H, Failure> {
        self.next()?;
        loop {
            let mut cursor = Cursor::new(self.block());
            match read(&mut cursor, self.ended) {
                Ok(header) => {
                    let position = cursor.position();
                    self.consume(position);
                    return Ok(header);
                }
                Err(Short::Wrong(error)) => return Err(error.below(self.lines).into()),
                Err(Short::More(_)) if self.block.len() > LONGEST => {
                    let message = format!("what stands above the entries takes more than {LONGEST} bytes");
                    return Err(self.at_end(message));
                }
                Err(Short::More(message)) => {
                    let more = self.block.len().max(block_size());
                    if !self.grow(more)? {
                        return Err(self.at_end(message));
                    }
                }
            }
        }
    }

    /// Parses all lines that are left, pieces of them in parallel; `take` gets the parts in order. Returns the number of
    /// entries.
    ///
    /// `parse` gets whole lines and the most entries that they may hold; more of them are its error. `count` says how
    /// many a part has. The error is that of the first line at fault.
    pub(in crate::io) fn entries<P: Send>(
        &mut self,
        listed: u64,
        parse: &(dyn Fn(&[u8], u64) -> Result<P, ParseError> + Sync),
        count: &dyn Fn(&P) -> usize,
        take: &mut dyn FnMut(Vec<P>) -> Result<(), String>,
    ) -> Result<u64, Failure> {
        let mut done = 0_u64;
        loop {
            let block = self.block();
            let pieces = pieces(block);
            let piece = |i: usize| pieces.get(i).and_then(|range| block.get(range.clone())).unwrap_or_default();
            let parsed = parallel::map_chunks(pieces.len(), 1, &|one| {
                let text = piece(one.start);
                (parse(text, listed), newlines(text))
            });
            let (mut parts, mut lines) = (Vec::with_capacity(parsed.len()), 0);
            for (i, (part, within)) in parsed.into_iter().enumerate() {
                let left = listed - done;
                // With what came before it known, the first error of the piece is the first of the text.
                let part = match part {
                    Ok(part) if count(&part) as u64 <= left => Ok(part),
                    _ => parse(piece(i), left),
                };
                let part = part.map_err(|error| error.below(self.lines + lines))?;
                lines += within;
                done += count(&part) as u64;
                parts.push(part);
            }
            take(parts).map_err(|message| self.at_end(message))?;
            self.report_progress();
            self.consume_lines(self.block.len(), lines);
            if !self.next()? {
                return Ok(done);
            }
        }
    }

    /// Reports every line at fault among those that are left; the number of entries, those at fault among them.
    ///
    /// `check` gets whole lines, as the `parse` of [`entries`](Self::entries) does, and gives the number of entries.
    pub(in crate::io) fn violations(
        &mut self,
        check: &(dyn Fn(&[u8]) -> Result<u64, ParseError> + Sync),
        report: &mut dyn FnMut(ParseError),
    ) -> Result<u64, Failure> {
        let mut found = 0_u64;
        loop {
            let block = self.block();
            let pieces = pieces(block);
            let piece = |i: usize| pieces.get(i).and_then(|range| block.get(range.clone())).unwrap_or_default();
            let checked = parallel::map_chunks(pieces.len(), 1, &|one| check(piece(one.start)));
            let mut lines = self.lines;
            for (i, checked) in checked.into_iter().enumerate() {
                let text = piece(i);
                found += checked.unwrap_or_else(|_| {
                    let each = text.split_inclusive(|&byte| byte == b'\n').zip(lines..);
                    each.map(|(line, before)| {
                        check(line).unwrap_or_else(|error| {
                            report(error.below(before));
                            1
                        })
                    })
                    .sum()
                });
                lines += newlines(text);
            }
            self.report_progress();
            if !self.next()? {
                return Ok(found);
            }
        }
    }

    fn report_progress(&self) {
        if let Some(Progress(report)) = self.progress.filter(|_| !self.ended) {
            let raw = if matches!(self.input, Input::Slice(_)) { self.block.end as u64 } else { self.raw.get() };
            report(if self.total == 0 { raw } else { raw.min(self.total) }, self.total);
        }
    }

    /// Says that all is done.
    pub(in crate::io) fn finish(&self) {
        if let Some(Progress(report)) = self.progress {
            let total = if self.total == 0 { self.raw.get() } else { self.total };
            report(total, total);
        }
    }
}

/// Reports a fault of the text, hands on any other.
pub(in crate::io) fn text_reported(
    checked: Result<(), Failure>,
    report: &mut dyn FnMut(ParseError),
) -> Result<(), Failure> {
    match checked {
        Err(Failure::Parse(error)) => {
            report(error);
            Ok(())
        }
        other => other,
    }
}

fn too_large(limit: u64) -> String {
    format!("the input is larger than the {limit} bytes that the caller allows")
}

fn newlines(text: &[u8]) -> u64 {
    // Sums of so few fit a byte, which vector code adds fastest.
    let few = |text: &[u8]| text.iter().map(|&byte| u8::from(byte == b'\n')).sum::<u8>();
    text.chunks(192).map(|text| u64::from(few(text))).sum()
}

/// Ranges of whole lines, of about one size: where they are cut follows from the text alone.
fn pieces(block: &[u8]) -> Vec<Range<usize>> {
    let mut pieces = Vec::with_capacity(block.len() / PIECE + 1);
    let mut start = 0;
    while start < block.len() {
        let rest = block.get(start + PIECE..).unwrap_or_default();
        let end = match rest.iter().position(|&byte| byte == b'\n') {
            Some(newline) => start + PIECE + newline + 1,
            None => block.len(),
        };
        pieces.push(start..end);
        start = end;
    }
    pieces
}
