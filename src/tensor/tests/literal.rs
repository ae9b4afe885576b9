use crate::{DType, Fill, Layout, Tensor, c128};

#[test]
fn nested() {
    let x = tensor![[[1i64, 2], [3, 4]], [[5, 6], [7, 8]],];
    assert_eq!((x.shape(), x.dtype()), (&[2, 2, 2][..], DType::I64));
    assert_eq!(x.values::<i64>().unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(tensor![[0.5; 3], [1.0; 3]].values::<f64>().unwrap(), [0.5, 0.5, 0.5, 1.0, 1.0, 1.0]);
    assert_eq!(tensor![true, false].dtype(), DType::Bool);
    assert_eq!(tensor![c128::new(0.0, 1.0)].dtype(), DType::Complex128);
    assert_eq!(Tensor::from([[0u8; 0]; 3]).shape(), [3, 0]);
    assert_eq!(Tensor::from(vec![[1.0f32, 2.0]; 3]).shape(), [3, 2]);
    assert_eq!(Tensor::from(&[1i8, 2, 3][1..]).values::<i8>().unwrap(), [2, 3]);
    assert_eq!(Tensor::from(Vec::<f64>::new()).shape(), [0]);
    assert_eq!((0..3u64).map(|i| [i, i]).collect::<Tensor>().shape(), [3, 2]);
}

#[test]
fn sparse() {
    let x = tensor![[1, 0], [0, 2], [1, 1]; Layout::Csc, 1].unwrap();
    assert_eq!((x.nse(), x.layout(), x.dtype()), (3, Layout::Csc, DType::I32));
    assert_eq!(x.get([2, 0]).unwrap(), Some(1i32.into()));
    let all = tensor![0.0, 1.0; Layout::Coo, Fill::Undefined].unwrap();
    assert_eq!(all.nse(), 2);
    let error = tensor![1.0, 2.0; Layout::Csr, 0.0].unwrap_err().to_string();
    assert!(error.contains("csr"), "{error}");
    let error = tensor![1, 2; Layout::Coo, 0.5].unwrap_err().to_string();
    assert!(error.contains("0.5") && error.contains("int32"), "{error}");
}

#[test]
fn ragged() {
    assert_eq!(Tensor::try_from(vec![vec![1.0, 2.0], vec![3.0, 4.0]]).unwrap().shape(), [2, 2]);
    let error = Tensor::try_from(vec![vec![1.0, 2.0], vec![3.0]]).unwrap_err().to_string();
    assert!(error.contains("row 1 has 1 elements"), "{error}");
}
