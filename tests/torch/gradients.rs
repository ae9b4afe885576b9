//! Gradients beside libtorch's autograd: what [`openwork::vjp`] gives by what an operand stores is what autograd gives by the
//! strided operand there, and what it gives by the fill is the sum of what autograd gives elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use openwork::vjp::{self, Gradient};
use openwork::{DType, Fill, Result, Scalar, Tensor, keep, s};
use tch::{Kind, TchError, Tensor as Torch};

use crate::against::{AS_IS, In, LAYOUTS, dense, numbers, quietly, stored_as, tolerance};
use crate::memory::beside;

/// libtorch's operands, and where ours store something in the first.
struct Theirs {
    x: In<Torch>,
    stored: Torch,
}

/// Which operands there are gradients by: letters of [`In`].
type By = &'static str;
type OurGradients = fn(&In<Tensor>, &Tensor) -> Result<Vec<Gradient>>;
type TheirOp = fn(&Theirs) -> std::result::Result<Torch, TchError>;

struct Case {
    name: &'static str,
    by: By,
    ours: OurGradients,
    theirs: TheirOp,
    /// Looks at what is stored: a strided operand has no such gradient.
    of_storage: bool,
}

fn case(name: &'static str, by: By, ours: OurGradients, theirs: TheirOp) -> Case {
    Case { name, by, ours, theirs, of_storage: false }
}

macro_rules! unary {
    ($($name:ident as $theirs:ident $(($($argument:expr),*))?;)*) => {
        vec![$(case(stringify!($name), "a", |x, g| Ok(vec![vjp::$name(&x.a, g)?]), |t| t.x.a.$theirs($($($argument),*)?))),*]
    };
}

macro_rules! binary {
    ($($name:ident as $theirs:ident;)*) => {
        vec![$(
            case(stringify!($name), "ab", |x, g| both(vjp::$name(&x.a, &x.b, g)?), |t| t.x.a.$theirs(&t.x.b)),
            case(concat!(stringify!($name), "(row)"), "av", |x, g| both(vjp::$name(&x.a, &x.v, g)?), |t| t.x.a.$theirs(&t.x.v)),
        )*]
    };
}

/// Along rows and columns, all, and along rows that stay as an axis.
macro_rules! reduced {
    ($($name:literal: |$x:ident, $axes:ident, $g:ident| $ours:expr, |$t:ident, $dims:ident, $keep:ident| $theirs:expr;)*) => {
        vec![$(
            case(concat!($name, "(0)"), "a", |x, $g| { let ($x, $axes) = (&x.a, 0); Ok(vec![$ours?]) },
                |t| { let ($t, $dims, $keep) = (&t.x.a, [0i64].as_slice(), false); $theirs }),
            case(concat!($name, "(1, keepdim)"), "a", |x, $g| { let ($x, $axes) = (&x.a, keep(1)); Ok(vec![$ours?]) },
                |t| { let ($t, $dims, $keep) = (&t.x.a, [1i64].as_slice(), true); $theirs }),
            case(concat!($name, "(..)"), "a", |x, $g| { let ($x, $axes) = (&x.a, ..); Ok(vec![$ours?]) },
                |t| { let ($t, $dims, $keep) = (&t.x.a, [0i64, 1].as_slice(), false); $theirs }),
        )*]
    };
}

fn both(by: vjp::Gradients) -> Result<Vec<Gradient>> {
    Ok(vec![by.left()?, by.right()?])
}

/// The first axis that is reduced, where libtorch takes one alone.
fn product(t: &Torch, dims: &[i64], keep: bool) -> std::result::Result<Torch, TchError> {
    if dims.len() == 1 { t.f_prod_dim_int(dims[0], keep, AS_IS) } else { t.f_prod(AS_IS) }
}

fn pointwise() -> Vec<Case> {
    let mut out = unary! {
        neg as f_neg; abs as f_abs; sign as f_sgn; square as f_square; sqrt as f_sqrt; rsqrt as f_rsqrt;
        reciprocal as f_reciprocal; exp as f_exp; exp2 as f_exp2; expm1 as f_expm1; log as f_log; log2 as f_log2;
        log10 as f_log10; log1p as f_log1p; sin as f_sin; cos as f_cos; tan as f_tan; sinh as f_sinh; cosh as f_cosh;
        tanh as f_tanh; asin as f_asin; acos as f_acos; atan as f_atan; asinh as f_asinh; acosh as f_acosh;
        atanh as f_atanh; deg2rad as f_deg2rad; rad2deg as f_rad2deg; sigmoid as f_sigmoid;
        hardsigmoid as f_hardsigmoid; logit as f_logit(None::<f64>); softplus as f_softplus; silu as f_silu;
        gelu as f_gelu("none"); relu as f_relu; leaky_relu as f_leaky_relu; elu as f_elu; erf as f_erf; erfc as f_erfc;
        erfinv as f_erfinv; lgamma as f_lgamma; digamma as f_digamma;
        nan_to_num as f_nan_to_num(None::<f64>, None::<f64>, None::<f64>);
        angle as f_angle; conj as f_conj_physical; real as f_real; imag as f_imag;
    };
    out.extend(binary! {
        add as f_add; sub as f_sub; mul as f_multiply; div as f_div; maximum as f_maximum; minimum as f_minimum;
        fmax as f_fmax; fmin as f_fmin; atan2 as f_atan2; hypot as f_hypot; copysign as f_copysign;
        logaddexp as f_logaddexp; xlogy as f_xlogy; fmod as f_fmod_tensor; remainder as f_remainder_tensor;
    });
    out.extend([
        case("pow", "ab", |x, g| both(vjp::pow(&x.a, &x.b, g)?), |t| t.x.a.f_pow(&t.x.b)),
        case("pow(number)", "a", |x, g| Ok(vec![vjp::pow(&x.a, 3, g)?.left()?]), |t| t.x.a.f_pow_tensor_scalar(3)),
        case("mul(number)", "a", |x, g| Ok(vec![vjp::mul(&x.a, 3, g)?.left()?]), |t| t.x.a.f_mul_scalar(3)),
        case(
            "softsign",
            "a",
            |x, g| Ok(vec![vjp::softsign(&x.a, g)?]),
            |t| t.x.a.f_div(&t.x.a.f_abs()?.f_add_scalar(1)?),
        ),
        case(
            "where",
            "ab",
            |x, g| both(vjp::where_(&x.v.ne(0)?, &x.a, &x.b, g)?),
            |t| t.x.a.f_where_self(&t.x.v.f_ne(0)?, &t.x.b),
        ),
    ]);
    out
}

fn reductions() -> Vec<Case> {
    let mut out = reduced! {
        "sum": |x, axes, g| vjp::sum(x, axes, g), |t, dims, keep| t.f_sum_dim_intlist(dims, keep, AS_IS);
        "mean": |x, axes, g| vjp::mean(x, axes, g), |t, dims, keep| t.f_mean_dim(dims, keep, AS_IS);
        "prod": |x, axes, g| vjp::prod(x, axes, g), |t, dims, keep| product(t, dims, keep);
        "amax": |x, axes, g| vjp::max(x, axes, g), |t, dims, keep| t.f_amax(dims, keep);
        "amin": |x, axes, g| vjp::min(x, axes, g), |t, dims, keep| t.f_amin(dims, keep);
        "var": |x, axes, g| vjp::var(x, 1.0, axes, g), |t, dims, keep| t.f_var_dim(dims, true, keep);
        "std": |x, axes, g| vjp::std(x, 0.0, axes, g), |t, dims, keep| t.f_std_dim(dims, false, keep);
        "norm(1)": |x, axes, g| vjp::vector_norm(x, 1.0, axes, g), |t, dims, keep| t.f_norm_scalaropt_dim(1, dims, keep);
        "norm(2)": |x, axes, g| vjp::vector_norm(x, 2.0, axes, g), |t, dims, keep| t.f_norm_scalaropt_dim(2, dims, keep);
        "norm(3)": |x, axes, g| vjp::vector_norm(x, 3.0, axes, g), |t, dims, keep| t.f_norm_scalaropt_dim(3, dims, keep);
        "norm(inf)": |x, axes, g| vjp::vector_norm(x, f64::INFINITY, axes, g),
            |t, dims, keep| t.f_norm_scalaropt_dim(f64::INFINITY, dims, keep);
        "logsumexp": |x, axes, g| vjp::logsumexp(x, axes, g), |t, dims, keep| t.f_logsumexp(dims, keep);
    };
    out.extend([
        case("softmax(0)", "a", |x, g| Ok(vec![vjp::softmax(&x.a, 0, g)?]), |t| t.x.a.f_softmax(0, AS_IS)),
        case("softmax(1)", "a", |x, g| Ok(vec![vjp::softmax(&x.a, 1, g)?]), |t| t.x.a.f_softmax(1, AS_IS)),
        case("log_softmax(0)", "a", |x, g| Ok(vec![vjp::log_softmax(&x.a, 0, g)?]), |t| t.x.a.f_log_softmax(0, AS_IS)),
        case("log_softmax(1)", "a", |x, g| Ok(vec![vjp::log_softmax(&x.a, 1, g)?]), |t| t.x.a.f_log_softmax(1, AS_IS)),
        // As torch.sparse means it: what is not stored is −∞ before, and 0 after.
        Case {
            of_storage: true,
            ..case(
                "softmax(1) over what is stored",
                "a",
                |x, g| Ok(vec![vjp::softmax(&x.a.replace_fill(Fill::Undefined)?, 1, g)?]),
                |t| masked(t)?.f_softmax(1, AS_IS)?.f_nan_to_num(0.0, None::<f64>, None::<f64>),
            )
        },
        Case {
            of_storage: true,
            ..case(
                "logsumexp(1) over what is stored",
                "a",
                |x, g| Ok(vec![vjp::logsumexp(&x.a.replace_fill(Fill::Undefined)?, 1, g)?]),
                |t| masked(t)?.f_logsumexp([1].as_slice(), false),
            )
        },
    ]);
    out
}

/// −∞ where nothing is stored.
fn masked(t: &Theirs) -> std::result::Result<Torch, TchError> {
    t.x.a.f_masked_fill(&t.stored.f_logical_not()?, f64::NEG_INFINITY)
}

fn products() -> Vec<Case> {
    vec![
        case("matmul", "ac", |x, g| both(vjp::matmul(&x.a, &x.c, g)?), |t| t.x.a.f_matmul(&t.x.c)),
        case("matmul(strided)", "ad", |x, g| both(vjp::matmul(&x.a, &x.d, g)?), |t| t.x.a.f_matmul(&t.x.d)),
        case("strided.matmul", "da", |x, g| both(vjp::matmul(&x.d, &x.a, g)?), |t| t.x.d.f_matmul(&t.x.a)),
        case("mv", "av", |x, g| both(vjp::matmul(&x.a, &x.v, g)?), |t| t.x.a.f_mv(&t.x.v)),
        Case {
            of_storage: true,
            ..case(
                "sampled_addmm",
                "ad",
                |x, g| {
                    let left = x.d.t()?; // 6 × 8
                    let by = vjp::sampled_addmm(&x.a, &left.matmul(&x.d)?, &left, 2, 3, g)?;
                    // By d: as the left factor's own factors and as the right factor.
                    let outer = vjp::matmul(&left, &x.d, &by.by(1)?.stored)?;
                    let turned = outer.left()?.stored.add(&by.by(2)?.stored)?.t()?;
                    let mut whole = outer.right()?;
                    whole.stored = whole.stored.add(&turned)?;
                    Ok(vec![by.by(0)?, whole])
                },
                |t| {
                    let left = t.x.d.f_transpose(0, 1)?;
                    let product = left.f_matmul(&t.x.d)?.f_matmul(&left)?.f_mul_scalar(3)?;
                    let sampled = t.x.a.f_mul_scalar(2)?.f_add(&product)?;
                    sampled.f_where_self(&t.stored, &t.x.a)
                },
            )
        },
    ]
}

fn shapes() -> Vec<Case> {
    vec![
        case("permute", "a", |x, g| Ok(vec![vjp::permute_dims(&x.a, [1, 0], g)?]), |t| t.x.a.f_permute([1, 0])),
        case("reshape", "a", |x, g| Ok(vec![vjp::reshape(&x.a, g)?]), |t| t.x.a.f_reshape([4, 12])),
        case("expand", "a", |x, g| Ok(vec![vjp::broadcast_to(&x.a, g)?]), |t| t.x.a.f_expand([2, 6, 8], false)),
        case(
            "slice",
            "a",
            |x, g| Ok(vec![vjp::index(&x.a, s![1..4, 1..;3], g)?]),
            |t| t.x.a.f_slice(0, 1, 4, 1)?.f_slice(1, 1, None::<i64>, 3),
        ),
        case("select", "a", |x, g| Ok(vec![vjp::index(&x.a, s![2], g)?]), |t| t.x.a.f_select(0, 2)),
        case(
            "index_select",
            "a",
            |x, g| Ok(vec![vjp::index_select(&x.a, vec![3, 0, 3], 0, g)?]),
            |t| t.x.a.f_index_select(0, &Torch::from_slice(&[3i64, 0, 3])),
        ),
        case("cat", "ab", |x, g| both(vjp::concat(&[&x.a, &x.b], 1, g)?), |t| Torch::f_cat(&[&t.x.a, &t.x.b], 1)),
        case("to(complex128)", "a", |x, g| Ok(vec![vjp::cast(&x.a, g)?]), |t| t.x.a.f_to_kind(Kind::ComplexDouble)),
        case(
            "to(float32)",
            "a",
            |x, g| Ok(vec![vjp::cast(&x.a, g)?]),
            |t| {
                let complex = matches!(t.x.a.f_kind()?, Kind::ComplexFloat | Kind::ComplexDouble);
                t.x.a.f_to_kind(if complex { Kind::ComplexFloat } else { Kind::Float })
            },
        ),
    ]
}

const DTYPES: [DType; 6] = [DType::F64, DType::F32, DType::Complex128, DType::Complex64, DType::F16, DType::BF16];
const FILLS: [&str; 3] = ["0", "1.25", "a row"];

/// Ours in a layout, with a fill.
fn operands(dtype: DType, layout: &str, fill: &str) -> In<Tensor> {
    let filled = |shape: [usize; 2], seed| {
        let x = numbers(shape, dtype, seed);
        let value = Scalar::from(1.25).cast(dtype);
        let x = match fill {
            "0" => x,
            "1.25" => x.replace_fill(value).unwrap(),
            _ => {
                let row = numbers([1, shape[1]], dtype, seed + 20).to_dense().unwrap();
                x.replace_fill(row.add(value).unwrap()).unwrap()
            }
        };
        stored_as(&x, layout)
    };
    let v = numbers([8, 1], dtype, 15).to_dense().unwrap().reshape([8]).unwrap();
    In {
        a: filled([6, 8], 11),
        b: filled([6, 8], 12),
        c: filled([8, 6], 13),
        d: numbers([8, 6], dtype, 14).to_dense().unwrap(),
        v,
    }
}

fn named<T>(x: &In<T>, letter: char) -> &T {
    match letter {
        'a' => &x.a,
        'b' => &x.b,
        'c' => &x.c,
        'd' => &x.d,
        _ => &x.v,
    }
}

/// libtorch's operands, tracked, and apart from all others.
fn tracked(x: &In<Tensor>) -> Theirs {
    let to = |x: &Tensor| x.to_dense().unwrap().to_torch().unwrap().set_requires_grad(true);
    let stored = x.a.is_stored().unwrap().to_dense().unwrap().to_torch().unwrap();
    Theirs { x: In { a: to(&x.a), b: to(&x.b), c: to(&x.c), d: to(&x.d), v: to(&x.v) }, stored }
}

/// libtorch's gradients of the real part of ⟨cotangent, result⟩, as strided tensors of ours, and the cotangent.
fn autograd(case: &Case, t: &Theirs) -> std::result::Result<(Tensor, Vec<Tensor>), String> {
    let error = |e: TchError| e.to_string().lines().next().unwrap_or_default().to_string();
    let y = (case.theirs)(t).map_err(error)?;
    let shape: Vec<usize> = y.size().iter().map(|&n| n as usize).collect();
    let dtype = dense(&y.detach())?.dtype();
    if !(dtype.is_float() || dtype.is_complex()) {
        return Err("no float".into());
    }
    let count = shape.iter().product();
    let g = numbers([count, 1], dtype, 31).to_dense().and_then(|g| g.reshape(&shape)).map_err(|e| e.to_string())?;
    let with = g.to_torch().map_err(|e| e.to_string())?;
    let all = y.f_multiply(&with.f_conj_physical().map_err(error)?).map_err(error)?;
    let all = if dtype.is_complex() { all.f_real().map_err(error)? } else { all };
    let number = all.f_sum(AS_IS).map_err(error)?;
    let by: Vec<&Torch> = case.by.chars().map(|letter| named(&t.x, letter)).collect();
    let gradients = Torch::f_run_backward(&[number], &by, false, false).map_err(error)?;
    let gradients: std::result::Result<Vec<Tensor>, String> = gradients.iter().map(|t| dense(&t.detach())).collect();
    Ok((g, gradients?))
}

/// As strided, absent elements as 0, in the widest type.
fn wide(x: &Tensor) -> Tensor {
    let to = if x.dtype().is_complex() { DType::Complex128 } else { DType::F64 };
    x.to_dense_with(Scalar::zero(x.dtype())).unwrap().cast(to).unwrap()
}

/// The gradient by the stored elements and by the fill, beside that by all elements.
fn agrees(x: &Tensor, got: &Gradient, whole: &Tensor, slack: DType) -> std::result::Result<(), String> {
    if (got.stored.dtype(), got.stored.shape(), got.stored.layout()) != (x.dtype(), x.shape(), x.layout()) {
        return Err(format!("{} {} {:?}", got.stored.dtype(), got.stored.layout(), got.stored.shape()));
    }
    let (rtol, atol) = tolerance(x.dtype(), slack);
    let near = |ours: &Tensor, theirs: &Tensor, terms: f64| {
        let parts = |x: &Tensor| match x.dtype().is_complex() {
            true => vec![x.real().unwrap(), x.imag().unwrap()],
            false => vec![x.clone()],
        };
        // A complex number that is not finite has any part.
        let finite = theirs.isfinite().unwrap();
        let (ours, theirs) = match theirs.dtype().is_complex() && ours.isfinite().unwrap().equal(&finite).unwrap() {
            true => (finite.where_(ours, 0.0).unwrap(), finite.where_(theirs, 0.0).unwrap()),
            false => (ours.clone(), theirs.clone()),
        };
        ours.shape() == theirs.shape()
            && parts(&ours)
                .iter()
                .zip(&parts(&theirs))
                .all(|(x, y)| x.allclose_nan(y, rtol, atol + rtol * terms).unwrap())
    };
    let whole = wide(whole);
    let stored = x.is_stored().unwrap().to_dense().unwrap();
    let zero = Scalar::zero(whole.dtype());
    let there = stored.where_(&whole, zero).unwrap();
    if !near(&wide(&got.stored), &there, 0.0) {
        return Err(format!("stored: {}\nnot\n{there}", wide(&got.stored)));
    }
    let elsewhere = stored.where_(zero, &whole).unwrap();
    let size = elsewhere.abs().unwrap().sum(..).unwrap().item_as::<f64>().unwrap();
    if !size.is_finite() {
        return Ok(()); // a sum in which infinities meet
    }
    let fill = match (&got.fill, x.fill()) {
        (Some(Fill::Scalar(v)), Some(Fill::Scalar(_))) => (wide(&Tensor::scalar(*v)), elsewhere.sum(..).unwrap()),
        (Some(Fill::Array(v)), Some(Fill::Array(own))) if v.shape() == own.shape() => {
            let axis = if own.ndim() == 2 { elsewhere.sum(keep(0)) } else { elsewhere.sum(0) };
            (wide(v), axis.unwrap())
        }
        (None, None | Some(Fill::Undefined)) => return Ok(()),
        (got, own) => return Err(format!("{got:?} as the gradient by the fill {own:?}")),
    };
    if near(&fill.0, &fill.1, size) { Ok(()) } else { Err(format!("fill: {}\nnot\n{}", fill.0, fill.1)) }
}

/// Gradients of libtorch's that are not those of its own convention, or wrong: operand types and why.
const DIFFERENT: &[(&str, &[DType])] = &[
    // A number below −1, of which there is no acosh, has a gradient.
    ("acosh", &[DType::F64, DType::F32, DType::F16, DType::BF16]),
    ("hardsigmoid", &[DType::F64]), // a sixth in float32
    // NaN at 0 to the power of a number with a positive real part, as the power itself.
    ("pow", &[DType::Complex128, DType::Complex64]),
];

/// Ops that libtorch has for complex numbers and we have not.
const NOT_OURS_OF_COMPLEX: &[&str] = &["logaddexp", "logsumexp", "sigmoid", "softsign", "silu"];

#[test]
fn as_autograd_on_every_layout_and_fill() {
    let _beside = beside();
    quietly();
    let cases: Vec<Case> = [pointwise(), reductions(), products(), shapes()].into_iter().flatten().collect();
    let mut compared: BTreeMap<&str, usize> = BTreeMap::new();
    let mut refused: BTreeMap<(&str, DType), String> = BTreeMap::new();
    let (mut faults, mut seen) = (Vec::new(), BTreeSet::new());
    for dtype in DTYPES {
        for fill in FILLS {
            for layout in LAYOUTS {
                // Duplicates are summed with the fill 0; what is strided has none.
                if fill != "0" && matches!(layout, "strided" | "coo, uncoalesced") {
                    continue;
                }
                let x = operands(dtype, layout, fill);
                for case in &cases {
                    if refused.contains_key(&(case.name, dtype)) || (case.of_storage && layout == "strided") {
                        continue;
                    }
                    let t = tracked(&x);
                    let (g, theirs) = match autograd(case, &t) {
                        Ok(found) => found,
                        Err(why) => {
                            refused.insert((case.name, dtype), why);
                            continue;
                        }
                    };
                    let what = format!("{} of {dtype}, {layout}, fill {fill}", case.name);
                    let is_different = DIFFERENT.iter().any(|(n, d)| *n == case.name && d.contains(&dtype));
                    let is_not_ours =
                        dtype.is_complex() && NOT_OURS_OF_COMPLEX.iter().any(|name| case.name.starts_with(name));
                    let ours = match (case.ours)(&x, &g) {
                        Ok(ours) => ours,
                        Err(_) if is_different || is_not_ours => continue,
                        Err(e) => {
                            faults.push(format!("{what}: {e}"));
                            continue;
                        }
                    };
                    for ((letter, ours), theirs) in case.by.chars().zip(&ours).zip(&theirs) {
                        let own = named(&x, letter);
                        let undefined = case.name.ends_with("what is stored");
                        let own = if undefined { own.replace_fill(Fill::Undefined).unwrap() } else { own.clone() };
                        // A type of the result that is coarser than the operand's bounds the gradient.
                        match agrees(&own, ours, theirs, g.dtype()) {
                            Ok(()) => {
                                *compared.entry(case.name).or_insert(0) += 1;
                                seen.insert((case.name, dtype));
                            }
                            Err(_) if is_different => {}
                            Err(why) => faults.push(format!("{what}, by {letter}: {why}")),
                        }
                    }
                }
            }
        }
    }
    let total: usize = compared.values().sum();
    assert!(faults.is_empty(), "{} beside {total}:\n{}", faults.len(), faults.join("\n"));
    let never: Vec<&str> = cases.iter().map(|case| case.name).filter(|name| !compared.contains_key(name)).collect();
    assert!(never.is_empty(), "never compared: {never:?}\n{refused:?}");
    println!(
        "{} gradients, {} with a dtype, {total} with a layout and a fill: all as autograd's",
        cases.len(),
        seen.len()
    );
    println!("{} with a dtype refused by libtorch", refused.len());
    assert!(cases.len() >= 120 && total > 15_000, "{} gradients, {total}", cases.len());
}
