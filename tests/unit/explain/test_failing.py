"""What failing trials share, beside good trials of the other arm."""

from dataclasses import replace

from syrupy.assertion import SnapshotAssertion

from longlook.core.model import Trial
from longlook.explain.cause import Cause, Sign
from longlook.explain.failing import FailedTrial, common, cut, grouped, signs_in
from longlook.explain.ledger import make_ledger
from tests.data.scenes import Scene
from tests.data.sides import fetching, pair, side

TRIAL: Trial = side().trial


def failed(scene: Scene) -> FailedTrial:
    return FailedTrial(TRIAL, cut(scene.timeline()))


def stuck(drops: bool = True) -> Scene:
    """A request whose answer stops after three packets, and a client that asks again a second later."""
    scene = Scene()
    scene.opened(0.0, 20.0, "resumed")
    scene.client(0.0, "request_sent", name="/a", protocol="h3", flow=scene.flow)
    scene.up(0.0)
    for number in range(3):
        scene.down(20.0 + number)
    if drops:
        scene.drop(30.0)
    return scene


def test_reasons_that_differ_in_numbers_alone_are_one() -> None:
    assert grouped(["timeout after 3 s", "timeout after 4.5 s", "refused"]) == {"timeout after 3 s": 2, "refused": 1}


def test_a_load_that_did_not_end_is_cut_at_the_last_that_was_seen_and_has_a_ledger() -> None:
    scene = stuck()
    assert scene.timeline().load_window_ns() is None
    timeline = cut(scene.timeline())
    ledger = make_ledger(timeline, TRIAL)
    assert ledger is not None
    first_ns, last_ns = ledger.span_ns
    assert sum(ledger.totals().values()) == last_ns - first_ns > 0
    whole = fetching().timeline()
    assert cut(whole) is whole


def test_what_most_failing_and_fewest_good_trials_have_comes_first(snapshot: SnapshotAssertion) -> None:
    good = fetching()
    good.opened(0.0, 20.0, "resumed")
    facts = common([failed(stuck()), failed(stuck(drops=False))], [FailedTrial(TRIAL, good.timeline())])
    by_text = {fact.text: (fact.failing, fact.others) for fact in facts}
    assert by_text["no object arrived"] == (2, 0)
    assert by_text["packets to the client are dropped (loss)"] == (1, 0)
    assert by_text["the connection was secure as resumed"] == (2, 1)
    assert facts[0].text == snapshot


def test_signs_of_causes_are_counted_and_a_faulty_plug_in_costs_nothing() -> None:
    def raises(_pair: object) -> Sign:
        raise ZeroDivisionError

    seen = Cause("a", "A cause", "it is", "x", "server", (), (), lambda _pair: Sign(5), lambda _finding, _pair: ())
    none = replace(seen, name="b", title="Another", detect=lambda _pair: None)
    bad = replace(seen, name="c", title="Bad", detect=raises)
    both = pair(side())
    assert signs_in([both, both], {"a": seen, "b": none, "c": bad}) == {"A cause": 2}
