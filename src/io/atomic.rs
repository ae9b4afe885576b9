//! Whole files or none.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::error::{ErrorKind, Result};

/// Writes a file through `body`, whole or not at all: into a new file in the same folder, which takes the place of the
/// old one once it is on the disk. A symbolic link is followed, permissions of an old file are kept.
///
/// # Errors
/// [`ErrorKind::Io`] with `path`, whatever `body` or the file system says; the old file is then as it was, and the new
/// one gone.
pub(crate) fn write(path: &Path, body: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
    replace(path, body).map_err(|source| ErrorKind::Io { path: path.to_owned(), source }.into())
}

fn replace(path: &Path, body: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = fs::metadata(&target).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not a file that can be replaced"));
    }
    let (temporary, mut file) = create_beside(&target)?;
    let written = body(&mut file)
        .and_then(|()| old.map_or(Ok(()), |old| file.set_permissions(old.permissions())))
        .and_then(|()| file.sync_all());
    drop(file);
    let done = written.and_then(|()| fs::rename(&temporary, &target));
    if done.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&temporary);
        return done;
    }
    sync_folder(&target);
    Ok(())
}

/// A file that was not there before, in the folder of `target`.
fn create_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let Some(name) = target.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"));
    };
    loop {
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        let path = target.with_file_name(hidden);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (path, file)),
        }
    }
}

/// Makes the new name last through a crash, where folders can be synced. The content is safe already, so a failure is
/// not one of the write.
fn sync_folder(target: &Path) {
    #[cfg(unix)]
    if let Some(folder) = target.parent() {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    #[cfg(not(unix))]
    let _ = target;
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let folder = std::env::temp_dir().join(format!("openwork-atomic-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("file");
        write(&path, |file| file.write_all(b"old")).unwrap();
        let error = write(&path, |file| {
            file.write_all(b"new, but")?;
            Err(io::Error::other("the disk is full"))
        });
        assert!(error.unwrap_err().to_string().contains("the disk is full"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left behind");
        write(&path, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        #[cfg(unix)]
        {
            let link = folder.join("link");
            std::os::unix::fs::symlink(&path, &link).unwrap();
            write(&link, |file| file.write_all(b"through")).unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(fs::read(&path).unwrap(), b"through");
        }
        assert!(write(&folder.join("no").join("file"), |_| Ok(())).is_err());
        assert!(write(&folder, |_| Ok(())).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
