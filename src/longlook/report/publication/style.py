"""The looks of figures outside of the report's page."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from longlook.core import InputError, nearest

POINTS_PER_INCH = 72.0
_IN_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27, "bp": 1 / POINTS_PER_INCH}
"""Units of length as LaTeX has them; its `pt` is the printer's."""
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")
_NARROWEST_IN, _WIDEST_IN = 1.0, 40.0


@dataclass(frozen=True)
class FigureStyle:
    """The look of a figure: its width in inches, its letters, and whether its title stands in it.

    `font` is the name of a family, or None for the report's, which every machine has. `font_pt` is the size of labels
    in points of 1/72 inch.
    """

    name: str
    width_in: float
    font_pt: float
    title: bool
    font: str | None = None

    @property
    def width_pt(self) -> float:
        """The width in points of 1/72 inch."""
        return self.width_in * POINTS_PER_INCH


@dataclass(frozen=True)
class PublicationRequest:
    """A style of figures, and kinds of figures of values; `metric` is theirs, None: the study's figure's own."""

    style: FigureStyle
    kinds: tuple[str, ...] = ()
    metric: str | None = None


KINDS = ["bars", "box", "cdf", "lines"]
"""Figures of values (`absolute`)."""

STYLES = {
    "print": FigureStyle("print", 3.33, 8.0, title=False),  # a column of ACM's and IEEE's papers
    "slides": FigureStyle("slides", 11.0, 18.0, title=True),
}


def parse_width(text: str) -> float:
    """Return a length such as `3.33in`, `8.5cm`, `85mm` or `241pt` in inches; InputError for another text."""
    found = _LENGTH.fullmatch(text.strip())
    if found is None or found[2] not in _IN_INCHES:
        raise InputError(f"{text!r} is not a width", "a number and in, cm, mm or pt: 3.33in, 85mm")
    width_in = float(found[1]) * _IN_INCHES[found[2]]
    if not _NARROWEST_IN <= width_in <= _WIDEST_IN:
        raise InputError(f"a figure of {text} is too {'narrow' if width_in < 1 else 'wide'}", "from 1in to 40in")
    return width_in


def chosen_style(
    name: str | None, width: str | None, font: str | None, font_pt: float | None, *, title: bool | None
) -> FigureStyle | None:
    """Return a style of STYLES with other properties, by default `print`; None if nothing was asked for.

    Raise InputError for a style or a width that is none.
    """
    if name is None and width is None and font is None and font_pt is None and title is None:
        return None
    style = STYLES.get(name or "print")
    if style is None:
        raise InputError(f"no style {name!r}", f"styles: {', '.join(STYLES)}")
    return replace(
        style,
        width_in=style.width_in if width is None else parse_width(width),
        font=font or style.font,
        font_pt=style.font_pt if font_pt is None else font_pt,
        title=style.title if title is None else title,
    )


def publication_request(
    name: str | None,
    width: str | None,
    font: str | None,
    font_pt: float | None,
    kinds: Sequence[str],
    metric: str | None,
    *,
    title: bool | None,
) -> PublicationRequest | None:
    """Return a request as `chosen_style` has it, with figures of values; None if nothing was asked for.

    Raise InputError for a kind that is none.
    """
    style = chosen_style(name, width, font, font_pt, title=title)
    if style is None and not kinds and metric is None:
        return None
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise InputError(f"no figure {unknown[0]!r}{nearest(unknown[0], KINDS)}", f"figures: {', '.join(KINDS)}")
    if metric is not None and not kinds:
        raise InputError(f"--metric {metric} is the metric of --figure", f"add --figure {KINDS[0]}, or leave it out")
    return PublicationRequest(style or STYLES["print"], tuple(dict.fromkeys(kinds)), metric)
