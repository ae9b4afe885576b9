use super::super::arrays::{ArrayInfo, Container};
use super::super::{Mode, ReadOptions, Version, WriteOptions, export::Export, file};
use super::*;
use crate::io::warning::Warning;
use crate::{DType, Layout, Tensor};

/// A container in memory that counts the bytes that are read.
struct Counting {
    export: Export,
    read: usize,
}

impl Arrays for Counting {
    fn info(&mut self, name: &str) -> Res<Option<ArrayInfo>> {
        let array = self.export.arrays.iter().find(|a| a.name == name);
        Ok(array.map(|a| ArrayInfo { dtype: a.dtype, len: a.len() as u64 }))
    }

    fn read(&mut self, name: &str, start: u64, out: &mut [u8], _: &Tell<'_>) -> Res<()> {
        let Some(array) = self.export.arrays.iter().find(|a| a.name == name) else { return bad(name) };
        let from = start as usize * array.dtype.size();
        out.copy_from_slice(&array.bytes()[from..from + out.len()]);
        self.read += out.len();
        Ok(())
    }
}

impl Container for Counting {
    fn descriptor(&mut self, _: Mode, _: &mut Vec<Warning>) -> Res<String> {
        Ok(self.export.json.clone())
    }
}

/// The range of a tensor, and how many bytes were read for it.
fn rows(x: &Tensor, range: Range<usize>) -> Res<(Tensor, usize)> {
    let options = WriteOptions { extensions: true, version: Some(Version::V0_1), ..WriteOptions::default() };
    let export = Export::new(x, &options, &Default::default())?;
    let mut container = Counting { export, read: 0 };
    let reading = file::load(&mut container, &ReadOptions::default(), Some(Cut::Rows(range)), Tensor::from_parts)?;
    Ok((reading.tensor, container.read))
}

#[test]
fn only_the_range_is_read() {
    let x = Tensor::random([1000, 64], 0.25, 0.0, Layout::Csr, 3).unwrap();
    let part = x.narrow(500..510, 0).unwrap().to_contiguous().unwrap();
    let (read, bytes) = rows(&x, 500..510).unwrap();
    assert_eq!(read.to_string(), part.to_string());
    assert_eq!(bytes, 11 * 4 + part.nse() * (4 + 8), "pointers, indices and values of ten rows");
    let (nothing, bytes) = rows(&x, 700..700).unwrap();
    assert_eq!((nothing.shape(), nothing.nse(), bytes), (&[0, 64][..], 0, 4));
    let dense = Tensor::random([100, 30], 0.5, 0.0, Layout::Csr, 4).unwrap().to_dense().unwrap();
    assert_eq!(rows(&dense, 20..23).unwrap().1, 3 * 30 * 8);
    let one = Tensor::ones([100, 30], DType::F64, Layout::Strided).unwrap();
    assert_eq!(rows(&one, 20..23).unwrap().1, 8, "one value stands for all");
}

#[test]
fn any_format_whose_first_level_is_dense() {
    let x = Tensor::random([12, 10], 0.4, 0.0, Layout::Coo, 5).unwrap();
    let batched = Tensor::random([6, 4, 5], 0.4, 0.0, Layout::Coo, 6).unwrap().to_layout(Layout::Csr).unwrap();
    let row = Tensor::from_vec([10], (0..10).map(f64::from).collect()).unwrap();
    let column = Tensor::from_vec([12, 1], (0..12).map(f64::from).collect()).unwrap();
    let csr = x.to_layout(Layout::Csr).unwrap();
    for (x, axis, range) in [
        (csr.clone(), 0, 3..9),
        (csr.clone(), 0, 0..12),
        (x.to_layout(Layout::Csc).unwrap(), 1, 2..7),
        (x.to_layout(Layout::Bsr { block: [4, 5] }).unwrap(), 0, 4..12),
        (x.to_layout(Layout::Bsc { block: [4, 5] }).unwrap(), 1, 5..10),
        (x.to_dense().unwrap(), 0, 5..6),
        (x.to_dense().unwrap().matrix_transpose().unwrap(), 1, 5..8),
        (batched, 0, 2..5),
        (csr.replace_fill(Fill::array(row)).unwrap(), 0, 3..9),
        (csr.replace_fill(Fill::array(column)).unwrap(), 0, 3..9),
        (csr.replace_fill(Fill::Undefined).unwrap(), 0, 3..9),
        (csr.cast(DType::Complex64).unwrap(), 0, 3..9),
        (Tensor::eye(9, DType::I16, Layout::Csr).unwrap(), 0, 3..9),
    ] {
        let expected = x.narrow(range.clone(), axis).unwrap();
        let read = rows(&x, range.clone()).unwrap().0;
        assert_eq!((read.layout(), read.shape()), (x.layout(), expected.shape()));
        assert_eq!(read.nse(), expected.nse());
        let indices = expected.shape().iter().fold(vec![vec![]], |all: Vec<Vec<usize>>, &n| {
            all.into_iter().flat_map(|i| (0..n).map(move |k| [&i[..], &[k]].concat())).collect()
        });
        for i in indices {
            assert_eq!(read.get(&i).unwrap(), expected.get(&i).unwrap(), "{} {range:?} {i:?}", x.layout());
        }
    }
}

#[test]
fn what_is_no_range() {
    let x = Tensor::random([12, 10], 0.4, 0.0, Layout::Csr, 5).unwrap();
    let refused = |x: &Tensor, range: Range<usize>, why: &str| {
        let error = rows(x, range).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    refused(&x, 3..13, "3..13 does not lie in axis 0, which has size 12");
    #[allow(clippy::reversed_empty_ranges)]
    refused(&x, 5..3, "5..3 does not lie");
    refused(&x.to_layout(Layout::Coo).unwrap(), 0..3, "the first level of COOR is sparse");
    refused(&x.to_layout(Layout::Dcsr).unwrap(), 0..3, "the first level of DCSR is sparse");
    refused(&x.to_layout(Layout::Bsr { block: [4, 5] }).unwrap(), 2..8, "2..8 splits blocks of 4");
    refused(&Tensor::scalar(1.5), 0..1, "without axes");
}

#[test]
fn pointers_of_a_range_are_checked() {
    let found = |start| FoundArray { name: "p".into(), start, info: ArrayInfo { dtype: DType::U64, len: 3 } };
    let part = |p: Vec<u64>, start| rebased(&p.into(), &found(start), 9).map(|(_, inside)| inside);
    assert_eq!(part(vec![2, 5, 9], 1).unwrap(), 2..9);
    for (p, start) in [(vec![2, 5, 10], 1), (vec![5, 2, 9], 1), (vec![2, 9, 5], 1), (vec![2, 5, 9], 0), (vec![], 1)] {
        assert!(part(p, start).is_err());
    }
    let negative: IndexArray = vec![0i64, -1, 3].into();
    assert!(rebased(&negative, &found(0), 9).is_err());
}
