"""Proofs of the settings of the kernel's TCP, which are no stack's: the reference is checked for them, over h2.

Each compares two trials on the wire that differ in the setting alone, and fails if they look alike. Cubic is the
congestion control. `study.tcp.SETTINGS` has the settings, and `checks` is the entry point.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from longlook.core import Link, Scalar, Stage
from longlook.instruments.conformance import wire
from longlook.instruments.conformance.checks import Check, CheckFinding, Want, comparing, verdict
from longlook.instruments.conformance.evidence import RouterPackets, Seen
from longlook.instruments.conformance.links import path, usual
from longlook.instruments.conformance.proofs.ask import transfer
from longlook.instruments.conformance.subject import endpoint

PROTOCOL = "h2"
_RTT_S, _SHORT_RTT_S = 0.1, 0.04
_SEGMENT_BYTES = 1448  # of 1500 bytes, with timestamps
_EARLY = 0.1  # of a round trip, in which nothing is sent
_AGAIN_AFTER_S = 0.005

Measure = Callable[[Seen], float | None]


@dataclass(frozen=True)
class _Proof:
    """Two settings to compare, by one number of each trial, and the condition that the two numbers must meet."""

    one: Mapping[str, Scalar]
    other: Mapping[str, Scalar]
    link: Link
    object_bytes: int
    measure: Measure
    text: str  # with {one} and {other}
    holds: Callable[[float, float], bool]

    def check(self, setting: str, server: str, client: str) -> Check:
        """Return the check of this proof for a pair of stacks."""

        def judge(found: Mapping[str, float]) -> CheckFinding:
            one, other = found["one"], found["other"]
            return verdict(self.holds(one, other), self.text.format(one=f"{one:.4g}", other=f"{other:.4g}"))

        wants = {
            name: Want(PROTOCOL, self.link, transfer(self.object_bytes), endpoint(server), endpoint(client), tcp=tcp)
            for name, tcp in (("one", self.one), ("other", self.other))
        }
        return Check(f"setting {setting} ({PROTOCOL})", wants, comparing(self.measure, judge), setting, "server")


@dataclass(frozen=True)
class _Rescue:
    """Settings with which an object arrives over a path, and others, usually none, with which it does not."""

    setting: Mapping[str, Scalar]
    link: Link
    object_bytes: int
    path: str
    words: tuple[str, str] = ("when on", "when off")
    against: Mapping[str, Scalar] = field(default_factory=dict)

    def check(self, setting: str, server: str, client: str) -> Check:
        """Return the check of this proof for a pair of stacks."""

        def judge(seen: Mapping[str, Seen]) -> CheckFinding:
            arrives = {name: found.ok and bool(len(found.packets.of("server"))) for name, found in seen.items()}
            said = {name: "arrives" if each else "does not arrive" for name, each in arrives.items()}
            one, other = self.words
            text = f"{self.path}: an object {said['with']} {one}, {said['without']} {other}"
            return verdict(arrives["with"] and not arrives["without"], text)

        wants = {
            name: Want(PROTOCOL, self.link, transfer(self.object_bytes), endpoint(server), endpoint(client), tcp=tcp)
            for name, tcp in (("with", self.setting), ("without", self.against))
        }
        return Check(f"setting {setting} ({PROTOCOL})", wants, judge, setting, "server")


def checks(server: str, client: str) -> list[Check]:
    """Return the proof of each setting, with two versions of stacks as NAME@VERSION, which use the kernel's TCP."""
    return [proof.check(setting, server, client) for setting, proof in PROOFS.items()]


def _late(depth: int, wait_s: float) -> Link:
    """Return a link on which a packet in a hundred comes later than up to `depth` others, by at most `wait_s`."""
    stage = Stage("reorder", {"probability": 0.01, "depth_packets": depth, "wait_ns": round(wait_s * 1e9)})
    return path(40, _RTT_S, behind=(stage,))


def _lost(*indexes: int, rtt_s: float = _RTT_S) -> Link:
    return path(30, rtt_s, down=(Stage("loss_index", {"indexes": indexes}),))


def _hello_lost() -> Link:
    """Return a link that loses the client's first data: behind SYN and ACK, the two packets of its TLS ClientHello."""
    return path(20, _SHORT_RTT_S, up=(Stage("loss_index", {"indexes": (2, 3)}),))


def _silent_at_first(first: int) -> Link:
    """Return a link that loses eight of the client's packets in turn: from 0 on its SYNs, from 2 on its first data."""
    return path(20, _SHORT_RTT_S, up=(Stage("loss_index", {"indexes": tuple(range(first, first + 8))}),))


def _accurate_answers(seen: Seen) -> float | None:
    """Return the share of the SYN-ACKs that agree to AccECN: CWR alone, as the SYN was not capable (RFC 9768, table 2).

    To agree to ECN as it was, ECE alone is set.
    """
    cwr, ece = 0x80, 0x40
    agreed = [flags & (cwr | ece) == cwr for flags in seen.answers]
    return sum(agreed) / len(agreed) if agreed else None


def _in_turn(turn: int) -> Measure:
    """Return the measure of how many large packets the server sends in a round trip, from 1, of its data."""

    def measure(seen: Seen) -> float | None:
        begin_s = wire.data_begins_s(seen.packets)
        if begin_s is None:
            return None
        turns = (_large(seen.packets).sent_s - begin_s) / _RTT_S + _EARLY
        return float(((turns >= turn - 1) & (turns < turn)).sum())

    return measure


def _most_segments(seen: Seen) -> float | None:
    """Return how many full segments at most reach the client within a round trip."""
    most_bytes = wire.most_in(seen.packets, 0.99 * _RTT_S)
    return None if most_bytes is None else most_bytes / _SEGMENT_BYTES


def _deepest_queue(seen: Seen) -> float | None:
    server = seen.packets.of("server")
    return float(server.queue_bytes.max()) / 1e3 if len(server) else None


def _left(seen: Seen) -> float | None:
    return wire.window_after_loss(seen.packets, _RTT_S, 30e6 * _RTT_S / 8)


def _data_packets(seen: Seen) -> float | None:
    return float(wire.data_packets(seen.packets)) or None


def _sending_s(seen: Seen) -> float | None:
    sent_s = _large(seen.packets).sent_s
    return float(sent_s[-1] - sent_s[0]) if len(sent_s) else None


def _sent_again_s(seen: Seen) -> float | None:
    """Return when the client sends data again, in seconds after its first."""
    client = seen.packets.of("client")
    sent_s = client.chosen(client.payload_bytes > 0).sent_s
    again_s = sent_s[sent_s > sent_s[0] + _AGAIN_AFTER_S] if len(sent_s) else sent_s
    return float(again_s[0] - sent_s[0]) if len(again_s) else None


def _spread(seen: Seen) -> float | None:
    return wire.spread(seen.packets, _RTT_S)


def _acknowledgements(seen: Seen) -> float | None:
    return wire.acks_per_packet(seen.packets)


def _largest(seen: Seen) -> float | None:
    return wire.largest(seen.packets, "server")


def _ecn(seen: Seen) -> float | None:
    return wire.ecn_share(seen.packets, "server")


def _large(packets: RouterPackets) -> RouterPackets:
    server = packets.of("server")
    return server.chosen(server.payload_bytes > wire.LARGE_BYTES)


_SLOW_START = path(50, _RTT_S)
_WINDOW = "at most {one} segments in a round trip with {name}, {other} without"

_SILENT_MTU = Stage("mtu", {"mtu_bytes": 1300, "icmp": False})

PROOFS: Mapping[str, _Proof | _Rescue] = {
    "tcp_initial_window": _Proof(
        {"tcp_initial_window": 10}, {"tcp_initial_window": 40}, _SLOW_START, 300_000, _in_turn(3),
        "{one} segments at once with 10, {other} with 40, after the two round trips of TLS and the page's text",
        lambda one, other: 8 <= one <= 14 and 34 <= other <= 44,
    ),
    "tcp_pacing": _Proof(
        {"tcp_pacing": True}, {"tcp_pacing": False}, path(100, _RTT_S), 1_000_000, _spread,
        "sends in {one} of a round trip's twentieths when on, {other} when off",
        lambda one, other: one > 1.5 * other,
    ),
    "tcp_receive_buffer": _Proof(
        {"tcp_receive_buffer": "64KiB"}, {}, _SLOW_START, 2_000_000, _most_segments,
        _WINDOW.replace("{name}", "64 KiB"),
        lambda one, other: one <= 46 and other > 2 * one,
    ),
    "tcp_send_buffer": _Proof(
        {"tcp_send_buffer": "64KiB"}, {}, _SLOW_START, 2_000_000, _most_segments,
        _WINDOW.replace("{name}", "64 KiB"),
        lambda one, other: one <= 46 and other > 2 * one,
    ),
    "tcp_initial_ssthresh": _Proof(
        {"tcp_initial_ssthresh": 20}, {"tcp_hystart": False}, _SLOW_START, 2_000_000, _in_turn(6),
        "{one} segments in the sixth round trip with 20, {other} without",
        lambda one, other: 18 <= one <= 28 and other > 3 * one,
    ),
    "tcp_hystart": _Proof(
        {"tcp_hystart": True}, {"tcp_hystart": False}, path(20, 0.06, 600_000), 3_000_000, _deepest_queue,
        "queue's peak {one} KB when on, {other} KB when off",
        lambda one, other: one < 0.8 * other,
    ),
    "tcp_window_after_loss": _Proof(
        {"tcp_window_after_loss": 0.5}, {"tcp_window_after_loss": 0.9}, _lost(170, 1_000), 5_000_000, _left,
        "one loss leaves {one} of the window with 0.5, {other} with 0.9",
        lambda one, other: abs(one - 0.5) < 0.07 and abs(other - 0.9) < 0.07,
    ),
    "tcp_reordering": _Proof(
        {"tcp_reordering": 3}, {"tcp_reordering": 100}, _late(16, 0.1 * _RTT_S), 2_000_000, _data_packets,
        "{one} segments sent with 3, {other} with 100, of which one in a hundred is overtaken by 16",
        lambda one, other: one > other,
    ),
    "tcp_adaptive_reordering": _Proof(
        {"tcp_adaptive_reordering": False}, {"tcp_adaptive_reordering": True},
        _late(1_000, 0.4 * _RTT_S), 5_000_000, _data_packets,
        "{one} segments sent when off, {other} when on, of which one in a hundred is late by 0.4 of a round trip",
        lambda one, other: one > other + 8,
    ),
    "tcp_dsack": _Proof(
        {"tcp_dsack": False}, {"tcp_dsack": True}, _late(1_000, 0.4 * _RTT_S), 5_000_000, _data_packets,
        "{one} segments sent when off, {other} when on, of which one in a hundred is late by 0.4 of a round trip",
        lambda one, other: one > other + 8,
    ),
    "tcp_sack": _Proof(
        {"tcp_sack": False}, {"tcp_sack": True}, _lost(*range(60, 92, 4)), 400_000, _sending_s,
        "data is sent for {one} s when off, {other} s when on, with 8 losses in a flight",
        lambda one, other: one > other + 4 * _RTT_S,
    ),
    "tcp_tail_loss_probe": _Proof(
        {"tcp_tail_loss_probe": True}, {"tcp_tail_loss_probe": False}, _hello_lost(), 20_000, _sent_again_s,
        "the last packets of a flight are lost: sent again after {one} s when on, {other} s when off",
        lambda one, other: one < 3 * _SHORT_RTT_S and other > 5 * _SHORT_RTT_S,
    ),
    "tcp_rto_min": _Proof(
        {"tcp_rto_min": "50ms", "tcp_tail_loss_probe": False}, {"tcp_rto_min": "500ms", "tcp_tail_loss_probe": False},
        _hello_lost(), 20_000, _sent_again_s,
        "the last packets of a flight are lost: sent again after {one} s with 50 ms, {other} s with 500 ms",
        lambda one, other: one < 0.2 and 0.5 < other < 0.7,
    ),
    "tcp_quickack": _Proof(
        {"tcp_quickack": True}, {"tcp_quickack": False}, usual(), 2_000_000, _acknowledgements,
        "{one} packets up for one down when on, {other} when off",
        lambda one, other: one > 1.5 * other,
    ),
    "tcp_timestamps": _Proof(
        {"tcp_timestamps": True}, {"tcp_timestamps": False}, usual(), 100_000, _largest,
        "{one} bytes of payload at most when on, {other} when off",
        lambda one, other: other - one == 12,
    ),
    "tcp_mss": _Proof(
        {"tcp_mss": "1KB"}, {}, usual(), 100_000, _largest,
        "{one} bytes of payload at most with 1000 B, 12 of which are options, {other} without",
        lambda one, other: one == 988 and other == _SEGMENT_BYTES,
    ),
    "tcp_mtu_probing": _Rescue(
        {"tcp_mtu_probing": True}, path(20, _SHORT_RTT_S, up=(_SILENT_MTU,), down=(_SILENT_MTU,)), 100_000,
        "an MTU of 1300 bytes without ICMP",
    ),
    "tcp_syn_retries": _Rescue(
        {}, _silent_at_first(0), 20_000, "the first 8 SYNs are lost",
        words=("with 6", "with 1"), against={"tcp_syn_retries": 1},
    ),
    "tcp_data_retries": _Rescue(
        {}, _silent_at_first(2), 20_000, "the client's first 8 packets of data are lost",
        words=("with 15", "with 2"), against={"tcp_data_retries": 2},
    ),
    'tcp_ecn = "accecn"': _Proof(
        {"tcp_ecn": "accecn"}, {"tcp_ecn": True}, usual(), 100_000, _accurate_answers,
        "{one} of the SYN-ACKs have the flags of AccECN with it, {other} with ECN as it was",
        lambda one, other: one == 1 and other == 0,
    ),
    "tcp_ecn": _Proof(
        {"tcp_ecn": True}, {"tcp_ecn": False}, usual(), 1_000_000, _ecn,
        "{one} of the server's packets allow marks when on, {other} when off",
        lambda one, other: one > 0.5 and other == 0,
    ),
}  # fmt: skip
