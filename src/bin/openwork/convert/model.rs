//! All tensors of a file to a file that holds as many.

use std::collections::HashSet;
use std::io::Write as _;

use openwork::io::binsparse;
use openwork::io::sscdf::{self, Object};
use openwork::io::state_dict::{Archive, StateDict};
use openwork::io::{self, Format, Progress, anndata, numpy};
use openwork::{Layout, Tensor};
use serde_json::{Map, Value};

use super::{changed, in_order, is_stream, note, shown, spare, warned, written_as};
use crate::arguments::Convert as Arguments;
use crate::failure::Failure;
use crate::progress::{Bar, Unit};

/// The names of the tensors, if there are several and none is asked for.
pub(super) fn names(arguments: &Arguments, format: Format) -> Option<Vec<String>> {
    if arguments.reading.name().is_some() || is_stream(&arguments.input) {
        return None;
    }
    // What is wrong with the file is told by who reads it.
    let infos = io::info_with(&arguments.input, &arguments.reading.options()).ok()?;
    let many = matches!(
        format,
        Format::Hdf5 | Format::Zarr | Format::Safetensors | Format::Sscdf | Format::AnnData | Format::NumpyNpz
    );
    (many && infos.len() > 1).then(|| infos.into_iter().map(|info| info.name).collect())
}

pub(super) fn run(arguments: &Arguments, format: Format, names: &[String]) -> Result<(), Failure> {
    if format != Format::Safetensors && is_stream(&arguments.output) {
        let why =
            format!("several tensors are written as {format} to a file only; --to safetensors, or --name one of them");
        return Err(Failure::Usage(why));
    }
    spare(arguments, &format!("{} others", names.len()))?;
    let archive = Archive::open(&arguments.input).ok().filter(|_| arguments.reading.is_plain());
    let mut metadata = Map::new();
    let store = || binsparse::File::open(&arguments.input).and_then(|mut store| store.metadata()).ok();
    match &archive {
        Some(archive) if !arguments.drop_metadata => metadata = archive.metadata().clone(),
        None if !arguments.drop_metadata && Format::of_file(&arguments.input).is_ok_and(|of| of == Format::Zarr) => {
            metadata = store().unwrap_or_default();
        }
        None if !arguments.drop_metadata && arguments.keep_metadata => {
            let why = "what is said about all tensors is kept only without --lenient and --max-bytes";
            return Err(Failure::Refused(format!("--keep-metadata: {why}")));
        }
        None if !arguments.drop_metadata => {
            note(arguments, &format!("{}: what is said about all tensors is left out", shown(&arguments.input)));
        }
        _ => {}
    }
    let mut source = Source::new(arguments, format, archive.as_ref(), names);
    if matches!(format, Format::Hdf5 | Format::Zarr) || (format == Format::Safetensors && !is_stream(&arguments.output))
    {
        return one_by_one(arguments, format, names, metadata, &mut source);
    }
    let mut tensors = Vec::with_capacity(names.len());
    for name in names {
        let (tensor, _) = source.tensor(name).map_err(|error| source.failure(error))?;
        tensors.push((name.as_str(), tensor));
    }
    drop(source);
    written(arguments, format, &tensors, metadata)
}

/// What a conversion was at when it failed.
enum At {
    Reading,
    Changing(String),
    Writing,
}

/// The tensors of the input as they are asked for, read when it is their turn.
struct Source<'a> {
    arguments: &'a Arguments,
    format: Format,
    archive: Option<&'a Archive>,
    bar: Bar,
    done: u64,
    total: u64,
    /// What was said already.
    said: HashSet<String>,
    at: At,
}

impl<'a> Source<'a> {
    fn new(arguments: &'a Arguments, format: Format, archive: Option<&'a Archive>, names: &[String]) -> Source<'a> {
        // The header of safetensors tells the sizes of all: each tensor is read for it, and read again to be written.
        let times = if format == Format::Safetensors && !is_stream(&arguments.output) { 2 } else { 1 };
        let (bar, total) = (Bar::new("converting", Unit::Tensors), times * names.len() as u64);
        Source { arguments, format, archive, bar, done: 0, total, said: HashSet::new(), at: At::Writing }
    }

    /// A tensor, and what is said beside it.
    fn tensor(&mut self, name: &str) -> openwork::Result<(Tensor, Map<String, Value>)> {
        self.bar.tell(self.done, self.total);
        self.at = At::Reading;
        let arguments = self.arguments;
        let (tensor, metadata, warnings) = match self.archive {
            Some(archive) => {
                let said = archive.descriptor(name).map(|descriptor| descriptor.metadata).unwrap_or_default();
                (archive.tensor(name)?, said, Vec::new())
            }
            None => {
                let options = io::ReadOptions { name: Some(name), ..arguments.reading.options() };
                let loaded = io::read_with(&arguments.input, &options)?;
                (loaded.tensor, loaded.metadata, loaded.warnings)
            }
        };
        self.at = At::Changing(name.to_owned());
        let changed = as_asked(tensor, arguments)?;
        let (tensor, said) = in_order(changed, self.format, arguments)?;
        // What is read twice is spoken of once.
        let seen = format!("{name}: ");
        if self.said.insert(seen.clone()) {
            warned(&arguments.input, &warnings);
        }
        if let Some(said) = said.filter(|said| self.said.insert(format!("{seen}{said}"))) {
            note(arguments, &said);
        }
        self.at = At::Writing;
        self.done += 1;
        let metadata = if arguments.drop_metadata { Map::new() } else { metadata };
        Ok((tensor, metadata))
    }

    fn failure(&self, error: openwork::Error) -> Failure {
        match &self.at {
            At::Reading => Failure::of_reading(error, &self.arguments.reading),
            At::Changing(name) => Failure::of_tensor(name, error),
            At::Writing => Failure::of_writing(error),
        }
    }
}

/// Writes tensors as they are read, so that no two are in memory.
fn one_by_one(
    arguments: &Arguments,
    format: Format,
    names: &[String],
    metadata: Map<String, Value>,
    source: &mut Source<'_>,
) -> Result<(), Failure> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let output = &arguments.output;
    let options = written_as(arguments, format, None, Some(&metadata));
    let written = if format == Format::Safetensors {
        packs_nothing(arguments)?;
        StateDict::save_each(output, &names, &options, &mut |name| Ok(source.tensor(name)?.0))
    } else {
        binsparse::write_each(output, &names, &options, &mut |name| source.tensor(name))
    };
    written.map_err(|error| source.failure(error))
}

fn packs_nothing(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.compress || arguments.compression.is_some() {
        return Err(Failure::Usage("--compress: safetensors files are not compressed; .h5 files can be".to_owned()));
    }
    Ok(())
}

/// A tensor of a model as it is asked for: layouts of matrices are for what has two axes or more, and a dtype of floats is
/// for floats.
fn as_asked(tensor: Tensor, arguments: &Arguments) -> openwork::Result<Tensor> {
    let matrix = tensor.ndim() >= 2;
    let layout = arguments.layout.filter(|layout| matrix || matches!(layout, Layout::Strided | Layout::Coo));
    let dtype = arguments.dtype.filter(|dtype| !dtype.is_inexact() || tensor.dtype().is_inexact());
    let number = tensor.dtype().is_inexact() || dtype.is_some_and(|dtype| dtype.is_inexact());
    let (fill, replace_fill) = (arguments.fill.filter(|_| number), arguments.replace_fill.filter(|_| number));
    changed(tensor, dtype, layout, fill, replace_fill)
}

fn written(
    arguments: &Arguments,
    format: Format,
    tensors: &[(&str, Tensor)],
    metadata: Map<String, Value>,
) -> Result<(), Failure> {
    let output = &arguments.output;
    let bar = Bar::new("writing", Unit::Bytes);
    let tell = |done, total| bar.tell(done, total);
    let options = written_as(arguments, format, Some(Progress(&tell)), Some(&metadata));
    let named: Vec<(&str, &Tensor)> = tensors.iter().map(|(name, tensor)| (*name, tensor)).collect();
    if format == Format::NumpyNpz {
        return numpy::write_all(output, &named, &options).map_err(Failure::of_writing);
    }
    if format == Format::AnnData {
        return anndata::write_all(output, &named, &options).map_err(Failure::of_writing);
    }
    if format == Format::Sscdf {
        let objects: Vec<Object<'_>> = tensors.iter().map(|(name, tensor)| Object::new(name, tensor)).collect();
        return sscdf::write_all(output, &objects, &options).map_err(Failure::of_writing);
    }
    // Safetensors on standard output.
    packs_nothing(arguments)?;
    let mut model = StateDict::new();
    for (name, tensor) in tensors {
        model.insert(*name, tensor.clone()).map_err(Failure::of_writing)?;
    }
    let bytes = model.to_safetensors_with(&options).map_err(Failure::of_writing)?;
    let mut out = std::io::stdout().lock();
    out.write_all(&bytes)?;
    Ok(out.flush()?)
}
