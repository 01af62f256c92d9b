"""Finished trials by what determines them: found again unless anything differs, and never when they were touched."""

import errno
import json
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from longlook.core import codec, content_store
from longlook.core.content_store import ContentStore, Pruned
from longlook.core.errors import MachineError
from longlook.core.job import Content, ExpectedAnswer, Identity, Job, Program
from longlook.core.model import ConnectionState, Outcome, Run
from longlook.run import trial_cache
from longlook.run.trial_cache import TrialCache
from tests.data.trials import TRIAL, run

SETTING = {"engine": "virtual", "kernel": "k", "agent": "a", "python": "3"}
FILES = {"link.bin": b"\0packets", "client.jsonl": b'{"event":"done"}\n', "qlog/0.sqlog": b"log"}
DAY_S = 86400.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "cache").mkdir()
    return tmp_path / "cache"


@pytest.fixture
def job(tmp_path: Path) -> Job:
    for name in ("ca", "certificate", "key"):
        (tmp_path / name).write_text(name)
    ca, certificate, key = (str(tmp_path / name) for name in ("ca", "certificate", "key"))
    identity = Identity("www.example.test", ca, certificate, key, "spki")
    programs = {role: Program(f"/{role}", role) for role in ("server", "client", "link")}
    content = Content("/www", (("/a",),), {"/a": ExpectedAnswer(10, "sha256:0")})
    return Job(TRIAL, 1, str(folder(tmp_path, "first")), programs, content, identity)


def folder(tmp_path: Path, name: str) -> Path:
    path = tmp_path / "run" / name
    path.mkdir(parents=True)
    return path


def finish(job: Job, **changes: Any) -> Run:
    """What an engine leaves."""
    ended = run(**changes)
    for name, content in FILES.items():
        path = Path(job.folder, name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    Path(job.folder, "run.json").write_text(json.dumps(codec.encode(ended)))
    return ended


def again(job: Job, tmp_path: Path, name: str = "second") -> Job:
    return replace(job, folder=str(folder(tmp_path, name)))


def entries(root: Path) -> list[Path]:
    return list(root.glob("??/*"))


def test_a_finished_trial_is_found_again(root: Path, job: Job, tmp_path: Path) -> None:
    cache = TrialCache(SETTING, root)
    assert cache.fetch(job) is None
    ended = finish(job)
    (Path(job.folder) / "timeline.parquet").write_text("derived")
    cache.keep(job, ended)
    other = again(job, tmp_path)
    assert TrialCache(dict(reversed(SETTING.items())), root).fetch(other) == ended
    found = {str(path.relative_to(other.folder)): path for path in Path(other.folder).rglob("*") if path.is_file()}
    assert found.keys() == {*FILES, "run.json"}
    assert all(found[name].read_bytes() == content for name, content in FILES.items())


def test_an_untrusted_measurement_is_not_kept(root: Path, job: Job) -> None:
    cache = TrialCache(SETTING, root)
    cache.keep(job, finish(job, outcome=Outcome.INVALID, reason="a gap"))
    assert entries(root) == []


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.TIMED_OUT, Outcome.UNSUPPORTED])
def test_failures_are_results(root: Path, job: Job, tmp_path: Path, outcome: Outcome) -> None:
    cache = TrialCache(SETTING, root)
    cache.keep(job, finish(job, outcome=outcome, reason="why"))
    found = cache.fetch(again(job, tmp_path))
    assert found is not None
    assert (found.outcome, found.reason) == (outcome, "why")


CHANGES: dict[str, Callable[[Job], Job]] = {
    "seed": lambda job: replace(job, trial=replace(job.trial, seed=43)),
    "id": lambda job: replace(job, trial=replace(job.trial, id="f" * 16)),
    "connection": lambda job: replace(job, trial=replace(job.trial, connection=ConnectionState.RESUMED)),
    "attempt": lambda job: replace(job, attempt=2),
    **{
        role: lambda job, role=role: replace(job, programs={**job.programs, role: Program(f"/{role}", "new")})  # type: ignore[misc]
        for role in ("server", "client", "link")
    },
    "requests": lambda job: replace(job, content=replace(job.content, phases=(("/a",), ("/a",)))),
    "connections": lambda job: replace(job, content=replace(job.content, connections=2)),
    "content": lambda job: replace(job, content=replace(job.content, expected={"/a": ExpectedAnswer(10, "sha256:1")})),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_anything_else_is_another_trial(root: Path, job: Job, tmp_path: Path, change: Callable[[Job], Job]) -> None:
    cache = TrialCache(SETTING, root)
    cache.keep(job, finish(job))
    other = change(again(job, tmp_path))
    assert cache.key(other) != cache.key(job)
    assert cache.fetch(other) is None
    assert list(Path(other.folder).iterdir()) == []
    assert cache.fetch(again(job, tmp_path, "third")) is not None


@pytest.mark.parametrize("part", SETTING)
def test_another_setting_is_another_trial(root: Path, job: Job, tmp_path: Path, part: str) -> None:
    TrialCache(SETTING, root).keep(job, finish(job))
    assert TrialCache({**SETTING, part: "other"}, root).fetch(again(job, tmp_path)) is None


def test_an_entry_of_an_older_schema_is_never_read_and_can_be_pruned(
    root: Path, job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(trial_cache, "SCHEMA_VERSION", 1)
        TrialCache(SETTING, root).keep(job, finish(job))
    cache = TrialCache(SETTING, root)
    assert not cache.holds(again(job, tmp_path))
    assert cache.fetch(again(job, tmp_path, "third")) is None
    assert ContentStore(root).held()[0] == 1
    pruned = ContentStore(root).prune(0)
    assert (pruned.removed, pruned.kept) == (1, 0)
    assert entries(root) == []


def test_an_entry_that_this_version_cannot_decode_is_dropped(root: Path, job: Job, tmp_path: Path) -> None:
    """However it came there, under the very key: a run record with a field that there is no more."""
    cache = TrialCache(SETTING, root)
    finish(job)
    record = Path(job.folder, "run.json")
    record.write_text(json.dumps({**json.loads(record.read_text()), "errand": "x"}))
    ContentStore(root).keep(cache.key(job), Path(job.folder), [*FILES, "run.json"])
    assert cache.holds(job)
    assert cache.fetch(again(job, tmp_path)) is None
    assert entries(root) == []


@pytest.mark.parametrize("name", ["ca", "certificate"])
def test_another_identity_is_another_trial(root: Path, job: Job, tmp_path: Path, name: str) -> None:
    cache = TrialCache(SETTING, root)
    cache.keep(job, finish(job))
    (tmp_path / name).write_text("new")
    assert cache.fetch(again(job, tmp_path)) is None


def test_a_changed_stack_is_another_trial(root: Path, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = TrialCache(SETTING, root)
    before = cache.key(job)
    monkeypatch.setattr(trial_cache, "stack_digest", lambda name: f"edited {name}")
    assert cache.key(job) != before


def test_where_things_lie_does_not_matter(root: Path, job: Job, tmp_path: Path) -> None:
    cache = TrialCache(SETTING, root)
    moved = replace(
        again(job, tmp_path),
        programs={role: replace(program, path="/elsewhere") for role, program in job.programs.items()},
        content=replace(job.content, root="/elsewhere"),
    )
    assert cache.key(moved) == cache.key(job)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "truncated": lambda entry: os.truncate(entry / "link.bin", 3),
    "poisoned": lambda entry: (entry / "link.bin").write_bytes(b"\0pAckets"),
    "poisoned result": lambda entry: (entry / "run.json").write_text(
        (entry / "run.json").read_text().replace('"measure_s": 1.5', '"measure_s": 0.5')
    ),
    "missing": lambda entry: (entry / "qlog" / "0.sqlog").unlink(),
    "without its digests": lambda entry: (entry / "entry.json").unlink(),
    "with half its digests": lambda entry: os.truncate(entry / "entry.json", 20),
    "with foreign digests": lambda entry: (entry / "entry.json").write_text("[]"),
    "without a result": lambda entry: (entry / "entry.json").write_text('{"files": {}}'),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_entry_is_none(root: Path, job: Job, tmp_path: Path, damage: Callable[[Path], object]) -> None:
    cache = TrialCache(SETTING, root)
    ended = finish(job)
    cache.keep(job, ended)
    (entry,) = entries(root)
    damage(entry)
    other = again(job, tmp_path)
    assert cache.fetch(other) is None
    assert list(Path(other.folder).iterdir()) == []
    assert entries(root) == []
    finish(other)
    cache.keep(other, ended)
    assert cache.fetch(again(job, tmp_path, "third")) == ended


def test_no_file_of_a_run_is_the_cache_s_or_another_run_s(root: Path, job: Job, tmp_path: Path) -> None:
    cache = TrialCache(SETTING, root)
    cache.keep(job, finish(job))
    other = again(job, tmp_path)
    assert cache.fetch(other) is not None
    files = [path for place in (root, tmp_path / "run") for path in place.rglob("*") if path.is_file()]
    assert len({path.stat().st_ino for path in files}) == len(files)
    with Path(job.folder, "client.jsonl").open("a") as file:
        file.write("edited\n")
    assert Path(other.folder, "client.jsonl").read_bytes() == FILES["client.jsonl"]
    assert cache.fetch(again(job, tmp_path, "third")) is not None


def test_files_are_copied_where_the_kernel_does_not_copy_them_itself(
    root: Path, job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.EXDEV, "between such file systems")

    monkeypatch.setattr(os, "copy_file_range", refuse)
    cache = TrialCache(SETTING, root)
    cache.keep(job, finish(job))
    other = again(job, tmp_path)
    assert cache.fetch(other) is not None
    assert all(Path(other.folder, name).read_bytes() == content for name, content in FILES.items())


def test_a_full_disk_under_a_run_is_the_machine_s_fault(
    root: Path, job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    cache = TrialCache(SETTING, root)
    cache.keep(job, finish(job))
    monkeypatch.setattr(content_store, "copy", full)
    with pytest.raises(MachineError, match="is full"):
        cache.fetch(again(job, tmp_path))


def test_many_at_once_keep_the_same_trial(root: Path, job: Job, tmp_path: Path) -> None:
    jobs = [again(job, tmp_path, str(number)) for number in range(16)]
    ended = [finish(each) for each in jobs]
    barrier, errors = threading.Barrier(len(jobs)), []

    def keep(number: int) -> None:
        try:
            barrier.wait()
            TrialCache(SETTING, root).keep(jobs[number], ended[number])
            assert TrialCache(SETTING, root).fetch(again(job, tmp_path, f"back{number}")) == ended[number]
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=keep, args=(number,)) for number in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(entries(root)) == 1
    assert list(root.glob(".partial-*")) == []


def test_a_full_disk_loses_nothing(root: Path, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "no space left on device")

    monkeypatch.setattr(content_store, "copy", full)
    monkeypatch.setattr("shutil.disk_usage", lambda _path: SimpleNamespace(free=0))
    TrialCache(SETTING, root).keep(job, finish(job))
    assert entries(root) == []
    assert list(root.glob(".partial-*")) == []


def test_prune_removes_what_was_not_used(root: Path, job: Job, tmp_path: Path) -> None:
    cache = TrialCache(SETTING, root)
    other = replace(again(job, tmp_path), attempt=2)
    for each in (job, other):
        cache.keep(each, finish(each))
    now_s = 1_000_000_000.0
    for entry in entries(root):
        os.utime(entry / "entry.json", (now_s - 40 * DAY_S,) * 2)
    assert cache.fetch(again(job, tmp_path, "third")) is not None  # used now, which is later than now_s
    count, size_bytes = ContentStore(root).held()
    assert (count, size_bytes > 0) == (2, True)
    pruned = ContentStore(root).prune(30 * DAY_S, now_s)
    assert (pruned.removed, pruned.kept) == (1, 1)
    assert pruned.removed_bytes + pruned.kept_bytes == size_bytes
    assert cache.fetch(again(job, tmp_path, "fourth")) is not None
    assert cache.fetch(replace(again(job, tmp_path, "fifth"), attempt=2)) is None


def test_prune_clears_what_killed_processes_left_but_not_what_is_being_written(root: Path) -> None:
    now_s = 1_000_000_000.0
    for name, age_s in ((".partial-old", 2 * DAY_S), (".partial-new", 5.0)):
        (root / name).mkdir()
        os.utime(root / name, (now_s - age_s,) * 2)
    ContentStore(root).prune(0.0, now_s)
    assert [path.name for path in root.iterdir()] == [".partial-new"]


def test_pruning_nothing_is_no_error(tmp_path: Path) -> None:
    nothing = ContentStore(tmp_path / "none")
    assert nothing.prune(0.0) == Pruned(0, 0, 0, 0)
    assert nothing.held() == (0, 0)
