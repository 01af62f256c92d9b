"""Tests of picoquic alone: its knobs, as its traces show them, and HTTP/3's frames, which are the adapter's own."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from longlook.core.job import Content
from longlook.core.model import Scalar
from longlook.stacks.picoquic import STACK
from tests.adapters.harness import (
    Answer,
    assert_all_arrived,
    assert_bad_usage,
    assert_serves_its_folder_only,
    fetch,
    server_command,
    serving,
)

NAME = "picoquic"
VALUES: dict[str, Scalar] = {
    "congestion_control": "cubic",
    "initial_stream_window": 300_000,
    "initial_connection_window": 400_000,
    "max_ack_delay": 0.04,
    "max_udp_payload": 1300,
    "disable_pmtud": True,
    "max_window": 50,
    "idle_timeout": 20.0,
    "keep_alive": 5.0,
}
SERVER_VALUES: dict[str, Scalar] = VALUES | {"max_incoming_streams": 17, "retry": True}
OUT_OF_RANGE: dict[str, Scalar] = {
    "congestion_control": "vegas",
    "initial_stream_window": 0,
    "initial_connection_window": 0,
    "max_ack_delay": 17.0,
    "max_udp_payload": 1500,
    "disable_pmtud": "perhaps",
    "max_window": 1,
    "idle_timeout": 0.0,
    "keep_alive": 0.0,
}


def run(content: Content, folder: Path, server: Mapping[str, Scalar], client: Mapping[str, Scalar]) -> Answer:
    env = {"QLOGDIR": str(folder / "qlog")}
    with serving(server_command(NAME, "h3", content.root, knobs=server)) as running:
        return fetch(NAME, folder, protocol="h3", port=running.port, content=content, knobs=client, env=env)


def events(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    (file,) = (folder / "qlog").iterdir()
    for _time, _category, event, data in json.loads(file.read_text())["traces"][0]["events"]:
        if event == name:
            yield data


@pytest.mark.parametrize("algorithm", ["reno", "cubic", "bbr", "bbr3"])
def test_every_declared_knob_is_taken_by_both_roles(algorithm: str, page: Content, tmp_path: Path) -> None:
    version = STACK.default_version
    assert set(VALUES) == set(STACK.knobs_of(version, "client")) == set(OUT_OF_RANGE)
    assert set(SERVER_VALUES) == set(STACK.knobs_of(version, "server"))
    chosen = {"congestion_control": algorithm}
    assert_all_arrived(run(page, tmp_path, SERVER_VALUES | chosen, VALUES | chosen), page, "h3")


@pytest.mark.parametrize("knob", ["max_incoming_streams", "retry"])
def test_a_client_has_no_knob_of_servers(knob: str, page: Content, tmp_path: Path) -> None:
    answer = fetch(NAME, tmp_path, protocol="h3", port=9, content=page, knobs={knob: SERVER_VALUES[knob]})
    assert answer.exit_code == 127


def test_windows_reach_the_wire(page: Content, tmp_path: Path) -> None:
    assert_all_arrived(run(page, tmp_path, {}, VALUES), page, "h3")
    own = (data for data in events(tmp_path, "parameters_set") if data["owner"] == "local")
    offered = {key: value for data in own for key, value in data.items()}
    assert (offered["max_ack_delay"], offered["idle_timeout"]) == (40, 20_000)
    assert offered["initial_max_stream_data_bidi_local"] == 300_000
    assert offered["initial_max_data"] == 400_000


@pytest.mark.parametrize("knob", OUT_OF_RANGE)
def test_values_out_of_range_are_bad_usage(knob: str, page: Content, tmp_path: Path) -> None:
    assert_bad_usage(NAME, knob, OUT_OF_RANGE[knob], page, tmp_path)


def test_nothing_outside_of_the_folder_is_served(page: Content, tmp_path: Path) -> None:
    assert_serves_its_folder_only(NAME, page, tmp_path, "/1000")


def test_a_path_of_any_length_and_any_letters_is_asked_for(tmp_path: Path) -> None:
    www = tmp_path / "www"
    www.mkdir()
    name = "ä" * 60 + "x y"
    (www / name).write_text("found")
    paths = ("/%C3%A4" + "%C3%A4" * 59 + "x%20y", "/" + "long" * 900)
    with serving(server_command(NAME, "h3", str(www))) as running:
        answer = fetch(NAME, tmp_path, protocol="h3", port=running.port, content=Content(str(www), (paths,), {}))
    assert {line["path"]: line["status"] for line in answer.objects.values()} == {paths[0]: 200, paths[1]: 404}
