//! The knobs of one run, applied over quiche's own defaults.

use longlook_adapter::failure::Failure;
use longlook_adapter::knobs::Knobs;

const LARGEST: u64 = (1 << 62) - 1;
/// quiche offers nothing by default; its own programs offer these.
const STREAM_WINDOW: u64 = 1_000_000;
const CONNECTION_WINDOW: u64 = 10_000_000;
const STREAMS: u64 = 100;
const UNIDIRECTIONAL_STREAMS: u64 = 100;
const IDLE_LIMIT_MS: u64 = 30_000;

const CONTROLLERS: &[(&str, &str)] = &[("cubic", "cubic"), ("reno", "reno"), ("bbr2", "bbr2")];

/// Make the configuration of a server or a client, without its certificates.
pub fn config(protocol: &str, server: bool, mut knobs: Knobs) -> Result<quiche::Config, Failure> {
    if protocol != "h3" {
        return Err(Failure::Unsupported(format!("protocol {protocol:?}")));
    }
    let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION).map_err(|error| Failure::of("quiche", error))?;
    let set = |error| Failure::of("quiche", error);
    config.set_application_protos(quiche::h3::APPLICATION_PROTOCOL).map_err(set)?;
    config.set_max_idle_timeout(IDLE_LIMIT_MS);
    config.set_initial_max_streams_uni(UNIDIRECTIONAL_STREAMS);
    if std::env::var_os("SSLKEYLOGFILE").is_some() {
        config.log_keys();
    }
    if let Some(name) = knobs.choice("congestion_control", CONTROLLERS)? {
        config.set_cc_algorithm_name(name).map_err(set)?;
    }
    if let Some(packets) = knobs.count("initial_window", 1..=10_000)? {
        config.set_initial_congestion_window_packets(packets as usize);
    }
    if let Some(on) = knobs.flag("pacing")? {
        config.enable_pacing(on);
    }
    if let Some(bits) = knobs.count("max_pacing_rate", 10_000..=10_000_000_000)? {
        config.set_max_pacing_rate(bits / 8);
    }
    if let Some(on) = knobs.flag("hystart")? {
        config.enable_hystart(on);
    }
    let stream = knobs.count("initial_stream_window", 1..=LARGEST)?.unwrap_or(STREAM_WINDOW);
    config.set_initial_max_stream_data_bidi_local(stream);
    config.set_initial_max_stream_data_bidi_remote(stream);
    config.set_initial_max_stream_data_uni(stream);
    config.set_initial_max_data(knobs.count("initial_connection_window", 1..=LARGEST)?.unwrap_or(CONNECTION_WINDOW));
    if let Some(bytes) = knobs.count("max_stream_window", 1..=LARGEST)? {
        config.set_max_stream_window(bytes);
    }
    if let Some(bytes) = knobs.count("max_connection_window", 1..=LARGEST)? {
        config.set_max_connection_window(bytes);
    }
    if let Some(bytes) = knobs.count("max_udp_payload", 1200..=1472)? {
        config.set_max_send_udp_payload_size(bytes as usize);
    }
    if let Some(delay) = knobs.seconds("max_ack_delay", 0.001..=16.0)? {
        config.set_max_ack_delay(delay.as_millis() as u64);
    }
    #[cfg(feature = "initial-rtt")]
    if let Some(rtt) = knobs.seconds("initial_rtt", 0.001..=10.0)? {
        config.set_initial_rtt(rtt);
    }
    if server {
        config.set_initial_max_streams_bidi(knobs.count("max_incoming_streams", 1..=1 << 20)?.unwrap_or(STREAMS));
        if knobs.flag("allow_0rtt")?.unwrap_or(true) {
            config.enable_early_data();
        }
    }
    knobs.finish(protocol)?;
    Ok(config)
}

/// Make the configuration of HTTP/3.
pub fn http() -> Result<quiche::h3::Config, Failure> {
    quiche::h3::Config::new().map_err(|error| Failure::of("HTTP/3", error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn set(protocol: &str, server: bool, name: &str, value: &str) -> Result<quiche::Config, Failure> {
        config(protocol, server, Knobs::new(BTreeMap::from([(name.into(), value.into())])))
    }

    #[test]
    fn knobs_have_roles_and_bounds() {
        for (name, value) in [("congestion_control", "bbr2"), ("pacing", "false"), ("max_ack_delay", "0.01")] {
            assert!(set("h3", false, name, value).is_ok(), "{name}");
        }
        for (protocol, server, name, value, code) in [
            ("h2", true, "pacing", "true", 127),
            ("h3", false, "max_incoming_streams", "10", 127),
            ("h3", false, "gso", "true", 127),
            ("h3", true, "congestion_control", "vegas", 2),
            ("h3", true, "max_udp_payload", "9000", 2),
        ] {
            assert_eq!(set(protocol, server, name, value).err().unwrap().exit_code(), code, "{name}");
        }
    }
}
