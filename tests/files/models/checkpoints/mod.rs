//! PyTorch's own files. Those beside this one are written by `write.py`; those that mean harm, here.

use std::path::PathBuf;

use openwork::io::state_dict::{Archive, StateDict};
use openwork::{DType, Layout, Tensor, bf16, c64, c128, f16, tensor};
use serde_json::json;

use crate::common::npz;
use crate::common::rng::Rng;

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/files/models/checkpoints").join(name)
}

#[test]
fn strided_tensors_of_every_type() {
    let archive = Archive::open(file("strided.pt")).unwrap();
    assert_eq!(archive.names().next(), Some("matrix"));
    assert_eq!(archive.len(), 19);
    let get = |name: &str| archive.tensor(name).unwrap();
    let all: Vec<f32> = (0..12).map(|i| i as f32).collect();
    assert_eq!(get("matrix").to_vec::<f32>().unwrap(), all);
    assert!(get("transposed").equal(&get("matrix").t().unwrap()).unwrap());
    assert_eq!(get("tied").to_vec::<f32>().unwrap(), [5.0, 6.0, 9.0, 10.0]);
    assert_eq!(get("repeated").to_vec::<f32>().unwrap(), [7.0, 8.0, 7.0, 8.0, 7.0, 8.0]);
    assert_eq!((get("scalar").ndim(), get("scalar").item().unwrap()), (0, (-7i64).into()));
    assert_eq!((get("empty").shape(), get("empty").dtype()), (&[0, 3][..], DType::F64));
    assert_eq!(get("bool").to_vec::<bool>().unwrap(), [true, false, true]);
    assert_eq!(get("uint8").to_vec::<u8>().unwrap(), [0, 255]);
    assert_eq!(get("int8").to_vec::<i8>().unwrap(), [-128, 127]);
    assert_eq!(get("int16").to_vec::<i16>().unwrap(), [-2, 3]);
    assert_eq!(get("int32").to_vec::<i32>().unwrap(), [-2, 1 << 30]);
    assert_eq!(get("int64").to_vec::<i64>().unwrap(), [-2, 1 << 60]);
    assert_eq!(get("float16").to_vec::<f16>().unwrap(), [f16::from_f32(0.5), f16::from_f32(-2.0)]);
    assert_eq!(get("bfloat16").to_vec::<bf16>().unwrap(), [bf16::from_f32(1.0), bf16::from_f32(-2.0)]);
    assert_eq!(get("float64").to_vec::<f64>().unwrap(), [0.1, -1e300]);
    assert_eq!(get("complex64").to_vec::<c64>().unwrap(), [c64::new(1.0, -2.0), c64::new(0.0, 0.5)]);
    assert_eq!(get("complex128").to_vec::<c128>().unwrap(), [c128::new(1.0, -2.0)]);
    assert_eq!(get("uint16").to_vec::<u16>().unwrap(), [1, 65535]);
    let error = archive.tensor("quantised").unwrap_err().to_string();
    assert!(error.contains("PyTorch checkpoint") && error.contains("quantised"), "{error}");
    let d = archive.descriptor("transposed").unwrap();
    assert_eq!((d.shape, d.data_types["values"].dtype), (vec![4, 3], DType::F32));
    // Rows, and nothing of the rest.
    assert_eq!(archive.rows("matrix", 1..2).unwrap().to_vec::<f32>().unwrap(), all[4..8]);
    assert_eq!(archive.rows("transposed", 1..3).unwrap().to_vec::<f32>().unwrap(), [1.0, 5.0, 9.0, 2.0, 6.0, 10.0]);
    assert!(archive.rows("matrix", 2..4).unwrap_err().to_string().contains("axis 0"));
}

#[test]
fn what_training_saves() {
    let model = StateDict::load(file("training.pt")).unwrap();
    let names: Vec<&str> = model.names().collect();
    assert_eq!(names, ["model.fc.weight", "optimizer.state.0.exp_avg", "optimizer.state.1.exp_avg"]);
    assert_eq!(model.tensor("model.fc.weight").unwrap().to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    let said = |key: &str| model.metadata().get(key).cloned();
    assert_eq!(said("epoch"), Some(json!(12)));
    assert_eq!(said("loss"), Some(json!(0.03125)));
    assert_eq!(said("note"), Some(json!("from a stand-in")));
    assert_eq!(said("optimizer.param_groups.0.betas.1"), Some(json!(0.999)));
    assert_eq!(said("big"), None);
    // Written as something else, and read again.
    let path = super::path("from_training.safetensors");
    model.save(&path).unwrap();
    let again = StateDict::load(&path).unwrap();
    assert!(again.names().eq(model.names()));
    assert_eq!(again.metadata(), model.metadata());
    std::fs::remove_file(&path).unwrap();
    let error = model.save(super::path("again.pt")).unwrap_err().to_string();
    assert!(error.contains("read, not written") && error.contains(".safetensors"), "{error}");
}

#[test]
fn sparse_tensors() {
    let archive = Archive::open(file("sparse.pt")).unwrap();
    let whole = tensor![[0.0f32, 0.0, 1.0], [2.0, 3.0, 0.0]];
    let layouts = [
        ("coo", Layout::Coo, 3),
        ("repeated", Layout::Coo, 3),
        ("hybrid", Layout::HybridCoo { dense_dims: 1 }, 3),
        ("csr", Layout::Csr, 3),
        ("csc", Layout::Csc, 3),
        ("bsr", Layout::Bsr { block: [2, 3] }, 6),
        ("bsc", Layout::Bsc { block: [2, 3] }, 6),
    ];
    for (name, layout, nse) in layouts {
        let x = archive.tensor(name).unwrap();
        assert_eq!((x.layout(), x.nse(), x.dtype()), (layout, nse, DType::F32), "{name}");
        let wanted = match name {
            "repeated" => tensor![[0.0f32, 0.0, 1.0], [2.0, 0.0, 0.0]],
            "hybrid" => tensor![[0.0f32, 0.0, 0.0], [2.0, 3.0, 0.0]],
            _ => whole.clone(),
        };
        assert!(x.to_dense().unwrap().equal(&wanted).unwrap(), "{name}: {x}");
        assert_eq!(archive.descriptor(name).unwrap().shape, [2, 3]);
    }
    let batches = archive.tensor("batches").unwrap();
    assert_eq!((batches.layout(), batches.shape()), (Layout::Csr, &[2, 2, 3][..]));
    assert_eq!(batches.to_vec::<f32>().unwrap(), [0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 4.0, 0.0]);
    assert_eq!(archive.rows("csr", 1..2).unwrap().to_vec::<f32>().unwrap(), [2.0, 3.0, 0.0]);
    let error = archive.tensor("outside").unwrap_err().to_string();
    assert!(error.contains("outside") && error.contains("9"), "{error}");
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let members: Vec<(String, Vec<u8>)> =
        members.iter().map(|(name, data)| (name.to_string(), data.to_vec())).collect();
    npz::zip(&members)
}

/// A file of this pickle, and one storage of 16 bytes.
fn of_pickle(pickle: &[u8]) -> Vec<u8> {
    zip(&[("archive/data.pkl", pickle), ("archive/data/0", &[0; 16])])
}

fn open(pickle: &[u8]) -> Result<StateDict, String> {
    Archive::from_checkpoint(of_pickle(pickle)).and_then(|a| a.load()).map_err(|e| e.to_string())
}

/// `_rebuild_tensor_v2(storage "0" of `len` floats, offset, (n,), (stride,), …)`.
fn one_tensor(key: &str, len: u8, offset: u8, n: u8, stride: u8) -> Vec<u8> {
    let mut p = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\nX".to_vec();
    p.extend((key.len() as u32).to_le_bytes());
    p.extend(key.as_bytes());
    p.extend(b"X\x03\0\0\0cpu");
    p.extend([b'K', len, b't', b'Q', b'K', offset, b'K', n, 0x85, b'K', stride, 0x85, 0x89, b')', b't', b'R', b'.']);
    p
}

#[test]
fn no_code_is_run() {
    // What `pickle.dumps` makes of an object whose `__reduce__` gives `os.system` and a command.
    for (pickle, name) in [
        (&b"\x80\x02cposix\nsystem\nX\x02\0\0\0id\x85R."[..], "posix.system"),
        (b"\x80\x02c__builtin__\neval\nX\x03\0\0\x001+1\x85R.", "__builtin__.eval"),
        (b"\x80\x02cbuiltins\n__import__\nX\x02\0\0\0os\x85R.", "builtins.__import__"),
        (b"\x80\x02cbuiltins\ngetattr\n.", "builtins.getattr"),
        (b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n.", "numpy.core.multiarray._reconstruct"),
        (b"\x80\x02ctorch\nload\n.", "torch.load"),
        (
            b"\x80\x02ctorch._utils\n_rebuild_device_tensor_from_numpy\n.",
            "torch._utils._rebuild_device_tensor_from_numpy",
        ),
        (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2.__globals__\n.", "__globals__"),
        (b"\x80\x02ctorch.nn.modules.linear\nLinear\n)\x81.", "torch.nn.modules.linear.Linear"),
        (b"\x80\x04\x8c\x05posix\x8c\x06system\x93.", "posix.system"),
        (b"\x80\x02c__torch__.torch.nn\nModule\n.", "__torch__"),
    ] {
        let error = open(pickle).unwrap_err();
        assert!(error.contains(name) && error.contains("nothing of a file is run"), "{error}");
    }
    // Opcodes that call in other ways, or reach outside.
    for pickle in [
        &b"\x80\x02Pstorage\n."[..],
        b"\x80\x02(icollections\nOrderedDict\n.",
        b"\x80\x02\x82\x01.",
        b"\x80\x02\x92.",
        b"I1\n.",
    ] {
        assert!(open(pickle).unwrap_err().contains("opcode"), "{pickle:?}");
    }
}

#[test]
fn pickles_that_are_damaged_or_too_much() {
    assert!(open(&one_tensor("0", 4, 0, 4, 1)).is_ok());
    for (pickle, why) in [
        (one_tensor("0", 4, 1, 4, 1), "outside its storage"),
        (one_tensor("0", 4, 0, 4, 255), "outside its storage"),
        (one_tensor("0", 4, 255, 1, 1), "outside its storage"),
        (one_tensor("0", 5, 0, 4, 1), "has 16 bytes"),
        (one_tensor("1", 4, 0, 4, 1), "is missing"),
        (one_tensor("../data.pkl", 4, 0, 4, 1), "no member"),
        (one_tensor("", 4, 0, 4, 1), "no member"),
        (b"\x80\x02".to_vec(), "cut off"),
        (b"\x80\x06.".to_vec(), "protocol 6"),
        (b"\x80\x02.".to_vec(), "never gave"),
        (b"\x80\x02K\x01(0.".to_vec(), "never gave"),
        (b"\x80\x02h\x07.".to_vec(), "never noted"),
        (b"\x80\x02K\x01)R.".to_vec(), "calls what is no function"),
        (b"\x80\x02ccollections\nOrderedDict\nK\x01R.".to_vec(), "tuple of arguments"),
        (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)R.".to_vec(), "storage, offset"),
        (b"\x80\x02ctorch._utils\n_rebuild_sparse_tensor\n)R.".to_vec(), "sparse"),
        (b"\x80\x02ctorch._utils\n_rebuild_parameter\nK\x01\x85R.".to_vec(), "no tensor"),
        (b"\x80\x02X\xff\xff\xff\xffabc.".to_vec(), "cut off"),
        (b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff.".to_vec(), "cut off"),
        (b"\x80\x02}K\x01a.".to_vec(), "no list"),
        (b"\x80\x02]K\x01K\x02s.".to_vec(), "no dictionary"),
        (b"\x80\x02}(K\x01u.".to_vec(), "without a value"),
        (b"\x80\x02X\x01\0\0\0\xff.".to_vec(), "UTF-8"),
    ] {
        let error = open(&pickle).unwrap_err();
        assert!(error.contains(why) && error.starts_with("PyTorch checkpoint"), "{why:?} is not in: {error}");
    }
    // A list in itself, and lists of lists that are few bytes and a billion values.
    let error = open(b"\x80\x02]q\0h\0a.").unwrap_err();
    assert!(error.contains("nests deeper"), "{error}");
    let mut laughs = b"\x80\x02]q\0".to_vec();
    for level in 1..=12u8 {
        laughs.extend([b']', b'q', level, b'(']);
        (0..10).for_each(|_| laughs.extend([b'h', level - 1]));
        laughs.push(b'e');
    }
    laughs.push(b'.');
    assert!(open(&laughs).unwrap_err().contains("values"));
    // Two keys that give one name.
    let mut twice = b"\x80\x02}(X\x01\0\0\0a".to_vec();
    let one = one_tensor("0", 4, 0, 4, 1);
    twice.extend(&one[2..one.len() - 1]);
    twice.extend(b"X\x01\0\0\0a");
    twice.extend(&one[2..one.len() - 1]);
    twice.extend(b"u.");
    assert!(open(&twice).unwrap_err().contains("one name"));
}

#[test]
fn archives_that_are_none_of_pytorchs() {
    let open = |bytes: Vec<u8>| Archive::from_checkpoint(bytes).map(|_| ()).map_err(|e| e.to_string());
    assert!(open(b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.".to_vec()).unwrap_err().contains("before 1.6"));
    assert!(open(Vec::new()).unwrap_err().contains("not a ZIP"));
    assert!(open(zip(&[("a/other", &[])])).unwrap_err().contains("0 members `data.pkl`"));
    assert!(
        open(zip(&[("a/data.pkl", b"\x80\x02N."), ("b/data.pkl", b"\x80\x02N.")])).unwrap_err().contains("2 members")
    );
    let order = zip(&[("a/data.pkl", b"\x80\x02N."), ("a/byteorder", b"middle")]);
    assert!(open(order).unwrap_err().contains("middle"));
    // Numbers of the other byte order.
    let big = zip(&[
        ("archive/data.pkl", &one_tensor("0", 4, 0, 4, 1)),
        ("archive/byteorder", b"big"),
        ("archive/data/0", &[1.0f32, 2.0, 3.0, 4.0].map(f32::to_be_bytes).concat()),
    ]);
    let archive = Archive::from_checkpoint(big).unwrap();
    assert_eq!(archive.tensor("tensor").unwrap().to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn mutants_are_errors_or_models() {
    let whole = std::fs::read(file("sparse.pt")).unwrap();
    for len in (0..whole.len()).step_by(7) {
        let _ = Archive::from_checkpoint(whole[..len].to_vec()).and_then(|a| a.load());
    }
    // The pickle is the first member; changed in its file, its checksum would tell.
    let at = 30 + usize::from(u16::from_le_bytes([whole[26], whole[27]]));
    let len = u32::from_le_bytes(whole[18..22].try_into().unwrap()) as usize;
    let pickle = &whole[at..at + len];
    let mut rng = Rng::new(5);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let mut mutant = pickle.to_vec();
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(mutant.len());
            mutant[at] = if rng.one_in(2) { *rng.pick(pickle) } else { rng.below(256) as u8 };
        }
        match Archive::from_checkpoint(of_pickle(&mutant)) {
            Ok(archive) => {
                read += 1;
                for name in archive.names().map(str::to_owned).collect::<Vec<_>>() {
                    let _: Result<Tensor, _> = archive.tensor(&name);
                }
            }
            Err(_) => refused += 1,
        }
    }
    assert!(read > 500 && refused > 500, "{read} {refused}");
}
