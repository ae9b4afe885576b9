//! Factorisations, which faer computes: beside elimination in `float64`, and by what the factors multiply to.

use openwork::linalg::{self, Factored, Operator, Options};
use openwork::{DType, ErrorKind, Layout, Result, Tensor, c128, tensor};

use crate::linalg::{LAYOUTS, close, dominant, eliminate, right};

const DTYPES: [(DType, f64); 4] =
    [(DType::F64, 1e-11), (DType::F32, 1e-5), (DType::Complex128, 1e-11), (DType::Complex64, 1e-5)];

fn near(a: &Tensor, b: &Tensor, off: f64) {
    let wanted = b.to_dense().unwrap().cast(DType::Complex128).unwrap().to_vec::<c128>().unwrap();
    assert_eq!(a.shape(), b.shape());
    close(a, &wanted, off);
}

#[test]
fn every_layout_is_factored() {
    type Factor = fn(&Tensor) -> Result<Factored>;
    let factors: [(&str, Factor, bool); 3] = [
        ("cholesky", linalg::cholesky, true),
        ("lu", linalg::lu, false),
        ("least_squares", linalg::least_squares, false),
    ];
    for (dtype, off) in DTYPES {
        for (name, factor, hermitian) in factors {
            let a = dominant(30, dtype, hermitian, 21);
            for shape in [vec![30], vec![30, 4]] {
                let b = right(&shape, dtype, 22);
                let wanted = eliminate(&a, &b);
                for layout in LAYOUTS {
                    let stored = if layout == Layout::Strided { a.to_dense() } else { a.to_layout(layout) }.unwrap();
                    let factored = factor(&stored).unwrap();
                    let x = factored.solve(&b).unwrap();
                    assert_eq!((x.dtype(), x.shape()), (dtype, b.shape()), "{name}");
                    close(&x, &wanted, off);
                    if name != "least_squares" {
                        let t = a.matrix_transpose().unwrap();
                        let adjoint = if dtype.is_complex() { t.conj().unwrap() } else { t };
                        close(&factored.apply_adjoint(&b).unwrap(), &eliminate(&adjoint, &b), off);
                    }
                }
                close(&linalg::solve(&a, &b).unwrap(), &wanted, off);
                if hermitian {
                    close(&linalg::cholesky_solve(&a, &b).unwrap(), &wanted, off);
                }
            }
        }
    }
    // Of integers, with a fill, of duplicates.
    let b = tensor![5.0, 10.0];
    close(&linalg::solve(&tensor![[2, 1], [1, 3]], &b).unwrap(), &[c128::new(1.0, 0.0), c128::new(3.0, 0.0)], 1e-14);
    let ones = tensor![[2.0, 1.0], [1.0, 3.0]; Layout::Coo, 1.0].unwrap();
    close(&linalg::solve(&ones, &b).unwrap(), &[c128::new(1.0, 0.0), c128::new(3.0, 0.0)], 1e-14);
    let coordinates = (vec![0u64, 0, 1, 1, 0], vec![0u64, 1, 0, 1, 0]);
    let twice =
        Tensor::from_triplets([2, 2], coordinates.0, coordinates.1, vec![1.0, 1.0, 1.0, 3.0, 1.0], 0.0).unwrap();
    close(&linalg::cholesky_solve(&twice, &b).unwrap(), &[c128::new(1.0, 0.0), c128::new(3.0, 0.0)], 1e-14);
}

#[test]
fn real_matrices_and_complex_right_sides() {
    let a = dominant(12, DType::F64, true, 23);
    let b = right(&[12], DType::Complex128, 24);
    close(&linalg::solve(&a, &b).unwrap(), &eliminate(&a, &b), 1e-12);
    close(&linalg::cholesky_solve(&a, &b).unwrap(), &eliminate(&a, &b), 1e-12);
    let e = linalg::lu(&a).unwrap().solve(&b).unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::DType { .. }), "{e}");
}

#[test]
fn stacks_of_small_matrices() {
    for (dtype, off) in DTYPES {
        let one = dominant(4, dtype, true, 25).to_dense().unwrap();
        let two = dominant(4, dtype, true, 26).to_dense().unwrap();
        let a = Tensor::stack(&[&one, &two, &one], 0).unwrap();
        let b = right(&[3, 4, 2], dtype, 27);
        for method in [linalg::solve, linalg::cholesky_solve] {
            let x = method(&a, &b).unwrap();
            assert_eq!(x.shape(), [3, 4, 2]);
            for (i, own) in [&one, &two, &one].iter().enumerate() {
                let part = |t: &Tensor| t.narrow(i..i + 1, 0).unwrap().squeeze(0).unwrap();
                close(&part(&x), &eliminate(own, &part(&b)), off);
            }
            // One right side for all, and one matrix for several right sides.
            let v = right(&[4], dtype, 28);
            let x = method(&a, &v).unwrap();
            assert_eq!(x.shape(), [3, 4]);
            close(&x.narrow(1..2, 0).unwrap().squeeze(0).unwrap(), &eliminate(&two, &v), off);
            assert_eq!(method(&one, &b).unwrap().shape(), [3, 4, 2]);
        }
        let tall = right(&[5, 2, 6, 3], dtype, 29);
        let wide = tall.matrix_transpose().unwrap();
        for a in [&tall, &wide] {
            let f = linalg::qr(a).unwrap();
            near(&f.q.matmul(&f.r).unwrap(), a, off);
            let f = linalg::svd(a).unwrap();
            assert_eq!(f.s.shape(), [5, 2, 3]);
            assert!(!f.s.dtype().is_complex());
            let us = (&f.u * f.s.expand_dims(-2).unwrap().cast(dtype).unwrap()).unwrap();
            near(&us.matmul(&f.vh).unwrap(), a, off);
        }
        let gram = wide.conj().unwrap().matmul(&tall).unwrap();
        let e = linalg::eigh(&gram).unwrap();
        assert_eq!((e.values.shape(), e.values.dtype()), (&[5, 2, 3][..], dtype.real()));
        let scaled = (&e.vectors * e.values.expand_dims(-2).unwrap().cast(dtype).unwrap()).unwrap();
        near(&gram.matmul(&e.vectors).unwrap(), &scaled, off);
        let s = linalg::svd(&tall).unwrap().s.square().unwrap().flip(-1).unwrap();
        near(&e.values, &s, off);
    }
    // Nothing at all.
    let none = Tensor::from_vec([0, 3, 3], Vec::<f64>::new()).unwrap();
    assert_eq!(linalg::svd(&none).unwrap().u.shape(), [0, 3, 3]);
    assert_eq!(linalg::qr(&Tensor::from_vec([0, 3], Vec::<f64>::new()).unwrap()).unwrap().q.shape(), [0, 0]);
    assert_eq!(linalg::solve(&none, &tensor![1.0, 2.0, 3.0]).unwrap().shape(), [0, 3]);
    let nothing = Tensor::from_vec([0, 0], Vec::<f64>::new()).unwrap();
    assert_eq!(linalg::solve(&nothing, &Tensor::from_vec([0], Vec::<f64>::new()).unwrap()).unwrap().shape(), [0]);
}

#[test]
fn least_squares_is_what_the_normal_equations_say() {
    for (dtype, off) in DTYPES {
        let a = Tensor::concat(&[&dominant(9, dtype, false, 30), &dominant(9, dtype, false, 31)], 0).unwrap();
        let b = right(&[18, 2], dtype, 32);
        let t = a.matrix_transpose().unwrap().conj().unwrap();
        let wanted = eliminate(&t.matmul(&a).unwrap(), &t.matmul(&b).unwrap());
        for stored in [a.to_dense().unwrap(), a.to_layout(Layout::Csr).unwrap()] {
            close(&linalg::least_squares(&stored).unwrap().solve(&b).unwrap(), &wanted, off * 10.0);
        }
    }
}

#[test]
fn singular_matrices_name_a_place() {
    let at = |e: openwork::Error| match e.kind() {
        ErrorKind::Singular { at, .. } => (*at, e.to_string()),
        _ => panic!("{e}"),
    };
    let dense = tensor![[1.0, 2.0, 3.0], [2.0, 4.0, 1.0], [1.0, 2.0, 0.0]];
    assert_eq!(at(linalg::lu(&dense).unwrap_err()).0, 1);
    assert_eq!(at(linalg::least_squares(&tensor![[1.0, 0.0], [0.0, 0.0], [2.0, 0.0]]).unwrap_err()).0, 1);
    // Column 3 of a sparse matrix is twice column 1.
    let mut a = dominant(8, DType::F64, false, 33).to_dense().unwrap();
    let column = a.narrow(1..2, 1).unwrap();
    a = Tensor::concat(&[&a.narrow(0..3, 1).unwrap(), &(column * 2.0).unwrap(), &a.narrow(4..8, 1).unwrap()], 1)
        .unwrap();
    let sparse = a.to_sparse(Layout::Csr, 0.0).unwrap();
    match linalg::lu(&sparse) {
        Err(e) => assert!([1, 3].contains(&at(e).0)),
        // Rounding may leave a pivot that is not zero: then solutions are huge.
        Ok(f) => assert!(
            f.solve(&right(&[8], DType::F64, 34)).unwrap().abs().unwrap().max(..).unwrap().item_as::<f64>().unwrap()
                > 1e10
        ),
    }
    let zero_row = tensor![[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [3.0, 0.0, 1.0]; Layout::Csr, 0.0].unwrap();
    assert_eq!(
        at(linalg::solve(&zero_row, &tensor![1.0, 1.0, 1.0]).unwrap_err()).1,
        "solve: the matrix is singular: row 1 is zero"
    );
    let zero_column = zero_row.t().unwrap();
    assert_eq!(at(linalg::lu(&zero_column).unwrap_err()).1, "lu: the matrix is singular: column 1 is zero");
    let exact = tensor![[1.0, 2.0, 0.0, 0.0], [2.0, 4.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]; Layout::Csr, 0.0];
    let (place, text) = at(linalg::lu(&exact.unwrap()).unwrap_err());
    assert!(place < 2, "{text}");
    // Not definite from row 2 on.
    let indefinite = tensor![[2.0, 0.0, 1.0], [0.0, 2.0, 0.0], [1.0, 0.0, 0.1]];
    assert_eq!(at(linalg::cholesky(&indefinite).unwrap_err()).0, 2);
    let (place, text) = at(linalg::cholesky(&indefinite.to_sparse(Layout::Coo, 0.0).unwrap()).unwrap_err());
    assert!([0, 2].contains(&place), "{text}");
    let negative = tensor![[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]; Layout::Csc, 0.0].unwrap();
    assert_eq!(at(linalg::cholesky(&negative).unwrap_err()).0, 1);
    let stack = Tensor::stack(&[&tensor![[1.0, 0.0], [0.0, 1.0]], &tensor![[0.0, 1.0], [0.0, 1.0]]], 0).unwrap();
    let (place, text) = at(linalg::solve(&stack, &tensor![1.0, 1.0]).unwrap_err());
    assert!(place == 0 && text.ends_with("(matrix 1 of the stack)"), "{text}");
}

#[test]
fn wrong_arguments_are_named() {
    let says = |e: openwork::Error, words: &[&str]| {
        let text = e.to_string();
        assert!(words.iter().all(|w| text.contains(w)), "{text}");
    };
    let a = tensor![[1.0, 2.0, 0.0], [0.0, 1.0, 0.0]; Layout::Csr, 0.0].unwrap();
    says(linalg::lu(&a).unwrap_err(), &["lu: ", "[2, 3]", "square"]);
    says(linalg::least_squares(&a).unwrap_err(), &["least_squares: ", "as many rows"]);
    says(linalg::cholesky(&tensor![1.0]).unwrap_err(), &["cholesky: ", "[1]"]);
    says(linalg::eigh(&a).unwrap_err(), &["eigh: ", "square"]);
    says(linalg::qr(&tensor![1.0]).unwrap_err(), &["qr: ", "[1]"]);
    let nan = tensor![[1.0, f64::NAN], [0.0, 1.0]];
    for e in [linalg::svd(&nan).unwrap_err(), linalg::lu(&nan).unwrap_err(), linalg::eigh(&nan).unwrap_err()] {
        says(e, &["NaN or infinite"]);
    }
    says(linalg::lu(&nan.to_sparse(Layout::Csr, 0.0).unwrap()).unwrap_err(), &["NaN or infinite"]);
    let square = tensor![[1.0, 0.0], [0.0, 1.0]; Layout::Csr, 0.0].unwrap();
    says(linalg::lu(&square.stored()).unwrap_err(), &["undefined"]);
    says(linalg::solve(&square, &tensor![1.0, 2.0, 3.0]).unwrap_err(), &["solve: ", "[3]"]);
    let e = openwork::with_densify_budget(0, || linalg::svd(&square)).unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::Densify { .. }), "{e}");
    let e = openwork::with_densify_budget(0, || linalg::lu(&square.replace_fill(2.0).unwrap())).unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::Densify { .. }), "{e}");
}

#[test]
fn factors_are_preconditioners() {
    let a = dominant(50, DType::F64, false, 35);
    let near = linalg::lu(&(&a * 1.001).unwrap()).unwrap();
    let b = right(&[50], DType::F64, 36);
    let solution = linalg::gmres(&a, &b, Options::default().preconditioner(&near)).unwrap();
    assert!(solution.report.is_converged() && solution.report.iterations <= 2, "{}", solution.report);
}

#[test]
fn bits_do_not_depend_on_threads() {
    let a = right(&[300, 12, 12], DType::F64, 37);
    let run = || {
        let f = linalg::svd(&a).unwrap();
        let x = linalg::solve(&a, &right(&[12], DType::F64, 38)).unwrap();
        [f.u.to_vec::<f64>().unwrap(), f.s.to_vec().unwrap(), x.to_vec().unwrap()].concat()
    };
    let one = openwork::parallel::with_threads(1, run).unwrap();
    let three = openwork::parallel::with_threads(3, run).unwrap();
    assert!(one.iter().map(|v| v.to_bits()).eq(three.iter().map(|v| v.to_bits())));
}
