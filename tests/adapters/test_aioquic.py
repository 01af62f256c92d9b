"""Tests of aioquic alone: its knobs, as its traces show them."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from longlook.core.job import Content
from longlook.core.model import Scalar
from longlook.stacks.aioquic import STACK
from tests.adapters.harness import (
    Answer,
    assert_all_arrived,
    assert_bad_usage,
    assert_serves_its_folder_only,
    fetch,
    server_command,
    serving,
)

NAME = "aioquic"
VALUES: dict[str, Scalar] = {
    "congestion_control": "cubic",
    "initial_stream_window": 300_000,
    "initial_connection_window": 400_000,
    "max_udp_payload": 1_300,
    "initial_rtt": 0.05,
    "initial_window": 20,
    "packet_threshold": 5,
    "time_threshold": 1.5,
    "pacing": False,
}
SERVER_VALUES = VALUES | {"max_incoming_streams": 7}
OUT_OF_RANGE: dict[str, Scalar] = {
    "congestion_control": "bbr",
    "initial_stream_window": 0,
    "initial_connection_window": 0,
    "max_udp_payload": 1_473,
    "initial_rtt": 0.0,
    "initial_window": 1,
    "packet_threshold": 0,
    "time_threshold": 0.9,
    "pacing": "perhaps",
}


def run(content: Content, folder: Path, server: Mapping[str, Scalar], client: Mapping[str, Scalar]) -> Answer:
    env = {"QLOGDIR": str(folder / "qlog")}
    with serving(server_command(NAME, "h3", content.root, knobs=server)) as running:
        return fetch(NAME, folder, protocol="h3", port=running.port, content=content, knobs=client, env=env)


def events(folder: Path, name: str, category: str = "transport") -> Iterator[dict[str, Any]]:
    (file,) = (folder / "qlog").iterdir()
    (trace,) = json.loads(file.read_text())["traces"]
    times = [event["time"] for event in trace["events"]]
    assert times == sorted(times)
    yield from (event["data"] for event in trace["events"] if event["name"] == f"{category}:{name}")


def test_every_declared_knob_is_taken_by_both_roles(page: Content, tmp_path: Path) -> None:
    version = STACK.default_version
    assert set(VALUES) == set(STACK.knobs_of(version, "client")) == set(OUT_OF_RANGE)
    assert set(SERVER_VALUES) == set(STACK.knobs_of(version, "server"))
    assert_all_arrived(run(page, tmp_path, SERVER_VALUES, VALUES), page, "h3")


def test_knobs_reach_the_wire(page: Content, tmp_path: Path) -> None:
    assert_all_arrived(run(page, tmp_path, {"max_udp_payload": 1_300}, VALUES), page, "h3")
    offered = {data["owner"]: data for data in events(tmp_path, "parameters_set")}["local"]
    assert offered["initial_max_stream_data_bidi_local"] == 300_000
    assert offered["initial_max_data"] == 400_000
    assert max(packet["raw"]["length"] for packet in events(tmp_path, "packet_received")) <= 1_300
    assert max(packet["raw"]["length"] for packet in events(tmp_path, "packet_received")) > 1_200


def test_requests_at_once_are_those_that_the_server_allows(page: Content, tmp_path: Path) -> None:
    assert_all_arrived(run(page, tmp_path, {"max_incoming_streams": 7}, {}), page, "h3")
    offered = {data["owner"]: data for data in events(tmp_path, "parameters_set")}["remote"]
    assert offered["initial_max_streams_bidi"] == 7


@pytest.mark.parametrize("algorithm", ["reno", "cubic"])
def test_the_congestion_window_starts_as_asked(algorithm: str, page: Content, tmp_path: Path) -> None:
    knobs: dict[str, Scalar] = {"initial_window": 40, "congestion_control": algorithm}
    assert_all_arrived(run(page, tmp_path, {}, knobs), page, "h3")
    first = next(data for data in events(tmp_path, "metrics_updated", "recovery") if "cwnd" in data)
    assert 40 * 1_200 <= first["cwnd"] < 42 * 1_200


@pytest.mark.parametrize("knob", OUT_OF_RANGE)
def test_values_out_of_range_are_bad_usage(knob: str, page: Content, tmp_path: Path) -> None:
    assert_bad_usage(NAME, knob, OUT_OF_RANGE[knob], page, tmp_path)


def test_nothing_outside_of_the_folder_is_served(page: Content, tmp_path: Path) -> None:
    assert_serves_its_folder_only(NAME, page, tmp_path)
