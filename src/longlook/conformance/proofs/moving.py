"""Proofs of when a client continues from its second address, by the packets that it sends from there."""

from collections.abc import Mapping, Sequence

from longlook.conformance import Check, Finding, verdict
from longlook.conformance.evidence import Seen
from longlook.conformance.links import path
from longlook.conformance.proofs.ask import Ask, transfer
from longlook.core.model import Stage

_RTT_S = 0.04
_RATE_MBPS = 4
_SHORT_S, _LONG_S = 0.3, 1.2
_OBJECT_BYTES = 1_000_000
"""Two seconds at that rate: the load still lasts when the client moves."""
_PACKETS_OF_A_HANDSHAKE = 12
"""Of each direction: the handshake is complete before, and the object is not there."""
_SLACK_S = 0.15
"""For the handshake, or the first packets of an answer, before a connection can fall silent."""


def move_at(ask: Ask) -> Check:
    """Measure when the first packet comes from the second address."""
    return _moved(ask, ())


def move_after_silence(ask: Ask) -> Check:
    """Measure when the first packet comes from the second address, where the first gets no more packets."""
    return _moved(ask, (Stage("cutoff", {"protocol": "udp", "packets": _PACKETS_OF_A_HANDSHAKE}),))


def _moved(ask: Ask, rules: Sequence[Stage]) -> Check:
    values = {"short": ask.value(_SHORT_S), "long": ask.value(_LONG_S)}

    def judge(seen: Mapping[str, Seen]) -> Finding:
        after_s = {name: found.moved_s for name, found in seen.items()}
        if missing := [f"{name}: it never moved, {seen[name].why}" for name, at in after_s.items() if at is None]:
            return verdict(False, "; ".join(missing))
        text = ", ".join(f"moved after {after_s[name]:.3f} s with {value} s" for name, value in values.items())
        late = [float(after_s[name] or 0) - float(value) for name, value in values.items()]
        return verdict(all(-0.001 <= each <= _SLACK_S for each in late), text)

    link, load = path(_RATE_MBPS, _RTT_S, up=tuple(rules), down=tuple(rules)), transfer(_OBJECT_BYTES)
    wants = {name: ask.want({ask.name: value}, link, load, timeout_s=20.0) for name, value in values.items()}
    return ask.check(wants, judge)


PROOFS = {"move_at": move_at, "move_after_silence": move_after_silence}
