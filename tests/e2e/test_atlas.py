"""An atlas of real trials in virtual time that is killed half-way, goes on, and meets a disk that takes no page."""

import json
import os
import resource
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import TINY
from tests.support.command_line import LONGLOOK, longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]

NAME, TRIALS = "smith2030-tiny", 8


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """`tiny` as a plug-in's study, without CPU time, which virtual time does not have."""
    folder = tmp_path / "plugins" / "studies"
    folder.mkdir(parents=True)
    text = TINY.read_text().replace(', "client_cpu", "server_cpu"', "").replace("rounds = 3", "rounds = 2")
    (folder / f"{NAME}.toml").write_text(text)
    return {
        **os.environ,
        "LONGLOOK_PLUGINS": str(tmp_path / "plugins"),
        "LONGLOOK_TRIALS": str(tmp_path / "trials"),
    }


def finished(out: Path) -> set[str]:
    return {path.parent.name for path in (out / "runs" / NAME / "trials").glob("[!.]*/run.json")}


def test_it_survives_a_kill_and_a_full_disk(tmp_path: Path, environment: dict[str, str]) -> None:
    out = tmp_path / "atlas"
    arguments = ("atlas", NAME, "--out", str(out), "--jobs", "1")
    with subprocess.Popen([*LONGLOOK, *arguments], env=environment, stdout=subprocess.DEVNULL) as process:
        while len(finished(out)) < 2:
            assert process.poll() is None
            time.sleep(0.05)
        process.kill()
    before = finished(out)
    assert 2 <= len(before) < TRIALS
    assert f"Begun: {len(before)} of {TRIALS} trials" in page_after("--page", out, environment)

    answer = longlook(*arguments, "--json", env=environment)
    assert answer.returncode == 0, answer.stderr
    lines = [json.loads(line) for line in answer.stdout.splitlines()]
    ran = {line["id"] for line in lines if line["event"] == "trial"}
    assert len(ran) == TRIALS - len(before) and not ran & before
    (study,) = [item for paper in lines[-1]["papers"] for item in paper["studies"] if item["study"] == NAME]
    assert (study["state"], study["run"]["trials"], len(study["results"])) == ("run", TRIALS, 64)

    page = (out / "index.html").read_bytes()
    limited = longlook(*arguments, "--page", env=environment, preexec_fn=files_of_100_kb_at_most)
    assert limited.returncode == 3
    assert "cannot write the page" in limited.stderr and "make room" in limited.stderr
    assert (out / "index.html").read_bytes() == page
    assert not list(out.glob(".*.new"))


def page_after(option: str, out: Path, environment: dict[str, str]) -> str:
    answer = longlook("atlas", NAME, "--out", str(out), option, env=environment)
    assert answer.returncode == 0, answer.stderr
    return (out / "index.html").read_text()


def files_of_100_kb_at_most() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
