//! The frames of an opened packet (RFC 9000, 19; RFC 9221; draft-ietf-quic-ack-frequency).

use super::header::number;

const MOST_RANGES: usize = 1 << 10;

/// A frame, as far as it becomes rows.
pub enum Frame<'a> {
    /// Ranges of numbers, both ends included.
    Ack(Vec<(i64, i64)>),
    Crypto {
        offset: i64,
        data: &'a [u8],
    },
    Stream {
        id: i64,
        offset: i64,
        bytes: i64,
    },
    /// Name as in a row, stream, limit.
    Blocked {
        name: &'static str,
        stream: Option<i64>,
        limit: i64,
    },
    NewConnectionId(&'a [u8]),
    HandshakeDone,
    Close {
        code: i64,
        is_application: bool,
    },
    /// A frame that gives no row: its name.
    Other(&'static str),
}

/// Gives each frame to `each`; false if they cannot all be read.
pub fn read<'a, E>(bytes: &'a [u8], mut each: impl FnMut(Frame<'a>) -> Result<(), E>) -> Result<bool, E> {
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == 0 {
            at += bytes[at..].iter().take_while(|byte| **byte == 0).count();
            continue;
        }
        let Some((frame, end)) = one(bytes, at) else { return Ok(false) };
        each(frame)?;
        at = end;
    }
    Ok(true)
}

/// Reads numbers one after the other.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn number(&mut self) -> Option<i64> {
        let (value, at) = number(self.bytes, self.at)?;
        self.at = at;
        i64::try_from(value).ok()
    }

    fn take(&mut self, count: i64) -> Option<&'a [u8]> {
        let end = self.at.checked_add(usize::try_from(count).ok()?)?;
        let found = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(found)
    }

    fn rest(&self) -> i64 {
        (self.bytes.len() - self.at) as i64
    }
}

fn one(bytes: &[u8], at: usize) -> Option<(Frame<'_>, usize)> {
    let mut cursor = Cursor { bytes, at };
    let kind = cursor.number()?;
    let frame = match kind {
        0x01 => Frame::Other("ping"),
        0x02 | 0x03 => ack(&mut cursor, kind == 0x03)?,
        0x04 => numbers(&mut cursor, 3, "reset_stream")?,
        0x05 => numbers(&mut cursor, 2, "stop_sending")?,
        0x06 => {
            let (offset, length) = (cursor.number()?, cursor.number()?);
            Frame::Crypto { offset, data: cursor.take(length)? }
        }
        0x07 => {
            let length = cursor.number()?;
            cursor.take(length)?;
            Frame::Other("new_token")
        }
        0x08..=0x0f => {
            let id = cursor.number()?;
            let offset = if kind & 4 == 0 { 0 } else { cursor.number()? };
            let length = if kind & 2 == 0 { cursor.rest() } else { cursor.number()? };
            cursor.take(length)?;
            Frame::Stream { id, offset, bytes: length }
        }
        0x10 => numbers(&mut cursor, 1, "max_data")?,
        0x11 => numbers(&mut cursor, 2, "max_stream_data")?,
        0x12 | 0x13 => numbers(&mut cursor, 1, "max_streams")?,
        0x14 => Frame::Blocked { name: "connection", stream: None, limit: cursor.number()? },
        0x15 => {
            let stream = cursor.number()?;
            Frame::Blocked { name: "stream", stream: Some(stream), limit: cursor.number()? }
        }
        0x16 => Frame::Blocked { name: "streams_bidi", stream: None, limit: cursor.number()? },
        0x17 => Frame::Blocked { name: "streams_uni", stream: None, limit: cursor.number()? },
        0x18 => {
            cursor.number()?;
            cursor.number()?;
            let length = i64::from(*cursor.take(1)?.first()?);
            let id = cursor.take(length)?;
            cursor.take(16)?;
            Frame::NewConnectionId(id)
        }
        0x19 => numbers(&mut cursor, 1, "retire_connection_id")?,
        0x1a | 0x1b => {
            cursor.take(8)?;
            Frame::Other(if kind == 0x1a { "path_challenge" } else { "path_response" })
        }
        0x1c | 0x1d => {
            let code = cursor.number()?;
            if kind == 0x1c {
                cursor.number()?;
            }
            let length = cursor.number()?;
            cursor.take(length)?;
            Frame::Close { code, is_application: kind == 0x1d }
        }
        0x1e => Frame::HandshakeDone,
        0x30 | 0x31 => {
            let length = if kind == 0x30 { cursor.rest() } else { cursor.number()? };
            cursor.take(length)?;
            Frame::Other("datagram")
        }
        0xaf => numbers(&mut cursor, 4, "ack_frequency")?,
        0x1f => Frame::Other("immediate_ack"),
        _ => return None,
    };
    Some((frame, cursor.at))
}

fn numbers<'a>(cursor: &mut Cursor, count: usize, name: &'static str) -> Option<Frame<'a>> {
    for _ in 0..count {
        cursor.number()?;
    }
    Some(Frame::Other(name))
}

fn ack<'a>(cursor: &mut Cursor, with_marks: bool) -> Option<Frame<'a>> {
    let (largest, _delay, count, first) = (cursor.number()?, cursor.number()?, cursor.number()?, cursor.number()?);
    let mut low = largest.checked_sub(first).filter(|low| *low >= 0)?;
    let mut ranges = vec![(low, largest)];
    for _ in 0..count {
        let (gap, length) = (cursor.number()?, cursor.number()?);
        let high = low.checked_sub(gap)?.checked_sub(2)?;
        low = high.checked_sub(length).filter(|low| *low >= 0)?;
        if ranges.len() < MOST_RANGES {
            ranges.push((low, high));
        }
    }
    if with_marks {
        for _ in 0..3 {
            cursor.number()?;
        }
    }
    Some(Frame::Ack(ranges))
}
