//! What is stored beside a fill, in two parts: differences that may be rounded to one float, for the kernels of
//! products without fills, and those that may not, exactly.
//!
//! A stored element `v` over a fill `f` is *easy* if `|f| <= limit * |v|`. Rounding `v - f`, its products and their
//! sum loses about `(1 + limit) * eps * |v|` for each that meets it, which the law allows (RFC 2). An element that
//! is not easy is *hard*: it stays as it is, and the fill that is taken off it is kept beside it, to be multiplied exactly.

use std::borrow::Cow;

use openwork_ops::DType;
use openwork_ops::matmul::{Carrier, Told};

use super::operand::Stored;
use super::over_fill::{OverFill, is_most};
use crate::base::error::Result;
use crate::tensor::Sparse;

/// The greatest factor between a fill and an easy element above it, for products of `k` terms; `both` says whether
/// both operands have fills, where two factors meet in one product.
///
/// The law allows an error of `2 log2(k + 1)` units in the last place of the sum of the terms' magnitudes, or
/// twice that in roundings of `f64`; a difference, its product and their sum take about four.
pub(super) fn limit(dtype: DType, k: usize, both: bool) -> f64 {
    let room = (k as f64 + 1.0).log2() - 1.0;
    let spare = dtype.epsilon() / f64::EPSILON / 64.0;
    let limit = room.max(spare);
    if both { (1.0 + limit).sqrt() - 1.0 } else { limit }
}

/// The stored elements of an operand.
pub(super) struct Split {
    /// Differences of the easy ones, and the others as they are; `None` if few are easy.
    pub(super) easy: Option<Stored>,
    /// What is to be added to the others, or all differences if few are easy; exactly.
    pub(super) hard: Option<Stored>,
    /// Where a fill is taken off floats.
    beneath: Option<Box<OverFill>>,
}

impl Split {
    /// `fills` says whether the fill is other than zero. All rows are there where `all_rows`.
    pub(super) fn new(s: &Sparse, carrier: Carrier, fills: bool, all_rows: bool, limit: f64) -> Result<Split> {
        let fill = if fills && carrier.doubled() != carrier { s.fill_values() } else { None };
        let Some(fill) = fill else {
            let easy = Some(Stored::new(s, carrier, fills, all_rows)?);
            return Ok(Split { easy, hard: None, beneath: None });
        };
        let beneath = OverFill::new(s, fill, carrier, all_rows, limit)?;
        let (terms, hard) = beneath.differences(Told::Hard)?;
        let (easy, hard) = if is_most(&hard, &beneath.rows) {
            (None, Some(beneath.exact(Told::All)?))
        } else {
            let easy = Stored { terms, ..beneath.rows.clone() };
            let hard = (!hard.which.is_empty()).then(|| beneath.rows.of_entries(&hard.which, &hard.terms));
            (Some(easy), hard)
        };
        Ok(Split { easy, hard, beneath: Some(Box::new(beneath)) })
    }

    /// Every element, exactly.
    pub(super) fn all(&self) -> Result<Option<Cow<'_, Stored>>> {
        match (&self.easy, &self.beneath) {
            (Some(_), Some(beneath)) => beneath.exact(Told::All).map(Cow::Owned).map(Some),
            (None, _) => Ok(self.hard.as_ref().map(Cow::Borrowed)),
            (easy, None) => Ok(easy.as_ref().map(Cow::Borrowed)),
        }
    }

    /// The easy elements, exactly.
    pub(super) fn all_easy(&self) -> Result<Option<Cow<'_, Stored>>> {
        match (&self.easy, &self.beneath) {
            (Some(_), Some(beneath)) => beneath.exact(Told::Easy).map(Cow::Owned).map(Some),
            (easy, _) => Ok(easy.as_ref().map(Cow::Borrowed)),
        }
    }
}
