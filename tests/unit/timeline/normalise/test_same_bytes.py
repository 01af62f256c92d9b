"""Datagrams that their sender sends again, byte for byte."""

from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core.model import Link
from longlook.timeline.normalise import normalise_trial
from longlook.timeline.normalise.datagrams import LinkPackets
from longlook.timeline.normalise.trial import OVER_SECOND
from longlook.timeline.timeline import Kind, packet_of_same_bytes
from tests.data import trials
from tests.data.scenes import DELAY_MS, QUIC, Scene, ns
from tests.data.trials import records


def test_a_datagram_of_the_same_bytes_names_the_packet_that_was_first(tmp_path: Path) -> None:
    tag = {"quic_form": 1, "flow": 0, "tag_start": 7, "tag_end": 9}
    packets = [
        trials.packet_2(1, 2, sequence=0, **tag),
        trials.packet_2(1, 3, sequence=1, **tag),
        trials.packet_2(1, 4, sequence=1, copy=1, **tag),
        trials.packet_2(1, 5, sequence=2, **{**tag, "tag_start": 8}),
        trials.packet_2(1, 6, sequence=3, **{**tag, "payload_bytes": 900}),
        trials.packet_2(1, 7, sequence=4, **{**tag, "flow": 1}),
        trials.packet_2(1, 8, sequence=5, direction=0, **tag),
        trials.packet_2(1, 9, sequence=6, edits=1, **tag),
        trials.packet_2(1, 10, sequence=7, quic_form=6, flow=0),
        trials.packet_2(1, 11, sequence=8, quic_form=6, flow=0),
    ]
    trials.write_link_log(tmp_path / "link.bin", records(packets, trials.RECORD_2))
    found = normalise_trial(tmp_path, trials.TRIAL, trials.RUN).select([Kind.PACKET_DELIVERED]).to_pylist()
    same = "the same bytes as packet 0"
    assert [row["detail"] for row in found] == [
        *(None, same, f"copy 1; {same}", None, None, None, None),
        *(f"congestion experienced marked; {same}", None, None),
    ]


def test_a_datagram_that_was_sent_twice_is_one_of_an_ends_packets_and_left_with_either() -> None:
    scene = Scene()
    scene.down(20.0)
    scene.down(20.0, detail="the same bytes as packet 0")
    scene.drop(23.0)
    left = scene.down(23.0, detail="the same bytes as packet 2")
    scene.drop(25.0)
    scene.drop(25.0, detail="the same bytes as packet 4")
    found = LinkPackets(scene.timeline()).datagrams(QUIC, "down", priming=False)
    assert found.delivered.tolist() == [True, True, False]
    assert found.departure_ns[:2].tolist() == [ns(21.0 + DELAY_MS), ns(left)]


@pytest.mark.parametrize(
    ("detail", "number"),
    [
        (None, None),
        ("copy 1", None),
        ("the same bytes as packet 17", 17),
        ("copy 1; the same bytes as packet 0", 0),
        (f"a bit flipped; the same bytes as packet 17; {OVER_SECOND}", 17),
        (OVER_SECOND, None),
        ("the same bytes as packet ²", None),
    ],
)
def test_a_detail_names_the_packet_of_the_same_bytes_in_any_of_its_parts(
    detail: str | None, number: int | None
) -> None:
    assert packet_of_same_bytes(detail) == number


def test_a_datagram_that_was_sent_twice_over_the_second_link_is_one_of_an_ends_packets(tmp_path: Path) -> None:
    tag = {"quic_form": 1, "flow": 0, "tag_start": 7, "tag_end": 9}
    twice = [trials.packet_2(1 + number, 2 + number, sequence=number, client_port=41000, **tag) for number in range(2)]
    trials.write_link_log(tmp_path / "link.bin", records([trials.packet_2(1, 2, flow=0)], trials.RECORD_2))
    trials.write_link_log(tmp_path / "link-second.bin", records(twice, trials.RECORD_2))
    multipath = replace(trials.TRIAL, further={"second": Link((), ())})
    timeline = normalise_trial(tmp_path, multipath, trials.RUN)
    packets = LinkPackets(timeline)
    sizes = {flow: len(packets.datagrams(flow, "down", priming=False)) for flow, _ in packets.flows("udp")}
    assert sizes == {"udp 10.8.0.1:40000 10.8.0.2:443": 1, "udp 10.8.0.1:41000 10.8.0.2:443": 1}
