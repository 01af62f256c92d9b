"""Servers beside their reference on a terminal, and as a JSON line."""

import json
import sys
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from longlook.cli.terminal import console
from longlook.compare.servers import SETTINGS, Compared
from longlook.core import codec
from longlook.core.results import Estimate
from longlook.pipeline.analyse import Result
from longlook.report import wording

_OWN = "its own"


def show_servers(found: Sequence[Compared], result: Result, *, as_json: bool) -> None:
    """Print what each server waited and received beside its reference, the settings, and where the report is."""
    digest = None if result.results_digest is None else result.results_digest.digest[:16]
    if as_json:
        line = {
            "event": "servers",
            "servers": codec.encode(list(found)),
            "results": digest,
            "report": str(result.report),
        }
        sys.stdout.write(json.dumps(line, allow_nan=False) + "\n")
        sys.stdout.flush()
        return
    out = console()
    out.print(times_table(found))
    if any(each.settings for each in found):
        out.print(settings_table(found))
        out.print(f"{_OWN}: not known here; {wording.DASH}: no such knob", style="dim")
    if digest is not None:
        out.print(f"exact: results {digest}", markup=False)
    out.print(f"report: {result.report}", markup=False, soft_wrap=True)


def times_table(found: Sequence[Compared]) -> Table:
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


def settings_table(found: Sequence[Compared]) -> Table:
    """Return the settings of each server over QUIC that decide how fast it sends."""
    over_quic = [each for each in found if each.settings]
    names = [name for name in SETTINGS if any(name in each.settings for each in over_quic)]
    table = Table("server", box=None)
    for name in names:
        table.add_column(name.replace("_", " "), justify="right")
    for each in over_quic:
        table.add_row(Text(each.server), *(_setting(each, name) for name in names))
    return table


def _milliseconds(value_s: float | None) -> str:
    return wording.DASH if value_s is None else f"{value_s * 1e3:.0f} ms"


def _against(each: Compared, found: Estimate | None) -> Text:
    if each.reference:
        return Text("the reference", "dim")
    if found is None or found.effect_pct is None:
        return Text(wording.DASH)
    words = f"{wording.effect(found.effect_pct)} ({wording.interval(found.ci_low_pct, found.ci_high_pct)}), "
    return Text(f"{words}{found.verdict}".replace(wording.NBSP, " "))


def _setting(each: Compared, name: str) -> str:
    if name not in each.settings:
        return wording.DASH
    value = each.settings[name]
    return _OWN if value is None else str(value).lower()
