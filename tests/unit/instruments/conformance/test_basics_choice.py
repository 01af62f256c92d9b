"""The check of servers and clients that speak HTTP/3 and HTTP/2 on one port."""

from collections.abc import Sequence

import pytest

from longlook.instruments.conformance.basics import basics, choice
from longlook.instruments.conformance.checks import CheckStatus
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.subject import subject
from tests.data.conformance import FAILED, seen


def carried(*protocols: str) -> Seen:
    return seen(client=[{"event": "object", "protocol": protocol} for protocol in protocols])


@pytest.mark.parametrize(
    ("opened", "blocked", "status"),
    [
        (("h3", "h3"), ("h2", "h2"), CheckStatus.PASSED),
        (("h2", "h3"), ("h2", "h2"), CheckStatus.PASSED),
        (("h2", "h2"), ("h2", "h2"), CheckStatus.FAILED),
        (("h3", "h3"), ("h3", "h2"), CheckStatus.FAILED),
    ],
)
def test_quic_has_to_carry_something_and_tcp_all_that_quic_cannot(
    opened: Sequence[str], blocked: Sequence[str], status: CheckStatus
) -> None:
    check = choice(subject("caddy"), "server")
    finding = check.judge({"open": carried(*opened), "UDP blocked": carried(*blocked)})
    assert finding.status is status
    assert "UDP blocked: " in finding.seen


def test_a_page_that_does_not_come_fails() -> None:
    finding = choice(subject("caddy"), "server").judge({"open": carried("h3"), "UDP blocked": seen(**FAILED)})
    assert finding == type(finding)(CheckStatus.FAILED, "UDP blocked: failed: the client failed")


def test_a_browser_is_told_of_quic_by_the_server_and_by_its_memory() -> None:
    for want in choice(subject("chromium"), "client").wants.values():
        assert (want.server.knobs, want.client.knobs) == ({"alt_svc_port": 443}, {"memory": "alt-svc"})
    for want in choice(subject("pycurl"), "client").wants.values():
        assert (want.server.knobs, want.client.knobs) == ({}, {})


@pytest.mark.parametrize("name", ["caddy", "envoy", "quic-go", "pycurl", "chromium", "firefox"])
def test_whoever_speaks_both_on_one_port_is_checked_so(name: str) -> None:
    names = {check.name for check in basics(subject(name)) if "h3-or-h2" in check.name}
    roles = subject(name).stack.end_roles
    for role in roles:
        assert {f"page over h3-or-h2 ({role})", f"what carried each object over h3-or-h2 ({role})"} <= names
    assert ("ready line over h3-or-h2 (server)" in names) is ("server" in roles)


def test_whoever_speaks_one_alone_is_not() -> None:
    assert not any("h3-or-h2" in check.name for check in basics(subject("ngtcp2")))
