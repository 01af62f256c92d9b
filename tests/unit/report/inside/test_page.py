"""The page about the inside of a cell: numbers survive packing, and the same data give the same bytes."""

import base64
import re
import zlib
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.core.model import Outcome, Run
from longlook.explain.inside import look_inside
from longlook.explain.rounds import Round
from longlook.report.inside import InsideContent, inside_pages, write_inside
from longlook.report.inside.data import pack, varint, zigzag
from tests.data.report import small_content
from tests.data.traces import traced

NUMBERS = st.lists(st.integers(-(2**52), 2**52), max_size=50)


def unpacked(data: bytes) -> list[int]:
    """The numbers of LEB128 and zigzag."""
    found, value, shift = [], 0, 0
    for octet in data:
        value |= (octet & 127) << shift
        shift += 7
        if octet < 128:
            found.append((value >> 1) ^ -(value & 1))
            value, shift = 0, 0
    return found


@settings(max_examples=60)
@given(NUMBERS)
def test_numbers_survive_packing(numbers: list[int]) -> None:
    assert unpacked(varint(zigzag(np.array(numbers, np.int64)))) == numbers


def test_series_are_packed_whole_or_cut_to_fit_and_the_page_says_so(tmp_path: Path) -> None:
    inside = look_inside(*traced(2.0))
    whole, cut = pack({"quic": inside}), pack({"quic": inside}, values_per_page=400)
    assert whole.cut["quic"] == ()
    numbers = unpacked(zlib.decompress(base64.b64decode(whole.blob)))
    first = next(iter(sorted(inside.series)))
    count = whole.arms["quic"]["series"][first]["n"]
    assert np.cumsum(numbers[:count]).tolist() == (inside.series[first].time_ns // 1000).tolist()
    assert {"cwnd", "passed"} <= set(cut.cut["quic"])
    assert sum(item["n"] for item in cut.arms["quic"]["series"].values()) <= 420


def test_flows_of_the_first_arm_are_shown_and_the_others_wait(tmp_path: Path) -> None:
    content = small_content({("10Mbit",): {"tcp": [1.0], "quic": [0.9]}})
    arms = {name: look_inside(*traced(1.0, seed=seed)) for seed, name in enumerate(("TCP: a", "TCP: b", "QUIC: a"), 1)}
    colours = {"TCP: a": "#123456", "TCP: b": "#234567", "QUIC: a": "#123456"}
    inside = InsideContent(
        content, "id-10Mbit", {"rate": "10Mbit"}, Round(0, 1), arms, {}, flows=colours, behind=frozenset({"QUIC: a"})
    )
    assert list(inside.shown) == ["TCP: a", "TCP: b"]
    page = write_inside(tmp_path, inside)
    text = page.read_text()
    assert re.findall(r'type="checkbox"( checked)? autocomplete="off" data-toggle="([^"]+)"', text) == [
        (" checked", "TCP: a"), (" checked", "TCP: b"), ("", "QUIC: a"),
    ]  # fmt: skip
    assert "--arm:#234567" in text
    figure = page.with_suffix(".svg").read_text()
    assert "TCP: b" in figure
    assert "QUIC: a" not in figure


def test_the_same_data_give_the_same_bytes(tmp_path: Path) -> None:
    report = small_content({("10Mbit",): {"tcp": [0.5] * 3, "quic": [0.4] * 3}})
    run = Run("0123456789abcdef", Outcome.OK, None, None, 1, "virtual", 0, 0.2, 4.0, 0.1, {}, {}, {}, {}, {})
    chosen = Round(1, 3, report.study.contrasts[0], 20.0)
    for name in ("one", "two"):
        arms = {"quic": look_inside(*traced(1.0))}
        absent = [("tcp", "failed: the server died")]
        write_inside(tmp_path / name, InsideContent(report, "10Mbit", {}, chosen, arms, {"quic": run}, absent))
    files = sorted((tmp_path / "one" / "inside").iterdir())
    assert [path.name for path in files] == ["10Mbit.html", "10Mbit.pdf", "10Mbit.png", "10Mbit.svg"]
    for path in files:
        assert path.read_bytes() == (tmp_path / "two" / "inside" / path.name).read_bytes(), path.name
    assert inside_pages(tmp_path / "one") == {"10Mbit"}
    assert "not shown: failed: the server died" in files[0].read_text()
