//! Sums of products over named indices.

use super::OValue::{self, Bool, Int};
use super::reduce::{rounded, sum_slack};
use super::total::Total;
use super::{Expected, OType, Oracle, Refused, complex, indices, promote, ravel};

/// Operands laid out over all indices of an equation: those of the result, then those that are summed.
pub struct Spread {
    pub operands: Vec<Oracle>,
    /// Indices of the result: the first axes.
    pub kept: usize,
}

/// One letter per axis: an ellipsis becomes digits, counted from the last axis.
fn letters(list: &str, ndim: usize) -> Vec<char> {
    let Some((before, after)) = list.split_once("...") else { return list.chars().collect() };
    let hidden = ndim - before.len() - after.len();
    let digits = (0..hidden).rev().map(|k| char::from_digit(k as u32, 10).unwrap());
    before.chars().chain(digits).chain(after.chars()).collect()
}

pub fn spread(equation: &str, operands: &[&Oracle]) -> Result<Spread, Refused> {
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (equation, None),
    };
    let lists: Vec<&str> = left.split(',').collect();
    if lists.len() != operands.len() {
        return Err(Refused::Shape);
    }
    let axes: Vec<Vec<char>> = lists.iter().zip(operands).map(|(l, x)| letters(l, x.ndim())).collect();
    let mut sizes = std::collections::BTreeMap::new();
    for (list, x) in axes.iter().zip(operands) {
        if list.len() != x.ndim() {
            return Err(Refused::Shape);
        }
        for (&name, &size) in list.iter().zip(&x.shape) {
            let known = sizes.entry(name).or_insert(size);
            match (*known, size) {
                (a, b) if a == b => {}
                (1, b) if name.is_ascii_digit() => *known = b,
                (_, 1) if name.is_ascii_digit() => {}
                _ => return Err(Refused::Shape),
            }
        }
    }
    let mut digits: Vec<char> = sizes.keys().copied().filter(char::is_ascii_digit).collect();
    digits.reverse();
    let times = |name: char| axes.iter().flatten().filter(|c| **c == name).count();
    let kept: Vec<char> = match right {
        Some(list) => match list.split_once("...") {
            Some((before, after)) => before.chars().chain(digits).chain(after.chars()).collect(),
            None => list.chars().collect(),
        },
        None => {
            let once = sizes.keys().copied().filter(|&c| !c.is_ascii_digit() && times(c) == 1);
            digits.into_iter().chain(once).collect()
        }
    };
    let mut all = kept.clone();
    all.extend(sizes.keys().copied().filter(|c| !kept.contains(c)));
    let shape: Vec<usize> =
        all.iter().map(|c| sizes.get(c).copied().ok_or(Refused::Shape)).collect::<Result<_, _>>()?;
    let spread = axes.iter().zip(operands).map(|(list, x)| {
        let element = |index: &Vec<usize>| {
            let own = list.iter().zip(&x.shape).map(|(c, &size)| {
                let at = index[all.iter().position(|a| a == c).unwrap()];
                if size == 1 { 0 } else { at }
            });
            x.data[ravel(&own.collect::<Vec<_>>(), &x.shape)]
        };
        let data = indices(&shape).iter().map(element).collect();
        Oracle { shape: shape.clone(), dtype: x.dtype, data, undefined: x.undefined }
    });
    Ok(Spread { operands: spread.collect(), kept: kept.len() })
}

/// Operands are promoted from left to right; a term exists where all its factors do, and an element without terms is absent
/// if an operand is undefined, else 0. The tolerance is that of a sum, once for each operand: a library may round in between.
pub fn einsum(equation: &str, operands: &[&Oracle]) -> Result<Expected, Refused> {
    let dtype =
        operands[1..].iter().try_fold(operands[0].dtype, |d, x| promote(d, x.dtype)).ok_or(Refused::Promotion)?;
    let Spread { operands, kept } = spread(equation, operands)?;
    let operands: Vec<Oracle> = operands.iter().map(|x| x.cast(dtype)).collect();
    let undefined = operands.iter().any(|x| x.undefined);
    let (outer, inner) = operands[0].shape.split_at(kept);
    let n: usize = inner.iter().product();
    let mut result = Expected::from(Oracle { shape: outer.to_vec(), dtype, data: Vec::new(), undefined });
    for o in 0..outer.iter().product() {
        let terms: Vec<Vec<OValue>> =
            (o * n..(o + 1) * n).filter_map(|at| operands.iter().map(|x| x.data[at]).collect()).collect();
        let absent = terms.is_empty() && undefined;
        let (value, abs_sum) = sum_of_products(dtype, &terms);
        let exact = absent || dtype.is_int() || dtype.is_bool();
        let slack = match exact {
            true => 0.0,
            // Sums on the way may be infinite, and products of some factors, which another may then make NaN.
            _ if abs_sum.is_finite() && abs_sum > dtype.float_max() / 8.0 => f64::INFINITY,
            _ if reach(&terms) > dtype.compute().float_max() / 8.0 => f64::INFINITY,
            _ => operands.len() as f64 * sum_slack(dtype, terms.len(), abs_sum),
        };
        result.value.data.push((!absent).then_some(value));
        result.slack.push(slack);
    }
    Ok(result)
}

/// What no sum of products of some of the finite factors exceeds, whichever are multiplied or added first.
fn reach(terms: &[Vec<OValue>]) -> f64 {
    let size = |v: &OValue| {
        let (re, im) = v.parts();
        if v.is_finite() { (re.abs() + im.abs()).max(1.0) } else { 1.0 }
    };
    terms.iter().map(|term| term.iter().map(size).product::<f64>()).sum()
}

fn sum_of_products(dtype: OType, terms: &[Vec<OValue>]) -> (OValue, f64) {
    if dtype.is_bool() {
        return (Bool(terms.iter().any(|term| term.iter().all(|v| v.truth()))), 0.0);
    }
    if dtype.is_int() {
        let product = |term: &Vec<OValue>| term.iter().fold(1i128, |p, v| dtype.wrap(p.wrapping_mul(v.int())));
        return (Int(terms.iter().fold(0, |sum, term| dtype.wrap(sum + product(term)))), 0.0);
    }
    let (mut re, mut im) = (Total::default(), Total::default());
    for term in terms {
        let (last, rest) = term.split_last().unwrap();
        if dtype.is_complex() {
            let (a, b) = rest.iter().fold((1.0, 0.0), |p, v| complex::mul(p, v.parts()));
            let (c, d) = last.parts();
            if rest.is_empty() {
                re.add(c);
                im.add(d);
                continue;
            }
            re.add_product(a, c);
            re.add_product(-b, d);
            im.add_product(a, d);
            im.add_product(b, c);
        } else {
            let product: f64 = rest.iter().map(|v| v.parts().0).product();
            if rest.is_empty() { re.add(last.parts().0) } else { re.add_product(product, last.parts().0) }
        }
    }
    (rounded(dtype, re.value(), im.value()), re.abs() + im.abs())
}
