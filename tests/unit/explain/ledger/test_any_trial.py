"""Whatever the link and the ends wrote, a ledger is made, and nothing of the load is missing from it."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.core.model import Stage
from longlook.explain.ledger import Ledger, make_ledger
from longlook.timeline.events import EventKind
from tests.data.scenes import QUIC, TCP, Scene, ns

STAGES = ((), (Stage("access", {"max_ns": ns(1.2)}),), (Stage("jitter", {"jitter_ns": ns(5.0)}),))
RATES = (10_000_000, {"steps": [[0, 10_000_000], [ns(50.0), 0], [ns(70.0), 2_000_000]]}, {"uniform": [1, 2]})
FORMS = ("short", "initial", "handshake", "0rtt", None)
FIGURES = ("cwnd_bytes", "in_flight_bytes", "srtt_ns", "pacing_bps", "packet_number", "size_bytes")
NAMES = ("stream", "connection", "streams_bidi", "slow_start", "recovery", "bbr_startup", "expired", "rto", "strange")


def any_scene(seed: int) -> Scene:
    """A load whose packets, stamps and events have nothing to do with each other."""
    draw = random.Random(seed)
    scene = Scene(draw.choice(RATES[:2]), draw.choice((QUIC, TCP)), draw.choice(STAGES))

    def moment() -> float:
        return round(draw.uniform(-5.0, 200.0), draw.choice((0, 3)))

    for _ in range(draw.randrange(1, 60)):
        form = {} if scene.flow == TCP else {"quic": draw.choice(FORMS)}
        extra = {"transport_sequence": draw.randrange(2**32), "acknowledgement": draw.randrange(2**32)}
        size = draw.choice((40, 60, 90, 600, 1250, 1500))
        how = draw.randrange(4)
        if how == 0:
            scene.up(moment(), size, priming=draw.random() < 0.1, **form, **extra)
        elif how == 1:
            scene.drop(moment(), size, draw.choice(("up", "down")), **form, **extra)
        else:
            at_ms = moment()
            begin = at_ms + draw.choice((0.0, 0.3, 7.0))
            scene.down(at_ms, size, begin_ms=begin, priming=draw.random() < 0.1, **form, **extra)
    for number in range(draw.randrange(4)):
        asked, first, done = sorted(moment() for _ in range(3))
        scene.fetched(asked, first, done, f"/{number}", size=draw.choice((0, 5, 10_000)))
    if draw.random() < 0.5:
        started, ready = sorted((moment(), moment()))
        scene.opened(started, ready, draw.choice(("cold", "0rtt")))
    for _ in range(draw.randrange(80)):
        values = {name: draw.choice((None, 0, 1, 5_000, 10**12)) for name in FIGURES}
        vantage = draw.choice(("server", "client"))
        value = draw.choice((None, 0.0, 1.0, 1e9))
        kind = str(draw.choice(list(EventKind)))
        detail = draw.choice((None, "frame_received", "state"))
        scene.log(moment(), kind, vantage=vantage, name=draw.choice(NAMES), value=value, detail=detail, **values)
    return scene


@settings(max_examples=150)
@given(st.integers(0, 2**32), st.booleans())
def test_every_nanosecond_of_any_load_has_one_class(seed: int, live: bool) -> None:
    scene = any_scene(seed)
    timeline = scene.timeline()
    window = timeline.load_window_ns()
    ledger = make_ledger(timeline, scene.trial, live=live)
    if ledger is None:
        ours = timeline.select(["packet_delivered", "packet_dropped"]).to_pylist()
        assert window is None or window[0] == window[1] or all(row["direction"] == "up" for row in ours)
        return
    assert window == ledger.span_ns
    assert sum(ledger.totals().values()) == window[1] - window[0]
    starts, ends = ledger.table["start_ns"].to_pylist(), ledger.table["end_ns"].to_pylist()
    assert starts[1:] == ends[:-1]


@pytest.mark.parametrize("rate", RATES)
def test_any_kind_of_rate_is_understood(rate: object) -> None:
    scene = Scene()
    scene.up(0.0)
    done = scene.down(10.0)
    scene.fetched(0.0, done, done)
    timeline = scene.timeline()
    scene.rate_bps = rate
    assert isinstance(make_ledger(timeline, scene.trial), Ledger)
