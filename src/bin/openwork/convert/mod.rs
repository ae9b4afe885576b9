//! `openwork convert`.

mod model;

use std::path::Path;

use openwork::io::{self, Format, Loaded, Progress, Warning};
use openwork::{DType, ErrorKind, Layout, Scalar, Tensor};
use serde_json::{Map, Value};

use crate::arguments::{Convert as Arguments, Reading};
use crate::failure::{Failure, plain};
use crate::number::AnyFill;
use crate::progress::{Bar, Unit, spinning};

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    // An output that nothing can be written to is told before anything is read.
    let format = output_format(arguments)?;
    if arguments.quiet {
        crate::progress::silence();
    }
    if let Some(names) = model::names(arguments, format) {
        return model::run(arguments, format, &names);
    }
    spare(arguments, "one")?;
    if let Some(metadata) = as_it_is(arguments, format) {
        return copied(arguments, format, &metadata);
    }
    let loaded = read(&arguments.input, &arguments.reading)?;
    let changed = spinning("converting", || {
        changed(loaded.tensor, arguments.dtype, arguments.layout, arguments.fill, arguments.replace_fill)
    })
    .map_err(Failure::of_writing)?;
    let (tensor, said) =
        spinning("putting in order", || in_order(changed, format, arguments)).map_err(Failure::of_writing)?;
    said.iter().for_each(|said| note(arguments, said));
    let metadata = kept(&loaded.metadata, format, arguments)?;
    let bar = Bar::new("writing", if format.is_text() { Unit::Elements } else { Unit::Bytes });
    let tell = |done, total| bar.tell(done, total);
    let options = written_as(arguments, format, Some(Progress(&tell)), metadata);
    let written = match is_stream(&arguments.output) {
        true => io::write_to(std::io::stdout().lock(), format, &tensor, &options),
        false => io::write_with(&arguments.output, &tensor, &options),
    };
    written.map_err(Failure::of_writing)
}

/// Input of fewer bytes is read at once, which is as quick and takes no more memory to speak of.
const SMALL: u64 = 16 << 20;

/// What is said beside the tensor of a large file of binsparse, if that goes to another as it is.
fn as_it_is(arguments: &Arguments, format: Format) -> Option<Map<String, Value>> {
    let Arguments { layout: None, dtype: None, fill: None, replace_fill: None, input, output, reading, .. } = arguments
    else {
        return None;
    };
    let is_container = |format| matches!(format, Format::Npz | Format::Hdf5 | Format::Zarr);
    if !is_container(format) || !reading.is_plain() || is_stream(input) || is_stream(output) {
        return None;
    }
    let infos = io::info_with(input, &reading.options()).ok()?;
    let [info] = &infos[..] else { return None };
    let large = info.file_bytes.is_some_and(|bytes| bytes >= SMALL);
    // Files of others may have entries in any order.
    if !large || !is_container(info.format) || info.version.is_none() {
        return None;
    }
    let mut file = io::binsparse::File::open(input).ok()?;
    file.descriptor(reading.name().unwrap_or(&info.name)).ok().map(|descriptor| descriptor.metadata)
}

/// Copies a tensor in pieces.
fn copied(arguments: &Arguments, format: Format, metadata: &Map<String, Value>) -> Result<(), Failure> {
    let bar = Bar::new("converting", Unit::Bytes);
    let tell = |done, total| bar.tell(done, total);
    let options = written_as(arguments, format, Some(Progress(&tell)), kept(metadata, format, arguments)?);
    let copied = io::copy(&arguments.input, &arguments.output, &arguments.reading.options(), &options);
    drop(bar);
    copied.map_err(|error| match error.kind() {
        ErrorKind::Io { path, .. } if *path == arguments.output => Failure::of_writing(error),
        ErrorKind::Io { .. } | ErrorKind::Format { .. } => Failure::of_reading(error, &arguments.reading),
        _ => Failure::of_writing(error),
    })
}

fn written_as<'a>(
    arguments: &Arguments,
    format: Format,
    progress: Option<Progress<'a>>,
    metadata: Option<&'a Map<String, Value>>,
) -> io::WriteOptions<'a> {
    io::WriteOptions {
        format: Some(format),
        compress: arguments.compress || arguments.compression.is_some(),
        level: arguments.compression,
        version: arguments.binsparse_version,
        extensions: arguments.extensions,
        progress,
        metadata,
        ..Default::default()
    }
}

/// What the input says beside its tensor, if it goes along.
fn kept<'a>(
    metadata: &'a Map<String, Value>,
    format: Format,
    arguments: &Arguments,
) -> Result<Option<&'a Map<String, Value>>, Failure> {
    let kept = Some(metadata).filter(|said| !arguments.drop_metadata && !said.is_empty());
    let has_a_place = match format {
        Format::Sscdf => metadata.keys().all(|key| key == "comment"),
        format => matches!(format, Format::Npz | Format::Hdf5 | Format::Zarr | Format::NpyFolder | Format::Safetensors),
    };
    if kept.is_none() || has_a_place {
        return Ok(kept);
    }
    let input = shown(&arguments.input);
    if arguments.keep_metadata {
        let why = format!("{input} says something beside its tensor, for which {format} has no place");
        return Err(Failure::Refused(format!("--keep-metadata: {why}; write to .npz, .h5 or .safetensors")));
    }
    note(arguments, &format!("{input}: its metadata are left out, for which {format} has no place"));
    Ok(None)
}

/// Says on standard error what a conversion does beside what was asked for.
fn note(arguments: &Arguments, what: &str) {
    if !arguments.quiet {
        eprintln!("openwork: {what}");
    }
}

/// Whether a name stands for standard input or output.
pub(crate) fn is_stream(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// A file's name for a message, on one line.
pub(crate) fn shown(file: &Path) -> String {
    if is_stream(file) { "standard input".to_owned() } else { plain(&file.display().to_string()) }
}

fn output_format(arguments: &Arguments) -> Result<Format, Failure> {
    let output = &arguments.output;
    if is_stream(output) {
        let why = "the format of standard output is not known: --to names it";
        return arguments.to.ok_or_else(|| Failure::Usage(why.to_owned()));
    }
    let named = Format::of_name_to_write(output).map_err(|error| match output.is_dir() {
        true => Failure::Usage(format!("{} is a folder: name a file in it", plain(&output.display().to_string()))),
        false => Failure::of_writing(error),
    })?;
    match arguments.to {
        // A file of that name may have any of these.
        Some(to @ (Format::NumpyNpz | Format::ScipyNpz | Format::PydataNpz)) if named == Format::Npz => Ok(to),
        Some(Format::AnnData) if named == Format::Zarr => Ok(Format::AnnData),
        Some(to) if to != named => Err(Failure::Usage(format!(
            "{} would be {named}, and --to asks for {to}",
            plain(&output.display().to_string())
        ))),
        _ => Ok(named),
    }
}

/// Refuses to replace what the user may want to keep.
fn spare(arguments: &Arguments, by: &str) -> Result<(), Failure> {
    let output = &arguments.output;
    if is_stream(output) || arguments.force || !output.exists() {
        return Ok(());
    }
    let name = plain(&output.display().to_string());
    if arguments.no_clobber {
        return Err(Failure::Refused(format!("{name} is there already, and --no-clobber keeps it")));
    }
    // A file that is no container of tensors is replaced like any other.
    let Ok(held) = io::info(output) else { return Ok(()) };
    if held.len() < 2 {
        return Ok(());
    }
    let names: Vec<String> = held.iter().take(5).map(|info| format!("{:?}", info.name)).collect();
    let more = if held.len() > names.len() { ", ..." } else { "" };
    Err(Failure::Refused(format!(
        "{name} holds {} tensors ({}{more}), which this would replace by {by}; write to another file, or say --force",
        held.len(),
        names.join(", ")
    )))
}

/// Reads a file with a bar, and says what lenient reading let pass.
pub(crate) fn read(file: &Path, reading: &Reading) -> Result<Loaded, Failure> {
    read_named(file, reading, reading.name())
}

/// As [`read`], the tensor of that name.
pub(crate) fn read_named(file: &Path, reading: &Reading, name: Option<&str>) -> Result<Loaded, Failure> {
    let bar = Bar::new("reading", Unit::Bytes);
    let tell = |done, total| bar.tell(done, total);
    let options = io::ReadOptions { progress: Some(Progress(&tell)), name, ..reading.options() };
    let loaded = match is_stream(file) {
        true => io::read_from(std::io::stdin().lock(), &options),
        false => io::read_with(file, &options),
    };
    drop(bar);
    let loaded = loaded.map_err(|error| Failure::of_reading(error, reading))?;
    warned(file, &loaded.warnings);
    Ok(loaded)
}

/// Says what lenient reading let pass.
pub(crate) fn warned(file: &Path, warnings: &[Warning]) {
    for warning in warnings {
        eprintln!("openwork: {}: {}", shown(file), plain(&warning.to_string()));
    }
}

/// The tensor as it is asked for.
fn changed(
    tensor: Tensor,
    dtype: Option<DType>,
    layout: Option<Layout>,
    fill: Option<Scalar>,
    replace_fill: Option<AnyFill>,
) -> openwork::Result<Tensor> {
    let mut tensor = tensor;
    if let Some(dtype) = dtype {
        tensor = tensor.cast(dtype)?;
    }
    if let Some(fill) = replace_fill {
        tensor = tensor.replace_fill(fill)?;
    }
    match (layout, fill) {
        (Some(Layout::Strided), _) => tensor.to_dense(),
        (Some(layout), Some(fill)) => tensor.to_sparse(layout, fill),
        (None, Some(fill)) if tensor.is_strided() => tensor.to_sparse(Layout::Coo, fill),
        (None, Some(fill)) => tensor.with_fill(fill),
        (Some(layout), None) => tensor.to_layout(layout),
        (None, None) => Ok(tensor),
    }
}

/// The tensor with rising coordinates, where the format has no others; by rows, where it has no matrices of another kind. And
/// what is to be said about that.
fn in_order(tensor: Tensor, format: Format, arguments: &Arguments) -> openwork::Result<(Tensor, Option<String>)> {
    let input = shown(&arguments.input);
    let is_by_lines = matches!(tensor.layout(), Layout::Csr | Layout::Csc | Layout::Strided);
    if format == Format::AnnData && arguments.layout.is_none() && tensor.ndim() == 2 && !is_by_lines {
        let said = format!("{input}: stored as csr, since {format} keeps matrices by rows or columns");
        return Ok((tensor.to_layout(Layout::Csr)?, Some(said)));
    }
    let keeps = !matches!(
        format,
        Format::Npz | Format::Hdf5 | Format::Zarr | Format::NpyFolder | Format::Sscdf | Format::PydataNpz
    ) || arguments.extensions;
    if keeps || tensor.is_coalesced() {
        return Ok((tensor, None));
    }
    let before = tensor.nse();
    let ordered = tensor.coalesce()?;
    let summed = before - ordered.nse();
    let repeated = if summed == 0 { String::new() } else { format!(", and {summed} repeated ones are summed") };
    Ok((ordered, Some(format!("{input}: entries are put in order, as {format} keeps them{repeated}"))))
}
