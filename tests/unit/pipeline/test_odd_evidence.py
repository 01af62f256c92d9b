"""Odd studies of every kind of evidence go through all stages: flows, links, losses, profiles, processors, traces."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from longlook.core import registry
from longlook.core.problems import Problems
from longlook.engines.fake import FakeEngine
from longlook.study.catalogue import installed
from longlook.study.files import parse_study
from longlook.study.plan import make_plan
from tests.support.made_up_stack import add_stack
from tests.support.odd_evidence import KINDS, TRACE_FILE, odd_evidence
from tests.support.odd_runs import run_and_read
from tests.support.odd_studies import STACK, VERSIONS
from tests.unit.pipeline.test_odd_studies import LEAST


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A made-up stack, and a trace of a link: a packet a millisecond."""
    with pytest.MonkeyPatch.context() as patch:
        add_stack(tmp_path_factory.mktemp("plugins"), patch, STACK, VERSIONS)
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


QUIC_FLOWS = {"subject": {"protocol": "h3"}, "others": {"protocol": "h3"}}
LARGE = {"workload": {"kind": "page", "objects": 1, "object": "1MB"}}
SECTIONS: dict[str, dict[str, Any]] = {
    "shares": {
        "workload": {"kind": "compete", "duration": "1s", "start": "0s"},
        "arms": {arm: {"label": arm, "flows": QUIC_FLOWS} for arm in ("a", "b")},
        "metrics": ["share_of_used", "page_load_time"],
    },
    "links": {"second": {"rate": "5Mbit", "rtt": "80ms"}, **LARGE},
    "losses": {"network": {"rtt": "36ms", "loss": "20%"}, "metrics": ["page_load_time", "single_loss_epochs"], **LARGE},
    "cpu": {"capture": {"cpu": True}, **LARGE},
    "traces": {"capture": {"qlog": True}, **LARGE},
}
"""Section of the report → what a study with the least of everything needs for it."""


@pytest.mark.timeout(900)  # a machine that is busy for minutes proves nothing
@pytest.mark.parametrize("section", SECTIONS)
def test_each_section_is_drawn_of_the_least_that_it_needs(trace: Path, section: str, tmp_path: Path) -> None:
    study = parse_study("odd", LEAST | SECTIONS[section], Problems("odd"), installed())
    result = run_and_read(study, (), FakeEngine(evidence=True), tmp_path)
    assert f'id="{section}"' in result.report.read_text()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(
    max_examples=2,  # the first is the simplest
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
def test_whatever_trials_leave_is_read_and_drawn(trace: Path, kind: str, data: st.DataObject) -> None:
    odd = data.draw(odd_evidence(kind))
    study = parse_study("odd", with_trace(dict(odd.document), trace), Problems("odd"), installed())
    with TemporaryDirectory() as folder:
        engine = FakeEngine(outcomes=odd.outcomes_of(make_plan(study, odd.only)), evidence=True)
        run_and_read(study, odd.only, engine, Path(folder))
