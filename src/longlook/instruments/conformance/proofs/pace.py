"""Proofs of pacing, which spreads a window over the round trip, and of HyStart, which ends slow start early."""

from collections.abc import Mapping

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

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        share = {name: wire.spread(seen[name].packets, _RTT_S) for name in ("on", "off")}
        on, off = share["on"], share["off"]
        if on is None or off is None or not all(found.ok for found in seen.values()):
            return verdict(False, next((found.why for found in seen.values() if not found.ok), "no data was sent"))
        return verdict(
            on >= _PARTS_MORE * off, f"sends in {on:.0%} of a round trip's twentieths when on, {off:.0%} when off"
        )

    wants = {name: ask.want({ask.name: name == "on"}, link, workload) for name in ("on", "off")}
    return ask.check(wants, judge)


def pacing_burst(ask: Ask) -> Check:
    """Count the packets that leave together, of a first window that is larger than either burst."""
    if ask.role == "client":
        return ask.without("a client sends only requests: nothing to pace")
    link, workload = path(100, _RTT_S), transfer(100_000)
    values = {"short": ask.value(_SHORT), "long": ask.value(_LONG)}

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        if not all(found.ok for found in seen.values()):
            return verdict(False, next(found.why for found in seen.values() if not found.ok))
        sent = {name: wire.longest_train(found.packets, _TOGETHER_S) for name, found in seen.items()}
        text = ", ".join(f"{sent[name]} packets together with {values[name]}" for name in values)
        return verdict(all(abs(sent[name] - int(values[name])) <= _PACKETS_MORE for name in values), text)

    return ask.check({name: ask.want({ask.name: value}, link, workload) for name, value in values.items()}, judge)


def max_pacing_rate(ask: Ask) -> Check:
    """Demand that no half second carries more than the rate, and its bursts, on a path that is ten times as fast."""
    if ask.role == "client":
        return ask.without("a client sends only requests: nothing to pace")
    link, workload = path(_SLOW_BPS * 10 / 1e6, _RTT_S), transfer(2_000_000)

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        if not all(found.ok for found in seen.values()):
            return verdict(False, next(found.why for found in seen.values() if not found.ok))
        bits = {name: 8 * (wire.most_in(found.packets, _HALF_S) or 0) / _HALF_S for name, found in seen.items()}
        text = (
            f"at most {bits['slow'] / 1e6:.2f} Mbit/s with {_SLOW_BPS / 1e6:g}, {bits['default'] / 1e6:.2f} by default"
        )
        return verdict(0.5 * _SLOW_BPS < bits["slow"] <= 1.15 * _SLOW_BPS and bits["default"] > 2 * bits["slow"], text)

    wants = {"slow": ask.want({ask.name: _SLOW_BPS}, link, workload), "default": ask.want({}, link, workload)}
    return ask.check(wants, judge)


def hystart(ask: Ask) -> Check:
    """Compare the queue's peak in a deep buffer: without HyStart slow start fills it completely."""
    if ask.role == "client":
        return ask.without("a client sends only requests: no slow start to leave")
    link, workload = path(20, 0.06, _QUEUE_BYTES), transfer(3_000_000)
    apart = {"congestion_control": "cubic"} if _offers_cubic(ask) else {}

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        if not all(found.ok for found in seen.values()):
            return verdict(False, next(found.why for found in seen.values() if not found.ok))
        peak = {name: int(found.packets.of("server").queue_bytes.max()) for name, found in seen.items()}
        lost = {name: found.run.link["down"]["dropped_queue"] for name, found in seen.items()}
        text = (
            f"queue's peak {peak['on']} bytes ({lost['on']} lost) when on, {peak['off']} ({lost['off']} lost) when off"
        )
        return verdict(peak["on"] < 0.8 * peak["off"] or lost["on"] < 0.5 * lost["off"], text)

    wants = {name: ask.want({**apart, ask.name: name == "on"}, link, workload) for name in ("on", "off")}
    return ask.check(wants, judge)


def _offers_cubic(ask: Ask) -> bool:
    sibling = ask.siblings.get("congestion_control")
    return sibling is not None and "cubic" in sibling.choices


PROOFS = {"pacing": pacing, "pacing_burst": pacing_burst, "max_pacing_rate": max_pacing_rate, "hystart": hystart}
