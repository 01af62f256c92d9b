"""Proofs about second addresses.

The packets of a client show when it continues from its second address. The second of two links shows whether a
connection uses both, or goes to the server's second address.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from longlook.core import Endpoint, Stage
from longlook.instruments.conformance.checks import Check, CheckFinding, comparing, verdict
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.links import path
from longlook.instruments.conformance.proofs.ask import Ask, transfer

_RTT_S = 0.04
_RATE_MBPS = 4
_SHORT_S, _LONG_S = 0.3, 1.2
_OBJECT_BYTES = 1_000_000
"""Two seconds at that rate: the load still lasts when the client moves."""
_PACKETS_OF_A_HANDSHAKE = 12
"""Packets of each direction: the handshake is complete before, and the object is not there."""
_FEW_BYTES = 10_000
"""The bytes of packets that only try a path."""
_COPIES = "redundant"
"""The scheduler that sends everything over every path."""
_FOLLOWER = Endpoint("aioquic", "1.7.2")
"""A client that goes to the address that a server prefers."""
_SLACK_S = 0.15
"""For the handshake, or the first packets of an answer, before a connection can fall silent."""


def move_at(ask: Ask) -> Check:
    """Measure when the first packet comes from the second address."""
    return _moved(ask, ())


def move_after_silence(ask: Ask) -> Check:
    """Measure when the first packet comes from the second address, if the first gets no more packets."""
    carrier = "udp" if ask.protocol == "h3" else "tcp"
    return _moved(ask, (Stage("cutoff", {"protocol": carrier, "packets": _PACKETS_OF_A_HANDSHAKE}),))


def _moved(ask: Ask, rules: Sequence[Stage]) -> Check:
    values = {"short": ask.value(_SHORT_S), "long": ask.value(_LONG_S)}

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        after_s = {name: found.moved_s for name, found in seen.items()}
        if missing := [f"{name}: it never moved, {seen[name].why}" for name, at in after_s.items() if at is None]:
            return verdict(False, "; ".join(missing))
        text = ", ".join(f"moved after {after_s[name]:.3f} s with {value} s" for name, value in values.items())
        late = [float(after_s[name] or 0) - float(value) for name, value in values.items()]
        return verdict(all(-0.001 <= each <= _SLACK_S for each in late), text)

    link, load = path(_RATE_MBPS, _RTT_S, up=tuple(rules), down=tuple(rules)), transfer(_OBJECT_BYTES)
    wants = {name: ask.want({ask.name: value}, link, load, timeout_s=20.0) for name, value in values.items()}
    return ask.check(wants, judge)


def multipath(ask: Ask) -> Check:
    """Compare what the second link carries with the knob at both ends, and at the other end alone.

    A server decides by its scheduler what goes over which path: one that sends copies must send twice as much.
    """
    schedulers = [str(choice) for choice in ask.knob.choices]
    values = {"at one end": None, **{name: name for name in schedulers}}

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        failed = [f"{name}: {seen[name].why}" for name in schedulers if not seen[name].ok]
        if failed:
            return verdict(False, "; ".join(failed))
        second = {name: _carried(found, "second.down") for name, found in seen.items()}
        text = ", ".join(f"{count / 1000:.0f} KB with it {name}" for name, count in second.items())
        used = all(second[name] > _OBJECT_BYTES / 10 for name in schedulers) and second["at one end"] < _FEW_BYTES
        if ask.role == "server" and _COPIES in second:
            total = {name: second[name] + _carried(seen[name], "down") for name in schedulers}
            least = min(total.values())
            used = used and total[_COPIES] > 1.5 * least
            text += f"; {total[_COPIES] / 1000:.0f} KB over both links with {_COPIES}, {least / 1000:.0f} at least"
        return verdict(used, f"over the second link {text}")

    link, load = path(_RATE_MBPS, _RTT_S), transfer(_OBJECT_BYTES)
    wants = {}
    for name, value in values.items():
        want = ask.want({} if value is None else {ask.name: value}, link, load, timeout_s=20.0)
        other = replace(ask.peer, knobs={ask.name: value or schedulers[0]})
        both = replace(want, client=other) if ask.role == "server" else replace(want, server=other)
        wants[name] = replace(both, second=link)
    return ask.check(wants, judge)


def preferred_address(ask: Ask) -> Check:
    """Compare what the second link carries, which leads to the server's second address, with the knob and without.

    The client is one that follows: quinn's own takes the connection id and stays.
    """

    def read(seen: Seen) -> int:
        return _carried(seen, "second.down")

    def judge(second: Mapping[str, int]) -> CheckFinding:
        text = ", ".join(f"{count / 1000:.0f} KB with it {name}" for name, count in second.items())
        return verdict(second["on"] > _OBJECT_BYTES / 2 and second["off"] == 0, f"over the second link {text}")

    link, load = path(_RATE_MBPS, _RTT_S), transfer(_OBJECT_BYTES)
    wants = {}
    for name, value in (("off", False), ("on", True)):
        want = ask.want({ask.name: value}, link, load, timeout_s=20.0)
        wants[name] = replace(want, client=_FOLLOWER, second=link)
    return ask.check(wants, comparing(read, judge))


def _carried(found: Seen, link: str) -> int:
    return found.run.link.get(link, {}).get("delivered_bytes", 0)


PROOFS = {
    "move_at": move_at,
    "move_after_silence": move_after_silence,
    "multipath": multipath,
    "preferred_address": preferred_address,
}
