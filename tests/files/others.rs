//! Formats that other libraries own, written and read: NumPy's, SciPy's, pydata/sparse's, AnnData's.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::{python, temporary};
use crate::python::DTYPES;
use openwork::io::{self, Format, ReadOptions, WriteOptions, anndata, numpy, pydata, scipy};
use openwork::{DType, ErrorKind, Layout, Scalar, Tensor, c128};
use serde_json::Value;

/// Some elements of both signs.
fn sample(shape: &[usize], dtype: DType, layout: Layout) -> Tensor {
    let x = Tensor::random(shape, 0.4, 0.0, Layout::Coo, 3).unwrap();
    let x = ((x * 90.0).unwrap() + 20.0).unwrap().cast(dtype).unwrap().replace_fill(Scalar::zero(dtype)).unwrap();
    assert!(x.nse() > 0);
    x.to_layout(layout).unwrap()
}

fn by_columns(x: &Tensor) -> Tensor {
    x.permute_dims([1, 0]).unwrap().to_contiguous().unwrap().permute_dims([1, 0]).unwrap()
}

fn named(path: &Path, name: &str) -> io::Loaded {
    let options = ReadOptions { name: (!name.is_empty()).then_some(name), ..Default::default() };
    io::read_with(path, &options).unwrap_or_else(|error| panic!("{} {name}: {error}", path.display()))
}

#[track_caller]
fn same(x: &Tensor, y: &Tensor, what: &str) {
    assert_eq!((x.shape(), x.dtype(), x.nse()), (y.shape(), y.dtype(), y.nse()), "{what}");
    assert!(x.to_dense().unwrap().equal(&y.to_dense().unwrap()).unwrap(), "{what}: {x} {y}");
    assert_eq!(x.fill().map(ToString::to_string), y.fill().map(ToString::to_string), "{what}");
}

/// All that SciPy has a form for, by its name.
fn scipy_arrays(dtype: DType) -> Vec<(&'static str, Tensor)> {
    vec![
        ("csr", sample(&[6, 8], dtype, Layout::Csr)),
        ("csc", sample(&[6, 8], dtype, Layout::Csc)),
        ("bsr", sample(&[6, 8], dtype, Layout::Bsr { block: [2, 4] })),
        ("coo", sample(&[6, 8], dtype, Layout::Coo)),
        ("coo", sample(&[8, 6], dtype, Layout::Coo).permute_dims([1, 0]).unwrap()),
        ("coo", sample(&[9], dtype, Layout::Coo)),
        ("coo", sample(&[3, 4, 5], dtype, Layout::Coo)),
        ("csr", Tensor::zeros([4, 0], dtype, Layout::Csr).unwrap()),
    ]
}

/// All that pydata/sparse has a form for.
fn pydata_arrays(dtype: DType) -> Vec<(&'static str, Tensor)> {
    let plain = [
        ("gcxs", sample(&[6, 8], dtype, Layout::Csr)),
        ("gcxs", sample(&[6, 8], dtype, Layout::Csc)),
        ("coo", sample(&[6, 8], dtype, Layout::Coo)),
        ("coo", sample(&[9], dtype, Layout::Coo)),
        ("coo", sample(&[3, 4, 5], dtype, Layout::Coo)),
    ];
    let filled = plain.iter().map(|(form, x)| (*form, x.replace_fill(Scalar::one(dtype)).unwrap()));
    let filled: Vec<_> = filled.collect();
    plain.into_iter().chain(filled).collect()
}

fn numpy_arrays(dtype: DType) -> Vec<(&'static str, Tensor)> {
    let x = sample(&[6, 8], dtype, Layout::Strided);
    vec![
        ("F", by_columns(&x)),
        ("C", x.narrow(2..5, 1).unwrap()),
        ("C", x),
        ("C", sample(&[9], dtype, Layout::Strided)),
        ("C", sample(&[3, 4, 5], dtype, Layout::Strided)),
        ("C", Tensor::ones([0_usize; 0], dtype, Layout::Strided).unwrap()),
        ("C", Tensor::zeros([3, 0], dtype, Layout::Strided).unwrap()),
    ]
}

fn valid(path: &Path) {
    let mut wrong = Vec::new();
    io::validate(path, &ReadOptions::default(), &mut |violation| wrong.push(violation)).unwrap();
    assert!(wrong.is_empty(), "{}: {wrong:?}", path.display());
}

#[test]
fn what_others_have_comes_back() {
    let folder = temporary("others-back");
    let path = folder.join("x.npz");
    for dtype in DTYPES {
        for compress in [false, true] {
            let options = WriteOptions { compress, ..Default::default() };
            for (form, x) in scipy_arrays(dtype) {
                scipy::write_with(&path, &x, &options).unwrap();
                let (back, info) = (named(&path, ""), &io::info(&path).unwrap()[0]);
                assert_eq!(
                    (back.format, info.format, &*info.stored_as),
                    (Format::ScipyNpz, Format::ScipyNpz, &*format!("SciPy {form}"))
                );
                same(&x.coalesce().unwrap(), &back.tensor.coalesce().unwrap(), form);
                valid(&path);
            }
            for (form, x) in pydata_arrays(dtype) {
                pydata::write_with(&path, &x, &options).unwrap();
                let back = named(&path, "");
                assert_eq!((back.format, back.tensor.layout()), (Format::PydataNpz, x.layout()));
                same(&x, &back.tensor, form);
                valid(&path);
            }
        }
        for (order, x) in numpy_arrays(dtype) {
            let path = folder.join("x.npy");
            numpy::write(&path, &x).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), numpy::to_bytes(&x, &Default::default()).unwrap());
            let (back, info) = (named(&path, ""), &io::info(&path).unwrap()[0]);
            assert_eq!((back.format, info.format, &*info.stored_as), (Format::Npy, Format::Npy, "NumPy array"));
            same(&x, &back.tensor, "npy");
            valid(&path);
            if order == "C" && x.ndim() == 2 && x.nse() > 0 {
                let rows = io::binsparse::read_rows(&path, 1..3, &Default::default()).unwrap().tensor;
                assert!(rows.equal(&x.narrow(1..3, 0).unwrap()).unwrap());
            }
        }
    }
    // Half precision where there are words for it.
    let half = sample(&[6, 8], DType::F16, Layout::Strided);
    numpy::write(&path, &half).unwrap();
    same(&half, &named(&path, "").tensor, "float16");
    let half = half.to_sparse(Layout::Coo, Scalar::zero(DType::F16)).unwrap();
    pydata::write(&path, &half).unwrap();
    same(&half, &named(&path, "").tensor, "float16");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn arrays_by_name() {
    let folder = temporary("others-named");
    let path = folder.join("many.npz");
    let (weight, bias) =
        (by_columns(&sample(&[6, 5], DType::F32, Layout::Strided)), sample(&[5], DType::I64, Layout::Strided));
    for level in [None, Some(9)] {
        let options = WriteOptions { compress: level.is_some(), level, ..Default::default() };
        numpy::write_all(&path, &[("layer/weight", &weight), ("layer/bias", &bias)], &options).unwrap();
        let names: Vec<String> = io::info(&path).unwrap().into_iter().map(|info| info.name).collect();
        assert_eq!(names, ["layer/weight", "layer/bias"]);
        same(&weight, &named(&path, "layer/weight").tensor, "weight");
        same(&bias, &named(&path, "layer/bias").tensor, "bias");
        valid(&path);
        let told = io::read(&path).unwrap_err().to_string();
        assert!(told.contains("2 arrays") && told.contains("\"layer/weight\", \"layer/bias\""), "{told}");
        let told =
            io::read_with(&path, &ReadOptions { name: Some("x"), ..Default::default() }).unwrap_err().to_string();
        assert!(told.contains("there is no array \"x\""), "{told}");
    }
    numpy::write_all(&path, &[("only", &bias)], &Default::default()).unwrap();
    assert_eq!(named(&path, "").format, Format::NumpyNpz);
    same(&bias, &named(&path, "").tensor, "only");
    for names in [["", "a"], ["a", "a"], ["a\0", "b"]] {
        let error = numpy::write_all(&path, &[(names[0], &bias), (names[1], &bias)], &Default::default()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Invalid { .. }), "{error}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_others_have_no_words_for_is_refused_by_name() {
    let folder = temporary("others-refused");
    let path = folder.join("x.npz");
    let csr = sample(&[6, 8], DType::F64, Layout::Csr);
    let array = (&csr + Tensor::from_vec([1, 8], vec![1.0; 8]).unwrap()).unwrap();
    let array = (&array * Tensor::from_vec([1, 8], (0..8).map(f64::from).collect()).unwrap()).unwrap();
    let twice = Tensor::coo([3], vec![vec![1_u64, 1]], &Tensor::from_vec([2], vec![1.0, 2.0]).unwrap(), 0.0).unwrap();
    type Write = fn(&Path, &Tensor) -> openwork::Result<()>;
    let writers: [(&str, Write); 4] = [
        ("SciPy", |path, x| scipy::write(path, x)),
        ("pydata/sparse", |path, x| pydata::write(path, x)),
        ("a NumPy array", |path, x| numpy::write(path, x)),
        ("AnnData", |path, x| anndata::write(path, x)),
    ];
    let cases = [
        (csr.cast(DType::BF16).unwrap(), "the dtype bfloat16", [true, true, false, true]),
        (csr.cast(DType::BF16).unwrap().to_dense().unwrap(), "the dtype bfloat16", [true, true, true, true]),
        (csr.cast(DType::F16).unwrap(), "the dtype float16", [true, false, false, true]),
        (csr.cast(DType::Complex64).unwrap(), "the dtype complex64", [false, false, false, true]),
        (csr.replace_fill(2.5).unwrap(), "the fill 2.5", [true, false, false, true]),
        (csr.replace_fill(-0.0).unwrap(), "the fill -0", [true, false, false, true]),
        (csr.stored(), "the undefined fill", [true, true, false, true]),
        (array, "a fill that is an array", [true, true, false, true]),
        (csr.to_layout(Layout::Dcsr).unwrap(), "the layout dcsr", [true, true, false, true]),
        (csr.to_layout(Layout::Coo).unwrap(), "the layout coo", [false, false, false, true]),
        (csr.to_dense().unwrap(), "the layout strided", [true, true, false, false]),
        (sample(&[2, 3, 4], DType::F64, Layout::Csf), "the layout csf", [true, true, false, true]),
        (twice, "repeated or unordered", [false, true, false, false]),
        (csr, "not strided", [false, false, true, false]),
    ];
    for (x, why, refusing) in cases {
        for ((who, write), _) in writers.iter().zip(refusing).filter(|(_, refuses)| *refuses) {
            let told = write(&path, &x).unwrap_err();
            assert!(matches!(told.kind(), ErrorKind::Layout { .. }), "{told}");
            assert!(
                told.to_string().contains(&format!("{who} cannot hold")) && told.to_string().contains(why),
                "{told}"
            );
            assert!(!path.exists());
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn annotated_matrices() {
    let folder = temporary("others-anndata");
    let path = folder.join("x.h5ad");
    let (x, counts) = (sample(&[300, 200], DType::F32, Layout::Csr), sample(&[300, 200], DType::I32, Layout::Csc));
    let near = sample(&[300, 300], DType::Bool, Layout::Csr);
    let matrices = [("X", &x), ("layers/counts", &counts), ("obsp/near", &near)];
    for compress in [false, true] {
        let options = WriteOptions { compress, ..Default::default() };
        anndata::write_all(&path, &matrices, &options).unwrap();
        let infos = io::info(&path).unwrap();
        let names: Vec<&str> = infos.iter().map(|info| &*info.name).collect();
        assert_eq!(names, ["X", "layers/counts", "obsp/near"]);
        assert!(infos.iter().all(|info| info.format == Format::AnnData && info.stored_as.starts_with("AnnData cs")));
        for (name, matrix) in matrices {
            let back = named(&path, name);
            assert_eq!((back.format, back.tensor.layout()), (Format::AnnData, matrix.layout()));
            same(matrix, &back.tensor, name);
        }
        valid(&path);
    }
    let options = WriteOptions::default();
    io::write_with(&path, &x, &options).unwrap();
    same(&x, &named(&path, "").tensor, "X alone");
    let mut bytes = Vec::new();
    io::write_to(&mut bytes, Format::AnnData, &x, &options).unwrap();
    same(&x, &io::read_from(&bytes[..], &ReadOptions::default()).unwrap().tensor, "a stream");
    let refused = |matrices: &[(&str, &Tensor)], options: &WriteOptions<'_>, why: &str| {
        let error = anndata::write_all(&path, matrices, options).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Invalid { .. }) && error.to_string().contains(why), "{error}");
    };
    let plain = WriteOptions::default();
    for name in ["", "Y", "layers", "layers/", "layers/a/b", "obs/a", "layers/..", "uns/a"] {
        refused(&[(name, &x)], &plain, "is no place for a matrix");
    }
    refused(&[("X", &x), ("X", &x)], &plain, "given twice");
    refused(&[("X", &x), ("layers/a", &near)], &plain, "300 variables along axis 1, and X has 200");
    refused(&[("varp/a", &near), ("X", &x)], &plain, "200 variables along axis 1, and varp/a has 300");
    let names = ["a".to_owned()];
    let named = WriteOptions { obs_names: Some(&names), ..Default::default() };
    refused(&[("X", &x)], &named, "300 observations along axis 0, and options.obs_names has 1");
    refused(&[("X", &x)], &WriteOptions { level: Some(10), ..plain }, "0 to 9 are allowed");
    // Names are not made for what is only claimed.
    let far = Tensor::zeros([1, 1 << 40], DType::F32, Layout::Csr).unwrap();
    let told = anndata::write(&path, &far).unwrap_err();
    assert!(matches!(told.kind(), ErrorKind::Layout { .. }) && told.to_string().contains("are the most"), "{told}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The elements that a line says, as complex numbers.
fn elements(said: &Value) -> Vec<c128> {
    let number = |text: &Value| text.as_str().unwrap().parse::<f64>().unwrap();
    said["elements"].as_array().unwrap().iter().map(|pair| c128::new(number(&pair[0]), number(&pair[1]))).collect()
}

#[test]
fn the_libraries_open_what_is_written() {
    let folder = temporary("others-opened");
    let mut written: BTreeMap<String, (String, Tensor)> = BTreeMap::new();
    for dtype in DTYPES {
        for (i, (form, x)) in scipy_arrays(dtype).into_iter().enumerate() {
            let name = format!("scipy-{i}-{dtype}");
            let options = WriteOptions { format: Some(Format::ScipyNpz), compress: i % 2 == 0, ..Default::default() };
            io::write_with(folder.join(format!("{name}.npz")), &x, &options).unwrap();
            written.insert(name, (form.to_owned(), x));
        }
        for (i, (form, x)) in pydata_arrays(dtype).into_iter().enumerate() {
            let name = format!("pydata-{i}-{dtype}");
            let options = WriteOptions { format: Some(Format::PydataNpz), compress: i % 2 == 0, ..Default::default() };
            io::write_with(folder.join(format!("{name}.npz")), &x, &options).unwrap();
            written.insert(name, (form.to_owned(), x));
        }
        for (i, (form, x)) in numpy_arrays(dtype).into_iter().enumerate() {
            let name = format!("numpy-{i}-{dtype}");
            io::write(folder.join(format!("{name}.npy")), &x).unwrap();
            written.insert(name, (form.to_owned(), x));
        }
    }
    let (weight, bias) = (sample(&[6, 5], DType::F32, Layout::Strided), sample(&[5], DType::F16, Layout::Strided));
    let packed = WriteOptions { compress: true, ..Default::default() };
    numpy::write_all(folder.join("numpy-many.npz"), &[("weight", &weight), ("bias", &bias)], &packed).unwrap();
    written.insert("numpy-many:weight".to_owned(), ("C".to_owned(), weight));
    written.insert("numpy-many:bias".to_owned(), ("C".to_owned(), bias));
    let kept = [DType::Bool, DType::I8, DType::U16, DType::I64, DType::F32, DType::F64];
    for dtype in kept {
        let (x, counts) = (sample(&[6, 8], dtype, Layout::Csr), sample(&[6, 8], dtype, Layout::Csc));
        let (near, load) = (sample(&[8, 8], dtype, Layout::Csr), sample(&[6, 3], dtype, Layout::Csr));
        let dense = [sample(&[6, 8], dtype, Layout::Strided), by_columns(&sample(&[8, 3], dtype, Layout::Strided))];
        let matrices = [
            ("X", &x),
            ("layers/counts", &counts),
            ("varp/near", &near),
            ("obsm/load", &load),
            ("layers/all", &dense[0]),
            ("varm/all", &dense[1]),
        ];
        let names = ["a", "b", "Größe", "d", "e", "f"].map(str::to_owned);
        let options = WriteOptions { obs_names: Some(&names), compress: dtype == DType::F64, ..Default::default() };
        for container in ["h5ad", "zarr", "zarr.zip"] {
            let file = format!("anndata-{dtype}.{container}");
            anndata::write_all(folder.join(&file), &matrices, &options).unwrap();
            valid(&folder.join(&file));
            for (name, matrix) in matrices {
                let form = match matrix.layout() {
                    Layout::Csr => "csr",
                    Layout::Csc => "csc",
                    _ => "dense",
                };
                same(matrix, &named(&folder.join(&file), name).tensor, name);
                written.insert(format!("{file}:{name}"), (form.to_owned(), matrix.clone()));
            }
        }
    }
    let arguments = ["read", folder.to_str().unwrap()];
    let Some(told) = python("the_libraries_open_what_is_written", "others.py", &arguments) else { return };
    let (mut seen, mut tables) = (0, 0);
    for line in told.lines() {
        let said: Value = serde_json::from_str(line).unwrap();
        let file = said["file"].as_str().unwrap();
        if said["obs"].is_array() {
            assert_eq!(said["obs"], serde_json::json!(["a", "b", "Größe", "d", "e", "f"]));
            assert_eq!(said["var"], serde_json::json!(["0", "1", "2", "3", "4", "5", "6", "7"]));
            tables += 1;
            continue;
        }
        let (form, x) = &written[file];
        assert_eq!(said["kind"], **form, "{file}");
        assert_eq!(said["dtype"], x.dtype().name(), "{file}");
        assert_eq!(said["shape"], serde_json::json!(x.shape()), "{file}");
        let all = x.to_dense().unwrap().cast(DType::Complex128).unwrap().to_contiguous().unwrap();
        assert_eq!(elements(&said), all.values::<c128>().unwrap(), "{file}");
        seen += 1;
    }
    assert_eq!((seen, tables), (written.len(), 3 * kept.len()));
    // What AnnData makes of it is read again.
    for dtype in kept {
        for (container, again) in [("h5ad", "h5ad"), ("zarr", "zarr"), ("zarr.zip", "zarr.zip.zarr")] {
            let path = folder.join(format!("again-anndata-{dtype}.{again}"));
            for name in ["X", "varp/near", "layers/all"] {
                let file = format!("anndata-{dtype}.{container}");
                same(&written[&format!("{file}:{name}")].1, &named(&path, name).tensor, name);
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_the_libraries_write_is_read() {
    let folder = temporary("others-written");
    let arguments = ["write", folder.to_str().unwrap()];
    if python("what_the_libraries_write_is_read", "others.py", &arguments).is_none() {
        return;
    }
    let check = |x: &Tensor, twin: &str| {
        let wanted = io::read(folder.join(format!("{twin}.dense.npy"))).unwrap();
        let all = x.to_dense().unwrap().cast(DType::Complex128).unwrap();
        assert!(all.equal(&wanted).unwrap(), "{twin}: {all} {wanted}");
    };
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let family = stem.split('-').next().unwrap();
        if stem.ends_with(".dense") || !["scipy", "pydata", "numpy"].contains(&family) {
            continue;
        }
        let x = io::read(&path).unwrap_or_else(|error| panic!("{stem}: {error}"));
        assert!(stem.contains(x.dtype().name()), "{stem}");
        if family == "pydata" {
            assert_eq!(x.fill().map(ToString::to_string), Some(Scalar::one(x.dtype()).to_string()), "{stem}");
        }
        check(&x, &stem);
        valid(&path);
        seen += 1;
    }
    assert_eq!(seen, 5 * (3 + 5 + 4 * 2 * 2));
    for file in ["many", "packed"] {
        let path = folder.join(format!("{file}.npz"));
        // An array of texts is no tensor, and no obstacle.
        assert_eq!(io::info(&path).unwrap().len(), 2);
        for name in ["weight", "bias"] {
            check(&named(&path, name).tensor, &format!("many.{name}"));
        }
    }
    let options = ReadOptions { name: Some("labels"), ..Default::default() };
    let told = io::read_with(folder.join("many.npz"), &options).unwrap_err().to_string();
    assert!(told.contains("text of 4 bytes, which tensors do not have"), "{told}");
    let told = io::read(folder.join("objects.npy")).unwrap_err().to_string();
    assert!(told.contains("Python objects"), "{told}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn damaged_arrays_are_errors() {
    let folder = temporary("others-damaged");
    let path = folder.join("x.npy");
    let whole = numpy::to_bytes(&sample(&[6, 8], DType::F32, Layout::Strided), &Default::default()).unwrap();
    for len in 0..whole.len() {
        std::fs::write(&path, &whole[..len]).unwrap();
        assert!(io::read(&path).is_err(), "{len}");
    }
    std::fs::write(&path, [&whole[..], &[0]].concat()).unwrap();
    assert!(
        io::read(&path)
            .unwrap_err()
            .to_string()
            .contains("takes 320 bytes for the shape [6, 8] of elements of 4 bytes, and has 321")
    );
    let text = String::from_utf8_lossy(&whole[..128]).into_owned();
    for shape in ["(99999999999, 8)", "(18446744073709551615, 18446744073709551615)"] {
        let header = text.replace("(6, 8)", shape).trim_end().to_owned();
        let mut bytes = whole.clone();
        let fields = &header.as_bytes()[header.find('{').unwrap()..];
        bytes[10..10 + fields.len().min(118)].copy_from_slice(&fields[..fields.len().min(118)]);
        std::fs::write(&path, bytes).unwrap();
        assert!(io::read(&path).is_err(), "{shape}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
