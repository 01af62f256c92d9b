"""What traces show of the transport parameters that knobs set."""

import json
from dataclasses import replace
from typing import Any

import pytest

from longlook.analysis.trace_checks import parameter_contradictions, sets_parameters
from longlook.core.model import Endpoint, Trial
from longlook.timeline.events import Events
from tests.data.events import events_of, row
from tests.data.trials import TRIAL
from tests.unit.analysis.test_trace_checks import FLOW, TIMELINE

CLIENT = {"initial_max_stream_data_bidi_local": 300_007, "initial_max_data": 600_000, "max_ack_delay": 47}
SERVER = {"initial_max_stream_data_bidi_remote": 200_000, "initial_max_data": 500_000, "max_ack_delay": 25}
WANTED = {"initial_stream_window": 300_007, "initial_connection_window": 600_000, "max_ack_delay": 0.047}


def logged(vantage: str, name: str, parameters: Any) -> dict[str, Any]:
    detail = parameters if isinstance(parameters, str) else json.dumps(parameters)
    return row(1, "parameters", vantage=vantage, flow=FLOW, name=name, detail=detail)


BOTH = events_of(logged("server", "remote", CLIENT), logged("client", "remote", SERVER))


def trial_of(client: dict[str, Any], server: dict[str, Any] | None = None) -> Trial:
    return replace(TRIAL, client=Endpoint("quinn", "1", client), server=Endpoint("quinn", "1", server or {}))


def test_what_was_offered_as_declared_is_not_contradicted() -> None:
    server = {"initial_stream_window": 200_000, "initial_connection_window": 500_000, "max_ack_delay": 0.025}
    assert parameter_contradictions(trial_of(WANTED, server), TIMELINE, BOTH) == []
    assert parameter_contradictions(trial_of({}), TIMELINE, BOTH) == []


@pytest.mark.parametrize(
    ("knob", "value", "text"),
    [
        ("initial_stream_window", 300_000, "initial_max_stream_data_bidi_local = 300007"),
        ("initial_connection_window", 1, "initial_max_data = 600000"),
        ("max_ack_delay", 0.048, "max_ack_delay = 47"),
    ],
)
def test_another_value_is_named_with_both(knob: str, value: float, text: str) -> None:
    found = parameter_contradictions(trial_of({**WANTED, knob: value}), TIMELINE, BOTH)
    assert found == [f"the client offers {text}, declared {knob} = {value}"]


def test_the_peer_s_log_counts_and_the_own_one_where_there_is_no_other() -> None:
    wrong, right = {**CLIENT, "initial_max_data": 7}, CLIENT
    for events, count in (
        ([logged("client", "local", wrong)], 1),
        ([logged("client", "local", wrong), logged("server", "remote", right)], 0),
        ([logged("server", "remote", wrong), logged("client", "local", right)], 1),
    ):
        assert len(parameter_contradictions(trial_of(WANTED), TIMELINE, events_of(*events))) == count


@pytest.mark.parametrize("detail", ["", "[]", "{", '{"initial_max_data": null}', "{}"])
def test_a_log_without_the_parameter_contradicts_nothing(detail: str) -> None:
    events: Events = events_of(logged("server", "remote", detail))
    assert parameter_contradictions(trial_of(WANTED), TIMELINE, events) == []


def test_numbers_may_be_texts_and_a_smaller_largest_window_bounds_the_first() -> None:
    texts = events_of(logged("server", "remote", {name: str(value) for name, value in CLIENT.items()}))
    assert parameter_contradictions(trial_of(WANTED), TIMELINE, texts) == []
    bounded = {"initial_connection_window": 900_000, "max_connection_window": 600_000}
    assert parameter_contradictions(trial_of(bounded), TIMELINE, BOTH) == []


def test_only_trials_with_such_knobs_are_read() -> None:
    assert sets_parameters(trial_of({}, WANTED))
    assert not sets_parameters(trial_of({"initial_window": 3}))
