"""The share of a declared population in which a metric is below each value, as steps: a panel for each combination of
the other factors' levels, a line for each arm.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import altair as alt
import pandas as pd

from longlook.analysis import FACTOR_PREFIX
from longlook.core import POPULATION
from longlook.report.chart_section import ChartSection, panel_title
from longlook.report.charts.colours import arm_colours
from longlook.report.charts.theme import page_specification
from longlook.report.content import ReportContent, records

PANEL_PX, PANEL_HEIGHT_PX = 400, 300
_FAR_APART = 5.0
"""The axis of shares is logarithmic if the largest is at least this multiple of the smallest, and none is 0."""
_TICKS = [1, 2, 5, 10, 20, 50, 100]
_DASHES = ([1, 0], [6, 3], [2, 2])


@dataclass(frozen=True)
class PopulationSection(ChartSection):
    """The figure of one metric, whose label is `label`, and the population's shares."""

    template: ClassVar[str] = "population/section.html.j2"

    label: str
    about: str
    factor: str
    shares: Sequence[tuple[str, str]]
    source: str
    table: pd.DataFrame

    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Return `population`: a row for each arm, panel and value."""
        return {"population": self.table}


def make_population(content: ReportContent) -> list[PopulationSection]:
    """Return the section, or nothing if the study's figure is another or no stratum is complete."""
    study, table = content.study, content.table("population")
    if study.figure.kind != POPULATION or study.population is None or table is None:
        return []
    facts = content.facts(study.figure_metric)
    about = (
        f"Share of the declared population in which {facts.label[:1].lower()}{facts.label[1:]} is below the value on "
        "the axis, or nothing was measured because nothing arrived. The shares of the population are the study’s input."
    )
    rows = _rows(content, table)
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    arms = [content.short_label(arm.name) for arm in study.arms]
    charts = [_panel([row for row in rows if row["panel"] == panel], arms, facts.unit) for panel in panels]
    titled = [
        chart.properties(width=PANEL_PX, height=PANEL_HEIGHT_PX, **_titled(panel))
        for panel, chart in zip(panels, charts, strict=True)
    ]
    title = alt.TitleParams(f"{facts.label}: share of the population below", subtitle=_wrapped(about))
    figure = alt.concat(*titled, columns=2, spacing=28).properties(title=title)
    shares = [(label, f"{share:g} %") for label, share in study.population.shares.items()]
    specs = {"population": page_specification(alt.concat(*titled, columns=1, spacing=28))}
    return [
        PopulationSection(
            "population", "Population", specs, {"population": figure}, facts.label, about, study.population.factor,
            shares, study.population.source, table,
        )
    ]  # fmt: skip


def _titled(panel: str) -> dict[str, Any]:
    """Return the title of a panel; none if the population is the only factor."""
    return {"title": panel_title(panel)} if panel else {}


def _rows(content: ReportContent, table: pd.DataFrame) -> list[dict[str, Any]]:
    factors = [str(name) for name in table.columns if str(name).startswith(FACTOR_PREFIX)]
    return [
        {
            "panel": ", ".join(f"{name.removeprefix(FACTOR_PREFIX)}: {row[name]}" for name in factors),
            "arm": content.short_label(str(row["arm"])),
            "below": row["below"],
            "share": row["share_pct"],
        }
        for row in records(table)
    ]


def _panel(rows: Sequence[dict[str, Any]], arms: Sequence[str], unit: str) -> Any:
    dashes = [_DASHES[number % len(_DASHES)] for number in range(len(arms))]
    known = [row["share"] for row in rows]
    far = min(known) > 0 and max(known) / min(known) >= _FAR_APART
    scale = alt.Scale(type="log", domain=[min(known) / 1.3, 100], nice=False) if far else alt.Scale(domain=[0, 100])
    ticks = [tick for tick in _TICKS if tick >= min(known) / 1.3]
    axis = alt.Axis(values=ticks, format="d") if far else alt.Axis(tickCount=5)
    below = [row["below"] for row in rows]
    room = 0.0 if min(below) < max(below) else abs(below[0]) * 0.05 or 1.0  # a single value would have no axis
    whole = all(value == round(value) for value in below)
    value_axis = alt.Axis(grid=False, format="d") if whole else alt.Axis(grid=False)
    legend = alt.Legend(orient="bottom", columns=1, labelLimit=380, symbolStrokeWidth=2)
    return (
        alt.Chart(alt.Data(values=list(rows)))
        .mark_line(interpolate="step-before", strokeWidth=2)
        .encode(
            x=alt.X("below:Q", title=unit or None, axis=value_axis,
                    scale=alt.Scale(domain=[min(below) - room, max(below) + room], nice=False, zero=False)),
            y=alt.Y("share:Q", title="% of the population", scale=scale, axis=axis),
            color=alt.Color("arm:N", title=None, sort=list(arms), legend=legend,
                            scale=alt.Scale(domain=list(arms), range=list(arm_colours(arms).values()))),
            strokeDash=alt.StrokeDash("arm:N", title=None, sort=list(arms), legend=legend,
                                      scale=alt.Scale(domain=list(arms), range=dashes)),
            tooltip=[alt.Tooltip("arm:N"), alt.Tooltip("below:Q", title="below"), alt.Tooltip("share:Q", title="%")],
        )
    )  # fmt: skip


def _wrapped(text: str) -> list[str]:
    """Return the sentences of a subtitle, one a line."""
    return [f"{part.removesuffix('.')}." for part in text.split(". ")]
