//! The picture as PNG: the grid in a frame, indices beside it, the scale of densities to the right.

use super::grid::{Grid, Scale, label, short, ticks};

/// Shades of the scale.
const LEVELS: usize = 48;
/// Places in the palette: paper, ink, frame, then the shades.
const PAPER: u8 = 0;
const INK: u8 = 1;
const LINE: u8 = 2;
const SHADES: u8 = 3;

/// From the least density to the highest, each between two of these.
const RAMP: [[u8; 3]; 4] = [[176, 208, 238], [84, 150, 214], [30, 84, 168], [8, 24, 72]];

/// The colour of a level between 1 and `levels`.
pub(super) fn shade(level: usize, levels: usize) -> [u8; 3] {
    let place = (level.saturating_sub(1)) as f64 / (levels.max(2) - 1) as f64 * (RAMP.len() - 1) as f64;
    let at = (place as usize).min(RAMP.len() - 2);
    let part = place - at as f64;
    let mut out = [0; 3];
    if let Some([from, to]) = RAMP.get(at..at + 2).and_then(|pair| <&[[u8; 3]; 2]>::try_from(pair).ok()) {
        for (channel, (&from, &to)) in out.iter_mut().zip(from.iter().zip(to)) {
            *channel = (f64::from(from) + (f64::from(to) - f64::from(from)) * part).round() as u8;
        }
    }
    out
}

/// What the colours tell.
const SCALE: &str = "density";

/// Pixels of a letter's dot.
const DOT: usize = 2;
/// Dots of a letter, with the gap beside it.
const LETTER: usize = 6;
const HEIGHT: usize = 7;

/// The rows of a letter, a bit for each dot, the leftmost the highest of five.
fn letter(sign: char) -> [u8; HEIGHT] {
    match sign {
        '0' => [0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110],
        '1' => [0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
        '2' => [0b01110, 0b10001, 0b00001, 0b00110, 0b01000, 0b10000, 0b11111],
        '3' => [0b11110, 0b00001, 0b00001, 0b01110, 0b00001, 0b00001, 0b11110],
        '4' => [0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010],
        '5' => [0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110],
        '6' => [0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110],
        '7' => [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000],
        '8' => [0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110],
        '9' => [0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100],
        '.' => [0, 0, 0, 0, 0, 0b01100, 0b01100],
        '-' => [0, 0, 0, 0b01110, 0, 0, 0],
        'e' => [0, 0, 0b01110, 0b10001, 0b11111, 0b10000, 0b01110],
        'k' => [0b10000, 0b10000, 0b10010, 0b10100, 0b11000, 0b10100, 0b10010],
        'M' => [0b10001, 0b11011, 0b10101, 0b10101, 0b10001, 0b10001, 0b10001],
        'G' => [0b01110, 0b10001, 0b10000, 0b10111, 0b10001, 0b10001, 0b01111],
        'd' => [0b00001, 0b00001, 0b01101, 0b10011, 0b10001, 0b10011, 0b01101],
        'i' => [0b00100, 0, 0b01100, 0b00100, 0b00100, 0b00100, 0b01110],
        'n' => [0, 0, 0b10110, 0b11001, 0b10001, 0b10001, 0b10001],
        's' => [0, 0, 0b01111, 0b10000, 0b01110, 0b00001, 0b11110],
        't' => [0b01000, 0b01000, 0b11100, 0b01000, 0b01000, 0b01001, 0b00110],
        'y' => [0, 0, 0b10001, 0b10001, 0b01111, 0b00001, 0b01110],
        'T' => [0b11111, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100],
        _ => [0; HEIGHT],
    }
}

fn width_of(text: &str) -> usize {
    text.chars().count() * LETTER * DOT
}

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    fn fill(&mut self, x: usize, y: usize, width: usize, height: usize, color: u8) {
        for row in y..(y + height).min(self.height) {
            let line = row * self.width;
            let (from, to) = (line + x.min(self.width), line + (x + width).min(self.width));
            if let Some(run) = self.pixels.get_mut(from..to) {
                run.fill(color);
            }
        }
    }

    fn write(&mut self, x: usize, y: usize, text: &str) {
        for (at, sign) in text.chars().enumerate() {
            for (down, bits) in letter(sign).into_iter().enumerate() {
                for right in (0..5).filter(|right| bits >> (4 - right) & 1 == 1) {
                    self.fill(x + (at * LETTER + right) * DOT, y + down * DOT, DOT, DOT, INK);
                }
            }
        }
    }
}

/// The bytes of a PNG file, in which a cell of the grid takes `scale` pixels each way.
pub(super) fn png(grid: &Grid, [tall, wide]: [usize; 2], title: &str) -> Result<Vec<u8>, png::EncodingError> {
    let shades = Scale::new(grid, LEVELS);
    let (rows, cols) = (
        ticks(grid.rows.size, (grid.rows.cells * tall / 60).max(2)),
        ticks(grid.cols.size, (grid.cols.cells * wide / 90).max(2)),
    );
    let labels = |ticks: &[u64], size: u64| ticks.iter().map(|&tick| label(tick, size)).collect::<Vec<_>>();
    let (row_labels, col_labels) = (labels(&rows, grid.rows.size), labels(&cols, grid.cols.size));
    let letters = HEIGHT * DOT;
    let (tick, gap) = (6, 8);
    let left = row_labels.iter().map(|text| width_of(text)).max().unwrap_or(0) + tick + 2 * gap;
    let (inner, tall_inner) = (grid.cols.cells * wide, grid.rows.cells * tall);
    let bar = 18;
    // The scale of densities: four of them, evenly spaced in powers.
    let marks: Vec<(usize, String)> = (0..=4)
        .map(|i| {
            let level = 1 + i * (LEVELS - 1) / 4;
            (level, short(shades.edge(level)))
        })
        .collect();
    let has_bar = grid.total > 0 && !grid.is_exact();
    let bar_room = if has_bar {
        let widest = bar + tick + marks.iter().map(|(_, text)| width_of(text)).max().unwrap_or(0);
        3 * gap + widest.max(width_of(SCALE))
    } else {
        2 * gap + letters
    };
    // What the scale is of stands above it.
    let top = gap + letters / 2 + if has_bar { letters + gap } else { 0 };
    let bar_tall = tall_inner.max(if has_bar { 8 * letters } else { 0 });
    let (width, height) = (left + inner + 2 + bar_room, top + tall_inner.max(bar_tall) + 2 + tick + letters + 2 * gap);
    let mut canvas = Canvas { width, height, pixels: vec![PAPER; width * height] };

    for row in 0..grid.rows.cells {
        for col in 0..grid.cols.cells {
            let level = shades.level(grid.density(row, col));
            if level > 0 {
                canvas.fill(left + 1 + col * wide, top + 1 + row * tall, wide, tall, SHADES + level as u8 - 1);
            }
        }
    }
    for (x, y, w, h) in [
        (left, top, inner + 2, 1),
        (left, top + tall_inner + 1, inner + 2, 1),
        (left, top, 1, tall_inner + 2),
        (left + inner + 1, top, 1, tall_inner + 2),
    ] {
        canvas.fill(x, y, w, h, LINE);
    }
    let middle = |cell: usize, size: usize| cell * size + size / 2;
    for (&at, text) in rows.iter().zip(&row_labels) {
        let y = top + 1 + middle(grid.rows.cell(at), tall);
        canvas.fill(left - tick, y, tick, 1, LINE);
        canvas.write(left - tick - gap / 2 - width_of(text), y.saturating_sub(letters / 2), text);
    }
    let below = top + tall_inner + 2;
    for (&at, text) in cols.iter().zip(&col_labels) {
        let x = left + 1 + middle(grid.cols.cell(at), wide);
        canvas.fill(x, below, 1, tick, LINE);
        let start = x.saturating_sub((width_of(text) - DOT) / 2);
        canvas.write(start.min(width.saturating_sub(width_of(text))), below + tick + gap / 2, text);
    }
    if has_bar {
        let x = left + inner + 2 + 2 * gap;
        canvas.write(x, gap, SCALE);
        let step = |level: usize| top + 1 + bar_tall * (LEVELS - level) / LEVELS;
        for level in 1..=LEVELS {
            canvas.fill(x, step(level), bar, step(level - 1) - step(level), SHADES + level as u8 - 1);
        }
        for (level, text) in &marks {
            let y = step(*level);
            canvas.fill(x + bar, y, tick / 2, 1, LINE);
            canvas.write(x + bar + tick, y.saturating_sub(letters / 2), text);
        }
    }
    encoded(&canvas, title)
}

fn encoded(canvas: &Canvas, title: &str) -> Result<Vec<u8>, png::EncodingError> {
    let mut palette = vec![255, 255, 255, 20, 20, 20, 120, 120, 120];
    (1..=LEVELS).for_each(|level| palette.extend(shade(level, LEVELS)));
    let mut out = Vec::new();
    let size = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let mut encoder = png::Encoder::new(&mut out, size(canvas.width), size(canvas.height));
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(palette);
    encoder.add_itxt_chunk("Title".to_owned(), title.to_owned())?;
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&canvas.pixels)?;
    writer.finish()?;
    Ok(out)
}
