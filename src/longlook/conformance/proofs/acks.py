"""When a receiver acknowledges."""

from collections.abc import Mapping

from longlook.conformance import Check, Finding, verdict, wire
from longlook.conformance.evidence import Seen
from longlook.conformance.paths import usual
from longlook.conformance.proofs.ask import Ask, transfer
from longlook.conformance.proofs.windows import offered

_FEW, _MANY = 2, 20
_MS_PER_S = 1e3


def ack_threshold(ask: Ask) -> Check:
    """The client's packets for each of the server's, during a download."""
    if ask.role == "server":
        return ask.without("a server gets requests alone, and its answers carry the acknowledgements")
    values = {"few": ask.value(_FEW), "many": ask.value(_MANY)}

    def judge(seen: Mapping[str, Seen]) -> Finding:
        ratio = {name: wire.acks_per_packet(found.packets) for name, found in seen.items()}
        few, many = ratio["few"], ratio["many"]
        if few is None or many is None:
            return verdict(False, next((found.why for found in seen.values() if not found.ok), "no data was sent"))
        text = ", ".join(f"{ratio[name]:.3f} packets up for one down with {values[name]}" for name in values)
        return verdict(many < 0.6 * few, text)

    workload = transfer(2_000_000)
    return ask.check({name: ask.want({ask.name: value}, usual(), workload) for name, value in values.items()}, judge)


def max_ack_delay(ask: Ask) -> Check:
    """The transport parameter of that name, in the peer's log (milliseconds)."""
    return offered(ask, "max_ack_delay", 0.047, scale=_MS_PER_S)


PROOFS = {"ack_threshold": ack_threshold, "max_ack_delay": max_ack_delay}
