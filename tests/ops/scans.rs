//! Running sums, products and extremes of strided tensors beside plain loops, of whole numbers, of which none is rounded: narrow and wide
//! arrays in every order of memory. And where elements are that are not zero, variances of wide arrays, norms of rows, repeated elements,
//! histograms, folds of one element each.

use openwork::{DType, Fill, Layout, Result, Tensor, c64, c128, s};

use crate::arrays::on_threads;

/// Mostly one and minus one, two and zero now and then: products stay small.
fn number(i: usize) -> i64 {
    match (i.wrapping_mul(0x9e37_79b1) >> 7) % 512 {
        0 => 0,
        1 | 2 => 2,
        n if n % 3 == 0 => -1,
        _ => 1,
    }
}

fn whole(shape: &[usize]) -> Tensor {
    Tensor::from_vec(shape, (0..shape.iter().product()).map(number).collect()).unwrap()
}

/// What has one index along an axis, without the axis.
fn line(x: &Tensor, at: usize, axis: usize) -> Result<Tensor> {
    x.narrow(at..at + 1, axis)?.squeeze(axis)
}

/// The same elements in the order of memory of a transpose, behind others, and every second of twice as many.
fn views(x: &Tensor) -> Result<Vec<Tensor>> {
    let reversed: Vec<usize> = (0..x.ndim()).rev().collect();
    let turned = x.permute_dims(&reversed[..])?.to_contiguous()?.permute_dims(&reversed[..])?;
    let behind = Tensor::concat(&[x, x], 0)?.narrow(x.shape()[0]..2 * x.shape()[0], 0)?;
    let every_second = line(&Tensor::stack(&[x, x], -1)?, 1, x.ndim())?;
    Ok(vec![x.clone(), turned, behind, every_second])
}

/// The folds of each element with all before it along an axis, after `initial` if there is one.
fn scanned(x: &[i64], shape: &[usize], axis: usize, initial: Option<i64>, fold: fn(i64, i64) -> i64) -> Vec<i64> {
    let (n, block) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
    let more = usize::from(initial.is_some());
    let mut out = Vec::with_capacity(x.len());
    for group in x.chunks_exact(n * block) {
        let first = out.len();
        out.extend(std::iter::repeat_n(initial.unwrap_or_default(), more * block));
        for (r, row) in group.chunks_exact(block).enumerate() {
            for (c, &value) in row.iter().enumerate() {
                let before = (r + more > 0).then(|| out[first + (r + more - 1) * block + c]);
                out.push(before.map_or(value, |before| fold(before, value)));
            }
        }
    }
    out
}

#[test]
fn scans_of_arrays() {
    let shapes: [&[usize]; 12] = [
        &[700],
        &[1, 3000],
        &[3000, 1],
        &[3, 2500],
        &[900, 2],
        &[400, 3],
        &[70, 40],
        &[2, 300, 5],
        &[3, 4, 700],
        &[40, 90, 13],
        &[30_000, 3],
        &[40, 1100],
    ];
    type Scan = (&'static str, fn(&Tensor, usize) -> Result<Tensor>, Option<i64>, fn(i64, i64) -> i64);
    let scans: [Scan; 6] = [
        ("cumulative_sum", |x, axis| x.cumulative_sum(axis), None, |a, b| a + b),
        ("cumulative_sum_with_initial", |x, axis| x.cumulative_sum_with_initial(axis), Some(0), |a, b| a + b),
        ("cumulative_prod", |x, axis| x.cumulative_prod(axis), None, |a, b| a.wrapping_mul(b)),
        (
            "cumulative_prod_with_initial",
            |x, axis| x.cumulative_prod_with_initial(axis),
            Some(1),
            |a, b| a.wrapping_mul(b),
        ),
        ("cummax", |x, axis| x.cummax(axis), None, i64::max),
        ("cummin", |x, axis| x.cummin(axis), None, i64::min),
    ];
    for shape in shapes {
        let x = whole(shape);
        for dtype in [DType::I64, DType::I8, DType::F64, DType::F32, DType::Complex64, DType::Complex128] {
            let typed = x.cast(dtype).unwrap();
            let numbers = x.to_vec::<i64>().unwrap();
            for axis in 0..shape.len() {
                for (name, scan, initial, fold) in scans {
                    // Twos of long axes together are more than a narrow float holds.
                    let is_exact = !name.contains("prod") || shape[axis] < 1000 || dtype.is_int();
                    if !is_exact || (dtype.is_complex() && name.starts_with("cumm")) {
                        continue;
                    }
                    let wanted = scanned(&numbers, shape, axis, initial, fold);
                    for view in views(&typed).unwrap() {
                        let found = on_threads(|| {
                            let out = scan(&view, axis).unwrap();
                            let out = if dtype.is_complex() { out.real().unwrap() } else { out };
                            out.cast(DType::I64).unwrap().to_vec::<i64>().unwrap()
                        });
                        assert_eq!(found, wanted, "{name} of {dtype}, {shape:?}, axis {axis}");
                    }
                }
            }
        }
    }
}

/// Each line has the bits that it has alone: how many lie beside it, and what is between dtypes, changes none.
#[test]
fn lines_have_the_bits_of_each_alone() {
    for (rows, columns) in [(1500, 3), (90, 700), (2, 2000), (300, 40)] {
        for dtype in [DType::F64, DType::F32, DType::F16] {
            let x = Tensor::randn([rows, columns], 5).unwrap().mul(1e3).unwrap().cast(dtype).unwrap();
            for axis in [0, 1] {
                let all =
                    on_threads(|| x.cumulative_sum(axis).unwrap().cast(DType::F64).unwrap().to_vec::<f64>().unwrap());
                let all = Tensor::from_vec([rows, columns], all).unwrap();
                for at in (0..x.shape()[1 - axis]).step_by(37) {
                    let of = |x: &Tensor| line(x, at, 1 - axis).unwrap();
                    let alone = of(&x).to_contiguous().unwrap().cumulative_sum(0).unwrap().cast(DType::F64).unwrap();
                    assert_eq!(
                        of(&all).to_vec::<f64>().unwrap(),
                        alone.to_vec::<f64>().unwrap(),
                        "{dtype} {axis} {at}"
                    );
                }
            }
        }
    }
}

/// Rows that store nothing, a few elements, and more than a thread takes at a time.
#[test]
fn scans_of_what_rows_store() {
    let lengths: Vec<usize> = (0..9000usize)
        .map(|r| match r {
            4 | 5 | 700 => 20_000,
            8999 => 50_000,
            _ => r * r % 7,
        })
        .collect();
    let (mut ends, mut columns) = (vec![0i64], Vec::new());
    for &n in &lengths {
        columns.extend(0..n as i64);
        ends.push(columns.len() as i64);
    }
    let numbers: Vec<i64> = (0..columns.len()).map(number).collect();
    let wanted: Vec<i64> = ends
        .windows(2)
        .flat_map(|own| {
            let row = &numbers[own[0] as usize..own[1] as usize];
            if row.is_empty() { Vec::new() } else { scanned(row, &[row.len()], 0, None, |a, b| a + b) }
        })
        .collect();
    for dtype in [DType::I64, DType::I32, DType::F64, DType::F32, DType::Complex64] {
        let values = Tensor::from_vec([numbers.len()], numbers.clone()).unwrap().cast(dtype).unwrap();
        let x = Tensor::csr([lengths.len(), 50_000], ends.clone(), columns.clone(), &values, Fill::Undefined);
        let x = x.unwrap();
        let found = on_threads(|| {
            let out = x.cumulative_sum(1).unwrap();
            let out = if dtype.is_complex() { out.real().unwrap() } else { out };
            out.cast(DType::I64).unwrap().values::<i64>().unwrap().to_vec()
        });
        assert!(found == wanted, "{dtype}");
    }
}

/// Rows without any, with a few and with all, near each other and far apart.
#[test]
fn where_elements_are_not_zero() {
    let shapes: [&[usize]; 6] = [&[5000], &[3000, 1], &[700, 3], &[3, 4000], &[90, 7, 11], &[2, 1, 30, 1, 40]];
    for shape in shapes {
        let n: usize = shape.iter().product();
        for far in [1, 2, 9, 64, 1000] {
            let holds = |i: usize| (i * i).is_multiple_of(far) && (i / 400).is_multiple_of(2) || i + 1 == n;
            let x = Tensor::from_vec(shape, (0..n).map(|i| i32::from(holds(i))).collect()).unwrap();
            let found = on_threads(|| {
                let lists = x.nonzero().unwrap();
                lists.iter().map(|list| list.to_vec::<i64>().unwrap()).collect::<Vec<_>>()
            });
            let listed = x.argwhere().unwrap().to_vec::<i64>().unwrap();
            for (k, place) in (0..n).filter(|&i| holds(i)).enumerate() {
                let mut rest = place;
                for axis in (0..shape.len()).rev() {
                    let at = (rest % shape[axis]) as i64;
                    rest /= shape[axis];
                    assert_eq!((found[axis][k], listed[k * shape.len() + axis]), (at, at), "{shape:?} {place}");
                }
            }
            assert!(found.iter().all(|list| list.len() == (0..n).filter(|&i| holds(i)).count()));
        }
    }
}

#[test]
fn variances_of_wide_arrays() {
    for (rows, columns) in [(3, 5000), (40, 3000), (100, 2500)] {
        for dtype in [DType::F64, DType::F32, DType::I32] {
            let x = Tensor::randn([rows, columns], 7).unwrap().mul(50.0).unwrap().cast(dtype).unwrap();
            let found = on_threads(|| x.var(1.0, 0).unwrap().cast(DType::F64).unwrap().to_vec::<f64>().unwrap());
            for column in (0..columns).step_by(311).chain([columns - 1]) {
                let own = line(&x, column, 1).unwrap().cast(DType::F64).unwrap().to_vec::<f64>().unwrap();
                let mean = own.iter().sum::<f64>() / rows as f64;
                let wanted = own.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (rows as f64 - 1.0);
                assert!((found[column] / wanted - 1.0).abs() < 1e-6, "{dtype} {column}: {} {wanted}", found[column]);
            }
        }
    }
}

#[test]
fn elements_again_and_again() {
    for shape in [&[7usize, 3][..], &[4000, 3], &[2, 900, 5], &[6000]] {
        for dtype in [DType::U8, DType::F16, DType::F32, DType::F64, DType::Complex128] {
            let n = shape.iter().product::<usize>();
            let x = Tensor::from_vec(shape, (0..n as i64).map(|i| i % 101).collect()).unwrap().cast(dtype).unwrap();
            for axis in 0..shape.len() {
                for times in [1usize, 2, 3, 4, 5] {
                    let found = on_threads(|| {
                        let out = x.repeat(times as i64, axis as i64).unwrap();
                        let out = if dtype.is_complex() { out.real().unwrap() } else { out };
                        out.cast(DType::I64).unwrap().to_vec::<i64>().unwrap()
                    });
                    let block: usize = shape[axis + 1..].iter().product();
                    let rows = (0..n / block).flat_map(|row| std::iter::repeat_n(row, times));
                    let wanted: Vec<i64> =
                        rows.flat_map(|row| (0..block).map(move |c| (row * block + c) as i64 % 101)).collect();
                    assert_eq!(found, wanted, "{shape:?} of {dtype}, axis {axis}, {times} times");
                }
            }
        }
    }
}

/// Elements are put into bins, those over a fill that varies are sorted.
#[test]
fn counts_in_bins() {
    let numbers: Vec<f64> = (0..40_000).map(|i| ((i * i + 7 * i) % 4001) as f64 / 8.0 - 200.0).collect();
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e300, -1e300, 5e-324, 100.0];
    let with: Vec<f64> = numbers.iter().copied().chain(special).collect();
    let ranges = [
        (-200.0, 300.0),
        (0.0, 1.0),
        (-0.0, 100.0),
        (-1e300, 1e300),
        (0.1, 0.1),
        (1e9, 1e9 + 1e-6),
        (f64::MIN, f64::MAX),
    ];
    for dtype in [DType::F64, DType::F32, DType::F16, DType::I64, DType::I16, DType::U8, DType::Bool] {
        for (numbers, ranges) in [
            (&numbers, [None].into_iter().chain(ranges.map(Some))),
            (&with, [None].into_iter().chain(ranges.map(Some))),
        ] {
            let is_plain = numbers.len() == 40_000 || !dtype.is_float();
            let x = Tensor::from_vec([numbers.len() / 8, 8], numbers.clone()).unwrap().cast(dtype).unwrap();
            let one = x.slice(s![4, 3]).unwrap().item().unwrap();
            let varied = Tensor::from_vec([1, 8], vec![0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 100.0, 3.0]).unwrap();
            let varied = varied.cast(dtype).unwrap();
            let forms = [
                x.clone(),
                x.to_sparse(Layout::Coo, &varied).unwrap(),
                x.to_layout(Layout::Csc).unwrap(),
                x.to_sparse(Layout::Bsr { block: [1, 4] }, one).unwrap(),
                x.to_sparse(Layout::HybridCoo { dense_dims: 1 }, Fill::Undefined).unwrap(),
            ];
            for range in ranges.filter(|range| range.is_some() || is_plain) {
                for bins in [1usize, 7, 1000, 30_000] {
                    let [first, rest @ ..] = forms.each_ref().map(|x| {
                        on_threads(|| {
                            let (counts, edges) = x.histogram(bins, range).unwrap();
                            (counts.to_vec::<i64>().unwrap(), edges.to_vec::<f64>().unwrap())
                        })
                    });
                    assert!(rest.iter().all(|found| *found == first), "{dtype}, {bins} bins, {range:?}");
                }
            }
        }
    }
    let nan = Tensor::from_vec([with.len()], with).unwrap();
    assert!(nan.histogram(5, None).is_err());
    assert!(nan.histogram(5, Some((2.0, 1.0))).is_err());
}

/// Rows of some elements and of more than a part, and arrays whose rows lie otherwise.
#[test]
fn norms_of_rows() {
    for shape in [&[300usize, 16][..], &[40, 100], &[5, 40_000], &[3, 4, 5000], &[100_001]] {
        let x = Tensor::randn(shape, 3).unwrap();
        for dtype in [DType::F64, DType::F32, DType::I32, DType::F16] {
            let x = x.mul(9.0).unwrap().cast(dtype).unwrap();
            let last = shape.len() - 1;
            let squares = x.cast(DType::F64).unwrap().square().unwrap();
            for axes in [vec![last], (last.saturating_sub(1)..=last).collect(), (0..=last).collect()] {
                let wanted = squares.sum(&axes[..]).unwrap().sqrt().unwrap();
                for x in views(&x).unwrap() {
                    let norms = || x.vector_norm(2.0, &axes[..]).unwrap().cast(DType::F64).unwrap();
                    let found = on_threads(|| norms().to_vec::<f64>().unwrap());
                    let found = Tensor::from_vec(wanted.shape(), found).unwrap();
                    let near = if dtype == DType::F16 { 1e-3 } else { 1e-6 };
                    assert!(found.allclose(&wanted, near, 0.0).unwrap(), "{shape:?} of {dtype} over {axes:?}");
                }
            }
        }
    }
    // Squares that no float holds, and elements that are not finite.
    let x =
        Tensor::from_vec([2, 20], (0..40).map(|i| if i < 20 { 1e200 } else { 1e-200 }).collect::<Vec<f64>>()).unwrap();
    let norms = x.vector_norm(2.0, 1).unwrap().to_vec::<f64>().unwrap();
    assert!(
        (norms[0] / 20f64.sqrt() / 1e200 - 1.0).abs() < 1e-14 && (norms[1] / 20f64.sqrt() / 1e-200 - 1.0).abs() < 1e-14
    );
    let x = Tensor::from_vec([2, 20], (0..40).map(|i| [1.0, f32::INFINITY, f32::NAN][i / 19]).collect::<Vec<f32>>())
        .unwrap();
    let norms = x.vector_norm(2.0, 1).unwrap().to_vec::<f32>().unwrap();
    assert!(norms[0] == f32::INFINITY && norms[1].is_nan());
}

/// Complex numbers in rows and in columns, and columns that hold only zeros, or what is not finite.
#[test]
fn norms_of_complex_numbers_and_of_columns() {
    for shape in [&[30usize, 16][..], &[5, 20_000], &[20_000, 5], &[300, 130]] {
        for dtype in [DType::Complex64, DType::Complex128, DType::F32, DType::F64] {
            let x = Tensor::randn(shape, 3).unwrap().cast(dtype).unwrap();
            let x = if dtype.is_complex() { x.mul(c128::new(1.0, -2.0)).unwrap().cast(dtype).unwrap() } else { x };
            for axis in [0, 1] {
                let wanted = x.abs().unwrap().cast(DType::F64).unwrap().square().unwrap().sum(axis).unwrap().sqrt();
                let wanted = wanted.unwrap().to_vec::<f64>().unwrap();
                for x in views(&x).unwrap() {
                    let norms = || x.vector_norm(2.0, axis).unwrap().cast(DType::F64).unwrap();
                    let found = on_threads(|| norms().to_vec::<f64>().unwrap());
                    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 3e-7 * b;
                    assert!(found.iter().zip(&wanted).all(near), "{shape:?} of {dtype}, axis {axis}");
                }
            }
        }
    }
    let mut x: Vec<f32> = (0..300 * 130).map(|i| if i % 130 == 0 { 0.0 } else { 1.0 }).collect();
    (x[7 * 130 + 1], x[200 * 130 + 2]) = (f32::NEG_INFINITY, f32::NAN);
    let x = Tensor::from_vec([300, 130], x).unwrap();
    let norms = x.vector_norm(2.0, 0).unwrap().to_vec::<f32>().unwrap();
    assert!(norms[0] == 0.0 && norms[1] == f32::INFINITY && norms[2].is_nan());
    assert!(norms[3..].iter().all(|&norm| norm == 300f32.sqrt()));
    let mut z = vec![c64::new(0.0, 0.0); 3 * 20];
    (z[20 + 4], z[2 * 20 + 4]) = (c64::new(f32::INFINITY, f32::NAN), c64::new(1.0, f32::NAN));
    let z = Tensor::from_vec([3, 20], z).unwrap();
    let norms = z.vector_norm(2.0, 1).unwrap().to_vec::<f32>().unwrap();
    assert!(norms[0] == 0.0 && norms[1] == f32::INFINITY && norms[2].is_nan(), "{norms:?}");
}

#[test]
fn folds_of_one_element_each() {
    let x = Tensor::from_vec([2, 1, 3], vec![1.5, -0.0, f64::NAN, -2.0, 0.0, f64::INFINITY]).unwrap();
    for dtype in [DType::F64, DType::F16, DType::I64, DType::Bool] {
        let plain = x.cast(dtype).unwrap();
        for x in views(&plain).unwrap() {
            let of = |found: Result<Tensor>, wanted: &Tensor| {
                let found = found.unwrap();
                assert_eq!(found.shape(), [2, 3]);
                let [found, wanted] = [&found, wanted].map(|x| x.cast(DType::F64).unwrap().to_vec::<f64>().unwrap());
                let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
                assert!(found.iter().zip(&wanted).all(same), "{dtype}: {found:?} {wanted:?}");
            };
            of(x.max(1), &plain);
            of(x.min(1), &plain);
            of(x.prod(1), &plain);
            let truth = plain.cast(DType::Bool).unwrap();
            of(x.any(1), &truth);
            of(x.all(1), &truth);
            // The sum of one −0 is +0.
            of(x.sum(1), &plain.add(0).unwrap());
        }
    }
}
