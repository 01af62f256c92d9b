"""Text that others wrote, for people to read: what would steer a terminal or a page is shown, never obeyed."""

import csv
import re
from collections.abc import Iterable
from typing import TextIO

_STEERING = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, ESC among them, but for tab and newline
    "\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"  # direction and width of what follows
    "\ud800-\udfff"  # halves of characters, which cannot be written out
    "\ufff9-\ufffb\U000e0000-\U000e007f"  # annotations and tags, which nobody sees
    "]"
)


def visible(text: str) -> str:
    """Return text with each character that steers how others are shown as its escape, such as `\\x1b`.

    Newlines and tabs stay.
    """
    return _STEERING.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


_FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def csv_cell(text: str) -> str:
    """Return text as a cell of a CSV file that a spreadsheet shows and never runs.

    A text that would begin a formula gets an apostrophe before it, as OWASP advises; a number stays one. Characters
    that steer a terminal are written out.
    """
    shown = visible(text)
    return f"'{shown}" if _FORMULA.match(shown) and not _NUMBER.fullmatch(shown) else shown


class CsvWriter:
    """Writes rows of a CSV file, each text of which is a `csv_cell`."""

    def __init__(self, file: TextIO) -> None:
        self._writer = csv.writer(file, lineterminator="\n")

    def writerow(self, row: Iterable[object]) -> None:
        """Write one row."""
        self._writer.writerow([csv_cell(cell) if isinstance(cell, str) else cell for cell in row])

    def writerows(self, rows: Iterable[Iterable[object]]) -> None:
        """Write several rows."""
        for row in rows:
            self.writerow(row)


def steers(text: str) -> bool:
    """Whether a text has characters that `visible` replaces."""
    return _STEERING.search(text) is not None
