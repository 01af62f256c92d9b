//! The knobs of one run, applied over tquic's own defaults.

use longlook_adapter::failure::Failure;
use longlook_adapter::knobs::Knobs;
use tquic::{Config, CongestionControlAlgorithm, MultipathAlgorithm};

const LARGEST: u64 = (1 << 62) - 1;
/// tquic's own, which it does not publish: a window that is set is capped by the largest of its kind.
const LARGEST_STREAM_WINDOW: u64 = 6 << 20;
const LARGEST_CONNECTION_WINDOW: u64 = 15 << 20;
/// tquic waits forever by default; its own programs set this.
const IDLE_LIMIT_MS: u64 = 30_000;

const CONTROLLERS: &[(&str, CongestionControlAlgorithm)] = &[
    ("cubic", CongestionControlAlgorithm::Cubic),
    ("bbr", CongestionControlAlgorithm::Bbr),
    ("bbr3", CongestionControlAlgorithm::Bbr3),
    ("copa", CongestionControlAlgorithm::Copa),
];

const SCHEDULERS: &[(&str, MultipathAlgorithm)] = &[
    ("minrtt", MultipathAlgorithm::MinRtt),
    ("roundrobin", MultipathAlgorithm::RoundRobin),
    ("redundant", MultipathAlgorithm::Redundant),
];

/// What knobs ask of the program, beside the configuration.
#[derive(Clone, Copy)]
pub struct Asked {
    /// A server takes early data.
    pub early_data: bool,
    /// Several paths at once.
    pub multipath: bool,
}

/// Make a configuration without its TLS. Also return what is asked of the program.
pub fn config(protocol: &str, server: bool, mut knobs: Knobs) -> Result<(Config, Asked), Failure> {
    if protocol != "h3" {
        return Err(Failure::Unsupported(format!("protocol {protocol:?}")));
    }
    let mut config = Config::new().map_err(|error| Failure::of("tquic", error))?;
    config.set_max_idle_timeout(IDLE_LIMIT_MS);
    if let Some(controller) = knobs.choice("congestion_control", CONTROLLERS)? {
        config.set_congestion_control_algorithm(controller);
    }
    if let Some(packets) = knobs.count("initial_window", 1..=10_000)? {
        config.set_initial_congestion_window(packets);
    }
    if let Some(packets) = knobs.count("initial_ssthresh", 2..=10_000)? {
        config.set_slow_start_thresh(packets);
    }
    if let Some(on) = knobs.flag("pacing")? {
        config.enable_pacing(on);
    }
    windows(&mut config, &mut knobs)?;
    if let Some(on) = knobs.flag("disable_pmtud")? {
        config.enable_dplpmtud(!on);
    }
    if let Some(bytes) = knobs.count("max_udp_payload", 1201..=1472)? {
        config.set_send_udp_payload_size(bytes as usize);
    }
    if let Some(packets) = knobs.count("ack_threshold", 1..=1000)? {
        config.set_ack_eliciting_threshold(packets);
    }
    if let Some(delay) = knobs.seconds("max_ack_delay", 0.001..=16.0)? {
        config.set_max_ack_delay(delay.as_millis() as u64);
    }
    if let Some(rtt) = knobs.seconds("initial_rtt", 0.001..=10.0)? {
        config.set_initial_rtt(rtt.as_millis() as u64);
    }
    let scheduler = knobs.choice("multipath", SCHEDULERS)?;
    if let Some(scheduler) = scheduler {
        config.enable_multipath(true);
        config.set_multipath_algorithm(scheduler);
    }
    let mut early_data = false;
    if server {
        if let Some(streams) = knobs.count("max_incoming_streams", 1..=1 << 20)? {
            config.set_initial_max_streams_bidi(streams);
        }
        if let Some(on) = knobs.flag("retry")? {
            config.enable_retry(on);
        }
        early_data = knobs.flag("allow_0rtt")?.unwrap_or(true);
    }
    knobs.finish(protocol)?;
    Ok((config, Asked { early_data, multipath: scheduler.is_some() }))
}

/// The largest windows first, because tquic cuts the initial ones to them without a word.
fn windows(config: &mut Config, knobs: &mut Knobs) -> Result<(), Failure> {
    let stream = knobs.count("initial_stream_window", 1..=LARGEST)?;
    let connection = knobs.count("initial_connection_window", 1..=LARGEST)?;
    let largest = knobs.count("max_stream_window", 1..=LARGEST)?;
    match (stream, largest) {
        (Some(initial), Some(largest)) if initial > largest => {
            let reason = format!("initial_stream_window is {initial}, max_stream_window {largest}");
            return Err(Failure::Usage(reason));
        }
        (_, Some(largest)) => config.set_max_stream_window(largest),
        (initial, None) => config.set_max_stream_window(LARGEST_STREAM_WINDOW.max(initial.unwrap_or(0))),
    }
    if let Some(bytes) = stream {
        config.set_initial_max_stream_data_bidi_local(bytes);
        config.set_initial_max_stream_data_bidi_remote(bytes);
        config.set_initial_max_stream_data_uni(bytes);
    }
    if let Some(bytes) = connection {
        config.set_max_connection_window(LARGEST_CONNECTION_WINDOW.max(bytes));
        config.set_initial_max_data(bytes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn set(protocol: &str, server: bool, name: &str, value: &str) -> Result<(Config, Asked), Failure> {
        config(protocol, server, Knobs::new(BTreeMap::from([(name.into(), value.into())])))
    }

    #[test]
    fn knobs_have_roles_and_bounds() {
        for (name, value) in [("congestion_control", "bbr3"), ("pacing", "false"), ("max_ack_delay", "0.01")] {
            assert!(set("h3", false, name, value).is_ok(), "{name}");
        }
        let takes = |value| set("h3", true, "allow_0rtt", value).unwrap().1.early_data;
        assert!(takes("true") && !takes("false"));
        assert!(set("h3", false, "multipath", "redundant").unwrap().1.multipath);
        let both = [("initial_stream_window", "9000"), ("max_stream_window", "8000")];
        let both = Knobs::new(both.map(|(name, value)| (name.into(), value.into())).into());
        assert_eq!(config("h3", false, both).err().unwrap().exit_code(), 2);
        for (protocol, server, name, value, code) in [
            ("h2", true, "pacing", "true", 127),
            ("h3", false, "max_incoming_streams", "10", 127),
            ("h3", false, "gso", "true", 127),
            ("h3", true, "congestion_control", "reno", 2),
            ("h3", true, "max_udp_payload", "9000", 2),
            ("h3", false, "multipath", "true", 2),
        ] {
            assert_eq!(set(protocol, server, name, value).err().unwrap().exit_code(), code, "{name}");
        }
    }
}
