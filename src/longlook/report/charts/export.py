"""Write figures as files: SVG, PNG and PDF of each, the same bytes for the same chart."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import vl_convert

from longlook.report.charts.theme import specification, vegalite_version

PNG_SCALE = 2.0
_HIDDEN_LABEL = re.compile(r'<text [^>]*(?<=\s)opacity="0"[^>]*>[^<]*</text>')
_NUMBERED_ID = re.compile(r"\b(clip|gradient_)\d+\b")


def export_figure(folder: Path, name: str, chart: Any) -> list[Path]:
    """Write `name`.svg, .png and .pdf of an Altair chart below `folder`; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    svg = to_svg(chart)
    paths = [folder / f"{name}.{ending}" for ending in ("svg", "png", "pdf")]
    paths[0].write_text(svg, encoding="utf-8")
    paths[1].write_bytes(vl_convert.svg_to_png(svg, scale=PNG_SCALE))
    paths[2].write_bytes(vl_convert.svg_to_pdf(svg))
    return paths


def to_svg(chart: Any) -> str:
    """Return an Altair chart as SVG."""
    return _canonical(vl_convert.vegalite_to_svg(specification(chart), vl_version=vegalite_version()))


@cache
def javascript() -> str:
    """Return Vega, Vega-Lite and Vega-Embed in one script that defines `vegaEmbed`; it loads nothing."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=vegalite_version())
    return bundle


def _canonical(svg: str) -> str:
    """Number clip paths and gradients by appearance, as Vega numbers them from a counter of the process.

    Labels that Vega hides because they would overlap are removed, as the PDF writer would give each a transparent
    layer.
    """
    order: dict[str, str] = {}
    visible = _HIDDEN_LABEL.sub("", svg)
    return _NUMBERED_ID.sub(lambda match: order.setdefault(match[0], f"{match[1]}{len(order)}"), visible)
