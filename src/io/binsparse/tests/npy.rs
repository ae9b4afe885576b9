use super::*;

fn of(text: &str) -> Res<NpyHeader> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    parse(&bytes)
}

#[test]
fn headers_are_read_and_written() {
    for shape in [&[][..], &[0], &[7], &[2, 3]] {
        let bytes = write("<f8", false, shape);
        let header = parse(&bytes).unwrap();
        assert_eq!((header.dtype(), header.shape.as_slice()), (Some(DType::F64), shape));
        assert_eq!((header.data_at, bytes.len() % 64), (bytes.len(), 0));
    }
    let header = of("{\"shape\": (3), 'fortran_order': True, 'descr': '>u2'}").unwrap();
    assert_eq!((header.dtype(), header.big_endian, header.shape), (Some(DType::U16), true, vec![3]));
    assert!(header.fortran && parse(&write("<f8", true, &[2, 3])).unwrap().fortran);
    for dtype in DType::ALL {
        let header = descr(dtype).map(|descr| parse(&write(&descr, false, &[1])).unwrap());
        assert_eq!(header.and_then(|header| header.dtype()), Some(dtype).filter(|&dtype| dtype != DType::BF16));
    }
}

#[test]
fn other_headers_are_refused() {
    for text in [
        "",
        "{}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (2,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-2,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }",
        "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'x': 1}",
        "{'descr': 'f8', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f8' 'fortran_order': False, 'shape': (2,)}",
    ] {
        assert!(of(text).is_err(), "{text}");
    }
    assert!(parse(b"\x93NUMPY\x09\x00\x00\x00").is_err());
    assert!(parse(b"PK").is_err());
}
