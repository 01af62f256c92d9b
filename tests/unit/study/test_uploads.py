"""Studies of uploads: programs, states and metrics that cannot be are refused with what can."""

from pathlib import Path

import pytest

from longlook.core.errors import InputError
from longlook.core.job import Identity, Upload
from longlook.lab.client_jobs import client_job
from longlook.study.files import read_study
from longlook.study.plan import make_plan
from longlook.workloads.upload import prepare
from tests.data.trials import trial

IDENTITY = Identity("www.example.test", "/ca.pem", "/certificate.pem", "/key.pem", "spki")
STUDY = """
schema = 1
title = "Uploads"
question = "Which is faster?"
rounds = 1
around = "none"
metrics = ["upload_time"]
contrasts = [["h2", "h3"]]
defaults = { client = "quic-go", server = "quic-go", connection = "cold" }
workload = { kind = "upload", object = "10KB" }
network = { rate = "10Mbit" }
factors = [{ name = "rtt", sets = "network.rtt", levels = ["36ms"] }]

[arms.h2]
protocol = "h2"
congestion_control = "cubic"

[arms.h3]
protocol = "h3"
"""


def planned(folder: Path, before: str = "", after: str = "") -> int:
    file = folder / "study.toml"
    assert before in STUDY
    file.write_text(STUDY.replace(before, after, 1))
    return len(make_plan(read_study(file)).trials)


def test_a_study_of_uploads_is_planned(tmp_path: Path) -> None:
    assert planned(tmp_path) == 2


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (
            'client = "quic-go"',
            'client = "quiche"',
            "client quiche sends no uploads over h3; clients that do: .*quic-go",
        ),
        ('server = "quic-go"', 'server = "nginx"', "server nginx takes no uploads over h2; servers that do: .*quic-go"),
        (
            'protocol = "h3"',
            'protocol = "h3-or-h2"\ncongestion_control = "cubic"',
            "an upload has one protocol, h3 or h2",
        ),
        ('connection = "cold"', 'connection = "0rtt"', "no upload is sent as such: cold or resumed"),
        ('"upload_time"]', '"upload_time", "receive_time"]', "receive_time.*: is about what the client receives"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, before: str, after: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        planned(tmp_path, before, after)


def test_the_servers_answer_means_nothing_to_downloads(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY.replace('"upload"', '"download"') + 'server_knobs.upload_answer = "early"\n')
    with pytest.raises(InputError, match="nothing is uploaded"):
        read_study(file)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"method": "PATCH"}, "allowed: POST, PUT"),
        ({"expect": "200-ok"}, "allowed: 100-continue"),
        ({"idle_s": 1.0}, "idle has no effect"),
        ({"objects": 0}, "objects = 0"),
    ],
)
def test_parameters_out_of_bounds(parameters: dict[str, str | float | int], reason: str) -> None:
    with pytest.raises(InputError) as caught:
        prepare({"object_bytes": 1000, **parameters})
    assert reason in f"{caught.value} {caught.value.hint}"


def test_the_clients_job_names_the_files_that_it_sends() -> None:
    content = prepare({"object_bytes": 1000, "objects": 3, "at_once": 2, "download_bytes": 500, "method": "PUT"})
    assert content.phases == (("/upload.bin", "/upload-1.bin", "/download.bin"), ("/upload-2.bin",))
    job = client_job(trial(), content, IDENTITY, "198.18.0.2", None)
    assert set(job.uploads) == {"/upload.bin", "/upload-1.bin", "/upload-2.bin"}
    assert job.uploads["/upload.bin"] == Upload("PUT", f"{content.root}/upload.bin")
    assert "uploads" in job.data()
    assert Path(job.uploads["/upload-2.bin"].file).stat().st_size == 1000


def test_the_job_of_a_download_has_no_such_key() -> None:
    content = prepare({"object_bytes": 1000})
    plain = client_job(
        trial(), type(content)(content.root, content.phases, content.expected), IDENTITY, "198.18.0.2", None
    )
    assert "uploads" not in plain.data()
