"""The engine that sends trials away: what it does with each answer, and with none."""

import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longlook.core import codec, files, registry
from longlook.core.errors import InputError, InterruptedByUserError, MachineError
from longlook.core.job import Job
from longlook.core.model import Outcome, Run
from longlook.lab import seal
from longlook.remote import engine
from longlook.remote.engine import LOST_AT_MOST, ExecutorReport, Machine
from longlook.remote.entries import digest_of, tree_of
from longlook.remote.messages import Missing, Refused, Request, Unable, Wrong, write_answer
from longlook.remote.recheck import DistrustedWorkerError
from tests.unit.remote.conftest import ExactEngine, Finishing, Workers, result, worker

Make = Callable[..., Any]
PLUGINS = Path(__file__).parents[2] / "plugins"
LOSSES = [BrokenExecutor("gone"), BrokenProcessPool("killed"), CancelledError(), OSError("scheduler-connection-lost")]


def answering(answer: Any) -> Callable[[Request, dict[str, bytes]], bytes]:
    return lambda _request, _blobs: write_answer(answer)


def test_a_trial_comes_back_into_its_folder(jobs: list[Job], engine_of: Make, tmp_path: Path) -> None:
    workers = Workers(Finishing(tmp_path / "there", jobs))
    runs = engine_of(workers).run_together(jobs[:2])
    assert [run.trial_id for run in runs] == [job.trial.id for job in jobs[:2]]
    assert [result(job) for job in jobs[:2]] == runs
    assert not list((tmp_path / "run").glob(".partial*"))
    assert workers.labels == ["made-up/cell10/quic"]


def test_a_request_names_no_path_of_this_machine(jobs: list[Job], engine_of: Make, tmp_path: Path) -> None:
    workers = Workers(Finishing(tmp_path / "there", jobs))
    engine_of(workers).run(jobs[0])
    ((request, blobs),) = workers.requests
    assert str(tmp_path) not in repr(request)
    assert request.jobs[0].programs["link"].path == "wheel:longlook-link"
    assert request.jobs[0].content.root == "cache:www/page-1/root"
    assert [entry.path for entry in request.entries] == ["stacks/quic-go/1/key", "tls", "www/page-1"]
    assert blobs == {}


def test_a_worker_gets_what_it_lacks(jobs: list[Job], engine_of: Make, cache: Path, tmp_path: Path) -> None:
    digest = digest_of(tree_of(cache / "stacks/quic-go/1/key"))
    workers = Workers(answering(Missing(worker(), (digest,))), Finishing(tmp_path / "there", jobs))
    engine_of(workers).run(jobs[0])
    assert [sorted(blobs) for _, blobs in workers.requests] == [[], [digest]]


def test_a_worker_that_never_has_what_it_got_is_left_out(
    jobs: list[Job], engine_of: Make, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "REFUSED_AT_MOST", 3)
    digest = digest_of(tree_of(cache / "tls"))
    workers = Workers(answering(Missing(worker(), (digest,))))
    with pytest.raises(MachineError, match="it lacks what it was sent"):
        engine_of(workers).run(jobs[0])
    assert len(workers.requests) == 1 + 3


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_a_lost_trial_is_handed_in_again(loss: BaseException, jobs: list[Job], engine_of: Make, tmp_path: Path) -> None:
    workers = Workers(loss, loss, Finishing(tmp_path / "there", jobs))
    made = engine_of(workers)
    said: list[str] = []
    made.say = said.append
    assert made.run(jobs[0]).trial_id == jobs[0].trial.id
    assert workers.revived == 2
    assert len(said) == 1
    assert "handed in again" in said[0]


def test_a_trial_that_is_always_lost_ends_the_run(jobs: list[Job], engine_of: Make) -> None:
    workers = Workers(BrokenProcessPool("killed"))
    with pytest.raises(MachineError, match=f"lost {LOST_AT_MOST + 1} times .* BrokenProcessPool: killed"):
        engine_of(workers).run(jobs[0])


def test_a_worker_that_differs_is_left_out_and_others_go_on(jobs: list[Job], engine_of: Make, tmp_path: Path) -> None:
    refusal = Refused(worker("node2", "tcp://node2:1"), {"agent's code": ("here", "there")})
    workers = Workers(answering(refusal), Finishing(tmp_path / "there", jobs))
    made = engine_of(workers)
    said: list[str] = []
    made.say = said.append
    made.run(jobs[0])
    assert workers.avoided == ["tcp://node2:1"]
    assert said == [
        "worker node2 (tcp://node2:1) refuses the trials, others go on: "
        "it could not give the same bytes: agent's code is there, and here here"
    ]


@pytest.mark.parametrize("answer", [Refused(worker(), {"Python": ("3.11", "3.12")}), Unable(worker(), "no room", None)])
def test_the_last_worker_that_refuses_ends_the_run_with_its_reason(
    answer: Any, jobs: list[Job], engine_of: Make
) -> None:
    workers = Workers(answering(answer))
    workers.others = False
    with pytest.raises(MachineError, match=r"worker node1 .* refuses the trials: .*(Python is 3.12|no room)"):
        engine_of(workers).run(jobs[0])
    assert len(workers.requests) == 1


def test_wrong_input_is_not_tried_elsewhere(jobs: list[Job], engine_of: Make) -> None:
    workers = Workers(answering(Wrong(worker(), "a damaged trace", "restore it")))
    with pytest.raises(InputError, match="a damaged trace"):
        engine_of(workers).run(jobs[0])


def cut(folder: Path) -> None:
    (folder / "client.jsonl").write_text("")


def without_result(folder: Path) -> None:
    (folder / "run.json").unlink()


def of_another_trial(folder: Path) -> None:
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(text.replace('"trial_id": "', '"trial_id": "f'))


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [(cut, "client.jsonl was changed"), (without_result, "no result"), (of_another_trial, "answered for trial f")],
)
def test_a_folder_that_is_not_as_it_was_sealed_is_not_believed(
    spoil: Callable[[Path], object], reason: str, jobs: list[Job], engine_of: Make, tmp_path: Path
) -> None:
    bad = Finishing(tmp_path / "bad", jobs, worker("node2", "tcp://node2:1"), spoil)
    workers = Workers(bad, Finishing(tmp_path / "good", jobs))
    made = engine_of(workers)
    said: list[str] = []
    made.say = said.append
    made.run(jobs[0])
    assert reason in said[0]
    assert workers.avoided == ["tcp://node2:1"]
    assert result(jobs[0]).trial_id == jobs[0].trial.id


def test_a_lie_is_found_and_all_of_its_machine_is_named(jobs: list[Job], engine_of: Make, tmp_path: Path) -> None:
    honest = Finishing(tmp_path / "honest", jobs)
    lying = Finishing(tmp_path / "lying", jobs, spoil=cut, sealed_again=True)
    made = engine_of(Workers(honest, lying), "1")
    made.run(jobs[0])
    with pytest.raises(DistrustedWorkerError, match=r"node1 .*trial 0{15}1 .*: client.jsonl is \w{16} there") as raised:
        made.run(jobs[1])
    assert [job.trial.id for job in raised.value.jobs()] == [jobs[0].trial.id]
    assert not (Path(jobs[1].folder) / "run.json").exists()
    with pytest.raises(DistrustedWorkerError):  # what that machine returns later is not taken either
        made.run(jobs[2])


def test_a_worker_cannot_switch_the_check_off(jobs: list[Job], engine_of: Make, tmp_path: Path) -> None:
    def denies(folder: Path) -> None:
        cut(folder)
        run = codec.decode(Run, files.read_json(folder / "run.json"))
        digests = {name: files.digest(folder / name) for name in run.artefacts}
        seal(folder, replace(run, exact=False, artefacts=digests))

    made = engine_of(Workers(Finishing(tmp_path / "there", jobs, spoil=denies)), "0.000001")
    with pytest.raises(DistrustedWorkerError):
        made.run(jobs[0])


def test_a_trial_that_cannot_run_again_here_accuses_nobody(
    jobs: list[Job], engine_of: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(_engine: ExactEngine, batch: list[Job]) -> list[Run]:
        return [replace(ExactEngine().run(job), outcome=Outcome.INVALID, reason="no room") for job in batch]

    worker_of = Finishing(tmp_path / "there", jobs)
    made = engine_of(Workers(worker_of), "1")
    monkeypatch.setattr(ExactEngine, "run_together", lost)
    said: list[str] = []
    made.say = said.append
    made.run(jobs[0])
    assert said == ["a trial could not run again here, and is not compared: no room"]
    assert result(jobs[0]).outcome is Outcome.OK


def test_the_first_trial_of_each_machine_is_checked(jobs: list[Job], engine_of: Make, tmp_path: Path) -> None:
    lying = Finishing(tmp_path / "lying", jobs, worker("node2", ""), spoil=cut, sealed_again=True)
    made = engine_of(Workers(Finishing(tmp_path / "honest", jobs), lying), "0.000001")
    made.run(jobs[0])
    with pytest.raises(DistrustedWorkerError, match="node2"):
        made.run(jobs[1])


def test_without_checks_nothing_runs_here(jobs: list[Job], engine_of: Make, tmp_path: Path) -> None:
    made = engine_of(Workers(Finishing(tmp_path / "lying", jobs, spoil=cut, sealed_again=True)))
    made.run(jobs[0])
    assert made.report == ExecutorReport("scripted", (Machine("node1", "a processor", "Linux", 1),), 0)


def test_an_interrupt_ends_what_waits(jobs: list[Job], engine_of: Make, tmp_path: Path) -> None:
    class Silent(Workers):
        def submit(self, request: bytes, label: str) -> Any:
            from concurrent.futures import Future

            waiting.set()
            return Future()

    waiting = threading.Event()
    made = engine_of(Silent(BrokenExecutor()))
    raised: list[BaseException] = []

    def run() -> None:
        try:
            made.run(jobs[0])
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert waiting.wait(30)
    made.interrupt()
    thread.join(30)
    assert [type(error) for error in raised] == [InterruptedByUserError]


def test_a_plug_in_is_refused_with_the_reason(
    jobs: list[Job], engine_of: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGLOOK_PLUGINS", str(PLUGINS))
    registry.forget()
    try:
        end = replace(jobs[0].trial.client, stack="rogue")
        job = replace(jobs[0], trial=replace(jobs[0].trial, client=end, server=end))
        with pytest.raises(InputError, match="stack rogue is a plug-in of this machine"):
            engine_of(Workers(BrokenExecutor())).run(job)
    finally:
        monkeypatch.undo()
        registry.forget()


def test_a_program_outside_of_the_cache_is_asked_for_by_its_path(
    jobs: list[Job], engine_of: Make, tmp_path: Path
) -> None:
    browser = tmp_path / "browser"
    browser.write_text("#!/bin/sh\n")
    programs = {**jobs[0].programs, "client": replace(jobs[0].programs["client"], path=str(browser))}
    job = replace(jobs[0], programs=programs)
    workers = Workers(Finishing(tmp_path / "there", [job]))
    engine_of(workers).run(job)
    assert workers.requests[0][0].jobs[0].programs["client"].path == f"system:{browser}"
