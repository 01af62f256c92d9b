"""Odd studies whose trials leave more than lines: flows, several links, losses, profiles, traces."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.support.odd_studies import METRICS, OddStudy, odd_studies

Document = dict[str, Any]

TRACE_FILE = "TRACE"
"""Stands in a drawn study for the path of a trace of a link, which the test writes."""
_FLOWS = (
    {"subject": {"protocol": "h3"}, "others": {"protocol": "h2", "connection": "cold", "count": 2}},
    {"subject": {"protocol": "h3"}},
    {"subject": {"protocol": "h2", "connection": "cold"}, "0": {"protocol": "h3", "count": 1}},
    {
        "subject": {"protocol": "h3"},
        "crossing": {"protocol": "h3", "cross": True, "arrivals": 2, "object": "5KB", "connection": "cold"},
    },
)
_LOSSES = ("20%", "gilbert_elliott(1%, 25%)", "burst(0.1%, 5)", "index(3, 7)", "0.001%")
_RATES = (
    "uniform(5Mbit, 15Mbit, 100ms)",
    "walk(10Mbit, 1Mbit, 5Mbit, 15Mbit, 1s)",
    "steps(0s 10Mbit, 50ms 0bit, 60ms 2Mbit, repeat 100ms)",
    "steps(0s 10Mbit, 5s 2Mbit)",
    f"trace({TRACE_FILE})",
)
_PATHS: tuple[Mapping[str, Any], ...] = (
    {"preset": "endres2022-geo-loss"},
    {"aqm": "fq_codel", "ecn": True},
    {"jitter": "400us", "reorder": "1%", "duplicate": "1%"},
    {"queue": "1packets", "access_delay": "packet"},
    {"block": "icmp", "mtu": "1400B", "surgery": {"down": "drop 2; hold 3 5ms"}},
)


_EXPECTED: tuple[Mapping[str, Any], ...] = (
    {"load": "< 2s"},
    {"load": ["> 1ms", "< 1ms"], "drops": 0},
    {"window": "> 1 packets", "spurious": 0, "page_load_time": "< 1s"},
    {"state": "at 1s slow_start", "queue": "< 1KB"},
)
_WORKLOADS: tuple[Mapping[str, Any], ...] = (
    {"kind": "download", "object": "20KB"},
    {"kind": "download", "object": "1B", "objects": 2},
    {"kind": "mixed_page", "images": "2 x 1KB, 20KB"},
)


@dataclass(frozen=True)
class OddKind:
    """A part that a study's trials have besides a load: how a study gets it, and how it is measured."""

    add: Callable[[st.DrawFn, Document], None]
    metrics: tuple[str, ...]


def _set_by_factors(document: Document) -> set[str]:
    return {setting for factor in document["factors"] for level in factor["levels"] for setting in level}


def _flows(draw: st.DrawFn, document: Document) -> None:
    sized = "workload.object" in _set_by_factors(document)
    document["workload"] = {
        "kind": "compete",
        "start": draw(st.sampled_from(("0s", "random(100ms)"))),
        **({} if sized else draw(st.sampled_from(({"duration": "1s"}, {"object": "20KB"})))),
    }
    document["defaults"]["congestion_control"] = "cubic"
    for arm in document["arms"].values():
        del arm["protocol"]
        arm["flows"] = draw(st.sampled_from(_FLOWS if "duration" in document["workload"] else _FLOWS[:-1]))


def _second(draw: st.DrawFn, document: Document) -> None:
    document["second"] = draw(st.sampled_from(({"rate": "5Mbit", "rtt": "80ms"}, {"rate": "1Mbit", "rtt": "0ms"})))


def _behind(draw: st.DrawFn, document: Document) -> None:
    document["behind"] = draw(st.sampled_from(({"rate": "5Mbit", "rtt": "80ms"}, {"rate": "100Mbit", "rtt": "1ms"})))


def _network(document: Document, settings: Mapping[str, Any]) -> None:
    """Set what no factor sets of the path."""
    taken = _set_by_factors(document)
    document["network"] |= {key: value for key, value in settings.items() if f"network.{key}" not in taken}


def _losses(draw: st.DrawFn, document: Document) -> None:
    _network(document, {"loss": draw(st.sampled_from(_LOSSES))})


def _strata(draw: st.DrawFn, document: Document) -> None:
    _network(document, {"loss": draw(st.sampled_from(("0.001%", "1%", "gilbert_elliott(1%, 25%)")))})
    document |= {"losses": "strata", "around": draw(st.sampled_from(("none", "standard")))}


def _undecided(draw: st.DrawFn, document: Document) -> None:
    document["rounds"] = "decide"
    document["analysis"] = {"min_rounds": draw(st.sampled_from((2, 3)))}
    document["max_rounds"] = draw(st.sampled_from((3, 4)))


def _expecting(draw: st.DrawFn, document: Document) -> None:
    document["expect"] = dict(draw(st.sampled_from(_EXPECTED)))
    document["capture"] = {"qlog": True}


def _workloads(draw: st.DrawFn, document: Document) -> None:
    workload = dict(draw(st.sampled_from(_WORKLOADS)))
    if "workload.object" in _set_by_factors(document):
        workload = {"kind": "download", "objects": 2}
    document["workload"] = workload


def _varying(draw: st.DrawFn, document: Document) -> None:
    _network(document, {"rate": draw(st.sampled_from(_RATES)), "queue": "30KB"})


def _paths(draw: st.DrawFn, document: Document) -> None:
    _network(document, draw(st.sampled_from(_PATHS)))


def _capture(name: str) -> Callable[[st.DrawFn, Document], None]:
    def add(_draw: st.DrawFn, document: Document) -> None:
        document["capture"] = {name: True}

    return add


KINDS: Mapping[str, OddKind] = {
    "flows": OddKind(
        _flows,
        (
            *("share_of_used", "share_of_link", "fair_share", "jain_index", "subject_goodput", "competitor_goodput"),
            *("utilisation", "queue_delay", "convergence_time", "subject_loss", "competitor_retransmission"),
        ),
    ),
    "second": OddKind(_second, ("second_link_share", "longest_stall", "page_load_time")),
    "behind": OddKind(_behind, ("packet_loss", "throughput", "page_load_time")),
    "losses": OddKind(
        _losses,
        (
            *("single_loss_epochs", "recoverable_losses", "packet_loss", "losses_of_last_packets"),
            *("recoverable_at_quiescence", "head_of_line_stall", "retransmitted"),
        ),
    ),
    "strata": OddKind(_strata, ("page_load_time", "goodput", "packet_loss")),
    "undecided": OddKind(_undecided, ("page_load_time", "goodput")),
    "expecting": OddKind(_expecting, ("page_load_time", "packet_loss")),
    "workloads": OddKind(_workloads, ("page_load_time", "goodput", "time_to_first_byte")),
    "varying": OddKind(_varying, ("utilisation", "goodput", "largest_packet", "largest_packet_time")),
    "paths": OddKind(_paths, ("page_load_time", "packet_loss", "queue_delay", "ce_marked")),
    "cpu": OddKind(_capture("cpu"), ("client_cpu", "server_cpu", "client_cpu_per_gb", "server_cpu_per_gb")),
    "traces": OddKind(
        _capture("qlog"),
        ("congestion_window", "time_in_slow_start", "time_in_recovery", "server_srtt", "declared_lost", *METRICS[:1]),
    ),
}


@st.composite
def odd_evidence(draw: st.DrawFn, kind: str) -> OddStudy:
    """Draw an odd study of a kind, and the outcomes of its trials."""
    odd = draw(odd_studies(KINDS[kind].metrics))
    document = deepcopy(dict(odd.document))
    KINDS[kind].add(draw, document)
    return OddStudy(document, odd.outcomes, odd.rounds_that_end_so, odd.only)
