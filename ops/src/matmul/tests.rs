use super::*;
use crate::DType;
use crate::simd::{Level, set_level, set_slow_gathers};

fn rows<'a>(pointers: &'a [u32], indices: &'a [u32], values: &'a [f64]) -> Rows<'a> {
    rows_of(pointers, indices, bytemuck::cast_slice(values))
}

fn rows_of<'a>(pointers: &'a [u32], indices: &'a [u32], values: &'a [u8]) -> Rows<'a> {
    let base = pointers[0] as usize;
    Rows { pointers: IndexSlice::U32(pointers), base, indices: IndexSlice::U32(indices), values, stencils: &[] }
}

#[test]
fn all_kernels_agree() {
    // [[1, 0, 2], [0, 0, 0], [0, 3, 0]] times [[0, 1], [5, 0], [7, 4]]
    let a = rows(&[3, 5, 5, 6], &[0, 2, 1], &[1.0, 2.0, 3.0]);
    let b = rows(&[0, 1, 2, 4], &[1, 0, 0, 1], &[1.0, 5.0, 7.0, 4.0]);
    let (dense_a, dense_b) = ([1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0], [0.0, 1.0, 5.0, 0.0, 7.0, 4.0]);
    let left = Grid { values: bytemuck::cast_slice(&dense_a), row: 3, col: 1 };
    let right = Grid { values: bytemuck::cast_slice(&dense_b), row: 2, col: 1 };
    let kernels = Carrier::Float.kernels();
    let run = |f: &dyn Fn(&mut [u8])| {
        let mut acc = [0f64; 6];
        f(bytemuck::cast_slice_mut(&mut acc));
        assert_eq!(acc, [14.0, 9.0, 0.0, 0.0, 15.0, 0.0]);
    };
    run(&|acc| kernels.sparse_dense(a, 0..3, right, 2, acc));
    run(&|acc| kernels.sparse_sparse(a, 0..3, b, 0, 2, acc));
    run(&|acc| kernels.dense_sparse(left, 0..3, Listed { all: b, rows: 0..3, ids: None }, 2, acc));
    run(&|acc| kernels.dense_sparse(left, 0..3, Listed { all: b, rows: 0..3, ids: Some((10, &[10, 11, 12])) }, 2, acc));
    run(&|acc| kernels.dense_dense(left, 0..3, right, 3, 2, acc));
    let finish = |acc: &[u8], out: &mut [u8]| Carrier::Float.finish(acc, DType::F64, out);
    let product = kernels.gustavson(a, &[Run { left: 0..3, right: 0, init: None, mask: None }], b, 2, &finish, 8);
    assert_eq!((product.counts, product.columns), (vec![2, 0, 1], IndexVec::U32(vec![0, 1, 0])));
    let values: Vec<f64> = product.values.as_chunks().0.iter().map(|c| f64::from_ne_bytes(*c)).collect();
    assert_eq!(values, [14.0, 9.0, 15.0]);
}

#[test]
fn doubles_survive_cancellation() {
    let carrier = Carrier::new(DType::F64, true).doubled();
    // (1e-20 - 1) + (1 - 1) + 1, the first as two terms, one of them plain.
    let (mut easy, mut terms) = ([9.0; 2], Vec::new());
    let mut tell = |i: usize, term: &[u8]| terms.push((i, bytemuck::pod_read_unaligned::<f64>(term)));
    let (values, fills) = ([1e-20, 1.0], [1.0, 1.0]);
    carrier.differences(
        bytemuck::cast_slice(&values),
        bytemuck::cast_slice(&fills),
        8.0,
        Told::Hard,
        bytemuck::cast_slice_mut(&mut easy),
        &mut tell,
    );
    assert_eq!((easy, &terms[..]), ([1e-20, 0.0], &[(0, -1.0)][..]));
    let terms = [terms[0].1, easy[0], 0.0];
    let a = rows(&[0, 3], &[0, 0, 1], &terms);
    let ones = [1.0, 0.0];
    let mut acc = [0.0, 0.0];
    let kernels = carrier.kernels();
    kernels.add(Grid { values: bytemuck::cast_slice(&ones), row: 0, col: 0 }, 1, bytemuck::cast_slice_mut(&mut acc));
    let right = Grid { values: bytemuck::cast_slice(&ones), row: 0, col: 0 };
    kernels.sparse_dense(a, 0..1, right, 1, bytemuck::cast_slice_mut(&mut acc));
    let mut out = [0f64];
    carrier.finish(bytemuck::cast_slice(&acc), DType::F64, bytemuck::cast_slice_mut(&mut out));
    assert_eq!(out, [1e-20]);
    // What a plain carrier has summed joins it.
    carrier.add_plain(bytemuck::cast_slice(&[-1e-20]), bytemuck::cast_slice_mut(&mut acc));
    carrier.finish(bytemuck::cast_slice(&acc), DType::F64, bytemuck::cast_slice_mut(&mut out));
    assert_eq!(out, [0.0]);
    // A row of sums joins every row of plain ones.
    let (row, mut plain) = ([1.0, 1e-20, -1.0, 2e-20], [-1.0, 1.0, 3.0, 0.0]);
    Carrier::add_row(bytemuck::cast_slice(&row), bytemuck::cast_slice_mut(&mut plain));
    assert_eq!(plain, [1e-20, 2e-20, 4.0, -1.0]);
}

/// 1 + 2^-30 squared takes 61 bits; two of them times 3, in rows and columns of a product of vectors.
#[test]
fn products_of_doubles_are_exact() {
    let x = [1.0 + 2f64.powi(-30)];
    let one = Grid { values: bytemuck::cast_slice(&x), row: 0, col: 0 };
    let kernels = Carrier::Double.kernels();
    let mut square = [0f64; 2];
    kernels.dense_dense(one, 0..1, one, 1, 1, bytemuck::cast_slice_mut(&mut square));
    assert_eq!(square, [1.0 + 2f64.powi(-29), 2f64.powi(-60)]);
    let (three, mut acc) = ([3.0, 0.0, -3.0, 0.0], [0f64; 4]);
    let left = Grid { values: bytemuck::cast_slice(&three), row: 1, col: 0 };
    let right = Grid { values: bytemuck::cast_slice(&square), row: 0, col: 1 };
    kernels.outer(left, right, 1, bytemuck::cast_slice_mut(&mut acc));
    assert_eq!(
        acc,
        [3.0 + 3.0 * 2f64.powi(-29), 3.0 * 2f64.powi(-60), -3.0 - 3.0 * 2f64.powi(-29), -3.0 * 2f64.powi(-60)]
    );
}

/// Numbers with a few bits, so that sums in any order are exact, and some that are not.
fn numbers(n: usize, seed: u64) -> Vec<f64> {
    let mut x = seed;
    let mut next = || {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (x >> 40) as f64 / 65_536.0 - 128.0
    };
    (0..n).map(|_| next()).collect()
}

/// A matrix of `rows` by `columns`, row `r` with `r % 41` entries.
fn matrix(rows: usize, columns: usize) -> (Vec<u32>, Vec<u32>, Vec<f64>) {
    let (mut pointers, mut indices) = (vec![0], Vec::new());
    for r in 0..rows {
        let step = (columns / 41).max(1);
        indices.extend((0..(r % 41).min(columns)).map(|i| ((i * step + r % step) % columns) as u32));
        pointers.push(indices.len() as u32);
    }
    let values = numbers(indices.len(), 7);
    (pointers, indices, values)
}

/// Runs `f` at each level, with gathers and without those that are slow on some CPUs; results must be the same bits.
pub(super) fn at_each_level(f: &dyn Fn() -> Vec<u8>) -> Vec<u8> {
    let mut results: Vec<Vec<u8>> = Level::ALL
        .into_iter()
        .flat_map(|level| [(level, false), (level, true)])
        .map(|(level, slow)| {
            set_level(Some(level));
            set_slow_gathers(Some(slow));
            f()
        })
        .collect();
    set_level(None);
    set_slow_gathers(None);
    let first = results.remove(0);
    assert!(results.iter().all(|r| *r == first), "levels differ");
    first
}

/// Products with a dense matrix of every width up to beyond the widest tile, at every level, against sums in `f64`.
#[test]
fn vector_kernels_agree_with_the_plain_sums() {
    let (rows, columns) = (83, 97);
    vector_kernels_agree(rows, columns, matrix(rows, columns));
    // Rows whose indices are the same, one to five in turn.
    let (mut pointers, mut indices) = (vec![0], Vec::new());
    for r in 0..rows {
        let (block, stored) = (r / 15 * 15 + [0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4][r % 15], 9 + r / 15);
        indices.extend((0..stored).map(|i| ((i * 7 + block * 5) % columns) as u32));
        pointers.push(indices.len() as u32);
    }
    let values = numbers(indices.len(), 3);
    vector_kernels_agree(rows, columns, (pointers, indices, values));
}

fn vector_kernels_agree(rows: usize, columns: usize, (pointers, indices, values): (Vec<u32>, Vec<u32>, Vec<f64>)) {
    for n in (1..=70).chain([127, 128, 130]) {
        let dense = numbers(columns * n, 11);
        let mut want = vec![[0.0; 2]; rows * n];
        for r in 0..rows {
            for e in pointers[r] as usize..pointers[r + 1] as usize {
                for j in 0..n {
                    let term = values[e] * dense[indices[e] as usize * n + j];
                    let [sum, size] = &mut want[r * n + j];
                    (*sum, *size) = (*sum + term, *size + term.abs());
                }
            }
        }
        let run = |carrier: Carrier, values: &[u8], dense: &[u8], size: usize| {
            let left = Rows {
                pointers: IndexSlice::U32(&pointers),
                base: 0,
                indices: IndexSlice::U32(&indices),
                values,
                stencils: &[],
            };
            let right = Grid { values: dense, row: n, col: usize::from(n > 1) };
            at_each_level(&|| {
                // Elements that begin where a line of the cache does, as those of large results do.
                let made = |stream: bool| {
                    let mut all = vec![0xaa; rows * n * size + 64];
                    let start = all.as_ptr().align_offset(64);
                    let out = &mut all[start..start + rows * n * size];
                    assert!(carrier.kernels().sparse_dense_rounded(left, 0..rows, right, n, out, stream));
                    out.to_vec()
                };
                let out = made(false);
                assert!(out == made(true), "n {n}, past the caches");
                out
            })
        };
        let out = run(Carrier::Float, bytemuck::cast_slice(&values), bytemuck::cast_slice(&dense), 8);
        for (got, [sum, size]) in out.as_chunks().0.iter().zip(&want) {
            assert!((f64::from_ne_bytes(*got) - sum).abs() <= 1e-14 * size, "n {n}");
        }
        let singles = |x: &[f64]| x.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let (values, dense) = (singles(&values), singles(&dense));
        let out = run(Carrier::Single, bytemuck::cast_slice(&values), bytemuck::cast_slice(&dense), 4);
        for (got, [sum, size]) in out.as_chunks().0.iter().zip(&want) {
            assert!((f64::from(f32::from_ne_bytes(*got)) - sum).abs() <= 1e-6 * size, "n {n} of f32");
        }
    }
}

/// Rows that go through a large dense matrix by panels of its columns have the bits of each row alone, which meets too little for that.
#[test]
fn panels_change_no_bits() {
    const COLUMNS: usize = 1100;
    let (rows, met) = (60, 90);
    let pointers: Vec<u32> = (0..=rows as u32).map(|r| r * met).collect();
    let indices: Vec<u32> = (0..rows as u32 * met).map(|e| e % met * 12 + e / met % 12).collect();
    let values = numbers(indices.len(), 3);
    let run = |carrier: Carrier, values: &[u8], dense: &[u8], size: usize| {
        let n = dense.len() / size / COLUMNS;
        let left = Rows {
            pointers: IndexSlice::U32(&pointers),
            base: 0,
            indices: IndexSlice::U32(&indices),
            values,
            stencils: &[],
        };
        let right = Grid { values: dense, row: n, col: 1 };
        let product = |rows: Range<usize>, out: &mut [u8], stream: bool| {
            assert!(carrier.kernels().sparse_dense_rounded(left, rows, right, n, out, stream));
        };
        let mut apart = vec![0; rows * n * size];
        for (r, out) in apart.chunks_exact_mut(n * size).enumerate() {
            product(r..r + 1, out, false);
        }
        let together = at_each_level(&|| {
            let [mut out, mut past] = [vec![0xaa; apart.len()], vec![0xaa; apart.len()]];
            product(0..rows, &mut out, false);
            product(0..rows, &mut past, true);
            assert!(out == past);
            out
        });
        assert!(together == apart);
    };
    // More than 16 MiB, and columns that fill no panel.
    let dense = numbers(COLUMNS * 2005, 5);
    run(Carrier::Float, bytemuck::cast_slice(&values), bytemuck::cast_slice(&dense), 8);
    let singles = |x: &[f64]| x.iter().map(|&x| x as f32).collect::<Vec<f32>>();
    let (values, dense) = (singles(&values), singles(&numbers(COLUMNS * 4011, 7)));
    run(Carrier::Single, bytemuck::cast_slice(&values), bytemuck::cast_slice(&dense), 4);
}

/// What is larger than any `f32` on the way does not spoil a sum that is not.
#[test]
fn single_sums_may_be_large_on_the_way() {
    let run = |large: &[f32], n: usize, want: f32| {
        let indices: Vec<u32> = (0..large.len() as u32).collect();
        let pointers = [0, large.len() as u32];
        let left = rows_of(&pointers, &indices, bytemuck::cast_slice(large));
        let dense = vec![1f32; large.len() * n];
        let right = Grid { values: bytemuck::cast_slice(&dense), row: n, col: usize::from(n > 1) };
        let mut out = vec![0f32; n];
        let bytes = bytemuck::cast_slice_mut(&mut out);
        assert!(Carrier::Single.kernels().sparse_dense_rounded(left, 0..1, right, n, bytes, false));
        assert!(out.iter().all(|&x| x == want), "n {n}: {out:?}");
    };
    // Few columns are summed in lanes or sides, in which 5 is lost beside 3e38 but nothing overflows.
    let beside = [3e38, 3e38, -3e38, -3e38, 5.0];
    for (n, want) in [(1, 0.0), (2, 0.0), (8, 0.0), (9, 5.0), (32, 5.0), (64, 5.0)] {
        run(&beside, n, want);
    }
    let mut in_one_side = [0.0; 14];
    for (at, value) in [(0, 3e38), (4, 3e38), (8, -3e38), (12, -3e38), (13, 5.0)] {
        in_one_side[at] = value;
    }
    (2..=9).for_each(|n| run(&in_one_side, n, 5.0));
}

/// An index beyond the vector is found before memory is read there.
#[test]
fn gathers_stay_inside() {
    for level in Level::ALL {
        for n in [1, 8, 9, 40] {
            let mut indices = vec![0u32; n];
            indices[n - 1] = 3;
            let values = vec![1.0f64; n];
            let run = || {
                let left = Rows {
                    pointers: IndexSlice::U32(&[0, n as u32]),
                    base: 0,
                    indices: IndexSlice::U32(&indices),
                    values: bytemuck::cast_slice(&values),
                    stencils: &[],
                };
                let right = Grid { values: bytemuck::cast_slice(&[1.0f64, 2.0, 3.0]), row: 1, col: 0 };
                let mut out = [0u8; 8];
                Carrier::Float.kernels().sparse_dense_rounded(left, 0..1, right, 1, &mut out, false)
            };
            set_level(Some(level));
            assert!(std::panic::catch_unwind(run).is_err(), "{level:?}, {n}");
        }
    }
    set_level(None);
}

/// Columns times panels of every width, against the same sums by rows.
#[test]
fn columns_agree_with_rows() {
    let (rows, columns) = (83, 97);
    let (pointers, in_order, values) = matrix(rows, columns);
    let backwards: Vec<u32> = in_order.iter().map(|&i| columns as u32 - 1 - i).collect();
    let repeated: Vec<u32> = in_order.iter().map(|&i| i / 3).collect();
    let Some(kernel) = Carrier::Float.kernels().columns_panel() else { panic!("floats have one") };
    for (width, indices) in WIDTHS.into_iter().flat_map(|w| [&in_order, &backwards, &repeated].map(|i| (w, i))) {
        let left = Rows {
            pointers: IndexSlice::U32(&pointers),
            base: 0,
            indices: IndexSlice::U32(indices),
            values: bytemuck::cast_slice(&values),
            stencils: &[],
        };
        let panel = numbers(rows * width, 5);
        let mut want = vec![0.0; columns * width];
        for r in 0..rows {
            for e in pointers[r] as usize..pointers[r + 1] as usize {
                for j in 0..width {
                    want[indices[e] as usize * width + j] += values[e] * panel[r * width + j];
                }
            }
        }
        let out = at_each_level(&|| {
            let mut acc = vec![0.0; columns * width];
            let panel = Columns { values: &panel, stride: width, width };
            kernel(left, 0..40, None, panel, &mut acc);
            kernel(left, 40..rows, None, panel, &mut acc);
            bytemuck::cast_slice(&acc).to_vec()
        });
        assert_eq!(out, bytemuck::cast_slice::<f64, u8>(&want));
        if !std::ptr::eq(indices, &in_order) {
            continue; // columns of a band rise
        }
        let wide: Vec<u64> = indices.iter().map(|&i| u64::from(i)).collect();
        let wide_pointers: Vec<u64> = pointers.iter().map(|&p| u64::from(p)).collect();
        let (indices, pointers) = (IndexSlice::U64(&wide), IndexSlice::U64(&wide_pointers));
        for left in [left, Rows { indices, pointers, ..left }] {
            let out = at_each_level(&|| {
                let mut acc = vec![0.0; columns * width];
                let panel = Columns { values: &panel, stride: width, width };
                for band in [0..0, 0..30, 30..31, 31..columns] {
                    kernel(left, 0..rows, Some(band.clone()), panel, &mut acc[band.start * width..band.end * width]);
                }
                bytemuck::cast_slice(&acc).to_vec()
            });
            assert_eq!(out, bytemuck::cast_slice::<f64, u8>(&want), "bands of {width}");
        }
    }
}

/// Rows of a sparse product as the kernel for any carrier gives them, of every dtype, in an accumulator that is zero again after each and
/// had other columns and wider sums before.
#[test]
fn sparse_rows_agree_with_gustavson() {
    const MOST: usize = 9001;
    let (pointers, indices, values) = matrix(200, 200);
    let mut acc = Some(Accumulator::new(MOST, size_of::<crate::c128>()));
    for (n, dtype) in [MOST, 70, 64].into_iter().flat_map(|n| DType::ALL.iter().map(move |&dtype| (n, dtype))) {
        let carrier = Carrier::new(dtype, false);
        let (input, size) = (carrier.input(dtype), carrier.term_size());
        if input != dtype {
            continue; // halves are `f32` until they are rounded
        }
        let (right_pointers, right_indices, right_values) = matrix(200, n);
        // Whole numbers, of which some are zeros of narrow integers.
        let cast = |values: &[f64]| {
            let whole: Vec<f64> = values.iter().map(|x| x.trunc()).collect();
            let mut terms = vec![0u128; (whole.len() * size).div_ceil(16)];
            let bytes = &mut bytemuck::cast_slice_mut(&mut terms)[..whole.len() * size];
            crate::cast::cast_block(DType::F64, bytemuck::cast_slice(&whole), dtype, bytes);
            terms
        };
        let (values, right_values) = (cast(&values), cast(&right_values));
        let left = rows_of(&pointers, &indices, &bytemuck::cast_slice(&values)[..indices.len() * size]);
        let bytes = &bytemuck::cast_slice(&right_values)[..right_indices.len() * size];
        let right = rows_of(&right_pointers, &right_indices, bytes);
        let (kernels, finish) = (carrier.kernels(), |acc: &[u8], out: &mut [u8]| carrier.finish(acc, dtype, out));
        let run = Run { left: 0..200, right: 0, init: None, mask: None };
        let want = kernels.gustavson(left, &[run], right, n, &finish, size);
        let Some(kernel) = kernels.sparse_rows() else { panic!("{dtype} has one") };
        let mut own = acc.take().and_then(|acc| acc.of_columns(n, carrier.acc_size())).expect("there is room for each");
        for _ in 0..2 {
            let (mut counts, mut columns, mut values) = (vec![7u32; 200], vec![7u32; 400_000], vec![7u128; 400_000]);
            let out = Out { counts: &mut counts, columns: &mut columns, values: bytemuck::cast_slice_mut(&mut values) };
            let len = kernel(left, 0..200, right, 0, &mut own, out);
            assert_eq!(counts.iter().map(|&c| c as usize).collect::<Vec<_>>(), want.counts, "{dtype}");
            columns.truncate(len);
            assert_eq!(IndexVec::U32(columns), want.columns, "{dtype}");
            assert_eq!(bytemuck::cast_slice::<u128, u8>(&values)[..len * size], want.values, "{dtype}");
        }
        acc = Some(own);
    }
    let acc = acc.expect("it is put back");
    assert!(acc.room() == MOST * 16 && acc.of_columns(MOST + 64, 1).is_none());
}

/// Rows of numbers that are no floats times a matrix of any width: whole ones, so that every order of terms gives the same bits.
#[test]
fn rows_of_every_dtype_meet_any_columns() {
    let (rows, columns) = (83, 97);
    let (pointers, indices, values) = matrix(rows, columns);
    let parts = |i: usize| [((i * 7919) % 17) as f64 - 8.0, ((i * 104_729) % 13) as f64 - 6.0];
    for dtype in [DType::Bool, DType::I8, DType::I16, DType::I32, DType::I64, DType::Complex64, DType::Complex128] {
        let (carrier, size) = (Carrier::new(dtype, false), dtype.size());
        let number = |i: usize| match dtype.is_complex() {
            true => crate::c128::new(parts(i)[0], parts(i)[1]),
            false => crate::c128::new(parts(i)[0], 0.0),
        };
        let terms = |count: usize, first: usize| {
            let all: Vec<crate::c128> = (first..first + count).map(number).collect();
            let mut out = vec![0u128; (count * size).div_ceil(16)];
            let bytes = &mut bytemuck::cast_slice_mut(&mut out)[..count * size];
            crate::cast::cast_block(DType::Complex128, bytemuck::cast_slice(&all), dtype, bytes);
            out
        };
        let of = terms(values.len(), 0);
        for n in (1..=40).chain([64, 100]) {
            let panel = terms(columns * n, 5);
            let acc_size = carrier.acc_size();
            let left = rows_of(&pointers, &indices, &bytemuck::cast_slice(&of)[..values.len() * size]);
            let right = Grid { values: &bytemuck::cast_slice(&panel)[..columns * n * size], row: n, col: 1 };
            let out = at_each_level(&|| {
                let mut acc = vec![0u128; (rows * n * acc_size).div_ceil(16)];
                let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut acc);
                // Twice: what is there is added to.
                (0..2).for_each(|_| {
                    carrier.kernels().sparse_dense(left, 0..rows, right, n, &mut bytes[..rows * n * acc_size])
                });
                let mut out = vec![0; rows * n * size];
                carrier.finish(&bytes[..rows * n * acc_size], dtype, &mut out);
                out
            });
            let mut want = vec![crate::c128::new(0.0, 0.0); rows * n];
            for r in 0..rows {
                let row = pointers[r] as usize..pointers[r + 1] as usize;
                for (e, &k) in row.clone().zip(&indices[row]) {
                    for j in 0..n {
                        want[r * n + j] += number(e) * number(5 + k as usize * n + j) * 2.0;
                    }
                }
            }
            let whole: Vec<i128> = want.iter().flat_map(|x| [x.re as i128, x.im as i128]).collect();
            for (i, found) in out.chunks_exact(size).enumerate() {
                if dtype == DType::Bool {
                    // A sum of bools is whether any term is true.
                    let row = pointers[i / n] as usize..pointers[i / n + 1] as usize;
                    let is = |i: usize| number(i).re != 0.0;
                    let mut met = row.map(|e| is(e) && is(5 + indices[e] as usize * n + i % n));
                    assert_eq!(found[0] != 0, met.any(|met| met));
                    continue;
                }
                let (mut own, mut wide) = ([0u128; 1], [0.0f64; 2]);
                bytemuck::cast_slice_mut::<u128, u8>(&mut own)[..size].copy_from_slice(found);
                let own = &bytemuck::cast_slice::<u128, u8>(&own)[..size];
                crate::cast::cast_block(dtype, own, DType::Complex128, bytemuck::cast_slice_mut(&mut wide));
                // Integers wrap.
                let off = [0, 1].map(|part| wide[part] as i128 - whole[2 * i + part]);
                let period = if dtype.is_complex() { i128::MAX } else { 1 << (8 * size) };
                assert!(off.iter().all(|off| off % period == 0), "{dtype}, {n} columns, place {i}: {wide:?}");
            }
        }
    }
}

/// Infinities and NaN in complex rows come out as term by term, in each part.
#[test]
fn complex_rows_keep_what_is_not_finite() {
    let some = [0.0f32, 1.0, -2.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e3];
    let number = |i: usize| crate::c64::new(some[i % 7], some[i / 7 % 7]);
    let n = 49;
    for count in [1, 2, 3, 20] {
        for first in 0..49 {
            let (pointers, indices) = ([0, count as u32], (0..count as u32).collect::<Vec<u32>>());
            let values: Vec<crate::c64> =
                (0..count).map(|e| if e == 0 { number(first) } else { number(e * 11 % 3) }).collect();
            let panel: Vec<crate::c64> =
                (0..count * n).map(|i| if i < n { number(i) } else { number(i % 3) }).collect();
            let left = rows_of(&pointers, &indices, bytemuck::cast_slice(&values));
            let right = Grid { values: bytemuck::cast_slice(&panel), row: n, col: 1 };
            let out = at_each_level(&|| {
                let mut acc = vec![crate::c128::new(0.0, 0.0); n];
                Carrier::ComplexSingle.kernels().sparse_dense(left, 0..1, right, n, bytemuck::cast_slice_mut(&mut acc));
                // NaN has many bits.
                let same = |x: f64| if x.is_nan() { f64::NAN } else { x };
                let acc: Vec<[f64; 2]> = acc.into_iter().map(|x| [same(x.re), same(x.im)]).collect();
                bytemuck::cast_slice(&acc).to_vec()
            });
            for (j, found) in out.chunks_exact(16).enumerate() {
                let mut want = [0.0f64; 2];
                for e in 0..count {
                    let [a, b] = [values[e].re, values[e].im].map(f64::from);
                    let [c, d] = [panel[e * n + j].re, panel[e * n + j].im].map(f64::from);
                    want = [want[0] + (a * c - b * d), want[1] + (a * d + b * c)];
                }
                let found = bytemuck::pod_read_unaligned::<[f64; 2]>(found);
                for (found, want) in found.into_iter().zip(want) {
                    assert!(
                        found == want || found.is_nan() && want.is_nan(),
                        "{found}, not {want}: {first}, {j} of {count}"
                    );
                }
            }
        }
    }
}

#[test]
fn rows_of_any_length_meet_a_column() {
    // Lengths about those of a block of pairs, and rows that are one piece each whatever stands beside them.
    let lengths = [0, 3, 600, 512, 0, 1, 511, 2, 1500, 513, 0, 512, 1, 0];
    let n = 700;
    let mut pointers = vec![0u32];
    lengths.iter().for_each(|len| pointers.push(pointers[pointers.len() - 1] + len));
    let stored = pointers[lengths.len()] as usize;
    let indices: Vec<u32> = (0..stored as u32).map(|e| e * 37 % n as u32).collect();
    let (values, column) = (numbers(stored, 1), numbers(n, 2));
    let a = rows(&pointers, &indices, &values);
    for semiring in [Semiring::MIN_PLUS, Semiring::PLUS_FIRST, Semiring::MAX_TIMES] {
        let carrier = Carrier::of_semiring(semiring, DType::F64).unwrap();
        let run = |rows: Range<usize>| {
            let mut acc = vec![0f64; rows.len()];
            carrier.clear(bytemuck::cast_slice_mut(&mut acc));
            let right = Grid { values: bytemuck::cast_slice(&column), row: 1, col: 1 };
            carrier.kernels().sparse_dense(a, rows, right, 1, bytemuck::cast_slice_mut(&mut acc));
            acc
        };
        let all = run(0..lengths.len());
        for r in 0..lengths.len() {
            assert_eq!(run(r..r + 1), all[r..r + 1], "row {r}");
            let terms = (pointers[r] as usize..pointers[r + 1] as usize).map(|e| {
                let (x, y) = (values[e], column[indices[e] as usize]);
                match semiring {
                    Semiring::MIN_PLUS => x + y,
                    Semiring::PLUS_FIRST => x,
                    _ => x * y,
                }
            });
            let wanted = match semiring {
                Semiring::MIN_PLUS => terms.fold(f64::INFINITY, f64::min),
                Semiring::PLUS_FIRST => terms.sum(),
                _ => terms.fold(f64::NEG_INFINITY, f64::max),
            };
            assert!(all[r] == wanted || (all[r] - wanted).abs() < 1e-9, "row {r}: {}, not {wanted}", all[r]);
        }
    }
}

/// Rows of every length about that of the loops that are written out, some of negative zeros, which sums that begin with zero are not.
#[test]
fn short_rows_meet_a_column() {
    let n = 50;
    let mut pointers = vec![0u32];
    (0..40).for_each(|r| pointers.push(pointers[r] + r as u32 % 19));
    let stored = pointers[40] as usize;
    let indices: Vec<u32> = (0..stored as u32).map(|e| e * 7 % n as u32).collect();
    let column = numbers(n, 2).iter().map(|x| x.abs()).collect::<Vec<_>>();
    for values in [numbers(stored, 1), vec![-0.0; stored]] {
        let a = rows(&pointers, &indices, &values);
        let out = at_each_level(&|| {
            let mut out = vec![0f64; 40];
            let right = Grid { values: bytemuck::cast_slice(&column), row: 1, col: 1 };
            let bytes = bytemuck::cast_slice_mut(&mut out);
            assert!(Carrier::Float.kernels().sparse_dense_rounded(a, 0..40, right, 1, bytes, false));
            bytemuck::cast_slice(&out).to_vec()
        });
        let want: Vec<f64> = (0..40)
            .map(|r| {
                let mut lanes = [0.0; 16];
                (pointers[r] as usize..pointers[r + 1] as usize)
                    .enumerate()
                    .for_each(|(i, e)| lanes[i % 16] += values[e] * column[indices[e] as usize]);
                for half in [8, 4, 2, 1] {
                    (0..half).for_each(|i| lanes[i] += lanes[i + half]);
                }
                lanes[0]
            })
            .collect();
        assert_eq!(out, bytemuck::cast_slice::<f64, u8>(&want));
    }
}
