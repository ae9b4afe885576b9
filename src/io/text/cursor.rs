//! A place in the text, and the scanners that move it: the inner loop of the reader.
//!
//! Scanners return a [`Problem`], which is small; the line and the message are worked out from it once, after the
//! fact, so that the loop counts no lines and builds no text.

/// A part of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::io) enum EntryPart {
    Row,
    Column,
    Value,
    Imaginary,
    /// The index of one mode of a tensor.
    Mode(usize),
}

/// Why a scanner stopped; [`Cursor::mark`] says where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::io) enum Problem {
    /// The line ends where a part should be.
    Missing(EntryPart),
    /// Not a whole number.
    NotAnIndex(EntryPart),
    /// A whole number that is 0 or beyond the size.
    OutOfRange(EntryPart),
    /// Not a number of the file's field.
    NotAValue,
    /// An integer that does not fit.
    Overflow,
    /// The last token of an entry is glued to something that is no part of it.
    Glued,
    /// More than an entry on a line.
    Trailing,
    /// A carriage return that does not end a line.
    LoneReturn,
}

/// A place in the text.
#[derive(Clone, Copy)]
pub(in crate::io) struct Cursor<'a> {
    bytes: &'a [u8],
    pos: usize,
    /// Where the last token started, or what stands in the place of the one that was expected.
    mark: usize,
}

impl<'a> Cursor<'a> {
    pub(in crate::io) fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, pos: 0, mark: 0 }
    }

    pub(in crate::io) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    pub(in crate::io) fn mark(self) -> usize {
        self.mark
    }

    pub(in crate::io) fn position(self) -> usize {
        self.pos
    }

    /// The number of bytes not read yet.
    pub(in crate::io) fn remaining(self) -> usize {
        self.bytes.len().saturating_sub(self.pos)
    }

    #[inline(always)]
    fn peek(self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    /// The whole token at [`mark`](Self::mark).
    pub(in crate::io) fn token(self) -> &'a [u8] {
        let rest = self.bytes.get(self.mark..).unwrap_or_default();
        let end = rest.iter().position(|&byte| is_space(byte)).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    /// Moves past a token and returns it; empty at the end of a line.
    pub(in crate::io) fn word(&mut self) -> &'a [u8] {
        self.mark = self.pos;
        let word = self.token();
        self.pos += word.len();
        word
    }

    /// Moves past blanks, not past the end of a line.
    #[inline(always)]
    pub(in crate::io) fn blanks(&mut self) {
        while let Some(b' ' | b'\t') = self.peek() {
            self.pos += 1;
        }
    }

    /// The rest of the line, with neither its end nor blanks around it; moves to the next line.
    pub(in crate::io) fn line(&mut self) -> &'a [u8] {
        let start = self.pos;
        self.pos = after_line(self.bytes, start);
        self.bytes.get(start..self.pos).unwrap_or_default().trim_ascii()
    }

    /// Moves to the first token of a line, past blank lines but not past comments; false at the end of the text.
    pub(in crate::io) fn seek_token(&mut self) -> Result<bool, Problem> {
        loop {
            match self.peek() {
                None => return Ok(false),
                Some(b' ' | b'\t' | b'\n') => self.pos += 1,
                Some(b'\r') => self.end_line()?,
                Some(_) => return Ok(true),
            }
        }
    }

    /// Moves to the first token of an entry, past blank lines and lines that start with `comment`; false at the end of the text.
    #[inline(always)]
    pub(in crate::io) fn seek_entry(&mut self, comment: u8) -> Result<bool, Problem> {
        loop {
            match self.peek() {
                Some(b'0'..=b'9' | b'-') => return Ok(true),
                Some(byte) if byte == comment => self.pos = after_line(self.bytes, self.pos),
                _ => {
                    if !self.seek_token()? {
                        return Ok(false);
                    }
                    if self.peek() != Some(comment) {
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// Moves over the blanks between two parts of an entry; `next` is the part to come.
    #[inline(always)]
    pub(in crate::io) fn gap(&mut self, next: EntryPart) -> Result<(), Problem> {
        if self.peek() != Some(b' ') && self.peek() != Some(b'\t') {
            return Err(if self.at_space() { self.missing(next) } else { before(next) });
        }
        self.blanks();
        if self.at_space() { Err(self.missing(next)) } else { Ok(()) }
    }

    pub(in crate::io) fn missing(&mut self, part: EntryPart) -> Problem {
        self.mark = self.pos;
        Problem::Missing(part)
    }

    /// Whether a blank, the end of a line or the end of the text comes next.
    #[inline(always)]
    pub(in crate::io) fn at_space(self) -> bool {
        self.peek().is_none_or(is_space)
    }

    /// Moves past the end of a line, of which nothing but blanks may be left.
    #[inline(always)]
    pub(in crate::io) fn end_line(&mut self) -> Result<(), Problem> {
        if self.peek() == Some(b'\n') {
            self.pos += 1;
            return Ok(());
        }
        let start = self.pos;
        self.blanks();
        match self.peek() {
            None => return Ok(()),
            Some(b'\n') => {
                self.pos += 1;
                return Ok(());
            }
            Some(b'\r') => {}
            Some(_) if self.pos == start => return Err(Problem::Glued),
            Some(_) => {
                self.mark = self.pos;
                return Err(Problem::Trailing);
            }
        }
        match self.bytes.get(self.pos + 1) {
            None => self.pos += 1,
            Some(b'\n') => self.pos += 2,
            Some(_) => {
                self.mark = self.pos;
                return Err(Problem::LoneReturn);
            }
        }
        Ok(())
    }

    /// A run of decimal digits; `None` where there is no digit, [`Problem::Overflow`] beyond 2^64−1.
    #[inline(always)]
    pub(in crate::io) fn digits(&mut self) -> Result<Option<u64>, Problem> {
        if let Some(&word) = self.bytes.get(self.pos..).and_then(|rest| rest.first_chunk::<8>())
            && let Some((value, length)) = short_digits(u64::from_le_bytes(word))
        {
            self.pos += length;
            return Ok((length > 0).then_some(value));
        }
        self.any_digits()
    }

    /// The same digit by digit: at the end of the text, and for eight digits or more.
    fn any_digits(&mut self) -> Result<Option<u64>, Problem> {
        let start = self.pos;
        let mut pos = start;
        let mut value = 0_u64;
        while let Some(&byte) = self.bytes.get(pos) {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            pos += 1;
        }
        self.pos = pos;
        match pos - start {
            0 => Ok(None),
            1..=19 => Ok(Some(value)),
            _ => long_digits(self.bytes.get(start..pos).unwrap_or_default()).map(Some),
        }
    }

    /// The index of one mode of a tensor, counted from `base` in the text and from 0 in the result.
    #[inline(always)]
    pub(in crate::io) fn mode(&mut self, mode: usize, base: u64, size: u64) -> Result<u64, Problem> {
        self.mark = self.pos;
        let index = match self.digits() {
            Ok(Some(number)) => number.wrapping_sub(base),
            Ok(None) => return Err(Problem::NotAnIndex(EntryPart::Mode(mode))),
            Err(_) => u64::MAX,
        };
        if !self.at_space() {
            return Err(Problem::NotAnIndex(EntryPart::Mode(mode)));
        }
        if index < size { Ok(index) } else { Err(Problem::OutOfRange(EntryPart::Mode(mode))) }
    }

    /// An index, counted from 1 in the text and from 0 in the result.
    #[inline(always)]
    pub(in crate::io) fn index(&mut self, part: EntryPart, size: u64) -> Result<u64, Problem> {
        self.mark = self.pos;
        let index = match self.digits() {
            Ok(Some(number)) => number.wrapping_sub(1),
            Ok(None) => return Err(Problem::NotAnIndex(part)),
            Err(_) => u64::MAX,
        };
        if index < size { Ok(index) } else { Err(Problem::OutOfRange(part)) }
    }

    /// A real number, rounded correctly.
    #[inline(always)]
    pub(in crate::io) fn real(&mut self) -> Result<f64, Problem> {
        self.mark = self.pos;
        let rest = self.bytes.get(self.pos..).unwrap_or_default();
        if let Some((value, length)) = short_whole(rest) {
            self.pos += length;
            return Ok(value);
        }
        match fast_float2::parse_partial::<f64, _>(rest) {
            Ok((value, length)) => {
                self.pos += length;
                Ok(value)
            }
            Err(_) => Err(Problem::NotAValue),
        }
    }

    /// A signed integer.
    #[inline(always)]
    pub(in crate::io) fn signed(&mut self) -> Result<i64, Problem> {
        self.mark = self.pos;
        let negative = self.peek() == Some(b'-');
        if negative || self.peek() == Some(b'+') {
            self.pos += 1;
        }
        let magnitude = self.digits()?.ok_or(Problem::NotAValue)?;
        let value =
            if negative { 0_i64.checked_sub_unsigned(magnitude) } else { 0_i64.checked_add_unsigned(magnitude) };
        value.ok_or(Problem::Overflow)
    }

    /// An unsigned integer.
    #[inline(always)]
    pub(in crate::io) fn unsigned(&mut self) -> Result<u64, Problem> {
        self.mark = self.pos;
        if self.peek() == Some(b'+') {
            self.pos += 1;
        }
        self.digits()?.ok_or(Problem::NotAValue)
    }
}

/// The number that the first bytes of a word spell, first byte lowest, and how many digits it has; `None` if all eight
/// are digits. No branch depends on the length, which predictors cannot guess.
///
/// Three multiplications join neighbours, then pairs, then quadruples: D. Lemire, "Number parsing at a gigabyte per
/// second", Software: Practice and Experience 51 (2021).
#[inline(always)]
fn short_digits(word: u64) -> Option<(u64, usize)> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const PAIRS: u64 = 0x0000_00ff_0000_00ff;
    let digits = word ^ (ONES * 0x30);
    // The high bit of each byte that is no digit: it was set, or adding 118 to a number above 9 sets it.
    let others = (((digits & (ONES * 0x7f)) + ONES * 118) | digits) & (ONES * 0x80);
    if others == 0 {
        return None;
    }
    let length = others.trailing_zeros() as usize / 8;
    // Zeros in front, so that the digits end where eight of them would.
    let digits = (digits << (56 - 8 * length)) << 8;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let high = (pairs & PAIRS).wrapping_mul(100 + (1_000_000 << 32));
    let low = ((pairs >> 16) & PAIRS).wrapping_mul(1 + (10_000 << 32));
    Some((high.wrapping_add(low) >> 32, length))
}

/// The whole number of up to seven digits that some text begins with, and its length, if a blank or the end of a line follows: values
/// of many files are such.
#[inline(always)]
fn short_whole(text: &[u8]) -> Option<(f64, usize)> {
    let negative = *text.first()? == b'-';
    let start = usize::from(negative);
    let word = text.get(start..)?.first_chunk::<8>()?;
    let (value, length) = short_digits(u64::from_le_bytes(*word))?;
    let ends = length > 0 && is_space(*word.get(length)?);
    let value = value as f64;
    ends.then_some((if negative { -value } else { value }, start + length))
}

/// The problem of a part that is glued to something, given the part that should follow it.
#[cold]
fn before(next: EntryPart) -> Problem {
    match next {
        EntryPart::Row | EntryPart::Column => Problem::NotAnIndex(EntryPart::Row),
        EntryPart::Value => Problem::NotAnIndex(EntryPart::Column),
        EntryPart::Imaginary => Problem::NotAValue,
        EntryPart::Mode(mode) => Problem::NotAnIndex(EntryPart::Mode(mode.saturating_sub(1))),
    }
}

#[inline(always)]
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// The start of the line after the one that `start` is in.
#[inline(never)]
fn after_line(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    start + rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |newline| newline + 1)
}

#[cold]
#[inline(never)]
fn long_digits(digits: &[u8]) -> Result<u64, Problem> {
    digits
        .iter()
        .try_fold(0_u64, |value, &byte| value.checked_mul(10)?.checked_add(u64::from(byte.wrapping_sub(b'0'))))
        .ok_or(Problem::Overflow)
}

#[cfg(test)]
#[path = "tests/cursor.rs"]
mod tests;
