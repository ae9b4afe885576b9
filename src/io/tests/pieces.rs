use super::*;
use crate::io::{self, WriteOptions};
use crate::{DType, Fill, Layout, Scalar};

type Stored = Vec<(Vec<usize>, Scalar)>;

/// What is stored, by way of pieces of so many elements, in order of indices; and how many pieces there were.
fn stored(path: &Path, rows: Option<Range<usize>>, most: u64) -> Result<(Stored, usize)> {
    let (mut out, mut count) = (Vec::new(), 0);
    let options = ReadOptions::default();
    pieces(Input::of_path(path, &options)?, &options, rows, most, &mut |piece| {
        count += 1;
        assert!(piece.tensor.ndim() == piece.shape.len() && piece.origin.len() == piece.shape.len());
        out.extend(piece.tensor.iter_stored().map(|(index, value)| {
            let index: Vec<usize> = index.iter().zip(&piece.origin).map(|(at, origin)| at + origin).collect();
            assert!(index.iter().zip(&piece.shape).all(|(at, size)| at < size));
            (index, value)
        }));
        ControlFlow::Continue(())
    })?;
    out.sort_by(|a, b| a.0.cmp(&b.0));
    Ok((out, count))
}

#[test]
fn pieces_are_the_whole_in_every_layout_and_container() {
    let folder = std::env::temp_dir().join(format!("openwork-unit-pieces-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let x = Tensor::random([24, 20], 0.3, 0.0, Layout::Coo, 7).unwrap();
    let batch = Tensor::random([4, 6, 10], 0.3, 0.0, Layout::Coo, 8).unwrap();
    let row = Tensor::from_vec([20], (0..20).map(f64::from).collect()).unwrap();
    let hybrid = batch.to_layout(Layout::HybridCoo { dense_dims: 1 }).unwrap();
    let one = x.to_layout(Layout::Csr).unwrap().is_stored().unwrap(); // one value stands for all
    let complex = x.cast(DType::Complex128).unwrap();
    for (x, cut) in [
        (x.clone(), true),
        (x.to_layout(Layout::Csr).unwrap(), true),
        (x.to_layout(Layout::Csc).unwrap(), true),
        (x.to_layout(Layout::Bsr { block: [4, 5] }).unwrap(), true),
        (x.to_layout(Layout::Bsc { block: [4, 5] }).unwrap(), true),
        (x.to_layout(Layout::Dcsr).unwrap(), false),
        (x.to_layout(Layout::Csf).unwrap(), false),
        (x.to_dense().unwrap(), true),
        (x.to_dense().unwrap().mt().unwrap(), true),
        (batch.clone(), true),
        (batch.to_layout(Layout::Csr).unwrap(), true),
        (hybrid, true),
        (one, true),
        (complex, true),
        (x.replace_fill(Fill::array(row)).unwrap().to_layout(Layout::Csc).unwrap(), true),
        (Tensor::zeros([5, 5], DType::I8, Layout::Coo).unwrap(), false),
        (Tensor::scalar(2.5), false),
    ] {
        for ending in ["npz", "h5", "safetensors"] {
            let path = folder.join(format!("x.{ending}"));
            io::write_with(&path, &x, &WriteOptions { extensions: true, ..Default::default() }).unwrap();
            let whole = stored(&path, None, u64::MAX).unwrap();
            assert_eq!((whole.0.len(), whole.1), (x.nse(), 1), "{} {ending}", x.layout());
            for most in [1, 7, 50] {
                let (parts, count) = stored(&path, None, most).unwrap();
                assert!(parts == whole.0, "{} {ending} {most}", x.layout());
                assert_eq!(count > 1, cut, "{} {ending} {most}: {count} pieces", x.layout());
            }
            let Some(&size) = x.shape().first() else { continue };
            for range in [0..size, 1..3, size / 2..size, 2..2] {
                let mut wanted = whole.0.clone();
                wanted.retain(|(index, _)| range.contains(&index[0]));
                let (parts, _) = stored(&path, Some(range.clone()), 9).unwrap();
                // A range of blocks stores the blocks that it cuts as their elements.
                let blocks = matches!(x.layout(), Layout::Bsr { .. } | Layout::Bsc { .. });
                let same = if blocks { parts.iter().all(|entry| wanted.contains(entry)) } else { parts == wanted };
                assert!(same, "{} {ending} {range:?}", x.layout());
            }
            assert!(stored(&path, Some(0..size + 1), 9).is_err() && stored(&path, Some(0..size + 1), 9).is_err());
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Packed arrays are read whole, and what is wrong with a file is said as its reader says it.
#[test]
fn what_has_no_parts_is_one_piece() {
    let path = std::env::temp_dir().join(format!("openwork-unit-whole-{}.npz", std::process::id()));
    let x = Tensor::random([50, 40], 0.3, 0.0, Layout::Csr, 7).unwrap();
    io::write_with(&path, &x, &WriteOptions { compress: true, ..Default::default() }).unwrap();
    let (parts, count) = stored(&path, None, 10).unwrap();
    assert_eq!((parts.len(), count), (x.nse(), 1));
    io::write(&path, &x).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    // A byte of an index, and one of a value, which nothing but the checksum of the array tells.
    for array in [&b"indices_1.npy"[..], b"values.npy"] {
        let at = bytes.windows(array.len()).position(|window| window == array).unwrap() + 200;
        bytes[at] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let (whole, parts) = (io::read(&path).map(drop), stored(&path, None, 10).map(drop));
        assert!(whole.is_err() && parts.is_err(), "{whole:?} {parts:?}");
        bytes[at] ^= 1;
    }
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(stored(&path, None, 10).unwrap().0.len(), x.nse());
    std::fs::remove_file(&path).unwrap();
}
