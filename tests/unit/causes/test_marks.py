"""The cause in marks of the queue."""

from dataclasses import replace

from longlook.causes.loss_response import ECN_RESPONSE, QUEUE_LOSS_RESPONSE, RANDOM_LOSS_RESPONSE
from longlook.core.model import Link, Stage
from longlook.explain.cause import Intervention, Purpose, Target
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Side
from tests.data.scenes import TCP, Scene, ns
from tests.data.sides import USEFUL, fetching, found_by, pair, side

BUSY = (USEFUL, 100.0)
WAITS = (BUSY, (LedgerClass.CONGESTION_WINDOW, 80.0))
STEP = Stage("step", {"rate_bps": 10_000_000, "threshold_ns": 5_000_000})


def marked(packets: int, **settings: str) -> Scene:
    scene = fetching(10, **settings)
    for number in range(packets):
        scene.down(40.0 + number, ecn=3, detail="congestion experienced marked")
    return scene


def behind(stage: Stage, own: Side) -> Side:
    return replace(own, trial=replace(own.trial, link=Link((), (stage,))))


def test_marks_are_seen_and_are_no_losses() -> None:
    tested = pair(side(marked(4), *WAITS))
    found = found_by(ECN_RESPONSE, tested)
    assert found.strength_ns == ns(80.0)
    assert found.signs[0].dose == 4
    assert [each.packets for each in found.signs[0].evidence] == [(10,), (11,), (12,), ()]
    assert QUEUE_LOSS_RESPONSE.detect(tested) is None
    assert RANDOM_LOSS_RESPONSE.detect(tested) is None


def test_as_many_marks_of_the_winner_explain_nothing() -> None:
    assert ECN_RESPONSE.detect(pair(side(marked(4), *WAITS), side(marked(4)))) is None
    assert ECN_RESPONSE.detect(pair(side(fetching(), *WAITS))) is None


def test_codepoints_that_a_middlebox_wrote_are_no_marks() -> None:
    scene = fetching(10)
    scene.down(40.0, ecn=3, detail="ECN codepoint rewritten")
    assert ECN_RESPONSE.detect(pair(side(scene, *WAITS))) is None


def test_the_cure_takes_the_marks_away_and_the_doses_make_them_later() -> None:
    loser = behind(STEP, side(marked(4, flow=TCP), *WAITS))
    loser = replace(loser, trial=replace(loser.trial, protocol="h2", tcp={"ecn": True}))
    tested = pair(loser)
    found = found_by(ECN_RESPONSE, tested)
    made = [each for each in ECN_RESPONSE.interventions(found, tested) if isinstance(each, Intervention)]
    off, later, *doses = made
    assert (off.kind, off.target, off.change.settings) == (Purpose.CURE, Target.LOSER, {"tcp_ecn": False})
    assert (later.kind, later.target) == (Purpose.CURE, Target.BOTH)
    assert later.change.settings == {"network.down.step_threshold": "40ms", "network.up.step_threshold": "40ms"}
    texts = [str(each.change.settings["network.down.step_threshold"]) for each in doses if each.kind is Purpose.DOSE]
    assert texts == ["10ms", "20ms"]
