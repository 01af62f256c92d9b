"""Tests of quic-go alone: its knobs, as the protocol's traces show them."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from longlook.core.job import Content
from longlook.core.model import ConnectionState, Scalar
from longlook.core.stack import Knob
from longlook.stacks.quic_go import PATCHED_VERSION, STACK
from tests.adapters.harness import Answer, assert_all_arrived, fetch, server_command, serving

NAME = "quic-go"
SERVER = STACK.knobs_of(STACK.default_version, "server")
CLIENT = STACK.knobs_of(STACK.default_version, "client")
H3_ONLY = sorted(name for name, knob in SERVER.items() if not knob.applies_to("h2"))


def events(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.iterdir()):
        for record in file.read_text().split("\x1e"):
            if record.strip() and (event := json.loads(record)).get("name") == f"transport:{name}":
                yield event["data"]


def run(
    content: Content,
    folder: Path,
    server: Mapping[str, Scalar],
    client: Mapping[str, Scalar],
    state: ConnectionState = ConnectionState.COLD,
) -> Answer:
    env = {"QLOGDIR": str(folder / "qlog")}
    with serving(server_command(NAME, "h3", content.root, knobs=server)) as running:
        return fetch(
            NAME,
            folder,
            protocol="h3",
            port=running.port,
            content=content,
            knobs=client,
            connection=state,
            env=env,
        )


def parameters(folder: Path) -> dict[str, dict[str, Any]]:
    """Transport parameters as the client's trace has them, by who sent them."""
    return {data["initiator"]: data for data in events(folder / "qlog", "parameters_set")}


def test_windows_and_limits_reach_the_wire(page: Content, tmp_path: Path) -> None:
    client = {"initial_stream_window": 300_000, "initial_connection_window": 400_000}
    answer = run(page, tmp_path, {"max_incoming_streams": 17}, client)
    assert_all_arrived(answer, page, "h3")
    sent = parameters(tmp_path)
    assert sent["local"]["initial_max_stream_data_bidi_local"] == 300_000
    assert sent["local"]["initial_max_data"] == 400_000
    assert sent["remote"]["initial_max_streams_bidi"] == 17


def test_largest_window_bounds_auto_tuning(download: Content, tmp_path: Path) -> None:
    """Never more than the window beyond what was read: the offers stay below size + window."""
    window = 600_000
    client = {"max_stream_window": window, "max_connection_window": window}
    assert_all_arrived(run(download, tmp_path, {}, client), download, "h3")
    offers = [
        frame["maximum"]
        for packet in events(tmp_path / "qlog", "packet_sent")
        for frame in packet["frames"]
        if frame["frame_type"] == "max_data"
    ]
    assert offers
    assert len(offers) >= 10_000_000 / window - 2
    assert max(offers) < 10_000_000 + window + 10_000  # headers and the other streams


def test_packet_size_without_discovery(download: Content, tmp_path: Path) -> None:
    server = {"initial_packet_size": 1_300, "disable_pmtud": True}
    assert_all_arrived(run(download, tmp_path, server, {}), download, "h3")
    sizes = {packet["raw"]["length"] for packet in events(tmp_path / "qlog", "packet_received")}
    assert max(sizes) == 1_300


@pytest.mark.parametrize("on", [True, False])
def test_segmentation_offload(on: bool, page: Content, tmp_path: Path) -> None:
    answer = run(page, tmp_path, {}, {"gso": on})
    assert [line["gso"] for line in answer.connections] == [on]


def test_ecn_can_be_turned_off(page: Content, tmp_path: Path) -> None:
    for on in (True, False):
        folder = tmp_path / str(on)
        folder.mkdir()
        assert_all_arrived(run(page, folder, {"ecn": on}, {"ecn": on}), page, "h3")
        marked = {packet.get("ecn") for packet in events(folder / "qlog", "packet_sent")} & {"ECT(0)", "ECT(1)"}
        assert bool(marked) is on


def test_server_that_refuses_early_data(page: Content, tmp_path: Path) -> None:
    """Nothing is sent early where the ticket does not allow it, and both sides say so."""
    answer = run(page, tmp_path, {"allow_0rtt": False}, {}, ConnectionState.ZERO_RTT)
    measured = answer.connections[-1]
    assert (measured["resumed"], measured["used_0rtt"]) == (True, False)


def ordinary(knob: Knob) -> Scalar:
    """A value that the knob can have: its first choice, or a packet's size if its range holds that."""
    if knob.kind is bool:
        return True
    if knob.choices:
        return knob.choices[0]
    return 1_400 if knob.maximum is None else min(1_400, knob.maximum)


@pytest.mark.parametrize("knob", H3_ONLY)
def test_quic_knobs_mean_nothing_over_tcp(knob: str, page: Content, tmp_path: Path) -> None:
    declared = STACK.knobs[knob]
    value = ordinary(declared)
    for role in declared.roles:
        if role == "client":
            answer = fetch(NAME, tmp_path, protocol="h2", port=9, content=page, knobs={knob: value})
            assert answer.exit_code == 127
        else:
            command = server_command(NAME, "h2", page.root, knobs={knob: value})
            with pytest.raises(AssertionError, match="no meaning with h2"), serving(command):
                pass


def test_every_declared_knob_is_taken_over_quic(page: Content, tmp_path: Path) -> None:
    values = {name: ordinary(knob) for name, knob in SERVER.items() if knob.applies_to("h3")}
    client = {name: value for name, value in values.items() if name in CLIENT}
    windows = {name: 1 << 20 for name in values if name.endswith("_window")}
    answer = run(page, tmp_path, values | windows, client | windows)
    assert_all_arrived(answer, page, "h3")


PATCHED = f"{NAME}@{PATCHED_VERSION}"
TUNED = {
    name: knob for name, knob in STACK.knobs_of(PATCHED_VERSION, "client").items() if knob.since == PATCHED_VERSION
}


@pytest.mark.parametrize("name", sorted(TUNED))
def test_the_patched_build_refuses_what_it_cannot_hold(name: str, page: Content, tmp_path: Path) -> None:
    knob = TUNED[name]
    step = 1 if knob.kind is int else 0.001
    wrong: list[Scalar] = ["colourful"]
    wrong += [] if knob.minimum is None else [knob.minimum - step]
    wrong += [] if knob.maximum is None else [knob.maximum + step]
    for value in wrong:
        answer = fetch(PATCHED, tmp_path, protocol="h3", port=9, content=page, knobs={name: value})
        assert (answer.exit_code, value) == (2, value), answer.errors


def test_a_time_threshold_is_whole_eighths(page: Content, tmp_path: Path) -> None:
    answer = fetch(PATCHED, tmp_path, protocol="h3", port=9, content=page, knobs={"time_threshold": 1.3})
    assert answer.exit_code == 2
    assert "multiple of 1/8" in answer.errors
