"""Rounds that draw, in virtual time: the link, the transfer, the certificate and the start are what was drawn."""

import json
from pathlib import Path

import numpy as np
import pytest

from longlook.core.model import Run, Trial
from longlook.core.run_folder import RunFolder
from longlook.lab.timing import BEAT_NS
from longlook.network.config import link_text
from longlook.timeline.normalise.link_log import read_link_log
from tests.conftest import TINY
from tests.support.command_line import call_longlook, longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]

SCHEDULE = "steps(0s 50Mbit, 40ms 25Mbit, repeat 200ms)"
TICK_NS = 256


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`tiny` in the standard neighbourhood, in two rounds of one size."""
    path = tmp_path_factory.mktemp("around") / "tiny.toml"
    text = TINY.read_text().replace(', "client_cpu", "server_cpu"', "").replace('around = "none"\n', "")
    path.write_text(text.replace("rounds = 3", "rounds = 2").replace('["5KB", "100KB"]', '["100KB"]'))
    return path


@pytest.fixture(scope="module")
def finished(study: Path) -> Path:
    out = study.parent / "run"
    answer = longlook("run", str(study), "--no-cache", "--verify", "1", "--out", str(out), "--json")
    assert answer.returncode == 0, answer.stderr + answer.stdout
    return out


def runs_of(path: Path) -> list[tuple[Trial, Run, Path]]:
    folder = RunFolder.open(path)
    found = []
    for trial in folder.plan.trials:
        run = folder.result(trial.id)
        assert run is not None
        found.append((trial, run, folder.trials / trial.id))
    return found


def first_arrival_ns(folder: Path) -> int:
    return int(np.min(read_link_log(folder / "link.bin").records["arrival_ns"]))


def test_the_arms_of_a_round_meet_what_was_drawn(finished: Path) -> None:
    links = {}
    for trial, _, folder in runs_of(finished):
        made = json.loads((folder / "link.json").read_text())
        wanted = json.loads(link_text(trial.link, trial.seed, made["linger_ns"], phase_ns=trial.start_phase_ns))
        assert made == wanted
        assert made["phase_ns"] == trial.start_phase_ns > 0
        assert made["down"][0]["parameters"]["rate_bps"] == round(float(trial.drawn["network.rate"][:-4]) * 1e6)
        lines = [json.loads(line) for line in (folder / "client.jsonl").read_text().splitlines()]
        (image,) = [line for line in lines if line["event"] == "object" and line["path"].endswith(".png")]
        assert image["bytes"] == trial.workload.parameters["object_bytes"] != 100_000
        links.setdefault(trial.round, []).append({key: made[key] for key in ("up", "down", "seed", "phase_ns")})
    assert [len(arms) for arms in links.values()] == [2, 2]
    assert all(first == second for first, second in links.values())
    assert links[0][0] != links[1][0]


def test_trials_that_draw_repeat_exactly(finished: Path) -> None:
    checked = json.loads((finished / "verification.json").read_text())["trials"]
    assert [(trial["exact"], trial["identical"]) for trial in checked] == [(True, 1)] * 4


def test_the_client_starts_its_phase_after_a_beat(finished: Path) -> None:
    """The start of a program takes it to its first packet, a little more or less with another certificate's pages."""
    after_ns = {
        trial.id: (first_arrival_ns(folder) - trial.start_phase_ns) % BEAT_NS for trial, _, folder in runs_of(finished)
    }
    assert max(after_ns.values()) < 10_000_000
    for arm in ("tcp", "quic"):
        ours = [after_ns[trial.id] for trial, _, _ in runs_of(finished) if trial.arm == arm]
        assert max(ours) - min(ours) < 100 * TICK_NS


def test_a_schedule_is_so_far_on_as_the_phase_says(study: Path) -> None:
    """With a phase alone rounds differ by where in the schedule their first packets leave."""
    changes = ("--set", "around.start_phase=uniform 150ms", "--set", f"network.down.rate={SCHEDULE}")
    out = study.parent / "schedule"
    assert call_longlook("run", str(study), "--rounds", "3", *changes, "--out", str(out)).returncode == 0
    seen = set()
    for trial, _, folder in runs_of(out):
        assert list(trial.drawn) == ["start_phase"]
        log = read_link_log(folder / "link.bin")
        down = log.direction(1)
        full = down[(down["size_bytes"] > 1200) & (down["queued_ns"] > 0)]
        # Of packets back to back the later leaves one packet's time after the earlier, at the rate that then holds.
        pairs = np.flatnonzero(np.diff(full["sequence"]) == 1)
        link_ns = full["due_ns"].astype(np.int64) - 18_000_000 - first_arrival_ns(folder) + trial.start_phase_ns
        gaps_ns = np.diff(link_ns)[pairs]
        rates = full["size_bytes"][1:][pairs] * 8e9 / gaps_ns
        for at_ns, gap_ns, rate in zip(link_ns[1:][pairs], gaps_ns, rates, strict=True):
            begun, ended = (at_ns - gap_ns) % 200_000_000, at_ns % 200_000_000
            if 0 < begun < ended < 40_000_000:
                assert rate == pytest.approx(50e6, rel=0.01)
                seen.add(50)
            elif 40_000_000 < begun < ended:
                assert rate == pytest.approx(25e6, rel=0.01)
                seen.add(25)
    assert seen == {25, 50}
