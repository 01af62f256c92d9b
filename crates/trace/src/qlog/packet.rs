//! The content of `packet_sent`, `packet_received`, `packet_lost` and `packet_dropped`, over all schemas.

use crate::decimal::scaled;
use crate::event::Space;
use crate::json::{Bad, Cursor};

/// A packet as an event describes it.
#[derive(Clone, Copy, Default)]
pub struct Packet<'a> {
    /// Its type as the file writes it.
    pub kind: Option<&'a [u8]>,
    /// Its number.
    pub number: Option<i64>,
    /// Its size with its header.
    pub size_bytes: Option<i64>,
    /// Its path, in Multipath QUIC.
    pub path: Option<i64>,
    /// How many packets the event stands for, and their bytes, if it stands for several (mvfst).
    pub lost: Option<(i64, Option<i64>)>,
    /// Why it was lost or dropped.
    pub trigger: Option<&'a [u8]>,
    /// Its frames: one JSON array, or nothing.
    pub frames: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads the data of an event.
    pub fn read(data: &'a [u8]) -> Result<Self, Bad> {
        let mut packet = Self::default();
        if data.is_empty() {
            return Err(Bad::Shape);
        }
        Cursor::new(data).object(|key, cursor| {
            match key {
                b"header" => packet.header(cursor)?,
                b"raw" => packet.raw(cursor)?,
                b"frames" => packet.frames = cursor.skip()?,
                b"lost_packets" => packet.count(scaled(cursor.scalar()?, 0), None),
                b"lost_bytes" => packet.count(None, scaled(cursor.scalar()?, 0)),
                b"packet_type" | b"packet_number" | b"packet_size" | b"size" | b"type" | b"pn" => {
                    packet.part(key, cursor)?;
                }
                b"trigger" | b"drop_reason" | b"loss_trigger" => packet.trigger = Some(cursor.scalar()?),
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })?;
        Ok(packet)
    }

    fn header(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Bad> {
        if cursor.peek()? != b'{' {
            return cursor.skip().map(|_| ());
        }
        cursor.object(|key, cursor| self.part(key, cursor))
    }

    fn raw(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Bad> {
        if cursor.peek()? != b'{' {
            return cursor.skip().map(|_| ());
        }
        cursor.object(|key, cursor| {
            if key == b"length" {
                self.size_bytes = scaled(cursor.scalar()?, 0).or(self.size_bytes);
            } else {
                cursor.skip()?;
            }
            Ok(())
        })
    }

    fn part(&mut self, key: &[u8], cursor: &mut Cursor<'a>) -> Result<(), Bad> {
        match key {
            b"packet_type" | b"type" => self.kind = Some(cursor.scalar()?),
            b"packet_number" | b"pn" => self.number = scaled(cursor.scalar()?, 0),
            b"path_id" => self.path = scaled(cursor.scalar()?, 0),
            b"packet_size" | b"size" | b"length" => self.size_bytes = scaled(cursor.scalar()?, 0).or(self.size_bytes),
            _ => {
                cursor.skip()?;
            }
        }
        Ok(())
    }

    fn count(&mut self, packets: Option<i64>, bytes: Option<i64>) {
        let (known_packets, known_bytes) = self.lost.unwrap_or((1, None));
        self.lost = Some((packets.unwrap_or(known_packets), bytes.or(known_bytes)));
    }

    /// Its number space, or the form of a packet without a number.
    #[must_use]
    pub fn space(&self) -> Option<Space> {
        space(self.kind?)
    }
}

/// The space of a packet type, or of a `packet_number_space`.
#[must_use]
pub fn space(kind: &[u8]) -> Option<Space> {
    Some(match kind {
        b"1RTT" | b"1rtt" | b"application_data" | b"onertt" | b"short" | b"short_header" | b"application" => {
            Space::OneRtt
        }
        b"initial" => Space::Initial,
        b"handshake" => Space::Handshake,
        b"0RTT" | b"0rtt" | b"zerortt" => Space::ZeroRtt,
        b"retry" => Space::Retry,
        b"version_negotiation" => Space::VersionNegotiation,
        _ if kind.iter().any(u8::is_ascii_uppercase) => return space(&kind.to_ascii_lowercase()),
        _ => return None,
    })
}

/// A frame that becomes part of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// The path that it acknowledges packets of, if it names one, and its ranges: one JSON array.
    Ack(Option<i64>, &'a [u8]),
    /// The limit of the connection's data.
    DataBlocked(Option<i64>),
    /// Stream and limit.
    StreamDataBlocked(Option<i64>, Option<i64>),
    /// Whether it is about bidirectional streams, and their limit.
    StreamsBlocked(bool, Option<i64>),
    /// The handshake is confirmed.
    HandshakeDone,
    /// A part of a stream.
    Stream(Part),
    /// A frame that becomes none, by the name of its kind.
    Other(&'a [u8]),
}

/// What a STREAM frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The stream.
    pub stream: i64,
    /// Where in the stream its first byte belongs.
    pub offset: i64,
    /// How many bytes it has.
    pub length: i64,
}

/// Gives every frame of an array of frames that becomes part of a row.
pub fn frames<'a>(text: &'a [u8], mut each: impl FnMut(Frame<'a>) -> Result<(), Bad>) -> Result<(), Bad> {
    if text.first() != Some(&b'[') {
        return Ok(());
    }
    Cursor::new(text).array(|_, cursor| {
        if cursor.peek()? != b'{' {
            return cursor.skip().map(|_| ());
        }
        let mut kind: &[u8] = b"";
        let mut ranges: &[u8] = b"";
        let mut path = None;
        let (mut limit, mut stream, mut of_streams): (_, _, &[u8]) = (None, None, b"");
        let (mut offset, mut length) = (Some(0), None);
        cursor.object(|key, cursor| {
            match key {
                b"frame_type" => kind = cursor.scalar()?,
                b"acked_ranges" => ranges = cursor.skip()?,
                b"limit" | b"maximum" | b"maximum_data" | b"maximum_stream_data" | b"maximum_streams" => {
                    limit = scaled(cursor.scalar()?, 0);
                }
                b"stream_id" | b"id" => stream = scaled(cursor.scalar()?, 0),
                b"path_id" | b"path_identifier" | b"dcid_sequence_number" => path = scaled(cursor.scalar()?, 0),
                b"stream_type" => of_streams = cursor.scalar()?,
                b"offset" => offset = scaled(cursor.scalar()?, 0),
                b"length" => length = scaled(cursor.scalar()?, 0),
                b"raw" if cursor.peek()? == b'{' => cursor.object(|key, cursor| {
                    if key == b"payload_length" {
                        length = scaled(cursor.scalar()?, 0);
                    } else {
                        cursor.skip()?;
                    }
                    Ok(())
                })?,
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })?;
        let lower = kind.iter().any(u8::is_ascii_uppercase).then(|| kind.to_ascii_lowercase());
        match lower.as_deref().unwrap_or(kind) {
            b"ack" => each(Frame::Ack(None, ranges)),
            b"path_ack" | b"ack_mp" => each(Frame::Ack(path.or(Some(0)), ranges)),
            b"data_blocked" => each(Frame::DataBlocked(limit)),
            b"stream_data_blocked" => each(Frame::StreamDataBlocked(stream, limit)),
            b"streams_blocked" => each(Frame::StreamsBlocked(!of_streams.starts_with(b"uni"), limit)),
            b"handshake_done" => each(Frame::HandshakeDone),
            b"stream" => match (stream, offset, length) {
                (Some(stream), Some(offset), Some(length)) => each(Frame::Stream(Part { stream, offset, length })),
                _ => each(Frame::Other(b"stream without id or length")),
            },
            b"" => each(Frame::Other(b"(without a type)")),
            _ => each(Frame::Other(kind)),
        }
    })
}

/// Gives every range of an ACK frame, both ends included: `[[5],[1,3]]`, and older `["5","1-3"]` and `[["1","3"]]`.
pub fn ranges(text: &[u8], mut each: impl FnMut(i64, i64)) -> Result<(), Bad> {
    if text.first() != Some(&b'[') {
        return Ok(());
    }
    Cursor::new(text).array(|_, cursor| {
        let (mut low, mut high) = (None, None);
        if cursor.peek()? == b'[' {
            cursor.array(|place, cursor| {
                let number = scaled(cursor.scalar()?, 0);
                if place == 0 {
                    low = number;
                }
                high = number;
                Ok(())
            })?;
        } else {
            let one = cursor.scalar()?;
            let (from, to) = match memchr::memchr2(b'-', b'.', one) {
                Some(at) => (&one[..at], &one[memchr::memrchr2(b'-', b'.', one).unwrap_or(at) + 1..]),
                None => (one, one),
            };
            (low, high) = (scaled(from, 0), scaled(to, 0));
        }
        if let (Some(low), Some(high)) = (low, high) {
            each(low.min(high), low.max(high));
        }
        Ok(())
    })
}
