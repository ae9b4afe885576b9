//! The converters that the compliance suite of binsparse drives, beside its reference.

use openwork::io;

use super::{fails, good, text};
use crate::common::{python, temporary};

#[test]
fn converters_mean_what_the_reference_means() {
    let folder = temporary("command-compliance");
    let arguments = [env!("CARGO_BIN_EXE_openwork"), folder.to_str().unwrap()];
    let Some(told) = python("converters_mean_what_the_reference_means", "compliance.py", &arguments) else { return };
    // 17 formats of 8 element types in 3 containers, each through three converters.
    assert_eq!(told.trim(), "408");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[cfg(unix)]
#[test]
fn converters_go_by_their_names_and_tell_what_is_wrong() {
    let folder = temporary("command-converters");
    let path = |name: &str| folder.join(name);
    let write = |name: &str, x: &openwork::Tensor| io::write(path(name), x).unwrap();
    write("t.npy", &openwork::tensor![[0.5, 0.0], [0.0, 2.0]]);
    write("p.npy", &openwork::tensor![[true, false], [true, true]]);
    write("f.npy", &openwork::tensor![0.0]);
    std::fs::write(path("h.json"), r#"{"format": "CSC"}"#).unwrap();
    let link = path("npy_to_binsparse");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_openwork"), &link).unwrap();
    let names = ["t.npy", "p.npy", "f.npy", "h.json", "x.npz"].map(path);
    assert!(std::process::Command::new(&link).args(&names).status().unwrap().success());
    let info = &io::info(&names[4]).unwrap()[0];
    assert_eq!((&*info.stored_as, info.nse), ("CSC", Some(3)));
    let out = ["t2.npy", "p2.npy", "f2.npy"].map(path);
    good(&["binsparse_to_npy", text(&names[4]), text(&out[0]), text(&out[1]), text(&out[2])]);
    for (given, made) in names.iter().zip(&out).take(2) {
        assert!(io::read(given).unwrap().equal(&io::read(made).unwrap()).unwrap());
    }
    let arguments = names.iter().map(|path| text(path)).collect::<Vec<_>>();
    let all = [&["npy_to_binsparse"][..], &arguments].concat();
    for (header, why) in [
        (r#"{"format": "CVEC"}"#, "of 1 axes"),
        (r#"{"format": "ELL"}"#, "none of binsparse's"),
        ("{", "not JSON"),
        (
            r#"{"format": "custom", "custom": {"level": {"level_desc": "dense", "rank": 18446744073709551615}}}"#,
            "no tree",
        ),
        (r#"{"format": "custom", "custom": {"level": {"level_desc": "rle"}}}"#, "no tree"),
    ] {
        std::fs::write(path("h.json"), header).unwrap();
        let told = fails(&all, 1);
        assert!(told.contains(why), "{told}");
    }
    std::fs::write(path("h.json"), r#"{"format": "CSC"}"#).unwrap();
    write("p.npy", &openwork::tensor![[true, false]]);
    assert!(fails(&all, 1).contains("bool in the shape"));
    std::fs::remove_dir_all(&folder).unwrap();
}
