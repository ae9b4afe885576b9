//! Runs ops on every layout and fill, and prints how they were carried out.

use std::collections::BTreeMap;
use std::fmt::Write;

use openwork::trace::Path;
use openwork::{DType, ErrorKind, Fill, Layout, Scalar, Tensor, explain, with_densify_budget};

use super::ops::{Group, Op};

/// How an op was carried out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    Strided,
    Values,
    Specialised,
    Engine,
    Densify,
    Error(String),
}

impl How {
    fn word(&self) -> &'static str {
        match self {
            How::Strided => "strided",
            How::Values => "values",
            How::Specialised => "specialised",
            How::Engine => "engine",
            How::Densify => "densify",
            How::Error(_) => "error",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FillKind {
    /// The fill that a layout without one has: none.
    Strided,
    Zero,
    Value,
    /// One value per row.
    Rows,
    /// One value per column.
    Columns,
    Undefined,
}

impl FillKind {
    pub const SPARSE: [FillKind; 5] =
        [FillKind::Zero, FillKind::Value, FillKind::Rows, FillKind::Columns, FillKind::Undefined];

    pub fn name(self) -> &'static str {
        match self {
            FillKind::Strided => "strided",
            FillKind::Zero => "0",
            FillKind::Value => "another value",
            FillKind::Rows => "per row",
            FillKind::Columns => "per column",
            FillKind::Undefined => "undefined",
        }
    }

    fn fill(self, shape: &[usize], dtype: DType) -> Fill {
        let array = |shape: &[usize]| {
            let values = (0..shape.iter().product::<usize>()).map(|i| 1 + i as i32).collect();
            Fill::array(Tensor::from_vec(shape, values).unwrap().cast(dtype).unwrap())
        };
        match self {
            FillKind::Zero | FillKind::Strided => Fill::Scalar(Scalar::zero(dtype)),
            FillKind::Value => Fill::Scalar(Scalar::one(dtype)),
            FillKind::Rows => array(&[shape[0], 1]),
            FillKind::Columns => array(&[1, shape[1]]),
            FillKind::Undefined => Fill::Undefined,
        }
    }
}

pub const LAYOUTS: [Layout; 9] = [
    Layout::Coo,
    Layout::HybridCoo { dense_dims: 1 },
    Layout::Csr,
    Layout::Csc,
    Layout::Dcsr,
    Layout::Dcsc,
    Layout::Csf,
    Layout::Bsr { block: [2, 2] },
    Layout::Bsc { block: [2, 2] },
];

/// A square matrix in that layout. Rows 2 and 3 are stored whole, and nothing of the last two: then hybrid and blocked
/// layouts can hold an undefined fill too.
pub fn sample(layout: Layout, fill: FillKind, dtype: DType) -> Tensor {
    sample_of(6, layout, fill, dtype)
}

/// The same with more rows and columns. What is stored are about 2 rows, however many there are.
pub fn sample_of(n: usize, layout: Layout, fill: FillKind, dtype: DType) -> Tensor {
    let whole = matches!(layout, Layout::HybridCoo { .. } | Layout::Bsr { .. } | Layout::Bsc { .. });
    let stored = |r: usize, c: usize| (2..4).contains(&r) || (!whole && r < 2 && (r + 2 * c).is_multiple_of(3));
    let at: Vec<(usize, usize)> =
        (0..n).flat_map(|r| (0..n).map(move |c| (r, c))).filter(|&(r, c)| stored(r, c)).collect();
    let values: Vec<i32> = (0..at.len()).map(|i| (i * 7 % 11) as i32 - 3).collect();
    let values = Tensor::from_vec([at.len()], values).unwrap().cast(DType::F64).unwrap();
    let values = if dtype.is_unsigned() { values.abs().unwrap() } else { values }.cast(dtype).unwrap();
    let indices = vec![at.iter().map(|i| i.0).collect::<Vec<_>>(), at.iter().map(|i| i.1).collect()];
    let x = Tensor::coo([n, n], indices, &values, fill.fill(&[n, n], dtype)).unwrap();
    if layout == Layout::Strided { x.to_dense().unwrap() } else { x.to_layout(layout).unwrap() }
}

/// A matrix of 2^80 elements, five of them stored.
pub fn huge(layout: Layout, fill: FillKind, dtype: DType) -> Tensor {
    const N: usize = 1 << 40;
    let values = Tensor::from_vec([5], vec![1, 2, 3, 4, 5]).unwrap().cast(dtype).unwrap();
    let indices = vec![vec![0, 1, 1, 7, N - 1], vec![3, 0, N - 1, 7, N - 2]];
    Tensor::coo([N, N], indices, &values, fill.fill(&[1, 1], dtype)).unwrap().to_layout(layout).unwrap()
}

/// Runs an op on every layout and fill.
pub fn outcomes(op: &Op) -> Vec<(Layout, FillKind, How)> {
    let mut out = vec![(Layout::Strided, FillKind::Strided, outcome(op, Layout::Strided, FillKind::Strided))];
    for fill in FillKind::SPARSE {
        out.extend(LAYOUTS.map(|layout| (layout, fill, outcome(op, layout, fill))));
    }
    out
}

pub fn outcome(op: &Op, layout: Layout, fill: FillKind) -> How {
    let x = sample(layout, fill, op.dtype);
    let (result, steps) = explain(|| with_densify_budget(0, || (op.run)(&x)));
    match result {
        Ok(_) => match steps.last().filter(|s| s.op == op.step()).map(|s| s.path) {
            Some(Path::Strided) => How::Strided,
            Some(Path::Values) => How::Values,
            Some(Path::Specialised) => How::Specialised,
            Some(Path::Engine) => How::Engine,
            Some(Path::Densified) => How::Densify,
            _ => {
                let last = steps.last().map(|s| s.op);
                How::Error(format!("`{}` says nothing to explain(): the last step is {last:?}", op.name))
            }
        },
        Err(e) if matches!(e.kind(), ErrorKind::Densify { .. }) => match (op.run)(&x) {
            Ok(_) => How::Densify,
            Err(e) => How::Error(e.to_string()),
        },
        Err(e) => How::Error(e.to_string()),
    }
}

/// One cell of the page: how on most layouts, and which differ.
fn cell(outcomes: &[(Layout, How)]) -> String {
    let mut by_word: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for (layout, how) in outcomes {
        let name = layout.to_string();
        by_word.entry(how.word()).or_default().push(name);
    }
    let most = by_word.iter().max_by_key(|(_, names)| names.len()).map(|(word, _)| *word).unwrap_or_default();
    let mut text = most.to_string();
    for (word, names) in by_word.iter().filter(|(word, _)| **word != most) {
        write!(text, "; {}: {word}", names.join(", ")).unwrap();
    }
    text
}

/// The page of the guide.
pub fn page(ops: &[Op]) -> String {
    let mut text = String::from(INTRODUCTION);
    for group in Group::ALL {
        write!(text, "\n# {}\n\n", group.name()).unwrap();
        text.push_str("| op | strided | fill 0 | another value | per row | per column | undefined |\n");
        text.push_str("|---|---|---|---|---|---|---|\n");
        // Ops that are carried out alike share a row.
        let mut rows: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
        for op in ops.iter().filter(|op| op.group == group) {
            let outcomes = outcomes(op);
            let of = |fill| outcomes.iter().filter(|o| o.1 == fill).map(|o| (o.0, o.2.clone())).collect::<Vec<_>>();
            let mut cells = vec![cell(&of(FillKind::Strided))];
            cells.extend(FillKind::SPARSE.map(|fill| cell(&of(fill))));
            match rows.iter_mut().find(|row| row.1 == cells) {
                Some(row) => row.0.push(op.label),
                None => rows.push((vec![op.label], cells)),
            }
        }
        for (names, cells) in rows {
            let names: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
            writeln!(text, "| {} | {} |", names.join(", "), cells.join(" | ")).unwrap();
        }
    }
    text
}

const INTRODUCTION: &str = "\
How every op is carried out, on every layout and fill.

This page is written by a test, which runs every op on a small matrix in every named layout with every kind of fill, \
under a densify budget of 0, and asks [`explain`](crate::explain) how it went.

- **strided**: dense loops, no sparse operand.
- **values**: no index was read; the pattern is shared.
- **specialised**: a kernel for this op and these layouts.
- **engine**: patterns were walked level by level.
- **densify**: the result is not sparse. It is computed within the densify budget, else an error says so.
- **error**: the op has no answer there, or an argument is missing; the message says which.

A cell names the way that most layouts go, then the layouts that differ. Binary ops have an operand of the same layout \
and fill with another pattern on their right.
";
