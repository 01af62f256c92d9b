"""Judged expectations as text: for the terminal, for Markdown and for the page."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from longlook.core import JudgedExpectation, Study, round_name
from longlook.report import wording
from longlook.report.layout import SEPARATOR, cell_label
from longlook.report.text import markdown_rows

MOST_SHOWN = 40
"""Lines about single trials on a terminal; the file has all."""


def expectations_counted(study: Study, judged: Sequence[JudgedExpectation]) -> str:
    """Return how many expectations hold: `5 of 6 expectations hold in all of their 3 trials`."""
    groups = list(_grouped(judged))
    whole = sum(all(each.holds for each in own) for own in groups)
    trials = len({each.trial_id for each in judged})
    where = "the trial" if trials == 1 else f"all of their {trials} trials"
    nouns = "expectation holds" if len(groups) == 1 else "expectations hold"
    aside = len(study.expectations) - len(groups)
    left_out = f"; {aside} {'is' if aside == 1 else 'are'} about no trial that ran" if aside else ""
    return f"{whole} of {len(groups)} {nouns} in {where}{left_out}"


def expectation_lines(study: Study, judged: Sequence[JudgedExpectation]) -> Iterator[tuple[bool, str]]:
    """Yield a line for each expectation that holds, and one for each trial in which one does not, with whether it is
    about one that holds.

    A line names the study and the key, says what was expected and what was seen, and names the trial if it failed.
    """
    listed = 0
    for own in _grouped(judged):
        name = f"{study.id}::{own[0].expectation.name}"
        expected = own[0].expectation.text
        failed = [each for each in own if not each.holds]
        if not failed:
            yield True, f"passed {name}{_scope(own)}: {expected} – saw {_range(own)}"
        for each in failed[: max(0, MOST_SHOWN - listed)]:
            where = place(study, each)
            yield (
                False,
                f"FAILED {name}{f' [{where}]' if where else ''}: expected {expected}, saw {seen(each)}"
                f" (trial {each.trial_id})",
            )
        left = len(failed) - max(0, MOST_SHOWN - listed)
        if left > 0:
            yield False, f"FAILED {name}: expected {expected}, in {left} trials more (expectations.json has all)"
        listed += len(failed)


def _scope(own: Sequence[JudgedExpectation]) -> str:
    """Return the arm and the levels that an expectation is about alone; empty if it is about every trial."""
    expectation = own[0].expectation
    parts = [*expectation.levels.values(), *([expectation.arm] if expectation.arm else [])]
    return f" [{SEPARATOR.join(parts)}]" if parts else ""


def _grouped(judged: Sequence[JudgedExpectation]) -> Iterator[list[JudgedExpectation]]:
    for _, own in groupby(judged, key=lambda each: each.expectation):
        yield list(own)


def place(study: Study, judged: JudgedExpectation) -> str:
    """Return what tells a trial from the others of its study: cell, arm and round, if there are several of each."""
    parts = [
        *([cell_label(judged.cell)] if any(len(factor.levels) > 1 for factor in study.factors) else []),
        *([judged.arm] if len(study.arms) > 1 else []),
        *([round_name(judged.round)] if study.rounds > 1 else []),
        *([judged.flow] if judged.flow else []),
    ]
    return SEPARATOR.join(parts)


def seen(judged: JudgedExpectation) -> str:
    """Return the value that decides and when it was seen: `50 % at 212 ms`; else why it is not known."""
    if judged.seen is None:
        return f"nothing: {judged.reason}"
    when = "" if judged.time_s is None else f" at {wording.quantity(judged.time_s, 's')}"
    return f"{_value(judged)}{when}"


def _value(judged: JudgedExpectation) -> str:
    if not isinstance(judged.seen, float):
        return str(judged.seen)
    if judged.unit == "" and judged.seen.is_integer():
        return f"{judged.seen:.0f}"
    return wording.quantity(judged.seen, judged.unit)


def _range(own: Sequence[JudgedExpectation]) -> str:
    """Return what was seen in all trials: of one trial the value, of several the least and the largest."""
    if len(own) == 1:
        return seen(own[0])
    numbers = sorted((each for each in own if isinstance(each.seen, float)), key=lambda each: float(each.seen or 0))
    if len(numbers) == len(own):
        least, most = _value(numbers[0]), _value(numbers[-1])
        return f"{least} in all {len(own)} trials" if least == most else f"{least} to {most} in {len(own)} trials"
    names = list(dict.fromkeys(str(each.seen) for each in own))
    return f"{', '.join(names)} in {len(own)} trials"


def expectations_markdown(study: Study, judged: Sequence[JudgedExpectation]) -> str:
    """Return a Markdown table with a row for each expectation in each trial; failures come first."""
    rows = [
        (
            "holds" if each.holds else "FAILED",
            each.expectation.name,
            each.expectation.text,
            place(study, each),
            seen(each),
        )
        for each in sorted(judged, key=lambda each: each.holds)
    ]
    return markdown_rows(("result", "quantity", "expected", "trial", "seen"), rows, frozenset())
