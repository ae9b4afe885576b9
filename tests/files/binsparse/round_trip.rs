//! What is written reads back the same; what cannot be written is refused before a file exists.

use std::path::PathBuf;

use openwork::io::binsparse::{self, Version};
use openwork::io::{ReadOptions, WriteOptions};
use openwork::{DType, Fill, Layout, LevelData, LevelKind, LevelSpec, Part, Scalar, Tensor};

/// A path that no other test uses.
fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("openwork-binsparse-{}-{name}.npz", std::process::id()))
}

fn layouts() -> Vec<Layout> {
    let block = [2, 3];
    vec![
        Layout::Strided,
        Layout::Coo,
        Layout::HybridCoo { dense_dims: 1 },
        Layout::Csr,
        Layout::Csc,
        Layout::Dcsr,
        Layout::Dcsc,
        Layout::Csf,
        Layout::Bsr { block },
        Layout::Bsc { block },
    ]
}

fn fills(dtype: DType, shape: &[usize]) -> Vec<Fill> {
    let row = Tensor::from_vec([shape[shape.len() - 1]], (0..shape[shape.len() - 1] as i8).collect()).unwrap();
    vec![
        Fill::Scalar(Scalar::zero(dtype)),
        Fill::Scalar(Scalar::one(dtype)),
        Fill::array(row.cast(dtype).unwrap()),
        Fill::Undefined,
    ]
}

/// The same storage: what the debug form shows, fill and values bit for bit.
pub fn assert_same(a: &Tensor, b: &Tensor) {
    assert_eq!((a.shape(), a.dtype(), a.layout(), a.nse()), (b.shape(), b.dtype(), b.layout(), b.nse()));
    assert_eq!(a.level_spec(), b.level_spec());
    let cells = |x: &Tensor| x.iter_stored().collect::<Vec<_>>();
    for (x, y) in cells(a).iter().zip(&cells(b)) {
        assert!(x.0 == y.0 && x.1.same(y.1), "{x:?} {y:?}");
    }
    match (a.fill(), b.fill()) {
        (Some(Fill::Scalar(x)), Some(Fill::Scalar(y))) => assert!(x.same(*y)),
        (Some(Fill::Array(x)), Some(Fill::Array(y))) => assert_same(x, y),
        (Some(Fill::Undefined), Some(Fill::Undefined)) | (None, None) => {}
        (x, y) => panic!("{x:?} {y:?}"),
    }
}

fn there_and_back(x: &Tensor, options: &WriteOptions<'_>, name: &str) -> binsparse::Loaded {
    let path = path(name);
    binsparse::write_with(&path, x, options).unwrap();
    let reading = binsparse::read_with(&path, &ReadOptions::default()).unwrap();
    assert_eq!(binsparse::info(&path).unwrap(), reading.descriptor);
    std::fs::remove_file(&path).unwrap();
    assert!(reading.warnings.is_empty());
    assert_same(x, &reading.tensor);
    reading
}

#[test]
fn every_layout_fill_and_dtype() {
    let (mut standard, mut extended) = (0, 0);
    for shape in [&[4usize, 6][..], &[2, 4, 6], &[0, 6], &[2, 3]] {
        let size: usize = shape.iter().product();
        for dtype in DType::ALL {
            let numbers: Vec<i8> = (0..size).map(|i| if i % 3 == 0 { (i % 100) as i8 } else { 0 }).collect();
            let dense = Tensor::from_vec(shape, numbers).unwrap().cast(dtype).unwrap();
            for layout in layouts() {
                for fill in fills(dtype, shape) {
                    let x = if layout == Layout::Strided {
                        dense.clone()
                    } else {
                        let Ok(x) = dense.to_sparse(layout, Scalar::zero(dtype)) else { continue };
                        x.replace_fill(fill.clone()).unwrap()
                    };
                    let half = matches!(dtype, DType::F16 | DType::BF16);
                    let blocked = matches!(layout, Layout::Bsr { .. } | Layout::Bsc { .. });
                    // A checked array fill without elements, or constant, is a scalar.
                    let odd_fill = matches!(x.fill(), Some(Fill::Array(_) | Fill::Undefined));
                    let mut options = WriteOptions::default();
                    if half || blocked || odd_fill {
                        let path = path("refused");
                        let error = binsparse::write_with(&path, &x, &options).unwrap_err().to_string();
                        assert!(!path.exists());
                        assert!(!half || error.contains("float16"), "{error}");
                        assert!(!blocked || error.contains("blocks"), "{error}");
                        assert!(!odd_fill || error.contains("fill"), "{error}");
                        options.extensions = true;
                        extended += 1;
                    } else {
                        standard += 1;
                    }
                    options.compress = size.is_multiple_of(4);
                    let mut files = vec![binsparse::to_bytes(&x, &options).unwrap()];
                    // Every write waits for the disk: of shapes that differ little, one dtype is enough.
                    if shape == [4, 6] || dtype == DType::F32 {
                        let path = path("both").with_extension("h5");
                        // Chunks, even where nothing is packed.
                        let chunk = size.is_multiple_of(3).then_some(5);
                        binsparse::write_with(&path, &x, &WriteOptions { chunk, ..options }).unwrap();
                        files.push(std::fs::read(&path).unwrap());
                        std::fs::remove_file(&path).unwrap();
                    }
                    for bytes in files {
                        let reading = binsparse::read_bytes(&bytes, &ReadOptions::default()).unwrap();
                        assert!(reading.warnings.is_empty());
                        assert_same(&x, &reading.tensor);
                        assert_eq!(reading.descriptor.is_extension(), half || blocked || odd_fill);
                        assert_eq!(reading.descriptor.dtype(), Some(dtype));
                    }
                }
            }
        }
    }
    assert!(standard > 500 && extended > 500, "{standard} {extended}");
}

#[test]
fn predefined_formats_have_their_names() {
    let dense = Tensor::from_vec([2, 3], vec![1.0f32, 0.0, 2.0, 0.0, 3.0, 0.0]).unwrap();
    let vector = Tensor::from_vec([3], vec![1i16, 0, 2]).unwrap();
    let named = |x: &Tensor| there_and_back(x, &WriteOptions::default(), "named").descriptor.format;
    assert_eq!(named(&dense), "DMATR");
    assert_eq!(named(&vector), "DVEC");
    assert_eq!(named(&vector.to_sparse(Layout::Coo, 0i16).unwrap()), "CVEC");
    for (layout, name) in [
        (Layout::Csr, "CSR"),
        (Layout::Csc, "CSC"),
        (Layout::Dcsr, "DCSR"),
        (Layout::Dcsc, "DCSC"),
        (Layout::Coo, "COOR"),
        (Layout::HybridCoo { dense_dims: 1 }, "custom"),
    ] {
        assert_eq!(named(&dense.to_sparse(layout, 0f32).unwrap()), name);
    }
    let columns =
        LevelSpec { levels: vec![LevelKind::Sparse { rank: 2 }], dims: vec![(1, Part::Whole), (0, Part::Whole)] };
    assert_eq!(named(&dense.to_levels(&columns).unwrap()), "COOC");
    assert_eq!(named(&dense.matrix_transpose().unwrap()), "DMATC");
    assert_eq!(named(&Tensor::scalar(2.5)), "custom");
}

#[test]
fn rows_that_store_nothing_are_left_out_of_dcsr() {
    let one = LevelKind::Sparse { rank: 1 };
    let spec = LevelSpec { levels: vec![one, one], dims: vec![(0, Part::Whole), (1, Part::Whole)] };
    let levels = vec![
        LevelData::Sparse { pointers: None, indices: vec![vec![0u32, 1, 2].into()], ordered: true, unique: true },
        LevelData::Sparse {
            pointers: Some(vec![0u32, 1, 1, 2].into()),
            indices: vec![vec![0u32, 2].into()],
            ordered: true,
            unique: true,
        },
    ];
    let values = Tensor::from_vec([2], vec![1.0, 3.0]).unwrap();
    let holes = Tensor::from_parts(&[3, 3], levels, &spec, &values, 0.0).unwrap();
    let bytes = binsparse::to_bytes(&holes, &WriteOptions::default()).unwrap();
    let back = binsparse::read_bytes(&bytes, &ReadOptions::default()).unwrap().tensor;
    assert_eq!((back.layout(), back.to_string()), (Layout::Dcsr, holes.to_string()));
    assert!(back.nbytes() < holes.nbytes());
    assert_eq!(back.get([2, 2]).unwrap(), Some(3.0.into()));
}

#[test]
fn iso_values_stay_iso() {
    let eye = Tensor::eye(5, DType::I32, Layout::Csr).unwrap();
    let reading = there_and_back(&eye, &WriteOptions::default(), "iso");
    assert_eq!(reading.descriptor.data_types["values"].to_string(), "iso[int32]");
    let ones = Tensor::ones([100, 100], DType::Complex64, Layout::Strided).unwrap();
    let reading = there_and_back(&ones, &WriteOptions::default(), "iso2");
    assert_eq!(reading.descriptor.data_types["values"].to_string(), "iso[complex[float32]]");
    assert_eq!(reading.tensor.nbytes(), 8);
}

#[test]
fn unordered_coordinates_need_the_extension() {
    let values = Tensor::from_vec([3], vec![1.0, 2.0, 3.0]).unwrap();
    let x = Tensor::coo([4, 4], vec![vec![2u32, 0, 2], vec![1, 3, 1]], &values, 0.5).unwrap();
    let path = path("unordered");
    let error = binsparse::write(&path, &x).unwrap_err().to_string();
    assert!(error.contains("repeated or unordered") && !path.exists(), "{error}");
    there_and_back(&x, &WriteOptions { extensions: true, ..WriteOptions::default() }, "unordered2");
    let singular = Tensor::coo([], Vec::<Vec<u32>>::new(), &Tensor::from_vec([1], vec![2.0]).unwrap(), 0.5).unwrap();
    assert!(binsparse::write(&path, &singular).unwrap_err().to_string().contains("without axes"));
    there_and_back(&singular, &WriteOptions { extensions: true, ..WriteOptions::default() }, "rank0");
}

#[test]
fn options_are_followed() {
    let x = Tensor::random([300, 200], 0.2, 0.0, Layout::Csr, 3).unwrap();
    let said = serde_json::json!({ "title": "half ½" });
    let options = WriteOptions { version: Some(Version::V0_1), metadata: said.as_object(), ..WriteOptions::default() };
    let reading = there_and_back(&x, &options, "options");
    assert_eq!((reading.descriptor.version.as_str(), Some(&reading.descriptor.metadata)), ("0.1", options.metadata));
    let path = path("limit");
    let eye = Tensor::eye(3000, DType::I64, Layout::Coo).unwrap();
    for (compress, most) in [(false, 60_000), (true, 20_000)] {
        binsparse::write_with(&path, &eye, &WriteOptions { compress, ..WriteOptions::default() }).unwrap();
        assert!(std::fs::metadata(&path).unwrap().len() < most);
    }
    let bounded = |n| binsparse::read_with(&path, &ReadOptions { max_bytes: Some(n), ..ReadOptions::default() });
    let needed = 2 * 3000 * 4 + 8;
    assert!(bounded(needed).is_ok());
    assert!(bounded(needed - 1).unwrap_err().to_string().contains("are allowed"));
    std::fs::remove_file(&path).unwrap();
    let said = serde_json::json!({ "binsparse": 1 });
    let options = WriteOptions { metadata: said.as_object(), ..options };
    assert!(binsparse::write_with(&path, &x, &options).is_err() && !path.exists());
    assert!(binsparse::write(path.with_extension("xyz"), &x).unwrap_err().to_string().contains("names no container"));
}

#[test]
#[allow(unsafe_code)]
fn trusted_reading_reads_the_same() {
    let cases =
        [Layout::Csr, Layout::Csf, Layout::Coo, Layout::Strided].map(|layout| ["npz", "h5"].map(|e| (layout, e)));
    for (layout, ending) in cases.into_iter().flatten() {
        let path = path("trusted").with_extension(ending);
        let x = Tensor::random([40, 30], 0.2, 0.0, layout, 7).unwrap();
        binsparse::write(&path, &x).unwrap();
        // SAFETY: the file was written above, by this process.
        let back = unsafe { binsparse::read_trusted(&path, &ReadOptions::default()) }.unwrap();
        assert_same(&x, &back.tensor);
        assert!(back.tensor.is_coalesced());
        std::fs::remove_file(&path).unwrap();
    }
    let path = path("trusted");
    // Lengths are checked all the same.
    let short = crate::common::npz::Draft::csr().array("values", crate::common::npz::f64s(&[1.0; 3])).bytes();
    std::fs::write(&path, short).unwrap();
    // SAFETY: the index arrays are good ones.
    let error = unsafe { binsparse::read_trusted(&path, &ReadOptions::default()) }.unwrap_err();
    assert!(error.to_string().contains("3 entries, 4 are needed"), "{error}");
    std::fs::remove_file(&path).unwrap();
}
