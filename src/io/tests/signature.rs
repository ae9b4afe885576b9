use std::io::Cursor;

use super::*;

#[test]
fn signatures_are_found_where_they_may_be() {
    let found = |bytes: &[u8]| find(&mut Cursor::new(bytes)).unwrap().0;
    assert_eq!(found(b""), None);
    assert_eq!(found(b"%%MatrixMarket"), None);
    assert_eq!(found(b"\x1f\x8b\x08"), Some(Signature::Packed(Packing::Gzip)));
    assert_eq!(found(b"BZh9"), Some(Signature::Packed(Packing::Bzip2)));
    assert_eq!(found(b"PK\x03\x04..."), Some(Signature::Zip));
    assert_eq!(found(b"\x93NUMPY\x01\x00"), Some(Signature::Npy));
    for at in [0, 512, 1024, 1 << 14] {
        let mut bytes = vec![7; at];
        bytes.extend_from_slice(&HDF5);
        assert_eq!(found(&bytes), Some(Signature::Hdf5(at as u64)));
        assert_eq!(found(&bytes[..bytes.len() - 1]), None);
        bytes.insert(0, 7);
        assert_eq!(found(&bytes), None, "one byte later");
    }
}
