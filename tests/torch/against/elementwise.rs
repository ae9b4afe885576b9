//! Functions of one operand, of two, of an operand and a number.

use openwork::Tensor;

use super::{In, Op, op};

macro_rules! unary {
    ($($name:ident $(as $theirs:ident)? $(($($argument:expr),*))?;)*) => {
        vec![$(op(stringify!($name), |x| x.a.$name(), |t| unary!(@ t, $name $(as $theirs)? $(($($argument),*))?))),*]
    };
    (@ $t:ident, $name:ident as $theirs:ident $(($($argument:expr),*))?) => { $t.a.$theirs($($($argument),*)?) };
}

macro_rules! binary {
    ($($name:ident as $theirs:ident;)*) => {
        vec![$(op(stringify!($name), |x| x.a.$name(&x.b), |t| t.a.$theirs(&t.b))),*]
    };
}

/// Nowhere zero.
fn nonzero(x: &Tensor) -> openwork::Result<Tensor> {
    x.abs()?.add(1)
}

fn nonzero_torch(t: &tch::Tensor) -> Result<tch::Tensor, tch::TchError> {
    t.f_abs()?.f_add_scalar(1)
}

pub fn ops() -> Vec<Op> {
    let mut out = unary! {
        neg as f_neg; abs as f_abs; sign as f_sgn; square as f_square; sqrt as f_sqrt; rsqrt as f_rsqrt;
        reciprocal as f_reciprocal; exp as f_exp; exp2 as f_exp2; expm1 as f_expm1; log as f_log; log2 as f_log2;
        log10 as f_log10; log1p as f_log1p; sin as f_sin; cos as f_cos; tan as f_tan; sinh as f_sinh; cosh as f_cosh;
        tanh as f_tanh; asin as f_asin; acos as f_acos; atan as f_atan; asinh as f_asinh; acosh as f_acosh;
        atanh as f_atanh; deg2rad as f_deg2rad; rad2deg as f_rad2deg; sigmoid as f_sigmoid;
        hardsigmoid as f_hardsigmoid; logit as f_logit(None::<f64>); softplus as f_softplus; silu as f_silu;
        gelu as f_gelu("none"); relu as f_relu; leaky_relu as f_leaky_relu; elu as f_elu; erf as f_erf; erfc as f_erfc;
        erfinv as f_erfinv; lgamma as f_lgamma; digamma as f_digamma; floor as f_floor; ceil as f_ceil;
        trunc as f_trunc; round as f_round; isnan as f_isnan; isinf as f_isinf; isfinite as f_isfinite;
        isposinf as f_isposinf; isneginf as f_isneginf; signbit as f_signbit; logical_not as f_logical_not;
        nan_to_num as f_nan_to_num(None::<f64>, None::<f64>, None::<f64>); bitwise_not as f_bitwise_not;
        angle as f_angle; conj as f_conj_physical; real as f_real; imag as f_imag;
    };
    out.extend(binary! {
        add as f_add; sub as f_sub; mul as f_multiply; div as f_div; maximum as f_maximum; minimum as f_minimum;
        fmax as f_fmax; fmin as f_fmin; atan2 as f_atan2; hypot as f_hypot; copysign as f_copysign;
        nextafter as f_nextafter; logaddexp as f_logaddexp; xlogy as f_xlogy; heaviside as f_heaviside;
        eq as f_eq_tensor; ne as f_ne_tensor; lt as f_lt_tensor; le as f_le_tensor; gt as f_gt_tensor;
        ge as f_ge_tensor; logical_and as f_logical_and; logical_or as f_logical_or; logical_xor as f_logical_xor;
        bitwise_and as f_bitwise_and_tensor; bitwise_or as f_bitwise_or_tensor; bitwise_xor as f_bitwise_xor_tensor;
        gcd as f_gcd; lcm as f_lcm; remainder as f_remainder_tensor; fmod as f_fmod_tensor;
        floor_divide as f_floor_divide;
    });
    out.extend([
        op("pow", |x| x.a.pow(x.b.abs()?), |t| t.a.f_pow(&t.b.f_abs()?)),
        op("bitwise_left_shift", |x| x.a.bitwise_left_shift(x.b.abs()?), |t| t.a.f_bitwise_left_shift(&t.b.f_abs()?)),
        op(
            "bitwise_right_shift",
            |x| x.a.bitwise_right_shift(x.b.abs()?),
            |t| t.a.f_bitwise_right_shift(&t.b.f_abs()?),
        ),
        op("remainder(nonzero)", |x| x.a.remainder(nonzero(&x.b)?), |t| t.a.f_remainder_tensor(&nonzero_torch(&t.b)?)),
        op("fmod(nonzero)", |x| x.a.fmod(nonzero(&x.b)?), |t| t.a.f_fmod_tensor(&nonzero_torch(&t.b)?)),
        op(
            "floor_divide(nonzero)",
            |x| x.a.floor_divide(nonzero(&x.b)?),
            |t| t.a.f_floor_divide(&nonzero_torch(&t.b)?),
        ),
        op("add(number)", |x| x.a.add(2), |t| t.a.f_add_scalar(2)),
        op("sub(number)", |x| x.a.sub(2), |t| t.a.f_sub_scalar(2)),
        op("mul(number)", |x| x.a.mul(2), |t| t.a.f_mul_scalar(2)),
        op("div(number)", |x| x.a.div(2), |t| t.a.f_div_scalar(2)),
        op("pow(number)", |x| x.a.pow(2), |t| t.a.f_pow_tensor_scalar(2)),
        op("eq(number)", |x| x.a.eq(0), |t| t.a.f_eq(0)),
        op("gt(number)", |x| x.a.gt(0), |t| t.a.f_gt(0)),
        op("le(number)", |x| x.a.le(1), |t| t.a.f_le(1)),
        op("add(row)", |x| x.a.add(&x.v), |t| t.a.f_add(&t.v)),
        op("sub(row)", |x| x.a.sub(&x.v), |t| t.a.f_sub(&t.v)),
        op("mul(row)", |x| x.a.mul(&x.v), |t| t.a.f_multiply(&t.v)),
        op("div(row)", |x| x.a.div(&x.v), |t| t.a.f_div(&t.v)),
        op("add(strided)", |x| x.a.add(&x.d.t()?), |t| t.a.f_add(&t.d.f_transpose(0, 1)?)),
        op("mul(strided)", |x| x.a.mul(&x.d.t()?), |t| t.a.f_multiply(&t.d.f_transpose(0, 1)?)),
        op(
            "mul(strided of more axes)",
            |x| x.a.expand_dims(0)?.mul(Tensor::stack(&[x.d.t()?, x.d.t()?], 0)?),
            |t| {
                let d = t.d.f_transpose(0, 1)?;
                t.a.f_unsqueeze(0)?.f_multiply(&tch::Tensor::f_stack(&[&d, &d], 0)?)
            },
        ),
        op("clamp", |x| x.a.clamp(-1, 1), |t| t.a.f_clamp(-1, 1)),
        op("clamp(positive)", |x| x.a.clamp(1, 2), |t| t.a.f_clamp(1, 2)),
        op("lerp", |x| x.a.lerp(&x.b, 0.25), |t| t.a.f_lerp(&t.b, 0.25)),
        op("addcmul", |x| x.a.addcmul(&x.b, &x.a, 1), |t| t.a.f_addcmul(&t.b, &t.a)),
        op("addcdiv", |x| x.a.addcdiv(&x.b, &x.a, 1), |t| t.a.f_addcdiv(&t.b, &t.a)),
        op("where", |x| x.a.ne(0)?.where_(&x.a, &x.b), |t| t.a.f_where_self(&t.a.f_ne(0)?, &t.b)),
        op("isclose", |x| x.a.isclose(&x.b, 1e-5, 1e-8), |t| t.a.f_isclose(&t.b, 1e-5, 1e-8, false)),
        op("positive", |x: &In<Tensor>| x.a.positive(), |t| t.a.f_positive()),
        op("polygamma(1)", |x| x.a.polygamma(1), |t| t.a.f_polygamma(1)),
    ]);
    out
}
