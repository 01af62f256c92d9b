"""Uploads: what both ends and the link must say of them, against an otherwise sound trial."""

from dataclasses import replace
from typing import Any

import pytest

from longlook.core.job import Content, ExpectedAnswer, Upload
from longlook.core.model import Outcome
from longlook.lab.judge import judge
from longlook.lab.observations import FlowCase, Observations
from tests.data.trials import MS, T0
from tests.unit.lab.test_judge import DIGEST, READY, SOUND, accepted, fetched, opened

CONTENT = Content("/www", (("/up",),), {"/up": ExpectedAnswer(10, DIGEST)}, uploads={"/up": Upload("POST", "up")})


def sent(**keys: Any) -> dict[str, Any]:
    return fetched(
        "/up", 90, digest=None, **{"method": "POST", "uploaded_bytes": 10, "uploaded_digest": DIGEST, **keys}
    )


def taken(**keys: Any) -> dict[str, Any]:
    times = {"t_start_ns": T0, "t_end_ns": T0 + 2 * MS}
    line = {"event": "upload", "path": "/up", "method": "POST", "bytes": 10, "digest": DIGEST, "error": None}
    return {**line, **times, **keys}


def case(client: dict[str, Any], *server: dict[str, Any], exit_code: int = 0) -> FlowCase:
    return replace(
        SOUND,
        content=CONTENT,
        client=Observations((opened(1), client), (), exit_code),
        server=Observations((READY, accepted(1), *server)),
    )


def test_an_upload_of_which_both_ends_say_the_same_is_ok() -> None:
    assert judge(case(sent(), taken())).outcome is Outcome.OK


@pytest.mark.parametrize(
    ("client", "server", "reason"),
    [
        ({"uploaded_bytes": 5}, {}, "answered before it had read the whole body: 5 bytes, expected 10"),
        ({"uploaded_digest": "sha256:1"}, {}, "the server answered: sha256:1"),
        ({"uploaded_bytes": None}, {}, "the server answered: None bytes"),
        ({"method": "PUT"}, {}, "sent it with 'PUT', not POST"),
        ({}, {"bytes": 9}, "the server received before it had read the whole body: 9 bytes"),
        ({}, {"digest": "sha256:1"}, "the server received: sha256:1"),
        ({}, {"method": "PUT"}, "the server got it with 'PUT'"),
        ({}, {"path": "/other"}, "reported it whole 0 times"),
        ({}, {"error": "reset"}, "reported it whole 0 times"),
        ({}, {"t_end_ns": None}, "whose t_end_ns is missing"),
    ],
)
def test_what_one_end_says_otherwise_is_the_reason(client: dict[str, Any], server: dict[str, Any], reason: str) -> None:
    found = judge(case(sent(**client), taken(**server)))
    assert found.outcome is Outcome.FAILED
    assert reason in (found.reason or "")


def test_a_server_that_reports_an_upload_twice_or_unasked_has_failed() -> None:
    assert "whole 2 times" in (judge(case(sent(), taken(), taken())).reason or "")
    assert "nobody was asked for" in (judge(case(sent(), taken(), taken(path="/x"))).reason or "")


def test_a_refusal_has_the_words_of_both_ends() -> None:
    refused = sent(status=413, error="HTTP status 413")
    found = judge(case(refused, taken(bytes=0, t_end_ns=None, error="refused with 413"), exit_code=1))
    assert found.outcome is Outcome.FAILED
    assert "HTTP status 413; the server, of /up: refused with 413, after 0 of 10 bytes" in (found.reason or "")
