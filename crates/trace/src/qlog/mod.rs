//! qlog events → rows.

pub mod clock;
pub mod connection;
pub mod header;
pub mod names;
pub mod own;
pub mod packet;
pub mod rare;
pub mod record;
pub mod recovery;
pub mod sent;
pub mod states;
pub mod traffic;

use std::collections::HashMap;

use crate::event::{Event, Kind, Source, Vantage};
use crate::json::{Bad, Cursor};
use crate::qlog::clock::Clock;
use crate::qlog::connection::Connection;
use crate::qlog::header::{Header, Members};
use crate::qlog::names::What;
use crate::qlog::record::Record;
use crate::writer::{EventWriter, Halt};

const MOST_CONNECTIONS: usize = 1 << 16;
/// quinn writes round trips in seconds. Its first one is the configured guess, 333 ms unless set, so a first
/// `smoothed_rtt` of less than this says that the unit is seconds.
const LONGEST_FIRST_RTT_S: &[u8] = b"10";

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

/// Reads the events of the traces of one file.
pub struct Qlog {
    header: Header,
    clock: Clock,
    vantage: Vantage,
    /// Of every trace of the file, as the account has them.
    connections: Vec<Connection>,
    groups: HashMap<Vec<u8>, usize>,
    ungrouped: Option<usize>,
    /// Power of ten from the producer's unit of round trips to nanoseconds, once it is known.
    rtt_power: Option<i32>,
}

/// Where rows of one event go: time and connection.
#[derive(Clone, Copy)]
struct At {
    time_ns: i64,
    connection: usize,
}

impl Qlog {
    /// Before a file's first trace; `vantage` is that of traces that do not say it.
    #[must_use]
    pub fn new(vantage: Vantage) -> Self {
        let header = Header::new(&Members::new(), &Members::new());
        Self {
            clock: Clock::new(&header, None),
            header,
            vantage,
            connections: Vec::new(),
            groups: HashMap::new(),
            ungrouped: None,
            rtt_power: None,
        }
    }

    /// A trace begins; of a file the account takes what its first trace says.
    pub fn begin(&mut self, header: Header, writer: &mut EventWriter) {
        let account = &mut writer.account;
        if account.schema.is_none() && account.producer.is_none() {
            account.schema.clone_from(&header.schema);
            account.producer.clone_from(&header.producer);
            account.clock = header.clock;
        }
        if header.vantage != Vantage::Unknown {
            self.vantage = header.vantage;
        }
        if account.connections.is_empty() {
            account.vantage = self.vantage.as_str().into();
        }
        self.clock = Clock::new(&header, self.clock.reference_unix_ns());
        account.reference_unix_ns = self.clock.reference_unix_ns();
        self.rtt_power = (header.producer.as_deref() != Some("quinn")).then_some(6);
        self.groups.clear();
        self.ungrouped = None;
        self.header = header;
    }

    /// Reads one event, and counts what became of it.
    pub fn event(&mut self, bytes: &[u8], place: (u64, u64), writer: &mut EventWriter) -> Result<(), Halt> {
        let mut cursor = Cursor::new(bytes);
        let read = Record::read(&mut cursor, &self.header.fields);
        let record = match read {
            Ok(record) => record,
            Err(bad) => {
                writer.account.count_skipped(bad.as_str());
                writer.account.warn(place.0, place.1, format!("an event is {}", bad.as_str()));
                return Ok(());
            }
        };
        match self.rows(&record, writer) {
            Ok(time_ns) => writer.account.count_read(time_ns),
            Err(Refusal::Ignore) => count_ignored(&record, writer),
            Err(Refusal::Skip(reason)) => {
                writer.account.count_skipped(reason);
                let name = String::from_utf8_lossy(record.name);
                writer.account.warn(place.0, place.1, format!("an event {name:?} is skipped: {reason}"));
            }
            Err(Refusal::Halt(halt)) => return Err(halt),
        }
        Ok(())
    }

    fn rows(&mut self, record: &Record, writer: &mut EventWriter) -> Result<i64, Refusal> {
        if record.name.is_empty() {
            return Err(Refusal::Skip("no name"));
        }
        if self.header.own.is_some() {
            return self.own(record, writer);
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
        let at = At { time_ns, connection };
        match what {
            What::PacketSent => self.packet_sent(at, record, writer)?,
            What::PacketReceived => self.packet_received(at, record, writer)?,
            What::PacketLost => self.packet_lost(at, record, writer)?,
            What::PacketDropped => self.packet_dropped(at, record, writer)?,
            What::PacketsAcked => self.packets_acked(at, record, writer)?,
            What::Metrics => self.metrics(at, record, writer)?,
            What::CongestionState => self.congestion_state(at, record, writer)?,
            What::LossTimer => self.loss_timer(at, record, writer)?,
            _ => self.rare(at, what, record, writer)?,
        }
        Ok(time_ns)
    }

    /// The row of an event that we wrote ourselves.
    fn own(&mut self, record: &Record, writer: &mut EventWriter) -> Result<i64, Refusal> {
        let time_ns = record.time.and_then(|text| self.clock.time_ns(text)).ok_or(Refusal::Skip("no time"))?;
        let connection = self.connection(record.group, writer)?;
        let Some(own) = &self.header.own else { return Err(Refusal::Ignore) };
        if let (Some((client, server)), Some(entry)) = (own.ends(), writer.account.connections.get_mut(connection)) {
            (entry.client, entry.server) = (Some(client), Some(server));
        }
        let frame = own::Frame { time_ns, vantage: self.vantage, connection };
        let row = own::row(own, frame, record, writer)?.ok_or(Refusal::Ignore)?;
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
        let index = self.connections.len();
        if index == MOST_CONNECTIONS {
            return Err(Refusal::Skip("too many connections in one file"));
        }
        self.connections.push(Connection::default());
        let id = match group {
            Some(group) => {
                self.groups.insert(group.to_vec(), index);
                Some(crate::json::text(group).into_owned())
            }
            None => {
                self.ungrouped = Some(index);
                self.header.connection_id.clone()
            }
        };
        let entry = crate::account::Connection { connection_id: id, ..Default::default() };
        writer.account.connections.resize_with(index, Default::default);
        writer.account.connections.push(entry);
        Ok(index)
    }

    fn row(&self, at: At, kind: Kind) -> Event {
        let mut event = Event::new(at.time_ns, self.vantage, Source::Qlog, kind);
        event.connection = at.connection as u32;
        event.flow = self.connections[at.connection].flow;
        event
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
