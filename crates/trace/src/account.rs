//! The account of a trace: its origin, and how much of it was read. It becomes the metadata of the table.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::event::Event;

/// Version of the table and of this account.
pub const SCHEMA_VERSION: u32 = 1;

const MOST_WARNINGS: usize = 20;
const MOST_NAMES: usize = 1000;
const LONGEST_NAME: usize = 100;
const LONGEST_ID_BYTES: usize = 255;

/// An id or an address of a connection, unless it is longer than any real one: a file has many connections, and each
/// keeps its own in memory.
#[must_use]
pub fn id(text: &str) -> Option<String> {
    (text.len() <= LONGEST_ID_BYTES).then(|| text.to_owned())
}

/// Where something in a file was odd.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Line, counted from 1.
    pub line: u64,
    /// Bytes before it, in the file as it is when unpacked.
    pub offset: u64,
    /// The problem.
    pub problem: String,
}

/// What was read of a trace disagrees with the rest of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Contradiction {
    /// Which of the checks of [`crate::plausible`] shows it.
    pub check: &'static str,
    /// The connection.
    pub connection: u32,
    /// Its path, if the trace names paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<i64>,
    /// In words.
    pub problem: String,
}

/// One connection of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Connection {
    /// Original destination connection id or the group's, in hexadecimal.
    pub connection_id: Option<String>,
    /// `ip:port`.
    pub client: Option<String>,
    /// `ip:port`.
    pub server: Option<String>,
    /// Time of its first row.
    pub first_ns: Option<i64>,
    /// Time of its last row.
    pub last_ns: Option<i64>,
    /// How many rows it has.
    pub rows: u64,
    /// `TCP` or `QUIC`, of a capture, which may have both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<&'static str>,
    /// Where it was seen, of a capture: that differs between its connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vantage: Option<&'static str>,
    /// What its reader has to know of it, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The paths that its rows name, if the trace names any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<i64>,
}

/// The origin of a trace, and how much of it was read.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "docs/reference/traces.md has the fields")]
pub struct Account {
    pub schema_version: u32,
    pub format: &'static str,
    pub container: &'static str,
    pub schema: Option<String>,
    pub producer: Option<String>,
    pub vantage: String,
    pub reference_unix_ns: Option<i64>,
    pub clock: &'static str,
    pub connections: Vec<Connection>,
    pub read: u64,
    pub ignored: BTreeMap<String, u64>,
    pub skipped: BTreeMap<String, u64>,
    pub frames_ignored: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub implausible: Vec<Contradiction>,
    pub warnings: Vec<Warning>,
    pub truncated: bool,
    pub unordered: u64,
    pub duplicate_times: u64,
    pub bytes: u64,
    #[serde(skip)]
    last_ns: Option<i64>,
}

impl Account {
    /// Returns the account of a trace of which nothing has been read yet.
    #[must_use]
    pub fn new(format: &'static str, container: &'static str) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            format,
            container,
            schema: None,
            producer: None,
            vantage: "unknown".into(),
            reference_unix_ns: None,
            clock: "unknown",
            connections: Vec::new(),
            read: 0,
            ignored: BTreeMap::new(),
            skipped: BTreeMap::new(),
            frames_ignored: BTreeMap::new(),
            implausible: Vec::new(),
            warnings: Vec::new(),
            truncated: false,
            unordered: 0,
            duplicate_times: 0,
            bytes: 0,
            last_ns: None,
        }
    }

    /// An event was read; its time is compared with that of the one before it in the file.
    pub fn count_read(&mut self, time_ns: i64) {
        self.read += 1;
        if let Some(last_ns) = self.last_ns.replace(time_ns) {
            self.unordered += u64::from(time_ns < last_ns);
            self.duplicate_times += u64::from(time_ns == last_ns);
        }
    }

    /// A valid event that is none of ours.
    pub fn count_ignored(&mut self, name: &str) {
        count(&mut self.ignored, name);
    }

    /// A frame of a packet that gives no row.
    pub fn count_frame_ignored(&mut self, kind: &str) {
        count(&mut self.frames_ignored, kind);
    }

    /// Something in the file cannot be used: it is counted by its reason and has a warning, as none may go unseen.
    pub fn skip(&mut self, reason: &str, line: u64, offset: u64, problem: impl Into<String>) {
        count(&mut self.skipped, reason);
        self.warn(line, offset, problem);
    }

    /// Something odd; the first few are kept.
    pub fn warn(&mut self, line: u64, offset: u64, problem: impl Into<String>) {
        if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push(Warning { line, offset, problem: problem.into() });
        }
    }

    /// A row of the table belongs to one of the connections.
    pub fn count_row(&mut self, event: &Event) {
        let index = event.connection as usize;
        if self.connections.len() <= index {
            self.connections.resize_with(index + 1, Connection::default);
        }
        let connection = &mut self.connections[index];
        connection.rows += 1;
        connection.first_ns = Some(connection.first_ns.map_or(event.time_ns, |first| first.min(event.time_ns)));
        connection.last_ns = Some(connection.last_ns.map_or(event.time_ns, |last| last.max(event.time_ns)));
    }
}

/// Names come from the file: long ones are cut, and beyond the most there are, all count as one.
fn count(counts: &mut BTreeMap<String, u64>, name: &str) {
    if let Some(count) = counts.get_mut(name) {
        *count += 1;
        return;
    }
    let cut: String = name.chars().take(LONGEST_NAME).collect();
    let known = counts.len() < MOST_NAMES || counts.contains_key(&cut);
    *counts.entry(if known { cut } else { "(other)".into() }).or_default() += 1;
}
