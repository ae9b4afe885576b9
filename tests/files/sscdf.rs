//! Files of sscdf 1.0: every format written, read here and by netCDF4, refused where sscdf has no words.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::{ncdump, python, temporary};
use openwork::io::sscdf::{self, Object};
use openwork::io::{self, Format, ReadOptions, WriteOptions};
use openwork::{DType, ErrorKind, Layout, Scalar, Tensor};
use serde_json::{Value, json};

/// Some elements, one of them a stored 0.
fn sample(shape: &[usize], dtype: DType, layout: Layout) -> Tensor {
    let x = Tensor::random(shape, 0.4, 0.0, Layout::Coo, 3).unwrap();
    let x = ((x * 90.0).unwrap() - 20.0).unwrap().cast(dtype).unwrap().replace_fill(Scalar::zero(dtype)).unwrap();
    assert!(x.nse() > 0);
    x.to_layout(layout).unwrap()
}

fn read(path: &Path, name: &str) -> Tensor {
    let options = ReadOptions { name: (!name.is_empty()).then_some(name), ..Default::default() };
    let loaded = io::read_with(path, &options).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!((loaded.format, &loaded.warnings[..]), (Format::Sscdf, &[][..]));
    loaded.tensor
}

#[track_caller]
fn same(x: &Tensor, y: &Tensor, what: &str) {
    assert_eq!((x.shape(), x.dtype(), x.nse()), (y.shape(), y.dtype(), y.nse()), "{what}");
    let all = |x: &Tensor| (x.to_dense().unwrap(), x.is_stored().unwrap().to_dense().unwrap());
    let ((x, stored), (y, written)) = (all(x), all(y));
    assert!(x.equal(&y).unwrap() && stored.equal(&written).unwrap(), "{what}: {x} {y}");
}

/// Every format, by the name that it has in the file.
fn every(dtype: DType) -> Vec<(&'static str, Tensor, WriteOptions<'static>)> {
    let (plain, bitmap) = (WriteOptions::default(), WriteOptions { bitmap: true, ..Default::default() });
    let of = |layout| sample(&[6, 5], dtype, layout);
    let by_columns =
        of(Layout::Strided).permute_dims([1, 0]).unwrap().to_contiguous().unwrap().permute_dims([1, 0]).unwrap();
    let vector = |layout| sample(&[9], dtype, layout);
    let one = |places: Vec<Vec<u64>>, n: usize| {
        let values = Tensor::ones([n], dtype, Layout::Strided).unwrap();
        Tensor::coo([0_usize; 0], places, &values, Scalar::zero(dtype)).unwrap()
    };
    vec![
        ("csr", of(Layout::Csr), plain),
        ("csc", of(Layout::Csc), plain),
        ("hypercsr", of(Layout::Dcsr), plain),
        ("hypercsc", of(Layout::Dcsc), plain),
        ("coor", of(Layout::Coo), plain),
        ("cooc", sample(&[5, 6], dtype, Layout::Coo).permute_dims([1, 0]).unwrap(), plain),
        ("fullr", of(Layout::Strided), plain),
        ("fullc", by_columns, plain),
        ("bitmapr", of(Layout::Csr), bitmap),
        ("bitmapc", of(Layout::Csc), bitmap),
        ("sparse", vector(Layout::Coo), plain),
        ("full", vector(Layout::Strided), plain),
        ("bitmap", vector(Layout::Coo), bitmap),
        ("scalar", Tensor::ones([0_usize; 0], dtype, Layout::Strided).unwrap(), plain),
        ("scalar_empty", one(Vec::new(), 0), plain),
    ]
}

#[test]
fn every_format_is_written_and_read() {
    let folder = temporary("sscdf-formats");
    for dtype in [DType::Bool, DType::I8, DType::U16, DType::I64, DType::U64, DType::F32, DType::F64] {
        for (format, x, options) in every(dtype) {
            let path = folder.join(format!("{format}-{dtype}.sscdf"));
            sscdf::write_all(&path, &[Object::new("", &x)], &options).unwrap();
            let (y, info) = (read(&path, ""), &io::info(&path).unwrap()[0]);
            let what = format!("{format} of {dtype}");
            assert_eq!((info.format, &*info.stored_as), (Format::Sscdf, &*format!("sscdf {format}")));
            assert_eq!((info.dtype, info.layout), (Some(dtype), y.layout()), "{what}");
            if format != "scalar" && format != "scalar_empty" {
                assert_eq!(x.layout(), y.layout(), "{what}");
            }
            same(&x, &y, &what);
            let mut wrong = Vec::new();
            io::validate(&path, &ReadOptions::default(), &mut |violation| wrong.push(violation)).unwrap();
            assert!(wrong.is_empty(), "{what}: {wrong:?}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn one_value_for_all_is_one_variable() {
    let folder = temporary("sscdf-iso");
    for layout in [Layout::Csr, Layout::Csc, Layout::Dcsr, Layout::Coo, Layout::Strided] {
        let x = match layout {
            Layout::Strided => Tensor::full([4, 6], Scalar::I16(7), layout).unwrap(),
            _ => Tensor::eye(5, DType::I16, layout).unwrap(),
        };
        let path = folder.join(format!("{layout}.sscdf"));
        sscdf::write(&path, &x).unwrap();
        let info = &io::info(&path).unwrap()[0];
        let values = info.arrays.iter().find(|array| array.name == "values").unwrap();
        assert_eq!(values.entries, 1, "{layout}");
        same(&x, &read(&path, ""), &layout.to_string());
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn objects_beside_the_primary_one() {
    let folder = temporary("sscdf-objects");
    let path = folder.join("graph.sscdf");
    let x = Tensor::random([2000, 300], 0.1, 0.0, Layout::Csr, 1).unwrap();
    let degrees = x.count_nonzero(1).unwrap().to_dense().unwrap();
    let none = Tensor::zeros([0, 3], DType::F32, Layout::Csr).unwrap();
    let objects = [
        Object::new("", &x).comment("Grüße"),
        Object::new("degrees", &degrees).comment("elements of each row"),
        Object::new("none", &none),
    ];
    let packed = WriteOptions { compress: true, level: Some(9), ..Default::default() };
    for options in [WriteOptions::default(), packed] {
        sscdf::write_all(&path, &objects, &options).unwrap();
        let names: Vec<String> = io::info(&path).unwrap().into_iter().map(|info| info.name).collect();
        assert_eq!(names, ["", "degrees", "none"]);
        for object in &objects {
            same(object.tensor, &read(&path, object.name), object.name);
        }
        let said = io::read_with(&path, &ReadOptions::default()).unwrap().metadata;
        assert_eq!(Value::Object(said), json!({ "comment": "Grüße" }));
        let rows = io::binsparse::read_rows(&path, 10..30, &Default::default()).unwrap().tensor;
        assert!(rows.equal(&x.narrow(10..30, 0).unwrap()).unwrap());
    }
    let refused = |objects: &[Object<'_>], options: &WriteOptions<'_>| {
        let error = sscdf::write_all(&path, objects, options).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Invalid { .. }), "{error}");
        error.to_string()
    };
    let plain = WriteOptions::default();
    let primary = Object::new("", &x);
    assert!(refused(&[], &plain).contains("a file has a primary object"));
    assert!(refused(&[Object::new("x", &x)], &plain).contains("the primary one, has no name"));
    assert!(refused(&[primary.clone(), primary.clone()], &plain).contains("only the first object"));
    for name in ["a/b", "..", ".", "a\0"] {
        assert!(refused(&[primary.clone(), Object::new(name, &x)], &plain).contains("do not lie in one another"));
    }
    for name in ["values", "indptr", "nrows"] {
        assert!(refused(&[primary.clone(), Object::new(name, &x)], &plain).contains("is that of an array"), "{name}");
    }
    assert!(refused(&[primary], &WriteOptions { level: Some(10), ..plain }).contains("0 to 9 are allowed"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_it_has_no_words_for_is_refused_by_name() {
    let folder = temporary("sscdf-refused");
    let path = folder.join("x.sscdf");
    let csr = sample(&[6, 5], DType::F64, Layout::Csr);
    let twice = Tensor::coo([3], vec![vec![1_u64, 1]], &Tensor::from_vec([2], vec![1.0, 2.0]).unwrap(), 0.0).unwrap();
    let cases = [
        (csr.cast(DType::F16).unwrap(), "float16"),
        (csr.cast(DType::BF16).unwrap(), "bfloat16"),
        (csr.cast(DType::Complex64).unwrap(), "complex64"),
        (csr.cast(DType::Complex128).unwrap(), "complex128"),
        (csr.replace_fill(2.5).unwrap(), "the fill 2.5"),
        (csr.replace_fill(-0.0).unwrap(), "the fill -0"),
        (csr.stored(), "the undefined fill"),
        ((&csr + Tensor::from_vec([1, 5], vec![1.0, 2.0, 3.0, 4.0, 5.0]).unwrap()).unwrap(), "a fill that is an array"),
        (sample(&[2, 3, 4], DType::F64, Layout::Csf), "a tensor of 3 axes"),
        (sample(&[6, 4], DType::F64, Layout::Bsr { block: [2, 2] }), "the layout"),
        (twice, "repeated or unordered"),
    ];
    for (x, why) in cases {
        let told = sscdf::write(&path, &x).unwrap_err();
        assert!(matches!(told.kind(), ErrorKind::Layout { .. }), "{told}");
        assert!(told.to_string().contains("sscdf 1.0 cannot hold") && told.to_string().contains(why), "{told}");
        assert!(!path.exists());
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn any_writer_knows_the_ending() {
    let folder = temporary("sscdf-any");
    let path = folder.join("x.sscdf");
    let x = sample(&[6, 5], DType::F32, Layout::Csc);
    let said = json!({ "comment": "by columns" });
    let options = WriteOptions { metadata: said.as_object(), compress: true, ..Default::default() };
    io::write_with(&path, &x, &options).unwrap();
    let loaded = io::read_with(&path, &ReadOptions::default()).unwrap();
    same(&x, &loaded.tensor, "a file");
    assert_eq!(Value::Object(loaded.metadata), said);
    let mut bytes = Vec::new();
    io::write_to(&mut bytes, "sscdf".parse().unwrap(), &x, &Default::default()).unwrap();
    same(&x, &io::read_from(&bytes[..], &ReadOptions::default()).unwrap().tensor, "a stream");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The arrays of the first group in what `ncdump` prints.
fn dumped(text: &str) -> BTreeMap<String, Vec<String>> {
    let data = text.split("\ndata:\n").nth(1).unwrap_or_default().split("\ngroup:").next().unwrap_or_default();
    let statements = data.split(';').filter_map(|statement| statement.split_once(" = "));
    let list = |all: &str| all.split(',').map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()).collect();
    statements.map(|(name, all)| (name.trim().to_owned(), list(all))).collect()
}

#[test]
fn ncdump_opens_what_is_written() {
    let folder = temporary("sscdf-ncdump");
    for dtype in [DType::Bool, DType::I8, DType::U16, DType::I64, DType::U64, DType::F32, DType::F64] {
        for (format, x, options) in every(dtype) {
            let path = folder.join(format!("{format}-{dtype}.sscdf"));
            let object = Object::new("", &x).comment("written by openwork");
            sscdf::write_all(&path, &[object, Object::new("other", &x)], &options).unwrap();
            let arguments = ["-p", "9,17", path.to_str().unwrap()];
            let Some(told) = ncdump("ncdump_opens_what_is_written", &arguments) else { return };
            let what = format!("{format} of {dtype}: {told}");
            assert!(told.starts_with(&format!("netcdf {format}-{dtype} {{")), "{what}");
            for said in ["version = \"1.0\"", &format!("format = \"{format}\""), "comment = \"written by openwork\""] {
                assert!(told.contains(said), "{what}");
            }
            assert!(told.contains("group: other {") && !told.contains("UNLIMITED"), "{what}");
            let arrays = dumped(&told);
            if format.starts_with("bitmap") {
                let bits = x.is_stored().unwrap().to_dense().unwrap().permute_dims(axes(&x, format)).unwrap();
                let bits = bits.to_contiguous().unwrap();
                let bits = bits.values::<bool>().unwrap();
                let wanted: Vec<String> = bits.iter().map(|&bit| u8::from(bit).to_string()).collect();
                assert_eq!(arrays["bitmap"], wanted, "{what}");
            } else if format != "scalar_empty" {
                let values = x.stored_values().permute_dims(axes(&x.stored_values(), format)).unwrap();
                let values = values.to_contiguous().unwrap().cast(DType::F64).unwrap();
                let name = if format == "scalar" { "value" } else { "values" };
                let found: Vec<f64> = arrays[name].iter().map(|number| number.parse().unwrap()).collect();
                let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-8 * b.abs();
                assert_eq!(found.len(), values.nse(), "{what}");
                assert!(found.iter().zip(values.values::<f64>().unwrap()).all(near), "{what}");
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The axes in the order in which a format has them, the slowest first.
fn axes(x: &Tensor, format: &str) -> Vec<usize> {
    if format == "fullc" || format == "bitmapc" { vec![1, 0] } else { (0..x.ndim()).collect() }
}

/// What python-graphblas reads: Matrix Market, what SciPy and pydata/sparse load, and the arrays of sscdf, which are those that
/// SuiteSparse:GraphBLAS imports.
#[test]
fn graphblas_reads_what_is_written() {
    let folder = temporary("sscdf-graphblas");
    let mut written = BTreeMap::new();
    for dtype in [DType::Bool, DType::I8, DType::U16, DType::I64, DType::F32, DType::F64] {
        for (format, x, options) in every(dtype) {
            let name = format!("{format}-{dtype}.sscdf");
            sscdf::write_all(folder.join(&name), &[Object::new("", &x)], &options).unwrap();
            written.insert(name, x);
        }
        for (layout, to) in [
            (Layout::Csr, Format::ScipyNpz),
            (Layout::Csc, Format::ScipyNpz),
            (Layout::Coo, Format::ScipyNpz),
            (Layout::Coo, Format::PydataNpz),
        ] {
            let x = sample(&[6, 5], dtype, layout);
            let name = format!("{}-{layout}-{dtype}.npz", if to == Format::PydataNpz { "pydata" } else { "scipy" });
            let options = WriteOptions { format: Some(to), ..Default::default() };
            io::write_with(folder.join(&name), &x, &options).unwrap();
            written.insert(name, x);
        }
        for ending in ["mtx", "mtx.gz"] {
            let x = sample(&[6, 5], dtype, Layout::Csr);
            io::write(folder.join(format!("{dtype}.{ending}")), &x).unwrap();
            written.insert(format!("{dtype}.{ending}"), x);
        }
    }
    let arguments = [folder.to_str().unwrap()];
    let Some(told) = python("graphblas_reads_what_is_written", "graphblas_reads.py", &arguments) else { return };
    if let Some(why) = told.strip_prefix("none ") {
        eprintln!("left out, for python-graphblas is not installed: {why}");
        return;
    }
    let mut seen = 0;
    for line in told.lines() {
        let said: Value = serde_json::from_str(line).unwrap();
        let file = said["file"].as_str().unwrap();
        let x = &written[file];
        assert_eq!(said["shape"], json!(x.shape()), "{file}");
        let number = |value: &Value| value.as_f64().or_else(|| value.as_bool().map(|bit| f64::from(u8::from(bit))));
        let mut found: Vec<(String, f64)> = Vec::new();
        for pair in said["elements"].as_array().unwrap() {
            found.push((pair[0].to_string(), number(&pair[1]).unwrap()));
        }
        let mut wanted: Vec<(String, f64)> = Vec::new();
        for (index, value) in x.iter_stored() {
            let value = Tensor::scalar(value).cast(DType::F64).unwrap().values::<f64>().unwrap()[0];
            wanted.push((json!(index).to_string(), value));
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        wanted.sort_by(|a, b| a.0.cmp(&b.0));
        // Text is read as doubles, of which these are the nearest floats.
        let near = |(a, b): (&(String, f64), &(String, f64))| {
            a.0 == b.0 && if x.dtype() == DType::F32 { a.1 as f32 == b.1 as f32 } else { a.1 == b.1 }
        };
        assert!(found.len() == wanted.len() && found.iter().zip(&wanted).all(near), "{file}: {found:?} {wanted:?}");
        seen += 1;
    }
    assert_eq!(seen, 6 * (15 + 4 + 2));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn netcdf_reads_what_is_written() {
    let folder = temporary("sscdf-netcdf");
    let mut written = BTreeMap::new();
    for dtype in [DType::Bool, DType::I8, DType::U16, DType::I64, DType::U64, DType::F32, DType::F64] {
        for (format, x, options) in every(dtype) {
            let file = format!("{format}-{dtype}");
            let object = Object::new("", &x).comment("written by openwork");
            let other = Object::new("secondary", &x);
            sscdf::write_all(folder.join(format!("{file}.sscdf")), &[object, other], &options).unwrap();
            written.insert(file, x);
        }
    }
    let x = Tensor::eye(5, DType::I32, Layout::Csr).unwrap();
    sscdf::write(folder.join("csr-iso.sscdf"), &x).unwrap();
    written.insert("csr-iso".to_owned(), x);
    let x = Tensor::zeros([4, 0], DType::F64, Layout::Csr).unwrap();
    sscdf::write(folder.join("csr-none.sscdf"), &x).unwrap();
    written.insert("csr-none".to_owned(), x);
    let Some(told) = python("netcdf_reads_what_is_written", "sscdf.py", &[folder.to_str().unwrap()]) else { return };
    let mut seen = 0;
    for line in told.lines() {
        let said: Value = serde_json::from_str(line).unwrap();
        let file = said["file"].as_str().unwrap();
        let x = &written[file];
        assert_eq!(said["format"].as_str(), file.split('-').next(), "{file}");
        assert_eq!(said["shape"], json!(x.shape()), "{file}");
        let primary = said["name"] == "";
        let comment = if file.starts_with("csr-iso") || file.starts_with("csr-none") || !primary {
            Value::Null
        } else {
            json!("written by openwork")
        };
        assert_eq!(said["comment"], comment, "{file}");
        let elements = if x.is_strided() { x.to_sparse(Layout::Coo, Scalar::zero(x.dtype())) } else { Ok(x.clone()) };
        let mut wanted: Vec<Value> = elements
            .unwrap()
            .iter_stored()
            .map(|(index, value)| match value {
                Scalar::Bool(value) => json!([index, u8::from(value)]),
                value => json!([index, crate::spelled(value)]),
            })
            .collect();
        let mut found = said["elements"].as_array().unwrap().clone();
        if x.is_strided() {
            // What is not 0, as the list above has it.
            found.retain(|pair| pair[1].as_f64() != Some(0.0));
            wanted.retain(|pair| pair[1].as_f64() != Some(0.0));
        }
        let order = |pair: &Value| pair[0].to_string();
        wanted.sort_by_key(order);
        found.sort_by_key(order);
        assert_eq!(found, wanted, "{file}");
        if file == "csr-iso" {
            assert_eq!(said["variables"]["values"], json!([]));
        }
        seen += 1;
    }
    assert_eq!(seen, 7 * 15 * 2 + 2);
    std::fs::remove_dir_all(&folder).unwrap();
}
