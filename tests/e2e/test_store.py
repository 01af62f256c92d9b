"""Two machines and one S3: what one has run, the other one takes; a store that goes away costs no trial."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from longlook.core.paths import cache_dir
from longlook.store import SharedStore, object_name
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]

STUDY = ("demo", "--only", "client=quic-go", "--only", "size=5KB", "--only", "rate=10Mbit", "--rounds", "2")
SERVER = """
import threading
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
threading.Event().wait()
"""


@pytest.fixture(scope="module")
def server() -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    yield process
    process.send_signal(signal.SIGCONT)
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def surroundings(server: "subprocess.Popen[str]") -> dict[str, str]:
    assert server.stdout is not None
    endpoint = f"http://127.0.0.1:{server.stdout.readline().strip()}"
    request = urllib.request.Request(f"{endpoint}/bucket", method="PUT")
    with urllib.request.urlopen(request, timeout=120) as answer:
        assert answer.status == 200
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "LONGLOOK_STORE": "s3://bucket/prefix",
    }


class Machine:
    """One with caches of its own, which may have the programs that this one has built."""

    def __init__(self, place: Path, surroundings: dict[str, str], *, has_programs: bool = False) -> None:
        self.place = place
        place.mkdir()
        for name in ("stacks", "kernel") if has_programs else ():
            (place / name).symlink_to(cache_dir() / name)
        # Without LONGLOOK_PREBUILT and compilers nothing but the store can have programs.
        others = {} if has_programs else {"PATH": str(no_compilers(place)), "LONGLOOK_PREBUILT": ""}
        self.env = {**os.environ, **surroundings, **others, "LONGLOOK_CACHE": str(place)}
        self.env.pop("LONGLOOK_TRIALS", None)

    def call(self, *arguments: str, code: int = 0, **more: str) -> "subprocess.CompletedProcess[str]":
        answer = longlook(*arguments, env={**self.env, **more})
        assert answer.returncode == code, answer.stderr + answer.stdout
        return answer

    def run(self, name: str, *options: str, **more: str) -> list[dict[str, Any]]:
        out = str(self.place / name)
        answer = self.call("run", *STUDY, "--out", out, "--json", *options, **more)
        return [json.loads(line) for line in answer.stdout.splitlines()]


def no_compilers(place: Path) -> Path:
    """Return a folder for PATH with all programs of /usr/bin but compilers."""
    folder = place / "bin"
    folder.mkdir()
    for program in Path("/usr/bin").iterdir():
        if not program.name.startswith(("go", "gcc", "cc", "clang", "cargo", "rustc", "make", "ld")):
            (folder / program.name).symlink_to(program)
    return folder


def cached(events: list[dict[str, Any]]) -> list[bool]:
    return [event["cached"] for event in events if event["event"] == "trial"]


def notes(events: list[dict[str, Any]]) -> list[str]:
    return [event["text"] for event in events if event["event"] == "note"]


def digest(events: list[dict[str, Any]]) -> str:
    return str(events[-1]["results"]["digest"])


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, surroundings: dict[str, str]) -> tuple[Machine, str]:
    machine = Machine(tmp_path_factory.mktemp("store") / "first", surroundings, has_programs=True)
    events = machine.run("run")
    assert cached(events) == [False] * 4
    assert "4 trials, 4 measurements, 2 programs, 1 kernel put into the store" in notes(events)
    return machine, digest(events)


def test_a_machine_without_compilers_runs_none_of_the_trials(
    first: tuple[Machine, str], surroundings: dict[str, str]
) -> None:
    other = Machine(first[0].place.parent / "other", surroundings)
    events = other.run("run")
    assert cached(events) == [True] * 4
    assert "4 trials, 4 measurements, 2 programs, 1 kernel taken from the store" in notes(events)
    assert digest(events) == first[1]
    assert digest(other.run("again", LONGLOOK_STORE="")) == first[1], "with the store gone, from its own caches"


def test_pull_by_study_then_run_without_the_store(first: tuple[Machine, str], surroundings: dict[str, str]) -> None:
    other = Machine(first[0].place.parent / "puller", surroundings)
    pulled = json.loads(other.call("cache", "pull", *STUDY, "--json").stdout)
    assert pulled["copied"] == {"trials": 4, "measured": 4, "programs": 2, "kernels": 1}
    assert pulled["missing"] == {}
    events = other.run("run", LONGLOOK_STORE="")
    assert (cached(events), digest(events)) == ([True] * 4, first[1])


def test_push_by_run_fills_another_store(first: tuple[Machine, str]) -> None:
    machine, _ = first
    other = "s3://bucket/another"
    pushed = json.loads(machine.call("cache", "push", str(machine.place / "run"), "--json", "--store", other).stdout)
    assert pushed == {
        "copied": {"trials": 4, "measured": 4, "programs": 2, "kernels": 1},
        "there": {},
        "missing": {},
    }
    shown = json.loads(machine.call("cache", "show", "--json", "--store", other).stdout)
    assert {held["kind"]: held["entries"] for held in shown["store"]["kinds"]} == pushed["copied"]
    again = json.loads(machine.call("cache", "push", "--json", "--store", other).stdout)
    assert again["missing"] == {}
    assert {kind: again["there"][kind] for kind in pushed["copied"]} == pushed["copied"]


def test_a_poisoned_object_is_named_and_its_trial_runs(
    first: tuple[Machine, str], surroundings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import fsspec

    machine, expected = first
    monkeypatch.setenv("LONGLOOK_STORE", url := "s3://bucket/poisoned")
    for name, value in surroundings.items():
        monkeypatch.setenv(name, value if name != "LONGLOOK_STORE" else url)
    machine.call("cache", "push", str(machine.place / "run"), LONGLOOK_STORE=url)
    entry, other, *_ = [each for each in SharedStore.open(url).entries() if each.kind == "trials"]
    names = [f"{url}/{object_name(each.kind, each.key)}" for each in (entry, other)]
    files = fsspec.filesystem("s3", skip_instance_cache=True)
    files.pipe_file(names[0], files.cat_file(names[1]))
    answer = machine.call("cache", "verify", code=1, LONGLOOK_STORE=url)
    assert f"damaged: trials/{entry.key} ({url}): it is trials/{other.key}" in answer.stdout
    laptop = Machine(machine.place.parent / "laptop", surroundings)
    events = laptop.run("run", LONGLOOK_STORE=url)
    assert sorted(cached(events)) == [False, True, True, True]
    assert any(object_name("trials", entry.key) in note and "removed" in note for note in notes(events))
    assert digest(events) == expected
    machine.call("cache", "verify", LONGLOOK_STORE=url)


def test_a_server_that_pauses_costs_no_trial(
    first: tuple[Machine, str], surroundings: dict[str, str], server: "subprocess.Popen[str]"
) -> None:
    machine = Machine(first[0].place.parent / "paused", surroundings, has_programs=True)
    out = str(machine.place / "run")
    env = {**machine.env, "LONGLOOK_STORE": "s3://bucket/paused", "LONGLOOK_STORE_TIMEOUT_S": "20"}
    command = [sys.executable, "-m", "longlook", "run", *STUDY, "--out", out, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(json.loads(line))
            if lines[-1]["event"] == "trial":
                server.send_signal(signal.SIGSTOP)
    try:
        assert process.returncode == 0
        assert digest(lines) == first[1]
        assert any("did not answer" in note for note in notes(lines))
        assert any("were not put into the store" in note and "longlook cache push" in note for note in notes(lines))
    finally:
        server.send_signal(signal.SIGCONT)
    pushed = json.loads(machine.call("cache", "push", out, "--json", LONGLOOK_STORE="s3://bucket/paused").stdout)
    assert pushed["copied"]["trials"] + pushed["there"].get("trials", 0) == 4
    machine.call("cache", "verify", LONGLOOK_STORE="s3://bucket/paused")


def test_a_store_that_is_gone_from_the_beginning_is_one_line(
    first: tuple[Machine, str], surroundings: dict[str, str]
) -> None:
    gone = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "LONGLOOK_STORE_TIMEOUT_S": "2"}
    events = first[0].run("gone", **gone)
    assert (cached(events), digest(events)) == ([True] * 4, first[1])
    assert len([note for note in notes(events) if "WARNING" in note]) == 1
    answer = first[0].call("cache", "push", code=3, **gone)
    assert "s3://bucket/prefix" in answer.stderr
