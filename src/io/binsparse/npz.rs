//! NPZ: one `.npy` member per array, the descriptor as a 0-dimensional string array `binsparse`.

use std::fs::File;
use std::io::{self, Read, Seek, Write};

use super::arrays::{ArrayInfo, Arrays, Container};
use super::copy::Region;
use super::export::Export;
use super::foreign::{self, Foreign, Place};
use super::made::{self, Made};
use super::npy::{self, NpyHeader};
use super::zip::{ZipReader, ZipWriter};
use super::{Mode, json};
use crate::base::mapped::Mapped;
use crate::io::fault::{Res, bad};
use crate::io::progress::Tell;
use crate::io::steps;
use crate::io::warning::Warning;
use openwork_ops::{DType, Scalar};

pub(crate) struct Npz<R> {
    archive: ZipReader<R>,
    /// The arrays as another library saved them, if one did.
    foreign: Option<Foreign>,
    /// The array that is asked for, of a file of plain arrays.
    chosen: Option<String>,
}

/// Arrays that a file of another library has.
const PYDATA: [&str; 3] = ["data", "shape", "fill_value"];
const SCIPY: [&str; 3] = ["format", "shape", "data"];

impl<R: Read + Seek> Npz<R> {
    pub(crate) fn of(archive: ZipReader<R>) -> Npz<R> {
        Npz { archive, foreign: None, chosen: None }
    }

    fn has(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.archive.member(&format!("{name}.npy")).is_some())
    }

    /// Whether it is one tensor in several arrays.
    fn is_one(&self) -> bool {
        self.has(&["binsparse"]) || self.has(&PYDATA) || self.has(&SCIPY)
    }

    /// Whose file it is, if not binsparse's.
    pub(crate) fn library(&self) -> Option<&'static str> {
        match () {
            () if self.has(&["binsparse"]) => None,
            () if self.has(&PYDATA) => Some("pydata/sparse"),
            () if self.has(&SCIPY) => Some("SciPy"),
            () => Some("NPZ"),
        }
    }

    /// The tensors: one without a name, or plain arrays by their names.
    pub(crate) fn names(&mut self) -> Vec<String> {
        let plain = self.plain();
        if plain.is_empty() { vec![String::new()] } else { plain }
    }

    /// The plain arrays of a file that has nothing else.
    fn plain(&mut self) -> Vec<String> {
        if self.is_one() {
            return Vec::new();
        }
        let names = self.archive.names().filter_map(|name| name.strip_suffix(".npy")).map(str::to_owned);
        let mut names: Vec<String> = names.collect();
        names.retain(|name| self.head(name).is_ok_and(|header| header.is_some_and(|header| header.dtype().is_some())));
        names
    }

    /// Goes to a tensor by its name.
    pub(crate) fn select(&mut self, name: Option<&str>) -> Res<()> {
        let name = name.filter(|name| !name.is_empty());
        if let Some(name) = name.filter(|_| self.is_one()) {
            return bad(format_args!("there is no group {name:?}: the file holds one tensor, without a name"));
        }
        self.chosen = name.map(str::to_owned);
        Ok(())
    }

    /// Compares the checksums of members that are read in parts.
    pub(crate) fn verify(&mut self) -> Res<()> {
        self.archive.verify()
    }

    /// Header of an array that must be there.
    fn needed(&mut self, name: &str) -> Res<NpyHeader> {
        match self.header(name, &format!("{name}.npy"))? {
            Some(header) => Ok(header),
            None => bad(format_args!("the array `{name}` is missing")),
        }
    }

    /// Element type and number of elements of an array that must be there.
    fn typed(&mut self, name: &str) -> Res<(DType, Vec<u64>)> {
        let header = self.needed(name)?;
        match header.dtype() {
            Some(dtype) => Ok((dtype, header.shape)),
            None => bad(format_args!("`{name}` holds {}", header.unfit())),
        }
    }

    /// The whole of a small array of integers.
    fn small(&mut self, name: &str) -> Res<Vec<u64>> {
        let header = self.needed(name)?;
        let (Some(dtype), [len @ 0..64]) = (header.dtype().filter(|dtype| dtype.is_int()), &header.shape[..]) else {
            return bad(format_args!("`{name}` is not a short list of integers"));
        };
        let mut out = vec![0; *len as usize * dtype.size()];
        self.read(name, 0, &mut out, &Tell::nobody())?;
        (0..*len as usize).try_mapped(|at| {
            let bytes = out.get(at * dtype.size()..).unwrap_or_default();
            let value = bytes.get(..dtype.size()).and_then(|bytes| Scalar::from_bytes(dtype, bytes).as_integer());
            let value = value.and_then(|value| u64::try_from(value).ok());
            value.map_or_else(|| bad(format_args!("`{name}` holds a negative number")), Ok)
        })
    }

    /// The bytes of one text.
    fn word(&mut self, name: &str) -> Res<String> {
        let header = self.needed(name)?;
        if !matches!(header.kind, 'S' | 'U') || !matches!(header.shape[..], [] | [1]) || header.item > 256 {
            return bad(format_args!("the array `{name}` is not one word"));
        }
        let mut out = vec![0; header.item as usize];
        self.data(&format!("{name}.npy"), &header, 0, &mut out, &Tell::nobody())?;
        // Letters of four bytes have zeros beside them.
        Ok(out.into_iter().filter(|&byte| byte != 0).map(char::from).collect())
    }

    /// What the file is if it is no binsparse: one that SciPy or pydata/sparse saved, or nothing that is known.
    fn recognise(&mut self) -> Res<Foreign> {
        // Its newer versions have a `format` too, as SciPy has.
        let pydata = self.has(&PYDATA);
        if !pydata && self.has(&SCIPY) {
            return self.of_scipy();
        }
        if pydata && self.has(&["coords"]) {
            let (shape, (values, data), (indices, coords)) =
                (self.small("shape")?, self.typed("data")?, self.typed("coords")?);
            let (places, nse) = stacked(&shape, &data, &coords)?;
            let fill = Some(self.typed("fill_value")?.0);
            return foreign::coordinates("pydata/sparse COO", &shape, places, (indices, values), nse, fill);
        }
        if pydata && self.has(&["indptr", "indices", "compressed_axes"]) {
            let (shape, axes) = (self.small("shape")?, self.small("compressed_axes")?);
            if shape.len() == 1 && axes.is_empty() {
                let fill = Some(self.typed("fill_value")?.0);
                return self.vector("pydata/sparse GCXS", &shape, fill);
            }
            let (&[_, _], &[axis @ 0..2]) = (&shape[..], &axes[..]) else {
                return self.folded(&shape, &axes);
            };
            let fill = Some(self.typed("fill_value")?.0);
            return self.compressed("pydata/sparse GCXS", axis as usize, &shape, None, fill);
        }
        if let Some(found) = self.of_plain()? {
            return Ok(found);
        }
        let mut names: Vec<&str> = self.archive.names().take(9).collect();
        names.sort_unstable();
        bad(format_args!(
            "it is no binsparse, SciPy nor pydata/sparse file: there is no array `binsparse` with a descriptor among {}",
            names.join(", ")
        ))
    }

    /// The plain array that is asked for, or the only one.
    fn of_plain(&mut self) -> Res<Option<Foreign>> {
        let name = match self.chosen.clone() {
            Some(name) => name,
            None => match &mut self.plain()[..] {
                [] => return Ok(None),
                [only] => std::mem::take(only),
                many => {
                    let first = many.iter().take(8).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
                    return bad(format_args!(
                        "it is no binsparse, SciPy nor pydata/sparse file but one of {} arrays, of which one must be \
                         named: {first}",
                        many.len()
                    ));
                }
            },
        };
        let Some(header) = self.head(&name)? else { return bad(format_args!("there is no array {name:?}")) };
        let Some(dtype) = header.dtype() else {
            return bad(format_args!("`{name}` holds {}", header.unfit()));
        };
        foreign::plain(&name, &header.shape, header.fortran, dtype).map(Some)
    }

    /// A vector in compressed form: coordinates, and pointers from 0 to their number.
    fn vector(&mut self, kind: &str, shape: &[u64], fill: Option<DType>) -> Res<Foreign> {
        let ((indices, _), (values, data)) = (self.typed("indices")?, self.typed("data")?);
        let &[nse] = &data[..] else { return bad("`data` has more than one axis") };
        let places = vec![Place { stored: "indices".to_owned(), part: None }];
        foreign::coordinates(kind, shape, places, (indices, values), nse, fill)
    }

    /// A file of `scipy.sparse.save_npz`.
    fn of_scipy(&mut self) -> Res<Foreign> {
        let (format, shape) = (self.word("format")?, self.small("shape")?);
        let kind = format!("SciPy {format}");
        match format.as_str() {
            "csr" if shape.len() == 1 => self.vector(&kind, &shape, None),
            "csr" => self.compressed(&kind, 0, &shape, None, None),
            "csc" => self.compressed(&kind, 1, &shape, None, None),
            "bsr" => {
                let (_, data) = self.typed("data")?;
                let &[_, rows, cols] = &data[..] else { return bad(format_args!("blocks of the shape {data:?}")) };
                self.compressed(&kind, 0, &shape, Some([rows, cols]), None)
            }
            "coo" if self.has(&["coords"]) => {
                let ((values, data), (indices, coords)) = (self.typed("data")?, self.typed("coords")?);
                let (places, nse) = stacked(&shape, &data, &coords)?;
                foreign::coordinates(&kind, &shape, places, (indices, values), nse, None)
            }
            "coo" => {
                let (values, data) = self.typed("data")?;
                let (indices, _) = self.typed("row")?;
                let places = ["row", "col"].map(|name| Place { stored: name.to_owned(), part: None });
                let nse = data.iter().product();
                foreign::coordinates(&kind, &shape, places.into(), (indices, values), nse, None)
            }
            "dia" => self.diagonals(&kind, &shape),
            _ => {
                bad(format_args!("a SciPy array in the format {format:?}, which is not read: save it with `.tocsr()`"))
            }
        }
    }

    /// Diagonals: those that are saved, and nothing else, is stored.
    fn diagonals(&mut self, kind: &str, shape: &[u64]) -> Res<Foreign> {
        let (values, data) = self.typed("data")?;
        let offsets = self.integers("offsets")?;
        let (&[rows, cols], &[lines, width]) = (shape, &data[..]) else {
            return bad(format_args!("diagonals of the shape {data:?} in an array of the shape {shape:?}"));
        };
        let (made, nse) = made::diagonals([rows, cols], &offsets, [lines, width])?;
        let found = foreign::coordinates(kind, shape, made::places(2), (DType::U64, values), nse, None)?;
        Ok(Foreign { made: Some(made), ..found })
    }

    /// A tensor of any number of axes as a compressed matrix: its coordinates are made of rows and columns.
    fn folded(&mut self, shape: &[u64], axes: &[u64]) -> Res<Foreign> {
        let (values, data) = self.typed("data")?;
        let mut wide = |name: &str| -> Res<Vec<u64>> {
            let signed = self.integers(name)?;
            signed.try_mapped(|&v| u64::try_from(v).or_else(|_| bad(format_args!("`{name}` has a negative entry"))))
        };
        let (pointers, indices) = (wide("indptr")?, wide("indices")?);
        if data != [indices.len() as u64] {
            return bad(format_args!("values of the shape {data:?} for {} indices", indices.len()));
        }
        let fill = Some(self.typed("fill_value")?.0);
        let nse = indices.len() as u64;
        let made = made::folded(shape, axes, pointers, indices)?;
        let places = made::places(shape.len());
        let found = foreign::coordinates("pydata/sparse GCXS", shape, places, (DType::U64, values), nse, fill)?;
        Ok(Foreign { made: Some(made), ..found })
    }

    /// The whole of an array of integers.
    fn integers(&mut self, name: &str) -> Res<Vec<i64>> {
        let header = self.needed(name)?;
        let (Some(dtype), &[len]) = (header.dtype().filter(|dtype| dtype.is_int()), &header.shape[..]) else {
            return bad(format_args!("`{name}` is not a list of integers"));
        };
        let mut out = vec![0; len as usize * dtype.size()]; // the archive has as many, as its directory says
        self.read(name, 0, &mut out, &Tell::nobody())?;
        out.chunks_exact(dtype.size())
            .map(|bytes| {
                let value = Scalar::from_bytes(dtype, bytes).as_integer().and_then(|value| i64::try_from(value).ok());
                value.map_or_else(|| bad(format_args!("`{name}` holds a number of 2^63 and more")), Ok)
            })
            .collect()
    }

    fn compressed(
        &mut self,
        kind: &str,
        axis: usize,
        shape: &[u64],
        block: Option<[u64; 2]>,
        fill: Option<DType>,
    ) -> Res<Foreign> {
        let ((pointers, _), (indices, _), (values, data)) =
            (self.typed("indptr")?, self.typed("indices")?, self.typed("data")?);
        let Some(nse) = data.iter().try_fold(1_u64, |n, &size| n.checked_mul(size)) else {
            return bad(format_args!("values of the shape {data:?}"));
        };
        let matrix = foreign::Compressed { axis, shape, block, pointers, indices, values, nse, fill };
        foreign::compressed(kind, &matrix)
    }

    /// A member's header. Elements in Fortran order are those of a plain array alone.
    fn header(&mut self, name: &str, file: &str) -> Res<Option<NpyHeader>> {
        let Some(header) = self.headed(name, file)? else { return Ok(None) };
        let plain = self.foreign.as_ref().is_some_and(|foreign| foreign.kind == foreign::PLAIN);
        if header.fortran && header.shape.len() > 1 && !plain {
            return bad("an .npy array in Fortran order");
        }
        Ok(Some(header))
    }

    /// The header of an array in either order.
    fn head(&mut self, name: &str) -> Res<Option<NpyHeader>> {
        self.headed(name, &format!("{name}.npy"))
    }

    fn headed(&mut self, name: &str, file: &str) -> Res<Option<NpyHeader>> {
        let Some(member) = self.archive.member(file) else { return Ok(None) };
        let mut reader = self.archive.reader(member)?;
        npy::read(&mut reader, member.size, name).map(Some)
    }

    /// Reads bytes of the data from `start` on. All of them must agree with the checksum; a part has none.
    fn data(&mut self, file: &str, header: &NpyHeader, start: u64, out: &mut [u8], tell: &Tell<'_>) -> Res<()> {
        let Some(member) = self.archive.member(file) else { return bad(format_args!("no member {file:?}")) };
        let data_at = header.data_at as u64;
        if start == 0 && data_at + out.len() as u64 == member.size {
            let mut reader = self.archive.reader(member)?;
            reader.read_exact(&mut vec![0; header.data_at])?;
            steps::read_exact(&mut reader, out, tell)?;
            return reader.finish();
        }
        // Several arrays in one member come one after another, packed or not.
        let skips = self.foreign.is_some() && member.deflated;
        if skips {
            let mut reader = self.archive.reader(member)?;
            io::copy(&mut reader.by_ref().take(data_at + start), &mut io::sink())?;
            return Ok(steps::read_exact(&mut reader, out, tell)?);
        }
        self.archive.read_part(file, member, data_at + start, out, tell)
    }
}

impl<R: Read + Seek> Container for Npz<R> {
    fn foreign(&self) -> Option<String> {
        self.foreign.as_ref().map(|foreign| foreign.kind.clone())
    }

    fn descriptor(&mut self, mode: Mode, warnings: &mut Vec<Warning>) -> Res<String> {
        let file = "binsparse.npy";
        let Some(header) = self.header("binsparse", file)? else {
            self.foreign = None;
            let found = self.recognise()?;
            return Ok(self.foreign.insert(found).text.clone());
        };
        let form = match (header.kind, header.shape.as_slice()) {
            ('U', []) => None,
            ('S', []) => Some("bytes"),
            ('U' | 'S', [1]) => Some("a list of one text"),
            _ => return bad("the array `binsparse` is not one text"),
        };
        if let Some(form) = form {
            if mode != Mode::Lenient {
                return bad(format_args!("the descriptor is stored as {form}"));
            }
            warnings.push(Warning::DescriptorForm(form));
        }
        let bytes = header.item; // one item
        if bytes > 4 * json::MAX_BYTES {
            return bad(format_args!("the descriptor has {bytes} bytes"));
        }
        let mut data = vec![0; bytes as usize];
        self.data(file, &header, 0, &mut data, &Tell::nobody())?;
        if header.kind == 'S' {
            let text = data.split(|&b| b == 0).next().unwrap_or_default();
            return String::from_utf8(text.to_vec()).or_else(|_| bad("the descriptor is not UTF-8"));
        }
        let code = |c: &[u8]| {
            let bytes = [c[0], c[1], c[2], c[3]];
            if header.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        let mut codes: Vec<u32> = data.chunks_exact(4).map(code).collect();
        while codes.last() == Some(&0) {
            codes.pop(); // padding
        }
        let text: Option<String> = codes.into_iter().map(char::from_u32).collect();
        text.map_or_else(|| bad("the descriptor is not Unicode"), Ok)
    }
}

impl<R: Read + Seek> Arrays for Npz<R> {
    fn packed(&mut self, name: &str) -> Option<u64> {
        let stored = self.place(name).map_or_else(|| name.to_owned(), |place| place.stored);
        self.archive.member(&format!("{stored}.npy")).filter(|member| member.deflated).map(|member| member.packed)
    }

    fn info(&mut self, name: &str) -> Res<Option<ArrayInfo>> {
        if let Some(nse) = self.made(name) {
            return Ok(Some(nse));
        }
        let place = self.place(name);
        let stored = place.as_ref().map_or(name, |place| &place.stored);
        let Some(header) = self.header(stored, &format!("{stored}.npy"))? else { return Ok(None) };
        let Some(dtype) = header.dtype() else {
            return bad(format_args!("`{stored}` holds {}", header.unfit()));
        };
        let len = match (&place, &header.shape[..]) {
            (Some(Place { part: Some((_, len)), .. }), _) => *len,
            (_, &[len]) => len,
            // One fill, and blocks one after another.
            (Some(_), shape) => shape.iter().product(),
            _ => return bad(format_args!("`{stored}` has shape {:?}, not one axis", header.shape)),
        };
        // Binsparse has complex numbers as pairs, and truth values as integers.
        Ok(Some(if place.is_none() { ArrayInfo { dtype, len } } else { foreign::info(dtype, len) }))
    }

    fn read(&mut self, name: &str, start: u64, out: &mut [u8], tell: &Tell<'_>) -> Res<()> {
        let made = self.foreign.as_ref().and_then(|foreign| foreign.made.as_ref());
        if let Some(made) = made.filter(|made| made.has(name)) {
            made.read(name, start, out);
            return Ok(());
        }
        if name == "values" && made.is_some_and(Made::picks) {
            return self.picked(start, out, tell);
        }
        let (stored, first, pairs) = match self.place(name) {
            Some(Place { stored, part }) => (stored, part.map_or(0, |(first, _)| first), true),
            None => (name.to_owned(), 0, false),
        };
        let file = format!("{stored}.npy");
        let Some(header) = self.header(&stored, &file)? else {
            return bad(format_args!("the array `{stored}` is missing"));
        };
        let item = if pairs && header.kind == 'c' { header.item / 2 } else { header.item };
        self.data(&file, &header, (first + start) * item, out, tell)?;
        header.ordered(out);
        Ok(())
    }
}

impl<R: Read + Seek> Npz<R> {
    /// Type and length of an array that is made, or whose values are picked.
    fn made(&mut self, name: &str) -> Option<ArrayInfo> {
        let foreign = self.foreign.as_ref()?;
        let made = foreign.made.as_ref()?;
        if made.has(name) {
            return Some(ArrayInfo { dtype: DType::U64, len: made.len() });
        }
        if name != "values" || !made.picks() {
            return None;
        }
        let len = made.len();
        let dtype = self.typed("data").ok()?.0;
        Some(foreign::info(dtype, len))
    }

    /// Values of diagonals, out of all that are saved.
    fn picked(&mut self, start: u64, out: &mut [u8], tell: &Tell<'_>) -> Res<()> {
        let file = "data.npy";
        let header = self.needed("data")?;
        let bytes = header.shape.iter().fold(header.item, |n, &size| n.saturating_mul(size));
        let mut saved = vec![0; bytes as usize]; // the archive has as many
        self.data(file, &header, 0, &mut saved, tell)?;
        header.ordered(&mut saved);
        let item = header.item as usize;
        let from = start as usize * header.number() as usize;
        if let Some(made) = self.foreign.as_ref().and_then(|foreign| foreign.made.as_ref()) {
            made.pick(&saved, item, from, out);
        }
        Ok(())
    }
}

/// The places of coordinates in an array with a row per axis, and how many there are.
fn stacked(shape: &[u64], data: &[u64], coords: &[u64]) -> Res<(Vec<Place>, u64)> {
    let &[nse] = data else { return bad("`data` has more than one axis") };
    if coords != [shape.len() as u64, nse] {
        return bad(format_args!("`coords` has the shape {coords:?}, not [{}, {nse}]", shape.len()));
    }
    let place = |axis| Place { stored: "coords".to_owned(), part: Some((axis * nse, nse)) };
    Ok(((0..shape.len() as u64).map(place).collect(), nse))
}

impl<R> Npz<R> {
    /// Where an array is, if another library named it.
    fn place(&self, name: &str) -> Option<Place> {
        let foreign = self.foreign.as_ref()?;
        let one = || (name == "fill_value").then(|| Place { stored: name.to_owned(), part: None });
        foreign.arrays.get(name).cloned().or_else(one)
    }
}

/// Writes a file around arrays that `fill` writes to their places.
pub(super) fn write_reserved(
    file: &mut File,
    json: &str,
    regions: &mut [Region],
    fill: &mut dyn FnMut(&File, &mut [Region]) -> io::Result<()>,
) -> io::Result<()> {
    let file: &File = file;
    let mut zip = ZipWriter::new(file);
    let mut reserved = Vec::with_capacity(regions.len());
    for region in &mut *regions {
        let header = npy::write(&npy::descr(region.dtype).unwrap_or_default(), false, &[region.len]);
        let bytes = region.len * region.dtype.size() as u64;
        let (member, at) = zip.reserve(format!("{}.npy", region.name), header, bytes)?;
        region.at = at;
        reserved.push(member);
    }
    fill(file, regions)?;
    for (member, region) in reserved.iter().zip(&*regions) {
        zip.settle(member, &region.checksum)?;
    }
    described(&mut zip, json, None)?;
    zip.finish()?.flush()
}

/// The member with the descriptor.
fn described(zip: &mut ZipWriter<impl Write>, json: &str, level: Option<u8>) -> io::Result<()> {
    let text: Vec<u8> = json.chars().flat_map(|c| u32::from(c).to_ne_bytes()).collect();
    let header = npy::write(&format!("{}U{}", npy::ORDER, text.len() / 4), false, &[]);
    zip.add("binsparse.npy", &[&header, &text], level, &Tell::nobody())
}

/// Writes a whole file, packed at a level if there is one.
pub(crate) fn write(sink: impl Write, export: &Export, level: Option<u8>, tell: &Tell<'_>) -> io::Result<()> {
    let mut zip = ZipWriter::new(sink);
    for array in &export.arrays {
        let descr = npy::descr(array.dtype).unwrap_or_default();
        let header = npy::write(&descr, false, &[array.len() as u64]);
        zip.add(&format!("{}.npy", array.name), &[&header, array.bytes()], level, tell)?;
    }
    described(&mut zip, &export.json, level)?;
    zip.finish()?.flush()
}
