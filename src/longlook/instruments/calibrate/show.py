"""The table of a calibration on a terminal."""

import math

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from longlook.instruments.calibrate.link.live import LiveCalibration
from longlook.instruments.calibrate.link.virtual import Calibration
from longlook.instruments.calibrate.page import facts as live_facts
from longlook.instruments.calibrate.page import number as live_number


def calibration_summary(result: Calibration | LiveCalibration) -> RenderableType:
    """Print the table and the verdict."""
    parts = [_live(result)] if isinstance(result, LiveCalibration) else [_virtual(result)]
    if result.aa is not None:
        for protocol in ("h2", "h3"):
            found = result.aa[protocol]
            parts.append(
                f"the same arm twice, {protocol}, {found['rounds']} rounds: "
                f"mean difference {found['mean_pct']:+.2f} %, largest {found['largest_pct']:.2f} % "
                f"of {found['median_s'] * 1e3:.0f} ms"
            )
    return Group(*parts)


def _live(result: LiveCalibration) -> RenderableType:
    table = Table("case", "quantity", box=None)
    for name in ("theory", "tolerance", "probe", "log", "netem"):
        table.add_column(name, justify="right")
    for name in ("", "verdict"):
        table.add_column(name)
    shown = ""
    for row in result.rows:
        table.add_row(
            row.case if row.case != shown else "",
            row.quantity,
            live_number(row.theory, row.tolerance),
            f"±{live_number(row.tolerance, row.tolerance)}",
            live_number(row.probe, row.tolerance),
            live_number(row.log, row.log_tolerance or row.tolerance),
            live_number(row.netem, row.tolerance),
            row.unit,
            _passed(row.passed),
        )
        shown = row.case
    return Group(table, Text.assemble("calibration in real time: ", _verdict(result), f"; {live_facts(result)}"))


def _virtual(result: Calibration) -> RenderableType:
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
            _passed(row.passed) + Text("" if row.netem_passed is not False else " (netem is out)", "yellow"),
        )
        shown = row.case
    facts = f"link {result.link[:12]}, kernel {result.kernel[:12]}, {result.wall_s:.1f} s ({result.cpu_s:.1f} s of CPU)"
    return Group(table, Text.assemble(f"calibration {result.key}: ", _verdict(result), f"; {facts}"))


def _passed(passed: bool) -> Text:
    return Text("ok", "green") if passed else Text("out of tolerance", "red")


def _verdict(result: Calibration | LiveCalibration) -> Text:
    failed = sum(not row.passed for row in result.rows)
    if result.passed:
        return Text("passed", "green")
    return Text(f"failed: {failed} of {len(result.rows)} out of tolerance", "red")


def _number(value: float | None, tolerance: float) -> str:
    """Return a value with one digit more than the first of the tolerance; further digits mean nothing."""
    if value is None:
        return "–"
    digits = 1 - math.floor(math.log10(tolerance)) if 0 < tolerance < 1 else 0
    return f"{value:.{digits}f}"
