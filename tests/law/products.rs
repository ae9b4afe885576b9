//! The law for products by name: what each means as a sum over named indices.

use openwork::{DType, Layout, ReduceOp, Tensor, prepare};

use super::bridge::{dense, meaning};
use super::cells::{Cell, FillKind, Store};
use super::families::Family;
use super::gen_::{Sample, generate};
use super::nary::any_full_fill;
use super::oracle::{self, Expected, OType, OValue, Oracle, Refused};
use super::pointwise::{Mode, agrees, bit_for_bit, both};
use super::rng::Rng;
use super::sample::cell_of_shape;
use super::values::Data;

pub const FAMILY: Family = Family {
    name: "products",
    ops: &[
        "mm",
        "mv",
        "prepare",
        "bmm",
        "addmm",
        "sampled_addmm",
        "vecdot",
        "tensordot",
        "matrix_power",
        "multi_dot",
        "matmul_reduce",
        "khatri_rao",
    ],
    rounds: 2500,
    check,
};

/// Sizes, most of them small and few of them 0.
fn size(rng: &mut Rng) -> usize {
    *rng.pick(&[0, 1, 2, 2, 3, 3, 4, 4])
}

/// A tensor of a shape, of any storage that suits it.
fn tensor(rng: &mut Rng, dtype: OType, shape: &[usize]) -> Sample {
    loop {
        if let Some(cell) = cell_of_shape(rng, dtype, shape) {
            return generate(&cell, rng.next(), Data::Any);
        }
    }
}

/// Arrays of one complex dtype, whose rows are multiplied with conjugates in a loop of their own.
fn arrays_of_complex_numbers(rng: &mut Rng, [m, k, k2, b]: [usize; 4]) -> (Sample, Sample) {
    let dtype = *rng.pick(&[OType::Complex64, OType::Complex128]);
    let mut of = |shape: &[usize]| {
        let cell = Cell { store: Store::Strided, fill: FillKind::Zero, dtype, shape: shape.to_vec() };
        generate(&cell, rng.next(), Data::Any)
    };
    (of(&[m, k]), of(&[b, m, k2]))
}

/// A matrix whose diagonals have gaps, prepared, times a vector of which some elements may not be finite: beside the sum of
/// what is stored.
fn by_diagonals(rng: &mut Rng) -> Result<(), String> {
    let (m, n) = (32 + rng.below(60), 32 + rng.below(60));
    let mut offsets: Vec<isize> = (0..1 + rng.below(14)).map(|_| rng.below(17) as isize - 8).collect();
    offsets.sort_unstable();
    offsets.dedup();
    let is_finite = rng.one_in(2);
    let x: Vec<f64> = (0..n)
        .map(|_| match rng.below(if is_finite { 9 } else { 12 }) {
            9 => f64::NAN,
            10 => f64::INFINITY,
            i => i as f64 - 4.0,
        })
        .collect();
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut want = vec![0.0; m];
    for (r, want) in want.iter_mut().enumerate() {
        for offset in &offsets {
            let column = r as isize + offset;
            if column >= 0 && (column as usize) < n && !rng.one_in(16) {
                let value = 1.0 + rng.below(5) as f64;
                rows.push(r as i64);
                columns.push(column as i64);
                values.push(value);
                *want += value * x[column as usize];
            }
        }
    }
    let failed = |e: openwork::Error| e.to_string();
    let a = Tensor::from_triplets([m, n], rows, columns, values, 0.0).map_err(failed)?;
    let dtype = *rng.pick(&[DType::F64, DType::F32]);
    let a = a.cast(dtype).and_then(|a| a.to_layout(Layout::Csr)).map_err(failed)?;
    let x = Tensor::from_vec([n], x).and_then(|x| x.cast(dtype)).map_err(failed)?;
    let ready = prepare(&a).map_err(failed)?;
    let got = ready.matmul(&x).and_then(|y| y.cast(DType::F64)).and_then(|y| y.to_vec::<f64>()).map_err(failed)?;
    // Sums of few small integers are exact in any order.
    let is_same = got.len() == m && got.iter().zip(&want).all(|(g, w)| g == w || g.is_nan() && w.is_nan());
    if is_same { Ok(()) } else { Err(format!("{} {dtype} {m} {n} {offsets:?}: {got:?}, not {want:?}", ready.form())) }
}

/// A matrix over fills that vary along one axis at most, beneath some elements a thousand times as large, times a strided one: beside
/// the sum of every element.
fn over_fills(rng: &mut Rng) -> Result<(), String> {
    let [m, k, n] = [(); 3].map(|()| 1 + rng.below(40));
    let of_fill = *rng.pick(&[[m, 1], [1, k], [1, 1]]);
    let fills: Vec<f64> = (0..of_fill[0] * of_fill[1]).map(|_| *rng.pick(&[0.0, 1.0, -3.0, 1000.0, -5000.0])).collect();
    let y: Vec<f64> = (0..k * n).map(|_| rng.below(9) as f64 - 4.0).collect();
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut want = vec![0.0; m * n];
    for (r, want) in want.chunks_exact_mut(n).enumerate() {
        for (c, y) in y.chunks_exact(n).enumerate() {
            let mut value = fills[if of_fill[0] > 1 { r } else { 0 } + if of_fill[1] > 1 { c } else { 0 }];
            if rng.one_in(4) {
                value = *rng.pick(&[1.0, -2.0, 3.0, 1000.0, 4096.0]);
                rows.push(r as i64);
                columns.push(c as i64);
                values.push(value);
            }
            want.iter_mut().zip(y).for_each(|(want, y)| *want += value * y);
        }
    }
    let failed = |e: openwork::Error| e.to_string();
    let layout = *rng.pick(&[Layout::Csc, Layout::Csr, Layout::Dcsc]);
    let fill = Tensor::from_vec(of_fill, fills).map_err(failed)?;
    let a = Tensor::from_triplets([m, k], rows, columns, values, 0.0).and_then(|a| a.to_layout(layout));
    let a = a.and_then(|a| a.replace_fill(&fill)).map_err(failed)?;
    let y = Tensor::from_vec([k, n], y).map_err(failed)?;
    let got = a.mm(&y).and_then(|got| got.to_vec::<f64>()).map_err(failed)?;
    // Sums of whole numbers are exact in any order.
    if got == want { Ok(()) } else { Err(format!("{layout} {:?} {m} {k} {n}: {got:?}, not {want:?}", of_fill)) }
}

/// A matrix in blocks of whole numbers, in rows of them or columns, on either side of a strided one: beside the sum of every element.
fn by_blocks(rng: &mut Rng) -> Result<(), String> {
    let [r, c] = [(); 2].map(|()| 1 + rng.below(5));
    let [m, k, n] = [r * (1 + rng.below(6)), c * (1 + rng.below(6)), 1 + rng.below(20)];
    let whole = |rng: &mut Rng, n: usize| (0..n).map(|_| rng.below(9) as f64 - 4.0).collect::<Vec<_>>();
    let x: Vec<f64> = (0..m * k).map(|_| if rng.one_in(3) { rng.below(9) as f64 - 4.0 } else { 0.0 }).collect();
    let (right, left) = (whole(rng, k * n), whole(rng, n * m));
    let (mut of_right, mut of_left) = (vec![0.0; m * n], vec![0.0; n * k]);
    for (i, j, l) in (0..m).flat_map(|i| (0..k).flat_map(move |j| (0..n).map(move |l| (i, j, l)))) {
        of_right[i * n + l] += x[i * k + j] * right[j * n + l];
        of_left[l * k + j] += left[l * m + i] * x[i * k + j];
    }
    let failed = |e: openwork::Error| e.to_string();
    let dtype = *rng.pick(&[DType::F64, DType::F32]);
    let layout = *rng.pick(&[Layout::Bsr { block: [r, c] }, Layout::Bsc { block: [r, c] }]);
    let matrix = |shape: [usize; 2], of: Vec<f64>| Tensor::from_vec(shape, of).and_then(|x| x.cast(dtype));
    let x = matrix([m, k], x).and_then(|x| x.to_sparse(layout, 0.0)).map_err(failed)?;
    let (right, left) = (matrix([k, n], right).map_err(failed)?, matrix([n, m], left).map_err(failed)?);
    let numbers = |x: Tensor| x.cast(DType::F64).and_then(|x| x.to_vec::<f64>());
    // Sums of whole numbers are exact in any order.
    for (got, want) in [(x.mm(&right), of_right), (left.mm(&x), of_left)] {
        let got = got.and_then(numbers).map_err(failed)?;
        if got != want {
            return Err(format!("{layout} {dtype} {m} {k} {n}: {got:?}, not {want:?}"));
        }
    }
    Ok(())
}

/// The op on any storage and on strided operands, against what it should give.
fn lawful(
    operands: &[&Sample],
    want: Result<Expected, Refused>,
    f: &dyn Fn(&[&Tensor]) -> openwork::Result<Tensor>,
) -> Result<(), String> {
    let tensors: Vec<&Tensor> = operands.iter().map(|s| &s.tensor).collect();
    // Infinite fills make products that sums taken apart do not.
    let got = Mode::Finite.run(|| f(&tensors));
    let Some((want, got)) = both(want, got)? else { return Ok(()) };
    // In the dtype of the product: short floats do not hold large integers.
    let dtype = want.value.dtype;
    let is_finite = |v: &OValue| v.is_finite() && (!dtype.is_float() || v.cast(dtype).is_finite());
    if !operands.iter().all(|s| s.model.data.iter().flatten().all(is_finite)) {
        return Ok(());
    }
    let got_meaning = agrees("the oracle", &want, &got)?;
    let whole: Vec<Tensor> = operands.iter().map(|s| dense(&s.model)).collect();
    // One of which a strided operand has another meaning, or none.
    let is_of_storage =
        operands.len() == 3 && operands[0].fill.is_some() && f(&whole.iter().collect::<Vec<_>>()).is_err();
    if !is_of_storage
        && operands.iter().all(|s| !s.model.undefined)
        && !got_meaning.dtype.is_float()
        && !got_meaning.dtype.is_complex()
    {
        let strided = f(&whole.iter().collect::<Vec<_>>()).map_err(|e| format!("strided: {e}"))?;
        bit_for_bit(&got_meaning, &meaning(&strided)?)?;
    }
    let sparse = operands.iter().all(|s| s.fill.is_some());
    match Mode::Finite.run(|| openwork::with_densify_budget(0, || f(&tensors))) {
        Ok(t) if t.is_strided() && sparse && t.size() > 1 && !any_full_fill(operands) => {
            Err("budget 0: strided from sparse operands".to_string())
        }
        Ok(t) => agrees("the oracle under budget 0", &want, &t).map(|_| ()),
        Err(e) if matches!(e.kind(), openwork::ErrorKind::Densify { .. }) => Ok(()),
        Err(e) => Err(format!("budget 0: {e}")),
    }
}

fn check(op: &str, cell: &Cell, seed: u64) -> Result<(), String> {
    let rng = &mut Rng::new(seed);
    let dtype = cell.dtype;
    let other = super::sample::partner(rng, dtype);
    let [m, k, n, b] = [(); 4].map(|()| size(rng));
    let k2 = if rng.one_in(20) { k + 1 } else { k };
    let einsum = |equation: &str, operands: &[&Sample]| {
        oracle::einsum(equation, &operands.iter().map(|s| &s.model).collect::<Vec<_>>())
    };
    match op {
        "mm" if rng.one_in(4) => over_fills(rng),
        "mm" => {
            let (x, y) = (tensor(rng, dtype, &[m, k]), tensor(rng, other, &[k2, n]));
            lawful(&[&x, &y], einsum("ij,jk->ik", &[&x, &y]), &|t| t[0].mm(t[1]))
        }
        "mv" if rng.one_in(4) => by_blocks(rng),
        "mv" => {
            let (x, y) = (tensor(rng, dtype, &[m, k]), tensor(rng, other, &[k2]));
            lawful(&[&x, &y], einsum("ij,j->i", &[&x, &y]), &|t| t[0].mv(t[1]))
        }
        "prepare" if rng.one_in(2) => by_diagonals(rng),
        "prepare" => {
            let (x, y) = (tensor(rng, dtype, &[m, k]), tensor(rng, other, &[k2, n]));
            lawful(&[&x, &y], einsum("ij,jk->ik", &[&x, &y]), &|t| prepare(t[0])?.matmul(t[1]))
        }
        "bmm" => {
            let (x, y) = (tensor(rng, dtype, &[b, m, k]), tensor(rng, other, &[b, k2, n]));
            lawful(&[&x, &y], einsum("bij,bjk->bik", &[&x, &y]), &|t| t[0].bmm(t[1]))
        }
        "vecdot" => {
            let (x, y) = match rng.one_in(4) {
                true => arrays_of_complex_numbers(rng, [m, k, k2, b]),
                false => (tensor(rng, dtype, &[m, k]), tensor(rng, other, &[b, m, k2])),
            };
            let conj = if x.model.dtype.is_complex() {
                oracle::unary("conj", &x.model).unwrap().value
            } else {
                x.model.clone()
            };
            let want = oracle::einsum("ij,bij->bi", &[&conj, &y.model]);
            lawful(&[&x, &y], want, &|t| t[0].vecdot(t[1], -1))
        }
        "tensordot" => tensordot(rng, [dtype, other], [m, k, n, b]),
        "khatri_rao" => {
            let (x, y) = (tensor(rng, dtype, &[m, k]), tensor(rng, other, &[n, k2]));
            let want = einsum("ir,jr->ijr", &[&x, &y]);
            let want = want.map(|e| Expected { value: Oracle { shape: vec![m * n, k], ..e.value }, ..e });
            lawful(&[&x, &y], want, &|t| t[0].khatri_rao(t[1]))
        }
        "matrix_power" => {
            let power = rng.below(5);
            let shape: &[usize] = if rng.one_in(2) { &[3, 3] } else { &[2, 2, 2] };
            let x = tensor(rng, dtype, shape);
            let want = match power {
                0 => Ok(identity(&x.model)),
                1 => Ok(x.model.clone().into()),
                2 => einsum("...ij,...jk->...ik", &[&x; 2]),
                3 => einsum("...ij,...jk,...kl->...il", &[&x; 3]),
                _ => einsum("...ij,...jk,...kl,...lm->...im", &[&x; 4]),
            };
            // Squares that float16 does not hold are infinite on the way.
            if power > 2 && overflows(&einsum("...ij,...jk->...ik", &[&x; 2])) {
                return Ok(());
            }
            lawful(&[&x], want, &|t| t[0].matrix_power(power as i64))
        }
        "multi_dot" => {
            // Integers that no f16 holds are infinite in it, or not, by which product comes first.
            let is_whole = !(dtype.is_float() || dtype.is_complex());
            let other = if is_whole && other == OType::F16 { OType::F32 } else { other };
            let (x, y, z) = (tensor(rng, dtype, &[m, k]), tensor(rng, dtype, &[k2, n]), tensor(rng, other, &[n, b]));
            // Each product is rounded to the dtype, which float16 may be.
            if [einsum("ij,jk->ik", &[&x, &y]), einsum("jk,kl->jl", &[&y, &z])].iter().any(overflows) {
                return Ok(());
            }
            lawful(&[&x, &y, &z], einsum("ij,jk,kl->il", &[&x, &y, &z]), &|t| Tensor::multi_dot(t))
        }
        "matmul_reduce" => matmul_reduce(rng, [dtype, other], [m, k, n]),
        "addmm" => {
            let (x, y) = (tensor(rng, dtype, &[m, k]), tensor(rng, dtype, &[k, n]));
            let shape = if rng.one_in(2) { vec![m, n] } else { vec![n] };
            let c = tensor(rng, dtype, &shape);
            let want = einsum("ij,jk->ik", &[&x, &y]).and_then(|e| sum(&c.model, e));
            lawful(&[&c, &x, &y], want, &|t| t[0].addmm(t[1], t[2], 1, 1))
        }
        _ => {
            let (x, y) = (tensor(rng, dtype, &[m, k]), tensor(rng, dtype, &[k, n]));
            let c = tensor(rng, dtype, &[m, n]);
            let Some(fill) = c.fill.clone() else { return Ok(()) };
            let mut want = einsum("ij,jk->ik", &[&x, &y]).and_then(|e| sum(&c.model, e));
            let stored = meaning(&c.tensor.is_stored().unwrap()).unwrap();
            if let Ok(want) = &mut want {
                for (i, stored) in stored.data.iter().enumerate() {
                    if !stored.unwrap().truth() || want.value.data[i].is_none() {
                        (want.value.data[i], want.slack[i]) = (fill.data[i], 0.0);
                    }
                }
                want.value.undefined = fill.undefined;
            }
            let (x, y) = if rng.one_in(2) { (x, y) } else { (plain(&x), plain(&y)) };
            let want = if x.model.undefined || y.model.undefined { return Ok(()) } else { want };
            lawful(&[&c, &x, &y], want, &|t| t[0].sampled_addmm(t[1], t[2], 1, 1))
        }
    }
}

/// Whether some element is infinite, or no number.
fn overflows(product: &Result<Expected, Refused>) -> bool {
    product.as_ref().is_ok_and(|p| p.value.data.iter().flatten().any(|v| !v.is_finite()))
}

/// The same, strided, where every element is there.
fn plain(x: &Sample) -> Sample {
    if x.model.undefined {
        return x.clone();
    }
    Sample { tensor: dense(&x.model), model: x.model.clone(), fill: None }
}

/// A sum of what is there in both, with the tolerance of the second.
fn sum(a: &Oracle, b: Expected) -> Result<Expected, Refused> {
    let sum = oracle::binary("add", a, &b.value)?;
    let dtype = sum.value.dtype;
    let slack = b.slack.iter().zip(&sum.value.data).map(|(s, v)| {
        let size = match v {
            Some(OValue::Float(x)) => x.abs(),
            Some(OValue::Complex(re, im)) => re.abs() + im.abs(),
            _ => 0.0,
        };
        if dtype.is_float() || dtype.is_complex() { 2.0 * s + 2.0 * dtype.eps() * size } else { 0.0 }
    });
    let slack = slack.collect();
    Ok(Expected { value: sum.value, slack, ..b })
}

fn identity(x: &Oracle) -> Expected {
    let n = x.shape[x.ndim() - 1];
    let data = (0..x.data.len()).map(|i| match (i / n % n == i % n, x.undefined) {
        (true, _) => Oracle::from_f64(&[], x.dtype, &[1.0]).data[0],
        (false, true) => None,
        (false, false) => Oracle::from_f64(&[], x.dtype, &[0.0]).data[0],
    });
    Oracle { shape: x.shape.clone(), dtype: x.dtype, data: data.collect(), undefined: x.undefined }.into()
}

fn tensordot(rng: &mut Rng, [dtype, other]: [OType; 2], [m, k, n, b]: [usize; 4]) -> Result<(), String> {
    let einsum = |equation: &str, x: &Sample, y: &Sample| oracle::einsum(equation, &[&x.model, &y.model]);
    match rng.below(5) {
        0 => {
            let (x, y) = (tensor(rng, dtype, &[m, k, n]), tensor(rng, other, &[k, n, b]));
            lawful(&[&x, &y], einsum("mkn,knb->mb", &x, &y), &|t| t[0].tensordot(t[1], 2))
        }
        1 => {
            let (x, y) = (tensor(rng, dtype, &[m, k, n]), tensor(rng, other, &[n]));
            lawful(&[&x, &y], einsum("mkn,n->mk", &x, &y), &|t| t[0].tensordot(t[1], 1))
        }
        2 => {
            let (x, y) = (tensor(rng, dtype, &[m, k, n]), tensor(rng, other, &[k, b]));
            lawful(&[&x, &y], einsum("mkn,kb->mnb", &x, &y), &|t| t[0].tensordot(t[1], (1, 0)))
        }
        3 => {
            let (x, y) = (tensor(rng, dtype, &[b, k]), tensor(rng, other, &[n, m, k]));
            lawful(&[&x, &y], einsum("bk,nmk->bnm", &x, &y), &|t| t[0].tensordot(t[1], (-1, -1)))
        }
        _ => {
            let (x, y) = (tensor(rng, dtype, &[m, k]), tensor(rng, other, &[n]));
            lawful(&[&x, &y], einsum("mk,n->mkn", &x, &y), &|t| t[0].tensordot(t[1], 0))
        }
    }
}

fn matmul_reduce(rng: &mut Rng, dtypes: [OType; 2], [m, k, n]: [usize; 3]) -> Result<(), String> {
    let op = *rng.pick(&[ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Max, ReduceOp::Min]);
    let (x, y) = (tensor(rng, dtypes[0], &[m, k]), tensor(rng, dtypes[1], &[k, n]));
    let pairs = oracle::spread("ij,jk->ik", &[&x.model, &y.model]).unwrap();
    let common = oracle::promote(dtypes[0], dtypes[1]).ok_or(Refused::Promotion);
    let want = common.and_then(|dtype| {
        // The mean of integers is one of exact products.
        let of = if op == ReduceOp::Mean { dtype.floating() } else { dtype };
        // A sum rounds no term: short floats may hold it though they do not hold those.
        let short = matches!(op, ReduceOp::Sum | ReduceOp::Mean) && matches!(of, OType::F16 | OType::BF16);
        let terms = if short { OType::F32 } else { of };
        let in_terms = |i: usize| pairs.operands[i].cast(of).cast(terms);
        let product = oracle::binary("mul", &in_terms(0), &in_terms(1))?;
        let name = if of.is_bool() && op == ReduceOp::Sum { "any" } else { op.name() };
        let mut folded = oracle::reduce(name, &product.value, &[2], false)?;
        if op == ReduceOp::Sum && !of.is_bool() || short {
            folded.value = folded.value.cast(of);
        }
        let rounds = of.is_float() || of.is_complex();
        let of_terms = if short { of.eps() / terms.eps() } else { 1.0 };
        let least = if short { of.ulp(0.0) } else { 0.0 };
        folded.slack.iter_mut().for_each(|s| *s = if rounds { *s * 3.0 * of_terms + least } else { 0.0 });
        Ok(folded)
    });
    if k == 0 {
        return Ok(()); // the least of nothing is the identity
    }
    lawful(&[&x, &y], want, &|t| t[0].matmul_reduce(t[1], op))
}
