use super::*;

#[test]
fn bitmap_there_and_back() {
    let values = Tensor::from_vec([3], vec![7, 0, 5]).unwrap();
    for fill in [Fill::Undefined, Fill::from(3i32)] {
        let x = Tensor::coo([2, 3], vec![vec![0, 1, 1], vec![2, 0, 2]], &values, fill.clone()).unwrap();
        for layout in [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Dcsr, Layout::Csf] {
            let x = x.to_layout(layout).unwrap();
            let (dense, mask) = x.to_bitmap().unwrap();
            let back = dense.to_sparse_where(&mask, layout, fill.clone()).unwrap();
            assert_eq!(format!("{back:?}"), format!("{x:?}"));
        }
    }
}

#[test]
fn what_is_refused() {
    let x = Tensor::from_vec([2, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    let refused = |mask: &Tensor, layout| x.to_sparse_where(mask, layout, 0.0).unwrap_err().to_string();
    let yes = x.gt(0.0).unwrap();
    assert!(refused(&x, Layout::Coo).contains("must be bool"));
    assert!(refused(&yes, Layout::HybridCoo { dense_dims: 1 }).contains("value axes"));
    assert!(refused(&yes.to_layout(Layout::Coo).unwrap(), Layout::Coo).contains("both must be strided"));
    assert!(refused(&yes.narrow(0..1, 0).unwrap().reshape([2, 1, 1]).unwrap(), Layout::Coo).contains("shapes"));
}
