//! Tensors of every layout and element type that both libraries have.

use openwork::{DType, Layout, LevelKind, LevelSpec, Part, Tensor};

/// Element types that both have.
pub const DTYPES: [DType; 12] = [
    DType::Bool,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
    DType::Complex64,
    DType::Complex128,
];

/// Small whole numbers, some stored zeros among them, which every element type holds.
pub fn matrix(shape: [usize; 2], seed: u64) -> Tensor {
    let x = Tensor::random(shape, 0.4, 0.0, Layout::Coo, seed).unwrap();
    ((x * 5.0).unwrap() - 0.4).unwrap().round().unwrap().replace_fill(0.0).unwrap()
}

/// The layouts that both have, of one element type.
pub fn all(dtype: DType, seed: u64) -> Vec<(&'static str, Tensor)> {
    let x = matrix([6, 8], seed).abs().unwrap().cast(dtype).unwrap();
    let cube = Tensor::stack(&[&x, &x.flip(0).unwrap()], 2).unwrap(); // [6, 8, 2]
    let batches = Tensor::stack(&[&x, &(&x + &x).unwrap(), &x], 0).unwrap(); // as many stored in each
    let to = |x: &Tensor, layout| x.to_layout(layout).unwrap();
    let whole = |axis| (axis, Part::Whole);
    let rows = LevelSpec {
        levels: vec![LevelKind::Dense, LevelKind::Sparse { rank: 1 }],
        dims: vec![whole(0), whole(1), whole(2)],
    };
    let columns = LevelSpec { dims: vec![whole(1), whole(0), whole(2)], ..rows.clone() };
    let first = Tensor::arange(0.0, 6.0, 1.0).unwrap().cast(DType::I64).unwrap();
    let twice = Tensor::concat(&[&first, &first], 0).unwrap();
    let values = Tensor::ones([12], dtype, Layout::Strided).unwrap();
    let repeated = Tensor::coo([6, 8], vec![&twice, &twice], &values, openwork::Scalar::zero(dtype)).unwrap();
    vec![
        ("strided", x.to_dense().unwrap()),
        ("coo", to(&x, Layout::Coo)),
        ("coo, uncoalesced", repeated),
        ("coo, hybrid", to(&cube, Layout::HybridCoo { dense_dims: 1 })),
        ("coo, 3 axes", to(&cube, Layout::Coo)),
        ("csr", to(&x, Layout::Csr)),
        ("csc", to(&x, Layout::Csc)),
        ("bsr", to(&x, Layout::Bsr { block: [2, 4] })),
        ("bsc", to(&x, Layout::Bsc { block: [3, 2] })),
        ("csr, dense axis", cube.to_levels(&rows).unwrap()),
        ("csc, dense axis", cube.to_levels(&columns).unwrap()),
        ("csr, batches", to(&batches, Layout::Csr)),
        ("csc, batches", to(&batches, Layout::Csc)),
        ("bsr, batches", to(&batches, Layout::Bsr { block: [2, 4] })),
        ("bsc, batches", to(&batches, Layout::Bsc { block: [3, 2] })),
    ]
}
