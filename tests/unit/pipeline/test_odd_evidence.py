"""Odd studies of every kind of evidence go through all stages: flows, links, losses, profiles, processors, traces."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from longlook.core import registry
from longlook.core.problems import Problems
from longlook.engines.fake import FakeEngine
from longlook.study.catalogue import installed
from longlook.study.files import parse_study
from longlook.study.plan import make_plan
from tests.support.made_up_stack import add_stack
from tests.support.odd_evidence import KINDS, TRACE_FILE, odd_evidence
from tests.support.odd_runs import checked_only, run_and_read
from tests.support.odd_studies import STACK, VERSIONS


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A made-up stack, and a trace of a link: a packet a millisecond."""
    with pytest.MonkeyPatch.context() as patch:
        add_stack(tmp_path_factory.mktemp("plugins"), patch, STACK, VERSIONS)
        patch.setattr("longlook.report.export_figure", checked_only)
        path = tmp_path_factory.mktemp("traces") / "cell.trace"
        path.write_text("".join(f"{number}\n" for number in range(1, 51)))
        yield path
    registry.forget()


def with_trace(document: Any, path: Path) -> Any:
    if isinstance(document, dict):
        return {key: with_trace(value, path) for key, value in document.items()}
    if isinstance(document, list):
        return [with_trace(value, path) for value in document]
    return document.replace(TRACE_FILE, str(path)) if isinstance(document, str) else document


EXAMPLES = int(os.environ.get("ODD", "2"))


@pytest.mark.timeout(900)  # a machine that is busy for minutes proves nothing
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_trials_leave_is_read_and_drawn(trace: Path, kind: str) -> None:
    @given(odd_evidence(kind))
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    def check(odd: Any) -> None:
        study = parse_study("odd", with_trace(dict(odd.document), trace), Problems("odd"), installed())
        with TemporaryDirectory() as folder:
            engine = FakeEngine(outcomes=odd.outcomes_of(make_plan(study, odd.only)), evidence=True)
            run_and_read(study, odd.only, engine, Path(folder))

    check()
