"""The section on traces of endpoints: what they cost, and what could not be recorded."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from longlook.report import wording
from longlook.report.content import ReportContent
from longlook.report.section import Section
from longlook.timeline.collectors import CollectorCost, NotRecorded


@dataclass(frozen=True)
class TraceSection(Section):
    """The traces of all arms."""

    template: ClassVar[str] = "provenance/traces.html.j2"

    content: ReportContent

    def context(self) -> Mapping[str, Any]:
        """Return both tables; either may be empty."""
        return {
            "section": self,
            "costs": cost_rows(self.content, self.content.costs),
            "unrecorded": unrecorded_rows(self.content, self.content.not_recorded),
        }


def make_traces(content: ReportContent) -> list[TraceSection]:
    """Return the section, or nothing if no endpoint was to be traced."""
    return [TraceSection("traces", "Traces", content)] if content.costs or content.not_recorded else []


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
