"""The whole road in virtual time: exact repeats, finished trials from the cache, and where two trials part."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from longlook.core.paths import cache_dir
from longlook.core.run_folder import RunFolder
from tests.conftest import TINY
from tests.support.command_line import call_longlook, longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`tiny` without CPU time, which virtual time does not have."""
    path = tmp_path_factory.mktemp("virtual") / "tiny.toml"
    path.write_text(TINY.read_text().replace(', "client_cpu", "server_cpu"', "").replace("rounds = 3", "rounds = 2"))
    return path


def events(answer: "subprocess.CompletedProcess[str]", name: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in answer.stdout.splitlines()]
    return [line for line in lines if line["event"] == name]


@pytest.fixture(scope="module")
def first(study: Path) -> Path:
    out = study.parent / "first"
    answer = longlook("run", str(study), "--no-cache", "--out", str(out), "--json")
    assert answer.returncode == 0, answer.stderr
    trials = events(answer, "trial")
    assert [(trial["outcome"], trial["cached"]) for trial in trials] == [("ok", False)] * 8
    return out


@pytest.fixture(scope="module")
def verified(study: Path, first: Path) -> Path:
    """The same run, verified later; the run itself is not repeated."""
    answer = longlook("run", str(study), "--resume", str(first), "--verify", "2", "--json")
    assert answer.returncode == 0, answer.stderr + answer.stdout
    assert events(answer, "trial") == []
    assert events(answer, "repeat")[-1] == {"event": "repeat", "done": 16, "total": 16}
    return first


def test_every_repeat_is_identical(verified: Path) -> None:
    checked = json.loads((verified / "verification.json").read_text())
    assert [(trial["exact"], trial["repeats"], trial["identical"]) for trial in checked["trials"]] == [(True, 2, 2)] * 8
    assert not (verified / "divergent").exists()
    assert "Repeated exactly" in (verified / "report" / "index.html").read_text()


def test_the_cache_gives_the_same_bytes(study: Path, first: Path) -> None:
    filled, cached = (study.parent / name for name in ("filled", "cached"))
    env = {**os.environ, "LONGLOOK_TRIALS": str(study.parent / "trials-of-its-own")}
    for out, expected in ((filled, False), (cached, True)):
        answer = longlook("run", str(study), "--out", str(out), "--json", env=env)
        assert [trial["cached"] for trial in events(answer, "trial")] == [expected] * 8
    for other in (filled, cached):
        answer = call_longlook("diff-runs", str(first), str(other))
        assert (answer.returncode, answer.stdout) == (0, "identical: 8 trials\n")
    assert len({(run / "samples.parquet").read_bytes() for run in (first, filled, cached)}) == 1


def test_where_a_user_has_programs_and_files_does_not_matter(study: Path, first: Path) -> None:
    """Folders to be shown in a guest, and programs to be searched for in them, cost it some microseconds."""
    folders = [study.parent / "shown" / str(number) for number in range(3)]
    for folder in folders:
        folder.mkdir(parents=True)
    missing = [f"{folders[0]}/not-there-{number}" for number in range(32)]
    cache = study.parent / "a-cache-with-another-and-longer-name"
    cache.symlink_to(cache_dir())
    path = ":".join([*map(str, folders), *missing, os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "LONGLOOK_CACHE": str(cache)}
    out = study.parent / "elsewhere"
    assert longlook("run", str(study), "--no-cache", "--out", str(out), env=env).returncode == 0
    answer = call_longlook("diff-runs", str(first), str(out))
    assert (answer.returncode, answer.stdout) == (0, "identical: 8 trials\n")


def test_trials_with_other_seeds_part_at_a_packet(first: Path) -> None:
    folder = RunFolder.open(first)
    one, other = [trial for trial in folder.plan.trials if trial.arm == "tcp" and trial.cell["size"] == "100KB"]
    answer = call_longlook("diff-runs", str(folder.trials / one.id), str(folder.trials / other.id))
    assert answer.returncode == 1
    assert "the links were set differently: seed" in answer.stdout
    assert "packets that differs: packet 0" in answer.stdout
    answer = call_longlook("diff-runs", str(folder.trials / one.id), str(folder.trials / other.id), "--json")
    (trial,) = json.loads(answer.stdout)["trials"]
    assert trial["first"]["index"] == 0
    assert trial["files"][0] == "link.bin"
