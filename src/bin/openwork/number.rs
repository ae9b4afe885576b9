//! Numbers: from the command line, and as JSON.

use openwork::{Fill, Scalar, c128};

/// A fill of any kind that the command line can say.
#[derive(Clone, Copy)]
pub(crate) enum AnyFill {
    Value(Scalar),
    Undefined,
}

impl From<AnyFill> for Fill {
    fn from(fill: AnyFill) -> Fill {
        match fill {
            AnyFill::Value(value) => value.into(),
            AnyFill::Undefined => Fill::Undefined,
        }
    }
}

pub(crate) fn any_fill(text: &str) -> Result<AnyFill, String> {
    if text == "undefined" { Ok(AnyFill::Undefined) } else { fill(text).map(AnyFill::Value) }
}

/// `true`, `-3`, `0.5`, `inf`, `nan`, `1+2i`.
pub(crate) fn fill(text: &str) -> Result<Scalar, String> {
    if let Ok(value) = text.parse::<bool>() {
        return Ok(value.into());
    }
    if let Ok(value) = text.parse::<i64>() {
        return Ok(value.into());
    }
    if let Ok(value) = text.parse::<u64>() {
        return Ok(value.into());
    }
    if let Ok(value) = text.parse::<f64>() {
        return Ok(value.into());
    }
    complex(text).map(Scalar::from).ok_or_else(|| format!("{text:?} is no value such as 0, -1.5, inf, true or 1+2i"))
}

fn complex(text: &str) -> Option<c128> {
    let body = text.strip_suffix(['i', 'j'])?;
    // The sign between the parts is the last one that no exponent has in front of it.
    let is_sign = |at: usize, byte: u8| {
        at > 0 && matches!(byte, b'+' | b'-') && !matches!(body.as_bytes().get(at - 1), Some(b'e' | b'E'))
    };
    let cut = body.bytes().enumerate().rfind(|&(at, byte)| is_sign(at, byte)).map(|(at, _)| at);
    let (re, im) = cut.map_or(("0", body), |at| body.split_at(at));
    Some(c128::new(re.parse().ok()?, im.parse().ok()?))
}

/// A value as JSON: numbers, `true`, complex ones as `{"re": …, "im": …}`, what JSON lacks as a string.
pub(crate) fn push_json(out: &mut String, value: Scalar) {
    match value {
        Scalar::F16(v) => push_float(out, v.to_f64()),
        Scalar::BF16(v) => push_float(out, v.to_f64()),
        Scalar::F32(v) => push_float(out, v.into()),
        Scalar::F64(v) => push_float(out, v),
        Scalar::Complex64(v) => push_parts(out, v.re.into(), v.im.into()),
        Scalar::Complex128(v) => push_parts(out, v.re, v.im),
        other => out.push_str(&other.to_string()),
    }
}

/// A number as readers of CSV take it: `nan`, `inf` and `-inf` without quotes.
pub(crate) fn push_bare(out: &mut String, value: f64) {
    if value.is_nan() {
        out.push_str("nan");
    } else if value.is_infinite() {
        out.push_str(if value > 0.0 { "inf" } else { "-inf" });
    } else {
        push_float(out, value);
    }
}

fn push_parts(out: &mut String, re: f64, im: f64) {
    out.push_str("{\"re\": ");
    push_float(out, re);
    out.push_str(", \"im\": ");
    push_float(out, im);
    out.push('}');
}

/// The fewest digits that read back as the same value, with an exponent below 1e-4 and from 1e16 on, as Python has it.
fn push_float(out: &mut String, value: f64) {
    if !value.is_finite() {
        let name = if value.is_nan() {
            "\"NaN\""
        } else if value > 0.0 {
            "\"Infinity\""
        } else {
            "\"-Infinity\""
        };
        out.push_str(name);
        return;
    }
    let magnitude = value.abs();
    if value == 0.0 || (1e-4..1e16).contains(&magnitude) {
        out.push_str(&format!("{value:?}"));
        return;
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    out.push_str(&format!("{digits}e{sign}{exponent:0>2}"));
}

#[cfg(test)]
#[path = "tests/number.rs"]
mod tests;
