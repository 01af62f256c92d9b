"""Programs under test that take too much, in virtual time: the same limits, the same words, and no way to the host."""

from pathlib import Path

import pytest

from longlook.core.model import Capture, Outcome
from longlook.engines.virtual import VirtualEngine
from tests.faults.guest_harness import GuestHome

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

BROKEN = [
    ("server", "prints_without_pause", "printed more than 16 MiB or 100000 lines to standard output"),
    ("client", "complains_without_pause", "wrote more than 64 MiB to standard error"),
    ("client", "bombs", "started processes and threads up to the limit of 1024"),
    ("server", "logs_without_end", "wrote 768 MiB of traces or more"),
]


@pytest.mark.parametrize(("role", "fault", "limit"), BROKEN, ids=[fault for _, fault, _ in BROKEN])
def test_a_limit_that_is_broken_is_named(guest_home: GuestHome, role: str, fault: str, limit: str) -> None:
    run = guest_home.run(**{role: {"fault": fault}}, capture=Capture(qlog=True), timeout_s=60.0)
    assert (run.outcome, run.reason) == (Outcome.FAILED, f"the {role} {limit}")
    assert run.exact


def test_only_regular_files_come_out_of_a_guest(guest_home: GuestHome) -> None:
    job = guest_home.job(server={"fault": "leaves_traps"}, capture=Capture(qlog=True))
    with VirtualEngine() as engine:
        assert engine.run(job).outcome is Outcome.OK
    assert [path.name for path in (Path(job.folder) / "qlog" / "server").iterdir()] == ["real.qlog"]


@pytest.mark.parametrize("role", ["server", "client"])
def test_programs_have_no_privilege_and_no_way_to_the_host(guest_home: GuestHome, role: str) -> None:
    job = guest_home.job(**{role: {"fault": "breaks_out"}})
    with VirtualEngine() as engine:
        assert engine.run(job).outcome is Outcome.OK
    assert (Path(job.folder) / f"{role}.stderr").read_text() == "broke out: [], uid 65534\n"
