"""Which losses make the effect of a cell: sentences, the table of strata, and the chart of single losses."""

import math
from dataclasses import replace
from typing import Any

import pytest

from longlook.analysis.stats.strata import Packet
from longlook.core import STATED
from longlook.core.model import Contrast
from longlook.report.page import sections, write_report
from longlook.report.strata import StrataSection, make_strata
from tests.data.patterns import MadeUpRun, Value, made_up_run, packets
from tests.data.report import small_content

LOADS = {"tcp": packets(2, 4), "quic": packets(2, 3)}


def timeouts(arm: str, lost: frozenset[Packet], number: int) -> float:
    """TCP waits a second for its first packet; every other loss costs either arm 20 ms."""
    own = lost & {*LOADS[arm]}
    first = 1.0 if arm == "tcp" and ("up", 0) in own else 0.0
    near = 1.0 if number == STATED else 1 + 0.001 * math.sin(number)
    return near * (0.2 if arm == "tcp" else 0.1) + first + 0.02 * len(own)


def alike(arm: str, lost: frozenset[Packet], number: int) -> float:
    return timeouts("quic", lost, number)


def run(value: Value = timeouts, **options: Any) -> MadeUpRun:
    return made_up_run(value, LOADS, lost=0.02, **options)


def section(made: MadeUpRun) -> StrataSection:
    (found,) = make_strata(made.content)
    return found


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def test_a_sentence_says_from_which_losses_the_effect_is() -> None:
    """The shares by hand: of the six packets inside each is lost alone with 0.02 · 0.98⁵."""
    made = run()
    (cell,) = section(made).cells
    (part,) = cell.parts
    whole = -math.log1p(-(made.estimates[0].effect_pct or 0) / 100)
    none, alone = 0.98**6 * math.log(2), 0.02 * 0.98**5 * math.log(1.22 / 0.12)
    assert plain(part.sentence) == (
        f"{100 * none / whole:.0f} % of the effect is from loads without loss (89 % of all); "
        f"the loss of packet up 0 alone (1.8 % of loads) costs TCP +1.02 s and QUIC +20.0 ms, "
        f"and makes {100 * alone / whole:.1f} %."
    )
    assert cell.failures == []


def test_the_table_has_each_stratum_and_parts_that_sum_to_the_effect() -> None:
    made = run()
    (part,) = section(made).cells[0].parts
    assert [row.losses for row in part.rows] == ["none", "one", "more", "all loads"]
    shown = [[plain(text) for text in row.cells] for row in part.rows]
    assert [row[0] for row in shown] == ["89 %", "11 %", "0.57 %", "100 %"]
    assert shown[0][1:4] == ["200 ms", "100 ms", "+50 %"]
    parts = [float(row[4].removesuffix(" %").replace("−", "-")) for row in shown[:3]]
    assert sum(parts) == pytest.approx(made.estimates[0].effect_pct, abs=0.16)
    (estimate,) = made.estimates
    assert shown[3][3] == f"+{estimate.effect_pct:.0f} %"
    assert estimate.baseline_mean is not None and shown[3][1] == f"{1000 * estimate.baseline_mean:.0f} ms"


def test_without_a_verdict_no_share_of_an_effect_is_named() -> None:
    (part,) = section(run(alike)).cells[0].parts
    assert plain(part.sentence).startswith("In loads without loss (89 % of all) the effect is 0 %")
    assert "makes" not in part.sentence


def test_strata_of_long_loads_are_named_by_the_packets_that_tell_them_apart() -> None:
    long = made_up_run(timeouts_of_any, {arm: packets(40, 40) for arm in LOADS}, lost=0.06, rounds=12)
    inside = int(long.effects.strata["inside"].iloc[0])
    (part,) = section(long).cells[0].parts
    assert [row.losses for row in part.rows[:3]] == [f"{name} of {inside} packets" for name in ("none", "one", "more")]
    assert f"loads that lose none of {inside} packets" in part.sentence
    assert "the first and the last" in section(long).cells[0].note
    assert section(run()).cells[0].note == ""


def timeouts_of_any(arm: str, lost: frozenset[Packet], number: int) -> float:
    return (0.2 if arm == "tcp" else 0.1) + 0.001 * len(lost) + (1.0 if arm == "tcp" and ("up", 0) in lost else 0.0)


def test_the_chart_has_a_point_for_each_trial_and_none_between() -> None:
    made = run(point=False, tried=lambda packet: packet != ("down", 1))
    specs = section(made).data()["specs"]
    assert list(specs) == ["costs0-up", "costs0-down"]
    up, down = specs.values()
    assert [(row["packet"], row["arm"]) for row in down["data"]["values"]] == [
        *(("down 0", "TCP"), ("down 2", "TCP"), ("down 3", "TCP")),
        *(("down 0", "QUIC"), ("down 2", "QUIC")),
    ]
    (first,) = [row for row in up["data"]["values"] if row["packet"] == "up 0" and row["arm"] == "TCP"]
    assert first["cost"] == pytest.approx(1.02)
    assert plain(first["shown"]) == "+1.02 s"
    assert plain(first["chance"]) == "1.8 % of loads"
    domains = [panel["layer"][0]["encoding"]["y"]["scale"]["domain"] for panel in (up, down)]
    assert domains[0] == domains[1]
    assert domains[0][0] < 0 and domains[0][1] > 1.02
    assert list(section(made).figures()) == ["single-losses"]
    assert set(section(made).tables()) == {"loss-strata", "loss-packets", "single-losses"}


def failing(arm: str, lost: frozenset[Packet], number: int) -> float | None:
    if arm == "tcp" and lost & {*LOADS[arm]} in ({("up", 0)}, {("down", 2)}):
        return None
    if arm == "quic" and len(lost & {*LOADS[arm]}) > 1:
        return None
    return timeouts(arm, lost, number)


def test_the_probability_of_a_failure_is_said_and_a_cross_marks_it() -> None:
    made = run(failing)
    (cell,) = section(made).cells
    sentences = [plain(sentence) for sentence in cell.failures]
    assert sentences[0] == (
        "TCP timed out if one of 2 packets (up 0, down 2) was lost alone, in 2 trials; exactly 3.6 % of loads are so."
    )
    assert sentences[1].startswith("QUIC timed out in ") and sentences[1].endswith("no exact probability.")
    crosses = section(made).data()["specs"]["costs0-up"]["layer"][2]["data"]["values"]
    assert [(row["packet"], row["arm"], row["shown"]) for row in crosses] == [("up 0", "TCP", "timed_out")]


def test_loads_whose_losses_cost_nothing_are_drawn_too() -> None:
    made = run(lambda arm, lost, number: 0.2 if arm == "tcp" else 0.1)
    (part,) = section(made).cells[0].parts
    assert plain(part.sentence) == "89 % of the effect is from loads without loss (89 % of all)."
    assert len(section(made).data()["specs"]) == 2


def test_several_contrasts_are_named() -> None:
    made = run()
    contrasts = (*made.study.contrasts, Contrast("other", "quic", "tcp", "page_load_time"))
    content = replace(made.content, study=replace(made.study, contrasts=contrasts))
    (found,) = make_strata(content)
    assert [part.heading for part in found.cells[0].parts] == ["main"]


def test_the_section_is_there_only_if_losses_are_integrated() -> None:
    content = small_content({("10Mbit",): {"tcp": [0.5] * 10, "quic": [0.4] * 10}})
    assert make_strata(content) == []
    assert "strata" not in [part.anchor for part in sections(content)[0]]
    anchors = [part.anchor for part in sections(run().content)[0]]
    assert "strata" in anchors


def test_the_report_exports_the_figure_and_the_tables(tmp_path: Any) -> None:
    page = write_report(tmp_path / "report", run().content)
    names = {path.name for path in page.parent.rglob("*") if path.is_file()}
    assert {"single-losses.svg", "single-losses.png", "single-losses.pdf", "single-losses.csv"} <= names
    assert {"loss-strata.csv", "loss-packets.csv"} <= names
    assert "TCP mean" in page.read_text(encoding="utf-8")
