//! The picture as lines of text.

use std::fmt::Write as _;

use super::Style;
use super::grid::{Grid, Scale, label, short, ticks};

/// From the least to the highest density, in the 256 colours that terminals know: blue, green, yellow.
const RAMP: [u8; 12] = [17, 18, 25, 31, 37, 36, 35, 71, 107, 149, 185, 227];
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
const SIGNS: [char; 5] = [' ', '.', ':', 'o', '#'];

impl Style {
    /// Cells that one character shows, downwards and to the right.
    pub(super) fn cells(self) -> [usize; 2] {
        match self {
            Style::Color => [2, 1],
            Style::Braille => [4, 2],
            Style::Shades | Style::Ascii => [1, 1],
        }
    }

    fn levels(self) -> usize {
        match self {
            Style::Color => RAMP.len(),
            Style::Braille => 1,
            Style::Shades | Style::Ascii => 4,
        }
    }
}

/// The frame, its labels and a legend around the cells.
pub(super) fn draw(grid: &Grid, style: Style) -> String {
    let scale = Scale::new(grid, style.levels());
    let [down, right] = style.cells();
    let (height, width) = (grid.rows.cells.div_ceil(down), grid.cols.cells.div_ceil(right));
    let [horizontal, vertical, corners, left, bottom] =
        if style == Style::Ascii { ["-", "|", "++++", "+", "+"] } else { ["─", "│", "┌┐└┘", "┤", "┬"] };
    let corners: Vec<char> = corners.chars().collect();
    let corner = |i: usize| corners.get(i).copied().unwrap_or(' ');

    let mut rows = vec![None; height];
    for tick in ticks(grid.rows.size, (height / 4).max(2)) {
        if let Some(row) = rows.get_mut(grid.rows.cell(tick) / down) {
            row.get_or_insert(label(tick, grid.rows.size));
        }
    }
    let margin = rows.iter().flatten().map(String::len).max().unwrap_or(0);
    let mut out = String::new();
    // A string takes all that it is given.
    let _ = writeln!(out, "{:margin$} {}{}{}", "", corner(0), horizontal.repeat(width), corner(1));
    for (line, tick) in rows.iter().enumerate() {
        let edge = if tick.is_some() { left } else { vertical };
        let _ = write!(out, "{:>margin$} {edge}", tick.as_deref().unwrap_or_default());
        push_line(&mut out, grid, &scale, style, line);
        let _ = writeln!(out, "{vertical}");
    }
    let mut base: Vec<String> = vec![horizontal.to_owned(); width];
    let mut labels = String::new();
    for tick in ticks(grid.cols.size, (width / 9).max(2)) {
        let (at, text) = (grid.cols.cell(tick) / right, label(tick, grid.cols.size));
        // The label stands under its tick, and the next one is left out if it does not fit beside it.
        if labels.is_empty() || at > labels.len() {
            let _ = write!(labels, "{:>1$}", text, at + text.len() - labels.len());
            if let Some(place) = base.get_mut(at) {
                *place = bottom.to_owned();
            }
        }
    }
    let _ = writeln!(out, "{:margin$} {}{}{}", "", corner(2), base.concat(), corner(3));
    let _ = writeln!(out, "{:margin$}  {labels}", "");
    let _ = writeln!(out, "{:margin$}  {}", "", legend(grid, &scale, style));
    out
}

fn push_line(out: &mut String, grid: &Grid, scale: &Scale, style: Style, line: usize) {
    let [down, right] = style.cells();
    let level = |row: usize, col: usize| {
        let inside = row < grid.rows.cells && col < grid.cols.cells;
        if inside { scale.level(grid.density(row, col)) } else { 0 }
    };
    let mut colored = false;
    for place in 0..grid.cols.cells.div_ceil(right) {
        let (row, col) = (line * down, place * right);
        match style {
            Style::Shades => out.push(SHADES.get(level(row, col)).copied().unwrap_or('█')),
            Style::Ascii => out.push(SIGNS.get(level(row, col)).copied().unwrap_or('#')),
            Style::Braille => {
                // The bits of the eight dots, in the order of Unicode.
                let dots = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
                let mut bits = 0;
                for (y, pair) in dots.iter().enumerate() {
                    for (x, bit) in pair.iter().enumerate() {
                        bits |= if level(row + y, col + x) > 0 { *bit } else { 0 };
                    }
                }
                out.push(char::from_u32(0x2800 + bits).unwrap_or(' '));
            }
            Style::Color => {
                let color = |level: usize| level.checked_sub(1).and_then(|at| RAMP.get(at).copied());
                let cell = match (color(level(row, col)), color(level(row + 1, col))) {
                    (None, None) if !colored => " ".to_owned(),
                    (None, None) => "\u{1b}[0m ".to_owned(),
                    (Some(top), None) => format!("\u{1b}[0;38;5;{top}m▀"),
                    (None, Some(below)) => format!("\u{1b}[0;38;5;{below}m▄"),
                    (Some(top), Some(below)) => format!("\u{1b}[38;5;{top};48;5;{below}m▀"),
                };
                colored = cell.len() > 1 && !cell.ends_with(' ');
                out.push_str(&cell);
            }
        }
    }
    if colored {
        out.push_str("\u{1b}[0m");
    }
}

/// What the signs mean.
fn legend(grid: &Grid, scale: &Scale, style: Style) -> String {
    if grid.total == 0 {
        return "nothing is stored".to_owned();
    }
    if style == Style::Braille {
        return "a dot: something is stored there".to_owned();
    }
    let signs: Vec<String> = match style {
        Style::Ascii => SIGNS.iter().skip(1).map(char::to_string).collect(),
        Style::Color => RAMP.iter().map(|color| format!("\u{1b}[38;5;{color}m█\u{1b}[0m")).collect(),
        Style::Shades | Style::Braille => SHADES.iter().skip(1).map(char::to_string).collect(),
    };
    let last = signs.last().cloned().unwrap_or_default();
    if grid.is_exact() {
        return format!("{last} stored");
    }
    if style == Style::Color {
        return format!("density {} {} {}", short(scale.edge(1)), signs.concat(), short(scale.edge(RAMP.len())));
    }
    let each = signs.iter().enumerate().map(|(i, sign)| format!("{sign} up to {}", short(scale.edge(i + 1))));
    format!("density  {}", each.collect::<Vec<_>>().join("  "))
}
