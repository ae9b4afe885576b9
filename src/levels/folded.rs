//! Patterns of sparse levels over many dimensions as compressed rows: some leading dimensions are the rows, the others the columns.
//! Patterns that are folded alike are merged as matrices are.

use openwork_ops::structure::keys::{Field, KeyLayout};

use super::build;
use super::fibres::{coordinates, grouped, ranks, spread};
use super::indices::Indices;
use super::level::Level;
use super::pattern::{Dim, Pattern};
use crate::base::faults::{self, Fault};
use crate::base::mapped::Mapped;
use crate::base::pages::Scratch;
use crate::base::parallel::{self, GRAIN};

/// How the dimensions of some patterns are folded.
pub(crate) struct Folded {
    /// How many are those of rows, and how many rows there are.
    leading: usize,
    rows: usize,
    /// The columns, with bits for each of the other dimensions.
    columns: KeyLayout,
    /// The levels and dimensions as they were.
    ranks: Vec<usize>,
    dims: Vec<Dim>,
}

/// Stored elements for each row, where there may be so many.
const PER_ROW: usize = 8;

/// Positions that it pays to fold.
const MANY: usize = 1 << 12;

/// Elements of a long segment.
const LONG: usize = 4;

impl Folded {
    /// Two patterns with the same levels, neither of them wide, as compressed rows, and how they were folded. `None` where they are as
    /// quickly merged as they are.
    pub(crate) fn both(p: &Pattern, q: &Pattern) -> Option<(Folded, [Pattern; 2])> {
        let positions = p.positions + q.positions;
        let are_alike = || p.levels.iter().map(Level::kind).eq(q.levels.iter().map(Level::kind));
        if positions < MANY || p.is_wide() || q.is_wide() || !are_alike() {
            return None;
        }
        let folded = Folded::new(p, positions)?;
        let both = [folded.fold(p)?, folded.fold(q)?];
        Some((folded, both))
    }

    /// For patterns with the levels of this one, and so many positions together. `None` where a level is not sparse or all are one of
    /// pairs, where the last level's segments are long, which are merged as they are, and where rows or columns would be too many.
    fn new(p: &Pattern, positions: usize) -> Option<Folded> {
        let ranks = ranks(p.levels.iter().map(Level::kind)).filter(|ranks| !matches!(ranks[..], [1 | 2]))?;
        // Long segments are merged level by level as quickly.
        if let [.., Level::Sparse { indices, .. }, _] = &p.levels[..]
            && p.positions / LONG >= indices.first().map_or(0, Indices::len)
        {
            return None;
        }
        let sizes = p.level_dims().mapped(|d| d.size);
        let folded = |most: usize| {
            let mut rows = 1usize;
            let fits = |size: &&usize| rows.checked_mul(**size).filter(|&n| n <= most).inspect(|&n| rows = n).is_some();
            let leading = sizes[..sizes.len() - 1].iter().take_while(fits).count();
            let columns = KeyLayout::new(&sizes[leading..]);
            let is_narrow = columns.word_bits.len() == 1 && columns.word_bits[0] < u32::BITS;
            is_narrow.then(|| Folded { leading, rows, columns, ranks: ranks.clone(), dims: p.dims.clone() })
        };
        folded(positions / PER_ROW).or_else(|| folded(positions))
    }

    /// How many dimensions are those of rows.
    pub(crate) fn leading(&self) -> usize {
        self.leading
    }

    /// Where the others are in a column.
    pub(crate) fn fields(&self) -> &[Field] {
        &self.columns.fields
    }

    /// By how many rows a step along a leading dimension goes.
    fn below(&self, d: usize) -> usize {
        self.dims[d + 1..self.leading].iter().map(|d| d.size).product()
    }

    /// A pattern of these levels, canonical and not wide, as compressed rows. `None` if memory has no room for their pointers.
    fn fold(&self, p: &Pattern) -> Option<Pattern> {
        let (all, n) = (coordinates::<u32>(p), p.positions);
        let (leading, others) = all.split_at(self.leading);
        let below = |d: usize| self.below(d) as u32;
        let number = match leading {
            [only] => only.clone(),
            _ => linear(leading, n, &(0..self.leading).mapped(below)),
        };
        let columns = linear(others, n, &self.columns.fields.mapped(|field| field.weight() as u32));
        let number = number.typed::<u32>();
        let pointers = build::pointers(n, |i| u64::from(number[i]), self.rows, false)?;
        let last = Level::Sparse { pointers: Some(pointers), indices: vec![columns], ordered: true, unique: true };
        let dims = vec![Dim::whole(0, self.rows), Dim::whole(1, 1 << self.columns.word_bits[0])];
        Some(Pattern { levels: vec![Level::Dense, last], dims, level_dims: 2, positions: n })
    }

    /// Such a pattern, which was folded so, in its levels again.
    pub(crate) fn unfold(&self, folded: &Pattern) -> Option<Pattern> {
        let Some(Level::Sparse { pointers: Some(pointers), indices, .. }) = folded.levels.last() else { return None };
        let (pointers, columns) = (pointers.typed::<u32>(), indices.first()?.typed::<u32>());
        let (n, rank) = (folded.positions, self.ranks.iter().sum());
        let column = |d: usize| {
            let size = self.dims[d].size;
            if d < self.leading {
                let below = if faults::is(Fault::RowsUnfolded) { 1 } else { self.below(d) };
                return match self.leading {
                    1 => spread(pointers, n, &|row| row as u32),
                    _ => spread(pointers, n, &|row| (row / below % size) as u32),
                };
            }
            let field = self.columns.fields[d - self.leading];
            let mask = (1u64 << field.bits) as u32 - 1;
            let mut out = Scratch::<u32>::any(n);
            parallel::for_chunks_mut(&mut out, 1, GRAIN, &|first, out| {
                let own = out.iter_mut().zip(&columns[first..]);
                own.for_each(|(out, column)| *out = column.checked_shr(field.shift).unwrap_or(0) & mask);
            });
            out.into()
        };
        let levels = grouped::<u32>(&(0..rank).mapped(column), n, &self.ranks);
        Some(Pattern { levels, dims: self.dims.clone(), level_dims: rank, positions: n })
    }
}

/// The sum of the coordinates of each element, with weights.
fn linear(columns: &[Indices], n: usize, weights: &[u32]) -> Indices {
    let mut out = Scratch::<u32>::any(n);
    parallel::for_chunks_mut(&mut out, 1, GRAIN, &|first, out| {
        out.fill(0);
        for (column, &weight) in columns.iter().zip(weights) {
            let own = out.iter_mut().zip(&column.typed::<u32>()[first..]);
            own.for_each(|(out, c)| *out = out.wrapping_add(c.wrapping_mul(weight)));
        }
    });
    out.into()
}
