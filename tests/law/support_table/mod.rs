//! The support table: how every op is carried out on every layout and fill. It is made by running them, and a page of
//! the guide shows it; this test holds the page to what the library does, so that a hole in it is a decision.
//!
//! `OPENWORK_BLESS=1 cargo test --test law support` writes the page anew.

mod observed;
pub mod ops;
mod order;
pub mod table;

use std::collections::BTreeSet;

use openwork::{BinaryOp, ErrorKind, Layout, ReduceOp, UnaryOp};

use crate::families::FAMILIES;
use table::How;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/guide/support.md");

#[test]
fn the_page_says_what_the_library_does() {
    let page = table::page(&ops::all());
    if std::env::var_os("OPENWORK_BLESS").is_some() {
        std::fs::write(PAGE, &page).unwrap();
    }
    let written = std::fs::read_to_string(PAGE).unwrap_or_default();
    let differs = written.lines().zip(page.lines()).find(|(a, b)| a != b);
    assert!(
        written == page,
        "{PAGE} is not what the library does now (first difference: {differs:?}); is the change meant? \
         Then run OPENWORK_BLESS=1 cargo test --test law support, and read the difference"
    );
}

/// Everything that enters the law is in the table.
#[test]
fn no_op_is_left_out() {
    let listed: BTreeSet<&str> = ops::all().iter().map(|op| op.name).collect();
    let registered = UnaryOp::ALL.iter().map(|op| op.name());
    let registered = registered.chain(BinaryOp::ALL.iter().map(|op| op.name()));
    let registered = registered.chain(ReduceOp::ALL.iter().map(|op| op.name()));
    // Not of a tensor's elements, or with another result than a tensor.
    let others = [
        "bitmap",
        "diagonals",
        "equal",
        "allclose",
        "same_meaning",
        "where_number",
        "nonzero",
        "unset",
        "hb_csf",
        "mm_csf",
        "new",
        "dot",
        "vdot",
        "to_vec",
        "indices",
        "binary_assign",
        "unary_assign",
        "prepare",
    ];
    let facts = ["is_symmetric", "is_structure_symmetric", "is_upper_triangular", "is_lower_triangular", "ndiag"];
    let others = [&others[..], &facts].concat();
    let families = FAMILIES.iter().flat_map(|f| f.ops.iter().copied()).filter(|name| !others.contains(name));
    let missing: Vec<&str> = registered.chain(families).filter(|name| !listed.contains(name)).collect();
    assert!(missing.is_empty(), "not in the support table (tests/law/support_table/ops.rs): {missing:?}");
}

/// A defined fill is never the reason of an error, except where the mathematics has no answer.
#[test]
fn no_op_refuses_a_defined_fill() {
    let mut refused = Vec::new();
    for op in ops::all() {
        for (layout, fill, how) in table::outcomes(&op) {
            if let How::Error(why) = how
                && fill != table::FillKind::Undefined
                && !ops::NO_ANSWER.contains(&op.name)
            {
                refused.push(format!("{} on {layout} with fill {}: {why}", op.name, fill.name()));
            }
        }
    }
    assert!(refused.is_empty(), "{} errors:\n{}", refused.len(), refused.join("\n"));
}

/// Where no dense result is needed, the number of elements does not matter.
#[test]
fn every_op_takes_more_than_2_to_the_64_elements() {
    let mut refused = Vec::new();
    for op in ops::all().iter().filter(|op| !ops::NOT_HUGE.contains(&op.label)) {
        for layout in [Layout::Coo, Layout::Dcsr, Layout::Csf] {
            for fill in [table::FillKind::Zero, table::FillKind::Value, table::FillKind::Undefined] {
                let dense = || ops::LONG_FILL.contains(&op.name) || table::outcome(op, layout, fill) == How::Densify;
                match (op.run)(&table::huge(layout, fill, op.dtype)) {
                    Err(e) if matches!(e.kind(), ErrorKind::Densify { .. }) && dense() => {}
                    Err(e)
                        if order::EXACT_COUNTS.contains(&op.name) && e.to_string().contains("does not fit int64") => {}
                    Err(e) => refused.push(format!("{} on {layout} with fill {}: {e}", op.label, fill.name())),
                    Ok(_) => {}
                }
            }
        }
    }
    assert!(refused.is_empty(), "{} errors:\n{}", refused.len(), refused.join("\n"));
}
