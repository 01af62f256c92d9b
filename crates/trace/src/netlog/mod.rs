//! Chromium's netlog → rows: packets, parameters and data of streams that its QUIC sessions sent and received.
//!
//! A log holds the whole network stack's events; those of sources of the type `QUIC_SESSION` are read. Times are
//! milliseconds of the browser's monotonic clock, `timeTickOffset` maps it to the time since 1970; packets that were
//! sent and losses carry microseconds of the same clock.

mod requests;
mod session;

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use crate::decimal::scaled;
use crate::event::{Source, Vantage};
use crate::json::{Bad, Cursor};
use crate::netlog::requests::{Requests, is_of_request};
use crate::netlog::session::{Session, What};
use crate::qlog::Refusal;
use crate::rows::{At, Rows};
use crate::writer::{EventWriter, Halt};

/// Reads the events of one netlog.
pub struct Netlog {
    /// Names of event types, and what they become, by number.
    types: Vec<Option<(String, Option<What>)>>,
    session_type: i64,
    idle_timeout: Option<i64>,
    rows: Rows,
    sessions: HashMap<i64, Session>,
    request_type: Option<i64>,
    requests: Option<Requests>,
}

#[derive(Default)]
struct Record<'a> {
    time: Option<&'a [u8]>,
    kind: Option<i64>,
    phase: Option<i64>,
    source: Option<i64>,
    source_type: Option<i64>,
    params: &'a [u8],
}

impl<'a> Record<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, Bad> {
        let mut record = Self::default();
        Cursor::new(bytes).object(|key, cursor| {
            match key {
                b"time" => record.time = Some(cursor.scalar()?),
                b"type" => record.kind = scaled(cursor.scalar()?, 0),
                b"phase" => record.phase = scaled(cursor.scalar()?, 0),
                b"params" => record.params = cursor.skip()?,
                b"source" => cursor.object(|key, cursor| {
                    match key {
                        b"id" => record.source = scaled(cursor.scalar()?, 0),
                        b"type" => record.source_type = scaled(cursor.scalar()?, 0),
                        _ => {
                            cursor.skip()?;
                        }
                    }
                    Ok(())
                })?,
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })?;
        Ok(record)
    }
}

impl Netlog {
    /// Reads a log with these constants; `None` if they are not a netlog's. Events of requests go to a file, if one is
    /// wanted.
    pub fn new(constants: &Value, requests: Option<&Path>, writer: &mut EventWriter) -> Result<Option<Self>, Halt> {
        let Some(mut netlog) = Self::of(constants, writer) else { return Ok(None) };
        if let Some(path) = requests {
            netlog.requests = Some(Requests::create(path, writer.account.reference_unix_ns, constants)?);
        }
        Ok(Some(netlog))
    }

    fn of(constants: &Value, writer: &mut EventWriter) -> Option<Self> {
        let numbers = constants.get("logEventTypes")?.as_object()?;
        let mut types = Vec::new();
        for (name, number) in numbers {
            let number = usize::try_from(number.as_u64()?).ok().filter(|number| *number < 1 << 16)?;
            if types.len() <= number {
                types.resize(number + 1, None);
            }
            types[number] = Some((name.clone(), What::of(name)));
        }
        let of = |table: &str, name: &str| constants.get(table)?.get(name)?.as_i64();
        let account = &mut writer.account;
        account.format = "netlog";
        account.schema = constants.get("logFormatVersion").map(|version| format!("netlog {version}"));
        let client = |key: &str| constants.get("clientInfo")?.get(key)?.as_str();
        let words: Vec<_> = ["name", "version"].into_iter().filter_map(client).collect();
        account.producer = Some(words.join(" ")).filter(|producer| !producer.is_empty());
        account.vantage = Vantage::Client.as_str().into();
        account.clock = "monotonic";
        account.reference_unix_ns = constants.get("timeTickOffset").and_then(|offset| {
            let text = offset.as_str().map_or_else(|| offset.to_string(), str::to_owned);
            scaled(text.as_bytes(), 6)
        });
        Some(Self {
            types,
            session_type: of("logSourceType", "QUIC_SESSION")?,
            idle_timeout: of("quicError", "QUIC_NETWORK_IDLE_TIMEOUT"),
            rows: Rows::new(Source::Netlog, Vantage::Client),
            sessions: HashMap::new(),
            request_type: of("logSourceType", "URL_REQUEST"),
            requests: None,
        })
    }

    /// Completes what is written beside the rows.
    pub fn finish(&mut self) -> Result<(), Halt> {
        Ok(self.requests.as_mut().map_or(Ok(()), Requests::finish)?)
    }

    /// Reads one event, and counts what became of it.
    pub fn event(&mut self, bytes: &[u8], place: (u64, u64), writer: &mut EventWriter) -> Result<(), Halt> {
        let read = Record::read(bytes).map_err(Refusal::from);
        let name = read.as_ref().ok().and_then(|record| self.name(record)).unwrap_or_default().to_owned();
        match read.and_then(|record| self.understand(&record, writer)) {
            Ok(time_ns) => writer.account.count_read(time_ns),
            Err(Refusal::Ignore) => writer.account.count_ignored(&name),
            Err(Refusal::Skip(reason)) => {
                writer.account.skip(reason, place.0, place.1, format!("an event {name:?} is skipped: {reason}"));
            }
            Err(Refusal::Halt(halt)) => return Err(halt),
        }
        Ok(())
    }

    fn name(&self, record: &Record) -> Option<&str> {
        let known = self.types.get(usize::try_from(record.kind?).ok()?)?;
        known.as_ref().map(|(name, _)| name.as_str())
    }

    fn understand(&mut self, record: &Record, writer: &mut EventWriter) -> Result<i64, Refusal> {
        let kind = record.kind.and_then(|kind| usize::try_from(kind).ok()).ok_or(Refusal::Skip("no type"))?;
        let known = self.types.get(kind).and_then(Option::as_ref).ok_or(Refusal::Skip("an unknown type"))?;
        let (Some(what), true) = (known.1, record.source_type == Some(self.session_type)) else {
            return Err(self.other(kind, record));
        };
        let time_ns = record.time.and_then(|text| scaled(text, 6)).ok_or(Refusal::Skip("no time"))?;
        let source = record.source.ok_or(Refusal::Skip("no source"))?;
        if !self.sessions.contains_key(&source) {
            let begun = self.rows.begin(None, writer).ok_or(Refusal::Skip("too many connections in one file"))?;
            self.sessions.insert(source, Session::new(begun));
        }
        let Some(session) = self.sessions.get_mut(&source) else { return Err(Refusal::Skip("no source")) };
        let at = At { time_ns, connection: session.connection, path: None };
        let idle_timeout = self.idle_timeout;
        session.event(what, at, record.phase, record.params, idle_timeout, &mut self.rows, writer)
    }
}

impl Netlog {
    /// An event that gives no row, but may belong to a request.
    fn other(&mut self, kind: usize, record: &Record) -> Refusal {
        let name = self.types.get(kind).and_then(Option::as_ref).map_or("", |(name, _)| name.as_str());
        let of_request = self.request_type.is_some() && record.source_type == self.request_type && is_of_request(name);
        let (Some(requests), true) = (&mut self.requests, of_request) else { return Refusal::Ignore };
        let Some(time_ns) = record.time.and_then(|text| scaled(text, 6)) else { return Refusal::Skip("no time") };
        let Some(request) = record.source else { return Refusal::Skip("no source") };
        match requests.write(request, time_ns, name, record.phase.unwrap_or_default(), record.params) {
            Ok(true) => Refusal::Ignore,
            Ok(false) => Refusal::Skip("parameters that are no JSON"),
            Err(error) => Refusal::Halt(error.into()),
        }
    }
}
