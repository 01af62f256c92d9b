"""A real cliff, in virtual time: at 100 Mbit/s and 36 ms TCP needs nearly a round trip more from 99 KB on."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from longlook.study.files import find_study
from tests.conftest import ROOT
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]

CLIFF = ROOT.parent / "src" / "longlook" / "studies" / "cliff.toml"
SIZE = "workload.object_bytes"


def result_of(*arguments: str) -> dict[str, Any]:
    answer = longlook("run", *arguments, "--json")
    assert answer.returncode == 0, answer.stderr + answer.stdout
    result: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return result


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The study `cliff`, 20 rounds of it."""
    return result_of("cliff", "--rounds", "20", "--out", str(tmp_path_factory.mktemp("cliff") / "run"))


def test_points_near_each_other_have_effects_that_no_interval_of_one_of_them_holds(tmp_path: Path) -> None:
    sizes = ["90KB", "100KB", "110KB", "120KB", "130KB"]
    path = tmp_path / "points.toml"
    path.write_text(CLIFF.read_text().replace('levels = ["100KB"]', f"levels = {json.dumps(sizes)}"))
    result = result_of(
        str(path), "--around", "none", "--rounds", "2", "--set", "analysis.min_rounds=2", "--out", str(tmp_path / "run")
    )
    found = {item["cell"]["size"]: item for item in result["estimates"]}
    assert list(found) == sizes
    assert [found[size]["effect_pct"] for size in sizes] == pytest.approx([46, 52, 51, 50, 43], abs=1)
    assert all(item["ci_high_pct"] - item["ci_low_pct"] < 1 for item in found.values())
    assert all(item["dependences"] == [] for item in found.values())


def test_the_cliff_is_found_between_the_sizes_that_it_divides(around: dict[str, Any]) -> None:
    (estimate,) = around["estimates"]
    (found,) = estimate["dependences"]
    assert (found["setting"], found["shape"], found["is_cliff"]) == (SIZE, "step", True)
    assert 97_000 < found["split"] < 102_500
    assert found["effect_low_pct"] == pytest.approx(46, abs=1)
    assert found["effect_high_pct"] == pytest.approx(51, abs=1)
    assert "depends on the object's size: +51 % from about " in estimate["reason"]
    assert estimate["verdict"] == "better"


def test_each_side_of_the_split_has_an_effect_of_its_own(around: dict[str, Any]) -> None:
    samples = pd.read_parquet(Path(around["run"]) / "samples.parquet").query("metric == 'page_load_time'")
    times = samples.pivot(index="round", columns="arm", values="value")
    sizes = samples.groupby("round")[f"drawn.{SIZE}"].first()
    effects = 100 * (1 - times["quic"] / times["tcp"])
    above = sizes >= around["estimates"][0]["dependences"][0]["split"]
    assert effects[above].min() - effects[~above].max() > 2
    # TCP alone takes the step: a round trip of 36 ms, less what the size adds.
    assert times["tcp"][above].min() - times["tcp"][~above].max() > 0.025
    assert times["quic"].max() - times["quic"].min() < 0.015


def test_the_report_marks_the_cell_and_draws_the_cliff(around: dict[str, Any]) -> None:
    page = Path(around["report"])
    text = page.read_text(encoding="utf-8")
    assert '<span class="cliff" aria-hidden="true">↕</span>' in text
    assert "Better and worse speak of the neighbourhood of each cell: object&#39;s size within ±20" in text
    assert all((page.parent / "figures" / f"cliffs-quic-vs-tcp.{ending}").is_file() for ending in ("svg", "png", "pdf"))
    table = pd.read_parquet(Path(around["run"]) / "dependences.parquet")
    assert table["is_cliff"].tolist() == [True]


def test_the_study_draws_the_size_alone() -> None:
    assert find_study("cliff").around == {"workload.object": "uniform 20%"}
