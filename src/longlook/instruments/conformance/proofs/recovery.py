"""Proofs of loss detection: late packets are sent again or not, depending on the thresholds (RFC 9002, 6.1)."""

from collections.abc import Mapping

from longlook.core import Link, Scalar, Stage
from longlook.instruments.conformance import wire
from longlook.instruments.conformance.checks import Check, CheckFinding, Want, comparing, verdict
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.links import path
from longlook.instruments.conformance.proofs.ask import Ask, transfer
from longlook.instruments.conformance.qlogs import count

_RTT_S = 0.1
_RATE_MBPS = 40
_DEPTH, _SHORT_SHARE = 16, 0.1  # never late by an eighth of the round trip, so that time does not decide
_LATE_SHARE = 0.4  # of a round trip
_OFTEN = 0.01
_NEVER = 1_000
_UNDONE_FASTER = 1.5
_SHORT_QUEUE_BYTES = 60_000  # so that timers stay near the round trip
_LOST_FROM_NS, _LOST_UNTIL_NS = 1_500_000_000, 3_500_000_000


def packet_threshold(ask: Ask) -> Check:
    """Make 16 others overtake a packet: it is lost for a threshold of 3, and waited for with one of 60."""
    link = _late(_DEPTH, _SHORT_SHARE * _RTT_S)
    return _spurious(ask, link, {ask.name: ask.value(3)}, {ask.name: ask.value(60)})


def time_threshold(ask: Ask) -> Check:
    """Delay a packet by 0.4 of a round trip: it is lost for a threshold of 9/8, and waited for with one of 2."""
    if "packet_threshold" not in ask.siblings:
        return Check(ask.title, {}, _nothing, ask.name, ask.role)
    held = ask.siblings["packet_threshold"]
    apart = {"packet_threshold": int(min(_NEVER, held.maximum or _NEVER))}
    link = _late(_NEVER, _LATE_SHARE * _RTT_S)
    return _spurious(ask, link, {**apart, ask.name: ask.value(1.125)}, {**apart, ask.name: ask.value(2.0)})


def adaptive_reordering(ask: Ask) -> Check:
    """Make 16 others overtake a packet, again and again: a sender that adapts takes few of them for lost, one that does
    not takes each.
    """
    link = _late(_DEPTH, _SHORT_SHARE * _RTT_S)
    return _spurious(ask, link, {ask.name: False}, {ask.name: True})


def undo_spurious_losses(ask: Ask) -> Check:
    """Make 16 others overtake a packet, again and again, before a sender with a fixed threshold: one that takes each
    reduction back is faster.
    """
    if ask.role == "client":
        return ask.without("a client sends only requests: no window to reduce")
    link = _late(_DEPTH, _SHORT_SHARE * _RTT_S)

    def read(seen: Seen) -> float:
        return wire.sending_s(seen.packets)

    def judge(took_s: Mapping[str, float]) -> CheckFinding:
        text = (
            f"2 MB take {took_s['kept']:.2f} s where reductions are kept, {took_s['undone']:.2f} s where they are not"
        )
        return verdict(took_s["kept"] > _UNDONE_FASTER * took_s["undone"], text)

    fixed = {"adaptive_reordering": False}
    values = {"kept": False, "undone": True}
    return ask.compare(values, read, judge, apart=fixed, link=link, workload=transfer(2_000_000))


def persistent_congestion_threshold(ask: Ask) -> Check:
    """Lose everything for two seconds: what is sent behind that is the smallest window with 1, and not with 100."""
    if ask.role == "client":
        return ask.without("a client sends only requests: no window to lose")
    outage = {"steps": [[0, 0], [_LOST_FROM_NS, 1], [_LOST_UNTIL_NS, 0]]}
    link = path(10, _RTT_S, _SHORT_QUEUE_BYTES, down=(Stage("loss", {"probability": outage}),))
    values = {"soon": ask.value(1), "late": ask.value(100)}

    def read(seen: Seen) -> int:
        return wire.sent_after_outage(seen.packets, _RTT_S)

    def judge(sent: Mapping[str, int]) -> CheckFinding:
        text = ", ".join(f"{sent[name]} packets with {values[name]}" for name in values)
        return verdict(sent["late"] > 3 * sent["soon"] > 0, f"in the second round trip after an outage: {text}")

    return ask.compare(values, read, judge, link=link, workload=transfer(4_000_000), unlimited=True)


def _nothing(_seen: Mapping[str, Seen]) -> CheckFinding:
    return verdict(False, "the packet threshold decides first, and this stack has no knob to hold it off")


def _late(depth: int, wait_s: float) -> Link:
    stage = Stage("reorder", {"probability": _OFTEN, "depth_packets": depth, "wait_ns": round(wait_s * 1e9)})
    return path(_RATE_MBPS, _RTT_S, behind=(stage,))


def _spurious(ask: Ask, link: Link, strict: Mapping[str, Scalar], patient: Mapping[str, Scalar]) -> Check:
    """Demand that the strict threshold sends many packets twice that are late in both trials.

    The witness acknowledges late packets at once. A stack that learns from the first packet that it took for lost sends
    few twice: its own log then has to report lost packets with the strict threshold, and none with the patient one.
    """
    if ask.role == "client":
        return ask.without("a client sends only requests, of which none comes late")
    workload = transfer(2_000_000)

    def read(seen: Seen) -> tuple[int, int, int]:
        """Return the numbers of packets with data, of late ones, and of lost ones in the server's log."""
        lost = count(seen.qlogs.get("server", ()), "packet_lost")
        return wire.data_packets(seen.packets), wire.overtaken(seen.packets), lost

    def judge(found: Mapping[str, tuple[int, int, int]]) -> CheckFinding:
        (sent, late, lost), (sent_patient, _, lost_patient) = found["strict"], found["patient"]
        twice = sent - sent_patient
        text = (
            f"{late} packets late, {twice} more sent with {strict[ask.name]} than with {patient[ask.name]} "
            f"({sent} and {sent_patient}); its log has {lost} and {lost_patient} lost"
        )
        often = twice >= 0.3 * late and twice >= 2
        return verdict(late > 0 and (often or lost > 0 == lost_patient), text)

    wants: dict[str, Want] = {
        "strict": ask.want(strict, link, workload, witnessed=True),
        "patient": ask.want(patient, link, workload, witnessed=True),
    }
    return ask.check(wants, comparing(read, judge))


PROOFS = {
    "packet_threshold": packet_threshold,
    "time_threshold": time_threshold,
    "adaptive_reordering": adaptive_reordering,
    "undo_spurious_losses": undo_spurious_losses,
    "persistent_congestion_threshold": persistent_congestion_threshold,
}
