"""Repeats of trials: what counts as the same, what is summed up how, and what a diverging engine leaves."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longlook.cli import run as command
from longlook.core.errors import InputError, LonglookError
from longlook.core.job import Job
from longlook.core.model import Outcome, Run, Study
from longlook.core.run_folder import RunFolder
from longlook.engines.fake import FakeEngine
from longlook.lab.artefacts import digests, seal
from longlook.pipeline import run as pipeline
from longlook.pipeline.analyse import Result, analyse_run
from longlook.pipeline.options import Observer, RunOptions
from longlook.report.provenance.repeats import plain_rows
from longlook.run.diff import compare_trials
from longlook.run.verification import Repeat, TrialDigest, Verification, check, differences, groups
from longlook.study.files import find_study
from longlook.study.plan import make_plan
from tests.data.samples import study as made_up_study
from tests.data.trials import TRIAL
from tests.support.cached_engine import CachedEngine

TINY = str(Path(__file__).parents[2] / "data" / "tiny.toml")
FILES = {"link.bin": "1", "client.jsonl": "2", "server.jsonl": "3", "run.json": "4"}


def trial_digest(files: Mapping[str, str] = FILES, **changes: Any) -> TrialDigest:
    return replace(TrialDigest(Outcome.OK, files, "t", {"page_load_time": 0.5}, 0.5), **changes)


def test_the_same_is_the_same() -> None:
    assert differences(trial_digest(), trial_digest(dict(reversed(FILES.items())))) == ()


@pytest.mark.parametrize(
    ("again", "expected"),
    [
        (
            trial_digest({**FILES, "run.json": "x", "client.jsonl": "x", "link.bin": "x"}),
            ("link.bin", "client.jsonl", "run.json"),
        ),
        (trial_digest({**FILES, "qlog": "new"}), ("qlog",)),
        (trial_digest({name: FILES[name] for name in FILES if name != "server.jsonl"}), ("server.jsonl",)),
        (
            trial_digest({**FILES, "run.json": "x"}, timeline="u", samples={"page_load_time": 0.6}),
            ("timeline", "samples", "run.json"),
        ),
        (trial_digest(samples={"page_load_time": None}), ("samples",)),
        (trial_digest(timeline=None, samples={}), ("timeline", "samples")),
    ],
)
def test_what_differs_is_named_nearest_to_the_cause_first(again: TrialDigest, expected: tuple[str, ...]) -> None:
    assert differences(trial_digest(), again) == expected


SAME = Repeat((), Outcome.OK, 0.5)
OTHER = Repeat(("link.bin", "timeline", "run.json"), Outcome.OK, 0.8)


def test_an_exact_trial_has_a_verdict() -> None:
    good = check(TRIAL, 1, trial_digest(), [SAME, SAME], exact=True)
    assert (good.identical, good.diverged, good.first_difference) == (2, False, None)
    bad = check(TRIAL, 1, trial_digest(), [SAME, OTHER], exact=True)
    assert (bad.identical, bad.diverged, bad.first_difference) == (1, True, "link.bin")
    assert bad.same == {"link.bin": 1, "timeline": 1, "samples": 2}
    assert bad.load_deviation_s == pytest.approx(0.3)


def test_another_trial_has_a_spread_instead() -> None:
    checked = check(TRIAL, 1, trial_digest(), [OTHER, Repeat(("run.json",), Outcome.FAILED, None)], exact=False)
    assert not checked.diverged
    assert checked.load_median_s == pytest.approx(0.65)
    assert checked.load_deviation_s == pytest.approx(0.15)
    assert checked.outcomes == {"ok": 2, "failed": 1}


def test_a_trial_that_failed_has_no_spread() -> None:
    failed = trial_digest(outcome=Outcome.FAILED, timeline=None, samples={}, load_s=None)
    checked = check(TRIAL, 1, failed, [Repeat((), Outcome.FAILED, None)], exact=True)
    assert (checked.load_median_s, checked.load_deviation_s, checked.identical) == (None, None, 1)


def test_groups_are_arms_of_cells() -> None:
    trials = [
        replace(TRIAL, id=f"{arm}{number}", arm=arm, round=number) for number in range(3) for arm in ("tcp", "quic")
    ]
    checked = [
        check(trial, 1, trial_digest(), [SAME, OTHER if trial.id == "quic1" else SAME], exact=trial.arm == "tcp")
        for trial in trials
    ]
    tcp, quic = groups(checked)
    assert (tcp.arm, tcp.trials, tcp.repeats, tcp.identical, tcp.diverged) == ("tcp", 3, 6, 6, False)
    assert (quic.identical, quic.diverged, quic.same["samples"]) == (5, False, 6)
    header, *rows = plain_rows(made_up_study(("10",)), Verification(2, tuple(checked)))
    assert header[:3] == ("rate", "arm", "trials")
    assert rows[0] == ("10", "TCP", "3", "6 of 6", "6 of 6", "6 of 6", "6 of 6", "✓ identical")
    assert rows[1][-1].startswith("not exact: load time")


class Repeatable(CachedEngine):
    """Made-up results that count as exact, several at once; `unstable` trials give something else at each later run."""

    parallel = 4

    def __init__(self, *unstable: int, exact: bool = True, **options: Any) -> None:
        super().__init__(**options)
        self.unstable, self.exact = unstable, exact
        self.folders: list[str] = []

    def run(self, job: Job) -> Run:
        folder = Path(job.folder)
        run = super().run(job)
        earlier = self.ran.count(job.trial.id) - 1
        self.folders.append(folder.name)
        if job.trial.round in self.unstable and job.trial.arm == "quic" and earlier:
            with (folder / "server.jsonl").open("a") as file:
                file.write(json.dumps({"event": "diagnosis", "run": earlier}) + "\n")
        run = replace(run, exact=self.exact, artefacts=digests(folder))
        seal(folder, run)
        return run


@pytest.fixture(scope="module")
def study() -> Study:
    return find_study(TINY)


@pytest.fixture
def no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports take longer than everything else here."""
    monkeypatch.setattr("longlook.pipeline.analyse.write_report", lambda folder, _content: folder / "index.html")


def run_study(study: Study, engine: FakeEngine, path: Path, verify: int, **how: Any) -> Result:
    seen: list[tuple[int, int]] = []
    observer = Observer(verifying=lambda done, total: seen.append((done, total)))
    options = RunOptions(engine, use_cache=False, verify=verify, **how)
    result = pipeline.run_study(study, path, options, observer)
    total = 12 * verify
    assert seen == [(done, total) for done in range(1, total + 1)]
    return result


def test_the_report_says_so(study: Study, tmp_path: Path) -> None:
    page = run_study(study, Repeatable(), tmp_path / "run", 1).report.read_text()
    assert "Repeated exactly" in page
    assert "✓ identical" in page


@pytest.mark.usefixtures("no_report")
@pytest.mark.parametrize("jobs", [1, 3])
def test_every_trial_is_run_again_and_nothing_is_left(study: Study, tmp_path: Path, jobs: int) -> None:
    engine = Repeatable()
    result = run_study(study, engine, tmp_path / "run", 2, jobs=jobs)
    assert result.verification is not None
    assert result.verification.diverged == []
    assert [trial.identical for trial in result.verification.trials] == [2] * 12
    assert len(engine.ran) == 36
    names = [path.name for path in (tmp_path / "run" / "trials").iterdir()]
    assert sorted(names) == sorted(trial.trial_id for trial in result.verification.trials)
    assert all(name.startswith(".partial-") for name in engine.folders)
    assert not (tmp_path / "run" / "divergent").exists()


@pytest.mark.usefixtures("no_report")
def test_a_divergence_is_found_kept_and_named(study: Study, tmp_path: Path) -> None:
    result = run_study(study, Repeatable(1), tmp_path / "run", 3, jobs=3)
    assert result.verification is not None
    diverged = result.verification.diverged
    assert [(trial.arm, trial.round, trial.identical) for trial in diverged] == [("quic", 1, 0)] * 2
    assert {path.name for path in (tmp_path / "run" / "divergent").iterdir()} == {trial.trial_id for trial in diverged}
    for trial in diverged:
        assert trial.first_difference == "server.jsonl"
        found = compare_trials(tmp_path / "run" / "trials" / trial.trial_id, tmp_path / "run" / str(trial.divergent), 3)
        assert found.files == ("server.jsonl", "run.json")


def test_a_repeat_that_could_not_run_is_no_difference_and_is_said(study: Study, tmp_path: Path) -> None:
    class Refusing(Repeatable):
        def run(self, job: Job) -> Run:
            run = super().run(job)
            if job.trial.round != 1 or self.ran.count(job.trial.id) == 1:
                return run
            refused = replace(run, outcome=Outcome.INVALID, reason="the host had no room")
            seal(Path(job.folder), refused)
            return refused

    result = run_study(study, Refusing(), tmp_path / "run", 1)
    assert result.verification is not None
    assert result.verification.diverged == []
    assert [(each.round, each.repeats, each.identical) for each in result.verification.trials if each.unable] == [
        (1, 0, 0)
    ] * 4
    assert result.verification.unable == "4 of 12 repeats could not run: the host had no room"
    assert "4 of 12 repeats could not run: the host had no room" in result.report.read_text()


@pytest.mark.usefixtures("no_report")
def test_a_finished_run_is_verified_again_from_scratch(study: Study, tmp_path: Path) -> None:
    assert run_study(study, Repeatable(0), tmp_path / "run", 1).verification.diverged  # type: ignore[union-attr]
    engine = Repeatable()
    result = run_study(study, engine, tmp_path / "run", 1, resume=True)
    assert result.verification is not None
    assert result.verification.diverged == []
    assert len(engine.ran) == 12
    assert not (tmp_path / "run" / "divergent").exists()
    assert analyse_run(RunFolder.open(tmp_path / "run"), Observer()).verification == result.verification


@pytest.mark.usefixtures("no_report")
def test_the_kept_attempt_s_number_is_used(study: Study, tmp_path: Path) -> None:
    class Recovering(Repeatable):
        def run(self, job: Job) -> Run:
            attempts.append(job.attempt)
            self.outcomes = {job.trial.id: Outcome.INVALID} if job.attempt == 1 else {}
            return super().run(job)

    attempts: list[int] = []
    result = run_study(study, Recovering(), tmp_path / "run", 1)
    assert attempts == [1, 2] * 12 + [2] * 12
    assert result.verification is not None
    assert result.verification.diverged == []


@pytest.mark.usefixtures("no_report")
def test_trials_that_are_not_exact_may_differ(study: Study, tmp_path: Path) -> None:
    result = run_study(study, Repeatable(0, 1, 2, exact=False), tmp_path / "run", 2)
    assert result.verification is not None
    assert result.verification.diverged == []
    assert {trial.identical for trial in result.verification.trials if trial.arm == "quic"} == {0}
    assert not (tmp_path / "run" / "divergent").exists()


@pytest.mark.usefixtures("no_report")
def test_trials_that_a_decided_cell_did_not_need_are_not_run_again(tmp_path: Path) -> None:
    deciding = find_study(TINY, rounds="decide", changes={"max_rounds": "12"})
    engine = Repeatable()
    engine.outcomes = {trial.id: Outcome.FAILED for trial in make_plan(deciding).trials if trial.arm == "tcp"}
    options = RunOptions(engine, use_cache=False, verify=1)
    result = pipeline.run_study(deciding, tmp_path / "run", options, Observer())
    assert result.verification is not None
    assert len(result.verification.trials) == 40


def test_real_time_cannot_be_verified(study: Study, tmp_path: Path) -> None:
    engine = FakeEngine()
    with pytest.raises(InputError, match="real time") as caught:
        pipeline.run_study(study, tmp_path / "run", RunOptions(engine, verify=1), Observer())
    assert "--engine virtual" in str(caught.value.hint)
    assert engine.ran == []
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("no_report")
def test_the_command_fails_and_names_what_shows_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("longlook.engines.choice.ENGINES", {"virtual": lambda: Repeatable(1, exact=True)})
    monkeypatch.setattr(
        "longlook.pipeline.check.check_virtual", lambda *_: None
    )  # it refuses CPU time, which `tiny` asks for
    out = tmp_path / "run"
    with pytest.raises(LonglookError, match="2 of 12 trials did not repeat exactly") as caught:
        command.run(study=TINY, no_cache=True, out=out, verify=1, jobs=1)
    assert caught.value.exit_code == 1
    trials = json.loads((out / "verification.json").read_text())["trials"]
    diverged = [trial["trial_id"] for trial in trials if trial["divergent"]]
    assert len(diverged) == 2
    printed = capsys.readouterr().out
    for name in diverged:
        assert f"server.jsonl differs; longlook diff-runs {out}/trials/{name} {out}/divergent/{name}" in printed
