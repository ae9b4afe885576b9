//! Results are the same bit for bit on any number of threads: work is cut by its size, and put together in order.

use std::ops::Range;

use openwork::{Axes, DType, Fill, Layout, Product, Result, Semiring, Tensor, keep, parallel, s};

const SHAPE: [usize; 2] = [1500, 2000];
const THREADS: [usize; 3] = [2, 3, 8];

/// About 300 000 stored elements.
fn random(dtype: DType, layout: Layout, seed: u64) -> Tensor {
    Tensor::random(SHAPE, 0.1, 0.0, layout, seed).unwrap().sub(0.25).unwrap().cast(dtype).unwrap()
}

/// Stored in no order, most places more than once: sums of duplicates depend on their order.
fn unordered(dtype: DType) -> Tensor {
    let n = 300_000u64;
    let mix = |i: u64, salt: u64| {
        let z = (i ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
    };
    let rows: Vec<u64> = (0..n).map(|i| mix(i, 1) % 300).collect();
    let columns: Vec<u64> = (0..n).map(|i| mix(i, 2) % 400).collect();
    let values: Vec<f64> = (0..n).map(|i| mix(i, 3) as f64 / 7e8 - 1.5).collect();
    let values = Tensor::from_vec([values.len()], values).unwrap().cast(dtype).unwrap();
    Tensor::coo([300, 400], vec![rows, columns], &values, 0.0).unwrap()
}

/// What a tensor is, bit for bit.
#[derive(PartialEq)]
struct Bits {
    shape: Vec<usize>,
    layout: Layout,
    coordinates: Vec<(usize, Vec<u64>)>,
    values: Vec<u64>,
    fill: Option<Vec<u64>>,
}

impl Bits {
    fn of(x: &Tensor) -> Bits {
        let fill = match x.fill() {
            None => None,
            Some(Fill::Undefined) => Some(Vec::new()),
            Some(Fill::Array(values)) => Some(bits(values)),
            Some(_) => {
                Some(bits(&x.fill_value().unwrap().reshape([x.size() as usize]).unwrap().narrow(0..1, 0).unwrap()))
            }
        };
        let values = bits(&x.stored_values());
        Bits { shape: x.shape().to_vec(), layout: x.layout(), coordinates: x.coordinates(), values, fill }
    }
}

fn bits(x: &Tensor) -> Vec<u64> {
    let x = x.to_contiguous().unwrap();
    match x.dtype() {
        DType::F64 => x.values::<f64>().unwrap().iter().map(|v| v.to_bits()).collect(),
        DType::F32 => x.values::<f32>().unwrap().iter().map(|v| u64::from(v.to_bits())).collect(),
        DType::I64 => x.values::<i64>().unwrap().iter().map(|&v| v as u64).collect(),
        DType::Bool => x.values::<bool>().unwrap().iter().map(|&v| u64::from(v)).collect(),
        other => panic!("{other}"),
    }
}

/// Runs an op on one thread and on more.
fn same_on_all(what: &str, op: &(dyn Fn() -> Result<Tensor> + Sync)) {
    let run = |threads| Bits::of(&parallel::with_threads(threads, op).unwrap().unwrap());
    let one = run(1);
    for threads in THREADS {
        let many = run(threads);
        assert!(many.coordinates == one.coordinates, "{what}: other coordinates on {threads} threads");
        assert!(many.values == one.values, "{what}: other values on {threads} threads");
        assert!(many == one, "{what}: another fill or layout on {threads} threads");
    }
}

fn each_dtype(check: impl Fn(DType)) {
    [DType::F32, DType::F64].into_iter().for_each(check);
}

#[test]
fn elementwise() {
    each_dtype(|dtype| {
        for layout in [Layout::Coo, Layout::Csr, Layout::Strided] {
            let (x, y) = (random(dtype, layout, 1), random(dtype, layout, 2));
            assert!(layout == Layout::Strided || x.nse() > 280_000);
            let row = y.narrow(0..1, 0).unwrap();
            let what = |op: &str| format!("{op} of {dtype} {layout}");
            same_on_all(&what("add"), &|| &x + &y);
            same_on_all(&what("mul"), &|| &x * &y);
            same_on_all(&what("sin"), &|| x.sin());
            same_on_all(&what("exp"), &|| x.exp());
            same_on_all(&what("lt"), &|| x.binary(openwork::BinaryOp::Lt, &y));
            same_on_all(&what("add a row"), &|| &x + &row);
            same_on_all(&what("cast"), &|| x.cast(DType::I64));
        }
        let (x, y) = (random(dtype, Layout::Csr, 1), random(dtype, Layout::Csc, 2));
        same_on_all(&format!("add of {dtype} csr and csc"), &|| &x + &y);
        let strided = y.to_dense().unwrap();
        same_on_all(&format!("mul of {dtype} csr and strided"), &|| &x * &strided);
    });
}

/// All axes, the first, the second.
const AXES: [Range<usize>; 3] = [0..2, 0..1, 1..2];

#[test]
fn reductions() {
    type Op = (&'static str, fn(&Tensor, &Axes) -> Result<Tensor>);
    let ops: [Op; 6] = [
        ("sum", |x, axes| x.sum(axes)),
        ("mean", |x, axes| x.mean(axes)),
        // Near 1, so that a product of all is finite.
        ("prod", |x, axes| x.mul(1e-4)?.add(1.000_025)?.prod(axes)),
        ("max", |x, axes| x.max(keep(axes))),
        // True of some rows and columns alone, and other than 0 at some places: the fill of `x` is -0.25.
        ("any", |x, axes| x.gt(0.745)?.any(axes)),
        ("count_nonzero", |x, axes| x.maximum(0.0)?.count_nonzero(axes)),
    ];
    each_dtype(|dtype| {
        for layout in [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Csf, Layout::Strided] {
            let x = random(dtype, layout, 3);
            for (name, op) in ops {
                for axes in AXES {
                    let axes = &Axes::from(axes);
                    same_on_all(&format!("{name} of {dtype} {layout} over {axes:?}"), &|| op(&x, axes));
                }
            }
        }
    });
}

/// Folds into tables that are too large for a cache, a few of whose entries get most of the terms.
#[test]
fn reductions_to_many() {
    let (n, columns) = (400_000u64, 150_000);
    let mix = |i: u64| (i ^ (i >> 7)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
    let column = |i| if i % 3 == 0 { mix(i) % columns } else { mix(i) % 50 * 2_999 };
    let row: Vec<u64> = (0..n).map(|i| i / 100).collect();
    let kept: Vec<u64> = (0..n).map(column).collect();
    let values: Vec<f64> = (0..n).map(|i| (mix(i + n) % 1000) as f64 / 8.0 - 60.0).collect();
    let mut expected = vec![0.0; columns as usize];
    kept.iter().zip(&values).for_each(|(&k, v)| expected[k as usize] += v);

    let values = Tensor::from_vec([values.len()], values).unwrap();
    let flat = Tensor::coo([4000, columns as usize], vec![row.clone(), kept.clone()], &values, 0.0).unwrap();
    let (high, low) = kept.iter().map(|k| (k / 500, k % 500)).unzip();
    let cube = Tensor::coo([4000, 300, 500], vec![row, high, low], &values, 0.0).unwrap();
    for x in [flat.to_layout(Layout::Csr).unwrap(), flat, cube] {
        // Eighths are added exactly, thirds are not.
        let sum = x.sum(0).unwrap().to_dense().unwrap();
        assert_eq!(sum.reshape([expected.len()]).unwrap().values::<f64>().unwrap(), &expected);
        let thirds = x.div(3.0).unwrap();
        let what = |op: &str| format!("{op} of {} of {:?}", x.layout(), x.shape());
        same_on_all(&what("sum"), &|| thirds.sum(0));
        same_on_all(&what("max"), &|| thirds.max(0));
        same_on_all(&what("mean without fill"), &|| thirds.stored().mean(0));
        let narrow = x.cast(DType::F32).unwrap();
        same_on_all(&what("sum of float32"), &|| narrow.sum(0));
        let turned = thirds.cast(DType::Complex128).unwrap();
        same_on_all(&what("complex sum"), &|| turned.sum(0)?.view_as_real());
    }
}

/// Reductions of what has a fill that varies, or none.
#[test]
fn reductions_of_other_fills() {
    each_dtype(|dtype| {
        let x = random(dtype, Layout::Csr, 3);
        let centred = (&x - x.mean(keep(0)).unwrap()).unwrap();
        let absent = x.stored();
        for axes in AXES {
            same_on_all(&format!("sum of {dtype} with a fill array over {axes:?}"), &|| centred.sum(axes.clone()));
            same_on_all(&format!("mean of {dtype} without fill over {axes:?}"), &|| absent.mean(axes.clone()));
            same_on_all(&format!("max of {dtype} without fill over {axes:?}"), &|| absent.max(axes.clone()));
        }
    });
}

#[test]
fn softmax_and_its_kin() {
    each_dtype(|dtype| {
        for layout in [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Strided] {
            let x = random(dtype, layout, 8);
            let absent = x.stored();
            for axis in [0, 1] {
                let what = |op: &str| format!("{op} of {dtype} {layout} over {axis}");
                same_on_all(&what("softmax"), &|| x.softmax(axis));
                same_on_all(&what("log_softmax without fill"), &|| absent.log_softmax(axis));
                same_on_all(&what("logsumexp"), &|| x.logsumexp(axis));
                same_on_all(&what("normalize"), &|| x.normalize(2.0, axis));
                same_on_all(&what("standardize"), &|| x.standardize(1.0, axis));
            }
            same_on_all(&format!("softmax of all of {dtype} {layout}"), &|| absent.softmax(..));
        }
        // Few long rows, which threads share.
        let x = random(dtype, Layout::Strided, 8).reshape([3, 1_000_000]).unwrap();
        same_on_all(&format!("softmax of long rows of {dtype}"), &|| x.softmax(1));
        same_on_all(&format!("log_softmax of long rows of {dtype}"), &|| x.log_softmax(1));
    });
}

#[test]
fn conversions() {
    each_dtype(|dtype| {
        for from in [Layout::Coo, Layout::Csr, Layout::Dcsc, Layout::Strided] {
            let x = random(dtype, from, 4);
            for to in [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Dcsr, Layout::Strided] {
                same_on_all(&format!("{dtype} {from} to {to}"), &|| x.to_layout(to));
            }
            same_on_all(&format!("narrow of {dtype} {from}"), &|| x.narrow(300..1700, 1));
        }
        let x = random(dtype, Layout::Csr, 4);
        same_on_all(&format!("reshape of {dtype}"), &|| x.reshape([1000, 3000]));
        same_on_all(&format!("prune of {dtype}"), &|| x.maximum(0.0)?.prune());
        let part = x.narrow(0..300, 0).unwrap();
        for to in [Layout::Bsr { block: [3, 4] }, Layout::HybridCoo { dense_dims: 1 }] {
            same_on_all(&format!("{dtype} to {to}"), &|| part.to_layout(to));
        }
    });
}

#[test]
fn duplicates() {
    each_dtype(|dtype| {
        let x = unordered(dtype);
        assert_eq!((x.nse(), x.is_coalesced()), (300_000, false));
        same_on_all(&format!("coalesce of {dtype}"), &|| x.coalesce());
        same_on_all(&format!("coalesce of {dtype} by max"), &|| x.coalesce_with(openwork::ReduceOp::Max));
        same_on_all(&format!("csc of {dtype}"), &|| x.to_layout(Layout::Csc));
        same_on_all(&format!("sin of {dtype}"), &|| x.sin());
        same_on_all(&format!("to_dense of {dtype}"), &|| x.to_dense());
        for axes in AXES {
            same_on_all(&format!("sum of {dtype} over {axes:?}"), &|| x.sum(axes.clone()));
        }
    });
}

#[test]
fn products() {
    each_dtype(|dtype| {
        let (x, y) = (random(dtype, Layout::Csr, 5), random(dtype, Layout::Coo, 6));
        let some = x.narrow(0..300, 0).unwrap();
        let dense = y.to_dense().unwrap().narrow(0..40, 1).unwrap();
        let vector = Tensor::random([2000], 1.0, 0.0, Layout::Strided, 7).unwrap().cast(dtype).unwrap();
        same_on_all(&format!("{dtype} csr @ vector"), &|| x.matmul(&vector));
        same_on_all(&format!("{dtype} coo @ vector"), &|| y.matmul(&vector));
        same_on_all(&format!("{dtype} csc @ dense"), &|| x.matrix_transpose()?.matmul(&dense));
        same_on_all(&format!("{dtype} csr @ csr"), &|| some.matmul(&x.matrix_transpose()?));
        let a = some.to_dense().unwrap();
        let b = dense.matrix_transpose().unwrap().narrow(0..300, 1).unwrap();
        same_on_all(&format!("{dtype} dense @ dense"), &|| b.matmul(&a));
    });
}

#[test]
fn choosing_and_cutting() {
    each_dtype(|dtype| {
        let x = random(dtype, Layout::Csr, 9);
        let turned: Vec<usize> = (0..2000).map(|i| i * 7 % 2000).collect();
        let doubled: Vec<usize> = (0..2000).map(|i| i * 3 / 4).collect();
        same_on_all(&format!("columns of {dtype} in another order"), &|| x.index_select(turned.clone(), 1));
        same_on_all(&format!("columns of {dtype}, some twice"), &|| x.index_select(doubled.clone(), 1));
        same_on_all(&format!("every third column of {dtype}"), &|| x.slice(openwork::s![.., ..;3]));
        same_on_all(&format!("parts of {dtype}"), &|| Tensor::concat(&x.split([100; 20], 1)?, 1));
    });
}

#[test]
fn order_and_counts() {
    each_dtype(|dtype| {
        let (x, y) = (random(dtype, Layout::Csr, 10), random(dtype, Layout::Coo, 11));
        let z = y.reshape([3_000_000]).unwrap();
        let number = |i: u64| openwork::c128::new((i * 7919 % 1009) as f64 - 0.5, (i * 31 % 503) as f64);
        let complex = Tensor::from_vec([200_000], (0..200_000).map(number).collect::<Vec<_>>()).unwrap();
        for axis in [0, 1] {
            same_on_all(&format!("sort of {dtype} along {axis}"), &|| x.sort(axis));
            same_on_all(&format!("argsort of {dtype} along {axis}"), &|| x.stored().argsort(axis));
            same_on_all(&format!("median of {dtype} along {axis}"), &|| x.median(axis));
        }
        same_on_all(&format!("distinct elements of {dtype}"), &|| x.unique_values());
        same_on_all(&format!("counts of {dtype}"), &|| Ok(x.unique_counts()?.counts));
        same_on_all(&format!("numbers of {dtype}"), &|| Ok(x.unique_inverse()?.inverse));
        same_on_all(&format!("places in {dtype}"), &|| z.searchsorted(&x));
        same_on_all(&format!("among {dtype}"), &|| x.isin(&z));
        same_on_all("numbers of complex elements", &|| Ok(complex.unique_inverse()?.inverse));
        same_on_all("distinct complex elements", &|| complex.unique_values()?.view_as_real());
        let n = x.abs().and_then(|x| x.mul(1000.0)).and_then(|x| x.cast(DType::I64)).unwrap();
        same_on_all(&format!("bins weighed by {dtype}"), &|| n.bincount(Some(&x), 0));
    });
}

/// One row that meets so much that threads share it: of semirings whose sums may be cut anywhere, and of others.
#[test]
fn a_long_row_of_a_product() {
    const N: usize = 3000;
    let matrix = Tensor::random([N, N], 0.1, 0.0, Layout::Csr, 3).unwrap().mul(100.0).unwrap();
    let row = Tensor::random([N], 0.7, 0.0, Layout::Coo, 4).unwrap().mul(100.0).unwrap();
    let some = Tensor::random([N], 0.5, 0.0, Layout::Coo, 5).unwrap().is_stored().unwrap();
    for dtype in [DType::I64, DType::F64, DType::F32] {
        let (matrix, row) = (matrix.cast(dtype).unwrap().stored(), row.cast(dtype).unwrap().stored());
        for semiring in
            [Semiring::ANY_PAIR, Semiring::PLUS_TIMES, Semiring::MIN_PLUS, Semiring::PLUS_SECOND, Semiring::OR_AND]
        {
            let rest = some.logical_not().unwrap();
            for mask in [None, Some(&some), Some(&rest)] {
                let product = match mask {
                    None => Product::from(semiring),
                    Some(mask) => Product::from(semiring).mask(mask),
                };
                same_on_all("a row times a matrix", &|| row.matmul_with(&matrix, product.clone()));
                // Beside the same rows under a second one, which threads share otherwise.
                let two = Tensor::stack(&[&row, &row], 0).unwrap();
                let masks = mask.map(|mask| Tensor::stack(&[mask, mask], 0).unwrap());
                let of_two = match &masks {
                    None => Product::from(semiring),
                    Some(mask) => Product::from(semiring).mask(mask),
                };
                let rows = two.matmul_with(&matrix, of_two).unwrap();
                let one = parallel::with_threads(3, || row.matmul_with(&matrix, product.clone())).unwrap().unwrap();
                assert!(one.nse() > N / 4);
                assert!(one.equal(&rows.index(s![1]).unwrap()).unwrap(), "{semiring:?} {dtype}");
            }
        }
    }
}
