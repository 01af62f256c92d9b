"""The router checks every link before anything runs, and what it refuses comes back under the study's key."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.errors import MachineError
from longlook.core.job import Program
from longlook.core.model import Link, Stage
from longlook.core.problems import SettingError
from longlook.network import router_check
from longlook.network import settings as network
from longlook.network.router_check import violation_of
from longlook.network.stages import AQMS
from longlook.study.settings import network_setting
from tests.unit.network.test_settings import BASE, FULL


def link(settings: dict[str, Any]) -> Link:
    return network.link({key: network_setting(key, value) for key, value in {**BASE, **settings}.items()})


LAWS = ["1%", "uniform(0%, 1%, 1s)", "gilbert_elliott(1%, 25%)", "burst(0.1%, 5)", "index(3, 7)"]
QUEUES = ["1bdp", "100packets", "steps(0s 30KB, 1s 15KB, repeat 2s)"]
CASES: list[dict[str, Any]] = [
    FULL,
    *({"network.loss": law} for law in LAWS),
    *({"network.queue": queue} for queue in QUEUES),
    *({"network.aqm": aqm, **({} if aqm == "droptail" else {"network.ecn": True})} for aqm in AQMS),
    *({"network.jitter": "2ms", "network.jitter_law": law} for law in network.JITTER_LAWS),
    {"network.rate": "walk(10Mbit, 1Mbit, 5Mbit, 15Mbit, 1s)", "network.rtt": "uniform(30ms, 40ms, 1s)"},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_router_takes_every_setting(case: dict[str, Any]) -> None:
    assert violation_of(link(case)) is None


def test_a_violation_names_direction_stage_and_parameter(snapshot: SnapshotAssertion) -> None:
    rate = Stage("rate", {"rate_bps": 1_000_000})
    wrong = Link((rate,), (rate, Stage("access", {"max_ns": {"wave": {}}})))
    found = violation_of(wrong)
    assert found is not None
    assert (found.direction, found.stage, found.parameter) == ("down", 1, "max_ns")
    assert found.message == snapshot


def test_a_stage_that_the_router_does_not_have() -> None:
    found = violation_of(Link((Stage("cdoel", {}),), ()))
    assert found is not None
    assert found.parameter is None
    assert found.message.startswith("up, stage 0: unknown kind `cdoel`; did you mean `codel`? Allowed: access, block")


def test_an_unknown_parameter(snapshot: SnapshotAssertion) -> None:
    found = violation_of(Link((Stage("rate", {"rat_bps": 1}),), ()))
    assert found is not None
    assert found.parameter == "rat_bps"
    assert found.message == snapshot


@pytest.mark.parametrize(
    ("settings", "key", "reason"),
    [
        ({"rebind_at": "5s, repeat 1us"}, "rebind_at", "key `repeat_ns` is 1000: it must be at least 1000000"),
        (
            {"down.rate": "steps(0s 1kbit, 1ns 0bit, repeat 1ms)", "queue": "30KB"},
            "down.rate",
            "the mean rate is 0.001 bit/s: it must be at least 1000",
        ),
    ],
)
def test_what_a_stage_demands_beyond_bounds_has_the_key_of_the_study(
    settings: dict[str, Any], key: str, reason: str
) -> None:
    with pytest.raises(SettingError) as caught:
        link({f"network.{name}": value for name, value in settings.items()})
    assert caught.value.key == f"network.{key}"
    assert reason in caught.value.message


def test_each_distinct_link_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda *args, **more: calls.append(args) or run(*args, **more))
    one, other = (Link((Stage("delay", {"delay_ns": delay_ns}),), ()) for delay_ns in (123_454, 123_455))
    assert [violation_of(one), violation_of(other), violation_of(one)] == [None, None, None]
    assert len(calls) == 2


def test_a_missing_or_older_program_is_reported_with_the_command_that_helps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    older = tmp_path / "longlook-link"
    older.write_text("#!/bin/sh\necho 'unrecognized subcommand' >&2\nexit 2\n")
    older.chmod(0o755)
    monkeypatch.setattr(router_check, "link_program", lambda: Program(str(older), ""))
    with pytest.raises(MachineError, match=r"cannot check a link: unrecognized subcommand") as caught:
        violation_of(Link((Stage("delay", {"delay_ns": 7_654_321}),), ()))
    assert caught.value.hint == "make build"
