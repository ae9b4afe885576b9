//! The law for other forms: complex numbers as pairs, bitmaps, diagonals.

use openwork::{Fill, Layout, Scalar, Tensor};

use super::bridge::{meaning, otype_of};
use super::families::Family;
use super::gen_::{Sample, generate};
use super::oracle::{self, Expected, OType, OValue, Oracle, Refused};
use super::pointwise::{agrees, both};
use super::values::Data;

pub const FAMILY: Family = Family {
    name: "forms",
    ops: &["view_as_real", "view_as_complex", "bitmap", "diagonals"],
    rounds: 3000,
    check: |op, cell, seed| {
        let x = generate(cell, seed, Data::Special);
        match op {
            "view_as_real" => view_as_real(&x),
            "view_as_complex" => view_as_complex(&x, seed),
            "bitmap" => bitmap(&x),
            _ => diagonals(&x),
        }
    },
};

fn view_as_real(x: &Sample) -> Result<(), String> {
    let of = |m: &Oracle| {
        let dtype = match m.dtype {
            OType::Complex64 => OType::F32,
            OType::Complex128 => OType::F64,
            _ => return Err(Refused::Dtype),
        };
        let shape: Vec<usize> = m.shape.iter().copied().chain([2]).collect();
        let parts = |v: &Option<OValue>| match v {
            Some(OValue::Complex(re, im)) => [Some(OValue::Float(*re)), Some(OValue::Float(*im))],
            _ => [None, None],
        };
        Ok(Oracle::new(&shape, dtype, m.data.iter().flat_map(parts).collect()).with_undefined(m.undefined))
    };
    let got = x.tensor.view_as_real();
    let Some((want, got)) = both(of(&x.model).map(Expected::from), got)? else { return Ok(()) };
    agrees("the oracle", &want, &got)?;
    if got.nse() != 2 * x.tensor.nse() {
        return Err(format!("{} stored elements became {}", x.tensor.nse(), got.nse()));
    }
    let back = got.view_as_complex().map_err(|e| format!("back: {e}"))?;
    agrees("back", &x.model.clone().into(), &back)?;
    Ok(())
}

fn view_as_complex(x: &Sample, seed: u64) -> Result<(), String> {
    // Any tensor whose last axis has size 2; half of them get one.
    let (tensor, model) = if seed.is_multiple_of(2) {
        let mut shape = x.model.shape.clone();
        shape.push(2);
        let axis = x.model.ndim();
        let tensor = x.tensor.expand_dims(axis).and_then(|t| t.broadcast_to(&shape)).map_err(|e| e.to_string())?;
        (tensor, x.model.expand_dims(axis).unwrap().broadcast_to(&shape).unwrap())
    } else {
        (x.tensor.clone(), x.model.clone())
    };
    let of = |m: &Oracle| {
        let dtype = match m.dtype {
            OType::F32 => OType::Complex64,
            OType::F64 => OType::Complex128,
            _ => return Err(Refused::Dtype),
        };
        let Some((2, shape)) = m.shape.split_last().map(|(&n, s)| (n, s)) else { return Err(Refused::Shape) };
        let pair = |v: &[Option<OValue>]| match v {
            [Some(OValue::Float(re)), Some(OValue::Float(im))] => Ok(Some(OValue::Complex(*re, *im))),
            [None, None] => Ok(None),
            _ => Err(Refused::Shape), // half of a pair is absent
        };
        let data = m.data.chunks(2).map(pair).collect::<Result<Vec<_>, _>>()?;
        Ok(Oracle::new(shape, dtype, data).with_undefined(m.undefined))
    };
    let got = tensor.view_as_complex();
    let Some((want, got)) = both(of(&model).map(Expected::from), got)? else { return Ok(()) };
    agrees("the oracle", &want, &got)?;
    Ok(())
}

fn bitmap(x: &Sample) -> Result<(), String> {
    let error = |e: openwork::Error| e.to_string();
    let (values, mask) = x.tensor.to_bitmap().map_err(error)?;
    if !values.is_strided() || !mask.is_strided() {
        return Err("a bitmap is strided".to_string());
    }
    let fill = x.tensor.fill().cloned().unwrap_or(Fill::Undefined);
    let layout = if x.model.ndim() >= 2 { Layout::Csr } else { Layout::Coo };
    let back = values.to_sparse_where(&mask, layout, fill).map_err(error)?;
    agrees("back", &x.model.clone().into(), &back)?;
    let stored = x.tensor.coalesce().map_err(error)?.nse();
    if back.nse() != stored { Err(format!("{stored} stored elements, {} came back", back.nse())) } else { Ok(()) }
}

fn diagonals(x: &Sample) -> Result<(), String> {
    let got = x.tensor.to_diagonals();
    let (fill, refuses) = match x.tensor.fill() {
        Some(Fill::Scalar(v)) => (*v, false),
        None => (Scalar::zero(x.tensor.dtype()), false),
        Some(_) => (Scalar::zero(x.tensor.dtype()), true),
    };
    let &[m, n] = &x.model.shape[..] else {
        return got.err().map(|_| ()).ok_or("diagonals of what is no matrix".to_string());
    };
    if refuses {
        return got.err().map(|_| ()).ok_or("diagonals over a fill that is not one value".to_string());
    }
    let (values, offsets) = got.map_err(|e| e.to_string())?;
    if otype_of(values.dtype()) != x.model.dtype || !offsets.is_sorted() {
        return Err(format!("{} at {offsets:?}", values.dtype()));
    }
    let back = Tensor::from_diagonals([m, n], &values, &offsets, fill).map_err(|e| e.to_string())?;
    oracle::compare(&x.model.clone().into(), &meaning(&back)?)
}
