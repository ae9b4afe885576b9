//! What a mask lets through, row by row. Nothing here depends on the types of terms and indices, so that it is compiled
//! once for all kernels.

use super::Mask;
use crate::structure::Index;
use crate::with_index;

/// The columns that a mask lets through in one row; all of them where there is no mask.
#[derive(Default)]
pub(super) struct Allowed {
    /// A byte for each column that may be listed, 1 for those that are.
    is_listed: Vec<u8>,
    /// The byte of columns that are let through.
    wanted: u8,
    is_masked: bool,
    is_complement: bool,
    is_total: bool,
    /// Those of the row.
    columns: Vec<usize>,
}

impl Allowed {
    /// Turns to row `i` of a run, of `n` columns.
    #[inline]
    pub(super) fn enter(&mut self, mask: Option<Mask<'_>>, i: usize, n: usize) {
        if let Some(mask) = mask {
            self.list(mask, i, n);
        } else {
            self.is_masked = false;
        }
    }

    fn list(&mut self, mask: Mask<'_>, i: usize, n: usize) {
        self.is_listed.resize(n, 0);
        (self.is_masked, self.is_complement, self.is_total) = (true, mask.is_complement, mask.is_total);
        self.wanted = u8::from(!mask.is_complement);
        let row = mask.rows[i].clone();
        with_index!(mask.columns, columns => for j in &columns[row] {
            self.columns.push(j.get());
            self.is_listed[j.get()] = 1;
        });
    }

    /// Leaves the row.
    #[inline]
    pub(super) fn leave(&mut self) {
        self.columns.drain(..).for_each(|j| self.is_listed[j] = 0);
    }

    /// Whether a column is let through.
    #[inline(always)]
    pub(super) fn has(&self, j: usize) -> bool {
        !self.is_masked || self.is_listed[j] == self.wanted
    }

    /// The columns at which the product has an element whatever meets.
    pub(super) fn total(&self) -> &[usize] {
        if self.is_masked && self.is_total { &self.columns } else { &[] }
    }

    /// The columns, if they are better looked up in the rows on the right that `entries` on the left meet than those rows
    /// walked, whose entries are `met`.
    pub(super) fn probed(&self, entries: usize, met: impl FnOnce() -> usize) -> Option<&[usize]> {
        const STEPS: usize = 8;
        let probes = self.columns.len().saturating_mul(entries).saturating_mul(STEPS);
        (self.is_masked && !self.is_complement && met() > probes).then_some(&self.columns)
    }
}
