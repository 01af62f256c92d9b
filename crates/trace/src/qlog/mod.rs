//! qlog events → rows.

pub mod clock;
pub mod header;
pub mod longlook;
pub mod metrics;
pub mod names;
pub mod packet;
pub mod quirks;
pub mod rare;
pub mod record;
pub mod recovery;
pub mod states;
pub mod traffic;

use std::collections::HashMap;

use crate::account;
use crate::decimal::scaled;
use crate::event::{Source, Vantage};
use crate::json::Members;
use crate::json::{self, Bad, Cursor};
use crate::plausible::Misread;
use crate::qlog::clock::Clock;
use crate::qlog::header::Header;
use crate::qlog::metrics::Metrics;
use crate::qlog::names::What;
use crate::qlog::quirks::Quirks;
use crate::qlog::record::Record;
use crate::rows::{At, Rows};
use crate::writer::{EventWriter, Halt};

/// Why an event gives no rows.
#[derive(Debug)]
pub enum Refusal {
    /// It cannot be used, for this reason.
    Skip(&'static str),
    /// Valid, but nothing that becomes a row.
    Ignore,
    /// Nothing can go on.
    Halt(Halt),
}

impl From<Bad> for Refusal {
    fn from(bad: Bad) -> Self {
        Self::Skip(bad.as_str())
    }
}

impl From<Halt> for Refusal {
    fn from(halt: Halt) -> Self {
        Self::Halt(halt)
    }
}

/// Pairs of addresses whose path is remembered.
const MOST_TUPLES: usize = 1 << 12;

/// Reads the events of the traces of one file.
pub struct Qlog {
    header: Header,
    clock: Clock,
    quirks: Quirks,
    rows: Rows,
    /// The last known numbers of the senders, by connection and path.
    metrics: HashMap<(usize, Option<i64>), Metrics>,
    /// The path on which packets of a pair of addresses were last sent or received.
    tuples: HashMap<(usize, Vec<u8>), i64>,
    misread: Option<Misread>,
    /// Of traces that do not name theirs.
    vantage: Vantage,
    groups: HashMap<Vec<u8>, usize>,
    ungrouped: Option<usize>,
}

impl Qlog {
    /// Before a file's first trace; `vantage` is that of traces that do not name theirs, `misread` what an earlier pass
    /// found wrong with its round trips.
    #[must_use]
    pub fn new(vantage: Vantage, misread: Option<Misread>) -> Self {
        let header = Header::new(&Members::new(), &Members::new());
        Self {
            clock: Clock::new(&header, None),
            quirks: Quirks::of(&header, None),
            header,
            rows: Rows::new(Source::Qlog, vantage),
            metrics: HashMap::new(),
            tuples: HashMap::new(),
            misread,
            vantage,
            groups: HashMap::new(),
            ungrouped: None,
        }
    }

    /// A trace begins; the account of a file takes the header of its first trace.
    pub fn begin(&mut self, header: Header, writer: &mut EventWriter) {
        let account = &mut writer.account;
        if account.schema.is_none() && account.producer.is_none() {
            account.schema.clone_from(&header.schema);
            account.producer.clone_from(&header.producer);
            account.clock = header.clock;
        }
        self.rows.vantage = if header.vantage == Vantage::Unknown { self.vantage } else { header.vantage };
        if account.connections.is_empty() {
            account.vantage = self.rows.vantage.as_str().into();
        }
        self.clock = Clock::new(&header, self.clock.reference_unix_ns());
        account.reference_unix_ns = self.clock.reference_unix_ns();
        self.quirks = Quirks::of(&header, self.misread);
        if let Some(misread) = self.misread.filter(|misread| self.quirks.may_be(misread.other())) {
            if !account.warnings.iter().any(|warning| warning.problem == misread.as_str()) {
                account.warn(0, 0, misread.as_str());
            }
        }
        self.groups.clear();
        self.ungrouped = None;
        self.header = header;
    }

    /// Reads one event, and counts what became of it.
    pub fn event(&mut self, bytes: &[u8], place: (u64, u64), writer: &mut EventWriter) -> Result<(), Halt> {
        let mut cursor = Cursor::new(bytes);
        let read = Record::read(&mut cursor, &self.header.fields).and_then(|record| match cursor.peek() {
            Ok(_) => Err(Bad::Syntax),
            Err(_) => Ok(record),
        });
        let record = match read {
            Ok(record) => record,
            Err(bad) => {
                writer.account.skip(bad.as_str(), place.0, place.1, format!("an event is {}", bad.as_str()));
                return Ok(());
            }
        };
        match self.understand(&record, writer) {
            Ok(time_ns) => writer.account.count_read(time_ns),
            Err(Refusal::Ignore) => count_ignored(&record, writer),
            Err(Refusal::Skip(reason)) => {
                let name = String::from_utf8_lossy(record.name);
                writer.account.skip(reason, place.0, place.1, format!("an event {name:?} is skipped: {reason}"));
            }
            Err(Refusal::Halt(halt)) => return Err(halt),
        }
        Ok(())
    }

    fn understand(&mut self, record: &Record, writer: &mut EventWriter) -> Result<i64, Refusal> {
        if record.name.is_empty() {
            return Err(Refusal::Skip("no name"));
        }
        if self.header.longlook.is_some() {
            return self.longlook(record, writer);
        }
        let what = names::what(record.category, record.name);
        if what.is_none() && self.header.time_format != header::TimeFormat::Delta {
            return Err(Refusal::Ignore);
        }
        let first = self.clock.reference_unix_ns();
        let time_ns = record.time.and_then(|text| self.clock.time_ns(text)).ok_or(Refusal::Skip("no time"))?;
        if first.is_none() {
            writer.account.reference_unix_ns = self.clock.reference_unix_ns();
        }
        let Some(what) = what else { return Err(Refusal::Ignore) };
        let connection = self.connection(record.group, writer)?;
        let at = self.on_path(At { time_ns, connection, path: None }, record, None, None, writer)?;
        match what {
            What::PacketSent => self.packet_sent(at, record, writer)?,
            What::PacketReceived => self.packet_received(at, record, writer)?,
            What::PacketLost => self.packet_lost(at, record, writer)?,
            What::PacketDropped => self.packet_dropped(at, record, writer)?,
            What::PacketsAcked => self.packets_acked(at, record, writer)?,
            What::Metrics => self.metrics(at, record, writer)?,
            What::CongestionState => self.congestion_state(at, record, writer)?,
            What::LossTimer => self.loss_timer(at, record, false, writer)?,
            What::Timer => self.loss_timer(at, record, true, writer)?,
            _ => self.rare(at, what, record, writer)?,
        }
        Ok(time_ns)
    }

    /// Whether round trips that an earlier reading got wrong in this way may have another unit.
    #[must_use]
    pub fn may_be(&self, misread: Misread) -> bool {
        self.quirks.may_be(misread)
    }

    /// The path of an event: that of its packet or its own, else the one that its pair of addresses belongs to.
    ///
    /// `sent` is the number of the packet that the event reports as sent.
    fn on_path(
        &mut self,
        at: At,
        record: &Record,
        of_packet: Option<i64>,
        sent: Option<i64>,
        writer: &mut EventWriter,
    ) -> Result<At, Refusal> {
        let named = of_packet.or_else(|| record.path.and_then(|path| scaled(path, 0)));
        let path = match (named, record.tuple) {
            (None, None) => return Ok(at),
            (Some(path), None) => Some(path),
            (Some(path), Some(tuple)) => {
                let key = (at.connection, tuple.to_vec());
                if self.tuples.len() < MOST_TUPLES || self.tuples.contains_key(&key) {
                    self.tuples.insert(key, path);
                }
                Some(path)
            }
            (None, Some(tuple)) => self.tuples.get(&(at.connection, tuple.to_vec())).copied(),
        };
        if let Some(path) = path {
            if !self.rows.on_path(at.connection, path, sent, writer) {
                return Err(Refusal::Skip("too many paths in one file"));
            }
        }
        Ok(At { path, ..at })
    }

    /// The row of an event that we wrote ourselves.
    fn longlook(&mut self, record: &Record, writer: &mut EventWriter) -> Result<i64, Refusal> {
        let time_ns = record.time.and_then(|text| self.clock.time_ns(text)).ok_or(Refusal::Skip("no time"))?;
        let connection = self.connection(record.group, writer)?;
        let Some(fields) = &self.header.longlook else { return Err(Refusal::Ignore) };
        if let (Some((client, server)), Some(entry)) = (fields.ends(), writer.account.connections.get_mut(connection)) {
            (entry.client, entry.server) = (Some(client), Some(server));
        }
        let frame = longlook::Frame { time_ns, vantage: self.rows.vantage, connection };
        let row = longlook::row(fields, frame, record, writer)?.ok_or(Refusal::Ignore)?;
        writer.push(row)?;
        Ok(time_ns)
    }

    /// The index of the connection that an event belongs to.
    fn connection(&mut self, group: Option<&[u8]>, writer: &mut EventWriter) -> Result<usize, Refusal> {
        let known = match group {
            Some(group) => self.groups.get(group).copied(),
            None => self.ungrouped,
        };
        if let Some(known) = known {
            return Ok(known);
        }
        let id = match group {
            Some(group) => Some(account::id(&json::text(group)).ok_or(Refusal::Skip("a group id of over 255 bytes"))?),
            None => self.header.connection_id.clone(),
        };
        let begun = self.rows.begin(id, writer).ok_or(Refusal::Skip("too many connections in one file"))?;
        match group {
            Some(group) => {
                self.groups.insert(group.to_vec(), begun);
            }
            None => self.ungrouped = Some(begun),
        }
        Ok(begun)
    }
}

fn count_ignored(record: &Record, writer: &mut EventWriter) {
    let name = String::from_utf8_lossy(record.name);
    if record.category.is_empty() || name.contains(':') {
        writer.account.count_ignored(&name);
    } else {
        writer.account.count_ignored(&format!("{}:{name}", String::from_utf8_lossy(record.category)));
    }
}
