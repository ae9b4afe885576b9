//! Shapes of more than 2^64 elements.

use super::*;

const N: usize = 1 << 40;

/// Stored are the first and the last element, and one between.
fn huge() -> Tensor {
    let column = vec![0u64, 5, N as u64 - 1];
    Tensor::coo([N, N, N], vec![column; 3], &Tensor::from_vec([3], vec![1.0, 2.0, 3.0]).unwrap(), 0.5).unwrap()
}

fn at(x: &Tensor, index: [usize; 3]) -> f64 {
    x.get(index).unwrap().unwrap().to::<f64>()
}

#[test]
fn shape_ops() {
    let x = huge();
    assert_eq!(at(&x.flip(..).unwrap(), [N - 6; 3]), 2.0);
    let rolled = x.roll([1, -5], [0, 2]).unwrap();
    assert_eq!((at(&rolled, [0, N - 1, N - 6]), at(&rolled, [6, 5, 0])), (3.0, 2.0));
    let joined = Tensor::concat(&[&x, &x], 1).unwrap();
    assert_eq!((joined.nse(), at(&joined, [5, N + 5, 5]), at(&joined, [5, N + 4, 5])), (6, 2.0, 0.5));
    assert_eq!(Tensor::stack(&[&x, &x], 3).unwrap().get([5, 5, 5, 1]).unwrap(), Some(2.0.into()));
    assert_eq!(x.tile([1, 2, 1]).unwrap().shape(), [N, 2 * N, N]);
    assert_eq!(at(&x.repeat([2], 0).unwrap(), [11, 5, 5]), 2.0);
    assert_eq!(at(&x.pad(&[(7, 0), (0, 0), (0, 1)], 0.5).unwrap(), [12, 5, 5]), 2.0);
    assert_eq!(at(&x.pad(&[(0, 0), (3, 0), (0, 0)], Pad::Edge).unwrap(), [0, 2, 0]), 1.0);
    assert_eq!(x.diagonal(0, 0, 2).unwrap().get([5, 5]).unwrap(), Some(2.0.into()));
    assert_eq!(x.replace_fill(0.0).unwrap().triu(1).unwrap().nse(), 0);
    let parts = x.split([5, N - 5], 0).unwrap();
    assert_eq!((parts[0].nse(), parts[1].nse()), (1, 2));
    let v = Tensor::coo([N], vec![vec![3u64]], &Tensor::from_vec([1], vec![2.0]).unwrap(), 0.0).unwrap();
    assert_eq!(v.outer(&v).unwrap().outer(&v).unwrap().get([3, 3, 3]).unwrap(), Some(8.0.into()));
    assert_eq!(v.diag(1).unwrap().get([3, 4]).unwrap(), Some(2.0.into()));
    assert_eq!(Tensor::block_diag(&[&v.outer(&v).unwrap(), &v.outer(&v).unwrap()]).unwrap().nse(), 2);
    let e = x.flatten().unwrap_err();
    assert!(e.to_string().contains("flatten"), "{e}");
}

#[test]
fn indexing() {
    let x = huge();
    assert_eq!(x.slice(s![5, .., 5]).unwrap().get([5]).unwrap(), Some(2.0.into()));
    assert_eq!(at(&x.slice(s![..;-1, 1.., ..;5]).unwrap(), [N - 6, 4, 1]), 2.0);
    let several = [N - 1, 0, 5, 5];
    let chosen = x.index(s![several, several]).unwrap();
    assert_eq!((chosen.shape(), chosen.nse()), (&[4, N][..], 4));
    assert_eq!(chosen.get([0, N - 1]).unwrap(), Some(3.0.into()));
    let points = x.index(s![several, several, several]).unwrap();
    assert_eq!(elements(&points), [3.0, 1.0, 2.0, 2.0]);
    assert_eq!(x.index_select(several, 1).unwrap().nse(), 4);
    assert_eq!(at(&x.delete([1, 2], 1).unwrap(), [5, 3, 5]), 2.0);
    let put = x.index_add(s![[7, 5], [7, 5], [7, 5]], 4.0).unwrap();
    assert_eq!((at(&put, [7; 3]), at(&put, [5; 3]), put.nse()), (4.5, 6.0, 4));
    assert_eq!(x.slice_assign(s![5..N], 0.5).unwrap().nse(), 1);
    let e = x.slice_assign(s![5..N], 1.5).unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::Densify { .. }), "{e}");
    let places = x.replace_fill(0.0).unwrap().argwhere().unwrap();
    assert_eq!(places.get([2, 1]).unwrap(), Some((N as i64 - 1).into()));
}

/// The first part's layout would have a pointer for each slice that another part has, and need not have, by the billion.
#[test]
fn joined_of_few_and_many_slices() {
    let coo = |shape: [usize; 2], place: [u64; 2]| {
        Tensor::coo(shape, place.map(|i| vec![i]).to_vec(), &Tensor::from_vec([1], vec![3.0]).unwrap(), 0.0).unwrap()
    };
    let tall = coo([N, 2], [N as u64 - 1, 1]).to_layout(Layout::Csc).unwrap();
    let wide = coo([2, N], [1, 7]).to_layout(Layout::Csr).unwrap();
    let diagonal = Tensor::block_diag(&[&tall, &wide]).unwrap();
    assert_eq!((diagonal.layout(), diagonal.nse()), (Layout::Coo, 2));
    assert_eq!(diagonal.get([N + 1, 9]).unwrap(), Some(3.0.into()));
    assert_eq!(diagonal.get([N - 1, 1]).unwrap(), Some(3.0.into()));
    let square = coo([2, 3], [0, 0]);
    for layout in [Layout::Csc, Layout::Bsc { block: [2, 1] }, Layout::Bsr { block: [1, 1] }, Layout::Dcsr] {
        let first = square.to_layout(layout).unwrap();
        let joined = Tensor::concat(&[&first, &wide], 1).unwrap();
        let by_rows = matches!(layout, Layout::Bsr { .. } | Layout::Dcsr);
        assert_eq!(joined.layout(), if by_rows { layout } else { Layout::Coo }, "{layout}");
        assert_eq!((joined.nse(), joined.get([1, 10]).unwrap()), (first.nse() + 1, Some(3.0.into())));
    }
    // Rows of values stay such.
    let rows = Tensor::random([3, 2, 4], 0.5, 0.0, Layout::Coo, 1).unwrap();
    let (all, one) = (|axis| (axis, Part::Whole), LevelKind::Sparse { rank: 1 });
    let spec = LevelSpec { levels: vec![LevelKind::Dense, one], dims: [1, 0, 2].map(all).to_vec() };
    let rows = rows.to_levels(&spec).unwrap();
    let many = Tensor::zeros([3, N, 4], DType::F64, Layout::HybridCoo { dense_dims: 1 }).unwrap();
    let joined = Tensor::concat(&[&rows, &many], 1).unwrap();
    assert_eq!((joined.layout(), joined.nse()), (Layout::HybridCoo { dense_dims: 1 }, rows.nse()));
    assert_eq!(joined.narrow(0..2, 1).unwrap().to_vec::<f64>().unwrap(), rows.to_vec::<f64>().unwrap());
    let padded = square.to_layout(Layout::Csr).unwrap().pad(&[(1, N), (0, 0)], 0.0).unwrap();
    assert_eq!((padded.layout(), padded.nse()), (Layout::Coo, 1));
    assert_eq!(padded.get([1, 0]).unwrap(), Some(3.0.into()));
    // Few more, and they have pointers.
    let joined = Tensor::concat(&[&square.to_layout(Layout::Csc).unwrap(), &coo([2, 9000], [0, 5])], 1).unwrap();
    assert_eq!(joined.layout(), Layout::Csc);
}
