"""Which arm failed in every round of a cell, how often and why: the reason that such a cell has no verdict."""

import re
from collections.abc import Sequence

from longlook.core import Estimate, Study
from longlook.report.content import short_labels
from longlook.report.layout import cell_label


def failed_always(item: Estimate) -> dict[str, str]:
    """Return the arms of a cell that failed in every round: how often and why, as in `failed in all 10 rounds (…)`."""
    found = {
        name: re.search(rf"(?:^|; )arm {re.escape(name)} (failed in all .*?)(?=; |$)", item.reason or "")
        for name in (item.baseline, item.contender)
    }
    return {name: match[1] for name, match in found.items() if match}


def failures(study: Study, estimates: Sequence[Estimate]) -> list[str]:
    """Return a sentence for each arm and cell in which it failed in every round; metrics of one cell share it."""
    labels = short_labels(study)
    found = [
        f"{f'{cell_label(item.cell)}: ' if item.cell else ''}{labels.get(name, name)} {what}."
        for item in estimates
        for name, what in failed_always(item).items()
    ]
    return list(dict.fromkeys(found))
