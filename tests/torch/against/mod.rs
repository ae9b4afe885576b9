//! Every op that both libraries have: ours on every layout against libtorch's on strided tensors, and libtorch's own on
//! its sparse layouts.

mod elementwise;
mod products;
mod reductions;
mod shapes;
mod stored;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use openwork::{DType, Layout, Tensor, c128};
use tch::{Kind, TchError, Tensor as Torch};

use crate::memory::beside;
use crate::specimens::DTYPES;

/// The operands, of which an op takes what it needs.
pub struct In<T> {
    /// 6 × 8.
    pub a: T,
    /// 6 × 8, another pattern.
    pub b: T,
    /// 8 × 6.
    pub c: T,
    /// 8 × 6, strided always.
    pub d: T,
    /// 8, strided always.
    pub v: T,
}

type Ours = fn(&In<Tensor>) -> openwork::Result<Tensor>;
type Theirs = fn(&In<Torch>) -> Result<Torch, TchError>;

/// An op that both have.
pub struct Op {
    /// As PyTorch calls it.
    pub name: &'static str,
    pub ours: Ours,
    pub theirs: Theirs,
    /// The function of libtorch's for sparse operands, where it is another one.
    pub theirs_sparse: Option<Theirs>,
}

pub fn op(name: &'static str, ours: Ours, theirs: Theirs) -> Op {
    Op { name, ours, theirs, theirs_sparse: None }
}

/// Where the operands are.
pub const LAYOUTS: [&str; 9] =
    ["strided", "coo", "coo, uncoalesced", "coo, hybrid", "csr", "csc", "bsr", "bsc", "dcsr"];

/// Those that libtorch has.
pub const THEIRS: [&str; 7] = ["coo", "coo, uncoalesced", "coo, hybrid", "csr", "csc", "bsr", "bsc"];

/// Numbers that every op has something to say about: both signs, zeros that are stored, few enough to be exact in half
/// precision.
pub fn numbers(shape: [usize; 2], dtype: DType, seed: u64) -> Tensor {
    let x = Tensor::random(shape, 0.45, 0.0, Layout::Coo, seed).unwrap().stored();
    let x = (((x * 20.0).unwrap() - 9.0).unwrap().round().unwrap() + 0.0).unwrap(); // no −0, which has no duplicate sum
    let x = match dtype {
        d if d.is_float() => (x / 4.0).unwrap(),
        d if d.is_complex() => {
            let x = (x / 4.0).unwrap();
            let turned = (&x * openwork::Scalar::from(c128::new(1.0, 0.5))).unwrap();
            (turned + openwork::Scalar::from(c128::new(0.0, 0.25))).unwrap()
        }
        d if d.is_unsigned() => (x.abs().unwrap() / 2.0).unwrap().floor().unwrap(),
        _ => (x / 2.0).unwrap().floor().unwrap(),
    };
    let x = x.cast(dtype).unwrap();
    x.replace_fill(openwork::Scalar::zero(dtype)).unwrap()
}

pub fn stored_as(x: &Tensor, name: &str) -> Tensor {
    let layout = match name {
        "strided" => return x.to_dense().unwrap(),
        "coo, uncoalesced" => return repeated(x),
        "coo" => Layout::Coo,
        "coo, hybrid" => Layout::HybridCoo { dense_dims: 1 },
        "csr" => Layout::Csr,
        "csc" => Layout::Csc,
        "bsr" => Layout::Bsr { block: [2, 2] },
        "bsc" => Layout::Bsc { block: [2, 2] },
        _ => Layout::Dcsr,
    };
    x.to_layout(layout).unwrap()
}

/// The same tensor with every element stored in two parts.
fn repeated(x: &Tensor) -> Tensor {
    let values = x.stored_values();
    let (first, second) = if x.dtype() == DType::Bool || x.dtype().is_unsigned() {
        (values.clone(), Tensor::zeros(values.shape(), x.dtype(), Layout::Strided).unwrap())
    } else {
        ((&values + &values).unwrap(), values.neg().unwrap())
    };
    let values = Tensor::concat(&[&first, &second], 0).unwrap();
    let twice = |entries: Vec<u64>| [entries.clone(), entries].concat();
    let indices = x.coordinates().into_iter().map(|(_, entries)| twice(entries)).collect();
    Tensor::coo(x.shape(), indices, &values, openwork::Scalar::zero(x.dtype())).unwrap()
}

/// Operands of ours.
fn ours(dtype: DType, layout: &str) -> In<Tensor> {
    let v = numbers([8, 1], dtype, 15).to_dense().unwrap().reshape([8]).unwrap();
    In {
        a: stored_as(&numbers([6, 8], dtype, 11), layout),
        b: stored_as(&numbers([6, 8], dtype, 12), layout),
        c: stored_as(&numbers([8, 6], dtype, 13), layout),
        d: numbers([8, 6], dtype, 14).to_dense().unwrap(),
        v,
    }
}

fn theirs(x: &In<Tensor>) -> In<Torch> {
    let to = |x: &Tensor| x.to_torch().unwrap();
    In { a: to(&x.a), b: to(&x.b), c: to(&x.c), d: to(&x.d), v: to(&x.v) }
}

/// What libtorch gives, as a strided tensor of ours. What breaks the rules of its own layout is an error.
pub fn dense(t: &Torch) -> Result<Tensor, String> {
    let x = Tensor::from_torch(t, openwork::Scalar::zero(DType::Bool)).or_else(|_| Tensor::from_torch(t, 0.0));
    x.and_then(|x| x.to_dense()).map_err(|e| e.to_string())
}

/// How far apart results may be: those of the coarser element type.
pub fn tolerance(a: DType, b: DType) -> (f64, f64) {
    let of = |d: DType| match d {
        DType::BF16 => 3,
        DType::F16 => 2,
        DType::F32 | DType::Complex64 => 1,
        DType::F64 | DType::Complex128 => 0,
        _ => 0,
    };
    [(1e-9, 1e-10), (1e-4, 1e-5), (2e-2, 4e-3), (1e-1, 4e-2)][of(a).max(of(b))]
}

fn same(ours: &Tensor, theirs: &Tensor) -> Result<(), String> {
    if ours.shape() != theirs.shape() {
        return Err(format!("shape {:?}, not {:?}", ours.shape(), theirs.shape()));
    }
    let complex = ours.dtype().is_complex() || theirs.dtype().is_complex();
    let wide = if complex { DType::Complex128 } else { DType::F64 };
    let (rtol, atol) = tolerance(ours.dtype(), theirs.dtype());
    let (x, y) = (ours.cast(wide).unwrap(), theirs.cast(wide).unwrap());
    let near = if complex {
        // By parts: an infinite one makes the whole incomparable.
        let parts = |x: &Tensor| [x.real().unwrap(), x.imag().unwrap()];
        parts(&x).iter().zip(&parts(&y)).all(|(x, y)| x.allclose_nan(y, rtol, atol).unwrap())
    } else {
        x.allclose_nan(&y, rtol, atol).unwrap()
    };
    if near { Ok(()) } else { Err(format!("{ours}\nnot\n{theirs}")) }
}

fn all() -> Vec<Op> {
    [elementwise::ops(), reductions::ops(), products::ops(), shapes::ops()].into_iter().flatten().collect()
}

/// What libtorch does with sparse operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Same,
    Refuses,
    Wrong,
}

/// What libtorch answers. `tch` panics where a function that takes a number fails (it frees the number before it looks at
/// the error).
fn answer(run: Theirs, operands: &In<Torch>) -> Result<Torch, String> {
    let first = |text: &str| text.lines().next().unwrap_or_default().to_string();
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(operands))) {
        Ok(answer) => answer.map_err(|e| first(&e.to_string())),
        Err(panic) => Err(panic.downcast_ref::<String>().map_or_else(String::new, |text| first(text))),
    }
}

/// Says nothing of panics that `answer` takes for errors.
pub fn quietly() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !panic.location().is_some_and(|at| at.file().ends_with("wrappers/scalar.rs")) {
                usual(panic);
            }
        }));
    });
}

/// libtorch's verdict on its own sparse layout, beside its own strided answer.
fn verdict(op: &Op, operands: &In<Torch>, wanted: &Tensor) -> (Verdict, String) {
    let run = op.theirs_sparse.unwrap_or(op.theirs);
    match answer(run, operands) {
        Err(why) => (Verdict::Refuses, why),
        Ok(t) => match dense(&t).and_then(|x| same(&x, wanted)) {
            Ok(()) => (Verdict::Same, String::new()),
            Err(why) => (Verdict::Wrong, why),
        },
    }
}

const COMPLEX: [DType; 2] = [DType::Complex64, DType::Complex128];

/// Ops that libtorch answers and we do not.
const NOT_OURS: &[(&str, &[DType])] = &[
    ("sign", &[DType::Bool]),
    ("diff(0)", &[DType::Bool]),
    ("diff(1)", &[DType::Bool]),
    ("sigmoid", &COMPLEX),
    ("silu", &COMPLEX),
    ("logaddexp", &COMPLEX),
    ("logsumexp(0)", &COMPLEX),
    ("logsumexp(1)", &COMPLEX),
    ("clamp", &[DType::U8]), // −1 does not fit
];

/// Answers of libtorch's on strided tensors that are wrong.
const WRONG: &[(&str, &[DType])] = &[
    ("pow", &COMPLEX), // 0 to the power of 0 is NaN
    // The pole at −2 is a large number: integers go by way of float32.
    ("polygamma(1)", &[DType::I8, DType::I16, DType::I32, DType::I64]),
];

#[test]
fn ours_on_every_layout_as_theirs_on_strided() {
    let _beside = beside();
    quietly();
    let (mut compared, mut theirs_compared) = (0, BTreeMap::new());
    let mut done: BTreeMap<&str, (BTreeSet<DType>, BTreeSet<&str>)> = BTreeMap::new();
    let (mut refused, mut wrong) = (BTreeSet::new(), BTreeMap::new());
    let mut faults = Vec::new();
    let ops = all();
    for dtype in DTYPES.into_iter().rev() {
        let strided = theirs(&ours(dtype, "strided"));
        let strided = |op: &Op| answer(op.theirs, &strided).ok().and_then(|t| dense(&t).ok());
        let wanted: Vec<Option<Tensor>> = ops.iter().map(strided).collect();
        for layout in LAYOUTS {
            let x = ours(dtype, layout);
            let t = THEIRS.contains(&layout).then(|| theirs(&x));
            for (op, wanted) in ops.iter().zip(&wanted) {
                let Some(wanted) = wanted else { continue };
                let what = format!("{} of {dtype}, {layout}", op.name);
                let is_in = |list: &[(&str, &[DType])]| list.iter().any(|(n, d)| *n == op.name && d.contains(&dtype));
                match (op.ours)(&x).and_then(|y| y.to_dense()) {
                    Ok(y) => match same(&y, wanted) {
                        Ok(()) => {
                            compared += 1;
                            let (dtypes, layouts) = done.entry(op.name).or_default();
                            dtypes.insert(dtype);
                            layouts.insert(layout);
                        }
                        Err(_) if is_in(WRONG) => {}
                        Err(why) => faults.push(format!("{what}: {why}")),
                    },
                    Err(_) if is_in(NOT_OURS) => {}
                    Err(e) => faults.push(format!("{what}: {e}")),
                }
                // What libtorch refuses for one element type it refuses for all; to ask takes it 10 ms each time.
                if let Some(t) = t.as_ref().filter(|_| !refused.contains(&(op.name, layout))) {
                    let (verdict, _) = verdict(op, t, wanted);
                    *theirs_compared.entry(verdict).or_insert(0) += 1;
                    if verdict == Verdict::Wrong {
                        wrong.entry((op.name, layout)).or_insert_with(Vec::new).push(dtype.to_string());
                    }
                    if verdict == Verdict::Refuses {
                        refused.insert((op.name, layout));
                    }
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} of {compared}:\n{}", faults.len(), faults.join("\n"));
    let never: Vec<&str> = ops.iter().map(|op| op.name).filter(|name| !done.contains_key(name)).collect();
    assert!(never.is_empty(), "never compared: {never:?}");
    let pairs: usize = done.values().map(|(dtypes, _)| dtypes.len()).sum();
    println!("{} ops, {pairs} with a dtype, {compared} with a layout: all as libtorch's on strided tensors", ops.len());
    println!("libtorch on its sparse layouts: {theirs_compared:?}; wrong: {wrong:?}");
    assert!(ops.len() >= 200 && compared > 20_000, "{} ops, {compared}", ops.len());
}

/// A kind that is left as it is.
pub const AS_IS: Option<Kind> = None;
