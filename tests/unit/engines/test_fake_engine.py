"""The made-up engine is deterministic and writes what the next stage reads."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from longlook.core.job import Content, ExpectedAnswer, Identity, Job, Program
from longlook.core.model import Link, Outcome, Run, Stage
from longlook.engines.fake import FakeEngine
from longlook.engines.fake.path import EPOCH_NS
from longlook.lab.link_data import Delivered
from longlook.lab.link_log import LinkLog
from longlook.lab.link_log import read_link_log as read_records
from longlook.timeline.normalise import normalise_trial
from longlook.timeline.normalise.link_log import conservation, read_link_log
from longlook.timeline.timeline import Kind
from tests.unit.lab.test_judge import TRIAL

CONTENT = Content("/www", (("/a",),), {"/a": ExpectedAnswer(100_000, "sha256:" + "0" * 64)})

STAGES = (Stage("rate", {"rate_bps": 8_000_000, "queue_bytes": 1}), Stage("delay", {"delay_ns": 10_000_000}))


def job(folder: Path, trial_id: str = "t") -> Job:
    folder.mkdir()
    trial = replace(TRIAL, id=trial_id, link=Link(STAGES, STAGES))
    programs = {role: Program("/p", "0") for role in ("server", "client", "link")}
    return Job(trial, 1, str(folder), programs, CONTENT, Identity("www.example.test", "", "", "", ""))


def test_the_same_trial_gives_the_same_files(tmp_path: Path) -> None:
    engine = FakeEngine()
    first, second = engine.run(job(tmp_path / "1")), engine.run(job(tmp_path / "2"))
    assert first == second
    assert engine.ran == ["t", "t"]
    assert 0.13 < first.measure_s < 0.2


def test_a_trial_can_be_made_to_end_otherwise(tmp_path: Path) -> None:
    run = FakeEngine(outcomes={"t": Outcome.TIMED_OUT}).run(job(tmp_path / "1"))
    assert run.outcome is Outcome.TIMED_OUT
    assert run.reason


def test_factors_slow_an_arm_down(tmp_path: Path) -> None:
    plain = FakeEngine().run(job(tmp_path / "1")).measure_s
    assert FakeEngine(factors={TRIAL.arm: 2.0}).run(job(tmp_path / "2")).measure_s == plain * 2


def test_several_connections_fetch_everything_each(tmp_path: Path) -> None:
    order = job(tmp_path / "1")
    order = replace(order, content=replace(order.content, connections=3))
    run = FakeEngine().run(order)
    assert 0.33 < run.measure_s < 0.4
    timeline = normalise_trial(Path(order.folder), order.trial, run)
    done = timeline.select(Kind.OBJECT_DONE)
    assert done.num_rows == len(set(done["flow"].to_pylist())) == 3


def test_the_artefacts_normalise(tmp_path: Path) -> None:
    order = job(tmp_path / "1")
    run = FakeEngine().run(order)
    timeline = normalise_trial(Path(order.folder), order.trial, run)
    window = timeline.load_window_ns()
    assert window is not None
    assert (window[1] - window[0]) / 1e9 == round(run.measure_s, 9)


def with_evidence(place: Path, **changes: Any) -> tuple[Job, Run]:
    order = job(place)
    order = replace(order, trial=replace(order.trial, **changes))
    return order, FakeEngine(evidence=True).run(order)


def test_the_evidence_is_the_same_twice_and_conserves_packets(tmp_path: Path) -> None:
    lossy = (*STAGES, Stage("loss", {"probability": 0.2}))
    link = Link(STAGES, lossy)
    order, first = with_evidence(tmp_path / "1", link=link, further={"behind": link, "second": link})
    _, second = with_evidence(tmp_path / "2", link=link, further={"behind": link, "second": link})
    assert first == second
    for name in ("", "-behind", "-second"):
        log = read_link_log(Path(order.folder) / f"link{name}.bin")
        ways = {way: first.link[f"{name.removeprefix('-')}.{way}".removeprefix(".")] for way in ("up", "down")}
        assert not conservation(log, {"event": "summary", **ways}), name
    timeline = normalise_trial(Path(order.folder), order.trial, first)
    assert timeline.select(Kind.PACKET_DROPPED).num_rows
    assert {"link", "behind"} <= set(timeline.select(Kind.PACKET_DELIVERED)["vantage"].to_pylist())


def test_the_laboratory_reads_the_logs_too(tmp_path: Path) -> None:
    order, _ = with_evidence(tmp_path / "1")
    log = LinkLog((read_records(Path(order.folder) / "link.bin"),))
    assert Delivered(log, 0).data_bytes(EPOCH_NS, EPOCH_NS + 10**10) > 90_000
