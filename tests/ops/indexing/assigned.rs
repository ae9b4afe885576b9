//! Assigning to sets of rows and columns: what is stored afterwards, what it costs, and what the budget has to say.

use super::*;

/// Every layout of a 12 by 10 matrix, with its dense form.
fn matrices(fill: impl Into<Fill>) -> Vec<(Layout, Tensor)> {
    let x = Tensor::random([12, 10], 0.4, 0.0, Layout::Coo, 5).unwrap();
    let x = x.replace_fill(fill).unwrap();
    let hybrid = Layout::HybridCoo { dense_dims: 1 };
    let layouts = [
        Layout::Coo,
        Layout::Csr,
        Layout::Csc,
        Layout::Dcsr,
        Layout::Dcsc,
        Layout::Csf,
        Layout::Bsr { block: [3, 2] },
        hybrid,
    ];
    let convert = |layout| x.to_layout(layout).ok().map(|t| (layout, t));
    layouts.into_iter().filter_map(convert).collect()
}

fn same(a: &Tensor, b: &Tensor) {
    assert_eq!(a.to_dense().unwrap().to_contiguous().unwrap().values::<f64>().unwrap(), elements(b));
}

#[test]
fn the_fill_is_not_stored() {
    let (rows, columns) = ([1, 4, 4, 11], [0, 3, 9]);
    for fill in [0.0, 2.5] {
        for (layout, x) in matrices(fill) {
            let dense = x.to_dense().unwrap();
            for items in [
                s![rows, ..].to_vec(),
                s![.., columns].to_vec(),
                s![rows, 2..9;2].to_vec(),
                s![rows, columns.map(|c| c).into_iter().chain([9]).collect::<Vec<_>>()].to_vec(),
                s![x.gt(fill - 1.0).unwrap()].to_vec(),
            ] {
                let out = x.index_put(&items, fill).unwrap();
                same(&out, &dense.index_put(&items, fill).unwrap());
                assert_eq!(out.layout(), x.layout(), "{layout} {items:?}");
                assert!(out.nse() <= x.nse(), "{layout}: {} of {}", out.nse(), x.nse());
                if x.layout() == layout && !matches!(layout, Layout::Bsr { .. } | Layout::HybridCoo { .. }) {
                    assert_eq!(out.index(&items).unwrap().nse(), 0, "{layout} {items:?}");
                }
                let out = x.unset(&items).unwrap();
                same(&out, &dense.index_put(&items, fill).unwrap());
                assert_eq!(out.index(&items).unwrap().prune().unwrap().nse(), 0, "{layout} {items:?}");
            }
        }
    }
}

#[test]
fn a_fill_that_varies_is_not_stored_either() {
    for (layout, x) in matrices(0.0) {
        let centred = (&x - &Tensor::arange(0.0, 10.0, 1.0).unwrap()).unwrap();
        assert!(!centred.is_strided());
        let fill = centred.fill().unwrap().clone();
        let Fill::Array(values) = fill else { panic!("{layout}") };
        let rows = [2, 3, 11];
        let out = centred.index_put(s![rows, ..], values.to_dense().unwrap()).unwrap();
        assert_eq!(out.index(s![rows, ..]).unwrap().prune().unwrap().nse(), 0);
        assert!(out.nse() < centred.nse() || matches!(layout, Layout::Bsr { .. }), "{layout}");
        same(&out.index(s![rows, ..]).unwrap(), &values.broadcast_to([3, 10]).unwrap());
    }
}

#[test]
fn absent_elements_stay_absent_elsewhere() {
    for (layout, x) in matrices(Fill::Undefined) {
        let rows = [2, 2, 7];
        let gone = x.unset(s![rows, ..]).unwrap();
        assert_eq!(gone.index(s![rows, ..]).unwrap().nse(), 0, "{layout}");
        assert_eq!(gone.index(s![[0, 1], ..]).unwrap().nse(), x.index(s![[0, 1], ..]).unwrap().nse());
        // A value is stored for each, and the last one named counts.
        let put = x.index_put(s![rows, ..], Tensor::arange(0.0, 3.0, 1.0).unwrap().expand_dims(1).unwrap()).unwrap();
        assert_eq!(put.index(s![rows, ..]).unwrap().nse(), 30);
        assert_eq!(put.get([2, 4]).unwrap(), Some(1.0.into()));
        assert_eq!(put.get([7, 9]).unwrap(), Some(2.0.into()));
    }
}

#[test]
fn other_values_are_within_the_budget() {
    for (layout, x) in matrices(0.0) {
        let rows = [1, 4, 11];
        let e = with_densify_budget(239, || x.index_put(s![rows, ..], 3.0)).unwrap_err();
        assert!(matches!(e.kind(), ErrorKind::Densify { bytes: 240, budget: 239, .. }), "{layout}: {e}");
        assert!(e.to_string().starts_with("index_put: "), "{e}");
        let out = with_densify_budget(240, || x.index_put(s![rows, ..], 3.0)).unwrap();
        same(&out, &x.to_dense().unwrap().index_put(s![rows, ..], 3.0).unwrap());
        // What the caller holds is no surprise: each value once.
        let values = Tensor::arange(0.0, 30.0, 1.0).unwrap().reshape([3, 10]).unwrap();
        let out = with_densify_budget(0, || x.index_put(s![rows, ..], &values)).unwrap();
        same(&out, &x.to_dense().unwrap().index_put(s![rows, ..], &values).unwrap());
        // Nothing is stored of sparse values' fill, and only what is stored of them counts where it is repeated.
        let few = Tensor::random([10], 0.2, 0.0, Layout::Coo, 2).unwrap();
        let bytes = few.nse() as u64 * 3 * 8;
        let e = with_densify_budget(bytes - 1, || x.index_put(s![rows, ..], &few)).unwrap_err();
        assert!(matches!(e.kind(), ErrorKind::Densify { .. }), "{e}");
        let out = with_densify_budget(bytes, || x.index_put(s![rows, ..], &few)).unwrap();
        same(&out, &x.to_dense().unwrap().index_put(s![rows, ..], &few).unwrap());
        // So where they are added.
        let out = with_densify_budget(bytes, || x.index_add(s![rows, ..], &few)).unwrap();
        same(&out, &x.to_dense().unwrap().index_add(s![rows, ..], &few).unwrap());
        assert!(with_densify_budget(bytes - 1, || x.index_add(s![rows, ..], &few)).is_err());
    }
}

/// A box of 10^24 places: nothing walks it.
#[test]
fn boxes_are_not_walked() {
    const N: usize = 1 << 40;
    let column: Vec<u64> = (0..100).map(|i| i * 7).collect();
    let ones = Tensor::full([100], 1.0, Layout::Strided).unwrap();
    let x = Tensor::coo([N, N, N], vec![column.clone(), column.clone(), column], &ones, 0.0).unwrap();
    let rows: Vec<usize> = (0..50).collect();
    let zeros = Tensor::zeros([N], DType::F64, Layout::Coo).unwrap();
    let rows = || rows.clone();
    // Of the diagonal 0, 7, 14, … eight elements are in the first fifty rows.
    for (y, nse) in [
        (x.index_put(s![rows(), ..], 0.0), 92),
        (x.unset(s![rows(), ..]), 92),
        (x.index_put(s![.., rows(), ..], 0.0), 92),
        (x.index_put(s![.., rows(), rows()], 0.0), 92),
        (x.index_put(s![rows(), .., rows()], zeros), 92),
        (x.index_put(s![rows(), rows(), 3..], 0.0), 93),
    ] {
        assert_eq!(y.unwrap().nse(), nse);
    }
    let e = x.index_put(s![rows(), ..], 1.0).unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::Densify { .. }), "{e}");
    assert!(!e.to_string().contains("complex128"), "{e}");
}

#[test]
fn places_named_several_times() {
    for (_, x) in matrices(0.0) {
        let dense = x.to_dense().unwrap();
        let values = Tensor::from_vec([4, 1], vec![1.0, 0.0, 5.0, 0.0]).unwrap();
        // The last value counts, also where it is the fill.
        let items = s![[3, 5, 5, 3], 1..8];
        let out = x.index_put(&items, &values).unwrap();
        same(&out, &dense.index_put(&items, &values).unwrap());
        assert_eq!(out.get([3, 2]).unwrap(), Some(0.0.into()));
        assert_eq!(out.get([5, 2]).unwrap(), Some(5.0.into()));
        let out = x.index_add(&items, &values).unwrap();
        same(&out, &dense.index_add(&items, &values).unwrap());
    }
}
