"""Where CPU time goes: bars for each cell, and flame graphs whose boxes add up."""

import pandas as pd
import pytest

from longlook.analysis.outputs import mean_work
from longlook.report.content import ReportContent
from longlook.report.cpu import boxes_of, make_cpu, short_name
from longlook.report.page import sections
from longlook.timeline.cpu_work import Work
from tests.data.report import paper_content, with_tables

STACKS = [("p;main;quic.send;udp_sendmsg_[k]", 0.3), ("p;main;quic.send", 0.1), ("p;main;quic.ack", 0.6)]


def content(*, sampled: bool = True) -> ReportContent:
    """A report on two cells; CPU time was sampled in the first of them."""
    made = paper_content(only=["rate=10Mbit", "size=5KB", "size=10KB"], faults=False)
    if not sampled:
        return made
    cell = made.samples["cell"].unique()[0]
    work = [
        {"trial_id": f"{arm}{number}", "cell_id": cell, "arm": arm, "round": number, "role": "server",
         "work": kind.value, "cpu_s": 0.1 * (number + 1) if kind is Work.CRYPTOGRAPHY else 0.0, "counted_s": 0.25}
        for arm in ("tcp", "quic") for number in range(3) for kind in Work
    ]  # fmt: skip
    stacks = [{"cell_id": cell, "arm": arm, "role": "server", "stack": stack, "cpu_s": cpu_s}
              for arm in ("tcp", "quic") for stack, cpu_s in STACKS]  # fmt: skip
    return with_tables(made, cpu_work=pd.DataFrame(work), cpu_stacks=pd.DataFrame(stacks))


def test_boxes_stand_on_their_callers_and_are_as_wide_as_their_time() -> None:
    boxes = {box.name: box for box in boxes_of(STACKS)}
    assert [boxes[name].depth for name in ("p", "main", "quic.send", "udp_sendmsg_[k]")] == [0, 1, 2, 3]
    assert (boxes["p"].start, boxes["p"].end) == pytest.approx((0.0, 1.0))
    assert (boxes["quic.ack"].start, boxes["quic.ack"].end) == pytest.approx((0.0, 0.6))
    assert (boxes["quic.send"].start, boxes["quic.send"].end) == pytest.approx((0.6, 1.0))
    assert (boxes["udp_sendmsg_[k]"].start, boxes["udp_sendmsg_[k]"].end) == pytest.approx((0.6, 0.9))
    assert boxes["main"].work is Work.OWN
    assert boxes["quic.send"].work is Work.OTHER_CALLS  # a kernel's function without the call that led there


def test_narrow_boxes_are_left_out_and_keep_their_room() -> None:
    boxes = boxes_of([("p;a", 0.004), ("p;b", 0.996)])
    assert [(box.name, box.start) for box in boxes] == [("p", 0.0), ("b", 0.004)]
    assert boxes_of([]) == []


def test_a_function_that_calls_itself_has_one_box() -> None:
    assert [box.name for box in boxes_of([("p;walk;walk;walk;leaf", 1.0)])] == ["p", "walk", "leaf"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("github.com/quic-go/quic-go/internal/ackhandler.(*h).ReceivedAck", "ackhandler.(*h).ReceivedAck"),
        ("quinn::endpoint::poll::h0123456789abcdef", "quinn::endpoint::poll"),
        ("<a::B as c/d>::poll", "<a::B as c/d>::poll"),
        ("udp_sendmsg_[k]", "udp_sendmsg"),
        ("[unknown] (libcrypto.so.3)", "[unknown] (libcrypto.so.3)"),
    ],
)
def test_names_are_shown_short(name: str, expected: str) -> None:
    assert short_name(name) == expected


def test_the_section_has_bars_and_flame_graphs_of_the_cells_that_were_sampled() -> None:
    (section,) = make_cpu(content())
    (panel,) = section.panels
    assert "3 trials" in panel.note
    assert len(section.flames[panel.name]) == 2
    assert set(section.data()["specs"]) == {panel.name, *(flame.name for flame in section.flames[panel.name])}
    assert "cpu-work" in section.figures()
    assert len(section.figures()) == 3
    assert {flame.about for flame in section.flames[panel.name]} == {"1.00\xa0s sampled of 250\xa0ms in a trial"}
    bars = section.data()["specs"][panel.name]["data"]["values"]
    assert {round(row["cpu_s"], 3) for row in bars if row["work"] == "cryptography"} == {0.2}


def test_the_table_has_the_mean_and_the_range_of_the_rounds() -> None:
    work = content().table("cpu_work")
    assert work is not None
    table = mean_work(work)
    row = table[(table["arm"] == "tcp") & (table["work"] == "cryptography")].iloc[0]
    assert (row["trials"], row["mean_cpu_s"]) == (3, pytest.approx(0.2))
    assert row["counted_cpu_s"] == pytest.approx(0.25)
    assert (row["least_cpu_s"], row["most_cpu_s"]) == (pytest.approx(0.1), pytest.approx(0.3))


def test_a_report_without_samples_has_no_such_section() -> None:
    assert "cpu" in [part.anchor for part in sections(content())[0]]
    assert "cpu" not in [part.anchor for part in sections(content(sampled=False))[0]]
