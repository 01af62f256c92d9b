"""A recorded page loaded over QUIC and TCP in virtual time, and its loads as HARs."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from longlook.provision.recorded import store
from tests.data.har import read_strictly
from tests.support.command_line import call_longlook, longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("recorded") / "run"
    chosen = ("--only", "page=docs", "--only", "loss=0%", "--rounds", "1")
    answer = longlook("run", "recorded-pages", *chosen, "--out", str(out))
    assert answer.returncode == 0, answer.stderr
    return out


@pytest.fixture(scope="module")
def logs(run: Path) -> dict[str, dict[str, Any]]:
    """The HARs of both arms."""
    out = run.parent / "hars"
    answer = call_longlook("trace", "har", str(run), "--out", str(out), "--json")
    assert answer.returncode == 0, answer.stderr
    written = [Path(item["path"]) for item in json.loads(answer.stdout)["written"]]
    return {path.name.partition("-")[0]: read_strictly(path) for path in written}


def test_every_object_arrives_with_its_recorded_size(logs: dict[str, dict[str, Any]]) -> None:
    page = store.keep(store.shipped()["docs"])[1]
    assert set(logs) == {"quic", "tcp"}
    for log in logs.values():
        sizes = [entry["response"]["bodySize"] for entry in log["entries"]]
        assert sorted(sizes) == sorted(item.size_bytes for item in page.objects)


def test_a_phase_begins_when_the_one_before_has_arrived(logs: dict[str, dict[str, Any]]) -> None:
    for log in logs.values():
        ends: list[datetime] = []
        for begun, entries in grouped(log["entries"]):
            assert all(end <= begun + timedelta(microseconds=2) for end in ends)
            ends += [begun + timedelta(milliseconds=entry["time"]) for entry in entries]
        assert [len(entries) for _, entries in grouped(log["entries"])] == [1, 8, 4]


def grouped(entries: list[dict[str, Any]]) -> list[tuple[datetime, list[dict[str, Any]]]]:
    """Entries that were asked for at one moment; their stamps have microseconds."""
    groups: list[tuple[datetime, list[dict[str, Any]]]] = []
    for entry in entries:
        begun = datetime.fromisoformat(entry["startedDateTime"])
        if groups and begun - groups[-1][0] < timedelta(milliseconds=1):
            groups[-1][1].append(entry)
        else:
            groups.append((begun, [entry]))
    return groups


def test_early_data_and_handshakes_are_where_the_arms_differ(logs: dict[str, dict[str, Any]]) -> None:
    first = {arm: log["entries"][0] for arm, log in logs.items()}
    assert (first["quic"]["timings"]["connect"], first["quic"]["request"]["httpVersion"]) == (0, "h3")
    assert 2 * 34 < first["tcp"]["timings"]["connect"] < 2 * 40  # two round trips of 36 ms ± 5 %
    assert first["tcp"]["timings"]["connect"] / first["tcp"]["timings"]["ssl"] == pytest.approx(2, abs=0.1)


def test_the_run_folder_has_the_page_and_can_be_continued(run: Path) -> None:
    (kept,) = (run / "pages").iterdir()
    digest = store.keep(store.shipped()["docs"])[0]
    assert kept.stem == digest.removeprefix("sha256:")
    trials = json.loads((run / "plan.json").read_text())["trials"]
    assert {trial["workload"]["parameters"]["har"] for trial in trials} == {digest}
    answer = call_longlook(
        *("run", "recorded-pages", "--only", "page=docs", "--only", "loss=0%"),
        *("--rounds", "1", "--resume", str(run), "--dry-run"),
    )
    assert answer.returncode == 0, answer.stderr
    assert "to run: 0" in answer.stdout


def test_exporting_again_gives_the_same_bytes(run: Path, logs: dict[str, dict[str, Any]]) -> None:
    assert logs
    before = {path: path.read_bytes() for path in (run.parent / "hars").rglob("*.har")}
    assert call_longlook("trace", "har", str(run), "--out", str(run.parent / "hars")).returncode == 0
    assert before == {path: path.read_bytes() for path in (run.parent / "hars").rglob("*.har")}


def test_what_a_page_becomes_is_shown() -> None:
    answer = call_longlook("study", "page", "news")
    assert answer.returncode == 0, answer.stderr
    assert "83 objects, 2,633.4 KB, 10 origins" in answer.stdout
    assert "left out: 1 × WebSocket" in answer.stdout
    wrong = call_longlook("study", "page", "nws")
    assert wrong.returncode == 2 and "did you mean 'news'?" in wrong.stderr
