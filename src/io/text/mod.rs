//! What the text formats share: blocks of lines, scanners, entries, columns that grow, numbers in decimal.

pub(super) mod column;
pub(super) mod cursor;
pub(super) mod entries;
pub(super) mod error;
pub(super) mod kind;
pub(super) mod number;
pub(super) mod packing;
pub(super) mod sink;
pub(super) mod source;
