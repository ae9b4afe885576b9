//! Tensors of files in pieces: what is stored is seen once, and is in memory at no time as a whole.

use std::io::Read;
use std::ops::{ControlFlow, Range};
use std::path::Path;

use super::ReadOptions;
use super::any::{Format, loaded, named};
use super::binsparse::rows::Cut;
use super::input::Input;
use super::state_dict::Archive;
use super::warning::Warning;
use super::{Progress, binsparse, frostt, matrix_market};
use crate::base::error::{self, ErrorKind, Result};
use crate::tensor::Tensor;
use crate::tensor::trace;

/// About how many elements a piece holds.
pub(super) const PIECE: u64 = 1 << 20;

/// A part of a tensor that a file holds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Piece {
    /// The part: some of the stored elements, in a window of the whole tensor.
    pub tensor: Tensor,
    /// Which element of the whole tensor the window starts at.
    pub origin: Vec<usize>,
    /// The shape of the whole tensor.
    pub shape: Vec<usize>,
}

/// What is done with a piece; a break ends the reading.
type Visit<'a> = &'a mut dyn FnMut(Piece) -> ControlFlow<()>;

/// Reads a tensor from a file of any known format in pieces of about a million elements and calls `visit` for each, in
/// the order in which elements are stored, until it breaks. Every stored element is in one piece, and there is a piece
/// even if nothing is stored. With `rows`, what lies in that range of the first axis alone.
///
/// Text is handed on as it is parsed, of a binsparse file or a model rows (columns, batches) as in
/// [`binsparse::read_rows`](super::binsparse::read_rows), or a part of a list of coordinates. What has no such parts is
/// one piece: a tensor of no more than a million elements, a first level of segments (DCSR, CSF), one triangle
/// of a symmetric matrix, arrays that are packed as a whole (NPZ), checkpoints, a file whose bytes are bounded
/// ([`ReadOptions::max_bytes`]). A `.tns` file that does not say its shape is read twice; from a pipe it is one piece.
///
/// Gives what lenient reading let pass.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use openwork::{Layout, Tensor, io};
/// let path = std::env::temp_dir().join(format!("openwork-pieces-{}.mtx", std::process::id()));
/// io::write(&path, &Tensor::random([20, 30], 0.1, 0.0, Layout::Csr, 1)?)?;
/// let mut nse = 0;
/// io::read_pieces(&path, &Default::default(), None, &mut |piece| {
///     nse += piece.tensor.nse();
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(nse, 60);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`read`](super::read()), when the part at fault is met: what came before it has been visited. That the checksum of an array
/// is another (NPZ) is found behind its last part. Coordinates that fall or
/// repeat from one part of a list to the next are not seen. If `rows` are out of range.
pub fn read_pieces(
    path: impl AsRef<Path>,
    options: &ReadOptions<'_>,
    rows: Option<Range<usize>>,
    visit: &mut dyn FnMut(Piece) -> ControlFlow<()>,
) -> Result<Vec<Warning>> {
    let path = path.as_ref();
    let input = Input::of_path(path, options)?;
    let bare = input.format == Format::Frostt && options.shape.is_none() && input.is_file();
    if !bare {
        return pieces(input, options, rows, PIECE, visit);
    }
    let quiet = ReadOptions { progress: None, ..*options };
    let (source, name) = input.text(&quiet);
    let shape = frostt::shape_of(source, &quiet, name.as_deref())?;
    let Some(shape) = crate::base::shape::fitting(&shape) else {
        return Err(error::invalid("size", format_args!("the shape {shape:?} does not fit this machine")));
    };
    let told = ReadOptions { shape: Some(&shape), ..*options };
    pieces(Input::of_path(path, &told)?, &told, rows, PIECE, visit)
}

/// As [`read_pieces`], of what a stream brings; see [`read_from`](super::read_from).
///
/// # Errors
/// As [`read_pieces`]; if neither the options nor the first bytes tell the format.
pub fn read_pieces_from<'a>(
    stream: impl Read + 'a,
    options: &ReadOptions<'a>,
    rows: Option<Range<usize>>,
    visit: &mut dyn FnMut(Piece) -> ControlFlow<()>,
) -> Result<Vec<Warning>> {
    pieces(Input::of_stream(Box::new(stream), None, options)?, options, rows, PIECE, visit)
}

/// Tensors on their way to a visitor: cut to the rows that are wanted.
struct Sender<'a> {
    rows: Option<Range<usize>>,
    visit: Visit<'a>,
    sent: bool,
    failed: Option<error::Error>,
}

impl Sender<'_> {
    /// Hands on a tensor that begins at `start` of an axis of the whole.
    fn send(&mut self, tensor: Tensor, shape: &[usize], (axis, start): (usize, usize)) -> ControlFlow<()> {
        let mut origin = vec![0; shape.len()];
        if let Some(at) = origin.get_mut(axis) {
            *at = start;
        }
        let tensor = match self.within_rows(tensor, shape, &mut origin) {
            Ok(Some(tensor)) => tensor,
            Ok(None) => return ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
                return ControlFlow::Break(());
            }
        };
        self.sent = true;
        (self.visit)(Piece { tensor, origin, shape: shape.to_vec() })
    }

    /// The rows that are wanted, if there are any.
    fn within_rows(&self, tensor: Tensor, shape: &[usize], origin: &mut [usize]) -> Result<Option<Tensor>> {
        let Some(rows) = &self.rows else { return Ok(Some(tensor)) };
        let (Some(&size), Some(&here), Some(first)) = (shape.first(), tensor.shape().first(), origin.first_mut())
        else {
            return Err(error::invalid("rows", "a tensor without axes has no rows"));
        };
        if rows.start > rows.end || rows.end > size {
            let Range { start, end } = rows;
            return Err(error::invalid(
                "rows",
                format_args!("{start}..{end} does not lie in axis 0, which has size {size}"),
            ));
        }
        let within = |row: usize| row.saturating_sub(*first).min(here);
        let range = within(rows.start)..within(rows.end);
        if range.is_empty() && (self.sent || here < size) {
            return Ok(None);
        }
        *first += range.start;
        tensor.narrow(range, 0).map(Some)
    }

    fn done(self, read: Result<Vec<Warning>>) -> Result<Vec<Warning>> {
        match self.failed {
            Some(error) => Err(error),
            None => read,
        }
    }
}

fn pieces<'a>(
    input: Input<'a>,
    options: &ReadOptions<'a>,
    rows: Option<Range<usize>>,
    most: u64,
    visit: Visit<'_>,
) -> Result<Vec<Warning>> {
    let _call = trace::call("io::read_pieces", &[]);
    let mut sender = Sender { rows, visit, sent: false, failed: None };
    let read = match input.format {
        Format::MatrixMarket => {
            let (source, path) = input.text(options);
            matrix_market::pieces_of(source, options.lenient, path.as_deref(), &mut |tensor| {
                let shape = tensor.shape().to_vec();
                sender.send(tensor, &shape, (0, 0))
            })
        }
        Format::Frostt | Format::TensorMarket => {
            let (source, path) = input.text(options);
            frostt::pieces_of(source, options, path.as_deref(), &mut |tensor| {
                let shape = tensor.shape().to_vec();
                sender.send(tensor, &shape, (0, 0))
            })
        }
        format if format.is_container() && options.max_bytes.is_none() => {
            let path = input.path.clone();
            let (mut file, _spool) = binsparse::File::of_placed(input.placed(options)?, path)?;
            let name = options.name;
            let cut = |file: &mut binsparse::File, cut: Option<Cut>| {
                let progress = options.progress.filter(|_| cut.is_none());
                let settings = ReadOptions { progress, ..*options };
                file.load(name, &settings, cut, Tensor::from_parts).map(|loaded| (loaded.tensor, loaded.warnings))
            };
            let descriptor = file.described(name)?;
            let read = parts(&descriptor, most, &mut |part| cut(&mut file, part), &mut sender, options.progress)?;
            // Parts of an array are no match for its checksum: that is compared when all of it has been seen.
            if read.in_parts && sender.failed.is_none() {
                file.verify()?;
            }
            Ok(read.warnings)
        }
        Format::Safetensors if options.max_bytes.is_none() => {
            let path = input.path.clone();
            let (file, _spool) = input.placed(options)?.one_file()?;
            let archive = Archive::of_file(file, Format::Safetensors, path.as_deref())?;
            let name = named(&archive, options.name)?;
            let mut cut = |part: Option<Cut>| {
                let tensor = match part {
                    Some(part) => archive.part(name, part),
                    None => archive.tensor_with(name, options),
                };
                Ok((tensor?, Vec::new()))
            };
            let read = parts(&archive.descriptor(name)?, most, &mut cut, &mut sender, options.progress);
            read.map(|read| read.warnings)
        }
        _ => loaded(input, options).map(|loaded| {
            let shape = loaded.tensor.shape().to_vec();
            let _ = sender.send(loaded.tensor, &shape, (0, 0));
            loaded.warnings
        }),
    };
    sender.done(read)
}

/// How a tensor was read.
struct Reading {
    warnings: Vec<Warning>,
    /// Part by part, and all of it.
    in_parts: bool,
}

/// Reads a tensor in parts of about `most` elements; at once if the first part shows that it has none.
fn parts(
    descriptor: &binsparse::Descriptor,
    most: u64,
    read: &mut dyn FnMut(Option<Cut>) -> Result<(Tensor, Vec<Warning>)>,
    sender: &mut Sender<'_>,
    progress: Option<Progress<'_>>,
) -> Result<Reading> {
    let shape = crate::base::shape::fitting(&descriptor.shape);
    let rows = sender.rows.clone();
    let axis = descriptor.levels.dims.first().map_or(0, |&(axis, _)| axis);
    let all = descriptor.number_of_stored_values.unwrap_or(0);
    let (mut said, mut done, mut skipped): (Vec<Warning>, u64, bool) = (Vec::new(), 0, false);
    if let (Some(shape), Some(cuts)) = (&shape, Cut::parts(descriptor, most)) {
        for cut in cuts {
            let start = match &cut {
                Cut::Rows(range) => (axis, range.start),
                Cut::Entries(_) => (0, 0),
            };
            // Rows that are not wanted are not read.
            if let (Cut::Rows(range), Some(wanted), 0) = (&cut, &rows, axis)
                && (range.end <= wanted.start || range.start >= wanted.end)
                && wanted.end <= shape.first().copied().unwrap_or(0)
                && wanted.start < wanted.end
            {
                skipped = true;
                continue;
            }
            match read(Some(cut)) {
                Ok((tensor, warnings)) => {
                    done += tensor.nse() as u64;
                    if let Some(Progress(tell)) = progress.filter(|_| done < all) {
                        tell(done, all);
                    }
                    said.extend(warnings.into_iter().filter(|warning| !said.contains(warning)).collect::<Vec<_>>());
                    if sender.send(tensor, shape, start).is_break() {
                        return Ok(Reading { warnings: said, in_parts: false });
                    }
                }
                // It has no parts: what is wrong with the whole is told by who reads that.
                Err(error) if !sender.sent && matches!(error.kind(), ErrorKind::Format { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        if sender.sent || sender.failed.is_some() {
            if let Some(Progress(tell)) = progress.filter(|_| sender.failed.is_none()) {
                tell(all, all);
            }
            return Ok(Reading { warnings: said, in_parts: !skipped });
        }
    }
    let (tensor, warnings) = read(None)?;
    let shape = tensor.shape().to_vec();
    let _ = sender.send(tensor, &shape, (0, 0));
    Ok(Reading { warnings, in_parts: false })
}

#[cfg(test)]
#[path = "tests/pieces.rs"]
mod tests;
