//! Parameters and drop reasons that bottlenecks share.

use crate::parameters::{Bounds, Fallback, ParameterSpec, Varies};

/// Why a packet is dropped for which a queue has no room.
pub(crate) const FULL: &str = "queue";
/// Below one full packet the link would silently pass nothing but small ones.
pub(crate) const QUEUE_BYTES: Bounds = Bounds::Integer(1_500, u32::MAX as u64);
pub(crate) const NO_LIMIT: Fallback = Fallback::Integer(u32::MAX as u64);

/// The rate of a bottleneck, the same for every kind.
pub(crate) const RATE_BPS: ParameterSpec = ParameterSpec::new(
    "rate_bps",
    "bit/s",
    Bounds::Integer(1_000, 1_000_000_000_000),
    "rate of IP packets, without link-layer framing",
)
.varying(Varies::AsRate);

/// The bucket of a bottleneck, the same for every kind.
pub(crate) const BURST_BYTES: ParameterSpec = ParameterSpec::new(
    "burst_bytes",
    "byte",
    Bounds::Integer(0, u32::MAX as u64),
    "what may leave at once after a pause: the depth of a token bucket, full at the start",
)
.or(Fallback::Integer(0));

pub(crate) const LIMIT_BYTES: ParameterSpec = ParameterSpec::new(
    "queue_bytes",
    "byte",
    QUEUE_BYTES,
    "most that may be queued, the packet in transmission included",
)
.or(NO_LIMIT);

/// The most packets in a queue; disciplines differ in how many they have by default.
pub(crate) const fn limit_packets(fallback: u64) -> ParameterSpec {
    ParameterSpec::new(
        "queue_packets",
        "packet",
        Bounds::Integer(1, u32::MAX as u64),
        "most packets that may be queued, the one in transmission included",
    )
    .or(Fallback::Integer(fallback))
}

pub(crate) const ECN: ParameterSpec =
    ParameterSpec::new("ecn", "", Bounds::Boolean, "mark packets that can be marked instead of dropping them")
        .or(Fallback::Boolean(false));

/// Why a packet is dropped before the queue is full.
pub(crate) const EARLY: &str = "aqm";
