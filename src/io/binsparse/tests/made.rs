use super::*;

fn told<T>(result: Res<T>) -> String {
    result.err().map(|fault| fault.to_string()).unwrap_or_default()
}

#[test]
fn diagonals_are_cut_to_the_matrix() {
    let (made, nse) = diagonals([3, 4], &[-1, 2, 9, -9, i64::MIN, i64::MAX], [6, 4]).unwrap();
    // Below the main one: (1, 0) and (2, 1); above it: (0, 2) and (1, 3). The others lie beside the matrix.
    assert_eq!((nse, made.len()), (4, 4));
    let along = |name: &str, start: u64, count: usize| {
        let mut out = vec![0; 8 * count];
        made.read(name, start, &mut out);
        out.chunks(8).map(|bytes| bytes[0]).collect::<Vec<u8>>()
    };
    assert_eq!((along("indices_0", 0, 4), along("indices_1", 0, 4)), (vec![1, 2, 0, 1], vec![0, 1, 2, 3]));
    assert_eq!((along("indices_0", 1, 2), along("indices_1", 3, 1)), (vec![2, 0], vec![3]));
    let saved: Vec<u8> = (0..24).collect();
    let mut out = [0; 3];
    made.pick(&saved, 1, 1, &mut out);
    assert_eq!(out, [1, 6, 7]);
    assert!(told(diagonals([3, 4], &[0], [2, 4])).contains("2 lines of values for 1 diagonals"));
}

#[test]
fn matrices_that_cannot_be_are_refused() {
    let shape = [2, 3, 4];
    assert!(folded(&shape, &[1], vec![0, 1, 1, 2], vec![5, 7]).is_ok());
    for (axes, pointers, why) in [
        (&[][..], vec![0, 2], "compressed axes []"),
        (&[0, 1, 2], vec![0, 2], "compressed axes [0, 1, 2]"),
        (&[1, 1], vec![0, 2], "compressed axes [1, 1]"),
        (&[7], vec![0, 2], "compressed axes [7]"),
        (&[1], vec![0, 2], "in 3 rows"),
        (&[1], vec![0, 2, 1, 2], "in 3 rows"),
        (&[1], vec![1, 1, 1, 2], "in 3 rows"),
        (&[1], vec![0, 1, 1, 3], "in 3 rows"),
    ] {
        let told = told(folded(&shape, axes, pointers, vec![5, 7]));
        assert!(told.contains(why), "{axes:?}: {told}");
    }
    assert!(told(folded(&[1 << 40, 1 << 40, 2], &[0, 1], vec![0], vec![])).contains("a matrix for the shape"));
}
