use super::*;
use crate::DType;

fn rows<'a>(pointers: &'a [u32], indices: &'a [u32], values: &'a [f64]) -> Rows<'a> {
    Rows {
        pointers: IndexSlice::U32(pointers),
        base: pointers[0] as usize,
        indices: IndexSlice::U32(indices),
        values: bytemuck::cast_slice(values),
    }
}

#[test]
fn all_kernels_agree() {
    // [[1, 0, 2], [0, 0, 0], [0, 3, 0]] times [[0, 1], [5, 0], [7, 4]]
    let a = rows(&[3, 5, 5, 6], &[0, 2, 1], &[1.0, 2.0, 3.0]);
    let b = rows(&[0, 1, 2, 4], &[1, 0, 0, 1], &[1.0, 5.0, 7.0, 4.0]);
    let (dense_a, dense_b) = ([1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0], [0.0, 1.0, 5.0, 0.0, 7.0, 4.0]);
    let left = Grid { values: bytemuck::cast_slice(&dense_a), row: 3, col: 1 };
    let right = Grid { values: bytemuck::cast_slice(&dense_b), row: 2, col: 1 };
    let kernels = Ring::Float.kernels();
    let run = |f: &dyn Fn(&mut [u8])| {
        let mut acc = [0f64; 6];
        f(bytemuck::cast_slice_mut(&mut acc));
        assert_eq!(acc, [14.0, 9.0, 0.0, 0.0, 15.0, 0.0]);
    };
    run(&|acc| (kernels.sparse_dense)(a, 0..3, right, 2, acc));
    run(&|acc| (kernels.sparse_sparse)(a, 0..3, b, 0, 2, acc));
    run(&|acc| (kernels.dense_sparse)(left, 0..3, b, 0..3, None, 2, acc));
    run(&|acc| (kernels.dense_sparse)(left, 0..3, b, 0..3, Some((10, &[10, 11, 12])), 2, acc));
    run(&|acc| (kernels.dense_dense)(left, 0..3, right, 3, 2, acc));
    let finish = |acc: &[u8], out: &mut [u8]| Ring::Float.finish(acc, DType::F64, out);
    let product = (kernels.gustavson)(a, &[Run { left: 0..3, right: 0, init: None }], b, 2, &finish, 8);
    assert_eq!((product.counts, product.columns), (vec![2, 0, 1], IndexVec::U32(vec![0, 1, 0])));
    let values: Vec<f64> = product.values.as_chunks().0.iter().map(|c| f64::from_ne_bytes(*c)).collect();
    assert_eq!(values, [14.0, 9.0, 15.0]);
}

#[test]
fn doubles_survive_cancellation() {
    let ring = Ring::new(DType::F64, true);
    let mut terms = [0f64; 4];
    ring.widen(
        bytemuck::cast_slice(&[1e-20, 1.0]),
        Some(bytemuck::cast_slice(&[1.0, 1.0])),
        bytemuck::cast_slice_mut(&mut terms),
    );
    // (1e-20 - 1) + (1 - 1) + 1
    let a = rows(&[0, 2], &[0, 1], &[]);
    let a = Rows { values: bytemuck::cast_slice(&terms), ..a };
    let ones = [1.0, 0.0];
    let mut acc = [1.0, 0.0];
    let right = Grid { values: bytemuck::cast_slice(&ones), row: 0, col: 0 };
    (ring.kernels().sparse_dense)(a, 0..1, right, 1, bytemuck::cast_slice_mut(&mut acc));
    let mut out = [0f64];
    ring.finish(bytemuck::cast_slice(&acc), DType::F64, bytemuck::cast_slice_mut(&mut out));
    assert_eq!(out, [1e-20]);
}
