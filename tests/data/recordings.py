"""HTTP Archives made up for tests: entries as tools write them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
_MIME = {"css": "text/css", "js": "text/javascript", "png": "image/png", "json": "application/json"}


def date(after_ms: float) -> str:
    return (START + timedelta(milliseconds=after_ms)).isoformat()


def recorded(
    url: str, start: float = 0, end: float = 10, *, size: int = 1000, mime: str = "", method: str = "GET", **fields: Any
) -> dict[str, Any]:
    """An entry; a URL without scheme is of www.site.example. Times are ms after the navigation."""
    response = {
        "status": 200,
        "bodySize": size,
        "content": {"size": size, "mimeType": mime or _MIME.get(url.rpartition(".")[2], "text/html")},
        "redirectURL": "",
        **fields.pop("response", {}),
    }
    return {
        "pageref": "page_1",
        "startedDateTime": date(start),
        "time": end - start,
        "request": {"method": method, "url": f"https://www.site.example{url}" if url.startswith("/") else url},
        "response": response,
        **fields,
    }


def archive(entries: Sequence[dict[str, Any]], *, pages: int = 1, load_ms: float = -1) -> dict[str, Any]:
    """A HAR of one or several page loads."""
    made = [
        {"id": f"page_{number + 1}", "startedDateTime": date(0), "pageTimings": {"onLoad": load_ms}}
        for number in range(pages)
    ]
    creator = {"name": "a browser", "version": "1.0"}
    return {"log": {"version": "1.2", "creator": creator, "pages": made, "entries": list(entries)}}
