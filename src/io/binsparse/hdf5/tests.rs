//! Our reader beside libhdf5: what both say of the same files, and which files are left to libhdf5.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::libhdf5::Libhdf5;
use super::native::{Bytes, Native};
use super::store::{DataLayout, ElementKind, Link, Object, Store};
use crate::io::fault::{Fault, Res, bad};
use crate::io::progress::Tell;
use crate::io::signature::{self, Signature};

const MOST: usize = 1 << 20;

/// Compares one file. Counts groups, attributes and datasets; what our reader leaves to libhdf5 goes to `left`.
fn compare(path: &Path, left: &mut BTreeSet<String>) -> Option<[usize; 3]> {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let libhdf5 = Libhdf5::open(path);
    let mut file = std::fs::File::open(path).unwrap();
    let native = match signature::find(&mut file).unwrap().0 {
        Some(Signature::Hdf5(base)) => Native::open(Bytes::File(file), base),
        _ => bad("no signature"),
    };
    let (mut native, mut libhdf5) = match (native, libhdf5) {
        (native, Err(_)) => {
            // A file that libhdf5 cannot open.
            assert!(native.is_err(), "{name}");
            return None;
        }
        (native, Ok(libhdf5)) => (native.unwrap_or_else(|e| panic!("{name}: {e}")), libhdf5),
    };
    let mut counts = [0; 3];
    let mut groups = vec![(String::new(), 0)];
    while let Some((group, depth)) = groups.pop() {
        match (native.enter(&group), libhdf5.enter(&group)) {
            (Err(Fault::Unknown(what)), Ok(())) => {
                left.insert(format!("{name}: {what}"));
                continue;
            }
            (a, b) => assert!(a.is_ok() && b.is_ok(), "{name} {group}"),
        }
        counts[0] += 1;
        let links = match native.links() {
            Err(Fault::Unknown(what)) => {
                left.insert(format!("{name}: {what}"));
                Default::default()
            }
            links => links.unwrap(),
        };
        assert!(links.len() == 0 || links == libhdf5.links().unwrap(), "{name} {group}");
        let names = match native.attributes() {
            Err(Fault::Unknown(what)) => {
                left.insert(format!("{name}: {what}"));
                Vec::new()
            }
            names => names.unwrap(),
        };
        for attribute in &names {
            let (a, b) = (native.attribute(attribute, MOST), libhdf5.attribute(attribute, MOST));
            assert_eq!(a.ok(), b.ok(), "{name} {group} {attribute}");
            counts[1] += 1;
        }
        if !names.is_empty() {
            let sorted = |names: Vec<String>| names.into_iter().collect::<BTreeSet<_>>();
            assert_eq!(sorted(names), sorted(libhdf5.attributes().unwrap()), "{name} {group}");
        }
        for (child, _) in links.into_iter().filter(|(_, link)| *link == Link::Hard) {
            let place = format!("{name} {group}/{child}");
            let object = native.object(&child).unwrap();
            assert_eq!(object, libhdf5.object(&child).unwrap(), "{place}");
            match object {
                Object::Group if depth < 8 => groups.push((format!("{group}/{child}"), depth + 1)),
                Object::Dataset => match dataset(&mut native, &mut libhdf5, &child, &place) {
                    Err(Fault::Unknown(what)) => drop(left.insert(format!("{name}: {what}"))),
                    outcome => {
                        outcome.unwrap();
                        counts[2] += 1;
                    }
                },
                _ => {}
            }
        }
    }
    Some(counts)
}

fn dataset(native: &mut Native<'_>, libhdf5: &mut Libhdf5, child: &str, place: &str) -> Res<()> {
    let a = native.facts(child)?;
    // Written by a later library than that which is installed, in forms that this does not know.
    let Ok(b) = libhdf5.facts(child) else { return Err(Fault::Unknown("newer than libhdf5")) };
    assert_eq!((a.kind, &a.shape), (b.kind, &b.shape), "{place}");
    // Of text of variable length libhdf5 says how large a pointer to it is.
    assert!(a.item == b.item || a.kind == ElementKind::Text || matches!(a.kind, ElementKind::Other(_)), "{place}");
    assert_eq!((a.external, &a.filters, a.layout), (b.external, &b.filters, b.layout), "{place}");
    let elements = a.shape.as_ref().and_then(|s| s.iter().try_fold(1, |n: u64, &c| n.checked_mul(c)));
    let bytes = elements.and_then(|n| n.checked_mul(a.item)).filter(|&n| n <= 1 << 22);
    assert!(a.layout == DataLayout::Contiguous(None) || a.stored == b.stored, "{place}: {} {}", a.stored, b.stored);
    let known = a.filters.iter().all(|id| (1..=3).contains(id)) && a.layout != DataLayout::Virtual && !a.external;
    let (Some(bytes), Some(_), true) = (bytes, &a.shape, known) else { return Ok(()) };
    match a.kind {
        ElementKind::Number(_) | ElementKind::Truth if a.stored > 0 => {
            let (mut x, mut y) = (vec![1; bytes as usize], vec![2; bytes as usize]);
            native.read(child, 0, &mut x, &Tell::nobody())?;
            libhdf5.read(child, 0, &mut y, &Tell::nobody())?;
            assert!(x == y, "{place}");
            // A part of it, from the middle of a chunk if there are any.
            let (from, to) = (elements.unwrap_or(0) / 3, elements.unwrap_or(0) * 3 / 4);
            let (from, to) = ((from * a.item) as usize, (to * a.item) as usize);
            let mut part = vec![3; to - from];
            native.read(child, from as u64 / a.item, &mut part, &Tell::nobody())?;
            assert!(part == x[from..to], "{place}");
        }
        ElementKind::Text if bytes == a.item && a.stored > 0 => {
            assert_eq!(native.text(child, MOST)?, libhdf5.text(child, MOST)?, "{place}");
        }
        _ => {}
    }
    Ok(())
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| ["h5", "hdf5", "sscdf"].iter().any(|&known| e == known)) {
            out.push(path);
        }
    }
}

#[test]
fn newer_forms_are_read_as_libhdf5_reads_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/binsparse/hdf5_forms");
    let mut left = BTreeSet::new();
    let counts = ["indexes.h5", "paged.h5", "shared.h5", "filtered_links.h5"]
        .map(|name| compare(&folder.join(name), &mut left).unwrap_or_else(|| panic!("{name} is not opened")));
    assert_eq!(counts, [[18, 17, 19], [4, 3, 3], [6, 18, 5], [3, 2, 1]]);
    assert_eq!(left.into_iter().collect::<Vec<_>>(), ["filtered_links.h5: a heap that went through filters"]);
}

#[test]
fn published_files_are_read_as_libhdf5_reads_them() {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let root = std::env::var_os("OPENWORK_DATA").map_or_else(default, PathBuf::from).join("formats");
    if !root.is_dir() {
        let line = format!("SKIPPED published_files_are_read_as_libhdf5_reads_them: no folder {}\n", root.display());
        return std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    let mut all = Vec::new();
    files(&root, &mut all);
    // Files that are broken on purpose have verdicts of their own.
    let (mut left, mut counts, mut unreadable) = (BTreeSet::new(), BTreeMap::<&str, [usize; 3]>::new(), Vec::new());
    for path in all.iter().filter(|p| !p.components().any(|c| c.as_os_str() == "malformed")) {
        let producer = path.strip_prefix(&root).unwrap().iter().next().unwrap().to_str().unwrap();
        match compare(path, &mut left) {
            Some(found) => counts.entry(producer).or_default().iter_mut().zip(found).for_each(|(n, m)| *n += m),
            None => unreadable.push(path),
        }
    }
    let left: Vec<&str> = left.iter().map(String::as_str).collect();
    assert_eq!(unreadable, [] as [&PathBuf; 0]);
    let newer = ["latest_chunk_fixed.bsp.h5: newer than libhdf5", "latest_single_chunk.bsp.h5: newer than libhdf5"];
    assert!(left.iter().all(|left| newer.contains(left)), "{left:?}");
    let expected = [("binsparse", [330, 104, 1355]), ("generated", [138, 231, 396]), ("hdf5-variants", [29, 48, 116])];
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), expected);
}
