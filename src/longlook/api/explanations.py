"""Answers to "why did this arm lose?" as objects of a notebook."""

from collections.abc import Iterable

import pandas as pd

from longlook.api import html
from longlook.explain import Answer, Judged
from longlook.pipeline import findings_table
from longlook.report import details, judged_text, line, sentence


class Explanation:
    """The answer about one cell and contrast, as `longlook explain` gives it (docs/guide/explain.md)."""

    def __init__(self, answer: Answer) -> None:
        """Take an answer."""
        self._answer = answer

    @property
    def cell(self) -> str:
        """The cell's id."""
        return self._answer.cell_id

    @property
    def contrast(self) -> str:
        """The contrast's name."""
        return self._answer.contrast

    @property
    def status(self) -> str:
        """How far it came: explained, unexplained, no gap, undecided or failed."""
        return str(self._answer.status)

    @property
    def line(self) -> str:
        """The answer in one line, which begins with because, in part because, where, or not explained."""
        return line(self._answer)

    @property
    def sentence(self) -> str:
        """The whole answer in sentences: why, who lost how much, how it was proven, what remains."""
        return sentence(self._answer)

    @property
    def findings(self) -> pd.DataFrame:
        """A row for each change that was tried of each suspected cause."""
        return findings_table([self._answer]).drop(columns="study")

    def _repr_html_(self) -> str:
        rows = [
            [html.text(item.title), html.text(str(item.conclusion)), html.text(made.change), html.text(_share(made))]
            for item in self._answer.findings
            for made in (*item.cures, *item.transplants)
        ]
        table = html.table(["suspected cause", "verdict", "change", "of the gap"], rows) if rows else ""
        below = " ".join(details(self._answer))
        return html.block([html.heading(f"{self.cell}: {self.line}"), html.paragraph(below), table])

    def __repr__(self) -> str:
        return f"<Explanation of {self.cell}: {self.line}>"


def _share(made: Judged) -> str:
    return made.failed or str(made.conclusion) if made.share is None else judged_text(made)


class Explanations(list[Explanation]):
    """Answers about several cells, in the order of the contrasts and cells."""

    @classmethod
    def _of(cls, answers: Iterable[Answer]) -> "Explanations":
        """Return answers as explanations."""
        return cls(map(Explanation, answers))

    def _repr_html_(self) -> str:
        if not self:
            return html.block([html.paragraph("no cell has a verdict that an arm lost: there is nothing to explain")])
        return "".join(each._repr_html_() for each in self)
