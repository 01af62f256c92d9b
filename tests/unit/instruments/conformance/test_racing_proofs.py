"""Proofs of what a server tells of HTTP/3, and of what a client remembers."""

from longlook.instruments.conformance.checks import CheckStatus
from longlook.instruments.conformance.evidence import Seen
from tests.data.conformance import FAILED, seen

from .test_proofs import judged


def answered(protocol: str, alt_svc: str | None = None, pages: int = 0) -> Seen:
    line = {"event": "object", "protocol": protocol, "t_start_ns": 1} | (
        {} if alt_svc is None else {"alt_svc": alt_svc}
    )
    return seen(client=[line, *[{"event": "earlier_load"}] * pages])


def test_answers_name_the_port_that_was_asked_for_and_none_otherwise() -> None:
    own, other = answered("h2", 'h3=":443"; ma=9'), answered("h2", 'h3=":4"; ma=9')
    assert judged("alt_svc_port", {"own": own, "other": other, "none": answered("h2")}).status is CheckStatus.PASSED
    assert judged("alt_svc_port", {"own": own, "other": own, "none": answered("h2")}).status is CheckStatus.FAILED
    assert judged("alt_svc_port", {"own": own, "other": other, "none": own}).status is CheckStatus.FAILED


def test_who_knows_nothing_stays_on_tcp_and_who_remembers_does_not() -> None:
    right = {"none": answered("h2"), "alt-svc": answered("h3"), "page": answered("h3", pages=1)}
    assert judged("memory", right, "client").status is CheckStatus.PASSED
    assert judged("memory", {**right, "none": answered("h3")}, "client").status is CheckStatus.FAILED
    assert judged("memory", {**right, "alt-svc": answered("h2")}, "client").status is CheckStatus.FAILED
    assert judged("memory", {**right, "page": answered("h3")}, "client").status is CheckStatus.FAILED
    assert judged("memory", {**right, "page": seen(**FAILED)}, "client").status is CheckStatus.FAILED


def test_only_a_record_leads_a_first_load_to_quic() -> None:
    right = {"none": answered("h2"), "addresses": answered("h2"), "https-record": answered("h3")}
    assert judged("resolver", right, "client").status is CheckStatus.PASSED
    assert judged("resolver", {**right, "addresses": answered("h3")}, "client").status is CheckStatus.FAILED
    assert judged("resolver", {**right, "https-record": answered("h2")}, "client").status is CheckStatus.FAILED
    assert judged("resolver", {**right, "none": seen(**FAILED)}, "client").status is CheckStatus.FAILED
