"""Run folders of schema version 1: they are read and reported, and not continued."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from longlook.cli import app
from longlook.core.errors import InputError
from longlook.core.model import Study
from longlook.engines.fake import FakeEngine
from longlook.pipeline.analyse import Result
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.study.files import find_study

TINY = str(Path(__file__).parents[2] / "data" / "tiny.toml")
DERIVED = ("samples.parquet", "estimates.parquet", "claims.json")


@pytest.fixture(scope="module")
def study() -> Study:
    return find_study(TINY)


@pytest.fixture
def old(study: Study, tmp_path: Path) -> Result:
    """A run whose folder is as an earlier version left it, without what the analysis makes."""
    result = run_study(study, tmp_path / "run", RunOptions(FakeEngine()), Observer())
    manifest = result.path / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "schema_version": 1}))
    shutil.rmtree(result.path / "report")
    for name in DERIVED:
        (result.path / name).unlink()
    return result


def test_a_report_is_made_of_it_by_the_command(old: Result) -> None:
    answer = CliRunner().invoke(app, ["report", str(old.path), "--json"], catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.output.splitlines()[-1])
    assert [estimate["verdict"] for estimate in found["estimates"]] == [str(each.verdict) for each in old.estimates]
    assert [estimate["effect_pct"] for estimate in found["estimates"]] == [each.effect_pct for each in old.estimates]
    assert all((old.path / name).is_file() for name in (*DERIVED, "report/index.html"))


def test_it_is_not_continued_and_the_error_names_what_helps(study: Study, old: Result) -> None:
    engine = FakeEngine()
    with pytest.raises(InputError, match="begun by an earlier Longlook") as caught:
        run_study(study, old.path, RunOptions(engine, resume=True), Observer())
    assert "\n" not in caught.value.message
    assert f"longlook report {old.path}" in str(caught.value.hint)
    assert engine.ran == []
