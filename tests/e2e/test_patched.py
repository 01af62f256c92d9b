"""A build that can be tuned, with every knob at its default, sends the packets of the released one, one by one.

Two binaries of one source do not read the clock at the same moments, and reading it takes time: up to 256 ns. So the
same packets leave some microseconds apart at most, where 1 % of what a packet takes on these links is 6 µs.

What programs draw at random in a guest is a function of the trial's id, and the version is part of that. So both builds
run the same trial here: the patched program takes the released one's place.
"""

from pathlib import Path

import numpy as np
import pytest

from longlook.core.job import Program
from longlook.core.model import Endpoint, Link, Stage
from longlook.engines.choice import make_engine
from longlook.instruments.conformance.checks import Want
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.links import path
from longlook.instruments.conformance.proofs.ask import transfer
from longlook.instruments.conformance.runner import run_wants
from longlook.provision.setup import install
from longlook.stacks.quic_go import PATCHED_VERSION

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(300)]

RELEASED = PATCHED_VERSION.partition("+")[0]
LOSS = (Stage("loss", {"probability": 0.01}),)
REORDERING = (Stage("reorder", {"probability": 0.01, "depth_packets": 16, "wait_ns": 10_000_000}),)
MOST_APART_S = 20e-6
LINKS = {
    "lossless": path(20, 0.04, 100_000),
    "lossy": path(20, 0.04, 100_000, up=LOSS, down=LOSS),
    "reordering": path(20, 0.04, 100_000, behind=REORDERING),
}


def run(link: Link, folder: Path) -> Seen:
    end = Endpoint("quic-go", RELEASED)
    want = Want("h3", link, transfer(2_000_000), end, end)
    with make_engine("virtual") as engine:
        (found,) = run_wants([want], engine, folder, lambda _text: None, use_cache=False).values()
    assert isinstance(found, Seen), found
    assert found.ok, found.why
    return found


def versions(found: Seen) -> set[str]:
    return {str(line["version"]) for line in found.events("server", "ready")}


@pytest.mark.parametrize("name", sorted(LINKS))
def test_a_patched_build_without_knobs_sends_the_same_packets_within_microseconds(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = run(LINKS[name], tmp_path / "released")

    def patched(_part: str, say: object) -> Program:
        return install(f"quic-go@{PATCHED_VERSION}", lambda _text: None)

    monkeypatch.setattr("longlook.pipeline.provide.install", patched)
    tunable = run(LINKS[name], tmp_path / "patched")
    assert (versions(released), versions(tunable)) == ({RELEASED}, {PATCHED_VERSION})
    one, other = released.packets, tunable.packets
    assert len(one) > 1_000
    for up in (True, False):
        mine, its = one.up == up, other.up == up
        assert np.array_equal(one.payload_bytes[mine], other.payload_bytes[its])
        assert np.array_equal(np.isnan(one.left_s[mine]), np.isnan(other.left_s[its]))  # NaN: dropped
        assert np.abs(one.sent_s[mine] - other.sent_s[its]).max() < MOST_APART_S
