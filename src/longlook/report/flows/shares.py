"""The shares of each arm's first group of flows against a factor, beside the fair share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import altair as alt

from longlook.analysis import FAIR, PART
from longlook.core import ArmLevel, SettingError, Study
from longlook.report import wording
from longlook.report.charts.colours import INK_SOFT, arm_colours
from longlook.report.charts.labels import LABEL_PX, apart
from longlook.report.charts.theme import page_specification
from longlook.report.content import ReportContent
from longlook.report.layout import Grid, abbreviated, make_grid
from longlook.report.section import Section, slug
from longlook.study import Catalogue, FlowGroup, cell_id, cell_settings, cells_of, groups_of, installed, labels_of

LIMITS = {"share_of_used": 100.0, "share_of_link": 100.0, "jain_index": 1.0}
"""The greatest possible values."""

ABOUT = (
    "Median over rounds, with its interval where there are rounds enough for one.",
    "Dashed: what would be fair; in an arm’s colour where numbers of flows differ.",
)
ABOUT_EMULATED = "Dotted: each connection that a flow’s Cubic acts for as a flow, N/(M+N)."

PANEL_PX, PANEL_HEIGHT_PX = 330, 190
NAME_CHARACTERS = 18
LEVEL_CHARACTERS = 34
"""The characters of all levels that fit beside each other on a narrow screen; longer ones are written aslant."""

_FAIR, _EMULATED = "flows share equally", "the connections for which flows act share equally"
_DASHES = alt.Scale(domain=[_FAIR, _EMULATED], range=[[4, 3], [1, 2.5]])
"""The two kinds of lines that shares are compared with."""

_DODGE = 0.24
"""The width over which the arms of a level lie side by side, in units of the distance between levels."""


@dataclass(frozen=True)
class ShareChart:
    """One metric: a small chart for each combination of the figure's rows, and the same as one figure to export."""

    metric: str
    title: str
    panels: Sequence[tuple[str, str]]  # the rows' levels, name of the chart
    specs: Mapping[str, Any]
    figure: Any


@dataclass(frozen=True)
class ShareSection(Section):
    """All metrics of shares."""

    template: ClassVar[str] = "flows/shares.html.j2"

    shares: Sequence[ShareChart]
    about: Sequence[str]

    def context(self) -> Mapping[str, Any]:
        """Return the section, and the sentences that explain its charts."""
        return {"section": self, "about": " ".join(self.about)}

    def data(self) -> Mapping[str, Any]:
        """Return the panels of all metrics, by their names."""
        return {"specs": {name: spec for each in self.shares for name, spec in each.specs.items()}}

    def figures(self) -> Mapping[str, Any]:
        """Return one figure for each metric."""
        taken: set[str] = set()
        return {f"shares-{slug(each.metric, taken)}": each.figure for each in self.shares}


class Fairness:
    """The fair value of a metric for an arm in a cell, and the value that is fair to the number of flows for which it
    acts.
    """

    def __init__(self, content: ReportContent) -> None:
        flows = content.table("flows")
        self._emulated = emulated_parts(content.study) if flows is not None else {}
        self._parts: dict[tuple[str, str], tuple[float, bool]] = {}  # subject's part in %, whether traffic crossed
        if flows is not None:
            for (cell, arm), rows in flows.groupby(["cell_id", "arm"], sort=False):
                flows = rows.drop_duplicates("flow")
                groups = flows[~flows["cross"].astype(bool)]["group"]
                if len(groups):
                    part = 100 * float((groups == groups.iloc[0]).mean())
                    self._parts[str(cell), str(arm)] = part, bool(flows["cross"].astype(bool).any())

    def of(self, metric: str, cell_id: str, arm: str) -> float | None:
        """Return the fair value in the metric's unit, or None if there is none, as for shares of the link with cross
        traffic.
        """
        fair = FAIR.get(metric)
        if fair is None or isinstance(fair, float):
            return fair
        part, crossed = self._parts.get((cell_id, arm), (None, False))
        return None if crossed and metric == "share_of_link" else part

    def emulated(self, metric: str, cell_id: str, arm: str) -> float | None:
        """Return the value that an arm would have if each connection for which a flow acts were a flow. Return None if
        each flow acts for one connection, or there is no fair value.
        """
        if FAIR.get(metric) != PART or self.of(metric, cell_id, arm) is None:
            return None
        return self._emulated.get((cell_id, arm))

    @property
    def emulates(self) -> bool:
        """Whether a flow of the study acts for several connections."""
        return bool(self._emulated)


def make_shares(content: ReportContent) -> list[ShareSection]:
    """Return the section, or nothing if no flows competed or the study has no metric of shares."""
    if content.table("flows") is None:
        return []
    grid = make_grid(content, content.study.first_contrast)
    fairness = Fairness(content)
    about = (*ABOUT, ABOUT_EMULATED) if fairness.emulates else ABOUT
    shares = [
        _share(content, grid, fairness, metric, about)
        for metric in content.study.metrics
        if metric in FAIR and any(item.metric == metric and item.median is not None for item in content.levels)
    ]
    return [ShareSection("shares", "Shares", shares, about)] if shares else []


def levels_of(content: ReportContent, metric: str) -> dict[tuple[str, str], ArmLevel]:
    """Return the levels of a metric by cell and arm."""
    return {(item.cell_id, item.arm): item for item in content.levels if item.metric == metric}


def _share(content: ReportContent, grid: Grid, fairness: Fairness, metric: str, about: Sequence[str]) -> ShareChart:
    facts = content.facts(metric)
    levels = levels_of(content, metric)
    tables = {row: _rows(content, grid, row, metric, levels, fairness) for row in grid.rows}
    tables = {row: table for row, table in tables.items() if table[0]}
    top = LIMITS.get(metric) or 1.06 * max(
        value
        for points, fair in tables.values()
        for value in [*(p["high"] for p in points), *(f["fair"] for f in fair)]
    )
    charts = {row: _panel(grid, points, fair, top, facts.unit) for row, (points, fair) in tables.items()}
    names = {row: f"{metric}-{number}" for number, row in enumerate(charts)}
    figure = alt.vconcat(
        *(
            chart.properties(width=PANEL_PX, height=PANEL_HEIGHT_PX, title=_heading(row))
            for row, chart in charts.items()
        ),
        spacing=24,
        title=alt.TitleParams(facts.label, subtitle=list(about)),
    )
    return ShareChart(
        metric=metric,
        title=facts.label,
        panels=[(row if row != "all" else "", names[row]) for row in charts],
        specs={
            names[row]: page_specification(chart.properties(width="container", height=PANEL_HEIGHT_PX))
            for row, chart in charts.items()
        },
        figure=figure,
    )


def _heading(row: str) -> Any:
    return alt.TitleParams("" if row == "all" else row, fontSize=12, offset=8)


Rows = list[dict[str, Any]]


def _rows(
    content: ReportContent,
    grid: Grid,
    row: str,
    metric: str,
    levels: Mapping[tuple[str, str], ArmLevel],
    fairness: Fairness,
) -> tuple[Rows, Rows]:
    """Return the points of the arms in one row of the grid, and the fair values there."""
    arms = [arm.name for arm in content.study.arms]
    colours = arm_colours(arms, *content.compared_first)
    step = _DODGE / max(1, len(arms) - 1)
    points: Rows = []
    fair: Rows = []
    for place, column in enumerate(grid.columns):
        cell_id = grid.places[row, column].cell_id or ""
        here = [(arm, levels[cell_id, arm]) for arm in arms if (cell_id, arm) in levels]
        wanted = {arm: fairness.of(metric, cell_id, arm) for arm, _ in here}
        several = len({round(value, 6) for value in wanted.values() if value is not None}) > 1
        for arm, level in here:
            if level.median is None:
                continue
            points.append(
                {
                    "x": round(place + (arms.index(arm) * step - _DODGE / 2 if len(arms) > 1 else 0), 4),
                    "arm": content.short_label(arm),
                    "column": column,
                    "value": level.median,
                    "low": level.median if level.low is None else level.low,
                    "high": level.median if level.high is None else level.high,
                    "shown": f"{wording.level(level)} ({wording.level_interval(level)}), n = {level.n}",
                    "colour": colours[arm],
                }
            )
        lines = [
            (value, colours[arm] if several else INK_SOFT, _FAIR)
            for arm, value in wanted.items()
            if value is not None and (several or arm == here[0][0])
        ]
        lines += [
            (value, colours[arm], _EMULATED)
            for arm in wanted
            if (value := fairness.emulated(metric, cell_id, arm)) is not None
        ]
        for value, colour, kind in lines:
            ends = {"from": place - 0.38, "to": place + 0.38}
            shown = wording.quantity(value, content.facts(metric).unit)
            fair.append({**ends, "fair": round(value, 4), "colour": colour, "shown": shown, "line": kind})
    return points, fair


def _panel(grid: Grid, points: Rows, fair: Rows, top: float, unit: str) -> Any:
    columns = list(abbreviated(grid.columns, NAME_CHARACTERS).values())
    fits = sum(map(len, columns)) <= LEVEL_CHARACTERS
    slant: dict[str, Any] = {} if fits else {"labelAngle": -35, "labelAlign": "right"}
    x = alt.X(
        "x:Q",
        title=grid.column_title or None,
        scale=alt.Scale(domain=[-0.5, len(columns) - 0.5], nice=False),
        axis=alt.Axis(
            values=list(range(len(columns))), labelExpr="columns[datum.value]", grid=False, ticks=False, domain=False,
            labelPadding=6, **slant,
        ),
    )  # fmt: skip
    axis = alt.Axis(domain=False, ticks=False, tickCount=5)
    y = alt.Y("value:Q", title=unit or None, scale=alt.Scale(domain=[0, top], nice=False), axis=axis)
    colour = alt.Color("colour:N", scale=None)
    base = alt.Chart(alt.Data(values=points)).encode(color=colour)
    layers = [
        alt.Chart(alt.Data(values=fair))
        .mark_rule(strokeWidth=1.3, opacity=1)
        .encode(
            x=alt.X("from:Q"),
            x2=alt.X2("to:Q"),
            y=alt.Y("fair:Q"),
            color=colour,
            strokeDash=alt.StrokeDash("line:N", scale=_DASHES, legend=None),
            tooltip=[alt.Tooltip("shown:N", title="share"), alt.Tooltip("line:N", title="where")],
        ),
        base.mark_line(strokeWidth=1.6, opacity=1, clip=True).encode(x=x, y=y, detail=alt.Detail("arm:N")),
        base.mark_rule(strokeWidth=2, opacity=1, clip=True).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_point(filled=True, size=52, opacity=1).encode(
            x=x, y=y, tooltip=[alt.Tooltip(f"{name}:N") for name in ("arm", "column", "shown")]
        ),
        _names(points, top),
    ]
    return alt.layer(*layers).add_params(alt.param("columns", value=columns))


def _names(points: Rows, top: float) -> Any:
    """Return each arm's name to the right of its last point."""
    last = list({row["arm"]: row for row in points}.values())
    places = apart([PANEL_HEIGHT_PX * (1 - row["value"] / top) for row in last], LABEL_PX, 0, PANEL_HEIGHT_PX)
    short = abbreviated([row["arm"] for row in last], NAME_CHARACTERS)
    rows = [
        {"name": short[row["arm"]], "colour": row["colour"], "at": round(top * (1 - place / PANEL_HEIGHT_PX), 5)}
        for row, place in zip(last, places, strict=True)
    ]
    names = alt.Chart(alt.Data(values=rows)).mark_text(align="left", dx=6, fontSize=11.5)
    return names.encode(
        x=alt.XValue("width"), y=alt.Y("at:Q"), text=alt.Text("name:N"), color=alt.Color("colour:N", scale=None)
    )


_CUBIC = "cubic"
_CUBIC_AFTER_LOSS = 0.7
"""The share of its window that Cubic keeps after a loss (RFC 9438, 4.6)."""


def emulated_parts(study: Study, catalogue: Catalogue | None = None) -> dict[tuple[str, str], float]:
    """Return, by cell id and arm, the part in % that the arm's first group of flows would have of the competing flows
    if each connection for which a flow acts were a flow. A flow that acts for N connections, against M others, would
    have N/(M+N).

    Arms for which this part equals the part of their flows are left out. A stack declares its number by the knob
    `emulated_connections`, or by the share of its window that its Cubic keeps after a loss, (N−1+0.7)/N for N
    connections. Arms that cannot be resolved here are left out, too, such as arms with another installation's plug-ins.

    Source: Kakhki et al., IMC 2017, 5.1, which prints N/(M+1) and 2/(M+1): shares that do not add up to 1.
    """
    known = catalogue or installed()
    found: dict[tuple[str, str], float] = {}
    for cell in cells_of(study):
        settings = cell_settings(study, cell)
        for arm in study.arms:
            try:
                groups = [group for group in groups_of(arm, settings, known) if group.count and not group.cross]
            except SettingError:
                continue
            counts = [group.count for group in groups]
            acting = [group.count * connections_of(group, known) for group in groups]
            if acting[0] * sum(counts) != counts[0] * sum(acting):
                found[cell_id(labels_of(cell)), arm.name] = 100 * acting[0] / sum(acting)
    return found


def connections_of(group: FlowGroup, catalogue: Catalogue) -> int:
    """Return for how many connections the sender of a group acts: 1 unless it is QUIC with a Cubic that says more."""
    server = group.setup.server
    knobs: Mapping[str, object] = server.knobs
    if group.setup.congestion_control is not None or knobs.get("congestion_control") != _CUBIC:
        return 1
    if (count := knobs.get("emulated_connections")) is not None:
        return int(str(count))
    declared = catalogue.stacks[server.stack].knobs["congestion_control"].window_after_loss.get(_CUBIC)
    return 1 if declared is None else round((1 - _CUBIC_AFTER_LOSS) / (1 - declared))
