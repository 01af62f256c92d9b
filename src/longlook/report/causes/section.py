"""An answer as a part of a page, and the short list of answers in a run's own report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from longlook.explain import CLASSES, Answer, Conclusion, Explained, FailedArm, Judged, LedgerClass
from longlook.report import wording
from longlook.report.causes import searched, text
from longlook.report.causes.charts import (
    ShareRow,
    dose_chart,
    ledger_chart,
    share_chart,
    signed_time,
    waterfall_chart,
    waterfall_figure,
)
from longlook.report.causes.failing import failing_sentences
from longlook.report.causes.waterfall import class_name, differences, load_ms, steps
from longlook.report.charts import colours
from longlook.report.charts.theme import page_specification
from longlook.report.section import Section

SYMBOLS = {
    Conclusion.CONFIRMED: "✓",
    Conclusion.CONFIRMED_BOTH_WAYS: "✓✓",
    Conclusion.WHERE: "↦",
    Conclusion.WHICH_END: "⇄",
    Conclusion.ADVANTAGE: "+",
    Conclusion.REFUTED: "✗",
    Conclusion.INCONCLUSIVE: "?",
    Conclusion.NO_CHANGE: "=",
    Conclusion.UNTOUCHED: "≈",
    Conclusion.UNTESTABLE: "–",
}
TRANSPLANT = colours.BASELINE
"""The colour of transplants; cures are black."""


@dataclass(frozen=True)
class AnswerSection(Section):
    """One answer: its sentence, where the time went, every finding, and what remains."""

    template: ClassVar[str] = "causes/answer.html.j2"

    answer: Answer
    file_name: str

    def context(self) -> Mapping[str, Any]:
        """Return what the template shows beside the answer itself."""
        return {
            "section": self,
            "answer": self.answer,
            "line": wording.capital(text.line(self.answer)),
            "details": text.details(self.answer),
            "heading": text.heading(self.answer) or self.answer.cell_id,
            "classes": _class_rows(self.answer),
            "loads": _loads(self.answer),
            "has_steps": bool(self.answer.ledger_ms and steps(self.answer)),
            "findings": [_finding(self.answer, item, number) for number, item in enumerate(self.answer.findings)],
            "singles": _single_rows(self.answer),
            "single_losses": text.single_losses(self.answer),
            "screening": searched.screening_sentence(self.answer),
            "effects": searched.effect_rows(self.answer),
            "losses": searched.losses_sentence(self.answer),
            "loss_lines": searched.loss_lines(self.answer),
            "failing": [_failing(self.answer, arm) for arm in self.answer.failing],
            "not_seen": text.not_seen(self.answer),
            "symbols": SYMBOLS,
        }

    def data(self) -> Mapping[str, Any]:
        """Return the charts of the answer by name."""
        charts: dict[str, Any] = {}
        if self.answer.ledger_ms:
            charts["ledger"] = ledger_chart(self.answer, "container", legend=False)
            if steps(self.answer):
                charts["waterfall"] = waterfall_chart(self.answer, "container")
        for number, item in enumerate(self.answer.findings):
            rows = _share_rows(item)
            if rows:
                charts[f"shares{number}"] = share_chart(rows, "container")
            if item.doses:
                charts[f"dose{number}"] = dose_chart(item.doses, "container")
        singles = _singles(self.answer)
        if singles:
            charts["singles"] = share_chart(singles, "container")
        return {"specs": {name: page_specification(chart) for name, chart in charts.items()}}

    def figures(self) -> Mapping[str, Any]:
        """Return the bars and the waterfall as one figure, if there is a ledger."""
        if not self.answer.ledger_ms:
            return {}
        about = [
            "Time of the load by what held it up, mean over rounds;",
            "below, the difference of each class, from the arm that won to the arm that lost.",
        ]
        title = text.heading(self.answer)
        return {f"waterfall-{self.file_name}": waterfall_figure(self.answer, title, about)}


@dataclass(frozen=True)
class WhySection(Section):
    """The sentences of a run's explanations, each with a link to the page that proves it."""

    template: ClassVar[str] = "causes/why.html.j2"

    answers: Sequence[Answer]

    def context(self) -> Mapping[str, Any]:
        """Return the sentences, each with its place on the page."""
        rows = [
            (anchor(number), text.heading(answer) or answer.cell_id, text.sentence(answer))
            for number, answer in enumerate(self.answers)
        ]
        return {"section": self, "rows": rows}


def make_why(answers: Sequence[Answer]) -> list[WhySection]:
    """Return the section, or nothing if nothing was explained."""
    return [WhySection("why", "Why", answers)] if answers else []


def anchor(number: int) -> str:
    """Return the place of an answer on the page of explanations, by its number from 0."""
    return f"a{number + 1}"


def _loads(answer: Answer) -> list[tuple[str, str]]:
    """Return the mean load of both arms, the winner's first, and their difference."""
    if not answer.ledger_ms:
        return []
    winner, loser = load_ms(answer.ledger_ms[answer.winner]), load_ms(answer.ledger_ms[answer.loser])
    return [
        (answer.winner_label, wording.quantity(winner / 1e3, "s")),
        (answer.loser_label, wording.quantity(loser / 1e3, "s")),
        ("difference", signed_time(loser - winner)),
    ]


def _class_rows(answer: Answer) -> list[tuple[str, str, str, str, str, str]]:
    """Return a row for each class of time: name, colour, the winner's time, the loser's, difference, and meaning."""
    ledger_ms = answer.ledger_ms or {}
    return [
        (
            class_name(name),
            colours.LEDGER_COLOURS[name],
            _time(ledger_ms[answer.winner].get(name, 0.0)),
            _time(ledger_ms[answer.loser].get(name, 0.0)),
            signed_time(change) if change else "0",
            CLASSES[LedgerClass(name)].partition("; detail")[0],  # means have no details
        )
        for name, change in differences(answer).items()
    ]


def _time(spent_ms: float) -> str:
    return wording.quantity(spent_ms / 1e3, "s") if spent_ms else "0"


def _finding(answer: Answer, item: Explained, number: int) -> dict[str, Any]:
    arm = answer.loser_label if item.arm == answer.loser else answer.winner_label
    return {
        "item": item,
        "number": number,
        "sentence": text.said(item),
        "whose": f"{wording.capital(item.role)} of {arm}",
        "seen": searched.seen(answer, item),
        "symbol": SYMBOLS[item.conclusion],
        "share": text.share_text(item.best.share) if item.is_confirmed and item.best is not None else "",
        "strength": wording.quantity(item.strength_ms / 1e3, "s"),
        "rows": [_row(answer, made, kind) for kind, made in _tested(item)],
        "has_shares": bool(_share_rows(item)),
        "follows": wording.capital(text.dose_text(item)),
        "doses": [(f"{dose.value:g}", dose.change, wording.signed(dose.closed, dose.unit)) for dose in item.doses],
    }


def _failing(answer: Answer, arm: FailedArm) -> dict[str, Any]:
    """Return what the page says of an arm's failing trials: sentences, facts, and time by class until the failure."""
    names = dict.fromkeys((*arm.ledger_ms, *arm.others_ms))
    return {
        "sentences": failing_sentences(answer, arm),
        "traced": arm.traced,
        "others": arm.others,
        "facts": arm.facts,
        "classes": [
            (class_name(name), _time(arm.ledger_ms.get(name, 0.0)), _time(arm.others_ms.get(name, 0.0)))
            for name in names
        ],
    }


def _tested(item: Explained) -> list[tuple[str, Judged]]:
    return [("cure", made) for made in item.cures] + [("transplant", made) for made in item.transplants]


def _row(answer: Answer, made: Judged, kind: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "touches": str(made.touches),
        "change": made.change,
        "target": answer.target_label(made.target),
        "share": text.judged_text(made),
        "p": wording.p_value(made.p_adjusted),
        "rounds": made.rounds,
        "alone": made.failed or str(made.conclusion),
        "settings": [f"{key} = {value}" for key, value in made.settings.items()],
    }


def _share_rows(item: Explained) -> list[ShareRow]:
    return [
        ShareRow(made.change, made.share, TRANSPLANT if kind == "transplant" else colours.INK, kind == "cure")
        for kind, made in _tested(item)
        if made.share is not None
    ]


def _singles(answer: Answer) -> list[ShareRow]:
    """Return what each confirmed change closes alone, what all close together, and what that leaves."""
    rows = [
        ShareRow(item.best.change, item.best.share)
        for item in answer.findings
        if item.is_confirmed and item.best is not None and item.best.share is not None
    ]
    left = text.remainder(answer)
    if not rows or answer.together is None or answer.together.share is None or left is None:
        return rows
    several = [ShareRow("all together", answer.together.share)] if len(rows) > 1 else []
    return [*rows, *several, ShareRow("not explained", left, colours.CONTENDER)]


def _single_rows(answer: Answer) -> list[tuple[str, str]]:
    return [(row.label, text.share_text(row.share)) for row in _singles(answer)]
