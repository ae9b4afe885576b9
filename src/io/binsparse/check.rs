//! All that is wrong with a file: what lenient reading lets pass, and every entry of an index array that cannot be.

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use openwork_ops::{Element, Scalar, with_dtype};

use super::arrays::Container;
use super::descriptor::Descriptor;
use super::file::OpenContainer;
use super::{Mode, ReadOptions, facts, map};
use crate::base::error::Result;
use crate::base::shape::fitting;
use crate::io::fault::{Fault, Res};
use crate::io::signature::Signature;
use crate::levels::names::ArrayName;
use crate::tensor::trace;
use crate::{LevelKind, Tensor};

/// A callback for faults: the tensor, the array and entry (empty where it is about the tensor), what is wrong.
pub(in crate::io) type Report<'a> = &'a mut dyn FnMut(&str, String, String);

/// Reads all tensors of a file, or the one of that name, and reports what is wrong with them.
///
/// # Errors
/// If the file cannot be read. What is wrong with what it holds is reported.
pub(in crate::io) fn violations(
    file: File,
    path: &Path,
    signature: Option<Signature>,
    options: &ReadOptions,
    report: Report<'_>,
) -> Result<()> {
    let opened = OpenContainer::of_file(file, path, signature)
        .and_then(|mut opened| names(&mut opened, options).map(|names| (opened, names)));
    let reported = opened.and_then(|(mut opened, names)| {
        if names.is_empty() {
            // The error says that there is no tensor.
            opened.select(None)?;
        }
        for name in names {
            match opened.select(Some(&name)).and_then(|container| examine(container, &name, options, report)) {
                Err(Fault::Bad(why)) => report(&name, String::new(), why),
                other => other?,
            }
        }
        Ok(())
    });
    match reported {
        Err(Fault::Bad(why)) => {
            report("", String::new(), why);
            Ok(())
        }
        other => other.map_err(|fault| fault.at(Some(path))),
    }
}

/// The tensors to read.
fn names(opened: &mut OpenContainer<'_>, options: &ReadOptions) -> Res<Vec<String>> {
    match (&options.group, opened) {
        (Some(name), _) => Ok(vec![name.clone()]),
        (None, OpenContainer::Npz(_)) => Ok(vec![String::new()]),
        (None, OpenContainer::Hdf5(file)) => file.names(),
    }
}

fn examine(container: &mut dyn Container, name: &str, options: &ReadOptions, report: Report<'_>) -> Res<()> {
    let strictly = super::file::load(container, options, None, Tensor::from_parts);
    let error = match strictly {
        Ok(_) => return Ok(()),
        Err(Fault::Bad(why)) => why,
        Err(fault) => return Err(fault),
    };
    let lenient = ReadOptions { mode: Mode::Lenient, ..options.clone() };
    let (mut warnings, mut reported) = (Vec::new(), 0);
    let text = container.descriptor(Mode::Lenient, &mut warnings)?;
    let descriptor = Descriptor::parse(&text, Mode::Lenient, &mut warnings);
    let read = descriptor.as_ref().ok().map(|descriptor| {
        let (warnings, options) = (&mut warnings, &lenient);
        let reader = map::TensorReader { descriptor, arrays: container, options, warnings, make: Tensor::from_parts };
        reader.tensor(None)
    });
    if let (Ok(descriptor), Some(Ok(tensor))) = (&descriptor, &read) {
        facts::verify(&descriptor.facts, tensor, Mode::Lenient, &mut warnings)?;
    }
    if options.mode == Mode::Strict {
        reported += warnings.len();
        warnings.iter().for_each(|warning| report(name, String::new(), warning.to_string()));
    }
    let descriptor = descriptor?;
    if let Some(Err(fault)) = read {
        let before = reported;
        let mut counted = |place: String, what: String| {
            reported += 1;
            report(name, place, what);
        };
        entries(container, &descriptor, options.max_bytes, &mut counted)?;
        // The fault of the reader is the first of the entries, where there is one.
        if reported == before {
            return Err(fault);
        }
    }
    if reported == 0 {
        report(name, String::new(), error);
    }
    Ok(())
}

/// Integers as a container has them; `None` if there is no such array, or it holds no integers.
fn integers(container: &mut dyn Container, d: &Descriptor, name: &str, limit: Option<u64>) -> Res<Option<Vec<i128>>> {
    let stored = d.stored_names.get(name).map_or(name, String::as_str);
    let Some(info) = container.info(stored)?.filter(|info| info.dtype.is_int()) else { return Ok(None) };
    let bytes = usize::try_from(info.bytes()).ok().filter(|&n| limit.is_none_or(|limit| n as u64 <= limit));
    let Some(bytes) = bytes else { return Ok(None) };
    let mut all = crate::base::buffer::zeroed_vec::<u8>(bytes);
    container.read(stored, 0, &mut all)?;
    let element = |at: &[u8]| {
        let value = with_dtype!(info.dtype, T => Scalar::from(<T as Element>::read(at)));
        value.as_integer().unwrap_or_default()
    };
    Ok(Some(all.chunks_exact(info.dtype.size()).map(element).collect()))
}

/// Reports every entry of the pointers and indices that cannot be.
fn entries(
    container: &mut dyn Container,
    d: &Descriptor,
    limit: Option<u64>,
    report: &mut dyn FnMut(String, String),
) -> Res<()> {
    let _call = trace::call("binsparse", &[]);
    let Some(shape) = fitting(&d.shape) else {
        return Ok(());
    };
    let Ok(dims) = d.levels.resolve(&shape) else { return Ok(()) };
    let mut dim = 0;
    for (l, level) in d.levels.levels.iter().enumerate() {
        let rank = level.rank();
        let columns: Vec<(String, Vec<i128>)> = match level {
            LevelKind::Dense => Vec::new(),
            _ => {
                let mut columns = Vec::new();
                for i in dim..dim + rank {
                    let name = ArrayName::Indices(i).to_string();
                    match integers(container, d, &name, limit)? {
                        Some(column) => columns.push((name, column)),
                        None => return Ok(()),
                    }
                }
                columns
            }
        };
        for ((name, column), dim) in columns.iter().zip(dims.iter().skip(dim)) {
            for (at, &index) in column.iter().enumerate().filter(|&(_, &i)| i < 0 || i >= dim.size as i128) {
                let what = format!("index {index} is out of range; 0 to {} is allowed", dim.size as i128 - 1);
                report(format!("{name}[{at}]"), what);
            }
        }
        let count = columns.iter().map(|(_, column)| column.len()).min();
        let segments = if matches!(level, LevelKind::Sparse { .. }) && (l > 0 || rank == 0) {
            let name = ArrayName::Pointers(dim).to_string();
            let Some(pointers) = integers(container, d, &name, limit)? else { return Ok(()) };
            pointed(&name, &pointers, count, report)
        } else {
            std::iter::once(0..count.unwrap_or_default()).collect()
        };
        if matches!(level, LevelKind::Sparse { .. }) && !d.unordered {
            ordered(&columns, segments, report);
        }
        dim += rank;
    }
    Ok(())
}

/// Reports what is wrong with pointers; the segments that are right.
fn pointed(
    name: &str,
    pointers: &[i128],
    count: Option<usize>,
    report: &mut dyn FnMut(String, String),
) -> Vec<Range<usize>> {
    if let Some(&first) = pointers.first().filter(|&&first| first != 0) {
        report(format!("{name}[0]"), format!("the first pointer is {first}; it has to be 0"));
    }
    if let (Some(&last), Some(count)) = (pointers.last(), count)
        && last != count as i128
    {
        let place = format!("{name}[{}]", pointers.len() - 1);
        report(place, format!("the last pointer is {last}; it has to be {count}, the number of indices"));
    }
    let mut right = Vec::new();
    for (at, pair) in pointers.windows(2).enumerate() {
        let &[start, end] = pair else { continue };
        if end < start {
            report(format!("{name}[{}]", at + 1), format!("pointer {end} is below {start}, the one before it"));
        } else if let (Ok(start), Ok(end)) = (usize::try_from(start), usize::try_from(end))
            && count.is_some_and(|count| end <= count)
        {
            right.push(start..end);
        }
    }
    right
}

/// Reports coordinates that do not rise within their segment.
fn ordered(columns: &[(String, Vec<i128>)], segments: Vec<Range<usize>>, report: &mut dyn FnMut(String, String)) {
    let Some((name, _)) = columns.last() else { return };
    let tuple = |at: usize| columns.iter().map(move |(_, column)| column.get(at));
    for segment in segments {
        for at in segment.skip(1) {
            let list = |at: usize| tuple(at).flatten().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            match tuple(at - 1).cmp(tuple(at)) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => report(format!("{name}[{at}]"), format!("[{}] is given twice", list(at))),
                std::cmp::Ordering::Greater => {
                    let what = format!("[{}] follows [{}]; coordinates have to rise", list(at), list(at - 1));
                    report(format!("{name}[{at}]"), what);
                }
            }
        }
    }
}
