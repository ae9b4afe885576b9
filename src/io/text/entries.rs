//! The parts of entries: rows and columns, values, and what those listed say of others.

/// What the entries listed say about the ones across the diagonal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Symmetry {
    /// Nothing: all entries are listed.
    #[default]
    General,
    /// They are the same.
    Symmetric,
    /// They are the negated ones, and the diagonal is zero.
    SkewSymmetric,
    /// They are the complex conjugates.
    Hermitian,
}

impl Symmetry {
    /// The word of the banner.
    pub(in crate::io) fn word(self) -> &'static str {
        match self {
            Symmetry::General => "general",
            Symmetry::Symmetric => "symmetric",
            Symmetry::SkewSymmetric => "skew-symmetric",
            Symmetry::Hermitian => "hermitian",
        }
    }
}

/// Row or column indices, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Indices {
    /// Used if both dimensions are below 2^31.
    U32(Vec<u32>),
    /// Used otherwise.
    U64(Vec<u64>),
}

impl Indices {
    /// The number of indices.
    pub fn len(&self) -> usize {
        match self {
            Indices::U32(indices) => indices.len(),
            Indices::U64(indices) => indices.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The index of one entry; `None` beyond the last.
    pub fn get(&self, entry: usize) -> Option<u64> {
        match self {
            Indices::U32(indices) => indices.get(entry).map(|&index| u64::from(index)),
            Indices::U64(indices) => indices.get(entry).copied(),
        }
    }

    pub(in crate::io) fn push_from(&mut self, other: &Indices, entries: &[usize]) {
        match (self, other) {
            (Indices::U32(ours), Indices::U32(theirs)) => push_picked(ours, theirs, entries),
            (Indices::U64(ours), Indices::U64(theirs)) => push_picked(ours, theirs, entries),
            // Unequal widths do not come from the parser; widening loses nothing.
            (ours, theirs) => {
                let all = (0..ours.len()).filter_map(|entry| ours.get(entry));
                let picked = entries.iter().filter_map(|&entry| theirs.get(entry));
                let joined = all.chain(picked).collect();
                *ours = Indices::U64(joined);
            }
        }
    }
}

/// The values of a file, in the order of its entries.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Real numbers.
    Real(Vec<f64>),
    /// Signed integers.
    Integer(Vec<i64>),
    /// Unsigned integers.
    Unsigned(Vec<u64>),
    /// Real and imaginary parts.
    Complex(Vec<[f64; 2]>),
    /// No values, for so many entries.
    Pattern(usize),
}

impl Values {
    /// The number of values, or of entries without one.
    pub fn len(&self) -> usize {
        match self {
            Values::Real(values) => values.len(),
            Values::Integer(values) => values.len(),
            Values::Unsigned(values) => values.len(),
            Values::Complex(values) => values.len(),
            Values::Pattern(count) => *count,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(in crate::io) fn push_mirrored(&mut self, symmetry: Symmetry, entries: &[usize]) {
        match self {
            Values::Real(values) => push_mirrored(values, symmetry, entries),
            Values::Integer(values) => push_mirrored(values, symmetry, entries),
            Values::Unsigned(values) => push_mirrored(values, symmetry, entries),
            Values::Complex(values) => push_mirrored(values, symmetry, entries),
            Values::Pattern(count) => *count = count.saturating_add(entries.len()),
        }
    }
}

fn push_picked<T: Copy>(to: &mut Vec<T>, from: &[T], entries: &[usize]) {
    to.reserve_exact(entries.len());
    to.extend(entries.iter().filter_map(|&entry| from.get(entry).copied()));
}

fn push_mirrored<T: Item>(values: &mut Vec<T>, symmetry: Symmetry, entries: &[usize]) {
    values.reserve_exact(entries.len());
    for &entry in entries {
        if let Some(&value) = values.get(entry) {
            values.push(value.mirrored(symmetry));
        }
    }
}

/// One value of a file.
pub(in crate::io) trait Item: Copy + PartialEq + Send + Sync + bytemuck::Zeroable {
    /// The value of a position that a skew-symmetric array leaves out.
    const ZERO: Self;

    /// The value across the diagonal.
    fn mirrored(self, symmetry: Symmetry) -> Self;
}

impl Item for () {
    const ZERO: Self = ();

    fn mirrored(self, _: Symmetry) -> Self {}
}

impl Item for f64 {
    const ZERO: Self = 0.0;

    #[inline]
    fn mirrored(self, symmetry: Symmetry) -> Self {
        if symmetry == Symmetry::SkewSymmetric { -self } else { self }
    }
}

impl Item for i64 {
    const ZERO: Self = 0;

    #[inline]
    fn mirrored(self, symmetry: Symmetry) -> Self {
        if symmetry == Symmetry::SkewSymmetric { self.wrapping_neg() } else { self }
    }
}

impl Item for u64 {
    const ZERO: Self = 0;

    #[inline]
    fn mirrored(self, symmetry: Symmetry) -> Self {
        if symmetry == Symmetry::SkewSymmetric { self.wrapping_neg() } else { self }
    }
}

impl Item for [f64; 2] {
    const ZERO: Self = [0.0; 2];

    #[inline]
    fn mirrored(self, symmetry: Symmetry) -> Self {
        let [re, im] = self;
        match symmetry {
            Symmetry::General | Symmetry::Symmetric => self,
            Symmetry::SkewSymmetric => [-re, -im],
            Symmetry::Hermitian => [re, -im],
        }
    }
}
