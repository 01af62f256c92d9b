"""Values of lines: what is no time, no count, no number of seconds, or no time of this trial, is a failure by name."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as runs
from hypothesis import strategies as st

from longlook.core.model import Endpoint, Outcome, Processor
from longlook.lab.judge import judge
from longlook.lab.judge_lines import CLIENT_FIELDS, COUNT, SECONDS, SERVER_FIELDS, TIME, clock_bound_ns, lines
from longlook.lab.observations import FlowCase, Observations, Span
from longlook.timeline.normalise.endpoint import read_endpoints
from tests.data.trials import MS, T0, write_lines
from tests.unit.lab.test_judge import DONE, OBJECTS, READY, SOUND, TRIAL, accepted, client, fetched, opened, server
from tests.unit.lab.test_judge_echo import case as echo_case
from tests.unit.lab.test_judge_echo import echo
from tests.unit.lab.test_judge_video import CONTENT as VIDEO
from tests.unit.lab.test_judge_video import ENDED, segment

S = 1000 * MS
SPAN = Span(T0 - MS, T0 + 20 * MS)
TIMED = replace(SOUND, client_span=SPAN, server_span=SPAN)
PAGE = {"event": "page", "url": "u", "t_start_ns": T0, "t_first_byte_ns": T0 + MS, "t_loaded_ns": T0 + 9 * MS}
NO_TIMES = ["soon", True, -1, 1.7e18, math.nan, math.inf, 1e400, 2**63, 10**400, [], {}, "\ud800", [[[[]]]]]


def judged(*printed: Mapping[str, Any], case: FlowCase = TIMED) -> tuple[Outcome, str]:
    """The outcome of a client's lines, read as the laboratory reads them."""
    again = [json.loads(json.dumps(line)) for line in printed]
    found = judge(replace(case, **client(*again)))
    return found.outcome, found.reason or ""


@pytest.mark.parametrize("value", NO_TIMES, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("name", ["t_start_ns", "t_first_byte_ns", "t_end_ns"])
def test_a_time_that_is_none_is_named_with_its_line(name: str, value: Any) -> None:
    outcome, reason = judged(opened(1), fetched("/a", 10, **{name: value}), OBJECTS[1])
    assert outcome is Outcome.FAILED
    assert reason.startswith(f"the client printed a line `object` (line 2) whose {name} is ")
    assert reason.endswith("no time in ns since 1970")
    assert len(reason) < 200
    reason.encode()


@pytest.mark.parametrize("name", ["t_start_ns", "t_first_byte_ns", "t_end_ns", "bytes", "status"])
def test_what_a_client_must_know_of_an_answer_cannot_be_left_out(name: str) -> None:
    for line in (fetched("/a", 10, **{name: None}), {key: v for key, v in fetched("/a", 10).items() if key != name}):
        outcome, reason = judged(opened(1), line, OBJECTS[1])
        assert outcome is Outcome.FAILED
        assert f"line `object` (line 2) whose {name} is missing" in reason


def test_a_browser_may_not_know_when_an_answer_began() -> None:
    """Nor when the connection did."""
    unknown = {**opened(1), "t_start_ns": None}
    lines = (unknown, fetched("/a", 10, t_first_byte_ns=None), OBJECTS[1], PAGE, DONE)
    assert judge(replace(TIMED, session=True, **client(*lines, exit_code=None))).outcome is Outcome.OK
    assert judged(unknown, *OBJECTS)[0] is Outcome.FAILED


@pytest.mark.parametrize(
    ("times", "reason"),
    [
        ({"t_start_ns": T0 - 5 * S}, "t_start_ns lies 4.999 s before the program was started for this trial"),
        ({"t_start_ns": 0}, "s before the program was started for this trial"),
        ({"t_end_ns": T0 + 7 * S}, "t_end_ns lies 6.98 s after the program had ended"),
        ({"t_end_ns": T0 - MS // 2, "t_first_byte_ns": T0 - MS // 2}, "t_end_ns lies 0.0005 s before its t_start_ns"),
        ({"t_first_byte_ns": T0 - 1}, "t_first_byte_ns lies 1e-09 s before its t_start_ns"),
        ({"t_first_byte_ns": T0 + 4 * MS}, "t_end_ns lies 0.001 s before its t_first_byte_ns"),
    ],
)
def test_times_lie_in_the_trial_and_in_order(times: dict[str, int], reason: str) -> None:
    outcome, found = judged(opened(1), fetched("/a", 10, **times), OBJECTS[1])
    assert outcome is Outcome.FAILED
    assert reason in found


def test_how_far_times_may_lie_outside_depends_on_the_clock() -> None:
    kinds = {
        MS // 10: {"virtual": True},
        5 * MS: {},
        20 * MS: {"session": True, "virtual": True},
        100 * MS: {"session": True, "remote": True},
    }
    for bound_ns, how in kinds.items():
        case = replace(TIMED, **how)
        assert clock_bound_ns(case) == bound_ns
        early, late = SPAN.begins_ns - bound_ns, SPAN.ends_ns + bound_ns
        for start_ns, end_ns, ok in ((early, late, True), (early - 1, late, False), (early, late + 1, False)):
            page = {**PAGE, "t_start_ns": start_ns, "t_loaded_ns": end_ns}
            assert (lines(replace(case, client=Observations((page,)))) is None) is ok
    slow = replace(TIMED, virtual=True, trial=replace(TRIAL, processors={"client": Processor(call_ns=1000)}))
    assert clock_bound_ns(slow) == 5 * MS


def test_a_failed_object_may_lack_times_but_has_none_that_are_wrong() -> None:
    nothing = dict.fromkeys(("status", "t_first_byte_ns", "t_end_ns", "digest", "bytes"))
    for start, reason in ((T0, "/a: reset"), (None, "/a: reset"), (math.nan, "t_start_ns is nan")):
        outcome, found = judged(opened(1), fetched("/a", 10, **nothing, error="reset", t_start_ns=start), OBJECTS[1])
        assert outcome is Outcome.FAILED
        assert reason in found


def test_a_server_s_handshake_is_a_time_of_the_trial_too() -> None:
    for value, reason in ((math.nan, "is nan, no time"), (T0 + S, "lies 0.98 s after the program had ended")):
        found = judge(replace(TIMED, **server(accepted(1, t_handshake_ns=value))))
        assert found.outcome is Outcome.FAILED
        assert f"the server printed a line `connection` (line 2) whose t_handshake_ns {reason}" in (found.reason or "")
    for value in (None, T0 + MS):
        assert judge(replace(TIMED, **server(accepted(1, t_handshake_ns=value)))).outcome is Outcome.OK


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (segment(t_start_ns="now"), "t_start_ns is 'now', no time in ns since 1970"),
        (segment(index=1.5), "index is 1.5, no count"),
        (segment(buffer_s=math.inf), "buffer_s is inf, no number of seconds"),
        (segment(bytes=20.0), "bytes is 20.0, no count"),
        ({**ENDED, "t_ns": None}, "t_ns is missing"),
        ({**ENDED, "position_s": 10**400}, "no number of seconds"),
        ({"event": "video", "length_s": "long", "segment_s": 1.0}, "length_s is 'long', no number of seconds"),
    ],
)
def test_a_player_s_values_are_checked(line: dict[str, Any], reason: str) -> None:
    played = (opened(1), fetched("/m", 10), line, ENDED)
    outcome, found = judged(*played, case=replace(TIMED, content=VIDEO))
    assert outcome is Outcome.FAILED
    assert reason in found


def test_an_echo_s_values_are_checked() -> None:
    for line in (
        {**echo(1200), "t_end_ns": None},
        {**echo(1200), "tries": True},
        {**echo(1200), "payload_bytes": 1200.0},
    ):
        assert judge(echo_case(line, echo(1400))).outcome is Outcome.FAILED


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.integers(T0 - S, T0 + S),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)
PLAIN = (opened(1), *OBJECTS)
NAMED = [(at, field.name) for at, line in enumerate(PLAIN) for field in CLIENT_FIELDS[line["event"]]]


@runs(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.sampled_from(NAMED), value=ANY)
def test_no_value_is_ok_that_the_measurement_would_leave_out(
    tmp_path: Path, where: tuple[int, str], value: Any
) -> None:
    """A trial that is ok has every line of its client in the timeline, with a load that began and ended in it."""
    at, name = where
    printed = [{**line, name: value} if number == at else line for number, line in enumerate(PLAIN)]
    outcome, reason = judged(*printed)
    if outcome is not Outcome.OK:
        assert (outcome, f"(line {at + 1})" in reason or name in ("bytes", "status")) == (Outcome.FAILED, True)
        return
    write_lines(tmp_path / "client.jsonl", printed)
    account = read_endpoints(tmp_path).accounts["client.jsonl"]
    assert (account.read, dict(account.skipped)) == (len(printed), {})
    assert value is None or isinstance(value, int)


@runs(max_examples=100)
@given(name=st.sampled_from(["t_start_ns", "t_loaded_ns"]), value=ANY)
def test_a_page_s_time_is_plausible_or_the_trial_has_failed(name: str, value: Any) -> None:
    browser = replace(TIMED, session=True, trial=replace(TRIAL, client=Endpoint("some-browser", "1")))
    page = {**PAGE, name: value}
    found = judge(replace(browser, **client(*PLAIN, page, DONE, exit_code=None)))
    assert found.outcome is (Outcome.OK if _plausible(page) else Outcome.FAILED)


def _plausible(page: Mapping[str, Any]) -> bool:
    start, first, loaded = page["t_start_ns"], page["t_first_byte_ns"], page["t_loaded_ns"]
    if not all(isinstance(time, int) and not isinstance(time, bool) for time in (start, loaded)):
        return False
    inside = SPAN.begins_ns - 20 * MS <= start <= loaded <= SPAN.ends_ns + 20 * MS
    return inside and bool(start <= first + 20 * MS <= loaded + 40 * MS)


def test_every_field_has_a_kind_and_lines_of_unknown_events_have_none() -> None:
    fields = [field for table in (CLIENT_FIELDS, SERVER_FIELDS) for event in table.values() for field in event]
    assert {field.kind for field in fields} == {TIME, COUNT, SECONDS}
    case = replace(TIMED, server=Observations((READY, accepted(1), {"event": "tunnel", "t_ns": "x"})))
    assert lines(case) is None
