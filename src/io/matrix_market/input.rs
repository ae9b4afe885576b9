//! Bytes in: from a file, and out of gzip.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::Options;
use super::error::ParseError;

/// The bytes of a file; one byte more than allowed at most, so that the excess is noticed.
pub(super) fn file(path: &Path, options: Options) -> io::Result<Vec<u8>> {
    match options.max_bytes {
        None => std::fs::read(path),
        Some(limit) => {
            let mut bytes = Vec::new();
            File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
            Ok(bytes)
        }
    }
}

/// The text itself: the bytes as they are or, if they start like a gzip stream, decompressed.
pub(super) fn plain_text(bytes: &[u8], options: Options) -> Result<Cow<'_, [u8]>, ParseError> {
    check_size(bytes, options)?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(Cow::Borrowed(bytes));
    }
    // The text grows as it comes out; the size that a stream claims for itself is never believed.
    let limit = options.max_bytes.unwrap_or(u64::MAX).saturating_add(1);
    let mut text = Vec::new();
    if let Err(error) = MultiGzDecoder::new(bytes).take(limit).read_to_end(&mut text) {
        let message = format!(
            "the gzip stream is cut off or damaged after {} bytes of text ({error}); \
             a whole gzip stream or plain text is expected",
            text.len()
        );
        return Err(ParseError::at(&text, text.len(), message));
    }
    check_size(&text, options)?;
    Ok(Cow::Owned(text))
}

fn check_size(bytes: &[u8], options: Options) -> Result<(), ParseError> {
    let Some(limit) = options.max_bytes else {
        return Ok(());
    };
    match usize::try_from(limit) {
        Ok(end) if bytes.len() > end => Err(ParseError::at(
            bytes,
            end,
            format!("the input is larger than the {limit} bytes that the caller allows"),
        )),
        _ => Ok(()),
    }
}
