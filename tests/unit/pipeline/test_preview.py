"""What a run would do: counted, checked, and not done."""

from dataclasses import replace
from pathlib import Path

import pytest

from longlook.cli.show.study import _lines
from longlook.core.errors import InputError
from longlook.core.job import Job
from longlook.core.model import Run, Study
from longlook.engines.fake import FakeEngine
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.preview import preview_study
from longlook.pipeline.run import run_study
from longlook.provision import setup
from longlook.study.files import find_study
from tests.conftest import TINY
from tests.support.cached_engine import CachedEngine


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_TRIALS", str(tmp_path / "cache"))


def test_it_counts_and_runs_nothing(study: Study, tmp_path: Path) -> None:
    engine = CachedEngine()
    found = preview_study(study, tmp_path / "run", RunOptions(engine, verify=2))
    assert (found.trials, found.finished, found.cached, found.left, found.repeats) == (12, 0, 0, 12, 2)
    assert [(cell.cell_id, cell.trials) for cell in found.cells] == [("5KB", 6), ("100KB", 6)]
    assert found.engines == {"fake": 12}
    assert engine.ran == []
    assert not (tmp_path / "run").exists()


def test_it_counts_the_most_there_can_be_where_rounds_decide(tmp_path: Path) -> None:
    found = preview_study(find_study(str(TINY), rounds="decide"), tmp_path / "run", RunOptions(FakeEngine()))
    assert (found.rounds, found.trials, found.decides) == (40, 160, True)


def test_it_says_that_trials_of_integrated_losses_come_on_top(tmp_path: Path) -> None:
    lossy = find_study(str(TINY), rounds=3, changes={"network.loss": "1%"})
    found = preview_study(lossy, tmp_path / "run", RunOptions(FakeEngine()))
    assert (found.trials, found.integrated) == (len(found.cells) * 2 * 4, len(found.cells))
    assert "+ 4 at the stated point = 16 trials" in (text := "\n".join(_lines(found)))
    assert "losses of 2 cells are integrated" in text
    sampled = find_study(str(TINY), rounds=3, changes={"network.loss": "1%"}, losses="sampled")
    assert preview_study(sampled, tmp_path / "run", RunOptions(FakeEngine())).integrated == 0


def test_it_knows_what_the_cache_holds(study: Study, tmp_path: Path) -> None:
    options = RunOptions(CachedEngine(), only=("size=5KB",))
    run_study(study, tmp_path / "first", options, Observer())
    found = preview_study(study, tmp_path / "second", replace(options, only=()))
    assert (found.trials, found.cached, found.left) == (12, 6, 6)
    without = preview_study(study, tmp_path / "second", replace(options, only=(), use_cache=False))
    assert (without.cached, without.left) == (0, 12)


def test_it_knows_what_a_stopped_run_has(study: Study, tmp_path: Path) -> None:
    class Stopping(FakeEngine):
        def run(self, job: Job) -> Run:
            if len(self.ran) == 5:
                raise KeyboardInterrupt
            return super().run(job)

    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path / "run", RunOptions(Stopping()), Observer())
    found = preview_study(study, tmp_path / "run", RunOptions(FakeEngine(), resume=True))
    assert (found.trials, found.finished, found.left) == (12, 5, 7)


def test_it_names_what_must_be_installed_and_installs_nothing(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longlook.pipeline.preview.is_part_installed", lambda part: part == setup.KERNEL)
    monkeypatch.setattr("longlook.pipeline.preview.provide_for", lambda *_: pytest.fail("something was installed"))
    found = preview_study(study, tmp_path / "run", RunOptions(CachedEngine()))
    assert [part.partition("@")[0] for part in found.install] == ["quic-go"]
    assert found.cached is None
    assert found.left == 12


def test_it_refuses_what_a_run_refuses(study: Study, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("do not touch")
    with pytest.raises(InputError, match="not empty"):
        preview_study(study, tmp_path, RunOptions(FakeEngine()))
