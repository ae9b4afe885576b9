//! Bundles of parts, and several value arrays over one pattern.

use openwork::io::{ReadOptions, WriteOptions};
use openwork::{Bundle, DType, Fill, Layout, LevelSpec, Tensor};

use super::samples::all_of;

fn names(bundle: &Bundle) -> Vec<(String, usize)> {
    bundle.parts().iter().map(|p| (p.level_spec().unwrap().to_string(), p.nse())).collect()
}

fn tensor(shape: &[usize], at: &[&[u64]]) -> Tensor {
    let columns: Vec<Vec<u64>> = (0..shape.len()).map(|a| at.iter().map(|i| i[a]).collect()).collect();
    let values = Tensor::from_vec([at.len()], (0..at.len()).map(|i| i as f32).collect()).unwrap();
    Tensor::coo(shape, columns, &values, 0.0f32).unwrap()
}

/// Slice 0 has one element, slice 1 two fibres of one each, slice 2 a fibre of three.
#[test]
fn hb_csf_by_hand() {
    let at: [&[u64]; 6] = [&[0, 1, 1], &[1, 0, 2], &[1, 2, 0], &[2, 0, 0], &[2, 0, 1], &[2, 0, 3]];
    let x = tensor(&[4, 3, 4], &at);
    let bundle = Bundle::hb_csf(&x).unwrap();
    let want = [("S-S-S-R", 1), ("DC-S-S-R", 2), ("DC-DC-S-R", 3)].map(|(n, k)| (n.to_string(), k));
    assert_eq!(names(&bundle), want);
    assert_eq!(all_of(&bundle.join().unwrap()), all_of(&x.coalesce().unwrap()));
    let matrix = tensor(&[3, 4], &[&[0, 1], &[2, 0], &[2, 3]]);
    assert_eq!(names(&Bundle::hb_csf(&matrix).unwrap()), [("S-S-R".to_string(), 1), ("DC-S-R".to_string(), 2)]);
}

/// A fibre of three along axis 0, one of two along axis 2, one element alone.
#[test]
fn mm_csf_by_hand() {
    let at: [&[u64]; 6] = [&[0, 1, 1], &[1, 1, 1], &[2, 1, 1], &[0, 0, 2], &[0, 0, 3], &[3, 2, 0]];
    let bundle = Bundle::mm_csf(&tensor(&[4, 3, 4], &at)).unwrap();
    let want = [("DC-DC-S-X(1,2,0)", 3), ("DC-DC-S-R", 3)].map(|(n, k)| (n.to_string(), k));
    assert_eq!(names(&bundle), want);
    assert_eq!((bundle.nse(), bundle.dtype(), bundle.shape()), (6, DType::F32, &[4usize, 3, 4][..]));
}

#[test]
fn what_is_no_bundle() {
    let x = Tensor::random([4, 3, 4], 0.3, 0.0, Layout::Coo, 1).unwrap();
    let refused = |parts: Vec<Tensor>, says: &str| {
        let e = Bundle::new(parts).unwrap_err().to_string();
        assert!(e.starts_with("Bundle::new: argument `parts") && e.contains(says), "{e}");
    };
    refused(vec![], "none; at least one");
    refused(vec![x.clone(), x.to_dense().unwrap()], "parts[1]`: is strided");
    refused(vec![x.clone(), Tensor::zeros([4, 3], DType::F64, Layout::Coo).unwrap()], "has shape [4, 3], parts[0]");
    refused(vec![x.clone(), x.cast(DType::F32).unwrap()], "is float32, parts[0] is float64");
    refused(vec![x.clone(), x.replace_fill(1.0).unwrap()], "has fill 1, parts[0] has 0");
    refused(vec![x.clone(), x.clone()], "14 elements are stored by more than one part");
    let specs = [LevelSpec::parse("S-S-S").unwrap()];
    let e = Bundle::split(&x, &specs, |_| 1).unwrap_err().to_string();
    assert!(e.contains("argument `assign`: stored element 0 is given to part 1, there are 1 specs"), "{e}");
    let e = Bundle::hb_csf(&x.to_dense().unwrap()).unwrap_err().to_string();
    assert!(e.starts_with("Bundle::hb_csf: a strided tensor stores every element"), "{e}");
    let e = Bundle::mm_csf(&Tensor::zeros([4], DType::F64, Layout::Coo).unwrap()).unwrap_err().to_string();
    assert!(e.contains("Bundle::mm_csf: shapes [4]: fibres need at least 2 axes"), "{e}");
}

#[test]
fn shapes_beyond_64_bits() {
    let n = 1u64 << 40;
    let x = tensor(&[n as usize; 3], &[&[5, 7, 0], &[5, 7, n - 1], &[n - 1, 0, 0]]);
    for bundle in [Bundle::hb_csf(&x).unwrap(), Bundle::mm_csf(&x).unwrap()] {
        assert_eq!(all_of(&bundle.join().unwrap()), all_of(&x));
    }
}

#[test]
fn several_values_over_one_pattern() {
    let x = Tensor::random([20, 30], 0.2, 0.0, Layout::Csr, 1).unwrap();
    let counts: Vec<i32> = (0..x.nse() as i32).collect();
    let counts = Tensor::from_vec([x.nse()], counts).unwrap();
    let y = x.with_stored_values(&counts, Fill::Undefined).unwrap();
    assert!(y.shares_pattern(&x) && y.dtype() == DType::I32 && y.layout() == Layout::Csr);
    assert_eq!(y.values::<i32>().unwrap(), counts.values::<i32>().unwrap());
    // Equal patterns in memory of their own are brought together again.
    let apart = x.to_layout(Layout::Coo).unwrap().to_layout(Layout::Csr).unwrap();
    assert!(!apart.shares_pattern(&x));
    let again = apart.share_pattern(&x);
    assert!(again.shares_pattern(&x) && all_of(&again) == all_of(&x));
    let other = Tensor::random([20, 30], 0.2, 0.0, Layout::Csr, 2).unwrap();
    assert!(!other.share_pattern(&x).shares_pattern(&x));
    let e = x.with_stored_values(&Tensor::from_vec([1], vec![1.0]).unwrap(), 0.0).unwrap_err().to_string();
    assert!(e.starts_with("with_stored_values: argument `values`: have shape [1], the pattern needs ["), "{e}");
    let e = x.with_stored_values(&counts, 0.5).unwrap_err().to_string();
    assert!(e.starts_with("with_stored_values: "), "{e}");
    assert!(x.to_dense().unwrap().with_stored_values(&counts, 0).is_err());
}

#[test]
fn bundles_and_shared_patterns_in_files() {
    use openwork::io::binsparse::{self, Entry, File};
    let folder = std::env::temp_dir().join(format!("openwork-bundles-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("bundle.h5");
    let x = Tensor::random([30, 20, 40], 0.02, 2.5, Layout::Coo, 1).unwrap();
    for bundle in [Bundle::hb_csf(&x).unwrap(), Bundle::mm_csf(&x).unwrap()] {
        binsparse::write_bundle(&path, &bundle, &WriteOptions::default()).unwrap();
        let back = binsparse::read_bundle(&path, &ReadOptions::default()).unwrap();
        assert_eq!(names(&back), names(&bundle));
        assert_eq!(all_of(&back.join().unwrap()), all_of(&x));
        // Every part is a tensor to any reader.
        let part = File::open(&path).unwrap().tensor("1").unwrap();
        assert_eq!(all_of(&part), all_of(&bundle.parts()[1]));
    }
    // Files that are no bundle, or no longer.
    binsparse::write_all(&path, &[Entry::new("0", &x)], &WriteOptions::default()).unwrap();
    let e = binsparse::read_bundle(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(e.contains("says nothing of parts of a sum and holds 1 tensors"), "{e}");
    let metadata = serde_json::json!({ "openwork_sum_of_parts": 2 }).as_object().unwrap().clone();
    let options = WriteOptions { metadata: Some(&metadata), ..WriteOptions::default() };
    binsparse::write_all(&path, &[Entry::new("0", &x), Entry::new("1", &x)], &options).unwrap();
    let e = binsparse::read_bundle(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(e.contains("stored by more than one part"), "{e}");
    // Several values over one pattern: several groups, brought together by reading.
    let csr = Tensor::random([20, 30], 0.2, 0.0, Layout::Csr, 1).unwrap();
    let squares = csr.square().unwrap();
    assert!(squares.shares_pattern(&csr));
    binsparse::write_all(&path, &[Entry::new("x", &csr), Entry::new("y", &squares)], &WriteOptions::default()).unwrap();
    let mut file = File::open(&path).unwrap();
    let (a, b) = (file.tensor("x").unwrap(), file.tensor("y").unwrap());
    assert!(!b.shares_pattern(&a));
    let b = b.share_pattern(&a);
    assert!(b.shares_pattern(&a) && all_of(&b) == all_of(&squares));
    std::fs::remove_dir_all(folder).ok();
}
