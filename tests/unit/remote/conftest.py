"""A remote engine with everything but a machine: made-up trials, and workers that a test scripts."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from longlook.core import codec, files
from longlook.core.job import Content, ExpectedAnswer, Identity, Job, Program
from longlook.core.model import Endpoint, Run
from longlook.core.programs import link_program
from longlook.lab.artefacts import seal
from longlook.remote.engine import RemoteEngine
from longlook.remote.messages import Done, Request, Worker, read_request, write_answer
from longlook.store import pack
from tests.data.trials import TRIAL
from tests.support.cached_engine import CachedEngine

Answering = Callable[[Request, dict[str, bytes]], bytes]


class ExactEngine(CachedEngine):
    """Made-up results that are promised to repeat."""

    def run(self, job: Job) -> Run:
        run = replace(super().run(job), exact=True)
        seal(Path(job.folder), run)
        return run


class Workers:
    """An executor whose workers do in turn what the test says, and the last thing from then on."""

    title = "scripted"

    def __init__(self, *answers: Answering | BaseException) -> None:
        self.answers = list(answers)
        self.requests: list[tuple[Request, dict[str, bytes]]] = []
        self.labels: list[str] = []
        self.avoided: list[str] = []
        self.others = True
        self.slots = 1
        self.revived = 0
        self._lock = threading.Lock()

    def open(self) -> None: ...

    def close(self) -> None: ...

    def notes(self) -> tuple[str, ...]:
        return ("executor: scripted",)

    def submit(self, request: bytes, label: str) -> "Future[bytes]":
        with self._lock:
            self.requests.append(read_request(request))
            self.labels.append(label)
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        future: Future[bytes] = Future()
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(answer(*self.requests[-1]))
        return future

    def avoid(self, address: str) -> bool:
        self.avoided.append(address)
        return self.others

    def trouble(self, task: object) -> str | None:
        return None

    def is_stranded(self, task: object) -> bool:
        return False

    def revive(self) -> str | None:
        self.revived += 1
        return None


def worker(host: str = "node1", address: str = "tcp://node1:1") -> Worker:
    return Worker(host, 1, "a processor", "Linux", "0.1.0", address)


class Finishing:
    """A worker that finishes trials; `spoil` may change the folder of one, before or after it is sealed."""

    def __init__(
        self,
        place: Path,
        jobs: list[Job],
        by: Worker | None = None,
        spoil: Callable[[Path], object] = lambda _folder: None,
        sealed_again: bool = False,
    ) -> None:
        self._place, self._jobs, self._by = place, jobs, by or worker()
        self._spoil, self._sealed_again = spoil, sealed_again
        self._count = 0

    def __call__(self, request: Request, _blobs: dict[str, bytes]) -> bytes:
        self._count += 1
        place = self._place / str(self._count)
        known = {job.trial.id: job for job in self._jobs}
        for number, asked in enumerate(request.jobs):
            folder = place / str(number)
            folder.mkdir(parents=True)
            job = replace(known[asked.trial.id], folder=str(folder), attempt=asked.attempt)
            run = ExactEngine().run(job)
            self._spoil(folder)
            if self._sealed_again:
                digests = {name: files.digest(folder / name) for name in run.artefacts}
                seal(folder, replace(run, artefacts=digests))
        packed = BytesIO()
        pack(place, [name for name, _ in files.below(place)], packed)
        return write_answer(Done(self._by, 0.1), packed.getvalue())


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    kernel = tmp_path / "kernel"
    kernel.write_text("#!/bin/sh\n")
    kernel.chmod(0o755)
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LONGLOOK_KERNEL", str(kernel))
    return tmp_path / "cache"


@pytest.fixture
def jobs(cache: Path, tmp_path: Path) -> list[Job]:
    """Three jobs, whose programs, contents and certificate are in the cache."""
    program, root, tls = cache / "stacks/quic-go/1/key/program", cache / "www/page-1/root", cache / "tls"
    for folder in (program.parent, root, tls):
        folder.mkdir(parents=True)
    program.write_bytes(b"\x7fELF")
    (root / "a").write_bytes(b"content")
    for name in ("ca", "certificate", "key"):
        (tls / f"{name}.pem").write_text(name)
    ca, certificate, key = (str(tls / f"{name}.pem") for name in ("ca", "certificate", "key"))
    end = Endpoint("quic-go", "1")
    made = []
    for number in range(3):
        folder = tmp_path / "run" / f"trial{number}"
        folder.mkdir(parents=True)
        trial = replace(TRIAL, id=f"{number:016x}", server=end, client=end)
        programs = {"server": Program(str(program), "p"), "client": Program(str(program), "p"), "link": link_program()}
        content = Content(str(root), (("/a",),), {"/a": ExpectedAnswer(7, "sha256:0")})
        identity = Identity("www.example.test", ca, certificate, key, "spki")
        made.append(Job(trial, 1, str(folder), programs, content, identity))
    return made


@pytest.fixture
def engine_of(cache: Path) -> Callable[..., Any]:
    def make(workers: Workers, checked: str = "0") -> RemoteEngine:
        engine = RemoteEngine(workers, ExactEngine(), 1, Fraction(checked))
        return engine.__enter__()

    return make


def result(job: Job) -> Run:
    return codec.decode(Run, files.read_json(Path(job.folder) / "run.json"))
