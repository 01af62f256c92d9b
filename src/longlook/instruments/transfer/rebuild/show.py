"""A reproduction on a terminal and as JSON lines."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from longlook.core import Verdict, codec
from longlook.instruments.transfer.rebuild.likeness import CLASS_SHARE, TIME_FACTOR, Compared, Likeness
from longlook.instruments.transfer.rebuild.run import Reproduction, Tested
from longlook.report import wording
from longlook.terminal import Prose, Renderings, Unwrapped


def reproduction_shown(found: Reproduction) -> Renderings:
    """Return the fit, the trial beside the trace, and the tested causes."""
    return Renderings(people=lambda: [*_parts(found)], lines=lambda: [_data(found)])


def _parts(found: Reproduction) -> Iterator[RenderableType | Unwrapped | Prose]:
    table = Table("part", "value", "how it was found", box=None)
    for part in found.rebuilt.fitted.values():
        table.add_row(part.what, str(part.value), part.found)
    yield table
    yield from (Prose(sentence, "dim") for sentence in found.rebuilt.lacks)
    recording = found.answer.recording
    yield from (Prose(said, "yellow") for said in (*recording.notes, *recording.problems))
    if found.likeness is not None:
        yield _compared("quantity", found.likeness.quantities)
        yield _compared("class of time", found.likeness.classes)
        yield Prose(likeness_said(found.likeness), "bold")
        if found.tests and not found.likeness.alike:
            yield "The tests below are true of the trial, and may not be true of the trace."
    yield from (Prose(_tested(test)) for test in found.tests)
    if found.likeness is not None and not found.answer.suspicions:
        yield "no cause is suspected in the trace"
    yield Unwrapped(Text(f"the study: {found.study}" + (f"; the tests: {found.report}" if found.report else "")))


def _compared(name: str, rows: Sequence[Compared]) -> Table:
    table = Table(name, "trace", "trial", box=None)
    for row in rows:
        table.add_row(row.name, *(_value(value, row.unit) for value in (row.trace, row.trial)))
    return table


def _value(value: float | None, unit: str) -> str:
    if value is not None and unit == "%":
        return f"{wording.points(value)} %"
    return wording.quantity(value, unit).strip()


def likeness_said(likeness: Likeness) -> str:
    """Return in a sentence whether the trial may stand for the trace."""
    apart = f"{wording.points(100 * likeness.class_distance)} % of the time is in other classes"
    time = f"the trial takes {wording.number(likeness.time_factor, 3)} times as long, and {apart}"
    if likeness.alike:
        return f"alike: {time}"
    needed = f"(alike: within a factor of {TIME_FACTOR:g}, and at most {CLASS_SHARE:.0%})".replace("%)", " %)")
    return f"not alike: {time} {needed}"


def _tested(test: Tested) -> str:
    settings = ", ".join(f"{key} = {value}" for key, value in test.settings.items())
    cause = test.suspicion.cause
    if test.estimate is None:
        return f"{cause}: not tested: {test.untested}"
    effect, interval = wording.effect_of(test.estimate), wording.interval_of(test.estimate)
    return f"{cause}: {conclusion(test)}: with {settings} {effect} ({interval})"


def conclusion(test: Tested) -> str:
    """Return what the test says of its cause in the trial."""
    if test.estimate is None:
        return "not tested"
    return {
        Verdict.BETTER: "confirmed in the trial",
        Verdict.WORSE: "no cause in the trial: without it the load takes longer",
        Verdict.EQUIVALENT: "no cause in the trial",
        Verdict.INCONCLUSIVE: "open",
    }[test.estimate.verdict]


def _data(found: Reproduction) -> dict[str, Any]:
    likeness = found.likeness
    return {
        "event": "reproduction",
        "trace": found.answer.recording.name,
        "study": str(found.study),
        "report": None if found.report is None else str(found.report),
        "fitted": [codec.encode(part) for part in found.rebuilt.fitted.values()],
        "lacks": list(found.rebuilt.lacks),
        "notes": list(found.answer.recording.notes),
        "problems": list(found.answer.recording.problems),
        "likeness": None
        if likeness is None
        else {
            "alike": likeness.alike,
            "time_factor": likeness.time_factor,
            "class_distance": likeness.class_distance,
            "quantities": [codec.encode(each) for each in likeness.quantities],
            "classes": [codec.encode(each) for each in likeness.classes],
        },
        "tests": [
            {
                "cause": test.suspicion.cause,
                "settings": dict(test.settings),
                "conclusion": conclusion(test),
                "estimate": None if test.estimate is None else codec.encode(test.estimate),
                "untested": test.untested,
            }
            for test in found.tests
        ],
    }
