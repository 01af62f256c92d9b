"""Pictures for links to a page: a title, a line of text and a figure on a card of 1200 × 630 pixels, as PNG.

The figure is the SVG that `export.picture` draws; nothing is drawn a second time.
"""

import re
import struct
import textwrap
import zlib
from collections.abc import Iterator

import numpy as np
import vl_convert
from markupsafe import Markup, escape

from longlook.core import visible
from longlook.report.charts.colours import INK, INK_SOFT, PAPER, RULE
from longlook.report.charts.drawn_cache import drawn
from longlook.report.charts.theme import EXPORT_FONT

WIDTH_PX, HEIGHT_PX = 1200, 630
"""The size that readers of links expect."""
_EDGE_PX = 64
_TITLE_PX, _TEXT_PX, _LINE = 46, 27, 1.22
_CHARACTERS_A_WIDTH = 2.05
"""Characters of Liberation Sans on a line as wide as this many times its length in sizes of type, about."""
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_SUB, _OPAQUE = 1, 255
_OUTER = re.compile(r"<svg\b[^>]*?\bviewBox=\"(?P<box>[^\"]*)\"[^>]*>")
_SCHEME = re.compile(r"<style>.*?</style>", re.S)
_DARK = {
    INK: "#ece8e1",
    INK_SOFT: "#b7b1a8",
    PAPER: "#191817",
    RULE: "#45423d",
    "#eeece8": "#2c2a27",
    "#c9c5bd": "#6f6a62",
}
"""Colours of axes, titles and rules on a dark page."""
_ROLES = ("role-axis-label", "role-axis-title", "role-title-text", "role-title-subtitle", "role-legend-title")


def share_card(kicker: str, title: str, text: str, figure: str | None) -> bytes:
    """Return a card as PNG, with the same arguments the same bytes.

    `figure` is an SVG, or None without any: then the text has its place.
    """
    svg = _card(kicker, title, text, figure)
    return drawn(svg, ("png",), lambda: {"png": smaller(vl_convert.svg_to_png(svg, scale=1.0))})["png"]


def smaller(png: bytes) -> bytes:
    """Return an opaque PNG of vl-convert with the same pixels in a quarter of the bytes.

    It is without the channel of opacity, and compressed as areas of one colour want it: no pixel depends on its
    neighbour. ValueError for a PNG of another kind.
    """
    chunks = list(_chunks(png))
    width, height, *kind = struct.unpack(">IIBBBBB", dict(chunks)[b"IHDR"])
    if kind != [8, 6, 0, 0, 0]:
        raise ValueError("not a PNG of 8 bits with opacity")
    data = zlib.decompress(b"".join(content for name, content in chunks if name == b"IDAT"))
    rows = np.frombuffer(data, np.uint8).reshape(height, 1 + 4 * width)
    if (rows[:, 0] != _SUB).any():
        raise ValueError("its rows are not filtered by their left neighbours")
    pixels = np.cumsum(rows[:, 1:].reshape(height, width, 4), axis=1, dtype=np.uint8)
    if (pixels[:, :, 3] != _OPAQUE).any():
        raise ValueError("not opaque")
    plain = np.concatenate([np.zeros((height, 1), np.uint8), pixels[:, :, :3].reshape(height, -1)], axis=1)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(plain.tobytes(), 6)),
        (b"IEND", b""),
    )
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        for name, content in parts
    )


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


def for_both_schemes(svg: str) -> str:
    """Return a figure of the report that has a dark look too, for pages that follow the reader's choice.

    Squares keep their colours, which mean something; only the ground, axes and titles change.
    """
    rules = [f"svg > rect[fill='{PAPER}'] {{ fill: {_DARK[PAPER]} }}"]
    rules += [f".{role} text {{ fill: {_DARK[INK_SOFT]} }}" for role in _ROLES]
    rules += [
        f".{part} [stroke='{light}'] {{ stroke: {dark} }}"
        for part in ("role-axis-grid", "role-axis-domain", "role-axis-tick", "mark-line")
        for light, dark in _DARK.items()
    ]
    rules.append(".mark-text.role-mark, .mark-symbol, .mark-rule { filter: brightness(1.8) saturate(.85) }")
    style = f"<style>@media (prefers-color-scheme: dark) {{ {' '.join(rules)} }}</style>"
    end = svg.index(">") + 1
    return f"{svg[:end]}{style}{svg[end:]}"


def _card(kicker: str, title: str, text: str, figure: str | None) -> str:
    inner = WIDTH_PX - 2 * _EDGE_PX
    y = _EDGE_PX + 8.0
    parts = [
        Markup('<rect width="{}" height="{}" fill="{}"/>').format(WIDTH_PX, HEIGHT_PX, PAPER),
        _line(_EDGE_PX, y, 22, INK_SOFT, _cut(kicker, inner, 22, 1)[0]),
    ]
    y += 62
    for line in _cut(title, inner, _TITLE_PX, 2 if figure else 4):
        parts.append(_line(_EDGE_PX, y, _TITLE_PX, INK, line))
        y += _TITLE_PX * _LINE
    if figure is not None:
        parts.append(_placed(figure, _EDGE_PX - 14, y - 24, inner, HEIGHT_PX - y + 8))
    else:
        for number, line in enumerate(_cut(text, inner, _TEXT_PX, 7)):
            parts.append(_line(_EDGE_PX, y + 6 + number * _TEXT_PX * 1.35, _TEXT_PX, INK_SOFT, line))
    body = Markup("").join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{WIDTH_PX}" '
        f'height="{HEIGHT_PX}" viewBox="0 0 {WIDTH_PX} {HEIGHT_PX}" font-family="{EXPORT_FONT}">{body}</svg>'
    )


def _line(x: float, y: float, size: int, colour: str, text: str) -> Markup:
    return Markup('<text x="{}" y="{}" font-size="{}" fill="{}">{}</text>').format(x, round(y, 1), size, colour, text)


def _cut(text: str, width: float, size: int, lines: int) -> list[str]:
    """Return a text in lines that fit, at most this number of lines; the last one says if there is more."""
    across = int(width / size * _CHARACTERS_A_WIDTH)
    return textwrap.wrap(" ".join(visible(text).split()), across, max_lines=lines, placeholder=" …") or [""]


def _placed(figure: str, x: float, y: float, width: float, height: float) -> Markup:
    """Return a figure within a rectangle, as large as it fits and beginning at its left."""
    plain = _SCHEME.sub("", figure)
    outer = _OUTER.search(plain)
    if outer is None:
        raise ValueError("the figure is no SVG with a viewBox")
    inner = plain[outer.end() : plain.rindex("</svg>")]
    head = Markup('<svg x="{}" y="{}" width="{}" height="{}" viewBox="{}" preserveAspectRatio="xMinYMin meet">').format(
        x, round(y, 1), width, round(height, 1), escape(outer["box"])
    )
    return head + Markup(f"{inner}</svg>")  # noqa: S704 an SVG that this package drew
