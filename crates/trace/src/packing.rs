//! Files as they are when unpacked: gzip and zstd, recognised by how they begin.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use longlook_support::failure::Failure;
use zstd::stream::read::Decoder as ZstdDecoder;

const MAGIC_BYTES: u64 = 4;
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// A zstd file may begin with a frame that is to be skipped; its first byte has one of 16 values.
const ZSTD_SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];

/// A file that is packed unpacks to at most so many times its length, and to so much in any case.
const MOST_RATIO: u64 = 1000;
const ALWAYS_UNPACKED_BYTES: u64 = 1 << 30;

/// The unpacked content of a file, or the content itself if it is not packed.
pub fn open(path: &Path) -> Result<Box<dyn Read>, Failure> {
    let refuse = |error: io::Error| {
        Failure::usage(format!("{} cannot be read: {error}", path.display())).hint("name a trace that can be read")
    };
    let file = File::open(path).map_err(refuse)?;
    let state = file.metadata().map_err(refuse)?;
    if state.is_dir() {
        return Err(Failure::usage(format!("{} is a folder", path.display())).hint("name one trace in it"));
    }
    unpacked(file, most_bytes(state.len())).map_err(refuse)
}

/// How much a packed file of this length may unpack to.
fn most_bytes(packed_bytes: u64) -> u64 {
    packed_bytes.saturating_mul(MOST_RATIO).max(ALWAYS_UNPACKED_BYTES)
}

/// The same of a reader; it is an error of the result if that unpacks to more than `most_bytes`.
pub fn unpacked(mut reader: impl Read + 'static, most_bytes: u64) -> io::Result<Box<dyn Read>> {
    let mut magic = Vec::new();
    reader.by_ref().take(MAGIC_BYTES).read_to_end(&mut magic)?;
    let is_gzip = magic.starts_with(&GZIP);
    let is_zstd = magic == ZSTD || matches!(magic[..], [0x50..=0x5f, ref rest @ ..] if *rest == ZSTD_SKIPPABLE);
    let whole = Cursor::new(magic).chain(reader);
    Ok(if is_gzip {
        Box::new(Bounded { reader: MultiGzDecoder::new(whole), left_bytes: most_bytes, most_bytes })
    } else if is_zstd {
        Box::new(Bounded { reader: ZstdDecoder::new(whole)?, left_bytes: most_bytes, most_bytes })
    } else {
        Box::new(whole)
    })
}

/// A reader that fails behind so many bytes.
struct Bounded<R> {
    reader: R,
    left_bytes: u64,
    most_bytes: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left_bytes == 0 && !buffer.is_empty() {
            return match self.reader.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(io::Error::other(format!(
                    "it unpacks to more than {} bytes, which no real trace of its length does",
                    self.most_bytes
                ))),
            };
        }
        let room = usize::try_from(self.left_bytes).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.reader.read(&mut buffer[..room])?;
        self.left_bytes -= count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut packed = Vec::new();
        let mut encoder = flate2::read::GzEncoder::new(data, flate2::Compression::fast());
        encoder.read_to_end(&mut packed).unwrap();
        packed
    }

    fn zstd(data: &[u8]) -> Vec<u8> {
        zstd::encode_all(data, 3).unwrap()
    }

    fn read(packed: Vec<u8>, most_bytes: u64) -> io::Result<Vec<u8>> {
        let mut data = Vec::new();
        unpacked(Cursor::new(packed), most_bytes)?.read_to_end(&mut data)?;
        Ok(data)
    }

    #[test]
    fn content_says_how_a_file_is_packed() {
        let skipped = [&[0x5a, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7][..], &zstd(b"text")].concat();
        for packed in [b"text".to_vec(), gzip(b"text"), zstd(b"text"), skipped] {
            assert_eq!(read(packed, 1 << 20).unwrap(), b"text");
        }
        for short in [&b""[..], b"a", b"{}"] {
            assert_eq!(read(short.to_vec(), 1 << 20).unwrap(), short);
        }
    }

    #[test]
    fn several_members_and_frames_are_one_file() {
        for pack in [gzip, zstd] {
            assert_eq!(read([pack(b"one "), pack(b"two")].concat(), 1 << 20).unwrap(), b"one two");
        }
    }

    #[test]
    fn a_bomb_ends_at_its_bound() {
        let zeros = vec![0; 1 << 20];
        for pack in [gzip, zstd] {
            assert_eq!(read(pack(&zeros), 1 << 20).unwrap(), zeros);
            let error = read(pack(&zeros), (1 << 20) - 1).unwrap_err();
            assert!(error.to_string().contains("unpacks to more than 1048575 bytes"));
        }
        assert_eq!(read(zeros.clone(), 10).unwrap(), zeros);
    }

    #[test]
    fn the_bound_grows_with_the_file() {
        assert_eq!(most_bytes(1), ALWAYS_UNPACKED_BYTES);
        assert_eq!(most_bytes(1 << 24), 1000 << 24);
        assert_eq!(most_bytes(u64::MAX), u64::MAX);
    }

    #[test]
    fn what_is_cut_is_an_error() {
        for pack in [gzip, zstd] {
            let packed = pack(b"some text that is long enough");
            assert!(read(packed[..packed.len() - 6].to_vec(), 1 << 20).is_err());
        }
    }
}
