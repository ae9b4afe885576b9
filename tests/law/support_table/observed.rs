//! What `explain` reports is compared with what ran: an op that says it made nothing dense asks for no block of memory
//! as large as a dense operand, and one that says it did, does.

use openwork::trace::Path;
use openwork::{Layout, explain, with_densify_budget};

use super::ops::{self, Group};
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

#[test]
fn every_path_is_what_ran() {
    let mut wrong = Vec::new();
    let (mut sparse, mut dense) = (0, 0);
    for op in ops::all().iter().filter(|op| !LARGER.contains(&op.name)) {
        for layout in LAYOUTS {
            for fill in FillKind::SPARSE {
                if TWO.contains(&op.group) && matches!(layout, Layout::HybridCoo { .. }) {
                    continue;
                }
                let x = sample_of(N, layout, fill, op.dtype);
                let ((result, steps), largest) =
                    largest_block(|| explain(|| with_densify_budget(1 << 30, || (op.run)(&x))));
                let Ok(result) = result else { continue }; // the support table says which and why
                let Some(step) = steps.last().filter(|s| s.op == op.step()) else {
                    wrong.push(format!("{} on {layout}, fill {}: recorded no step", op.label, fill.name()));
                    continue;
                };
                let said = step.path == Path::Densified;
                // A result that is dense may be a small one.
                let least = if said { DENSE.min(result.size() as usize) } else { DENSE };
                let seen = largest >= least;
                if said == seen {
                    *(if seen { &mut dense } else { &mut sparse }) += 1
                } else {
                    wrong.push(format!(
                        "{} on {layout}, fill {}: {largest} bytes at once, yet {step}",
                        op.label,
                        fill.name()
                    ));
                }
            }
        }
    }
    assert!(sparse > 3000 && dense > 100, "{sparse} ops stayed sparse and {dense} did not: too few to mean anything");
    assert!(wrong.is_empty(), "{} paths are not what ran:\n{}", wrong.len(), wrong.join("\n"));
}
