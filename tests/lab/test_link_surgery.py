"""Operations on single packets by the real router, and behind `longlook link`."""

import json
from pathlib import Path

import pytest

from longlook.lab.topology import OFFLOAD, PACKET, TUN
from longlook.timeline.normalise.link_log import conservation, read_link_log
from tests.lab.test_link_router import MBIT, MS, Stages, delay, loss, rate, transfer
from tests.support.link_host import PYTHON, LinkHost

pytestmark = [pytest.mark.lab, pytest.mark.realtime]

SEND = """
import os, socket, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    for _ in range(3):
        sender.sendto(b"nobody listens, so an ICMP message comes back", (os.environ["LONGLOOK_LINK_SERVER"], 9))
        time.sleep(0.1)
"""


@pytest.mark.parametrize("path", [PACKET, TUN, OFFLOAD])
def test_packets_are_forgiven_dropped_and_held_and_the_log_says_so(tmp_path: Path, path: str) -> None:
    operations = {"forgive": [[3, 5]], "drop": [[7, 7]], "hold": [[4, 4, 200 * MS], [90, 90, 1]]}
    stages: Stages = [{"kind": "surgery", "parameters": operations}, loss(1.0), delay(5 * MS)]
    arrivals, log, summary = transfer(tmp_path, stages, 20, 1_000, size_bytes=200, path=path)
    assert [arrival.sequence for arrival in arrivals] == [3, 5, 4]
    records = log.direction(0)
    named = {code: verdict.removeprefix("dropped_") for code, verdict in log.verdicts.items()}
    fates = [named[int(code)] for code in records["verdict"]]
    expected = {3: "delivered", 4: "delivered", 5: "delivered", 7: "surgery"}
    assert fates == [expected.get(number, "loss") for number in range(20)]
    assert {number: int(bits) for number, bits in enumerate(records["edits"]) if bits} == {3: 16, 4: 48, 5: 16}
    spent_ns = (records["due_ns"] - records["arrival_ns"]).astype(int)
    assert [int(spent_ns[number]) for number in (3, 4, 5)] == [5 * MS, 205 * MS, 5 * MS]
    assert int(records["stage"][7]) == 0
    up = summary["up"]
    assert (up["surgery_named"], up["surgery_forgiven"], up["dropped_surgery"], up["surgery_held"]) == (6, 3, 1, 1)
    assert summary["down"]["surgery_named"] == 0
    assert conservation(log, summary) == []


def test_a_full_queue_has_room_for_what_is_forgiven(tmp_path: Path) -> None:
    stages: Stages = [{"kind": "surgery", "parameters": {"forgive": [[20, 59]]}}, rate(MBIT, 30_000)]
    arrivals, _, summary = transfer(tmp_path, stages, 60, 1e6)
    assert [arrival.sequence for arrival in arrivals] == list(range(60))
    assert summary["up"]["dropped_queue"] == 0
    assert 0 < summary["up"]["surgery_forgiven"] <= 40
    assert summary["up"]["max_queue_bytes"] > 30_000


def test_a_command_behind_a_link_meets_its_surgery(host: LinkHost, tmp_path: Path) -> None:
    summary, log = tmp_path / "summary.json", tmp_path / "link.bin"
    options = ("--surgery-up", "drop 1; forgive 99", "--surgery-down", "hold 0 150ms", "--isolated")
    done = host.link(*options, "--json", str(summary), "--log", str(log), "--", PYTHON, "-c", SEND)
    assert done.returncode == 0, done.stderr
    found = json.loads(summary.read_text())
    assert (found["up"]["surgery_named"], found["up"]["dropped_surgery"], found["up"]["surgery_forgiven"]) == (2, 1, 0)
    assert found["down"]["surgery_held"] == 1
    assert "surgery on 2 packets: 0 forgiven, 1 dropped, 0 held" in done.stderr
    assert "surgery.up forgive 99; drop 1, surgery.down hold 0 150ms" in done.stderr
    first = read_link_log(log).direction(1)[0]
    assert int(first["due_ns"] - first["arrival_ns"]) == 150 * MS
