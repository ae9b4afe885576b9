//! How ops are carried out, as `explain` says.

use super::*;

#[test]
fn no_index_is_read_without_need() {
    let sum3 = |v: &[f64]| v.iter().sum::<f64>();
    for layout in [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Dcsr, Layout::Bsr { block: [2, 3] }] {
        let x = Tensor::random([6, 12], 0.25, 0.0, layout, 1).unwrap();
        let (y, z) = (x.exp().unwrap(), Tensor::random([6, 12], 0.25, 0.0, layout, 2).unwrap());
        assert_eq!(path("map", || x.map(|v: f64| v + 1.0)), Path::Values, "{layout}");
        assert_eq!(path("apply_stored", || x.stored().map(|v: f64| v).and(x.apply_stored(|v: f64| v))), Path::Values);
        assert_eq!(path("zip_many", || Tensor::zip_many(&[&x, &y, &x], sum3)), Path::Values, "{layout}");
        assert_eq!(path("zip_many", || Tensor::zip_many(&[&x, &y, &z], sum3)), Path::Engine, "{layout}");
        assert_eq!(path("zip_many", || Tensor::zip_many(&[&x, &Tensor::scalar(2.0)], sum3)), Path::Values, "{layout}");
        let positive = x.gt(0.5).unwrap();
        assert_eq!(path("where_", || positive.where_(&x, 0.0)), Path::Values, "{layout}");
        assert_eq!(path("where_", || positive.where_(&x, &z)), Path::Engine, "{layout}");
        assert_eq!(path("isclose", || x.isclose(&y, 0.1, 0.0)), Path::Values, "{layout}");
        assert_eq!(path("isclose", || x.isclose(0.5, 0.1, 0.0)), Path::Values, "{layout}");
        assert_eq!(path("mask", || x.mask(&positive)), Path::Engine, "{layout}");
        assert_eq!(path("select_values", || x.select_values(|v: f64| v > 0.5)), Path::Engine, "{layout}");
        assert_eq!(path("index_map", || x.stored().index_map(|_: &[usize], v: f64| v)), Path::Engine, "{layout}");
        assert_eq!(path("index_map", || x.index_map(|_: &[usize], v: f64| v)), Path::Densified, "{layout}");
        assert_eq!(path("polygamma", || x.polygamma(1)), Path::Values, "{layout}");
        assert_eq!(path("union", || x.stored().union(BinaryOp::Add, &z.stored(), 0, 0)), Path::Engine, "{layout}");
    }
    let dense = vector(&[1.0, 2.0]);
    assert_eq!(path("map", || dense.map(|v: f64| v)), Path::Strided);
    assert_eq!(path("where_", || dense.gt(1.0)?.where_(&dense, 0.0)), Path::Strided);
    assert_eq!(path("index_map", || dense.index_map(|_: &[usize], v: f64| v)), Path::Strided);
}

/// A strided operand beside sparse ones is a fill that varies: the pattern stays.
#[test]
fn strided_operands_are_backgrounds() {
    let x = Tensor::random([60, 80], 0.1, 0.0, Layout::Csr, 1).unwrap();
    let row = vector(&(0..80).map(f64::from).collect::<Vec<_>>());
    let y = with_densify_budget(0, || x.zip_with(&row, |a: f64, b: f64| a - b)).unwrap();
    assert_eq!((y.nse(), fill(&y)), (x.nse(), "array[1, 80]".into()));
    assert!(y.same_meaning(&(&x - &row).unwrap()).unwrap());
    let clamped = with_densify_budget(0, || x.clamp(&row, None)).unwrap();
    assert_eq!((clamped.nse(), fill(&clamped)), (x.nse(), "array[1, 80]".into()));
    // What varies in name only is one value.
    let none = x.zip_with(&row, |a: f64, _: f64| a).unwrap();
    assert_eq!((none.nse(), fill(&none)), (x.nse(), "0".into()));
}
