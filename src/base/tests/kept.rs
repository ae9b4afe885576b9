use super::*;
use crate::base::pages::{GRAIN, PAGE};

fn list(limit: usize) -> List {
    List { limit: Some(limit), ..List::new() }
}

fn mapping(pages: usize) -> Mapping {
    Mapping::new(pages * PAGE).unwrap()
}

/// Pages of each of those kept.
fn pages(list: &List) -> Vec<usize> {
    assert_eq!(list.held, list.kept.iter().map(Mapping::size).sum::<usize>());
    list.kept.iter().map(|m| m.size() / PAGE).collect()
}

#[test]
fn the_best_fit_of_twice_the_size_at_most_is_taken() {
    let mut kept = list(usize::MAX);
    assert!(kept.take(2 * PAGE).is_none());
    for size in [30, 9, 8, 10, 2] {
        assert!(kept.give(mapping(size)).is_empty());
    }
    assert_eq!(kept.take(9 * PAGE).unwrap().size(), 9 * PAGE);
    assert_eq!(pages(&kept), [30, 8, 10, 2]);
    assert_eq!(kept.take(9 * PAGE).unwrap().size(), 10 * PAGE);
    assert_eq!(pages(&kept), [30, 8, 2]);
    // 30 are more than twice 9, and 2 are too few.
    assert!(kept.take(9 * PAGE).is_none() && kept.take(3 * PAGE).is_none());
    assert_eq!((kept.hits, kept.misses), (2, 3));
}

#[test]
fn of_several_that_fit_the_one_that_was_freed_last_is_taken() {
    let mut kept = list(usize::MAX);
    let mut first = mapping(60);
    let mut second = first.split_off(20 * PAGE).unwrap();
    let third = second.split_off(20 * PAGE).unwrap();
    kept.give(third);
    kept.give(first);
    let found = kept.take(20 * PAGE).unwrap();
    assert!(found.is_before(&second));
    kept.give(found);
    assert!(kept.take(20 * PAGE).unwrap().is_before(&second));
}

#[test]
fn what_is_much_too_large_is_cut() {
    let mut kept = list(usize::MAX);
    for size in [40, 18] {
        kept.give(mapping(size));
    }
    // The rest of 18 is less than an eighth: it stays with what is taken.
    assert_eq!(kept.take(17 * PAGE).unwrap().size(), 18 * PAGE);
    // An eighth more is left.
    let found = kept.take(37 * PAGE).unwrap();
    assert_eq!(found.size(), 40 * PAGE);
    kept.give(found);
    let found = kept.take(30 * PAGE).unwrap();
    assert_eq!((found.size(), pages(&kept)), (30 * PAGE, vec![10]));
    let rest = kept.take(10 * PAGE).unwrap();
    assert_eq!((rest.size(), pages(&kept)), (10 * PAGE, vec![]));
    // Whole again, whichever comes back first.
    kept.give(rest);
    kept.give(found);
    assert_eq!(pages(&kept), [40]);
    let (first, second) = (kept.take(22 * PAGE).unwrap(), kept.take(18 * PAGE).unwrap());
    kept.give(first);
    kept.give(second);
    assert_eq!(pages(&kept), [40]);
    // Or each is freed alone.
    let first = kept.take(22 * PAGE).unwrap();
    assert_eq!(pages(&kept), [18]);
    drop(kept.over(0));
    drop(first);
    // Mappings that only happen to lie side by side stay apart.
    for _ in 0..8 {
        kept.give(mapping(2));
    }
    assert_eq!(pages(&kept), [2; 8]);
}

#[test]
fn what_is_less_than_an_array_is_not_cut_off() {
    let mut kept = list(usize::MAX);
    for grains in [7, 9] {
        kept.give(Mapping::new(grains * GRAIN).unwrap());
    }
    assert_eq!(kept.take(5 * GRAIN).unwrap().size(), 7 * GRAIN);
    // Within a huge page as well.
    let (found, rest) = (kept.take(5 * GRAIN).unwrap(), kept.kept.pop().unwrap());
    assert_eq!((found.size(), rest.size()), (5 * GRAIN, MAPPED));
    kept.held -= rest.size();
    kept.give(rest);
    kept.give(found);
    assert_eq!((kept.held, kept.kept.len()), (9 * GRAIN, 1));
}

#[test]
fn what_is_free_is_asked_for_once_in_so_many_bytes() {
    let mut kept = list(usize::MAX);
    let pages = LOOK / PAGE;
    let asked = (0..10 * pages).filter(|_| {
        kept.give(mapping(1));
        kept.take(PAGE);
        kept.is_time()
    });
    assert_eq!(asked.count(), 10);
}

#[test]
fn beyond_the_limit_the_oldest_goes() {
    let mut kept = list(10 * PAGE);
    assert!(kept.give(mapping(3)).is_empty() && kept.give(mapping(5)).is_empty());
    assert_eq!(kept.give(mapping(4)).iter().map(|m| m.size() / PAGE).collect::<Vec<_>>(), [3]);
    assert_eq!(pages(&kept), [5, 4]);
    // One that would take it all alone leaves the others.
    assert_eq!(kept.give(mapping(11)).len(), 1);
    assert_eq!(pages(&kept), [5, 4]);
    assert_eq!(kept.over(4 * PAGE).len(), 1);
    assert_eq!(pages(&kept), [4]);
    assert_eq!(kept.over(0).len(), 1);
    assert_eq!((kept.held, kept.kept.len()), (0, 0));

    let mut none = list(0);
    assert_eq!(none.give(mapping(2)).len(), 1);
    assert!(none.take(2 * PAGE).is_none());
}

#[test]
fn no_more_mappings_than_a_system_likes() {
    let mut kept = list(usize::MAX);
    let gone: usize = (0..MOST + 3).map(|_| kept.give(mapping(2)).len()).sum();
    assert_eq!((kept.kept.len(), gone), (MOST, 3));
}

#[test]
fn pieces_serve_arrays_of_like_size_until_there_are_too_many() {
    let mut small = Pieces { kept: Vec::new(), held: 0, limit: 100_000 };
    let piece = |bytes: usize| Piece::fresh(Piece::size_of(bytes).unwrap()).unwrap();
    let sizes = [8 << 10, 9000, 9001, 9216, 9217, 500_000].map(|bytes| Piece::size_of(bytes).unwrap());
    assert_eq!(sizes, [8 << 10, 9216, 9216, 9216, 10_240, 524_288]);
    // The largest that is not mapped is kept as well.
    assert!(PIECES.contains(&Piece::size_of(MAPPED - 1).unwrap()));
    assert_eq!([1, 16, 17, 8000].map(|bytes| Piece::size_of(bytes).unwrap()), [16, 16, 32, 8000]);
    for bytes in [9000, 9100, 20_000, 40_000] {
        assert!(small.give(piece(bytes)).is_empty());
    }
    assert_eq!((small.held, small.kept.len()), (2 * 9216 + 20_480 + 40_960, 3));
    assert_eq!(small.take(9216).unwrap().size(), 9216);
    assert!(small.take(9232).is_none() && small.take(9216).is_some() && small.take(9216).is_none());
    // Without room for it, all others go; one that would take more than all leaves them.
    assert_eq!(small.give(piece(200_000)).len(), 1);
    assert_eq!(small.held, 20_480 + 40_960);
    assert_eq!(small.give(piece(60_000)).iter().map(|(_, pieces)| pieces.len()).sum::<usize>(), 2);
    assert_eq!(small.held, 61_440);
}

#[test]
fn a_machine_without_a_limit_set_keeps_a_part_of_its_memory() {
    let mut kept = List::new();
    let limit = kept.limit();
    assert_eq!(limit > 0, cfg!(target_os = "linux"));
    assert!(kept.give(mapping(2)).is_empty() || limit < 2 * PAGE);
}
