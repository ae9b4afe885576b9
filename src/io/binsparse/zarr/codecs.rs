//! Codecs: what the elements of a chunk went through on their way into a file, and back.

use std::borrow::Cow;
use std::io::Read;

use serde_json::{Map, Value};

use super::node::named;
use super::shards::Shards;
use super::{blosc, checksum};
use crate::io::fault::{Res, bad};
#[cfg(feature = "codecs")]
use crate::io::text::packing;
use crate::io::text::packing::Packing;
use openwork_ops::DType;

/// All codecs of an array.
pub(super) struct Codecs {
    /// The axes of the array in the order in which a chunk has them, the slowest first.
    pub(super) order: Vec<usize>,
    pub(super) big_endian: bool,
    /// Chunks in one file, each with codecs of its own.
    pub(super) shards: Option<Box<Shards>>,
    /// What bytes went through, the first one first.
    pub(super) steps: Vec<Step>,
}

/// A codec from bytes to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Gzip,
    Zlib,
    Zstd,
    Blosc,
    /// A checksum behind the bytes.
    Crc32c,
}

const KNOWN: &str = "bytes, transpose, sharding_indexed, gzip, zlib, zstd, blosc and crc32c";

impl Step {
    pub(super) fn of(name: &str) -> Res<Step> {
        Ok(match name {
            "gzip" => Step::Gzip,
            "zlib" | "numcodecs.zlib" => Step::Zlib,
            "zstd" => Step::Zstd,
            "blosc" => Step::Blosc,
            "crc32c" => Step::Crc32c,
            other => return bad(format_args!("the codec {other:?}, which is not known; known are {KNOWN}")),
        })
    }

    /// Into how many bytes one may unpack at most.
    fn ratio(self) -> u64 {
        match self {
            Step::Gzip | Step::Zlib => 1032,
            // A block of 128 KiB of one byte takes four bytes.
            Step::Zstd => 1 << 15,
            // Its inner codec; the most is that of zstd.
            Step::Blosc => 1 << 15,
            Step::Crc32c => 1,
        }
    }
}

impl Codecs {
    /// The codecs in a list of version 3, for chunks of a shape.
    pub(super) fn parse(list: &[Value], chunk: &[u64], dtype: DType) -> Res<Codecs> {
        let mut order: Vec<usize> = (0..chunk.len()).collect();
        let mut codecs = list.iter();
        let (big_endian, shards) = loop {
            let Some(codec) = codecs.next() else { return bad("no codec makes bytes of elements") };
            let (name, settings) = named(Some(codec))?;
            match name {
                "transpose" => order = transposed(&order, settings)?,
                "bytes" => break (endian(settings, dtype)?, None),
                "sharding_indexed" => {
                    if order.iter().enumerate().any(|(at, &axis)| at != axis) {
                        return bad("the codec \"sharding_indexed\" behind \"transpose\", which is not read");
                    }
                    break (false, Some(Box::new(Shards::parse(settings, chunk, dtype)?)));
                }
                other => {
                    return bad(format_args!("the codec {other:?} where elements become bytes; known are {KNOWN}"));
                }
            }
        };
        let mut steps = Vec::new();
        for codec in codecs {
            steps.push(Step::of(named(Some(codec))?.0)?);
        }
        if shards.is_some() && !steps.is_empty() {
            return bad("codecs behind \"sharding_indexed\", which are not read");
        }
        // What is packed twice has no bound that its bytes would give.
        if steps.iter().filter(|&&step| step != Step::Crc32c).count() > 1 || steps.len() > 4 {
            return bad("chunks that were packed more than once, which are not read");
        }
        Ok(Codecs { order, big_endian, shards, steps })
    }

    /// Whether the bytes of a chunk are elements as they are in memory, in C order.
    pub(super) fn is_plain(&self) -> bool {
        let in_order = self.order.iter().enumerate().all(|(at, &axis)| at == axis);
        in_order && self.shards.is_none() && self.steps.is_empty() && self.big_endian == cfg!(target_endian = "big")
    }

    /// How many bytes of elements a byte of a file can stand for.
    pub(super) fn ratio(&self) -> u64 {
        let inner = self.shards.as_ref().map_or(1, |shards| shards.codecs.ratio());
        self.steps.iter().fold(inner, |ratio, step| ratio.saturating_mul(step.ratio()))
    }

    /// Whether something is packed.
    pub(super) fn packs(&self) -> bool {
        self.ratio() > 1
    }

    /// The elements of a chunk, which have `whole` bytes, in the order of the chunk's axes and as this machine has them.
    pub(super) fn undo<'a>(&self, stored: &'a [u8], whole: u64, dtype: DType, fill: &[u8]) -> Res<Cow<'a, [u8]>> {
        let mut bytes = self.unpacked(stored, whole)?;
        if let Some(shards) = &self.shards {
            return shards.undo(&bytes, whole, dtype, fill).map(Cow::Owned);
        }
        if bytes.len() as u64 != whole {
            return bad(format_args!("{} bytes are stored, and the elements of a chunk have {whole}", bytes.len()));
        }
        let number = if dtype.is_complex() { dtype.real().size() } else { dtype.size() };
        if self.big_endian != cfg!(target_endian = "big") && number > 1 {
            bytes.to_mut().chunks_exact_mut(number).for_each(<[u8]>::reverse);
        }
        Ok(bytes)
    }

    /// The bytes before they went through codecs, no more than `most` where they are unpacked.
    fn unpacked<'a>(&self, stored: &'a [u8], most: u64) -> Res<Cow<'a, [u8]>> {
        let sums = 4 * self.steps.iter().filter(|&&step| step == Step::Crc32c).count() as u64;
        let most = most.saturating_add(sums);
        let mut bytes = Cow::Borrowed(stored);
        for &step in self.steps.iter().rev() {
            bytes = match step {
                Step::Gzip => read(Packing::Gzip.unpacked(&bytes[..]), most)?.into(),
                Step::Zlib => read(flate2::read::ZlibDecoder::new(&bytes[..]), most)?.into(),
                Step::Zstd => zstd(&bytes, most)?.into(),
                Step::Blosc => blosc::unpack(&bytes, most)?.into(),
                Step::Crc32c => checksum::checked(bytes)?,
            };
        }
        Ok(bytes)
    }
}

/// What a block of zstd unpacks to, if it is no more than that.
pub(super) fn zstd(packed: &[u8], most: u64) -> Res<Vec<u8>> {
    #[cfg(feature = "codecs")]
    if let Some(unpacked) = packing::zstd::block(packed, most) {
        return unpacked.or_else(|error| bad(format_args!("a chunk cannot be unpacked: {error}")));
    }
    read(Packing::Zstd.unpacked(packed), most)
}

/// All that is unpacked, if it is no more than that.
pub(super) fn read(unpacked: impl Read, most: u64) -> Res<Vec<u8>> {
    let mut out = Vec::new();
    if let Err(error) = unpacked.take(most.saturating_add(1)).read_to_end(&mut out) {
        return bad(format_args!("a chunk cannot be unpacked: {error}"));
    }
    if out.len() as u64 > most {
        return bad(format_args!("a chunk unpacks to more than {most} bytes"));
    }
    Ok(out)
}

fn transposed(before: &[usize], settings: Option<&Map<String, Value>>) -> Res<Vec<usize>> {
    let order = settings.and_then(|s| s.get("order")).and_then(super::store::sizes).unwrap_or_default();
    let mut seen = vec![false; before.len()];
    let mut out = Vec::with_capacity(before.len());
    for &axis in &order {
        let axis = usize::try_from(axis).unwrap_or(usize::MAX);
        match (before.get(axis), seen.get_mut(axis)) {
            (Some(&whose), Some(slot)) if !*slot => {
                *slot = true;
                out.push(whose);
            }
            _ => break,
        }
    }
    if out.len() != before.len() || order.len() != before.len() {
        return bad(format_args!(
            "the codec \"transpose\" has the order {order:?}, which is none of {} axes",
            before.len()
        ));
    }
    Ok(out)
}

/// Whether bytes go from the most to the least significant; elements of one byte need not say.
fn endian(settings: Option<&Map<String, Value>>, dtype: DType) -> Res<bool> {
    match settings.and_then(|s| s.get("endian")).and_then(Value::as_str) {
        Some("little") => Ok(false),
        Some("big") => Ok(true),
        None if dtype.size() == 1 => Ok(false),
        other => bad(format_args!("the codec \"bytes\" with the order of bytes {other:?}; little and big are known")),
    }
}
