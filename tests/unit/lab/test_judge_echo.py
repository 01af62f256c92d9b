"""The judgement of an echo: every size was tried once, and silence is a result."""

from dataclasses import replace
from typing import Any

import pytest

from longlook.core.job import Content, Echo
from longlook.core.model import Outcome
from longlook.lab.judge import judge
from longlook.lab.observations import FlowCase, Observations
from tests.data.trials import MS, T0
from tests.unit.lab.test_judge import READY, SOUND
from tests.unit.lab.test_judge import accepted as accepted_over_tcp
from tests.unit.lab.test_judge import opened as opened_over_tcp

CONTENT = Content("/www", (), {}, echo=Echo((1200, 1400), 3, 1.0))


def opened(port: int, **keys: Any) -> dict[str, Any]:
    return {**opened_over_tcp(port), "protocol": "quic-echo", "resumed": False, **keys}


def accepted(port: int) -> dict[str, Any]:
    return {**accepted_over_tcp(port), "protocol": "quic-echo"}


def echo(payload_bytes: int, t_answer_ns: int | None = None) -> dict[str, Any]:
    times = {"t_start_ns": T0, "t_answer_ns": t_answer_ns, "t_end_ns": T0 + 9 * MS}
    return {"event": "echo", "payload_bytes": payload_bytes, "tries": 3, **times}


def case(*lines: dict[str, Any], server: tuple[dict[str, Any], ...] = (READY,)) -> FlowCase:
    trial = replace(SOUND.trial, protocol="quic-echo", congestion_control=None)
    return replace(SOUND, trial=trial, content=CONTENT, client=Observations(lines, (), 0), server=Observations(server))


def test_silence_to_all_sizes_is_a_result() -> None:
    assert judge(case(echo(1200), echo(1400))).outcome is Outcome.OK


def test_a_connection_for_each_answered_size_is_sound() -> None:
    server = (READY, accepted(1), accepted(2))
    lines = (opened(1), echo(1200, T0 + MS), opened(2), echo(1400, T0 + MS))
    assert judge(case(*lines, server=server)).outcome is Outcome.OK


@pytest.mark.parametrize(
    ("lines", "outcome", "reason"),
    [
        ((echo(1200),), Outcome.FAILED, "the payload of 1400 bytes 0 times, not once"),
        ((echo(1200), echo(1400), echo(1400)), Outcome.FAILED, "the payload of 1400 bytes 2 times"),
        ((echo(1200), echo(1400), echo(1500)), Outcome.FAILED, "not asked for the payload of 1500"),
        ((opened(1, resumed=True), echo(1200), echo(1400)), Outcome.INVALID, "not proven to be cold"),
        ((opened(1, protocol="h2"), echo(1200), echo(1400)), Outcome.FAILED, "used h2, not quic-echo"),
    ],
)
def test_what_makes_an_echo_unsound(lines: tuple[dict[str, Any], ...], outcome: Outcome, reason: str) -> None:
    found = judge(case(*lines))
    assert found.outcome is outcome
    assert reason in (found.reason or "")


def test_a_client_that_failed_has_failed() -> None:
    failed = replace(
        case(echo(1200)), client=Observations((echo(1200), {"event": "error", "reason": "no route"}), (), 1)
    )
    assert judge(failed).outcome is Outcome.FAILED
