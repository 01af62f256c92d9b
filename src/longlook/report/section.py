"""The parts of a report's page: each computes its own numbers, charts and tables and has its own template.

A new part is a subclass of `Section` with a template next to it, and a line in `page.sections`. A chart of a table
needs neither a class nor a template of its own: see `chart_section`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd


@dataclass(frozen=True)
class Section:
    """A part of the page. `anchor` is its id in the page, `title` the text of its link; empty: it has no link."""

    template: ClassVar[str]
    """The path of the part's template below `report/`."""

    anchor: str
    title: str

    def context(self) -> Mapping[str, Any]:
        """Return the variables of the template; by default the section itself, as `section`."""
        return {"section": self}

    def data(self) -> Mapping[str, Any]:
        """Return what report.js draws here, by `specs`, `charts` and `cells`; empty if it draws nothing.

        `specs` are whole Vega-Lite charts by name, drawn when the page is opened. `charts` are the charts of a
        selected cell by name, without their rows; `cells` are the rows of each cell by its anchor, then by data set.
        """
        return {}

    def figures(self) -> Mapping[str, Any]:
        """Return the charts that are exported as files, by file name without its ending."""
        return {}

    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Return the tables that are written as CSV, by file name without its ending."""
        return {}


def slug(text: str, taken: set[str]) -> str:
    """Return a file name made of a text's letters and digits, and add it to `taken`.

    A name that is in `taken` already gets a digest of the text behind it.
    """
    base = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text.lower()).strip("-")[:60]
    name = base or "contrast"
    if name in taken:
        name = f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"
    taken.add(name)
    return name
