//! Results written into the memory of a tensor that is no longer needed.
use openwork::{BinaryOp, DType, ErrorKind, Layout, Tensor, UnaryOp, with_densify_budget};

fn dense(shape: &[usize], scale: f64) -> Tensor {
    let n = shape.iter().product::<usize>();
    Tensor::from_vec(shape, (0..n).map(|i| i as f64 * scale).collect::<Vec<f64>>()).unwrap()
}

fn same(a: &Tensor, b: &Tensor) {
    assert!(a.same_meaning(b).unwrap(), "{a:?}\n{b:?}");
    assert_eq!((a.layout(), a.dtype()), (b.layout(), b.dtype()));
}

/// Where the values are.
fn place(x: &Tensor) -> *const f64 {
    let values = if x.is_strided() { x.clone() } else { x.stored_values() };
    values.values::<f64>().unwrap().as_ptr()
}

#[test]
fn memory_of_the_same_size_is_written_again() {
    let x = dense(&[30, 40], 0.25);
    let mut out = x.sin().unwrap();
    let at = place(&out);
    x.unary_into(UnaryOp::Exp, &mut out).unwrap();
    same(&out, &x.exp().unwrap());
    assert_eq!(place(&out), at);
    x.binary_into(BinaryOp::Add, dense(&[40], 3.0), &mut out).unwrap();
    same(&out, &x.add(dense(&[40], 3.0)).unwrap());
    assert_eq!(place(&out), at);
    let y = dense(&[30, 30], 0.5);
    y.matmul_into(&x, &mut out).unwrap();
    same(&out, &y.matmul(&x).unwrap());
    assert_eq!(place(&out), at);
    let sparse = y.to_layout(Layout::Csr).unwrap();
    sparse.matmul_into(&x, &mut out).unwrap();
    same(&out, &sparse.matmul(&x).unwrap());
    assert_eq!(place(&out), at);
}

#[test]
fn values_of_a_pattern_are_written_again() {
    for layout in [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Csf, Layout::Bsr { block: [2, 2] }] {
        let x = Tensor::random([20, 30], 0.2, 0.5, layout, 3).unwrap();
        let mut out = x.mul(2.0).unwrap();
        let at = place(&out);
        x.unary_into(UnaryOp::Cos, &mut out).unwrap();
        same(&out, &x.cos().unwrap());
        assert_eq!(place(&out), at);
        x.binary_into(BinaryOp::Mul, &x, &mut out).unwrap();
        same(&out, &x.mul(&x).unwrap());
        assert_eq!(place(&out), at);
    }
}

#[test]
fn what_is_shared_is_left_alone() {
    let x = dense(&[6, 7], 1.0);
    let mut out = x.clone();
    x.unary_into(UnaryOp::Neg, &mut out).unwrap();
    same(&out, &x.neg().unwrap());
    let kept = out.clone();
    let row = out.narrow(1..2, 0).unwrap();
    x.unary_into(UnaryOp::Square, &mut out).unwrap();
    same(&out, &x.square().unwrap());
    same(&kept, &x.neg().unwrap());
    same(&row, &x.neg().unwrap().narrow(1..2, 0).unwrap());
    // A window is not all of its memory, even when it is all that is left of it.
    let mut window = x.sin().unwrap().narrow(2..5, 0).unwrap();
    let y = dense(&[3, 7], 2.0);
    y.unary_into(UnaryOp::Exp, &mut window).unwrap();
    same(&window, &y.exp().unwrap());
}

#[test]
fn any_tensor_can_become_the_result() {
    let x = dense(&[4, 5], 1.0);
    let others = [
        Tensor::scalar(true),
        Tensor::zeros([0, 3], DType::F32, Layout::Coo).unwrap(),
        Tensor::random([4, 5], 0.5, 0.0, Layout::Csr, 1).unwrap(),
        x.to_layout(Layout::Coo).unwrap().stored(),
        x.cast(DType::I8).unwrap(),
    ];
    for mut out in others {
        x.binary_into(BinaryOp::Gt, 3.0, &mut out).unwrap();
        same(&out, &x.gt(3.0).unwrap());
        x.unary_into(UnaryOp::Sqrt, &mut out).unwrap();
        same(&out, &x.sqrt().unwrap());
    }
    // Truth values do not go where other bytes were.
    let mut bytes = Tensor::from_vec([4, 5], (0..20u8).map(|i| 0xf0 | i).collect::<Vec<u8>>()).unwrap();
    x.binary_into(BinaryOp::Lt, 7.0, &mut bytes).unwrap();
    same(&bytes, &x.lt(7.0).unwrap());
}

#[test]
fn an_error_leaves_it_as_it_was() {
    let x = dense(&[4, 5], 1.0);
    let mut out = x.sin().unwrap();
    let (before, at) = (x.sin().unwrap(), place(&out));
    let why = x.binary_into(BinaryOp::Add, dense(&[3], 1.0), &mut out).unwrap_err();
    assert!(why.to_string().contains("[4, 5]"), "{why}");
    assert!(x.binary_into(BinaryOp::BitwiseAnd, 1.5, &mut out).is_err());
    assert!(x.matmul_into(&x, &mut out).is_err());
    let columns = Tensor::random([4, 5], 0.5, 0.0, Layout::Coo, 1).unwrap().add(dense(&[5], 1.0)).unwrap();
    let rows = columns.matrix_transpose().unwrap().reshape([5, 4]).unwrap();
    let wide = with_densify_budget(0, || columns.matmul_into(&rows, &mut out)).unwrap_err();
    assert!(matches!(wide.kind(), ErrorKind::Densify { .. }), "{wide}");
    same(&out, &before);
    assert_eq!(place(&out), at);
}

/// Updates are written over the values where nobody shares them.
#[test]
fn updates_in_place() {
    let dense = Tensor::rand([300, 200], 1).unwrap();
    let row = Tensor::rand([200], 2).unwrap();
    for layout in [Layout::Strided, Layout::Coo, Layout::Csr, Layout::Csf] {
        let mut x = Tensor::random([300, 200], 0.1, 0.5, Layout::Csr, 3).unwrap().to_layout(layout).unwrap();
        let mut want = x.mul(3.0).unwrap();
        let at = place(&x);
        x.mul_assign(3.0).unwrap();
        same(&x, &want);
        want = want.sub(1.5).unwrap();
        x.sub_assign(1.5).unwrap();
        same(&x, &want);
        // The same pattern.
        let beside = x.sin().unwrap();
        want = want.add(&beside).unwrap();
        x.add_assign(&beside).unwrap();
        same(&x, &want);
        assert_eq!(place(&x), at, "{layout}");
        if layout == Layout::Strided {
            for other in [&dense, &row, &Tensor::scalar(2.0), &Tensor::scalar(2i32)] {
                want = want.div(other).unwrap();
                x.div_assign(other).unwrap();
                same(&x, &want);
                assert_eq!(place(&x), at);
            }
        }
        want = want.abs().unwrap();
        x.unary_assign(UnaryOp::Abs).unwrap();
        same(&x, &want);
        assert_eq!(place(&x), at, "{layout}");
        // Somebody else looks at the values: they stay as they are.
        let (clone, before) = (x.clone(), x.to_vec::<f64>().unwrap());
        x.binary_assign(BinaryOp::Maximum, 0.25).unwrap();
        assert_eq!(clone.to_vec::<f64>().unwrap(), before);
        assert_ne!(place(&x), at);
        same(&x, &clone.maximum(0.25).unwrap());
        let shared = x.clone();
        x.unary_assign(UnaryOp::Neg).unwrap();
        same(&shared.neg().unwrap(), &x);
        x.unary_assign(UnaryOp::Signbit).unwrap(); // another dtype
        same(&x, &shared.neg().unwrap().signbit().unwrap());
    }
}

/// Memory of any size begins at a line of the cache.
#[test]
fn values_begin_at_a_line_of_the_cache() {
    for n in [129, 200, 1000, 5000, 100_000, 1_000_000] {
        let x = dense(&[n], 1.0).sin().unwrap();
        let at = x.values::<f64>().unwrap().as_ptr().addr();
        assert_eq!(at % 64, 0, "{n}");
    }
}

/// What does not fit over the values is an ordinary result; what fails leaves the tensor alone.
#[test]
fn updates_that_change_the_form() {
    let mut x = openwork::tensor![[1i64, 0], [0, 2]; Layout::Csr, 0].unwrap();
    x.div_assign(2).unwrap();
    assert_eq!((x.dtype(), x.to_vec::<f64>().unwrap()), (DType::F64, vec![0.5, 0.0, 0.0, 1.0]));
    x.add_assign(openwork::tensor![[[1.0]], [[2.0]]]).unwrap();
    assert_eq!(x.shape(), [2, 2, 2]);
    let before = x.to_string();
    assert!(x.add_assign(openwork::tensor![1.0, 2.0, 3.0]).unwrap_err().to_string().contains("add_assign"));
    assert_eq!(x.to_string(), before);
    let mut fill = openwork::tensor![[0.0, 2.0]; Layout::Coo, 0.0].unwrap();
    fill.mul_assign(f64::INFINITY).unwrap();
    same(&fill, &openwork::tensor![[0.0, 2.0]; Layout::Coo, 0.0].unwrap().mul(f64::INFINITY).unwrap());
}
