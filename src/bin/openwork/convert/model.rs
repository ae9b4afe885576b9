//! All tensors of a file to a file that holds as many.

use std::io::Write as _;

use openwork::io::binsparse::{self, Entry};
use openwork::io::sscdf::{self, Object};
use openwork::io::state_dict::{Archive, StateDict};
use openwork::io::{self, Format, anndata, numpy};
use openwork::{Layout, Tensor};
use serde_json::{Map, Value};

use super::{changed, in_order, is_stream, note, read_named, shown, spare};
use crate::arguments::Convert as Arguments;
use crate::failure::Failure;
use crate::progress::{Bar, Unit, spinning};

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
    let (mut tensors, mut metadata) = (Vec::with_capacity(names.len()), Map::new());
    {
        let bar = Bar::new("reading", Unit::Tensors);
        for (done, name) in names.iter().enumerate() {
            bar.tell(done as u64, names.len() as u64);
            let tensor = match &archive {
                Some(archive) => {
                    archive.tensor(name).map_err(|error| Failure::of_reading(error, &arguments.reading))?
                }
                None => read_named(&arguments.input, &arguments.reading, Some(name))?.tensor,
            };
            let tensor = as_asked(tensor, arguments).and_then(|tensor| in_order(tensor, format, arguments));
            tensors.push((name.as_str(), tensor.map_err(|error| Failure::of_tensor(name, error))?));
        }
    }
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
    spinning("writing", || written(arguments, format, &tensors, metadata))
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
    if matches!(format, Format::Hdf5 | Format::Zarr) {
        let entries: Vec<Entry<'_>> = tensors.iter().map(|(name, tensor)| Entry::new(name, tensor)).collect();
        let options = binsparse::WriteOptions {
            compress: arguments.compress || arguments.compression.is_some(),
            level: arguments.compression,
            version: arguments.binsparse_version,
            extensions: arguments.extensions,
            metadata,
            ..Default::default()
        };
        return binsparse::write_all(output, &entries, &options).map_err(Failure::of_writing);
    }
    if arguments.compress || arguments.compression.is_some() {
        return Err(Failure::Usage("--compress: safetensors files are not compressed; .h5 files can be".to_owned()));
    }
    if format == Format::NumpyNpz {
        let level = arguments.compression.or(arguments.compress.then_some(6));
        let arrays: Vec<(&str, &Tensor)> = tensors.iter().map(|(name, tensor)| (*name, tensor)).collect();
        return numpy::write_all(output, &arrays, level).map_err(Failure::of_writing);
    }
    if format == Format::AnnData {
        let matrices: Vec<(&str, &Tensor)> = tensors.iter().map(|(name, tensor)| (*name, tensor)).collect();
        let compress = arguments.compress || arguments.compression.is_some();
        let options = anndata::WriteOptions { compress, level: arguments.compression, ..Default::default() };
        return anndata::write_all(output, &matrices, &options).map_err(Failure::of_writing);
    }
    if format == Format::Sscdf {
        let objects: Vec<Object<'_>> = tensors.iter().map(|(name, tensor)| Object::new(name, tensor)).collect();
        let compress = arguments.compress || arguments.compression.is_some();
        let options = sscdf::WriteOptions { compress, level: arguments.compression, ..Default::default() };
        return sscdf::write_all(output, &objects, &options).map_err(Failure::of_writing);
    }
    let mut model = StateDict::new();
    *model.metadata_mut() = metadata;
    for (name, tensor) in tensors {
        model.insert(*name, tensor.clone()).map_err(Failure::of_writing)?;
    }
    if is_stream(output) {
        let bytes = model.to_safetensors().map_err(Failure::of_writing)?;
        let mut out = std::io::stdout().lock();
        out.write_all(&bytes)?;
        return Ok(out.flush()?);
    }
    model.save(output).map_err(Failure::of_writing)
}
