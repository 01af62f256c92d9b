//! The knobs of one run, applied over s2n-quic's own defaults.

use std::fmt::Display;
use std::net::UdpSocket;
use std::time::Duration;

use longlook_adapter::failure::Failure;
use longlook_adapter::knobs::Knobs;
use s2n_quic::provider::congestion_controller::{Bbr, Cubic, bbr, cubic};
use s2n_quic::provider::endpoint_limits;
use s2n_quic::provider::io::tokio::Provider as Io;
use s2n_quic::provider::limits::Limits;

/// s2n-quic keeps windows as 32-bit numbers.
const LARGEST_WINDOW: u64 = u32::MAX as u64;
const LEAST_PAYLOAD: u64 = 1200;
const MOST_PAYLOAD: u64 = 1472;
/// Headers of IPv4 and UDP: s2n-quic counts them into its MTU, for which it takes the larger one of IPv6 off again.
const HEADERS: u64 = 28;

/// The settings of a run.
#[derive(Debug, Default)]
pub struct Settings {
    /// The congestion control.
    pub controller: Controller,
    initial_window_packets: Option<u64>,
    stream_window: Option<u64>,
    connection_window: Option<u64>,
    max_incoming_streams: Option<u64>,
    max_ack_delay: Option<Duration>,
    initial_rtt: Option<Duration>,
    max_udp_payload: Option<u64>,
    disable_pmtud: bool,
    gso: Option<bool>,
    retry: bool,
}

/// A congestion control of s2n-quic's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Controller {
    /// CUBIC.
    #[default]
    Cubic,
    /// BBR, version 2.
    Bbr,
}

impl Settings {
    /// Take the knobs of a server or a client.
    pub fn new(server: bool, mut knobs: Knobs) -> Result<Self, Failure> {
        let controllers = [("cubic", Controller::Cubic), ("bbr", Controller::Bbr)];
        let mut settings = Self {
            controller: knobs.choice("congestion_control", &controllers)?.unwrap_or_default(),
            initial_window_packets: knobs.count("initial_window", 1..=10_000)?,
            stream_window: knobs.count("initial_stream_window", 1..=LARGEST_WINDOW)?,
            connection_window: knobs.count("initial_connection_window", 1..=LARGEST_WINDOW)?,
            max_ack_delay: knobs.seconds("max_ack_delay", 0.001..=16.0)?,
            initial_rtt: knobs.seconds("initial_rtt", 0.001..=10.0)?,
            max_udp_payload: knobs.count("max_udp_payload", LEAST_PAYLOAD..=MOST_PAYLOAD)?,
            disable_pmtud: knobs.flag("disable_pmtud")?.unwrap_or(false),
            gso: knobs.flag("gso")?,
            ..Self::default()
        };
        if server {
            settings.max_incoming_streams = knobs.count("max_incoming_streams", 1..=1 << 20)?;
            settings.retry = knobs.flag("retry")?.unwrap_or(false);
        }
        knobs.finish(crate::PROTOCOL)?;
        Ok(settings)
    }

    /// Return the limits of each connection.
    pub fn limits(&self) -> Result<Limits, Failure> {
        let mut limits = Limits::new();
        if let Some(bytes) = self.stream_window {
            limits = limits.with_bidirectional_local_data_window(bytes).map_err(refused)?;
            limits = limits.with_bidirectional_remote_data_window(bytes).map_err(refused)?;
            limits = limits.with_unidirectional_data_window(bytes).map_err(refused)?;
        }
        if let Some(bytes) = self.connection_window {
            limits = limits.with_data_window(bytes).map_err(refused)?;
        }
        if let Some(streams) = self.max_incoming_streams {
            limits = limits.with_max_open_remote_bidirectional_streams(streams).map_err(refused)?;
        }
        if let Some(delay) = self.max_ack_delay {
            limits = limits.with_max_ack_delay(delay).map_err(refused)?;
        }
        if let Some(rtt) = self.initial_rtt {
            limits = limits.with_initial_round_trip_time(rtt).map_err(refused)?;
        }
        Ok(limits)
    }

    /// Return what a server lets in: with `retry` no first packet without a token.
    pub fn admission(&self) -> endpoint_limits::Default {
        let builder = endpoint_limits::Default::builder();
        let builder = if self.retry { builder.with_inflight_handshake_limit(0) } else { Ok(builder) };
        let Ok(admission) = builder.and_then(|builder| builder.build());
        admission
    }

    /// Return CUBIC with the initial window that is set.
    pub fn cubic(&self) -> Cubic {
        let builder = cubic::Builder::default();
        match self.initial_window() {
            Some(bytes) => builder.with_initial_congestion_window(bytes).build(),
            None => builder.build(),
        }
    }

    /// Return BBR with the initial window that is set.
    pub fn bbr(&self) -> Bbr {
        let builder = bbr::Builder::default();
        match self.initial_window() {
            Some(bytes) => builder.with_initial_congestion_window(bytes).build(),
            None => builder.build(),
        }
    }

    /// Return the datagrams of an endpoint with this socket.
    pub fn io(&self, socket: UdpSocket) -> Result<Io, Failure> {
        let configured = || -> std::io::Result<Io> {
            let mut builder = Io::builder().with_rx_socket(socket)?;
            let most = match (self.max_udp_payload, self.disable_pmtud) {
                (Some(bytes), _) => Some(bytes),
                (None, true) => Some(LEAST_PAYLOAD),
                (None, false) => None,
            };
            if let Some(bytes) = most {
                builder = builder.with_max_mtu((bytes + HEADERS) as u16)?;
            }
            if self.disable_pmtud {
                builder = builder.with_initial_mtu((self.first_payload() + HEADERS) as u16)?;
            }
            if let Some(on) = self.gso {
                builder = builder.with_gso(on)?;
            }
            builder.build()
        };
        configured().map_err(|error| Failure::of("UDP socket", error))
    }

    /// Return the size of the first packets, bytes of UDP payload: without discovery it stays.
    fn first_payload(&self) -> u64 {
        if self.disable_pmtud { self.max_udp_payload.unwrap_or(LEAST_PAYLOAD) } else { LEAST_PAYLOAD }
    }

    fn initial_window(&self) -> Option<u32> {
        self.initial_window_packets.map(|packets| (packets * self.first_payload()) as u32)
    }
}

fn refused(reason: impl Display) -> Failure {
    Failure::Usage(format!("s2n-quic refuses a knob: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn set(server: bool, name: &str, value: &str) -> Result<Settings, Failure> {
        Settings::new(server, Knobs::new(BTreeMap::from([(name.into(), value.into())])))
    }

    #[test]
    fn knobs_have_a_role_and_bounds() {
        assert_eq!(set(true, "congestion_control", "bbr").unwrap().controller, Controller::Bbr);
        for (server, name, value, code) in [
            (true, "congestion_control", "reno", 2),
            (true, "max_udp_payload", "1473", 2),
            (false, "initial_stream_window", "4294967296", 2),
            (false, "max_incoming_streams", "7", 127),
            (false, "retry", "true", 127),
            (true, "allow_0rtt", "true", 127),
        ] {
            assert_eq!(set(server, name, value).unwrap_err().exit_code(), code, "{name}");
        }
    }

    #[test]
    fn an_initial_window_counts_first_packets() {
        let mut settings = set(true, "initial_window", "20").unwrap();
        assert_eq!(settings.initial_window(), Some(24_000));
        settings.disable_pmtud = true;
        settings.max_udp_payload = Some(1400);
        assert_eq!(settings.initial_window(), Some(28_000));
    }

    #[test]
    fn every_knob_within_its_bounds_is_taken() {
        for (name, value) in [
            ("initial_stream_window", "4294967295"),
            ("initial_connection_window", "1"),
            ("max_ack_delay", "16"),
            ("initial_rtt", "0.001"),
        ] {
            assert!(set(true, name, value).unwrap().limits().is_ok(), "{name}");
        }
    }
}
