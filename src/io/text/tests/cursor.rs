use super::*;

#[test]
fn whole_numbers_are_read_as_others() {
    for text in [
        "6 ",
        "-1\n",
        "0\n",
        "-0 ",
        "1234567 ",
        "12345678 ",
        "-1234567\r\n",
        "7",
        "1.5 ",
        "12e3 ",
        "- 3",
        "-",
        "",
        "+5 ",
        "9x  ",
        "00012 ",
        "-7\t",
        "1234567.",
        "123456e1 ",
    ] {
        // Followed by enough for eight bytes at a time, and by nothing.
        for text in [text.to_owned(), format!("{text}1 2 3 4 5 6")] {
            let wanted = fast_float2::parse_partial::<f64, _>(text.as_bytes()).ok();
            let mut cursor = Cursor::new(text.as_bytes());
            let found = cursor.real().ok().map(|value| (value.to_bits(), cursor.position()));
            assert_eq!(found, wanted.map(|(value, length)| (value.to_bits(), length)), "{text:?}");
        }
    }
}

#[test]
fn digits_of_every_length_before_every_byte() {
    for length in 0..=21_usize {
        for seed in 0..20_u64 {
            let digit = |i: usize| b'0' + ((seed * 7 + i as u64 * (seed + 3)) % 10) as u8;
            let text: Vec<u8> = (0..length).map(digit).collect();
            let number = std::str::from_utf8(&text).unwrap().parse::<u64>().ok();
            let mut others: Vec<Vec<u8>> = (0..=255_u8).map(|byte| [&[byte][..], b"1234567"].concat()).collect();
            others.extend([vec![], b" ".to_vec(), b"/9".to_vec(), b":9".to_vec()]);
            for other in others.iter().filter(|other| !other.first().is_some_and(u8::is_ascii_digit)) {
                let all = [&text[..], other].concat();
                let mut cursor = Cursor::new(&all);
                match (cursor.digits(), number) {
                    (Ok(None), None) => assert_eq!(length, 0),
                    (Ok(found), number) => assert_eq!((found, cursor.position()), (number, length), "{all:?}"),
                    (Err(problem), None) => assert!(length > 19 && problem == Problem::Overflow),
                    other => panic!("{all:?}: {other:?}"),
                }
            }
        }
    }
}
