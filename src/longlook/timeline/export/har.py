"""Page loads as HTTP Archive 1.2, which browsers and waterfall viewers open (docs/reference/exports.md has the rules).

A HAR is made from a trial's timeline and the URLs of its client's lines, so nothing is run again and the same trial
gives the same bytes.

Source of the format: Odvarko, Jain, Davies, HTTP Archive (HAR) format, W3C Web Performance Working Group, 14 August
2012, http://www.softwareishard.com/blog/har-12-spec/.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from longlook import __version__
from longlook.core.errors import InputError
from longlook.core.model import Outcome, Run, Trial
from longlook.timeline.export.har_loads import PageLoad, Request, loads_of
from longlook.timeline.export.har_timings import Timings, timings_of
from longlook.timeline.export.trials import trial_of

NOT_AVAILABLE = -1
"""HAR's number for what does not apply or is not known."""

_COMMENT = (
    "Longlook: times are the client's own. Names are not looked up, and sending a request is part of waiting for it. "
    "The connection that only obtains a session ticket is left out."
)
_MIME_TYPES: Mapping[str, str] = {
    ".html": "text/html",
    ".png": "image/png",
    ".css": "text/css",
    ".js": "application/javascript",
}
"""By the ending of the path, so that viewers colour entries; clients do not report the header."""
_PHASES = ("blocked", "dns", "connect", "ssl", "send", "wait", "receive")


def trial_har(folder: Path) -> dict[str, Any] | None:
    """Return the page loads of a trial's folder as a HAR: one page, or one for each flow that asked for objects.

    None where no object was asked for. Raise InputError if the folder holds no finished trial.
    """
    trial, run, timeline = trial_of(folder)
    loads = loads_of(folder, timeline)
    if not loads:
        return None
    pages = [_page(load, trial, run) for load in loads]
    entries = [
        (request.asked_ns, _entry(load, request, timings, page["id"], run.started_unix_ns))
        for load, page in zip(loads, pages, strict=True)
        for request, timings in timings_of(load)
    ]
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "Longlook", "version": __version__},
            "browser": {"name": trial.client.stack, "version": trial.client.version},
            "pages": pages,
            "entries": [entry for _, entry in sorted(entries, key=lambda item: item[0])],
            "comment": _COMMENT,
        }
    }


def write(har: Mapping[str, Any], out: Path) -> int:
    """Write a HAR and return the number of its entries. Raise InputError if `out` cannot be written."""
    partial = out.with_name(f".{out.name}.new")
    try:
        partial.write_text(json.dumps(har, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        partial.replace(out)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise InputError(f"--out {out}: cannot be written: {error.strerror}", "name another place") from error
    return len(har["log"]["entries"])


def _page(load: PageLoad, trial: Trial, run: Run) -> dict[str, Any]:
    name = "_".join(filter(None, (trial.id, load.flow_name)))
    conditions = ", ".join(f"{factor} {label}" for factor, label in trial.cell.items())
    title = f"{trial.arm}: {conditions}; round {trial.round + 1}" + (f"; {load.flow_name}" if load.flow_name else "")
    loaded = NOT_AVAILABLE if load.loaded_ns is None else ms(load.loaded_ns - load.began_ns)
    page: dict[str, Any] = {
        "startedDateTime": date(run.started_unix_ns + load.began_ns),
        "id": name,
        "title": title,
        "pageTimings": {"onContentLoad": NOT_AVAILABLE, "onLoad": loaded},
        "_longlook": {
            "study": trial.study,
            "trial": trial.id,
            "cell": dict(trial.cell),
            "arm": trial.arm,
            "round": trial.round + 1,
            "engine": run.engine,
            "protocol": trial.protocol,
            "connection": str(trial.connection),
            "server": f"{trial.server.stack}@{trial.server.version}",
            "outcome": str(run.outcome),
        },
    }
    if run.outcome is not Outcome.OK:
        page["comment"] = f"{run.outcome}: {run.reason or 'no reason is known'}"
    return page


def _entry(load: PageLoad, request: Request, timings: Timings, page: str, started_unix_ns: int) -> dict[str, Any]:
    protocol = request.protocol or "unknown"
    ending = PurePosixPath(request.path).suffix
    shared = {"httpVersion": protocol, "cookies": [], "headers": [], "headersSize": NOT_AVAILABLE}
    entry: dict[str, Any] = {
        "pageref": page,
        "startedDateTime": date(started_unix_ns + request.asked_ns),
        "time": ms(request.ended_ns - request.asked_ns),
        "request": {"method": "GET", "url": load.url(request.path), "queryString": [], "bodySize": 0, **shared},
        "response": {
            "status": request.status or 0,
            "statusText": "",  # HTTP/2 and later have none
            "content": {
                "size": request.size_bytes or 0,
                "mimeType": _MIME_TYPES.get(ending, "application/octet-stream"),
            },
            "redirectURL": "",
            "bodySize": NOT_AVAILABLE if request.size_bytes is None else request.size_bytes,
            **shared,
        },
        "cache": {},
        "timings": _phases(timings),
    }
    comments = [timings.comment] if timings.comment else []
    if request.error is not None:
        entry["response"]["_error"] = request.error  # as Chrome names it
        comments.append(f"failed: {request.error}")
    if comments:
        entry["comment"] = "; ".join(comments)
    if request.flow is not None:
        entry.update(_ends(request.flow))
    return entry


def _phases(timings: Timings) -> dict[str, float]:
    """Return HAR's timings in ms; without their comment, which readers that add them up take for a time."""
    phases = {name: getattr(timings, f"{name}_ns") for name in _PHASES}
    return {name: NOT_AVAILABLE if value is None else ms(value) for name, value in phases.items()}


def _ends(flow: str) -> dict[str, str]:
    """Return the server's address and the client's port of a flow's name, as far as it has them."""
    _, client, server = flow.split(" ")
    address, port = server.rpartition(":")[0].strip("[]"), client.rpartition(":")[2]
    return {
        **({"serverIPAddress": address} if address else {}),
        **(
            {"connection": port, "_connectionId": port} if port.isdigit() else {}
        ),  # the second is for Chrome's importer
    }


def ms(duration_ns: int) -> float:
    """Return a time in ns in the unit of HAR's times."""
    return duration_ns / 1_000_000


def date(unix_ns: int) -> str:
    """Return ISO 8601 in UTC with microseconds, rounded down: readers of dates take no more digits."""
    seconds, rest_ns = divmod(unix_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest_ns // 1000:06d}Z"
