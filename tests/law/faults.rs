//! Proof that the law can fail: the library is made to make one mistake after the other, and the sampled law
//! has to find each.

#![cfg(feature = "planted-faults")]

#[path = "law/mod.rs"]
mod checks;

use checks::families::{FAMILIES, sampled};
use checks::report::Report;
use checks::rng::Rng;
use checks::sample::PARTS;
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

/// One test, for there is one switch for the whole process.
#[test]
fn every_planted_fault_is_found() {
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
