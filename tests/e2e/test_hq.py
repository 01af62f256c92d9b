"""HTTP/0.9 over QUIC with quic-go at both ends, as the checks of `longlook stacks check` run it, in virtual time."""

from pathlib import Path

import pytest

from longlook.core import HQ, ConnectionState
from longlook.engines.choice import make_engine
from longlook.instruments.conformance import basics
from longlook.instruments.conformance.checks import CheckStatus
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.runner import checks, run_wants
from longlook.instruments.conformance.subject import subject

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(600)]
PROGRAM = "quic-go@0.65.0"


def test_pages_and_states_of_connections(tmp_path: Path) -> None:
    quic_go = subject(PROGRAM)
    made = [basics.page(quic_go, "client", HQ.name)]
    made += [basics.state(quic_go, "client", HQ.name, state) for state in ConnectionState]
    wants = [want for check in made for want in check.wants.values()]
    with make_engine("virtual") as engine:
        found = run_wants(wants, engine, tmp_path, lambda _text: None, use_cache=False)
    for check in made:
        seen = {name: found[want.trial().id] for name, want in check.wants.items()}
        assert all(isinstance(each, Seen) for each in seen.values())
        finding = check.judge(seen)  # type: ignore[arg-type]
        assert finding.status is CheckStatus.PASSED, (check.name, finding)


def test_the_suite_checks_it_in_both_roles_and_proves_its_knobs_over_http_3() -> None:
    names = [check.name for check in checks(subject(PROGRAM)) if HQ.name in check.name]
    assert {"page over hq-interop (server)", "connection 0rtt over hq-interop (client)"} <= set(names)
    assert not [name for name in names if name.startswith("knob")]
    assert not [check.name for check in checks(subject("quic-go@0.48.2")) if HQ.name in check.name]
