"""A calibration on a terminal."""

import math

from rich.console import Group, RenderableType
from rich.table import Table

from longlook.calibrate import Calibration


def calibration_summary(result: Calibration) -> RenderableType:
    """The table, and what it comes to."""
    table = Table("case", "quantity", box=None)
    for name in ("theory", "tolerance", "longlook", "netem"):
        table.add_column(name, justify="right")
    for name in ("", "verdict"):
        table.add_column(name)
    shown = ""
    for row in result.rows:
        table.add_row(
            row.case if row.case != shown else "",
            row.quantity,
            _number(row.theory, row.tolerance),
            f"±{_number(row.tolerance, row.tolerance)}",
            _number(row.ours, row.tolerance),
            _number(row.netem, row.tolerance),
            row.unit,
            ("[green]ok[/]" if row.passed else "[red]out of tolerance[/]")
            + ("" if row.netem_passed is not False else " [yellow](netem is out)[/]"),
        )
        shown = row.case
    failed = sum(not row.passed for row in result.rows)
    verdict = (
        "[green]passed[/]" if result.passed else f"[red]failed: {failed} of {len(result.rows)} out of tolerance[/]"
    )
    facts = f"link {result.link[:12]}, kernel {result.kernel[:12]}, {result.wall_s:.1f} s ({result.cpu_s:.1f} s of CPU)"
    return Group(table, f"calibration {result.key}: {verdict}; {facts}")


def _number(value: float | None, tolerance: float) -> str:
    """With one digit more than the tolerance begins with; what is beyond them says nothing."""
    if value is None:
        return "–"
    digits = 1 - math.floor(math.log10(tolerance)) if 0 < tolerance < 1 else 0
    return f"{value:.{digits}f}"
