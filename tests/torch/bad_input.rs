//! What libtorch may hand over, and tensors of ours that it cannot take: a clear error, or the right answer.
#![allow(unsafe_code)] // shares indices, lends memory, makes a tensor over bytes (tests)

use openwork::{DType, Fill, Layout, Tensor, tensor};
use tch::{Device, Kind};

use crate::memory::beside;

#[track_caller]
fn refused(t: &tch::Tensor, words: &[&str]) {
    let error = Tensor::from_torch(t, 0.0).unwrap_err().to_string();
    assert!(error.starts_with("from_torch: "), "{error}");
    for word in words {
        assert!(error.contains(word), "{word:?} is not in: {error}");
    }
    // SAFETY: nobody writes it.
    assert!(unsafe { Tensor::from_torch_shared(t, 0.0) }.is_err());
}

fn read(t: &tch::Tensor) -> Vec<f64> {
    Tensor::from_torch(t, 0.0).unwrap().cast(DType::F64).unwrap().to_vec::<f64>().unwrap()
}

#[test]
fn tensors_that_are_refused() {
    let _beside = beside();
    let x = tch::Tensor::from_slice(&[1.0f32, 2.0, 3.0]);
    refused(&tch::Tensor::new(), &["undefined"]);
    refused(&x.copy().set_requires_grad(true), &["requires_grad", "detach()"]);
    let graph = x.copy().set_requires_grad(true) * 2.0;
    refused(&graph, &["requires_grad"]);
    assert_eq!(read(&graph.detach()), [2.0, 4.0, 6.0]);
    refused(&x.quantize_per_tensor(0.1, 10, Kind::QInt8), &["QInt8", "dequantize()"]);
    refused(&x.to_kind(Kind::ComplexHalf), &["ComplexHalf", "ComplexFloat"]);
    refused(&x.to_kind(Kind::Float8e4m3fn), &["Float8e4m3fn", "to_kind"]);
    let odd = tch::Tensor::from_data_size(&[0, 1, 2], &[3], Kind::Bool);
    refused(&odd, &["2", "truth values"]);
    let zeros = tch::Tensor::internal_efficientzerotensor([3], (Kind::Float, Device::Cpu));
    refused(&zeros, &["without memory"]);
    let padded = tch::Tensor::ones([2, 3, 2], (Kind::Float, Device::Cpu));
    let shapes = tch::Tensor::from_slice2(&[[3i64, 2], [1, 2]]);
    let nested = tch::Tensor::internal_nested_from_padded(&padded, &shapes, false);
    refused(&nested, &["nested"]);
}

#[test]
fn tensors_that_are_converted() {
    let _beside = beside();
    let x = tch::Tensor::arange(12i64, (Kind::Double, Device::Cpu)).reshape([3, 4]);
    assert_eq!(read(&x.transpose(0, 1))[..3], [0.0, 4.0, 8.0]);
    assert_eq!(read(&x.slice(1, 1, None, 2)), [1.0, 3.0, 5.0, 7.0, 9.0, 11.0]);
    assert_eq!(read(&x.select(1, 2)), [2.0, 6.0, 10.0]);
    assert_eq!(read(&x.select(0, 1).expand([2, 4], false))[4..], [4.0, 5.0, 6.0, 7.0]);
    assert_eq!(read(&x.flip([0]))[..2], [8.0, 9.0]);
    assert_eq!(read(&x.to_kind(Kind::Float).to_mkldnn())[..3], [0.0, 1.0, 2.0]);
    // The bit that says "conjugate me when you read me", and the one that says "negate me".
    let z = tch::Tensor::from_slice(&[1.0f64, 2.0, 3.0, 4.0]).reshape([2, 2]).view_as_complex();
    assert!(z.conj().is_conj());
    let conjugate = Tensor::from_torch(&z.conj(), 0.0).unwrap();
    assert_eq!(conjugate.imag().unwrap().to_vec::<f64>().unwrap(), [-2.0, -4.0]);
    let negative = z.conj().imag();
    assert!(negative.is_neg());
    assert_eq!(read(&negative), [-2.0, -4.0]);
    // Truth values, from memory that is not in order.
    let t = x.gt(5.0).transpose(0, 1);
    assert_eq!(Tensor::from_torch(&t, false).unwrap().sum(..).unwrap().item().unwrap(), 6i64.into());
    // Memory that is not aligned for its elements.
    let bytes = tch::Tensor::from_data_size(&[0u8; 33], &[33], Kind::Uint8);
    // SAFETY: 32 bytes from the second on lie within the 33, which live to the end of the test.
    let odd =
        unsafe { tch::Tensor::from_blob(bytes.data_ptr().cast::<u8>().add(1), &[4], &[1], Kind::Double, Device::Cpu) };
    assert_eq!(read(&odd), [0.0; 4]);
}

fn coo(indices: &[[i64; 2]; 2], values: &[f64; 2]) -> tch::Tensor {
    let size: &[i64] = &[2, 3];
    let (indices, values) = (tch::Tensor::from_slice2(indices), tch::Tensor::from_slice(values));
    tch::Tensor::internal_sparse_coo_tensor_unsafe(&indices, &values, size, (Kind::Double, Device::Cpu), false)
}

fn csr(crow: &[i64], col: &[i64], values: &[f64]) -> tch::Tensor {
    let size: &[i64] = &[2, 3];
    let (crow, col) = (tch::Tensor::from_slice(crow), tch::Tensor::from_slice(col));
    let values = tch::Tensor::from_slice(values);
    tch::Tensor::internal_sparse_csr_tensor_unsafe(&crow, &col, &values, size, (Kind::Double, Device::Cpu))
}

#[test]
fn invariants_that_libtorch_does_not_check() {
    let _beside = beside();
    refused(&coo(&[[0, 2], [0, 1]], &[1.0, 2.0]), &["indices[0]", "entry 1 is 2", "size 2"]);
    refused(&coo(&[[0, 1], [0, -1]], &[1.0, 2.0]), &["indices[1]", "-1"]);
    refused(&csr(&[0, 1, 2], &[0, 3], &[1.0, 2.0]), &["col_indices", "entry 1 is 3"]);
    refused(&csr(&[0, 1, 2], &[0, i64::MIN], &[1.0, 2.0]), &["col_indices", "entry 1"]);
    refused(&csr(&[0, 2, 1], &[0, 1], &[1.0, 2.0]), &["crow_indices", "2 and 1"]);
    refused(&csr(&[0, 1, 3], &[0, 1], &[1.0, 2.0]), &["col_indices"]);
    refused(&csr(&[0, 1], &[0], &[1.0]), &["crow_indices", "3 are needed"]);
    // Columns out of order and repeated mean what they mean: nothing was checked, nothing is lost.
    let x = Tensor::from_torch(&csr(&[0, 2, 3], &[2, 0, 1], &[1.0, 2.0, 3.0]), 0.0).unwrap();
    assert_eq!((x.is_coalesced(), x.to_vec::<f64>().unwrap()), (false, vec![2.0, 0.0, 1.0, 0.0, 3.0, 0.0]));
    let x = Tensor::from_torch(&csr(&[0, 2, 2], &[1, 1], &[1.0, 2.0]), 0.0).unwrap();
    assert_eq!(x.get([0, 1]).unwrap(), Some(3.0.into()));
    // Uncoalesced coordinates: the sum.
    let twice = coo(&[[1, 1], [2, 2]], &[1.0, 2.5]);
    let x = Tensor::from_torch(&twice, 0.0).unwrap();
    assert_eq!((x.nse(), x.is_coalesced(), x.get([1, 2]).unwrap()), (2, false, Some(3.5.into())));
    let x = Tensor::from_torch(&twice, Fill::Undefined).unwrap();
    assert_eq!(x.coalesce().unwrap().values::<f64>().unwrap(), [3.5]);
    // Coalesced by its own word alone.
    let _ = twice.shallow_clone().internal_coalesced_(true);
    assert!(twice.is_coalesced());
    assert!(!Tensor::from_torch(&twice, 0.0).unwrap().is_coalesced());
    // Batches whose pointers do not agree with what they store.
    let pointers = tch::Tensor::from_slice2(&[[0i64, 1, 2], [0, 0, 1]]);
    let columns = tch::Tensor::from_slice2(&[[0i64, 1], [0, 1]]);
    let values = tch::Tensor::from_slice2(&[[1.0f64, 2.0], [3.0, 4.0]]);
    let size: &[i64] = &[2, 2, 3];
    let kind = (Kind::Double, Device::Cpu);
    let t = tch::Tensor::internal_sparse_csr_tensor_unsafe(&pointers, &columns, &values, size, kind);
    refused(&t, &["crow_indices", "from 0 to 2"]);
}

#[test]
fn tensors_that_libtorch_cannot_take() {
    let _beside = beside();
    for dtype in [DType::U16, DType::U32, DType::U64] {
        let x = Tensor::zeros([2, 2], dtype, Layout::Csr).unwrap();
        let error = x.to_torch().unwrap_err().to_string();
        assert!(error.starts_with("to_torch: ") && error.contains("cast(") && error.contains("tch"), "{error}");
        // SAFETY: never called.
        assert!(unsafe { x.with_torch(|_| ()) }.is_err());
    }
    let wide = Tensor::zeros([usize::MAX, 2], DType::F32, Layout::Coo).unwrap();
    let error = wide.to_torch().unwrap_err().to_string();
    assert!(error.contains("64-bit signed"), "{error}");
    // Indices beyond 32 bits are not cut.
    let far = Tensor::coo([1 << 40, 2], vec![vec![(1u64 << 40) - 1], vec![1]], &tensor![3.0], 0.0).unwrap();
    let t = far.to_torch().unwrap();
    assert_eq!(t.internal_indices().int64_value(&[0, 0]), (1 << 40) - 1);
    assert!(Tensor::from_torch(&t, 0.0).unwrap().same_meaning(&far).unwrap());
}
