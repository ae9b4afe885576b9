use super::*;

#[test]
fn pieces_have_about_as_much_to_do() {
    for lengths in [vec![0; 200_000], vec![1; 200_000], vec![300_000, 0, 0, 1], vec![], vec![7; 3]] {
        let mut pointers = vec![5u32];
        lengths.iter().for_each(|n| pointers.push(pointers[pointers.len() - 1] + n));
        let cuts = cuts(&pointers);
        assert_eq!(cuts.last().copied().unwrap_or(0), lengths.len());
        assert!(cuts.windows(2).all(|c| c[0] < c[1]));
        let work = lengths.len() + (pointers[lengths.len()] - 5) as usize;
        assert!(cuts.len() <= work / GRAIN + 1, "{} pieces of {work}", cuts.len());
        let numbers = (0..cuts.len()).map(|i| i * 3).collect();
        let (counted, firsts) = Counted::<u64>::with(&cuts, numbers, &|own, ends, number: usize| {
            assert_eq!(number % 3, 0);
            let first = pointers[own.start];
            ends.iter_mut().zip(&pointers[own.start + 1..]).for_each(|(e, p)| *e = u64::from(p - first));
            (ends.last().map_or(0, |e| *e as usize), own.start)
        });
        assert!(firsts.iter().copied().eq([0].into_iter().chain(cuts.clone()).take(cuts.len())));
        assert_eq!(counted.total(), work - lengths.len());
        assert!(counted.pointers().iter().zip(&pointers).all(|(o, p)| *o == u64::from(p - 5)));
    }
}
