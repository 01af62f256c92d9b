"""Every setting of the kernel's TCP has its effect on the wire, in virtual time: the proofs of `stacks check`."""

from pathlib import Path

import pytest

from longlook.engines.choice import make_engine
from longlook.instruments.conformance import tcp_settings
from longlook.instruments.conformance.checks import CheckStatus
from longlook.instruments.conformance.runner import judged, run_wants
from longlook.instruments.conformance.subject import REFERENCE

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(300)]


def test_every_setting_of_tcp_acts(tmp_path: Path) -> None:
    checks = tcp_settings.checks(REFERENCE, REFERENCE)
    with make_engine("virtual") as engine:
        wants = [want for check in checks for want in check.wants.values()]
        found = run_wants(wants, engine, tmp_path / "trials", lambda _text: None)
    results = [judged(check, found) for check in checks]
    assert [(result.check, result.seen) for result in results if result.status is not CheckStatus.PASSED] == []
