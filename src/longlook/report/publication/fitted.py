"""A chart as a figure of a given width whose letters have a given size.

A chart of Vega-Lite has the size that its parts add up to. Scaling it to a column would scale its letters as well, so
the letters are drawn larger or smaller first, by as much as the scaling takes away: a fixed point, found by drawing.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import vl_convert

from longlook.core import InputError
from longlook.report.charts.export import to_svg_of
from longlook.report.charts.theme import EXPORT_FONT, LABEL_PX, specification
from longlook.report.contrasts.heatmap import PALETTE, without_units
from longlook.report.publication.style import POINTS_PER_INCH, FigureStyle

SMALLEST_PT = 6.0
"""Letters below this size cannot be read in print."""

_LARGEST_GROWTH = 1.6
"""Letters that are drawn larger than this no longer fit the parts that were made for them."""
_UNITS_FIT = 1.15
"""Letters of a heatmap that are drawn larger than this leave no room for the unit of each number."""
_SMALLEST_GROWTH = 0.5
"""Letters that are drawn smaller than this would be lost in their parts: such a figure stays narrower."""
_DRAWINGS, _NEAR = 8, 0.005
_PNG_DPI = 300.0
_PADDING_PX = 2
_SIZE = re.compile(r'<svg ([^>]*?)width="([\d.]+)" height="([\d.]+)"')
_FONT = re.compile(rb"/BaseFont ?/(?:[A-Z]{6}\+)?([^\s/<>\[\]()]+)")
_VIEWS = ("hconcat", "vconcat", "concat", "layer", "spec")
_ROWS = ("data", "datasets")
_LETTERS = ("fontSize", "labelFontSize", "titleFontSize", "subtitleFontSize", "subtitleLineHeight", "lineHeight")


@dataclass(frozen=True)
class FittedFigure:
    """A figure in three forms, its width and the size of its labels in points, and the fonts that it was drawn with.

    `heading` are the lines of its title, if they do not stand in it.
    """

    svg: bytes
    pdf: bytes
    png: bytes
    width_pt: float
    label_pt: float
    fonts: tuple[str, ...]
    heading: tuple[str, ...] = ()


def fitted(chart: Any, style: FigureStyle) -> FittedFigure:
    """Return an Altair chart as a figure in a style.

    A figure that is much narrower than the style's width stays narrower. Raise InputError if this machine does not have
    the style's font.
    """
    spec = specification(chart, style.font or EXPORT_FONT)
    heading: list[str] = []
    if not style.title:
        spec = _without_heading(spec, heading)
    spec["config"] = {**spec["config"], "padding": _PADDING_PX}
    growth, svg = _nearest(spec, style)
    (width_px, height_px), scale = _size_of(svg), _scale(svg, style)
    width_pt, height_pt = width_px * scale, height_px * scale
    pdf = vl_convert.svg_to_pdf(_resized(svg, width_px, height_px, f"{width_pt:.3f}", f"{height_pt:.3f}"))
    fonts = tuple(sorted({name.decode("ascii", "replace") for name in _FONT.findall(pdf)}))
    _refuse_other_font(style, fonts)
    return FittedFigure(
        svg=_resized(svg, width_px, height_px, f"{width_pt:.3f}pt", f"{height_pt:.3f}pt").encode(),
        pdf=pdf,
        png=vl_convert.svg_to_png(svg, scale=scale * _PNG_DPI / POINTS_PER_INCH),
        width_pt=width_pt,
        label_pt=LABEL_PX * growth * scale,
        fonts=fonts,
        heading=tuple(heading),
    )


def _nearest(spec: Mapping[str, Any], style: FigureStyle) -> tuple[float, str]:
    """Return the growth of letters that gives labels nearest to a style's size, and the drawing with it.

    Labels come and go with their size, so that a drawing's width jumps, and a fixed point may not exist: each step goes
    half of the way, and the best drawing counts.
    """
    growth, best, svg_of_best, smallest = 1.0, 1.0, "", math.inf
    for _ in range(_DRAWINGS):
        svg = to_svg_of(_with_letters(spec, growth))
        nearer = min(max(style.font_pt / (LABEL_PX * _scale(svg, style)), _SMALLEST_GROWTH), _LARGEST_GROWTH)
        off = abs(math.log(nearer / growth))
        if off < smallest:
            best, svg_of_best, smallest = growth, svg, off
        if off < _NEAR:
            break
        growth = math.sqrt(growth * nearer)
    return best, svg_of_best


def _scale(svg: str, style: FigureStyle) -> float:
    """Return the points for a pixel of a drawing, so that it has a style's width, or that its letters can be small."""
    return min(style.width_pt / _size_of(svg)[0], style.font_pt / (LABEL_PX * _SMALLEST_GROWTH))


def _without_heading(value: Any, heading: list[str]) -> Any:
    """Return a specification without its title, whose lines go into `heading`. Titles of panels, with a size, stay."""
    if isinstance(value, list):
        return [_without_heading(each, heading) for each in value]
    if not isinstance(value, dict):
        return value
    title = value.get("title")
    own = {"text": title} if isinstance(title, str) else title
    if own and "fontSize" not in own:
        for part in (own["text"], own.get("subtitle", ())):
            heading.extend([part] if isinstance(part, str) else part)
        value = {key: each for key, each in value.items() if key != "title"}
    return {key: _without_heading(each, heading) if key in _VIEWS else each for key, each in value.items()}


def _with_letters(spec: Mapping[str, Any], growth: float) -> dict[str, Any]:
    """Return a specification whose letters are `growth` times as large; all else has its size.

    The palette grows with larger letters, because its labels stand side by side.
    """

    def grown(value: Any) -> Any:
        if isinstance(value, dict):
            factors = dict.fromkeys(_LETTERS, growth)
            if value.get("name") == PALETTE:
                factors["width"] = max(1.0, growth)
            return {
                key: rows(each)
                if key in _ROWS
                else each * factors[key]
                if key in factors and _is_number(each)
                else grown(each)
                for key, each in value.items()
            }
        return [grown(each) for each in value] if isinstance(value, list) else value

    def rows(value: Any) -> Any:
        if growth <= _UNITS_FIT:
            return value
        if isinstance(value, dict):
            return {name: rows(each) for name, each in value.items()}
        return without_units(value) if isinstance(value, list) and value and isinstance(value[0], dict) else value

    return dict(grown(spec))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _size_of(svg: str) -> tuple[float, float]:
    found = _SIZE.search(svg)
    if found is None:
        raise RuntimeError("a drawing has no size")
    return float(found[2]), float(found[3])


def _resized(svg: str, width_px: float, height_px: float, width: str, height: str) -> str:
    """Return a drawing with another size on paper; its own units stay, by its view box."""
    box = "" if "viewBox" in svg[: svg.index(">")] else f'viewBox="0 0 {width_px:g} {height_px:g}" '
    return _SIZE.sub(lambda found: f'<svg {found[1]}{box}width="{width}" height="{height}"', svg, count=1)


def _refuse_other_font(style: FigureStyle, fonts: tuple[str, ...]) -> None:
    """Raise InputError if no letter was drawn in the font of a style: letters of a missing font are left out, or in
    another one, without a word.
    """
    if style.font is None:
        return
    plain = _plain(style.font)
    if not any(_plain(name).startswith(plain) for name in fonts):
        raise InputError(
            f"this machine has no font {style.font!r}",
            "fc-list : family shows the fonts that are here; install it, or leave --font out",
        )


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
