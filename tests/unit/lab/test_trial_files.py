"""What programs leave in a trial's folder: which files stay, whose they are, and which are sealed."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

from longlook.core.attempts import read_attempt
from longlook.core.digests import file_digest
from longlook.core.model import Outcome
from longlook.lab import artefacts, trial_files
from longlook.lab.trace_folders import TracePlaces
from tests.unit.core.test_codec import TRIAL
from tests.unit.core.test_run_folder import a_run


def test_a_program_s_own_run_json_does_not_alter_its_trial(tmp_path: Path) -> None:
    """The seal covers every file but the trial's own run.json, whatever a program calls its files."""
    own = tmp_path / "qlog" / "server"
    own.mkdir(parents=True)
    for name in ("run.json", "trial.json", "seals.jsonl", "run.json.partial", "entry.json", "timeline.parquet"):
        (own / name).write_text(name)
    (tmp_path / "trial.json").write_text("{}")
    run = replace(a_run(TRIAL, Outcome.OK, 1), artefacts=artefacts.digests(tmp_path))
    artefacts.seal(tmp_path, run)
    sealed = file_digest(tmp_path / "run.json")
    assert read_attempt(tmp_path, sealed, ("timeline.parquet",), "--resume") == (run, "")
    for path in (own / "run.json", own / "timeline.parquet"):
        before = path.read_bytes()
        path.write_text("edited")
        assert read_attempt(tmp_path, sealed, ("timeline.parquet",), "--resume")[1].endswith(f"{path.name} was changed")
        path.write_bytes(before)


def test_files_of_programs_keep_neither_modes_nor_owners(tmp_path: Path) -> None:
    places = TracePlaces(tmp_path / "trial", virtual=True)
    own = places.make("client", "")
    (own / "deep").mkdir(mode=0o777)
    (own / "deep" / "a.qlog").write_text("trace")
    (own / "deep" / "a.qlog").chmod(0o6777)
    if os.geteuid() == 0:
        for path in (own, own / "deep", own / "deep" / "a.qlog"):
            shutil.chown(path, 62355, 62355)
    assert places.take_out() == {}
    for path, mode in ((own, 0o755), (own / "deep", 0o755), (own / "deep" / "a.qlog", 0o644)):
        state = path.stat()
        assert (state.st_mode & 0o7777, state.st_uid, state.st_gid) == (mode, os.geteuid(), os.getegid()), path


def test_the_next_trial_finds_no_folder_of_the_last_ones_flows(tmp_path: Path) -> None:
    folder, outlets = tmp_path / "trial", tmp_path / "drain"
    for name in ("a", "b"):
        for top in (folder, outlets):
            (top / "flows" / name).mkdir(parents=True)
        (outlets / "flows" / name / "client.stderr").write_text(name)
    assert trial_files.take_stock(folder, outlets) == {}
    assert (folder / "flows" / "b" / "client.stderr").read_text() == "b"
    assert list(outlets.iterdir()) == []
