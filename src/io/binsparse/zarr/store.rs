//! The files of a store: those of a folder, or the members of a ZIP archive.
//!
//! Names come from metadata and from whoever asks for a tensor, so each part of one is looked at: none leads out of the
//! store. Nor does a symbolic link inside of it, which is refused.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::base::mapped::Mapped;
use crate::io::binsparse::file::ReadSeek;
use crate::io::binsparse::zip::ZipReader;
use crate::io::fault::{Res, bad};
use crate::io::progress::Tell;
use crate::io::steps;

pub(super) enum Store<'a> {
    Folder(PathBuf),
    Zip(ZipReader<Box<dyn ReadSeek + 'a>>),
}

/// A file below a folder of the store.
pub(super) struct Below {
    /// Its name from that folder on.
    pub(super) name: String,
    /// Bytes that the store has of it.
    pub(super) bytes: u64,
}

/// Refuses a name that is no way down.
fn check(path: &str) -> Res<()> {
    let wrong = |part: &str| part.is_empty() || part == "." || part == ".." || part.contains(['\0', '\\', ':']);
    if path.split('/').any(wrong) {
        return bad(format_args!("{path:?} is no name inside of a Zarr store"));
    }
    Ok(())
}

/// A name inside a folder.
pub(super) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The file or folder of a name, if there is one. Every folder on the way is one, and no link.
fn found(root: &Path, path: &str) -> Res<Option<(PathBuf, Metadata)>> {
    check(path)?;
    let mut at = root.to_owned();
    let mut last = None;
    for part in path.split('/') {
        if last.as_ref().is_some_and(|found: &Metadata| !found.is_dir()) {
            return Ok(None);
        }
        at.push(part);
        let met = match fs::symlink_metadata(&at) {
            Ok(met) => met,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        if met.is_symlink() {
            return bad(format_args!("{path:?} goes by way of a symbolic link, which might lead out of the folder"));
        }
        last = Some(met);
    }
    Ok(last.map(|met| (at, met)))
}

impl Store<'_> {
    /// The bytes of a file, at most so many; `None` if there is no such file.
    pub(super) fn read(&mut self, path: &str, most: u64) -> Res<Option<Vec<u8>>> {
        let too_large =
            |bytes: u64| bad(format_args!("{path:?} has {bytes} bytes, and {most} are the most it may have"));
        match self {
            Store::Folder(root) => {
                let Some((at, met)) = found(root, path)?.filter(|(_, met)| !met.is_dir()) else { return Ok(None) };
                if !met.is_file() {
                    return bad(format_args!("{path:?} is neither a file nor a folder"));
                }
                if met.len() > most {
                    return too_large(met.len());
                }
                let mut out = Vec::with_capacity(met.len() as usize);
                File::open(at)?.take(met.len()).read_to_end(&mut out)?;
                Ok(Some(out))
            }
            Store::Zip(archive) => {
                check(path)?;
                let Some(member) = archive.member(path) else { return Ok(None) };
                if member.size > most {
                    return too_large(member.size);
                }
                let mut out = Vec::new();
                let mut reader = archive.reader(member)?;
                reader.by_ref().take(member.size).read_to_end(&mut out)?;
                reader.finish()?;
                Ok(Some(out))
            }
        }
    }

    /// Reads a part of a file that is there and has so many bytes.
    pub(super) fn read_part(&mut self, path: &str, whole: u64, start: u64, out: &mut [u8], tell: &Tell<'_>) -> Res<()> {
        let other = |bytes: u64| bad(format_args!("{path:?} has {bytes} bytes; a chunk of its array has {whole}"));
        match self {
            Store::Folder(root) => {
                let Some((at, met)) = found(root, path)?.filter(|(_, met)| met.is_file()) else {
                    return bad(format_args!("{path:?} is gone"));
                };
                if met.len() != whole {
                    return other(met.len());
                }
                let mut file = File::open(at)?;
                file.seek(SeekFrom::Start(start))?;
                Ok(steps::read_exact(&mut file, out, tell)?)
            }
            Store::Zip(archive) => {
                let Some(member) = archive.member(path) else { return bad(format_args!("{path:?} is gone")) };
                if member.size != whole {
                    return other(member.size);
                }
                if !member.deflated && (start > 0 || out.len() as u64 != whole) {
                    return archive.read_part(path, member, start, out, tell);
                }
                let mut reader = archive.reader(member)?;
                io::copy(&mut reader.by_ref().take(start), &mut io::sink())?;
                steps::read_exact(&mut reader, out, tell)?;
                if start + out.len() as u64 == whole { reader.finish() } else { Ok(()) }
            }
        }
    }

    /// The names of the folders in a folder, in order.
    pub(super) fn folders(&mut self, path: &str) -> Res<Vec<String>> {
        let mut names: Vec<String> = match self {
            Store::Folder(root) => {
                let at = if path.is_empty() { Some(root.clone()) } else { found(root, path)?.map(|(at, _)| at) };
                let Some(at) = at else { return Ok(Vec::new()) };
                let mut names = Vec::new();
                for entry in fs::read_dir(at)? {
                    let entry = entry?;
                    // A link is listed, so that whoever goes there is told of it.
                    let kind = entry.file_type()?;
                    let leads = kind.is_symlink() && fs::metadata(entry.path()).is_ok_and(|met| met.is_dir());
                    if kind.is_dir() || leads {
                        // What is no UTF-8 is no name of Zarr's.
                        names.extend(entry.file_name().into_string().ok());
                    }
                }
                names
            }
            Store::Zip(archive) => {
                let within = within(path);
                let inner = archive.names().filter_map(|name| name.strip_prefix(&within)?.split_once('/'));
                inner.map(|(folder, _)| folder.to_owned()).collect()
            }
        };
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// All files below a folder, so many folders deep at most.
    pub(super) fn below(&mut self, path: &str, depth: usize) -> Res<Vec<Below>> {
        let mut out = Vec::new();
        match self {
            Store::Folder(root) => {
                let at = if path.is_empty() { root.clone() } else { root.join(path) };
                if path.is_empty() || found(root, path)?.is_some_and(|(_, met)| met.is_dir()) {
                    walk(&at, "", depth, &mut out)?;
                }
            }
            Store::Zip(archive) => {
                let within = within(path);
                let names = archive.names().filter_map(|name| name.strip_prefix(&within)).map(str::to_owned);
                let names: Vec<String> = names.filter(|name| !name.ends_with('/')).collect();
                for name in names {
                    let bytes = archive.member(&format!("{within}{name}")).map_or(0, |member| member.packed);
                    out.push(Below { name, bytes });
                }
            }
        }
        Ok(out)
    }

    /// Bytes of all that is in the store.
    pub(super) fn bytes(&mut self) -> Res<u64> {
        Ok(self.below("", usize::MAX)?.iter().fold(0, |sum: u64, file| sum.saturating_add(file.bytes)))
    }

    /// Compares checksums of the members that are read in parts.
    pub(super) fn verify(&mut self) -> Res<()> {
        match self {
            Store::Folder(_) => Ok(()),
            Store::Zip(archive) => archive.verify(),
        }
    }
}

/// What the names of members in a folder begin with.
fn within(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}/") }
}

fn walk(at: &Path, prefix: &str, depth: usize, out: &mut Vec<Below>) -> Res<()> {
    for entry in fs::read_dir(at)? {
        let entry = entry?;
        let (kind, Ok(name)) = (entry.file_type()?, entry.file_name().into_string()) else { continue };
        let name = join(prefix, &name);
        if kind.is_file() {
            out.push(Below { name, bytes: entry.metadata()?.len() });
        } else if kind.is_dir() {
            if depth > 0 {
                walk(&entry.path(), &name, depth - 1, out)?;
            }
        } else if kind.is_symlink() {
            return bad(format_args!("{name:?} is a symbolic link, which might lead out of the folder"));
        } else {
            return bad(format_args!("{name:?} is neither a file nor a folder"));
        }
    }
    Ok(())
}

/// The sizes that a list in JSON has.
pub(super) fn sizes(value: &serde_json::Value) -> Option<Vec<u64>> {
    value.as_array()?.try_mapped(|size| size.as_u64().ok_or(())).ok()
}
