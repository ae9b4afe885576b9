//! Broken safetensors files: an error, never a panic, and no memory that is merely declared.

use openwork::io::state_dict::{Archive, StateDict};
use openwork::{DType, Fill, Layout, Tensor};

use crate::common::rng::Rng;

/// The bytes of a file of this header.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

fn open(bytes: &[u8]) -> Result<StateDict, String> {
    Archive::from_safetensors(bytes).and_then(|a| a.load()).map_err(|e| e.to_string())
}

fn model() -> StateDict {
    let mut d = StateDict::new();
    let mut add = |name: &str, x: Tensor| assert!(d.insert(name, x).unwrap().is_none());
    add("dense", Tensor::from_vec([2, 3], (0..6).map(|i| i as f32).collect()).unwrap());
    add("flags", Tensor::from_vec([3], vec![true, false, true]).unwrap());
    add("csr", Tensor::random([6, 5], 0.4, 0.0, Layout::Csr, 1).unwrap());
    add("graph", Tensor::random([5, 5], 0.3, Fill::Undefined, Layout::Dcsr, 2).unwrap());
    add("complex", Tensor::eye(3, DType::Complex64, Layout::Strided).unwrap());
    d
}

#[test]
fn lengths_are_checked_before_memory_is_asked_for() {
    let declared = |n: u64| [&n.to_le_bytes()[..], b"{}"].concat();
    for (bytes, why) in [
        (vec![], "0 bytes"),
        (vec![2, 0, 0], "3 bytes"),
        (declared(3), "claims 3 bytes"),
        (declared(u64::MAX), "claims 18446744073709551615"),
        (declared(100_000_001), "claims 100000001"),
        (declared(1), "header"),
    ] {
        let error = open(&bytes).unwrap_err();
        assert!(error.contains(why) && error.starts_with("safetensors: "), "{error}");
    }
    assert_eq!(open(&declared(2)).unwrap().len(), 0);
    // An empty array may have any other axes; one that is not empty must have its bytes.
    let huge = r#"{"a":{"dtype":"F64","shape":[0,1152921504606846976],"data_offsets":[0,0]}}"#;
    assert_eq!(open(&file(huge, &[])).unwrap().tensor("a").unwrap().shape(), [0, 1 << 60]);
    let overflow = huge.replace("[0,1", "[0,1152921504606846976,1");
    assert!(open(&file(&overflow, &[])).unwrap_err().contains("2^63"));
    let absent = huge.replace("[0,1", "[1,1");
    assert!(open(&file(&absent, &[])).unwrap_err().contains("not those of shape"));
}

#[test]
fn arrays_and_descriptors_must_agree() {
    let bytes = model().to_safetensors().unwrap();
    let n = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let (text, data) = (String::from_utf8(bytes[8..8 + n].to_vec()).unwrap(), &bytes[8 + n..]);
    assert!(open(&file(&text, data)).is_ok());
    for (from, to, why) in [
        ("\"csr.values\"", "\"csr.other\"", "the tensor \"csr\": the array \"csr.values\" is missing"),
        ("\"dense\":{", "\"csr\":{", "\"csr\" is both an array"),
        ("\\\"dense\\\"", "\\\"absent\\\"", "lists the tensor \"absent\", which is not there"),
        ("\\\"dense\\\"", "\\\"csr\\\"", "lists the tensor \"csr\" twice"),
        ("[\\\"complex\\\"]", "[\\\"dense\\\"]", "complex numbers need pairs of floats"),
        ("[\\\"complex\\\"]", "[\\\"who\\\"]", "\"who\" is complex, which is not there"),
        ("\\\"json\\\":[]", "\\\"json\\\":[\\\"k\\\"]", "metadata \"k\" are JSON, which are not there"),
        ("\\\"json\\\":[]", "\\\"json\\\":3", "`json`, which is not a list"),
        ("\\\"json\\\":[]", "\\\"other\\\":[]", "unknown key \"other\""),
        ("\\\"order\\\":", "\\\"json\\\":[],\\\"order\\\":", "given twice"),
        ("\\\"CSR\\\"", "\\\"CSX\\\"", "the tensor \"csr\": unknown `format`"),
        ("\\\"CSR\\\"", "\\\"DCSR\\\"", "the tensor \"csr\": "),
        ("\\\"shape\\\":[6,5]", "\\\"shape\\\":[7,5]", "`pointers_to_1` has 7 entries, 8 are needed"),
        ("\\\"shape\\\":[6,5]", "\\\"shape\\\":[6,2]", "out of range for an axis of size 2"),
        ("\\\"version\\\":\\\"0.1\\\"", "\\\"version\\\":\\\"0.2\\\"", "version \"0.2\" is unknown"),
    ] {
        assert!(text.contains(from), "{from} is not in {text}");
        let error = open(&file(&text.replacen(from, to, 1), data)).unwrap_err();
        assert!(error.contains(why), "{from} -> {to}: {error}");
    }
    // Truth values are the last array of the data.
    let mut odd = data.to_vec();
    *odd.last_mut().unwrap() = 2;
    assert!(open(&file(&text, &odd)).unwrap_err().contains("the tensor \"flags\": truth value 2 is 2, not 0 or 1"));
}

#[test]
fn mutants_end_in_an_error_or_a_tensor() {
    let bytes = model().to_safetensors().unwrap();
    let rng = &mut Rng::new(7);
    let (mut read, mut refused) = (0, 0);
    for round in 0..6000 {
        let mut mutant = bytes.clone();
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(mutant.len());
            match rng.below(5) {
                0 => mutant[at] = rng.next() as u8,
                1 => mutant[at] ^= 1 << rng.below(8),
                2 => mutant.truncate(at.max(1)),
                3 => mutant.insert(at, b"{}[],:\"0919"[rng.below(11)]),
                // Digits, so that numbers stay numbers.
                _ => {
                    let digit = (at..mutant.len()).find(|&i| mutant[i].is_ascii_digit());
                    digit.into_iter().for_each(|i| mutant[i] = b'0' + rng.below(10) as u8);
                }
            }
        }
        match open(&mutant) {
            Ok(dict) => {
                read += 1;
                // What was accepted can be used.
                for (name, x) in dict.iter() {
                    let all = x.iter_stored().count();
                    assert_eq!(all, x.nse(), "{round} {name}");
                    let _ = x.sum(..).unwrap();
                }
            }
            Err(why) => {
                refused += 1;
                assert!(why.len() < 3000, "{why}");
            }
        }
    }
    assert!(read > 150 && refused > 3000, "{read} read, {refused} refused");
}
