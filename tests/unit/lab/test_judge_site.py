"""What a site did to one arm of a round, and whether the arms are still compared."""

from dataclasses import replace
from typing import Any

import pytest

from longlook.core import (
    BASE_BOUND_MS,
    BY_SIZE,
    COMPARE,
    UNKNOWN_ANSWER,
    Content,
    Endpoint,
    ExpectedAnswer,
    Outcome,
    Site,
    parse_site_url,
)
from longlook.lab import judge_site
from longlook.lab.observations import FlowCase, Observations, Stopped
from tests.unit.lab.test_judge import TRIAL

URL = parse_site_url("https://www.example.org/file")
DIGEST, OTHER = "sha256:" + "a" * 64, "sha256:" + "b" * 64
TCP = {"event": "base", "transport": "tcp", "connect_ns": [20_000_000, 21_000_000, 24_000_000], "certificate": DIGEST}
QUIC = {"event": "base", "transport": "quic", "handshake_ns": 42_000_000, "error": None}
OBJECT = {"event": "object", "path": "/file", "status": 200, "bytes": 1000, "digest": DIGEST, "error": None}


def case(
    *, site: Site | None = None, base: tuple[Any, ...] = (TCP, QUIC), knobs: Any = None, **changed: Any
) -> FlowCase:
    trial = replace(TRIAL, protocol="h3", server=Endpoint("site", "0.65.0", {"url": str(URL), **(knobs or {})}))
    return FlowCase(
        trial,
        Content("", (("/file",),), {"/file": UNKNOWN_ANSWER}),
        Stopped.CLIENT_ENDED,
        client=Observations(({**OBJECT, **changed},)),
        server=Observations(base),
        site=site or Site(URL, "203.0.113.10", "longlook"),
    )


def later(**seen: Any) -> Site:
    known = {"known": {"/file": ExpectedAnswer(1000, DIGEST)}, "base_ns": {"tcp": 20_000_000, "quic": 42_000_000}}
    return Site(URL, "203.0.113.10", "longlook", **{**known, "certificate": DIGEST, **seen})


def reason(of: FlowCase) -> str:
    judged = judge_site.site(of)
    assert judged is not None
    assert judged.outcome is Outcome.INVALID
    assert judged.hint
    return str(judged.reason)


def test_a_trial_without_a_site_is_not_judged_here() -> None:
    assert judge_site.site(replace(case(), site=None)) is None


def test_the_first_trial_of_a_round_and_one_that_sees_the_same_pass() -> None:
    assert judge_site.site(case()) is None
    assert judge_site.site(case(site=later())) is None


@pytest.mark.parametrize(
    ("status", "headers", "words"),
    [
        (429, {"retry-after": "30"}, "HTTP status 429: it asks for fewer requests, and to wait 30 s"),
        (503, {}, "HTTP status 503: it asks for fewer requests"),
        (302, {"location": "https://login.example.net/"}, "/file is now at https://login.example.net/, which is not"),
        (500, {}, "HTTP status 500 for https://www.example.org/file"),
    ],
)
def test_what_a_site_answers_otherwise_makes_the_trial_invalid(status: int, headers: Any, words: str) -> None:
    assert words in reason(case(status=status, headers=headers, error=f"HTTP status {status}"))


def test_a_body_that_changes_within_a_round_makes_the_trial_invalid() -> None:
    assert "its body changed within the round: 1000 bytes, now 1001" in reason(case(site=later(), bytes=1001))
    assert "its body changed within the round: sha256:aaaa" in reason(case(site=later(), digest=OTHER))


def test_bodies_of_one_size_agree_if_only_the_size_counts() -> None:
    knobs = {COMPARE: BY_SIZE}
    assert judge_site.site(case(site=later(), knobs=knobs, digest=OTHER)) is None
    assert "1001" in reason(case(site=later(), knobs=knobs, bytes=1001))


def test_a_path_that_moves_by_more_than_the_bound_makes_the_trial_invalid() -> None:
    far = {**TCP, "connect_ns": [26_000_000]}
    moved = case(site=later(), base=(far, QUIC))
    assert "round trip by TCP of 20.0 ms, now 26.0 ms, more than 5 ms apart" in reason(moved)
    assert judge_site.site(case(site=later(), base=(far, QUIC), knobs={BASE_BOUND_MS: 10.0})) is None
    slow = {**QUIC, "handshake_ns": 63_000_000}
    assert "handshake by QUIC of 42.0 ms, now 63.0 ms, more than 20 ms apart" in reason(
        case(site=later(), base=(TCP, slow))
    )


def test_a_certificate_that_changes_within_a_round_makes_the_trial_invalid() -> None:
    assert "its certificate changed within the round" in reason(case(site=later(certificate=OTHER)))


def test_a_path_that_does_not_answer_at_all_is_told_from_a_slow_link() -> None:
    silent = {"event": "base", "transport": "quic", "address": "203.0.113.10", "error": "timeout: no recent activity"}
    assert "no handshake by QUIC with 203.0.113.10 without emulation: timeout" in reason(case(base=(TCP, silent)))
    over_tcp = case(base=(TCP, silent))
    assert judge_site.site(replace(over_tcp, trial=replace(over_tcp.trial, protocol="h2"))) is None


def test_the_shortest_of_tcps_handshakes_counts() -> None:
    assert judge_site.base_times_ns((TCP, QUIC)) == {"tcp": 20_000_000, "quic": 42_000_000}
    assert judge_site.base_times_ns(({**TCP, "error": "refused"},)) == {}


def test_answers_that_did_not_arrive_say_nothing() -> None:
    assert judge_site.answers_of((OBJECT,)) == {"/file": ExpectedAnswer(1000, DIGEST)}
    assert judge_site.answers_of(({**OBJECT, "error": "reset"},)) == {}
