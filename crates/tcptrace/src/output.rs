//! The file that a recording goes to: records are put in order of time and written in pieces.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use longlook_support::failure::Failure;

use crate::file::{Header, Record, opening};

const PIECE_BYTES: usize = 1 << 16;
const KEPT_NS: u64 = 500_000_000;

/// An open file. Records may come a little out of order; `settle` writes those that nothing can come before any more.
pub struct Output {
    file: File,
    name: String,
    waiting: Vec<(u64, Vec<u8>)>,
    ready: Vec<u8>,
    written_ns: u64,
    /// Records taken so far.
    pub records: u64,
}

impl Output {
    /// Creates it and writes its beginning.
    pub fn create(path: &Path, header: &Header) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let mut file =
            File::create(path).map_err(|error| Failure::usage(format!("{name} cannot be written: {error}")))?;
        let begun = file.write_all(&opening(header));
        begun.map_err(|error| Failure::new(format!("{name} cannot be written: {error}")))?;
        let written_ns = header.monotonic_ns;
        Ok(Self { file, name, waiting: Vec::new(), ready: Vec::new(), written_ns, records: 0 })
    }

    /// Takes a record.
    pub fn take(&mut self, time_ns: u64, record: &Record) {
        let mut bytes = Vec::with_capacity(256);
        record.write(&mut bytes);
        self.waiting.push((time_ns, bytes));
        self.records += 1;
    }

    /// Nothing older than `until_ns` will come: puts it in order, and writes when there is enough or it is time.
    pub fn settle(&mut self, until_ns: u64) -> Result<(), Failure> {
        self.waiting.sort_by_key(|(time_ns, _)| *time_ns);
        let settled = self.waiting.partition_point(|(time_ns, _)| *time_ns < until_ns);
        for (_, bytes) in self.waiting.drain(..settled) {
            self.ready.extend(bytes);
        }
        if self.ready.len() < PIECE_BYTES && until_ns < self.written_ns + KEPT_NS {
            return Ok(());
        }
        self.written_ns = until_ns;
        self.write()
    }

    /// Writes everything, and the last record.
    pub fn end(&mut self, summary: &serde_json::Value) -> Result<(), Failure> {
        self.settle(u64::MAX)?;
        Record::End { json: summary.to_string().as_bytes() }.write(&mut self.ready);
        self.write()
    }

    fn write(&mut self) -> Result<(), Failure> {
        let done = self.file.write_all(&self.ready);
        self.ready.clear();
        done.map_err(|error| Failure::new(format!("{} cannot be written: {error}", self.name)))
    }
}
