//! What of a stored element meets a dense matrix: all of it, or what it is more than the fill beneath it.
#![allow(unsafe_code)] // fills are read unchecked once the greatest column of a few rows was compared with their number

use std::cell::Cell;

/// Makes terms of the elements of a row.
pub(super) trait Source: Copy {
    /// Called before the elements of a row are gone through, each time.
    fn begin(self);

    /// The term of element `e` of the row, in column `k`.
    fn term(self, e: usize, k: u32, element: f64) -> f64;
}

/// Elements as they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole;

impl Source for Whole {
    #[inline(always)]
    fn begin(self) {}

    #[inline(always)]
    fn term(self, _: usize, _: u32, element: f64) -> f64 {
        element
    }
}

/// When an element is easy: its fill is at most `limit` times as large.
#[derive(Clone, Copy, Debug)]
pub(super) struct Easy {
    limit: f64,
    /// The magnitude from which on an element is easy whatever is beneath it.
    most: f64,
}

impl Easy {
    pub(super) fn new(fills: &[f64], limit: f64) -> Easy {
        Easy { limit, most: fills.iter().fold(0.0, |most: f64, fill| most.max(fill.abs())) / limit }
    }

    /// From which magnitude on all elements above this fill are.
    pub(super) fn least(self, fill: f64) -> f64 {
        fill.abs() / self.limit
    }

    pub(super) fn limit(self) -> f64 {
        self.limit
    }

    pub(super) fn most(self) -> f64 {
        self.most
    }

    #[inline(always)]
    fn is(self, element: f64, fill: f64) -> bool {
        element.abs() >= self.most || fill.abs() <= self.limit * element.abs()
    }
}

/// Elements less the fills beneath them. Hard ones stay as they are, and are told.
pub(super) struct Less<'a> {
    fills: &'a [f64],
    easy: Easy,
    /// What is left of a column: all, or nothing where the row has one fill.
    mask: u32,
    /// Room for the numbers of hard elements.
    hard: &'a [Cell<u32>],
    found: Cell<usize>,
}

/// The fills beneath the elements of a row.
#[derive(Clone, Copy)]
pub(super) enum Fills<'a> {
    /// One for each column.
    Columns(&'a [f64]),
    One(&'a f64),
}

impl<'a> Fills<'a> {
    /// The one beneath elements in a column.
    pub(super) fn of(self, column: u32) -> f64 {
        match self {
            Fills::Columns(fills) => fills[column as usize],
            Fills::One(fill) => *fill,
        }
    }

    /// Terms of the elements of rows whose columns are below the number of fills. There is room for the numbers of as many hard
    /// elements as a row has.
    ///
    /// # Safety
    /// That is so of the columns.
    pub(super) unsafe fn less(self, easy: Easy, hard: &'a [Cell<u32>]) -> Less<'a> {
        let (fills, mask) = match self {
            Fills::Columns(fills) => (fills, u32::MAX),
            Fills::One(fill) => (std::slice::from_ref(fill), 0),
        };
        Less { fills, easy, mask, hard, found: Cell::new(0) }
    }

    /// Calls `each` with every term of a row, its number and its column. Says how many elements are hard, whose numbers are in
    /// `hard`.
    #[inline(always)]
    pub(super) fn terms(
        self,
        easy: Easy,
        (indices, values): (&[u32], &[f64]),
        hard: &[Cell<u32>],
        mut each: impl FnMut(usize, u32, f64),
    ) -> usize {
        let checked = match self {
            Fills::Columns(fills) => Fills::Columns(&fills[..fills.len().max(greatest(indices))]),
            one => one,
        };
        // SAFETY: the greatest column was compared with the number of fills.
        let less = unsafe { checked.less(easy, hard) };
        for (e, (&k, &x)) in indices.iter().zip(values).enumerate() {
            each(e, k, (&less).term(e, k, x));
        }
        less.found()
    }
}

/// One more than the greatest of these columns.
pub(super) fn greatest(columns: &[u32]) -> usize {
    columns.iter().fold(0, |reaches, &k| reaches.max(k as usize + 1))
}

impl Less<'_> {
    /// How many hard elements were met since the last beginning.
    pub(super) fn found(&self) -> usize {
        self.found.get().min(self.hard.len())
    }

    /// The term of element `e` over this fill.
    #[inline(always)]
    pub(super) fn over(&self, e: usize, fill: f64, element: f64) -> f64 {
        if self.easy.is(element, fill) {
            return element - fill;
        }
        let found = self.found.get();
        if let Some(place) = self.hard.get(found) {
            place.set(e as u32);
        }
        self.found.set(found + 1);
        element
    }
}

impl Source for &Less<'_> {
    #[inline(always)]
    fn begin(self) {
        self.found.set(0);
    }

    #[inline(always)]
    fn term(self, e: usize, k: u32, element: f64) -> f64 {
        // SAFETY: columns are below the number of fills, by the promise of who made this; of one fill the first is read.
        let fill = *unsafe { self.fills.get_unchecked((k & self.mask) as usize) };
        self.over(e, fill, element)
    }
}
