"""Proofs of what an end does when nothing comes: when it gives up, and how it keeps a connection."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from longlook.core import Scalar, Workload
from longlook.instruments.conformance.checks import Check, CheckFinding, Want, verdict
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.links import path
from longlook.instruments.conformance.proofs.ask import Ask
from longlook.instruments.conformance.proofs.windows import offered
from longlook.instruments.conformance.subject import stack_of

_MS_PER_S = 1_000
_SILENCE_S, _OFTEN_S = 12, 2.0
_FAR_RTT_S, _LONG_S = 40.0, 600.0


def idle_timeout(ask: Ask) -> Check:
    """Read the transport parameter `max_idle_timeout` in the peer's log (milliseconds)."""
    return offered(ask, "max_idle_timeout", 47.0, scale=_MS_PER_S)


def keep_alive(ask: Ask) -> Check:
    """Measure the longest silence of the end between two objects that are asked for 12 s apart, if the client waits."""
    if ask.role == "client" and not stack_of(ask.end).waits:
        return ask.without("the client never waits, so that no connection is silent")

    def longest_s(seen: Seen) -> float | None:
        sent_s = seen.packets.of(ask.role).sent_s
        return float(np.diff(sent_s).max()) if len(sent_s) > 1 else None

    def judge(found: Mapping[str, float]) -> CheckFinding:
        text = f"silent for {found['on']:.1f} s at most with {_OFTEN_S:g} s, {found['off']:.1f} s without"
        return verdict(found["on"] < 2 * _OFTEN_S and found["off"] > 0.8 * _SILENCE_S, text)

    workload = Workload("download", {"object_bytes": 10_000, "objects": 2, "at_once": 1, "idle_s": _SILENCE_S})
    return ask.compare(
        {"on": ask.value(_OFTEN_S), "off": None}, longest_s, judge, workload=workload, witnessed=ask.role == "server"
    )


def handshake_timeout(ask: Ask) -> Check:
    """Demand that a handshake over a round trip of 40 s succeeds with the knob at both ends, and fails if this end has
    its default.
    """
    hasty: dict[str, Scalar] = {"idle_timeout": _LONG_S} if "idle_timeout" in ask.siblings else {}
    patient = {ask.name: _LONG_S, **hasty}

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        said = {name: "succeeds" if found.ok else "fails" for name, found in seen.items()}
        text = f"a load over a round trip of {_FAR_RTT_S:g} s {said['on']} with {_LONG_S:g} s, {said['off']} by default"
        return verdict(seen["on"].ok and not seen["off"].ok, text)

    def both(own: Mapping[str, Scalar]) -> Want:
        want = ask.want(own, path(20, _FAR_RTT_S), timeout_s=_LONG_S)
        other = replace(ask.end, knobs=patient)  # its own peer: both ends need patience
        return replace(want, server=other) if ask.role == "client" else replace(want, client=other)

    return ask.check({"on": both(patient), "off": both(hasty)}, judge)


PROOFS = {"handshake_timeout": handshake_timeout, "idle_timeout": idle_timeout, "keep_alive": keep_alive}
