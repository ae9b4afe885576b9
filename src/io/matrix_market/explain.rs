//! Errors about entries, in words. Nothing here runs while a file is fine.

use super::header::Header;
use super::parsed::Listing;
use crate::io::text::cursor::{Cursor, EntryPart, Problem};
use crate::io::text::error::{Expected, LONE_RETURN, ParseError, quoted};

#[cold]
pub(super) fn no_memory(header: &Header) -> String {
    format!("not enough memory for {} entries", header.listed)
}

#[cold]
#[inline(never)]
pub(super) fn too_many(cursor: Cursor<'_>, header: &Header) -> ParseError {
    at_line(cursor, format!("there are more entries than the {} that the size line promises", header.listed))
}

#[cold]
#[inline(never)]
pub(super) fn too_few(header: &Header, found: u64) -> String {
    format!("the file ends after {found} of the {} entries that the size line promises", header.listed)
}

#[cold]
#[inline(never)]
pub(super) fn out_of_type(header: &Header) -> String {
    let name = header.type_hint.as_deref().unwrap_or_default();
    format!(
        "the value does not fit the type {name:?} that the comment above the size line names; lenient reading passes \
         over such a comment"
    )
}

#[cold]
#[inline(never)]
pub(super) fn at_line(cursor: Cursor<'_>, message: impl Into<String>) -> ParseError {
    ParseError::at(cursor.bytes(), cursor.position(), message)
}

/// The error for a problem that a scanner met.
#[cold]
#[inline(never)]
pub(super) fn explain(cursor: Cursor<'_>, header: &Header, expected: Expected, problem: Problem) -> ParseError {
    let token = cursor.token();
    let found = quoted(token);
    let layout = match (header.format, expected.numbers) {
        (Listing::Coordinate, 0) if header.vector => "`INDEX`",
        (Listing::Coordinate, 1) if header.vector => "`INDEX VALUE`",
        (Listing::Coordinate, _) if header.vector => "`INDEX REAL IMAGINARY`",
        (Listing::Coordinate, 0) => "`ROW COLUMN`",
        (Listing::Coordinate, 1) => "`ROW COLUMN VALUE`",
        (Listing::Coordinate, _) => "`ROW COLUMN REAL IMAGINARY`",
        (Listing::Array, 0 | 1) => "`VALUE`",
        (Listing::Array, _) => "`REAL IMAGINARY`",
    };
    let message = match problem {
        Problem::Missing(part) => format!("the line ends where {} should be; an entry is {layout}", name(part)),
        Problem::NotAnIndex(part) => not_an_index(part, &found, header),
        Problem::Glued if expected.numbers == 0 => {
            not_an_index(if header.vector { EntryPart::Row } else { EntryPart::Column }, &found, header)
        }
        Problem::OutOfRange(part) if !token.iter().all(u8::is_ascii_digit) => not_an_index(part, &found, header),
        Problem::OutOfRange(part) => format!("{} {found} is out of range; {}", name(part), range(part, header)),
        Problem::NotAValue | Problem::Glued | Problem::Overflow => {
            let problem = if problem == Problem::Overflow { "does not fit" } else { "is not a number of this file" };
            format!("{found} {problem}; {} is expected in an entry {layout}", expected.allowed)
        }
        Problem::Trailing if token.starts_with(b"%") => {
            format!("{found} follows an entry; a comment needs a line of its own")
        }
        Problem::Trailing => format!("{found} is too much; an entry is {layout}"),
        Problem::LoneReturn => LONE_RETURN.to_owned(),
    };
    ParseError::at(cursor.bytes(), cursor.mark(), message)
}

fn not_an_index(part: EntryPart, found: &str, header: &Header) -> String {
    format!("{} {found} is not a whole number; {}", name(part), range(part, header))
}

fn name(part: EntryPart) -> &'static str {
    match part {
        EntryPart::Row => "row",
        EntryPart::Column => "column",
        EntryPart::Value => "a value",
        EntryPart::Imaginary => "an imaginary part",
        EntryPart::Mode(_) => "an index",
    }
}

fn range(part: EntryPart, header: &Header) -> String {
    match if part == EntryPart::Row { header.rows } else { header.cols } {
        0 => format!("the {} is empty, so none is allowed", if header.vector { "vector" } else { "matrix" }),
        size => format!("1 to {size} is allowed"),
    }
}
