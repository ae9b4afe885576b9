//! How files are read and written, of any format.

use serde_json::{Map, Value};

use super::any::Format;
use super::binsparse::{Mode, Version};
use super::frostt::Base;
use super::matrix_market::Symmetry;
use super::progress::Progress;
use crate::Scalar;
use crate::base::error::{self, Result};

/// How a file is read: one set of options for all formats, of which each takes those that it has.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions<'a> {
    /// Accept what is not quite right, each with a [`Warning`](super::Warning). Binsparse: older drafts and common deviations,
    /// among them coordinates out of order and repeated ones, which mean their sum. Matrix Market: entries above the diagonal of a
    /// file with a symmetry, which are mirrored like those below it; a skew-symmetric diagonal that is not zero, which is kept;
    /// `%MatrixMarket` with one percent sign; `hermitian` without complex values, which is symmetric. All text: comments that name a type which the values do not fit.
    pub lenient: bool,
    /// HDF5, Zarr, NPZ of NumPy, safetensors, checkpoints: the name of the tensor, as in `layers/0`. `None` (the default) is the
    /// tensor that has no name, else the only one; [`validate`](super::validate) takes all.
    pub name: Option<&'a str>,
    /// The shape of a `.tns` file, where the largest indices do not give it.
    pub shape: Option<&'a [usize]>,
    /// What the first index of an axis is written as in a `.tns` file.
    pub base: Base,
    /// Whether a `.tns` file starts with a line that holds the order and one that holds the shape.
    pub header: bool,
    /// The format; `None` (the default) finds it out. A `.tns` file that comes through a pipe does not tell.
    pub format: Option<Format>,
    /// The most bytes to accept: of text before and after decompression, of arrays together, of what a pipe brings. `None` (the
    /// default) sets no bound.
    pub max_bytes: Option<u64>,
    /// Called with how much is read so far, and how much there is.
    pub progress: Option<Progress<'a>>,
    /// HDF5: let libhdf5 read what our own reader does not know: links and attributes that went through filters. A damaged file
    /// can crash libhdf5. It takes the feature `hdf5`; without, such a file is an error all the same.
    pub allow_libhdf5: bool,
}

impl ReadOptions<'_> {
    pub(crate) fn mode(&self) -> Mode {
        if self.lenient { Mode::Lenient } else { Mode::Strict }
    }
}

/// How a file is written: one set of options for all formats. One that the format does not have is an error before anything is
/// written; those that every format takes are told.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteOptions<'a> {
    /// The format; `None` (the default) is that of the file's name. What NumPy, SciPy and pydata/sparse have in `.npz`
    /// files, and AnnData in Zarr, is written where it is asked for.
    pub format: Option<Format>,
    /// The name of the tensor: a group, as in `layers/0` (HDF5, Zarr), or a name (safetensors, NPZ of NumPy, AnnData). `None` (the
    /// default) is the root of binsparse, `tensor` in safetensors, `arr_0` in NPZ of NumPy, `X` in AnnData. Where several tensors are
    /// written each has its own.
    pub name: Option<&'a str>,
    /// Pack arrays with deflate: those of NPZ, and of 64 KiB and more in HDF5, Zarr, sscdf and AnnData. Text is compressed by
    /// gzip if its name ends in `.gz`, and only then.
    pub compress: bool,
    /// How hard to pack, 0 to 9; `None` (the default) is the container's own: 4 in HDF5, 6 in NPZ and Zarr. Without `compress` nothing
    /// is packed.
    pub level: Option<u8>,
    /// HDF5: order bytes by significance before they are packed, which suits indices. sscdf and AnnData do so anyway.
    pub shuffle: bool,
    /// HDF5 and Zarr: entries of a chunk. `None` (the default) stores arrays in one piece (Zarr: in chunks of 16 MiB), packed ones in
    /// chunks of 1 MiB.
    pub chunk: Option<usize>,
    /// Binsparse: the version to claim; `None` (the default) is 0.1.0, in a folder of `.npy` files 0.1.
    pub version: Option<Version>,
    /// Binsparse: allow what its text cannot say, in a form that other readers refuse. All others pass over it.
    pub extensions: bool,
    /// Binsparse: find out [`MatrixFacts`](crate::MatrixFacts) of matrices and store them beside the descriptor, where other
    /// readers pass over them. Strict reading checks them.
    pub facts: bool,
    /// Binsparse: say what unstored elements are even where that goes without saying: the fill of a tensor whose fill is 0, or a
    /// value for a tensor that has no fill because all its elements are stored.
    pub fill: Option<Scalar>,
    /// sscdf: sparse vectors and matrices as bitmaps: a value and a byte for every element, stored or not. What that takes must
    /// fit the densify budget.
    pub bitmap: bool,
    /// Matrix Market: the symmetry that the file declares, `General` by default. Any other halves the file, and is an error where
    /// the tensor does not have it. A zero left out of the file may come back with another sign.
    pub symmetry: Symmetry,
    /// `.tns`: what the first index of an axis is written as. A reader has to be told of 0.
    pub base: Base,
    /// Text: comment lines on top, below a banner.
    pub comment: &'a str,
    /// AnnData: the names of the observations, which are rows; `None` (the default) numbers them from 0.
    pub obs_names: Option<&'a [String]>,
    /// AnnData: the names of the variables, which are columns; `None` (the default) numbers them from 0.
    pub var_names: Option<&'a [String]>,
    /// Keys and values to put beside the tensor (binsparse) or all tensors (safetensors, files of several). sscdf has a place for a
    /// `comment` alone; formats without a place for them leave them out.
    pub metadata: Option<&'a Map<String, Value>>,
    /// Called with how much is written so far, and how much there is.
    pub progress: Option<Progress<'a>>,
}

impl WriteOptions<'_> {
    /// Refuses what a format does not have.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid), by the name of the option.
    pub(in crate::io) fn check(&self, format: Format) -> Result<()> {
        use Format::{
            AnnData, Frostt, Hdf5, MatrixMarket, Npz, NumpyNpz, PydataNpz, Safetensors, ScipyNpz, Sscdf, Zarr,
        };
        let refused = |option: &str, why: String| Err(error::invalid(format_args!("options.{option}"), why));
        if let Some(level) = self.level.filter(|&level| level > 9) {
            return refused("level", format!("is {level}; 0 to 9 are allowed"));
        }
        if self.chunk == Some(0) {
            return refused("chunk", "is 0; a chunk has at least one entry".into());
        }
        let binsparse = &[Npz, Hdf5, Zarr, Format::NpyFolder][..];
        let packed = &[Npz, Hdf5, Zarr, Sscdf, AnnData, NumpyNpz, ScipyNpz, PydataNpz][..];
        let text = &[MatrixMarket, Frostt, Format::TensorMarket][..];
        let has: [(&str, bool, &[Format], &str); 12] = [
            ("name", self.name.is_some(), &[Hdf5, Zarr, Safetensors, NumpyNpz, AnnData], "HDF5 (.h5) does"),
            // Text goes by its name, which whoever opens the file has seen.
            ("compress", self.compress && !format.is_text(), packed, "NPZ, HDF5, Zarr, sscdf and AnnData do"),
            ("shuffle", self.shuffle, &[Hdf5], "HDF5 (.h5) does"),
            ("chunk", self.chunk.is_some(), &[Hdf5, Zarr], "HDF5 (.h5) and Zarr do"),
            ("version", self.version.is_some(), binsparse, "binsparse in .npz, .h5, .zarr and .bspnpy does"),
            ("facts", self.facts, binsparse, "binsparse in .npz, .h5, .zarr and .bspnpy does"),
            ("fill", self.fill.is_some(), binsparse, "binsparse in .npz, .h5, .zarr and .bspnpy does"),
            ("bitmap", self.bitmap, &[Sscdf], "sscdf does"),
            ("symmetry", self.symmetry != Symmetry::General, &[MatrixMarket], "Matrix Market (.mtx) does"),
            ("base", self.base != Base::One, &[Frostt], "FROSTT (.tns) does"),
            ("comment", !self.comment.is_empty(), text, "text does"),
            ("names of axes", self.obs_names.is_some() || self.var_names.is_some(), &[AnnData], "AnnData does"),
        ];
        match has.into_iter().find(|(_, given, of, _)| *given && !of.contains(&format)) {
            None => Ok(()),
            Some((option, .., others)) => refused(option, format!("is given, which {format} does not have; {others}")),
        }
    }

    /// The keys and values to put beside the tensor.
    pub(in crate::io) fn said(&self) -> Map<String, Value> {
        self.metadata.cloned().unwrap_or_default()
    }

    /// How hard to pack what is in NPZ, if at all.
    pub(in crate::io) fn packed(&self) -> Option<u8> {
        self.compress.then_some(self.level.unwrap_or(6))
    }
}
