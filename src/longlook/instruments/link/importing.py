"""`longlook link import`: a table of measurements, its file, and the trace that is made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook.core import InputError, compressed_files, units
from longlook.network import (
    LARGEST_BYTES,
    RATES,
    SEPARATORS,
    SHARES,
    TIMES,
    Column,
    Imported,
    Reading,
    TraceError,
    column,
    read_table,
)

_DOCS = "docs/reference/study-network.md shows how a table is read"


def reading_of(  # noqa: PLR0913 - an option each
    rate: str,
    *,
    rtt: str | None = None,
    delay: str | None = None,
    loss: str | None = None,
    time: str | None = None,
    every: str | None = None,
    lasts: str | None = None,
    where: Sequence[str] = (),
    separator: str | None = None,
    header: bool = True,
) -> Reading:
    """Return what the options of the command ask for; InputError if they contradict each other or have no sense."""
    if rtt is not None and delay is not None:
        raise InputError("--rtt and --delay are two ways to say the same", "give one of them")
    timed = [name for name, given in (("--time", time), ("--every", every), ("--lasts", lasts)) if given is not None]
    if len(timed) > 1:
        raise InputError(f"{timed[0]} and {timed[1]} are two ways to say the same", "give one of them")
    if separator is not None and separator not in SEPARATORS:
        raise InputError(f"--separator {separator}: no such separator", f"write one of {', '.join(SEPARATORS)}")
    conditions = {}
    for condition in where:
        name, equals, value = condition.partition("=")
        if not equals or not name:
            raise InputError(f"--where {condition}: it must be COLUMN=VALUE", "for example --where run_num=1")
        conditions[name] = value.strip()
    try:
        every_ns = None if every is None else units.parse_time(every)
    except units.UnitError as error:
        raise InputError(f"--every: {error}") from error
    if every_ns is not None and every_ns < TIMES["us"]:
        raise InputError(f"--every {every}: a row lasts for 1 us or longer", "for example --every 100ms")
    return Reading(
        rate=_column("--rate", rate, RATES, "Mbit"),
        rtt=None if rtt is None else _column("--rtt", rtt, TIMES, "ms"),
        delay=None if delay is None else _column("--delay", delay, TIMES, "ms"),
        loss=None if loss is None else _column("--loss", loss, SHARES, "%"),
        time=None if time is None else _column("--time", time, TIMES, "s"),
        lasts=None if lasts is None else _column("--lasts", lasts, TIMES, "s"),
        every_ns=every_ns,
        where=conditions,
        separator=separator,
        header=header,
    )


@dataclass(frozen=True)
class WrittenTrace:
    """A trace that was written, how it was made, and what takes it."""

    out: Path
    made: Imported
    settings: tuple[str, ...]  # of the network, each of which takes its column

    def lines(self) -> list[str]:
        """Return what to say of it."""
        made = self.made
        counted = (
            (made.skipped, "rows before all of these were known were left out"),
            (made.filled, "rows had an empty cell: its value before lasts on"),
            (made.stopped, "rows had a rate below 1 kbit/s, which is what they get"),
        )
        return [
            f"{self.out}: {made.rows} rows, {made.lasts_us / 1e6:g} s",
            *(f"{count} {what}" for count, what in counted if count),
            *(f"implausible: {found.problem} ({found.check})" for found in made.implausible),
            "a study takes it by: " + ", ".join(f'{key} = "trace({self.out})"' for key in self.settings),
        ]

    def facts(self) -> dict[str, Any]:
        """Return the same for machines."""
        made = self.made
        counts = {name: getattr(made, name) for name in ("rows", "skipped", "filled", "stopped", "lasts_us")}
        implausible = [{"check": found.check, "problem": found.problem} for found in made.implausible]
        return {"path": str(self.out), **counts, "settings": list(self.settings), "implausible": implausible}


def import_to(table: Path, out: Path, reading: Reading) -> WrittenTrace:
    """Write the trace in a table to `out`; return what was written. InputError if it cannot be read or written.

    A file that is there is not replaced.
    """
    try:
        with compressed_files.as_file(table, LARGEST_BYTES) as file:
            data = compressed_files.read_unpacked(file, LARGEST_BYTES)
    except OSError as error:
        raise InputError(f"{table} cannot be read: {error.strerror}", "check the path") from error
    try:
        made = read_table(data, reading, "standard input" if table == compressed_files.STANDARD_INPUT else table.name)
    except TraceError as error:
        raise InputError(str(error), _DOCS) from error
    _write(out, made.text)
    optional = (("delay", reading.rtt or reading.delay), ("loss", reading.loss))
    return WrittenTrace(out, made, ("rate", *(key for key, given in optional if given)))


def _write(out: Path, text: str) -> None:
    try:
        file = out.open("x")
    except FileExistsError as error:
        raise InputError(f"{out} is there already", "choose another name, or remove it") from error
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}", "choose another place") from error
    try:
        with file:
            file.write(text)
    except OSError as error:
        out.unlink(missing_ok=True)
        raise InputError(f"{out} cannot be written: {error.strerror}", "choose another place") from error


def _column(option: str, text: str, allowed: Mapping[str, float], usual: str) -> Column:
    try:
        return column(text, allowed, usual)
    except TraceError as error:
        raise InputError(f"{option} {error}") from error
