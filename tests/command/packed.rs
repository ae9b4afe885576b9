//! Text that others compressed or wrote in their own way: bzip2, zstd, vectors of Matrix Market.

use std::io::Write;

use openwork::{Tensor, io, tensor};

use super::{fails, good, run, text};
use crate::common::temporary;

const TEXT: &str = "%%MatrixMarket matrix coordinate real general\n3 4 2\n1 2 0.5\n3 4 -1\n";

fn bzip2_of(text: &str) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn zstd_of(text: &str) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn text_is_unpacked_whatever_packed_it() {
    let folder = temporary("packed");
    let plain = folder.join("x.mtx");
    std::fs::write(&plain, TEXT).unwrap();
    let wanted = good(&["dump", text(&plain)]);
    let (head, tail) = TEXT.split_at(50);
    for (ending, packed, joined) in [
        ("bz2", bzip2_of(TEXT), [bzip2_of(head), bzip2_of(tail)].concat()),
        ("zst", zstd_of(TEXT), [zstd_of(head), zstd_of(tail)].concat()),
    ] {
        let path = folder.join(format!("x.mtx.{ending}"));
        // One stream, and several, one after the other.
        for bytes in [&packed, &joined] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(good(&["dump", text(&path)]), wanted, "{ending}");
            assert_eq!(good(&["validate", text(&path)]), format!("{}: valid\n", path.display()));
            assert!(good(&["info", text(&path)]).contains("[3, 4]"), "{ending}");
        }
        // What is cut off or damaged says so, and nothing is written in these.
        std::fs::write(&path, &packed[..packed.len() - 9]).unwrap();
        let told = fails(&["dump", text(&path)], 1);
        assert!(told.contains("cut off or damaged"), "{told}");
        let told = fails(&["convert", text(&plain), text(&path)], 2);
        assert!(told.contains("read, not written"), "{told}");
        // Memory and time stay in bounds where little unpacks to much.
        let banner = "%%MatrixMarket matrix coordinate real general\n";
        let bomb = format!("{banner}{}", "\n".repeat(40 << 20));
        std::fs::write(&path, if ending == "bz2" { bzip2_of(&bomb) } else { zstd_of(&bomb) }).unwrap();
        let told = fails(&["dump", text(&path)], 1);
        assert!(told.contains("16777216 bytes"), "{told}");
        assert!(fails(&["dump", text(&path), "--max-bytes", "100000"], 1).contains("100000"));
        let tns = folder.join(format!("x.tns.{ending}"));
        let lines = "1 1 2.5\n3 2 1\n";
        std::fs::write(&tns, if ending == "bz2" { bzip2_of(lines) } else { zstd_of(lines) }).unwrap();
        assert_eq!(good(&["dump", text(&tns)]), "[[0, 0], 2.5]\n[[2, 1], 1.0]\n");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn vectors_of_matrix_market_have_one_axis() {
    let folder = temporary("packed-vectors");
    let path = folder.join("v.mtx");
    std::fs::write(&path, "%%MatrixMarket vector coordinate real general\n% a vector\n5 2\n2 0.5\n5 -1\n").unwrap();
    let v = io::read(&path).unwrap();
    assert!(v.equal(&tensor![0.0, 0.5, 0.0, 0.0, -1.0]).unwrap() && v.nse() == 2);
    assert_eq!(good(&["dump", text(&path)]), "[[1], 0.5]\n[[4], -1.0]\n");
    assert_eq!(good(&["validate", text(&path)]), format!("{}: valid\n", path.display()));
    std::fs::write(&path, "%%MatrixMarket vector coordinate pattern general\n5 5 1\n1 1\n").unwrap();
    assert!(fails(&["dump", text(&path)], 1).contains("a vector has one size"));
    assert_eq!(run(&["validate", text(&path)]).status.code(), Some(1));
    let empty = folder.join("e.mtx");
    std::fs::write(&empty, "%%MatrixMarket vector coordinate integer general\n3 0\n").unwrap();
    assert_eq!(io::read(&empty).unwrap().shape(), Tensor::from_vec([3], vec![0_i64; 3]).unwrap().shape());
    std::fs::remove_dir_all(&folder).unwrap();
}
