"""The section on traces of endpoints: what they cost, what could not be recorded, and what is in doubt."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from longlook.report import wording
from longlook.report.content import ReportContent
from longlook.report.section import Section
from longlook.timeline import CollectorCost, InDoubt, NotRecorded


@dataclass(frozen=True)
class TraceSection(Section):
    """The traces of all arms."""

    template: ClassVar[str] = "provenance/traces.html.j2"

    content: ReportContent

    def context(self) -> Mapping[str, Any]:
        """Return the tables, each of which may be empty."""
        return {
            "section": self,
            "costs": cost_rows(self.content, self.content.costs),
            "unrecorded": unrecorded_rows(self.content, self.content.not_recorded),
            "in_doubt": in_doubt_rows(self.content, self.content.in_doubt),
        }


def make_traces(content: ReportContent) -> list[TraceSection]:
    """Return the section, or nothing if no endpoint was to be traced."""
    has_any = content.costs or content.not_recorded or content.in_doubt
    return [TraceSection("traces", "Traces", content)] if has_any else []


def cost_rows(content: ReportContent, costs: Iterable[CollectorCost]) -> list[Mapping[str, str]]:
    """Return a row for each collector of each arm."""
    return [
        {
            "arm": content.short_label(cost.arm),
            "collector": cost.collector,
            "size": wording.quantity(cost.size_bytes, "B"),
            "cpu": wording.quantity(cost.cpu_s, "s"),
            "share": wording.quantity(None if cost.core_share is None else 100 * cost.core_share, "%"),
            "trials": str(cost.trials),
        }
        for cost in costs
    ]


def unrecorded_rows(content: ReportContent, found: Iterable[NotRecorded]) -> list[Mapping[str, str]]:
    """Return a row for each arm, collector and reason why nothing was recorded."""
    return [
        {
            "arm": content.short_label(item.arm),
            "collector": item.collector,
            "reason": item.reason,
            "trials": str(item.trials),
        }
        for item in found
    ]


def in_doubt_rows(content: ReportContent, found: Iterable[InDoubt]) -> list[Mapping[str, str]]:
    """Return a row for each arm, end and check that its traces fail."""
    return [
        {
            "arm": content.short_label(item.arm),
            "end": item.vantage,
            "sentence": item.sentence,
            "trials": str(item.trials),
        }
        for item in found
    ]
