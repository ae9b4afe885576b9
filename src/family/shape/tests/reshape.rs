use super::*;

#[test]
fn numbers_are_split_as_by_division() {
    let sizes = [2, 3, 7, 8, 10, 641, 1 << 20, (1 << 31) - 1, 1 << 32, (1 << 32) + 15, 6_700_417];
    for by in sizes {
        for limit in [by, by + 1, 3 * by, by * by.min(1 << 20), (u64::MAX / by).max(by), 1 << 63, u64::MAX] {
            let near = |n: u64| [n.saturating_sub(2), n.saturating_sub(1), n, n.saturating_add(1)];
            let of = |n: u64| near(n).into_iter().chain(near(limit / by * by)).chain(near(limit / 2 / by * by));
            let mut numbers: Vec<u64> = of(by).chain(of(0)).chain(of(limit - 1)).filter(|&n| n < limit).collect();
            let wanted: Vec<(u64, u64)> = numbers.iter().map(|n| (n / by, n % by)).collect();
            let (mut first, mut second) = (vec![0u64; wanted.len()], vec![0u64; wanted.len()]);
            let divisors = [Divisor::new(u64::MAX, limit), Divisor::new(by, limit)];
            let len = wanted.len();
            split(&mut numbers, &divisors, &mut [&mut first[..], &mut second[..]], 0..len);
            let found: Vec<(u64, u64)> = first.into_iter().zip(second).collect();
            assert_eq!(found, wanted, "{by} below {limit}");
        }
    }
}
