"""The made-up engine is deterministic and writes what the next stage reads."""

from dataclasses import replace
from pathlib import Path

from longlook.core.job import Content, Expected, Identity, Job, Program
from longlook.core.model import Link, Outcome, Stage
from longlook.engines.fake import FakeEngine
from longlook.timeline.normalise import normalise_trial
from longlook.timeline.timeline import Kind
from tests.unit.lab.test_judge import TRIAL

CONTENT = Content("/www", (("/a",),), {"/a": Expected(100_000, "sha256:" + "0" * 64)})


def job(folder: Path, trial_id: str = "t") -> Job:
    folder.mkdir()
    stages = (Stage("rate", {"rate_bps": 8_000_000, "queue_bytes": 1}), Stage("delay", {"delay_ns": 10_000_000}))
    trial = replace(TRIAL, id=trial_id, link=Link(stages, stages))
    programs = {role: Program("/p", "0") for role in ("server", "client", "link")}
    return Job(trial, 1, str(folder), programs, CONTENT, Identity("www.example.test", "", "", "", ""))


def test_the_same_trial_gives_the_same_files(tmp_path: Path) -> None:
    engine = FakeEngine()
    first, second = engine.run(job(tmp_path / "1")), engine.run(job(tmp_path / "2"))
    assert first == second
    assert engine.ran == ["t", "t"]
    assert 0.13 < first.measure_s < 0.2


def test_a_trial_can_be_made_to_end_otherwise(tmp_path: Path) -> None:
    run = FakeEngine(outcomes={"t": Outcome.TIMED_OUT}).run(job(tmp_path / "1"))
    assert run.outcome is Outcome.TIMED_OUT
    assert run.reason


def test_factors_slow_an_arm_down(tmp_path: Path) -> None:
    plain = FakeEngine().run(job(tmp_path / "1")).measure_s
    assert FakeEngine(factors={TRIAL.arm: 2.0}).run(job(tmp_path / "2")).measure_s == plain * 2


def test_several_connections_fetch_everything_each(tmp_path: Path) -> None:
    order = job(tmp_path / "1")
    order = replace(order, content=replace(order.content, connections=3))
    run = FakeEngine().run(order)
    assert 0.33 < run.measure_s < 0.4
    timeline = normalise_trial(Path(order.folder), order.trial, run)
    done = timeline.select(Kind.OBJECT_DONE)
    assert done.num_rows == len(set(done["flow"].to_pylist())) == 3


def test_the_artefacts_normalise(tmp_path: Path) -> None:
    order = job(tmp_path / "1")
    run = FakeEngine().run(order)
    timeline = normalise_trial(Path(order.folder), order.trial, run)
    window = timeline.load_window_ns()
    assert window is not None
    assert (window[1] - window[0]) / 1e9 == round(run.measure_s, 9)
