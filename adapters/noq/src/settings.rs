//! The knobs of one run, applied over noq's own defaults.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;
#[cfg(feature = "qlog")]
use std::time::Instant;

use longlook_adapter::failure::Failure;
use longlook_adapter::knobs::Knobs;
#[cfg(feature = "qlog")]
use longlook_adapter::logs;
use longlook_adapter::moving::Moves;
use noq::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use noq::udp::UdpSocketState;
use noq::{AckFrequencyConfig, MtuDiscoveryConfig, TransportConfig, VarInt};
#[cfg(feature = "qlog")]
use noq::{ConnectionId, QlogConfig, QlogFactory, Side};

use crate::bounded::{BoundedConfig, Bounds};

const LARGEST: u64 = (1 << 62) - 1;
/// The largest window of HTTP/2 (RFC 9113, 6.9.1).
const LARGEST_HTTP2: u64 = (1 << 31) - 1;
/// The smallest window of an HTTP/2 connection, which its beginning gives (RFC 9113, 6.9.2).
const LEAST_HTTP2_CONNECTION: u64 = 65_535;
const LEAST_PAYLOAD: u64 = 1200;
/// The default upper bound of noq's own discovery.
const MOST_PAYLOAD: u64 = 1452;

/// The name of how noq shares packets among paths: the first takes what its window and its pacing let, the next the rest.
const IN_ORDER: &str = "in-order";
/// Paths of a connection with the knob `multipath`.
const PATHS: u32 = 2;

/// The settings of a run. Each connection gets a transport of its own, because a trace belongs to one.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    congestion: Controller,
    initial_window_packets: Option<u64>,
    bounds: Bounds,
    window_after_loss: Option<f64>,
    persistent_congestion_threshold: Option<u64>,
    send_buffer: Option<u64>,
    packet_threshold: Option<u64>,
    time_threshold: Option<f64>,
    stream_window: Option<u64>,
    connection_window: Option<u64>,
    initial_rtt: Option<Duration>,
    idle_timeout: Option<Duration>,
    keep_alive: Option<Duration>,
    max_udp_payload: Option<u64>,
    disable_pmtud: bool,
    gso: Option<bool>,
    requested_ack_threshold: Option<u64>,
    requested_max_ack_delay: Option<Duration>,
    /// Requests at once per connection; a server's, over both protocols.
    pub max_incoming_streams: Option<u64>,
    /// A server's: accept early data.
    pub allow_0rtt: bool,
    /// A server's over QUIC: no first packet is taken without a token.
    pub retry: bool,
    /// Over QUIC: two paths at once, if the other end agrees.
    pub multipath: bool,
    max_pacing_bytes_per_s: Option<u64>,
    /// Over TCP: data in the SYN.
    pub fast_open: bool,
    /// A client's over TCP.
    pub http2_windows: Http2Windows,
    /// A client's over QUIC: when it moves to its second address.
    pub moves: Moves,
}

/// How much of answers an HTTP/2 client takes before it has opened its windows further, bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Http2Windows {
    /// Of each stream.
    pub stream: u32,
    /// Of the connection.
    pub connection: u32,
}

impl Default for Http2Windows {
    /// Those of hyper's client. Only its sources name them, so that it is always given them.
    fn default() -> Self {
        Self { stream: 2 << 20, connection: 5 << 20 }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Controller {
    #[default]
    Cubic,
    Reno,
    Bbr3,
}

impl Settings {
    /// Take the knobs of a server or a client of one protocol.
    pub fn new(protocol: &str, server: bool, mut knobs: Knobs) -> Result<Self, Failure> {
        let mut settings = Self { allow_0rtt: true, ..Self::default() };
        if server {
            settings.max_incoming_streams = knobs.count("max_incoming_streams", 1..=1 << 20)?;
            settings.allow_0rtt = knobs.flag("allow_0rtt")?.unwrap_or(true);
        }
        if protocol == "h3" {
            settings.set_quic(&mut knobs)?;
            if server {
                settings.retry = knobs.flag("retry")?.unwrap_or(false);
            } else {
                settings.moves = Moves::new(&mut knobs)?;
                settings.initial_rtt = knobs.seconds("initial_rtt", 0.001..=86_400.0)?;
            }
        } else {
            settings.fast_open = knobs.flag("fast_open")?.unwrap_or(false);
            if !server {
                if let Some(bytes) = knobs.count("http2_stream_window", 1..=LARGEST_HTTP2)? {
                    settings.http2_windows.stream = bytes as u32;
                }
                if let Some(bytes) = knobs.count("http2_connection_window", LEAST_HTTP2_CONNECTION..=LARGEST_HTTP2)? {
                    settings.http2_windows.connection = bytes as u32;
                }
            }
        }
        knobs.finish(protocol)?;
        Ok(settings)
    }

    fn set_quic(&mut self, knobs: &mut Knobs) -> Result<(), Failure> {
        let controllers = [("cubic", Controller::Cubic), ("reno", Controller::Reno), ("bbr3", Controller::Bbr3)];
        self.congestion = knobs.choice("congestion_control", &controllers)?.unwrap_or_default();
        self.initial_window_packets = knobs.count("initial_window", 1..=10_000)?;
        self.bounds =
            Bounds { least: knobs.count("min_window", 1..=1000)?, most: knobs.count("max_window", 2..=10_000)? };
        self.window_after_loss = knobs.ratio("window_after_loss", 0.1..=0.99)?;
        if self.window_after_loss.is_some() && self.congestion != Controller::Reno {
            let reason = "knob \"window_after_loss\" is noq's for congestion_control=reno alone";
            return Err(Failure::Unsupported(reason.into()));
        }
        self.persistent_congestion_threshold = knobs.count("persistent_congestion_threshold", 1..=1000)?;
        self.send_buffer = knobs.count("send_buffer", 1..=LARGEST)?;
        self.packet_threshold = knobs.count("packet_threshold", 1..=10_000)?;
        self.time_threshold = knobs.ratio("time_threshold", 1.0..=16.0)?;
        self.stream_window = knobs.count("initial_stream_window", 1..=LARGEST)?;
        self.connection_window = knobs.count("initial_connection_window", 1..=LARGEST)?;
        self.idle_timeout = knobs.seconds("idle_timeout", 0.1..=31_536_000.0)?;
        self.keep_alive = knobs.seconds("keep_alive", 0.1..=86_400.0)?;
        self.max_udp_payload = knobs.count("max_udp_payload", LEAST_PAYLOAD..=MOST_PAYLOAD)?;
        self.disable_pmtud = knobs.flag("disable_pmtud")?.unwrap_or(false);
        self.gso = knobs.flag("gso")?;
        self.multipath = knobs.choice("multipath", &[(IN_ORDER, true)])?.unwrap_or(false);
        self.max_pacing_bytes_per_s = knobs.count("max_pacing_rate", 10_000..=10_000_000_000)?.map(|bits| bits / 8);
        self.requested_ack_threshold = knobs.count("requested_ack_threshold", 1..=1000)?;
        self.requested_max_ack_delay = knobs.seconds("requested_max_ack_delay", 0.001..=1.0)?;
        Ok(())
    }

    /// Make a transport for one connection, with its trace where QLOGDIR asks for one; `client` is the client's end.
    pub fn transport(&self, client: SocketAddr, role: &'static str) -> TransportConfig {
        let mut transport = TransportConfig::default();
        let mtu = self.initial_payload();
        transport.initial_mtu(mtu as u16);
        transport.mtu_discovery_config((!self.disable_pmtud).then(|| {
            let mut discovery = MtuDiscoveryConfig::default();
            discovery.upper_bound(self.max_udp_payload.unwrap_or(MOST_PAYLOAD) as u16);
            discovery
        }));
        transport.congestion_controller_factory(self.controller(mtu));
        if let Some(timeouts) = self.persistent_congestion_threshold {
            transport.persistent_congestion_threshold(timeouts as u32);
        }
        if let Some(bytes) = self.send_buffer {
            transport.send_window(bytes);
        }
        if let Some(packets) = self.packet_threshold {
            transport.packet_threshold(packets as u32);
        }
        if let Some(ratio) = self.time_threshold {
            transport.time_threshold(ratio as f32);
        }
        if let Some(bytes) = self.stream_window {
            transport.stream_receive_window(whole(bytes));
        }
        if let Some(bytes) = self.connection_window {
            transport.receive_window(whole(bytes));
        }
        if let Some(streams) = self.max_incoming_streams {
            transport.max_concurrent_bidi_streams(whole(streams));
        }
        if let Some(rtt) = self.initial_rtt {
            transport.initial_rtt(rtt);
        }
        if let Some(silence) = self.idle_timeout {
            transport.max_idle_timeout(Some(whole(silence.as_millis() as u64).into()));
        }
        if self.keep_alive.is_some() {
            transport.keep_alive_interval(self.keep_alive);
        }
        if let Some(on) = self.gso {
            transport.enable_segmentation_offload(on);
        }
        if self.requested_ack_threshold.is_some() || self.requested_max_ack_delay.is_some() {
            let mut asked = AckFrequencyConfig::default();
            asked.max_ack_delay(self.requested_max_ack_delay);
            if let Some(packets) = self.requested_ack_threshold {
                asked.ack_eliciting_threshold(whole(packets));
            }
            transport.ack_frequency_config(Some(asked));
        }
        if self.multipath {
            transport.max_concurrent_multipath_paths(PATHS);
        }
        if self.max_pacing_bytes_per_s.is_some() {
            transport.max_outgoing_bytes_per_second(self.max_pacing_bytes_per_s);
        }
        trace(&mut transport, client, role);
        transport
    }

    /// Return the address from which a client opens a second path; a failure if it has none.
    pub fn second_path(&self, second: Option<IpAddr>) -> Result<Option<IpAddr>, Failure> {
        match (self.multipath, second) {
            (false, _) => Ok(None),
            (true, Some(address)) => Ok(Some(address)),
            (true, None) => Err(Failure::Usage("job: multipath needs a second_address".into())),
        }
    }

    /// Return whether the kernel segments datagrams sent on this socket: that is possible, and not switched off.
    pub fn offloads(&self, socket: &UdpSocket) -> bool {
        let possible = UdpSocketState::new(socket.into()).is_ok_and(|state| state.max_gso_segments().get() > 1);
        possible && self.gso.unwrap_or(true)
    }

    /// Return the size of the first packets, bytes.
    fn initial_payload(&self) -> u64 {
        match self.max_udp_payload {
            Some(size) if self.disable_pmtud => size,
            _ => LEAST_PAYLOAD,
        }
    }

    fn controller(&self, mtu: u64) -> Arc<dyn ControllerFactory + Send + Sync> {
        let inner = self.unbounded(mtu);
        if self.bounds == Bounds::default() {
            return inner;
        }
        let grows_by_acks = self.congestion != Controller::Bbr3;
        Arc::new(BoundedConfig { inner, bounds: self.bounds, grows_by_acks })
    }

    fn unbounded(&self, mtu: u64) -> Arc<dyn ControllerFactory + Send + Sync> {
        let bytes = self.initial_window_packets.map(|packets| packets * mtu);
        macro_rules! with_window {
            ($config:ty) => {{
                let mut config = <$config>::default();
                if let Some(bytes) = bytes {
                    config.initial_window(bytes);
                }
                config
            }};
        }
        match self.congestion {
            Controller::Cubic => Arc::new(with_window!(CubicConfig)),
            Controller::Reno => {
                let mut config = with_window!(NewRenoConfig);
                if let Some(share) = self.window_after_loss {
                    config.loss_reduction_factor(share as f32);
                }
                Arc::new(config)
            }
            Controller::Bbr3 => Arc::new(with_window!(Bbr3Config)),
        }
    }
}

fn whole(value: u64) -> VarInt {
    VarInt::from_u64(value).expect("knobs are bounded below 2^62")
}

#[cfg(feature = "qlog")]
fn trace(transport: &mut TransportConfig, client: SocketAddr, role: &'static str) {
    transport.qlog_factory(Arc::new(Trace { client, role }));
}

/// Makes the trace of a connection.
#[cfg(feature = "qlog")]
struct Trace {
    client: SocketAddr,
    role: &'static str,
}

#[cfg(feature = "qlog")]
impl QlogFactory for Trace {
    fn for_connection(&self, _: Side, _: SocketAddr, _: ConnectionId, _: Instant) -> Option<QlogConfig> {
        let mut config = QlogConfig::new(Box::new(logs::qlog(&logs::name_of(self.client), self.role)?));
        config.title(Some(format!("noq {}", self.role)));
        Some(config)
    }
}

#[cfg(not(feature = "qlog"))]
fn trace(_transport: &mut TransportConfig, _client: SocketAddr, _role: &'static str) {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn set(protocol: &str, server: bool, name: &str, value: &str) -> Result<Settings, Failure> {
        Settings::new(protocol, server, Knobs::new(BTreeMap::from([(name.into(), value.into())])))
    }

    #[test]
    fn knobs_have_roles_protocols_and_bounds() {
        assert!(set("h3", false, "congestion_control", "bbr3").is_ok());
        assert!(set("h2", true, "max_incoming_streams", "10").is_ok());
        for (protocol, server, name, value, code) in [
            ("h2", true, "gso", "true", 127),
            ("h3", false, "max_incoming_streams", "10", 127),
            ("h3", false, "allow_0rtt", "true", 127),
            ("h3", true, "congestion_control", "vegas", 2),
            ("h3", true, "max_udp_payload", "9000", 2),
            ("h3", true, "max_window", "1", 2),
            ("h3", false, "retry", "true", 127),
            ("h3", true, "initial_rtt", "0.1", 127),
            ("h2", true, "retry", "true", 127),
            ("h3", true, "multipath", "minrtt", 2),
            ("h2", false, "multipath", "in-order", 127),
            ("h3", true, "window_after_loss", "0.5", 127),
            ("h3", false, "http2_stream_window", "7", 127),
            ("h2", true, "http2_stream_window", "7", 127),
            ("h2", false, "http2_stream_window", "0", 2),
            ("h2", false, "http2_stream_window", "2147483648", 2),
            ("h2", false, "http2_connection_window", "65534", 2),
        ] {
            assert_eq!(set(protocol, server, name, value).unwrap_err().exit_code(), code, "{name}");
        }
    }

    #[test]
    fn windows_of_http2_are_hypers_unless_they_are_set() {
        let usual = Http2Windows { stream: 2_097_152, connection: 5_242_880 };
        assert_eq!(Settings::new("h2", false, Knobs::default()).unwrap().http2_windows, usual);
        let set_to = |name, value| set("h2", false, name, value).unwrap().http2_windows;
        assert_eq!(set_to("http2_stream_window", "1"), Http2Windows { stream: 1, ..usual });
        assert_eq!(set_to("http2_connection_window", "65535"), Http2Windows { connection: 65_535, ..usual });
    }

    #[test]
    fn a_second_path_needs_an_address() {
        let second = "198.18.0.9".parse().ok();
        assert_eq!(set("h3", false, "multipath", "in-order").unwrap().second_path(second).unwrap(), second);
        assert_eq!(set("h3", false, "gso", "true").unwrap().second_path(second).unwrap(), None);
        let without = set("h3", false, "multipath", "in-order").unwrap().second_path(None);
        assert_eq!(without.unwrap_err().exit_code(), 2);
    }

    #[test]
    fn packets_have_the_size_that_is_set_where_nothing_is_discovered() {
        let mut settings = set("h3", true, "max_udp_payload", "1300").unwrap();
        assert_eq!(settings.initial_payload(), 1200);
        settings.disable_pmtud = true;
        assert_eq!(settings.initial_payload(), 1300);
    }
}
