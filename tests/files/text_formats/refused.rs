//! What writers and readers refuse, and bytes that nobody meant.

use super::*;
use crate::common::rng::Rng;
use openwork::io::{ReadOptions, WriteOptions};

#[track_caller]
fn refused(result: openwork::Result<Vec<u8>>, parts: &[&str]) {
    let error = result.unwrap_err().to_string();
    for part in parts {
        assert!(error.contains(part), "`{part}` is not in: {error}");
    }
}

#[test]
fn what_a_file_cannot_hold_is_named() {
    let column = Tensor::from_vec([2, 1], vec![0.0, 5.0]).unwrap();
    let ones = Tensor::full([2, 2], 1.0, Layout::Csr).unwrap();
    let array = Tensor::empty([2, 2], DType::F64, Layout::Coo, Fill::array(column)).unwrap();
    for (x, parts) in [
        (undefined(), ["undefined fill would be lost", "replace_fill(0)"]),
        (ones, ["the fill 1 would be lost", "with_fill(0)"]),
        (array, ["the fill array[2, 1] would be lost", "with_fill(0)"]),
    ] {
        refused(matrix_market::to_bytes(&x, &Default::default()), &parts);
        refused(frostt::to_bytes(&x, &Default::default()), &parts);
    }
    let cube = Tensor::zeros([2, 2, 2], DType::F64, Layout::Coo).unwrap();
    refused(matrix_market::to_bytes(&cube, &Default::default()), &["[2, 2, 2]", "two axes"]);
    refused(frostt::to_bytes(&Tensor::scalar(1.0), &Default::default()), &["1 to 64 axes"]);
}

#[test]
fn a_symmetry_that_does_not_hold_is_refused() {
    let write = |x: &Tensor, symmetry| matrix_market::to_bytes(x, &WriteOptions { symmetry, ..Default::default() });
    let x = Tensor::from_vec([2, 2], vec![0.0, 1.0, 2.0, 0.0]).unwrap();
    let sparse = x.to_sparse(Layout::Coo, 0.0).unwrap();
    for x in [&x, &sparse] {
        refused(write(x, Symmetry::Symmetric), &["[0, 1] is", "[1, 0] is"]);
        refused(write(x, Symmetry::SkewSymmetric), &["symmetry"]);
        refused(write(x, Symmetry::Hermitian), &["`complex` only"]);
    }
    let lone = Tensor::coo([2, 2], vec![vec![0], vec![1]], &Tensor::from_vec([1], vec![0.0]).unwrap(), 0.0).unwrap();
    refused(write(&lone, Symmetry::Symmetric), &["pattern", "prune()"]);
    refused(write(&Tensor::zeros([2, 3], DType::F64, Layout::Coo).unwrap(), Symmetry::Symmetric), &["square"]);
    let low = Tensor::from_vec([2, 2], vec![0, i8::MIN, i8::MIN, 0]).unwrap();
    refused(write(&low, Symmetry::SkewSymmetric), &["-128"]);
    let diagonal = Tensor::from_vec([1, 1], vec![1_i64]).unwrap();
    refused(write(&diagonal, Symmetry::SkewSymmetric), &["[0, 0]"]);
    refused(write(&Tensor::eye(2, DType::U64, Layout::Coo).unwrap(), Symmetry::SkewSymmetric), &["symmetry"]);
}

#[test]
fn lines_of_tensor_files_are_named() {
    let fails =
        |text: &str, options: ReadOptions<'_>| frostt::read_bytes(text.as_bytes(), &options).unwrap_err().to_string();
    for (text, parts) in [
        ("1 1 1.0\n1 2\n", ["line 2: ", "where a value should be"]),
        ("1 1 1.0\n1 2 3 4\n", ["line 2: '4' is too much", "`i1 … i2 VALUE`"]),
        ("# c\n\n1 0 1.0\n", ["line 3: index 2 '0' is out of range", "base Zero"]),
        ("1 -1 1.0\n", ["line 1: index 2 '-1' is not a whole number", "1 to 2^63"]),
        ("1 1.0 1.0\n", ["line 1: index 2 '1.0'", "not a whole number"]),
        ("1 1 1.0x\n", ["line 1: '1.0x' is not a number", "inf"]),
        ("1 1 1.0\n1 1 1.0 # c\n", ["line 2: '#' follows an entry", "a line of its own"]),
        ("1 18446744073709551616 1\n", ["line 1: index 2", "out of range"]),
        ("1 9223372036854775809 1\n", ["line 1: index 2", "out of range"]),
        ("7\n", ["line 1: a tensor of 0 axes", "1 to 64"]),
        ("# only\n\n", ["line 2: ", "no entry"]),
        ("1 1 1\r2 2 2\n", ["line 1: ", "carriage return"]),
        ("#openwork shape 2 x\n1 1 1\n", ["line 1: a size is 'x'", "shape"]),
        ("#openwork dtype string\n1 1 1\n", ["line 1: 'string' is not a real dtype", "float32"]),
        ("#openwork shape 2 2 2\n1 1 1\n", ["line 2: the entry has 2 indices", "[2, 2, 2]"]),
        ("%%MatrixMarket tensor coordinate real general\n2 2 1\n3 1 1\n", ["line 3: index 1 '3'", "1 to 2"]),
        ("%%MatrixMarket tensor coordinate real general\n2 2 1\n", ["line 2: ", "after 0 of the 1 entries"]),
        ("%%MatrixMarket tensor coordinate real general\n2 2 0\n1 1 1\n", ["line 3: ", "more entries than the 0"]),
        ("%%MatrixMarket tensor coordinate real general\n2\n1\n", ["line 2: ", "not a size line"]),
        ("%%MatrixMarket tensor array real general\n2 2\n1\n", ["line 1: ", "`coordinate` and `general`"]),
        ("%%MatrixMarket tensor coordinate real symmetric\n2 2 0\n", ["line 1: ", "`coordinate` and `general`"]),
        ("%%MatrixMarket matrix coordinate real general\n2 2 0\n", ["line 1: ", "`tensor`"]),
    ] {
        let error = fails(text, Default::default());
        assert!(parts.iter().all(|part| error.contains(part)), "{text:?}: {error}");
    }
    let shape = ReadOptions { shape: Some(&[1, 2]), ..Default::default() };
    assert!(fails("1 1 1\n1 3 1\n", shape).contains("line 2: index 2 '3' is out of range; 1 to 2"));
    assert!(fails("1 1 1 1\n", shape).contains("line 1: the entry has 3 indices"));
    let header = ReadOptions { header: true, ..Default::default() };
    assert!(fails("2\n3\n1 1 1\n", header).contains("line 2: the line ends where a size should be"));
    assert!(fails("0\n", header).contains("line 1: a tensor of 0 axes"));
    let bounded = ReadOptions { max_bytes: Some(5), ..Default::default() };
    assert!(fails("1 1 1\n", bounded).contains("larger than the 5 bytes"));
}

#[test]
fn mutated_files_never_panic() {
    const TELLING: &[u8] = b"0123456789 \t\r\n%#+-.eEinfa\x00\x1f\x8b\xff";
    let seeds: [&[u8]; 5] = [
        b"#openwork shape 4 3 2\n#openwork dtype int8\n1 1 1 1\n4 3 2 -128\n",
        b"# c\n1 2 3 4 0.5\r\n9 9 9 4294967296 1e400\n",
        b"3\n4 5 6\n1 1 1 1.0\n4 5 6 2.0\n",
        b"%%MatrixMarket tensor coordinate real general\n% c\n2 3 4 2\n1 1 1 1.0\n2 3 4 2.0\n",
        b"%%MatrixMarket tensor coordinate integer general\n%%GraphBLAS type uint64_t\n9 9 2\n1 1 18446744073709551615\n2 3 4\n",
    ];
    let mut random = Rng::new(11);
    let mut read = 0;
    for round in 0..20_000 {
        let mut bytes = seeds[round % seeds.len()].to_vec();
        for _ in 0..=random.below(4) {
            let place = random.below(bytes.len());
            let byte = TELLING[random.below(TELLING.len())];
            match random.below(5) {
                0 => bytes[place] = random.next() as u8,
                1 => bytes[place] = byte,
                2 => bytes.insert(place, byte),
                3 if bytes.len() > 1 => drop(bytes.remove(place)),
                _ => bytes.truncate(place + 1),
            }
        }
        let options = ReadOptions { header: round % 5 == 2, max_bytes: Some(1 << 20), ..Default::default() };
        match frostt::read_bytes(&bytes, &options) {
            Ok(x) => {
                read += 1;
                assert!(x.nse() <= bytes.len());
            }
            Err(error) => assert!(error.to_string().contains("line") || error.to_string().contains("2^63"), "{error}"),
        }
    }
    assert!(read > 2000, "{read}");
}
