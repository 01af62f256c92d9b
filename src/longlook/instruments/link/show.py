"""A run of `longlook link` on the terminal: two lines before, a summary after, and JSON on request."""

import json
import sys
from contextlib import suppress
from pathlib import Path

from longlook.instruments.link.lateness import LatenessCounter
from longlook.instruments.link.options import Emulation
from longlook.instruments.link.run import LinkRequest, Opened, run_link
from longlook.instruments.link.summary import summarise, summary_lines

_READ_BYTES = 1 << 20


class LinkDisplay:
    """Run one request and show it on standard error; standard output belongs to the command."""

    def __init__(self, emulation: Emulation, request: LinkRequest, *, json_file: str | None, quiet: bool) -> None:
        self._emulation = emulation
        self._request = request
        self._json_file = json_file
        self._quiet = quiet
        self._opened: Opened | None = None

    def run(self) -> int:
        """Return the command's exit code; raise LonglookError if the link could not be opened, or broke."""
        lateness = LatenessCounter()
        ended = run_link(self._request, self._open, lateness.add)
        if self._request.log is not None:
            with self._request.log.open("rb") as file:
                while piece := file.read(_READ_BYTES):
                    lateness.add(piece)
        summary = summarise(ended.summary, lateness.result(), ended.duration_s, ended.exit_code)
        if not self._quiet:
            self._print(*summary_lines(summary))
            self._print(
                f"  seed {self._request.seed}" + (f", packets in {self._request.log}" if self._request.log else "")
            )
        if self._json_file is not None:
            error = {"reason": ended.error.message, "hint": ended.error.hint} if ended.error else None
            known = {
                "settings": dict(self._emulation.settings),
                "seed": self._request.seed,
                "command": list(self._request.command),
                "addresses": {"client": self._opened.client, "far": self._opened.far} if self._opened else None,
                "notes": list(self._opened.notes) if self._opened else [],
                "log": str(self._request.log) if self._request.log else None,
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
        self._print(self._emulation.shown)
        self._print(f"  {opened.what} at {opened.far}; the command at {opened.client}")
        self._print(*(f"  {note}" for note in opened.notes))

    def _write(self, summary: dict[str, object]) -> None:
        text = json.dumps(summary, allow_nan=False)
        if self._json_file == "-":
            sys.stderr.write(text + "\n")
        else:
            Path(str(self._json_file)).write_text(text + "\n")

    @staticmethod
    def _print(*lines: str) -> None:
        with suppress(BrokenPipeError):  # there is no reader; only the command's own end matters
            for line in lines:
                sys.stderr.write(line + "\n" if line.startswith(" ") else f"longlook link: {line}\n")
            sys.stderr.flush()
