//! Whole folders or none.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Temporary, hidden, remove, remove_abandoned, sync_folder};
use crate::base::error::{ErrorKind, Result};

/// Writes a folder through `body`, whole or not at all: into a new folder beside it, which takes the place of the old one
/// once it is on the disk. The old one must be such as `replaceable` lets go. Linux lets two folders change places at once; where
/// that cannot be, the old one is moved aside first, and back if the new one cannot be moved. An old one is replaced only if it can be
/// removed afterwards: all its folders may be written to.
///
/// # Errors
/// [`ErrorKind::Io`] with `path`, whatever `body` or the file system says, or if there is something at `path` that is not to be
/// replaced; the old folder is then as it was, and the new one gone.
pub(crate) fn write_folder(
    path: &Path,
    replaceable: &dyn Fn(&Path) -> bool,
    body: &mut dyn FnMut(&Path) -> io::Result<()>,
) -> Result<()> {
    replace(path, replaceable, body).map_err(|source| ErrorKind::Io { path: path.to_owned(), source }.into())
}

fn replace(
    path: &Path,
    replaceable: &dyn Fn(&Path) -> bool,
    body: &mut dyn FnMut(&Path) -> io::Result<()>,
) -> io::Result<()> {
    // A name may end in a separator, which is none of the folder's own.
    let path: PathBuf = path.components().collect();
    let target = fs::canonicalize(&path).unwrap_or(path);
    let old = fs::metadata(&target).ok();
    if let Some(old) = &old {
        let why = "this is not a folder that can be replaced: one that is empty, or of the same format";
        let other = io::Error::new(io::ErrorKind::InvalidInput, why);
        if !old.is_dir() {
            return Err(other);
        }
        let is_empty = fs::read_dir(&target)?.next().is_none();
        if !(is_empty || replaceable(&target)) {
            return Err(other);
        }
        check_removable(&target, DEPTH)?;
    }
    remove_abandoned(&target);
    let (temporary, lock) = create_beside(&target)?;
    let written = body(&temporary.path).and_then(|()| match &old {
        Some(old) => fs::set_permissions(&temporary.path, old.permissions()),
        None => Ok(()),
    });
    let done = written.and_then(|()| put_in_place(&temporary.path, &target));
    if done.is_err() {
        remove(&temporary.path);
        return done;
    }
    drop(lock);
    sync_folder(&target);
    Ok(())
}

/// How deep the folders of a store lie that are looked at before it is replaced.
const DEPTH: usize = 64;

/// Whether what is in a folder can be removed: all folders in it may be read and written to.
fn check_removable(folder: &Path, depth: usize) -> io::Result<()> {
    may_write(folder)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if depth > 0 && entry.file_type()?.is_dir() {
            check_removable(&entry.path(), depth - 1)?;
        }
    }
    Ok(())
}

/// Whether this user may make and remove files in a folder.
#[cfg(target_os = "linux")]
fn may_write(folder: &Path) -> io::Result<()> {
    use rustix::fs::{Access, access};
    Ok(access(folder, Access::WRITE_OK | Access::EXEC_OK)?)
}

#[cfg(not(target_os = "linux"))]
fn may_write(folder: &Path) -> io::Result<()> {
    if fs::metadata(folder)?.permissions().readonly() { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
}

/// Moves the new folder to its place, and the old one away. Others may do the same at the same time: the last one stays.
fn put_in_place(new: &Path, target: &Path) -> io::Result<()> {
    for _ in 0..ATTEMPTS {
        // An empty folder is replaced, and so is none.
        match fs::rename(new, target) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            moved => return moved,
        }
        match exchange(new, target) {
            Ok(()) => {
                // It is the old one now. What cannot be removed stays, hidden, until the next one is written.
                let _ = fs::remove_dir_all(new);
                return Ok(());
            }
            // Another writer was moving it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return one_by_one(new, target),
        }
    }
    one_by_one(new, target)
}

/// How often a folder is looked for that others move.
const ATTEMPTS: usize = 100;

/// Two folders change places.
#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The old folder goes aside before and away after.
fn one_by_one(new: &Path, target: &Path) -> io::Result<()> {
    let aside = name_beside(target)?.with_extension("old");
    fs::rename(target, &aside)?;
    if let Err(error) = fs::rename(new, target) {
        // The first error is the one to tell.
        let _ = fs::rename(&aside, target);
        return Err(error);
    }
    // What cannot be removed stays, hidden.
    let _ = fs::remove_dir_all(&aside);
    Ok(())
}

/// A hidden name beside the target that this process has not used.
fn name_beside(target: &Path) -> io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut name = hidden(target)?;
    name.push(format!("{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    Ok(target.with_file_name(name))
}

/// A folder that was not there before, and locked, where folders can be.
fn create_beside(target: &Path) -> io::Result<(Temporary, Option<File>)> {
    loop {
        let path = name_beside(target)?;
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => {
                made?;
                let lock = File::open(&path).ok();
                if let Some(lock) = &lock {
                    // Where it cannot be locked, an abandoned one stays.
                    let _ = lock.try_lock();
                }
                return Ok((Temporary::new(path), lock));
            }
        }
    }
}

#[cfg(test)]
#[path = "tests/folder.rs"]
mod tests;
