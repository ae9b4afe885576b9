use super::*;
use crate::levels::layout::Layout;

#[test]
fn there_and_back() {
    for shape in [[4, 4], [3, 6], [6, 3], [0, 4], [4, 0], [1, 1]] {
        let x = Tensor::random(shape, 0.4, -1.0, Layout::Csr, 5).unwrap();
        for x in [x.clone(), x.to_dense().unwrap()] {
            let (values, offsets) = x.to_diagonals().unwrap();
            let back = Tensor::from_diagonals(shape, &values, &offsets, -1.0).unwrap();
            let (x, back) = (x.to_dense().unwrap(), back.to_dense().unwrap());
            assert_eq!(x.values::<f64>().unwrap(), back.values::<f64>().unwrap(), "{shape:?}");
        }
    }
}

#[test]
fn offsets_beyond_the_matrix_are_empty() {
    let ones = Tensor::from_vec([3, 2], vec![1.0; 6]).unwrap();
    let x = Tensor::from_diagonals([2, 2], &ones, &[isize::MAX, isize::MIN, -1], 0.0).unwrap();
    assert_eq!(x.nse(), 1);
    assert_eq!(x.get([1, 0]).unwrap(), Some(1.0.into()));
}

#[test]
fn what_is_refused() {
    let ones = Tensor::from_vec([2, 2], vec![1.0; 4]).unwrap();
    let refused =
        |shape, offsets: &[isize]| Tensor::from_diagonals(shape, &ones, offsets, 0.0).unwrap_err().to_string();
    assert!(refused([2, 3], &[0, 1]).contains("shape [2, 3] is needed"));
    assert!(refused([2, 2], &[1, 1]).contains("1 comes twice"));
    assert!(ones.reshape([4]).unwrap().to_diagonals().unwrap_err().to_string().contains("only a matrix"));
    let undefined = ones.to_sparse(Layout::Coo, Fill::Undefined).unwrap();
    assert!(undefined.to_diagonals().unwrap_err().to_string().contains("replace_fill"));
}
