//! One QUIC session of a netlog.

use serde_json::{Map, Value};

use crate::account;
use crate::decimal::scaled;
use crate::event::{Kind, Space};
use crate::json::{self, Bad, Cursor};
use crate::qlog::Refusal;
use crate::rows::{At, Blocked, Rows};
use crate::sent;
use crate::writer::EventWriter;

type Members = Map<String, Value>;

const PHASE_END: i64 = 2;

/// An event that becomes rows, or is needed to understand others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Session,
    Sent,
    Datagram,
    Header,
    Authenticated,
    AckReceived,
    Stream,
    Lost,
    Duplicate,
    Undecryptable,
    Blocked(&'static str),
    StreamsBlocked(&'static str),
    Complete,
    Confirmed,
    EarlyData,
    KeyUpdate,
    Parameters(&'static str),
    CongestionControl,
    Closed,
}

impl What {
    /// By the event's name.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name.strip_prefix("QUIC_")? {
            "SESSION" => Self::Session,
            "SESSION_PACKET_SENT" => Self::Sent,
            "SESSION_PACKET_RECEIVED" => Self::Datagram,
            "SESSION_UNAUTHENTICATED_PACKET_HEADER_RECEIVED" => Self::Header,
            "SESSION_PACKET_AUTHENTICATED" => Self::Authenticated,
            "SESSION_ACK_FRAME_RECEIVED" => Self::AckReceived,
            "SESSION_STREAM_FRAME_RECEIVED" => Self::Stream,
            "SESSION_PACKET_LOST" => Self::Lost,
            "SESSION_DUPLICATE_PACKET_RECEIVED" => Self::Duplicate,
            "SESSION_DROPPED_UNDECRYPTABLE_PACKET" => Self::Undecryptable,
            "SESSION_BLOCKED_FRAME_SENT" => Self::Blocked("frame_sent"),
            "SESSION_BLOCKED_FRAME_RECEIVED" => Self::Blocked("frame_received"),
            "SESSION_STREAMS_BLOCKED_FRAME_SENT" => Self::StreamsBlocked("frame_sent"),
            "SESSION_STREAMS_BLOCKED_FRAME_RECEIVED" => Self::StreamsBlocked("frame_received"),
            "SESSION_CRYPTO_HANDSHAKE_COMPLETE" => Self::Complete,
            "SESSION_HANDSHAKE_DONE_FRAME_RECEIVED" => Self::Confirmed,
            "SESSION_ZERO_RTT_STATE" => Self::EarlyData,
            "SESSION_KEY_UPDATE" => Self::KeyUpdate,
            "SESSION_TRANSPORT_PARAMETERS_SENT" => Self::Parameters("local"),
            "SESSION_TRANSPORT_PARAMETERS_RECEIVED" => Self::Parameters("remote"),
            "CONGESTION_CONTROL_CONFIGURED" => Self::CongestionControl,
            "SESSION_CLOSED" => Self::Closed,
            _ => return None,
        })
    }
}

/// The state of one session.
pub struct Session {
    /// Its index among the connections.
    pub connection: usize,
    datagram_bytes: Option<i64>,
    /// The packet whose header was read last: space and number.
    header: (Option<Space>, Option<i64>),
    probed_ns: Option<i64>,
}

impl Session {
    /// Of which nothing is known yet.
    pub fn new(connection: usize) -> Self {
        Self { connection, datagram_bytes: None, header: (None, None), probed_ns: None }
    }

    /// Reads one event; gives its time.
    #[allow(clippy::too_many_arguments, reason = "the parts of one event, and where they go")]
    pub fn event(
        &mut self,
        what: What,
        at: At,
        phase: Option<i64>,
        params: &[u8],
        idle_timeout: Option<i64>,
        rows: &mut Rows,
        writer: &mut EventWriter,
    ) -> Result<i64, Refusal> {
        match what {
            What::Sent => return self.sent(at, params, rows, writer),
            What::Lost => return Self::lost(at, params, rows, writer),
            What::Datagram => self.datagram(params, rows, writer)?,
            What::Header => self.header = header(params)?,
            What::Authenticated => self.received(at, rows, writer)?,
            What::AckReceived => self.ack(at, params, rows, writer)?,
            What::Stream => self.stream(at, params, rows, writer)?,
            What::Session if phase == Some(PHASE_END) => return Err(Refusal::Ignore),
            _ => {
                let text: &[u8] = if params.is_empty() { b"{}" } else { params };
                let data: Members = serde_json::from_slice(text).map_err(|_| Bad::Shape)?;
                Self::rare(what, at, &data, idle_timeout, rows, writer)?;
            }
        }
        Ok(at.time_ns)
    }

    fn sent(&mut self, at: At, params: &[u8], rows: &mut Rows, writer: &mut EventWriter) -> Result<i64, Refusal> {
        let (mut level, mut how): (&[u8], &[u8]) = (b"", b"");
        let (mut number, mut size_bytes, mut time_ns) = (None, None, None);
        Cursor::new(params).object(|key, cursor| {
            match key {
                b"encryption_level" => level = cursor.scalar()?,
                b"transmission_type" => how = cursor.scalar()?,
                b"packet_number" => number = scaled(cursor.scalar()?, 0),
                b"size" => size_bytes = scaled(cursor.scalar()?, 0),
                b"sent_time_us" => time_ns = scaled(cursor.scalar()?, 3),
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })?;
        let at = At { time_ns: time_ns.unwrap_or(at.time_ns), ..at };
        if how == b"PTO_RETRANSMISSION" && self.probed_ns != Some(at.time_ns / 1_000_000) {
            // Two packets may go out for one timeout.
            self.probed_ns = Some(at.time_ns / 1_000_000);
            let probes = &mut rows.connections[at.connection].probes;
            *probes = probes.saturating_add(1);
            let count = *probes;
            rows.pto(at, count, writer)?;
        }
        let mut row = rows.row(at, Kind::PacketSent);
        row.space = space(level);
        row.packet_number = number;
        row.size_bytes = size_bytes;
        writer.push(row)?;
        if let (Some(space), Some(number)) = (row.space, number) {
            let packet = sent::Packet { number, size_bytes, zero_rtt: space == Space::ZeroRtt };
            if rows.connections[at.connection].send(space, None, packet) {
                writer.plausible.sent_again(at.connection, None);
            }
        }
        Ok(at.time_ns)
    }

    /// The log names the number but not its space: losses count for the space that sent such a packet last.
    fn lost(at: At, params: &[u8], rows: &mut Rows, writer: &mut EventWriter) -> Result<i64, Refusal> {
        let (mut number, mut time_ns) = (None, None);
        Cursor::new(params).object(|key, cursor| {
            match key {
                b"packet_number" => number = scaled(cursor.scalar()?, 0),
                b"detection_time_us" => time_ns = scaled(cursor.scalar()?, 3),
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })?;
        let number = number.ok_or(Refusal::Skip("a loss without a packet number"))?;
        let at = At { time_ns: time_ns.unwrap_or(at.time_ns), ..at };
        let spaces = [Space::OneRtt, Space::Handshake, Space::Initial];
        let connection = &mut rows.connections[at.connection];
        let known = spaces.into_iter().find_map(|space| Some((space, connection.sent(space, None)?.packet(number)?)));
        let mut row = rows.row(at, Kind::PacketLost);
        row.packet_number = Some(number);
        row.space = known.map(|(space, packet)| if packet.zero_rtt { Space::ZeroRtt } else { space });
        row.size_bytes = known.and_then(|(_, packet)| packet.size_bytes);
        writer.push(row)?;
        Ok(at.time_ns)
    }

    fn datagram(&mut self, params: &[u8], rows: &mut Rows, writer: &mut EventWriter) -> Result<(), Refusal> {
        let (mut own, mut peer): (&[u8], &[u8]) = (b"", b"");
        let mut size_bytes = None;
        Cursor::new(params).object(|key, cursor| {
            match key {
                b"self_address" => own = cursor.scalar()?,
                b"peer_address" => peer = cursor.scalar()?,
                b"size" => size_bytes = scaled(cursor.scalar()?, 0),
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })?;
        self.datagram_bytes = size_bytes;
        if rows.connections[self.connection].flow.is_none() && !own.is_empty() && !peer.is_empty() {
            rows.set_ends(self.connection, json::text(own).into_owned(), json::text(peer).into_owned(), writer);
        }
        Ok(())
    }

    /// A packet's own size is known where it fills its datagram: a short header comes last, so first and last.
    fn received(&mut self, at: At, rows: &mut Rows, writer: &mut EventWriter) -> Result<(), Refusal> {
        let mut row = rows.row(at, Kind::PacketReceived);
        (row.space, row.packet_number) = self.header;
        let datagram_bytes = self.datagram_bytes.take();
        row.size_bytes = datagram_bytes.filter(|_| row.space == Some(Space::OneRtt));
        if row.space == Some(Space::Retry) {
            rows.milestone_once(at, "retry", None, writer)?;
        }
        Ok(writer.push(row)?)
    }

    fn ack(&mut self, at: At, params: &[u8], rows: &mut Rows, writer: &mut EventWriter) -> Result<(), Refusal> {
        let (mut low, mut high) = (None, None);
        let mut missing: Vec<i64> = Vec::new();
        Cursor::new(params).object(|key, cursor| {
            match key {
                b"smallest_observed" => low = scaled(cursor.scalar()?, 0),
                b"largest_observed" => high = scaled(cursor.scalar()?, 0),
                b"missing_packets" => cursor.array(|_, cursor| {
                    missing.extend(scaled(cursor.scalar()?, 0));
                    Ok(())
                })?,
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })?;
        let (Some(low), Some(high)) = (low, high) else { return Err(Refusal::Skip("an ACK without its range")) };
        let space = self.header.0;
        let mut acked = Vec::new();
        let connection = &mut rows.connections[at.connection];
        if let Some(sent) = space.and_then(|space| connection.sent(space, None)) {
            writer.plausible.ack(at.connection, None, !sent.is_empty() && high >= sent.next());
            missing.retain(|number| (low..=high).contains(number));
            missing.sort_unstable();
            let mut next = low;
            for number in missing {
                sent.acknowledge(next, number.saturating_sub(1), |packet| acked.push(packet));
                next = number.saturating_add(1);
            }
            sent.acknowledge(next, high, |packet| acked.push(packet));
        }
        if !acked.is_empty() {
            connection.probes = 0;
        }
        Ok(rows.acked(at, space, acked, writer)?)
    }

    /// The frame belongs to the packet whose header was read last.
    fn stream(&mut self, at: At, params: &[u8], rows: &mut Rows, writer: &mut EventWriter) -> Result<(), Refusal> {
        let (mut stream, mut offset, mut length) = (None, None, None);
        Cursor::new(params).object(|key, cursor| {
            match key {
                b"stream_id" => stream = scaled(cursor.scalar()?, 0),
                b"offset" => offset = scaled(cursor.scalar()?, 0),
                b"length" => length = scaled(cursor.scalar()?, 0),
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })?;
        let is_known = [stream, offset, length].into_iter().all(|number| number.is_some_and(|number| number >= 0));
        if !is_known {
            return Err(Refusal::Skip("a frame of a stream without its place"));
        }
        let mut row = rows.row(at, Kind::StreamData);
        (row.space, row.packet_number) = self.header;
        (row.stream, row.size_bytes) = (stream, length);
        row.value = offset.map(|offset| offset as f64);
        Ok(writer.push(row)?)
    }

    fn rare(
        what: What,
        at: At,
        data: &Members,
        idle_timeout: Option<i64>,
        rows: &mut Rows,
        writer: &mut EventWriter,
    ) -> Result<(), Refusal> {
        let text = |key: &str| data.get(key).and_then(Value::as_str);
        match what {
            What::Session => {
                let entry = &mut writer.account.connections[at.connection];
                entry.connection_id = text("connection_id").and_then(account::id);
                rows.milestone_once(at, "started", text("host"), writer)?;
            }
            What::Complete => rows.milestone_once(at, "complete", None, writer)?,
            What::Confirmed => rows.milestone_once(at, "confirmed", Some("handshake_done frame"), writer)?,
            What::EarlyData => match text("state") {
                Some("AttemptedAndSucceeded") => rows.milestone_once(at, "early_data_accepted", None, writer)?,
                Some("AttemptedAndRejected") => rows.milestone_once(at, "early_data_rejected", None, writer)?,
                _ => return Err(Refusal::Ignore),
            },
            What::KeyUpdate => rows.milestone(at, "key_update", text("reason"), writer)?,
            What::Closed => {
                let error = data.get("quic_error").and_then(Value::as_i64);
                let idle = error.is_some() && error == idle_timeout;
                let by = if data.get("from_peer") == Some(&Value::Bool(true)) { "remote" } else { "local" };
                let detail = format!("{by} {}", text("details").unwrap_or_default());
                rows.milestone_once(at, if idle { "idle_timeout" } else { "closed" }, Some(&detail), writer)?;
            }
            What::Parameters(owner) => {
                let given = parameters(text("quic_transport_parameters").unwrap_or_default());
                parameters_row(owner, given, at, rows, writer)?;
            }
            What::CongestionControl => parameters_row("recovery", data.clone(), at, rows, writer)?,
            What::Duplicate | What::Undecryptable => {
                let mut row = rows.row(at, Kind::PacketDiscarded);
                row.packet_number = data.get("packet_number").and_then(|value| crate::qlog::header::number(value, 0));
                row.name = writer.text(if what == What::Duplicate { "duplicate" } else { "undecryptable" });
                writer.push(row)?;
            }
            What::Blocked(way) => {
                let stream = data.get("stream_id").and_then(Value::as_i64).filter(|stream| *stream >= 0);
                let name = if stream.is_some() { "stream" } else { "connection" };
                rows.blocked(at, Blocked { name, stream, limit: None }, way, writer)?;
            }
            What::StreamsBlocked(way) => {
                let uni = data.get("is_unidirectional") == Some(&Value::Bool(true));
                let limit = data.get("stream_count").and_then(Value::as_i64);
                let name = if uni { "streams_uni" } else { "streams_bidi" };
                rows.blocked(at, Blocked { name, stream: None, limit }, way, writer)?;
            }
            What::Sent
            | What::Datagram
            | What::Header
            | What::Authenticated
            | What::AckReceived
            | What::Stream
            | What::Lost => {}
        }
        Ok(())
    }
}

fn parameters_row(
    owner: &str,
    given: Members,
    at: At,
    rows: &mut Rows,
    writer: &mut EventWriter,
) -> Result<(), Refusal> {
    let mut row = rows.row(at, Kind::Parameters);
    row.name = writer.text(owner);
    row.detail = writer.text(&Value::Object(given).to_string());
    Ok(writer.push(row)?)
}

/// `[Client max_idle_timeout 30000 initial_max_data 15728640 …]`: every name that a number follows.
fn parameters(text: &str) -> Members {
    let words: Vec<&str> = text.split(|letter: char| letter.is_whitespace() || "[]".contains(letter)).collect();
    let known = |name: &str| name.starts_with("initial_max") || name.starts_with("max_") || name.contains("_limit");
    let pairs = words.windows(2).filter(|pair| known(pair[0]) || pair[0] == "ack_delay_exponent");
    pairs.filter_map(|pair| Some((pair[0].to_owned(), pair[1].parse::<u64>().ok()?.into()))).collect()
}

fn header(params: &[u8]) -> Result<(Option<Space>, Option<i64>), Bad> {
    let (mut form, mut kind): (&[u8], &[u8]) = (b"", b"");
    let mut number = None;
    Cursor::new(params).object(|key, cursor| {
        match key {
            b"header_format" => form = cursor.scalar()?,
            b"long_header_type" => kind = cursor.scalar()?,
            b"packet_number" => number = scaled(cursor.scalar()?, 0),
            _ => {
                cursor.skip()?;
            }
        }
        Ok(())
    })?;
    let space = match (form, kind) {
        (b"IETF_QUIC_SHORT_HEADER_PACKET", _) => Some(Space::OneRtt),
        (_, b"INITIAL") => Some(Space::Initial),
        (_, b"HANDSHAKE") => Some(Space::Handshake),
        (_, b"ZERO_RTT_PROTECTED") => Some(Space::ZeroRtt),
        (_, b"RETRY") => Some(Space::Retry),
        (_, b"VERSION_NEGOTIATION") => Some(Space::VersionNegotiation),
        _ => None,
    };
    Ok((space, number))
}

fn space(level: &[u8]) -> Option<Space> {
    match level {
        b"ENCRYPTION_INITIAL" => Some(Space::Initial),
        b"ENCRYPTION_HANDSHAKE" => Some(Space::Handshake),
        b"ENCRYPTION_ZERO_RTT" => Some(Space::ZeroRtt),
        b"ENCRYPTION_FORWARD_SECURE" => Some(Space::OneRtt),
        _ => None,
    }
}
