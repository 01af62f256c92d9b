"""Proofs of the sizes of datagrams, of how they are passed to and taken from the kernel, and of their ECN mark."""

from collections.abc import Mapping

from longlook.core import Link, Stage
from longlook.instruments.conformance import wire
from longlook.instruments.conformance.checks import Check, CheckFinding, CheckStatus, verdict
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.links import usual
from longlook.instruments.conformance.proofs.ask import Ask, transfer

_PAYLOAD_BYTES = 1_331
_LEAST_BYTES = 1_200  # to which Initial packets are padded (RFC 9000, 14.1)
_BURST_BYTES, _BURST_EVERY_NS = 60_000, 50_000_000
_SHORT_QUEUE, _LONG_QUEUE = 2, 10_000


def max_udp_payload(ask: Ask) -> Check:
    """Demand that the endpoint's largest datagram has exactly the size that was set, and another one by default."""
    return _largest(ask, {}, exact=True)


def initial_packet_size(ask: Ask) -> Check:
    """Demand the same, with path MTU discovery switched off, so that datagrams do not grow."""
    apart = {"disable_pmtud": True} if "disable_pmtud" in ask.siblings else {}
    return _largest(ask, apart, exact=True)


def _largest(ask: Ask, apart: Mapping[str, bool], *, exact: bool) -> Check:
    value = ask.value(_PAYLOAD_BYTES)

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        size = {name: wire.largest(found.packets, ask.role) for name, found in seen.items()}
        if ask.role == "client" and all(found.ok for found in seen.values()) and set(size.values()) == {_LEAST_BYTES}:
            return CheckFinding(
                CheckStatus.NOT_APPLICABLE, "a client sends only requests, which are smaller, and no probes"
            )
        broken = "" if seen["set"].ok else f"; {seen['set'].why}"
        text = f"largest datagram {size['set']} bytes with {value}, {size['default']} without{broken}"
        return verdict(exact and seen["set"].ok and size["set"] == value != size["default"], text)

    workload = transfer(500_000)
    wants = {
        "default": ask.want(apart, usual(), workload),
        "set": ask.want({**apart, ask.name: value}, usual(), workload),
    }
    return ask.check(wants, judge)


def disable_pmtud(ask: Ask) -> Check:
    """Demand that the largest datagram is smaller if path MTU discovery is disabled."""
    workload = transfer(1_000_000)

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        size = {name: wire.largest(seen[name].packets, ask.role) for name in ("off", "on")}
        text = f"largest datagram {size['on']} bytes when disabled, {size['off']} otherwise"
        both = [found for found in size.values() if found is not None]
        return verdict(len(both) == 2 and all(found.ok for found in seen.values()) and both[1] < both[0], text)

    wants = {
        "off": ask.want({ask.name: False}, usual(), workload),
        "on": ask.want({ask.name: True}, usual(), workload),
    }
    return ask.check(wants, judge)


def gso(ask: Ask) -> Check:
    """Read what the endpoint's own `connection` line reports about its socket."""

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        reported = {
            name: [line.get("gso") for line in found.events(ask.role, "connection")] for name, found in seen.items()
        }
        text = f"connection lines report gso {reported['on']} when on, {reported['off']} when off"
        return verdict(reported["on"] == [True] and reported["off"] == [False], text)

    return ask.check({name: ask.want({ask.name: name == "on"}) for name in ("on", "off")}, judge)


def ecn(ask: Ask) -> Check:
    """Count the endpoint's packets that carry an ECN codepoint."""

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        share = {name: wire.ecn_share(found.packets, ask.role) for name, found in seen.items()}
        on, off = share["on"], share["off"]
        if on is None or off is None:
            return verdict(False, "no packet was sent")
        return verdict(on > 0 and off == 0, f"{on:.0%} of its packets carry a codepoint when on, {off:.0%} when off")

    workload = transfer(300_000)
    return ask.check({name: ask.want({ask.name: name == "on"}, usual(), workload) for name in ("on", "off")}, judge)


def receive_queue(ask: Ask) -> Check:
    """Let packets arrive forty at a time: a short queue throws some away, which the server then sends again."""
    if ask.role == "server":
        return ask.without("a server receives requests and acknowledgements, too few at a time")
    bursts = {"opportunities": {"runs": [[_BURST_EVERY_NS, 1]], "bytes": _BURST_BYTES, "repeat_ns": _BURST_EVERY_NS}}
    stages = (Stage("rate", {"rate_bps": bursts, "queue_bytes": 4_000_000}), Stage("delay", {"delay_ns": 20_000_000}))
    link = Link(up=usual().up, down=stages)
    values = {"short": ask.value(_SHORT_QUEUE), "long": ask.value(_LONG_QUEUE)}

    def read(seen: Seen) -> int:
        return wire.data_packets(seen.packets)

    def judge(sent: Mapping[str, int]) -> CheckFinding:
        text = ", ".join(f"{sent[name]} packets for {values[name]}" for name in values)
        return verdict(sent["short"] > 1.1 * sent["long"], f"in bursts of {_BURST_BYTES} bytes: {text}")

    return ask.compare(values, read, judge, link=link, workload=transfer(1_000_000))


PROOFS = {
    "max_udp_payload": max_udp_payload,
    "initial_packet_size": initial_packet_size,
    "disable_pmtud": disable_pmtud,
    "gso": gso,
    "ecn": ecn,
    "receive_queue": receive_queue,
}
