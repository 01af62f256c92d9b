"""A cure is looser than what the arm has in truth; where nobody knows what that is, there is none."""

from dataclasses import replace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.causes.credit import CONNECTION_CREDIT
from longlook.causes.loss_response import QUEUE_LOSS_RESPONSE
from longlook.causes.retransmissions import SPURIOUS_LOSS, later_losses
from longlook.causes.windows import INITIAL_WINDOW, WINDOW_CAPPED
from longlook.core.model import Endpoint, Link, Scalar, Stage, Trial
from longlook.explain import changes
from longlook.explain.cause import Cause, Change, Finding, Intervention, Purpose, Sign, Touches, Untestable
from longlook.explain.effective_settings import effective_value, longer_queues, raised
from longlook.explain.pair import Pair, Side
from tests.data.scenes import TCP, Scene, ns
from tests.data.sides import fetching, pair, side


def served(stack: str = "quic-go", version: str = "0.65.0+knobs", scene: Scene | None = None, **knobs: Scalar) -> Side:
    made = fetching() if scene is None else scene
    return side(made, trial=replace(made.trial, server=Endpoint(stack, version, knobs)))


def over_tcp(scene: Scene | None = None, **tcp: Any) -> Side:
    made = fetching(flow=TCP) if scene is None else scene
    return side(made, trial=replace(made.trial, protocol="h2", congestion_control="cubic", tcp=tcp))


def made_for(cause: Cause, both: Pair, dose: float | None = None) -> list[Intervention | Untestable]:
    return list(cause.interventions(Finding(cause.name, "a", cause.role, {0: Sign(1, dose=dose)}, 1), both))


def settings(items: list[Intervention | Untestable], kind: Purpose, touches: Touches = Touches.MECHANISM) -> list[Any]:
    return [
        dict(item.change.settings)
        for item in items
        if isinstance(item, Intervention) and item.kind is kind and item.touches is touches
    ]


def test_what_a_log_shows_counts_before_what_is_set_and_that_before_what_is_declared() -> None:
    scene = fetching()
    assert effective_value(served(), "server", "packet_threshold") == 3
    assert effective_value(served(packet_threshold=20), "server", "packet_threshold") == 20
    scene.log(0.0, "parameters", name="recovery", detail='{"reordering_threshold": 40}')
    assert effective_value(served(scene=scene, packet_threshold=20), "server", "packet_threshold") == 40
    assert effective_value(served("quiche", "0.28.0"), "server", "packet_threshold") is None


def test_a_threshold_of_a_thousand_packets_is_not_cured_by_a_stricter_one(snapshot: SnapshotAssertion) -> None:
    """The report that made this rule: 300 later packets were the cure of an arm that has 1000."""
    items = later_losses(served(packet_threshold=1000, time_threshold=3.0))
    reasons = [item.reason for item in items if isinstance(item, Untestable)]
    assert reasons == snapshot
    (older,) = settings(items, Purpose.CURE)
    assert older == {"server_knobs.time_threshold": 12.0}
    assert settings(items, Purpose.DOSE) == [{"server_knobs.packet_threshold": 333}]  # the stricter side alone


def test_doses_lie_on_both_sides_of_the_arms_own_value() -> None:
    items = later_losses(served(packet_threshold=30))
    assert [item["server_knobs.packet_threshold"] for item in settings(items, Purpose.DOSE)] == [10, 90, 300, 900, 1000]
    assert settings(items, Purpose.CURE)[0] == {"server_knobs.packet_threshold": 1000}
    assert settings(later_losses(over_tcp(reordering_packets=30)), Purpose.CURE) == [{"tcp_reordering": 1000}]


def test_where_nobody_knows_the_value_nothing_is_known_to_be_looser(snapshot: SnapshotAssertion) -> None:
    reasons = [item.reason for item in later_losses(served("quiche", "0.28.0")) if isinstance(item, Untestable)]
    assert reasons and all("has no knob" in reason for reason in reasons)
    silent = raised(served(), "initial_ssthresh", 3)
    assert silent == snapshot


def test_only_thresholds_touch_the_mechanism_of_spurious_losses() -> None:
    items = made_for(SPURIOUS_LOSS, pair(served()))
    assert settings(items, Purpose.CURE, Touches.OCCASION) == [
        {
            f"network.{way}.{name}": value
            for name, value in (("reorder", "0%"), ("jitter_reorders", False))
            for way in ("down", "up")
        }
    ]
    assert len(settings(items, Purpose.CURE)) == 2


def test_a_receive_window_seen_at_first_is_no_measure_of_a_buffer_that_grows() -> None:
    """The report that made this rule: eight times the 67,584 bytes of a first flight, where the arm has 64 MiB."""
    for own, cure in ((64 << 20, "512MiB"), (None, "512MiB"), (6 << 20, "48MiB")):
        arm = over_tcp(**({} if own is None else {"receive_buffer_bytes": own}))
        items = made_for(CONNECTION_CREDIT, pair(arm), 67_584.0)
        assert settings(items, Purpose.CURE) == [{"tcp_receive_buffer": cure}]


def test_the_winner_gets_the_window_that_the_loser_is_set_to_and_not_what_was_open_when_it_was_met() -> None:
    knobs = {"initial_connection_window": 196_608, "max_connection_window": 196_608}
    trial = replace(fetching().trial, client=Endpoint("quic-go", "0.65.0", knobs))
    items = made_for(CONNECTION_CREDIT, pair(side(trial=trial)), 295_194.0)
    assert settings(items, Purpose.TRANSPLANT) == [
        {"client_knobs.initial_connection_window": 196_608, "client_knobs.max_connection_window": 196_608}
    ]


def test_a_declared_value_is_no_reason_where_the_trace_shows_another(snapshot: SnapshotAssertion) -> None:
    trial = served().trial
    assert changes.knob(trial, "server", "initial_window", 32, "32") == snapshot
    assert isinstance(changes.knob(trial, "server", "initial_window", 32, "32", measured=10), Change)
    scene = fetching()
    scene.log(20.0, "metrics", cwnd_bytes=12_500)
    items = made_for(INITIAL_WINDOW, pair(served(scene=scene), served(scene=windows(40_000))))
    assert settings(items, Purpose.CURE) == [{"server_knobs.initial_window": 33}]
    capped = made_for(WINDOW_CAPPED, pair(served(scene=windows(1460 * 1250))), 1460 * 1250.0)
    assert settings(capped, Purpose.CURE) == [{"server_knobs.max_window": 10_000}]  # declared, but it stops at 1250


def windows(first: int) -> Scene:
    scene = fetching()
    scene.log(20.0, "metrics", cwnd_bytes=first)
    return scene


def with_queue(**parameters: int) -> Side:
    base: Trial = fetching().trial
    rate = Stage("rate", {"rate_bps": 10_000_000, **parameters})
    delay = Stage("delay", {"delay_ns": ns(10.0)})
    return replace(side(), trial=replace(base, link=Link((delay,), (rate, delay))))


@pytest.mark.parametrize(
    ("own", "longer"),
    [
        ({"queue_bytes": 25_000}, ["2bdp", "8bdp"]),
        ({"queue_bytes": 250_000}, ["20bdp", "80bdp"]),  # 8 BDP would be shorter than it is
        ({"queue_packets": 100}, ["200packets", "800packets"]),
    ],
)
def test_a_queue_is_longer_than_the_one_that_is_there(own: dict[str, int], longer: list[str]) -> None:
    made = [change for _, change in longer_queues(with_queue(**own), (2, 8))]
    assert [change.settings["network.down.queue"] for change in made if isinstance(change, Change)] == longer


def test_a_queue_without_a_length_has_no_longer_one() -> None:
    items = made_for(QUEUE_LOSS_RESPONSE, pair(with_queue()))
    assert all(isinstance(item, Untestable) and "nothing is known to be longer" in item.reason for item in items)
