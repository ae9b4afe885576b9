//! Many elements over fills that vary, and in other orders than that of rows, beside the same op on the strided tensor: on one, two and
//! three threads. Values are small integers and halves, so that every sum is exact.

use openwork::{DType, Fill, Index, Layout, Result, Scalar, Tensor};

use crate::common::on_threads;
use crate::common::rng::Rng;

/// About `n` elements anywhere, over a fill with the tensor's size along `along` and 1 along other axes.
fn over(shape: &[usize], n: usize, along: Option<usize>, seed: u64) -> Tensor {
    let mut random = Rng::new(seed);
    let mut places: Vec<Vec<i64>> =
        (0..n).map(|_| shape.iter().map(|&size| random.below(size) as i64).collect()).collect();
    places.sort_unstable();
    places.dedup();
    // Some rows store nothing, and one stores all.
    places.retain(|p| p[0] % 7 != 3 && p[0] != 5);
    if let [_, columns] = *shape {
        places.extend((0..columns as i64).map(|c| vec![5, c]));
    }
    let indices = (0..shape.len()).map(|a| places.iter().map(|p| p[a]).collect::<Vec<i64>>());
    let values: Vec<f64> = places.iter().map(|_| random.below(41) as f64 / 2.0 - 10.0).collect();
    let values = Tensor::from_vec([values.len()], values).unwrap();
    let x = Tensor::coo(shape, indices.collect::<Vec<_>>(), &values, 0.0).unwrap();
    let x = if shape.len() == 2 { x.to_layout(Layout::Csr).unwrap() } else { x };
    let Some(along) = along else { return x };
    let mut of_fill = vec![1; shape.len()];
    of_fill[along] = shape[along];
    let fill: Vec<f64> = (0..shape[along]).map(|_| random.below(9) as f64 - 4.0).collect();
    x.replace_fill(Fill::array(Tensor::from_vec(of_fill, fill).unwrap())).unwrap()
}

fn same(what: &str, sparse: &(dyn Fn() -> Result<Tensor> + Sync), strided: Result<Tensor>) {
    let found = on_threads(what, sparse);
    let wanted = strided.unwrap();
    assert_eq!((found.shape(), found.dtype()), (wanted.shape(), wanted.dtype()), "{what}");
    let is_same = found.to_dense().unwrap().equal_nan(&wanted.to_dense().unwrap());
    assert!(is_same.unwrap(), "{what}: {found} is not {wanted}");
}

const MATRIX: [usize; 2] = [3_000, 90];
const CUBE: [usize; 3] = [60, 50, 40];

#[test]
fn pairs_are_merged_over_fills_along_any_axis() {
    for (shape, axes) in [(&MATRIX[..], 2), (&CUBE[..], 3)] {
        let fills = (0..axes).map(Some).chain([None]);
        for (a, b) in fills.clone().flat_map(|a| fills.clone().map(move |b| (a, b))) {
            if a.is_some() && b.is_some() && a != b {
                continue; // the result's fill would vary along two axes
            }
            let (x, y) = (over(shape, 40_000, a, 1), over(shape, 60_000, b, 2));
            let layouts = if axes == 2 {
                [Layout::Csr, Layout::Csc, Layout::Coo]
            } else {
                [Layout::Coo, Layout::Csf, Layout::Coo]
            };
            for (layout, dtype) in layouts.into_iter().zip([DType::F64, DType::F32, DType::I16]) {
                let [x, y] = [&x, &y].map(|x| x.cast(dtype).unwrap().to_layout(layout).unwrap());
                let (of_x, of_y) = (x.to_dense().unwrap(), y.to_dense().unwrap());
                let what = |op: &str| format!("{op} {a:?} {b:?} {layout} {dtype}");
                same(&what("add"), &|| x.add(&y), of_x.add(&of_y));
                same(&what("mul"), &|| x.mul(&y), of_x.mul(&of_y));
                same(&what("maximum"), &|| x.maximum(&y), of_x.maximum(&of_y));
                same(&what("gt"), &|| x.gt(&y), of_x.gt(&of_y));
            }
            let [x, y] = [&x, &y].map(|x| x.cast(DType::Complex64).unwrap());
            let (of_x, of_y) = (x.to_dense().unwrap(), y.to_dense().unwrap());
            same("complex", &|| x.sub(&y), of_x.sub(&of_y));
        }
    }
}

#[test]
fn folds_along_the_axis_of_a_fill() {
    for (shape, axes) in [(&MATRIX[..], 2), (&CUBE[..], 3)] {
        for along in 0..axes {
            for dtype in [DType::F64, DType::F32, DType::I32] {
                let x = over(shape, 40_000, Some(along), 3).cast(dtype).unwrap();
                let dense = x.to_dense().unwrap();
                for axis in 0..axes {
                    let what = |op: &str| format!("{op} over {axis}, fill along {along}, {dtype}");
                    same(&what("sum"), &|| x.sum(axis), dense.sum(axis));
                    same(&what("max"), &|| x.max(axis), dense.max(axis));
                    same(&what("min"), &|| x.min(axis), dense.min(axis));
                    same(&what("argmax"), &|| x.argmax(axis), dense.argmax(axis));
                    same(&what("median"), &|| x.median(axis), dense.median(axis));
                    same(&what("quantile"), &|| x.quantile(0.25, axis), dense.quantile(0.25, axis));
                    same(&what("any"), &|| x.any(axis), dense.any(axis));
                }
                let what = |op: &str| format!("{op} of all, fill along {along}, {dtype}");
                same(&what("sum"), &|| x.sum(..), dense.sum(..));
                same(&what("min"), &|| x.min(..), dense.min(..));
                same(&what("median"), &|| x.median(..), dense.median(..));
                same(&what("norm"), &|| x.vector_norm(f64::INFINITY, ..), dense.vector_norm(f64::INFINITY, ..));
            }
        }
    }
}

/// Fills of which all elements, or all of the greatest, are stored over; NaN stored, beneath, and where nothing is stored.
#[test]
fn extremes_of_fills_that_are_stored_over() {
    let nan = f64::NAN;
    let fill =
        Tensor::from_vec([1, 12], (0..12).map(|i| if i == 11 { nan } else { f64::from(i / 2) }).collect()).unwrap();
    let rows: [&[(i64, f64)]; 6] = [
        &[],
        &[(11, 1.0)],
        &[(11, nan), (3, 7.0)],
        &[(5, -1.0), (6, -1.0), (7, -1.0), (8, -1.0), (9, -1.0), (10, -1.0), (11, -1.0)],
        &[
            (0, 9.0),
            (1, 9.0),
            (2, 9.0),
            (3, 9.0),
            (4, 9.0),
            (5, 9.0),
            (6, 9.0),
            (7, 9.0),
            (8, 9.0),
            (9, 9.0),
            (11, 9.0),
        ],
        &[
            (0, 1.0),
            (1, 2.0),
            (2, 1.0),
            (3, 2.0),
            (4, 1.0),
            (5, 2.0),
            (6, 1.0),
            (7, 2.0),
            (8, 1.0),
            (9, 2.0),
            (10, 1.0),
            (11, 2.0),
        ],
    ];
    let all = || rows.iter().enumerate().flat_map(|(r, row)| row.iter().map(move |&(c, v)| (r as i64, c, v)));
    let indices = vec![all().map(|e| e.0).collect::<Vec<i64>>(), all().map(|e| e.1).collect::<Vec<i64>>()];
    let values: Vec<f64> = all().map(|e| e.2).collect();
    let values = Tensor::from_vec([values.len()], values).unwrap();
    let x = Tensor::coo([6, 12], indices, &values, Fill::array(fill)).unwrap();
    for x in [x.clone(), x.to_layout(Layout::Csr).unwrap(), x.to_layout(Layout::Csc).unwrap()] {
        let dense = x.to_dense().unwrap();
        same("max", &|| x.max(1), dense.max(1));
        same("min", &|| x.min(1), dense.min(1));
        same("argmin", &|| x.argmin(1), dense.argmin(1));
        same("median", &|| x.median(1), dense.median(1));
        same("nanmedian", &|| x.nanmedian(1), dense.nanmedian(1));
        for q in [0.0, 0.3, 0.5, 1.0] {
            same("nanquantile", &|| x.nanquantile(q, 1), dense.nanquantile(q, 1));
        }
    }
}

#[test]
fn columns_and_permuted_axes_in_any_order() {
    let x = over(&MATRIX, 40_000, None, 5);
    let cube = over(&CUBE, 40_000, None, 6).permute_dims([2, 0, 1]).unwrap();
    for x in [x.to_layout(Layout::Csc).unwrap(), x.to_layout(Layout::Csc).unwrap().replace_fill(1.5).unwrap(), cube] {
        let dense = x.to_dense().unwrap();
        same("median", &|| x.median(..), dense.median(..));
        same("quantile", &|| x.quantile(0.9, ..), dense.quantile(0.9, ..));
        same("max", &|| x.max(..), dense.max(..));
        same("argmax", &|| x.argmax(..), dense.argmax(..));
        let close = |a: Tensor, b: Tensor| a.allclose(&b, 1e-12, 0.0).unwrap();
        assert!(close(x.var(0.0, ..).unwrap(), dense.var(0.0, ..).unwrap()));
        assert!(close(x.vector_norm(2.0, ..).unwrap(), dense.vector_norm(2.0, ..).unwrap()));
        let last = x.ndim() - 1;
        assert!(close(x.var(1.0, [0, last]).unwrap().to_dense().unwrap(), dense.var(1.0, [0, last]).unwrap()));
    }
}

#[test]
fn masks_that_store_what_they_mark() {
    let (x, other) = (over(&MATRIX, 40_000, None, 8), over(&MATRIX, 50_000, None, 9));
    let cube = over(&CUBE, 30_000, None, 10).permute_dims([1, 2, 0]).unwrap();
    let layouts = [Layout::Csr, Layout::Csc, Layout::Coo, Layout::Dcsr];
    let mut pairs = Vec::new();
    for layout in layouts {
        let x = x.to_layout(layout).unwrap();
        pairs.push((x.clone(), x.gt(2.0).unwrap()));
        pairs.push((x.clone(), x.stored().gt(2.0).unwrap()));
        pairs.push((x.replace_fill(-3.0).unwrap(), other.gt(1.0).unwrap()));
        pairs.push((x, other.to_layout(Layout::Csc).unwrap().ne(0.0).unwrap()));
    }
    pairs.push((cube.clone(), cube.gt(0.0).unwrap()));
    pairs.push((cube.clone(), cube.to_layout(Layout::Csf).unwrap().lt(0.0).unwrap()));
    for (x, mask) in pairs {
        let is_marked = |mask: &Tensor| Index::from(mask.clone());
        let marks = mask.stored().to_dense_with(false).unwrap();
        let marks = if mask.fill().is_some_and(Fill::is_undefined) { marks } else { mask.to_dense().unwrap() };
        let what = format!("{} {} marks {:?}", x.layout(), mask.layout(), mask.fill());
        same(&what, &|| x.index([is_marked(&mask)]), x.to_dense().unwrap().index([is_marked(&marks)]));
    }
    let x = Tensor::zeros([3, 1 << 40], DType::F64, Layout::Coo).unwrap();
    let none = x.index([Index::from(x.gt(1.0).unwrap())]).unwrap();
    assert_eq!((none.shape(), none.nse()), (&[0][..], 0));
}

#[test]
fn an_element_of_columns_and_of_permuted_axes() {
    let x = over(&MATRIX, 40_000, None, 11).to_layout(Layout::Csc).unwrap();
    let cube = over(&CUBE, 30_000, Some(1), 12).permute_dims([1, 2, 0]).unwrap();
    let dense = [x.to_dense().unwrap(), cube.to_dense().unwrap()];
    let mut random = Rng::new(13);
    for _ in 0..300 {
        let (r, c) = (random.below(MATRIX[0]), random.below(MATRIX[1]));
        let at = |x: &Tensor| x.index([Index::from(r), Index::from(c)]).unwrap().item().unwrap();
        assert_eq!(at(&x), at(&dense[0]));
        let (i, j, k) = (random.below(CUBE[1]), random.below(CUBE[2]), random.below(CUBE[0]));
        let at = |x: &Tensor| x.index([Index::from(i), Index::from(j..), Index::from(k)]).unwrap().to_dense().unwrap();
        assert!(at(&cube).equal_nan(&at(&dense[1])).unwrap());
    }
    let scalar = Scalar::from(0.0);
    assert_eq!(x.index([Index::from(3), Index::from(3)]).unwrap().fill().and_then(Fill::as_scalar), Some(scalar));
}

#[test]
fn several_matrices_over_a_fill_times_one() {
    let right = Tensor::from_vec([40, 3], (0..120).map(|i| f64::from(i % 11) - 5.0).collect::<Vec<f64>>()).unwrap();
    let vector = Tensor::from_vec([40], (0..40).map(|i| f64::from(i % 7) - 3.0).collect::<Vec<f64>>()).unwrap();
    let x = over(&CUBE, 20_000, None, 14);
    let fills = [x.replace_fill(1.5).unwrap(), over(&CUBE, 20_000, Some(2), 15), over(&CUBE, 20_000, Some(0), 16)];
    for x in fills {
        for x in [x.clone(), x.to_layout(Layout::Csf).unwrap()] {
            let dense = x.to_dense().unwrap();
            same("columns", &|| x.matmul(&right), dense.matmul(&right));
            same("vector", &|| x.matmul(&vector), dense.matmul(&vector));
        }
    }
}
