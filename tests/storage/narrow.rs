//! `narrow`: on every layout, axis, range and fill it gives what the strided tensor gives; windows share memory, and
//! every op takes a window as it takes any other tensor.

use openwork::{Fill, Layout, LevelKind, LevelSpec, Part, Result, Tensor};

mod windows;

/// Every element of a tensor, in C order; `None` where it is absent.
fn elements(x: &Tensor) -> Vec<Option<f64>> {
    let mut index = vec![0; x.ndim()];
    let mut out = Vec::new();
    for _ in 0..x.size() {
        out.push(x.get(&index).unwrap().map(|v| v.to::<f64>()));
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            if index[axis] < x.shape()[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    out
}

/// Which elements are stored: some rows of the last axis, in pairs, so that blocks and hybrid rows are whole, or
/// single elements.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Data {
    Rows,
    Scattered,
    /// Scattered, in no order, some places twice.
    Duplicates,
}

/// Coordinates and values in C order (or not, for duplicates).
fn triplets(shape: &[usize], data: Data) -> (Vec<Vec<u64>>, Vec<f64>) {
    let last = shape[shape.len() - 1];
    let size: usize = shape.iter().product();
    let stored = |i: usize| match data {
        Data::Rows => (i / last / 2).wrapping_mul(7) % 3 == 1,
        _ => i.wrapping_mul(2_654_435_761) >> 7 & 3 == 0,
    };
    let mut places: Vec<usize> = (0..size).filter(|&i| stored(i)).collect();
    if data == Data::Duplicates {
        places.extend(places.clone().iter().step_by(2));
        places.reverse();
        places.rotate_left(3);
    }
    let mut columns = vec![Vec::new(); shape.len()];
    for &place in &places {
        let mut rest = place;
        for (column, &n) in columns.iter_mut().zip(shape).rev() {
            column.push((rest % n) as u64);
            rest /= n;
        }
    }
    let values = (0..places.len()).map(|i| i as f64 + 2.0).collect();
    (columns, values)
}

fn fills(shape: &[usize]) -> Vec<(&'static str, Fill)> {
    let array = |shape: Vec<usize>| {
        let n: usize = shape.iter().product();
        Fill::array(Tensor::from_vec(&shape, (0..n).map(|i| -1.0 - i as f64).collect()).unwrap())
    };
    let ones = vec![1; shape.len()];
    let along = |axis: usize| ones.iter().enumerate().map(|(a, &one)| if a == axis { shape[a] } else { one }).collect();
    let mut out = vec![
        ("0", Fill::from(0.0)),
        ("1.5", Fill::from(1.5)),
        ("full array", array(shape.to_vec())),
        ("undefined", Fill::Undefined),
    ];
    out.extend((0..shape.len()).map(|axis| ("array along an axis", array(along(axis)))));
    out
}

/// Layouts of a matrix or of three axes, with level structures that have no name.
fn specs(shape: &[usize]) -> Vec<LevelSpec> {
    let one = LevelKind::Sparse { rank: 1 };
    let (dense, two) = (LevelKind::Dense, LevelKind::Sparse { rank: 2 });
    let of = |levels: &[LevelKind], axes: &[usize]| LevelSpec {
        levels: levels.to_vec(),
        dims: axes.iter().map(|&a| (a, Part::Whole)).collect(),
    };
    let named: &[Layout] = &[
        Layout::Coo,
        Layout::HybridCoo { dense_dims: 1 },
        Layout::HybridCoo { dense_dims: 2 },
        Layout::Csr,
        Layout::Csc,
        Layout::Dcsr,
        Layout::Dcsc,
        Layout::Csf,
        Layout::Bsr { block: [2, 3] },
        Layout::Bsc { block: [2, 3] },
    ];
    let empty = Tensor::zeros(shape, openwork::DType::F64, Layout::Coo).unwrap();
    let named = named.iter().filter_map(|&layout| empty.to_layout(layout).ok());
    let mut out: Vec<LevelSpec> = named.map(|x| x.level_spec().unwrap()).collect();
    out.extend(match shape.len() {
        2 => vec![of(&[one], &[1, 0]), of(&[one], &[0, 1])],
        _ => vec![
            of(&[dense, two], &[2, 0, 1]),
            of(&[dense, one], &[1, 2, 0]),
            of(&[dense, dense, one], &[2, 0, 1]),
            of(&[one, dense, one], &[0, 1, 2]),
            of(&[two, one], &[1, 0, 2]),
            of(&[two], &[0, 2, 1]),
        ],
    });
    out
}

/// Every range of an axis.
fn ranges(n: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..=n).flat_map(move |start| (start..=n).map(move |end| start..end))
}

/// All axes and ranges of one tensor, against the elements picked out of it one by one.
fn check(what: &str, x: &Tensor) {
    let whole = elements(x);
    let strided = x.to_dense().ok();
    for axis in 0..x.ndim() {
        let (n, inner) = (x.shape()[axis], x.shape()[axis + 1..].iter().product::<usize>());
        for range in ranges(n) {
            let what = format!("{what}: axis {axis}, {range:?}");
            let y = x.narrow(range.clone(), axis).unwrap();
            let mut shape = x.shape().to_vec();
            shape[axis] = range.len();
            assert_eq!((y.shape(), y.dtype()), (&shape[..], x.dtype()), "{what}");
            let inside = |&(i, _): &(usize, _)| range.contains(&(i / inner.max(1) % n));
            let expected: Vec<_> = whole.iter().enumerate().filter(inside).map(|(_, v)| *v).collect();
            assert_eq!(elements(&y), expected, "{what}");
            if let Some(strided) = &strided {
                let dense = strided.narrow(range.clone(), axis).unwrap();
                assert_eq!(elements(&dense), expected, "{what}, strided");
                assert_eq!(elements(&y.to_dense().unwrap()), expected, "{what}, made dense");
            } else {
                assert!(y.fill().unwrap().is_undefined(), "{what}");
                assert_eq!(y.to_dense().is_err(), expected.contains(&None), "{what}");
                let present: Vec<_> = expected.iter().map(|v| Some(v.unwrap_or(-9.0))).collect();
                assert_eq!(elements(&y.to_dense_with(-9.0).unwrap()), present, "{what}, made dense");
            }
            // Where the axis is not cut into blocks, the levels stay.
            let spec = x.level_spec();
            if spec.iter().all(|s| s.dims.contains(&(axis, Part::Whole))) {
                assert_eq!(y.level_spec(), spec, "{what}");
            }
            let again = x.narrow(range, axis as isize - x.ndim() as isize).unwrap();
            assert_eq!(format!("{again}{again:?}"), format!("{y}{y:?}"), "{what}, axis from the back");
            // Coordinates and values alone say the same.
            if !y.is_strided() && columns(&y).len() == y.ndim() {
                let made = Tensor::coo(&shape, columns(&y), &y.stored_values(), 0.0).unwrap();
                assert_eq!(elements(&made), elements(&y.stored().to_dense_with(0.0).unwrap()), "{what}, stored");
            }
        }
    }
}

fn columns(y: &Tensor) -> Vec<Vec<u64>> {
    let mut columns = y.coordinates();
    columns.sort_by_key(|c| c.0);
    columns.into_iter().map(|c| c.1).collect()
}

fn make(shape: &[usize], data: Data, fill: Fill) -> Tensor {
    let (columns, values) = triplets(shape, data);
    Tensor::coo(shape, columns, &Tensor::from_vec([values.len()], values).unwrap(), fill).unwrap()
}

fn every_layout_and_fill(shape: &[usize]) {
    let mut made = 0;
    for (name, fill) in fills(shape) {
        for data in [Data::Rows, Data::Scattered, Data::Duplicates] {
            let coo = make(shape, data, fill.clone());
            check(&format!("coo of {shape:?}, fill {name}, {data:?}"), &coo);
            for spec in specs(shape).into_iter().filter(|_| data != Data::Duplicates) {
                let what = format!("{spec:?} of {shape:?}, fill {name}, {data:?}");
                match coo.to_levels(&spec) {
                    Ok(x) => check(&what, &x),
                    // Rows of value axes cannot hold absent elements.
                    Err(e) => assert!(fill.is_undefined(), "{what}: {e}"),
                }
                made += 1;
            }
        }
    }
    assert!(made > 100, "{made}");
}

#[test]
fn matrices() {
    every_layout_and_fill(&[4, 6]);
}

#[test]
fn three_axes() {
    every_layout_and_fill(&[3, 4, 6]);
}

#[test]
fn vectors() {
    for (name, fill) in fills(&[7]) {
        for data in [Data::Scattered, Data::Duplicates] {
            check(&format!("a vector, fill {name}"), &make(&[7], data, fill.clone()));
        }
    }
}

#[test]
fn shapes_with_nothing_in_them() {
    for shape in [[0, 6], [4, 0], [0, 0]] {
        for (name, fill) in fills(&shape) {
            let coo = Tensor::empty(shape, openwork::DType::F64, Layout::Coo, fill).unwrap();
            for spec in specs(&shape) {
                check(&format!("{spec:?} of {shape:?}, fill {name}"), &coo.to_levels(&spec).unwrap());
            }
        }
    }
}

/// The elements of a multigraph, duplicates within the rows of a compressed layout.
#[test]
fn rows_with_duplicates() -> Result<()> {
    let level = openwork::LevelData::Sparse {
        pointers: Some(vec![0u32, 2, 2, 5].into()),
        indices: vec![vec![1u32, 1, 3, 0, 3].into()],
        ordered: false,
        unique: false,
    };
    let spec =
        specs(&[3, 4]).into_iter().find(|s| s.levels == [LevelKind::Dense, LevelKind::Sparse { rank: 1 }]).unwrap();
    let values = Tensor::from_vec([5], vec![1.0, 2.0, 4.0, 8.0, 16.0])?;
    let x = Tensor::from_parts(&[3, 4], vec![openwork::LevelData::Dense, level], &spec, &values, 0.0)?;
    check("a multigraph", &x);
    let window = x.narrow(2..3, 0)?;
    assert_eq!((window.nse(), window.is_coalesced()), (3, false));
    assert_eq!(window.coalesce()?.nse(), 2);
    Ok(())
}

#[test]
fn strided_views() {
    let x = Tensor::from_vec([3, 4], (0..12).map(f64::from).collect()).unwrap();
    let twice = x.narrow(1..3, 0).unwrap().narrow(1..3, 1).unwrap();
    assert_eq!(elements(&twice), [5.0, 6.0, 9.0, 10.0].map(Some));
    for (what, x) in [
        ("strided", x.clone()),
        ("transposed", x.matrix_transpose().unwrap()),
        ("broadcast", Tensor::from_vec([4], vec![1.0, 2.0, 3.0, 4.0]).unwrap().broadcast_to([3, 4]).unwrap()),
        ("a window", x.narrow(1..3, 1).unwrap()),
    ] {
        check(what, &x);
    }
}

#[test]
fn wrong_ranges_and_axes() {
    for layout in [Layout::Strided, Layout::Coo, Layout::Csr, Layout::Csc, Layout::Bsr { block: [2, 3] }] {
        let x = make(&[4, 6], Data::Scattered, 0.0.into()).to_layout(layout).unwrap();
        for (axis, range) in [(0, 0..5), (1, 7..7), (1, 3..7), (-2, 4..6)] {
            let message = x.narrow(range, axis).unwrap_err().to_string();
            assert!(message.contains("narrow") && message.contains("range"), "{message}");
        }
        #[allow(clippy::reversed_empty_ranges)]
        let backwards = x.narrow(3..2, 0).unwrap_err();
        assert!(backwards.to_string().contains("3..2"), "{backwards}");
        for axis in [2, -3] {
            assert!(x.narrow(0..1, axis).unwrap_err().to_string().contains("axis"));
        }
    }
}
