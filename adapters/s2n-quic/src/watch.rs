//! Prints the line of each connection when s2n-quic reports that its handshake is complete.

use std::net::SocketAddr;

use longlook_adapter::lines::{ConnectionLine, emit};
use s2n_quic::provider::event::events::{
    ConnectionStarted, EndpointMeta, HandshakeStatus, HandshakeStatusUpdated, PlatformFeatureConfiguration,
    PlatformFeatureConfigured,
};
use s2n_quic::provider::event::{ConnectionInfo, ConnectionMeta, Subscriber};

use crate::PROTOCOL;

/// Watches an endpoint.
pub struct Watch {
    local: SocketAddr,
    t_start_ns: Option<u64>,
    offloads: Option<bool>,
}

impl Watch {
    /// Watch the endpoint at `local`; a client's has one connection, which was asked for at `t_start_ns`.
    pub fn new(local: SocketAddr, t_start_ns: Option<u64>) -> Self {
        Self { local, t_start_ns, offloads: None }
    }
}

impl Subscriber for Watch {
    /// The other end.
    type ConnectionContext = Option<SocketAddr>;

    fn create_connection_context(&mut self, _: &ConnectionMeta, _: &ConnectionInfo) -> Option<SocketAddr> {
        None
    }

    fn on_platform_feature_configured(&mut self, _: &EndpointMeta, event: &PlatformFeatureConfigured) {
        if let PlatformFeatureConfiguration::Gso { max_segments, .. } = event.configuration {
            self.offloads = Some(max_segments > 1);
        }
    }

    fn on_connection_started(
        &mut self,
        remote: &mut Option<SocketAddr>,
        _: &ConnectionMeta,
        event: &ConnectionStarted,
    ) {
        *remote = Some((&event.path.remote_addr).into());
    }

    fn on_handshake_status_updated(
        &mut self,
        remote: &mut Option<SocketAddr>,
        _: &ConnectionMeta,
        event: &HandshakeStatusUpdated,
    ) {
        if let (HandshakeStatus::Complete { .. }, Some(remote)) = (&event.status, *remote) {
            let mut line = ConnectionLine::now(PROTOCOL, self.local, remote);
            line.gso = self.offloads;
            line.primes = self.t_start_ns.map(|_| false);
            line.t_start_ns = self.t_start_ns;
            emit(&line);
        }
    }
}
