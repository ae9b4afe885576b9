//! What a user may give by mistake: one line that says what it is and what to do.

use crate::common::temporary;
use crate::{fails, good, text};

/// Files that are empty, cut short or of another kind, whatever they are called.
#[test]
fn files_of_other_kinds_are_told_what_they_are() {
    let folder = temporary("refused-kinds");
    for ending in ["h5", "hdf5", "h5ad", "npz", "npy", "sscdf", "safetensors", "zarr.zip", "pt", "mtx", "ttx"] {
        let path = folder.join(format!("empty.{ending}"));
        std::fs::write(&path, "").unwrap();
        let told = fails(&["dump", text(&path)], 1);
        let known = ["empty", "0 bytes", "line 1", "not a ZIP"];
        assert!(known.iter().any(|word| told.contains(word)) && told.contains(ending), "{told}");
    }
    let tar = [&[0; 257][..], b"ustar", &[0; 300]].concat();
    let kinds: [(&[u8], &str); 9] = [
        (b"PAR1....", "Parquet"),
        (b"MATLAB 5.0 MAT-file", "scipy.io.loadmat"),
        (b"CDF\x01....", "nccopy"),
        (b"GGUF....", "GGUF"),
        (b"\x80\x04\x95", "pickle"),
        (b"RDX3\nX", "writeMM"),
        (b"\xfd7zXZ\0", "unpack it first"),
        (b"\x89PNG\r\n", "picture"),
        (&tar, "tar archive"),
    ];
    for (bytes, word) in kinds {
        for (name, status) in [("some.thing", 2), ("noend", 2), ("wrong.h5", 1), ("wrong.npz", 1)] {
            let path = folder.join(name);
            std::fs::write(&path, bytes).unwrap();
            for command in ["info", "dump"] {
                assert!(fails(&[command, text(&path)], status).contains(word), "{name} {word}");
            }
        }
    }
    let (rest, unknown) = (folder.join("x.parquet"), folder.join("x.xyz"));
    std::fs::write(&rest, "hello").unwrap();
    std::fs::write(&unknown, "").unwrap();
    assert!(fails(&["info", text(&rest)], 2).contains("begins like none of the known formats; known are .mtx"));
    assert!(fails(&["info", text(&unknown)], 2).contains("the file is empty; known are .mtx"));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What a format has no place for: what would be lost, and the options of the command that help. Nothing is written.
#[test]
fn formats_that_cannot_hold_a_tensor_say_which_options_help() {
    let folder = temporary("refused-formats");
    let path = |name: &str| folder.join(name);
    std::fs::write(path("x.mtx"), "%%MatrixMarket matrix coordinate real general\n3 4 2\n1 1 1.5\n3 2 2\n").unwrap();
    let made = [
        ("x.npz", &["--layout", "csr"][..]),
        ("fill.npz", &["--layout", "csr", "--replace-fill", "7"]),
        ("complex.npz", &["--dtype", "complex128"]),
        ("half.npz", &["--dtype", "float16", "--extensions"]),
    ];
    let x = path("x.mtx");
    for (name, options) in made {
        good(&[&["convert", "-q", text(&x), text(&path(name))], options].concat());
    }
    let cases: [(&str, &str, &[&str], &str); 15] = [
        ("fill.npz", "y.mtx", &[], "--fill 0 stores"),
        ("fill.npz", "y.sscdf", &[], "--fill 0 stores"),
        ("fill.npz", "y.h5ad", &[], "--fill 0 stores"),
        ("fill.npz", "y.npz", &["--to", "scipy"], "--fill 0 stores"),
        ("complex.npz", "y.sscdf", &[], "--dtype float32 or float64"),
        ("complex.npz", "y.tns", &[], "TensorMarket (.ttx)"),
        ("half.npz", "y.npz", &["--to", "scipy"], "--dtype float32"),
        ("half.npz", "y.npz", &[], "--extensions"),
        ("x.npz", "y.npy", &[], "--layout strided has"),
        ("x.npz", "y.bspnpy", &["--compress"], "--compress: is given"),
        ("x.npz", "y.safetensors", &["--compress"], "--compress: is given"),
        ("x.npz", "y.mtx", &["--binsparse-version", "0.1"], "--binsparse-version: is given"),
        ("x.npz", "y.mtx", &["--compress"], "its name ends in .gz"),
        ("x.npz", "y.npz", &["--name", "a"], "there is no group \"a\""),
        ("x.npz", "y.npz", &["--max-bytes", "9"], "9 are allowed"),
    ];
    for (from, to, options, word) in cases {
        let told = fails(&[&["convert", text(&path(from)), text(&path(to))], options].concat(), 1);
        assert!(told.contains(word), "{from} {to}: {told}");
        assert!(!told.contains("to_dense") && !told.contains("with_fill") && !told.contains("io::"), "{told}");
        assert!(!path(to).exists(), "{to}");
    }
    assert!(
        fails(&["dump", text(&path("x.npz")), "--rows", "1..9"], 1).contains("--rows: 1..9 does not lie in axis 0")
    );
    for output in ["y.xyz", "y", "y.pt", "y.mtx.bz2", "no/y.npz"] {
        let told = fails(&["convert", text(&path("x.npz")), text(&path(output))], 2);
        let known = ["known are .mtx", "known to write are .mtx", "folder has to exist"];
        assert!(known.iter().any(|word| told.contains(word)), "{told}");
    }
    assert!(fails(&["spy", text(&x), "-o", text(&path("no/x.png"))], 2).contains("folder has to exist"));
    // Folders that are something else stay.
    for name in ["photos.zarr", "photos.bspnpy", "photos.npz"] {
        std::fs::create_dir(path(name)).unwrap();
        std::fs::write(path(name).join("one"), "of many").unwrap();
        let told = fails(&["convert", text(&path("x.npz")), text(&path(name))], 2);
        assert!(told.contains("can be replaced"), "{told}");
        assert_eq!(std::fs::read_dir(path(name)).unwrap().count(), 1);
        assert!(fails(&["info", text(&path(name))], 2).contains("directory"));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
