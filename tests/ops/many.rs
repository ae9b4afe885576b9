//! Ways of computing that only many stored elements take, beside plain loops: on one, two and three threads.

use openwork::parallel::with_threads;
use openwork::{DType, Fill, Index, Layout, ReduceOp, Tensor, c128, keep, s};

use crate::common::rng::Rng;

/// Distinct places in rising order, about `n` of a matrix of this shape; in a band if `band` is not 0.
fn places(shape: [usize; 2], n: usize, band: usize, seed: u64) -> Vec<[usize; 2]> {
    let mut random = Rng::new(seed);
    let mut places: Vec<[usize; 2]> = (0..n)
        .map(|_| {
            let row = random.below(shape[0]);
            let column = match band {
                0 => random.below(shape[1]),
                _ => (row * shape[1] / shape[0] + random.below(band)).min(shape[1] - 1),
            };
            [row, column]
        })
        .collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// The matrix with the value `f(i)` at the i-th place, cast to a dtype, as CSR.
fn matrix(shape: [usize; 2], places: &[[usize; 2]], f: impl Fn(usize) -> f64, dtype: DType) -> Tensor {
    let of = |axis: usize| places.iter().map(|p| p[axis] as i64).collect::<Vec<_>>();
    let values = Tensor::from_vec([places.len()], (0..places.len()).map(f).collect::<Vec<f64>>()).unwrap();
    let zero = openwork::Scalar::from(0.0).cast(dtype);
    let x = Tensor::coo(shape, vec![of(0), of(1)], &values.cast(dtype).unwrap(), Fill::Scalar(zero)).unwrap();
    x.to_layout(Layout::Csr).unwrap()
}

#[test]
fn transposes_that_jump_and_that_stay_near() {
    // Rows and columns of the fourth do not fit 32 bits together. Of the last, threads go through the rows that reach their columns.
    let shapes = [([3_000, 400_000], 0), ([400_000, 50_000], 0), ([300_000, 300_000], 40), ([300_000, 2_000_000], 0)];
    for (shape, band) in shapes.into_iter().chain([([5, 900_000], 0), ([200_000, 250_000], 60)]) {
        let places = places(shape, if band == 60 { 900_000 } else { 400_000 }, band, 7);
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|&i| (places[i][1], places[i][0]));
        for dtype in [DType::U8, DType::F16, DType::F32, DType::F64, DType::Complex128] {
            let x = matrix(shape, &places, |i| (i % 97) as f64 + 1.0, dtype);
            for threads in 1..=3 {
                let t = with_threads(threads, || x.to_layout(Layout::Csc)).unwrap().unwrap();
                let t = t.permute_dims([1, 0]).unwrap();
                assert_eq!(t.layout(), Layout::Csr);
                let columns = t.indices().unwrap().to_vec::<i64>().unwrap();
                let values = t.stored_values().real().unwrap().cast(DType::F64).unwrap().to_vec::<f64>().unwrap();
                assert_eq!(values.len(), order.len());
                for (k, &i) in order.iter().enumerate() {
                    let wanted = [places[i][1] as i64, places[i][0] as i64];
                    assert_eq!(columns[2 * k..2 * k + 2], wanted, "{shape:?} {dtype} {threads}");
                    assert_eq!(values[k], (i % 97) as f64 + 1.0);
                }
            }
        }
    }
}

/// Elements of which a sample says where to look: spread, few different ones, in order, periodic, far apart, with NaN; alone, and
/// beside a fill.
#[test]
fn medians_and_quantiles_of_many_beside_a_sort() {
    const N: usize = 150_000;
    let mut random = Rng::new(3);
    let mut spread: Vec<f64> = (0..N).map(|_| random.below(60_001) as f64 - 30_000.0).collect();
    let kinds: [(&str, Vec<f64>); 7] = [
        ("spread", spread.clone()),
        ("few", (0..N).map(|_| random.below(5) as f64).collect()),
        ("rising", (0..N).map(|i| (i / 5) as f64).collect()),
        ("periodic", (0..N).map(|i| (i % 1000) as f64 - 300.0).collect()),
        ("equal", vec![7.0; N]),
        ("one apart", (0..N).map(|i| if i == 77 { -3.0 } else { 5.0 }).collect()),
        ("nan", {
            (0..N).filter(|i| i % 9 < 4).for_each(|i| spread[i] = f64::NAN);
            spread
        }),
    ];
    for (kind, numbers) in kinds {
        for dtype in [DType::F64, DType::F32, DType::BF16, DType::I16, DType::U64] {
            let x = Tensor::from_vec([N], numbers.clone()).unwrap().cast(dtype).unwrap();
            let places = (0..N as i64).map(|i| 3 * i).collect::<Vec<_>>();
            let fill = openwork::Scalar::from(2.0).cast(dtype);
            let beside = Tensor::coo([3 * N], vec![places], &x, Fill::Scalar(fill)).unwrap();
            let own = x.cast(DType::F64).unwrap().to_vec::<f64>().unwrap();
            let all = own.iter().copied().chain(std::iter::repeat_n(2.0, 2 * N)).collect();
            for (x, mut sorted) in [(x, own), (beside.clone(), all)] {
                let is_whole = sorted.iter().all(|v| !v.is_nan());
                sorted.retain(|v| !v.is_nan());
                sorted.sort_unstable_by(f64::total_cmp);
                let last = sorted.len() - 1;
                for threads in 1..=2 {
                    let item = |f: &(dyn Fn() -> openwork::Result<Tensor> + Sync)| {
                        let found: f64 = with_threads(threads, f).unwrap().unwrap().item().unwrap().to();
                        found
                    };
                    let what = format!("{kind} {dtype} of {} on {threads}", x.shape()[0]);
                    assert_eq!(item(&|| x.nanmedian(..)), sorted[last / 2], "{what}");
                    assert_eq!(item(&|| x.median(..)).is_nan(), !is_whole, "{what}");
                    for q in [0.0, 1e-4, 0.25, 0.5, 0.77, 0.9999, 1.0] {
                        let lower = item(&|| x.nanquantile_with(q, openwork::Interpolation::Lower, ..));
                        assert_eq!(lower, sorted[(q * last as f64) as usize], "{what} {q}");
                    }
                }
            }
        }
    }
}

/// Coordinates in no order, some of them often, in shapes whose keys are short, long, and too long for a number beside them.
#[test]
fn elements_in_no_order_beside_a_map() {
    for shape in [[3_000, 4_000], [1, 700_000], [1 << 40, 900], [1 << 32, 1 << 32]] {
        let mut random = Rng::new(5);
        let known: Vec<[usize; 2]> = (0..60_000).map(|_| shape.map(|n| random.below(n))).collect();
        // Every ninth is the same place, others come up to a few times.
        let listed: Vec<[usize; 2]> =
            (0..100_000).map(|i| if i % 9 == 0 { known[0] } else { known[random.below(known.len())] }).collect();
        let numbers: Vec<i32> = (0..listed.len()).map(|i| (i % 7) as i32 - 2).collect();
        let mut sums = std::collections::BTreeMap::new();
        for (place, &v) in listed.iter().zip(&numbers) {
            sums.entry(*place).or_insert((0, false, i32::MIN)).0 += v;
            let entry = sums.get_mut(place).unwrap();
            (entry.1, entry.2) = (entry.1 | (v != 0), entry.2.max(v));
        }
        assert!(sums.len() > 40_000 && sums.values().any(|s| s.0 > 1000), "{} places", sums.len());
        let of = |axis: usize| listed.iter().map(|p| p[axis] as i64).collect::<Vec<_>>();
        let values = Tensor::from_slice([numbers.len()], &numbers).unwrap();
        let wanted: Vec<Vec<i64>> = (0..2).map(|a| sums.keys().map(|p| p[a] as i64).collect()).collect();
        for dtype in [DType::F64, DType::F32, DType::I16, DType::Bool, DType::Complex128] {
            let zero = openwork::Scalar::from(0.0).cast(dtype);
            let x = Tensor::coo(shape, vec![of(0), of(1)], &values.cast(dtype).unwrap(), Fill::Scalar(zero)).unwrap();
            let found = on_threads(|| {
                let y = x.coalesce().unwrap();
                let indices = y.indices().unwrap().to_vec::<i64>().unwrap();
                let values = y.stored_values();
                let values = if dtype == DType::Complex128 { values.real().unwrap() } else { values };
                (indices, bits(&values.cast(DType::F64).unwrap()))
            });
            let n = sums.len();
            let columns: Vec<i64> = found.0.chunks(2).map(|c| c[1]).collect();
            let rows: Vec<i64> = found.0.chunks(2).map(|c| c[0]).collect();
            assert_eq!(
                (found.0.len(), rows == wanted[0], columns == wanted[1]),
                (2 * n, true, true),
                "{shape:?} {dtype}"
            );
            let want: Vec<u64> = sums
                .values()
                .map(|s| if dtype == DType::Bool { f64::from(u8::from(s.1)) } else { f64::from(s.0) }.to_bits())
                .collect();
            assert!(found.1 == want, "{shape:?} {dtype}");
        }
    }
}

#[test]
fn dense_forms_and_back() {
    let shape = [900, 311];
    let places = places(shape, 60_000, 0, 9);
    let fills: [Fill; 2] = [
        0.0.into(),
        Tensor::from_vec([311], (0..311).map(|c| f64::from(c) / 4.0).collect::<Vec<f64>>()).unwrap().into(),
    ];
    for fill in fills {
        let x = matrix(shape, &places, |i| i as f64 + 100.5, DType::F64).replace_fill(fill.clone()).unwrap();
        let mut wanted: Vec<f64> =
            (0..900 * 311).map(|i| if fill.as_scalar().is_some() { 0.0 } else { (i % 311) as f64 / 4.0 }).collect();
        places.iter().enumerate().for_each(|(i, p)| wanted[p[0] * 311 + p[1]] = i as f64 + 100.5);
        for layout in [Layout::Csr, Layout::Coo, Layout::Csc, Layout::Csf, Layout::HybridCoo { dense_dims: 1 }] {
            let x = x.to_layout(layout).unwrap();
            for threads in 1..=3 {
                let dense = with_threads(threads, || x.to_dense()).unwrap().unwrap();
                assert!(dense.to_vec::<f64>().unwrap() == wanted, "{layout} {threads}");
                let back = with_threads(threads, || dense.to_sparse(layout, fill.clone())).unwrap().unwrap();
                assert!(back.to_vec::<f64>().unwrap() == wanted, "{layout} {threads}");
                assert!(matches!(layout, Layout::HybridCoo { .. }) || back.nse() == places.len());
            }
        }
    }
    // Of three axes, with rows of which each stretch holds a part.
    let x = Tensor::random([70, 40, 90], 0.3, 0.0, Layout::Coo, 3).unwrap();
    let dense = x.to_dense().unwrap().to_vec::<f64>().unwrap();
    let places = x.indices().unwrap().to_vec::<i64>().unwrap();
    let mut wanted = vec![0.0; 70 * 40 * 90];
    for (p, v) in places.chunks(3).zip(x.stored_values().to_vec::<f64>().unwrap()) {
        wanted[(p[0] * 3600 + p[1] * 90 + p[2]) as usize] = v;
    }
    assert!(dense == wanted);
    assert!(x.to_dense().unwrap().to_sparse(Layout::Csf, 0.0).unwrap().to_vec::<f64>().unwrap() == wanted);
}

#[test]
fn folds_of_many_rows_into_few_columns() {
    let shape = [200_000, 300];
    let places = places(shape, 1_500_000, 0, 11);
    let value = |i: usize| ((i * 7919) % 1001) as f64 / 8.0 - 60.0;
    let mut sums = vec![0.0; 300];
    let (mut counts, mut greatest) = (vec![0i64; 300], vec![0.0f64; 300]);
    for (i, p) in places.iter().enumerate() {
        sums[p[1]] += value(i); // exact: eighths below 2^53
        counts[p[1]] += i64::from(value(i) != 0.0);
        greatest[p[1]] = greatest[p[1]].max(value(i));
    }
    for dtype in [DType::F64, DType::F32, DType::Complex128] {
        let x = matrix(shape, &places, value, dtype);
        for threads in 1..=3 {
            let run = |op: ReduceOp| with_threads(threads, || x.reduce(op, 0)).unwrap().unwrap();
            let real = |t: Tensor| t.real().unwrap().cast(DType::F64).unwrap().to_vec::<f64>().unwrap();
            let close = |found: Vec<f64>, wanted: &[f64]| {
                found.iter().zip(wanted).all(|(f, w)| (f - w).abs() <= w.abs() * 1e-6)
            };
            assert!(close(real(run(ReduceOp::Sum)), &sums), "{dtype} {threads}");
            assert_eq!(run(ReduceOp::CountNonzero).to_vec::<i64>().unwrap(), counts, "{dtype} {threads}");
            let means: Vec<f64> = sums.iter().map(|s| s / 200_000.0).collect();
            assert!(close(real(run(ReduceOp::Mean)), &means), "{dtype} {threads}");
            if dtype != DType::Complex128 {
                assert_eq!(real(run(ReduceOp::Max)), greatest, "{dtype} {threads}");
            }
        }
        // Only what is stored counts, and how many those are.
        let stored = x.stored().mean(0).unwrap();
        let of_stored = |c: usize| places.iter().filter(|p| p[1] == c).count() as f64;
        for c in [0, 17, 299] {
            let found = stored.get([c]).unwrap().unwrap().cast(DType::Complex128);
            let wanted = openwork::Scalar::Complex128(c128::new(sums[c] / of_stored(c), 0.0));
            assert!(format!("{found:.3}") == format!("{wanted:.3}"), "{found} {wanted}");
        }
    }
}

#[test]
fn sums_of_many_rows_have_the_same_bits_on_any_number_of_threads() {
    let x = Tensor::random([60_000, 200], 0.1, 0.0, Layout::Csr, 5).unwrap();
    for x in [x.clone(), x.cast(DType::F32).unwrap()] {
        let sums = |threads| {
            let sums = with_threads(threads, || x.sum(0)).unwrap().unwrap().cast(DType::F64).unwrap();
            sums.to_vec::<f64>().unwrap().iter().map(|v| v.to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(sums(1), sums(2));
        assert_eq!(sums(1), sums(5));
    }
}

#[test]
fn kron_beside_its_definition() {
    for (a, b) in [([7, 5], [4, 6]), ([1, 9], [8, 1]), ([3, 3], [0, 2])] {
        for layout in [Layout::Csr, Layout::Coo, Layout::Csc] {
            let x = Tensor::random(a, 0.4, 0.0, layout, 1).unwrap();
            let y = Tensor::random(b, 0.5, 0.0, Layout::Csr, 2).unwrap();
            let z = x.kron(&y).unwrap();
            assert_eq!((z.layout(), z.is_coalesced(), z.nse()), (Layout::Coo, true, x.nse() * y.nse()));
            let (xs, ys, zs) = (x.to_vec::<f64>().unwrap(), y.to_vec::<f64>().unwrap(), z.to_vec::<f64>().unwrap());
            for i in 0..a[0] * b[0] {
                for j in 0..a[1] * b[1] {
                    let (p, q) = ((i / b[0]) * a[1] + j / b[1], (i % b[0]) * b[1] + j % b[1]);
                    assert_eq!(zs[i * a[1] * b[1] + j], xs[p] * ys[q], "{i} {j}");
                }
            }
        }
    }
    // On huge axes, and of absent elements.
    let far = |place: i64| {
        Tensor::coo([1 << 31, 1 << 30], vec![vec![place], vec![5]], &Tensor::from_vec([1], vec![1i64]).unwrap(), 0i64)
    };
    let z = far(7).unwrap().kron(&far(9).unwrap()).unwrap();
    assert_eq!(z.shape(), [1 << 62, 1 << 60]);
    assert_eq!(z.indices().unwrap().to_vec::<i64>().unwrap(), [(7 << 31) + 9, (5 << 30) + 5]);
    let z = far(7).unwrap().stored().kron(&far(9).unwrap().stored()).unwrap();
    assert!(z.fill().is_some_and(Fill::is_undefined) && z.nse() == 1);
}

#[test]
fn merges_of_many_coordinates_and_reshapes() {
    let pair = [1u64, 2].map(|seed| Tensor::random([400, 500], 0.3, 0.0, Layout::Csr, seed).unwrap());
    let wanted = pair[0].add(&pair[1]).unwrap().to_vec::<f64>().unwrap();
    let product = pair[0].mul(&pair[1]).unwrap();
    for shape in [vec![400, 500], vec![20, 20, 500], vec![400, 5, 10, 10], vec![200_000]] {
        for threads in 1..=3 {
            let [x, y] = [0, 1].map(|i: usize| {
                with_threads(threads, || pair[i].to_layout(Layout::Coo)?.reshape(&shape[..])).unwrap().unwrap()
            });
            assert!(x.to_vec::<f64>().unwrap() == pair[0].to_vec::<f64>().unwrap(), "{shape:?}");
            let (sum, times) = with_threads(threads, || (x.add(&y), x.mul(&y))).unwrap();
            assert!(sum.unwrap().to_vec::<f64>().unwrap() == wanted, "{shape:?}");
            let times = times.unwrap();
            assert_eq!((times.nse(), times.layout()), (product.nse(), Layout::Coo));
            assert!(times.to_vec::<f64>().unwrap() == product.to_vec::<f64>().unwrap(), "{shape:?}");
        }
    }
}

/// Bits, so that −0 and NaN are told apart.
fn bits(t: &Tensor) -> Vec<u64> {
    t.to_vec::<f64>().unwrap().iter().map(|v| v.to_bits()).collect()
}

#[test]
fn arrays_sorted_by_keys_keep_signs_of_zeros_and_payloads() {
    let strange = f64::from_bits(0xfff8_0000_0000_1234);
    let mut random = Rng::new(3);
    let mut values: Vec<f64> = (0..60_000).map(|_| random.below(2001) as f64 - 1000.0).collect();
    for (i, v) in values.iter_mut().enumerate() {
        *v = match i % 50 {
            0 => -0.0,
            7 => 0.0,
            11 => strange,
            13 => f64::NAN,
            17 => f64::NEG_INFINITY,
            _ => *v,
        };
    }
    // Stable: NaN last, zeros of either sign equal.
    let order = |v: &f64| (v.is_nan(), if v.is_nan() { 0.0 } else { *v + 0.0 });
    let by = |a: &f64, b: &f64| order(a).partial_cmp(&order(b)).unwrap();
    let mut rising = values.clone();
    rising.sort_by(by);
    let mut falling = values.clone();
    falling.sort_by(|a, b| by(b, a));
    let x = Tensor::from_vec([60_000], values.clone()).unwrap();
    for threads in 1..=3 {
        let run = |f: &(dyn Fn() -> openwork::Result<Tensor> + Sync)| bits(&with_threads(threads, f).unwrap().unwrap());
        let of = |v: &[f64]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert!(run(&|| x.sort(0)) == of(&rising));
        assert!(run(&|| x.sort_descending(0)) == of(&falling));
        // Along either axis of a matrix.
        let rows = x.reshape([200, 300]).unwrap();
        let mut wanted = values.clone();
        wanted.chunks_mut(300).for_each(|row| row.sort_by(by));
        assert!(run(&|| rows.sort(1)) == of(&wanted));
        assert!(run(&|| rows.t()?.sort(0)?.t()?.to_contiguous()) == of(&wanted));
        // The greatest, with the first of those that tie.
        let (top, places) = with_threads(threads, || rows.topk(9, 1)).unwrap().unwrap();
        let (top, places) = (top.to_vec::<f64>().unwrap(), places.to_vec::<i64>().unwrap());
        for (r, row) in values.chunks(300).enumerate() {
            let mut numbered: Vec<(usize, f64)> = row.iter().copied().enumerate().collect();
            numbered.sort_by(|a, b| by(&b.1, &a.1));
            for (i, (place, value)) in numbered.into_iter().take(9).enumerate() {
                assert_eq!(places[r * 9 + i], place as i64, "row {r}");
                assert!(top[r * 9 + i] == value || value.is_nan());
            }
        }
    }
    for dtype in [DType::I8, DType::U16, DType::I32, DType::U64, DType::F16, DType::F32, DType::Bool] {
        let x = Tensor::from_vec([5000], (0..5000).map(|i| ((i * 37) % 101) as f64).collect::<Vec<f64>>()).unwrap();
        let x = x.cast(dtype).unwrap();
        let sorted = x.sort(0).unwrap();
        let mut wanted = x.cast(DType::F64).unwrap().to_vec::<f64>().unwrap();
        wanted.sort_by(f64::total_cmp);
        assert_eq!((sorted.dtype(), sorted.cast(DType::F64).unwrap().to_vec::<f64>().unwrap()), (dtype, wanted));
    }
}

/// What `f` gives on one, two and three threads: the same.
fn on_threads<T: Send + PartialEq>(f: impl Fn() -> T + Sync) -> T {
    let first = with_threads(1, &f).unwrap();
    for threads in [2, 3] {
        assert!(with_threads(threads, &f).unwrap() == first, "{threads} threads");
    }
    first
}

#[test]
fn variances_of_columns_and_masks_of_arrays() {
    let shape = [9_000, 60];
    let places = places(shape, 100_000, 0, 31);
    for (offset, fill, allowed) in [(0.0, 0.0, 1e-13), (1e8, 1e8, 1e-8), (0.0, -3.5, 1e-13)] {
        let x = matrix(shape, &places, |i| offset + ((i * 7919) % 1001) as f64 / 8.0 - 60.0, DType::F64);
        let x = x.replace_fill(fill).unwrap();
        let dense = x.to_dense().unwrap();
        for (x, dense) in [(x.clone(), dense.clone()), (x.cast(DType::I32).unwrap(), dense.cast(DType::I32).unwrap())] {
            let found = on_threads(|| bits(&x.var(1.0, 0).unwrap()));
            let wanted = dense.var(1.0, 0).unwrap().to_vec::<f64>().unwrap();
            assert_eq!(found.len(), 60);
            for (found, wanted) in found.into_iter().map(f64::from_bits).zip(wanted) {
                assert!((found - wanted).abs() <= wanted * allowed, "{offset} {fill}: {found} {wanted}");
            }
        }
        assert!(x.var(9_000.0, 0).unwrap().to_vec::<f64>().unwrap().iter().all(|v| v.is_nan()));
        let infinite = x.map(|v: f64| if v == offset - 60.0 { f64::INFINITY } else { v }).unwrap();
        assert!(infinite.var(0.0, 0).unwrap().to_vec::<f64>().unwrap()[places[0][1]].is_nan());
        // A mask that keeps what is stored, and one of rows.
        let flat = dense.to_vec::<f64>().unwrap();
        let stored = x.ne(fill).unwrap().to_dense().unwrap();
        let [row, column] = [0, 1].map(|axis| places.iter().map(|p| p[axis] as i64).collect::<Vec<i64>>());
        let few = on_threads(|| {
            let kept = dense.mask(&stored).unwrap();
            assert_eq!(kept.layout(), Layout::Coo);
            (kept.indices().unwrap().to_vec::<i64>().unwrap(), bits(&kept.stored_values()))
        });
        let chosen: Vec<usize> =
            (0..places.len()).filter(|&i| flat[(row[i] * 60 + column[i]) as usize] != fill).collect();
        assert!(few.0.chunks(2).eq(chosen.iter().map(|&i| [row[i], column[i]])));
        assert!(
            few.1.iter().zip(&chosen).all(|(&v, &i)| f64::from_bits(v) == flat[(row[i] * 60 + column[i]) as usize])
        );
        let others = dense.mask_complement(&stored).unwrap();
        assert_eq!(others.nse() + chosen.len(), 9_000 * 60);
        assert!(others.stored_values().to_vec::<f64>().unwrap().iter().all(|&v| v == fill));
        let rows = Tensor::from_vec([9_000, 1], (0..9_000).map(|r| r % 3 == 0).collect::<Vec<bool>>()).unwrap();
        let kept = dense.mask(&rows).unwrap();
        assert_eq!((kept.nse(), kept.get([1, 5]).unwrap()), (3_000 * 60, None));
        assert_eq!(kept.get([3, 5]).unwrap(), dense.get([3, 5]).unwrap());
    }
}

#[test]
fn the_first_of_the_outermost() {
    let mut random = Rng::new(23);
    for (rows, columns) in [(3, 70_000), (300, 2_100)] {
        let mut values: Vec<f64> = (0..rows * columns).map(|_| random.below(40_000) as f64 - 20_000.0).collect();
        values[columns..2 * columns].fill(-0.0); // all alike
        values[columns + 5] = 0.0;
        values[3 * columns - 1] = f64::NAN;
        values[2 * columns + 1_500] = -f64::NAN;
        let dense = Tensor::from_vec([rows, columns], values.clone()).unwrap();
        for greatest in [true, false] {
            let better = |a: f64, b: f64| (a.is_nan() && !b.is_nan()) || if greatest { a > b } else { a < b };
            let plain = |row: &[f64]| {
                (1..row.len()).fold(0, |at, i| if !row[at].is_nan() && better(row[i], row[at]) { i } else { at }) as i64
            };
            let wanted: Vec<i64> = values.chunks(columns).map(plain).collect();
            let of = |x: &Tensor, axis: usize| {
                on_threads(|| {
                    let found = if greatest { x.argmax(axis) } else { x.argmin(axis) };
                    found.unwrap().to_vec::<i64>().unwrap()
                })
            };
            assert_eq!(of(&dense, 1), wanted);
            assert_eq!(of(&dense.permute_dims([1, 0]).unwrap(), 0), wanted);
            // Zeros of one row are stored, those of others not.
            let sparse = dense.to_sparse(Layout::Csr, 0.0).unwrap();
            assert_eq!(of(&sparse, 1), wanted);
            assert_eq!(of(&dense.to_sparse(Layout::Coo, 7.0).unwrap(), 1), wanted);
        }
    }
}

#[test]
fn long_sorts_beside_that_of_the_standard_library() {
    let mut random = Rng::new(29);
    for kinds in [3, 1_000, 1 << 40] {
        let n = 150_000;
        let values: Vec<f64> = (0..n)
            .map(|i| match random.below(50) {
                0 => f64::NAN,
                1 => f64::NEG_INFINITY,
                _ if i % 3 == 0 => -(random.below(kinds) as f64),
                _ => random.below(kinds) as f64,
            })
            .collect();
        let x = Tensor::from_vec([n], values.clone()).unwrap();
        // NaN is the greatest, −0 is 0.
        let rank = |v: f64| if v.is_nan() { f64::INFINITY } else { v.clamp(-f64::MAX, f64::MAX) + 0.0 };
        for descending in [false, true] {
            let mut places: Vec<i64> = (0..n as i64).collect();
            places.sort_by(|&a, &b| {
                let order = rank(values[a as usize]).total_cmp(&rank(values[b as usize]));
                if descending { order.reverse() } else { order }
            });
            let found = on_threads(|| {
                if descending { x.argsort_descending(0) } else { x.argsort(0) }.unwrap().to_vec::<i64>().unwrap()
            });
            assert!(found == places, "{kinds} {descending}");
            let sorted = on_threads(|| bits(&if descending { x.sort_descending(0) } else { x.sort(0) }.unwrap()));
            assert!(sorted == places.iter().map(|&p| values[p as usize].to_bits()).collect::<Vec<u64>>());
            let rows = x.reshape([50, 3_000]).unwrap();
            let of_rows = on_threads(|| {
                let places = if descending { rows.argsort_descending(1) } else { rows.argsort(1) };
                places.unwrap().to_vec::<i64>().unwrap()
            });
            let gathered = |values: &[f64], places: &[i64]| places.iter().map(|&p| rank(values[p as usize])).collect();
            for (row, places) in values.chunks(3_000).zip(of_rows.chunks(3_000)) {
                let sorted: Vec<f64> = gathered(row, places);
                assert!(sorted.windows(2).all(|w| if descending { w[0] >= w[1] } else { w[0] <= w[1] }));
                assert!(places.windows(2).zip(sorted.windows(2)).all(|(p, v)| v[0] != v[1] || p[0] < p[1]));
                let mut all = places.to_vec();
                all.sort_unstable();
                assert!(all.into_iter().eq(0..3_000));
            }
        }
        // The distinct elements, and how often each occurs.
        let mut distinct: Vec<f64> = values.iter().map(|&v| if v.is_nan() { f64::MAX } else { v + 0.0 }).collect();
        distinct.sort_by(f64::total_cmp);
        let counts: Vec<i64> = distinct.chunk_by(|a, b| a == b).map(|run| run.len() as i64).collect();
        distinct.dedup();
        let found = on_threads(|| {
            let found = x.unique_counts().unwrap();
            assert!(bits(&found.values) == bits(&x.unique_values().unwrap()));
            let values = found.values.to_vec::<f64>().unwrap();
            let values: Vec<f64> = values.into_iter().map(|v| if v.is_nan() { f64::MAX } else { v }).collect();
            (values, found.counts.to_vec::<i64>().unwrap())
        });
        assert!(found == (distinct, counts), "{kinds}");
    }
}

#[test]
fn the_first_few_of_sparse_rows_beside_dense_ones() {
    // Fills below, between and above; rows with many unstored elements and with few.
    for (density, fill) in [(0.02, 0.0), (0.02, -9.0), (0.02, 9.0), (0.97, 0.0), (0.97, 9.0)] {
        let x = Tensor::random([40, 300], density, fill, Layout::Csr, 5).unwrap();
        let x = x.map(|v: f64| (v * 8.0).round() / 8.0).unwrap(); // ties
        for k in [0, 1, 7, 299, 300] {
            for (sparse, dense) in [
                (with_threads(k % 3 + 1, || x.topk(k, 1)).unwrap().unwrap(), x.to_dense().unwrap().topk(k, 1).unwrap()),
                (x.topk_smallest(k, 1).unwrap(), x.to_dense().unwrap().topk_smallest(k, 1).unwrap()),
            ] {
                assert!(sparse.0.to_vec::<f64>().unwrap() == dense.0.to_vec::<f64>().unwrap(), "{density} {fill} {k}");
                assert!(sparse.1.to_vec::<i64>().unwrap() == dense.1.to_vec::<i64>().unwrap(), "{density} {fill} {k}");
            }
        }
    }
}

#[test]
fn bins_masks_and_copies_of_arrays() {
    let mut random = Rng::new(8);
    let values: Vec<i64> = (0..300_000).map(|_| random.below(1000) as i64).collect();
    let mut wanted = vec![0i64; 1000];
    values.iter().for_each(|&v| wanted[v as usize] += 1);
    for dtype in [DType::I64, DType::U16, DType::I32, DType::U64] {
        let x = Tensor::from_vec([600, 500], values.clone()).unwrap().cast(dtype).unwrap();
        for threads in 1..=3 {
            let found = with_threads(threads, || x.t()?.bincount(None, 0)).unwrap().unwrap();
            assert_eq!(found.to_vec::<i64>().unwrap(), wanted, "{dtype}");
        }
        assert_eq!(x.bincount(None, 1003).unwrap().shape(), [1003]);
    }
    let far = Tensor::from_vec([3], vec![1i64, 1 << 20, 1]).unwrap();
    assert_eq!(far.bincount(None, 0).unwrap().shape(), [(1 << 20) + 1]);
    let error = Tensor::from_vec([3], vec![1i64, -2, 1]).unwrap().bincount(None, 0).unwrap_err().to_string();
    assert!(error.contains("there is an element -2, allowed is 0 and more"), "{error}");

    let x = Tensor::from_vec([600, 500], values.clone()).unwrap();
    let mask = x.gt(500).unwrap();
    for threads in 1..=3 {
        let picked = with_threads(threads, || x.index([Index::from(&mask)])).unwrap().unwrap();
        assert!(picked.to_vec::<i64>().unwrap() == values.iter().copied().filter(|&v| v > 500).collect::<Vec<_>>());
        let turned = with_threads(threads, || x.t()?.index([Index::from(&mask.t()?)])).unwrap().unwrap();
        let by_columns = (0..500).flat_map(|c| (0..600).map(move |r| r * 500 + c));
        assert!(
            turned.to_vec::<i64>().unwrap() == by_columns.map(|i| values[i]).filter(|&v| v > 500).collect::<Vec<_>>()
        );
        let rows = mask.narrow(0..1, 1).unwrap().reshape([600]).unwrap();
        let some = with_threads(threads, || x.index([Index::from(&rows)])).unwrap().unwrap();
        let wanted: Vec<i64> = values.chunks(500).filter(|row| row[0] > 500).flatten().copied().collect();
        assert!(some.shape() == [wanted.len() / 500, 500] && some.to_vec::<i64>().unwrap() == wanted);
    }
    // Of elements that are repeated: a few, and more than memory holds.
    let two = Tensor::from_vec([3], vec![true, false, true]).unwrap();
    let repeated = |n: usize| Tensor::from_vec([3, 1], vec![5i64, 6, 7]).unwrap().broadcast_to([3, n]).unwrap();
    let some = repeated(4).index([Index::from(&two)]).unwrap();
    assert_eq!((some.shape(), some.to_vec::<i64>().unwrap()), (&[2, 4][..], vec![5, 5, 5, 5, 7, 7, 7, 7]));
    let error = repeated(1 << 40).index([Index::from(&two)]).unwrap_err();
    assert!(matches!(error.kind(), openwork::ErrorKind::Memory { .. }), "{error}");
    let none = x.index([Index::from(&x.gt(5000).unwrap())]).unwrap();
    assert_eq!((none.shape(), none.dtype()), (&[0][..], DType::I64));

    for dtype in [DType::U8, DType::F16, DType::F32, DType::I64, DType::Complex128] {
        let x = Tensor::from_vec([3, 200, 500], values.clone()).unwrap().cast(dtype).unwrap();
        let turned = x.permute_dims([0, 2, 1]).unwrap();
        for threads in 1..=3 {
            let copy = with_threads(threads, || turned.to_contiguous()).unwrap().unwrap();
            let (copy, x) = (copy.cast(DType::Complex128).unwrap(), x.cast(DType::Complex128).unwrap());
            let (found, from) = (copy.to_vec::<c128>().unwrap(), x.to_vec::<c128>().unwrap());
            let place = |i: usize| (i / 100_000) * 100_000 + (i % 200) * 500 + i % 100_000 / 200;
            assert!((0..300_000).all(|i| found[i] == from[place(i)]), "{dtype}");
        }
    }
}

/// What goes by pointers where coordinates are sorted or rows listed gives what compressed rows give, of many rows and of few, of one
/// value and of several, with every kind of fill; and the other way about of columns.
#[test]
fn listed_rows_are_those_of_compressed_rows() {
    let numbers = Tensor::random([5000, 700], 4e-3, 0.0, Layout::Csr, 1).unwrap();
    let iso = numbers.is_stored().unwrap();
    let few = Tensor::random([5000, 700], 2e-5, 0.0, Layout::Csr, 2).unwrap();
    let none = Tensor::zeros([5000, 700], DType::F64, Layout::Csr).unwrap();
    let varied = numbers.sub(numbers.mean(keep(0)).unwrap()).unwrap();
    let rows: Vec<u64> = (0..900).map(|i| i * 37 % 5000).collect();
    let (rows, columns) = (&Tensor::from(rows), &Tensor::from(vec![3i64, 699, 0, 3]));
    type Op<'a> = (&'a str, Box<dyn Fn(&Tensor) -> openwork::Result<Tensor> + Sync + 'a>);
    let beside = |x: &Tensor| -> openwork::Result<Tensor> {
        let other = numbers.cast(x.dtype())?;
        match x.fill() {
            Some(Fill::Undefined) => Ok(other.stored()),
            Some(Fill::Array(_)) => Ok(x.clone()),
            _ => Ok(other),
        }
    };
    let ops: Vec<Op<'_>> = vec![
        ("row", Box::new(|x| x.index(s![17]))),
        ("rows", Box::new(|x| x.narrow(100..1200, 0))),
        ("no rows", Box::new(|x| x.narrow(100..100, 0))),
        ("columns", Box::new(|x| x.narrow(30..400, 1))),
        ("listed rows", Box::new(move |x| x.index_select(rows, 0))),
        ("listed columns", Box::new(move |x| x.index_select(columns, 1))),
        ("steps", Box::new(|x| x.index(s![..;3, ..;2]))),
        ("flipped", Box::new(|x| x.flip([0, 1]))),
        ("rolled", Box::new(|x| x.roll([5, 6], [0, 1]))),
        ("below", Box::new(|x| Tensor::concat(&[x, x, &x.narrow(0..9, 0)?], 0))),
        ("beside", Box::new(|x| Tensor::concat(&[x, &x.narrow(0..9, 1)?, x], 1))),
        ("others below", Box::new(|x| Tensor::concat(&[x, &beside(x)?], 0))),
        ("others beside", Box::new(|x| Tensor::concat(&[x, &beside(x)?], 1))),
        ("turned", Box::new(|x| x.t()?.to_layout(Layout::Csr))),
        ("coordinates", Box::new(|x| x.to_layout(Layout::Coo))),
        ("lists", Box::new(|x| x.to_layout(Layout::Dcsr)?.to_layout(Layout::Csr))),
    ];
    for (kind, x) in [("numbers", &numbers), ("iso", &iso), ("few", &few), ("none", &none), ("varied", &varied)] {
        for x in [x.clone(), x.stored()] {
            for (what, op) in &ops {
                let wanted = op(&x).unwrap();
                for layout in [Layout::Coo, Layout::Dcsr, Layout::Csf, Layout::Csc, Layout::Dcsc] {
                    let x = x.to_layout(layout).unwrap();
                    for threads in [1, 3] {
                        let found = with_threads(threads, || op(&x)).unwrap().unwrap();
                        let what = format!("{what} of {kind} {layout} on {threads}");
                        assert_eq!((found.shape(), found.nse()), (wanted.shape(), wanted.nse()), "{what}");
                        assert!(found.same_meaning(&wanted).unwrap(), "{what}");
                    }
                }
            }
        }
    }
}

/// Rows repeated so often that nobody could list them, of a tensor that stores nothing.
#[test]
fn nothing_is_repeated_for_nothing() {
    for layout in [Layout::Coo, Layout::Dcsr] {
        let x = Tensor::zeros([3, 5], DType::F64, layout).unwrap();
        let many = x.repeat(1i64 << 40, 0).unwrap();
        assert_eq!((many.shape(), many.nse()), (&[3 << 40, 5][..], 0));
    }
}

/// Hybrid parts that store the same rows stay hybrid where they are joined along a value axis, over any fill; others become coordinates.
#[test]
fn rows_of_values_joined() {
    let rows: Vec<i64> = (0..300).map(|i| i * 3).collect();
    let (a, b) = (Tensor::rand([300, 5], 1).unwrap(), Tensor::rand([300, 2], 2).unwrap());
    let hybrid = |values: &Tensor, rows: &[i64], fill: f64| {
        Tensor::coo([900, values.shape()[1]], vec![rows.to_vec()], values, fill).unwrap()
    };
    for fills in [[0.0, 0.0], [2.0, 2.0], [0.0, 1.0]] {
        let (x, y) = (hybrid(&a, &rows, fills[0]), hybrid(&b, &rows, fills[1]));
        let want =
            Tensor::concat(&[&x.to_dense().unwrap(), &y.to_dense().unwrap(), &x.to_dense().unwrap()], 1).unwrap();
        let got = Tensor::concat(&[&x, &y, &x], 1).unwrap();
        assert_eq!((got.layout(), got.nse()), (Layout::HybridCoo { dense_dims: 1 }, 300 * 12), "{fills:?}");
        assert!(got.equal(&want).unwrap(), "{fills:?}");
        let moved: Vec<i64> = rows.iter().map(|r| r + 1).collect();
        let z = hybrid(&b, &moved, fills[1]);
        let got = Tensor::concat(&[&x, &z], 1).unwrap();
        let want = Tensor::concat(&[&x.to_dense().unwrap(), &z.to_dense().unwrap()], 1).unwrap();
        assert!(got.equal(&want).unwrap(), "{fills:?}");
    }
    let x = hybrid(&a, &rows, 0.0).replace_fill(Fill::Undefined).unwrap();
    let got = Tensor::concat(&[&x, &x], 1).unwrap();
    assert!(got.fill().is_some_and(Fill::is_undefined) && got.layout() == x.layout() && got.nse() == 3000);
    assert!(got.narrow(5..10, 1).unwrap().equal(&x).unwrap());
}
