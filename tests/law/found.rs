//! Cases that long runs of the law found, and that were mended since: every run has them.

use openwork::Semiring;

use super::cells::Cell;
use super::cells::FillKind::{self, *};
use super::cells::Store::{self, *};
use super::families::FAMILIES;
use super::oracle::OType::{self, *};
use super::pointwise::Mode;
use super::report::Report;
use super::{einsum, gradients};

type Drawn = (Store, FillKind, OType, &'static [usize]);

fn cell(&(store, fill, dtype, shape): &Drawn) -> Cell {
    Cell { store, fill, dtype, shape: shape.to_vec() }
}

/// Products of some factors that are infinite on the way, and sums of three in another order.
const SUMS: [(&str, Semiring, &[Drawn], Mode, u64); 4] = [
    (
        "ijk,ir,jr,kr->r",
        Semiring::PLUS_TIMES,
        &[
            (CooDuplicates, Value, U64, &[1, 4, 3]),
            (Csc, Value, U64, &[1, 3]),
            (CooDuplicates, Zero, U64, &[4, 3]),
            (Coo, Rows, BF16, &[3, 3]),
        ],
        Mode::Exact,
        0x4f8_6752_3b55_62f0,
    ),
    (
        "kjl,jmj,l->klm",
        Semiring::MAX_PLUS,
        &[(Csf, Infinity, BF16, &[2, 2, 1]), (Coo, Zero, I8, &[2, 3, 2]), (HybridNarrowed, Special, I8, &[1])],
        Mode::Finite,
        0xd11a_d211_eaa7_df26,
    ),
    (
        "ijk,ir,jr,kr->r",
        Semiring::PLUS_TIMES,
        &[
            (CsrIso, Special, I64, &[3, 4, 2]),
            (CooPermuted, NegativeZero, F32, &[3, 2]),
            (HybridFirst, Dense, I64, &[4, 2]),
            (Csc, Special, I16, &[2, 2]),
        ],
        Mode::Exact,
        0xac49_15cf_760d_20eb,
    ),
    (
        "ijk,ir,jr,kr->r",
        Semiring::PLUS_TIMES,
        &[
            (CooIso, Rows, I64, &[2, 3, 3]),
            (Csc, Zero, BF16, &[2, 1]),
            (Hybrid, Special, I16, &[3, 1]),
            (Dcsr, Rows, I64, &[3, 1]),
        ],
        Mode::Exact,
        0x9c86_7a11_4bac_b23e,
    ),
];

/// Integers and sums that no `float16` holds.
const OF_FAMILIES: [(&str, &str, Drawn, u64); 6] = [
    ("products", "multi_dot", (Dcsr, Rows, F16, &[3, 4]), 0xc6b3_8ecc_8395_0ee7),
    ("products", "matmul_reduce", (HybridDuplicates, Special, I32, &[3, 4]), 0x99f6_6ccd_dc18_c761),
    ("products", "matmul_reduce", (Bsc, Infinity, F16, &[1, 2, 2]), 0x4335_58ba_3750_434f),
    ("products", "matmul_reduce", (Hybrid, Rows, F16, &[3, 0]), 0xb4e7_bf27_523e_3eb6),
    ("products", "matmul_reduce", (CsrIso, Special, I16, &[1, 1]), 0x9439_c5b7_2c5b_dcee),
    ("products", "matmul_reduce", (Csc, Special, U64, &[2, 3, 2, 2]), 0x4d68_1e00_71e5_5e89),
];

/// Fills whose gradient meets NaN or infinities at stored elements alone.
const GRADIENTS: [(&str, u64); 2] = [("matmul", 0x30e4_a2a4_ffa3_419f), ("matmul", 0x918b_50da_6e85_3e68)];

/// A slice whose elements are nearly equal.
const DIFFERENCES: [(&str, u64); 1] = [("std", 0xb001_276d_ed70_b8fd)];

#[test]
fn found() {
    let mut report = Report::new();
    for (equation, semiring, cells, mode, seed) in SUMS {
        let cells: Vec<Cell> = cells.iter().map(cell).collect();
        let refs: Vec<&Cell> = cells.iter().collect();
        let what = || format!("{equation} {} {cells:?} {mode:?} {seed:#x}", semiring.name());
        report.case("einsum", &refs, what, || einsum::check(equation, &cells, semiring, seed, mode));
    }
    for (family, op, drawn, seed) in OF_FAMILIES {
        let family = FAMILIES.iter().find(|f| f.name == family).unwrap();
        let cell = cell(&drawn);
        report.case(op, &[&cell], || format!("{cell:?} {seed:#x}"), || (family.check)(op, &cell, seed));
    }
    for (kind, seed) in GRADIENTS {
        gradients::case(&mut report, kind, seed);
    }
    for (kind, seed) in DIFFERENCES {
        gradients::differences::case(&mut report, kind, seed);
    }
    assert_eq!(report.cases as usize, SUMS.len() + OF_FAMILIES.len() + GRADIENTS.len() + DIFFERENCES.len());
    report.finish("found");
}
