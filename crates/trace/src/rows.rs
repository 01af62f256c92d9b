//! Rows of the connections of one file: what qlog and netlog have in common.

use crate::account;
use crate::event::{Event, Kind, Source, Space, Text, Vantage};
use crate::sent::{Packet, Sent};
use crate::writer::{EventWriter, Halt};

const MOST_CONNECTIONS: usize = 1 << 16;

/// Where the rows of one event go: time and connection.
#[derive(Clone, Copy)]
pub struct At {
    /// Since the file's reference.
    pub time_ns: i64,
    /// Index of the connection.
    pub connection: usize,
}

/// The object of a limit that blocks a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// `connection`, `stream`, `streams_bidi`, `streams_uni`.
    pub name: &'static str,
    /// Which stream.
    pub stream: Option<i64>,
    /// The limit in bytes or streams.
    pub limit: Option<i64>,
}

/// The state of one connection.
#[derive(Default)]
pub struct Connection {
    /// Client and server.
    pub flow: Option<Text>,
    /// Sent packets of the three number spaces.
    pub sent: [Sent; 3],
    /// Bytes the peer has acknowledged so far.
    pub acked_bytes: i64,
    /// Consecutive probe timeouts for which there are rows.
    pub probes: i64,
    /// Milestones that are passed once.
    pub passed: Vec<&'static str>,
    /// Key updates of the client's and the server's keys, and how many of them have a row.
    pub key_updates: [u32; 3],
}

impl Connection {
    /// The sent packets of a space; 0-RTT and 1-RTT packets share theirs.
    pub fn sent(&mut self, space: Space) -> Option<&mut Sent> {
        match space {
            Space::Initial => self.sent.get_mut(0),
            Space::Handshake => self.sent.get_mut(1),
            Space::ZeroRtt | Space::OneRtt => self.sent.get_mut(2),
            Space::Retry | Space::VersionNegotiation => None,
        }
    }
}

/// The connections of one file.
pub struct Rows {
    /// Where their rows come from.
    pub source: Source,
    /// Where the trace that is being read was written.
    pub vantage: Vantage,
    /// As the account has them.
    pub connections: Vec<Connection>,
}

impl Rows {
    /// Of a file of which nothing is read yet.
    #[must_use]
    pub fn new(source: Source, vantage: Vantage) -> Self {
        Self { source, vantage, connections: Vec::new() }
    }

    /// A connection begins: its index, or `None` when there are too many.
    pub fn begin(&mut self, id: Option<String>, writer: &mut EventWriter) -> Option<usize> {
        let index = self.connections.len();
        if index == MOST_CONNECTIONS {
            return None;
        }
        self.connections.push(Connection::default());
        writer.account.connections.resize_with(index, Default::default);
        writer.account.connections.push(account::Connection { connection_id: id, ..Default::default() });
        Some(index)
    }

    /// The addresses of the vantage's own end and of the other are known.
    pub fn set_ends(&mut self, connection: usize, own: String, other: String, writer: &mut EventWriter) {
        let (client, server) = match self.vantage {
            Vantage::Client => (own, other),
            Vantage::Server => (other, own),
            Vantage::Unknown => return,
        };
        self.connections[connection].flow = writer.text(&format!("udp {client} {server}"));
        let entry = &mut writer.account.connections[connection];
        (entry.client, entry.server) = (account::id(&client), account::id(&server));
    }

    /// Returns a row with time, place and kind alone.
    #[must_use]
    pub fn row(&self, at: At, kind: Kind) -> Event {
        let mut event = Event::new(at.time_ns, self.vantage, self.source, kind);
        event.connection = at.connection as u32;
        event.flow = self.connections[at.connection].flow;
        event
    }

    /// A milestone.
    pub fn milestone(&self, at: At, name: &str, detail: Option<&str>, writer: &mut EventWriter) -> Result<(), Halt> {
        let mut row = self.row(at, Kind::Milestone);
        row.name = writer.text(name);
        row.detail = detail.filter(|detail| !detail.is_empty()).and_then(|detail| writer.text(detail));
        writer.push(row)
    }

    /// A milestone that is passed once: a second time it has no row.
    pub fn milestone_once(
        &mut self,
        at: At,
        name: &'static str,
        detail: Option<&str>,
        writer: &mut EventWriter,
    ) -> Result<(), Halt> {
        if self.pass(at, name) { self.milestone(at, name, detail, writer) } else { Ok(()) }
    }

    /// Whether this is the first time.
    pub fn pass(&mut self, at: At, name: &'static str) -> bool {
        let passed = &mut self.connections[at.connection].passed;
        let first = !passed.contains(&name);
        if first {
            passed.push(name);
        }
        first
    }

    /// One of the two ends' keys was updated; the update has one row.
    pub fn key_updated(
        &mut self,
        at: At,
        by_client: bool,
        detail: Option<&str>,
        writer: &mut EventWriter,
    ) -> Result<(), Halt> {
        let [client, server, reported] = &mut self.connections[at.connection].key_updates;
        let count = if by_client { client } else { server };
        *count += 1;
        if *count <= *reported {
            return Ok(());
        }
        *reported = *count;
        self.milestone(at, "key_update", detail, writer)
    }

    /// Packets newly acknowledged by one ACK.
    pub fn acked(
        &mut self,
        at: At,
        space: Option<Space>,
        mut acked: Vec<Packet>,
        writer: &mut EventWriter,
    ) -> Result<(), Halt> {
        acked.sort_unstable_by_key(|packet| packet.number);
        for packet in acked {
            if packet.zero_rtt {
                self.milestone_once(at, "early_data_accepted", None, writer)?;
            }
            let connection = &mut self.connections[at.connection];
            connection.acked_bytes = connection.acked_bytes.saturating_add(packet.size_bytes.unwrap_or(0));
            let mut row = self.row(at, Kind::PacketAcked);
            row.space = if packet.zero_rtt { Some(Space::ZeroRtt) } else { space };
            row.packet_number = Some(packet.number);
            row.size_bytes = packet.size_bytes;
            row.acked_bytes = Some(self.connections[at.connection].acked_bytes);
            writer.push(row)?;
        }
        Ok(())
    }

    /// A sender ran into a limit; `detail` names the evidence in the trace.
    pub fn blocked(&self, at: At, blocked: Blocked, detail: &str, writer: &mut EventWriter) -> Result<(), Halt> {
        let mut row = self.row(at, Kind::Blocked);
        row.name = writer.text(blocked.name);
        row.detail = writer.text(detail);
        row.stream = blocked.stream;
        row.value = blocked.limit.map(|limit| limit as f64);
        writer.push(row)
    }

    /// A probe timeout fired, the so-manieth in a row.
    pub fn pto(&self, at: At, count: i64, writer: &mut EventWriter) -> Result<(), Halt> {
        let mut row = self.row(at, Kind::Pto);
        row.value = Some(count as f64);
        writer.push(row)
    }
}
