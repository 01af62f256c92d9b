"""Whatever ends a run in the middle, nothing stays behind and no finished trial is lost."""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from longlook.core.job import Job
from longlook.core.model import Outcome
from longlook.lab.stale_state import clear_stale_state
from tests.faults.harness import Home, held_network_namespaces, in_use, measuring, results, wait_until
from tests.support.processes import command_line, has_ended, parent_of
from tests.support.undisturbed import UndisturbedEngine

pytestmark = [pytest.mark.lab, pytest.mark.realtime]

KILLS: dict[str, Callable[[subprocess.Popen[bytes]], None]] = {
    "SIGKILL of the engine": lambda driver: driver.kill(),
    "SIGTERM of the engine": lambda driver: driver.terminate(),
    "Ctrl-C": lambda driver: os.killpg(driver.pid, signal.SIGINT),
    "SIGKILL of its whole process group": lambda driver: os.killpg(driver.pid, signal.SIGKILL),
}


@pytest.mark.parametrize("session", [False, True], ids=["plain", "session"])
@pytest.mark.parametrize("kill", list(KILLS))
def test_an_engine_that_is_ended_in_the_middle_leaves_nothing(home: Home, kill: str, session: bool) -> None:
    stack = "rogue-session" if session else "rogue"
    finished, hanging = home.job("finished", client_stack=stack), _hanging(home, client_stack=stack)
    driver = home.drive(finished, hanging, start_new_session=True, stderr=subprocess.DEVNULL)
    wait_until(lambda: measuring(hanging), "the second trial runs")
    with held_network_namespaces(home.processes()) as inside:
        assert len(inside) >= 3
        KILLS[kill](driver)
        assert driver.wait(20) != 0
        assert driver.stdout is not None
        driver.stdout.close()
        wait_until(lambda: home.processes() == [], "every process is gone")
        wait_until(lambda: home.scratch() == [], "the scratch folder is gone")
        # A process leaves its namespaces after its memory, by which it is known.
        wait_until(lambda: in_use(inside) == set(), "the network namespaces are left")
    assert json.loads((Path(finished.folder) / "run.json").read_text())["outcome"] == "ok"
    assert not (Path(hanging.folder) / "run.json").exists()


@pytest.mark.parametrize("victim", ["supervisor", "laboratory"])
def test_a_killed_agent_costs_its_trial_only(home: Home, victim: str) -> None:
    hanging, after = _hanging(home), home.job("after")
    driver = home.drive(hanging, after)
    wait_until(lambda: measuring(hanging), "the trial runs")
    agents = [pid for pid in home.processes() if b"longlook.lab.agent" in command_line(pid)]
    supervisor, laboratory = sorted(agents, key=lambda pid: parent_of(pid) in agents)
    os.kill(supervisor if victim == "supervisor" else laboratory, signal.SIGKILL)
    lost, next_one = results(driver)
    assert driver.returncode == 0
    assert lost["run"]["outcome"] == Outcome.INVALID
    assert "agent died" in lost["run"]["reason"]
    assert json.loads((Path(hanging.folder) / "run.json").read_text()) == lost["run"]
    assert next_one["run"]["outcome"] == Outcome.OK


def test_when_agent_and_engine_are_both_killed_the_next_start_clears_up(home: Home) -> None:
    hanging = _hanging(home)
    driver = home.drive(hanging)
    wait_until(lambda: measuring(hanging), "the trial runs")
    everyone = home.processes()
    for pid in everyone:
        os.kill(pid, signal.SIGSTOP)  # so that none can clear up after another
    for pid in everyone:
        os.kill(pid, signal.SIGKILL)
    results(driver)
    wait_until(lambda: all(map(has_ended, everyone)), "every process is gone")
    assert home.scratch() != []
    with UndisturbedEngine():
        assert home.scratch() == []


def test_only_folders_of_dead_laboratories_are_cleared(home: Home, tmp_path: Path) -> None:
    hanging = _hanging(home)
    driver = home.drive(hanging)
    wait_until(lambda: measuring(hanging), "the trial runs")
    strange = tmp_path / "cache" / "state" / "strange.json"
    strange.write_text('{"marker": "strange", "scratch": "/"}')
    before = home.scratch()
    assert clear_stale_state() == []
    assert home.scratch() == before
    strange.unlink()
    driver.terminate()
    results(driver)
    wait_until(lambda: home.processes() == [], "every process is gone")


def _hanging(home: Home, **options: str) -> Job:
    return home.job("hanging", server={"fault": "hangs"}, timeout_s=60.0, **options)
