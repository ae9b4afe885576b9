//! A few places of many elements: what is assigned, added or unset there, beside the same on the strided tensor. Of so few each is
//! looked up, and all else is copied.

use openwork::{DType, Fill, Index, Layout, Result, Scalar, Tensor, s};

use crate::common::on_threads;
use crate::common::rng::Rng;

/// About `n` elements anywhere; some rows store nothing.
fn many(shape: &[usize], n: usize, fill: impl Into<Fill>, seed: u64) -> Tensor {
    let mut random = Rng::new(seed);
    let mut places: Vec<Vec<i64>> =
        (0..n).map(|_| shape.iter().map(|&size| random.below(size) as i64).collect()).collect();
    places.sort_unstable();
    places.dedup();
    places.retain(|p| p[0] % 7 != 3);
    let indices = (0..shape.len()).map(|a| places.iter().map(|p| p[a]).collect::<Vec<i64>>());
    let values: Vec<f64> = places.iter().map(|_| random.below(41) as f64 / 2.0 - 10.0).collect();
    let values = Tensor::from_vec([values.len()], values).unwrap();
    Tensor::coo(shape, indices.collect::<Vec<_>>(), &values, fill).unwrap()
}

/// The fills: one value, another, NaN, one for each index along an axis.
fn fills(shape: &[usize]) -> Vec<Fill> {
    let along = |axis: usize| {
        let mut of = vec![1; shape.len()];
        of[axis] = shape[axis];
        Fill::array(Tensor::from_vec(of, (0..shape[axis]).map(|i| (i % 5) as f64).collect()).unwrap())
    };
    let one = |x: f64| Fill::Scalar(Scalar::F64(x));
    vec![one(0.0), one(1.5), one(f64::NAN), along(0), along(shape.len() - 1)]
}

fn same(what: &str, sparse: &(dyn Fn() -> Result<Tensor> + Sync), strided: Result<Tensor>) -> Tensor {
    let found = on_threads(what, sparse);
    let wanted = strided.unwrap();
    assert_eq!((found.shape(), found.dtype()), (wanted.shape(), wanted.dtype()), "{what}");
    assert!(found.to_dense().unwrap().equal_nan(&wanted.to_dense().unwrap()).unwrap(), "{what}");
    found
}

/// A place that stores an element, and one that does not.
fn places(x: &Tensor) -> [Vec<usize>; 2] {
    let mut random = Rng::new(9);
    let mut any = || x.shape().iter().map(|&size| random.below(size)).collect::<Vec<usize>>();
    [true, false].map(|wanted| {
        let is_stored = |at: &Vec<usize>| x.stored().is_stored().unwrap().get(at).unwrap() == Some(true.into());
        std::iter::from_fn(|| Some(any())).find(|at| is_stored(at) == wanted).unwrap()
    })
}

fn at(place: &[usize]) -> Vec<Index> {
    place.iter().map(|&i| Index::from(i)).collect()
}

const LAYOUTS: [Layout; 5] = [Layout::Csr, Layout::Csc, Layout::Coo, Layout::Dcsr, Layout::Csf];

#[test]
fn single_elements_of_matrices() {
    let shape = [900, 90];
    for fill in fills(&shape) {
        let all = many(&shape, 9_000, fill.clone(), 1);
        let [stored, other] = places(&all);
        for layout in LAYOUTS {
            let x = all.to_layout(layout).unwrap();
            let dense = x.to_dense().unwrap();
            for (place, is_stored) in [(&stored, true), (&other, false)] {
                let items = at(place);
                let what = format!("{layout} {fill:?} {place:?}");
                let put = same(&what, &|| x.index_put(&items, 99.0), dense.index_put(&items, 99.0));
                assert_eq!((put.nse(), put.layout()), (x.nse() + usize::from(!is_stored), x.layout()), "{what}");
                assert_eq!(put.get(place).unwrap(), Some(99.0.into()), "{what}");
                let list: Vec<Index> = place.iter().map(|&i| Index::from(vec![i])).collect();
                same(&what, &|| x.index_put(&list, 99.0), dense.index_put(&list, 99.0));
                same(&what, &|| x.index_add(&list, 2.5), dense.index_add(&list, 2.5));
                same(&what, &|| x.index_add(&items, 2.5), dense.index_add(&items, 2.5));
                let gone = on_threads(&what, &|| x.unset(&items));
                assert_eq!(gone.nse(), x.nse() - usize::from(is_stored), "{what}");
                // The fill is not stored.
                let fill = gone.get(place).unwrap().unwrap();
                let put = same(&what, &|| x.index_put(&items, fill), dense.index_put(&items, fill));
                assert_eq!(put.nse(), gone.nse(), "{what}");
            }
        }
    }
}

#[test]
fn first_and_last_elements_and_many_places_of_one_row() {
    let shape = [900, 90];
    let all = many(&shape, 9_000, 0.0, 2);
    let dense = all.to_dense().unwrap();
    let rows = [0i64, 899, 0, 899, 3, 17, 17, 17, 17, 17, 899, 0];
    let columns = [0i64, 89, 89, 0, 5, 40, 2, 88, 41, 2, 89, 0];
    let values = Tensor::arange(0.0, rows.len() as f64, 1.0).unwrap();
    let items = || [Index::from(rows), Index::from(columns)];
    for layout in LAYOUTS {
        let x = all.to_layout(layout).unwrap();
        same(&format!("{layout}"), &|| x.index_put(items(), &values), dense.index_put(items(), &values));
        same(&format!("{layout}"), &|| x.index_add(items(), &values), dense.index_add(items(), &values));
    }
}

#[test]
fn windows_rows_and_lists_of_rows() {
    let shape = [900, 90];
    for fill in fills(&shape) {
        let all = many(&shape, 9_000, fill.clone(), 3);
        let part = many(&[4, 90], 60, 0.0, 4);
        for layout in LAYOUTS {
            let x = all.to_layout(layout).unwrap();
            let (dense, of_part) = (x.to_dense().unwrap(), part.to_dense().unwrap());
            for items in [
                s![7, ..].to_vec(),
                s![.., 7].to_vec(),
                s![3..7, 10..20].to_vec(),
                s![3..9;2, 10..20;3].to_vec(),
                s![3..9;-2, 80..82;-1].to_vec(),
                s![899, 80..].to_vec(),
                s![0, ..1].to_vec(),
                s![5..5, ..].to_vec(),
                s![[9, 2, 9, 880], ..].to_vec(),
                s![[2, 9, 880], 3..7].to_vec(),
                s![.., [2, 9]].to_vec(),
                s![[2, 9], [4, 5]].to_vec(),
            ] {
                let what = format!("{layout} {fill:?} {items:?}");
                same(&what, &|| x.index_put(&items, 7.0), dense.index_put(&items, 7.0));
                let gone = on_threads(&what, &|| x.unset(&items));
                let stays = x.stored().is_stored().unwrap().to_dense().unwrap().index_put(&items, false).unwrap();
                let there = gone.stored().is_stored().unwrap().to_dense().unwrap();
                assert!(there.equal_nan(&stays).unwrap(), "{what}");
            }
            for items in [s![20..24, ..].to_vec(), s![20..24;-1, ..].to_vec(), s![20..28;2, ..].to_vec()] {
                let what = format!("{layout} {fill:?} {items:?} by sparse rows");
                same(&what, &|| x.index_put(&items, &part), dense.index_put(&items, &of_part));
                same(&what, &|| x.slice_assign(&items, &part), dense.slice_assign(&items, &of_part));
            }
        }
    }
}

#[test]
fn elements_that_are_absent_and_other_dtypes() {
    let shape = [900, 90];
    let all = many(&shape, 9_000, 0.0, 5);
    let [stored, other] = places(&all);
    for dtype in [DType::F32, DType::I8, DType::Bool, DType::Complex128] {
        for layout in LAYOUTS {
            let x = all.cast(dtype).unwrap().to_layout(layout).unwrap();
            let dense = x.to_dense().unwrap();
            for place in [&stored, &other] {
                let items = at(place);
                let one = Scalar::one(dtype);
                same("put", &|| x.index_put(&items, one), dense.index_put(&items, one));
                same("add", &|| x.index_add(&items, one), dense.index_add(&items, one));
                let absent = x.stored();
                let put = on_threads("put", &|| absent.index_put(&items, one));
                assert_eq!(put.nse(), absent.nse() + usize::from(place == &other));
                assert_eq!(put.get(place).unwrap(), Some(one));
                // What is absent counts as nothing.
                let added = on_threads("add", &|| absent.index_add(&items, one));
                assert_eq!(added.get(place).unwrap(), x.index_add(&items, one).unwrap().get(place).unwrap());
                assert_eq!(on_threads("unset", &|| absent.unset(&items)).get(place).unwrap(), None);
            }
        }
    }
}

#[test]
fn of_more_axes_and_of_one() {
    let shape = [20, 30, 40];
    for (fill, layout) in
        fills(&shape).into_iter().flat_map(|f| [Layout::Coo, Layout::Csr, Layout::Csf].map(|l| (f.clone(), l)))
    {
        let all = many(&shape, 6_000, fill, 6);
        let x = all.to_layout(layout).unwrap();
        let dense = x.to_dense().unwrap();
        for items in [
            s![3, 4, 5].to_vec(),
            s![3, 4, ..].to_vec(),
            s![3, .., 5].to_vec(),
            s![19, 28.., 3..5].to_vec(),
            s![[1, 7], 4, 2..9].to_vec(),
            s![[1, 7], [4, 4], [0, 39]].to_vec(),
        ] {
            let what = format!("{layout} {items:?}");
            same(&what, &|| x.index_put(&items, 7.0), dense.index_put(&items, 7.0));
            same(&what, &|| x.index_add(&items, 7.0), dense.index_add(&items, 7.0));
        }
    }
    let line = many(&[9_000], 3_000, 0.0, 7);
    let dense = line.to_dense().unwrap();
    for items in [s![3].to_vec(), s![0].to_vec(), s![8_999].to_vec(), s![5..90].to_vec(), s![[1, 4, 4]].to_vec()] {
        same(&format!("{items:?}"), &|| line.index_put(&items, 7.0), dense.index_put(&items, 7.0));
        same(&format!("{items:?}"), &|| line.index_put(&items, 0.0), dense.index_put(&items, 0.0));
    }
}

/// Places beyond what the arrays' width holds, and axes that memory does not.
#[test]
fn far_places() {
    const N: usize = 1 << 40;
    let x = many(&[100, 100], 3_000, 0.0, 8);
    let indices: Vec<Vec<i64>> = (0..2).map(|a| x.coordinates()[a].1.iter().map(|&i| i as i64).collect()).collect();
    let x = Tensor::coo([N, N], indices, &x.stored_values(), 0.0).unwrap();
    for place in [[3, 7], [N - 1, 5], [5, N - 1], [N - 1, N - 1]] {
        let put = on_threads("put", &|| x.index_put(at(&place), 99.0));
        assert_eq!(put.get(place).unwrap(), Some(99.0.into()));
        let sum = |x: &Tensor| x.sum(..).unwrap().item().unwrap();
        assert_eq!(sum(&put.unset(at(&place)).unwrap()), sum(&x.unset(at(&place)).unwrap()));
    }
    let gone = on_threads("unset", &|| x.unset(s![5, ..]));
    assert!(gone.nse() < x.nse() && gone.index(s![5, ..]).unwrap().nse() == 0);
}

/// Elements that are all the same memory stay so where some go, and become memory of their own where others come.
#[test]
fn of_elements_that_are_one() {
    let labels: Vec<i64> = (0..9_000).map(|i| i * 7 % 50).collect();
    let x = Tensor::from_vec([9_000], labels).unwrap().one_hot(50).unwrap();
    let dense = x.to_dense().unwrap();
    let place = [Index::from(10), Index::from(20)];
    assert_eq!(x.get([10, 20]).unwrap(), Some(1i64.into()));
    let gone = same("unset", &|| x.unset(&place), dense.index_put(&place, 0));
    assert_eq!(gone.nse(), x.nse() - 1);
    assert!(gone.nbytes() <= x.nbytes(), "{} of {}", gone.nbytes(), x.nbytes());
    same("put", &|| x.index_put(&place, 5), dense.index_put(&place, 5));
    same("add", &|| x.index_add(&place, 5), dense.index_add(&place, 5));
    same("row", &|| x.index_put(s![17, ..], 0), dense.index_put(s![17, ..], 0));
}

/// Elements read at listed places, of all axes and of the first ones: those that are stored, those that are not, each several times and in
/// no order, as few as one and more than there are elements.
#[test]
fn lists_of_places_are_read() {
    for shape in [&[90, 70][..], &[12, 9, 30], &[3000]] {
        for fill in fills(shape).into_iter().chain([Fill::Undefined]) {
            let all = many(shape, shape.iter().product::<usize>() / 5, fill.clone(), 4);
            let stored: Vec<Vec<i64>> =
                all.indices().unwrap().to_vec::<i64>().unwrap().chunks(shape.len()).map(<[i64]>::to_vec).collect();
            let with_value = |x: &Tensor| x.to_dense_with(-77.0).unwrap();
            for layout in LAYOUTS.into_iter().filter(|l| *l == Layout::Coo || shape.len() == 2) {
                let x = all.to_layout(layout).unwrap();
                let dense = with_value(&x);
                for n in [1, 40, 5000] {
                    let mut random = Rng::new(n as u64);
                    let is_stored: Vec<Option<usize>> =
                        (0..n).map(|_| (random.below(2) == 0).then(|| random.below(all.nse()))).collect();
                    let lists: Vec<Vec<i64>> = (0..shape.len())
                        .map(|a| {
                            is_stored
                                .iter()
                                .map(|e| e.map_or(random.below(shape[a]) as i64, |e| stored[e][a]))
                                .collect()
                        })
                        .collect();
                    for axes in 1..=shape.len() {
                        let items: Vec<Index> = lists[..axes].iter().map(|list| Index::from(list.clone())).collect();
                        let what = format!("{layout} {shape:?} {fill:?} {n} places of {axes} axes");
                        let found = on_threads(&what, &|| x.index(&items));
                        let wanted = dense.index(&items).unwrap();
                        assert_eq!(found.shape(), wanted.shape(), "{what}");
                        assert!(with_value(&found).equal_nan(&wanted).unwrap(), "{what}");
                        assert!(found.is_coalesced(), "{what}");
                        if axes == shape.len() && axes > 1 {
                            let least = is_stored.iter().filter(|e| e.is_some()).count();
                            assert!(found.nse() >= least && found.nse() < n.max(2), "{what}: {} stored", found.nse());
                        }
                    }
                }
            }
        }
    }
}

/// Lists along two axes of an array, beside each other and apart, whichever way it lies in memory.
#[test]
fn lists_of_places_of_arrays_are_read() {
    let shape = [3, 4, 5, 6];
    let all = Tensor::from_vec(shape, (0..360).collect::<Vec<i16>>()).unwrap();
    let turned = all.permute_dims([2, 0, 3, 1]).unwrap();
    let alike = turned.slice(s![.., 1..2, .., ..]).unwrap().broadcast_to([5, 7, 6, 4]).unwrap();
    for x in [all.clone(), all.cast(DType::Complex128).unwrap(), turned, alike] {
        for (a, b) in [(0, 1), (1, 2), (2, 3), (0, 2), (0, 3), (1, 3)] {
            let list = |axis: usize| (0..11).map(|i| (i * (axis + 3) + axis) % x.shape()[axis]).collect::<Vec<usize>>();
            let (of_a, of_b) = (list(a), list(b));
            let mut items = vec![Index::from(..); 4];
            (items[a], items[b]) = (Index::from(of_a.clone()), Index::from(of_b.clone()));
            let found = on_threads("lists", &|| x.index(&items));
            let at = if b == a + 1 { a } else { 0 };
            let rest: Vec<usize> = (0..4).filter(|axis| ![a, b].contains(axis)).collect();
            let mut wanted: Vec<usize> = rest.iter().map(|&axis| x.shape()[axis]).collect();
            wanted.insert(at, 11);
            assert_eq!(found.shape(), wanted, "{a} {b}");
            for place in 0..found.shape().iter().product() {
                let mut left = place;
                let mut to: Vec<usize> = wanted.iter().rev().map(|size| (left % size, left /= size).0).collect();
                to.reverse();
                let i = to[at];
                let mut kept = to.clone();
                kept.remove(at);
                let mut from = [0; 4];
                (from[a], from[b]) = (of_a[i], of_b[i]);
                rest.iter().zip(kept).for_each(|(&axis, own)| from[axis] = own);
                assert_eq!(found.get(&to).unwrap(), x.get(from).unwrap(), "{a} {b} {to:?}");
            }
        }
    }
}

#[test]
fn more_copies_than_memory_holds_are_refused() {
    let n = 1 << 18;
    let along = |axis: usize| (0..n).map(|i| if axis == 2 { 3 * i } else { 0 }).collect::<Vec<i64>>();
    let ones = Tensor::from_vec([n as usize], vec![1u8; n as usize]).unwrap();
    let x = Tensor::coo([2, 2, 1 << 20], vec![along(0), along(1), along(2)], &ones, 0u8).unwrap();
    let list = Index::from(vec![0; 10_000_000]);
    let why = x.index([list.clone(), list]).unwrap_err().to_string();
    assert!(why.contains("repeat or choose fewer"), "{why}");
    // A few rows are nothing to be refused.
    let rows = x.index([Index::from(vec![0, 1, 0])]).unwrap();
    assert_eq!((rows.nse(), rows.shape()), (2 * n as usize, &[3, 2, 1 << 20][..]));
    assert_eq!(x.index([Index::from(Vec::<usize>::new())]).unwrap().shape(), [0, 2, 1 << 20]);
}
