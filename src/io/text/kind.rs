//! Kinds of value and widths of index: what the loops over entries are compiled for.

use super::column::Array;
use super::cursor::{Cursor, EntryPart, Problem};
use super::entries::{Item, Symmetry};

/// A kind of value: how it is scanned and where it goes.
pub(in crate::io) trait ValueKind {
    type Item: Item;

    /// How many numbers it takes.
    const NUMBERS: usize;

    /// What is allowed in the place of a number.
    const ALLOWED: &'static str;

    fn scan(cursor: &mut Cursor<'_>) -> Result<Self::Item, Problem>;

    fn array(items: Vec<Self::Item>) -> Array;

    /// Whether a value lies between these two, and is a whole number.
    fn is_within(item: Self::Item, range: (i128, i128)) -> bool;

    /// Whether the mirrored value can be told.
    fn has_mirror(_: Self::Item, _: Symmetry) -> bool {
        true
    }
}

pub(in crate::io) struct Real;
pub(in crate::io) struct Integer;
pub(in crate::io) struct Unsigned;
pub(in crate::io) struct Complex;
pub(in crate::io) struct Pattern;

const REAL_ALLOWED: &str = "a decimal number such as -1.5e-3, or `inf` or `nan`";

impl ValueKind for Real {
    type Item = f64;
    const NUMBERS: usize = 1;
    const ALLOWED: &'static str = REAL_ALLOWED;

    #[inline(always)]
    fn scan(cursor: &mut Cursor<'_>) -> Result<f64, Problem> {
        cursor.real()
    }

    fn array(items: Vec<f64>) -> Array {
        Array::F64(items)
    }

    fn is_within(item: f64, (least, most): (i128, i128)) -> bool {
        item.fract() == 0.0 && item >= least as f64 && item <= most as f64
    }
}

impl ValueKind for Integer {
    type Item = i64;
    const NUMBERS: usize = 1;
    const ALLOWED: &'static str = "a whole number from -2^63 to 2^63-1";

    #[inline(always)]
    fn scan(cursor: &mut Cursor<'_>) -> Result<i64, Problem> {
        cursor.signed()
    }

    fn array(items: Vec<i64>) -> Array {
        Array::I64(items)
    }

    fn is_within(item: i64, (least, most): (i128, i128)) -> bool {
        (least..=most).contains(&item.into())
    }

    fn has_mirror(item: i64, symmetry: Symmetry) -> bool {
        symmetry != Symmetry::SkewSymmetric || item != i64::MIN
    }
}

impl ValueKind for Unsigned {
    type Item = u64;
    const NUMBERS: usize = 1;
    const ALLOWED: &'static str = "a whole number from 0 to 2^64-1";

    #[inline(always)]
    fn scan(cursor: &mut Cursor<'_>) -> Result<u64, Problem> {
        cursor.unsigned()
    }

    fn array(items: Vec<u64>) -> Array {
        Array::U64(items)
    }

    fn is_within(item: u64, (least, most): (i128, i128)) -> bool {
        (least..=most).contains(&item.into())
    }
}

impl ValueKind for Complex {
    type Item = [f64; 2];
    const NUMBERS: usize = 2;
    const ALLOWED: &'static str = REAL_ALLOWED;

    #[inline(always)]
    fn scan(cursor: &mut Cursor<'_>) -> Result<[f64; 2], Problem> {
        let re = cursor.real()?;
        cursor.gap(EntryPart::Imaginary)?;
        Ok([re, cursor.real()?])
    }

    fn array(items: Vec<[f64; 2]>) -> Array {
        Array::Pairs(items)
    }

    fn is_within([re, im]: [f64; 2], range: (i128, i128)) -> bool {
        im == 0.0 && Real::is_within(re, range)
    }
}

impl ValueKind for Pattern {
    type Item = ();
    const NUMBERS: usize = 0;
    const ALLOWED: &'static str = "nothing";

    #[inline(always)]
    fn scan(_: &mut Cursor<'_>) -> Result<(), Problem> {
        Ok(())
    }

    fn array(items: Vec<()>) -> Array {
        Array::Units(items.len())
    }

    fn is_within((): (), _: (i128, i128)) -> bool {
        true
    }
}
