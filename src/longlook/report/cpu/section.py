"""Where both ends spent CPU time: bars by kind of work for each cell, and a flame graph for each arm and end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import altair as alt
import pandas as pd

from longlook.report import wording
from longlook.report.charts.colours import WORK_COLOURS
from longlook.report.charts.theme import PAGE_FONT, page_specification, specification
from longlook.report.content import ReportContent, records
from longlook.report.cpu.flame import FlameBox, boxes_of, short_name
from longlook.report.layout import cell_label, make_grid
from longlook.report.section import Section, slug
from longlook.timeline.cpu_work import Work

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
class CpuPanel:
    """One cell: its label, how much was sampled, the name of its chart, and its flame graphs."""

    label: str
    sampled: str
    name: str
    flames: Sequence[Flame]


@dataclass(frozen=True)
class CpuSection(Section):
    """All cells in which CPU time was sampled, in the order of the heatmaps."""

    template: ClassVar[str] = "cpu/section.html.j2"

    about: str
    panels: Sequence[CpuPanel]
    specs: Mapping[str, Any]
    charts: Mapping[str, Any]
    table: pd.DataFrame

    def data(self) -> Mapping[str, Any]:
        """Return bars and flame graphs, by their names."""
        return {"specs": self.specs}

    def figures(self) -> Mapping[str, Any]:
        """Return the bars of all cells as one figure, and every flame graph as one of its own."""
        return self.charts

    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Return the mean CPU seconds by cell, arm, end and kind of work, with least and most of the rounds."""
        return {"cpu-work": self.table}


def make_cpu(content: ReportContent) -> list[CpuSection]:
    """Return the section where CPU time was sampled, else nothing."""
    work, pooled = content.table("cpu_work"), content.table("cpu_stacks")
    if work is None or pooled is None:
        return []
    means = mean_work(work)
    panels: list[CpuPanel] = []
    specs: dict[str, Any] = {}
    sized: list[Any] = []
    charts: dict[str, Any] = {}
    taken: set[str] = set()
    for place in make_grid(content, content.study.contrasts[0]).in_order():
        own = means[means["cell_id"] == place.cell_id]
        if own.empty:
            continue
        label, name = cell_label(place.cell), f"cpu{len(panels)}"
        rows = _bars(content, own)
        specs[name] = page_specification(_panel(rows).properties(width="container", height=alt.Step(BAR_PX)))
        title = alt.TitleParams(label, fontSize=12, offset=6, anchor="start")
        sized.append(_panel(rows).properties(width=PANEL_PX, height=alt.Step(BAR_PX), title=title))
        flames = []
        stacks = pooled[pooled["cell_id"] == place.cell_id]
        for arm, role in _ends(content, stacks):
            found = stacks[(stacks["arm"] == arm) & (stacks["role"] == role)]
            boxes = boxes_of(zip(found["stack"], found["cpu_s"], strict=True))
            if not boxes:
                continue
            total_s = float(found["cpu_s"].sum())
            heading = f"{content.short_label(arm)}, {role}"
            chart = flame_chart(boxes, total_s)
            key = f"{name}-{arm}-{role}"
            specs[key] = specification(chart, PAGE_FONT)
            counted = own[(own["arm"] == arm) & (own["role"] == role)]["counted_cpu_s"].iloc[0]
            about = f"{wording.quantity(total_s, 's')} sampled of {wording.quantity(counted, 's')} in a trial"
            flames.append(Flame(heading, about, key))
            named = alt.TitleParams(f"{heading}: {about}", subtitle=label)
            charts[slug(f"flame-{label}-{arm}-{role}", taken)] = chart.properties(title=named)
        trials = work[work["cell_id"] == place.cell_id].groupby("arm")["trial_id"].nunique()
        sampled = ", ".join(f"{content.short_label(str(arm))}: {count} trials" for arm, count in trials.items())
        panels.append(CpuPanel(label, sampled, name, flames))
    if not panels:
        return []
    title = alt.TitleParams("CPU seconds of a trial by kind of work", subtitle=["Means of the trials."])
    figure = alt.vconcat(*sized, spacing=24, title=title)
    return [CpuSection("cpu", "Where CPU time goes", _ABOUT, panels, specs, {"cpu-work": figure, **charts}, means)]


def mean_work(cpu_work: pd.DataFrame) -> pd.DataFrame:
    """Return cell_id, arm, role, work, trials, and the mean, least and most CPU seconds of these trials.

    `counted_cpu_s` is the mean of all that the kernel counted for that end, whatever it was doing.
    """
    table = (
        cpu_work.groupby(["cell_id", "arm", "role", "work"], sort=True)
        .agg(
            trials=("cpu_s", "count"),
            mean_cpu_s=("cpu_s", "mean"),
            least_cpu_s=("cpu_s", "min"),
            most_cpu_s=("cpu_s", "max"),
            counted_cpu_s=("counted_s", "mean"),
        )
        .reset_index()
    )
    return table.sort_values(["cell_id", "arm", "role", "work"], ignore_index=True)


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


def _bars(content: ReportContent, means: pd.DataFrame) -> list[dict[str, Any]]:
    order = list(Work)
    return [
        {
            "end": f"{content.short_label(arm)}, {role}",
            "place": place,
            "work": row["work"],
            "number": order.index(Work(row["work"])),
            "cpu_s": round(float(row["mean_cpu_s"]), 6),
            "range": f"{wording.quantity(row['least_cpu_s'], 's')} to {wording.quantity(row['most_cpu_s'], 's')}",
        }
        for place, (arm, role) in enumerate(_ends(content, means))
        for row in records(means[(means["arm"] == arm) & (means["role"] == role)])
    ]


def _panel(rows: Sequence[dict[str, Any]]) -> Any:
    ends = list(dict.fromkeys(row["end"] for row in rows))
    return (
        alt.Chart(alt.Data(values=list(rows)))
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
