"""Shards that are merged give the run of the whole study, with made-up results in place of a laboratory."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from longlook.core import InputError, Job, LonglookError, Outcome, Run, RunFolder, Study
from longlook.engines.fake import FakeEngine
from longlook.pipeline import MERGED, Observer, Result, RunOptions, merge_runs, run_study
from longlook.pipeline.merge_manifest import command_without_shard
from longlook.study import Shard, find_study, make_plan
from tests.conftest import TINY

SIX_CELLS = TINY.with_name("six-cells.toml")
EXACT = ("study.json", "plan.json", "samples.parquet", "estimates.parquet", "claims.json", "components.json")


@pytest.fixture(autouse=True)
def no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports take longer than everything else here."""
    monkeypatch.setattr("longlook.pipeline.analyse.write_report", lambda folder, _content: folder / "index.html")


@pytest.fixture(scope="module")
def study() -> Study:
    return find_study(str(SIX_CELLS))


class Noisy(FakeEngine):
    """QUIC is much faster, with so much noise that cells are decided after different numbers of rounds."""

    def __init__(self) -> None:
        super().__init__(factors={"quic": 0.62}, sigma=0.3)


class Recovering(FakeEngine):
    """The first attempt at every trial is disturbed."""

    def run(self, job: Job) -> Run:
        self.outcomes = {job.trial.id: Outcome.INVALID} if job.attempt == 1 else {}
        return super().run(job)


def in_shards(study: Study, place: Path, of: int, engine: Callable[[], FakeEngine] = FakeEngine) -> list[Path]:
    paths = [place / f"shard-{number}" for number in range(1, of + 1)]
    for number, path in enumerate(paths, 1):
        command = ("longlook", "run", "x", "--shard", f"{number}/{of}")
        run_study(study, path, RunOptions(engine(), shard=Shard(number, of), command=command), Observer())
    return paths


def merged(runs: list[Path], out: Path, *, partial: bool = False) -> Result:
    return merge_runs(runs, out, Observer(), partial=partial)


@pytest.mark.parametrize("engine", [FakeEngine, Recovering])
def test_merged_shards_are_the_run_of_the_whole_study(
    study: Study, tmp_path: Path, engine: Callable[[], FakeEngine]
) -> None:
    whole = run_study(study, tmp_path / "whole", RunOptions(engine()), Observer())
    found = merged(in_shards(study, tmp_path, 3, engine)[::-1], tmp_path / "merged")
    assert found.results_digest == whole.results_digest
    assert found.outcomes == whole.outcomes
    for name in EXACT:
        assert (tmp_path / "merged" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    names = [sorted(path.name for path in (tmp_path / run / "trials").iterdir()) for run in ("whole", "merged")]
    assert names[0] == names[1]
    manifest, before = (RunFolder.open(tmp_path / run).manifest for run in ("merged", "whole"))
    assert manifest["plan_hash"] == before["plan_hash"]
    assert manifest["effort"]["trials"] == before["effort"]["trials"]
    assert manifest["command"] == "longlook run x"
    assert [each["number"] for each in manifest[MERGED]["shards"]] == [1, 2, 3]
    assert not RunFolder.open(tmp_path / "merged").altered(trial.id for trial in make_plan(study).trials)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("correction", ["holm", "none"])
def test_rounds_that_decide_stop_as_without_shards(tmp_path: Path, correction: str) -> None:
    changes = {"max_rounds": "26", "analysis.correction": correction}
    study = find_study(str(SIX_CELLS), rounds="decide", changes=changes)
    run_study(study, tmp_path / "whole", RunOptions(Noisy()), Observer())
    shards = in_shards(study, tmp_path, 2, Noisy)
    said: list[str] = []
    merge_runs(shards, tmp_path / "merged", Observer(say=said.append))
    for name in EXACT:
        assert (tmp_path / "merged" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    whole = RunFolder.open(tmp_path / "whole").manifest["rounds"]
    alone = {cell: count for path in shards for cell, count in RunFolder.open(path).manifest["rounds"].items()}
    assert RunFolder.open(tmp_path / "merged").manifest["rounds"] == whole
    assert all(alone[cell] >= count for cell, count in whole.items())
    more = sum(alone[cell] - count for cell, count in whole.items()) * 2
    assert (more > 0) == any("left out" in text for text in said)
    assert correction != "holm" or more > 0  # else this test shows nothing


def test_a_shard_goes_on_as_the_shard_that_it_is(study: Study, tmp_path: Path) -> None:
    first = tmp_path / "shard-1"
    options = RunOptions(FakeEngine(), shard=Shard(1, 3))
    run_study(study, first, options, Observer())
    lost = next(iter(RunFolder.open(first).plan.trials)).id
    before = (first / "samples.parquet").read_bytes()
    shutil.rmtree(first / "trials" / lost)
    said: list[str] = []
    again = RunOptions(FakeEngine(), shard=Shard(1, 3), resume=True)
    run_study(study, first, again, Observer(say=said.append))
    assert (first / "samples.parquet").read_bytes() == before
    assert any(text.startswith("This is shard 1/3: 2 of 6 cells.") for text in said)


@pytest.fixture(scope="module")
def shards(study: Study, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("longlook.pipeline.analyse.write_report", lambda folder, _content: folder / "index.html")
        return in_shards(study, tmp_path_factory.mktemp("shards"), 3)


@pytest.fixture
def copies(shards: list[Path], tmp_path: Path) -> list[Path]:
    return [Path(shutil.copytree(path, tmp_path / path.name)) for path in shards]


def change_manifest(run: Path, **facts: object) -> None:
    path = run / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))


def test_a_missing_shard_is_named_and_partial_merges_the_others(copies: list[Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="1 of 3 shards missing: 2/3") as caught:
        merged([copies[0], copies[2]], tmp_path / "out")
    assert "--partial" in str(caught.value.hint)
    assert not (tmp_path / "out").exists()
    said: list[str] = []
    result = merge_runs([copies[2], copies[0]], tmp_path / "out", Observer(say=said.append), partial=True)
    assert sum(result.outcomes.values()) == 24
    assert "This run was merged from some shards of 3: the cells of 2 are missing." in said
    assert RunFolder.open(tmp_path / "out").manifest[MERGED]["missing"] == [2]


def test_a_shard_is_there_once(copies: list[Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is named twice"):
        merged([copies[0], copies[0]], tmp_path / "out")
    twin = Path(shutil.copytree(copies[0], tmp_path / "twin"))
    with pytest.raises(InputError, match="shard 1/3 is there twice"):
        merged([*copies, twin], tmp_path / "out")


def test_shards_of_different_runs_are_refused_with_what_differs(
    study: Study, copies: list[Path], tmp_path: Path
) -> None:
    manifest = json.loads((copies[1] / "manifest.json").read_text())
    for facts, what in (
        ({"programs": {**manifest["programs"], "link": "0" * 64}}, "link .* and 000000000000"),
        ({"host": {**manifest["host"], "longlook": "9.9"}}, "Longlook .* and 9.9"),
        ({"shard": {**manifest["shard"], "plan_hash": "beef"}}, "plan .* and beef"),
        ({"shard": {**manifest["shard"], "of": 4}}, "one of 3 shards and one of 4"),
        ({"engine": "live"}, "engine fake and live"),
    ):
        change_manifest(copies[1], **facts)
        with pytest.raises(InputError, match=what):
            merged(copies, tmp_path / "out")
        (copies[1] / "manifest.json").write_text(json.dumps(manifest))
    other = tmp_path / "other"
    run_study(find_study(str(TINY)), other, RunOptions(FakeEngine(), shard=Shard(1, 2)), Observer())
    with pytest.raises(InputError, match="study six-cells and tiny"):
        merged([copies[0], other], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_shard_with_altered_trials_is_named_and_left_alone(copies: list[Path], tmp_path: Path) -> None:
    trial = RunFolder.open(copies[1]).plan.trials[0].id
    record = copies[1] / "trials" / trial / "run.json"
    record.write_text(record.read_text() + " ")
    with pytest.raises(LonglookError, match=f"shard-2: 1 trial is not as sealed .{trial}: run.json was changed"):
        merged(copies, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert record.read_text().endswith(" ")


def test_a_shard_that_was_stopped_is_named(copies: list[Path], tmp_path: Path) -> None:
    manifest = json.loads((copies[2] / "manifest.json").read_text())
    del manifest["finished_unix_s"]
    (copies[2] / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="shard-3 is not finished") as caught:
        merged(copies, tmp_path / "out")
    assert "--resume" in str(caught.value.hint)


def test_a_lost_trial_is_found(copies: list[Path], tmp_path: Path) -> None:
    shutil.rmtree(copies[2] / "trials" / RunFolder.open(copies[2]).plan.trials[3].id)
    with pytest.raises(LonglookError, match="not as sealed"):
        merged(copies, tmp_path / "out")


def test_a_damaged_whole_plan_is_found(copies: list[Path], tmp_path: Path) -> None:
    (copies[0] / "whole-plan.json").write_text("{}")
    with pytest.raises(InputError, match=r"whole-plan\.json was changed"):
        merged(copies, tmp_path / "out")


def test_a_run_that_is_no_shard_is_refused(study: Study, copies: list[Path], tmp_path: Path) -> None:
    run_study(study, tmp_path / "whole", RunOptions(FakeEngine()), Observer())
    with pytest.raises(InputError, match="whole is not a shard"):
        merged([copies[0], tmp_path / "whole"], tmp_path / "out")


def test_a_folder_that_is_taken_stays_as_it_is(copies: list[Path], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        merged(copies, tmp_path / "out")
    assert (tmp_path / "out" / "thesis.tex").read_text() == "mine"


def test_a_shard_gets_no_run_inside_of_it(copies: list[Path]) -> None:
    before = sorted(copies[1].rglob("*"))
    with pytest.raises(InputError, match="inside of the shard"):
        merged(copies, copies[1] / "merged")
    assert sorted(copies[1].rglob("*")) == before


def test_the_command_of_the_whole_study_has_no_shard() -> None:
    assert command_without_shard("longlook run x --shard 1/3 --rounds 2") == "longlook run x --rounds 2"
    assert command_without_shard("longlook run x --shard=1/3 --set 'a=b c'") == "longlook run x --set 'a=b c'"
