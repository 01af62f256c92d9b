"""Endpoints whose processor has a finite speed, in guests with the real kernel and real programs."""

import json
from pathlib import Path

import pytest

from longlook.core.model import Processor, Run, Trial
from longlook.core.run_folder import RunFolder
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]

STUDY = Path(__file__).parents[1] / "data" / "processors.toml"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Trial, Run]]:
    out = tmp_path_factory.mktemp("processors") / "run"
    answer = longlook("run", str(STUDY), "--no-cache", "--verify", "1", "--out", str(out))
    assert answer.returncode == 0, answer.stderr + answer.stdout
    checked = json.loads((out / "verification.json").read_text())["trials"]
    assert [(trial["repeats"], trial["identical"]) for trial in checked] == [(1, 1)] * 4
    folder = RunFolder.open(out)
    found = {trial.arm: (trial, folder.result(trial.id)) for trial in folder.plan.trials}
    return {arm: (trial, run) for arm, (trial, run) in found.items() if run is not None}


def packets(run: Run) -> int:
    """All that the link passed on to the client, and took from it."""
    return run.link["down"]["delivered"] + run.link["up"]["arrived"]


def test_without_a_processor_work_is_free(runs: dict[str, tuple[Trial, Run]]) -> None:
    trial, run = runs["free"]
    assert (trial.processors, run.cpu_s) == ({}, {})


@pytest.mark.parametrize("arm", ["slow-quic", "slow-tcp"])
def test_a_slow_kernel_takes_its_time_for_each_packet_of_either_protocol(
    arm: str, runs: dict[str, tuple[Trial, Run]]
) -> None:
    trial, run = runs[arm]
    assert trial.processors == {"client": Processor(packet_ns=1_000_000)}
    assert set(run.cpu_s) == {"client"}
    assert run.cpu_s["client"] == pytest.approx(packets(run) * 1e-3, rel=0.01)
    # The body alone is some 700 packets, and the free client has it after 0.23 s.
    assert run.measure_s > run.link["down"]["delivered"] * 1e-3
    assert run.measure_s > 3 * runs["free"][1].measure_s


def test_a_server_that_is_slow_with_datagrams_sends_no_faster(runs: dict[str, tuple[Trial, Run]]) -> None:
    trial, run = runs["slow-datagrams"]
    assert trial.processors == {"server": Processor(datagram_ns=500_000)}
    datagrams = run.link["down"]["arrived"] + run.link["up"]["delivered"]
    assert run.cpu_s["server"] == pytest.approx(datagrams * 0.5e-3, rel=0.03)
    assert run.measure_s > run.link["down"]["arrived"] * 0.5e-3


def test_nothing_was_dropped_for_want_of_time(runs: dict[str, tuple[Trial, Run]]) -> None:
    for trial, run in runs.values():
        for role in trial.processors:
            assert run.guard[f"{role}_processor_dropped"] == 0
