"""Proofs of pacing, which spreads a window over the round trip, and of HyStart, which ends slow start early."""

from collections.abc import Mapping

from longlook.core import Scalar
from longlook.instruments.conformance import wire
from longlook.instruments.conformance.checks import Check, CheckFinding, verdict
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.links import path
from longlook.instruments.conformance.proofs.ask import Ask, transfer

_RTT_S = 0.1
_QUEUE_BYTES = 600_000
_PARTS_MORE = 1.5
_SLOW_BPS, _HALF_S = 5_000_000, 0.5
_SHORT, _LONG = 2, 24
_PACKETS_MORE = 4  # the end of the handshake, and a packet or two that the pace had let through by then
_TOGETHER_S = 0.0005


def pacing(ask: Ask) -> Check:
    """Count the twentieths of a round trip in which the server sends, while its window is far below the rate."""
    if ask.role == "client":
        return ask.without("a client sends only requests: nothing to spread")
    link, workload = path(100, _RTT_S), transfer(1_000_000)

    def read(seen: Seen) -> float | None:
        return wire.spread(seen.packets, _RTT_S)

    def judge(share: Mapping[str, float]) -> CheckFinding:
        on, off = share["on"], share["off"]
        return verdict(
            on >= _PARTS_MORE * off, f"sends in {on:.0%} of a round trip's twentieths when on, {off:.0%} when off"
        )

    return ask.compare({"on": True, "off": False}, read, judge, link=link, workload=workload)


def pacing_burst(ask: Ask) -> Check:
    """Count the packets that leave together, of a first window that is larger than either burst."""
    if ask.role == "client":
        return ask.without("a client sends only requests: nothing to pace")
    link, workload = path(100, _RTT_S), transfer(100_000)
    values = {"short": ask.value(_SHORT), "long": ask.value(_LONG)}

    def read(seen: Seen) -> int:
        return wire.longest_train(seen.packets, _TOGETHER_S)

    def judge(sent: Mapping[str, int]) -> CheckFinding:
        text = ", ".join(f"{sent[name]} packets together with {values[name]}" for name in values)
        return verdict(all(abs(sent[name] - int(values[name])) <= _PACKETS_MORE for name in values), text)

    return ask.compare(values, read, judge, link=link, workload=workload)


def max_pacing_rate(ask: Ask) -> Check:
    """Demand that no half second carries more than the rate, and its bursts, on a path that is ten times as fast."""
    if ask.role == "client":
        return ask.without("a client sends only requests: nothing to pace")
    link, workload = path(_SLOW_BPS * 10 / 1e6, _RTT_S), transfer(2_000_000)

    def read(seen: Seen) -> float:
        return 8 * (wire.most_in(seen.packets, _HALF_S) or 0) / _HALF_S

    def judge(bits: Mapping[str, float]) -> CheckFinding:
        text = (
            f"at most {bits['slow'] / 1e6:.2f} Mbit/s with {_SLOW_BPS / 1e6:g}, {bits['default'] / 1e6:.2f} by default"
        )
        return verdict(0.5 * _SLOW_BPS < bits["slow"] <= 1.15 * _SLOW_BPS and bits["default"] > 2 * bits["slow"], text)

    return ask.compare({"slow": _SLOW_BPS, "default": None}, read, judge, link=link, workload=workload)


def hystart(ask: Ask) -> Check:
    """Compare the queue's peak in a deep buffer: without HyStart slow start fills it completely."""
    if ask.role == "client":
        return ask.without("a client sends only requests: no slow start to leave")
    link, workload = path(20, 0.06, _QUEUE_BYTES), transfer(3_000_000)
    apart: dict[str, Scalar] = {"congestion_control": "cubic"} if _offers_cubic(ask) else {}

    def read(seen: Seen) -> tuple[int, int]:
        return int(seen.packets.of("server").queue_bytes.max()), seen.run.link["down"]["dropped_queue"]

    def judge(found: Mapping[str, tuple[int, int]]) -> CheckFinding:
        (peak, lost), (peak_off, lost_off) = found["on"], found["off"]
        text = f"queue's peak {peak} bytes ({lost} lost) when on, {peak_off} ({lost_off} lost) when off"
        return verdict(peak < 0.8 * peak_off or lost < 0.5 * lost_off, text)

    return ask.compare({"on": True, "off": False}, read, judge, apart=apart, link=link, workload=workload)


def _offers_cubic(ask: Ask) -> bool:
    sibling = ask.siblings.get("congestion_control")
    return sibling is not None and "cubic" in sibling.choices


PROOFS = {"pacing": pacing, "pacing_burst": pacing_burst, "max_pacing_rate": max_pacing_rate, "hystart": hystart}
