//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use openwork::io::{Format, ReadOptions, frostt};
use openwork::{DType, Layout};

use crate::number;

/// Look at tensors in files, convert, check and print them.
///
/// Formats: Matrix Market (.mtx), FROSTT (.tns) and TensorMarket (.ttx), each also with .gz; binsparse in NPZ (.npz)
/// and HDF5 (.h5, .hdf5); safetensors (.safetensors). The file `-` is standard input, or standard output of convert.
///
/// Exit status: 0 all is well; 1 a file is invalid, or what was asked for cannot be done with it; 2 a file cannot be
/// read or written, its format is not known, or the command is wrong.
#[derive(Parser)]
#[command(name = "openwork", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Info(Info),
    Convert(Convert),
    Validate(Validate),
    Dump(Dump),
}

/// Say what files hold: shape, dtype, layout, fill, stored elements. Reads no arrays
#[derive(Args)]
pub(crate) struct Info {
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// One JSON object per tensor, one per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Read a tensor and write it to a file; the name of OUT decides the format
///
/// What OUT's format keeps in order only is sorted, and repeated entries are summed; standard error says so.
#[derive(Args)]
pub(crate) struct Convert {
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Store it as strided, coo, coo+Ndense, csr, csc, dcsr, dcsc, csf, bsrRxC or bscRxC
    #[arg(long, value_parser = layout)]
    pub(crate) layout: Option<Layout>,
    /// Cast the elements: bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, float64, complex64,
    /// complex128
    #[arg(long)]
    pub(crate) dtype: Option<DType>,
    /// Store with this fill; every element keeps its value
    #[arg(long, value_parser = number::fill, allow_hyphen_values = true, value_name = "VALUE")]
    pub(crate) fill: Option<openwork::Scalar>,
    /// Make unstored elements this value, or `undefined`; stored ones stay
    #[arg(long, value_parser = number::any_fill, allow_hyphen_values = true, value_name = "VALUE", conflicts_with = "fill")]
    pub(crate) replace_fill: Option<number::AnyFill>,
    /// Binsparse: compress the arrays. Text is compressed if OUT ends in .gz
    #[arg(long)]
    pub(crate) compress: bool,
    /// Binsparse: allow what its text cannot say, in a form that other readers refuse
    #[arg(long)]
    pub(crate) extensions: bool,
    /// The format of OUT, where its name does not tell: mtx, tns, ttx, npz, h5 or safetensors
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(crate) to: Option<Format>,
    /// Leave out what IN says beside the tensor: its metadata
    #[arg(long)]
    pub(crate) drop_metadata: bool,
    /// Do not replace OUT if it is there
    #[arg(long)]
    pub(crate) no_clobber: bool,
    /// Replace OUT even if it holds other tensors, which are lost
    #[arg(long, conflicts_with = "no_clobber")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Tell every rule that a file breaks, one per line: exit status 0 valid, 1 invalid, 2 unreadable
#[derive(Args)]
pub(crate) struct Validate {
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Stop after so many lines
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Print each stored element as a JSON line: [[0, 3], 0.25]
#[derive(Args)]
pub(crate) struct Dump {
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// How files are read.
#[derive(Args)]
pub(crate) struct Reading {
    /// Accept older drafts of binsparse and common deviations, in Matrix Market too
    #[arg(long)]
    pub(crate) lenient: bool,
    /// The format that is read, where neither content nor name tell: mtx, tns, ttx, npz, h5 or safetensors
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    from: Option<Format>,
    /// The tensor of that name, in a file of several
    #[arg(long)]
    name: Option<String>,
    /// The shape of a .tns file, where its largest indices do not give it: 4,5,6
    #[arg(long, value_delimiter = ',', value_name = "SIZES")]
    shape: Option<Vec<usize>>,
    /// Indices of a .tns file count from 0
    #[arg(long)]
    zero_based: bool,
    /// A .tns file starts with the order and the shape, one line each
    #[arg(long)]
    header: bool,
    /// Refuse input beyond so many bytes, decompressed ones included
    #[arg(long, value_name = "BYTES")]
    max_bytes: Option<u64>,
}

impl Reading {
    pub(crate) fn options(&self) -> ReadOptions<'_> {
        ReadOptions {
            lenient: self.lenient,
            format: self.from,
            name: self.name.as_deref(),
            shape: self.shape.as_deref(),
            base: if self.zero_based { frostt::Base::Zero } else { frostt::Base::One },
            header: self.header,
            max_bytes: self.max_bytes,
            progress: None,
        }
    }
}

fn layout(text: &str) -> Result<Layout, String> {
    let known = "strided, coo, coo+Ndense, csr, csc, dcsr, dcsc, csf, bsrRxC and bscRxC";
    let parsed = text.parse().ok().filter(|layout| *layout != Layout::Levels);
    parsed.ok_or_else(|| format!("known are {known}"))
}

fn format(text: &str) -> Result<Format, String> {
    let parsed = text.trim_start_matches('.').parse();
    parsed.map_err(|_| "known are mtx, tns, ttx, npz, h5 and safetensors".to_owned())
}
