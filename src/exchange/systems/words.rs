//! Reading names token by token, with errors that say where.

use crate::base::error::{self, Error, Result};

/// A text and the place reached in it.
pub(super) struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str) -> Scan<'a> {
        Scan { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    pub(super) fn is_end(&mut self) -> bool {
        self.skip_space();
        self.rest().is_empty()
    }

    /// Takes the token if it comes next.
    pub(super) fn take(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    /// Whether the token is all that is left.
    pub(super) fn ends_with(&mut self, token: &str) -> bool {
        self.skip_space();
        self.rest().trim_end() == token
    }

    pub(super) fn expect(&mut self, token: &str) -> Result<()> {
        if self.take(token) { Ok(()) } else { self.fail(&format!("`{token}`")) }
    }

    /// Takes letters, digits and `_`; perhaps none.
    pub(super) fn word(&mut self) -> &'a str {
        self.skip_space();
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Takes characters while they suit; whether there was one.
    pub(super) fn take_while(&mut self, suits: impl Fn(char) -> bool) -> bool {
        self.skip_space();
        let rest = self.rest();
        let end = rest.find(|c: char| !suits(c)).unwrap_or(rest.len());
        self.at += end;
        end > 0
    }

    pub(super) fn number(&mut self) -> Result<usize> {
        self.skip_space();
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        match rest[..end].parse() {
            Ok(n) => {
                self.at += end;
                Ok(n)
            }
            Err(_) => self.fail("a number"),
        }
    }

    /// One or more items with commas between them, up to `end`, which is taken too.
    pub(super) fn list<T>(&mut self, end: &str, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut out = Vec::new();
        if self.take(end) {
            return Ok(out);
        }
        loop {
            out.push(item(self)?);
            if self.take(end) {
                return Ok(out);
            }
            if !self.take(",") {
                return self.fail(&format!("`,` or `{end}`"));
            }
        }
    }

    /// The place reached, to come back to.
    pub(super) fn mark(&self) -> usize {
        self.at
    }

    pub(super) fn back_to(&mut self, mark: usize) {
        self.at = mark;
    }

    /// The error that something else was expected here.
    pub(super) fn fail<T>(&self, expected: &str) -> Result<T> {
        Err(self.expected(expected))
    }

    fn expected(&self, expected: &str) -> Error {
        let rest = self.rest().trim_start();
        let found = rest.chars().next().map_or("the end".to_string(), |c| format!("{c:?}"));
        let at = self.text.len() - rest.len();
        self.refused(&format!("at byte {at} stands {found}, expected {expected}"))
    }

    /// The error that the name says what cannot be.
    pub(super) fn refuse<T>(&self, why: impl std::fmt::Display) -> Result<T> {
        Err(self.refused(&why))
    }

    fn refused(&self, why: &dyn std::fmt::Display) -> Error {
        error::invalid("name", format_args!("{:?}: {why}", self.text))
    }
}
