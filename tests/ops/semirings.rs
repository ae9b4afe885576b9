//! Products over semirings and with masks: sizes at which pieces, blocks and threads matter, and what is refused.

use openwork::parallel::with_threads;
use openwork::{
    BinaryOp, DType, Element, ErrorKind, Fill, Layout, Plus, Product, Semiring, Tensor, Times, tensor,
    with_densify_budget,
};

fn dense(shape: [usize; 2], dtype: DType, seed: u64) -> Tensor {
    (Tensor::randn(shape, seed).unwrap() * 8.0).unwrap().cast(dtype).unwrap()
}

fn bytes(x: &Tensor) -> Vec<u64> {
    let x = x.coalesce().unwrap().to_layout(Layout::Coo).unwrap();
    x.stored_values().cast(DType::F64).unwrap().to_vec::<f64>().unwrap().iter().map(|v| v.to_bits()).collect()
}

/// Of strided and sparse operands, the elements of the whole product where the mask is.
#[test]
fn sampled_products_are_those_of_the_whole_product() {
    let mask = Tensor::random([301, 403], 0.05, 0.0, Layout::Csr, 5).unwrap().is_stored().unwrap();
    for dtype in [DType::F64, DType::F32, DType::I64, DType::F16, DType::Complex64, DType::U8] {
        let (x, y) = (dense([301, 37], dtype, 1), dense([37, 403], dtype, 2));
        let sparse = |x: &Tensor, layout, fill: Fill| {
            let few = Tensor::random(x.shape(), 0.2, 0.0, Layout::Coo, 9).unwrap().is_stored().unwrap();
            x.mask(&few).unwrap().replace_fill(0).unwrap().with_fill(0).unwrap().to_layout(layout).map(|x| match fill {
                Fill::Undefined => x.stored(),
                _ => x,
            })
        };
        let lefts =
            [x.clone(), sparse(&x, Layout::Csr, 0.into()).unwrap(), sparse(&x, Layout::Coo, Fill::Undefined).unwrap()];
        let rights = [
            y.clone(),
            y.t().unwrap().to_contiguous().unwrap().t().unwrap(),
            sparse(&y, Layout::Csc, 0.into()).unwrap(),
        ];
        for a in &lefts {
            for b in &rights {
                for semiring in [Semiring::PLUS_TIMES, Semiring::PLUS_FIRST, Semiring::MAX_PLUS] {
                    if dtype.is_complex() && semiring.plus == Plus::Max {
                        continue;
                    }
                    let all = a.matmul_with(b, semiring).unwrap().mask(&mask).unwrap();
                    let product = || a.matmul_with(b, Product::from(semiring).mask(&mask)).unwrap();
                    let some = product();
                    let close = all.allclose(&some, if dtype == DType::F16 { 2e-3 } else { 1e-4 }, 1e-3).unwrap();
                    assert!(close, "{dtype} {} {} {}", semiring.name(), a.layout(), b.layout());
                    assert_eq!(all.nse(), some.nse());
                    assert!(some.nse() > 1000);
                    assert_eq!(bytes(&with_threads(1, product).unwrap()), bytes(&with_threads(2, product).unwrap()));
                }
            }
        }
    }
}

/// Sums of float32 that leave its range on the way and come back.
#[test]
fn sampled_products_beyond_float32_on_the_way() {
    // Of one lane of sixteen: 1e25² − 1e25² + 2e25, and 37 terms that are lost beside it.
    let mut y = vec![2.0f32; 40];
    (y[3], y[19]) = (1e25, -1e25);
    let y = Tensor::from_vec([40, 1], y).unwrap();
    let x = |sign: f32| (0..40).map(move |i| if i % 16 == 3 { sign * 1e25 } else { 1.0 });
    let x = Tensor::from_vec([2, 40], x(1.0).chain(x(-1.0)).collect::<Vec<f32>>()).unwrap();
    let mask = Tensor::full([2, 1], true, Layout::Strided).unwrap().to_sparse(Layout::Csr, false).unwrap();
    let sums = x.matmul_with(&y, Product::default().mask(&mask)).unwrap().to_vec::<f32>().unwrap();
    assert_eq!(sums, [2e25, -2e25]);
}

/// Few columns of a row are looked up, many are walked past; either way they are those of the whole product.
#[test]
fn masks_of_few_and_of_many_columns() {
    for (dtype, semiring) in [
        (DType::F64, Semiring::PLUS_TIMES),
        (DType::I32, Semiring::PLUS_TIMES),
        (DType::F32, Semiring::MIN_PLUS),
        (DType::I64, Semiring::PLUS_PAIR),
    ] {
        let random = |shape: [usize; 2], density, seed| {
            let x = (Tensor::random(shape, density, 0.0, Layout::Csr, seed).unwrap() * 9.0).unwrap();
            x.cast(dtype).unwrap()
        };
        let (x, y) = (random([60, 90], 0.3, 1), random([90, 2000], 0.2, 2));
        for density in [0.0004, 0.3] {
            let mask = Tensor::random([60, 2000], density, 0.0, Layout::Coo, 3).unwrap().is_stored().unwrap();
            for (a, b) in [(x.clone(), y.clone()), (x.stored(), y.stored())] {
                let some = a.matmul_with(&b, Product::from(semiring).mask(&mask)).unwrap();
                let all = a.matmul_with(&b, semiring);
                let all = all.or_else(|_| a.to_dense()?.matmul_with(&b.to_dense()?, semiring)).unwrap();
                let all = all.mask(&mask).unwrap();
                assert!(some.nse() > 20, "{}", some.nse());
                assert!(some.nse() == all.nse() && some.allclose(&all, 1e-12, 0.0).unwrap(), "{dtype} {density}");
            }
        }
    }
}

/// The whole product would have 4·10^10 elements.
#[test]
fn what_a_mask_drops_is_not_computed() {
    let n = 200_000;
    let (x, y) = (
        Tensor::ones([n, 4], DType::F32, Layout::Strided).unwrap(),
        Tensor::ones([4, n], DType::F32, Layout::Strided).unwrap(),
    );
    let places = vec![vec![0, 7, 7, 199_999], vec![5, 0, 199_999, 3]];
    let mask = Tensor::coo([n, n], places, &Tensor::from(vec![true; 4]), false).unwrap();
    let out = x.matmul_with(&y, Product::default().mask(&mask)).unwrap();
    assert_eq!((out.nse(), out.get([7, 199_999]).unwrap().map(|v| v.to::<f64>())), (4, Some(4.0)));
    assert!(out.get([7, 1]).unwrap().is_none());
    // Sparse operands that have a row and a column full of entries, which the mask leaves out but for one.
    let rows = Tensor::coo(
        [n, n],
        vec![(0..n as u64).collect(), vec![0; n]],
        &Tensor::ones([n], DType::F64, Layout::Strided).unwrap(),
        Fill::Undefined,
    )
    .unwrap();
    let columns = rows.t().unwrap();
    let out = rows.matmul_with(&columns, Product::from(Semiring::PLUS_PAIR).mask(&mask)).unwrap();
    assert_eq!((out.nse(), out.sum(..).unwrap().item_as::<f64>().unwrap()), (4, 4.0));
}

/// Axes of 2^40 with little stored: a step of a search, forward, masked by what was seen.
#[test]
fn graphs_on_huge_axes() {
    let n = 1usize << 40;
    let far = (n - 1) as u64;
    let edges = Tensor::coo(
        [n, n],
        vec![vec![0, far, far], vec![far, 0, 9]],
        &Tensor::from(vec![1.5, 2.5, 3.5]),
        Fill::Undefined,
    )
    .unwrap();
    let start = Tensor::coo([n], vec![vec![0]], &tensor![0.0], Fill::Undefined).unwrap();
    with_densify_budget(0, || {
        let one = start.matmul_with(&edges, Semiring::MIN_PLUS).unwrap();
        let two = one.matmul_with(&edges, Semiring::MIN_PLUS).unwrap();
        assert_eq!((one.nse(), two.nse()), (1, 2));
        assert_eq!(two.get([9]).unwrap().map(|v| v.to::<f64>()), Some(5.0));
        let unseen = start.is_stored().unwrap().logical_not().unwrap();
        let fresh = one.matmul_with(&edges, Product::from(Semiring::MIN_PLUS).mask(&unseen)).unwrap();
        assert_eq!((fresh.nse(), fresh.get([0]).unwrap().is_none()), (1, true));
        let squared =
            edges.matmul_with(&edges, Product::from(Semiring::ANY_PAIR).mask(&edges.is_stored().unwrap())).unwrap();
        assert_eq!(squared.nse(), 0);
        // A strided mask that is repeated is not written out; a sparse one would be, and is refused.
        for (mask, left) in [(tensor![true], 3), (tensor![false], 0)] {
            let all = edges.matmul_with(&edges, Product::from(Semiring::MIN_PLUS).mask(&mask)).unwrap();
            assert_eq!(all.nse(), left);
        }
        let column = Tensor::coo([n], vec![vec![9]], &tensor![true], false).unwrap();
        assert!(edges.matmul_with(&edges, Product::from(Semiring::MIN_PLUS).mask(&column)).is_err());
    });
}

fn of(values: &[Option<i64>]) -> Tensor {
    let at: Vec<u64> = (0..values.len() as u64).filter(|&i| values[i as usize].is_some()).collect();
    let values_there: Vec<i64> = values.iter().flatten().copied().collect();
    Tensor::coo([values.len()], vec![at], &Tensor::from(values_there), Fill::Undefined).unwrap()
}

fn listed(x: &Tensor) -> Vec<Option<i64>> {
    (0..x.shape()[0]).map(|i| x.get([i]).unwrap().map(|v| v.to::<i64>())).collect()
}

#[test]
fn accumulating() {
    let eye = Tensor::eye(4, DType::I64, Layout::Csr).unwrap().stored().prune().unwrap();
    let eye = eye.mask(&eye.ne(0).unwrap()).unwrap();
    let (x, to) = (of(&[Some(1), Some(2), None, None]), of(&[None, Some(10), Some(20), None]));
    let product = || Product::default().accumulate(&to, BinaryOp::Sub);
    assert_eq!(listed(&x.matmul_with(&eye, product()).unwrap()), [Some(1), Some(8), Some(20), None]);
    let mask = tensor![false, true, false, true];
    // Outside the mask what was there stays, or goes.
    assert_eq!(listed(&x.matmul_with(&eye, product().mask(&mask)).unwrap()), [None, Some(8), Some(20), None]);
    assert_eq!(listed(&x.matmul_with(&eye, product().mask(&mask).replace()).unwrap()), [None, Some(8), None, None]);
    // To defined elements.
    let dense = tensor![5i64, 6, 7, 8];
    let into = || Product::default().accumulate(&dense, BinaryOp::Sub);
    assert_eq!(x.matmul_with(&eye, into()).unwrap().to_dense().unwrap().to_vec::<i64>().unwrap(), [4, 4, 7, 8]);
    let full = tensor![[1i64, 1], [1, 1]];
    let sum = Product::default().accumulate(&full, BinaryOp::Add);
    assert_eq!(full.matmul_with(&full, sum).unwrap().to_vec::<i64>().unwrap(), [3; 4]);
}

#[test]
fn names_and_dtypes() {
    assert_eq!(Semiring::MIN_PLUS.name(), "min_plus");
    assert_eq!(Semiring::new(Plus::Max, Times::Second), Semiring::MAX_SECOND);
    assert_eq!(Semiring::new(Plus::Sum, BinaryOp::Hypot).name(), "plus_hypot");
    let x = tensor![[true, false], [true, true]];
    let dtype = |semiring| x.matmul_with(&x, semiring).unwrap().dtype();
    assert_eq!(
        [Semiring::PLUS_TIMES, Semiring::PLUS_PAIR, Semiring::XOR_AND].map(dtype),
        [DType::Bool, DType::I64, DType::Bool]
    );
    // A square in the field of two elements.
    assert_eq!(x.matmul_with(&x, Semiring::XOR_AND).unwrap().to_vec::<bool>().unwrap(), [true, false, false, true]);
    // Integers of a sum keep their dtype, as in a plain product, and wrap.
    let y = tensor![[100i8, 100]];
    let sum = y.matmul_with(&y.t().unwrap(), Semiring::PLUS_FIRST).unwrap();
    assert_eq!((sum.dtype(), sum.to_vec::<i8>().unwrap()), (i8::DTYPE, vec![-56]));
    // The identity where there is nothing to fold.
    let none = Tensor::zeros([2, 0], DType::F64, Layout::Strided).unwrap();
    let least = none.matmul_with(&none.t().unwrap(), Semiring::MIN_PLUS).unwrap();
    assert_eq!(least.to_vec::<f64>().unwrap(), [f64::INFINITY; 4]);
}

/// One element repeated, of which a product need not read a term: the same as many elements, on either side and in turned layouts.
#[test]
fn elements_that_no_product_reads() {
    let every = |x: &Tensor| x.add(0.0).unwrap().mul(1.0).unwrap(); // as many elements as positions
    for layout in [Layout::Csr, Layout::Csc, Layout::Coo] {
        let of = |seed| {
            let x = Tensor::random([70, 70], 0.1, 0.0, layout, seed).unwrap();
            x.is_stored().unwrap().cast(DType::F64).unwrap().stored()
        };
        let (a, b) = (of(1), of(2));
        let (many_a, many_b) = (every(&a), every(&b));
        assert!(a.stored_values().equal(&many_a.stored_values()).unwrap());
        let x = Tensor::rand([70, 3], 3).unwrap();
        let mask = of(4).is_stored().unwrap();
        for semiring in [Semiring::MIN_FIRST, Semiring::MIN_SECOND, Semiring::PLUS_PAIR, Semiring::MIN_PLUS] {
            for product in [Product::from(semiring), Product::from(semiring).mask(&mask)] {
                let got = a.matmul_with(&b, product.clone()).unwrap();
                assert!(got.equal(&many_a.matmul_with(&many_b, product).unwrap()).unwrap(), "{layout} {semiring:?}");
            }
            let got = a.matmul_with(&x, semiring).unwrap();
            assert!(got.equal(&many_a.matmul_with(&x, semiring).unwrap()).unwrap(), "{layout} {semiring:?}");
            let got = x.t().unwrap().matmul_with(&b, semiring).unwrap();
            assert!(
                got.equal(&x.t().unwrap().matmul_with(&many_b, semiring).unwrap()).unwrap(),
                "{layout} {semiring:?}"
            );
        }
    }
}

#[test]
fn fills_that_add_nothing_stay_sparse() {
    let far = f64::INFINITY;
    let ways = Tensor::from_triplets([3, 3], vec![0u32, 1], vec![1, 2], vec![1.0, 2.0], far).unwrap();
    with_densify_budget(0, || {
        let two = ways.matmul_with(&ways, Semiring::MIN_PLUS).unwrap();
        assert_eq!((two.nse(), two.fill().unwrap().as_scalar().unwrap().to::<f64>()), (1, far));
        let zero = Tensor::from_triplets([3, 3], vec![0u32], vec![1], vec![1.0], 0.0).unwrap();
        let error = zero.matmul_with(&zero, Semiring::MIN_PLUS).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Densify { op: "matmul_with", .. }), "{error}");
        assert!(error.to_string().contains("min_plus"), "{error}");
    });
}

#[test]
fn refusals() {
    let x = tensor![[1.0, 2.0], [3.0, 4.0]];
    let error = |product: Product<'_>| x.matmul_with(&x, product).unwrap_err();
    let of_numbers = error(Product::default().mask(&x));
    assert!(matches!(of_numbers.kind(), ErrorKind::DType { .. }), "{of_numbers}");
    let wrong = Tensor::ones([3, 2], DType::Bool, Layout::Strided).unwrap();
    assert!(matches!(error(Product::default().mask(&wrong)).kind(), ErrorKind::Shape { .. }));
    let to = Tensor::zeros([3, 2], DType::F64, Layout::Strided).unwrap();
    assert!(matches!(error(Product::default().accumulate(&to, BinaryOp::Add)).kind(), ErrorKind::Shape { .. }));
    let xor = error(Product::from(Semiring::new(Plus::Xor, BinaryOp::Mul)));
    assert!(xor.to_string().contains("xor_times is not defined for float64"), "{xor}");
    let z = x.cast(DType::Complex64).unwrap();
    assert!(z.matmul_with(&z, Semiring::MIN_PLUS).is_err());
    assert!(z.matmul_with(&z, Semiring::PLUS_FIRST).is_ok());
}
