//! The events of a netlog's requests, as lines of JSON, from which others make an HTTP Archive.
//!
//! The first line has the log's own constants: `reference_unix_ns`, and its errors' numbers by name. Each further one is an
//! event of a request: `request` (the source's number), `time_ns`, `name`, `phase` (1 begin, 2 end), `params`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

/// The events that say what was asked for, how, and what came.
const NAMES: [&str; 14] = [
    "CANCELLED",
    "FAILED",
    "REQUEST_ALIVE",
    "URL_REQUEST_START_JOB",
    "URL_REQUEST_REDIRECTED",
    "URL_REQUEST_FILTERS_SET",
    "URL_REQUEST_JOB_BYTES_READ",
    "URL_REQUEST_JOB_FILTERED_BYTES_READ",
    "HTTP_CACHE_READ_INFO",
    "HTTP_TRANSACTION_SEND_REQUEST",
    "HTTP_TRANSACTION_SEND_REQUEST_HEADERS",
    "HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS",
    "HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS",
    "HTTP_TRANSACTION_READ_RESPONSE_HEADERS",
];

/// Whether an event of this name is one of a request's that is written.
pub fn is_of_request(name: &str) -> bool {
    NAMES.contains(&name)
}

/// The lines of one log.
pub struct Requests {
    file: BufWriter<File>,
}

impl Requests {
    /// Begins the file anew.
    pub fn create(path: &Path, reference_unix_ns: Option<i64>, constants: &Value) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create(path)?);
        let errors = constants.get("netError").cloned().unwrap_or_default();
        writeln!(file, "{}", json!({"reference_unix_ns": reference_unix_ns, "errors": errors}))?;
        Ok(Self { file })
    }

    /// Writes an event; whether its parameters are JSON.
    pub fn write(&mut self, request: i64, time_ns: i64, name: &str, phase: i64, params: &[u8]) -> io::Result<bool> {
        let text: &[u8] = if params.is_empty() { b"{}" } else { params };
        let Ok(params) = serde_json::from_slice::<Value>(text) else { return Ok(false) };
        let line = json!({"request": request, "time_ns": time_ns, "name": name, "phase": phase, "params": params});
        writeln!(self.file, "{line}")?;
        Ok(true)
    }

    /// Completes the file.
    pub fn finish(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
