"""The width of a text in the drawings' font, without a font: advance widths of Liberation Sans, which are Arial's."""

from collections.abc import Mapping

_REGULAR = (
    (191, "'"), (222, "ijl"), (260, "|"), (278, " !,./:;I[\\]ft"), (333, "`()-r"), (334, "{}"), (355, '"'),
    (389, "*"), (469, "^"), (500, "Jckszvxy"), (556, "#$0123456789?L_abdeghnopqu"), (584, "+<=>~"),
    (611, "FTZ"), (667, "&ABEKPSVXY"), (722, "CDHNRUw"), (778, "GOQ"), (833, "Mm"), (889, "%"), (944, "W"),
    (1015, "@"), (333, "·"), (584, "×"), (556, "–"), (1000, "…→"), (549, "≤≥"),
)  # fmt: skip
"""Thousandths of the font's size, and the characters that are as wide."""

_WIDTHS: Mapping[str, int] = {character: width for width, characters in _REGULAR for character in characters}
_WIDEST = 1000
_BOLD = 1.07
"""The factor by which bold letters are wider at most; a box that is a little too wide does no harm."""


def text_width(text: str, size_px: float, *, bold: bool = False) -> float:
    """Return the pixels that a text takes; unknown characters count as the widest."""
    width = sum(_WIDTHS.get(character, _WIDEST) for character in text) * size_px / 1000
    return width * _BOLD if bold else width


def wrapped(text: str, size_px: float, most_px: float, *, bold: bool = False) -> list[str]:
    """Return the text in lines of at most `most_px` pixels, broken between words; a longer word is cut, with a `…`."""
    lines = [""]
    for word in text.split():
        shown = shortened(word, size_px, most_px, bold=bold)
        longer = f"{lines[-1]} {shown}".strip()
        if text_width(longer, size_px, bold=bold) <= most_px:
            lines[-1] = longer
        else:
            lines.append(shown)
    return lines


def shortened(text: str, size_px: float, most_px: float, *, bold: bool = False) -> str:
    """Return the text, or as much of its beginning as fits, and `…`."""
    if text_width(text, size_px, bold=bold) <= most_px:
        return text
    while text and text_width(f"{text}…", size_px, bold=bold) > most_px:
        text = text[:-1]
    return f"{text}…"
