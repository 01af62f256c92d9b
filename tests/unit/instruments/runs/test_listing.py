"""Run folders are listed as they are: complete, running, stopped, damaged; and foreign folders are passed over."""

import json
import os
import shutil
from pathlib import Path

import pytest

from longlook.core.errors import InputError
from longlook.core.run_folder import RunFolder
from longlook.instruments.runs.holder import holder_of
from longlook.instruments.runs.listing import ListedRun, State, list_runs
from tests.support.command_line import call_longlook


def listed(place: Path) -> ListedRun:
    found = list_runs([place])
    assert len(found) == 1
    return found[0]


def unfinished(run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["finished_unix_s"]
    (run / "manifest.json").write_text(json.dumps(manifest))


def test_a_complete_run_is_listed_with_its_verdicts_and_digest(run: Path) -> None:
    found = listed(run.parent)
    assert (found.path, found.state, found.study) == (run, State.COMPLETE, "tiny")
    assert found.finished == found.trials == 40
    assert found.verdicts == {"quic vs tcp": {"better": 2}}
    assert found.results == json.loads((run / "manifest.json").read_text()).get("results", {"digest": ""})["digest"]


def test_a_run_without_all_trials_is_stopped(run: Path) -> None:
    unfinished(run)
    first = next(path for path in sorted((run / "trials").iterdir()) if "." not in path.name)
    first.rename(first.with_name(f"{first.name}.attempt1"))
    (run / "trials" / ".partial-abc-1").mkdir()
    assert (listed(run).state, listed(run).finished) == (State.STOPPED, 39)


def test_a_run_that_a_process_writes_to_is_running(run: Path) -> None:
    unfinished(run)
    assert holder_of(run) is None
    with RunFolder.open(run):
        holder = holder_of(run)
        assert holder is not None
        assert holder.pid == os.getpid()
        assert listed(run).state is State.RUNNING
    assert holder_of(run) is None


def test_a_run_without_its_report_says_so(run: Path) -> None:
    shutil.rmtree(run / "report")
    assert listed(run).state is State.NO_REPORT


def broken_manifest(run: Path) -> None:
    (run / "manifest.json").write_text('{"plan_hash": ')


def manifest_is_a_pipe(run: Path) -> None:
    (run / "manifest.json").unlink()
    os.mkfifo(run / "manifest.json")


def manifest_is_a_link(run: Path) -> None:
    (run / "manifest.json").rename(run / "other.json")
    (run / "manifest.json").symlink_to("other.json")


def other_schema(run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, "schema_version": 1}))


def broken_estimates(run: Path) -> None:
    (run / "estimates.parquet").write_bytes(b"PAR1 nothing PAR1")


def study_without_contrasts(run: Path) -> None:
    (run / "study.json").write_text('{"contrasts": 7}')


def no_trials(run: Path) -> None:
    shutil.rmtree(run / "trials")


@pytest.mark.parametrize(
    "damage",
    [
        broken_manifest,
        manifest_is_a_pipe,
        manifest_is_a_link,
        other_schema,
        broken_estimates,
        study_without_contrasts,
        no_trials,
    ],
)
def test_a_damaged_run_is_listed_with_the_reason(run: Path, damage: object) -> None:
    assert callable(damage)
    damage(run)
    found = listed(run.parent)
    assert found.state is State.UNREADABLE
    assert found.reason
    assert "\n" not in found.reason


def test_strange_values_of_a_manifest_are_left_out(run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    strange = {"started_unix_s": -5, "trials": "many", "results": ["x"], "shard": 3, "study": ["\x1b[31m"]}
    (run / "manifest.json").write_text(json.dumps({**manifest, **strange}))
    found = listed(run)
    assert (found.started_unix_s, found.trials, found.results, found.part) == (None, None, "", "")
    answer = call_longlook("runs", str(run.parent))
    assert answer.returncode == 0
    assert "\x1b" not in answer.stdout


def test_foreign_folders_are_passed_over(run: Path) -> None:
    place = run.parent
    (place / "site").mkdir()
    (place / "site" / "manifest.json").write_text('{"name": "a web application"}')
    (place / "list").mkdir()
    (place / "list" / "manifest.json").write_text("[]")
    (place / "empty").mkdir()
    (place / ".hidden").mkdir()
    shutil.copytree(run, place / ".hidden" / "run")
    (place / "loop").symlink_to(place)
    (place / "atlas" / "own").mkdir(parents=True)
    shutil.copytree(run, place / "atlas" / "own" / "run")
    assert [each.path for each in list_runs([place])] == [place / "atlas" / "own" / "run", run]


def test_a_run_that_two_places_have_is_listed_once(run: Path) -> None:
    assert len(list_runs([run, run.parent])) == 1


def test_a_place_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        list_runs([tmp_path / "nowhere"])


def test_the_size_on_disk_counts_every_file(run: Path) -> None:
    (run / "big").write_bytes(bytes(1_000_000))
    (found,) = list_runs([run], with_size=True)
    assert found.size_bytes is not None
    assert found.size_bytes >= 1_000_000


def test_runs_are_found_by_their_notes_and_tags(run: Path) -> None:
    other = run.with_name("other")
    shutil.copytree(run, other)
    noted = call_longlook("runs", "note", str(run), "with <b>new</b> firmware\x1b[31m")
    assert noted.stdout == f"{run}: with <b>new</b> firmware\\x1b[31m\n"
    assert call_longlook("runs", "tag", str(run), "paper-1", "good").returncode == 0
    assert call_longlook("runs", "tag", str(run), "good", "--remove").returncode == 0
    answer = call_longlook("runs", "--tag", "paper-1", "--json", str(run.parent))
    (found,) = json.loads(answer.stdout)
    assert found["path"] == str(run)
    assert found["notes"]["tags"] == ["paper-1"]
    none = call_longlook("runs", "--tag", "nothing", str(run.parent))
    assert "none of 2 runs" in none.stdout


@pytest.mark.parametrize("tag", ["", "two words", "-x", "a" * 41, "\x1b", "../x"])
def test_what_is_no_tag_is_refused(run: Path, tag: str) -> None:
    answer = call_longlook("runs", "tag", str(run), "--", tag)
    assert answer.returncode == 2
    assert "is no tag" in answer.stderr


def test_damaged_notes_are_no_notes(run: Path) -> None:
    (run / ".notes.json").write_text("{")
    assert listed(run).notes.note == ""
    assert call_longlook("runs", "note", str(run), "again").returncode == 0
    assert listed(run).notes.note == "again"


def test_without_a_folder_of_runs_there_is_none(tmp_path: Path) -> None:
    answer = call_longlook("runs", cwd=tmp_path)
    assert (answer.returncode, answer.stdout) == (0, "no run below runs\n")
