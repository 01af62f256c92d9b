"""HAR 1.2 as a strict reader wants it: a JSON schema after the specification, and what no schema can say.

Written from http://www.softwareishard.com/blog/har-12-spec/: every required field is required, and fields of others
begin with an underscore.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema

PHASES = ("blocked", "dns", "connect", "send", "wait", "receive")

_TEXT = {"type": "string"}
_DATE = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"}
_TIME = {"anyOf": [{"type": "number", "minimum": 0}, {"const": -1}]}
_BYTES = {"type": "integer", "minimum": -1}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "required": list(required),
        "properties": {"comment": _TEXT, **required, **(optional or {})},
        "patternProperties": {"^_": {}},
        "additionalProperties": False,
    }


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


_PROGRAM = _object({"name": _TEXT, "version": _TEXT})
_PAIRS = _list(_object({"name": _TEXT, "value": _TEXT}))
_PAGE = _object(
    {
        "startedDateTime": _DATE,
        "id": _TEXT,
        "title": _TEXT,
        "pageTimings": _object({}, {"onContentLoad": _TIME, "onLoad": _TIME}),
    }
)
_MESSAGE: dict[str, Any] = {
    "httpVersion": _TEXT,
    "cookies": _PAIRS,
    "headers": _PAIRS,
    "headersSize": _BYTES,
    "bodySize": _BYTES,
}
_ENTRY = _object(
    {
        "startedDateTime": _DATE,
        "time": {"type": "number", "minimum": 0},
        "request": _object(
            {"method": _TEXT, "url": {"type": "string", "format": "uri"}, **_MESSAGE, "queryString": _PAIRS}
        ),
        "response": _object(
            {
                "status": {"type": "integer", "minimum": 0},
                "statusText": _TEXT,
                **_MESSAGE,
                "content": _object({"size": {"type": "integer", "minimum": 0}, "mimeType": _TEXT}),
                "redirectURL": _TEXT,
            }
        ),
        "cache": _object({}),
        "timings": _object(
            {name: {"type": "number", "minimum": 0} for name in ("send", "wait", "receive")},
            dict.fromkeys(("blocked", "dns", "connect", "ssl"), _TIME),
        ),
    },
    {"pageref": _TEXT, "serverIPAddress": {"type": "string", "format": "ipv4"}, "connection": _TEXT},
)
SCHEMA = _object(
    {
        "log": _object(
            {"version": {"const": "1.2"}, "creator": _PROGRAM, "entries": _list(_ENTRY)},
            {"browser": _PROGRAM, "pages": _list(_PAGE)},
        )
    }
)


def read_strictly(path: Path) -> dict[str, Any]:
    """Return the log of a HAR file that keeps every rule of the format; fail where it breaks one."""
    har = json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda name: _fail(f"{name} is no JSON"))
    jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(har)
    log: dict[str, Any] = har["log"]
    pages = [page["id"] for page in log["pages"]]
    assert len(set(pages)) == len(pages)
    starts = [datetime.fromisoformat(entry["startedDateTime"]) for entry in log["entries"]]
    assert starts == sorted(starts), "entries stand in the order in which they were asked for"
    for entry in log["entries"]:
        assert entry["pageref"] in pages
        timings = entry["timings"]
        total = sum(timings[name] for name in PHASES if timings[name] >= 0)
        assert abs(total - entry["time"]) < 1e-6, "the phases, without ssl, are the whole time"
        assert timings["ssl"] <= max(timings["connect"], 0), "ssl is part of connect"
    return log


def _fail(message: str) -> None:
    raise AssertionError(message)
