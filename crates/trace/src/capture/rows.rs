//! Rows of one connection of a capture.

use crate::event::{Event, Kind, Source, Space, Text, Vantage};
use crate::writer::{EventWriter, Halt};

/// How acknowledgements are marked that may be for another copy of their packet: no round trip is taken of them.
pub const UNSURE: &str = "unsure";

/// Of which connection, as which end.
#[derive(Clone, Copy)]
pub struct Place {
    pub connection: u32,
    pub vantage: Vantage,
    pub flow: Option<Text>,
}

/// Writes rows of one moment.
pub struct Now<'a> {
    pub time_ns: i64,
    /// Of the file's frames, from 1: by it Wireshark finds the packet.
    pub frame: u64,
    pub place: Place,
    pub writer: &'a mut EventWriter,
}

/// A packet of the connection.
#[derive(Clone, Copy)]
pub struct Sized {
    pub space: Option<Space>,
    pub number: Option<i64>,
    pub bytes: i64,
}

/// What is known of a round trip when it is measured.
#[derive(Clone, Copy)]
pub struct Figures {
    pub latest_ns: i64,
    pub smoothed_ns: i64,
    pub least_ns: i64,
    pub in_flight_bytes: i64,
}

impl Now<'_> {
    pub fn row(&self, kind: Kind) -> Event {
        let Place { connection, vantage, flow } = self.place;
        Event { connection, flow, ..Event::new(self.time_ns, vantage, Source::Capture, kind) }
    }

    pub fn packet(&mut self, kind: Kind, packet: Sized, name: Option<&str>) -> Result<(), Halt> {
        let name = name.and_then(|name| self.writer.text(name));
        let Sized { space, number, bytes } = packet;
        let value = matches!(kind, Kind::PacketSent | Kind::PacketReceived).then_some(self.frame as f64);
        let row = Event { space, packet_number: number, size_bytes: Some(bytes), name, value, ..self.row(kind) };
        self.writer.push(row)
    }

    pub fn acked(&mut self, packet: Sized, acked_bytes: i64, sure: bool) -> Result<(), Halt> {
        let detail = if sure { None } else { self.writer.text(UNSURE) };
        let Sized { space, number, bytes } = packet;
        let row = self.row(Kind::PacketAcked);
        let acked_bytes = Some(acked_bytes);
        self.writer.push(Event { space, packet_number: number, size_bytes: Some(bytes), acked_bytes, detail, ..row })
    }

    pub fn figures(&mut self, figures: Figures) -> Result<(), Halt> {
        self.writer.push(Event {
            latest_rtt_ns: Some(figures.latest_ns),
            srtt_ns: Some(figures.smoothed_ns),
            min_rtt_ns: Some(figures.least_ns),
            in_flight_bytes: Some(figures.in_flight_bytes),
            ..self.row(Kind::Metrics)
        })
    }

    pub fn named(&mut self, kind: Kind, name: &str, detail: Option<&str>, value: Option<f64>) -> Result<(), Halt> {
        let (name, detail) = (self.writer.text(name), detail.and_then(|detail| self.writer.text(detail)));
        self.writer.push(Event { name, detail, value, ..self.row(kind) })
    }

    pub fn part(&mut self, stream: i64, offset: i64, bytes: i64) -> Result<(), Halt> {
        let row = self.row(Kind::StreamData);
        self.writer.push(Event { stream: Some(stream), value: Some(offset as f64), size_bytes: Some(bytes), ..row })
    }
}

/// Round trips so far (RFC 6298, 2).
#[derive(Clone, Copy, Default)]
pub struct RoundTrips {
    pub latest_ns: i64,
    pub smoothed_ns: i64,
    pub least_ns: i64,
}

impl RoundTrips {
    pub fn learn(&mut self, latest_ns: i64) {
        let first = self.least_ns == 0;
        self.latest_ns = latest_ns;
        self.smoothed_ns = if first { latest_ns } else { self.smoothed_ns + (latest_ns - self.smoothed_ns) / 8 };
        self.least_ns = if first { latest_ns } else { self.least_ns.min(latest_ns) };
    }
}
