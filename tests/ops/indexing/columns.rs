//! The compressed axis of CSR, CSC and their kin, chosen from and cut: the same as by way of coordinates.

use crate::common::rng::Rng;
use openwork::{Axis, Fill, Index, Layout, LevelKind, LevelSpec, Part, Result, Tensor, s};

/// The tensor, its compressed axis, and what levels it has.
fn samples() -> Vec<(Tensor, usize)> {
    let x = Tensor::random([40, 60], 0.2, 0.0, Layout::Csr, 3).unwrap();
    let one_for_all = x.with_stored_values(&Tensor::full([x.nse()], 2.0, Layout::Strided).unwrap(), 0.0).unwrap();
    let fills = Tensor::rand([1, 60], 9).unwrap().broadcast_to([40, 60]).unwrap();
    let varying = x.replace_fill(Fill::array(fills)).unwrap();
    let batched = Tensor::random([3, 20, 30], 0.3, 0.0, Layout::Csr, 4).unwrap();
    let rows = Tensor::random([20, 30, 2], 0.3, 0.0, Layout::Coo, 5).unwrap();
    let dims = (0..3).map(|a| (a, Part::Whole)).collect();
    let spec = LevelSpec { levels: vec![LevelKind::Dense, LevelKind::Sparse { rank: 1 }], dims };
    vec![
        (x.narrow(7..33, 0).unwrap(), 1), // pointers that begin elsewhere
        (x.to_layout(Layout::Csc).unwrap(), 0),
        (one_for_all, 1),
        (varying, 1),
        (x.cast(openwork::DType::Complex128).unwrap(), 1),
        (x, 1),
        (batched, 2),
        (rows.to_levels(&spec).unwrap(), 1),
    ]
}

#[track_caller]
fn same(got: Result<Tensor>, expected: Result<Tensor>, like: &Tensor, what: &str) {
    let got = got.unwrap();
    let expected = expected.unwrap().to_levels(&like.level_spec().unwrap()).unwrap();
    assert_eq!(got.level_spec(), expected.level_spec(), "{what}");
    assert_eq!(got.coordinates(), expected.coordinates(), "{what}");
    assert!(got.is_coalesced(), "{what}");
    let values = [&got, &expected].map(|x| x.stored_values().to_contiguous().unwrap());
    assert!(values[0].same_meaning(&values[1]).unwrap() && got.same_meaning(&expected).unwrap(), "{what}");
}

/// Items that take everything but along one axis.
fn along(axis: usize, item: impl Into<Index>) -> Vec<Index> {
    (0..axis).map(|_| Index::from(..)).chain([item.into()]).collect()
}

#[test]
fn chosen() {
    let mut rng = Rng::new(5);
    for (x, axis) in samples() {
        let n = x.shape()[axis];
        let coo = x.to_layout(Layout::Coo).unwrap();
        let mask: Vec<bool> = (0..n).map(|_| rng.below(2) == 1).collect();
        let mask = Tensor::from_vec([n], mask).unwrap();
        let any: Vec<usize> = (0..n + 5).map(|_| rng.below(n)).collect();
        let (mut rising, mut turned) = (any.clone(), (0..n).collect::<Vec<usize>>());
        rising.sort_unstable();
        turned.rotate_left(7);
        let what = format!("{} of {:?}", x.layout(), x.shape());
        let items: [Index; 8] = [
            mask.into(),
            any.clone().into(),
            rising.into(),
            turned.into(),
            vec![n - 1, 0].into(),
            vec![3usize].into(),
            Vec::<usize>::new().into(),
            Index::stepped(.., -3),
        ];
        for item in items {
            let items = along(axis, item);
            same(x.index(&items), coo.index(&items), &x, &what);
        }
        let at = Axis::from(axis);
        same(x.flip(axis), coo.flip(axis), &x, &what);
        same(x.delete(any[..20].to_vec(), at), coo.delete(any[..20].to_vec(), at), &x, &what);
        same(x.repeat(2, axis), coo.repeat(2, axis), &x, &what);
    }
}

#[test]
fn chosen_of_more_columns_than_elements() {
    let x = Tensor::csr(
        [2, 1 << 40],
        vec![0u64, 2, 3],
        vec![5u64, 1 << 39, 7],
        &crate::common::tensors::vector(&[1.0, 2.0, 3.0]),
        0.0,
    )
    .unwrap();
    let y = x.index(s![.., [7i64, 1 << 39, 5, 6]]).unwrap();
    assert_eq!(y.to_vec::<f64>().unwrap(), [0.0, 2.0, 1.0, 0.0, 3.0, 0.0, 0.0, 0.0]);
}

#[test]
fn cut() {
    for (x, axis) in samples() {
        let n = x.shape()[axis];
        for sizes in [vec![1; n], vec![n / 2, 0, n - n / 2], vec![0, n, 0], vec![3, 7, n - 10]] {
            let parts = x.split(&sizes, axis).unwrap();
            let mut start = 0;
            for (part, size) in parts.iter().zip(&sizes) {
                let what = format!("{start} and {size} more of {} {:?}", x.layout(), x.shape());
                assert_eq!(part.nbytes(), x.narrow(start..start + size, axis).unwrap().nbytes(), "{what}");
                let list: Vec<usize> = (start..start + size).collect();
                same(Ok(part.clone()), x.to_layout(Layout::Coo).unwrap().index_select(list, axis), &x, &what);
                start += size;
            }
            assert_eq!(parts.len(), sizes.len());
        }
    }
}
