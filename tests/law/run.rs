//! What is run: the sampled law, part by part and family by family; by hand also more samples, and the whole grid.

use crate::families::{FAMILIES, sampled};
use crate::report::Report;
use crate::rng::Rng;
use crate::sample::PARTS;
use crate::{grid, typing};

/// The seed of the sampled run, the same every time.
const SEED: u64 = 20_240_229;

fn part(name: &str) {
    let (_, run, rounds) = PARTS.iter().find(|(n, ..)| *n == name).unwrap();
    let mut report = Report::new();
    run(&mut report, &mut Rng::new(SEED), *rounds);
    report.finish(name);
}

macro_rules! parts {
    ($($name:ident)+) => {$(
        #[test]
        fn $name() {
            part(stringify!($name));
        }
    )+};
}
parts!(unary binary pattern numbers reduce matmul semirings einsum gradients differences storage large);

/// Products at the lower levels of vector instructions, as on a CPU that has no more, and with gathers and without. Both are the
/// process's, so each has a process of its own.
#[test]
fn matmul_at_lower_levels() {
    for (level, gathers) in
        [("baseline", "fast"), ("avx2", "fast"), ("avx2", "slow"), ("avx512", "fast"), ("avx512", "slow")]
    {
        let run = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "run::matmul", "--nocapture"])
            .env("OPENWORK_SIMD", level)
            .env("OPENWORK_GATHERS", gathers)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&run.stdout);
        assert!(
            run.status.success() && text.contains("1 passed"),
            "{level}, gathers {gathers}: {text}{}",
            String::from_utf8_lossy(&run.stderr)
        );
    }
}

fn family(name: &str) {
    let family = FAMILIES.iter().find(|f| f.name == name).unwrap();
    let mut report = Report::new();
    sampled(family, &mut report, &mut Rng::new(SEED), family.rounds);
    report.finish(name);
}

macro_rules! families {
    ($($name:ident)+) => {
        $(
            #[test]
            fn $name() {
                family(stringify!($name));
            }
        )+

        #[test]
        fn no_family_is_left_out() {
            assert_eq!(FAMILIES.iter().map(|f| f.name).collect::<Vec<_>>(), [$(stringify!($name)),+]);
        }
    };
}
families! {
    compare
    composed
    custom
    facts
    forms
    index
    nary
    order
    parts
    products
    rearrange
    scan
    shape
    short
    softmax
    statistics
}

/// Both tables of dtypes: promotion of every pair, and what every op gives or refuses.
#[test]
fn dtypes() {
    let mut report = Report::new();
    typing::check(&mut report);
    report.finish("dtypes");
}

/// The sampled parts again with another seed, given by `LAW_SEED`, and ten times as long.
#[test]
#[ignore = "minutes"]
fn more_samples() {
    let seed = std::env::var("LAW_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(SEED + 1);
    let mut total = Report::new();
    for (name, run, rounds) in PARTS {
        let mut report = Report::new();
        run(&mut report, &mut Rng::new(seed), rounds * 10);
        println!("{name}: {} cases, {} failed", report.cases, report.failed);
        total.merge(report);
    }
    for family in FAMILIES {
        let mut report = Report::new();
        sampled(family, &mut report, &mut Rng::new(seed), family.rounds * 10);
        println!("{}: {} cases, {} failed", family.name, report.cases, report.failed);
        total.merge(report);
    }
    total.finish("more samples");
}

/// All ops, storages, fills and dtypes; binary ops on all pairs of storages.
#[test]
#[ignore = "many minutes: run with --release"]
fn full_grid() {
    let mut total = Report::new();
    let rng = &mut Rng::new(SEED);
    let start = std::time::Instant::now();
    let mut part = |name: &str, run: &mut dyn FnMut(&mut Report)| {
        let mut report = Report::new();
        run(&mut report);
        let seconds = start.elapsed().as_secs();
        println!(
            "{name}: {} ops, {} cells, {} cases, {} failed, at {seconds} s",
            report.ops.len(),
            report.cells.len(),
            report.cases,
            report.failed
        );
        total.merge(report);
    };
    part("unary", &mut |r| grid::unary(r, rng));
    part("binary", &mut |r| grid::binary(r, rng, 200));
    part("reductions", &mut |r| grid::reductions(r, rng));
    part("products", &mut |r| grid::products(r, rng, 300));
    part("storage", &mut |r| grid::storage(r, rng));
    for family in FAMILIES {
        part(family.name, &mut |r| grid::family(family, r, rng));
    }
    total.finish("full grid");
}
