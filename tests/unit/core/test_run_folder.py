"""Run folders: whole or absent, resumable, never overwritten."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core import codec
from longlook.core.errors import InputError
from longlook.core.model import ConnectionState, Flow, Outcome, Plan, Run, Study, Trial
from longlook.core.run_folder import RunFolder, write_json
from tests.unit.core.test_codec import TRIAL


def a_run(trial: Trial, outcome: Outcome, attempt: int) -> Run:
    return Run(
        trial_id=trial.id,
        outcome=outcome,
        reason=None if outcome is Outcome.OK else "because",
        hint=None,
        attempt=attempt,
        engine="fake",
        started_unix_ns=1,
        setup_s=0.0,
        measure_s=0.0,
        teardown_s=0.0,
        programs={},
        artefacts={},
        cpu_s={},
        link={},
        guard={},
    )


@pytest.fixture
def folder(tmp_path: Path, tiny_study: Study) -> RunFolder:
    return RunFolder.create(tmp_path / "run", tiny_study, Plan("tiny", "hash", (TRIAL,)), {"plan_hash": "hash"})


def leave(folder: RunFolder, outcome: Outcome, attempt: int, *, superseded: bool) -> None:
    partial = folder.begin(TRIAL, attempt)
    run = a_run(TRIAL, outcome, attempt)
    write_json(partial / "run.json", codec.encode(run))
    folder.finish(partial, run, superseded=superseded)


def test_what_is_written_is_read_again(folder: RunFolder, tiny_study: Study) -> None:
    reopened = RunFolder.open(folder.path)
    assert reopened.study == tiny_study
    assert reopened.plan.trials == (TRIAL,)
    assert reopened.manifest["schema_version"] == 2


def test_attempts_come_in_order_and_the_last_is_the_result(folder: RunFolder) -> None:
    assert folder.result(TRIAL.id) is None
    leave(folder, Outcome.INVALID, 1, superseded=True)
    assert folder.result(TRIAL.id) is None
    leave(folder, Outcome.OK, 2, superseded=False)
    result = folder.result(TRIAL.id)
    assert result is not None
    assert result.outcome is Outcome.OK
    assert [run.attempt for _, run in folder.attempts(TRIAL.id)] == [1, 2]


def test_an_interrupted_attempt_is_cleared_on_entry(folder: RunFolder) -> None:
    partial = folder.begin(TRIAL, 1)
    (partial / "client.jsonl").write_text("half a li")
    with RunFolder.open(folder.path):
        assert not partial.exists()


def test_a_used_folder_is_not_taken_over(folder: RunFolder, tiny_study: Study) -> None:
    with pytest.raises(InputError, match="not empty") as caught:
        RunFolder.create(folder.path, tiny_study, Plan("tiny", "hash", ()), {})
    assert "--resume" in str(caught.value.hint)


def test_two_at_once_are_refused(folder: RunFolder) -> None:
    with folder, pytest.raises(InputError, match="in use"), RunFolder.open(folder.path):
        pass


@pytest.mark.parametrize("text", ["{", json.dumps({"schema_version": 999})])
def test_foreign_manifests_are_refused(folder: RunFolder, text: str) -> None:
    (folder.path / "manifest.json").write_text(text)
    with pytest.raises(InputError, match=r"manifest\.json|schema version"):
        RunFolder.open(folder.path)


def test_a_plan_of_schema_version_1_is_read(tmp_path: Path, tiny_study: Study) -> None:
    flow = Flow("bulk", "bulk", False, 3, 0.5, None, "h3", ConnectionState.COLD, None, None, TRIAL.server, TRIAL.client)
    plan = Plan("tiny", "hash", (replace(TRIAL, flows=(flow,)),))
    path = RunFolder.create(tmp_path / "old", tiny_study, plan, {"plan_hash": "hash"}).path
    data = json.loads((path / "plan.json").read_text())
    data["trials"][0]["flows"][0]["seat"] = data["trials"][0]["flows"][0].pop("address_slot")
    write_json(path / "plan.json", data)
    write_json(path / "manifest.json", {**json.loads((path / "manifest.json").read_text()), "schema_version": 1})
    assert RunFolder.open(path).plan == plan


def test_facts_are_added_to_the_manifest(folder: RunFolder) -> None:
    folder.note(finished_unix_s=7)
    folder.note(finished_unix_s=8, engine="fake")
    assert folder.manifest == {"schema_version": 2, "plan_hash": "hash", "finished_unix_s": 8, "engine": "fake"}


def test_traces_are_found_by_their_digests(folder: RunFolder) -> None:
    assert folder.trace_files() == {}
    folder.traces.mkdir()
    (folder.traces / "ab12.json").write_text("[]")
    (folder.traces / ".cd34.json.99").write_text("half a file")
    assert folder.trace_files() == {"sha256:ab12": str((folder.traces / "ab12.json").resolve())}


def test_no_manifest_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a run folder"):
        RunFolder.open(tmp_path)


@pytest.mark.parametrize("name", ["plan.json", "study.json"])
@pytest.mark.parametrize("text", [None, "{", "[]", "{}", '{"trials": [{"flows": [3]}]}'])
def test_a_damaged_file_is_named(tmp_path: Path, name: str, text: str | None) -> None:
    write_json(tmp_path / "manifest.json", {"schema_version": 2})
    if text is not None:
        (tmp_path / name).write_text(text)
    folder = RunFolder.open(tmp_path)
    with pytest.raises(InputError, match=name):
        _ = folder.plan if name == "plan.json" else folder.study
