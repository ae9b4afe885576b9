//! Wrong input: the error names the op, what was given and what is allowed.

use super::*;

#[test]
fn conditions_and_masks() {
    let (x, y) = (vector(&[1.0, 2.0]), vector(&[1.0, 2.0, 3.0]));
    let error = says(x.where_(1.0, 2.0), &["where_", "float64", "must be bool"]);
    assert!(matches!(error.kind(), ErrorKind::DType { .. }));
    says(x.mask(&x), &["mask", "float64", "must be bool"]);
    says(x.mask_complement(&x), &["mask_complement", "must be bool"]);
    let c = x.gt(0.0).unwrap();
    let error = says(c.where_(&x, &y), &["where_", "[2]", "[3]", "do not broadcast"]);
    assert!(matches!(error.kind(), ErrorKind::Shape { .. }));
    says(y.mask(&c), &["mask", "[3]", "[2]"]);
    let ints = Tensor::from_vec([2], vec![1u8, 2]).unwrap();
    says(c.where_(&ints, 300), &["where_", "300", "uint8"]);
    let (u, i) = (ints.cast(DType::U64).unwrap(), ints.cast(DType::I64).unwrap());
    says(c.where_(&u, &i), &["where_", "uint64", "int64", "cast one side"]);
}

#[test]
fn typed_functions() {
    let x = vector(&[1.0, 2.0]);
    let error = says(x.map(|v: f32| v), &["map", "float64", "takes float32 as operand 0", "cast"]);
    assert!(matches!(error.kind(), ErrorKind::DType { .. }));
    says(x.zip_with(&x, |a: f64, b: i32| a + f64::from(b)), &["zip_with", "takes int32 as operand 1"]);
    says(x.zip_with3(&x, &x, |a: f64, _: f64, _: bool| a), &["zip_with3", "takes bool as operand 2"]);
    says(Tensor::zip_many(&[], |v: &[f64]| v[0]), &["zip_many", "operands", "none given"]);
    says(Tensor::zip_many(&[&x], |v: &[f32]| v[0]), &["zip_many", "takes float32"]);
    says(x.zip_with(&vector(&[1.0; 3]), |a: f64, b: f64| a + b), &["zip_with", "[2]", "[3]", "do not broadcast"]);
    says(x.apply_stored(|v: i8| v), &["apply_stored", "takes int8"]);
    says(x.index_map(|_: &[usize], v: i8| v), &["index_map", "takes int8"]);
    says(x.select(|_: &[usize], _: i8| true), &["select", "takes int8"]);
    says(x.select_values(|_: i8| true), &["select_values", "takes int8"]);
}

#[test]
fn unions() {
    let x = coo(&[2], &[&[0]], &[1.0], Fill::Undefined);
    let ints = Tensor::coo([2], vec![vec![0u64]], &Tensor::from_vec([1], vec![1u8]).unwrap(), Fill::Undefined).unwrap();
    says(x.union(BinaryOp::BitwiseAnd, &x, 0, 0), &["union", "bitwise_and", "float64"]);
    says(ints.union(BinaryOp::Add, &ints, -1, 0), &["union", "-1", "uint8"]);
    says(ints.union(BinaryOp::Add, &ints, 0, 256), &["union", "256", "uint8"]);
    says(x.union(BinaryOp::Add, &coo(&[3], &[], &[], Fill::Undefined), 0, 0), &["union", "[2]", "[3]"]);
}

#[test]
fn arguments() {
    let x = vector(&[1.0, 2.0]);
    says(x.clamp(None, None), &["clamp", "low, high", "at least one"]);
    says(x.isclose(&x, -1.0, 0.0), &["isclose", "rtol", "-1", "at least 0"]);
    says(x.allclose(&x, 0.0, f64::NAN), &["allclose", "atol", "NaN"]);
    says(x.allclose(&vector(&[1.0; 3]), 0.0, 0.0), &["allclose", "[2]", "[3]"]);
    says(x.polygamma(171), &["polygamma", "order", "171", "0..=170"]);
    says(x.mvlgamma(0), &["mvlgamma", "p", "0 given"]);
    let z = x.cast(DType::Complex64).unwrap();
    says(z.polygamma(1), &["polygamma", "complex64"]);
    says(x.lerp(&x, &z), &["complex64"]);
    says(x.lerp(&x, openwork::c64::new(0.5, 0.0)), &["lerp", "must be real"]);
    says(x.gt(0.0).unwrap().positive(), &["positive", "bool"]);
    says(z.clamp(0, 1), &["clamp", "complex64"]);
    let (u, i) = (x.cast(DType::U64).unwrap(), x.cast(DType::I64).unwrap());
    says(u.equal(&i), &["equal", "uint64", "int64"]);
    assert!(!u.same_meaning(&i).unwrap());
}

/// What would have to store every element needs the budget, and says why.
#[test]
fn nothing_becomes_dense_unasked() {
    let x = coo(&[1 << 20, 1 << 20], &[&[0, 1]], &[4.0], 0.0);
    let densify = |result: Result<Tensor>, words: &[&str]| {
        let error = says(result, words);
        assert!(matches!(error.kind(), ErrorKind::Densify { .. }), "{error}");
    };
    densify(x.index_map(|at: &[usize], v: f64| v + at[0] as f64), &["index_map", "fill 0", "stored()"]);
    let m = x.eq(0.0).unwrap(); // its fill is true
    densify(x.mask(&m), &["mask", "every element has to be stored"]);
    densify(m.where_(&x, x.stored()), &["where_", "every element"]);
    assert_eq!(m.where_(x.stored(), &x).unwrap().nse(), 1);
    let (rows, columns) = (vector(&[1.0; 1 << 20]).reshape([1 << 20, 1]).unwrap(), vector(&[2.0; 1 << 20]));
    let of = |r: &Tensor| r.mul(Tensor::from_vec(r.shape(), (0..1 << 20).map(f64::from).collect()).unwrap()).unwrap();
    let f = |v: &[f64]| v[0] + v[1] * v[2];
    densify(&(&x - &of(&rows)).unwrap() - &of(&columns), &["sub", "[1048576, 1]", "[1, 1048576]"]);
    densify(Tensor::zip_many(&[&x, &of(&rows), &of(&columns)], f), &["zip_many", "[1048576, 1]", "[1, 1048576]"]);
}
