"""A run of `longlook link` as its user sees it: two lines before, a summary after, JSON where asked for."""

import json
import sys
from contextlib import suppress
from pathlib import Path

from longlook.linktool.lateness import LatenessCounter
from longlook.linktool.options import Emulation
from longlook.linktool.run import LinkRequest, Opened, run_link
from longlook.linktool.summary import summarise, summary_lines

_READ_BYTES = 1 << 20


class LinkDisplay:
    """Runs one order and shows it on standard error: standard output is the command's."""

    def __init__(self, emulation: Emulation, order: LinkRequest, *, json_file: str | None, quiet: bool) -> None:
        self._emulation = emulation
        self._order = order
        self._json_file = json_file
        self._quiet = quiet
        self._opened: Opened | None = None

    def run(self) -> int:
        """The command's exit code; LonglookError where the link could not be opened, or broke."""
        lateness = LatenessCounter()
        ended = run_link(self._order, self._open, lateness.add)
        if self._order.log is not None:
            with self._order.log.open("rb") as file:
                while piece := file.read(_READ_BYTES):
                    lateness.add(piece)
        summary = summarise(ended.summary, lateness.result(), ended.duration_s, ended.exit_code)
        if not self._quiet:
            self._say(*summary_lines(summary))
            self._say(f"  seed {self._order.seed}" + (f", packets in {self._order.log}" if self._order.log else ""))
        if self._json_file is not None:
            error = {"reason": ended.error.message, "hint": ended.error.hint} if ended.error else None
            known = {
                "settings": dict(self._emulation.settings),
                "seed": self._order.seed,
                "command": list(self._order.command),
                "addresses": {"client": self._opened.client, "far": self._opened.far} if self._opened else None,
                "notes": list(self._opened.notes) if self._opened else [],
                "log": str(self._order.log) if self._order.log else None,
                "error": error,
            }
            self._write({**known, **summary})
        if ended.error is not None:
            raise ended.error
        return ended.exit_code

    def _open(self, opened: Opened) -> None:
        self._opened = opened
        if self._quiet:
            return
        self._say(self._emulation.shown)
        self._say(f"  {opened.what} at {opened.far}; the command at {opened.client}")
        self._say(*(f"  {note}" for note in opened.notes))

    def _write(self, summary: dict[str, object]) -> None:
        text = json.dumps(summary, allow_nan=False)
        if self._json_file == "-":
            sys.stderr.write(text + "\n")
        else:
            Path(str(self._json_file)).write_text(text + "\n")

    @staticmethod
    def _say(*lines: str) -> None:
        with suppress(BrokenPipeError):  # nobody reads it; the command's own end is what matters
            for line in lines:
                sys.stderr.write(line + "\n" if line.startswith(" ") else f"longlook link: {line}\n")
            sys.stderr.flush()
