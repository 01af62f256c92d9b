"""Real proxies midway: what they carry, what their knobs do, and what the ledger and `explain` know of them."""

from pathlib import Path

import pandas as pd
import pytest

from longlook.core.run_folder import RunFolder
from longlook.explain.ledger import BEHIND_PROXY, LedgerClass, make_ledger
from longlook.timeline.timeline import Timeline
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]

_BEHIND_S = 0.040  # a round trip between the middle and the server


@pytest.fixture(scope="module")
def early(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A round of every way to begin through Envoy, with an object of 5 KB."""
    out = tmp_path_factory.mktemp("early") / "run"
    words = ("--rounds", "1", "--around", "none", "--only", "size=5KB", "--out", str(out))
    answer = longlook("run", "proxy-0rtt", *words)
    assert answer.returncode == 0, answer.stderr
    return out


def test_a_proxys_knobs_save_the_round_trip_that_its_own_handshake_costs(early: Path) -> None:
    samples = pd.read_parquet(early / "samples.parquet").set_index(["arm", "metric"])
    assert set(samples.outcome) == {"ok"}
    load_s = {arm: float(samples.value[arm, "page_load_time"]) for arm in ("without", "client", "both", "warm")}
    assert load_s["without"] - load_s["client"] == pytest.approx(
        _BEHIND_S, abs=0.01
    )  # the client's own link is as long
    for knob in ("both", "warm"):  # upstream_0rtt, upstream_connections
        assert load_s["client"] - load_s[knob] == pytest.approx(_BEHIND_S, abs=0.01), knob


def test_the_ledger_says_what_a_load_waits_for_behind_the_proxy(early: Path) -> None:
    behind_s = {}
    folder = RunFolder.open(early)
    for trial in folder.plan.trials:
        ledger = make_ledger(Timeline.read(folder.trials / trial.id / "timeline.parquet"), trial)
        assert ledger is not None
        details = ledger.details(LedgerClass.HANDSHAKE)
        own = [lasts_ns for text, lasts_ns in details.items() if str(text).startswith(BEHIND_PROXY)]
        behind_s[trial.arm] = sum(own) / 1e9
    for arm in ("without", "client"):
        assert behind_s[arm] == pytest.approx(_BEHIND_S, abs=0.005)
    for arm in ("both", "warm", "direct"):
        assert behind_s[arm] == pytest.approx(0.0, abs=0.002)


def test_haproxy_splits_tcp_and_a_router_does_not(tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = ("--rounds", "1", "--around", "none", "--only", "loss=none", "--set", "workload.object=20KB")
    answer = longlook("run", "proxy-loss-place", *words, "--out", str(out))
    assert answer.returncode == 0, answer.stderr
    folder = RunFolder.open(out)
    for trial in folder.plan.trials:
        timeline = Timeline.read(folder.trials / trial.id / "timeline.parquet")
        flows = [flow for flow in timeline.select("packet_delivered", "behind")["flow"].to_pylist() if flow]
        ends = {flow.split()[1].partition(":")[0] for flow in flows}
        assert ends == {"198.18.255.1" if trial.proxy else "198.18.0.1"}, trial.arm


def test_quic_goes_through_masques_tunnel_to_a_server_of_its_own(tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = ("--rounds", "1", "--around", "none", "--only", "size=5KB", "--only", "loss=0%", "--out", str(out))
    answer = longlook("run", "proxy-masque", *words)
    assert answer.returncode == 0, answer.stderr
    samples = pd.read_parquet(out / "samples.parquet").set_index(["arm", "metric"])
    assert set(samples.outcome) == {"ok"}
    load_s = {arm: float(samples.value[arm, "page_load_time"]) for arm in ("direct", "masque", "masque-warm")}
    assert load_s["masque-warm"] - load_s["direct"] == pytest.approx(_BEHIND_S, abs=0.005)  # the tunnel's request
    assert load_s["masque"] - load_s["masque-warm"] == pytest.approx(2 * _BEHIND_S, abs=0.005)  # handshake, settings
    folder = RunFolder.open(out)
    for trial in folder.plan.trials:
        timeline = Timeline.read(folder.trials / trial.id / "timeline.parquet")
        behind = [flow for flow in timeline.select("packet_delivered", "behind")["flow"].to_pylist() if flow]
        assert behind, "the server's packets go over the second link in every arm"
        every = [flow for flow in timeline.select("packet_delivered")["flow"].to_pylist() if flow]
        apart = set(every) - set(behind)  # what the link towards the client alone carries
        assert bool(apart) == bool(trial.proxy), trial.arm
        if trial.arm.startswith("masque"):
            assert {flow.split()[0] for flow in apart} == {"udp"}, "a tunnel is another QUIC connection"
