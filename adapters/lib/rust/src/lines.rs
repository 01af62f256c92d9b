//! The lines on standard output.

use std::io::Write;
use std::net::SocketAddr;

use serde::Serialize;

/// Write one JSON line to standard output.
pub fn emit(line: &impl Serialize) {
    let mut text = serde_json::to_vec(line).expect("the types below always serialise");
    text.push(b'\n');
    let mut out = std::io::stdout().lock();
    if out.write_all(&text).and_then(|()| out.flush()).is_err() {
        std::process::exit(1); // nobody is listening any more
    }
}

/// A server is ready.
#[derive(Serialize)]
pub struct ReadyLine<'a> {
    event: &'static str,
    role: &'static str,
    protocol: &'a str,
    address: String,
    port: u16,
    version: &'a str,
}

impl<'a> ReadyLine<'a> {
    /// Describe a server of `protocol` at `local`; `version` is the stack's.
    pub fn new(protocol: &'a str, local: SocketAddr, version: &'a str) -> Self {
        let address = local.ip().to_string();
        Self { event: "ready", role: "server", protocol, address, port: local.port(), version }
    }
}

/// A connection whose handshake is complete.
#[derive(Clone, Debug, Serialize)]
pub struct ConnectionLine {
    event: &'static str,
    /// `h3` or `h2`, as negotiated.
    pub protocol: String,
    /// Our end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// A client's: it is only to obtain a ticket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primes: Option<bool>,
    /// TLS was resumed.
    pub resumed: bool,
    /// Early data was sent and taken.
    pub used_0rtt: bool,
    /// A client's: nanoseconds since 1970 at which the connection was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_start_ns: Option<u64>,
    /// Nanoseconds since 1970 at which the handshake was complete.
    pub t_handshake_ns: u64,
    /// The kernel's answer for a TCP socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_control: Option<String>,
    /// A client's over HTTP/2: the window that it offers for each stream at first, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http2_stream_window: Option<u32>,
    /// The same for the connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http2_connection_window: Option<u32>,
    /// UDP segmentation offload was in use, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gso: Option<bool>,
}

impl ConnectionLine {
    /// Describe a full handshake between two addresses that is complete now.
    pub fn now(protocol: &str, local: SocketAddr, remote: SocketAddr) -> Self {
        Self::at(crate::clock::now_ns(), protocol, local, remote)
    }

    /// Describe a full handshake between two addresses that was complete at `t_handshake_ns`.
    pub fn at(t_handshake_ns: u64, protocol: &str, local: SocketAddr, remote: SocketAddr) -> Self {
        Self {
            event: "connection",
            protocol: protocol.into(),
            local,
            remote,
            primes: None,
            resumed: false,
            used_0rtt: false,
            t_start_ns: None,
            t_handshake_ns,
            congestion_control: None,
            http2_stream_window: None,
            http2_connection_window: None,
            gso: None,
        }
    }
}

/// One requested path of one connection.
#[derive(Clone, Debug, Serialize)]
pub struct ObjectLine {
    pub(crate) event: &'static str,
    pub(crate) url: String,
    pub(crate) path: String,
    pub(crate) local: Option<SocketAddr>,
    pub(crate) protocol: Option<String>,
    pub(crate) status: Option<u16>,
    pub(crate) t_start_ns: u64,
    pub(crate) t_first_byte_ns: Option<u64>,
    pub(crate) t_end_ns: Option<u64>,
    pub(crate) bytes: u64,
    pub(crate) digest: Option<String>,
    pub(crate) error: Option<String>,
}

/// Why a program cannot go on.
#[derive(Serialize)]
pub struct ErrorLine<'a> {
    event: &'static str,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    supported: Option<bool>,
}

impl<'a> ErrorLine<'a> {
    /// Give the reason; `supported` is false where the stack cannot do what the caller wants.
    pub fn new(reason: &'a str, supported: Option<bool>) -> Self {
        Self { event: "error", reason, supported }
    }
}
