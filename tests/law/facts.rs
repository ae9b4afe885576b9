//! The law for facts about matrices: the same of a tensor and of its dense form, without a byte of densify budget.

use openwork::{Layout, MatrixFacts, Tensor, with_densify_budget};

use super::bridge::dense;
use super::cells::Cell;
use super::families::Family;
use super::gen_::generate;
use super::oracle::{Oracle, Refused};
use super::rng::Rng;
use super::values::Data;

type Fact = (&'static str, fn(&Tensor) -> openwork::Result<u128>, fn(&Oracle) -> Result<u128, Refused>);

const OPS: [Fact; 5] = [
    ("is_symmetric", |x| x.is_symmetric().map(u128::from), |m| m.is_symmetric().map(u128::from)),
    (
        "is_structure_symmetric",
        |x| x.is_structure_symmetric().map(u128::from),
        |m| m.is_structure_symmetric().map(u128::from),
    ),
    ("is_upper_triangular", |x| x.is_upper_triangular().map(u128::from), |m| m.is_upper_triangular().map(u128::from)),
    ("is_lower_triangular", |x| x.is_lower_triangular().map(u128::from), |m| m.is_lower_triangular().map(u128::from)),
    ("ndiag", |x| x.ndiag(), |m| m.ndiag()),
];

pub const FAMILY: Family = Family {
    name: "facts",
    ops: &["is_symmetric", "is_structure_symmetric", "is_upper_triangular", "is_lower_triangular", "ndiag"],
    rounds: 6000,
    check: |op, cell, seed| {
        let fact = OPS.iter().find(|f| f.0 == op).unwrap();
        let mut rng = Rng::new(seed ^ 0x77);
        // Random matrices are seldom square, symmetric or triangular.
        let cell = if rng.one_in(3) { cell.clone() } else { square(cell, &mut rng) };
        let data = *rng.pick(&[Data::Special, Data::Any, Data::Small]);
        let x = generate(&cell, seed, data);
        agrees(fact, &x.tensor, &x.model)?;
        if cell.shape.len() >= 2 && cell.shape[cell.shape.len() - 1] == cell.shape[cell.shape.len() - 2] {
            let (tensor, model) = special(&x.tensor, &x.model, &mut rng)?;
            agrees(fact, &tensor, &model).map_err(|e| format!("made to be so: {e}"))?;
            if op == "ndiag" && rng.one_in(3) {
                claims(&tensor)?;
            }
        }
        Ok(())
    },
};

fn square(cell: &Cell, rng: &mut Rng) -> Cell {
    let mut out = cell.clone();
    if let [.., m, n] = &mut out.shape[..] {
        *m = *rng.pick(&[1, 2, 2, 3, 4]);
        *n = *m;
    }
    if out.suits() { out } else { cell.clone() }
}

fn agrees((_, find, model): &Fact, x: &Tensor, m: &Oracle) -> Result<(), String> {
    let found = with_densify_budget(0, || find(x));
    let strided = || find(&dense(m));
    match (found, model(m)) {
        (Err(_), Err(_)) => Ok(()),
        (Ok(found), Ok(want)) if found != want => Err(format!("{found}, the oracle says {want}, of {x}")),
        (Ok(found), Ok(_)) if !m.undefined && strided().map_err(|e| e.to_string())? != found => {
            Err(format!("{found}, strided {:?}, of {x}", strided()))
        }
        (Ok(_), Ok(_)) => Ok(()),
        (Err(e), Ok(want)) => Err(format!("{e}; the oracle says {want}")),
        (Ok(found), Err(why)) => Err(format!("{found}, but the oracle refuses: {why}")),
    }
}

/// A tensor of the same fill that is symmetric, or nearly, or triangular: of stored elements that are chosen so.
fn special(x: &Tensor, model: &Oracle, rng: &mut Rng) -> Result<(Tensor, Oracle), String> {
    let error = |e: openwork::Error| e.to_string();
    let Some(fill) = x.fill().cloned() else {
        let model = model.symmetrised().unwrap();
        return Ok((dense(&model), model));
    };
    let n = model.ndim();
    let keep = rng.below(3);
    let mut seen: Vec<Vec<usize>> = Vec::new();
    let background = super::bridge::background(x)?.unwrap();
    let mut out = background.clone();
    let (mut columns, mut values): (Vec<Vec<u64>>, Vec<Oracle>) = (vec![Vec::new(); n], Vec::new());
    let mut put = |index: &[usize], from: &[usize], out: &mut Oracle| {
        if seen.contains(&index.to_vec()) {
            return;
        }
        seen.push(index.to_vec());
        columns.iter_mut().zip(index).for_each(|(c, &i)| c.push(i as u64));
        values.push(Oracle::new(&[1], model.dtype, vec![model.at(from)]));
        out.data[super::oracle::ravel(index, &model.shape)] = model.at(from);
    };
    let stored: Vec<Vec<usize>> = x.iter_stored().map(|(index, _)| index).collect();
    for index in &stored {
        let mut mirror = index.clone();
        mirror.swap(n - 1, n - 2);
        let upper = index[n - 2] <= index[n - 1];
        match keep {
            0 if upper => put(index, index, &mut out),
            1 if !upper => put(index, index, &mut out),
            2 if upper => {
                put(index, index, &mut out);
                // Seldom an element is left out, so that its mirror image meets the fill.
                if !rng.one_in(12) {
                    put(&mirror, index, &mut out);
                }
            }
            _ => {}
        }
    }
    let all: Vec<_> = values.iter().flat_map(|v| v.data.clone()).collect();
    let values = dense(&Oracle::new(&[all.len()], model.dtype, all));
    let coo = Tensor::coo(&model.shape, columns, &values, fill).map_err(error)?;
    let layouts = [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Csf];
    let y = coo.to_layout(*rng.pick(&layouts)).map_err(error)?;
    Ok((y, out))
}

/// Everything at once, and a claim that is false.
fn claims(x: &Tensor) -> Result<(), String> {
    let error = |e: openwork::Error| e.to_string();
    let facts = MatrixFacts::of(x).map_err(error)?;
    facts.check(x).map_err(error)?;
    let wrong = MatrixFacts { ndiag: facts.ndiag.map(|n| n + 1), ..MatrixFacts::default() };
    match wrong.check(x) {
        Ok(()) => Err("a false claim passes".into()),
        Err(_) => Ok(()),
    }
}
