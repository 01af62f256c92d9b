"""A run of another process on the terminal and in a browser."""

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from longlook.core import InputError, InterruptedByUserError, LonglookError, RunFolder
from longlook.instruments.runs.listing import State
from longlook.instruments.runs.live_page import LiveMaps, page_html
from longlook.instruments.runs.progress import Follower, Seen, Stage
from longlook.instruments.runs.server import PageServer, as_json
from longlook.instruments.runs.watch import in_words, watch
from longlook.terminal import Printer, duration, quoted

_NICE = 10
_LOOKS_EVERY_S = 0.5
_STAYS_S = 5.0
"""A page that nobody at a terminal closes stays so long after the run, so that a browser gets its last state."""


def watch_page(follower: Follower, printer: Printer, port: int) -> None:
    """Do as `watch`, and serve the page; at a terminal until Ctrl-C, also when the run has ended.

    InputError if the run has no folder yet, or the port is in use.
    """
    first = follower.look()
    if first.listed is None:
        hint = f"longlook watch {quoted(follower.run)} shows when"
        raise InputError(f"{follower.run} has no folder yet: it installs", hint)
    if first.listed.state is State.UNREADABLE:
        raise InputError(f"{follower.run} cannot be read: {first.listed.reason}", "longlook runs lists those that can")
    study = RunFolder.open(follower.run).study
    os.nice(_NICE)
    maps, latest = LiveMaps(follower.run), first

    def note(seen: Seen) -> None:
        nonlocal latest
        latest = seen

    files: dict[str, Callable[[], tuple[str, str]]] = {
        "state.json": lambda: as_json(_state(latest, maps.now[0])),
        "maps.html": lambda: ("text/html", maps.now[1]),
    }
    try:
        server = PageServer(files, port)
    except OSError as error:
        raise InputError(f"--port {port}: {error.strerror}", "leave it out: any free port is taken") from error
    files[""] = lambda: ("text/html", page_html(study, follower.run, server.nonce))
    with server:
        printer.report(f"page: {server.address}", event="page", address=server.address)
        maps.start()
        ended: LonglookError | None = None
        try:
            watch(follower, printer, lambda seen: note(seen) if seen.stage is not Stage.ENDED else None)
        except InterruptedByUserError:
            raise
        except LonglookError as error:
            ended = error
        with suppress(KeyboardInterrupt):
            maps.finish()
            note(follower.look())
            printer.report("", event="page_ended", measuring_cpu_s=round(maps.measuring_s, 2))
            if sys.stdin.isatty() and sys.stdout.isatty():
                printer.report("the page stays until Ctrl-C")
                while True:
                    time.sleep(_LOOKS_EVERY_S)
            time.sleep(_STAYS_S)
    if ended is not None:
        raise ended


def _state(seen: Seen, drawing: int) -> dict[str, object]:
    """Return the state of a run for the page's script."""
    is_over = seen.stage is Stage.ENDED
    has_report = seen.listed is not None and seen.listed.state is State.COMPLETE
    path = "" if seen.listed is None else seen.listed.path
    after = f"The run has its report: {path}/report/index.html" if has_report else "The run has ended before its end."
    return {
        "finished": seen.finished,
        "planned": seen.planned,
        "text": f"{seen.finished} trials, the run has ended" if is_over else in_words(seen),
        "left": "" if seen.left_s is None or is_over else f"about {duration(seen.left_s)} left",
        "maps": drawing,
        "ended": is_over,
        "after": after,
    }
