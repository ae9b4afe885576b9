use super::*;

#[test]
fn pieces_stand_in_their_order() {
    let length = |i: usize| i * 7919 % 13;
    let want: Vec<usize> = (0..500).flat_map(|i| vec![i; length(i)]).collect();
    for threads in [1, 4] {
        let mut room = vec![usize::MAX; want.len() + 3];
        let left = parallel::with_threads(threads, || {
            let make = |i: usize, piece: &mut Vec<usize>| {
                piece.clear();
                piece.resize(length(i), i);
            };
            let copy = |piece: &Vec<usize>, to: &mut [usize]| put(piece, to, threads == 4);
            in_turns(500, &mut room[..], &make, &|room, piece| cut(room, piece.len()), &copy).len()
        });
        assert_eq!(left.unwrap(), 3);
        assert_eq!(room[..want.len()], want);
        assert_eq!(room[want.len()..], [usize::MAX; 3]);
    }
}
