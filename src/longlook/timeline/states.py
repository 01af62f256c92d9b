"""One vocabulary for what limits a sender, for QUIC and TCP alike (docs/reference/states-rules.md defines how each is
found)."""

from collections.abc import Mapping
from enum import StrEnum


class State(StrEnum):
    """The state of a connection's sender; `STATES` explains each."""

    INIT = "init"
    SLOW_START = "slow_start"
    CONGESTION_AVOIDANCE = "congestion_avoidance"
    CONGESTION_AVOIDANCE_MAXED = "congestion_avoidance_maxed"
    APPLICATION_LIMITED = "application_limited"
    RECOVERY = "recovery"
    LOSS_PROBE = "loss_probe"
    TIMEOUT = "timeout"
    BBR_STARTUP = "bbr_startup"
    BBR_DRAIN = "bbr_drain"
    BBR_PROBE_BANDWIDTH = "bbr_probe_bandwidth"
    BBR_PROBE_RTT = "bbr_probe_rtt"
    UNKNOWN = "unknown"


STATES: Mapping[State, str] = {
    State.INIT: "the handshake: no congestion controller has spoken yet",
    State.SLOW_START: "the window grows with every acknowledgement, up to its threshold or the first loss",
    State.CONGESTION_AVOIDANCE: "the window is the limit and grows slowly",
    State.CONGESTION_AVOIDANCE_MAXED: "the window is the limit and in use, and stays at a cap although nothing is lost",
    State.APPLICATION_LIMITED: "less is in flight than the window allows: nothing to send, or a limit of the receiver",
    State.RECOVERY: "a loss was declared; no packet sent since then has been acknowledged yet",
    State.LOSS_PROBE: "a first probe timeout (QUIC) or tail loss probe (TCP) fired; no acknowledgement came since",
    State.TIMEOUT: "a second probe timeout in a row (QUIC) or a retransmission timeout (TCP) fired",
    State.BBR_STARTUP: "BBR doubles its rate until the bandwidth stops growing",
    State.BBR_DRAIN: "BBR empties the queue that its start-up filled",
    State.BBR_PROBE_BANDWIDTH: "BBR sends at the bandwidth that it found, now and then a little more or less",
    State.BBR_PROBE_RTT: "BBR keeps little in flight to see the path's round trip time without a queue",
    State.UNKNOWN: "its log names no state, and no rule fits its congestion controller (BBR without a log of states)",
}

BBR_STATES = frozenset(
    {State.BBR_STARTUP, State.BBR_DRAIN, State.BBR_PROBE_BANDWIDTH, State.BBR_PROBE_RTT},
)
