"""Tests of ngtcp2 alone: its knobs, as its traces show them."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from longlook.core.job import Content
from longlook.core.model import Scalar
from longlook.stacks.ngtcp2 import STACK
from tests.adapters.harness import (
    Answer,
    assert_all_arrived,
    assert_bad_usage,
    assert_serves_its_folder_only,
    fetch,
    server_command,
    serving,
)

NAME = "ngtcp2"
BUILT = "ngtcp2@1.11.0"
VALUES: dict[str, Scalar] = {
    "congestion_control": "bbr2",
    "initial_rtt": 0.05,
    "initial_stream_window": 300_000,
    "initial_connection_window": 400_000,
    "max_stream_window": 500_000,
    "max_connection_window": 600_000,
    "ack_threshold": 4,
    "max_ack_delay": 0.04,
    "disable_pmtud": True,
}
SERVER_VALUES: dict[str, Scalar] = VALUES | {"max_incoming_streams": 17}
OUT_OF_RANGE: dict[str, Scalar] = {
    "congestion_control": "vegas",
    "initial_rtt": 11.0,
    "initial_stream_window": 0,
    "initial_connection_window": 0,
    "max_stream_window": 0,
    "max_connection_window": 0,
    "ack_threshold": 0,
    "max_ack_delay": 17.0,
    "disable_pmtud": "perhaps",
}


def run(
    content: Content, folder: Path, server: Mapping[str, Scalar], client: Mapping[str, Scalar], name: str = NAME
) -> Answer:
    env = {"QLOGDIR": str(folder / "qlog")}
    with serving(server_command(name, "h3", content.root, knobs=server)) as running:
        return fetch(name, folder, protocol="h3", port=running.port, content=content, knobs=client, env=env)


def events(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    (file,) = (folder / "qlog").iterdir()
    for record in file.read_text().split("\x1e"):
        if record.strip() and (event := json.loads(record)).get("name") == name:
            yield event["data"]


@pytest.mark.parametrize("algorithm", ["reno", "cubic", "bbr", "bbr2"])
def test_every_declared_knob_is_taken_by_both_roles(algorithm: str, page: Content, tmp_path: Path) -> None:
    version = STACK.default_version
    assert set(VALUES) == set(STACK.knobs_of(version, "client")) == set(OUT_OF_RANGE)
    assert set(SERVER_VALUES) == set(STACK.knobs_of(version, "server"))
    chosen = {"congestion_control": algorithm}
    assert_all_arrived(run(page, tmp_path, SERVER_VALUES | chosen, VALUES | chosen), page, "h3")


@pytest.mark.stacks
@pytest.mark.parametrize("algorithm", ["reno", "cubic", "bbr"])
def test_a_version_that_is_built_from_sources_takes_the_same_knobs(
    algorithm: str, page: Content, tmp_path: Path
) -> None:
    chosen = {"congestion_control": algorithm}
    assert_all_arrived(run(page, tmp_path, SERVER_VALUES | chosen, VALUES | chosen, BUILT), page, "h3")
    offered = {data["owner"]: data for data in events(tmp_path, "transport:parameters_set")}["local"]
    assert offered["initial_max_data"] == 400_000


@pytest.mark.stacks
def test_an_algorithm_of_other_versions_is_unsupported(page: Content, tmp_path: Path) -> None:
    answer = fetch(BUILT, tmp_path, protocol="h3", port=9, content=page, knobs={"congestion_control": "bbr2"})
    assert answer.exit_code == 127


def test_a_client_has_no_knob_of_servers(page: Content, tmp_path: Path) -> None:
    answer = fetch(NAME, tmp_path, protocol="h3", port=9, content=page, knobs={"max_incoming_streams": 5})
    assert answer.exit_code == 127


def test_windows_reach_the_wire(page: Content, tmp_path: Path) -> None:
    assert_all_arrived(run(page, tmp_path, {}, VALUES), page, "h3")
    offered = {data["owner"]: data for data in events(tmp_path, "transport:parameters_set")}["local"]
    assert offered["max_ack_delay"] == 40
    assert offered["initial_max_stream_data_bidi_local"] == 300_000
    assert offered["initial_max_data"] == 400_000


def test_packets_grow_only_with_path_mtu_discovery(download: Content, tmp_path: Path) -> None:
    largest = {}
    for off in (True, False):
        folder = tmp_path / str(off)
        folder.mkdir()
        assert_all_arrived(run(download, folder, {"disable_pmtud": off}, {}), download, "h3")
        largest[off] = max(packet["raw"]["length"] for packet in events(folder, "transport:packet_received"))
    assert largest[True] == 1_200
    assert largest[False] > 1_400


@pytest.mark.parametrize("knob", OUT_OF_RANGE)
def test_values_out_of_range_are_bad_usage(knob: str, page: Content, tmp_path: Path) -> None:
    assert_bad_usage(NAME, knob, OUT_OF_RANGE[knob], page, tmp_path)


def test_nothing_outside_of_the_folder_is_served(page: Content, tmp_path: Path) -> None:
    assert_serves_its_folder_only(NAME, page, tmp_path)
