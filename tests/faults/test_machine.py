"""A machine that cannot do it: a clear error and a hint, nothing left behind. And one that can in other ways."""

from dataclasses import replace

import pytest

from longlook.core.errors import InputError, MachineError
from longlook.core.job import Program
from longlook.core.model import Link, Outcome, Stage
from longlook.engines.live import LiveEngine
from longlook.lab.capability import check
from tests.faults.harness import Home, results
from tests.support.undisturbed import UndisturbedEngine

pytestmark = [pytest.mark.lab, pytest.mark.realtime]

UNPRIVILEGED = ("setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all")
"""Root in name only: may map its user into a namespace, as any ordinary user may, and nothing else."""
POWERLESS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")


def test_trials_run_without_privilege_in_a_user_namespace(home: Home) -> None:
    first, second = home.job("first"), home.job("second", server={"fault": "dies_in_the_middle"})
    answers = results(home.drive(first, second, prefix=UNPRIVILEGED))
    assert [answer["run"]["outcome"] for answer in answers] == [Outcome.OK, Outcome.FAILED]
    assert answers[0]["run"]["guard"]["fifo"] == 0


def test_a_kernel_that_refuses_namespaces_names_the_setting_to_change(home: Home) -> None:
    (answer,) = results(home.drive(home.job(), prefix=POWERLESS))
    assert answer["error"] == "MachineError"
    assert "user namespaces are not allowed" in answer["message"]
    assert "sysctl" in answer["hint"]


@pytest.mark.parametrize("datapath", ["tun", "offload"])
@pytest.mark.parametrize("session", [False, True], ids=["plain", "session"])
def test_tun_devices_carry_trials_too(
    home: Home, monkeypatch: pytest.MonkeyPatch, session: bool, datapath: str
) -> None:
    monkeypatch.setenv("LONGLOOK_DATAPATH", datapath)
    stack = "rogue-session" if session else "rogue"
    with UndisturbedEngine() as engine:
        for name in ("first", "second"):
            run = engine.run(home.job(name, client_stack=stack))
            assert (run.outcome, run.reason) == (Outcome.OK, None)


def test_an_unknown_datapath_is_refused(home: Home, monkeypatch: pytest.MonkeyPatch, engine: LiveEngine) -> None:
    monkeypatch.setenv("LONGLOOK_DATAPATH", "carrier-pigeon")
    with pytest.raises(MachineError, match="carrier-pigeon"):
        engine.run(home.job())


def test_a_full_disk_stops_the_run_and_is_named(home: Home) -> None:
    disk = home.path / "disk"
    disk.mkdir()
    ballast = "dd if=/dev/zero of=$0/ballast bs=1k count=1016 status=none"
    script = f'mount -t tmpfs -o size=1m tmpfs "$0" && {ballast}; mkdir -p "$0/trial" && exec "$@"'
    job = home.job(folder=disk / "trial")
    driver = home.drive(job, prefix=("unshare", "--mount", "--propagation=private", "sh", "-c", script, str(disk)))
    (answer,) = results(driver)
    assert answer["error"] == "MachineError"
    assert "is full" in answer["message"]
    assert str(disk) in answer["message"]
    assert "--resume" in answer["hint"]


def test_a_missing_program_is_named(home: Home, engine: LiveEngine) -> None:
    job = home.job()
    missing = replace(job, programs={**job.programs, "link": Program("/nowhere/longlook-link", "0" * 64)})
    with pytest.raises(MachineError, match="/nowhere/longlook-link"):
        engine.run(missing)
    assert engine.run(home.job("next")).outcome is Outcome.OK


def test_a_congestion_control_that_the_kernel_lacks_is_named(home: Home, engine: LiveEngine) -> None:
    with pytest.raises(MachineError, match="quibic") as caught:
        engine.run(home.job(congestion_control="quibic"))
    assert "cubic" in (caught.value.hint or "")


def test_a_network_that_the_router_refuses_is_wrong_input(home: Home, engine: LiveEngine) -> None:
    stage = Stage("rate", {"rate_bps": -1, "queue_bytes": 1})
    with pytest.raises(InputError, match="rate_bps"):
        engine.run(home.job(link=Link((stage,), ())))


def test_needs_are_met_here_and_checking_leaves_nothing(home: Home) -> None:
    found = {capability.need: capability for capability in check()}
    assert found["namespaces"].met
    assert found["veth and AF_PACKET"].met
    assert all(capability.met or capability.hint for capability in found.values())
