//! Stacks' own names of congestion states → the one vocabulary (src/longlook/timeline/states.py).

/// The state in our vocabulary, or `None` for a name that is not mapped yet.
///
/// quic-go, quiche, netty and tquic write the qlog draft's names; quiche and netty add
/// `conservative_slow_start` (`HyStart++`); those with BBR write its phases with and without a prefix, and some their parts.
#[must_use]
pub fn state(own: &str) -> Option<&'static str> {
    let plain: String = own.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let plain = ["bbr2", "bbr3", "bbr"].iter().find_map(|prefix| plain.strip_prefix(prefix)).unwrap_or(&plain);
    Some(match plain {
        "init" | "initial" => "init",
        "slowstart" | "conservativeslowstart" | "css" => "slow_start",
        "congestionavoidance" | "steady" => "congestion_avoidance",
        "applicationlimited" | "applimited" => "application_limited",
        "recovery" | "fastrecovery" | "lossrecovery" | "recoveryperiod" => "recovery",
        "persistentcongestion" | "timeout" | "rto" => "timeout",
        "startup" => "bbr_startup",
        "drain" => "bbr_drain",
        _ if plain.starts_with("probebw") || plain.starts_with("probebandwidth") => "bbr_probe_bandwidth",
        _ if plain.starts_with("probertt") => "bbr_probe_rtt",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::state;

    #[test]
    fn names_of_every_stack() {
        for (own, ours) in [
            ("slow_start", "slow_start"),
            ("conservative_slow_start", "slow_start"),
            ("bbr_startup", "bbr_startup"),
            ("Startup", "bbr_startup"),
            ("ProbeBW_UP", "bbr_probe_bandwidth"),
            ("bbr2_probe_bw_cruise", "bbr_probe_bandwidth"),
            ("probe_rtt", "bbr_probe_rtt"),
            ("application_limited", "application_limited"),
        ] {
            assert_eq!(state(own), Some(ours), "{own}");
        }
        assert_eq!(state("bbr"), None);
        assert_eq!(state("quantum"), None);
    }
}
