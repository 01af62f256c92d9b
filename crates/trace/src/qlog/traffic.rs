//! Packets: sent, received, acknowledged, lost, dropped.

use crate::event::{Kind, Space};
use crate::json::Cursor;
use crate::qlog::packet::{self, Frame, Packet};
use crate::qlog::record::Record;
use crate::qlog::{Qlog, Refusal};
use crate::rows::{At, Blocked};
use crate::sent;
use crate::writer::EventWriter;

impl Qlog {
    pub(super) fn packet_sent(&mut self, at: At, record: &Record, writer: &mut EventWriter) -> Result<(), Refusal> {
        let packet = Packet::read(record.data)?;
        let space = packet.space();
        let at = self.on_path(at, record, packet.path, packet.number.filter(|_| is_application(space)), writer)?;
        self.packet_row(at, Kind::PacketSent, &packet, writer)?;
        if let (Some(space), Some(number)) = (space, packet.number) {
            let sent = sent::Packet { number, size_bytes: packet.size_bytes, zero_rtt: space == Space::ZeroRtt };
            if self.rows.connections[at.connection].send(space, at.path, sent) {
                writer.plausible.sent_again(at.connection, at.path);
            }
        }
        if space == Some(Space::Retry) {
            self.rows.milestone_once(at, "retry", None, writer)?;
        }
        self.frames(at, &packet, "frame_sent", writer)
    }

    pub(super) fn packet_received(&mut self, at: At, record: &Record, writer: &mut EventWriter) -> Result<(), Refusal> {
        let packet = Packet::read(record.data)?;
        let at = self.on_path(at, record, packet.path, None, writer)?;
        self.packet_row(at, Kind::PacketReceived, &packet, writer)?;
        match packet.space() {
            Some(Space::Retry) => self.rows.milestone_once(at, "retry", None, writer)?,
            Some(Space::ZeroRtt) => self.rows.milestone_once(at, "early_data_accepted", None, writer)?,
            _ => {}
        }
        self.frames(at, &packet, "frame_received", writer)
    }

    fn packet_row(&self, at: At, kind: Kind, packet: &Packet, writer: &mut EventWriter) -> Result<(), Refusal> {
        let mut row = self.rows.row(at, kind);
        row.space = packet.space();
        row.packet_number = packet.number;
        row.size_bytes = packet.size_bytes;
        Ok(writer.push(row)?)
    }

    fn frames(&mut self, at: At, packet: &Packet, way: &str, writer: &mut EventWriter) -> Result<(), Refusal> {
        let received = way == "frame_received";
        // A trace that does not know the type of a packet (quic-trace) may still have sent in one space only.
        let space = packet.space().or_else(|| self.rows.connections[at.connection].only_space());
        let mut acked: Vec<(Option<i64>, Vec<sent::Packet>)> = Vec::new();
        let mut others: Vec<Frame> = Vec::new();
        packet::frames(packet.frames, |frame| {
            match frame {
                Frame::Ack(path, ranges) if received => {
                    let connection = &mut self.rows.connections[at.connection];
                    // A plain ACK is of the first path, whichever it came on.
                    let path = path.or_else(|| connection.has_paths().then_some(0));
                    if let Some(sent) = space.and_then(|space| connection.sent(space, path)) {
                        let (mut highest, mut newly) = (None, Vec::new());
                        packet::ranges(ranges, |low, high| {
                            highest = highest.max(Some(high));
                            sent.acknowledge(low, high, |packet| newly.push(packet));
                        })?;
                        let beyond = !sent.is_empty() && highest.is_some_and(|highest| highest >= sent.next());
                        writer.plausible.ack(at.connection, path, beyond);
                        acked.push((path, newly));
                    } else {
                        writer.plausible.ack(at.connection, path, false);
                        let of = if space.is_none() { "in a packet of unknown type" } else { "of an unknown path" };
                        writer.account.count_frame_ignored(&format!("ack {of}"));
                    }
                }
                Frame::Ack(..) => {}
                Frame::Other(kind) => writer.account.count_frame_ignored(&String::from_utf8_lossy(kind)),
                Frame::Stream(_) if !received => {}
                other => others.push(other),
            }
            Ok(())
        })?;
        for (path, acked) in acked {
            self.acked(At { path, ..at }, space, acked, writer)?;
        }
        for frame in others {
            self.frame(at, packet, frame, way, writer)?;
        }
        Ok(())
    }

    fn acked(
        &mut self,
        at: At,
        space: Option<Space>,
        acked: Vec<sent::Packet>,
        writer: &mut EventWriter,
    ) -> Result<(), Refusal> {
        if !acked.is_empty() && self.numbers(at).pto_count.is_none() {
            self.rows.connections[at.connection].probes = 0;
        }
        Ok(self.rows.acked(at, space, acked, writer)?)
    }

    fn frame(
        &mut self,
        at: At,
        packet: &Packet,
        frame: Frame,
        way: &str,
        writer: &mut EventWriter,
    ) -> Result<(), Refusal> {
        let (name, stream, limit) = match frame {
            Frame::Ack(..) | Frame::Other(_) => return Ok(()),
            Frame::HandshakeDone => {
                return Ok(self.rows.milestone_once(at, "confirmed", Some("handshake_done frame"), writer)?);
            }
            Frame::Stream(part) => {
                let mut row = self.rows.row(at, Kind::StreamData);
                row.space = packet.space();
                row.packet_number = packet.number;
                row.size_bytes = Some(part.length);
                row.stream = Some(part.stream);
                row.value = Some(part.offset as f64);
                return Ok(writer.push(row)?);
            }
            Frame::DataBlocked(limit) => ("connection", None, limit),
            Frame::StreamDataBlocked(stream, limit) => ("stream", stream, limit),
            Frame::StreamsBlocked(true, limit) => ("streams_bidi", None, limit),
            Frame::StreamsBlocked(false, limit) => ("streams_uni", None, limit),
        };
        Ok(self.rows.blocked(at, Blocked { name, stream, limit }, way, writer)?)
    }

    /// An event of its own for acknowledgements; those that ACK frames have reported already give no second row.
    pub(super) fn packets_acked(&mut self, at: At, record: &Record, writer: &mut EventWriter) -> Result<(), Refusal> {
        let mut space = None;
        let mut numbers: &[u8] = b"";
        Cursor::new(record.data).object(|key, cursor| {
            match key {
                b"packet_number_space" | b"packet_type" => space = packet::space(cursor.scalar()?),
                b"packet_numbers" | b"acked_ranges" => numbers = cursor.skip()?,
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })?;
        let space = space.unwrap_or(Space::OneRtt);
        let mut acked = Vec::new();
        if let Some(sent) = self.rows.connections[at.connection].sent(space, at.path) {
            packet::ranges(numbers, |low, high| sent.acknowledge(low, high, |packet| acked.push(packet)))?;
        }
        self.acked(at, Some(space), acked, writer)
    }

    pub(super) fn packet_lost(&mut self, at: At, record: &Record, writer: &mut EventWriter) -> Result<(), Refusal> {
        let packet = Packet::read(record.data)?;
        let at = self.on_path(at, record, packet.path, None, writer)?;
        let mut row = self.rows.row(at, Kind::PacketLost);
        row.space = packet.space();
        row.packet_number = packet.number;
        let sent = row.space.and_then(|space| self.rows.connections[at.connection].sent(space, at.path));
        let known = sent.and_then(|sent| sent.packet(packet.number?));
        row.size_bytes = packet.size_bytes.or(known.and_then(|known| known.size_bytes));
        if let Some((count, bytes)) = packet.lost.filter(|_| packet.number.is_none()) {
            row.value = Some(count as f64);
            row.size_bytes = bytes;
        }
        let trigger = packet.trigger.or(record.trigger).filter(|trigger| !trigger.is_empty());
        row.name = trigger.and_then(|trigger| writer.text(&lost_by(&crate::json::text(trigger))));
        Ok(writer.push(row)?)
    }

    pub(super) fn packet_dropped(&mut self, at: At, record: &Record, writer: &mut EventWriter) -> Result<(), Refusal> {
        let packet = Packet::read(record.data)?;
        let at = self.on_path(at, record, packet.path, None, writer)?;
        let mut row = self.rows.row(at, Kind::PacketDiscarded);
        row.space = packet.space();
        row.packet_number = packet.number;
        row.size_bytes = packet.size_bytes;
        row.name = packet.trigger.or(record.trigger).and_then(|trigger| writer.text(&crate::json::text(trigger)));
        Ok(writer.push(row)?)
    }
}

/// Whether packets of this space may have numbers of their own on each path.
fn is_application(space: Option<Space>) -> bool {
    matches!(space, Some(Space::OneRtt | Space::ZeroRtt))
}

/// The draft's names, for older ones too.
fn lost_by(trigger: &str) -> String {
    let trigger = trigger.to_ascii_lowercase();
    match trigger.as_str() {
        "pto_expired" => "pto".into(),
        "packet_threshold" => "reordering_threshold".into(),
        _ => trigger,
    }
}
