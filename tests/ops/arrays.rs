//! Ways of computing that strided tensors take, beside plain loops: on one, two and three threads.

use openwork::parallel::with_threads;
use openwork::{DType, Index, Layout, Tensor, c128, s, tensor};

use crate::common::rng::Rng;

/// The same on every number of threads.
pub fn on_threads<T: PartialEq + Send>(f: impl Fn() -> T + Sync + Send) -> T {
    let first = with_threads(1, &f).unwrap();
    for threads in 2..=3 {
        assert!(with_threads(threads, &f).unwrap() == first, "{threads} threads");
    }
    first
}

fn bits(x: &Tensor) -> Vec<u64> {
    x.to_vec::<f64>().unwrap().iter().map(|v| v.to_bits()).collect()
}

/// `Σ (x − mean)² / (n − correction)` of numbers that are whole 8ths.
fn variance(numbers: &[f64], offset: f64, correction: f64) -> f64 {
    let whole: Vec<i128> = numbers.iter().map(|x| ((x - offset) * 8.0) as i128).collect();
    let (n, sum) = (whole.len() as i128, whole.iter().sum::<i128>());
    let squares: i128 = whole.iter().map(|x| (n * x - sum).pow(2)).sum();
    squares as f64 / (n as f64 * n as f64) / 64.0 / (n as f64 - correction)
}

#[test]
fn variances_of_arrays_along_any_axes() {
    // Narrow and wide columns, columns of several tasks, slices of few elements and of many.
    let shapes: [&[usize]; 7] =
        [&[70_000, 3], &[300, 1000], &[40, 5000], &[3, 200, 130], &[2000, 2, 3], &[150_000], &[129, 64]];
    for shape in shapes {
        let n: usize = shape.iter().product();
        for offset in [0.0, 1e8] {
            let numbers: Vec<f64> = (0..n).map(|i| offset + ((i * 7919 + i / 97) % 1009) as f64 / 8.0).collect();
            let x = Tensor::from_vec(shape, numbers.clone()).unwrap();
            let turned = x.permute_dims((0..shape.len()).rev().collect::<Vec<_>>()).unwrap();
            for axes in 1..1usize << shape.len() {
                let axes: Vec<i64> = (0..shape.len() as i64).filter(|a| axes >> a & 1 == 1).collect();
                let found = on_threads(|| bits(&x.var(1.0, &axes).unwrap()));
                // The slices, by plain steps.
                let kept: Vec<usize> = (0..shape.len()).filter(|&a| !axes.contains(&(a as i64))).collect();
                let mut slices = vec![Vec::new(); kept.iter().map(|&a| shape[a]).product()];
                for (i, &number) in numbers.iter().enumerate() {
                    let mut rest = i;
                    let mut index = vec![0; shape.len()];
                    for a in (0..shape.len()).rev() {
                        (index[a], rest) = (rest % shape[a], rest / shape[a]);
                    }
                    slices[kept.iter().fold(0, |at, &a| at * shape[a] + index[a])].push(number);
                }
                assert_eq!(found.len(), slices.len());
                for (found, slice) in found.iter().map(|&b| f64::from_bits(b)).zip(&slices) {
                    let wanted = variance(slice, offset, 1.0);
                    let near = wanted * 1e-12 + (offset * f64::EPSILON).powi(2);
                    assert!((found - wanted).abs() <= near, "{shape:?} {axes:?} {offset}: {found} {wanted}");
                }
                // The same array as it lies when its axes are turned round.
                let last = shape.len() as i64 - 1;
                let same = turned.var(1.0, axes.iter().map(|a| last - a).collect::<Vec<_>>()).unwrap();
                let same = same.permute_dims((0..same.ndim()).rev().collect::<Vec<_>>()).unwrap();
                for (a, &b) in same.to_vec::<f64>().unwrap().iter().zip(&found) {
                    assert!((a - f64::from_bits(b)).abs() <= a * 1e-12 + (offset * f64::EPSILON).powi(2));
                }
            }
        }
    }
}

/// Narrow and wide rows, columns of several tasks and groups of rows, with ties, zeros of both signs, infinities and NaN: the first of
/// the outermost, and the outermost, of each column, beside a loop.
#[test]
fn extremes_of_columns_of_arrays() {
    let shapes: [&[usize]; 8] =
        [&[2000, 3], &[3000, 50], &[300, 1000], &[5, 20_000], &[7, 4, 16], &[3, 40, 300], &[2, 3, 9000], &[1, 20]];
    for shape in shapes {
        let n: usize = shape.iter().product();
        let number = |i: usize| match i * 7919 % 1013 {
            0..40 => 0.0,
            40..80 => -0.0,
            80 => f64::INFINITY,
            81 => f64::NEG_INFINITY,
            k => (k % 60) as f64 - 30.0,
        };
        let plain: Vec<f64> = (0..n).map(number).collect();
        let with_nan: Vec<f64> =
            plain.iter().enumerate().map(|(i, &v)| if i % 1777 == 5 { f64::NAN } else { v }).collect();
        for (numbers, dtypes) in [
            (&plain, &[DType::F64, DType::F32, DType::F16, DType::I64, DType::U64, DType::I8, DType::Bool][..]),
            (&with_nan, &[DType::F64, DType::F32, DType::BF16]),
        ] {
            for &dtype in dtypes {
                let x = Tensor::from_vec(shape, numbers.clone()).unwrap().cast(dtype).unwrap();
                let numbers = x.cast(DType::F64).unwrap().to_vec::<f64>().unwrap();
                for axis in 0..shape.len() {
                    let (rows, block) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
                    for greatest in [true, false] {
                        let further = |a: f64, b: f64| if greatest { a > b } else { a < b };
                        let wanted = |column: usize| {
                            let at = |row: usize| numbers[(column / block * rows + row) * block + column % block];
                            let first = (0..rows).find(|&row| at(row).is_nan());
                            let first = first.unwrap_or_else(|| {
                                (1..rows).fold(0, |best, row| if further(at(row), at(best)) { row } else { best })
                            });
                            (first as i64, at(first))
                        };
                        let (places, values): (Vec<i64>, Vec<f64>) = (0..n / rows).map(wanted).unzip();
                        let found = on_threads(|| {
                            let found = if greatest { x.argmax(axis as i64) } else { x.argmin(axis as i64) };
                            found.unwrap().to_vec::<i64>().unwrap()
                        });
                        assert_eq!(found, places, "{shape:?} {dtype} {axis} {greatest}");
                        let found = on_threads(|| {
                            let found = if greatest { x.max(axis as i64) } else { x.min(axis as i64) };
                            bits(&found.unwrap().cast(DType::F64).unwrap())
                        });
                        let same = |(&found, &wanted): (&u64, &f64)| {
                            let found = f64::from_bits(found);
                            found == wanted || (found.is_nan() && wanted.is_nan())
                        };
                        assert!(found.iter().zip(&values).all(same), "{shape:?} {dtype} {axis} {greatest}");
                    }
                }
            }
        }
    }
}

#[test]
fn norms_of_arrays_along_any_axes() {
    let n = 120 * 9 * 65;
    let numbers: Vec<f64> = (0..n).map(|i| ((i * 7919 + 5) % 1013) as f64 / 8.0 - 60.0).collect();
    let x = Tensor::from_vec([120, 9, 65], numbers).unwrap();
    for dtype in [DType::F64, DType::F32, DType::I16, DType::Complex128] {
        let x = x.cast(dtype).unwrap();
        for axes in [vec![0i64], vec![1], vec![0, 1], vec![2], vec![0, 2]] {
            let found = on_threads(|| x.vector_norm(2.0, &axes).unwrap().to_vec_as_f64());
            let moduli = x.abs().unwrap().cast(DType::F64).unwrap();
            let wanted = moduli.square().unwrap().sum(&axes).unwrap().sqrt().unwrap().to_vec_as_f64();
            let near = if dtype == DType::F64 || dtype == DType::Complex128 { 1e-14 } else { 1e-6 };
            assert!(found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() <= near * b), "{dtype} {axes:?}");
        }
    }
    // Squares that overflow, vanish, or are none.
    let column = |numbers: [f64; 3]| Tensor::from_vec([3, 1], numbers.to_vec()).unwrap();
    let x = [[3e200, 4e200, 0.0], [3e-200, 4e-200, 0.0], [0.0; 3], [1.0, f64::NAN, 2.0], [1.0, f64::INFINITY, 0.0]];
    let norms = Tensor::concat(&x.map(column), 1).unwrap().vector_norm(2.0, 0).unwrap().to_vec::<f64>().unwrap();
    assert!((norms[0] / 5e200 - 1.0).abs() < 1e-15 && (norms[1] / 5e-200 - 1.0).abs() < 1e-15);
    assert!(norms[2] == 0.0 && norms[3].is_nan() && norms[4] == f64::INFINITY);
}

#[test]
fn variances_of_arrays_of_any_dtype() {
    let x = Tensor::from_vec([500, 70], (0..35_000).map(|i| f64::from(i * 31 % 100)).collect::<Vec<_>>()).unwrap();
    for dtype in [DType::Bool, DType::U8, DType::I32, DType::F16, DType::F32, DType::I64, DType::Complex64] {
        let x = x.cast(dtype).unwrap();
        let found = x.var(0.0, 0).unwrap();
        assert_eq!(found.dtype(), dtype.to_inexact().real());
        let own = x.real().unwrap().cast(DType::F64).unwrap();
        let wanted = own.var(0.0, 0).unwrap().cast(found.dtype()).unwrap();
        assert!(found.equal(&wanted).unwrap(), "{dtype}");
        // The root of what has not been rounded yet.
        let wanted = own.var(0.0, 0).unwrap().sqrt().unwrap().cast(found.dtype()).unwrap();
        assert!(x.std(0.0, 0).unwrap().equal(&wanted).unwrap(), "{dtype}");
    }
    // What is not finite spoils its own column alone.
    let spoilt = x.index_put(s![3, 1], f64::NAN).unwrap().index_put(s![400, 2], f64::INFINITY).unwrap();
    let found = spoilt.var(0.0, 0).unwrap().to_vec::<f64>().unwrap();
    assert!(found.iter().enumerate().all(|(c, v)| v.is_nan() == (c == 1 || c == 2)));
    assert!(x.var(500.0, 0).unwrap().to_vec::<f64>().unwrap().iter().all(|v| v.is_nan()));
    let same = Tensor::full([300, 5], 1e308, Layout::Strided).unwrap();
    assert_eq!(same.var(0.0, 0).unwrap().to_vec::<f64>().unwrap(), [0.0; 5]);
}

/// Few columns and many, the first axes, the last ones and one in between.
#[test]
fn complex_numbers_vary_by_their_parts() {
    for shape in [vec![4000, 3], vec![30, 4500], vec![9, 700, 5], vec![3000], vec![8, 4100]] {
        let n: usize = shape.iter().product();
        let part = |step: usize| (0..n).map(|i| ((i * step + 5) % 1013) as f64 / 8.0 - 60.0).collect::<Vec<_>>();
        let pairs = part(7919).into_iter().zip(part(104_729)).map(|(re, im)| c128::new(re, im)).collect();
        let x = Tensor::from_vec(&shape[..], pairs).unwrap();
        for dtype in [DType::Complex128, DType::Complex64] {
            let x = x.cast(dtype).unwrap();
            let parts = [x.real().unwrap(), x.imag().unwrap()].map(|part| part.cast(DType::F64).unwrap());
            let of_parts = |of: &dyn Fn(&Tensor) -> Tensor| of(&parts[0]).add(of(&parts[1])).unwrap();
            let axes = (0..shape.len() as i64).map(|axis| vec![axis]);
            for axes in axes.chain([(0..shape.len() as i64).collect()]) {
                let near = if dtype == DType::Complex128 { 1e-13 } else { 1e-6 };
                let close = |found: Vec<f64>, wanted: Tensor| {
                    let wanted = wanted.to_vec_as_f64();
                    assert_eq!(found.len(), wanted.len());
                    let same = found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() <= near * b.abs());
                    assert!(same, "{dtype} {shape:?} {axes:?}");
                };
                let found = on_threads(|| x.var(1.0, &axes).unwrap().to_vec_as_f64());
                close(found, of_parts(&|part| part.var(1.0, &axes).unwrap()));
                let found = on_threads(|| x.vector_norm(2.0, &axes).unwrap().to_vec_as_f64());
                close(found, of_parts(&|part| part.square().unwrap().sum(&axes).unwrap()).sqrt().unwrap());
            }
        }
        // What is not finite in one part spoils its own column alone.
        if let [_, columns] = shape[..] {
            let spoilt = x.index_put(s![2, 1], c128::new(1.0, f64::NAN)).unwrap();
            let spoilt = spoilt.index_put(s![3, 2], c128::new(f64::INFINITY, 0.0)).unwrap();
            let found = spoilt.var(0.0, 0).unwrap().to_vec::<f64>().unwrap();
            assert_eq!(found.len(), columns);
            assert!(found.iter().enumerate().all(|(c, v)| v.is_nan() == (c == 1 || c == 2)));
        }
    }
}

#[test]
fn rows_that_a_list_names_are_read_and_written() {
    let mut random = Rng::new(5);
    for shape in [vec![5000], vec![300, 7], vec![40, 3, 5]] {
        let n: usize = shape.iter().product();
        for dtype in [DType::Bool, DType::U8, DType::I16, DType::F32, DType::F64, DType::Complex128] {
            let numbers: Vec<f64> = (0..n).map(|_| random.below(120) as f64).collect();
            let x = Tensor::from_vec(&shape[..], numbers).unwrap().cast(dtype).unwrap();
            let rows = shape[0] as i64;
            let list: Vec<i64> = (0..7000).map(|_| random.below(2 * shape[0]) as i64 - rows).collect();
            let wanted: Vec<Tensor> = list[..50].iter().map(|&i| x.slice(s![i as isize]).unwrap()).collect();
            let wanted = Tensor::stack(&wanted, 0).unwrap();
            for of in [DType::I16, DType::I32, DType::I64] {
                let list = Tensor::from_vec([7000], list.clone()).unwrap().cast(of).unwrap();
                let found = on_threads(|| {
                    let found = x.index([Index::from(&list)]).unwrap();
                    assert_eq!(found.shape(), [&[7000], &shape[1..]].concat());
                    (found.slice(s![..50]).unwrap().equal(&wanted).unwrap(), found.sum(..).unwrap().item().unwrap())
                });
                assert!(found.0, "{shape:?} {dtype} {of}");
                // Backwards, and as a matrix of places.
                let back = x.index([Index::from(list.flip(0).unwrap())]).unwrap().flip(0).unwrap();
                assert!(back.equal(&x.index([Index::from(&list)]).unwrap()).unwrap());
                let square = x.index([Index::from(list.reshape([70, 100]).unwrap())]).unwrap();
                assert_eq!(square.shape(), [&[70, 100], &shape[1..]].concat());
                assert!(square.reshape(found_shape(&shape)).unwrap().equal(&back).unwrap());
                // Of a place that is named several times the last row counts.
                let written = x.index_put([Index::from(&list)], &back).unwrap();
                assert!(written.equal(&x).unwrap(), "rows are put where they were");
                let other = back.flip(0).unwrap();
                let written = x.index_put([Index::from(&list)], &other).unwrap();
                let last = |row: i64| list_of(&list).iter().rposition(|&i| i.rem_euclid(rows) == row);
                for row in 0..rows.min(40) {
                    let wanted = match last(row) {
                        Some(at) => other.slice(s![at as isize]).unwrap(),
                        None => x.slice(s![row as isize]).unwrap(),
                    };
                    assert!(written.slice(s![row as isize]).unwrap().equal(&wanted).unwrap());
                }
            }
        }
    }
}

fn found_shape(shape: &[usize]) -> Vec<usize> {
    [&[7000], &shape[1..]].concat()
}

fn list_of(list: &Tensor) -> Vec<i64> {
    list.cast(DType::I64).unwrap().to_vec::<i64>().unwrap()
}

#[test]
fn places_that_are_out_of_bounds_are_told_wherever_they_stand() {
    let x = Tensor::arange(0.0, 100.0, 1.0).unwrap();
    for (bad, at) in [(100i64, 0), (-101, 4999), (i64::MIN, 3000), (i64::MAX, 1)] {
        let mut list = vec![7i64; 5000];
        list[at] = bad;
        let list = Tensor::from_vec([5000], list).unwrap();
        let values = Tensor::from_vec([5000], vec![1.0; 5000]).unwrap();
        for error in [x.index([Index::from(&list)]), x.index_put([Index::from(&list)], &values)] {
            let told = error.unwrap_err().to_string();
            assert!(told.contains(&format!("{bad} is out of bounds for axis 0 of size 100")), "{told}");
        }
    }
    assert_eq!(x.to_vec::<f64>().unwrap()[7], 7.0);
}

#[test]
fn reversed_and_stepped_arrays_are_read_as_they_are_used() {
    for dtype in [DType::U8, DType::F16, DType::F32, DType::F64, DType::Complex128] {
        let x = Tensor::arange(0.0, 200.0, 1.0).unwrap().repeat(30, 0).unwrap().cast(dtype).unwrap();
        let plain = x.to_vec_as_f64();
        for step in [-1isize, 2, -2, 3, -5] {
            let view = x.slice([Index::stepped(.., step)]).unwrap();
            let found = on_threads(|| view.add(0).unwrap().to_vec_as_f64());
            let wanted: Vec<f64> = match step {
                1.. => plain.iter().copied().step_by(step as usize).collect(),
                _ => plain.iter().rev().copied().step_by(step.unsigned_abs()).collect(),
            };
            assert_eq!(found, wanted, "{dtype} {step}");
        }
    }
}

trait AsF64 {
    fn to_vec_as_f64(&self) -> Vec<f64>;
}

impl AsF64 for Tensor {
    fn to_vec_as_f64(&self) -> Vec<f64> {
        self.real().unwrap().cast(DType::F64).unwrap().to_vec::<f64>().unwrap()
    }
}

#[test]
fn integers_are_divided_by_numbers_and_by_each_other() {
    let n = 70_000i64;
    let numbers: Vec<i64> = (0..n).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15u64 as i64) >> (i % 60)).collect();
    for dtype in [DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U32, DType::U64] {
        let x = Tensor::from_vec([n as usize], numbers.clone()).unwrap().cast(dtype).unwrap();
        let one = x.slice([Index::stepped(.., -1)]).unwrap();
        for divisor in [&tensor![7].cast(dtype).unwrap(), &tensor![100].cast(dtype).unwrap(), &one] {
            let (quotient, rest) = (x.floor_divide(divisor).unwrap(), x.remainder(divisor).unwrap());
            let divided = divisor.ne(0).unwrap();
            // q · b + r is x wherever something was divided by.
            let again = (&(&quotient * divisor).unwrap() + &rest).unwrap();
            assert!(divided.where_(again, &x).unwrap().equal(&x).unwrap(), "{dtype}");
            let inside = match dtype.is_unsigned() {
                true => rest.lt(divisor).unwrap(),
                false => {
                    let of_its_sign = rest.bitwise_xor(divisor).unwrap().ge(0).unwrap();
                    rest.eq(0).unwrap().logical_or(of_its_sign).unwrap()
                }
            };
            let inside = inside.logical_or(divided.logical_not().unwrap()).unwrap();
            assert!(inside.all(..).unwrap().item().unwrap() == true.into(), "{dtype}");
        }
        assert!(x.floor_divide(0).unwrap().equal(&Tensor::zeros(x.shape(), dtype, Layout::Strided).unwrap()).unwrap());
    }
}

#[test]
fn counts_in_a_table_that_threads_share() {
    let mut random = Rng::new(11);
    let numbers: Vec<i64> = (0..300_000).map(|_| random.below(150_000) as i64).collect();
    let mut wanted = vec![0i64; *numbers.iter().max().unwrap() as usize + 1];
    numbers.iter().for_each(|&i| wanted[i as usize] += 1);
    for dtype in [DType::I32, DType::U32, DType::I64] {
        let x = Tensor::from_vec([300_000], numbers.clone()).unwrap().cast(dtype).unwrap();
        for minlength in [0, 70_000, 150_005] {
            let found = on_threads(|| x.bincount(None, minlength).unwrap().to_vec::<i64>().unwrap());
            assert_eq!(found.len(), wanted.len().max(minlength));
            assert_eq!(found[..wanted.len()], wanted);
            assert!(found[wanted.len()..].iter().all(|&count| count == 0));
        }
    }
}

#[test]
fn the_order_of_coordinates_is_found_in_columns() {
    // In order, with one that repeats, and with one out of order: at the ends of pieces and in the middle.
    let n = 600_000usize;
    let values = Tensor::ones([n], DType::F64, Layout::Strided).unwrap();
    let columns = || -> [Vec<i64>; 3] {
        [|i| i / 90_000, |i| i / 300 % 300, |i| i % 300].map(|f| (0..n as i64).map(f).collect())
    };
    let is_canonical = |columns: [Vec<i64>; 3]| {
        let x = Tensor::coo([10, 300, 300], columns.to_vec(), &values, 0.0).unwrap();
        (x.is_coalesced(), x)
    };
    assert!(is_canonical(columns()).0);
    for at in [1, 4095, 4096, 262_143, 262_144, 262_145, n - 1] {
        let mut repeated = columns();
        repeated.iter_mut().for_each(|column| column[at] = column[at - 1]);
        let (canonical, x) = is_canonical(repeated);
        assert!(!canonical, "{at}");
        assert_eq!(x.coalesce().unwrap().nse(), n - 1);
        let mut fallen = columns();
        fallen.iter_mut().for_each(|column| column.swap(at, at - 1));
        let (canonical, x) = is_canonical(fallen);
        assert!(!canonical, "{at}");
        assert_eq!(x.coalesce().unwrap().nse(), n);
        // Of columns of different widths, too.
        let narrow: Vec<i64> = columns()[0].clone();
        let mixed = [narrow.iter().map(|&i| i as i32).collect::<Vec<i32>>().into(), columns()[1].clone().into()];
        let [a, b]: [openwork::IndexArray; 2] = mixed;
        let c = columns()[2].clone().into();
        assert!(Tensor::coo([10, 300, 300], vec![a, b, c], &values, 0.0).unwrap().is_coalesced());
    }
}

#[test]
fn identities_of_every_layout() {
    for n in [0, 1, 2, 1000] {
        for layout in [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Strided] {
            for dtype in [DType::Bool, DType::F32, DType::Complex128] {
                let x = Tensor::eye(n, dtype, layout).unwrap();
                assert_eq!((x.layout(), x.shape(), x.dtype()), (layout, &[n, n][..], dtype));
                let expected = if layout == Layout::Strided { n * n } else { n };
                assert_eq!(x.nse(), expected);
                let ones = x.to_dense().unwrap().diagonal(0, 0, 1).unwrap().sum(..).unwrap();
                assert_eq!(ones.cast(DType::F64).unwrap().item().unwrap(), (n as f64).into());
                assert_eq!(x.count_nonzero(..).unwrap().item().unwrap(), (n as i64).into());
            }
        }
    }
}
