"""What traces cost, and what could not be traced, as rows of the pages."""

from collections.abc import Iterable, Mapping

from longlook.report import wording
from longlook.report.content import ReportContent
from longlook.timeline.collectors import CollectorCost, NotRecorded


def cost_rows(content: ReportContent, costs: Iterable[CollectorCost]) -> list[Mapping[str, str]]:
    """One row for each collector of each arm."""
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
    """One row for each reason of each arm."""
    return [
        {
            "arm": content.short_label(item.arm),
            "collector": item.collector,
            "reason": item.reason,
            "trials": str(item.trials),
        }
        for item in found
    ]
