//! Sorting of what sparse tensors store, in every layout, beside a stable sort of each slice's elements by hand: bit by bit, stored
//! zeros with a sign and NaN with a payload too, on one, two and three threads.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use openwork::{DType, Fill, Layout, Scalar, Tensor};

use crate::common::on_threads;
use crate::common::rng::Rng;

type Entries = BTreeMap<Vec<u64>, u64>;

/// What is stored, with its bits, at its place.
fn entries(x: &Tensor) -> Entries {
    let x = x.to_contiguous().unwrap();
    let coordinates = x.coordinates();
    let values = x.values::<f64>().unwrap();
    let at = |i: usize| {
        let mut place = vec![0; x.ndim()];
        coordinates.iter().for_each(|(axis, along)| place[*axis] = along[i]);
        place
    };
    values.iter().enumerate().map(|(i, v)| (at(i), v.to_bits())).collect()
}

/// NaN is greater than every number and equal to itself, and −0 is 0.
fn order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Each slice's elements in order: those that are not above the fill first, the others last.
fn sorted(of: &Entries, axis: usize, length: usize, fill: Option<f64>, falling: bool) -> Entries {
    let mut slices: BTreeMap<Vec<u64>, Vec<f64>> = BTreeMap::new();
    for (place, &bits) in of {
        let mut kept = place.clone();
        kept.remove(axis);
        // Places come in C order, and so along the axis.
        slices.entry(kept).or_default().push(f64::from_bits(bits));
    }
    let mut out = Entries::new();
    for (kept, mut values) in slices {
        let by = |a: &f64, b: &f64| if falling { order(*b, *a) } else { order(*a, *b) };
        values.sort_by(by);
        let front =
            fill.map_or(values.len(), |fill| values.iter().filter(|v| by(v, &fill) != Ordering::Greater).count());
        let gap = length - values.len();
        for (i, value) in values.into_iter().enumerate() {
            let mut place = kept.clone();
            place.insert(axis, if i < front { i } else { i + gap } as u64);
            out.insert(place, value.to_bits());
        }
    }
    out
}

/// About `n` elements, in some rows many; every seventh row is empty.
fn some(shape: &[usize], n: usize, plain: bool, fill: impl Into<Fill>) -> Tensor {
    let mut random = Rng::new(n as u64);
    let row = |i: usize, random: &mut Rng| if i.is_multiple_of(3) { 1 } else { random.below(shape[0]) };
    let mut places: Vec<Vec<i64>> = (0..n)
        .map(|i| {
            let first = row(i, &mut random);
            [first].into_iter().chain(shape[1..].iter().map(|&size| random.below(size))).map(|i| i as i64).collect()
        })
        .collect();
    places.sort_unstable();
    places.dedup();
    places.retain(|p| shape.len() == 1 || p[0] % 7 != 3);
    let nan = f64::from_bits(f64::NAN.to_bits() | 5);
    let special = [-0.0, 0.0, f64::NAN, nan, f64::INFINITY, -7.5];
    let value = |i: usize| match i % 5 {
        0 if !plain => special[i / 5 % special.len()],
        _ => (i * 7919 % 41) as f64 / 4.0 - 5.125,
    };
    let indices = (0..shape.len()).map(|a| places.iter().map(|p| p[a]).collect::<Vec<i64>>());
    let values = Tensor::from_vec([places.len()], (0..places.len()).map(value).collect::<Vec<f64>>()).unwrap();
    Tensor::coo(shape, indices.collect::<Vec<_>>(), &values, fill).unwrap()
}

fn check(shape: &[usize], n: usize, layouts: &[Layout]) {
    let fills = [Some(0.0), Some(1.5), Some(-100.0), Some(f64::NAN), None];
    for (fill, plain) in fills.into_iter().flat_map(|fill| [(fill, true), (fill, false)]) {
        let of = fill.map_or(Fill::Undefined, |fill| Fill::Scalar(Scalar::F64(fill)));
        let x = some(shape, n, plain, of);
        let stored = entries(&x);
        for &layout in layouts {
            let x = x.to_layout(layout).unwrap();
            for axis in 0..shape.len() {
                for falling in [false, true] {
                    let what = format!("{layout:?} of {shape:?}, axis {axis}, fill {fill:?}, falling {falling}");
                    let sort = || if falling { x.sort_descending(axis) } else { x.sort(axis) };
                    let found = on_threads(&what, &sort);
                    assert_eq!((found.layout(), found.nse()), (x.layout(), x.nse()), "{what}");
                    assert!(found.is_coalesced(), "{what}");
                    assert!(entries(&found) == sorted(&stored, axis, shape[axis], fill, falling), "{what}");
                }
            }
        }
    }
}

#[test]
fn matrices() {
    let layouts = [Layout::Csr, Layout::Csc, Layout::Coo, Layout::Dcsr, Layout::Dcsc, Layout::Csf];
    check(&[40, 30], 300, &layouts);
    check(&[9, 70_000], 50_000, &layouts[..3]);
}

#[test]
fn of_more_axes_and_of_one() {
    check(&[11, 5, 13], 400, &[Layout::Coo, Layout::Csf, Layout::Csr, Layout::Csc]);
    check(&[100], 60, &[Layout::Coo]);
    check(&[90_000], 70_000, &[Layout::Coo]);
    check(&[1 << 40], 50, &[Layout::Coo]);
    check(&[1 << 40, 3], 50, &[Layout::Coo, Layout::Dcsr]);
}

/// Where nothing is stored, in a part of a larger tensor, and where all elements are one.
#[test]
fn of_nothing_of_rows_and_of_one_value() {
    let empty = some(&[40, 30], 0, true, 0.0).to_layout(Layout::Csr).unwrap();
    assert_eq!(empty.sort(1).unwrap().nse(), 0);
    let x = some(&[40, 30], 300, true, 0.0).to_layout(Layout::Csr).unwrap();
    let rows = x.narrow(5..20, 0).unwrap();
    let wanted = sorted(&entries(&rows), 1, 30, Some(0.0), false);
    assert!(entries(&rows.sort(1).unwrap()) == wanted && wanted.len() > 50);
    // Indices of 32 bits along an axis that is longer.
    let values = Tensor::from_vec([2], vec![7.0, -7.0]).unwrap();
    let long = Tensor::coo([1 << 40], vec![vec![3u32, 5]], &values, 0.0).unwrap();
    let found = entries(&long.sort(0).unwrap());
    assert!(found == sorted(&entries(&long), 0, 1 << 40, Some(0.0), false) && found.len() == 2);
    let ones = x.ne(0.0).unwrap().cast(DType::F64).unwrap();
    let wanted = sorted(&entries(&ones), 1, 30, Some(0.0), true);
    assert!(entries(&ones.sort_descending(1).unwrap()) == wanted && wanted.len() > 100);
}

/// Other dtypes beside the array.
#[test]
fn of_other_dtypes() {
    let x = some(&[60, 40], 700, true, 0.0).to_layout(Layout::Csr).unwrap();
    for dtype in [DType::F32, DType::F16, DType::I64, DType::I8, DType::U16, DType::Bool] {
        let x = x.abs().unwrap().cast(dtype).unwrap();
        let found = x.sort(1).unwrap();
        assert_eq!((found.dtype(), found.layout(), found.nse()), (dtype, Layout::Csr, x.nse()));
        let wanted = x.to_dense().unwrap().sort(1).unwrap();
        assert!(found.to_dense().unwrap().equal(&wanted).unwrap(), "{dtype}");
    }
}
