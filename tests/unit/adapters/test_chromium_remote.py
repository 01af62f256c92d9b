"""A browser on another machine: its clock on ours, and whether it was started as it must be."""

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from longlook.core.paths import adapters_dir

COMMAND_LINE = "/usr/bin/chrome --no-first-run {} --flag-switches-begin"


@pytest.fixture(autouse=True)
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = set(sys.modules)
    for folder in ("lib/python", "chromium"):
        monkeypatch.syspath_prepend(str(adapters_dir() / folder))
    yield
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("longlook_adapter", "chromium_driver"):
            del sys.modules[name]


def module(name: str) -> Any:
    return import_module(f"chromium_driver.remote.{name}")


def target() -> Any:
    return import_module("chromium_driver.flags").Target("example.test", "10.8.0.2", 443, "KEY=")


def reading(ahead_s: float, uncertainty_s: float = 0.001, at_s: float = 0.0) -> Any:
    return module("clock").Reading(ahead_s, uncertainty_s, at_s)


def test_the_reading_that_took_less_time_counts_and_a_clock_far_off_is_no_error() -> None:
    best = module("clock").agree(reading(-86400.0, 0.004), reading(-86400.003, 0.001, at_s=2.0))
    assert best.ahead_s == -86400.003


def test_a_clock_that_moved_during_the_load_is_refused_and_quartzes_that_differ_are_not() -> None:
    agree, error = module("clock").agree, module("errors").ElsewhereError
    agree(reading(5.0), reading(5.0039, at_s=10.0))  # 2 ms of readings and 2 ms of quartzes
    with pytest.raises(error, match=r"moved by -4\.1 ms .* more than the 4\.0 ms"):
        agree(reading(5.0), reading(4.9959, at_s=10.0))
    with pytest.raises(error, match="was it suspended"):
        agree(reading(5.0), reading(65.0, at_s=10.0))


def test_a_clock_that_answers_too_late_to_be_known_is_refused() -> None:
    with pytest.raises(module("errors").ElsewhereError, match=r"known to ± 60 ms only, .* over a cable"):
        module("clock").agree(reading(1.0, 0.06), reading(1.0, 0.08))


def test_a_browser_that_was_started_with_the_flags_has_their_names() -> None:
    flags = module("flags")
    wanted = flags.wanted(target())
    started = flags.Started.read(COMMAND_LINE.format(" ".join(wanted)), target())
    assert len(set(started.quic_hosts)) == flags.NAMES
    assert all(name.endswith(".example.test") for name in started.quic_hosts)
    assert started.early_data
    assert not set(started.quic_hosts) & set(flags.Started.read(" ".join(flags.wanted(target())), target()).quic_hosts)
    without = flags.Started.read(" ".join(flags.wanted(target(), early_data=False)), target())
    assert not without.early_data


def test_the_flags_that_a_browser_was_started_without_are_named() -> None:
    flags, error = module("flags"), module("errors").ElsewhereError
    wanted = flags.wanted(target())
    for flag in wanted:
        rest = COMMAND_LINE.format(" ".join(each for each in wanted if each != flag))
        with pytest.raises(error, match=flag.partition("=")[0]):
            flags.Started.read(rest, target())
    with pytest.raises(error, match="ignore-certificate-errors"):
        flags.Started.read(" ".join(wanted).replace("KEY=", "OTHER"), target())


@pytest.mark.parametrize("text", ["9222", "phone:", "phone:port", ":9222", "phone:70000"])
def test_what_is_no_endpoint_is_refused(text: str) -> None:
    with pytest.raises(module("errors").ElsewhereError, match="is no HOST:PORT"):
        module("endpoint").split(text)


def test_names_for_quic_are_handed_out_once_and_used_ones_never() -> None:
    names = module("names").Names("example.test", ("a", "b", "c"), {"b"})
    assert {names.take("h3"), names.take("h3")} == {"a", "c"}
    with pytest.raises(module("errors").ElsewhereError, match="all 3 names for QUIC"):
        names.take("h3")
    assert len({names.take("h2") for _ in range(10)}) == 10
