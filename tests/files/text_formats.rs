//! Matrix Market, FROSTT and TensorMarket files, written and read.

use std::sync::Mutex;

use crate::common::{folder, temporary};
use openwork::io::matrix_market::{self, Symmetry};
use openwork::io::{Format, Progress, ReadOptions, WriteOptions, frostt};
use openwork::parallel::with_threads;
use openwork::{DType, ErrorKind, Fill, Layout, Scalar, Tensor, bf16, c64, c128, f16};

mod refused;

/// Twelve values of a dtype, the awkward ones among them.
fn values(dtype: DType) -> Tensor {
    macro_rules! integers {
        ($ty:ty) => {
            vec![<$ty>::MIN, <$ty>::MAX, 0, 1, 2, 3, 10, 99, 100, <$ty>::MAX - 1, <$ty>::MIN + 1, 7]
        };
    }
    macro_rules! floats {
        ($ty:ty, $of:expr) => {{
            let (of, tiny) = ($of, <$ty>::from_bits(1));
            let huge = [<$ty>::MAX, <$ty>::MIN, <$ty>::MIN_POSITIVE, <$ty>::EPSILON];
            let plain = [of(f32::NAN), of(f32::INFINITY), of(f32::NEG_INFINITY), of(-0.0), of(0.0), of(0.1), of(1e4)];
            [&huge[..], &plain[..], &[tiny]].concat()
        }};
    }
    macro_rules! tensor {
        ($values:expr) => {
            Tensor::from_vec(&[12], $values)
        };
    }
    let pairs = |parts: Vec<f64>| -> Vec<c128> {
        parts.iter().zip(parts.iter().cycle().skip(5)).map(|(&re, &im)| c128::new(re, im)).collect()
    };
    match dtype {
        DType::Bool => tensor!((0..12).map(|i| i % 3 > 0).collect::<Vec<bool>>()),
        DType::I8 => tensor!(integers!(i8)),
        DType::I16 => tensor!(integers!(i16)),
        DType::I32 => tensor!(integers!(i32)),
        DType::I64 => tensor!(integers!(i64)),
        DType::U8 => tensor!(integers!(u8)),
        DType::U16 => tensor!(integers!(u16)),
        DType::U32 => tensor!(integers!(u32)),
        DType::U64 => tensor!(integers!(u64)),
        DType::F16 => tensor!(floats!(f16, f16::from_f32)),
        DType::BF16 => tensor!(floats!(bf16, bf16::from_f32)),
        DType::F32 => tensor!(floats!(f32, |v: f32| if v == 0.1 { 7.038531e-26 } else { v })),
        DType::F64 => tensor!(floats!(f64, |v: f32| if v == 0.1 { 0.1 } else { f64::from(v) })),
        DType::Complex64 => {
            let small = floats!(f32, |v: f32| v);
            let pairs = pairs(small.iter().map(|&v| f64::from(v)).collect());
            tensor!(pairs.iter().map(|v| c64::new(v.re as f32, v.im as f32)).collect::<Vec<c64>>())
        }
        _ => tensor!(pairs(floats!(f64, f64::from))),
    }
    .unwrap()
}

/// Every stored element with its index, NaN like NaN and zeros with their sign.
fn cells(x: &Tensor) -> Vec<String> {
    let x = if x.is_strided() { x.clone() } else { x.to_layout(Layout::Coo).unwrap() };
    x.iter_stored().map(|cell| format!("{cell:?}").replace("-NaN", "NaN")).collect()
}

#[track_caller]
fn same(read: &Tensor, written: &Tensor, what: &str) {
    assert_eq!((read.shape(), read.dtype()), (written.shape(), written.dtype()), "{what}");
    assert_eq!(cells(read), cells(written), "{what}");
}

/// A sparse tensor of this shape that holds the twelve values at places spread over it.
fn sparse(shape: &[usize], dtype: DType) -> Tensor {
    let size: usize = shape.iter().product();
    let places: Vec<usize> = (0..12).map(|i| (i * 5 + 1) % size).collect();
    let mut indices = vec![Vec::new(); shape.len()];
    for mut place in places {
        for (index, &n) in indices.iter_mut().zip(shape).rev() {
            index.push((place % n) as u64);
            place /= n;
        }
    }
    Tensor::coo(shape, indices, &values(dtype), Scalar::zero(dtype)).unwrap()
}

fn layouts() -> Vec<Layout> {
    let blocked = [Layout::Bsr { block: [2, 2] }, Layout::Bsc { block: [2, 3] }];
    let plain = [Layout::Strided, Layout::Coo, Layout::HybridCoo { dense_dims: 1 }, Layout::Csr, Layout::Csc];
    let doubly = [Layout::Dcsr, Layout::Dcsc, Layout::Csf];
    [&blocked[..], &plain[..], &doubly[..]].concat()
}

#[test]
fn matrices_of_every_layout_and_dtype_come_back() {
    for dtype in DType::ALL {
        for layout in layouts() {
            let x = sparse(&[4, 6], dtype).to_layout(layout).unwrap();
            let text = matrix_market::to_bytes(&x, &Default::default()).unwrap();
            let what = format!("{dtype} {layout}:\n{}", String::from_utf8_lossy(&text));
            let read = matrix_market::read_bytes(&text, &Default::default()).unwrap();
            assert_eq!(read.is_strided(), x.is_strided());
            same(&read, &x, &what);
            assert_eq!(matrix_market::to_bytes(&read, &Default::default()).unwrap(), text, "{what}");
        }
        let empty = Tensor::empty([3, 0], dtype, Layout::Csr, Scalar::zero(dtype)).unwrap();
        let text = matrix_market::to_bytes(&empty, &Default::default()).unwrap();
        let read = matrix_market::read_bytes(&text, &Default::default()).unwrap();
        assert_eq!((read.shape(), read.nse()), (empty.shape(), 0));
    }
}

#[test]
fn tensors_of_one_to_four_axes_come_back() {
    use frostt::Base;
    for dtype in DType::ALL {
        for shape in [&[24][..], &[24, 1], &[3, 4, 2], &[2, 3, 2, 2]] {
            for layout in [Layout::Coo, Layout::Csf] {
                let x = sparse(shape, dtype).to_layout(layout).unwrap();
                for format in [Format::Frostt, Format::TensorMarket] {
                    for base in [Base::One, Base::Zero] {
                        let options =
                            WriteOptions { format: Some(format), base, comment: "a\n\nb", ..Default::default() };
                        let text = frostt::to_bytes(&x, &options);
                        let refused = if format == Format::Frostt { dtype.is_complex() } else { base == Base::Zero };
                        assert_eq!(text.is_err(), refused);
                        let Ok(text) = text else { continue };
                        let what = format!("{dtype} {layout}:\n{}", String::from_utf8_lossy(&text));
                        let read = frostt::read_bytes(&text, &ReadOptions { base, ..Default::default() }).unwrap();
                        same(&read, &x, &what);
                    }
                }
            }
        }
    }
}

#[test]
fn strided_tensors_are_written_without_zeros() {
    let x = Tensor::from_vec([2, 1, 3], vec![0.0, 2.5, -0.0, 0.0, 0.0, f64::NAN]).unwrap();
    let text = frostt::to_bytes(&x, &Default::default()).unwrap();
    assert_eq!(text, b"1 1 2 2.5\n1 1 3 -0.0\n2 1 3 nan\n");
    let read = frostt::read_bytes(&text, &Default::default()).unwrap();
    same(&read.to_dense().unwrap(), &x, "strided");
}

#[test]
fn what_entries_do_not_tell_stands_in_a_comment() {
    let values = Tensor::from_vec([2], vec![3_i8, -4]).unwrap();
    let x = Tensor::coo([9, 2], vec![vec![1, 0], vec![1, 0]], &values, 0_i8).unwrap();
    let text = frostt::to_bytes(&x, &Default::default()).unwrap();
    assert_eq!(text, b"#openwork shape 9 2\n#openwork dtype int8\n1 1 -4\n2 2 3\n");
    let wide = ReadOptions { shape: Some(&[9, 9]), ..Default::default() };
    assert_eq!(frostt::read_bytes(&text, &wide).unwrap().shape(), [9, 9]);
    let nothing = Tensor::empty([4, 5, 6], DType::F64, Layout::Coo, 0.0).unwrap();
    let read =
        frostt::read_bytes(&frostt::to_bytes(&nothing, &Default::default()).unwrap(), &Default::default()).unwrap();
    same(&read, &nothing, "empty");
}

#[test]
fn duplicates_are_summed_by_writers_and_kept_by_readers() {
    let values = Tensor::from_vec([3], vec![1_i64, 2, 4]).unwrap();
    let x = Tensor::coo([2, 2], vec![vec![1, 0, 1], vec![0, 1, 0]], &values, 0_i64).unwrap();
    let text = matrix_market::to_bytes(&x, &Default::default()).unwrap();
    assert_eq!(text, b"%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 2 2\n2 1 5\n");
    let read = frostt::read_bytes(b"2 2 1.0\n2 2 3.0\n1 1 5\n", &Default::default()).unwrap();
    assert_eq!((read.nse(), read.get([1, 1]).unwrap()), (3, Some(4.0.into())));
}

#[test]
fn fields_and_types_follow_from_the_dtype() {
    let head = |values: Tensor| {
        let zero = Scalar::zero(values.dtype());
        let x = Tensor::coo([1, 9], vec![vec![0; values.nse()], (0..values.nse() as u64).collect()], &values, zero);
        let text = String::from_utf8(matrix_market::to_bytes(&x.unwrap(), &Default::default()).unwrap()).unwrap();
        text.lines().take(2).map(|line| line.trim_start_matches("%%").to_owned()).collect::<Vec<_>>()
    };
    let field = |name: &str| format!("MatrixMarket matrix coordinate {name} general");
    let of = |values| head(Tensor::from_vec([2], values).unwrap());
    assert_eq!(of(vec![1.0, 2.0]), [field("real"), "1 9 2".into()]);
    assert_eq!(head(Tensor::from_vec([1], vec![true]).unwrap()), [field("pattern"), "1 9 1".into()]);
    let falsity = Tensor::from_vec([2], vec![true, false]).unwrap();
    assert_eq!(head(falsity), [field("integer"), "GraphBLAS type bool".into()]);
    assert_eq!(head(Tensor::from_vec([1], vec![5_u64]).unwrap()), [field("integer"), "GraphBLAS type uint64_t".into()]);
    assert_eq!(head(Tensor::from_vec([1], vec![u64::MAX]).unwrap()), [field("unsigned-integer"), "1 9 1".into()]);
    let half = Tensor::from_vec([1], vec![f16::ONE]).unwrap();
    assert_eq!(head(half), [field("real"), "openwork type float16".into()]);
}

#[test]
fn symmetries_are_written_where_they_hold() {
    let (i, half) = (c128::new(0.0, 1.0), c128::new(0.5, 0.0));
    let hermitian = Tensor::from_vec([2, 2], vec![half, i, c128::new(0.0, -1.0), half]).unwrap();
    let symmetric = Tensor::from_vec([3, 3], vec![1.0, 2.0, f64::NAN, 2.0, 0.0, 5.0, f64::NAN, 5.0, -0.0]).unwrap();
    let skew = Tensor::from_vec([3, 3], vec![0_i8, 127, -3, -127, 0, 0, 3, 0, 0]).unwrap();
    let cases = [
        (hermitian, Symmetry::Hermitian, 2 + 3),
        (symmetric, Symmetry::Symmetric, 2 + 5),
        (skew, Symmetry::SkewSymmetric, 3 + 2),
    ];
    for (dense, symmetry, lines) in cases {
        let zero = Scalar::zero(dense.dtype());
        for x in [dense.clone(), dense.to_sparse(Layout::Csr, zero).unwrap()] {
            let options = WriteOptions { symmetry, ..Default::default() };
            let text = matrix_market::to_bytes(&x, &options).unwrap();
            let read = matrix_market::read_bytes(&text, &Default::default()).unwrap();
            same(&read, &x, &String::from_utf8_lossy(&text));
            if !x.is_strided() {
                let found = text.iter().filter(|&&byte| byte == b'\n').count();
                assert_eq!(found, lines, "{}", String::from_utf8_lossy(&text));
            }
        }
    }
}

/// A matrix whose file is cut into many pieces.
fn large() -> Tensor {
    Tensor::random([3000, 5000], 0.01, 0.0, Layout::Coo, 5).unwrap()
}

#[test]
fn threads_change_nothing() {
    let x = large();
    let write = |threads| with_threads(threads, || matrix_market::to_bytes(&x, &Default::default()).unwrap()).unwrap();
    let text = write(1);
    assert!(text.len() > 4 << 20);
    assert_eq!(write(4), text);
    let tns = frostt::to_bytes(&x, &Default::default()).unwrap();
    let line = text.iter().filter(|&&byte| byte == b'\n').count();
    // A comment and a blank line in the middle, and an error behind them.
    let middle = text.len() / 2 + text[text.len() / 2..].iter().position(|&byte| byte == b'\n').unwrap();
    let commented = [&text[..middle], b"\n%\n", &text[middle..]].concat();
    let broken = [&commented[..commented.len() - 1], b" 7\n1 x\n"].concat();
    let too_many = [&commented[..], b"\n1 1 1\n1 x\n"].concat();
    let too_few = &text[..text.len() - 2 - text.iter().rev().skip(1).position(|&byte| byte == b'\n').unwrap()];
    for threads in [1, 2, 7] {
        with_threads(threads, || {
            same(&matrix_market::read_bytes(&commented, &Default::default()).unwrap(), &x, "mtx");
            same(&frostt::read_bytes(&tns, &Default::default()).unwrap(), &x, "tns");
            let fails = |text: &[u8]| matrix_market::read_bytes(text, &Default::default()).unwrap_err().to_string();
            assert!(fails(&broken).contains(&format!("line {}: '7' is too much", line + 2)), "{}", fails(&broken));
            assert!(fails(&too_many).contains(&format!("line {}: there are more", line + 4)), "{}", fails(&too_many));
            assert!(fails(too_few).contains(&format!("line {}: the file ends after", line - 1)), "{}", fails(too_few));
        })
        .unwrap();
    }
}

#[test]
fn files_are_compressed_by_name_and_told_apart_by_content() {
    let folder = temporary("text-names");
    let x = large();
    for name in ["a.mtx", "a.mtx.gz", "b.tns", "b.tns.gz", "b.ttx", "b.TTX.GZ"] {
        let path = folder.join(name);
        let heard = Mutex::new(Vec::new());
        let hear = |done: u64, total: u64| heard.lock().unwrap().push((done, total));
        let progress = Some(Progress(&hear));
        let matrix = name.contains("mtx");
        if matrix {
            matrix_market::write_with(&path, &x, &WriteOptions { progress, ..Default::default() }).unwrap();
        } else {
            frostt::write_with(&path, &x, &WriteOptions { progress, ..Default::default() }).unwrap();
        }
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.starts_with(&[0x1f, 0x8b]), name.to_lowercase().ends_with("gz"));
        let written = std::mem::take(&mut *heard.lock().unwrap());
        assert_eq!(written.last(), Some(&(x.nse() as u64, x.nse() as u64)));
        let read = if matrix {
            matrix_market::read_with(&path, &ReadOptions { progress, ..Default::default() })
        } else {
            frostt::read_with(&path, &ReadOptions { progress, ..Default::default() })
        };
        same(&read.unwrap(), &x, name);
        let read = heard.lock().unwrap();
        assert_eq!(read.last(), Some(&(bytes.len() as u64, bytes.len() as u64)));
        for told in [&written, &*read] {
            assert!(told.is_sorted_by(|a, b| a.0 < b.0 && a.1 == b.1), "{told:?}");
        }
        let head = if name.to_lowercase().contains(".ttx") { "tensor" } else { "matrix" };
        if name.ends_with("mtx") || name.ends_with("ttx") {
            assert!(bytes.starts_with(format!("%%MatrixMarket {head} coordinate real general\n").as_bytes()));
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_refused_write_leaves_the_old_file() {
    let folder = temporary("text-atomic");
    let path = folder.join("x.mtx");
    std::fs::write(&path, "old").unwrap();
    let x = Tensor::full([2, 2], 1.0, Layout::Csr).unwrap();
    assert!(matrix_market::write(&path, &x).is_err());
    assert!(frostt::write(&path, &x).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    let good = Tensor::eye(3, DType::F32, Layout::Csr).unwrap();
    matrix_market::write(&path, &good).unwrap();
    same(&matrix_market::read(&path).unwrap(), &good, "eye");
    let nowhere = matrix_market::write(folder.join("no/x.mtx"), &good).unwrap_err();
    assert!(matches!(nowhere.kind(), ErrorKind::Io { path, .. } if path.ends_with("no/x.mtx")));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn verdicts_on_edge_cases() {
    let Some(folder) = folder("verdicts_on_edge_cases", "formats/tensors/handmade") else { return };
    let table = std::fs::read_to_string(folder.join("EXPECTED.tsv")).unwrap();
    let mut seen = 0;
    for line in table.lines().skip(1) {
        let (name, verdict) = line.split_once('\t').unwrap();
        let verdict = verdict.split('\t').next().unwrap();
        let read = |options: ReadOptions<'_>| frostt::read_with(folder.join(name), &options);
        let plain = read(Default::default());
        match (name, verdict) {
            ("edge_gt_i64.tns", _) => assert_eq!(plain.unwrap().shape(), [1, 1 << 63, 1]),
            (_, v) if v.starts_with("accept only with explicit") => {
                assert!(plain.is_err());
                let x = read(ReadOptions { header: true, ..Default::default() }).unwrap();
                assert_eq!((x.shape(), x.nse()), (&[4, 5, 6][..], 2));
            }
            (_, v) if v.starts_with("reject unless zero-based") => {
                assert!(plain.unwrap_err().to_string().contains("Zero"));
                let x = read(ReadOptions { base: frostt::Base::Zero, ..Default::default() }).unwrap();
                assert_eq!((x.shape(), x.nse()), (&[2, 3, 4][..], 2));
            }
            ("edge_empty.tns", _) => {
                assert!(plain.unwrap_err().to_string().contains("shape"));
                assert_eq!(read(ReadOptions { shape: Some(&[2, 3]), ..Default::default() }).unwrap().nse(), 0);
            }
            (_, v) if v.starts_with("accept") => assert!(plain.is_ok(), "{name}: {plain:?}"),
            (_, v) if v.starts_with("reject") => assert!(plain.is_err(), "{name}: {plain:?}"),
            other => panic!("{other:?}"),
        }
        seen += 1;
    }
    assert_eq!(seen, 19);
    let extremes = frostt::read(folder.join("edge_nonfinite.tns")).unwrap();
    assert_eq!(extremes.get([0, 1, 1]).unwrap(), Some(f64::INFINITY.into()));
}

#[test]
fn published_tensors_come_back() {
    let Some(folder) = folder("published_tensors_come_back", "tensors") else { return };
    for (name, axes) in [("med.tns", 3), ("med4.tns", 4)] {
        let x = frostt::read(folder.join(name)).unwrap();
        assert_eq!((x.ndim(), x.dtype()), (axes, DType::F64));
        for format in [Format::Frostt, Format::TensorMarket] {
            let options = WriteOptions { format: Some(format), ..Default::default() };
            let text = frostt::to_bytes(&x, &options).unwrap();
            same(&frostt::read_bytes(&text, &Default::default()).unwrap(), &x, name);
        }
    }
}

fn undefined() -> Tensor {
    Tensor::empty([2, 2], DType::F64, Layout::Coo, Fill::Undefined).unwrap()
}
