//! What a mask lets through, row by row. Nothing here depends on the types of terms and indices, so that it is compiled
//! once for all kernels.

use super::Mask;
use crate::structure::{Index, IndexSlice};
use crate::with_index;

/// The columns that a mask lets through in one row; all of them where there is no mask.
#[derive(Default)]
pub(super) struct Allowed<'a> {
    /// A bit for each column that may be listed, set for those that are.
    is_listed: Vec<u64>,
    /// In every bit that of columns that are not let through.
    unwanted: u64,
    is_masked: bool,
    is_complement: bool,
    is_total: bool,
    /// Those of the row that the mask lists.
    listed: Option<IndexSlice<'a>>,
    /// The same as numbers, unless the mask lets through what it does not list.
    columns: Vec<usize>,
}

impl<'a> Allowed<'a> {
    /// Turns to row `i` of a run, of `n` columns.
    #[inline]
    pub(super) fn enter(&mut self, mask: Option<Mask<'a>>, i: usize, n: usize) {
        if let Some(mask) = mask {
            self.list(mask, i, n);
        } else {
            self.is_masked = false;
        }
    }

    fn list(&mut self, mask: Mask<'a>, i: usize, n: usize) {
        self.is_listed.resize(n.div_ceil(64), 0);
        (self.is_masked, self.is_complement, self.is_total) = (true, mask.is_complement, mask.is_total);
        self.unwanted = if mask.is_complement { u64::MAX } else { 0 };
        let listed = mask.columns.range(mask.rows[i].clone());
        with_index!(listed, columns => {
            columns.iter().for_each(|j| self.is_listed[j.get() / 64] |= 1 << (j.get() % 64));
            if !mask.is_complement {
                self.columns.extend(columns.iter().map(|j| j.get()));
            }
        });
        self.listed = Some(listed);
    }

    /// Leaves the row.
    #[inline]
    pub(super) fn leave(&mut self) {
        if let Some(listed) = self.listed.take() {
            with_index!(listed, columns => columns.iter().for_each(|j| self.is_listed[j.get() / 64] = 0));
            self.columns.clear();
        }
    }

    /// Whether a column is let through.
    #[inline(always)]
    pub(super) fn has(&self, j: usize) -> bool {
        !self.is_masked || (self.is_listed[j / 64] ^ self.unwanted) & 1 << (j % 64) != 0
    }

    /// Calls a function with each of these columns that is let through, and lets it through no more in this row.
    #[inline(always)]
    pub(super) fn once<I: Index>(&mut self, columns: &[I], mut f: impl FnMut(usize)) {
        let (is_listed, unwanted) = (&mut self.is_listed[..], self.unwanted);
        for j in columns {
            let (j, bit) = (j.get(), 1 << (j.get() % 64));
            let word = &mut is_listed[j / 64];
            if (*word ^ unwanted) & bit != 0 {
                *word ^= bit;
                f(j);
            }
        }
    }

    /// Before the row is left: that a column was let through [once](Allowed::once) is forgotten.
    #[inline(always)]
    pub(super) fn forget(&mut self, j: usize) {
        self.is_listed[j / 64] &= !(1 << (j % 64));
    }

    /// The columns at which the product has an element whatever meets.
    pub(super) fn total(&self) -> &[usize] {
        if self.is_masked && self.is_total { &self.columns } else { &[] }
    }

    /// The columns that the mask lets through, where it does not let through what it does not list.
    pub(super) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Whether these are better looked up in the rows on the right that `entries` on the left meet than those rows walked, whose
    /// entries are `met`.
    pub(super) fn is_probed(&self, entries: usize, met: impl FnOnce() -> usize) -> bool {
        const STEPS: usize = 8;
        let probes = self.columns.len().saturating_mul(entries).saturating_mul(STEPS);
        self.is_masked && !self.is_complement && met() > probes
    }
}
