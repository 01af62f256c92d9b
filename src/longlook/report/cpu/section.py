"""The CPU time of both ends: bars by kind of work for each cell, and a flame graph for each arm and end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import altair as alt
import pandas as pd

from longlook.analysis import mean_work
from longlook.report import wording
from longlook.report.chart_section import CellPanel, ChartSection, panels_figure, per_cell
from longlook.report.charts.colours import WORK_COLOURS
from longlook.report.charts.theme import PAGE_FONT, specification
from longlook.report.content import ReportContent, records
from longlook.report.cpu.flame import FlameBox, boxes_of, short_name
from longlook.report.section import slug
from longlook.timeline import Work

PANEL_PX, BAR_PX, FLAME_PX, BOX_PX = 620, 26, 1040, 15
_LETTER_PX = 6.3  # of the labels in boxes, on average
_SHORTEST_LABEL = 4
_ABOUT = (
    "The device is the pair of virtual devices that lead to the emulated link; the kernel's work for a packet that "
    "arrives counts for whichever program runs at the time. A flame graph says how much of the CPU time was sampled: "
    "what is missing is probably spent where interrupts are off, in going to sleep."
)


@dataclass(frozen=True)
class Flame:
    """The flame graph of one end of an arm."""

    title: str
    about: str
    name: str


@dataclass(frozen=True)
class CpuSection(ChartSection):
    """All cells in which CPU time was sampled, and the flame graphs of each by the name of its panel."""

    template: ClassVar[str] = "cpu/section.html.j2"

    about: str
    panels: Sequence[CellPanel]
    flames: Mapping[str, Sequence[Flame]]
    table: pd.DataFrame

    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Return the mean CPU seconds by cell, arm, end and kind of work, with least and most of the rounds."""
        return {"cpu-work": self.table}


def make_cpu(content: ReportContent) -> list[CpuSection]:
    """Return the section if CPU time was sampled, else nothing."""
    work, pooled = content.table("cpu_work"), content.table("cpu_stacks")
    if work is None or pooled is None:
        return []
    means = mean_work(work)
    panels = per_cell(content, work, _bars, name="cpu", size=(PANEL_PX, alt.Step(BAR_PX)), note=_sampled)
    if not panels:
        return []
    title = "CPU seconds of a trial by kind of work"
    charts = {"cpu-work": panels_figure(panels, title, ["Means of the trials."], spacing=24)}
    specs = {}
    flames: dict[str, list[Flame]] = {}
    taken: set[str] = set()
    for panel in panels:
        specs[panel.name] = panel.spec
        flames[panel.name] = []
        stacks = pooled[pooled["cell_id"] == panel.place.cell_id]
        counted = means[means["cell_id"] == panel.place.cell_id]
        for arm, role in _ends(content, stacks):
            found = _of_end(stacks, arm, role)
            boxes = boxes_of(zip(found["stack"], found["cpu_s"], strict=True))
            if not boxes:
                continue
            total_s, counted_s = float(found["cpu_s"].sum()), _of_end(counted, arm, role)["counted_cpu_s"].iloc[0]
            about = f"{wording.quantity(total_s, 's')} sampled of {wording.quantity(counted_s, 's')} in a trial"
            flame = Flame(f"{content.short_label(arm)}, {role}", about, f"{panel.name}-{arm}-{role}")
            flames[panel.name].append(flame)
            chart = flame_chart(boxes, total_s)
            specs[flame.name] = specification(chart, PAGE_FONT)
            heading = alt.TitleParams(f"{flame.title}: {about}", subtitle=panel.label)
            charts[slug(f"flame-{panel.label}-{arm}-{role}", taken)] = chart.properties(title=heading)
    return [CpuSection("cpu", "Where CPU time goes", specs, charts, _ABOUT, panels, flames, means)]


def _of_end(table: pd.DataFrame, arm: str, role: str) -> pd.DataFrame:
    return table[(table["arm"] == arm) & (table["role"] == role)]


def _sampled(content: ReportContent, work: pd.DataFrame) -> str:
    trials = work.groupby("arm")["trial_id"].nunique()
    return ", ".join(f"{content.short_label(str(arm))}: {count} trials" for arm, count in trials.items())


def flame_chart(boxes: Sequence[FlameBox], total_s: float) -> Any:
    """Return the flame graph of some boxes, the outermost functions at the bottom."""
    rows = [
        {
            "start": round(box.start, 6),
            "end": round(box.end, 6),
            "low": box.depth,
            "high": box.depth + 1,
            "middle": round((box.start + box.end) / 2, 6),
            "name": box.name,
            "label": _fitting(short_name(box.name), (box.end - box.start) / total_s * FLAME_PX),
            "work": box.work.value,
            "share": f"{100 * (box.end - box.start) / total_s:.1f} %",
        }
        for box in boxes
    ]
    depth = max(box.depth for box in boxes) + 1
    x = alt.X("start:Q", title="CPU seconds of a trial", scale=alt.Scale(domain=[0, total_s], nice=False),
              axis=alt.Axis(grid=False, tickCount=6))  # fmt: skip
    y = alt.Y("low:Q", title=None, axis=None, scale=alt.Scale(domain=[0, depth], nice=False))
    base = alt.Chart(alt.Data(values=rows))
    drawn = base.mark_rect(stroke="#ffffff", strokeWidth=0.8).encode(
        x=x, x2="end:Q", y=y, y2="high:Q", color=_colour(),
        tooltip=[alt.Tooltip("name:N", title="function"), alt.Tooltip("share:N", title="of CPU time"),
                 alt.Tooltip("work:N", title="mostly")],
    )  # fmt: skip
    letters = base.transform_calculate(centre="datum.low + 0.5").mark_text(fontSize=10, color="#1c1b1a")
    named = letters.encode(
        x=alt.X("middle:Q"), y=alt.Y("centre:Q", scale=alt.Scale(domain=[0, depth], nice=False)), text="label:N"
    )
    return (drawn + named).properties(width=FLAME_PX, height=depth * BOX_PX)


def _fitting(name: str, width_px: float) -> str:
    room = int(width_px / _LETTER_PX)
    if len(name) <= room:
        return name
    return name[: room - 1] + "…" if room >= _SHORTEST_LABEL else ""


def _ends(content: ReportContent, stacks: pd.DataFrame) -> list[tuple[str, str]]:
    """Return arms and ends that have stacks, the servers of all arms first."""
    found = {(str(row["arm"]), str(row["role"])) for row in records(stacks[["arm", "role"]].drop_duplicates())}
    return [
        (arm.name, role) for role in ("server", "client") for arm in content.study.arms if (arm.name, role) in found
    ]


def _bars(content: ReportContent, work: pd.DataFrame) -> Any:
    means, order = mean_work(work), list(Work)
    rows = [
        {
            "end": f"{content.short_label(arm)}, {role}",
            "place": place,
            "work": row["work"],
            "number": order.index(Work(row["work"])),
            "cpu_s": round(float(row["mean_cpu_s"]), 6),
            "range": f"{wording.quantity(row['least_cpu_s'], 's')} to {wording.quantity(row['most_cpu_s'], 's')}",
        }
        for place, (arm, role) in enumerate(_ends(content, means))
        for row in records(_of_end(means, arm, role))
    ]
    ends = list(dict.fromkeys(row["end"] for row in rows))
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_bar()
        .encode(
            y=alt.Y("end:N", title=None, sort=ends),
            x=alt.X("cpu_s:Q", title="CPU seconds of a trial", stack="zero", axis=alt.Axis(tickCount=6)),
            color=_colour(),
            order=alt.Order("number:Q"),
            tooltip=[alt.Tooltip("end:N"), alt.Tooltip("work:N"), alt.Tooltip("cpu_s:Q", title="mean, s"),
                     alt.Tooltip("range:N", title="least to most")],
        )
    )  # fmt: skip


def _colour() -> alt.Color:
    kinds = [work.value for work in Work]
    return alt.Color(
        "work:N",
        title=None,
        scale=alt.Scale(domain=kinds, range=[WORK_COLOURS[kind] for kind in kinds]),
        legend=alt.Legend(orient="bottom", columns=4),
    )
