//! Arrays of more elements than are marked at a time, in every kind of levels: what is stored is what differs from the fill, wherever
//! rows and parts end, on any number of threads.

use openwork::{Layout, LevelKind, LevelSpec, Part, Result, Tensor, parallel};

/// One in `of` is not `rest`.
fn array(shape: &[usize], of: u64, rest: f64) -> Tensor {
    let n: usize = shape.iter().product();
    let mix = |i: usize| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    let element = |i: usize| if mix(i) % of == 0 { mix(i) as f64 / 7e8 } else { rest };
    Tensor::from_vec(shape, (0..n).map(element).collect::<Vec<f64>>()).unwrap()
}

fn elements(x: &Tensor) -> Vec<u64> {
    x.to_dense().unwrap().to_contiguous().unwrap().values::<f64>().unwrap().iter().map(|v| v.to_bits()).collect()
}

/// The kinds of levels that are asked of an array with so many axes, all of them in order and, of matrices, in the other one.
fn specs(shape: &[usize]) -> Vec<LevelSpec> {
    let n = shape.len();
    let sparse = |rank| LevelKind::Sparse { rank };
    let mut compressed = vec![LevelKind::Dense; n - 1];
    compressed.push(sparse(1));
    let mut kinds = vec![vec![sparse(n)], compressed, vec![sparse(1); n]];
    if n > 1 {
        kinds.push(vec![LevelKind::Dense, sparse(n - 1)]); // by keys
        kinds.push(vec![sparse(n - 1)]); // rows of values
        kinds.push([vec![LevelKind::Dense; n - 2], vec![sparse(1)]].concat());
    }
    let axes = |order: &[usize]| order.iter().map(|&axis| (axis, Part::Whole)).collect::<Vec<_>>();
    let in_order: Vec<usize> = (0..n).collect();
    let mut all: Vec<LevelSpec> = kinds.into_iter().map(|levels| LevelSpec { levels, dims: axes(&in_order) }).collect();
    if n == 2 {
        all.extend(all.clone().into_iter().map(|spec| LevelSpec { dims: axes(&[1, 0]), ..spec }));
    }
    all
}

/// A result on one thread and more: elements, and, where each is stored by itself, which are and in what order.
fn check(x: &Tensor, rest: f64, what: &str, convert: &(dyn Fn() -> Result<Tensor> + Sync)) {
    let (want, mut keys) = (elements(x), Vec::<usize>::new());
    for threads in [1, 2, 3] {
        let sparse = parallel::with_threads(threads, || convert().unwrap()).unwrap();
        assert!(elements(&sparse) == want, "{what} on {threads} threads");
        let spec = sparse.level_spec().unwrap();
        // Each level of the kinds that are asked for here holds a coordinate at least.
        let held: usize =
            spec.levels.iter().map(|kind| if let LevelKind::Sparse { rank } = kind { *rank } else { 1 }).sum();
        if held < x.ndim() {
            continue;
        }
        // Elements are numbered in the order of the levels.
        let (shape, mut steps) = (x.shape(), vec![1; x.ndim()]);
        for pair in spec.dims.windows(2).rev() {
            steps[pair[0].0] = steps[pair[1].0] * shape[pair[1].0];
        }
        if keys.is_empty() {
            let places = (0..want.len()).filter(|&i| want[i] != rest.to_bits());
            let along = |place: usize, axis: usize| place / shape[axis + 1..].iter().product::<usize>() % shape[axis];
            keys = places.map(|place| (0..x.ndim()).map(|axis| along(place, axis) * steps[axis]).sum()).collect();
            keys.sort_unstable();
        }
        let mut found = vec![0; sparse.nse()];
        for (axis, coordinates) in sparse.coordinates() {
            found.iter_mut().zip(&coordinates).for_each(|(key, &c)| *key += c as usize * steps[axis]);
        }
        assert!(found == keys, "{what} on {threads} threads: what is stored");
    }
}

const SHAPES: [&[usize]; 7] =
    [&[1, 140_000], &[140_000, 1], &[50_000, 3], &[3, 50_000], &[300, 500], &[7, 11, 1300], &[140_000]];

#[test]
fn what_is_not_zero_is_stored_in_any_levels() {
    for shape in SHAPES {
        for of in [10, 2, 1, 1 << 40] {
            let x = array(shape, of, 0.0);
            for spec in specs(shape) {
                check(&x, 0.0, &format!("{shape:?}, one in {of}, {spec:?}"), &|| x.to_levels(&spec));
            }
        }
    }
}

#[test]
fn what_differs_from_a_fill_is_stored() {
    for shape in SHAPES.into_iter().filter(|shape| shape.len() == 2) {
        for (of, rest) in [(10, f64::NAN), (2, -0.0), (7, 2.5)] {
            let x = array(shape, of, rest);
            for layout in [Layout::Coo, Layout::Csr, Layout::Csc] {
                let what = format!("{shape:?}, one in {of} not {rest}, {layout:?}");
                check(&x, rest, &what, &|| x.to_sparse(layout, rest));
            }
        }
    }
}
