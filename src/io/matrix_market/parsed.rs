//! What a file holds, before it becomes a tensor.

use super::header::Passed;
use crate::base::mapped::Chosen;
use crate::io::text::entries::{Indices, Symmetry, Values};

/// Which positions a file lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Listing {
    /// Some, each with its row and column.
    Coordinate,
    /// All, down the columns.
    Array,
}

impl Listing {
    /// The word of the banner.
    pub(in crate::io) fn word(self) -> &'static str {
        match self {
            Listing::Coordinate => "coordinate",
            Listing::Array => "array",
        }
    }
}

/// What kind of value a file declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// Real numbers (`real`, `double`).
    Real,
    /// Signed integers.
    Integer,
    /// Unsigned integers.
    UnsignedInteger,
    /// Pairs of real numbers.
    Complex,
    /// No values, only positions.
    Pattern,
}

impl Field {
    /// The word of the banner.
    pub(in crate::io) fn word(self) -> &'static str {
        match self {
            Field::Real => "real",
            Field::Integer => "integer",
            Field::UnsignedInteger => "unsigned-integer",
            Field::Complex => "complex",
            Field::Pattern => "pattern",
        }
    }
}

/// The content of a Matrix Market file.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedMatrix {
    /// Whether it is a vector, which is read as a tensor of one axis; it has one column.
    pub vector: bool,
    /// The number of rows.
    pub rows: u64,
    /// The number of columns.
    pub cols: u64,
    /// Whether the file lists entries or all positions.
    pub format: Listing,
    /// The field that the file declares. A type hint can make the `values` differ from it.
    pub field: Field,
    /// The symmetry that the file declares; `General` after [`expand_symmetry`](ParsedMatrix::expand_symmetry).
    pub symmetry: Symmetry,
    /// `T` of the first comment `%%GraphBLAS type T` before the size line, words separated by one blank.
    pub type_hint: Option<String>,
    /// The row of each entry, in file order; empty for an array.
    pub row_indices: Indices,
    /// The column of each entry, in file order; empty for an array.
    pub col_indices: Indices,
    /// The value of each entry, in file order. For an array: of every position, down the columns, those that the
    /// symmetry leaves out of the file included.
    pub values: Values,
    /// What a lenient reader let pass in the banner.
    pub(super) passed: Passed,
}

impl ParsedMatrix {
    /// Adds the entries that the symmetry implies and makes the matrix `General`.
    ///
    /// The entries of the file stay where they are; behind them, in the same order, come the mirrors of those off the
    /// diagonal: equal, negated if skew-symmetric, conjugated if Hermitian. The diagonal is left alone. An array has
    /// all its positions already, so only its symmetry changes.
    ///
    /// # Cost
    ///
    /// Linear in the number of entries; the result is up to twice as large.
    #[must_use]
    pub fn expand_symmetry(mut self) -> ParsedMatrix {
        let symmetry = std::mem::replace(&mut self.symmetry, Symmetry::General);
        if symmetry == Symmetry::General || self.format == Listing::Array {
            return self;
        }
        let mirrored = off_diagonal(&self.row_indices, &self.col_indices);
        let rows_before = self.row_indices.clone();
        self.row_indices.push_from(&self.col_indices, &mirrored);
        self.col_indices.push_from(&rows_before, &mirrored);
        self.values.push_mirrored(symmetry, &mirrored);
        self
    }
}

/// The entries whose row is not their column.
fn off_diagonal(rows: &Indices, cols: &Indices) -> Vec<usize> {
    fn differing<T: PartialEq>(a: &[T], b: &[T]) -> Vec<usize> {
        a.iter().zip(b).enumerate().filter_map(|(entry, (x, y))| (x != y).then_some(entry)).collect()
    }
    match (rows, cols) {
        (Indices::U32(rows), Indices::U32(cols)) => differing(rows, cols),
        (Indices::U64(rows), Indices::U64(cols)) => differing(rows, cols),
        _ => (0..rows.len().min(cols.len())).chosen(|&entry| rows.get(entry) != cols.get(entry)),
    }
}
