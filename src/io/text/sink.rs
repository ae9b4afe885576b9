//! Text out: lines formatted in parallel, in order, into memory or a file.

use crate::base::mapped::Mapped;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use openwork_ops::structure::Index;
use openwork_ops::{Element, with_dtype, with_index};

use super::number::{Text, push_u64};
use crate::base::error::Result;
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::io::{Progress, atomic};
use crate::levels::level::Indices;

/// Entries that one thread formats at a time.
const CHUNK: usize = 1 << 12;
/// Entries whose text is in memory at a time.
const BATCH: usize = 1 << 18;

/// A text: what stands above, and a line per entry.
pub(in crate::io) struct Lines {
    pub head: Vec<u8>,
    /// One array of indices per axis; none where the position of a line says which element it is.
    pub columns: Vec<Indices>,
    /// What the first index is written as.
    pub base: u64,
    /// One-dimensional; `None` if lines have no value.
    pub values: Option<Strided>,
    /// Which entries are written, and in which order; all as they come if `None`.
    pub keep: Option<Vec<usize>>,
    /// How many entries there are.
    pub entries: usize,
}

impl Lines {
    fn len(&self) -> usize {
        self.keep.as_ref().map_or(self.entries, Vec::len)
    }

    /// The lines of a range of what is written.
    fn format(&self, range: Range<usize>) -> Vec<u8> {
        let kept = self.keep.as_ref().map(|keep| keep.get(range.clone()).unwrap_or_default());
        let columns: Vec<Vec<u64>> = self.columns.mapped(|column| picked(column, &range, kept));
        let mut out = Vec::with_capacity(range.len() * (8 * columns.len() + 24));
        let indices = |out: &mut Vec<u8>, i: usize| {
            for (axis, column) in columns.iter().enumerate() {
                if axis > 0 {
                    out.push(b' ');
                }
                push_u64(out, column.get(i).copied().unwrap_or_default().wrapping_add(self.base));
            }
        };
        let Some(values) = &self.values else {
            for i in 0..range.len() {
                indices(&mut out, i);
                out.push(b'\n');
            }
            return out;
        };
        let bytes = values.contiguous_bytes().unwrap_or_default();
        let size = values.dtype.size();
        let push: fn(&[u8], &mut Vec<u8>) = with_dtype!(values.dtype, T => |bytes, out| T::read(bytes).push(out));
        for i in 0..range.len() {
            indices(&mut out, i);
            if !columns.is_empty() {
                out.push(b' ');
            }
            let entry = kept.map_or(range.start + i, |kept| kept[i]);
            push(&bytes[entry * size..], &mut out);
            out.push(b'\n');
        }
        out
    }

    /// All of the text, piece by piece.
    fn emit(&self, progress: Option<Progress<'_>>, put: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        put(&self.head)?;
        let total = self.len();
        let mut start = 0;
        while start < total {
            let end = (start + BATCH).min(total);
            let texts =
                parallel::map_chunks(end - start, CHUNK, &|chunk| self.format(start + chunk.start..start + chunk.end));
            texts.iter().try_for_each(|text| put(text))?;
            start = end;
            if let Some(Progress(report)) = progress.filter(|_| end < total) {
                report(end as u64, total as u64);
            }
        }
        Ok(())
    }

    fn done(&self, progress: Option<Progress<'_>>) {
        if let Some(Progress(report)) = progress {
            report(self.len() as u64, self.len() as u64);
        }
    }

    /// The text in memory.
    pub(in crate::io) fn to_vec(&self, progress: Option<Progress<'_>>) -> Vec<u8> {
        let mut all = Vec::new();
        // A vector takes all that it is given.
        let _ = self.emit(progress, &mut |text| {
            all.extend_from_slice(text);
            Ok(())
        });
        self.done(progress);
        all
    }

    /// The text in a file, compressed if its name ends in `.gz`; the whole of it or none.
    pub(in crate::io) fn to_file(&self, path: &Path, progress: Option<Progress<'_>>) -> Result<()> {
        atomic::write(path, |file| {
            if !is_gzip(path) {
                return self.emit(progress, &mut |text| file.write_all(text));
            }
            let mut encoder = GzEncoder::new(file, Compression::default());
            self.emit(progress, &mut |text| encoder.write_all(text))?;
            encoder.finish().map(|_| ())
        })?;
        self.done(progress);
        Ok(())
    }
}

/// Whether a file of this name is compressed.
pub(in crate::io) fn is_gzip(path: &Path) -> bool {
    path.extension().and_then(OsStr::to_str).is_some_and(|end| end.eq_ignore_ascii_case("gz"))
}

fn picked(column: &Indices, range: &Range<usize>, kept: Option<&[usize]>) -> Vec<u64> {
    with_index!(column.as_slice(), indices => match kept {
        None => indices[range.clone()].iter().map(|index| index.get() as u64).collect(),
        Some(kept) => kept.iter().map(|&entry| indices[entry].get() as u64).collect(),
    })
}

/// Appends a comment, each of its lines behind `sign`.
pub(in crate::io) fn push_comment(head: &mut Vec<u8>, sign: u8, comment: &str) {
    for line in comment.lines() {
        head.push(sign);
        if !line.is_empty() {
            head.push(b' ');
        }
        // A carriage return would end the line for some readers.
        head.extend(line.bytes().map(|byte| if byte == b'\r' { b' ' } else { byte }));
        head.push(b'\n');
    }
}
