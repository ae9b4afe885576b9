//! Damage to the structures of an HDF5 file, each of which once brought down libhdf5 or kept it busy for ever: heaps,
//! trees, tables and headers that lie about sizes, lead out of the file or in circles. Each is an error, and at once.

use std::time::{Duration, Instant};

use openwork::io::binsparse;
use openwork::io::{ReadOptions, WriteOptions};
use openwork::{DType, Layout, Tensor};

use super::h5::{Gone, path};

fn written(name: &str, x: &Tensor, options: &WriteOptions<'_>) -> Vec<u8> {
    let path = Gone(path(&format!("damaged-{name}")));
    binsparse::write_with(&path, x, options).unwrap();
    std::fs::read(&path).unwrap()
}

fn small(name: &str) -> Vec<u8> {
    written(name, &Tensor::eye(5, DType::F64, Layout::Csr).unwrap(), &WriteOptions::default())
}

/// All places of four letters.
fn places(bytes: &[u8], letters: &[u8; 4]) -> Vec<usize> {
    bytes.windows(4).enumerate().filter(|(_, w)| w == letters).map(|(at, _)| at).collect()
}

fn put(bytes: &[u8], at: usize, new: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    out[at..at + new.len()].copy_from_slice(new);
    out
}

/// The error of reading damaged bytes, which takes no time to speak of.
fn error(bytes: &[u8], why: &str) {
    let started = Instant::now();
    let error = binsparse::read_bytes(bytes, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains(why), "{why}: {error}");
    assert!(started.elapsed() < Duration::from_secs(2), "{why}");
}

#[test]
fn heaps_of_texts() {
    let good = small("gcol");
    binsparse::read_bytes(&good, &ReadOptions::default()).unwrap();
    let heap = places(&good, b"GCOL")[0];
    // The head of the heap, then index, uses, size and bytes of the first object.
    let (size, object) = (heap + 8, heap + 16);
    error(&put(&good, heap, b"GCXL"), "does not begin with GCOL");
    error(&put(&good, heap + 4, &[2]), "has version 2");
    for wrong in [u64::MAX, 1 << 40, good.len() as u64] {
        error(&put(&good, size, &wrong.to_le_bytes()), "beyond the end of the file");
    }
    error(&put(&good, size, &16_u64.to_le_bytes()), "has no object");
    error(&put(&good, object, &[7]), "has no object 1");
    for wrong in [u64::MAX, u64::MAX - 20, 1 << 40, 1 << 13] {
        error(&put(&good, object + 8, &wrong.to_le_bytes()), "is cut short");
    }
    error(&put(&good, object + 8, &8_u64.to_le_bytes()), "its heap holds 8");
    // Free space of size 0: libhdf5 1.10 never gets past it.
    let nothing = [&[0; 2][..], &good[object + 2..object + 8], &[0; 8]].concat();
    error(&put(&good, object, &nothing), "has free space of 0 bytes");
}

#[test]
fn trees_and_tables_of_links() {
    let good = small("links");
    let (tree, table, heap) = (places(&good, b"TREE")[0], places(&good, b"SNOD")[0], places(&good, b"HEAP")[0]);
    // Kind, level, number, left and right neighbour, a key; then the first child.
    let child = tree + 24 + 8;
    let itself = put(&good, child, &(tree as u64).to_le_bytes());
    error(&itself, "does not begin with SNOD");
    error(&put(&itself, tree + 5, &[1]), "a tree of links has a node of kind 0 and level 1");
    error(&put(&good, child, &[0xff; 8]), "a tree of links leads nowhere");
    error(&put(&good, child, &(1_u64 << 50).to_le_bytes()), "beyond the end of the file");
    error(&put(&good, tree + 6, &[0xff; 2]), "runs in circles, or is larger than the file");
    error(&put(&good, table + 6, &[0xff; 2]), "runs in circles, or is larger than the file");
    error(&put(&good, table + 8, &(1_u64 << 30).to_le_bytes()), "a name outside of its heap");
    error(&put(&good, table + 8 + 8, &[0xff; 8]), "a table of links leads nowhere");
    error(&put(&good, heap + 8, &(1_u64 << 40).to_le_bytes()), "a heap of names");
}

#[test]
fn headers_that_lie() {
    let good = small("header");
    // The superblock says where the header of the root is; its first message leads to the links, its second is the text.
    let root = u64::from_le_bytes(good[64..72].try_into().unwrap()) as usize;
    let (links, text) = (root + 16, root + 16 + 8 + 16);
    assert_eq!((good[root], &good[links..links + 4], &good[text..text + 2]), (1, &[17, 0, 16, 0][..], &[12, 0][..]));
    error(&put(&good, root, &[9]), "has version 9");
    error(&put(&good, root + 8, &[0xff; 4]), "runs in circles, or is larger than the file");
    error(&put(&good, text + 2, &[0xff; 2]), "an object header is cut short");
    error(&put(&good, links + 4, &[2]), "claims to be shared");
    // A message that the header goes on elsewhere, in place of the text: nowhere, beyond the end, at its own beginning.
    let further = |at: u64, size: u64| {
        put(&put(&good, text, &[16, 0]), text + 8, &[at.to_le_bytes(), size.to_le_bytes()].concat())
    };
    error(&further(u64::MAX, 24), "goes on nowhere");
    error(&further(1 << 40, 24), "beyond the end of the file");
    let size = u32::from_le_bytes(good[root + 8..root + 12].try_into().unwrap());
    error(&further(links as u64, size.into()), "runs in circles");
    error(&good[..good.len() - 1], "the file is truncated");
    error(&put(&good, 13, &[3]), "addresses have 3 bytes");
}

/// Chunks whose packed bytes mean fewer or more elements than a chunk has: libhdf5 reads past the shorter ones.
#[test]
fn chunks_that_unpack_to_another_size() {
    let x = Tensor::eye(40_000, DType::I64, Layout::Csr).unwrap();
    let packed = WriteOptions { compress: true, chunk: Some(20_000), level: Some(1), ..WriteOptions::default() };
    let good = written("chunks", &x, &packed);
    let tree = places(&good, b"TREE").into_iter().find(|&at| good[at + 4] == 1).unwrap();
    // A key is size, skipped filters and first element of a chunk; then comes its address.
    let number = |at: usize| u64::from_le_bytes(good[at..at + 8].try_into().unwrap());
    let size = u32::from_le_bytes(good[tree + 24..tree + 28].try_into().unwrap()) as usize;
    let at = number(tree + 24 + 24) as usize;
    let mut elements = Vec::new();
    let mut reader = flate2::read::ZlibDecoder::new(&good[at..at + size]);
    std::io::Read::read_to_end(&mut reader, &mut elements).unwrap();
    let repacked = |elements: &[u8]| {
        let mut writer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut writer, elements).unwrap();
        let new = writer.finish().unwrap();
        assert!(new.len() <= size, "{} bytes instead of {size}", new.len());
        put(&good, at, &new)
    };
    binsparse::read_bytes(&repacked(&elements), &ReadOptions::default()).unwrap();
    let half = elements.len() / 2;
    error(&repacked(&elements[..half]), &format!("{half} bytes were unpacked, {} are needed", elements.len()));
    error(&repacked(&[&elements[..], &[0; 1000]].concat()), "bytes are packed");
    error(&put(&good, at + size / 2, &[0x55; 64]), "deflate");
    // The place of the chunk, its size and its first element.
    error(&put(&good, tree + 48, &(1_u64 << 40).to_le_bytes()), "a chunk (byte");
    error(&put(&good, tree + 24, &[0xff; 4]), "a chunk (byte");
    error(&put(&good, tree + 32, &(20_000_u64 << 30).to_le_bytes()), "out of order");
    error(&put(&good, tree + 32, &1_u64.to_le_bytes()), "of element [1], with which none of [20000] begins");
    error(&put(&good, tree + 48, &(tree as u64).to_le_bytes()), "deflate");
}
