//! Forms of HDF5 that libhdf5 has since 1.10, read without it: all indexes of chunks, messages that objects share. The
//! files, and the program that wrote them, are in `hdf5_forms`.
#![expect(clippy::single_range_in_vec_init, reason = "which elements were written, in one range or more")]

use std::ops::Range;
use std::path::PathBuf;

use openwork::io::ReadOptions;
use openwork::io::binsparse::{self, File};
use openwork::{c128, io};

use super::mutants::read;
use crate::common::rng::Rng;

fn form(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/files/binsparse/hdf5_forms").join(name)
}

/// Reads the vectors of a file, and compares the element `i` with `i + 1` where it was written, else with the fill.
fn vectors(name: &str, expected: &[(&str, usize, &[Range<usize>], f64)]) {
    let mut file = File::open(form(name)).unwrap();
    let bytes = std::fs::read(form(name)).unwrap();
    let mut names = file.names().unwrap();
    names.sort_unstable();
    let mut known: Vec<&str> = expected.iter().map(|e| e.0).collect();
    known.sort_unstable();
    assert_eq!(names, known, "{name}");
    // Bytes hold no more than that.
    let most = if name == "paged.h5" { 255.0 } else { f64::MAX };
    for (group, n, written, fill) in expected {
        let is_written = |i: usize| written.iter().any(|part| part.contains(&i));
        let value = |i: usize| if is_written(i) { ((i + 1) as f64).min(most) } else { *fill };
        let x = file.tensor(group).unwrap_or_else(|error| panic!("{name} {group}: {error}"));
        let expected: Vec<f64> = (0..*n).map(value).collect();
        assert_eq!(x.cast(openwork::DType::F64).unwrap().values::<f64>().unwrap(), expected, "{name} {group}");
        // A part, from the middle of a chunk to the middle of another.
        let part = n / 3..n - n / 4;
        let x = file.rows(group, part.clone(), &ReadOptions::default()).unwrap().tensor;
        assert_eq!(x.cast(openwork::DType::F64).unwrap().values::<f64>().unwrap(), &expected[part], "{name} {group}");
        // From memory, by name.
        let options = ReadOptions { name: Some(group), ..ReadOptions::default() };
        assert_eq!(binsparse::read_bytes(&bytes, &options).unwrap().tensor.shape(), [*n], "{name} {group}");
    }
}

/// Which elements were written.
const ALL: &[Range<usize>] = &[0..usize::MAX];

#[test]
fn every_index_of_chunks() {
    vectors(
        "indexes.h5",
        &[
            ("single", 10, ALL, 0.0),
            ("single_packed", 100, ALL, 0.0),
            ("single_never", 10, &[], 7.0),
            ("implicit", 10, ALL, 0.0),
            ("implicit_room", 10, ALL, 0.0),
            ("fixed", 10, ALL, 0.0),
            ("fixed_packed", 250, ALL, 0.0),
            ("fixed_partly", 50, &[8..12, 30..33], 7.0),
            ("fixed_room", 10, ALL, 0.0),
            ("fixed_plain_edge", 250, ALL, 0.0),
            ("fixed_summed", 50, ALL, 0.0),
            ("extensible", 10, ALL, 0.0),
            ("extensible_packed", 250, ALL, 0.0),
            ("extensible_partly", 500, &[100..103, 490..500], 7.0),
            ("extensible_plain_edge", 250, ALL, 0.0),
            ("grown", 30, ALL, 0.0),
            ("shrunk", 13, ALL, 0.0),
        ],
    );
}

/// Layouts of version 5, complex numbers and truth values as the newest library has them.
#[test]
fn what_the_newest_library_writes() {
    let mut file = File::open(form("latest.h5")).unwrap();
    let mut read = |name: &str| file.tensor(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    for (name, n) in [
        ("single_packed", 100),
        ("implicit", 10),
        ("fixed_packed", 250),
        ("fixed_plain_edge", 250),
        ("extensible_packed", 250),
    ] {
        let expected: Vec<f64> = (1..=n).map(f64::from).collect();
        assert_eq!(read(name).values::<f64>().unwrap(), expected, "{name}");
    }
    let lenient = ReadOptions { lenient: true, ..ReadOptions::default() };
    let mut file = File::open(form("latest.h5")).unwrap();
    let mut read =
        |name: &str| file.tensor_with(name, &lenient).unwrap_or_else(|error| panic!("{name}: {error}")).tensor;
    let (pairs, truths) = (read("pairs"), read("truths"));
    assert_eq!(pairs.values::<c128>().unwrap(), [1.0, 0.0, 1.0].map(|re| c128::new(re, 0.0)));
    assert_eq!(truths.values::<bool>().unwrap(), [true, false, true]);
}

#[test]
fn arrays_of_chunks_with_pages_and_further_blocks() {
    vectors(
        "paged.h5",
        &[
            ("fixed", 2500, &[1000..1100, 2400..2500], 7.0),
            ("extensible", 700, &[0..20, 600..640], 7.0),
            ("packed", 300, &[200..300], 7.0),
        ],
    );
}

#[test]
fn a_tree_of_chunks_of_one_axis() {
    let x = binsparse::read(form("tree.h5")).unwrap();
    let expected: Vec<f64> = (1..=250).map(|i| if (101..=200).contains(&i) { 0.0 } else { f64::from(i) }).collect();
    assert_eq!(x.values::<f64>().unwrap(), expected);
}

/// Integers and floats as so many bits above the least of their chunk.
#[test]
fn numbers_that_went_through_scaleoffset() {
    vectors(
        "scaled.h5",
        &[
            ("integers", 50, ALL, 0.0),
            ("partly", 50, &[16..32, 33..40], 7.0),
            ("bytes", 50, ALL, 0.0),
            ("as_they_were", 20, ALL, 0.0),
            ("packed", 250, ALL, 0.0),
            ("floats", 50, ALL, 0.0),
            ("floats_packed", 50, &[0..20], 7.0),
            ("alike", 3, ALL, 0.0),
        ],
    );
}

#[test]
fn messages_that_objects_share() {
    let written = &[0..16][..];
    vectors(
        "shared.h5",
        &[
            ("vector0", 20, written, 7.0),
            ("vector1", 20, written, 7.0),
            ("vector2", 20, written, 7.0),
            ("many", 20, ALL, 0.0),
            ("named", 5, ALL, 0.0),
        ],
    );
}

/// What is left to libhdf5 is read by it only where the caller lets it.
#[test]
fn libhdf5_is_asked_only_where_it_may_be() {
    let path = form("filtered_links.h5");
    let options =
        |allow_libhdf5, group: &'static str| ReadOptions { allow_libhdf5, name: Some(group), ..ReadOptions::default() };
    assert_eq!(binsparse::read_with(&path, &options(false, "plain")).unwrap().tensor.shape(), [10]);
    let error = binsparse::read_with(&path, &options(false, "packed")).unwrap_err().to_string();
    assert!(error.contains("a heap that went through filters, which only libhdf5 reads"), "{error}");
    assert!(error.contains("allow_libhdf5"), "{error}");
    let (bytes, allowed) = (std::fs::read(&path).unwrap(), options(true, "packed"));
    assert!(binsparse::read_bytes(&bytes, &options(false, "packed")).is_err());
    assert!(File::open(&path).unwrap().names().is_err());
    assert!(io::info(&path).is_err());
    let any = ReadOptions { allow_libhdf5: true, ..ReadOptions::default() };
    let read = [
        binsparse::read_with(&path, &allowed).map(|loaded| loaded.tensor),
        binsparse::read_bytes(&bytes, &allowed).map(|loaded| loaded.tensor),
        File::open(&path).unwrap().allow_libhdf5(true).tensor("packed"),
        io::read_with(&path, &ReadOptions { name: Some("packed"), ..any }).map(|loaded| loaded.tensor),
    ];
    for x in read {
        match x {
            Ok(x) if cfg!(feature = "hdf5") => assert_eq!(x.values::<f64>().unwrap(), [1.0, 2.0, 3.0]),
            Ok(_) => panic!("read by whom?"),
            // An older libhdf5 does not know all that a later one wrote.
            Err(error) if cfg!(feature = "hdf5") => assert!(error.to_string().contains("libhdf5: "), "{error}"),
            Err(error) => assert!(error.to_string().contains("the feature `hdf5`"), "{error}"),
        }
    }
    assert_eq!(io::info_with(&path, &any).is_ok(), cfg!(feature = "hdf5"));
}

/// Damage anywhere in these files, whose checksums are not renewed and where they are: no panic, and no memory out of
/// proportion.
#[test]
fn damaged_forms_never_panic() {
    let mut random = Rng::new(41);
    let mut accepted = 0;
    for name in ["latest.h5", "indexes.h5", "paged.h5", "shared.h5", "tree.h5", "filtered_links.h5", "scaled.h5"] {
        let good = std::fs::read(form(name)).unwrap();
        for _ in 0..400 {
            let mut bytes = good.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len());
                bytes[at] = match random.below(3) {
                    0 => [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
                    1 => bytes[at] ^ (1 << random.below(8)),
                    _ => random.next() as u8,
                };
            }
            accepted += read(&bytes);
            for group in ["fixed", "extensible_packed", "many", "vector1", "integers", "floats_packed"] {
                let options = ReadOptions { name: Some(group), ..ReadOptions::default() };
                accepted += usize::from(binsparse::read_bytes(&bytes, &options).is_ok());
            }
        }
    }
    assert!(accepted > 500, "{accepted}: the mutants are too damaged to test anything");
}
