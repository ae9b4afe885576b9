//! `openwork diff`: whether two files mean the same, and where they do not.

use std::io::Write;
use std::path::Path;

use openwork::io::{self, Info};
use openwork::{DType, Fill, Result as Done, Scalar, Tensor, with_densify_budget};
use serde_json::{Map, Value, json};

use crate::arguments::{Diff as Arguments, Reading};
use crate::convert::{is_stream, read_named};
use crate::failure::{Failure, plain};
use crate::number;

/// Elements that are looked at one by one for the first ones that differ, where most elements are not stored and differ.
const LOOK: u64 = 1 << 20;

/// What is told of two tensors that differ.
#[derive(Default)]
struct Difference {
    /// Shape, dtype, fill: what differs, and both as text.
    about: Vec<(&'static str, [String; 2])>,
    /// How many elements differ, of how many, where they can be compared.
    elements: Option<(u128, u128)>,
    /// The largest difference of two elements.
    largest: Option<f64>,
    /// Some elements that differ: the first ones.
    places: Vec<(Vec<usize>, [Option<Scalar>; 2])>,
}

/// What is told of a tensor that either file may hold.
enum Fate {
    Same,
    Added,
    Removed,
    Changed(Difference),
}

/// 0 if both mean the same, 1 if not.
pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let fates = match names(arguments)? {
        None => vec![(String::new(), compared(arguments, arguments.reading.name())?)],
        Some([left, right]) => {
            let mut fates = Vec::new();
            for name in left.iter().chain(right.iter().filter(|name| !left.contains(*name))) {
                let fate = match (left.contains(name), right.contains(name)) {
                    (true, false) => Fate::Removed,
                    (false, _) => Fate::Added,
                    (true, true) => compared(arguments, Some(name))?,
                };
                fates.push((name.clone(), fate));
            }
            fates
        }
    };
    let same = fates.iter().all(|(_, fate)| matches!(fate, Fate::Same));
    if arguments.json {
        let tensors: Vec<Value> = fates.iter().map(|(name, fate)| fate.to_json(name)).collect();
        writeln!(out, "{}", json!({ "same": same, "tensors": tensors }))?;
    } else {
        for (name, fate) in &fates {
            fate.tell(name, arguments.names, &mut out)?;
        }
    }
    out.flush()?;
    Ok(u8::from(!same))
}

/// The names of both files, where one holds several tensors or names are asked for.
fn names(arguments: &Arguments) -> Result<Option<[Vec<String>; 2]>, Failure> {
    let files = [&arguments.left, &arguments.right];
    if files.iter().all(|file| is_stream(file)) {
        return Err(Failure::Usage("standard input is read once: name one file at least".to_owned()));
    }
    if arguments.reading.name().is_some() || files.iter().any(|file| is_stream(file)) {
        return Ok(None);
    }
    let told = |file: &Path| -> Result<Vec<String>, Failure> {
        let infos = io::info_with(file, &arguments.reading.options());
        let infos = infos.map_err(|error| Failure::of_reading(error, &arguments.reading))?;
        Ok(infos.into_iter().map(|info: Info| info.name).collect())
    };
    let both = [told(files[0])?, told(files[1])?];
    Ok((arguments.names || both.iter().any(|names| names.len() > 1)).then_some(both))
}

fn compared(arguments: &Arguments, name: Option<&str>) -> Result<Fate, Failure> {
    let read = |file: &Path, reading: &Reading| read_named(file, reading, name).map(|loaded| loaded.tensor);
    let (left, right) = (read(&arguments.left, &arguments.reading)?, read(&arguments.right, &arguments.reading)?);
    // What is not stored stays so: a strided operand has its size already.
    let dense = [&left, &right].into_iter().filter(|x| x.is_strided()).map(|x| x.size()).max().unwrap_or(0);
    let budget = u64::try_from(dense.saturating_mul(16)).unwrap_or(u64::MAX);
    let found = with_densify_budget(budget, || difference(&left, &right, arguments));
    found.map_err(Failure::of_comparing)
}

fn difference(left: &Tensor, right: &Tensor, arguments: &Arguments) -> Done<Fate> {
    let mut told = Difference::default();
    let mut about = |what, both: [String; 2]| {
        if both[0] != both[1] {
            told.about.push((what, both));
        }
    };
    about("shape", [left, right].map(|x| format!("{:?}", x.shape())));
    about("dtype", [left, right].map(|x| x.dtype().to_string()));
    if left.shape() != right.shape() {
        return Ok(Fate::Changed(told));
    }
    if openwork::promote(left.dtype(), right.dtype()).is_none() {
        return Ok(Fate::Changed(told));
    }
    let far = far(left, right, arguments)?;
    let count = far.count_nonzero(..)?.item()?.as_integer().and_then(|n| u128::try_from(n).ok()).unwrap_or(0);
    if count > 0 {
        told.elements = Some((count, left.size()));
        told.largest = largest(left, right)?;
        for at in first(&far, arguments.limit.min(usize::try_from(count).unwrap_or(usize::MAX)))? {
            let both = [left.get(&at)?, right.get(&at)?];
            told.places.push((at, both));
        }
        let fills = [left, right].map(|x| x.fill().map_or_else(|| "none".to_owned(), spelled));
        if fills[0] != fills[1] {
            told.about.push(("fill", fills));
        }
    }
    Ok(if told.about.is_empty() && count == 0 { Fate::Same } else { Fate::Changed(told) })
}

/// A fill in a word.
fn spelled(fill: &Fill) -> String {
    match (fill.as_scalar(), fill.as_array()) {
        (Some(value), _) => value.to_string(),
        (_, Some(values)) => format!("array{:?}", values.shape()),
        _ => "undefined".to_owned(),
    }
}

/// Where elements differ.
fn far(left: &Tensor, right: &Tensor, arguments: &Arguments) -> Done<Tensor> {
    let (rtol, atol) = (arguments.rtol, arguments.atol);
    let close = if arguments.equal_nan { left.isclose_nan(right, rtol, atol) } else { left.isclose(right, rtol, atol) };
    let far = close?.logical_not()?;
    // Where either is absent nothing was compared.
    let there = |x: &Tensor| match x.fill() {
        Some(fill) if fill.is_undefined() => x.is_stored().map(Some),
        _ => Ok(None),
    };
    let one_sided = match (there(left)?, there(right)?) {
        (None, None) => return Ok(far),
        (Some(one), None) | (None, Some(one)) => one.logical_not()?,
        (Some(one), Some(other)) => one.ne(&other)?,
    };
    far.replace_fill(false)?.logical_or(&one_sided)
}

/// The largest distance of two elements, both there and neither NaN.
fn largest(left: &Tensor, right: &Tensor) -> Done<Option<f64>> {
    let wide = if left.dtype().is_complex() || right.dtype().is_complex() { DType::Complex128 } else { DType::F64 };
    let most = left.cast(wide)?.sub(right.cast(wide)?)?.abs()?.nanmax(..);
    // A slice without an element has no maximum.
    let most = most.and_then(|most| most.get([0; 0])).unwrap_or_default();
    Ok(most.and_then(|value| match value {
        Scalar::F64(value) => Some(value).filter(|value| !value.is_nan()),
        _ => None,
    }))
}

/// The first places where a mask is true, in C order.
fn first(far: &Tensor, limit: usize) -> Done<Vec<Vec<usize>>> {
    let nowhere = far.fill().is_none_or(|fill| fill.as_scalar() == Some(Scalar::Bool(false)));
    let mut out: Vec<Vec<usize>> = Vec::new();
    if nowhere {
        let places = far.argwhere()?.narrow(0..limit, 0)?.to_vec::<i64>()?;
        let axes = far.ndim();
        out.extend((0..limit).map(|i| places.iter().skip(i * axes).take(axes).map(|&at| at as usize).collect()));
        return Ok(out);
    }
    let mut index = vec![0; far.ndim()];
    for _ in 0..LOOK.saturating_add(far.nse() as u64) {
        if out.len() == limit {
            break;
        }
        if far.get(&index)? == Some(Scalar::Bool(true)) {
            out.push(index.clone());
        }
        // The next index; behind the last one there is none.
        let mut axis = far.ndim();
        loop {
            let Some(before) = axis.checked_sub(1) else { return Ok(out) };
            axis = before;
            let (Some(at), Some(&size)) = (index.get_mut(axis), far.shape().get(axis)) else { return Ok(out) };
            *at += 1;
            if *at < size {
                break;
            }
            *at = 0;
        }
    }
    Ok(out)
}

fn value_text(value: Option<Scalar>) -> String {
    let mut text = String::new();
    match value {
        Some(value) => number::push_json(&mut text, value),
        None => text.push_str("absent"),
    }
    text
}

fn value_json(value: Option<Scalar>) -> Value {
    match value {
        Some(_) => serde_json::from_str(&value_text(value)).unwrap_or(Value::Null),
        None => Value::Null,
    }
}

impl Fate {
    fn to_json(&self, name: &str) -> Value {
        let mut out = Map::new();
        out.insert("name".into(), name.into());
        let fate = match self {
            Fate::Same => "same",
            Fate::Added => "added",
            Fate::Removed => "removed",
            Fate::Changed(_) => "changed",
        };
        out.insert("fate".into(), fate.into());
        if let Fate::Changed(told) = self {
            for (what, both) in &told.about {
                out.insert((*what).into(), json!(both));
            }
            if let Some((count, size)) = told.elements {
                // Numbers beyond what JSON readers hold are texts.
                let number = |n: u128| u64::try_from(n).map_or_else(|_| Value::from(n.to_string()), Value::from);
                let places = told.places.iter().map(|(at, both)| json!([at, value_json(both[0]), value_json(both[1])]));
                let largest = told.largest.map_or(Value::Null, |most| value_json(Some(most.into())));
                out.insert(
                    "elements".into(),
                    json!({ "different": number(count), "of": number(size), "largest": largest, "first": places.collect::<Vec<_>>() }),
                );
            }
        }
        Value::Object(out)
    }

    /// A line per difference; of a file of several the name in front.
    fn tell(&self, name: &str, names_only: bool, out: &mut impl Write) -> std::io::Result<()> {
        let sign = match self {
            Fate::Same => return Ok(()),
            Fate::Added => "+",
            Fate::Removed => "-",
            Fate::Changed(_) => "~",
        };
        if !name.is_empty() || names_only {
            writeln!(out, "{sign} {}", plain(name))?;
        }
        let Fate::Changed(told) = self else { return Ok(()) };
        if names_only {
            return Ok(());
        }
        let indent = if name.is_empty() { "" } else { "  " };
        for (what, [left, right]) in &told.about {
            writeln!(out, "{indent}{what}: {left} | {right}")?;
        }
        let Some((count, size)) = told.elements else { return Ok(()) };
        let by = told.largest.map(|most| format!(", by at most {}", value_text(Some(most.into())))).unwrap_or_default();
        writeln!(out, "{indent}elements: {count} of {size} differ{by}")?;
        for (at, [left, right]) in &told.places {
            writeln!(out, "{indent}  {at:?}: {} | {}", value_text(*left), value_text(*right))?;
        }
        if told.places.len() as u128 != count && !told.places.is_empty() {
            writeln!(out, "{indent}  ...")?;
        }
        Ok(())
    }
}
