//! What can go wrong while reading, and how it is said.

use std::fmt;

pub(in crate::io) const LONE_RETURN: &str =
    "a carriage return stands inside a line; lines have to end with a line feed, or with both";

/// What an entry of the file has in the place of its value.
#[derive(Clone, Copy)]
pub(in crate::io) struct Expected {
    /// How many numbers.
    pub(in crate::io) numbers: usize,
    /// What each of them can be.
    pub(in crate::io) allowed: &'static str,
}

/// The text is not one that the reader accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The line at fault, counted from 1.
    pub line: u64,
    /// What was found there, and what is allowed.
    pub message: String,
}

impl ParseError {
    /// An error at the line that holds byte `position` of `bytes`.
    #[cold]
    #[inline(never)]
    pub(in crate::io) fn at(bytes: &[u8], position: usize, message: impl Into<String>) -> Self {
        let before = bytes.get(..position).unwrap_or(bytes);
        let newlines = before.iter().filter(|&&byte| byte == b'\n').count();
        ParseError { line: newlines as u64 + 1, message: message.into() }
    }

    /// The same error in a text with so many lines before it.
    pub(in crate::io) fn below(self, lines: u64) -> Self {
        ParseError { line: self.line + lines, ..self }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

/// A token for an error message: quoted, unprintable bytes escaped, at most 40 characters between the quotes.
pub(in crate::io) fn quoted(token: &[u8]) -> String {
    const LONGEST: usize = 40;
    let shown = token[..token.len().min(LONGEST + 1)].escape_ascii().to_string();
    if shown.len() <= LONGEST {
        return format!("'{shown}'");
    }
    let start: String = shown.chars().take(LONGEST - 1).collect();
    format!("'{start}…'")
}
