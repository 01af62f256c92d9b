"""Which end two arms have alike."""

from dataclasses import replace

import pytest

from longlook.core.model import Endpoint, Trial
from longlook.explain.cause import Cause, Sign
from longlook.explain.detect import same_end, suspect
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair
from tests.data.sides import USEFUL, pair, side

SLOW = side(None, (USEFUL, 100.0), (LedgerClass.TIMER, 50.0))


def against(**changed: object) -> Pair:
    return pair(SLOW, side(None, trial=replace(SLOW.trial, **changed)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        ({}, {"server", "client"}),
        ({"client": Endpoint("quinn", "0.11.12")}, {"server"}),
        ({"server": Endpoint("quic-go", "0.65.0", {"gso": True})}, {"client"}),
        ({"protocol": "h2"}, set()),
        ({"tcp": {"initial_window_packets": 20}}, set()),
        ({"client_cpu_share": 0.1}, {"server"}),
    ],
)
def test_an_end_is_alike_with_the_same_program_settings_and_protocol(
    changed: dict[str, object], same: set[str]
) -> None:
    tested = against(**changed)
    assert {role for role in ("server", "client", "path") if same_end(tested, role)} == same


def test_a_finding_knows_whether_its_end_is_what_differs() -> None:
    def of(trial: Trial) -> bool:
        cause = Cause("a", "a", "it is", "x", "server", (), (), lambda _pair: Sign(10**8), lambda _finding, _pair: ())
        (finding,) = suspect({0: pair(SLOW, side(None, trial=trial))}, {"a": cause}).findings
        return finding.is_alike

    assert of(replace(SLOW.trial, client=Endpoint("quinn", "0.11.12")))
    assert not of(replace(SLOW.trial, server=Endpoint("quinn", "0.11.12")))
