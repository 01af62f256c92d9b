"""Tables and sentences as HTML for notebooks; every text is escaped, whoever wrote it."""

from collections.abc import Iterable, Sequence
from html import escape

from longlook.core import Verdict, visible
from longlook.report import wording

MOST_ROWS = 60
"""Rows of a table that a notebook shows; a line below counts the others."""

_CELL = "padding:.25em .8em;text-align:{align};border-bottom:1px solid #d9d6d0"
_COLOURS = {Verdict.BETTER: "#b0293a", Verdict.WORSE: "#2a6aa8", Verdict.EQUIVALENT: "inherit"}


def text(words: str) -> str:
    """Return text as HTML shows it: nothing in it is a tag, and characters that steer others are written out."""
    return escape(visible(words))


def block(parts: Iterable[str]) -> str:
    """Return parts, which are HTML, below each other."""
    return f'<div style="max-width:62em;line-height:1.45">{"".join(parts)}</div>'


def heading(words: str) -> str:
    """Return a title."""
    return f'<div style="font-size:1.15em;margin:.2em 0">{text(words)}</div>'


def paragraph(words: str) -> str:
    """Return a paragraph."""
    return f'<p style="margin:.35em 0">{text(words)}</p>' if words else ""


def verdict(found: Verdict) -> str:
    """Return a verdict with its symbol, in the colour of the arm that is better."""
    colour = _COLOURS.get(found, "#77736d")
    return f'<span style="color:{colour}">{text(f"{wording.SYMBOLS[found]} {found}")}</span>'


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> str:
    """Return a table of cells that are HTML already; columns of `right` are aligned there."""

    def line(cells: Sequence[str], tag: str) -> str:
        made = (
            f'<{tag} style="{_CELL.format(align="right" if number in right else "left")}">{cell}</{tag}>'
            for number, cell in enumerate(cells)
        )
        return f"<tr>{''.join(made)}</tr>"

    shown = "".join(line(row, "td") for row in rows[:MOST_ROWS])
    more = paragraph(f"and {len(rows) - MOST_ROWS} more rows") if len(rows) > MOST_ROWS else ""
    head = line([text(name) for name in header], "th")
    whole = f'<table style="border-collapse:collapse"><thead>{head}</thead><tbody>{shown}</tbody></table>'
    return f'<div style="overflow-x:auto;margin:.4em 0">{whole}</div>{more}'
