"""Detectors and the ledger draw nothing from what a trace contradicts itself about, and say so."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from longlook.core.model import Vantage
from longlook.explain.cause import Untestable, causes
from longlook.explain.detect import proposed, suspect
from longlook.explain.facts import DoubtError, SenderFacts
from longlook.explain.inside import look_inside
from longlook.explain.ledger import Ledger, LedgerClass, make_ledger
from longlook.explain.pair import Pair, Side, implausible
from longlook.timeline.timeline import Timeline
from tests.data.scenes import QUIC, Scene, ns, window_limited
from tests.data.sides import USEFUL, found_by, pair, side

TRACE = "qlog/server/a.sqlog"


def in_doubt(scene: Scene, *checks: str) -> Timeline:
    """The timeline of a scene whose server's trace contradicts itself."""
    made = scene.timeline()
    assert made.events is not None
    found = [{"check": check, "connection": 0, "problem": "it is odd"} for check in checks]
    source = {"connections": [{"flow": QUIC}], "implausible": found}
    return made.with_events(made.events.with_metadata({"sources": {TRACE: source}}))


def doubted(one: Side, scene: Scene, *checks: str) -> Side:
    return replace(one, timeline=in_doubt(scene, *checks))


def inflated() -> Scene:
    """A sender that takes the round trip for 80 ms, where it takes 20."""
    scene = Scene()
    scene.up(0.0)
    arrived = [scene.down(20.0 + number) for number in range(10)]
    for number in range(10):
        scene.log(20.0 + number, "metrics", srtt_ns=ns(80.0), latest_rtt_ns=ns(80.0), cwnd_bytes=12_000)
        scene.log(20.0 + number, "packet_acked", packet_number=number, size_bytes=1200)
    scene.fetched(0.0, arrived[0], arrived[-1])
    return scene


def losing(*checks: str) -> Pair:
    scene = inflated()
    loser = side(scene, (USEFUL, 10.0), (LedgerClass.TIMER, 90.0))
    return pair(doubted(loser, scene, *checks))


def reading(attribute: str) -> Mapping[str, Any]:
    """A cause that looks at a figure of a sender."""
    name = "rtt_overestimated"

    def detect(asked: Pair) -> None:
        getattr(asked.loser.server, attribute)

    return {name: replace(causes()[name], detect=detect)}


def test_facts_lack_what_is_in_doubt_and_detectors_may_not_read_it() -> None:
    (facts,) = SenderFacts.all_of(in_doubt(inflated(), "rtt_above_trace"), Vantage.SERVER)
    assert (facts.smoothed_rtt, facts.latest_rtt) == (None, None)
    assert facts.window is not None
    assert len(facts.acked.time_ns) == 10
    sender = losing("rtt_above_trace").loser.server
    assert sender is not None
    assert sender.window is not None
    with pytest.raises(DoubtError, match=r"it rests on what is not counted: qlog/server/a\.sqlog is implausible"):
        _ = sender.smoothed_rtt


@pytest.mark.parametrize(
    ("check", "attributes"),
    [
        ("rtt_below_send_to_ack", {"smoothed_rtt", "latest_rtt", "min_rtt"}),
        ("acked_unsent", {"acked", "spurious", "refused"}),
        ("lost_more_than_sent", {"lost", "spurious", "refused"}),
        ("sent_twice", {"sent", "acked", "lost", "spurious", "refused"}),
    ],
)
def test_a_cause_that_rests_on_what_is_in_doubt_is_not_asked(check: str, attributes: set[str]) -> None:
    for attribute in ("smoothed_rtt", "latest_rtt", "min_rtt", "sent", "acked", "lost", "spurious", "refused"):
        broken = suspect({0: losing(check)}, reading(attribute)).broken
        said = "it rests on what is not counted" in broken.get("rtt_overestimated", "")
        assert said == (attribute in attributes), attribute


def test_a_real_detector_suspects_it_only_where_the_trace_agrees_with_itself() -> None:
    known = {"rtt_overestimated": causes()["rtt_overestimated"]}
    assert [finding.cause for finding in suspect({0: losing()}, known).findings] == ["rtt_overestimated"]
    suspected = suspect({0: losing("rtt_above_send_to_ack")}, known)
    assert suspected.findings == ()
    assert suspected.broken["rtt_overestimated"].endswith("its round trip times are not counted")


def test_no_detector_fails_on_facts_in_doubt() -> None:
    """Whatever is in doubt, each cause of Longlook either concludes without it or says why it does not."""
    for check in ("rtt_above_trace", "acked_none", "lost_more_than_sent", "sent_twice"):
        broken = suspect({0: losing(check)}, causes()).broken
        assert all(reason.startswith("it rests on what is not counted") for reason in broken.values()), broken


def test_a_change_that_rests_on_what_is_in_doubt_is_not_made() -> None:
    cause = causes()["rtt_overestimated"]
    finding = found_by(cause, losing())
    asking = replace(cause, interventions=lambda _finding, asked: asked.loser.server.smoothed_rtt)
    (refused,) = proposed(asking, finding, losing("rtt_above_trace"))
    assert isinstance(refused, Untestable)
    assert refused.reason.startswith("it rests on what is not counted")


def test_the_ledger_says_what_it_did_not_count(tmp_path: Any) -> None:
    scene = window_limited(20, 4)
    ledger = make_ledger(in_doubt(scene, "rtt_below_send_to_ack"), scene.trial)
    assert ledger is not None
    (said,) = ledger.implausible
    assert said.startswith(f"{TRACE} is implausible: it is odd")
    ledger.write(tmp_path / "ledger.parquet")
    assert Ledger.read(tmp_path / "ledger.parquet").implausible == ledger.implausible
    plain = make_ledger(scene.timeline(), scene.trial)
    assert plain is not None
    assert plain.implausible == ()
    assert plain.totals() == ledger.totals()  # the window is full by itself, whatever the round trips


def test_what_is_in_doubt_is_not_drawn_and_said() -> None:
    timeline = in_doubt(inflated(), "rtt_above_trace")
    inside = look_inside(timeline, timeline.events)
    assert [note for note in inside.notes if note.startswith(TRACE)] != []
    assert "rtt" not in inside.series
    assert "cwnd" in inside.series


def test_an_answer_names_each_kind_of_contradiction_once_for_each_arm() -> None:
    pairs = {number: losing("rtt_above_trace", "acked_none") for number in range(3)}
    name = pairs[0].loser.trial.arm
    said = list(implausible(pairs, {name: "The loser"}))
    assert [text.partition(":")[0] for text in said] == ["The loser, round 1"] * 2
    assert all(text.endswith("are not counted; and 2 more of this kind") for text in said)
