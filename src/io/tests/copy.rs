use super::*;
use crate::io::{self, binsparse::Mode};
use crate::{DType, ErrorKind, Tensor};
use crate::{Layout, Scalar};

fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("openwork-unit-copy-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A copy in pieces of any size is what writing the whole gives.
#[test]
fn pieces_make_the_file_that_the_whole_makes() {
    let folder = folder("whole");
    let x = Tensor::random([24, 20], 0.3, 0.0, Layout::Coo, 7).unwrap();
    let batch = Tensor::random([4, 6, 10], 0.3, 0.0, Layout::Coo, 8).unwrap();
    let csr = x.to_layout(Layout::Csr).unwrap();
    let one = csr.is_stored().unwrap();
    let columns = x.to_dense().unwrap().mt().unwrap().to_contiguous().unwrap().mt().unwrap();
    let mut same_bytes = 0;
    for (x, in_pieces) in [
        (x.clone(), true),
        (csr.clone(), true),
        (x.to_layout(Layout::Csc).unwrap(), true),
        (x.to_dense().unwrap(), true),
        (columns, true),
        (batch.clone(), true),
        (batch.to_layout(Layout::Csr).unwrap(), true),
        (batch.to_layout(Layout::HybridCoo { dense_dims: 1 }).unwrap(), true),
        (one, true),
        (csr.cast(DType::Complex64).unwrap(), true),
        (csr.cast(DType::Bool).unwrap(), true),
        (csr.replace_fill(2.5).unwrap(), true),
        (csr.cast(DType::I16).unwrap().replace_fill(Scalar::I16(-7)).unwrap(), true),
        (x.to_layout(Layout::Dcsr).unwrap(), false),
        (batch.to_layout(Layout::Csf).unwrap(), false),
        (Tensor::zeros([5, 5], DType::I8, Layout::Coo).unwrap(), false),
        (Tensor::scalar(2.5), false),
    ] {
        for from in ["npz", "h5", "zarr"] {
            let source = folder.join(format!("from.{from}"));
            io::write(&source, &x).unwrap();
            for to in ["npz", "h5"] {
                let [whole, copied] = ["whole", "copied"].map(|name| folder.join(format!("{name}.{to}")));
                io::write(&whole, &x).unwrap();
                for most in [1, 7, 50] {
                    let what = format!("{} {} {from} {to} {most}", x.layout(), x.dtype());
                    let plain = Default::default();
                    let done = copy_in(&source, &copied, &ReadOptions::default(), &plain, most).unwrap();
                    assert_eq!(done, in_pieces, "{what}");
                    let (a, b) = (io::read(&whole).unwrap(), io::read(&copied).unwrap());
                    assert_eq!((a.layout(), a.nse(), a.dtype()), (b.layout(), b.nse(), b.dtype()), "{what}");
                    assert!(a.equal(&b).unwrap() && a.to_string() == b.to_string(), "{what}: {a} {b}");
                    let arrays = [&whole, &copied].map(|path| io::info(path).unwrap().remove(0).arrays);
                    let named = |at: usize| arrays[at].iter().map(|array| (array.name.clone(), array.entries));
                    assert!(named(0).eq(named(1)), "{what}: {arrays:?}");
                    let mut wrong = 0;
                    io::validate(&copied, &ReadOptions::default(), &mut |_| wrong += 1).unwrap();
                    assert_eq!(wrong, 0, "{what}");
                    // Indices of 64 bits become narrower on the way.
                    if to == "npz" && arrays[0] == arrays[1] {
                        same_bytes += 1;
                        // Checksums, sizes and directory, bit for bit.
                        assert!(std::fs::read(&whole).unwrap() == std::fs::read(&copied).unwrap(), "{what}");
                    }
                }
            }
        }
    }
    assert!(same_bytes > 50, "{same_bytes}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What a reader refuses is refused in pieces, and the old file stays.
#[test]
fn pieces_are_checked_one_beside_the_other() {
    let folder = folder("checked");
    let (from, to) = (folder.join("from.h5"), folder.join("to.h5"));
    let x = Tensor::random([60, 50], 0.3, 0.0, Layout::Coo, 7).unwrap();
    for layout in [Layout::Coo, Layout::Csr, Layout::Csc] {
        let x = x.to_layout(layout).unwrap();
        io::write(&from, &x).unwrap();
        let bytes = std::fs::read(&from).unwrap();
        let arrays = x.nse() * 4;
        let (mut refused, mut copied) = (0, 0);
        // Behind the superblock and the texts one index after the other is another number than it was.
        for at in (4400..4400 + arrays).step_by(44) {
            let mut bad = bytes.clone();
            bad[at] ^= 0x3f;
            std::fs::write(&from, &bad).unwrap();
            std::fs::write(&to, "old").unwrap();
            let whole = io::read(&from);
            match copy_in(&from, &to, &ReadOptions::default(), &WriteOptions::default(), 40) {
                Ok(_) => {
                    assert!(io::read(&to).unwrap().equal(&whole.unwrap()).unwrap(), "{layout} {at}");
                    copied += 1;
                }
                Err(error) => {
                    assert!(matches!(error.kind(), ErrorKind::Format { .. }), "{error}");
                    assert!(whole.is_err(), "{layout} {at}: {error}");
                    assert_eq!(std::fs::read(&to).unwrap(), b"old");
                    refused += 1;
                }
            }
        }
        assert!(refused > 20, "{layout}: {refused} refused, {copied} copied");
    }
    // Packed arrays are read whole.
    let packed = WriteOptions { compress: true, level: Some(1), ..Default::default() };
    for ending in ["npz", "zarr"] {
        let from = folder.join(format!("packed.{ending}"));
        write_with(&from, &Tensor::random([400, 300], 0.3, 0.0, Layout::Csr, 1).unwrap(), &packed).unwrap();
        assert!(!copy_in(&from, &to, &ReadOptions::default(), &WriteOptions::default(), 40).unwrap(), "{ending}");
        assert!(io::read(&to).unwrap().equal(&io::read(&from).unwrap()).unwrap());
    }
    // Leniently, and with a bound, it is read whole.
    let lenient = ReadOptions { lenient: true, ..Default::default() };
    io::write(&from, &x).unwrap();
    assert!(!copy_in(&from, &to, &lenient, &WriteOptions::default(), 40).unwrap());
    assert_eq!(lenient.mode(), Mode::Lenient);
    let bound = ReadOptions { max_bytes: Some(100), ..Default::default() };
    assert!(copy_in(&from, &to, &bound, &WriteOptions::default(), 40).is_err());
    std::fs::remove_dir_all(&folder).unwrap();
}
