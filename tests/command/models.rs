//! Files of many tensors: told of as a tree, converted whole; pages for shells and the manual.

use std::path::{Path, PathBuf};

use openwork::io::state_dict::{Archive, StateDict};
use openwork::{DType, Layout, Tensor, io, tensor};

use super::{fails, good, run, text};
use crate::common::temporary;

fn model() -> StateDict {
    let mut model = StateDict::new();
    let weight = Tensor::random([64, 32], 0.1, 0.0, Layout::Csr, 1).unwrap().cast(DType::F32).unwrap();
    model.insert("encoder.layer.weight", weight).unwrap();
    model.insert("encoder.layer.bias", Tensor::from_vec([32], vec![0.5_f32; 32]).unwrap()).unwrap();
    model.insert("decoder.steps", tensor![7_i64, 9]).unwrap();
    model.metadata_mut().insert("title".into(), "a model".into());
    model
}

#[test]
fn several_tensors_are_a_tree() {
    let folder = temporary("models-tree");
    let path = folder.join("model.safetensors");
    model().save(&path).unwrap();
    let size = std::fs::metadata(&path).unwrap().len();
    let told = good(&["info", text(&path)]);
    let expected = format!(
        "{}: safetensors, {size} bytes, 3 tensors\n\
         ├─ encoder.layer\n\
         │  ├─ weight     [64, 32]  float32  csr      1900 bytes  205 stored (10.01 %)\n\
         │  └─ bias       [32]      float32  strided   128 bytes\n\
         └─ decoder.steps  [2]       int64    strided    16 bytes\n",
        path.display()
    );
    let plain = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(plain(&told), plain(&expected), "{told}");
    let columns: Vec<usize> = told.lines().filter_map(|line| Some(line.split_once('[')?.0.chars().count())).collect();
    assert!(columns.len() == 3 && columns.iter().all(|&at| at == columns[0]), "{told}");
    let long = good(&["info", "--long", text(&path)]);
    assert!(long.contains("arrays     pointers_to_1  uint32    65  260 bytes\n"), "{long}");
    assert!(
        long.contains("             values         float32  205  820 bytes\n") && long.contains("version    0.1\n"),
        "{long}"
    );
    // Packed arrays of NPZ tell how small they are.
    let npz = folder.join("one.npz");
    good(&["convert", text(&path), text(&npz), "--name", "encoder.layer.weight", "--compression", "9"]);
    let told = good(&["info", text(&npz)]);
    assert!(told.contains(" packed\n") && told.contains("version    0.1.0\n"), "{told}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn whole_models_are_converted() {
    let folder = temporary("models-convert");
    let (first, second, third) = (folder.join("a.safetensors"), folder.join("b.h5"), folder.join("c.safetensors"));
    let model = model();
    model.save(&first).unwrap();
    assert_eq!(good(&["convert", text(&first), text(&second), "--compression", "4"]), "");
    assert_eq!(good(&["convert", text(&second), text(&third)]), "");
    for path in [&second, &third] {
        let read = Archive::open(path).unwrap();
        assert!(read.names().eq(model.names()) && read.metadata() == model.metadata(), "{}", path.display());
        assert_eq!(good(&["diff", text(&first), text(path)]), "");
    }
    assert_eq!(std::fs::read(&first).unwrap(), std::fs::read(&third).unwrap());
    // Options are for the tensors that they make sense for.
    good(&[
        "convert",
        text(&first),
        text(&second),
        "--layout",
        "csc",
        "--dtype",
        "float64",
        "--force",
        "--drop-metadata",
    ]);
    let read = Archive::open(&second).unwrap();
    let get = |name: &str| read.tensor(name).unwrap();
    assert_eq!((get("encoder.layer.weight").layout(), get("encoder.layer.weight").dtype()), (Layout::Csc, DType::F64));
    assert_eq!((get("encoder.layer.bias").layout(), get("decoder.steps").dtype()), (Layout::Strided, DType::I64));
    assert!(read.metadata().is_empty());
    // What one format of them cannot hold names the tensor and changes nothing.
    let told = fails(&["convert", text(&first), text(&second), "--dtype", "float16", "--force"], 1);
    assert!(told.contains("--extensions"), "{told}");
    let told = fails(&["convert", text(&first), text(&second), "--layout", "bsr3x3", "--force"], 1);
    assert!(told.contains("encoder.layer.weight"), "{told}");
    let told = fails(&["convert", text(&first), text(&second)], 1);
    assert!(told.contains("3 others") && told.contains("--force"), "{told}");
    assert_eq!(read.names().count(), 3);
    let told = fails(&["convert", text(&first), text(&folder.join("x.npz"))], 1);
    assert!(told.contains("3 tensors"), "{told}");
    fails(&["convert", text(&first), text(&third), "--compress", "--force"], 2);
    let output = run(&["convert", text(&second), "-", "--to", "safetensors"]);
    assert_eq!(StateDict::from_safetensors(&output.stdout).unwrap().len(), 3);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn checkpoints_are_read_and_converted() {
    let folder = temporary("models-checkpoints");
    let made = |name: &str| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/files/models/checkpoints").join(name);
    {
        let name = "training.pt";
        let (source, target) = (made(name), folder.join("x.safetensors"));
        let told = good(&["info", text(&source)]);
        assert!(told.contains("PyTorch checkpoint"), "{told}");
        assert_eq!(good(&["validate", text(&source)]), format!("{}: valid\n", source.display()));
        good(&["convert", text(&source), text(&target), "--force"]);
        assert_eq!(good(&["diff", text(&source), text(&target), "--equal-nan"]), "");
        let archive = Archive::open(&source).unwrap();
        assert!(Archive::open(&target).unwrap().names().eq(archive.names()));
        let first = archive.names().next().unwrap();
        good(&["dump", text(&source), "--name", first]);
    }
    // One tensor that cannot be read hides no other.
    for (name, reason) in [("strided.pt", "quantised"), ("sparse.pt", "outside")] {
        let told = good(&["info", text(&made(name))]);
        let line = told.lines().find(|line| line.contains(reason)).unwrap();
        assert!(line.contains("unreadable") && told.lines().count() > 3, "{told}");
        assert!(fails(&["info", text(&made(name)), "--name", reason], 1).contains(reason));
        let output = run(&["validate", text(&made(name))]);
        assert_eq!(output.status.code(), Some(1));
    }
    let told = fails(&["convert", text(&made("training.pt")), text(&folder.join("x.pt"))], 2);
    assert!(told.contains("read, not written"), "{told}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn versions_notes_and_metadata_are_chosen() {
    let folder = temporary("models-options");
    let (path, out) = (folder.join("x.mtx"), folder.join("x.npz"));
    std::fs::write(&path, "%%MatrixMarket matrix coordinate real general\n2 2 2\n2 2 1\n1 1 4\n").unwrap();
    good(&["convert", "--quiet", text(&path), text(&out), "--binsparse-version", "0.1"]);
    assert_eq!(io::binsparse::info(&out).unwrap().version, "0.1");
    good(&["convert", "-q", text(&path), text(&out)]);
    assert_eq!(io::binsparse::info(&out).unwrap().version, "0.1.0");
    let mut said = serde_json::Map::new();
    said.insert("title".into(), "corners".into());
    let options = io::WriteOptions { metadata: Some(&said), ..Default::default() };
    io::write_with(&out, &io::read(&path).unwrap().coalesce().unwrap(), &options).unwrap();
    let told = fails(&["convert", "--keep-metadata", text(&out), text(&path)], 1);
    assert!(told.contains("--keep-metadata") && told.contains("Matrix Market"), "{told}");
    assert_eq!(good(&["convert", "-q", text(&out), text(&path)]), "");
    for wrong in [["--compression", "10"], ["--binsparse-version", "0.2"]] {
        let output = run(&["convert", text(&path), text(&out), wrong[0], wrong[1]]);
        assert_eq!(output.status.code(), Some(2));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn shells_and_the_manual_know_every_command() {
    let commands = ["info", "convert", "validate", "dump", "head", "spy", "diff", "completions", "man"];
    for shell in ["bash", "zsh", "fish"] {
        let script = good(&["completions", shell]);
        assert!(commands.iter().all(|command| script.contains(command)) && script.contains("axes"), "{shell}");
    }
    let page = good(&["man"]);
    assert!(page.contains(".TH openwork 1") && page.contains("spy"), "{page}");
    for command in commands {
        let page = good(&["man", command]);
        assert!(page.contains(&format!("openwork\\-{command}")), "{command}: {page}");
        let help = good(&[command, "--help"]);
        let has_examples = !["completions", "man"].contains(&command);
        assert_eq!((help.contains("Examples:"), help.contains("Exit status:")), (has_examples, has_examples), "{help}");
    }
    assert!(fails(&["man", "none"], 2).contains("known are"));
    assert!(Path::new(env!("CARGO_BIN_EXE_openwork")).exists());
}

/// AnnData has matrices by rows and by columns alone: any other layout is converted, and that is said.
#[test]
fn a_matrix_of_any_layout_goes_to_anndata() {
    let folder = temporary("models-anndata");
    let (input, output) = (folder.join("x.mtx"), folder.join("x.h5ad"));
    std::fs::write(&input, "%%MatrixMarket matrix coordinate real general\n3 4 3\n3 1 2.5\n1 2 1.5\n2 4 -1\n").unwrap();
    let told = run(&["convert", text(&input), text(&output)]);
    let said = String::from_utf8(told.stderr).unwrap();
    assert!(told.status.success() && said.contains("stored as csr"), "{said}");
    let written = io::read(&output).unwrap();
    assert_eq!(written.layout(), Layout::Csr);
    assert_eq!(written.to_vec::<f64>().unwrap(), [0.0, 1.5, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 2.5, 0.0, 0.0, 0.0]);
    let columns = folder.join("columns.h5ad");
    good(&["convert", text(&input), text(&columns), "--layout", "csc"]);
    assert_eq!(io::read(&columns).unwrap().layout(), Layout::Csc);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A model of 160 MB goes from container to container without ever being in memory as a whole.
#[cfg(target_os = "linux")]
#[test]
fn models_are_converted_tensor_by_tensor() {
    let folder = temporary("models-large");
    let names: Vec<String> = (0..40).map(|i| format!("layer.{i}.weight")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let first = folder.join("first.safetensors");
    let mut metadata = serde_json::Map::new();
    metadata.insert("title".into(), "large".into());
    let made = |name: &str| {
        let seed = name.bytes().map(usize::from).sum::<usize>();
        Tensor::from_vec([1000, 1000], (0..1_000_000).map(|i| ((i * seed) % 1009) as f32).collect())
    };
    let mut asked = Vec::new();
    let options = io::WriteOptions { metadata: Some(&metadata), ..Default::default() };
    StateDict::save_each(&first, &names, &options, &mut |name| {
        asked.push(name.to_owned());
        made(name)
    })
    .unwrap();
    assert_eq!(asked, [&names[..], &names].concat());
    assert!(std::fs::metadata(&first).unwrap().len() > 160_000_000);
    let mut from = first.clone();
    for to in ["a.h5", "b.zarr", "c.safetensors", "d.zarr.zip", "e.h5"] {
        let to = folder.join(to);
        let (kilobytes, output) = super::streams::peak(&["convert", text(&from), text(&to)]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{told}");
        println!("{} -> {}: {kilobytes} kB at most", from.display(), to.display());
        assert!((8_000..60_000).contains(&kilobytes), "{kilobytes} kB for {}", to.display());
        if from != first {
            std::fs::remove_dir_all(&from).or_else(|_| std::fs::remove_file(&from)).unwrap();
        }
        from = to;
    }
    let mut last = io::binsparse::File::open(&from).unwrap();
    assert_eq!(
        (last.names().unwrap(), last.metadata().unwrap()),
        (names.iter().map(|n| n.to_string()).collect(), metadata)
    );
    for name in [names[0], names[39]] {
        assert!(last.tensor(name).unwrap().equal(&made(name).unwrap()).unwrap());
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn tensors_that_cannot_be_had_leave_no_file() {
    let folder = temporary("models-each");
    let old = b"what was there";
    let gone = || Tensor::from_vec([2], vec![1.0]);
    for ending in ["h5", "safetensors", "zarr", "zarr.zip"] {
        let path = folder.join(format!("x.{ending}"));
        if ending != "zarr" {
            std::fs::write(&path, old).unwrap();
        }
        let names = ["a", "b"];
        let give = |name: &str| if name == "b" { gone() } else { Tensor::from_vec([1], vec![1.0]) };
        let told = match ending {
            "safetensors" => StateDict::save_each(&path, &names, &Default::default(), &mut |name| give(name)),
            _ => io::binsparse::write_each(&path, &names, &Default::default(), &mut |name| {
                Ok((give(name)?, Default::default()))
            }),
        };
        let told = told.unwrap_err().to_string();
        assert!(told.contains("1 elements for shape [2]"), "{ending}: {told}");
        assert!(ending == "zarr" || std::fs::read(&path).unwrap() == old);
        assert_eq!(path.exists(), ending != "zarr");
    }
    // Another tensor for the header than for the elements.
    let path = folder.join("y.safetensors");
    let mut size = 1;
    let told = StateDict::save_each(&path, &["a"], &Default::default(), &mut |_| {
        size += 1;
        Tensor::from_vec([size], vec![1.0; size])
    });
    assert!(told.unwrap_err().to_string().contains("\"a\" is another one than it was"));
    for (names, why) in [(&["a", "a"][..], "given twice"), (&["a", "a/values"], "cannot be a tensor too")] {
        for ending in ["h5", "zarr"] {
            let give = &mut |_: &str| Ok((Tensor::eye(2, DType::F32, Layout::Csr)?, Default::default()));
            let told = io::binsparse::write_each(folder.join(format!("z.{ending}")), names, &Default::default(), give);
            assert!(told.unwrap_err().to_string().contains(why), "{ending}");
        }
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3);
    std::fs::remove_dir_all(&folder).unwrap();
}
