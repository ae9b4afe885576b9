//! Numbers that went through the filter scaleoffset: as h5py reads them, and chunks that are made to hurt.

use std::path::PathBuf;

use openwork::io::binsparse::{self, File};
use openwork::io::{self, ReadOptions};

use crate::common::{python, temporary};

fn named(name: &str) -> ReadOptions<'_> {
    ReadOptions { name: Some(name), ..ReadOptions::default() }
}

/// All integers and floats that the filter packs, of both orders of bytes, with and without a fill, partly written, with
/// other filters before and behind it: bit for bit what h5py reads.
#[test]
fn arrays_are_read_as_h5py_reads_them() {
    let folder = temporary("python-scaleoffset");
    if python("arrays_are_read_as_h5py_reads_them", "h5py_scaleoffset.py", &[folder.to_str().unwrap()]).is_none() {
        return;
    }
    for version in ["earliest", "latest"] {
        let path = folder.join(format!("{version}.h5"));
        let names = std::fs::read_to_string(folder.join(format!("{version}.names"))).unwrap();
        assert_eq!(names.lines().count(), 480, "{version}");
        for name in names.lines() {
            let x = io::read_with(&path, &named(name)).unwrap_or_else(|error| panic!("{version} {name}: {error}"));
            let y = io::read_with(&path, &named(&format!("{name}, read"))).unwrap();
            let (x, y) = (x.tensor, y.tensor);
            assert_eq!((x.shape(), x.dtype()), (y.shape(), y.dtype()), "{version} {name}");
            // As they are spelled, NaN, -0 and all digits of a float are told apart.
            let spelled = |t: &openwork::Tensor| format!("{:?}", t.iter_stored().map(|(_, v)| v).collect::<Vec<_>>());
            assert_eq!(spelled(&x), spelled(&y), "{version} {name}");
        }
    }
    let error = io::read_with(folder.join("endless.h5"), &named("values")).unwrap_err().to_string();
    assert!(error.contains("`values` claims to hold 2097152 bytes and has 22 in the file"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

fn form(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/files/binsparse/hdf5_forms").join(name)
}

/// Where a pattern is, which is there once.
fn only(bytes: &[u8], pattern: &[u8]) -> usize {
    let mut found = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(pattern));
    let at = found.next().expect("it is there");
    assert_eq!(found.next(), None);
    at
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn damaged_chunks_are_errors_that_say_where() {
    let good = std::fs::read(form("scaled.h5")).unwrap();
    let read = |bytes: &[u8]| binsparse::read_bytes(bytes, &named("integers")).map(|loaded| loaded.tensor);
    assert!(read(&good).is_ok());
    // The third chunk: 5 bits, the least number is 33, elements.
    let chunk = only(&good, &[5, 0, 0, 0, 8, 33, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x44]);
    // What the filter was told of its elements: integers, bits to be found, 16 of class 0, 8 bytes, signed, in order.
    let told = only(&good, &words(&[2, 0, 16, 0, 8, 1, 0, 1]));
    let word = |i: usize, value: u32| (told + 4 * i, value.to_le_bytes().to_vec());
    // How long the third chunk is, in front of which elements it has.
    let size = only(&good, &[32, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0]);
    // How many numbers the filter was told, in front of its name.
    let count = good[..told].windows(11).rposition(|name| name == b"scaleoffset").unwrap() - 2;
    assert_eq!(good[count..count + 2], [20, 0]);
    for ((at, bytes), why) in [
        ((chunk, vec![65]), "32: scaleoffset packed int64 in 65 bits, the least of them in 8 bytes"),
        ((chunk, vec![255; 4]), "32: scaleoffset packed int64 in 4294967295 bits"),
        ((chunk, vec![64]), "32: the packed bytes (scaleoffset) are cut short: 11 of 128"),
        ((chunk, vec![6]), "32: the packed bytes (scaleoffset) are cut short: 11 of 12"),
        ((chunk + 4, vec![17]), "32: scaleoffset packed int64 in 5 bits, the least of them in 17 bytes"),
        ((size, vec![20]), "32: the packed bytes (scaleoffset) are cut short: 20 of a head of 21"),
        ((size, vec![0]), "32: the packed bytes (scaleoffset) are cut short: 0 of a head of 21"),
        ((size, vec![30]), "32: the packed bytes (scaleoffset) are cut short: 9 of 10"),
        ((count, vec![2]), "0: scaleoffset is told 2 numbers, and needs number 2"),
        ((count, vec![0]), "0: scaleoffset is told 0 numbers, and needs number 0"),
        ((count, vec![9]), "0: scaleoffset is told 9 numbers, and needs number 9"),
        (word(0, 0), "0: scaleoffset has no way 0 with factor 0 to pack int64"),
        (word(0, 1), "0: scaleoffset has no way 1 with factor 0"),
        (word(1, 65), "0: scaleoffset has no way 2 with factor 65"),
        // All bits of them: they are as they were, which they are not.
        (word(1, 64), "0: 32 bytes were unpacked, 128 are needed"),
        (word(2, 17), "0: scaleoffset is told a chunk of 17 elements, it has 16"),
        (word(2, u32::MAX), "0: scaleoffset is told a chunk of 4294967295 elements, it has 16"),
        (word(3, 1), "0: scaleoffset is told elements of class 1, 8 bytes, sign 1 and order 0, not int64"),
        (word(4, 4), "of class 0, 4 bytes, sign 1 and order 0, not int64"),
        (word(4, 0), "of class 0, 0 bytes, sign 1 and order 0, not int64"),
        (word(5, 0), "of class 0, 8 bytes, sign 0 and order 0, not int64"),
        (word(6, 1), "of class 0, 8 bytes, sign 1 and order 1, not int64"),
        (word(7, 2), "0: scaleoffset is told 2, which does not say whether there is a fill"),
    ] {
        let mut bad = good.clone();
        bad[at..at + bytes.len()].copy_from_slice(&bytes);
        let error = read(&bad).unwrap_err().to_string();
        assert!(error.contains("`values`, the chunk of element ") && error.contains(why), "{why}: {error}");
    }
    // Room for more or less of the least number is no harm, nor are elements of no bits, which are the fill.
    for (at, byte, expected) in [(chunk + 4, 16, 33), (chunk + 4, 1, 33), (chunk, 0, 0)] {
        let mut other = good.clone();
        other[at] = byte;
        assert_eq!(read(&other).unwrap().get([32]).unwrap(), Some(i64::from(expected).into()));
    }
}

/// Every byte of what the filter has and is told, set to others: an error, or as many elements as there are.
#[test]
fn no_damage_near_the_filter_panics() {
    let good = std::fs::read(form("scaled.h5")).unwrap();
    let last = only(&good, &[0, 0, 0, 0, 8, 3, 0, 0, 0, 0, 0, 0, 0]) + 22;
    let (mut read, mut refused) = (0, 0);
    for group in ["integers", "partly", "bytes", "as_they_were", "packed", "floats", "floats_packed", "alike"] {
        let n = binsparse::read_bytes(&good, &named(group)).unwrap().tensor.nse();
        let filters = good.windows(11).enumerate().filter(|(_, name)| *name == b"scaleoffset").map(|(at, _)| at);
        let near = filters.flat_map(|at| at - 8..at + 96).chain(last - 1000..last);
        for at in near.filter(|at| at % 7 == 0) {
            for byte in [0, 0x40, 0xff] {
                let mut bad = good.clone();
                bad[at] = byte;
                match binsparse::read_bytes(&bad, &named(group)) {
                    Ok(loaded) => {
                        assert_eq!(loaded.tensor.nse(), n, "{group} {at}");
                        read += 1;
                    }
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(read > 1000 && refused > 200, "{read} {refused}");
}

/// libhdf5 does not check how much of a chunk is there, so it never undoes this filter for us.
#[test]
fn libhdf5_is_not_asked_to_undo_it() {
    let error = File::open(form("scaled_links.h5")).unwrap().allow_libhdf5(true).tensor("packed").unwrap_err();
    let error = error.to_string();
    let why =
        if cfg!(feature = "hdf5") { "filter 6, which libhdf5 is not asked to undo" } else { "the feature `hdf5`" };
    assert!(error.contains(why), "{error}");
}
