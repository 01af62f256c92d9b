"""Proofs of when a receiver acknowledges."""

from collections.abc import Mapping

from longlook.core import Scalar
from longlook.instruments.conformance import wire
from longlook.instruments.conformance.checks import Check, CheckFinding, verdict
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.links import usual
from longlook.instruments.conformance.proofs.ask import Ask, transfer
from longlook.instruments.conformance.proofs.windows import offered

_FEW, _MANY = 2, 20
_NEVER = 1_000
_MS_PER_S = 1e3


def ack_threshold(ask: Ask) -> Check:
    """Count the client's packets for each of the server's during a download."""
    if ask.role == "server":
        return ask.without("a server receives only requests, and its answers carry the acknowledgements")
    return _counted(ask, {}, {"few": ask.value(_FEW), "many": ask.value(_MANY)})


def _counted(ask: Ask, apart: Mapping[str, Scalar], values: Mapping[str, Scalar]) -> Check:
    """Demand fewer packets up with the value `many` than with `few`; `apart` are knobs of both trials."""

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        ratio = {name: wire.acks_per_packet(found.packets) for name, found in seen.items()}
        few, many = ratio["few"], ratio["many"]
        if few is None or many is None:
            return verdict(False, next((found.why for found in seen.values() if not found.ok), "no data was sent"))
        text = ", ".join(f"{ratio[name]:.3f} packets up for one down with {values[name]}" for name in values)
        return verdict(many < 0.6 * few, text)

    workload = transfer(2_000_000)
    wants = {name: ask.want({**apart, ask.name: value}, usual(), workload) for name, value in values.items()}
    return ask.check(wants, judge)


def max_ack_delay(ask: Ask) -> Check:
    """Read the transport parameter of that name in the peer's log (milliseconds)."""
    return offered(ask, "max_ack_delay", 0.047, scale=_MS_PER_S)


def requested_ack_threshold(ask: Ask) -> Check:
    """Count as for `ack_threshold`; the server requests it of a client with the extension ACK frequency."""
    if ask.role == "client":
        return ask.without("a server receives only requests, and its answers carry the acknowledgements")
    return _counted(ask, {}, {"few": ask.value(_FEW), "many": ask.value(_MANY)})


def requested_max_ack_delay(ask: Ask) -> Check:
    """Count with a threshold that is never reached, so that the delay decides how often acknowledgements come."""
    if ask.role == "client":
        return ask.without("a server receives only requests, and its answers carry the acknowledgements")
    if "requested_ack_threshold" not in ask.siblings:
        return ask.check(
            {}, lambda _seen: verdict(False, "without requested_ack_threshold the threshold decides first")
        )
    apart = {"requested_ack_threshold": int(ask.siblings["requested_ack_threshold"].maximum or _NEVER)}
    return _counted(ask, apart, {"few": ask.value(0.005), "many": ask.value(0.06)})


PROOFS = {
    "ack_threshold": ack_threshold,
    "max_ack_delay": max_ack_delay,
    "requested_ack_threshold": requested_ack_threshold,
    "requested_max_ack_delay": requested_max_ack_delay,
}
