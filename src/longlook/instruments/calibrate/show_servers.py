"""Servers beside their reference on a terminal, and as a JSON line."""

import json
import sys
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from longlook.core import codec, knobs
from longlook.core.model import Study
from longlook.core.results import Estimate
from longlook.instruments.calibrate.servers import SETTINGS, ComparedServer
from longlook.report import wording
from longlook.terminal.console import console

_OWN = "its own"
_UNITS = {
    "initial_window": knobs.INITIAL_WINDOW.unit,
    "min_window": knobs.MIN_WINDOW.unit,
    "max_window": knobs.MAX_WINDOW.unit,
    "initial_ssthresh": knobs.INITIAL_SSTHRESH.unit,
    "initial_rtt": knobs.INITIAL_RTT.unit,
}


def show_servers(found: Sequence[ComparedServer], study: Study, *, as_json: bool) -> None:
    """Print what each server waited and received beside its reference, and the settings of those over QUIC."""
    if as_json:
        line = {"event": "servers", "servers": codec.encode(list(found))}
        sys.stdout.write(json.dumps(line, allow_nan=False) + "\n")
        sys.stdout.flush()
        return
    out = console()
    out.print(times_table(found))
    if study.rounds < study.analysis.min_rounds:
        out.print(f"a verdict needs {study.analysis.min_rounds} rounds, these are {study.rounds}")
    if any(each.protocol == "h3" for each in found):
        out.print(settings_table(found))
        out.print(f"{_OWN}: the program's own, not on record as one value; {wording.DASH}: no such knob", style="dim")


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
    if found is None or found.effect_pct is None:
        return Text("not measured")
    words = f"{wording.effect(found.effect_pct)} ({wording.interval(found.ci_low_pct, found.ci_high_pct)}), "
    return Text(f"{words}{found.verdict}".replace(wording.NBSP, " "))


def _setting(each: ComparedServer, name: str) -> str:
    if name not in each.settings:
        return wording.DASH
    value = each.settings[name]
    return _OWN if value is None else str(value).lower()
