//! Which of the known events a name is, over all schemas.

/// An event that becomes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "docs/reference/traces.md has the table")]
pub enum What {
    PacketSent,
    PacketReceived,
    PacketDropped,
    PacketLost,
    PacketsAcked,
    Metrics,
    CongestionState,
    LossTimer,
    Timer,
    Parameters,
    RecoveryParameters,
    ConnectionStarted,
    ConnectionRetried,
    ConnectionState,
    ConnectionClosed,
    KeyUpdated,
    KeyDiscarded,
    Alpn,
    Ecn,
    Mtu,
    DataBlocked,
    StreamBlocked,
}

/// The event, or `None` for one that becomes no row.
#[must_use]
pub fn what(category: &[u8], name: &[u8]) -> Option<What> {
    let (category, event) = match memchr::memchr(b':', name) {
        Some(at) => (&name[..at], &name[at + 1..]),
        None => (category, name),
    };
    known(category, event).or_else(|| {
        let upper = |text: &[u8]| text.iter().any(u8::is_ascii_uppercase);
        if upper(category) || upper(event) {
            known(&category.to_ascii_lowercase(), &event.to_ascii_lowercase())
        } else {
            None
        }
    })
}

fn known(category: &[u8], event: &[u8]) -> Option<What> {
    if !matches!(
        category,
        b"transport"
            | b"recovery"
            | b"quic"
            | b"security"
            | b"connectivity"
            | b""
            | b"metric_update"
            | b"loss"
            | b"app_limited_update"
    ) {
        return None;
    }
    Some(match event {
        b"packet_sent" => What::PacketSent,
        b"metrics_updated" | b"metric_update" | b"recovery_metrics_updated" | b"congestion_metric_update" => {
            What::Metrics
        }
        b"packet_received" => What::PacketReceived,
        b"loss_timer_updated" | b"loss_timer_set" | b"loss_timer_expired" | b"loss_timer_cancelled" | b"loss_alarm" => {
            What::LossTimer
        }
        b"timer_updated" => What::Timer,
        b"packet_lost" | b"packets_lost" => What::PacketLost,
        b"packets_acked" => What::PacketsAcked,
        b"congestion_state_updated" | b"app_limited_update" => What::CongestionState,
        b"packet_dropped" => What::PacketDropped,
        b"parameters_set" if category == b"recovery" => What::RecoveryParameters,
        b"recovery_parameters_set" => What::RecoveryParameters,
        b"parameters_set" | b"transport_parameters_set" => What::Parameters,
        b"connection_started" | b"connection_attempt" | b"connection_new" => What::ConnectionStarted,
        b"connection_retried" => What::ConnectionRetried,
        b"connection_state_updated" => What::ConnectionState,
        b"connection_closed" | b"connection_close" => What::ConnectionClosed,
        b"key_updated" => What::KeyUpdated,
        b"key_discarded" | b"key_retired" => What::KeyDiscarded,
        b"alpn_information" => What::Alpn,
        b"ecn_state_updated" => What::Ecn,
        b"mtu_updated" => What::Mtu,
        b"connection_data_blocked_updated" => What::DataBlocked,
        b"stream_data_blocked_updated" => What::StreamBlocked,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{What, what};

    #[test]
    fn the_timer_has_a_name_of_each_draft() {
        for category in ["recovery", "quic"] {
            assert_eq!(what(category.as_bytes(), b"loss_timer_updated"), Some(What::LossTimer));
            assert_eq!(what(b"", format!("{category}:timer_updated").as_bytes()), Some(What::Timer));
        }
        assert_eq!(what(b"RECOVERY", b"LOSS_TIMER_SET"), Some(What::LossTimer));
        assert_eq!(what(b"", b"http:timer_updated"), None);
    }
}
