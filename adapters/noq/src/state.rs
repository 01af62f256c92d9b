//! How a handshake went: noq does not report resumption, so its TLS sessions are watched at work.

use std::any::Any;
use std::sync::atomic::Ordering;

use noq::crypto::{self, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, UnsupportedVersion};
use noq::{ConnectError, ConnectionId, Side};
use noq_proto::TransportError;
use noq_proto::transport_parameters::TransportParameters;

use crate::tls::Marks;

/// The type of `Connection::handshake_data` here.
pub struct State {
    /// TLS went on from a ticket.
    pub resumed: bool,
    /// A server's: early data was offered and taken.
    pub used_0rtt: bool,
}

/// noq's TLS configuration, a server's (which counts resumptions) or a client's (which counts verifications).
pub struct Watched<C> {
    inner: C,
    marks: Marks,
}

impl<C> Watched<C> {
    /// `marks` are what `inner` counts.
    pub fn new(inner: C, marks: Marks) -> Self {
        Self { inner, marks }
    }
}

impl<C: crypto::ServerConfig + 'static> crypto::ServerConfig for Watched<C> {
    fn initial_keys(&self, version: u32, id: ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.inner.initial_keys(version, id)
    }

    fn retry_tag(&self, version: u32, id: ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.inner.retry_tag(version, id, packet)
    }

    fn start_session(&self, version: u32, parameters: &TransportParameters) -> Box<dyn crypto::Session> {
        let inner = self.inner.start_session(version, parameters);
        Box::new(WatchedSession { inner, marks: self.marks.clone(), marked: false, marked_if_resumed: true })
    }
}

impl<C: crypto::ClientConfig + 'static> crypto::ClientConfig for Watched<C> {
    fn start_session(
        &self,
        version: u32,
        server_name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, ConnectError> {
        let inner = self.inner.start_session(version, server_name, parameters)?;
        Ok(Box::new(WatchedSession { inner, marks: self.marks.clone(), marked: false, marked_if_resumed: false }))
    }
}

struct WatchedSession {
    inner: Box<dyn crypto::Session>,
    marks: Marks,
    marked: bool,
    marked_if_resumed: bool,
}

impl crypto::Session for WatchedSession {
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()?;
        let used_0rtt = self.inner.early_crypto().is_some(); // a server's rustls drops them where it takes no early data
        Some(Box::new(State { resumed: self.marked == self.marked_if_resumed, used_0rtt }))
    }

    fn read_handshake(&mut self, data: &[u8]) -> Result<bool, TransportError> {
        let before = self.marks.load(Ordering::Relaxed);
        let read = self.inner.read_handshake(data);
        self.marked |= self.marks.load(Ordering::Relaxed) != before; // one thread: nobody else counted meanwhile
        read
    }

    fn initial_keys(&self, id: ConnectionId, side: Side) -> Keys {
        self.inner.initial_keys(id, side)
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        self.inner.write_handshake(out)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.inner.next_1rtt_keys()
    }

    fn is_valid_retry(&self, id: ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(id, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}
