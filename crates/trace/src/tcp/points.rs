//! Events of the kernel's tracepoints, by the descriptions that the recording carries.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use longlook_tcptrace::format::{Field, Format};

use super::message::{Ends, address};

/// The content of a tracepoint's event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// A segment arrived; the values are those from before it was processed.
    Probe {
        /// Of the socket.
        cookie: u64,
        /// The socket's place in memory.
        socket: u64,
        /// Its addresses.
        ends: Ends,
        /// Sequence number of the next new byte.
        snd_nxt: u32,
        /// Of the oldest byte that is not acknowledged.
        snd_una: u32,
        /// Segments.
        cwnd: i64,
        /// Segments.
        ssthresh: i64,
        /// µs.
        srtt_us: i64,
    },
    /// Congestion control entered a state, Open, Disorder, CWR, Recovery, Loss as numbers from 0.
    Congestion {
        /// The socket's place in memory.
        socket: u64,
        /// Its addresses.
        ends: Ends,
        /// Which state.
        state: u8,
    },
    /// A segment was sent again.
    Retransmission {
        /// The socket's place in memory.
        socket: u64,
        /// Its addresses.
        ends: Ends,
        /// The socket's state, `TCP_ESTABLISHED` is 1.
        state: u64,
    },
    /// The other end broke the connection.
    Reset {
        /// The socket's place in memory.
        socket: u64,
        /// Its addresses.
        ends: Ends,
    },
    /// The connection went on to another state, `TCP_ESTABLISHED` is 1.
    Life {
        /// The socket's place in memory.
        socket: u64,
        /// Its addresses.
        ends: Ends,
        /// Before.
        old: u64,
        /// Now.
        new: u64,
    },
}

/// The tracepoints of a recording.
pub struct Points {
    known: BTreeMap<u16, (String, Format)>,
}

impl Points {
    /// Reads their descriptions; names of those that cannot be understood are the second part.
    pub fn new(texts: &BTreeMap<String, String>) -> (Self, Vec<String>) {
        let (mut known, mut strange) = (BTreeMap::new(), Vec::new());
        for (name, text) in texts {
            match Format::parse(text) {
                Some(format) => drop(known.insert(format.id, (name.clone(), format))),
                None => strange.push(name.clone()),
            }
        }
        (Self { known }, strange)
    }

    /// Whether the recording has a tracepoint.
    pub fn has(&self, name: &str) -> bool {
        self.known.values().any(|(known, _)| known == name)
    }

    /// Returns the content of an event, or Err(its tracepoint) if it cannot be used.
    pub fn read(&self, raw: &[u8]) -> Result<Point, &str> {
        let id = raw.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes));
        let (name, format) = id.and_then(|id| self.known.get(&id)).ok_or("an unknown tracepoint")?;
        point(name, format, raw).ok_or(name)
    }
}

fn point(name: &str, format: &Format, raw: &[u8]) -> Option<Point> {
    let number = |name: &str| format.field(name)?.number(raw);
    let word = |name: &str| number(name).map(|number| number as u32);
    let socket = number("skaddr").unwrap_or(0);
    Some(match name {
        "tcp_probe" => Point::Probe {
            cookie: number("sock_cookie")?,
            socket,
            ends: full_ends(format, raw)?,
            snd_nxt: word("snd_nxt")?,
            snd_una: word("snd_una")?,
            cwnd: number("snd_cwnd")? as i64,
            ssthresh: number("ssthresh")? as i64,
            srtt_us: number("srtt")? as i64,
        },
        "tcp_cong_state_set" => {
            Point::Congestion { socket, ends: ends(format, raw)?, state: number("cong_state")? as u8 }
        }
        "tcp_retransmit_skb" => Point::Retransmission { socket, ends: ends(format, raw)?, state: number("state")? },
        "tcp_receive_reset" => Point::Reset { socket, ends: ends(format, raw)? },
        "inet_sock_set_state" => {
            Point::Life { socket, ends: ends(format, raw)?, old: number("oldstate")?, new: number("newstate")? }
        }
        _ => return None,
    })
}

/// Of `tcp_probe`, which has whole socket addresses: family, port, and the address where the family has it.
fn full_ends(format: &Format, raw: &[u8]) -> Option<Ends> {
    let family = format.field("family")?.number(raw)? as u8;
    let end = |name: &str, port: &str| {
        let bytes = format.field(name)?.bytes(raw)?;
        let port = format.field(port)?.number(raw)? as u16;
        Some(SocketAddr::new(address(family, bytes.get(if family == 2 { 4 } else { 8 }..)?)?, port))
    };
    Some(Ends { local: end("saddr", "sport")?, remote: end("daddr", "dport")? })
}

fn ends(format: &Format, raw: &[u8]) -> Option<Ends> {
    let family = format.field("family")?.number(raw)? as u8;
    let end = |v4: &str, v6: &str, port: &str| {
        let field: Field = format.field(if family == 2 { v4 } else { v6 })?;
        let port = format.field(port)?.number(raw)? as u16;
        Some(SocketAddr::new(address(family, field.bytes(raw)?)?, port))
    };
    Some(Ends { local: end("saddr", "saddr_v6", "sport")?, remote: end("daddr", "daddr_v6", "dport")? })
}
