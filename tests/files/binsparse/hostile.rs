//! HDF5 files that claim what they do not hold, or lead elsewhere: an error that says so, and no memory for it.

use ::hdf5::file::LibraryVersion;
use ::hdf5::types::{VarLenArray, VarLenUnicode};
use ::hdf5::{Dataset, File as Raw, Group, H5Type};
use openwork::io::ReadOptions;
use openwork::io::binsparse::{self, File};
use openwork::{Layout, Tensor};

use super::h5::{Gone, path};

/// A good CSR file, in which `values` was replaced.
fn with_values(name: &str, values: impl FnOnce(&Group)) -> Gone {
    let path = Gone(path(name));
    let x = Tensor::eye(4, openwork::DType::F64, Layout::Csr).unwrap().to_contiguous().unwrap();
    binsparse::write(&path, &x).unwrap();
    let json = {
        let file = Raw::open_rw(&path).unwrap();
        file.unlink("values").unwrap();
        values(&file);
        file.attr("binsparse").unwrap().read_scalar::<VarLenUnicode>().unwrap()
    };
    assert!(json.contains("CSR"));
    path
}

#[track_caller]
fn refused(path: &Gone, why: &str) {
    for lenient in [false, true] {
        let options = ReadOptions { lenient, ..ReadOptions::default() };
        let error = binsparse::read_with(path, &options).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains(".h5"), "{error}");
    }
}

fn numbers<T: H5Type>(group: &Group, len: usize) -> Dataset {
    group.new_dataset::<T>().shape(len).create("values").unwrap()
}

#[test]
fn links_are_followed_where_they_stay_in_the_file_and_end() {
    let other = Gone(path("other"));
    Raw::create(&other).unwrap().new_dataset_builder().with_data(&[1.0; 4]).create("values").unwrap();
    let external = with_values("external", |g| g.link_external(other.0.to_str().unwrap(), "values", "values").unwrap());
    refused(&external, "a link to another file, which is not followed");
    for (name, target) in [("soft", "elsewhere"), ("absolute", "/inner/values"), ("chain", "one/./two")] {
        let soft = with_values(name, |g| {
            g.new_dataset_builder().with_data(&[1.0; 4]).create("elsewhere").unwrap();
            let inner = g.create_group("inner").unwrap();
            inner.new_dataset_builder().with_data(&[1.0; 4]).create("values").unwrap();
            inner.link_soft("/elsewhere", "two").unwrap();
            g.link_soft("inner", "one").unwrap();
            g.link_soft(target, "values").unwrap();
        });
        assert_eq!(binsparse::read(&soft).unwrap().values::<f64>().unwrap(), [1.0; 4], "{name}");
    }
    let cycle = with_values("cycle", |g| g.link_soft("values", "values").unwrap());
    refused(&cycle, "leads in a circle");
    let nowhere = with_values("nowhere", |g| g.link_soft("no/values", "values").unwrap());
    refused(&nowhere, "leads to nothing in this file");
    let outward = with_values("outward", |g| {
        g.link_external(other.0.to_str().unwrap(), "/", "other").unwrap();
        g.link_soft("other/values", "values").unwrap();
    });
    refused(&outward, "leads to nothing in this file");
    let group = with_values("group", |g| drop(g.create_group("values").unwrap()));
    refused(&group, "not a dataset");
}

#[test]
fn groups_that_hold_each_other() {
    let path = Gone(path("ring"));
    {
        let file = Raw::create(&path).unwrap();
        let inner = file.create_group("a").unwrap().create_group("b").unwrap();
        inner.link_hard("/a", "again").unwrap();
        inner.link_soft("/", "soft").unwrap();
        let mut deep = file.create_group("deep").unwrap();
        for _ in 0..40 {
            deep = deep.create_group("d").unwrap();
        }
    }
    assert!(File::open(&path).unwrap().names().unwrap().is_empty());
    let error = File::open(&path).unwrap().tensor("a/b/soft").unwrap_err().to_string();
    assert!(error.contains("a link that is not followed"), "{error}");
    {
        let mut deep = Raw::open_rw(&path).unwrap().group("deep").unwrap();
        for _ in 0..40 {
            deep = deep.group("d").unwrap();
        }
        for _ in 0..40 {
            deep = deep.create_group("d").unwrap();
        }
    }
    assert!(File::open(&path).unwrap().names().unwrap_err().to_string().contains("deeper than 64"));
}

#[test]
fn elements_that_are_not_stored() {
    // Never written: contiguous and few, which are the fill; chunked, with a fill that would stand for 2^40 elements.
    let late = with_values("late", |g| drop(numbers::<f64>(g, 4)));
    assert_eq!(binsparse::read(&late).unwrap().values::<f64>().unwrap(), [0.0; 4]);
    let huge = |g: &Group| drop(g.new_dataset::<f64>().shape(1 << 40).chunk(1 << 20).create("values").unwrap());
    refused(&with_values("huge", huge), "claims to hold 8796093022208 bytes and has 0");
    // One chunk of many is there.
    let part = |g: &Group| {
        let data = g.new_dataset::<f64>().shape(1 << 30).chunk(1 << 10).create("values").unwrap();
        data.write_slice(&[1.0; 4], 0..4).unwrap();
    };
    refused(&with_values("part", part), "claims to hold 8589934592 bytes and has 8192");
    let packed = |g: &Group| {
        let data = g.new_dataset::<f64>().shape(1 << 30).chunk(1 << 10).deflate(9).create("values").unwrap();
        data.write_slice(&[1.0; 4], 0..4).unwrap();
    };
    refused(&with_values("packed", packed), "claims to hold 8589934592 bytes");
    // As many as there can be, and more than are needed.
    let long = |g: &Group| {
        let data = g.new_dataset::<f64>().shape(1 << 20).chunk(1 << 20).deflate(9).create("values").unwrap();
        data.write(&vec![0.0; 1 << 20]).unwrap();
    };
    refused(&with_values("long", long), "1048576 entries, 4 are needed");
}

#[test]
fn a_chunk_larger_than_its_dataset() {
    // Chunks are unpacked whole: this one would take 2 GiB for four elements.
    let path = with_values("chunk", |g| {
        let data = g.new_dataset::<f64>().shape((4..,)).chunk(1 << 28).deflate(1).create("values").unwrap();
        assert_eq!(data.size(), 4);
    });
    refused(&path, "claims to hold 2147483648 bytes and has 0");
}

#[test]
fn elements_that_are_no_numbers() {
    #[derive(H5Type, Clone, PartialEq, Debug)]
    #[repr(C)]
    struct Pair {
        r: f64,
        j: f64,
    }
    #[derive(H5Type, Clone, Copy, PartialEq, Debug)]
    #[repr(u8)]
    #[allow(dead_code)] // of its type alone
    enum Colour {
        Red = 0,
        Green = 1,
    }
    refused(&with_values("pair", |g| drop(numbers::<Pair>(g, 4))), "`values` holds records, not numbers");
    refused(&with_values("colour", |g| drop(numbers::<Colour>(g, 4))), "an enumeration, not numbers");
    refused(&with_values("text", |g| drop(numbers::<VarLenUnicode>(g, 4))), "holds text, not numbers");
    refused(&with_values("lists", |g| drop(numbers::<VarLenArray<f64>>(g, 4))), "holds lists, not numbers");
    refused(&with_values("array", |g| drop(numbers::<[f64; 2]>(g, 4))), "holds arrays, not numbers");
    let null = |g: &Group| drop(g.new_dataset::<f64>().shape(::hdf5::Extents::Null).create("values").unwrap());
    refused(&with_values("null", null), "a null dataspace");
    let scalar = |g: &Group| drop(g.new_dataset::<f64>().create("values").unwrap());
    refused(&with_values("scalar", scalar), "has shape [], not one axis");
    let matrix = |g: &Group| drop(g.new_dataset::<f64>().shape((2, 2)).create("values").unwrap());
    refused(&with_values("matrix", matrix), "has shape [2, 2], not one axis");
}

#[test]
fn data_from_elsewhere() {
    let raw = Gone(path("raw"));
    std::fs::write(&raw, [0; 32]).unwrap();
    let name = raw.0.to_str().unwrap().to_owned();
    let external = with_values("external-data", |g| {
        drop(g.new_dataset::<f64>().external(&name, 0, 32).shape(4).create("values").unwrap());
    });
    refused(&external, "stored in another file");
    let unknown = with_values("filter", |g| {
        let data = g.new_dataset::<i64>().shape(4).chunk(4).nbit().create("values").unwrap();
        data.write(&[7; 4]).unwrap();
    });
    refused(&unknown, "went through filter 5; known are one deflate or lzf, one scaleoffset, shuffle, fletcher32");
}

#[test]
fn descriptors_that_are_none() {
    let path = Gone(path("attribute"));
    let attribute = |write: &dyn Fn(&Group)| {
        let file = Raw::with_options()
            .with_fapl(|p| p.libver_bounds(LibraryVersion::Earliest, LibraryVersion::latest()))
            .create(&path)
            .unwrap();
        write(&file);
        drop(file);
        binsparse::read_with(&path, &ReadOptions { lenient: true, ..ReadOptions::default() }).unwrap_err().to_string()
    };
    let number = attribute(&|g| g.new_attr::<i32>().create("binsparse").unwrap().write_scalar(&1).unwrap());
    assert!(number.contains("`binsparse` is not one text"), "{number}");
    let null = attribute(&|g| drop(g.new_attr::<i32>().shape(::hdf5::Extents::Null).create("binsparse").unwrap()));
    assert!(null.contains("`binsparse` is empty"), "{null}");
    let unset = attribute(&|g| drop(g.new_attr::<VarLenUnicode>().create("binsparse").unwrap()));
    assert!(unset.contains("not JSON"), "{unset}");
    let two = attribute(&|g| drop(g.new_attr::<VarLenUnicode>().shape(2).create("binsparse").unwrap()));
    assert!(two.contains("not one text"), "{two}");
    let bytes = attribute(&|g| {
        g.new_attr::<u8>().shape(3).create("binsparse").unwrap().write_raw(&[0xff, 0xfe, 0x7b]).unwrap();
    });
    assert!(bytes.contains("not UTF-8"), "{bytes}");
    let group = attribute(&|g| drop(g.create_group("binsparse").unwrap()));
    assert!(group.contains("not a dataset"), "{group}");
}
