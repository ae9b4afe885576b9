//! Damaged files: an error or a tensor, never a panic or memory out of proportion.

use openwork::io::binsparse;
use openwork::io::{ReadOptions, WriteOptions};
use openwork::{Layout, Tensor};
use serde_json::json;

use crate::common::npz::{Draft, f64s, zip};
use crate::common::rng::Rng;
use crate::mutate::mutate;

const TELLING: &[u8] = b"\x00\x01\x7f\x80\xff09-[]{}\",:PK";

/// Reads in both modes; what is accepted must be a whole tensor.
pub fn read(bytes: &[u8]) -> usize {
    let options = ReadOptions { max_bytes: Some(1 << 20), ..ReadOptions::default() };
    let mut accepted = 0;
    for lenient in [false, true] {
        if let Ok(reading) = binsparse::read_bytes(bytes, &ReadOptions { lenient, ..options }) {
            let iso = reading.descriptor.data_types.get("values").is_some_and(|t| t.iso);
            if !iso {
                assert!(reading.tensor.nbytes() <= 2 << 20);
                assert_eq!(reading.tensor.iter_stored().count(), reading.tensor.nse());
            }
            accepted += 1;
        }
    }
    accepted
}

#[test]
fn mutants_never_panic() {
    let mut files = vec![
        Draft::csr(),
        Draft::lower("symmetric_lower"),
        Draft::csr().key("fill", json!(true)).array("fill_value", f64s(&[1.0])),
    ];
    files.push(Draft::csr().text("{\"format\": \"CSR\", \"shape\": [3, 4], \"nnz\": 4}"));
    let folder = std::env::temp_dir();
    let mut written = Vec::new();
    for (i, layout) in [Layout::Csf, Layout::Bsr { block: [1, 2] }, Layout::Dcsr].into_iter().enumerate() {
        let path = folder.join(format!("openwork-mutants-{}-{i}.npz", std::process::id()));
        let x = Tensor::random([4, 6], 0.4, 1.0, layout, 5).unwrap();
        let options = WriteOptions { extensions: true, compress: i != 1, ..WriteOptions::default() };
        binsparse::write_with(&path, &x, &options).unwrap();
        written.push(std::fs::read(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
    }
    let mut random = Rng::new(11);
    let mut accepted = 0;
    for round in 0..20_000 {
        // Half of the mutants are damaged inside a member, with a checksum that agrees, so that the damage is seen.
        let bytes = if round % 2 == 0 {
            let mut draft = files[round / 2 % files.len()].clone();
            if random.below(2) == 0 {
                let at = random.below(draft.arrays.len());
                mutate(&mut draft.arrays[at].1, TELLING, &mut random);
            } else {
                let mut text = draft.json.clone().into_bytes();
                mutate(&mut text, TELLING, &mut random);
                draft.json = String::from_utf8_lossy(&text).into_owned();
            }
            draft.bytes()
        } else {
            let mut bytes = written[round / 2 % written.len()].clone();
            mutate(&mut bytes, TELLING, &mut random);
            bytes
        };
        accepted += read(&bytes);
    }
    assert!(accepted > 1000, "{accepted}: the mutants are too damaged to test anything");
}

#[test]
fn no_bit_flips_unseen() {
    let control = Draft::csr().strict().unwrap().tensor.to_string();
    let good = Draft::csr().bytes();
    let mut unseen = 0;
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        // Times, attributes and names of no use may change; what is read may not.
        if let Ok(reading) = binsparse::read_bytes(&bytes, &ReadOptions::default()) {
            assert_eq!(reading.tensor.to_string(), control, "byte {at}");
            unseen += 1;
        }
    }
    assert!(unseen < good.len() / 4, "{unseen}");
}

#[test]
fn archives_with_tricks_are_refused() {
    let read = |bytes: &[u8]| binsparse::read_bytes(bytes, &ReadOptions::default());
    let good = Draft::csr().bytes();
    assert!(read(&good).is_ok());
    for cut in 0..good.len() {
        assert!(read(&good[..cut]).is_err(), "{cut}");
    }
    let twice = zip(&[("a.npy".into(), vec![1]), ("a.npy".into(), vec![1])]);
    assert!(read(&twice).unwrap_err().to_string().contains("two members"));
    // A member that claims 2^62 elements, and one that claims more bytes than deflate could hold.
    let huge = crate::common::npz::npy("<f8", "(4611686018427387904,)", &[]);
    assert!(read(&Draft::csr().array("values", huge).bytes()).is_err());
    let mut wrong = good.clone();
    let at = good.len() - 60; // inside the directory
    wrong[at] ^= 0xff;
    assert!(read(&wrong).is_err());
}
