//! The command line.

use std::ops::Range;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use openwork::io::binsparse::Version;
use openwork::io::{Format, ReadOptions, frostt};
use openwork::{DType, Layout};

use crate::number;
use crate::spy::Style;

/// Look at tensors in files, draw, compare, convert, check and print them.
///
/// Formats: Matrix Market (.mtx), FROSTT (.tns) and TensorMarket (.ttx), each also with .gz; binsparse in NPZ (.npz),
/// HDF5 (.h5, .hdf5), Zarr (.zarr, .zarr.zip) and folders of .npy files (.bspnpy); sscdf (.sscdf); AnnData (.h5ad); arrays of NumPy (.npy, .npz); what SciPy and pydata/sparse save (.npz); safetensors
/// (.safetensors). Read as well: text with .bz2 or .zst, PyTorch's checkpoints (.pt, .pth), sparse groups of 10x Genomics (.h5), matrices of AnnData and arrays in Zarr. The file `-` is
/// standard input, or standard output of convert.
///
/// Exit status: 0 all is well; 1 a file is invalid, or what was asked for cannot be done with it, or files differ; 2 a file
/// cannot be read or written, its format is not known, or the command is wrong; 130 it was interrupted.
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
    Head(Head),
    Spy(Spy),
    Diff(Diff),
    Completions(Completions),
    Man(Man),
    #[command(name = "npy_to_binsparse")]
    NpyToBinsparse(NpyToBinsparse),
    #[command(name = "binsparse_to_npy")]
    BinsparseToNpy(BinsparseToNpy),
    #[command(name = "binsparse_to_binsparse")]
    BinsparseToBinsparse(BinsparseToBinsparse),
}

/// Say what files hold: shape, dtype, layout, fill, stored elements. Reads no arrays
#[derive(Args)]
#[command(
    after_help = "Examples:\n  openwork info graph.mtx.gz                   what one file holds\n  openwork info model.safetensors              a tree of its tensors\n  openwork info --json *.npz | jq .nse         for other programs\n\nExit status: 0 all is well, 1 it cannot be done with the file, 2 a file cannot be read or written"
)]
pub(crate) struct Info {
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// One JSON object per tensor, one per line
    #[arg(long)]
    pub(crate) json: bool,
    /// All that is known of each tensor, in a file of several too
    #[arg(short, long)]
    pub(crate) long: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Read a tensor and write it to a file; the name of OUT decides the format
///
/// What OUT's format keeps in order only is sorted, and repeated entries are summed; standard error says so.
///
/// All tensors of a file of several go to an .h5, .zarr, .safetensors, .sscdf or .h5ad file, or .npz --to numpy; one that --name names to any. Of a model --layout is for
/// tensors of two and more axes, and --dtype with floats, --fill and --replace-fill are for floats.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  openwork convert graph.mtx.gz graph.npz --layout csr\n  openwork convert model.pt model.h5 --compression 4      all tensors\n  openwork convert model.h5 bias.npz --name layer/bias    one of them\n  openwork convert - - --from tns --to npz < in > out\n\nExit status: 0 all is well, 1 it cannot be done with the file, 2 a file cannot be read or written"
)]
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
    /// Binsparse: compress the arrays as hard as this, 0 to 9
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=9))]
    pub(crate) compression: Option<u8>,
    /// Binsparse: claim this version, 0.1.0 or 0.1, which readers ask for in so many letters
    #[arg(long, value_name = "VERSION", value_parser = version)]
    pub(crate) binsparse_version: Option<Version>,
    /// Binsparse: allow what its text cannot say, in a form that other readers refuse
    #[arg(long)]
    pub(crate) extensions: bool,
    /// The format of OUT, where its name does not tell: mtx, tns, ttx, npz, npy, h5, zarr, h5ad, sscdf or safetensors; in NPZ also numpy, scipy or pydata
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(crate) to: Option<Format>,
    /// Leave out what IN says beside the tensor: its metadata
    #[arg(long)]
    pub(crate) drop_metadata: bool,
    /// Fail where OUT has no place for the metadata of IN, which are left out otherwise
    #[arg(long, conflicts_with = "drop_metadata")]
    pub(crate) keep_metadata: bool,
    /// Say nothing of what is put in order, summed or left out, and show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
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
#[command(
    after_help = "Examples:\n  openwork validate *.mtx\n  openwork validate --json --limit 10 upload.npz\n\nExit status: 0 valid, 1 invalid, 2 cannot be read"
)]
pub(crate) struct Validate {
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Stop after so many lines
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// One JSON object per file, one per line: {"file": ..., "violations": [{"place": ..., "what": ...}], "count": 1, "valid": false}
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Print each stored element as a JSON line: [[0, 3], 0.25]
///
/// The file is read in pieces, and lines are printed as these come: where something is wrong with it, what stood before that is
/// printed.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  openwork dump graph.tns | head\n  openwork dump --csv --rows 100..200 graph.npz\n\nExit status: 0 all is well, 1 it cannot be done with the file, 2 a file cannot be read or written"
)]
pub(crate) struct Dump {
    pub(crate) file: PathBuf,
    /// Only what lies in these rows, which are indices of the first axis: 10..20
    #[arg(long, value_name = "FROM..TO", value_parser = range)]
    pub(crate) rows: Option<Range<usize>>,
    /// As CSV, an index of each axis and the value: 0,3,0.25. The first line names the columns
    #[arg(long)]
    pub(crate) csv: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Print the first stored elements, as dump does; no more of the file is read than they take
#[derive(Args)]
#[command(
    after_help = "Examples:\n  openwork head -n 3 graph.mtx\n  openwork head --csv model.safetensors --name layer.weight\n\nExit status: 0 all is well, 1 it cannot be done with the file, 2 a file cannot be read or written"
)]
pub(crate) struct Head {
    pub(crate) file: PathBuf,
    /// How many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub(crate) lines: u64,
    /// As CSV
    #[arg(long)]
    pub(crate) csv: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Draw where a tensor stores something, in the terminal or to a .png or .svg file
///
/// Each cell of the picture shows which part of its elements is stored; of a dense tensor, which part is not 0. The file is
/// read in pieces, so it may be larger than memory.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  openwork spy graph.mtx.gz\n  openwork spy graph.npz -o graph.png\n  openwork spy ratings.tns --axes 0,2 --style braille\n\nExit status: 0 all is well, 1 it cannot be done with the file, 2 a file cannot be read or written"
)]
pub(crate) struct Spy {
    pub(crate) file: PathBuf,
    /// Write the picture to this file, .png or .svg
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The axes downwards and to the right; without, the two longest. What lies along others is summed
    #[arg(long, value_delimiter = ',', value_name = "ROWS,COLUMNS")]
    pub(crate) axes: Option<Vec<usize>>,
    /// How it is drawn in the terminal; without, in colours where there are some, else in shades
    #[arg(long, value_enum)]
    pub(crate) style: Option<Style>,
    /// The most columns of the terminal, or cells of a picture, to draw in
    #[arg(long, value_name = "N", value_parser = size)]
    pub(crate) width: Option<usize>,
    /// The most lines of the terminal, or cells of a picture, to draw in
    #[arg(long, value_name = "N", value_parser = size)]
    pub(crate) height: Option<usize>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Tell where two files do not mean the same: exit status 0 same, 1 different, 2 trouble
///
/// Compared are shape, dtype, and every element, stored or not; layouts, fills and formats do not matter. Nothing is said of
/// files that are the same. In files of several tensors those of one name are compared: + is in B alone, - in A alone,
/// ~ in both and not the same.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  openwork diff before.npz after.h5\n  openwork diff --rtol 1e-5 --equal-nan a.mtx b.mtx\n  openwork diff --names old.safetensors new.safetensors\n\nExit status: 0 same, 1 different, 2 trouble"
)]
pub(crate) struct Diff {
    #[arg(value_name = "A")]
    pub(crate) left: PathBuf,
    #[arg(value_name = "B")]
    pub(crate) right: PathBuf,
    /// Pass over differences of so much beside the element of B
    #[arg(long, value_name = "FACTOR", default_value_t = 0.0)]
    pub(crate) rtol: f64,
    /// Pass over differences of so much
    #[arg(long, value_name = "DISTANCE", default_value_t = 0.0)]
    pub(crate) atol: f64,
    /// NaN is the same as NaN
    #[arg(long)]
    pub(crate) equal_nan: bool,
    /// Tell the names of tensors alone, and a sign for each
    #[arg(long)]
    pub(crate) names: bool,
    /// Show so many of the elements that differ
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,
    /// One JSON object: {"same": false, "tensors": [...]}
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Print the script that completes openwork's commands and options in a shell
///
/// bash: openwork completions bash > ~/.local/share/bash-completion/completions/openwork
/// zsh:  openwork completions zsh > a file _openwork in a folder of $fpath
/// fish: openwork completions fish > ~/.config/fish/completions/openwork.fish
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Completions {
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Print the page of the manual, of openwork or of one of its commands: openwork man spy | man -l -
#[derive(Args)]
pub(crate) struct Man {
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,
}

/// Make a binsparse file of NumPy's arrays, as the compliance suite of binsparse asks for it
#[derive(Args)]
pub(crate) struct NpyToBinsparse {
    /// All elements, .npy
    pub(crate) tensor: PathBuf,
    /// Which of them are stored, .npy
    pub(crate) pattern: PathBuf,
    /// What the others are: an array of one element, .npy
    pub(crate) fill: PathBuf,
    /// The format: a part of a descriptor, JSON
    pub(crate) header: PathBuf,
    /// .npz, .h5 or .zarr
    pub(crate) output: PathBuf,
}

/// Make NumPy's arrays of a binsparse file: all elements, which of them are stored, and what the others are
#[derive(Args)]
pub(crate) struct BinsparseToNpy {
    pub(crate) input: PathBuf,
    pub(crate) tensor: PathBuf,
    pub(crate) pattern: PathBuf,
    pub(crate) fill: PathBuf,
}

/// Read a binsparse file and write what it means to another, as the compliance suite of binsparse asks for it
#[derive(Args)]
pub(crate) struct BinsparseToBinsparse {
    pub(crate) input: PathBuf,
    pub(crate) output: PathBuf,
}

/// How files are read.
#[derive(Args, Default)]
pub(crate) struct Reading {
    /// Accept older drafts of binsparse and common deviations, in Matrix Market too
    #[arg(long)]
    pub(crate) lenient: bool,
    /// The format that is read, where neither content nor name tell: mtx, tns, ttx, npz, h5, safetensors or pt
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
    /// Let libhdf5 read HDF5 files in forms that openwork does not know; damaged ones can crash it
    #[arg(long)]
    allow_libhdf5: bool,
}

impl Reading {
    /// Whether nothing but the file itself says how it is read.
    pub(crate) fn is_plain(&self) -> bool {
        !self.lenient && self.max_bytes.is_none() && self.from.is_none() && !self.allow_libhdf5
    }

    /// The tensor that is asked for.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

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
            allow_libhdf5: self.allow_libhdf5,
        }
    }
}

/// The most cells of a picture each way.
const LARGEST: usize = 4096;

fn range(text: &str) -> Result<Range<usize>, String> {
    let parsed = text.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    parsed.ok_or_else(|| "a range is written 10..20, its end not included".to_owned())
}

fn size(text: &str) -> Result<usize, String> {
    let parsed = text.parse().ok().filter(|n| (1..=LARGEST).contains(n));
    parsed.ok_or_else(|| format!("1 to {LARGEST} is allowed"))
}

fn layout(text: &str) -> Result<Layout, String> {
    let known = "strided, coo, coo+Ndense, csr, csc, dcsr, dcsc, csf, bsrRxC and bscRxC";
    let parsed = text.parse().ok().filter(|layout| *layout != Layout::Levels);
    parsed.ok_or_else(|| format!("known are {known}"))
}

fn version(text: &str) -> Result<Version, String> {
    match text {
        "0.1" => Ok(Version::V0_1),
        "0.1.0" => Ok(Version::V0_1_0),
        _ => Err("known are 0.1 and 0.1.0".to_owned()),
    }
}

fn format(text: &str) -> Result<Format, String> {
    let parsed = text.trim_start_matches('.').parse();
    parsed.map_err(|_| "known are mtx, tns, ttx, npz, npy, h5, zarr, h5ad, sscdf and safetensors, in NPZ also numpy, scipy and pydata, and pt to read".to_owned())
}
