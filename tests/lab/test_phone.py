"""A browser on another machine as the client: a namespace stands for the phone, and its packets pass the link."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from longlook.lab.linux.namespace import Namespace
from tests.support.link_host import LONGLOOK, LinkHost, wait_for
from tests.support.phone import ENDPOINT, HOST_ADDRESS, Phone, attached

pytestmark = [pytest.mark.lab, pytest.mark.realtime, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]

RTT_MS = 60
STUDY = """
schema = 1
title = "A phone"
question = "Does what a phone sends pass the link?"
rounds = 1
seed = 1
timeout = "{timeout}"
retries_when_invalid = {retries}
metrics = ["page_load_time"]

[arms.tcp]
protocol = "h2"
connection = "resumed"
congestion_control = "cubic"

[arms.quic]
protocol = "h3"
connection = "0rtt"

[arms.cold]
protocol = "h3"
connection = "cold"

[defaults]
server = "quic-go"
client = "chromium-remote"

[workload]
kind = "page"
objects = 1
object = "{size}"

[network]
rtt = "60ms"
queue = "1bdp"

[[factors]]
name = "rate"
sets = "network.rate"
levels = ["10Mbit"]

[[contrasts]]
name = "quic vs tcp"
contender = "quic"
baseline = "tcp"
metric = "page_load_time"
"""


@pytest.fixture
def phone(tmp_path: Path) -> Iterator[Phone]:
    with Namespace() as namespace:
        host = LinkHost(namespace, tmp_path)
        host.env = dict(os.environ)
        with attached(host) as made:
            yield made


def call(phone: Phone, *arguments: str) -> "subprocess.CompletedProcess[str]":
    process = phone.host.start(LONGLOOK, *arguments)
    out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def flags(phone: Phone) -> list[str]:
    found: list[str] = json.loads(call(phone, "phone", "--json").stdout)["flags"]
    return found


def begin(phone: Phone, **settings: object) -> "subprocess.Popen[str]":
    study = phone.host.folder / "phone.toml"
    study.write_text(STUDY.format(**{"timeout": "20s", "size": "100KB", "retries": 0, **settings}))
    return phone.host.start(LONGLOOK, "run", str(study), "--engine", "live", "--out", str(out(phone)))


def out(phone: Phone) -> Path:
    return phone.host.folder / "out"


def results(phone: Phone) -> dict[str, dict[str, Any]]:
    """Arm → its run.json, with its folder."""
    found = {}
    for file in out(phone).glob("trials/*/run.json"):
        trial = json.loads((file.parent / "trial.json").read_text())
        found[trial["arm"]] = {**json.loads(file.read_text()), "folder": file.parent}
    return found


def lines(run: dict[str, Any], role: str, event: str) -> list[dict[str, Any]]:
    rows = map(json.loads, (run["folder"] / f"{role}.jsonl").read_text().splitlines())
    return [row for row in rows if row["event"] == event]


def left_on_host(phone: Phone) -> list[str]:
    with phone.host.namespace.inside():
        devices = Path("/proc/thread-self/net/dev").read_text()
        routes = Path("/proc/thread-self/net/route").read_text()
    return [line for line in (devices + routes).splitlines() if "ll-phone" in line]


def sent_to_phone(phone: Phone) -> int:
    """Bytes that have come from the link so far."""
    with phone.host.namespace.inside():
        rows = Path("/proc/thread-self/net/dev").read_text().splitlines()
    return sum(int(row.split(":")[1].split()[0]) for row in rows if row.strip().startswith("ll-phone:"))


def test_what_a_phone_sends_passes_the_link_and_its_times_are_on_our_clock(phone: Phone) -> None:
    phone.start_browser(flags(phone))
    began_ns = time.time_ns()
    run = begin(phone, retries=5)  # where this machine is too busy the guard says so
    output, errors = run.communicate(timeout=150)
    ended_ns = time.time_ns()
    assert run.returncode == 0, output + errors
    found = results(phone)
    assert {arm: (each["outcome"], each["reason"]) for arm, each in found.items()} == dict.fromkeys(
        ("tcp", "quic", "cold"), ("ok", None)
    )
    for arm, round_trips in {"tcp": 3, "quic": 1, "cold": 2}.items():
        (page,) = lines(found[arm], "client", "page")
        assert began_ns < page["t_start_ns"] < page["t_loaded_ns"] < ended_ns
        waited_ms = (page["t_first_byte_ns"] - page["t_start_ns"]) / 1e6
        assert RTT_MS * round_trips <= waited_ms < RTT_MS * (round_trips + 3)  # a busy machine adds its own
        assert lines(found[arm], "client", "clock")[0]["uncertainty_ns"] < 50_000_000
        assert all(row["remote"].startswith("198.18.0.1:") for row in lines(found[arm], "server", "connection"))
        assert "client" not in found[arm]["cpu_s"]
        assert found[arm]["link"]["down"]["delivered"] > 70
    # Its handshake is placed on the same clock as the server's: half a round trip apart, not a day.
    (ours,), (theirs,) = (lines(found["cold"], role, "connection") for role in ("client", "server"))
    apart_ms = (theirs["t_handshake_ns"] - ours["t_start_ns"]) / 1e6
    assert RTT_MS / 2 < apart_ms < RTT_MS * 2.5
    assert left_on_host(phone) == []


def test_a_phone_that_nobody_can_reach_stops_the_run_before_anything_is_measured(phone: Phone) -> None:
    run = begin(phone)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 3
    assert f"no browser answers at {ENDPOINT}" in errors
    assert not list(out(phone).glob("trials/*"))


def reasons_after(phone: Phone, run: "subprocess.Popen[str]", accident: Callable[[], None]) -> list[str]:
    """Why trials are invalid, in their order, where something happens to the phone in the middle of the first."""
    wait_for(lambda: sent_to_phone(phone) > 1_000_000 or run.poll() is not None, 90)
    accident()
    output, errors = run.communicate(timeout=150)
    found = sorted(results(phone).values(), key=lambda each: each["started_unix_ns"])
    assert [each["outcome"] for each in found] == ["invalid"] * 3, output + errors
    return [each["reason"] for each in found]


def test_a_browser_that_ends_in_the_middle_of_a_load_makes_its_trial_and_all_later_ones_invalid(phone: Phone) -> None:
    phone.start_browser(flags(phone))
    first, *others = reasons_after(phone, begin(phone, size="10MB"), phone.end_programs)
    assert "has gone away" in first
    assert all(f"no browser answers at {ENDPOINT}: Connection refused" in reason for reason in others)


def test_a_phone_that_falls_silent_in_the_middle_of_a_load_makes_the_trial_invalid(phone: Phone) -> None:
    phone.start_browser(flags(phone))
    first, *others = reasons_after(phone, begin(phone, size="10MB", timeout="5s"), phone.vanish)
    assert "has it gone?" in first
    assert all(f"no browser answers at {ENDPOINT}" in reason for reason in others)


def test_a_machine_that_forwards_for_nobody_is_named_as_the_reason(phone: Phone) -> None:
    phone.start_browser(flags(phone))
    with phone.host.namespace.inside():
        Path("/proc/sys/net/ipv4/conf/wlan0/forwarding").write_text("0")
    run = begin(phone)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 3
    assert "this machine forwards for nobody" in errors


def test_a_phone_has_no_virtual_time(phone: Phone) -> None:
    study = phone.host.folder / "phone.toml"
    study.write_text(STUDY.format(timeout="20s", size="100KB", retries=0))
    done = call(phone, "run", str(study), "--out", str(out(phone)))
    assert done.returncode == 2
    assert "use --engine live" in done.stderr


def test_a_phone_whose_packets_never_come_here_is_named_as_the_reason(phone: Phone) -> None:
    phone.start_browser(flags(phone))
    phone.namespace.netlink.route("del", dst="0.0.0.0/0", gateway=HOST_ADDRESS)  # its gateway is another machine
    run = begin(phone, timeout="3s")
    output, errors = run.communicate(timeout=150)
    reasons = [each["reason"] for each in results(phone).values()]
    assert len(reasons) == 3, output + errors
    assert all("none of its packets came to this one" in reason for reason in reasons), reasons
