"""Clients that choose between QUIC and TCP, on paths that let QUIC through, block it, or cut it off."""

from pathlib import Path

import pandas as pd
import pytest

from longlook.core import registry
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]

_FALLBACK_S, _STALL_S = 0.25, 1.0
_HANDSHAKES_S = 2 * 0.036  # of TCP and of TLS
_SLACK_S = 0.02


def test_who_falls_back_and_when(tmp_path: Path) -> None:
    paths = ("open", "UDP blocked", "cut after 10")
    only = [word for path in paths for word in ("--only", f"path={path}")]
    out = tmp_path / "run"
    answer = longlook("run", "langley2017-reachability", "--rounds", "1", "--around", "none", *only, "--out", str(out))
    assert answer.returncode == 0, answer.stderr
    samples = pd.read_parquet(out / "samples.parquet").set_index(["factor.path", "arm", "metric"])
    value, outcome = samples.value, samples.outcome

    def load(path: str, arm: str) -> tuple[str, float, float]:
        found = outcome[path, arm, "page_load_time"], value[path, arm, "quic_share"], value[path, arm, "fallback_time"]
        return str(found[0]), float(found[1]), float(found[2])

    for arm in ("quic", "race", "watch", "at-once", "curl"):
        how, share, _ = load("open", arm)
        assert (how, share) == ("ok", 100), arm
    assert outcome["UDP blocked", "quic", "page_load_time"] == "failed"
    for arm, delay_s in (("race", _FALLBACK_S), ("watch", _FALLBACK_S), ("at-once", 0.0)):
        how, share, fallback_s = load("UDP blocked", arm)
        assert (how, share) == ("ok", 0), arm
        assert fallback_s == pytest.approx(delay_s + _HANDSHAKES_S, abs=_SLACK_S), arm
    assert load("UDP blocked", "curl")[:2] == ("ok", 0)
    how, share, fallback_s = load("cut after 10", "watch")
    assert how == "ok" and 0 < share < 100
    assert _STALL_S < fallback_s < 2 * _STALL_S
    how, _, late_s = load("cut after 10", "race")
    assert how == "ok" and late_s > 10 * fallback_s
    assert outcome["cut after 10", "curl", "page_load_time"] == "timed_out"


@pytest.mark.browser
@pytest.mark.skipif(not registry.get("stacks", "chromium").installed("system"), reason="no Chromium here")
def test_a_browser_waits_once_where_quic_falls_silent_and_remembers_it(tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = ("--rounds", "1", "--around", "none", "--only", "path=cut after 3", "--out", str(out))
    answer = longlook("run", "reachability-browsers", *words)
    assert answer.returncode == 0, answer.stderr
    samples = pd.read_parquet(out / "samples.parquet").set_index(["arm", "metric"])
    assert set(samples.outcome) == {"ok"}
    value = samples.value
    for arm in ("tcp", "fresh", "knows", "again"):
        assert value[arm, "quic_share"] == 0, arm
    assert value["knows", "page_load_time"] > 20
    for arm in ("fresh", "again"):
        assert value[arm, "page_load_time"] == pytest.approx(value["tcp", "page_load_time"], rel=0.1), arm


@pytest.mark.stacks
@pytest.mark.browser
@pytest.mark.skipif(not registry.get("stacks", "firefox").installed("system"), reason="no Firefox here")
def test_firefox_falls_back_beside_quic_whatever_certificate_a_round_has(tmp_path: Path) -> None:
    out = tmp_path / "run"
    only = ("--only", "browser=firefox", "--only", "path=UDP blocked")
    answer = longlook("run", "https-record", "--rounds", "2", *only, "--out", str(out))
    assert answer.returncode == 0, answer.stderr
    samples = pd.read_parquet(out / "samples.parquet")
    assert set(samples.outcome) == {"ok"}
    loads = samples[samples.metric == "page_load_time"]
    assert len(loads) == 4
    assert loads.value.max() < 1.0, "it waited for QUIC to give up"
