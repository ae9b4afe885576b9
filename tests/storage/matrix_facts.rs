//! Facts about matrices: by hand, on shapes beyond 64 bits, and what is refused. The law has the rest.

use openwork::io::matrix_market;
use openwork::{DType, Fill, Layout, MatrixFacts, Tensor, with_densify_budget};

fn facts(x: &Tensor) -> MatrixFacts {
    with_densify_budget(0, || MatrixFacts::of(x)).unwrap()
}

fn said(symmetric: bool, structure: bool, upper: bool, lower: bool, ndiag: u128) -> MatrixFacts {
    MatrixFacts {
        is_symmetric: Some(symmetric),
        is_structure_symmetric: Some(structure),
        is_upper_triangular: Some(upper),
        is_lower_triangular: Some(lower),
        ndiag: Some(ndiag),
    }
}

fn matrix(rows: &[[f64; 3]; 3]) -> Tensor {
    Tensor::from_rows(&rows.iter().map(|r| r.to_vec()).collect::<Vec<_>>()).unwrap()
}

#[test]
fn by_hand() {
    let nan = f64::NAN;
    for (rows, want) in [
        ([[1.0, 2.0, 0.0], [2.0, 0.0, nan], [0.0, nan, 3.0]], said(true, true, false, false, 2)),
        ([[1.0, 2.0, 0.0], [4.0, 0.0, 0.0], [-0.0, 0.0, 3.0]], said(false, true, false, false, 2)),
        ([[1.0, 2.0, 5.0], [0.0, 0.0, 1.0], [0.0, 0.0, 3.0]], said(false, false, true, false, 2)),
        ([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, nan]], said(false, false, false, true, 2)),
        ([[0.0; 3]; 3], said(true, true, true, true, 0)),
    ] {
        let x = matrix(&rows);
        assert_eq!(facts(&x), want, "{x}");
        for layout in [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Dcsr, Layout::Bsr { block: [3, 1] }] {
            for fill in [0.0, 1.0, nan] {
                let y = x.to_sparse(layout, fill).unwrap();
                assert_eq!(facts(&y), want, "{layout} fill {fill} {x}");
            }
        }
    }
}

/// What is stored, as against what is not 0.
#[test]
fn stored_zeros() {
    let values = Tensor::from_vec([2], vec![0.0, 1.0]).unwrap();
    let x = Tensor::coo([2, 2], vec![vec![1u32, 1], vec![0, 1]], &values, 0.0).unwrap();
    assert_eq!(facts(&x), said(true, true, true, true, 1));
    assert_eq!(facts(&x.stored()), said(false, false, false, true, 1));
}

/// A fill per row is symmetric only where all that differs is stored.
#[test]
fn fills_that_vary() {
    let fill = || Fill::array(Tensor::from_vec([3, 1], vec![1.0, 1.0, 2.0]).unwrap());
    let none = Tensor::empty([3, 3], DType::F64, Layout::Csr, fill()).unwrap();
    assert_eq!(facts(&none), said(false, true, false, false, 3));
    let corners = |values: Vec<f64>, at: [Vec<u32>; 2]| {
        let values = Tensor::from_vec([values.len()], values).unwrap();
        Tensor::coo([3, 3], at.to_vec(), &values, fill()).unwrap()
    };
    // Row 2 differs from column 2 in two places: both mended from one side.
    assert!(corners(vec![2.0, 2.0], [vec![0, 1], vec![2, 2]]).is_symmetric().unwrap());
    assert!(corners(vec![2.0, 1.0], [vec![0, 2], vec![2, 1]]).is_symmetric().unwrap());
    assert!(!corners(vec![2.0], [vec![0], vec![2]]).is_symmetric().unwrap());
    assert!(!corners(vec![2.0, 3.0], [vec![0, 1], vec![2, 2]]).is_symmetric().unwrap());
    assert!(corners(vec![5.0, 5.0, 2.0], [vec![0, 2, 1], vec![2, 0, 2]]).is_symmetric().unwrap());
}

#[test]
fn shapes_beyond_64_bits() {
    const N: usize = 1 << 40;
    let empty = |fill: f64| Tensor::empty([N, N], DType::F64, Layout::Coo, fill).unwrap();
    assert_eq!(facts(&empty(0.0)), said(true, true, true, true, 0));
    assert_eq!(facts(&empty(1.0)), said(true, true, false, false, 1 << 40));
    let stack = Tensor::empty([N, N, N, 7], DType::F32, Layout::Coo, 1.0f32).unwrap();
    assert_eq!(facts(&stack), said(false, false, false, false, 7 << 80));
    let values = Tensor::from_vec([2], vec![1.0, 1.0]).unwrap();
    let at = vec![vec![5u64, N as u64 - 1], vec![N as u64 - 1, 5]];
    let x = Tensor::coo([N, N], at, &values, 0.0).unwrap();
    assert_eq!(facts(&x), said(true, true, false, false, 0));
    let many = Tensor::empty([N, N, N, N, N], DType::F32, Layout::Coo, 1.0f32).unwrap();
    assert!(!many.is_upper_triangular().unwrap());
    let e = many.ndiag().unwrap_err().to_string();
    assert!(e.starts_with("ndiag: shapes [1099511627776") && e.contains("2^128 - 1 elements or more"), "{e}");
}

#[test]
fn what_is_no_matrix() {
    type Find = fn(&Tensor) -> openwork::Result<u128>;
    let finds: [(&str, Find); 5] = [
        ("is_symmetric", |x| x.is_symmetric().map(u128::from)),
        ("is_structure_symmetric", |x| x.is_structure_symmetric().map(u128::from)),
        ("is_upper_triangular", |x| x.is_upper_triangular().map(u128::from)),
        ("is_lower_triangular", |x| x.is_lower_triangular().map(u128::from)),
        ("ndiag", |x| x.ndiag()),
    ];
    for (op, find) in finds {
        let e = find(&Tensor::zeros([5], DType::F64, Layout::Coo).unwrap()).unwrap_err().to_string();
        assert_eq!(e, format!("{op}: shapes [5]: a matrix has at least 2 axes"));
    }
}

#[test]
fn claims_are_checked() {
    let x = Tensor::eye(3, DType::F32, Layout::Csr).unwrap();
    facts(&x).check(&x).unwrap();
    MatrixFacts::default().check(&Tensor::scalar(1.0)).unwrap();
    let wrong = MatrixFacts { is_lower_triangular: Some(false), ..MatrixFacts::default() };
    let e = wrong.check(&x).unwrap_err().to_string();
    assert_eq!(e, "MatrixFacts::check: argument `is_lower_triangular`: false is said, true is true of the tensor");
    let wrong = MatrixFacts { ndiag: Some(4), ..MatrixFacts::default() };
    assert!(wrong.check(&x).unwrap_err().to_string().contains("argument `ndiag`: 4 is said, 3 is true"));
}

/// Files whose header says so are symmetric, and nothing that is read from them becomes dense.
#[test]
fn real_matrices() {
    let Some(folder) = crate::common::folder("real_matrices", "formats/matrixmarket") else { return };
    let mut seen = [0; 2];
    for name in ["fmm-tests/symmetry", "lagraph"] {
        let files = std::fs::read_dir(folder.join(name)).unwrap().map(|f| f.unwrap().path());
        for path in files.filter(|p| p.extension().is_some_and(|e| e == "mtx")) {
            let text = std::fs::read_to_string(&path).unwrap();
            let header = text.lines().next().unwrap_or_default().to_lowercase();
            let Ok(x) = matrix_market::read(&path) else { continue };
            let facts = facts(&x);
            facts.check(&x.to_dense().unwrap()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let symmetric = header.ends_with(" symmetric");
            seen[usize::from(symmetric)] += 1;
            let both = facts.is_symmetric == Some(true) && facts.is_structure_symmetric == Some(true);
            assert!(both || !symmetric, "{}", path.display());
        }
    }
    assert!(seen[0] > 20 && seen[1] > 10, "{seen:?}");
}
