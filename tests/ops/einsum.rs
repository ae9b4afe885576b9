//! Sums of products over named indices: mistakes in equations, the order that is chosen, huge axes, threads.

use openwork::{
    DType, EinsumKernel, Fill, Layout, Semiring, Tensor, einsum, einsum_path, explain, parallel, s, tensor,
    with_densify_budget,
};

use crate::common::tensors::says;

fn zeros(shape: &[usize]) -> Tensor {
    Tensor::zeros(shape, DType::F64, Layout::Strided).unwrap()
}

fn sparse(shape: &[usize], density: f64, seed: u64) -> Tensor {
    Tensor::random(shape, density, 0.0, Layout::Coo, seed).unwrap()
}

/// The error names the character, shows the equation and points at it.
#[test]
fn mistakes_are_pointed_at() {
    let m = zeros(&[2, 2]);
    let points = |equation: &str, at: usize, words: &[&str]| {
        let error = says(einsum(equation, &[&m, &m]), words).to_string();
        let caret = format!("\n  {equation}\n  {}^", " ".repeat(at - 1));
        assert!(error.starts_with("einsum: argument `equation`: at character"), "{error}");
        assert!(error.contains(&format!("at character {at}: ")) && error.ends_with(&caret), "{error}");
    };
    points("ij,jk->iz", 9, &["`z`", "no operand"]);
    points("ij,jk->ii", 9, &["`i`", "twice"]);
    points("ij,jk->i,k", 9, &["comma"]);
    points("ij,jk->ik->k", 10, &["`->`", "twice"]);
    points("ij,jk-ik", 6, &["`-`", "`->`"]);
    points("ij,jk>ik", 6, &["`>`", "letter"]);
    points("i1,jk", 2, &["`1`", "letter"]);
    points("ij,j.k", 5, &["three dots"]);
    points("ij,..k", 4, &["three dots"]);
    points("...i...,jk", 5, &["ellipsis", "already"]);
    points("ij,jk->...i...", 12, &["ellipsis", "already"]);
    points("ij,jk->i\u{7}", 9, &["\\u{7}"]);
    let shaped = |equation: &str, operands: &[&Tensor], at: usize, words: &[&str]| {
        let error = says(einsum(equation, operands), words).to_string();
        assert!(error.contains(&format!("at character {at}: ")), "{error}");
        assert!(error.ends_with(&format!("\n  {equation}\n  {}^", " ".repeat(at - 1))), "{error}");
    };
    let wide = zeros(&[3, 4]);
    shaped("ij,jk->ik", &[&m, &wide], 4, &["[2, 2]", "[3, 4]", "`j` has 3 elements", "2 before"]);
    shaped("ij, ijk", &[&m, &m], 5, &["operand 1 has 2 axes", "3 indices"]);
    shaped("ij,", &[&m, &m], 4, &["operand 1 has 2 axes", "0 indices"]);
    shaped("ij,i", &[&m, &m], 4, &["operand 1 has 2 axes", "1 index"]);
    shaped("ii", &[&wide], 2, &["`i` has 4 elements", "3 before"]);
    shaped("i...jk,ij", &[&m, &m], 1, &["2 axes", "3 indices"]);
    shaped("...j,...k", &[&m, &wide], 6, &["ellipsis", "operand 1", "3 and 2"]);
    says(einsum("ij,jk", &[&m]), &["einsum", "`operands`", "are 1", "lists of 2"]);
    says(einsum("ij", &[&m, &m]), &["are 2", "lists of 1"]);
    says(einsum("", &[]), &["are 0", "lists of 1"]);
    let (signed, unsigned) = (tensor![1i64], tensor![1u64]);
    says(einsum("i,i", &[&signed, &unsigned]), &["dtype int64, uint64", "cast"]);
    says(Tensor::einsum_with("i,i,i", &[&signed; 3], Semiring::PLUS_FIRST), &["plus_first", "two operands"]);
    let complex = signed.cast(DType::Complex128).unwrap();
    says(Tensor::einsum_with("i->", &[&complex], Semiring::MIN_PLUS), &["min_plus", "complex128"]);
}

#[test]
fn forms() {
    let a = tensor![[1, 2, 3], [4, 5, 6]; Layout::Csr, 0].unwrap();
    let list = |equation: &str, operands: &[&Tensor]| einsum(equation, operands).unwrap().to_vec::<i32>().unwrap();
    assert_eq!(list("ij->ji", &[&a]), [1, 4, 2, 5, 3, 6]);
    assert_eq!(list("ij->", &[&a]), [21]);
    assert_eq!(list("ij->j", &[&a]), [5, 7, 9]);
    assert_eq!(list("ba", &[&a]), [1, 4, 2, 5, 3, 6]);
    assert_eq!(list("ij,kj->ik", &[&a, &a]), [14, 32, 32, 77]);
    assert_eq!(list("...,...", &[&tensor![2], &a]), [2, 4, 6, 8, 10, 12]);
    assert_eq!(list("i...->...", &[&a]), [5, 7, 9]);
    assert_eq!(list(",", &[&Tensor::scalar(3), &Tensor::scalar(4)]), [12]);
    let square = tensor![[1, 2], [3, 4]];
    assert_eq!((list("ii", &[&square]), list("ii->i", &[&square])), (vec![5], vec![1, 4]));
    assert_eq!(list("ii,ij->j", &[&square, &square]), [13, 18]);
}

fn kernels(equation: &str, operands: &[&Tensor]) -> Vec<EinsumKernel> {
    einsum_path(equation, operands).unwrap().steps.iter().map(|s| s.kernel).collect()
}

/// What is chosen follows what is stored.
#[test]
fn paths() {
    let x = sparse(&[50, 60, 70], 0.01, 1);
    let (b, c) = (Tensor::rand([60, 4], 2).unwrap(), Tensor::rand([70, 4], 3).unwrap());
    assert_eq!(kernels("ijk,jr,kr->ir", &[&x, &b, &c]), [EinsumKernel::Factors]);
    assert_eq!(kernels("ijk,kr->ijr", &[&x, &c]), [EinsumKernel::Matmul]);
    assert_eq!(kernels("ijk->jk", &[&x]), [EinsumKernel::Sum]);
    let graph = sparse(&[90, 90], 0.05, 4);
    assert_eq!(kernels("ij,jk,ki->", &[&graph; 3]), [EinsumKernel::Masked]);
    let (q, k) = (Tensor::rand([90, 4], 5).unwrap(), Tensor::rand([90, 4], 6).unwrap());
    assert_eq!(kernels("ij,id,jd->ij", &[&graph, &q, &k]), [EinsumKernel::Masked]);
    assert_eq!(kernels("ij,ij->i", &[&graph, &graph]), [EinsumKernel::Elementwise]);
    let text = einsum_path("ij,jk,k->i", &[&graph, &graph, &Tensor::rand([90], 7).unwrap()]).unwrap().to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0] == "ij,jk,k->i" && lines.len() == 4 && lines[2].contains("jk,k->j"), "{text}");
    // Other fills are not left out.
    let ones = graph.replace_fill(1.0).unwrap();
    assert_eq!(kernels("ij,id,jd->ij", &[&ones, &q, &k]).len(), 2);
}

/// Neither a product of factors nor anything as large as the tensor is made.
#[test]
fn huge_axes() {
    let n = 1u64 << 40;
    let size = n as usize;
    let values = tensor![1.0, 2.0, 4.0];
    let at = vec![vec![0, 5, n - 1], vec![1, 1, n - 2], vec![0u64, 1, 2]];
    let x = Tensor::coo([size, size, 3], at, &values, 0.0).unwrap();
    let c = tensor![[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]];
    with_densify_budget(0, || {
        let y = einsum("ijk,kr->ijr", &[&x, &c]).unwrap();
        assert_eq!((y.shape(), y.positions()), (&[size, size, 2][..], 3));
        assert_eq!(y.get([size - 1, size - 2, 1]).unwrap(), Some(120.0.into()));
        let v = einsum("ijk,k->ij", &[&x, &tensor![1.0, 1.0, 1.0]]).unwrap();
        assert_eq!((v.nse(), v.get([5, 1]).unwrap()), (3, Some(2.0.into())));
        let mirrored = einsum("kr,ijk->rji", &[&c, &x]).unwrap();
        assert_eq!(mirrored.get([0, 1, 5]).unwrap(), Some(4.0.into()));
        let norm = einsum("ijk,ijk->", &[&x, &x]).unwrap();
        assert_eq!(norm.item_as::<f64>().unwrap(), 21.0);
        let batch = einsum("ijk,ijk->i", &[&x, &x]).unwrap();
        assert_eq!((batch.nse(), batch.get([size - 1]).unwrap()), (3, Some(16.0.into())));
        let graph = einsum("ijk->ij", &[&x]).unwrap();
        assert_eq!(einsum("ij,ij->", &[&graph, &graph]).unwrap().item_as::<f64>().unwrap(), 21.0);
        assert_eq!(einsum("ij,kj->ik", &[&graph, &graph]).unwrap().nse(), 5);
    });
}

/// A step that is not sparse asks for the budget.
#[test]
fn budget() {
    let a = sparse(&[300, 300], 0.01, 1).replace_fill(2.0).unwrap();
    with_densify_budget(1000, || says(einsum("ij,jk->ik", &[&a, &a]), &["einsum", "densify budget of 1000"]));
    assert_eq!(einsum("ij,jk->ik", &[&a, &a]).unwrap().shape(), [300, 300]);
}

/// Undefined fills are skipped: the result of a sparse tensor with one has no rows where nothing is.
#[test]
fn absent() {
    let x = sparse(&[20, 10, 10], 0.01, 3).stored();
    let (b, c) = (Tensor::rand([10, 2], 2).unwrap(), Tensor::rand([10, 2], 3).unwrap());
    let y = einsum("ijk,jr,kr->ir", &[&x, &b, &c]).unwrap();
    assert_eq!(y.fill(), Some(&Fill::Undefined));
    let dense = einsum("ijk,jr,kr->ir", &[&x.replace_fill(0.0).unwrap(), &b, &c]).unwrap();
    assert!(y.nse() > 0 && y.nse() < 40);
    assert!(y.replace_fill(0.0).unwrap().allclose(&dense, 1e-12, 1e-15).unwrap());
}

/// A product over what a tensor stores in any order of its axes, with rows of any number of columns, on any number of threads.
#[test]
fn factors() {
    let shape = [40, 60, 50];
    let x = sparse(&shape, 0.6, 1);
    for columns in [1, 3, 8, 16, 21] {
        let factor = |axis: usize| Tensor::rand([shape[axis], columns], axis as u64).unwrap();
        let (a, b, c) = (factor(0), factor(1), factor(2));
        let cases: [(&str, [&Tensor; 2]); 3] =
            [("ijk,jr,kr->ir", [&b, &c]), ("ijk,ir,kr->jr", [&a, &c]), ("ijk,ir,jr->kr", [&a, &b])];
        for (equation, [p, q]) in cases {
            let whole = einsum(equation, &[&x.to_dense().unwrap(), p, q]).unwrap();
            for order in [[0, 1, 2], [1, 2, 0], [2, 1, 0]] {
                let back: Vec<usize> = (0..3).map(|axis| order.iter().position(|&o| o == axis).unwrap()).collect();
                let stored = x.permute_dims(order).unwrap().to_layout(Layout::Csf).unwrap().permute_dims(back).unwrap();
                let one = parallel::with_threads(1, || einsum(equation, &[&stored, p, q]).unwrap()).unwrap();
                assert!(one.allclose(&whole, 1e-12, 0.0).unwrap(), "{equation} of {order:?} with {columns} columns");
                let three = parallel::with_threads(3, || einsum(equation, &[&stored, p, q]).unwrap()).unwrap();
                assert!(one.equal(&three).unwrap(), "{equation} of {order:?} on three threads");
            }
        }
    }
    let (_, steps) = explain(|| einsum("ijk,jr,kr->ir", &[&x, &zeros(&[60, 2]), &zeros(&[50, 2])]).unwrap());
    assert_eq!(steps.len(), 1);
    assert!(steps[0].steps.iter().all(|s| s.op != "matmul_with"), "{}", steps[0]);
}

/// Rows and columns of arrays, each times its own: as products that are added afterwards, of whole numbers, whose sums are exact in any order. In
/// whatever order they lie, and on as many threads.
#[test]
fn rows_and_columns_of_arrays_with_their_own() {
    let array = |shape: &[usize], dtype: DType, seed: usize| {
        let n = shape.iter().product();
        let numbers = (0..n).map(|i: usize| (i.wrapping_mul(0x9e37_79b1).wrapping_add(seed) >> 7) as i64 % 5);
        Tensor::from_vec(shape, numbers.collect::<Vec<i64>>()).unwrap().cast(dtype).unwrap()
    };
    let check = |equation: &str, x: &Tensor, y: &Tensor, axes: Vec<isize>| {
        let wanted = x.mul(y).unwrap().sum(axes).unwrap().cast(x.dtype()).unwrap();
        for threads in [1, 2, 3] {
            let found = parallel::with_threads(threads, || einsum(equation, &[x, y])).unwrap().unwrap();
            assert_eq!(found.dtype(), x.dtype());
            assert!(found.equal(&wanted).unwrap(), "{equation} of {:?} {} on {threads}", x.shape(), x.dtype());
        }
    };
    for dtype in [DType::F64, DType::F32, DType::Complex64, DType::I32, DType::U32, DType::F16] {
        for shape in [[300, 3], [3, 3000], [50_000, 5], [2, 40_000], [70, 1], [1, 70], [17, 16], [33, 40]] {
            let (x, y) = (array(&shape, dtype, 1), array(&shape, dtype, 9));
            let flipped = y.flip(0).unwrap();
            let turned = array(&[shape[1], shape[0]], dtype, 5).permute_dims([1, 0]).unwrap();
            let every_other = array(&[shape[0], 2 * shape[1]], dtype, 3).slice(s![.., ..;2]).unwrap();
            for y in [&y, &flipped, &turned, &every_other] {
                // Sums of float16 are exact as far as its whole numbers go.
                if dtype == DType::F16 && shape[0].max(shape[1]) > 300 {
                    continue;
                }
                check("ij,ij->i", &x, y, vec![1]);
                check("ij,ij->j", &x, y, vec![0]);
            }
        }
        let (x, y) = (array(&[6, 20, 30], dtype, 1), array(&[6, 20, 30], dtype, 2));
        check("bij,bij->bj", &x, &y, vec![1]);
        check("bij,bij->bi", &x, &y, vec![2]);
        check("bij,bij->ij", &x, &y, vec![0]);
        check("bij,bij->b", &x, &y, vec![1, 2]);
        let of_two = x.permute_dims([1, 0, 2]).unwrap();
        check("bij,bij->bj", &of_two, &y.permute_dims([1, 0, 2]).unwrap(), vec![1]);
    }
}
