//! The file of a recording: a line that names it, a header in JSON, and records, each with its length before it.
//!
//! `LLTCP1\n`, u32 length and JSON of the [`Header`], then records: u8 kind, u32 length, payload; all numbers in the
//! byte order of the machine, which is little-endian wherever this runs. Records stand in order of time. A file that
//! was cut off anywhere is good up to its last whole record.

use std::collections::BTreeMap;
use std::io::{self, Read};

use serde::{Deserialize, Serialize};

/// The first bytes.
pub const MAGIC: &[u8; 7] = b"LLTCP1\n";

const EVENT: u8 = 1;
const SAMPLE: u8 = 2;
const GONE: u8 = 3;
const LOST: u8 = 4;
const END: u8 = 5;
const LONGEST_BYTES: usize = 1 << 20;

/// Everything that a reader needs to understand the records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// 1.
    pub schema_version: u32,
    /// `client` or `server`: whose sockets these are.
    pub vantage: String,
    /// The server's port; only connections with it are recorded.
    pub port: u16,
    /// The kernel's release.
    pub kernel: String,
    /// `CLOCK_MONOTONIC`, the clock of all records, at one moment …
    pub monotonic_ns: u64,
    /// … and nanoseconds since 1970 at the same one.
    pub unix_ns: u64,
    /// Between two samples of a socket.
    pub period_ns: u64,
    /// Name of each recorded tracepoint, e.g. `tcp_probe` → the kernel's own description of its fields.
    pub tracepoints: BTreeMap<String, String>,
    /// Whether sockets were sampled.
    pub sock_diag: bool,
    /// The sources that could not be recorded.
    pub unavailable: Vec<Unavailable>,
}

/// A source that this machine, or this user, does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unavailable {
    /// `tracepoints`, `tracepoint NAME` or `sock_diag`.
    pub what: String,
    /// The reason, for people.
    pub why: String,
}

/// One entry of the file. Times are on the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record<'a> {
    /// A tracepoint fired. `since_ns`: of `tcp_probe` the time of the socket's probe before this one, also of one that
    /// was left out because it had nothing new; 0 where there was none. `raw` has the fields as the kernel laid them.
    Event {
        /// When.
        time_ns: u64,
        /// See above.
        since_ns: u64,
        /// `struct trace_entry` and what follows.
        raw: &'a [u8],
    },
    /// A socket's state as asked for: `struct inet_diag_msg` and its attributes.
    Sample {
        /// When it was asked.
        time_ns: u64,
        /// The answer.
        socket: &'a [u8],
    },
    /// The last state of a socket that the kernel has just destroyed, in the same form.
    Gone {
        /// When that was heard of.
        time_ns: u64,
        /// The kernel's message.
        socket: &'a [u8],
    },
    /// Events that were overwritten before they could be read.
    Lost {
        /// When that was noticed.
        time_ns: u64,
        /// Whose buffer.
        cpu: u32,
        /// How many, 0 if the kernel does not report it.
        events: u64,
    },
    /// The recorder ended by itself: counts in JSON. A file without it was cut off.
    End {
        /// The text.
        json: &'a [u8],
    },
}

/// The beginning of a file.
///
/// # Panics
/// Never: a header of plain fields is JSON.
#[must_use]
pub fn opening(header: &Header) -> Vec<u8> {
    let json = serde_json::to_vec(header).expect("a header of plain fields is JSON");
    let mut bytes = MAGIC.to_vec();
    bytes.extend((json.len() as u32).to_ne_bytes());
    bytes.extend(json);
    bytes
}

impl Record<'_> {
    /// Appends the record.
    pub fn write(&self, to: &mut Vec<u8>) {
        match self {
            Self::Event { time_ns, since_ns, raw } => {
                frame(to, EVENT, &[&time_ns.to_ne_bytes(), &since_ns.to_ne_bytes(), raw]);
            }
            Self::Sample { time_ns, socket } => frame(to, SAMPLE, &[&time_ns.to_ne_bytes(), socket]),
            Self::Gone { time_ns, socket } => frame(to, GONE, &[&time_ns.to_ne_bytes(), socket]),
            Self::Lost { time_ns, cpu, events } => {
                frame(to, LOST, &[&time_ns.to_ne_bytes(), &cpu.to_ne_bytes(), &events.to_ne_bytes()]);
            }
            Self::End { json } => frame(to, END, &[json]),
        }
    }
}

fn frame(to: &mut Vec<u8>, kind: u8, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    to.push(kind);
    to.extend((length as u32).to_ne_bytes());
    for part in parts {
        to.extend_from_slice(part);
    }
}

/// Why a file, or the rest of one, cannot be read.
#[derive(Debug)]
pub enum Damage {
    /// The system's word.
    Io(io::Error),
    /// It is none of ours, or its header is not.
    Header(String),
    /// A record is none; its place in bytes from the beginning.
    Record {
        /// The place of the record's first byte.
        offset: u64,
        /// The problem.
        problem: String,
    },
}

/// Reads a file from its beginning.
pub struct Reader<R> {
    source: R,
    /// The header of the file.
    pub header: Header,
    /// Bytes read so far, whole records only.
    pub offset: u64,
    /// Whether the file ended in the middle of a record.
    pub cut: bool,
    payload: Vec<u8>,
}

impl<R: Read> Reader<R> {
    /// Reads the header.
    pub fn open(mut source: R) -> Result<Self, Damage> {
        let mut start = [0; MAGIC.len() + 4];
        let wrong = |problem: &str| Damage::Header(problem.into());
        if read_fully(&mut source, &mut start)? < start.len() || &start[..MAGIC.len()] != MAGIC {
            return Err(wrong("it does not begin as a recording of the kernel's TCP does"));
        }
        let length = number_u32(&start[MAGIC.len()..]) as usize;
        if length > LONGEST_BYTES {
            return Err(wrong("its header is too long to be one"));
        }
        let mut json = vec![0; length];
        if read_fully(&mut source, &mut json)? < length {
            return Err(wrong("it was cut off in its header"));
        }
        let header: Header = serde_json::from_slice(&json).map_err(|error| Damage::Header(error.to_string()))?;
        Ok(Self { source, header, offset: (start.len() + length) as u64, cut: false, payload: Vec::new() })
    }

    /// The next record; None at the end, or where the file was cut (`cut`).
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, Damage> {
        let mut start = [0; 5];
        let got = read_fully(&mut self.source, &mut start)?;
        if got < start.len() {
            self.cut = got > 0;
            return Ok(None);
        }
        let length = number_u32(&start[1..]) as usize;
        let offset = self.offset;
        let wrong = |problem: String| Damage::Record { offset, problem };
        if length > LONGEST_BYTES {
            return Err(wrong(format!("a record of {length} bytes")));
        }
        self.payload.resize(length, 0);
        if read_fully(&mut self.source, &mut self.payload)? < length {
            self.cut = true;
            return Ok(None);
        }
        self.offset += (start.len() + length) as u64;
        parse(start[0], &self.payload).map(Some).map_err(wrong)
    }
}

fn parse(kind: u8, payload: &[u8]) -> Result<Record<'_>, String> {
    if kind == END {
        return Ok(Record::End { json: payload });
    }
    let (time, rest) = payload.split_at_checked(8).ok_or("a record without a time")?;
    let time_ns = number_u64(time);
    match kind {
        EVENT => {
            let (since, raw) = rest.split_at_checked(8).ok_or("an event without its predecessor's time")?;
            Ok(Record::Event { time_ns, since_ns: number_u64(since), raw })
        }
        SAMPLE => Ok(Record::Sample { time_ns, socket: rest }),
        GONE => Ok(Record::Gone { time_ns, socket: rest }),
        LOST if rest.len() == 12 => Ok(Record::Lost { time_ns, cpu: number_u32(rest), events: number_u64(&rest[4..]) }),
        other => Err(format!("a record of the unknown kind {other}, or of a wrong length")),
    }
}

fn number_u32(bytes: &[u8]) -> u32 {
    u32::from_ne_bytes(bytes[..4].try_into().expect("four bytes"))
}

fn number_u64(bytes: &[u8]) -> u64 {
    u64::from_ne_bytes(bytes[..8].try_into().expect("eight bytes"))
}

/// Reads until the buffer is full or the source ends; how much it was.
fn read_fully(source: &mut impl Read, buffer: &mut [u8]) -> Result<usize, Damage> {
    let mut got = 0;
    while got < buffer.len() {
        match source.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(count) => got += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Damage::Io(error)),
        }
    }
    Ok(got)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            schema_version: 1,
            vantage: "server".into(),
            port: 443,
            kernel: "7.2".into(),
            monotonic_ns: 5,
            unix_ns: 1_700_000_000_000_000_005,
            period_ns: 10_000_000,
            tracepoints: BTreeMap::from([("tcp_probe".into(), "name: tcp_probe".into())]),
            sock_diag: true,
            unavailable: vec![],
        }
    }

    const RECORDS: [Record<'static>; 5] = [
        Record::Event { time_ns: 1, since_ns: 0, raw: b"fields" },
        Record::Sample { time_ns: 2, socket: b"socket" },
        Record::Lost { time_ns: 3, cpu: 1, events: 9 },
        Record::Gone { time_ns: 4, socket: b"last" },
        Record::End { json: b"{}" },
    ];

    fn file() -> Vec<u8> {
        let mut bytes = opening(&header());
        for record in &RECORDS {
            record.write(&mut bytes);
        }
        bytes
    }

    #[test]
    fn what_was_written_is_read() {
        let bytes = file();
        let mut reader = Reader::open(bytes.as_slice()).unwrap();
        assert_eq!(reader.header, header());
        for record in RECORDS {
            assert_eq!(reader.next_record().unwrap(), Some(record));
        }
        assert_eq!(reader.next_record().unwrap(), None);
        assert!(!reader.cut);
        assert_eq!(reader.offset, bytes.len() as u64);
    }

    #[test]
    fn a_file_cut_anywhere_gives_its_whole_records() {
        let bytes = file();
        let start = opening(&header()).len();
        let mut most = 0;
        for end in 0..bytes.len() {
            let opened = Reader::open(&bytes[..end]);
            let Ok(mut reader) = opened else {
                assert!(end < start);
                continue;
            };
            let mut found = 0;
            while let Some(record) = reader.next_record().unwrap() {
                assert_eq!(record, RECORDS[found]);
                found += 1;
            }
            assert!(found >= most && found < RECORDS.len());
            assert_eq!(reader.cut, reader.offset < end as u64);
            most = found;
        }
        assert_eq!(most, RECORDS.len() - 1);
    }

    #[test]
    fn damage_names_its_place() {
        let mut bytes = opening(&header());
        let place = bytes.len() as u64;
        frame(&mut bytes, 77, &[b"12345678"]);
        let mut reader = Reader::open(bytes.as_slice()).unwrap();
        assert!(matches!(reader.next_record(), Err(Damage::Record { offset, .. }) if offset == place));
    }
}
