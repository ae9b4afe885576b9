//! Stores that are broken, or made to hurt: an error that says what, never a panic, a wrong tensor or memory out of proportion.

use std::fs;
use std::io::Write;
use std::path::Path;

use openwork::io::ReadOptions;
use openwork::io::binsparse;
use openwork::{Layout, Tensor};
use serde_json::{Value, json};

use crate::common::npz::zip;
use crate::common::rng::Rng;
use crate::common::temporary;
use crate::mutate::mutate;

fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut said: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut said);
    fs::write(path, said.to_string()).unwrap();
}

/// One more codec.
fn add(said: &mut Value, codec: Value) {
    said["codecs"].as_array_mut().unwrap().push(codec);
}

#[test]
fn what_is_wrong_is_told() {
    let folder = temporary("zarr-refused");
    let x = Tensor::random([4, 6], 0.4, 0.0, Layout::Csr, 5).unwrap();
    let path = folder.join("x.zarr");
    type Change = fn(&mut Value);
    let metadata: [(Change, &str); 21] = [
        (|v| v["shape"] = json!([1_u64 << 50]), "\"values\": \"values\" claims to hold 9007199254740992 bytes and has"),
        (|v| v["shape"] = json!([u64::MAX]), "an array of the shape [18446744073709551615]"),
        (|v| v["shape"] = json!([-1]), "`shape` is not a list of sizes"),
        (
            |v| {
                v["shape"] = json!([2, 5]);
                v["chunk_grid"]["configuration"]["chunk_shape"] = json!([2, 5]);
            },
            "`values` has shape [2, 5], not one axis",
        ),
        (|v| v["chunk_grid"]["configuration"]["chunk_shape"] = json!([0]), "chunks of the shape [0]"),
        (
            |v| v["chunk_grid"]["configuration"]["chunk_shape"] = json!([1_u64 << 61]),
            "of the shape [2305843009213693952]",
        ),
        (|v| v["chunk_grid"]["configuration"]["chunk_shape"] = json!([3]), "a chunk of its array has 24"),
        (|v| v["chunk_grid"]["name"] = json!("rectilinear"), "a chunk grid of the kind \"rectilinear\""),
        (|v| v["chunk_key_encoding"]["name"] = json!("mine"), "chunk keys of the kind \"mine\""),
        (|v| add(v, json!({"name": "pcodec"})), "the codec \"pcodec\", which is not known"),
        (|v| v["codecs"] = json!([{"name": "gzip"}]), "the codec \"gzip\" where elements become bytes"),
        (|v| v["codecs"] = json!([]), "no codec makes bytes"),
        (|v| v["codecs"][0]["configuration"] = json!({"endian": "middle"}), "the order of bytes Some(\"middle\")"),
        (
            |v| {
                v["codecs"] = json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip"}, {"name": "zstd"}])
            },
            "packed more than once",
        ),
        (|v| add(v, json!({"name": "gzip"})), "cannot be unpacked"),
        (|v| add(v, json!({"name": "crc32c"})), "its checksum (crc32c) differs"),
        (|v| v["data_type"] = json!("string"), "elements of the type \"string\""),
        (|v| v["fill_value"] = json!("none"), "the fill value \"none\" is no float64"),
        (|v| v["storage_transformers"] = json!([{"name": "x"}]), "the storage transformers"),
        (|v| v["stranger"] = json!(1), "has the key \"stranger\", which is not known"),
        (|v| v["zarr_format"] = json!(4), "is not of Zarr version 3"),
    ];
    for (change, why) in metadata {
        binsparse::write(&path, &x).unwrap();
        edit(&path.join("values/zarr.json"), change);
        let error = binsparse::read(&path).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("x.zarr"), "{why}: {error}");
    }
    // What a reader may leave alone.
    binsparse::write(&path, &x).unwrap();
    edit(&path.join("values/zarr.json"), |v| v["stranger"] = json!({ "must_understand": false }));
    assert_eq!(binsparse::read(&path).unwrap().to_string(), x.to_string());
    let texts: [(&str, &[u8], &str); 8] = [
        ("zarr.json", b"{\"zarr_format\": 3, \"zarr_format\": 3}", "is given twice"),
        ("zarr.json", b"[]", "\"zarr.json\" is not a JSON object"),
        ("zarr.json", b"\xff", "is not UTF-8"),
        ("zarr.json", b"{\"zarr_format\": 3, \"node_type\": \"group\"}", "the store has 3 tensors"),
        (
            "zarr.json",
            b"{\"zarr_format\": 3, \"node_type\": \"group\", \"attributes\": {\"binsparse\": 7}}",
            "the attribute `binsparse` is not a JSON object",
        ),
        ("values/c/0", b"short", "has 5 bytes; a chunk of its array has"),
        ("pointers_to_1/zarr.json", b"{\"zarr_format\": 3, \"node_type\": \"group\"}", "is a group, not an array"),
        ("values/c/1", b"beyond", ""),
    ];
    for (name, bytes, why) in texts {
        binsparse::write(&path, &x).unwrap();
        fs::write(path.join(name), bytes).unwrap();
        match binsparse::read(&path) {
            Ok(read) => assert!(why.is_empty() && read.to_string() == x.to_string(), "{name}"),
            Err(error) => assert!(!why.is_empty() && error.to_string().contains(why), "{name}: {error}"),
        }
    }
    binsparse::write(&path, &x).unwrap();
    fs::remove_dir_all(path.join("indices_1")).unwrap();
    let error = binsparse::read(&path).unwrap_err().to_string();
    assert!(error.contains("`indices_1` is missing"), "{error}");
    for name in ["../x.zarr", "/etc", "a//b", ".", "a\\b"] {
        let options = ReadOptions { name: Some(name), ..Default::default() };
        let error = binsparse::read_with(&path, &options).unwrap_err().to_string();
        assert!(error.contains("is no name inside of a Zarr store"), "{name}: {error}");
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// A link inside a store could lead anywhere, and a pipe never ends.
#[cfg(unix)]
#[test]
fn links_and_pipes_are_not_followed() {
    use std::os::unix::fs::symlink;

    let folder = temporary("zarr-links");
    let x = Tensor::random([4, 6], 0.4, 0.0, Layout::Csr, 5).unwrap();
    let (path, other) = (folder.join("x.zarr"), folder.join("other.zarr"));
    binsparse::write(&other, &x).unwrap();
    for name in ["values/c/0", "values/c", "values", "values/zarr.json"] {
        binsparse::write(&path, &x).unwrap();
        let at = path.join(name);
        if at.is_dir() {
            fs::remove_dir_all(&at).unwrap()
        } else {
            fs::remove_file(&at).unwrap()
        }
        symlink(other.join(name), &at).unwrap();
        let error = binsparse::read(&path).unwrap_err().to_string();
        assert!(error.contains("symbolic link"), "{name}: {error}");
    }
    binsparse::write(&path, &x).unwrap();
    let pipe = path.join("values/c/0");
    fs::remove_file(&pipe).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let error = binsparse::read(&path).unwrap_err().to_string();
    assert!(error.contains("neither a file nor a folder"), "{error}");
    // The store itself may be reached by a link.
    let link = folder.join("link.zarr");
    symlink(&other, &link).unwrap();
    assert_eq!(binsparse::read(&link).unwrap().to_string(), x.to_string());
    // Groups that hold each other by links end.
    symlink(&other, other.join("inner")).unwrap();
    let error = binsparse::File::open(&other).unwrap().names().unwrap_err().to_string();
    assert!(error.contains("symbolic link"), "{error}");
    fs::remove_dir_all(&folder).unwrap();
}

/// The members of an archive of a store.
type Members = Vec<(String, Vec<u8>)>;

fn array(members: &mut Members, path: &str, dtype: &str, len: usize, chunk: usize, codecs: Value, chunks: &[Vec<u8>]) {
    let said = json!({
        "zarr_format": 3, "node_type": "array", "shape": [len], "data_type": dtype, "fill_value": 0, "codecs": codecs,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [chunk]}},
        "chunk_key_encoding": {"name": "default"},
    });
    members.push((format!("{path}/zarr.json"), said.to_string().into_bytes()));
    for (number, bytes) in chunks.iter().enumerate() {
        members.push((format!("{path}/c/{number}"), bytes.clone()));
    }
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A matrix of 3 × 4 whose arrays went through several codecs.
fn packed() -> Members {
    let header = json!({"zarr_format": 3, "node_type": "group", "attributes": {"binsparse": {"binsparse": {
        "version": "0.1.0", "format": "CSR", "shape": [3, 4], "number_of_stored_values": 4,
        "data_types": {"pointers_to_1": "uint64", "indices_1": "uint32", "values": "float64"},
    }}}});
    let mut members = vec![("zarr.json".to_owned(), header.to_string().into_bytes())];
    let little = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let words = |values: &[u64]| bytemuck::cast_slice::<u64, u8>(values).to_vec();
    array(
        &mut members,
        "pointers_to_1",
        "uint64",
        4,
        3,
        json!([little, {"name": "gzip"}]),
        &[gz(&words(&[0, 2, 3])), gz(&words(&[4, 0, 0]))],
    );
    let inner = json!([little]);
    let shards = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [2], "codecs": inner, "index_codecs": inner, "index_location": "end"}}]);
    let mut shard = bytemuck::cast_slice::<u32, u8>(&[0, 2, 1, 3]).to_vec();
    shard.extend(words(&[8, 8, 0, 8]));
    array(&mut members, "indices_1", "uint32", 4, 4, shards, &[shard]);
    // A frame of zstd with one block of one byte 32 times over: 32 zeros.
    let mut zstd = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, 32];
    zstd.extend([0x03, 0x01, 0x00, 0x00]);
    array(&mut members, "values", "float64", 4, 4, json!([little, {"name": "zstd"}]), &[zstd]);
    if !cfg!(feature = "codecs") {
        members.truncate(members.len() - 2);
        array(&mut members, "values", "float64", 4, 4, json!([little]), &[vec![0; 32]]);
    }
    members
}

fn read(members: &Members) -> openwork::Result<Tensor> {
    let options = ReadOptions { max_bytes: Some(1 << 20), ..Default::default() };
    binsparse::read_bytes(&zip(members), &options).map(|loaded| loaded.tensor)
}

/// What is not allowed of an archive in memory.
fn told(members: &Members) -> String {
    binsparse::read_bytes(&zip(members), &ReadOptions::default()).unwrap_err().to_string()
}

#[test]
fn chunks_that_claim_too_much() {
    let good = packed();
    let x = read(&good).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((x.nse(), x.shape()), (4, &[3, 4][..]));
    assert!(x.is_stored().unwrap().get([0, 1]).unwrap() == Some(true.into()));
    let with = |name: &str, bytes: Vec<u8>| {
        let mut members = good.clone();
        members.iter_mut().find(|(member, _)| member == name).unwrap().1 = bytes;
        members
    };
    assert!(told(&with("pointers_to_1/c/0", gz(&vec![0; 1 << 24]))).contains("unpacks to more than 24 bytes"));
    assert!(
        told(&with("pointers_to_1/c/0", gz(&[0; 16])))
            .contains("16 bytes are stored, and the elements of a chunk have 24")
    );
    let cut = gz(&[0; 24])[..12].to_vec();
    assert!(told(&with("pointers_to_1/c/0", cut)).contains("cannot be unpacked"));
    // An index of a shard that leads out of it, and one that unpacks the same bytes twice over.
    let shard = |entries: [u64; 4]| {
        let mut shard = vec![0; 16];
        shard.extend(bytemuck::cast_slice::<u64, u8>(&entries));
        shard
    };
    for entries in [[40, 16, 0, 8], [u64::MAX, 8, 0, 8], [8, u64::MAX, 0, 8], [0, 8, 48, 8]] {
        assert!(told(&with("indices_1/c/0", shard(entries))).contains("leads out of it"), "{entries:?}");
    }
    assert!(told(&with("indices_1/c/0", vec![0; 20])).contains("without an index"));
    // A shard that claims 2^45 bytes in the few that it has.
    let large = |text: &[u8]| {
        let text = String::from_utf8(text.to_vec()).unwrap();
        let text = text.replace("\"chunk_shape\":[4]", &format!("\"chunk_shape\":[{}]", 1_u64 << 43));
        text.into_bytes()
    };
    let said = &good.iter().find(|(name, _)| name == "indices_1/zarr.json").unwrap().1;
    assert!(told(&with("indices_1/zarr.json", large(said))).contains("claims to hold"));
    // Unwritten elements are taken for real to an end.
    let mut bare = vec![good[0].clone()];
    let little = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    array(&mut bare, "pointers_to_1", "uint64", 4, 4, little.clone(), &[]);
    array(&mut bare, "indices_1", "uint32", 4, 4, little.clone(), &[]);
    array(&mut bare, "values", "float64", 1 << 40, 1 << 40, little, &[]);
    assert!(
        told(&bare).contains("\"values\" claims to hold 8796093022208 bytes and has 0 in the store"),
        "{}",
        told(&bare)
    );
}

/// How many mutants are tried: `OPENWORK_MUTANTS`, if it is set.
fn rounds() -> usize {
    std::env::var("OPENWORK_MUTANTS").ok().and_then(|count| count.parse().ok()).unwrap_or(20_000)
}

#[test]
fn mutants_end_in_an_error_or_a_tensor() {
    const TELLING: &[u8] = b"\x00\x01\x7f\x80\xff0914-[]{}\",:";
    let folder = temporary("zarr-mutants");
    let mut seeds = vec![packed()];
    let x = Tensor::random([4, 6, 2], 0.4, 1.5, Layout::Csf, 5).unwrap();
    let path = folder.join("x.zarr");
    binsparse::write(&path, &x).unwrap();
    let mut members = Vec::new();
    collect(&path, "", &mut members);
    seeds.push(members);
    fs::remove_dir_all(&folder).unwrap();
    let mut random = Rng::new(29);
    let mut accepted = 0;
    for round in 0..rounds() {
        let mut members = seeds[round % seeds.len()].clone();
        let which = random.below(members.len());
        mutate(&mut members[which].1, TELLING, &mut random);
        if let Ok(x) = read(&members) {
            assert!(x.nbytes() <= 2 << 20, "{} bytes", x.nbytes());
            assert_eq!(x.iter_stored().count(), x.nse());
            accepted += 1;
        }
    }
    println!("{accepted} of {} mutants were tensors", rounds());
    assert!(accepted > rounds() / 20, "{accepted}: the mutants are too damaged to test anything");
}

fn collect(folder: &Path, prefix: &str, out: &mut Members) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{name}/"), out);
        } else {
            out.push((name, fs::read(entry.path()).unwrap()));
        }
    }
    out.sort();
}
