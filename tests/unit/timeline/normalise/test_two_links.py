"""Trials whose path has a middle: packets of both links, and what an end's packets met on their way."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longlook.core.model import Endpoint, Link, Trial, Vantage
from longlook.timeline.normalise import normalise_trial
from longlook.timeline.normalise.datagrams import links_of
from longlook.timeline.normalise.rows import NULL
from longlook.timeline.normalise.trial import traffic_digest
from longlook.timeline.timeline import Kind, Timeline, table_of_rows
from tests.data import trials
from tests.data.trials import connection, fetched, packet, records

MS = 1_000_000
FLOW = "udp 10.8.0.1:40000 10.8.0.2:443"
ROUTED = replace(trials.TRIAL, further={"behind": Link((), ())})
PROXIED = replace(ROUTED, proxy=Endpoint("envoy", "1.39.3"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A load that begins at 99 ms, after a priming connection, with two packets on the link behind the middle."""
    lines = [{"event": "ready", "role": "client"}, connection(39000, 1, 20, primes=True), connection(40000, 100, 120)]
    trials.write_lines(tmp_path / "client.jsonl", [*lines, fetched("/index.html", 99, 125, 130)])
    trials.write_link_log(tmp_path / "link.bin", records([packet(101, 102, direction=0)]))
    behind = [packet(50, 51, client_port=39000, direction=0), packet(103, 104, direction=0)]
    trials.write_link_log(tmp_path / "link-behind.bin", records(behind))
    return tmp_path


def behind(folder: Path, trial: Trial) -> list[dict[str, Any]]:
    found = normalise_trial(folder, trial, trials.RUN).select(Kind.PACKET_DELIVERED, Vantage.BEHIND, priming=None)
    return [{name: row[name] for name in ("flow", "priming")} for row in found.to_pylist()]


def test_a_router_passes_on_the_clients_own_connections(folder: Path) -> None:
    flows = [f"udp 10.8.0.1:{port} 10.8.0.2:443" for port in (39000, 40000)]
    assert behind(folder, ROUTED) == [{"flow": flows[0], "priming": True}, {"flow": flows[1], "priming": False}]


def test_a_proxys_packets_are_priming_until_the_load_begins_and_no_connection_of_the_client(folder: Path) -> None:
    found = behind(folder, PROXIED)
    assert [row["priming"] for row in found] == [True, False]
    assert all(row["flow"] not in (FLOW, None) for row in found)


def test_metrics_see_one_link_alone(folder: Path) -> None:
    for trial in (ROUTED, PROXIED):
        assert normalise_trial(folder, trial, trials.RUN).select(Kind.PACKET_DELIVERED, Vantage.LINK).num_rows == 1


def test_a_missing_log_behind_the_middle_is_counted(folder: Path) -> None:
    (folder / "link-behind.bin").unlink()
    sources = normalise_trial(folder, ROUTED, trials.RUN).metadata["sources"]
    assert sources["link-behind.bin"]["present"] is False


def row(where: str, number: int, arrival_ms: float, left_ms: float | None, size: int = 1200) -> dict[str, Any]:
    arrival = round(arrival_ms * MS)
    return {
        "time_ns": arrival if left_ms is None else round(left_ms * MS),
        "arrival_ns": arrival,
        "vantage": where,
        "flow": FLOW,
        "kind": "packet_dropped" if left_ms is None else "packet_delivered",
        "priming": False,
        "protocol": "udp",
        "direction": "down",
        "payload_bytes": size,
        "sequence": number,
    }


def departures_ms(rows: Sequence[dict[str, Any]], trial: Trial) -> list[float | None]:
    timeline = Timeline(table_of_rows(sorted(rows, key=lambda each: each["time_ns"])))
    found = links_of(timeline, trial)[Vantage.SERVER].datagrams(FLOW, "down", priming=False)
    return [None if time_ns == NULL else time_ns / MS for time_ns in found.departure_ns.tolist()]


def test_a_packet_has_passed_a_router_when_it_left_the_second_link() -> None:
    sent = [row("behind", 0, 0, 5), row("behind", 1, 1, None), row("behind", 2, 2, 7), row("behind", 3, 3, 8)]
    passed = [row("link", 0, 5, 15), row("link", 1, 7, None), row("link", 2, 8, 18)]
    assert departures_ms([*sent, *passed], ROUTED) == [15, None, None, 18]


def test_a_copy_that_the_first_link_made_is_not_the_next_packet() -> None:
    sent = [row("behind", 0, 0, 5), row("behind", 0, 0, 6) | {"detail": "copy 1"}, row("behind", 1, 3, 8)]
    passed = [row("link", 0, 5, 15), row("link", 1, 6, 16), row("link", 2, 8, 18)]
    assert departures_ms([*sent, *passed], ROUTED) == [15, 18]


def test_a_packet_to_a_proxy_ends_there() -> None:
    assert departures_ms([row("behind", 0, 0, 5), row("link", 0, 9, 15)], PROXIED) == [5]


def test_the_same_traffic_is_that_of_every_link(folder: Path) -> None:
    known = traffic_digest(folder, ROUTED), traffic_digest(folder, trials.TRIAL)
    trials.write_link_log(folder / "link-behind.bin", records([packet(103, 105, direction=0)]))
    changed = traffic_digest(folder, ROUTED), traffic_digest(folder, trials.TRIAL)
    assert changed[0] not in (None, known[0])
    assert changed[1] == known[1]


@pytest.mark.parametrize("content", [None, b"no log"])
def test_traffic_without_a_log_that_can_be_read_is_like_no_other(folder: Path, content: bytes | None) -> None:
    (folder / "link-behind.bin").unlink()
    if content is not None:
        (folder / "link-behind.bin").write_bytes(content)
    assert traffic_digest(folder, ROUTED) is None
