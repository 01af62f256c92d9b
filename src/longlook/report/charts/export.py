"""Write figures as files: SVG, PNG and PDF of each, the same bytes for the same chart."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import vl_convert

from longlook.report.charts.drawn_cache import drawn
from longlook.report.charts.theme import specification, vegalite_version

PNG_SCALE = 2.0
ENDINGS = ("svg", "png", "pdf")
"""The forms of a figure."""
_HIDDEN_LABEL = re.compile(r'<text [^>]*(?<=\s)opacity="0"[^>]*>[^<]*</text>')
_SNIPPET = "window.vegaEmbed = vegaEmbed;"
_NUMBERED_ID = re.compile(r"\b(clip|gradient_)\d+\b")


def export_figure(folder: Path, name: str, chart: Any) -> list[Path]:
    """Write `name`.svg, .png and .pdf of an Altair chart below `folder`; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    spec = specification(chart)
    paths = []
    for ending, content in drawn(spec, ENDINGS, lambda: _figure(spec)).items():
        path = folder / f"{name}.{ending}"
        path.write_bytes(content)
        paths.append(path)
    return paths


def _figure(spec: dict[str, Any]) -> dict[str, bytes]:
    svg = _svg(spec)
    return {
        "svg": svg.encode(),
        "png": vl_convert.svg_to_png(svg, scale=PNG_SCALE),
        "pdf": vl_convert.svg_to_pdf(svg),
    }


def picture(chart: Any, ending: str) -> bytes:
    """Return an Altair chart as one of ENDINGS; with the same chart the same bytes."""
    spec = specification(chart)
    svg = to_svg_of(spec)
    if ending == "svg":
        return svg.encode()
    made: bytes = vl_convert.svg_to_pdf(svg) if ending == "pdf" else vl_convert.svg_to_png(svg, scale=PNG_SCALE)
    return made


def to_svg(chart: Any) -> str:
    """Return an Altair chart as SVG."""
    return _svg(specification(chart))


def to_svg_of(spec: dict[str, Any]) -> str:
    """Return a specification of Vega-Lite as SVG, from the cache of drawings if it was drawn before."""
    return drawn(spec, ("svg",), lambda: {"svg": _svg(spec).encode()})["svg"].decode()


def _svg(spec: dict[str, Any]) -> str:
    return _canonical(vl_convert.vegalite_to_svg(spec, vl_version=vegalite_version()))


@cache
def javascript() -> str:
    """Return Vega, Vega-Lite and Vega-Embed in one script that defines `vegaEmbed`; it loads nothing."""
    return drawn(_SNIPPET, ("js",), _bundle)["js"].decode()


def _bundle() -> dict[str, bytes]:
    bundle: str = vl_convert.javascript_bundle(_SNIPPET, vl_version=vegalite_version())
    return {"js": bundle.encode()}


def _canonical(svg: str) -> str:
    """Number clip paths and gradients by appearance, as Vega numbers them from a counter of the process.

    Labels that Vega hides because they would overlap are removed, as the PDF writer would give each a transparent
    layer.
    """
    order: dict[str, str] = {}
    visible = _HIDDEN_LABEL.sub("", svg)
    return _NUMBERED_ID.sub(lambda match: order.setdefault(match[0], f"{match[1]}{len(order)}"), visible)
