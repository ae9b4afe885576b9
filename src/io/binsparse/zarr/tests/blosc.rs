use super::*;

#[test]
fn copies_may_overlap_and_never_come_from_before() {
    // Three bytes as they are, then 9 from 3 back, then one byte.
    assert_eq!(unlz4(b"\x35abc\x03\0\x10d", 64).unwrap(), b"abcabcabcabcd");
    assert_eq!(unlz4(b"\x1fx\x01\0\x05\x10y", 64).unwrap(), [&[b'x'; 25][..], b"y"].concat());
    for wrong in [&b"\x35abc\x04\0\x10d"[..], b"\x35abc\0\0\x10d", b"\x35abc\x03", b"\xf0", b"\x35ab"] {
        assert!(unlz4(wrong, 64).is_err(), "{wrong:?}");
    }
    assert!(unlz4(b"\x1fx\x01\0\xff\xff\xff\x05\x10y", 64).is_err());
    // The same: three bytes, then 9 from 3 back (7 and 0 more, and 2), then one byte; and one byte 25 times.
    assert_eq!(unblosclz(b"\xe2abc\xe0\0\x02\0d", 64).unwrap(), b"abcabcabcabcd");
    assert_eq!(unblosclz(b"\0x\xe0\x0f\0\0y", 64).unwrap(), [&[b'x'; 25][..], b"y"].concat());
    for wrong in [&b"\x02abc\xe0\0\x03\0d"[..], b"\x02ab", b"\x02abc\xe0", b"\x02abc\xe0\xff", b"\x02abc\xff\0\xff\0"] {
        assert!(unblosclz(wrong, 64).is_err(), "{wrong:?}");
    }
    assert!(unblosclz(b"\0x\xe0\xff\xff\x0f\0\0y", 64).is_err());
}
