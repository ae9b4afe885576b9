//! An `.npy` file: one plain array without a name.

use std::io::{Read, Seek, SeekFrom};

use super::Mode;
use super::arrays::{ArrayInfo, Arrays, Container};
use super::foreign;
use super::npy::{self, NpyHeader};
use crate::io::fault::{Res, bad};
use crate::io::progress::Tell;
use crate::io::steps;
use crate::io::warning::Warning;
use openwork_ops::DType;

pub(crate) struct NpyFile<R> {
    source: R,
    header: NpyHeader,
}

impl<R: Read + Seek> NpyFile<R> {
    /// Reads the header; the file must have the bytes of the array and no others.
    pub(crate) fn open(mut source: R) -> Res<NpyFile<R>> {
        let size = source.seek(SeekFrom::End(0))?;
        source.seek(SeekFrom::Start(0))?;
        let header = npy::read(&mut source, size, "")?;
        Ok(NpyFile { source, header })
    }

    fn dtype(&self) -> Res<DType> {
        self.header.dtype().map_or_else(|| bad(format_args!("the array holds {}", self.header.unfit())), Ok)
    }
}

impl<R: Read + Seek> Container for NpyFile<R> {
    fn foreign(&self) -> Option<String> {
        Some(foreign::PLAIN.to_owned())
    }

    fn descriptor(&mut self, _: Mode, _: &mut Vec<Warning>) -> Res<String> {
        foreign::plain("values", &self.header.shape, self.header.fortran, self.dtype()?).map(|found| found.text)
    }
}

impl<R: Read + Seek> Arrays for NpyFile<R> {
    fn info(&mut self, name: &str) -> Res<Option<ArrayInfo>> {
        let dtype = self.dtype()?;
        let len = self.header.shape.iter().product(); // its bytes are those of the file
        Ok((name == "values").then(|| foreign::info(dtype, len)))
    }

    fn read(&mut self, _: &str, start: u64, out: &mut [u8], tell: &Tell<'_>) -> Res<()> {
        let at = start.checked_mul(self.header.number()).and_then(|n| n.checked_add(self.header.data_at as u64));
        let Some(at) = at else { return bad("a part of the array lies outside it") };
        self.source.seek(SeekFrom::Start(at))?;
        steps::read_exact(&mut self.source, out, tell)?;
        self.header.ordered(out);
        Ok(())
    }
}
