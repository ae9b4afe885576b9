//! A folder of `.npy` files, one per array, and the descriptor as `binsparse.json`: what Finch calls `.bspnpy`.
//!
//! Nothing leads out of the folder: a file in it that is a symbolic link is an error.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::arrays::{ArrayInfo, Arrays, Container};
use super::export::Export;
use super::npy::{self, NpyHeader};
use super::{Mode, json};
use crate::io::fault::{Res, bad};
use crate::io::progress::Tell;
use crate::io::steps;
use crate::io::warning::Warning;

/// The file with the descriptor.
const DESCRIPTOR: &str = "binsparse.json";

/// Whether a folder is such a one.
pub(in crate::io) fn is_one(folder: &Path) -> bool {
    folder.join(DESCRIPTOR).is_file()
}

/// An open folder.
pub(crate) struct NpyFolder {
    root: PathBuf,
    /// Files that were opened, and the names of their arrays.
    opened: Vec<(String, File, NpyHeader)>,
}

impl NpyFolder {
    pub(super) fn open(root: &Path) -> NpyFolder {
        NpyFolder { root: root.to_owned(), opened: Vec::new() }
    }

    /// Bytes of all files.
    pub(super) fn bytes(&self) -> Res<u64> {
        let mut bytes = 0_u64;
        for entry in fs::read_dir(&self.root)? {
            let met = entry?.metadata()?;
            bytes = bytes.saturating_add(if met.is_file() { met.len() } else { 0 });
        }
        Ok(bytes)
    }

    /// A file of the folder and its size, if there is one.
    fn file(&self, name: &str) -> Res<Option<(File, u64)>> {
        if name.contains(['/', '\\', ':', '\0']) {
            return bad(format_args!("{name:?} is no name of a file in the folder"));
        }
        let path = self.root.join(name);
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
            Ok(met) if met.is_file() => Ok(Some((File::open(path)?, met.len()))),
            Ok(_) => bad(format_args!("{name:?} is no plain file: links might lead out of the folder")),
        }
    }

    /// An array, which is opened once.
    fn array(&mut self, name: &str) -> Res<Option<(&mut File, &NpyHeader)>> {
        let known = self.opened.iter().position(|(known, ..)| known == name);
        let at = match known {
            Some(at) => at,
            None => {
                let Some((mut file, size)) = self.file(&format!("{name}.npy"))? else { return Ok(None) };
                let header = npy::read(&mut file, size, name)?;
                self.opened.push((name.to_owned(), file, header));
                self.opened.len() - 1
            }
        };
        Ok(self.opened.get_mut(at).map(|(_, file, header)| (file, &*header)))
    }
}

impl Container for NpyFolder {
    fn descriptor(&mut self, _: Mode, _: &mut Vec<Warning>) -> Res<String> {
        let Some((file, size)) = self.file(DESCRIPTOR)? else { return bad(format_args!("there is no {DESCRIPTOR}")) };
        if size > json::MAX_BYTES {
            return bad(format_args!(
                "{DESCRIPTOR} has {size} bytes, and {} are the most it may have",
                json::MAX_BYTES
            ));
        }
        let mut text = Vec::new();
        file.take(size).read_to_end(&mut text)?;
        String::from_utf8(text).or_else(|_| bad(format_args!("{DESCRIPTOR} is not UTF-8")))
    }
}

impl Arrays for NpyFolder {
    fn info(&mut self, name: &str) -> Res<Option<ArrayInfo>> {
        let Some((_, header)) = self.array(name)? else { return Ok(None) };
        let Some(dtype) = header.dtype() else {
            return bad(format_args!("`{name}` holds {}", header.unfit()));
        };
        match header.shape[..] {
            [len] => Ok(Some(ArrayInfo { dtype, len })), // its bytes are those of the file
            _ => bad(format_args!("`{name}` has shape {:?}, not one axis", header.shape)),
        }
    }

    fn read(&mut self, name: &str, start: u64, out: &mut [u8], tell: &Tell<'_>) -> Res<()> {
        let Some((file, header)) = self.array(name)? else { return bad(format_args!("the array `{name}` is missing")) };
        let at = start.checked_mul(header.item).and_then(|n| n.checked_add(header.data_at as u64));
        let Some(at) = at else { return bad("a part of the array lies outside it") };
        file.seek(SeekFrom::Start(at))?;
        steps::read_exact(file, out, tell)?;
        header.ordered(out);
        Ok(())
    }
}

/// Writes a tensor into an empty folder.
pub(super) fn write(folder: &Path, export: &Export, tell: &Tell<'_>) -> std::io::Result<()> {
    let put = |name: &str, parts: &[&[u8]]| -> std::io::Result<()> {
        let mut file = File::create_new(folder.join(name))?;
        parts.iter().try_for_each(|part| steps::write_all(&mut file, part, tell))?;
        file.sync_all()
    };
    for array in &export.arrays {
        let descr = npy::descr(array.dtype).unwrap_or_default();
        let header = npy::write(&descr, false, &[array.len() as u64]);
        put(&format!("{}.npy", array.name), &[&header, array.bytes()])?;
    }
    put(DESCRIPTOR, &[export.json.as_bytes()])
}
