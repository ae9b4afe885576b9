//! `openwork convert`.

use openwork::io::{self, Format, Progress};
use openwork::{Layout, Tensor};

use crate::arguments::{Convert as Arguments, Reading};
use crate::failure::Failure;
use crate::progress::{Bar, Unit, spinning};

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    // A name that nothing can be written to is told before anything is read.
    Format::of_name_to_write(&arguments.output).map_err(Failure::of_writing)?;
    let tensor = read(&arguments.input, &arguments.reading)?;
    let tensor = changed(tensor, arguments).map_err(Failure::of_writing)?;
    let bar = Bar::new("writing", Unit::Elements);
    let tell = |done, total| bar.tell(done, total);
    let options = io::WriteOptions {
        compress: arguments.compress,
        extensions: arguments.extensions,
        progress: Some(Progress(&tell)),
    };
    let text = Format::of_name(&arguments.output).is_some_and(Format::is_text);
    let write = || io::write_with(&arguments.output, &tensor, &options);
    let written = if text { write() } else { spinning("writing", write) };
    written.map_err(Failure::of_writing)
}

/// Reads a file with a bar, and says what lenient reading let pass.
pub(crate) fn read(file: &std::path::Path, reading: &Reading) -> Result<Tensor, Failure> {
    let bar = Bar::new("reading", Unit::Bytes);
    let tell = |done, total| bar.tell(done, total);
    let options = io::ReadOptions { progress: Some(Progress(&tell)), ..reading.options() };
    let text = Format::of_file(file).map_err(Failure::of_reading)?.is_text();
    let read = || io::read_with(file, &options);
    let loaded = if text { read() } else { spinning("reading", read) }.map_err(Failure::of_reading)?;
    drop(bar);
    for warning in &loaded.warnings {
        eprintln!("openwork: {}: {warning}", file.display());
    }
    Ok(loaded.tensor)
}

/// The tensor as it is asked for.
fn changed(tensor: Tensor, arguments: &Arguments) -> openwork::Result<Tensor> {
    let mut tensor = tensor;
    if let Some(dtype) = arguments.dtype {
        tensor = tensor.cast(dtype)?;
    }
    if let Some(fill) = arguments.replace_fill {
        tensor = tensor.replace_fill(fill)?;
    }
    match (arguments.layout, arguments.fill) {
        (Some(Layout::Strided), _) => tensor.to_dense(),
        (Some(layout), Some(fill)) => tensor.to_sparse(layout, fill),
        (None, Some(fill)) if tensor.is_strided() => tensor.to_sparse(Layout::Coo, fill),
        (None, Some(fill)) => tensor.with_fill(fill),
        (Some(layout), None) => tensor.to_layout(layout),
        (None, None) => Ok(tensor),
    }
}
