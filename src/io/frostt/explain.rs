//! Errors about entries, in words. Nothing here runs while a file is fine.

use super::head::Header;
use super::{Base, Dialect};
use crate::io::text::cursor::{Cursor, EntryPart, Problem};
use crate::io::text::error::{Expected, LONE_RETURN, ParseError, quoted};

/// The error for a problem that a scanner met.
#[cold]
#[inline(never)]
pub(super) fn explain(cursor: Cursor<'_>, head: &Header, expected: Expected, problem: Problem) -> ParseError {
    let token = cursor.token();
    let found = quoted(token);
    let allowed = expected.allowed;
    let layout = match expected.numbers {
        0 => format!("`i1 … i{}`", head.order),
        1 => format!("`i1 … i{} VALUE`", head.order),
        _ => format!("`i1 … i{} REAL IMAGINARY`", head.order),
    };
    let message = match problem {
        Problem::Missing(EntryPart::Mode(mode)) => {
            format!("the line ends where index {} should be; an entry is {layout}", mode + 1)
        }
        Problem::Missing(_) => format!("the line ends where a value should be; an entry is {layout}"),
        Problem::OutOfRange(EntryPart::Mode(mode)) if token.iter().all(u8::is_ascii_digit) => {
            out_of_range(mode, &found, head)
        }
        Problem::NotAnIndex(EntryPart::Mode(mode)) | Problem::OutOfRange(EntryPart::Mode(mode)) => {
            format!("index {} {found} is not a whole number; {}", mode + 1, range(mode, head))
        }
        Problem::NotAValue | Problem::Glued | Problem::NotAnIndex(_) | Problem::OutOfRange(_) => {
            format!("{found} is not a number of this file; {allowed} is expected in an entry {layout}")
        }
        Problem::Overflow => format!("{found} does not fit; {allowed} is expected in an entry {layout}"),
        Problem::Trailing if token.starts_with(b"#") || token.starts_with(b"%") => {
            format!("{found} follows an entry; a comment needs a line of its own")
        }
        Problem::Trailing => format!("{found} is too much; an entry is {layout}, as the first one is"),
        Problem::LoneReturn => LONE_RETURN.to_owned(),
    };
    ParseError::at(cursor.bytes(), cursor.mark(), message)
}

fn out_of_range(mode: usize, found: &str, head: &Header) -> String {
    let hint = if head.dialect == Dialect::Tns && head.base == 1 && found == "'0'" {
        format!("; a file that counts from 0 is read with the base {:?}", Base::Zero)
    } else {
        String::new()
    };
    format!("index {} {found} is out of range; {}{hint}", mode + 1, range(mode, head))
}

fn range(mode: usize, head: &Header) -> String {
    let first = head.base;
    match head.shape.as_ref().and_then(|shape| shape.get(mode)) {
        Some(0) => "the axis is empty, so none is allowed".to_owned(),
        Some(&size) => format!("{first} to {} is allowed", u128::from(size) + u128::from(first) - 1),
        None => format!("{first} to 2^63{} is allowed", if first == 0 { "-1" } else { "" }),
    }
}

#[cold]
pub(super) fn too_many(cursor: Cursor<'_>, listed: u64) -> ParseError {
    let message = format!("there are more entries than the {listed} that the size line promises");
    ParseError::at(cursor.bytes(), cursor.position(), message)
}

#[cold]
pub(super) fn out_of_type(cursor: Cursor<'_>, head: &Header) -> ParseError {
    let name = head.dtype.map(|dtype| dtype.to_string()).unwrap_or_default();
    let message = format!(
        "the value does not fit {name}, which a comment above the entries names; lenient reading passes over such a \
         comment"
    );
    ParseError::at(cursor.bytes(), cursor.position(), message)
}
