"""Proofs of how many requests a server answers at once: with few, a page needs more round trips."""

import math
from collections.abc import Mapping

from longlook.core import Workload
from longlook.instruments.conformance.checks import Check, CheckFinding, verdict
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.links import path
from longlook.instruments.conformance.proofs.ask import Ask

_RTT_S = 0.2
_OBJECTS, _FEW = 40, 4


def max_incoming_streams(ask: Ask) -> Check:
    """Measure the time for a page's images: each group of requests that is allowed at once takes a round trip."""
    if ask.role == "client":
        return ask.without("servers open no requests")
    link, workload = path(50, _RTT_S), Workload("page", {"objects": _OBJECTS, "object_bytes": 1_000})
    # Some stacks double the limit as it is used: 4, 8, 16, … at once. The first group may be asked for with the page.
    least_s = (math.ceil(math.log2(_OBJECTS / _FEW + 1)) - 1) * _RTT_S

    def judge(took_s: Mapping[str, float]) -> CheckFinding:
        few_s, usual_s = took_s["few"], took_s["default"]
        text = f"{_OBJECTS} objects in {few_s:.2f} s with {_FEW} at once, {usual_s:.2f} s by default (RTT {_RTT_S:g} s)"
        return verdict(few_s >= least_s and few_s > 2 * usual_s, text)

    values = {"default": None, "few": ask.value(_FEW)}
    steady = ask.steady(_RTT_S)
    return ask.compare(values, images_s, judge, apart=steady, link=link, workload=workload, unlimited=True)


def threads(ask: Ask) -> Check:
    """Measure the time for a page's images: with one thread, the handshakes of their connections wait in line."""
    link, workload = path(50, _RTT_S), Workload("page", {"objects": _OBJECTS, "object_bytes": 1_000})

    def judge(took_s: Mapping[str, float]) -> CheckFinding:
        one_s, many_s = took_s["one"], took_s["many"]
        text = f"{_OBJECTS} objects in {one_s:.2f} s with one thread, {many_s:.2f} s with many (RTT {_RTT_S:g} s)"
        return verdict(one_s >= _OBJECTS * _RTT_S and one_s > 2 * many_s, text)

    return ask.compare({"one": False, "many": True}, images_s, judge, link=link, workload=workload)


def images_s(seen: Seen) -> float | None:
    """Return the time from the end of the page's document to the last image's end; None if not all arrived."""
    if not seen.ok:
        return None
    ends = [int(line["t_end_ns"]) for line in seen.events("client", "object")]
    return (max(ends) - min(ends)) / 1e9


PROOFS = {"max_incoming_streams": max_incoming_streams, "threads": threads}
