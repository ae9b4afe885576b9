//! The page of the guide: what libtorch does with each op on each of its sparse layouts.

use std::fmt::Write;

use openwork::DType;

use super::{THEIRS, Verdict, all, answer, beside, dense, ours, quietly, theirs, verdict};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/guide/torch.md");
const BEGIN: &str = "<!-- written by tests/torch/against/table.rs -->\n";

/// The element types that the table is of: the first that libtorch takes for an op on strided tensors.
const OF: [DType; 4] = [DType::F64, DType::I64, DType::Bool, DType::Complex128];

fn cell(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "yes",
        Verdict::Refuses => "–",
        Verdict::Wrong => "**wrong**",
    }
}

fn table() -> (String, Vec<String>) {
    let mut rows: Vec<(Vec<Verdict>, Vec<&str>)> = Vec::new();
    let mut wrong = Vec::new();
    for op in all() {
        let strided =
            |dtype: &DType| answer(op.theirs, &theirs(&ours(*dtype, "strided"))).ok().and_then(|t| dense(&t).ok());
        let Some((dtype, wanted)) = OF.iter().find_map(|d| strided(d).map(|wanted| (*d, wanted))) else { continue };
        if op.name.ends_with("(nonzero)") {
            continue; // `libtorch` has no sparse operand that is nowhere zero
        }
        let verdicts: Vec<Verdict> = THEIRS
            .iter()
            .map(|layout| {
                let (verdict, why) = verdict(&op, &theirs(&ours(dtype, layout)), &wanted);
                if verdict == Verdict::Wrong {
                    wrong.push(format!("{} of {dtype}, {layout}: {why}", op.name));
                }
                verdict
            })
            .collect();
        match rows.iter_mut().find(|(of, _)| *of == verdicts) {
            Some((_, names)) => names.push(op.name),
            None => rows.push((verdicts, vec![op.name])),
        }
    }
    rows.sort_by_key(|(verdicts, _)| verdicts.iter().map(|&v| v as usize).sum::<usize>());
    let mut out = format!("| op | {} |\n|---|{}\n", THEIRS.join(" | "), "---|".repeat(THEIRS.len()));
    for (verdicts, names) in rows {
        let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
        let cells: Vec<&str> = verdicts.into_iter().map(cell).collect();
        writeln!(out, "| {} | {} |", names.join(", "), cells.join(" | ")).unwrap();
    }
    (out, wrong)
}

#[test]
fn the_page_says_what_libtorch_does() {
    let _beside = beside();
    quietly();
    let (table, wrong) = table();
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (head, old) = page.split_once(BEGIN).expect("the page has a table");
    if std::env::var_os("OPENWORK_BLESS").is_some() {
        println!("{}", wrong.join("\n"));
        std::fs::write(PAGE, format!("{head}{BEGIN}\n{table}")).unwrap();
        return;
    }
    assert_eq!(old.trim(), table.trim(), "OPENWORK_BLESS=1 writes it anew");
}
