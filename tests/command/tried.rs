//! Files that outsiders tried: what was refused, lost or told wrongly, and is not any more.

use super::{fails, good, run, text};
use crate::common::{folder, temporary};
use openwork::{DType, Layout, Tensor, io};

const SYMMETRIC: &str = "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n3 1 5\n1 1 1\n2 1 7\n3 3 2\n";

/// Runs it, with success; what it says on standard error.
#[track_caller]
fn told(arguments: &[&str]) -> String {
    let output = run(arguments);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {told}");
    told
}

#[test]
fn unordered_symmetric_and_repeated_entries_are_converted_and_it_is_said() {
    let folder = temporary("tried-order");
    let repeated = "%%MatrixMarket matrix coordinate real general\n2 2 3\n2 2 1\n1 1 4\n2 2 2.5\n";
    for (name, source, said) in [("symmetric", SYMMETRIC, ""), ("repeated", repeated, "1 repeated ones are summed")] {
        let path = folder.join(format!("{name}.mtx"));
        std::fs::write(&path, source).unwrap();
        for ending in ["npz", "h5"] {
            let out = folder.join(format!("{name}.{ending}"));
            let told = told(&["convert", text(&path), text(&out)]);
            assert!(told.contains("put in order") && told.contains(said) && told.lines().count() == 1, "{told}");
            assert!(io::read(&out).unwrap().equal(&io::read(&path).unwrap()).unwrap(), "{name}.{ending}");
        }
        // With a layout whose entries rise anyway there is nothing to say.
        assert_eq!(told(&["convert", text(&path), text(&folder.join("x.npz")), "--layout", "csr"]), "");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Every valid Matrix Market file that the tests have is converted to every container.
#[test]
fn every_valid_text_file_is_converted() {
    let Some(root) = folder("every_valid_text_file_is_converted", "formats") else { return };
    let out = temporary("tried-every");
    let mut converted = 0;
    for path in super::violations::files(root) {
        if path.extension().is_none_or(|end| end != "mtx") || std::fs::metadata(&path).unwrap().len() > 1 << 20 {
            continue;
        }
        let Ok(x) = io::read(&path) else { continue };
        for ending in ["npz", "h5", "safetensors"] {
            let target = out.join(format!("x.{ending}"));
            told(&["convert", text(&path), text(&target)]);
            let read = io::read(&target).unwrap();
            assert_eq!((read.shape(), read.dtype()), (x.shape(), x.dtype()), "{}", path.display());
            assert!(read.equal_nan(&x).unwrap(), "{} to {ending}", path.display());
        }
        converted += 1;
    }
    assert!(converted > 50, "only {converted} files");
    std::fs::remove_dir_all(&out).unwrap();
}

#[test]
fn a_comment_that_names_a_type_has_to_be_true() {
    let folder = temporary("tried-types");
    for (comment, field, value, fits) in [
        ("%%GraphBLAS type int8_t", "integer", "127", true),
        ("%%GraphBLAS type int8_t", "integer", "128", false),
        ("%%GraphBLAS type uint16_t", "integer", "-1", false),
        ("%%GraphBLAS type bool", "integer", "2", false),
        ("%%GraphBLAS type int32_t", "real", "1.5", false),
        ("%%GraphBLAS type int32_t", "real", "3", true),
    ] {
        let path = folder.join("x.mtx");
        let text_of =
            format!("%%MatrixMarket matrix coordinate {field} general\n{comment}\n2 2 2\n1 1 1\n2 2 {value}\n");
        std::fs::write(&path, text_of).unwrap();
        let info: serde_json::Value = serde_json::from_str(&good(&["info", "--json", text(&path)])).unwrap();
        if fits {
            assert_eq!(io::read(&path).unwrap().dtype().name(), info["dtype"], "{comment} {value}");
            continue;
        }
        let told_why = fails(&["dump", text(&path)], 1);
        assert!(told_why.contains("line 5") && told_why.contains("--lenient"), "{told_why}");
        assert_eq!(run(&["validate", text(&path)]).status.code(), Some(1));
        let told = told(&["convert", text(&path), text(&folder.join("y.npz")), "--lenient"]);
        assert!(told.contains("that a comment names"), "{told}");
    }
    let path = folder.join("x.tns");
    std::fs::write(&path, "#openwork dtype int8\n1 1 1\n2 2 300\n").unwrap();
    assert!(fails(&["dump", text(&path)], 1).contains("line 3: the value does not fit int8"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn entries_above_the_diagonal_are_mirrored_when_reading_is_lenient() {
    let folder = temporary("tried-upper");
    let path = folder.join("x.mtx");
    std::fs::write(&path, SYMMETRIC.replace("3 1 5", "1 3 5")).unwrap();
    assert!(fails(&["dump", text(&path)], 1).contains("above the diagonal"));
    let npz = folder.join("x.npz");
    let told = told(&["convert", "--lenient", text(&path), text(&npz)]);
    assert!(told.contains("1 entries above the diagonal are mirrored"), "{told}");
    let x = io::read(&npz).unwrap();
    assert_eq!((x.get([2, 0]).unwrap(), x.get([0, 2]).unwrap(), x.nse()), (Some(5.0.into()), Some(5.0.into()), 6));
    assert_eq!(good(&["validate", "--lenient", text(&path)]), format!("{}: valid\n", path.display()));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_skew_symmetric_diagonal_is_kept_when_reading_is_lenient() {
    let folder = temporary("tried-skew");
    let path = folder.join("x.mtx");
    std::fs::write(&path, "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 2 5\n3 1 7\n").unwrap();
    assert!(fails(&["dump", text(&path)], 1).contains("on the diagonal and not zero"));
    let npz = folder.join("x.npz");
    for arguments in [vec!["convert", "--lenient", text(&path), text(&npz)], vec!["dump", "--lenient", text(&path)]] {
        assert!(told(&arguments).contains("a diagonal that is not zero"));
    }
    let x = io::read(&npz).unwrap();
    assert_eq!((x.get([1, 1]).unwrap(), x.get([0, 2]).unwrap(), x.nse()), (Some(5.0.into()), Some((-7.0).into()), 3));
    assert_eq!(good(&["validate", "--lenient", text(&path)]), format!("{}: valid\n", path.display()));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn sizes_beyond_any_axis_are_invalid() {
    let folder = temporary("tried-sizes");
    for (name, banner) in [("x.mtx", "matrix"), ("x.ttx", "tensor")] {
        let path = folder.join(name);
        let huge = 1_u128 << 63;
        let text_of = |n: u128| format!("%%MatrixMarket {banner} coordinate real general\n{n} 4 0\n");
        std::fs::write(&path, text_of(huge + 1)).unwrap();
        let output = run(&["validate", text(&path)]);
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.code() == Some(1) && told.contains("2^63"), "{told}");
        fails(&["dump", text(&path)], 1);
        std::fs::write(&path, text_of(huge)).unwrap();
        good(&["validate", text(&path)]);
        assert_eq!(good(&["dump", text(&path)]), "");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn names_and_words_of_files_are_printed_without_what_a_terminal_obeys() {
    let folder = temporary("tried-names");
    let path = folder.join("x.safetensors");
    let mut model = io::state_dict::StateDict::new();
    let x = Tensor::eye(2, DType::F32, Layout::Csr).unwrap();
    model.insert("a\u{1b}[31mRED\nfake: valid", x).unwrap();
    model.save(&path).unwrap();
    let told = good(&["info", text(&path)]);
    assert!(told.contains("a\\u{1b}[31mRED\\nfake: valid") && !told.contains('\u{1b}'), "{told}");
    let told = fails(&["dump", text(&path), "--name", "\u{1b}]0;owned\u{7}"], 1);
    assert!(!told.contains('\u{1b}') && told.contains("--name: "), "{told}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_fill_is_told_and_a_file_without_tensors_is_no_success() {
    let folder = temporary("tried-fill");
    let x = Tensor::random([9, 9], 0.2, 0.0, Layout::Csr, 1).unwrap();
    for (fill, said) in [(openwork::Scalar::from(7.5), "7.5"), (f64::NEG_INFINITY.into(), "-inf")] {
        for ending in ["npz", "h5", "safetensors"] {
            let path = folder.join(format!("x.{ending}"));
            io::write(&path, &x.replace_fill(fill).unwrap()).unwrap();
            let told = good(&["info", text(&path)]);
            assert!(told.contains(&format!("fill       {said}\n")), "{ending}: {told}");
        }
    }
    let path = folder.join("none.h5");
    io::binsparse::write_all(&path, &[], &Default::default()).unwrap();
    assert_eq!(run(&["info", text(&path)]).status.code(), Some(1));
    assert_eq!(run(&["validate", text(&path)]).status.code(), Some(1));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn conversion_keeps_metadata_and_loses_no_other_tensors() {
    let folder = temporary("tried-keep");
    let path = folder.join("three.h5");
    let x = Tensor::eye(3, DType::F64, Layout::Csr).unwrap();
    let mut said = serde_json::Map::new();
    said.insert("title".into(), "the identity".into());
    let entries = ["a", "b", "c"].map(|name| io::binsparse::Entry { name, tensor: &x, metadata: said.clone() });
    io::binsparse::write_all(&path, &entries, &Default::default()).unwrap();
    let before = std::fs::read(&path).unwrap();
    let told_why = fails(&["convert", text(&path), text(&path), "--name", "a"], 1);
    assert!(told_why.contains("3 tensors") && told_why.contains("--force"), "{told_why}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    // From container to container with what is said beside the tensor, unless that is unwanted.
    let (npz, next, text_file) = (folder.join("a.npz"), folder.join("a.safetensors"), folder.join("a.mtx"));
    assert_eq!(told(&["convert", text(&path), text(&npz), "--name", "a"]), "");
    assert_eq!(io::binsparse::info(&npz).unwrap().metadata, said);
    assert_eq!(told(&["convert", text(&npz), text(&next)]), "");
    let archive = io::state_dict::Archive::open(&next).unwrap();
    assert_eq!(archive.metadata().get("title"), said.get("title"));
    let told_that = told(&["convert", text(&npz), text(&text_file)]);
    assert!(told_that.contains("metadata are left out"), "{told_that}");
    assert_eq!(told(&["convert", text(&npz), text(&next), "--drop-metadata"]), "");
    assert!(io::state_dict::Archive::open(&next).unwrap().metadata().is_empty());
    assert!(fails(&["convert", text(&npz), text(&next), "--no-clobber"], 1).contains("--no-clobber"));
    good(&["convert", text(&path), text(&path), "--name", "a", "--force"]);
    assert_eq!(io::info(&path).unwrap().len(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn messages_are_those_of_the_command() {
    let folder = temporary("tried-messages");
    let odd = folder.join("odd.xyz");
    std::fs::write(&odd, "something").unwrap();
    let told = fails(&["dump", text(&odd)], 2);
    assert!(told.starts_with("openwork: the name \"odd.xyz\" ends in no known extension"), "{told}");
    // A level without a kind, and a hint that was followed already.
    let npz = folder.join("x.npz");
    let x = Tensor::random([4, 4, 4], 0.2, 0.0, Layout::Csf, 1).unwrap();
    let bytes = io::binsparse::to_bytes(&x, &Default::default()).unwrap();
    let wide = |word: &str| word.chars().flat_map(|c| u32::from(c).to_ne_bytes()).collect::<Vec<u8>>();
    let at = bytes.windows(4 * 7).position(|window| window == wide("element")).unwrap();
    let mut bad = bytes.clone();
    bad[at..at + 28].copy_from_slice(&wide("elemenX"));
    // The checksum of the member is in the way of damage, so the text is told through lenient reading of the same.
    std::fs::write(&npz, &bad).unwrap();
    let told = fails(&["dump", "--lenient", text(&npz)], 1);
    assert!(!told.contains("--lenient reads"), "{told}");
    let output = run(&["convert", text(&npz), text(&npz), "--layout", "levels"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && told.contains("bsrRxC") && !told.contains("argument `"), "{told}");
    let told = fails(&["dump", text(&folder)], 2);
    assert!(told.contains("a folder holds no tensor"), "{told}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_zip_member_has_one_name() {
    let folder = temporary("tried-zip");
    let path = folder.join("x.npz");
    let x = Tensor::eye(3, DType::F64, Layout::Csr).unwrap();
    let mut bytes = io::binsparse::to_bytes(&x, &Default::default()).unwrap();
    let at = bytes.windows(10).position(|window| window == b"values.npy").unwrap();
    bytes[at] = b'V';
    std::fs::write(&path, &bytes).unwrap();
    assert!(fails(&["dump", text(&path)], 1).contains("another name"));
    assert_eq!(run(&["validate", text(&path)]).status.code(), Some(1));
    std::fs::remove_dir_all(&folder).unwrap();
}
