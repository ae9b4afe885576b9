//! Published facts about graphs and a stiffness matrix.

use openwork::io::matrix_market;
use openwork::{DType, Layout, Tensor};

use super::triplets::dense;

/// The karate club: 34 members, 78 friendships, 45 triangles; its two leaders have 16 and 17 friends.
#[test]
fn karate_club() {
    let Some(folder) = super::folder("karate_club", "matrices") else { return };
    let read = matrix_market::read(folder.join("karate.mtx")).unwrap();
    for layout in [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Strided] {
        let friends = read.cast(DType::I64).unwrap().to_layout(layout).unwrap();
        let degrees = dense(&friends.sum(1).unwrap());
        assert_eq!((degrees[0], degrees[33]), (16.0, 17.0), "{layout}");
        assert_eq!(degrees.iter().sum::<f64>(), 156.0, "{layout}");
        assert_eq!(triangles(&friends), 45, "{layout}");
    }
}

/// Paths of two steps that one step closes; each triangle is found from each corner both ways.
fn triangles(graph: &Tensor) -> i64 {
    let closed = (graph.matmul(graph).unwrap() * graph).unwrap();
    closed.sum(..).unwrap().item().unwrap().to::<i64>() / 6
}

/// Everybody is reached from member 0 in three steps: products and comparisons of bools.
#[test]
fn steps_through_the_club() {
    let Some(folder) = super::folder("steps_through_the_club", "matrices") else { return };
    let friends = matrix_market::read(folder.join("karate.mtx")).unwrap();
    assert_eq!(friends.dtype(), DType::Bool);
    let mut reached = Tensor::coo([34], vec![vec![0u32]], &Tensor::from_vec([1], vec![true]).unwrap(), false).unwrap();
    let mut counts = Vec::new();
    for _ in 0..3 {
        reached = (friends.matmul(&reached).unwrap() | &reached).unwrap();
        counts.push(reached.count_nonzero(..).unwrap().item().unwrap().to::<i64>());
    }
    assert_eq!(counts, [17, 26, 34]);
}

/// The diagonal of a positive definite matrix is positive, and no element is larger than its two diagonal ones allow.
#[test]
fn stiffness_matrix() {
    let Some(folder) = super::folder("stiffness_matrix", "matrices") else { return };
    let k = matrix_market::read(folder.join("bcsstk13.mtx")).unwrap().to_layout(Layout::Csr).unwrap();
    let eye = Tensor::eye(2003, DType::F64, Layout::Csc).unwrap();
    let diagonal = (&k * &eye).unwrap().sum(1).unwrap().to_dense().unwrap();
    let smallest = diagonal.min(..).unwrap().item().unwrap().to::<f64>();
    assert!(smallest > 0.0, "{smallest}");
    // |k_ij| <= sqrt(k_ii k_jj). Rows and columns are divided and multiplied with the pattern kept.
    let root = diagonal.sqrt().unwrap();
    let divided = ((&k / root.expand_dims(1).unwrap()).unwrap() / &root).unwrap();
    let scale = root.reciprocal().unwrap();
    let multiplied = ((&k * scale.expand_dims(1).unwrap()).unwrap() * &scale).unwrap();
    for scaled in [divided, multiplied] {
        let facts = (scaled.nse(), scaled.layout(), scaled.fill().unwrap().to_string());
        assert_eq!(facts, (k.nse(), Layout::Csr, "0".into()));
        let largest = scaled.abs().unwrap().max(..).unwrap().item().unwrap().to::<f64>();
        approx::assert_relative_eq!(largest, 1.0, max_relative = 1e-12);
    }
}
