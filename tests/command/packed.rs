//! Text that others compressed or wrote in their own way: bzip2, zstd, vectors of Matrix Market.

use std::io::Write;

use openwork::{Layout, Tensor, io, tensor};

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
    assert!(fails(&["dump", text(&path)], 1).contains("line 2: '1' is too much on the size line, `SIZE ENTRIES`"));
    assert_eq!(run(&["validate", text(&path)]).status.code(), Some(1));
    let empty = folder.join("e.mtx");
    std::fs::write(&empty, "%%MatrixMarket vector coordinate integer general\n3 0\n").unwrap();
    assert_eq!(io::read(&empty).unwrap().shape(), Tensor::from_vec([3], vec![0_i64; 3]).unwrap().shape());
    // Both forms come back as they went.
    let (sparse, dense) = (folder.join("sparse.mtx.gz"), folder.join("dense.mtx"));
    std::fs::write(&path, "%%MatrixMarket vector array integer general\n4\n7\n\n-8\n% said\n0\n9\n").unwrap();
    let v = io::read(&path).unwrap();
    assert!(v.equal(&tensor![7_i64, -8, 0, 9]).unwrap() && v.layout() == Layout::Strided);
    io::write(&dense, &v).unwrap();
    assert_eq!(
        std::fs::read_to_string(&dense).unwrap(),
        "%%MatrixMarket vector array integer general\n4\n7\n-8\n0\n9\n"
    );
    assert!(io::read(&dense).unwrap().equal(&v).unwrap());
    let wide = Tensor::random([100_000], 0.3, 0.0, Layout::Coo, 2).unwrap().cast(openwork::DType::Complex64).unwrap();
    io::write(&sparse, &wide).unwrap();
    let back = io::read(&sparse).unwrap();
    assert!(back.equal(&wide).unwrap() && (back.dtype(), back.nse()) == (wide.dtype(), wide.nse()));
    let told = good(&["info", text(&sparse)]);
    assert!(told.contains("[100000]") && told.contains("stored as vector coordinate complex general"), "{told}");
    let mut seen = 0;
    io::read_pieces(&sparse, &Default::default(), None, &mut |piece| {
        seen += piece.tensor.nse();
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(seen, wide.nse());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn hermitian_without_complex_values_is_symmetric_when_reading_is_lenient() {
    let folder = temporary("packed-hermitian");
    let path = folder.join("x.mtx");
    for (field, value, one) in [("real", "3", "3.0"), ("integer", "3", "3"), ("pattern", "", "true")] {
        let text_of = |at: &str| format!("{at} {value}").trim_end().to_owned();
        let lines = [&text_of("1 1")[..], &text_of("2 1")].join("\n");
        std::fs::write(&path, format!("%%MatrixMarket matrix coordinate {field} hermitian\n2 2 2\n{lines}\n")).unwrap();
        let told = fails(&["dump", text(&path)], 1);
        assert!(told.contains("symmetric") && told.contains("--lenient"), "{told}");
        let output = run(&["dump", "--lenient", text(&path)]);
        assert!(String::from_utf8_lossy(&output.stderr).contains("read as `symmetric`"));
        let lines = String::from_utf8(output.stdout).unwrap();
        for at in ["[0, 0]", "[1, 0]", "[0, 1]"] {
            assert!(lines.contains(&format!("[{at}, {one}]")), "{field}: {lines}");
        }
        assert_eq!(
            io::read_with(&path, &io::ReadOptions { lenient: true, ..Default::default() }).unwrap().tensor.nse(),
            3
        );
        let told = good(&["info", text(&path)]);
        assert!(told.contains("symmetric"), "{told}");
        good(&["validate", "--lenient", text(&path)]);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_banner_with_one_percent_sign_is_lenient() {
    let folder = temporary("packed-banner");
    let path = folder.join("x.txt");
    let body = "MatrixMarket matrix coordinate real symmetric\n% one\n3 3 2\n1 1 4\n3 1 0.5\n";
    std::fs::write(&path, format!("%{body}")).unwrap();
    let told = fails(&["dump", text(&path)], 1);
    assert!(
        told.contains("has to start with `%%MatrixMarket`; found '%MatrixMarket'") && told.contains("--lenient"),
        "{told}"
    );
    let output = run(&["dump", "--lenient", text(&path)]);
    assert_eq!(output.stdout, b"[[0, 0], 4.0]\n[[2, 0], 0.5]\n[[0, 2], 0.5]\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("which has one percent sign of two"));
    let loaded = io::read_with(&path, &io::ReadOptions { lenient: true, ..Default::default() }).unwrap();
    assert_eq!(loaded.warnings, [io::Warning::ShortBanner]);
    assert_eq!(run(&["validate", text(&path)]).status.code(), Some(1));
    assert_eq!(run(&["validate", "--lenient", text(&path)]).status.code(), Some(0));
    std::fs::write(&path, format!("%%{body}")).unwrap();
    assert!(
        io::read_with(&path, &io::ReadOptions { lenient: true, ..Default::default() }).unwrap().warnings.is_empty()
    );
    // The same word as a comment of a .tns file is none of ours.
    std::fs::write(&path, format!("#%{body}")).unwrap();
    assert!(io::Format::of_file(&path).is_err());
    std::fs::remove_dir_all(&folder).unwrap();
}
