"""One look for every chart, on the page and exported."""

from typing import Any

import altair as alt
from altair.utils import schemapi

from longlook.core import visible
from longlook.report.charts.colours import INK, INK_SOFT, RULE

PAGE_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif"
EXPORT_FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
"""vl-convert carries Liberation Sans, so exported figures are the same on every machine. Its PDF writer orders fonts
and opacities at random if there are several, so these figures use one weight of one font and nothing transparent.
"""


schemapi.disable_debug_mode()
"""Altair checks every part of a chart against its schema, which takes as long as all the rest. A mistake there is one
of this package: its tests turn the checks on (tests/unit/report/conftest.py)."""


def specification(chart: Any, font: str = EXPORT_FONT) -> dict[str, Any]:
    """Return the Vega-Lite of an Altair chart in Longlook's look, independent of Altair's global theme."""
    spec: dict[str, Any] = _harmless(chart.to_dict(validate=schemapi.DEBUG_MODE))
    spec["config"] = configuration(font)
    return spec


def _harmless(value: Any, *, title: bool = False) -> Any:
    """Return a part of a specification with texts that can be drawn, whatever a user or a program wrote.

    A control character would abort the process that draws, and no SVG can hold one. Vega-Lite writes titles into
    expressions, for people who have a figure read to them, and does not quote backslashes there: one before a quotation
    mark ended the text, and the rest was evaluated. So a title has a like character for each.
    """
    if isinstance(value, str):
        return visible(value).replace("\\", "\N{REVERSE SOLIDUS OPERATOR}") if title else visible(value)
    if isinstance(value, dict):
        return {key: _harmless(each, title=key == "title") for key, each in value.items()}
    return [_harmless(each, title=title) for each in value] if isinstance(value, list) else value


def page_specification(chart: Any) -> dict[str, Any]:
    """Return the same for a chart that is as wide as its place on the page."""
    return {**specification(chart, PAGE_FONT), "autosize": {"type": "fit-x", "contains": "padding"}}


def unit_axis(unit: str, **properties: Any) -> alt.Axis:
    """Return an axis of a metric; seconds below one are labelled in milliseconds, as everywhere in the report."""
    if unit == "s":
        milliseconds, seconds = "format(datum.value * 1000, ',.4~r') + ' ms'", "format(datum.value, ',.4~r') + ' s'"
        properties["labelExpr"] = f"datum.value == 0 ? '0' : abs(datum.value) < 1 ? {milliseconds} : {seconds}"
    else:
        properties["format"] = "~s" if unit == "bit/s" else ",.4~r"
    return alt.Axis(**properties)


def vegalite_version() -> str:
    """Return the major and minor version that both Altair and vl-convert support, e.g. `6.4`."""
    version: str = alt.SCHEMA_VERSION
    return ".".join(version.lstrip("v").split(".")[:2])


LABEL_PX = 12
"""The size of labels; titles of axes and legends have the same."""


def configuration(font: str) -> dict[str, Any]:
    """Return Vega-Lite's `config`."""
    return {
        "font": font,
        "background": "#ffffff",
        "padding": 14 if font == EXPORT_FONT else 5,
        "view": {"stroke": None},
        "axis": {
            "domainColor": RULE,
            "gridColor": "#eeece8",
            "labelColor": INK_SOFT,
            "labelFontSize": LABEL_PX,
            "labelLimit": 420,
            "maxExtent": 480,
            "tickColor": RULE,
            "titleColor": INK_SOFT,
            "titleFontSize": LABEL_PX,
            "titleFontWeight": "normal",
            "titlePadding": 10,
        },
        "legend": {
            "labelColor": INK_SOFT,
            "labelFontSize": LABEL_PX,
            "titleColor": INK_SOFT,
            "titleFontSize": LABEL_PX,
            "titleFontWeight": "normal",
        },
        "title": {
            "anchor": "start",
            "color": INK,
            "fontSize": 17,
            "fontWeight": "normal",
            "offset": 18,
            "subtitleColor": INK_SOFT,
            "subtitleFontSize": LABEL_PX,
            "subtitleFontWeight": "normal",
            "subtitleLineHeight": 17,
            "subtitlePadding": 6,
        },
    }
