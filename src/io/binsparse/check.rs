//! All that is wrong with a file: what lenient reading lets pass, and every entry of an index array that cannot be.

use std::ops::Range;
use std::path::Path;

use openwork_ops::{Element, Scalar, with_dtype};

use super::arrays::Container;
use super::descriptor::Descriptor;
use super::file::OpenContainer;
use super::{Mode, facts, map};
use crate::base::error::Result;
use crate::base::shape::fitting;
use crate::io::ReadOptions;
use crate::io::fault::{Fault, Res};
use crate::io::input::Placed;
use crate::io::progress::Tell;
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
    placed: Placed,
    path: Option<&Path>,
    options: &ReadOptions<'_>,
    report: Report<'_>,
) -> Result<()> {
    let bytes = placed.file.as_ref().and_then(|file| file.metadata().ok()).map(|metadata| metadata.len());
    let opened = OpenContainer::of_placed(placed).and_then(|(mut opened, spool)| {
        opened.allow_libhdf5(options.allow_libhdf5);
        names(&mut opened, options).map(|names| (opened, spool, names))
    });
    let reported = opened.and_then(|(mut opened, _spool, names)| {
        // Entries are told one by one unless that takes far more memory than the file has bytes: a small file may claim,
        // and unpack to, very many.
        let bytes = bytes.or_else(|| opened.bytes()).unwrap_or(0);
        let limit = options.max_bytes.unwrap_or(u64::MAX).min(bytes.saturating_mul(32).max(1 << 24));
        if names.is_empty() {
            // The error says that there is no tensor.
            opened.select(None)?;
        }
        // Of several, tensors are counted.
        let one = names.len() == 1;
        let tell = Tell::new(options.progress.filter(|_| !one), names.len() as u64);
        let options = &ReadOptions { progress: options.progress.filter(|_| one), ..*options };
        for name in names {
            let examined = opened.select(Some(&name));
            let examined = examined.and_then(|container| examine(container, &name, (options, limit), report));
            tell.more(1);
            if let Err(fault) = examined {
                report(&name, String::new(), fault.told()?);
            }
        }
        tell.end();
        Ok(())
    });
    let told = reported.or_else(|fault| fault.told().map(|why| report("", String::new(), why)));
    told.map_err(|fault| fault.at(path))
}

/// The tensors to read.
fn names(opened: &mut OpenContainer<'_>, options: &ReadOptions<'_>) -> Res<Vec<String>> {
    match options.name {
        Some(name) => Ok(vec![name.to_owned()]),
        None => opened.names(),
    }
}

fn examine(
    container: &mut dyn Container,
    name: &str,
    (options, limit): (&ReadOptions<'_>, u64),
    report: Report<'_>,
) -> Res<()> {
    let strictly = super::file::load(container, options, None, Tensor::from_parts);
    let error = match strictly {
        Ok(_) => return Ok(()),
        Err(fault) => fault.told()?,
    };
    let lenient = ReadOptions { lenient: true, max_bytes: Some(limit), progress: None, ..*options };
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
    if !options.lenient {
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
        entries(container, &descriptor, limit, &mut counted)?;
        // The fault of the reader is the first of the entries, where there is one. That there is too much to look at
        // more closely is none.
        if reported == before && !matches!(fault, Fault::Large(_)) {
            return Err(fault);
        }
    }
    if reported == 0 {
        report(name, String::new(), error);
    }
    Ok(())
}

/// Integers as a container has them.
struct Integers {
    bytes: Vec<u8>,
    size: usize,
    element: fn(&[u8]) -> i128,
}

impl Integers {
    fn len(&self) -> usize {
        self.bytes.len() / self.size
    }

    fn get(&self, at: usize) -> Option<i128> {
        self.bytes.get(at * self.size..(at + 1) * self.size).map(self.element)
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = i128> + '_ {
        self.bytes.chunks_exact(self.size).map(self.element)
    }
}

/// An array of integers; `None` if there is no such array, it holds no integers, or more bytes than the limit.
fn integers(container: &mut dyn Container, d: &Descriptor, name: &str, limit: u64) -> Res<Option<Integers>> {
    let stored = d.stored_names.get(name).map_or(name, String::as_str);
    let Some(info) = container.info(stored)?.filter(|info| info.dtype.is_int()) else { return Ok(None) };
    let bytes = usize::try_from(info.bytes()).ok().filter(|&n| n as u64 <= limit);
    let Some(bytes) = bytes else { return Ok(None) };
    let mut all = crate::base::buffer::zeroed_vec::<u8>(bytes);
    container.read(stored, 0, &mut all, &Tell::nobody())?;
    let element: fn(&[u8]) -> i128 = with_dtype!(info.dtype, T => |at| {
        Scalar::from(<T as Element>::read(at)).as_integer().unwrap_or_default()
    });
    Ok(Some(Integers { bytes: all, size: info.dtype.size(), element }))
}

/// Reports every entry of the pointers and indices that cannot be.
fn entries(
    container: &mut dyn Container,
    d: &Descriptor,
    limit: u64,
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
        let columns: Vec<(String, Integers)> = match level {
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
            for (at, index) in column.iter().enumerate().filter(|&(_, i)| i < 0 || i >= dim.size as i128) {
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
    pointers: &Integers,
    count: Option<usize>,
    report: &mut dyn FnMut(String, String),
) -> Vec<Range<usize>> {
    if let Some(first) = pointers.get(0).filter(|&first| first != 0) {
        report(format!("{name}[0]"), format!("the first pointer is {first}; it has to be 0"));
    }
    if let (Some(last), Some(count)) = (pointers.iter().next_back(), count)
        && last != count as i128
    {
        let place = format!("{name}[{}]", pointers.len() - 1);
        report(place, format!("the last pointer is {last}; it has to be {count}, the number of indices"));
    }
    let mut right = Vec::new();
    for (at, (start, end)) in pointers.iter().zip(pointers.iter().skip(1)).enumerate() {
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
fn ordered(columns: &[(String, Integers)], segments: Vec<Range<usize>>, report: &mut dyn FnMut(String, String)) {
    let Some((name, _)) = columns.last() else { return };
    let tuple = |at: usize| columns.iter().map(move |(_, column)| column.get(at));
    for segment in segments {
        for at in segment.skip(1) {
            let list = |at: usize| tuple(at).flatten().map(|index| index.to_string()).collect::<Vec<_>>().join(", ");
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
