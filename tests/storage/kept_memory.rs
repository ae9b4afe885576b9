//! Memory of large arrays that were freed: how much a process keeps of it, that it is given back, and that nothing of it
//! shows in later arrays.
//!
//! The limit and what is kept belong to the whole process: these tests run in one of their own.

use std::process::Command;

use openwork::{DType, Layout, Tensor, memory};

/// Set in the process that runs the cases.
const ALONE: &str = "OPENWORK_KEPT_ALONE";

/// Elements of a result of 8 MiB.
const N: usize = 1 << 20;

#[test]
fn what_is_kept_is_bounded_and_never_shows() {
    if std::env::var_os(ALONE).is_some() {
        return cases();
    }
    let test = concat!(module_path!(), "::what_is_kept_is_bounded_and_never_shows").split_once("::").unwrap().1;
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let (told, why) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && told.contains("1 passed"), "{why}");
}

fn cases() {
    if cfg!(target_os = "linux") {
        a_loop_keeps_no_more_than_the_limit();
        nothing_of_earlier_arrays_shows();
        without_a_limit_nothing_is_kept();
        smaller_arrays_are_bounded_too();
        threads_share_what_is_kept();
        what_no_machine_has_is_refused_and_frees_nothing();
    } else {
        drop(large().add(1.0).unwrap());
        assert_eq!((memory::stats().held, memory::trim()), (0, 0));
    }
}

fn large() -> Tensor {
    Tensor::arange(0.0, N as f64, 1.0).unwrap()
}

/// Bytes of memory that this process has.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_ascii_whitespace().next().unwrap().parse::<usize>().unwrap() << 10
}

fn a_loop_keeps_no_more_than_the_limit() {
    const LIMIT: usize = 64 << 20;
    const SLACK: usize = 8 << 20;
    memory::set_limit(LIMIT);
    let x = large();
    drop(x.add(1.0).unwrap());
    let (alive, before) = (resident(), memory::stats());
    let mut most = 0;
    for i in 0..1000 {
        drop(x.add(1.0).unwrap());
        if i % 50 == 0 {
            // Many alive at a time, then all free: more than may be kept.
            drop((0..16).map(|_| x.add(1.0).unwrap()).collect::<Vec<_>>());
            most = most.max(resident());
            assert!(memory::stats().held <= LIMIT);
        }
    }
    let after = memory::stats();
    assert!(most <= alive + LIMIT + SLACK, "{most} bytes, {alive} before");
    assert_eq!((after.held, after.limit, after.mappings), (LIMIT, LIMIT, 8));
    assert_eq!(after.hits + after.misses - before.hits - before.misses, 1000 + 20 * 16);
    assert!(after.hits - before.hits >= 1000, "{after:?}");

    let full = resident();
    assert!(after.held_small <= 32 << 20);
    assert_eq!(memory::trim(), LIMIT + after.held_small);
    let none = memory::stats();
    assert_eq!((none.held, none.held_small, none.mappings, memory::trim()), (0, 0, 0, 0));
    assert!(resident() + LIMIT <= full + SLACK, "{full} bytes, {} after", resident());
}

/// Arrays of 100 KiB and others, many alive at a time.
fn smaller_arrays_are_bounded_too() {
    const MOST: usize = 32 << 20;
    memory::set_limit(1 << 30);
    let x = Tensor::arange(0.0, 12_800.0, 1.0).unwrap();
    for count in [1, 10, 500] {
        drop((0..count).map(|_| x.add(1.0).unwrap()).collect::<Vec<_>>());
        let held = memory::stats().held_small;
        assert!(held <= MOST && held >= (count * 12_800 * 8).min(MOST / 2), "{held} of {count}");
        // What others held does not show in one that is mostly zeros.
        let one = Tensor::coo([12_800], vec![vec![9]], &x.narrow(1..2, 0).unwrap(), 0.0).unwrap();
        assert_eq!(one.to_dense().unwrap().count_nonzero(..).unwrap().item_as::<i64>().unwrap(), 1);
    }
    memory::set_limit(50_000);
    assert!(memory::stats().held_small <= 50_000);
    drop(x.add(1.0).unwrap());
    assert!(memory::stats().held_small <= 50_000);
    memory::set_limit(0);
    drop(x.add(1.0).unwrap());
    assert_eq!(memory::stats().held_small, 0);
}

fn nothing_of_earlier_arrays_shows() {
    memory::set_limit(1 << 30);
    for dtype in [DType::Bool, DType::U8, DType::F32, DType::F64, DType::Complex128] {
        let n = (8 << 20) / dtype.size();
        let pattern = Tensor::full([n], 1.0, Layout::Strided).unwrap().cast(dtype).unwrap().to_contiguous().unwrap();
        let other = pattern.add(&pattern).unwrap();
        drop((pattern, other));
        let hits = memory::stats().hits;
        // One element stored of many: the others are what the memory held before they were made zero.
        let one = Tensor::coo([n], vec![vec![n as u64 - 1]], &Tensor::ones([1], dtype, Layout::Strided).unwrap(), 0.0);
        let dense = one.unwrap().cast(dtype).unwrap().to_layout(Layout::Strided).unwrap();
        assert!(memory::stats().hits > hits, "{dtype}");
        assert_eq!(dense.count_nonzero(..).unwrap().item_as::<i64>().unwrap(), 1, "{dtype}");
    }
}

fn without_a_limit_nothing_is_kept() {
    memory::set_limit(1 << 30);
    drop(large().add(1.0).unwrap());
    assert!(memory::stats().held >= 8 << 20);
    memory::set_limit(0);
    let before = memory::stats();
    assert_eq!((before.held, before.limit, before.mappings), (0, 0, 0));
    let x = large();
    for _ in 0..5 {
        drop(x.add(1.0).unwrap());
    }
    let after = memory::stats();
    assert_eq!((after.held, after.mappings, after.hits), (0, 0, before.hits));
    assert!(after.misses >= before.misses + 5);
}

fn threads_share_what_is_kept() {
    const LIMIT: usize = 100 << 20;
    memory::set_limit(LIMIT);
    let x = &large();
    let sum = (N * (N + 1) / 2) as f64;
    std::thread::scope(|scope| {
        for k in 0..4 {
            scope.spawn(move || {
                for i in 0..25 {
                    let y = x.add(1.0).unwrap();
                    let z = if (i + k) % 3 == 0 { y.add(&y).unwrap() } else { y.clone() };
                    let times = if (i + k) % 3 == 0 { 2.0 } else { 1.0 };
                    assert_eq!(y.sum(..).unwrap().item_as::<f64>().unwrap(), sum);
                    assert_eq!(z.sum(..).unwrap().item_as::<f64>().unwrap(), times * sum);
                    if i % 10 == 0 {
                        memory::trim();
                    }
                    assert!(memory::stats().held <= LIMIT);
                }
            });
        }
    });
}

fn what_no_machine_has_is_refused_and_frees_nothing() {
    memory::set_limit(usize::MAX);
    let x = large();
    drop((0..8).map(|_| x.add(1.0).unwrap()).collect::<Vec<_>>());
    let held = memory::stats().held;
    assert!(held >= 64 << 20);
    // To give it back would not help.
    assert!(Tensor::arange(0.0, 1e15, 1.0).is_err());
    assert_eq!(memory::stats().held, held);
}
