"""Trials with a proxy: who is named where it fails, and what proves that it carried the load."""

from dataclasses import replace
from typing import Any

import pytest

from longlook.core.model import Endpoint, Outcome
from longlook.lab.judge import judge
from longlook.lab.observations import Observations, Stopped
from tests.unit.lab.test_judge import OBJECTS, READY, SOUND, TRIAL, accepted, client, opened, server

MIDDLE = "10.8.255.1"
THROUGH = accepted(9, remote=f"{MIDDLE}:9")
PROXIED = replace(
    SOUND,
    trial=replace(TRIAL, proxy=Endpoint("some-proxy", "1")),
    client=Observations(({**opened(1), "resumed": False, "used_0rtt": False}, *OBJECTS), (), 0),
    server=Observations((READY, THROUGH)),
    proxy=Observations((READY,)),
    middle_address=MIDDLE,
)
CUT = {"event": "error", "reason": "cut off"}

JUDGEMENTS: dict[str, tuple[dict[str, Any], Outcome, str]] = {
    "sound": ({}, Outcome.OK, ""),
    "never ready": (
        {"stopped": Stopped.PROXY_STARTED_LATE, "proxy": Observations()},
        Outcome.TIMED_OUT,
        "the proxy hung: it never printed its ready line",
    ),
    "dead at once": (
        {"stopped": Stopped.PROXY_ENDED, "proxy": Observations((CUT,), (), 1)},
        Outcome.FAILED,
        "the proxy ended at its start (exit code 1): cut off",
    ),
    "killed": (
        {"stopped": Stopped.PROXY_ENDED, "proxy": Observations((READY,), (), -9)},
        Outcome.FAILED,
        "the proxy ended before the client was done (signal 9, SIGKILL)",
    ),
    "not able": (
        {"proxy": Observations(({**CUT, "supported": False},), (), 127)},
        Outcome.UNSUPPORTED,
        "proxy some-proxy 1 does not support this: cut off",
    ),
    "greedy": ({"proxy": Observations((READY,), broke="wrote too much")}, Outcome.FAILED, "the proxy wrote too much"),
    "passed by": (
        server(accepted(1, remote="10.8.0.1:1")),
        Outcome.FAILED,
        "the server was reached from 10.8.0.1, not from the proxy at 10.8.255.1 alone",
    ),
    "answers by itself": (server(), Outcome.FAILED, "nothing proves that the proxy carried the load"),
    "looping": (
        {**server(), **client({**OBJECTS[0], "error": "reset"}, exit_code=1)},
        Outcome.FAILED,
        "the server saw no connection of the proxy",
    ),
    "looping for ever": (
        {**server(), **client(exit_code=1), "measure_s": 6.0},
        Outcome.TIMED_OUT,
        "the server saw no connection of the proxy",
    ),
    "wrong answer": (
        client({**opened(1), "resumed": False}, {**OBJECTS[0], "bytes": 9}, OBJECTS[1]),
        Outcome.FAILED,
        "/a: wrong body: 9 bytes, expected 10",
    ),
}


@pytest.mark.parametrize("name", list(JUDGEMENTS))
def test_judgement(name: str) -> None:
    changes, outcome, reason = JUDGEMENTS[name]
    found = judge(replace(PROXIED, **changes))
    assert (found.outcome, reason in (found.reason or "")) == (outcome, True), found


def test_the_client_proves_the_state_because_the_server_sees_the_proxys_connections() -> None:
    primed = Observations((READY, THROUGH, accepted(10, remote=f"{MIDDLE}:10", resumed=True)))
    assert judge(replace(PROXIED, server=primed)).outcome is Outcome.OK
