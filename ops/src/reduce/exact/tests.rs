use super::*;

const TINY: f64 = f64::from_bits(1);

fn exact(terms: &[f64]) -> Exact {
    let mut sum = Exact::new();
    terms.iter().for_each(|&t| sum.add(t));
    sum
}

#[track_caller]
fn check(terms: &[f64], expected: f64) {
    let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    let got = exact(terms).round();
    assert!(same(got, expected), "{terms:?}: {got:e}, not {expected:e}");
    let negated = exact(&terms.iter().map(|t| -t).collect::<Vec<_>>()).round();
    assert!(same(negated, 0.0 - expected), "negated {terms:?}: {negated:e}");
    // In two parts, and there and back.
    let (a, b) = terms.split_at(terms.len() / 2);
    let mut sum = exact(b);
    sum.merge(&exact(a).compact());
    assert!(same(sum.round(), expected), "merged {terms:?}");
    // Quickly, where that is certain: in one, in two parts, and beside an exact sum.
    let one = Quick::of(terms.iter().copied());
    let (mut two, mut beside) = (Quick::of(b.iter().copied()), Quick::of(b.iter().copied()));
    two.merge(&Quick::of(a.iter().copied()));
    beside.merge(&exact(a).compact().quick());
    for quick in [one, two, beside] {
        assert!(quick.round().is_none_or(|sum| same(sum, expected)), "quickly {terms:?}: {quick:?}");
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let x = self.0 ^ self.0 >> 32;
        x.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
    /// An integer of up to 53 bits, times 2^shift for a shift below 60.
    fn scaled(&mut self) -> i128 {
        let value = i128::from(self.next() >> (11 + self.next() % 53)) << (self.next() % 60);
        if self.next() & 1 == 0 { value } else { -value }
    }
}

/// An integer that is a multiple of a power of two, as few bits as a float has, times 2^scale.
fn float(integer: i128, scale: i32) -> f64 {
    // In two steps, both exact: a power of two may itself be out of range.
    integer as f64 * 2f64.powi(scale / 2) * 2f64.powi(scale - scale / 2)
}

#[test]
fn hard_cases() {
    let (max, half_ulp) = (f64::MAX, 2f64.powi(970));
    check(&[], 0.0);
    check(&[-0.0, 0.0], 0.0);
    check(&[1e30, 1.0, -1e30], 1.0);
    check(&[1e308, TINY, -1e308, -TINY], 0.0);
    check(&[1e308, 1e308, 1e308, -1e308, -1e308], 1e308);
    check(&[max, max, -max, TINY], max);
    check(&[max, half_ulp], f64::INFINITY);
    check(&[max, half_ulp, -TINY], max);
    check(&[max; 100], f64::INFINITY);
    check(&[TINY, TINY, -3.0 * TINY], -TINY);
    check(&[f64::MIN_POSITIVE, -TINY], f64::MIN_POSITIVE - TINY);
    check(&[f64::MIN_POSITIVE - TINY, TINY], f64::MIN_POSITIVE);
    check(&[2.0 * f64::MIN_POSITIVE, -TINY], 2.0 * f64::MIN_POSITIVE - TINY);
    check(&[2.0 * f64::MIN_POSITIVE, TINY], 2.0 * f64::MIN_POSITIVE); // a tie, to even
    check(&[2.0 * f64::MIN_POSITIVE, 3.0 * TINY], 2.0 * f64::MIN_POSITIVE + 4.0 * TINY);
    // Ties to even, and what tips them from far below.
    let p53 = 2f64.powi(53);
    check(&[p53, 1.0], p53);
    check(&[p53, 3.0], p53 + 4.0);
    check(&[p53, 1.0, TINY], p53 + 2.0);
    check(&[p53, 1.0, -TINY], p53);
    check(&[p53, 3.0, -TINY], p53 + 2.0);
    check(&[p53 - 1.0, 0.5], p53);
    check(&[1.0, f64::EPSILON / 2.0], 1.0);
    check(&[1.0, -f64::EPSILON / 4.0], 1.0);
    check(&[1.0, -f64::EPSILON / 4.0, -TINY], 1.0 - f64::EPSILON / 2.0);
}

#[test]
fn terms_that_are_not_finite() {
    let inf = f64::INFINITY;
    check(&[1e308, inf, 1e308], inf);
    check(&[inf, 1.0, -inf], f64::NAN);
    check(&[f64::NAN, inf], f64::NAN);
    let mut sum = exact(&[-inf, 3.0]);
    sum.scale(1 << 100);
    assert_eq!(sum.round(), -inf);
    sum.scale(0);
    assert_eq!(sum.round(), 0.0);
}

#[test]
fn sums_are_those_of_integers() {
    let mut random = Random(1);
    for round in 0..2000 {
        let integers: Vec<i128> = (0..round % 40).map(|_| random.scaled()).collect();
        let total: i128 = integers.iter().sum();
        // As it is, in the middle, at the very bottom, and near the top of the range.
        for scale in [0, -90, -1074, 880] {
            let terms: Vec<f64> = integers.iter().map(|&i| float(i, scale)).collect();
            check(&terms, float(total, scale));
            let mut rest = exact(&terms);
            terms.iter().rev().for_each(|&t| rest.sub(t));
            assert_eq!(rest.round().to_bits(), 0);
        }
    }
}

#[test]
fn factors() {
    let mut random = Random(2);
    for _ in 0..5000 {
        let terms = [random.scaled() >> 59, random.scaled() >> 59].map(|t| t >> 12);
        let times = u128::from(random.next()) >> (random.next() % 64);
        let total = (terms[0] + terms[1]) * times as i128;
        for scale in [0, -1074, 900] {
            let mut sum = exact(&terms.map(|t| float(t, scale)));
            sum.scale(times);
            assert_eq!(sum.round().to_bits(), float(total, scale).to_bits(), "{times} × {terms:?}");
        }
    }
    for (terms, times, expected) in [
        (&[3.0, -1.0][..], u128::MAX, 2f64.powi(129)),
        (&[-f64::MAX], u128::MAX, f64::NEG_INFINITY),
        (&[TINY], (1 << 53) + 1, float(1 << 53, -1074)),
        (&[TINY], (1 << 54) + 6, float((1 << 54) + 8, -1074)),
        (&[f64::MAX, -f64::MAX, -TINY], 1 << 127, float(-1 << 126, -1073)),
    ] {
        let mut sum = exact(terms);
        sum.scale(times);
        assert_eq!(sum.round().to_bits(), expected.to_bits(), "{times} × {terms:?}");
    }
    // A multiple taken away again, from far beyond the range.
    let mut sum = exact(&[f64::MAX, 1.0]);
    sum.scale(u128::MAX);
    let mut less = exact(&[-f64::MAX]);
    less.scale(u128::MAX);
    sum.merge(&less.compact());
    assert_eq!(sum.round(), 2f64.powi(128));
    // Factor upon factor: infinite in the end, and no panic.
    sum.sub(2f64.powi(129));
    (0..30).for_each(|_| sum.scale(u128::MAX));
    assert_eq!(sum.round(), f64::NEG_INFINITY);
}

#[test]
fn carries_wait_and_move() {
    let mut sum = Exact::new();
    sum.waiting = WAITING - 3;
    for limb in &mut sum.limbs[5..9] {
        *limb = (1i64 << 62) - (3 << 32);
    }
    (sum.low, sum.high) = (5, 9);
    let before = sum.clone().round();
    let unit = float(1, 5 * 32 - 1074);
    (0..6).for_each(|_| sum.add(unit));
    assert_eq!(sum.waiting, 3);
    assert!(sum.limbs.iter().all(|l| l.abs() <= 1 << 31 | 3));
    (0..6).for_each(|_| sum.sub(unit));
    assert_eq!(sum.round(), before);
}

#[test]
fn negative_sums_are_short() {
    assert_eq!(exact(&[-1.0]).compact().digits.len(), 1);
    assert_eq!(exact(&[1.0, -1.0]).compact().digits.len(), 0);
    let sum = exact(&[2f64.powi(-20), -1e10]).compact();
    assert!(sum.digits.len() <= 4, "{sum:?}");
}

#[test]
fn sums_are_mostly_certain() {
    let mut random = Random(5);
    let terms: Vec<f64> = (0..10_000).map(|_| random.next() as f64 / 1e19 - 0.7).collect();
    let certain = |terms: &[f64]| Quick::of(terms.iter().copied()).round() == Some(exact(terms).round());
    // Terms of like magnitudes have sums halfway between two numbers.
    let n = terms.chunks(20).filter(|&terms| certain(terms)).count();
    assert!(n > 400 && certain(&terms), "{n}");
    assert!(certain(&[]) && certain(&[1.0, -1.0]) && certain(&[0.5; 7]));
    // Between two numbers, and a little more: nobody can say which without all of it.
    let between = [1.0, f64::EPSILON / 2.0];
    assert_eq!(Quick::of(between.into_iter()).round(), None);
    check(&between, 1.0);
    check(&[between[0], between[1], 1e-40], 1.0 + f64::EPSILON);
    check(&[between[0], between[1], -1e-40], 1.0);
}
