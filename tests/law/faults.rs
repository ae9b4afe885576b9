//! Proof that the law can fail: the library is made to make one mistake after the other, and the sampled law
//! has to find each.

use std::process::Command;

use crate::families::{FAMILIES, sampled};
use crate::report::Report;
use crate::rng::Rng;
use crate::sample::PARTS;
use openwork::faults::{Fault, plant};

/// The first failure of a short run of the whole law, with the part that found it.
fn first_failure() -> Option<(&'static str, String)> {
    let of_parts = PARTS.iter().find_map(|(name, run, rounds)| {
        let mut report = Report::first();
        run(&mut report, &mut Rng::new(11), rounds.div_ceil(20));
        report.failures.pop().map(|(_, text)| (*name, text))
    });
    of_parts.or_else(|| {
        FAMILIES.iter().find_map(|family| {
            let mut report = Report::first();
            sampled(family, &mut report, &mut Rng::new(11), family.rounds.div_ceil(20));
            report.failures.pop().map(|(_, text)| (family.name, text))
        })
    })
}

/// Set in the process that plants.
const ALONE: &str = "OPENWORK_TEST_FAULTS";

/// In a process of its own, for there is one switch for the whole process and the other tests must not meet it.
#[test]
fn every_planted_fault_is_found() {
    if std::env::var_os(ALONE).is_some() {
        return plant_all();
    }
    let test = concat!(module_path!(), "::every_planted_fault_is_found").split_once("::").unwrap().1;
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let (told, why) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{told}");
    assert!(output.status.success() && told.contains("1 passed"), "{why}");
}

fn plant_all() {
    assert_eq!(first_failure(), None, "without a fault");
    let mut missed = Vec::new();
    for fault in Fault::ALL {
        plant(Some(fault));
        let found = first_failure();
        plant(None);
        match found {
            Some((part, text)) => {
                println!("{fault:?}: found by {part}: {}", text.chars().take(160).collect::<String>())
            }
            None => missed.push(fault),
        }
    }
    assert!(missed.is_empty(), "the law does not notice {missed:?}");
}
