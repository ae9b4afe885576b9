//! Whole files or none.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::base::error::{ErrorKind, Result};
use crate::base::global::Global;
use crate::base::interrupt::Done;

mod folder;

pub(crate) use folder::write_folder;

/// Writes a file through `body`, whole or not at all: into a new file in the same folder, which takes the place of the
/// old one once it is on the disk. A symbolic link is followed, permissions of an old file are kept. An old file that may not be
/// written to is not replaced either, as by `cp`, although the folder would allow it.
///
/// # Errors
/// [`ErrorKind::Io`] with `path`, whatever `body` or the file system says; the old file is then as it was, and the new
/// one gone.
pub(crate) fn write(path: &Path, body: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
    write_about(path, 0, body)
}

/// As [`write`], of about so many bytes. Where these are many they go to the disk while the rest is written.
pub(crate) fn write_about(path: &Path, bytes: u64, body: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
    replace(path, bytes, body).map_err(|source| ErrorKind::Io { path: path.to_owned(), source }.into())
}

fn replace(path: &Path, bytes: u64, body: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = fs::metadata(&target).ok();
    if let Some(old) = &old {
        if !old.is_file() {
            let (kind, what) = match old.is_dir() {
                true => (io::ErrorKind::IsADirectory, "this is a folder, not a file that can be replaced"),
                false => (io::ErrorKind::InvalidInput, "this is not a file that can be replaced"),
            };
            return Err(io::Error::new(kind, what));
        }
        // The system knows whether this user may, whatever decides it. Nothing is written.
        OpenOptions::new().write(true).open(&target)?;
    }
    remove_abandoned(&target);
    let (temporary, mut file) = create_beside(&target, old.as_ref())?;
    let written = if bytes < TOGETHER { body(&mut file) } else { on_its_way(&temporary.path, || body(&mut file)) };
    let written = written
        .and_then(|()| old.map_or(Ok(()), |old| file.set_permissions(old.permissions())))
        .and_then(|()| file.sync_all());
    // The lock goes with the file, so this comes first: nobody takes it for an abandoned one.
    let done = written.and_then(|()| fs::rename(&temporary.path, &target));
    if done.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&temporary.path);
        return done;
    }
    drop(file);
    sync_folder(&target);
    Ok(())
}

/// Bytes of a file that go to the disk together while the rest is written.
const TOGETHER: u64 = 64 << 20;

/// Runs `body`, which writes a large file, and sends what it has written to the disk meanwhile: disk and processor then work beside
/// each other, and the sync at the end has little left to wait for. To begin a thread takes longer than to write a small file.
fn on_its_way<R>(path: &Path, body: impl FnOnce() -> R) -> R {
    /// How often a thread looks how much there is.
    const LOOK: Duration = Duration::from_millis(5);
    let done = Done::default();
    let send = || {
        // What fails here fails once more at the end, where it is told.
        let Ok(file) = OpenOptions::new().write(true).open(path) else { return };
        let mut sent = 0;
        while !done.within(LOOK) {
            let written = file.metadata().map_or(0, |data| data.len());
            if written >= sent + TOGETHER {
                let _ = file.sync_data();
                sent = written;
            }
        }
    };
    thread::scope(|scope| {
        // Without another thread all goes to the disk at the end.
        let _helper = thread::Builder::new().spawn_scoped(scope, send);
        let _sign = done.when_dropped();
        body()
    })
}

/// A file that is being written, among those of this process until it is dropped.
pub(super) struct Temporary {
    path: PathBuf,
}

/// The files that this process is writing.
static WRITING: Global<Vec<PathBuf>> = Global::new(Vec::new());

impl Temporary {
    pub(super) fn new(path: PathBuf) -> Temporary {
        if let Some(mut writing) = WRITING.lock() {
            writing.push(path.clone());
        }
        Temporary { path }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(mut writing) = WRITING.lock() {
            writing.retain(|path| *path != self.path);
        }
        if thread::panicking() {
            // Given up half way: nobody else would remove it.
            remove(&self.path);
        }
    }
}

/// Removes the temporary files of all writes that are under way in this process, for a program that is about to end: the
/// files to be replaced stay as they were. The command `openwork` calls it when it is interrupted.
///
/// ```
/// openwork::io::abandon_writes(); // nothing is being written here
/// ```
pub fn abandon_writes() {
    let written = WRITING.lock().map(|mut writing| std::mem::take(&mut *writing));
    written.iter().flatten().for_each(|path| remove(path));
}

/// Removes a temporary file or folder. Nobody is left to be told of a failure.
fn remove(path: &Path) {
    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
}

/// The name of a temporary file for `target`; it is hidden, and ends in the mark of a process and a number.
fn hidden(target: &Path) -> io::Result<OsString> {
    let Some(name) = target.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"));
    };
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(".");
    Ok(hidden)
}

/// A file that was not there before, in the folder of `target`, and locked: who finds it unlocked knows that its writer
/// is gone. Nobody but its owner reads it unless the old file could be read.
fn create_beside(target: &Path, old: Option<&fs::Metadata>) -> io::Result<(Temporary, File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let hidden = hidden(target)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if let Some(old) = old {
        use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
        options.mode(old.mode() & 0o600);
    }
    #[cfg(not(unix))]
    let _ = old;
    loop {
        let mut name = hidden.clone();
        name.push(format!("{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        let path = target.with_file_name(name);
        match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => {
                let file = opened?;
                // Where files cannot be locked, abandoned ones stay.
                let _ = file.try_lock();
                return Ok((Temporary::new(path), file));
            }
        }
    }
}

/// Removes temporary files for `target` whose writers were killed: those that nobody holds a lock on.
fn remove_abandoned(target: &Path) {
    let Ok(hidden) = hidden(target) else { return };
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(mark) = name.as_encoded_bytes().strip_prefix(hidden.as_encoded_bytes()) else { continue };
        let ended = mark.strip_suffix(b".tmp").or_else(|| mark.strip_suffix(b".old"));
        let Some((process, number)) = ended.and_then(|mark| {
            let at = mark.iter().position(|&byte| byte == b'-')?;
            Some((mark.get(..at)?, mark.get(at + 1..)?))
        }) else {
            continue;
        };
        let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        if !digits(process) || !digits(number) {
            continue;
        }
        let path = entry.path();
        // A writer locks its file at once; one that was made this instant and is not locked yet is left alone.
        let settled = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        let settled = settled.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > Duration::from_secs(2));
        // A folder is locked as a file is.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let opened = OpenOptions::new().read(is_folder).write(!is_folder).open(&path);
        let locked = opened.map(|file| file.try_lock().map(|()| file));
        if settled && matches!(locked, Ok(Ok(_))) {
            // Another writer may have removed it first.
            remove(&path);
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
#[path = "tests/atomic.rs"]
mod tests;
