"""A notice when a run has ended: on the desktop, or as a small JSON document to an address (a webhook).

A notice that cannot be sent is a warning, and never changes what becomes of the run.
"""

import json
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from longlook.core import InputError, InterruptedByUserError, LonglookError, MachineError
from longlook.instruments.runs.listing import ListedRun, read_run
from longlook.terminal import duration, error_console

DESKTOP = "desktop"
_PROGRAM = "notify-send"
_TIMEOUT_S = 10.0
_STEERING = re.compile(r"[^\w ./:,%+-]")
"""Characters by which chats mention people, make links or read markup."""


class _NoRedirect(HTTPRedirectHandler):
    """Leads nowhere else: the address that was named gets the notice, or nobody."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Refuse."""


def check_target(target: str) -> None:
    """Raise InputError unless a notice can go to `target`; MachineError if this machine has no desktop for it."""
    if target == DESKTOP:
        if shutil.which(_PROGRAM) is None:
            raise MachineError(f"--notify desktop: {_PROGRAM} is missing", "sudo apt-get install libnotify-bin")
        return
    try:
        parts = urlsplit(target)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        names_somebody = "@" in parts.netloc
    except ValueError:
        is_address = names_somebody = False
    if names_somebody:
        raise InputError(
            f"--notify {_place(target)}: the address has a user or a password before its host",
            "give a webhook's secret in its path, as services do",
        )
    if not is_address or not target.isascii() or re.search(r"[\s\x00-\x1f\x7f]", target):
        hint = "write --notify desktop, or --notify https://HOST/PATH"
        raise InputError(f"--notify {target}: neither desktop nor an address of the web", hint)


@contextmanager
def noticed(target: str | None, run: Path) -> Iterator[None]:
    """Send a notice about a run when the block has ended, in whichever way."""
    began_s, failure = time.monotonic(), None
    try:
        yield
    except BaseException as error:
        failure = error
        raise
    finally:
        if target is not None:
            try:
                send(target, notice_of(run, _listed(run, failure), time.monotonic() - began_s, _words(failure)))
            except (OSError, ValueError, HTTPException, subprocess.SubprocessError) as error:
                reason = error.reason if isinstance(error, URLError) else error
                error_console().print(f"no notice was sent to {_place(target)}: {reason}", style="yellow")


def _listed(run: Path, failure: BaseException | None) -> ListedRun | None:
    """Return what is known of a run; None if it failed: its folder may be another run's, which is why it failed."""
    if failure is not None and not isinstance(failure, InterruptedByUserError | KeyboardInterrupt):
        return None
    return read_run(run) if run.is_dir() else None


def _words(failure: BaseException | None) -> str:
    return failure.message if isinstance(failure, LonglookError) else type(failure).__name__ if failure else ""


def notice_of(run: Path, listed: ListedRun | None, took_s: float, why: str = "") -> dict[str, Any]:
    """Return the document of a notice. `text` is a sentence for chats, without what they take for a command.

    A run of which nothing is `listed` has failed, for the reason `why`.
    """
    if listed is None:
        text = f"{run.name}: failed: {why or 'before it had a folder'}"
        return {
            "event": "run_ended",
            "run": str(run),
            "state": "failed",
            "took_s": round(took_s, 1),
            "text": _plain(text),
        }
    counts = "; ".join(
        ", ".join(f"{count} {verdict}" for verdict, count in found.items()) for found in listed.verdicts.values()
    )
    done = f"{listed.finished} of {listed.trials} trials" if listed.trials is not None else f"{listed.finished} trials"
    text = f"{run.name} ({listed.study}): {listed.state} after {duration(took_s)}, {done}" + (
        f": {counts}" if counts else ""
    )
    return {
        "event": "run_ended",
        "run": str(run),
        "study": listed.study,
        "state": str(listed.state),
        "finished": listed.finished,
        "trials": listed.trials,
        "verdicts": {name: dict(found) for name, found in listed.verdicts.items()},
        "results": listed.results,
        "took_s": round(took_s, 1),
        "text": _plain(text),
    }


def send(target: str, notice: dict[str, Any]) -> None:
    """Send a notice; OSError, HTTPException or SubprocessError if that fails."""
    if target == DESKTOP:
        words = [_PROGRAM, "--app-name=Longlook", "--", "Longlook", escape(notice["text"])]
        subprocess.run(words, check=True, timeout=_TIMEOUT_S, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        return
    data = json.dumps(notice).encode()
    headers = {"Content-Type": "application/json", "User-Agent": "longlook"}
    request = Request(target, data, headers, method="POST")  # noqa: S310 (its scheme is checked)
    failures: list[Exception] = []

    def ask() -> None:
        try:
            with build_opener(_NoRedirect).open(request, timeout=_TIMEOUT_S) as answer:
                answer.read(1)
        except (OSError, ValueError, HTTPException) as error:
            failures.append(error)

    # The limit of a socket is for each of its reads, and an answer may come letter by letter.
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_TIMEOUT_S)
    if asking.is_alive():
        raise TimeoutError(f"no whole answer within {_TIMEOUT_S:g} s")
    if failures:
        raise failures[0]


def _plain(text: str) -> str:
    return _STEERING.sub("_", text.replace("(", "").replace(")", ""))


def _place(target: str) -> str:
    """Return a target without what may be a secret: the path and query of a webhook."""
    return target if target == DESKTOP else f"{urlsplit(target).scheme}://{urlsplit(target).hostname}"
