//! The picture as SVG: runs of cells of one shade as one rectangle each.

use std::fmt::Write as _;

use super::grid::{Grid, Scale, label, short, ticks};
use super::picture::shade;

/// Shades of the scale: few, so that runs are long.
const LEVELS: usize = 10;

/// A text for XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The text of an SVG file, in which a cell of the grid takes so many units each way.
pub(super) fn svg(grid: &Grid, [tall, wide]: [usize; 2], lines: [&str; 3]) -> String {
    let scale = Scale::new(grid, LEVELS);
    let (inner, tall_inner) = (grid.cols.cells * wide, grid.rows.cells * tall);
    let rows = ticks(grid.rows.size, (tall_inner / 60).max(2));
    let longest = rows.iter().map(|&tick| label(tick, grid.rows.size).len()).max().unwrap_or(1);
    let (left, top) = (24 + 8 * longest, 78);
    // Letters are about so wide.
    let widths = lines.iter().zip([9, 7, 7]).map(|(line, letter)| line.chars().count().min(100) * letter);
    let texts = widths.max().unwrap_or(0);
    let has_bar = grid.total > 0 && !grid.is_exact();
    let width = (left + inner + if has_bar { 100 } else { 24 }).max(left + 24 + texts);
    let bar = tall_inner.max(120);
    let height = top + if has_bar { bar } else { tall_inner } + 40;
    let [name, facts, about] = lines.map(escaped);
    let mut out = String::new();
    // A string takes all that it is given.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<title>{name}: {facts}</title>\n<desc>{about}</desc>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"{left}\" y=\"22\" font-size=\"15\" font-weight=\"bold\">{name}</text>\n\
         <text x=\"{left}\" y=\"42\">{facts}</text>\n<text x=\"{left}\" y=\"60\" fill=\"#555\">{about}</text>\n"
    );
    let _ = writeln!(
        out,
        "<g transform=\"translate({left} {top})\">\n<g transform=\"scale({wide} {tall})\" shape-rendering=\"crispEdges\">"
    );
    for (at, runs) in runs(grid, &scale).iter().enumerate().filter(|(_, runs)| !runs.is_empty()) {
        let [r, g, b] = shade(at + 1, LEVELS);
        let _ = writeln!(out, "<path fill=\"#{r:02x}{g:02x}{b:02x}\" d=\"{runs}\"/>");
    }
    let _ = writeln!(out, "</g>\n<rect width=\"{inner}\" height=\"{tall_inner}\" fill=\"none\" stroke=\"#777\"/>");
    let middle = |cell: usize, size: usize| cell as f64 * size as f64 + size as f64 / 2.0;
    for tick in rows {
        let (y, text) = (middle(grid.rows.cell(tick), tall), label(tick, grid.rows.size));
        let _ = writeln!(
            out,
            "<path d=\"M-6 {y}H0\" stroke=\"#777\"/><text x=\"-9\" y=\"{y}\" text-anchor=\"end\" dominant-baseline=\"central\">{text}</text>"
        );
    }
    for tick in ticks(grid.cols.size, (inner / 80).max(2)) {
        let (x, text) = (middle(grid.cols.cell(tick), wide), label(tick, grid.cols.size));
        let _ = writeln!(
            out,
            "<path d=\"M{x} {tall_inner}v6\" stroke=\"#777\"/><text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
            tall_inner + 20
        );
    }
    if has_bar {
        let _ = writeln!(out, "<g transform=\"translate({} 0)\">", inner + 20);
        let step = |level: usize| bar as f64 * (LEVELS - level) as f64 / LEVELS as f64;
        for level in 1..=LEVELS {
            let [r, g, b] = shade(level, LEVELS);
            let (y, height) = (step(level), step(level - 1) - step(level));
            let _ = writeln!(out, "<rect y=\"{y}\" width=\"14\" height=\"{height}\" fill=\"#{r:02x}{g:02x}{b:02x}\"/>");
            if level == LEVELS || level % 3 == 1 {
                let text = short(scale.edge(level));
                let _ = writeln!(out, "<text x=\"19\" y=\"{y}\" dominant-baseline=\"hanging\">{text}</text>");
            }
        }
        let _ = writeln!(out, "</g>");
    }
    let _ = writeln!(out, "</g>\n</svg>");
    out
}

/// For each level the outlines of its runs, row by row.
fn runs(grid: &Grid, scale: &Scale) -> Vec<String> {
    let mut paths = vec![String::new(); LEVELS];
    for row in 0..grid.rows.cells {
        let mut start = 0;
        while start < grid.cols.cells {
            let level = scale.level(grid.density(row, start));
            let same = (start..grid.cols.cells).take_while(|&col| scale.level(grid.density(row, col)) == level).count();
            if let Some(path) = level.checked_sub(1).and_then(|at| paths.get_mut(at)) {
                let _ = write!(path, "M{start} {row}h{same}v1h-{same}z");
            }
            start += same;
        }
    }
    paths
}
