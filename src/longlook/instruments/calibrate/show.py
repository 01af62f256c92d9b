"""The table of a calibration on a terminal, and servers beside their reference, also as a JSON line."""

import math
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from longlook.core import Estimate, Study, codec, knobs
from longlook.instruments.calibrate.link.live import LiveCalibration
from longlook.instruments.calibrate.link.virtual import Calibration
from longlook.instruments.calibrate.page import facts as live_facts
from longlook.instruments.calibrate.page import number as live_number
from longlook.instruments.calibrate.servers import SETTINGS, ComparedServer
from longlook.report import wording
from longlook.terminal import Renderings

_OWN = "its own"
_UNITS = {
    "initial_window": knobs.INITIAL_WINDOW.unit,
    "min_window": knobs.MIN_WINDOW.unit,
    "max_window": knobs.MAX_WINDOW.unit,
    "initial_ssthresh": knobs.INITIAL_SSTHRESH.unit,
    "initial_rtt": knobs.INITIAL_RTT.unit,
}


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


def servers_shown(found: Sequence[ComparedServer], study: Study) -> Renderings:
    """Return what each server waited and received next to its reference, and the settings of servers over QUIC."""
    return Renderings(
        people=lambda: _server_tables(found, study),
        lines=lambda: [{"event": "servers", "servers": codec.encode(list(found))}],
    )


def _server_tables(found: Sequence[ComparedServer], study: Study) -> Iterator[RenderableType]:
    yield times_table(found)
    if study.rounds < study.analysis.min_rounds:
        yield f"a verdict needs {study.analysis.min_rounds} rounds, these are {study.rounds}"
    if any(each.protocol == "h3" for each in found):
        yield settings_table(found)
        yield Text(f"{_OWN}: the program's own, not on record as one value; {wording.DASH}: no such knob", "dim")


def times_table(found: Sequence[ComparedServer]) -> Table:
    """Return medians of waiting and receiving of each server, and both against its reference."""
    table = Table("server", box=None)
    for name in ("waiting", "against the reference", "receiving", "against the reference"):
        table.add_column(name, justify="right")
    for each in found:
        table.add_row(
            Text(each.server),
            _milliseconds(each.waiting_s),
            _against(each, each.waiting),
            _milliseconds(each.receiving_s),
            _against(each, each.receiving),
        )
    return table


def settings_table(found: Sequence[ComparedServer]) -> Table:
    """Return the settings of each server over QUIC that decide how fast it sends; over TCP the kernel sends."""
    over_quic = [each for each in found if each.protocol == "h3"]
    shown = [name for name in SETTINGS if any(name in each.settings for each in over_quic)]
    table = Table(box=None)
    table.add_column("server", no_wrap=True)
    for name in shown:
        table.add_column(_heading(name), justify="right", overflow="fold")
    for each in over_quic:
        table.add_row(Text(each.program), *(_setting(each, name) for name in shown))
    return table


def _heading(name: str) -> str:
    words = name.replace("_", " ")
    return f"{words}, {_UNITS[name]}" if name in _UNITS else words


def _milliseconds(value_s: float | None) -> str:
    return wording.DASH if value_s is None else f"{value_s * 1e3:.0f} ms"


def _against(each: ComparedServer, found: Estimate | None) -> Text:
    if each.reference:
        return Text("the reference", "dim")
    if found is None or found.effect is None:
        return Text("not measured")
    words = f"{wording.effect_of(found)} ({wording.interval_of(found)}), "
    return Text(f"{words}{found.verdict}".replace(wording.NBSP, " "))


def _setting(each: ComparedServer, name: str) -> str:
    if name not in each.settings:
        return wording.DASH
    value = each.settings[name]
    return _OWN if value is None else str(value).lower()
