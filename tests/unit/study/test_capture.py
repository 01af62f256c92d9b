"""What a study may capture: trials that capture nothing new keep their ids; files of warm clients are cut soundly."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core.model import Capture, Study
from longlook.lab.session_traces import cut_netlog
from longlook.run.execute import records_tcp
from longlook.study.files import read_study
from longlook.study.plan import make_plan
from tests.data.studies import CATALOGUE, study_file

HEAD = '{"constants":{"timeTickOffset":1},\n"events": [\n'


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return read_study(study_file(tmp_path), CATALOGUE)


def ids(study: Study) -> list[str]:
    return [trial.id for trial in make_plan(study, (), CATALOGUE).trials]


def test_what_came_later_changes_no_id_where_it_is_off(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = ids(study)
    captured = {
        name: ids(replace(study, capture=Capture(**{name: True})))
        for name in ("qlog", "keylog", "tcp", "netlog", "cpu")
    }
    assert len({*plain, *(one for many in captured.values() for one in many)}) == 6 * len(plain)
    monkeypatch.setattr("longlook.study.plan._hashed_capture", lambda _capture: {"qlog": False, "keylog": False})
    assert ids(study) == plain  # as when there was nothing else


def test_the_recorder_is_for_the_kernels_tcp_alone(study: Study) -> None:
    wanted = make_plan(replace(study, capture=Capture(tcp=True)), (), CATALOGUE).trials
    assert {trial.protocol: records_tcp(trial) for trial in wanted} == {"h2": True, "h3": False}
    assert not any(records_tcp(trial) for trial in make_plan(study, (), CATALOGUE).trials)


def event(number: int) -> str:
    return json.dumps({"time": str(number), "type": 1})


@pytest.mark.parametrize(
    ("begin", "expected"),
    [
        (0, [1, 2, 3]),
        (len(HEAD), [1, 2, 3]),
        (len(HEAD) + len(event(1)) + 2, [2, 3]),
        (len(HEAD) + len(event(1)) + 5, [2, 3]),
        (len(HEAD) + 3 * (len(event(1)) + 2), []),
    ],
)
def test_a_netlog_is_cut_at_whole_events(tmp_path: Path, begin: int, expected: list[int]) -> None:
    whole = HEAD + "".join(f"{event(number)},\n" for number in (1, 2, 3))
    (tmp_path / "whole.json").write_text(whole + event(4)[:7])
    cut_netlog(tmp_path, "whole.json", begin, tmp_path / "part.json")
    part = json.loads((tmp_path / "part.json").read_text())
    assert part["constants"] == {"timeTickOffset": 1}
    assert [int(entry["time"]) for entry in part["events"]] == expected


def test_a_netlog_without_events_gives_none(tmp_path: Path) -> None:
    (tmp_path / "whole.json").write_text('{"constants":{')
    cut_netlog(tmp_path, "whole.json", 0, tmp_path / "part.json")
    assert not (tmp_path / "part.json").exists()
