from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longlook.core import registry
from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.events import EventKind
from longlook.timeline.normalise import normalise_trial
from longlook.timeline.payload import goodput_timeline
from longlook.timeline.timeline import Kind, Timeline
from tests.data import trials
from tests.data.trials import connection, failed, fetched, packet, page, records, server_connection

METRICS: Mapping[str, Metric] = registry.load("metrics")


@pytest.fixture
def timeline_of(tmp_path: Path) -> Any:
    def build(
        client: Sequence[Mapping[str, Any]] = (), packets: Sequence[Mapping[str, int]] = (), **run: Any
    ) -> Timeline:
        trials.write_lines(tmp_path / "client.jsonl", client)
        trials.write_lines(tmp_path / "server.jsonl", [server_connection(40000, 1)])
        trials.write_link_log(tmp_path / "link.bin", records(packets))
        return normalise_trial(tmp_path, trials.TRIAL, trials.run(**run))

    return build


def measure(name: str, timeline: Timeline) -> float | None:
    return METRICS[name].measure(timeline)


PLAIN = [
    connection(39000, 1, 31, primes=True),
    fetched("/prime", 1, 40, 41, size=1),
    connection(40000, 101, 137),
    fetched("/index.html", 100, 173, 180, size=1_000),
    fetched("/i/1.png", 180, 200, 500, size=100_000),
    fetched("/i/0.png", 180, 190, 400, size=99_000),
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("page_load_time", 0.400),
        ("time_to_first_byte", 0.073),
        ("handshake_time", 0.036),
        ("throughput", 200_000 * 8 / 0.4 / 1e6),
        ("client_cpu", 0.5),
        ("server_cpu", 0.75),
        ("client_cpu_per_gb", 0.5 / 200_000 * 1e9),
        ("server_cpu_per_gb", 0.75 / 200_000 * 1e9),
    ],
)
def test_of_a_plain_client(timeline_of: Any, name: str, expected: float) -> None:
    assert measure(name, timeline_of(PLAIN)) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["client_cpu_per_gb", "server_cpu_per_gb"])
def test_no_cpu_time_per_gigabyte_without_bytes(timeline_of: Any, name: str) -> None:
    assert measure(name, timeline_of(PLAIN[:3])) is None
    assert measure(name, timeline_of([*PLAIN[:3], fetched("/index.html", 100, 173, 180, size=0)])) is None
    assert measure(name, timeline_of(PLAIN, cpu_s={})) is None


def test_what_the_clients_kernel_counts_for_a_gigabyte(timeline_of: Any) -> None:
    counted = timeline_of(PLAIN, kernel_counts={"client": {"packets": 50, "calls": 160}})
    assert measure("client_packets_per_gb", counted) == pytest.approx(50 / 200_000 * 1e9)
    assert measure("client_calls_per_gb", counted) == pytest.approx(160 / 200_000 * 1e9)
    assert measure("client_calls_per_gb", timeline_of(PLAIN)) is None


def test_of_a_browser(timeline_of: Any) -> None:
    timeline = timeline_of([*PLAIN, page(95, 174, 600)])
    assert measure("page_load_time", timeline) == pytest.approx(0.505)
    assert measure("time_to_first_byte", timeline) == pytest.approx(0.079)


def test_a_page_that_never_loaded_has_no_load_time(timeline_of: Any) -> None:
    assert measure("page_load_time", timeline_of([*PLAIN, page(95, 174, None)])) is None


def test_a_failed_object_leaves_no_load_time(timeline_of: Any) -> None:
    timeline = timeline_of([*PLAIN, failed("/i/2.png", 180, "reset")])
    assert measure("page_load_time", timeline) is None
    assert measure("throughput", timeline) is not None


def test_first_byte_is_that_of_the_first_request(timeline_of: Any) -> None:
    timeline = timeline_of([fetched("/slow", 0, 90, 95), fetched("/fast", 1, 20, 25)])
    assert measure("time_to_first_byte", timeline) == pytest.approx(0.090)


def test_several_connections_are_one_load(timeline_of: Any) -> None:
    first, second = {"local": "10.8.0.1:40000"}, {"local": "10.8.0.1:40001"}
    timeline = timeline_of(
        [
            connection(40001, 100.2, 120),
            fetched("/download.bin", 100.2, 140, 400, size=100_000, **second),
            connection(40000, 100.1, 137),
            fetched("/download.bin", 100.1, 173, 500, size=100_000, **first),
        ]
    )
    assert measure("page_load_time", timeline) == pytest.approx(0.3999)
    assert measure("throughput", timeline) == pytest.approx(200_000 * 8 / 0.3999 / 1e6)
    # Those of the first connection, though the second was faster.
    assert measure("time_to_first_byte", timeline) == pytest.approx(0.0729)
    assert measure("handshake_time", timeline) == pytest.approx(0.0369)
    failing = timeline_of([fetched("/a", 0, 90, 95, **first), failed("/a", 1, "gone") | second])
    assert measure("page_load_time", failing) is None


def test_an_unfinished_handshake_has_no_time(timeline_of: Any) -> None:
    assert measure("handshake_time", timeline_of([connection(40000, 1, None)])) is None


@pytest.mark.parametrize("name", sorted(METRICS))
def test_missing_is_never_zero(timeline_of: Any, name: str) -> None:
    assert measure(name, timeline_of(cpu_s={})) is None


LOAD = [connection(40000, 0, 10), fetched("/", 0, 20, 1000)]


def tcp(departure: float, sequence: int, length: int, **fields: int) -> dict[str, int]:
    return packet(departure - 1, departure, ip_protocol=6, transport_sequence=sequence, payload_bytes=length, **fields)


def test_goodput_counts_each_byte_of_tcp_once(timeline_of: Any) -> None:
    start = 2**32 - 1500  # wraps within the second segment
    wrapped = (start + 2000) % 2**32
    packets = [
        tcp(100, start, 1000),
        tcp(200, wrapped, 1000),  # overtook the one before it
        tcp(300, start + 1000, 1000),
        tcp(400, start + 1000, 1000),  # retransmitted for nothing
        tcp(500, (start + 2500) % 2**32, 1000),  # half of it new
        tcp(510, 77, 0),  # an acknowledgement
        tcp(600, 900_000, 5000, direction=0),  # a request
        tcp(2000, wrapped + 5000, 1000),  # after the load
        packet(700, None, ip_protocol=6, transport_sequence=wrapped + 2000, payload_bytes=1000, verdict=3),
    ]
    assert measure("goodput", timeline_of(LOAD, packets)) == pytest.approx(3500 * 8 / 1e6)


def test_goodput_counts_udp_payload_whole_and_flows_apart(timeline_of: Any) -> None:
    packets = [
        packet(1, 2, payload_bytes=1200),
        packet(2, 3, payload_bytes=1200),
        tcp(4, 1, 1000, client_port=50000),
        tcp(5, 1, 1000, client_port=50001),
    ]
    assert measure("goodput", timeline_of(LOAD, packets)) == pytest.approx(4400 * 8 / 1e6)


def test_goodput_leaves_priming_out(timeline_of: Any) -> None:
    client = [connection(39000, 0, 5, primes=True), *LOAD]
    packets = [packet(1, 2, client_port=39000), packet(10, 11, payload_bytes=1000)]
    assert measure("goodput", timeline_of(client, packets)) == pytest.approx(1000 * 8 / 1e6)


def test_random_segments_cover_what_a_bitmap_says(timeline_of: Any) -> None:
    random = np.random.default_rng(3)
    packets, seen, expected = [], np.zeros(20_000, bool), 0
    for number in range(300):
        start, length = int(random.integers(0, 18_000)), int(random.integers(1, 1400))
        expected += int((~seen[start : start + length]).sum())
        seen[start : start + length] = True
        packets.append(tcp(100 + number, start, length))
    assert measure("goodput", timeline_of(LOAD, packets)) == pytest.approx(expected * 8 / 1e6)


def test_goodput_over_time(timeline_of: Any) -> None:
    client = [connection(40000, 0, 10), fetched("/", 100, 120, 350)]
    packets = [
        packet(100, 110, payload_bytes=1000),
        packet(140, 199, payload_bytes=500),
        packet(300, 350, payload_bytes=250),
        packet(300, 351, payload_bytes=999),
    ]
    table = goodput_timeline(timeline_of(client, packets), bin_s=0.1)
    assert table["t_s"].to_pylist() == pytest.approx([0, 0.1, 0.2])
    assert table["goodput_mbps"].to_pylist() == pytest.approx([0.12, 0.0, 0.02])
    assert goodput_timeline(timeline_of(), bin_s=0.1).num_rows == 0
    with pytest.raises(ValueError, match="must be positive"):
        goodput_timeline(timeline_of(), bin_s=0)


def test_what_the_link_did_to_packets(timeline_of: Any) -> None:
    packets = [
        packet(1, 2, queue_bytes=0),
        packet(2, 3, queue_bytes=2500),
        packet(3, None, verdict=2),
        packet(3, None, verdict=3),
        packet(3, 4, queue_bytes=40_000, direction=0),
        packet(5, None, verdict=1),
    ]
    timeline = timeline_of(LOAD, packets)
    assert measure("packet_loss", timeline) == pytest.approx(50)
    assert measure("queue_delay", timeline) == pytest.approx(1.0)


def test_no_loss_is_zero_percent(timeline_of: Any) -> None:
    assert measure("packet_loss", timeline_of(LOAD, [packet(1, 2)])) == 0


# Conformance of every plug-in, and of the document


@pytest.mark.parametrize("name", sorted(METRICS))
def test_every_metric_is_well_formed(name: str) -> None:
    metric = METRICS[name]
    assert metric.name == name == name.lower()
    assert metric.label and metric.unit and metric.summary.endswith(".")
    assert metric.better in Better
    assert metric.needs and set(metric.needs) <= {*Kind, *EventKind}


def test_of_bursts_the_last_is_timed_by_itself(timeline_of: Any) -> None:
    bursts = [connection(40000, 1, 10), fetched("/1", 0, 20, 100), fetched("/2", 2100, 2120, 2200)]
    together = [*bursts, fetched("/3", 2100, 2150, 2350)]
    assert measure("last_burst_time", timeline_of(bursts)) == pytest.approx(0.1)
    assert measure("last_burst_time", timeline_of(together)) == pytest.approx(0.25)
    assert measure("last_burst_time", timeline_of([*together, failed("/4", 2100, "reset")])) is None


def test_waiting_and_receiving_are_the_load(timeline_of: Any) -> None:
    timeline = timeline_of([connection(40000, 0, 10), fetched("/", 0, 20, 1000), fetched("/image", 1100, 1150, 1900)])
    assert measure("time_to_first_byte", timeline) == pytest.approx(0.020)
    assert measure("receive_time", timeline) == pytest.approx(1.880)
    assert measure("page_load_time", timeline) == pytest.approx(1.900)
    assert measure("receive_time", timeline_of([fetched("/", 0, 20, 1000), failed("/image", 1, "gone")])) is None
