//! `openwork spy`: where a tensor stores something, as a picture.

mod grid;
mod picture;
mod svg;
mod terminal;

use std::ops::ControlFlow;
use std::path::Path;

use clap::ValueEnum;
use console::Term;
use openwork::DType;
use openwork::io::Piece;

use crate::arguments::Spy as Arguments;
use crate::convert::shown;
use crate::failure::Failure;
use crate::pieces::pieces;
use grid::{Grid, short};

/// How a picture is drawn with letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Style {
    /// Half blocks in colours
    Color,
    /// Blocks of four shades
    Shades,
    /// A dot where something is stored, eight to a letter
    Braille,
    /// Letters that every terminal has
    Ascii,
}

/// Columns where standard output is no terminal.
const COLUMNS: usize = 80;
/// The most lines, unless more are asked for.
const LINES: usize = 32;
/// Cells of a picture along its longer side.
const PIXELS: usize = 800;

/// What is drawn where.
enum Target<'a> {
    Terminal(Style),
    Png(&'a Path),
    Svg(&'a Path),
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let target = target(arguments)?;
    let (mut drawn, mut failed): (Option<(Grid, Told)>, _) = (None, None);
    pieces(&arguments.file, &arguments.reading, None, &mut |piece| {
        let (grid, _) = match &mut drawn {
            Some(drawn) => drawn,
            None => match begun(arguments, &target, &piece) {
                Ok(begun) => drawn.insert(begun),
                Err(failure) => {
                    failed = Some(failure);
                    return ControlFlow::Break(());
                }
            },
        };
        if let Err(error) = grid.add(&piece) {
            failed = Some(Failure::of_writing(error));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    if let Some(failure) = failed {
        return Err(failure);
    }
    let Some((grid, told)) = drawn else { return Ok(()) };
    let name = shown(&arguments.file);
    let [facts, about] = told.lines(&grid, matches!(target, Target::Terminal(Style::Ascii)));
    match target {
        Target::Terminal(style) => {
            use std::io::Write;
            let mut out = std::io::stdout().lock();
            write!(out, "{name}: {facts}\n{about}\n{}", terminal::draw(&grid, style))?;
            Ok(out.flush()?)
        }
        Target::Png(path) => {
            let bytes = picture::png(&grid, pixels(&grid), &format!("{name}: {facts}; {about}"));
            saved(path, &bytes.map_err(|error| Failure::Refused(format!("no picture: {error}")))?)
        }
        Target::Svg(path) => {
            let file = arguments.file.file_name().map(|name| shown(Path::new(name))).unwrap_or(name);
            saved(path, svg::svg(&grid, pixels(&grid), [&file, &facts, &about]).as_bytes())
        }
    }
}

/// Where the picture goes, before anything is read.
fn target(arguments: &Arguments) -> Result<Target<'_>, Failure> {
    let Some(path) = &arguments.output else {
        let colored = || Term::stdout().features().colors_supported() && std::env::var_os("NO_COLOR").is_none();
        let style = arguments.style.unwrap_or_else(|| if colored() { Style::Color } else { Style::Shades });
        return Ok(Target::Terminal(style));
    };
    let ending = path.extension().and_then(|end| end.to_str()).unwrap_or_default().to_ascii_lowercase();
    match ending.as_str() {
        "png" => Ok(Target::Png(path)),
        "svg" => Ok(Target::Svg(path)),
        _ => Err(Failure::Usage(format!("{}: pictures are .png or .svg", shown(path)))),
    }
}

/// Pixels of a cell downwards and to the right: as many as make a picture of a size that is seen.
fn pixels(grid: &Grid) -> [usize; 2] {
    let longest = grid.rows.cells.max(grid.cols.cells).max(1);
    let size = (480 / longest).max(1);
    // A strip is as high as one can see.
    let tall = if grid.rows.cells == 1 { size.max(40) } else { size };
    [tall, size]
}

/// What is known of the whole tensor.
struct Told {
    shape: Vec<usize>,
    dtype: DType,
    strided: bool,
    axes: [Option<usize>; 2],
}

/// An empty grid for the tensor of a piece.
fn begun(arguments: &Arguments, target: &Target<'_>, piece: &Piece) -> Result<(Grid, Told), Failure> {
    let shape = piece.shape.clone();
    let axes = axes(arguments, &shape)?;
    let size = |axis: Option<usize>| axis.and_then(|axis| shape.get(axis)).map_or(1, |&size| size.max(1));
    let (rows, cols) = (size(axes[0]), size(axes[1]));
    let most = match target {
        Target::Terminal(style) => {
            let [down, right] = style.cells();
            let columns = Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
            let wide = arguments.width.unwrap_or_else(|| columns.unwrap_or(COLUMNS).saturating_sub(12).clamp(16, 120));
            let tall = arguments.height.unwrap_or(LINES);
            // A letter is about twice as high as wide; four rows are the least that shows anything.
            let fitted = |size: usize, other: usize, room: usize, ratio: f64| {
                let wanted = room as f64 * (size as f64 / other as f64) * ratio;
                (wanted.round() as usize).max(4)
            };
            let height = tall.min(fitted(rows, cols, wide.min(cols.div_ceil(right)), 0.5));
            let width = wide.min(fitted(cols, rows, tall, 2.0).max(16));
            [height * down, width * right]
        }
        Target::Png(_) | Target::Svg(_) => {
            let most = match target {
                Target::Svg(_) => PIXELS / 2,
                _ => PIXELS,
            };
            let (wide, tall) = (arguments.width.unwrap_or(most), arguments.height.unwrap_or(most));
            // Of a long tensor the shorter side has an eighth, so that there is something to see.
            let ratio = |size: usize, other: usize, room: usize| {
                ((room as f64 * size as f64 / other as f64).round() as usize).max(room / 8).max(1)
            };
            [tall.min(ratio(rows, cols, wide)), wide.min(ratio(cols, rows, tall))]
        }
    };
    let tensor = &piece.tensor;
    let told = Told { dtype: tensor.dtype(), strided: tensor.is_strided(), axes, shape };
    Ok((Grid::new(&told.shape, axes, most), told))
}

/// The axes that are drawn: those asked for, else the two longest in their order, the first of those that are as long.
fn axes(arguments: &Arguments, shape: &[usize]) -> Result<[Option<usize>; 2], Failure> {
    if let Some(axes) = &arguments.axes {
        let wrong = axes.iter().any(|&axis| axis >= shape.len());
        let &[rows, cols] = &axes[..] else {
            return Err(Failure::Usage(format!("--axes: two axes are drawn, {} are given", axes.len())));
        };
        if wrong || rows == cols {
            let why = format!("--axes: {rows} and {cols} are not two axes of a tensor of {} axes", shape.len());
            return Err(Failure::Refused(why));
        }
        return Ok([Some(rows), Some(cols)]);
    }
    match shape.len() {
        0 => Err(Failure::Refused("a tensor without axes has no picture".to_owned())),
        1 => Ok([None, Some(0)]),
        axes => {
            let mut longest: Vec<usize> = (0..axes).collect();
            longest.sort_by_key(|&axis| std::cmp::Reverse(shape.get(axis).copied()));
            longest.truncate(2);
            longest.sort_unstable();
            Ok([longest.first().copied(), longest.get(1).copied()])
        }
    }
}

impl Told {
    /// What the picture shows, in two lines.
    fn lines(&self, grid: &Grid, ascii: bool) -> [String; 2] {
        let times = if ascii { " x " } else { " × " };
        let sizes = self.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(times);
        let size = self.shape.iter().map(|&n| n as f64).product::<f64>();
        let density =
            if size > 0.0 { format!(" (density {})", short(grid.total as f64 / size)) } else { String::new() };
        let what = if self.strided { "not 0" } else { "stored" };
        let mut about = match self.axes {
            [Some(rows), Some(cols)] => format!("axis {rows} downwards, axis {cols} to the right"),
            _ => "axis 0 to the right".to_owned(),
        };
        let others: Vec<String> = (0..self.shape.len())
            .filter(|&axis| !self.axes.contains(&Some(axis)))
            .map(|axis| axis.to_string())
            .collect();
        if !others.is_empty() {
            about.push_str(&format!("; summed over {}", others.join(", ")));
        }
        let of = |span: &grid::Span| {
            let cells = span.cells.max(1) as u64;
            let (least, more) = (span.size / cells, !span.size.is_multiple_of(cells));
            if more { format!("{least} or {}", least + 1) } else { least.to_string() }
        };
        let cells = match (grid.is_exact(), self.axes[0]) {
            (true, _) => "a cell is an element".to_owned(),
            (false, None) => format!("a cell is {} elements", of(&grid.cols)),
            (false, Some(_)) => format!("a cell is {}{times}{}", of(&grid.rows), of(&grid.cols)),
        };
        [format!("{sizes}, {}, {} {what}{density}", self.dtype, grid.total), format!("{about}; {cells}")]
    }
}

fn saved(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, bytes).map_err(|source| Failure::of_file_written(path, source))
}
