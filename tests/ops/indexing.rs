//! Shape ops and indexing as users meet them: what stays a view, which layout comes out, shapes beyond 2^64, and what
//! wrong arguments are told.

use crate::common::path;
use crate::common::tensors::{elements, says};
use openwork::trace::Path;
use openwork::{
    DType, Ellipsis, ErrorKind, Fill, Index, Layout, LevelKind, LevelSpec, NewAxis, Pad, Part, ReduceOp, Result,
    Scalar, Tensor, s, tensor, with_densify_budget,
};

mod assigned;
mod columns;
mod refused;
mod sizes;

fn iota(shape: &[usize]) -> Tensor {
    let n: usize = shape.iter().product();
    Tensor::from_vec(shape, (0..n).map(|i| i as f64).collect()).unwrap()
}

fn sparse(layout: Layout) -> Tensor {
    Tensor::random([6, 8], 0.4, 0.0, layout, 3).unwrap()
}

#[test]
fn the_syntax() {
    let x = iota(&[4, 5]);
    assert_eq!(elements(&x.slice(s![1, 2]).unwrap()), [7.0]);
    assert_eq!(elements(&x.slice(s![-1, ..]).unwrap()), [15.0, 16.0, 17.0, 18.0, 19.0]);
    assert_eq!(elements(&x.slice(s![1..3, 4]).unwrap()), [9.0, 14.0]);
    assert_eq!(elements(&x.slice(s![0, ..;-1]).unwrap()), [4.0, 3.0, 2.0, 1.0, 0.0]);
    assert_eq!(elements(&x.slice(s![0, 1..5;-2,]).unwrap()), [4.0, 2.0]);
    assert_eq!(elements(&x.slice(s![0, ..=-2;2]).unwrap()), [0.0, 2.0]);
    assert_eq!(elements(&x.slice(s![0, 3..=-1]).unwrap()), [3.0, 4.0]);
    assert_eq!(elements(&x.slice(s![0, -2..]).unwrap()), [3.0, 4.0]);
    assert_eq!(x.slice(s![NewAxis, Ellipsis, NewAxis]).unwrap().shape(), [1, 4, 5, 1]);
    assert_eq!(x.slice(s![Ellipsis, 0]).unwrap().shape(), [4]);
    assert_eq!(x.slice(s![]).unwrap().shape(), [4, 5]);
    assert_eq!(x.slice(vec![Index::from(2)]).unwrap().shape(), [5]);
    assert_eq!(elements(&x.index(s![[0, 3], [1, -1]]).unwrap()), [1.0, 19.0]);
    assert_eq!(elements(&x.index(s![x.gt(17.0).unwrap()]).unwrap()), [18.0, 19.0]);
    let rows = Tensor::from_vec([2, 1], vec![0i64, 3]).unwrap();
    assert_eq!(x.index(s![&rows, vec![0usize, 2, 4]]).unwrap().shape(), [2, 3]);
}

#[test]
fn what_moves_no_index_is_a_view() {
    let x = sparse(Layout::Csr);
    assert_eq!(path("slice", || x.slice(s![1..4])), Path::Values);
    assert_eq!(x.slice(s![1..4]).unwrap().layout(), Layout::Csr);
    assert_eq!(x.slice(s![2]).unwrap().layout(), Layout::Coo);
    let memory = |t: &Tensor| t.stored_values().values::<f64>().unwrap().as_ptr() as usize;
    let (whole, window) = (x.slice(s![..]).unwrap(), x.slice(s![1..]).unwrap());
    let before = x.slice(s![0]).unwrap().nse() * 8;
    assert_eq!(memory(&window), memory(&whole) + before);
    let dense = iota(&[4, 5]);
    assert_eq!(path("slice", || dense.slice(s![..;-1, 1..;2])), Path::Strided);
}

/// Many copies are joined from copies that are joined before.
#[test]
fn tiles_by_the_hundred() {
    let levels = Tensor::from_vec([3], vec![1.0, 2.0, 3.0]).unwrap();
    for layout in [Layout::Strided, Layout::Coo, Layout::Csr, Layout::Csc, Layout::Dcsr] {
        let x = Tensor::random([3, 4], 0.5, 0.0, layout, 3).unwrap();
        let shifted = x.add(levels.reshape([3, 1]).unwrap()).unwrap();
        for (x, axis) in [(&x, 0), (&x, 1), (&shifted, 0), (&shifted, 1)] {
            let n = x.shape()[axis];
            for times in [1, 63, 64, 65, 72, 511, 512, 577, 5000] {
                let mut repeats = [1, 1];
                repeats[axis] = times;
                let tiled = x.tile(repeats).unwrap();
                assert_eq!((tiled.layout(), tiled.shape()[axis]), (x.layout(), n * times), "{layout}");
                let places: Vec<usize> = (0..n * times).map(|i| i % n).collect();
                let want = x.to_dense().unwrap().index_select(places, axis).unwrap();
                assert_eq!(elements(&tiled), elements(&want), "{layout}, axis {axis}, {times}");
            }
        }
    }
    let row = Tensor::coo([1, 5], vec![vec![0u64; 2], vec![1, 3]], &tensor![1.0, 2.0], 0.0).unwrap();
    let many = row.to_layout(Layout::Csr).unwrap().tile([400_001, 1]).unwrap();
    assert_eq!((many.nse(), many.layout()), (800_002, Layout::Csr));
    assert_eq!(many.get([400_000, 3]).unwrap(), Some(2.0.into()));
}

#[test]
fn layouts_stay() {
    for layout in [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Dcsr, Layout::Csf] {
        let x = sparse(layout);
        let same = |t: Result<Tensor>| assert_eq!(t.unwrap().layout(), x.layout(), "{layout}");
        same(x.flip(..));
        same(x.roll([2], 1));
        same(x.roll([-1, 3], [0, 1]));
        same(x.repeat([2], 0));
        same(x.tile([2, 3]));
        same(x.pad(&[(1, 0), (2, 2)], Pad::Blank));
        same(x.pad(&[(1, 0), (0, 0)], 2.0));
        same(x.tril(0));
        same(x.slice(s![..;2, 1..7]));
        same(x.index_select([3, 0, 3], 0));
        same(x.index_select([3, 0, 3], 1));
        same(x.delete([1, 4], 1));
        same(x.slice_assign(s![1..3, ..;2], 0.0));
        same(x.index_add(s![[0, 1], [2, 2]], 5.0));
        for axis in [0, 1] {
            same(Tensor::concat(&[&x, &x], axis));
            same(Tensor::concat(&[&x, &iota(&[6, 8])], axis));
        }
        same(Tensor::block_diag(&[&x, &x]));
    }
    let x = sparse(Layout::Csr);
    assert_eq!(Tensor::stack(&[&x, &x], 0).unwrap().layout(), Layout::Csr);
    assert_eq!(Tensor::stack(&[&x, &x], 0).unwrap().unstack(0).unwrap()[1].layout(), Layout::Csr);
    let blocks = sparse(Layout::Bsr { block: [2, 2] });
    assert_eq!(Tensor::concat(&[&blocks, &blocks], 1).unwrap().layout(), blocks.layout());
    assert_eq!(blocks.flip(..).unwrap().layout(), Layout::Csr);
}

#[test]
fn fills_of_joined_tensors() {
    let of = |fill: f64| Tensor::full([2, 3], fill, Layout::Csr).unwrap();
    let fill = |t: &Tensor| t.fill().unwrap().to_string();
    assert_eq!(fill(&Tensor::concat(&[of(1.0), of(1.0)], 0).unwrap()), "1");
    // Zeros differ in sign only.
    assert_eq!(fill(&Tensor::concat(&[of(0.0), of(-0.0)], 1).unwrap()), "0");
    with_densify_budget(0, || {
        let joined = Tensor::concat(&[of(0.0), of(f64::NAN)], 0).unwrap();
        assert_eq!((fill(&joined), joined.nse()), ("array[4, 1]".to_string(), 0));
        assert_eq!(joined.get([1, 0]).unwrap(), Some(0.0.into()));
        // Varying along both axes there is no fill, and no budget.
        let both = Tensor::concat(&[&joined, &Tensor::full([4, 1], 7.0, Layout::Csr).unwrap()], 1);
        assert!(matches!(both.unwrap_err().kind(), ErrorKind::Densify { op: "concat", .. }));
        // Nothing is asked of parts without elements.
        assert_eq!(
            fill(&Tensor::concat(&[&of(2.0), &Tensor::zeros([0, 3], DType::F64, Layout::Coo).unwrap()], 0).unwrap()),
            "2"
        );
        let undefined = of(1.0).stored();
        assert!(matches!(Tensor::concat(&[&undefined, &of(1.0)], 0).unwrap_err().kind(), ErrorKind::Densify { .. }));
    });
    let mixed = Tensor::concat(&[&of(1.0).stored(), &of(2.0)], 0).unwrap();
    assert!(mixed.fill().unwrap().is_undefined());
    assert_eq!((mixed.nse(), mixed.get([3, 2]).unwrap(), mixed.get([0, 0]).unwrap()), (6, Some(2.0.into()), None));
}

#[test]
fn what_is_assigned_costs_no_more() {
    let x = sparse(Layout::Csr);
    with_densify_budget(0, || {
        // Zeros over a window are no elements.
        let gone = x.slice_assign(s![.., 2..5], 0.0).unwrap();
        assert_eq!(gone.slice(s![.., 2..5]).unwrap().nse(), 0);
        assert_eq!(gone.nse(), x.nse() - x.slice(s![.., 2..5]).unwrap().nse());
        assert_eq!(x.unset(s![.., 2..5]).unwrap().nse(), gone.nse());
        // One number for one element is given; for many it is repeated.
        assert_eq!(x.slice_assign(s![3, 3], 9.0).unwrap().get([3, 3]).unwrap(), Some(9.0.into()));
        let repeated = x.slice_assign(s![3], 9.0).unwrap_err();
        assert!(matches!(repeated.kind(), ErrorKind::Densify { op: "slice_assign", .. }), "{repeated}");
        let row = Tensor::from_vec([8], vec![9.0; 8]).unwrap();
        assert_eq!(x.slice_assign(s![3], &row).unwrap().slice(s![3]).unwrap().nse(), 8);
    });
    let ones = x.slice_assign(s![.., 0], 1.0).unwrap();
    assert_eq!(elements(&ones.slice(s![.., 0]).unwrap()), [1.0; 6]);
    assert_eq!(x.get([3, 3]).unwrap(), sparse(Layout::Csr).get([3, 3]).unwrap());
}

#[test]
fn absent_elements() {
    let x = sparse(Layout::Csr).stored();
    let nothing = Tensor::empty([8], DType::F64, Layout::Coo, Fill::Undefined).unwrap();
    let removed = x.slice_assign(s![2], &nothing).unwrap();
    assert_eq!(removed.slice(s![2]).unwrap().nse(), 0);
    assert_eq!(removed.nse(), x.nse() - x.slice(s![2]).unwrap().nse());
    let put = x.index_add(s![[2, 2], [1, 1]], Tensor::from_vec([2], vec![3.0, 4.0]).unwrap()).unwrap();
    let was = x.get([2, 1]).unwrap().map_or(0.0, |v| v.to::<f64>());
    assert_eq!(put.get([2, 1]).unwrap(), Some((was + 7.0).into()));
    assert_eq!(x.pad(&[(1, 0), (0, 0)], Pad::Blank).unwrap().get([0, 0]).unwrap(), None);
    assert_eq!(x.pad(&[(1, 0), (0, 0)], 5.0).unwrap().get([0, 0]).unwrap(), Some(5.0.into()));
    assert_eq!(x.argwhere().unwrap().shape(), [x.nse(), 2]);
    assert_eq!(x.tril(0).unwrap().get([0, 7]).unwrap(), None);
}

/// Of a place that is named more than once the last value counts: an absent one before it is not assigned.
#[test]
fn an_absent_value_that_another_replaces() {
    let x = sparse(Layout::Csr);
    let values = Tensor::coo([3], vec![vec![1, 2]], &Tensor::from(vec![5.0, 6.0]), Fill::Undefined).unwrap();
    let put = x.index_put(s![.., [3, 1, 3]], &values).unwrap();
    assert_eq!(elements(&put.slice(s![.., 3]).unwrap()), [6.0; 6]);
    assert_eq!(elements(&put.slice(s![.., 1]).unwrap()), [5.0; 6]);
    let error = x.index_put(s![.., [1, 3, 3]], values.flip(0).unwrap()).unwrap_err();
    assert!(error.to_string().contains("an absent value is assigned"), "{error}");
}

#[test]
fn reductions_at_places() {
    let x = Tensor::zeros([3], DType::I64, Layout::Coo).unwrap();
    let index = Tensor::from_vec([4], vec![0i64, 2, 2, 0]).unwrap();
    let src = Tensor::from_vec([4], vec![5i64, -1, 4, 3]).unwrap();
    let of = |op| {
        let out = match op {
            Some(op) => x.scatter_reduce(&index, &src, op, 0).unwrap(),
            None => x.scatter(&index, &src, 0).unwrap(),
        };
        (0..3).map(|i| out.get([i]).unwrap().unwrap().to::<i64>()).collect::<Vec<_>>()
    };
    assert_eq!(of(None), [3, 0, 4]);
    assert_eq!(of(Some(ReduceOp::Sum)), [8, 0, 3]);
    assert_eq!(of(Some(ReduceOp::Max)), [5, 0, 4]);
    assert_eq!(of(Some(ReduceOp::Min)), [0, 0, -1]);
    assert_eq!(of(Some(ReduceOp::Prod)), [0, 0, 0]);
}
