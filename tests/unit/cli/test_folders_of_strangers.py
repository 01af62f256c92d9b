"""Run folders that others made: whatever stands in the place of a file, a command says so in a sentence and ends."""

import os
import resource
import shutil
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import pytest

from longlook.core.errors import InputError
from longlook.core.model import Study
from longlook.core.run_folder import RunFolder
from longlook.engines.fake import FakeEngine
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.study.files import find_study
from tests.conftest import TINY
from tests.support.command_line import Answer, call_longlook

SECRET = "root:$6$what-nobody-may-copy"
LONGEST_S, MOST_BYTES = 120, 4 << 30


def bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        folder = os.open(path.parent, os.O_PATH)  # the name of a socket may not be long
        try:
            made.bind(f"/proc/self/fd/{folder}/{path.name}")
        finally:
            os.close(folder)


IRREGULAR: Mapping[str, Callable[[Path, Path], object]] = {
    "pipe": lambda path, _secret: os.mkfifo(path),
    "endless device": lambda path, _secret: path.symlink_to("/dev/zero"),
    "link to a secret": lambda path, secret: path.symlink_to(secret),
    "link to itself": lambda path, _secret: path.symlink_to(path.name),
    "link to the root": lambda path, _secret: path.symlink_to("/"),
    "socket": lambda path, _secret: bind(path),
}
TOP = (
    *("manifest.json", "plan.json", "study.json", "seals.jsonl", "components.json", ".lock", "verification.json"),
    *("samples.parquet", "estimates.parquet", "wins.parquet", "states.parquet", "claims.json", "trials", "report"),
    *("report/index.html", "report/tables/samples.csv", "explain", "explain/answers.json", "divergent", "altered"),
    *(f"traces/{'a' * 64}.json", f"recorded/{'b' * 64}.json", "trials/ffffffffffffffff", "notes.txt"),
)
"""Names of a run folder outside of its trials, there or not."""
IN_TRIALS = (
    *("run.json", "trial.json", "client.jsonl", "server.jsonl", "timeline.parquet", "events.parquet", "ledger.parquet"),
    *("link.bin", "link.json", "flows.json", "keys.log", "qlog", "qlog/server/a.sqlog", "netlog.json", ".hidden"),
    *("tcp/server.tcptrace", "client.stderr", "cpu.json"),
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("strangers") / "run"
    run_study(study(), path, RunOptions(FakeEngine()), Observer())
    return path


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text(SECRET)
    return Path(shutil.copytree(finished, tmp_path / "run"))


def study() -> Study:
    return find_study(str(TINY), rounds=4)


@contextmanager
def bounded() -> Iterator[None]:
    """End the test where it waits or reads without end."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    held = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (held + MOST_BYTES, before[1]))
    on_alarm = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it waits for ever"))
    signal.alarm(LONGEST_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, on_alarm)
        resource.setrlimit(resource.RLIMIT_DATA, before)


def ask(run: Path, *arguments: str) -> Answer:
    with bounded():
        answer = call_longlook(*arguments, cwd=run.parent, env={**os.environ, "LONGLOOK_CACHE": str(run.parent / "c")})
    assert SECRET not in answer.stdout + answer.stderr
    copies = [path for path in run.parent.rglob("*") if path.is_file() and not path.is_symlink()]
    assert [path for path in copies if SECRET.encode() in path.read_bytes()] == [run.parent / "secret"]
    assert (run.parent / "secret").read_text() == SECRET
    return answer


def put(path: Path, kind: str, secret: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    IRREGULAR[kind](path, secret)


COMMANDS: Mapping[str, tuple[str, ...]] = {
    "report": ("report", "run"),
    "sbom": ("sbom", "run"),
    "har": ("trace", "har", "run", "--out", "hars"),
    "resume": ("run", str(TINY), "--rounds", "4", "--resume", "run", "--dry-run"),
    "explain": ("explain", "run"),
    "infer": ("infer", "run"),
}


def cases(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Every name once, with kinds in turn: names times kinds are for the tests of what all commands call."""
    return zip(names, cycle(IRREGULAR), strict=False)


@pytest.mark.parametrize("kind", IRREGULAR)
def test_what_is_no_file_outside_of_trials_is_refused_whatever_its_name(run: Path, kind: str) -> None:
    for name in set(TOP) - {"altered"}:  # what was set aside is read by nobody
        kept = run.with_name("kept")
        if (run / name).exists():
            (run / name).rename(kept)
        put(run / name, kind, run.parent / "secret")
        with bounded(), pytest.raises(InputError, match=rf"{name} is not read: it is ") as caught:
            RunFolder.open(run)
        assert caught.value.hint
        (run / name).unlink()
        if kept.exists():
            kept.rename(run / name)
    assert RunFolder.open(run).manifest["trials"] == 16


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_say_in_a_sentence_what_is_no_file(run: Path, command: str) -> None:
    for name, kind in zip(
        ("plan.json", "report", ".lock", "explain/answers.json", "seals.jsonl", "traces/a.json"), IRREGULAR, strict=True
    ):
        kept = run.with_name("kept")
        if (run / name).exists():
            (run / name).rename(kept)
        put(run / name, kind, run.parent / "secret")
        answer = ask(run, *COMMANDS[command])
        assert answer.returncode == 2, (name, answer)
        assert Path(name).name in answer.stderr.replace("\n", ""), (name, answer)
        assert answer.stderr.count("longlook: ") == 1, (name, answer)
        (run / name).unlink()
        if kept.exists():
            kept.rename(run / name)


@pytest.mark.parametrize("kind", IRREGULAR)
def test_what_is_no_file_in_a_trial_alters_it_whatever_its_name(run: Path, kind: str) -> None:
    (trial, *_) = (trial.id for trial in RunFolder.open(run).plan.trials)
    whole = run.with_name("whole")
    shutil.copytree(run / "trials" / trial, whole)
    for name in IN_TRIALS:
        put(run / "trials" / trial / name, kind, run.parent / "secret")
        with bounded():
            (wrong,) = RunFolder.open(run).altered([trial]).values()
        assert f"{name} cannot be read (it is " in wrong
        shutil.rmtree(run / "trials" / trial)
        shutil.copytree(whole, run / "trials" / trial)


def test_a_report_counts_trials_out_that_hold_what_is_no_file(run: Path) -> None:
    trials = [trial.id for trial in RunFolder.open(run).plan.trials]
    put_there = dict(zip(trials, cases(IN_TRIALS[:12]), strict=False))
    for trial, (name, kind) in put_there.items():
        put(run / "trials" / trial / name, kind, run.parent / "secret")
    answer = ask(run, "report", "run")
    assert answer.returncode == 1
    assert "12 trials are not as sealed" in answer.stderr.replace("\n", "")
    assert RunFolder.open(run).manifest["altered"].keys() == put_there.keys()
    hars = ask(run, "trace", "har", "run", "--out", "hars")
    assert (hars.returncode, hars.stdout.count("is not as it was sealed")) == (0, 12)


def test_commands_on_one_trial_refuse_what_is_no_file_or_do_without_it(run: Path) -> None:
    one, other = (f"run/trials/{trial.id}" for trial in RunFolder.open(run).plan.trials[:2])
    whole = run.with_name("whole")
    shutil.copytree(run.parent / one, whole)
    for name, kind in cases(IN_TRIALS):
        put(run.parent / one / name, kind, run.parent / "secret")
        for arguments in (
            *(("trace", "convert", one, "--to", to, "--out", f"out.{to}") for to in ("har", "csv", "pcapng")),
            *(("trace", "show", each) for each in (one, f"{one}/{name}")),
            ("infer", one),
        ):
            assert ask(run, *arguments).returncode in (0, 2), (name, arguments)
        answer = ask(run, "diff-runs", one, other)
        if name != "timeline.parquet":  # which is made from the others, and not compared
            assert (answer.returncode, Path(name).name in answer.stderr.replace("\n", "")) == (2, True), (name, answer)
        shutil.rmtree(run.parent / one)
        shutil.copytree(whole, run.parent / one)
