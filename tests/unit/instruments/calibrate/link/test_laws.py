"""Judging a calibration: tables made by the laws themselves pass, tables that are a little wrong do not."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from longlook.cli import app
from longlook.core import calibration as certificate
from longlook.instruments.calibrate.link import virtual
from longlook.instruments.calibrate.link.catalogue import BASIC
from longlook.instruments.calibrate.link.check import Times
from longlook.instruments.calibrate.link.laws import Bernoulli, Case, Overtaking, Propagation, UniformDelay
from longlook.instruments.calibrate.link.passages import EMULATORS, NETEM, OURS
from longlook.instruments.calibrate.link.queues import Bottleneck, DropTail
from longlook.instruments.calibrate.link.verdicts import Row, verdicts

Emulate = Callable[[Case, Times], Times]
"""Arrival times of packets sent at these times, NaN for lost ones."""


def sent(case: Case) -> Times:
    return np.array(case.schedule.offsets_ns(), dtype=float)


def obey(case: Case, sent_ns: Times) -> Times:
    """An emulator that is nothing but the law."""
    random = np.random.default_rng(5)
    count = len(sent_ns)
    match case.law:
        case Bottleneck(rate_bps):
            return drop_tail(sent_ns, case.size_bytes, rate_bps, count)
        case Propagation(delay_ns):
            return sent_ns + delay_ns
        case DropTail(rate_bps, queue_bytes):
            return drop_tail(sent_ns, case.size_bytes, rate_bps, queue_bytes // case.size_bytes)
        case Bernoulli(probability):
            return np.where(random.random(count) < probability, np.nan, sent_ns)
        case UniformDelay(low_ns, high_ns):
            return sent_ns + random.uniform(low_ns, high_ns, count)
        case Overtaking(_, width_ns):
            return sent_ns + random.uniform(0, width_ns, count)
        case other:
            raise TypeError(f"{other} is none of the basic laws")


def drop_tail(sent_ns: Times, size_bytes: int, rate_bps: int, held: int) -> Times:
    """Packet by packet, where the judge has a closed form: an independent way to the same numbers."""
    leaving: list[float] = []
    received = np.full(len(sent_ns), np.nan)
    for number, now_ns in enumerate(sent_ns):
        if sum(left > now_ns for left in leaving[-held:]) < held:
            leaving.append(max(now_ns, leaving[-1] if leaving else 0.0) + size_bytes * 8e9 / rate_bps)
            received[number] = leaving[-1]
    return received


def judged(cases: list[Case], ours: Emulate, netem: Emulate = obey) -> list[Row]:
    frames = [
        pd.DataFrame(
            {
                "case": case.name,
                "emulator": emulator,
                "sequence": range(case.schedule.count),
                "sent_ns": sent(case),
                "received_ns": (ours if emulator == OURS else netem)(case, sent(case)),
            }
        )
        for case in cases
        for emulator in EMULATORS
    ]
    return verdicts(cases, pd.concat(frames, ignore_index=True))


def cases_of(law: type) -> list[Case]:
    return [case for case in BASIC if isinstance(case.law, law)]


def failures(law: type, ours: Emulate) -> set[str]:
    """Quantities out of tolerance in every case of the law."""
    rows = judged(cases_of(law), ours)
    assert all(row.netem_passed for row in rows)
    failed = [{row.quantity for row in rows if row.case == case and not row.passed} for case in _names(rows)]
    return set.intersection(*failed)


def _names(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row.case for row in rows))


def test_the_laws_themselves_pass() -> None:
    rows = judged(list(BASIC), obey)
    assert [(row.case, row.quantity) for row in rows if not row.passed or not row.netem_passed] == []
    assert _names(rows) == [case.name for case in BASIC]
    assert all(row.reason for row in rows)


def test_every_law_and_the_stated_settings_are_covered() -> None:
    laws = [case.law for case in BASIC]
    assert {law.rate_bps for law in laws if isinstance(law, Bottleneck)} == {1_000_000, 10_000_000, 100_000_000}
    assert {law.delay_ns for law in laws if isinstance(law, Propagation)} == {5_000_000, 18_000_000, 100_000_000}
    assert {law.probability for law in laws if isinstance(law, Bernoulli)} == {0.01, 0.1}
    assert {type(law) for law in laws} >= {DropTail, UniformDelay, Overtaking}
    assert len({case.name for case in BASIC}) == len(BASIC)


def test_a_rate_two_per_cent_low_fails() -> None:
    def slow(case: Case, sent_ns: Times) -> Times:
        return obey(case, sent_ns) * 1.02

    assert "rate" in failures(Bottleneck, slow)


def test_uneven_spacing_fails_though_the_rate_is_right() -> None:
    def bursty(case: Case, sent_ns: Times) -> Times:
        received = obey(case, sent_ns)
        received[1:-1:2] = received[2::2][: len(received[1:-1:2])]
        return received

    assert failures(Bottleneck, bursty) == {"largest error of a gap"}


def test_a_delay_twenty_microseconds_long_fails() -> None:
    assert failures(Propagation, lambda case, sent_ns: obey(case, sent_ns) + 20_000) == {
        "median delay",
        "largest delay",
    }


def test_one_late_packet_fails() -> None:
    def one_late(case: Case, sent_ns: Times) -> Times:
        received = obey(case, sent_ns)
        received[7] += 1_000_000
        return received

    assert failures(Propagation, one_late) == {"largest delay"}


def test_a_queue_that_holds_two_packets_more_fails() -> None:
    def deeper(case: Case, sent_ns: Times) -> Times:
        assert isinstance(case.law, DropTail)
        return obey(replace(case, law=replace(case.law, queue_bytes=case.law.queue_bytes + 3_000)), sent_ns)

    assert failures(DropTail, deeper) == {"packets through", "longest delay"}


@pytest.mark.parametrize("factor", [0.5, 1.5])
def test_another_loss_rate_fails(factor: float) -> None:
    def other(case: Case, sent_ns: Times) -> Times:
        assert isinstance(case.law, Bernoulli)
        return obey(replace(case, law=Bernoulli(case.law.probability * factor)), sent_ns)

    assert "packets lost" in failures(Bernoulli, other)


def test_loss_in_bursts_fails_though_the_rate_is_right() -> None:
    (case,) = (case for case in cases_of(Bernoulli) if case.law == Bernoulli(0.1))

    def bursts(case: Case, sent_ns: Times) -> Times:
        lost = np.repeat(np.random.default_rng(5).random(len(sent_ns) // 2) < 0.1, 2)
        return np.where(lost, np.nan, sent_ns)

    (row,) = (row for row in judged([case], bursts) if row.quantity == "neighbours both lost")
    assert not row.passed


def test_a_normal_law_of_the_same_mean_and_deviation_fails() -> None:
    def normal(case: Case, sent_ns: Times) -> Times:
        assert isinstance(case.law, UniformDelay)
        width_ns = case.law.high_ns - case.law.low_ns
        random = np.random.default_rng(5)
        return sent_ns + random.normal(case.law.low_ns + width_ns / 2, width_ns / np.sqrt(12), len(sent_ns))

    assert failures(UniformDelay, normal) == {"distance from the law", "packets out of range"}


def test_jitter_that_keeps_order_overtakes_nothing() -> None:
    def in_order(case: Case, sent_ns: Times) -> Times:
        return np.maximum.accumulate(obey(case, sent_ns))

    assert failures(Overtaking, in_order) == {"share overtaken"}


@pytest.mark.parametrize("law", [Bottleneck, Propagation, UniformDelay, Overtaking])
def test_a_packet_lost_where_none_may_be_leaves_nothing_measured(law: type) -> None:
    def lossy(case: Case, sent_ns: Times) -> Times:
        received = obey(case, sent_ns)
        received[3] = np.nan
        return received

    rows = judged(cases_of(law), lossy)
    assert all(row.ours is None and not row.passed for row in rows)


def test_a_dead_link_fails_everything() -> None:
    rows = judged(list(BASIC), lambda _case, sent_ns: np.full(len(sent_ns), np.nan))
    assert not any(row.passed for row in rows if row.quantity != "packets out of range")


def test_what_runs_in_the_guest_is_light() -> None:
    heavy = {"numpy", "pandas", "pydantic"}
    code = f"import sys, longlook.instruments.calibrate.link.measure; print(*sys.modules.keys() & {heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_netem_has_its_own_verdict() -> None:
    rows = judged(cases_of(Propagation), obey, netem=lambda case, sent_ns: obey(case, sent_ns) + 1e6)
    assert all(row.passed and not row.netem_passed for row in rows)
    assert NETEM in EMULATORS


def test_a_certificate_is_found_by_link_and_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))
    assert certificate.certificate_entry("link", "kernel") is None
    folder = certificate.certificate_folder("link", "kernel")
    folder.mkdir(parents=True)
    (folder / certificate.TABLE).write_text('{"passed": false}')
    path = f"calibration/{folder.name}/{certificate.TABLE}"
    assert certificate.certificate_entry("link", "kernel") == {"key": folder.name, "passed": False, "path": path}
    assert certificate.certificate_entry("link", "another kernel") is None
    assert certificate.certificate_entry("another link", "kernel") is None


@pytest.mark.parametrize(("error_ns", "code"), [(0.0, 0), (50_000.0, 1)])
def test_the_command_fails_when_ours_is_out_of_tolerance(
    monkeypatch: pytest.MonkeyPatch, error_ns: float, code: int
) -> None:
    rows = tuple(judged(cases_of(Propagation), lambda case, sent_ns: obey(case, sent_ns) + error_ns))
    passed = all(row.passed for row in rows)
    result = virtual.Calibration("key", passed, "link", "kernel", "code", "packets", True, 1.0, 1.0, 0, rows)
    monkeypatch.setattr("longlook.instruments.calibrate.run.calibrate", lambda _say, _out: result)
    done = CliRunner().invoke(app, ["calibrate"])
    assert done.exit_code == code
    assert ("out of tolerance" in done.output) == (code == 1)
