//! The bytes of a trace, unpacked, in a buffer that grows no longer than the longest event that is read.

use std::io::{self, Read};
use std::path::Path;

use longlook_support::failure::Failure;

use crate::packing;

const CHUNK_BYTES: usize = 1 << 18;

/// An event longer than this is skipped.
pub const LONGEST_BYTES: usize = 16 << 20;

/// The bytes of a trace.
pub struct Input {
    reader: Box<dyn Read>,
    buffer: Vec<u8>,
    start: usize,
    offset: u64,
    line: u64,
    ended: bool,
    cut: Option<String>,
    limit_bytes: u64,
}

impl Input {
    /// Reads a file, which may be packed with gzip or zstd.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        Ok(Self::new(packing::open(path)?))
    }

    /// Reads from a reader, which is not packed.
    pub fn new(reader: impl Read + 'static) -> Self {
        Self {
            reader: Box::new(reader),
            buffer: Vec::new(),
            start: 0,
            offset: 0,
            line: 1,
            ended: false,
            cut: None,
            limit_bytes: u64::MAX,
        }
    }

    /// The same, of which at most this many bytes are read.
    #[must_use]
    pub fn limited(self, limit_bytes: u64) -> Self {
        Self { limit_bytes, ..self }
    }

    /// Returns the bytes of the buffer that are not consumed.
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Where the pending bytes begin: (line from 1, bytes before it).
    #[must_use]
    pub fn place(&self) -> (u64, u64) {
        (self.line, self.offset)
    }

    /// Whether nothing follows the pending bytes.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Why the file ended early, if a layer below reports it.
    #[must_use]
    pub fn cut(&self) -> Option<&str> {
        self.cut.as_deref()
    }

    /// Is done with the first `count` pending bytes.
    pub fn consume(&mut self, count: usize) {
        let count = count.min(self.buffer.len() - self.start);
        self.line += memchr::memchr_iter(b'\n', &self.buffer[self.start..self.start + count]).count() as u64;
        self.start += count;
        self.offset += count as u64;
    }

    /// Adds to the pending bytes; false when there is nothing more.
    pub fn more(&mut self) -> bool {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        let filled = self.buffer.len();
        self.buffer.resize(filled + CHUNK_BYTES.max(filled), 0);
        let mut end = filled;
        while !self.ended && end < self.buffer.len() {
            match self.reader.read(&mut self.buffer[end..]) {
                Ok(0) => self.ended = true,
                Ok(count) => end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.ended = true;
                    self.cut = Some(error.to_string());
                }
            }
        }
        self.buffer.truncate(end);
        let most = self.limit_bytes - self.offset;
        if most < self.buffer.len() as u64 {
            self.buffer.truncate(most as usize);
            self.ended = true;
            self.cut = Some(format!("the limit of {} bytes is reached", self.limit_bytes));
        }
        self.buffer.len() > filled
    }

    /// Passes over white space and marks between records; the next byte, or `None` at the end.
    pub fn skip_space(&mut self) -> Option<u8> {
        loop {
            let pending = self.pending();
            let space = pending.iter().take_while(|byte| is_between(**byte)).count();
            let next = pending.get(space).copied();
            self.consume(space);
            if next.is_some() || !self.more() {
                return next;
            }
        }
    }
}

/// White space, or the mark that begins a record of a JSON text sequence (RFC 7464).
#[must_use]
pub fn is_between(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | RECORD_MARK)
}

/// Begins a record of a JSON text sequence.
pub const RECORD_MARK: u8 = 0x1e;
