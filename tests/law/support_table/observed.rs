//! What `explain` reports is compared with what ran: an op that says it made nothing dense asks for no block of memory
//! as large as a dense operand, and one that says it did, does.

use std::collections::HashMap;

use openwork::trace::Path;
use openwork::{DType, Layout, explain, with_densify_budget};

use super::ops::{self, Group, Op};
use super::table::{FillKind, LAYOUTS, sample_of};
use crate::memory::largest_block;

const N: usize = 512;

/// A dense operand or result takes at least a byte per element; what is stored, and rows and columns of the matrix, take
/// far less: 1 024 elements and 512 rows at 8 bytes are 8 and 4 KiB.
const DENSE: usize = N * N;

/// Ops with a result or an argument of their own that is larger than the operand, and so than any dense form of it.
const LARGER: &[&str] = &["kron", "khatri_rao", "outer", "take_along_axis"];

/// Families in which ops are given a second operand, the transpose: rows that are stored whole make that of a hybrid tensor
/// store everything.
const TWO: [Group; 4] = [Group::Binary, Group::Selection, Group::Join, Group::Product];

/// Each op on its own dtype of the table.
#[test]
fn every_path_is_what_ran() {
    let (sparse, dense) = paths(|op| vec![op.dtype]);
    assert!(sparse > 3000 && dense > 100, "{sparse} ops stayed sparse and {dense} did not: too few to mean anything");
}

/// Each op on every dtype that it takes.
#[test]
#[ignore = "minutes: run with --release"]
fn every_path_of_every_dtype_is_what_ran() {
    let (sparse, dense) = paths(|_| DType::ALL.to_vec());
    println!("{sparse} ops stayed sparse and {dense} did not");
    assert!(
        sparse > 30_000 && dense > 1000,
        "{sparse} ops stayed sparse and {dense} did not: too few to mean anything"
    );
}

/// Compares what is said with what is seen, for every op, layout and fill and some dtypes; how often nothing and something
/// was made dense. What an op refuses is left out: the support table says which and why.
fn paths(dtypes: impl Fn(&Op) -> Vec<DType>) -> (usize, usize) {
    let mut wrong = Vec::new();
    let (mut sparse, mut dense) = (0, 0);
    let mut samples = HashMap::new();
    for op in ops::all().iter().filter(|op| !LARGER.contains(&op.name)) {
        for dtype in dtypes(op) {
            for layout in LAYOUTS {
                for fill in FillKind::SPARSE {
                    if TWO.contains(&op.group) && matches!(layout, Layout::HybridCoo { .. }) {
                        continue;
                    }
                    let x = samples
                        .entry((layout, fill.name(), dtype))
                        .or_insert_with(|| sample_of(N, layout, fill, dtype))
                        .clone();
                    let ((result, steps), largest) =
                        largest_block(|| explain(|| with_densify_budget(1 << 30, || (op.run)(&x))));
                    let Ok(result) = result else { continue };
                    let which = || format!("{} of {dtype} on {layout}, fill {}", op.label, fill.name());
                    let Some(step) = steps.last().filter(|s| s.op == op.step()) else {
                        wrong.push(format!("{}: recorded no step", which()));
                        continue;
                    };
                    let said = step.path == Path::Densified;
                    // A result that is dense may be a small one.
                    let least = if said { DENSE.min(result.size() as usize) } else { DENSE };
                    let seen = largest >= least;
                    if said == seen {
                        *(if seen { &mut dense } else { &mut sparse }) += 1
                    } else {
                        wrong.push(format!("{}: {largest} bytes at once, yet {step}", which()));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} paths are not what ran:\n{}", wrong.len(), wrong.join("\n"));
    (sparse, dense)
}
