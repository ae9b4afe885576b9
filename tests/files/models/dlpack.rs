//! DLPack: what is exported comes back, what is imported is checked, and every deleter is called once.
#![allow(unsafe_code)] // the tests are the other library

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use openwork::exchange::binsparse::Constituents;
use openwork::exchange::dlpack::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor, FLAG_IS_COPIED,
    FLAG_READ_ONLY, LegacyManaged, Managed,
};
use openwork::io::ReadOptions;
use openwork::{DType, Layout, Scalar, Tensor, s};

use serde_json::{Value, json};

use super::{all_tensors, same};
use crate::common::python;

/// An array of another library: its memory, and how often it was deleted.
struct Foreign {
    bytes: Vec<u64>,
    shape: Vec<i64>,
    strides: Option<Vec<i64>>,
    structure: DLManagedTensorVersioned,
    deleted: Arc<AtomicUsize>,
}

unsafe extern "C" fn delete(at: *mut DLManagedTensorVersioned) {
    // SAFETY: the context is the box that `Foreign::give` leaked; nobody else has it.
    let own = unsafe { Box::from_raw((*at).manager_ctx.cast::<Foreign>()) };
    own.deleted.fetch_add(1, Ordering::SeqCst);
}

impl Foreign {
    fn new(
        bytes: Vec<u64>,
        shape: &[i64],
        strides: Option<&[i64]>,
        dtype: (u8, u8, u16),
    ) -> (Box<Foreign>, Arc<AtomicUsize>) {
        let deleted = Arc::new(AtomicUsize::new(0));
        let (code, bits, lanes) = dtype;
        let dl_tensor = DLTensor {
            data: ptr::null_mut(),
            device: DLDevice { device_type: 1, device_id: 0 },
            ndim: shape.len() as i32,
            dtype: DLDataType { code, bits, lanes },
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        let structure = DLManagedTensorVersioned {
            version: DLPackVersion { major: 1, minor: 3 },
            manager_ctx: ptr::null_mut(),
            deleter: Some(delete),
            flags: 0,
            dl_tensor,
        };
        let strides = strides.map(<[i64]>::to_vec);
        (Box::new(Foreign { bytes, shape: shape.to_vec(), strides, structure, deleted: deleted.clone() }), deleted)
    }

    fn give(self: Box<Foreign>) -> Managed {
        let own = Box::into_raw(self);
        // SAFETY: the box is leaked; the structure points into it until it is deleted.
        unsafe {
            let t = &mut (*own).structure.dl_tensor;
            t.data = (*own).bytes.as_mut_ptr().cast();
            t.shape = (*own).shape.as_mut_ptr();
            t.strides = (*own).strides.as_mut().map_or(ptr::null_mut(), |s| s.as_mut_ptr());
            (*own).structure.manager_ctx = own.cast::<c_void>();
            Managed::from_raw(&raw mut (*own).structure).unwrap()
        }
    }
}

const I64: (u8, u8, u16) = (0, 64, 1);

#[test]
fn every_strided_tensor_comes_back() {
    let mut seen = 0;
    for (cell, x) in all_tensors(9) {
        let x = if x.is_strided() { x } else { x.stored_values() };
        let managed = x.to_dlpack().unwrap();
        // SAFETY: it lives until it is imported below.
        let (flags, ndim) = unsafe { ((*managed.as_ptr()).flags, (*managed.as_ptr()).dl_tensor.ndim) };
        assert_eq!((flags, ndim as usize), (FLAG_READ_ONLY, x.ndim()));
        let y = Tensor::from_dlpack(managed).unwrap_or_else(|e| panic!("{cell}: {e}"));
        same(&x, &y).unwrap_or_else(|e| panic!("{cell}: {e}"));
        let copy = x.to_dlpack_copy().unwrap();
        // SAFETY: as above.
        assert_eq!(unsafe { (*copy.as_ptr()).flags }, FLAG_IS_COPIED);
        same(&x, &Tensor::from_dlpack(copy).unwrap()).unwrap();
        same(&x, &Tensor::from_dlpack_legacy(x.to_dlpack_legacy().unwrap()).unwrap()).unwrap();
        seen += 1;
    }
    assert!(seen > 2500);
    let sparse = Tensor::eye(3, DType::F32, Layout::Csr).unwrap();
    for error in [sparse.to_dlpack().err(), sparse.to_dlpack_copy().err()] {
        assert!(error.unwrap().to_string().contains("DLPack holds strided tensors, this one is csr"));
    }
}

#[test]
fn memory_is_shared_and_lives_as_long_as_anyone_needs_it() {
    let x = Tensor::from_vec([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let at = x.values::<f64>().unwrap().as_ptr();
    let managed = x.to_dlpack().unwrap();
    drop(x);
    let y = Tensor::from_dlpack(managed).unwrap();
    assert_eq!((y.values::<f64>().unwrap().as_ptr(), y.values::<f64>().unwrap()[5]), (at, 6.0));
    let column = y.narrow(2..3, 1).unwrap();
    drop(y);
    assert_eq!(column.sum(..).unwrap().item().unwrap(), 9.0.into());

    let (foreign, deleted) = Foreign::new(vec![1, 2, 3, 4, 5, 6], &[3], Some(&[-2]), I64);
    let mut foreign = foreign;
    foreign.structure.dl_tensor.byte_offset = 5 * 8;
    let x = Tensor::from_dlpack(foreign.give()).unwrap();
    let clone = x.clone();
    let tail = x.narrow(1..3, 0).unwrap();
    drop(x);
    drop(clone);
    assert_eq!(deleted.load(Ordering::SeqCst), 0);
    assert_eq!(tail.to_contiguous().unwrap().values::<i64>().unwrap(), [4, 2]);
    // In place is no option for memory of others.
    assert_eq!(tail.clone().add(1i64).unwrap().to_contiguous().unwrap().values::<i64>().unwrap(), [5, 3]);
    std::thread::spawn(move || drop(tail)).join().unwrap();
    assert_eq!(deleted.load(Ordering::SeqCst), 1);

    // Not taken: the deleter is called all the same, once.
    let (foreign, deleted) = Foreign::new(vec![1], &[1], None, I64);
    drop(foreign.give());
    assert_eq!(deleted.load(Ordering::SeqCst), 1);
    let (foreign, deleted) = Foreign::new(vec![1], &[1], None, I64);
    let raw = foreign.give().into_raw();
    assert_eq!(deleted.load(Ordering::SeqCst), 0);
    // SAFETY: `into_raw` gave it to us.
    drop(unsafe { Managed::from_raw(raw) }.unwrap());
    assert_eq!(deleted.load(Ordering::SeqCst), 1);
}

#[test]
fn odd_memory_is_copied() {
    // One byte off: not aligned.
    let (mut foreign, deleted) = Foreign::new(vec![0x0200, 0], &[1], None, I64);
    foreign.structure.dl_tensor.byte_offset = 1;
    let x = Tensor::from_dlpack(foreign.give()).unwrap();
    assert_eq!((x.item().unwrap(), deleted.load(Ordering::SeqCst)), (2i64.into(), 1));
    // Truth values with something else between them.
    let bytes = u64::from_le_bytes([1, 77, 0, 77, 1, 77, 77, 77]);
    let (foreign, deleted) = Foreign::new(vec![bytes], &[3], Some(&[2]), (6, 8, 1));
    let x = Tensor::from_dlpack(foreign.give()).unwrap();
    assert_eq!((x.values::<bool>().unwrap(), deleted.load(Ordering::SeqCst)), (&[true, false, true][..], 1));
    // Empty arrays may lie nowhere and have any strides.
    let (foreign, deleted) = Foreign::new(vec![], &[0, 5], Some(&[i64::MAX, i64::MIN]), I64);
    assert_eq!(Tensor::from_dlpack(foreign.give()).unwrap().shape(), [0, 5]);
    assert_eq!(deleted.load(Ordering::SeqCst), 1);
    // Broadcast.
    let (foreign, _) = Foreign::new(vec![7], &[1000, 1000], Some(&[0, 0]), I64);
    let x = Tensor::from_dlpack(foreign.give()).unwrap();
    assert_eq!((x.nbytes(), x.sum(..).unwrap().item().unwrap()), (8, 7_000_000i64.into()));
    // More than memory has free: what is shared needs none.
    let (foreign, _) = Foreign::new(vec![7], &[1 << 30, 1 << 14], Some(&[0, 0]), I64);
    let x = Tensor::from_dlpack(foreign.give()).unwrap();
    assert_eq!((x.nbytes(), x.slice(s![5, 6]).unwrap().item().unwrap()), (8, 7i64.into()));
}

#[test]
fn what_is_no_tensor_is_refused_and_given_back() {
    type Change = fn(&mut Foreign);
    let cases: [(Change, &str); 12] = [
        (|f| f.structure.version.major = 2, "version 2.3 is not known, 1.x are"),
        (|f| f.structure.dl_tensor.device.device_type = 2, "memory on device 2:0, only 1 (CPU) is read"),
        (|f| f.structure.dl_tensor.dtype.lanes = 4, "4 lanes"),
        (|f| f.structure.dl_tensor.dtype.code = 7, "code 7 of 64 bits"),
        (|f| f.structure.dl_tensor.dtype.bits = 4, "code 0 of 4 bits"),
        (|f| f.structure.dl_tensor.ndim = -1, "-1 axes, 0 to 1024 are allowed"),
        (|f| f.structure.dl_tensor.ndim = 2000, "2000 axes"),
        (|f| f.shape[0] = -3, "[-3] has a negative size"),
        (|f| f.shape[0] = i64::MAX, "does not fit in memory"),
        (|f| f.strides = Some(vec![i64::MAX]), "reach outside memory"),
        (|f| f.strides = Some(vec![i64::MIN]), "reach outside memory"),
        (
            |f| (f.structure.dl_tensor.dtype = DLDataType { code: 6, bits: 8, lanes: 1 }, f.bytes[0] = 2).0,
            "2 among the truth values",
        ),
    ];
    for (change, why) in cases {
        let (mut foreign, deleted) = Foreign::new(vec![1, 2, 3], &[3], None, I64);
        change(&mut foreign);
        let error = Tensor::from_dlpack(foreign.give()).unwrap_err().to_string();
        assert!(error.contains(why) && error.starts_with("from_dlpack: "), "{error}");
        assert_eq!(deleted.load(Ordering::SeqCst), 1, "{why}");
    }
    // SAFETY: null is allowed, and refused.
    unsafe {
        assert!(Managed::from_raw(ptr::null_mut()).unwrap_err().to_string().contains("the pointer is null"));
        assert!(LegacyManaged::from_raw(ptr::null_mut::<DLManagedTensor>()).is_err());
    }
}

/// Indices that their owner could write are copied by the safe functions, and shared by the others.
#[test]
fn foreign_indices() {
    let make = |n: Vec<u64>| {
        let shape = [n.len() as i64];
        let (foreign, deleted) = Foreign::new(n, &shape, None, I64);
        let at = foreign.bytes.as_ptr().cast_mut();
        (Tensor::from_dlpack(foreign.give()).unwrap(), at, deleted)
    };
    let (pointers, ..) = make(vec![0, 1, 3]);
    let (indices, at, deleted) = make(vec![2, 0, 1]);
    let values = Tensor::from_vec([3], vec![1.0, 2.0, 3.0]).unwrap();
    let x = Tensor::csr([2, 3], &pointers, &indices, &values, 0.0).unwrap();
    let parts = Constituents {
        descriptor: x.to_binsparse().unwrap().descriptor,
        arrays: vec![("pointers_to_1".into(), pointers), ("indices_1".into(), indices), ("values".into(), values)],
    };
    let y = Tensor::from_binsparse(&parts).unwrap();
    // SAFETY: the arrays of `parts` are not written while this tensor lives.
    let shared = unsafe { Tensor::from_binsparse_shared(&parts, &ReadOptions::default()).unwrap().tensor };
    let first = |t: &Tensor| match t.levels().unwrap().pop().unwrap() {
        // What is copied takes 32 bits where it fits.
        openwork::LevelData::Sparse { indices, .. } => match indices[0].as_u64() {
            Some(entries) => entries.as_ptr().cast::<u8>(),
            None => indices[0].as_u32().unwrap().as_ptr().cast(),
        },
        _ => panic!("CSR ends with a sparse level"),
    };
    let place = at.cast_const().cast::<u8>();
    assert_eq!(first(&shared), place);
    assert!(first(&x) != place && first(&y) != place);
    assert_eq!(shared.get([0, 2]).unwrap(), Some(1.0.into()));
    drop(shared);
    // SAFETY: nobody reads it meanwhile.
    unsafe { *at = 1 << 40 };
    for t in [&x, &y] {
        assert_eq!(t.get([0, 2]).unwrap(), Some(1.0.into()));
    }
    assert!(Tensor::from_binsparse(&parts).unwrap_err().to_string().contains("out of range"));
    assert_eq!(deleted.load(Ordering::SeqCst), 0);
    drop(parts);
    assert_eq!(deleted.load(Ordering::SeqCst), 1);
}

fn bytes_of(x: &Tensor) -> Vec<u8> {
    let element = |value: Scalar| {
        let (bytes, n) = value.to_bytes();
        bytes[..n].to_vec()
    };
    x.iter_stored().flat_map(|(_, value)| element(value)).collect()
}

/// What NumPy makes of its arrays is what our structures say, field for field.
#[test]
fn structures_of_numpy_are_read() {
    let Some(given) = python("structures_of_numpy_are_read", "dlpack.py", &["give"]) else { return };
    let mut seen = 0;
    for line in given.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let list = |key: &str| serde_json::from_value::<Vec<u8>>(line[key].clone()).unwrap();
        let numbers = |key: &str| serde_json::from_value::<Option<Vec<i64>>>(line[key].clone()).unwrap();
        let bytes = list("bytes");
        let memory = list("memory");
        let memory = memory.chunks(8).map(|word| {
            let mut whole = [0; 8];
            whole[..word.len()].copy_from_slice(word);
            u64::from_ne_bytes(whole)
        });
        let (mut foreign, deleted) =
            Foreign::new(memory.collect(), &numbers("shape").unwrap(), numbers("strides").as_deref(), I64);
        // SAFETY: as many bytes as the structure has; its pointers are not followed, and replaced below.
        unsafe {
            if line["form"] == "versioned" {
                assert_eq!(bytes.len(), size_of::<DLManagedTensorVersioned>());
                foreign.structure = ptr::read_unaligned(bytes.as_ptr().cast());
                assert!(foreign.structure.deleter.is_some() && !foreign.structure.manager_ctx.is_null());
            } else {
                assert_eq!(bytes.len(), size_of::<DLManagedTensor>());
                let legacy: DLManagedTensor = ptr::read_unaligned(bytes.as_ptr().cast());
                assert!(legacy.deleter.is_some() && !legacy.manager_ctx.is_null());
                foreign.structure.dl_tensor = legacy.dl_tensor;
            }
        }
        assert_eq!(foreign.structure.dl_tensor.strides.is_null(), line["strides"].is_null());
        assert_eq!(foreign.structure.dl_tensor.byte_offset, 0);
        foreign.structure.deleter = Some(delete);
        foreign.structure.dl_tensor.byte_offset = line["first"].as_u64().unwrap();
        let x = Tensor::from_dlpack(foreign.give()).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert_eq!((json!(x.dtype().name()), json!(x.shape())), (line["dtype"].clone(), line["shape"].clone()));
        assert_eq!(bytes_of(&x), list("values"), "{line}");
        drop(x);
        assert_eq!(deleted.load(Ordering::SeqCst), 1);
        seen += 1;
    }
    assert!(seen >= 140, "{seen}");
}

/// NumPy makes the same arrays of our structures: `numpy.from_dlpack` is given their bytes.
#[test]
fn structures_are_read_by_numpy() {
    /// A line for the script: the structure as bytes, and the memory that its strides reach.
    fn line<T>(form: &str, structure: *const T, tensor: &DLTensor, x: &Tensor) -> Value {
        // SAFETY: the structure is alive and has no padding; `ndim` lengths and strides belong to it.
        let (bytes, shape, strides) = unsafe {
            let n = tensor.ndim as usize;
            let strides = (!tensor.strides.is_null()).then(|| std::slice::from_raw_parts(tensor.strides, n).to_vec());
            let shape = if n == 0 { &[][..] } else { std::slice::from_raw_parts(tensor.shape, n) };
            (std::slice::from_raw_parts(structure.cast::<u8>(), size_of::<T>()), shape.to_vec(), strides)
        };
        let size = x.dtype().size() as i64;
        let (mut low, mut high) = (0, 0);
        for (n, s) in shape.iter().zip(strides.iter().flatten()) {
            low += ((n - 1) * s).min(0) * size;
            high += ((n - 1) * s).max(0) * size;
        }
        if strides.is_none() {
            high = (shape.iter().product::<i64>() - 1) * size;
        }
        // SAFETY: the elements lie between the lowest and the highest one that shape and strides reach.
        let memory = unsafe {
            let first = tensor.data.cast::<u8>().wrapping_offset(tensor.byte_offset as isize + low as isize);
            if shape.contains(&0) { &[] } else { std::slice::from_raw_parts(first, (high - low + size) as usize) }
        };
        json!({"form": form, "bytes": bytes, "dtype": x.dtype().name(), "shape": shape, "strides": strides,
            "values": bytes_of(x), "memory": memory, "first": -low - tensor.byte_offset as i64})
    }
    let folder = std::env::temp_dir().join(format!("openwork-dlpack-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut text = String::new();
    let mut seen = 0;
    for (_, x) in all_tensors(3).filter(|(_, x)| x.dtype() != DType::BF16).step_by(7) {
        let x = if x.is_strided() { x } else { x.stored_values() };
        let mut views = vec![x.clone()];
        if x.ndim() > 1 {
            let axes: Vec<isize> = (0..x.ndim() as isize).rev().collect();
            views.push(x.permute_dims(&axes).unwrap());
            views.push(x.flip(0).unwrap());
        }
        for x in views {
            let (managed, legacy) = (x.to_dlpack().unwrap(), x.to_dlpack_legacy().unwrap());
            // SAFETY: both live until the end of the round.
            let lines = unsafe {
                let (new, old) = (managed.as_ptr(), legacy.as_ptr());
                [line("versioned", new, &(*new).dl_tensor, &x), line("legacy", old, &(*old).dl_tensor, &x)]
            };
            for line in lines {
                text += &format!("{line}\n");
                seen += 1;
            }
        }
    }
    std::fs::write(folder.join("given.json"), text).unwrap();
    if let Some(told) = python("structures_are_read_by_numpy", "dlpack.py", &["take", folder.to_str().unwrap()]) {
        assert_eq!(told.trim().parse(), Ok(seen));
        assert!(seen > 400);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
