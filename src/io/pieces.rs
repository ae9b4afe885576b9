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
mod tests {
    use super::*;
    use crate::io::{self, WriteOptions};
    use crate::{DType, Fill, Layout, Scalar};

    type Stored = Vec<(Vec<usize>, Scalar)>;

    /// What is stored, by way of pieces of so many elements, in order of indices; and how many pieces there were.
    fn stored(path: &Path, rows: Option<Range<usize>>, most: u64) -> Result<(Stored, usize)> {
        let (mut out, mut count) = (Vec::new(), 0);
        let options = ReadOptions::default();
        pieces(Input::of_path(path, &options)?, &options, rows, most, &mut |piece| {
            count += 1;
            assert!(piece.tensor.ndim() == piece.shape.len() && piece.origin.len() == piece.shape.len());
            out.extend(piece.tensor.iter_stored().map(|(index, value)| {
                let index: Vec<usize> = index.iter().zip(&piece.origin).map(|(at, origin)| at + origin).collect();
                assert!(index.iter().zip(&piece.shape).all(|(at, size)| at < size));
                (index, value)
            }));
            ControlFlow::Continue(())
        })?;
        out.sort_by(|a, b| a.0.cmp(&b.0));
        Ok((out, count))
    }

    #[test]
    fn pieces_are_the_whole_in_every_layout_and_container() {
        let folder = std::env::temp_dir().join(format!("openwork-unit-pieces-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let x = Tensor::random([24, 20], 0.3, 0.0, Layout::Coo, 7).unwrap();
        let batch = Tensor::random([4, 6, 10], 0.3, 0.0, Layout::Coo, 8).unwrap();
        let row = Tensor::from_vec([20], (0..20).map(f64::from).collect()).unwrap();
        let hybrid = batch.to_layout(Layout::HybridCoo { dense_dims: 1 }).unwrap();
        let one = x.to_layout(Layout::Csr).unwrap().is_stored().unwrap(); // one value stands for all
        let complex = x.cast(DType::Complex128).unwrap();
        for (x, cut) in [
            (x.clone(), true),
            (x.to_layout(Layout::Csr).unwrap(), true),
            (x.to_layout(Layout::Csc).unwrap(), true),
            (x.to_layout(Layout::Bsr { block: [4, 5] }).unwrap(), true),
            (x.to_layout(Layout::Bsc { block: [4, 5] }).unwrap(), true),
            (x.to_layout(Layout::Dcsr).unwrap(), false),
            (x.to_layout(Layout::Csf).unwrap(), false),
            (x.to_dense().unwrap(), true),
            (x.to_dense().unwrap().mt().unwrap(), true),
            (batch.clone(), true),
            (batch.to_layout(Layout::Csr).unwrap(), true),
            (hybrid, true),
            (one, true),
            (complex, true),
            (x.replace_fill(Fill::array(row)).unwrap().to_layout(Layout::Csc).unwrap(), true),
            (Tensor::zeros([5, 5], DType::I8, Layout::Coo).unwrap(), false),
            (Tensor::scalar(2.5), false),
        ] {
            for ending in ["npz", "h5", "safetensors"] {
                let path = folder.join(format!("x.{ending}"));
                io::write_with(&path, &x, &WriteOptions { extensions: true, ..Default::default() }).unwrap();
                let whole = stored(&path, None, u64::MAX).unwrap();
                assert_eq!((whole.0.len(), whole.1), (x.nse(), 1), "{} {ending}", x.layout());
                for most in [1, 7, 50] {
                    let (parts, count) = stored(&path, None, most).unwrap();
                    assert!(parts == whole.0, "{} {ending} {most}", x.layout());
                    assert_eq!(count > 1, cut, "{} {ending} {most}: {count} pieces", x.layout());
                }
                let Some(&size) = x.shape().first() else { continue };
                for range in [0..size, 1..3, size / 2..size, 2..2] {
                    let mut wanted = whole.0.clone();
                    wanted.retain(|(index, _)| range.contains(&index[0]));
                    let (parts, _) = stored(&path, Some(range.clone()), 9).unwrap();
                    // A range of blocks stores the blocks that it cuts as their elements.
                    let blocks = matches!(x.layout(), Layout::Bsr { .. } | Layout::Bsc { .. });
                    let same = if blocks { parts.iter().all(|entry| wanted.contains(entry)) } else { parts == wanted };
                    assert!(same, "{} {ending} {range:?}", x.layout());
                }
                assert!(stored(&path, Some(0..size + 1), 9).is_err() && stored(&path, Some(0..size + 1), 9).is_err());
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// Packed arrays are read whole, and what is wrong with a file is said as its reader says it.
    #[test]
    fn what_has_no_parts_is_one_piece() {
        let path = std::env::temp_dir().join(format!("openwork-unit-whole-{}.npz", std::process::id()));
        let x = Tensor::random([50, 40], 0.3, 0.0, Layout::Csr, 7).unwrap();
        io::write_with(&path, &x, &WriteOptions { compress: true, ..Default::default() }).unwrap();
        let (parts, count) = stored(&path, None, 10).unwrap();
        assert_eq!((parts.len(), count), (x.nse(), 1));
        io::write(&path, &x).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        // A byte of an index, and one of a value, which nothing but the checksum of the array tells.
        for array in [&b"indices_1.npy"[..], b"values.npy"] {
            let at = bytes.windows(array.len()).position(|window| window == array).unwrap() + 200;
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            let (whole, parts) = (io::read(&path).map(drop), stored(&path, None, 10).map(drop));
            assert!(whole.is_err() && parts.is_err(), "{whole:?} {parts:?}");
            bytes[at] ^= 1;
        }
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(stored(&path, None, 10).unwrap().0.len(), x.nse());
        std::fs::remove_file(&path).unwrap();
    }
}
