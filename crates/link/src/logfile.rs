//! Reads a packet log that is complete, or that ends where the router was killed.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde_json::Value;

use crate::log::MAGIC;
use crate::record::{Layout, Record};
use longlook_support::failure::Failure;

/// How logs of version 1 begin: they lack fields, which are then 0.
const OLD_MAGIC: &[u8; 8] = b"LLLINK1\n";
const PREFIX_BYTES: usize = 12;
const MAX_RECORD_BYTES: usize = 4096;

/// An open log.
pub struct LogFile {
    pub header: Value,
    /// Added to a time of the records, it gives nanoseconds since 1970.
    pub unix_minus_monotonic_ns: i64,
    /// Names of the verdicts, by code.
    pub verdicts: HashMap<u8, String>,
    pub count: u64,
    /// Length of a last record that was cut off.
    pub truncated_bytes: u64,
    file: File,
    layout: Layout,
    records_offset: u64,
}

impl LogFile {
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let unreadable = |error: std::io::Error| match error.kind() {
            ErrorKind::UnexpectedEof => Failure::usage(format!("{shown} is cut off inside its header")),
            _ => Failure::usage(format!("{shown} cannot be read: {error}")),
        };
        let mut file = File::open(path).map_err(unreadable)?;
        let total_bytes = file.metadata().map_err(unreadable)?.len();
        let mut prefix = [0; PREFIX_BYTES];
        file.read_exact(&mut prefix).map_err(unreadable)?;
        if ![MAGIC, OLD_MAGIC].iter().any(|magic| prefix.starts_with(*magic)) {
            return Err(Failure::usage(format!("{shown} is not a packet log of longlook-link")));
        }
        let header_bytes = u32::from_le_bytes([prefix[8], prefix[9], prefix[10], prefix[11]]);
        let records_offset = PREFIX_BYTES as u64 + u64::from(header_bytes);
        if records_offset > total_bytes {
            return Err(Failure::usage(format!("{shown} is cut off inside its header")));
        }
        let mut text = vec![0; header_bytes as usize];
        file.read_exact(&mut text).map_err(unreadable)?;
        let damaged = |what: &str| Failure::usage(format!("{shown} has a damaged header: {what}"));
        let header: Value = serde_json::from_slice(&text).map_err(|error| damaged(&error.to_string()))?;
        let layout = Layout::of_header(&header)
            .filter(|layout| layout.record_bytes <= MAX_RECORD_BYTES)
            .ok_or_else(|| damaged("its list of fields"))?;
        let moment = |name: &str| header["clock"][name].as_i64().ok_or_else(|| damaged("its clock"));
        let unix_minus_monotonic_ns = moment("unix_ns")?.saturating_sub(moment("monotonic_ns")?);
        let names = header["verdicts"].as_object().ok_or_else(|| damaged("its verdicts"))?;
        let verdicts = names.iter().map(|(name, code)| Some((u8::try_from(code.as_u64()?).ok()?, name.clone())));
        let verdicts = verdicts.collect::<Option<_>>().ok_or_else(|| damaged("its verdicts"))?;
        let record_bytes = layout.record_bytes as u64;
        let body_bytes = total_bytes - records_offset;
        Ok(Self {
            unix_minus_monotonic_ns,
            verdicts,
            count: body_bytes / record_bytes,
            truncated_bytes: body_bytes % record_bytes,
            header,
            file,
            layout,
            records_offset,
        })
    }

    /// Calls `each` with the number of every record and the record, in the order of the file.
    pub fn for_each(&mut self, mut each: impl FnMut(u64, &Record)) -> std::io::Result<()> {
        let mut reader = BufReader::with_capacity(1 << 20, &self.file);
        std::io::Seek::seek(&mut reader, std::io::SeekFrom::Start(self.records_offset))?;
        let mut bytes = vec![0; self.layout.record_bytes];
        for index in 0..self.count {
            reader.read_exact(&mut bytes)?;
            each(index, &Record::read(&bytes, &self.layout));
        }
        Ok(())
    }

    /// One record.
    pub fn read(&self, index: u64) -> std::io::Result<Record> {
        let mut bytes = [0; MAX_RECORD_BYTES];
        let bytes = &mut bytes[..self.layout.record_bytes];
        self.file.read_exact_at(bytes, self.records_offset + index * self.layout.record_bytes as u64)?;
        Ok(Record::read(bytes, &self.layout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(content: &[u8]) -> String {
        let name = format!("longlook-link-logfile-{}-{:?}", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, content).expect("it can be written");
        let failure = LogFile::open(&path).err();
        std::fs::remove_file(&path).expect("it can go");
        failure.map(|failure| failure.reason).unwrap_or_default()
    }

    fn log(header: &str) -> Vec<u8> {
        [&MAGIC[..], &(header.len() as u32).to_le_bytes(), header.as_bytes()].concat()
    }

    #[test]
    fn foreign_and_damaged_files_are_refused() {
        assert!(error(b"").contains("cut off"));
        assert!(error(b"something else entirely").contains("not a packet log"));
        assert!(error(&log("{}")[..13]).contains("cut off"));
        assert!(error(&log("{]")).contains("damaged header"));
        assert!(error(&log("{}")).contains("list of fields"));
        let endless = log(r#"{"record_bytes": 99999999, "fields": []}"#);
        assert!(error(&endless).contains("list of fields"));
        assert!(error(&log(r#"{"record_bytes": 8, "fields": []}"#)).contains("clock"));
        let clock = r#""clock": {"unix_ns": 2, "monotonic_ns": 1}"#;
        assert!(error(&log(&format!(r#"{{"record_bytes": 8, "fields": [], {clock}}}"#))).contains("verdicts"));
        let negative = format!(r#"{{"record_bytes": 8, "fields": [], {clock}, "verdicts": {{"x": -1}}}}"#);
        assert!(error(&log(&negative)).contains("verdicts"));
    }
}
