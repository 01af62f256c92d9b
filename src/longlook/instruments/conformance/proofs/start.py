"""Proofs of how a connection begins: with early data, with a Retry, and with which initial RTT."""

import math
from collections.abc import Mapping
from dataclasses import replace

from longlook.core import ConnectionState, Scalar, Stage
from longlook.instruments.conformance import wire
from longlook.instruments.conformance.checks import Check, CheckFinding, Want, comparing, verdict
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.links import path
from longlook.instruments.conformance.proofs.ask import Ask

_RTT_S = 0.1
_SHORT_S, _LONG_S = 0.03, 0.6
_EARLIER, _LATER = 0.25, 4.0
_TIMEOUTS = (1.5, 5.0)
"""Initial RTTs until the first retransmission: 3 by RFC 9002, 6.2.2; older stacks have 2."""


def allow_0rtt(ask: Ask) -> Check:
    """Read whether the client reports early data on a connection that would send it."""

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        used = {name: _last_used_0rtt(found) for name, found in seen.items()}
        text = f"the client's early data was taken: {used['on']} when on, {used['off']} when off"
        return verdict(used["on"] is True and used["off"] is False, text)

    wants = {
        name: ask.want({ask.name: name == "on"}, connection=ConnectionState.ZERO_RTT, timeout_s=20.0)
        for name in ("on", "off")
    }
    return ask.check(wants, judge)


def fast_open(ask: Ask) -> Check:
    """Look for data in the SYN of a client that has a cookie: with the setting at both ends, and not without."""

    def read(seen: Seen) -> int:
        return int(seen.packets.of("client").payload_bytes[0])

    def judge(carried: Mapping[str, int]) -> CheckFinding:
        text = f"the client's SYN carries {carried['on']} bytes when on, {carried['off']} when off"
        return verdict(carried["on"] > 0 and carried["off"] == 0, text)

    def both(on: bool) -> Want:
        end = replace(ask.end, knobs={ask.name: on})  # its own peer: it takes two
        want = ask.want({}, path(20, _RTT_S), connection=ConnectionState.RESUMED)
        return replace(want, server=end, client=end)

    return ask.check({"on": both(True), "off": both(False)}, comparing(read, judge))


def _last_used_0rtt(seen: Seen) -> bool | None:
    measured = [line for line in seen.events("client", "connection") if not line.get("primes")]
    return measured[-1].get("used_0rtt") if measured else None


def retry(ask: Ask) -> Check:
    """Demand that a Retry makes the handshake one round trip longer."""

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        took_s = {name: _handshake_s(found) for name, found in seen.items()}
        on, off = took_s["on"], took_s["off"]
        if on is None or off is None:
            return verdict(False, "; ".join(f"{name}: no handshake, {seen[name].why}" for name in seen))
        text = f"handshake {on * 1e3:.1f} ms when on, {off * 1e3:.1f} ms when off; a round trip is {_RTT_S * 1e3:g} ms"
        return verdict(0.8 * _RTT_S < on - off < 1.5 * _RTT_S, text)

    return ask.check({name: ask.want({ask.name: name == "on"}, path(20, _RTT_S)) for name in ("on", "off")}, judge)


def _handshake_s(seen: Seen) -> float | None:
    for line in seen.events("client", "connection"):
        began_ns, done_ns = line.get("t_start_ns"), line.get("t_handshake_ns")
        if began_ns is not None and done_ns is not None:
            return float(done_ns - began_ns) / 1e9
    return None


def initial_rtt(ask: Ask) -> Check:
    """Measure the time until the first retransmission if nothing comes back: it grows with the initial RTT."""
    values = {"short": ask.value(_SHORT_S), "long": ask.value(_LONG_S)}
    low, high = (share * float(values["short"]) for share in _TIMEOUTS)
    return _sent_again(ask, values, " s", low, high)


def pto_factor(ask: Ask) -> Check:
    """Measure the time until the first retransmission if nothing comes back: it grows with the factor."""
    return _sent_again(ask, {"short": ask.value(_EARLIER), "long": ask.value(_LATER)}, "", 0.0, math.inf)


def _sent_again(ask: Ask, values: Mapping[str, Scalar], unit: str, low_s: float, high_s: float) -> Check:
    """Check that the first retransmission comes within bounds with the short value, and more than twice as late with
    the long one."""
    link = path(20, 0.04, down=(Stage("block", {"protocol": "udp"}),))

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        again = {name: wire.second_sending_s(found.packets, ask.role) for name, found in seen.items()}
        short, long = again["short"], again["long"]
        if short is None:
            return verdict(False, "nothing was sent again")
        later = "never" if long is None else f"{long:.3f} s"
        text = f"sends again after {short:.3f} s with {values['short']}{unit}, {later} with {values['long']}{unit}"
        return verdict(low_s <= short <= high_s and (long is None or long > 2 * short), text)

    return ask.check({name: ask.want({ask.name: value}, link, timeout_s=4.0) for name, value in values.items()}, judge)


PROOFS = {
    "allow_0rtt": allow_0rtt,
    "fast_open": fast_open,
    "initial_rtt": initial_rtt,
    "pto_factor": pto_factor,
    "retry": retry,
}
