"""Studies of live sources: what no protocol carries, and what no source can be, is refused with what can."""

from pathlib import Path

import pytest

from longlook.core.errors import InputError
from longlook.core.job import Identity
from longlook.core.model import Scalar
from longlook.lab.client_jobs import client_job
from longlook.study.files import read_study
from longlook.study.plan import make_plan
from longlook.workloads.live import prepare
from tests.data.trials import trial
from tests.unit.core.test_live import PARAMETERS

IDENTITY = Identity("www.example.test", "/ca.pem", "/certificate.pem", "/key.pem", "spki")
STUDY = """
schema = 1
title = "Live"
question = "Which is sooner?"
rounds = 1
around = "none"
metrics = ["frame_latency", "dropped_frames"]
contrasts = [["tcp", "quic"], ["udp", "quic"]]
defaults = { client = "quic-go", server = "quic-go", connection = "cold" }
workload = { kind = "live", rate = "4Mbit", frame_interval = "33ms", length = "5s" }
network = { rate = "10Mbit" }
factors = [{ name = "rtt", sets = "network.rtt", levels = ["36ms"] }]

[arms.udp]
protocol = "udp-live"

[arms.tcp]
protocol = "tls-live"
congestion_control = "cubic"

[arms.quic]
protocol = "quic-live"
client_knobs.carrier = "datagrams"
"""


def planned(folder: Path, before: str = "", after: str = "") -> int:
    file = folder / "study.toml"
    assert before in STUDY
    file.write_text(STUDY.replace(before, after, 1))
    return len(make_plan(read_study(file)).trials)


def test_a_study_of_live_sources_is_planned(tmp_path: Path) -> None:
    assert planned(tmp_path) == 3


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ('"tls-live"', '"h2"', "workload live has frames that nobody asks for; use quic-live, tls-live, udp-live"),
        ('kind = "live", rate = "4Mbit", frame_interval = "33ms", length = "5s"', 'kind = "download", object = "1MB"',
         "fetches nothing: .*-live is for workload live; use h3 or h2"),
        ('"cubic"\n', '"cubic"\nclient_knobs.carrier = "datagrams"\n', "nothing with tls-live, only with quic-live"),
        ('"datagrams"', '"pigeons"', 'not "pigeons"|stream_per_frame, one_stream, datagrams'),
        ('client = "quic-go"', 'client = "quiche"', "client quiche@.* does not speak it"),
        ('connection = "cold"', 'connection = "0rtt"', "cannot do this over .*-live, but cold"),
        ('client = "quic-go"', 'client = "quic-go@0.52.0"', "client quic-go@0.52.0 does not speak it, but h3, h2"),
        ('rate = "4Mbit"', 'rate = "2Gbit"', "must be at most 1Gbit"),
        ('rate = "4Mbit"', 'rate = "4MB"', "Mbit"),
        ('length = "5s"', 'length = "59s"', "must be above workload.length and drain together, here 61 s"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(tmp_path: Path, before: str, after: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        planned(tmp_path, before, after)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"key_frame_every": 0}, "key_frame_factor = 5 has no effect"),
        ({"rate_bps": 100}, "rate_bps = 100 1000 to"),
        ({"length_s": 0.1, "frame_interval_s": 0.2}, "0 frames in length = 0.1s at frame_interval = 0.2s"),
        ({"length_s": 600.0, "frame_interval_s": 0.001}, "600000 frames"),
        ({"rate_bps": 1_000, "frame_interval_s": 0.001, "length_s": 1.0}, "has no byte"),
        ({"rate_bps": 1_000_000_000, "frame_interval_s": 1.0}, "which 65535 datagrams carry"),
        ({"rate_bps": 1_000_000_000, "length_s": 60.0}, "at most 536870912: a shorter length or a lower rate"),
        ({"drop_after_s": 0.2}, "drop_after = 0.2s gives up frames that would come in time"),
    ],
)
def test_sources_that_cannot_be(parameters: dict[str, Scalar], reason: str) -> None:
    with pytest.raises(InputError) as caught:
        prepare({**PARAMETERS, **parameters})
    assert reason in f"{caught.value} {caught.value.hint}"


def test_the_clients_job_has_the_source_and_no_phases() -> None:
    job = client_job(trial(), prepare(PARAMETERS), IDENTITY, "198.18.0.2", None).data()
    assert (job["phases"], job["live"]["frames"], job["live"]["key_frame_bytes"]) == ([], 250, 86_216)
