//! The law for gradients: that of a sparse operand is what the gradient by the dense operand, in `float64`, has where it
//! stores something, and for its fill the sum of what that has elsewhere. `differences` shows that gradients are gradients.

mod cases;
pub mod differences;

use openwork::{DType, ErrorKind, Fill, Layout, Tensor, vjp, with_densify_budget};

use self::cases::{Case, any_case};
use super::bridge::{dense, dtype_of, elements};
use super::gen_::{Sample, generate};
use super::oracle::{OType, OValue, indices, ravel};
use super::pointwise::Mode;
use super::report::Report;
use super::rng::Rng;
use super::sample::cell_of_shape;
use super::values::Data;

/// Values as complex numbers.
type Numbers = Vec<(f64, f64)>;

/// What a gradient should be: by each element, and by the fill.
struct Expected {
    whole: Numbers,
    fill: Option<(Vec<usize>, Numbers)>,
    /// Sum over the magnitudes of the elements of the whole gradient.
    size: f64,
}

pub fn sampled(report: &mut Report, rng: &mut Rng, rounds: usize) {
    for _ in 0..rounds {
        for kind in cases::KINDS {
            case(report, kind, rng.next());
            if report.is_full() {
                return;
            }
        }
    }
}

/// The case of a seed, if there is one.
pub fn case(report: &mut Report, kind: &'static str, seed: u64) {
    let Some(case) = any_case(kind, &mut Rng::new(seed)) else { return };
    let cells: Vec<_> = case.cells.iter().collect();
    let what = || format!("{:?} {seed:#x}", case.cells);
    report.case(&case.name, &cells, what, || check(&case, &mut Rng::new(seed ^ 0x77)));
}

fn check(case: &Case, rng: &mut Rng) -> Result<(), String> {
    let samples: Vec<Sample> =
        case.cells.iter().zip(&case.data).map(|(cell, &data)| generate(cell, rng.next(), data)).collect();
    let tensors: Vec<&Tensor> = samples.iter().map(|s| &s.tensor).collect();
    let Ok(y) = Mode::Finite.run(|| (case.op)(&tensors)) else {
        let zeros = Tensor::zeros([1], DType::F64, Layout::Strided).unwrap();
        // What the op refuses has no gradient, and an error is all that is given.
        return match Mode::Finite.run(|| (case.vjp)(&tensors, &zeros)) {
            Ok(_) => Err("a gradient of what the op refuses".into()),
            Err(_) => Ok(()),
        };
    };
    let out = super::bridge::otype_of(y.dtype());
    let cotangent = if out.is_float() || out.is_complex() { out } else { OType::F64 };
    let g = loop {
        if let Some(cell) = cell_of_shape(rng, cotangent, y.shape()) {
            let g = generate(&cell, rng.next(), Data::Any);
            if g.model.data.iter().flatten().all(|v| v.is_finite()) {
                break g;
            }
        }
    };
    let refused = case.operands.iter().any(|&i| {
        let t = samples[i].model.dtype;
        !(t.is_float() || t.is_complex())
    }) || !case.differentiable
        || cotangent != out;
    let got = match (Mode::Finite.run(|| (case.vjp)(&tensors, &g.tensor)), refused) {
        (Err(_), true) => return Ok(()),
        (Ok(_), true) => return Err("a gradient where there is none".into()),
        (Err(e), false) => return Err(format!("error: {e}")),
        (Ok(got), false) => got,
    };
    let want = expected(case, &samples, &g)?;
    let largest =
        |s: &Sample| s.model.data.iter().flatten().map(|&v| magnitude(v)).filter(|x| x.is_finite()).fold(1.0, f64::max);
    let size = g.model.data.iter().flatten().map(|&v| magnitude(v)).sum::<f64>()
        * samples.iter().map(largest).product::<f64>();
    let widest = samples.iter().map(|s| s.model.dtype).chain([out]);
    let eps = widest.filter(|t| !t.is_int() && !t.is_bool()).map(computed_eps).fold(0.0, f64::max);
    for (&i, (got, want)) in case.operands.iter().zip(got.iter().zip(&want)) {
        let slack = 64.0 * eps * (size + want.size);
        agrees(&samples[i], got, want, slack)
            .map_err(|e| format!("by operand {i} of {}, cotangent {}: {e}", tensors[i], g.tensor))?;
    }
    match Mode::Finite.run(|| with_densify_budget(0, || (case.vjp)(&tensors, &g.tensor))) {
        Ok(_) => Ok(()),
        Err(e) if matches!(e.kind(), ErrorKind::Densify { .. }) => Ok(()),
        Err(e) => Err(format!("budget 0: {e}")),
    }
}

/// The rounding of the dtype in which gradients are computed.
fn computed_eps(t: OType) -> f64 {
    if matches!(t, OType::F16 | OType::BF16) { OType::F32.eps() } else { t.eps() }
}

fn parts(v: OValue) -> (f64, f64) {
    match v {
        OValue::Bool(b) => (f64::from(u8::from(b)), 0.0),
        OValue::Int(v) => (v as f64, 0.0),
        OValue::Float(x) => (x, 0.0),
        OValue::Complex(re, im) => (re, im),
    }
}

fn magnitude(v: OValue) -> f64 {
    let (re, im) = parts(v);
    re.abs() + im.abs()
}

fn numbers(x: &Tensor) -> Result<Numbers, String> {
    Ok(elements(&x.to_dense_with(openwork::Scalar::zero(x.dtype())).map_err(|e| e.to_string())?)?
        .into_iter()
        .map(parts)
        .collect())
}

/// `float64` or its complex numbers.
fn widest(t: OType) -> OType {
    match t {
        _ if t.is_complex() => OType::Complex128,
        _ if t.is_float() => OType::F64,
        other => other,
    }
}

/// The gradients of the op on dense operands in `float64`; if an operand has an undefined fill, those of the same tensors as
/// COO.
fn expected(case: &Case, samples: &[Sample], g: &Sample) -> Result<Vec<Expected>, String> {
    let error = |e: openwork::Error| format!("reference: {e}");
    let by_storage = case.of_storage || samples.iter().any(|s| s.model.undefined);
    let zero = OValue::Int(0).cast(widest(g.model.dtype));
    let mut whole = g.model.cast(widest(g.model.dtype));
    whole.data.iter_mut().for_each(|v| *v = Some(v.unwrap_or(zero)));
    let cotangent = dense(&whole.with_undefined(false));
    let operands: Vec<Tensor> = samples
        .iter()
        .map(|s| {
            if !by_storage || s.fill.is_none() {
                return Ok(dense(&s.model.cast(widest(s.model.dtype))));
            }
            s.tensor.to_layout(Layout::Coo)?.cast(dtype_of(widest(s.model.dtype)))
        })
        .collect::<openwork::Result<_>>()
        .map_err(error)?;
    let operands: Vec<&Tensor> = operands.iter().collect();
    let by = Mode::Finite.run(|| (case.vjp)(&operands, &cotangent)).map_err(error)?;
    case.operands.iter().zip(&by).map(|(&i, by)| expectation(&samples[i], by, by_storage)).collect()
}

fn expectation(s: &Sample, by: &vjp::Gradient, by_storage: bool) -> Result<Expected, String> {
    let whole = numbers(&by.stored)?;
    let size = whole.iter().map(|(re, im)| re.abs() + im.abs()).filter(|x| x.is_finite()).sum();
    let own: Option<Vec<usize>> = match s.tensor.fill() {
        Some(Fill::Scalar(_)) => Some(Vec::new()),
        Some(Fill::Array(values)) => Some(values.shape().to_vec()),
        _ => None,
    };
    if by_storage && s.fill.is_some() {
        let fill = match (&by.fill, own) {
            (Some(Fill::Scalar(v)), _) => Some((Vec::new(), vec![parts(super::bridge::value_of(*v))])),
            (Some(Fill::Array(v)), _) => Some((v.shape().to_vec(), numbers(v)?)),
            _ => None,
        };
        return Ok(Expected { whole, fill, size });
    }
    let stored = numbers(&s.tensor.is_stored().map_err(|e| e.to_string())?)?;
    let shape = &s.model.shape;
    let fill = own.map(|own| {
        let mut sums = vec![(0.0, 0.0); own.iter().product()];
        for (at, index) in indices(shape).iter().enumerate() {
            if stored[at].0 == 0.0 {
                let lead = shape.len() - own.len();
                let place: Vec<usize> =
                    own.iter().enumerate().map(|(d, &n)| if n == 1 { 0 } else { index[d + lead] }).collect();
                let sum = &mut sums[ravel(&place, &own)];
                *sum = (sum.0 + whole[at].0, sum.1 + whole[at].1);
            }
        }
        (own, sums)
    });
    Ok(Expected { whole, fill, size })
}

/// The gradient has the operand's pattern, layout and dtype, and is what it should be.
fn agrees(s: &Sample, got: &vjp::Gradient, want: &Expected, slack: f64) -> Result<(), String> {
    let error = |e: openwork::Error| e.to_string();
    let (x, dtype) = (&s.tensor, s.model.dtype);
    if got.stored.dtype() != x.dtype() || got.stored.shape() != x.shape() || got.stored.layout() != x.layout() {
        let of = |t: &Tensor| format!("{:?} {} {}", t.shape(), t.dtype(), t.layout());
        return Err(format!("{} expected, got {}", of(x), of(&got.stored)));
    }
    super::bridge::meaning(&got.stored)?;
    let (stored, own) = (got.stored.is_stored().map_err(error)?, x.is_stored().map_err(error)?);
    let (stored, own) = (numbers(&stored)?, numbers(&own)?);
    if stored != own {
        return Err("another pattern".into());
    }
    let fill_is_as = match (got.stored.fill(), x.fill()) {
        (None, None) => true,
        (Some(Fill::Undefined), Some(Fill::Undefined)) => true,
        (Some(Fill::Scalar(zero)), Some(Fill::Scalar(_) | Fill::Array(_))) => zero.is_zero(),
        _ => false,
    };
    if !fill_is_as {
        return Err(format!("the fill is {:?} beside {:?}", got.stored.fill(), x.fill()));
    }
    let near = |got: (f64, f64), want: (f64, f64)| {
        let one = |got: f64, want: f64| {
            !want.is_finite()
                || want.abs() >= dtype.float_max() * 0.99
                || (got - want).abs() <= slack + dtype.eps() * want.abs() + dtype.float_min()
        };
        !(want.0.is_finite() && want.1.is_finite()) || (one(got.0, want.0) && one(got.1, want.1))
    };
    for (at, got) in numbers(&got.stored)?.into_iter().enumerate() {
        if own[at].0 != 0.0 && !near(got, want.whole[at]) {
            return Err(format!("element {at}: {:?} expected, got {got:?}, slack {slack:e}", want.whole[at]));
        }
    }
    let got = match &got.fill {
        None => None,
        Some(Fill::Scalar(v)) => Some((Vec::new(), vec![parts(super::bridge::value_of(*v))])),
        Some(Fill::Array(v)) => Some((v.shape().to_vec(), numbers(v)?)),
        Some(other) => return Err(format!("a gradient by the fill that is {other:?}")),
    };
    match (got, &want.fill) {
        (None, None) => Ok(()),
        (Some((shape, got)), Some((as_wanted, want))) if shape == *as_wanted => {
            match (0..got.len()).find(|&i| !near(got[i], want[i])) {
                None => Ok(()),
                Some(i) => Err(format!("fill {i}: {:?} expected, got {:?}, slack {slack:e}", want[i], got[i])),
            }
        }
        (got, want) => Err(format!("fill: {want:?} expected, got {got:?}")),
    }
}
