//! Rows of the connections of one file: what qlog and netlog have in common.

use crate::account;
use crate::event::{Event, Kind, Source, Space, Text, Vantage};
use crate::sent::{Packet, Sent};
use crate::writer::{EventWriter, Halt};

const MOST_CONNECTIONS: usize = 1 << 16;
/// Paths of all connections of a file together, beside each one's first.
const MOST_PATHS: usize = 1 << 12;
/// A path's first packet number that follows the last one of the connection within this many continues its numbers.
const LONGEST_STEP: i64 = 64;

/// Where the rows of one event go: time, connection and path.
#[derive(Clone, Copy)]
pub struct At {
    /// Since the file's reference.
    pub time_ns: i64,
    /// Index of the connection.
    pub connection: usize,
    /// The path, if the trace names it.
    pub path: Option<i64>,
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
    sent: [Sent; 3],
    /// The paths that the trace names.
    paths: Vec<i64>,
    /// Sent packets of paths with numbers of their own (Multipath QUIC).
    apart: Vec<(i64, Sent)>,
    /// Paths that share the numbers of the connection.
    shared: Vec<i64>,
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
    /// The sent packets of a space, on a path; 0-RTT and 1-RTT packets share theirs.
    pub fn sent(&mut self, space: Space, path: Option<i64>) -> Option<&mut Sent> {
        match space {
            Space::Initial => self.sent.get_mut(0),
            Space::Handshake => self.sent.get_mut(1),
            Space::ZeroRtt | Space::OneRtt => {
                let Some(path) = path.filter(|path| *path != 0 && !self.shared.contains(path)) else {
                    return self.sent.get_mut(2);
                };
                self.apart.iter_mut().find(|(own, _)| *own == path).map(|(_, sent)| sent)
            }
            Space::Retry | Space::VersionNegotiation => None,
        }
    }

    /// A packet was sent; whether one of this number had been sent before.
    pub fn send(&mut self, space: Space, path: Option<i64>, packet: Packet) -> bool {
        self.sent(space, path).is_some_and(|sent| sent.send(packet))
    }

    /// The one space in which packets were sent; `None` if they were in several, or none were.
    #[must_use]
    pub fn only_space(&self) -> Option<Space> {
        let spaces = [Space::Initial, Space::Handshake, Space::OneRtt];
        let mut used = spaces.into_iter().zip(&self.sent).filter(|(_, sent)| !sent.is_empty());
        used.next().filter(|_| used.next().is_none()).map(|(space, _)| space)
    }

    /// Whether the trace names paths.
    #[must_use]
    pub fn has_paths(&self) -> bool {
        !self.paths.is_empty()
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
    paths: usize,
}

impl Rows {
    /// Of a file of which nothing is read yet.
    #[must_use]
    pub fn new(source: Source, vantage: Vantage) -> Self {
        Self { source, vantage, connections: Vec::new(), paths: 0 }
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

    /// A packet or an event names a path; false when a file has too many of them.
    ///
    /// A further path has packet numbers of its own, as Multipath QUIC has it. If its first number, that of `sent`,
    /// continues the connection's, it shares them: the connection has migrated.
    pub fn on_path(&mut self, connection: usize, path: i64, sent: Option<i64>, writer: &mut EventWriter) -> bool {
        let known = &mut self.connections[connection];
        if !known.paths.contains(&path) {
            if path != 0 && self.paths == MOST_PATHS {
                return false;
            }
            self.paths += usize::from(path != 0);
            known.paths.push(path);
            let listed = &mut writer.account.connections[connection].paths;
            listed.insert(listed.partition_point(|other| *other < path), path);
        }
        if let Some(number) = sent {
            let next = known.sent[2].next();
            let continues = next > 0 && (next..next.saturating_add(LONGEST_STEP)).contains(&number);
            let is_apart = known.apart.iter().any(|(own, _)| *own == path);
            if path != 0 && !is_apart && !known.shared.contains(&path) {
                if continues {
                    known.shared.push(path);
                } else {
                    known.apart.push((path, Sent::default()));
                }
            }
        }
        true
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
        event.path = at.path;
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
