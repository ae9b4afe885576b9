//! What the native reader leaves: libhdf5 reads it, where the feature `hdf5` links that and the caller lets it.

use std::path::Path;
#[cfg(feature = "hdf5")]
use std::path::PathBuf;

#[cfg(feature = "hdf5")]
use super::libhdf5::Libhdf5;
use super::store::Store;
use crate::io::fault::{Res, bad};

/// The error of a file that has something which only libhdf5 reads.
fn refused<T>(group: &str, what: &str) -> Res<T> {
    let place = if group.is_empty() { String::new() } else { format!("the group {group:?} of ") };
    let way = if cfg!(feature = "hdf5") {
        "which a damaged file can crash: the option `allow_libhdf5` of reading lets it (--allow-libhdf5)"
    } else {
        "which this build does not link: build openwork with the feature `hdf5`, and give the option `allow_libhdf5`"
    };
    bad(format_args!("{place}the file has {what}, which only libhdf5 reads, {way}"))
}

/// The file as libhdf5 opens it, once there is something for it to read and it may.
#[cfg(feature = "hdf5")]
pub(super) struct Fallback<'a> {
    place: Place<'a>,
    allowed: bool,
    /// The open file, and the group that it is in.
    opened: Option<(Libhdf5, String)>,
}

#[cfg(feature = "hdf5")]
enum Place<'a> {
    Path(PathBuf),
    Bytes(&'a [u8]),
}

#[cfg(feature = "hdf5")]
impl<'a> Fallback<'a> {
    pub(super) fn of_path(path: &Path) -> Fallback<'a> {
        Fallback { place: Place::Path(path.to_owned()), allowed: false, opened: None }
    }

    pub(super) fn of_bytes(bytes: &'a [u8]) -> Fallback<'a> {
        Fallback { place: Place::Bytes(bytes), allowed: false, opened: None }
    }

    pub(super) fn allow(&mut self, allowed: bool) {
        self.allowed = allowed;
    }

    /// libhdf5 in a group, for the native reader does not know `what` it found there.
    pub(super) fn enter(&mut self, group: &str, what: &str) -> Res<&mut dyn Store> {
        if !self.allowed {
            return refused(group, what);
        }
        let (mut libhdf5, before) = match (self.opened.take(), &self.place) {
            (Some(opened), _) => opened,
            (None, Place::Path(path)) => (Libhdf5::open(path)?, String::new()),
            (None, Place::Bytes(bytes)) => (Libhdf5::from_bytes(bytes)?, String::new()),
        };
        if before != group {
            libhdf5.enter(group)?;
        }
        Ok(&mut self.opened.insert((libhdf5, group.to_owned())).0)
    }
}

/// Nobody.
#[cfg(not(feature = "hdf5"))]
pub(super) struct Fallback<'a>(std::marker::PhantomData<&'a [u8]>);

#[cfg(not(feature = "hdf5"))]
impl<'a> Fallback<'a> {
    pub(super) fn of_path(_: &Path) -> Fallback<'a> {
        Fallback(std::marker::PhantomData)
    }

    pub(super) fn of_bytes(_: &'a [u8]) -> Fallback<'a> {
        Fallback(std::marker::PhantomData)
    }

    /// There is nothing to allow.
    pub(super) fn allow(&mut self, _: bool) {}

    /// The error of a build that does not know `what` it found.
    pub(super) fn enter(&mut self, group: &str, what: &str) -> Res<&mut dyn Store> {
        refused(group, what)
    }
}
