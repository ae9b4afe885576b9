use super::{Axes, Axis, keep};

fn axes(given: impl Into<Axes>) -> Vec<usize> {
    given.into().of(3).unwrap()
}

fn refused(given: impl Into<Axes>, ndim: usize) -> String {
    given.into().of(ndim).unwrap_err().to_string()
}

/// Every form that may be written, literals without a suffix among them.
#[test]
#[allow(clippy::reversed_empty_ranges)] // -1 is the last axis, not a number below 1
fn forms() {
    assert_eq!([axes(0), axes(2), axes(-1), axes(-3)], [[0], [2], [2], [0]]);
    assert_eq!([axes(1i32), axes(1i64), axes(1isize), axes(1usize)], [[1]; 4]);
    assert_eq!([axes([0, 2]), axes([2, 0]), axes([-1, 0]), axes(vec![0, 2])], [[0, 2]; 4]);
    let (short, long, signed) = (vec![0i32, 2], vec![0usize, 2], vec![0isize, -1]);
    assert_eq!([axes(&short), axes(&long), axes(&signed), axes(&long[..])], [[0, 2]; 4]);
    assert_eq!([axes(short), axes(long.clone()), axes(signed)], [[0, 2]; 3]);
    assert_eq!([axes(1..), axes(1..3), axes(1..=2), axes(-2..), axes(1..=-1)], [[1, 2]; 5]);
    assert_eq!([axes(..2), axes(..=1), axes(..-1), axes(..=-2), axes(0..2usize)], [[0, 1]; 5]);
    assert_eq!([axes(..), axes(0..), axes(..3), axes(keep(..)), axes([0, 1, 2])], [[0, 1, 2]; 5]);
    assert_eq!([axes(Axes::none()), axes([0usize; 0]), axes(3..), axes(1..1)], [[0; 0]; 4]);
    assert_eq!(axes((0..3usize).filter(|a| a % 2 == 0).collect::<Axes>()), [0, 2]);
    for axis in 0..3 {
        assert_eq!((axes(axis), axes([axis])), (vec![axis], vec![axis]));
    }
}

#[test]
fn keeping() {
    let kept = [keep(0), keep([0, 1]), keep(..), keep(1..), keep(keep(0)), keep(Axes::none())];
    assert!(kept.iter().all(Axes::keeps));
    assert!(!Axes::from(0).keeps() && !Axes::from(..).keeps());
    assert_eq!(axes(keep([2, 0])), [0, 2]);
    let error = keep(0).unkept().unwrap_err().to_string();
    assert!(error.contains("reductions"), "{error}");
}

/// Where the order counts it is the one given.
#[test]
fn order() {
    assert_eq!(Axes::from([2, 0, 1]).ordered(3).unwrap(), [2, 0, 1]);
    assert_eq!(Axes::from([1, -2, 0]).listed(3).unwrap(), [1, 1, 0]);
    assert_eq!(Axes::from(-1).one_or_all(3).unwrap(), Some(2));
    assert_eq!(Axes::from(..).one_or_all(1).unwrap(), None);
    assert_eq!(Axes::from([0]).one_or_all(1).unwrap(), Some(0));
    let error = Axes::from([0, 1]).one_or_all(2).unwrap_err().to_string();
    assert!(error.contains("2 axes are given, allowed is one"), "{error}");
    assert!(Axes::none().one_or_all(2).is_err());
}

/// Places of new axes count in the result.
#[test]
fn places() {
    assert_eq!(Axes::from(-1).placed(2).unwrap(), [2]);
    assert_eq!(Axes::from([3, 0]).placed(2).unwrap(), [0, 3]);
    assert_eq!(Axes::from([-1, -2]).placed(0).unwrap(), [0, 1]);
    assert!(
        Axes::from(3).placed(2).is_err() && Axes::from(..).placed(2).is_err() && Axes::from(0..1).placed(2).is_err()
    );
}

#[test]
fn refusals() {
    for (error, says) in [
        (refused(3, 3), "axis 3 of a tensor with 3 axes: allowed are -3..=2"),
        (refused(-4, 3), "axis -4 of a tensor with 3 axes: allowed are -3..=2"),
        (refused(0, 0), "axis 0 of a tensor with 0 axes: it has none"),
        (refused([0], 0), "it has none"),
        (refused([0, -3], 3), "axis -3 of a tensor with 3 axes: given twice"),
        (refused([1, 1], 3), "given twice"),
        (refused(keep([1, 1]), 3), "given twice"),
        (refused([0, 1, 7], 3), "axis 7"),
        (refused(usize::MAX, 3), "allowed are -3..=2"),
        (refused(4.., 3), "4.. is no range of the 3 axes"),
        (refused(..5, 3), "0..5 is no range of the 3 axes: allowed are ends from 0 to 3"),
        (refused(-4.., 3), "-4.. is no range"),
        (refused(i64::MIN..i64::MAX, 3), "is no range"),
    ] {
        assert!(error.contains(says), "{error}");
    }
    let backwards = std::ops::Range { start: 2, end: 1 };
    assert!(refused(backwards, 3).contains("2..1 is no range"));
    assert!(Axis::from(isize::MIN).of(3).is_err());
    assert!(axes(..).len() == 3 && Axes::from(..).of(0).unwrap().is_empty());
}
