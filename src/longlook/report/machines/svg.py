"""A picture as SVG, in the look of the report. The same picture gives the same bytes; nothing is drawn outside."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from math import dist, hypot

from longlook.core import visible
from longlook.report.charts.colours import INK, PAPER
from longlook.report.charts.theme import EXPORT_FONT
from longlook.report.machines.layout import Layout, Point, place
from longlook.report.machines.lettering import text_width
from longlook.report.machines.picture import (
    BAR_PX,
    LINE_PX,
    PAD_PX,
    SPARE,
    TEXT_PX,
    TITLE_PX,
    Arrow,
    Line,
    Picture,
    StateBox,
    line_width,
)

_MARGIN = 24.0
_HEADING_PX = 17.0
_CORNER = 8.0


def svg(picture: Picture) -> str:
    """Return the drawing, as wide as it has to be."""
    layout = place(picture)
    head = [text_width(picture.title, _HEADING_PX, bold=True), *map(line_width, (*picture.notes, *picture.key))]
    width = max(layout.width, SPARE * max(head)) + 2 * _MARGIN
    top = _MARGIN + _HEADING_PX + LINE_PX * len(picture.notes) + 22
    foot = top + layout.height + 30
    height = foot + LINE_PX * len(picture.key) + _MARGIN - 8
    left = (width - layout.width) / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" font-family="{escape(EXPORT_FONT)}" font-size="{_n(TEXT_PX)}">',
        f"<title>{_shown(picture.title)}</title>",
        f'<rect width="{_n(width)}" height="{_n(height)}" fill="{PAPER}"/>',
        _text(picture.title, _MARGIN, _MARGIN + _HEADING_PX - 3, INK, _HEADING_PX, bold=True),
        *_lines(picture.notes, _MARGIN, _MARGIN + _HEADING_PX + LINE_PX + 4),
        f'<g transform="translate({_n(left)} {_n(top)})">',
        *(_arrow(arrow, route) for arrow, route in zip(picture.arrows, layout.routes, strict=True)),
        *(part for box in picture.boxes for part in _box(box, layout)),
        *(_leader(*one) for one in zip(picture.arrows, layout.anchors, layout.routes, strict=True)),
        *(part for one in zip(picture.arrows, layout.anchors, strict=True) for part in _label(*one)),
        "</g>",
        *_lines(picture.key, _MARGIN, foot),
        "</svg>",
    ]
    return "\n".join(filter(None, parts)) + "\n"


def _box(box: StateBox, layout: Layout) -> Iterable[str]:
    x, y = layout.centres[box.id]
    width, height = box.size_px
    if box.role != "state":
        ring = f'<circle cx="{_n(x)}" cy="{_n(y)}" r="10" fill="{PAPER}" stroke="{INK}" stroke-width="1.5"/>'
        dot = f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{6 if box.role == "end" else 9}" fill="{INK}"/>'
        yield f"<g><title>{_shown(box.tip)}</title>{ring if box.role == 'end' else ''}{dot}</g>"
        return
    left, top = x - width / 2, y - height / 2
    dash = ' stroke-dasharray="6 4"' if box.dashed else ""
    yield (
        f'<g><title>{_shown(box.tip)}</title><rect x="{_n(left)}" y="{_n(top)}" width="{_n(width)}" '
        f'height="{_n(height)}" rx="7" fill="{box.fill}" stroke="{box.border}" '
        f'stroke-width="{_n(box.border_px)}"{dash}/>'
    )
    at = top + PAD_PX + TITLE_PX - 3
    for text in box.title:
        yield _text(text, x, at, INK, TITLE_PX, bold=True, middle=True)
        at += LINE_PX + 3
    for line in box.lines:
        yield _line(line, x, at - 1, middle=True)
        at += LINE_PX
    for number, (share, colour) in enumerate(box.bars):
        bar = top + height - PAD_PX + 2 - (BAR_PX + 2) * (len(box.bars) - 1 - number)
        full = width - 2 * PAD_PX
        yield _bar(left + PAD_PX, bar, full, "#e7e4de")
        if share > 0:
            yield _bar(left + PAD_PX, bar, max(1.0, full * share), colour)
    yield "</g>"


def _bar(x: float, y: float, width: float, colour: str) -> str:
    return f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(BAR_PX - 1)}" fill="{colour}"/>'


def _arrow(arrow: Arrow, route: Sequence[Point]) -> str:
    head = 6.5 + 1.3 * arrow.width_px
    (x0, y0), (x, y) = route[-2], route[-1]
    length = hypot(x - x0, y - y0) or 1.0
    along = (x - x0) / length, (y - y0) / length
    neck = x - along[0] * head, y - along[1] * head
    side = -along[1] * head * 0.42, along[0] * head * 0.42
    line = _path([*route[:-1], (x - along[0] * head * 0.8, y - along[1] * head * 0.8)])
    dash = ' stroke-dasharray="6 4"' if arrow.dashed else ""
    left, right = ((neck[0] + way * side[0], neck[1] + way * side[1]) for way in (1, -1))
    tip = f"M{_n(x)} {_n(y)}L{_n(left[0])} {_n(left[1])}L{_n(right[0])} {_n(right[1])}Z"
    return (
        f'<g><title>{_shown(arrow.tip)}</title><path d="{line}" fill="none" stroke="{arrow.colour}" '
        f'stroke-width="{_n(arrow.width_px)}"{dash}/><path d="{tip}" fill="{arrow.colour}"/></g>'
    )


def _path(points: Sequence[Point]) -> str:
    """Return a line with round corners."""
    parts = [f"M{_n(points[0][0])} {_n(points[0][1])}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        lengths = [hypot(corner[0] - end[0], corner[1] - end[1]) for end in (before, after)]
        radius = min(_CORNER, lengths[0] / 2, lengths[1] / 2)
        ends = [
            (
                corner[0] + (end[0] - corner[0]) * radius / (length or 1),
                corner[1] + (end[1] - corner[1]) * radius / (length or 1),
            )
            for end, length in zip((before, after), lengths, strict=True)
        ]
        parts.append(
            f"L{_n(ends[0][0])} {_n(ends[0][1])}Q{_n(corner[0])} {_n(corner[1])} {_n(ends[1][0])} {_n(ends[1][1])}"
        )
    parts.append(f"L{_n(points[-1][0])} {_n(points[-1][1])}")
    return "".join(parts)


def _leader(arrow: Arrow, anchor: Point, route: Sequence[Point]) -> str:
    """Return a thin line from words that found no room on their arrow to its nearest point."""
    near = min((_nearest(anchor, *ends) for ends in pairwise(route)), key=lambda point: dist(anchor, point))
    width, height = arrow.label_px
    if abs(near[0] - anchor[0]) <= width / 2 and abs(near[1] - anchor[1]) <= height / 2:
        return ""
    ends = f'x1="{_n(anchor[0])}" y1="{_n(anchor[1])}" x2="{_n(near[0])}" y2="{_n(near[1])}"'
    return f'<line {ends} stroke="{arrow.colour}" stroke-width="0.8" stroke-dasharray="1.5 2.5"/>'


def _nearest(point: Point, begin: Point, end: Point) -> Point:
    """Return the point of a stretch that is nearest to another."""
    dx, dy = end[0] - begin[0], end[1] - begin[1]
    along = ((point[0] - begin[0]) * dx + (point[1] - begin[1]) * dy) / (dx * dx + dy * dy or 1.0)
    along = min(1.0, max(0.0, along))
    return begin[0] + along * dx, begin[1] + along * dy


def _label(arrow: Arrow, anchor: Point) -> Iterable[str]:
    width, height = arrow.label_px
    x, y = anchor
    yield (
        f'<rect x="{_n(x - width / 2)}" y="{_n(y - height / 2)}" width="{_n(width)}" height="{_n(height)}" rx="3" '
        f'fill="{PAPER}"/>'
    )
    at = y - height / 2 + TEXT_PX + 1
    for number, line in enumerate(arrow.lines):
        yield _line(line, x, at + number * LINE_PX, middle=True)


def _lines(lines: Iterable[Line], x: float, y: float) -> list[str]:
    return [_line(line, x, y + number * LINE_PX) for number, line in enumerate(lines)]


def _line(line: Line, x: float, y: float, *, middle: bool = False) -> str:
    pieces = " ".join(
        f'<tspan fill="{words.colour}"{_weight(words.bold)}>{_shown(words.text)}</tspan>' for words in line
    )
    return f'<text x="{_n(x)}" y="{_n(y)}"{_anchor(middle)}>{pieces}</text>'


def _text(text: str, x: float, y: float, colour: str, size: float, *, bold: bool = False, middle: bool = False) -> str:
    return (
        f'<text x="{_n(x)}" y="{_n(y)}" fill="{colour}" font-size="{_n(size)}"{_weight(bold)}{_anchor(middle)}>'
        f"{_shown(text)}</text>"
    )


def _shown(text: str) -> str:
    return escape(visible(text))


def _weight(bold: bool) -> str:
    return ' font-weight="700"' if bold else ""


def _anchor(middle: bool) -> str:
    return ' text-anchor="middle"' if middle else ""


def _n(value: float) -> str:
    """Return a number with at most two decimals, written in one way."""
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")  # + 0.0: no minus zero
