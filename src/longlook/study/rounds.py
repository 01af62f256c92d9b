"""How many rounds a study has: a number, or as many as decide. Pure."""

from longlook.core.model import Stopping
from longlook.core.problems import Problems
from longlook.study.schema import StudyTable

MOST_DECIDING = 40
"""The default of `max_rounds`."""


def rounds_of(table: StudyTable, problems: Problems) -> tuple[int, Stopping | None]:
    """Return the largest number of rounds, and the rule that ends them earlier, where there is one."""
    if isinstance(table.rounds, int):
        if table.max_rounds is not None:
            problems.add_value("max_rounds", table.max_rounds, 'has no effect without rounds = "decide"')
        return table.rounds, None
    most = MOST_DECIDING if table.max_rounds is None else table.max_rounds
    if most < table.analysis.min_rounds:
        problems.add_value(
            "max_rounds", most, f"a verdict needs analysis.min_rounds = {table.analysis.min_rounds} or more"
        )
    return most, Stopping()
