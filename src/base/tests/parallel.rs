use super::*;

#[test]
fn words_are_sorted_in_parts() {
    for n in [1, GRAIN, ALONE + 1, 300_001] {
        for range in [3, 1 << 20, 1 << 31] {
            let words: Vec<u32> = (1..=n as u32).map(|k| k.wrapping_mul(0x9e37_79b9) % range).collect();
            let numbered: Vec<u64> = words.iter().zip(0..).map(|(&word, i)| u64::from(word) << 32 | i).collect();
            let (mut wanted, mut wanted_numbered) = (words.clone(), numbered.clone());
            wanted.sort_unstable();
            wanted_numbered.sort_unstable();
            for threads in [1, 2, 3, 8] {
                let (mut own, mut room) = (words.clone(), vec![7; n]);
                with_threads(threads, || sort_words(&mut own, &mut room, 0..32)).unwrap();
                assert_eq!(own, wanted, "{n} below {range}, {threads} threads");
                let (mut own, mut room) = (numbered.clone(), vec![7; n]);
                with_threads(threads, || sort_words(&mut own, &mut room, 32..64)).unwrap();
                assert_eq!(own, wanted_numbered, "{n} below {range}, {threads} threads");
            }
        }
    }
}

#[test]
fn a_grain_of_nothing_is_one_element() {
    for threads in [1, 3] {
        let mut out = vec![0; 3 * 40];
        let found = with_threads(threads, || {
            for_chunks_mut(&mut out, 3, 0, &|first, piece| piece.fill(first));
            map_chunks(5, 0, &|range| range)
        });
        assert_eq!(out, (0..3 * 40).map(|i| i / 3).collect::<Vec<_>>());
        assert_eq!(found.unwrap(), (0..5).map(|i| i..i + 1).collect::<Vec<_>>());
    }
}
