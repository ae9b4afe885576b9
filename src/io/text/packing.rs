//! Compressed text: what its first bytes tell, and how it is unpacked.

#[cfg(not(feature = "codecs"))]
use std::io;
#[cfg(feature = "codecs")]
use std::io::BufReader;
use std::io::Read;

use flate2::read::MultiGzDecoder;
#[cfg(feature = "codecs")]
use zrip_decode::streaming::FrameDecoder;

/// How a text is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::io) enum Packing {
    Gzip,
    Bzip2,
    Zstd,
}

impl Packing {
    /// How many first bytes tell.
    pub(in crate::io) const START: usize = 4;

    /// What a text that begins so is compressed by.
    pub(in crate::io) fn of(start: &[u8]) -> Option<Packing> {
        match start {
            [0x1f, 0x8b, ..] => Some(Packing::Gzip),
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some(Packing::Bzip2),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Packing::Zstd),
            _ => None,
        }
    }

    pub(in crate::io) fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Bzip2 => "bzip2",
            Packing::Zstd => "zstd",
        }
    }

    /// What the bytes unpack to, several streams one after the other as well.
    pub(in crate::io) fn unpacked<'a>(self, packed: impl Read + 'a) -> Box<dyn Read + 'a> {
        match self {
            Packing::Gzip => Box::new(MultiGzDecoder::new(packed)),
            #[cfg(feature = "codecs")]
            Packing::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(packed)),
            #[cfg(feature = "codecs")]
            // A frame that asks for a window of more than 128 MiB is refused by the decoder.
            Packing::Zstd => Box::new(FrameDecoder::new(BufReader::new(packed))),
            #[cfg(not(feature = "codecs"))]
            Packing::Bzip2 | Packing::Zstd => Box::new(Unknown(self.name())),
        }
    }
}

/// What a build without the feature can say.
#[cfg(not(feature = "codecs"))]
struct Unknown(&'static str);

#[cfg(not(feature = "codecs"))]
impl Read for Unknown {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        let why = format!("what is compressed by {} is read by builds with the feature `codecs`", self.0);
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }
}

#[cfg(feature = "codecs")]
pub(in crate::io) mod zstd {
    use std::cell::RefCell;
    use std::io;

    /// Bytes of blocks that are unpacked into one piece of memory, by a decoder that is kept.
    const AT_ONCE: usize = 16 << 20;

    /// All that the bytes unpack to, if it is no more than so many bytes, and these are few enough to be unpacked at once. By the
    /// library in C.
    #[cfg(feature = "zstd")]
    pub(in crate::io) fn block(packed: &[u8], most: u64) -> Option<io::Result<Vec<u8>>> {
        thread_local! {
            static DECODER: RefCell<Option<::zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
        }
        let most = usize::try_from(most).ok().filter(|&most| most <= AT_ONCE)?;
        let mut out = vec![0; most];
        let unpacked = DECODER.with(|kept| {
            let mut kept = kept.try_borrow_mut().map_err(io::Error::other)?;
            let decoder = match &mut *kept {
                Some(decoder) => decoder,
                none => none.insert(::zstd::bulk::Decompressor::new()?),
            };
            decoder.decompress_to_buffer(packed, &mut out[..])
        });
        Some(unpacked.map(|len| {
            out.truncate(len);
            out
        }))
    }

    /// All that the bytes unpack to, if it is no more than so many bytes, and these are few enough to be unpacked at once.
    #[cfg(not(feature = "zstd"))]
    pub(in crate::io) fn block(packed: &[u8], most: u64) -> Option<io::Result<Vec<u8>>> {
        use zrip_decode::context::DecompressContext;
        thread_local! {
            static DECODER: RefCell<Option<DecompressContext>> = const { RefCell::new(None) };
        }
        let most = usize::try_from(most).ok().filter(|&most| most <= AT_ONCE)?;
        let mut out = Vec::new();
        let unpacked = DECODER.with(|kept| {
            let mut kept = kept.try_borrow_mut().map_err(io::Error::other)?;
            // What a damaged block left in a decoder is of no use: it is put back only after a good one.
            let mut decoder = kept.take().unwrap_or_default();
            let unpacked = decoder.decompress_into_with_limit(packed, &mut out, most);
            unpacked.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            *kept = Some(decoder);
            Ok(())
        });
        Some(unpacked.map(|()| out))
    }
}
