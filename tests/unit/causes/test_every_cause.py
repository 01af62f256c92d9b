"""What holds for every cause, whatever it looks for."""

import inspect
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from longlook.core.model import Endpoint, Link, Trial
from longlook.explain.cause import Cause, Finding, Intervention, Purpose, Says, Target, Touches, Untestable, causes
from longlook.explain.detect import proposed
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair, Side
from longlook.network import settings as network
from longlook.study import tcp
from longlook.study.settings import KNOB_PREFIXES, endpoint_setting, network_setting
from longlook.timeline.events import EventKind
from longlook.timeline.timeline import Kind as RowKind
from tests.data.scenes import PACKET_BYTES, TCP, Scene, ns
from tests.data.sides import USEFUL, dropped_for, fetching, pair, side
from tests.data.traces import TCP_FLOW, traced

EVERY = tuple(causes().values())
BUSY = (USEFUL, 100.0)
BY_NAME = [pytest.param(cause, id=cause.name) for cause in EVERY]
OF_ARMS = {"server", "client", "connection", "congestion_control", "client_cpu", "network.access_delay"}


def eventful(flow: str, *, logged: bool = True) -> Scene:
    """Something of everything: drops for all reasons, windows that fall, timers, limits, copies, ports, a Retry."""
    scene = fetching(30, flow=flow)
    scene.opened(0.0, 20.0, "resumed")
    for number, reason in enumerate(
        ("loss", "queue", "aqm", "mtu", "size_filter", "block", "police", "cutoff", "nat", "gilbert_elliott")
    ):
        dropped_for(scene, 60.0 + number, reason, transport_sequence=7)
        dropped_for(scene, 60.0 + number, reason, direction="up")
    scene.up(55.0, detail="client's port changed")
    if flow != TCP:
        scene.up(0.5, quic="0rtt")
        scene.down(5.0, quic="retry")
    scene.down(70.0, detail="copy 1")
    scene.down(400.0)
    if not logged:
        return scene
    for number, window in enumerate((20_000, 15_000, 10_000, 2_444, 2_444, 2_444)):
        at_ms = 21.0 + 10 * number
        scene.log(at_ms, "metrics", cwnd_bytes=window, in_flight_bytes=window // 2, srtt_ns=ns(200.0),
                  latest_rtt_ns=ns(20.0), pacing_bps=1_000_000, min_rtt_ns=ns(20.0))  # fmt: skip
        scene.log(at_ms + 1, "packet_acked", packet_number=number)
        scene.log(at_ms + 2, "pto", value=float(number + 1))
    for number, name in enumerate(("slow_start", "congestion_avoidance", "recovery", "bbr_probe_bandwidth")):
        scene.log(22.0 + 10 * number, "state", name=name)
    scene.log(66.0, "packet_lost", packet_number=3, size_bytes=PACKET_BYTES)
    scene.log(66.0, "packet_spurious", packet_number=3, size_bytes=PACKET_BYTES)
    for name in ("stream", "connection", "receive_window", "send_buffer"):
        scene.log(40.0, "blocked", name=name, value=9_000.0)
        scene.log(50.0, "blocked", name=name)
    scene.log(40.0, "blocked", name="streams_bidi", value=2.0, vantage="client")
    return scene


def losers() -> Iterator[Side]:
    """Arms that lost in every class of the ledger, over QUIC and TCP, with logs and without, on any link."""
    stretches = [BUSY, *((name, 30.0) for name in LedgerClass if name is not USEFUL)]
    details = [(LedgerClass.HANDSHAKE, 30.0, text) for text in ("amplification limit", "loss of a packet")]
    for flow in (Scene().flow, TCP):
        for logged in (True, False):
            made = side(eventful(flow, logged=logged), *details, *stretches)
            yield made
            yield replace(made, trial=replace(made.trial, **_tcp() if flow == TCP else {}))
            yield replace(made, trial=replace(made.trial, link=Link((), ()), client_cpu_share=0.1))
            yield replace(made, trial=replace(made.trial, server=Endpoint("aioquic", "1.7.2")))


def _tcp() -> dict[str, object]:
    return {"protocol": "h2", "congestion_control": "cubic", "tcp": {"send_buffer_bytes": 16_384, "pacing": True}}


LOSERS = tuple(losers())
PAIRS = tuple(pair(own) for own in LOSERS)


def test_names_titles_and_sources_are_their_own() -> None:
    assert len({cause.title for cause in EVERY}) == len(EVERY) >= 40
    for cause in EVERY:
        assert cause.source and cause.cured_by and cause.title
        assert cause.role in ("server", "client", "path")
        assert set(cause.classes) <= set(LedgerClass)
        assert set(cause.needs) <= {*EventKind, *RowKind}


@pytest.mark.parametrize("cause", BY_NAME)
def test_arms_that_are_alike_have_no_gap_to_explain(cause: Cause) -> None:
    for own in LOSERS:
        sign = cause.detect(Pair(own, own))
        assert sign is None or sign.strength_ns <= 0


@pytest.mark.parametrize("cause", BY_NAME)
def test_every_sign_has_evidence_and_a_sentence_and_every_change_is_a_setting(cause: Cause) -> None:
    for tested in PAIRS:
        sign = cause.detect(tested)
        if sign is None or sign.strength_ns <= 0:
            continue
        assert sign.evidence
        assert all(item.text and isinstance(item.time_ns, int) for item in sign.evidence)
        finding = Finding(cause.name, "a", cause.role, {0: sign}, 1)
        said = cause.said_of(finding)
        assert "{" not in said and "nan" not in said and not said.endswith(".")
        made = cause.interventions(finding, tested)
        assert made
        for item in made:
            check(item, tested)


def check(item: Intervention | Untestable, tested: Pair) -> None:
    if isinstance(item, Untestable):
        assert len(item.reason.split()) > 3
        return
    assert item.change.label
    assert item.change.settings or item.change.surgery
    assert item.dose is not None or item.kind is not Purpose.DOSE
    trials = {
        Target.LOSER: [tested.loser.trial],
        Target.WINNER: [tested.winner.trial],
        Target.BOTH: [tested.loser.trial, tested.winner.trial],
    }
    for key, value in item.change.settings.items():
        for trial in trials[item.target]:
            check_setting(key, value, trial)


def check_setting(key: str, value: object, trial: Trial) -> None:
    """Refuse settings that no study file could make."""
    if key in tcp.SETTINGS:
        assert trial.protocol == "h2"
        tcp.SETTINGS[key](value)
    elif key in network.SETTINGS:
        network.SETTINGS[key](value)
    elif not key.startswith(tuple(KNOB_PREFIXES)):
        assert key in OF_ARMS
        (network_setting if key in network.SETTINGS else endpoint_setting)(key, value)


def code_of(cause: Cause) -> str:
    """The part of a family's file that is about a cause: from its detector to its declaration."""
    lines = inspect.getsource(sys.modules[cause.detect.__module__]).splitlines()
    first = cause.detect.__code__.co_firstlineno - 1
    return "\n".join(lines[first : lines.index(f'    name="{cause.name}",')])


@pytest.mark.parametrize("cause", BY_NAME)
def test_a_cause_that_says_why_has_a_change_of_its_mechanism_and_others_say_where(cause: Cause) -> None:
    if cause.says is Says.WHERE:
        assert cause.sentence.split()[0] in ("at", "before", "in", "on", "where", "while", "with")
        assert not cause.where
    else:
        source = code_of(cause)
        assert any(
            text in source for text in ("Touches.MECHANISM", "later_losses(", "larger_windows(", "http2_widened(")
        )
        assert bool(cause.where) is ("Touches.OCCASION" in source)


@pytest.mark.parametrize("cause", BY_NAME)
def test_what_a_cause_would_change_is_typed_by_what_it_touches(cause: Cause) -> None:
    for tested in PAIRS:
        sign = cause.detect(tested)
        if sign is None or sign.strength_ns <= 0:
            continue
        items = proposed(cause, Finding(cause.name, "a", cause.role, {0: sign}, 1), tested)
        assert not any(isinstance(item, Untestable) and "failed with" in item.reason for item in items)
        for item in items:
            if not isinstance(item, Intervention) or item.touches is not Touches.MECHANISM:
                continue
            path = [key for key in item.change.settings if key.startswith(("network.", "behind."))]
            assert not path and not item.change.surgery, "a change of the path says where, not why"
            whole = {"server", "client"} & set(item.change.settings)
            assert all("+knobs" in str(item.change.settings[end]) for end in whole), "another program says which end"


@pytest.mark.parametrize("cause", BY_NAME)
def test_a_cause_is_its_detectors_docstring(cause: Cause) -> None:
    assert (cause.detect.__doc__ or "").startswith("Return a sign if ")


@pytest.mark.parametrize("cause", BY_NAME)
def test_senders_of_any_length_are_looked_at_without_a_fault(cause: Cause) -> None:
    for flow in (Scene().flow, TCP_FLOW):
        timeline, events = traced(duration_s=1.0, flow=flow)
        own = replace(side(None, (LedgerClass.CONGESTION_WINDOW, 900.0)), timeline=timeline.with_events(events))
        without = replace(own, timeline=timeline)
        for tested in (pair(own), pair(without), Pair(without, own)):
            sign = cause.detect(tested)
            assert sign is None or isinstance(sign.strength_ns, int)
