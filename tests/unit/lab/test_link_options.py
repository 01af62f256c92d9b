"""The options of the router's program."""

from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core.job import Content, ExpectedAnswer
from longlook.lab import link_options
from tests.unit.engines.test_fake_engine import job


def _frames(folder: Path, object_bytes: int, connections: int = 1) -> int:
    expected = {"/a": ExpectedAnswer(object_bytes, "sha256:" + "0" * 64)}
    options = link_options.in_guest(replace(job(folder), content=Content("", (("/a",),), expected, connections)))
    return int(options[options.index("--ring-frames") + 1])


@pytest.mark.parametrize(("object_bytes", "frames"), [(0, 256), (30_000, 256), (1_000_000, 1024), (10**9, 8192)])
def test_a_ring_holds_all_that_a_trial_loads(object_bytes: int, frames: int, tmp_path: Path) -> None:
    assert _frames(tmp_path / "one", object_bytes) == frames


def test_connections_load_the_object_each(tmp_path: Path) -> None:
    assert _frames(tmp_path / "one", 500_000) == 512
    assert _frames(tmp_path / "six", 500_000, connections=6) == 4096


def test_no_job_has_the_smallest_rings() -> None:
    assert link_options.in_guest()[1] == "256"
