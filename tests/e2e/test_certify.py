"""A whole certification of a small bank in virtual time: trials, rates, repeats on a disturbed host."""

from pathlib import Path

import pytest

from longlook.instruments.certify.certificate import CERTIFICATE, load
from longlook.instruments.certify.disturbances import DISTURBANCES
from longlook.instruments.certify.exactness import repeat_exactly
from longlook.instruments.certify.run import CertifyOptions, certify
from longlook.instruments.certify.show import certificate_shown
from longlook.instruments.certify.trial_bank import BankRun, Scale
from longlook.pipeline.options import Observer
from longlook.terminal.console import output_console
from longlook.terminal.printer import PeoplePrinter

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]

SMALL = str(Path(__file__).parents[1] / "data" / "certify.toml")
TINY = Scale("tiny", {"cells": BankRun(SMALL, 4, ("loss=3%",))}, draws=2, paths=1, heatmaps=2, repeats=1, passes=1)


def test_a_small_bank_is_certified_and_the_next_session_runs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = CertifyOptions(TINY, tmp_path, ("a-against-a", "heatmaps"), jobs=2)
    made = certify(options, Observer())
    (run,) = made.runs
    assert (run.trials, run.good, run.engine) == (8, 8, "virtual")
    assert run.results is not None  # every trial was exact
    verdicts = made.parts["a-against-a"].rates[0]
    assert (verdicts.trials, verdicts.nominal) == (2, 0.01)
    assert load(tmp_path / CERTIFICATE) == made
    PeoplePrinter(output_console()).show(certificate_shown(made, tmp_path, []))
    assert "verdict better or worse" in capsys.readouterr().out

    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("run.json")}
    again = certify(options, Observer())
    assert again.runs == made.runs
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("run.json")} == before
    assert [part.rates for part in again.parts.values()] == [part.rates for part in made.parts.values()]


def test_trials_repeat_to_the_byte_with_another_environment_and_in_another_folder(tmp_path: Path) -> None:
    chosen = [item for item in DISTURBANCES if item.name in ("other environment", "other folder")]
    found = repeat_exactly(tmp_path, 1, 1, 2, Observer(), chosen)
    assert [(item.disturbance, item.repeats, item.identical) for item in found] == [
        ("other environment", 8, 8),
        ("other folder", 8, 8),
    ]
