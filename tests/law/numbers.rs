//! The law for ops of a tensor and a Rust number, on either side.

use openwork::{BinaryOp, Number, Tensor, c128};

use super::bridge::{dense, meaning};
use super::cells::Cell;
use super::gen_::generate;
use super::oracle::{self, Kind, OType, OValue, Oracle, Refused};
use super::pointwise::{Mode, agrees, bit_for_bit, both, fill_is, full_fill};
use super::rng::Rng;

/// A number as Rust has it, and what it is to the oracle.
fn any_number(rng: &mut Rng) -> (Number, OValue) {
    let x = *rng.pick(&[0.0, 1.0, -1.0, 2.0, 0.5, -2.5]);
    match rng.below(4) {
        0 => (true.into(), OValue::Bool(true)),
        1 => {
            let v = *rng.pick(&[0, 1, 2, -1, 300]);
            (v.into(), OValue::Int(v as i128))
        }
        2 => (x.into(), OValue::Float(x)),
        _ => (c128::new(x, 1.0).into(), OValue::Complex(x, 1.0)),
    }
}

/// The dtype in which they meet: the tensor's where its kind is not below the number's.
fn common(dtype: OType, number: OValue) -> OType {
    let rank = |kind: Kind| match kind {
        Kind::Bool => 0,
        Kind::Signed | Kind::Unsigned => 1,
        Kind::Float => 2,
        Kind::Complex => 3,
    };
    let (of_number, default) = match number {
        OValue::Bool(_) => (0, OType::Bool),
        OValue::Int(_) => (1, OType::I64),
        OValue::Float(_) => (2, dtype.floating()),
        OValue::Complex(..) if dtype.floating() == OType::F64 => (3, OType::Complex128),
        OValue::Complex(..) => (3, OType::Complex64),
    };
    if of_number <= rank(dtype.kind()) { dtype } else { default }
}

pub fn check(op: BinaryOp, cell: &Cell, seed: u64, mode: Mode) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let (number, value) = any_number(&mut rng);
    let on_the_left = rng.one_in(2);
    let data = mode.data(op.domain());
    let x = generate(cell, seed, if on_the_left { data[1] } else { data[0] });
    let dtype = common(cell.dtype, value);
    let cast = value.cast(dtype);
    let fits = !dtype.is_int()
        || matches!((value, cast), (OValue::Int(a), OValue::Int(b)) if a == b)
        || matches!(value, OValue::Bool(_));
    let scalar = Oracle::scalar(dtype, Some(cast));
    let on_model = |x: &Oracle| match (fits, on_the_left) {
        (false, _) => Err(Refused::Dtype),
        (_, true) => oracle::binary(op.name(), &scalar, x),
        (_, false) => oracle::binary(op.name(), x, &scalar),
    };
    let give =
        |x: &Tensor| mode.run(|| if on_the_left { x.binary_from(op, number) } else { x.binary(op, number.scalar()) });
    let outcome = || {
        let Some((want, got)) = both(on_model(&x.model), give(&x.tensor))? else { return Ok(()) };
        let got_meaning = agrees("the oracle", &want, &got)?;
        let plain = give(&dense(&x.model)).map_err(|e| format!("strided: {e}"))?;
        bit_for_bit(&got_meaning, &meaning(&plain)?)?;
        if got.is_strided() != x.tensor.is_strided() && !full_fill(&x.tensor) {
            return Err(format!("from {} to {}", x.tensor.layout(), got.layout()));
        }
        fill_is(&got, x.fill.as_ref().map(|f| on_model(f).unwrap()))
    };
    outcome().map_err(|e| format!("{value:?} left {on_the_left}: {e}"))
}
