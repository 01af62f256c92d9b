"""Servers with configurations that a user brings, in virtual time: what they change, and what is refused."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from longlook.core.run_folder import RunFolder
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(600)]

STUDY = """\
schema = 1
title = "Servers as they come, and with configurations of a user's"
question = "Do they differ?"
metrics = ["page_load_time"]
rounds = 1
around = "none"
[defaults]
connection = "cold"
client = "quic-go"
[arms.nginx]
protocol = "h2"
congestion_control = "cubic"
server = "nginx@1.26.3"
[arms.nginx-ours]
protocol = "h2"
congestion_control = "cubic"
server = "nginx@1.26.3"
server_config = "own.conf"
[arms.haproxy]
protocol = "h3"
server = "haproxy@3.2.26"
[arms.haproxy-ours]
protocol = "h3"
server = "haproxy@3.2.26"
server_config = "own.cfg"
[workload]
kind = "page"
objects = 20
object = "5KB"
[network]
rtt = "100ms"
queue = "1bdp"
[[factors]]
name = "rate"
sets = "network.rate"
levels = ["20Mbit"]
[[contrasts]]
name = "nginx"
baseline = "nginx"
contender = "nginx-ours"
[[contrasts]]
name = "haproxy"
baseline = "haproxy"
contender = "haproxy-ours"
"""
NGINX = "http {\n  sendfile off;\n  server {\n    http2_max_concurrent_streams 2;\n  }\n}\n"
HAPROXY = "global\n  tune.quic.frontend.max-streams-bidi 4\nfrontend ours\n  http-response set-header X-Ours yes\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the study, its files, and its run."""
    place = tmp_path_factory.mktemp("own")
    for name, text in (("mine.toml", STUDY), ("own.conf", NGINX), ("own.cfg", HAPROXY)):
        (place / name).write_text(text)
    answer = longlook("run", "mine.toml", "--out", "run", cwd=place)
    assert answer.returncode == 0, answer.stderr
    return place


def test_what_the_files_set_shows_in_the_loads(folder: Path) -> None:
    rows = pq.read_table(folder / "run" / "samples.parquet").to_pylist()
    loads = {row["arm"]: row["value"] for row in rows if row["metric"] == "page_load_time"}
    assert {row["outcome"] for row in rows} == {"ok"}
    # Requests that wait for a stream cost round trips of 100 ms: eighteen images two at a time, sixteen four at a time.
    assert loads["nginx-ours"] > loads["nginx"] + 0.5
    assert loads["haproxy-ours"] > loads["haproxy"] + 0.2


def test_run_and_report_say_which_file_it_was(folder: Path) -> None:
    labels = {arm.name: arm.label for arm in RunFolder.open(folder / "run").study.arms}
    assert labels["nginx-ours"].startswith("nginx-ours (own.conf ")
    assert labels["nginx-ours"] in (folder / "run" / "report" / "index.html").read_text()
    kept = sorted(path.read_text() for path in (folder / "run" / "server-configs").iterdir())
    assert kept == sorted([NGINX, HAPROXY])


def test_a_line_that_cannot_be_is_named_before_a_trial_runs(folder: Path) -> None:
    for name, text, reason in (
        (
            "listens.conf",
            NGINX.replace("sendfile off", "listen 443 ssl"),
            "listens.conf:2: listen: the laboratory",
        ),
        ("misspelt.conf", NGINX.replace("sendfile", "sendfil"), 'misspelt.conf:2: nginx: unknown directive "sendfil"'),
    ):
        (folder / name).write_text(text)
        change = ("--set", f"arms.nginx-ours.server_config={name}")
        answer = longlook("run", "mine.toml", *change, "--out", "refused", cwd=folder)
        assert (answer.returncode, reason in " ".join(answer.stderr.split())) == (2, True), answer.stderr
        assert not (folder / "refused").exists()


def test_the_run_goes_on_when_the_files_are_gone(folder: Path) -> None:
    for name in ("own.conf", "own.cfg"):
        (folder / name).unlink()
    answer = longlook("run", "mine.toml", "--resume", "run", cwd=folder)
    assert answer.returncode == 0, answer.stderr
