"""A comparison from its two sides to its answer, with made-up results in place of a laboratory."""

import hashlib
from pathlib import Path

import pytest

from longlook.core.job import Job
from longlook.core.model import Outcome, Run
from longlook.engines.fake import FakeEngine
from longlook.instruments.compare.gate import FAILURES, GateAnswer, GateVerdict
from longlook.instruments.compare.run import run_comparison
from longlook.instruments.compare.spec import CONTENDER, ComparisonSpec
from longlook.pipeline.options import Observer, RunOptions
from longlook.study import catalogue, parse_networks

SPEC = ComparisonSpec(
    catalogue.parse_side("quic-go", "h3"),
    catalogue.parse_side("quic-go", "h3"),
    parse_networks(["10mbit,36ms"]),
    5.0,
)


@pytest.fixture(autouse=True)
def no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports take longer than everything else here."""
    monkeypatch.setattr("longlook.pipeline.analyse.write_report", lambda folder, _content: folder / "index.html")


def answer(engine: FakeEngine, out: Path) -> tuple[GateVerdict, int]:
    """Return the verdict, and the number of rounds that were run."""
    _, judged = run_comparison(SPEC, out, RunOptions(engine), Observer())
    return judged.verdict, len(engine.ran) // 2


def slower(factor: float, sigma: float = 0.02) -> FakeEngine:
    return FakeEngine(factors={CONTENDER: factor}, sigma=sigma)


def test_a_large_loss_and_none_are_told_in_few_rounds(tmp_path: Path) -> None:
    worse, rounds = answer(slower(1.15), tmp_path / "worse")
    assert (worse.answer, worse.cases[0].answer, rounds) == (GateAnswer.WORSE, GateAnswer.WORSE, 10)
    alike, rounds = answer(slower(1.0), tmp_path / "alike")
    assert alike.passed
    assert rounds < 40
    better, rounds = answer(slower(0.8, 0.1), tmp_path / "better")
    assert (better.passed, rounds) == (True, 10)


def test_what_lies_at_the_gate_stays_undecided_after_all_rounds(tmp_path: Path) -> None:
    verdict, rounds = answer(slower(1.05, 0.05), tmp_path / "run")
    assert (verdict.answer, verdict.passed, rounds) == (GateAnswer.UNDECIDED, False, 40)
    assert "more rounds" in verdict.cases[0].reason


class Failing(FakeEngine):
    """The contender loses half of its transfers, and has the same load times where it does not."""

    def run(self, job: Job) -> Run:
        unlucky = hashlib.sha256(str(job.trial.seed).encode()).digest()[0] % 2
        self.outcomes = {job.trial.id: Outcome.FAILED} if unlucky and job.trial.arm == CONTENDER else {}
        return super().run(job)


def test_a_contender_that_loses_half_of_its_transfers_does_not_pass(tmp_path: Path) -> None:
    verdict, rounds = answer(Failing(), tmp_path / "run")
    failures = next(case for case in verdict.cases if case.subject == FAILURES)
    assert (verdict.answer, verdict.passed, failures.answer) == (GateAnswer.WORSE, False, GateAnswer.WORSE)
    assert 10 <= rounds < 40
