//! How many stored elements lie in each cell of a grid over two axes.

use openwork::io::Piece;
use openwork::{Layout, Scalar};

/// An axis in cells of about the same size.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) size: u64,
    pub(super) cells: usize,
    /// Cells per index, in parts of 2^64, rounded up.
    scale: u128,
}

impl Span {
    pub(super) fn new(size: u64, most: usize) -> Span {
        let cells = usize::try_from(size).unwrap_or(usize::MAX).min(most.max(1));
        Span { size, cells, scale: ((cells as u128) << 64).div_ceil(u128::from(size.max(1))) }
    }

    /// The cell of an index, which is below the size.
    #[inline]
    pub(super) fn cell(&self, index: u64) -> usize {
        ((u128::from(index) * self.scale) >> 64) as usize
    }

    /// The first index of a cell; the size behind the last one.
    pub(super) fn start(&self, cell: usize) -> u64 {
        (cell as u128 * u128::from(self.size)).div_ceil(self.cells.max(1) as u128) as u64
    }

    fn len(&self, cell: usize) -> u64 {
        self.start(cell + 1) - self.start(cell)
    }
}

/// Counts over two axes; what lies along the others is summed.
pub(super) struct Grid {
    /// The axes that are drawn downwards and to the right.
    axes: [Option<usize>; 2],
    pub(super) rows: Span,
    pub(super) cols: Span,
    counts: Vec<u64>,
    /// Elements of the tensor for each pair of indices.
    depth: f64,
    pub(super) total: u64,
}

impl Grid {
    /// Over `axes` of a shape; a missing one has one index.
    pub(super) fn new(shape: &[usize], axes: [Option<usize>; 2], most: [usize; 2]) -> Grid {
        let size = |axis: Option<usize>| axis.and_then(|axis| shape.get(axis)).map_or(1, |&size| size as u64);
        let [rows, cols] = [Span::new(size(axes[0]), most[0]), Span::new(size(axes[1]), most[1])];
        let others = shape.iter().enumerate().filter(|(axis, _)| !axes.contains(&Some(*axis)));
        let depth = others.map(|(_, &size)| size as f64).product();
        Grid { axes, counts: vec![0; rows.cells * cols.cells], rows, cols, depth, total: 0 }
    }

    /// Adds what a piece stores; of a strided one what is not 0.
    pub(super) fn add(&mut self, piece: &Piece) -> openwork::Result<()> {
        let mut tensor = piece.tensor.clone();
        if tensor.is_strided() {
            tensor = tensor.to_sparse(Layout::Coo, Scalar::zero(tensor.dtype()))?;
        }
        let mut columns = tensor.coordinates();
        if columns.len() < tensor.ndim() || columns.first().is_some_and(|(_, c)| c.len() != tensor.nse()) {
            tensor = tensor.to_layout(Layout::Coo)?;
            columns = tensor.coordinates();
        }
        let column = |axis: Option<usize>| {
            let axis = axis?;
            let origin = piece.origin.get(axis).copied().unwrap_or(0) as u64;
            columns.iter().find(|(a, _)| *a == axis).map(|(_, indices)| (&indices[..], origin))
        };
        self.total += tensor.nse() as u64;
        let width = self.cols.cells;
        let mut count = |row: usize, col: usize| {
            if let Some(count) = self.counts.get_mut(row * width + col) {
                *count += 1;
            }
        };
        let (rows, cols) = (&self.rows, &self.cols);
        match (column(self.axes[0]), column(self.axes[1])) {
            (Some((i, first)), Some((k, left))) => {
                i.iter().zip(k).for_each(|(&i, &k)| count(rows.cell(i + first), cols.cell(k + left)));
            }
            (None, Some((k, left))) => k.iter().for_each(|&k| count(0, cols.cell(k + left))),
            (Some((i, first)), None) => i.iter().for_each(|&i| count(rows.cell(i + first), 0)),
            (None, None) => {}
        }
        Ok(())
    }

    /// The part of the elements of a cell that is stored.
    pub(super) fn density(&self, row: usize, col: usize) -> f64 {
        let area = self.rows.len(row) as f64 * self.cols.len(col) as f64 * self.depth;
        let count = self.counts.get(row * self.cols.cells + col).copied().unwrap_or(0);
        if area > 0.0 { (count as f64 / area).min(1.0) } else { 0.0 }
    }

    /// Whether each cell is one element.
    pub(super) fn is_exact(&self) -> bool {
        self.rows.size == self.rows.cells as u64 && self.cols.size == self.cols.cells as u64 && self.depth == 1.0
    }

    /// All densities, row by row.
    pub(super) fn densities(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.rows.cells).flat_map(move |row| (0..self.cols.cells).map(move |col| self.density(row, col)))
    }
}

/// Indices at which an axis is labelled: multiples of 1, 2 or 5 times a power of ten, at most so many.
pub(super) fn ticks(size: u64, most: usize) -> Vec<u64> {
    let steps =
        (0..20).flat_map(|power| [1, 2, 5].map(|digit| 10_u64.checked_pow(power).and_then(|p| p.checked_mul(digit))));
    let step = steps.flatten().find(|step| size.div_ceil(*step) <= most.max(1) as u64).unwrap_or(size.max(1));
    (0..size.div_ceil(step)).map(|i| i * step).collect()
}

/// An index in few letters: `1500`, `200k`, `3M`.
pub(super) fn label(index: u64, size: u64) -> String {
    let units = [(1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"), (1000, "k")];
    let unit = units.into_iter().find(|(unit, _)| size >= 10 * unit && index > 0);
    match unit {
        Some((unit, name)) if index.is_multiple_of(unit) => format!("{}{name}", index / unit),
        Some((unit, name)) if index.is_multiple_of(unit / 10) => format!("{:.1}{name}", index as f64 / unit as f64),
        _ => index.to_string(),
    }
}

/// Which of so many levels a density has, 0 for nothing; levels rise by one factor.
pub(super) struct Scale {
    highest: f64,
    /// The highest density divided by the least that the first level stands for.
    range: f64,
    levels: usize,
}

/// The least range of densities that is told apart: below it differences are chance more often than structure.
const RANGE: f64 = 16.0;

impl Scale {
    pub(super) fn new(grid: &Grid, levels: usize) -> Scale {
        let (mut least, mut highest) = (f64::INFINITY, 0.0_f64);
        for density in grid.densities().filter(|&density| density > 0.0) {
            (least, highest) = (least.min(density), highest.max(density));
        }
        let range = if highest > 0.0 { (highest / least).max(RANGE) } else { RANGE };
        Scale { highest, range, levels }
    }

    pub(super) fn level(&self, density: f64) -> usize {
        if density <= 0.0 {
            return 0;
        }
        let below = (self.highest / density).ln() / self.range.ln() * self.levels as f64;
        // What is on an edge belongs below it, whatever the rounding.
        self.levels.saturating_sub((below + 1e-9) as usize).clamp(1, self.levels)
    }

    /// The highest density of a level.
    pub(super) fn edge(&self, level: usize) -> f64 {
        self.highest * self.range.powf((level as f64 - self.levels as f64) / self.levels as f64)
    }
}

/// A density with two digits: `0.0021`, `7.4e-8`.
pub(super) fn short(density: f64) -> String {
    if density == 0.0 || (1e-4..10.0).contains(&density) {
        let digits = if density == 0.0 { 0 } else { (1 - density.log10().floor() as i32).max(0) as usize };
        let text = format!("{density:.digits$}");
        return if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    }
    format!("{density:.1e}")
}

#[cfg(test)]
#[path = "tests/grid.rs"]
mod tests;
