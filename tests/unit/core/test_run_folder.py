"""Run folders: whole or absent, resumable, never overwritten."""

import fcntl
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

from longlook.core import codec
from longlook.core.digests import file_digest
from longlook.core.errors import InputError, MachineError
from longlook.core.model import Outcome, Plan, Run, Study, Trial
from longlook.core.run_folder import EVENTS, TIMELINE, RunFolder, write_json
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


def test_a_run_folder_is_no_change_of_the_checkout_that_it_is_in(tmp_path: Path, tiny_study: Study) -> None:
    def status() -> str:
        return subprocess.run(
            ("git", "status", "--porcelain"), cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout

    subprocess.run(("git", "init", "--quiet"), cwd=tmp_path, check=True)
    (tmp_path / "there").mkdir()
    for path in ("runs/gate-1", "runs/gate-2", "there", "other"):
        RunFolder.create(tmp_path / path, tiny_study, Plan("tiny", "hash", (TRIAL,)), {})
        assert status() == ""
    assert not (tmp_path / "runs" / "gate-1" / ".gitignore").exists()
    (tmp_path / "kept").write_text("a change")
    assert status() == "?? kept\n"


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


def sealed(folder: RunFolder) -> Path:
    """A finished trial with a file of its own."""
    partial = folder.begin(TRIAL, 1)
    (partial / "qlog").mkdir()
    (partial / "qlog" / "a.sqlog").write_bytes(b"0123456789")
    run = replace(a_run(TRIAL, Outcome.OK, 1), artefacts={"qlog/a.sqlog": file_digest(partial / "qlog" / "a.sqlog")})
    write_json(partial / "run.json", codec.encode(run))
    folder.finish(partial, run, superseded=False)
    return folder.trials / TRIAL.id


DAMAGE: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "edited": (lambda trial: (trial / "qlog" / "a.sqlog").write_bytes(b"0123456780"), r"qlog/a\.sqlog was changed"),
    "halved": (lambda trial: os.truncate(trial / "qlog" / "a.sqlog", 5), r"qlog/a\.sqlog was changed"),
    "deleted": (lambda trial: (trial / "qlog" / "a.sqlog").unlink(), r"qlog/a\.sqlog is missing"),
    "added": (lambda trial: (trial / "qlog" / "b.sqlog").write_bytes(b""), r"qlog/b\.sqlog was added"),
    "record edited": (
        lambda trial: (trial / "run.json").write_text((trial / "run.json").read_text().replace("0.0", "1.0", 1)),
        r"run\.json was changed",
    ),
    "record halved": (lambda trial: os.truncate(trial / "run.json", 40), r"run\.json was changed"),
    "record deleted": (lambda trial: (trial / "run.json").unlink(), r"run\.json is missing"),
    "trial deleted": (shutil.rmtree, r"run\.json is missing"),
}


@pytest.mark.parametrize(("damage", "what"), DAMAGE.values(), ids=DAMAGE)
def test_a_trial_that_is_not_as_it_was_sealed_is_invalid_and_the_file_is_named(
    folder: RunFolder, damage: Callable[[Path], object], what: str
) -> None:
    damage(sealed(folder))
    found = RunFolder.open(folder.path)
    (wrong,) = found.altered([TRIAL.id]).values()
    assert re.fullmatch(what, wrong)
    result = found.result(TRIAL.id)
    assert result is not None
    assert (result.outcome, result.exact) == (Outcome.INVALID, False)
    assert result.reason == f"not as it was sealed: {wrong}"
    assert [run for _, run in found.attempts(TRIAL.id)] == [result]


def test_what_is_made_from_a_trial_does_not_alter_it(folder: RunFolder) -> None:
    trial = sealed(folder)
    for name in (TIMELINE, EVENTS, ".nfs0001"):
        (trial / name).write_bytes(b"made later")
    found = RunFolder.open(folder.path)
    assert found.altered([TRIAL.id]) == {}
    assert found.result(TRIAL.id) == folder.result(TRIAL.id)


def test_an_altered_trial_is_set_aside_and_has_no_result_any_more(folder: RunFolder) -> None:
    for number in (1, 2):
        os.truncate(sealed(folder) / "qlog" / "a.sqlog", number)
        found = RunFolder.open(folder.path)
        (moved,) = found.set_aside(TRIAL.id)
        assert (moved / "qlog" / "a.sqlog").stat().st_size == number
        for each in (found, RunFolder.open(folder.path)):
            assert each.result(TRIAL.id) is None
            assert each.altered([TRIAL.id]) == {}


def test_a_trial_from_before_there_were_seals_is_checked_by_its_own_digests(folder: RunFolder) -> None:
    trial = sealed(folder)
    (folder.path / "seals.jsonl").unlink()
    assert RunFolder.open(folder.path).altered([TRIAL.id]) == {}
    os.truncate(trial / "qlog" / "a.sqlog", 5)
    assert RunFolder.open(folder.path).altered([TRIAL.id]) == {TRIAL.id: "qlog/a.sqlog was changed"}


def test_half_a_seal_of_a_killed_run_is_dropped_and_a_damaged_one_is_named(folder: RunFolder) -> None:
    seals = folder.path / "seals.jsonl"
    whole = seals.read_bytes()
    seals.write_bytes(whole + b'{"file": "trials/0')
    with RunFolder.open(folder.path) as entered:
        sealed(entered)
    assert RunFolder.open(folder.path).altered([TRIAL.id]) == {}
    seals.write_bytes(b"\0\0\0\n" + whole)
    with pytest.raises(InputError, match=r"seals\.jsonl: line 1 is damaged"):
        RunFolder.open(folder.path).result(TRIAL.id)


@pytest.mark.parametrize("name", ["plan.json", "study.json"])
def test_an_edited_plan_or_study_is_named(folder: RunFolder, name: str) -> None:
    with (folder.path / name).open("a") as file:
        file.write(" ")
    found = RunFolder.open(folder.path)
    with pytest.raises(InputError, match=rf"{name} was changed since the run was planned"):
        _ = found.plan if name == "plan.json" else found.study


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


def test_who_opened_the_lock_before_it_was_given_back_shares_it_with_nobody(folder: RunFolder) -> None:
    """The interleaving by which two processes held a lock: A gives it back, B had opened its file, C comes after."""
    with folder:
        early = os.open(folder.path / ".lock", os.O_RDWR)
    try:
        fcntl.flock(early, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(InputError, match="in use"), RunFolder.open(folder.path):
            pass
    finally:
        os.close(early)
    with RunFolder.open(folder.path):
        pass


def test_a_lock_that_leads_elsewhere_is_not_followed(folder: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("as it was")
    (folder.path / ".lock").symlink_to(tmp_path / "precious")
    with pytest.raises(MachineError, match="cannot write to"), folder:
        pass
    assert (tmp_path / "precious").read_text() == "as it was"


def test_who_loses_the_race_for_a_folder_leaves_the_winner_s_alone(
    tmp_path: Path, tiny_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, plan = tmp_path / "run", Plan("tiny", "hash", (TRIAL,))
    refuse_taken = RunFolder.refuse_taken

    def win_between(path: Path) -> None:
        refuse_taken(path)
        monkeypatch.setattr(RunFolder, "refuse_taken", staticmethod(refuse_taken))
        RunFolder.create(path, tiny_study, plan, {"who": "the winner"})

    monkeypatch.setattr(RunFolder, "refuse_taken", staticmethod(win_between))
    with pytest.raises(InputError, match="was just made by another longlook"):
        RunFolder.create(path, tiny_study, plan, {"who": "the loser"})
    assert RunFolder.open(path).manifest["who"] == "the winner"
    assert RunFolder.open(path).plan == plan


def test_attempts_and_trials_that_were_added_are_named_and_not_counted(folder: RunFolder) -> None:
    trial = sealed(folder)
    shutil.copytree(trial, folder.trials / f"{TRIAL.id}.attempt1")
    shutil.copytree(trial, folder.trials / ("f" * 16))
    (folder.trials / "notes.txt").write_text("")
    found = RunFolder.open(folder.path)
    assert found.added().keys() == {f"{TRIAL.id}.attempt1", "f" * 16, "notes.txt"}
    assert [path for path, _ in found.attempts(TRIAL.id)] == [trial]
    assert found.altered([TRIAL.id]) == {}
    for name in found.added():
        found.move_aside(name)
    assert RunFolder.open(folder.path).added() == {}


def test_a_result_that_was_added_is_no_result(folder: RunFolder, tmp_path: Path, tiny_study: Study) -> None:
    other = RunFolder.create(tmp_path / "other", tiny_study, Plan("tiny", "hash", (TRIAL,)), {})
    shutil.copytree(sealed(other), folder.trials / TRIAL.id)
    found = RunFolder.open(folder.path)
    assert found.result(TRIAL.id) is None
    assert found.added().keys() == {TRIAL.id}


@pytest.mark.parametrize("superseded", [False, True])
def test_an_attempt_that_was_sealed_and_not_yet_named_is_kept(folder: RunFolder, superseded: bool) -> None:
    """What a kill between the two leaves: nobody calls it altered, and who goes on keeps it."""
    partial = folder.begin(TRIAL, 1)
    run = a_run(TRIAL, Outcome.OK, 1)
    write_json(partial / "run.json", codec.encode(run))
    with mock.patch.object(Path, "rename", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        folder.finish(partial, run, superseded=superseded)
    reader = RunFolder.open(folder.path)
    assert (list(reader.attempts(TRIAL.id)), reader.altered([TRIAL.id]), reader.added()) == ([], {}, {})
    with RunFolder.open(folder.path) as entered:
        assert [run for _, run in entered.attempts(TRIAL.id)] == [run]
    assert not partial.exists()


def test_a_file_outside_that_a_record_names_is_not_read(folder: RunFolder, tmp_path: Path) -> None:
    partial = folder.begin(TRIAL, 1)
    (tmp_path / "secret").write_text("secret")
    run = replace(a_run(TRIAL, Outcome.OK, 1), artefacts={"../../../secret": file_digest(tmp_path / "secret")})
    write_json(partial / "run.json", codec.encode(run))
    folder.finish(partial, run, superseded=False)
    assert RunFolder.open(folder.path).altered([TRIAL.id]) == {TRIAL.id: "../../../secret is missing"}


@pytest.mark.parametrize("text", ["{", "[" * 100_000])
def test_foreign_manifests_are_refused(folder: RunFolder, text: str) -> None:
    (folder.path / "manifest.json").write_text(text)
    with pytest.raises(InputError, match=r"manifest\.json"):
        RunFolder.open(folder.path)


@pytest.mark.parametrize("version", [1, 999])
def test_a_folder_of_another_schema_version_is_refused_with_what_to_do(folder: RunFolder, version: int) -> None:
    (folder.path / "manifest.json").write_text(json.dumps({"schema_version": version}))
    with pytest.raises(InputError, match=f"has schema version {version}, this Longlook reads 2") as caught:
        RunFolder.open(folder.path)
    assert str(caught.value.hint).startswith("run its study again")


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
@pytest.mark.parametrize("text", [None, "{", "[" * 100_000, "[]", "{}", '{"trials": [{"flows": [3]}]}'])
def test_a_damaged_file_is_named(tmp_path: Path, name: str, text: str | None) -> None:
    write_json(tmp_path / "manifest.json", {"schema_version": 2})
    if text is not None:
        (tmp_path / name).write_text(text)
    folder = RunFolder.open(tmp_path)
    with pytest.raises(InputError, match=name):
        _ = folder.plan if name == "plan.json" else folder.study
