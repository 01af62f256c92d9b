//! Files of `longlook trace convert --to qlog`: each event is one row, and gives that row back (docs/reference/capture.md).

use serde_json::Value;

use crate::account;
use crate::decimal::scaled;
use crate::event::{Event, Kind, Source, Vantage};
use crate::json::{Bad, Cursor, Members, text};
use crate::qlog::packet::space;
use crate::qlog::record::Record;
use crate::writer::EventWriter;

/// The schema that such a file declares beside the draft's events.
const SCHEMA: &str = "urn:longlook:qlog:events:1";
const PREFIX: &[u8] = b"longlook_";
const CATEGORY: &[u8] = b"longlook:";

/// The fields that all rows of such a file share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LonglookFields {
    /// The source of rows that name no other.
    pub source: Source,
    /// The addresses of client and server.
    pub flow: Option<String>,
}

impl LonglookFields {
    /// Returns the shared fields, or `None` if the file was written by another program.
    #[must_use]
    pub fn of(trace: &Members) -> Option<Self> {
        let schemas = trace.get("event_schemas").and_then(Value::as_array)?;
        if !schemas.iter().any(|schema| schema.as_str() == Some(SCHEMA)) {
            return None;
        }
        let given = trace.get("common_fields").and_then(|common| common.get("longlook"));
        let word = |key: &str| given.and_then(|given| given.get(key)).and_then(Value::as_str);
        let source = word("source").and_then(source).unwrap_or(Source::Qlog);
        Some(Self { source, flow: word("flow").and_then(account::id) })
    }

    /// Returns the addresses of client and server.
    #[must_use]
    pub fn ends(&self) -> Option<(String, String)> {
        let mut parts = self.flow.as_deref()?.split(' ').skip(1);
        Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
    }
}

fn source(word: &str) -> Option<Source> {
    Source::ALL.iter().copied().find(|source| source.as_str() == word)
}

/// The parts of a row besides its data.
#[derive(Clone, Copy)]
pub struct Frame {
    /// When it happened.
    pub time_ns: i64,
    /// Where.
    pub vantage: Vantage,
    /// Which connection of the file.
    pub connection: usize,
}

/// The row of an event; `Ok(None)` for an event that no row is written as.
pub fn row(
    fields: &LonglookFields,
    frame: Frame,
    record: &Record,
    writer: &mut EventWriter,
) -> Result<Option<Event>, Bad> {
    let Some(kind) = kind(record.name) else { return Ok(None) };
    let source = record.source.and_then(|word| std::str::from_utf8(word).ok()).and_then(source);
    let mut row = Event::new(frame.time_ns, frame.vantage, source.unwrap_or(fields.source), kind);
    row.connection = frame.connection as u32;
    row.flow = fields.flow.as_deref().and_then(|flow| writer.text(flow));
    let ours = record.name.starts_with(CATEGORY);
    match record.name {
        b"quic:connection_data_blocked_updated" => row.name = writer.text("connection"),
        b"quic:stream_data_blocked_updated" => row.name = writer.text("stream"),
        b"quic:mtu_updated" => row.name = writer.text("mtu"),
        b"quic:recovery_parameters_set" => row.name = writer.text("recovery"),
        _ => {}
    }
    if kind == Kind::Parameters && !ours {
        return parameters(row, record.data, writer).map(Some);
    }
    Cursor::new(record.data).object(|key, cursor| {
        if ours {
            column(&mut row, key, cursor, writer)
        } else if let Some(key) = key.strip_prefix(PREFIX) {
            column(&mut row, key, cursor, writer)
        } else {
            drafts(&mut row, key, record.name, cursor, writer)
        }
    })?;
    Ok(Some(row))
}

fn kind(name: &[u8]) -> Option<Kind> {
    if let Some(word) = name.strip_prefix(CATEGORY) {
        return Kind::ALL.iter().copied().find(|kind| kind.as_str().as_bytes() == word);
    }
    Some(match name.strip_prefix(b"quic:")? {
        b"packet_sent" => Kind::PacketSent,
        b"packet_received" => Kind::PacketReceived,
        b"packets_acked" => Kind::PacketAcked,
        b"packet_lost" => Kind::PacketLost,
        b"packet_dropped" => Kind::PacketDiscarded,
        b"recovery_metrics_updated" => Kind::Metrics,
        b"congestion_state_updated" => Kind::CongestionState,
        b"timer_updated" => Kind::LossTimer,
        b"connection_data_blocked_updated" | b"stream_data_blocked_updated" => Kind::Blocked,
        b"connection_state_updated" | b"mtu_updated" => Kind::Milestone,
        b"parameters_set" | b"recovery_parameters_set" => Kind::Parameters,
        _ => return None,
    })
}

/// A member that stands for one column.
fn column(row: &mut Event, key: &[u8], cursor: &mut Cursor<'_>, writer: &mut EventWriter) -> Result<(), Bad> {
    let given = cursor.scalar()?;
    let whole = scaled(given, 0);
    match key {
        b"space" => row.space = space(given),
        b"packet_number" => row.packet_number = whole,
        b"size_bytes" => row.size_bytes = whole,
        b"name" => row.name = writer.text(&text(given)),
        b"detail" => row.detail = writer.text(&text(given)),
        b"stream" => row.stream = whole,
        b"path" => row.path = whole,
        b"value" => row.value = number(given),
        b"cwnd_bytes" => row.cwnd_bytes = whole,
        b"ssthresh_bytes" => row.ssthresh_bytes = whole,
        b"in_flight_bytes" => row.in_flight_bytes = whole,
        b"srtt_ns" => row.srtt_ns = whole,
        b"rttvar_ns" => row.rttvar_ns = whole,
        b"min_rtt_ns" => row.min_rtt_ns = whole,
        b"latest_rtt_ns" => row.latest_rtt_ns = whole,
        b"pacing_bps" => row.pacing_bps = whole,
        b"pto_count" => row.pto_count = whole,
        b"acked_bytes" => row.acked_bytes = whole,
        _ => {}
    }
    Ok(())
}

/// A member as the draft has it.
fn drafts(
    row: &mut Event,
    key: &[u8],
    event: &[u8],
    cursor: &mut Cursor<'_>,
    writer: &mut EventWriter,
) -> Result<(), Bad> {
    match key {
        b"header" => cursor.object(|key, cursor| {
            match key {
                b"packet_type" => row.space = space(cursor.scalar()?),
                b"packet_number" => row.packet_number = scaled(cursor.scalar()?, 0),
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })?,
        b"raw" => cursor.object(|key, cursor| {
            let given = cursor.scalar()?;
            if key == b"length" {
                row.size_bytes = scaled(given, 0);
            }
            Ok(())
        })?,
        b"packet_number_space" => row.space = space(cursor.scalar()?),
        b"packet_numbers" => cursor.array(|_, cursor| {
            row.packet_number = scaled(cursor.scalar()?, 0);
            Ok(())
        })?,
        b"congestion_window" => row.cwnd_bytes = scaled(cursor.scalar()?, 0),
        b"ssthresh" => row.ssthresh_bytes = scaled(cursor.scalar()?, 0),
        b"bytes_in_flight" => row.in_flight_bytes = scaled(cursor.scalar()?, 0),
        b"smoothed_rtt" => row.srtt_ns = scaled(cursor.scalar()?, 6),
        b"rtt_variance" => row.rttvar_ns = scaled(cursor.scalar()?, 6),
        b"min_rtt" => row.min_rtt_ns = scaled(cursor.scalar()?, 6),
        b"latest_rtt" => row.latest_rtt_ns = scaled(cursor.scalar()?, 6),
        b"pacing_rate" => row.pacing_bps = scaled(cursor.scalar()?, 0),
        b"pto_count" => row.pto_count = scaled(cursor.scalar()?, 0),
        b"trigger" => {
            let given = text(cursor.scalar()?);
            row.name = writer.text(if given == "pto_expired" { "pto" } else { &given });
        }
        b"new" => new(row, event, cursor.scalar()?, writer),
        b"event_type" => row.name = writer.text(&text(cursor.scalar()?)),
        b"timer_type" => row.detail = writer.text(&text(cursor.scalar()?)),
        b"delta" => row.value = seconds(cursor.scalar()?),
        b"stream_id" => row.stream = scaled(cursor.scalar()?, 0),
        _ => {
            cursor.skip()?;
        }
    }
    Ok(())
}

fn new(row: &mut Event, event: &[u8], given: &[u8], writer: &mut EventWriter) {
    match event {
        b"quic:congestion_state_updated" => row.name = writer.text(&text(given)),
        b"quic:mtu_updated" => row.value = number(given),
        b"quic:connection_state_updated" => {
            row.name = writer.text(match given {
                b"handshake_complete" => "complete",
                b"handshake_confirmed" => "confirmed",
                b"closing" => "closing",
                _ => "closed",
            });
        }
        _ => {}
    }
}

/// Parameters stand as they were logged, behind whose they are.
fn parameters(mut row: Event, data: &[u8], writer: &mut EventWriter) -> Result<Event, Bad> {
    let mut rest = data;
    for (front, owner) in [(&br#"{"initiator":"local""#[..], "local"), (&br#"{"initiator":"remote""#[..], "remote")] {
        if let Some(behind) = data.strip_prefix(front) {
            row.name = writer.text(owner);
            rest = behind.strip_prefix(b",").unwrap_or(behind);
        }
    }
    let behind = std::str::from_utf8(rest).map_err(|_| Bad::Syntax)?;
    let opened = if rest.len() == data.len() { String::new() } else { "{".into() };
    row.detail = writer.text(&format!("{opened}{behind}"));
    Ok(row)
}

fn number(given: &[u8]) -> Option<f64> {
    std::str::from_utf8(given).ok()?.parse().ok()
}

/// Milliseconds as seconds: the point is moved in the text, so that no digit is rounded twice.
fn seconds(given: &[u8]) -> Option<f64> {
    format!("{}e-3", std::str::from_utf8(given).ok()?).parse().ok()
}
