"""The section on repeats: whether trials repeated exactly, by cell and arm; the terminal shows the same rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from longlook.core import Study
from longlook.report import wording
from longlook.report.content import ReportContent, short_labels
from longlook.report.layout import key_of
from longlook.report.section import Section
from longlook.run import LINK_LOG, SAMPLES, TIMELINE, Group, Verification, groups


@dataclass(frozen=True)
class RepeatSection(Section):
    """The verification of a run; its title is empty, as the head of the page does not link to it."""

    template: ClassVar[str] = "provenance/repeats.html.j2"

    study: Study
    verification: Verification

    def context(self) -> Mapping[str, Any]:
        """Return how often each trial was repeated, and the table."""
        header, *rows = plain_rows(self.study, self.verification)
        return {
            "section": self,
            "repeats": self.verification.repeats,
            "unable": self.verification.unable,
            "header": header,
            "rows": rows,
        }


def make_repeats(content: ReportContent) -> list[RepeatSection]:
    """Return the section, or nothing if the trials were not run again."""
    if content.verification is None:
        return []
    return [RepeatSection("repeats", "", content.study, content.verification)]


def plain_rows(study: Study, verification: Verification) -> list[tuple[str, ...]]:
    """Return a header and a row for each cell and arm: factors, arm, numbers of equal repeats, and the result."""
    arms = short_labels(study)
    header = (
        *(factor.name for factor in study.factors),
        "arm",
        "trials",
        "link log",
        "timeline",
        "samples",
        "every byte",
        "result",
    )
    return [
        header,
        *(_row(study, arms.get(group.arm, group.arm), group) for group in ordered_groups(study, verification)),
    ]


def ordered_groups(study: Study, verification: Verification) -> Sequence[Group]:
    """Return the groups of equal repeats by cell, then arm, both in the order of the study."""
    levels = [{level.label: number for number, level in enumerate(factor.levels)} for factor in study.factors]
    arms = {arm.name: number for number, arm in enumerate(study.arms)}

    def rank(group: Group) -> tuple[list[int], int]:
        key = key_of(study, group.cell)
        return [order.get(label, -1) for order, label in zip(levels, key, strict=True)], arms.get(group.arm, -1)

    return sorted(groups(verification.trials), key=rank)


def _row(study: Study, arm: str, group: Group) -> tuple[str, ...]:
    same = [group.same[LINK_LOG], group.same[TIMELINE], group.same[SAMPLES], group.identical]
    return (
        *key_of(study, group.cell),
        arm,
        str(group.trials),
        *(f"{count} of {group.repeats}" for count in same),
        _result(group),
    )


def _result(group: Group) -> str:
    if group.repeats == 0:
        return "no repeat could run"
    if group.exact:
        return "✗ not repeated" if group.diverged else "✓ identical"
    if group.load_median_s is None or group.load_deviation_s is None:
        return "not exact; nothing measured"
    deviation = wording.quantity(group.load_deviation_s, "s")
    return f"not exact: load time {wording.quantity(group.load_median_s, 's')} ± {deviation} at most"
