//! Tensors of a file one by one, for models that are larger than memory.

use std::io::{self, BufWriter};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::export::Export;
use super::{ContainerKind, check_zarr_names, file, hdf5, zarr};
use crate::base::error::Result;
use crate::io::progress::Tell;
use crate::io::{WriteOptions, atomic};
use crate::tensor::{Tensor, trace};

/// As [`write_all`](super::write_all), but each tensor is asked for by its name when it is its turn, with the keys to put beside its
/// descriptor, and let go once it is written: no two are in memory. HDF5 asks in the order of the names, Zarr in that of the
/// alphabet.
///
/// ```
/// use openwork::io::binsparse::{self, File};
/// use openwork::{Layout, Tensor};
///
/// let path = std::env::temp_dir().join(format!("openwork-each-{}.h5", std::process::id()));
/// let names: Vec<String> = (0..3).map(|i| format!("layer/{i}")).collect();
/// let names: Vec<&str> = names.iter().map(String::as_str).collect();
/// binsparse::write_each(&path, &names, &Default::default(), &mut |name| {
///     let seed = name.len() as u64; // or read it from another file
///     Ok((Tensor::random([4, 3], 0.5, 0.0, Layout::Csr, seed)?, Default::default()))
/// })?;
/// assert_eq!(File::open(&path)?.names()?, names);
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`write_all`](super::write_all), and whatever the function gives; there is no new file then.
pub fn write_each(
    path: impl AsRef<Path>,
    names: &[&str],
    options: &WriteOptions<'_>,
    give: &mut dyn FnMut(&str) -> Result<(Tensor, Map<String, Value>)>,
) -> Result<()> {
    let _call = trace::call("binsparse::write_each", &[]);
    let path = path.as_ref();
    let kind = ContainerKind::of_path_of_several(path, options)?;
    names.iter().try_for_each(|name| file::check_name(name))?;
    let groups = file::Groups::of(names.iter().copied())?;
    if kind != ContainerKind::Hdf5 {
        check_zarr_names(names.iter().copied())?;
    }
    let list = json!({ "tensors": names, "metadata": options.said() });
    let tell = Tell::new(options.progress, names.len() as u64);
    let mut failed = None;
    let mut next = |name: &str| -> io::Result<Export> {
        let export = give(name).and_then(|(tensor, metadata)| {
            let export = Export::new(&tensor, options, &metadata)?;
            groups.check(name, &export).map(|()| export)
        });
        tell.more(1);
        export.map_err(|error| {
            failed = Some(error);
            io::Error::other("a tensor was not to be had")
        })
    };
    let written = match kind {
        ContainerKind::Hdf5 => {
            atomic::write(path, |file| hdf5::write_each(file, names, &list.to_string(), options, &mut next))
        }
        ContainerKind::ZarrZip => {
            atomic::write(path, |file| zarr::each_to_zip(BufWriter::new(file), names, &list, options, &mut next))
        }
        _ => atomic::write_folder(path, &zarr::is_store, &mut |folder| {
            zarr::each_to_folder(folder, names, &list, options, &mut next)
        }),
    };
    // What the function gave is what went wrong first.
    match failed {
        Some(error) => Err(error),
        None => written.map(|()| tell.end()),
    }
}
