"""A browser in virtual time shows its pages, frame by frame."""

from pathlib import Path

import pandas as pd
import pytest

from longlook.core import registry
from tests.support.command_line import longlook

pytestmark = [
    pytest.mark.lab,
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(not registry.get("stacks", "chromium").installed("system"), reason="no Chromium here"),
]

STUDY = """
schema = 1
extends = "demo"
title = "Paints"
metrics = ["page_load_time", "time_to_first_byte", "first_contentful_paint", "largest_contentful_paint"]
"""


def test_a_page_is_shown_within_frames_of_its_load(tmp_path: Path) -> None:
    study = tmp_path / "paints.toml"
    study.write_text(STUDY)
    out = tmp_path / "run"
    chosen = ("--only", "client=chromium", "--only", "size=100KB", "--rounds", "1")
    answer = longlook("run", str(study), *chosen, "--out", str(out))
    assert answer.returncode == 0, answer.stderr
    samples = pd.read_parquet(out / "samples.parquet").set_index(["arm", "metric"])["value"]
    for arm in ("tcp", "quic"):
        for paint in ("first_contentful_paint", "largest_contentful_paint"):
            assert samples[arm, "time_to_first_byte"] < samples[arm, paint]
            assert abs(samples[arm, paint] - samples[arm, "page_load_time"]) < 0.1  # its one picture ends the load
