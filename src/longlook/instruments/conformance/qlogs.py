"""Reads qlog tolerantly, of every container and schema that stacks write: enough to prove settings.

JSON with `traces`, JSON-SEQ (RFC 7464) and lines of JSON; events as objects (0.3, 0.4, the current drafts) or as arrays
with `event_fields` (draft-01, draft-02). Names lose their category (`transport:`, `quic:`).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook.core import files

_RECORD_SEPARATOR = "\x1e"
_OLD_FIELDS = ("relative_time", "category", "event", "data")


@dataclass(frozen=True)
class Event:
    """One event: its name without the category, and its data."""

    name: str
    data: Mapping[str, Any]


def read_qlog(file: Path) -> list[Event]:
    """Return every event that can be read; a file that is cut off gives those before the cut."""
    text = files.read_text(file, errors="replace")
    return list(events_of(text))


def events_of(text: str) -> Iterator[Event]:
    """Yield the events of a qlog's text."""
    whole = _parsed(text) if text.lstrip().startswith("{") else None
    if isinstance(whole, dict) and isinstance(whole.get("traces"), list):
        for trace in whole["traces"]:
            if isinstance(trace, dict):
                yield from _of_trace(trace)
        return
    separator = _RECORD_SEPARATOR if _RECORD_SEPARATOR in text else "\n"
    fields: Sequence[str] = _OLD_FIELDS
    for record in text.split(separator):
        value = _parsed(record)
        if isinstance(value, dict) and isinstance(value.get("trace"), dict):
            fields = value["trace"].get("event_fields", fields)
        elif (event := _event(value, fields)) is not None:
            yield event


def _of_trace(trace: Mapping[str, Any]) -> Iterator[Event]:
    fields = trace.get("event_fields", _OLD_FIELDS)
    for value in trace.get("events", []):
        if (event := _event(value, fields)) is not None:
            yield event


def _event(value: Any, fields: Sequence[str]) -> Event | None:
    if isinstance(value, list):
        value = dict(zip(fields, value, strict=False))
    if not isinstance(value, dict):
        return None
    name = value.get("name") or value.get("event") or value.get("event_type")
    data = value.get("data")
    if not isinstance(name, str) or not isinstance(data, dict):
        return None
    return Event(name.rpartition(":")[2], data)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text) if text.strip() else None
    except ValueError:
        return None


def parameters(events: Sequence[Event], sender: str) -> Mapping[str, Any]:
    """Return the transport parameters by name; `sender` is `local` or `remote` as the log's writer sees it."""
    found: dict[str, Any] = {}
    for event in events:
        owner = event.data.get("initiator", event.data.get("owner"))
        if event.name == "parameters_set" and owner == sender:
            found.update({key: value for key, value in event.data.items() if value is not None})
    return found


def count(events: Sequence[Event], name: str) -> int:
    """Return how many events of a name there are."""
    return sum(event.name == name for event in events)
